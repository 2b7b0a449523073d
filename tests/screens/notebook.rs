//! The notebook screen: what the file keeps, stale cells, running anew, verifying.

use crossterm::event::{KeyCode, KeyModifiers};
use tensorlab::lab::document::{Cell, Item, Step, Stored};
use tensorlab::lab::{
    BookChange, Colour, Confirm, Document, Effect, FileFacts, Keeping, Msg, NotSaved, Popup, render_to_string,
};
use tensorlab::notebook::{Kind, Output};
use tensorlab::session::protocol::{Message, Outcome, Stream, Usage};

use super::fixture::{Lab, look, mixed_devices, ready, usage};

fn book(lab: &Lab) -> Vec<&BookChange> {
    let mut changes = Vec::new();
    for effect in &lab.effects {
        if let Effect::Book(change) = effect {
            changes.push(change);
        }
    }
    changes
}

/// A notebook that has a file, as the ones of the tests do not.
fn with_file(cells: &[&str]) -> Lab {
    let mut lab = Lab::notebook(cells);
    lab.state.keep(Keeping::OnSave);
    lab
}

#[test]
fn every_change_of_a_cell_is_told_to_the_file_at_once() {
    let mut lab = with_file(&["let x = 1;", "x"]);
    assert!(book(&lab).is_empty());
    lab.key(KeyCode::Enter);
    lab.types("a");
    let text = BookChange::Text { id: "cell-1".into(), text: "alet x = 1;".into() };
    assert_eq!(book(&lab), [&text]);
    lab.key(KeyCode::Esc);
    lab.effects.clear();
    lab.types("b");
    let changes = book(&lab);
    let [BookChange::Insert { after: Some(after), cell }] = changes.as_slice() else { panic!("{changes:?}") };
    assert_eq!((after.as_str(), cell.code.as_str()), ("cell-1", ""));
    let id = cell.id.clone();
    assert!(id.len() > 4 && id.chars().all(|c| c.is_ascii_alphanumeric()), "{id}");
    lab.effects.clear();
    lab.types("m");
    assert_eq!(book(&lab), [&BookChange::Markdown { id: id.clone(), markdown: true }]);
    lab.effects.clear();
    lab.types("dd");
    assert_eq!(book(&lab), [&BookChange::Remove { id: id.clone() }]);
    assert!(lab.state.unsaved() > 0, "what was taken away is not saved either");
    lab.effects.clear();
    lab.types("z");
    let changes = book(&lab);
    let [BookChange::Insert { after: Some(after), cell }] = changes.as_slice() else { panic!("{changes:?}") };
    assert_eq!((after.as_str(), cell.id.as_str(), cell.markdown), ("cell-1", id.as_str(), true));
    lab.effects.clear();
    for _ in 0..3 {
        lab.key(KeyCode::Up);
        lab.key(KeyCode::Down);
    }
    assert!(book(&lab).is_empty(), "nothing changes by looking");
}

#[test]
fn what_a_run_gave_is_told_to_the_file() {
    let mut lab = with_file(&["print(1); 2"]);
    lab.key(KeyCode::F(5));
    let id = lab.evaluation().0;
    lab.says(Message::Output { id, stream: Stream::Stdout, text: "1\n".into() });
    lab.succeeds(Some("2"));
    let changes = book(&lab);
    let [BookChange::Ran { id, stored }] = changes.as_slice() else { panic!("{changes:?}") };
    assert_eq!(id, "cell-1");
    assert_eq!(stored.outputs, [Output::stream(Stream::Stdout, "1\n"), Output::result("2", 1)]);
    assert_eq!((stored.ran, stored.count), (Some(Kind::Code.hash("print(1); 2")), Some(1)));
    assert!(stored.usage.is_some());
    // A session that dies has given something, too.
    lab.effects.clear();
    lab.key(KeyCode::F(5));
    lab.dies("out of memory");
    let changes = book(&lab);
    let [BookChange::Ran { stored, .. }] = changes.as_slice() else { panic!("{changes:?}") };
    assert!(stored.outputs[0].is_error() && stored.outputs[0].text().contains("out of memory"));
}

fn stored(outputs: Vec<Output>, code: &str) -> Option<Box<Stored>> {
    let (ran, count, usage) = (Some(Kind::Code.hash(code)), Some(7), Some(Usage::default()));
    Some(Box::new(Stored { outputs, ran, count, usage }))
}

