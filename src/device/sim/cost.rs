//! What a kernel or a copy costs on a simulated device, in nanoseconds.
//!
//! Only `+ - * /`, comparisons and `ceil` on `f64` (exact under IEEE 754), so every machine gets the same
//! number. A cost that no `u64` holds is `u64::MAX`.

use crate::device::kernel::KernelClass;
use crate::device::sim::rate::Rate;

use super::form::{Product, REDUCING_THREADS, WINOGRAD, WorkForm};
use super::host::HostProfile;
use super::profile::Profile;

/// What one kernel launch does: arithmetic operations (a multiply-add is two) and bytes read and written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Work {
    pub class: KernelClass,
    pub rate: Rate,
    pub flops: u64,
    pub bytes: u64,
    pub form: WorkForm,
}

/// What a kernel's time is spent on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// Getting started: the kernel is too small to fill the device.
    Latency,
    Compute,
    Memory,
}

/// A kernel's modelled time on a device that has nothing else to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelCost {
    /// Nanoseconds until it works, which other streams' kernels may fill.
    pub latency: u64,
    /// Nanoseconds of work, for which it has the device to itself.
    pub body: u64,
    pub bound: Bound,
}

impl KernelCost {
    /// Nanoseconds from start to end.
    pub fn total(&self) -> u64 {
        self.latency.saturating_add(self.body)
    }

    /// Nanoseconds of the whole device that the work comes to. A kernel too small to fill the device takes the part of
    /// it that its work is of its latency, and leaves the rest to other streams' kernels.
    pub(super) fn whole_device(&self) -> u64 {
        match self.bound {
            Bound::Latency if self.latency > 0 => {
                let share = u128::from(self.body) * u128::from(self.body) / u128::from(self.latency);
                u64::try_from(share).unwrap_or(u64::MAX)
            }
            _ => self.body,
        }
    }
}

/// The way of a copy that stays with one device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// Host to device.
    H2D,
    /// Device to host.
    D2H,
    /// Within the device's memory.
    D2D,
}

/// One copy. `pinned` says whether the host's side is page-locked; it means nothing for [`Direction::D2D`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    pub direction: Direction,
    pub bytes: u64,
    pub pinned: bool,
}

/// The time of `work` on `profile`: latency + max(flops / (rate × efficiency), bytes / (bandwidth ×
/// efficiency)). The bandwidth is that of the L2 cache where all bytes fit into it, if that is known.
///
/// Where the form says more, it counts: additions by index and transposed copies move at the same rate wherever their
/// bytes lie; single elements take whole sectors; random numbers are bound by integer arithmetic, and their bytes move
/// as those of elementwise kernels do; convolutions are [`convolution`]s.
pub fn kernel(profile: &Profile, work: &Work) -> KernelCost {
    if let WorkForm::Product(product) = &work.form {
        return convolution(profile, work, product);
    }
    let class = class_on(profile, work);
    let efficiency = profile.efficiency.of(class, work.rate);
    let compute = nanos(work.flops as f64, profile.peak.of(work.rate) * efficiency);
    let memory = match (&work.form, class) {
        (WorkForm::Scattered(pieces), _) => {
            let Device { bandwidth, cached, l2_cache } = Device::of(profile, efficiency);
            let through_cache = pieces.through_cache(work.bytes);
            match cached {
                Some(cached) if pieces.fits(work.bytes, l2_cache) => nanos(through_cache, cached),
                Some(cached) => {
                    let missed = nanos(pieces.through_memory(work.bytes, l2_cache), bandwidth);
                    missed.max(nanos(through_cache, cached))
                }
                None => nanos(through_cache.max(pieces.through_memory(work.bytes, l2_cache)), bandwidth),
            }
        }
        (_, KernelClass::ScatterAdd | KernelClass::Transpose) => {
            nanos(work.bytes as f64, profile.device.memory_bandwidth * efficiency)
        }
        (_, KernelClass::Random) => {
            Device::of(profile, profile.efficiency.elementwise).moved(work.bytes as f64, work.bytes)
        }
        _ => Device::of(profile, efficiency).moved(work.bytes as f64, work.bytes),
    };
    costs(profile.launch.latency_of(class), compute.max(memory), compute > memory)
}

