//! What is known of the items of arrays, of what functions give, and so of fields: a map's are items in Python.

use super::names::is_member;
use super::tree::{Block, Expr, Stmt};
use super::writer::{PythonWriter, Type};

/// Methods that give some of the items that they are called on, and those that give one.
const SOME: [&str; 9] =
    ["filter", "extract", "order", "order_by", "order_desc", "drain", "retain", "split", "to_array"];
const ONE: [&str; 5] = ["get", "pop", "shift", "find", "remove"];

impl PythonWriter {
    /// What the functions of a block give, where that is an array or a map as it is written.
    pub(super) fn look_for_results(&mut self, block: &[Stmt]) {
        for statement in block {
            if let Stmt::Fn(name, _, body) = statement {
                self.learn_result(name, body);
            }
        }
    }

    pub(super) fn learn_result(&mut self, name: &str, body: &Block) {
        let Some(value) = last_value(body) else { return };
        let of = match value {
            Expr::Map(_) => Type::Map,
            Expr::Array(_) => Type::Array,
            // A variable of its own that was made so.
            Expr::Path(path) => match body.iter().find_map(|s| made_as(s, path)) {
                Some(Expr::Map(_)) => Type::Map,
                Some(Expr::Array(_)) => Type::Array,
                _ => return,
            },
            _ => return,
        };
        self.results.retain(|(one, _)| one != name);
        self.results.push((name.to_owned(), of));
    }

    /// What a function of the script gives.
    pub(super) fn result_of(&self, name: &str) -> Type {
        self.results.iter().find(|(one, _)| one == name).map_or(Type::Other, |(_, of)| *of)
    }

    /// Takes into account what a variable's items are.
    pub(super) fn learn_items(&mut self, name: &str, of: Type) {
        self.items_of.retain(|(one, _)| one != name);
        if of != Type::Other {
            self.items_of.push((name.to_owned(), of));
        }
    }

    pub(super) fn learn_pushed(&mut self, on: &Expr, value: &Expr) {
        let of = self.type_of(value);
        if let Expr::Path(path) = on
            && let ([name], Type::Map | Type::Array) = (path.as_slice(), of)
        {
            self.learn_items(name, of);
        }
    }

    /// What the items of an array are, if all are alike.
    pub(super) fn item_of(&self, value: &Expr) -> Type {
        match value {
            Expr::Array(items) => match items.first().map(|item| self.type_of(item)) {
                Some(of @ (Type::Map | Type::Array)) => of,
                _ => Type::Other,
            },
            Expr::Path(path) => match path.as_slice() {
                [name] => {
                    self.items_of.iter().find(|(one, _)| one == name).map_or(Type::Other, |(_, of)| *of)
                }
                _ => Type::Other,
            },
            Expr::Copy(inner) => self.item_of(inner),
            Expr::Binary(sign, a, _) if sign == "+" => self.item_of(a),
            Expr::Method(on, name, _) if SOME.contains(&name.as_str()) => self.item_of(on),
            Expr::Method(_, name, given) if name == "map" => match given.as_slice() {
                [Expr::Closure(_, body)] => match last_value(body) {
                    Some(Expr::Map(_)) => Type::Map,
                    Some(Expr::Array(_)) => Type::Array,
                    Some(Expr::Call(callee, _)) => match callee.as_ref() {
                        Expr::Path(path) => path.last().map_or(Type::Other, |name| self.result_of(name)),
                        _ => Type::Other,
                    },
                    _ => Type::Other,
                },
                _ => Type::Other,
            },
            Expr::Call(callee, given) => match (callee.as_ref(), given.as_slice()) {
                (Expr::Path(path), [items, ..])
                    if matches!(path.last().map(String::as_str), Some("progress" | "sorted")) =>
                {
                    self.item_of(items)
                }
                _ => Type::Other,
            },
            _ => Type::Other,
        }
    }

    /// What an item of an array is.
    pub(super) fn item_type(&self, value: &Expr) -> Type {
        match value {
            Expr::Index(on, at) if !matches!(**at, Expr::Range(..)) => self.item_of(on),
            Expr::Method(on, name, _) if ONE.contains(&name.as_str()) => self.item_of(on),
            _ => Type::Other,
        }
    }

    /// Whether a field is an item in Python, by its name: one of the script's own maps has it, and nothing of PyTorch's.
    pub(super) fn is_key(&self, on: &Expr, name: &str) -> bool {
        self.names.keys.iter().any(|key| key == name) && !is_member(name) && !self.is_object(on)
    }

    /// Whether a value has fields in Python.
    fn is_object(&self, value: &Expr) -> bool {
        match value {
            Expr::Path(path) => match path.as_slice() {
                [name] => matches!(name.as_str(), "self" | "this" | "ctx") || self.objects.contains(name),
                _ => true,
            },
            Expr::Field(on, name) => self.type_of(on) != Type::Map && !self.is_key(on, name),
            Expr::Index(on, _) => self.is_object(on),
            Expr::Call(callee, _) => matches!(callee.as_ref(), Expr::Path(path) if path.len() > 1),
            Expr::Copy(inner) => self.is_object(inner),
            _ => false,
        }
    }

    /// Takes into account where a variable's value comes from.
    pub(super) fn learn_origin(&mut self, name: &str, value: &Expr) {
        self.objects.retain(|one| one != name);
        if !matches!(value, Expr::Path(_)) && self.is_object(value) {
            self.objects.push(name.to_owned());
        }
    }
}

/// What a body gives.
fn last_value(body: &[Stmt]) -> Option<&Expr> {
    match body.iter().rev().find(|s| !matches!(s, Stmt::Comment(..) | Stmt::Blank))? {
        Stmt::Expr(value, _) | Stmt::Return(Some(value)) => Some(value),
        _ => None,
    }
}

/// What a statement makes a variable of.
fn made_as<'t>(statement: &'t Stmt, path: &[String]) -> Option<&'t Expr> {
    match statement {
        Stmt::Let(name, Some(value)) if path.last() == Some(name) => Some(value),
        _ => None,
    }
}
