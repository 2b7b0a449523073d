//! Puts batches of the outbox on the wire, in order and in few writes.

use std::io::{self, Write};

use super::digest::{Digest, Digester};
use super::outbox::{Batch, Sink};
use super::protocol::{self, Display, Fault, Message, Outcome};

/// Events in one message, at most.
const EVENTS: usize = 1024;
/// Bytes gathered for one write.
const CHUNK: usize = 256 << 10;
/// Bytes kept of each text of an answer that is too long to send.
const KEPT: usize = 64 << 10;

/// See the module.
pub(super) struct Wire<W> {
    output: W,
    pending: Vec<u8>,
}

impl<W: Write + Send> Sink for Wire<W> {
    fn write(&mut self, batch: &mut Batch) -> io::Result<()> {
        if let Some(digest) = batch.digest.take() {
            self.message(Message::Missed { digest: Box::new(digest) })?;
        }
        for (message, before) in std::mem::take(&mut batch.messages) {
            if let Some(before) = before {
                self.events(batch, before)?;
            }
            self.message(message)?;
        }
        self.events(batch, u64::MAX)?;
        self.flush()
    }
}

impl<W: Write> Wire<W> {
    pub(super) fn new(output: W) -> Wire<W> {
        Wire { output, pending: Vec::new() }
    }

    /// Writes the batch's events up to place `before` of the stream.
    fn events(&mut self, batch: &mut Batch, before: u64) -> io::Result<()> {
        let wanted = usize::try_from(before.saturating_sub(batch.first)).unwrap_or(usize::MAX);
        let mut left = wanted.min(batch.events.len());
        while left > 0 {
            let count = left.min(EVENTS);
            let events = batch.events.drain(..count).collect();
            batch.first += count as u64;
            left -= count;
            self.message(Message::Telemetry { events })?;
        }
        Ok(())
    }

    fn message(&mut self, message: Message) -> io::Result<()> {
        if protocol::write(&mut self.pending, &message).is_err() {
            protocol::write(&mut self.pending, &shortened(message))?;
        }
        if self.pending.len() >= CHUNK { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.write_all(&self.pending)?;
        self.pending.clear();
        self.pending.shrink_to(4 * CHUNK);
        self.output.flush()
    }
}

/// What is sent in place of a message that is too long for the protocol.
fn shortened(message: Message) -> Message {
    let too_long = |what: &str| format!("{what} is too long to send");
    match message {
        Message::Finished { id, cell, outcome, usage } => {
            Message::Finished { id, cell, outcome: cut_outcome(outcome), usage }
        }
        Message::Telemetry { events } => {
            let mut digester = Digester::default();
            events.iter().for_each(|event| digester.take(event));
            Message::Missed { digest: Box::new(digester.finish().unwrap_or_default()) }
        }
        // What lasts is a list; the sums are not.
        Message::Missed { digest } => {
            let untracked = digest.untracked.saturating_add(digest.lasting.len() as u64);
            Message::Missed {
                digest: Box::new(Digest { lasting: Vec::new(), freed: Vec::new(), untracked, ..*digest }),
            }
        }
        Message::Display { id, content: Display::Text { text }, display_id } => {
            Message::Display { id, content: Display::Text { text: cut(&text) }, display_id }
        }
        Message::Display { id, content: Display::Table { rows, .. }, display_id } => {
            let text = too_long(&format!("a table of {} rows", rows.len()));
            Message::Display { id, content: Display::Text { text }, display_id }
        }
        Message::Display { id, content: Display::Figure { .. }, display_id } => {
            Message::Display { id, content: Display::Text { text: too_long("the figure") }, display_id }
        }
        Message::Progress { id, label, done, total, note } => {
            Message::Progress { id, label: cut(&label), done, total, note: cut(&note) }
        }
        Message::Output { id, stream, text } => Message::Output { id, stream, text: cut(&text) },
        Message::Probed { id, .. } => Message::Refused { id: Some(id), reason: too_long("the value") },
        Message::CheckResult { id, .. } => Message::Refused { id: Some(id), reason: too_long("the verdict") },
        Message::State { id, .. } => {
            Message::Refused { id: Some(id), reason: too_long("the list of variables") }
        }
        Message::Completions { id, .. } | Message::HelpText { id, .. } | Message::Started { id, .. } => {
            Message::Refused { id: Some(id), reason: too_long("the answer") }
        }
        Message::Refused { id, reason } => Message::Refused { id, reason: cut(&reason) },
        Message::Ready { .. } => Message::Refused { id: None, reason: too_long("the list of devices") },
    }
}

fn cut_outcome(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Ok { value } => Outcome::Ok { value: value.map(|v| cut(&v)) },
        Outcome::Error { fault } => Outcome::Error {
            fault: Fault {
                missing: None,
                kind: cut(&fault.kind),
                message: cut(&fault.message),
                hint: fault.hint.map(|t| cut(&t)),
                source_line: fault.source_line.map(|t| cut(&t)),
                operands: fault.operands.iter().take(100).map(|t| cut(t)).collect(),
                report: cut(&fault.report),
                ..fault
            },
        },
        Outcome::Interrupted | Outcome::Timeout { .. } | Outcome::TooMuchOutput { .. } => outcome,
    }
}

