//! The way to a subcommand: a file alone, options that one takes, other names, the learner's progress.

use super::*;

fn tells(arguments: &[&str]) -> Output {
    program().args(arguments).output().unwrap()
}

#[test]
fn scripts_begin_as_the_system_starts_them_and_notebooks_are_run_as_such() {
    let folder = std::env::temp_dir().join(format!("tensorlab-starts-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).unwrap();
        folder.join(name).display().to_string()
    };
    let started = path("started.rhai", "#!/usr/bin/env -S tensorlab run\nprint(6 * 7);\nno_name");
    let o = tells(&["run", &started]);
    assert_eq!(out(&o), "42\n");
    fails(&o, 1, &["started.rhai:3:1"]);
    let book = path("book.ipynb", "{}");
    fails(&tells(&["run", &book]), 2, &["is a notebook", "tensorlab notebook run "]);
    let import = path("import.rhai", "import \"lib/util\" as u;\nu::f()");
    fails(&tells(&["run", &import]), 1, &["there is no module 'lib/util'", "a script is one file"]);
    let page = tells(&["notebook", "export", &path("page.rhai", "1 + 1"), "--html", "-"]);
    assert!(page.status.success() && out(&page).trim_end().ends_with("</html>"), "{}", err(&page));
    assert!(!std::path::Path::new("-").exists());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_file_alone_is_answered_with_what_can_be_done_with_it() {
    let folder = std::env::temp_dir().join(format!("tensorlab-ways-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (name, pieces) in [
        ("script.rhai", ["tensorlab run ", "tensorlab lab "]),
        ("book.ipynb", ["tensorlab lab ", "tensorlab notebook run "]),
        ("lesson.md", ["tensorlab lab ", "tensorlab lesson verify "]),
    ] {
        let path = folder.join(name);
        fails(&tells(&[path.to_str().unwrap()]), 2, &["there is no such file", pieces[0]]);
        std::fs::write(&path, "1 + 1").unwrap();
        let o = tells(&[path.to_str().unwrap()]);
        fails(&o, 2, &[pieces[0], pieces[1]]);
        assert!(!err(&o).contains("there is no such file") && out(&o).is_empty(), "{}", err(&o));
    }
    fails(&tells(&[folder.to_str().unwrap()]), 2, &["tensorlab pack preview "]);
    fails(&tells(&["rnu"]), 2, &["unrecognized subcommand"]);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_look_without_the_lab_is_refused() {
    for option in ["--ascii", "--light"] {
        fails(&tells(&[option, "devices"]), 2, &["are for commands that open the lab"]);
    }
    let colours = tells(&["lesson", "start", "moving", "--plain", "--light"]);
    fails(&colours, 2, &["cannot be used with", "--light"]);
    let o = tells(&["lesson", "start", "moving", "--plain", "--ascii"]);
    assert!(out(&o).contains("Moving tensors") && out(&o).is_ascii(), "{}", out(&o));
    let before = tells(&["--ascii", "lesson", "start", "moving", "--plain"]);
    assert!(before.status.success() && out(&before).is_ascii(), "{}", out(&before));
    let o = tells(&["--help"]);
    assert!(out(&o).contains("--ascii") && out(&o).contains("--light"), "{}", out(&o));
}

/// Every subcommand by its words.
fn commands(path: &[String], all: &mut Vec<Vec<String>>) {
    let mut arguments = path.to_vec();
    arguments.push("--help".into());
    let text = out(&program().args(&arguments).output().unwrap());
    let listed = text.split("\nCommands:\n").nth(1).map(|rest| rest.split("\n\n").next().unwrap_or_default());
    for line in listed.unwrap_or_default().lines() {
        let name = line.trim().split(' ').next().unwrap_or_default();
        if !name.is_empty() && line.starts_with("  ") && !line.starts_with("   ") {
            let mut inner = path.to_vec();
            inner.push(name.into());
            commands(&inner, all);
            all.push(inner);
        }
    }
}

#[test]
fn only_what_computes_lists_and_takes_devices() {
    let mut all = Vec::new();
    commands(&[], &mut all);
    assert!(all.len() > 30, "{all:?}");
    let compute = [
        "run",
        "plan",
        "lab",
        "repl",
        "devices",
        "bench",
        "session",
        "lesson",
        "lesson verify",
        "lesson start",
        "lesson export",
        "pack",
        "pack check",
        "pack preview",
        "notebook",
        "notebook open",
        "notebook run",
        "notebook verify",
    ];
    for path in all {
        let name = path.join(" ");
        let text = out(&program().args(&path).arg("--help").output().unwrap());
        assert_eq!(text.contains("--devices"), compute.contains(&name.as_str()), "{name}: {text}");
        assert!(!text.contains("--ascii") || text.contains("lab") || name.contains("lab"), "{name}");
    }
    fails(&tells(&["completions", "bash", "--devices", "cpu"]), 2, &["takes no devices"]);
    fails(&tells(&["docs", "--devices", "cpu"]), 2, &["takes no devices"]);
    let o = program().env("TENSORLAB_DEVICES", "cpu").args(["docs", "softmax"]).output().unwrap();
    assert_eq!(o.status.code(), Some(0), "{}", err(&o));
    let o = tells(&["--devices", "cpu", "devices"]);
    assert_eq!(out(&o).lines().count(), 1, "before the subcommand it holds as well: {}", out(&o));
}

#[test]
fn lesson_check_is_lesson_verify() {
    fails(&tells(&["lesson", "check", "no-such-lesson"]), 2, &["there is no lesson 'no-such-lesson'"]);
    assert!(out(&tells(&["lesson", "--help"])).contains("[alias: check]"));
}

#[test]
fn a_pipe_gets_the_reference_as_markdown() {
    let o = program().env("PAGER", "false").arg("docs").output().unwrap();
    assert_eq!(o.status.code(), Some(0));
    assert!(out(&o).starts_with("# Reference\n") && out(&o).contains("\n```\n"));
}

#[test]
fn progress_says_how_many_steps_there_are_and_names_cells_by_their_place() {
    use tensorlab::lab::document::{Document, Item};
    use tensorlab::lesson::{Entry, Key, ProgressLog, Record};
    let folder = std::env::temp_dir().join(format!("tensorlab-told-{}", std::process::id()));
    let file = folder.join("tensorlab/progress.jsonl");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let mut lessons = tensorlab::lesson::built_in().iter();
    let (name, source) = lessons.find(|(name, _)| name == "03-moving.md").unwrap();
    let lesson = tensorlab::lesson::parse(name, source.as_bytes()).unwrap();
    let made: Vec<String> = Document::lesson(&lesson)
        .steps
        .into_iter()
        .flat_map(|step| step.items)
        .filter_map(|item| match item {
            Item::Cell(cell) if cell.id.starts_with("run-") => Some(cell.id),
            _ => None,
        })
        .collect();
    let steps = lesson.steps.iter().filter(|step| step.element.is_some()).count();
    let (mut log, _) = ProgressLog::open(&file).unwrap();
    let mut ran = |lesson: &str, step: &str| {
        let key = Key { pack: "course".into(), lesson: lesson.into(), step: step.into() };
        log.append(&Record { key, version: "1.0.0".into(), at_ms: 1, entry: Entry::Ran { ok: true } })
            .unwrap();
    };
    made.iter().take(2).for_each(|id| ran(&lesson.front.id, id));
    ran("gone", "some-step");
    let o = program().env("XDG_DATA_HOME", &folder).arg("progress").output().unwrap();
    let text = out(&o);
    assert!(text.contains(&format!("2 of {steps} steps done")), "{text}");
    assert!(text.contains(", cell 1") && !text.contains("run-"), "{text}");
    assert!(
        text.contains("1 step done; the lesson is not installed") && text.contains("some-step"),
        "{text}"
    );
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn devices_that_are_not_meant_or_not_there_end_every_command_alike() {
    let folder = std::env::temp_dir().join(format!("tensorlab-devices-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("n.rhai"), "// %%\n1 + 1\n").unwrap();
    std::fs::write(folder.join("bad.toml"), "id = \n").unwrap();
    let asks = |command: &str, option: &str, value: &str| {
        let mut program = program();
        program.args(command.split(' ')).args([option, value]);
        program.current_dir(&folder).env("CUDA_VISIBLE_DEVICES", "-1").env("XDG_DATA_HOME", &folder);
        program.stdin(std::process::Stdio::null()).output().unwrap()
    };
    let tells = |command: &str, devices: &str| asks(command, "--devices", devices);
    assert!(tells("notebook run n.rhai", "cpu").status.success());
    let made =
        program().args(["pack", "new", "packed", "--id", "packed"]).current_dir(&folder).output().unwrap();
    assert!(made.status.success(), "{}", err(&made));
    let runs = [
        "run n.rhai",
        "repl",
        "devices",
        "lesson start moving --plain",
        "lesson verify moving",
        "pack check packed",
        "notebook run n.rhai",
        "notebook verify n.rhai",
    ];
    for command in runs.iter().chain(&["lab n.rhai", "notebook open n.rhai", "pack preview packed"]) {
        for (devices, told) in [
            ("sim:foo", "no device profile `foo`"),
            ("foo", "no devices `foo`"),
            ("sim:bad.toml", "bad.toml:1"),
            ("sim:gone.toml", "gone.toml"),
        ] {
            let o = tells(command, devices);
            assert!(err(&o).contains(told), "{command}: {}", err(&o));
            assert_eq!(o.status.code(), Some(2), "{command} on {devices}: {}", err(&o));
        }
        let o = asks(command, "--host", "foo");
        assert!(err(&o).contains("no host profile `foo`"), "{command}: {}", err(&o));
        assert_eq!(o.status.code(), Some(2), "{command}: {}", err(&o));
    }
    for command in runs {
        let o = tells(command, "cuda");
        let said = format!("{}{}", out(&o), err(&o));
        assert!(said.contains("no CUDA device to use"), "{command}: {said}");
        assert_eq!(o.status.code(), Some(4), "{command}: {said}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The page that the README links, but for the times of the computer that wrote it.
#[test]
fn the_linked_page_of_a_lesson_is_what_the_program_writes() {
    let folder = std::env::temp_dir().join(format!("tensorlab-linked-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let o = program().current_dir(&folder).args(["lesson", "export", "moving", "--html"]).output().unwrap();
    assert_eq!(o.status.code(), Some(0), "{}", err(&o));
    let page = std::fs::read_to_string(folder.join("moving.html")).unwrap();
    let timeless = |page: &str| {
        page.lines().filter(|line| !line.contains("class=\"usage\"")).map(str::to_owned).collect::<Vec<_>>()
    };
    let linked = timeless(include_str!("../../docs/moving.html"));
    assert!(
        timeless(&page) == linked,
        "write it anew: tensorlab lesson export moving --force --html docs/moving.html"
    );
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_lesson_goes_into_a_notebook_without_its_checks_and_onto_a_page_with_what_its_solutions_give() {
    let folder = std::env::temp_dir().join(format!("tensorlab-exported-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let lesson = folder.join("moving.md");
    std::fs::write(&lesson, include_str!("../golden/moving.md")).unwrap();
    let mut command = program();
    let o = command
        .current_dir(&folder)
        .args(["lesson", "export", "moving.md", "--ipynb", "--html"])
        .output()
        .unwrap();
    assert_eq!(o.status.code(), Some(0), "{}", err(&o));
    let notebook = std::fs::read_to_string(folder.join("moving.ipynb")).unwrap();
    let page = std::fs::read_to_string(folder.join("moving.html")).unwrap();
    let cells: serde_json::Value = serde_json::from_str(&notebook).unwrap();
    assert!(cells["cells"].as_array().unwrap().len() > 30);
    // The starter is a cell, and neither what checks it nor what passes is there.
    assert!(
        notebook.contains("let shifted = batch.to(") && !notebook.contains("let shifted = on_gpu + 1.0;")
    );
    assert!(!notebook.contains("expect_device") && !page.contains("expect_device"));
    // On the page all has run: the exact bytes of a solution's copy stand below it.
    for piece in ["<summary>A solution, and what it gives</summary>", "1 copy, 1.00 MiB", "In [ ]"] {
        assert!(page.contains(piece), "{piece}");
    }
    // The course's own figure stands in both, and no output that a prediction asks for.
    let mut command = program();
    let o = command
        .current_dir(&folder)
        .args(["lesson", "export", "moving", "--ipynb", "c.ipynb"])
        .output()
        .unwrap();
    assert_eq!(o.status.code(), Some(0), "{}", err(&o));
    let cells = std::fs::read_to_string(folder.join("c.ipynb")).unwrap();
    let cells: serde_json::Value = serde_json::from_str(&cells).unwrap();
    let outputs: Vec<_> = cells["cells"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|cell| cell["outputs"].as_array())
        .flatten()
        .collect();
    assert!(outputs.len() == 1 && outputs[0]["data"]["image/png"].is_string(), "{outputs:?}");
    fails(&tells(&["lesson", "export", "moving"]), 2, &["--ipynb", "--html"]);
    fails(&tells(&["lesson", "export", "--html"]), 2, &["which lesson?"]);
    fails(&tells(&["notebook", "export", "--html"]), 2, &["which notebook?"]);
    // What stands behind the form is the lesson where none stands before it.
    let mut command = program();
    let o =
        command.current_dir(&folder).args(["lesson", "export", "--ipynb", "moving.md", "--force"]).output();
    let o = o.unwrap();
    assert_eq!((o.status.code(), out(&o).as_str()), (Some(0), "wrote moving.ipynb\n"), "{}", err(&o));
    let o = program()
        .current_dir(&folder)
        .args(["notebook", "export", "--html", "moving.ipynb"])
        .output()
        .unwrap();
    assert_eq!((o.status.code(), out(&o).as_str()), (Some(0), "wrote moving.html\n"), "{}", err(&o));
    fails(
        &tells(&["lesson", "export", "moving", "--html", "--devices", "sim:nope"]),
        2,
        &["no device profile `nope`"],
    );
    fails(&tells(&["lesson", "export", "no-such-lesson", "--ipynb"]), 2, &["no-such-lesson"]);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn an_export_replaces_no_file_unasked_and_goes_to_standard_output_for_a_dash() {
    let folder = std::env::temp_dir().join(format!("tensorlab-taken-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let lesson = SUMS.replace(" + telemetry::record(|| half).launches.len()", "");
    std::fs::write(folder.join("sums.md"), lesson).unwrap();
    let export = |arguments: &[&str]| {
        let mut program = program();
        program.current_dir(&folder).env("XDG_DATA_HOME", &folder);
        program.args(["lesson", "export", "sums.md"]).args(arguments).output().unwrap()
    };
    for form in ["ipynb", "html", "py"] {
        let file = folder.join(format!("own.{form}"));
        std::fs::write(&file, "mine").unwrap();
        let arguments = [format!("--{form}"), format!("own.{form}")];
        let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        arguments.extend((form == "py").then_some("--solutions"));
        fails(&export(&arguments), 2, &[&format!("own.{form} exists already"), "--force replaces it"]);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
        arguments.push("--force");
        assert_eq!(export(&arguments).status.code(), Some(0), "{form}");
        assert_ne!(std::fs::read_to_string(&file).unwrap(), "mine");
    }
    // Where one of two is taken, neither is written.
    fails(&export(&["--ipynb", "new.ipynb", "--html", "own.html"]), 2, &["own.html exists already"]);
    assert!(!folder.join("new.ipynb").exists());
    let o = export(&["--ipynb", "-"]);
    assert_eq!(o.status.code(), Some(0), "{}", err(&o));
    assert!(serde_json::from_str::<serde_json::Value>(&out(&o)).is_ok(), "the notebook alone: {}", out(&o));
    assert!(!folder.join("-").exists());
    fails(&export(&["--ipynb", "-", "--html", "-"]), 2, &["two forms would go to standard output"]);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A lesson that asks for three answers, of which the last needs the one before.
const SUMS: &str = r#"+++
id = "sums"
title = "Sums"
summary = "Adding."
concepts = ["sum"]
minutes = 1
devices = ["cpu"]
+++

# Sums

```rhai hidden
manual_seed(1);
let x = rand([2, 3]);
```

```rhai run id="unused"
let t = telemetry::record(|| x + 1.0);
```

## Rows

```rhai exercise id="rows"
```

```rhai check
expect_close(rows, x.sum(1));
```

```rhai solution
let rows = x.sum(1);
```

```rhai exercise id="scale"
```

```rhai check
expect_close(call("scale", [x]), x * 3.0);
```

```rhai solution
fn scale(t) { t * 3.0 }
```

## Scaled *rows*

```rhai run id="half"
let half = 7 / 2;
```

```rhai exercise id="scaled"
```

```rhai check
expect_close(scaled, scale(rows));
```

```rhai solution
let scaled = scale(rows) + telemetry::record(|| half).launches.len();
```
"#;

#[test]
fn what_passed_of_a_lesson_goes_into_a_file_for_pytorch_with_what_it_needs() {
    use tensorlab::lesson::{Entry, Key, ProgressLog, Record, Verdict};
    let folder = std::env::temp_dir().join(format!("tensorlab-passed-{}", std::process::id()));
    let progress = folder.join("tensorlab/progress.jsonl");
    std::fs::create_dir_all(progress.parent().unwrap()).unwrap();
    std::fs::write(folder.join("sums.md"), SUMS).unwrap();
    let export = |arguments: &[&str]| {
        let mut program = program();
        program.current_dir(&folder).env("XDG_DATA_HOME", &folder);
        program.args(["lesson", "export", "sums.md"]).args(arguments).output().unwrap()
    };
    let file = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    fails(
        &export(&["--py"]),
        2,
        &["no exercise of 'sums' is passed yet", "lesson start sums", "--solutions"],
    );
    let alone = export(&["--solutions"]);
    fails(&alone, 2, &["--py"]);
    assert!(!err(&alone).contains("--solutions|"), "it is none of the forms: {}", err(&alone));
    assert!(!folder.join("sums.py").exists());
    let (mut log, _) = ProgressLog::open(&progress).unwrap();
    let mut tried = |step: &str, verdict, code: Option<&str>| {
        let key = Key { pack: "file".into(), lesson: "sums".into(), step: step.into() };
        let entry = Entry::Attempt { verdict, trace: None, code: code.map(Into::into) };
        log.append(&Record { key, version: "0.0.0".into(), at_ms: 1, entry }).unwrap();
    };
    tried("rows", Verdict::Pass, Some("// mine\nlet rows = x.sum(1, #{keepdim: false});"));
    tried("rows", Verdict::Fail { reason: "no".into(), line: None }, None);
    tried("scaled", Verdict::Pass, Some("let scaled = scale(rows);"));
    assert_eq!(export(&["--py", "--ipynb"]).status.code(), Some(0));
    assert!(folder.join("sums.ipynb").exists());
    insta::assert_snapshot!("passed_for_pytorch", file("sums.py"));
    assert_eq!(export(&["--solutions", "--py", "all.py"]).status.code(), Some(0));
    insta::assert_snapshot!("solutions_for_pytorch", file("all.py"));
    std::fs::remove_dir_all(&folder).unwrap();
}
