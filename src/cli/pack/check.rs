//! `pack check` and `pack preview`.

use std::collections::BTreeSet;
use std::path::Path;

use crate::base::figures::plural;
use crate::base::text::strip_control;
use crate::cli::lab::{LookOptions, look_at};
use crate::cli::output::say;
use crate::cli::pack::told::{Done, told};
use crate::cli::packs::Chosen;
use crate::cli::{exit, lesson, terminal};
use crate::device::sim::Selection;
use crate::device::sim::host_choice::with_host;
use crate::lesson::LessonError;
use crate::lesson::pack::{Pack, PackError, Tree, check};
use crate::lesson::verify::Report;

/// Checks a pack's files, and its lessons by running them unless the files have faults.
pub(super) fn check(dir: &Path, sets: &[String], host: Option<&str>, no_run: bool, json: bool) -> Done {
    understood(&with_host("auto", host))?;
    sets.iter().try_for_each(|set| understood(set))?;
    let pack = match Pack::open(dir) {
        Ok(pack) => pack,
        Err(PackError::Faults(faults)) if json => return Ok(finish(None, faults, &[], &[], true)),
        Err(error) => return Err(told(error)),
    };
    let tree = Tree::scan(dir).map_err(told)?;
    let found = check::inspect(&pack, &tree).map_err(told)?;
    let mut reports = Vec::new();
    if !no_run && found.faults.is_empty() {
        reports = check::run(&pack, sets, host, |of, report| {
            if !json {
                lesson::show(of, report);
                times(report);
            }
        });
    }
    Ok(finish(Some(&pack), found.faults, &found.notes, &reports, json))
}

/// What is wrong with the devices is said here, as by every other command.
fn understood(devices: &str) -> Result<(), String> {
    Selection::check(devices).map_err(|error| format!("error: {}", strip_control(&error)))
}

/// The time of each step.
fn times(report: &Report) {
    for step in &report.steps {
        let runs = plural(step.runs as u64, "run", "runs");
        say!("      {:<28} {:>8.0} ms, {runs}", step.id, step.milliseconds);
    }
}

fn finish(
    pack: Option<&Pack>,
    faults: Vec<LessonError>,
    notes: &[LessonError],
    reports: &[Report],
    json: bool,
) -> u8 {
    let fine = faults.is_empty() && reports.iter().all(Report::is_fine);
    if json {
        let id = pack.map(|pack| &pack.manifest.id);
        let version = pack.map(|pack| pack.manifest.version);
        let faults: Vec<_> = faults.iter().map(placed).collect();
        let notes: Vec<_> = notes.iter().map(placed).collect();
        say!(
            "{}",
            serde_json::json!({"pack": id, "version": version, "ok": fine, "faults": faults, "notes": notes,
                "reports": reports})
        );
    } else {
        faults.iter().for_each(|fault| say!("{}", fault.render()));
        notes.iter().for_each(|note| say!("note: {}", note.render().trim_start_matches("error: ")));
        let name = pack.map_or(String::new(), |p| format!("{} {}", p.manifest.id, p.manifest.version));
        let problems = faults.len() + reports.iter().map(|report| report.problems.len()).sum::<usize>();
        match (fine, reports.len()) {
            (true, 0) => say!("{name}: the files are fine; nothing was run"),
            (true, _) => {
                let ran = || reports.iter().filter(|report| report.skipped.is_none());
                let lessons: BTreeSet<&str> = ran().map(|report| report.lesson.as_str()).collect();
                let runs = ran().count();
                let all = if runs > lessons.len() { format!(", {runs} runs in all") } else { String::new() };
                say!("{name}: fine, {} run through{all}", plural(lessons.len() as u64, "lesson", "lessons"));
            }
            (false, _) => say!("{name}: {}", plural(problems as u64, "problem", "problems")),
        }
    }
    if faults.is_empty() { lesson::status(reports) } else { exit::SCRIPT }
}

fn placed(error: &LessonError) -> serde_json::Value {
    serde_json::json!({"file": error.file, "line": error.line, "column": error.column, "message": error.message,
        "hint": error.hint})
}

/// Opens a lesson of a pack that is not installed, or prints what is in the pack.
pub(super) fn preview(dir: &Path, lesson: Option<&str>, look: &LookOptions, devices: &str) -> Done {
    understood(devices)?;
    let pack = Pack::open(dir).map_err(told)?;
    let chosen = match lesson {
        Some(id) => pack.lesson(id).ok_or_else(|| {
            let ids: Vec<&str> = pack.lessons.iter().map(|l| l.front.id.as_str()).collect();
            format!("error: the pack has no lesson `{id}`\nhint: its lessons are {}", ids.join(", "))
        })?,
        None => pack.lessons.first().ok_or("error: the pack has no lesson")?,
    };
    if terminal::shows_lab() {
        // A session works in this folder, wherever it is started.
        let folder = std::path::absolute(dir).unwrap_or_else(|_| dir.to_path_buf());
        let chosen = Chosen {
            lesson: chosen.clone(),
            pack: pack.manifest.id.to_string(),
            version: pack.manifest.version.to_string(),
            folder: Some(folder),
        };
        return Ok(look_at(&chosen, look, devices));
    }
    say!("{} {}: {}", pack.manifest.id, pack.manifest.version, pack.manifest.title);
    for shown in pack.lessons.iter().filter(|l| lesson.is_none_or(|id| l.front.id == id)) {
        say!("\n{}  {} ({} min)", shown.front.id, shown.front.title, shown.front.minutes);
        check::outline(shown).iter().for_each(|line| say!("  {line}"));
    }
    Ok(exit::FINE)
}
