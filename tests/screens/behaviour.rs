//! What the lab does with keys, clicks and messages.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use tensorlab::base::Device;
use tensorlab::base::event::{Clock, Source};
use tensorlab::lab::document::Item;
use tensorlab::lab::{
    BINDINGS, Colour, Confirm, Document, Effect, Keeping, Msg, Pane, Popup, SessionStatus, render,
    render_to_string,
};
use tensorlab::lesson::Entry;
use tensorlab::lesson::markdown::{Block, Inline};
use tensorlab::session::digest::{Deeds, Digest};
use tensorlab::session::protocol::{
    Display, Message, Outcome, ProbeValue, Request, Stream, Usage, VERSION, Verdict,
};

use super::fixture::*;

pub fn codes(document: &Document) -> Vec<String> {
    let items = document.steps.iter().flat_map(|step| &step.items);
    let cell = |item: &Item| match item {
        Item::Cell(cell) => Some(cell.code.clone()),
        _ => None,
    };
    items.filter_map(cell).collect()
}

pub fn mouse(kind: MouseEventKind, column: u16, row: u16) -> Msg {
    Msg::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE })
}

/// Row and column of a text on the screen.
pub fn find(lab: &Lab, columns: u16, rows: u16, text: &str) -> (u16, u16) {
    let shown = render_to_string(&lab.state, columns, rows);
    let found = shown.lines().enumerate().find_map(|(y, line)| {
        line.find(text).map(|at| (u16::try_from(y).unwrap(), line[..at].chars().count() as u16))
    });
    found.unwrap_or_else(|| panic!("{text:?} is not in\n{shown}"))
}

#[test]
fn the_first_interrupt_stops_and_clears_the_queue() {
    let mut lab = Lab::notebook(&["loop {}", "2", "3"]);
    lab.key(KeyCode::Char('R'));
    lab.starts();
    lab.ctrl('c');
    assert_eq!(lab.sent.last(), Some(&Request::Interrupt));
    lab.finishes(Outcome::Interrupted, Usage::default());
    let shown = lab.shows();
    assert!(shown.contains("■ interrupted") && !shown.contains("queued"), "{shown}");
    let evaluations = lab.sent.iter().filter(|r| matches!(r, Request::Evaluate { .. })).count();
    assert_eq!(evaluations, 1, "nothing of the queue may run");
}

#[test]
fn a_second_interrupt_within_two_seconds_offers_a_restart() {
    let mut lab = Lab::notebook(&["loop {}"]);
    lab.key(KeyCode::F(5));
    lab.ctrl('c');
    lab.wait(Duration::from_millis(2100));
    lab.ctrl('c');
    assert_eq!(lab.state.popup(), None, "that was too late to be a second one");
    lab.wait(Duration::from_millis(1500));
    lab.ctrl('c');
    assert_eq!(lab.state.popup(), Some(Popup::Confirm(Confirm::RestartStuck)));
    lab.key(KeyCode::Char('n'));
    assert!(!lab.effects.contains(&Effect::RestartSession));
    lab.ctrl('c');
    lab.key(KeyCode::Char('y'));
    assert_eq!(lab.effects.last(), Some(&Effect::RestartSession));
    assert_eq!(lab.state.session_status(), &SessionStatus::Starting);
}

#[test]
fn other_devices_are_asked_for_and_a_wrong_name_can_be_mended() {
    let mut lab = Lab::notebook(&["1"]);
    lab.alt('d');
    assert_eq!(lab.state.popup(), Some(Popup::Devices));
    lab.key(KeyCode::Enter);
    assert!(lab.shows().contains("type devices, such as cpu"), "{}", lab.shows());
    lab.types("sim:t9");
    assert!(lab.shows().contains("> sim:t9"), "{}", lab.shows());
    lab.key(KeyCode::Enter);
    assert_eq!(lab.effects.last(), Some(&Effect::UseDevices("sim:t9".into())));
    lab.tell(Msg::NotPlaced("there is no device profile `t9`".into()));
    assert_eq!(lab.state.popup(), Some(Popup::Devices));
    assert!(lab.shows().contains("no device profile"), "{}", lab.shows());
    lab.key(KeyCode::Backspace);
    lab.types("4");
    lab.key(KeyCode::Enter);
    assert_eq!(lab.effects.last(), Some(&Effect::UseDevices("sim:t4".into())));
    lab.tell(Msg::Placed { is_reopened: false });
    assert_eq!((lab.state.popup(), lab.effects.last()), (None, Some(&Effect::RestartSession)));
    assert!(lab.shows().contains("a new session on sim:t4"), "{}", lab.shows());
    // A lesson that was opened anew has its session already.
    lab.effects.clear();
    lab.alt('d');
    lab.types("cpu");
    lab.key(KeyCode::Enter);
    assert_eq!(lab.effects.last(), Some(&Effect::UseDevices("cpu".into())), "what was typed before is gone");
    lab.tell(Msg::Placed { is_reopened: true });
    assert!(!lab.effects.contains(&Effect::RestartSession));
}

