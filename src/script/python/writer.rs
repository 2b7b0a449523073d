//! Python that is being written.

use std::collections::{BTreeSet, HashMap};

use super::bindings::Names;
use super::stand_ins::StandIn;
use super::tree::Expr;

/// The types of a function's arguments, by its name and how many there are; `Other` where calls differ.
pub(super) type CalledWith = HashMap<(String, usize), Vec<Type>>;

/// A function's name, how many of its parameters have no default, and all values of a call without the others.
pub(super) type Defaults = (String, usize, Vec<Expr>);

/// Python as it is written, line by line.
#[derive(Default)]
pub(crate) struct PythonWriter {
    pub(super) lines: Vec<String>,
    pub(super) indent: usize,
    pub(super) imports: BTreeSet<&'static str>,
    /// Functions that stand in for this lab's own, and those of them that are still to be written.
    pub(super) stand_ins: Vec<StandIn>,
    pub(super) new_stand_ins: Vec<StandIn>,
    /// Variables of the script, and of each function around.
    pub(super) scopes: Vec<HashMap<String, Type>>,
    /// What functions are called with.
    pub(super) given: CalledWith,
    /// Functions of the blocks around that call the one of their name with values for the rest.
    pub(super) defaults: Vec<Defaults>,
    /// Names made up so far.
    pub(super) made: usize,
    /// What the statement being written has no form for.
    pub(super) notes: Vec<String>,
    /// Whether what can't run in Python is to be left out, with all that hangs on it.
    pub(super) leaves_out: bool,
    /// What of the statement being written can't run in Python.
    pub(super) lost: Lost,
    /// The name that the value being written is bound to.
    pub(super) target: Option<String>,
    /// Whether an array that is returned is a tuple: PyTorch takes several gradients so alone.
    pub(super) returns_tuple: bool,
    /// Names of errors that are caught.
    pub(super) caught: Vec<String>,
    /// What variables are called, and which may be below 0.
    pub(super) names: Names,
    /// What functions of the script give, and what the items of variables are, as far as is known.
    pub(super) results: Vec<(String, Type)>,
    pub(super) items_of: Vec<(String, Type)>,
    /// Variables that hold what a call of PyTorch's or the lab's gave, whose fields are no entries.
    pub(super) objects: Vec<String>,
    /// Variables that were bound to numbers and texts, in an array or a map.
    pub(super) simple: Vec<String>,
    /// Names that functions were given.
    pub(super) functions: Vec<String>,
    /// Whether nobody takes the value of the method that is written next.
    pub(super) unused: bool,
}

impl PythonWriter {
    pub(super) fn line(&mut self, text: &str) {
        self.lines.push(if text.is_empty() {
            String::new()
        } else {
            format!("{}{text}", "    ".repeat(self.indent))
        });
    }

    /// Says before the statement that something has no form.
    pub(super) fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    /// Says before the statement that something can't run in Python.
    pub(super) fn note_lost(&mut self, text: impl Into<String>) {
        self.note(text);
        self.lost.part = true;
    }

    /// The name of a function that stands in for a call of this lab; it is written along.
    pub(super) fn stand_in(&mut self, needed: StandIn) -> &'static str {
        if needed.needs_torch() {
            self.imports.insert("import torch");
        }
        if !self.stand_ins.contains(&needed) {
            self.stand_ins.push(needed);
            self.new_stand_ins.push(needed);
        }
        needed.name()
    }

    /// The lines of the functions that were needed since this was last asked for.
    pub(super) fn take_stand_ins(&mut self) -> Vec<String> {
        std::mem::take(&mut self.new_stand_ins)
            .into_iter()
            .map(|function| function.python().to_owned())
            .collect()
    }

    pub(super) fn made_up(&mut self, stem: &str) -> String {
        self.made += 1;
        format!("{stem}_{}", self.made)
    }

    pub(super) fn bind(&mut self, name: &str, of: Type) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), of);
        }
    }

    pub(super) fn known(&self, name: &str) -> Option<Type> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name)).copied()
    }
}

/// What can't run in Python, as it is this lab's own or made of that.
#[derive(Clone, Copy, Default)]
pub(super) struct Lost {
    /// Something that the statement calls or uses.
    pub part: bool,
    /// The value of the block that the statement binds.
    pub value: bool,
    /// What the function around returns.
    pub returned: bool,
}

impl Lost {
    pub(super) fn add(&mut self, more: Lost) {
        self.part |= more.part;
        self.value |= more.value;
        self.returned |= more.returned;
    }
}

/// What is known of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Type {
    Int,
    Float,
    Map,
    Tensor,
    /// A float or a tensor: no whole number.
    Real,
    Bool,
    Text,
    Array,
    /// It has no value, as the statement that binds it is left out.
    Absent,
    /// Anything else.
    Other,
}
