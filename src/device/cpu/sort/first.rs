//! The few first of a line's order, by one walk along it.

use crate::device::cpu::isa::{self, Baseline, Isa, Work};

use super::keys::{SortEntry, Sortable, ordered};

/// So many are kept in order while the rest goes by.
pub(super) const MOST: usize = 64;

/// How many values are looked at together: whether one of them is to be kept at all.
const GLANCE: usize = 32;

/// Puts the first `wanted` entries of a line, in order, into `best`; the line's first value has place `place`. Equal
/// values keep their order.
pub(super) fn first<C: Sortable>(
    line: &[C],
    place: usize,
    wanted: usize,
    descending: bool,
    best: &mut Vec<SortEntry>,
) {
    let (head, mut rest) = line.split_at(wanted.min(line.len()));
    best.clear();
    best.extend(head.iter().enumerate().map(|(i, &value)| (ordered(value, descending).into(), place + i)));
    best.sort_unstable();
    let mut at = place + head.len();
    while let Some(last) = best.last().and_then(|last| C::Key::try_from(last.0).ok())
        && let Some((before, key)) = (Earlier { line: rest, last, descending }).find()
    {
        keep(best, (key.into(), at + before));
        at += before + 1;
        rest = rest.get(before + 1..).unwrap_or(&[]);
    }
}

/// Where the first value is that comes before `last`, and its key. An equal one comes after those before it.
struct Earlier<'a, C: Sortable> {
    line: &'a [C],
    last: C::Key,
    descending: bool,
}

impl<C: Sortable> Earlier<'_, C> {
    fn find(self) -> Option<(usize, C::Key)> {
        if C::IN_VECTORS { isa::dispatch(self) } else { self.run::<Baseline>() }
    }
}

impl<C: Sortable> Work for Earlier<'_, C> {
    type Output = Option<(usize, C::Key)>;

    #[inline(always)]
    fn run<I: Isa>(self) -> Option<(usize, C::Key)> {
        let (whole, _) = self.line.as_chunks::<GLANCE>();
        let mut passed = 0;
        for some in whole {
            let mut least = self.last;
            for &value in some {
                least = least.min(ordered(value, self.descending));
            }
            if least < self.last {
                break;
            }
            passed += GLANCE;
        }
        for (i, &value) in self.line.iter().enumerate().skip(passed) {
            let key = ordered(value, self.descending);
            if key < self.last {
                return Some((i, key));
            }
        }
        None
    }
}

/// Puts an entry where it belongs and drops the last.
fn keep(best: &mut [SortEntry], entry: SortEntry) {
    let to = best.partition_point(|other| other.0 <= entry.0);
    if let Some(moved) = best.get_mut(to..) {
        moved.rotate_right(1);
        if let Some(slot) = moved.first_mut() {
            *slot = entry;
        }
    }
}
