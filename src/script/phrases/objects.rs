//! Classes of their own: a closure that makes a map, whose methods are closures that change it as `this`.

use super::blocks::written;
use super::book::Idiom;
use super::changes::changes;
use super::classes::{closed, replaced};
use super::functions::Parameter;
use super::statements::Statements;
use super::tree::{Arg, Expr};
use super::writer::{Holds, Writer};

/// A class that is derived from nothing.
#[derive(Default)]
struct Object {
    name: String,
    params: Vec<Parameter>,
    /// What is kept by the class itself: `count = 0`.
    fields: Vec<String>,
    /// What `__init__` does.
    made: Vec<String>,
    /// Methods with their parameters and bodies.
    methods: Vec<(String, Vec<String>, Vec<String>)>,
}

impl Statements<'_, '_, '_> {
    /// Whether what follows a class's name derives it from nothing.
    pub(super) fn is_plain(&self) -> bool {
        let next = |n: usize| self.reader.nth(n);
        next(0) == ":" || next(0) == "(" && (next(1) == ")" || next(1) == "object" && next(2) == ")")
    }

    /// `class Meter:` with its methods.
    pub(super) fn object(&mut self, column: usize, name: String) -> Option<Vec<String>> {
        self.writer.used.retain(|idiom| *idiom != Idiom::Class);
        self.writer.uses(Idiom::Object);
        while !self.reader.eat(":") {
            self.reader.at += 1;
        }
        self.begin_class();
        for scope in &mut self.writer.scopes {
            scope.retain(|name, _| !name.starts_with("self."));
        }
        self.writer.objects.insert("self".into());
        self.announce_properties(column, &name);
        let mut object = Object { name: name.clone(), ..Object::default() };
        while self.reader.peek().is_some_and(|token| token.column > column) {
            match self.reader.word() {
                "def" | "@" => self.method_of(&mut object)?,
                _ if self.is_data_class && self.reader.nth(1) == ":" => self.data_field(&mut object)?,
                // A docstring, a comment, or a field of all.
                _ => self.field_of(&mut object)?,
            }
            self.skip_lines();
        }
        self.writer.objects.remove("self");
        (!object.methods.is_empty() || !object.made.is_empty() || !object.fields.is_empty()).then_some(())?;
        self.writer.used.retain(|idiom| !matches!(idiom, Idiom::Def));
        let params = object.params.iter().map(|(param, _)| param.clone()).collect();
        self.writer.functions.insert(name.clone(), params);
        self.default(&name, &object.params);
        self.writer.bind(&name, Holds::Closure);
        self.writer.objects.insert(format!("{name}()"));
        Some(object.closure(&name))
    }

    /// `@dataclass` before a class: its fields are what makes it.
    pub(super) fn data_class(&mut self) -> Option<Vec<String>> {
        let column = self.reader.peek()?.column;
        self.reader.at += 2;
        while !matches!(self.reader.word(), "class" | "def") {
            self.reader.peek()?;
            self.reader.at += 1;
        }
        self.reader.expect("class")?;
        let name = self.reader.name()?;
        self.is_plain().then_some(())?;
        self.is_data_class = true;
        let lines = self.object(column, name);
        self.is_data_class = false;
        lines
    }

    /// `lr: float = 0.1` of a class of data.
    fn data_field(&mut self, object: &mut Object) -> Option<()> {
        let name = self.reader.name()?;
        self.reader.expect(":")?;
        self.reader.value()?;
        let default = match self.reader.eat("=") {
            false => None,
            true => match self.reader.value()? {
                // `field(default_factory=list)`
                Expr::Call(callee, given) if matches!(callee.as_ref(), Expr::Name(name) if name == "field") => {
                    match &given.first()?.value {
                        Expr::Name(factory) if factory == "list" => Some("[]".into()),
                        Expr::Name(factory) if factory == "dict" => Some("#{}".into()),
                        _ => return None,
                    }
                }
                value => Some(self.writer.expr(&value)?),
            },
        };
        object.made.push(format!("made.{name} = {name};"));
        self.writer.own_fields.insert(name.clone());
        object.params.push((name, default));
        Some(())
    }

    fn field_of(&mut self, object: &mut Object) -> Option<()> {
        let lines = self.statement()?;
        for line in lines.iter().filter(|line| !line.starts_with("//")) {
            let field = line.strip_prefix("let ")?;
            self.writer.own_fields.extend(field.split_once(" = ").map(|(name, _)| name.to_owned()));
            object.fields.push(format!("made.{field}"));
        }
        Some(())
    }

    fn method_of(&mut self, object: &mut Object) -> Option<()> {
        let marks = self.marks()?;
        let column = self.reader.peek()?.column;
        self.reader.expect("def")?;
        let name = self.reader.name()?;
        let mut given = self.parameters()?;
        // One of the class itself is not known.
        (marks.is_static || !given.is_empty() && given.remove(0).0 == "self").then_some(())?;
        let params: Vec<String> = given.iter().map(|(param, _)| param.clone()).collect();
        params.iter().all(|param| !param.starts_with('*')).then_some(())?;
        if !name.starts_with("__") || name == "__call__" {
            self.writer.forwards.insert(format!(".{name}"), given.clone());
        }
        let known: Vec<String> = params.iter().cloned().chain(["self".into(), "super".into()]).collect();
        let mut body = marks.around(self.body(column, &known)?);
        self.own_fields_of(&body);
        self.lost_of(&params, &mut body);
        match name.as_str() {
            "__init__" => {
                object.params = given;
                let is_made = |line: &String| !line.starts_with("super");
                object.made =
                    body.into_iter().filter(is_made).map(|line| replaced(&line, "self", "made")).collect();
            }
            // How it is shown is not a map's to say.
            "__repr__" | "__str__" => {}
            name if name.starts_with("__") && name != "__call__" => return None,
            name => {
                let body: Vec<String> = body.iter().map(|line| replaced(line, "self", "this")).collect();
                if self.writer.changes_object(&body, "this")
                    || changes(&body, "this")
                    || self.gets_back(&body, "this")
                {
                    self.writer.changing.insert(name.to_owned(), object.name.clone());
                }
                object.methods.push((name.to_owned(), params, body));
            }
        }
        Some(())
    }
}