/// A cell that ran as it stands, one that was changed since, and one that failed.
fn from_file() -> Lab {
    let cell = |id: &str, code: &str, stored| {
        Item::Cell(Box::new(Cell { id: id.into(), code: code.into(), stored, ..Cell::default() }))
    };
    let error = Output::stopped("RuntimeError", "no such thing");
    let items = vec![
        cell(
            "a",
            "1 + 1",
            stored(vec![Output::stream(Stream::Stdout, "hello\n"), Output::result("2", 7)], "1 + 1"),
        ),
        cell("b", "2 + 2", stored(vec![Output::result("3", 7)], "1 + 2")),
        cell("c", "boom", stored(vec![error], "boom")),
    ];
    let document = Document {
        title: "old.rhai".into(),
        steps: vec![Step { items, ..Step::default() }],
        ..Document::default()
    };
    let mut lab = Lab::new(document, look(Colour::True), 120, 40);
    lab.says(ready());
    lab
}

#[test]
fn outputs_of_the_file_are_shown_as_such() {
    let mut lab = from_file();
    let shown = lab.shows();
    for text in [
        "In [7]",
        "✓ ok, from the file ",
        "✓ ok, from the file, edited since",
        "✗ error, from the file",
        "hello",
        "no such thing",
    ] {
        assert!(shown.contains(text), "{text:?} is missing on\n{shown}");
    }
    lab.key(KeyCode::F(5));
    lab.succeeds(Some("2"));
    let shown = lab.shows();
    assert!(shown.contains("In [1]") && !shown.contains("hello"), "{shown}");
    insta::assert_snapshot!(
        "a_notebook_with_outputs_of_its_file_at_80x24",
        render_to_string(&lab.state, 80, 24)
    );
}

#[test]
fn cells_that_would_give_something_else_are_marked_and_run_with_one_key() {
    let mut lab = with_file(&["let x = 1;", "let y = x + 1;", "y", "5"]);
    lab.types("R");
    for _ in 0..4 {
        lab.succeeds(None);
    }
    assert!(!lab.shows().contains("stale"));
    lab.key(KeyCode::Home);
    lab.key(KeyCode::F(5));
    lab.succeeds(None);
    let shown = lab.shows();
    assert!(shown.contains("stale: In [5] has given x anew"), "{shown}");
    assert!(shown.contains("stale: y is of In [2], which is stale"), "{shown}");
    assert!(shown.contains("S run stale"), "{shown}");
    insta::assert_snapshot!("stale_cells_at_80x24", render_to_string(&lab.state, 80, 24));
    lab.types("S");
    assert_eq!(lab.evaluation().2, "let y = x + 1;");
    lab.succeeds(None);
    assert_eq!(lab.evaluation().2, "y");
    lab.succeeds(None);
    assert!(!lab.shows().contains("stale"), "{}", lab.shows());
    assert_eq!(lab.evaluation().1, 7, "the fourth cell did not run again");
    lab.types("S");
    assert!(lab.shows().contains("no cell is stale"));
    // Typing marks what depends on the cell, and taking it back does no longer.
    lab.key(KeyCode::Home);
    lab.key(KeyCode::Enter);
    lab.types("2");
    assert!(lab.shows().contains("stale: x is of In [5], edited since"), "{}", lab.shows());
    lab.key(KeyCode::Backspace);
    assert!(!lab.shows().contains("stale") && !lab.shows().contains("edited"), "{}", lab.shows());
}

/// Jupyter leaves it alone as well.
#[test]
fn what_an_error_keeps_from_running_is_what_it_was() {
    let fails = |lab: &mut Lab| lab.finishes(Outcome::Error { fault: mixed_devices() }, usage());
    let mut lab = with_file(&["let z = 1;", "print(z);", "3"]);
    lab.types("R");
    lab.succeeds(None);
    lab.prints("hello\n");
    lab.succeeds(None);
    fails(&mut lab);
    // What it gave is of the value that the first cell gives anew before it fails.
    lab.types("R");
    fails(&mut lab);
    let shown = lab.shows();
    assert!(
        shown.contains("hello") && !shown.contains("interrupted") && !shown.contains("queued"),
        "{shown}"
    );
    assert!(shown.contains("stale: In [4] has given z anew"), "{shown}");
    lab.types("S");
    assert_eq!(lab.evaluation().2, "print(z);");
    lab.succeeds(None);
    assert!(lab.shows().contains("✗ error"), "the third cell failed, and did not run since\n{}", lab.shows());
    // One that never ran, and was edited while it waited.
    let mut lab = with_file(&["1", "2"]);
    lab.types("R");
    lab.key(KeyCode::End);
    lab.key(KeyCode::Enter);
    lab.types("5");
    fails(&mut lab);
    let shown = lab.shows();
    assert!(shown.contains("○ not run") && !shown.contains("interrupted"), "{shown}");
    lab.key(KeyCode::Esc);
    lab.types("S");
    assert!(lab.shows().contains("no cell is stale"), "{}", lab.shows());
    // What is of the file, where all is run anew.
    let mut lab = from_file();
    lab.types("V");
    lab.says(ready());
    fails(&mut lab);
    let shown = lab.shows();
    assert!(shown.contains("✗ error, from the file") && !shown.contains("interrupted"), "{shown}");
}

