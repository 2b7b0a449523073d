//! The notebook's file, while it is open: looked at now and then, saved under another name, read again.

use std::io;
use std::path::PathBuf;
use std::time::Instant;

use crate::base::file;

use super::{HEARTBEAT, Surroundings, act, say, tell};
use crate::lab::model::book_change::{BookChange, Keeping, NotSaved};
use crate::lab::model::message::Msg;
use crate::lab::model::screens::home::Target;
use crate::lab::model::state::State;
use crate::lab::shell::book::Book;
use crate::lab::shell::link::SessionLink;
use crate::lesson::Entry;
use crate::session::client::Wake;

/// A file that was let go of.
pub(super) struct LetGo {
    path: PathBuf,
    /// It is written by itself.
    is_kept: bool,
}

impl<C: FnMut(Wake) -> io::Result<Box<dyn SessionLink>>> Surroundings<C> {
    /// Looks now and then what other programs do to the notebook's file, and has the journal written to the disk.
    pub(super) fn watch(&mut self, state: &mut State) {
        if self.watched.elapsed() < HEARTBEAT {
            return;
        }
        self.watched = Instant::now();
        let Some(book) = &mut self.book else { return };
        book.sync();
        book.look_outside();
        let freed = book.ask_for_lock();
        self.tell_file(state);
        if let Some(note) = freed {
            say(state, Msg::Note(note), self);
        }
    }

    /// Tells what holds of the notebook's file, where that has changed.
    pub(super) fn tell_file(&mut self, state: &mut State) {
        let facts = self.book.as_ref().map(Book::facts).unwrap_or_default();
        let keeping = self.keeping();
        if (&state.file, state.keeping) != (&facts, keeping) {
            say(state, Msg::File { facts, keeping }, self);
        }
        if self.keeps_progress() {
            for (step, entry) in std::mem::take(&mut self.unkept) {
                if let Err(error) = self.record(step, entry) {
                    say(state, Msg::Note(error.to_string()), self);
                }
            }
        }
    }

    /// Tells the notebook's file of a change; that this fails is told once.
    pub(super) fn change(&mut self, state: &mut State, change: BookChange) -> io::Result<()> {
        let done = self.book.as_mut().map_or(Ok(None), |book| book.change(change));
        if state.file.unjournaled || done.is_err() {
            self.tell_file(state);
        }
        match done {
            Ok(kept) => {
                self.journal_fails = false;
                if let Some(kept) = kept {
                    say(state, Msg::Lasting(kept), self);
                }
                Ok(())
            }
            Err(_) if std::mem::replace(&mut self.journal_fails, true) => Ok(()),
            Err(e) => Err(io::Error::new(e.kind(), format!("what you type is not kept until you save: {e}"))),
        }
    }

    /// Keeps what was done at a step. While another lab has the lesson, that waits until it has let go of it: text and
    /// progress are kept together, or neither.
    pub(super) fn record(&mut self, step: String, entry: Entry) -> io::Result<()> {
        if !self.keeps_progress() {
            self.unkept.push((step, entry));
            return Ok(());
        }
        let kept = self.keep.as_mut().map_or(Ok(()), |keep| keep(&step, &entry));
        kept.map_err(|e| io::Error::new(e.kind(), format!("progress was not kept: {e}")))
    }

    fn keeps_progress(&self) -> bool {
        self.book.is_none() || self.keeping() != Keeping::Nothing
    }

    /// What becomes of what is written.
    pub(super) fn keeping(&self) -> Keeping {
        self.book.as_ref().map_or(Keeping::Nothing, Book::keeping)
    }

    /// Lets go of the file that is open where it may be what is opened: a lesson's, or this notebook's. Another notebook
    /// stays open until the new one is. Gives what is to be taken again where that fails.
    pub(super) fn let_go(&mut self, target: &Target) -> Option<LetGo> {
        let book = self.book.take_if(|book| match target {
            Target::Lesson { .. } => book.is_kept(),
            Target::Notebook(path) => book.is_of(&file::at_home(path)),
        })?;
        Some(LetGo { path: book.path().to_path_buf(), is_kept: book.is_kept() })
    }

    /// Opens the file again that was let go of.
    pub(super) fn take_again(&mut self, let_go: Option<LetGo>) {
        let Some(LetGo { path, is_kept }) = let_go else { return };
        let again = if is_kept { Book::open_own(&path, Vec::new()) } else { Book::open(&path) };
        self.book = again.ok().map(|(book, _)| book);
    }

    /// Begins a session on other devices; a lesson is opened anew, as what it asks depends on them.
    pub(super) fn use_devices(&mut self, state: &mut State, devices: &str) -> io::Result<()> {
        let Some(library) = &mut self.library else { return Ok(()) };
        let target = match library.use_devices(devices, state.chooses_for_lesson()) {
            Ok(target) => target,
            Err(reason) => {
                say(state, Msg::NotPlaced(reason), self);
                return Ok(());
            }
        };
        if let Some(target) = &target {
            self.open(state, target)?;
        }
        self.look_again(state);
        // What follows of it ends nothing.
        let _ = act(state, Msg::Placed { is_reopened: target.is_some() }, self);
        Ok(())
    }

    /// Writes the notebook to another file, which it is in from then on.
    pub(super) fn save_as(&mut self, path: PathBuf, over: bool) -> Msg {
        let Some(book) = &mut self.book else {
            return Msg::Saved(Err(NotSaved::Failed("the notebook is not open any more".into())));
        };
        match book.save_as(&path, over) {
            Ok(notes) => {
                let path = book.path().to_path_buf();
                if let Some(library) = &mut self.library {
                    library.was_saved(&path);
                }
                Msg::SavedAs { path, notes }
            }
            Err(error) => Msg::Saved(Err(error)),
        }
    }

    /// Reads the notebook's file again.
    pub(super) fn reload(&mut self, state: &mut State) -> io::Result<()> {
        let Some(book) = &mut self.book else { return Ok(()) };
        let notes = book.reload().map_err(io::Error::other)?;
        let document = book.document();
        say(state, Msg::Reloaded(document), self);
        self.tell_file(state);
        tell(state, &notes, self);
        Ok(())
    }
}
