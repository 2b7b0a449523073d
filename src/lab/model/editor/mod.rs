//! A small editor for a cell's code: every change goes through one splice, which undo reverses.

pub(crate) mod bytes;
pub(crate) mod find;
mod lines;
mod select;
pub(crate) mod words;

use std::mem;

use crate::lab::model::text;
use crate::script::indent;

/// No cell grows beyond this many bytes.
pub(crate) const MAX_TEXT: usize = 1 << 20;
/// Changes that can be undone.
const MAX_UNDO: usize = 1000;

/// A place in the text: line and character, from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Pos {
    pub row: usize,
    pub col: usize,
}

/// Text of at least one line, with a cursor.
#[derive(Clone, Debug)]
pub(crate) struct Editor {
    lines: Vec<String>,
    cursor: Pos,
    /// Where the selection began; it goes from there to the cursor.
    anchor: Option<Pos>,
    /// The column to return to when moving over short lines.
    wish: Option<usize>,
    bytes: usize,
    undo: Vec<Change>,
    redo: Vec<Change>,
    /// The next change begins a new undo step.
    fresh: bool,
}

/// `removed` stood from `start`; `inserted` stands there now.
#[derive(Clone, Debug)]
struct Change {
    start: Pos,
    removed: String,
    inserted: String,
    before: Pos,
    /// Undone together with the change before it.
    with_last: bool,
}

impl Editor {
    pub(crate) fn new(text: &str) -> Editor {
        let text = text::clean(text);
        let lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        Editor {
            bytes: text.len(),
            lines,
            cursor: Pos::default(),
            anchor: None,
            wish: None,
            undo: Vec::new(),
            redo: Vec::new(),
            fresh: true,
        }
    }

    pub(crate) fn lines(&self) -> &[String] {
        &self.lines
    }

    pub(crate) fn text(&self) -> String {
        self.lines.join("\n")
    }

    pub(crate) fn cursor(&self) -> Pos {
        self.cursor
    }

    /// Puts the cursor at the nearest place that exists.
    pub(crate) fn set_cursor(&mut self, to: Pos) {
        let row = to.row.min(self.lines.len().saturating_sub(1));
        self.cursor = Pos { row, col: to.col.min(self.length(row)) };
        self.wish = None;
        self.fresh = true;
    }

    /// Types a character. A closing bracket on a blank line steps back one indent. False when the cell is full.
    pub(crate) fn insert(&mut self, c: char) -> bool {
        if !text::printable(c) {
            return true;
        }
        if self.replace_selection(c.encode_utf8(&mut [0; 4])) {
            return true;
        }
        let head = self.head();
        let closing = if matches!(c, '}' | ')' | ']') { indent::before_closing(head) } else { None };
        let back = closing.map_or(0, |spaces| head.len() - spaces);
        let start = Pos { col: self.cursor.col.saturating_sub(back), ..self.cursor };
        self.replace(start, self.cursor, c.encode_utf8(&mut [0; 4]), c != ' ')
    }

    /// Inserts text of any number of lines, stripped of control sequences. False when the cell would be too large.
    pub(crate) fn paste(&mut self, text: &str) -> bool {
        self.fresh = true;
        let (start, end) = self.selection().unwrap_or((self.cursor, self.cursor));
        let done = self.replace(start, end, &text::clean(text), false);
        self.anchor = None;
        self.fresh = true;
        done
    }

    /// Breaks the line, indenting as the line above, and one step more after an opening bracket.
    pub(crate) fn newline(&mut self) -> bool {
        self.remove_selection();
        let head = self.head().to_owned();
        let opens = head.trim_end().ends_with(['{', '(', '[']);
        let closes = self.tail().trim_start().starts_with(['}', ')', ']']);
        let deeper = indent::after(&head);
        let mut inserted = format!("\n{}", " ".repeat(deeper));
        let landing = Pos { row: self.cursor.row + 1, col: deeper };
        if opens && closes {
            inserted += &format!("\n{}", " ".repeat(indent::of(&head)));
        }
        self.fresh = true;
        let done = self.replace(self.cursor, self.cursor, &inserted, false);
        if done {
            self.set_cursor(landing);
        }
        done
    }

    /// Spaces up to the next multiple of four; with a selection, one indent before each of its lines.
    pub(crate) fn indent(&mut self) -> bool {
        if self.selection().is_some() {
            return self.indent_lines();
        }
        let n = indent::to_next_step(self.cursor.col);
        self.replace(self.cursor, self.cursor, &" ".repeat(n), false)
    }

