//! The learner's settings: one TOML file, each value checked by itself, so that a bad one leaves the others as they are.

mod apply;
mod chord;
mod file;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use crate::lab::model::keys::Keymap;
use crate::lab::model::theme::{Colour, Look};

/// What a setting takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SettingKind {
    Bool,
    OneOf(&'static [&'static str]),
    /// From, to.
    Whole(i64, i64),
}

/// A row of the table of settings.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// With its table: `look.theme`.
    pub name: &'static str,
    pub kind: SettingKind,
    /// As it stands in a file.
    pub default: &'static str,
    pub help: &'static str,
}

/// Every setting but the keys, which are those of the key table.
pub(crate) const SETTINGS: &[Setting] = &[
    Setting {
        name: "look.theme",
        kind: SettingKind::OneOf(&["dark", "light"]),
        default: "\"dark\"",
        help: "colours for a dark or a light terminal; both can be told apart by the colour-blind",
    },
    Setting {
        name: "look.colour",
        kind: SettingKind::OneOf(&["auto", "none", "256", "true"]),
        default: "\"auto\"",
        help: "auto asks the terminal; NO_COLOR means none",
    },
    Setting {
        name: "look.ascii",
        kind: SettingKind::Bool,
        default: "false",
        help: "draw with ASCII characters alone",
    },
    Setting {
        name: "edit.vi",
        kind: SettingKind::Bool,
        default: "false",
        help: "vi's keys while typing in a cell",
    },
    Setting {
        name: "edit.clipboard",
        kind: SettingKind::Bool,
        default: "true",
        help: "what is cut or copied goes into the terminal's clipboard as well",
    },
    Setting {
        name: "edit.python",
        kind: SettingKind::Bool,
        default: "false",
        help: "show the same code in Python from the start",
    },
    Setting {
        name: "size.lesson",
        kind: SettingKind::Whole(16, 60),
        default: "28",
        help: "share of the width that the lesson has, in percent",
    },
    Setting {
        name: "size.machine",
        kind: SettingKind::Whole(16, 60),
        default: "35",
        help: "share of the width that the machine has, in percent",
    },
    Setting {
        name: "history.cells",
        kind: SettingKind::Whole(0, 100_000),
        default: "1000",
        help: "cells run before that are kept for the search",
    },
];

/// A value as it was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    Bool(bool),
    Text(String),
    Whole(i64),
}

/// What is wrong in the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// From 1.
    pub line: usize,
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

/// The settings as they are now.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Config {
    /// What the file sets, by name.
    set: BTreeMap<&'static str, (Value, usize)>,
    pub keymap: Keymap,
    /// Keys that the file sets: context, action, keys, line.
    pub keys: Vec<(&'static str, String, String, usize)>,
    /// What is wrong in the file; the default holds there.
    pub problems: Vec<Problem>,
}

impl Config {
    /// A setting's value as it stands in a file, and the line that set it.
    pub fn shown(&self, setting: &Setting) -> (String, Option<usize>) {
        match self.set.get(setting.name) {
            Some((value, line)) => (value.to_string(), Some(*line)),
            None => (setting.default.to_owned(), None),
        }
    }

    pub fn vi(&self) -> bool {
        self.is_on("edit.vi")
    }

    pub fn clipboard(&self) -> bool {
        self.is_on("edit.clipboard")
    }

    pub fn python(&self) -> bool {
        self.is_on("edit.python")
    }

    /// Shares of the width of lesson and machine, in percent.
    pub fn shares(&self) -> (u16, u16) {
        let share = |name| u16::try_from(self.whole(name)).unwrap_or(30);
        (share("size.lesson"), share("size.machine"))
    }

    /// Cells that the history keeps.
    pub fn past(&self) -> usize {
        usize::try_from(self.whole("history.cells")).unwrap_or(0)
    }

    /// The look: the environment's, the file's, and what the command line asks for over both.
    pub fn look(&self, light: bool, ascii: bool) -> Look {
        let light = light || self.text("look.theme") == "light";
        let mut look = Look::from_env(light, ascii || self.is_on("look.ascii"));
        // NO_COLOR is stronger than the file.
        if look.colour != Colour::None {
            look.colour = match self.text("look.colour").as_str() {
                "none" => Colour::None,
                "256" => Colour::Indexed,
                "true" => Colour::True,
                _ => look.colour,
            };
        }
        look
    }

    fn value(&self, name: &str) -> Option<Value> {
        let set = self.set.get(name).map(|(value, _)| value.clone());
        let default =
            || SETTINGS.iter().find(|setting| setting.name == name).and_then(Setting::default_value);
        set.or_else(default)
    }

    fn is_on(&self, name: &str) -> bool {
        self.value(name) == Some(Value::Bool(true))
    }

    fn whole(&self, name: &str) -> i64 {
        match self.value(name) {
            Some(Value::Whole(n)) => n,
            _ => 0,
        }
    }

    fn text(&self, name: &str) -> String {
        match self.value(name) {
            Some(Value::Text(text)) => text,
            _ => String::new(),
        }
    }
}

impl Setting {
    fn default_value(&self) -> Option<Value> {
        Some(match self.kind {
            SettingKind::Bool => Value::Bool(self.default == "true"),
            SettingKind::OneOf(_) => Value::Text(self.default.trim_matches('"').to_owned()),
            SettingKind::Whole(..) => Value::Whole(self.default.parse().ok()?),
        })
    }

    /// What it takes, in words.
    pub fn takes(&self) -> String {
        match self.kind {
            SettingKind::Bool => "true or false".into(),
            SettingKind::OneOf(all) => {
                all.iter().map(|one| format!("\"{one}\"")).collect::<Vec<_>>().join(", ")
            }
            SettingKind::Whole(from, to) => format!("a whole number from {from} to {to}"),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(value) => write!(f, "{value}"),
            Value::Text(value) => write!(f, "\"{value}\""),
            Value::Whole(value) => write!(f, "{value}"),
        }
    }
}

/// A file with every setting at its default, in comments, and how keys are set.
pub fn template() -> String {
    let mut out = String::from(
        "# Settings of tensorlab. `tensorlab config` shows them all, with where each one comes from.\n\
         # Every line is at its default; take away the # to change it.\n",
    );
    let mut table = "";
    for setting in SETTINGS {
        let (of, name) = setting.name.split_once('.').unwrap_or(("", setting.name));
        if of != table {
            out += &format!("\n[{of}]\n");
            table = of;
        }
        out += &format!("# {}: {}\n#{name} = {}\n", setting.help, setting.takes(), setting.default);
    }
    out += "\n# Keys: a table for each place, a list of keys for each action. An empty list takes the keys away.\n";
    let mut table = "";
    for (name, action, keys, help) in chord::table() {
        if name != table {
            out += &format!("\n[keys.{name}]\n");
            table = name;
        }
        out += &format!("#{action} = {keys}  # {help}\n");
    }
    out
}

/// The keys as the key table has them: context, action, keys as a file has them, help.
pub fn keys() -> Vec<(&'static str, String, String, &'static str)> {
    chord::table()
}