#[test]
fn an_interrupt_with_nothing_running_only_says_so() {
    let mut lab = Lab::notebook(&["1"]);
    lab.ctrl('c');
    assert!(lab.sent.is_empty() && lab.shows().contains("nothing is running"));
    lab.wait(Duration::from_secs(60));
    assert!(lab.shows().contains("nothing is running"), "until it is read");
    lab.key(KeyCode::Up);
    assert!(!lab.shows().contains("nothing is running"));
    lab.ctrl('c');
    assert!(lab.shows().contains("q quits"), "{}", lab.shows());
    lab.key(KeyCode::Enter);
    lab.ctrl('c');
    assert!(lab.shows().contains("Ctrl-Q quits"), "a q would be typed: {}", lab.shows());
}

#[test]
fn a_death_is_told_and_loses_no_text_and_no_output() {
    let mut lab = Lab::notebook(&["print(1)", "crash()", "3"]);
    lab.key(KeyCode::F(5));
    lab.prints("one\n");
    lab.succeeds(None);
    lab.key(KeyCode::Down);
    lab.key(KeyCode::Enter);
    lab.types("// mine ");
    lab.key(KeyCode::Esc);
    let before = codes(&lab.state.document());
    lab.key(KeyCode::F(5));
    lab.prints("half a li");
    lab.dies("segmentation fault \u{1b}[31m(signal 11)");
    let shown = lab.shows();
    for text in [
        "the session ended: segmentation fault (signal 11)",
        "one",
        "half a li",
        "✗ session died",
        "r restart",
    ] {
        assert!(shown.contains(text), "{text:?} is not in\n{shown}");
    }
    assert_eq!(codes(&lab.state.document()), before);
    assert_eq!(before[1], "// mine crash()");
    lab.key(KeyCode::F(5));
    assert!(lab.shows().contains("r starts a new one"));
    lab.key(KeyCode::Char('r'));
    assert_eq!(lab.effects.last(), Some(&Effect::RestartSession));
    lab.says(ready());
    let shown = lab.shows();
    assert!(shown.contains("one") && shown.contains("before restart"), "{shown}");
    lab.key(KeyCode::F(5));
    assert_eq!(lab.evaluation().1, 1, "numbers begin anew with the session");
}

#[test]
fn an_error_stops_what_was_queued_and_the_next_run_works() {
    let mut lab = Lab::notebook(&["let z = x + y;\nlet z = x + y;", "2"]);
    lab.key(KeyCode::Char('R'));
    assert!(lab.shows().contains("… queued"));
    lab.finishes(Outcome::Error { fault: mixed_devices() }, usage());
    let shown = lab.shows();
    assert!(shown.contains("✗ error") && !shown.contains("queued"), "{shown}");
    assert!(shown.contains("✗2 let z"), "the line at fault is marked:\n{shown}");
    lab.key(KeyCode::Down);
    lab.key(KeyCode::F(5));
    assert_eq!((lab.evaluation().1, lab.evaluation().2.as_str()), (2, "2"));
}

#[test]
fn messages_for_what_does_not_run_change_nothing() {
    let mut lab = Lab::notebook(&["1"]);
    lab.key(KeyCode::F(5));
    lab.succeeds(Some("1"));
    let before = lab.shows();
    for id in [0, 1, 99] {
        lab.says(Message::Output { id, stream: Stream::Stdout, text: "late".into() });
        lab.says(Message::Finished { id, cell: 9, outcome: Outcome::Interrupted, usage: Box::default() });
        lab.says(Message::CheckResult { id, verdict: Verdict::Pass, check_line: None });
        lab.says(Message::Probed { id, value: Ok(ProbeValue::Number(1.0)), clock: None });
    }
    assert_eq!(lab.shows(), before);
}

