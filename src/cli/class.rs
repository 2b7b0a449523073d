//! `tensorlab progress class`: what several learners' exports add up to, and where a class stumbles.

use std::path::{Path, PathBuf};

use serde_json::json;
use unicode_width::UnicodeWidthStr;

use crate::base::figures::plural;
use crate::base::stderr::tell;
use crate::base::text::strip_control;
use crate::base::{sorted, table};
use crate::lesson::{Element, Entry, Key, Lesson, Progress, Record, Step, StepProgress, Verdict};

use super::output::{put, say};
use super::recorded::{added_up, cells, places};
use super::{exit, kept, library, packs};

/// Said with every result.
const NOTE: &str = "The records were made on the learners' own machines, and can be changed there: they are no proof \
                    against cheating.";

/// What is told of a step at most: the commonest reasons why attempts did not pass.
const REASONS: usize = 3;
/// Columns of a learner's name, and of a reason.
const NAME: usize = 30;
const REASON: usize = 100;
/// The largest export that is read.
const LARGEST: u64 = 256 << 20;

/// Columns of a table of learners and steps.
const COLUMNS: [&str; 14] = [
    "learner",
    "pack",
    "lesson",
    "step",
    "done",
    "skipped",
    "attempts",
    "hints",
    "solution",
    "prediction",
    "hit",
    "verdict",
    "version",
    "at_ms",
];

#[derive(clap::Args)]
pub(crate) struct ClassOptions {
    /// What `tensorlab progress export --json` wrote for each learner, or folders of such files
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// One lesson alone
    #[arg(long)]
    lesson: Option<String>,
    /// One JSON document
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// A table with a line for each learner and step
    #[arg(long)]
    csv: bool,
}

/// A learner, by what was handed in.
struct Learner {
    name: String,
    file: PathBuf,
    progress: Progress,
    records: Vec<Record>,
}

/// A lesson that somebody has begun.
struct Begun<'p> {
    pack: String,
    id: String,
    /// As it is here; none where it is not installed.
    lesson: Option<&'p Lesson>,
}

/// What a class has done at a step.
#[derive(Default, serde::Serialize)]
struct ClassStep {
    step: String,
    name: String,
    done: usize,
    begun: usize,
    attempts: u32,
    with_hints: usize,
    with_solution: usize,
    predicted: usize,
    hit: usize,
    reasons: Vec<ClassReason>,
}

/// Why attempts did not pass, how often, and of how many learners.
#[derive(serde::Serialize)]
struct ClassReason {
    reason: String,
    times: usize,
    learners: usize,
}

/// Prints what the exports add up to, and gives the exit status.
pub(super) fn run(options: &ClassOptions) -> u8 {
    let (learners, status) = match read(&options.files) {
        (learners, _) if learners.is_empty() => {
            tell!("error: there is no learner's export");
            return exit::USAGE;
        }
        read => read,
    };
    let (packs, _) = packs::all();
    let mut all: Vec<Begun> = Vec::new();
    for key in learners.iter().flat_map(|learner| learner.progress.steps().map(|(key, _)| key)) {
        if !all.iter().any(|one| one.pack == key.pack && one.id == key.lesson) {
            let pack = packs.iter().find(|pack| pack.manifest.id.as_str() == key.pack);
            let lesson = pack.and_then(|pack| pack.lesson(&key.lesson));
            all.push(Begun { pack: key.pack.clone(), id: key.lesson.clone(), lesson });
        }
    }
    let taken = library::taken(&packs);
    let place =
        |one: &Begun| taken.iter().position(|(pack, lesson)| *pack == one.pack && lesson.front.id == one.id);
    sorted::sort_by_key(&mut all, |one| (place(one).unwrap_or(usize::MAX), one.name()));
    if let Some(wanted) = &options.lesson {
        all.retain(|one| one.name() == *wanted || one.id == *wanted);
        if all.is_empty() {
            tell!("error: no learner has begun a lesson '{}'", strip_control(wanted));
            return exit::USAGE;
        }
    }
    for one in all.iter().filter(|one| one.lesson.is_none()) {
        let name = one.name();
        tell!(
            "note: {} is not installed here: of its points, how many steps it has and their order nothing is known",
            strip_control(&name)
        );
    }
    match (options.json, options.csv) {
        (true, _) => as_json(&learners, &all),
        (_, true) => as_csv(&learners, &all),
        _ => as_text(&learners, &all),
    }
    status
}

