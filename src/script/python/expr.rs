//! Values.

use super::names::gives_tensor;
use super::stand_ins::StandIn;
use super::stmt::{Sink, needs_lines};
use crate::script::python::writer::{PythonWriter, Type};

use super::tree::{Expr, Part, Stmt, only_value};

/// How tightly Python binds, from a lambda to a name.
const TERNARY: u8 = 0;
const NOT: u8 = 3;
const COMPARE: u8 = 4;
const UNARY: u8 = 11;
const POWER: u8 = 12;
const ATOM: u8 = 14;

/// Methods of tensors that give something else.
const NO_TENSORS: [&str; 9] =
    ["item", "tolist", "to_string", "size", "stride", "equal", "allclose", "element_size", "is_contiguous"];

/// Methods that give texts, and those that give arrays.
const TEXTS: [&str; 4] = ["to_string", "to_upper", "to_lower", "sub_string"];
const ARRAYS: [&str; 10] = [
    "map",
    "filter",
    "extract",
    "order",
    "order_by",
    "order_desc",
    "to_array",
    "collect",
    "to_chars",
    "split_rev",
];

/// An operator in Python, and how tightly it binds.
fn operator(rhai: &str) -> Option<(&'static str, u8)> {
    Some(match rhai {
        "||" => ("or", 1),
        "&&" => ("and", 2),
        "==" => ("==", COMPARE),
        "!=" => ("!=", COMPARE),
        "<" => ("<", COMPARE),
        "<=" => ("<=", COMPARE),
        ">" => (">", COMPARE),
        ">=" => (">=", COMPARE),
        "in" => ("in", COMPARE),
        "!in" => ("not in", COMPARE),
        "is" => ("is", COMPARE),
        "|" => ("|", 5),
        "^" => ("^", 6),
        "&" => ("&", 7),
        "<<" => ("<<", 8),
        ">>" => (">>", 8),
        "+" => ("+", 9),
        "-" => ("-", 9),
        "*" => ("*", 10),
        "/" => ("/", 10),
        "%" => ("%", 10),
        "@" => ("@", 10),
        "**" => ("**", POWER),
        _ => return None,
    })
}

impl PythonWriter {
    pub(super) fn expr(&mut self, value: &Expr) -> String {
        self.bound(value, TERNARY)
    }

    /// A value in brackets, where it binds less tightly than it must.
    pub(super) fn bound(&mut self, value: &Expr, least: u8) -> String {
        let (text, power) = self.written(value);
        if power < least { format!("({text})") } else { text }
    }

    fn written(&mut self, value: &Expr) -> (String, u8) {
        let atom = |text: String| (text, ATOM);
        match value {
            Expr::Unit => atom("None".into()),
            Expr::Bool(yes) => atom(if *yes { "True" } else { "False" }.into()),
            Expr::Number(text) if text.starts_with('-') => (text.clone(), UNARY),
            Expr::Number(text) => atom(text.clone()),
            Expr::Text(text) => atom(quoted(text)),
            Expr::Template(parts) => atom(self.template(parts)),
            Expr::Path(path) => atom(self.path(path, false)),
            Expr::Array(values) => {
                let values: Vec<String> = values.iter().map(|value| self.expr(value)).collect();
                atom(format!("[{}]", values.join(", ")))
            }
            Expr::Map(pairs) => {
                let pairs: Vec<String> = pairs
                    .iter()
                    .map(|(key, value)| format!("{}: {}", quoted(key), self.expr(value)))
                    .collect();
                atom(format!("{{{}}}", pairs.join(", ")))
            }
            Expr::Unary(sign, operand) => self.unary(sign, operand),
            Expr::Binary(operator, a, b) => self.binary(operator, a, b),
            Expr::Range(..) => atom(self.items(value)),
            Expr::Call(callee, arguments) => atom(self.call(callee, arguments)),
            Expr::Method(on, name, arguments) => self.method(on, name, arguments),
            Expr::Field(on, name) => atom(self.field(on, name)),
            Expr::Index(on, index) => {
                let once = super::tree::gives_once(on);
                let on = self.bound(on, ATOM);
                let on = if once { format!("list({on})") } else { on };
                let index = self.index(index);
                atom(format!("{on}[{index}]"))
            }
            Expr::Closure(params, body) => self.closure(params, body),
            Expr::Copy(inner) => match self.type_of(inner) {
                Type::Array | Type::Map | Type::Other | Type::Absent => {
                    let name = self.stand_in(StandIn::Copy);
                    atom(format!("{name}({})", self.expr(inner)))
                }
                _ => self.written(inner),
            },
            Expr::If(branches, Some(otherwise)) if self.is_ternary(value) => {
                let mut text = only_value(otherwise).map(|v| self.expr(v)).unwrap_or_default();
                for (condition, body) in branches.iter().rev() {
                    let (yes, condition) =
                        (only_value(body).map(|v| self.bound(v, 1)), self.bound(condition, 1));
                    text = format!("{} if {condition} else {text}", yes.unwrap_or_default());
                }
                (text, TERNARY)
            }
            value if needs_lines(value) => {
                let name = self.made_up("value");
                let target = self.target.take();
                self.value(value, &Sink::To(name.clone()));
                self.target = target;
                atom(name)
            }
            _ => atom("None".into()),
        }
    }