#[test]
fn typing_goes_into_the_cell_and_can_be_undone() {
    let mut lab = Lab::notebook(&[""]);
    lab.key(KeyCode::Enter);
    lab.types("for q in 0..3 {\nprint(q);\n}");
    let code = "for q in 0..3 {\n    print(q);\n}";
    assert_eq!(codes(&lab.state.document()), [code]);
    assert!(lab.effects.is_empty(), "q is a letter while typing");
    for _ in 0..50 {
        lab.ctrl('z');
    }
    assert_eq!(codes(&lab.state.document()), [""]);
    for _ in 0..50 {
        lab.ctrl('y');
    }
    assert_eq!(codes(&lab.state.document()), [code]);
    lab.tell(Msg::Paste("\u{1b}]0;t\u{7}a\nb".into()));
    assert_eq!(codes(&lab.state.document()), [format!("{code}a\nb")]);
    lab.key(KeyCode::Esc);
    assert!(!lab.state.is_editing());
}

#[test]
fn shift_enter_runs_and_goes_on_and_a_notebook_grows() {
    let mut lab = Lab::notebook(&["1"]);
    lab.key(KeyCode::Enter);
    lab.chord(KeyCode::Enter, KeyModifiers::SHIFT);
    assert_eq!(lab.evaluation().2, "1");
    lab.succeeds(None);
    assert_eq!(codes(&lab.state.document()), ["1", ""]);
    lab.types("22");
    lab.chord(KeyCode::Enter, KeyModifiers::CONTROL);
    assert_eq!(lab.evaluation().2, "22");
    assert!(lab.state.is_editing(), "Ctrl-Enter stays in the cell");
    assert_eq!(codes(&lab.state.document()), ["1", "22"]);
}

#[test]
fn a_changed_cell_is_marked_until_it_runs_again() {
    let mut lab = Lab::notebook(&["1"]);
    lab.key(KeyCode::F(5));
    lab.succeeds(Some("1"));
    lab.key(KeyCode::Enter);
    lab.types("2");
    assert!(lab.shows().contains("edited since"));
    lab.key(KeyCode::F(5));
    lab.succeeds(Some("21"));
    assert!(!lab.shows().contains("edited since"));
}

#[test]
fn cells_are_added_cut_and_pasted_but_a_lesson_keeps_its_own() {
    let mut lab = Lab::notebook(&["1", "2"]);
    lab.types("x");
    assert_eq!(codes(&lab.state.document()), ["2"]);
    lab.types("v");
    assert_eq!(codes(&lab.state.document()), ["2", "1"]);
    lab.types("v");
    assert_eq!(codes(&lab.state.document()), ["2", "1", "1"], "as often as one likes");
    lab.types("dd");
    lab.types("a");
    assert_eq!(codes(&lab.state.document()), ["2", "", "1"]);
    let mut lab = Lab::ready(120, 40);
    lab.key(KeyCode::F(2));
    lab.types("x");
    assert_eq!(lab.state.document(), lesson());
    lab.types("b");
    lab.types("x");
    assert_eq!(lab.state.document(), lesson());
}

#[test]
fn a_prediction_comes_before_its_cell() {
    let mut lab = Lab::ready(120, 40);
    lab.first_cell_runs();
    let sent = lab.sent.len();
    lab.key(KeyCode::Down);
    lab.key(KeyCode::Down);
    lab.key(KeyCode::F(5));
    assert_eq!(lab.sent.len(), sent, "nothing runs before the number is there");
    assert!(lab.state.is_editing() && lab.shows().contains("first your prediction"));
    lab.types("many\n");
    assert!(lab.shows().contains("`many` is not a number"), "{}", lab.shows());
    assert!(lab.shows().contains("replaces it"), "{}", lab.shows());
    lab.types("2 MiB\n");
    lab.key(KeyCode::F(5));
    assert_eq!(lab.evaluation().2, "let z = y.cuda(1);\nz is y");
    assert!(!lab.shows().contains("Predict ─────────────────────── ✗ off"));
    lab.succeeds(Some("false"));
    let (cell, probe) = (lab.evaluation().1, lab.sent.iter().find_map(probe_of).unwrap());
    assert_eq!((probe.1, probe.2.as_str()), (cell, "events.d2d.bytes"));
    lab.says(Message::Probed { id: probe.0, value: Ok(ProbeValue::Number(4_194_304.0)), clock: None });
    let shown = lab.shows();
    for text in ["You said 2,097,152 bytes (2 MiB).", "4,194,304 bytes", "✗ off", "elements of four bytes"]
    {
        assert!(shown.contains(text), "{text:?} is not in\n{shown}");
    }
    let kept = lab.kept();
    let is_said = |entry: &(&str, &Entry)| matches!(entry, ("bytes-across", Entry::Prediction { value, .. }) if *value == 2_097_152.0);
    assert!(kept.iter().any(is_said), "{kept:?}");
    assert!(matches!(kept.last(), Some(("bytes-across", Entry::Answer { hit: false, .. }))), "{kept:?}");
}

