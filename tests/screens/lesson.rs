//! A lesson from page to page: what is done stays done, what is written stays where it stands.

use crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEventKind};
use tensorlab::lab::document::{Item, Stored};
use tensorlab::lab::{
    Beside, BookChange, Colour, Document, Effect, FileFacts, Keeping, Msg, NotSaved, Page, Pane, Popup,
    Stand, render_to_string,
};
use tensorlab::lesson::{Entry, Key, LessonMemory, Progress, Record};
use tensorlab::notebook::{Kind, Output};
use tensorlab::session::death::How;
use tensorlab::session::protocol::{Message, Outcome, Request, Verdict};

use super::behaviour::{codes, find, mouse};
use super::fixture::*;

fn key(lab: &mut Lab, c: char) {
    lab.key(KeyCode::Char(c));
}

/// The second section, its exercise run up to its check.
fn on_the_check() -> Lab {
    let mut lab = Lab::ready(120, 40);
    key(&mut lab, 'n');
    lab.key(KeyCode::F(2));
    lab.key(KeyCode::Down);
    lab.key(KeyCode::F(5));
    // The first section, the set-up, the cell.
    (0..4).for_each(|_| lab.succeeds(None));
    lab
}

fn judged(lab: &mut Lab, verdict: Verdict) {
    let id = lab.sent.iter().rev().find_map(|request| match request {
        Request::Check { id, .. } => Some(*id),
        _ => None,
    });
    let id = id.expect("the check runs");
    lab.says(Message::CheckResult { id, verdict, check_line: None });
}

fn fails() -> Verdict {
    Verdict::Fail { reason: "no".into(), line: None }
}

fn types_a_cell(lab: &mut Lab, text: &str) {
    key(lab, 'b');
    if !lab.state.is_editing() {
        lab.key(KeyCode::Enter);
    }
    lab.types(text);
    lab.key(KeyCode::Esc);
}

/// What was recorded, as the log has it.
fn records(lab: &Lab) -> Vec<Record> {
    let record = |(step, entry): (&str, &Entry)| Record {
        key: Key { pack: "p".into(), lesson: "moving-little".into(), step: step.into() },
        version: "1".into(),
        at_ms: 0,
        entry: entry.clone(),
    };
    lab.kept().into_iter().map(record).collect()
}

#[test]
fn a_cell_on_the_last_page_stays_there() {
    let mut lab = Lab::ready(120, 40);
    key(&mut lab, 'n');
    key(&mut lab, 'n');
    lab.key(KeyCode::F(2));
    types_a_cell(&mut lab, "x + 41");
    key(&mut lab, 'p');
    assert!(!lab.shows().contains("x + 41"));
    key(&mut lab, 'n');
    let shown = lab.shows();
    assert!(shown.contains("x + 41") && shown.contains("Still open"), "{shown}");
    let last = lab.state.document().last;
    assert!(matches!(last.as_slice(), [Item::Cell(cell)] if cell.code == "x + 41"), "{last:?}");
}

#[test]
fn a_page_with_nothing_to_run_is_read_by_the_keys() {
    let mut lab = Lab::ready(120, 40);
    lab.key(KeyCode::F(2));
    key(&mut lab, 'n');
    assert_eq!(lab.state.focus(), Pane::Cells, "there are cells");
    key(&mut lab, 'n');
    let shown = lab.shows();
    assert!(shown.contains("Nothing to run"), "{shown}");
    assert_eq!(lab.state.focus(), Pane::Lesson, "{shown}");
}

#[test]
fn the_text_tells_how_a_prediction_went() {
    for (measured, word) in [(4_194_304.0, "▷ predict ✓ right"), (1.0, "▷ predict ✗ off")] {
        let mut lab = Lab::ready(120, 40);
        lab.key(KeyCode::F(2));
        lab.first_cell_runs();
        lab.key(KeyCode::Down);
        assert!(lab.shows().contains("▶ predict  "), "{}", lab.shows());
        lab.types("4 MiB\n");
        assert!(lab.shows().contains("▷ predict committed"), "{}", lab.shows());
        lab.key(KeyCode::F(5));
        lab.succeeds(None);
        lab.measures(measured);
        assert!(lab.shows().contains(word), "{word}: {}", lab.shows());
    }
}

