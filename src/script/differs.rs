//! What runs as in Python and means something else: told of once in a session, of divisions once for a line.
//!
//! Integers that divide are looked at where they do, in the wrappers of [`direct`](super::direct) and in one of the same
//! kind for other operands; `//` and chained comparisons are seen in the code before it runs.

use std::sync::Arc;

use rhai::{
    AST, ASTNode, BinaryExpr, Dynamic, Engine, EvalContext, Expr, Expression, FnCallExpr, INT, Position, Stmt,
};

use crate::base::event::HIDDEN_CELLS;
use crate::base::python;
use crate::device::MapOp;
use crate::device::Shared;
use crate::device::shared::{CodePlace, NO_VALUES};
use crate::script::custom::{METHOD, NOTED_LINE, custom};
use crate::tensor::Tensor;

use super::calling::is_calling;
use super::carry;
use super::custom::lying;
use super::fault::RhaiResult;
use super::lexer::{self, Kind};
use super::ordered::unordered;
use super::silent::{self, Unlike};

/// The key of a wrapped division: no text of a script is read as this token.
const DIVISION: &str = "\u{f}";

/// The key of a divisor in `a /= b` and `a %= b`, behind what it divides: no text of a script is read as this token.
const DIVISOR: &str = "\u{1c}";

/// The key of a wrapped comparison: no text of a script is read as this token.
const COMPARISON: &str = "\u{1a}";

/// Comparisons, and what they do.
pub(super) const COMPARISONS: [(&str, MapOp); 6] = [
    ("<", MapOp::Lt),
    ("<=", MapOp::Le),
    (">", MapOp::Gt),
    (">=", MapOp::Ge),
    ("==", MapOp::Eq),
    ("!=", MapOp::Ne),
];

/// The first of [`COMPARISONS`] ask for an order.
const ORDERS: usize = 4;

/// What is told of once each.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(super) enum Difference {
    Chain,
    Device,
    OldAutocast,
    OldScaler,
    Pairs,
    Append,
    InPlace,
    ForEach,
}

const _: () = assert!((Difference::ForEach as u8) < NO_VALUES);

/// Tells of a difference, the first time.
pub(super) fn tell(shared: &Shared, difference: Difference, text: impl FnOnce() -> String) {
    if is_learners(shared) && shared.is_first(difference as u8) {
        shared.warn(&text());
    }
}

/// Whether it is the learner's code that runs, and not what a lesson runs by itself.
fn is_learners(shared: &Shared) -> bool {
    shared.source().cell < HIDDEN_CELLS || is_calling()
}

/// Teaches the engine to evaluate what [`wrap`] makes.
pub(crate) fn register(engine: &mut Engine, shared: &Arc<Shared>) {
    if shared.has_both_clocks() {
        register_division::<true>(engine, shared);
    } else {
        register_division::<false>(engine, shared);
    }
    let told = Arc::clone(shared);
    let evaluate = move |context: &mut EvalContext, inputs: &[Expression], state: &Dynamic| {
        let [left, right, here] = inputs else { return Ok(Dynamic::UNIT) };
        let (mut left, mut right) =
            (context.eval_expression_tree(left)?, context.eval_expression_tree(right)?);
        let nth = state.as_int().ok().and_then(|nth| usize::try_from(nth).ok());
        let Some((name, op)) = nth.and_then(|nth| COMPARISONS.get(nth)) else { return Ok(Dynamic::UNIT) };
        let result = match Number::of(&left).zip(Number::of(&right)) {
            // Rhai's functions say what comes of marks.
            _ if left.tag() != 0 || right.tag() != 0 => None,
            Some((Number::Int(a), Number::Int(b))) => compared(*op, a, b),
            Some((a, b)) => of_numbers(&told, *op, a.float(), b.float()),
            None => None,
        };
        match result {
            Some(result) => Ok(result.into()),
            None => {
                // What a closure has captured as well has its type behind a lock.
                (left, right) = (left.flatten(), right.flatten());
                if let Some(line) = here.position().line() {
                    told.set_line(line as u32);
                }
                if let Some(error) = unordered(name, [&left, &right], here.position()) {
                    return Err(error);
                }
                called(context, name, &mut [&mut left, &mut right], here.position())
            }
        }
    };
    engine.register_custom_syntax_with_state_raw(COMPARISON, |_, _, _| Ok(None), false, evaluate);
    let shared = Arc::clone(shared);
    let evaluate = move |context: &mut EvalContext, inputs: &[Expression], state: &Dynamic| {
        let [place, divisor] = inputs else { return Ok(Dynamic::UNIT) };
        let at = divisor.position();
        let divisor = context.eval_expression_tree(divisor)?;
        if let Ok(b) = divisor.as_int()
            && b != 0
            // A part of a tensor is computed, and the host may wait for it.
            && root(place).is_some_and(|root| lying(context, root).is_some_and(|value| !value.is::<Tensor>()))
            && let Ok(a) = context.eval_expression_tree(place)?.as_int()
        {
            divided(&shared, state.as_bool().unwrap_or(true), (a, b), at);
        }
        Ok(divisor)
    };
    engine.register_custom_syntax_with_state_raw(DIVISOR, |_, _, _| Ok(None), false, evaluate);
}

