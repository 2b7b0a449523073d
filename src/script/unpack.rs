//! `for (i, x) in enumerate(xs)`: of what gives pairs, a loop with two names takes each pair apart.
//!
//! Rhai has the second name count, so that a pair would stand under the first one.

use std::sync::Arc;

use rhai::{
    ASTNode, Array, Dynamic, Engine, EvalContext, Expr, Expression, ImmutableString, Position, Stmt,
    StmtBlock,
};

use crate::base::Error;
use crate::device::Shared;
use crate::script::custom::custom;

use super::differs::{self, Difference};
use super::fault::{RhaiResult, raise};

/// The key of what takes a pair apart.
const UNPACK: &str = "\u{17}";

/// Functions and methods that give pairs.
pub(super) const PAIRING: [&str; 7] =
    ["enumerate", "zip", "items", "named_parameters", "named_buffers", "named_modules", "named_children"];

/// Teaches the engine to evaluate what [`wrap`] makes.
pub(super) fn register(engine: &mut Engine, shared: &Arc<Shared>) {
    let shared = Arc::clone(shared);
    engine.register_custom_syntax_with_state_raw(
        UNPACK,
        |_, _, _| Ok(None),
        true,
        move |context: &mut EvalContext, inputs: &[Expression], state: &Dynamic| {
            let Some(names) = state.read_lock::<Array>() else { return Ok(Dynamic::UNIT) };
            let [first, second] = names.as_slice() else { return Ok(Dynamic::UNIT) };
            let (first, second) =
                (first.read_lock::<ImmutableString>(), second.read_lock::<ImmutableString>());
            let (Some(first), Some(second)) = (first, second) else { return Ok(Dynamic::UNIT) };
            match inputs {
                [items] => look(context, [&first, &second], items.position(), &shared),
                _ => take_apart(context, [&first, &second])?,
            }
            Ok(Dynamic::UNIT)
        },
    );
}

/// Tells of a loop whose second name counts, where each item is a pair that Python takes apart.
fn look(context: &EvalContext, [first, second]: [&str; 2], at: Position, shared: &Shared) {
    let is_pair = |item: &Dynamic| item.read_lock::<Array>().is_some_and(|parts| parts.len() == 2);
    let begins = context.scope().get(second).is_some_and(|turn| turn.as_int() == Ok(0));
    if begins && context.scope().get(first).is_some_and(is_pair) {
        differs::tell(shared, Difference::Pairs, || {
            let line = differs::line(shared, at);
            format!(
                "`for ({first}, {second}) in …` has each pair in `{first}` and counts the turns in `{second}`{line}: \
                 `for pair in … {{ let {first} = pair[0]; let {second} = pair[1]; … }}` takes pairs apart, as Python does"
            )
        });
    }
}

/// Has the block of a loop begin with taking the pair apart, where what it goes through gives pairs.
pub(super) fn wrap(
    names: [&ImmutableString; 2],
    items: &Expr,
    body: &mut StmtBlock,
    own: &dyn Fn(&str) -> bool,
) {
    let at = items.position();
    let is_range =
        matches!(items, Expr::FnCall(call, _) if matches!(call.name.as_str(), ".." | "..=" | "range"));
    if is_range {
        return;
    }
    // What may give pairs unseen is looked at when the loop begins, and named by its place alone.
    let pairs = gives_pairs(items, own);
    if !pairs && names.first().is_some_and(|item| takes_parts(item, body)) {
        return;
    }
    let watched = (!pairs).then(|| Expr::IntegerConstant(0, at));
    let names: Array = names.into_iter().map(|name| name.clone().into()).collect();
    let unpack = Expr::Custom(Box::new(custom(UNPACK, watched, names.into())), at);
    let statements = std::mem::take(body.statements_mut());
    let first = Stmt::Expr(Box::new(unpack));
    *body.statements_mut() = std::iter::once(first).chain(statements).collect::<Vec<_>>().into();
}