#[test]
fn what_was_predicted_is_seen_with_what_was_run_or_the_border_says_where() {
    for (lines, fits) in [(1, true), (60, false)] {
        let mut lab = Lab::ready(120, 30);
        lab.first_cell_runs();
        lab.key(KeyCode::Down);
        lab.key(KeyCode::Down);
        lab.key(KeyCode::F(5));
        lab.types("2 MiB\n");
        lab.key(KeyCode::F(5));
        let printed: Vec<String> = (0..lines).map(|line| format!("line {line}")).collect();
        lab.succeeds(Some(&printed.join("\n")));
        let probe = lab.sent.iter().find_map(probe_of).unwrap();
        lab.says(Message::Probed { id: probe.0, value: Ok(ProbeValue::Number(4_194_304.0)), clock: None });
        let shown = tensorlab::lab::render_to_string(&lab.state, 120, 30);
        assert!(shown.contains(&format!("line {}", lines - 1)), "{shown}");
        assert_eq!(shown.contains("You said 2,097,152 bytes"), fits, "{shown}");
        assert_eq!(shown.contains("what you predicted: PgUp"), !fits, "{shown}");
        lab.key(KeyCode::Up);
        assert!(!lab.shows().contains("what you predicted"), "{}", lab.shows());
    }
}

fn probe_of(request: &Request) -> Option<(u64, u32, String)> {
    match request {
        Request::Probe { id, of, expression } => Some((*id, *of, expression.clone())),
        _ => None,
    }
}

#[test]
fn a_skipped_prediction_stops_nothing_and_is_measured_all_the_same() {
    let mut lab = Lab::ready(120, 40);
    lab.first_cell_runs();
    lab.key(KeyCode::Down);
    lab.types("s");
    lab.key(KeyCode::F(5));
    lab.succeeds(None);
    assert!(lab.shows().contains("passed over"));
    assert!(lab.sent.iter().any(|r| probe_of(r).is_some()));
}

#[test]
fn a_set_up_runs_unseen_before_each_attempt() {
    let mut lab = on_the_exercise();
    let (_, number, code) = lab.evaluation();
    assert!(code.contains("let batch") && number > 1000, "a set-up takes no number from the cells");
    lab.starts();
    lab.prints("made a batch\n");
    lab.succeeds(Some("3"));
    let (_, number, code) = lab.evaluation();
    assert!(code.contains("for i in 0..3") && number == 1);
    lab.succeeds(None);
    assert!(!lab.shows().contains("made a batch") && !lab.shows().contains("= 3"));
    // The second attempt begins where the first began: everything before is run again, and the set-up.
    lab.key(KeyCode::F(5));
    assert!(matches!(lab.sent.last(), Some(Request::Check { .. })), "the first is judged before");
    let Some(Request::Check { id, .. }) = lab.sent.last().cloned() else { panic!() };
    lab.says(Message::CheckResult {
        id,
        verdict: Verdict::Fail { reason: "no".into(), line: None },
        check_line: None,
    });
    lab.key(KeyCode::F(5));
    let Some(Request::Reset { id }) = lab.sent.last().cloned() else { panic!("{:?}", lab.sent.last()) };
    lab.says(Message::State { id, variables: vec![], devices: vec![], held: vec![] });
    for before in ["let x = rand", "let z = y.cuda(1)", "let batch", "for i in 0..3"] {
        assert!(lab.evaluation().2.contains(before), "{before}: {:?}", lab.evaluation());
        let unseen = before.starts_with("let x") || before.starts_with("let z");
        assert!(lab.shows().contains("what comes before") == unseen, "{before}: {}", lab.shows());
        lab.succeeds(None);
    }
}

#[test]
fn a_failing_set_up_is_told_from_the_learners_code_which_does_not_run() {
    let mut lab = on_the_exercise();
    lab.finishes(Outcome::Error { fault: mixed_devices() }, usage());
    let shown = lab.shows();
    assert!(shown.contains("failed, not your code") && shown.contains("✗ error"), "{shown}");
    assert!(lab.evaluation().2.contains("let batch"), "the cell itself is not sent");
    let kept = lab.kept();
    let counts =
        |entry: &Entry| matches!(entry, Entry::Attempt { verdict, .. } if verdict.counts_as_attempt());
    assert!(!kept.iter().any(|(_, entry)| counts(entry)), "no attempt is counted: {kept:?}");
}

