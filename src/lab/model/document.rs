//! What the lab shows: steps of text, cells, predictions and quizzes. A notebook is one step of cells.

use std::sync::Arc;

use crate::lesson::attempt::Passed;
use crate::lesson::markdown::{Block, words};
use crate::lesson::memory::Remembered;
use crate::lesson::{self, Code, Element, Exercise, Lesson, LessonMemory, Verdict};
use crate::notebook::Output;
use crate::notebook::hash::Hash;
use crate::session::protocol::Usage;

/// A lesson or a notebook, as the lab takes it and gives it back.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Document {
    pub title: String,
    pub steps: Vec<Step>,
    /// What it shows, where it is a lesson.
    pub lesson: Option<Arc<Lesson>>,
    /// Code that passed at its steps.
    pub passed: Passed,
    /// Cells of the learner's own on the page that a lesson ends with.
    pub last: Vec<Item>,
}

/// What is seen at once: a section of a lesson, or a whole notebook.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Step {
    pub title: String,
    pub items: Vec<Item>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Item {
    Text(Vec<Block>),
    Cell(Box<Cell>),
    Predict(Box<Predict>),
    Quiz(Quiz),
}

/// Code to run. The ids of a lesson's items are those of its steps, by which progress is kept.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Cell {
    pub id: String,
    pub code: String,
    /// The place in its lesson of the step that it is.
    pub step: Option<usize>,
    pub exercise: Option<Exercise>,
    /// Added beside a lesson's cells by the learner.
    pub own: bool,
    /// What came of the last attempt at the exercise.
    pub verdict: Option<Verdict>,
    /// Hints that were shown, and whether the solution was.
    pub hints: usize,
    pub solution: bool,
    /// It was passed over.
    pub skipped: bool,
    /// It was done once: an exercise passed, or another cell ran without an error.
    pub done: bool,
    /// It is text in Markdown, not code.
    pub markdown: bool,
    /// Of such text: no Markdown, but what a notebook keeps as it is for other programs.
    pub raw: bool,
    /// What an earlier run gave, which a notebook's file has kept.
    pub stored: Option<Box<Stored>>,
}

/// What a run of a cell gave, as a notebook keeps it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Stored {
    pub outputs: Vec<Output>,
    /// The content that ran.
    pub ran: Option<Hash>,
    /// The `n` of `In [n]`.
    pub count: Option<u64>,
    pub usage: Option<Usage>,
}

/// A question whose answer is measured when the cell it names has run.
#[derive(Clone, PartialEq, Debug)]
pub struct Predict {
    pub id: String,
    pub question: lesson::Predict,
    /// What was said and told earlier.
    pub past: PastPrediction,
}

/// What was said to a prediction, and what was told.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PastPrediction {
    /// The number as it was typed.
    pub typed: Option<String>,
    pub skipped: bool,
    /// What it was held against, and whether that was a modelled time.
    pub answer: Option<(f64, bool)>,
    /// What was told to who had no number.
    pub told: Option<String>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Quiz {
    pub id: String,
    pub question: lesson::Quiz,
    /// The choices that were taken, try by try.
    pub tries: Vec<Vec<usize>>,
    /// It was passed over.
    pub skipped: bool,
}

/// Where a cell of the learner's own stands: on a page of the lesson, beside an item that is known by its id.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stand {
    pub page: Page,
    /// None where it has its page to itself.
    pub beside: Option<Beside>,
}

/// A page of a lesson.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Page {
    /// By its place, from 0.
    At(usize),
    /// The one that sums up.
    Last,
}

/// The nearest item of a page: the one above, or where there is none the lesson's own below.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Beside {
    Below(String),
    Above(String),
}

impl Item {
    /// Its id; `None` for text.
    pub fn id(&self) -> Option<&str> {
        match self {
            Item::Text(_) => None,
            Item::Cell(cell) => Some(&cell.id),
            Item::Predict(predict) => Some(&predict.id),
            Item::Quiz(quiz) => Some(&quiz.id),
        }
    }
}

impl Document {
    /// A notebook without text: one step of cells, or one empty cell.
    pub fn notebook(title: impl Into<String>, cells: impl IntoIterator<Item = String>) -> Document {
        let cell = |(i, code)| Cell { id: format!("cell-{i}"), code, ..Cell::default() };
        let mut items: Vec<Item> =
            (1..).zip(cells).map(cell).map(|cell| Item::Cell(Box::new(cell))).collect();
        if items.is_empty() {
            items.push(Item::Cell(Box::default()));
        }
        Document {
            title: title.into(),
            steps: vec![Step { items, ..Step::default() }],
            ..Document::default()
        }
    }

    /// A lesson by its sections: a step begins at each heading of the first two levels.
    pub fn lesson(lesson: &Lesson) -> Document {
        let mut steps = vec![Step::default()];
        for (place, step) in lesson.steps.iter().enumerate() {
            for block in &step.text {
                text(&mut steps, block);
            }
            if let (Some(element), Some(page)) = (&step.element, steps.last_mut()) {
                page.items.push(item(&step.id, place, element));
            }
        }
        steps.retain(|step| !step.items.is_empty());
        Document {
            title: lesson.front.title.clone(),
            steps,
            lesson: Some(Arc::new(lesson.clone())),
            ..Document::default()
        }
    }