    fn unary(&mut self, sign: &str, operand: &Expr) -> (String, u8) {
        if sign == "!" {
            return (self.negated(operand), NOT);
        }
        (format!("{sign}{}", self.bound(operand, UNARY)), UNARY)
    }

    /// `not` of a truth value, and `~` of a tensor of them.
    pub(super) fn negated(&mut self, value: &Expr) -> String {
        match value {
            Expr::Unary("!", inner) => self.expr(inner),
            _ if self.type_of(value) == Type::Tensor => format!("~{}", self.bound(value, UNARY)),
            _ => format!("not {}", self.bound(value, NOT)),
        }
    }

    fn binary(&mut self, rhai: &str, a: &Expr, b: &Expr) -> (String, u8) {
        if rhai == "??" {
            let (first, second) = (self.bound(a, 1), self.bound(b, 1));
            return (format!("{first} if {first} is not None else {second}"), TERNARY);
        }
        let Some((python, power)) = operator(rhai) else {
            self.note(format!("Python has no operator `{rhai}`"));
            return ("None".into(), ATOM);
        };
        if let Some(special) = not_finite(rhai, a, b) {
            return (format!("float(\"{special}\")"), ATOM);
        }
        if let Some(type_name) = class_named(a, b).filter(|_| matches!(rhai, "==" | "!=")) {
            let a = self.bound(a, COMPARE + 1);
            return (format!("{a} {rhai} \"{type_name}\""), COMPARE);
        }
        if matches!(rhai, "/" | "%") {
            return self.divided(rhai, a, b);
        }
        if let (true, Expr::Binary(sign, of, by)) = (is_zero(b) && matches!(rhai, "==" | "!="), a)
            && sign == "%"
        {
            // Whether nothing remains does not hang on the sign.
            let (of, by) = (self.bound(of, 10), self.bound(by, 11));
            return (format!("{of} % {by} {rhai} 0"), COMPARE);
        }
        let none = *a == Expr::Unit || *b == Expr::Unit;
        let python = match (rhai, none) {
            ("==", true) => "is",
            ("!=", true) => "is not",
            _ => python,
        };
        if matches!(rhai, "==" | "!=")
            && let Expr::Field(_, shape) = a
            && let Expr::Array(sizes) = b
            && let Expr::Field(on, _) = a
            && shape == "shape"
            && self.type_of(on) != Type::Map
        {
            // PyTorch's shapes are tuples.
            let (a, sizes) =
                (self.bound(a, COMPARE + 1), sizes.iter().map(|size| self.expr(size)).collect::<Vec<_>>());
            let comma = if sizes.len() == 1 { "," } else { "" };
            return (format!("{a} {rhai} ({}{comma})", sizes.join(", ")), COMPARE);
        }
        // Comparisons side by side are chained in Python.
        let (left, right) = match rhai {
            "**" => (power + 1, power - 1),
            _ if power == COMPARE => (power + 1, power + 1),
            _ => (power, power + 1),
        };
        if rhai == "+" && self.type_of_binary("+", a, b) == Type::Text {
            return (format!("{} + {}", self.text(a, left), self.text(b, right)), power);
        }
        let (a, b) = (self.bound(a, left), self.bound(b, right));
        (format!("{a} {python} {b}"), power)
    }

    /// A value beside a text, which in Python must be one.
    pub(super) fn text(&mut self, value: &Expr, least: u8) -> String {
        match self.type_of(value) {
            Type::Text => self.bound(value, least),
            _ => format!("str({})", self.expr(value)),
        }
    }

