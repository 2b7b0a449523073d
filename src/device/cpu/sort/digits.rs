//! Sorting by the digits of keys, the lowest first: each pass is one walk, and equal digits keep their order.

use super::keys::SortEntry;

/// Fewer entries than this are sorted by comparisons.
const FEW: usize = 64;

/// The bits of a digit: few, whose counts are soon cleared, or many, for fewer passes.
const DIGITS: [u32; 2] = [8, WIDEST];

/// The counts of so wide a digit's values still lie in the first cache.
pub(super) const WIDEST: u32 = 11;

/// Sorts entries that stand in the order of their places by their keys, and equal keys by their places. `spare` is as
/// long, and its content is lost.
pub(super) fn sort(entries: &mut [SortEntry], spare: &mut [SortEntry]) {
    let n = entries.len();
    if n < FEW {
        return entries.sort_unstable();
    }
    let varying = varying(entries);
    let cost = |digit: u32| passes(varying, digit).count() * (3 * n + (1 << digit));
    let digit = DIGITS.into_iter().min_by_key(|digit| cost(*digit)).unwrap_or(WIDEST);
    // What comparisons cost: about two of those units for each of the levels.
    if cost(digit) > 2 * n * n.ilog2() as usize {
        return entries.sort_unstable();
    }
    let mut there = false;
    for shift in passes(varying, digit) {
        if there {
            pass(spare, entries, shift, digit);
        } else {
            pass(entries, spare, shift, digit);
        }
        there = !there;
    }
    if there {
        entries.copy_from_slice(spare);
    }
}

/// Sorts entries into `to`, as [`sort`] does, where one digit tells all keys apart: one walk is less than many merges.
/// Otherwise nothing happens.
pub(super) fn sort_by_one(entries: &[SortEntry], to: &mut [SortEntry]) -> bool {
    let varying = varying(entries);
    let mut shifts = passes(varying, WIDEST);
    let shift = shifts.next().unwrap_or(0);
    let is_one = shifts.next().is_none();
    if is_one {
        pass(entries, to, shift, WIDEST);
    }
    is_one
}

/// The bits in which keys differ.
fn varying(entries: &[SortEntry]) -> u64 {
    let first = entries.first().map_or(0, |entry| entry.0);
    entries.iter().fold(0, |bits, entry| bits | (entry.0 ^ first))
}

/// Where the digits begin that have a varying bit, the lowest first.
pub(super) fn passes(varying: u64, digit: u32) -> impl Iterator<Item = u32> {
    let mut rest = varying;
    std::iter::from_fn(move || {
        let shift = rest.trailing_zeros();
        rest &= u64::MAX.checked_shl(shift + digit).unwrap_or(0);
        (shift < u64::BITS).then_some(shift)
    })
}

/// Moves entries to where the digit at `shift` has them.
fn pass(from: &[SortEntry], to: &mut [SortEntry], shift: u32, digit: u32) {
    let mask = (1usize << digit.min(WIDEST)) - 1;
    let value = |entry: &SortEntry| (entry.0 >> shift) as usize & mask;
    let mut next = [0usize; 1 << WIDEST];
    for entry in from {
        if let Some(count) = next.get_mut(value(entry)) {
            *count += 1;
        }
    }
    let mut total = 0;
    for next in next.iter_mut().take(mask + 1) {
        total += std::mem::replace(next, total);
    }
    for entry in from {
        if let Some(next) = next.get_mut(value(entry))
            && let Some(to) = to.get_mut(*next)
        {
            *to = *entry;
            *next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn entries_are_sorted_by_key_and_place(
            keys in prop::collection::vec(any::<u64>(), 0..3000), mask in any::<u64>(), more in any::<u64>(),
        ) {
            // Masks leave few bits, many, or bits with gaps between them.
            for mask in [u64::MAX, mask, mask & more, 0x7ff, 0xf000_0000_0000_0007, 1 << 63, 0] {
                let mut entries: Vec<SortEntry> = keys.iter().enumerate().map(|(at, key)| (key & mask, at)).collect();
                let mut want = entries.clone();
                want.sort();
                let mut spare = vec![(0, 0); entries.len()];
                if sort_by_one(&entries, &mut spare) {
                    prop_assert_eq!(&spare, &want);
                } else {
                    prop_assert!(entries.len() > 1 && varying(&entries).count_ones() > 1);
                }
                sort(&mut entries, &mut spare);
                prop_assert_eq!(entries, want);
            }
        }
    }
}
