//! Where the learner is in a lesson is recorded, so that it opens there again.

use crate::lab::model::book_change::Keeping;
use crate::lab::model::item::ItemState;
use crate::lab::model::message::Effect;
use crate::lab::model::state::State;
use crate::lesson::Entry;

/// Records the step in which one begins to type, or which is left: for good, or to come again on other devices.
pub(super) fn follow(state: &mut State, fx: &mut Vec<Effect>) {
    if state.lesson.is_none() {
        return;
    }
    let recorded = fx.iter().rev().find_map(|effect| match effect {
        Effect::Record { step, .. } => Some(step.clone()),
        _ => None,
    });
    if recorded.is_some() {
        state.whereabouts = recorded;
        // What a lab that only reads the lesson is told goes nowhere.
        state.unkept |= state.file.read_only.is_some() && state.keeping == Keeping::Nothing;
    }
    let Some(step) = here(state) else { return };
    let leaves = |effect: &Effect| matches!(effect, Effect::Quit | Effect::Open(_) | Effect::UseDevices(_));
    if let Some(goes) = fx.iter().position(leaves) {
        // Who opens a lesson and leaves it again has not begun it.
        if state.step > 0 || state.whereabouts.is_some() {
            fx.insert(goes, Effect::Record { step, entry: Entry::Left });
        }
    } else if state.editing && state.whereabouts.as_ref() != Some(&step) {
        state.whereabouts = Some(step.clone());
        fx.push(Effect::Record { step, entry: Entry::Left });
    }
}

/// The lesson's item that is selected; beside a cell of the learner's own the nearest above it, or else on its page.
fn here(state: &State) -> Option<String> {
    let items = &state.current_step()?.items;
    let of_lesson = |item: &ItemState| match item {
        ItemState::Cell(cell) => cell.step.and(Some(cell.id.clone())),
        other => other.id().map(str::to_owned),
    };
    let above = items.iter().take(state.selected + 1).rev().find_map(of_lesson);
    above.or_else(|| items.iter().find_map(of_lesson))
}
