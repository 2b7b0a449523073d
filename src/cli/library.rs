//! What the lab's home screen offers: lessons with their progress, notebooks that were open, devices.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::base::file;
use crate::cli::folders::data_folder;
use crate::cli::setup::{lesson_session, notebook_session, opened, placed, progress};
use crate::cli::{kept, library};
use crate::device::Machine;
use crate::device::open::Use;
use crate::device::sim::Selection;
use crate::lab::{Book, Document, Found, HomeLesson, HomePack, Library, Listing, Opened, Recent, Target};
use crate::lesson::pack::Pack;
use crate::lesson::{Key, Lesson, Progress, Record, Step, StepProgress};
use crate::notebook::store::beside;
use crate::session::options::SessionOptions;

use super::packs;

/// Notebooks that are remembered.
const REMEMBERED: usize = 8;

/// The built-in course and the installed packs, the learner's progress, and the notebooks opened before.
pub(crate) struct Shelf {
    /// As `--devices` has it, or as was chosen where nothing was open or at home.
    devices: String,
    /// Devices that were chosen within a lesson: they are for it alone.
    chosen: Vec<(Target, String)>,
    /// What the session has that is started next.
    session: Arc<Mutex<SessionOptions>>,
    /// The lesson that is open, where it is one that can be opened again.
    lesson: Option<Target>,
}

/// A line of the list of notebooks.
#[derive(Clone, Serialize, Deserialize)]
struct Remembered {
    path: PathBuf,
    /// Milliseconds since 1970, UTC.
    at_ms: u64,
}

impl Shelf {
    /// `lesson` is the one that the lab opens on, with its pack.
    pub(super) fn new(
        devices: &str,
        session: Arc<Mutex<SessionOptions>>,
        lesson: Option<(String, String)>,
    ) -> Shelf {
        let lesson = lesson.filter(|(pack, id)| packs::find_in(pack, id).is_ok());
        let lesson = lesson.map(|(pack, id)| Target::Lesson { pack, id });
        Shelf { devices: devices.into(), chosen: Vec::new(), session, lesson }
    }

    fn devices_of(&self, target: &Target) -> &str {
        let chosen = self.chosen.iter().find(|(of, _)| of == target);
        chosen.map_or(&self.devices, |(_, devices)| devices)
    }

    fn next_session(&self, setup: SessionOptions) {
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = setup;
    }
}

impl Library for Shelf {
    fn list(&mut self) -> Listing {
        let (packs, faults) = packs::all();
        let first_line = |text: &String| text.lines().next().unwrap_or_default().to_owned();
        let mut listing = Listing { notes: faults.iter().map(first_line).collect(), ..Listing::default() };
        let progress = &match kept::read() {
            Ok(kept) => {
                listing.notes.extend(kept.note.clone());
                kept.progress()
            }
            Err(error) => {
                listing.notes.push(format!("progress is not kept: {error}"));
                Progress::default()
            }
        };
        let mut notebooks = remembered();
        // One that was deleted comes back by itself where it does, and is not offered until then.
        notebooks.retain(|known| is_there(&known.path));
        listing.resume = resume(&taken(&packs), progress, notebooks.first());
        let all = taken(&packs);
        listing.packs = packs.iter().map(|pack| shown_pack(pack, &all, progress)).collect();
        let now = now_ms();
        let recent =
            |known: Remembered| Recent { when: ago(now.saturating_sub(known.at_ms)), path: known.path };
        listing.notebooks = notebooks.into_iter().map(recent).collect();
        listing
    }

    fn open(&mut self, target: &Target) -> Result<Opened, String> {
        match target {
            Target::Lesson { pack, id } => {
                let devices = self.devices_of(target);
                let found = placed(&packs::find_in(pack, id)?, devices);
                let keep = progress(&found).ok();
                let at = where_left_off(&found);
                let setup = lesson_session(&found, devices);
                let (document, book, kept) = opened(&found);
                let notes = setup.missing_protection().into_iter().chain(kept).collect();
                self.next_session(setup);
                self.lesson = Some(target.clone());
                Ok(Opened { document, book, keep, at, notes })
            }
            Target::Notebook(path) => {
                let path = &file::at_home(path);
                if !is_there(path) && forget(path) {
                    let shown = path.display();
                    return Err(format!("{shown} is no longer there; open its path again to begin it anew"));
                }
                let (document, book, notes) = open_notebook(path)?;
                self.next_session(notebook_session(&book.wants(), &self.devices)?);
                self.lesson = None;
                Ok(Opened { document, book: Some(book), keep: None, at: None, notes })
            }
        }
    }

