//! On a terminal: typing, several lines, completion, interrupts, deaths, the history.

use std::time::{Duration, Instant};

use super::pty::{Terminal, signal};
use super::*;

const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";

/// A repl that has greeted.
fn repl(folder: &Folder, arguments: &[&str]) -> Terminal {
    let mut command = program(folder);
    command.args(["repl", "--devices", "sim:t4"]).args(arguments);
    let mut terminal = Terminal::start(command);
    terminal.until(":help for help");
    terminal
}

#[test]
fn values_come_back_under_their_numbers() {
    let folder = Folder::new("typing");
    let mut t = repl(&folder, &[]);
    t.until("In [1]: ");
    t.type_("1 + 1\r");
    t.until("Out[1]: 2");
    t.type_("_ * 21\r");
    t.until("Out[2]: 42");
    t.type_("let x = ones([2, 2]).cuda(); x\r");
    let shown = t.until("In [4]: ");
    assert!(shown.contains("Out[3]:\ntensor([[1., 1.],"), "{shown}");
    t.type_("x + ones([2, 2])\r");
    t.until("hint:");
    assert!(t.raw().contains("\x1b[1;38;5;74mlet\x1b[0m"), "code is coloured");
    t.type_(CTRL_D);
    assert_eq!(t.end().code(), Some(0));
    assert!(t.echoes());
}

#[test]
fn code_goes_on_over_lines_until_it_is_whole() {
    let folder = Folder::new("multi");
    let mut t = repl(&folder, &[]);
    t.type_("for i in 0..2 {\r");
    t.type_("print(`line ${i}`);\r");
    t.type_("}\r");
    let shown = t.until("line 1");
    assert!(shown.contains("\n    print"), "the line is indented: {shown:?}");
    // A text that is never closed is wrong, and one bracket too few is not: two blank lines run it as it is.
    t.type_("print((1)\r\r\r");
    t.until("SyntaxError");
    // Alt-Enter breaks a line that is whole.
    t.type_("let a = 5;\x1b\ra + 1\r");
    t.until("]: 6");
    // A paste is taken as it is, and run once.
    t.type_("\x1b[200~let b = 1;\nlet c = 2;\n\nb + c\x1b[201~\r");
    t.until("]: 3");
    // As most terminals paste.
    t.type_("\x1b[200~let d = 4;\rlet e = 5;\r// a comment\rd + e\x1b[201~\r");
    t.until("]: 9");
    t.until("]: ");
    // What is drawn line by line is one figure here.
    t.type_("plot::line([1.0, 2.0], #{label: \"first\"});\r");
    t.until("● first");
    t.until("]: ");
    t.type_("plot::line([2.0, 1.0], #{label: \"second\"})\r");
    t.until("▲ second");
}

#[test]
fn a_ctrl_c_at_the_prompt_clears_the_line() {
    let folder = Folder::new("clear");
    let mut t = repl(&folder, &[]);
    // What is typed before the editor listens, the terminal itself takes.
    t.until("In [1]: ");
    t.type_("this is nothing");
    t.until("nothing");
    t.type_(CTRL_C);
    t.until("In [1]: ");
    t.type_("3 + 4\r");
    let shown = t.until("Out[1]: 7");
    assert!(!shown.contains("Error"), "{shown}");
}

#[test]
fn an_interrupt_stops_what_runs_and_keeps_the_variables() {
    let folder = Folder::new("interrupt");
    let mut t = repl(&folder, &[]);
    t.type_("let kept = 11\r");
    t.until("In [2]: ");
    let mut fastest = Duration::MAX;
    for _ in 0..3 {
        t.type_("print(\"begun\"); loop { }\r");
        t.until("loop { }");
        t.until("\nbegun\n");
        let start = Instant::now();
        t.type_(CTRL_C);
        t.until("interrupted");
        fastest = fastest.min(start.elapsed());
    }
    println!("an interrupt is answered within {fastest:?}");
    assert!(fastest < Duration::from_millis(100), "{fastest:?}");
    t.type_("kept\r");
    t.until("]: 11");
}

