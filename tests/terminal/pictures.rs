//! Sixels for a terminal that says it draws them, though nothing names it.

use super::*;

const FIGURE: &str = "// %%\nplot::line([1.0, 4.0, 9.0], #{title: \"squares\"})\n";

/// The lab, and an answer to its question after a while.
fn answered(folder: &Folder, answer: &str, after: Duration, with: &[(&str, &str)]) -> Lab {
    let mut command = program(folder);
    command.args(["lab", "n.rhai", "--devices", "sim:t4"]).envs(with.iter().copied());
    let mut lab = Lab::start(command);
    let start = Instant::now();
    while lab.screen.asked == 0 {
        lab.look();
        assert!(start.elapsed() < PATIENCE, "it is not asked");
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(after);
    lab.keys(answer);
    lab.until("session ready");
    lab
}

#[test]
fn a_terminal_that_says_so_gets_sixels() {
    let folder = Folder::with("sixel", FIGURE);
    // What is typed around the answer is taken as typed.
    let mut lab = answered(&folder, "b\x1b[?62;4;6;22cb", Duration::ZERO, &[]);
    lab.keys("k\x1b[A");
    lab.keys(F5);
    lab.until("ok");
    let start = Instant::now();
    while lab.screen.sixels == 0 {
        lab.look();
        assert!(start.elapsed() < PATIENCE, "no sixels:\n{}", lab.look());
        std::thread::sleep(Duration::from_millis(3));
    }
    lab.keys(CTRL_S);
    lab.until("▸ saved");
    assert_eq!(
        folder.read("n.rhai").matches("// %%").count(),
        3,
        "each b adds a cell: {}",
        folder.read("n.rhai")
    );
    assert!(!folder.read("n.rhai").contains("62;4"));
    lab.quits();
}

#[test]
fn a_terminal_that_does_not_say_so_gets_characters() {
    for (name, answer, after) in [
        ("other", "\x1b[?62;22c", Duration::ZERO),
        ("late", "\x1b[?62;4c", Duration::from_millis(600)),
        ("silent", "", Duration::ZERO),
    ] {
        let folder = Folder::with(name, FIGURE);
        let mut lab = answered(&folder, answer, after, &[]);
        lab.keys(F5);
        lab.until("ok");
        lab.until("squares");
        assert_eq!(lab.screen.sixels, 0, "{name}");
        lab.keys("\r// typed");
        lab.until("// typed");
        lab.esc();
        lab.keys(CTRL_S);
        lab.until("▸ saved");
        assert!(!folder.read("n.rhai").contains("62;"), "nothing of an answer is typed");
        lab.quits();
    }
}

#[test]
fn whoever_is_named_is_not_asked() {
    let folder = Folder::with("named", FIGURE);
    for (name, value) in [("TENSORLAB_GRAPHICS", "blocks"), ("TERM", "foot"), ("TERM", "linux")] {
        let mut command = program(&folder);
        command.args(["lab", "n.rhai"]).env(name, value);
        let mut lab = Lab::start(command);
        lab.until("session ready");
        assert_eq!(lab.screen.asked, 0, "{value}");
        lab.quits();
    }
}

/// The first frame waits for no answer.
#[test]
fn a_silent_terminal_delays_nothing() {
    let folder = Folder::with("delay", FIGURE);
    let first_frame = |asked: bool| {
        let mut command = program(&folder);
        command.args(["lab", "n.rhai"]);
        if !asked {
            command.env("TENSORLAB_GRAPHICS", "blocks");
        }
        let mut lab = Lab::start(command);
        let start = Instant::now();
        while !lab.look().contains("plot::line") {
            assert!(start.elapsed() < PATIENCE);
            std::thread::sleep(Duration::from_millis(1));
        }
        let took = start.elapsed();
        lab.until("session ready");
        lab.quits();
        took
    };
    let fastest = |asked| (0..5).map(|_| first_frame(asked)).min().unwrap();
    let (silent, unasked) = (fastest(true), fastest(false));
    println!("first frame after {silent:?}, unasked after {unasked:?}");
    assert!(silent < unasked + Duration::from_millis(50), "{silent:?} against {unasked:?}");
}
