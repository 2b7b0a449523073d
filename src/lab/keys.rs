//! Keys and what they do: input is looked up in the one table, the key bar and the help are made from it.

use std::borrow::Cow;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::bindings::BINDINGS;
use super::record::What;
use super::state::{Pane, Popup, Screen, State};

use Action as A;
use Bar::{Always, By, Never, When};
use Context as C;
use KeyCode::{BackTab, Char, Down, Left, PageDown, PageUp, Right, Tab, Up};

/// Where a binding holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Context {
    /// Everywhere but in a popup.
    Anywhere,
    /// Everywhere but in a popup or while typing.
    Browse,
    Lesson,
    Cells,
    Machine,
    /// While the machine fills the terminal.
    MachineScreen,
    Home,
    /// While typing a path.
    Prompt,
    /// While typing in a cell.
    Editor,
    /// While typing a prediction.
    Answer,
    /// While names are offered.
    Complete,
    /// In a list that is narrowed by typing.
    Picker,
    /// While typing what to look for.
    Find,
    Help,
    Confirm,
}

/// What a key does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    Show(Pane),
    NextPane,
    PreviousPane,
    Maximise,
    Wider,
    Narrower,
    NextStep,
    PreviousStep,
    Run,
    RunAndGo,
    RunAll,
    RunAbove,
    RunStale,
    RunAnew,
    Verify,
    Interrupt,
    Restart,
    Save,
    Quit,
    Help,
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    Enter,
    AddAbove,
    AddBelow,
    CutCell,
    CopyCell,
    PasteCell,
    /// Twice in a row.
    DeleteCell,
    RestoreCell,
    Markdown,
    Code,
    WholeOutput,
    Hint,
    Skip,
    Choose,
    NextSection,
    PreviousSection,
    Scale,
    Sort,
    GoToLine,
    Unpick,
    NextEvent,
    PreviousEvent,
    ZoomIn,
    ZoomOut,
    PanRight,
    PanLeft,
    Fit,
    FitAll,
    /// A file of what happened.
    Export(What),
    NextCell,
    PreviousCell,
    /// The machine alone, or back.
    MachineScreen,
    /// The home screen, or back.
    Home,
    Open,
    OpenPath,
    Continue,
    CommitPath,
    PathBackspace,
    OtherHelp,
    Leave,
    Commit,
    Edit(Edit),
    Complete,
    Doc,
    Find,
    Palette,
    Past,
    Python,
    Choice(Choice),
    Yes,
    No,
}

/// A movement in a list, and what is done with what is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    Next,
    Previous,
    PageNext,
    PagePrevious,
    Accept,
    Erase,
    Close,
}

/// A change or a movement within a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edit {
    Newline,
    /// Indents, or completes the name before the cursor.
    Tab,
    /// Indents less, or tells of the name at the cursor.
    BackTab,
    Comment,
    Cut,
    Copy,
    Paste,
    SelectAll,
    Extend(Way),
    Backspace,
    Delete,
    DeleteToEnd,
    DeleteWord,
    Go(Way),
    Undo,
    Redo,
}

/// Where the cursor goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    Left,
    Right,
    WordLeft,
    WordRight,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    TextStart,
    TextEnd,
}

