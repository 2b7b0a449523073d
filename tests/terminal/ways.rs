//! How the program begins: on a terminal that can do little, in a locale of ASCII, with a pager.

use super::*;

#[test]
fn a_dumb_terminal_gets_the_plain_prompt_and_is_told_so() {
    let folder = Folder::new("dumb");
    let mut command = program(&folder);
    command.env("TERM", "dumb").args(["--devices", "cpu"]);
    let mut terminal = Terminal::start(command);
    terminal.until("TERM=dumb can't show the lab");
    terminal.until("help");
    terminal.type_("1 + 1\r");
    terminal.until("2");
    assert!(!terminal.raw().contains("\x1b[?1049h"), "the screen is left alone");
    terminal.type_("\x04");
    assert_eq!(terminal.end().code(), Some(0));
    let mut command = program(&folder);
    command.env("TERM", "dumb").args(["lab", "n.rhai"]);
    let mut terminal = Terminal::start(command);
    terminal.until("tensorlab notebook run n.rhai");
    assert_eq!(terminal.end().code(), Some(2));
    std::fs::write(folder.0.join("n.rhai"), "// %%\n1 + 1\n").unwrap();
    assert!(program(&folder).args(["pack", "new", "p"]).status().unwrap().success());
    let lesson = std::fs::read_dir(folder.0.join("p/lessons")).unwrap().next().unwrap().unwrap().path();
    for (arguments, told, code) in [
        (["notebook", "open", "n.rhai"], "tensorlab notebook run", 2),
        (["lab", lesson.to_str().unwrap(), "--ascii"], "--plain` goes through it", 2),
        // What is in it can be shown line by line.
        (["pack", "preview", "p"], "(", 0),
    ] {
        let mut command = program(&folder);
        command.env("TERM", "dumb").args(arguments);
        let mut terminal = Terminal::start(command);
        terminal.until(told);
        assert_eq!(terminal.end().code(), Some(code), "{arguments:?}");
        assert!(!terminal.raw().contains("\x1b[?1049h"), "{arguments:?}: the screen is left alone");
    }
}

#[test]
fn a_lesson_whose_file_can_not_be_read_opens_as_it_begins_and_says_so() {
    let folder = Folder::new("unread");
    let kept = folder.0.join("tensorlab/lessons/course");
    std::fs::create_dir_all(&kept).unwrap();
    for lesson in ["moving", "first-contact"] {
        std::fs::write(kept.join(lesson).with_extension("ipynb"), "no notebook").unwrap();
    }
    for arguments in [&["lesson", "start", "moving"][..], &[]] {
        let mut command = program(&folder);
        command.args(arguments);
        let mut lab = Lab::start(command);
        if arguments.is_empty() {
            lab.until("Devices");
            lab.keys(ENTER);
        }
        lab.until("what you wrote in this lesson is not shown");
        lab.quits();
    }
    assert_eq!(std::fs::read_to_string(kept.join("moving.ipynb")).unwrap(), "no notebook");
}

#[test]
fn a_locale_of_ascii_and_the_bare_option_draw_with_ascii() {
    let folder = Folder::new("locale");
    for (locale, option, ascii) in [
        ("C", None, true),
        ("POSIX", None, true),
        ("C.UTF-8", None, false),
        ("en_US.UTF-8", Some("--ascii"), true),
    ] {
        let mut command = program(&folder);
        command.env("LC_ALL", locale).args(option).args(["--devices", "sim:t4"]);
        let mut lab = Lab::start(command);
        lab.until("Devices");
        let shown = lab.until("First contact");
        assert_eq!(shown.is_ascii(), ascii, "{locale} {option:?}\n{shown}");
        lab.keys("q");
        lab.terminal.end();
    }
}