#[test]
fn a_session_that_does_not_answer_is_restarted_by_a_third_ctrl_c() {
    let folder = Folder::new("stuck");
    let mut t = repl(&folder, &[]);
    t.type_("print(\"begun\"); loop { }\r");
    t.until("loop { }");
    t.until("\nbegun\n");
    signal("STOP", t.session());
    t.type_(CTRL_C);
    std::thread::sleep(Duration::from_millis(100));
    t.type_(CTRL_C);
    t.until("Ctrl-C once more restarts the session");
    t.type_(CTRL_C);
    t.until("a new session has begun");
    t.type_("1 + 2\r");
    t.until("]: 3");
}

#[test]
fn a_ctrl_c_while_a_reset_is_awaited_leaves_nothing_to_save() {
    let folder = Folder::new("reset");
    let mut t = repl(&folder, &[]);
    t.type_("let x = 1\r");
    t.until("In [2]: ");
    let session = t.session();
    for (command, told) in [(":vars", "interrupted"), (":reset", "every variable is forgotten")] {
        signal("STOP", session);
        t.type_(&format!("{command}\r"));
        std::thread::sleep(Duration::from_millis(300));
        t.type_(CTRL_C);
        let shown = t.until(told);
        assert!(!shown.contains("does not answer"), "{shown}");
        signal("CONT", session);
    }
    t.type_(&format!(":save {}\r", folder.file("s.rhai")));
    t.until(": 0 cells");
    t.type_("x\r");
    t.until("'x' is not defined");
}

#[test]
fn a_session_that_dies_is_told_with_its_reason_and_restarted() {
    let folder = Folder::new("death");
    let mut t = repl(&folder, &[]);
    t.type_("let x = 1\r");
    t.until("In [2]: ");
    // While it waits, and while it works.
    for work in ["", "print(\"begun\"); loop { }\r"] {
        t.type_(work);
        if !work.is_empty() {
            t.until("loop { }");
            t.until("\nbegun\n");
        }
        signal("KILL", t.session());
        if work.is_empty() {
            std::thread::sleep(Duration::from_millis(300));
            t.type_("\r");
        }
        t.until("(SIGKILL)");
        t.until("`:restart` begins a new one");
        t.type_("x\r");
        t.until("`:restart` begins a new one");
        t.type_(":restart\r");
        t.until("a new session has begun");
        t.type_("x\r");
        t.until("'x' is not defined");
    }
}

#[test]
fn tab_completes_names_and_shows_how_they_are_called() {
    let folder = Folder::new("complete");
    let mut t = repl(&folder, &[]);
    t.type_("let my_tensor = ones([2]);\r");
    t.until("In [2]: ");
    t.type_("my_t\t");
    t.until("my_tensor");
    t.type_(".matm\t");
    t.until(".matmul");
    t.type_("(my_tensor)\r");
    t.until("tensor(2.)");
    t.type_("leaky_r\t\t");
    t.until("leaky_relu");
    t.type_("\x15arg\t\t");
    let shown = t.until("argsort(");
    assert!(shown.contains("argmax(input"), "{shown}");
    t.type_("\x15:dev\t\r");
    t.until("(simulated)");
    // The parameters that are still to come stand behind the cursor.
    t.type_("matmul(");
    t.until("input, other)");
}

/// A variable's own parts are put in, and what only has the letters takes no place.
#[test]
fn tab_completes_what_a_variable_has() {
    let folder = Folder::new("parts");
    let mut t = repl(&folder, &[]);
    t.type_("let m = nn::Linear(2, 3); let d = #{alpha: 41, beta: 2};\r");
    t.until("In [2]: ");
    t.type_("d.al\t + 1\r");
    t.until("Out[2]: 42");
    t.type_("m.weight.requires_g\t\r");
    t.until("Out[3]: true");
    t.type_("m.wt\t\r");
    t.until("has no attribute 'wt'");
    t.type_("let nb = 3; let nbq = 4;\r");
    t.until("In [6]: ");
    t.type_("nb\t\t");
    t.until("nb: int");
    assert!(t.shown().contains("nbq: int"), "{}", t.shown());
}

