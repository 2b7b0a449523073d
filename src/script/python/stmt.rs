//! Statements and blocks.

use std::collections::HashMap;

use crate::script::python::writer::{PythonWriter, Type};
use crate::script::unpack::PAIRING;

use super::given::defaulting;
use super::stand_ins::StandIn;
use super::tree::{Block, Case, Expr, Stmt, only_value};

/// What becomes of a block's value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Sink {
    /// It stands as an expression.
    Leave,
    Return,
    /// It is bound to a name.
    To(String),
}

impl PythonWriter {
    pub(super) fn block(&mut self, block: &[Stmt], sink: &Sink) {
        let last = block.iter().rposition(|s| !matches!(s, Stmt::Comment(..) | Stmt::Blank));
        let before = self.defaults.len();
        self.defaults.extend(block.iter().filter_map(defaulting));
        // Functions call each other wherever they stand.
        for statement in block {
            if let Stmt::Fn(name, ..) = statement
                && self.known(name).is_none()
            {
                self.bind(name, Type::Other);
            }
        }
        for (i, statement) in block.iter().enumerate() {
            // Python has one function of a name, whose last parameters may be left out.
            if defaulting(statement).is_some() {
                continue;
            }
            let sink = if Some(i) == last { sink } else { &Sink::Leave };
            self.statement(statement, sink);
        }
        self.defaults.truncate(before);
        let last = last.and_then(|i| block.get(i));
        let valued = last.is_some_and(|s| matches!(s, Stmt::Expr(value, ended) if gives(value, *ended)));
        if let (Sink::To(name), false) = (sink, valued) {
            self.line(&format!("{name} = None"));
        }
    }

    /// A block one step further in; never empty.
    fn inner(&mut self, block: &[Stmt], sink: &Sink) {
        self.indent += 1;
        let before = self.lines.len();
        self.block(block, sink);
        let code = self.lines.iter().skip(before).any(|line| {
            let line = line.trim_start();
            !line.is_empty() && !line.starts_with('#')
        });
        if !code {
            self.line("pass");
        }
        self.indent -= 1;
    }

    fn statement(&mut self, statement: &Stmt, sink: &Sink) {
        let before = self.lines.len();
        // What is said of the statement around stands before that.
        let around = std::mem::take(&mut self.notes);
        let lost_around = std::mem::take(&mut self.lost);
        match statement {
            Stmt::Comment(text, behind) => self.comment(text, *behind),
            Stmt::Blank => self.line(""),
            Stmt::Let(name, value) => self.bind_value(name, value.as_ref()),
            Stmt::Assign(target, operator, value) => self.assign(target, operator, value),
            Stmt::Expr(value, ended) => {
                self.value(value, if gives(value, *ended) { sink } else { &Sink::Leave })
            }
            Stmt::Fn(name, params, body) => self.function(&PythonWriter::variable(name), params, body),
            Stmt::For(names, items, body) => self.for_loop(names, items, body),
            Stmt::While(condition, body) => self.while_loop(condition, body),
            Stmt::DoWhile(body, condition) => {
                self.line("while True:");
                self.inner(body, &Sink::Leave);
                self.indent += 1;
                let ends = self.negated(condition);
                self.line(&format!("if {ends}:"));
                self.line("    break");
                self.indent -= 1;
            }
            Stmt::Return(value) => match value {
                Some(value) => self.value(value, &Sink::Return),
                None => self.line("return"),
            },
            Stmt::Break(None) => self.line("break"),
            Stmt::Break(Some(value)) => {
                self.note("Python's loops have no value");
                let value = self.expr(value);
                self.line(&format!("break  # {value}"));
            }
            Stmt::Continue => self.line("continue"),
            Stmt::Throw(Some(Expr::Path(path))) if path.last().is_some_and(|e| self.caught.contains(e)) => {
                self.line("raise");
            }
            Stmt::Throw(Some(value)) if let Some(error) = self.error(value) => {
                self.line(&format!("raise {error}"));
            }
            Stmt::Throw(value) => {
                let text = value.as_ref().map(|value| self.expr(value)).unwrap_or_default();
                self.line(&format!("raise RuntimeError({text})"));
            }
            Stmt::Try(body, name, handler) => self.try_catch(body, name.as_deref(), handler, sink),
        }
        let lost = self.lose(statement, sink, before);
        self.lost = lost_around;
        self.lost.add(lost);
        self.say_notes(before);
        self.notes = around;
    }

