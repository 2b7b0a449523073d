//! What the parameters of functions are, by the calls that stand in the code, and which have a value of their own.

use std::collections::HashMap;

use super::tree::{Expr, Part, Stmt, only_value};
use super::writer::{Defaults, PythonWriter, Type};

impl PythonWriter {
    /// Takes the calls of a block into account, as far as their arguments are known when it begins.
    pub(super) fn look_for_calls(&mut self, block: &[Stmt]) {
        let mut found = Vec::new();
        statements(block, &mut found);
        self.scopes.push(HashMap::new());
        for statement in block {
            if let Stmt::Let(name, Some(value @ (Expr::Array(_) | Expr::Map(_)))) = statement {
                self.bind(name, self.type_of(value));
            }
        }
        for (name, arguments) in found {
            let types: Vec<Type> = arguments.iter().map(|argument| self.type_of(argument)).collect();
            let known = self.given.entry((name.to_owned(), types.len())).or_insert_with(|| types.clone());
            for (known, now) in known.iter_mut().zip(types) {
                *known = if *known == now { now } else { Type::Other };
            }
        }
        self.scopes.pop();
    }

    /// The values of a function's last parameters where they are left out, from the last one on.
    pub(super) fn defaults_of(&mut self, name: &str, count: usize) -> Vec<String> {
        let found = self.defaults.iter().find(|(of, _, all)| of == name && all.len() == count).cloned();
        let (_, given, all) = found.unwrap_or_default();
        all.iter().skip(given).rev().map(|value| self.expr(value)).collect()
    }
}

/// `fn f() { f(0) }` beside `fn f(x)`: the name, how many parameters are given on as they are, and all arguments.
pub(super) fn defaulting(statement: &Stmt) -> Option<Defaults> {
    let Stmt::Fn(name, params, body) = statement else { return None };
    let Expr::Call(callee, arguments) = only_value(body)? else { return None };
    let given = arguments.iter().take(params.len());
    let same = given.zip(params).all(|(argument, param)| *argument == Expr::Path(vec![param.clone()]));
    let simple = |value: &Expr| matches!(value, Expr::Number(_) | Expr::Text(_) | Expr::Bool(_) | Expr::Unit);
    let rest = arguments.get(params.len()..).filter(|rest| !rest.is_empty() && rest.iter().all(simple));
    let own = **callee == Expr::Path(vec![name.clone()]);
    (own && same && rest.is_some()).then(|| (name.clone(), params.len(), arguments.clone()))
}

type Calls<'t> = Vec<(&'t str, &'t [Expr])>;

fn statements<'t>(block: &'t [Stmt], found: &mut Calls<'t>) {
    for statement in block {
        match statement {
            Stmt::Let(_, Some(given)) | Stmt::Expr(given, _) | Stmt::Return(Some(given)) => {
                value(given, found)
            }
            Stmt::Assign(target, _, given) => {
                value(target, found);
                value(given, found);
            }
            Stmt::Fn(_, _, body) => statements(body, found),
            Stmt::For(_, given, body) | Stmt::While(given, body) | Stmt::DoWhile(body, given) => {
                value(given, found);
                statements(body, found);
            }
            Stmt::Try(body, _, handler) => {
                statements(body, found);
                statements(handler, found);
            }
            _ => {}
        }
    }
}

fn value<'t>(given: &'t Expr, found: &mut Calls<'t>) {
    match given {
        Expr::Call(callee, arguments) => {
            if let Expr::Path(path) = callee.as_ref()
                && let [name] = path.as_slice()
            {
                found.push((name, arguments));
            }
            arguments.iter().for_each(|argument| value(argument, found));
        }
        Expr::Method(on, _, arguments) => {
            value(on, found);
            arguments.iter().for_each(|argument| value(argument, found));
        }
        Expr::Template(parts) => {
            for part in parts {
                if let Part::Code(code) = part {
                    statements(code, found);
                }
            }
        }
        Expr::Array(items) => items.iter().for_each(|item| value(item, found)),
        Expr::Map(pairs) => pairs.iter().for_each(|(_, item)| value(item, found)),
        Expr::Unary(_, inner) | Expr::Field(inner, _) => value(inner, found),
        Expr::Binary(_, a, b) | Expr::Index(a, b) => {
            value(a, found);
            value(b, found);
        }
        Expr::If(branches, otherwise) => {
            for (condition, body) in branches {
                value(condition, found);
                statements(body, found);
            }
            otherwise.iter().for_each(|body| statements(body, found));
        }
        Expr::Closure(_, body) => statements(body, found),
        Expr::Block(body) | Expr::Loop(body) | Expr::With(_, body) => statements(body, found),
        _ => {}
    }
}
