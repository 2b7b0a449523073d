//! The few first of a line's order, by one walk along it.

use crate::device::cpu::isa::{self, Isa, Work};

use super::keys::{SortEntry, Sortable};

/// So many are kept in order while the rest goes by.
pub(super) const MOST: usize = 64;

/// How many values are looked at together: whether one of them is to be kept at all. So many fill a vector register.
const GLANCE: usize = 16;

/// Puts the first `wanted` entries of a line, in order, into `best`; the line's first value has place `place`. Equal
/// values keep their order.
pub(super) fn first<C: Sortable>(
    line: &[C],
    place: usize,
    wanted: usize,
    descending: bool,
    best: &mut Vec<SortEntry>,
) {
    best.clear();
    isa::dispatch(First { line, place, wanted, descending, best });
}

struct First<'a, C> {
    line: &'a [C],
    place: usize,
    wanted: usize,
    descending: bool,
    best: &'a mut Vec<SortEntry>,
}

impl<C: Sortable> Work for First<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let descending = self.descending;
        let key = move |value: C| {
            let key = value.key();
            if descending { !key } else { key }
        };
        let (head, rest) = self.line.split_at(self.wanted.min(self.line.len()));
        self.best.extend(head.iter().enumerate().map(|(i, &value)| (key(value).into(), self.place + i)));
        self.best.sort_unstable();
        let Some(mut last) = head.iter().map(|&value| key(value)).max() else { return };
        let mut at = self.place + head.len();
        let (whole, rest) = rest.as_chunks::<GLANCE>();
        let mut look = |some: &[C], at: usize| {
            for (i, &value) in some.iter().enumerate() {
                let key = key(value);
                // An equal one comes after those that were before it.
                if key < last {
                    last = keep::<C>(self.best, (key.into(), at + i)).unwrap_or(last);
                }
            }
            last
        };
        let mut limit = look(&[], at);
        for some in whole {
            if some.iter().fold(false, |any, &value| any | (key(value) < limit)) {
                limit = look(some, at);
            }
            at += GLANCE;
        }
        look(rest, at);
    }
}

/// Puts an entry where it belongs and drops the last; gives the key that is the last now.
#[inline(never)]
fn keep<C: Sortable>(best: &mut [SortEntry], entry: SortEntry) -> Option<C::Key> {
    let to = best.partition_point(|other| other.0 <= entry.0);
    let moved = best.get_mut(to..)?;
    moved.rotate_right(1);
    *moved.first_mut()? = entry;
    best.last().and_then(|last| C::Key::try_from(last.0).ok())
}
