//! A notebook of another language.

use crossterm::event::KeyCode;
use tensorlab::lab::{Document, Msg};
use tensorlab::session::protocol::Request;

use super::fixture::*;

fn evaluations(lab: &Lab) -> Vec<&str> {
    lab.sent
        .iter()
        .filter_map(|request| match request {
            Request::Evaluate { code, .. } => Some(code.as_str()),
            _ => None,
        })
        .collect()
}

#[test]
fn cells_of_another_language_are_read_and_what_is_written_beside_them_runs() {
    let mut lab = Lab::notebook(&["import torch\ntorch.ones(3)", "print('x')"]);
    lab.state.speaks("python");
    lab.key(KeyCode::F(5));
    let shown = lab.shows();
    assert!(shown.contains("this is python, to be read here"), "{shown}");
    lab.key(KeyCode::Char('R'));
    assert!(evaluations(&lab).is_empty() && lab.shows().contains("this is python"), "{:?}", lab.sent);
    // A cell of one's own runs, and one that was written anew in its place.
    lab.types("b");
    if !lab.state.is_editing() {
        lab.key(KeyCode::Enter);
    }
    lab.types("ones(3)");
    lab.key(KeyCode::F(5));
    assert_eq!(evaluations(&lab), ["ones(3)"]);
    lab.succeeds(None);
    lab.key(KeyCode::Esc);
    lab.key(KeyCode::Down);
    lab.key(KeyCode::Enter);
    lab.types("1; ");
    lab.key(KeyCode::F(5));
    assert_eq!(evaluations(&lab).len(), 2, "{:?}", lab.sent);
}

#[test]
fn a_notebook_of_another_language_stays_one_when_it_is_read_again() {
    let python = ["import torch\ntorch.ones(3)", "print('x')"];
    let mut lab = Lab::notebook(&python);
    lab.state.speaks("python");
    lab.types("b");
    if !lab.state.is_editing() {
        lab.key(KeyCode::Enter);
    }
    lab.types("ones(3)");
    lab.key(KeyCode::Esc);
    let file = ["import torch\ntorch.ones(4)", "ones(3)", "print('x')", "print('new')"];
    lab.tell(Msg::Reloaded(Document::notebook("scratch", file.map(str::to_owned))));
    lab.key(KeyCode::Char('R'));
    let shown = lab.shows();
    assert!(shown.contains("this is python, to be read here"), "{shown}");
    assert_eq!(evaluations(&lab), ["ones(3)"], "what was written here runs");
}
