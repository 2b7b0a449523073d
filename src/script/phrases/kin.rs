//! What is known of the program's own classes: their methods, what they are derived from, and which of these Python calls
//! where something else is written.

use super::book::Idiom;
use super::family::Kin;
use super::kinds::place;
use super::lex::TokenKind;
use super::marks::is_place;
use super::statements::Statements;
use super::tree::{Arg, Expr};
use super::writer::{ATOM, Holds, LOOSE, Writer};

/// Methods that Python calls where a sign is written.
const SIGNS: [(&str, &str); 16] = [
    ("+", "__add__"),
    ("-", "__sub__"),
    ("*", "__mul__"),
    ("/", "__truediv__"),
    ("//", "__floordiv__"),
    ("%", "__mod__"),
    ("**", "__pow__"),
    ("@", "__matmul__"),
    ("==", "__eq__"),
    ("!=", "__ne__"),
    ("<", "__lt__"),
    ("<=", "__le__"),
    (">", "__gt__"),
    (">=", "__ge__"),
    ("in", "__contains__"),
    ("!in", "__contains__"),
];

/// Methods with marks around that something calls here.
pub(super) fn is_called(name: &str) -> bool {
    const OTHERS: [&str; 6] = ["__len__", "__getitem__", "__setitem__", "__call__", "__repr__", "__str__"];
    OTHERS.contains(&name) || SIGNS.iter().any(|(_, own)| *own == name)
}

impl Statements<'_, '_, '_> {
    /// Notes the methods of a class that begins here, which may be called before their lines are read.
    pub(super) fn announce_methods(&mut self, column: usize, class: &str, base: Option<&str>) -> Option<()> {
        let mut kin = match base {
            Some(base) => Kin { base: Some(base.to_owned()), ..self.writer.kin.get(base)?.clone() },
            None => Kin::default(),
        };
        let around = (self.writer.optional.clone(), self.writer.callable.clone());
        let rest = self.reader.tokens.get(self.reader.at..).unwrap_or_default();
        let inside: Vec<_> =
            rest.iter().take_while(|token| token.column > column || token.kind == TokenKind::Line).collect();
        let own = inside.iter().find(|token| token.kind != TokenKind::Line).map_or(0, |token| token.column);
        let at = self.reader.at;
        let mut last: Vec<&str> = Vec::new();
        for (place, pair) in inside.windows(2).enumerate() {
            let [def, name] = pair else { continue };
            if def.text == "def" && def.column == own {
                let is_static = last.ends_with(&["@", "staticmethod"]);
                self.reader.at = at + place + 2;
                let mut given = self.parameters()?;
                if !is_static && !given.is_empty() {
                    given.remove(0);
                }
                match name.text {
                    "__init__" => kin.params = given,
                    name => {
                        kin.methods.insert(name.to_owned(), given);
                    }
                }
            }
            if def.kind != TokenKind::Line {
                last.push(def.text);
            }
        }
        self.reader.at = at;
        (self.writer.optional, self.writer.callable) = around;
        for (method, given) in &kin.methods {
            self.writer.forwards.insert(format!(".{method}"), given.clone());
            self.writer.forwards.insert(format!("{class}.{method}"), given.clone());
        }
        self.writer.kin.insert(class.to_owned(), kin);
        Some(())
    }
}

