//! `tensorlab lesson`: list, verify and open lessons.

use std::path::{Path, PathBuf};

use crate::lesson::verify::{Report, verify};
use crate::lesson::{BUILT_IN, Lesson, LessonError, load, parse};

use super::output::say;
use super::{exit, lab};

#[derive(clap::Args)]
pub struct LessonOptions {
    #[command(subcommand)]
    command: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// List the built-in lessons
    List {
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
    /// Run everything in a lesson: solutions pass, starters and wrong answers fail, cells run
    Verify {
        /// Lesson files, or ids of built-in lessons; all built-in ones where none is named
        lessons: Vec<String>,
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
    /// Open a lesson in the lab
    Start {
        /// A lesson file, or the id of a built-in lesson
        lesson: String,
        #[command(flatten)]
        look: lab::LookOptions,
    },
}

/// Runs a subcommand and gives the exit status.
pub fn run(options: &LessonOptions, devices: &str) -> u8 {
    match &options.command {
        Action::List { json } => list(*json),
        Action::Verify { lessons, json } => verify_all(lessons, devices, *json),
        Action::Start { lesson, look } => match find(lesson) {
            Ok(found) => lab::open_lesson(&found, look, devices),
            Err(text) => refuse(&text),
        },
    }
}

/// A lesson by its id or its file.
pub fn find(name: &str) -> Result<Lesson, String> {
    for (file, text) in BUILT_IN {
        let lesson = parse(file, text.as_bytes()).map_err(|e| rendered(&e))?;
        if lesson.front.id == name || *file == name {
            return Ok(lesson);
        }
    }
    let path = Path::new(name);
    if !path.exists() {
        let ids = built_in()?.iter().map(|l| l.front.id.clone()).collect::<Vec<_>>().join(", ");
        return Err(format!(
            "error: there is no lesson '{name}', and no such file\nhint: lessons are {ids}\n"
        ));
    }
    load(&PathBuf::from(name)).map_err(|e| rendered(&e))
}

pub fn built_in() -> Result<Vec<Lesson>, String> {
    BUILT_IN.iter().map(|(file, text)| parse(file, text.as_bytes()).map_err(|e| rendered(&e))).collect()
}

fn rendered(errors: &[LessonError]) -> String {
    errors.iter().map(LessonError::render).collect::<Vec<_>>().join("\n")
}

fn refuse(text: &str) -> u8 {
    eprintln!("{}", text.trim_end());
    exit::USAGE
}

fn list(json: bool) -> u8 {
    let lessons = match built_in() {
        Ok(lessons) => lessons,
        Err(text) => return refuse(&text),
    };
    if json {
        let all: Vec<_> = lessons
            .iter()
            .map(|l| {
                serde_json::json!({"id": l.front.id, "title": l.front.title, "minutes": l.front.minutes,
                "summary": l.front.summary, "points": l.points()})
            })
            .collect();
        say!("{}", serde_json::json!({ "lessons": all }));
        return exit::FINE;
    }
    for l in lessons {
        say!(
            "{:<16} {} ({} min)\n{:<16} {}",
            l.front.id,
            l.front.title,
            l.front.minutes,
            "",
            l.front.summary
        );
    }
    exit::FINE
}

fn verify_all(names: &[String], devices: &str, json: bool) -> u8 {
    let found = if names.is_empty() { built_in() } else { names.iter().map(|n| find(n)).collect() };
    let lessons = match found {
        Ok(lessons) => lessons,
        Err(text) => return refuse(&text),
    };
    let mut reports = Vec::new();
    for lesson in &lessons {
        let sets = match devices {
            "auto" if !lesson.front.devices.is_empty() => lesson.front.devices.clone(),
            other => vec![other.to_string()],
        };
        for set in sets {
            let report = verify(lesson, &set);
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

fn show(lesson: &Lesson, report: &Report) {
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
        say!("  {}:{} [{}] {}", lesson.file(), problem.line, problem.step, problem.message);
    }
}