#[test]
fn what_an_error_keeps_from_running_is_not_said_to_be_verified() {
    let mut lab = with_file(&["1", "boom", "3"]);
    let fails = |lab: &mut Lab| lab.finishes(Outcome::Error { fault: mixed_devices() }, usage());
    lab.types("R");
    lab.succeeds(Some("1"));
    fails(&mut lab);
    lab.types("V");
    lab.types("y");
    lab.says(ready());
    lab.succeeds(Some("1"));
    fails(&mut lab);
    let shown = lab.shows();
    assert!(shown.contains("2 of 2 cells give the same outputs; 1 cell was not run"), "{shown}");
}

#[test]
fn verifying_runs_all_anew_and_says_which_outputs_are_not_the_same() {
    let mut lab = with_file(&["1", "rand(1)"]);
    lab.types("R");
    lab.succeeds(Some("1"));
    lab.succeeds(Some("tensor([0.1])"));
    lab.types("V");
    assert_eq!(lab.state.popup(), Some(Popup::Confirm(Confirm::Verify)));
    lab.types("y");
    assert!(lab.effects.contains(&Effect::RestartSession));
    lab.says(ready());
    lab.succeeds(Some("1"));
    lab.succeeds(Some("tensor([0.2])"));
    let shown = lab.shows();
    for text in [
        "not verified: 1 of 2 cells gives other outputs",
        "✓ verified: the same outputs as before",
        "✗ verify: run anew, it gives something else",
        "- tensor([0.1])",
        "+ tensor([0.2])",
    ] {
        assert!(shown.contains(text), "{text:?} is missing on\n{shown}");
    }
}

#[test]
fn a_verification_that_is_cut_off_says_nothing_of_later_runs() {
    for dies in [true, false] {
        let mut lab = with_file(&["1", "2"]);
        lab.types("R");
        lab.succeeds(Some("1"));
        lab.succeeds(Some("2"));
        lab.types("Vy");
        lab.says(ready());
        lab.succeeds(Some("1"));
        if dies {
            lab.dies("killed");
            lab.types("r");
        } else {
            lab.types("ry");
        }
        lab.says(ready());
        lab.key(KeyCode::Home);
        lab.key(KeyCode::F(5));
        lab.succeeds(Some("other"));
        assert!(!lab.shows().contains("verif"), "{}", lab.shows());
    }
}

#[test]
fn running_anew_begins_a_session_and_runs_every_cell() {
    let mut lab = with_file(&["1", "2"]);
    lab.types("A");
    assert_eq!(lab.state.popup(), None, "there is nothing to lose");
    lab.says(ready());
    lab.succeeds(None);
    lab.succeeds(None);
    lab.types("A");
    assert_eq!(lab.state.popup(), Some(Popup::Confirm(Confirm::RunAnew)));
    lab.types("y");
    lab.says(ready());
    assert_eq!((lab.evaluation().1, lab.evaluation().2.as_str()), (1, "1"));
    lab.succeeds(None);
    assert_eq!(lab.evaluation().2, "2");
}

#[test]
fn a_file_that_another_program_changed_is_asked_about() {
    let mut lab = with_file(&["1"]);
    lab.key(KeyCode::Enter);
    lab.types("2");
    lab.ctrl('s');
    assert_eq!(lab.effects.last(), Some(&Effect::Save { over: false }));
    lab.tell(Msg::Saved(Err(NotSaved::Conflict("changed".into()))));
    assert_eq!(lab.state.popup(), Some(Popup::Confirm(Confirm::Overwrite)));
    assert!(lab.shows().contains("Another program has changed the file"), "{}", lab.shows());
    lab.types("n");
    assert!(!lab.effects.contains(&Effect::Save { over: true }) && lab.state.unsaved() == 1);
    lab.ctrl('s');
    lab.tell(Msg::Saved(Err(NotSaved::Conflict("changed".into()))));
    lab.types("y");
    assert_eq!(lab.effects.last(), Some(&Effect::Save { over: true }));
    lab.tell(Msg::Saved(Ok(vec!["the outputs are not kept".into()])));
    assert!(lab.shows().contains("saved; the outputs are not kept") && lab.state.unsaved() == 0);
}

