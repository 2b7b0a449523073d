//! Checks a pack: what shows from its files, and what shows when its lessons run.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::path::Path;

use crate::base::figures::plural;
use crate::base::near;
use crate::device::sim::host_choice::with_host;
use crate::lesson::error::LessonError;
use crate::lesson::format::{Element, Lesson};
use crate::lesson::lint::{anchors, lint};
use crate::lesson::pack::id::COURSE;
use crate::lesson::pack::read::{Pack, fault_of};
use crate::lesson::verify::{Report, verify_in, verify_own};

use super::error::PackError;
use super::hash;
use super::manifest::Manifest;
use super::path::{self, Place};
use super::tree::{self, Tree};

/// What every asset's path begins with.
pub(crate) const ASSETS: &str = "assets/";

/// What looking at a pack's files gave.
#[derive(Debug, Default)]
pub struct Found {
    pub faults: Vec<LessonError>,
    /// What is odd and no fault.
    pub notes: Vec<LessonError>,
    /// Faults and notes beyond those that are kept.
    hidden: usize,
}

/// Most faults of a pack, and most notes, that are kept; nobody reads more.
const MOST: usize = 500;

impl Found {
    fn fault(&mut self, make: impl FnOnce() -> LessonError) {
        if self.faults.len() < MOST { self.faults.push(make()) } else { self.hidden += 1 }
    }

    fn note(&mut self, make: impl FnOnce() -> LessonError) {
        if self.notes.len() < MOST { self.notes.push(make()) } else { self.hidden += 1 }
    }
}

/// Checks all that shows without running anything: rules of lessons, unique ids, links and assets, datasets and their
/// sums, files that belong to nothing.
///
/// # Errors
/// A file that can't be read.
pub fn inspect(pack: &Pack, tree: &Tree) -> Result<Found, PackError> {
    let mut found = Found::default();
    let Some(folder) = &pack.folder else {
        found.faults.extend(pack.lessons.iter().flat_map(lint));
        return Ok(found);
    };
    for (name, why) in &tree.refused {
        let message = format!("this can't be part of a pack: {why}");
        let hint = if tree.has(name) { "make it smaller, or remove it" } else { "rename it, or remove it" };
        found.fault(|| fault_of(&folder.join(name), &message, hint));
    }
    if !is_free(&pack.manifest.id) && !is_course(pack) {
        let message = format!("the id `{COURSE}` is that of the built-in pack");
        found.fault(|| pack.manifest.error_at("id", message, "give the pack another id"));
    }
    ids(pack, &mut found);
    for lesson in &pack.lessons {
        found.faults.extend(lint(lesson));
        links(lesson, pack, tree, &mut found);
    }
    prerequisites(pack, &mut found);
    invalidates(pack, &mut found);
    datasets(pack, folder, tree, &mut found)?;
    strays(pack, folder, tree, &mut found);
    if pack.lessons.is_empty() {
        let hint = "write one, and name it in lessons = […]";
        found.fault(|| pack.manifest.error((1, 1), "the pack has no lesson", hint));
    }
    if found.hidden > 0 {
        let message = format!("{} further faults and notes are not listed", found.hidden);
        let rest = pack.manifest.error((1, 1), message, "mend the first ones and check again");
        if found.faults.is_empty() { found.notes.push(rest) } else { found.faults.push(rest) }
    }
    Ok(found)
}

/// Whether it is the folder of the built-in pack itself.
fn is_course(pack: &Pack) -> bool {
    let same = |own: Manifest| own.title == pack.manifest.title && own.authors == pack.manifest.authors;
    Manifest::built_in().is_some_and(same)
}

fn ids(pack: &Pack, found: &mut Found) {
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    for lesson in &pack.lessons {
        if let Some(other) = seen.insert(&lesson.front.id, lesson.file()) {
            let (line, column) = lesson.front.place("id");
            let message = format!("the id `{}` is that of {other}, too", lesson.front.id);
            let hint = "learners' progress is kept by it; give each lesson its own";
            found.fault(|| lesson.error(line, column, message, hint));
        }
    }
}