/// The learners of some files and folders, each with a name of its own. What can't be read is told of.
fn read(places: &[PathBuf]) -> (Vec<Learner>, u8) {
    let (mut learners, mut status): (Vec<Learner>, u8) = (Vec::new(), exit::FINE);
    let mut fail = |file: &Path, reason: String| {
        tell!("error: {}: {}", strip_control(&file.display().to_string()), strip_control(&reason));
        status = exit::SCRIPT;
    };
    let mut files: Vec<PathBuf> = Vec::new();
    for place in places {
        match place.is_dir().then(|| exports_in(place)) {
            None => files.push(place.clone()),
            Some(Ok(found)) => files.extend(found),
            Some(Err(error)) => fail(place, error.to_string()),
        }
    }
    let outdated = kept::outdated();
    let mut seen: Vec<PathBuf> = Vec::new();
    files.retain(|file| {
        let place = file.canonicalize().unwrap_or_else(|_| file.clone());
        let is_new = !seen.contains(&place);
        seen.push(place);
        is_new
    });
    for file in files {
        match export(&file) {
            Ok((name, mut records)) => {
                records.retain(|record| outdated.counts(record));
                let mut progress = Progress::default();
                records.iter().for_each(|record| progress.apply(record));
                learners.push(Learner { name, file, progress, records });
            }
            Err(reason) => fail(&file, reason),
        }
    }
    let names: Vec<String> = learners.iter().map(|learner| learner.name.clone()).collect();
    for learner in &mut learners {
        if names.iter().filter(|name| **name == learner.name).count() > 1 {
            learner.name = format!("{} ({})", learner.name, learner.file.display());
        }
    }
    sorted::sort_by_key(&mut learners, |learner| learner.name.to_lowercase());
    (learners, status)
}

/// The JSON files of a folder, by their names.
fn exports_in(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let file = entry?.path();
        if file.extension().is_some_and(|ending| ending == "json") {
            found.push(file);
        }
    }
    sorted::sort_by_key(&mut found, Clone::clone);
    Ok(found)
}

/// Who a learner is, and the records of what was exported.
fn export(file: &Path) -> Result<(String, Vec<Record>), String> {
    let size = std::fs::metadata(file).map_err(|error| error.to_string())?.len();
    if size > LARGEST {
        return Err(format!("it has more than {} MiB", LARGEST >> 20));
    }
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    let wanted = "it is no export: `tensorlab progress export --json > NAME.json` writes one";
    let document: serde_json::Value = serde_json::from_str(&text).map_err(|_| wanted.to_owned())?;
    let records = document.get("records").and_then(|records| records.as_array()).ok_or(wanted)?;
    let read: Vec<Record> =
        records.iter().filter_map(|record| serde_json::from_value(record.clone()).ok()).collect();
    let unread = records.len() - read.len();
    if unread > 0 {
        let records = plural(unread as u64, "record", "records");
        tell!("note: {}: {records} that can't be read left out", strip_control(&file.display().to_string()));
    }
    let own = document.get("learner").and_then(|name| name.as_str()).filter(|name| !name.trim().is_empty());
    let stem = || file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok((own.map_or_else(stem, ToOwned::to_owned), read))
}