#[test]
fn help_on_a_terminal_goes_through_the_pager() {
    let folder = Folder::new("pager");
    let paged = |pager: &str, arguments: &[&str]| {
        let mut command = program(&folder);
        command.env("PAGER", pager).arg("docs").args(arguments);
        let mut terminal = Terminal::start(command);
        terminal.until("SoftmaxBackward");
        assert_eq!(terminal.end().code(), Some(0));
        terminal.raw()
    };
    assert!(paged("sed 's/^/@/'", &["softmax"]).contains("@called as"));
    for none in ["cat", "", "no-such-pager-here"] {
        let shown = paged(none, &["softmax"]);
        assert!(shown.contains("called as") && !shown.contains("@called"), "{none}: {shown}");
    }
    let all = paged("sed -n 's/^/@/;1,9p;/SoftmaxBackward/p'", &[]);
    assert!(all.contains("@Reference of all") && !all.contains("```") && !all.contains("# "), "{all}");
}

#[test]
fn a_c_locale_gets_help_and_the_plain_prompt_in_ascii() {
    let folder = Folder::new("plain-ascii");
    for (locale, ascii) in [("C", true), ("C.UTF-8", false)] {
        let mut command = program(&folder);
        command.env("LC_ALL", locale).env("PAGER", "cat").args(["docs", "softmax"]);
        let mut terminal = Terminal::start(command);
        terminal.until("SoftmaxBackward");
        terminal.end();
        assert_eq!(terminal.raw().is_ascii(), ascii, "{locale}: {}", terminal.raw());
        let mut command = program(&folder);
        command.env("LC_ALL", locale).args(["repl", "--plain", "--devices", "cpu"]);
        let mut terminal = Terminal::start(command);
        terminal.until(">>> ");
        terminal.type_("print(\"5 µs\");\r");
        terminal.until(if ascii { "5 us" } else { "5 µs" });
        terminal.type_("\u{4}");
        terminal.end();
    }
    let mut command = program(&folder);
    command.env("LC_ALL", "C").args(["docs", "softmax"]);
    let piped = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(piped.contains('…'), "a pipe gets it as it is: {piped}");
}

#[test]
fn a_notebook_that_was_deleted_is_told_and_forgotten() {
    let folder = Folder::with("gone", "// %%\nlet x = 1;\n");
    Lab::open(&folder).quits();
    let home = || {
        let mut command = program(&folder);
        command.args(["--devices", "cpu"]);
        let mut lab = Lab::start(command);
        lab.until("Notebooks");
        lab
    };
    let mut lab = home();
    lab.until("Continue with the notebook n.rhai");
    std::fs::remove_file(folder.0.join("n.rhai")).unwrap();
    lab.keys(ENTER);
    lab.until("is no longer there");
    lab.keys("q");
    lab.terminal.end();
    let mut lab = home();
    let shown = lab.until("Devices");
    assert!(!shown.contains("n.rhai"), "{shown}");
    // Its path begins it anew.
    lab.keys("on.rhai\r");
    lab.until("In [ ]");
    lab.quits();
}

#[test]
fn lists_break_between_words_where_a_terminal_is_too_narrow_for_them() {
    let folder = Folder::new("lists");
    let piped = |arguments: &[&str]| {
        let out = program(&folder).args(arguments).output().unwrap();
        [out.stderr, out.stdout].map(|text| String::from_utf8(text).unwrap()).concat()
    };
    for arguments in [&["devices"][..], &["lesson", "list"]] {
        let whole = piped(arguments);
        // With a GPU there is no note on devices.
        let long = whole.lines().any(|line| line.chars().count() > 100);
        assert!(long || arguments == ["devices"], "{whole}");
        for columns in [100, 80] {
            let mut command = program(&folder);
            command.args(arguments);
            let mut terminal = Terminal::start_sized(command, 30, columns);
            whole.split_whitespace().for_each(|word| _ = terminal.until(word));
            assert_eq!(terminal.end().code(), Some(0));
            let shown = terminal.raw().replace('\r', "");
            let wide = |line: &&str| line.chars().count() > usize::from(columns);
            assert_eq!(shown.lines().find(wide), None);
            // The words are those of a pipe, and none stands at the left that is no beginning.
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&shown), words(&whole));
            let at_left = |text: &str| text.lines().filter(|line| !line.starts_with(' ')).count();
            assert_eq!(at_left(&shown), at_left(&whole), "{shown}");
        }
    }
}
