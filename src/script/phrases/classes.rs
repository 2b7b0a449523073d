//! Classes: of a module, a closure that makes one; of a data set as well; a function with a gradient of its own.

use super::blocks::written;
use super::book::Idiom;
use super::functions::Parameter;
use super::lex::{self, TokenKind};
use super::statements::Statements;
use super::tree::Expr;
use super::writer::Holds;

/// What a class is derived from, so far as there is something of that kind here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Base {
    Module,
    Dataset,
    /// One with a gradient of its own.
    Function,
}

impl Statements<'_, '_, '_> {
    /// `class Net(nn.Module):` with `__init__`, `forward` and other methods.
    pub(super) fn class(&mut self) -> Option<Vec<String>> {
        self.writer.uses(Idiom::Class);
        let column = self.reader.peek()?.column;
        self.reader.expect("class")?;
        let name = self.reader.name()?;
        if self.is_plain() {
            return self.object(column, name);
        }
        if self.writer.kin.contains_key(self.reader.nth(1)) && self.reader.nth(2) == ")" {
            return self.object(column, name);
        }
        self.reader.expect("(")?;
        let base = self.reader.value()?;
        let base = match base {
            Expr::Attr(_, base) | Expr::Name(base) if base == "Module" => Base::Module,
            Expr::Attr(_, base) | Expr::Name(base) if base == "Dataset" => Base::Dataset,
            Expr::Attr(_, base) | Expr::Name(base) if base == "Function" => Base::Function,
            base => return self.error_class(column, &name, &base),
        };
        self.reader.expect(")")?;
        self.reader.expect(":")?;
        self.begin_class();
        for scope in &mut self.writer.scopes {
            scope.retain(|name, _| !name.starts_with("self."));
        }
        let mut class = Class { name: name.clone(), is_data: base == Base::Dataset, ..Class::default() };
        if base == Base::Module {
            self.announce(column, &name)?;
        }
        self.announce_properties(column, &name);
        while self.reader.peek().is_some_and(|token| token.column > column) {
            if base == Base::Function && self.reader.word() == "@" && self.reader.nth(1) == "staticmethod" {
                self.reader.at += 2;
                self.skip_lines();
                continue;
            }
            if !matches!(self.reader.word(), "def" | "@") {
                self.kept(&mut class, base)?;
                continue;
            }
            self.method(&mut class)?;
            self.skip_lines();
        }
        self.writer.used.retain(|idiom| !matches!(idiom, Idiom::Def));
        self.writer.forwards.remove("self");
        if base == Base::Function {
            self.writer.used.retain(|idiom| *idiom != Idiom::Class);
            self.writer.uses(Idiom::OwnGradient);
            self.writer.bind(&name, Holds::Other);
            self.writer.applied.insert(format!("{name}()"));
            return class.function();
        }
        self.writer.functions.insert(name.clone(), class.params.clone());
        self.default(&name, &class.defaults);
        self.writer.bind(&name, Holds::Closure);
        if base == Base::Dataset {
            self.writer.used.retain(|idiom| *idiom != Idiom::Class);
            self.writer.uses(Idiom::Dataset);
            return class.data_set();
        }
        self.writer.bind(&format!("{name}()"), Holds::Module);
        if let Some((params, _)) = &class.forward {
            let own = params.iter().filter(|(param, _)| param != "self").cloned().collect();
            self.writer.forwards.insert(name.clone(), own);
        }
        self.note_fields(&name);
        class.module()
    }

    /// A docstring, a comment, or what a class of modules keeps itself: `expansion = 4`.
    fn kept(&mut self, class: &mut Class, base: Base) -> Option<()> {
        let around = std::mem::replace(&mut self.bare, true);
        let lines = self.statement();
        self.bare = around;
        for line in lines?.iter().filter(|line| !line.starts_with("//")) {
            let (name, value) = line.strip_prefix("let ")?.split_once(" = ")?;
            (base == Base::Module).then_some(())?;
            let holds = self.writer.holds(name).unwrap_or(Holds::Other);
            let variable = format!("{}_{name}", class.name);
            self.writer.scopes.iter_mut().for_each(|scope| {
                scope.remove(name);
            });
            self.writer.of_classes.insert(format!("{}.{name}", class.name), variable.clone());
            self.writer.bind(&format!("self.{name}"), holds);
            class.kept.push(format!("let {variable} = {value}"));
            class.fields.push((name.to_owned(), variable));
        }
        Some(())
    }

    /// Keeps what the fields of a class hold, for what is made of it.
    fn note_fields(&mut self, class: &str) {
        let own: Vec<(String, Holds)> = self
            .writer
            .scopes
            .iter()
            .flatten()
            .filter_map(|(name, holds)| Some((name.strip_prefix("self.")?.to_owned(), *holds)))
            .collect();
        let field = |(name, holds): (String, Holds)| {
            let class = self.writer.made.get(&format!("self.{name}")).cloned();
            (name, (holds, class))
        };
        let fields = own.into_iter().map(field).collect();
        self.writer.fields.insert(class.to_owned(), fields);
    }

    /// Notes the methods that the class has beside those of a module: they are closures that are given the module.
    fn announce(&mut self, column: usize, class: &str) -> Option<()> {
        let rest = self.reader.tokens.get(self.reader.at..).unwrap_or_default();
        let inside = rest.iter().take_while(|token| token.column > column || token.kind == TokenKind::Line);
        let inside: Vec<_> = inside.collect();
        let own = inside.first()?.column;
        let at = self.reader.at;
        for (place, pair) in inside.windows(2).enumerate() {
            let [def, name] = pair else { continue };
            let is = def.text == "def" && def.column == own && name.text != "__init__";
            if !is {
                continue;
            }
            if name.text == "forward" {
                self.reader.at = at + place + 2;
                let given = self.parameters()?.into_iter().filter(|(param, _)| param != "self");
                self.writer.forwards.insert("self".into(), given.collect());
                continue;
            }
            self.writer.uses(Idiom::MethodOfModule);
            // A second class with such a method could not be told from the first.
            let closure = format!("{class}_{}", name.text.trim_start_matches('_'));
            // It may be called before its own lines are read.
            self.reader.at = at + place + 2;
            let given = self.parameters()?;
            let own = given.iter().map(|(param, _)| param).filter(|param| *param != "self").cloned();
            self.writer.functions.insert(closure.clone(), own.collect());
            self.default(&closure, &given);
            self.writer.methods.insert(name.text.to_owned(), closure).is_none().then_some(())?;
        }
        self.reader.at = at;
        Some(())
    }

    fn method(&mut self, class: &mut Class) -> Option<()> {
        let marks = self.marks()?;
        (!marks.is_static && !marks.is_of_class).then_some(())?;
        let column = self.reader.peek()?.column;
        self.reader.expect("def")?;
        let name = self.reader.name()?;
        let given = self.parameters()?;
        let params: Vec<String> = given.iter().map(|(name, _)| name.clone()).collect();
        if name == "__init__" {
            class.defaults = given;
            class.params = params.into_iter().filter(|param| param != "self").collect();
            let lines = self.initialiser(column, &class.params)?;
            class.initialise(lines);
            for field in class.names() {
                let field = format!("self.{field}");
                if matches!(self.writer.holds(&field), None | Some(Holds::Other)) {
                    // What a data set calls is a function, what a module calls is a layer.
                    let holds = if class.is_data { Holds::Closure } else { Holds::Module };
                    self.writer.guessed.insert(field.clone());
                    self.writer.bind(&field, holds);
                }
            }
            return Some(());
        }
        self.bare = class.is_data;
        let outer = std::mem::replace(&mut self.writer.within, format!(".{name}"));
        let body = self.body(column, &params);
        self.writer.within = outer;
        self.bare = false;
        let mut body = marks.around(body?);
        self.lost_of(&params, &mut body);
        if class.is_data {
            body.retain(|line| !line.starts_with("//"));
        }
        match name.as_str() {
            "forward" => {
                if given.iter().any(|(_, default)| default.is_some()) {
                    self.writer.uses(Idiom::ForwardDefaults);
                }
                class.forward = Some((given, body));
            }
            "backward" => class.backward = Some((params, body)),
            "__len__" => class.length = Some(body),
            "__getitem__" => class.item = Some((params.get(1)?.clone(), body)),
            name => {
                let closure = self.writer.methods.get(name)?.clone();
                self.default(&closure, &given);
                class.methods.push((closure, params, body));
            }
        }
        Some(())
    }

    fn initialiser(&mut self, column: usize, params: &[String]) -> Option<Vec<String>> {
        let known: Vec<String> = params.iter().cloned().chain(["self".into(), "super".into()]).collect();
        self.bare = true;
        let lines = self.body(column, &known);
        self.bare = false;
        lines
    }
}

