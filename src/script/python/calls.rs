//! Calls: options become keywords, `forward` a call of the module, and what Rhai's own values have their names in Python.

use super::names::method_name;
use super::stand_ins::StandIn;
use super::tree::{Expr, gives_once};

use crate::script::classes;
use crate::script::python::writer::{PythonWriter, Type};

const ATOM: u8 = 14;
/// Functions of a number that Python has in `math`.
const MATHS: [&str; 9] = ["sqrt", "exp", "log", "sin", "cos", "tan", "tanh", "floor", "ceil"];
/// How losses put their elements together.
const REDUCTIONS: [&str; 4] = ["none", "mean", "sum", "batchmean"];

impl PythonWriter {
    /// A call that is a statement of another kind in Python.
    pub(super) fn own_statement(&mut self, value: &Expr) -> Option<String> {
        if let Expr::Method(on, name, given) = value
            && let ("put", [Expr::Array(places), value]) = (name.as_str(), given.as_slice())
        {
            let on = self.bound(on, ATOM);
            let places: Vec<String> = places.iter().map(|place| self.index(place)).collect();
            return Some(format!("{on}[{}] = {}", places.join(", "), self.expr(value)));
        }
        let Expr::Call(callee, arguments) = value else { return None };
        let Expr::Path(path) = callee.as_ref() else { return None };
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let setting = match (path.as_slice(), arguments.as_slice()) {
            (["drop"], [value]) if self.known("drop").is_none() => {
                return Some(format!("del {}", self.expr(value)));
            }
            (["assert"], [_] | [_, _]) if self.known("assert").is_none() => {
                let said: Vec<String> = arguments.iter().map(|value| self.bound(value, 1)).collect();
                return Some(format!("assert {}", said.join(", ")));
            }
            (["cudnn", "benchmark"], [_]) => "backends.cudnn.benchmark",
            (["cudnn", "enabled"], [_]) => "backends.cudnn.enabled",
            (["cudnn", "deterministic"], [_]) => "backends.cudnn.deterministic",
            (["matmul", "allow_tf32"], [_]) => "backends.cuda.matmul.allow_tf32",
            _ => return None,
        };
        let name = self.torch(setting);
        let value = arguments.first().map(|value| self.expr(value)).unwrap_or_default();
        Some(format!("{name} = {value}"))
    }

    pub(super) fn call(&mut self, callee: &Expr, arguments: &[Expr]) -> String {
        let Expr::Path(path) = callee else {
            let callee = self.bound(callee, ATOM);
            return format!("{callee}({})", self.arguments(arguments, true));
        };
        let own = matches!(path.as_slice(), [name] if self.known(name).is_some());
        let names: Vec<&str> = path.iter().map(String::as_str).collect();
        if !own
            && let Some(call) = self
                .stood_in_for(&names, arguments)
                .or_else(|| self.of_numbers(&names, arguments))
                .or_else(|| self.of_parts(path, arguments))
        {
            return call;
        }
        match (names.as_slice(), arguments) {
            _ if own => {}
            (["nn", "module"], _) => return self.module(arguments),
            (["autograd", "Function"], _) => return self.own_function(arguments),
            ([name], _) if self.is_number_call(name, arguments) => return self.number_call(name, arguments),
            (["data", "Dataset"], [length, get]) => return self.dataset(length, get),
            (["sleep"], [seconds]) => {
                self.imports.insert("import time");
                return format!("time.sleep({})", self.expr(seconds));
            }
            (["timestamp"], []) => {
                self.imports.insert("import time");
                return "time.perf_counter()".into();
            }
            (["timeit"], [function, ..]) => {
                let timer = self.torch("utils.benchmark.Timer");
                self.imports.insert("import torch.utils.benchmark");
                let function = self.expr(function);
                return format!("{timer}(\"f()\", globals={{\"f\": {function}}}).blocked_autorange()");
            }
            (["nn", "ModuleDict" | "ParameterDict"], _) => {
                let name = self.path(path, true);
                return format!("{name}({})", self.arguments(arguments, false));
            }
            (["F", _], [_, _, .., Expr::Text(word)]) if REDUCTIONS.contains(&word.as_str()) => {
                // PyTorch has two older parameters before this one.
                let before = arguments.len() - 1;
                let name = self.path(path, true);
                let given = self.arguments(arguments.get(..before).unwrap_or_default(), false);
                return format!("{name}({given}, reduction={})", super::expr::quoted(word));
            }
            (["print"], []) => return "print()".into(),
            (["type_of"], [value]) => return format!("type({}).__name__", self.expr(value)),
            (["parse_int"], [text]) => return format!("int({})", self.expr(text)),
            (["parse_float"], [text]) => return format!("float({})", self.expr(text)),
            (["repr" | "to_debug"], [value]) => return format!("repr({})", self.expr(value)),
            (["to_string"], [value]) => return format!("str({})", self.expr(value)),
            (["range"], _) => return format!("range({})", self.arguments(arguments, false)),
            (["progress"], [items, ..]) => {
                self.note("progress(…) shows a bar here; tqdm does in Python");
                return self.items(items);
            }
            (["checkpoint" | "checkpoint_sequential"], _) => {
                let name = self.path(path, true);
                let given = self.arguments(arguments, true);
                let is_told = matches!(arguments.last(), Some(Expr::Map(pairs))
                    if pairs.iter().any(|(key, _)| key == "use_reentrant"));
                let option = if is_told { "" } else { ", use_reentrant=False" };
                return format!("{name}({given}{option})");
            }
            // PyTorch wants to know whose operations choose.
            (["autocast"] | ["amp", "autocast"], [] | [Expr::Map(_)]) => {
                let given = std::iter::once("\"cuda\"".to_owned())
                    .chain(Some(self.arguments(arguments, true)).filter(|given| !given.is_empty()));
                let given = given.collect::<Vec<_>>().join(", ");
                return format!("{}({given})", self.path(path, true));
            }
            _ => {}
        }
        let name = self.path(path, true);
        let with_options = names != ["print"] || ends_line(arguments);
        let arguments = self.arguments(arguments, !own && with_options);
        format!("{name}({arguments})")
    }