#[test]
fn enter_is_never_the_answer_that_loses_something() {
    let ask: [(&dyn Fn(&mut Lab), Confirm); 5] = [
        (&|lab| lab.types("r"), Confirm::Restart),
        (&|lab| lab.types("A"), Confirm::RunAnew),
        (&|lab| lab.types("V"), Confirm::Verify),
        (&|lab| lab.tell(Msg::Saved(Err(NotSaved::Conflict("changed".into())))), Confirm::Overwrite),
        (&|lab| lab.tell(Msg::Saved(Err(NotSaved::Exists("other.rhai".into())))), Confirm::Replace),
    ];
    for (ask, question) in ask {
        let mut lab = with_file(&["1"]);
        lab.key(KeyCode::F(5));
        lab.succeeds(Some("1"));
        lab.effects.clear();
        ask(&mut lab);
        assert_eq!(lab.state.popup(), Some(Popup::Confirm(question)));
        lab.key(KeyCode::Enter);
        assert!(lab.effects.is_empty(), "{question:?}: {:?}", lab.effects);
    }
    // What is not saved anywhere is not dropped either.
    let mut lab = Lab::notebook(&["1"]);
    lab.key(KeyCode::Enter);
    lab.types("2");
    lab.ctrl('q');
    lab.key(KeyCode::Enter);
    assert!(lab.effects.is_empty() && lab.state.popup().is_none());
}

#[test]
fn changes_that_were_recovered_are_asked_about_as_those_of_now() {
    let mut lab = with_file(&["1"]);
    lab.tell(on_save(FileFacts { recovered: 25, ..FileFacts::default() }));
    lab.types("q");
    let shown = lab.shows();
    for text in [
        "25 recovered changes are not saved.",
        "s, Enter  save and quit",
        "y         quit; what is not saved waits",
        "n         stay",
    ] {
        assert!(shown.contains(text), "{text:?} is missing on\n{shown}");
    }
    assert!(!lab.effects.contains(&Effect::Quit));
    lab.types("n");
    lab.tell(Msg::Listed(Box::default()));
    lab.key(KeyCode::F(7));
    lab.types("oother.rhai\n");
    assert_eq!(lab.state.popup(), Some(Popup::Confirm(Confirm::Open)), "{}", lab.shows());
    lab.types("n");
    // Once they are saved, there is nothing to ask.
    lab.tell(on_save(FileFacts::default()));
    lab.types("q");
    assert_eq!(lab.effects.last(), Some(&Effect::Quit));
}

#[test]
fn one_can_save_and_quit_in_one_answer() {
    for key in [KeyCode::Char('s'), KeyCode::Enter] {
        let mut lab = with_file(&["1"]);
        lab.key(KeyCode::Enter);
        lab.types("2");
        lab.ctrl('q');
        let shown = lab.shows();
        for text in ["s, Enter  save and quit", "y         quit; what is not saved waits", "n         stay"] {
            assert!(shown.contains(text), "{text:?} is missing on\n{shown}");
        }
        lab.key(key);
        assert_eq!(lab.effects.last(), Some(&Effect::Save { over: false }));
        lab.tell(Msg::Saved(Ok(vec![])));
        assert_eq!(lab.effects.last(), Some(&Effect::Quit));
    }
    // The same before something else is opened.
    let mut lab = with_file(&["1"]);
    lab.tell(Msg::Listed(Box::default()));
    lab.key(KeyCode::Enter);
    lab.types("2");
    lab.key(KeyCode::F(7));
    lab.types("o");
    lab.types("other.rhai\n");
    assert_eq!(lab.state.popup(), Some(Popup::Confirm(Confirm::Open)), "{}", lab.shows());
    lab.types("s");
    lab.tell(Msg::Saved(Ok(vec![])));
    assert!(matches!(lab.effects.last(), Some(Effect::Open(_))), "{:?}", lab.effects.last());
    // Where saving fails, nothing is quit.
    let mut lab = with_file(&["1"]);
    lab.key(KeyCode::Enter);
    lab.types("2");
    lab.ctrl('q');
    lab.types("s");
    lab.tell(Msg::Saved(Err(NotSaved::Failed("the disk is full".into()))));
    assert!(!lab.effects.contains(&Effect::Quit) && lab.shows().contains("not saved: the disk is full"));
    lab.ctrl('s');
    lab.tell(Msg::Saved(Ok(vec![])));
    assert!(!lab.effects.contains(&Effect::Quit), "a later save is no answer to the earlier question");
}

#[test]
fn raw_text_is_shown_as_it_is_written() {
    let mut document = Document::notebook("n.rhai", ["1".to_owned(), "# no *heading*".to_owned()]);
    if let Some(Item::Cell(cell)) = document.steps[0].items.last_mut() {
        (cell.markdown, cell.raw) = (true, true);
    }
    let mut lab = with_file(&["1"]);
    lab.tell(Msg::Reloaded(document));
    let shown = lab.shows();
    assert!(shown.contains("Raw ─") && shown.contains("# no *heading*"), "{shown}");
}

