//! Threads that fetch batches ahead.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::base::error::Exit;
use crate::base::event::Body;
use crate::base::{Device, Error, Kind, Result};
use crate::data::fetch::{Batches, Fetcher, LoaderOptions};
use crate::device::Machine;
use crate::device::cpu::threads;
use crate::device::host_addresses::take_from;
use crate::device::host_time::{Ledger, end_ledger};
use crate::device::shared::{RunningLine, Shared, work_aside};
use crate::op::Value;
use crate::tensor::autograd::set_grad_mode;

use super::dataset::noted;

/// How often the waiting thread looks for an interrupt.
const GLANCE: Duration = Duration::from_millis(20);

/// Bytes of a worker's stack: a script's functions may call each other as deeply there as on the session's thread.
/// Only what is used takes memory.
const STACK: usize = 64 << 20;

/// The most batches that are ahead, whatever is asked for: each has its indices in a queue.
const FAR: usize = 1 << 16;

/// The workers of an epoch, or of one after another. Batches go to them in turn, so that what a worker draws does not
/// depend on how fast the others are. Dropping this stops and joins them.
pub(crate) struct Workers {
    threads: Vec<Worker>,
    source: Arc<Fetcher>,
    batches: Arc<Batches>,
    /// Counts the epochs.
    run: u64,
    done: Receiver<Done>,
    /// Batches that came before their turn.
    ready: BTreeMap<usize, Done>,
    shared: Arc<Shared>,
    sent: usize,
    ahead: usize,
    timeout: Option<Duration>,
}

struct Worker {
    /// Batches to fetch; dropped to end the thread.
    jobs: Option<Sender<BatchJob>>,
    thread: Option<JoinHandle<()>>,
    /// When it was done with its last batch, on a modelled host's clock.
    time: u64,
}

/// One batch of an epoch.
struct BatchJob {
    run: u64,
    number: usize,
    indices: Vec<usize>,
    /// The line that asked for it: the loop's.
    line: RunningLine,
    /// When it was asked for, on a modelled host's clock.
    asked: u64,
}

struct Done {
    run: u64,
    number: usize,
    asked: u64,
    batch: Result<Value>,
    /// What fetching it took of a modelled host's time.
    took: Ledger,
}

impl Workers {
    /// Starts the threads and has them fetch the first batches. Worker `i` draws from generators of seed `seed + i`.
    pub(crate) fn start(
        machine: &Machine,
        seed: u64,
        source: &Arc<Fetcher>,
        batches: &Arc<Batches>,
        options: &LoaderOptions,
    ) -> Result<Workers> {
        let (results, done) = channel();
        let ahead = options.num_workers.saturating_mul(options.prefetch_factor.unwrap_or(2)).min(FAR);
        let mut workers = Workers {
            threads: Vec::new(),
            source: Arc::clone(source),
            batches: Arc::clone(batches),
            run: 0,
            done,
            ready: BTreeMap::new(),
            shared: Arc::clone(&machine.shared),
            sent: 0,
            ahead,
            timeout: options.timeout,
        };
        for number in 0..options.num_workers {
            machine.shared.cancel.check()?;
            let own = machine.seeded(seed.wrapping_add(number as u64));
            let (source, results) = (source.of_worker()?, results.clone());
            let (jobs, queue) = channel::<BatchJob>();
            let init = source.options.worker_init_fn.clone();
            let (line, addresses) = (machine.shared.running(), machine.shared.host_addresses.stretch());
            let run = move || {
                work_aside(u32::try_from(number).unwrap_or(u32::MAX).saturating_add(1));
                own.shared.go_on_at(line);
                take_from(addresses);
                let _here = own.enter();
                let _no_grad = set_grad_mode(false);
                own.shared.begin_work();
                let started =
                    init.map_or(Ok(Value::None), |f| f.0.run(vec![Value::Scalar((number as i64).into())]));
                // An error there is what the first batch comes to.
                let mut failed = started.err().map(|e| in_worker(number, noted(e, "in the worker_init_fn")));
                while let Ok(job) = queue.recv()
                    && !source.stop.load(Ordering::Relaxed)
                {
                    own.shared.go_on_at(job.line);
                    let batch = match failed.take() {
                        Some(error) => Err(error),
                        None => source.fetch(&job.indices).map_err(|e| in_worker(number, e)),
                    };
                    let BatchJob { run, number, asked, .. } = job;
                    if results.send(Done { run, number, asked, batch, took: end_ledger() }).is_err() {
                        return;
                    }
                    own.shared.begin_work();
                }
            };
            let thread = threads::start(format!("loader-{number}"), STACK, run);
            let thread = thread.map_err(|e| Error::runtime(format!("a loader worker cannot start: {e}")))?;
            let time = workers.now();
            workers.threads.push(Worker { jobs: Some(jobs), thread: Some(thread), time });
            if let Some(time) = machine.shared.host_time() {
                time.crowd(1);
            }
        }
        workers.send_until(ahead)?;
        Ok(workers)
    }

    /// Begins another epoch with the same threads, whose generators go on from where they are. What was under way for
    /// the one before is fetched and dropped, as PyTorch does with `persistent_workers`.
    pub(crate) fn again(&mut self, batches: &Arc<Batches>) -> Result<()> {
        self.run += 1;
        self.batches = Arc::clone(batches);
        self.ready.clear();
        self.sent = 0;
        self.send_until(self.ahead)
    }

