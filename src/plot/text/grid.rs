//! Characters in rows and columns.

use unicode_width::UnicodeWidthChar;

use crate::plot::color::Rgb;

/// A cell of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// `'\0'` where the character to the left is two columns wide.
    pub symbol: char,
    /// The colour of the symbol; the terminal's own if none.
    pub fg: Option<Rgb>,
    /// The colour behind it; the terminal's own if none.
    pub bg: Option<Rgb>,
}

impl Cell {
    const BLANK: Self = Self { symbol: ' ', fg: None, bg: None };
}

/// A part of a grid.
#[derive(Debug, Clone, Copy)]
pub(super) struct Area {
    pub left: usize,
    pub top: usize,
    pub width: usize,
    pub height: usize,
}

impl Area {
    /// Splits off the first row.
    pub(crate) fn take_top(&mut self) -> Self {
        let row = Self { height: 1, ..*self };
        self.top += 1;
        self.height = self.height.saturating_sub(1);
        row
    }

    /// Splits off the last row.
    pub(crate) fn take_bottom(&mut self) -> Self {
        self.height = self.height.saturating_sub(1);
        Self { top: self.top + self.height, height: 1, ..*self }
    }

    /// Gives up columns on the left.
    pub(super) fn skip(&mut self, columns: usize) {
        let columns = columns.min(self.width);
        self.left += columns;
        self.width -= columns;
    }

    /// The same with at most `width` columns.
    pub(super) fn narrow(self, width: usize) -> Self {
        Self { width: self.width.min(width), ..self }
    }

    /// Its row at `index`.
    pub(super) fn row(self, index: usize) -> Self {
        Self { top: self.top + index, height: 1, ..self }
    }
}

pub(super) struct Grid {
    width: usize,
    cells: Vec<Cell>,
    height: usize,
}

impl Grid {
    pub(super) fn new(width: usize, height: usize) -> Self {
        Self { width, height, cells: vec![Cell::BLANK; width * height] }
    }

    pub(super) fn area(&self) -> Area {
        Area { left: 0, top: 0, width: self.width, height: self.height }
    }

    /// Sets a cell; outside the grid nothing happens.
    pub(super) fn set(&mut self, (column, row): (usize, usize), cell: Cell) {
        if column < self.width
            && let Some(old) = self.cells.get_mut(row * self.width + column)
        {
            *old = cell;
        }
    }

    pub(super) fn put(&mut self, at: (usize, usize), symbol: char, fg: Option<Rgb>) {
        let cell = Cell { symbol, fg, bg: None };
        self.set(at, cell);
    }

    /// Writes `text` from the left of the first row of `area`, cut with an ellipsis if it is too long. Gives the columns used.
    pub(super) fn write(&mut self, area: Area, text: &str, fg: Option<Rgb>) -> usize {
        if area.height == 0 {
            return 0;
        }
        let text = fit(text, area.width);
        let mut used = 0;
        for c in text.chars() {
            let wide = c.width().unwrap_or(0);
            if wide == 0 {
                continue;
            }
            self.put((area.left + used, area.top), c, fg);
            if wide == 2 {
                self.put((area.left + used + 1, area.top), '\0', fg);
            }
            used += wide;
        }
        used
    }

    pub(crate) fn center(&mut self, mut area: Area, text: &str) {
        area.skip(area.width.saturating_sub(width_of(text)) / 2);
        self.write(area, text, None);
    }

    /// Ends at the right of `area`.
    pub(super) fn right(&mut self, mut area: Area, text: &str, fg: Option<Rgb>) {
        area.skip(area.width.saturating_sub(width_of(text)));
        self.write(area, text, fg);
    }

    /// Breaks `text` at spaces.
    pub(super) fn paragraph(&mut self, area: Area, text: &str) {
        let (mut row, mut column) = (0, 0);
        for word in text.split(' ') {
            let wide = width_of(word);
            if column > 0 && column + wide > area.width {
                (row, column) = (row + 1, 0);
            }
            if row >= area.height {
                return;
            }
            let mut rest = area.row(row);
            rest.skip(column);
            column += self.write(rest, word, None) + 1;
        }
    }

    /// The characters, without spaces at the ends of lines and empty lines at the end.
    pub(super) fn lines(&self) -> Vec<String> {
        let rows = self.cells.chunks(self.width.max(1));
        let mut lines: Vec<String> = rows
            .map(|row| {
                let symbols = row.iter().map(|cell| cell.symbol).filter(|&c| c != '\0');
                symbols.collect::<String>().trim_end().to_string()
            })
            .collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }

    pub(super) fn rows(self) -> Vec<Vec<Cell>> {
        if self.width == 0 {
            return vec![Vec::new(); self.height];
        }
        let rows = self.cells.chunks(self.width);
        let mut rows: Vec<Vec<Cell>> = rows.map(<[Cell]>::to_vec).collect();
        let is_empty = |row: &Vec<Cell>| row.iter().all(|cell| cell.symbol == ' ' && cell.bg.is_none());
        while rows.last().is_some_and(is_empty) {
            rows.pop();
        }
        rows
    }
}

/// Columns that `text` takes.
pub(super) fn width_of(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// `text` in at most `width` columns.
pub(super) fn fit(text: &str, width: usize) -> String {
    if width_of(text) <= width {
        return text.to_string();
    }
    let mark = if text.is_ascii() { '~' } else { '…' };
    let mut out = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        out.push(c);
    }
    if width > 0 {
        out.push(mark);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns() {
        let mut grid = Grid::new(6, 1);
        assert_eq!(grid.write(grid.area(), "損失x", None), 5);
        assert_eq!(grid.lines(), ["損失x"]);
        assert_eq!(grid.rows()[0][1].symbol, '\0');
        assert_eq!(fit("損失損失", 5), "損失…");
        assert_eq!(fit("gradient", 5), "grad~");
        assert_eq!(fit("gradient", 0), "");
    }

    #[test]
    fn writing_outside_is_harmless() {
        let mut grid = Grid::new(0, 0);
        grid.put((3, 3), 'x', None);
        grid.center(grid.area(), "title");
        grid.paragraph(grid.area(), "some words");
        assert!(grid.lines().is_empty() && grid.rows().is_empty());
        let mut narrow = Grid::new(2, 1);
        narrow.put((2, 0), 'x', None);
        assert!(narrow.lines().is_empty());
    }
}