    fn closure(&mut self, params: &[String], body: &[Stmt]) -> (String, u8) {
        let shown: Vec<String> = params.iter().map(|param| PythonWriter::variable(param)).collect();
        let before = self.lines.len();
        if let Some(value) = only_value(body).filter(|value| !needs_lines(value) || self.is_ternary(value)) {
            self.scopes.push(params.iter().map(|param| (param.clone(), Type::Other)).collect());
            let text = self.expr(value);
            self.scopes.pop();
            if self.lines.len() == before {
                let head =
                    if shown.is_empty() { "lambda".into() } else { format!("lambda {}", shown.join(", ")) };
                return (format!("{head}: {text}"), TERNARY);
            }
            // Its body needs lines of its own after all.
            self.lines.truncate(before);
        }
        let name = self.made_up("function");
        self.function(&name, params, body);
        (name, ATOM)
    }

    /// What a loop goes through.
    pub(super) fn items(&mut self, value: &Expr) -> String {
        let Expr::Range(from, to, whole) = value else { return self.expr(value) };
        let (from, to) = (self.expr(from), if *whole { self.plus_one(to) } else { self.expr(to) });
        if from == "0" { format!("range({to})") } else { format!("range({from}, {to})") }
    }

    fn plus_one(&mut self, value: &Expr) -> String {
        match value {
            Expr::Number(text) if text.parse::<i64>().is_ok() => {
                text.parse::<i64>().map_or_else(|_| text.clone(), |n| n.saturating_add(1).to_string())
            }
            value => format!("{} + 1", self.bound(value, 9)),
        }
    }

    /// What stands between an index's brackets.
    pub(super) fn index(&mut self, value: &Expr) -> String {
        match value {
            Expr::Range(from, to, whole) => {
                let from = if **from == Expr::Number("0".into()) { String::new() } else { self.expr(from) };
                let to = match (whole, to.as_ref()) {
                    // To the last element.
                    (true, Expr::Number(n)) if n == "-1" => String::new(),
                    (true, to) => self.plus_one(to),
                    (false, to) => self.expr(to),
                };
                format!("{from}:{to}")
            }
            Expr::Unit => ":".into(),
            value => self.expr(value),
        }
    }

    fn template(&mut self, parts: &[Part]) -> String {
        let mut out = String::new();
        for part in parts {
            match part {
                Part::Text(text) => {
                    let inner = quoted(text);
                    let inner = inner.get(1..inner.len() - 1).unwrap_or_default();
                    out.push_str(&inner.replace('{', "{{").replace('}', "}}"));
                }
                Part::Code(block) => {
                    let text = match only_value(block) {
                        Some(value) => self.expr(value),
                        None => {
                            let name = self.made_up("value");
                            self.block(block, &Sink::To(name.clone()));
                            name
                        }
                    };
                    // Before Python 3.12, code in a string had no quotes of its kind, and no backslash.
                    let text = if text.contains(['"', '\\', '\n'])
                        || text.starts_with('{')
                        || text.contains("lambda")
                    {
                        let name = self.made_up("value");
                        self.line(&format!("{name} = {text}"));
                        name
                    } else {
                        text
                    };
                    out.push_str(&format!("{{{text}}}"));
                }
            }
        }
        format!("f\"{out}\"")
    }

    /// What is known of a value's type.
    pub(super) fn type_of(&self, value: &Expr) -> Type {
        match value {
            Expr::Number(text) if text.contains(['.', 'e']) && !text.starts_with("0x") => Type::Float,
            Expr::Number(_) => Type::Int,
            Expr::Bool(_) => Type::Bool,
            Expr::Map(_) => Type::Map,
            Expr::Text(_) | Expr::Template(_) => Type::Text,
            Expr::Array(_) => Type::Array,
            Expr::Path(path) => match path.as_slice() {
                [name] => self.known(name).unwrap_or(Type::Other),
                _ => Type::Other,
            },
            Expr::Copy(inner) => self.type_of(inner),
            Expr::Unary("!", operand) => self.type_of(operand),
            Expr::Unary(_, operand) => self.type_of(operand),
            Expr::Binary(operator, a, b) => self.type_of_binary(operator, a, b),
            Expr::Method(_, name, _)
                if matches!(name.as_str(), "len" | "numel" | "dim" | "nelement" | "index_of" | "to_int") =>
            {
                Type::Int
            }
            Expr::Index(sizes, _) if matches!(sizes.as_ref(), Expr::Field(_, name) if name == "shape") => {
                Type::Int
            }
            Expr::Method(_, name, _) if TEXTS.contains(&name.as_str()) => Type::Text,
            Expr::Method(_, name, _) if name == "to_float" => Type::Float,
            Expr::Method(on, name, _)
                if matches!(name.as_str(), "map" | "filter" | "drain" | "retain")
                    && self.type_of(on) == Type::Map =>
            {
                Type::Map
            }
            Expr::Method(_, name, _) if ARRAYS.contains(&name.as_str()) => Type::Array,
            Expr::Method(on, name, _)
                if matches!(name.as_str(), "keys" | "values" | "items") && self.type_of(on) == Type::Map =>
            {
                Type::Array
            }
            Expr::Method(on, name, given) if name == "split" => match (self.type_of(on), given.first()) {
                (Type::Text | Type::Array, _) => Type::Array,
                (_, Some(by)) if self.type_of(by) == Type::Text => Type::Array,
                _ => Type::Other,
            },
            Expr::Method(..) if self.item_type(value) != Type::Other => self.item_type(value),
            Expr::Method(_, name, _) if NO_TENSORS.contains(&name.as_str()) => Type::Other,
            Expr::Method(on, ..) if self.type_of(on) == Type::Tensor => Type::Tensor,
            Expr::Call(callee, _) => match self.type_of_call(callee) {
                Type::Other => self.kind_of(value),
                of => of,
            },
            _ => match self.item_type(value) {
                Type::Other => self.kind_of(value),
                of => of,
            },
        }
    }