#[test]
fn what_the_disk_does_not_take_is_not_promised_to_wait() {
    let mut lab = with_file(&["1"]);
    lab.key(KeyCode::Enter);
    lab.types("2");
    lab.tell(on_save(FileFacts { unjournaled: true, ..FileFacts::default() }));
    lab.ctrl('q');
    let shown = lab.shows();
    let texts = ["s, Enter  save and quit", "y         quit, and lose what is not saved", "nowhere but here"];
    for text in texts {
        assert!(shown.contains(text), "{text:?} is missing on\n{shown}");
    }
    assert!(!shown.contains("waits"), "{shown}");
}

#[test]
fn the_answers_to_a_question_have_room_on_the_smallest_screen() {
    let mut lab = with_file(&["1"]);
    lab.key(KeyCode::Enter);
    lab.types("2");
    for (columns, rows) in [(30, 8), (30, 10), (40, 12)] {
        lab.tell(Msg::Resize(columns, rows));
        lab.ctrl('q');
        let shown = lab.shows();
        for answer in ["s, Enter  save and quit", "y         quit", "n         stay"] {
            assert!(shown.contains(answer), "{answer:?} is missing on\n{shown}");
        }
        lab.types("n");
    }
}

/// What holds of the file of a notebook.
fn on_save(facts: FileFacts) -> Msg {
    Msg::File { facts, keeping: Keeping::OnSave }
}

/// What the file was told.
fn told(lab: &Lab) -> Vec<&BookChange> {
    let told = lab.effects.iter().filter_map(|effect| match effect {
        Effect::Book(change) => Some(change),
        _ => None,
    });
    told.collect()
}

#[test]
fn what_was_done_in_a_lesson_that_another_lab_had_is_told_once_it_is_kept() {
    let mut lab = Lab::ready(120, 40);
    lab.first_cell_runs();
    lab.key(KeyCode::Enter);
    lab.types("// mine ");
    lab.key(KeyCode::Esc);
    lab.types("b");
    if !lab.state.is_editing() {
        lab.key(KeyCode::Enter);
    }
    lab.types("x + 1");
    lab.key(KeyCode::Esc);
    assert!(told(&lab).is_empty(), "nothing is kept yet");
    lab.tell(Msg::File { facts: FileFacts::default(), keeping: Keeping::Always });
    let told = told(&lab);
    let is_text = |change: &&BookChange, wanted: &str| matches!(change, BookChange::Text { text, .. } if text.starts_with(wanted));
    assert!(told.iter().any(|change| is_text(change, "// mine let x")), "{told:?}");
    let is_own = |change: &&BookChange| matches!(change, BookChange::Insert { cell, after: Some(_) } if cell.code == "x + 1");
    assert!(told.iter().any(is_own), "{told:?}");
    assert!(told.iter().any(|change| matches!(change, BookChange::Ran { .. })), "{told:?}");
    // From then on it is told of each change.
    let before = told.len();
    lab.key(KeyCode::Enter);
    lab.types("2");
    assert_eq!(self::told(&lab).len(), before + 1);
    assert!(lab.shows().contains("session ready") && lab.state.unsaved() == 0);
}

#[test]
fn what_a_lab_that_only_reads_changes_is_not_promised_to_be_kept() {
    let mut lab = with_file(&["1"]);
    lab.tell(on_save(FileFacts { read_only: Some("open in process 7".into()), ..FileFacts::default() }));
    assert!(lab.shows().contains("read-only · session ready"), "{}", lab.shows());
    lab.key(KeyCode::Enter);
    lab.types("2");
    lab.key(KeyCode::Esc);
    assert!(lab.shows().contains("read-only"), "it lasts");
    lab.ctrl('q');
    let shown = lab.shows();
    assert!(shown.contains("keeps nothing of it") && !shown.contains("waits"), "{shown}");
    lab.types("a");
    assert_eq!(lab.state.popup(), Some(Popup::SaveAs));
    for _ in 0..200 {
        lab.key(KeyCode::Backspace);
    }
    lab.tell(Msg::Paste("other".into()));
    lab.key(KeyCode::Enter);
    let wanted = Effect::SaveAs { path: "other.rhai".into(), over: false };
    assert_eq!(lab.effects.last(), Some(&wanted));
    lab.tell(Msg::SavedAs { path: "/n/other.rhai".into(), notes: vec![] });
    assert_eq!(lab.effects.last(), Some(&Effect::Quit));
    lab.tell(on_save(FileFacts::default()));
    let shown = lab.shows();
    assert!(shown.contains("/n/other.rhai") && !shown.contains("read-only"), "{shown}");
}

