//! The lab's side of a session.

use std::io;
use std::process::Command;

use crate::session::client::{Client, FromSession, Wake};
use crate::session::protocol::Request;

/// A session that takes requests and says things. Dropping it ends the session.
pub trait SessionLink: Send {
    /// Hands a request over without waiting. An error says why it was not taken.
    fn send(&mut self, request: Request) -> io::Result<()>;

    /// The next thing the session has said, without waiting. The first is its greeting,
    /// [`Message::Ready`](crate::session::protocol::Message::Ready); the last is [`FromSession::Died`].
    fn receive(&mut self) -> Option<FromSession>;
}

impl SessionLink for Client {
    fn send(&mut self, request: Request) -> io::Result<()> {
        Client::send(self, request).map_err(io::Error::other)
    }

    fn receive(&mut self) -> Option<FromSession> {
        self.events().try_recv().ok()
    }
}

/// Starts sessions in child processes, each with a command of its own, as [`run`](crate::lab::shell::run::run) asks for them.
pub(crate) fn in_child_process(
    mut command: impl FnMut() -> io::Result<Command>,
) -> impl FnMut(Wake) -> io::Result<Box<dyn SessionLink>> {
    move |wake| Ok(Box::new(Client::spawn_with(command()?, wake)?))
}
