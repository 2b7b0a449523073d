//! How far whatever scrolls is scrolled.

use crate::lab::model::machine::Section;

/// The first row in sight of whatever scrolls.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Tops {
    pub lesson: usize,
    pub cells: usize,
    /// Of each section of the machine.
    pub(super) sections: [usize; Section::ALL.len()],
    pub home: usize,
}

impl Tops {
    pub(crate) fn of(&self, section: Section) -> usize {
        self.sections.get(section as usize).copied().unwrap_or_default()
    }

    pub(crate) fn set(&mut self, section: Section, top: usize) {
        if let Some(place) = self.sections.get_mut(section as usize) {
            *place = top;
        }
    }
}
