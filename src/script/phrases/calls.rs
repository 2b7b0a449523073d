//! Calls: options, modules, functions that Python has built in, methods of its texts, lists and dictionaries.

use super::book::Idiom;
use super::file_names::renamed;
use super::kinds::place;
use super::names;
use super::options::is_map;
use super::tree::{Arg, Expr, IndexPlace, is_environment};
use super::writer::{ATOM, Holds, LOOSE, Writer};

impl Writer<'_> {
    pub(super) fn call(&mut self, callee: &Expr, arguments: &[Arg]) -> Option<(String, u8)> {
        let atom = |text: String| Some((text, ATOM));
        match callee {
            Expr::Name(name) => {
                self.record_of_columns(name, arguments).or_else(|| self.named(name, arguments))
            }
            Expr::Attr(on, name) => {
                if let Some(path) = self.path(callee)
                    && let Some((text, idiom)) = self.of_package(&path, arguments)
                {
                    self.uses(idiom);
                    return Some((text, LOOSE));
                }
                if self.path(callee).and_then(|path| names::foreign(path.first()?)).is_some()
                    || self.path(callee).is_some_and(|path| names::is_without(&path, &self.imports))
                {
                    return None;
                }
                match self.path(callee).and_then(|path| names::resolved(&path, &self.imports)) {
                    Some((here, idiom)) => {
                        self.uses(idiom);
                        if let Some((_, dtype)) = names::OLD_TENSORS.iter().find(|(name, _)| *name == here) {
                            return atom(self.old_tensor(dtype, arguments)?);
                        }
                        match (here.as_str(), arguments) {
                            ("PI()" | "telemetry::record", _) => return None,
                            ("plot::figure", [size]) if size.name.as_deref() == Some("figsize") => {
                                return atom(format!("{here}({})", self.pixels(&size.value)?));
                            }
                            // A shape is an array.
                            ("Size", [one]) => return self.written(&one.value),
                            _ => {}
                        }
                        let arguments = names::without_idle(&here, arguments);
                        let arguments = self.gathered(&here, &arguments)?;
                        let arguments = arguments.as_slice();
                        let arguments = match idiom {
                            _ if matches!(here.as_str(), "save" | "load") => self.with_file(arguments)?,
                            Idiom::Library if here != "manual_seed" && !here.contains("::") => {
                                self.floats(arguments)?
                            }
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
            // `compose(f, g)(x)`
            Expr::Call(..) if self.python => {
                let (idiom, method) = self.of_unknown("", arguments);
                self.uses(idiom);
                let (callee, arguments) = (self.bound(callee, ATOM)?, self.arguments(arguments)?);
                atom(format!("{callee}.{method}({arguments})"))
            }
            // `acts["relu"](x)`
            Expr::Index(on, _) if self.python => {
                let on = place(on).unwrap_or_default();
                let (idiom, method) = match self.callable.contains(&on) {
                    true => (Idiom::CallOfVariable, "call"),
                    false => self.of_unknown(&on, arguments),
                };
                self.uses(idiom);
                let (callee, arguments) = (self.bound(callee, ATOM)?, self.arguments(arguments)?);
                atom(format!("{callee}.{method}({arguments})"))
            }
            callee => {
                let (callee, arguments) = (self.bound(callee, ATOM)?, self.arguments(arguments)?);
                atom(format!("{callee}({arguments})"))
            }
        }
    }

    /// Arguments, with those that have names in a map at the end.
    pub(super) fn arguments(&mut self, arguments: &[Arg]) -> Option<String> {
        let (mut all, mut options, mut all_named) = (Vec::new(), Vec::new(), Vec::new());
        for argument in arguments {
            // Who takes them is not known to take an array.
            (!argument.spread).then_some(())?;
            // `**options` is the map itself, and joined to the ones before it.
            if argument.name.as_deref() == Some("**") {
                all_named.push(self.bound(&argument.value, 150)?);
                continue;
            }
            let value = match (&argument.value, argument.name.as_deref()) {
                // A function that has a name is no value.
                (Expr::Name(function), Some("key")) if self.holds(function).is_none() => {
                    let item = Arg { name: None, spread: false, value: Expr::Name("x".into()) };
                    let call = Expr::Call(argument.value.clone().into(), vec![item]);
                    format!("|x| {}", self.expr(&call)?)
                }
                // Python's own types are the wide ones, where `torch.int` and `torch.float` are not.
                (Expr::Name(wide), Some("dtype")) if wide == "int" && self.holds(wide).is_none() => {
                    "int64".into()
                }
                (Expr::Name(wide), Some("dtype")) if wide == "float" && self.holds(wide).is_none() => {
                    "float64".into()
                }
                (value, Some("key")) => self.passed(value)?,
                (value, _) => self.expr(value)?,
            };
            match &argument.name {
                Some(name) => {
                    let name = match name.as_str() {
                        "axis" => "dim",
                        "keepdims" => "keepdim",
                        name => name,
                    };
                    options.push(format!("{name}: {value}"));
                }
                None if options.is_empty() => all.push(value),
                None => return None,
            }
        }
        let own = (!options.is_empty()).then(|| format!("#{{{}}}", options.join(", ")));
        let named: Vec<String> = own.into_iter().chain(all_named).collect();
        if !named.is_empty() {
            self.uses(Idiom::Options);
            all.push(named.join(" + "));
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

    /// A figure's size in inches as options in pixels.
    fn pixels(&mut self, size: &Expr) -> Option<String> {
        let Expr::Tuple(sides) = size else { return None };
        let side = |side: &Expr| match side {
            Expr::Number(inches) => inches.parse::<f64>().ok().map(|inches| (inches * 100.0).round()),
            _ => None,
        };
        let [width, height] = sides.iter().map(side).collect::<Option<Vec<f64>>>()?.try_into().ok()?;
        self.uses(Idiom::Options);
        Some(format!("#{{width: {width}, height: {height}}}"))
    }

    /// `torch.FloatTensor([1, 2])` has these values, and `torch.FloatTensor(2, 3)` these sizes.
    fn old_tensor(&mut self, dtype: &str, arguments: &[Arg]) -> Option<String> {
        self.uses(Idiom::OldTensor);
        let sizes = arguments.iter().all(|argument| self.kind(&argument.value) == Holds::Int);
        let given = self.arguments(arguments)?;
        Some(match (sizes, arguments.is_empty()) {
            (_, true) => format!("empty(0, #{{dtype: {dtype}}})"),
            (true, _) => format!("empty({given}, #{{dtype: {dtype}}})"),
            (false, _) => format!("tensor({given}, #{{dtype: {dtype}}})"),
        })
    }

    /// Arguments among which a file's name ends as it has to.
    fn with_file(&mut self, arguments: &[Arg]) -> Option<String> {
        let named = |argument: &Arg| Some(Arg { value: renamed(&argument.value)?, ..argument.clone() });
        let renamed: Vec<Arg> =
            arguments.iter().map(|argument| named(argument).unwrap_or_else(|| argument.clone())).collect();
        if arguments.iter().any(|argument| named(argument).is_some()) {
            self.uses(Idiom::FileName);
        }
        // What Python's files need beside the name.
        let renamed: Vec<Arg> = renamed
            .into_iter()
            .filter(|argument| !matches!(argument.name.as_deref(), Some("weights_only" | "map_location")))
            .collect();
        self.arguments(&renamed)
    }

    /// Notes that what is cut is a list.
    fn note_list(&mut self, cut: &Expr) {
        if let Expr::Index(on, places) = cut
            && let (Expr::Name(list), [IndexPlace::Slice(..)]) = (on.as_ref(), places.as_slice())
            && self.holds(list) == Some(Holds::Other)
        {
            self.rebind(list, Holds::Array);
        }
    }

    /// A call of what has one name.
    fn named(&mut self, name: &str, arguments: &[Arg]) -> Option<(String, u8)> {
        let atom = |text: String| Some((text, ATOM));
        match (name, arguments) {
            _ if self.is_free(name) && names::is_elsewhere(name) => return None,
            ("zip", [Arg { spread: true, value, name: None }]) if self.python => {
                return self.transposed(value).map(|text| (text, ATOM));
            }
            // What is cut for it is a list.
            ("zip", parts) => parts.iter().for_each(|part| self.note_list(&part.value)),
            _ if self.applied.contains(name) => return self.of_applied(name, arguments),
            (":=", [name, value]) => return self.assigned_before(&name.value, &value.value),
            _ => {}
        }
        // A variable of the same name stands before it.
        let is_function = !self.python || matches!(self.holds(name), None | Some(Holds::Closure));
        if is_function && self.functions.contains_key(name) {
            let plain = std::mem::take(&mut self.plain);
            if !plain && let Some(found) = self.used_and_given_back(name, arguments) {
                return found;
            }
            let ordered = self.in_order(name, self.holds(name) == Some(Holds::Closure), arguments)?;
            return match self.holds(name) {
                Some(Holds::Closure) => {
                    self.uses(Idiom::CallOfVariable);
                    atom(self.closure_call(name, &ordered))
                }
                _ => atom(format!("{name}({ordered})")),
            };
        }
        // `__call__` of a class of the program's.
        if let Some(found) = self.of_object(name, "__call__", arguments) {
            return atom(found);
        }
        match self.holds(name) {
            Some(Holds::Module) => {
                self.uses(Idiom::Forward);
                let arguments = self.forwarded(name, arguments)?;
                return atom(format!("{name}.forward({arguments})"));
            }
            Some(Holds::Closure) => {
                self.uses(Idiom::CallOfVariable);
                let arguments = self.arguments(arguments)?;
                return atom(format!("{name}.call({arguments})"));
            }
            // A parameter hides a function.
            Some(Holds::Other) if self.python || !names::is_function(name) => {
                let (idiom, method) = self.of_unknown(name, arguments);
                self.uses(idiom);
                let arguments = self.forwarded(name, arguments)?;
                return atom(format!("{name}.{method}({arguments})"));
            }
            _ => {}
        }
        // `from random import randint`
        if let Some((text, idiom)) = self.of_package(&[name.to_owned()], arguments) {
            self.uses(idiom);
            return Some((text, LOOSE));
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
            None if names::is_without(&[name.to_owned()], &self.imports) => return None,
            None => match names::in_module(name) {
                Some(full) => {
                    self.uses(Idiom::Inside);
                    full
                }
                None => name.to_owned(),
            },
        };
        let arguments = self.gathered(&callee, &names::without_idle(&callee, arguments))?;
        let arguments = self.arguments(&arguments)?;
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
    pub(super) fn of_unknown(&self, name: &str, arguments: &[Arg]) -> (Idiom, &'static str) {
        const FUNCTIONS: [&str; 10] =
            ["f", "g", "h", "fn", "func", "function", "callback", "closure", "op", "transform"];
        let plain = |argument: &Arg| !matches!(self.kind(&argument.value), Holds::Tensor | Holds::Other);
        let function = match &self.said.absent {
            Some((absent, given)) if absent == name && !given.contains("Tensor") => true,
            _ => FUNCTIONS.contains(&name.trim_end_matches('_')) || arguments.iter().all(plain),
        };
        if function { (Idiom::CallOfVariable, "call") } else { (Idiom::Forward, "forward") }
    }

    /// Arguments in the order of a function's parameters, with what stands for those between them that are not given;
    /// a closure is given every one (`all`).
    pub(super) fn in_order(&mut self, function: &str, all: bool, arguments: &[Arg]) -> Option<String> {
        let params = self.functions.get(function)?.clone();
        if params.iter().any(|param| param.starts_with('*')) {
            return self.collected(function, &params, arguments);
        }
        if arguments.iter().any(|argument| argument.spread || is_map(argument)) {
            let defaults = self.defaults.get(function).cloned().unwrap_or_default();
            let defaults = defaults.into_iter().chain(std::iter::repeat(None));
            let params: Vec<(String, Option<String>)> = params.into_iter().zip(defaults).collect();
            return match arguments {
                [before @ .., Arg { spread: true, value: rest, name: None }] => {
                    self.spread_over(&params, before, rest)
                }
                arguments => self.by_names(&params, arguments),
            };
        }
        let mut given: Vec<Option<String>> = vec![None; params.len().max(arguments.len())];
        for (at, argument) in arguments.iter().enumerate() {
            let handed = self.handed.len();
            self.note_object(&argument.value);
            if !self.objects.contains(&format!("{function}()")) {
                self.handed.truncate(handed);
            }
            let value = self.expr(&argument.value)?;
            let place = match &argument.name {
                Some(name) => {
                    self.uses(Idiom::Ordered);
                    // One that Rhai keeps for itself has another name.
                    params.iter().position(|param| param == name || param.strip_suffix('_') == Some(name))?
                }
                None => at,
            };
            self.note_argument(function, place, &argument.value);
            *given.get_mut(place)? = Some(value);
        }
        let last = given.iter().rposition(Option::is_some);
        let defaults = self.defaults.get(function).map(Vec::as_slice).unwrap_or_default();
        let mut ordered = Vec::new();
        for (at, value) in given.into_iter().enumerate() {
            let between = last.is_some_and(|last| at < last);
            let default = || defaults.get(at).cloned().flatten().filter(|_| all || between);
            match value.or_else(default) {
                Some(value) => ordered.push(value),
                None if between => return None,
                None => break,
            }
        }
        Some(ordered.join(", "))
    }

    /// Functions that Python has built in.
    fn built_in(&mut self, name: &str, arguments: &[Arg]) -> Option<(String, u8)> {
        let plain =
            arguments.iter().filter(|argument| argument.name.is_none()).map(|argument| &argument.value);
        let plain: Vec<&Expr> = plain.collect();
        let (idiom, text) = match (name, plain.as_slice()) {
            ("print", _) => return self.print(arguments),
            ("str", [of]) if let Some(message) = self.message(of) => (Idiom::Str, message),
            ("len", [of])
                if !self.kin.is_empty()
                    && let Some(text) = self.length_of(of) =>
            {
                (Idiom::Object, text)
            }
            ("repr", [of]) if let Some(text) = self.dunder(of, "__repr__", &[]) => (Idiom::Object, text),
            ("str" | "repr", [of])
                if !self.kin.is_empty()
                    && let Some(text) = self.as_text(of) =>
            {
                (Idiom::Object, text)
            }
            ("str", [of]) => (Idiom::Str, format!("{}.to_string()", self.on(of)?)),
            ("int", [of]) if is_environment(of) => return self.written(of),
            // They cast numbers and texts as Python's do.
            ("int" | "float", [of @ Expr::Number(_)]) => {
                return Some((format!("{name}({})", self.expr(of)?), ATOM));
            }
            ("int" | "float", [of @ Expr::Text(text)]) if text.contains(|c: char| c.is_ascii_digit()) => {
                return Some((format!("{name}({})", self.expr(of)?), ATOM));
            }
            ("int" | "float", [of]) => (Idiom::Number, self.numeric(name, of)?),
            ("round", [of]) if self.python && self.kind(of) != Holds::Tensor => {
                return Some((self.rounded("round", of)?.0, ATOM));
            }
            ("isinstance", [of, class]) if let Some(test) = self.is_error_of(of, class) => {
                (Idiom::Type, test)
            }
            ("isinstance", [of, class]) => (Idiom::Type, self.is_instance(of, class)?),
            ("type", [of]) => (Idiom::Type, self.type_of(of)?),
            ("issubclass", [class, base]) => (Idiom::Type, self.is_derived(class, base)?),
            ("tuple", [of]) => (Idiom::List, format!("list({})", self.expr(of)?)),
            ("list" | "tuple", []) => (Idiom::List, "[]".into()),
            ("dict", []) => (Idiom::Dict, self.map_of(arguments)?),
            ("dict", [of]) if arguments.len() > 1 => {
                let named: Vec<Arg> = arguments.iter().filter(|own| own.name.is_some()).cloned().collect();
                (Idiom::Dict, format!("({} + {})", self.bound(of, 150)?, self.map_of(&named)?))
            }
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

    /// `dict(a=1, **rest)`
    pub(super) fn map_of(&mut self, arguments: &[Arg]) -> Option<String> {
        let is_spread = |argument: &&Arg| argument.name.as_deref() == Some("**");
        let mut parts = Vec::new();
        for one in arguments.iter().filter(is_spread) {
            parts.push(self.bound(&one.value, 150)?);
        }
        let mut pairs = Vec::new();
        for one in arguments.iter().filter(|argument| !is_spread(argument)) {
            pairs.push(format!("{}: {}", one.name.as_deref()?, self.expr(&one.value)?));
        }
        if !pairs.is_empty() || parts.is_empty() {
            parts.push(format!("#{{{}}}", pairs.join(", ")));
        }
        Some(match parts.as_slice() {
            [one] => one.clone(),
            all => format!("({})", all.join(" + ")),
        })
    }

    /// Where it is written to is no option here.
    fn print(&mut self, arguments: &[Arg]) -> Option<(String, u8)> {
        let kept =
            |argument: &&Arg| argument.name.as_deref().is_none_or(|name| matches!(name, "sep" | "end"));
        let kept: Vec<Arg> = arguments.iter().filter(kept).cloned().collect();
        if kept.len() < arguments.len() {
            self.uses(Idiom::PrintEnd);
        }
        if kept.iter().any(|argument| argument.spread) {
            return self.print_each(&kept).map(|text| (text, ATOM));
        }
        kept.iter().for_each(|argument| self.mark_shown(&argument.value));
        let mut told = |argument: Arg| match self.message(&argument.value) {
            Some(message) => Arg { value: Expr::Rhai(message), ..argument },
            None => match self.as_text(&argument.value) {
                Some(text) => Arg { value: Expr::Rhai(text), ..argument },
                None => argument,
            },
        };
        let mut kept: Vec<Arg> = kept.into_iter().map(&mut told).collect();
        // A map alone would be what is printed.
        if kept.first().is_some_and(|first| first.name.is_some()) {
            kept.insert(0, Arg { name: None, spread: false, value: Expr::Text("\"\"".into()) });
        }
        Some((format!("print({})", self.arguments(&kept)?), ATOM))
    }

    pub(super) fn numeric(&mut self, name: &str, of: &Expr) -> Option<String> {
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
            // A text that is no number is an error of values there.
            Holds::Other if self.tried && self.python => Some(format!("{name}({})", self.expr(of)?)),
            _ if reduces(of) => Some(format!("{}.item().to_{name}()", self.on(of)?)),
            _ => Some(format!("{}.to_{name}()", self.on(of)?)),
        }
    }

    /// What a method is called on; numbers and ranges in brackets.
    pub(super) fn on(&mut self, value: &Expr) -> Option<String> {
        let text = self.bound(value, ATOM)?;
        Some(if text.starts_with(|c: char| c.is_ascii_digit()) { format!("({text})") } else { text })
    }
}

/// Whether a value is what a tensor's numbers come to, such as `t.sum()`.
fn reduces(value: &Expr) -> bool {
    const NAMES: [&str; 12] =
        ["sum", "mean", "std", "var", "norm", "prod", "max", "min", "argmax", "argmin", "median", "trace"];
    matches!(value, Expr::Call(callee, given) if given.is_empty()
        && matches!(callee.as_ref(), Expr::Attr(_, name) if NAMES.contains(&name.as_str())))
}