/// The second section, its quiz passed over, its exercise asked to run.
fn on_the_exercise() -> Lab {
    let mut lab = Lab::ready(120, 40);
    lab.key(KeyCode::Char('n'));
    lab.key(KeyCode::F(2));
    lab.key(KeyCode::Down);
    lab.key(KeyCode::F(5));
    // The cells of the first section run unseen.
    lab.succeeds(None);
    lab.succeeds(None);
    lab
}

#[test]
fn an_exercise_is_checked_after_it_ran_and_the_verdicts_differ() {
    let fault = |id| Message::CheckResult {
        id,
        verdict: Verdict::CheckerFault { message: mixed_devices().message, line: None },
        check_line: None,
    };
    let cases: [(&dyn Fn(u64) -> Message, &str); 4] = [
        (&|id| Message::CheckResult { id, verdict: Verdict::Pass, check_line: None }, "✓ check passed"),
        (
            &|id| Message::CheckResult {
                id,
                verdict: Verdict::Fail { reason: "no".into(), line: None },
                check_line: None,
            },
            "✗ check failed: no",
        ),
        (&fault, "the check itself is at fault"),
        (
            &|id| Message::CheckResult { id, verdict: Verdict::Timeout { limit_ms: 2000 }, check_line: None },
            "it ran longer than the 2 s",
        ),
    ];
    for (verdict, text) in cases {
        let mut lab = on_the_exercise();
        lab.succeeds(None); // the set-up
        lab.succeeds(None);
        let cell = lab.evaluation().1;
        let check = lab.sent.iter().find_map(|request| match request {
            Request::Check { id, of, code, first_line } => Some((*id, *of, code.clone(), *first_line)),
            _ => None,
        });
        let (id, of, code, line) = check.expect("the check runs");
        assert_eq!((of, code.starts_with("expect(")), (cell, true));
        assert!(line > 50, "the check's lines are the lesson file's: {line}");
        assert!(lab.shows().contains("… checking"));
        lab.says(verdict(id));
        assert!(lab.shows().contains(text), "{text:?} is not in\n{}", lab.shows());
    }
}

#[test]
fn an_interrupted_cell_is_not_checked() {
    let mut lab = on_the_exercise();
    lab.succeeds(None);
    lab.ctrl('c');
    lab.finishes(Outcome::Interrupted, Usage::default());
    assert!(!lab.sent.iter().any(|r| matches!(r, Request::Check { .. })));
    assert!(matches!(lab.sent.last(), Some(Request::Inspect { .. })), "memory is looked at all the same");
}

#[test]
fn a_quiz_explains_each_choice_until_the_right_one() {
    let mut lab = Lab::ready(120, 40);
    lab.key(KeyCode::Char('n'));
    lab.key(KeyCode::F(2));
    lab.types("19");
    let shown = lab.shows();
    assert!(shown.contains("It would copy for nothing.") && shown.contains("✗ not that"), "{shown}");
    assert!(!shown.contains("nothing to do"));
    lab.types("21");
    let shown = lab.shows();
    assert!(shown.contains("nothing to do") && shown.contains("right, at try 2"), "{shown}");
    let quiz = |taken, right| ("when-itself", Entry::Quiz { taken: vec![taken], right });
    let kept: Vec<(&str, Entry)> =
        lab.kept().into_iter().map(|(step, entry)| (step, entry.clone())).collect();
    assert_eq!(kept, [quiz(0, false), quiz(1, true)]);
}

#[test]
fn quitting_asks_only_where_something_would_be_lost() {
    let mut lab = Lab::notebook(&["1"]);
    lab.types("q");
    assert_eq!(lab.effects.last(), Some(&Effect::Quit));
    let mut lab = Lab::notebook(&["1"]);
    lab.key(KeyCode::Enter);
    lab.types("2");
    lab.ctrl('q');
    assert_eq!(lab.state.popup(), Some(Popup::Confirm(Confirm::Quit)));
    assert!(lab.shows().contains("1 cell was changed or run, and is not saved"));
    lab.key(KeyCode::Esc);
    assert!(lab.effects.is_empty() && lab.state.is_editing());
    lab.state.keep(Keeping::OnSave);
    lab.ctrl('s');
    assert_eq!(lab.effects.last(), Some(&Effect::Save { over: false }));
    lab.tell(Msg::Saved(Ok(vec![])));
    lab.ctrl('q');
    assert_eq!(lab.effects.last(), Some(&Effect::Quit));
    let mut lab = Lab::notebook(&["loop {}"]);
    lab.key(KeyCode::F(5));
    lab.types("qy");
    assert_eq!(lab.effects.last(), Some(&Effect::Quit));
}

