//! How a launch runs on a simulated device: by which algorithm, after which other kernels, and whether chance decides
//! the order in which it adds.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard};

use smallvec::SmallVec;

use crate::device::buffer::Buffer;
use crate::device::kernel::{Arg, Kernel, KernelClass, Launch, ScatterMode};
use crate::device::settings::{Determinism, Settings};

use super::algorithms::{Algorithm, AlgorithmFigures, Question};
use super::cost::Work;
use super::form::WorkForm;
use super::profile::Profile;
use super::rate::Rate;
use super::work;

/// Operations that add without atomics in PyTorch, whatever kernel computes them here: `index_put_` sorts its places.
const IN_ORDER: [&str; 2] = ["fold", "index_put_"];

/// What a launch comes to.
pub(super) struct Plan {
    /// Kernels that run before its own.
    pub before: SmallVec<[Work; 4]>,
    pub work: Work,
    /// Its threads add in any order.
    pub by_chance: bool,
}

/// What a search for a convolution's algorithm runs.
pub(super) struct Search {
    pub works: SmallVec<[Work; 8]>,
    pub trials: u32,
}

/// Plans launches, and remembers which algorithms were found.
pub(super) struct Planner {
    figures: Option<AlgorithmFigures>,
    /// TF32 is faster than float32: there are cores for it.
    tf32: bool,
    found: Mutex<HashMap<Question, Searched>>,
}

enum Searched {
    /// Those that the next launch tries.
    Untried(SmallVec<[Algorithm; 8]>),
    Fastest(Algorithm),
}

impl Planner {
    pub(super) fn new(profile: &Profile) -> Planner {
        Planner {
            figures: profile.algorithms.clone(),
            tf32: profile.peak.tf32 > profile.peak.fp32,
            found: Mutex::default(),
        }
    }

    /// How the launch runs.
    pub(super) fn plan(&self, launch: &Launch, settings: &Settings) -> Plan {
        let work = work::work(launch, settings.tf32());
        let plain = Plan { before: SmallVec::new(), work, by_chance: false };
        match launch.kernel {
            _ if IN_ORDER.contains(&launch.op) => plain,
            Kernel::Scatter { mode: ScatterMode::Multiply, .. } => {
                Plan { by_chance: launch.dtype().is_float(), ..plain }
            }
            Kernel::IndexAdd { .. } | Kernel::Scatter { mode: ScatterMode::Add, .. } => {
                match settings.determinism() {
                    Determinism::Any => Plan { by_chance: launch.dtype().is_float(), ..plain },
                    _ => Plan { before: sorting(launch), ..plain },
                }
            }
            Kernel::Conv2d(_) | Kernel::Conv2dGradInput(_) | Kernel::Conv2dGradWeight(_) => {
                let Some(algorithm) = self.algorithm(launch, settings) else { return plain };
                Plan { work: scaled(work, algorithm.time), by_chance: algorithm.atomics, ..plain }
            }
            _ => plain,
        }
    }

    /// Memory for the algorithm of a convolution, or for the search that comes first; `take` gives it where there is
    /// room. An algorithm without room is none.
    pub(super) fn workspace(
        &self,
        launch: &Launch,
        settings: &Settings,
        mut take: impl FnMut(u64) -> Option<Buffer>,
    ) -> Option<(Buffer, u64, bool)> {
        let (figures, rate) = (self.searches(launch, settings)?, self.rate(launch, settings));
        let fixed = settings.is_conv_deterministic();
        let question = Question::of(launch, rate, fixed)?;
        let mut found = self.lock();
        if let Some(Searched::Fastest(algorithm)) = found.get(&question) {
            let bytes = algorithm.workspace;
            let taken = if bytes == 0 { None } else { take(bytes) };
            if bytes > 0 && taken.is_none() {
                found.insert(question, Searched::Fastest(figures.heuristic(launch, fixed)));
            }
            return taken.map(|buffer| (buffer, bytes, false));
        }
        let mut all = figures.candidates(launch, rate, fixed);
        let mut sizes: SmallVec<[u64; 8]> = all.iter().map(|a| a.workspace).filter(|b| *b > 0).collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        let room = sizes.into_iter().find_map(|bytes| Some((take(bytes)?, bytes)));
        let most = room.as_ref().map_or(0, |(_, bytes)| *bytes);
        all.retain(|algorithm| algorithm.workspace <= most);
        found.insert(question, Searched::Untried(all));
        room.map(|(buffer, bytes)| (buffer, bytes, true))
    }

