//! Reads the file, value by value.

use crossterm::event::KeyCode;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::base::near::{did_you_mean, nearest};
use crate::base::sorted;
use crate::lab::model::bindings::{BINDINGS, together};
use crate::lab::model::config::chord::{action_name, list, parse};
use crate::lab::model::config::{Config, Problem, SETTINGS, SettingKind, Value};
use crate::lab::model::context::{ALWAYS, Context, Together};
use crate::lab::model::keys::Chord;

/// The file is no longer than this.
const LARGEST: usize = 1 << 20;

/// Most problems that are told one by one.
const MOST: usize = 100;

impl Config {
    /// The settings of a file's text. What is wrong is left at its default and told in `problems`.
    pub fn parse(text: &str) -> Config {
        read(text)
    }
}

struct Reader<'t> {
    text: &'t str,
    config: Config,
    /// Problems beyond those that are told.
    more: usize,
}

fn read(text: &str) -> Config {
    let mut reader = Reader { text, config: Config::default(), more: 0 };
    if text.len() > LARGEST {
        reader.problem(0, "the file is too long to be one of settings".into());
        return reader.config;
    }
    let (table, faults) = DeTable::parse_recoverable(text);
    for fault in faults {
        let at = fault.span().map_or(0, |span| span.start);
        reader.problem(at, format!("this is not TOML: {}", fault.message().replace('\n', ", ")));
    }
    for (key, value) in table.into_inner() {
        let (at, name) = (key.span().start, key.into_inner().into_owned());
        match (name.as_str(), value.into_inner()) {
            ("keys", DeValue::Table(contexts)) => reader.keys(contexts),
            (_, DeValue::Table(inner))
                if SETTINGS.iter().any(|s| s.name.starts_with(&format!("{name}."))) =>
            {
                for (key, value) in inner {
                    let full = format!("{name}.{}", key.get_ref());
                    reader.setting(key.span().start, &full, value);
                }
            }
            _ => {
                let tables = ["look", "edit", "size", "history", "keys"];
                reader.unknown(at, &name, "table", &tables);
            }
        }
    }
    sorted::sort_by_key(&mut reader.config.problems, |problem| problem.line);
    if let Some(last) = reader.config.problems.last().filter(|_| reader.more > 0) {
        let message = format!("{} further problems are not listed", reader.more);
        let rest = Problem { line: last.line, message };
        reader.config.problems.push(rest);
    }
    reader.config
}

