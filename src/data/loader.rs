//! The loader: batches in order, fetched by worker threads ahead of time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use crate::base::{Error, Result};
use crate::device::kernel::{Distribution, Random, RandomSource};
use crate::device::random::{Mt19937, Shared};
use crate::device::{Kernel, Machine};
use crate::tensor::autograd::set_grad_mode;
use crate::tensor::{Tensor, launch};

use super::dataset::{Batch, Dataset};

/// How batches are made, as `torch.utils.data.DataLoader` has it.
#[derive(Clone, Debug)]
pub struct Options {
    pub batch_size: usize,
    pub shuffle: bool,
    pub num_workers: usize,
    pub pin_memory: bool,
    pub drop_last: bool,
    /// Batches that each worker holds ready.
    pub prefetch_factor: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            batch_size: 1,
            shuffle: false,
            num_workers: 0,
            pin_memory: false,
            drop_last: false,
            prefetch_factor: 2,
        }
    }
}

/// Goes through a dataset in batches; each [`DataLoader::iter`] is one epoch.
#[derive(Clone)]
pub struct DataLoader {
    pub dataset: Arc<dyn Dataset>,
    pub options: Options,
}

impl DataLoader {
    pub fn new(dataset: Arc<dyn Dataset>, options: Options) -> Result<DataLoader> {
        if options.batch_size == 0 {
            let text = "batch_size should be a positive integer value, but got batch_size=0";
            return Err(Error::value(text));
        }
        if options.num_workers > 0 && options.prefetch_factor == 0 {
            return Err(Error::value("prefetch_factor must be at least 1 where there are workers"));
        }
        Ok(DataLoader { dataset, options })
    }

    /// Batches of an epoch.
    pub fn len(&self) -> usize {
        let (n, size) = (self.dataset.len(), self.options.batch_size);
        if self.options.drop_last { n / size } else { n.div_ceil(size) }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Starts an epoch on the thread's machine. The order is drawn from its generator as PyTorch draws it.
    pub fn iter(&self) -> Result<Epoch> {
        let machine = Machine::current();
        // PyTorch's iterator draws a seed for its workers first, whether it has any or not.
        draw_seed(&machine);
        let mut order: Vec<i64> = (0..self.dataset.len() as i64).collect();
        if self.options.shuffle {
            let seed = draw_seed(&machine);
            order = permutation(order.len(), seed)?;
        }
        let mut batches: Vec<Vec<i64>> = order.chunks(self.options.batch_size).map(<[i64]>::to_vec).collect();
        batches.truncate(self.len());
        let source = if self.options.num_workers == 0 {
            Source::Here(Arc::clone(&self.dataset))
        } else {
            Source::Workers(Workers::start(&machine, &self.dataset, &self.options)?)
        };
        Ok(Epoch { machine, batches, next: 0, source, pin: self.options.pin_memory })
    }
}

/// One run through the data.
pub struct Epoch {
    machine: Arc<Machine>,
    batches: Vec<Vec<i64>>,
    next: usize,
    source: Source,
    pin: bool,
}

enum Source {
    Here(Arc<dyn Dataset>),
    Workers(Workers),
}

impl Iterator for Epoch {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Result<Batch>> {
        if let Err(error) = self.machine.shared.cancel.check() {
            self.next = self.batches.len();
            return Some(Err(error));
        }
        let indices = self.batches.get(self.next)?;
        let batch = match &mut self.source {
            Source::Here(dataset) => fetch(&**dataset, indices),
            Source::Workers(workers) => workers.batch(self.next, &self.batches, &self.machine),
        };
        self.next += 1;
        let batch = batch.and_then(|b| if self.pin { pinned(&b) } else { Ok(b) });
        if batch.is_err() {
            self.next = self.batches.len();
        }
        Some(batch)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.batches.len() - self.next;
        (left, Some(left))
    }
}

/// Threads that fetch batches ahead. Dropping it ends them.
struct Workers {
    jobs: Option<Sender<(usize, Vec<i64>)>>,
    done: Receiver<(usize, Result<Batch>)>,
    ready: BTreeMap<usize, Result<Batch>>,
    sent: usize,
    ahead: usize,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    fn start(machine: &Arc<Machine>, dataset: &Arc<dyn Dataset>, options: &Options) -> Result<Workers> {
        let (jobs, queue) = channel::<(usize, Vec<i64>)>();
        let (results, done) = channel();
        let queue = Arc::new(std::sync::Mutex::new(queue));
        let mut threads = Vec::new();
        for worker in 0..options.num_workers {
            let (machine, dataset) = (Arc::clone(machine), Arc::clone(dataset));
            let (queue, results) = (Arc::clone(&queue), results.clone());
            let run = move || {
                let _here = machine.enter();
                let _no_grad = set_grad_mode(false);
                loop {
                    let job = queue.lock().unwrap_or_else(|e| e.into_inner()).recv();
                    let Ok((number, indices)) = job else { return };
                    let batch = fetch(&*dataset, &indices).map_err(|e| in_worker(worker, e));
                    if results.send((number, batch)).is_err() {
                        return;
                    }
                }
            };
            let name = format!("loader-{worker}");
            let thread = std::thread::Builder::new().name(name).spawn(run);
            threads.push(thread.map_err(|e| Error::runtime(format!("a loader worker cannot start: {e}")))?);
        }
        let ahead = options.num_workers.saturating_mul(options.prefetch_factor);
        Ok(Workers { jobs: Some(jobs), done, ready: BTreeMap::new(), sent: 0, ahead, threads })
    }

