//! From the bytes of a lesson file to its steps.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use crate::base::sorted;
use crate::lesson::errors::Errors;

use super::body::{self, Fence, Piece};
use super::error::LessonError;
use super::format::{Code, Element, Exercise, Hint, Lesson, PlacedCheck, Places, Step, Wrong};
use super::info::Role;
use super::markdown::{self, Block};
use super::source::{MAX_FILE_BYTES, Source};
use super::{elements, front, text};

/// Most cells, questions, exercises and parts of these in a lesson.
const MAX_BLOCKS: usize = 1000;

/// Reads and parses the lesson file at `path`.
///
/// Errors: the file can't be read, or what [`parse`] finds.
pub fn load(path: &Path) -> Result<Lesson, Vec<LessonError>> {
    let name = path.display().to_string();
    // One huge line is still reported as such; more than this is not read.
    let most = (MAX_FILE_BYTES as u64).saturating_mul(32);
    let mut bytes = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| {
        let size = file.metadata()?.len();
        file.take(most).read_to_end(&mut bytes).map(|_| size)
    });
    match read {
        Ok(size) if size > most => Err(vec![Source::too_large(&name, size)]),
        Ok(_) => parse(&name, &bytes),
        Err(error) => {
            let source = Source::decode(&name, b"").source;
            let hint = "check the path, and that the file may be read";
            let message = format!("the lesson can't be read: {error}");
            Err(vec![source.error(1, 1, message, hint)])
        }
    }
}

/// Parses a lesson. `file` is the name that errors show.
///
/// Errors: all faults of the file, in the order of its lines. Never panics, whatever the bytes.
pub fn parse(file: &str, bytes: &[u8]) -> Result<Lesson, Vec<LessonError>> {
    let decoded = Source::decode(file, bytes);
    let source = decoded.source;
    let mut errors = Errors::new(&source);
    errors.extend(decoded.errors, decoded.hidden);
    if decoded.fatal {
        return Err(errors.into_sorted());
    }
    let (front, first) = front::read(&source, &mut errors);
    let body = body::read(&source, first, &mut errors);
    let beyond = body.pieces.iter().filter_map(Piece::role_line).nth(MAX_BLOCKS);
    if let Some(line) = beyond {
        let message = format!("a lesson has at most {MAX_BLOCKS} blocks with a role");
        errors.at(line, 1, message, "split it into lessons");
    }
    let mut builder = Builder::new(&mut errors);
    for piece in body.pieces {
        builder.piece(piece);
    }
    let steps = builder.finish(source.line_count());
    if steps.is_empty() && errors.is_empty() {
        let hint = "write its text and cells after the front matter";
        errors.at(first, 1, "the lesson has no text", hint);
    }
    if !errors.is_empty() {
        return Err(errors.into_sorted());
    }
    Ok(Lesson { front, steps, links: body.links, html_lines: body.html_lines, source })
}

/// Puts pieces together into steps.
struct Builder<'e, 's> {
    errors: &'e mut Errors<'s>,
    steps: Vec<Step>,
    /// Ids in use and their lines.
    ids: BTreeMap<String, usize>,
    /// The last number that a derived id was given.
    numbers: BTreeMap<String, usize>,
    text: Vec<Block>,
    /// The line of the first piece of text.
    text_line: Option<usize>,
    setup: Vec<Code>,
    exercise: Option<Draft>,
    /// Steps of predictions that wait for the next run cell, and their lines.
    waiting: Vec<(usize, usize)>,
}

/// An exercise whose parts are still being read.
struct Draft {
    step: Step,
    points: u32,
    changes: Vec<String>,
    starter: Code,
    checks: Vec<PlacedCheck>,
    solution: Option<Code>,
    /// The solutions behind the first.
    others: Vec<Code>,
    wrong: Vec<Wrong>,
    hints: Vec<Hint>,
    /// A check or solution was there, even if it was of no use.
    had_check: bool,
    had_solution: bool,
    /// The line of text that came after the exercise or one of its parts.
    interrupted: Option<usize>,
}

