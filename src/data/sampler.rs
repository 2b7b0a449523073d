//! Samplers: the order in which a loader goes through a dataset, and which samples make a batch.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::base::{DType, Error, Kind, Result, memory};
use crate::data::draws::{draw_seed, permutation};
use crate::device::random::Shared;
use crate::device::{Machine, poll};
use crate::op::core::convert::to_dtype;
use crate::op::random::distributions::multinomial;
use crate::op::{Copies, Object, Value};
use crate::tensor::Tensor;

pub use crate::device::random::Generator;

/// The order of samples, drawn anew for each epoch, as the classes of `torch.utils.data` draw it. Cloning gives the
/// same one.
#[derive(Clone)]
pub struct Sampler(Arc<SampleOrder>);

enum SampleOrder {
    /// `0..n`
    Sequential(usize),
    Listed(Vec<i64>),
    Random {
        of: usize,
        replacement: bool,
        count: usize,
        generator: Option<Shared>,
    },
    /// The indices in a random order.
    Subset {
        indices: Vec<i64>,
        generator: Option<Shared>,
    },
    Weighted {
        weights: Tensor,
        replacement: bool,
        count: usize,
        generator: Option<Shared>,
    },
    /// One rank's share of a dataset's indices.
    Distributed {
        share: Share,
        epoch: AtomicU64,
    },
    /// Batches of another order.
    Batches {
        of: Sampler,
        size: usize,
        drop_last: bool,
    },
    /// Batches as they are given.
    ListedBatches(Vec<Vec<i64>>),
}

/// A rank's share of `of` samples, as `DistributedSampler` cuts it.
#[derive(Clone, Copy)]
pub struct Share {
    pub of: usize,
    pub replicas: usize,
    pub rank: usize,
    /// Orders the samples by this seed and the epoch.
    pub shuffle: Option<i64>,
    pub drop_last: bool,
}

impl Share {
    fn len(&self) -> usize {
        if self.drop_last { self.of / self.replicas } else { self.of.div_ceil(self.replicas) }
    }

    /// Every `replicas`-th sample from the rank's on; the first ones come again where that does not come out even.
    fn draw(&self, epoch: u64) -> Result<Vec<i64>> {
        let order = match self.shuffle {
            Some(seed) => permutation(self.of, Shared::new((seed as u64).wrapping_add(epoch)))?,
            None => poll::listed(0..self.of as i64)?,
        };
        let at = |i: usize| order.get((self.rank + i * self.replicas) % self.of.max(1)).copied();
        poll::listed((0..self.len()).filter_map(at))
    }
}

/// What a sampler gives for an epoch.
pub enum Drawn {
    Samples(Vec<i64>),
    Batches(Vec<Vec<i64>>),
}

fn positive(name: &str, n: i64) -> Result<usize> {
    usize::try_from(n)
        .ok()
        .filter(|n| *n > 0)
        .ok_or_else(|| Error::value(format!("{name} should be a positive integer value, but got {name}={n}")))
}

impl Sampler {
    fn new(order: SampleOrder) -> Sampler {
        Sampler(Arc::new(order))
    }

    /// `SequentialSampler`: samples in turn.
    pub(crate) fn sequential(of: usize) -> Sampler {
        Sampler::new(SampleOrder::Sequential(of))
    }

    /// Indices as they are given.
    pub fn listed(indices: Vec<i64>) -> Sampler {
        Sampler::new(SampleOrder::Listed(indices))
    }

    /// `RandomSampler`: `count` samples, all where there is none, each once or drawn anew each time.
    pub fn random(
        of: usize,
        replacement: bool,
        count: Option<i64>,
        generator: Option<Shared>,
    ) -> Result<Sampler> {
        let count = positive("num_samples", count.unwrap_or(of as i64))?;
        if of == 0 {
            return Err(Error::value("a RandomSampler needs a dataset with samples"));
        }
        Ok(Sampler::new(SampleOrder::Random { of, replacement, count, generator }))
    }

    /// `SubsetRandomSampler`: some samples in a random order.
    pub fn subset(indices: Vec<i64>, generator: Option<Shared>) -> Sampler {
        Sampler::new(SampleOrder::Subset { indices, generator })
    }

    /// `WeightedRandomSampler`: `count` samples in proportion to their weights.
    pub fn weighted(
        weights: &Tensor,
        count: i64,
        replacement: bool,
        generator: Option<Shared>,
    ) -> Result<Sampler> {
        let count = positive("num_samples", count)?;
        if weights.rank() != 1 {
            let shape = crate::base::python::tuple(weights.shape());
            let text = format!("weights should be a 1d sequence but given weights have shape {shape}");
            return Err(Error::value(text));
        }
        let weights = to_dtype(&weights.detach(), DType::Float64)?;
        let weights = weights.moved(Machine::current().cpu(), false, "to")?;
        Ok(Sampler::new(SampleOrder::Weighted { weights, replacement, count, generator }))
    }