/// `CARRIES` where results have the clocks of their operands.
fn register_division<const CARRIES: bool>(engine: &mut Engine, shared: &Arc<Shared>) {
    let shared = Arc::clone(shared);
    let evaluate = move |context: &mut EvalContext, inputs: &[Expression], state: &Dynamic| {
        let [left, right, here] = inputs else { return Ok(Dynamic::UNIT) };
        let divides = state.as_bool().unwrap_or(true);
        let (mut left, mut right) =
            (context.eval_expression_tree(left)?, context.eval_expression_tree(right)?);
        let result = match (Number::of(&left), Number::of(&right)) {
            _ if CARRIES && carry::clocks(&left).and(carry::clocks(&right)).are_some() => None,
            (Some(Number::Int(a)), Some(Number::Int(b))) => {
                divided(&shared, divides, (a, b), here.position())
            }
            (Some(a), Some(b)) => {
                let (a, b) = (a.float(), b.float());
                let at = here.position();
                Some(if divides { a / b } else { remainder(&shared, (a, b), at) }.into())
            }
            _ => None,
        };
        if let Some(result) = result {
            return Ok(result);
        }
        let name = if divides { "/" } else { "%" };
        called(context, name, &mut [&mut left, &mut right], here.position())
    };
    engine.register_custom_syntax_with_state_raw(DIVISION, |_, _, _| Ok(None), false, evaluate);
}

/// An operand that is a number.
#[derive(Clone, Copy)]
enum Number {
    Int(INT),
    Float(f64),
}

impl Number {
    #[inline]
    fn of(value: &Dynamic) -> Option<Number> {
        match value.as_int() {
            Ok(number) => Some(Number::Int(number)),
            Err(_) => value.as_float().ok().map(Number::Float),
        }
    }

    fn float(self) -> f64 {
        match self {
            Number::Int(number) => number as f64,
            Number::Float(number) => number,
        }
    }
}

fn called(
    context: &mut EvalContext,
    name: &str,
    args: &mut [&mut Dynamic],
    at: Position,
) -> RhaiResult<Dynamic> {
    context.call_native_fn_raw(name, false, args).map_err(|mut error| {
        if error.position().is_none() {
            error.set_position(at);
        }
        error
    })
}

/// A comparison with what is infinite or no number, which Rhai's tolerance makes nothing of: `0.5 < 1.0 / 0.0` is false
/// there, and NaN is 0. In a run without values NaN may be a number that was never computed, which functions of that run
/// tell.
fn of_not_finite(shared: &Shared, op: MapOp, a: f64, b: f64) -> Option<bool> {
    let is_told = (a.is_nan() || b.is_nan()) && !shared.has_values();
    if is_told || a.is_finite() && b.is_finite() { None } else { compared(op, a, b) }
}

/// A comparison of floats: of finite ones with Rhai's tolerance.
#[inline]
pub(super) fn of_numbers(shared: &Shared, op: MapOp, a: f64, b: f64) -> Option<bool> {
    if !a.is_finite() || !b.is_finite() {
        return of_not_finite(shared, op, a, b);
    }
    let scale = if a * b == 0.0 { 1.0 } else { a.abs().max(b.abs()) };
    let apart = (a - b) / scale;
    match op {
        MapOp::Lt => Some(-apart > f64::EPSILON),
        MapOp::Le => Some(-apart > -f64::EPSILON),
        MapOp::Gt => Some(apart > f64::EPSILON),
        MapOp::Ge => Some(apart > -f64::EPSILON),
        MapOp::Eq => Some(apart.abs() <= f64::EPSILON),
        MapOp::Ne => Some(apart.abs() > f64::EPSILON),
        _ => None,
    }
}

