//! `tensorlab lesson`: list, verify, open and reset lessons.

use std::io::{stderr, stdout};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::base::figures::plural;
use crate::base::near;
use crate::base::stderr::tell;
use crate::base::text::strip_control;
use crate::cli::{folders, kept};
use crate::device::sim::Selection;
use crate::device::sim::host_choice::{split_host, with_host};
use crate::lab::{Book, Document, begin_step_anew, how_far, open_lesson_work};
use crate::lesson::order;
use crate::lesson::verify::{Report, StepReport, verify_in, verify_own};
use crate::lesson::{Entry, Key, Lesson, LessonMemory, ProgressLog, Record};
use crate::repl::{WalkBegin, WalkEnd, walk};

use super::output::say;
use super::packs::{self, Chosen};
use super::{exit, exported, lab, library, progress, recorded, setup, terminal};

#[derive(clap::Args)]
pub(crate) struct LessonOptions {
    #[command(subcommand)]
    command: LessonAction,
}

impl LessonOptions {
    /// How the lab looks that it opens; none where it opens none.
    pub(super) fn look_mut(&mut self) -> Option<&mut lab::LookOptions> {
        match &mut self.command {
            LessonAction::Start { look, .. } => Some(look),
            _ => None,
        }
    }
}

#[derive(clap::Subcommand)]
enum LessonAction {
    /// List the built-in lessons and those of installed packs
    List {
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
    /// Run everything in a lesson: solutions pass, starters and wrong answers fail, cells run
    #[command(visible_alias = "check")]
    Verify {
        /// Lesson files, or lessons as `lesson list` names them; all built-in ones where none is named
        lessons: Vec<String>,
        /// Which of the sets of devices that a lesson names
        #[arg(long, value_enum, default_value_t = Sets::All)]
        sets: Sets,
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
    /// Open a lesson in the lab
    Start {
        /// A lesson as `lesson list` names it, such as moving or PACK/LESSON, or a lesson's file
        lesson: String,
        /// Line by line at the prompt, with nothing redrawn: for screen readers and simple terminals
        #[arg(long, conflicts_with = "light")]
        plain: bool,
        #[command(flatten)]
        look: lab::LookOptions,
    },
    /// Write a lesson as a notebook for Jupyter, as a page, or what you passed of it for PyTorch
    ///
    /// In the notebook exercises are cells; what checks them stays with the program. On the page cells and solutions have
    /// run; solutions, answers and hints are shown on demand. The file for PyTorch has the answers that passed, each below
    /// the code of the lesson that it needs; what PyTorch has not is said in comments. `-` as OUT is standard output; a
    /// file that is there already is left as it is unless --force is given.
    #[command(
        override_usage = "tensorlab lesson export [OPTIONS] <LESSON> <--ipynb [OUT]|--html [OUT]|--py [OUT]>"
    )]
    Export {
        /// A lesson as `lesson list` names it, or a lesson's file
        lesson: Option<String>,
        #[command(flatten)]
        options: exported::ExportOptions,
    },
    /// Begin a lesson, or one step of it, anew
    Reset {
        /// A lesson as `lesson list` names it
        lesson: String,
        /// The id of a step; all steps where none is named
        step: Option<String>,
    },
    /// Show what was done in each lesson
    Progress {
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
}

/// Some of the sets of devices that a lesson names.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Sets {
    All,
    /// The one that it runs on by default
    First,
    /// All but the first
    Others,
}

impl Sets {
    fn of(self, named: &[String]) -> &[String] {
        let (first, others) = named.split_at(named.len().min(1));
        match self {
            Sets::All => named,
            Sets::First => first,
            Sets::Others => others,
        }
    }
}

