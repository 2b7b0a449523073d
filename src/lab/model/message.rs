//! What comes in ([`Msg`]) and what is to be done ([`Effect`]).

use std::path::PathBuf;
use std::time::Duration;

use crossterm::event::{Event, KeyEvent, KeyEventKind, MouseEvent};

use crate::lab::model::book_change::{BookChange, Keeping, NotSaved};
use crate::lab::model::document::Document;
use crate::lab::model::export_kind::What;
use crate::lab::model::file_facts::FileFacts;
use crate::lab::model::key::Key;
use crate::lab::model::picture::{Drawing, Job};
use crate::lab::model::screens::home::{Completed, Found, Listing, Target};
use crate::lesson::Entry;
use crate::session::client::FromSession;
use crate::session::protocol::Request;

/// Something the lab reacts to.
#[derive(Clone, PartialEq, Debug)]
pub enum Msg {
    Key(KeyEvent),
    Mouse(MouseEvent),
    /// Text pasted in one piece.
    Paste(String),
    /// Columns and rows of the terminal.
    Resize(u16, u16),
    Session(FromSession),
    /// Time since the lab was opened.
    Tick(Duration),
    /// How saving went, after [`Effect::Save`].
    Saved(Result<Vec<String>, NotSaved>),
    /// The notebook is in a file of another name now, after [`Effect::SaveAs`].
    SavedAs {
        path: PathBuf,
        notes: Vec<String>,
    },
    /// What holds of the notebook's file from now on.
    File {
        facts: FileFacts,
        keeping: Keeping,
    },
    /// The sessions that are started from now on have other devices, or why they have not. A lesson is opened anew by
    /// itself: what it asks depends on them.
    Placed {
        is_reopened: bool,
    },
    NotPlaced(String),
    /// How the file differs from what is here, in lines, after [`Effect::Compare`].
    Compared(Result<Vec<String>, String>),
    /// The cells of the notebook's file, after [`Effect::Reload`].
    Reloaded(Document),
    /// A figure has been drawn, after [`Effect::Draw`].
    Drawn {
        cell: Key,
        slot: u64,
        drawing: Drawing,
    },
    /// Something to tell the learner.
    Note(String),
    /// The same, until all messages are looked at.
    Lasting(String),
    /// What there is to open.
    Listed(Box<Listing>),
    /// The devices of this computer.
    Found(Vec<Found>),
    /// What of a path was completed, after [`Effect::CompletePath`].
    PathCompleted {
        typed: String,
        completed: Completed,
    },
    /// A document in place of the one that was open, and the id of the item where one left off; its session is
    /// started next.
    Opened {
        document: Document,
        at: Option<String>,
        keeping: Keeping,
    },
    /// It could not be opened: [`Msg::Note`] says why.
    NotOpened(Target),
}

/// Something the lab's surroundings do for it.
#[derive(Clone, PartialEq, Debug)]
pub enum Effect {
    Send(Request),
    /// End the session and start a new one.
    RestartSession,
    /// Find out whether there can be a session on these devices, and answer with [`Msg::Placed`].
    UseDevices(String),
    /// Write the notebook to its file, `over` even where another program has changed it.
    Save {
        over: bool,
    },
    /// Write the notebook to another file, `over` even where there is one.
    SaveAs {
        path: PathBuf,
        over: bool,
    },
    /// Tell how the notebook's file differs from what is here, with [`Msg::Compared`].
    Compare,
    /// Read the notebook's file again, and answer with [`Msg::Reloaded`].
    Reload,
    /// Tell the notebook's file of a change.
    Book(BookChange),
    /// Put text into the terminal's clipboard.
    Copy(String),
    /// Keep code that was run for later sessions.
    Remember(String),
    /// Draw a figure, elsewhere than on the thread that draws the screen; [`Msg::drawn`] is the answer.
    Draw(Box<Job>),
    /// Keep what the learner has done at a step of the lesson.
    Record {
        step: String,
        entry: Entry,
    },
    /// Write a file of what the session did, and tell its name.
    Export(What),
    /// Tell what there is to open, with [`Msg::Listed`].
    List,
    /// Complete a path, with [`Msg::PathCompleted`].
    CompletePath(String),
    /// Open it, with [`Msg::Opened`] and a session for it.
    Open(Target),
    Quit,
}

impl Msg {
    /// Draws, and says so.
    pub fn drawn(job: &Job) -> Msg {
        Msg::Drawn { cell: job.cell, slot: job.slot, drawing: job.run() }
    }

    /// A terminal's event as a message; `None` for what does not matter, such as a key's release.
    pub(crate) fn from_terminal(event: Event) -> Option<Msg> {
        match event {
            Event::Key(key) if key.kind == KeyEventKind::Release => None,
            Event::Key(key) => Some(Msg::Key(key)),
            Event::Mouse(mouse) => Some(Msg::Mouse(mouse)),
            Event::Paste(text) => Some(Msg::Paste(text)),
            Event::Resize(columns, rows) => Some(Msg::Resize(columns, rows)),
            Event::FocusGained | Event::FocusLost => None,
        }
    }
}
