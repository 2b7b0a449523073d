//! What can go wrong around the lab: files, other programs, disks, terminals, sessions.

use tensorlab::notebook::{Change, NotebookFile};

use super::*;

const TEXT: &str = "// %%\nlet x = 1;\n\n// %%\nx + 1\n";

/// Types into the first cell and leaves it.
fn edit(lab: &mut Lab, text: &str) {
    lab.keys(ENTER);
    lab.until("leave");
    lab.keys(text);
    lab.until(text.trim());
    lab.esc();
    lab.until_not("leave");
}

#[test]
fn what_is_no_notebook_is_refused_before_the_terminal_is_taken() {
    let folder = Folder::new("foreign");
    let bytes: [(&str, &[u8], &str); 4] = [
        ("picture.rhai", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "binary"),
        ("latin.rhai", b"// %%\nlet caf\xe9 = 1;\n", "not UTF-8 text, line 2"),
        ("torn.ipynb", b"{\"cells\": [{\"cell_type\": \"code\", \"sou", "no JSON"),
        ("other.ipynb", b"{\"nbformat\": 9}", "nbformat"),
    ];
    for (name, bytes, words) in bytes {
        std::fs::write(folder.0.join(name), bytes).unwrap();
        let mut command = program(&folder);
        command.args(["lab", name]);
        let mut lab = Lab::start(command);
        assert_eq!(lab.terminal.end().code(), Some(2), "{name}");
        std::thread::sleep(Duration::from_millis(50));
        let raw = lab.terminal.raw();
        assert!(raw.contains(words) && !raw.contains("\x1b[?1049h"), "{name}: {raw:?}");
        assert_eq!(std::fs::read(folder.0.join(name)).unwrap(), bytes);
    }
    // Outputs that are torn hinder nothing.
    let folder = Folder::with("torn-outputs", TEXT);
    std::fs::write(folder.0.join("n.rhai.outputs.json"), "{\"format\":\"tensorlab-outputs\",\"ver").unwrap();
    let mut command = program(&folder);
    command.args(["lab", "n.rhai"]);
    let mut lab = Lab::start(command);
    lab.until("are damaged");
    lab.until("x + 1");
    lab.quits();
}

#[test]
fn a_notebook_that_another_program_changes_is_not_overwritten() {
    let folder = Folder::with("changed", TEXT);
    let mut lab = Lab::open(&folder);
    edit(&mut lab, "// mine ");
    let theirs = TEXT.replace("= 1", "= 77");
    std::fs::write(folder.0.join("n.rhai"), &theirs).unwrap();
    lab.keys(CTRL_S);
    lab.until_it("a question", |shown| shown.contains("write over it"));
    lab.keys("n");
    lab.until_not("write over it");
    assert_eq!(folder.read("n.rhai"), theirs);
    assert!(lab.look().contains("// mine"), "the text is still there:\n{}", lab.look());
    // Killed now, it has lost nothing either.
    signal("KILL", lab.terminal.pid());
    lab.terminal.end();
    let mut lab = Lab::open(&folder);
    lab.until("= 77");
    assert_eq!(folder.read("n.rhai"), theirs);
    assert!(folder.read("n.recovered-1.rhai").contains("// mine let x = 1;"));
    lab.quits();
}

#[test]
fn changes_that_wait_for_a_file_that_was_changed_are_told_and_kept() {
    let folder = Folder::with("waiting", TEXT);
    let path = folder.0.join("n.rhai");
    let mut opened = NotebookFile::open(&path).unwrap();
    let change = Change::source(&opened.notebook.cells[0], "let x = 5;").unwrap();
    opened.file.record(&change).unwrap();
    drop(opened);
    let theirs = TEXT.replace("= 1", "= 77");
    std::fs::write(&path, &theirs).unwrap();
    let mut command = program(&folder);
    command.args(["lab", "n.rhai"]);
    let mut lab = Lab::start(command);
    lab.until("1 change that was not saved is in");
    lab.until("= 77");
    lab.until("session ready");
    edit(&mut lab, "// more ");
    lab.keys(CTRL_S);
    lab.until("▸ saved");
    lab.quits();
    assert!(folder.read("n.rhai").contains("// more"));
    assert!(folder.read("n.recovered-1.rhai").contains("let x = 5;"), "what waited is lost by nothing");
}

