//! What the editor promises: text, outputs and figures as they were, and files of which nothing is lost.

use super::*;

const TEXT: &str = "// %%\nlet x = 1;\n\n// %%\nx + 1\n";
const ALT_ENTER: &str = "\x1b\r";

#[test]
fn a_paste_with_carriage_returns_keeps_its_lines() {
    let folder = Folder::with("cr", "// %%\n\n");
    let mut lab = Lab::open(&folder);
    lab.keys(ENTER);
    lab.until("leave");
    // As most terminals send it.
    lab.keys("\x1b[200~let a = 1;\rlet b = 2;\r// a comment\ra + b\x1b[201~");
    lab.until("a + b");
    lab.keys(F5);
    lab.until("= 3");
    lab.keys(CTRL_S);
    lab.until("▸ saved");
    assert_eq!(folder.read("n.rhai").trim(), "// %%\nlet a = 1;\nlet b = 2;\n// a comment\na + b");
    lab.quits();
}

#[test]
fn what_is_typed_after_alt_enter_goes_into_the_next_cell() {
    let folder = Folder::with("next", "// %%\nlet x = 20;\n");
    let mut lab = Lab::open(&folder);
    lab.keys(ENTER);
    lab.until("leave");
    lab.keys(ALT_ENTER);
    lab.until("In [1]");
    lab.keys("x + 22");
    lab.until("x + 22");
    lab.keys(ALT_ENTER);
    lab.until("= 42");
    lab.keys("// third");
    lab.until("// third");
    lab.keys(CTRL_S);
    lab.until("▸ saved");
    assert_eq!(folder.read("n.rhai"), "// %%\nlet x = 20;\n\n// %%\nx + 22\n\n// %%\n// third\n");
    lab.quits();
}

#[test]
fn outputs_of_cells_that_were_only_run_are_there_again() {
    let folder = Folder::with("run-only", TEXT);
    let mut lab = Lab::open(&folder);
    lab.keys("R");
    lab.until("= 2");
    lab.keys(CTRL_Q);
    lab.until("waits beside the file");
    lab.keys("y");
    lab.terminal.end();
    let mut lab = Lab::open(&folder);
    lab.until("2 changes that were not saved are recovered");
    lab.until("= 2");
    lab.keys(CTRL_S);
    lab.until("▸ saved");
    lab.until_not("recovered ·");
    lab.quits();
    let mut lab = Lab::open(&folder);
    lab.until("= 2");
    assert!(!lab.look().contains("recovered"));
    lab.quits();
}

#[test]
fn a_question_is_answered_by_enter_without_loss() {
    let folder = Folder::with("enter", TEXT);
    let mut lab = Lab::open(&folder);
    lab.keys(ENTER);
    lab.until("leave");
    lab.keys("// mine ");
    lab.until("// mine");
    lab.keys(CTRL_Q);
    lab.until("save and quit");
    lab.keys(ENTER);
    assert_eq!(lab.terminal.end().code(), Some(0));
    assert!(folder.read("n.rhai").contains("// mine let x = 1;"));
    assert_eq!(folder.names(), ["n.rhai"], "nothing waits beside it");
}

#[test]
fn a_second_lab_gets_the_file_when_the_first_has_gone_and_can_save_elsewhere() {
    let folder = Folder::with("second-lab", TEXT);
    let first = Lab::open(&folder);
    let mut command = program(&folder);
    command.args(["lab", "n.rhai", "--devices", "sim:t4"]);
    let mut second = Lab::start(command);
    second.until("read-only · session ready");
    second.keys(ENTER);
    second.until("leave");
    second.keys("// second ");
    second.until("// second");
    second.keys(CTRL_Q);
    second.until("keeps nothing of it");
    second.keys("a");
    second.until("save under another name");
    for _ in 0..folder.0.display().to_string().len() + 10 {
        second.keys("\x7f");
    }
    second.keys("other\r");
    second.terminal.end();
    assert!(folder.read("other.rhai").contains("// second let x = 1;"));
    assert_eq!(folder.read("n.rhai"), TEXT);
    // Another one waits for the file, and has it with all that was typed meanwhile.
    let mut command = program(&folder);
    command.args(["lab", "n.rhai", "--devices", "sim:t4"]);
    let mut third = Lab::start(command);
    third.until("read-only · session ready");
    third.keys(ENTER);
    third.until("leave");
    third.keys("// third ");
    third.until("// third");
    first.quits();
    third.until("it can be saved here now");
    third.until_not("read-only");
    signal("KILL", third.terminal.pid());
    third.terminal.end();
    let mut fourth = Lab::open(&folder);
    fourth.until("// third let x = 1;");
    fourth.keys(CTRL_S);
    fourth.until("▸ saved");
    fourth.quits();
    assert!(folder.read("n.rhai").contains("// third let x = 1;"));
}

