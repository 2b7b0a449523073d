//! `tensorlab lesson export`: a lesson as a notebook for Jupyter, as a page, or as what of it passed, for PyTorch.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::base::figures::plural;
use crate::base::file::{self, random_name};
use crate::base::stderr::tell;
use crate::base::text::strip_control;
use crate::device::sim::Selection;
use crate::lesson::markdown::Block;
use crate::lesson::pack::{ASSETS, read_asset};
use crate::lesson::written::written;
use crate::lesson::{Element, Exercise, Lesson, Predict, Quiz, Step, Unit};
use crate::notebook::files;
use crate::notebook::html::{self, FOLDED};
use crate::notebook::names::names;
use crate::notebook::output::FIGURE;
use crate::notebook::run::{End, RunOptions, run_all};
use crate::notebook::{Cell, Notebook, Output, Wants, ipynb};

use super::output::{self, say};
use super::packs::{self, Chosen};
use super::{answers, exit, setup};

/// What to write, and how.
#[derive(clap::Args, Clone)]
#[group(skip)]
pub(super) struct ExportOptions {
    #[command(flatten)]
    forms: Forms,
    /// The cells of --py with the code that they are made of, and the checks, for scripts/check_translations.py
    #[arg(long, value_name = "OUT", requires = "py", hide = true)]
    cells: Option<PathBuf>,
    /// With --py: the lesson's own solutions in place of your answers
    #[arg(long, requires = "py")]
    solutions: bool,
    /// Replace files that are there
    #[arg(long)]
    force: bool,
}

/// At least one of them is asked for. `-` is standard output.
#[derive(clap::Args, Clone)]
#[group(required = true, multiple = true)]
struct Forms {
    /// A notebook for Jupyter, to OUT or LESSON.ipynb: exercises are cells, checks stay with the program
    #[arg(long, num_args = 0..=1, value_name = "OUT")]
    ipynb: Option<Option<PathBuf>>,
    /// One page that needs nothing else, to OUT or LESSON.html: the solutions are run, and shown on demand
    #[arg(long, num_args = 0..=1, value_name = "OUT")]
    html: Option<Option<PathBuf>>,
    /// Your answers that passed, for PyTorch, to OUT or LESSON.py, each with the code that it runs after
    #[arg(long, num_args = 0..=1, value_name = "OUT")]
    py: Option<Option<PathBuf>>,
}

impl Forms {
    /// What was typed behind a form, where no lesson stands before it: it is the lesson, as in `--html moving`.
    fn take_lesson(&mut self) -> Option<String> {
        let typed =
            [&mut self.ipynb, &mut self.html, &mut self.py].into_iter().flatten().find_map(Option::take);
        typed.map(|typed| typed.to_string_lossy().into_owned())
    }
}

/// Writes a lesson in the forms that are asked for.
pub(super) fn export(name: Option<&str>, options: &ExportOptions, devices: &str) -> u8 {
    let mut options = options.clone();
    let name = name.map(str::to_owned).or_else(|| options.forms.take_lesson());
    // What is wrong with the devices is said here, as by every other command.
    let meant = Selection::check(devices);
    let found = meant.and_then(|()| name.ok_or_else(|| WHICH.to_owned()).and_then(|name| packs::find(&name)));
    let found = found.map_err(|text| (exit::USAGE, text));
    match found.and_then(|chosen| write_forms(&chosen, &options, devices)) {
        Ok(()) => exit::FINE,
        Err((status, text)) => {
            tell!("error: {}", strip_control(text.trim_start_matches("error: ").trim_end()));
            status
        }
    }
}

/// What is said where no lesson is named.
const WHICH: &str = "which lesson? `tensorlab lesson list` names them, and `tensorlab lesson export moving --html` writes one";

/// An exit status and what went wrong.
type Failure = (u8, String);

fn write_forms(chosen: &Chosen, options: &ExportOptions, devices: &str) -> Result<(), Failure> {
    let id = &chosen.lesson.front.id;
    let named = |out: &Option<Option<PathBuf>>, ending: &str| {
        out.as_ref().map(|out| out.clone().unwrap_or_else(|| PathBuf::from(format!("{id}.{ending}"))))
    };
    let Forms { ipynb, html, py } = &options.forms;
    let (ipynb, html, py) = (named(ipynb, "ipynb"), named(html, "html"), named(py, "py"));
    let all: Vec<&PathBuf> = [&ipynb, &html, &py, &options.cells].into_iter().flatten().collect();
    check_free(&all, options.force)?;
    if let Some(out) = &ipynb {
        put(out, &ipynb::write(&tasks(chosen, devices)))?;
    }
    if let Some(out) = &html {
        let page = solved(chosen, devices)?;
        put(out, html::export(&page, &chosen.lesson.front.title).as_bytes())?;
    }
    if let Some(out) = &py {
        let answers = answers::of(chosen, options.solutions).map_err(|text| (exit::USAGE, text))?;
        put(out, answers.python().as_bytes())?;
        if let Some(out) = &options.cells {
            put(out, answers.cells(&chosen.lesson).to_string().as_bytes())?;
        }
    }
    Ok(())
}