/// Runs a subcommand and gives the exit status.
pub(super) fn run(options: &LessonOptions, devices: &str) -> u8 {
    match &options.command {
        LessonAction::List { json } => list(*json),
        LessonAction::Verify { lessons, sets, json } => verify_all(lessons, devices, *sets, *json),
        LessonAction::Start { lesson, plain, look } => match packs::find(lesson).and_then(|found| {
            // What is wrong with the devices is said here, as by every other command.
            Selection::check(devices).map_err(|error| format!("error: {error}"))?;
            Ok(found)
        }) {
            Ok(found) if *plain || !terminal::shows_lab() => {
                walk_through(&setup::placed(&found, devices), look.ascii, devices)
            }
            Ok(found) => lab::open_lesson(&found, look, devices),
            Err(text) => refuse(&text),
        },
        LessonAction::Export { lesson, options } => exported::export(lesson.as_deref(), options, devices),
        LessonAction::Reset { lesson, step } => reset(lesson, step.as_deref()),
        LessonAction::Progress { json } => progress::show(*json),
    }
}

/// Walks through a lesson at the prompt.
fn walk_through(chosen: &Chosen, ascii: bool, devices: &str) -> u8 {
    let mut keep = match setup::progress(chosen) {
        Ok(keep) => keep,
        Err(error) => {
            tell!("note: progress is not kept: {error}");
            Box::new(|_: &str, _: &Entry| Ok(()))
        }
    };
    let kept = kept::read().ok();
    if let Some(note) = kept.as_ref().and_then(|kept| kept.note.as_ref()) {
        tell!("note: {note}");
    }
    let known = kept.map(|kept| kept.records).unwrap_or_default();
    let memory = chosen.memory(&known);
    let from = library::left_off_in(&chosen.pack, &chosen.lesson, &known);
    let options = setup::lesson_session(chosen, devices);
    let seed = order::seed(&folders::data_folder().unwrap_or_default().to_string_lossy());
    for note in options.missing_protection().into_iter().chain(library::builds_on(chosen)) {
        tell!("note: {}", strip_control(&note));
    }
    let next = library::next_of(&chosen.pack, &chosen.lesson);
    let begin = WalkBegin { from: from.as_deref(), seed, ascii };
    let end = |memory: &LessonMemory| how_far(&chosen.lesson, memory, &next);
    match walk(&chosen.lesson, &options, &memory, begin, (&mut *keep, &end)) {
        Ok(WalkEnd::Fine) => exit::FINE,
        Ok(WalkEnd::NoDevice) => exit::NO_DEVICE,
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => exit::FINE,
        Err(error) => {
            tell!("error: {}", strip_control(&error.to_string()));
            exit::SCRIPT
        }
    }
}

fn refuse(text: &str) -> u8 {
    tell!("{}", text.trim_end());
    exit::USAGE
}

fn list(json: bool) -> u8 {
    let (packs, notes) = packs::all();
    for note in &notes {
        tell!("{}", terminal::fitted(note, 0, &stderr()));
    }
    let kept = kept::read().ok();
    if let Some(note) = kept.as_ref().and_then(|kept| kept.note.as_ref()) {
        tell!("note: {note}");
    }
    let progress = &kept.map(|kept| kept.progress()).unwrap_or_default();
    let mut all = Vec::new();
    let taken = library::taken(&packs);
    let widths = taken.iter().map(|&(pack, lesson)| packs::name(pack, &lesson.front.id).chars().count());
    let wide = widths.max().unwrap_or(0);
    for &(pack, lesson) in &taken {
        let shown = library::shown((pack, lesson), progress);
        let name = packs::name(pack, &shown.id);
        if json {
            all.push(serde_json::json!({"id": shown.id, "name": name, "pack": pack, "title": shown.title,
                "minutes": shown.minutes, "summary": shown.summary, "points": lesson.points(),
                "steps": shown.steps, "done": shown.done}));
            continue;
        }
        let how_far = match shown.done {
            0 => String::new(),
            done => format!(", {done} of {} done", shown.steps),
        };
        let say_beside = |name: &str, text: &str| {
            say!("{}", terminal::fitted(&format!("{name:<wide$} {text}"), wide + 1, &stdout()));
        };
        say_beside(&name, &format!("{} ({} min{how_far})", shown.title, shown.minutes));
        say_beside("", &shown.summary);
        let missing = library::missing((pack, lesson), &taken);
        if !missing.is_empty() {
            let names = strip_control(&missing.join(", ")).into_owned();
            say_beside("", &format!("it builds on {names}, which is not among the lessons here"));
        }
    }
    if json {
        say!("{}", serde_json::json!({ "lessons": all }));
    }
    if notes.is_empty() { exit::FINE } else { exit::SCRIPT }
}