/// What a comparison gives; none where it is another operation.
#[inline]
pub(super) fn compared<T: PartialOrd>(op: MapOp, a: T, b: T) -> Option<bool> {
    match op {
        MapOp::Lt => Some(a < b),
        MapOp::Le => Some(a <= b),
        MapOp::Gt => Some(a > b),
        MapOp::Ge => Some(a >= b),
        MapOp::Eq => Some(a == b),
        MapOp::Ne => Some(a != b),
        _ => None,
    }
}

/// The result of integers, where it is one; what goes over is left to Rhai's errors.
#[inline]
pub(super) fn divided(shared: &Shared, divides: bool, (a, b): (INT, INT), at: Position) -> Option<Dynamic> {
    let (quotient, remainder) = (a.checked_div(b)?, a.checked_rem(b)?);
    let differs = remainder != 0 && (divides || (a < 0) != (b < 0));
    if differs {
        note(shared, divides, (a, b), at);
    }
    Some(if divides { quotient } else { remainder }.into())
}

#[cold]
fn note(shared: &Shared, divides: bool, (a, b): (INT, INT), at: Position) {
    let place = line(shared, at);
    // One line that means it says nothing of the others.
    let tell = |text: &dyn Fn() -> String| {
        if is_learners(shared) && shared.is_first_division(divides) {
            shared.warn(&text());
        }
    };
    if divides {
        tell(&|| {
            let (here, there) = (a / b, a as f64 / b as f64);
            // Python's `//` goes down, Rhai's `/` towards zero.
            let floor = match (a < 0) != (b < 0) {
                true => format!(
                    ", and `({a}.0 / {b}).floor().to_int()` is {}, as `{a} // {b}` there",
                    there.floor()
                ),
                false => format!("; {here} is Python's `{a} // {b}`"),
            };
            format!(
                "`{a} / {b}` of integers is {here}{place}, and {there} in Python: `{a}.0 / {b}` gives that{floor}"
            )
        });
    } else {
        tell(&|| {
            let (here, there) = (a % b, a.rem_euclid(b.abs()) - if b < 0 { b.abs() } else { 0 });
            format!(
                "`{a} % {b}` of integers is {here}{place}, and {there} in Python: `(a % b + b) % b` gives that"
            )
        });
    }
}

/// What is left of a division of floats, as Rhai has it: under the sign of the first.
#[inline]
pub(super) fn remainder(shared: &Shared, (a, b): (f64, f64), at: Position) -> f64 {
    let rest = a % b;
    if rest != 0.0 && a.is_sign_negative() != b.is_sign_negative() && b.is_finite() {
        note_remainder(shared, (a, b, rest), at);
    }
    rest
}

#[cold]
fn note_remainder(shared: &Shared, (a, b, here): (f64, f64, f64), at: Position) {
    let place = line(shared, at);
    if is_learners(shared) && shared.is_first_division(false) {
        let [a, b, here, there] = [a, b, here, here + b].map(python::float);
        shared.warn(&format!(
            "`{a} % {b}` of floats is {here}{place}, and {there} in Python: `(a % b + b) % b` gives that"
        ));
    }
}

/// ` in line 3`
pub(super) fn line(shared: &Shared, at: Position) -> String {
    let Some(line) = at.line() else { return String::new() };
    shared.set_line(line as u32);
    format!(" in line {}", shared.source().line)
}

/// Wraps a division whose operands lie in no variable. Of itself the wrapper keeps the place alone: with a copy of it a
/// chain of divisions would be twice as large with each.
pub(super) fn wrap(expr: &mut Expr) {
    let Expr::FnCall(call, at) = &*expr else { return };
    let FnCallExpr { args, name, op_token: Some(_), .. } = call.as_ref() else { return };
    let at = *at;
    if let Some(nth) = COMPARISONS.iter().position(|(sign, _)| sign == name)
        && (args.iter().any(gives_float) || nth < ORDERS && !args.iter().all(is_number))
    {
        let compared = args.iter().cloned().chain([Expr::Unit(at)]);
        let wrapper = custom(COMPARISON, compared, INT::try_from(nth).unwrap_or_default().into());
        *expr = Expr::Custom(Box::new(wrapper), at);
        return;
    }
    if args.len() != 2 || !matches!(name.as_str(), "/" | "%") {
        return;
    }
    let divides = name == "/";
    let wrapper = custom(DIVISION, args.iter().cloned().chain([Expr::Unit(at)]), divides.into());
    *expr = Expr::Custom(Box::new(wrapper), at);
}

