//! What was done at steps that a later version of their pack has changed.

use std::collections::BTreeMap;

use crate::lesson::progress::{Entry, Key, Record};

use super::manifest::Manifest;
use super::version::Version;

/// Steps with the last version that changed them.
#[derive(Debug, Default)]
pub struct Outdated(BTreeMap<Key, Version>);

impl Outdated {
    /// The steps that these packs invalidate.
    pub fn of(packs: impl IntoIterator<Item = Manifest>) -> Outdated {
        let mut steps: BTreeMap<Key, Version> = BTreeMap::new();
        for pack in packs {
            for one in pack.invalidates {
                let key = Key { pack: pack.id.to_string(), lesson: one.lesson, step: one.step };
                let last = steps.entry(key).or_insert(one.version);
                *last = one.version.max(*last);
            }
        }
        Outdated(steps)
    }

    /// Whether a record says something of the step as it is now, whenever it was written: a lab that was open during an
    /// update goes on with the version before. To begin a step anew counts always.
    pub fn counts(&self, record: &Record) -> bool {
        let Some(changed) = self.0.get(&record.key) else { return true };
        record.entry == Entry::Reset
            || record.version.parse().is_ok_and(|version: Version| version >= *changed)
    }
}
