//! How far whatever scrolls is scrolled.

use crate::lab::model::machine::Section;
use crate::lab::model::screens::Screen;

/// The first row in sight of whatever scrolls.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Tops {
    pub lesson: usize,
    pub cells: usize,
    /// Of each section of the machine.
    pub(super) sections: [usize; Section::ALL.len()],
    /// Of each screen but those that scroll in panes and sections.
    pub(super) screens: [usize; Screen::ALL.len()],
}

impl Tops {
    pub(crate) fn of(&self, section: Section) -> usize {
        self.sections.get(section as usize).copied().unwrap_or_default()
    }

    pub(crate) fn of_screen(&self, screen: Screen) -> usize {
        self.screens.get(screen as usize).copied().unwrap_or_default()
    }

    pub(crate) fn set_screen(&mut self, screen: Screen, top: usize) {
        if let Some(place) = self.screens.get_mut(screen as usize) {
            *place = top;
        }
    }

    pub(crate) fn set(&mut self, section: Section, top: usize) {
        if let Some(place) = self.sections.get_mut(section as usize) {
            *place = top;
        }
    }
}
