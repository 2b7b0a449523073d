//! A lesson line by line at the prompt: Ctrl-C drops what is typed or stops what runs, and loses nothing else.

use super::*;

const HEAD: &str = "+++\nid = \"w\"\ntitle = \"W\"\nsummary = \"s\"\nconcepts = [\"c\"]\nminutes = 1\n\
    devices = [\"sim:t4\"]\n+++\n\n# W\n\n";

/// A walk through a lesson with this body, as it begins.
fn walk(folder: &Folder, body: &str) -> Terminal {
    std::fs::write(folder.0.join("w.md"), format!("{HEAD}{body}")).unwrap();
    let mut command = program(folder);
    command.args(["lesson", "start", "w.md", "--plain"]);
    Terminal::start_sized(command, 60, 140)
}

/// A question that this expression answers, and the cell that it waits for.
fn asked(answer: &str, cell: &str) -> String {
    format!(
        "```toml predict id=\"p\"\nask = \"How many bytes?\"\nunit = \"bytes\"\nanswer = \"{answer}\"\ntolerance = 0\n\
         explain = \"Four each.\"\n```\n\n```rhai run\n{cell}\n```\n"
    )
}

const COPY: &str = "let x = ones([256]).to(\"cuda\");";

/// Some of it is under way.
fn a_while() {
    std::thread::sleep(Duration::from_millis(300));
}

#[test]
fn a_line_typed_after_ctrl_c_counts_and_what_was_typed_before_does_not() {
    let folder = Folder::new("walk-dropped");
    let body = "```rhai exercise id=\"e\" points=1\nlet y = 0;\n```\n\n```rhai check\nexpect_equal(y, 3);\n```\n\n\
        ```rhai solution\nlet y = 3;\n```\n\n```rhai wrong because=\"expected 3\"\nlet y = 1;\n```\n\n\
        ```hint\nThink of three.\n```\n";
    let mut terminal = walk(&folder, body);
    terminal.until("Your code: ");
    terminal.type_("let half");
    a_while();
    terminal.type_(CTRL_C);
    let shown = terminal.until("Your code: ");
    assert!(!shown.contains(">>>"), "the walk's own prompt is shown again: {shown}");
    terminal.type_("h\r");
    terminal.until("Think of three.");
    terminal.until("Your code: ");
    // In the middle of code, all of it goes, and what comes then is the first line again.
    terminal.type_("let y = 1; throw \"dropped\";\r");
    a_while();
    terminal.type_("let z");
    a_while();
    terminal.type_(CTRL_C);
    terminal.until("Your code: ");
    terminal.type_("h\r");
    terminal.until("There are no more hints");
    terminal.until("Your code: ");
    terminal.type_("let x = 1;\r");
    a_while();
    terminal.type_(CTRL_C);
    terminal.until("Your code: ");
    terminal.type_("let three = 3;\rlet y = three;\r.\r");
    terminal.until("Passed.");
    terminal.until("That was the lesson.");
    assert_eq!(terminal.end().code(), Some(0));
}

#[test]
fn a_cell_that_was_cut_can_be_run_again_and_settles_its_question() {
    let folder = Folder::new("walk-cut");
    let slow = format!(
        "print(\"it \" + \"begins\");\nlet began = timestamp();\nwhile began.elapsed < 2.0 {{}}\n{COPY}"
    );
    let mut terminal = walk(&folder, &asked("events.h2d.bytes", &slow));
    terminal.until("Your number, in bytes: ");
    terminal.type_("1 KiB\r");
    terminal.until("Enter runs it: ");
    terminal.type_("\r");
    terminal.until("it begins");
    terminal.type_(CTRL_C);
    terminal.until("It was cut short: interrupted");
    terminal.until("Enter runs it again");
    terminal.type_("\r");
    terminal.until("Exactly right.");
    terminal.until("That was the lesson.");
    assert_eq!(terminal.end().code(), Some(0));
}

#[test]
fn an_answer_that_was_interrupted_is_asked_for_again() {
    let folder = Folder::new("walk-answer");
    let answer = "{ let began = timestamp(); while began.elapsed < 2.0 {} events.h2d.bytes }";
    let mut terminal = walk(&folder, &asked(answer, COPY));
    terminal.until("Your number, in bytes: ");
    terminal.type_("1 KiB\r");
    terminal.until("Enter runs it: ");
    terminal.type_("\r");
    terminal.until("copies: h2d cpu");
    a_while();
    terminal.type_(CTRL_C);
    terminal.until("Enter runs it again");
    terminal.type_("\r");
    terminal.until("Exactly right.");
    terminal.until("That was the lesson.");
    assert_eq!(terminal.end().code(), Some(0));
}

