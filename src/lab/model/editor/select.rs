//! The selection: from where it began to the cursor.

use crate::lab::model::editor::{Editor, Pos};

impl Editor {
    /// Start and end of what is selected; `None` where that is nothing.
    pub(crate) fn selection(&self) -> Option<(Pos, Pos)> {
        let anchor = self.anchor.map(|at| self.nearest(at))?;
        (anchor != self.cursor).then(|| (anchor.min(self.cursor), anchor.max(self.cursor)))
    }

    /// The text selected.
    pub(crate) fn selected_text(&self) -> Option<String> {
        self.selection().map(|(start, end)| self.slice(start, end))
    }

    /// The selection begins here, if none does yet.
    pub(crate) fn begin_selection(&mut self) {
        if self.anchor.is_none() {
            self.anchor = Some(self.cursor);
        }
    }

    pub(crate) fn clear_selection(&mut self) {
        self.anchor = None;
    }

    pub(crate) fn select(&mut self, from: Pos, to: Pos) {
        self.set_cursor(to);
        self.anchor = Some(self.nearest(from));
    }

    pub(crate) fn select_all(&mut self) {
        self.select(Pos::default(), self.end_of_text());
    }

    /// Removes what is selected; false where nothing is.
    pub(crate) fn remove_selection(&mut self) -> bool {
        self.replace_selection("")
    }

    /// Puts text in the place of what is selected; false where nothing is.
    pub(crate) fn replace_selection(&mut self, text: &str) -> bool {
        let Some((start, end)) = self.selection() else {
            self.anchor = None;
            return false;
        };
        self.anchor = None;
        self.fresh = true;
        self.replace(start, end, text, true)
    }

    fn nearest(&self, at: Pos) -> Pos {
        let row = at.row.min(self.lines.len().saturating_sub(1));
        Pos { row, col: at.col.min(self.length(row)) }
    }
}
