//! What happened on the devices, for `:trace`.

use std::collections::VecDeque;

use crate::base::event::Event;
use crate::session::protocol::Message;

/// Events that are kept, the newest.
const RECORDED: usize = 200_000;

/// What happened since the session began.
#[derive(Default)]
pub(crate) struct Record {
    events: VecDeque<Event>,
    lost: u64,
}

impl Record {
    /// Takes what the session tells of its devices.
    pub(super) fn take(&mut self, message: Message) {
        match message {
            Message::Telemetry { events } => self.events.extend(events),
            Message::Missed { digest } => self.lost += digest.events,
            _ => {}
        }
        let over = self.events.len().saturating_sub(RECORDED);
        self.events.drain(..over);
        self.lost += over as u64;
    }

    /// The events, and how many are not among them.
    pub(super) fn events(&self) -> (Vec<Event>, u64) {
        (self.events.iter().cloned().collect(), self.lost)
    }
}