    /// Puts what has no form before the statement.
    fn say_notes(&mut self, before: usize) {
        let indent = "    ".repeat(self.indent);
        for note in std::mem::take(&mut self.notes).into_iter().rev() {
            self.lines.insert(before, format!("{indent}# {note}"));
        }
    }

    fn comment(&mut self, text: &str, behind: bool) {
        match self.lines.last_mut().filter(|last| behind && !last.is_empty()) {
            Some(last) => last.push_str(&format!("  # {text}")),
            None => self.line(format!("# {text}").trim_end()),
        }
    }

    fn bind_value(&mut self, name: &str, value: Option<&Expr>) {
        let python = PythonWriter::variable(name);
        match value {
            None => self.line(&format!("{python} = None")),
            Some(value) => {
                let (of, items) = (self.type_of(value), self.item_of(value));
                self.value(value, &Sink::To(python));
                self.bind(name, of);
                self.learn_items(name, items);
                self.learn_origin(name, value);
                self.simple.retain(|one| one != name);
                if is_simple_data(value) {
                    self.simple.push(name.to_owned());
                }
                if let Expr::Closure(_, body) = value {
                    self.learn_result(name, body);
                    self.functions.push(name.to_owned());
                }
            }
        }
        if value.is_none() {
            self.bind(name, Type::Other);
        }
    }

    fn assign(&mut self, target: &Expr, operator: &str, value: &Expr) {
        if let (Expr::Path(path), "=") = (target, operator)
            && let [name] = path.as_slice()
        {
            let of = self.type_of(value);
            self.value(value, &Sink::To(PythonWriter::variable(name)));
            if self.known(name) != Some(of) {
                self.bind(name, Type::Other);
            }
            return;
        }
        let python = self.expr(target);
        match (self.type_of(target), operator) {
            (Type::Array, "+=") => match self.type_of(value) {
                Type::Array => {}
                // Another array is joined to it, anything else is put behind its last.
                Type::Other | Type::Absent => {
                    let plain = matches!(value, Expr::Path(path) if path.len() == 1);
                    let mut text = self.expr(value);
                    if !plain {
                        let name = self.made_up("item");
                        self.line(&format!("{name} = {text}"));
                        text = name;
                    }
                    let parts = format!("{text} if isinstance({text}, list) else [{text}]");
                    return self.line(&format!("{python} += {parts}"));
                }
                _ => {
                    let value = self.expr(value);
                    return self.line(&format!("{python}.append({value})"));
                }
            },
            (Type::Text, "+=") => {
                let value = self.text(value, 0);
                return self.line(&format!("{python} += {value}"));
            }
            _ => {}
        }
        if let "/=" | "%=" = operator {
            let line = self.divide_by(operator.trim_end_matches('='), target, value);
            return self.line(&line);
        }
        let value = self.expr(value);
        self.line(&format!("{python} {operator} {value}"));
    }

    /// A value that stands as a statement, is returned or is bound.
    pub(super) fn value(&mut self, value: &Expr, sink: &Sink) {
        match value {
            Expr::If(branches, otherwise) if !self.is_ternary(value) || *sink == Sink::Leave => {
                self.if_else(branches, otherwise.as_ref(), sink);
            }
            Expr::With(context, body) => {
                let context = self.expr(context);
                self.line(&format!("with {context}:"));
                self.inner(body, sink);
            }
            Expr::Block(body) => self.block(body, sink),
            Expr::Loop(body) => {
                if *sink != Sink::Leave {
                    self.note("Python's loops have no value");
                }
                self.line("while True:");
                self.inner(body, &Sink::Leave);
            }
            Expr::Switch(subject, cases, otherwise) => self.switch(subject, cases, otherwise.as_ref(), sink),
            Expr::Closure(params, body) if super::tree::only_value(body).is_none() => match sink {
                Sink::To(name) => self.function(&name.clone(), params, body),
                _ => self.plain(value, sink),
            },
            _ => self.plain(value, sink),
        }
    }

