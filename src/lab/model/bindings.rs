//! The table of keys, put together from those of popups and screens.

use crate::lab::model::actions::Action;
use crate::lab::model::binding::{Bar, Binding, row};
use crate::lab::model::context::{ANYWHERE, BROWSE, Context, Together};
use crate::lab::model::keys::{Chord, Keymap};
use crate::lab::model::popups::{self, COMPLETE, CONFIRM, DEVICES, DIFFERENCES, FIND, PICKER, SAVE_AS};
use crate::lab::model::screens::Screen;
use crate::lab::model::screens::work::{self, ANSWER, CELLS, EDITOR};

/// Every key of the lab, the most wanted first in each context.
pub const BINDINGS: &[Binding] = &ROWS;

static ROWS: [Binding; COUNT] = joined();

const COUNT: usize = {
    let mut count = popups::ROWS.len() + work::LAST.len();
    let mut screens = Screen::ALL.as_slice();
    while let Some((screen, rest)) = screens.split_first() {
        count += screen.keys().rows.len() + screen.keys().ways.len();
        screens = rest;
    }
    count
};

/// The key bar and the list of actions have the rows in this order.
const fn joined() -> [Binding; COUNT] {
    let mut all = [row(&CONFIRM, &[], Action::No, Bar::Never, ""); COUNT];
    let mut room = put(&mut all, popups::ROWS);
    let mut screens = Screen::ALL.as_slice();
    while let Some((screen, rest)) = screens.split_first() {
        room = put(room, screen.keys().rows);
        screens = rest;
    }
    screens = Screen::ALL.as_slice();
    while let Some((screen, rest)) = screens.split_first() {
        room = put(room, screen.keys().ways);
        screens = rest;
    }
    put(room, work::LAST);
    all
}

/// Writes rows at the beginning; gives the room behind them.
const fn put<'a>(room: &'a mut [Binding], rows: &[Binding]) -> &'a mut [Binding] {
    let (here, after) = room.split_at_mut(rows.len());
    here.copy_from_slice(rows);
    after
}

/// The contexts that the help lists, in its order.
pub(crate) fn listed() -> impl Iterator<Item = &'static Context> {
    let screens = Screen::ALL.into_iter().flat_map(|screen| screen.keys().contexts).copied();
    screens.chain([&EDITOR, &COMPLETE, &FIND, &PICKER, &ANSWER, &SAVE_AS, &DEVICES, &DIFFERENCES])
}

/// Contexts that hold together; the nearer one may hide nothing of the farther. While names are offered, the keys of
/// the list hide those of the editor.
pub(crate) fn together() -> impl Iterator<Item = Together> {
    let screens = Screen::ALL.into_iter().flat_map(|screen| screen.keys().together).copied();
    screens.chain(popups::TOGETHER)
}

impl Keymap {
    /// Each row of the table with its keys.
    pub fn rows(&self) -> impl Iterator<Item = (&'static Binding, &[Chord])> {
        let rows = BINDINGS.iter().enumerate();
        rows.map(|(row, binding)| (binding, self.set.get(&row).map_or(binding.keys, Vec::as_slice)))
    }

    /// The key that does it, where one works: in the cells, while not typing, anywhere, or else in its own place.
    pub(crate) fn name_of(&self, action: Action) -> String {
        let rows = || self.rows().filter(|(binding, _)| binding.action == action);
        let in_context = |context: &Context| {
            let mut here = rows().filter(|(binding, _)| *binding.context == *context);
            here.find_map(|(binding, keys)| binding.short_name(keys))
        };
        let near = [&CELLS, &BROWSE, &ANYWHERE].into_iter().find_map(in_context);
        let any = || rows().find_map(|(binding, keys)| binding.short_name(keys));
        near.or_else(any).unwrap_or_else(|| "the list of actions".into())
    }

    /// Gives a row other keys.
    pub fn set(&mut self, row: usize, keys: Vec<Chord>) {
        if BINDINGS.get(row).is_some_and(|binding| binding.keys == keys) {
            self.set.remove(&row);
        } else {
            self.set.insert(row, keys);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossterm::event::KeyCode::Char;

    use crate::lab::model::context::ALWAYS;
    use crate::lab::model::keys::Chord;
    use crate::lab::model::screens::home::PROMPT;
    use crate::lab::model::screens::work::{ANSWER, EDITOR};

    #[test]
    fn no_key_means_two_things_at_once() {
        for contexts in together() {
            let mut seen = std::collections::HashMap::new();
            let holds = |context: &'static Context| *context == ALWAYS || contexts.contains(&context);
            for binding in BINDINGS.iter().filter(|b| holds(b.context)) {
                for chord in binding.keys {
                    if let Some(other) = seen.insert(chord.name(), binding.help) {
                        panic!("{} is both {other:?} and {:?} in {contexts:?}", chord.name(), binding.help);
                    }
                }
            }
        }
    }

    #[test]
    fn a_key_is_named_as_it_is_set() {
        let mut keymap = Keymap::default();
        assert_eq!(
            [Action::Restart, Action::Find, Action::Save].map(|a| keymap.name_of(a)),
            ["r", "/", "Ctrl-S"]
        );
        for (row, _) in BINDINGS.iter().enumerate().filter(|(_, binding)| binding.action == Action::Restart) {
            keymap.set(row, vec![crate::lab::model::keys::f(12)]);
        }
        assert_eq!(keymap.name_of(Action::Restart), "F12");
        for (row, _) in BINDINGS.iter().enumerate().filter(|(_, binding)| binding.action == Action::Restart) {
            keymap.set(row, Vec::new());
        }
        assert_eq!(keymap.name_of(Action::Restart), "the list of actions");
    }

    #[test]
    fn typing_keys_stay_free_for_typing() {
        let typed = [&EDITOR, &ANSWER, &PROMPT, &ANYWHERE, &ALWAYS];
        for binding in BINDINGS.iter().filter(|b| typed.contains(&b.context)) {
            for Chord(code, modifiers) in binding.keys {
                assert!(!matches!(code, Char(_)) || !modifiers.is_empty(), "{}", binding.help);
            }
        }
    }
}
