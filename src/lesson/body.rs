//! The text after the front matter, cut into ordinary blocks and blocks with a role.

use std::borrow::Cow;

use super::format::{Code, Link};
use super::info::{Info, Role};
use super::markdown::{self, Block, Document, Placed};
use super::source::Source;
use crate::lesson::errors::Errors;

/// Unclosed fences that are mended before the rest is given up.
const MAX_REPAIRS: usize = 64;

/// The pieces of a lesson in the order of the file.
pub(super) struct Body {
    pub pieces: Vec<Piece>,
    pub links: Vec<Link>,
    pub html_lines: Vec<usize>,
}

pub(super) enum Piece {
    Text { block: Block, line: usize },
    Fence(Fence),
}

impl Piece {
    /// The line of a block with a role.
    pub(crate) fn role_line(&self) -> Option<usize> {
        match self {
            Piece::Fence(fence) => Some(fence.line),
            Piece::Text { .. } => None,
        }
    }
}

/// A code block with a role.
pub(super) struct Fence {
    pub info: Info,
    /// What stands between the fences.
    pub code: Code,
    /// The line of the opening fence.
    pub line: usize,
    /// Characters before what stands after the fence.
    pub info_column: usize,
}

/// The lines of the body with their numbers in the file; a repair inserts lines.
struct Text {
    text: String,
    /// For each line its first byte and its number in the file.
    lines: Vec<(usize, usize)>,
}

/// How a code block is fenced.
#[derive(Clone, Copy)]
struct Opening<'t> {
    indent: usize,
    mark: char,
    length: usize,
    info: &'t str,
}

/// Cuts the lines from `first` on, reporting fences without an end, blocks with a role at a wrong place,
/// and faults of the fences' own lines.
pub(super) fn read(source: &Source, first: usize, errors: &mut Errors<'_>) -> Body {
    let lines = source.lines_from(first);
    let lines = lines.map(|(number, line)| (number, Cow::Borrowed(line))).collect();
    let (text, document) = mend(lines, errors);
    let mut body = Body {
        pieces: Vec::new(),
        links: document
            .links
            .iter()
            .map(|link| {
                let (line, column) = text.place(link.offset);
                Link { target: link.target.clone(), line, column, is_image: link.is_image }
            })
            .collect(),
        html_lines: document.html.iter().map(|&at| text.place(at).0).collect(),
    };
    report_misplaced(&text, &document, errors);
    for placed in document.blocks {
        if let Some(piece) = piece(&text, placed, errors) {
            body.pieces.push(piece);
        }
    }
    body
}

/// Mends fences that were left open or that a backtick breaks, so that what follows is read as what it was
/// meant to be. Each is reported.
fn mend(mut lines: Vec<(usize, Cow<'_, str>)>, errors: &mut Errors<'_>) -> (Text, Document) {
    for repairs in 1.. {
        let text = Text::new(&lines);
        let document = markdown::read(&text.text);
        let broken = broken_fences(&text, &document);
        let gap = gap(&text, &document).filter(|_| broken.is_empty());
        if let Some(gap) = &gap {
            report_gap(gap, &lines, errors);
        }
        for &(index, column) in &broken {
            let message = "a backtick can't stand in the line of a ``` fence";
            let hint = "leave the backtick out, or fence the block with ~~~";
            errors.at(text.number(index), column, message, hint);
            if let Some((_, line)) = lines.get_mut(index) {
                let marks = line.len() - line.trim_start_matches('`').len();
                let (fence, info) = line.split_at_checked(marks).unwrap_or_default();
                *line = Cow::Owned(format!("{fence}{}", info.replace('`', "'")));
            }
        }
        let before = gap.and_then(|gap| gap.before.map(|before| (before, gap.opening.closing())));
        match before {
            Some((before, closing)) if repairs < MAX_REPAIRS => {
                let number = lines.get(before).map_or(1, |line| line.0);
                lines.insert(before, (number, Cow::Owned(closing)));
            }
            _ if broken.is_empty() || repairs >= MAX_REPAIRS => return (text, document),
            _ => {}
        }
    }
    (Text::new(&[]), markdown::read(""))
}

fn report_gap(gap: &Gap<'_>, lines: &[(usize, Cow<'_, str>)], errors: &mut Errors<'_>) {
    let (message, more) = match gap.before.and_then(|before| lines.get(before)) {
        Some((next, _)) => (
            format!("the code block is not closed before the next one in line {next}"),
            format!(", or fence it with more than {} marks if it is to show one", gap.opening.length),
        ),
        None => ("the code block is not closed".to_owned(), String::new()),
    };
    let marks = gap.opening.closing();
    let hint = format!("close it with a line of {marks} and nothing else{more}");
    errors.at(gap.line, 1, message, hint);
}

/// A fence without an end.
struct Gap<'t> {
    opening: Opening<'t>,
    /// The line of the file.
    line: usize,
    /// The index of the line before which it should have ended; none for the end of the file.
    before: Option<usize>,
}

/// The first fence that is not closed, or that has swallowed the beginning of a block with a role.
fn gap<'t>(text: &'t Text, document: &Document) -> Option<Gap<'t>> {
    document.blocks.iter().filter(|b| b.fenced).find_map(|block| {
        let first = text.index(block.range.start);
        let opening = opening(text.line(first))?;
        let last = text.index(block.range.end.saturating_sub(1)).max(first);
        let line = text.number(first);
        let swallowed = (first + 1..=last).find(|&index| {
            self::opening(text.line(index)).is_some_and(|inner| {
                inner.mark == opening.mark && inner.length >= opening.length && is_role(inner.info)
            })
        });
        let closed = last > first && closes(text.line(last), opening);
        (swallowed.is_some() || !closed).then_some(Gap { opening, line, before: swallowed })
    })
}

