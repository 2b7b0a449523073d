//! A strict reader of TOML tables: every fault is reported at its place, and reading goes on.

use std::ops::Range;
use std::rc::Rc;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::text;
use crate::base::near;
use crate::lesson::errors::Errors;

/// Where a TOML text stands in the lesson file.
#[derive(Clone)]
pub(super) struct Origin<'t> {
    text: &'t str,
    /// The line in the file of the text's first line.
    line: usize,
    /// Where each line begins.
    starts: Rc<[usize]>,
    /// Where the text ends, but for empty lines.
    end: usize,
}

/// Most keys of one table, and most entries of one list.
const MOST: usize = 1000;

/// A value and its place in the file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Located<T> {
    pub value: T,
    pub line: usize,
    pub column: usize,
}

/// The keys of one table, taken out one by one.
pub(super) struct Fields<'r, 't, 's> {
    table: DeTable<'t>,
    origin: Origin<'t>,
    errors: &'r mut Errors<'s>,
    /// What the table is, for messages: `a prediction`.
    what: &'static str,
    /// Where a missing key is reported.
    place: (usize, usize),
    known: Vec<&'static str>,
    /// Whether the text was read in full, so that a key not found is a key not there.
    whole: bool,
}

impl<'t> Origin<'t> {
    pub(super) fn new(text: &'t str, line: usize) -> Origin<'t> {
        let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        let starts = std::iter::once(0).chain(breaks).collect();
        Origin { text, line, starts, end: text.trim_end_matches('\n').len() }
    }

    /// Line and column in the file of a byte of the text; what is missing at its end is missed there.
    pub(super) fn place(&self, offset: usize) -> (usize, usize) {
        let at = offset.min(self.end);
        let index = self.starts.partition_point(|&start| start <= at).saturating_sub(1);
        let start = self.starts.get(index).copied().unwrap_or(0);
        let column = self.text.get(start..at).map_or(0, |part| part.chars().count());
        (self.line + index, column + 1)
    }
}

impl<'r, 't, 's> Fields<'r, 't, 's> {
    /// Parses the text and reports its syntax errors. `place` is where missing keys are reported.
    pub(super) fn parse(
        origin: Origin<'t>,
        what: &'static str,
        place: (usize, usize),
        errors: &'r mut Errors<'s>,
    ) -> Self {
        let (table, faults) = DeTable::parse_recoverable(origin.text);
        let whole = faults.is_empty();
        for fault in faults {
            let (line, column) = origin.place(fault.span().map_or(0, |span| span.start));
            let message = format!("this is not TOML: {}", fault.message().replace('\n', ", "));
            let hint = "write key = \"text\", key = 1 or key = [\"a\", \"b\"], one to a line";
            errors.at(line, column, message, hint);
        }
        Fields { table: table.into_inner(), origin, errors, what, place, known: Vec::new(), whole }
    }

    /// The same for tables inside this one, such as `[limits]`.
    pub(super) fn child(&mut self, table: Located<DeTable<'t>>, what: &'static str) -> Fields<'_, 't, 's> {
        Fields {
            table: table.value,
            origin: self.origin.clone(),
            errors: self.errors,
            what,
            place: (table.line, table.column),
            known: Vec::new(),
            whole: self.whole,
        }
    }

    /// Treats keys that are not there as unread, not as missing.
    pub(crate) fn forgive_missing(&mut self) {
        self.whole = false;
    }

    /// Every key with its line and column.
    pub(super) fn places(&self) -> Vec<(String, usize, usize)> {
        self.table
            .keys()
            .map(|key| {
                let (line, column) = self.origin.place(key.span().start);
                (key.get_ref().to_string(), line, column)
            })
            .collect()
    }

    pub(super) fn fault(&mut self, line: usize, column: usize, message: String, hint: &str) {
        self.errors.at(line, column, message, hint);
    }

    /// A text that must be there and not be blank.
    pub(super) fn text(&mut self, key: &'static str) -> Option<Located<String>> {
        let found = self.optional_text(key);
        self.require(key, found)
    }

    /// A text that must be there, not be blank, and be shown in one line.
    pub(super) fn line(&mut self, key: &'static str) -> Option<String> {
        let found = self.text(key)?;
        if found.value.contains('\n') {
            self.errors.at(
                found.line,
                found.column,
                format!("`{key}` has a line break"),
                "write it in one line",
            );
        }
        Some(found.value)
    }

