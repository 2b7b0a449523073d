//! Addresses of host memory beside simulated GPUs: made up as theirs are, so that the same program prints the same ones.
//!
//! The script's thread takes its own one after the other. How far a loader's workers get meanwhile depends on the
//! computer, so each takes addresses of a stretch of its own.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Where the script's own addresses begin: above those of simulated devices.
const BASE: u64 = 1 << 48;

/// Bytes of a stretch: more than a program takes in its life.
const STRETCH: u64 = 1 << 52;

/// Addresses start at multiples of this.
const ALIGNMENT: u64 = 64;

/// Hands out addresses.
#[derive(Debug)]
pub(crate) struct HostAddresses {
    made_up: AtomicBool,
    script: AtomicU64,
    stretches: Mutex<Vec<Stretch>>,
}

/// The next address of a worker.
pub(crate) type Stretch = Arc<AtomicU64>;

impl Default for HostAddresses {
    fn default() -> HostAddresses {
        HostAddresses {
            made_up: AtomicBool::new(false),
            script: AtomicU64::new(BASE),
            stretches: Mutex::default(),
        }
    }
}

thread_local! {
    static OWN: RefCell<Option<Stretch>> = const { RefCell::new(None) };
}

impl HostAddresses {
    /// From now on addresses are made up.
    pub(crate) fn make_up(&self) {
        self.made_up.store(true, Ordering::Relaxed);
    }

    /// The address of so many bytes of host memory that lie at `real`.
    #[inline]
    pub(crate) fn of(&self, real: u64, bytes: usize) -> u64 {
        if real == 0 || !self.made_up.load(Ordering::Relaxed) {
            return real;
        }
        let step = (bytes as u64).div_ceil(ALIGNMENT).max(1).saturating_mul(ALIGNMENT);
        OWN.with_borrow(|own| own.as_deref().unwrap_or(&self.script).fetch_add(step, Ordering::Relaxed))
    }

    /// A stretch that no worker has, for one that is to start; its addresses go on where an earlier worker's ended.
    pub(crate) fn stretch(&self) -> Stretch {
        let mut all = self.stretches.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(free) = all.iter().find(|stretch| Arc::strong_count(stretch) == 1) {
            return Arc::clone(free);
        }
        let first = (all.len() as u64).saturating_add(1).saturating_mul(STRETCH);
        let new = Stretch::new(AtomicU64::new(first));
        all.push(Arc::clone(&new));
        new
    }
}

/// From now on this thread takes addresses of a stretch.
pub(crate) fn take_from(stretch: Stretch) {
    OWN.set(Some(stretch));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_depend_on_what_a_thread_took_alone() {
        let addresses = HostAddresses::default();
        assert_eq!(addresses.of(0x1234, 10), 0x1234);
        addresses.make_up();
        assert_eq!((addresses.of(0, 0), addresses.of(7, 65), addresses.of(7, 1)), (0, BASE, BASE + 128));
        let (one, two) = (addresses.stretch(), addresses.stretch());
        std::thread::scope(|scope| {
            let work = |(stretch, first): (Stretch, u64)| {
                let addresses = &addresses;
                scope.spawn(move || {
                    take_from(stretch);
                    assert_eq!((addresses.of(7, 1), addresses.of(7, 1)), (first, first + 64));
                })
            };
            let workers = [(one, STRETCH), (two, 2 * STRETCH)].map(work);
            // The end of a scope waits for what threads run, and not for what they own to be dropped.
            workers.into_iter().for_each(|worker| worker.join().unwrap());
        });
        assert_eq!(addresses.stretch().load(Ordering::Relaxed), STRETCH + 128, "goes on");
        assert_eq!(addresses.of(7, 1), BASE + 192);
    }
}