    fn plain(&mut self, value: &Expr, sink: &Sink) {
        if let Some(line) = self.own_statement(value) {
            return self.line(&line);
        }
        // What has a name of its own is copied here, and would be the same there.
        let held = matches!(self.type_of(value), Type::Array | Type::Map) && matches!(sink, Sink::To(_));
        let value = match value {
            Expr::Copy(inner) if held && matches!(**inner, Expr::Path(_)) => inner,
            value => value,
        };
        if let Sink::To(name) = sink {
            self.target = Some(name.clone());
        }
        self.unused = *sink == Sink::Leave && matches!(value, Expr::Method(..));
        let before = self.lines.len();
        let mut text = self.expr(value);
        self.unused = false;
        self.target = None;
        // All that it does is written already.
        if *sink == Sink::Leave && text == "None" && self.lines.len() > before {
            return;
        }
        if held && let Expr::Path(path) = value {
            let simple = path.last().is_some_and(|name| self.simple.contains(name));
            if !simple || self.known("copy").is_some() {
                let copy = self.stand_in(StandIn::Copy);
                return self.line(&format!(
                    "{} = {copy}({text})",
                    if let Sink::To(name) = sink { name } else { "" }
                ));
            }
            self.imports.insert("import copy");
            text = format!("copy.deepcopy({text})");
        } else if matches!(sink, Sink::To(_)) && super::tree::gives_once(value) {
            text = format!("list({text})");
        }
        match sink {
            // The empty value is no statement of its own.
            Sink::Leave if *value == Expr::Unit => {}
            Sink::Leave => self.line(&text),
            Sink::Return if self.returns_tuple && matches!(value, Expr::Array(_)) => {
                self.line(&format!("return tuple({text})"));
            }
            Sink::Return => self.line(&format!("return {text}")),
            // A class may have been made of it already.
            Sink::To(name) => self.line(&format!("{name} = {text}")),
        }
    }

    fn if_else(&mut self, branches: &[(Expr, Block)], otherwise: Option<&Block>, sink: &Sink) {
        let mut depth = 0;
        for (i, (condition, body)) in branches.iter().enumerate() {
            let before = self.lines.len();
            let text = self.expr(condition);
            // What a condition needs first goes into an `else` of its own.
            let (word, hoisted) = (if i == 0 { "if" } else { "elif" }, self.lines.len() > before);
            if i > 0 && hoisted {
                let made = self.lines.split_off(before);
                self.line("else:");
                self.lines.extend(made.into_iter().map(|line| format!("    {line}")));
                self.indent += 1;
                depth += 1;
                self.line(&format!("if {text}:"));
            } else {
                self.line(&format!("{word} {text}:"));
            }
            self.inner(body, sink);
        }
        match otherwise {
            Some(body) if !(body.is_empty() && *sink == Sink::Leave) => {
                self.line("else:");
                self.inner(body, sink);
            }
            None if matches!(sink, Sink::To(_)) => {
                self.line("else:");
                self.inner(&[], sink);
            }
            _ => {}
        }
        self.indent -= depth;
    }

    fn switch(&mut self, subject: &Expr, cases: &[Case], otherwise: Option<&Block>, sink: &Sink) {
        let subject = self.expr(subject);
        self.line(&format!("match {subject}:"));
        self.indent += 1;
        for case in cases {
            let (mut values, mut guards) = (Vec::new(), Vec::new());
            for value in &case.values {
                match value {
                    Expr::Range(from, to, whole) => {
                        let (from, to) = (self.expr(from), self.expr(to));
                        guards.push(format!("{from} <= {subject} {} {to}", if *whole { "<=" } else { "<" }));
                    }
                    value => values.push(self.expr(value)),
                }
            }
            let pattern = if guards.is_empty() { values.join(" | ") } else { "_".into() };
            let also: Vec<String> = values.iter().map(|value| format!("{subject} == {value}")).collect();
            let mut guard =
                if guards.is_empty() { String::new() } else { [also, guards].concat().join(" or ") };
            if let Some(condition) = &case.condition {
                let condition = self.expr(condition);
                guard = if guard.is_empty() { condition } else { format!("({guard}) and {condition}") };
            }
            let guard = if guard.is_empty() { guard } else { format!(" if {guard}") };
            self.line(&format!("case {pattern}{guard}:"));
            self.inner(&case.body, sink);
        }
        if let Some(body) = otherwise {
            self.line("case _:");
            self.inner(body, sink);
        }
        self.indent -= 1;
    }

