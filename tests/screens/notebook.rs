//! The notebook screen: what the file keeps, stale cells, running anew, verifying.

use crossterm::event::KeyCode;
use tensorlab::lab::document::{Cell, Item, Step, Stored};
use tensorlab::lab::{
    BookChange, Colour, Confirm, Document, Effect, Keeping, Msg, NotSaved, Popup, render_to_string,
};
use tensorlab::notebook::{Kind, Output};
use tensorlab::session::protocol::{Message, Stream, Usage};

use super::fixture::{Lab, look, ready};

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
        "not verified: 1 of 2 cells give other outputs",
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