/// A convolution's time, of N x C x H x W tensors as cuDNN computes it.
///
/// - On tensor cores it is four kernels: input and weight are copied to channels-last order, a product of matrices that
///   reads and writes everything once more, and a copy of the result back.
/// - Elsewhere it is one such product; or, for 3 x 3 filters in steps of one, Winograd's algorithm with its transformed
///   tensors in memory, whichever takes less.
/// - Where each channel has filters of its own, a kernel that reads and writes everything once.
///
/// The product takes the time of whole tiles in whole waves over the multiprocessors. Its arithmetic and its traffic
/// follow each other: tiles of these depths leave little to overlap.
fn convolution(profile: &Profile, work: &Work, product: &Product) -> KernelCost {
    let latency = profile.launch.latency_of(work.class);
    let copies = profile.launch.latency_of(KernelClass::Copy).saturating_mul(3);
    let device = Device::of(profile, profile.efficiency.copy);
    let bytes = work.bytes as f64;
    if product.depthwise {
        let part = profile.efficiency.elementwise;
        let compute = nanos(work.flops as f64, profile.peak.of(plain_rate(work.rate)) * part);
        let memory = Device::of(profile, part).moved(bytes, work.bytes);
        return costs(latency, compute.max(memory), compute > memory);
    }
    let operations = product.operations(profile.device.sm_count);
    let rate = profile.peak.of(work.rate) * profile.efficiency.of(work.class, work.rate);
    let cost = |copies, operations, moved, held| {
        let (compute, memory) = (nanos(operations, rate), device.moved(moved, held));
        costs(latency.saturating_add(copies), compute.saturating_add(memory), compute > memory)
    };
    if has_tensor_cores(profile, work.rate) {
        return cost(copies, operations, 3.0 * bytes, work.bytes.saturating_mul(2));
    }
    let direct = cost(0, operations, bytes, work.bytes);
    if product.transformed == 0 {
        return direct;
    }
    let transformed = product.transformed as f64;
    let held = work.bytes.saturating_add(product.transformed);
    let winograd = cost(copies, operations / WINOGRAD, bytes + 2.0 * transformed, held);
    if winograd.total() < direct.total() { winograd } else { direct }
}

/// Bytes a second that a class of kernels moves.
struct Device {
    bandwidth: f64,
    /// To and from the cache, where that is known.
    cached: Option<f64>,
    l2_cache: u64,
}

impl Device {
    fn of(profile: &Profile, efficiency: f64) -> Device {
        let device = &profile.device;
        Device {
            bandwidth: device.memory_bandwidth * efficiency,
            cached: device.l2_bandwidth.map(|bandwidth| bandwidth * efficiency),
            l2_cache: device.l2_cache,
        }
    }

    /// The nanoseconds in which `bytes` are moved; at the cache's bandwidth where it holds all `held` bytes.
    fn moved(&self, bytes: f64, held: u64) -> u64 {
        let memory = nanos(bytes, self.bandwidth);
        match self.cached {
            Some(cached) if held <= self.l2_cache => memory.min(nanos(bytes, cached)),
            _ => memory,
        }
    }
}

/// The class by which the device has figures for the work: whether a reduction is split depends on its size as well.
fn class_on(profile: &Profile, work: &Work) -> KernelClass {
    let device = &profile.device;
    let resident = u64::from(device.sm_count) * u64::from(device.threads_per_sm) / REDUCING_THREADS;
    match &work.form {
        WorkForm::Reduced(shares) if work.class == KernelClass::Reduction && shares.is_split(resident) => {
            KernelClass::SplitReduction
        }
        _ => work.class,
    }
}

/// Tensor cores compute halves from compute capability 7.0 on, TF32 and bfloat16 from 8.0.
fn has_tensor_cores(profile: &Profile, rate: Rate) -> bool {
    let (major, _) = profile.device.compute_capability;
    match rate {
        Rate::Fp16 => major >= 7,
        Rate::Tf32 | Rate::Bf16 => major >= 8,
        Rate::Fp64 | Rate::Fp32 | Rate::Int => false,
    }
}

/// The rate without tensor cores.
fn plain_rate(rate: Rate) -> Rate {
    match rate {
        Rate::Fp64 | Rate::Int => rate,
        Rate::Fp32 | Rate::Tf32 | Rate::Fp16 | Rate::Bf16 => Rate::Fp32,
    }
}

