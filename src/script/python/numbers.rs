//! Division and what remains: of whole numbers both go towards zero here, and Python's go down.

use super::names::of_tensor;
use super::stand_ins::StandIn;
use super::tree::Expr;
use super::writer::{PythonWriter, Type};

const PRODUCT: u8 = 10;
const ATOM: u8 = 14;

/// Fields of tensors and times that are no whole numbers, and such that are.
const REAL_FIELDS: [&str; 6] = ["grad", "data", "T", "mT", "median_ms", "elapsed"];
const WHOLE_FIELDS: [&str; 3] = ["nbytes", "ndim", "itemsize"];
/// Methods that count something, none of which is below 0.
const COUNTS: [&str; 4] = ["len", "numel", "dim", "nelement"];

impl PythonWriter {
    /// `a / b` or `a % b`.
    pub(super) fn divided(&mut self, sign: &str, a: &Expr, b: &Expr) -> (String, u8) {
        let how = self.division(sign, a, b);
        match how {
            Division::StandIn(needed) => {
                let (of, by) = (self.expr(a), self.expr(b));
                // Nothing need stand in where the statement is left out.
                let name =
                    if self.lost.part && self.leaves_out { needed.name() } else { self.stand_in(needed) };
                (format!("{name}({of}, {by})"), ATOM)
            }
            Division::Truncated => {
                let (a, b) = (self.bound(a, PRODUCT), self.bound(b, PRODUCT + 1));
                (format!("int({a} / {b})"), ATOM)
            }
            Division::Floats => {
                self.imports.insert("import math");
                (format!("math.fmod({}, {})", self.expr(a), self.expr(b)), ATOM)
            }
            Division::Sign(sign) => {
                let (a, b) = (self.bound(a, PRODUCT), self.bound(b, PRODUCT + 1));
                (format!("{a} {sign} {b}"), PRODUCT)
            }
        }
    }

    /// The line of `a /= b` or `a %= b`.
    pub(super) fn divide_by(&mut self, sign: &str, target: &Expr, value: &Expr) -> String {
        let how = match self.division(sign, target, value) {
            // A tensor is divided where it lies.
            Division::StandIn(StandIn::Div) if self.type_of(target) != Type::Int => {
                Division::StandIn(StandIn::DivIn)
            }
            how => how,
        };
        let (target, value) = (self.expr(target), self.expr(value));
        match how {
            Division::StandIn(needed) => format!("{target} = {}({target}, {value})", self.stand_in(needed)),
            Division::Truncated => format!("{target} = int({target} / ({value}))"),
            Division::Floats => {
                self.imports.insert("import math");
                format!("{target} = math.fmod({target}, {value})")
            }
            Division::Sign(sign) => format!("{target} {sign}= {value}"),
        }
    }

    fn division(&self, sign: &str, a: &Expr, b: &Expr) -> Division {
        let (of, by) = (self.type_of(a), self.type_of(b));
        let real = |of: Type| matches!(of, Type::Float | Type::Real);
        let number = |of: Type| matches!(of, Type::Float | Type::Int);
        let whole = of == Type::Int && by == Type::Int;
        let below = || self.may_be_negative(a) || self.may_be_negative(b);
        match sign {
            _ if of == Type::Tensor || by == Type::Tensor || of == Type::Absent => {
                Division::Sign(if sign == "/" { "/" } else { "%" })
            }
            "/" if whole && below() => Division::Truncated,
            "/" if whole => Division::Sign("//"),
            "/" if real(of) || real(by) => Division::Sign("/"),
            "/" => Division::StandIn(StandIn::Div),
            _ if whole && !below() => Division::Sign("%"),
            _ if number(of) && number(by) && !whole => Division::Floats,
            _ => Division::StandIn(StandIn::Rem),
        }
    }

    /// Whether a whole number may be below 0, as far as is known.
    pub(super) fn may_be_negative(&self, value: &Expr) -> bool {
        may_be_negative(value, &self.names.negative)
    }

    /// What is known of a value that is none of a kind that is looked at elsewhere.
    pub(super) fn kind_of(&self, value: &Expr) -> Type {
        match value {
            Expr::Field(on, _) if self.type_of(on) == Type::Map => Type::Other,
            Expr::Field(_, name) if REAL_FIELDS.contains(&name.as_str()) => Type::Real,
            Expr::Field(_, name) if WHOLE_FIELDS.contains(&name.as_str()) => Type::Int,
            Expr::Method(_, name, _) if name == "forward" || of_tensor(name) => Type::Real,
            Expr::Call(callee, _) => match callee.as_ref() {
                Expr::Path(path) if path.len() == 2 && path.first().is_some_and(|space| space == "F") => {
                    Type::Real
                }
                Expr::Path(path) if counts(path) => Type::Int,
                _ => Type::Other,
            },
            _ => Type::Other,
        }
    }
}

/// How a division is written.
enum Division {
    Sign(&'static str),
    /// Of whole numbers, one of which may be below 0.
    Truncated,
    /// What remains of floats.
    Floats,
    StandIn(StandIn),
}

/// Whether a whole number may be below 0 where some names may be.
pub(super) fn may_be_negative(value: &Expr, names: &[String]) -> bool {
    match value {
        Expr::Number(text) => text.starts_with('-'),
        Expr::Path(path) => path.last().is_none_or(|name| names.contains(name)),
        Expr::Binary(sign, a, b) => sign == "-" || may_be_negative(a, names) || may_be_negative(b, names),
        Expr::Method(_, name, _) => !COUNTS.contains(&name.as_str()),
        Expr::Index(on, _) | Expr::Range(on, ..) => {
            !matches!(on.as_ref(), Expr::Field(_, name) if name == "shape") && may_be_negative(on, names)
        }
        Expr::Field(_, name) => !WHOLE_FIELDS.contains(&name.as_str()),
        Expr::Bool(_) | Expr::Text(_) => false,
        Expr::Call(callee, given) => {
            let path = if let Expr::Path(path) = callee.as_ref() { path.as_slice() } else { &[] };
            let is_one = path.last().is_some_and(|name| name == "len" || name == "max");
            !counts(path)
                && (!is_one || given.is_empty() || given.iter().all(|value| may_be_negative(value, names)))
        }
        _ => true,
    }
}

/// Whether a function of a module counts bytes or devices.
fn counts(path: &[String]) -> bool {
    const NAMES: [&str; 5] = [
        "memory_allocated",
        "memory_reserved",
        "max_memory_allocated",
        "max_memory_reserved",
        "device_count",
    ];
    path.len() == 2 && path.last().is_some_and(|name| NAMES.contains(&name.as_str()))
}