    /// `DistributedSampler`: a rank's share.
    ///
    /// # Errors
    /// `ValueError` for a rank that there is not.
    pub fn distributed(share: Share) -> Result<Sampler> {
        if share.rank >= share.replicas {
            let text = format!(
                "Invalid rank {}, rank should be in the interval [0, {}]",
                share.rank,
                share.replicas as i64 - 1
            );
            return Err(Error::value(text));
        }
        Ok(Sampler::new(SampleOrder::Distributed { share, epoch: AtomicU64::new(0) }))
    }

    /// Says which epoch a `DistributedSampler` is to order next.
    ///
    /// # Errors
    /// `TypeError` for another sampler.
    pub fn set_epoch(&self, number: i64) -> Result<()> {
        match &*self.0 {
            SampleOrder::Distributed { epoch, .. } => {
                epoch.store(number as u64, Ordering::Relaxed);
                Ok(())
            }
            _ => Err(Error::type_error(format!("a {} has no epochs of its own", self.name()))),
        }
    }

    /// `BatchSampler`: batches of another sampler's order.
    pub fn batches(of: Sampler, size: i64, drop_last: bool) -> Result<Sampler> {
        let size = positive("batch_size", size)?;
        if of.gives_batches() {
            return Err(Error::type_error("a BatchSampler takes a sampler of indices, not one of batches"));
        }
        Ok(Sampler::new(SampleOrder::Batches { of, size, drop_last }))
    }

    /// Batches as they are given.
    pub(crate) fn listed_batches(batches: Vec<Vec<i64>>) -> Sampler {
        Sampler::new(SampleOrder::ListedBatches(batches))
    }

    /// PyTorch's class name; `list` for indices that are given.
    pub fn name(&self) -> &'static str {
        match &*self.0 {
            SampleOrder::Sequential(_) => "SequentialSampler",
            SampleOrder::Listed(_) | SampleOrder::ListedBatches(_) => "list",
            SampleOrder::Random { .. } => "RandomSampler",
            SampleOrder::Subset { .. } => "SubsetRandomSampler",
            SampleOrder::Weighted { .. } => "WeightedRandomSampler",
            SampleOrder::Distributed { .. } => "DistributedSampler",
            SampleOrder::Batches { .. } => "BatchSampler",
        }
    }

    pub(crate) fn gives_batches(&self) -> bool {
        matches!(&*self.0, SampleOrder::Batches { .. } | SampleOrder::ListedBatches(_))
    }

    /// Indices, or batches, of an epoch.
    pub fn len(&self) -> usize {
        match &*self.0 {
            SampleOrder::Sequential(n) => *n,
            SampleOrder::Listed(all) => all.len(),
            SampleOrder::Random { count, .. } | SampleOrder::Weighted { count, .. } => *count,
            SampleOrder::Subset { indices, .. } => indices.len(),
            SampleOrder::Distributed { share, .. } => share.len(),
            SampleOrder::Batches { of, size, drop_last: true } => of.len() / size,
            SampleOrder::Batches { of, size, drop_last: false } => of.len().div_ceil(*size),
            SampleOrder::ListedBatches(all) => all.len(),
        }
    }

    /// Whether it gives no index.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An index that is given from the start and lies outside of a dataset of `size`.
    pub fn outside(&self, size: usize) -> Option<i64> {
        let out = |i: &&i64| usize::try_from(**i).map_or(true, |i| i >= size);
        match &*self.0 {
            SampleOrder::Listed(all) => all.iter().find(out).copied(),
            SampleOrder::ListedBatches(all) => all.iter().flatten().find(out).copied(),
            _ => None,
        }
    }

    /// The order of one epoch.
    pub fn draw(&self) -> Result<Drawn> {
        Ok(Drawn::Samples(match &*self.0 {
            SampleOrder::Sequential(n) => poll::listed(0..*n as i64)?,
            SampleOrder::Listed(all) => memory::copied(all)?,
            SampleOrder::Random { of, replacement, count, generator } => {
                random(*of, *replacement, *count, generator.as_ref())?
            }
            SampleOrder::Subset { indices, generator } => {
                let generator = generator.clone().unwrap_or_else(|| Machine::current().generator.clone());
                let order = permutation(indices.len(), generator)?;
                let at = |i: &i64| usize::try_from(*i).ok().and_then(|i| indices.get(i)).copied();
                memory::collected(order.iter().filter_map(at))?
            }
            SampleOrder::Weighted { weights, replacement, count, generator } => {
                let machine = Machine::current();
                let drawing = generator.clone().map(|g| machine.drawing_from(g));
                let _here = drawing.as_ref().map(|m| m.enter());
                multinomial(weights, *count as i64, *replacement)?.to_i64s("multinomial")?
            }
            SampleOrder::Distributed { share, epoch } => share.draw(epoch.load(Ordering::Relaxed))?,
            SampleOrder::Batches { of, size, drop_last } => {
                let Drawn::Samples(all) = of.draw()? else { return of.draw() };
                let full = |batch: &&[i64]| !drop_last || batch.len() == *size;
                let batches = all.chunks(*size).filter(full).map(memory::copied);
                return Ok(Drawn::Batches(poll::collected(batches)?));
            }
            SampleOrder::ListedBatches(all) => {
                let batches = all.iter().map(|batch| memory::copied(batch));
                return Ok(Drawn::Batches(poll::collected(batches)?));
            }
        }))
    }

    pub(crate) fn into_value(self) -> Value {
        Value::Object(Object::new("Sampler", self))
    }

    /// A number that tells samplers apart while they live.
    pub(crate) fn id(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// A sampler that draws from copies of generators.
    pub(crate) fn copied_with(&self, copies: &mut dyn Copies) -> Result<Sampler> {
        let mut own =
            |from: &Option<Shared>| from.as_ref().map(|from| copied_generator(from, copies)).transpose();
        Ok(Sampler::new(match &*self.0 {
            SampleOrder::Random { of, replacement, count, generator } => {
                let (of, replacement, count) = (*of, *replacement, *count);
                SampleOrder::Random { of, replacement, count, generator: own(generator)? }
            }
            SampleOrder::Subset { indices, generator } => {
                SampleOrder::Subset { indices: indices.clone(), generator: own(generator)? }
            }
            SampleOrder::Weighted { weights, replacement, count, generator } => SampleOrder::Weighted {
                weights: weights.clone(),
                replacement: *replacement,
                count: *count,
                generator: own(generator)?,
            },
            SampleOrder::Batches { of, size, drop_last } => {
                SampleOrder::Batches { of: of.copy(copies)?, size: *size, drop_last: *drop_last }
            }
            SampleOrder::Distributed { share, epoch } => {
                let epoch = AtomicU64::new(epoch.load(Ordering::Relaxed));
                SampleOrder::Distributed { share: *share, epoch }
            }
            // They draw from nothing.
            SampleOrder::Sequential(_) | SampleOrder::Listed(_) | SampleOrder::ListedBatches(_) => {
                return Ok(self.clone());
            }
        }))
    }

    /// The copy of a sampler that another value holds.
    pub(super) fn copy(&self, copies: &mut dyn Copies) -> Result<Sampler> {
        Ok(match copies.value(&self.clone().into_value())? {
            Value::Object(copy) => copy.get::<Sampler>().unwrap_or(self).clone(),
            _ => self.clone(),
        })
    }
}

