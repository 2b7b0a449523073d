//! The clock that spans are measured with: the processor's counter, where it runs at one rate on all cores.
//!
//! Asking the system for the time takes as long as adding two small tensors, and a launch that somebody listens to
//! asks twice. The counter takes a third of that. Its rate is measured against the system's clock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Nanoseconds since it was made.
pub(crate) struct HostClock {
    started: Instant,
    ticks: u64,
    /// Nanoseconds per tick in units of 2^-32; [`UNKNOWN`] at first, [`NONE`] where the counter is no clock.
    rate: AtomicU64,
}

const UNKNOWN: u64 = 0;
const NONE: u64 = u64::MAX;

/// How long the system's clock is asked before the rate is taken: an error of 100 ns is then 5 millionths.
const SETTLING: Duration = Duration::from_millis(20);

/// How often both clocks are read, for the closest reading of the two.
const READINGS: usize = 5;

impl Default for HostClock {
    fn default() -> HostClock {
        let (ticks, started) = together(Instant::now);
        HostClock { started, ticks, rate: AtomicU64::new(UNKNOWN) }
    }
}

impl HostClock {
    #[inline]
    pub(crate) fn nanos(&self) -> u64 {
        match self.rate.load(Ordering::Relaxed) {
            UNKNOWN => self.settle(),
            NONE => self.asked(),
            rate => self.counted(rate, ticks()),
        }
    }

    #[inline]
    fn counted(&self, rate: u64, now: u64) -> u64 {
        // Cores may be a few ticks apart.
        ((u128::from(now.saturating_sub(self.ticks)) * u128::from(rate)) >> 32) as u64
    }

    fn asked(&self) -> u64 {
        self.started.elapsed().as_nanos() as u64
    }

    #[cold]
    fn settle(&self) -> u64 {
        let elapsed = self.asked();
        if u128::from(elapsed) < SETTLING.as_nanos() {
            return elapsed;
        }
        let rate = if is_clock() { self.measured() } else { None };
        // Another thread may have been first: one rate is kept, so that no time is after a later one.
        let _ =
            self.rate.compare_exchange(UNKNOWN, rate.unwrap_or(NONE), Ordering::Relaxed, Ordering::Relaxed);
        match self.rate.load(Ordering::Relaxed) {
            NONE => self.asked(),
            rate => self.counted(rate, ticks()),
        }
    }

    /// The rate, by the closest of a few readings of both clocks.
    fn measured(&self) -> Option<u64> {
        let (at, elapsed) = together(|| self.asked());
        let passed = at.checked_sub(self.ticks).filter(|&n| n > 0)?;
        u64::try_from((u128::from(elapsed) << 32) / u128::from(passed)).ok().filter(|&r| r != UNKNOWN)
    }
}

/// What the counter says when the system's clock says something: by the closest of a few readings, so that neither is
/// off where the thread is put aside between the two.
fn together<T>(ask: impl Fn() -> T) -> (u64, T) {
    let reading = || {
        let before = ticks();
        let asked = ask();
        let apart = ticks().saturating_sub(before);
        (apart, before + apart / 2, asked)
    };
    let mut closest = reading();
    for _ in 1..READINGS {
        let next = reading();
        if next.0 < closest.0 {
            closest = next;
        }
    }
    (closest.1, closest.2)
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn ticks() -> u64 {
    // SAFETY: every processor of this architecture has the counter.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn ticks() -> u64 {
    0
}

/// Whether the counter runs at one rate whatever the processor does, and the system itself goes by it, which has
/// compared the cores.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn is_clock() -> bool {
    const FREQUENCY: u32 = 0x8000_0007;
    let highest = std::arch::x86_64::__cpuid(0x8000_0000).eax;
    let constant = highest >= FREQUENCY && std::arch::x86_64::__cpuid(FREQUENCY).edx & (1 << 8) != 0;
    let file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    constant && std::fs::read_to_string(file).is_ok_and(|name| name.trim() == "tsc")
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
fn is_clock() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_as_the_systems_clock_does() {
        let (clock, start) = (HostClock::default(), Instant::now());
        let mut last = 0;
        while start.elapsed() < 5 * SETTLING {
            let before = start.elapsed().as_nanos() as u64;
            let now = clock.nanos();
            let after = start.elapsed().as_nanos() as u64;
            assert!(now >= last, "{now} after {last}");
            // It was made a little before `start`; the rate may be wrong by some millionths.
            let slack = 100_000 + after / 10_000;
            assert!(
                now + slack >= before && now <= after + slack,
                "{now} is not within {before} and {after}"
            );
            last = now;
        }
        assert_ne!(clock.rate.load(Ordering::Relaxed), UNKNOWN);
    }

    #[test]
    fn threads_agree() {
        let clock = HostClock::default();
        std::thread::sleep(SETTLING);
        let first = clock.nanos();
        let later = std::thread::scope(|s| s.spawn(|| clock.nanos()).join().unwrap());
        assert!(later >= first);
        assert!(clock.nanos() >= later);
    }
}
