//! Letters that are no key: what is said of them, so that none is pressed in vain.

use crate::lab::model::actions::Action;
use crate::lab::model::active_keys::{contexts, keys_for};
use crate::lab::model::answers;
use crate::lab::model::context::Context;
use crate::lab::model::keys;
use crate::lab::model::state::{Confirm, State};
use crate::lab::model::text;

/// Says that the letter does nothing here, and what its other case does.
pub(super) fn key(state: &mut State, c: char) {
    if !text::printable(c) || c == ' ' {
        return;
    }
    let other = if c.is_uppercase() { c.to_lowercase().next() } else { c.to_uppercase().next() };
    let other = other.filter(|other| *other != c).and_then(|other| {
        let chord = keys::c(other);
        let here = |context: &&'static Context| {
            let mut rows = state.keymap.rows().filter(|(binding, _)| binding.context == *context);
            rows.find(|(_, keys)| keys.contains(&chord)).map(|(binding, _)| binding.help)
        };
        contexts(state).iter().find_map(here).map(|help| format!("; {other} is: {help}"))
    });
    let help = keys_for(state, Action::Help);
    state.say(format!("{c} does nothing here{}; {help} lists the keys", other.unwrap_or_default()));
}

/// Says which answers there are.
pub(super) fn answer(state: &mut State, question: Confirm, c: char) {
    if !text::printable(c) {
        return;
    }
    let told = answers::answers(state, question).iter().map(|(action, word)| {
        let key = state.keymap.rows().filter(|(binding, _)| binding.action == *action);
        let key = key.filter(|(binding, _)| contexts(state).contains(&binding.context));
        let key = key.filter_map(|(binding, keys)| binding.short_name(keys)).next();
        format!("{}: {word}", key.unwrap_or_default())
    });
    let told = told.collect::<Vec<_>>().join(", ");
    state.say(format!("{c} is no answer; {told}"));
}