impl<'e, 's> Builder<'e, 's> {
    fn new(errors: &'e mut Errors<'s>) -> Self {
        Builder {
            errors,
            steps: Vec::new(),
            ids: BTreeMap::new(),
            numbers: BTreeMap::new(),
            text: Vec::new(),
            text_line: None,
            setup: Vec::new(),
            exercise: None,
            waiting: Vec::new(),
        }
    }

    fn piece(&mut self, piece: Piece) {
        match piece {
            Piece::Text { block, line } => {
                if let Some(draft) = &mut self.exercise {
                    draft.interrupted.get_or_insert(line);
                }
                self.text_line.get_or_insert(line);
                self.text.push(block);
            }
            Piece::Fence(fence) if fence.info.role.is_part() => self.part(fence),
            Piece::Fence(fence) => {
                self.close_exercise();
                match fence.info.role {
                    Role::Hidden => self.hidden(fence),
                    Role::Run => self.run(fence),
                    Role::Exercise => self.exercise(fence),
                    _ => self.question(fence),
                }
            }
        }
    }

    fn hidden(&mut self, fence: Fence) {
        if self.has_code(&fence) {
            self.setup.push(fence.code);
        }
    }

    fn run(&mut self, fence: Fence) {
        self.has_code(&fence);
        let id = match elements::id(&fence, self.errors) {
            Some(id) => self.claim(id, fence.line),
            None => self.derive("run", &fence.code.text, fence.line),
        };
        for (place, _) in std::mem::take(&mut self.waiting) {
            let step = self.steps.get_mut(place);
            if let Some(Element::Predict(predict)) = step.and_then(|step| step.element.as_mut()) {
                predict.cell.clone_from(&id);
            }
        }
        self.push(id, fence.line, Some(Element::Run(fence.code)));
    }

    fn question(&mut self, fence: Fence) {
        let id = self.written_id(&fence);
        let line = fence.line;
        if fence.info.role == Role::Predict {
            self.waiting.push((self.steps.len(), line));
            let (predict, devices) = elements::predict(&fence, self.errors).unzip();
            self.push(id, line, predict.map(Element::Predict));
            if let (Some(step), Some(devices)) = (self.steps.last_mut(), devices) {
                step.devices = devices;
            }
        } else {
            let quiz = elements::quiz(&fence, self.errors);
            self.push(id, line, quiz.map(Element::Quiz));
        }
    }

    fn exercise(&mut self, fence: Fence) {
        self.orphan_predictions("an exercise follows, and its run is the learner's own");
        let id = self.written_id(&fence);
        let points = elements::points(&fence, self.errors);
        let changes = elements::changes(&fence, self.errors);
        let devices = elements::devices(&fence, self.errors);
        let step = Step { devices, ..self.step(id, fence.line, None) };
        self.exercise = Some(Draft {
            step,
            points,
            changes,
            starter: fence.code,
            checks: Vec::new(),
            solution: None,
            others: Vec::new(),
            wrong: Vec::new(),
            hints: Vec::new(),
            had_check: false,
            had_solution: false,
            interrupted: None,
        });
    }

    /// A check, solution, wrong answer or hint.
    fn part(&mut self, fence: Fence) {
        let word = fence.info.role.word();
        let usable = self.has_code(&fence);
        let because = match fence.info.role {
            Role::Wrong => elements::because(&fence, self.errors),
            _ => None,
        };
        let devices = elements::devices(&fence, self.errors);
        let Some(draft) = &mut self.exercise else {
            let message = format!("a `{word}` block without an exercise");
            let hint = "it belongs directly after a ```rhai exercise block";
            self.errors.at(fence.line, 1, message, hint);
            return;
        };
        if let Some(line) = draft.interrupted.take() {
            let message = format!("text stands between an exercise and its `{word}`");
            let hint = "move the text before the exercise or after its last block";
            self.errors.at(line, 1, message, hint);
        }
        let is_check = fence.info.role == Role::Check;
        if is_check && draft.checks.iter().any(|check| check.devices.sets == devices.sets) {
            let message = format!("the exercise `{}` has a second `{word}`", draft.step.id);
            self.errors.at(fence.line, 1, message, "keep one of them");
        }
        draft.had_check |= is_check;
        let is_first = !draft.had_solution;
        draft.had_solution |= fence.info.role == Role::Solution;
        match fence.info.role {
            Role::Check if usable => draft.checks.push(PlacedCheck { devices, code: fence.code }),
            Role::Check => {}
            Role::Solution if is_first => draft.solution = Some(fence.code).filter(|_| usable),
            Role::Solution => draft.others.extend(Some(fence.code).filter(|_| usable)),
            Role::Wrong => {
                draft.wrong.extend(because.map(|because| Wrong { because, devices, code: fence.code }))
            }
            _ => draft.hints.push(Hint { text: markdown::parse(&fence.code.text), line: fence.code.line }),
        }
    }

