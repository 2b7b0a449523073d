//! What one can open: packs and their lessons with progress, notebooks, and the devices there are.

use std::path::PathBuf;

/// Something that can be opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    /// A lesson by its pack and its id.
    Lesson { pack: String, id: String },
    /// A notebook's file, which need not be there yet.
    Notebook(PathBuf),
}

/// A pack with its lessons in their order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HomePack {
    pub id: String,
    pub title: String,
    pub lessons: Vec<HomeLesson>,
}

/// A lesson, and how far the learner has come in it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HomeLesson {
    pub id: String,
    pub title: String,
    pub summary: String,
    pub minutes: u32,
    /// Steps that are done, of how many there are; skipped ones are not done.
    pub done: usize,
    pub steps: usize,
}

impl HomeLesson {
    pub(crate) fn is_done(&self) -> bool {
        self.steps > 0 && self.done >= self.steps
    }
}

/// A notebook that was opened before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recent {
    pub path: PathBuf,
    /// When, in words.
    pub when: String,
}

/// All there is to open.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Listing {
    pub packs: Vec<HomePack>,
    /// The one that was opened last comes first.
    pub notebooks: Vec<Recent>,
    /// Where the learner left off, or may begin, and what that is in words.
    pub resume: Option<(Target, String)>,
    /// What went wrong while it was put together.
    pub notes: Vec<String>,
}

/// A device of this computer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    pub device: String,
    pub name: String,
    /// Bytes; 0 where there is no such limit.
    pub memory: u64,
    pub simulated: bool,
}

/// The home screen.
#[derive(Debug, Default)]
pub(crate) struct Home {
    pub listing: Listing,
    /// `None` until they were looked for.
    pub found: Option<Vec<Found>>,
    /// The selected entry, by its place.
    pub selected: usize,
    /// A path that is being typed.
    pub prompt: Option<String>,
    /// What waits for a yes before it is opened.
    pub wanted: Option<Target>,
    /// There is something to open at all: the lab was not started with one document alone.
    pub is_there: bool,
}

/// An entry of the home screen that can be selected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HomeEntry<'a> {
    Resume(&'a Target, &'a str),
    Lesson(&'a HomePack, &'a HomeLesson),
    Notebook(&'a Recent),
    /// A path is to be typed.
    Path,
}

impl Home {
    /// The entries in the order in which they stand on the screen.
    pub(crate) fn entries(&self) -> Vec<HomeEntry<'_>> {
        let listing = &self.listing;
        let resume = listing.resume.iter().map(|(target, text)| HomeEntry::Resume(target, text));
        let lessons = listing
            .packs
            .iter()
            .flat_map(|pack| pack.lessons.iter().map(move |lesson| HomeEntry::Lesson(pack, lesson)));
        let notebooks = listing.notebooks.iter().map(HomeEntry::Notebook);
        resume.chain(lessons).chain(notebooks).chain([HomeEntry::Path]).collect()
    }

    /// What the selected entry opens.
    pub(crate) fn target(&self) -> Option<Target> {
        match self.entries().get(self.selected)? {
            HomeEntry::Resume(target, _) => Some((*target).clone()),
            HomeEntry::Lesson(pack, lesson) => {
                Some(Target::Lesson { pack: pack.id.clone(), id: lesson.id.clone() })
            }
            HomeEntry::Notebook(recent) => Some(Target::Notebook(recent.path.clone())),
            HomeEntry::Path => None,
        }
    }
}
