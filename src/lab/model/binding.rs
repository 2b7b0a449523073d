//! A row of the table of keys. It is data: whether it stands in the key bar is asked of the state, which it does not know.

use crossterm::event::{KeyCode, KeyModifiers};

use KeyCode::{Char, Right, Up};

use crate::lab::model::actions::{Action, CellAction, MachineAction as Machine};
use crate::lab::model::context::Context;
use crate::lab::model::keys::{Chord, c, key};
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
    /// There is a file to save to.
    File,
    /// A cell is selected that is the learner's own.
    OwnCell,
    /// A cell was cut or copied.
    Clipboard,
    /// A cell was taken away that can be brought back.
    TakenAway,
    /// A cell is being edited.
    Typing,
    /// The keys are listed, and can be searched.
    KeysHelp,
    /// Something was not saved, and can be.
    Unsaved,
    NextStep,
    PreviousStep,
    /// A cell is selected.
    Cell,
    /// A cell of code is.
    Code,
    /// The selected cell has shown something.
    Output,
    LongOutput,
    /// An open question is selected.
    Quiz,
    /// What is selected can be passed over.
    Skippable,
    /// The document has several steps.
    Steps,
    /// A cell of the lesson is selected that has another text than the lesson's.
    Changed,
    /// Some cell is stale.
    Stale,
    /// Something is picked on the machine.
    Picked,
    /// A lesson has done something by itself.
    LessonWork,
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
    /// How much it is wanted in the key bar, beside others: what weighs most stands first.
    pub weight: u8,
    pub help: &'static str,
}

impl Binding {
    /// With another weight in the key bar.
    pub(crate) const fn weighs(self, weight: u8) -> Binding {
        Binding { weight, ..self }
    }

    /// Its first key, as the key bar has it; `None` where it has none.
    pub(crate) fn short_name(&self, keys: &[Chord]) -> Option<String> {
        let first = keys.first()?;
        Some(match self.action {
            Action::Up if *first == key(Up) => "↑↓".into(),
            Action::Machine(Machine::NextSection) if *first == key(Right) => "←→".into(),
            Action::Machine(Machine::NextEvent) if *first == c('.') => ", .".into(),
            Action::Machine(Machine::ZoomIn) if *first == c('+') => "+ -".into(),
            Action::Machine(Machine::NextCell) if *first == c(']') => "[ ]".into(),
            Action::Cell(CellAction::DeleteCell) if *first == c('d') => "dd".into(),
            _ => first.name(),
        })
    }
}

/// What a row weighs that says nothing of it.
const WEIGHT: u8 = 50;

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
    Binding { context, keys, action, bar, weight: WEIGHT, help }
}
