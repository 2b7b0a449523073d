//! What the lab's home screen offers: lessons with their progress, notebooks that were open, devices.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::base::file;
use crate::device::Machine;
use crate::device::open::Use;
use crate::device::sim::Selection;
use crate::lab::{Document, Found, HomeLesson, HomePack, Library, Listing, Opened, Recent, Target};
use crate::lesson::{Key, Lesson, Progress, ProgressLog};

use super::lab::{COURSE, data_folder, devices_for, open_notebook, progress};
use super::lesson;

/// Notebooks that are remembered.
const REMEMBERED: usize = 8;

/// The built-in course, the learner's progress, and the notebooks opened before.
pub struct Shelf {
    /// As `--devices` has it.
    devices: String,
    /// The devices of the session that is started next.
    session: Arc<Mutex<String>>,
}

/// A line of the list of notebooks.
#[derive(Clone, Serialize, Deserialize)]
struct Remembered {
    path: PathBuf,
    /// Milliseconds since 1970, UTC.
    at_ms: u64,
}

impl Shelf {
    pub fn new(devices: &str, session: Arc<Mutex<String>>) -> Shelf {
        Shelf { devices: devices.into(), session }
    }

    fn next_session(&self, devices: String) {
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = devices;
    }
}

impl Library for Shelf {
    fn list(&mut self) -> Listing {
        let mut listing = Listing::default();
        let lessons = match lesson::built_in() {
            Ok(lessons) => lessons,
            Err(text) => {
                listing.notes.push(text.lines().next().unwrap_or_default().into());
                Vec::new()
            }
        };
        let log = folder().and_then(|folder| ProgressLog::open(&folder.join("progress.jsonl")));
        let log = match log {
            Ok((log, _)) => Some(log),
            Err(error) => {
                listing.notes.push(format!("progress is not kept: {error}"));
                None
            }
        };
        let nothing = Progress::default();
        let progress = log.as_ref().map_or(&nothing, ProgressLog::progress);
        let notebooks = remembered();
        listing.resume = resume(&lessons, progress, notebooks.first());
        let lessons = lessons.iter().map(|lesson| shown(lesson, progress)).collect();
        listing.packs.push(HomePack { id: COURSE.into(), title: "Course".into(), lessons });
        let now = now_ms();
        let recent =
            |known: Remembered| Recent { when: ago(now.saturating_sub(known.at_ms)), path: known.path };
        listing.notebooks = notebooks.into_iter().map(recent).collect();
        listing
    }

    fn open(&mut self, target: &Target) -> Result<Opened, String> {
        match target {
            Target::Lesson { id, .. } => {
                let found = lesson::find(id)?;
                let keep = progress(&found).ok();
                let log = folder().and_then(|folder| ProgressLog::open(&folder.join("progress.jsonl"))).ok();
                let at = log.and_then(|(log, _)| left_off(&found, log.progress()));
                self.next_session(devices_for(&found, &self.devices));
                Ok(Opened { document: Document::lesson(&found), book: None, keep, at, notes: Vec::new() })
            }
            Target::Notebook(path) => {
                let (document, book, notes) = open_notebook(path)?;
                self.next_session(self.devices.clone());
                Ok(Opened { document, book: Some(book), keep: None, at: None, notes })
            }
        }
    }

