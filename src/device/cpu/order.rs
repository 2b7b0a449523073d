//! The order in which a sum's parts are added, where a device leaves it to chance.

use crate::device::chance::mixed;

/// An order of the numbers below a count: steps of one width, round and round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SumOrder {
    count: usize,
    first: usize,
    step: usize,
}

impl SumOrder {
    /// The order of `count` parts that the number `chance` stands for.
    pub(super) fn of(chance: u64, count: usize) -> SumOrder {
        let below = |n: u64| (n % count.max(1) as u64) as usize;
        let mut step = below(mixed(chance ^ 1));
        while gcd(step, count) > 1 {
            step += 1;
        }
        SumOrder { count, first: below(mixed(chance)), step: step.max(1) }
    }

    /// The part that comes at `place`.
    pub(super) fn at(self, place: usize) -> usize {
        let count = self.count.max(1) as u128;
        ((self.first as u128 + place as u128 * self.step as u128) % count) as usize
    }

    /// All parts, each once.
    pub(super) fn parts(self) -> impl Iterator<Item = usize> {
        let mut next = self.first;
        (0..self.count).map(move |_| {
            let part = next;
            // Both are below the count, which is that of things in memory.
            next += self.step;
            if next >= self.count {
                next -= self.count;
            }
            part
        })
    }
}

fn gcd(mut a: usize, mut b: usize) -> usize {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_part_comes_once() {
        for count in 0..70 {
            for chance in 0..20 {
                let order = SumOrder::of(chance, count);
                let parts: Vec<usize> = order.parts().collect();
                assert_eq!(parts.iter().copied().collect::<BTreeSet<_>>(), (0..count).collect());
                assert_eq!(parts.len(), count);
                let same: Vec<usize> = (0..count).map(|place| order.at(place)).collect();
                assert_eq!(parts, same);
            }
        }
    }

    #[test]
    fn orders_differ() {
        let all: BTreeSet<Vec<usize>> = (0..200).map(|n| SumOrder::of(n, 5).parts().collect()).collect();
        assert_eq!(all.len(), 20, "five beginnings, four steps");
    }
}
