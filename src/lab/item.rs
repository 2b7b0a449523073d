//! Items of a step as they are worked on: cells, predictions and quizzes with what became of them.

use std::time::Duration;

use super::document::{Block, Cell, Exercise, Item, Predict, Quiz, Role};
use super::editor::Editor;
use super::laid::{Layout, Memo};
use super::output::Output;
use super::text;
use crate::session::protocol::{ProbeValue, Usage, Verdict};

/// Names an item for as long as the lab runs, wherever it moves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Key(pub(super) u64);

#[derive(Debug)]
pub enum ItemState {
    Text(Vec<Block>),
    Cell(Box<CellState>),
    Predict(PredictState),
    Quiz(QuizState),
}

/// How far a cell has come.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Status {
    Idle,
    Queued,
    /// Since when, on the lab's clock.
    Running {
        since: Duration,
    },
    Ok,
    Failed,
    Interrupted,
    TimedOut {
        seconds: f64,
    },
    /// The session died while it ran.
    Lost,
}

#[derive(Debug)]
pub struct CellState {
    pub key: Key,
    pub id: String,
    pub role: Role,
    /// Added by the learner, who may take it away again.
    pub own: bool,
    pub editor: Editor,
    /// The text was changed since it was last saved.
    pub unsaved: bool,
    /// The text was changed since it last ran.
    pub edited: bool,
    /// The number it ran with last, `n` in `In [n]`.
    pub number: Option<u32>,
    /// It ran in a session that is no more.
    pub earlier: bool,
    pub status: Status,
    pub output: Output,
    /// All of the output is shown.
    pub expanded: bool,
    pub progress: Vec<Progress>,
    pub fault_line: Option<u32>,
    pub usage: Option<Usage>,
    pub check: Check,
    pub hints_shown: usize,
    pub laid: Memo<Layout>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Progress {
    pub label: String,
    pub done: u64,
    pub total: Option<u64>,
    pub note: String,
}

/// What became of an exercise's check.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Check {
    #[default]
    Open,
    Running,
    Done(Verdict),
    /// Interrupted, or the session died.
    Cut,
}

#[derive(Debug)]
pub struct PredictState {
    pub key: Key,
    pub spec: Predict,
    pub input: String,
    pub guess: Guess,
    /// The measured answer, or why there is none.
    pub measured: Option<Result<ProbeValue, String>>,
    /// The answer is a time of a virtual clock.
    pub modelled: bool,
    pub laid: Memo<Layout>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Guess {
    Open,
    Made(f64),
    Skipped,
}

#[derive(Debug)]
pub struct QuizState {
    pub key: Key,
    pub spec: Quiz,
    /// Choices tried, in order.
    pub tried: Vec<usize>,
    pub laid: Memo<Layout>,
}

impl ItemState {
    pub(super) fn new(key: Key, item: Item) -> ItemState {
        match item {
            Item::Text(blocks) => ItemState::Text(blocks),
            Item::Cell(cell) => ItemState::Cell(Box::new(CellState::new(key, cell))),
            Item::Predict(mut spec) => {
                spec.ask = text::clean_line(&spec.ask);
                spec.unit = text::clean_line(&spec.unit);
                spec.explain = text::clean_line(&spec.explain);
                ItemState::Predict(PredictState {
                    key,
                    spec,
                    input: String::new(),
                    guess: Guess::Open,
                    measured: None,
                    modelled: false,
                    laid: Memo::default(),
                })
            }
            Item::Quiz(mut spec) => {
                spec.ask = text::clean_line(&spec.ask);
                for choice in &mut spec.choices {
                    choice.text = text::clean_line(&choice.text);
                    choice.explain = text::clean_line(&choice.explain);
                }
                ItemState::Quiz(QuizState { key, spec, tried: Vec::new(), laid: Memo::default() })
            }
        }
    }

    /// The item as a document holds it, with the learner's text.
    pub(super) fn to_item(&self) -> Item {
        match self {
            ItemState::Text(blocks) => Item::Text(blocks.clone()),
            ItemState::Cell(cell) => {
                Item::Cell(Cell { id: cell.id.clone(), code: cell.editor.text(), role: cell.role.clone() })
            }
            ItemState::Predict(predict) => Item::Predict(predict.spec.clone()),
            ItemState::Quiz(quiz) => Item::Quiz(quiz.spec.clone()),
        }
    }

    /// `None` for text.
    pub fn key(&self) -> Option<Key> {
        match self {
            ItemState::Text(_) => None,
            ItemState::Cell(cell) => Some(cell.key),
            ItemState::Predict(predict) => Some(predict.key),
            ItemState::Quiz(quiz) => Some(quiz.key),
        }
    }

    /// True for what stands in the cells panel and can be selected.
    pub fn is_selectable(&self) -> bool {
        match self {
            ItemState::Text(_) => false,
            ItemState::Cell(cell) => !cell.is_hidden(),
            ItemState::Predict(_) | ItemState::Quiz(_) => true,
        }
    }
}

impl CellState {
    pub(super) fn new(key: Key, cell: Cell) -> CellState {
        CellState {
            key,
            id: cell.id,
            role: cell.role,
            own: false,
            editor: Editor::new(&cell.code),
            unsaved: false,
            edited: false,
            number: None,
            earlier: false,
            status: Status::Idle,
            output: Output::default(),
            expanded: false,
            progress: Vec::new(),
            fault_line: None,
            usage: None,
            check: Check::Open,
            hints_shown: 0,
            laid: Memo::default(),
        }
    }

