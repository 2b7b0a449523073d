//! The keys of popups, and of lists that stand over what is open.

use crossterm::event::KeyCode;

use KeyCode::{Backspace, Char, Down, End, Enter, Esc, Home, PageDown, PageUp, Tab, Up};

use crate::lab::model::actions::{Action as A, Choice};
use crate::lab::model::binding::Bar::{Always, Answer, Never, When};
use crate::lab::model::binding::{Binding, Condition, row};
use crate::lab::model::context::{Context, Together};
use crate::lab::model::keys::{c, ctrl, key};

/// While names are offered.
pub(crate) const COMPLETE: Context = Context {
    name: Some("complete"),
    heading: Some("While names are offered"),
    typed: true,
    ..Context::new("Complete")
};

/// In a list that is narrowed by typing.
pub(crate) const PICKER: Context =
    Context { name: Some("list"), heading: Some("In a list of actions or cells"), ..Context::new("Picker") };

/// While typing what to look for.
pub(crate) const FIND: Context =
    Context { name: Some("find"), heading: Some("Finding in a cell"), ..Context::new("Find") };

pub(crate) const HELP: Context = Context { name: Some("help"), ..Context::new("Help") };

/// While typing what to look for in the list of keys.
pub(crate) const SEARCH: Context = Context { typed: true, ..Context::new("Search") };
/// While typing the name to save under.
pub(crate) const SAVE_AS: Context =
    Context { name: Some("save-as"), heading: Some("Saving under another name"), ..Context::new("SaveAs") };

/// While typing the devices to go on with.
pub(crate) const DEVICES: Context =
    Context { name: Some("devices"), heading: Some("Choosing other devices"), ..Context::new("Devices") };

/// While it is shown how the file differs.
pub(crate) const DIFFERENCES: Context = Context {
    name: Some("differences"),
    heading: Some("Differences from the file"),
    ..Context::new("Differences")
};

pub(crate) const CONFIRM: Context = Context::new("Confirm");

/// Each holds alone; names are offered over the keys of a screen.
pub(super) const TOGETHER: [Together; 8] =
    [&[&PICKER], &[&FIND], &[&HELP], &[&SEARCH], &[&CONFIRM], &[&SAVE_AS], &[&DEVICES], &[&DIFFERENCES]];

