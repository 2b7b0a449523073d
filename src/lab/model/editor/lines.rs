//! Whole lines: indents, comments, duplicates.

use crate::lab::model::editor::{Editor, Pos};
use crate::script::indent;

const COMMENT: &str = "//";

impl Editor {
    /// The lines that a change of lines is for: those of the selection, or that of the cursor. A selection that
    /// ends before the first character of a line leaves that line out.
    fn chosen(&self) -> std::ops::RangeInclusive<usize> {
        match self.selection() {
            Some((start, end)) if end.col == 0 && end.row > start.row => start.row..=end.row - 1,
            Some((start, end)) => start.row..=end.row,
            None => self.cursor.row..=self.cursor.row,
        }
    }

    pub(super) fn indent_lines(&mut self) -> bool {
        let rows: Vec<usize> = self.chosen().filter(|row| self.length(*row) > 0).collect();
        self.each_line(rows, |editor, row| editor.at_line_start(row, 0, &" ".repeat(indent::STEP)))
    }

    /// Takes one indent from the start of the line, or of each selected line.
    pub(crate) fn dedent(&mut self) {
        let rows: Vec<usize> = self.chosen().collect();
        self.each_line(rows, |editor, row| {
            let spaces = editor.line(row).chars().take(indent::STEP).take_while(|c| *c == ' ').count();
            spaces == 0 || editor.at_line_start(row, spaces, "")
        });
    }

    /// Makes comments of the chosen lines; where all of them are, makes code of them again.
    pub(crate) fn toggle_comment(&mut self) -> bool {
        let rows: Vec<usize> = self.chosen().filter(|row| !self.line(*row).trim().is_empty()).collect();
        let depth = |row: &usize| self.line(*row).chars().take_while(|c| *c == ' ').count();
        let all = rows.iter().all(|row| self.line(*row).trim_start().starts_with(COMMENT));
        let least = rows.iter().map(depth).min().unwrap_or(0);
        self.each_line(rows, |editor, row| {
            let indent = editor.line(row).chars().take_while(|c| *c == ' ').count();
            let at = Pos { row, col: if all { indent } else { least } };
            if !all {
                return editor.keeping(at, 0, "// ");
            }
            let code = editor.line(row).trim_start().trim_start_matches(COMMENT).starts_with(' ');
            editor.keeping(at, COMMENT.len() + usize::from(code), "")
        })
    }

    /// Changes several lines in one step of undo; what was selected stays so.
    fn each_line(&mut self, rows: Vec<usize>, mut change: impl FnMut(&mut Editor, usize) -> bool) -> bool {
        self.together(|editor| rows.into_iter().all(|row| change(editor, row)))
    }

    fn at_line_start(&mut self, row: usize, removed: usize, inserted: &str) -> bool {
        self.keeping(Pos { row, col: 0 }, removed, inserted)
    }

    /// Replaces characters of one line and moves cursor and selection along with the text that they stand at.
    fn keeping(&mut self, at: Pos, removed: usize, inserted: &str) -> bool {
        let (cursor, anchor) = (self.cursor, self.anchor);
        let added = inserted.chars().count();
        self.fresh = true;
        let done = self.replace(at, Pos { col: at.col + removed, ..at }, inserted, false);
        let moved = |place: Pos| {
            if place.row != at.row || place.col < at.col || (place.col == 0 && anchor.is_some()) {
                return place;
            }
            Pos { col: place.col.saturating_sub(removed).max(at.col) + added, ..place }
        };
        self.anchor = anchor.map(&moved);
        self.cursor = moved(cursor);
        done
    }
}