/// Targets inside the pack that are not there.
fn links(lesson: &Lesson, pack: &Pack, tree: &Tree, found: &mut Found) {
    for link in &lesson.links {
        let path = link.target.split('#').next().unwrap_or_default();
        let at = match path {
            // What leads elsewhere, or nowhere, is known from the lesson alone.
            _ if path.is_empty() || path.contains(':') => continue,
            asset if asset.starts_with("assets/") => asset.to_owned(),
            name if name.ends_with(".md") && !name.contains('/') => format!("lessons/{name}"),
            _ => continue,
        };
        let lesson_of = |file: &&Lesson| at.ends_with(&format!("/{}", file_name(file)));
        if let Some((_, place)) = link.target.split_once('#')
            && pack.lessons.iter().find(lesson_of).is_some_and(|file| !anchors(file).contains(place))
        {
            let message = format!("{path} has no heading `#{place}`");
            let hint = "write the heading's words in lower case, with hyphens between them";
            found.fault(|| lesson.error(link.line, link.column, message, hint));
        }
        if !tree.has(&at) {
            found.fault(|| {
                let known: Vec<&str> = tree.files.iter().map(String::as_str).collect();
                let hint = near::did_you_mean(&at, known.iter().copied())
                    .unwrap_or_else(|| "put the file there, or mend the link".to_owned());
                let message = format!("there is no file {at} in the pack");
                lesson.error(link.line, link.column, message, hint)
            });
        }
    }
}

fn file_name(lesson: &Lesson) -> &str {
    lesson.file().rsplit(['/', '\\']).next().unwrap_or_default()
}

/// Lessons that are to come before others: those that come later, in a circle or not, are a fault; those that are not
/// there may be planned.
fn prerequisites(pack: &Pack, found: &mut Found) {
    let ids: Vec<&str> = pack.lessons.iter().map(|lesson| lesson.front.id.as_str()).collect();
    for (place, lesson) in pack.lessons.iter().enumerate() {
        let (line, column) = lesson.front.place("prerequisites");
        let own = format!("{}/", pack.manifest.id);
        let named = lesson.front.prerequisites.iter().map(|name| name.strip_prefix(&own).unwrap_or(name));
        for name in named.filter(|name| !name.contains('/')) {
            if let Some(later) = pack.lessons.iter().skip(place + 1).find(|later| later.front.id == name) {
                let mut theirs = later.front.prerequisites.iter();
                let back = theirs.any(|name| name.strip_prefix(&own).unwrap_or(name) == lesson.front.id);
                found.fault(|| {
                    let message = match back {
                        true => format!("`{name}` and this lesson are each the other's prerequisite"),
                        false => {
                            format!("the prerequisite `{name}` comes later in the pack than this lesson")
                        }
                    };
                    let hint = "take it off, or list its file before this one in lessons = […] of pack.toml";
                    lesson.error(line, column, message, hint)
                });
            }
            if !ids.contains(&name) {
                found.note(|| {
                    let message = format!("no lesson of the pack has the id `{name}`");
                    let hint = near::suggestion(name, &ids, "the lessons are");
                    lesson.error(line, column, message, hint)
                });
            }
        }
    }
}

fn invalidates(pack: &Pack, found: &mut Found) {
    let manifest = &pack.manifest;
    for one in &manifest.invalidates {
        let at = (one.line, one.column);
        let step = pack.lesson(&one.lesson).map(|lesson| lesson.step(&one.step).is_some());
        if step != Some(true) {
            let message = format!("there is no step `{}/{}`", one.lesson, one.step);
            found.fault(|| manifest.error(at, message, "name a lesson's id and the id of a step in it"));
        }
        if one.version > manifest.version {
            let message = format!("{} is later than the pack's own version", one.version);
            found.fault(|| manifest.error(at, message, "name the version that changed the step"));
        }
    }
}

fn datasets(pack: &Pack, folder: &Path, tree: &Tree, found: &mut Found) -> Result<(), PackError> {
    for data in &pack.manifest.datasets {
        let at = (data.line, data.column);
        if !tree.has(&data.file) {
            let message = format!("there is no file {}", data.file);
            found.fault(|| pack.manifest.error(at, message, "put it there, or take the dataset off"));
            continue;
        }
        let reading = || PackError::io(format_args!("read {}", data.file));
        let file = tree::open(folder, &data.file).map_err(reading())?;
        let (sum, _) = hash::of_reader(file).map_err(reading())?;
        if sum != data.sha256 {
            let message = format!("{} is another file: its SHA-256 is not the one named", data.file);
            let hint = format!("where the file is right, write sha256 = \"{sum}\"");
            found.fault(|| pack.manifest.error(at, message, &hint));
        }
    }
    Ok(())
}

