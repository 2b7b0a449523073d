//! Keys: a chord, its name, and the keys that the configuration sets.

use std::collections::BTreeMap;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use KeyCode::{BackTab, Char, Down, Left, PageDown, PageUp, Right, Tab, Up};

/// A key with its modifiers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chord(pub KeyCode, pub KeyModifiers);

/// The keys that the configuration sets, by their rows in the table.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Keymap {
    pub(super) set: BTreeMap<usize, Vec<Chord>>,
}

/// A key alone.
pub(crate) const fn key(code: KeyCode) -> Chord {
    Chord(code, KeyModifiers::NONE)
}

/// A character's key.
pub(crate) const fn c(letter: char) -> Chord {
    key(KeyCode::Char(letter))
}

/// A function key.
pub(crate) const fn f(n: u8) -> Chord {
    key(KeyCode::F(n))
}

/// A key with Ctrl.
pub(crate) const fn ctrl(code: KeyCode) -> Chord {
    Chord(code, KeyModifiers::CONTROL)
}

impl From<KeyEvent> for Chord {
    /// Terminals differ in how they report shifted keys; a chord has one form for each.
    fn from(event: KeyEvent) -> Chord {
        let kept = KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT;
        let modifiers = event.modifiers & kept;
        match event.code {
            Char(letter) if modifiers.contains(KeyModifiers::CONTROL) => {
                Chord(Char(letter.to_ascii_lowercase()), modifiers - KeyModifiers::SHIFT)
            }
            Char(letter) => Chord(Char(letter), modifiers - KeyModifiers::SHIFT),
            BackTab => key(BackTab),
            Tab if modifiers.contains(KeyModifiers::SHIFT) => key(BackTab),
            code => Chord(code, modifiers),
        }
    }
}

impl Chord {
    /// As written in the help: `Ctrl-C`, `Shift-Enter`, `F5`.
    pub fn name(self) -> String {
        let mut name = String::new();
        for (modifier, word) in
            [(KeyModifiers::CONTROL, "Ctrl-"), (KeyModifiers::ALT, "Alt-"), (KeyModifiers::SHIFT, "Shift-")]
        {
            if self.1.contains(modifier) {
                name.push_str(word);
            }
        }
        let key = match self.0 {
            Char(' ') => "Space".into(),
            Char(letter) if self.1.contains(KeyModifiers::CONTROL) => letter.to_ascii_uppercase().to_string(),
            Char(letter) => letter.to_string(),
            KeyCode::F(n) => format!("F{n}"),
            Up => "↑".into(),
            Down => "↓".into(),
            Left => "←".into(),
            Right => "→".into(),
            BackTab => "Shift-Tab".into(),
            PageUp => "PgUp".into(),
            PageDown => "PgDn".into(),
            other => format!("{other:?}"),
        };
        name + key.as_str()
    }
}

/// All the keys of a row.
pub(crate) fn names(keys: &[Chord]) -> String {
    match (keys.first(), keys.last()) {
        (Some(first), Some(last)) if keys.len() > 4 => format!("{}–{}", first.name(), last.name()),
        _ => keys.iter().map(|chord| chord.name()).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifted_keys_have_one_form() {
        let shift = KeyModifiers::SHIFT;
        assert_eq!(Chord::from(KeyEvent::new(Char('R'), shift)), c('R'));
        assert_eq!(Chord::from(KeyEvent::new(Tab, shift)), key(BackTab));
        assert_eq!(Chord::from(KeyEvent::new(BackTab, shift)), key(BackTab));
        assert_eq!(Chord::from(KeyEvent::new(Char('C'), KeyModifiers::CONTROL | shift)), ctrl(Char('c')));
    }
}
