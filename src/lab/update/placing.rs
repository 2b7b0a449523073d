//! Going on with other devices, without leaving the lab.

use crate::lab::model::actions::Choice;
use crate::lab::model::message::Effect;
use crate::lab::model::state::{Popup, State};
use crate::lab::model::text;
use crate::lab::update::restarting;

/// Asks which devices.
pub(super) fn ask(state: &mut State) {
    state.aid.devices.clear();
    state.popup = Some(Popup::Devices);
}

/// A key while the devices are typed.
pub(super) fn choice(state: &mut State, choice: Choice, fx: &mut Vec<Effect>) {
    match choice {
        Choice::Accept => accept(state, fx),
        Choice::Erase => {
            state.aid.devices.pop();
        }
        Choice::EraseAll => state.aid.devices.clear(),
        Choice::Close => state.popup = None,
        Choice::Next | Choice::Previous | Choice::PageNext | Choice::PagePrevious => {}
    }
}

fn accept(state: &mut State, fx: &mut Vec<Effect>) {
    match state.aid.devices.trim() {
        "" => state.say("type devices, such as cpu or sim:t4x2"),
        devices => fx.push(Effect::UseDevices(devices.to_owned())),
    }
}

/// There can be a session on them: the one that there was ends.
pub(super) fn placed(state: &mut State, is_reopened: bool, fx: &mut Vec<Effect>) {
    state.popup = None;
    let devices = state.aid.devices.trim();
    let said = match state.has_document() {
        true if state.chooses_for_lesson() => {
            format!("this lesson has a new session on {devices}; other lessons have their own devices")
        }
        true => format!("a new session on {devices}"),
        false => format!("what you open from now on runs on {devices}"),
    };
    if !is_reopened && state.has_document() {
        restarting::restart(state, fx);
    }
    state.say(text::clean_line(&said));
}

/// There can be none. What was typed stays, to be mended.
pub(super) fn not_placed(state: &mut State, reason: &str) {
    state.say(text::clean_line(reason));
}
