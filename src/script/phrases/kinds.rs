//! What a value is, as far as its form tells.

use super::division::kind_of_built_in;
use super::names;
use super::tree::{Arg, Expr, IndexPlace};
use super::writer::{Holds, Writer};

/// What gives integers that are never below 0.
const COUNTS: [&str; 10] = [
    "len",
    "numel",
    "nelement",
    "element_size",
    "device_count",
    "memory_allocated",
    "max_memory_allocated",
    "memory_reserved",
    "max_memory_reserved",
    "get_world_size",
];

/// Methods of texts that give one.
const OF_TEXTS: [&str; 11] = [
    "lower",
    "upper",
    "strip",
    "lstrip",
    "rstrip",
    "replace",
    "capitalize",
    "title",
    "zfill",
    "rjust",
    "ljust",
];

impl Writer<'_> {
    /// What a variable holds that is given a value.
    pub(super) fn kept(&self, value: &Expr) -> Holds {
        match self.kind(value) {
            Holds::Int if self.may_be_negative(value) => Holds::Negative,
            Holds::Array | Holds::Other if self.is_tuple(value) => Holds::Tuple,
            Holds::Array | Holds::Other if self.is_set(value) => Holds::Set,
            holds => holds,
        }
    }

    /// Whether the place of an item may be a tensor: it is one, or what gives it may give one.
    pub(super) fn may_be_tensor(&self, at: &Expr) -> bool {
        let gives = |name: &str| matches!(name, "argmax" | "argmin" | "squeeze" | "view" | "detach" | "cpu");
        match at {
            _ if !self.python => false,
            _ if self.kind(at) == Holds::Tensor => true,
            Expr::Index(..) => self.kind(at) == Holds::Other,
            Expr::Call(callee, _) => matches!(callee.as_ref(), Expr::Attr(_, name) if gives(name)),
            _ => false,
        }
    }

    /// Whether an integer shows that it may be below 0.
    pub(super) fn may_be_negative(&self, value: &Expr) -> bool {
        match value {
            Expr::Unary(sign, _) => *sign == "-",
            Expr::Binary("-", ..) => true,
            Expr::Binary("+" | "*" | "//", a, b) => self.may_be_negative(a) || self.may_be_negative(b),
            Expr::Name(name) => self.noted(name) == Some(Holds::Negative),
            _ => false,
        }
    }

    /// Whether a list or a dictionary is of functions alone.
    pub(super) fn is_of_functions(&self, value: &Expr) -> bool {
        let is = |value: &Expr| self.kind(value) == Holds::Closure;
        match value {
            Expr::List(items) | Expr::Tuple(items) => !items.is_empty() && items.iter().all(is),
            Expr::Dict(pairs) => !pairs.is_empty() && pairs.iter().all(|(_, value)| is(value)),
            _ => false,
        }
    }

    /// What a value is, as far as its form tells.
    pub(super) fn kind(&self, value: &Expr) -> Holds {
        let at = std::ptr::from_ref(value).addr();
        if let Some(kind) = self.asked.known(at) {
            return kind;
        }
        self.asked.deeper(1);
        let kind = self.told_by_form(value);
        self.asked.deeper(-1);
        self.asked.keep(at, kind);
        kind
    }

    fn told_by_form(&self, value: &Expr) -> Holds {
        match value {
            Expr::Name(name) => self.holds(name).unwrap_or(Holds::Other),
            Expr::Number(text) if text.contains(['.', 'e']) && !text.starts_with("0x") => Holds::Float,
            Expr::Number(_) => Holds::Int,
            Expr::Text(_) => Holds::Text,
            Expr::List(_) | Expr::Tuple(_) | Expr::Comprehension(_, None, _) => Holds::Array,
            Expr::Dict(_) | Expr::Map(_) | Expr::Comprehension(_, Some(_), _) => Holds::Map,
            Expr::Lambda(..) | Expr::LambdaWith(..) => Holds::Closure,
            Expr::Rhai(text) if text.starts_with('|') => Holds::Closure,
            Expr::Unary(_, of) => self.kind(of),
            Expr::Binary("+" | "++" | "*" | "%", text, _) if self.kind(text) == Holds::Text => Holds::Text,
            Expr::Binary("*", items, _) if matches!(items.as_ref(), Expr::List(_)) => Holds::Array,
            // Python divides integers as numbers with a point.
            Expr::Binary("/", a, b)
                if self.python && self.kind(a) == Holds::Int && self.kind(b) == Holds::Int =>
            {
                Holds::Float
            }
            Expr::Binary(_, a, b) => match (self.kind(a), self.kind(b)) {
                (Holds::Tensor, _) | (_, Holds::Tensor) => Holds::Tensor,
                (Holds::Float, _) | (_, Holds::Float) => Holds::Float,
                (a, b) if a == b => a,
                _ => Holds::Other,
            },
            Expr::Call(callee, given) => match self.kind_of_size(callee, given.len()) {
                Some(holds) => holds,
                None => match self.kind_of_number(callee, given).unwrap_or_else(|| self.kind_of_call(callee))
                {
                    Holds::Other if self.known_of_call(callee, "") == Holds::Map => Holds::Map,
                    holds => holds,
                },
            },
            Expr::Index(on, places) if matches!(on.as_ref(), Expr::Attr(_, name) if name == "shape") => {
                if matches!(places.as_slice(), [IndexPlace::One(_)]) { Holds::Int } else { Holds::Array }
            }
            Expr::Index(on, places) if self.is_array_at(on, places) => Holds::Array,
            Expr::Index(on, _) if let Some(default) = self.standing_of(on) => kind_of_default(&default),
            Expr::Index(on, _) if self.kind(on) == Holds::Tensor => Holds::Tensor,
            // A part of a list is a list.
            Expr::Index(on, places)
                if matches!(places.as_slice(), [IndexPlace::Slice(..)])
                    && matches!(self.kind(on), Holds::Array | Holds::Text) =>
            {
                self.kind(on)
            }
            // A part of a list or a dictionary of modules.
            Expr::Index(on, places)
                if matches!(places.as_slice(), [IndexPlace::One(_)]) && self.kind(on) == Holds::Module =>
            {
                Holds::Module
            }
            Expr::Attr(..) if self.is_handed(value) => Holds::Closure,
            Expr::Attr(on, name) if self.is_bound_method(on, name) => Holds::Closure,
            Expr::Attr(_, name) if name == "__name__" => Holds::Text,
            Expr::Attr(_, name) if name == "ndim" => Holds::Int,
            Expr::Attr(_, name) if name == "total_memory" => Holds::Int,
            Expr::Attr(on, name) if matches!(on.as_ref(), Expr::Name(on) if on == "self") => {
                self.holds(&format!("self.{name}")).unwrap_or(Holds::Other)
            }
            Expr::Attr(on, name) => {
                let class = place(on).and_then(|on| self.class_at(&on));
                let field = class.and_then(|class| self.fields.get(class)).and_then(|all| all.get(name));
                field.map_or(Holds::Other, |(holds, _)| holds.plain())
            }
            _ => Holds::Other,
        }
    }

    /// Notes which parts of a dictionary or a list are lists themselves.
    pub(super) fn note_arrays(&mut self, own: &str, value: &Expr) {
        let within = format!("{own}[");
        self.arrays.retain(|place| !place.starts_with(&within));
        match value {
            Expr::Dict(pairs) => {
                for (key, value) in pairs {
                    if let (Some(key), Holds::Array) = (text_of(key), self.kind(value)) {
                        self.arrays.insert(format!("{own}[{key}]"));
                    }
                }
                if !pairs.is_empty() && pairs.iter().all(|(_, value)| self.kind(value) == Holds::Array) {
                    self.arrays.insert(format!("{own}[]"));
                }
            }
            Expr::List(items)
                if !items.is_empty() && items.iter().all(|item| self.kind(item) == Holds::Array) =>
            {
                self.arrays.insert(format!("{own}[]"));
            }
            Expr::Comprehension(item, ..) if self.kind(item) == Holds::Array => {
                self.arrays.insert(format!("{own}[]"));
            }
            _ => {}
        }
    }

    /// Whether a part of a dictionary or a list is known to be a list.
    fn is_array_at(&self, on: &Expr, places: &[IndexPlace]) -> bool {
        let ([IndexPlace::One(key)], Some(on)) = (places, place(on)) else { return false };
        let named = text_of(key).is_some_and(|key| self.arrays.contains(&format!("{on}[{key}]")));
        named || self.arrays.contains(&format!("{on}[]"))
    }

    /// The class that a value is made of: `Net` of `Net(3).to("cuda")`.
    pub(super) fn class_of<'v>(&self, value: &'v Expr) -> Option<&'v str> {
        let Expr::Call(callee, _) = value else { return None };
        match callee.as_ref() {
            Expr::Name(name) => Some(name),
            Expr::Attr(on, _) => self.class_of(on),
            _ => None,
        }
    }

    /// What methods give that tell of a tensor's form or values.
    fn kind_of_size(&self, callee: &Expr, given: usize) -> Option<Holds> {
        let Expr::Attr(on, name) = callee else { return None };
        match (name.as_str(), given) {
            ("size" | "stride", 1) | ("dim" | "ndimension", 0) => Some(Holds::Int),
            ("tolist", 0) => Some(Holds::Array),
            (name, _) if OF_TEXTS.contains(&name) && self.kind(on) == Holds::Text => Some(Holds::Text),
            ("join", 1) if self.kind(on) == Holds::Text => Some(Holds::Text),
            // Nothing else has these.
            ("sum" | "mean" | "std" | "var" | "norm" | "prod", 0)
                if !matches!(self.kind(on), Holds::Array | Holds::Map) && self.path(callee).is_none() =>
            {
                Some(Holds::Tensor)
            }
            ("item" | "equal" | "allclose" | "is_contiguous" | "size" | "stride" | "backward", _)
                if self.kind(on) == Holds::Tensor =>
            {
                Some(Holds::Other)
            }
            _ => None,
        }
    }

    /// What functions of numbers give: Python's own, and those of `math`.
    fn kind_of_number(&self, callee: &Expr, given: &[Arg]) -> Option<Holds> {
        let path = self.path(callee)?;
        let full = names::full(&path, &self.imports);
        if let Some(name) = full.as_deref().and_then(|full| full.strip_prefix("math.")) {
            return Some(if matches!(name, "ceil" | "floor") { Holds::Int } else { Holds::Float });
        }
        let [name] = path.as_slice() else { return None };
        (self.python && full.is_none() && !self.functions.contains_key(name)).then_some(())?;
        let kinds: Vec<Holds> = given.iter().map(|argument| self.kind(&argument.value)).collect();
        kind_of_built_in(name, given, &kinds)
    }

    fn kind_of_call(&self, callee: &Expr) -> Holds {
        let name = match callee {
            Expr::Path(on, name) => match on.as_ref() {
                Expr::Name(on) => format!("{on}::{name}"),
                _ => return Holds::Other,
            },
            Expr::Name(name) | Expr::Attr(_, name) if COUNTS.contains(&name.as_str()) => return Holds::Int,
            Expr::Attr(on, _) if self.kind(on) == Holds::Tensor => return Holds::Tensor,
            Expr::Attr(on, name) if self.kind(on) == Holds::Module => {
                let same =
                    matches!(name.as_str(), "to" | "cuda" | "cpu" | "half" | "float" | "eval" | "train");
                return if same { Holds::Module } else { Holds::Other };
            }
            // What a network gives, other than one with a state.
            Expr::Name(name) if self.holds(name) == Some(Holds::Module) => {
                const WITH_STATE: [&str; 4] = ["lstm", "gru", "rnn", "att"];
                let name = name.to_lowercase();
                let several = WITH_STATE.iter().any(|part| name.contains(part));
                return if several { Holds::Other } else { Holds::Tensor };
            }
            Expr::Name(name) if self.holds(&format!("{name}()")).is_some() => return Holds::Module,
            // The program's own, whatever PyTorch has of that name.
            Expr::Name(name) if self.python && self.functions.contains_key(name) => return Holds::Other,
            callee => match self.path(callee) {
                Some(path) => match names::resolved(&path, &self.imports) {
                    Some((name, _)) => name,
                    None => path.concat(),
                },
                None => return Holds::Other,
            },
        };
        match name.as_str() {
            "nn::Parameter" => Holds::Tensor,
            // Their parts are no modules.
            "nn::ParameterList" | "nn::ParameterDict" => Holds::Other,
            name if names::OLD_TENSORS.iter().any(|(old, _)| *old == name) => Holds::Tensor,
            "list" | "sorted" | "reversed" | "tuple" | "set" => Holds::Array,
            "deque" if self.python => Holds::Array,
            "str" if self.python => Holds::Text,
            "dict" | "defaultdict" | "Counter" => Holds::Map,
            name if name.starts_with("nn::") && !name.starts_with("nn::utils") => Holds::Module,
            name if names::in_module(name).is_some_and(|full| full.starts_with("nn::")) => Holds::Module,
            "device" | "load" | "print" | "manual_seed" => Holds::Other,
            name if names::makes_tensor(name) => Holds::Tensor,
            _ => Holds::Other,
        }
    }
}

/// What the value is that stands for what a dictionary does not have.
fn kind_of_default(default: &str) -> Holds {
    match default {
        "#{}" => Holds::Map,
        "0.0" => Holds::Float,
        _ => Holds::Other,
    }
}

/// A text in double quotes.
fn text_of(key: &Expr) -> Option<String> {
    let Expr::Text(raw) = key else { return None };
    Some(format!("\"{}\"", raw.trim_matches(['"', '\''])))
}

/// Names with points between them: `model.encoder`.
pub(super) fn place(value: &Expr) -> Option<String> {
    match value {
        Expr::Name(name) => Some(name.clone()),
        Expr::Attr(on, name) => Some(format!("{}.{name}", place(on)?)),
        _ => None,
    }
}
