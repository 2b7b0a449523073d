//! Stable sorts of lists that nobody waits for. The standard library's are compiled anew for each type and each
//! comparison, six kilobytes a time; these share one.

use std::cmp::Ordering;

/// Sorts by a comparison.
pub(crate) fn sort_by<T>(items: &mut [T], mut compare: impl FnMut(&T, &T) -> Ordering) {
    let order = order_of(items.len(), &mut |a, b| match (items.get(a), items.get(b)) {
        (Some(a), Some(b)) => compare(a, b),
        _ => Ordering::Equal,
    });
    rearrange(items, order);
}

/// Sorts by a key.
pub(crate) fn sort_by_key<T, K: Ord>(items: &mut [T], mut key: impl FnMut(&T) -> K) {
    sort_by(items, |a, b| key(a).cmp(&key(b)));
}

/// Sorts from the least on.
pub(crate) fn sort<T: Ord>(items: &mut [T]) {
    sort_by(items, T::cmp);
}

/// Sorts a handful in place, such as dimensions, without memory of its own.
pub(crate) fn sort_few_by_key<T, K: Ord>(items: &mut [T], mut key: impl FnMut(&T) -> K) {
    for end in 1..items.len() {
        let mut at = end;
        while let Some([before, next]) = at.checked_sub(1).and_then(|from| items.get_mut(from..=at)) {
            if key(before) <= key(next) {
                break;
            }
            std::mem::swap(before, next);
            at -= 1;
        }
    }
}

fn order_of(count: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| compare(a, b));
    order
}

/// Brings to each place the item that `order` names there, cycle by cycle.
fn rearrange<T>(items: &mut [T], mut order: Vec<usize>) {
    for start in 0..items.len() {
        let mut at = start;
        while let Some(from) = order.get_mut(at).map(|place| std::mem::replace(place, at)) {
            if from == start || from == at {
                break;
            }
            items.swap(at, from);
            at = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn they_sort_as_the_standard_library_does(keys in prop::collection::vec(0u8..20, 0..60)) {
            let numbered: Vec<(u8, usize)> = keys.iter().copied().zip(0..).collect();
            let mut want = numbered.clone();
            want.sort_by_key(|(key, _)| *key);
            let (mut all, mut few) = (numbered.clone(), numbered.clone());
            sort_by_key(&mut all, |(key, _)| *key);
            sort_few_by_key(&mut few, |(key, _)| *key);
            prop_assert_eq!(&all, &want);
            prop_assert_eq!(&few, &want);
            let mut back = numbered;
            sort_by(&mut back, |(a, _), (b, _)| b.cmp(a));
            want.sort_by(|(a, _), (b, _)| b.cmp(a));
            // Of equals, the first stays first.
            let places = |list: &[(u8, usize)]| list.windows(2).all(|w| w[0].0 > w[1].0 || w[0].1 < w[1].1);
            prop_assert!(places(&back));
            let mut plain = keys.clone();
            sort(&mut plain);
            prop_assert!(plain.is_sorted());
        }
    }
}