/// Wraps the divisor of `a /= b` and `a %= b`, where what it divides can be looked at beforehand.
pub(super) fn wrap_assigned(statement: &mut Stmt) {
    let Stmt::Assignment(x) = statement else { return };
    let Some((.., sign)) = x.0.get_op_assignment_info() else { return };
    if !matches!(sign, "/" | "%") {
        return;
    }
    let (divides, at) = (sign == "/", x.0.position());
    let BinaryExpr { lhs, rhs } = &mut x.1;
    if is_place(lhs) && !matches!(rhs, Expr::FloatConstant(..)) {
        let divisor = std::mem::take(rhs);
        *rhs = Expr::Custom(Box::new(custom(DIVISOR, [lhs.clone(), divisor], divides.into())), at);
    }
}

/// The variable that a place begins with.
fn root(place: &Expr) -> Option<&Expr> {
    match place {
        Expr::Variable(..) => Some(place),
        Expr::Dot(x, ..) | Expr::Index(x, ..) => root(&x.lhs),
        _ => None,
    }
}

/// Whether to look at what stands there does nothing else.
fn is_place(expr: &Expr) -> bool {
    match expr {
        Expr::Variable(..) | Expr::Property(..) => true,
        Expr::Dot(x, ..) | Expr::Index(x, ..) => {
            is_place(&x.lhs) && (is_place(&x.rhs) || x.rhs.is_constant())
        }
        _ => false,
    }
}

/// Constants of the language that no tolerance fits.
pub(super) const NOT_FINITE: [&str; 2] = ["inf", "nan"];

/// Whether an operand is what is read of a tensor, what a function gives, a quotient or a constant, which may be infinite.
fn gives_float(expr: &Expr) -> bool {
    match expr {
        Expr::Dot(x, ..) | Expr::Index(x, ..) => gives_float(&x.rhs),
        Expr::MethodCall(call, _) => call.name == "call" || call.name == "item" && call.args.is_empty(),
        Expr::FnCall(call, _) => match call.args.as_slice() {
            [of] if call.name == "-" => gives_float(of),
            _ => call.op_token.is_none(),
        },
        Expr::Variable(name, ..) => NOT_FINITE.contains(&name.1.as_str()),
        Expr::Custom(x, _) => match x.tokens.first().map_or("", |key| key.as_str()) {
            DIVISION | NOTED_LINE => true,
            METHOD => x.inputs.last().is_some_and(gives_float),
            _ => false,
        },
        _ => false,
    }
}

fn is_number(expr: &Expr) -> bool {
    matches!(expr, Expr::IntegerConstant(..) | Expr::FloatConstant(..))
}

/// Tells of what is seen in code before it runs. `is_variable` knows those of the session.
pub(super) fn read(
    shared: &Shared,
    ast: &AST,
    code: &str,
    place: CodePlace,
    is_variable: impl Fn(&str) -> bool,
) {
    let before = place.before as usize;
    // Whoever knows it writes it all the same, and what is behind it is lost each time.
    if is_learners(shared)
        && let Some(line) = divided_by_comment(code, is_variable)
    {
        shared.warn(&format!(
            "`//` begins a comment in line {}: `/` of integers is Python's `//` where neither is negative",
            line + before
        ));
    }
    if ["append", "replace", "trim"].iter().any(|name| code.contains(name)) {
        for (unlike, line) in silent::found(ast) {
            let difference = match unlike {
                Unlike::Append => Difference::Append,
                Unlike::InPlace => Difference::InPlace,
            };
            let [what, instead] = unlike.told();
            tell(shared, difference, || format!("{what} in line {}{instead}", line + before));
        }
    }
    if let Some(line) = for_each_with_item(code) {
        tell(shared, Difference::ForEach, || {
            format!(
                "`for_each` gives its closure the places 0, 1, 2, … in line {}, and each item is `this`: \
                 `for x in xs {{ … }}` goes through the items",
                line + before
            )
        });
    }
    if code.matches(['<', '>']).nth(1).is_some()
        && let Some(line) = chained(ast)
    {
        tell(shared, Difference::Chain, || {
            format!(
                "`a < b < c` compares what `a < b` gives with c in line {}: `a < b && b < c` is Python's",
                line + before
            )
        });
    }
}