#[test]
fn nothing_runs_before_the_session_is_ready_and_then_all_that_was_asked() {
    let document = Document::notebook("n", ["1".to_owned(), "2".into()]);
    let mut lab = Lab::new(document, look(Colour::True), 120, 40);
    lab.key(KeyCode::Char('R'));
    assert!(lab.sent.is_empty());
    lab.says(ready());
    assert_eq!(lab.evaluation().2, "1");
    lab.succeeds(None);
    assert_eq!(lab.evaluation().2, "2");
}

#[test]
fn a_session_of_another_version_is_not_talked_to() {
    let mut lab = Lab::new(Document::notebook("n", []), look(Colour::True), 120, 40);
    lab.says(Message::Ready { version: VERSION + 1, pid: 1, devices: vec![], protections: vec![] });
    assert!(lab.shows().contains("speaks protocol"), "{}", lab.shows());
    lab.key(KeyCode::F(5));
    assert!(lab.sent.is_empty());
}

#[test]
fn panes_follow_the_width() {
    let mut lab = Lab::ready(120, 40);
    let panes = |lab: &mut Lab, columns: u16| {
        lab.tell(Msg::Resize(columns, 40));
        let shown = render_to_string(&lab.state, columns, 40);
        ["─ lesson", "━ lesson", "─ cells", "━ cells", "─ machine", "━ machine"]
            .into_iter()
            .filter(|title| shown.contains(*title))
            .collect::<Vec<_>>()
    };
    assert_eq!(panes(&mut lab, 120), ["━ lesson", "─ cells", "─ machine"]);
    assert_eq!(panes(&mut lab, 119), ["━ lesson", "─ cells"]);
    assert_eq!(panes(&mut lab, 99), ["━ lesson"]);
    lab.key(KeyCode::F(3));
    assert_eq!(panes(&mut lab, 110), ["─ cells", "━ machine"]);
    lab.key(KeyCode::Tab);
    assert_eq!(lab.state.focus(), Pane::Lesson);
    lab.key(KeyCode::BackTab);
    assert_eq!(lab.state.focus(), Pane::Machine);
    lab.key(KeyCode::F(4));
    assert_eq!(panes(&mut lab, 200), ["━ machine"]);
}

#[test]
fn panes_are_resized_by_key_and_by_mouse() {
    let mut lab = Lab::ready(160, 40);
    let edge = |lab: &Lab| {
        find(lab, 160, 40, "━ lesson").1
            + render_to_string(&lab.state, 160, 40)
                .lines()
                .nth(1)
                .unwrap()
                .chars()
                .position(|c| c == '┓')
                .unwrap() as u16
    };
    let before = edge(&lab);
    lab.types(">>");
    let wider = edge(&lab);
    assert!(wider > before);
    let divider = wider - 1;
    lab.tell(mouse(MouseEventKind::Down(MouseButton::Left), divider, 10));
    lab.tell(mouse(MouseEventKind::Drag(MouseButton::Left), 80, 10));
    lab.tell(mouse(MouseEventKind::Up(MouseButton::Left), 80, 10));
    assert!(edge(&lab) > wider + 10, "dragged to {} from {wider}", edge(&lab));
}

#[test]
fn a_click_selects_and_the_wheel_scrolls() {
    let mut lab = Lab::ready(120, 40);
    let (row, column) = find(&lab, 120, 40, "let z = y.cuda(1);\u{20}\u{20}\u{20}\u{20}");
    lab.tell(mouse(MouseEventKind::Down(MouseButton::Left), column, row));
    assert_eq!(lab.state.focus(), Pane::Cells);
    lab.key(KeyCode::Enter);
    lab.tell(mouse(MouseEventKind::Down(MouseButton::Left), column + 3, row));
    lab.types("!");
    assert!(codes(&lab.state.document())[1].starts_with("let! z"), "{:?}", codes(&lab.state.document()));
    lab.key(KeyCode::Esc);
    lab.types("bbbb");
    lab.tell(Msg::Resize(80, 20));
    let top = |lab: &Lab| render_to_string(&lab.state, 80, 20);
    let before = top(&lab);
    lab.tell(mouse(MouseEventKind::ScrollUp, 10, 10));
    lab.tell(mouse(MouseEventKind::ScrollUp, 10, 10));
    lab.tell(mouse(MouseEventKind::ScrollUp, 10, 10));
    assert_ne!(top(&lab), before);
    lab.tell(mouse(MouseEventKind::ScrollDown, 10, 10));
    lab.tell(mouse(MouseEventKind::ScrollDown, 10, 10));
    lab.tell(mouse(MouseEventKind::ScrollDown, 10, 10));
    assert_eq!(top(&lab), before);
}