    fn type_of_binary(&self, operator: &str, a: &Expr, b: &Expr) -> Type {
        let (a, b) = (self.type_of(a), self.type_of(b));
        let compared = matches!(operator, "==" | "!=" | "<" | "<=" | ">" | ">=");
        match (a, b) {
            _ if matches!(operator, "&&" | "||" | "in" | "is") => Type::Bool,
            (Type::Text, _) | (_, Type::Text) if operator == "+" => Type::Text,
            (Type::Tensor, _) | (_, Type::Tensor) => Type::Tensor,
            _ if compared => Type::Bool,
            (Type::Array, _) if operator == "+" => Type::Array,
            (Type::Int, Type::Int) => Type::Int,
            (Type::Int | Type::Float, Type::Int | Type::Float) => Type::Float,
            // No operation of a number that has a fraction, or of a tensor, gives a whole one.
            (Type::Float | Type::Real, Type::Other | Type::Absent)
            | (Type::Other | Type::Absent, Type::Float | Type::Real) => Type::Real,
            (Type::Real, Type::Real | Type::Int | Type::Float) | (Type::Int | Type::Float, Type::Real) => {
                Type::Real
            }
            _ => Type::Other,
        }
    }

    fn type_of_call(&self, callee: &Expr) -> Type {
        let Expr::Path(path) = callee else { return Type::Other };
        match path.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            [name] if self.known(name).is_some() || self.result_of(name) != Type::Other => {
                self.result_of(name)
            }
            ["parse_int"] => Type::Int,
            ["ln" | "PI" | "E"] => Type::Float,
            path if gives_tensor(path) => Type::Tensor,
            _ => Type::Other,
        }
    }
}

/// Text as Python writes it.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => out.push_str(&format!("\\x{:02x}", u32::from(c).min(255))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// What Python calls the type that `type_of` is compared with.
fn class_named(asked: &Expr, name: &Expr) -> Option<&'static str> {
    let (Expr::Call(callee, _), Expr::Text(name)) = (asked, name) else { return None };
    let Expr::Path(path) = callee.as_ref() else { return None };
    if path.first().is_none_or(|first| first != "type_of") {
        return None;
    }
    Some(match name.as_str() {
        "array" => "list",
        "map" => "dict",
        "string" => "str",
        "i64" => "int",
        "f64" => "float",
        "()" => "NoneType",
        "Fn" => "function",
        _ => return None,
    })
}

/// What a division of two numbers by zero gives, which Python refuses.
fn not_finite(operator: &str, a: &Expr, b: &Expr) -> Option<&'static str> {
    let number = |e: &Expr| match e {
        Expr::Number(text) => text.replace('_', "").parse::<f64>().ok(),
        _ => None,
    };
    let (negative, a) = match a {
        Expr::Unary("-", inner) => (true, number(inner)?),
        _ => (a_is_negative(a), number(a)?.abs()),
    };
    let is_float = |e: &Expr| matches!(e, Expr::Number(text) if text.contains('.'));
    if operator != "/" || number(b)? != 0.0 || !is_float(b) {
        return None;
    }
    Some(match (a == 0.0, negative) {
        (true, _) => "nan",
        (false, false) => "inf",
        (false, true) => "-inf",
    })
}

fn is_zero(value: &Expr) -> bool {
    matches!(value, Expr::Number(text) if text == "0")
}

fn a_is_negative(a: &Expr) -> bool {
    matches!(a, Expr::Number(text) if text.starts_with('-'))
}
