//! `tensorlab lesson`: list, verify, open and reset lessons.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::base::stderr::tell;
use crate::base::text::strip_control;
use crate::cli::folders;
use crate::lesson::verify::{Report, verify_in};
use crate::lesson::{Entry, Key, Lesson, Progress, ProgressLog, Record};

use super::output::say;
use super::packs::{self, Chosen};
use super::{exit, lab, library, progress};

#[derive(clap::Args)]
pub(crate) struct LessonOptions {
    #[command(subcommand)]
    command: LessonAction,
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
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
    /// Open a lesson in the lab
    Start {
        /// A lesson as `lesson list` names it, such as moving or PACK/LESSON, or a lesson's file
        lesson: String,
        #[command(flatten)]
        look: lab::LookOptions,
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

/// Runs a subcommand and gives the exit status.
pub(super) fn run(options: &LessonOptions, devices: &str) -> u8 {
    match &options.command {
        LessonAction::List { json } => list(*json),
        LessonAction::Verify { lessons, json } => verify_all(lessons, devices, *json),
        LessonAction::Start { lesson, look } => match packs::find(lesson) {
            Ok(found) => lab::open_lesson(&found, look, devices),
            Err(text) => refuse(&text),
        },
        LessonAction::Reset { lesson, step } => reset(lesson, step.as_deref()),
        LessonAction::Progress { json } => progress::show(*json),
    }
}

fn refuse(text: &str) -> u8 {
    tell!("{}", text.trim_end());
    exit::USAGE
}

fn list(json: bool) -> u8 {
    let (packs, notes) = packs::all();
    for note in &notes {
        tell!("{note}");
    }
    let log = folders::progress_file().ok().filter(|file| file.exists());
    let log = log.and_then(|file| ProgressLog::open(&file).ok());
    let nothing = Progress::default();
    let progress = log.as_ref().map_or(&nothing, |(log, _)| log.progress());
    let mut all = Vec::new();
    let taken = library::taken(&packs);
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
        say!("{name:<16} {} ({} min{how_far})\n{:<16} {}", shown.title, shown.minutes, "", shown.summary);
        let missing = library::missing((pack, lesson), &taken);
        if !missing.is_empty() {
            let names = strip_control(&missing.join(", ")).into_owned();
            say!("{:<16} it builds on {names}, which is not among the lessons here", "");
        }
    }
    if json {
        say!("{}", serde_json::json!({ "lessons": all }));
    }
    if notes.is_empty() { exit::FINE } else { exit::SCRIPT }
}

fn verify_all(names: &[String], devices: &str, json: bool) -> u8 {
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
        let sets = match devices {
            "auto" if !lesson.front.devices.is_empty() => lesson.front.devices.clone(),
            other => vec![other.to_string()],
        };
        for set in sets {
            let report = verify_in(lesson, &set, folder.as_deref());
            if !json {
                show(lesson, &report);
            }
            reports.push(report);
        }
    }
    if json {
        say!("{}", serde_json::json!({ "reports": reports }));
    }
    if reports.iter().all(Report::is_fine) { exit::FINE } else { exit::SCRIPT }
}

/// Prints what came of verifying a lesson.
pub(super) fn show(lesson: &Lesson, report: &Report) {
    let runs: usize = report.steps.iter().map(|s| s.runs).sum();
    let total: f64 = report.steps.iter().map(|s| s.milliseconds).sum();
    let verdict = if report.is_fine() { "ok" } else { "FAILED" };
    say!(
        "{verdict}  {} on {}: {} steps, {runs} runs, {total:.0} ms",
        report.lesson,
        report.devices,
        report.steps.len()
    );
    for problem in &report.problems {
        let message = strip_control(&problem.message);
        say!("  {}:{} [{}] {message}", lesson.file(), problem.line, problem.step);
    }
}

/// Records that steps are to be done anew; what was recorded before stays in the log.
fn reset(name: &str, step: Option<&str>) -> u8 {
    let (pack, lesson, version) = match packs::find(name) {
        Ok(found) => (found.pack, found.lesson.front.id, found.version),
        // The pack may have been removed, and what was done in it is still there.
        Err(text) => match name.split_once('/') {
            Some((pack, lesson)) => (pack.to_owned(), lesson.to_owned(), String::new()),
            None => return refuse(&text),
        },
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
        Ok(keys) if keys.is_empty() => {
            let of = step.map(|step| format!(", step {step}")).unwrap_or_default();
            say!("nothing was done yet in {}{}", strip_control(name), strip_control(&of));
            exit::FINE
        }
        Ok(keys) => {
            say!("{} begins anew: {}", strip_control(name), steps_of(&keys));
            exit::FINE
        }
        Err(error) => {
            tell!("error: progress cannot be kept: {error}");
            exit::SCRIPT
        }
    }
}

fn steps_of(keys: &[Key]) -> String {
    keys.iter().map(|key| strip_control(&key.step).into_owned()).collect::<Vec<_>>().join(", ")
}
