//! How far one has come in a lesson: its last page, and the list of its steps.

use std::fmt::Write;

use crate::base::figures::plural;
use crate::lab::model::actions::Action;
use crate::lab::model::document::Document;
use crate::lab::model::item::{Guess, ItemState};
use crate::lab::model::screens::home::{HomeLesson, HomePack, SHOW};
use crate::lab::model::state::{State, StepState};
use crate::lab::model::theme::{Colour, Look};
use crate::lab::model::work::LAST_PAGE;
use crate::lesson::markdown::{self, Block};
use crate::lesson::{Lesson, LessonMemory};

/// What is done of a step, of how much.
pub(crate) fn done(step: &StepState) -> (usize, usize) {
    let asked = step.items.iter().filter_map(ItemState::is_done);
    asked.fold((0, 0), |(done, all), is| (done + usize::from(is), all + 1))
}

/// A word for each step of the list.
pub(crate) fn mark(step: &StepState) -> String {
    match done(step) {
        (_, 0) => String::new(),
        (done, all) if done == all => "✓ done".into(),
        (0, 1) if passes_over(step) => "○ passed over".into(),
        (done, all) if passes_over(step) => format!("{done} of {all}, others passed over"),
        (0, 1) => "○ open".into(),
        (done, all) => format!("{done} of {all}"),
    }
}

/// All that is not done of a step was passed over.
fn passes_over(step: &StepState) -> bool {
    let mut open = step.items.iter().filter(|item| item.is_done() == Some(false));
    open.all(ItemState::is_passed_over)
}

/// The last page: the score, what is open, and what comes next.
pub(crate) fn page(state: &State) -> Vec<Block> {
    let text = format!("# {LAST_PAGE}\n\n{}\n\n## What comes next\n\n{}", score(state), next(state));
    markdown::parse(&text)
}

/// The same of a lesson that is gone through elsewhere; what comes next is said by whoever knows how one gets there.
pub(crate) fn how_far(lesson: &Lesson, memory: &LessonMemory, next: &str) -> Vec<Block> {
    let look = Look { colour: Colour::None, light: false, ascii: false };
    let state = State::new(Document::lesson(lesson).recalling(memory), look);
    markdown::parse(&format!("{}\n\n## What comes next\n\n{}", score(&state), escaped(next)))
}

/// What is done, and what is open.
fn score(state: &State) -> String {
    let steps = state.steps.split_last().map_or(&[][..], |(_, steps)| steps);
    let (done, all) = steps.iter().map(self::done).fold((0, 0), |(d, a), (done, all)| (d + done, a + all));
    let mut text = format!("**{done} of {}** done", plural(all as u64, "thing", "things"));
    let points = points(steps);
    if points.1 > 0 {
        let _ = write!(text, ", **{} of {}**", points.0, plural(u64::from(points.1), "point", "points"));
    }
    let _ = write!(text, ".{}", answers(steps));
    let open: Vec<String> = steps.iter().enumerate().filter_map(|(n, step)| open_of(n, step)).collect();
    if open.is_empty() {
        text.push_str("\n\nNothing is open.");
    } else {
        let _ = write!(text, "\n\n## Still open\n\n{}", open.join("\n"));
    }
    text
}

/// Points of the exercises that passed, and of all.
fn points(steps: &[StepState]) -> (u32, u32) {
    let exercises = steps.iter().flat_map(|step| &step.items).filter_map(|item| match item {
        ItemState::Cell(cell) => cell.exercise.as_ref().map(|exercise| (cell, exercise.points)),
        _ => None,
    });
    exercises
        .fold((0, 0), |(won, all), (cell, points)| (won + if cell.done { points } else { 0 }, all + points))
}

/// How predictions went, and exercises of which the solution was seen.
fn answers(steps: &[StepState]) -> String {
    let items = || steps.iter().flat_map(|step| &step.items);
    let made = items().filter_map(|item| match item {
        ItemState::Predict(predict) if matches!(predict.guess, Guess::Made(_)) => predict.is_hit(),
        _ => None,
    });
    let (right, all) = made.fold((0u64, 0u64), |(right, all), hit| (right + u64::from(hit), all + 1));
    let seen =
        items().filter(|item| matches!(item, ItemState::Cell(cell) if cell.solution_shown)).count() as u64;
    let mut text = String::new();
    if all > 0 {
        let _ = write!(text, " Of {}, {right} held.", plural(all, "prediction", "predictions"));
    }
    if seen > 0 {
        let _ = write!(text, " You looked at {}.", plural(seen, "solution", "solutions"));
    }
    text
}

