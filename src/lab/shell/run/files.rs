//! The notebook's file, while it is open: looked at now and then, saved under another name, read again.

use std::io;
use std::path::PathBuf;
use std::time::Instant;

use super::{HEARTBEAT, Surroundings, say, tell};
use crate::lab::model::book_change::NotSaved;
use crate::lab::model::message::Msg;
use crate::lab::model::state::State;
use crate::lab::shell::book::Book;
use crate::lab::shell::link::SessionLink;
use crate::session::client::Wake;

impl<C: FnMut(Wake) -> io::Result<Box<dyn SessionLink>>> Surroundings<C> {
    /// Looks now and then what other programs do to the notebook's file, and has the journal written to the disk.
    pub(super) fn watch(&mut self, state: &mut State) {
        if self.watched.elapsed() < HEARTBEAT {
            return;
        }
        self.watched = Instant::now();
        let Some(book) = &mut self.book else { return };
        book.sync();
        let told = [book.foreign_change().map(str::to_owned), book.ask_for_lock()];
        self.tell_file(state);
        for note in told.into_iter().flatten() {
            say(state, Msg::Note(note), self);
        }
    }

    /// Tells what holds of the notebook's file, where that has changed.
    pub(super) fn tell_file(&mut self, state: &mut State) {
        let facts = self.book.as_ref().map(Book::facts).unwrap_or_default();
        if state.file != facts {
            say(state, Msg::File(facts), self);
        }
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
