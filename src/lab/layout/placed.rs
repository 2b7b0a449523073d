//! Lines with their places in an area, which a panel draws as they are.

use ratatui::layout::{Position, Rect};
use ratatui::text::Line;

/// Lines by column and row, counted from the area's corner. What comes later lies above.
#[derive(Debug, Default)]
pub(crate) struct Placed {
    pub lines: Vec<(usize, usize, Line<'static>)>,
}

impl Placed {
    pub(crate) fn put(&mut self, row: usize, line: Line<'static>) {
        self.put_at(0, row, line);
    }

    pub(crate) fn put_at(&mut self, column: usize, row: usize, line: Line<'static>) {
        self.lines.push((column, row, line));
    }
}

/// What fills a screen between header and key bar: areas with their lines, and the place of the text cursor.
#[derive(Debug, Default)]
pub(crate) struct ScreenBody {
    pub parts: Vec<(Rect, Placed)>,
    pub cursor: Option<Position>,
}
