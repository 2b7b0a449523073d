//! Runs a notebook from the top in a session of its own.

use std::io;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::base::is_of_device;
use crate::session::exchange::{Exchange, Said};
use crate::session::protocol::{Message, Outcome, Request};

use super::cell::{Cell, Kind};
use super::document::Notebook;
use super::output::Output;
use super::record::Recorder;

/// A session that is not there after so long does not come.
const START: Duration = Duration::from_secs(60);
/// An interrupted cell gets so long to end by itself.
const GRACE: Duration = Duration::from_secs(2);
/// How often a run looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(50);
/// A session gets so long to end after the last cell.
const FAREWELL: Duration = Duration::from_secs(2);

/// How a notebook is run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Goes on after a cell that failed.
    pub allow_errors: bool,
    /// For all cells together.
    pub limit: Option<Duration>,
    /// Set from outside, such as by Ctrl-C: the cell that runs is interrupted, and no other one runs.
    pub stop: Arc<AtomicBool>,
}

/// What came of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Ran {
    /// Cells that ran, the failed ones among them.
    pub cells: usize,
    /// Cells with an error: their places in the notebook, and the kind of the first error, such as `RuntimeError`.
    pub failed: Vec<(usize, String)>,
    /// The last of them wanted a device that is missing, or that failed.
    pub of_device: bool,
    pub end: End,
    pub took: Duration,
}

/// Why a run ended.
#[derive(Clone, PartialEq, Debug)]
pub enum End {
    /// All cells ran.
    Done,
    /// A cell failed, and errors are not allowed.
    Failed,
    /// The limit of time was reached.
    TimedOut,
    /// It was asked to stop.
    Interrupted,
    /// The session ended, with its reason.
    Died(String),
}

/// Runs every code cell in order and puts what they give in the place of their outputs. `command` serves a session on
/// its standard streams. `tell` hears of each cell before (without its usage) and after it runs. Cells that do not run
/// have no outputs afterwards.
///
/// # Errors
/// No session could be started; the notebook is then as it was.
pub fn run_all(
    notebook: &mut Notebook,
    command: Command,
    options: &RunOptions,
    tell: &mut dyn FnMut(usize, &Cell),
) -> io::Result<Ran> {
    let mut session =
        Session { exchange: Exchange::open(command)?, until: None, stop: Arc::clone(&options.stop) };
    session.greet()?;
    let start = Instant::now();
    session.until = options.limit.and_then(|limit| start.checked_add(limit));
    let before = notebook.cells.clone();
    notebook.cells.iter_mut().for_each(Cell::clear_outputs);
    let mut ran =
        Ran { cells: 0, failed: Vec::new(), of_device: false, end: End::Done, took: Duration::ZERO };
    let mut count = 0;
    for ((place, cell), before) in notebook.cells.iter_mut().enumerate().zip(&before) {
        if cell.kind != Kind::Code || cell.source.trim().is_empty() {
            continue;
        }
        count += 1;
        tell(place, cell);
        let end = session.run(cell, count);
        ran.cells += 1;
        if let Some(Output::Error { name, message, .. }) =
            cell.outputs.iter().find(|output| output.is_error())
        {
            ran.of_device = is_of_device(name, message);
            ran.failed.push((place, name.clone()));
        }
        tell(place, cell);
        cell.usage = cell.usage.take().map(|usage| before.settled(usage, cell.ran, &cell.outputs));
        match end {
            End::Done => {}
            End::Failed if options.allow_errors => {}
            other => {
                ran.end = other;
                break;
            }
        }
    }
    ran.took = start.elapsed();
    session.exchange.shut_down(FAREWELL);
    Ok(ran)
}

struct Session {
    exchange: Exchange,
    until: Option<Instant>,
    stop: Arc<AtomicBool>,
}

/// Why a message did not come.
enum Missing {
    Late,
    /// The run is to stop.
    Stopped,
    Dead(String),
}

