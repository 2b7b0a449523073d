//! The panes of what is open.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pane {
    Lesson,
    Cells,
    Machine,
}
