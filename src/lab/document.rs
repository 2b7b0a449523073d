//! What the lab shows: steps of text, cells, predictions and quizzes. A notebook is one step of cells.

/// A lesson or a notebook, as the lab takes it and gives it back.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Document {
    pub title: String,
    pub steps: Vec<Step>,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Step {
    pub id: String,
    pub title: String,
    pub items: Vec<Item>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Item {
    Text(Vec<Block>),
    Cell(Cell),
    Predict(Predict),
    Quiz(Quiz),
}

/// Code to run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Cell {
    pub id: String,
    pub code: String,
    pub role: Role,
}

/// What a cell is for.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Role {
    /// Runs as it stands; a learner may change it.
    #[default]
    Run,
    /// Set-up that runs unseen before the first cell after it.
    Hidden,
    Exercise(Exercise),
}

/// What turns a cell into an exercise. `check` runs after the cell, as a [`Request::Check`].
///
/// [`Request::Check`]: crate::session::protocol::Request::Check
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Exercise {
    pub points: u32,
    pub check: String,
    /// The check's first line in the lesson's file.
    pub check_line: u32,
    /// Shown one after the other, on request.
    pub hints: Vec<String>,
}

/// A question whose answer is measured after the next cell has run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Predict {
    pub id: String,
    pub ask: String,
    pub unit: String,
    /// The expression that gives the answer, for a probe.
    pub answer: String,
    /// How far off counts as right, as a share of the answer.
    pub tolerance: f64,
    pub explain: String,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Quiz {
    pub id: String,
    pub ask: String,
    pub choices: Vec<Choice>,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Choice {
    pub text: String,
    pub right: bool,
    pub explain: String,
}

/// A block of a lesson's text.
#[derive(Clone, PartialEq, Debug)]
pub enum Block {
    Heading {
        level: u8,
        text: Vec<Inline>,
    },
    Paragraph(Vec<Inline>),
    /// Numbered from `start`, or with bullets.
    List {
        start: Option<u64>,
        items: Vec<Vec<Block>>,
    },
    Quote(Vec<Block>),
    Code {
        language: String,
        text: String,
    },
    Table {
        header: Vec<Vec<Inline>>,
        rows: Vec<Vec<Vec<Inline>>>,
    },
    Rule,
}

/// A run of text of one kind.
#[derive(Clone, PartialEq, Debug)]
pub struct Inline {
    pub text: String,
    pub kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Plain,
    Strong,
    Emphasis,
    Code,
    Link,
}

impl Document {
    /// A notebook without text: one step of cells, or one empty cell.
    pub fn notebook(title: impl Into<String>, cells: impl IntoIterator<Item = String>) -> Document {
        let mut items: Vec<Item> = cells
            .into_iter()
            .enumerate()
            .map(|(i, code)| Item::Cell(Cell { id: format!("cell-{}", i + 1), code, role: Role::Run }))
            .collect();
        if items.is_empty() {
            items.push(Item::Cell(Cell::default()));
        }
        Document { title: title.into(), steps: vec![Step { items, ..Step::default() }] }
    }

    /// True where there is text to read beside the cells.
    pub fn has_text(&self) -> bool {
        self.steps.iter().flat_map(|step| &step.items).any(|item| matches!(item, Item::Text(_)))
    }
}

impl Inline {
    pub fn plain(text: impl Into<String>) -> Inline {
        Inline { text: text.into(), kind: Kind::Plain }
    }

    pub fn code(text: impl Into<String>) -> Inline {
        Inline { text: text.into(), kind: Kind::Code }
    }
}

impl Block {
    /// A paragraph of plain text.
    pub fn paragraph(text: impl Into<String>) -> Block {
        Block::Paragraph(vec![Inline::plain(text)])
    }
}
