//! Finds what there is to open, and opens it.

use std::io;
use std::path::Path;

use crate::lab::model::document::Document;
use crate::lab::model::screens::home::{Found, Listing, Target};
use crate::lab::shell::book::Book;
use crate::lesson::Entry;

/// Keeps what a learner did at a step of the lesson, by the step's id.
pub type Keep = Box<dyn FnMut(&str, &Entry) -> io::Result<()>>;

/// Finds what there is to open, and opens it.
pub trait Library {
    fn list(&mut self) -> Listing;

    /// Opens something; an error says why it can't be.
    fn open(&mut self, target: &Target) -> Result<Opened, String>;

    /// Has the sessions that are started next on other devices, or only those of what is open; gives what has to be
    /// opened anew for them. An error says what is wrong with the devices, and nothing is changed.
    ///
    /// # Errors
    /// There are no such devices.
    fn use_devices(&mut self, devices: &str, only_here: bool) -> Result<Option<Target>, String>;

    /// A notebook that is open was saved under another name.
    fn was_saved(&mut self, path: &Path);

    /// Looks for the devices of this computer, on a thread of its own, as it may take a while.
    fn devices(&self) -> Box<dyn FnOnce() -> Vec<Found> + Send>;
}

/// What was opened. The session that is started next is one for it.
pub struct Opened {
    pub document: Document,
    pub book: Option<Book>,
    pub keep: Option<Keep>,
    /// The id of the item where one left off.
    pub at: Option<String>,
    /// What there is to tell of it.
    pub notes: Vec<String>,
}