#[test]
fn a_full_disk_is_told_and_loses_nothing() {
    let folder = Folder::with("full", TEXT);
    // The limit's signal does not end the program either.
    let line = format!("ulimit -f 16; exec {} lab n.rhai --devices sim:t4", env!("CARGO_BIN_EXE_tensorlab"));
    let mut command = Command::new("bash");
    cleared(&mut command, &folder);
    command.args(["-c", &line]);
    let mut lab = Lab::start(command);
    lab.until("session ready");
    let long: String = (0..2000).map(|i| format!("// line {i}\n")).collect();
    lab.keys(ENTER);
    lab.until("leave");
    lab.keys(&format!("\x1b[200~{long}\x1b[201~// end"));
    lab.until("// end");
    lab.keys(CTRL_S);
    lab.until("not saved: ");
    assert_eq!(folder.read("n.rhai"), TEXT);
    let left = folder.names();
    assert!(!left.iter().any(|name| name.ends_with(".tmp")), "{left:?}");
    // Nor is it promised to wait.
    lab.keys(CTRL_Q);
    lab.until("lose what is not saved");
    lab.keys("n");
    // What is typed is there, and is saved once there is room.
    assert!(lab.look().contains("// end"));
    for _ in 0..long.lines().count() + 2 {
        lab.keys("\x1a");
    }
    lab.until("let x = 1;");
    lab.keys("// short ");
    lab.keys(CTRL_S);
    lab.until_it("it is saved", |shown| shown.contains("▸ saved") && !shown.contains("not saved"));
    assert!(folder.read("n.rhai").contains("// short"));
    lab.quits();
}

#[test]
fn a_run_that_is_interrupted_keeps_its_outputs_so_far() {
    let code = "// %%\nprint(\"one\"); 1\n\n// %%\nprint(\"two\"); telemetry::export_memory_snapshot(\"begun\"); loop { }\n\
                \n// %%\nprint(\"three\")\n";
    for by_key in [true, false] {
        let folder = Folder::with(if by_key { "run-key" } else { "run-signal" }, code);
        let mut command = program(&folder);
        command.args(["notebook", "run", "n.rhai"]);
        let mut terminal = Terminal::start(command);
        let start = Instant::now();
        while !folder.0.join("begun").exists() {
            assert!(start.elapsed() < PATIENCE, "{}", terminal.raw());
            std::thread::sleep(Duration::from_millis(3));
        }
        if by_key {
            terminal.type_(CTRL_C);
        } else {
            signal("INT", terminal.pid());
        }
        assert_eq!(terminal.end().code(), Some(130), "{}", terminal.raw());
        let outputs = folder.read("n.rhai.outputs.json");
        for piece in ["one", "two", "KeyboardInterrupt"] {
            assert!(outputs.contains(piece), "{piece:?} is missing in {outputs}");
        }
        assert!(!outputs.contains("three"));
        assert_eq!(folder.read("n.rhai"), code);
    }
}

