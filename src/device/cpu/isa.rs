//! Which vector instructions the processor has, and running code compiled for them.

use std::sync::atomic::{AtomicU8, Ordering};

/// An instruction set that code is compiled for.
pub trait Isa: Copy + Send + Sync + 'static {
    /// A fused multiply-add is one instruction.
    const FMA: bool;
    /// It is worth code of its own: not on old processors, which would make the program larger for few.
    const TUNED: bool = true;
    /// Functions cover every argument, even where that takes a call or a branch.
    const CAREFUL: bool = false;
}

/// What every processor of the architecture has.
#[derive(Clone, Copy)]
pub(crate) struct Baseline;

/// The baseline, for the few arguments that vector code leaves out.
#[derive(Clone, Copy)]
pub(crate) struct Careful;

/// AVX2 with FMA and F16C.
#[derive(Clone, Copy)]
pub(crate) struct Avx2;

/// AVX-512 F, BW, CD, DQ and VL.
#[derive(Clone, Copy)]
pub(crate) struct Avx512;

impl Isa for Baseline {
    const FMA: bool = cfg!(target_arch = "aarch64");
    const TUNED: bool = !cfg!(target_arch = "x86_64");
}

impl Isa for Careful {
    const FMA: bool = Baseline::FMA;
    const CAREFUL: bool = true;
}

impl Isa for Avx2 {
    const FMA: bool = true;
}

impl Isa for Avx512 {
    const FMA: bool = true;
}

/// Code that is compiled once per instruction set. `run` must be `#[inline(always)]`, and so must what it
/// calls, or it is compiled for the baseline.
pub trait Work {
    type Output;
    /// It is worth code of its own for AVX-512, which is as large again: not where values are rare, as sums of squares of
    /// float64 are, and memory is what is waited for.
    const WIDE: bool = true;
    fn run<I: Isa>(self) -> Self::Output;
}

/// Runs `work` as compiled for the best instruction set of this processor.
#[inline(always)]
pub(crate) fn dispatch<W: Work>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    match level() {
        // SAFETY: `level` found the features on this processor.
        AVX512 if W::WIDE => return unsafe { avx512(work) },
        // SAFETY: as above; what has AVX-512 has AVX2.
        AVX2 | AVX512 => return unsafe { avx2(work) },
        _ => {}
    }
    work.run::<Baseline>()
}

/// The name of the instruction set in use, for reports.
pub fn name() -> &'static str {
    match level() {
        AVX512 => "AVX-512",
        AVX2 => "AVX2",
        _ => "baseline",
    }
}

/// Whether the processor sums products of pairs of bfloat16 (AVX512-BF16).
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_bf16_dots() -> bool {
    level() == AVX512 && std::is_x86_feature_detected!("avx512bf16")
}

const UNKNOWN: u8 = 0;
const BASELINE: u8 = 1;
const AVX2: u8 = 2;
const AVX512: u8 = 3;

static LEVEL: AtomicU8 = AtomicU8::new(UNKNOWN);

#[inline(always)]
fn level() -> u8 {
    #[cfg(test)]
    if FORCED.get() != UNKNOWN {
        return FORCED.get();
    }
    match LEVEL.load(Ordering::Relaxed) {
        UNKNOWN => detect(),
        level => level,
    }
}

#[cold]
fn detect() -> u8 {
    let level = best();
    LEVEL.store(level, Ordering::Relaxed);
    level
}

#[cfg(target_arch = "x86_64")]
fn best() -> u8 {
    use std::is_x86_feature_detected as has;
    let avx2 = has!("avx2")
        && has!("fma")
        && has!("f16c")
        && has!("bmi1")
        && has!("bmi2")
        && has!("lzcnt")
        && has!("popcnt");
    let wide = has!("avx512f") && has!("avx512bw") && has!("avx512cd") && has!("avx512dq");
    match (avx2, wide && has!("avx512vl")) {
        (true, true) => AVX512,
        (true, false) => AVX2,
        _ => BASELINE,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn best() -> u8 {
    BASELINE
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
fn avx512<W: Work>(work: W) -> W::Output {
    work.run::<Avx512>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
fn avx2<W: Work>(work: W) -> W::Output {
    work.run::<Avx2>()
}

#[cfg(test)]
thread_local! {
    /// What [`on_each`] has this thread use.
    static FORCED: std::cell::Cell<u8> = const { std::cell::Cell::new(UNKNOWN) };
}

/// Runs `check` with each instruction set there is, on threads of its own: tests beside it keep theirs.
#[cfg(test)]
pub(crate) fn on_each(mut check: impl FnMut(&'static str) + Send) {
    for level in BASELINE..=best() {
        let threads = rayon::ThreadPoolBuilder::new().num_threads(2);
        let pool = threads.start_handler(move |_| FORCED.set(level)).build().unwrap();
        pool.install(|| check(name()));
    }
}