    fn use_devices(&mut self, devices: &str, only_here: bool) -> Result<Option<Target>, String> {
        // The session of a lesson is made when it is opened again.
        self.session.lock().unwrap_or_else(PoisonError::into_inner).set_devices(devices)?;
        match self.lesson.clone() {
            Some(lesson) if only_here => {
                self.chosen.retain(|(of, _)| *of != lesson);
                self.chosen.push((lesson, devices.to_owned()));
            }
            _ => {
                self.chosen.clear();
                self.devices = devices.to_owned();
            }
        }
        Ok(self.lesson.clone())
    }

    fn was_saved(&mut self, path: &Path) {
        remember(path);
    }

    fn devices(&self) -> Box<dyn FnOnce() -> Vec<Found> + Send> {
        // What was wrong with it was said before.
        let machine = self.devices.parse().unwrap_or(Selection::Auto(None));
        Box::new(move || {
            let Ok(opened) = Machine::open(&machine, Use::Interactive) else { return Vec::new() };
            let found = opened.machine.contexts().map(|context| {
                let properties = context.backend.properties();
                Found {
                    device: context.device.to_string(),
                    name: properties.name.clone(),
                    memory: properties.total_memory,
                    simulated: properties.simulated,
                }
            });
            found.collect()
        })
    }
}

/// Remembers that a notebook was opened. That this fails is no reason not to open it.
pub(crate) fn remember(path: &Path) {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut all = remembered();
    all.retain(|known| known.path != path);
    all.insert(0, Remembered { path, at_ms: now_ms() });
    all.truncate(REMEMBERED);
    keep(&all);
}

fn keep(all: &[Remembered]) {
    let written = folder().and_then(|folder| {
        file::make_folder(&folder)?;
        file::replace(&folder.join("notebooks.json"), |out| {
            serde_json::to_writer(out, all).map_err(io::Error::from)
        })
    });
    // The notebook opens all the same, and the terminal may be the lab's already.
    drop(written);
}

/// Drops a notebook from those that are remembered; false where it is not among them.
fn forget(path: &Path) -> bool {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut all = remembered();
    let before = all.len();
    all.retain(|known| known.path != path);
    if all.len() == before {
        return false;
    }
    keep(&all);
    true
}

/// Whether a notebook is there, or what was typed into it and not saved.
fn is_there(path: &Path) -> bool {
    path.exists() || beside(path, "journal").exists()
}

fn remembered() -> Vec<Remembered> {
    let text = folder().and_then(|folder| std::fs::read_to_string(folder.join("notebooks.json")));
    text.ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

fn folder() -> io::Result<PathBuf> {
    data_folder().ok_or_else(|| io::Error::other("there is no home folder"))
}

fn now_ms() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
}

/// `3 hours ago`.
fn ago(ms: u64) -> String {
    let minutes = ms / 60_000;
    let (n, unit) = match minutes {
        0 => return "just now".into(),
        1..60 => (minutes, "minute"),
        60..1440 => (minutes / 60, "hour"),
        _ => (minutes / 1440, "day"),
    };
    format!("{n} {unit}{} ago", if n == 1 { "" } else { "s" })
}

/// A lesson and the id of its pack.
pub(super) type Taken<'a> = (&'a str, &'a Lesson);

/// All lessons in the order in which they are taken.
pub(super) fn taken(packs: &[Pack]) -> Vec<Taken<'_>> {
    let lessons = packs.iter().flat_map(|pack| pack.lessons.iter().map(move |lesson| (pack, lesson)));
    lessons.map(|(pack, lesson)| (pack.manifest.id.as_str(), lesson)).collect()
}

fn key((pack, lesson): Taken<'_>, step: &str) -> Key {
    Key { pack: pack.into(), lesson: lesson.front.id.clone(), step: step.into() }
}

/// The ids of the steps that something can be done at.
fn steps(lesson: &Lesson) -> impl Iterator<Item = &str> {
    lesson.steps.iter().filter(is_asked).map(|step| step.id.as_str())
}

fn is_asked(step: &&Step) -> bool {
    step.element.is_some()
}