/// Files that nothing in the pack speaks of.
fn strays(pack: &Pack, folder: &Path, tree: &Tree, found: &mut Found) {
    let listed = |name: &str| pack.manifest.lessons.iter().any(|listed| listed.name == name);
    let named = named(pack);
    for file in &tree.files {
        let (message, hint) = match path::place(file) {
            Some(Place::Manifest | Place::Text) => continue,
            Some(Place::Lesson) if listed(file.trim_start_matches("lessons/")) => continue,
            Some(Place::Lesson) => {
                ("the manifest does not list this lesson", "name it in lessons = […], or remove the file")
            }
            Some(Place::Asset) if is_used(&named, file) => continue,
            Some(Place::Asset) => ("nothing in the pack names this file", "use it in a lesson, or remove it"),
            None => (
                "a pack has no place for this file",
                "it has pack.toml, README, LICENSE, lessons/NAME.md and assets/; names that begin with a dot are left out",
            ),
        };
        found.fault(|| fault_of(&folder.join(file), message, hint));
    }
}

/// All that begins as the path of an asset does, in datasets and in the text and code of lessons: as far as it could
/// be a path.
fn named(pack: &Pack) -> BTreeSet<&str> {
    let lines = pack.lessons.iter().flat_map(|lesson| lesson.source.lines_from(1));
    let datasets = pack.manifest.datasets.iter().map(|data| data.file.as_str());
    lines.flat_map(|(_, line)| paths(line)).chain(datasets).collect()
}

fn paths(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices(ASSETS).filter_map(|(at, _)| path::begin(line.get(at..)?))
}

/// Whether something that is named begins with the file's path: a full stop may follow it.
fn is_used(named: &BTreeSet<&str>, file: &str) -> bool {
    let after = named.range::<str, _>((Bound::Included(file), Bound::Unbounded)).next();
    after.is_some_and(|name| name.starts_with(file))
}

/// Runs all lessons on each set of devices; on those they are made for where none is named. Each report is handed over
/// as it comes. `host` is the computer around those that lessons name.
pub fn run(
    pack: &Pack,
    sets: &[String],
    host: Option<&str>,
    mut each: impl FnMut(&Lesson, &Report),
) -> Vec<Report> {
    let mut reports = Vec::new();
    for lesson in &pack.lessons {
        let folder = pack.folder.as_deref();
        if sets.is_empty() {
            let own: Vec<String> = lesson.front.devices.iter().map(|own| with_host(own, host)).collect();
            reports.extend(verify_own(lesson, &own, folder, |report| each(lesson, report)));
        }
        for set in sets {
            let report = verify_in(lesson, set, folder);
            each(lesson, &report);
            reports.push(report);
        }
    }
    reports
}

/// One line for each thing to do in a lesson.
pub(crate) fn outline(lesson: &Lesson) -> Vec<String> {
    let told = |step: &crate::lesson::format::Step| {
        let what = match step.element.as_ref()? {
            Element::Run(code) => format!("run       {}", first_line(&code.text)),
            Element::Predict(predict) => {
                format!("predict   {}", crate::lesson::markdown::plain(&predict.ask))
            }
            Element::Quiz(quiz) => format!("quiz      {}", crate::lesson::markdown::plain(&quiz.ask)),
            Element::Exercise(e) => {
                let points = plural(e.points.into(), "point", "points");
                let hints = plural(e.hints.len() as u64, "hint", "hints");
                format!("exercise  {} ({points}, {hints})", first_line(&e.starter.text))
            }
        };
        Some(format!("{:<28} {what}", step.id))
    };
    let needs = lesson.front.requires.needs().map(|needs| format!("it needs {needs}"));
    needs.into_iter().chain(lesson.steps.iter().filter_map(told)).collect()
}

fn first_line(code: &str) -> &str {
    code.lines().find(|line| !line.trim().is_empty()).unwrap_or_default()
}

/// Whether a pack may have this id: that of the built-in one is taken.
pub(crate) fn is_free(id: &str) -> bool {
    id != COURSE
}