    /// A call that takes its parts in an array here, and one after the other in PyTorch.
    fn of_parts(&mut self, path: &[String], arguments: &[Expr]) -> Option<String> {
        let names: Vec<&str> = path.iter().map(String::as_str).collect();
        Some(match (names.as_slice(), arguments) {
            (
                ["nn", "Sequential"] | ["cartesian_prod" | "block_diag" | "chain_matmul"],
                [Expr::Array(parts)],
            ) => {
                let parts: Vec<String> = parts.iter().map(|part| self.expr(part)).collect();
                format!("{}({})", self.path(path, true), parts.join(", "))
            }
            (["nn", "Sequential"], [parts @ (Expr::Path(_) | Expr::Method(..) | Expr::Index(..))]) => {
                let parts = self.bound(parts, 5);
                format!("{}(*{parts})", self.path(path, true))
            }
            _ => return None,
        })
    }

    /// What Rhai has for numbers alone, and what Python has built in for a list of them.
    fn of_numbers(&mut self, names: &[&str], arguments: &[Expr]) -> Option<String> {
        let name = match (names, arguments) {
            (["sum"], [list]) if self.type_of(list) == Type::Array => {
                return Some(format!("sum({})", self.expr(list)));
            }
            (["ln"], [number]) => format!("log({})", self.expr(number)),
            (["PI"], []) => "pi".to_owned(),
            (["E"], []) => "e".to_owned(),
            _ => return None,
        };
        self.imports.insert("import math");
        Some(format!("math.{name}"))
    }

    /// An error of one of Python's own classes: `ValueError("no")`.
    pub(super) fn error(&mut self, value: &Expr) -> Option<String> {
        const CLASSES: [&str; 6] =
            ["RuntimeError", "ValueError", "TypeError", "IndexError", "KeyError", "NotImplementedError"];
        let Expr::Call(callee, arguments) = value else { return None };
        let Expr::Path(path) = callee.as_ref() else { return None };
        let [class] = path.as_slice() else { return None };
        let is_own = CLASSES.contains(&class.as_str()) && self.known(class).is_none();
        is_own.then(|| format!("{class}({})", self.arguments(arguments, false)))
    }

    /// A call for which a function stands that is written along, or that takes another value in PyTorch.
    fn stood_in_for(&mut self, names: &[&str], arguments: &[Expr]) -> Option<String> {
        Some(match (names, arguments) {
            // Switches that are read are attributes in PyTorch.
            (["cudnn", name @ ("benchmark" | "deterministic" | "enabled")], []) => {
                self.torch(&format!("backends.cudnn.{name}"))
            }
            (["matmul", "allow_tf32"], []) => self.torch("backends.cuda.matmul.allow_tf32"),
            (["data", "digits"], []) => format!("{}()", self.stand_in(StandIn::Digits)),
            (["distributed", "spawn"], _) => {
                let given = self.arguments(arguments, true);
                format!("{}({given})", self.stand_in(StandIn::Ranks))
            }
            (["time"], [function]) => {
                let function = self.expr(function);
                format!("{}({function})", self.stand_in(StandIn::Timed))
            }
            (["data", "DistributedSampler"], [samples, options @ ..]) => {
                // PyTorch's takes what has a length.
                let samples = match (self.type_of(samples), self.expr(samples)) {
                    (Type::Int, samples) => format!("range({samples})"),
                    (Type::Tensor, samples) => samples,
                    (_, samples) => format!("range({samples}) if isinstance({samples}, int) else {samples}"),
                };
                let name = self.path(&["data".into(), "DistributedSampler".into()], true);
                let all = std::iter::once(samples)
                    .chain(Some(self.arguments(options, true)).filter(|o| !o.is_empty()));
                format!("{name}({})", all.collect::<Vec<_>>().join(", "))
            }
            (["isinstance"], [module, class]) => {
                format!("isinstance({}, {})", self.expr(module), self.class(class))
            }
            _ => return None,
        })
    }

