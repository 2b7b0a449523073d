//! Steps and records as lists and tables have them: in a lesson's order, by what a step is called, as cells of a table.

use crate::base::sorted;
use crate::lab::Document;
use crate::lab::document::Item;
use crate::lesson::{Key, Lesson, StepProgress, content_id};

/// What is known of steps in the order of their lesson, each with what the step is called: a cell without an id of its
/// own by its place.
pub(super) fn ordered<T>(
    lesson: Option<&Lesson>,
    steps: impl IntoIterator<Item = T>,
    id: impl Fn(&T) -> &str,
) -> Vec<(String, T)> {
    let places = lesson.map(places).unwrap_or_default();
    let mut all: Vec<(usize, String, T)> = Vec::new();
    for step in steps {
        let at = places.iter().position(|(place, _)| place == id(&step));
        let name =
            at.and_then(|at| places.get(at)).map_or_else(|| id(&step).to_owned(), |(_, name)| name.clone());
        all.push((at.unwrap_or(usize::MAX), name, step));
    }
    sorted::sort_by_key(&mut all, |(at, ..)| *at);
    all.into_iter().map(|(_, name, step)| (name, step)).collect()
}

/// The ids of a lesson's steps, each with what it is called.
pub(super) fn places(lesson: &Lesson) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for section in Document::lesson(lesson).steps {
        let mut cells = 0;
        for item in section.items {
            let (id, made) = match item {
                Item::Text(_) => continue,
                Item::Predict(predict) => (predict.id, false),
                Item::Quiz(quiz) => (quiz.id, false),
                Item::Cell(cell) => {
                    cells += 1;
                    let made = cell.exercise.is_none() && content_id("run", &cell.code) == base(&cell.id);
                    (cell.id, made)
                }
            };
            let name = if made { format!("{}, cell {cells}", section.title) } else { id.clone() };
            out.push((id, name));
        }
    }
    out
}

/// An id without the number that tells it from one of the same content.
fn base(id: &str) -> &str {
    let parts = id.match_indices('-').nth(1);
    parts.map_or(id, |(at, _)| id.get(..at).unwrap_or(id))
}

/// A step with what adds up for it.
pub(super) fn added_up((key, step): (&Key, &StepProgress)) -> serde_json::Value {
    let mut value = serde_json::json!(step);
    if let (Some(all), serde_json::Value::Object(key)) = (value.as_object_mut(), serde_json::json!(key)) {
        all.extend(key);
    }
    value
}

/// A record as a line of a table.
pub(super) fn cells(value: &serde_json::Value, columns: &[&str]) -> String {
    let cell = |column: &&str| match value.get(column) {
        None | Some(serde_json::Value::Null) => String::new(),
        Some(serde_json::Value::String(text)) => quoted(text),
        Some(other) => quoted(&other.to_string()),
    };
    columns.iter().map(cell).collect::<Vec<_>>().join(",")
}

/// A cell as RFC 4180 has it. What a spreadsheet would take for a formula is marked as text.
fn quoted(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '@', '\t', '\r'])
        || text.starts_with('-') && text.parse::<f64>().is_err();
    let text = if formula { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_and_no_formulas() {
        for (text, cell) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"x\"\nthen", "\"say \"\"x\"\"\nthen\""),
            ("=1+1", "'=1+1"),
            ("-3.5", "-3.5"),
            ("-cmd|x", "'-cmd|x"),
        ] {
            assert_eq!(quoted(text), cell);
        }
    }
}
