//! The answers to a question, with their words.

use crate::lab::model::actions::Action;
use crate::lab::model::state::{Confirm, State};

/// An answer, and what it is called in the dialog.
pub(crate) type Answer = (Action, &'static str);

/// The answers to a question. The first one is Enter's: it loses nothing.
pub(crate) fn answers(state: &State, question: Confirm) -> &'static [Answer] {
    use Action::{Differences, No, SaveAs, SaveFirst, Yes};
    let unsaved = state.has_unsaved() || state.unkept;
    let kept = state.can_save() && state.file.read_only.is_none();
    // Without its journal it can be saved, and waits nowhere.
    let lost = kept && state.file.unjournaled;
    match question {
        Confirm::Quit if unsaved && lost => {
            &[(SaveFirst, "save and quit"), (Yes, "quit, and lose what is not saved"), (No, "stay")]
        }
        Confirm::Quit if unsaved && kept => {
            &[(SaveFirst, "save and quit"), (Yes, "quit; what is not saved waits"), (No, "stay")]
        }
        Confirm::Quit if unsaved && state.can_save() => {
            &[(No, "stay"), (SaveAs, "save under another name"), (Yes, "quit, and lose what is not saved")]
        }
        Confirm::Quit if unsaved => &[(No, "stay"), (Yes, "quit, and lose what is not saved")],
        Confirm::Quit => &[(No, "stay"), (Yes, "quit")],
        Confirm::Open if unsaved && lost => {
            &[(SaveFirst, "save and open it"), (Yes, "open it, and lose what is not saved"), (No, "stay")]
        }
        Confirm::Open if unsaved && kept => {
            &[(SaveFirst, "save and open it"), (Yes, "open it; what is not saved waits"), (No, "stay")]
        }
        Confirm::Open if unsaved && state.can_save() => {
            &[(No, "stay"), (SaveAs, "save under another name"), (Yes, "open it, and lose what is not saved")]
        }
        Confirm::Open if unsaved => &[(No, "stay"), (Yes, "open it, and lose what is not saved")],
        Confirm::Open => &[(No, "stay"), (Yes, "open it")],
        Confirm::RunAnew => &[(No, "keep the variables"), (Yes, "restart and run all")],
        Confirm::Verify => &[(No, "keep the variables"), (Yes, "restart, run all and compare")],
        Confirm::Restart | Confirm::RestartStuck => &[(No, "keep the session"), (Yes, "restart")],
        Confirm::Overwrite => {
            &[(No, "leave the file as it is"), (Differences, "show the differences"), (Yes, "write over it")]
        }
        Confirm::Replace => &[(No, "choose another name"), (Yes, "replace that file")],
    }
}

/// What Enter does.
pub(crate) fn harmless(state: &State, question: Confirm) -> Action {
    answers(state, question).first().map_or(Action::No, |(action, _)| *action)
}

/// What an action is called as an answer, where it is one.
pub(crate) fn word(state: &State, question: Confirm, action: Action) -> Option<&'static str> {
    answers(state, question).iter().find(|(answer, _)| *answer == action).map(|(_, word)| *word)
}
