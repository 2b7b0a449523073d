//! How far whatever scrolls is scrolled.

/// The first row in sight of whatever scrolls.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tops {
    pub lesson: usize,
    pub cells: usize,
    pub tensors: usize,
    pub transfers: usize,
    pub memory: usize,
    /// Lanes of the timeline.
    pub timeline: usize,
    pub home: usize,
}
