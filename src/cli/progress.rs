//! `tensorlab progress`: what was done in lessons, to look at and to hand in.

use std::collections::BTreeMap;
use std::io;

use crate::base::figures;
use crate::base::stderr::tell;
use crate::base::text::strip_control;
use crate::cli::kept;
use crate::lesson::{Key, Lesson, Progress, Record, StepProgress};

use super::output::{put, say};
use super::recorded::{added_up, cells, places};
use super::{class, exit, library, packs};

/// Said wherever results leave this machine.
const NOTE: &str = "These records were made on the learner's own machine, and can be changed there: they are no proof \
                    against cheating.";

/// Columns of a table of records. The first ones every record has.
const COLUMNS: [&str; 24] = [
    "at_ms", "pack", "version", "lesson", "step", "what", "ok", "typed", "value", "answer", "hit", "taken",
    "right", "verdict", "reason", "message", "line", "limit_ms", "limit", "device", "trace", "number",
    "modelled", "code",
];

#[derive(clap::Args)]
pub(crate) struct ProgressOptions {
    #[command(subcommand)]
    command: Option<ProgressAction>,
}

#[derive(clap::Subcommand)]
enum ProgressAction {
    /// Print every record: attempts, hints, predictions, verdicts and the hashes of their events
    ///
    /// The records were made on this machine and can be changed on it: they are no proof against cheating.
    #[command(group(clap::ArgGroup::new("form").required(true)))]
    Export {
        /// One JSON document
        #[arg(long, group = "form")]
        json: bool,
        /// A table with a line for each record
        #[arg(long, group = "form")]
        csv: bool,
        /// Whose they are, as a class is to have it
        #[arg(long, value_name = "NAME", conflicts_with = "csv")]
        learner: Option<String>,
    },
    /// Say what the exports of several learners add up to, and where they stumble
    Class(class::ClassOptions),
}

/// Runs a subcommand and gives the exit status.
pub(super) fn run(options: &ProgressOptions) -> u8 {
    match &options.command {
        None => show(false),
        Some(ProgressAction::Export { json, learner, .. }) => export(*json, learner.as_deref()),
        Some(ProgressAction::Class(options)) => class::run(options),
    }
}

fn read() -> io::Result<(Vec<Record>, Progress)> {
    let kept = kept::read()?;
    if let Some(note) = &kept.note {
        tell!("note: {note}");
    }
    let progress = kept.progress();
    Ok((kept.all, progress))
}

fn refuse(error: &io::Error) -> u8 {
    tell!("error: progress cannot be read: {error}");
    exit::SCRIPT
}

/// Prints what was done in each lesson.
pub(super) fn show(json: bool) -> u8 {
    let progress = match read() {
        Ok((_, progress)) => progress,
        Err(error) => return refuse(&error),
    };
    if json {
        say!("{}", serde_json::json!({ "steps": steps(&progress) }));
        return exit::FINE;
    }
    let mut lessons: BTreeMap<(&str, &str), Vec<(&Key, &StepProgress)>> = BTreeMap::new();
    for (key, step) in progress.steps() {
        lessons.entry((&key.pack, &key.lesson)).or_default().push((key, step));
    }
    if lessons.is_empty() {
        say!("nothing was done yet; `tensorlab lesson list` lists the lessons");
    }
    let (packs, _) = packs::all();
    for ((pack, id), all) in lessons {
        let known = packs.iter().find(|known| known.manifest.id == pack).and_then(|pack| pack.lesson(id));
        let name = packs::name(pack, id);
        match known {
            Some(lesson) => {
                let shown = library::shown((pack, lesson), &progress);
                let steps = figures::plural(shown.steps as u64, "step", "steps");
                say!("{}: {} of {steps} done", strip_control(&name), shown.done);
                list(lesson, &steps_by_id(&all));
            }
            None => {
                let done = all.iter().filter(|(_, step)| step.done).count();
                let done = figures::plural(done as u64, "step", "steps");
                say!("{}: {done} done; the lesson is not installed", strip_control(&name));
                all.iter().for_each(|(key, step)| line_of(&key.step, &told(step)));
            }
        }
    }
    exit::FINE
}

fn steps_by_id<'p>(steps: &[(&'p Key, &'p StepProgress)]) -> BTreeMap<&'p str, &'p StepProgress> {
    let mut by_id = BTreeMap::new();
    for (key, step) in steps {
        by_id.insert(key.step.as_str(), *step);
    }
    by_id
}

fn line_of(name: &str, said: &str) {
    say!("  {:<32} {said}", strip_control(name));
}

