//! Which code a function was defined in: an error within it stands there, not in the code that calls it.

use std::collections::HashMap;
use std::sync::Arc;

use rhai::AST;

/// Where code came from, for reports.
pub struct Origin<'a> {
    /// A file's name or `In [3]`.
    pub name: &'a str,
    pub code: &'a str,
    /// The line number of the code's first line in its file.
    pub first_line: u32,
}

/// Code that was evaluated.
#[derive(Debug)]
pub(crate) struct CodeSource {
    pub name: String,
    pub code: String,
    /// The line number of the code's first line in its file.
    pub first_line: u32,
}

impl CodeSource {
    pub(crate) fn origin(&self) -> Origin<'_> {
        Origin { name: &self.name, code: &self.code, first_line: self.first_line }
    }

    pub(crate) fn is(&self, origin: &Origin) -> bool {
        self.name == origin.name && self.first_line == origin.first_line && self.code == origin.code
    }
}

/// The code of each function and closure.
#[derive(Clone, Default)]
pub(crate) struct Sources {
    of: HashMap<String, Arc<CodeSource>>,
    /// The name of the code that was evaluated last.
    last: String,
}

impl Sources {
    /// The functions of an evaluation's code.
    pub(crate) fn define(&mut self, functions: &AST, origin: &Origin) {
        origin.name.clone_into(&mut self.last);
        let mut names = functions.iter_functions().peekable();
        if names.peek().is_none() {
            return;
        }
        let source = CodeSource {
            name: origin.name.to_owned(),
            code: origin.code.to_owned(),
            first_line: origin.first_line,
        };
        let source = Arc::new(source);
        self.of.extend(names.map(|function| (function.name.to_owned(), Arc::clone(&source))));
    }

    /// Whether the code that was evaluated last has this name.
    pub(crate) fn is_last(&self, name: &str) -> bool {
        self.last == name
    }

    pub(crate) fn of(&self, function: &str) -> Option<&CodeSource> {
        self.of.get(function).map(Arc::as_ref)
    }
}
