//! The native format: a Rhai script with a line `// %%` before each cell.
//!
//! ```text
//! // %% A title
//! let x = ones([2, 3]);
//!
//! // %% [markdown]
//! // # A heading
//! //
//! // Text, each line behind `// `.
//!
//! // %% [raw] tags=["kept"]
//! // neither code nor Markdown
//! ```
//!
//! Behind the marker stand a title, `[markdown]` (`[md]`) or `[raw]`, and metadata as `key=JSON`. Text before the first
//! marker is a code cell without one, and so is code that follows the comments of a Markdown cell. The whole file is a
//! script: `tensorlab run` runs it.
//!
//! A file is cut into pieces that make it up whole. A cell that did not change is written as its piece, byte by byte:
//! blank lines, the form of the marker and the kinds of line ends stay. Blank lines at the ends of a cell are no part of
//! its source. A line of a source that would read as a marker is written with a backslash, `// \%%`, and read without.

mod head;

use std::borrow::Cow;

use crate::notebook::layout::Layout;

use super::cell::{Cell, Kind};
use super::document::Notebook;

use head::Head;

pub(super) use head::is_shown;

/// Reads a notebook. Every text is one.
pub fn parse(text: &str) -> Notebook {
    let (bom, text) = match text.strip_prefix('\u{feff}') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let crlf = text.split_once('\n').is_some_and(|(line, _)| line.ends_with('\r'));
    let mut cells = Vec::new();
    let mut start = 0;
    let mut seen = false;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        // Blank lines before the first marker go with it.
        if Head::of_line(line).is_some() {
            let piece = text.get(start..at).unwrap_or_default();
            if seen || !is_blank(piece) {
                read_piece(piece, &mut cells);
                start = at;
            }
            seen = true;
        }
        at += line.len();
    }
    read_piece(text.get(start..).unwrap_or_default(), &mut cells);
    let mut notebook = Notebook { cells, crlf, bom, ..Notebook::default() };
    notebook.identify();
    notebook
}

/// The code cells of a file, each with the line, from 1, on which its source begins; cells without code are left out.
pub fn placed(text: &str) -> Vec<(u32, Cell)> {
    let lines = |text: &str| u32::try_from(text.matches('\n').count()).unwrap_or(u32::MAX);
    let mut line = 1u32;
    let mut placed = Vec::new();
    for cell in parse(text).cells {
        let (head, rest) = cell
            .layout
            .as_ref()
            .map_or((0, 0), |l| (lines(&l.head), lines(&l.body).saturating_add(lines(&l.tail))));
        let first = line.saturating_add(head);
        line = first.saturating_add(rest);
        if cell.kind == Kind::Code && !cell.source.trim().is_empty() {
            placed.push((first, cell));
        }
    }
    placed
}

/// The file's text.
pub fn write(notebook: &Notebook) -> String {
    let newline = if notebook.crlf { "\r\n" } else { "\n" };
    let mut out = if notebook.bom { String::from('\u{feff}') } else { String::new() };
    let begin = out.len();
    let mut commented = false;
    for cell in &notebook.cells {
        let place = CellPlace { is_first: out.len() == begin, is_only: notebook.cells.len() == 1, commented };
        let (head, body, tail) = pieces(cell, place, newline);
        if !(place.is_first || out.ends_with('\n')) {
            out.push_str(newline);
        }
        // A cell that is new in the file stands apart.
        if cell.layout.is_none() && !place.is_first && !ends_in_blank_line(&out) {
            out.push_str(newline);
        }
        out.push_str(&head);
        if !(body.is_empty() || head.is_empty() || head.ends_with('\n')) {
            out.push_str(newline);
        }
        out.push_str(&body);
        if !(body.is_empty() || tail.is_empty() || tail.starts_with(['\r', '\n'])) {
            out.push_str(newline);
        }
        out.push_str(&tail);
        commented = cell.kind != Kind::Code;
    }
    out
}

/// Cuts a piece of the file into its cell, or into the comments of a Markdown cell and the code behind them.
fn read_piece(piece: &str, cells: &mut Vec<Cell>) {
    if piece.is_empty() {
        return;
    }
    let mut at = 0;
    let mut head = None;
    for line in piece.split_inclusive('\n') {
        if let Some(found) = Head::of_line(line).filter(|_| head.is_none()) {
            at += line.len();
            head = Some(found);
        } else if is_blank(line) && head.is_none() {
            at += line.len();
        } else {
            break;
        }
    }
    let head = head.unwrap_or_default();
    let (before, rest) = piece.split_at(at);
    let comments = if head.kind == Kind::Code { rest.len() } else { comments(rest) };
    let (rest, code) = rest.split_at(comments);
    let mut layout = Layout { head: before.into(), ..Layout::default() };
    if is_blank(rest) {
        layout.tail = rest.into();
    } else {
        // Blank lines under the marker stay with it; comments that show nothing are lines of Markdown.
        let body = rest.trim_start_matches(BLANK);
        let lines = rest.len() - body.len();
        let lines = rest.get(..lines).and_then(|blank| blank.rfind('\n')).map_or(0, |end| end + 1);
        let (gap, body) = rest.split_at(lines);
        layout.head.push_str(gap);
        let end = body.trim_end_matches(BLANK).len();
        // Blanks at the end of the last line are part of it.
        let end = body.get(end..).and_then(|rest| rest.find(['\r', '\n'])).map_or(body.len(), |n| end + n);
        let (body, tail) = body.split_at(end);
        (layout.body, layout.tail) = (body.into(), tail.into());
    }
    let source = decode(head.kind, &layout.body);
    let layout = Some(layout);
    cells.push(Cell { kind: head.kind, metadata: head.metadata, source, layout, ..Cell::default() });
    read_piece(code, cells);
}