#[test]
fn a_file_that_another_program_changed_is_compared_and_reloaded() {
    let folder = Folder::with("reload", TEXT);
    let mut lab = Lab::open(&folder);
    lab.keys("R");
    lab.until("= 2");
    std::fs::write(folder.0.join("n.rhai"), TEXT.replace("x + 1", "x + 70")).unwrap();
    lab.until("Alt-r shows the differences");
    lab.until("changed outside");
    lab.keys("\x1br");
    let shown = lab.until("+ x + 70");
    assert!(shown.contains("- x + 1"), "{shown}");
    lab.keys("r");
    lab.until_not("changed outside");
    // The session is the same one.
    lab.keys("\x1b[B");
    lab.keys(F5);
    lab.until("= 71");
    lab.keys(CTRL_S);
    lab.until("▸ saved");
    lab.quits();
    assert!(folder.read("n.rhai").contains("x + 70"));
}

#[test]
fn a_figure_is_of_one_run_of_one_cell() {
    let code = "// %%\nplot::line([1.0, 4.0, 9.0], #{label: \"first\"})\n\n// %%\nplot::hist([1.0, 2.0]);\n\n// %%\n\
                plot::image(rand([3, 4, 4]))\n";
    let folder = Folder::with("figures", code);
    let mut lab = Lab::open(&folder);
    lab.keys("R");
    lab.until_it("all have run", |shown| {
        shown.contains("● first") && !shown.contains("queued") && !shown.contains("running")
    });
    for _ in 0..2 {
        lab.keys("\x1b[H");
        lab.keys(F5);
        lab.until_it("it has run again", |shown| shown.contains("● first") && !shown.contains("running"));
    }
    lab.keys(CTRL_S);
    lab.until("▸ saved");
    lab.quits();
    let outputs = folder.read("n.rhai.outputs.json");
    assert!(!outputs.contains("ValueError"), "{outputs}");
    let outputs: serde_json::Value = serde_json::from_str(&outputs).unwrap();
    let of = |cell: usize| outputs["cells"][cell]["outputs"].to_string();
    assert_eq!(of(0).matches("\"label\":\"first\"").count(), 1, "{}", of(0));
    assert!(of(1).contains("hist"), "what nobody has shown is shown at the end of its cell: {}", of(1));
}

#[test]
fn a_notebook_has_its_arguments() {
    for (arguments, told) in [(&["--", "one", "2"][..], "2 [one, 2]"), (&[], "0 []")] {
        let folder =
            Folder::with(&format!("args-{}", arguments.len()), "// %%\nprint(`${ARGS.len} ${ARGS}`);\n");
        let mut command = program(&folder);
        command.args(["lab", "n.rhai", "--devices", "sim:t4"]).args(arguments);
        let mut lab = Lab::start(command);
        lab.until("session ready");
        lab.keys(F5);
        let shown = lab.until_it("the list", |shown| shown.contains(" ok"));
        assert!(shown.replace('"', "").contains(told), "{shown}");
        lab.quits();
    }
}

#[test]
fn cells_that_are_moved_and_split_survive_a_crash_and_are_saved_so() {
    let source = "// %%  One\nlet x = 1;\nlet y = 2;\n\n// %%\nx + y\n\n// %%\n3\n";
    let cells = |text: &str| -> Vec<String> {
        text.split("// %%").skip(1).map(|cell| cell.trim().to_owned()).collect()
    };
    let folder = Folder::with("arranged", source);
    let mut lab = Lab::open(&folder);
    lab.keys("J");
    lab.until("cell moved down");
    lab.keys(ENTER);
    lab.until("leave");
    lab.keys("\x1b[B");
    std::thread::sleep(Duration::from_millis(60));
    lab.keys("\x1bx");
    lab.until("cell split");
    signal("KILL", lab.terminal.pid());
    lab.terminal.end();
    let mut lab = Lab::open(&folder);
    lab.until("that were not saved are recovered");
    lab.keys(CTRL_S);
    lab.until("▸ saved");
    assert_eq!(cells(&folder.read("n.rhai")), ["x + y", "One\nlet x = 1;", "let y = 2;", "3"]);
    lab.keys("M");
    lab.until("cells merged");
    lab.keys(CTRL_S);
    lab.until_it("it is saved again", |shown| shown.contains("▸ saved") && !shown.contains("merged"));
    assert_eq!(cells(&folder.read("n.rhai")), ["x + y;\nlet x = 1;", "let y = 2;", "3"]);
    lab.keys("z");
    lab.until_not("x + y;");
    lab.quits();
}

#[test]
fn a_notebook_that_asks_for_devices_and_a_folder_has_them() {
    let folder = Folder::new("asks");
    let notebook = serde_json::json!({
        "nbformat": 4, "nbformat_minor": 5, "metadata": {"tensorlab": {"devices": "sim:t4", "scratch": 65536}},
        "cells": [{"cell_type": "code", "id": "a", "metadata": {}, "execution_count": null, "outputs": [],
            "source": "print(`${cuda::device_count()} GPU and a ${type_of(SCRATCH)}`);"}],
    });
    std::fs::write(folder.0.join("n.ipynb"), notebook.to_string()).unwrap();
    let mut command = program(&folder);
    command.args(["lab", "n.ipynb"]);
    let mut lab = Lab::start(command);
    lab.until("session ready");
    lab.keys(F5);
    lab.until("1 GPU and a string");
    lab.quits();
}