impl Session {
    fn greet(&mut self) -> io::Result<()> {
        let until = Instant::now() + START;
        loop {
            match self.next(Some(until)) {
                Ok(Message::Ready { .. }) => return Ok(()),
                Ok(Message::Refused { reason, .. }) => return Err(io::Error::other(reason)),
                Ok(_) => {}
                Err(Missing::Late) => return Err(io::Error::other("the session does not answer")),
                Err(Missing::Stopped) => return Err(io::ErrorKind::Interrupted.into()),
                Err(Missing::Dead(reason)) => return Err(io::Error::other(reason)),
            }
        }
    }

    fn next(&mut self, until: Option<Instant>) -> Result<Message, Missing> {
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(Missing::Stopped);
            }
            let look = Instant::now() + LOOK;
            let end = until.map_or(look, |until| until.min(look));
            match self.receive(end) {
                Err(Missing::Late) if until.is_none_or(|until| until > look) => {}
                received => return received,
            }
        }
    }

    fn receive(&mut self, until: Instant) -> Result<Message, Missing> {
        match self.exchange.next(Some(until)) {
            Said::Message(message) => Ok(message),
            Said::Interrupt => Err(Missing::Stopped),
            Said::Nothing => Err(Missing::Late),
            Said::Died => {
                let reason = self.exchange.death().map(ToString::to_string);
                Err(Missing::Dead(reason.unwrap_or_else(|| "the session ended".into())))
            }
        }
    }

    /// Runs one cell. What it gives before its end stays, whatever the end is.
    fn run(&mut self, cell: &mut Cell, count: u64) -> End {
        cell.ran = Some(cell.hash());
        cell.execution_count = Some(count);
        let number = u32::try_from(count).unwrap_or(u32::MAX);
        let code = cell.source.clone();
        let sent = self.exchange.send(|id| Request::Evaluate {
            id,
            cell: number,
            code,
            first_line: 1,
            given: Default::default(),
            answer: false,
        });
        let id = match sent {
            Ok(id) => id,
            Err(reason) => return died(cell, &reason),
        };
        let mut recorder = Recorder::default();
        let end = loop {
            match self.next(self.until) {
                Ok(message) => {
                    if let Some(end) = take(cell, message, (id, count), &mut recorder) {
                        return end;
                    }
                }
                Err(Missing::Late) => break End::TimedOut,
                Err(Missing::Stopped) => break End::Interrupted,
                Err(Missing::Dead(reason)) => return died(cell, &reason),
            }
        };
        self.cut(cell, (id, count), &mut recorder);
        cell.outputs.retain(|output| !output.is_error());
        cell.outputs.push(match end {
            End::TimedOut => Output::stopped("TimeoutError", "the notebook ran past its limit of time"),
            _ => Output::stopped("KeyboardInterrupt", "the run was interrupted"),
        });
        end
    }

    /// Interrupts the cell that runs, and takes what it still says. What does not hear it is killed with its session.
    fn cut(&mut self, cell: &mut Cell, run: (u64, u64), recorder: &mut Recorder) {
        let until = Instant::now() + GRACE;
        self.exchange.interrupt();
        while let Ok(message) = self.receive(until) {
            if take(cell, message, run, recorder).is_some() {
                return;
            }
        }
    }
}

fn died(cell: &mut Cell, reason: &str) -> End {
    cell.outputs.push(Output::stopped("SessionError", reason));
    End::Died(reason.into())
}

/// Takes what the session says of a cell, which ran as the request of this id and has this count; its end where this
/// is it.
fn take(
    cell: &mut Cell,
    message: Message,
    (asked, count): (u64, u64),
    recorder: &mut Recorder,
) -> Option<End> {
    match message {
        Message::Output { id, stream, text } if id == asked => {
            recorder.stream(&mut cell.outputs, stream, &text);
            None
        }
        Message::Display { id, content, display_id } if id == asked => {
            recorder.display(&mut cell.outputs, &content, display_id.as_deref());
            None
        }
        Message::Finished { id, outcome, usage, .. } if id == asked => {
            cell.usage = Some(*usage);
            recorder.end(&mut cell.outputs, &outcome, count);
            Some(if matches!(outcome, Outcome::Ok { .. }) { End::Done } else { End::Failed })
        }
        Message::Refused { id, reason } if id.is_none_or(|id| id == asked) => {
            cell.outputs.push(Output::stopped("SessionError", &reason));
            Some(End::Failed)
        }
        _ => None,
    }
}
