//! The same code in Python, for PyTorch: what a learner would write there. Written from the code alone; nothing is
//! evaluated. What has no form in Python, or is this lab's own, is said in a comment and not made up.

mod bindings;
mod calls;
mod classes;
mod expr;
mod given;
mod lists;
mod lost;
mod meaning;
mod names;
mod numbers;
mod parse;
mod parts;
mod resolve;
mod stand_ins;
mod stmt;
mod texts;
mod tree;
mod walk;
pub(crate) mod writer;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_meaning;

use std::collections::HashMap;

use crate::script::python::writer::PythonWriter;

use super::whole::{self, Wholeness};

pub(crate) use names::gives_tensor;

/// Python of pieces of code, each of which goes on from those before it.
pub(crate) struct Translation {
    writer: PythonWriter,
}

/// Python for some Rhai code: imports first, then the code, statement by statement. Where the code can't be read, that
/// is all it says.
pub(crate) fn translate(code: &str) -> String {
    let mut translation = Translation::new();
    translation.add(code);
    translation.text()
}

impl Translation {
    pub(crate) fn new() -> Translation {
        Translation { writer: PythonWriter { scopes: vec![HashMap::new()], ..PythonWriter::default() } }
    }

    /// Like [`Translation::new`], with all that can't run in Python left out: what PyTorch has no call for, and what hangs
    /// on it.
    pub(crate) fn to_run() -> Translation {
        let mut translation = Translation::new();
        translation.writer.leaves_out = true;
        translation
    }

    /// Goes on with some code. Where that can't be read, a comment says so, and it is false.
    pub(crate) fn add(&mut self, code: &str) -> bool {
        let mut read = read(code);
        match &mut read {
            Ok(block) => {
                self.writer.names.resolve(block);
                self.writer.look_for_results(block);
                self.writer.look_for_calls(block);
                self.writer.block(block, &stmt::Sink::Leave);
            }
            Err((Some(line), text)) => self.line(&format!("# no Python: line {line}: {text}")),
            Err((None, text)) => self.line(&format!("# no Python: {text}")),
        }
        read.is_ok()
    }

    /// Looks at code that will follow: what calls give says what parameters are.
    pub(crate) fn look_ahead(&mut self, code: &str) {
        let mut read = read(code);
        if let Ok(block) = &read {
            self.writer.look_for_results(block);
            self.writer.look_for_calls(block);
        }
        self.writer.names.look_ahead(read.as_mut().unwrap_or(&mut Vec::new()));
    }

    /// The Python of some code that could follow.
    pub(crate) fn aside(&self, code: &str) -> String {
        let (scopes, names) = (self.writer.scopes.clone(), self.writer.names.clone());
        let mut aside = Translation { writer: PythonWriter { scopes, names, ..PythonWriter::default() } };
        aside.add(code);
        aside.take()
    }

    /// The lines since the last ones that were taken, without what they import.
    pub(crate) fn take(&mut self) -> String {
        let mut lines = self.writer.take_stand_ins();
        lines.append(&mut self.writer.lines);
        lines.join("\n")
    }

    /// Goes on with a line of Python, and what it imports.
    pub(crate) fn line(&mut self, line: &str) {
        self.writer.line(line);
    }

    pub(crate) fn import(&mut self, import: &'static str) {
        self.writer.imports.insert(import);
    }

    /// All of it, below its imports.
    pub(crate) fn text(mut self) -> String {
        let mut out: Vec<String> = self.writer.imports.iter().map(|import| (*import).to_owned()).collect();
        if !out.is_empty() {
            out.push(String::new());
        }
        out.append(&mut self.writer.take_stand_ins());
        out.append(&mut self.writer.lines);
        out.join("\n")
    }
}

/// The code as a tree, or the line from which on it can't be read, and why.
fn read(code: &str) -> Result<tree::Block, (Option<usize>, String)> {
    match whole::wholeness(code) {
        Wholeness::Whole => {}
        Wholeness::Incomplete(why) => return Err((None, why)),
        Wholeness::Wrong(line, why) => return Err((line, why)),
    }
    parse::parse(code).map_err(|parse::Trouble(text, at)| {
        let line = 1 + code.get(..at).unwrap_or(code).matches('\n').count();
        (Some(line), text)
    })
}
