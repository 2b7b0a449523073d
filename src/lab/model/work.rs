//! What the session is asked: the cells that wait, the one that runs, and where the session stands in a lesson.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::lab::model::item::Status;
use crate::lab::model::key::Key;
use crate::lesson::Lesson;
use crate::lesson::attempt::{Attempt, Passed, Standing};

/// The heading of the page that every lesson ends with.
pub(crate) const LAST_PAGE: &str = "How far you are";

/// What the session was asked and has not yet answered.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Cells that wait for their turn, with what they were before.
    pub queue: VecDeque<(Key, Status)>,
    pub current: Option<Current>,
    /// Requests beside the running cell.
    pub pending: HashMap<u64, Pending>,
    pub next_id: u64,
    /// The number of the cell that ran last.
    pub executions: u32,
    pub interrupted_at: Option<Duration>,
}

/// The cell that runs.
#[derive(Debug)]
pub(crate) struct Current {
    pub key: Key,
    pub number: u32,
    pub attempt: Attempt,
}

/// The lesson that is open, and how far the session is in it.
#[derive(Debug)]
pub(crate) struct LessonState {
    pub lesson: Arc<Lesson>,
    pub standing: Standing,
    /// What passed, by the ids of the steps.
    pub passed: Passed,
    /// What the session's devices lack for it.
    pub lacks: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pending {
    Inspect,
    /// A memory snapshot that the session writes.
    Snapshot,
}
