//! Who hears what a session's code says.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::plot::Figure;

use super::engine::Host;
use super::protocol::{Display, Stream};

/// Hands the interpreter's output to whoever the running request belongs to.
#[derive(Default)]
pub(super) struct Relay(Mutex<Option<Arc<dyn Host>>>);

impl Relay {
    pub(super) fn set(&self, host: Option<Arc<dyn Host>>) {
        *self.0.lock().unwrap_or_else(|e| e.into_inner()) = host;
    }

    pub(super) fn with(&self, run: impl FnOnce(&dyn Host)) {
        let host = self.0.lock().unwrap_or_else(|e| e.into_inner()).clone();
        if let Some(host) = host {
            run(&*host);
        }
    }
}

impl crate::script::Host for Relay {
    fn print(&self, text: &str) {
        self.with(|h| h.print(Stream::Stdout, &format!("{text}\n")));
    }

    fn part(&self, text: &str) {
        self.with(|h| h.print(Stream::Stdout, text));
    }

    fn warn(&self, text: &str) {
        self.with(|h| h.print(Stream::Stderr, &format!("warning: {text}\n")));
    }

    fn figure(&self, figure: &Figure, id: Option<&str>) {
        self.with(|h| h.display(Display::Figure { figure: Box::new(figure.clone()) }, id));
    }

    fn text(&self, text: &str, id: Option<&str>) {
        self.with(|h| h.display(Display::Text { text: text.to_string() }, id));
    }

    fn progress(&self, label: &str, done: u64, total: Option<u64>, note: &str) {
        self.with(|h| h.progress(label, done, total, note));
    }
}

/// Who hears what a check says: of warnings, those alone that the learner's code gives while the check calls it.
pub(super) struct OfCalled {
    pub(super) host: Arc<dyn Host>,
    pub(super) calling: Arc<AtomicBool>,
}

impl Host for OfCalled {
    fn print(&self, stream: Stream, text: &str) {
        if stream == Stream::Stdout || self.calling.load(Ordering::Relaxed) {
            self.host.print(stream, text);
        }
    }

    fn display(&self, content: Display, display_id: Option<&str>) {
        self.host.display(content, display_id);
    }

    fn progress(&self, label: &str, done: u64, total: Option<u64>, note: &str) {
        self.host.progress(label, done, total, note);
    }
}
