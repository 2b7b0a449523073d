//! `x + y` between variables and numbers, evaluated where the values lie.
//!
//! Rhai copies both operands of an operator into boxes of their own and then looks the function up by their types;
//! for a small tensor that costs as much as the sum. Where both operands are plain variables or numbers, the call in
//! the syntax tree is wrapped: the wrapper looks at the variables in the scope, and where one is a tensor runs the
//! row of the op table on them. Anything else, errors about names included, is left to the call as it was written.
//!
//! A call of a module's function (`cuda::synchronize()`) is wrapped as well: Rhai gives errors of such functions no
//! place, and the wrapper knows it.

use std::borrow::Cow;
use std::sync::Arc;

use rhai::{
    CustomExpr, Dynamic, DynamicReadLock, Engine, EvalAltResult, EvalContext, Expr, Expression, FnCallExpr,
    INT, Position,
};

use crate::base::Scalar;
use crate::device::{MapOp, Shared};
use crate::op::core::spec::Binary;
use crate::op::{Form, Forward, Operand};
use crate::tensor::Tensor;

use super::carry::{self, Clocks};
use super::differs;
use super::fault::{RhaiResult, raise};
use super::ordered::{asks_order, unordered};
use crate::script::custom::{custom, lying};

/// The key of a wrapped operator: no text of a script is read as this token.
const OPERATOR: &str = "\u{1}";
/// Added to the number of an operator whose result has to be true or false.
const CONDITION: INT = 1 << 16;
/// The key of a wrapped call of a module's function.
const PLACED: &str = "\u{2}";

/// Teaches the engine to evaluate what [`wrap`] makes.
pub(crate) fn register(engine: &mut Engine, shared: &Arc<Shared>) {
    if shared.has_both_clocks() {
        register_operator::<true>(engine, shared);
    } else {
        register_operator::<false>(engine, shared);
    }
    engine.register_custom_syntax_with_state_raw(
        PLACED,
        |_, _, _| Ok(None),
        false,
        |context, inputs, _| {
            let [call] = inputs else { return Ok(Dynamic::UNIT) };
            context.eval_expression_tree(call).map_err(|mut error| {
                if error.position().is_none() {
                    error.set_position(call.position());
                }
                error
            })
        },
    );
}

/// `CARRIES` where results have the clocks of their operands.
fn register_operator<const CARRIES: bool>(engine: &mut Engine, shared: &Arc<Shared>) {
    let shared = Arc::clone(shared);
    let rows: Vec<&'static Binary> = rows().map(|(_, row)| row).collect();
    let evaluate = move |context: &mut EvalContext, inputs: &[Expression], state: &Dynamic| {
        let [left, right, whole] = inputs else { return Ok(Dynamic::UNIT) };
        let asked = state.as_int().unwrap_or(INT::MAX);
        let row = rows.get((asked % CONDITION) as usize);
        let result = row.and_then(|row| direct(&shared, context, row, [left, right], whole.position()));
        let result = if CARRIES { carried(context, [left, right], result) } else { result };
        let result = match result {
            Some(result) => result,
            None => match disordered(context, [left, right], whole) {
                Some(error) => Err(error),
                None => context.eval_expression_tree(whole),
            },
        };
        if asked < CONDITION { result } else { truth(&shared, result?, whole.position()) }
    };
    engine.register_custom_syntax_with_state_raw(OPERATOR, |_, _, _| Ok(None), false, evaluate);
}

/// The error of a comparison between values that have no order.
fn disordered(context: &EvalContext, sides: [&Expr; 2], whole: &Expr) -> Option<Box<EvalAltResult>> {
    let Expr::FnCall(call, _) = whole else { return None };
    if !asks_order(&call.name) {
        return None;
    }
    let [left, right] = sides.map(|side| match side {
        Expr::IntegerConstant(number, _) => Some(Cow::Owned(Dynamic::from(*number))),
        Expr::FloatConstant(number, _) => Some(Cow::Owned(Dynamic::from(**number))),
        variable => lying(context, variable).map(Cow::Borrowed),
    });
    unordered(&call.name, [&*left?, &*right?], whole.position())
}

/// A result with the clocks of its operands; `None` where Rhai's function is to say what comes of both.
fn carried(
    context: &EvalContext,
    sides: [&Expr; 2],
    result: Option<RhaiResult<Dynamic>>,
) -> Option<RhaiResult<Dynamic>> {
    let of = |side| lying(context, side).map_or(Clocks::default(), carry::clocks);
    let [left, right] = sides.map(of);
    let clocks = left.and(right);
    match result {
        Some(Ok(value)) if clocks.are_mixed() && !value.is::<Tensor>() => None,
        Some(Ok(value)) => Some(Ok(carry::marked(value, clocks))),
        other => other,
    }
}

