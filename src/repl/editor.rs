//! The line editor: colours, completion, hints, brackets and keys.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::config::{ColorMode, Config};
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::{Hint, Hinter, HistoryHinter};
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{
    Cmd, CompletionType, ConditionalEventHandler, Context, Editor as Line, Event, EventContext, EventHandler,
    Helper, KeyCode, KeyEvent, Modifiers, Movement, RepeatCount,
};

use super::commands::COMMANDS;
use super::hints;
use super::input::{indent_after, partner, spaces_of_tab, spaces_to_close, wants_more};
use super::paint::{Ink, Paint};
use super::printer::screen;
use crate::base::figures::count;
use crate::base::file;
use crate::base::sorted;
use crate::script::tokens::tokens;
use crate::session::exchange::Exchange;
use crate::session::protocol::{Completion, Message, Request};

/// A session that runs nothing answers within this time, or nothing is completed.
const PATIENCE: Duration = Duration::from_millis(500);
/// Lines kept in the history.
const HISTORY: usize = 10_000;

/// What was typed.
pub(crate) enum Typed {
    Text(String),
    /// Ctrl-C: what was typed is dropped.
    Cleared,
    /// Ctrl-D.
    End,
}

pub(super) struct Editor {
    line: Line<Assistant, FileHistory>,
    history: Option<PathBuf>,
}

impl Editor {
    /// An editor on this process's terminal, and what is to be said about its history.
    ///
    /// # Errors
    /// The terminal can't be used.
    pub(super) fn open(
        link: Rc<RefCell<Exchange>>,
        paint: Paint,
        history: Option<PathBuf>,
    ) -> io::Result<(Editor, Option<String>)> {
        let config = config(paint)?;
        let line = line(&config, FileHistory::with_config(&config), link, paint)?;
        let mut editor = Editor { line, history };
        let note = editor.read_history().err();
        let note = note.map(|error| {
            let path = editor.history.take().unwrap_or_default();
            format!("the history is not kept: {}: {error}", path.display())
        });
        Ok((editor, note))
    }

    /// Drops what was read past the last line: who interrupts a cell wants nothing of what was to follow it.
    ///
    /// # Errors
    /// The terminal is gone.
    pub(super) fn forget_typed_ahead(&mut self) -> io::Result<()> {
        let Some(Assistant { link, paint, .. }) = self.line.helper() else { return Ok(()) };
        let (link, paint) = (Rc::clone(link), *paint);
        let config = config(paint)?;
        let known = std::mem::replace(self.line.history_mut(), FileHistory::with_config(&config));
        self.line = line(&config, known, link, paint)?;
        Ok(())
    }

    fn read_history(&mut self) -> io::Result<()> {
        let Some(path) = &self.history else { return Ok(()) };
        if let Some(folder) = path.parent() {
            file::make_folder(folder)?;
        }
        // From now on the file is there, and can be written to.
        file::append(path, |_| {})?;
        self.line.load_history(path).map_err(failed)
    }

    /// Reads one piece of code or a command. It is in the history file before this returns.
    ///
    /// # Errors
    /// The terminal is gone.
    pub(super) fn read(&mut self, prompt: &str) -> io::Result<Typed> {
        let paint = self.line.helper().map(|helper| helper.paint);
        let styled = paint.map_or_else(|| prompt.to_string(), |paint| paint.with(Ink::In, prompt));
        match self.line.readline(&(prompt, styled)) {
            Ok(text) => {
                self.keep(text.trim_end());
                Ok(Typed::Text(text))
            }
            Err(ReadlineError::Interrupted) => Ok(Typed::Cleared),
            Err(ReadlineError::Eof) => Ok(Typed::End),
            Err(error) => Err(failed(error)),
        }
    }

    fn keep(&mut self, text: &str) {
        let added = !text.is_empty() && self.line.add_history_entry(text).unwrap_or(false);
        if let Some(path) = self.history.as_ref().filter(|_| added) {
            // A disk that has filled up meanwhile is no reason to stop.
            let _ = self.line.append_history(path);
        }
    }
}

fn config(paint: Paint) -> io::Result<Config> {
    let colours = if paint.on { ColorMode::Enabled } else { ColorMode::Disabled };
    let config = Config::builder()
        .max_history_size(HISTORY)
        .map_err(failed)?
        .history_ignore_dups(true)
        .map_err(failed)?
        .history_ignore_space(true)
        .completion_type(CompletionType::List)
        // What would not fit is not listed, see [`fitting`].
        .completion_prompt_limit(usize::MAX)
        .color_mode(colours)
        .build();
    Ok(config)
}

