//! The seam between a session and whatever evaluates its code.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::base::event::{Bus, Clock};

use super::protocol::{
    Completion, DeviceInfo, Display, Fault, GivenName, Outcome, ProbeValue, Stream, TensorInfo, Usage,
    Variable, Verdict,
};

/// Evaluates code in one scope that lives as long as the session.
///
/// A session calls it from one thread; the [`Interrupt`] and the listeners are used from others.
pub trait Evaluator: Send {
    /// Evaluates a cell. `first_line` is the line of its first line in its file, so that faults and events name
    /// the file's lines. Emits the cell's start and end on the event stream. After a fault or an interrupt the
    /// variables set so far stay, and nothing else of the cell is left allocated.
    fn evaluate(&mut self, cell: u32, first_line: u32, code: &str, host: &Arc<dyn Host>) -> Outcome;

    /// Keeps what the lesson gave for the check of the cell that is evaluated next.
    fn keep_given(&mut self, given: &[GivenName], answer: bool) {
        let _ = (given, answer);
    }

    /// What the last evaluation took; the session itself measures `host_nanos`.
    fn usage(&self) -> Usage;

    /// Evaluates a check against the variables and the events of cell `of`, and changes neither.
    ///
    /// # Errors
    /// It was stopped.
    fn check(
        &mut self,
        of: u32,
        first_line: u32,
        code: &str,
        host: &Arc<dyn Host>,
    ) -> Result<Verdict, CheckStopped>;

    /// The value of one expression, evaluated as a check is, or why it has none.
    ///
    /// # Errors
    /// It was stopped.
    fn probe(&mut self, of: u32, expression: &str) -> Result<Result<ProbeValue, Box<Fault>>, CheckStopped>;

    /// The line at which the last check refused, where it is known.
    fn check_line(&self) -> Option<u32> {
        None
    }

    /// The clock of the times that an expression reads; none where it reads none, or of both.
    fn clock_of(&self, expression: &str) -> Option<Clock> {
        let _ = expression;
        None
    }

    /// While a check or a probe runs: whether it is in what the learner wrote.
    fn calling(&self) -> Arc<AtomicBool> {
        Arc::default()
    }

    /// Completions at byte `cursor` of `code`, which lies within it and between two characters, and the byte
    /// at which they start. Evaluates nothing.
    fn complete(&self, code: &str, cursor: usize) -> (usize, Vec<Completion>);

    /// Help on a name if there is any, and the names that may have been meant.
    fn help(&self, name: &str) -> (Option<String>, Vec<String>);

    /// The variables and the devices as they are now.
    fn inspect(&self) -> Inspected;

    /// Frees every variable and starts again with a fresh scope and fresh device statistics.
    fn reset(&mut self);

    /// How a running evaluation, check or probe is stopped. The evaluator polls it and never clears it:
    /// the session raises it only while one of them runs, and clears it before the next.
    fn interrupt_handle(&self) -> Arc<dyn Interrupt>;

    /// Where what happens on the devices is told.
    fn bus(&self) -> &Arc<Bus>;
}

/// A check was stopped from outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CheckStopped {
    /// While it called what the learner wrote.
    pub calling: bool,
}

/// The state of a session between two evaluations.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Inspected {
    pub variables: Vec<Variable>,
    pub devices: Vec<DeviceInfo>,
    /// Tensors within the variables, by their paths.
    pub held: Vec<(String, TensorInfo)>,
}

/// What a running evaluation says to the front end. Never fails: when the front end has gone, the session is
/// about to end and what is said is dropped.
pub trait Host: Send + Sync {
    /// Text as the script printed it, with its line ends. Waits while the front end is far behind.
    fn print(&self, stream: Stream, text: &str);

    /// Something richer than text, in place of what was shown under the same name. Waits while the front end is far
    /// behind.
    fn display(&self, content: Display, display_id: Option<&str>);

    /// How far the work called `label` is. Only the newest state of a label is sent, so it may be called often.
    fn progress(&self, label: &str, done: u64, total: Option<u64>, note: &str);
}

/// A request to stop that can be made from any thread.
pub trait Interrupt: Send + Sync {
    fn raise(&self);
    fn clear(&self);
}

impl Interrupt for AtomicBool {
    fn raise(&self) {
        self.store(true, Ordering::Relaxed);
    }

    fn clear(&self) {
        self.store(false, Ordering::Relaxed);
    }
}