fn costs(latency: u64, body: u64, by_arithmetic: bool) -> KernelCost {
    let bound = match () {
        _ if body <= latency => Bound::Latency,
        _ if by_arithmetic => Bound::Compute,
        _ => Bound::Memory,
    };
    KernelCost { latency, body, bound }
}

/// The nanoseconds of a copy between host and device over the link, which is as fast as its slower end.
/// Pageable memory first passes through page-locked buffers of the driver's, piece by piece and not beside the link.
/// A copy within the device reads and writes each byte, and costs what such a kernel does.
pub fn transfer(profile: &Profile, host: &HostProfile, transfer: &Transfer) -> u64 {
    let (link, side) = (&profile.link, &host.link);
    let (bandwidth, most, staging) = match transfer.direction {
        Direction::H2D => (link.pinned_h2d, side.most_h2d, side.staging_h2d),
        Direction::D2H => (link.pinned_d2h, side.most_d2h, side.staging_d2h),
        Direction::D2D => return kernel(profile, &copy_within(transfer.bytes)).total(),
    };
    let bandwidth = if most < bandwidth { most } else { bandwidth };
    let bytes = transfer.bytes as f64 * profile.faults.slow_link.unwrap_or(1.0);
    if transfer.pinned {
        return link.latency.saturating_add(nanos(bytes, bandwidth));
    }
    let staging = match side.cached_h2d {
        Some((longest, cached)) if transfer.direction == Direction::H2D && transfer.bytes <= longest => {
            if cached > staging {
                cached
            } else {
                staging
            }
        }
        _ => staging,
    };
    let both = bandwidth * staging / (bandwidth + staging);
    side.pageable_latency.unwrap_or(link.latency).saturating_add(nanos(bytes, both))
}

/// The nanoseconds of a copy from one device's memory to another's; the slower end of the link decides.
pub fn peer(from: &Profile, to: &Profile, bytes: u64) -> u64 {
    let slow = |p: &Profile| p.faults.slow_link.unwrap_or(1.0);
    let slow = if slow(from) > slow(to) { slow(from) } else { slow(to) };
    let (a, b) = (from.peer.bandwidth, to.peer.bandwidth);
    let bandwidth = if a < b { a } else { b };
    let latency = from.peer.latency.max(to.peer.latency);
    latency.saturating_add(nanos(bytes as f64 * slow, bandwidth))
}

/// The nanoseconds in which the host page-locks and fills `bytes` of its own memory (`pin_memory`).
pub fn pin(host: &HostProfile, bytes: u64) -> u64 {
    host.driver.call.saturating_add(nanos(bytes as f64, host.pin))
}

/// The work of a copy within a device's memory.
pub(super) fn copy_within(bytes: u64) -> Work {
    Work {
        class: KernelClass::Copy,
        rate: Rate::Fp32,
        flops: 0,
        bytes: bytes.saturating_mul(2),
        form: WorkForm::Plain,
    }
}