fn shown_pack(pack: &Pack, all: &[Taken<'_>], progress: &Progress) -> HomePack {
    let id = &pack.manifest.id;
    let one = |lesson| HomeLesson { missing: missing((id, lesson), all), ..shown((id, lesson), progress) };
    let lessons = pack.lessons.iter().map(one).collect();
    HomePack { id: id.to_string(), title: pack.manifest.title.clone(), lessons }
}

/// What a lesson builds on and is nowhere: of its own pack, or `pack/lesson` of another.
pub(super) fn missing((pack, lesson): Taken<'_>, all: &[Taken<'_>]) -> Vec<String> {
    let is_there = |name: &&String| {
        let (of, id) = name.split_once('/').unwrap_or((pack, name));
        all.iter().any(|(pack, lesson)| *pack == of && lesson.front.id == id)
    };
    lesson.front.prerequisites.iter().filter(|name| !is_there(name)).cloned().collect()
}

/// What is said of a lesson that builds on lessons which are not done yet; none where all are, or are nowhere.
pub(super) fn builds_on(chosen: &packs::Chosen) -> Option<String> {
    if chosen.lesson.front.prerequisites.is_empty() {
        return None;
    }
    let (packs, _) = packs::all();
    let progress = kept::read().ok()?.progress();
    let all = taken(&packs);
    let open = |name: &String| {
        let (of, id) = name.split_once('/').unwrap_or((&chosen.pack, name));
        let found = all.iter().find(|(pack, lesson)| *pack == of && lesson.front.id == id)?;
        (!shown(*found, &progress).is_done()).then(|| packs::name(of, id))
    };
    let open: Vec<String> = chosen.lesson.front.prerequisites.iter().filter_map(open).collect();
    let verb = if open.len() == 1 { "is" } else { "are" };
    (!open.is_empty())
        .then(|| format!("this lesson builds on {}, which {verb} not done yet", open.join(", ")))
}

/// A lesson as the home screen has it.
pub(super) fn shown(taken: Taken<'_>, progress: &Progress) -> HomeLesson {
    let (_, lesson) = taken;
    let done = |step: &&str| progress.step(&key(taken, step)).is_some_and(|step| step.done);
    let usual = lesson.front.devices.first();
    // What is for other devices than the lesson's first is beyond it: nobody need change the machine to be done.
    let counts = |step: &&Step| usual.is_none_or(|usual| step.devices.has(usual));
    let asked = || lesson.steps.iter().filter(counts).filter(is_asked).map(|step| step.id.as_str());
    HomeLesson {
        id: lesson.front.id.clone(),
        title: lesson.front.title.clone(),
        summary: lesson.front.summary.clone(),
        minutes: lesson.front.minutes,
        done: asked().filter(done).count(),
        steps: asked().count(),
        missing: Vec::new(),
    }
}

/// The step that was left last, or that was worked on last; where that one is done, the first open one after it, or an
/// earlier open one. None where the lesson was not begun.
fn left_off(taken: Taken<'_>, progress: &Progress) -> Option<String> {
    let all: Vec<(&str, Option<&StepProgress>)> =
        steps(taken.1).map(|step| (step, progress.step(&key(taken, step)))).collect();
    let latest = all.iter().filter_map(|(_, step)| Some(step.as_ref()?.at_ms)).max()?;
    let last = all.iter().rposition(|(_, step)| step.is_some_and(|step| step.at_ms == latest))?;
    if let Some((id, Some(StepProgress { left: true, .. }))) = all.get(last) {
        return Some((*id).to_owned());
    }
    let is_open = |(_, step): &&(&str, Option<&StepProgress>)| !step.is_some_and(|s| s.done || s.skipped);
    let found = all.iter().skip(last).find(is_open).or_else(|| all.iter().find(is_open))?;
    Some(found.0.to_owned())
}

/// The id of the step where the learner left off in a lesson; none where it was not begun.
pub(super) fn where_left_off(chosen: &packs::Chosen) -> Option<String> {
    left_off((&chosen.pack, &chosen.lesson), &kept::read().ok()?.progress())
}

/// The same from all that was recorded.
pub(super) fn left_off_in(pack: &str, lesson: &Lesson, records: &[Record]) -> Option<String> {
    let mut progress = Progress::default();
    records.iter().for_each(|record| progress.apply(record));
    left_off((pack, lesson), &progress)
}