    pub(super) fn function(&mut self, name: &str, params: &[String], body: &[Stmt]) {
        let mut shown: Vec<String> = params.iter().map(|param| PythonWriter::variable(param)).collect();
        for (shown, default) in shown.iter_mut().rev().zip(self.defaults_of(name, params.len())) {
            *shown = format!("{shown}={default}");
        }
        self.line(&format!("def {name}({}):", shown.join(", ")));
        let outside = self.assigned_outside(params, body);
        if !outside.is_empty() {
            let word = if self.scopes.len() > 1 { "nonlocal" } else { "global" };
            self.indent += 1;
            self.line(&format!("{word} {}", outside.join(", ")));
            self.indent -= 1;
        }
        let given = self.given.get(&(name.to_owned(), params.len())).cloned().unwrap_or_default();
        let types = given.into_iter().chain(std::iter::repeat(Type::Other));
        self.scopes.push(params.iter().cloned().zip(types).collect::<HashMap<_, _>>());
        // A function whose value is lost can't run; what it loses for itself is its own.
        let around = std::mem::take(&mut self.lost);
        self.inner(body, &Sink::Return);
        let inside = std::mem::replace(&mut self.lost, around);
        self.lost.part |= inside.returned;
        self.scopes.pop();
        self.bind(name, Type::Other);
        self.functions.push(name.to_owned());
    }

    /// Names of around that a body assigns to.
    fn assigned_outside(&self, params: &[String], body: &[Stmt]) -> Vec<String> {
        let mut own: Vec<String> = params.to_vec();
        let mut found = Vec::new();
        gather(body, &mut own, &mut found);
        found.retain(|name| self.known(name).is_some());
        found
    }

    fn while_loop(&mut self, condition: &Expr, body: &[Stmt]) {
        let before = self.lines.len();
        let text = self.expr(condition);
        let made = self.lines.split_off(before);
        if made.is_empty() {
            self.line(&format!("while {text}:"));
            return self.inner(body, &Sink::Leave);
        }
        // What the condition needs first is needed each time.
        self.line("while True:");
        self.lines.extend(made.into_iter().map(|line| format!("    {line}")));
        self.indent += 1;
        self.line(&format!("if not ({text}):"));
        self.line("    break");
        self.indent -= 1;
        self.inner(body, &Sink::Leave);
    }

    fn for_loop(&mut self, names: &[String], items: &Expr, body: &[Stmt]) {
        let of = if let Expr::Range(from, ..) = items { self.type_of(from) } else { self.item_of(items) };
        let pairs = self.gives_pairs(items);
        let shown_items = self.items(items);
        names.iter().for_each(|name| self.learn_origin(name, items));
        let shown: Vec<String> = names.iter().map(|name| PythonWriter::variable(name)).collect();
        match shown.as_slice() {
            [_, _] if pairs => self.line(&format!("for {} in {shown_items}:", shown.join(", "))),
            [item, count] => self.line(&format!("for {count}, {item} in enumerate({shown_items}):")),
            _ => self.line(&format!("for {} in {shown_items}:", shown.join(", "))),
        }
        for (i, name) in names.iter().enumerate() {
            self.bind(name, if i == 1 && !pairs { Type::Int } else { of });
        }
        self.inner(body, &Sink::Leave);
    }

    /// Whether a loop with two names takes apart what it goes through, as in Python; else the second one counts.
    fn gives_pairs(&self, items: &Expr) -> bool {
        match items {
            Expr::Call(callee, arguments) => match (callee.as_ref(), arguments.as_slice()) {
                (Expr::Path(path), arguments) if path.len() == 1 => {
                    let name = path.first().map_or("", String::as_str);
                    let free = self.known(name).is_none();
                    match (name, arguments) {
                        ("progress", [of, ..]) => self.gives_pairs(of),
                        ("enumerate", _) | ("zip", [_, _]) => free,
                        _ => false,
                    }
                }
                _ => false,
            },
            Expr::Method(_, name, _) => PAIRING.contains(&name.as_str()),
            _ => false,
        }
    }

