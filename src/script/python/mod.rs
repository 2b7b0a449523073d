//! The same code in Python, for PyTorch: what a learner would write there. Written from the code alone; nothing is
//! evaluated. What has no form in Python, or is this lab's own, is said in a comment and not made up.

mod calls;
mod expr;
mod names;
mod parse;
mod stmt;
mod tree;

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};

use super::lexer::{self, Wholeness};

/// What is known of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Type {
    Int,
    Float,
    Map,
    Tensor,
    Bool,
    /// Anything else.
    Other,
}

/// Python as it is written, line by line.
#[derive(Default)]
struct PythonWriter {
    lines: Vec<String>,
    indent: usize,
    imports: BTreeSet<&'static str>,
    /// Variables of the script, and of each function around.
    scopes: Vec<HashMap<String, Type>>,
    /// Names made up so far.
    made: usize,
    /// What the statement being written has no form for.
    notes: Vec<String>,
    /// The name that the value being written is bound to.
    target: Option<String>,
    /// Names of errors that are caught.
    caught: Vec<String>,
}

/// Python for some Rhai code: imports first, then the code, statement by statement. Where the code can't be read, that
/// is all it says.
pub(crate) fn translate(code: &str) -> String {
    let no = |line: Option<usize>, text: &str| match line {
        Some(line) => format!("# no Python: line {line}: {text}"),
        None => format!("# no Python: {text}"),
    };
    match lexer::wholeness(code) {
        Wholeness::Whole => {}
        Wholeness::Incomplete(why) => return no(None, &why),
        Wholeness::Wrong(line, why) => return no(line, &why),
    }
    let block = match parse::parse(code) {
        Ok(block) => block,
        Err(parse::Trouble(text, at)) => {
            let line = 1 + code.get(..at).unwrap_or(code).matches('\n').count();
            return no(Some(line), &text);
        }
    };
    let mut writer = PythonWriter { scopes: vec![HashMap::new()], ..PythonWriter::default() };
    writer.block(&block, &stmt::Sink::Leave);
    let mut out: Vec<String> = writer.imports.iter().map(|import| (*import).to_owned()).collect();
    if !out.is_empty() {
        out.push(String::new());
    }
    out.append(&mut writer.lines);
    out.join("\n")
}

impl PythonWriter {
    fn line(&mut self, text: &str) {
        self.lines.push(if text.is_empty() {
            String::new()
        } else {
            format!("{}{text}", "    ".repeat(self.indent))
        });
    }

    /// Says before the statement that something has no form.
    fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    fn made_up(&mut self, stem: &str) -> String {
        self.made += 1;
        format!("{stem}_{}", self.made)
    }

    fn bind(&mut self, name: &str, of: Type) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), of);
        }
    }

    fn known(&self, name: &str) -> Option<Type> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name)).copied()
    }
}