/// Nothing is written where one of the files is there already, or where two forms would run into one another.
fn check_free(all: &[&PathBuf], force: bool) -> Result<(), Failure> {
    let shared = all.iter().enumerate().find(|(at, out)| all.iter().take(*at).any(|other| other == *out));
    if let Some((_, out)) = shared {
        let out = if is_standard(out) { "standard output".into() } else { out.display().to_string() };
        return Err((exit::USAGE, format!("two forms would go to {out}\nhint: give each a file of its own")));
    }
    let taken = |out: &&&PathBuf| !is_standard(out) && out.symlink_metadata().is_ok();
    if let Some(out) = all.iter().find(taken).filter(|_| !force) {
        let text = format!("{} exists already\nhint: --force replaces it", out.display());
        return Err((exit::USAGE, text));
    }
    // The lesson's cells run before its page is written.
    all.iter()
        .filter(|out| !is_standard(out))
        .try_for_each(|out| file::check_replace(out).map_err(|error| (exit::USAGE, unwritten(out, &error))))
}

fn unwritten(out: &Path, error: &std::io::Error) -> String {
    format!("cannot write {}: {error}", out.display())
}

fn is_standard(out: &Path) -> bool {
    out.as_os_str() == "-"
}

fn put(out: &Path, bytes: &[u8]) -> Result<(), Failure> {
    if is_standard(out) {
        output::put(format_args!("{}", String::from_utf8_lossy(bytes)));
        return Ok(());
    }
    file::replace(out, |out| out.write_all(bytes))
        .map_err(|error: std::io::Error| (exit::SCRIPT, unwritten(out, &error)))?;
    say!("wrote {}", out.display());
    Ok(())
}

/// A lesson for whoever does it in a notebook, with the figures that its cells draw where no question waits for the cell.
/// It asks for the devices and the folder that the lesson has.
fn tasks(chosen: &Chosen, devices: &str) -> Notebook {
    let chosen = &setup::placed(chosen, devices);
    let mut cells = cells(chosen, false);
    if cells.iter().any(draws) {
        match solved(chosen, devices) {
            Ok(ran) => {
                let drawn = ran.cells.iter().filter(|cell| draws(cell));
                for (cell, ran) in cells.iter_mut().filter(|cell| draws(cell)).zip(drawn) {
                    cell.outputs = ran.outputs.iter().filter(|output| is_figure(output)).cloned().collect();
                }
            }
            Err((_, text)) => {
                tell!("note: without figures, as its cells can't run here: {}", strip_control(&text))
            }
        }
    }
    let front = &chosen.lesson.front;
    let devices = Some(setup::devices_for(&chosen.lesson, devices)).filter(|devices| devices != "auto");
    cells.insert(0, Cell::markdown(about(devices.as_deref())));
    let mut notebook = Notebook::new(cells);
    notebook.ask_for(&Wants { devices, scratch: front.limits.scratch });
    notebook
}

/// What a lesson's notebook says of itself.
fn about(devices: Option<&str>) -> String {
    let devices = devices.map_or(String::new(), |devices| {
        format!(", on the lesson's devices (`--devices {devices}`) unless you name others")
    });
    format!(
        "This notebook is a lesson of tensorlab. Its code is Rhai with PyTorch's names: Python's kernel can't run it; \
         `tensorlab lab FILE` opens it and `tensorlab notebook run FILE` runs it{devices}. Exercises are cells to write in; \
         what checks them stays with the program (`tensorlab lesson start`). Until one is solved, its cell and those that \
         use what it makes may stop with an error; `tensorlab notebook run --allow-errors FILE` goes on behind them."
    )
}

/// Whether it is a cell that runs as it stands, draws, and gives no answer away.
fn draws(cell: &Cell) -> bool {
    cell.metadata.contains_key(DRAWS)
}

fn is_figure(output: &Output) -> bool {
    matches!(output, Output::Data { data, .. } if data.contains_key(FIGURE))
}

