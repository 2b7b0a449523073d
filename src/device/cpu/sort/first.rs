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
    best.clear();
    let mut last = limit(line, wanted, descending);
    let mut at = 0;
    while best.len() < wanted
        && let Some((before, key)) =
            (NotAfter { line: line.get(at..).unwrap_or(&[]), last, descending }).find()
    {
        best.push((key.into(), place + at + before));
        at += before + 1;
    }
    best.sort_unstable();
    // An equal one comes after those before it, so what is still to be kept comes before the last.
    while let Some(before_last) = best.last().and_then(|kept| kept.0.checked_sub(1))
        && let Ok(key) = C::Key::try_from(before_last)
    {
        last = key;
        let rest = NotAfter { line: line.get(at..).unwrap_or(&[]), last, descending };
        let Some((before, key)) = rest.find() else { return };
        keep(best, (key.into(), place + at + before));
        at += before + 1;
    }
}

/// A key that at least `wanted` of the line's keys, if it has as many, do not come after: the line is dealt out to groups,
/// and the first of each group are looked at. Few others come before it.
fn limit<C: Sortable>(line: &[C], wanted: usize, descending: bool) -> C::Key {
    if wanted <= GLANCE / 2 {
        in_vectors::<C, _>(GroupFirsts::<C, GLANCE> { line, wanted, descending })
    } else {
        in_vectors::<C, _>(GroupFirsts::<C, { 2 * MOST }> { line, wanted, descending })
    }
}

fn in_vectors<C: Sortable, W: Work>(work: W) -> W::Output {
    if C::IN_VECTORS { isa::dispatch(work) } else { work.run::<Baseline>() }
}

/// The `wanted`-th of the firsts of `N` groups.
struct GroupFirsts<'a, C: Sortable, const N: usize> {
    line: &'a [C],
    wanted: usize,
    descending: bool,
}

impl<C: Sortable, const N: usize> Work for GroupFirsts<'_, C, N> {
    type Output = C::Key;

    #[inline(always)]
    fn run<I: Isa>(self) -> C::Key {
        let mut firsts = [C::AFTER_ALL; N];
        for some in self.line.as_chunks::<N>().0 {
            for (first, &value) in firsts.iter_mut().zip(some) {
                *first = (*first).min(ordered(value, self.descending));
            }
        }
        let wanted = self.wanted.saturating_sub(1).min(N - 1);
        *firsts.select_nth_unstable(wanted).1
    }
}

/// Where the first value is that does not come after `last`, and its key.
struct NotAfter<'a, C: Sortable> {
    line: &'a [C],
    last: C::Key,
    descending: bool,
}

impl<C: Sortable> NotAfter<'_, C> {
    fn find(self) -> Option<(usize, C::Key)> {
        in_vectors::<C, _>(self)
    }
}

impl<C: Sortable> Work for NotAfter<'_, C> {
    type Output = Option<(usize, C::Key)>;

    #[inline(always)]
    fn run<I: Isa>(self) -> Option<(usize, C::Key)> {
        let (whole, _) = self.line.as_chunks::<GLANCE>();
        let mut passed = 0;
        for some in whole {
            let mut any = false;
            for &value in some {
                any |= ordered(value, self.descending) <= self.last;
            }
            if any {
                break;
            }
            passed += GLANCE;
        }
        for (i, &value) in self.line.iter().enumerate().skip(passed) {
            let key = ordered(value, self.descending);
            if key <= self.last {
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
