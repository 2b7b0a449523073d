//! The session's side of the protocol: reads requests, has them evaluated, writes what there is to say.
//!
//! Four threads: the caller's waits for the end, one reads requests (an interrupt acts at once, everything else
//! queues), one evaluates, one writes. None of them outlives a front end that has gone.

use std::io::{self, BufReader, Read, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::Builder;
use std::time::{Duration, Instant};

use crate::base::Error;
use crate::base::event::Subscription;

use super::engine::{CheckStopped, Evaluator, Host, Inspected};
use super::limits::{LimitWatch, Over, RunLimits};
use super::outbox::{Outbox, PROMPT, content_bytes};
use super::protocol::{
    self, Display, Fault, Message, Outcome, ProbeValue, Request, Stream, Usage, VERSION, Verdict,
};
use super::queue::{Queue, Turn};
use super::sandbox;
use super::writer::Wire;

/// Stack of the evaluating thread, in bytes; only what is used takes memory.
pub(crate) const STACK: usize = 64 << 20;
/// What still runs when the front end has gone gets so long to stop.
const GRACE: Duration = Duration::from_millis(300);

/// Why a session ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    /// The front end asked for it, after all that waited was answered.
    Shutdown,
    /// The front end closed its side or can't be written to.
    FrontEndGone,
    /// The front end broke the protocol, or the evaluator could not be made; the front end was told why.
    Refused(String),
    /// The evaluator panicked.
    Panicked,
    /// What ran did not stop when it was told that its time was over; the front end was told so.
    Stuck,
}

impl Ending {
    /// The exit status a session's process reports it with.
    pub fn code(&self) -> i32 {
        match self {
            Ending::Shutdown | Ending::FrontEndGone => 0,
            Ending::Refused(_) => 2,
            Ending::Panicked => 101,
            Ending::Stuck => 124,
        }
    }
}

/// Takes this process's standard streams, confines it, and serves one front end. The caller exits with
/// [`Ending::code`] afterwards: a native loop that ignores the interrupt is left behind by exiting alone.
/// `runs` limits what each evaluation takes in time and shows; memory is the evaluator's to limit.
///
/// # Errors
/// The streams can't be taken, a limit that was asked for can't be set, or a thread can't be started.
pub fn serve_stdio<E: Evaluator + 'static>(
    limits: &sandbox::Limits,
    runs: RunLimits,
    make: impl FnOnce() -> Result<E, String> + Send + 'static,
) -> io::Result<Ending> {
    let (input, output) = sandbox::take_stdio()?;
    sandbox::apply(limits)?;
    serve(input, output, runs, make)
}