fn line(
    config: &Config,
    history: FileHistory,
    link: Rc<RefCell<Exchange>>,
    paint: Paint,
) -> io::Result<Line<Assistant, FileHistory>> {
    let mut line = Line::with_history(config.clone(), history).map_err(failed)?;
    line.set_helper(Some(Assistant { link, paint, files: FilenameCompleter::new() }));
    bind(&mut line);
    Ok(line)
}

fn failed(error: ReadlineError) -> io::Error {
    match error {
        ReadlineError::Io(error) => error,
        other => io::Error::other(other.to_string()),
    }
}

fn bind(line: &mut Line<Assistant, FileHistory>) {
    let on = |code, modifiers| Event::from(KeyEvent(code, modifiers));
    let mut keys: Vec<(Event, EventHandler)> = Vec::new();
    let handler = |key: EditorKey| EventHandler::Conditional(Box::new(key));
    for code in [KeyCode::Enter, KeyCode::Char('\r'), KeyCode::Char('\n')] {
        keys.push((on(code, Modifiers::NONE), handler(EditorKey::Enter)));
        keys.push((on(code, Modifiers::ALT), handler(EditorKey::Break)));
    }
    for close in ['}', ')', ']'] {
        keys.push((on(KeyCode::Char(close), Modifiers::NONE), handler(EditorKey::Close(close))));
    }
    keys.push((on(KeyCode::Tab, Modifiers::NONE), handler(EditorKey::Tab)));
    for (event, handler) in keys {
        line.bind_sequence(event, handler);
    }
}

/// Keys that do something of their own.
enum EditorKey {
    /// Runs what is whole, and breaks the line otherwise.
    Enter,
    /// Breaks the line, whatever stands there.
    Break,
    /// A closing bracket, which steps back on a blank line.
    Close(char),
    /// Indents a blank line; completes elsewhere.
    Tab,
}

impl ConditionalEventHandler for EditorKey {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext) -> Option<Cmd> {
        let text = context.line();
        let before = text.get(..context.pos()).unwrap_or(text);
        let broken = || Cmd::Insert(1, format!("\n{}", " ".repeat(indent_after(before))));
        match self {
            EditorKey::Enter if wants_more(text) => Some(broken()),
            EditorKey::Enter => Some(Cmd::AcceptLine),
            EditorKey::Break => Some(broken()),
            EditorKey::Close(bracket) => {
                let line = format!("{}{bracket}", " ".repeat(spaces_to_close(before)?));
                Some(Cmd::Replace(Movement::BeginningOfLine, Some(line)))
            }
            EditorKey::Tab => Some(Cmd::Insert(1, " ".repeat(spaces_of_tab(before)?))),
        }
    }
}

/// What the editor knows about the code.
struct Assistant {
    link: Rc<RefCell<Exchange>>,
    paint: Paint,
    files: FilenameCompleter,
}

impl Helper for Assistant {}

/// [`EditorKey::Enter`] says what is whole.
impl Validator for Assistant {}

impl Completer for Assistant {
    type Candidate = Pair;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let before = line.get(..pos).unwrap_or(line);
        if let Some(name) = before.strip_prefix(':')
            && !name.contains(char::is_whitespace)
        {
            let fits = COMMANDS.iter().filter(|(known, ..)| known.starts_with(name));
            let pair = |(known, wants, _): &(&str, &str, &str)| Pair {
                display: format!(":{known} {wants}"),
                replacement: format!(":{known}{}", if wants.is_empty() { "" } else { " " }),
            };
            return Ok((0, fitting(fits.map(pair).collect())));
        }
        let takes_file = [":load ", ":save ", ":save! ", ":trace ", ":memsnap "];
        if takes_file.iter().any(|command| before.starts_with(command)) {
            let (start, files) = self.files.complete_path(line, pos)?;
            return Ok((start, fitting(files)));
        }
        let (start, items) = completions(&mut self.link.borrow_mut(), line, pos);
        Ok((start, fitting(pairs(items, line.get(start..pos).unwrap_or_default()))))
    }
}

