//! The same code in Python, for PyTorch: what a learner would write there. Written from the code alone; nothing is
//! evaluated. What has no form in Python, or is this lab's own, is said in a comment and not made up.

mod calls;
mod expr;
mod names;
mod parse;
mod stmt;
mod tree;
pub(crate) mod writer;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use crate::script::python::writer::PythonWriter;

use super::whole::{self, Wholeness};

pub(crate) use names::gives_tensor;

/// Python for some Rhai code: imports first, then the code, statement by statement. Where the code can't be read, that
/// is all it says.
pub(crate) fn translate(code: &str) -> String {
    let no = |line: Option<usize>, text: &str| match line {
        Some(line) => format!("# no Python: line {line}: {text}"),
        None => format!("# no Python: {text}"),
    };
    match whole::wholeness(code) {
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