/// Whether a block takes parts of an item itself: `batch[0]` means the pair.
fn takes_parts(item: &str, body: &StmtBlock) -> bool {
    let mut found = false;
    for statement in body.iter() {
        statement.walk(&mut Vec::new(), &mut |path: &[ASTNode]| {
            found |= matches!(path.last(), Some(ASTNode::Expr(Expr::Index(x, ..)))
                if matches!(&x.lhs, Expr::Variable(variable, ..) if variable.1 == item));
            !found
        });
    }
    found
}

fn gives_pairs(items: &Expr, own: &dyn Fn(&str) -> bool) -> bool {
    match items {
        Expr::FnCall(call, _) if call.name == "progress" => {
            call.args.first().is_some_and(|of| gives_pairs(of, own))
        }
        Expr::FnCall(call, _) => {
            let (count, name) = (call.args.len(), call.name.as_str());
            !own(name) && (name == "enumerate" || name == "zip" && count == 2)
        }
        Expr::MethodCall(call, _) => {
            PAIRING.contains(&call.name.as_str()) && !own(&call.name) && call.args.is_empty()
        }
        Expr::Dot(x, ..) | Expr::Index(x, ..) => gives_pairs(&x.rhs, own),
        _ => false,
    }
}

fn take_apart(context: &mut EvalContext, [first, second]: [&str; 2]) -> RhaiResult<()> {
    let pair = context.scope().get(first).and_then(|pair| pair.read_lock::<Array>().map(|pair| pair.clone()));
    let Some(pair) = pair else { return Ok(()) };
    let Ok([one, other]) = <[Dynamic; 2]>::try_from(pair) else {
        let mut error = raise(Error::value("an item does not have two parts to unpack"));
        error.set_position(Position::NONE);
        return Err(error);
    };
    for (name, value) in [(first, one), (second, other)] {
        // A closure of the block may hold the variable already.
        if let Some(mut variable) = context.scope_mut().get_mut(name).and_then(|v| v.write_lock::<Dynamic>())
        {
            *variable = value;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::script::testing::shown;

    #[test]
    fn two_names_take_pairs_apart() {
        for (code, want) in [
            ("let out = []; for (i, x) in enumerate([5, 6]) { out.push([i, x]); } out", "[[0, 5], [1, 6]]"),
            ("let out = []; for (i, x) in enumerate([5, 6], 1) { out.push(x * i); } out", "[5, 12]"),
            ("let out = []; for (a, b) in zip([1, 2], [3, 4]) { out.push(a + b); } out", "[4, 6]"),
            (
                "let out = []; for (k, v) in #{a: 1, b: 2}.items() { out.push(k + v); } out",
                "[\"a1\", \"b2\"]",
            ),
            ("let out = []; for (x, i) in [5, 6] { out.push([i, x]); } out", "[[0, 5], [1, 6]]"),
            (
                "let out = []; for (name, p) in nn::Linear(2, 1).named_parameters() { out.push(name + p.ndim); } out",
                "[\"weight2\", \"bias1\"]",
            ),
            (
                "let fs = []; for (i, x) in enumerate([5, 6]) { fs.push(|| i + x); } [fs[0].call(), fs[1].call()]",
                "[7, 7]",
            ),
            (
                "let n = 0; for (i, b) in progress(enumerate(data::DataLoader(arange(4), #{batch_size: 2}))) { n += i * b.sum().item(); } n",
                "5",
            ),
            (
                "fn f(xs) { let n = 0; for (i, x) in enumerate(xs) { if x == 6 { continue } n += i + x; } n } f([5, 6, 7])",
                "14",
            ),
            (
                "fn zip(a, b) { a } let out = []; for (x, i) in zip([5, 6], 0) { out.push(x * i); } out",
                "[0, 6]",
            ),
        ] {
            assert_eq!(shown(&[code]), want, "{code}");
        }
    }
}
