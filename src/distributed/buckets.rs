//! Gradients on their way: buckets of them are reduced as soon as they are full, while the backward pass goes on.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::base::{DType, Error, Layout, Result, Scalar, sorted};
use crate::device::{Kernel, MapOp};
use crate::tensor::{In, Tensor, launch};

use super::calls::PendingWork;
use super::group::{CollectiveKind, Group, RankPart, Reduction};

/// Bytes after which the first bucket is full, where no size is asked for.
const FIRST: usize = 1 << 20;
/// The same for the others.
const OTHERS: usize = 25 << 20;

/// When buckets are full: the first one and all others.
#[derive(Clone, Copy)]
pub(super) struct BucketLimits {
    first: usize,
    others: usize,
}

impl BucketLimits {
    /// As PyTorch 2.15 takes `bucket_cap_mb`.
    pub(super) fn of(mib: Option<usize>) -> BucketLimits {
        match mib {
            Some(mib) => {
                BucketLimits { first: mib.saturating_mul(1 << 20), others: mib.saturating_mul(1 << 20) }
            }
            None => BucketLimits { first: FIRST, others: OTHERS },
        }
    }

    const NONE: BucketLimits = BucketLimits { first: usize::MAX, others: usize::MAX };
}

/// Averages gradients over the ranks, as PyTorch's `Reducer`.
pub(super) struct Reducer {
    group: Arc<dyn Group>,
    params: Vec<Tensor>,
    limits: BucketLimits,
    /// Parameters may get no gradient.
    find_unused: bool,
    state: Mutex<Reducing>,
}

struct Reducing {
    buckets: Vec<Bucket>,
    /// The bucket of each parameter, and the place in it.
    places: Vec<(usize, usize)>,
    /// Parameters in the order in which their gradients came the first time.
    order: Vec<usize>,
    rebuilt: bool,
    /// A backward pass is awaited, or under way.
    armed: bool,
    /// Parameters whose gradient is not there yet.
    missing: HashSet<usize>,
    /// Those that the backward pass does not reach.
    unused: HashSet<usize>,
    /// The first bucket that is not on its way.
    next: usize,
}

struct Bucket {
    params: Vec<usize>,
    elements: usize,
    dtype: DType,
    flat: Option<Tensor>,
    left: usize,
    work: Option<PendingWork>,
}

impl Reducer {
    pub(super) fn new(
        group: Arc<dyn Group>,
        params: Vec<Tensor>,
        limits: BucketLimits,
        find_unused: bool,
    ) -> Result<Reducer> {
        let all: Vec<usize> = (0..params.len()).collect();
        let first = if find_unused { limits } else { BucketLimits::NONE };
        let mut buckets = filled(&params, &all, first)?;
        sorted::sort_by_key(&mut buckets, |bucket| bucket.params.iter().min().copied());
        buckets.reverse();
        let state = Reducing {
            places: places(&params, &buckets),
            buckets,
            order: Vec::new(),
            rebuilt: find_unused,
            armed: false,
            missing: HashSet::new(),
            unused: HashSet::new(),
            next: 0,
        };
        Ok(Reducer { group, params, limits, find_unused, state: Mutex::new(state) })
    }

    pub(super) fn group(&self) -> &Arc<dyn Group> {
        &self.group
    }

    /// Before a forward pass that will have a backward one: new buckets, once it is known in which order gradients come.
    ///
    /// # Errors
    /// The last backward pass left parameters without a gradient.
    pub(super) fn before_forward(&self) -> Result<()> {
        let mut state = self.lock();
        if state.armed && state.missing.len() < self.params.len() {
            return Err(self.unfinished(&state));
        }
        if state.rebuilt || state.order.len() < self.params.len() {
            return Ok(());
        }
        // Ranks may differ in it: that of rank 0 counts.
        let order: Vec<i64> = state.order.iter().map(|i| *i as i64).collect();
        let order = Tensor::from_i64(&order, &[order.len()])?;
        PendingWork::begin(
            Arc::clone(&self.group),
            RankPart::new(CollectiveKind::Broadcast { src: 0 }, vec![order.clone()], Vec::new()),
        )?
        .wait()?;
        let order: Vec<usize> =
            order.to_i64s("DistributedDataParallel")?.into_iter().map(|i| i as usize).collect();
        state.buckets.clear();
        state.buckets = filled(&self.params, &order, self.limits)?;
        state.places = places(&self.params, &state.buckets);
        state.rebuilt = true;
        Ok(())
    }

