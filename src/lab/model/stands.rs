//! Where cells of the learner's own stand in a lesson.

use crate::lab::model::document::{Beside, Page, Stand};
use crate::lab::model::item::ItemState;
use crate::lab::model::key::Key;
use crate::lab::model::state::State;

impl State {
    /// Where the learner's own cells stand in the lesson, where there is one.
    pub(in crate::lab) fn stands(&self) -> Vec<(Key, Stand)> {
        if self.lesson.is_none() {
            return Vec::new();
        }
        let last = self.steps.len().saturating_sub(1);
        let mut all = Vec::new();
        for (number, step) in self.steps.iter().enumerate() {
            let page = if number == last { Page::Last } else { Page::At(number) };
            let mut above = None;
            for (at, item) in step.items.iter().enumerate() {
                if let ItemState::Cell(cell) = item
                    && cell.own
                {
                    let beside = || {
                        let mut below = step.items.iter().skip(at).filter(|item| !item.is_own());
                        Some(Beside::Above(below.find_map(ItemState::id)?.to_owned()))
                    };
                    let beside = above.map(|id: &str| Beside::Below(id.to_owned())).or_else(beside);
                    all.push((cell.key, Stand { page, beside }));
                }
                above = item.id().or(above);
            }
        }
        all
    }
}
