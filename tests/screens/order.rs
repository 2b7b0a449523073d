//! The order of a quiz's choices.

use crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use tensorlab::lab::Msg;
use tensorlab::lesson::Entry;
use tensorlab::lesson::order::order;

use super::fixture::*;

/// The quiz of the lesson, its choices in the order of a seed.
fn quiz(seed: u64) -> Lab {
    let mut lab = Lab::ready(120, 40);
    lab.state.shuffle(seed);
    lab.key(KeyCode::Char('n'));
    lab.key(KeyCode::F(2));
    lab
}

fn seed_with(first: usize) -> u64 {
    (1..).find(|seed| order(2, "when-itself", *seed)[0] == first).unwrap()
}

#[test]
fn choices_stand_in_the_learners_order_and_are_kept_by_the_files_places() {
    for first in [0, 1] {
        let mut lab = quiz(seed_with(first));
        let shown = lab.shows();
        assert_eq!(shown.contains("1  never"), first == 0, "{shown}");
        assert_eq!(shown.contains("2  never"), first == 1, "{shown}");
        lab.types("1");
        let kept = lab.kept();
        let taken = ("when-itself", &Entry::Quiz { taken: vec![first], right: first == 1 });
        assert_eq!(kept, [taken]);
    }
}

#[test]
fn a_click_takes_the_choice_that_stands_there() {
    let mut lab = quiz(seed_with(1));
    let (row, column) = super::behaviour::find(&lab, 120, 40, "2  never");
    let kind = MouseEventKind::Down(MouseButton::Left);
    lab.tell(Msg::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }));
    assert_eq!(lab.kept(), [("when-itself", &Entry::Quiz { taken: vec![0], right: false })]);
    assert!(lab.shows().contains("It would copy for nothing."), "{}", lab.shows());
}