impl Reader<'_> {
    fn line(&self, at: usize) -> usize {
        1 + self.text.get(..at.min(self.text.len())).unwrap_or_default().matches('\n').count()
    }

    fn problem(&mut self, at: usize, message: String) {
        if self.config.problems.len() >= MOST {
            self.more += 1;
            return;
        }
        let line = self.line(at);
        self.config.problems.push(Problem { line, message });
    }

    fn unknown(&mut self, at: usize, name: &str, what: &str, known: &[&str]) {
        if self.config.problems.len() >= MOST {
            // Looking for the nearest name takes longer than all else.
            self.more += 1;
            return;
        }
        let hint = did_you_mean(name, known.iter().copied())
            .unwrap_or_else(|| format!("there are {}", known.join(", ")));
        self.problem(at, format!("there is no {what} `{name}`; {hint}"));
    }

    fn setting(&mut self, at: usize, name: &str, value: Spanned<DeValue<'_>>) {
        let Some(setting) = SETTINGS.iter().find(|setting| setting.name == name) else {
            let names: Vec<&str> = SETTINGS.iter().map(|setting| setting.name).collect();
            return self.unknown(at, name, "setting", &names);
        };
        let place = value.span().start;
        let taken = match (setting.kind, value.into_inner()) {
            (SettingKind::Bool, DeValue::Boolean(value)) => Some(Value::Bool(value)),
            (SettingKind::OneOf(all), DeValue::String(text)) => {
                let text = text.into_owned();
                if !all.contains(&text.as_str()) {
                    let near = nearest(&text, all.iter().copied());
                    let hint = near.map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default();
                    let takes = setting.takes();
                    return self.problem(place, format!("{name} takes {takes}, not \"{text}\"{hint}"));
                }
                Some(Value::Text(text))
            }
            (SettingKind::Whole(from, to), DeValue::Integer(number)) => {
                let number = i64::from_str_radix(number.as_str(), number.radix()).ok();
                number.filter(|n| (from..=to).contains(n)).map(Value::Whole)
            }
            _ => None,
        };
        match taken {
            Some(value) => {
                let line = self.line(at);
                self.config.set.insert(setting.name, (value, line));
            }
            None => self.problem(place, format!("{name} takes {}", setting.takes())),
        }
    }

    fn keys(&mut self, contexts: DeTable<'_>) {
        let mut known: Vec<&str> = BINDINGS.iter().filter_map(|b| b.context.name).collect();
        known.sort_unstable();
        known.dedup();
        for (key, value) in contexts {
            let (at, name) = (key.span().start, key.into_inner().into_owned());
            let context = BINDINGS.iter().map(|b| b.context).find(|c| c.name == Some(name.as_str()));
            match (context, value.into_inner()) {
                (Some(context), DeValue::Table(actions)) => {
                    for (key, value) in actions {
                        self.binding(context, &name, key, value);
                    }
                }
                (Some(_), _) => self.problem(at, format!("keys.{name} is a table of actions and their keys")),
                (None, _) => self.unknown(at, &name, "place for keys", &known),
            }
        }
    }

    fn binding(
        &mut self,
        context: &'static Context,
        place: &str,
        key: Spanned<std::borrow::Cow<'_, str>>,
        value: Spanned<DeValue<'_>>,
    ) {
        let (at, action) = (key.span().start, key.into_inner().into_owned());
        let rows = || BINDINGS.iter().enumerate().filter(|(_, binding)| binding.context == context);
        let Some((row, binding)) = rows().find(|(_, binding)| action_name(binding.action) == action) else {
            let names: Vec<String> = rows().map(|(_, binding)| action_name(binding.action)).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            return self.unknown(at, &action, "action", &names);
        };
        let Some(chords) = self.chords(&format!("keys.{place}.{action}"), value) else { return };
        let types = |c: &Chord| matches!(c, Chord(KeyCode::Char(_), m) if m.is_empty());
        if let Some(chord) = chords.iter().find(|chord| context.typed && types(chord)) {
            let name = chord.name();
            return self
                .problem(at, format!("`{name}` alone is typed in a cell; keys.{place} needs Ctrl or Alt"));
        }
        for chord in &chords {
            if let Some(other) = self.taken(context, row, *chord) {
                let text = format!(
                    "{} is taken: it is `{other}`; keys.{place}.{action} stays as it was",
                    chord.name()
                );
                return self.problem(at, text);
            }
        }
        let line = self.line(at);
        self.config.keys.push((binding.context.name.unwrap_or_default(), action, list(&chords), line));
        self.config.keymap.set(row, chords);
    }

    fn chords(&mut self, name: &str, value: Spanned<DeValue<'_>>) -> Option<Vec<Chord>> {
        let place = value.span().start;
        let values = match value.into_inner() {
            DeValue::Array(values) => values.into_iter().map(Spanned::into_inner).collect(),
            single @ DeValue::String(_) => vec![single],
            _ => {
                self.problem(place, format!("{name} takes a list of keys, such as [\"Ctrl-R\", \"F5\"]"));
                return None;
            }
        };
        let mut chords = Vec::new();
        for value in values {
            let text = if let DeValue::String(text) = &value { text.as_ref() } else { "" };
            match parse(text) {
                Some(chord) => chords.push(chord),
                None => {
                    self.problem(
                        place,
                        format!("`{text}` is no key; keys are `a`, `F5`, `Ctrl-Enter`, `Alt-Left`, …"),
                    );
                    return None;
                }
            }
        }
        Some(chords)
    }

    /// What a key does already where both would hold.
    fn taken(&self, context: &'static Context, row: usize, chord: Chord) -> Option<String> {
        let meets = |other: &'static Context| {
            let both = |all: Together| all.contains(&context) && all.contains(&other);
            [context, other].contains(&&ALWAYS) || together().any(both)
        };
        let rows = self.config.keymap.rows().enumerate().filter(|(i, _)| *i != row);
        let mut others = rows.filter(|(_, (binding, _))| meets(binding.context));
        others.find(|(_, (_, keys))| keys.contains(&chord)).map(|(_, (binding, _))| {
            let place = binding.context.name.unwrap_or("question");
            format!("{place}.{}", action_name(binding.action))
        })
    }
}
