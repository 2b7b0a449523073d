//! Division: Python's `/` gives a fraction of integers as well, and `//` a whole number.

use super::book::Idiom;
use super::tree::{Arg, Expr};
use super::writer::{ATOM, Holds, UNARY, Writer, binds};

/// Methods that give a tensor, or a number with a point, whatever has them.
const OF_TENSORS: [&str; 50] = [
    "float",
    "double",
    "half",
    "exp",
    "log",
    "log2",
    "log10",
    "sqrt",
    "rsqrt",
    "softmax",
    "log_softmax",
    "sigmoid",
    "tanh",
    "relu",
    "clone",
    "detach",
    "to",
    "view",
    "reshape",
    "permute",
    "transpose",
    "unsqueeze",
    "squeeze",
    "matmul",
    "mm",
    "bmm",
    "clamp",
    "pow",
    "long",
    "flatten",
    "expand",
    "repeat",
    "cuda",
    "cpu",
    "t",
    "abs",
    "square",
    "sum",
    "mean",
    "std",
    "var",
    "norm",
    "cumsum",
    "clamp_min",
    "masked_fill",
    "diag",
    "view_as",
    "type_as",
    "sin",
    "cos",
];

impl Writer<'_> {
    /// `a / b`: where both may be integers, one is made a number with a point.
    pub(super) fn quotient(&mut self, a: &Expr, b: &Expr) -> Option<(String, u8)> {
        let level = binds("/");
        if self.whole || !self.may_be_whole(a) || !self.may_be_whole(b) {
            return Some((format!("{} / {}", self.bound(a, level)?, self.bound(b, level + 1)?), level));
        }
        self.pointed |= self.python;
        let text = match (a, b) {
            // An error in both.
            (_, Expr::Number(zero)) if zero == "0" => format!("{} / 0", self.bound(a, level)?),
            (_, Expr::Number(whole)) => format!("{} / {whole}.0", self.bound(a, level)?),
            (_, Expr::Binary("**", base, power)) if let Some(all) = raised(base, power) => {
                format!("{} / {all}.0", self.bound(a, level)?)
            }
            (Expr::Number(whole), _) => format!("{whole}.0 / {}", self.bound(b, level + 1)?),
            _ => format!("1.0 * {} / {}", self.bound(a, level + 1)?, self.bound(b, level + 1)?),
        };
        Some((text, level))
    }

    /// `a % b`, which has the sign of `b` in Python.
    pub(super) fn remainder(&mut self, a: &Expr, b: &Expr) -> Option<(String, u8)> {
        self.pointed = true;
        if let (Some(a), Some(b)) = (whole_of(a), whole_of(b).filter(|b| *b > 0)) {
            return Some((a.rem_euclid(b).to_string(), ATOM));
        }
        let (a, b) = (self.bound(a, binds("%"))?, self.bound(b, binds("%") + 1)?);
        Some((format!("({a} % {b} + {b}) % {b}"), binds("%")))
    }

    /// `a /= b`, which changes a tensor in its place.
    pub(super) fn divided_in_place(&mut self, target: &Expr, value: &Expr) -> Option<String> {
        let guarded = !self.whole && self.may_be_whole(target) && self.may_be_whole(value);
        self.pointed |= self.python && guarded;
        let (on, text) = (self.expr(target)?, self.bound(value, binds("/") + 1)?);
        if let (true, Expr::Name(name)) = (guarded, target)
            && self.holds(name) == Some(Holds::Int)
        {
            self.rebind(name, Holds::Float);
        }
        Some(match value {
            Expr::Number(whole) if guarded && whole != "0" => format!("{on} /= {whole}.0;"),
            _ if guarded => format!("{on} /= 1.0 * {text};"),
            value => format!("{on} /= {};", self.expr(value)?),
        })
    }

    /// `a // b`
    pub(super) fn floored(&mut self, a: &Expr, b: &Expr) -> Option<(String, u8)> {
        self.uses(Idiom::Floor);
        let level = binds("/");
        if self.is_given_tensors(a) {
            return Some((format!("{}.floor_divide({})", self.on(a)?, self.expr(b)?), ATOM));
        }
        let whole = |holds: Holds| !matches!(holds, Holds::Tensor | Holds::Float);
        let integers = whole(self.kind(a)) && whole(self.kind(b));
        let unclear = [a, b].into_iter().any(|side| {
            self.may_be_negative(side)
                || is_computed(side)
                || self.python && matches!(side, Expr::Name(_)) && self.kind(side) == Holds::Other
        });
        // What waits for a division by zero has to meet one.
        if integers && unclear && !self.whole {
            let (text, power) = self.quotient_with_point(a, b)?;
            let text = if power == ATOM { text } else { format!("({text})") };
            return Some((format!("{text}.floor().to_int()"), ATOM));
        }
        let text = format!("{} / {}", self.bound(a, level)?, self.bound(b, level + 1)?);
        if integers {
            return Some((text, level));
        }
        Some(match (self.kind(a), self.kind(b)) {
            (Holds::Tensor, _) => (format!("{}.floor_divide({})", self.on(a)?, self.expr(b)?), ATOM),
            (_, Holds::Tensor) => (format!("floor_divide({}, {})", self.expr(a)?, self.expr(b)?), ATOM),
            _ => (format!("({text}).floor()"), ATOM),
        })
    }

    /// `~a`: of an integer the one that has the other bits.
    pub(super) fn inverted(&mut self, of: &Expr) -> Option<(String, u8)> {
        if self.kind(of) == Holds::Int {
            self.pointed = true;
            return Some((format!("(-{} - 1)", self.bound(of, 190)?), ATOM));
        }
        Some((format!("!{}", self.bound(of, UNARY)?), UNARY))
    }

    /// A quotient that has a point, whatever the program is waiting for.
    fn quotient_with_point(&mut self, a: &Expr, b: &Expr) -> Option<(String, u8)> {
        let whole = std::mem::replace(&mut self.whole, false);
        let text = self.quotient(a, b);
        self.whole = whole;
        text
    }

    /// A number as one with a point, which is what rounding takes.
    pub(super) fn with_point(&mut self, value: &Expr) -> Option<String> {
        match value {
            Expr::Number(whole) if self.kind(value) == Holds::Int => Some(format!("{whole}.0")),
            value if self.may_be_whole(value) => {
                Some(format!("1.0 * {}", self.bound(value, binds("*") + 1)?))
            }
            value => self.expr(value),
        }
    }

    /// `math.ceil(x)` and its like, which give an integer.
    pub(super) fn rounded(&mut self, name: &str, of: &Expr) -> Option<(String, Idiom)> {
        self.pointed = true;
        if self.kind(of) == Holds::Int {
            return Some((self.expr(of)?, Idiom::Library));
        }
        Some((format!("{name}({}).to_int()", self.with_point(of)?), Idiom::Library))
    }

    /// Whether a value may be an integer: in code of Rhai's only one that is known to be.
    fn may_be_whole(&self, value: &Expr) -> bool {
        match self.kind(value) {
            Holds::Int => true,
            Holds::Other => self.python && !self.has_point(value),
            // A field of which nothing is known.
            Holds::Module => match value {
                Expr::Attr(_, name) => self.python && self.guessed.contains(&format!("self.{name}")),
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether the form of a value shows that it is a tensor or has a point.
    fn has_point(&self, value: &Expr) -> bool {
        if matches!(self.kind(value), Holds::Tensor | Holds::Float) {
            return true;
        }
        match value {
            Expr::Unary("-", of) => self.has_point(of),
            Expr::Binary("/", ..) => true,
            Expr::Binary("+" | "-" | "*" | "@" | "%", a, b) => self.has_point(a) || self.has_point(b),
            Expr::Binary("**", a, b) => self.has_point(a) || self.has_point(b),
            Expr::Ternary(a, _, b) => self.has_point(a) && self.has_point(b),
            Expr::Index(on, _) => self.kind(on) == Holds::Tensor,
            Expr::Attr(_, name) => matches!(name.as_str(), "grad" | "T" | "mT"),
            Expr::Call(callee, _) => match callee.as_ref() {
                Expr::Attr(_, name) => OF_TENSORS.contains(&name.as_str()),
                _ => false,
            },
            _ => false,
        }
    }
}

/// Whether a value comes of a call, whose numbers may have a point.
fn is_computed(value: &Expr) -> bool {
    const WHOLE: [&str; 6] = ["len", "int", "size", "numel", "dim", "get_world_size"];
    match value {
        Expr::Call(callee, _) => match callee.as_ref() {
            Expr::Name(name) | Expr::Attr(_, name) => !WHOLE.contains(&name.as_str()),
            _ => true,
        },
        Expr::Unary(_, of) => is_computed(of),
        Expr::Binary("/", ..) => true,
        Expr::Binary(_, a, b) => is_computed(a) || is_computed(b),
        _ => false,
    }
}

/// An integer that is written out.
fn whole_of(value: &Expr) -> Option<i64> {
    match value {
        Expr::Number(whole) => whole.parse().ok(),
        Expr::Unary("-", of) => whole_of(of)?.checked_neg(),
        _ => None,
    }
}

/// A whole power of numbers: `1024 ** 2`.
fn raised(base: &Expr, power: &Expr) -> Option<i64> {
    let (Expr::Number(base), Expr::Number(power)) = (base, power) else { return None };
    base.parse::<i64>().ok()?.checked_pow(power.parse().ok()?)
}

/// What Python has built in for numbers gives, where none of them is imported from elsewhere.
pub(super) fn kind_of_built_in(name: &str, given: &[Arg], kinds: &[Holds]) -> Option<Holds> {
    let all = |holds: Holds| !kinds.is_empty() && kinds.iter().all(|kind| *kind == holds);
    Some(match name {
        "int" => Holds::Int,
        "float" => Holds::Float,
        "round" if given.len() == 1 && kinds.first() != Some(&Holds::Tensor) => Holds::Int,
        "max" | "min" | "abs" | "pow" | "sum" | "round" => {
            let scalar = name != "sum" && (given.len() > 1 || name == "abs" || name == "round");
            match scalar {
                true if all(Holds::Int) => Holds::Int,
                true if kinds.contains(&Holds::Tensor) => Holds::Tensor,
                true if all(Holds::Float) || name == "pow" && kinds.contains(&Holds::Float) => Holds::Float,
                false if name != "sum" && all(Holds::Tensor) => Holds::Tensor,
                _ => Holds::Other,
            }
        }
        _ => return None,
    })
}