    /// A backward pass from these outputs is to be expected.
    pub(super) fn expect(&self, outputs: &[&Tensor]) -> Result<()> {
        let mut state = self.lock();
        state.armed = true;
        state.next = 0;
        state.missing = (0..self.params.len()).collect();
        state.unused.clear();
        if !state.rebuilt {
            state.order.clear();
        }
        for bucket in &mut state.buckets {
            bucket.left = bucket.params.len();
            bucket.work = None;
        }
        if self.find_unused {
            let reached = Tensor::leaves_behind(outputs);
            let is_unused = |i: &usize| self.params.get(*i).is_some_and(|p| !reached.contains(&p.id()));
            state.unused = (0..self.params.len()).filter(is_unused).collect();
        }
        Ok(())
    }

    /// A parameter's gradient is there.
    pub(super) fn ready(&self, at: usize) -> Result<()> {
        let mut state = self.lock();
        let Some(param) = self.params.get(at).filter(|_| state.armed) else { return Ok(()) };
        if !state.rebuilt {
            state.order.push(at);
        }
        if state.missing.len() == self.params.len() {
            // Nobody waits for the others, once a backward pass has begun.
            let mut unused: Vec<usize> = state.unused.iter().copied().collect();
            unused.sort_unstable();
            unused.into_iter().try_for_each(|i| self.take(&mut state, i, None))?;
        }
        self.take(&mut state, at, param.grad().as_ref())
    }

    fn lock(&self) -> MutexGuard<'_, Reducing> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, state: &mut Reducing, at: usize, grad: Option<&Tensor>) -> Result<()> {
        if !state.missing.remove(&at) {
            return Err(Error::runtime(
                "Expected to mark a variable ready only once. A parameter got gradients of two backward passes after one \
                 call of the module.",
            )
            .with_hint("each call is followed by one backward pass; `with net.no_sync() { … }` takes several"));
        }
        let Some((bucket, start)) = state.places.get(at).copied() else { return Ok(()) };
        if let (Some(bucket), Some(param)) = (state.buckets.get_mut(bucket), self.params.get(at)) {
            bucket.fill(param, start, grad, self.group.world())?;
            bucket.left = bucket.left.saturating_sub(1);
        }
        while let Some(bucket) = state.buckets.get_mut(state.next).filter(|bucket| bucket.left == 0) {
            let part = RankPart::new(
                CollectiveKind::AllReduce(Reduction::Sum),
                bucket.flat.iter().cloned().collect(),
                Vec::new(),
            );
            bucket.work = Some(PendingWork::begin(Arc::clone(&self.group), part)?);
            state.next += 1;
        }
        if state.missing.is_empty() { self.finish(state) } else { Ok(()) }
    }

    /// Waits for all buckets, and has gradients be the averages.
    fn finish(&self, state: &mut Reducing) -> Result<()> {
        let used = self.used_somewhere(state)?;
        for bucket in &mut state.buckets {
            if let Some(work) = bucket.work.take() {
                work.wait()?;
            }
        }
        for (at, (param, (bucket, start))) in self.params.iter().zip(&state.places).enumerate() {
            let flat = state.buckets.get(*bucket).and_then(|bucket| bucket.flat.as_ref());
            let Some(flat) = flat.filter(|_| used.get(at).copied().unwrap_or(true)) else { continue };
            let average = part_of(flat, param, *start)?;
            match param.grad() {
                Some(grad) => {
                    grad.assign(&average, "copy_")?;
                    grad.bump_version();
                }
                None => param.set_grad(Some(average.copied(param.dtype(), "clone")?))?,
            }
        }
        state.armed = false;
        Ok(())
    }

    /// Whether a rank has a gradient of each parameter.
    fn used_somewhere(&self, state: &Reducing) -> Result<Vec<bool>> {
        if !self.find_unused {
            return Ok(Vec::new());
        }
        let used: Vec<i64> = (0..self.params.len()).map(|i| i64::from(!state.unused.contains(&i))).collect();
        let used = Tensor::from_i64(&used, &[used.len()])?;
        let part = RankPart::new(CollectiveKind::AllReduce(Reduction::Max), vec![used.clone()], Vec::new());
        PendingWork::begin(Arc::clone(&self.group), part)?.wait()?;
        Ok(used.to_i64s("DistributedDataParallel")?.into_iter().map(|n| n != 0).collect())
    }

    /// PyTorch's error where parameters got no gradient.
    fn unfinished(&self, state: &Reducing) -> Error {
        let mut missing: Vec<usize> = state.missing.iter().copied().collect();
        missing.sort_unstable();
        let missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
        Error::runtime(format!(
            "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that \
             your module has parameters that were not used in producing loss. You can enable unused parameter detection by \
             passing the keyword argument `find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and \
             by \nmaking sure all `forward` function outputs participate in calculating loss. \nIf you already have done the \
             above, then the distributed data parallel module wasn't able to locate the output tensors in the return value \
             of your module's `forward` function. Please include the loss function and the structure of the return value \
             of `forward` of your module when reporting this issue (e.g. list, dict, iterable).\nParameter indices which \
             did not receive grad for rank {}: {}",
            self.group.rank(),
            missing.join(" ")
        ))
        .with_hint("`find_unused_parameters: true` lets parameters go without a gradient")
    }
}