/// Serves one front end over any two streams, until it shuts the session down, goes away or breaks the protocol.
/// `make` runs on the evaluating thread; what it can't make is refused with its reason.
///
/// # Errors
/// A thread can't be started.
pub fn serve<E: Evaluator + 'static>(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    runs: RunLimits,
    make: impl FnOnce() -> Result<E, String> + Send + 'static,
) -> io::Result<Ending> {
    let (outbox, queue) = (Arc::new(Outbox::new(PROMPT, Wire::new(output))), Arc::new(Queue::default()));
    let (ends, ended) = mpsc::channel();
    start("writer", None, HostPart::Writer, &ends, {
        let outbox = Arc::clone(&outbox);
        move || if outbox.write_all() { Ending::Shutdown } else { Ending::FrontEndGone }
    })?;
    start("evaluator", Some(STACK), HostPart::Evaluator, &ends, {
        let (outbox, queue, ends) = (Arc::clone(&outbox), Arc::clone(&queue), ends.clone());
        move || Worker::run(&outbox, &queue, runs, ends, make)
    })?;
    start("reader", None, HostPart::Reader, &ends, {
        let (outbox, queue) = (Arc::clone(&outbox), Arc::clone(&queue));
        move || read_requests(input, &outbox, &queue)
    })?;
    drop(ends);
    Ok(supervise(&ended, &outbox, &queue))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum HostPart {
    Reader,
    Evaluator,
    Writer,
    /// What ends evaluations on time.
    Watch,
}

/// Starts a thread that reports how it ended, even by a panic.
fn start(
    name: &str,
    stack: Option<usize>,
    part: HostPart,
    ends: &Sender<(HostPart, Ending)>,
    work: impl FnOnce() -> Ending + Send + 'static,
) -> io::Result<()> {
    struct Report(Sender<(HostPart, Ending)>, HostPart, Option<Ending>);
    impl Drop for Report {
        fn drop(&mut self) {
            let _ = self.0.send((self.1, self.2.take().unwrap_or(Ending::Panicked)));
        }
    }
    let builder = Builder::new().name(name.into());
    let builder = match stack {
        Some(bytes) => builder.stack_size(bytes),
        None => builder,
    };
    let report = Report(ends.clone(), part, None);
    builder
        .spawn(move || {
            let mut report = report;
            report.2 = Some(work());
        })
        .map(drop)
}

/// Waits for the parts to end. The first to end says why; the others follow it, or are left behind after the grace.
fn supervise(ended: &Receiver<(HostPart, Ending)>, outbox: &Outbox, queue: &Queue) -> Ending {
    let mut why = None;
    let mut deadline: Option<Instant> = None;
    let (mut evaluating, mut writing) = (true, true);
    while evaluating || writing {
        let next = match deadline {
            None => ended.recv().ok(),
            Some(end) => ended.recv_timeout(end.saturating_duration_since(Instant::now())).ok(),
        };
        let Some((part, ending)) = next else { break };
        why.get_or_insert(ending);
        match part {
            HostPart::Evaluator => {
                evaluating = false;
                outbox.close();
            }
            // The evaluator is left behind.
            HostPart::Watch => {
                evaluating = false;
                deadline.get_or_insert_with(|| Instant::now() + GRACE);
                outbox.close();
            }
            // Nobody asks any more, or nobody listens: what runs is stopped.
            HostPart::Reader | HostPart::Writer => {
                writing &= part != HostPart::Writer;
                queue.end();
                deadline.get_or_insert_with(|| Instant::now() + GRACE);
                if !writing {
                    outbox.close();
                }
            }
        }
    }
    outbox.close();
    why.unwrap_or(Ending::Panicked)
}

/// Reads until the front end goes or breaks the protocol.
fn read_requests(input: impl Read, outbox: &Outbox, queue: &Queue) -> Ending {
    let mut input = BufReader::with_capacity(64 << 10, input);
    let refuse = |reason: String| {
        outbox.try_fence(Message::Refused { id: None, reason: reason.clone() });
        Ending::Refused(reason)
    };
    match protocol::read(&mut input) {
        Ok(Some(hello @ Request::Hello { version: VERSION })) => {
            // The first in an empty queue always has room.
            let _ = queue.push(hello);
        }
        Ok(Some(Request::Hello { version })) => {
            return refuse(format!("this session speaks version {VERSION} of the protocol, not {version}"));
        }
        Ok(Some(_)) => return refuse("the first message must be `hello`".into()),
        Ok(None) => return Ending::FrontEndGone,
        Err(error) => return refuse(not_a_request(&error)),
    }
    loop {
        match protocol::read(&mut input) {
            Ok(Some(Request::Interrupt)) => queue.interrupt(),
            Ok(Some(request)) => {
                let id = request.id();
                // An answer from here never waits for room: an interrupt or the end may come next.
                if let Err(reason) = queue.push(request)
                    && !outbox.try_fence(Message::Refused { id, reason })
                {
                    return refuse("requests keep coming and their answers are not read".into());
                }
            }
            Ok(None) => return Ending::FrontEndGone,
            Err(error) => return refuse(not_a_request(&error)),
        }
    }
}

fn not_a_request(error: &io::Error) -> String {
    format!("the input is not a request of version {VERSION} of the protocol: {error}")
}

/// Has requests evaluated, one at a time.
struct Worker<'a, E> {
    evaluator: E,
    outbox: &'a Arc<Outbox>,
    queue: &'a Queue,
    watch: Arc<LimitWatch>,
    /// Lasts from the answer to `hello` on.
    events: Option<Subscription>,
}

