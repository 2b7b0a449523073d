//! What a cell printed: lines stripped of control sequences, the middle dropped when there are too many.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::base::table::{self, Table};
use crate::base::text::strip_but_returns;
use crate::lab::model::picture::Shown;
use crate::lab::model::{picture, text};
use crate::notebook;
use crate::session::protocol::{Display, Stream};

/// Rows of output shown from each end before the rest is asked for.
pub(crate) const SHORT_END: usize = 10;
/// Output of more lines than this is cut until asked for.
pub(crate) const SHORT_OUTPUT: usize = 2 * SHORT_END + 4;

/// Lines kept from the beginning, and from the end. Of a longer output the middle is dropped.
const HEAD: usize = 500;
const TAIL: usize = 200_000;
/// Bytes kept of the lines at the end.
const TAIL_BYTES: usize = 16 << 20;
/// Output of more lines takes a while to lay out.
pub(crate) const LONG: usize = 2_000;
/// Characters kept of one line.
const MAX_LINE: usize = 2000;
/// Figures kept, and texts that change in place: the last ones.
const SHOWN: usize = 4;
/// Columns of a table's widest column.
const MAX_COLUMN: usize = 40;

/// What a line of output is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ink {
    Out,
    Err,
    Table,
    /// The value of the cell's last expression.
    Value,
    /// An error's report.
    Report,
}

/// The most that is put into the terminal's clipboard, in bytes; terminals take no more than this.
pub(crate) const CLIPBOARD: usize = 74_000;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct OutLine {
    pub text: String,
    pub ink: Ink,
    /// Characters that were too many.
    pub cut: usize,
}

/// Lines in order, with what is open at the end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Output {
    head: Vec<OutLine>,
    tail: VecDeque<OutLine>,
    /// Bytes of the tail's whole lines.
    tail_bytes: usize,
    total: usize,
    /// The last line may grow, if the text that follows is of this kind.
    open: Option<Ink>,
    /// After a carriage return, the place in that line, in bytes, where what follows goes over it.
    over: Option<usize>,
    shown: VecDeque<Shown>,
}

/// The lines to show: head and tail, and how many are hidden between them.
pub(crate) struct Excerpt<'a> {
    pub head: Vec<&'a OutLine>,
    pub hidden: usize,
    /// Lines of the hidden ones that are not kept.
    pub dropped: usize,
    pub tail: Vec<&'a OutLine>,
}

impl OutLine {
    /// Puts a character at a place of the line, over the one that is there, or at its end; gives the place behind it
    /// where that is not the end.
    fn put(&mut self, c: char, at: Option<usize>) -> Option<usize> {
        let old = at.and_then(|at| Some((at, self.text.get(at..)?.chars().next()?)));
        if let Some((at, old)) = old {
            let c = if c == '\t' { ' ' } else { c };
            self.text.replace_range(at..at + old.len_utf8(), c.encode_utf8(&mut [0; 4]));
            return Some(at + c.len_utf8()).filter(|at| *at < self.text.len());
        }
        if self.text.len() >= MAX_LINE {
            self.cut += 1;
        } else if c == '\t' {
            let fill = 8 - text::width(&self.text) % 8;
            self.text.extend(std::iter::repeat_n(' ', fill));
        } else {
            self.text.push(c);
        }
        None
    }
}

impl Output {
    /// What a notebook has kept.
    pub(crate) fn of(kept: &[notebook::Output]) -> Output {
        let mut output = Output::default();
        for one in kept {
            match one {
                notebook::Output::Stream { stream, text, .. } => output.print(*stream, text),
                notebook::Output::Data { is_result: true, .. } => output.block(Ink::Value, &one.told()),
                notebook::Output::Data { .. } => output.display(&one.to_display(), None),
                notebook::Output::Error { .. } => output.block(Ink::Report, &one.text()),
                notebook::Output::Other(_) => {}
            }
        }
        output
    }

    /// Appends printed text, which may end within a line.
    pub(crate) fn print(&mut self, stream: Stream, text: &str) {
        let ink = match stream {
            Stream::Stdout => Ink::Out,
            Stream::Stderr => Ink::Err,
        };
        self.write(&strip_but_returns(text), ink);
    }