/// What does not fit is counted, and no page waits for a key.
#[test]
fn a_long_list_of_names_is_cut_to_the_screen() {
    let folder = Folder::new("long-list");
    let mut t = repl(&folder, &[]);
    t.type_("s\t\t");
    t.until(" more");
    assert!(!t.shown().contains("--More--") && !t.shown().contains("possibilities"), "{}", t.shown());
    t.type_("\x15[20 + 3]\r");
    t.until("Out[1]: [23]");
    t.type_("tensor([1]).\t\t");
    t.until(" more");
}

#[test]
fn help_is_there() {
    let folder = Folder::new("help");
    let mut t = repl(&folder, &[]);
    for ask in ["relu?\r", "relu??\r", "?relu\r", ":help relu\r", "help(relu)\r"] {
        t.type_(ask);
        t.until("Each element, or 0 where it is negative.");
    }
    t.type_(":help\r");
    t.until(":memsnap FILE");
    // A variable is told of as what it is, beside a function of its name where there is one.
    t.type_("let y = 3; let x = ones([2, 3], #{requires_grad: true}); let relu = 5;\r");
    t.type_("let m = nn::Linear(2, 1);\rm.weigth?\r");
    t.until("did you mean m.weight?");
    t.type_("y?\r");
    t.until("type           int");
    t.type_("?x\r");
    let shown = t.until("requires_grad  true");
    assert!(shown.contains("shape          [2, 3]") && shown.contains("dtype          float32"), "{shown}");
    assert!(!shown.contains("Has a page"), "{shown}");
    t.type_("relu?\r");
    t.until("relu: a variable of the session");
    t.until("Each element, or 0 where it is negative.");
    t.type_(":hlep\r");
    t.until("did you mean `:help`?");
}

/// In one piece, as terminals paste that do not say so, and while a cell still runs.
#[test]
fn lines_that_are_typed_ahead_wait_for_their_prompts() {
    let folder = Folder::new("ahead");
    let mut t = repl(&folder, &[]);
    t.type_("let a = 40;\rlet b = 2;\r[a + b]\r");
    t.until("Out[3]: [42]");
    t.type_("let c = 0; while c < 300000 { c += 1; }\r");
    t.type_("let d = a * 2;\r[d - b]\r");
    t.until("Out[6]: [78]");
}

/// Whoever interrupts a cell of what was pasted wants nothing of the rest.
#[test]
fn an_interrupt_drops_the_lines_that_wait() {
    let folder = Folder::new("dropped");
    let mut t = repl(&folder, &[]);
    t.type_("let first = 1;\r");
    t.until("In [2]: ");
    t.type_(
        "print(\"go\" + \"es\"); while true { }\rprint(\"one\" + \" ran\");\rprint(\"two\" + \" ran\");\r",
    );
    t.until("goes");
    t.type_("\x03");
    let shown = t.until("In [3]: ");
    t.type_("[first + 41]\r");
    let after = t.until("Out[3]: [42]");
    assert!(!shown.contains("one ran") && !after.contains("ran"), "{shown}{after}");
    t.type_("\x1b[A\x1b[A");
    t.until("while true { }");
}