/// A lesson whose cells and solutions have run.
fn solved(chosen: &Chosen, devices: &str) -> Result<Notebook, Failure> {
    let chosen = setup::placed(chosen, devices);
    let mut notebook = Notebook::new(cells(&chosen, true));
    let mut options = setup::lesson_session(&chosen, devices);
    // The learner's own folder stays as it is.
    let scratch = std::env::temp_dir().join(format!("tensorlab-scratch-{}", random_name()));
    options.scratch = options.scratch.map(|(_, bytes)| (scratch.clone(), bytes));
    let ran = options
        .command()
        .and_then(|command| run_all(&mut notebook, command, &RunOptions::default(), &mut |_, _| {}));
    // Where there was none, there is nothing to take away.
    let _ = std::fs::remove_dir_all(&scratch);
    let ran = ran.map_err(|error| (exit::NO_DEVICE, format!("no session started: {error}")))?;
    match ran.end {
        End::Done => {}
        End::Failed => {
            let cell = ran.failed.first().and_then(|(at, _)| notebook.cells.get(*at));
            return Err((exit::SCRIPT, failed(&chosen.lesson, cell)));
        }
        End::TimedOut => return Err((exit::SCRIPT, "the lesson ran past its time".into())),
        End::Interrupted => return Err((exit::INTERRUPTED, "the lesson was interrupted".into())),
        End::Died(reason) => {
            return Err((exit::SCRIPT, format!("the session ended while the lesson ran: {reason}")));
        }
    }
    // What a learner begins with stands before what passes, and is not run.
    let starters: Vec<(usize, Cell)> = (notebook.cells.iter().enumerate())
        .filter_map(|(at, cell)| {
            let starter = cell.metadata.get(STARTER)?.as_str()?;
            Some((at, Cell::code(starter)))
        })
        .collect();
    for (at, starter) in starters.into_iter().rev() {
        notebook.insert(at, starter);
    }
    Ok(notebook)
}

/// What went wrong in a cell of a lesson, and where in its file that is.
fn failed(lesson: &Lesson, cell: Option<&Cell>) -> String {
    let own = |step: &'_ Step| match &step.element {
        Some(Element::Run(code)) => Some(code.clone()),
        Some(Element::Exercise(exercise)) => Some(exercise.solution.clone()),
        _ => None,
    };
    let codes = lesson.steps.iter().flat_map(|step| {
        step.setup.iter().cloned().chain(own(step)).map(move |code| (step.id.as_str(), code))
    });
    let source = cell.map_or("", |cell| cell.source.as_str());
    let at = codes.into_iter().find(|(_, code)| code.text.trim_end() == source);
    let place = at.map_or(String::new(), |(id, code)| format!("{}:{} [{id}] ", lesson.file(), code.line));
    let report = cell.into_iter().flat_map(|cell| &cell.outputs).find_map(|output| match output {
        Output::Error { traceback, name, message, .. } if traceback.is_empty() => {
            Some(format!("{name}: {message}"))
        }
        Output::Error { traceback, .. } => Some(traceback.join("\n")),
        _ => None,
    });
    format!("a cell of the lesson failed\n  {place}{}", report.unwrap_or_default())
}

/// What a solution's metadata say of what its learner begins with.
const STARTER: &str = "starter";

/// Marks cells that draw and that no prediction waits for.
const DRAWS: &str = "draws";

/// A lesson's cells, with the pictures of its pack. Solved, exercises are their solutions; else what a learner begins with.
fn cells(chosen: &Chosen, solved: bool) -> Vec<Cell> {
    let mut cells = written_cells(&chosen.lesson, solved);
    let read = |path: &str| read_asset(chosen.folder.as_deref()?, path).ok();
    cells.iter_mut().for_each(|cell| files::carry(cell, ASSETS, read));
    cells
}

fn written_cells(lesson: &Lesson, solved: bool) -> Vec<Cell> {
    let mut cells = Vec::new();
    let mut owed: Vec<Cell> = Vec::new();
    for (place, step) in lesson.steps.iter().enumerate() {
        if !step.text.is_empty() {
            cells.push(Cell::markdown(written(&step.text)));
        }
        cells.extend(step.setup.iter().map(|code| folded(Cell::code(code.text.trim_end()), "Set-up")));
        match &step.element {
            Some(Element::Run(code)) => {
                let mut cell = Cell::code(code.text.trim_end());
                if owed.is_empty() && code.text.contains("plot::") {
                    cell.metadata.insert(DRAWS.into(), true.into());
                }
                cells.push(cell);
                tell(&mut cells, &mut owed);
            }
            Some(Element::Predict(predict)) => {
                cells.push(Cell::markdown(asked(predict)));
                owed.push(folded(Cell::markdown(answered(predict)), "What the cell shows"));
            }
            Some(Element::Quiz(quiz)) => {
                cells.push(Cell::markdown(choices(quiz)));
                cells.push(folded(Cell::markdown(choices_told(quiz)), "The answers"));
            }
            Some(Element::Exercise(exercise)) => {
                let later = lesson.steps.get(place + 1..).unwrap_or_default();
                let used = if solved { Vec::new() } else { used_later(exercise, later) };
                put_exercise(&mut cells, (&step.id, &used), exercise, solved);
            }
            None => {}
        }
    }
    tell(&mut cells, &mut owed);
    cells
}