impl Statements<'_, '_, '_> {
    /// Notes the fields that a method gives a value.
    fn own_fields_of(&mut self, body: &[String]) {
        const SIGNS: [&str; 5] = ["= ", "+= ", "-= ", "*= ", "/= "];
        for part in body.iter().flat_map(|line| line.split("self.").skip(1)) {
            let Some((field, rest)) = part.split_once(' ') else { continue };
            if SIGNS.iter().any(|sign| rest.starts_with(sign)) {
                let field = field.split('[').next().unwrap_or_default();
                self.writer.own_fields.insert(field.to_owned());
            }
        }
    }
}

impl Object {
    /// The closure that makes the map.
    fn closure(self, name: &str) -> Vec<String> {
        let mut inner = vec!["let made = #{};".to_owned()];
        inner.extend(self.fields);
        for (method, params, body) in self.methods {
            inner.extend(closed(written(&[(format!("made.{method} = |{}|", params.join(", ")), body)]), ";"));
        }
        inner.extend(self.made);
        inner.push("made".into());
        let params: Vec<&str> = self.params.iter().map(|(param, _)| param.as_str()).collect();
        closed(written(&[(format!("let {name} = |{}|", params.join(", ")), inner)]), ";")
    }
}

impl Writer<'_> {
    /// A method that a class of the program's has, with every argument that it takes.
    pub(super) fn of_object(&mut self, text: &str, name: &str, arguments: &[Arg]) -> Option<String> {
        let key = format!(".{name}");
        let known = self.objects.contains(text) && self.forwards.contains_key(&key);
        known.then_some(())?;
        self.uses(Idiom::Object);
        Some(format!("{text}.{name}({})", self.forwarded(&key, arguments)?))
    }
}