#[test]
fn a_session_that_ended_between_two_cells_costs_none_of_them() {
    let folder = Folder::new("walk-death");
    let body =
        "```rhai run\nlet x = 40;\n```\n\n```rhai run\nlet y = x + 1;\n```\n\n```rhai run\nx + y\n```\n";
    let mut terminal = walk(&folder, body);
    terminal.until("Enter runs it: ");
    terminal.type_("\r");
    terminal.until("Enter runs it: ");
    // It is gone before the cell is run.
    signal("KILL", terminal.session());
    a_while();
    terminal.type_("\r");
    terminal.until("Enter runs it: ");
    // It goes before it hears of the cell.
    let session = terminal.session();
    signal("STOP", session);
    terminal.type_("\r");
    a_while();
    signal("KILL", session);
    terminal.until("= 81");
    terminal.until("That was the lesson.");
    assert_eq!(terminal.end().code(), Some(0));
}

#[test]
fn a_quiz_says_how_several_are_given_and_takes_one_where_one_is_right() {
    let folder = Folder::new("walk-quiz");
    let choice = |text: &str, right: bool| {
        let correct = if right { "correct = true\n" } else { "" };
        format!("[[choice]]\ntext = \"{text}\"\n{correct}explain = \"Because of {text}.\"\n\n")
    };
    let quiz = |id: &str, rights: [bool; 3]| {
        let choices =
            ["`one`", "two", "three"].into_iter().zip(rights).map(|(text, right)| choice(text, right));
        format!("```toml quiz id=\"{id}\"\nask = \"Which?\"\n\n{}```\n\n", choices.collect::<String>())
    };
    let body = format!("Press F6.\n\n{}{}", quiz("a", [true, false, false]), quiz("b", [true, true, true]));
    let mut terminal = walk(&folder, &body);
    let shown = terminal.until("The number that is right: ");
    assert!(shown.contains("At this prompt") && shown.contains(": `one`"), "{shown}");
    terminal.type_("1 2\r");
    terminal.until("One of them is right: type one number.");
    terminal.type_("s\r");
    terminal.until("such as 1 3: ");
    terminal.type_("1 2 3\r");
    terminal.until("Right.");
    terminal.until("That was the lesson.");
    assert_eq!(terminal.end().code(), Some(0));
}

#[test]
fn a_terminal_of_no_size_has_eighty_columns() {
    let folder = Folder::new("walk-sizeless");
    std::fs::write(folder.0.join("w.md"), format!("{HEAD}{}\n\n```rhai run\n1\n```\n", "word ".repeat(40)))
        .unwrap();
    let mut command = program(&folder);
    command.args(["lesson", "start", "w.md", "--plain"]);
    let mut terminal = Terminal::start_sized(command, 0, 0);
    let shown = terminal.until("Enter runs it: ");
    let widest = shown.lines().map(|line| line.trim_end().chars().count()).max().unwrap_or(0);
    assert!((70..=80).contains(&widest), "{widest}: {shown}");
    terminal.type_("q\r");
    assert_eq!(terminal.end().code(), Some(0));
}

#[test]
fn questions_are_on_standard_output_where_that_goes_to_a_file() {
    let folder = Folder::new("walk-tee");
    std::fs::write(folder.0.join("w.md"), format!("{HEAD}```rhai run\nlet x = 40;\nx + 1\n```\n")).unwrap();
    let mut command = program(&folder);
    let program = command.get_program().to_owned();
    command = {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", "\"$0\" lesson start w.md --plain | tee log"]).arg(&program);
        cleared(&mut shell, &folder);
        shell
    };
    let mut terminal = Terminal::start_sized(command, 60, 140);
    terminal.until("Enter runs it:");
    terminal.type_("\r");
    terminal.until("= 41");
    terminal.until("That was the lesson.");
    assert_eq!(terminal.end().code(), Some(0));
    assert!(folder.read("log").contains("\nEnter runs it:\n= 41\n"), "{}", folder.read("log"));
}
