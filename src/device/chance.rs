//! What hardware leaves to chance: the order in which the atomics of a simulated GPU add.
//!
//! It has a generator of its own, so that no draw of a script's depends on it: a number for each launch, made of a seed,
//! the device and how many the device has drawn before.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard};

/// Where a session's chance stands.
#[derive(Debug, Default)]
pub(crate) struct Chance(Mutex<ChanceState>);

/// A seed, and how often each device has drawn, by ordinal.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChanceState {
    seed: u64,
    /// Whoever begins anew gets another seed.
    varies: bool,
    drawn: Vec<u64>,
}

impl Chance {
    /// From now on everything repeats that is done with the same seed.
    pub(crate) fn fix(&self, seed: u64) {
        *self.lock() = ChanceState { seed, varies: false, drawn: Vec::new() };
    }

    /// From now on nothing repeats.
    pub(crate) fn vary(&self) {
        let seed = RandomState::new().hash_one("order");
        *self.lock() = ChanceState { seed, varies: true, drawn: Vec::new() };
    }

    /// Begins anew: with the same seed where it is fixed.
    pub(crate) fn restart(&self) {
        let ChanceState { seed, varies, .. } = self.state();
        if varies { self.vary() } else { self.fix(seed) }
    }

    /// The next number of a device.
    pub(crate) fn draw(&self, device: usize) -> u64 {
        let mut state = self.lock();
        if state.drawn.len() <= device {
            state.drawn.resize(device + 1, 0);
        }
        let seed = state.seed;
        let Some(drawn) = state.drawn.get_mut(device) else { return seed };
        *drawn = drawn.wrapping_add(1);
        mixed(mixed(seed ^ mixed(device as u64)).wrapping_add(*drawn))
    }

    pub(crate) fn state(&self) -> ChanceState {
        self.lock().clone()
    }

    pub(crate) fn set_state(&self, state: &ChanceState) {
        *self.lock() = state.clone();
    }

    fn lock(&self) -> MutexGuard<'_, ChanceState> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// SplitMix64's step: neighbouring numbers become unrelated ones.
pub(crate) fn mixed(n: u64) -> u64 {
    let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(chance: &Chance, device: usize) -> Vec<u64> {
        (0..8).map(|_| chance.draw(device)).collect()
    }

    #[test]
    fn a_seed_repeats_and_devices_differ() {
        let chance = Chance::default();
        let (first, other) = (draws(&chance, 0), draws(&chance, 1));
        assert!(first.iter().all(|n| !other.contains(n)));
        assert_ne!(draws(&chance, 0), first, "what was drawn does not come again");
        chance.restart();
        assert_eq!(draws(&chance, 1), other, "whatever other devices draw");
        chance.fix(7);
        let seven = draws(&chance, 0);
        assert_ne!(seven, first);
        chance.fix(7);
        assert_eq!(draws(&chance, 0), seven);
    }

    #[test]
    fn without_a_seed_nothing_repeats() {
        let chance = Chance::default();
        chance.vary();
        let first = draws(&chance, 0);
        chance.restart();
        assert_ne!(draws(&chance, 0), first);
        chance.vary();
        assert_ne!(draws(&chance, 0), first);
    }

    #[test]
    fn a_state_is_gone_back_to() {
        let chance = Chance::default();
        draws(&chance, 2);
        let kept = chance.state();
        let next = draws(&chance, 2);
        chance.set_state(&kept);
        assert_eq!(draws(&chance, 2), next);
    }
}