/// What a class says.
#[derive(Default)]
struct Class {
    name: String,
    is_data: bool,
    params: Vec<String>,
    defaults: Vec<Parameter>,
    /// What it keeps itself.
    kept: Vec<String>,
    /// What is done before the module is made.
    before: Vec<String>,
    fields: Vec<(String, String)>,
    /// What is done with the module once it is made, where it is called `self`.
    after: Vec<String>,
    forward: Option<(Vec<Parameter>, Vec<String>)>,
    backward: Option<(Vec<String>, Vec<String>)>,
    /// Closures that stand for methods, their parameters and bodies.
    methods: Vec<(String, Vec<String>, Vec<String>)>,
    length: Option<Vec<String>>,
    /// The name of an item's place, and what gives the item.
    item: Option<(String, Vec<String>)>,
}

impl Class {
    /// Parts what `__init__` does into what makes the fields and what is done with the module that has them.
    fn initialise(&mut self, lines: Vec<String>) {
        for mut group in grouped(lines) {
            let [first, rest @ ..] = group.as_mut_slice() else { continue };
            if first.contains("__init__(") || first.starts_with("super") {
                continue;
            }
            let field = first
                .strip_prefix("self.")
                .and_then(|line| line.split_once(" = "))
                .filter(|(field, _)| rest.is_empty() && !field.contains(['.', '[']))
                .map(|(field, value)| (field.to_owned(), value.trim_end_matches(';').to_owned()));
            match field {
                Some((field, value)) if self.after.is_empty() && !self.has(&field) => {
                    let value = self.with_locals(value);
                    match lex::has_word(&value, "self") {
                        true => self.after.push(format!("self.{field} = {value};")),
                        false => self.fields.push((field, value)),
                    }
                }
                _ if !self.after.is_empty() || group.iter().any(|line| lex::has_word(line, "self")) => {
                    self.after.append(&mut group);
                }
                _ => self.before.append(&mut group),
            }
        }
    }