    /// The same with what was done in it earlier.
    #[must_use]
    pub fn recalling(mut self, memory: &LessonMemory) -> Document {
        self.passed = memory.passed();
        for item in self.steps.iter_mut().flat_map(|step| &mut step.items) {
            let Some(known) = item.id().and_then(|id| memory.step(id)).cloned() else { continue };
            match item {
                Item::Text(_) => {}
                Item::Cell(cell) => {
                    cell.done = known.is_done();
                    (cell.verdict, cell.hints, cell.solution) = (known.verdict, known.hints, known.solution);
                    cell.skipped = known.skipped;
                }
                Item::Predict(predict) => {
                    let Remembered { typed, skipped, answer, told, .. } = known;
                    predict.past = PastPrediction { typed, skipped, answer, told };
                }
                Item::Quiz(quiz) => (quiz.tries, quiz.skipped) = (known.tries, known.skipped),
            }
        }
        self
    }

    /// True where there is text to read beside the cells.
    pub(crate) fn has_text(&self) -> bool {
        self.steps.iter().flat_map(|step| &step.items).any(|item| matches!(item, Item::Text(_)))
    }
}

fn text(steps: &mut Vec<Step>, block: &Block) {
    if let Block::Heading { level: ..=2, text } = block {
        steps.push(Step { title: words(text), items: Vec::new() });
    }
    let Some(step) = steps.last_mut() else { return };
    match step.items.last_mut() {
        Some(Item::Text(blocks)) => blocks.push(block.clone()),
        _ => step.items.push(Item::Text(vec![block.clone()])),
    }
}

fn item(id: &str, place: usize, element: &Element) -> Item {
    let id = id.to_owned();
    let cell = |code: &Code, exercise| {
        let (code, step) = (code.text.trim_end().to_owned(), Some(place));
        Item::Cell(Box::new(Cell { id: id.clone(), code, step, exercise, ..Cell::default() }))
    };
    match element {
        Element::Run(code) => cell(code, None),
        Element::Exercise(exercise) => cell(&exercise.starter, Some(exercise.clone())),
        Element::Predict(question) => {
            let (question, past) = (question.clone(), PastPrediction::default());
            Item::Predict(Box::new(Predict { id, question, past }))
        }
        Element::Quiz(question) => {
            let (question, tries) = (question.clone(), Vec::new());
            Item::Quiz(Quiz { id, question, tries, skipped: false })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One letter for each item.
    fn shape(step: &Step) -> String {
        let letter = |item: &Item| match item {
            Item::Text(_) => 't',
            Item::Cell(cell) if cell.exercise.is_some() => 'e',
            Item::Cell(_) => 'c',
            Item::Predict(_) => 'p',
            Item::Quiz(_) => 'q',
        };
        step.items.iter().map(letter).collect()
    }

    #[test]
    fn the_built_in_lessons_fall_into_sections_that_keep_every_element() {
        for (name, source) in lesson::built_in() {
            let parsed = lesson::parse(name, source.as_bytes()).unwrap();
            let document = Document::lesson(&parsed);
            let elements = parsed.steps.iter().filter(|step| step.element.is_some()).count();
            let shown = document.steps.iter().map(|s| shape(s).replace('t', "").len()).sum::<usize>();
            assert_eq!(shown, elements, "{name}");
            assert!(document.steps.len() > 2 && document.steps.iter().all(|s| !s.title.is_empty()), "{name}");
            let items = document.steps.iter().flat_map(|step| &step.items);
            let cells = items.filter_map(|item| if let Item::Cell(cell) = item { Some(cell) } else { None });
            for cell in cells {
                assert_eq!(parsed.steps[cell.step.unwrap()].id, cell.id, "{name}");
            }
        }
    }

    #[test]
    fn a_section_keeps_its_order() {
        let source = "+++\nid = \"x\"\ntitle = \"X\"\nsummary = \"s\"\nconcepts = [\"c\"]\nminutes = 1\n\
            devices = [\"cpu\"]\n+++\n\nIntro.\n\n# One\n\na\n\n\
            ```rhai hidden\nlet h = 1;\n```\n\n```rhai run\nlet a = 1;\n```\n\nb\n\n### Deeper\n\n## Two\n\nc\n";
        let parsed = lesson::parse("x.md", source.as_bytes()).unwrap();
        let document = Document::lesson(&parsed);
        let shapes: Vec<(String, String)> =
            document.steps.iter().map(|step| (step.title.clone(), shape(step))).collect();
        let want = [("", "t"), ("One", "tct"), ("Two", "t")];
        assert_eq!(shapes, want.map(|(title, shape)| (title.to_owned(), shape.to_owned())));
    }
}