/// Nanoseconds for `amount` at `per_second`, rounded up; the cast saturates.
pub(super) fn nanos(amount: f64, per_second: f64) -> u64 {
    (amount * 1e9 / per_second).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::super::form::{Reduced, Scattered};
    use super::*;
    use crate::device::sim::host::HostSide;
    use proptest::prelude::*;

    const MIB: u64 = 1 << 20;
    const GIB: u64 = 1 << 30;

    fn host() -> HostProfile {
        HostProfile::builtin("notebook").unwrap()
    }

    fn t4() -> Profile {
        Profile::builtin("t4").unwrap()
    }

    fn matmul(n: u64, rate: Rate, width: u64) -> Work {
        Work {
            class: KernelClass::Matmul,
            rate,
            flops: 2 * n * n * n,
            bytes: 3 * n * n * width,
            form: WorkForm::Plain,
        }
    }

    #[test]
    fn a_kernel_takes_latency_and_the_longer_of_arithmetic_and_traffic() {
        let t4 = t4();
        // 8.1 TFLOP/s x 0.53; 320 GB/s x 0.8.
        let work = matmul(4096, Rate::Fp32, 4);
        let cost = kernel(&t4, &work);
        assert_eq!(cost.latency, 3_500);
        assert_eq!(cost.body, (137_438_953_472.0 / (8.1e12 * 0.53) * 1e9_f64).ceil() as u64);
        assert_eq!(cost.bound, Bound::Compute);
        let add = Work {
            class: KernelClass::Elementwise,
            rate: Rate::Fp32,
            flops: 1 << 26,
            bytes: 12 << 26,
            form: WorkForm::Plain,
        };
        let cost = kernel(&t4, &add);
        assert_eq!(cost.body, 3_145_728); // 805,306,368 B at 256 GB/s
        assert_eq!((cost.bound, cost.total()), (Bound::Memory, 3_149_228));
    }

    #[test]
    fn tiny_kernels_are_latency() {
        let work = Work {
            class: KernelClass::Elementwise,
            rate: Rate::Fp32,
            flops: 10,
            bytes: 120,
            form: WorkForm::Plain,
        };
        let cost = kernel(&t4(), &work);
        assert_eq!(cost.bound, Bound::Latency);
        assert!(cost.body * 1000 < cost.latency);
        let nothing = Work { flops: 0, bytes: 0, ..work };
        assert_eq!(kernel(&t4(), &nothing).total(), 3_500);
    }

    #[test]
    fn orders_of_magnitude_are_those_of_the_hardware() {
        let t4 = t4();
        let copy = |direction, pinned| transfer(&t4, &host(), &Transfer { direction, bytes: GIB, pinned });
        for direction in [Direction::H2D, Direction::D2H] {
            let (pinned, pageable) = (copy(direction, true), copy(direction, false));
            assert!(pinned * 2 < pageable && pageable < pinned * 5, "{direction:?}: {pinned} {pageable}");
            assert!((70_000_000..100_000_000).contains(&pinned));
        }
        assert!(copy(Direction::D2D, false) * 5 < copy(Direction::H2D, true));
        let half = kernel(&t4, &matmul(4096, Rate::Fp16, 2)).total();
        let single = kernel(&t4, &matmul(4096, Rate::Fp32, 4)).total();
        assert!(half * 4 < single, "{half} {single}");
    }

    #[test]
    fn newer_gpus_are_faster_at_matmul_and_memory() {
        let totals = |rate| {
            ["t4", "a100-40gb", "h100"]
                .map(|id| kernel(&Profile::builtin(id).unwrap(), &matmul(8192, rate, 4)).total())
        };
        for rate in [Rate::Fp64, Rate::Fp32, Rate::Tf32, Rate::Fp16, Rate::Bf16] {
            let [t4, a100, h100] = totals(rate);
            assert!(t4 > a100 && a100 > h100, "{rate:?}: {t4} {a100} {h100}");
        }
    }

    #[test]
    fn a_class_may_have_a_latency_and_the_cache_a_bandwidth_of_its_own() {
        let mut own = t4();
        own.launch.latency_by_class = vec![(KernelClass::Reduction, 9_000)];
        own.device.l2_bandwidth = Some(2.0 * own.device.memory_bandwidth);
        let of = |class, bytes| Work { class, rate: Rate::Fp32, flops: 0, bytes, form: WorkForm::Plain };
        let both = |work: Work| (kernel(&own, &work), kernel(&t4(), &work));
        let (fits, plain) = both(of(KernelClass::Copy, own.device.l2_cache));
        assert_eq!((fits.latency, fits.body), (plain.latency, plain.body.div_ceil(2)));
        let (beyond, plain) = both(of(KernelClass::Copy, own.device.l2_cache + 1));
        assert_eq!(beyond, plain);
        let (reduction, plain) = both(of(KernelClass::Reduction, GIB));
        assert_eq!((reduction.latency, reduction.body), (9_000, plain.body));
    }

    #[test]
    fn some_classes_gain_nothing_from_the_cache() {
        let h100 = Profile::builtin("h100").unwrap();
        let body = |class, bytes| {
            let work = Work { class, rate: Rate::Fp32, flops: 0, bytes, form: WorkForm::Plain };
            kernel(&h100, &work).body
        };
        for class in [KernelClass::Transpose, KernelClass::ScatterAdd] {
            assert!(body(class, GIB).abs_diff(1024 * body(class, MIB)) < 1024, "{class:?}");
        }
        assert!(body(KernelClass::Copy, GIB) > 2 * 1024 * body(KernelClass::Copy, MIB));
    }

    #[test]
    fn single_elements_are_slower_the_less_the_cache_holds_of_the_table() {
        let h100 = Profile::builtin("h100").unwrap();
        let body = |span| {
            let form = WorkForm::Scattered(Scattered { pieces: 16 * MIB, size: 4, span });
            let class = KernelClass::GatherElements;
            kernel(&h100, &Work { class, rate: Rate::Fp32, flops: 0, bytes: 256 * MIB, form }).body
        };
        assert_eq!(body(MIB), body(8 * MIB), "either stays in the cache");
        assert!(body(8 * MIB) < body(64 * MIB) && body(64 * MIB) < body(GIB));
    }

    /// A 3 x 3 convolution of `batch` images of `size` x `size`, from `channels` to as many.
    fn convolved(batch: u64, channels: u64, size: u64, rate: Rate, width: u64) -> Work {
        let (values, weights) = (batch * channels * size * size, 9 * channels * channels);
        let product = Product {
            rows: batch * size * size,
            columns: channels,
            depth: 9 * channels,
            groups: 1,
            depthwise: false,
            transformed: (8 * values + weights * 16 / 9) * width,
        };
        let flops = 2 * values * 9 * channels;
        let bytes = (2 * values + weights) * width;
        Work { class: KernelClass::Convolution, rate, flops, bytes, form: WorkForm::Product(product) }
    }

    #[test]
    fn tensor_cores_want_other_orders_of_their_tensors() {
        let (t4, h100) = (t4(), Profile::builtin("h100").unwrap());
        let work = |rate| convolved(64, 64, 56, rate, 4);
        let (single, tf32) = (kernel(&h100, &work(Rate::Fp32)), kernel(&h100, &work(Rate::Tf32)));
        assert_eq!(tf32.latency - single.latency, 3 * h100.launch.latency_of(KernelClass::Copy));
        assert_eq!((single.bound, tf32.bound), (Bound::Compute, Bound::Memory));
        assert_eq!(kernel(&t4, &work(Rate::Tf32)), kernel(&t4, &work(Rate::Fp32)), "a T4 has no TF32");
        assert!(kernel(&t4, &work(Rate::Fp16)).total() < kernel(&t4, &work(Rate::Fp32)).total());
    }

    #[test]
    fn winograd_is_taken_where_it_takes_less() {
        let h100 = Profile::builtin("h100").unwrap();
        let gain = |channels, size| {
            let work = convolved(64, channels, size, Rate::Fp32, 4);
            let WorkForm::Product(product) = work.form else { panic!("a convolution") };
            let direct = Work { form: WorkForm::Product(Product { transformed: 0, ..product }), ..work };
            kernel(&h100, &direct).total() as f64 / kernel(&h100, &work).total() as f64
        };
        assert_eq!(gain(64, 56), 1.0, "too much to transform for so few channels");
        assert!(gain(256, 14) > 1.2);
    }

    #[test]
    fn channels_by_themselves_are_bound_by_memory() {
        let h100 = Profile::builtin("h100").unwrap();
        let work = convolved(64, 256, 56, Rate::Tf32, 4);
        let WorkForm::Product(product) = work.form else { panic!("a convolution") };
        let own = Product { depthwise: true, columns: 1, depth: 9, groups: 256, transformed: 0, ..product };
        let own = Work { flops: work.flops / 256, form: WorkForm::Product(own), ..work };
        let cost = kernel(&h100, &own);
        assert_eq!(cost.bound, Bound::Memory);
        assert!(cost.total() < kernel(&h100, &work).total() / 2);
    }

    #[test]
    fn newer_gpus_are_faster_at_convolutions() {
        for rate in [Rate::Fp32, Rate::Tf32, Rate::Fp16, Rate::Bf16] {
            let [t4, a100, h100] = ["t4", "a100-40gb", "h100"]
                .map(|id| kernel(&Profile::builtin(id).unwrap(), &convolved(64, 256, 28, rate, 4)).total());
            assert!(t4 > a100 && a100 > h100, "{rate:?}: {t4} {a100} {h100}");
        }
    }

    #[test]
    fn pageable_memory_in_the_hosts_cache_goes_faster_to_the_device_alone() {
        let plain = HostProfile {
            link: HostSide { cached_h2d: None, pageable_latency: Some(20_000), ..host().link },
            ..host()
        };
        let mut own = plain.clone();
        own.link.cached_h2d = Some((MIB, 4.0 * own.link.staging_h2d));
        let time = |host: &HostProfile, direction, bytes, pinned| {
            transfer(&t4(), host, &Transfer { direction, bytes, pinned })
        };
        let (link, staging) = (t4().link.pinned_h2d, own.link.staging_h2d);
        let expected = nanos(MIB as f64, link * 4.0 * staging / (link + 4.0 * staging));
        assert_eq!(time(&own, Direction::H2D, MIB, false), 20_000 + expected);
        for (direction, bytes, pinned) in
            [(Direction::H2D, MIB + 1, false), (Direction::D2H, MIB, false), (Direction::H2D, MIB, true)]
        {
            let (own, plain) = (time(&own, direction, bytes, pinned), time(&plain, direction, bytes, pinned));
            assert_eq!(own, plain, "{direction:?} {pinned}");
        }
    }

    #[test]
    fn the_slower_end_of_the_link_decides() {
        let h100 = Profile::builtin("h100").unwrap();
        let mut narrow = host();
        narrow.link.most_h2d = t4().link.pinned_h2d / 2.0;
        let copy = Transfer { direction: Direction::H2D, bytes: GIB, pinned: true };
        let body =
            |profile: &Profile, host: &HostProfile| transfer(profile, host, &copy) - profile.link.latency;
        assert_eq!(body(&h100, &narrow), body(&t4(), &narrow));
        assert_eq!(body(&t4(), &narrow), nanos(GIB as f64, narrow.link.most_h2d));
        assert!(body(&h100, &host()) * 2 < body(&t4(), &host()));
    }

    #[test]
    fn a_slow_link_slows_links_alone() {
        let mut slow = t4();
        slow.faults.slow_link = Some(4.0);
        let h2d = Transfer { direction: Direction::H2D, bytes: GIB, pinned: true };
        let (before, after) = (transfer(&t4(), &host(), &h2d), transfer(&slow, &host(), &h2d));
        assert!(after > before * 39 / 10 && after <= before * 4);
        assert!(peer(&t4(), &slow, GIB) > peer(&t4(), &t4(), GIB) * 39 / 10);
        let d2d = Transfer { direction: Direction::D2D, ..h2d };
        assert_eq!(transfer(&slow, &host(), &d2d), transfer(&t4(), &host(), &d2d));
    }

    #[test]
    fn the_slower_end_decides_a_peer_copy() {
        let h100 = Profile::builtin("h100").unwrap();
        assert_eq!(peer(&t4(), &h100, GIB), peer(&h100, &t4(), GIB));
        assert_eq!(peer(&t4(), &h100, GIB), peer(&t4(), &t4(), GIB));
        assert!(peer(&h100, &h100, GIB) * 10 < peer(&t4(), &t4(), GIB));
    }

    fn any_form() -> impl Strategy<Value = WorkForm> {
        let numbers = (any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>(), any::<bool>());
        (0..4_usize, numbers).prop_map(|(form, (a, b, c, d, depthwise))| match form {
            0 => WorkForm::Plain,
            1 => WorkForm::Reduced(Reduced { blocks: a, each: b }),
            2 => WorkForm::Scattered(Scattered { pieces: a, size: b, span: c }),
            _ => WorkForm::Product(Product {
                rows: a,
                columns: b,
                depth: c,
                groups: d,
                depthwise,
                transformed: d,
            }),
        })
    }

    fn any_work() -> impl Strategy<Value = Work> {
        let class = 0..KernelClass::ALL.len();
        (class, 0..6_usize, any::<u64>(), any::<u64>(), any_form()).prop_map(
            |(class, rate, flops, bytes, form)| Work {
                class: KernelClass::ALL[class],
                rate: Rate::ALL[rate],
                flops,
                bytes,
                form,
            },
        )
    }

    proptest! {
        #[test]
        fn more_work_never_takes_less_time(work in any_work(), flops: u64, bytes: u64) {
            let profiles = [t4(), Profile::builtin("h100").unwrap()];
            let more = Work { flops: work.flops.max(flops), bytes: work.bytes.max(bytes), ..work };
            for profile in &profiles {
                prop_assert!(kernel(profile, &work).total() <= kernel(profile, &more).total());
                for direction in [Direction::H2D, Direction::D2H, Direction::D2D] {
                    let time = |bytes| transfer(profile, &host(), &Transfer { direction, bytes, pinned: false });
                    prop_assert!(time(work.bytes) <= time(more.bytes));
                }
            }
        }
    }
}