    fn devices(&self) -> Box<dyn FnOnce() -> Vec<Found> + Send> {
        Box::new(|| {
            let machine = Selection::Auto;
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
pub fn remember(path: &Path) {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut all = remembered();
    all.retain(|known| known.path != path);
    all.insert(0, Remembered { path, at_ms: now_ms() });
    all.truncate(REMEMBERED);
    let written = folder().and_then(|folder| {
        std::fs::create_dir_all(&folder)?;
        file::replace(&folder.join("notebooks.json"), |out| {
            serde_json::to_writer(out, &all).map_err(io::Error::from)
        })
    });
    // The notebook opens all the same, and the terminal may be the lab's already.
    drop(written);
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

fn key(lesson: &Lesson, step: &str) -> Key {
    Key { pack: COURSE.into(), lesson: lesson.front.id.clone(), step: step.into() }
}

/// The ids of the steps that something can be done at.
fn steps(lesson: &Lesson) -> impl Iterator<Item = &str> {
    lesson.steps.iter().filter(|step| step.element.is_some()).map(|step| step.id.as_str())
}

fn shown(lesson: &Lesson, progress: &Progress) -> HomeLesson {
    let done = |step: &&str| progress.step(&key(lesson, step)).is_some_and(|step| step.done);
    HomeLesson {
        id: lesson.front.id.clone(),
        title: lesson.front.title.clone(),
        summary: lesson.front.summary.clone(),
        minutes: lesson.front.minutes,
        done: steps(lesson).filter(done).count(),
        steps: steps(lesson).count(),
    }
}

/// The first step that is neither done nor skipped, if the lesson was begun.
fn left_off(lesson: &Lesson, progress: &Progress) -> Option<String> {
    let over = |step: &str| progress.step(&key(lesson, step)).map(|step| step.done || step.skipped);
    steps(lesson).any(|step| over(step).is_some()).then_some(())?;
    steps(lesson).find(|step| over(step) != Some(true)).map(str::to_owned)
}

/// Where the learner left off: the notebook or the lesson that was worked on last, the lesson after a finished one, or
/// the first.
fn resume(
    lessons: &[Lesson],
    progress: &Progress,
    notebook: Option<&Remembered>,
) -> Option<(Target, String)> {
    let target = |lesson: &Lesson| Target::Lesson { pack: COURSE.into(), id: lesson.front.id.clone() };
    let at = |lesson: &Lesson| {
        steps(lesson).filter_map(|step| progress.step(&key(lesson, step))).map(|step| step.at_ms).max()
    };
    let last = lessons
        .iter()
        .enumerate()
        .filter_map(|(i, lesson)| Some((at(lesson)?, i, lesson)))
        .max_by_key(|l| l.0);
    if let Some(known) = notebook.filter(|known| last.is_none_or(|(at, ..)| known.at_ms > at)) {
        let name = known.path.file_name().unwrap_or(known.path.as_os_str()).to_string_lossy();
        return Some((Target::Notebook(known.path.clone()), format!("Continue with the notebook {name}")));
    }
    let Some((_, place, lesson)) = last else {
        let first = lessons.first()?;
        return Some((target(first), format!("Begin with lesson 1: {}", first.front.title)));
    };
    let is_open = |lesson: &&Lesson| !shown(lesson, progress).is_done();
    if is_open(&lesson) {
        let HomeLesson { title, done, steps, .. } = shown(lesson, progress);
        return Some((target(lesson), format!("Continue: {title} ({done} of {steps} done)")));
    }
    let next = lessons.iter().skip(place + 1).chain(lessons).find(is_open)?;
    Some((target(next), format!("Next lesson: {}", next.front.title)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lesson::{Entry, Record};

    fn lesson(id: &str) -> Lesson {
        let source = format!(
            "+++\nid = \"{id}\"\ntitle = \"{id}\"\nsummary = \"s\"\nconcepts = [\"c\"]\nminutes = 1\n\
             devices = [\"cpu\"]\n+++\n\n# One\n\n```rhai run id=\"a\"\nlet a = 1;\n```\n\n```rhai run id=\"b\"\nlet b = 1;\n```\n"
        );
        crate::lesson::parse(&format!("{id}.md"), source.as_bytes()).unwrap()
    }

    fn ran(progress: &mut Progress, lesson: &Lesson, step: &str, at_ms: u64) {
        let entry = Entry::Ran { ok: true };
        progress.apply(&Record { key: key(lesson, step), version: "1".into(), at_ms, entry });
    }

    #[test]
    fn one_continues_what_was_worked_on_last() {
        let lessons = [lesson("one"), lesson("two")];
        let ids: Vec<&str> = steps(&lessons[0]).collect();
        let mut progress = Progress::default();
        let told = |progress: &Progress, notebook: Option<&Remembered>| {
            resume(&lessons, progress, notebook).unwrap().1
        };
        assert_eq!(told(&progress, None), "Begin with lesson 1: one");
        ran(&mut progress, &lessons[0], ids[0], 10);
        assert_eq!(told(&progress, None), "Continue: one (1 of 2 done)");
        assert_eq!(left_off(&lessons[0], &progress).as_deref(), Some(ids[1]));
        assert_eq!(left_off(&lessons[1], &progress), None);
        ran(&mut progress, &lessons[0], ids[1], 20);
        assert_eq!(told(&progress, None), "Next lesson: two");
        let notebook = Remembered { path: "/x/y.rhai".into(), at_ms: 30 };
        assert_eq!(told(&progress, Some(&notebook)), "Continue with the notebook y.rhai");
        let earlier = Remembered { at_ms: 5, ..notebook };
        assert_eq!(told(&progress, Some(&earlier)), "Next lesson: two");
        ran(&mut progress, &lessons[1], ids[0], 40);
        ran(&mut progress, &lessons[1], ids[1], 50);
        assert_eq!(resume(&lessons, &progress, None), None);
    }

    #[test]
    fn times_past_are_told_in_words() {
        assert_eq!(
            [30_000, 60_000, 7_200_000, 90_000_000].map(ago),
            ["just now", "1 minute ago", "2 hours ago", "1 day ago"]
        );
    }
}