#[test]
fn empty_lines_make_no_other_cell_and_a_prediction_gets_its_cell_back() {
    let predicted = || {
        let mut lab = Lab::ready(120, 40);
        lab.key(KeyCode::F(2));
        lab.first_cell_runs();
        lab.key(KeyCode::Down);
        lab.types("4 MiB\n");
        lab.key(KeyCode::Down);
        lab.types("\n");
        lab
    };
    let told = "and this one was changed";
    let mut lab = predicted();
    lab.types("\n");
    lab.key(KeyCode::F(5));
    lab.succeeds(None);
    lab.measures(4_194_304.0);
    assert!(lab.shows().contains("▷ predict ✓ right") && !lab.shows().contains(told), "{}", lab.shows());
    let mut lab = predicted();
    lab.types("1; ");
    lab.key(KeyCode::F(5));
    lab.succeeds(None);
    assert!(lab.shows().contains(told), "{}", lab.shows());
    lab.key(KeyCode::Esc);
    lab.key(KeyCode::Up);
    key(&mut lab, 'B');
    assert!(lab.shows().contains("the lesson's text is back"), "{}", lab.shows());
}

#[test]
fn other_devices_are_taken_where_one_is() {
    let mut lab = Lab::ready(120, 40);
    key(&mut lab, 'n');
    lab.key(KeyCode::F(2));
    lab.key(KeyCode::Down);
    lab.alt('d');
    lab.types("cpu\n");
    // The lesson is opened anew, and at the step that was left.
    assert_eq!(lab.kept(), [("once", &Entry::Left)]);
    assert_eq!(lab.effects.last(), Some(&Effect::UseDevices("cpu".into())));
}

#[test]
fn where_own_cells_stand_is_told_to_the_file() {
    let mut lab = Lab::ready(120, 40);
    lab.state.keep(Keeping::Always);
    lab.key(KeyCode::F(2));
    // Below the prediction, and then above it: the order of the cells stays.
    lab.key(KeyCode::Down);
    types_a_cell(&mut lab, "x + 1");
    lab.chord(KeyCode::Up, KeyModifiers::ALT);
    key(&mut lab, 'n');
    key(&mut lab, 'n');
    lab.key(KeyCode::F(2));
    types_a_cell(&mut lab, "x + 2");
    let stands: Vec<&Stand> = lab
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Book(BookChange::Stands { stand, .. }) => Some(stand),
            _ => None,
        })
        .collect();
    let [below, above, last] = stands.as_slice() else { panic!("{stands:?}") };
    assert_eq!(**below, Stand { page: Page::At(0), beside: Some(Beside::Below("bytes-across".into())) });
    assert!(matches!(&above.beside, Some(Beside::Below(id)) if id != "bytes-across"), "{above:?}");
    assert_eq!(**last, Stand { page: Page::Last, beside: None });
}

#[test]
fn finding_goes_on_in_the_cells_wherever_the_text_is() {
    for (columns, rows, side) in [(80, 24, None), (100, 30, Some(KeyCode::F(3))), (100, 30, None)] {
        let mut lab = Lab::ready(columns, rows);
        side.into_iter().for_each(|side| lab.key(side));
        lab.key(KeyCode::F(2));
        key(&mut lab, '/');
        lab.types("batch.to");
        let shown = render_to_string(&lab.state, columns, rows);
        assert_eq!((lab.state.focus(), lab.state.popup()), (Pane::Cells, Some(Popup::Find)));
        assert!(shown.contains("let b = batch.to") && shown.contains("find"), "{shown}");
        // What stood beside the cells stands there still.
        assert!(side.is_none() || shown.contains("Tesla T4"), "{shown}");
        lab.key(KeyCode::Esc);
        assert_eq!(lab.state.focus(), Pane::Cells);
    }
}

#[test]
fn a_click_on_the_choices_of_the_key_bar_answers_nothing() {
    let mut lab = Lab::ready(120, 40);
    key(&mut lab, 'n');
    lab.key(KeyCode::F(2));
    let (row, column) = find(&lab, 120, 40, " choose");
    lab.tell(mouse(MouseEventKind::Down(MouseButton::Left), column + 2, row));
    assert!(lab.kept().is_empty(), "{:?}", lab.kept());
    // Another one of it is its key.
    let (row, column) = find(&lab, 120, 40, "? help");
    lab.tell(mouse(MouseEventKind::Down(MouseButton::Left), column, row));
    assert!(matches!(lab.state.popup(), Some(Popup::Help(_))));
}

