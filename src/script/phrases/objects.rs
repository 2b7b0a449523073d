//! Classes of their own: a closure that makes a map, whose methods are closures that change it as `this`.

use super::book::Idiom;
use super::changes::changes;
use super::classes::replaced;
use super::functions::Parameter;
use super::kin::is_called;
use super::lex::TokenKind;
use super::statements::Statements;
use super::tree::{Arg, Expr};
use super::writer::{Holds, Writer};

/// A class that is derived from nothing.
#[derive(Default)]
pub(super) struct Object {
    pub name: String,
    pub params: Vec<Parameter>,
    /// What is kept by the class itself: `count = 0`.
    pub fields: Vec<String>,
    /// What `__init__` does.
    pub made: Vec<String>,
    /// Methods with their parameters and bodies.
    pub methods: Vec<(String, Vec<String>, Vec<String>)>,
    /// What it is derived from, with the methods of that which it calls.
    pub base: Option<String>,
    pub supers: Vec<String>,
    /// What stands before the class and is its own, and what stands behind it.
    pub before: Vec<String>,
    pub behind: Vec<String>,
    pub has_own_init: bool,
    /// Whether its methods make others of its class.
    pub makes_itself: bool,
    pub base_makes_itself: bool,
    /// How much its base takes.
    pub base_params: usize,
    /// Whether anything asks for its class.
    pub is_asked: bool,
}

