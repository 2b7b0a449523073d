//! Functions.

use super::blocks::written;
use super::book::Idiom;
use super::free::Reads;
use super::lex::{self, Tok, TokenKind};
use super::statements::Statements;
use super::tree::Expr;
use super::writer::Holds;

/// A parameter, with what stands for it where it is not given.
pub(super) type Parameter = (String, Option<String>);

impl Statements<'_, '_, '_> {
    /// `def f(x, n=1):`. One that reads variables around it is a closure: a function sees none.
    pub(super) fn define(&mut self) -> Option<Vec<String>> {
        let column = self.reader.peek()?.column;
        let mode = self.mode.take();
        let python = self.reader.eat("def");
        if python {
            self.writer.uses(Idiom::Def);
        } else {
            self.reader.expect("fn")?;
        }
        let name = self.reader.name()?;
        let mut params = self.parameters()?;
        let given = params.iter().map(|(name, _)| name.clone()).collect();
        self.writer.functions.insert(name.clone(), given);
        let collects = params.iter().any(|(name, _)| name.starts_with('*'));
        params.iter_mut().for_each(|(name, _)| *name = name.trim_start_matches('*').to_owned());
        let mut names: Vec<String> = params.iter().map(|(name, _)| name.clone()).collect();
        // A function of Rhai's stands in no block.
        let inside = python && self.depth > 1;
        // Beside PyTorch's own of that name it is a variable: a function here would be both.
        let clashes = python && lex::clashes(self.reader.tokens, &name);
        let around = inside || clashes || self.reads_around(column, &names);
        let is_known = self.is_own(&name);
        let own = params.clone();
        if around && python {
            self.writer.bind(&name, Holds::Closure);
            // A closure does not see itself: it is given to itself.
            if !collects && self.calls_itself(column, &name) {
                params.push((name.clone(), Some(name.clone())));
                names.push(name.clone());
                self.writer.functions.insert(name.clone(), names.clone());
            }
        }
        self.default(&name, &params);
        let called = |pair: &[Tok]| matches!(pair, [own, open] if own.text == name && open.text != "(");
        if self.reader.tokens.windows(2).any(called) {
            self.writer.note(format!("{name}="), Holds::Closure);
        }
        let around_it = std::mem::take(&mut self.writer.got_back);
        let outer = std::mem::replace(&mut self.writer.within, name.clone());
        let fills = (python && self.fills_array(column)).then(|| self.writer.free_name("values"));
        let filled = std::mem::replace(&mut self.writer.filled, fills.clone());
        let body = self.body(column, &names);
        self.writer.filled = filled;
        self.writer.within = outer;
        let mut body = body?;
        if let Some(own) = fills {
            body = self.with_filled(&own, body);
        }
        if python {
            let before = body.clone();
            self.gives_back(&name, &own, &mut body);
            if body != before || self.writer.gives_itself.contains(&name) {
                self.mark_defaults(&own, &mut body);
            }
        }
        self.writer.got_back = around_it;
        if let Some(mode) = mode {
            body = written(&[(format!("with {mode}"), body)]);
        }
        if around && python {
            self.writer.uses(Idiom::Closure);
            let word = if is_known { "" } else { "let " };
            let body = body.into_iter().map(|line| self.writer.kept_function(line)).collect();
            let mut lines = std::mem::take(&mut self.writer.prelude);
            lines.extend(written(&[(format!("{word}{name} = |{}|", names.join(", ")), body)]));
            lines.last_mut()?.push(';');
            return Some(lines);
        }
        let mut lines = written(&[(format!("fn {name}({})", names.join(", ")), body)]);
        lines.extend(self.defaults(&name, &params));
        Some(lines)
    }

    /// Notes what stands for the parameters that a caller does not give.
    pub(super) fn default(&mut self, name: &str, params: &[Parameter]) {
        let own = params.iter().filter(|(param, _)| param != "self");
        let all = own.map(|(_, default)| default.clone()).collect();
        self.writer.defaults.insert(name.to_owned(), all);
    }

    /// Notes what stands for the parameters of a lambda that has a name.
    pub(super) fn note_lambda(&mut self, own: &str, value: &Expr) -> Option<()> {
        let Expr::LambdaWith(params, _) = value else { return Some(()) };
        let mut defaults = Vec::new();
        for (_, default) in params {
            defaults.push(match default {
                Some(value) => Some(self.writer.expr(value)?),
                None => None,
            });
        }
        self.writer.functions.insert(own.to_owned(), params.iter().map(|(name, _)| name.clone()).collect());
        self.writer.defaults.insert(own.to_owned(), defaults);
        Some(())
    }

    /// A function for each number of arguments with which it may be called.
    fn defaults(&mut self, name: &str, params: &[Parameter]) -> Vec<String> {
        let needed = params.iter().take_while(|(_, default)| default.is_none()).count();
        if needed < params.len() {
            self.writer.uses(Idiom::Defaults);
        }
        let of = |given: usize| {
            let own: Vec<&str> = params.iter().take(given).map(|(name, _)| name.as_str()).collect();
            let rest = params.iter().skip(given).filter_map(|(_, default)| default.as_deref());
            let all: Vec<&str> = own.iter().copied().chain(rest).collect();
            format!("fn {name}({}) {{ {name}({}) }}", own.join(", "), all.join(", "))
        };
        (needed..params.len()).map(of).collect()
    }

    pub(super) fn parameters(&mut self) -> Option<Vec<Parameter>> {
        self.reader.expect("(")?;
        let mut all = Vec::new();
        while !self.reader.eat(")") {
            let star = ["**", "*"].into_iter().find(|star| self.reader.eat(star)).unwrap_or_default();
            if self.reader.eat("/") || star == "*" && self.reader.word() == "," {
                self.reader.eat(",");
                continue;
            }
            let name = format!("{star}{}", self.reader.name()?);
            let mut is_bool = false;
            if self.reader.eat(":") {
                self.writer.uses(Idiom::Annotation);
                let kind = self.reader.value()?;
                is_bool = matches!(kind, Expr::Name(kind) if kind == "bool");
            }
            let default = if self.reader.eat("=") {
                let value = self.reader.value()?;
                Some(self.writer.expr(&value)?)
            } else if star.is_empty() {
                None
            } else {
                self.writer.uses(Idiom::Rest);
                Some(if star == "*" { "[]" } else { "#{}" }.to_owned())
            };
            if default.as_ref().is_some_and(|default| default.starts_with('|')) {
                self.writer.callable.insert(name.clone());
            } else {
                self.writer.callable.remove(&name);
            }
            let is_bool = is_bool || matches!(default.as_deref(), Some("true" | "false"));
            if is_bool || !star.is_empty() {
                self.writer.unclear.remove(&name);
            } else {
                self.writer.unclear.insert(name.clone());
            }
            if default.as_deref() == Some("()") {
                self.writer.optional.insert(name.clone());
            } else {
                self.writer.optional.remove(&name);
            }
            all.push((name, default));
            if !self.reader.eat(",") {
                self.reader.expect(")")?;
                break;
            }
        }
        if self.reader.eat("->") {
            self.writer.uses(Idiom::Annotation);
            self.reader.value()?;
        }
        Some(all)
    }

    /// A function's block, in which assignments make variables of its own.
    pub(super) fn body(&mut self, column: usize, params: &[String]) -> Option<Vec<String>> {
        let (around, inside, ended) = (self.function, self.inside, std::mem::take(&mut self.ended));
        self.inside = column + 1;
        self.function = self.writer.scopes.len();
        let holds = |name: &str| match self.writer.defaults.get(name) {
            // The closure itself.
            Some(defaults) if defaults.last().is_some_and(|last| last.as_deref() == Some(name)) => {
                Holds::Closure
            }
            _ if self.writer.callable.contains(name) => Holds::Closure,
            _ => Holds::Other,
        };
        let mut bound: Vec<(String, Holds)> = params.iter().map(|name| (name.clone(), holds(name))).collect();
        let own = bound.iter_mut().filter(|(name, _)| name != "self" && name != "super").enumerate();
        for (at, (name, holds)) in own.filter(|(_, (_, holds))| *holds == Holds::Other) {
            *holds = self.writer.given(at, name);
        }
        let (loops, shared) = (std::mem::take(&mut self.loops), self.shared_names.len());
        self.shared_names.extend(params.iter().cloned());
        let lines = self.block(column, &bound);
        self.loops = loops;
        self.shared_names.truncate(shared);
        (self.function, self.inside) = (around, inside);
        self.ended = ended;
        params.iter().for_each(|name| {
            self.writer.optional.remove(name);
            self.writer.callable.remove(name);
            self.writer.unclear.remove(name);
        });
        self.reader.at += usize::from(self.reader.peek().is_some_and(|token| token.kind == TokenKind::Line));
        lines
    }

    /// The tokens of the block that follows a head in a column.
    pub(super) fn inside(&self, column: usize) -> Vec<&Tok<'_>> {
        let rest = self.reader.tokens.get(self.reader.at..).unwrap_or_default();
        let line = rest.first().map_or(0, |token| token.line);
        let belongs =
            |token: &&Tok| token.line == line || token.column > column || token.kind == TokenKind::Line;
        rest.iter().take_while(belongs).collect()
    }

    fn calls_itself(&self, column: usize, name: &str) -> bool {
        self.inside(column).windows(2).any(|pair| matches!(pair, [a, b] if a.text == name && b.text == "("))
    }

    /// Whether the block that follows reads a variable of around.
    fn reads_around(&self, column: usize, params: &[String]) -> bool {
        let inside = Reads::of(self.inside(column), Some(params));
        let mut held = self.writer.scopes.iter().flat_map(|scope| scope.keys());
        held.any(|name| inside.reads(name))
    }
}