/// Spaces, and what ends lines.
const BLANK: [char; 4] = [' ', '\t', '\r', '\n'];

fn is_blank(text: &str) -> bool {
    text.chars().all(|c| BLANK.contains(&c))
}

fn ends_in_blank_line(text: &str) -> bool {
    let mut lines = text.rsplit('\n');
    lines.next() == Some("") && lines.next().is_none_or(is_blank)
}

/// The bytes of the comments and blank lines at the beginning.
fn comments(text: &str) -> usize {
    let is_comment = |line: &&str| line.starts_with("//") || is_blank(line);
    text.split_inclusive('\n').take_while(is_comment).map(str::len).sum()
}

#[derive(Clone, Copy)]
struct CellPlace {
    is_first: bool,
    is_only: bool,
    /// The cell before is one of comments.
    commented: bool,
}

impl CellPlace {
    /// Whether a code cell can do without a marker here and still be read as a cell of its own.
    fn needs_no_marker(self, body: &str) -> bool {
        // Comments that come first would be the text of the cell before, blank lines above them or not.
        let begins = body.split('\n').find(|line| !is_blank(line)).unwrap_or_default();
        if self.is_first {
            // Blank lines above the first marker belong to it.
            !is_blank(body) || self.is_only
        } else {
            self.commented && comments(begins) == 0 && !is_blank(body)
        }
    }
}

/// Head, body and tail of a cell as they are written: those of its layout where they still say the same.
fn pieces<'c>(cell: &'c Cell, place: CellPlace, newline: &str) -> (Cow<'c, str>, Cow<'c, str>, Cow<'c, str>) {
    let head = Head::of(cell);
    let layout = cell.layout.as_ref();
    let written = layout.map(|l| l.head.split_inclusive('\n').find_map(Head::of_line));
    let written_kind = written.as_ref().map(|head| head.as_ref().map_or(Kind::Code, |head| head.kind));
    let body = match layout {
        Some(layout) if written_kind == Some(cell.kind) && decode(cell.kind, &layout.body) == cell.source => {
            Cow::Borrowed(layout.body.as_str())
        }
        _ => Cow::Owned(encode(cell.kind, &cell.source, newline)),
    };
    let is_implicit = head == Head::default() && place.needs_no_marker(&body);
    let kept = match &written {
        Some(Some(written)) => *written == head,
        // Without a marker and without anything else there would be no cell.
        Some(None) => {
            is_implicit
                && !(body.is_empty() && layout.is_some_and(|l| l.head.is_empty() && l.tail.is_empty()))
        }
        None => false,
    };
    let (old, tail) = layout.map_or(("", None), |l| (l.head.as_str(), Some(l.tail.as_str())));
    let head = if kept { Cow::Borrowed(old) } else { Cow::Owned(head.line() + newline) };
    // Where the last line of the file has no end, that is the last cell's.
    let tail = tail.map_or_else(|| Cow::Owned(newline.to_string()), Cow::Borrowed);
    let tail = if layout.is_none() && body.is_empty() { Cow::Borrowed("") } else { tail };
    (head, body, tail)
}

/// The source that a body stands for.
fn decode(kind: Kind, body: &str) -> String {
    let line = |line: &str| {
        let line = line.strip_suffix('\r').unwrap_or(line).to_string();
        match kind {
            Kind::Code => match line.strip_prefix("//").map(unescaped) {
                Some(Cow::Owned(plain)) => format!("//{plain}"),
                _ => line,
            },
            Kind::Markdown | Kind::Raw => {
                let text = line.strip_prefix("//").unwrap_or("");
                unescaped(text.strip_prefix(' ').unwrap_or(text)).into_owned()
            }
        }
    };
    body.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// The body that a source is written as. Blank lines at the ends of code are written, and not read as part of it.
fn encode(kind: Kind, source: &str, newline: &str) -> String {
    if source.is_empty() {
        return String::new();
    }
    let line = |line: &str| match kind {
        Kind::Code => match line.strip_prefix("//").map(escaped) {
            Some(Cow::Owned(plain)) => format!("//{plain}"),
            _ => line.to_string(),
        },
        Kind::Markdown | Kind::Raw if line.is_empty() => "//".into(),
        Kind::Markdown | Kind::Raw => format!("// {}", escaped(line)),
    };
    source.split('\n').map(line).collect::<Vec<_>>().join(newline)
}

/// What follows the comment signs of a line, with one backslash more where it would read as a marker.
fn escaped(text: &str) -> Cow<'_, str> {
    let (blank, rest) = split_blank(text);
    let plain = rest.trim_start_matches('\\');
    if head::after_percents(plain).is_some() {
        return Cow::Owned(format!("{blank}\\{rest}"));
    }
    Cow::Borrowed(text)
}

/// Undoes [`escaped`].
fn unescaped(text: &str) -> Cow<'_, str> {
    let (blank, rest) = split_blank(text);
    match rest.strip_prefix('\\') {
        Some(less) if head::after_percents(less.trim_start_matches('\\')).is_some() => {
            Cow::Owned(format!("{blank}{less}"))
        }
        _ => Cow::Borrowed(text),
    }
}

fn split_blank(text: &str) -> (&str, &str) {
    text.split_at(text.len() - text.trim_start_matches([' ', '\t']).len())
}

#[cfg(test)]
mod tests;