#[test]
fn a_reload_shows_the_differences_first_and_keeps_what_is_the_same() {
    let mut lab = with_file(&["let x = 1;", "x"]);
    lab.types("R");
    lab.succeeds(None);
    lab.succeeds(Some("1"));
    lab.key(KeyCode::Enter);
    lab.types("// mine ");
    lab.key(KeyCode::Esc);
    lab.chord(KeyCode::Char('r'), KeyModifiers::ALT);
    assert_eq!(lab.effects.last(), Some(&Effect::Compare));
    lab.tell(Msg::Compared(Ok(vec!["- // mine let x = 1;".into(), "+ let x = 7;".into(), "  x".into()])));
    let shown = lab.shows();
    assert!(shown.contains("- // mine let x = 1;") && shown.contains("+ let x = 7;"), "{shown}");
    lab.key(KeyCode::Enter);
    assert!(!lab.effects.contains(&Effect::Reload), "Enter keeps what is here");
    lab.tell(Msg::Compared(Ok(vec!["+ let x = 7;".into()])));
    lab.types("r");
    assert_eq!(lab.effects.last(), Some(&Effect::Reload));
    lab.effects.clear();
    let cell = |id: &str, code: &str| {
        Item::Cell(Box::new(Cell { id: id.into(), code: code.into(), ..Cell::default() }))
    };
    let items = vec![cell("a", "let x = 7;"), cell("b", "x"), cell("c", "x + 1")];
    let steps = vec![Step { items, ..Step::default() }];
    lab.tell(Msg::Reloaded(Document { steps, ..Document::default() }));
    let shown = lab.shows();
    for text in ["let x = 7;", "= 1", "x + 1", "session ready"] {
        assert!(shown.contains(text), "{text:?} is missing on\n{shown}");
    }
    let told: Vec<_> = book(&lab)
        .into_iter()
        .map(|change| match change {
            BookChange::Ran { id, stored } => (id.as_str(), stored.outputs.clone()),
            other => panic!("the file has all else: {other:?}"),
        })
        .collect();
    assert_eq!(told, [("b", vec![Output::result("1", 2)])], "what they gave is in no file yet");
    assert_eq!(lab.state.unsaved(), 1);
    lab.types("q");
    assert_eq!(lab.state.popup(), Some(Popup::Confirm(Confirm::Quit)), "it would be lost");
    lab.key(KeyCode::Esc);
    lab.tell(Msg::Compared(Ok(vec![])));
    assert!(lab.shows().contains("the file has what is here"));
}

#[test]
fn a_reload_takes_the_outputs_of_the_file_where_nothing_ran_here() {
    let mut lab = from_file();
    lab.state.keep(Keeping::OnSave);
    let cell = |id: &str, code: &str, stored| {
        Item::Cell(Box::new(Cell { id: id.into(), code: code.into(), stored, ..Cell::default() }))
    };
    let items =
        vec![cell("a", "1 + 1", stored(vec![Output::result("two", 8)], "1 + 1")), cell("c", "boom", None)];
    let steps = vec![Step { items, ..Step::default() }];
    lab.tell(Msg::Reloaded(Document { steps, ..Document::default() }));
    let shown = lab.shows();
    assert!(
        shown.contains("= two") && !shown.contains("hello") && !shown.contains("no such thing"),
        "{shown}"
    );
    assert_eq!(lab.state.unsaved(), 0);
}

#[test]
fn a_cell_that_was_cut_keeps_what_it_has_shown_wherever_it_goes() {
    let ran = || {
        let mut lab = with_file(&["1", "2", "3"]);
        lab.key(KeyCode::F(5));
        lab.succeeds(Some("one"));
        lab
    };
    let mut lab = ran();
    lab.types("x");
    assert!(!lab.shows().contains("= one"));
    lab.types("z");
    assert!(lab.shows().contains("= one"), "{}", lab.shows());
    // Pasted elsewhere, and undone: it stands where it stood.
    lab.types("xjv");
    assert!(lab.shows().contains("= one"), "{}", lab.shows());
    let order = |lab: &Lab| super::behaviour::codes(&lab.state.document()).join(" ");
    assert_eq!(order(&lab), "2 3 1");
    lab.types("z");
    assert_eq!(order(&lab), "1 2 3");
    assert!(lab.shows().contains("= one"), "{}", lab.shows());
    // A half of a split cell that was cut and brought back is still the half.
    let mut lab = with_file(&["let a = 1;\na"]);
    lab.key(KeyCode::Enter);
    lab.key(KeyCode::Down);
    lab.chord(KeyCode::Char('x'), KeyModifiers::ALT);
    lab.key(KeyCode::Esc);
    lab.types("kxzMzz");
    assert_eq!(order(&lab), "let a = 1;\na", "{}", lab.shows());
}