fn verify_all(names: &[String], devices: &str, which: Sets, json: bool) -> u8 {
    if let Err(error) = Selection::check(devices) {
        return refuse(&format!("error: {}", strip_control(&error)));
    }
    let chosen = if names.is_empty() {
        packs::built_in()
    } else {
        names.iter().map(|name| packs::find(name)).collect::<Result<Vec<Chosen>, String>>()
    };
    let chosen = match chosen {
        Ok(chosen) => chosen,
        Err(text) => return refuse(&text),
    };
    let mut reports = Vec::new();
    for Chosen { lesson, folder, .. } in &chosen {
        let told = |report: &Report| {
            if !json {
                show(lesson, report);
            }
        };
        match split_host(devices) {
            ("auto", host) if !lesson.front.devices.is_empty() => {
                let own: Vec<String> = lesson.front.devices.iter().map(|own| with_host(own, host)).collect();
                reports.extend(verify_own(lesson, which.of(&own), folder.as_deref(), told));
            }
            _ => {
                let report = verify_in(lesson, devices, folder.as_deref());
                told(&report);
                reports.push(report);
            }
        }
    }
    if json {
        say!("{}", serde_json::json!({ "reports": reports }));
    }
    status(&reports)
}

/// What verifying lessons ends with. A lesson that failed says more than devices that are not there.
pub(super) fn status(reports: &[Report]) -> u8 {
    let bad = || reports.iter().filter(|report| !report.is_fine());
    match bad().count() {
        0 => exit::FINE,
        _ if bad().all(|report| report.no_device) => exit::NO_DEVICE,
        _ => exit::SCRIPT,
    }
}

/// Prints what came of verifying a lesson.
pub(super) fn show(lesson: &Lesson, report: &Report) {
    // Devices that there are not say nothing of the lesson.
    let lacks = match report.problems.as_slice() {
        [lacks] if report.no_device => Some(&lacks.message),
        _ => None,
    };
    if let Some(reason) = report.skipped.as_ref().or(lacks) {
        say!("skipped  {} on {}: {}", report.lesson, report.devices, strip_control(reason));
        return;
    }
    let runs: usize = report.steps.iter().map(|s| s.runs).sum();
    let total: f64 = report.steps.iter().map(|s| s.milliseconds).sum();
    let verdict = if report.is_fine() { "ok" } else { "FAILED" };
    // A step of text alone is gone through and asks for nothing.
    let asks = |step: &&StepReport| {
        let of = lesson.step(&step.id);
        of.is_some_and(|of| of.element.is_some())
    };
    let came = match report.steps.iter().filter(asks).count() {
        0 => "not run".to_owned(),
        steps => {
            let steps = plural(steps as u64, "step", "steps");
            format!("{steps}, {}, {total:.0} ms", plural(runs as u64, "run", "runs"))
        }
    };
    say!("{verdict}  {} on {}: {came}", report.lesson, report.devices);
    for problem in &report.problems {
        let message = strip_control(&problem.message);
        say!("  {}:{} [{}] {message}", lesson.file(), problem.line, problem.step);
        for line in problem.answer.iter().flat_map(|answer| answer.lines()) {
            say!("      | {}", strip_control(line));
        }
    }
}