/// The copy of a generator.
pub(super) fn copied_generator(from: &Shared, copies: &mut dyn Copies) -> Result<Shared> {
    let value = Value::Object(Object::new("Generator", Generator(from.clone())));
    Ok(match copies.value(&value)? {
        Value::Object(copy) => copy.get::<Generator>().map_or(from, |copy| &copy.0).clone(),
        _ => from.clone(),
    })
}

/// As `RandomSampler` draws: from a generator that the session's seeds, where none is given.
fn random(of: usize, replacement: bool, count: usize, generator: Option<&Shared>) -> Result<Vec<i64>> {
    let own = generator.is_none();
    let fresh = || Shared::new(draw_seed(&Machine::current().generator));
    let generator = generator.cloned().unwrap_or_else(fresh);
    if replacement {
        let mut draws = generator.lock();
        let wide = of as u64 > u64::from(u32::MAX);
        let mut one = || if wide { draws.next_u64() } else { u64::from(draws.next_u32()) };
        return poll::listed((0..count).map(|_| (one() % of as u64) as i64));
    }
    let mut all = memory::with_capacity(count)?;
    while all.len() < count {
        poll::check()?;
        let mut order = permutation(of, generator.clone())?;
        order.truncate(count - all.len());
        all.extend(order);
    }
    // PyTorch draws one more order, of which it takes nothing.
    if !own && count.is_multiple_of(of) {
        permutation(of, generator)?;
    }
    Ok(all)
}

/// Fails where an order names a sample that a dataset has not.
pub fn check(drawn: &Drawn, size: usize) -> Result<()> {
    let outside = |i: &&i64| usize::try_from(**i).map_or(true, |i| i >= size);
    let found = match drawn {
        Drawn::Samples(all) => all.iter().find(outside),
        Drawn::Batches(all) => all.iter().flatten().find(outside),
    };
    found.map_or(Ok(()), |at| Err(out_of_bounds(*at, size)))
}

/// The error of an index that no sample has.
pub(crate) fn out_of_bounds(at: i64, size: usize) -> Error {
    let text = format!("the sampler's index {at} is out of bounds for a dataset of {size} samples");
    Error::new(Kind::IndexError, text)
}