    fn close_exercise(&mut self) {
        let Some(mut draft) = self.exercise.take() else {
            return;
        };
        for (had, word) in [(draft.had_check, "check"), (draft.had_solution, "solution")] {
            if !had {
                let message = format!("the exercise `{}` has no {word}", draft.step.id);
                let hint = format!("put a ```rhai {word} block directly after it");
                self.errors.at(draft.step.line, 1, message, hint);
            }
        }
        // The one for all other devices comes last.
        sorted::sort_by_key(&mut draft.checks, |check| check.devices.sets.is_empty());
        let first = draft.checks.first().map(|check| check.code.clone());
        if let (Some(check), Some(solution)) = (first, draft.solution) {
            draft.step.element = Some(Element::Exercise(Exercise {
                points: draft.points,
                changes: draft.changes,
                starter: draft.starter,
                check,
                checks: draft.checks,
                solution,
                others: draft.others,
                wrong: draft.wrong,
                hints: draft.hints,
            }));
        }
        self.steps.push(draft.step);
    }

    fn orphan_predictions(&mut self, why: &str) {
        for (_, line) in std::mem::take(&mut self.waiting) {
            let message = format!("no run cell answers this prediction: {why}");
            let hint = "put the ```rhai run cell that answers it after it";
            self.errors.at(line, 1, message, hint);
        }
    }

    /// Reports a block without content.
    fn has_code(&mut self, fence: &Fence) -> bool {
        let empty = fence.code.text.trim().is_empty();
        if empty {
            let message = format!("the `{}` block is empty", fence.info.role.word());
            self.errors.at(fence.line, 1, message, "write its content, or remove it");
        }
        !empty
    }

    fn written_id(&mut self, fence: &Fence) -> String {
        match elements::id(fence, self.errors) {
            Some(id) => self.claim(id, fence.line),
            None => {
                let word = fence.info.role.word();
                let message = format!("the {word} block has no id");
                let hint = format!("write {word} id=\"…\": progress is keyed by it");
                self.errors.at(fence.line, 1, message, hint);
                String::new()
            }
        }
    }

    fn claim(&mut self, id: String, line: usize) -> String {
        if let Some(before) = self.ids.get(&id) {
            let message = format!("the id `{id}` is taken already, in line {before}");
            self.errors.at(line, 1, message, "give every step an id of its own");
        } else {
            self.ids.insert(id.clone(), line);
        }
        id
    }

    /// An id made of the content; a second block with the same content gets a number.
    fn derive(&mut self, prefix: &str, content: &str, line: usize) -> String {
        let base = text::content_id(prefix, content);
        let mut id = base.clone();
        let number = self.numbers.entry(base.clone()).or_insert(1);
        while self.ids.contains_key(&id) {
            *number += 1;
            id = format!("{base}-{number}");
        }
        self.ids.insert(id.clone(), line);
        id
    }

    /// A step with the text and set-up read so far.
    fn step(&mut self, id: String, line: usize, element: Option<Element>) -> Step {
        self.text_line = None;
        Step {
            id,
            line,
            text: std::mem::take(&mut self.text),
            setup: std::mem::take(&mut self.setup),
            devices: Places::default(),
            element,
        }
    }

    fn push(&mut self, id: String, line: usize, element: Option<Element>) {
        let step = self.step(id, line, element);
        self.steps.push(step);
    }

    fn finish(mut self, last_line: usize) -> Vec<Step> {
        self.close_exercise();
        self.orphan_predictions("none follows");
        if !self.text.is_empty() || !self.setup.is_empty() {
            let line = self.text_line.unwrap_or(last_line);
            let id = self.derive("text", &markdown::plain(&self.text), line);
            self.push(id, line, None);
        }
        self.steps
    }
}
