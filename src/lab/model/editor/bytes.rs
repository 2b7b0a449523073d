//! Places of a text as bytes, and back.

use crate::lab::model::editor::{Editor, Pos};

/// The byte of the text at the cursor.
pub(crate) fn cursor_byte(editor: &Editor) -> usize {
    byte_of(editor.lines(), editor.cursor())
}

/// The byte of a place in some lines.
pub(crate) fn byte_of(lines: &[String], at: Pos) -> usize {
    let before: usize = lines.iter().take(at.row).map(|line| line.len() + 1).sum();
    let line = lines.get(at.row).map(String::as_str).unwrap_or_default();
    before + line.char_indices().nth(at.col).map_or(line.len(), |(byte, _)| byte)
}

/// The place of a byte of some lines.
pub(crate) fn place_of(lines: &[String], byte: usize) -> Pos {
    let mut rest = byte;
    for (row, line) in lines.iter().enumerate() {
        if rest <= line.len() {
            return Pos { row, col: line.get(..rest).map_or(0, |head| head.chars().count()) };
        }
        rest -= line.len() + 1;
    }
    Pos { row: lines.len().saturating_sub(1), col: usize::MAX }
}