/// Wraps an operator between variables and numbers, or a call of a module's function.
pub(super) fn wrap(expr: &mut Expr) {
    let Expr::FnCall(call, at) = &*expr else { return };
    let at = *at;
    let wrapper = if call.is_qualified() {
        custom(PLACED, [expr.clone()], Dynamic::UNIT)
    } else if let Some(row) = row_of(call) {
        custom(OPERATOR, call.args.iter().cloned().chain([expr.clone()]), row.into())
    } else {
        return;
    };
    *expr = Expr::Custom(Box::new(wrapper), at);
}

/// Has a wrapped operator give true or false; says whether it is one.
pub(super) fn asks_truth(wrapped: &mut CustomExpr) -> bool {
    let is_one = wrapped.tokens.first().is_some_and(|key| key == OPERATOR);
    if let Some(row) = wrapped.state.as_int().ok().filter(|row| is_one && *row < CONDITION) {
        wrapped.state = (row + CONDITION).into();
    }
    is_one
}

/// A condition's value: true or false where it is a tensor with one element, for which the host waits.
pub(super) fn truth(shared: &Shared, value: Dynamic, at: Position) -> RhaiResult<Dynamic> {
    if value.tag() != 0 && carry::is_mixed(&value) {
        shared.set_line(at.line().unwrap_or(0) as u32);
        shared.warn(&format!("{}; {}", carry::CHOICE, carry::HINT));
    }
    let Some(tensor) = value.read_lock::<Tensor>() else { return Ok(value) };
    if let Some(line) = at.line() {
        shared.set_line(line as u32);
    }
    tensor.truth().map(Dynamic::from).map_err(|error| {
        let mut raised = raise(error.in_op("bool", || vec![tensor.operand()]));
        raised.set_position(at);
        raised
    })
}

/// The place among the rows of an operator between variables and numbers.
fn row_of(call: &FnCallExpr) -> Option<INT> {
    call.op_token.as_ref()?;
    let plain = |x: &Expr| match x {
        // Constants of the language lie in no variable.
        Expr::Variable(v, ..) => v.2.is_empty() && !differs::NOT_FINITE.contains(&v.1.as_str()),
        Expr::IntegerConstant(..) | Expr::FloatConstant(..) => true,
        _ => false,
    };
    let [left, right] = call.args.as_slice() else { return None };
    if !plain(left) || !plain(right) || (left.is_constant() && right.is_constant()) {
        return None;
    }
    rows().position(|(symbol, _)| symbol == call.name).map(|i| i as INT)
}

/// The operators that are maps of two operands.
fn rows() -> impl Iterator<Item = (&'static str, &'static Binary)> {
    crate::op::table().filter_map(|def| match (def.forward, def.forms.last()) {
        (Forward::Binary(row, _), Some(Form::Operator(symbol))) => Some((*symbol, row)),
        _ => None,
    })
}

/// An operand where it lies.
pub(super) enum LockedOperand<'s> {
    Tensor(DynamicReadLock<'s, Tensor>),
    Int(INT),
    Float(f64),
}

impl LockedOperand<'_> {
    pub(super) fn operand(&self) -> Operand<'_> {
        match self {
            LockedOperand::Tensor(t) => Operand::Tensor(t),
            LockedOperand::Int(i) => Scalar::Int(*i).into(),
            LockedOperand::Float(f) => Scalar::Float(*f).into(),
        }
    }
}

/// The result, or `None` for what Rhai is to evaluate as it was written.
#[inline]
fn direct(
    shared: &Shared,
    context: &EvalContext,
    row: &'static Binary,
    sides: [&Expr; 2],
    at: Position,
) -> Option<RhaiResult<Dynamic>> {
    let [left, right] = sides;
    let (left, right) = (held(context, left)?, held(context, right)?);
    match (&left, &right) {
        (LockedOperand::Int(a), LockedOperand::Int(b)) => match row.op {
            MapOp::Div => differs::divided(shared, true, (*a, *b), at).map(Ok),
            MapOp::Remainder => differs::divided(shared, false, (*a, *b), at).map(Ok),
            op => of_integers(op, *a, *b).map(Ok),
        },
        (LockedOperand::Float(a), LockedOperand::Float(b)) => of_floats(shared, row.op, (*a, *b), at).map(Ok),
        (LockedOperand::Float(a), LockedOperand::Int(b)) => {
            of_floats(shared, row.op, (*a, *b as f64), at).map(Ok)
        }
        (LockedOperand::Int(a), LockedOperand::Float(b)) => {
            of_floats(shared, row.op, (*a as f64, *b), at).map(Ok)
        }
        (LockedOperand::Tensor(_), _) | (_, LockedOperand::Tensor(_)) => {
            if let Some(line) = at.line() {
                shared.set_line(line as u32);
            }
            let result = row.apply(left.operand(), right.operand(), row.params);
            Some(result.map(Dynamic::from).map_err(|e| {
                let mut raised = raise(e);
                raised.set_position(at);
                raised
            }))
        }
    }
}