impl Statements<'_, '_, '_> {
    /// Whether what follows a class's name derives it from nothing.
    pub(super) fn is_plain(&self) -> bool {
        let next = |n: usize| self.reader.nth(n);
        next(0) == ":"
            || next(0) == "(" && (next(1) == ")" || matches!(next(1), "object" | "ABC") && next(2) == ")")
    }

    /// `class Meter:` with its methods.
    pub(super) fn object(&mut self, column: usize, name: String) -> Option<Vec<String>> {
        self.writer.used.retain(|idiom| *idiom != Idiom::Class);
        self.writer.uses(Idiom::Object);
        let base = (self.reader.word() == "(").then(|| self.reader.nth(1).to_owned());
        let base = base.filter(|base| self.writer.kin.contains_key(base));
        while !self.reader.eat(":") {
            self.reader.at += 1;
        }
        self.begin_class();
        for scope in &mut self.writer.scopes {
            scope.retain(|name, _| !name.starts_with("self."));
        }
        self.writer.objects.insert("self".into());
        let makes_itself = self.makes_itself(column, &name);
        self.announce_properties(column, &name);
        self.announce_methods(column, &name, base.as_deref())?;
        self.writer.supers.clear();
        self.inherit(&name, base.as_deref());
        let asks = |token: &super::lex::Tok| match token.kind {
            TokenKind::Text => token.text.contains("type(") || token.text.contains("__class__"),
            _ => matches!(token.text, "isinstance" | "type" | "__class__"),
        };
        let is_asked = self.reader.tokens.iter().any(asks);
        let base_params =
            base.as_ref().and_then(|base| self.writer.kin.get(base)).map_or(0, |kin| kin.params.len());
        let mut object =
            Object { name: name.clone(), base, base_params, is_asked, makes_itself, ..Object::default() };
        object.base_makes_itself =
            object.base.as_ref().is_some_and(|base| self.writer.self_made.contains(base));
        if makes_itself {
            self.writer.self_made.insert(name.clone());
            let params = self.writer.kin.get(&name)?.params.clone();
            self.note_made(&name, &params);
        }
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
        self.writer.most.retain(|own, _| !own.starts_with("self."));
        self.writer.of_classes.retain(|own, _| !own.starts_with("self.") && !own.starts_with("cls."));
        object.supers = self.writer.supers.iter().cloned().collect();
        if !object.has_own_init && object.params.is_empty() {
            let kin = self.writer.kin.get(&name);
            object.params = kin.map(|kin| kin.params.clone()).unwrap_or_default();
        }
        (object.base.is_some()
            || !object.methods.is_empty()
            || !object.made.is_empty()
            || !object.fields.is_empty())
        .then_some(())?;
        self.writer.used.retain(|idiom| !matches!(idiom, Idiom::Def));
        self.note_made(&name, &object.params);
        self.made_early(&mut object);
        let shared = object.shared_lists();
        if !shared.is_empty() {
            self.writer.uses(Idiom::Unknown);
            object.before.extend(shared);
        }
        object.lines()
    }

    /// Notes how objects of a class are made.
    fn note_made(&mut self, name: &str, params: &[Parameter]) {
        self.writer
            .functions
            .insert(name.to_owned(), params.iter().map(|(param, _)| param.clone()).collect());
        self.default(name, params);
        self.writer.bind(name, Holds::Closure);
        self.writer.objects.insert(format!("{name}()"));
    }

    /// Whether the lines of a class that begins here make objects of it: it is seen there before it is made.
    fn makes_itself(&self, column: usize, name: &str) -> bool {
        let rest = self.reader.tokens.get(self.reader.at..).unwrap_or_default();
        let mut inside = rest.windows(2).take_while(|pair| {
            pair.first().is_some_and(|token| token.column > column || token.kind == TokenKind::Line)
        });
        inside.any(|pair| matches!(pair, [own, open] if own.text == name && open.text == "("))
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

    /// `count = 0`, which each object has, and the class itself where it is asked for it by its name.
    fn field_of(&mut self, object: &mut Object) -> Option<()> {
        let (function, bare) = (self.function, std::mem::replace(&mut self.bare, true));
        self.writer.scopes.push(crate::base::name_map::NameMap::new());
        self.function = self.writer.scopes.len() - 1;
        let lines = self.statement();
        let bound = self.writer.scopes.pop().unwrap_or_default();
        (self.function, self.bare) = (function, bare);
        let lines = lines?;
        object.before.extend(lines.iter().filter(|line| line.starts_with("// ?")).cloned());
        for line in lines.iter().filter(|line| !line.starts_with("//")) {
            let field = line.strip_prefix("let ")?;
            let (name, value) = field.split_once(" = ")?;
            self.writer.own_fields.insert(name.to_owned());
            let (is_named, is_set) = self.is_field_of_class(&object.name, name);
            if !is_named {
                object.fields.push(format!("made.{field}"));
                continue;
            }
            let own = format!("{}_{name}", object.name);
            object.before.push(format!("let {own} = {value}"));
            self.writer.bind(&own, bound.get(name).copied().unwrap_or(Holds::Other));
            for of in [object.name.as_str(), "cls"] {
                self.writer.of_classes.insert(format!("{of}.{name}"), own.clone());
            }
            match is_set {
                true => drop(self.writer.of_classes.insert(format!("self.{name}"), own)),
                false => object.fields.push(format!("made.{name} = {own};")),
            }
        }
        Some(())
    }

    /// Whether the program asks a class itself for one of its fields, and whether it gives it another value there.
    fn is_field_of_class(&self, class: &str, field: &str) -> (bool, bool) {
        let is = |four: &&[super::lex::Tok]| matches!(four, [of, point, name, _] if [class, "cls"].contains(&of.text) && point.text == "." && name.text == field);
        let mut all = self.reader.tokens.windows(4).filter(is).peekable();
        let is_named = all.peek().is_some();
        let sets =
            |sign: &str| sign == "=" || sign.ends_with('=') && !["==", "!=", "<=", ">="].contains(&sign);
        (is_named, all.any(|four| four.last().is_some_and(|sign| sets(sign.text))))
    }

    fn method_of(&mut self, object: &mut Object) -> Option<()> {
        let marks = self.marks()?;
        let column = self.reader.peek()?.column;
        self.reader.expect("def")?;
        let name = self.reader.name()?;
        let mut given = self.parameters()?;
        let own = if marks.is_of_class { "cls" } else { "self" };
        (marks.is_static || !given.is_empty() && given.remove(0).0 == own).then_some(())?;
        let collects = given.iter().any(|(param, _)| param.starts_with('*'));
        // What makes an object takes what it names.
        (!collects || name != "__init__" && !marks.is_of_class && !marks.is_static).then_some(())?;
        given.iter_mut().for_each(|(param, _)| *param = param.trim_start_matches('*').to_owned());
        let params: Vec<String> = given.iter().map(|(param, _)| param.clone()).collect();
        if marks.is_of_class || marks.is_static && self.is_field_of_class(&object.name, &name).0 {
            return self.of_class_alone(object, (column, &name), &given, marks.is_of_class);
        }
        let known: Vec<String> = params.iter().cloned().chain(["self".into(), "super".into()]).collect();
        let within = if name == "__init__" { object.name.clone() } else { format!(".{name}") };
        let outer = std::mem::replace(&mut self.writer.within, within);
        let body = self.body(column, &known);
        self.writer.within = outer;
        let mut body = marks.around(body?);
        self.own_fields_of(&body);
        self.lost_of(&params, &mut body);
        match name.as_str() {
            "__init__" => {
                object.params = given;
                object.has_own_init = true;
                let is_made = |line: &String| !line.starts_with("super");
                object.made =
                    body.into_iter().filter(is_made).map(|line| replaced(&line, "self", "made")).collect();
            }
            name => {
                let is_marked = name.starts_with("__") && name.ends_with("__");
                if is_marked && !is_called(name) && !name.starts_with("__r") {
                    self.writer.uses(Idiom::Unknown);
                    object.before.push(format!("// ? nothing calls `{name}` here"));
                }
                if body.last().is_some_and(|line| line == "return self;")
                    && let Some(kin) = self.writer.kin.get_mut(&object.name)
                {
                    kin.chains.insert(name.to_owned());
                }
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
