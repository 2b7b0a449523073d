//! What the lab shows: steps of text, cells, predictions and quizzes. A notebook is one step of cells.

use crate::lesson::markdown::{Block, Inline};
use crate::lesson::{self, Code, Element, Exercise, Lesson};
use crate::notebook::Output;
use crate::notebook::hash::Hash;
use crate::session::protocol::Usage;

/// A lesson or a notebook, as the lab takes it and gives it back.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Document {
    pub title: String,
    pub steps: Vec<Step>,
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
    /// Runs unseen before each run of the cell.
    pub setup: Vec<Code>,
    pub exercise: Option<Exercise>,
    /// It is text in Markdown, not code.
    pub markdown: bool,
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
}

#[derive(Clone, PartialEq, Debug)]
pub struct Quiz {
    pub id: String,
    pub question: lesson::Quiz,
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
        Document { title: title.into(), steps: vec![Step { items, ..Step::default() }] }
    }

    /// A lesson by its sections: a step begins at each heading of the first two levels.
    pub fn lesson(lesson: &Lesson) -> Document {
        let mut steps = vec![Step::default()];
        let mut setup = Vec::new();
        for step in &lesson.steps {
            for block in &step.text {
                text(&mut steps, block);
            }
            setup.extend_from_slice(&step.setup);
            if let (Some(element), Some(page)) = (&step.element, steps.last_mut()) {
                page.items.push(item(&step.id, element, &mut setup));
            }
        }
        steps.retain(|step| !step.items.is_empty());
        Document { title: lesson.front.title.clone(), steps }
    }

    /// True where there is text to read beside the cells.
    pub(crate) fn has_text(&self) -> bool {
        self.steps.iter().flat_map(|step| &step.items).any(|item| matches!(item, Item::Text(_)))
    }
}

fn text(steps: &mut Vec<Step>, block: &Block) {
    if let Block::Heading { level: ..=2, text } = block {
        steps.push(Step { title: plain(text), items: Vec::new() });
    }
    let Some(step) = steps.last_mut() else { return };
    match step.items.last_mut() {
        Some(Item::Text(blocks)) => blocks.push(block.clone()),
        _ => step.items.push(Item::Text(vec![block.clone()])),
    }
}

fn item(id: &str, element: &Element, setup: &mut Vec<Code>) -> Item {
    let id = id.to_owned();
    let mut cell = |code: &Code, exercise| {
        let setup = std::mem::take(setup);
        let code = code.text.trim_end().to_owned();
        Item::Cell(Box::new(Cell { id: id.clone(), code, setup, exercise, ..Cell::default() }))
    };
    match element {
        Element::Run(code) => cell(code, None),
        Element::Exercise(exercise) => cell(&exercise.starter, Some(exercise.clone())),
        Element::Predict(question) => Item::Predict(Box::new(Predict { id, question: question.clone() })),
        Element::Quiz(question) => Item::Quiz(Quiz { id, question: question.clone() }),
    }
}

/// The words of a run of text.
pub fn plain(text: &[Inline]) -> String {
    text.iter()
        .map(|inline| match inline {
            Inline::Text(text) | Inline::Code(text) | Inline::Image { alt: text, .. } => text.clone(),
            Inline::Emphasis(inner) | Inline::Strong(inner) | Inline::Strike(inner) => plain(inner),
            Inline::Link { text, .. } => plain(text),
            Inline::Break => " ".into(),
        })
        .collect()
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
        for (name, source) in lesson::BUILT_IN {
            let parsed = lesson::parse(name, source.as_bytes()).unwrap();
            let document = Document::lesson(&parsed);
            let elements = parsed.steps.iter().filter(|step| step.element.is_some()).count();
            let shown = document.steps.iter().map(|s| shape(s).replace('t', "").len()).sum::<usize>();
            assert_eq!(shown, elements, "{name}");
            assert!(document.steps.len() > 2 && document.steps.iter().all(|s| !s.title.is_empty()), "{name}");
            let setups = parsed.steps.iter().map(|step| step.setup.len()).sum::<usize>();
            let items = document.steps.iter().flat_map(|step| &step.items);
            let kept = items.map(|item| if let Item::Cell(cell) = item { cell.setup.len() } else { 0 });
            assert_eq!(kept.sum::<usize>(), setups, "{name}");
        }
    }

    #[test]
    fn a_section_keeps_its_order_and_set_up_goes_to_the_next_cell() {
        let source = "+++\nid = \"x\"\ntitle = \"X\"\nsummary = \"s\"\nconcepts = [\"c\"]\nminutes = 1\n\
            devices = [\"cpu\"]\n+++\n\nIntro.\n\n# One\n\na\n\n\
            ```rhai hidden\nlet h = 1;\n```\n\n```rhai run\nlet a = 1;\n```\n\nb\n\n### Deeper\n\n## Two\n\nc\n";
        let parsed = lesson::parse("x.md", source.as_bytes()).unwrap();
        let document = Document::lesson(&parsed);
        let shapes: Vec<(String, String)> =
            document.steps.iter().map(|step| (step.title.clone(), shape(step))).collect();
        let want = [("", "t"), ("One", "tct"), ("Two", "t")];
        assert_eq!(shapes, want.map(|(title, shape)| (title.to_owned(), shape.to_owned())));
        let Item::Cell(cell) = &document.steps[1].items[1] else { panic!() };
        assert_eq!(cell.setup[0].text.trim(), "let h = 1;");
    }
}