    /// A class of modules, which a script may name by a text.
    fn class(&mut self, class: &Expr) -> String {
        match class {
            Expr::Text(name) => {
                let name = name.strip_prefix("nn::").unwrap_or(name);
                match classes::is_class("nn", name) {
                    true => self.path(&["nn".into(), name.into()], true),
                    false => name.to_owned(),
                }
            }
            Expr::Array(classes) => {
                let classes: Vec<String> = classes.iter().map(|class| self.class(class)).collect();
                format!("({})", classes.join(", "))
            }
            other => self.expr(other),
        }
    }

    /// Arguments; the options at the end as keywords.
    pub(super) fn arguments(&mut self, arguments: &[Expr], keywords: bool) -> String {
        let mut all = Vec::new();
        for (i, argument) in arguments.iter().enumerate() {
            match argument {
                Expr::Map(pairs)
                    if keywords && i + 1 == arguments.len() && pairs.iter().all(|(k, _)| is_word(k)) =>
                {
                    for (key, value) in pairs {
                        all.push(format!("{}={}", PythonWriter::variable(key), self.expr(value)));
                    }
                }
                argument => all.push(self.expr(argument)),
            }
        }
        all.join(", ")
    }

    pub(super) fn field(&mut self, on: &Expr, name: &str) -> String {
        if let Expr::Path(path) = on
            && let [variable] = path.as_slice()
        {
            let caught = self.caught.contains(variable);
            let python = PythonWriter::variable(variable);
            match name {
                "message" if caught => return format!("str({python})"),
                "kind" if caught => return format!("type({python}).__name__"),
                _ => {}
            }
        }
        // Groups of an optimiser's parameters are dicts in PyTorch.
        let group = matches!(on, Expr::Index(of, _) if matches!(of.as_ref(), Expr::Field(_, name) if name == "param_groups"));
        let of = self.type_of(on);
        let map = group || of == Type::Map || of == Type::Other && self.is_key(on, name);
        match name {
            "elapsed" if !map => {
                self.imports.insert("import time");
                return format!("(time.perf_counter() - {})", self.bound(on, 10));
            }
            "simulated" if !map => {
                self.note("simulated is this lab's own; PyTorch's GPUs are real");
                return "False".into();
            }
            "median_ms" if !map => return format!("({}.median * 1000.0)", self.bound(on, ATOM)),
            _ => {}
        }
        let text = self.bound(on, ATOM);
        let text = in_brackets_if_number(text);
        if map { format!("{text}[{}]", super::expr::quoted(name)) } else { format!("{text}.{name}") }
    }

    pub(super) fn method(&mut self, on: &Expr, name: &str, arguments: &[Expr]) -> (String, u8) {
        let atom = |text: String| (text, ATOM);
        let unused = std::mem::take(&mut self.unused);
        if let Some(found) = self.own_method(on, name, arguments) {
            return found;
        }
        self.unused = unused;
        let found = self.map_method(on, name, arguments);
        let found = found.or_else(|| self.list_method(on, name, arguments));
        let found = found.or_else(|| self.text_method(on, name, arguments));
        self.unused = false;
        if let Some(found) = found {
            return found;
        }
        let number = matches!(self.type_of(on), Type::Int | Type::Float);
        let text = match on {
            // Of whole numbers there is nothing to round.
            Expr::Binary(sign, a, b) if sign == "/" && name == "ceiling" => {
                format!("({} / {})", self.bound(a, 10), self.bound(b, 11))
            }
            on => self.bound(on, ATOM),
        };
        let text = in_brackets_if_number(text);
        let name = match name {
            "forward" => return atom(format!("{text}({})", self.arguments(arguments, true))),
            "push" | "insert" => {
                arguments.last().iter().for_each(|value| self.learn_pushed(on, value));
                let name = method_name(name);
                return atom(format!("{text}.{name}({})", self.arguments(arguments, false)));
            }
            "round" if number && arguments.is_empty() => return atom(format!("{name}({text})")),
            // No tensor has a `ceiling`, so that this is a number's whatever is known of it.
            "floor" | "ceiling" | "ceil" | "sqrt" | "exp" | "ln"
                if (number || name == "ceiling") && arguments.is_empty() =>
            {
                self.imports.insert("import math");
                let name = match name {
                    "ceiling" => "ceil",
                    "ln" => "log",
                    name => name,
                };
                return atom(format!("math.{name}({text})"));
            }
            name => method_name(name),
        };
        atom(format!("{text}.{name}({})", self.arguments(arguments, true)))
    }

