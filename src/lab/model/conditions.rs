//! When rows of the table of keys stand in the key bar.

use crate::lab::model::actions::Action;
use crate::lab::model::answers;
use crate::lab::model::binding::{Bar, Binding, Condition};
use crate::lab::model::item::ItemState;
use crate::lab::model::output::SHORT_OUTPUT;
use crate::lab::model::state::{Popup, SessionStatus, State};
use crate::lab::model::summary;

/// What saving weighs while something is not saved.
const SAVE_SOON: u8 = 88;
/// What the way to the next step weighs once all is done.
const ON: u8 = 98;

/// What a row is called in the key bar now; `None` where it does not stand there.
pub(super) fn label(state: &State, binding: &Binding) -> Option<&'static str> {
    match binding.bar {
        Bar::Never => None,
        Bar::Always(_) if binding.action == Action::Leave && is_done_with(state) => Some("next step"),
        Bar::Always(label) => Some(label),
        Bar::When(Condition::NextStep, _) if state.step + 1 == state.steps.len() => {
            summary::lesson_behind(state).map(|_| "next lesson")
        }
        Bar::When(condition, label) => holds(state, condition).then_some(label),
        Bar::Offered(label) => match binding.action {
            Action::Own(action) => state.held.offers(action).then_some(label),
            _ => Some(label),
        },
        Bar::ByItem if binding.action == Action::Hint => help_label(state),
        Bar::ByItem => enter_label(state),
        Bar::Answer => match state.popup {
            Some(Popup::Confirm(question)) => answers::word(state, question, binding.action),
            _ => None,
        },
    }
}

/// How much a row is wanted in the key bar now.
pub(super) fn weight(state: &State, binding: &Binding) -> u8 {
    match binding.action {
        // What can be lost is to be kept first.
        Action::Save if state.has_unsaved() => SAVE_SOON,
        // Who is done is shown the way on first.
        Action::Leave if is_done_with(state) => ON,
        _ => binding.weight,
    }
}

/// Whether one types in an exercise that passed, and nothing else of the step is asked any more.
pub(super) fn is_done_with(state: &State) -> bool {
    let passed = state.selected_cell().is_some_and(|cell| cell.exercise.is_some() && cell.done);
    let asked =
        || state.steps.get(state.step).is_some_and(|step| step.items.iter().any(ItemState::can_be_skipped));
    state.editing && passed && state.step + 1 < state.steps.len() && !asked()
}

fn holds(state: &State, condition: Condition) -> bool {
    match condition {
        Condition::Busy => state.is_busy(),
        Condition::Idle => !state.is_busy() && !is_dead(state),
        Condition::Dead => is_dead(state),
        Condition::Document => state.has_document(),
        Condition::Cells => state.cells().next().is_some(),
        Condition::File => state.can_save(),
        Condition::OwnCell => state.selected_cell().is_some_and(|cell| cell.own || !state.has_text),
        Condition::Clipboard => state.clipboard.is_some(),
        Condition::TakenAway => state.aid.has_arranged(),
        Condition::Typing => state.editing && state.selected_cell().is_some(),
        Condition::KeysHelp => matches!(state.popup, Some(Popup::Help(_))),
        Condition::Unsaved => state.can_save() && state.has_unsaved(),
        Condition::NextStep => state.step + 1 < state.steps.len(),
        Condition::PreviousStep => state.step > 0 && state.steps.len() > 1,
        Condition::Cell => state.selected_cell().is_some(),
        Condition::Code => state.selected_cell().is_some_and(|cell| !cell.markdown),
        Condition::Output => state.selected_cell().is_some_and(|cell| !cell.output.is_empty()),
        Condition::LongOutput => state.selected_cell().is_some_and(|cell| cell.output.total() > SHORT_OUTPUT),
        Condition::Quiz => matches!(state.selected_item(), Some(ItemState::Quiz(quiz)) if !quiz.solved),
        Condition::Skippable => state.selected_item().is_some_and(ItemState::can_be_skipped),
        Condition::Steps => state.steps.len() > 1,
        Condition::Changed => state.lesson_text().is_some(),
        Condition::Stale => state.cells().any(|cell| cell.stale.is_some()),
        Condition::Picked => state.machine.pick.is_some(),
        Condition::LessonWork => state.history.has_lesson_work(),
        Condition::Section(section) => state.machine.section == section,
        Condition::OtherHelp => matches!(state.popup, Some(Popup::Help(_) | Popup::Glossary(_))),
    }
}

fn is_dead(state: &State) -> bool {
    matches!(state.session.status, SessionStatus::Dead { .. })
}

fn enter_label(state: &State) -> Option<&'static str> {
    match state.selected_item()? {
        ItemState::Cell(_) => Some("edit"),
        ItemState::Predict(predict) => predict.is_open().then_some("answer"),
        ItemState::Quiz(quiz) => (quiz.question.takes_several() && !quiz.solved).then_some("commit"),
        ItemState::Text(_) => None,
    }
}

/// What help there is left for the selected exercise.
fn help_label(state: &State) -> Option<&'static str> {
    let cell = state.selected_cell().filter(|cell| !cell.solution_shown)?;
    let hints = cell.exercise.as_ref()?.hints.len();
    Some(if cell.hints_shown < hints { "hint" } else { "solution" })
}