/// What predictions come to, behind the cell that shows it; of several each with its number.
fn tell(cells: &mut Vec<Cell>, owed: &mut Vec<Cell>) {
    let count = owed.len();
    for (number, mut cell) in (1..).zip(owed.drain(..)) {
        if count > 1 {
            let title = format!("What the cell shows, {number} of {count}");
            cell.metadata.insert(FOLDED.into(), title.into());
        }
        cells.push(cell);
    }
}

/// Names that an exercise's solution gives to cells of these steps, before another cell binds them.
fn used_later(exercise: &Exercise, later: &[Step]) -> Vec<String> {
    let cells = later.iter().flat_map(|step| {
        let own = match &step.element {
            Some(Element::Run(code)) => Some(code),
            Some(Element::Exercise(exercise)) => Some(&exercise.starter),
            _ => None,
        };
        step.setup.iter().chain(own).map(|code| names(&code.text))
    });
    let mut gives = names(&exercise.solution.text).defines;
    let mut used = BTreeSet::new();
    for cell in cells {
        let needed = cell.uses.iter().chain(cell.bodies.values().flatten());
        used.extend(needed.filter(|name| gives.contains(name)).map(ToString::to_string));
        gives.retain(|name| !cell.defines.contains(name));
    }
    used.into_iter().collect()
}

/// An exercise by its id, with the names that cells below it use.
fn put_exercise(cells: &mut Vec<Cell>, (id, used): (&str, &[String]), exercise: &Exercise, solved: bool) {
    let points = plural(exercise.points.into(), "point", "points");
    let used = match used {
        [] => String::new(),
        names => format!("; cells below use its `{}`", names.join("`, `")),
    };
    cells.push(Cell::markdown(format!("**Exercise** `{id}`, {points}{used}")));
    let hints = exercise.hints.iter().zip(1..).map(|(hint, n)| format!("{n}. {}", indented(&hint.text)));
    let hints = hints.collect::<Vec<_>>().join("\n");
    let starter = exercise.starter.text.trim_end();
    if !solved {
        cells.push(Cell::code(starter));
        cells.extend((!hints.is_empty()).then(|| folded(Cell::markdown(hints), "Hints")));
        return;
    }
    cells.extend((!hints.is_empty()).then(|| folded(Cell::markdown(hints), "Hints")));
    let mut solution = folded(Cell::code(exercise.solution.text.trim_end()), "A solution, and what it gives");
    solution.metadata.insert(STARTER.into(), starter.into());
    cells.push(solution);
}

fn folded(mut cell: Cell, title: &str) -> Cell {
    cell.metadata.insert(FOLDED.into(), title.into());
    cell
}

fn asked(predict: &Predict) -> String {
    let asked = written(&predict.ask);
    let unit = match predict.unit {
        Unit::Count => String::new(),
        unit if asked.split(|c: char| !c.is_alphanumeric() && c != '/').any(|word| word == unit.name()) => {
            String::new()
        }
        unit => format!(" *(in {})*", unit.name()),
    };
    format!("**Predict.** {asked}{unit}")
}

fn answered(predict: &Predict) -> String {
    format!("What is measured: `{}`\n\n{}", predict.answer.text.trim(), written(&predict.explain))
}

fn choices(quiz: &Quiz) -> String {
    let lines: Vec<String> =
        quiz.choices.iter().zip(1..).map(|(choice, n)| format!("{n}. {}", indented(&choice.text))).collect();
    format!("**Question.** {}\n\n{}", written(&quiz.ask), lines.join("\n"))
}

fn choices_told(quiz: &Quiz) -> String {
    let told = quiz.choices.iter().zip(1..).map(|(choice, n)| {
        let verdict = if choice.correct { "**right.** " } else { "**no.** " };
        format!("{n}. {verdict}{}", indented(&choice.explain))
    });
    told.collect::<Vec<_>>().join("\n")
}

/// Blocks as they stand in an item of a list.
fn indented(blocks: &[Block]) -> String {
    written(blocks).replace('\n', "\n   ")
}