#[test]
fn what_is_typed_stays_in_sight() {
    let mut lab = Lab::notebook(&["1"]);
    lab.tell(Msg::Resize(80, 24));
    lab.key(KeyCode::Enter);
    for i in 0..100 {
        lab.types(&format!("line{i};\n"));
        let shown = render_to_string(&lab.state, 80, 24);
        assert!(shown.contains(&format!("line{i};")), "line {i} is out of sight:\n{shown}");
    }
    lab.key(KeyCode::PageUp);
    for _ in 0..20 {
        lab.key(KeyCode::PageUp);
    }
    assert!(render_to_string(&lab.state, 80, 24).contains("line0;"));
}

#[test]
fn long_output_is_cut_in_the_middle_and_shown_on_request() {
    let mut lab = Lab::notebook(&["loop"]);
    lab.key(KeyCode::F(5));
    let lines: String = (0..100).map(|i| format!("row {i}\n")).collect();
    lab.prints(&lines);
    lab.succeeds(None);
    lab.tell(Msg::Resize(120, 60));
    let shown = render_to_string(&lab.state, 120, 60);
    assert!(shown.contains("row 9 ") && shown.contains("row 90 ") && !shown.contains("row 50 "), "{shown}");
    assert!(shown.contains("⋯ 80 lines hidden, o shows them"), "{shown}");
    lab.types("o");
    let shown = render_to_string(&lab.state, 120, 60);
    assert!(shown.contains("row 30 ") && !shown.contains("hidden"), "{shown}");
}

fn paragraph(text: &str) -> Block {
    Block::Paragraph(vec![Inline::Text(text.into()), Inline::Code(text.into())])
}

#[test]
fn nothing_that_a_session_or_a_lesson_says_controls_the_terminal() {
    let evil = "\u{1b}]52;c;AAAA\u{7}\u{1b}[2J\u{9b}31m\u{202e}x\u{8}\r";
    let mut document = lesson();
    document.title.push_str(evil);
    document.steps[0].title.push_str(evil);
    for item in document.steps.iter_mut().flat_map(|step| &mut step.items) {
        match item {
            // A cell that is not as the lesson has it settles no prediction.
            Item::Cell(cell) if cell.code.contains("z is y") => {}
            Item::Cell(cell) => cell.code.push_str(evil),
            Item::Predict(predict) => predict.question.ask = vec![paragraph(evil)],
            Item::Quiz(quiz) => quiz.question.ask = vec![paragraph(evil)],
            Item::Text(blocks) => blocks.push(paragraph(evil)),
        }
    }
    let mut lab = Lab::new(document, look(Colour::True), 120, 40);
    lab.says(ready());
    lab.first_cell_runs();
    lab.key(KeyCode::Down);
    lab.types("1\n");
    lab.key(KeyCode::F(5));
    let (id, cell, _) = lab.evaluation();
    lab.prints(evil);
    lab.says(Message::Display {
        id,
        content: Display::Table { header: vec![evil.into()], rows: vec![vec![evil.into()]] },
        display_id: None,
    });
    lab.says(Message::Progress { id, label: evil.into(), done: 1, total: None, note: evil.into() });
    let mut fault = mixed_devices();
    fault.report = evil.into();
    lab.says(Message::Finished {
        id,
        cell,
        outcome: Outcome::Error { fault: fault.clone() },
        usage: Box::new(usage()),
    });
    // The prediction is settled by a run without an error, and its answer is evil as well.
    lab.key(KeyCode::F(5));
    let Some(Request::Reset { id: reset }) = lab.sent.last().cloned() else { panic!() };
    lab.says(Message::State { id: reset, variables: vec![], devices: vec![], held: vec![] });
    lab.succeeds(None);
    lab.succeeds(Some(evil));
    fault.message = evil.into();
    let probe = lab.sent.iter().find_map(probe_of).unwrap();
    lab.says(Message::Probed { id: probe.0, value: Err(fault), clock: None });
    lab.says_variables(&[(evil, Device::Cpu, 0x1000)]);
    lab.says(Message::Refused { id: None, reason: evil.into() });
    for columns in [80, 120, 200] {
        lab.tell(Msg::Resize(columns, 50));
        let buffer = render(&lab.state, columns, 50);
        for cell in &buffer.content {
            let bad = |c: char| c.is_control() || c == '\u{202e}';
            assert!(!cell.symbol().contains(bad), "{:?} reached the screen", cell.symbol());
        }
    }
    assert!(!lab.shows().contains("AAAA") && !lab.shows().contains("31m"), "{}", lab.shows());
}

