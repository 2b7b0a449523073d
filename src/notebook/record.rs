//! What a cell gives while it runs, put together as its outputs.

use std::collections::HashMap;

use super::output::{self, Output};
use crate::base::figures::word;
use crate::session::protocol::{Display, Outcome, Stream};

/// Bytes of text that are kept of a run.
const MOST_TEXT: usize = 16 << 20;
/// Figures and tables that are kept of a run.
const MOST_DISPLAYS: usize = 1000;

/// The names of errors that end a run from without: an interrupt, the limits of time and of output, a session that died.
pub(crate) const INTERRUPTED: &str = "KeyboardInterrupt";
pub(crate) const TIMED_OUT: &str = "TimeoutError";
pub(crate) const FLOODED: &str = "OutputError";
pub(crate) const LOST: &str = "SessionError";

/// Takes what a run gives into a cell's outputs. What is too much for a file is counted, not kept.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    /// The places of the outputs that have a name, which a later one of that name takes.
    named: HashMap<String, usize>,
    text: usize,
    displays: usize,
    dropped_bytes: usize,
    dropped_displays: usize,
}

impl Recorder {
    /// Adds printed text, to the last output where that is of the same stream.
    pub fn stream(&mut self, outputs: &mut Vec<Output>, stream: Stream, text: &str) {
        let room = MOST_TEXT.saturating_sub(self.text);
        let kept = text.get(..text.floor_char_boundary(room)).unwrap_or(text);
        self.text += kept.len();
        self.dropped_bytes += text.len() - kept.len();
        if !kept.is_empty() {
            output::push(outputs, Output::stream(stream, kept));
        }
    }

    /// Appends it, or puts it in the place of what was shown under the same name.
    pub fn display(&mut self, outputs: &mut Vec<Output>, content: &Display, display_id: Option<&str>) {
        let output = Output::display(content);
        let known = display_id.and_then(|name| self.named.get(name)).copied();
        if let Some(place) = known.and_then(|at| outputs.get_mut(at)) {
            *place = output;
        } else if self.displays >= MOST_DISPLAYS {
            self.dropped_displays += 1;
        } else {
            self.displays += 1;
            self.named.extend(display_id.map(|name| (name.to_owned(), outputs.len())));
            outputs.push(output);
        }
    }

    /// The run has ended as number `count`: its value or its error comes last.
    pub fn end(&mut self, outputs: &mut Vec<Output>, outcome: &Outcome, count: u64) {
        self.tell_dropped(outputs);
        outputs.push(match outcome {
            Outcome::Ok { value: None } => return,
            Outcome::Ok { value: Some(text) } => Output::result(text, count),
            Outcome::Error { fault } => Output::error(fault),
            Outcome::Interrupted => Output::stopped(INTERRUPTED, "the cell was interrupted"),
            Outcome::Timeout { seconds } => {
                let text = format!("the cell ran past its limit of {seconds} s");
                Output::stopped(TIMED_OUT, &text)
            }
            Outcome::TooMuchOutput { limit } => {
                Output::stopped(FLOODED, &format!("the cell made more than {limit}, which is its limit"))
            }
        });
    }

    fn tell_dropped(&mut self, outputs: &mut Vec<Output>) {
        let (bytes, displays) =
            (std::mem::take(&mut self.dropped_bytes), std::mem::take(&mut self.dropped_displays));
        let mut told = Vec::new();
        let [all, shown] = [bytes as u64, displays as u64];
        told.extend((all > 0).then(|| format!("{all} more {} of text", word(all, "byte", "bytes"))));
        let things = word(shown, "figure or table", "figures or tables");
        told.extend((shown > 0).then(|| format!("{shown} more {things}")));
        if !told.is_empty() {
            let are = word(all.saturating_add(shown), "is", "are");
            let text = format!("\n… {} {are} not kept here\n", told.join(" and "));
            outputs.push(Output::stream(Stream::Stderr, text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_cut_and_counted() {
        let (mut recorder, mut outputs) = (Recorder::default(), Vec::new());
        let line = "ä".repeat(1 << 20);
        for _ in 0..9 {
            recorder.stream(&mut outputs, Stream::Stdout, &line);
        }
        let text = Display::Text { text: "t".into() };
        for _ in 0..MOST_DISPLAYS + 3 {
            recorder.display(&mut outputs, &text, None);
        }
        recorder.end(&mut outputs, &Outcome::Ok { value: Some("1".into()) }, 4);
        assert_eq!(outputs[0].text().len(), MOST_TEXT);
        assert_eq!(outputs.len(), 1 + MOST_DISPLAYS + 2);
        let told = outputs[MOST_DISPLAYS + 1].text();
        assert_eq!(told, "\n… 2097152 more bytes of text and 3 more figures or tables are not kept here\n");
        assert_eq!(outputs.last(), Some(&Output::result("1", 4)));
    }

    #[test]
    fn what_has_a_name_is_replaced_where_it_stands() {
        let (mut recorder, mut outputs) = (Recorder::default(), Vec::new());
        let text = |text: &str| Display::Text { text: text.into() };
        recorder.display(&mut outputs, &text("1"), Some("a"));
        recorder.stream(&mut outputs, Stream::Stdout, "x");
        recorder.display(&mut outputs, &text("2"), Some("a"));
        recorder.display(&mut outputs, &text("3"), Some("b"));
        assert_eq!(outputs.iter().map(Output::text).collect::<Vec<_>>(), ["2", "x", "3"]);
    }
}
