//! Each screen and list of the lab: there by its key, used, and left again.

use super::*;

const TWO: &str = "// %%\nlet x = ones([256, 256]).cuda();\nlet y = x @ x;\n\n// %%\nlet b = 2;\n";

#[test]
fn the_machine_fills_the_screen_and_leads_back() {
    let folder = Folder::with("machine", TWO);
    let mut lab = Lab::open(&folder);
    lab.keys(F5);
    lab.until("ok");
    lab.keys(F6);
    lab.until("live tensors");
    for piece in ["modelled", "256.0 KiB", "[256, 256]"] {
        lab.until(piece);
    }
    lab.keys("?");
    lab.until("close");
    lab.esc();
    lab.until_not("figures mean");
    lab.keys(F6);
    lab.until("let y = x @ x");
    lab.quits();
}

#[test]
fn home_shows_what_there_is_and_opens_it() {
    let folder = Folder::with("home", TWO);
    let mut lab = Lab::open(&folder);
    lab.keys(F7);
    let shown = lab.until("Notebooks");
    assert!(shown.contains("n.rhai") && shown.contains("done"), "{shown}");
    lab.keys("\x1b[B\x1b[B\x1b[A");
    lab.keys(F7);
    lab.until("let y = x @ x");
    lab.quits();
    // Without a file it begins there.
    let mut lab = Lab::start({
        let mut command = program(&folder);
        command.args(["--devices", "sim:t4"]);
        command
    });
    lab.until("Notebooks");
    lab.keys("q");
    lab.terminal.end();
}

#[test]
fn the_palette_lists_actions_and_does_the_chosen_one() {
    let folder = Folder::with("palette", TWO);
    let mut lab = Lab::open(&folder);
    lab.keys(CTRL_P);
    lab.keys("add a cell bel");
    lab.until("add a cell below");
    lab.keys(ENTER);
    lab.until_not("add a cell bel");
    lab.keys(CTRL_P);
    lab.keys("zzzz");
    lab.until("nothing fits");
    lab.esc();
    lab.until_not("nothing fits");
    lab.keys(CTRL_S);
    lab.until("▸ saved");
    assert_eq!(folder.read("n.rhai").matches("// %%").count(), 3);
    lab.quits();
}

#[test]
fn what_happened_is_written_from_the_machine_and_from_the_palette() {
    let folder = Folder::with("exports", TWO);
    let mut lab = Lab::open(&folder);
    lab.keys(F5);
    lab.until("ok");
    lab.keys(F6);
    lab.until("scale");
    lab.keys("t");
    lab.until("n.trace.json: ");
    lab.keys("e");
    lab.until("n.telemetry.jsonl: ");
    lab.keys("e");
    lab.until("n-2.telemetry.jsonl: ");
    lab.keys(F6);
    lab.until("let y = x @ x");
    lab.keys(CTRL_P);
    lab.keys("snapshot for");
    lab.until("write a snapshot");
    lab.keys(ENTER);
    lab.until("n.memory.pickle: opens at pytorch.org");
    let trace: serde_json::Value = serde_json::from_str(&folder.read("n.trace.json")).unwrap();
    let slices = trace["traceEvents"].as_array().unwrap().iter().filter(|e| e["ph"] == "X");
    assert!(slices.clone().any(|e| e["name"] == "mm"), "{trace}");
    let lines: Vec<serde_json::Value> =
        folder.read("n.telemetry.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    crate::telemetry::check_lines(&lines);
    assert_eq!(lines.iter().filter(|e| e.get("start_ns").is_some()).count(), slices.count());
    assert!(std::fs::read(folder.0.join("n.memory.pickle")).unwrap().starts_with(&[0x80]));
    lab.quits();
}

#[test]
fn names_are_completed_while_typing() {
    let folder = Folder::with("completion", "// %%\nlet my_tensor = ones([2]);\n\n// %%\n0\n");
    let mut lab = Lab::open(&folder);
    lab.keys(F5);
    lab.until("ok");
    lab.keys("\x1b[B\r");
    lab.until("leave");
    // The only name that fits is taken at once, of several one is chosen.
    lab.keys("my_te\t.matm\t(my_ten\t) + 0.");
    lab.until("my_tensor.matmul(my_tensor) + 0.");
    lab.keys(F5);
    lab.until("tensor(2.)");
    lab.keys("\x1b[F; my_tensor.su");
    lab.keys("\t");
    lab.until("Tab take");
    lab.keys("\t");
    lab.until_not("Tab take");
    lab.until("; my_tensor.su");
    lab.quits();
}

#[test]
fn cells_run_before_are_found_again() {
    let folder = Folder::with("past", "// %%\nlet first = 41;\n\n// %%\nfirst + 1\n");
    let mut lab = Lab::open(&folder);
    lab.keys(F5);
    lab.until("ok");
    lab.keys("\x1b[B");
    lab.keys(F5);
    lab.until("42");
    lab.keys(CTRL_R);
    lab.until("let first = 41");
    lab.keys("let");
    lab.until("▸let first");
    lab.esc();
    lab.until_not("▸let first");
    lab.quits();
    // They are there in the next lab as well, and are taken into a cell.
    let mut lab = Lab::open(&folder);
    lab.keys(CTRL_R);
    lab.keys("first +");
    lab.until("▸first + 1");
    lab.keys(ENTER);
    lab.until("leave");
    lab.keys(CTRL_S);
    lab.until("▸ saved");
    assert_eq!(folder.read("n.rhai").matches("first + 1").count(), 2);
    lab.quits();
}

#[test]
fn keys_right_behind_a_paste_are_kept() {
    let folder = Folder::with("paste", "// %%\n\n");
    let mut lab = Lab::open(&folder);
    lab.keys(ENTER);
    lab.until("leave");
    let long: String = (0..400).map(|i| format!("let v{i} = {i};\n")).collect();
    for (at, pasted) in ["let a = 1;".to_string(), long.clone(), "é猫".repeat(700)].iter().enumerate() {
        lab.keys(&format!("\x1b[200~{pasted}\x1b[201~// end{at}\r"));
    }
    lab.until("// end2");
    lab.esc();
    lab.until_not("leave");
    lab.keys(CTRL_S);
    lab.until("▸ saved");
    let kept = folder.read("n.rhai");
    assert_eq!(kept.trim(), format!("// %%\nlet a = 1;// end0\n{long}// end1\n{}// end2", "é猫".repeat(700)));
    lab.quits();
}