impl Begun<'_> {
    fn name(&self) -> String {
        packs::name(&self.pack, &self.id)
    }

    fn has(&self, key: &Key) -> bool {
        key.pack == self.pack && key.lesson == self.id
    }

    /// What there is to be done: of a lesson that is here its own steps, of another all that have a record.
    fn steps(&self, learners: &[Learner]) -> Vec<(String, String)> {
        let known = self.lesson.map(places).unwrap_or_default();
        let counts = |id: &str| {
            let step = self.lesson.and_then(|lesson| lesson.step(id).map(|step| (lesson, step)));
            step.is_none_or(|(lesson, step)| {
                lesson.front.devices.first().is_none_or(|usual| step.devices.has(usual))
            })
        };
        let keys = learners.iter().flat_map(|learner| learner.progress.steps());
        let mut recorded: Vec<&str> = Vec::new();
        for (key, _) in keys.filter(|(key, _)| self.has(key)) {
            if !recorded.contains(&key.step.as_str()) {
                recorded.push(&key.step);
            }
        }
        sorted::sort_by_key(&mut recorded, |id| *id);
        let others = recorded.iter().filter(|id| !known.iter().any(|(own, _)| own == **id));
        let others: Vec<(String, String)> =
            others.map(|id| ((*id).to_owned(), format!("{id}, of another version"))).collect();
        let here = known.into_iter().filter(|(id, _)| counts(id) || recorded.contains(&id.as_str()));
        match self.lesson {
            Some(_) => here.chain(others).collect(),
            None => recorded.into_iter().map(|id| (id.to_owned(), id.to_owned())).collect(),
        }
    }

    /// How many steps a learner has done of those that count.
    fn done(&self, learner: &Learner) -> String {
        match self.lesson {
            Some(lesson) => {
                let shown = library::shown((&self.pack, lesson), &learner.progress);
                format!("{} of {}", shown.done, shown.steps)
            }
            None => self.of(learner).filter(|step| step.done).count().to_string(),
        }
    }

    /// The points of the exercises that a learner has passed, of all that there are.
    fn points(&self, learner: &Learner) -> String {
        let Some(lesson) = self.lesson else { return String::new() };
        let usual = lesson.front.devices.first();
        let counts = |step: &&Step| usual.is_none_or(|usual| step.devices.has(usual));
        let (mut passed, mut of) = (0, 0);
        for step in lesson.steps.iter().filter(counts) {
            let Some(Element::Exercise(exercise)) = &step.element else { continue };
            let key = Key { pack: self.pack.clone(), lesson: self.id.clone(), step: step.id.clone() };
            let done = learner.progress.step(&key).is_some_and(|step| step.done);
            of += exercise.points;
            passed += if done { exercise.points } else { 0 };
        }
        format!("{passed} of {of}")
    }

    fn of<'l>(&self, learner: &'l Learner) -> impl Iterator<Item = &'l StepProgress> {
        learner.progress.steps().filter(|(key, _)| self.has(key)).map(|(_, step)| step)
    }

    /// What the class has done at one of the steps.
    fn step(&self, id: &str, learners: &[Learner]) -> ClassStep {
        let key = Key { pack: self.pack.clone(), lesson: self.id.clone(), step: id.into() };
        let mut all = ClassStep { step: id.to_owned(), ..ClassStep::default() };
        for learner in learners {
            let Some(step) = learner.progress.step(&key) else { continue };
            all.begun += 1;
            all.done += usize::from(step.done);
            all.attempts = all.attempts.saturating_add(step.attempts);
            all.with_hints += usize::from(step.hints > 0);
            all.with_solution += usize::from(step.solution);
            all.predicted += usize::from(step.hit.is_some());
            all.hit += usize::from(step.hit == Some(true));
            let own = reasons(&learner.records, &key);
            let mut told: Vec<usize> = Vec::new();
            for reason in own {
                let at = all.reasons.iter().position(|known| known.reason == reason);
                let at = at.unwrap_or_else(|| {
                    all.reasons.push(ClassReason { reason, times: 0, learners: 0 });
                    all.reasons.len() - 1
                });
                let is_first = !told.contains(&at);
                told.push(at);
                if let Some(known) = all.reasons.get_mut(at) {
                    known.times += 1;
                    known.learners += usize::from(is_first);
                }
            }
        }
        sorted::sort_by_key(&mut all.reasons, |known| {
            (std::cmp::Reverse((known.learners, known.times)), known.reason.clone())
        });
        all
    }
}

/// Why a learner's attempts at a step did not pass, what was chosen wrongly in a quiz, and what was predicted wrongly.
fn reasons(records: &[Record], key: &Key) -> Vec<String> {
    let (mut all, mut predicted) = (Vec::new(), "");
    for record in records.iter().filter(|record| record.key == *key) {
        match &record.entry {
            Entry::Attempt { verdict, .. } => all.extend(failure(verdict).map(str::to_owned)),
            // What was before counts for nothing.
            Entry::Reset => all.clear(),
            Entry::Prediction { typed, .. } => predicted = typed,
            Entry::Answer { hit: false, .. } => all.push(format!("predicted {predicted}")),
            Entry::Quiz { taken, right: false } => {
                let taken: Vec<String> = taken.iter().map(|place| (place + 1).to_string()).collect();
                let taken = if taken.is_empty() { "nothing".into() } else { taken.join(" and ") };
                all.push(format!("chose {taken}"));
            }
            _ => {}
        }
    }
    all
}

fn failure(verdict: &Verdict) -> Option<&str> {
    match verdict {
        Verdict::Fail { reason, .. } => Some(reason),
        Verdict::LearnerError { message, .. } => message.lines().next(),
        Verdict::Timeout { .. } => Some("it ran past the lesson's time"),
        Verdict::OutOfMemory { .. } => Some("out of memory"),
        _ => None,
    }
}

