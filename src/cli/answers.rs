//! What passed of a lesson, or its solutions, as one file: each answer below the code of the lesson that it needs.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::lesson::markdown::{Block, words};
use crate::lesson::{Element, Lesson, LessonMemory};
use crate::notebook::names::{Name, Names, names};
use crate::script::python::Translation;

use super::kept;
use super::packs::Chosen;

/// Answers of a lesson in its order, with what they run after.
pub(super) struct Answers {
    title: String,
    /// What is said of the answers.
    whose: &'static str,
    pieces: Vec<LessonCode>,
    /// Exercises without an answer.
    open: Vec<String>,
}

/// Code of a lesson, or an exercise without an answer.
struct LessonCode {
    /// The exercise's id and title; none for code that the lesson gives.
    exercise: Option<String>,
    code: Option<String>,
    names: Names,
    /// Names of an open exercise's that are used further down.
    missed: Vec<String>,
}

/// The answers that passed, by the learner's progress, or the lesson's own.
///
/// # Errors
/// In words, where there are none.
pub(super) fn of(chosen: &Chosen, solutions: bool) -> Result<Answers, String> {
    let lesson = &chosen.lesson;
    let known = kept::read().map(|kept| kept.records);
    let known = known.map_err(|error| format!("your progress can't be read: {error}"));
    let memory = match solutions {
        true => LessonMemory::default(),
        false => LessonMemory::of(&known?, &chosen.pack, &lesson.front.id),
    };
    let passed = memory.passed();
    let all = pieces(lesson, &|id, solution| {
        if solutions { Some(solution.to_owned()) } else { passed.get(id).map(|passed| passed.text.clone()) }
    });
    let open = all.iter().filter(|piece| piece.code.is_none());
    let open: Vec<String> = open.filter_map(|piece| piece.exercise.clone()).collect();
    if !all.iter().any(|piece| piece.exercise.is_some() && piece.code.is_some()) {
        let (id, name) = (&lesson.front.id, chosen.name());
        return Err(match open.is_empty() {
            true => format!("'{id}' has no exercises"),
            false => format!(
                "no exercise of '{id}' is passed yet, so that there is nothing to write\nhint: `tensorlab lesson start {name}` \
                 goes on with the lesson; --solutions takes its own solutions"
            ),
        });
    }
    let whose = if solutions { "its solutions" } else { "the answers that passed" };
    Ok(Answers { title: lesson.front.title.clone(), whose, pieces: needed(all), open })
}

impl Answers {
    /// One file for PyTorch, a cell for each exercise and one for what it runs after.
    pub(super) fn python(&self) -> String {
        let mut translation = self.look_ahead(Translation::to_run());
        if self.pieces.iter().any(|piece| piece.code.as_ref().is_some_and(|code| code.contains("SCRATCH"))) {
            translation.import("import tempfile");
            translation.line("SCRATCH = tempfile.mkdtemp()");
            translation.line("");
        }
        let mut before: Option<&LessonCode> = None;
        for piece in &self.pieces {
            match &piece.exercise {
                Some(exercise) => translation.line(&format!("# %% Exercise {exercise}")),
                None if before.is_none_or(|piece| piece.exercise.is_some()) => {
                    translation.line("# %% Given by the lesson");
                }
                None => {}
            }
            before = Some(piece);
            match &piece.code {
                Some(code) => {
                    if !translation.add(code.trim_end()) {
                        code.trim_end().lines().for_each(|line| translation.line(&format!("#   {line}")));
                    }
                }
                None => translation.line(&format!(
                    "# Not passed yet; what stands below uses {} of it.",
                    piece.missed.join(", ")
                )),
            }
            translation.line("");
        }
        let text = translation.text();
        let mut head = format!("# {}: {}, for PyTorch.\n{}", self.title, self.whose, needs(&text));
        for exercise in &self.open {
            head += &format!("# Not passed yet: {exercise}\n");
        }
        format!("{head}\n{}\n", text.trim_end())
    }

