//! The session from the front end's side: requests and what comes back, interrupts, the record of events.

use std::collections::VecDeque;
use std::io;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use crate::base::event::Event;
use crate::session::client::{Client, FromSession, Wake};
use crate::session::death::Death;
use crate::session::protocol::{Message, Request};

/// Events kept for `:trace`, the newest.
const RECORDED: usize = 200_000;

/// What wakes the front end while it waits for the session.
enum Input {
    /// The session has said something.
    Woken,
    /// Ctrl-C.
    Interrupt,
}

/// What there is to react to.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it is taken where it arrives, and none is stored")]
pub(crate) enum Said {
    Message(Message),
    Interrupt,
    /// Nothing came in time.
    Nothing,
    /// The session is no more; [`ReplSession::death`] says why.
    Died,
}

/// Tells the front end of a Ctrl-C, from any thread.
#[derive(Clone)]
pub(crate) struct Bell(Sender<Input>);

impl Bell {
    pub(super) fn interrupt(&self) {
        // Where nobody listens any more, nothing runs.
        let _ = self.0.send(Input::Interrupt);
    }
}

/// A session, or what is left of one.
pub(crate) struct ReplSession {
    client: Client,
    inputs: Receiver<Input>,
    bell: Bell,
    woken: Arc<AtomicBool>,
    next_id: u64,
    death: Option<Death>,
    events: VecDeque<Event>,
    lost: u64,
}

impl ReplSession {
    /// # Errors
    /// The session's process can't be started.
    pub(super) fn open(command: Command) -> io::Result<ReplSession> {
        let (sender, inputs) = mpsc::channel();
        let woken = Arc::new(AtomicBool::new(false));
        let wake: Wake = {
            let (sender, woken) = (sender.clone(), Arc::clone(&woken));
            Arc::new(move || {
                if !woken.swap(true, Ordering::AcqRel) {
                    let _ = sender.send(Input::Woken);
                }
            })
        };
        let client = Client::spawn_with(command, wake)?;
        let (events, bell) = (VecDeque::new(), Bell(sender));
        Ok(ReplSession { client, inputs, bell, woken, next_id: 0, death: None, events, lost: 0 })
    }

    pub(super) fn bell(&self) -> Bell {
        self.bell.clone()
    }

    /// Why the session ended, where it has.
    pub(super) fn death(&self) -> Option<&Death> {
        self.death.as_ref()
    }

    /// Ends the session if it lives, and starts another.
    ///
    /// # Errors
    /// The process can't be started.
    pub(super) fn restart(&mut self) -> io::Result<()> {
        self.client.restart()?;
        self.death = None;
        self.events.clear();
        self.lost = 0;
        Ok(())
    }

    pub(super) fn interrupt(&self) {
        // A session that has ended has nothing to interrupt, and one that is stuck is restarted.
        let _ = self.client.interrupt();
    }

    /// Sends a request that is made with its id; the id is that of its answers.
    pub(super) fn send(&mut self, make: impl FnOnce(u64) -> Request) -> Result<u64, String> {
        self.next_id += 1;
        self.client.send(make(self.next_id)).map_err(|error| error.to_string())?;
        Ok(self.next_id)
    }

    /// Sends a request and waits for its answer; `None` where the session says nothing in time, or is no more.
    pub(super) fn ask(&mut self, patience: Duration, make: impl FnOnce(u64) -> Request) -> Option<Message> {
        let until = Instant::now() + patience;
        let id = self.send(make).ok()?;
        loop {
            match self.next(Some(until)) {
                Said::Message(message) if answered(&message) == Some(id) => return Some(message),
                Said::Message(_) | Said::Interrupt => {}
                Said::Nothing | Said::Died => return None,
            }
        }
    }

    /// The next thing to react to, at the latest at `until`.
    pub(super) fn next(&mut self, until: Option<Instant>) -> Said {
        loop {
            match self.client.events().try_recv() {
                Ok(FromSession::Message(Message::Telemetry { events })) => {
                    self.record(events);
                    continue;
                }
                Ok(FromSession::Message(Message::Missed { digest })) => {
                    self.miss(digest.events);
                    continue;
                }
                Ok(FromSession::Message(message)) => return Said::Message(message),
                Ok(FromSession::Died { reason }) => {
                    self.death = Some(reason);
                    return Said::Died;
                }
                Err(mpsc::TryRecvError::Disconnected) => return Said::Died,
                Err(mpsc::TryRecvError::Empty) => {}
            }
            let input = match until {
                None => self.inputs.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(until) => self.inputs.recv_timeout(until.saturating_duration_since(Instant::now())),
            };
            match input {
                Ok(Input::Woken) => self.woken.store(false, Ordering::Release),
                Ok(Input::Interrupt) => return Said::Interrupt,
                Err(_) => return Said::Nothing,
            }
        }
    }

    /// Takes what came while nobody waited: answers that came too late, interrupts of what has ended, and a death.
    pub(crate) fn catch_up(&mut self) {
        loop {
            match self.next(Some(Instant::now())) {
                Said::Message(_) | Said::Interrupt => {}
                Said::Nothing | Said::Died => return,
            }
        }
    }

    /// What happened on the devices since the session began, and how many events are not among it.
    pub(super) fn events(&self) -> (Vec<Event>, u64) {
        (self.events.iter().cloned().collect(), self.lost)
    }

    fn miss(&mut self, events: u64) {
        self.lost += events;
    }

    fn record(&mut self, events: Vec<Event>) {
        self.events.extend(events);
        let over = self.events.len().saturating_sub(RECORDED);
        self.events.drain(..over);
        self.lost += over as u64;
    }
}

/// The request that a message answers for good.
fn answered(message: &Message) -> Option<u64> {
    match message {
        Message::State { id, .. }
        | Message::Completions { id, .. }
        | Message::HelpText { id, .. }
        | Message::Finished { id, .. } => Some(*id),
        Message::Refused { id, .. } => *id,
        _ => None,
    }
}
