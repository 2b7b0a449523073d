//! What keys do.

use crate::lab::model::export_kind::What;
use crate::lab::model::pane::Pane;

/// What a key does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    Show(Pane),
    NextPane,
    PreviousPane,
    Maximise,
    Wider,
    Narrower,
    NextStep,
    PreviousStep,
    /// The list of the lesson's steps.
    Steps,
    /// The lesson's text in the selected cell again.
    LessonText,
    Run,
    RunAndGo,
    RunAll,
    RunAbove,
    RunStale,
    RunAnew,
    Verify,
    Interrupt,
    Restart,
    /// On other devices, which are asked for.
    OtherDevices,
    Save,
    /// Under another name.
    SaveAs,
    /// Save, and then do what was asked for.
    SaveFirst,
    /// How the file differs from what is here.
    Differences,
    /// Take the file's cells.
    Reload,
    Quit,
    /// All of the screen, whatever stands on it.
    Redraw,
    Help,
    /// All that was said.
    Messages,
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    Enter,
    Hint,
    Skip,
    Choose,
    /// A file of what happened.
    Export(What),
    OtherHelp,
    Leave,
    Commit,
    Edit(Edit),
    Complete,
    Doc,
    Find,
    Palette,
    Past,
    Python,
    Choice(Choice),
    Yes,
    No,
    /// The answer that loses nothing.
    Harmless,
    /// To the cell that is selected, or beside it.
    Cell(CellAction),
    /// In the machine.
    Machine(MachineAction),
    /// On one screen, or to go there.
    Own(OwnAction),
}

impl Action {
    /// Whether it only goes somewhere, or needs the key that is pressed.
    pub(crate) fn is_movement(self) -> bool {
        use Action::{Choose, Down, First, Last, PageDown, PageUp, Up};
        matches!(self, Choose | Up | Down | PageUp | PageDown | First | Last)
    }
}

/// What a screen alone knows how to do, by its name in the learner's file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OwnAction(pub(crate) &'static str);

/// What a key does to cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CellAction {
    AddAbove,
    AddBelow,
    CutCell,
    CopyCell,
    CopyOutput,
    /// Twice in a row.
    DeleteCell,
    /// What was done to whole cells last.
    UndoCells,
    MoveUp,
    MoveDown,
    /// At the cursor.
    Split,
    /// With the one below.
    Merge,
    Markdown,
    Code,
    PasteCell,
    WholeOutput,
}

/// What a key does in the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MachineAction {
    NextSection,
    PreviousSection,
    Scale,
    Sort,
    GoToLine,
    /// Those that the line at the cursor caused.
    EventsOfLine,
    Unpick,
    NextEvent,
    PreviousEvent,
    ZoomIn,
    ZoomOut,
    PanRight,
    PanLeft,
    Fit,
    FitAll,
    NextCell,
    PreviousCell,
    /// What a lesson did by itself, or the learner's work again.
    Lesson,
}

/// A movement in a list, and what is done with what is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    Next,
    Previous,
    PageNext,
    PagePrevious,
    Accept,
    Erase,
    EraseAll,
    Close,
}

/// A change or a movement within a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edit {
    Newline,
    /// Indents, or completes the name before the cursor.
    Tab,
    /// Indents less, or tells of the name at the cursor.
    BackTab,
    Comment,
    Cut,
    Copy,
    Paste,
    SelectAll,
    Extend(Way),
    Backspace,
    Delete,
    DeleteToEnd,
    DeleteWord,
    /// Begins an answer anew.
    DeleteAll,
    Go(Way),
    Undo,
    Redo,
}

/// Where the cursor goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    Left,
    Right,
    WordLeft,
    WordRight,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    TextStart,
    TextEnd,
}
