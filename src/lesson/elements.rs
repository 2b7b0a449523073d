//! The content of predictions, quizzes and exercises.

use super::body::Fence;
use crate::base::near;
use crate::lesson::errors::Errors;

use super::fields::{Fields, Located, Origin};
use super::format::{Choice, Code, Places, Predict, Quiz};
use super::info::Attribute;
use super::predict::Tolerance;
use super::quantity::Unit;
use super::{markdown, places, text};

const MAX_POINTS: u32 = 100;

/// The id written in the fence's line, reported if it can't be one. None where no id is written.
pub(super) fn id(fence: &Fence, errors: &mut Errors<'_>) -> Option<String> {
    let attribute = fence.info.get("id")?;
    if !text::is_id(&attribute.value) {
        let message = format!("`{}` can't be an id", attribute.value);
        at_attribute(fence, attribute, message, text::id_rule(&attribute.value), errors);
    }
    Some(attribute.value.clone())
}

/// The points of an exercise, 1 where none are written.
pub(super) fn points(fence: &Fence, errors: &mut Errors<'_>) -> u32 {
    let Some(attribute) = fence.info.get("points") else {
        return 1;
    };
    match attribute.value.parse() {
        Ok(points) if (1..=MAX_POINTS).contains(&points) => points,
        _ => {
            let message = format!("`{}` can't be an exercise's points", attribute.value);
            let hint = format!("write a whole number from 1 to {MAX_POINTS}");
            at_attribute(fence, attribute, message, &hint, errors);
            1
        }
    }
}

/// The reason why a wrong answer is wrong.
pub(super) fn because(fence: &Fence, errors: &mut Errors<'_>) -> Option<String> {
    let attribute = fence.info.get("because");
    let because = attribute.filter(|attribute| !attribute.value.trim().is_empty());
    if because.is_none() {
        let hint = "write because=\"…\" with words of the reason that the check gives";
        errors.at(fence.line, 1, "the wrong answer does not say because of what", hint);
    }
    because.map(|attribute| text::strip(&attribute.value))
}

/// Where an exercise or a check applies: `devices = ["sim:t4", "cpu"]`, or one of them in quotes.
pub(super) fn devices(fence: &Fence, errors: &mut Errors<'_>) -> Places {
    let Some((attribute, sets)) = list(fence, "devices", errors) else { return Places::default() };
    for (message, hint) in sets.iter().filter_map(|set| places::fault(set)) {
        at_attribute(fence, attribute, message, &hint, errors);
    }
    Places { sets, line: fence.line }
}

/// What an exercise changes of what the lesson gave: `changes = ["net"]`, or one name in quotes.
pub(super) fn changes(fence: &Fence, errors: &mut Errors<'_>) -> Vec<String> {
    list(fence, "changes", errors).map(|(_, names)| names).unwrap_or_default()
}

/// An attribute that is a list of texts, or one of them.
fn list<'f>(
    fence: &'f Fence,
    name: &'static str,
    errors: &mut Errors<'_>,
) -> Option<(&'f Attribute, Vec<String>)> {
    let attribute = fence.info.get(name)?;
    let list =
        if attribute.value.starts_with('[') { attribute.value.clone() } else { quoted(&attribute.value) };
    let written = format!("it = {list}").parse::<toml::Table>().ok();
    let texts = written.as_ref().and_then(|table| table.get("it")?.as_array());
    let texts: Option<Vec<String>> =
        texts.and_then(|all| all.iter().map(|text| Some(text.as_str()?.to_owned())).collect());
    if let Some(texts) = texts.filter(|texts| !texts.is_empty() || name == "changes") {
        return Some((attribute, texts));
    }
    let (what, hint) = match name {
        "devices" => ("sets of devices", "write devices = [\"sim:t4\", \"cpu\"]"),
        _ => ("names", "write changes = [\"net\", \"opt\"]"),
    };
    at_attribute(fence, attribute, format!("`{name}` is a list of {what}"), hint, errors);
    None
}

fn quoted(text: &str) -> String {
    format!("[{}]", toml::Value::String(text.to_owned()))
}