    /// Deletes what is before the cursor: a character, an indent of spaces, or the line break.
    pub(crate) fn backspace(&mut self) {
        if self.remove_selection() {
            return;
        }
        let head = self.head();
        let start = if !head.is_empty()
            && head.len().is_multiple_of(indent::STEP)
            && head.chars().all(|c| c == ' ')
        {
            Pos { col: self.cursor.col - indent::STEP, ..self.cursor }
        } else {
            self.before(self.cursor)
        };
        self.replace(start, self.cursor, "", true);
    }

    /// Deletes the character or line break after the cursor.
    pub(crate) fn delete(&mut self) {
        if self.remove_selection() {
            return;
        }
        let end = self.after(self.cursor);
        self.replace(self.cursor, end, "", true);
    }

    /// Deletes to the line's end, or the line break there.
    pub(crate) fn delete_to_end(&mut self) {
        self.anchor = None;
        let end = Pos { col: self.length(self.cursor.row), ..self.cursor };
        if end == self.cursor {
            self.delete();
        } else {
            self.replace(self.cursor, end, "", false);
        }
    }

    pub(crate) fn move_left(&mut self) {
        self.set_cursor(self.before(self.cursor));
    }

    pub(crate) fn move_right(&mut self) {
        self.set_cursor(self.after(self.cursor));
    }

    /// Moves over whole lines, keeping the column where it can.
    pub(crate) fn move_rows(&mut self, by: isize) {
        let wish = self.wish.unwrap_or(self.cursor.col);
        let row = self.cursor.row.saturating_add_signed(by);
        self.set_cursor(Pos { row, col: wish });
        self.wish = Some(wish);
    }

    /// To the first character that is no space; from there to the line's start.
    pub(crate) fn home(&mut self) {
        let indent = self.line(self.cursor.row).chars().take_while(|c| *c == ' ').count();
        let col = if self.cursor.col == indent { 0 } else { indent };
        self.set_cursor(Pos { col, ..self.cursor });
    }

    pub(crate) fn end(&mut self) {
        self.set_cursor(Pos { col: usize::MAX, ..self.cursor });
    }

    /// Reverses the last change, with those that belong to it; false when there is none.
    pub(crate) fn undo(&mut self) -> bool {
        self.anchor = None;
        let mut done = false;
        while let Some(change) = self.undo.pop() {
            let end = advance(change.start, &change.inserted);
            self.splice(change.start, end, &change.removed);
            self.set_cursor(change.before);
            let more = change.with_last;
            self.redo.push(change);
            done = true;
            if !more {
                break;
            }
        }
        done
    }

    /// Makes the change last undone again, with those that belong to it; false when there is none.
    pub(crate) fn redo(&mut self) -> bool {
        self.anchor = None;
        let mut done = false;
        while let Some(change) = self.redo.pop() {
            let end = advance(change.start, &change.removed);
            self.splice(change.start, end, &change.inserted);
            self.set_cursor(advance(change.start, &change.inserted));
            self.undo.push(change);
            done = true;
            if !self.redo.last().is_some_and(|next| next.with_last) {
                break;
            }
        }
        done
    }

    /// Changes that `make` does are one step of undo.
    pub(crate) fn together<T>(&mut self, make: impl FnOnce(&mut Editor) -> T) -> T {
        self.fresh = true;
        let from = self.undo.len();
        let made = make(self);
        for change in self.undo.iter_mut().skip(from + 1) {
            change.with_last = true;
        }
        self.fresh = true;
        made
    }

    /// Text between two places.
    pub(crate) fn slice(&self, start: Pos, end: Pos) -> String {
        let lines =
            self.lines.iter().enumerate().skip(start.row).take((end.row + 1).saturating_sub(start.row));
        let piece = |(row, line): (usize, &String)| {
            let from = if row == start.row { start.col } else { 0 };
            let to = if row == end.row { end.col } else { usize::MAX };
            line.chars().take(to).skip(from).collect::<String>()
        };
        lines.map(piece).collect::<Vec<_>>().join("\n")
    }

    /// Replaces what stands between two places, as a step of undo of its own. False when the cell is full.
    pub(crate) fn change(&mut self, start: Pos, end: Pos, text: &str) -> bool {
        self.fresh = true;
        self.anchor = None;
        let done = self.replace(start, end, &text::clean(text), false);
        self.fresh = true;
        done
    }