#[test]
fn a_failing_set_up_of_a_plain_cell_is_no_broken_check() {
    let text = "+++\nid = \"s\"\ntitle = \"S\"\nsummary = \"s\"\nconcepts = [\"c\"]\nminutes = 1\ndevices = [\"cpu\"]\n+++\n\n\
                # One\n\n```rhai hidden\nlet h = 1;\n```\n\n```rhai run\nlet a = h;\n```\n";
    let lesson = tensorlab::lesson::parse("s.md", text.as_bytes()).unwrap();
    let mut lab = Lab::new(Document::lesson(&lesson), look(Colour::True), 120, 40);
    lab.says(ready());
    lab.key(KeyCode::F(5));
    lab.finishes(Outcome::Error { fault: mixed_devices() }, usage());
    let shown = lab.shows();
    assert!(shown.contains("What the lesson does") && shown.contains("failed, not your code"), "{shown}");
    assert!(!shown.contains("The check") && !shown.contains("at fault"), "{shown}");
}

#[test]
fn what_passed_stays_done_and_all_counts_agree() {
    let mut lab = on_the_check();
    judged(&mut lab, Verdict::Pass);
    lab.key(KeyCode::F(5));
    // It begins where the lesson stands: the session forgets all, and what comes before runs again.
    let Some(Request::Reset { id }) = lab.sent.last().cloned() else { panic!("{:?}", lab.sent.last()) };
    lab.says(Message::State { id, variables: vec![], devices: vec![], held: vec![] });
    (0..4).for_each(|_| lab.succeeds(None));
    // The page is turned before the verdict is there.
    key(&mut lab, 'n');
    let before = lab.shows();
    assert!(before.contains("2 of 2 points"), "{before}");
    judged(&mut lab, fails());
    let shown = lab.shows();
    assert!(shown.contains("2 of 2 points") && !shown.contains("an exercise"), "{shown}");
    let mut progress = Progress::default();
    let all = records(&lab);
    all.iter().for_each(|record| progress.apply(record));
    let done = progress.steps().filter(|(_, step)| step.done).count();
    let told = format!("{done} of 5 things done");
    assert!(shown.contains(&told), "{told}: {shown}");
    // And when the lesson is opened again.
    let memory = LessonMemory::of(&all, "p", "moving-little");
    let mut again = Lab::new(lesson().recalling(&memory), look(Colour::True), 120, 40);
    again.says(ready());
    key(&mut again, 'n');
    assert!(again.shows().contains("check failed: no"), "the last verdict is shown: {}", again.shows());
    key(&mut again, 'n');
    let shown = again.shows();
    assert!(shown.contains(&told) && shown.contains("2 of 2 points"), "{shown}");
}

#[test]
fn the_last_page_takes_what_ends_while_it_is_shown() {
    let mut lab = on_the_check();
    key(&mut lab, 'n');
    assert!(lab.shows().contains("0 of 2 points"), "{}", lab.shows());
    judged(&mut lab, Verdict::Pass);
    assert!(lab.shows().contains("2 of 2 points"), "{}", lab.shows());
}

#[test]
fn a_session_that_dies_in_an_exercise_gives_a_verdict() {
    let mut lab = Lab::ready(120, 40);
    key(&mut lab, 'n');
    lab.key(KeyCode::F(2));
    lab.key(KeyCode::Down);
    lab.key(KeyCode::F(5));
    (0..3).for_each(|_| lab.succeeds(None));
    lab.dies("killed");
    let shown = lab.shows();
    assert!(
        shown.contains("✗ session died") && shown.contains("The session ended while this ran"),
        "{shown}"
    );
    let verdict = |lab: &Lab| match lab.kept().last() {
        Some(("once", Entry::Attempt { verdict, .. })) => verdict.clone(),
        other => panic!("{other:?}"),
    };
    assert!(matches!(verdict(&lab), Verdict::LearnerError { message, .. } if message.contains("killed")));
    // In its check, the learner's code has run to its end.
    let mut lab = on_the_check();
    lab.dies("killed");
    let shown = lab.shows();
    assert!(!shown.contains("✗ session died") && shown.contains("the check itself is at fault"), "{shown}");
    assert!(matches!(verdict(&lab), Verdict::CheckerFault { .. }));
    assert!(!matches!(lab.sent.last(), Some(Request::Inspect { .. })), "nothing is asked of it any more");
    // A restart loses no more of it.
    let mut lab = on_the_check();
    key(&mut lab, 'r');
    key(&mut lab, 'y');
    assert!(!lab.shows().contains("interrupted"), "{}", lab.shows());
}