fn as_text(learners: &[Learner], all: &[Begun]) {
    let (count, lessons) =
        (plural(learners.len() as u64, "learner", "learners"), plural(all.len() as u64, "lesson", "lessons"));
    say!("{count}, {lessons}. {NOTE}");
    for lesson in all {
        let title = lesson.lesson.map(|lesson| format!(": {}", lesson.front.title)).unwrap_or_default();
        say!("\n{}{}", strip_control(&lesson.name()), strip_control(&title));
        let header = ["learner", "done", "points", "attempts", "hints", "solutions"].map(str::to_owned);
        let rows: Vec<Vec<String>> = learners.iter().map(|learner| row(lesson, learner)).collect();
        table::aligned(&header, &rows, NAME).lines.iter().for_each(|line| say!("  {line}"));
        say!("");
        let steps = lesson.steps(learners).into_iter().map(|(id, name)| (name, lesson.step(&id, learners)));
        let (begun, open): (Vec<_>, Vec<_>) = steps.partition(|(_, step)| step.begun > 0);
        let widest = begun.iter().map(|(name, _)| name.width()).max().unwrap_or_default();
        for (name, step) in &begun {
            let name = strip_control(name);
            let fill = " ".repeat(widest.saturating_sub(name.width()));
            say!("  {name}{fill}  {}", told(step, learners.len()));
            for known in step.reasons.iter().take(REASONS) {
                let times = plural(known.times as u64, "time", "times");
                let of = plural(known.learners as u64, "learner", "learners");
                say!("      {of}, {times}: {}", shortened(&known.reason));
            }
        }
        if !open.is_empty() {
            say!("  {} that nobody has begun", plural(open.len() as u64, "step", "steps"));
        }
    }
}

/// A learner's line of a lesson's table.
fn row(lesson: &Begun, learner: &Learner) -> Vec<String> {
    let sum = |of: fn(&StepProgress) -> usize| lesson.of(learner).map(of).sum::<usize>().to_string();
    let sums =
        [sum(|step| step.attempts as usize), sum(|step| step.hints), sum(|step| usize::from(step.solution))];
    [learner.name.clone(), lesson.done(learner), lesson.points(learner)].into_iter().chain(sums).collect()
}

fn told(step: &ClassStep, learners: usize) -> String {
    let mut parts = vec![format!("{} of {learners} done", step.done)];
    let mut note = |count: usize, text: String| parts.extend((count > 0).then_some(text));
    note(step.begun.saturating_sub(step.done), format!("{} open", step.begun.saturating_sub(step.done)));
    note(step.attempts as usize, plural(u64::from(step.attempts), "attempt", "attempts"));
    note(step.with_hints, format!("{} with hints", step.with_hints));
    note(step.with_solution, format!("{} with the solution", step.with_solution));
    note(step.predicted, format!("{} of {} predicted rightly", step.hit, step.predicted));
    parts.join(", ")
}

fn shortened(reason: &str) -> String {
    let line = strip_control(reason.lines().next().unwrap_or_default()).into_owned();
    match line.char_indices().nth(REASON) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line,
    }
}

/// What is written as JSON.
#[derive(serde::Serialize)]
struct ClassReport<'r> {
    program: &'static str,
    version: &'static str,
    note: &'static str,
    learners: Vec<serde_json::Value>,
    lessons: Vec<LessonReport<'r>>,
}

#[derive(serde::Serialize)]
struct LessonReport<'r> {
    pack: &'r str,
    lesson: &'r str,
    /// Where it is not, its points and the order of its steps are not known.
    installed: bool,
    steps: Vec<ClassStep>,
}

fn as_json(learners: &[Learner], all: &[Begun]) {
    let of = |lesson: &'_ Begun| {
        let named = |(step, name): (String, String)| ClassStep { name, ..lesson.step(&step, learners) };
        lesson.steps(learners).into_iter().map(named).collect()
    };
    let lessons = all.iter().map(|lesson| LessonReport {
        pack: &lesson.pack,
        lesson: &lesson.id,
        installed: lesson.lesson.is_some(),
        steps: of(lesson),
    });
    let learner = |learner: &Learner| {
        let own = learner.progress.steps().filter(|(key, _)| all.iter().any(|lesson| lesson.has(key)));
        let own: Vec<serde_json::Value> = own.map(added_up).collect();
        json!({"name": learner.name, "file": learner.file.display().to_string(), "steps": own})
    };
    let report = ClassReport {
        program: "tensorlab",
        version: env!("CARGO_PKG_VERSION"),
        note: NOTE,
        learners: learners.iter().map(learner).collect(),
        lessons: lessons.collect(),
    };
    say!("{}", serde_json::to_string(&report).unwrap_or_default());
}

fn as_csv(learners: &[Learner], all: &[Begun]) {
    tell!("note: {NOTE}");
    put(format_args!("{}\r\n", COLUMNS.join(",")));
    for learner in learners {
        for (key, step) in learner.progress.steps() {
            if !all.iter().any(|lesson| lesson.has(key)) {
                continue;
            }
            let mut value = added_up((key, step));
            if let Some(fields) = value.as_object_mut() {
                let verdict = fields.get("verdict").and_then(|verdict| verdict.get("verdict")).cloned();
                fields.insert("verdict".into(), verdict.unwrap_or_default());
                fields.insert("learner".into(), learner.name.clone().into());
                fields.insert("solution".into(), step.solution.into());
            }
            put(format_args!("{}\r\n", cells(&value, &COLUMNS)));
        }
    }
}