    fn try_catch(&mut self, body: &[Stmt], name: Option<&str>, handler: &[Stmt], sink: &Sink) {
        self.line("try:");
        self.inner(body, sink);
        match name {
            Some(name) => self.line(&format!("except Exception as {}:", PythonWriter::variable(name))),
            None => self.line("except Exception:"),
        }
        self.caught.extend(name.map(str::to_owned));
        self.inner(handler, sink);
        if name.is_some() {
            self.caught.pop();
        }
    }

    /// True where an `if` is one expression in Python.
    pub(super) fn is_ternary(&self, value: &Expr) -> bool {
        let Expr::If(branches, Some(otherwise)) = value else { return false };
        let simple = |block: &Block| only_value(block).is_some_and(|v| !needs_lines(v) || self.is_ternary(v));
        branches.len() <= 2 && branches.iter().all(|(_, body)| simple(body)) && simple(otherwise)
    }
}

/// Whether a statement gives its block's value where it is the last: here it does with a semicolon too. What gives nothing
/// in Python either is not returned.
pub(super) fn gives(value: &Expr, ended: bool) -> bool {
    let does = |name: &str| DOES.contains(&name);
    !ended
        || match value {
            Expr::Method(_, name, _) => !does(name),
            Expr::Call(callee, _) => match callee.as_ref() {
                Expr::Path(path) => !path.last().is_some_and(|name| does(name)),
                _ => true,
            },
            Expr::Loop(_) | Expr::Unit => false,
            _ => true,
        }
}

/// Whether a value is an array or a map of numbers and texts, and not empty.
fn is_simple_data(value: &Expr) -> bool {
    let simple =
        |item: &Expr| matches!(item, Expr::Number(_) | Expr::Text(_) | Expr::Bool(_)) || is_simple_data(item);
    match value {
        Expr::Array(items) => !items.is_empty() && items.iter().all(simple),
        Expr::Map(pairs) => !pairs.is_empty() && pairs.iter().all(|(_, item)| simple(item)),
        _ => false,
    }
}

/// Calls that give nothing, here and there; of steps nobody takes what they may give.
const DOES: [&str; 14] = [
    "assert",
    "backward",
    "clear",
    "debug",
    "drop",
    "empty_cache",
    "print",
    "push",
    "record",
    "step",
    "synchronize",
    "wait_event",
    "wait_stream",
    "zero_grad",
];

/// A value that is written in lines of its own.
pub(crate) fn needs_lines(value: &Expr) -> bool {
    matches!(value, Expr::If(..) | Expr::With(..) | Expr::Block(_) | Expr::Loop(_) | Expr::Switch(..))
}

fn gather(body: &[Stmt], own: &mut Vec<String>, found: &mut Vec<String>) {
    for statement in body {
        match statement {
            Stmt::Let(name, _) => own.push(name.clone()),
            Stmt::Assign(Expr::Path(path), ..) => {
                if let [name] = path.as_slice()
                    && !own.contains(name)
                    && !found.contains(name)
                {
                    found.push(name.clone());
                }
            }
            Stmt::For(names, _, body) => {
                own.extend(names.iter().cloned());
                gather(body, own, found);
            }
            Stmt::While(_, body) | Stmt::DoWhile(body, _) => gather(body, own, found),
            Stmt::Try(body, _, handler) => {
                gather(body, own, found);
                gather(handler, own, found);
            }
            Stmt::Expr(value, _) => gather_value(value, own, found),
            _ => {}
        }
    }
}

fn gather_value(value: &Expr, own: &mut Vec<String>, found: &mut Vec<String>) {
    match value {
        Expr::If(branches, otherwise) => {
            branches.iter().for_each(|(_, body)| gather(body, own, found));
            otherwise.iter().for_each(|body| gather(body, own, found));
        }
        Expr::With(_, body) | Expr::Block(body) | Expr::Loop(body) => gather(body, own, found),
        _ => {}
    }
}
