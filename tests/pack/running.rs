//! Code of packs while it runs: what it may read, and that it reaches nothing else.

use super::*;

/// A pack of the template whose first cell is this code.
fn with_cell(folder: &Folder, code: &str) {
    let pack = folder.pack("p");
    edit(&pack.join("lessons/01-first.md"), "points.shape\n", &format!("points.shape;\n{code}\n"));
}

#[cfg(target_os = "linux")]
#[test]
fn code_of_a_pack_reads_its_own_files_and_no_others_and_writes_none() {
    if let Some(reason) = tensorlab::session::sandbox::unconfined() {
        eprintln!("not tested: {reason}");
        return;
    }
    let outside = std::env::temp_dir().join(format!("tensorlab-outside-{}.csv", std::process::id()));
    std::fs::write(&outside, "1,2\n").unwrap();
    let secret = outside.display();
    for (name, code) in [
        ("absolute", format!("data::csv(\"{secret}\")")),
        ("parent", "data::csv(\"../data/tensorlab/progress.jsonl\")".to_owned()),
        ("passwd", "data::csv(\"/etc/passwd\")".to_owned()),
        ("write", "save(#{x: ones(2)}, \"assets/new.safetensors\")".to_owned()),
        ("replace", "save(#{x: ones(2)}, \"/tmp/tensorlab-evil.safetensors\")".to_owned()),
        ("figure", "plot::line([1, 2]).save(\"figure.svg\")".to_owned()),
    ] {
        let folder = Folder::new(&format!("confined-{name}"));
        with_cell(&folder, &code);
        std::fs::create_dir_all(folder.at("data/tensorlab")).unwrap();
        std::fs::write(folder.at("data/tensorlab/progress.jsonl"), "1,2\n").unwrap();
        let text = folder.fails(&["pack", "check", "p"], 1);
        assert!(
            text.contains("[read] the cell does not run") && text.contains("ermission denied"),
            "{name}: {text}"
        );
        let before = files(&folder.at("p"));
        assert_eq!(before, ["README.md", "assets/points.csv", "lessons/01-first.md", "pack.toml"], "{name}");
        // The same code in a script of one's own may.
        if name == "absolute" {
            let script = folder.at("own.rhai");
            std::fs::write(&script, &code).unwrap();
            folder.says(&["run", "own.rhai"]);
        }
    }
    std::fs::remove_file(outside).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn code_of_a_lesson_in_no_pack_is_kept_to_its_folder() {
    if let Some(reason) = tensorlab::session::sandbox::unconfined() {
        eprintln!("not tested: {reason}");
        return;
    }
    let folder = Folder::new("lone");
    let outside = std::env::temp_dir().join(format!("tensorlab-lone-{}", std::process::id()));
    std::fs::create_dir_all(&outside).unwrap();
    std::fs::write(outside.join("secret.csv"), "1,2\n").unwrap();
    std::fs::create_dir_all(folder.at("own")).unwrap();
    std::fs::write(folder.at("own/points.csv"), "1,2\n").unwrap();
    let lesson = |code: &str| {
        let front = "+++\nid = \"lone\"\ntitle = \"L\"\nsummary = \"S.\"\nconcepts = [\"c\"]\nminutes = 1\n\
                     devices = [\"cpu\"]\n+++\n\nText.\n\n```rhai run id=\"go\"\n";
        std::fs::write(folder.at("own/lone.md"), format!("{front}{code}\n```\n")).unwrap();
    };
    lesson("data::csv(\"points.csv\")");
    assert!(folder.says(&["lesson", "verify", "own/lone.md"]).starts_with("ok"));
    for code in [
        format!("data::csv(\"{}\")", outside.join("secret.csv").display()),
        format!("save(#{{x: ones(2)}}, \"{}\")", outside.join("new.safetensors").display()),
        "save(#{x: ones(2)}, \"new.safetensors\")".to_owned(),
    ] {
        lesson(&code);
        let told = folder.fails(&["lesson", "verify", "own/lone.md"], 1);
        assert!(told.contains("ermission denied"), "{code}: {told}");
        let output = folder.run(&["lesson", "export", "own/lone.md", "--html", "-"]);
        assert_ne!(output.status.code(), Some(0), "{code}");
    }
    assert_eq!(files(&outside), ["secret.csv"]);
    assert_eq!(files(&folder.at("own")), ["lone.md", "points.csv"]);
    std::fs::remove_dir_all(outside).unwrap();
}

#[test]
fn code_of_a_pack_imports_no_modules() {
    let folder = Folder::new("import");
    with_cell(&folder, "import \"assets/more\" as more;");
    let text = folder.fails(&["pack", "check", "p"], 1);
    assert!(text.contains("[read] the cell does not run") && text.contains("more"), "{text}");
}

#[test]
fn profiles_of_devices_are_read_from_where_the_program_was_started() {
    let folder = Folder::new("profile");
    folder.pack("p");
    let shown = folder.says(&["pack", "check", "p", "--devices", "sim:tiny"]);
    assert!(shown.contains("ok  first on sim:tiny"), "{shown}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_lesson_of_an_installed_pack_opens_on_a_terminal() {
    use crate::repl::pty::Terminal;
    let folder = Folder::new("terminal");
    folder.pack("p");
    folder.says(&["pack", "install", "p"]);
    let mut command = folder.program();
    command.args(["lesson", "start", "p/first", "--ascii"]).env("TERM", "xterm-256color");
    let mut lab = Terminal::start(command);
    lab.until("A first lesson");
    drop(lab);
    // A preview keeps no progress and installs nothing.
    folder.says(&["pack", "remove", "p"]);
    let mut command = folder.program();
    command.args(["pack", "preview", "p", "--ascii"]).env("TERM", "xterm-256color");
    let mut lab = Terminal::start(command);
    lab.until("A first lesson");
    drop(lab);
    assert!(folder.installed().is_empty());
    assert!(
        !std::fs::read_to_string(folder.at("data/tensorlab/progress.jsonl"))
            .unwrap_or_default()
            .contains("\"p\"")
    );
}