impl Bucket {
    /// The memory of all its gradients, where a parameter of its is.
    fn room(&mut self, param: &Tensor) -> Result<Tensor> {
        let flat = match &self.flat {
            Some(flat) if flat.device() == param.device() => flat.clone(),
            _ => Tensor::empty(&[self.elements], self.dtype, &param.context(), "DistributedDataParallel")?,
        };
        self.flat = Some(flat.clone());
        Ok(flat)
    }

    /// Puts a parameter's share of the average in its place.
    fn fill(&mut self, param: &Tensor, start: usize, grad: Option<&Tensor>, world: usize) -> Result<()> {
        let flat = self.room(param)?;
        let place = part_of(&flat, param, start)?;
        match grad {
            Some(grad) => {
                let kernel = Kernel::Map { op: MapOp::Mul, params: [0.0; 2], compute: grad.dtype() };
                let share = In::Scalar(Scalar::Float(1.0 / world as f64));
                launch("mul", &kernel, &[In::Tensor(grad), share], &[&place])
            }
            None => {
                let kernel = Kernel::Map { op: MapOp::Identity, params: [0.0; 2], compute: self.dtype };
                launch("zero_", &kernel, &[In::Scalar(Scalar::Float(0.0))], &[&place])
            }
        }
    }
}

/// A parameter's place in a bucket, of its shape.
fn part_of(flat: &Tensor, param: &Tensor, start: usize) -> Result<Tensor> {
    let dense = Layout::contiguous(param.shape())?;
    let layout = Layout::new(dense.shape().into(), dense.strides().into(), start)?;
    Ok(flat.with_layout(layout))
}

/// Parameters in buckets: one is closed once it has as many bytes as its limit, and each dtype and device has its own.
fn filled(params: &[Tensor], order: &[usize], limits: BucketLimits) -> Result<Vec<Bucket>> {
    let mut buckets: Vec<Bucket> = Vec::new();
    let mut open: Vec<(DType, crate::base::Device, usize, Bucket)> = Vec::new();
    for at in order {
        let Some(param) = params.get(*at) else { continue };
        let key = (param.dtype(), param.device());
        let known = open.iter().position(|(dtype, device, ..)| (*dtype, *device) == key);
        let index = known.unwrap_or(open.len());
        if known.is_none() {
            open.push((key.0, key.1, limits.first, Bucket::empty(key.0)));
        }
        let Some((.., limit, bucket)) = open.get_mut(index) else { continue };
        bucket.params.push(*at);
        bucket.elements = bucket.elements.saturating_add(param.numel());
        if bucket.elements.saturating_mul(key.0.size()) >= *limit {
            buckets.push(std::mem::replace(bucket, Bucket::empty(key.0)));
            *limit = limits.others;
        }
    }
    buckets.extend(open.into_iter().map(|(.., bucket)| bucket).filter(|bucket| !bucket.params.is_empty()));
    // Their memory is taken at once, as PyTorch takes it.
    for bucket in &mut buckets {
        if let Some(param) = bucket.params.first().and_then(|at| params.get(*at)) {
            bucket.room(param)?;
        }
    }
    Ok(buckets)
}

impl Bucket {
    fn empty(dtype: DType) -> Bucket {
        Bucket { params: Vec::new(), elements: 0, dtype, flat: None, left: 0, work: None }
    }
}

fn places(params: &[Tensor], buckets: &[Bucket]) -> Vec<(usize, usize)> {
    let mut places = vec![(0, 0); params.len()];
    for (number, bucket) in buckets.iter().enumerate() {
        let mut start = 0;
        for at in &bucket.params {
            if let (Some(place), Some(param)) = (places.get_mut(*at), params.get(*at)) {
                *place = (number, start);
                start += param.numel();
            }
        }
    }
    places
}
