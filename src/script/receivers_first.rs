//! What a method is called on comes first, then what it is given: the order of Python, in which both draw random numbers,
//! print and launch.
//!
//! Rhai evaluates the arguments of a whole chain before what stands in front of it. Where a call stands in front, and
//! arguments behind it call something as well, the chain is cut: its first part is evaluated and kept until the rest,
//! whose arguments come next, takes it.

use std::cell::RefCell;

use rhai::{
    ASTFlags, BinaryExpr, Dynamic, Engine, EvalContext, Expr, Expression, FnCallExpr, Position, Stmt,
};

use super::custom::{RECEIVER_FIRST, custom};

/// The key of what takes the value that is kept: no text of a script is read as this token.
const KEPT: &str = "\u{11}kept";

thread_local! {
    /// First parts that wait for the rest of their chains, inner ones last.
    static WAITING: RefCell<Vec<Dynamic>> = const { RefCell::new(Vec::new()) };
}

/// Teaches the engine to evaluate what [`joined`] makes.
pub(super) fn register(engine: &mut Engine) {
    let evaluate = |context: &mut EvalContext, inputs: &[Expression], _: &Dynamic| {
        let [first, rest] = inputs else { return Ok(Dynamic::UNIT) };
        let first = context.eval_expression_tree(first)?;
        waiting(first.flatten(), || context.eval_expression_tree(rest))
    };
    engine.register_custom_syntax_with_state_raw(RECEIVER_FIRST, |_, _, _| Ok(None), false, evaluate);
    let take = |_: &mut EvalContext, _: &[Expression], _: &Dynamic| {
        Ok(WAITING.with_borrow_mut(Vec::pop).unwrap_or_default())
    };
    engine.register_custom_syntax_with_state_raw(KEPT, |_, _, _| Ok(None), false, take);
}

/// Keeps a value until `rest`, which [`kept`] stands in, takes it.
pub(super) fn waiting<R>(value: Dynamic, rest: impl FnOnce() -> R) -> R {
    let before = WAITING.with_borrow_mut(|waiting| {
        waiting.push(value);
        waiting.len() - 1
    });
    let value = rest();
    // What failed before the rest took it goes as well.
    drop(WAITING.with_borrow_mut(|waiting| waiting.split_off(before.min(waiting.len()))));
    value
}

/// The first part of a chain whose order has to be kept, and the rest of it; none of others.
pub(super) fn cut(chain: &Expr) -> Option<(Expr, Expr)> {
    let (x, ..) = link(chain)?;
    // Of a variable the rest may change what it holds.
    if !matches!(x.lhs, Expr::Variable(..) | Expr::ThisPtr(..)) && calls(&x.lhs) {
        return given_calls(chain).then(|| (x.lhs.clone(), behind(chain)));
    }
    let mut items: Vec<&Expr> = Vec::new();
    let mut node = chain;
    loop {
        let (x, flags, _) = link(node)?;
        // What is asked by `?.` ends the whole chain where it is nothing.
        if flags.intersects(ASTFlags::NEGATED) {
            return None;
        }
        let next = Some(&x.rhs).filter(|rhs| link(rhs).is_some() && !flags.intersects(ASTFlags::BREAK))?;
        items.push(node);
        let (inner, ..) = link(next)?;
        let is_call = matches!(node, Expr::Dot(..)) && matches!(inner.lhs, Expr::MethodCall(..));
        if is_call && given_calls(next) {
            let mut first = ended(node, &inner.lhs)?;
            for outer in items.iter().rev().skip(1) {
                first = with_rest(outer, first)?;
            }
            return Some((first, behind(next)));
        }
        node = next;
    }
}

/// The parts of a chain, in order.
pub(super) fn joined(first: Expr, rest: Expr, at: Position) -> Expr {
    Expr::Custom(Box::new(custom(RECEIVER_FIRST, [first, rest], Dynamic::UNIT)), at)
}

pub(super) fn link(expr: &Expr) -> Option<(&BinaryExpr, ASTFlags, Position)> {
    match expr {
        Expr::Dot(x, flags, at) | Expr::Index(x, flags, at) => Some((x, *flags, *at)),
        _ => None,
    }
}

fn like(node: &Expr, parts: BinaryExpr, flags: ASTFlags) -> Expr {
    match node {
        Expr::Index(.., at) => Expr::Index(Box::new(parts), flags, *at),
        node => Expr::Dot(Box::new(parts), flags, node.position()),
    }
}

/// A link that is the last of its chain.
pub(super) fn ended(node: &Expr, last: &Expr) -> Option<Expr> {
    let (x, flags, _) = link(node)?;
    Some(like(node, BinaryExpr { lhs: x.lhs.clone(), rhs: last.clone() }, flags | ASTFlags::BREAK))
}

pub(super) fn with_rest(node: &Expr, rest: Expr) -> Option<Expr> {
    let (x, flags, _) = link(node)?;
    Some(like(node, BinaryExpr { lhs: x.lhs.clone(), rhs: rest }, flags))
}