    /// Batch `number`, once it is there; keeps the workers busy up to `ahead` batches further.
    fn batch(&mut self, number: usize, batches: &[Vec<i64>], machine: &Machine) -> Result<Batch> {
        while self.sent <= number.saturating_add(self.ahead)
            && let Some(indices) = batches.get(self.sent)
        {
            if let Some(jobs) = &self.jobs {
                // A worker that is gone is noticed when its batch does not come.
                let _ = jobs.send((self.sent, indices.clone()));
            }
            self.sent += 1;
        }
        loop {
            if let Some(batch) = self.ready.remove(&number) {
                return batch;
            }
            match self.done.recv_timeout(std::time::Duration::from_millis(20)) {
                Ok((n, batch)) => {
                    self.ready.insert(n, batch);
                }
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => machine.shared.cancel.check()?,
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => {
                    return Err(Error::runtime("the loader's workers ended without an answer"));
                }
            }
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            // A worker that panicked has said so on standard error.
            let _ = thread.join();
        }
    }
}

/// Fetches a batch; where that fails, finds out which sample it was.
fn fetch(dataset: &dyn Dataset, indices: &[i64]) -> Result<Batch> {
    dataset.fetch(indices).map_err(|error| {
        let culprit = indices.iter().find(|&&i| dataset.fetch(&[i]).is_err());
        match culprit {
            Some(i) => Error::new(error.kind(), format!("{}\nwhile loading sample {i}", error.message())),
            None => error,
        }
    })
}

fn in_worker(worker: usize, error: Error) -> Error {
    if error.is_interrupt() {
        return error;
    }
    Error::new(
        error.kind(),
        format!("Caught {} in DataLoader worker process {worker}.\n{}", error.kind(), error.message()),
    )
}

fn pinned(batch: &Batch) -> Result<Batch> {
    batch.iter().map(Tensor::pin_memory).collect()
}

/// A seed as `torch.empty((), dtype=int64).random_()` draws it.
fn draw_seed(machine: &Machine) -> u64 {
    machine.generator.lock().next_u64() & (i64::MAX as u64)
}

/// A permutation as `torch.randperm` gives with a generator of this seed.
fn permutation(n: usize, seed: u64) -> Result<Vec<i64>> {
    let machine = Machine::current();
    let out = Tensor::empty(&[n], crate::base::DType::Int64, machine.cpu(), "randperm")?;
    let generator = Shared::new(seed);
    *generator.lock() = Mt19937::new(seed);
    let random = Random { distribution: Distribution::Permutation, source: RandomSource::Host(generator) };
    launch("randperm", &Kernel::Random(random), &[], &[&out])?;
    out.to_i64s("randperm")
}