/// Records that steps are to be done anew; what was recorded before stays in the log.
fn reset(name: &str, step: Option<&str>) -> u8 {
    let (pack, lesson, version, found) = match packs::find(name) {
        Ok(found) => {
            let Chosen { lesson, pack, version, .. } = found;
            (pack, lesson.front.id.clone(), version, Some(lesson))
        }
        // The pack may have been removed, and what was done in it is still there.
        Err(text) => match name.split_once('/') {
            Some((pack, lesson)) if is_id(pack) && is_id(lesson) => {
                (pack.to_owned(), lesson.to_owned(), String::new(), None)
            }
            _ => return refuse(&text),
        },
    };
    if let (Some(lesson), Some(step)) = (&found, step)
        && lesson.step(step).is_none()
    {
        let steps = lesson.steps.iter().filter(|step| step.element.is_some()).map(|step| step.id.as_str());
        let steps: Vec<&str> = steps.collect();
        let hint = near::suggestion(step, &steps, "its steps are");
        return refuse(&format!("error: the lesson has no step `{}`\nhint: {hint}", strip_control(step)));
    }
    let written = match forget_written(&pack, &lesson, found.as_ref(), step) {
        Ok(written) => written,
        Err(text) => {
            tell!("error: {}", strip_control(&text));
            return exit::SCRIPT;
        }
    };
    let reset = || -> std::io::Result<Vec<Key>> {
        let (mut log, _) = ProgressLog::open(&folders::progress_file()?)?;
        let wanted =
            |key: &&Key| key.pack == pack && key.lesson == lesson && step.is_none_or(|step| key.step == step);
        let keys: Vec<Key> = log.progress().steps().map(|(key, _)| key).filter(wanted).cloned().collect();
        let at_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64);
        for key in &keys {
            log.append(&Record { key: key.clone(), version: version.clone(), at_ms, entry: Entry::Reset })?;
        }
        Ok(keys)
    };
    match reset() {
        Ok(keys) if keys.is_empty() && written.is_none() => {
            let of = step.map(|step| format!(", step {step}")).unwrap_or_default();
            say!("nothing was done yet in {}{}", strip_control(name), strip_control(&of));
            exit::FINE
        }
        Ok(keys) => {
            let told = if keys.is_empty() {
                "nothing was recorded".to_owned()
            } else {
                steps_of(found.as_ref(), &keys)
            };
            say!("{} begins anew: {told}", strip_control(name));
            if let Some(written) = written {
                say!("{}", strip_control(&written));
            }
            exit::FINE
        }
        Err(error) => {
            tell!("error: progress cannot be kept: {error}");
            exit::SCRIPT
        }
    }
}

/// Puts aside what was written in a lesson, or gives one step its text again; says what became of it.
fn forget_written(
    pack: &str,
    id: &str,
    lesson: Option<&Lesson>,
    step: Option<&str>,
) -> Result<Option<String>, String> {
    let path = folders::work_file(pack, id).map_err(|error| error.to_string())?;
    let is_there = |path: &Path| path.symlink_metadata().is_ok();
    if !is_there(&path) && !is_there(&path.with_file_name(format!(".{id}.ipynb.journal"))) {
        return Ok(None);
    }
    // Nobody else writes to it until this is over: the book has its lock, and what the journal alone had is in it.
    let mut book = match lesson {
        Some(lesson) => open_lesson_work(&path, Document::lesson(lesson))?.0,
        None if step.is_some() => return Ok(None),
        None => Book::open(&path)?.0,
    };
    if book.facts().read_only.is_some() {
        return Err("the lesson is open in another lab, or can't be written to; close it first".into());
    }
    let was = lesson.zip(step).map(|(lesson, step)| begin_step_anew(&mut book, lesson, step));
    book.save(false).map_err(|error| error.to_string())?;
    if let Some(was) = was {
        return Ok(was.map(|lines| format!("its cell has the lesson's text again, without {lines} of yours")));
    }
    let free = (1..10_000)
        .map(|n| path.with_file_name(format!("{id}.before-{n}.ipynb")))
        .find(|path| !is_there(path));
    let aside = free.ok_or("there are too many earlier versions beside it")?;
    std::fs::rename(&path, &aside)
        .map_err(|error| format!("cannot put {} aside: {error}", path.display()))?;
    drop(book);
    Ok(Some(format!("what you wrote in it is in {}", aside.display())))
}

/// It names no folder elsewhere.
fn is_id(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
}

fn steps_of(lesson: Option<&Lesson>, keys: &[Key]) -> String {
    let named = recorded::ordered(lesson, keys, |key| &key.step);
    named.iter().map(|(name, _)| strip_control(name)).collect::<Vec<_>>().join(", ")
}