#[test]
fn the_history_lasts_even_when_the_program_is_killed() {
    let folder = Folder::new("history");
    let mut t = repl(&folder, &[]);
    t.type_("let first = 123\r");
    t.until("In [2]: ");
    t.type_("if true {\rfirst\r}\r");
    t.until("Out[2]: 123");
    signal("KILL", t.pid());
    t.end();
    let mut t = repl(&folder, &[]);
    t.until("In [1]: ");
    // The newest is above, with its lines; the older one is found by what it begins with.
    t.type_("\x1b[A");
    t.until("first");
    t.type_(CTRL_C);
    t.until("In [1]: ");
    t.type_("\x12let f");
    t.until("let first = 123");
    t.type_("\r");
    t.until("In [2]: ");
    t.type_("first + 1\r");
    t.until("]: 124");
}

#[test]
fn long_output_is_cut_with_a_count_and_control_sequences_are_not_passed_on() {
    let folder = Folder::new("cut");
    let mut t = repl(&folder, &[]);
    t.type_("for i in 0..2000 { print(i); }\r");
    t.until("1,450 lines are left out");
    t.until("1999");
    t.type_("print(\"\\x1b[2Jgone \\x07bell\")\r");
    t.until("gone bell\n");
    assert!(!t.raw().contains("\x1b[2Jgone"));
    t.type_("for i in progress(0..3, \"steps\") { }\r");
    t.until("3/3");
}

#[test]
fn a_signal_gives_the_terminal_back() {
    let folder = Folder::new("signal");
    let mut t = repl(&folder, &[]);
    t.until("In [1]: ");
    t.type_("half a line");
    t.until("line");
    assert!(!t.echoes(), "the editor reads keys");
    signal("TERM", t.pid());
    assert_eq!(t.end().code(), Some(128 + 15));
    assert!(t.echoes());
}

#[test]
fn plain_mode_draws_nothing_twice_and_has_no_escape_codes() {
    let folder = Folder::new("plain");
    let mut t = repl(&folder, &["--plain"]);
    t.until(">>> ");
    t.type_("1 + 1\r");
    t.until("\n2\n>>> ");
    t.type_("if true {\r");
    t.until("... ");
    t.type_("\"whole\" }\r");
    t.until("\n\"whole\"\n>>> ");
    t.type_("nothing");
    t.until("nothing");
    t.type_(CTRL_C);
    t.until(">>> ");
    t.type_("plot::line([1.0, 2.0], #{label: \"loss\"}); plot::show()\r");
    t.until("figure: line loss of 2 values from 1 to 2");
    t.until(">>> ");
    t.type_("x\r");
    t.until("'x' is not defined");
    t.type_("loop { }\r");
    t.until("loop { }");
    std::thread::sleep(Duration::from_millis(200));
    t.type_(CTRL_C);
    t.until("interrupted");
    t.type_(CTRL_D);
    assert_eq!(t.end().code(), Some(0));
    assert!(!t.raw().contains('\x1b'), "{:?}", t.raw());
}

#[test]
fn without_colours_the_editor_and_its_prompts_stay() {
    let folder = Folder::new("no-colour");
    let mut command = program(&folder);
    command.args(["repl", "--devices", "cpu"]).env("NO_COLOR", "1");
    let mut t = Terminal::start(command);
    t.until("In [1]: ");
    t.type_("let my_value = 4\r");
    t.until("In [2]: ");
    t.type_("my_v\t + 1\r");
    t.until("Out[2]: 5");
    assert!(!t.raw().contains("\x1b[1;") && !t.raw().contains("38;5"), "{:?}", t.raw());
}

#[test]
fn a_curve_is_redrawn_in_its_place() {
    let folder = Folder::new("curve");
    let mut t = repl(&folder, &[]);
    t.type_(
        "for i in 1..4 { plot::line([1.0, i * 1.0], #{title: `curve ${i}`}); plot::show(#{id: \"c\"}); }\r",
    );
    t.until("curve 3");
    t.until("In [2]: ");
    let raw = t.raw();
    let drawn = raw.rsplit("curve 1").next().unwrap();
    assert!(drawn.contains("A\x1b[J"), "the second one takes the place of the first: {drawn:?}");
}
