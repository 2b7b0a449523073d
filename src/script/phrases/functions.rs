//! Functions and classes.

use std::collections::HashSet;

use super::blocks::written;
use super::book::Idiom;
use super::lex::{Tok, TokenKind};
use super::statements::Statements;
use super::texts;
use super::tree::Expr;
use super::writer::Holds;

/// A parameter, with what stands for it where it is not given.
type Parameter = (String, Option<String>);

impl Statements<'_, '_, '_> {
    /// `def f(x, n=1):`. One that reads variables around it is a closure: a function sees none.
    pub(super) fn define(&mut self) -> Option<Vec<String>> {
        let column = self.reader.peek()?.column;
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
        params.iter_mut().for_each(|(name, _)| *name = name.trim_start_matches('*').to_owned());
        let names: Vec<String> = params.iter().map(|(name, _)| name.clone()).collect();
        let around = self.reads_around(column, &names);
        if around && python {
            self.writer.bind(&name, Holds::Closure);
        }
        let body = self.body(column, &names)?;
        if around && python {
            self.default(&name, &params);
            self.writer.uses(Idiom::Closure);
            let mut lines = written(&[(format!("let {name} = |{}|", names.join(", ")), body)]);
            lines.last_mut()?.push(';');
            return Some(lines);
        }
        let mut lines = written(&[(format!("fn {name}({})", names.join(", ")), body)]);
        lines.extend(self.defaults(&name, &params));
        Some(lines)
    }

    /// Notes what a closure's caller has to give.
    fn default(&mut self, name: &str, params: &[Parameter]) {
        let all = params.iter().filter_map(|(_, default)| default.clone()).collect();
        self.writer.defaults.insert(name.to_owned(), all);
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

    fn parameters(&mut self) -> Option<Vec<Parameter>> {
        self.reader.expect("(")?;
        let mut all = Vec::new();
        while !self.reader.eat(")") {
            let star = ["**", "*"].into_iter().find(|star| self.reader.eat(star)).unwrap_or_default();
            if self.reader.eat("/") || star == "*" && self.reader.word() == "," {
                self.reader.eat(",");
                continue;
            }
            let name = format!("{star}{}", self.reader.name()?);
            if self.reader.eat(":") {
                self.writer.uses(Idiom::Annotation);
                self.reader.value()?;
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
    fn body(&mut self, column: usize, params: &[String]) -> Option<Vec<String>> {
        let (around, inside, ended) = (self.function, self.inside, std::mem::take(&mut self.ended));
        self.inside = column + 1;
        self.function = self.writer.scopes.len();
        let bound: Vec<(String, Holds)> = params.iter().map(|name| (name.clone(), Holds::Other)).collect();
        let lines = self.block(column, &bound);
        (self.function, self.inside) = (around, inside);
        self.ended = ended;
        self.reader.at += usize::from(self.reader.peek().is_some_and(|token| token.kind == TokenKind::Line));
        lines
    }

    /// Whether the block that follows reads a variable of around.
    fn reads_around(&self, column: usize, params: &[String]) -> bool {
        let rest = self.reader.tokens.get(self.reader.at..).unwrap_or_default();
        let line = rest.first().map_or(0, |token| token.line);
        let inside = rest
            .iter()
            .take_while(|token| token.line == line || token.column > column || token.kind == TokenKind::Line);
        let inside: Vec<_> = inside.collect();
        let assigned = |name: &str| {
            inside.windows(2).any(|pair| matches!(pair, [a, b] if a.text == name && b.text == "="))
                && !inside.windows(2).any(|pair| matches!(pair, [a, b] if matches!(a.text, "global" | "nonlocal") && b.text == name))
        };
        let shown = |token: &&&Tok| {
            let mut held = self.writer.scopes.iter().flat_map(|scope| scope.keys());
            let around = |name: &&String| !params.contains(name) && !assigned(name);
            token.kind == TokenKind::Text && held.any(|name| around(&name) && texts::reads(token.text, name))
        };
        inside.iter().any(|token| shown(&token))
            || inside.iter().enumerate().any(|(i, token)| {
                let before = i.checked_sub(1).and_then(|i| inside.get(i)).map_or("", |token| token.text);
                token.kind == TokenKind::Name
                    && before != "."
                    && before != "::"
                    && !params.iter().any(|param| param == token.text)
                    && self.writer.holds(token.text).is_some()
                    && !(inside.get(i + 1).is_some_and(|next| next.text == "=") && before != "=")
                    && !assigned(token.text)
            })
    }

    /// `class Net(nn.Module):` with `__init__` and `forward`: a closure that makes such a module.
    pub(super) fn class(&mut self) -> Option<Vec<String>> {
        self.writer.uses(Idiom::Class);
        let column = self.reader.peek()?.column;
        self.reader.expect("class")?;
        let name = self.reader.name()?;
        if self.reader.eat("(") {
            let base = self.reader.value()?;
            self.reader.expect(")")?;
            let is_module = matches!(&base, Expr::Attr(_, name) | Expr::Name(name) if name == "Module");
            if !is_module {
                return None;
            }
        } else {
            return None;
        }
        self.reader.expect(":")?;
        self.skip_lines();
        let mut class = Class::default();
        while self.reader.peek().is_some_and(|token| token.column > column) {
            if self.reader.word() != "def" {
                // A docstring or a comment.
                let lines = self.statement()?;
                if lines.iter().any(|line| !line.starts_with("//")) {
                    return None;
                }
                continue;
            }
            self.method(&mut class)?;
            self.skip_lines();
        }
        self.writer.used.retain(|idiom| !matches!(idiom, Idiom::Def));
        self.writer.functions.insert(name.clone(), class.params.clone());
        self.default(&name, &class.defaults);
        self.writer.bind(&name, Holds::Closure);
        self.writer.bind(&format!("{name}()"), Holds::Module);
        Some(class.written(&name))
    }

    fn method(&mut self, class: &mut Class) -> Option<()> {
        let column = self.reader.peek()?.column;
        self.reader.expect("def")?;
        let name = self.reader.name()?;
        let given = self.parameters()?;
        let mut params: Vec<String> = given.iter().map(|(name, _)| name.clone()).collect();
        match name.as_str() {
            "__init__" => {
                class.defaults = given;
                params.retain(|param| param != "self");
                class.params = params.clone();
                let lines = self.initialiser(column, &params)?;
                for line in lines {
                    let field = line.strip_prefix("self.").and_then(|line| line.split_once(" = "));
                    match field {
                        Some((field, value)) if !field.contains(['.', '[']) => {
                            class.fields.push((field.to_owned(), value.trim_end_matches(';').to_owned()));
                        }
                        _ if line.starts_with("super") => {}
                        _ => class.before.push(line),
                    }
                }
                let known: HashSet<String> =
                    class.fields.iter().map(|(field, _)| format!("self.{field}")).collect();
                known.iter().for_each(|field| self.writer.bind(field, Holds::Module));
                Some(())
            }
            "forward" => {
                class.forward = Some((params.clone(), self.body(column, &params)?));
                Some(())
            }
            _ => None,
        }
    }

    fn initialiser(&mut self, column: usize, params: &[String]) -> Option<Vec<String>> {
        let known: Vec<String> = params.iter().cloned().chain(["self".into(), "super".into()]).collect();
        self.body(column, &known)
    }
}

/// What a class of a module says.
#[derive(Default)]
struct Class {
    params: Vec<String>,
    defaults: Vec<Parameter>,
    /// What is done before the module is made.
    before: Vec<String>,
    fields: Vec<(String, String)>,
    forward: Option<(Vec<String>, Vec<String>)>,
}

impl Class {
    fn written(&self, name: &str) -> Vec<String> {
        let fields: Vec<String> =
            self.fields.iter().map(|(field, value)| format!("{field}: {value}")).collect();
        let fields = format!("#{{{}}}", fields.join(", "));
        let mut inner = self.before.clone();
        let (head, mut body) = match &self.forward {
            Some((params, body)) => {
                (format!("nn::module(\"{name}\", {fields}, |{}|", params.join(", ")), body.clone())
            }
            None => (String::new(), Vec::new()),
        };
        match head.is_empty() {
            true => inner.push(format!("nn::module(\"{name}\", {fields})")),
            false => {
                body = written(&[(head, body)]);
                if let Some(last) = body.last_mut() {
                    last.push(')');
                }
                inner.append(&mut body);
            }
        }
        let mut lines = written(&[(format!("let {name} = |{}|", self.params.join(", ")), inner)]);
        if let Some(last) = lines.last_mut() {
            last.push(';');
        }
        lines
    }
}
