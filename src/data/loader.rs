//! The loader: batches in order, fetched by worker threads ahead of time.

use std::sync::{Arc, Mutex, MutexGuard};

use crate::base::event::Body;
use crate::base::{Error, Kind, Result};
use crate::data::draws::draw_seed;
use crate::data::fetch::{BatchOrder, Batches, Fetcher, LoaderOptions};
use crate::device::Machine;
use crate::device::examine::refuse_change;
use crate::op::{Copies, Value};

use super::dataset::Data;
use super::sampler::{self, Drawn, Sampler, out_of_bounds};
use super::workers::Workers;

/// The most workers: more threads than any machine has use for are a slip of the pen.
const MOST_WORKERS: usize = 256;

/// PyTorch's warning.
const NOT_PINNED: &str = "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.";

/// Goes through a dataset in batches; each [`DataLoader::iter`] is one epoch.
#[derive(Clone)]
pub struct DataLoader {
    pub dataset: Data,
    pub options: Arc<LoaderOptions>,
    /// Workers that live across epochs.
    kept: Arc<Mutex<Option<Team>>>,
}

/// Workers that an epoch, and where they persist their loader, holds.
type Team = Arc<Mutex<Workers>>;

impl DataLoader {
    /// # Errors
    /// Options that exclude each other, in PyTorch's words.
    pub fn new(dataset: Data, options: LoaderOptions) -> Result<DataLoader> {
        let size = dataset.0.len();
        let given = |s: &Option<Sampler>| s.as_ref().and_then(|s| s.outside(size));
        let problem = if options.batch_sampler.is_some()
            && (options.batch_size != Some(1)
                || options.shuffle
                || options.sampler.is_some()
                || options.drop_last)
        {
            "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                .into()
        } else if options.batch_size == Some(0) {
            "batch_size should be a positive integer value, but got batch_size=0".into()
        } else if options.sampler.is_some() && options.shuffle {
            "sampler option is mutually exclusive with shuffle".into()
        } else if options.batch_size.is_none() && options.drop_last {
            "batch_size=None option disables auto-batching and is mutually exclusive with drop_last".into()
        } else if options.num_workers == 0 && options.prefetch_factor.is_some() {
            "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable \
             multiprocessing, otherwise set prefetch_factor to None."
                .into()
        } else if options.num_workers == 0 && options.persistent_workers {
            "persistent_workers option needs num_workers > 0".into()
        } else if options.prefetch_factor == Some(0) {
            "prefetch_factor must be at least 1 where there are workers".into()
        } else if options.num_workers > MOST_WORKERS {
            format!("num_workers={} is more than {MOST_WORKERS}", options.num_workers)
        } else if options.num_workers == 0 && options.timeout.is_some() {
            let text = "_SingleProcessDataLoaderIter requires timeout == 0";
            return Err(
                Error::new(Kind::AssertionError, text).with_hint("`num_workers` of 1 or more has a timeout")
            );
        } else if let Some(at) = given(&options.sampler).or_else(|| given(&options.batch_sampler)) {
            return Err(out_of_bounds(at, size));
        } else if size == 0 && options.shuffle {
            // As `RandomSampler` says it.
            "num_samples should be a positive integer value, but got num_samples=0".into()
        } else {
            warn_of_many(options.num_workers);
            return Ok(DataLoader { dataset, options: Arc::new(options), kept: Arc::default() });
        };
        Err(Error::value(problem))
    }

    /// A number that tells loaders apart while they live.
    pub(crate) fn id(&self) -> usize {
        Arc::as_ptr(&self.kept).addr()
    }

    /// A loader of the dataset's copy, without workers that live.
    pub(crate) fn copied_with(&self, copies: &mut dyn Copies) -> Result<DataLoader> {
        let dataset = Data::of(&copies.value(&self.dataset.clone().into_value())?)?;
        let options = Arc::new(self.options.copied_with(copies)?);
        Ok(DataLoader { dataset, options, kept: Arc::default() })
    }

    /// Batches of an epoch.
    pub fn len(&self) -> usize {
        if let Some(batches) = &self.options.batch_sampler {
            return batches.len();
        }
        let samples = self.options.sampler.as_ref().map_or(self.dataset.0.len(), Sampler::len);
        match self.options.batch_size {
            None => samples,
            Some(size) if self.options.drop_last => samples / size.max(1),
            Some(size) => samples.div_ceil(size.max(1)),
        }
    }

