//! Where a walk through a lesson begins, and how; which steps it passes over as they are done.

use crate::base::figures::plural;
use crate::lesson::markdown::Block;
use crate::lesson::memory::Remembered;
use crate::lesson::{Element, LessonMemory, Step};

/// How a walk begins.
pub(crate) struct WalkBegin<'w> {
    /// The id of the first step that is shown.
    pub from: Option<&'w str>,
    /// What the order of answers is drawn from.
    pub seed: u64,
    /// ASCII characters only.
    pub ascii: bool,
}

/// The first step of a walk.
#[derive(Debug, PartialEq)]
pub(super) struct Beginning {
    pub place: usize,
    /// What is said of those before.
    pub so_far: Option<String>,
    /// Nothing is open: all of it is shown once more.
    pub again: bool,
}

/// Where a walk begins: where it was left off, or else at the first step that is open, as one that was passed over is.
pub(super) fn begins_at(steps: &[Step], memory: &LessonMemory, from: Option<&str>) -> Beginning {
    if !steps.iter().any(|step| memory.step(&step.id).is_some()) {
        return Beginning { place: 0, so_far: None, again: false };
    }
    let is_done = |step: &&Step| memory.step(&step.id).is_some_and(Remembered::is_done);
    let done = steps.iter().filter(is_done).count();
    let all = steps.iter().filter(|step| step.element.is_some()).count();
    let is_open = |step: &Step| step.element.is_some() && !is_over(step, memory);
    let left_off = from.and_then(|id| steps.iter().position(|step| step.id == id));
    // Behind what was passed over last.
    let is_skipped = |place: usize| {
        steps
            .get(place)
            .and_then(|step| memory.step(&step.id))
            .is_some_and(|known| known.skipped && !known.is_done())
    };
    let left_off = left_off.map(|place| place + usize::from(is_skipped(place)));
    let left_off = left_off.filter(|place| steps.iter().skip(*place).any(is_open));
    let (place, told) = match (left_off, steps.iter().position(is_open)) {
        (Some(place), _) => (place, format!("You have done {done} of them; you left off here.")),
        (None, Some(place)) => {
            (place, format!("You have done {done} of them; here is the first that you passed over."))
        }
        (None, None) if done == all => {
            (0, "You have done all of them, and that stays; here is the first step again.".into())
        }
        (None, None) => {
            let told =
                format!("You have done {done} of them, and the rest is told; here is the first step again.");
            (0, told)
        }
    };
    let again = !steps.iter().any(is_open);
    Beginning { place, so_far: Some(told), again }
}

/// Nothing more is to be done at a step: what it asks for is done, or its answer was told.
pub(super) fn is_over(step: &Step, memory: &LessonMemory) -> bool {
    memory.step(&step.id).is_some_and(|known| known.is_done() || known.told.is_some())
}

/// The texts of the section that a step goes on with, of those before it: none where it begins one itself.
pub(super) fn begun<'s>(before: &'s [Step], step: &Step) -> Vec<&'s [Block]> {
    let heading = |blocks: &[Block]| blocks.iter().rposition(|block| matches!(block, Block::Heading { .. }));
    if heading(&step.text).is_some() {
        return Vec::new();
    }
    let mut texts = Vec::new();
    for earlier in before.iter().rev() {
        let from = heading(&earlier.text);
        texts.push(earlier.text.get(from.unwrap_or(0)..).unwrap_or_default());
        if from.is_some() {
            break;
        }
    }
    texts.retain(|text| !text.is_empty());
    texts.reverse();
    texts
}

/// That these steps are passed over, in a line; none where there are none.
pub(super) fn passed_over(steps: &[&Step]) -> Option<String> {
    let count =
        |of: fn(&Element) -> bool| steps.iter().filter(|step| step.element.as_ref().is_some_and(of)).count();
    let kinds = [
        (count(|element| matches!(element, Element::Run(_))), "cell", "cells"),
        (count(|element| matches!(element, Element::Predict(_))), "prediction", "predictions"),
        (
            count(|element| matches!(element, Element::Quiz(_))),
            "question with choices",
            "questions with choices",
        ),
        (count(|element| matches!(element, Element::Exercise(_))), "exercise", "exercises"),
    ];
    let told = kinds.iter().filter(|(count, ..)| *count > 0);
    let told: Vec<String> = told.map(|(count, one, many)| plural(*count as u64, one, many)).collect();
    (!told.is_empty()).then(|| format!("(Done before, and passed over here: {}.)", told.join(", ")))
}