/// A prediction, and where it is asked.
pub(super) fn predict(fence: &Fence, errors: &mut Errors<'_>) -> Option<(Predict, Places)> {
    let mut fields = fields(fence, "the prediction", errors);
    let ask = fields.text("ask");
    let unit = fields.optional_text("unit");
    let plain = unit.is_none();
    let unit = unit.map_or(Some(Unit::Count), |found| {
        let unit = Unit::named(&found.value);
        if unit.is_none() {
            let hint = near::suggestion(&found.value, &Unit::names(), "the units");
            let message = format!("`{}` is not a unit", found.value);
            fields.fault(found.line, found.column, message, &hint);
        }
        unit
    });
    let answer = fields.text("answer");
    let tolerance = fields.optional_number_or_text("tolerance");
    let tolerance = tolerance.map_or(Some(Tolerance::EXACT), |found| {
        match Tolerance::parse(&found.value, unit.unwrap_or(Unit::Count)) {
            Ok(Tolerance::Relative(share)) if share >= 1.0 => {
                let message = format!("with a tolerance of {} a prediction can't be wrong", found.value);
                fields.fault(found.line, found.column, message, "write a share of less than 100%");
                None
            }
            Ok(tolerance) => Some(tolerance),
            Err(_) if unit.is_none() => None,
            Err(error) => {
                let hint = "write a number, an amount such as \"1 KiB\", or a share such as \"10%\"";
                fields.fault(found.line, found.column, error.message, hint);
                None
            }
        }
    });
    let explain = fields.text("explain");
    let sets = fields.optional_texts("devices").unwrap_or_default();
    for found in &sets {
        if let Some((message, hint)) = places::fault(&found.value) {
            fields.fault(found.line, found.column, message, &hint);
        }
    }
    let line = sets.first().map_or(fence.line, |found| found.line);
    let devices = Places { sets: sets.into_iter().map(|found| found.value).collect(), line };
    fields.finish();
    let answer = answer?;
    let predict = Predict {
        ask: markdown::parse(&ask?.value),
        unit: unit?,
        plain,
        answer: Code { text: answer.value, line: answer.line },
        tolerance: tolerance?,
        explain: markdown::parse(&explain?.value),
        cell: String::new(),
    };
    Some((predict, devices))
}

pub(super) fn quiz(fence: &Fence, errors: &mut Errors<'_>) -> Option<Quiz> {
    let mut fields = fields(fence, "the quiz", errors);
    let ask = fields.text("ask");
    let tables = fields.optional_tables("choice");
    let tables = fields.require("choice", tables);
    let mut choices = Vec::new();
    let mut readable = tables.as_ref().is_some_and(|tables| !tables.is_empty());
    for table in tables.unwrap_or_default() {
        let line = table.line;
        let mut choice = fields.child(table, "the choice");
        let text = choice.text("text");
        let correct = choice.optional_bool("correct");
        let explain = choice.text("explain");
        choice.finish();
        let (Some(text), Some(explain)) = (text, explain) else {
            readable = false;
            continue;
        };
        choices.push(Choice {
            text: markdown::parse(&text.value),
            correct: correct.is_some_and(|found: Located<bool>| found.value),
            explain: markdown::parse(&explain.value),
            line,
        });
    }
    if readable && !choices.iter().any(|choice| choice.correct) {
        let hint = "write correct = true under at least one [[choice]]";
        let message = "the quiz has no correct choice".to_owned();
        fields.fault(fence.line, 1, message, hint);
    }
    fields.finish();
    Some(Quiz { ask: markdown::parse(&ask?.value), choices })
}

fn fields<'r, 't, 's>(
    fence: &'t Fence,
    what: &'static str,
    errors: &'r mut Errors<'s>,
) -> Fields<'r, 't, 's> {
    let origin = Origin::new(&fence.code.text, fence.code.line);
    Fields::parse(origin, what, (fence.line, 1), errors)
}

fn at_attribute(fence: &Fence, attribute: &Attribute, message: String, hint: &str, errors: &mut Errors<'_>) {
    let column = fence.info_column + attribute.column + 1;
    errors.at(fence.line, column, message, hint);
}
