//! A lesson keeps its word: what was done is there again, whatever was tried before spoils nothing, limits hold.

use super::*;

/// Two sections: a cell that the second needs, and an exercise with a limit of a second.
const LESSON: &str = r#"+++
id = "word"
title = "Word"
summary = "s"
concepts = ["c"]
minutes = 5
devices = ["sim:t4"]

[limits]
time = "1 s"
device_memory = "64 MiB"
+++

# One

Text of the first.

```rhai run
let x = ones([1024]);
```

## Two

Text of the second.

```toml predict id="sent"
ask = "How many bytes are sent?"
unit = "bytes"
answer = "events.h2d.bytes"
tolerance = 0
explain = "Four each."
```

```rhai run
let y = x.to("cuda");
```

## Three

Text of the third.

```rhai exercise id="total" points=1
let whole = zeros([4194304], #{device: "cuda"});
let total = 0;
```

```rhai check
expect_equal(total, 2048.0);
expect(events.peak_bytes("cuda:0") < 4000000, "more than it needs");
```

```rhai solution
let total = y.sum().item() * 2.0;
```

```rhai wrong because="expected 2048"
let total = 1.0;
```

```hint
Add.
```
"#;

fn lesson(name: &str) -> Folder {
    let folder = Folder::new(name);
    std::fs::write(folder.0.join("word.md"), LESSON).unwrap();
    folder
}

fn open(folder: &Folder) -> Lab {
    let mut command = program(folder);
    command.args(["lesson", "start", "word.md"]);
    let mut lab = Lab::start(command);
    lab.until("session ready");
    lab
}

