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
    let mut places = fields.places();
    let id = id(fields);
    let title = fields.line("title");
    let summary = fields.line("summary");
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
        requires: requires(fields, &mut places),
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
        fields.fault(found.line, found.column, message, text::id_rule(&found.value));
    }
    found.value
}

fn values(found: Option<Vec<Located<String>>>) -> Vec<String> {
    let found = found.unwrap_or_default();
    found.into_iter().map(|found| found.value).collect()
}

/// `places` gets those of its keys, as `requires.gpus`.
fn requires(fields: &mut Fields<'_, '_, '_>, places: &mut Vec<(String, usize, usize)>) -> Requires {
    let Some(table) = fields.optional_table("requires") else {
        return Requires::default();
    };
    let mut table = fields.child(table, "`requires`");
    places.extend(table.places().into_iter().map(|(key, line, at)| (format!("requires.{key}"), line, at)));
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

/// Longest time of a limit, in milliseconds: a day.
const LONGEST: f64 = 86_400_000.0;
/// Largest size of a limit, in bytes: 1024 GiB.
const LARGEST: f64 = (1_u64 << 40) as f64;

/// A positive amount with its unit, written as a text.
fn amount(fields: &mut Fields<'_, '_, '_>, key: &'static str, unit: Unit, example: &str) -> Option<u64> {
    let found = fields.optional_text(key)?;
    let (what, units, most, least, highest) = match unit {
        Unit::Milliseconds => ("a time", "ms or s", LONGEST, "1 ms", "86,400 s"),
        _ => ("an amount of memory", "bytes, KiB, MiB or GiB", LARGEST, "1 byte", "1,024 GiB"),
    };
    let has_unit = found.value.trim_end().ends_with(char::is_alphabetic);
    let hint = format!("`{key}` is {what} in {units}, such as {key} = \"{example}\"");
    let (message, hint) = match parse_quantity(&found.value, unit) {
        Ok(quantity) if has_unit && (1.0..=most).contains(&quantity.value) => {
            return Some(quantity.value as u64);
        }
        Ok(_) if !has_unit => (format!("`{}` is not {what}: it has no unit", found.value), hint),
        Ok(quantity) => {
            let is = if quantity.value < 1.0 { "too little" } else { "too much" };
            (format!("`{key}` is {is}: `{}`", found.value), format!("it is from {least} to {highest}"))
        }
        Err(_) => (format!("`{}` is not {what}", found.value), hint),
    };
    fields.fault(found.line, found.column, message, &hint);
    None
}