    /// Appends whole lines of one kind.
    pub(crate) fn block(&mut self, ink: Ink, text: &str) {
        self.open = None;
        self.write(&text::clean(text), ink);
        self.open = None;
    }

    /// Appends something richer than text, or puts it in the place of what was shown under the same name.
    pub(crate) fn display(&mut self, content: &Display, id: Option<&str>) {
        match content {
            Display::Text { text } if id.is_some() => {
                self.show(id, picture::Content::Text(text::clean(text)))
            }
            Display::Text { text } => self.block(Ink::Out, text),
            Display::Table { header, rows } => {
                for row in table(header, rows) {
                    self.block(Ink::Table, &row);
                }
            }
            Display::Figure { figure } => {
                self.show(id, picture::Content::Figure(Arc::new(figure.as_ref().clone())));
            }
        }
    }

    fn show(&mut self, id: Option<&str>, content: picture::Content) {
        if let Some(old) = self.shown.iter_mut().find(|shown| id.is_some() && shown.id.as_deref() == id) {
            old.replace(content);
            return;
        }
        if self.shown.len() == SHOWN {
            self.shown.pop_front();
        }
        self.shown.push_back(Shown::new(id, content));
    }

    /// What was shown last; it stands below the text.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &Shown> {
        self.shown.iter()
    }

    pub(crate) fn shown_mut(&mut self) -> impl Iterator<Item = &mut Shown> {
        self.shown.iter_mut()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// The text that is kept, at most so much of its end as a terminal's clipboard takes.
    pub(crate) fn text(&self) -> String {
        let mut left = CLIPBOARD;
        let fits = |line: &&OutLine| {
            let room = left.checked_sub(line.text.len() + 1);
            left = room.unwrap_or_default();
            room.is_some()
        };
        // Where lines between are gone, the end alone is one text.
        let is_whole = self.total == self.head.len() + self.tail.len();
        let head = if is_whole { self.head.as_slice() } else { &[] };
        let all: Vec<&OutLine> = head.iter().chain(&self.tail).rev().take_while(fits).collect();
        all.iter().rev().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n")
    }

    /// Lines printed so far, the dropped ones included.
    pub(crate) fn total(&self) -> usize {
        self.total
    }

    /// The first and last lines, at most `head` and `tail` of them.
    pub(crate) fn excerpt(&self, head: usize, tail: usize) -> Excerpt<'_> {
        let kept = self.head.len() + self.tail.len();
        let all = || self.head.iter().chain(&self.tail);
        if self.total == kept && kept <= head + tail {
            return Excerpt { head: all().collect(), hidden: 0, dropped: 0, tail: Vec::new() };
        }
        let (head, tail) = (head.min(self.head.len()), tail.min(kept - head.min(self.head.len())));
        Excerpt {
            head: self.head.iter().take(head).collect(),
            hidden: self.total - head - tail,
            dropped: self.total - kept,
            tail: all().skip(kept - tail).collect(),
        }
    }

    fn write(&mut self, text: &str, ink: Ink) {
        for c in text.chars() {
            match c {
                '\n' => {
                    self.last(ink);
                    self.open = None;
                }
                '\r' => self.over = (self.open == Some(ink)).then_some(0),
                c => {
                    let at = self.over.filter(|_| self.open == Some(ink));
                    let Some(line) = self.last(ink) else { continue };
                    self.over = line.put(c, at);
                }
            }
        }
    }

    /// The line that grows: the open one of this kind, or a new one.
    fn last(&mut self, ink: Ink) -> Option<&mut OutLine> {
        if self.open != Some(ink) {
            self.open = Some(ink);
            self.total += 1;
            let line = OutLine { text: String::new(), ink, cut: 0 };
            if self.head.len() < HEAD {
                self.head.push(line);
            } else {
                self.tail_bytes += self.tail.back().map_or(0, |last| last.text.len());
                while self.tail.len() >= TAIL || self.tail_bytes > TAIL_BYTES {
                    let Some(gone) = self.tail.pop_front() else { break };
                    self.tail_bytes = self.tail_bytes.saturating_sub(gone.text.len());
                }
                self.tail.push_back(line);
            }
        }
        if self.tail.is_empty() { self.head.last_mut() } else { self.tail.back_mut() }
    }
}

