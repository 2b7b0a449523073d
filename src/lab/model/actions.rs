//! What keys do, and where.

use crate::lab::model::export_kind::What;
use crate::lab::model::state::Pane;

use Context as C;

/// Where a binding holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Context {
    /// Everywhere but in a popup.
    Anywhere,
    /// Everywhere but in a popup or while typing.
    Browse,
    Lesson,
    Cells,
    Machine,
    /// While the machine fills the terminal.
    MachineScreen,
    Home,
    /// While typing a path.
    Prompt,
    /// While typing in a cell.
    Editor,
    /// While typing a prediction.
    Answer,
    /// While names are offered.
    Complete,
    /// In a list that is narrowed by typing.
    Picker,
    /// While typing what to look for.
    Find,
    Help,
    Confirm,
}

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
    Run,
    RunAndGo,
    RunAll,
    RunAbove,
    RunStale,
    RunAnew,
    Verify,
    Interrupt,
    Restart,
    Save,
    Quit,
    Help,
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
    /// The machine alone, or back.
    MachineScreen,
    /// The home screen, or back.
    Home,
    Open,
    OpenPath,
    Continue,
    CommitPath,
    PathBackspace,
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
    /// To the cell that is selected, or beside it.
    Cell(CellAction),
    /// In the machine.
    Machine(MachineAction),
}

/// What a key does to cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CellAction {
    AddAbove,
    AddBelow,
    CutCell,
    CopyCell,
    /// Twice in a row.
    DeleteCell,
    RestoreCell,
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

/// Contexts that hold together; the nearer one may hide nothing of the farther. While names are offered, the keys of
/// the list hide those of the editor.
pub(crate) const TOGETHER: &[&[Context]] = &[
    &[C::Lesson, C::Browse, C::Anywhere],
    &[C::Cells, C::Browse, C::Anywhere],
    &[C::Machine, C::Browse, C::Anywhere],
    &[C::MachineScreen, C::Machine, C::Anywhere],
    &[C::Home],
    &[C::Prompt],
    &[C::Editor, C::Anywhere],
    &[C::Answer, C::Anywhere],
    &[C::Complete, C::Anywhere],
    &[C::Picker],
    &[C::Find],
    &[C::Help],
    &[C::Confirm],
];
