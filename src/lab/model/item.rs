//! Items of a step as they are worked on: cells, predictions and quizzes with what became of them.

use std::time::Duration;

use crate::base::event::Clock;
use crate::lab::model::document::{Cell, Item, PastPrediction, Predict, Quiz, Stored};
use crate::lab::model::editor::Editor;
use crate::lab::model::key::Key;
use crate::lab::model::laid::{Layout, Memo};
use crate::lab::model::output::{LONG, Output};
use crate::lesson::attempt::Replay;
use crate::lesson::markdown::Block;
use crate::lesson::order::order;
use crate::lesson::{Answer, Basis, Exercise, Quantity};
use crate::notebook::hash::Hash;
use crate::notebook::{self, Kind, Recorder, record};
use crate::script::whole::Wholeness;
use crate::session::protocol::{ProbeValue, Usage, Verdict};

#[derive(Debug)]
pub(crate) enum ItemState {
    Text(Vec<Block>),
    Cell(Box<CellState>),
    Predict(Box<PredictState>),
    Quiz(QuizState),
}

/// How far a cell has come.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Status {
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
        /// None where an earlier session's is shown.
        seconds: Option<f64>,
    },
    /// It showed more than it may.
    Flooded,
    /// The session died while it ran.
    Lost,
}

#[derive(Debug)]
pub(crate) struct CellState {
    pub key: Key,
    pub id: String,
    /// The place in its lesson of the step that it is.
    pub step: Option<usize>,
    pub exercise: Option<Exercise>,
    /// Added by the learner, who may take it away again.
    pub own: bool,
    pub editor: Editor,
    /// It is text in Markdown, not code.
    pub markdown: bool,
    /// Of such text: it is shown as it is written.
    pub raw: bool,
    /// Markdown is shown as it will be read, not as it is written.
    pub rendered: bool,
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
    /// How much of what comes before it has been run again.
    pub replay: Option<Replay>,
    pub fault_line: Option<u32>,
    pub usage: Option<Usage>,
    pub check: Check,
    pub hints_shown: usize,
    pub solution_shown: bool,
    /// The exercise was passed over.
    pub skipped: bool,
    /// What the lesson asks for here was done once, whatever was tried since.
    pub done: bool,
    /// What the run that is shown gave, as a notebook keeps it.
    pub outputs: Vec<notebook::Output>,
    pub recorder: Recorder,
    /// The content that ran.
    pub ran: Option<Hash>,
    /// What is shown was read from the notebook's file.
    pub from_file: bool,
    /// Why what is shown would not be shown again.
    pub stale: Option<String>,
    /// How the outputs held when all was run anew.
    pub verified: Option<Verified>,
    /// Counts the changes of the text.
    pub version: u64,
    pub laid: Memo<Layout>,
    /// Whether the code is whole.
    pub whole: Memo<Wholeness>,
}

/// How a cell's outputs held against those of a new run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Verified {
    Same,
    /// The first lines that differ.
    Differs(Vec<notebook::verify::Line>),
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Progress {
    pub label: String,
    pub done: u64,
    pub total: Option<u64>,
    pub note: String,
}

/// What became of an exercise's check.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) enum Check {
    #[default]
    Open,
    Running,
    Done(Verdict),
    /// Interrupted, or the session died.
    Cut,
}

#[derive(Debug)]
pub(crate) struct PredictState {
    pub key: Key,
    pub id: String,
    pub question: crate::lesson::Predict,
    pub input: String,
    /// Why what was typed is no answer; the next character begins anew.
    pub refused: Option<String>,
    pub guess: Guess,
    /// What was measured, or why nothing was.
    pub answer: Option<Result<Answer, String>>,
    pub laid: Memo<Layout>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Guess {
    Open,
    Made(Quantity),
    Skipped,
}

#[derive(Debug)]
pub(crate) struct QuizState {
    pub key: Key,
    pub id: String,
    pub question: crate::lesson::Quiz,
    /// The places of its choices in the file, in the order in which they are shown.
    pub order: Vec<usize>,
    /// Choices taken now, by their places in the file, as all that is kept of them.
    pub taken: Vec<usize>,
    /// Choices that have been tried; their explanations are shown.
    pub tried: Vec<usize>,
    /// All of the last attempt was right, and more is.
    pub lacks_some: bool,
    pub attempts: u32,
    pub solved: bool,
    /// It was passed over.
    pub skipped: bool,
    /// The attempts before it was, as far as is known.
    pub attempts_before: u32,
    pub laid: Memo<Layout>,
}

impl ItemState {
    pub(in crate::lab) fn new(key: Key, item: Item) -> ItemState {
        let laid = Memo::default();
        match item {
            Item::Text(blocks) => ItemState::Text(blocks),
            Item::Cell(cell) => ItemState::Cell(Box::new(CellState::new(key, *cell))),
            Item::Predict(predict) => {
                let Predict { id, question, past } = *predict;
                let (input, guess, answer) = (String::new(), Guess::Open, None);
                let refused = None;
                let mut state = PredictState { key, id, question, input, refused, guess, answer, laid };
                state.recall(past);
                ItemState::Predict(Box::new(state))
            }
            Item::Quiz(Quiz { id, question, tries, skipped }) => {
                let (taken, tried) = (Vec::new(), Vec::new());
                let (attempts, solved, lacks_some) = (0, false, false);
                let order = order(question.choices.len(), &id, 0);
                let mut state = QuizState {
                    key,
                    id,
                    question,
                    order,
                    taken,
                    tried,
                    lacks_some,
                    attempts,
                    solved,
                    skipped,
                    attempts_before: 0,
                    laid,
                };
                tries.into_iter().for_each(|taken| state.recall(taken));
                state.attempts_before = state.attempts;
                ItemState::Quiz(state)
            }
        }
    }