#[cfg(unix)]
#[test]
fn a_session_that_is_killed_from_outside_says_nothing_of_an_answer() {
    for signal in [libc::SIGKILL, libc::SIGTERM] {
        for answered in [2, 3, 4] {
            let mut lab = Lab::ready(120, 40);
            key(&mut lab, 'n');
            lab.key(KeyCode::F(2));
            lab.key(KeyCode::Down);
            lab.key(KeyCode::F(5));
            (0..answered).for_each(|_| lab.succeeds(None));
            lab.dies_of(How::Signal(signal));
            let shown = lab.shows();
            assert!(shown.contains("cut short before it was judged"), "{shown}");
            let attempts = |(_, entry): &(&str, &Entry)| matches!(entry, Entry::Attempt { .. });
            assert!(!lab.kept().iter().any(attempts), "{:?}", lab.kept());
        }
    }
    // A fault of its own is one of what ran.
    let mut lab = on_the_check();
    lab.dies_of(How::Signal(libc::SIGSEGV));
    assert!(matches!(lab.kept().last(), Some((_, Entry::Attempt { .. }))));
}

#[test]
fn how_a_new_session_is_started_is_told_where_one_types() {
    let mut lab = Lab::notebook(&["1", "2"]);
    lab.key(KeyCode::Enter);
    lab.dies("killed");
    assert!(lab.shows().contains("Esc and then r starts a new one"), "{}", lab.shows());
    lab.key(KeyCode::F(5));
    assert!(lab.shows().contains("Esc and then r starts a new one"), "{}", lab.shows());
    lab.key(KeyCode::Esc);
    lab.key(KeyCode::F(5));
    assert!(lab.shows().contains("the session has ended: r starts a new one"), "{}", lab.shows());
}

#[test]
fn what_is_passed_over_is_marked_and_recorded_once() {
    let mut lab = Lab::ready(120, 40);
    key(&mut lab, 'n');
    lab.key(KeyCode::F(2));
    key(&mut lab, 's');
    key(&mut lab, 's');
    lab.tell(Msg::Resize(200, 60));
    let shown = render_to_string(&lab.state, 200, 60);
    assert!(shown.contains("a quiz (passed over), an exercise (passed over)"), "{shown}");
    lab.tell(Msg::Resize(120, 40));
    key(&mut lab, 'p');
    assert_eq!(lab.shows().matches("○ passed over").count(), 2, "{}", lab.shows());
    lab.key(KeyCode::F(2));
    lab.key(KeyCode::Up);
    key(&mut lab, 's');
    let skipped = lab.kept().iter().filter(|(_, entry)| **entry == Entry::Skipped).count();
    assert_eq!(skipped, 2, "{:?}", lab.kept());
    key(&mut lab, 'T');
    assert!(lab.shows().contains("0 of 2, others passed over"), "{}", lab.shows());
    lab.key(KeyCode::Esc);
    // When it is opened again as well; what is done is no longer passed over.
    let memory = LessonMemory::of(&records(&lab), "p", "moving-little");
    let mut again = Lab::new(lesson().recalling(&memory), look(Colour::True), 120, 40);
    again.says(ready());
    key(&mut again, 'n');
    assert_eq!(again.shows().matches("○ passed over").count(), 2, "{}", again.shows());
    again.key(KeyCode::F(2));
    for c in ['1', '2'] {
        key(&mut again, c);
    }
    assert_eq!(again.shows().matches("○ passed over").count(), 1, "{}", again.shows());
}

#[test]
fn what_would_be_skipped_is_shown_before_it_is() {
    let mut lab = Lab::ready(80, 24);
    lab.key(KeyCode::F(1));
    key(&mut lab, 's');
    assert!(lab.shows().contains("nothing to skip here"), "a cell is run or passed by: {}", lab.shows());
    lab.key(KeyCode::F(2));
    lab.key(KeyCode::Down);
    lab.key(KeyCode::F(1));
    key(&mut lab, 's');
    assert!(lab.shows().contains("this is what s skips: s once more does"), "{}", lab.shows());
    assert!(!lab.kept().iter().any(|(_, entry)| **entry == Entry::Skipped));
    key(&mut lab, 's');
    assert!(lab.kept().iter().any(|(_, entry)| **entry == Entry::Skipped), "{:?}", lab.kept());
}

