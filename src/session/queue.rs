//! Requests that wait for the evaluator, and the way past them for an interrupt.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use super::engine::Interrupt;
use super::protocol::{MAX_MESSAGE, Request};

/// Requests that may wait, at most.
const MANY: usize = 1024;

/// See the module.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<QueueState>,
    arrived: Condvar,
}

/// A request whose turn it is.
#[derive(PartialEq, Debug)]
pub(super) enum Turn {
    Serve(Request),
    /// An interrupt came before its turn.
    Cancelled(Request),
    /// The session ends.
    End,
}

#[derive(Default)]
struct QueueState {
    /// Something came already.
    greeted: bool,
    /// Requests, and whether an interrupt has cancelled them.
    waiting: VecDeque<(Request, bool)>,
    /// Bytes of code that wait.
    bytes: usize,
    /// Raised only while an evaluation runs, so that a late interrupt can't stop the next one.
    interrupt: Option<Arc<dyn Interrupt>>,
    running: bool,
    ended: bool,
}

impl Queue {
    /// Adds a request behind the others, or says why it can't.
    pub(super) fn push(&self, request: Request) -> Result<(), String> {
        let mut state = self.lock();
        if state.greeted && matches!(request, Request::Hello { .. }) {
            return Err("`hello` is only the first message".into());
        }
        let bytes = state.bytes.saturating_add(code_bytes(&request));
        if state.waiting.len() >= MANY {
            return Err(format!("{MANY} requests wait already; send this one again after an answer"));
        }
        if bytes > MAX_MESSAGE {
            return Err(format!(
                "the requests that wait would hold {bytes} bytes of code, {MAX_MESSAGE} is the limit"
            ));
        }
        state.greeted = true;
        state.bytes = bytes;
        state.waiting.push_back((request, false));
        self.arrived.notify_one();
        Ok(())
    }

    /// Waits for the next request. What ran before has ended.
    pub(super) fn next(&self) -> Turn {
        let mut state = self.lock();
        state.running = false;
        let idle = |s: &mut QueueState| s.waiting.is_empty() && !s.ended;
        let mut state = self.arrived.wait_while(state, idle).unwrap_or_else(|e| e.into_inner());
        let Some((request, cancelled)) = state.waiting.pop_front().filter(|_| !state.ended) else {
            return Turn::End;
        };
        state.bytes = state.bytes.saturating_sub(code_bytes(&request));
        if cancelled {
            return Turn::Cancelled(request);
        }
        if let Some(interrupt) = state.interrupt.as_ref().filter(|_| evaluates(&request)) {
            interrupt.clear();
            state.running = true;
        }
        Turn::Serve(request)
    }

    /// Names what an interrupt raises.
    pub(crate) fn interrupt_with(&self, interrupt: Arc<dyn Interrupt>) {
        self.lock().interrupt = Some(interrupt);
    }

    /// Stops what runs and cancels the evaluations that wait.
    pub(super) fn interrupt(&self) {
        let mut state = self.lock();
        state.raise();
        for (request, cancelled) in &mut state.waiting {
            *cancelled |= evaluates(request);
        }
    }

    /// Stops what runs and drops what waits.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.ended = true;
        state.waiting.clear();
        state.raise();
        self.arrived.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl QueueState {
    fn raise(&self) {
        if let Some(interrupt) = self.interrupt.as_ref().filter(|_| self.running) {
            interrupt.raise();
        }
    }
}

fn evaluates(request: &Request) -> bool {
    matches!(request, Request::Evaluate { .. } | Request::Check { .. } | Request::Probe { .. })
}

fn code_bytes(request: &Request) -> usize {
    match request {
        Request::Evaluate { code, .. } | Request::Check { code, .. } | Request::Complete { code, .. } => {
            code.len()
        }
        Request::Probe { expression, .. } => expression.len(),
        Request::Help { name, .. } => name.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn evaluate(id: u64) -> Request {
        Request::Evaluate {
            id,
            cell: 1,
            code: "code".into(),
            first_line: 1,
            given: Vec::new(),
            answer: false,
        }
    }

    #[test]
    fn an_interrupt_cancels_evaluations_and_keeps_the_rest() {
        let queue = Queue::default();
        for request in
            [evaluate(1), Request::Inspect { id: 2 }, Request::Probe { id: 3, of: 1, expression: "x".into() }]
        {
            queue.push(request).unwrap();
        }
        queue.interrupt();
        queue.push(evaluate(4)).unwrap();
        assert_eq!(queue.next(), Turn::Cancelled(evaluate(1)));
        assert_eq!(queue.next(), Turn::Serve(Request::Inspect { id: 2 }));
        assert!(matches!(queue.next(), Turn::Cancelled(Request::Probe { id: 3, .. })));
        assert_eq!(queue.next(), Turn::Serve(evaluate(4)));
    }

    #[test]
    fn an_interrupt_reaches_what_runs_and_never_what_comes_after() {
        let queue = Queue::default();
        let flag = Arc::new(AtomicBool::new(false));
        queue.interrupt_with(flag.clone());
        queue.interrupt();
        assert!(!flag.load(Ordering::Relaxed), "nothing ran");
        queue.push(evaluate(1)).unwrap();
        queue.next();
        queue.interrupt();
        assert!(flag.load(Ordering::Relaxed));
        queue.push(evaluate(2)).unwrap();
        queue.next();
        assert!(!flag.load(Ordering::Relaxed), "it was meant for the first");
        queue.push(Request::Inspect { id: 3 }).unwrap();
        queue.next();
        queue.interrupt();
        assert!(!flag.load(Ordering::Relaxed), "only evaluations are stopped");
    }

    #[test]
    fn the_queue_is_bounded_and_ends() {
        let queue = Queue::default();
        let huge = Request::Help { id: 1, name: "x".repeat(MAX_MESSAGE) };
        queue.push(huge).unwrap();
        assert!(queue.push(evaluate(2)).unwrap_err().contains("bytes of code"));
        assert!(matches!(queue.next(), Turn::Serve(Request::Help { .. })));
        for id in 0..MANY as u64 {
            queue.push(evaluate(id)).unwrap();
        }
        assert!(queue.push(evaluate(0)).unwrap_err().contains("1024 requests wait"));
        queue.end();
        assert_eq!(queue.next(), Turn::End);
    }
}
