//! What kernels cost on the cores of a modelled host, and who has the cores.

use std::cmp::Reverse;

use crate::device::kernel::KernelClass;

use super::calendar::Calendar;
use super::cost::{Work, nanos};
use super::host::HostProfile;

/// The nanoseconds of a kernel that has so many cores to itself: its dispatch, then the longer of arithmetic and
/// traffic, on one core where that is sooner done than on all.
///
/// As in `cost`, only exact operations on `f64`, so that every machine gets the same number.
pub(super) fn cpu_kernel(host: &HostProfile, work: &Work, cores: u32) -> u64 {
    let cpu = &host.cpu;
    let (part, arithmetic) = (cpu.efficiency_of(work.class), cpu.arithmetic_of(work.class));
    let body = |cores: u32| {
        let n = f64::from(cores);
        let bandwidth = match work.bytes <= cpu.cache {
            true => cpu.cache_bandwidth * n,
            false if cpu.bandwidth_core * n < cpu.bandwidth => cpu.bandwidth_core * n,
            false => cpu.bandwidth,
        };
        let compute = nanos(work.flops as f64, cpu.peak.of(work.rate) * arithmetic * n);
        compute.max(nanos(work.bytes as f64, bandwidth * part))
    };
    let alone = body(1);
    // The host's generator gives one number after another.
    let body = if cores > 1 && work.class != KernelClass::Random {
        alone.min(body(cores).saturating_add(cpu.spread))
    } else {
        alone
    };
    cpu.dispatch_of(work.class).saturating_add(body)
}

/// The host's cores. While the script's thread is alone it has them all, and nothing is booked.
#[derive(Clone, Debug)]
pub(super) struct Cores {
    lanes: Vec<Calendar>,
    /// Workers that compete with the script's thread.
    crowd: u32,
}

impl Cores {
    pub(super) fn new(count: u32) -> Cores {
        Cores { lanes: (0..count.max(1)).map(|_| Calendar::default()).collect(), crowd: 0 }
    }

    pub(super) fn crowd(&mut self, workers: i32) {
        self.crowd = self.crowd.saturating_add_signed(workers);
    }

    /// The script's thread works for `nanos` from `now` on, on one core. Gives the end.
    pub(super) fn work(&mut self, now: u64, nanos: u64) -> u64 {
        if self.crowd == 0 { now.saturating_add(nanos) } else { self.book(now, nanos).1 }
    }

    /// The script's thread runs a kernel that takes `cost` on so many cores, on all that are free. Gives start and end.
    pub(super) fn kernel(&mut self, now: u64, cost: impl Fn(u32) -> u64) -> (u64, u64) {
        let all = u32::try_from(self.lanes.len()).unwrap_or(u32::MAX);
        if self.crowd == 0 {
            return (now, now.saturating_add(cost(all)));
        }
        let free = self.lanes.iter().filter(|lane| lane.fit(now, 1) == now).count();
        let Some(free) = u32::try_from(free).ok().filter(|free| *free > 1) else {
            return self.book(now, cost(1));
        };
        let length = cost(free);
        for lane in self.lanes.iter_mut().filter(|lane| lane.fit(now, 1) == now) {
            lane.take(now, length);
        }
        (now, now.saturating_add(length))
    }

    /// Takes `nanos` from `earliest` on of whichever core is free, as a system shares them out: a thread that has to
    /// leave a core to another goes on later, or on the next one that is free, and none of their time is lost. Gives
    /// start and end.
    pub(super) fn book(&mut self, earliest: u64, nanos: u64) -> (u64, u64) {
        let (mut start, mut at, mut left) = (None, earliest, nanos);
        while left > 0 {
            let gaps = self.lanes.iter_mut().map(|lane| (lane.gap(at), lane));
            let Some(((from, to), lane)) = gaps.min_by_key(|((from, to), _)| (*from, Reverse(*to))) else {
                break;
            };
            start.get_or_insert(from);
            let length = left.min(to.saturating_sub(from));
            at = lane.book(from, length);
            if at == u64::MAX {
                break;
            }
            left -= length;
        }
        (start.unwrap_or(earliest), at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::sim::{Rate, WorkForm};

    fn host() -> HostProfile {
        HostProfile::builtin("notebook").unwrap()
    }

    fn add(elements: u64) -> Work {
        Work {
            class: KernelClass::Elementwise,
            rate: Rate::Fp32,
            flops: elements,
            bytes: 12 * elements,
            form: WorkForm::Plain,
        }
    }

    #[test]
    fn a_kernel_takes_what_one_core_takes_or_less() {
        let host = host();
        for elements in [1, 1 << 10, 1 << 15, 1 << 20, 1 << 26] {
            let (one, two) = (cpu_kernel(&host, &add(elements), 1), cpu_kernel(&host, &add(elements), 2));
            assert!(two <= one, "{elements}: {two} {one}");
        }
        assert_eq!(
            cpu_kernel(&host, &add(1), 1),
            cpu_kernel(&host, &add(1), 2),
            "one element stays where it is"
        );
        let product = Work {
            class: KernelClass::Matmul,
            rate: Rate::Fp32,
            flops: 2 << 30,
            bytes: 12 << 20,
            form: WorkForm::Plain,
        };
        let (one, two) = (cpu_kernel(&host, &product, 1), cpu_kernel(&host, &product, 2));
        assert!(two * 10 < one * 6, "a large product has both cores: {two} {one}");
    }

    #[test]
    fn workers_take_cores_from_the_scripts_thread_and_from_each_other() {
        let mut cores = Cores::new(2);
        assert_eq!(cores.work(0, 100), 100, "alone");
        cores.crowd(3);
        assert_eq!(cores.book(100, 50), (100, 150));
        assert_eq!(cores.book(100, 50), (100, 150));
        assert_eq!(cores.book(100, 50), (150, 200), "a third waits for a core");
        assert_eq!(cores.work(100, 10), 160, "so does the script");
        assert_eq!(
            cores.kernel(160, |n| 100 / u64::from(n)),
            (160, 260),
            "a kernel has the one core that is free"
        );
        cores.crowd(-3);
        assert_eq!(cores.kernel(160, |n| 100 / u64::from(n)), (160, 210));
    }

    #[test]
    fn what_a_core_is_taken_for_in_between_costs_no_more_than_that() {
        let mut cores = Cores::new(2);
        cores.crowd(2);
        // The script takes a batch of a worker each 100, and a step after each.
        assert_eq!(cores.book(0, 100), (0, 100));
        assert_eq!(cores.work(100, 1), 101);
        assert_eq!(cores.book(100, 100), (100, 200));
        assert_eq!(cores.work(200, 1), 201);
        // The other worker's batches, which nobody asked for until now.
        assert_eq!(cores.book(0, 100), (0, 100));
        assert_eq!(cores.book(100, 100), (101, 201), "a step of the script came in between");
        assert_eq!(cores.book(150, 60), (201, 261), "all is taken until then");
    }

    #[test]
    fn the_end_of_time_is_an_end() {
        let mut cores = Cores::new(1);
        assert_eq!(cores.book(10, u64::MAX), (10, u64::MAX));
        assert_eq!(cores.book(20, 5).1, u64::MAX);
        assert_eq!(cores.book(5, 0), (5, 5));
    }
}