#[test]
fn every_binding_is_in_the_help() {
    let mut lab = Lab::ready(120, 40);
    lab.types("?");
    let mut seen = String::new();
    for _ in 0..BINDINGS.len() * 2 {
        seen += &lab.shows();
        lab.key(KeyCode::Down);
    }
    for binding in BINDINGS.iter().filter(|b| !matches!(b.help, "yes" | "no" | "close this help")) {
        if !matches!(format!("{:?}", binding.context).as_str(), "Help" | "Search" | "Confirm") {
            assert!(seen.contains(binding.help), "{:?} is not in the help", binding.help);
        }
    }
    lab.key(KeyCode::Esc);
    assert_eq!(lab.state.popup(), None);
}

#[test]
fn the_machine_panel_says_which_times_are_modelled() {
    let mut lab = Lab::ready(200, 60);
    lab.first_cell_runs();
    let shown = render_to_string(&lab.state, 200, 60);
    assert!(shown.contains("1 transfer, modelled"), "{shown}");
    let mut measured = copy(Device::Cpu, GPU, MIB, 1000, true);
    if let tensorlab::base::event::Body::Copy { span, .. } = &mut measured {
        span.clock = Clock::Measured;
    }
    lab.happens(1, 1, [measured]);
    let shown = render_to_string(&lab.state, 200, 60);
    assert!(shown.contains("361 µs modelled") && shown.contains("1.00 µs measured"), "{shown}");
    let deeds = Deeds { copies: vec![(Device::Cpu, GPU, 1200, 1200 * 4)], ..Deeds::default() };
    lab.says(Message::Missed { digest: Box::new(Digest { events: 1200, deeds, ..Digest::default() }) });
    assert!(render_to_string(&lab.state, 200, 60).contains("2 of 1,202 transfers shown"));
}

#[test]
fn out_of_memory_is_on_the_panel() {
    let mut lab = Lab::ready(120, 40);
    lab.happens(
        1,
        1,
        [tensorlab::base::event::Body::OutOfMemory {
            device: GPU,
            requested: 20 << 30,
            message: String::new(),
        }],
    );
    assert!(lab.shows().contains("▲ out of memory: 20.00 GiB tried"), "{}", lab.shows());
    assert_eq!(Source::default().line, 0);
}

/// A step without cells leaves the width to its text; on a wide terminal that is most of it.
#[test]
fn a_step_without_cells_gives_its_room_to_the_text() {
    let head = "+++\nid = \"wide-text\"\ntitle = \"T\"\nsummary = \"S.\"\nconcepts = [\"c\"]\nminutes = 5\ndevices = [\"sim:t4\"]\n+++\n\n";
    let text =
        format!("{head}# One\n\nText.\n\n```rhai run\nlet x = 1;\n```\n\n## Two\n\nNothing but text.\n");
    let lesson =
        tensorlab::lesson::parse("wide.md", text.as_bytes()).unwrap_or_else(|errors| panic!("{errors:#?}"));
    for (columns, most) in [(120u16, 36), (200, 90)] {
        let mut lab = Lab::new(Document::lesson(&lesson), look(Colour::True), columns, 40);
        lab.says(ready());
        let lesson_columns = |lab: &Lab| {
            let shown = render_to_string(&lab.state, columns, 40);
            let border = shown.lines().nth(1).unwrap().to_owned();
            border.chars().position(|c| matches!(c, '┐' | '┓')).unwrap()
        };
        let before = lesson_columns(&lab);
        lab.types("n");
        let after = lesson_columns(&lab);
        assert!(before < after && after >= most, "{before} {after} at {columns}:\n{}", lab.shows());
        lab.types("p");
        assert_eq!(lesson_columns(&lab), before);
    }
}