    /// A translation that knows what functions are called with further down.
    fn look_ahead(&self, mut translation: Translation) -> Translation {
        self.pieces
            .iter()
            .filter_map(|piece| piece.code.as_ref())
            .for_each(|code| translation.look_ahead(code));
        translation
    }

    /// A cell for each piece of code: what it is in both languages, and what checks it in Python.
    pub(super) fn cells(&self, lesson: &Lesson) -> Value {
        let mut translation = self.look_ahead(Translation::new());
        let cells = self.pieces.iter().filter_map(|piece| {
            let code = piece.code.as_ref()?;
            translation.add(code.trim_end());
            let step = piece.exercise.as_ref().and_then(|exercise| lesson.step(exercise.split(':').next()?));
            let check = match step.and_then(|step| step.element.as_ref()) {
                Some(Element::Exercise(exercise)) => translation.aside(&exercise.check.text),
                _ => String::new(),
            };
            let python = translation.take();
            Some(json!({"exercise": piece.exercise, "rhai": code, "python": python, "check": check}))
        });
        cells.collect()
    }
}

/// What Python needs to run a file, and what is left out of it, as lines of its head.
fn needs(python: &str) -> String {
    let live: Vec<&str> = python.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
    let has = |what: &str| live.iter().any(|line| line.contains(what));
    let digits = if has("sklearn") { " and scikit-learn" } else { "" };
    let gpus = match (has("\"cuda:1\""), has("\"cuda")) {
        (true, _) => "; what names \"cuda\" needs a GPU of NVIDIA's, and \"cuda:1\" a second one",
        (false, true) => "; what names \"cuda\" needs a GPU of NVIDIA's",
        (false, false) => "",
    };
    let mut head = format!("# Needs torch{digits}{gpus}.\n");
    if python.contains("is this lab's own; PyTorch has no such call") {
        head += "# What only tensorlab has is left out, as comments, with the lines that use it.\n";
    }
    head
}

/// All code that a lesson runs, in its order, with the answers as they are found by id and solution.
fn pieces(lesson: &Lesson, answer: &dyn Fn(&str, &str) -> Option<String>) -> Vec<LessonCode> {
    let mut all = Vec::new();
    let mut title = lesson.front.title.clone();
    for step in &lesson.steps {
        let mut headings = step.text.iter().filter_map(|block| match block {
            Block::Heading { text, .. } => Some(words(text)),
            _ => None,
        });
        // A line of a comment, whatever a pack writes.
        let said = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
        title = headings.next_back().map_or(title, said);
        let given = |code: &str| LessonCode {
            exercise: None,
            code: Some(code.to_owned()),
            names: names(code),
            missed: Vec::new(),
        };
        all.extend(step.setup.iter().map(|code| given(&code.text)));
        match &step.element {
            Some(Element::Run(code)) => all.push(given(&code.text)),
            Some(Element::Exercise(exercise)) => {
                let solution = &exercise.solution.text;
                let code = answer(&step.id, solution);
                let names = names(code.as_ref().unwrap_or(solution));
                let exercise = Some(format!("{}: {title}", step.id));
                all.push(LessonCode { exercise, code, names, missed: Vec::new() });
            }
            _ => {}
        }
    }
    all
}

/// The answers, and of the rest what binds or changes names that they need. An open exercise stays where it would.
fn needed(all: Vec<LessonCode>) -> Vec<LessonCode> {
    let mut needed: BTreeSet<Name> = BTreeSet::new();
    let mut kept = Vec::new();
    for mut piece in all.into_iter().rev() {
        let gives: Vec<&Name> = piece.names.defines.intersection(&needed).collect();
        let is_answer = piece.exercise.is_some() && piece.code.is_some();
        if !is_answer && gives.is_empty() {
            continue;
        }
        if piece.code.is_none() {
            piece.missed = gives.into_iter().map(ToString::to_string).collect();
        } else {
            needed.extend(piece.names.uses.iter().cloned());
            needed.extend(piece.names.bodies.values().flatten().cloned());
        }
        kept.push(piece);
    }
    kept.reverse();
    kept
}