    /// The item as a document holds it, with the learner's text.
    pub(in crate::lab) fn to_item(&self) -> Item {
        match self {
            ItemState::Text(blocks) => Item::Text(blocks.clone()),
            ItemState::Cell(cell) => Item::Cell(Box::new(cell.to_cell())),
            ItemState::Predict(predict) => {
                let (id, question, past) = (predict.id.clone(), predict.question.clone(), predict.past());
                Item::Predict(Box::new(Predict { id, question, past }))
            }
            ItemState::Quiz(quiz) => {
                let (id, question) = (quiz.id.clone(), quiz.question.clone());
                Item::Quiz(Quiz { id, question, tries: Vec::new(), skipped: quiz.skipped })
            }
        }
    }

    /// Shows the choices of a quiz in an order of their own.
    pub(in crate::lab) fn shuffle(&mut self, seed: u64) {
        if let ItemState::Quiz(quiz) = self {
            quiz.shuffle(seed);
        }
    }

    /// `None` for text.
    pub(crate) fn key(&self) -> Option<Key> {
        match self {
            ItemState::Text(_) => None,
            ItemState::Cell(cell) => Some(cell.key),
            ItemState::Predict(predict) => Some(predict.key),
            ItemState::Quiz(quiz) => Some(quiz.key),
        }
    }

    /// Its id; `None` for text.
    pub(crate) fn id(&self) -> Option<&str> {
        match self {
            ItemState::Text(_) => None,
            ItemState::Cell(cell) => Some(&cell.id),
            ItemState::Predict(predict) => Some(&predict.id),
            ItemState::Quiz(quiz) => Some(&quiz.id),
        }
    }

    /// It is a cell that the learner has added.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self, ItemState::Cell(cell) if cell.own)
    }

    /// Whether what a lesson asks for here is done; `None` for what it does not ask for.
    pub(crate) fn is_done(&self) -> Option<bool> {
        match self {
            ItemState::Text(_) => None,
            ItemState::Cell(cell) if cell.own => None,
            ItemState::Cell(cell) => Some(cell.done),
            ItemState::Predict(predict) => {
                Some(predict.is_settled() && matches!(predict.guess, Guess::Made(_)))
            }
            ItemState::Quiz(quiz) => Some(quiz.solved),
        }
    }

    /// It was passed over, and not done since.
    pub(crate) fn is_passed_over(&self) -> bool {
        match self {
            ItemState::Text(_) => false,
            ItemState::Cell(cell) => cell.is_passed_over(),
            ItemState::Predict(predict) => predict.guess == Guess::Skipped,
            ItemState::Quiz(quiz) => quiz.skipped && !quiz.solved,
        }
    }

    /// It asks for something that is not given yet, and can be passed over.
    pub(crate) fn can_be_skipped(&self) -> bool {
        match self {
            ItemState::Text(_) => false,
            ItemState::Cell(cell) => cell.exercise.is_some() && !cell.done,
            ItemState::Predict(predict) => predict.is_open(),
            ItemState::Quiz(quiz) => !quiz.solved,
        }
    }

    /// True for what stands in the cells panel and can be selected.
    pub(crate) fn is_selectable(&self) -> bool {
        !matches!(self, ItemState::Text(_))
    }
}