/// What comes after a lesson of a walk, and how it is opened: the next one of its pack, or else one that is not done.
pub(super) fn next_of(pack: &str, lesson: &Lesson) -> String {
    let (packs, _) = packs::all();
    let progress = &kept::read().map(|kept| kept.progress()).unwrap_or_default();
    let is_this = |(of, other): &Taken<'_>| *of == pack && other.front.id == lesson.front.id;
    let all = taken(&packs);
    let after = all.iter().skip_while(|taken| !is_this(taken)).nth(1).filter(|(of, _)| *of == pack);
    let opens = |(of, next): Taken<'_>| {
        format!("tensorlab lesson start {} --plain opens it.", packs::name(of, &next.front.id))
    };
    if let Some(next) = after {
        return format!("{}: {} {}", next.1.front.title, next.1.front.summary, opens(*next));
    }
    let title =
        |pack: &str| packs.iter().find(|p| *p.manifest.id == *pack).map(|p| p.manifest.title.as_str());
    let last = title(pack).map(|title| format!("This is the last lesson of {title}. ")).unwrap_or_default();
    match all.iter().find(|taken| !is_this(taken) && !shown(**taken, progress).is_done()) {
        Some(next) => {
            let of = title(next.0).unwrap_or(next.0);
            format!("{last}{} of {of} is not done yet. {}", next.1.front.title, opens(*next))
        }
        None => "This is the last lesson there is.".into(),
    }
}

/// Where the learner left off: the notebook or the lesson that was worked on last, the lesson after a finished one, or
/// the first.
fn resume(
    lessons: &[Taken<'_>],
    progress: &Progress,
    notebook: Option<&Remembered>,
) -> Option<(Target, String)> {
    let target =
        |(pack, lesson): Taken<'_>| Target::Lesson { pack: pack.into(), id: lesson.front.id.clone() };
    let at = |taken: Taken<'_>| {
        steps(taken.1).filter_map(|step| progress.step(&key(taken, step))).map(|step| step.at_ms).max()
    };
    let last = lessons
        .iter()
        .enumerate()
        .filter_map(|(i, lesson)| Some((at(*lesson)?, i, *lesson)))
        .max_by_key(|l| l.0);
    if let Some(known) = notebook.filter(|known| last.is_none_or(|(at, ..)| known.at_ms > at)) {
        let name = known.path.file_name().unwrap_or(known.path.as_os_str()).to_string_lossy();
        return Some((Target::Notebook(known.path.clone()), format!("Continue with the notebook {name}")));
    }
    let Some((_, place, lesson)) = last else {
        let first = *lessons.first()?;
        return Some((target(first), format!("Begin with: {}", first.1.front.title)));
    };
    let is_open = |lesson: &Taken<'_>| !shown(*lesson, progress).is_done();
    if is_open(&lesson) {
        let HomeLesson { title, done, steps, .. } = shown(lesson, progress);
        return Some((target(lesson), format!("Continue: {title} ({done} of {steps} done)")));
    }
    let next = *lessons.iter().skip(place + 1).chain(lessons).find(|lesson| is_open(lesson))?;
    Some((target(next), format!("Next lesson: {}", next.1.front.title)))
}

/// A notebook's cells, its file, and what there is to say of it; one that is not there yet is empty. It is
/// remembered.
pub(crate) fn open_notebook(path: &Path) -> Result<(Document, Book, Vec<String>), String> {
    check_place(&file::at_home(path))?;
    let (book, notes) = Book::open(path)?;
    library::remember(path);
    Ok((book.document(), book, notes))
}