    /// Whether there is no batch.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Starts an epoch on the thread's machine. The order is drawn from its generator as PyTorch draws it.
    pub fn iter(&self) -> Result<Epoch> {
        // Workers run the learner's functions where no check is seen.
        if self.options.num_workers > 0 {
            refuse_change()?;
        }
        let machine = Machine::current();
        if self.options.pin_memory && machine.gpus().is_empty() {
            machine.shared.warn_once(NOT_PINNED);
        }
        // PyTorch's iterator draws a seed for its workers first, whether it has any or not; those that are there have
        // theirs.
        let generator = self.options.generator.as_ref().unwrap_or(&machine.generator);
        let kept = lock(&self.kept).clone();
        let seed = if kept.is_none() { draw_seed(generator) } else { 0 };
        let samples = self.dataset.0.len();
        let drawn = match self.options.sampler.as_ref().or(self.options.batch_sampler.as_ref()) {
            Some(sampler) => Some(sampler.draw()?),
            None if self.options.shuffle => {
                let own = self.options.generator.clone();
                Some(Sampler::random(samples, false, None, own)?.draw()?)
            }
            None => None,
        };
        if let Some(drawn) = &drawn {
            sampler::check(drawn, samples)?;
        }
        let order = match drawn {
            Some(Drawn::Samples(all)) => BatchOrder::Listed(all),
            Some(Drawn::Batches(all)) => BatchOrder::Batched(all),
            None => BatchOrder::InTurn(samples),
        };
        let size = self.options.batch_size.unwrap_or(1).max(1);
        let batches = Arc::new(Batches { order, size, count: self.len() });
        if let Some(team) = kept {
            let mut workers = lock(&team);
            workers.again(&batches)?;
            let (run, source) = (workers.run(), workers.source());
            drop(workers);
            return Ok(Epoch { machine, batches, next: 0, run, source, workers: Some(team) });
        }
        let source = Arc::new(Fetcher {
            dataset: self.dataset.clone(),
            options: Arc::clone(&self.options),
            stop: Arc::default(),
        });
        let workers = match self.options.num_workers {
            0 => None,
            _ => {
                let workers = Workers::start(&machine, seed, &source, &batches, &self.options)?;
                Some(Arc::new(Mutex::new(workers)))
            }
        };
        if self.options.persistent_workers {
            lock(&self.kept).clone_from(&workers);
        }
        Ok(Epoch { machine, batches, next: 0, run: 0, source, workers })
    }
}

/// One run through the data.
pub struct Epoch {
    machine: Arc<Machine>,
    batches: Arc<Batches>,
    next: usize,
    /// Which epoch of its workers this is.
    run: u64,
    source: Arc<Fetcher>,
    /// Let go when the epoch is dropped, has failed or is over: they end then, unless the loader keeps them.
    workers: Option<Team>,
}

impl Iterator for Epoch {
    type Item = Result<Value>;

    fn next(&mut self) -> Option<Result<Value>> {
        let batch = self.batch()?;
        self.next += 1;
        match batch {
            Ok(_) => self.tell(),
            Err(_) => self.next = self.batches.len(),
        }
        if self.next == self.batches.len() {
            self.workers = None;
        }
        Some(batch)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.batches.len().saturating_sub(self.next);
        (left, Some(left))
    }
}

impl Epoch {
    fn batch(&mut self) -> Option<Result<Value>> {
        let indices = match self.batches.get(self.next)? {
            Ok(indices) => indices,
            Err(error) => return Some(Err(error)),
        };
        if let Err(error) = self.machine.shared.cancel.check() {
            return Some(Err(error));
        }
        Some(match &self.workers {
            Some(team) => {
                let mut workers = lock(team);
                if workers.run() != self.run {
                    let text = "this epoch ended when its loader, whose workers persist, began another one";
                    return Some(Err(Error::runtime(text).with_hint(
                        "loops inside one another take a loader each, or no `persistent_workers`",
                    )));
                }
                workers.batch(self.next, &self.machine)
            }
            None => self.source.fetch(&indices),
        })
    }

    fn tell(&self) {
        let (shared, options) = (&self.machine.shared, &self.source.options);
        let workers = u32::try_from(options.num_workers).unwrap_or(u32::MAX);
        shared.bus.emit(shared.source(), || Body::Batch { workers, pinned: options.pin_memory });
    }
}

/// PyTorch's warning of more workers than the host has cores: those of the modelled host, where there is one.
fn warn_of_many(workers: usize) {
    let machine = Machine::current();
    let cores = match machine.shared.host_time() {
        Some(time) => time.cores(),
        None => std::thread::available_parallelism().map_or(1, |n| n.get()),
    };
    if workers > cores {
        machine.shared.warn_once(&format!(
            "This DataLoader will create {workers} worker processes in total. Our suggested max number of worker in current \
             system is {cores}, which is smaller than what this DataLoader is going to create. Please be aware that \
             excessive worker creation might get DataLoader running slow or even freeze, lower the worker number to avoid \
             potential slowness/freeze if necessary."
        ));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}