#[test]
fn quitting_is_remembered_over_a_name_that_is_taken() {
    let mut lab = Lab::notebook(&["1"]);
    lab.tell(Msg::File {
        facts: FileFacts { read_only: Some("open in process 7".into()), ..FileFacts::default() },
        keeping: Keeping::OnSave,
    });
    lab.key(KeyCode::Enter);
    lab.types("2");
    lab.key(KeyCode::Esc);
    lab.ctrl('q');
    lab.types("a");
    lab.types("x");
    lab.key(KeyCode::Enter);
    lab.tell(Msg::Saved(Err(NotSaved::Exists("/n/taken.rhai".into()))));
    key(&mut lab, 'n');
    assert_eq!(lab.state.popup(), Some(Popup::SaveAs));
    lab.types("y");
    lab.key(KeyCode::Enter);
    assert!(matches!(lab.effects.last(), Some(Effect::SaveAs { .. })), "{:?}", lab.effects.last());
    lab.tell(Msg::SavedAs { path: "/n/other.rhai".into(), notes: vec![] });
    assert_eq!(lab.effects.last(), Some(&Effect::Quit));
}

#[test]
fn what_is_answered_in_a_lesson_that_another_lab_has_is_not_dropped_unasked() {
    let mut lab = Lab::ready(80, 24);
    lab.tell(Msg::File {
        facts: FileFacts { read_only: Some("open in process 7".into()), ..FileFacts::default() },
        keeping: Keeping::Nothing,
    });
    lab.ctrl('q');
    assert_eq!(lab.effects.last(), Some(&Effect::Quit), "nothing has been done");
    lab.effects.clear();
    lab.first_cell_runs();
    lab.ctrl('q');
    let shown = lab.shows();
    assert!(shown.contains("is not kept") && shown.contains("lose what is not saved"), "{shown}");
    assert!(!lab.effects.contains(&Effect::Quit));
    lab.key(KeyCode::Esc);
    lab.tell(Msg::File { facts: FileFacts::default(), keeping: Keeping::Always });
    lab.ctrl('q');
    assert_eq!(lab.effects.last(), Some(&Effect::Quit), "the other lab has let go of it");
}

#[test]
fn what_the_disk_does_not_take_of_a_lesson_is_not_dropped_unasked() {
    let mut lab = Lab::ready(80, 24);
    let facts = |unjournaled| FileFacts { unjournaled, ..FileFacts::default() };
    lab.tell(Msg::File { facts: facts(true), keeping: Keeping::Always });
    lab.first_cell_runs();
    lab.ctrl('s');
    assert!(lab.shows().contains("kept once there is room"), "{}", lab.shows());
    lab.ctrl('q');
    assert!(!lab.effects.contains(&Effect::Quit) && lab.shows().contains("lose what is not saved"));
    lab.key(KeyCode::Esc);
    lab.tell(Msg::File { facts: facts(false), keeping: Keeping::Always });
    lab.ctrl('q');
    assert_eq!(lab.effects.last(), Some(&Effect::Quit), "it is kept now");
}

#[test]
fn what_a_key_has_asked_for_is_read_with_the_next_key() {
    let mut lab = Lab::notebook(&["1"]);
    lab.state.keep(Keeping::OnSave);
    lab.ctrl('s');
    lab.tell(Msg::Saved(Ok(vec![])));
    assert!(lab.shows().contains("▸ saved"), "{}", lab.shows());
    lab.key(KeyCode::Enter);
    assert!(!lab.shows().contains("▸ saved"), "{}", lab.shows());
    // What comes by itself stays a moment.
    lab.tell(Msg::Note("another program has changed the file".into()));
    lab.types("2");
    assert!(lab.shows().contains("another program"), "{}", lab.shows());
}

#[test]
fn a_split_of_a_cell_that_runs_is_undone_when_it_has_run() {
    let mut lab = Lab::notebook(&["1\nloop {}"]);
    lab.key(KeyCode::Enter);
    lab.key(KeyCode::Down);
    lab.key(KeyCode::Home);
    lab.chord(KeyCode::Char('x'), KeyModifiers::ALT);
    assert_eq!(codes(&lab.state.document()).len(), 2, "{}", lab.shows());
    lab.key(KeyCode::F(5));
    lab.starts();
    lab.key(KeyCode::Esc);
    key(&mut lab, 'z');
    assert!(lab.shows().contains("running or queued"), "{}", lab.shows());
    assert_eq!(codes(&lab.state.document()).len(), 2);
    lab.ctrl('c');
    lab.finishes(Outcome::Interrupted, usage());
    key(&mut lab, 'z');
    assert_eq!(codes(&lab.state.document()), ["1\nloop {}"]);
}