/// What is listed, and what each puts in the place of what was typed: itself only where all begin with that, in a module
/// perhaps, or in other cases. What fits by its letters alone is shown, and leaves the line as it is.
fn pairs(items: Vec<Completion>, typed: &str) -> Vec<Pair> {
    let low = typed.to_lowercase();
    let begins = |name: &str| name.to_lowercase().starts_with(&low);
    let goes_on = |item: &Completion| begins(&item.text) || item.text.rsplit("::").next().is_some_and(begins);
    let all = items.iter().all(goes_on);
    let pair = |item: Completion| Pair {
        display: called(&item),
        replacement: if all { item.text } else { typed.to_owned() },
    };
    let mut pairs: Vec<Pair> = items.into_iter().map(pair).collect();
    // One alone is taken without being shown.
    if !all && pairs.len() == 1 {
        pairs.push(Pair { display: String::new(), replacement: typed.to_owned() });
    }
    pairs
}

/// As many as have room on the screen, and how many more there are: a list that waits for a key at each page would take
/// keys that are meant for the line.
fn fitting(all: Vec<Pair>) -> Vec<Pair> {
    cut_to(all, screen())
}

fn cut_to(mut all: Vec<Pair>, (columns, rows): (usize, usize)) -> Vec<Pair> {
    let widest = all.iter().map(|pair| pair.display.chars().count()).max().unwrap_or(0);
    let in_a_row = (columns / (widest + BETWEEN).min(columns)).max(1);
    // The line itself and what stands above it stay in sight.
    let room = (in_a_row * rows.saturating_sub(2)).max(2);
    if all.len() <= room {
        return all;
    }
    let more = all.len() + 1 - room;
    // What all have in common stands for those that are left out.
    let common = all.iter().map(|pair| pair.replacement.clone()).reduce(|a, b| in_common(&a, &b).to_owned());
    all.truncate(room - 1);
    let display = format!("… and {} more", count(more as u64));
    all.push(Pair { display, replacement: common.unwrap_or_default() });
    all
}

/// What two names begin with.
fn in_common<'a>(a: &'a str, b: &str) -> &'a str {
    let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum();
    a.get(..same).unwrap_or_default()
}

/// Columns between the names in a list.
const BETWEEN: usize = 2;

/// How a completion is called; of a variable its name and type.
pub(super) fn called(item: &Completion) -> String {
    let Completion { text, signature, .. } = item;
    match (is_own(item), signature.is_empty()) {
        (false, _) => signature.clone(),
        (true, true) => text.clone(),
        (true, false) => format!("{text}: {signature}"),
    }
}

/// Whether it is a variable or a part of one, of which the type is told and no call.
fn is_own(item: &Completion) -> bool {
    let name = item.text.rsplit("::").next().unwrap_or_default();
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let stands = |(at, _): (usize, &str)| {
        let (before, behind) = (item.signature.get(..at), item.signature.get(at + name.len()..));
        !before.is_some_and(|text| text.ends_with(is_part))
            && !behind.is_some_and(|text| text.starts_with(is_part))
    };
    !item.signature.match_indices(name).any(stands)
}

/// The names that the one before byte `cursor` could become, and where it starts.
pub(super) fn completions(link: &mut Exchange, text: &str, cursor: usize) -> (usize, Vec<Completion>) {
    let code = text.to_string();
    match link.ask(PATIENCE, |id| Request::Complete { id, code, cursor }, &mut |_| ()) {
        Ok(Message::Completions { start, mut items, .. }) => {
            // What Tab adds is what all names have in common, so that they have to begin alike.
            let typed = text.get(start..cursor).unwrap_or_default();
            if items.iter().any(|item| item.text.starts_with(typed)) {
                items.retain(|item| item.text.starts_with(typed));
            }
            // What is the learner's own comes before what everything of its kind has.
            sorted::sort_by(&mut items, |a, b| (!is_own(a), &a.text).cmp(&(!is_own(b), &b.text)));
            (start, items)
        }
        _ => (cursor, Vec::new()),
    }
}

/// What stands behind the cursor, and what of it a key takes over.
pub(crate) struct Ahead {
    shown: String,
    taken: bool,
}

impl Hint for Ahead {
    fn display(&self) -> &str {
        &self.shown
    }

    fn completion(&self) -> Option<&str> {
        self.taken.then_some(&self.shown)
    }
}

impl Hinter for Assistant {
    type Hint = Ahead;