/// The head of a long text, and how much of it is missing.
fn cut(text: &str) -> String {
    let (head, rest) = text.split_at(text.floor_char_boundary(KEPT));
    if rest.is_empty() { head.into() } else { format!("{head}… ({} more bytes)", rest.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::event::{Body, Event, Page, Reader, Source};
    use crate::session::outbox::Outbox;
    use crate::session::protocol::{MAX_MESSAGE, Stream};
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Bytes(Arc<Mutex<Vec<u8>>>);

    impl Write for Bytes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn outbox() -> (Outbox, Bytes) {
        let bytes = Bytes::default();
        (Outbox::new(0, Wire::new(bytes.clone())), bytes)
    }

    fn written((outbox, bytes): (Outbox, Bytes)) -> Vec<Message> {
        outbox.close();
        assert!(outbox.write_all());
        let bytes = bytes.0.lock().unwrap();
        let mut input = bytes.as_slice();
        std::iter::from_fn(|| protocol::read(&mut input).unwrap()).collect()
    }

    fn page(seq: u64) -> Page {
        Arc::new(vec![Event { seq, source: Source::default(), body: Body::CellStart { cell: 1, at: seq } }])
    }

    #[test]
    fn events_stay_between_their_fences() {
        let (outbox, bytes) = outbox();
        outbox.on_page(&page(0));
        outbox.fence(Message::Started { id: 1, cell: 1 });
        (1..1020).for_each(|seq| outbox.on_page(&page(seq)));
        outbox.print(1, Stream::Stdout, "text");
        outbox.fence(Message::Started { id: 2, cell: 2 });
        outbox.on_page(&page(1020));
        let order: Vec<String> = written((outbox, bytes))
            .iter()
            .map(|m| match m {
                Message::Telemetry { events } => {
                    format!("{}..={}", events[0].seq, events[events.len() - 1].seq)
                }
                Message::Started { id, .. } => format!("started {id}"),
                Message::Output { text, .. } => text.clone(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(order, ["0..=0", "started 1", "text", "1..=1019", "started 2", "1020..=1020"]);
    }

    #[test]
    fn an_answer_that_is_too_long_is_cut_and_the_session_goes_on() {
        let (outbox, bytes) = outbox();
        let value = Some("é".repeat(MAX_MESSAGE));
        outbox.fence(Message::Finished {
            id: 1,
            cell: 1,
            outcome: Outcome::Ok { value },
            usage: Box::default(),
        });
        outbox.fence(Message::HelpText {
            id: 2,
            name: "x".repeat(MAX_MESSAGE),
            text: None,
            suggestions: Vec::new(),
        });
        match written((outbox, bytes)).as_slice() {
            [
                Message::Finished { id: 1, outcome: Outcome::Ok { value: Some(value) }, .. },
                Message::Refused { id: Some(2), reason },
            ] => {
                assert!(value.ends_with("more bytes)") && value.len() < KEPT + 99, "{}", value.len());
                assert!(reason.contains("too long"), "{reason}");
            }
            other => panic!("{} messages", other.len()),
        }
    }

    #[test]
    fn a_reader_that_has_gone_ends_the_writing() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let outbox = Outbox::new(0, Wire::new(writer));
        outbox.print(1, Stream::Stdout, "nobody reads this");
        outbox.close();
        assert!(!outbox.write_all());
    }
}