/// The most wanted first in each context.
pub(super) const ROWS: &[Binding] = &[
    row(&CONFIRM, &[key(Enter)], A::Harmless, Never, "the answer that loses nothing"),
    row(&CONFIRM, &[c('s')], A::SaveFirst, Answer, "save first"),
    row(&CONFIRM, &[c('a')], A::SaveAs, Answer, "save under another name"),
    row(&CONFIRM, &[c('d')], A::Differences, Answer, "show the differences"),
    row(&CONFIRM, &[c('y')], A::Yes, Answer, "yes"),
    row(&CONFIRM, &[c('n'), key(Esc), c('q')], A::No, Answer, "no"),
    row(&SAVE_AS, &[key(Enter)], A::Choice(Choice::Accept), Always("save"), "save under this name"),
    row(&SAVE_AS, &[key(Backspace)], A::Choice(Choice::Erase), Never, "take back a letter of the name"),
    row(&SAVE_AS, &[ctrl(Char('u'))], A::Choice(Choice::EraseAll), Never, "begin the name anew"),
    row(&SAVE_AS, &[key(Esc)], A::Choice(Choice::Close), Always("leave"), "save nothing"),
    row(
        &DEVICES,
        &[key(Enter)],
        A::Choice(Choice::Accept),
        Always("restart"),
        "begin a session on these devices",
    ),
    row(&DEVICES, &[key(Backspace)], A::Choice(Choice::Erase), Never, "take back a letter of the devices"),
    row(&DEVICES, &[ctrl(Char('u'))], A::Choice(Choice::EraseAll), Never, "begin the devices anew"),
    row(&DEVICES, &[key(Esc)], A::Choice(Choice::Close), Always("leave"), "keep the session and its devices"),
    row(&DIFFERENCES, &[c('r')], A::Reload, Always("take the file's cells"), "take the file's cells"),
    row(
        &DIFFERENCES,
        &[key(Esc), key(Enter), c('n'), c('q')],
        A::No,
        Always("keep what is here"),
        "keep what is here",
    ),
    row(&DIFFERENCES, &[key(Up), c('k')], A::Up, Always("scroll"), "scroll up"),
    row(&DIFFERENCES, &[key(Down), c('j')], A::Down, Never, "scroll down"),
    row(&DIFFERENCES, &[key(PageUp)], A::PageUp, Never, "a page up"),
    row(&DIFFERENCES, &[key(PageDown), c(' ')], A::PageDown, Never, "a page down"),
    row(&DIFFERENCES, &[key(Home), c('g')], A::First, Never, "to the beginning"),
    row(&DIFFERENCES, &[key(End), c('G')], A::Last, Never, "to the end"),
    row(&HELP, &[key(Esc), c('?'), c('q'), key(Enter)], A::Leave, Always("close"), "close this help")
        .weighs(90),
    row(
        &HELP,
        &[key(Tab)],
        A::OtherHelp,
        When(Condition::OtherHelp, "keys or figures"),
        "the keys, or what the figures mean",
    ),
    row(&HELP, &[key(Up), c('k')], A::Up, Always("scroll"), "scroll up"),
    row(&HELP, &[key(Down), c('j')], A::Down, Never, "scroll down"),
    row(&HELP, &[key(PageUp)], A::PageUp, Never, "a page up"),
    row(&HELP, &[key(PageDown), c(' ')], A::PageDown, Always("page"), "a page down"),
    row(&HELP, &[key(Home), c('g')], A::First, Never, "to the beginning"),
    row(&HELP, &[key(End), c('G')], A::Last, Never, "to the end"),
    row(&HELP, &[c('/')], A::Find, When(Condition::KeysHelp, "search"), "search the keys").weighs(80),
    row(&SEARCH, &[key(Enter)], A::Choice(Choice::Accept), Always("keep"), "keep what fits"),
    row(&SEARCH, &[key(Esc)], A::Choice(Choice::Close), Always("all keys"), "all keys again"),
    row(&SEARCH, &[key(Up)], A::Up, Always("scroll"), "scroll up"),
    row(&SEARCH, &[key(Down)], A::Down, Never, "scroll down"),
    row(&SEARCH, &[key(PageUp)], A::PageUp, Never, "a page up"),
    row(&SEARCH, &[key(PageDown)], A::PageDown, Always("page"), "a page down"),
    row(&SEARCH, &[key(Backspace)], A::Choice(Choice::Erase), Never, "take back a letter of the search"),
    row(&SEARCH, &[ctrl(Char('u'))], A::Choice(Choice::EraseAll), Never, "begin the search anew"),
    row(&COMPLETE, &[key(Tab), key(Enter)], A::Choice(Choice::Accept), Always("take"), "take the name")
        .weighs(99),
    row(&COMPLETE, &[key(Down)], A::Choice(Choice::Next), Always("next"), "the next name").weighs(98),
    row(&COMPLETE, &[key(Up)], A::Choice(Choice::Previous), Never, "the name before"),
    row(&COMPLETE, &[key(PageDown)], A::Choice(Choice::PageNext), Never, "further names"),
    row(&COMPLETE, &[key(PageUp)], A::Choice(Choice::PagePrevious), Never, "earlier names"),
    row(&COMPLETE, &[key(Esc)], A::Choice(Choice::Close), Always("close"), "close the list of names")
        .weighs(97),
    row(&PICKER, &[key(Enter), key(Tab)], A::Choice(Choice::Accept), Always("take"), "take what is chosen"),
    row(
        &PICKER,
        &[key(Down), ctrl(Char('n')), ctrl(Char('r'))],
        A::Choice(Choice::Next),
        Always("next"),
        "the next one",
    ),
    row(&PICKER, &[key(Up), ctrl(Char('p'))], A::Choice(Choice::Previous), Never, "the one before"),
    row(&PICKER, &[key(PageDown)], A::Choice(Choice::PageNext), Never, "a page further"),
    row(&PICKER, &[key(PageUp)], A::Choice(Choice::PagePrevious), Never, "a page back"),
    row(&PICKER, &[key(Backspace)], A::Choice(Choice::Erase), Never, "take back a letter of the search"),
    row(&PICKER, &[ctrl(Char('u'))], A::Choice(Choice::EraseAll), Never, "begin the search anew"),
    row(&PICKER, &[key(Esc), ctrl(Char('c'))], A::Choice(Choice::Close), Always("close"), "close the list"),
    row(
        &FIND,
        &[key(Enter), key(Down), ctrl(Char('f'))],
        A::Choice(Choice::Next),
        Always("next"),
        "the next place",
    ),
    row(&FIND, &[key(Up)], A::Choice(Choice::Previous), Always("before"), "the place before"),
    row(&FIND, &[key(Backspace)], A::Choice(Choice::Erase), Never, "take back a letter of what to find"),
    row(&FIND, &[ctrl(Char('u'))], A::Choice(Choice::EraseAll), Never, "begin the text to find anew"),
    row(&FIND, &[key(Esc), key(Tab)], A::Choice(Choice::Close), Always("close"), "stay here and close"),
];