/// The value that is kept.
pub(super) fn kept(at: Position) -> Expr {
    Expr::Custom(Box::new(custom(KEPT, [], Dynamic::UNIT)), at)
}

/// A chain on the value that is kept.
pub(super) fn behind(chain: &Expr) -> Expr {
    let mut rest = chain.clone();
    if let Expr::Dot(x, ..) | Expr::Index(x, ..) = &mut rest {
        x.lhs = kept(chain.position());
    }
    rest
}

/// Whether what the methods and brackets behind a chain's front are given calls something.
fn given_calls(chain: &Expr) -> bool {
    let Some((x, flags, _)) = link(chain) else { return false };
    let of = |item: &Expr, is_place: bool| match item {
        Expr::MethodCall(call, _) if !is_place => call.args.iter().any(calls),
        item => is_place && calls(item),
    };
    let is_place = matches!(chain, Expr::Index(..));
    match link(&x.rhs) {
        Some((inner, ..)) if !flags.intersects(ASTFlags::BREAK) => {
            of(&inner.lhs, is_place) || given_calls(&x.rhs)
        }
        _ => of(&x.rhs, is_place),
    }
}

/// Whether evaluating an expression calls something that may draw, print or launch: an operator and a closure do not.
fn calls(expr: &Expr) -> bool {
    let of_call =
        |call: &FnCallExpr| call.op_token.is_none() && call.name != "curry" || call.args.iter().any(calls);
    match expr {
        Expr::FnCall(call, _) => of_call(call),
        Expr::MethodCall(..) => true,
        Expr::Dot(x, ..) | Expr::Index(x, ..) => calls(&x.lhs) || calls(&x.rhs),
        Expr::InterpolatedString(items, _) | Expr::Array(items, _) => items.iter().any(calls),
        Expr::Map(x, _) => x.0.iter().any(|(_, x)| calls(x)),
        Expr::And(items, _) | Expr::Or(items, _) | Expr::Coalesce(items, _) => items.iter().any(calls),
        Expr::Custom(x, _) => x.inputs.iter().any(calls),
        // A closure shares what it captures.
        Expr::Stmt(block) => block.iter().any(|statement| match statement {
            Stmt::Share(..) => false,
            Stmt::Expr(x) => calls(x),
            _ => true,
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::script::testing::shown;

    #[test]
    fn a_receiver_comes_before_what_it_is_given() {
        let told = "let told = []; let a = |x| { told.push(x); tensor([1.0, 2.0]) }; let f = |x| { told.push(x); 1.0 };";
        for (code, want) in [
            ("a.call(1).dot(a.call(2))", "[1, 2]"),
            ("a.call(1).add(f.call(2)).mul(f.call(3)).sub(f.call(4))", "[1, 2, 3, 4]"),
            ("a.call(1).reshape([1, 2])[0].add(f.call(2))", "[1, 2]"),
            ("[a.call(1), a.call(2)].map(|x| x)[f.call(3).to_int()]", "[1, 2, 3]"),
            ("let m = #{t: ones(2)}; m.t.add(f.call(1)).mul(f.call(2))", "[1, 2]"),
            ("let xs = []; xs.push(f.call(1)); xs.push(f.call(2)); told.push(xs.len())", "[1, 2, 2]"),
            ("let m = #{xs: []}; m.xs.push(f.call(1)); told.push(m.xs.len())", "[1, 1]"),
            ("let m = #{get: |i| #{xs: [i]}}; m.get(f.call(1)).xs.push(f.call(2))", "[1, 2]"),
            ("let t = a.call(1).add(f.call(2)).sum().item(); told.push(t)", "[1, 2, 5.0]"),
            ("let x = ones(2); let g = x.grad?.norm().mul(f.call(2)); told.push(g)", "[2, ()]"),
            (
                "let m = #{}; let n = || m.none; n.call()?.foo(f.call(1)).bar(f.call(2)); told.push(m[\"a\"]?.trim().split(\",\"))",
                "[1, 2, ()]",
            ),
        ] {
            assert_eq!(shown(&[told, code, "told"]), want, "{code}");
        }
    }

    #[test]
    fn the_same_numbers_are_drawn_as_in_python() {
        let sides = "manual_seed(0); let a = rand(2); let b = rand(2); let want = a - b;";
        assert_eq!(shown(&[sides, "manual_seed(0); rand(2).sub(rand(2)).equal(want)"]), "true");
        let parts =
            "manual_seed(0); let net = nn::Linear(1, 1); let x = randn(1, 1); let want = net.forward(x);";
        assert_eq!(
            shown(&[parts, "manual_seed(0); nn::Linear(1, 1).forward(randn(1, 1)).equal(want)"]),
            "true"
        );
    }

    /// What an error leaves behind is nobody else's receiver.
    #[test]
    fn an_error_between_both_leaves_nothing() {
        let code = "try { ones(2).add(throw_it()) } catch { } ones(3).add(zeros(3)).sum().item()";
        assert_eq!(shown(&["fn throw_it() { throw \"no\" }", code]), "3.0");
    }
}
