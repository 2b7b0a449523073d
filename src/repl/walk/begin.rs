//! Where a walk through a lesson begins, and how.

use crate::lesson::memory::Remembered;
use crate::lesson::{LessonMemory, Step};

/// How a walk begins.
pub(crate) struct WalkBegin<'w> {
    /// The id of the first step that is shown.
    pub from: Option<&'w str>,
    /// What the order of answers is drawn from.
    pub seed: u64,
    /// ASCII characters only.
    pub ascii: bool,
}

/// The step where a walk begins, and what is said of those before: the one where it was left off, or else the first that
/// is open, as one that was passed over is.
pub(super) fn begins_at(
    steps: &[Step],
    memory: &LessonMemory,
    from: Option<&str>,
) -> (usize, Option<String>) {
    if !steps.iter().any(|step| memory.step(&step.id).is_some()) {
        return (0, None);
    }
    let is_done = |step: &&Step| memory.step(&step.id).is_some_and(Remembered::is_done);
    let done = steps.iter().filter(is_done).count();
    let left_off = from.and_then(|id| steps.iter().position(|step| step.id == id));
    let open = steps.iter().position(|step| step.element.is_some() && !is_done(&step));
    match (left_off, open) {
        (Some(first), _) => (first, Some(format!("You have done {done} of them; here you left off."))),
        (None, Some(first)) => {
            let told = format!("You have done {done} of them; here is the first that you passed over.");
            (first, Some(told))
        }
        (None, None) => {
            (0, Some("You have done all of them, and that stays; here is the first step again.".into()))
        }
    }
}