fn progress(folder: &Folder) -> String {
    let output = program(folder).args(["progress", "export", "--json"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Types a text over that of the selected cell and runs it.
fn writes(lab: &mut Lab, text: &str) {
    lab.keys(ENTER);
    lab.until("leave");
    lab.keys("\x1ba");
    lab.keys(&format!("\x1b[200~{text}\x1b[201~"));
    let last = text.lines().last().unwrap_or_default().to_owned();
    lab.until(&last);
    lab.keys(F5);
}

const F1: &str = "\x1bOP";
const F2: &str = "\x1bOQ";

/// To the last section, with the exercise selected, from wherever the lesson was left.
fn on_the_exercise(lab: &mut Lab) {
    lab.keys(F1);
    lab.keys("ppp");
    lab.until("Text of the first");
    lab.keys("n");
    lab.until("Text of the second");
    lab.keys("n");
    lab.until("Text of the third");
    lab.keys(F2);
}

#[test]
fn what_a_step_needs_is_there_after_quitting_and_a_right_answer_stays_right() {
    let folder = lesson("resumed");
    let mut lab = open(&folder);
    lab.keys(F2);
    lab.keys(F5);
    lab.until("✓ ok");
    lab.keys("n");
    lab.until("Text of the second");
    lab.keys("4 KiB\r");
    lab.until("You said 4,096 bytes");
    lab.quits();
    // The first section was done in another session; its cell is run again, unseen.
    let mut lab = open(&folder);
    lab.until("you left off here, at ");
    lab.keys(F1);
    lab.until("Text of the second");
    lab.until("You said 4,096 bytes");
    lab.keys(F2);
    lab.keys("j");
    lab.keys(F5);
    lab.until("✓ right");
    let shown = lab.until("✓ ok");
    assert!(!shown.contains("NameError"), "{shown}");
    // A new session changes nothing of what was settled.
    lab.keys("r");
    lab.until("restart");
    lab.keys("y");
    lab.until("before restart");
    lab.until("session ready");
    lab.keys(F5);
    lab.until_not("before restart");
    assert!(lab.look().contains("✓ right"), "{}", lab.look());
    lab.quits();
    let kept = progress(&folder);
    assert_eq!(kept.matches("\"what\":\"answer\"").count(), 1, "{kept}");
    assert!(!kept.contains("\"hit\":false"), "{kept}");
}

#[test]
fn each_attempt_begins_in_the_state_before_the_exercise() {
    let folder = lesson("attempts");
    let mut lab = open(&folder);
    on_the_exercise(&mut lab);
    // The starter leaves 16 MiB behind.
    lab.keys(F5);
    lab.until("expected 2048");
    writes(&mut lab, "let total = y.sum().item() * 2.0;");
    lab.until("✓ check passed");
    lab.quits();
}

#[test]
fn verdicts_say_whose_fault_it_is() {
    let folder = lesson("verdicts");
    let mut lab = open(&folder);
    on_the_exercise(&mut lab);
    writes(&mut lab, "let on_gpu = 1;");
    lab.until("`total`; your code does not define it");
    lab.esc();
    writes(&mut lab, "let total = y.sum().item() * 2.0;\nthrow \"after it\";");
    lab.until("ended with an error");
    lab.esc();
    writes(&mut lab, "let total = 0; while true {}");
    lab.until("Stopped: it ran longer than the 1 s");
    lab.esc();
    writes(&mut lab, "let total = empty([1 << 25]).cuda();");
    let shown = lab.until("Out of memory on cuda:0");
    assert!(!shown.contains("raise the memory fraction"), "a lesson's limit stays: {shown}");
    lab.esc();
    writes(&mut lab, "let total = y.sum().item() * 2.0;");
    lab.until("✓ check passed");
    lab.quits();
    let kept = progress(&folder);
    for verdict in ["fail", "learner_error", "timeout", "out_of_memory", "pass"] {
        assert!(kept.contains(&format!("\"{verdict}\"")), "{verdict}: {kept}");
    }
    assert!(!kept.contains("checker_fault"), "{kept}");
}

#[test]
fn a_killed_lab_loses_nothing_of_a_lesson() {
    let folder = lesson("killed");
    let mut lab = open(&folder);
    on_the_exercise(&mut lab);
    writes(&mut lab, "let total = 1.0; // mine");
    lab.until("expected 2048");
    lab.esc();
    // A cell of one's own, tried beside the step.
    lab.keys("b");
    lab.keys(ENTER);
    lab.until("leave");
    lab.keys("x.sum() // tried");
    lab.until("// tried");
    lab.keys(F5);
    lab.until("= tensor(1024.)");
    signal("KILL", lab.terminal.pid());
    lab.terminal.end();
    let mut lab = open(&folder);
    on_the_exercise(&mut lab);
    let shown = lab.until("// mine");
    for kept in ["// tried", "= tensor(1024.)", "expected 2048"] {
        assert!(shown.contains(kept), "{kept}: {shown}");
    }
    // The solution passes as if nothing had been tried.
    writes(&mut lab, "let total = y.sum().item() * 2.0; // passes");
    lab.until("✓ check passed");
    lab.quits();
    let mut lab = open(&folder);
    on_the_exercise(&mut lab);
    lab.until("✓ check passed");
    assert!(lab.look().contains("// passes"), "{}", lab.look());
    lab.quits();
    let said = program(&folder).args(["lesson", "reset", "word.md"]).output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.contains("what you wrote in it is in"), "{said}");
    let mut lab = open(&folder);
    on_the_exercise(&mut lab);
    lab.until("let whole");
    assert!(!lab.look().contains("// passes"), "{}", lab.look());
    lab.quits();
}

#[test]
fn there_is_always_a_next_step() {
    let folder = lesson("next");
    let mut command = program(&folder);
    command.args(["lesson", "start", "word.md"]);
    let mut lab =
        Lab { terminal: Terminal::start_sized(command, 24, 80), screen: Screen::new(24, 80), taken: 0 };
    lab.until("session ready");
    // In 80 columns the lesson is alone; what runs comes into view.
    lab.keys(F5);
    lab.until("✓ ok");
    lab.keys("n");
    lab.keys(F1);
    lab.until("Text of the second");
    lab.keys(F5);
    lab.until("first your prediction");
    lab.keys("T");
    lab.until("✓ done");
    lab.keys("Three\r");
    // A step is read before it is done.
    lab.until("Text of the third");
    lab.keys(F2);
    lab.until("In [ ] exercise");
    lab.keys("h");
    lab.until("h shows a solution");
    lab.keys("h");
    lab.until("a solution");
    lab.keys("s");
    lab.until("How far you are");
    let shown = lab.until("Still open");
    for told in
        ["1 of 4 things done", "0 of 1 point", "You looked at 1 solution", "step 3, Three: an exercise"]
    {
        assert!(shown.contains(told), "{told}: {shown}");
    }
    lab.keys("n");
    lab.until("this is the lesson's last page");
    lab.quits();
    let kept = progress(&folder);
    assert!(kept.contains("solution") && kept.contains("skipped"), "{kept}");
}