#[test]
fn a_notebook_is_saved_under_a_name_that_can_be_opened() {
    let mut lab = with_file(&["1"]);
    for (name, wanted) in
        [("k.rhai2", None), ("k.txt", None), ("k", Some("k.rhai")), ("k.IPYNB", Some("k.IPYNB"))]
    {
        lab.effects.clear();
        lab.chord(KeyCode::Char('s'), KeyModifiers::ALT);
        lab.ctrl('u');
        lab.types(name);
        lab.key(KeyCode::Enter);
        let path = lab.effects.iter().find_map(|effect| match effect {
            Effect::SaveAs { path, .. } => Some(path.to_str().unwrap()),
            _ => None,
        });
        assert_eq!(path, wanted, "{name}");
        assert_eq!(lab.shows().contains("ends in .rhai or .ipynb"), wanted.is_none(), "{}", lab.shows());
        lab.key(KeyCode::Esc);
    }
    let error = NotSaved::As { path: "no/such.rhai".into(), reason: "no such folder".into() };
    lab.tell(Msg::Saved(Err(error)));
    assert_eq!(lab.state.popup(), Some(Popup::SaveAs), "the name can be mended");
    assert!(
        lab.shows().contains("no/such.rhai") && lab.shows().contains("no such folder"),
        "{}",
        lab.shows()
    );
}

#[test]
fn a_moved_cell_is_moved_in_the_file_and_a_split_one_is_two() {
    let mut lab = with_file(&["1", "2", "3"]);
    lab.types("J");
    let moved = BookChange::Move { id: "cell-1".into(), after: Some("cell-2".into()) };
    // Told as the other one's move: the file has the same order.
    let other = BookChange::Move { id: "cell-2".into(), after: None };
    assert!(book(&lab) == [&moved] || book(&lab) == [&other], "{:?}", book(&lab));
    assert!(lab.state.unsaved() > 0);
    lab.effects.clear();
    lab.types("zz");
    assert!(matches!(book(&lab).as_slice(), [BookChange::Move { .. }]), "{:?}", book(&lab));
    let mut lab = with_file(&["let a = 1;\na"]);
    lab.key(KeyCode::Enter);
    lab.key(KeyCode::Down);
    lab.chord(KeyCode::Char('x'), KeyModifiers::ALT);
    let changes = book(&lab);
    assert!(changes.iter().any(|c| matches!(c, BookChange::Text { text, .. } if text == "let a = 1;")));
    assert!(changes.iter().any(|c| matches!(c, BookChange::Insert { cell, .. } if cell.code == "a")));
}

#[test]
fn messages_wrap_stay_until_read_and_are_all_in_the_log() {
    let mut lab = with_file(&["1"]);
    lab.tell(Msg::Resize(80, 24));
    let long = "n.rhai is open in process 4711 on a host of a long name; it is read-only here (if that is wrong, \
                remove .n.rhai.lock)";
    lab.tell(Msg::Note(long.into()));
    lab.wait(std::time::Duration::from_secs(30));
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
    let shown = render_to_string(&lab.state, 80, 24);
    assert!(words(&shown).contains(&words(long)), "{shown}");
    lab.key(KeyCode::Up);
    assert!(!render_to_string(&lab.state, 80, 24).contains("4711"), "it has been read");
    // One that comes while keys are pressed is not gone with the next of them.
    lab.tell(Msg::Note("another program has changed the file".into()));
    lab.wait(std::time::Duration::from_millis(500));
    lab.key(KeyCode::Up);
    assert!(lab.shows().contains("another program has changed the file"));
    lab.wait(std::time::Duration::from_secs(5));
    lab.key(KeyCode::Up);
    assert!(!lab.shows().contains("another program"));
    lab.key(KeyCode::F(8));
    let shown = lab.shows();
    assert!(shown.contains("0:00  n.rhai is open") && shown.contains("0:30  another program"), "{shown}");
}

#[test]
fn what_lasts_is_shown_as_long_as_it_lasts() {
    let mut lab = with_file(&["loop {}"]);
    lab.tell(on_save(FileFacts { recovered: 3, changed_outside: true, ..FileFacts::default() }));
    let shown = lab.shows();
    for told in [
        "3 changes that were not saved are recovered; Ctrl-S saves, Alt-r shows",
        "another program has changed",
    ] {
        assert!(shown.contains(told), "{told}: {shown}");
    }
    lab.key(KeyCode::F(5));
    lab.ctrl('c');
    let shown = lab.shows();
    assert!(shown.contains("3 recovered · changed outside · interrupting; Ctrl-C again"), "{shown}");
    lab.finishes(Outcome::Interrupted, Usage::default());
    assert!(!lab.shows().contains("interrupting"), "it has been interrupted");
    lab.dies("killed by the system");
    for _ in 0..3 {
        lab.wait(std::time::Duration::from_secs(20));
        lab.key(KeyCode::Up);
    }
    let head = lab.shows().lines().next().unwrap_or_default().to_owned();
    assert!(head.contains("✗ the session ended: killed by the system"), "{head}");
}

