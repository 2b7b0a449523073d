//! `tensorlab repl`: one line after the other, with a session in a child process.
//!
//! On a terminal, [`editor`] reads and colours what is typed. In plain mode and from a pipe, [`lines`] reads whole
//! lines and nothing is ever redrawn. Both hand code to [`Repl`], which has a [session](crate::session::exchange::Exchange) evaluate
//! it and a [`Printer`] show what comes of it.

pub mod bar;
mod commands;
mod cut;
mod editor;
mod hints;
mod input;
mod lines;
pub mod live;
mod obey;
mod paint;
mod printer;
mod record;
mod run;
mod show;
mod waiting;
mod walk;

use std::path::PathBuf;

use crate::session::options::SessionOptions;

pub use paint::Paint;
pub(crate) use printer::screen;
pub(crate) use run::Repl;
pub(crate) use walk::{WalkBegin, WalkEnd, walk};

/// How the front end behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// No line editor, no redrawing and no decoration: for screen readers and simple terminals.
    pub plain: bool,
    pub paint: Paint,
    /// Where typed lines are kept; nowhere if none.
    pub history: Option<PathBuf>,
}

/// How it ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    Fine,
    /// Code from a pipe failed.
    Failed,
    /// The same, for want of memory.
    NoMemory,
    /// The same, for want of a device.
    NoDevice,
    Interrupted,
    /// The session could not begin, for want of a device.
    NoSession,
}

/// Serves this process's terminal or pipe until it ends. `session` is what sessions are started with.
///
/// # Errors
/// The session's process can't be started, or standard output can't be written to.
pub fn run(options: Options, session: SessionOptions) -> std::io::Result<End> {
    Repl::start(options, session)?.serve()
}
