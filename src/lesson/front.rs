//! The front matter between `+++` lines.

use super::fields::{Fields, Located, Origin};
use super::format::{Front, Limits, Requires};
use super::quantity::{Unit, parse_quantity};
use super::source::Source;
use super::text;
use crate::lesson::errors::Errors;

/// Longest lesson, in minutes.
const MAX_MINUTES: u32 = 600;

/// Reads the front matter and gives the first line after it. Without front matter the whole file is body.
pub(super) fn read(source: &Source, errors: &mut Errors<'_>) -> (Front, usize) {
    let Some(first) = source.lines_from(1).find(|(_, line)| !line.trim().is_empty()) else {
        return (Front::default(), 1);
    };
    let (opened, line) = first;
    if line.trim_end() != "+++" {
        let hint = match line.trim_end() {
            "---" => "this is YAML: write TOML between two +++ lines",
            _ => "begin the file with TOML between two +++ lines: id, title, summary, …",
        };
        errors.at(opened, 1, "the lesson has no front matter", hint);
        return (Front::default(), 1);
    }
    if opened > 1 {
        let hint = "remove the empty lines before it";
        errors.at(opened, 1, "the front matter does not begin in line 1", hint);
    }
    let closed = source.lines_from(opened + 1).find(|(_, line)| line.trim_end() == "+++");
    let end = match closed {
        Some((line, _)) => line,
        None => {
            let hint = "close it with a second +++ line before the text";
            errors.at(opened, 1, "the front matter is not closed", hint);
            unclosed_end(source, opened + 1)
        }
    };
    let text: String = source
        .lines_from(opened + 1)
        .take_while(|(number, _)| *number < end)
        .flat_map(|(_, line)| [line, "\n"])
        .collect();
    let origin = Origin::new(&text, opened + 1);
    let mut fields = Fields::parse(origin, "the front matter", (opened, 1), errors);
    if closed.is_none() {
        fields.forgive_missing();
    }
    let front = front(&mut fields);
    fields.finish();
    (front, if closed.is_some() { end + 1 } else { end })
}

/// Where front matter without an end seems to stop: at the first line that is empty or begins the text.
fn unclosed_end(source: &Source, first: usize) -> usize {
    source
        .lines_from(first)
        .find(|(_, line)| {
            line.trim().is_empty() || ["#", "```", "~~~"].iter().any(|mark| line.starts_with(mark))
        })
        .map_or(source.line_count() + 1, |(number, _)| number)
}

fn front(fields: &mut Fields<'_, '_, '_>) -> Front {
    let places = fields.places();
    let id = id(fields);
    let title = fields.text("title").map(|found| found.value);
    let summary = fields.text("summary").map(|found| found.value);
    let concepts = fields.optional_texts("concepts");
    let concepts = fields.require("concepts", concepts);
    let prerequisites = fields.optional_texts("prerequisites");
    let minutes = fields.optional_integer("minutes", 1..MAX_MINUTES + 1);
    let minutes = fields.require("minutes", minutes);
    let devices = fields.optional_texts("devices");
    let devices = fields.require("devices", devices);
    Front {
        id,
        title: title.unwrap_or_default(),
        summary: summary.unwrap_or_default(),
        concepts: values(concepts),
        prerequisites: values(prerequisites),
        minutes: minutes.map_or(0, |found| found.value),
        devices: values(devices),
        requires: requires(fields),
        limits: limits(fields),
        places,
    }
}

fn id(fields: &mut Fields<'_, '_, '_>) -> String {
    let Some(found) = fields.text("id") else {
        return String::new();
    };
    if !text::is_id(&found.value) {
        let message = format!("`{}` can't be a lesson's id", found.value);
        let hint = "an id is lower-case words joined by hyphens, such as first-contact";
        fields.fault(found.line, found.column, message, hint);
    }
    found.value
}

fn values(found: Option<Vec<Located<String>>>) -> Vec<String> {
    let found = found.unwrap_or_default();
    found.into_iter().map(|found| found.value).collect()
}

fn requires(fields: &mut Fields<'_, '_, '_>) -> Requires {
    let Some(table) = fields.optional_table("requires") else {
        return Requires::default();
    };
    let mut table = fields.child(table, "`requires`");
    let requires = Requires {
        gpus: table.optional_integer("gpus", 0..65).map_or(0, |found| found.value),
        device_memory: size(&mut table, "device_memory"),
    };
    table.finish();
    requires
}

fn limits(fields: &mut Fields<'_, '_, '_>) -> Limits {
    let Some(table) = fields.optional_table("limits") else {
        return Limits::default();
    };
    let mut table = fields.child(table, "`limits`");
    let limits = Limits {
        time_ms: amount(&mut table, "time", Unit::Milliseconds, "20 s"),
        host_memory: size(&mut table, "host_memory"),
        device_memory: size(&mut table, "device_memory"),
        output: size(&mut table, "output"),
        figures: table.optional_integer("figures", 0..1001).map(|found| found.value),
        scratch: size(&mut table, "scratch"),
    };
    table.finish();
    limits
}

fn size(fields: &mut Fields<'_, '_, '_>, key: &'static str) -> Option<u64> {
    amount(fields, key, Unit::Bytes, "64 MiB")
}

/// A positive amount with its unit, written as a text.
fn amount(fields: &mut Fields<'_, '_, '_>, key: &'static str, unit: Unit, example: &str) -> Option<u64> {
    let found = fields.optional_text(key)?;
    let hint = format!("write it with its unit, such as {key} = \"{example}\"");
    let has_unit = found.value.trim_end().ends_with(char::is_alphabetic);
    match parse_quantity(&found.value, unit) {
        Ok(quantity) if has_unit && quantity.value >= 1.0 => Some(quantity.value as u64),
        Ok(_) => {
            let message = format!("`{}` is not an amount", found.value);
            fields.fault(found.line, found.column, message, &hint);
            None
        }
        Err(error) => {
            fields.fault(found.line, found.column, error.message, &hint);
            None
        }
    }
}