    /// What they fetch with.
    pub(crate) fn source(&self) -> Arc<Fetcher> {
        Arc::clone(&self.source)
    }

    /// Which epoch this is.
    pub(crate) fn run(&self) -> u64 {
        self.run
    }

    fn keep(&mut self, done: Done) {
        if done.run == self.run {
            self.ready.insert(done.number, done);
        }
    }

    /// Batch `number`, once it is there. Its worker then gets another one to do.
    pub(crate) fn batch(&mut self, number: usize, machine: &Machine) -> Result<Value> {
        let began = Instant::now();
        self.take_finished();
        let asked = (!self.ready.contains_key(&number)).then(|| self.shared.nanos());
        loop {
            if let Some(done) = self.ready.remove(&number) {
                let batch = self.arrived(done, asked);
                self.send_until(number.saturating_add(1).saturating_add(self.ahead))?;
                return batch;
            }
            match self.done.recv_timeout(GLANCE) {
                Ok(done) => self.keep(done),
                Err(RecvTimeoutError::Timeout) => {
                    machine.shared.cancel.check()?;
                    self.check_alive(number)?;
                    if let Some(most) = self.timeout.filter(|most| began.elapsed() >= *most) {
                        let seconds = crate::base::python::float(most.as_secs_f64());
                        return Err(Error::runtime(format!("DataLoader timed out after {seconds} seconds")));
                    }
                }
                Err(RecvTimeoutError::Disconnected) => self.check_alive(number)?,
            }
        }
    }

    /// A batch is taken: on a modelled host's clock its worker did it after the one before and after it was asked for,
    /// and the script's thread waits for that. On a real one the thread has waited since it asked, where it had to.
    fn arrived(&mut self, done: Done, asked: Option<u64>) -> Result<Value> {
        let turn = done.number % self.threads.len().max(1);
        let shared = Arc::clone(&self.shared);
        let span = match (shared.host_time(), self.threads.get_mut(turn)) {
            (Some(time), Some(worker)) => {
                let start = worker.time.max(done.asked);
                worker.time =
                    time.replay(start, done.took, &mut |source, body| shared.bus.emit(source, || body));
                Some(time.wait_until(worker.time))
            }
            (Some(_), None) => None,
            (None, _) => asked.map(|asked| shared.span_since(asked)),
        };
        if let Some(span) = span.filter(|span| span.nanos > 0) {
            let held = || Body::Hold { device: Device::Cpu, cause: "a loader's batch".into(), span };
            shared.bus.emit(shared.source(), held);
        }
        done.batch
    }

    /// What workers have done by now, and not yet handed over.
    fn take_finished(&mut self) {
        while let Ok(done) = self.done.try_recv() {
            self.keep(done);
        }
    }

    /// The time on a modelled host's clock.
    fn now(&self) -> u64 {
        self.shared.host_time().map_or(0, |time| time.now())
    }

    /// Hands out batches up to `end`.
    fn send_until(&mut self, end: usize) -> Result<()> {
        while self.sent < end.min(self.batches.len()) {
            let turn = self.sent % self.threads.len().max(1);
            if let Some(jobs) = self.threads.get(turn).and_then(|w| w.jobs.as_ref()) {
                // A worker that is gone is noticed when its batch does not come.
                let indices = self.batches.get(self.sent).unwrap_or_else(|| Ok(Vec::new()))?;
                let (line, asked) = (self.shared.running(), self.now());
                let _ = jobs.send(BatchJob { run: self.run, number: self.sent, indices, line, asked });
            }
            self.sent += 1;
        }
        Ok(())
    }

    /// Fails where the worker that owes batch `number` has ended without it.
    fn check_alive(&mut self, number: usize) -> Result<()> {
        let turn = number % self.threads.len().max(1);
        let running =
            self.threads.get(turn).and_then(|w| w.thread.as_ref()).is_some_and(|t| !t.is_finished());
        if running {
            return Ok(());
        }
        // Its last results may have come in the meantime.
        self.take_finished();
        if self.ready.contains_key(&number) {
            return Ok(());
        }
        Err(Error::runtime(format!("DataLoader worker {turn} exited unexpectedly")))
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.source.stop.store(true, Ordering::Relaxed);
        self.threads.iter_mut().for_each(|worker| worker.jobs = None);
        if let (Some(time), Ok(count)) = (self.shared.host_time(), i32::try_from(self.threads.len())) {
            time.crowd(-count);
        }
        for worker in &mut self.threads {
            if let Some(thread) = worker.thread.take() {
                // A worker that panicked has said so on standard error.
                let _ = thread.join();
            }
        }
    }
}

fn in_worker(worker: usize, error: Error) -> Error {
    if let Some(exit) = error.exit() {
        let code = match exit {
            Exit::Fine | Exit::Status(0) => String::new(),
            Exit::Status(status) => format!(" with exit code {}", status.rem_euclid(256)),
            Exit::Text(_) => " with exit code 1".into(),
        };
        return Error::runtime(format!("DataLoader worker {worker} exited unexpectedly{code}")).with_hint(
            format!(
                "{exit} ended it, as it ends a process in PyTorch; with `num_workers: 0` it ends the run"
            ),
        );
    }
    if error.is_interrupt() || error.kind() == Kind::OutOfMemoryError {
        return error;
    }
    let text = format!("Caught {} in DataLoader worker process {worker}.\n{}", error.kind(), error.message());
    error.reworded(text)
}