impl<E: Evaluator> Worker<'_, E> {
    fn run(
        outbox: &Arc<Outbox>,
        queue: &Queue,
        runs: RunLimits,
        ends: Sender<(HostPart, Ending)>,
        make: impl FnOnce() -> Result<E, String>,
    ) -> Ending {
        let evaluator = match make() {
            Ok(evaluator) => evaluator,
            Err(reason) => {
                outbox.fence(Message::Refused { id: None, reason: reason.clone() });
                return Ending::Refused(reason);
            }
        };
        queue.interrupt_with(evaluator.interrupt_handle());
        let watch = Arc::new(LimitWatch::new(runs, evaluator.interrupt_handle()));
        let said = Arc::clone(outbox);
        let started = watch.start(move |last_word| {
            said.try_fence(last_word);
            // Where nobody waits any more, the session has ended.
            let _ = ends.send((HostPart::Watch, Ending::Stuck));
        });
        if let Err(error) = started {
            let reason = format!("nothing would end code on time: {error}");
            outbox.fence(Message::Refused { id: None, reason: reason.clone() });
            return Ending::Refused(reason);
        }
        let ending = Worker { evaluator, outbox, queue, watch: Arc::clone(&watch), events: None }.work();
        watch.close();
        ending
    }

    fn work(&mut self) -> Ending {
        loop {
            match self.queue.next() {
                Turn::Serve(Request::Shutdown) => return Ending::Shutdown,
                Turn::Serve(request) => self.serve(request),
                Turn::Cancelled(request) => self.cancel(request),
                Turn::End => return Ending::FrontEndGone,
            }
        }
    }

    fn serve(&mut self, request: Request) {
        let answer = match request {
            Request::Hello { .. } => self.greet(),
            Request::Evaluate { id, cell, code, first_line, given, answer } => {
                self.evaluator.keep_given(&given, answer);
                self.evaluate(id, cell, first_line, &code)
            }
            Request::Check { id, of, code, first_line } => self.check(id, of, first_line, &code),
            Request::Probe { id, of, expression } => self.probe(id, of, &expression),
            Request::Complete { id, code, cursor } => {
                let (start, items) = self.evaluator.complete(&code, code.floor_char_boundary(cursor));
                Message::Completions { id, start, items }
            }
            Request::Help { id, name } => {
                let (text, suggestions) = self.evaluator.help(&name);
                Message::HelpText { id, name, text, suggestions }
            }
            Request::Inspect { id } => self.state(id),
            Request::Reset { id } => {
                self.evaluator.reset();
                self.state(id)
            }
            // Neither is ever queued, or reaches this far.
            Request::Interrupt | Request::Shutdown => return,
        };
        self.outbox.fence(answer);
    }

    fn greet(&mut self) -> Message {
        let Inspected { devices, .. } = self.evaluator.inspect();
        self.events = Some(self.outbox.read(self.evaluator.bus()));
        let protections = sandbox::protections();
        Message::Ready { version: VERSION, pid: std::process::id(), devices, protections }
    }

    fn evaluate(&mut self, id: u64, cell: u32, first_line: u32, code: &str) -> Message {
        // Whatever this cell does to the process, the front end knows which one it was.
        self.outbox.written_fence(Message::Started { id, cell });
        let start = Instant::now();
        let seconds = self.watch.time().map_or(0.0, |time| time.as_secs_f64());
        let stuck = Outcome::Timeout { seconds };
        let outcome = stuck.clone();
        self.watch.begin(move || Message::Finished {
            id,
            cell,
            outcome: outcome.clone(),
            usage: Box::default(),
        });
        let outcome = self.evaluator.evaluate(cell, first_line, code, &self.port(id));
        if let Outcome::Ok { value: Some(value) } = &outcome {
            self.watch.write(value.len());
        }
        let outcome = match (self.watch.end(), outcome) {
            (Some(Over::Output(limit)), _) => Outcome::TooMuchOutput { limit },
            (Some(Over::Time(_)), Outcome::Interrupted) => stuck,
            (_, Outcome::Timeout { seconds }) if !seconds.is_finite() => Outcome::Timeout { seconds: 0.0 },
            (_, outcome) => outcome,
        };
        let host_nanos = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Message::Finished {
            id,
            cell,
            outcome,
            usage: Box::new(Usage { host_nanos, ..self.evaluator.usage() }),
        }
    }

    fn check(&mut self, id: u64, of: u32, first_line: u32, code: &str) -> Message {
        let slow = |calling: bool, time: Duration| {
            if calling {
                return Verdict::Timeout { limit_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX) };
            }
            let message = format!("the check ran longer than {} s", time.as_secs_f64());
            Verdict::CheckerFault { message, line: None }
        };
        let (time, calling) = (self.watch.time().unwrap_or_default(), self.evaluator.calling());
        let last_word = move || slow(calling.load(Ordering::Relaxed), time);
        self.watch.begin(move || Message::CheckResult { id, verdict: last_word(), check_line: None });
        let checked = self.evaluator.check(of, first_line, code, &self.port(id));
        let verdict = match (self.watch.end(), checked) {
            (_, Ok(verdict)) => verdict,
            (Some(Over::Time(time)), Err(CheckStopped { calling })) => slow(calling, time),
            (Some(Over::Output(limit)), Err(CheckStopped { calling: true })) => {
                Verdict::TooMuchOutput { limit }
            }
            (Some(Over::Output(limit)), Err(_)) => {
                Verdict::CheckerFault { message: format!("the check shows more than {limit}"), line: None }
            }
            (None, Err(_)) => return Message::Refused { id: Some(id), reason: "interrupted".into() },
        };
        Message::CheckResult { id, verdict, check_line: self.evaluator.check_line() }
    }

    fn probe(&mut self, id: u64, of: u32, expression: &str) -> Message {
        let slow = move || {
            let fault = Fault::from_error(&Error::runtime("it ran too long"));
            Message::Probed { id, value: Err(fault), clock: None }
        };
        self.watch.begin(slow);
        let value = self.evaluator.probe(of, expression);
        match (self.watch.end(), value) {
            (_, Ok(value)) => {
                let clock = self.evaluator.clock_of(expression);
                Message::Probed { id, value: value.map(writable).map_err(|fault| *fault), clock }
            }
            (Some(_), Err(_)) => slow(),
            (None, Err(_)) => Message::Refused { id: Some(id), reason: "interrupted".into() },
        }
    }

    fn state(&self, id: u64) -> Message {
        let Inspected { variables, devices, held } = self.evaluator.inspect();
        Message::State { id, variables, devices, held }
    }

    fn cancel(&self, request: Request) {
        let id = request.id();
        self.outbox.fence(match request {
            Request::Evaluate { id, cell, .. } => {
                Message::Finished { id, cell, outcome: Outcome::Interrupted, usage: Box::default() }
            }
            _ => Message::Refused { id, reason: "interrupted before it began".into() },
        });
    }

    fn port(&self, id: u64) -> Arc<dyn Host> {
        Arc::new(Port { id, outbox: Arc::clone(self.outbox), watch: Arc::clone(&self.watch) })
    }
}