    /// Methods that are another kind of expression in Python.
    fn own_method(&mut self, on: &Expr, name: &str, arguments: &[Expr]) -> Option<(String, u8)> {
        let atom = |text: String| Some((text, ATOM));
        match (name, arguments) {
            // Whoever calls a closure passes a map as it is.
            ("call", _) => {
                let on = self.bound(on, ATOM);
                atom(format!("{on}({})", self.arguments(arguments, false)))
            }
            ("len", []) if gives_once(on) => atom(format!("len(list({}))", self.expr(on))),
            ("len", []) => atom(format!("len({})", self.expr(on))),
            ("to_string", []) => atom(format!("str({})", self.expr(on))),
            ("to_float", []) => atom(format!("float({})", self.expr(on))),
            ("to_int", []) if matches!(on, Expr::Call(callee, given) if given.len() == 1 && **callee == Expr::Path(vec!["round".into()])) =>
            {
                let Expr::Call(_, given) = on else { return None };
                atom(format!("round({})", self.arguments(given, false)))
            }
            ("to_int", []) => atom(format!("int({})", self.expr(on))),
            // A size is a whole number.
            ("split", [Expr::Binary(operator, a, b)]) if operator == "/" => {
                let (on, a, b) = (self.bound(on, ATOM), self.bound(a, 10), self.bound(b, 11));
                atom(format!("{on}.split({a} // {b})"))
            }
            // Python's own takes tensors as well.
            ("abs", []) if self.type_of(on) != Type::Tensor => atom(format!("abs({})", self.expr(on))),
            ("is_empty", []) => {
                let on = self.expr(on);
                Some((format!("len({on}) == 0"), 4))
            }
            ("contains", [value]) => {
                let (value, on) = (self.bound(value, 5), self.bound(on, 5));
                Some((format!("{value} in {on}"), 4))
            }
            ("at", [Expr::Array(places)]) => {
                let on = self.bound(on, ATOM);
                let places: Vec<String> = places.iter().map(|place| self.index(place)).collect();
                atom(format!("{on}[{}]", places.join(", ")))
            }
            _ => None,
        }
    }

    /// Whether a function of tensors and numbers is called with a number.
    fn is_number_call(&self, name: &str, arguments: &[Expr]) -> bool {
        let number = |value: &Expr| matches!(self.type_of(value), Type::Int | Type::Float);
        let tensor = |value: &Expr| self.type_of(value) == Type::Tensor;
        match (name, arguments) {
            ("round", [value, digits]) => !tensor(value) && number(digits),
            ("max" | "min", [a, b]) => !tensor(a) && !tensor(b) && (number(a) || number(b)),
            ("round" | "abs", [value]) => number(value),
            (name, [value]) => MATHS.contains(&name) && number(value),
            _ => false,
        }
    }

    fn number_call(&mut self, name: &str, arguments: &[Expr]) -> String {
        let given = self.arguments(arguments, false);
        if !MATHS.contains(&name) {
            return format!("{name}({given})");
        }
        self.imports.insert("import math");
        format!("math.{name}({given})")
    }
}

fn is_word(key: &str) -> bool {
    key.chars().all(|c| c.is_alphanumeric() || c == '_') && !key.starts_with(|c: char| c.is_ascii_digit())
}

/// A point after a whole number is read as its fraction.
fn in_brackets_if_number(text: String) -> String {
    if text.starts_with(|c: char| c.is_ascii_digit()) { format!("({text})") } else { text }
}

/// Whether what is printed ends with what is said of its line: `#{end: ""}`.
fn ends_line(arguments: &[Expr]) -> bool {
    let is_option = |name: &str| matches!(name, "sep" | "end" | "flush");
    matches!(arguments, [_, .., Expr::Map(pairs)]
        if !pairs.is_empty() && pairs.iter().all(|(name, _)| is_option(name)))
}
