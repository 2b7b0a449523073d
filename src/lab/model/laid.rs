//! Laid-out rows, kept until what they show changes, so that a frame only copies them.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use ratatui::text::Line;

/// Rows of an item of the cells panel, or of a step's text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    pub rows: Vec<LaidRow>,
    /// The rows of help, below all that a run has shown, up to the help asked for last; none where no help is given.
    pub help: Option<Range<usize>>,
}

#[derive(Clone, Debug)]
pub(crate) struct LaidRow {
    pub line: Line<'static>,
    pub part: RowPart,
}

/// What a row is, for what is drawn anew each frame and for the mouse.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RowPart {
    /// The heading of an item: number and state.
    Head,
    /// Characters `from..from + length` of a line of code, after a gutter of `indent` columns.
    Code {
        line: usize,
        from: usize,
        length: usize,
        indent: usize,
    },
    /// Where a prediction is typed; the cursor stands at this column.
    Input {
        column: usize,
    },
    /// A choice of a quiz.
    Choice(usize),
    /// In the lesson's text: the place of an item of the step.
    Anchor(usize),
    /// Row `row` of the picture in `slot`, from column `indent` on.
    Picture {
        slot: u64,
        row: u16,
        indent: usize,
    },
    Plain,
    /// The empty row after an item.
    Gap,
}

impl Layout {
    pub(crate) fn push(&mut self, line: impl Into<Line<'static>>, part: RowPart) {
        self.rows.push(LaidRow { line: line.into(), part });
    }

    pub(crate) fn plain(&mut self, lines: impl IntoIterator<Item = Line<'static>>) {
        self.rows.extend(lines.into_iter().map(|line| LaidRow { line, part: RowPart::Plain }));
    }
}

/// A value made for a width and kept until another width is asked for or it is cleared.
#[derive(Debug)]
pub(crate) struct Memo<T>(RefCell<Option<(u16, Rc<T>)>>);

impl<T> Default for Memo<T> {
    fn default() -> Self {
        Memo(RefCell::new(None))
    }
}

impl<T> Memo<T> {
    /// The value for a width, made only when it must be.
    pub(crate) fn get(&self, width: u16, make: impl FnOnce() -> T) -> Rc<T> {
        if let Some((kept, value)) = self.0.borrow().as_ref()
            && *kept == width
        {
            return Rc::clone(value);
        }
        let value = Rc::new(make());
        *self.0.borrow_mut() = Some((width, Rc::clone(&value)));
        value
    }

    /// Forgets: what it was made from has changed.
    pub(crate) fn clear(&self) {
        *self.0.borrow_mut() = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memo_is_made_once_for_a_width() {
        let memo = Memo::default();
        let made = std::cell::Cell::new(0);
        let make = || made.replace(made.get() + 1);
        assert_eq!((*memo.get(10, make), *memo.get(10, make)), (0, 0));
        assert_eq!(*memo.get(11, make), 1);
        memo.clear();
        assert_eq!(*memo.get(11, make), 2);
    }
}