impl Writer<'_> {
    /// The class of the program's that makes maps which a value is of, so far as its form tells.
    pub(super) fn class_of_value(&self, value: &Expr) -> Option<String> {
        match value {
            Expr::Name(_) | Expr::Attr(..) => {
                let text = place(value)?;
                let class = self.class_at(&text).filter(|class| self.kin.contains_key(class))?;
                self.objects.contains(&text).then(|| class.clone())
            }
            Expr::Call(callee, _) => match callee.as_ref() {
                Expr::Name(name) if self.objects.contains(&format!("{name}()")) => Some(name.clone()),
                Expr::Attr(on, method) => {
                    let class = self.class_of_value(on)?;
                    self.kin.get(&class)?.chains.contains(method).then_some(class)
                }
                _ => None,
            },
            Expr::Binary(sign, a, _) => {
                let class = self.class_of_value(a)?;
                self.has_method(&class, method_of(sign)?).then_some(class)
            }
            _ => None,
        }
    }

    pub(super) fn has_method(&self, class: &str, method: &str) -> bool {
        self.kin.get(class).is_some_and(|kin| kin.methods.contains_key(method))
    }

    /// What Python calls a method for, on a value of which the class is known.
    pub(super) fn dunder(&mut self, on: &Expr, method: &str, given: &[&Expr]) -> Option<String> {
        let class = self.class_of_value(on).filter(|class| self.has_method(class, method))?;
        let given: Vec<Arg> =
            given.iter().map(|value| Arg { name: None, spread: false, value: (*value).clone() }).collect();
        self.of_class(&class, on, method, &given).map(|(text, _)| text)
    }

    /// `a + b` and `a == b` of objects.
    pub(super) fn of_sign(&mut self, sign: &str, a: &Expr, b: &Expr) -> Option<String> {
        if self.kin.is_empty() {
            return None;
        }
        let method = method_of(sign)?;
        if matches!(sign, "in" | "!in") {
            let text = self.dunder(b, method, &[a])?;
            return Some(if sign == "in" { text } else { format!("!{text}") });
        }
        if let Some(text) = self.dunder(a, method, &[b]) {
            return Some(text);
        }
        if let ("!=", Some(text)) = (sign, self.dunder(a, "__eq__", &[b])) {
            return Some(format!("!{text}"));
        }
        if let Some(text) = self.dunder(b, &method.replacen("__", "__r", 1), &[a]) {
            return Some(text);
        }
        // Maps are joined by the sign.
        let unknown = |value: &Expr| {
            matches!(value, Expr::Name(_))
                && self.kind(value) == Holds::Other
                && self.class_of_value(value).is_none()
        };
        if sign == "+"
            && !self.objects.contains("self")
            && unknown(a)
            && unknown(b)
            && self.any_has("__add__")
        {
            self.mark("`+` of objects whose class isn't seen here joins their fields");
        }
        None
    }

    /// Whether any class of the program's has such a method.
    fn any_has(&self, method: &str) -> bool {
        self.kin.values().any(|kin| kin.methods.contains_key(method))
    }

    /// `len(x)` of an object, or of what may be one.
    pub(super) fn length_of(&mut self, of: &Expr) -> Option<String> {
        if let Some(text) = self.dunder(of, "__len__", &[]) {
            return Some(text);
        }
        self.either(of, "__len__", |text| format!("len({text})"))
    }

    /// What an object shows itself as, or what may be one.
    pub(super) fn as_text(&mut self, of: &Expr) -> Option<String> {
        if let Some(text) = self.dunder(of, "__str__", &[]) {
            return Some(text);
        }
        if let Some(text) = self.dunder(of, "__repr__", &[]) {
            return Some(text);
        }
        let shows = self.any_has("__str__") || self.any_has("__repr__");
        if shows { self.either(of, "__str__", str::to_owned) } else { None }
    }

    /// What asks a value whether it is an object that has a method, where its class is not known.
    fn either(&mut self, of: &Expr, method: &str, plain: fn(&str) -> String) -> Option<String> {
        let method_known = method == "__str__" || self.any_has(method);
        let may_be = method_known
            && matches!(of, Expr::Name(_))
            && self.kind(of) == Holds::Other
            && self.path(of).is_none()
            && self.class_of_value(of).is_none();
        may_be.then_some(())?;
        let text = self.expr(of)?;
        let is = format!("type_of({text}) == \"map\" && \"{method}\" in {text}");
        Some(format!("(if {is} {{ {text}.{method}() }} else {{ {} }})", plain(&text)))
    }

    /// A method of an object whose class is known, with every argument that it takes; behind those that give the object
    /// itself, which are called on it first.
    pub(super) fn of_class(
        &mut self,
        class: &str,
        on: &Expr,
        method: &str,
        arguments: &[Arg],
    ) -> Option<(String, u8)> {
        self.uses(Idiom::Object);
        let given = self.forwarded(&format!("{class}.{method}"), arguments)?;
        let is_made = matches!(on, Expr::Call(callee, _) if matches!(callee.as_ref(), Expr::Name(_)));
        if !is_made
            && let Some((lines, root)) = self.chained(on)
            && !lines.is_empty()
        {
            return Some((format!("{{ {} {root}.{method}({given}) }}", lines.join(" ")), LOOSE));
        }
        Some((format!("{}.{method}({given})", self.on(on)?), ATOM))
    }

    /// The calls of a chain whose methods give the object itself, and the variable that has it.
    fn chained(&mut self, on: &Expr) -> Option<(Vec<String>, String)> {
        match on {
            Expr::Call(callee, arguments) => match callee.as_ref() {
                Expr::Attr(inner, method) => {
                    let class = self.class_of_value(inner)?;
                    let (mut lines, root) = self.chained(inner)?;
                    let given = self.forwarded(&format!("{class}.{method}"), arguments)?;
                    lines.push(format!("{root}.{method}({given});"));
                    Some((lines, root))
                }
                _ => {
                    let own = self.free_name("chained");
                    let text = self.expr(on)?;
                    Some((vec![format!("let {own} = {text};")], own))
                }
            },
            value if is_place(value) => Some((Vec::new(), self.expr(value)?)),
            _ => None,
        }
    }

    /// A call of a closure that has a name.
    pub(super) fn closure_call(&self, name: &str, given: &str) -> String {
        match (self.self_made.contains(name), given) {
            (true, "") => format!("call({name})"),
            (true, given) => format!("call({name}, {given})"),
            (false, given) => format!("{name}.call({given})"),
        }
    }

    /// What `super()` and a class's own name call: the method that a class had before.
    pub(super) fn of_base(&mut self, on: &Expr, name: &str, arguments: &[Arg]) -> Option<Option<String>> {
        let own = self.class_at("self")?.clone();
        let base = self.kin.get(&own)?.base.clone()?;
        let arguments = match on {
            Expr::Call(callee, _) if matches!(callee.as_ref(), Expr::Name(name) if name == "super") => {
                arguments
            }
            Expr::Name(of) if *of == base => match arguments {
                [Arg { value: Expr::Name(this), name: None, .. }, rest @ ..] if this == "self" => rest,
                _ => return None,
            },
            _ => return None,
        };
        if name == "__init__" {
            let given = self.in_order(&base, true, arguments);
            return Some(given.map(|given| format!("made = {}", self.closure_call(&base, &given))));
        }
        if !self.has_method(&base, name) {
            return Some(None);
        }
        self.supers.insert(name.to_owned());
        let given = self.forwarded(&format!("{base}.{name}"), arguments);
        Some(given.map(|given| format!("self.{base}_{name}({given})")))
    }

    /// `Meter.made(3)`: what a class has itself is a closure beside it.
    pub(super) fn of_class_itself(
        &mut self,
        on: &Expr,
        name: &str,
        arguments: &[Arg],
    ) -> Option<Option<String>> {
        let Expr::Name(class) = on else { return None };
        let closure = self.of_classes.get(&format!("{class}.{name}")).cloned()?;
        self.functions.contains_key(&closure).then_some(())?;
        self.uses(Idiom::Object);
        Some(self.in_order(&closure, true, arguments).map(|given| format!("{closure}.call({given})")))
    }
}

/// The method that Python calls for a sign.
fn method_of(sign: &str) -> Option<&'static str> {
    SIGNS.iter().find(|(own, _)| *own == sign).map(|(_, method)| *method)
}
