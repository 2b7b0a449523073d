//! What a closure captures: variables, and nothing else.
//!
//! Rhai takes every name in a closure that is none of its own for a variable of the surroundings, and makes it shared
//! before it hands it over; what is no variable, a constant such as `float64` or a function of an earlier cell, is an
//! error there. Here a name that is no variable is left to be looked up as it would be outside of the closure.

use rhai::{Dynamic, Engine, EvalContext, Expr, Expression, ImmutableString, Stmt, StmtBlock};

use crate::script::custom::custom;

/// The key of what shares a variable if there is one: no text of a script is read as this token.
const SHARE: &str = "\u{4}";

/// Teaches the engine to evaluate what [`told`] makes.
pub(crate) fn register(engine: &mut Engine) {
    engine.register_custom_syntax_with_state_raw(
        SHARE,
        |_, _, _| Ok(None),
        false,
        |context: &mut EvalContext, inputs: &[Expression], state: &Dynamic| {
            let is_variable =
                state.read_lock::<ImmutableString>().is_some_and(|n| context.scope().contains(&n));
            match inputs {
                [share] if is_variable => context.eval_expression_tree(share),
                _ => Ok(Dynamic::UNIT),
            }
        },
    );
}

/// The statements with each capture of a name that the parser did not meet put behind the question whether it is a
/// variable.
pub(super) fn told(statements: Vec<Stmt>) -> Vec<Stmt> {
    if !statements.iter().any(|statement| matches!(statement, Stmt::Share(_))) {
        return statements;
    }
    let mut out = Vec::new();
    for statement in statements {
        let Stmt::Share(mut names) = statement else {
            out.push(statement);
            continue;
        };
        for name in std::mem::take(&mut *names) {
            let (known, ident, at) = (name.1.is_some(), name.0.name.clone(), name.0.pos);
            let share = Stmt::Share(Box::new(std::iter::once(name).collect()));
            if known {
                out.push(share);
                continue;
            }
            let share = Expr::Stmt(Box::new(StmtBlock::new([share], at, at)));
            let asked = custom(SHARE, [share], ident.into());
            out.push(Stmt::Expr(Box::new(Expr::Custom(Box::new(asked), at))));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::script::testing::shown;

    #[test]
    fn names_that_are_no_variables_are_what_they_are_outside() {
        for (cells, want) in [
            (&["let f = |x| x.to(float64); f.call(ones(1)).dtype"] as &[&str], "torch.float64"),
            (&["[1, 2].map(|x| tensor(x, #{dtype: float16}).dtype)[0]"], "torch.float16"),
            (&["fn g() { |x| x.to(half) } g().call(ones(1)).dtype"], "torch.float16"),
            (&["let f = || || int8; f.call().call()"], "torch.int8"),
            (&["let f = |n| `${n} ${bfloat16}`; f.call(1)"], "\"1 torch.bfloat16\""),
            (&["fn twice(x) { x * 2 }", "let f = |xs| xs.map(twice); f.call([1, 2])"], "[2, 4]"),
            (&["let f = || { let float = 3; float }; f.call()"], "3"),
        ] {
            assert_eq!(shown(cells), want, "{cells:?}");
        }
    }

    #[test]
    fn a_variable_of_such_a_name_is_captured() {
        for (cells, want) in [
            (&["let half = 1; let f = || { half += 1; half }; f.call(); f.call(); half"] as &[&str], "3"),
            (&["let half = 1;", "let f = || { half += 1; half };", "f.call(); f.call(); half"], "3"),
            (&["let n = 0;", "for i in 0..3 { let f = || n += 1; f.call(); }", "n"], "3"),
        ] {
            assert_eq!(shown(cells), want, "{cells:?}");
        }
    }

    #[test]
    fn a_name_that_nothing_has_is_still_an_error() {
        let text = shown(&["let f = || flaot64;"]);
        assert!(text.contains("NameError") && text.contains("float64"), "{text}");
        assert!(text.contains("1:12"), "{text}");
    }
}