/// When a binding stands in the key bar.
#[derive(Clone, Copy)]
pub enum Bar {
    Never,
    Always(&'static str),
    When(fn(&State) -> bool, &'static str),
    /// With a label that depends on what is selected.
    By(fn(&State) -> Option<&'static str>),
}

/// Contexts that hold together; the nearer one may hide nothing of the farther. While names are offered, the keys of
/// the list hide those of the editor.
pub const TOGETHER: &[&[Context]] = &[
    &[C::Lesson, C::Browse, C::Anywhere],
    &[C::Cells, C::Browse, C::Anywhere],
    &[C::Machine, C::Browse, C::Anywhere],
    &[C::MachineScreen, C::Machine, C::Anywhere],
    &[C::Home],
    &[C::Prompt],
    &[C::Editor, C::Anywhere],
    &[C::Answer, C::Anywhere],
    &[C::Complete, C::Anywhere],
    &[C::Picker],
    &[C::Find],
    &[C::Help],
    &[C::Confirm],
];

/// A row of the table.
pub struct Binding {
    pub context: Context,
    pub keys: &'static [Chord],
    pub action: Action,
    pub bar: Bar,
    pub help: &'static str,
}

/// A key with its modifiers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chord(pub KeyCode, pub KeyModifiers);

/// The table's keys as they are now: those that the configuration sets, and the table's own.
#[derive(Clone, PartialEq, Debug)]
pub struct Keymap(Vec<Cow<'static, [Chord]>>);

impl Default for Keymap {
    fn default() -> Keymap {
        Keymap(BINDINGS.iter().map(|binding| Cow::Borrowed(binding.keys)).collect())
    }
}

impl Keymap {
    /// Each row of the table with its keys.
    pub fn rows(&self) -> impl Iterator<Item = (&'static Binding, &[Chord])> {
        BINDINGS.iter().zip(self.0.iter().map(AsRef::as_ref))
    }

    /// Gives a row other keys.
    pub fn set(&mut self, row: usize, keys: Vec<Chord>) {
        if let Some(place) = self.0.get_mut(row) {
            *place = Cow::Owned(keys);
        }
    }
}

/// A key alone.
pub const fn key(code: KeyCode) -> Chord {
    Chord(code, KeyModifiers::NONE)
}

/// A character's key.
pub const fn c(letter: char) -> Chord {
    key(KeyCode::Char(letter))
}

/// A function key.
pub const fn f(n: u8) -> Chord {
    key(KeyCode::F(n))
}

/// A key with Ctrl.
pub const fn ctrl(code: KeyCode) -> Chord {
    Chord(code, KeyModifiers::CONTROL)
}

/// The contexts that hold now, the nearest first.
pub fn contexts(state: &State) -> &'static [Context] {
    match (state.popup, state.screen) {
        (None, Screen::Machine) => return &[C::MachineScreen, C::Machine, C::Anywhere],
        (None, Screen::Home) if state.home.prompt.is_some() => return &[C::Prompt],
        (None, Screen::Home) => return &[C::Home],
        _ => {}
    }
    match (state.popup, state.editing, state.focus) {
        (Some(Popup::Help(_) | Popup::Glossary(_) | Popup::Doc(_)), ..) => &[C::Help],
        (Some(Popup::Palette | Popup::Past), ..) => &[C::Picker],
        (Some(Popup::Find), ..) => &[C::Find],
        (Some(Popup::Confirm(_)), ..) => &[C::Confirm],
        (None, true, _) if state.aid.completing.is_some() => &[C::Complete, C::Editor, C::Anywhere],
        (None, true, _) if on_cell(state) => &[C::Editor, C::Anywhere],
        (None, true, _) => &[C::Answer, C::Anywhere],
        (None, false, Pane::Lesson) => &[C::Lesson, C::Browse, C::Anywhere],
        (None, false, Pane::Cells) => &[C::Cells, C::Browse, C::Anywhere],
        (None, false, Pane::Machine) => &[C::Machine, C::Browse, C::Anywhere],
    }
}

/// What a key does now.
pub fn find(state: &State, event: KeyEvent) -> Option<Action> {
    let chord = Chord::from(event);
    contexts(state).iter().find_map(|context| {
        let mut here = state.keymap.rows().filter(|(binding, _)| binding.context == *context);
        here.find(|(_, keys)| keys.contains(&chord)).map(|(binding, _)| binding.action)
    })
}

/// What the key bar shows now: keys and labels, the most wanted first.
pub fn bar(state: &State) -> Vec<(String, &'static str)> {
    let contexts = contexts(state);
    let shown = state.keymap.rows().filter(|(binding, _)| contexts.contains(&binding.context));
    // A key that a nearer context takes is none of the farther one's.
    let place = |context: Context| contexts.iter().position(|c| *c == context);
    let hidden = |binding: &Binding, keys: &[Chord]| {
        let mut nearer =
            state.keymap.rows().filter(|(other, _)| place(other.context) < place(binding.context));
        nearer.any(|(other, theirs)| {
            contexts.contains(&other.context) && keys.first().is_some_and(|first| theirs.contains(first))
        })
    };
    shown
        .filter(|(binding, keys)| !hidden(binding, keys))
        .filter_map(|(binding, keys)| {
            let label = match binding.bar {
                Never => return None,
                Always(label) => label,
                When(condition, label) => condition(state).then_some(label)?,
                By(label) => label(state)?,
            };
            Some((binding.short_name(keys)?, label))
        })
        .collect()
}

fn on_cell(state: &State) -> bool {
    state.selected_cell().is_some()
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
pub fn names(keys: &[Chord]) -> String {
    match (keys.first(), keys.last()) {
        (Some(first), Some(last)) if keys.len() > 4 => format!("{}–{}", first.name(), last.name()),
        _ => keys.iter().map(|chord| chord.name()).collect::<Vec<_>>().join(", "),
    }
}

impl Binding {
    /// Its first key, as the key bar has it; `None` where it has none.
    fn short_name(&self, keys: &[Chord]) -> Option<String> {
        let first = keys.first()?;
        Some(match self.action {
            A::Up if *first == key(Up) => "↑↓".into(),
            A::NextSection if *first == key(Right) => "←→".into(),
            A::NextEvent if *first == c('.') => ", .".into(),
            A::ZoomIn if *first == c('+') => "+ -".into(),
            A::NextCell if *first == c(']') => "[ ]".into(),
            A::Choose => names(keys),
            _ => first.name(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_means_two_things_at_once() {
        for contexts in TOGETHER {
            let mut seen = std::collections::HashMap::new();
            for binding in BINDINGS.iter().filter(|b| contexts.contains(&b.context)) {
                for chord in binding.keys {
                    if let Some(other) = seen.insert(chord.name(), binding.help) {
                        panic!("{} is both {other:?} and {:?} in {contexts:?}", chord.name(), binding.help);
                    }
                }
            }
        }
    }

    #[test]
    fn typing_keys_stay_free_for_typing() {
        for binding in
            BINDINGS.iter().filter(|b| matches!(b.context, C::Editor | C::Answer | C::Prompt | C::Anywhere))
        {
            for Chord(code, modifiers) in binding.keys {
                assert!(!matches!(code, Char(_)) || !modifiers.is_empty(), "{}", binding.help);
            }
        }
    }

    #[test]
    fn shifted_keys_have_one_form() {
        let shift = KeyModifiers::SHIFT;
        assert_eq!(Chord::from(KeyEvent::new(Char('R'), shift)), c('R'));
        assert_eq!(Chord::from(KeyEvent::new(Tab, shift)), key(BackTab));
        assert_eq!(Chord::from(KeyEvent::new(BackTab, shift)), key(BackTab));
        assert_eq!(Chord::from(KeyEvent::new(Char('C'), KeyModifiers::CONTROL | shift)), ctrl(Char('c')));
    }
}
