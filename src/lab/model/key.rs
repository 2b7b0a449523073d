//! Names of items.

/// Names an item for as long as the lab runs, wherever it moves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Key(pub(in crate::lab) u64);