#[test]
fn all_of_a_long_output_is_shown_when_it_is_asked_for() {
    let mut lab = with_file(&["loop"]);
    lab.key(KeyCode::F(5));
    let id = lab.evaluation().0;
    for from in 0..100 {
        let text: String = (0..1000).map(|i| format!("row {}\n", from * 1000 + i)).collect();
        lab.says(Message::Output { id, stream: Stream::Stdout, text });
    }
    lab.succeeds(None);
    assert!(lab.shows().contains("⋯ 99,980 lines hidden, o shows them"), "{}", lab.shows());
    lab.types("o");
    let start = std::time::Instant::now();
    let mut seen = 0;
    for _ in 0..40 {
        lab.key(KeyCode::PageDown);
        seen += lab.shows().matches("row ").count();
    }
    let took = start.elapsed() / 40;
    println!("a page of 100,000 lines takes {took:?}");
    assert!(seen > 1000 && took < std::time::Duration::from_millis(150), "{seen}, {took:?}");
    assert!(!lab.shows().contains("not kept") && !lab.shows().contains("hidden"));
    // The last line is there as well.
    for _ in 0..3500 {
        lab.key(KeyCode::PageDown);
    }
    assert!(lab.shows().contains("row 99999 "), "{}", lab.shows());
}

#[test]
fn an_error_and_the_end_of_a_long_cell_come_into_view() {
    let long: String = (0..77).map(|i| format!("let v{i} = {i};\n")).collect();
    let mut lab = with_file(&[&long, "2"]);
    lab.key(KeyCode::F(5));
    lab.finishes(Outcome::Error { fault: mixed_devices() }, usage());
    let shown = lab.shows();
    assert!(shown.contains("hint: move one of them") && shown.contains("RuntimeError"), "{shown}");
    lab.key(KeyCode::Enter);
    assert!(lab.shows().contains("  1 let v0"), "typing begins at the cursor: {}", lab.shows());
    lab.chord(KeyCode::Enter, KeyModifiers::CONTROL);
    lab.succeeds(Some("the end"));
    assert!(lab.shows().contains("= the end"), "while typing too: {}", lab.shows());
    lab.types("x");
    assert!(lab.shows().contains("  1 xlet v0"), "the cursor is seen with the next key: {}", lab.shows());
    // Of all cells, the one that failed is shown.
    let mut lab = with_file(&["1", &long, "3"]);
    lab.types("R");
    lab.succeeds(None);
    lab.finishes(Outcome::Error { fault: mixed_devices() }, usage());
    assert!(lab.shows().contains("hint: move one of them"), "{}", lab.shows());
}

#[test]
fn a_printed_tensor_is_as_wide_as_its_pane() {
    let mut lab = Lab::notebook(&["rand([2, 12])"]);
    lab.tell(Msg::Resize(100, 30));
    lab.key(KeyCode::F(5));
    let row = "0.7269, 0.1293, 0.3659, 0.7862, 0.7212, 0.2940, 0.3847, 0.4462, 0.1140";
    let end = "0.4305, 0.5899, 0.8657";
    lab.succeeds(Some(&format!("tensor([[{row},\n         {end}],\n        [{row},\n         {end}]])")));
    let shown = render_to_string(&lab.state, 100, 30);
    let rows: Vec<&str> = shown.lines().filter_map(|line| line.split('┃').nth(1)).collect();
    let rows: Vec<&str> = rows.into_iter().filter(|row| row.contains("0.")).collect();
    assert!(rows[0].contains("= tensor([[0.7269") && rows.len() > 4, "{shown}");
    // All numbers stand below the first one.
    let column = |row: &&str| row.chars().take_while(|c| !c.is_ascii_digit()).count();
    assert!(rows.iter().all(|row| column(row) == column(&rows[0])), "{shown}");
    let numbers = |text: &str| text.matches("0.").count();
    assert_eq!(rows.iter().map(|row| numbers(row)).collect::<Vec<_>>(), [4, 4, 4, 4, 4, 4], "{shown}");
    let wide = render_to_string(&lab.state, 200, 30);
    assert!(wide.contains(row), "as it was printed, where there is room: {wide}");
}
