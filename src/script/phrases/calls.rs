//! Calls: options, modules, functions that Python has built in, methods of its texts, lists and dictionaries.

use super::book::Idiom;
use super::names;
use super::tree::{Arg, Expr};
use super::writer::{ATOM, Holds, LOOSE, Writer};

/// Methods that have another name here, and how many arguments they take.
const METHODS: [(&str, usize, &str); 10] = [
    ("pop", 1, "remove"),
    ("upper", 0, "to_upper"),
    ("lower", 0, "to_lower"),
    ("startswith", 1, "starts_with"),
    ("endswith", 1, "ends_with"),
    ("find", 1, "index_of"),
    ("index", 1, "index_of"),
    ("extend", 1, "append"),
    ("update", 1, "mixin"),
    ("has_key", 1, "contains"),
];

impl Writer<'_> {
    pub(super) fn call(&mut self, callee: &Expr, arguments: &[Arg]) -> Option<(String, u8)> {
        let atom = |text: String| Some((text, ATOM));
        match callee {
            Expr::Name(name) => self.named(name, arguments),
            Expr::Attr(on, name) => {
                match self.path(callee).and_then(|path| names::resolved(&path, &self.imports)) {
                    Some((here, idiom)) => {
                        self.uses(idiom);
                        match (here.as_str(), arguments) {
                            ("PI()", _) => return None,
                            // A shape is an array.
                            ("Size", [one]) => return self.written(&one.value),
                            _ => {}
                        }
                        let arguments = match idiom {
                            Idiom::Library if here != "manual_seed" => self.floats(arguments)?,
                            _ => self.arguments(arguments)?,
                        };
                        atom(format!("{here}({arguments})"))
                    }
                    None => self.method(on, name, arguments),
                }
            }
            // `nn.CrossEntropyLoss()(output, target)`
            callee if self.kind(callee) == Holds::Module => {
                self.uses(Idiom::Forward);
                let (callee, arguments) = (self.expr(callee)?, self.arguments(arguments)?);
                atom(format!("{callee}.forward({arguments})"))
            }
            callee => {
                let (callee, arguments) = (self.bound(callee, ATOM)?, self.arguments(arguments)?);
                atom(format!("{callee}({arguments})"))
            }
        }
    }

    /// Arguments, with those that have names in a map at the end.
    pub(super) fn arguments(&mut self, arguments: &[Arg]) -> Option<String> {
        let (mut all, mut options) = (Vec::new(), Vec::new());
        for argument in arguments {
            if argument.spread {
                self.uses(Idiom::Spread);
            }
            let value = self.expr(&argument.value)?;
            match &argument.name {
                Some(name) => options.push(format!("{name}: {value}")),
                None if options.is_empty() => all.push(value),
                None => return None,
            }
        }
        if !options.is_empty() {
            self.uses(Idiom::Options);
            all.push(format!("#{{{}}}", options.join(", ")));
        }
        Some(all.join(", "))
    }

    /// Arguments of functions that take no integers here.
    fn floats(&mut self, arguments: &[Arg]) -> Option<String> {
        let float = |argument: &Arg| match &argument.value {
            value if self.kind(value) != Holds::Int => self.expr(value),
            Expr::Number(whole) => Some(format!("{whole}.0")),
            value => Some(format!("{}.to_float()", self.on(value)?)),
        };
        let all: Option<Vec<String>> = arguments.iter().map(float).collect();
        Some(all?.join(", "))
    }

    /// A call of what has one name.
    fn named(&mut self, name: &str, arguments: &[Arg]) -> Option<(String, u8)> {
        let atom = |text: String| Some((text, ATOM));
        match (name, arguments) {
            ("open", _) if self.is_free(name) => return None,
            (":=", [name, value]) => return self.assigned_before(&name.value, &value.value),
            _ => {}
        }
        if let Some(params) = self.functions.get(name).cloned() {
            let mut ordered = self.in_order(&params, arguments)?;
            let collects = params.iter().any(|param| param.starts_with('*'));
            let missing = params.len().saturating_sub(arguments.len()) * usize::from(!collects);
            if let Some(defaults) = self.defaults.get(name).filter(|all| missing > 0 && missing <= all.len())
            {
                let rest = defaults.iter().skip(defaults.len() - missing).cloned();
                let given = Some(ordered).filter(|given| !given.is_empty());
                ordered = given.into_iter().chain(rest).collect::<Vec<_>>().join(", ");
            }
            return match self.holds(name) {
                Some(Holds::Closure) => {
                    self.uses(Idiom::CallOfVariable);
                    atom(format!("{name}.call({ordered})"))
                }
                _ => atom(format!("{name}({ordered})")),
            };
        }
        match self.holds(name) {
            Some(Holds::Module) => {
                self.uses(Idiom::Forward);
                let arguments = self.arguments(arguments)?;
                return atom(format!("{name}.forward({arguments})"));
            }
            Some(Holds::Closure) => {
                self.uses(Idiom::CallOfVariable);
                let arguments = self.arguments(arguments)?;
                return atom(format!("{name}.call({arguments})"));
            }
            Some(Holds::Other) if !names::is_function(name) => {
                let (idiom, method) = self.of_unknown(name, arguments);
                self.uses(idiom);
                let arguments = self.arguments(arguments)?;
                return atom(format!("{name}.{method}({arguments})"));
            }
            _ => {}
        }
        if let Some(found) = self.built_in(name, arguments) {
            return Some(found);
        }
        let callee = match names::resolved(&[name.to_owned()], &self.imports) {
            Some((here, _)) if here == name => name.to_owned(),
            Some((here, idiom)) => {
                self.uses(idiom);
                here
            }
            None => match names::in_module(name) {
                Some(full) => {
                    self.uses(Idiom::Inside);
                    full
                }
                None => name.to_owned(),
            },
        };
        let arguments = self.arguments(arguments)?;
        atom(format!("{callee}({arguments})"))
    }

    /// `(n := value)`: a line before the statement.
    fn assigned_before(&mut self, name: &Expr, value: &Expr) -> Option<(String, u8)> {
        let Expr::Name(name) = name else { return None };
        self.uses(Idiom::Walrus);
        let (holds, value) = (self.kind(value), self.expr(value)?);
        let word = if self.holds(name).is_some() { "" } else { "let " };
        self.prelude.push(format!("{word}{name} = {value};"));
        self.bind(name, holds);
        Some((name.clone(), ATOM))
    }

    /// How a variable is called of which nothing is known, such as a parameter: a module, unless it is given plain values
    /// or has a name that functions have.
    fn of_unknown(&self, name: &str, arguments: &[Arg]) -> (Idiom, &'static str) {
        const FUNCTIONS: [&str; 9] = ["f", "g", "h", "fn", "func", "function", "callback", "closure", "op"];
        let plain = |argument: &Arg| !matches!(self.kind(&argument.value), Holds::Tensor | Holds::Other);
        let function = match &self.said.absent {
            Some((absent, given)) if absent == name => !given.contains("Tensor"),
            _ => FUNCTIONS.contains(&name) || arguments.iter().all(plain),
        };
        if function { (Idiom::CallOfVariable, "call") } else { (Idiom::Forward, "forward") }
    }

    /// Arguments in the order of a function's parameters.
    fn in_order(&mut self, params: &[String], arguments: &[Arg]) -> Option<String> {
        if params.iter().any(|param| param.starts_with('*')) {
            return self.collected(params, arguments);
        }
        let mut all: Vec<Option<String>> = vec![None; params.len().max(arguments.len())];
        for (at, argument) in arguments.iter().enumerate() {
            let value = self.expr(&argument.value)?;
            let place = match &argument.name {
                Some(name) => {
                    self.uses(Idiom::Ordered);
                    params.iter().position(|param| param == name)?
                }
                None => at,
            };
            *all.get_mut(place)? = Some(value);
        }
        let given: Vec<String> = all.iter().take_while(|value| value.is_some()).flatten().cloned().collect();
        (given.len() == arguments.len()).then(|| given.join(", "))
    }

    /// Arguments of a function that takes any number: what is more goes in an array, and what has a name in a map.
    fn collected(&mut self, params: &[String], arguments: &[Arg]) -> Option<String> {
        self.uses(Idiom::Rest);
        let own = params.iter().take_while(|param| !param.starts_with('*')).count();
        let (mut all, mut rest, mut named) = (Vec::new(), Vec::new(), Vec::new());
        for argument in arguments {
            let value = self.expr(&argument.value)?;
            match &argument.name {
                _ if argument.spread || argument.name.as_ref().is_some_and(|name| params.contains(name)) => {
                    return None;
                }
                Some(name) => named.push(format!("{name}: {value}")),
                None if all.len() < own => all.push(value),
                None => rest.push(value),
            }
        }
        (all.len() == own).then_some(())?;
        all.extend(params.iter().skip(own).map(|param| match param.starts_with("**") {
            true => format!("#{{{}}}", named.join(", ")),
            false => format!("[{}]", rest.join(", ")),
        }));
        Some(all.join(", "))
    }

    /// Functions that Python has built in.
    fn built_in(&mut self, name: &str, arguments: &[Arg]) -> Option<(String, u8)> {
        let plain =
            arguments.iter().filter(|argument| argument.name.is_none()).map(|argument| &argument.value);
        let plain: Vec<&Expr> = plain.collect();
        let (idiom, text) = match (name, plain.as_slice()) {
            ("print", _) => return self.print(arguments),
            ("str", [of]) => (Idiom::Str, format!("{}.to_string()", self.on(of)?)),
            ("int" | "float", [of]) => (Idiom::Number, self.numeric(name, of)?),
            ("isinstance", [of, class]) => {
                let class = self.class(class)?;
                (Idiom::Type, format!("type_of({}) == {class}", self.expr(of)?))
            }
            ("type", [of]) => (Idiom::Type, format!("type_of({})", self.expr(of)?)),
            ("tuple", [of]) => (Idiom::List, format!("list({})", self.expr(of)?)),
            ("list" | "tuple", []) => (Idiom::List, "[]".into()),
            ("dict", []) => (Idiom::Dict, self.map_of(arguments)?),
            ("pow", [a, b]) if self.kind(a) == Holds::Int && self.kind(b) == Holds::Int => {
                (Idiom::Power, format!("{} ** {}", self.bound(a, 191)?, self.bound(b, 185)?))
            }
            ("help", [of]) => (Idiom::Help, format!("?{}", self.expr(of)?)),
            (name, plain) => self.of_items(name, plain)?,
        };
        self.uses(idiom);
        let level = match idiom {
            Idiom::Type if name == "isinstance" => 90,
            Idiom::Power => 190,
            _ => ATOM,
        };
        Some((text, level))
    }

    /// `dict(a=1)`
    fn map_of(&mut self, arguments: &[Arg]) -> Option<String> {
        let pair =
            |argument: &Arg| Some(format!("{}: {}", argument.name.as_deref()?, self.expr(&argument.value)?));
        let pairs: Option<Vec<String>> = arguments.iter().map(pair).collect();
        Some(format!("#{{{}}}", pairs?.join(", ")))
    }

    /// What stands at the end is no option here.
    fn print(&mut self, arguments: &[Arg]) -> Option<(String, u8)> {
        let kept = |argument: &&Arg| argument.name.as_deref().is_none_or(|name| name == "sep");
        let kept: Vec<Arg> = arguments.iter().filter(kept).cloned().collect();
        if kept.len() < arguments.len() {
            self.uses(Idiom::PrintEnd);
        }
        Some((format!("print({})", self.arguments(&kept)?), ATOM))
    }

    fn numeric(&mut self, name: &str, of: &Expr) -> Option<String> {
        if let ("float", Expr::Text(text)) = (name, of) {
            match text.trim_matches(['"', '\'']).trim_start_matches('+') {
                "inf" => return Some("(1.0 / 0.0)".into()),
                "-inf" => return Some("(-1.0 / 0.0)".into()),
                "nan" => return Some("(0.0 / 0.0)".into()),
                _ => {}
            }
        }
        match self.kind(of) {
            Holds::Text => Some(format!("parse_{name}({})", self.expr(of)?)),
            Holds::Tensor => Some(format!("{}.item().to_{name}()", self.on(of)?)),
            _ => Some(format!("{}.to_{name}()", self.on(of)?)),
        }
    }

    /// What `type_of` says of a class.
    fn class(&mut self, class: &Expr) -> Option<String> {
        let text = match class {
            Expr::Name(name) => match name.as_str() {
                "int" => "i64",
                "float" => "f64",
                "str" => "string",
                "list" | "tuple" => "array",
                "dict" => "map",
                "bool" => "bool",
                "Tensor" => "Tensor",
                _ => return None,
            },
            Expr::Attr(_, name) if name == "Tensor" => "Tensor",
            Expr::Attr(_, name) => return Some(format!("\"{name}\"")),
            _ => return None,
        };
        Some(format!("\"{text}\""))
    }

    /// What a method is called on; numbers and ranges in brackets.
    pub(super) fn on(&mut self, value: &Expr) -> Option<String> {
        let text = self.bound(value, ATOM)?;
        Some(if text.starts_with(|c: char| c.is_ascii_digit()) { format!("({text})") } else { text })
    }

    fn method(&mut self, on: &Expr, name: &str, arguments: &[Arg]) -> Option<(String, u8)> {
        let atom = |text: String| Some((text, ATOM));
        if let (Expr::Text(raw), "format") = (on, name) {
            return self.formatted(raw, arguments).map(|text| (text, ATOM));
        }
        let holds = self.kind(on);
        if let (Expr::Text(_), "join", [items]) = (on, name, arguments) {
            self.uses(Idiom::Join);
            let (between, items) = (self.expr(on)?, self.items(&items.value)?);
            return atom(match between.as_str() {
                "\"\"" => format!("{items}.reduce(|all, x| all + x, \"\")"),
                // It begins with nothing.
                _ => {
                    format!("{items}.reduce(|all, x| if all == () {{ x }} else {{ all + {between} + x }})")
                }
            });
        }
        let text = self.on(on)?;
        let is_self = text == "self" || text.starts_with("self.");
        let plain = arguments.iter().all(|argument| argument.name.is_none());
        let tensor = holds == Holds::Tensor;
        let known = matches!(holds, Holds::Text | Holds::Array | Holds::Map);
        let closure = arguments.iter().any(|argument| self.kind(&argument.value) == Holds::Closure);
        let ambiguous = closure || (!known && names::is_method(name));
        let renamed = METHODS.iter().find(|(known, count, _)| *known == name && *count == arguments.len());
        match (name, arguments) {
            (name, arguments) if is_self && self.holds(&format!("self.{name}")) == Some(Holds::Module) => {
                self.uses(Idiom::Forward);
                let arguments = self.arguments(arguments)?;
                return atom(format!("{text}.{name}.forward({arguments})"));
            }
            ("append", [one])
                if !matches!(holds, Holds::Text | Holds::Module)
                    && plain
                    && (self.python || !self.is_array_of_rhai(one)) =>
            {
                self.uses(Idiom::Append);
                return atom(format!("{text}.push({})", self.expr(&one.value)?));
            }
            ("replace", [_, _]) | ("strip" | "trim", [])
                if plain && !matches!(holds, Holds::Array | Holds::Map | Holds::Module | Holds::Tensor) =>
            {
                self.uses(Idiom::InPlace);
                let name = if name == "strip" { "trim" } else { name };
                let (own, arguments) = (self.free_name("text"), self.arguments(arguments)?);
                return Some((format!("{{ let {own} = {text}; {own}.{name}({arguments}); {own} }}"), LOOSE));
            }
            ("remove", [one]) if holds == Holds::Array && (self.python || self.is_refused("remove")) => {
                self.uses(Idiom::Remove);
                return atom(format!("{text}.remove({text}.index_of({}))", self.expr(&one.value)?));
            }
            ("get", [key, default]) if plain => {
                self.uses(Idiom::GetDefault);
                return Some((
                    format!("{text}.get({}) ?? {}", self.expr(&key.value)?, self.bound(&default.value, 136)?),
                    135,
                ));
            }
            ("copy", []) if matches!(holds, Holds::Array | Holds::Map) => {
                self.uses(Idiom::Copy);
                return atom(text);
            }
            ("numel" | "item" | "tolist", _) => {}
            (_, []) if names::is_property(name) && holds != Holds::Map => {
                self.uses(Idiom::Property);
                return atom(format!("{text}.{name}"));
            }
            _ => {}
        }
        if let Some((_, _, here)) =
            renamed.filter(|_| plain && !tensor && !ambiguous && (name != "pop" || holds == Holds::Array))
        {
            self.uses(Idiom::Method);
            let arguments = self.arguments(arguments)?;
            return atom(format!("{text}.{here}({arguments})"));
        }
        let arguments = self.arguments(arguments)?;
        atom(format!("{text}.{name}({arguments})"))
    }

    /// Rhai's `append` takes an array: only another value is Python's.
    fn is_array_of_rhai(&self, argument: &Arg) -> bool {
        let tuple = matches!(argument.value, Expr::Tuple(_));
        !tuple && !self.is_refused("append") && self.kind(&argument.value) == Holds::Array
    }

    fn is_refused(&self, name: &str) -> bool {
        self.said.refused.as_ref().is_some_and(|(refused, _)| refused == name)
    }
}