/// What is open in a step, as an item of a list.
fn open_of(number: usize, step: &StepState) -> Option<String> {
    let what = |item: &ItemState| match item {
        ItemState::Predict(_) => ("a prediction", "predictions"),
        ItemState::Quiz(_) => ("a quiz", "quizzes"),
        ItemState::Cell(cell) if cell.exercise.is_some() => ("an exercise", "exercises"),
        _ => ("a cell", "cells"),
    };
    // Those of a kind are counted together, where the first of them stands.
    let mut open: Vec<((&str, &str), bool, usize)> = Vec::new();
    for item in step.items.iter().filter(|item| item.is_done() == Some(false)) {
        let (what, over) = (what(item), item.is_passed_over());
        match open.iter_mut().find(|(known, known_over, _)| (*known, *known_over) == (what, over)) {
            Some((.., count)) => *count += 1,
            None => open.push((what, over, 1)),
        }
    }
    let told = open.iter().map(|((one, many), over, count)| {
        let what = if *count == 1 { (*one).to_owned() } else { format!("{count} {many}") };
        format!("{what}{}", if *over { " (passed over)" } else { "" })
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| {
        let colon = if step.title.ends_with(['?', '!']) { "" } else { ":" };
        format!("- step {}, {}{colon} {}", number + 1, escaped(&step.title), told.join(", "))
    })
}

/// The lesson behind the open one in its pack, and that pack.
pub(crate) fn lesson_behind(state: &State) -> Option<(&HomePack, &HomeLesson)> {
    let pack = pack_of(state)?;
    let at = pack.lessons.iter().position(|lesson| lesson.id == id_of(state))?;
    Some((pack, pack.lessons.get(at + 1)?))
}

fn id_of(state: &State) -> &str {
    state.lesson.as_ref().map(|open| open.lesson.front.id.as_str()).unwrap_or_default()
}

/// The pack that has the open lesson.
fn pack_of(state: &State) -> Option<&HomePack> {
    let id = id_of(state);
    state.held.home.listing.packs.iter().find(|pack| pack.lessons.iter().any(|lesson| lesson.id == id))
}

fn next(state: &State) -> String {
    let pack = pack_of(state);
    let keys = [Action::NextStep, Action::PreviousStep, Action::Own(SHOW)];
    let [onward, back, home] = keys.map(|action| escaped(&state.keymap.name_of(action)));
    match (lesson_behind(state), open_elsewhere(&state.held.home.listing.packs, id_of(state))) {
        (Some((_, lesson)), _) => {
            let (title, summary) = (escaped(&lesson.title), escaped(&lesson.summary));
            format!("{title}: {summary} {onward} opens it, and {home} the home screen.")
        }
        (None, Some((of, lesson))) => {
            let [this, title, of] =
                [pack.map_or("its pack", |pack| &pack.title), lesson.title.as_str(), of.title.as_str()]
                    .map(escaped);
            format!(
                "This is the last lesson of {this}. {title} of {of} is not done yet: {home} opens the home screen."
            )
        }
        (None, None) => format!(
            "This is the last lesson there is. {back} leads back, and a notebook of your own waits on the home screen \
             ({home})."
        ),
    }
}

/// The first lesson, other than this one, that is not done.
fn open_elsewhere<'a>(packs: &'a [HomePack], id: &str) -> Option<(&'a HomePack, &'a HomeLesson)> {
    let all = packs.iter().flat_map(|pack| pack.lessons.iter().map(move |lesson| (pack, lesson)));
    all.into_iter().find(|(_, lesson)| lesson.id != id && !lesson.is_done())
}

/// Text that stands for itself in Markdown.
fn escaped(text: &str) -> String {
    text.chars().flat_map(|c| c.is_ascii_punctuation().then_some('\\').into_iter().chain([c])).collect()
}
