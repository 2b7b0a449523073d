//! A conversation with a session, for a front end that waits for its answers.

use std::fmt;
use std::io;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use super::client::{Client, FromSession, Wake};
use super::death::Death;
use super::protocol::{DeviceInfo, Message, Request};

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
pub enum Said {
    Message(Message),
    /// The bell was rung.
    Interrupt,
    /// Nothing came in time.
    Nothing,
    /// The session is no more; [`Exchange::death`] says why.
    Died,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Unanswered {
    /// It did not come in time.
    Late,
    /// The bell was rung while it was awaited.
    Interrupted,
    Refused(String),
    /// The session is no more, for this reason.
    Died(String),
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unanswered::Late => f.write_str("the session does not answer"),
            Unanswered::Interrupted => f.write_str("interrupted"),
            Unanswered::Refused(reason) | Unanswered::Died(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for Unanswered {}

/// Tells the front end of a Ctrl-C, from any thread.
#[derive(Clone)]
pub struct Bell(Sender<Input>);

impl Bell {
    /// Wakes who waits for the session.
    pub fn ring(&self) {
        // Where nobody listens any more, nothing runs.
        let _ = self.0.send(Input::Interrupt);
    }
}

/// A session, or what is left of one. What it tells of devices goes to whoever listens; see [`Exchange::listen`].
pub struct Exchange {
    client: Client,
    inputs: Receiver<Input>,
    bell: Bell,
    woken: Arc<AtomicBool>,
    next_id: u64,
    death: Option<Death>,
    listener: Option<Box<dyn FnMut(Message)>>,
}

impl Exchange {
    /// Starts a session with a command that serves one on its standard streams.
    ///
    /// # Errors
    /// The process can't be started.
    pub fn open(command: Command) -> io::Result<Exchange> {
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
        Ok(Exchange { client, inputs, bell: Bell(sender), woken, next_id: 0, death: None, listener: None })
    }

    /// Hands what the session tells of its devices to `listener`.
    pub fn listen(&mut self, listener: Box<dyn FnMut(Message)>) {
        self.listener = Some(listener);
    }

    /// What Ctrl-C rings.
    pub fn bell(&self) -> Bell {
        self.bell.clone()
    }

    /// Why the session ended, where it has.
    pub fn death(&self) -> Option<&Death> {
        self.death.as_ref()
    }

    /// Waits until the session is there; gives its devices.
    ///
    /// # Errors
    /// It does not come to be, or not in time.
    pub fn greet(&mut self, patience: Duration) -> Result<Vec<DeviceInfo>, Unanswered> {
        let until = Instant::now() + patience;
        loop {
            match self.next(Some(until)) {
                Said::Message(Message::Ready { devices, .. }) => return Ok(devices),
                Said::Message(Message::Refused { reason, .. }) => return Err(Unanswered::Refused(reason)),
                Said::Message(_) => {}
                other => return Err(self.unanswered(&other)),
            }
        }
    }

    /// Ends the session if it lives, and starts another.
    ///
    /// # Errors
    /// The process can't be started.
    pub fn restart(&mut self) -> io::Result<()> {
        self.client.restart()?;
        self.death = None;
        Ok(())
    }

    /// The same, with another command from now on.
    ///
    /// # Errors
    /// As [`Exchange::restart`].
    pub fn restart_with(&mut self, command: Command) -> io::Result<()> {
        self.client.restart_with(command)?;
        self.death = None;
        Ok(())
    }

    /// Lets the session end, and kills it if that takes longer than `grace`.
    pub fn shut_down(self, grace: Duration) {
        self.client.shut_down(grace);
    }

    /// Asks what runs to stop.
    pub fn interrupt(&self) {
        // A session that has ended has nothing to interrupt, and one that is stuck is restarted.
        let _ = self.client.interrupt();
    }

    /// Sends a request that is made with its id; the id is that of its answers.
    ///
    /// # Errors
    /// Why it was not sent.
    pub fn send(&mut self, make: impl FnOnce(u64) -> Request) -> Result<u64, String> {
        let id = self.new_id();
        self.post(make(id))?;
        Ok(id)
    }

    /// An id that no request has had.
    pub fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Sends a request that has its id.
    ///
    /// # Errors
    /// Why it was not sent.
    pub fn post(&mut self, request: Request) -> Result<(), String> {
        self.client.send(request).map_err(|error| error.to_string())
    }

    /// Sends a request and waits for its answer; what is said before it goes to `each`.
    ///
    /// # Errors
    /// Why there is none.
    pub fn ask(
        &mut self,
        patience: Duration,
        make: impl FnOnce(u64) -> Request,
        each: &mut dyn FnMut(Message),
    ) -> Result<Message, Unanswered> {
        let until = Instant::now() + patience;
        let id = self.send(make).map_err(Unanswered::Died)?;
        loop {
            match self.next(Some(until)) {
                Said::Message(Message::Refused { id: of, reason }) if of.is_none_or(|of| of == id) => {
                    return Err(Unanswered::Refused(reason));
                }
                Said::Message(message) if message.answers() == Some(id) => return Ok(message),
                Said::Message(message) => each(message),
                other => return Err(self.unanswered(&other)),
            }
        }
    }

    /// The next thing to react to, at the latest at `until`.
    pub fn next(&mut self, until: Option<Instant>) -> Said {
        loop {
            match self.client.events().try_recv() {
                Ok(FromSession::Message(message @ (Message::Telemetry { .. } | Message::Missed { .. }))) => {
                    if let Some(listener) = &mut self.listener {
                        listener(message);
                    }
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
    pub fn catch_up(&mut self) {
        loop {
            match self.next(Some(Instant::now())) {
                Said::Message(_) | Said::Interrupt => {}
                Said::Nothing | Said::Died => return,
            }
        }
    }

    fn unanswered(&self, said: &Said) -> Unanswered {
        match said {
            Said::Message(_) | Said::Nothing => Unanswered::Late,
            Said::Interrupt => Unanswered::Interrupted,
            Said::Died => {
                let reason = self.death.as_ref().map(ToString::to_string);
                Unanswered::Died(reason.unwrap_or_else(|| "the session ended".into()))
            }
        }
    }
}