#[test]
fn a_cell_of_the_lesson_that_was_changed_is_said_to_be_left() {
    let mut lab = Lab::ready(120, 40);
    lab.key(KeyCode::F(2));
    lab.key(KeyCode::Enter);
    lab.types("let mine = 1; ");
    lab.key(KeyCode::F(5));
    lab.succeeds(None);
    lab.key(KeyCode::Esc);
    key(&mut lab, 'n');
    lab.key(KeyCode::F(2));
    lab.key(KeyCode::Down);
    lab.key(KeyCode::F(5));
    let shown = lab.shows();
    let told = "begins where the lesson stands: 2 steps were run again as the lesson has it, without what you changed in In [1]";
    let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(told), "{shown}");
    // As it is written, it is what runs again.
    let mut lab = on_the_check();
    judged(&mut lab, Verdict::Pass);
    lab.key(KeyCode::F(5));
    assert!(!lab.shows().contains("without what you changed"), "{}", lab.shows());
}

#[test]
fn a_key_that_finds_nothing_to_do_says_why() {
    let mut lab = Lab::ready(120, 40);
    lab.key(KeyCode::F(2));
    key(&mut lab, 'h');
    assert!(lab.shows().contains("hints are for exercises"), "{}", lab.shows());
    key(&mut lab, 'n');
    lab.key(KeyCode::F(2));
    lab.key(KeyCode::Down);
    (0..3).for_each(|_| key(&mut lab, 'h'));
    assert!(!lab.shows().contains("the last help there is"), "{}", lab.shows());
    key(&mut lab, 'h');
    assert!(lab.shows().contains("the last help there is"), "{}", lab.shows());
}

#[test]
fn a_new_session_takes_back_that_the_last_one_died() {
    let mut lab = Lab::ready(120, 40);
    lab.dies("the session was killed");
    assert!(lab.shows().contains("starts a new one"), "{}", lab.shows());
    key(&mut lab, 'r');
    lab.says(ready());
    assert!(!lab.shows().contains("starts a new one"), "{}", lab.shows());
}

#[test]
fn a_prediction_has_every_character_of_its_number() {
    for (columns, rows) in [(80, 24), (100, 30), (120, 40)] {
        for (pane, number) in [1, 2].iter().flat_map(|pane| ["4194304", "0.5", ".25"].map(|n| (*pane, n))) {
            let mut lab = Lab::ready(columns, rows);
            lab.key(KeyCode::F(2));
            lab.key(KeyCode::Down);
            lab.key(KeyCode::F(pane));
            lab.types(number);
            lab.key(KeyCode::Enter);
            let typed = lab.kept().iter().find_map(|(step, entry)| match entry {
                Entry::Prediction { typed, .. } if *step == "bytes-across" => Some(typed.clone()),
                _ => None,
            });
            assert_eq!(typed.as_deref(), Some(number), "F{pane} at {columns}x{rows}: {}", lab.shows());
        }
    }
}

#[test]
fn a_digit_answers_no_quiz_whose_choices_are_not_seen() {
    let mut lab = Lab::ready(80, 24);
    key(&mut lab, 'n');
    lab.key(KeyCode::F(1));
    key(&mut lab, '1');
    assert!(lab.kept().is_empty() && lab.state.focus() == Pane::Cells, "{:?}", lab.kept());
    key(&mut lab, '1');
    assert!(matches!(lab.kept().as_slice(), [(_, Entry::Quiz { .. })]), "{:?}", lab.kept());
}

#[test]
fn help_comes_into_view_and_its_key_says_what_is_next() {
    let mut lab = Lab::ready(80, 20);
    key(&mut lab, 'n');
    lab.key(KeyCode::F(2));
    lab.key(KeyCode::Down);
    lab.key(KeyCode::F(5));
    (0..3).for_each(|_| lab.succeeds(None));
    lab.finishes(Outcome::Error { fault: mixed_devices() }, usage());
    judged(&mut lab, Verdict::LearnerError { message: "no".into(), line: None });
    for (told, next) in [("hint 1 of 2", "h hint"), ("hint 2 of 2", "h solution"), ("a solution", "")] {
        key(&mut lab, 'h');
        let shown = lab.shows();
        let bar = shown.lines().last().unwrap();
        assert!(shown.contains(told), "{told} is missing on\n{shown}");
        assert!(bar.contains(next) && next.is_empty() != bar.contains(" h "), "{bar}");
    }
}

