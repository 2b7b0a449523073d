//! What can't run in Python, as PyTorch has no such call: the statements that hang on it are left out, as comments.

use super::stmt::{Sink, gives};
use super::tree::{Expr, Stmt};
use super::writer::{Lost, PythonWriter, Type};

/// Methods that change the list or map that they are called on.
const CHANGING: [&str; 8] = ["push", "append", "insert", "extend", "pop", "remove", "set", "mixin"];

const USES: &str = "uses ";
const GONE: &str = ", which is left out";
const ALL_GONE: &str = ", which are left out";

impl PythonWriter {
    /// Leaves a statement out where it can't run, and gives what that takes from those around it. Where only what is
    /// this lab's own goes, that are statements of which nothing is made.
    pub(super) fn lose(&mut self, statement: &Stmt, sink: &Sink, before: usize) -> Lost {
        let lost = self.lost;
        let is_left = matches!(statement, Stmt::Expr(value, ended) if !gives(value, *ended));
        let sink = if is_left { &Sink::Leave } else { sink };
        if !self.leaves_out {
            if lost.part && *sink == Sink::Leave && matches!(statement, Stmt::Expr(..)) {
                self.leave_out(before);
            }
            return Lost::default();
        }
        let mut around = Lost { returned: lost.returned, ..Lost::default() };
        if !lost.part && !lost.value {
            return around;
        }
        let is_value = matches!(statement, Stmt::Expr(..));
        match sink {
            _ if matches!(statement, Stmt::Return(_)) => around.returned = true,
            Sink::Return if is_value => around.returned = true,
            Sink::To(_) if is_value => around.value = true,
            _ => {
                self.leave_out(before);
                let mut inside = Inside::default();
                inside.statement(statement, false);
                if let Stmt::Let(name, _) | Stmt::Fn(name, ..) = statement {
                    inside.bound.retain(|bound| bound != name);
                    inside.names.push(name.clone());
                }
                inside.names.retain(|name| !inside.bound.contains(name));
                inside.names.iter().for_each(|name| self.lose_name(name));
                around.returned |= inside.returns;
                around.part = inside.leaves_loop;
            }
        }
        around
    }

    /// Says before the statement that it uses a variable whose statement is left out: one note for all of them.
    pub(super) fn note_use(&mut self, name: &str) {
        self.lost.part = true;
        let names = |note: &str| {
            let names = note.strip_prefix(USES)?;
            names.strip_suffix(GONE).or_else(|| names.strip_suffix(ALL_GONE)).map(str::to_owned)
        };
        match self.notes.iter_mut().find_map(|note| names(note).map(|names| (note, names))) {
            Some((_, names)) if names.split(", ").any(|one| one == name) => {}
            Some((note, names)) => *note = format!("{USES}{names}, {name}{ALL_GONE}"),
            None => self.notes.push(format!("{USES}{name}{GONE}")),
        }
    }

    /// A variable has no value from here on, wherever it was bound.
    fn lose_name(&mut self, name: &str) {
        let known = self.scopes.iter_mut().rev().find(|scope| scope.contains_key(name));
        match known {
            Some(scope) => drop(scope.insert(name.to_owned(), Type::Absent)),
            None => self.bind(name, Type::Absent),
        }
    }

    /// Makes comments of the lines from `before` on.
    fn leave_out(&mut self, before: usize) {
        let indent = "    ".repeat(self.indent);
        for line in self.lines.iter_mut().skip(before).filter(|line| !line.is_empty()) {
            *line = format!("{indent}# {}", line.strip_prefix(&indent).unwrap_or(line));
        }
    }
}

/// What goes with a statement that is left out.
#[derive(Default)]
struct Inside {
    /// Variables that it changes, and those that its own blocks bind, which nothing around them knows.
    names: Vec<String>,
    bound: Vec<String>,
    returns: bool,
    /// Whether it ends or shortens a loop around it.
    leaves_loop: bool,
}

impl Inside {
    fn block(&mut self, block: &[Stmt], in_loop: bool) {
        block.iter().for_each(|statement| self.statement(statement, in_loop));
    }

    fn statement(&mut self, statement: &Stmt, in_loop: bool) {
        match statement {
            Stmt::Let(name, value) => {
                self.bound.push(name.clone());
                value.iter().for_each(|value| self.value(value, in_loop));
            }
            Stmt::Assign(target, _, value) => {
                self.names.extend(root(target).cloned());
                self.value(value, in_loop);
            }
            Stmt::Expr(value, _) => self.value(value, in_loop),
            Stmt::Fn(name, ..) => self.bound.push(name.clone()),
            Stmt::For(names, _, body) => {
                self.bound.extend(names.iter().cloned());
                self.block(body, true);
            }
            Stmt::While(_, body) | Stmt::DoWhile(body, _) => self.block(body, true),
            Stmt::Try(body, _, handler) => {
                self.block(body, in_loop);
                self.block(handler, in_loop);
            }
            Stmt::Return(_) => self.returns = true,
            Stmt::Break(_) | Stmt::Continue => self.leaves_loop |= !in_loop,
            Stmt::Throw(_) | Stmt::Comment(..) | Stmt::Blank => {}
        }
    }

    fn value(&mut self, value: &Expr, in_loop: bool) {
        match value {
            Expr::Method(on, name, given) if CHANGING.contains(&name.as_str()) => {
                self.names.extend(root(on).cloned());
                given.iter().for_each(|given| self.value(given, in_loop));
            }
            Expr::If(branches, otherwise) => {
                branches.iter().for_each(|(_, body)| self.block(body, in_loop));
                otherwise.iter().for_each(|body| self.block(body, in_loop));
            }
            Expr::Switch(_, cases, otherwise) => {
                cases.iter().for_each(|case| self.block(&case.body, in_loop));
                otherwise.iter().for_each(|body| self.block(body, in_loop));
            }
            // What it would have changed; it returns from itself, and its loops are its own.
            Expr::Closure(params, body) => {
                let returns = self.returns;
                self.bound.extend(params.iter().cloned());
                self.block(body, true);
                self.returns = returns;
            }
            Expr::Call(_, given) => given.iter().for_each(|given| self.value(given, in_loop)),
            Expr::Method(on, _, given) => {
                self.value(on, in_loop);
                given.iter().for_each(|given| self.value(given, in_loop));
            }
            Expr::Array(items) => items.iter().for_each(|item| self.value(item, in_loop)),
            Expr::Unary(_, inner) | Expr::Field(inner, _) => self.value(inner, in_loop),
            Expr::Binary(_, a, b) | Expr::Index(a, b) => {
                self.value(a, in_loop);
                self.value(b, in_loop);
            }
            Expr::Block(body) | Expr::With(_, body) => self.block(body, in_loop),
            Expr::Loop(body) => self.block(body, true),
            _ => {}
        }
    }
}

/// The variable of which something is part.
fn root(of: &Expr) -> Option<&String> {
    match of {
        Expr::Path(path) => path.first().filter(|_| path.len() == 1),
        Expr::Field(on, _) | Expr::Index(on, _) => root(on),
        _ => None,
    }
}
