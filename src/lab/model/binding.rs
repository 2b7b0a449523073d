//! A row of the table of keys. It is data: whether it stands in the key bar is asked of the state, which it does not know.

use crossterm::event::{KeyCode, KeyModifiers};

use KeyCode::{Char, Right, Up};

use crate::lab::model::actions::{Action, MachineAction as Machine};
use crate::lab::model::context::Context;
use crate::lab::model::keys::{Chord, c, key, names};
use crate::lab::model::machine::Section;

/// When a binding stands in the key bar.
#[derive(Clone, Copy)]
pub enum Bar {
    Never,
    Always(&'static str),
    When(Condition, &'static str),
    /// Where the screen can do it now.
    Offered(&'static str),
    /// With a label that depends on the item that is selected.
    ByItem,
    /// Where it is an answer to the question that is asked.
    Answer,
}

/// What a row's place in the key bar depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Condition {
    Busy,
    Idle,
    /// The session has ended.
    Dead,
    /// There is a document.
    Document,
    /// It has cells.
    Cells,
    /// Something was not saved, and can be.
    Unsaved,
    /// What is open is a notebook with a file.
    HasFile,
    NextStep,
    PreviousStep,
    /// A cell is selected.
    Cell,
    LongOutput,
    Hint,
    /// An open question is selected.
    Quiz,
    Prediction,
    /// Some cell is stale.
    Stale,
    /// Something is picked on the machine.
    Picked,
    /// The section has the keys.
    Section(Section),
    /// Keys and figures can be turned to each other.
    OtherHelp,
}

/// A row of the table.
#[derive(Clone, Copy)]
pub struct Binding {
    pub context: &'static Context,
    pub keys: &'static [Chord],
    pub action: Action,
    pub bar: Bar,
    pub help: &'static str,
}

impl Binding {
    /// Its first key, as the key bar has it; `None` where it has none.
    pub(crate) fn short_name(&self, keys: &[Chord]) -> Option<String> {
        let first = keys.first()?;
        Some(match self.action {
            Action::Up if *first == key(Up) => "↑↓".into(),
            Action::Machine(Machine::NextSection) if *first == key(Right) => "←→".into(),
            Action::Machine(Machine::NextEvent) if *first == c('.') => ", .".into(),
            Action::Machine(Machine::ZoomIn) if *first == c('+') => "+ -".into(),
            Action::Machine(Machine::NextCell) if *first == c(']') => "[ ]".into(),
            Action::Choose => names(keys),
            _ => first.name(),
        })
    }
}

pub(super) const CTRL_SHIFT: KeyModifiers = KeyModifiers::CONTROL.union(KeyModifiers::SHIFT);

pub(super) const fn shift(code: KeyCode) -> Chord {
    Chord(code, KeyModifiers::SHIFT)
}

pub(super) const fn alt(letter: char) -> Chord {
    Chord(Char(letter), KeyModifiers::ALT)
}

pub(super) const fn row(
    context: &'static Context,
    keys: &'static [Chord],
    action: Action,
    bar: Bar,
    help: &'static str,
) -> Binding {
    Binding { context, keys, action, bar, help }
}