    pub fn is_hidden(&self) -> bool {
        self.role == Role::Hidden
    }

    pub fn exercise(&self) -> Option<&Exercise> {
        match &self.role {
            Role::Exercise(exercise) => Some(exercise),
            Role::Run | Role::Hidden => None,
        }
    }

    /// Queued or running.
    pub fn is_busy(&self) -> bool {
        matches!(self.status, Status::Queued | Status::Running { .. })
    }

    /// The code was changed.
    pub(super) fn changed(&mut self) {
        self.unsaved = true;
        self.edited = self.status != Status::Idle;
        self.fault_line = None;
        self.laid.clear();
    }

    /// The cell begins to run as number `number`: what it showed before goes.
    pub(super) fn begin(&mut self, number: u32, now: Duration) {
        self.status = Status::Running { since: now };
        self.number = Some(number);
        self.earlier = false;
        self.edited = false;
        self.output = Output::default();
        self.expanded = false;
        self.progress.clear();
        self.fault_line = None;
        self.usage = None;
        self.check = Check::Open;
        self.laid.clear();
    }
}

impl PredictState {
    /// True while a learner still has to commit or skip.
    pub fn is_open(&self) -> bool {
        self.guess == Guess::Open
    }

    /// Whether the guess is within the tolerance of what was measured; `None` before both are there.
    pub fn is_right(&self) -> Option<bool> {
        let (Guess::Made(guess), Some(Ok(ProbeValue::Number(answer)))) = (self.guess, &self.measured) else {
            return None;
        };
        let slack = self.spec.tolerance.abs() * answer.abs();
        Some((guess - answer).abs() <= slack + 1e-9 * answer.abs())
    }

    /// The number typed, with `_`, `,` and, for bytes, a unit such as `MiB` understood.
    pub fn typed(&self) -> Option<f64> {
        let text: String = self.input.chars().filter(|c| !matches!(c, ',' | '_' | ' ')).collect();
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let (digits, suffix) = match text.strip_prefix(digits) {
            // An exponent's `e` is no unit.
            Some(suffix) if !digits.is_empty() => (digits, suffix),
            _ => (text.as_str(), ""),
        };
        let factor = if suffix.is_empty() { 1.0 } else { self.factor(suffix)? };
        let value = digits.parse::<f64>().ok()? * factor;
        value.is_finite().then_some(value)
    }

    fn factor(&self, suffix: &str) -> Option<f64> {
        if suffix.eq_ignore_ascii_case(&self.spec.unit) {
            return Some(1.0);
        }
        if !matches!(self.spec.unit.as_str(), "bytes" | "byte" | "B") {
            return None;
        }
        Some(match suffix.to_ascii_lowercase().as_str() {
            "b" | "byte" | "bytes" => 1.0,
            "kb" => 1e3,
            "mb" => 1e6,
            "gb" => 1e9,
            "kib" => 1024.0,
            "mib" => 1_048_576.0,
            "gib" => 1_073_741_824.0,
            _ => return None,
        })
    }

    /// True for a unit of time.
    pub fn asks_time(&self) -> bool {
        matches!(self.spec.unit.as_str(), "ns" | "µs" | "us" | "ms" | "s" | "seconds" | "milliseconds")
    }
}

impl QuizState {
    /// The right choice was found.
    pub fn is_solved(&self) -> bool {
        self.tried.iter().any(|i| self.spec.choices.get(*i).is_some_and(|choice| choice.right))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn predict(unit: &str, input: &str) -> PredictState {
        let spec = Predict { unit: unit.into(), tolerance: 0.1, ..Predict::default() };
        let ItemState::Predict(mut state) = ItemState::new(Key(1), Item::Predict(spec)) else { panic!() };
        state.input = input.into();
        state
    }

    #[test]
    fn numbers_are_read_as_people_write_them() {
        let cases = [("4,194,304", 4_194_304.0), ("4 MiB", 4_194_304.0), ("1e6", 1e6), ("2.5kb", 2500.0)];
        for (input, value) in cases {
            assert_eq!(predict("bytes", input).typed(), Some(value), "{input}");
        }
        for input in ["", "x", "4 apples", "1e999", "nan", "inf", "MiB"] {
            assert_eq!(predict("bytes", input).typed(), None, "{input}");
        }
        assert_eq!(predict("copies", "3 copies").typed(), Some(3.0));
        assert_eq!(predict("copies", "3 MiB").typed(), None);
    }

    #[test]
    fn a_guess_is_right_within_its_tolerance() {
        let mut state = predict("ms", "");
        state.guess = Guess::Made(95.0);
        assert_eq!(state.is_right(), None);
        state.measured = Some(Ok(ProbeValue::Number(100.0)));
        assert_eq!(state.is_right(), Some(true));
        state.guess = Guess::Made(80.0);
        assert_eq!(state.is_right(), Some(false));
    }
}