fn table(header: &[String], rows: &[Vec<String>]) -> Vec<String> {
    let Table { mut lines, widths } = table::aligned(header, rows, MAX_COLUMN);
    lines.insert(1, widths.iter().map(|w| "─".repeat(*w)).collect::<Vec<_>>().join("  "));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(output: &Output) -> Vec<String> {
        output.excerpt(1000, 1000).head.iter().map(|l| l.text.clone()).collect()
    }

    #[test]
    fn pieces_join_into_lines_and_streams_do_not_mix() {
        let mut output = Output::default();
        output.print(Stream::Stdout, "a\u{1b}[31m");
        output.print(Stream::Stdout, "b");
        output.print(Stream::Stderr, "oops\n");
        output.print(Stream::Stdout, "30 %\n\nend");
        assert_eq!(texts(&output), ["ab", "oops", "30 %", "", "end"]);
    }

    #[test]
    fn a_carriage_return_goes_back_over_the_line_of_its_stream() {
        let mut output = Output::default();
        for i in 0..11 {
            output.print(Stream::Stdout, &format!("\rstep {}", 10 - i));
        }
        output.print(Stream::Stdout, "\r\nwhole\r");
        output.print(Stream::Stderr, "oops\n");
        output.print(Stream::Stdout, "next\ré\tq\n");
        assert_eq!(texts(&output), ["step 00", "whole", "oops", "é qt"]);
        let long = "x".repeat(MAX_LINE);
        output.print(Stream::Stdout, &format!("{long}\rab"));
        assert_eq!((texts(&output)[4].len(), &texts(&output)[4][..3]), (MAX_LINE, "abx"));
    }

    #[test]
    fn many_lines_keep_head_and_tail_and_count_the_rest() {
        let mut output = Output::default();
        for i in 0..100_000 {
            output.print(Stream::Stdout, &format!("{i}\n"));
        }
        let excerpt = output.excerpt(10, 5);
        assert_eq!((excerpt.head.len(), excerpt.hidden, excerpt.tail.len()), (10, 99_985, 5));
        assert_eq!(excerpt.head.last().map(|l| l.text.as_str()), Some("9"));
        assert_eq!(excerpt.tail.last().map(|l| l.text.as_str()), Some("99999"));
        assert_eq!(excerpt.dropped, 0, "all of them can be shown");
        let whole = output.excerpt(usize::MAX / 2, usize::MAX / 2);
        assert_eq!((whole.head.len(), whole.hidden), (100_000, 0));
    }

    #[test]
    fn of_more_lines_than_can_be_kept_the_middle_goes_and_is_counted() {
        let mut output = Output::default();
        for i in 0..300_000 {
            output.print(Stream::Stdout, &format!("{i}\n"));
        }
        let excerpt = output.excerpt(10, 10);
        assert_eq!((excerpt.hidden, excerpt.dropped), (299_980, 300_000 - HEAD - TAIL));
        let whole = output.excerpt(usize::MAX / 2, usize::MAX / 2);
        assert_eq!((whole.head.len(), whole.hidden, whole.tail.len()), (HEAD, excerpt.dropped, TAIL));
        for _ in 0..20_000 {
            output.print(Stream::Stdout, &format!("{}\n", "x".repeat(MAX_LINE)));
        }
        let kept: usize = output.tail.iter().map(|line| line.text.len()).sum();
        assert!(kept <= TAIL_BYTES + 2 * MAX_LINE, "{kept}");
    }

    #[test]
    fn a_table_is_aligned_and_numbers_are_right() {
        let rows = [vec!["x".to_owned(), "1".into()], vec!["long\nname".to_owned(), "1000".into()]];
        let lines = table(&["name".into(), "n".into()], &rows);
        assert_eq!(lines, ["name          n", "─────────  ────", "x             1", "long name  1000"]);
    }

    #[test]
    fn a_line_without_end_is_cut() {
        let mut output = Output::default();
        output.print(Stream::Stdout, &"x".repeat(5000));
        let excerpt = output.excerpt(1, 0);
        assert_eq!((excerpt.head[0].text.len(), excerpt.head[0].cut), (2000, 3000));
    }
}