/// Always inline: what it gives would be stored and read again at once.
#[inline(always)]
pub(super) fn held<'s>(context: &'s EvalContext, expr: &Expr) -> Option<LockedOperand<'s>> {
    match expr {
        Expr::IntegerConstant(i, _) => return Some(LockedOperand::Int(*i)),
        Expr::FloatConstant(f, _) => return Some(LockedOperand::Float(**f)),
        _ => {}
    }
    let value = lying(context, expr)?;
    if value.is_shared() && value.is_locked() {
        return None;
    }
    match value.read_lock::<Tensor>() {
        Some(tensor) => Some(LockedOperand::Tensor(tensor)),
        None => value
            .as_int()
            .map(LockedOperand::Int)
            .or_else(|_| value.as_float().map(LockedOperand::Float))
            .ok(),
    }
}

/// As Rhai has them; what overflows or divides by zero is left to its errors.
fn of_integers(op: MapOp, a: INT, b: INT) -> Option<Dynamic> {
    match op {
        MapOp::Add => a.checked_add(b).map(Dynamic::from),
        MapOp::Sub => a.checked_sub(b).map(Dynamic::from),
        MapOp::Mul => a.checked_mul(b).map(Dynamic::from),
        op => differs::compared(op, a, b).map(Dynamic::from),
    }
}

fn of_floats(shared: &Shared, op: MapOp, (a, b): (f64, f64), at: Position) -> Option<Dynamic> {
    match op {
        MapOp::Add => Some((a + b).into()),
        MapOp::Sub => Some((a - b).into()),
        MapOp::Mul => Some((a * b).into()),
        MapOp::Div => Some((a / b).into()),
        MapOp::Remainder => Some(differs::remainder(shared, (a, b), at).into()),
        op => differs::of_numbers(shared, op, a, b).map(Dynamic::from),
    }
}

#[cfg(test)]
mod tests {
    use crate::device::Machine;
    use crate::script::engine::Stopped;
    use crate::script::testing::shown;
    use crate::script::{Interpreter, Limits, Origin, Silent};
    use std::sync::Arc;

    #[test]
    fn numbers_are_as_rhai_has_them() {
        for (code, want) in [
            ("let a = 7; let b = 2; [a + b, a - b, a * b, a / b, a % b, a ** b]", "[9, 5, 14, 3, 1, 49]"),
            ("let a = 7; let b = 2.0; [a + b, b - a, a * b, a / b]", "[9.0, -5.0, 14.0, 3.5]"),
            ("let a = 1.5; let b = 0.5; [a + b, a - b, a * b, a / b]", "[2.0, 1.0, 0.75, 3.0]"),
            (
                "let a = 2; [a < 3, a <= 2, a > 2, a >= 3, a == 2, a != 2]",
                "[true, true, false, false, true, false]",
            ),
            ("let a = 1.5; let b = 0.5; [a < b, a <= b, a > b, a >= b]", "[false, false, true, true]"),
            ("let a = \"ab\"; let b = \"c\"; a + b", "\"abc\""),
            ("let a = [1]; let b = [2]; a + b", "[1, 2]"),
        ] {
            assert_eq!(shown(&[code]), want, "{code}");
        }
    }