    pub(crate) fn optional_text(&mut self, key: &'static str) -> Option<Located<String>> {
        let found = self.typed(key, "text in quotation marks", |value| value.as_str().map(text::strip))?;
        if found.value.trim().is_empty() {
            if !self.whole {
                return None;
            }
            let message = format!("`{key}` of {} is empty", self.what);
            self.errors.at(found.line, found.column, message, "write its text");
            return None;
        }
        Some(found)
    }

    pub(crate) fn optional_bool(&mut self, key: &'static str) -> Option<Located<bool>> {
        self.typed(key, "true or false", DeValue::as_bool)
    }

    /// A whole number in `range`.
    pub(crate) fn optional_integer(&mut self, key: &'static str, range: Range<u32>) -> Option<Located<u32>> {
        let found = self.typed(key, "a whole number", |value| {
            let integer = value.as_integer()?;
            Some(i64::from_str_radix(integer.as_str(), integer.radix()).unwrap_or(i64::MAX))
        })?;
        match u32::try_from(found.value).ok().filter(|n| range.contains(n)) {
            Some(value) => Some(Located { value, line: found.line, column: found.column }),
            None => {
                let last = range.end.saturating_sub(1);
                self.errors.at(
                    found.line,
                    found.column,
                    format!("`{key}` is out of range"),
                    format!("it is a number from {} to {last}", range.start),
                );
                None
            }
        }
    }

    /// A number, or a text that says one, as written.
    pub(crate) fn optional_number_or_text(&mut self, key: &'static str) -> Option<Located<String>> {
        self.typed(key, "a number or text", |value| match value {
            DeValue::String(written) => Some(text::strip(written)),
            DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
            DeValue::Float(number) => Some(number.as_str().to_owned()),
            _ => None,
        })
    }

    /// A list of texts, each with its place.
    pub(crate) fn optional_texts(&mut self, key: &'static str) -> Option<Vec<Located<String>>> {
        let what = "a list of texts, [\"a\", \"b\"]";
        let list = self.typed(key, what, |value| value.as_array().cloned())?;
        if self.has_too_many(key, &list) {
            return None;
        }
        let mut texts = Vec::new();
        for item in list.value {
            let (line, column) = self.origin.place(item.span().start);
            match item.get_ref().as_str().map(text::strip) {
                Some(value) if !value.trim().is_empty() => texts.push(Located { value, line, column }),
                _ => {
                    let message = format!("every entry of `{key}` is a text that is not empty");
                    self.errors.at(line, column, message, format!("`{key}` is {what}"));
                }
            }
        }
        Some(texts)
    }

