//! The line that begins a cell.

use serde_json::Value;

use crate::notebook::cell::{Cell, Kind};
use crate::notebook::output::Fields;

/// Metadata that changes with every run or belongs to one editor: it is kept beside the outputs.
const VOLATILE: [&str; 6] = ["ExecuteTime", "autoscroll", "collapsed", "execution", "scrolled", "trusted"];
/// Places in one line that are tried as the beginning of its metadata.
const TRIES: usize = 64;

/// What a marker says.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Head {
    pub kind: Kind,
    pub metadata: Fields,
}

impl Head {
    /// What the marker of a cell has to say.
    pub(super) fn of(cell: &Cell) -> Head {
        let mut metadata = Fields::new();
        for (key, value) in cell.metadata.iter().filter(|(key, _)| is_shown(key)) {
            metadata.insert(key.clone(), value.clone());
        }
        Head { kind: cell.kind, metadata }
    }

    /// Reads a line of a file; nothing where it is no marker.
    pub(crate) fn of_line(line: &str) -> Option<Head> {
        let rest = line.strip_prefix("//")?.trim_start_matches([' ', '\t']);
        Some(Head::read(after_percents(rest)?))
    }

    /// The marker, without the end of its line.
    pub(super) fn line(&self) -> String {
        let title = self.metadata.get("title").and_then(Value::as_str);
        let line = self.written(title);
        // A title that would be read as something else is written as metadata.
        let is_one = !line.contains(['\n', '\r']);
        if is_one && Head::of_line(&line).as_ref() == Some(self) { line } else { self.written(None) }
    }

    fn written(&self, title: Option<&str>) -> String {
        let mut line = String::from("// %%");
        if let Some(title) = title {
            line += &format!(" {title}");
        }
        if self.kind != Kind::Code {
            line += &format!(" [{}]", self.kind.name());
        }
        for (key, value) in self.metadata.iter().filter(|(key, _)| title.is_none() || *key != "title") {
            line += &format!(" {key}={value}");
        }
        line
    }

    fn read(rest: &str) -> Head {
        let (words, mut metadata) = split_metadata(rest.trim());
        let words = words.trim_end();
        let kinds = [("[markdown]", Kind::Markdown), ("[md]", Kind::Markdown), ("[raw]", Kind::Raw)];
        let mut found = (Kind::Code, words);
        for (word, kind) in kinds {
            let is_apart = |rest: &str, at_end: bool| {
                let next = if at_end { rest.chars().next_back() } else { rest.chars().next() };
                next.is_none_or(char::is_whitespace)
            };
            let after = words.strip_suffix(word).filter(|rest| is_apart(rest, true));
            let before = words.strip_prefix(word).filter(|rest| is_apart(rest, false));
            if let Some(rest) = after.or(before) {
                found = (kind, rest.trim());
                break;
            }
        }
        let (kind, title) = found;
        if !title.is_empty() {
            metadata.insert("title".into(), title.into());
        }
        Head { kind, metadata }
    }
}

/// What follows `%%` or more, where that begins a marker.
pub(crate) fn after_percents(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("%%")?.trim_start_matches('%');
    matches!(rest.chars().next(), None | Some(' ' | '\t' | '\r' | '\n' | '[')).then_some(rest)
}

/// Whether metadata of this name stands in the marker; the rest is kept beside the outputs.
pub(crate) fn is_shown(key: &str) -> bool {
    !VOLATILE.contains(&key) && key_length(key) == key.len() && !key.is_empty()
}

/// How much of a text is a key.
fn key_length(text: &str) -> usize {
    let fits = |(i, c): &(usize, char)| {
        c.is_ascii_alphabetic() || *c == '_' || (*i > 0 && (c.is_ascii_digit() || matches!(c, '.' | '-')))
    };
    text.char_indices().take_while(fits).count()
}

/// Words, and the metadata at the end of the line.
fn split_metadata(text: &str) -> (&str, Fields) {
    let begins = |at: &usize| *at == 0 || text.get(..*at).is_some_and(|t| t.ends_with([' ', '\t']));
    let is_key = |at: &usize| {
        let rest = text.get(*at..).unwrap_or_default();
        let length = key_length(rest);
        length > 0 && rest.get(length..).is_some_and(|rest| rest.starts_with('='))
    };
    let starts = text.char_indices().map(|(at, _)| at).filter(begins).filter(is_key);
    for at in starts.take(TRIES) {
        let (words, rest) = text.split_at(at);
        if let Some(metadata) = read_metadata(rest) {
            return (words, metadata);
        }
    }
    (text, Fields::new())
}

/// `key=JSON key=JSON …`, nothing where it is anything else.
fn read_metadata(text: &str) -> Option<Fields> {
    let mut fields = Fields::new();
    let mut rest = text;
    while !rest.is_empty() {
        let length = key_length(rest);
        let (key, value) = (rest.get(..length)?, rest.get(length..)?.strip_prefix('=')?);
        let mut values = serde_json::Deserializer::from_str(value).into_iter::<Value>();
        let read = values.next()?.ok()?;
        let after = value.get(values.byte_offset()..)?;
        if key.is_empty() || !(after.is_empty() || after.starts_with([' ', '\t'])) {
            return None;
        }
        fields.insert(key.into(), read);
        rest = after.trim_start();
    }
    Some(fields)
}