/// The line of a comment that is one operand behind a value: `x // 2`.
fn divided_by_comment(code: &str, is_variable: impl Fn(&str) -> bool) -> Option<usize> {
    let operand = |text: &str| {
        let text = text.split(';').next().unwrap_or(text).trim().trim_end_matches([')', ']']).trim_end();
        let number = text.parse::<INT>().is_ok_and(|number| number > 1);
        let named = || is_variable(text) || lexer::bound(code).iter().any(|name| name == text);
        let is_name = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
        number || (is_name && named())
    };
    let meant = |line: &str| {
        line.split_once("//").is_some_and(|(before, behind)| {
            let behind = behind.strip_prefix('=').unwrap_or(behind);
            before.trim_end().ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ')' | ']'))
                && operand(behind)
        })
    };
    let line = code.lines().position(meant)?;
    let start: usize = code.split_inclusive('\n').take(line).map(str::len).sum();
    let at = start + code.lines().nth(line)?.find("//")?;
    let is = |piece: &lexer::Piece| piece.kind == Kind::Comment && piece.range.start == at;
    lexer::pieces(code).iter().any(is).then_some(line + 1)
}

/// The line of `for_each(|x| …)` in code that never names the item as it is given.
fn for_each_with_item(code: &str) -> Option<usize> {
    let (before, closure) = code.split_once(".for_each(|")?;
    let is_name = |param: &str| !param.is_empty() && param.chars().all(|c| c.is_alphanumeric() || c == '_');
    let one = closure.split_once('|').is_some_and(|(param, _)| is_name(param.trim()));
    (one && !code.contains("this")).then(|| before.lines().count().max(1))
}

/// The line of a comparison whose left side is one.
fn chained(ast: &AST) -> Option<usize> {
    let compares =
        |call: &FnCallExpr| call.op_token.is_some() && matches!(call.name.as_str(), "<" | "<=" | ">" | ">=");
    let mut found = None;
    let mut look = |call: &FnCallExpr, at: Position| {
        let left = call.args.first();
        if compares(call) && matches!(left, Some(Expr::FnCall(left, _)) if compares(left)) {
            found = at.line();
        }
    };
    ast.walk(&mut |path: &[ASTNode]| {
        match path.last() {
            Some(ASTNode::Expr(Expr::FnCall(call, at))) => look(call, *at),
            Some(ASTNode::Stmt(rhai::Stmt::FnCall(call, at))) => look(call, *at),
            _ => {}
        }
        true
    });
    found
}

#[cfg(test)]
mod tests {
    use rhai::{Dynamic, Engine};

    use crate::script::testing::shown;

    #[test]
    fn floats_divide_as_rhai_has_them() {
        let plain = Engine::new();
        let numbers =
            ["0", "3", "-7", "0.0", "-0.0", "2.5", "-0.3", "1.0 / 0.0", "-1.0 / 0.0", "0.0 / 0.0", "1e300"];
        for (a, b) in numbers.iter().flat_map(|a| numbers.map(|b| (a, b))) {
            for op in ["/", "%"] {
                for code in [
                    format!("({a}) {op} ({b})"),
                    format!("let a = {a}; a {op} ({b})"),
                    format!("let a = {a}; let b = {b}; a {op} b"),
                    format!("let a = [{a}]; a[0] {op} [{b}][0]"),
                    format!("let a = {a}; let f = |b| a {op} b; f.call({b}) {op} a"),
                ] {
                    let got = shown(&[&code]);
                    match plain.eval::<Dynamic>(&code) {
                        Ok(want) => {
                            let told = want
                                .as_float()
                                .map_or_else(|_| format!("{want:?}"), crate::base::python::float);
                            assert_eq!(got, told, "{code}");
                        }
                        Err(_) => assert!(got.starts_with("Fault"), "{code}: {got}"),
                    }
                }
            }
        }
    }
}