/// JSON has no infinities and no NaN.
fn writable(value: ProbeValue) -> ProbeValue {
    match value {
        ProbeValue::Number(n) if !n.is_finite() => ProbeValue::Text(n.to_string()),
        other => other,
    }
}

/// The [`Host`] of one request.
struct Port {
    id: u64,
    outbox: Arc<Outbox>,
    watch: Arc<LimitWatch>,
}

impl Host for Port {
    fn print(&self, stream: Stream, text: &str) {
        let text = self.watch.print(text);
        if !text.is_empty() {
            self.outbox.print(self.id, stream, text);
        }
    }

    fn display(&self, content: Display, display_id: Option<&str>) {
        let content = match content {
            Display::Figure { .. } if !self.watch.show(display_id) => return,
            Display::Figure { .. } => content,
            Display::Text { text } => match self.watch.print(&text) {
                "" if !text.is_empty() => return,
                shown => Display::Text { text: shown.into() },
            },
            Display::Table { .. } => {
                let bytes = content_bytes(&content);
                if self.watch.write(bytes) < bytes {
                    return;
                }
                content
            }
        };
        self.outbox.display(self.id, content, display_id);
    }

    fn progress(&self, label: &str, done: u64, total: Option<u64>, note: &str) {
        self.outbox.progress(self.id, label, done, total, note);
    }
}
