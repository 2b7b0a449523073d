//! Searching the list of keys.

use crate::lab::model::actions::Choice;
use crate::lab::model::state::{Popup, State};

/// Characters of what is looked for.
const MAX_TEXT: usize = 40;

/// What is typed next is looked for.
pub(super) fn begin(state: &mut State) {
    match state.popup {
        Some(Popup::Help(_)) => {
            state.aid.keys_search.typing = true;
            state.popup = Some(Popup::Help(0));
        }
        Some(Popup::Glossary(_)) => state.say("the list of keys can be searched: Tab shows it"),
        _ => state.say("only the list of keys can be searched"),
    }
}

/// A character typed into the search.
pub(super) fn typed(state: &mut State, c: char) {
    let search = &mut state.aid.keys_search;
    if search.typing && search.text.chars().count() < MAX_TEXT {
        search.text.push(c);
        state.popup = Some(Popup::Help(0));
    }
}

pub(super) fn choice(state: &mut State, choice: Choice) {
    let search = &mut state.aid.keys_search;
    match choice {
        Choice::Erase => {
            search.text.pop();
        }
        Choice::EraseAll => search.text.clear(),
        Choice::Close => (search.text, search.typing) = (String::new(), false),
        Choice::Accept => search.typing = false,
        Choice::Next | Choice::Previous | Choice::PageNext | Choice::PagePrevious => return,
    }
    state.popup = Some(Popup::Help(0));
}