    /// What has to be tried before the launch, once: from then on the fastest of it is taken.
    pub(super) fn search(&self, launch: &Launch, settings: &Settings) -> Option<Search> {
        let (figures, rate) = (self.searches(launch, settings)?, self.rate(launch, settings));
        let question = Question::of(launch, rate, settings.is_conv_deterministic())?;
        let mut found = self.lock();
        let Some(Searched::Untried(all)) = found.get(&question) else { return None };
        let work = work::work(launch, settings.tf32());
        let works = all.iter().map(|algorithm| scaled(work, algorithm.time)).collect();
        let fastest = all.iter().copied().min_by(|a, b| a.time.total_cmp(&b.time))?;
        found.insert(question, Searched::Fastest(fastest));
        Some(Search { works, trials: figures.trials })
    }

    /// Forgets what searches found.
    pub(super) fn forget(&self) {
        self.lock().clear();
    }

    /// What cuDNN takes for a convolution; none where it is not asked, or where the profile has one algorithm.
    fn algorithm(&self, launch: &Launch, settings: &Settings) -> Option<Algorithm> {
        let (fixed, rate) = (settings.is_conv_deterministic(), self.rate(launch, settings));
        if self.searches(launch, settings).is_some()
            && let Some(question) = Question::of(launch, rate, fixed)
            && let Some(Searched::Fastest(algorithm)) = self.lock().get(&question)
        {
            return Some(*algorithm);
        }
        let asked = settings.cudnn_enabled.load(Ordering::Relaxed);
        self.figures.as_ref().filter(|_| asked).map(|figures| figures.heuristic(launch, fixed))
    }

    /// The figures, where the launch is a convolution for which an algorithm is searched.
    fn searches(&self, launch: &Launch, settings: &Settings) -> Option<&AlgorithmFigures> {
        let on = launch.kernel.class() == KernelClass::Convolution
            && settings.cudnn_enabled.load(Ordering::Relaxed)
            && settings.cudnn_benchmark.load(Ordering::Relaxed);
        self.figures.as_ref().filter(|_| on)
    }

    /// The rate at which the device computes it.
    fn rate(&self, launch: &Launch, settings: &Settings) -> Rate {
        match work::work(launch, settings.tf32()).rate {
            Rate::Tf32 if !self.tf32 => Rate::Fp32,
            rate => rate,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Question, Searched>> {
        self.found.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// The same work by an algorithm that takes so many times as long.
fn scaled(work: Work, times: f64) -> Work {
    let by = |amount: u64| (amount as f64 * times).ceil() as u64;
    Work { flops: by(work.flops), bytes: by(work.bytes), ..work }
}

/// What PyTorch runs before it adds in a fixed order (`index_put_` with `accumulate`): places are computed, and sorted
/// together with where each came from, eight bits at a time, so that each sum has one writer.
fn sorting(launch: &Launch) -> SmallVec<[Work; 4]> {
    let Some(Arg::View(index)) = launch.inputs.first() else { return SmallVec::new() };
    let count = index.layout.numel() as u64;
    let places = launch.outputs.first().map_or(1, |y| y.layout.numel() as u64);
    let pair = 2 * size_of::<i64>() as u64;
    let kernel = |class, bytes: u64| {
        let bytes = bytes.saturating_mul(count);
        Work { class, rate: Rate::Int, flops: count, bytes, form: WorkForm::Plain }
    };
    let passes = (u64::BITS - places.leading_zeros()).div_ceil(8).max(1);
    let sorting = (0..passes).map(|_| kernel(KernelClass::Copy, 2 * pair));
    std::iter::once(kernel(KernelClass::Elementwise, pair)).chain(sorting).collect()
}