impl CellState {
    pub(in crate::lab) fn new(key: Key, cell: Cell) -> CellState {
        let mut state = CellState {
            key,
            id: cell.id,
            step: cell.step,
            exercise: cell.exercise,
            own: cell.own,
            editor: Editor::new(&cell.code),
            markdown: cell.markdown,
            raw: cell.raw,
            rendered: cell.markdown && !cell.code.trim().is_empty(),
            unsaved: false,
            edited: false,
            number: None,
            earlier: false,
            status: Status::Idle,
            output: Output::default(),
            expanded: false,
            progress: Vec::new(),
            replay: None,
            fault_line: None,
            usage: None,
            check: cell.verdict.map_or(Check::Open, Check::Done),
            hints_shown: cell.hints,
            solution_shown: cell.solution,
            skipped: cell.skipped,
            done: cell.done,
            outputs: Vec::new(),
            recorder: Recorder::default(),
            ran: None,
            from_file: false,
            stale: None,
            verified: None,
            version: 0,
            laid: Memo::default(),
            whole: Memo::default(),
        };
        if let Some(stored) = cell.stored {
            state.load(*stored);
        }
        state
    }

    /// Shows what an earlier session gave.
    fn load(&mut self, stored: Stored) {
        let ended = stored.outputs.iter().rev().find_map(notebook::Output::error_name);
        self.status = match ended {
            None => Status::Ok,
            Some(record::INTERRUPTED) => Status::Interrupted,
            Some(record::FLOODED) => Status::Flooded,
            Some(record::TIMED_OUT) => Status::TimedOut { seconds: None },
            Some(record::LOST) => Status::Lost,
            Some(_) => Status::Failed,
        };
        // It was not judged, whatever was said of an earlier one.
        if self.exercise.is_some() && self.status == Status::Interrupted {
            self.check = Check::Cut;
        }
        (self.from_file, self.earlier) = (true, true);
        self.number = stored.count.and_then(|n| u32::try_from(n).ok());
        self.output = Output::of(&stored.outputs);
        (self.outputs, self.ran, self.usage) = (stored.outputs, stored.ran, stored.usage);
        self.edited = self.ran.is_some_and(|ran| ran != self.hash());
    }

    /// The cell as a document holds it.
    pub(in crate::lab) fn to_cell(&self) -> Cell {
        Cell {
            id: self.id.clone(),
            code: self.editor.text(),
            step: self.step,
            exercise: self.exercise.clone(),
            own: self.own,
            verdict: match &self.check {
                Check::Done(verdict) => Some(verdict.clone()),
                Check::Open | Check::Running | Check::Cut => None,
            },
            hints: self.hints_shown,
            solution: self.solution_shown,
            skipped: self.skipped,
            done: self.done,
            markdown: self.markdown,
            raw: self.raw,
            stored: self.ran.map(|_| Box::new(self.stored())),
        }
    }

    /// The exercise was passed over, and not solved since.
    pub(crate) fn is_passed_over(&self) -> bool {
        self.skipped && !self.done
    }

    /// What is shown is of code that ran to its end, or to its error.
    pub(crate) fn has_ended(&self) -> bool {
        self.usage.is_some()
    }

    /// It becomes a cell that never ran.
    pub(in crate::lab) fn forget_run(&mut self) {
        (self.status, self.number, self.ran, self.usage) = (Status::Idle, None, None, None);
        (self.earlier, self.from_file, self.edited) = (false, false, false);
        self.output = Output::default();
        self.outputs.clear();
        (self.stale, self.verified, self.fault_line) = (None, None, None);
    }

    /// What the last run gave, for the notebook's file.
    pub(in crate::lab) fn stored(&self) -> Stored {
        Stored {
            outputs: self.outputs.clone(),
            ran: self.ran,
            count: self.number.map(u64::from),
            usage: self.usage.clone(),
        }
    }

    /// The hash of the cell as it is now.
    pub(in crate::lab) fn hash(&self) -> Hash {
        Kind::of_text(self.markdown, self.raw).hash(&self.editor.text())
    }

    /// Queued or running.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self.status, Status::Queued | Status::Running { .. })
    }

    /// The code was changed.
    pub(in crate::lab) fn changed(&mut self) {
        self.unsaved = true;
        // With each letter it would be laid out anew.
        self.expanded &= self.output.total() <= LONG;
        self.version += 1;
        self.edited = self.status != Status::Idle;
        self.fault_line = None;
        self.laid.clear();
        self.whole.clear();
    }

    /// Another text, which typing did not make: what was typed before can't be undone.
    pub(in crate::lab) fn set_text(&mut self, text: &str) {
        self.editor = Editor::new(text);
        self.rendered = self.markdown && !text.trim().is_empty();
        self.changed();
        self.edited = self.ran.is_some_and(|ran| ran != self.hash());
    }

    /// The cell begins to run as number `number`: what it showed before goes.
    pub(in crate::lab) fn begin(&mut self, number: u32, now: Duration) {
        self.status = Status::Running { since: now };
        self.number = Some(number);
        (self.earlier, self.from_file, self.edited) = (false, false, false);
        self.ran = Some(self.hash());
        self.outputs.clear();
        self.recorder = Recorder::default();
        (self.stale, self.verified) = (None, None);
        self.output = Output::default();
        self.expanded = false;
        self.progress.clear();
        self.replay = None;
        self.fault_line = None;
        self.usage = None;
        self.check = Check::Open;
        self.laid.clear();
    }
}