    pub(crate) fn optional_table(&mut self, key: &'static str) -> Option<Located<DeTable<'t>>> {
        let what = "a table of its own keys";
        self.typed(key, what, |value| value.as_table().cloned())
    }

    /// The tables written as `[[key]]`.
    pub(crate) fn optional_tables(&mut self, key: &'static str) -> Option<Vec<Located<DeTable<'t>>>> {
        let what = format!("written as [[{key}]] for each one");
        let list = self.typed(key, &what, |value| value.as_array().cloned())?;
        if self.has_too_many(key, &list) {
            return None;
        }
        let mut tables = Vec::new();
        for item in list.value {
            let (line, column) = self.origin.place(item.span().start);
            match item.into_inner() {
                DeValue::Table(value) => tables.push(Located { value, line, column }),
                _ => {
                    let message = format!("every `{key}` is a table");
                    self.errors.at(line, column, message, format!("`{key}` is {what}"));
                }
            }
        }
        Some(tables)
    }

    /// `found`, or the report that the key is missing.
    pub(super) fn require<T>(&mut self, key: &'static str, found: Option<T>) -> Option<T> {
        if found.is_none() && self.whole && !self.had(key) {
            let (line, column) = self.place;
            let message = format!("{} has no `{key}`", self.what);
            self.errors.at(line, column, message, format!("add {key} = …"));
        }
        found
    }

    /// Reports the keys that nobody asked for.
    pub(super) fn finish(self) {
        if self.table.len() > MOST {
            let (line, column) = self.place;
            let message = format!("{} has {} keys, and may have {MOST}", self.what, self.table.len());
            self.errors.at(line, column, message, format!("the keys are: {}", self.known.join(", ")));
            return;
        }
        for key in self.table.keys() {
            let name = text::strip(key.get_ref());
            if self.known.contains(&name.as_str()) {
                continue;
            }
            let (line, column) = self.origin.place(key.span().start);
            self.errors.at_with(line, column, || {
                let hint = near::suggestion(&name, &self.known, "the keys are");
                (format!("unknown key `{name}` in {}", self.what), hint)
            });
        }
    }

    /// Whether a list is longer than any may be, which is reported.
    fn has_too_many(&mut self, key: &str, list: &Located<DeArray<'_>>) -> bool {
        let count = list.value.len();
        if count > MOST {
            let message = format!("`{key}` has {count} entries, and may have {MOST}");
            self.errors.at(list.line, list.column, message, "keep the ones that matter");
        }
        count > MOST
    }

    fn had(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    fn typed<T>(
        &mut self,
        key: &'static str,
        wanted: &str,
        read: impl FnOnce(&DeValue<'t>) -> Option<T>,
    ) -> Option<Located<T>> {
        self.known.push(key);
        let value: &Spanned<DeValue<'t>> = self.table.get(key)?;
        let (line, column) = self.origin.place(value.span().start);
        if let Some(value) = read(value.get_ref()) {
            return Some(Located { value, line, column });
        }
        let message = format!("`{key}` is {}, not {wanted}", article(value.get_ref()));
        let hint = format!("`{key}` of {} is {wanted}", self.what);
        self.errors.at(line, column, message, hint);
        None
    }
}

fn article(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

#[cfg(test)]
mod tests {
    use super::super::error::LessonError;
    use super::super::source::Source;
    use super::*;

    fn read(text: &str, act: impl FnOnce(&mut Fields<'_, '_, '_>)) -> Vec<LessonError> {
        let padded = format!("\n\n{text}");
        let source = Source::decode("a.md", padded.as_bytes()).source;
        let mut errors = Errors::new(&source);
        let origin = Origin::new(text, 3);
        let mut fields = Fields::parse(origin, "a test", (2, 1), &mut errors);
        act(&mut fields);
        fields.finish();
        errors.into_sorted()
    }

    #[test]
    fn values_come_with_their_places() {
        let errors = read("a = \"é\"\n  b = 3\n", |fields| {
            let a = fields.text("a").unwrap();
            assert_eq!((a.value.as_str(), a.line, a.column), ("é", 3, 5));
            let b = fields.optional_integer("b", 0..10).unwrap();
            assert_eq!((b.value, b.line, b.column), (3, 4, 7));
        });
        assert_eq!(errors, []);
    }

    #[test]
    fn every_fault_is_reported_at_its_place() {
        let text = "a = 1\nb = 99\nc = [\"x\", 2]\nanswr = \"y\"\n";
        let errors = read(text, |fields| {
            assert!(fields.text("a").is_none());
            assert!(fields.optional_integer("b", 0..10).is_none());
            assert_eq!(fields.optional_texts("c").unwrap().len(), 1);
            assert!(fields.text("answer").is_none());
        });
        let seen: Vec<_> = errors.iter().map(|e| (e.line, e.column)).collect();
        assert_eq!(seen, [(2, 1), (3, 5), (4, 5), (5, 11), (6, 1)]);
        assert!(errors[0].message.contains("no `answer`"));
        assert!(errors[1].message.contains("`a` is a whole number, not text"));
        assert!(errors[2].hint.as_deref().unwrap().contains("from 0 to 9"));
        assert!(errors[4].hint.as_deref().unwrap().contains("`answer`"));
    }

    #[test]
    fn text_that_is_no_toml_is_placed_and_does_not_hide_the_rest() {
        let errors = read("a = \nb = 1\n", |fields| {
            assert!(fields.text("a").is_none());
            assert!(fields.text("missing").is_none());
            assert_eq!(fields.optional_integer("b", 0..10).unwrap().value, 1);
        });
        assert!(errors[0].message.contains("not TOML"), "{errors:?}");
        assert_eq!(errors[0].line, 3);
        assert!(errors.iter().all(|e| !e.message.contains("missing")));
    }

    #[test]
    fn escapes_in_texts_are_stripped_of_controls() {
        read("a = \"x\\u001b[1m\"\n", |fields| {
            assert_eq!(fields.text("a").unwrap().value, "x[1m");
        });
    }
}
