//! `xs[1..3]` of an array, which Rhai indexes by a number alone: a new array, by Python's rules.
//!
//! What stands before the brackets is evaluated first. Where it is an array, its part is what the rest of the chain goes
//! on with; anything else is indexed as it was written.

use std::ops::{Range, RangeInclusive};

use rhai::{Array, BinaryExpr, Dynamic, Engine, EvalContext, Expr, Expression, INT};

use super::custom::{SLICED, custom, lying};
use super::receivers_first::{behind, ended, kept, link, waiting, with_rest};

/// A chain that has a part in brackets: what stands before it, the brackets, and what stands behind them.
pub(super) struct ChainPart {
    pub base: Expr,
    pub link: Expr,
    pub rest: Option<Expr>,
}

/// Teaches the engine to evaluate what [`sliced`] makes.
pub(super) fn register(engine: &mut Engine) {
    let evaluate = |context: &mut EvalContext, inputs: &[Expression], _: &Dynamic| {
        let [base, index, whole] = inputs else { return Ok(Dynamic::UNIT) };
        let part = |at: &Dynamic, value: &Dynamic| value.read_lock::<Array>().and_then(|all| part(&all, at));
        if is_place(base) {
            if !lying(context, base).is_some_and(Dynamic::is_array) {
                return context.eval_expression_tree(whole);
            }
            let at = context.eval_expression_tree(index)?;
            // What the index calls may have given the variable another value.
            if let Some(found) = lying(context, base).and_then(|value| part(&at, value)) {
                return Ok(found.into());
            }
            return context.eval_expression_tree(whole);
        }
        let value = context.eval_expression_tree(base)?.flatten();
        if value.is_array() {
            let at = context.eval_expression_tree(index)?;
            if let Some(found) = part(&at, &value) {
                return Ok(found.into());
            }
        }
        waiting(value, || context.eval_expression_tree(whole))
    };
    engine.register_custom_syntax_with_state_raw(SLICED, |_, _, _| Ok(None), false, evaluate);
}

/// Cuts a chain at its first brackets with a range; none where there are none, or where `?.` ends the whole chain.
pub(super) fn cut(chain: &Expr) -> Option<ChainPart> {
    let (mut before, mut node): (Vec<&Expr>, &Expr) = (Vec::new(), chain);
    loop {
        let (x, flags, _) = link(node)?;
        if flags.intersects(rhai::ASTFlags::NEGATED) {
            return None;
        }
        let next = Some(&x.rhs).filter(|rhs| link(rhs).is_some() && !flags.intersects(rhai::ASTFlags::BREAK));
        let index = match next.and_then(link) {
            Some((inner, ..)) => &inner.lhs,
            None => &x.rhs,
        };
        if matches!(node, Expr::Index(..)) && is_range(index) {
            let mut base = x.lhs.clone();
            if let Some((last, outer)) = before.split_last() {
                base = ended(last, &base)?;
                for outer in outer.iter().rev() {
                    base = with_rest(outer, base)?;
                }
            }
            let link = ended(node, index)?;
            return Some(ChainPart { base, link, rest: next.map(behind) });
        }
        before.push(node);
        node = next?;
    }
}

/// The part in brackets of what stands before them.
pub(super) fn sliced(base: Expr, mut link: Expr) -> Expr {
    let at = link.position();
    let Expr::Index(x, ..) = &mut link else { return link };
    let index = x.rhs.clone();
    let first = if is_place(&base) { base.clone() } else { kept(base.position()) };
    **x = BinaryExpr { lhs: first, rhs: index.clone() };
    Expr::Custom(Box::new(custom(SLICED, [base, index, link], Dynamic::UNIT)), at)
}

fn is_place(expr: &Expr) -> bool {
    matches!(expr, Expr::Variable(variable, ..) if variable.2.is_empty())
}

fn is_range(index: &Expr) -> bool {
    matches!(index, Expr::FnCall(call, _) if call.op_token.is_some() && matches!(call.name.as_str(), ".." | "..="))
}

/// The items that a range takes of an array: numbers below 0 count from its end, and what is beyond it is left out.
fn part(all: &Array, at: &Dynamic) -> Option<Array> {
    let place = |at: INT| {
        let from_end = |at: INT| all.len().saturating_add_signed(at as isize);
        if at < 0 { from_end(at) } else { usize::try_from(at).unwrap_or(usize::MAX).min(all.len()) }
    };
    let (start, end) = if let Some(range) = at.read_lock::<Range<INT>>() {
        (place(range.start), place(range.end))
    } else {
        let range = at.read_lock::<RangeInclusive<INT>>()?;
        // As of a tensor: `..=-1` is `..0`.
        (place(*range.start()), place(range.end().saturating_add(1)))
    };
    Some(all.get(start..end.max(start)).unwrap_or_default().to_vec())
}

#[cfg(test)]
mod tests {
    use crate::script::Limits;
    use crate::script::testing::{failed, shown};

    #[test]
    fn a_part_of_an_array_is_taken_as_in_python() {
        let xs = "let xs = [10, 20, 30, 40]; let m = #{xs: xs, t: arange(4)}; let f = || [1, 2, 3];";
        for (code, want) in [
            ("[xs[1..3], xs[1..], xs[0..2], xs[0..=1]]", "[[20, 30], [20, 30, 40], [10, 20], [10, 20]]"),
            ("[xs[-2..], xs[0..-1], xs[1..=-1], xs[-3..-1]]", "[[30, 40], [10, 20, 30], [], [20, 30]]"),
            ("[xs[2..9], xs[9..], xs[3..1], xs[-9..1]]", "[[30, 40], [], [], [10]]"),
            ("[m.xs[1..3].len(), m[\"xs\"][1..][0], f.call()[1..].len(), xs[1..3][1]]", "[2, 20, 2, 30]"),
            ("[m.t[1..3], arange(6)[2..4].sum(), m.t[1..][0]]", "[tensor([1, 2]), tensor(5), tensor(1)]"),
            (
                "let n = 2; [xs[n - 1..n + 1], xs[0..n].map(|x| x / 10), [[1, 2], [3, 4]][1..][0][0..1]]",
                "[[20, 30], [1, 2], [3]]",
            ),
            ("let y = zeros(3); y[0..2].fill_(1.0); y[1..] += 1.0; y", "tensor([1., 2., 1.])"),
            (
                "let told = []; let g = |x| { told.push(x); [1, 2, 3] }; let a = g.call(1)[told.len()..]; [a, told]",
                "[[2, 3], [1]]",
            ),
            ("xs[1..3].push(5); xs", "[10, 20, 30, 40]"),
            (
                "let t = arange(4); [t[xs[0..1].map(|x| x / 5)], xs[[3, 2, 1][1..][0]], xs[1..xs[0..2].len()], (xs[1..])[0]]",
                "[tensor([2]), 30, [20], 20]",
            ),
            ("let t = arange(4); t[[0, 1, 2][0..2]] = 9; t", "tensor([9, 9, 2, 3])"),
            ("\"abcd\"[1..3]", "\"bc\""),
        ] {
            assert_eq!(shown(&[xs, code]), want, "{code}");
        }
    }

    #[test]
    fn what_has_no_parts_is_told_of_as_before() {
        let fault = failed(&["let m = #{a: 1};", "m[0..1]"], &Limits::default());
        assert_eq!((fault.kind.as_str(), fault.column), ("TypeError", Some(4)), "{fault:?}");
        let fault = failed(&["let xs = [1, 2];", "xs[0..1][3]"], &Limits::default());
        assert_eq!(fault.kind, "IndexError", "{fault:?}");
    }
}