impl PredictState {
    /// True while a learner still has to commit or skip.
    pub(crate) fn is_open(&self) -> bool {
        self.guess == Guess::Open
    }

    /// What was said and told in an earlier session.
    fn recall(&mut self, past: PastPrediction) {
        let guess = past.typed.and_then(|typed| {
            let quantity = self.question.read(&typed).ok()?;
            self.input = typed;
            Some(quantity)
        });
        self.guess = match guess {
            Some(quantity) => Guess::Made(quantity),
            None if past.skipped || past.told.is_some() => Guess::Skipped,
            None => Guess::Open,
        };
        match (past.answer, past.told) {
            (Some((answer, modelled)), _) if self.guess != Guess::Open => {
                let basis = self.question.basis(modelled.then_some(Clock::Modelled), modelled);
                self.measured(ProbeValue::Number(answer), basis);
            }
            (_, Some(told)) => self.answer = Some(Ok(Answer::Told(told))),
            _ => {}
        }
    }

    fn past(&self) -> PastPrediction {
        PastPrediction {
            typed: matches!(self.guess, Guess::Made(_)).then(|| self.input.clone()),
            skipped: self.guess == Guess::Skipped,
            ..PastPrediction::default()
        }
    }

    /// The answer is there, and stays.
    pub(crate) fn is_settled(&self) -> bool {
        matches!(self.answer, Some(Ok(_)))
    }

    /// Whether the guess held; `None` before it was compared.
    pub(crate) fn is_hit(&self) -> Option<bool> {
        match &self.answer {
            Some(Ok(Answer::Compared(outcome))) => Some(outcome.hit),
            _ => None,
        }
    }

    /// Holds what was measured against the guess.
    pub(in crate::lab) fn measured(&mut self, value: ProbeValue, basis: Basis) {
        let guess = match &self.guess {
            Guess::Made(guess) => Some(guess),
            Guess::Open | Guess::Skipped => None,
        };
        self.answer = Some(Answer::to(&self.question, guess, &value, basis));
        self.laid.clear();
    }
}

impl QuizState {
    /// Choices that were taken in an earlier session.
    fn recall(&mut self, taken: Vec<usize>) {
        self.taken = taken;
        self.commit();
    }

    /// Shows the choices in a learner's own order.
    pub(in crate::lab) fn shuffle(&mut self, seed: u64) {
        self.order = order(self.question.choices.len(), &self.id, seed);
        self.laid.clear();
    }

    /// Takes or puts back a choice. Where only one is right, it counts at once; true where it does.
    pub(in crate::lab) fn take(&mut self, choice: usize) -> bool {
        if self.solved || choice >= self.question.choices.len() {
            return false;
        }
        self.laid.clear();
        if !self.question.takes_several() {
            if self.tried.contains(&choice) {
                return false;
            }
            self.taken = vec![choice];
            return self.commit();
        }
        match self.taken.iter().position(|taken| *taken == choice) {
            Some(at) => {
                self.taken.remove(at);
            }
            None => self.taken.push(choice),
        }
        false
    }

    /// Passes over it; whether it is for the first time.
    pub(in crate::lab) fn skip(&mut self) -> bool {
        self.attempts_before = self.attempts;
        self.laid.clear();
        !std::mem::replace(&mut self.skipped, true)
    }

    /// Whether it was passed over, and nothing was tried since.
    pub(in crate::lab) fn is_left(&self) -> bool {
        self.skipped && self.attempts == self.attempts_before
    }

    /// Counts what is taken as an attempt; false where nothing is.
    pub(in crate::lab) fn commit(&mut self) -> bool {
        if self.taken.is_empty() || self.solved {
            return false;
        }
        self.attempts = self.attempts.saturating_add(1);
        let new: Vec<usize> =
            self.taken.iter().copied().filter(|choice| !self.tried.contains(choice)).collect();
        self.tried.extend(new);
        self.solved = self.question.is_right(&self.taken);
        let right = |at: &usize| self.question.choices.get(*at).is_some_and(|choice| choice.correct);
        self.lacks_some = !self.solved && self.taken.iter().all(right);
        self.laid.clear();
        true
    }
}

#[cfg(test)]
mod tests;
