//! The home screen: what one can open (packs and their lessons with progress, notebooks) and the devices there are; its
//! keys.

use std::path::PathBuf;

use KeyCode::{Backspace, Char, Down, End, Enter, Esc, PageDown, PageUp, Tab, Up};
use crossterm::event::KeyCode;

use crate::lab::model::actions::{Action as A, OwnAction};
use crate::lab::model::binding::Bar::{Always, Never, Offered, When};
use crate::lab::model::binding::{Binding, Condition, alt, row};
use crate::lab::model::context::{ANYWHERE, Context, Together};
use crate::lab::model::keys::{c, ctrl, f, key};
use crate::lab::model::screens::keys::ScreenKeys;

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
    /// Lessons that it builds on and that are nowhere.
    pub missing: Vec<String>,
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

/// What a typed path may become.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Completed {
    /// As far as all that fits agrees.
    pub text: String,
    /// What fits: folders and notebooks by their names.
    pub names: Vec<String>,
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
    /// The contexts that hold here.
    pub(crate) fn contexts(&self) -> Together {
        if self.prompt.is_some() { &[&PROMPT] } else { &[&HOME] }
    }

    /// Whether an action of this screen can be done now.
    pub(crate) fn offers(&self, action: OwnAction) -> bool {
        match action {
            CONTINUE => self.listing.resume.is_some(),
            SHOW => self.is_there,
            _ => true,
        }
    }

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

pub(crate) const HOME: Context =
    Context { name: Some("home"), heading: Some("Home"), section: Some("home"), ..Context::new("Home") };

/// While typing a path.
pub(crate) const PROMPT: Context =
    Context { name: Some("path"), heading: Some("Typing a path"), ..Context::new("Prompt") };

/// This screen, or back.
pub(crate) const SHOW: OwnAction = OwnAction("home");
pub(crate) const OPEN: OwnAction = OwnAction("open");
pub(crate) const OPEN_PATH: OwnAction = OwnAction("open-path");
pub(crate) const CONTINUE: OwnAction = OwnAction("continue");
pub(crate) const COMMIT_PATH: OwnAction = OwnAction("commit-path");
pub(crate) const LEAVE_PATH: OwnAction = OwnAction("leave");
pub(crate) const COMPLETE_PATH: OwnAction = OwnAction("complete-path");
pub(crate) const BACKSPACE: OwnAction = OwnAction("path-backspace");
pub(crate) const CLEAR: OwnAction = OwnAction("path-clear");

pub(super) const KEYS: ScreenKeys =
    ScreenKeys { contexts: &[&HOME, &PROMPT], together: &[&[&HOME], &[&PROMPT]], rows: ROWS, ways: WAYS };

const WAYS: &[Binding] =
    &[row(&ANYWHERE, &[f(7)], A::Own(SHOW), Offered("home"), "home: lessons, notebooks and devices")
        .weighs(60)];

const ROWS: &[Binding] = &[
    row(&HOME, &[key(Enter)], A::Own(OPEN), Always("open"), "open what is selected").weighs(96),
    row(&HOME, &[c('c')], A::Own(CONTINUE), Offered("continue"), "continue where you left off").weighs(94),
    row(
        &HOME,
        &[c('o'), c('n')],
        A::Own(OPEN_PATH),
        Always("notebook"),
        "open or create a notebook by its path",
    )
    .weighs(92),
    row(&HOME, &[key(Up), c('k')], A::Up, Always("select"), "select the entry above").weighs(60),
    row(&HOME, &[key(Down), c('j')], A::Down, Never, "select the entry below"),
    row(&HOME, &[key(PageUp)], A::PageUp, Never, "ten entries up"),
    row(&HOME, &[key(PageDown)], A::PageDown, Always("ten down"), "ten entries down").weighs(40),
    row(&HOME, &[key(KeyCode::Home), c('g')], A::First, Never, "select the first entry"),
    row(&HOME, &[key(End), c('G')], A::Last, Never, "select the last entry"),
    row(&HOME, &[key(Esc), f(7)], A::Own(SHOW), When(Condition::Document, "back"), "back to what is open")
        .weighs(90),
    row(&HOME, &[c('q'), ctrl(Char('q'))], A::Quit, Always("quit"), "quit").weighs(80),
    row(&HOME, &[ctrl(Char('p'))], A::Palette, Always("actions"), "every action, by its name"),
    row(&HOME, &[alt('d')], A::OtherDevices, Never, "go on with other devices"),
    row(&HOME, &[f(8)], A::Messages, Never, "all messages"),
    row(&HOME, &[c('?')], A::Help, Always("help"), "this help"),
    row(&PROMPT, &[key(Enter)], A::Own(COMMIT_PATH), Always("open"), "open the file, or begin it"),
    row(&PROMPT, &[key(Tab)], A::Own(COMPLETE_PATH), Always("complete"), "complete the path"),
    row(&PROMPT, &[key(Esc)], A::Own(LEAVE_PATH), Always("leave"), "leave the path"),
    row(&PROMPT, &[key(Backspace)], A::Own(BACKSPACE), Never, "delete the last character"),
    row(&PROMPT, &[ctrl(Char('u'))], A::Own(CLEAR), Never, "begin the path anew"),
];
