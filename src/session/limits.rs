//! Limits on what one evaluation takes, and what ends one that takes more.

use std::collections::HashSet;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use crate::base::figures::{bytes, plural};

use super::engine::Interrupt;
use super::protocol::Message;

/// What is out of time and asked to stop gets so long to do so; after that the session ends.
const GRACE: Duration = Duration::from_secs(2);

/// What an evaluation may take. Where nothing is said, only what always holds limits it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RunLimits {
    pub time: Option<Duration>,
    /// Bytes of text that it prints or shows, its last value among them.
    pub output: Option<u64>,
    /// Figures that it shows.
    pub figures: Option<u32>,
    /// Bytes that tensors hold in main memory.
    pub host_memory: Option<u64>,
    /// Bytes taken from each accelerator.
    pub device_memory: Option<u64>,
}

/// How an evaluation went past a limit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Over {
    Time(Duration),
    /// What it shows is more than this.
    Output(String),
}

/// Watches one evaluation after another.
pub(super) struct LimitWatch {
    limits: RunLimits,
    interrupt: Arc<dyn Interrupt>,
    state: Mutex<WatchState>,
    changed: Condvar,
}

/// What answers a request that does not stop, made when it has to be said.
type LastWord = Box<dyn Fn() -> Message + Send>;

#[derive(Default)]
struct WatchState {
    /// When what runs is out of time; none while nothing runs.
    until: Option<Instant>,
    /// What answers the request if it does not stop.
    last_word: Option<LastWord>,
    printed: u64,
    figures: u32,
    /// Figures with a name take the place of each other.
    named: HashSet<String>,
    over: Option<Over>,
    closed: bool,
}

