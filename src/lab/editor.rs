//! A small editor for a cell's code: every change goes through one splice, which undo reverses.

use std::mem;

use super::text;

/// No cell grows beyond this many bytes.
pub const MAX_TEXT: usize = 1 << 20;
const INDENT: usize = 4;
/// Changes that can be undone.
const MAX_UNDO: usize = 1000;

/// A place in the text: line and character, from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Pos {
    pub row: usize,
    pub col: usize,
}

/// Text of at least one line, with a cursor.
#[derive(Clone, Debug)]
pub struct Editor {
    lines: Vec<String>,
    cursor: Pos,
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
}

impl Editor {
    pub fn new(text: &str) -> Editor {
        let text = text::clean(text);
        let lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        Editor {
            bytes: text.len(),
            lines,
            cursor: Pos::default(),
            wish: None,
            undo: Vec::new(),
            redo: Vec::new(),
            fresh: true,
        }
    }

    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    pub fn text(&self) -> String {
        self.lines.join("\n")
    }

    pub fn cursor(&self) -> Pos {
        self.cursor
    }

    /// Puts the cursor at the nearest place that exists.
    pub fn set_cursor(&mut self, to: Pos) {
        let row = to.row.min(self.lines.len().saturating_sub(1));
        self.cursor = Pos { row, col: to.col.min(self.length(row)) };
        self.wish = None;
        self.fresh = true;
    }

    /// Types a character. A closing bracket on a blank line steps back one indent. False when the cell is full.
    pub fn insert(&mut self, c: char) -> bool {
        if !text::printable(c) {
            return true;
        }
        let head = self.head();
        let closes = matches!(c, '}' | ')' | ']') && head.len() >= INDENT && head.chars().all(|c| c == ' ');
        let back = if closes { INDENT } else { 0 };
        let start = Pos { col: self.cursor.col.saturating_sub(back), ..self.cursor };
        self.replace(start, self.cursor, c.encode_utf8(&mut [0; 4]), c != ' ')
    }

    /// Inserts text of any number of lines, stripped of control sequences. False when the cell would be too large.
    pub fn paste(&mut self, text: &str) -> bool {
        self.fresh = true;
        let done = self.replace(self.cursor, self.cursor, &text::clean(text), false);
        self.fresh = true;
        done
    }

    /// Breaks the line, indenting as the line above, and one step more after an opening bracket.
    pub fn newline(&mut self) -> bool {
        let head = self.head().to_owned();
        let indent = head.chars().take_while(|c| *c == ' ').count();
        let opens = head.trim_end().ends_with(['{', '(', '[']);
        let closes = self.tail().trim_start().starts_with(['}', ')', ']']);
        let deeper = indent + if opens { INDENT } else { 0 };
        let mut inserted = format!("\n{}", " ".repeat(deeper));
        let landing = Pos { row: self.cursor.row + 1, col: deeper };
        if opens && closes {
            inserted += &format!("\n{}", " ".repeat(indent));
        }
        self.fresh = true;
        let done = self.replace(self.cursor, self.cursor, &inserted, false);
        if done {
            self.set_cursor(landing);
        }
        done
    }

    /// Spaces up to the next multiple of four.
    pub fn indent(&mut self) -> bool {
        let n = INDENT - self.cursor.col % INDENT;
        self.replace(self.cursor, self.cursor, &" ".repeat(n), false)
    }

    /// Takes one indent from the line's start.
    pub fn dedent(&mut self) {
        let row = self.cursor.row;
        let spaces = self.line(row).chars().take(INDENT).take_while(|c| *c == ' ').count();
        if spaces > 0 {
            let col = self.cursor.col.saturating_sub(spaces);
            self.replace(Pos { row, col: 0 }, Pos { row, col: spaces }, "", false);
            self.cursor.col = col;
        }
    }

    /// Deletes what is before the cursor: a character, an indent of spaces, or the line break.
    pub fn backspace(&mut self) {
        let head = self.head();
        let start = if !head.is_empty() && head.len().is_multiple_of(INDENT) && head.chars().all(|c| c == ' ')
        {
            Pos { col: self.cursor.col - INDENT, ..self.cursor }
        } else {
            self.before(self.cursor)
        };
        self.replace(start, self.cursor, "", true);
    }

    /// Deletes the character or line break after the cursor.
    pub fn delete(&mut self) {
        let end = self.after(self.cursor);
        self.replace(self.cursor, end, "", true);
    }

    /// Deletes to the line's end, or the line break there.
    pub fn delete_to_end(&mut self) {
        let end = Pos { col: self.length(self.cursor.row), ..self.cursor };
        if end == self.cursor {
            self.delete();
        } else {
            self.replace(self.cursor, end, "", false);
        }
    }

    pub fn move_left(&mut self) {
        self.set_cursor(self.before(self.cursor));
    }

    pub fn move_right(&mut self) {
        self.set_cursor(self.after(self.cursor));
    }

    /// To the start of the word before the cursor.
    pub fn word_left(&mut self) {
        let mut at = self.before(self.cursor);
        let starts_word = |at: Pos| self.in_word(at) && !self.in_word(self.before(at));
        while at > Pos::default() && !starts_word(at) {
            at = self.before(at);
        }
        self.set_cursor(at);
    }

    /// To the end of the word after the cursor.
    pub fn word_right(&mut self) {
        let last = self.end_of_text();
        let mut at = self.after(self.cursor);
        let ends_word = |at: Pos| !self.in_word(at) && self.in_word(self.before(at));
        while at < last && !ends_word(at) {
            at = self.after(at);
        }
        self.set_cursor(at);
    }

