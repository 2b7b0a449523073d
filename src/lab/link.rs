//! The lab's side of a session: requests go out through a [`SessionLink`], [`FromSession`] comes back.

use std::io;
use std::sync::mpsc::Receiver;

use crate::session::protocol::{Message, Request};

/// A session that takes requests. Dropping it ends the session.
///
/// The lab sends from a thread of its own, so a call may wait for a slow session.
pub trait SessionLink: Send {
    /// Sends one request. An error means that the session is gone.
    fn send(&mut self, request: Request) -> io::Result<()>;
}

/// What a session gives: its messages, and its end. A closed channel counts as an end, too.
#[derive(Clone, PartialEq, Debug)]
pub enum FromSession {
    Message(Message),
    /// The session ended unasked; `reason` says why, as far as is known.
    Died {
        reason: String,
    },
}

/// A session just started: [`Message::Ready`] comes first.
pub type Connection = (Box<dyn SessionLink>, Receiver<FromSession>);
