//! Keys and actions by their names in the file.

use crossterm::event::{KeyCode, KeyModifiers};

use crate::base::sorted;
use crate::lab::model::actions::{Action, OwnAction};
use crate::lab::model::binding::Binding;
use crate::lab::model::bindings::BINDINGS;
use crate::lab::model::keys::Chord;

/// Names of keys beside those of single characters and function keys.
const NAMED: [(&str, KeyCode); 17] = [
    ("Enter", KeyCode::Enter),
    ("Esc", KeyCode::Esc),
    ("Tab", KeyCode::Tab),
    ("Backspace", KeyCode::Backspace),
    ("Delete", KeyCode::Delete),
    ("Insert", KeyCode::Insert),
    ("Home", KeyCode::Home),
    ("End", KeyCode::End),
    ("PgUp", KeyCode::PageUp),
    ("PgDn", KeyCode::PageDown),
    ("Up", KeyCode::Up),
    ("Down", KeyCode::Down),
    ("Left", KeyCode::Left),
    ("Right", KeyCode::Right),
    ("Space", KeyCode::Char(' ')),
    ("PageUp", KeyCode::PageUp),
    ("PageDown", KeyCode::PageDown),
];

/// An action's name in the file: `RunAndGo` is `run-and-go`, `Edit(Go(Left))` is `go-left`, `Cell(CutCell)` is `cut-cell`.
pub(crate) fn action_name(action: Action) -> String {
    if let Action::Own(OwnAction(name)) = action {
        return name.to_owned();
    }
    let full = format!("{action:?}");
    let groups = ["Edit(", "Cell(", "Machine("];
    let inner = groups.iter().find_map(|group| full.strip_prefix(group)).unwrap_or(&full);
    let mut name = String::new();
    for c in inner.chars() {
        if c.is_uppercase() && !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
        match c {
            '(' | ' ' => name.push('-'),
            ')' => {}
            c => name.extend(c.to_lowercase()),
        }
    }
    name
}

/// A key by its name: `Ctrl-Shift-Left`, `F5`, `a`.
pub(super) fn parse(name: &str) -> Option<Chord> {
    let mut modifiers = KeyModifiers::NONE;
    let mut rest = name;
    loop {
        let cut = |word: &str| {
            let head = rest.get(..word.len()).filter(|head| head.eq_ignore_ascii_case(word));
            head.and_then(|_| rest.get(word.len()..)).filter(|after| !after.is_empty())
        };
        let (after, modifier) = if let Some(after) = cut("Ctrl-") {
            (after, KeyModifiers::CONTROL)
        } else if let Some(after) = cut("Alt-") {
            (after, KeyModifiers::ALT)
        } else if let Some(after) = cut("Shift-") {
            (after, KeyModifiers::SHIFT)
        } else {
            break;
        };
        modifiers |= modifier;
        rest = after;
    }
    let mut chars = rest.chars();
    let code = match (chars.next(), chars.next()) {
        (Some(c), None) if modifiers.contains(KeyModifiers::CONTROL) => KeyCode::Char(c.to_ascii_lowercase()),
        (Some(c), None) => KeyCode::Char(c),
        _ => {
            let named =
                NAMED.iter().find(|(named, _)| named.eq_ignore_ascii_case(rest)).map(|(_, code)| *code);
            let number =
                rest.strip_prefix(['F', 'f']).and_then(|n| n.parse().ok()).filter(|n| (1..=24).contains(n));
            named.or(number.map(KeyCode::F))?
        }
    };
    Some(match code {
        KeyCode::Tab if modifiers == KeyModifiers::SHIFT => Chord(KeyCode::BackTab, KeyModifiers::NONE),
        KeyCode::Char(_) => Chord(code, modifiers - KeyModifiers::SHIFT),
        code => Chord(code, modifiers),
    })
}

/// A key's name in the file.
pub(super) fn name(chord: Chord) -> String {
    let shown = chord.name();
    let plain = [("↑", "Up"), ("↓", "Down"), ("←", "Left"), ("→", "Right")];
    plain.iter().fold(shown, |name, (sign, word)| name.replace(sign, word))
}

/// Keys as a list in the file.
pub(super) fn list(chords: &[Chord]) -> String {
    let names: Vec<String> = chords.iter().map(|chord| format!("{:?}", name(*chord))).collect();
    format!("[{}]", names.join(", "))
}

/// The key table: context, action, keys, help.
pub(super) fn table() -> Vec<(&'static str, String, String, &'static str)> {
    let row = |binding: &'static Binding| {
        let name = binding.context.name?;
        Some((name, action_name(binding.action), list(binding.keys), binding.help))
    };
    let mut rows: Vec<_> = BINDINGS.iter().filter_map(row).collect();
    sorted::sort_by_key(&mut rows, |(context, ..)| *context);
    rows
}