#[test]
fn the_step_that_is_typed_in_or_left_is_recorded() {
    let left = |lab: &Lab| -> Vec<String> {
        let kept = lab.kept().into_iter().filter(|(_, entry)| **entry == Entry::Left);
        kept.map(|(step, _)| step.to_owned()).collect()
    };
    let mut lab = Lab::ready(120, 40);
    lab.types("q");
    assert!(left(&lab).is_empty(), "it was only looked at");
    let mut lab = Lab::ready(120, 40);
    lab.state.keep(Keeping::Always);
    key(&mut lab, 'n');
    lab.key(KeyCode::F(2));
    lab.key(KeyCode::Down);
    lab.key(KeyCode::Enter);
    lab.types("// mine ");
    lab.key(KeyCode::Esc);
    let Some(Item::Cell(exercise)) = &lab.state.document().steps[1].items.last().cloned() else { panic!() };
    assert_eq!(left(&lab), [exercise.id.as_str()], "once");
    lab.types("pq");
    let quits = lab.effects.iter().position(|effect| *effect == Effect::Quit).unwrap();
    let written = lab.effects.iter().rposition(|effect| matches!(effect, Effect::Record { .. })).unwrap();
    assert!(left(&lab).len() == 2 && written < quits, "{:?}", lab.effects);
}

/// The code of the requests that evaluate.
fn evaluated(lab: &Lab) -> Vec<&str> {
    let mut all = Vec::new();
    for request in &lab.sent {
        if let Request::Evaluate { code, .. } = request {
            all.push(code.as_str());
        }
    }
    all
}

#[test]
fn a_cell_below_an_open_exercise_begins_where_the_exercise_does() {
    let solution = "let b = batch.to(\"cuda:0\");";
    let below = |passes: bool| {
        let mut lab = Lab::ready(120, 40);
        key(&mut lab, 'n');
        lab.key(KeyCode::F(2));
        lab.key(KeyCode::Down);
        if passes {
            lab.key(KeyCode::F(5));
            (0..4).for_each(|_| lab.succeeds(None));
            judged(&mut lab, Verdict::Pass);
            lab.sent.clear();
        }
        types_a_cell(&mut lab, "batch");
        lab.key(KeyCode::F(5));
        (0..8).for_each(|_| lab.succeeds(None));
        lab
    };
    let lab = below(false);
    let sent = evaluated(&lab);
    assert!(!sent.iter().any(|code| code.contains(solution)), "{sent:?}");
    assert!(
        sent.iter().any(|code| code.contains("let batch = rand")) && sent.ends_with(&["batch"]),
        "{sent:?}"
    );
    assert!(lab.shows().contains("begins where the exercise above does"), "{}", lab.shows());
    assert!(
        lab.shows().contains("begins after 2 cells of the lesson that you have not run"),
        "{}",
        lab.shows()
    );
    let lab = below(true);
    assert_eq!(evaluated(&lab), ["batch"]);
    assert!(!lab.shows().contains("that you have not run"), "{}", lab.shows());
    // What comes after goes on from the solution, which is said.
    let mut lab = Lab::ready(120, 40);
    (0..2).for_each(|_| key(&mut lab, 'n'));
    lab.key(KeyCode::F(2));
    types_a_cell(&mut lab, "batch");
    lab.key(KeyCode::F(5));
    (0..8).for_each(|_| lab.succeeds(None));
    let sent = evaluated(&lab);
    let told = lab.shows().contains("begins with the lesson's own solution of `once`");
    assert_eq!(told, sent.iter().any(|code| code.contains(solution)), "{sent:?}\n{}", lab.shows());
}

#[test]
fn a_run_that_ended_from_without_is_shown_so_when_it_is_opened_again() {
    for (name, shown) in [
        ("KeyboardInterrupt", "■ interrupted, from the file"),
        ("OutputError", "■ stopped: too much output, from the file"),
        ("TimeoutError", "■ timed out, from the file"),
        ("ValueError", "✗ error, from the file"),
    ] {
        let mut document = lesson();
        for item in document.steps.iter_mut().flat_map(|step| &mut step.items) {
            let Item::Cell(cell) = item else { continue };
            if cell.exercise.is_some() {
                let outputs = vec![Output::stopped(name, "so")];
                let ran = Some(Kind::Code.hash(&cell.code));
                cell.stored = Some(Box::new(Stored { outputs, ran, count: Some(2), usage: None }));
                cell.verdict = Some(fails());
            }
        }
        let mut lab = Lab::new(document, look(Colour::True), 200, 60);
        lab.says(ready());
        key(&mut lab, 'n');
        let screen = render_to_string(&lab.state, 200, 60);
        assert!(screen.contains(shown), "{shown} is missing on\n{screen}");
        let is_cut = name == "KeyboardInterrupt";
        assert_eq!(screen.contains("cut short before it was judged"), is_cut, "{screen}");
        assert_eq!(
            screen.contains("✗ check failed"),
            !is_cut,
            "that was said of this run, or not:\n{screen}"
        );
    }
}