    /// Moves over whole lines, keeping the column where it can.
    pub fn move_rows(&mut self, by: isize) {
        let wish = self.wish.unwrap_or(self.cursor.col);
        let row = self.cursor.row.saturating_add_signed(by);
        self.set_cursor(Pos { row, col: wish });
        self.wish = Some(wish);
    }

    /// To the first character that is no space; from there to the line's start.
    pub fn home(&mut self) {
        let indent = self.line(self.cursor.row).chars().take_while(|c| *c == ' ').count();
        let col = if self.cursor.col == indent { 0 } else { indent };
        self.set_cursor(Pos { col, ..self.cursor });
    }

    pub fn end(&mut self) {
        self.set_cursor(Pos { col: usize::MAX, ..self.cursor });
    }

    /// Reverses the last change; false when there is none.
    pub fn undo(&mut self) -> bool {
        let Some(change) = self.undo.pop() else { return false };
        let end = advance(change.start, &change.inserted);
        self.splice(change.start, end, &change.removed);
        self.set_cursor(change.before);
        self.redo.push(change);
        true
    }

    /// Makes the change last undone again; false when there is none.
    pub fn redo(&mut self) -> bool {
        let Some(change) = self.redo.pop() else { return false };
        let end = advance(change.start, &change.removed);
        self.splice(change.start, end, &change.inserted);
        self.set_cursor(advance(change.start, &change.inserted));
        self.undo.push(change);
        true
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
        self.undo.push(Change { start, removed, inserted: inserted.into(), before });
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

    fn line(&self, row: usize) -> &str {
        self.lines.get(row).map_or("", String::as_str)
    }

    fn length(&self, row: usize) -> usize {
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

    fn end_of_text(&self) -> Pos {
        let row = self.lines.len().saturating_sub(1);
        Pos { row, col: self.length(row) }
    }

    /// The place before, over whole characters with their combining marks.
    fn before(&self, at: Pos) -> Pos {
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

    fn after(&self, at: Pos) -> Pos {
        if at.col >= self.length(at.row) {
            return if at.row + 1 < self.lines.len() { Pos { row: at.row + 1, col: 0 } } else { at };
        }
        let marks =
            self.line(at.row).chars().skip(at.col + 1).take_while(|c| text::char_width(*c) == 0).count();
        Pos { col: at.col + 1 + marks, ..at }
    }

    fn in_word(&self, at: Pos) -> bool {
        self.line(at.row).chars().nth(at.col).is_some_and(|c| c.is_alphanumeric() || c == '_')
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
mod tests {
    use super::*;

    fn typed(text: &str) -> Editor {
        let mut editor = Editor::new("");
        for c in text.chars() {
            if c == '\n' {
                editor.newline()
            } else {
                editor.insert(c)
            };
        }
        editor
    }

    #[test]
    fn brackets_indent_and_close() {
        let editor = typed("for i in 0..3 {\nprint(i);\n}");
        assert_eq!(editor.text(), "for i in 0..3 {\n    print(i);\n}");
        let mut editor = Editor::new("f() {}");
        editor.set_cursor(Pos { row: 0, col: 5 });
        editor.newline();
        assert_eq!((editor.text().as_str(), editor.cursor()), ("f() {\n    \n}", Pos { row: 1, col: 4 }));
    }

    #[test]
    fn undo_takes_typing_back_by_words_and_redo_returns_it() {
        let mut editor = typed("let x");
        assert!(editor.undo());
        assert_eq!(editor.text(), "let ");
        while editor.undo() {}
        assert_eq!(editor.text(), "");
        while editor.redo() {}
        assert_eq!((editor.text().as_str(), editor.cursor()), ("let x", Pos { row: 0, col: 5 }));
        editor.paste("a\nb");
        assert_eq!(editor.text(), "let xa\nb");
        editor.undo();
        assert_eq!(editor.text(), "let x");
    }

    #[test]
    fn erasing_joins_lines_and_comes_back() {
        let mut editor = Editor::new("ab\ncd");
        editor.set_cursor(Pos { row: 1, col: 0 });
        editor.backspace();
        editor.backspace();
        assert_eq!(editor.text(), "acd");
        editor.delete();
        assert_eq!(editor.text(), "ad");
        while editor.undo() {}
        assert_eq!(editor.text(), "ab\ncd");
    }

    #[test]
    fn moving_keeps_the_wished_column_and_whole_characters() {
        let mut editor = Editor::new("long line\nx\nlong line");
        editor.set_cursor(Pos { row: 0, col: 7 });
        editor.move_rows(1);
        assert_eq!(editor.cursor(), Pos { row: 1, col: 1 });
        editor.move_rows(1);
        assert_eq!(editor.cursor(), Pos { row: 2, col: 7 });
        let mut editor = Editor::new("e\u{301}x");
        editor.move_right();
        assert_eq!(editor.cursor().col, 2);
        editor.backspace();
        assert_eq!(editor.text(), "x");
    }

    #[test]
    fn a_paste_is_stripped_and_bounded() {
        let mut editor = Editor::new("");
        editor.paste("a\u{1b}[31mb\tc\r\nd");
        assert_eq!(editor.text(), "ab    c\nd");
        assert!(!editor.paste(&"x".repeat(MAX_TEXT)));
        assert_eq!(editor.text(), "ab    c\nd");
    }
}