#[test]
fn a_terminal_that_vanishes_ends_the_lab_and_its_session() {
    let folder = Folder::with("vanish", TEXT);
    let mut lab = Lab::open(&folder);
    edit(&mut lab, "// kept ");
    let session = lab.terminal.session();
    lab.terminal.vanish();
    assert!(!lab.terminal.end().success());
    let start = Instant::now();
    while std::path::Path::new(&format!("/proc/{session}")).exists() {
        assert!(start.elapsed() < PATIENCE, "the session goes on");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(folder.names(), [".n.rhai.journal", "n.rhai"], "what was typed waits, and there is no lock");
    let mut lab = Lab::open(&folder);
    lab.until("// kept let x = 1;");
    lab.quits();
}

#[test]
fn every_size_of_a_terminal_is_lived_through() {
    let folder = Folder::with("sizes", TEXT);
    let mut lab = Lab::open(&folder);
    for (rows, columns) in [(1, 1), (2, 300), (200, 3), (24, 80), (1, 500), (60, 200), (5, 5)] {
        for key in ["", F6, F7, F7, F6, CTRL_P, ESC] {
            lab.resize(rows, columns);
            lab.keys(key);
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    lab.resize(30, 140);
    lab.until("session ready");
    // Keys on a screen without room were not heeded: the palette may be open, over the machine.
    lab.esc();
    lab.esc();
    // F2: the cells.
    lab.keys("\x1bOQ");
    lab.until("x + 1");
    lab.keys(F5);
    lab.until("ok");
    lab.quits();
}

#[test]
fn bytes_that_are_no_keys_do_no_harm() {
    for seed in 1..4u64 {
        let folder = Folder::with(&format!("garbage-{seed}"), TEXT);
        let mut lab = Lab::open(&folder);
        let mut state = seed;
        let mut next = move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 56) as u8
        };
        for _ in 0..40 {
            // Half of them begin as sequences do.
            let mut bytes: Vec<u8> = if next() % 2 == 0 { b"\x1b[".to_vec() } else { Vec::new() };
            bytes.extend((0..64).map(|_| next()));
            // These would quit, which is no harm either, but ends the test.
            bytes.retain(|byte| ![b'q', b'Q', 0x11].contains(byte));
            lab.terminal.write(&bytes);
            lab.look();
        }
        std::thread::sleep(Duration::from_millis(300));
        assert!(lab.terminal.is_running(), "{}", lab.terminal.raw());
        // An end for a paste that may have begun, and a way out of wherever this has led.
        lab.keys("\x1b[201~");
        std::thread::sleep(Duration::from_millis(100));
        lab.esc();
        lab.esc();
        lab.quits();
    }
}

#[test]
fn output_reaches_the_terminal_as_text_alone_and_of_any_length() {
    let code = "// %%\nprint(\"a\\x1b]0;evil\\x07b\\x1b[2Jc\\x1b[?1049ld\\u0000\\u009b31me\");\n\n\
                // %%\nlet s = \"0123456789\"; for i in 0..20 { s += s; }\nprint(s); s.len\n";
    let folder = Folder::with("output", code);
    let mut lab = Lab::open(&folder);
    let before = lab.terminal.raw().matches("\x1b[2J").count();
    lab.keys(F5);
    lab.until("ok");
    let raw = lab.terminal.raw();
    assert!(!raw.contains("\x1b]0;") && !raw.contains("\x1b[?1049l") && !raw.contains('\u{9b}'), "{raw:?}");
    assert_eq!(raw.matches("\x1b[2J").count(), before);
    lab.keys("\x1b[B");
    lab.keys(F5);
    // Its end is in view, whatever its length.
    lab.until("= 10485760");
    // A key shows at once beside a line of ten megabytes.
    let start = Instant::now();
    lab.keys(CTRL_P);
    lab.until("▸");
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    lab.esc();
    lab.quits();
}

#[test]
fn a_session_that_is_killed_or_hangs_is_told_and_replaced() {
    let folder = Folder::with("deaths", "// %%\nprint(\"begun\"); loop { }\n\n// %%\n40 + 2\n");
    let mut lab = Lab::open(&folder);
    lab.keys(F5);
    lab.until("begun");
    signal("KILL", lab.terminal.session());
    lab.until("SIGKILL");
    lab.until("40 + 2");
    lab.keys("r");
    lab.until("session ready");
    // Stopped, it stands for one that hangs in native code.
    lab.keys(F5);
    lab.until("begun");
    let stuck = lab.terminal.session();
    signal("STOP", stuck);
    lab.keys(CTRL_C);
    lab.until("interrupting");
    lab.keys(CTRL_C);
    lab.until("keep the session");
    lab.keys("y");
    lab.until("session ready");
    lab.keys("\x1b[B");
    lab.keys(F5);
    lab.until("42");
    assert!(!std::path::Path::new(&format!("/proc/{stuck}")).exists(), "the stuck one is gone");
    lab.quits();
}

#[test]
fn a_device_without_memory_is_an_error_of_its_cell() {
    let folder =
        Folder::with("oom", "// %%\nlet x = zeros([1 << 34], #{device: \"cuda\"});\n\n// %%\n40 + 2\n");
    let mut lab = Lab::open(&folder);
    lab.keys(F5);
    lab.until("OutOfMemoryError");
    lab.keys("\x1b[B");
    lab.keys(F5);
    lab.until("42");
    lab.quits();
}

#[test]
fn a_second_lab_on_the_same_notebook_reads_only() {
    let folder = Folder::with("second", TEXT);
    let mut first = Lab::open(&folder);
    let mut command = program(&folder);
    command.args(["lab", "n.rhai"]);
    let mut second = Lab::start(command);
    second.until(&format!("open in process {}", first.terminal.pid()));
    second.until("session ready");
    edit(&mut second, "// second ");
    second.keys(CTRL_S);
    second.until("not saved");
    assert_eq!(folder.read("n.rhai"), TEXT);
    edit(&mut first, "// first ");
    first.keys(CTRL_S);
    first.until("▸ saved");
    assert!(folder.read("n.rhai").contains("// first"));
    second.quits();
    assert!(folder.names().contains(&".n.rhai.lock".to_string()), "the first one's lock stays");
    first.quits();
    assert!(NotebookFile::open(&folder.0.join("n.rhai")).unwrap().file.read_only().is_none());
}

/// The screen, once nothing more is drawn.
fn settled(lab: &mut Lab) -> String {
    loop {
        let shown = lab.look();
        std::thread::sleep(Duration::from_millis(300));
        if lab.look() == shown {
            return shown;
        }
    }
}

#[test]
fn a_lab_after_one_that_was_killed_has_the_whole_screen_and_so_has_one_that_is_asked_to_redraw() {
    let folder = Folder::with("garbled", TEXT);
    let line = "for i in 1 2; do \"$0\" lab n.rhai --devices sim:t4; done";
    let mut command = Command::new("bash");
    cleared(&mut command, &folder);
    command.args(["-c", line, env!("CARGO_BIN_EXE_tensorlab")]);
    let mut lab = Lab::start(command);
    lab.until("session ready");
    let wanted = settled(&mut lab);
    lab.keys("?");
    lab.until("edit the cell, or answer the question");
    signal("KILL", lab.terminal.session());
    // The terminal is still in the alternate screen, with the help on it.
    let same = |shown: &str| shown == wanted;
    lab.until_it("the same screen as the first lab's", same);
    lab.screen.feed(b"\x1b[5;20Hsomething else wrote here\x1b[2;1Hand here");
    assert_ne!(lab.look(), wanted);
    lab.keys("\x0c");
    lab.until_it("the same screen", same);
    // In a popup and while typing as well.
    lab.keys(CTRL_P);
    lab.until("interrupt (twice: restart)");
    let list = settled(&mut lab);
    lab.screen.feed(b"\x1b[5;20Hsomething else wrote here");
    lab.keys("\x0c");
    lab.until_it("the same list", |shown| shown == list);
    lab.esc();
    lab.until_it("the same screen", same);
    // The shell around them has the terminal as the killed lab left it.
    lab.keys(CTRL_Q);
    assert_eq!(lab.terminal.end().code(), Some(0));
}