fn is_role(info: &str) -> bool {
    Info::parse(info).map_or(true, |role| role.is_some())
}

fn piece(text: &Text, placed: Placed, errors: &mut Errors<'_>) -> Option<Piece> {
    let first = text.index(placed.range.start);
    let line = text.number(first);
    let ordinary = Piece::Text { block: placed.block, line };
    let Some(opening) = opening(text.line(first)).filter(|_| placed.fenced) else {
        return Some(ordinary);
    };
    let info_column = opening.indent + opening.length;
    let info = match Info::parse(opening.info) {
        Ok(Some(info)) => info,
        Ok(None) => return Some(ordinary),
        Err(fault) => {
            errors.at(line, info_column + fault.column + 1, fault.message, fault.hint);
            return None;
        }
    };
    if let Some(fault) = &info.fault {
        errors.at(line, info_column + fault.column + 1, fault.message.clone(), fault.hint.clone());
    }
    if opening.indent > 0 {
        let message = format!("the `{}` block is indented", info.role.word());
        let hint = "begin its fence at the start of the line";
        errors.at(line, opening.indent + 1, message, hint);
    }
    let last = text.index(placed.range.end.saturating_sub(1)).max(first);
    let last = if last > first && closes(text.line(last), opening) { last } else { last + 1 };
    let code: String = (first + 1..last).flat_map(|index| [text.line(index), "\n"]).collect();
    Some(Piece::Fence(Fence { info, code: Code { text: code, line: line + 1 }, line, info_column }))
}

/// Blocks with a role inside lists and quotations, and bottomless nesting.
fn report_misplaced(text: &Text, document: &Document, errors: &mut Errors<'_>) {
    for (offset, info) in &document.inner_fences {
        if is_role(info) {
            let (line, column) = text.place(*offset);
            let message = "a block with a role stands inside a list or a quotation";
            let hint = "put it at the left margin, with an empty line before it";
            errors.at(line, column, message, hint);
        }
    }
    if let Some(offset) = document.too_deep {
        let (line, column) = text.place(offset);
        let hint = "use fewer levels of lists and quotations";
        errors.at(line, column, "the text is nested too deeply", hint);
    }
}

/// Lines meant as fences that Markdown does not take for any, for a backtick stands in them: the line's
/// index and the backtick's column.
fn broken_fences(text: &Text, document: &Document) -> Vec<(usize, usize)> {
    let mut broken = Vec::new();
    for block in document.blocks.iter().filter(|block| !block.fenced) {
        let last = text.index(block.range.end.saturating_sub(1));
        for index in text.index(block.range.start)..=last {
            broken.extend(broken_at(text.line(index)).map(|column| (index, column)));
        }
    }
    broken
}

fn broken_at(line: &str) -> Option<usize> {
    let info = line.trim_start_matches('`');
    let length = line.len() - info.len();
    let before_tick = info.split_once('`')?.0;
    let words: Vec<&str> = info.split_whitespace().take(2).collect();
    let meant = matches!(Info::parse(&words.join(" ")), Ok(Some(info)) if info.role != Role::Hint);
    (length >= 3 && meant).then(|| length + before_tick.chars().count() + 1)
}

/// The fence that a line opens, as CommonMark has it.
fn opening(line: &str) -> Option<Opening<'_>> {
    let rest = line.trim_start_matches(' ');
    let indent = line.len() - rest.len();
    let mark = rest.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let info = rest.trim_start_matches(mark);
    let length = rest.len() - info.len();
    let fits = indent <= 3 && length >= 3 && !(mark == '`' && info.contains('`'));
    fits.then_some(Opening { indent, mark, length, info })
}

impl Opening<'_> {
    /// A line that closes this fence.
    fn closing(&self) -> String {
        self.mark.to_string().repeat(self.length)
    }
}

fn closes(line: &str, fence: Opening<'_>) -> bool {
    opening(line).is_some_and(|closing| {
        closing.mark == fence.mark && closing.length >= fence.length && closing.info.trim().is_empty()
    })
}

impl Text {
    fn new(lines: &[(usize, Cow<'_, str>)]) -> Text {
        let mut text = String::new();
        let mut starts = Vec::with_capacity(lines.len());
        for (number, line) in lines {
            starts.push((text.len(), *number));
            text.push_str(line);
            text.push('\n');
        }
        Text { text, lines: starts }
    }

    /// The index of the line that holds a byte.
    fn index(&self, offset: usize) -> usize {
        let after = self.lines.partition_point(|&(start, _)| start <= offset);
        after.saturating_sub(1)
    }

    fn line(&self, index: usize) -> &str {
        let Some(&(start, _)) = self.lines.get(index) else {
            return "";
        };
        let rest = self.text.get(start..).unwrap_or_default();
        rest.split('\n').next().unwrap_or_default()
    }

    /// The number in the file of the line at an index.
    fn number(&self, index: usize) -> usize {
        self.lines.get(index).map_or(1, |&(_, number)| number)
    }

    /// Line and column in the file of a byte.
    fn place(&self, offset: usize) -> (usize, usize) {
        let index = self.index(offset);
        let start = self.lines.get(index).map_or(0, |&(start, _)| start);
        let before = self.text.get(start..offset).unwrap_or_default();
        (self.number(index), before.chars().count() + 1)
    }
}
