//! Places where a text stands.

use crate::lab::model::editor::{Editor, Pos};

/// The columns of a line where `wanted` begins. Letters of both cases are alike while `wanted` has no capital.
pub(crate) fn matches(line: &str, wanted: &str) -> Vec<usize> {
    let exact = wanted.chars().any(char::is_uppercase);
    let fold = |c: char| if exact { c } else { c.to_lowercase().next().unwrap_or(c) };
    let wanted: Vec<char> = wanted.chars().map(fold).collect();
    let line: Vec<char> = line.chars().map(fold).collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    line.windows(wanted.len()).enumerate().filter(|(_, at)| *at == wanted).map(|(col, _)| col).collect()
}

impl Editor {
    /// The first place from `from` on, or the last before it, where a text stands; goes round at the ends.
    pub(crate) fn find(&self, wanted: &str, from: Pos, forward: bool) -> Option<Pos> {
        let all: Vec<Pos> = self
            .lines
            .iter()
            .enumerate()
            .flat_map(|(row, line)| matches(line, wanted).into_iter().map(move |col| Pos { row, col }))
            .collect();
        if forward {
            all.iter().find(|at| **at >= from).or(all.first()).copied()
        } else {
            all.iter().rev().find(|at| **at < from).or(all.last()).copied()
        }
    }
}
