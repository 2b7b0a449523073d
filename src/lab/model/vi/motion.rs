//! Where motions lead.

use crate::lab::model::editor::words::Class;
use crate::lab::model::editor::{Editor, Pos};
use crate::lab::model::vi::parse::Motion;

/// What an operator takes of the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reach {
    Exclusive,
    Inclusive,
    /// Whole lines.
    Lines,
}

/// The place that a motion leads to; `None` where it leads nowhere.
pub(super) fn target(
    editor: &mut Editor,
    motion: Motion,
    count: Option<usize>,
    sought: &mut Option<(char, char)>,
) -> Option<(Pos, Reach)> {
    let at = editor.cursor();
    let n = count.unwrap_or(1);
    let last_row = editor.end_of_text().row;
    let rows = |editor: &mut Editor, by: isize| {
        editor.move_rows(by);
        (editor.cursor(), Reach::Lines)
    };
    let steps = isize::try_from(n).unwrap_or(isize::MAX);
    Some(match motion {
        Motion::Left => (Pos { col: at.col.saturating_sub(n), ..at }, Reach::Exclusive),
        Motion::Right => (Pos { col: (at.col + n).min(editor.length(at.row)), ..at }, Reach::Exclusive),
        Motion::Up if at.row == 0 => return None,
        Motion::Down if at.row == last_row => return None,
        Motion::Up => rows(editor, -steps),
        Motion::Down => rows(editor, steps),
        Motion::Word(true) => (repeat(n, at, |p| next_word(editor, p)), Reach::Exclusive),
        Motion::Word(false) => (repeat(n, at, |p| word_start(editor, p)), Reach::Exclusive),
        Motion::WordEnd => (repeat(n, at, |p| word_end(editor, p)), Reach::Inclusive),
        Motion::LineStart => (Pos { col: 0, ..at }, Reach::Exclusive),
        Motion::LineEnd => {
            let row = (at.row + n - 1).min(last_row);
            (Pos { row, col: editor.length(row).saturating_sub(1) }, Reach::Inclusive)
        }
        Motion::LineText => (line_text(editor, at.row), Reach::Exclusive),
        Motion::FirstLine => (line_text(editor, n - 1), Reach::Lines),
        Motion::LastLine => {
            (line_text(editor, count.map_or(last_row, |n| n.saturating_sub(1))), Reach::Lines)
        }
        Motion::To(kind, c) => {
            *sought = Some((kind, c));
            return to(editor, at, kind, c, n, false);
        }
        Motion::Again(same) => {
            let (kind, c) = (*sought)?;
            let kind = match (same, kind.is_lowercase()) {
                (true, _) => kind,
                (false, true) => kind.to_ascii_uppercase(),
                (false, false) => kind.to_ascii_lowercase(),
            };
            return to(editor, at, kind, c, n, true);
        }
    })
}

fn repeat(n: usize, at: Pos, step: impl Fn(Pos) -> Pos) -> Pos {
    (0..n).fold(at, |at, _| step(at))
}

fn line_text(editor: &Editor, row: usize) -> Pos {
    let row = row.min(editor.end_of_text().row);
    Pos { row, col: editor.line(row).chars().take_while(|c| *c == ' ').count() }
}

/// True for an empty line, which is a word of its own.
fn is_empty(editor: &Editor, at: Pos) -> bool {
    editor.length(at.row) == 0
}

fn next_word(editor: &Editor, from: Pos) -> Pos {
    let end = editor.end_of_text();
    let class = editor.class(from);
    let mut at = from;
    while at < end && class != Class::Space && editor.class(at) == class && at.row == from.row {
        at = editor.after(at);
    }
    while at < end && editor.class(at) == Class::Space && !(is_empty(editor, at) && at.row != from.row) {
        at = editor.after(at);
    }
    at
}

fn word_start(editor: &Editor, from: Pos) -> Pos {
    let mut at = editor.before(from);
    while at > Pos::default() && editor.class(at) == Class::Space && !is_empty(editor, at) {
        at = editor.before(at);
    }
    let class = editor.class(at);
    while at.col > 0 && editor.class(editor.before(at)) == class {
        at = editor.before(at);
    }
    at
}

/// The last character of the word at a place, and of those after it: what `cw` changes.
pub(crate) fn words_end(editor: &Editor, from: Pos, n: usize) -> Pos {
    let class = editor.class(from);
    let mut at = from;
    while at.col + 1 < editor.length(at.row) && editor.class(Pos { col: at.col + 1, ..at }) == class {
        at.col += 1;
    }
    repeat(n.saturating_sub(1), at, |p| word_end(editor, p))
}

fn word_end(editor: &Editor, from: Pos) -> Pos {
    let end = editor.end_of_text();
    let mut at = editor.after(from);
    while at < end && editor.class(at) == Class::Space {
        at = editor.after(at);
    }
    let class = editor.class(at);
    while editor.class(Pos { col: at.col + 1, ..at }) == class && at.col + 1 < editor.length(at.row) {
        at = editor.after(at);
    }
    at
}

fn to(editor: &Editor, at: Pos, kind: char, c: char, n: usize, again: bool) -> Option<(Pos, Reach)> {
    let line: Vec<char> = editor.line(at.row).chars().collect();
    let till = matches!(kind, 't' | 'T');
    // `t` again must not stay where it stopped before.
    let skip = usize::from(till && again);
    let col = if kind.is_lowercase() {
        let places = line.iter().enumerate().skip(at.col + 1 + skip).filter(|(_, found)| **found == c);
        places.map(|(i, _)| i).nth(n - 1)? - usize::from(till)
    } else {
        let places =
            line.iter().enumerate().take(at.col.saturating_sub(skip)).rev().filter(|(_, found)| **found == c);
        places.map(|(i, _)| i).nth(n - 1)? + usize::from(till)
    };
    let reach = if kind.is_lowercase() { Reach::Inclusive } else { Reach::Exclusive };
    Some((Pos { col, ..at }, reach))
}
