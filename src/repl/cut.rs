//! Output that is too long for a screen: its beginning at once, its end when all is there, and how much is between.

use std::collections::VecDeque;

use crate::base::figures::{count, plural};

/// Lines shown as they come, and lines shown of the end.
pub(crate) const HEAD: usize = 500;
pub(crate) const TAIL: usize = 50;
/// Characters shown of one line.
pub(crate) const LINE: usize = 4000;

/// What goes through it is shown, held back or counted.
#[derive(Default)]
pub(super) struct Cut {
    lines: usize,
    /// Characters of the line that is open.
    used: usize,
    over: usize,
    /// The line that is open and held back.
    open: String,
    tail: VecDeque<String>,
    dropped: usize,
}

impl Cut {
    /// What of `text` is shown now.
    pub(super) fn take(&mut self, text: &str) -> String {
        let mut shown = String::with_capacity(text.len());
        for c in text.chars() {
            let held = self.lines >= HEAD;
            if c == '\n' {
                let cut = self.end_of_line();
                self.lines += 1;
                if held {
                    let line = std::mem::take(&mut self.open) + cut.as_str();
                    self.hold(line);
                } else {
                    shown.push_str(&cut);
                    shown.push('\n');
                }
            } else if c == '\r' && !held {
                self.used = 0;
                shown.push(c);
            } else if self.used >= LINE {
                self.over += 1;
            } else {
                self.used += 1;
                if held { &mut self.open } else { &mut shown }.push(c);
            }
        }
        shown
    }

    /// Whether lines are held back.
    pub(super) fn holds(&self) -> bool {
        self.lines > HEAD || !self.open.is_empty()
    }

    /// What was held back, when nothing more comes: how many lines are left out, and the last ones.
    pub(super) fn end(&mut self) -> String {
        let mut out = self.end_of_line();
        if !self.open.is_empty() {
            let line = format!("{}{}", std::mem::take(&mut self.open), std::mem::take(&mut out));
            self.hold(line);
        }
        if self.dropped > 0 {
            out += &format!("⋯ {} left out ⋯\n", plural(self.dropped as u64, "line is", "lines are"));
        }
        for line in self.tail.drain(..) {
            out += &line;
            out.push('\n');
        }
        *self = Cut::default();
        out
    }

    fn end_of_line(&mut self) -> String {
        self.used = 0;
        match std::mem::take(&mut self.over) {
            0 => String::new(),
            over => format!("… {} more", count(over as u64)),
        }
    }

    fn hold(&mut self, line: String) {
        self.tail.push_back(line);
        if self.tail.len() > TAIL {
            self.tail.pop_front();
            self.dropped += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_output_passes_as_it_is() {
        let mut cut = Cut::default();
        assert_eq!(format!("{}{}{}", cut.take("a\nb"), cut.take("c\n"), cut.end()), "a\nbc\n");
    }

    #[test]
    fn the_middle_is_left_out_and_counted() {
        let mut cut = Cut::default();
        let text: String = (0..10_000).map(|i| format!("{i}\n")).collect();
        let shown = [cut.take(&text), cut.take("open")].concat();
        assert!(cut.holds());
        assert_eq!(shown.lines().count(), HEAD);
        let rest = cut.end();
        assert_eq!(rest.lines().next(), Some("⋯ 9,451 lines are left out ⋯"));
        assert_eq!((rest.lines().count(), rest.lines().last()), (1 + TAIL, Some("open")));
        assert_eq!(cut.take("next\n"), "next\n", "the next output starts afresh");
    }

    #[test]
    fn long_lines_are_cut_with_a_count() {
        let mut cut = Cut::default();
        let shown = [cut.take(&"x".repeat(LINE + 7)), cut.take("y\nz\n")].concat();
        assert_eq!(shown, format!("{}… 8 more\nz\n", "x".repeat(LINE)));
        let text = "x".repeat(LINE + 1);
        assert!([cut.take(&text), cut.end()].concat().ends_with("x… 1 more"));
    }
}
