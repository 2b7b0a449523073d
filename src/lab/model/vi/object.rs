//! Text objects: the word at the cursor, or what stands between two signs around it.

use crate::lab::model::editor::bytes::{byte_of, place_of};
use crate::lab::model::editor::{Editor, Pos};
use crate::lab::model::vi::parse::Object;

/// Start and end of an object; `None` where there is none.
pub(super) fn find(editor: &Editor, object: Object) -> Option<(Pos, Pos)> {
    match object.what {
        'w' => Some(word(editor, object.around)),
        quote @ ('"' | '\'' | '`') => quoted(editor, quote, object.around),
        open => bracketed(editor, open, object.around),
    }
}

fn word(editor: &Editor, around: bool) -> (Pos, Pos) {
    let at = editor.cursor();
    let class = editor.class(at);
    let line: Vec<char> = editor.line(at.row).chars().collect();
    let same = |col: usize| col < line.len() && editor.class(Pos { col, ..at }) == class;
    let start = (0..=at.col.min(line.len()))
        .rev()
        .take_while(|col| *col == at.col || same(*col))
        .last()
        .unwrap_or(at.col);
    let mut end = (at.col..line.len()).take_while(|col| same(*col)).last().map_or(at.col, |col| col + 1);
    if around {
        end += line.iter().skip(end).take_while(|c| **c == ' ').count();
    }
    (Pos { col: start, ..at }, Pos { col: end, ..at })
}

fn quoted(editor: &Editor, quote: char, around: bool) -> Option<(Pos, Pos)> {
    let at = editor.cursor();
    let places: Vec<usize> =
        editor.line(at.row).chars().enumerate().filter(|(_, c)| *c == quote).map(|(i, _)| i).collect();
    let pair = |pair: &[usize]| match pair {
        [open, close] if *close >= at.col => Some((*open, *close)),
        _ => None,
    };
    let (open, close) = places.chunks(2).find_map(pair)?;
    let (start, end) = if around { (open, close + 1) } else { (open + 1, close) };
    Some((Pos { col: start, ..at }, Pos { col: end, ..at }))
}

fn bracketed(editor: &Editor, open: char, around: bool) -> Option<(Pos, Pos)> {
    let close = match open {
        '(' => ')',
        '[' => ']',
        _ => '}',
    };
    let text = editor.text();
    let at = byte_of(editor.lines(), editor.cursor());
    let mut stack = Vec::new();
    let mut best: Option<(usize, usize)> = None;
    for (i, c) in text.char_indices() {
        if c == open {
            stack.push(i);
        } else if c == close
            && let Some(start) = stack.pop()
            && start <= at
            && at <= i
            && best.is_none_or(|(s, _)| start > s)
        {
            best = Some((start, i));
        }
    }
    let (start, end) = best?;
    let (start, end) = if around { (start, end + 1) } else { (start + 1, end) };
    Some((place_of(editor.lines(), start), place_of(editor.lines(), end)))
}
