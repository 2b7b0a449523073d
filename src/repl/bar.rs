//! Progress on standard error: a bar that redraws itself, or a line at the end.

use std::time::{Duration, Instant};

use crate::base::stderr;
use crate::base::text::strip_control;

/// A bar is drawn at most this often.
const EVERY: Duration = Duration::from_millis(100);
const WIDTH: usize = 24;

/// The progress that is shown now.
#[derive(Default)]
pub struct Bar {
    /// It may be redrawn in place.
    redraws: bool,
    drawn: Option<Instant>,
    showing: bool,
    started: Option<(String, Instant)>,
}

impl Bar {
    /// `redraws` where standard error is a terminal that may be redrawn.
    pub fn new(redraws: bool) -> Bar {
        Bar { redraws, ..Bar::default() }
    }

    /// Takes the bar off the line, for something else to be written there.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.showing) {
            say("\r\x1b[K");
        }
    }

    /// Shows how far the work called `label` is.
    pub fn progress(&mut self, label: &str, done: u64, total: Option<u64>, note: &str) {
        let now = Instant::now();
        if self.started.as_ref().is_none_or(|(l, _)| l != label) || done == 0 {
            self.started = Some((label.to_string(), now));
            self.drawn = None;
        }
        let end = total.is_some_and(|t| done >= t);
        if !end && self.drawn.is_some_and(|at| now.duration_since(at) < EVERY) {
            return;
        }
        self.drawn = Some(now);
        let seconds = self.started.as_ref().map_or(0.0, |(_, at)| now.duration_since(*at).as_secs_f64());
        let (label, note) = (strip_control(label), strip_control(note));
        // Where it is known what it took on the machine's clock, that is said, and not how long one waited here.
        let took = if end && !note.is_empty() { note.to_string() } else { format!("{seconds:.1} s {note}") };
        let took = took.trim_end();
        if !self.redraws {
            if end {
                say(&format!("{label}: {done} done in {took}\n"));
            }
            return;
        }
        match total {
            Some(total) if total > 0 => {
                let filled = (WIDTH as u64 * done.min(total) / total) as usize;
                let bar = format!("{}{}", "█".repeat(filled), "░".repeat(WIDTH - filled));
                say(&format!("\r\x1b[K{label} {bar} {done}/{total} {took}"));
            }
            _ => say(&format!("\r\x1b[K{label} {done} {took}")),
        }
        self.showing = !end;
        if end {
            say("\n");
        }
    }
}

fn say(text: &str) {
    stderr::put(format_args!("{text}"));
}