    /// Nothing without colours: a hint would look like what was typed.
    fn hint(&self, line: &str, pos: usize, context: &Context<'_>) -> Option<Ahead> {
        if !self.paint.on || pos < line.len() || line.trim().is_empty() {
            return None;
        }
        if let Some(shown) = hints::parameters(line) {
            return Some(Ahead { shown, taken: false });
        }
        let shown = HistoryHinter::new().hint(line, pos, context)?;
        (!shown.contains('\n')).then_some(Ahead { shown, taken: true })
    }
}

impl Highlighter for Assistant {
    fn highlight<'l>(&self, line: &'l str, pos: usize) -> Cow<'l, str> {
        if !self.paint.on {
            return Cow::Borrowed(line);
        }
        let before = line.get(..pos).and_then(|before| before.char_indices().next_back());
        let here = [Some(pos), before.map(|(at, _)| at)].into_iter().flatten();
        let pair = here.into_iter().find_map(|at| Some((at, partner(line, at)?)));
        Cow::Owned(coloured(line, pair, self.paint))
    }

    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        Cow::Owned(self.paint.with(Ink::Dim, hint))
    }

    fn highlight_char(&self, _: &str, _: usize, kind: CmdKind) -> bool {
        self.paint.on && kind != CmdKind::ForcedRefresh
    }
}

/// Code in its colours, with a pair of brackets.
fn coloured(text: &str, pair: Option<(usize, usize)>, paint: Paint) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let mut at = 0;
    for (row, line) in tokens(text.split('\n')).into_iter().enumerate() {
        if row > 0 {
            out.push('\n');
            at += 1;
        }
        let inks = line.into_iter().map(|(c, token)| {
            let paired = pair.is_some_and(|(a, b)| a == at || b == at);
            at += c.len_utf8();
            (c, if paired { Ink::Pair } else { Ink::Code(token) })
        });
        let inks: Vec<(char, Ink)> = inks.collect();
        for run in inks.chunk_by(|a, b| a.1 == b.1) {
            let piece: String = run.iter().map(|(c, _)| *c).collect();
            out += &run.first().map_or_else(String::new, |(_, ink)| paint.with(*ink, &piece));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_is_cut_has_in_common_what_all_have() {
        let pair =
            |n: usize| Pair { display: format!("name_{n:03}(x)"), replacement: format!("name_{n:03}") };
        let all = || (0..200).map(pair).collect::<Vec<_>>();
        let cut = cut_to(all(), (80, 24));
        assert_eq!(cut.len(), 22 * 6);
        assert_eq!(cut[cut.len() - 1].display, "… and 69 more");
        assert_eq!(cut[cut.len() - 1].replacement, "name_");
        assert_eq!(cut_to(all(), (80, 60)).len(), 200);
        assert_eq!(cut_to(all(), (10, 1)).len(), 2);
    }

    #[test]
    fn what_does_not_begin_as_it_was_typed_takes_nothings_place() {
        let item = |text: &str| Completion {
            text: text.into(),
            signature: format!("{text}(x)"),
            summary: String::new(),
        };
        let put = |texts: &[&str], typed: &str| {
            let pairs = pairs(texts.iter().map(|text| item(text)).collect(), typed);
            pairs.into_iter().map(|pair| pair.replacement).collect::<Vec<_>>()
        };
        assert_eq!(put(&["erfc"], "fc"), ["fc", "fc"]);
        assert_eq!(put(&["register_full", "register_forward"], "we"), ["we", "we"]);
        assert_eq!(put(&["weight"], "we"), ["weight"]);
        assert_eq!(put(&["F::leaky_relu", "Linear"], "l"), ["F::leaky_relu", "Linear"]);
    }

    #[test]
    fn code_is_coloured_and_keeps_its_text() {
        let paint = Paint { on: true, full: false, light: false };
        let text = "let x = f(1)\n// é";
        let shown = coloured(text, Some((9, 11)), paint);
        assert_eq!(crate::base::text::strip_control(&shown), text);
        for piece in ["\x1b[1;38;5;74mlet\x1b[0m", "\x1b[1;7m(\x1b[0m", "\x1b[1;7m)\x1b[0m", "38;5;175m1"] {
            assert!(shown.contains(piece), "{piece:?} in {shown:?}");
        }
        assert_eq!(coloured(text, None, paint.only(false)), text);
    }
}