#[test]
fn what_the_next_try_of_a_quiz_takes_is_seen_beside_what_the_last_one_gave() {
    let choice = |text: &str, correct: bool| {
        format!("[[choice]]\ntext = \"{text}\"\ncorrect = {correct}\nexplain = \"So it is.\"\n\n")
    };
    let source = format!(
        "+++\nid = \"q\"\ntitle = \"Q\"\nsummary = \"s\"\nconcepts = [\"c\"]\nminutes = 1\ndevices = [\"cpu\"]\n\
         +++\n\n# One\n\nText.\n\n```toml quiz id=\"which\"\nask = \"Which?\"\n\n{}{}{}```\n",
        choice("red", true),
        choice("green", false),
        choice("blue", true)
    );
    let lesson = tensorlab::lesson::parse("q.md", source.as_bytes()).unwrap();
    let mut lab = Lab::new(Document::lesson(&lesson), look(Colour::True), 120, 40);
    lab.says(ready());
    lab.key(KeyCode::F(2));
    let row = |lab: &Lab, word: &str| {
        let shown = lab.shows();
        let line = shown.lines().find(|line| line.contains(&format!("  {word} "))).expect(word).to_owned();
        (line.contains('●'), line.contains('✗') || line.contains('✓'), line)
    };
    let number = |lab: &Lab, word: &str| row(lab, word).2.chars().find(char::is_ascii_digit).unwrap();
    for word in ["red", "green"] {
        let number = number(&lab, word);
        key(&mut lab, number);
        assert!(row(&lab, word).0, "{}", lab.shows());
    }
    lab.key(KeyCode::Enter);
    for word in ["red", "green"] {
        assert_eq!((row(&lab, word).0, row(&lab, word).1), (true, true), "{}", lab.shows());
    }
    let (green, blue) = (number(&lab, "green"), number(&lab, "blue"));
    key(&mut lab, green);
    assert_eq!((row(&lab, "green").0, row(&lab, "green").1), (false, true), "{}", lab.shows());
    key(&mut lab, blue);
    lab.key(KeyCode::Enter);
    assert!(lab.shows().contains("right, at try 2") && !row(&lab, "red").0, "{}", lab.shows());
    key(&mut lab, '1');
    assert!(lab.shows().contains("you have answered it"), "{}", lab.shows());
}

#[test]
fn a_verdict_is_in_view_though_hints_stand_below_it() {
    let wrong = Verdict::LearnerError { message: "no".into(), line: None };
    for (scrolled, fails) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut lab = Lab::ready(80, 20);
        key(&mut lab, 'n');
        lab.key(KeyCode::F(2));
        lab.key(KeyCode::Down);
        (0..3).for_each(|_| key(&mut lab, 'h'));
        (0..9).filter(|_| scrolled).for_each(|_| lab.key(KeyCode::PageDown));
        lab.key(KeyCode::F(5));
        (0..3).for_each(|_| lab.succeeds(None));
        let (outcome, verdict, told) = match fails {
            true => (Outcome::Error { fault: mixed_devices() }, wrong.clone(), "✗ not yet"),
            false => (Outcome::Ok { value: None }, Verdict::Pass, "✓ check passed"),
        };
        lab.finishes(outcome, usage());
        judged(&mut lab, verdict);
        let shown = render_to_string(&lab.state, 80, 20);
        assert!(shown.contains(told), "{shown}");
        assert!(!fails || shown.contains("Expected all tensors"), "{shown}");
    }
}

#[test]
fn running_a_prediction_that_is_made_runs_the_cell_that_settles_it() {
    let mut lab = Lab::ready(100, 30);
    lab.first_cell_runs();
    lab.key(KeyCode::F(2));
    (0..5).for_each(|_| lab.key(KeyCode::Up));
    lab.key(KeyCode::Down);
    lab.types("4194304");
    lab.key(KeyCode::Enter);
    lab.key(KeyCode::F(2));
    // The first cell, and the prediction below it.
    (0..5).for_each(|_| lab.key(KeyCode::Up));
    lab.key(KeyCode::Down);
    lab.key(KeyCode::F(5));
    let (_, _, code) = lab.evaluation();
    assert!(code.contains("y.cuda(1)"), "{code}: {}", lab.shows());
}
