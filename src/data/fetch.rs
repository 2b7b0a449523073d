//! What an epoch fetches, and how.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::base::{Result, memory};
use crate::data::dataset::{Data, Function, noted, samples};
use crate::data::sampler::{self, Sampler};
use crate::data::tree::map_tensors;
use crate::device::random::Shared;
use crate::device::{Machine, poll};
use crate::op::{Copies, Value};
use crate::tensor::Tensor;

/// How batches are made, as `torch.utils.data.DataLoader` has it.
#[derive(Clone)]
pub struct LoaderOptions {
    /// Absent: samples come one by one, as they are.
    pub batch_size: Option<usize>,
    pub shuffle: bool,
    /// The order of the samples, instead of the dataset's own.
    pub sampler: Option<Sampler>,
    /// The batches, instead of those of `batch_size` and an order.
    pub batch_sampler: Option<Sampler>,
    pub num_workers: usize,
    /// Makes a batch of an array of samples, instead of `default_collate`.
    pub collate_fn: Option<Function>,
    /// Puts batches into page-locked memory; without an accelerator there is none, and nothing is done.
    pub pin_memory: bool,
    pub drop_last: bool,
    /// Batches that each worker holds ready; 2 where absent.
    pub prefetch_factor: Option<usize>,
    /// How long a batch of workers may take; no bound where absent.
    pub timeout: Option<Duration>,
    /// Called in each worker with its number before it fetches anything.
    pub worker_init_fn: Option<Function>,
    /// Draws the order and the workers' seeds, instead of the session's generator.
    pub generator: Option<Shared>,
    /// The workers stay for the next epoch, and end with the loader.
    pub persistent_workers: bool,
}

impl Default for LoaderOptions {
    fn default() -> LoaderOptions {
        LoaderOptions {
            batch_size: Some(1),
            shuffle: false,
            sampler: None,
            batch_sampler: None,
            num_workers: 0,
            collate_fn: None,
            pin_memory: false,
            drop_last: false,
            prefetch_factor: None,
            timeout: None,
            worker_init_fn: None,
            generator: None,
            persistent_workers: false,
        }
    }
}

impl LoaderOptions {
    pub(super) fn copied_with(&self, copies: &mut dyn Copies) -> Result<LoaderOptions> {
        let mut copy = self.clone();
        for sampler in [&mut copy.sampler, &mut copy.batch_sampler].into_iter().flatten() {
            *sampler = sampler.copy(copies)?;
        }
        for function in [&mut copy.collate_fn, &mut copy.worker_init_fn].into_iter().flatten() {
            *function = function.copy(copies)?;
        }
        if let Some(generator) = &mut copy.generator {
            *generator = sampler::copied_generator(generator, copies)?;
        }
        Ok(copy)
    }

    /// With functions of its own.
    fn with_own_functions(&self, copies: &mut dyn Copies) -> Result<LoaderOptions> {
        let mut own = self.clone();
        for function in [&mut own.collate_fn, &mut own.worker_init_fn].into_iter().flatten() {
            *function = function.copy(copies)?;
        }
        Ok(own)
    }

    /// Whether samples are put together, rather than given one by one.
    pub(super) fn batched(&self) -> bool {
        self.batch_sampler.is_some() || self.batch_size.is_some()
    }
}

/// Which samples make which batch, told when a batch is due: a dataset may be larger than memory.
pub(crate) struct Batches {
    pub(super) order: BatchOrder,
    pub(super) size: usize,
    pub(super) count: usize,
}

impl Batches {
    /// How many batches are left.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// The indices of batch `number`; none behind the last.
    ///
    /// # Errors
    /// There is no memory for them.
    pub(crate) fn get(&self, number: usize) -> Option<Result<Vec<usize>>> {
        let whole = |all: &[i64]| memory::collected(all.iter().filter_map(|&i| usize::try_from(i).ok()));
        if let BatchOrder::Batched(all) = &self.order {
            return all.get(number).map(|batch| whole(batch));
        }
        let start = number.checked_mul(self.size).filter(|_| number < self.count)?;
        let end = start.saturating_add(self.size);
        Some(match &self.order {
            BatchOrder::InTurn(n) => poll::listed(start..end.min(*n)),
            BatchOrder::Listed(all) => whole(all.get(start..end.min(all.len())).unwrap_or(&[])),
            BatchOrder::Batched(_) => Ok(Vec::new()),
        })
    }
}

/// Fetches batches.
pub(crate) struct Fetcher {
    pub(super) dataset: Data,
    pub(super) options: Arc<LoaderOptions>,
    /// Nobody waits any more.
    pub stop: Arc<AtomicBool>,
}

impl Fetcher {
    /// What a worker fetches with: as a process of its own, it has what functions use as it is now, and nobody sees what
    /// they change of it.
    ///
    /// # Errors
    /// A function uses what can't be copied.
    pub(super) fn of_worker(self: &Arc<Fetcher>) -> Result<Arc<Fetcher>> {
        let (collate, init) = (&self.options.collate_fn, &self.options.worker_init_fn);
        let function = self.dataset.0.function().or(collate.as_ref()).or(init.as_ref());
        let Some(mut copies) = function.and_then(|function| function.0.copies()) else {
            return Ok(Arc::clone(self));
        };
        let dataset = self.dataset.copy(&mut *copies)?;
        let options = Arc::new(self.options.with_own_functions(&mut *copies)?);
        Ok(Arc::new(Fetcher { dataset, options, stop: Arc::clone(&self.stop) }))
    }

    /// The batch of `indices`, in page-locked memory where that is asked for and there is a device to copy to.
    pub(crate) fn fetch(&self, indices: &[usize]) -> Result<Value> {
        let batch = match (&self.options.collate_fn, self.options.batched(), indices) {
            (Some(make), true, _) => {
                let all = samples(&**self.dataset.0, indices, &self.stop)?;
                make.0.run(vec![Value::List(all)]).map_err(|e| noted(e, "in the loader's collate_fn"))?
            }
            (_, false, [index]) => {
                let sample = samples(&**self.dataset.0, &[*index], &self.stop)?.pop().unwrap_or(Value::None);
                match &self.options.collate_fn {
                    Some(make) => {
                        make.0.run(vec![sample]).map_err(|e| noted(e, "in the loader's collate_fn"))?
                    }
                    None => sample,
                }
            }
            _ => self.dataset.0.fetch(indices, &self.stop)?,
        };
        if self.options.pin_memory && !Machine::current().gpus().is_empty() {
            return map_tensors(&batch, &Tensor::pin_memory);
        }
        Ok(batch)
    }
}

pub(crate) enum BatchOrder {
    InTurn(usize),
    Listed(Vec<i64>),
    /// Batch by batch.
    Batched(Vec<Vec<i64>>),
}