    #[test]
    fn what_is_infinite_or_no_number_is_compared_as_it_is() {
        for (code, want) in [
            (
                "let a = 1.0 / 0.0; let b = 0.5; [b < a, b <= a, b > a, b >= a, a == a, a != a, b == a, b != a]",
                "[true, true, false, false, true, false, false, true]",
            ),
            ("let a = -1.0 / 0.0; let n = 3; [a < n, n < a, a < 0, a == 2.0]", "[true, false, true, false]"),
            ("let best = 1.0 / 0.0; [ones(2).sum().item() < best, best > ones(1).item()]", "[true, true]"),
            (
                "fn loss() { 0.5 } let best = 1.0 / 0.0; let f = || 0.25; [loss() < best, best > f.call(), f.call() == best]",
                "[true, true, false]",
            ),
            (
                "fn n() { 3 } fn x() { 3.0 } [n() == 3, n() < x(), x() <= n(), n() != 4, max(1.5, 2.5) < 1.0 / 0.0]",
                "[true, false, true, true, true]",
            ),
            (
                "let x = 2.5; [x < 1.0 / 0.0, x == 1.0 / 0.0, 1.0 / 0.0 != x, 1 > -1.0 / 0.0]",
                "[true, false, true, true]",
            ),
            (
                "[ones(2).sum().item() < 3, 2.0 == ones(2).sum().item(), arange(3)[2].item() > 1]",
                "[true, true, true]",
            ),
            ("let n = 0.0 / 0.0; let b = 1.0 / 0.0; [n < b, n > b, n == n]", "[false, false, false]"),
            (
                "let n = 0.0 / 0.0; [n == 0.0, 0.0 == n, n <= 0.0, n >= 0.0, n == 0, n != 0.0, n != n, n < 1.0]",
                "[false, false, false, false, false, true, true, false]",
            ),
            (
                "let n = tensor([0.0 / 0.0]); [n.item() == 0.0, n.item() <= 0, n.item() != 0.0, n.mean().item() == 0.0]",
                "[false, false, true, false]",
            ),
            ("0.1 + 0.2 == 0.3", "true"),
            (
                "let b = 1.0; let f = |x| x.item() == b; [f.call(ones(1)), ones(1).item() < b, b != ones(1).item()]",
                "[true, false, false]",
            ),
            (
                "[ones(1).item() == (), ones(1).item() != \"1\", ones(1).item() == [1.0], () == ones(1).item()]",
                "[false, true, false, false]",
            ),
            (
                "let b = true; let f = || b; [(ones(1) > 0).item() == b, f.call() != (ones(1) > 0).item()]",
                "[true, false]",
            ),
        ] {
            assert_eq!(shown(&[code]), want, "{code}");
        }
    }

    #[test]
    fn what_numbers_cannot_do_is_still_an_error() {
        for (code, want) in [
            ("let a = 9223372036854775807; let b = 1; a + b", "overflow"),
            ("let a = 1; let b = 0; a / b", "zero"),
            ("let a = 1; a + missing", "missing"),
            ("let a = 1; let b = (); a - b", "'-'"),
        ] {
            let text = shown(&[code]).to_lowercase();
            assert!(text.contains(want), "{code}: {text}");
        }
    }

    #[test]
    fn the_variable_is_the_one_that_the_name_means() {
        for (code, want) in [
            ("let x = tensor([1]); { let x = tensor([2]); let y = x + x; print(y); } x + x", "tensor([2])"),
            ("let x = tensor([1]); let x = tensor([5]); let y = 1; x * x + y", "tensor([26])"),
            (
                "fn f(a, b) { let c = a * b; if c.item() > 3 { return c - a; } a + b }
              let p = tensor(2); let q = tensor(3); [f(p, q).item(), f(p, p).item() + f(q, 0).item()]",
                "[4, 5]",
            ),
            ("fn g(n) { if n < 2 { n } else { g(n - 1) + g(n - 2) } } g(15)", "610"),
            ("let x = tensor([1]); let f = |y| x + y; x = x * 10; f.call(x)", "tensor([20])"),
            ("let s = tensor(0); for i in 0..5 { let t = s + i; s = t; } s", "tensor(10)"),
            ("const K = 3; let x = tensor([1, 2]); x * K", "tensor([3, 6])"),
            (
                "fn sum(a, b) { a + b } let n = 0; let f = || { let g = || { n += 1; }; g.call(); n }; [f.call(), sum(n, 1)]",
                "[1, 2]",
            ),
            ("switch 2 { 1 => 0, 2 => { let x = tensor(4); x / 2 } }", "tensor(2.)"),
        ] {
            assert_eq!(shown(&[code]), want, "{code}");
        }
    }

    #[test]
    fn errors_of_modules_functions_have_their_place() {
        for (code, place) in [
            ("cuda::synchronize();", ":1:7\n"),
            ("let x = 1;\nlet y = [x, cuda::current_stream(9)];", ":2:19\n"),
            ("fn f() { cuda::set_device(4) }\nf();", ":1:16\n"),
            ("let f = || cuda::synchronize(3); f.call()", ":1:18\n"),
        ] {
            let mut script = Interpreter::new(Machine::cpu_only(), Arc::new(Silent), &Limits::default());
            let origin = Origin { name: "test", code, first_line: 1 };
            let Err(Stopped::Fault(fault)) = script.evaluate(0, &origin) else {
                panic!("{code} is no error")
            };
            assert!(fault.report.contains(&format!("--> test{place}")), "{code}: {}", fault.report);
        }
    }
}
