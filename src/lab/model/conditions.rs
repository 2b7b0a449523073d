//! When rows of the table of keys stand in the key bar.

use crate::lab::model::actions::Action;
use crate::lab::model::answers;
use crate::lab::model::binding::{Bar, Binding, Condition};
use crate::lab::model::item::{CellState, ItemState};
use crate::lab::model::output::SHORT_OUTPUT;
use crate::lab::model::state::{Popup, SessionStatus, State};

/// What a row is called in the key bar now; `None` where it does not stand there.
pub(super) fn label(state: &State, binding: &Binding) -> Option<&'static str> {
    match binding.bar {
        Bar::Never => None,
        Bar::Always(label) => Some(label),
        Bar::When(condition, label) => holds(state, condition).then_some(label),
        Bar::Offered(label) => match binding.action {
            Action::Own(action) => state.held.offers(action).then_some(label),
            _ => Some(label),
        },
        Bar::ByItem => enter_label(state),
        Bar::Answer => match state.popup {
            Some(Popup::Confirm(question)) => answers::word(state, question, binding.action),
            _ => None,
        },
    }
}

fn holds(state: &State, condition: Condition) -> bool {
    match condition {
        Condition::Busy => state.is_busy(),
        Condition::Idle => !state.is_busy() && !is_dead(state),
        Condition::Dead => is_dead(state),
        Condition::Document => state.has_document(),
        Condition::Cells => state.cells().next().is_some(),
        Condition::Unsaved => state.can_save && (state.unsaved() > 0 || state.file.recovered > 0),
        Condition::HasFile => state.can_save,
        Condition::NextStep => state.step + 1 < state.steps.len(),
        Condition::PreviousStep => state.step > 0 && state.steps.len() > 1,
        Condition::Cell => state.selected_cell().is_some(),
        Condition::LongOutput => state.selected_cell().is_some_and(|cell| cell.output.total() > SHORT_OUTPUT),
        Condition::Hint => has_hint(state),
        Condition::Quiz => matches!(state.selected_item(), Some(ItemState::Quiz(quiz)) if !quiz.solved),
        Condition::Prediction => {
            matches!(state.selected_item(), Some(ItemState::Predict(predict)) if predict.is_open())
        }
        Condition::Stale => state.cells().any(|cell| cell.stale.is_some()),
        Condition::Picked => state.machine.pick.is_some(),
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

fn has_hint(state: &State) -> bool {
    let hints = |cell: &CellState| cell.exercise.as_ref().map_or(0, |exercise| exercise.hints.len());
    state.selected_cell().is_some_and(|cell| hints(cell) > cell.hints_shown)
}