    /// Changes the text and remembers how to undo it; `joins` lets it be one undo step with the change before.
    fn replace(&mut self, start: Pos, end: Pos, inserted: &str, joins: bool) -> bool {
        if self.bytes.saturating_add(inserted.len()) > MAX_TEXT {
            return false;
        }
        let before = self.cursor;
        let removed = self.splice(start, end, inserted);
        if removed.is_empty() && inserted.is_empty() {
            return true;
        }
        self.cursor = advance(start, inserted);
        self.wish = None;
        self.redo.clear();
        let fresh = mem::replace(&mut self.fresh, !joins);
        let last = self.undo.last_mut().filter(|_| joins && !fresh);
        if last.is_some_and(|last| last.join(start, &removed, inserted)) {
            return true;
        }
        if self.undo.len() >= MAX_UNDO {
            self.undo.remove(0);
        }
        self.undo.push(Change { start, removed, inserted: inserted.into(), before, with_last: false });
        true
    }

    /// The one place where text changes; gives what was removed.
    fn splice(&mut self, start: Pos, end: Pos, inserted: &str) -> String {
        let (first, last) = (self.line(start.row), self.line(end.row));
        let (head, first_rest) = first.split_at_checked(offset(first, start.col)).unwrap_or((first, ""));
        let (last_head, tail) = last.split_at_checked(offset(last, end.col)).unwrap_or((last, ""));
        let removed = if start.row == end.row {
            let n = last_head.len().saturating_sub(head.len());
            first_rest.get(..n).unwrap_or_default().to_owned()
        } else {
            let between = self.lines.iter().take(end.row).skip(start.row + 1).map(String::as_str);
            let parts: Vec<&str> =
                std::iter::once(first_rest).chain(between).chain(std::iter::once(last_head)).collect();
            parts.join("\n")
        };
        let joined = format!("{head}{inserted}{tail}");
        let from = start.row.min(self.lines.len());
        let to = (end.row + 1).clamp(from, self.lines.len());
        self.bytes = (self.bytes + inserted.len()).saturating_sub(removed.len());
        self.lines.splice(from..to, joined.split('\n').map(str::to_owned));
        removed
    }

    pub(crate) fn line(&self, row: usize) -> &str {
        self.lines.get(row).map_or("", String::as_str)
    }

    pub(crate) fn length(&self, row: usize) -> usize {
        self.line(row).chars().count()
    }

    fn head(&self) -> &str {
        let line = self.line(self.cursor.row);
        line.get(..offset(line, self.cursor.col)).unwrap_or(line)
    }

    fn tail(&self) -> &str {
        let line = self.line(self.cursor.row);
        line.get(offset(line, self.cursor.col)..).unwrap_or_default()
    }

    pub(crate) fn end_of_text(&self) -> Pos {
        let row = self.lines.len().saturating_sub(1);
        Pos { row, col: self.length(row) }
    }

    /// The place before, over whole characters with their combining marks.
    pub(crate) fn before(&self, at: Pos) -> Pos {
        if at.col == 0 {
            return match at.row.checked_sub(1) {
                Some(row) => Pos { row, col: self.length(row) },
                None => at,
            };
        }
        let head: Vec<char> = self.line(at.row).chars().take(at.col).collect();
        let marks = head.iter().rev().take_while(|c| text::char_width(**c) == 0).count();
        Pos { col: at.col.saturating_sub(marks + 1), ..at }
    }

    pub(crate) fn after(&self, at: Pos) -> Pos {
        if at.col >= self.length(at.row) {
            return if at.row + 1 < self.lines.len() { Pos { row: at.row + 1, col: 0 } } else { at };
        }
        let marks =
            self.line(at.row).chars().skip(at.col + 1).take_while(|c| text::char_width(*c) == 0).count();
        Pos { col: at.col + 1 + marks, ..at }
    }
}

impl Change {
    /// Takes a change that continues this one, as typing and erasing do.
    fn join(&mut self, start: Pos, removed: &str, inserted: &str) -> bool {
        if removed.contains('\n') || inserted.contains('\n') {
            return false;
        }
        if removed.is_empty() && self.removed.is_empty() && start == advance(self.start, &self.inserted) {
            self.inserted.push_str(inserted);
            return true;
        }
        if !inserted.is_empty() || !self.inserted.is_empty() {
            return false;
        }
        if start == self.start {
            self.removed.push_str(removed);
            return true;
        }
        if advance(start, removed) == self.start {
            self.removed.insert_str(0, removed);
            self.start = start;
            return true;
        }
        false
    }
}

/// Where text ends that begins at `start`.
fn advance(start: Pos, text: &str) -> Pos {
    match text.rsplit_once('\n') {
        None => Pos { col: start.col + text.chars().count(), ..start },
        Some((before, last)) => {
            Pos { row: start.row + 1 + before.matches('\n').count(), col: last.chars().count() }
        }
    }
}

fn offset(line: &str, col: usize) -> usize {
    line.char_indices().nth(col).map_or(line.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests;