/// The steps of a lesson as it is, begun or not, and behind them what was done at steps that it has no more.
fn list(lesson: &Lesson, known: &BTreeMap<&str, &StepProgress>) {
    let usual = lesson.front.devices.first();
    let places = places(lesson);
    for (id, name) in &places {
        let counts = lesson.step(id).is_none_or(|step| usual.is_none_or(|usual| step.devices.has(usual)));
        match (known.get(id.as_str()), counts) {
            (Some(step), true) => line_of(name, &told(step)),
            (Some(step), false) => line_of(name, &format!("{}, on other devices", told(step))),
            (None, true) => line_of(name, "not begun"),
            (None, false) => {}
        }
    }
    for (id, step) in known.iter().filter(|(id, _)| !places.iter().any(|(place, _)| place == *id)) {
        line_of(id, &format!("{}, at a step that the lesson has no more", told(step)));
    }
}

fn told(step: &StepProgress) -> String {
    let state = match (step.done, step.skipped) {
        (true, _) => "done",
        (false, true) => "skipped",
        (false, false) => "open",
    };
    let mut parts = vec![state.to_owned()];
    let several = |n: u32| if n == 1 { "" } else { "s" };
    if step.attempts > 0 {
        parts.push(format!("{} attempt{}", step.attempts, several(step.attempts)));
    }
    if step.hints > 0 {
        parts.push(format!("{} hint{}", step.hints, if step.hints == 1 { "" } else { "s" }));
    }
    if step.solution {
        parts.push("with the solution".into());
    }
    match (step.prediction, step.hit) {
        (Some(said), Some(true)) => parts.push(format!("predicted {said}, rightly")),
        (Some(said), Some(false)) => parts.push(format!("predicted {said}, wrongly")),
        (Some(said), None) => parts.push(format!("predicted {said}")),
        (None, _) => {}
    }
    parts.join(", ")
}

/// Every step with what adds up for it.
fn steps(progress: &Progress) -> Vec<serde_json::Value> {
    progress.steps().map(added_up).collect()
}

fn export(json: bool, learner: Option<&str>) -> u8 {
    let (records, progress) = match read() {
        Ok(read) => read,
        Err(error) => return refuse(&error),
    };
    if json {
        say!(
            "{}",
            serde_json::json!({"program": "tensorlab", "version": env!("CARGO_PKG_VERSION"), "note": NOTE,
                "learner": learner, "steps": steps(&progress), "records": records})
        );
        return exit::FINE;
    }
    tell!("note: {NOTE}");
    put(format_args!("{}\r\n", COLUMNS.join(",")));
    for record in &records {
        put(format_args!("{}\r\n", cells(&serde_json::json!(record), &COLUMNS)));
    }
    exit::FINE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lesson::{Entry, Verdict};

    #[test]
    fn every_field_of_every_record_has_a_column() {
        let verdicts = [
            Verdict::Pass,
            Verdict::Fail { reason: "r".into(), line: Some(1) },
            Verdict::LearnerError { message: "m".into(), line: Some(1) },
            Verdict::CheckerFault { message: "m".into(), line: Some(1) },
            Verdict::Timeout { limit_ms: 1 },
            Verdict::TooMuchOutput { limit: "m".into() },
            Verdict::OutOfMemory { device: "cuda".into(), message: "m".into() },
            Verdict::DeviceUnavailable { message: "m".into() },
        ];
        let attempts =
            verdicts.map(|verdict| Entry::Attempt { verdict, trace: Some("t".into()), code: None });
        let others = [
            Entry::Ran { ok: true },
            Entry::Prediction { typed: "1".into(), value: 1.0 },
            Entry::Answer { answer: 1.0, hit: true, modelled: true },
            Entry::Quiz { taken: vec![0], right: true },
            Entry::Hint { number: 1 },
            Entry::Solution,
            Entry::Told { answer: "1".into() },
            Entry::Skipped,
            Entry::Reset,
        ];
        for entry in attempts.into_iter().chain(others) {
            let key = Key { pack: "p".into(), lesson: "l".into(), step: "s".into() };
            let record = Record { key, version: "1.0.0".into(), at_ms: 1, entry };
            let value = serde_json::json!(record);
            let fields = value.as_object().unwrap();
            assert!(fields.keys().all(|field| COLUMNS.contains(&field.as_str())), "{value}");
            let filled = cells(&value, &COLUMNS).split(',').filter(|cell| !cell.is_empty()).count();
            assert_eq!(filled, fields.len(), "{value}");
        }
    }
}