/// A new notebook needs a folder.
fn check_place(path: &Path) -> Result<(), String> {
    if path.exists() {
        return Ok(());
    }
    match path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) {
        Some(folder) => Err(format!("there is no folder {}", folder.display())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lesson::Entry;

    fn lesson(id: &str) -> Lesson {
        let source = format!(
            "+++\nid = \"{id}\"\ntitle = \"{id}\"\nsummary = \"s\"\nconcepts = [\"c\"]\nminutes = 1\n\
             devices = [\"cpu\"]\n+++\n\n# One\n\n```rhai run id=\"a\"\nlet a = 1;\n```\n\n```rhai run id=\"b\"\nlet b = 1;\n```\n"
        );
        crate::lesson::parse(&format!("{id}.md"), source.as_bytes()).unwrap()
    }

    fn ran(progress: &mut Progress, lesson: Taken<'_>, step: &str, at_ms: u64) {
        let entry = Entry::Ran { ok: true };
        progress.apply(&Record { key: key(lesson, step), version: "1".into(), at_ms, entry });
    }

    #[test]
    fn a_step_for_other_devices_is_not_needed_to_be_done() {
        let source = "+++\nid = \"one\"\ntitle = \"one\"\nsummary = \"s\"\nconcepts = [\"c\"]\nminutes = 1\n\
             devices = [\"sim:t4\", \"cpu\"]\n+++\n\n# One\n\n```toml predict id=\"p\"\ndevices = [\"cpu\"]\nask = \"?\"\n\
             answer = \"a\"\nexplain = \"1.\"\n```\n\n```rhai run id=\"a\"\nlet a = 1;\n```\n";
        let one = crate::lesson::parse("one.md", source.as_bytes()).unwrap();
        assert_eq!(steps(&one).collect::<Vec<_>>(), ["p", "a"]);
        let mut progress = Progress::default();
        ran(&mut progress, ("p", &one), "a", 10);
        let shown = shown(("p", &one), &progress);
        assert_eq!((shown.done, shown.steps, shown.is_done()), (1, 1, true));
    }

    #[test]
    fn one_continues_what_was_worked_on_last() {
        let (one, two) = (lesson("one"), lesson("two"));
        let lessons = [("p", &one), ("q", &two)];
        let ids: Vec<&str> = steps(&one).collect();
        let mut progress = Progress::default();
        let told = |progress: &Progress, notebook: Option<&Remembered>| {
            resume(&lessons, progress, notebook).unwrap().1
        };
        assert_eq!(told(&progress, None), "Begin with: one");
        ran(&mut progress, lessons[0], ids[0], 10);
        assert_eq!(told(&progress, None), "Continue: one (1 of 2 done)");
        assert_eq!(left_off(lessons[0], &progress).as_deref(), Some(ids[1]));
        assert_eq!(left_off(lessons[1], &progress), None);
        let left =
            Record { key: key(lessons[0], ids[0]), version: "1".into(), at_ms: 15, entry: Entry::Left };
        progress.apply(&left);
        assert_eq!(
            left_off(lessons[0], &progress).as_deref(),
            Some(ids[0]),
            "where one was, though it is done"
        );
        let mut later = Progress::default();
        ran(&mut later, lessons[0], ids[1], 10);
        assert_eq!(left_off(lessons[0], &later).as_deref(), Some(ids[0]), "what was passed over comes last");
        ran(&mut progress, lessons[0], ids[1], 20);
        assert_eq!(told(&progress, None), "Next lesson: two");
        let notebook = Remembered { path: "/x/y.rhai".into(), at_ms: 30 };
        assert_eq!(told(&progress, Some(&notebook)), "Continue with the notebook y.rhai");
        let earlier = Remembered { at_ms: 5, ..notebook };
        assert_eq!(told(&progress, Some(&earlier)), "Next lesson: two");
        ran(&mut progress, lessons[1], ids[0], 40);
        ran(&mut progress, lessons[1], ids[1], 50);
        assert_eq!(resume(&lessons, &progress, None), None);
    }

    #[test]
    fn devices_chosen_within_a_lesson_are_its_own_and_those_chosen_at_home_everyones() {
        let session = Arc::new(Mutex::new(SessionOptions::plain("auto")));
        let at = |id: &str| Target::Lesson { pack: "course".into(), id: id.into() };
        let mut shelf = Shelf::new("auto", session, Some(("course".into(), "moving".into())));
        assert_eq!(shelf.use_devices("cpu", true), Ok(Some(at("moving"))));
        assert_eq!(["moving", "vram"].map(|id| shelf.devices_of(&at(id)).to_owned()), ["cpu", "auto"]);
        assert!(shelf.use_devices("sim:t9", true).is_err());
        assert_eq!(shelf.devices_of(&at("moving")), "cpu", "what can't be had changes nothing");
        assert_eq!(shelf.use_devices("sim:t4", false), Ok(Some(at("moving"))));
        assert_eq!(["moving", "vram"].map(|id| shelf.devices_of(&at(id)).to_owned()), ["sim:t4"; 2]);
    }

    #[test]
    fn what_a_lesson_builds_on_and_is_nowhere_is_told() {
        let (one, mut two) = (lesson("one"), lesson("two"));
        two.front.prerequisites = ["one", "none", "q/one", "p/one", "gone/x"].map(String::from).to_vec();
        let all = [("p", &one), ("p", &two)];
        assert_eq!(missing(("p", &two), &all), ["none", "q/one", "gone/x"]);
        assert!(missing(("p", &one), &all).is_empty());
    }

    #[test]
    fn times_past_are_told_in_words() {
        assert_eq!(
            [30_000, 60_000, 7_200_000, 90_000_000].map(ago),
            ["just now", "1 minute ago", "2 hours ago", "1 day ago"]
        );
    }
}
