//! The keys of the home screen.

use crossterm::event::KeyCode;

use crate::lab::model::actions::Action as A;
use crate::lab::model::binding::Bar::{Always, Never, When};
use crate::lab::model::binding::{Binding, Condition, row};
use crate::lab::model::context::{ANYWHERE, Context};
use crate::lab::model::keys::{c, ctrl, f, key};
use crate::lab::model::screens::keys::ScreenKeys;

use KeyCode::{Backspace, Char, Down, End, Enter, Esc, PageDown, PageUp, Up};

pub(crate) const HOME: Context =
    Context { name: Some("home"), heading: Some("Home"), section: Some("home"), ..Context::new("Home") };

/// While typing a path.
pub(crate) const PROMPT: Context =
    Context { name: Some("path"), heading: Some("Typing a path"), ..Context::new("Prompt") };

pub(super) const KEYS: ScreenKeys =
    ScreenKeys { contexts: &[&HOME, &PROMPT], together: &[&[&HOME], &[&PROMPT]], rows: ROWS, ways: WAYS };

const WAYS: &[Binding] = &[row(&ANYWHERE, &[f(7)], A::Home, Never, "home: lessons, notebooks and devices")];

const ROWS: &[Binding] = &[
    row(&HOME, &[key(Enter)], A::Open, Always("open"), "open what is selected"),
    row(&HOME, &[c('c')], A::Continue, When(Condition::Resume, "continue"), "continue where you left off"),
    row(&HOME, &[c('o'), c('n')], A::OpenPath, Always("notebook"), "open or create a notebook by its path"),
    row(&HOME, &[key(Up), c('k')], A::Up, Always("select"), "select the entry above"),
    row(&HOME, &[key(Down), c('j')], A::Down, Never, "select the entry below"),
    row(&HOME, &[key(PageUp)], A::PageUp, Never, "ten entries up"),
    row(&HOME, &[key(PageDown)], A::PageDown, Never, "ten entries down"),
    row(&HOME, &[key(KeyCode::Home), c('g')], A::First, Never, "select the first entry"),
    row(&HOME, &[key(End), c('G')], A::Last, Never, "select the last entry"),
    row(&HOME, &[key(Esc), f(7)], A::Home, When(Condition::Document, "back"), "back to what is open"),
    row(&HOME, &[c('q'), ctrl(Char('q'))], A::Quit, Always("quit"), "quit"),
    row(&HOME, &[ctrl(Char('p'))], A::Palette, Never, "every action, by its name"),
    row(&HOME, &[c('?')], A::Help, Always("help"), "this help"),
    row(&PROMPT, &[key(Enter)], A::CommitPath, Always("open"), "open the file, or begin it"),
    row(&PROMPT, &[key(Esc)], A::Leave, Always("leave"), "leave the path"),
    row(&PROMPT, &[key(Backspace)], A::PathBackspace, Never, "delete the last character"),
];