impl LimitWatch {
    pub(super) fn new(limits: RunLimits, interrupt: Arc<dyn Interrupt>) -> LimitWatch {
        LimitWatch { limits, interrupt, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Ends on time what runs. Where it does not hear that it is to stop, `give_up` gets the answer to its request.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub(super) fn start(
        self: &Arc<Self>,
        give_up: impl FnOnce(Message) + Send + 'static,
    ) -> std::io::Result<()> {
        let Some(limit) = self.limits.time else { return Ok(()) };
        let watch = Arc::clone(self);
        let wait = move || {
            if let Some(last_word) = watch.wait(limit) {
                give_up(last_word);
            }
        };
        Builder::new().name("time limit".into()).spawn(wait).map(drop)
    }

    /// The time of each evaluation, where it is limited.
    pub(super) fn time(&self) -> Option<Duration> {
        self.limits.time
    }

    /// Something begins to run.
    pub(super) fn begin(&self, last_word: impl Fn() -> Message + Send + 'static) {
        let until = self.limits.time.and_then(|limit| Instant::now().checked_add(limit));
        *self.lock() = WatchState { until, last_word: Some(Box::new(last_word)), ..WatchState::default() };
        if until.is_some() {
            self.changed.notify_one();
        }
    }

    /// It has ended; how it went past a limit, where it did.
    pub(super) fn end(&self) -> Option<Over> {
        let mut state = self.lock();
        state.until = None;
        state.last_word = None;
        state.over.take()
    }

    /// Nothing will run any more.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_one();
    }

    /// How much of a text may still be printed. What prints more is stopped.
    pub(super) fn print<'t>(&self, text: &'t str) -> &'t str {
        text.split_at(text.floor_char_boundary(self.write(text.len()))).0
    }

    /// How many of so many bytes of text may still be shown. What shows more is stopped.
    pub(super) fn write(&self, length: usize) -> usize {
        let Some(limit) = self.limits.output else { return length };
        let mut state = self.lock();
        let room = usize::try_from(limit.saturating_sub(state.printed)).unwrap_or(usize::MAX);
        state.printed = state.printed.saturating_add(length as u64);
        if length > room {
            self.stop(state, format!("{} of text", bytes(limit)));
        }
        length.min(room)
    }

    /// Whether a figure may be shown. What shows one too many is stopped.
    pub(super) fn show(&self, display_id: Option<&str>) -> bool {
        let Some(limit) = self.limits.figures else { return true };
        let mut state = self.lock();
        let again = display_id.is_some_and(|name| !state.named.insert(name.to_owned()));
        if again || state.figures < limit {
            state.figures += u32::from(!again);
            return true;
        }
        self.stop(state, plural(u64::from(limit), "figure", "figures"));
        false
    }

    fn stop(&self, mut state: MutexGuard<'_, WatchState>, limit: String) {
        state.over.get_or_insert(Over::Output(limit));
        self.interrupt.raise();
    }

    /// Waits for what does not stop; none once nothing runs any more.
    fn wait(&self, limit: Duration) -> Option<Message> {
        let mut state = self.lock();
        let mut asked = None;
        loop {
            if state.closed {
                return None;
            }
            let Some(until) = state.until else {
                asked = None;
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let end = if asked == Some(until) { until + GRACE } else { until };
            let left = end.saturating_duration_since(Instant::now());
            if !left.is_zero() {
                state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            } else if asked == Some(until) {
                return state.last_word.take().map(|word| word());
            } else {
                asked = Some(until);
                state.over.get_or_insert(Over::Time(limit));
                // Under the lock: what runs can't have ended, and nothing else has begun.
                self.interrupt.raise();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, WatchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunLimits {
    /// As a session's command line has them.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let millis = self.time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        let all = [
            ("--time-limit", millis),
            ("--output-limit", self.output),
            ("--figure-limit", self.figures.map(u64::from)),
            ("--host-memory-limit", self.host_memory),
            ("--device-memory-limit", self.device_memory),
        ];
        all.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", value?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;

    use super::*;

    fn watch(limits: RunLimits) -> (Arc<LimitWatch>, Arc<AtomicBool>) {
        let stopped = Arc::new(AtomicBool::new(false));
        (Arc::new(LimitWatch::new(limits, Arc::clone(&stopped) as _)), stopped)
    }

    fn word() -> Message {
        Message::Refused { id: Some(1), reason: "stuck".into() }
    }

    #[test]
    fn text_is_cut_where_its_limit_lies_and_what_prints_it_is_stopped() {
        let (watch, stopped) = watch(RunLimits { output: Some(5), ..RunLimits::default() });
        watch.begin(word);
        assert_eq!(watch.print("abc"), "abc");
        assert!(!stopped.load(Ordering::Relaxed));
        assert_eq!(watch.print("dé"), "d", "no character is cut in two");
        assert!(stopped.load(Ordering::Relaxed));
        assert_eq!(watch.print("x"), "");
        assert_eq!(watch.end(), Some(Over::Output("5 B of text".into())));
        watch.begin(word);
        assert_eq!((watch.print("abcde"), watch.end()), ("abcde", None), "each evaluation has its own");
    }

    #[test]
    fn a_figure_in_the_place_of_another_is_none_more() {
        let (watch, stopped) = watch(RunLimits { figures: Some(2), ..RunLimits::default() });
        watch.begin(word);
        assert!(watch.show(Some("loss")) && watch.show(Some("loss")) && watch.show(None));
        assert!(!stopped.load(Ordering::Relaxed));
        assert!(!watch.show(None) && stopped.load(Ordering::Relaxed));
        assert_eq!(watch.end(), Some(Over::Output("2 figures".into())));
    }

    #[test]
    fn time_ends_what_runs_and_nothing_else() {
        let time = Duration::from_millis(30);
        let (watch, stopped) = watch(RunLimits { time: Some(time), ..RunLimits::default() });
        let (stuck, said) = mpsc::channel();
        watch.start(move |word| stuck.send(word).unwrap()).unwrap();
        watch.begin(word);
        assert_eq!(watch.end(), None);
        std::thread::sleep(3 * time);
        assert!(!stopped.load(Ordering::Relaxed), "nothing runs");
        watch.begin(word);
        while !stopped.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(watch.end(), Some(Over::Time(time)));
        watch.begin(word);
        assert_eq!(said.recv().unwrap(), word(), "what does not hear it is given up");
    }
}