    /// The fields that the module has in the end.
    fn names(&self) -> Vec<String> {
        let assigned = self.after.iter().flat_map(|line| line.split("self.").skip(1));
        let later = assigned.filter_map(|from| from.split_once(" = ")).map(|(field, _)| field.to_owned());
        self.fields.iter().map(|(field, _)| field.clone()).chain(later).collect()
    }

    fn has(&self, field: &str) -> bool {
        self.fields.iter().any(|(known, _)| known == field)
    }

    /// A value with variables in place of the fields that it reads: there is no module yet that would have them.
    fn with_locals(&mut self, mut value: String) -> String {
        for (field, of) in &mut self.fields {
            let read = format!("self.{field}");
            if replaced(&value, &read, "") == value {
                continue;
            }
            let is_name = of.chars().all(|c| c.is_alphanumeric() || c == '_');
            if !is_name {
                self.before.push(format!("let {field} = {of};"));
                field.clone_into(of);
            }
            value = replaced(&value, &read, of);
        }
        value
    }

    /// The closure that makes the module, behind those that stand for its methods.
    fn module(&self) -> Option<Vec<String>> {
        let mut lines = self.kept.clone();
        for (name, params, body) in &self.methods {
            lines.extend(closed(
                written(&[(format!("let {name} = |{}|", params.join(", ")), body.clone())]),
                ";",
            ));
        }
        let fields: Vec<String> =
            self.fields.iter().map(|(field, value)| format!("{field}: {value}")).collect();
        let fields = format!("#{{{}}}", fields.join(", "));
        let (params, body) = match &self.forward {
            Some((params, body)) => {
                (params.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", "), body.clone())
            }
            None => ("self, x".into(), vec!["throw NotImplementedError(\"forward\");".into()]),
        };
        let made =
            closed(written(&[(format!("nn::module(\"{}\", {fields}, |{params}|", self.name), body)]), ")");
        let mut inner = self.before.clone();
        if self.after.is_empty() {
            inner.extend(made);
        } else {
            let net = self.free_name();
            let mut made = closed(made, ";");
            if let Some(first) = made.first_mut() {
                *first = format!("let {net} = {first}");
            }
            inner.extend(made);
            inner.extend(self.after.iter().map(|line| replaced(line, "self", net)));
            inner.push(net.to_owned());
        }
        lines.extend(closed(
            written(&[(format!("let {} = |{}|", self.name, self.params.join(", ")), inner)]),
            ";",
        ));
        Some(lines)
    }

    /// What the module is called while it is made.
    fn free_name(&self) -> &'static str {
        let used = |name: &str| {
            self.params.iter().any(|param| param == name)
                || self.before.iter().chain(&self.after).any(|line| lex::has_word(line, name))
        };
        ["net", "made"].into_iter().find(|name| !used(name)).unwrap_or("net_")
    }

    /// `autograd::Function(#{…})`.
    fn function(&mut self) -> Option<Vec<String>> {
        let ((params, body), (grads, gradient)) = (self.forward.take()?, self.backward.take()?);
        let params: Vec<String> = params
            .into_iter()
            .map(|(name, default)| default.is_none().then_some(name))
            .collect::<Option<_>>()?;
        let part = |name: &str, params: &[String], body: Vec<String>| {
            let lines = closed(written(&[(format!("{name}: |{}|", params.join(", ")), body)]), ",");
            lines.into_iter().map(|line| format!("    {line}"))
        };
        let mut lines = vec![format!("let {} = autograd::Function(#{{", self.name)];
        lines.extend(part("forward", &params, body));
        lines.extend(part("backward", &grads, gradient));
        lines.push(format!("    name: \"{}\",", self.name));
        lines.push("});".into());
        Some(lines)
    }

    /// `data::Dataset(length, |i| item)`, in which the fields are variables.
    fn data_set(&mut self) -> Option<Vec<String>> {
        let (length, (place, mut item)) = (self.length.take()?, self.item.take()?);
        let [length] = length.as_slice() else { return None };
        let mut length = length.strip_prefix("return ")?.trim_end_matches(';').to_owned();
        let mut inner = std::mem::take(&mut self.before);
        for (field, value) in &self.fields {
            let read = format!("self.{field}");
            inner.extend((field != value).then(|| format!("let {field} = {value};")));
            length = replaced(&length, &read, field);
            item.iter_mut().for_each(|line| *line = replaced(line, &read, field));
        }
        let is_clear =
            item.iter().chain(&self.after).chain([&length]).all(|line| !lex::has_word(line, "self"));
        is_clear.then_some(())?;
        let made = match item.as_slice() {
            [line] if line.starts_with("return ") => {
                let value = line.strip_prefix("return ")?.trim_end_matches(';');
                vec![format!("data::Dataset({length}, |{place}| {value})")]
            }
            _ => closed(written(&[(format!("data::Dataset({length}, |{place}|"), item)]), ")"),
        };
        inner.extend(made);
        Some(closed(written(&[(format!("let {} = |{}|", self.name, self.params.join(", ")), inner)]), ";"))
    }
}

/// Lines with what closes the last one.
pub(super) fn closed(mut lines: Vec<String>, with: &str) -> Vec<String> {
    if let Some(last) = lines.last_mut() {
        last.push_str(with);
    }
    lines
}

/// The lines of each statement.
fn grouped(lines: Vec<String>) -> Vec<Vec<String>> {
    let mut all: Vec<Vec<String>> = Vec::new();
    for line in lines {
        match all.last_mut() {
            Some(group) if line.starts_with([' ', '}']) => group.push(line),
            _ => all.push(vec![line]),
        }
    }
    all
}

/// A line with another name in place of each that stands alone: `self.d` is no part of `self.depth`.
pub(super) fn replaced(line: &str, name: &str, with: &str) -> String {
    let belongs = |c: char| c.is_alphanumeric() || c == '_';
    let (mut out, mut rest) = (String::new(), line);
    while let Some(at) = rest.find(name) {
        let (before, from) = rest.split_at(at);
        let behind = from.get(name.len()..).unwrap_or_default();
        let is_part = before.ends_with('.') && !before.ends_with("..");
        let alone = !is_part && !before.ends_with(belongs) && !behind.starts_with(belongs);
        out += before;
        out += if alone { with } else { name };
        rest = behind;
    }
    out + rest
}
