//! Assignments to what a call gives: `net.parameters()[0].grad = g`, `x.view([2, 3])[0] += 1`.
//!
//! Rhai's parser refuses them. Their sign is told to it as an operator of its own, and the operator in the syntax tree
//! becomes what evaluates the value that is reached and sets its property or its item.

use rhai::{
    ASTFlags, Dynamic, Engine, EvalAltResult, EvalContext, Expr, Expression, ImmutableString, Position, Token,
};

use crate::base::Error;
use crate::script::custom::custom;
use crate::tensor::Tensor;

use super::fault::{RhaiResult, raise};
use super::value::type_name;

/// The signs, each as the parser is told it, in as many characters: no text of a script is read as these tokens.
const SIGNS: [(Token, &str, &str, &str); 5] = [
    (Token::Equals, "=", "\u{11}", ""),
    (Token::PlusAssign, "+=", "\u{12} ", "+"),
    (Token::MinusAssign, "-=", "\u{13} ", "-"),
    (Token::MultiplyAssign, "*=", "\u{14} ", "*"),
    (Token::DivideAssign, "/=", "\u{15} ", "/"),
];

/// Everything else binds first.
const WEAKEST: u8 = 2;

/// The key of an assignment.
const REACHED: &str = "\u{16}";

/// Has the parser read the signs.
pub(super) fn register_signs(engine: &mut Engine) {
    for (_, _, told, _) in SIGNS {
        let registered = engine.register_custom_operator(told.trim_end_matches(' '), WEAKEST);
        debug_assert!(registered.is_ok());
    }
}

/// Whether a token is one of the signs that the lexer does not know.
pub(super) fn is_sign(text: &str) -> bool {
    SIGNS.iter().any(|(_, _, told, _)| told.trim_end_matches(' ') == text)
}

/// What the parser is told in place of the assignment at a token, where a call stands before it.
pub(super) fn told(tokens: &[(Token, Position)], at: usize) -> Option<(&'static str, &'static str)> {
    let (_, sign, told, _) =
        SIGNS.iter().find(|(token, ..)| tokens.get(at).is_some_and(|(t, _)| t == token))?;
    let before = tokens.get(..at)?;
    if !matches!(before.last(), Some((Token::RightBracket | Token::Identifier(_), _))) {
        return None;
    }
    let (mut depth, mut called) = (0usize, false);
    for (token, _) in before.iter().rev() {
        match token {
            Token::RightParen | Token::RightBracket => {
                called |= depth == 0 && *token == Token::RightParen;
                depth += 1;
            }
            Token::LeftParen | Token::LeftBracket => depth = depth.checked_sub(1)?,
            _ if depth > 0 => {}
            Token::Unit => called = true,
            Token::Period | Token::Elvis | Token::DoubleColon | Token::Identifier(_) | Token::Reserved(_) => {
            }
            Token::SemiColon | Token::LeftBrace | Token::RightBrace | Token::Pipe | Token::Or => break,
            _ => return None,
        }
    }
    called.then_some((sign, told))
}

/// Teaches the engine to evaluate what [`wrap`] makes.
pub(super) fn register(engine: &mut Engine) {
    engine.register_custom_syntax_with_state_raw(
        REACHED,
        |_, _, _| Ok(None),
        false,
        |context: &mut EvalContext, inputs: &[Expression], state: &Dynamic| {
            let [on, place, value] = inputs else { return Ok(Dynamic::UNIT) };
            let how = state.read_lock::<ImmutableString>().map(|how| how.clone()).unwrap_or_default();
            let (sign, name) = how.split_once(' ').unwrap_or_default();
            let value = context.eval_expression_tree(value)?.flatten();
            let on = context.eval_expression_tree(on)?.flatten();
            let at = context.eval_expression_tree(place)?.flatten();
            assign(context, on, (name, at), (sign, value)).map_err(|mut error| {
                if error.position().is_none() {
                    error.set_position(place.position());
                }
                error
            })
        },
    );
}

/// Turns an operator that stands for an assignment into one.
pub(super) fn wrap(expr: &mut Expr) {
    let Expr::FnCall(call, at) = expr else { return };
    let sign = SIGNS.iter().find(|(_, _, told, _)| told.trim_end_matches(' ') == call.name.as_str());
    let (Some((.., sign)), [on, value], at) = (sign, call.args.as_mut_slice(), *at) else { return };
    let mut on = std::mem::take(on);
    let (name, place) = match last(&mut on) {
        Some(Expr::Property(x, at)) => (x.2.to_string(), Expr::Unit(at)),
        Some(place) => (String::new(), place),
        None => return,
    };
    let inputs = [on, place, std::mem::take(value)];
    *expr = Expr::Custom(Box::new(custom(REACHED, inputs, format!("{sign} {name}").into())), at);
}

/// Takes the last link off a chain: links hang below the first one's right side.
fn last(chain: &mut Expr) -> Option<Expr> {
    let goes_on = |x: &Expr, flags: &ASTFlags| {
        !flags.contains(ASTFlags::BREAK) && matches!(x, Expr::Dot(..) | Expr::Index(..))
    };
    let (Expr::Dot(x, flags, _) | Expr::Index(x, flags, _)) = chain else { return None };
    if !goes_on(&x.rhs, flags) {
        let (before, link) = (std::mem::take(&mut x.lhs), std::mem::take(&mut x.rhs));
        *chain = before;
        return Some(link);
    }
    let ends = match &x.rhs {
        Expr::Dot(inner, flags, _) | Expr::Index(inner, flags, _) => !goes_on(&inner.rhs, flags),
        _ => true,
    };
    let link = last(&mut x.rhs);
    if ends {
        *flags |= ASTFlags::BREAK;
    }
    link
}

/// Sets a property by its name, or an item where there is none.
fn assign(
    context: &mut EvalContext,
    mut on: Dynamic,
    (name, mut at): (&str, Dynamic),
    (sign, mut value): (&str, Dynamic),
) -> RhaiResult<Dynamic> {
    if on.is_array() || on.is_map() || on.is_string() {
        let text = format!(
            "what a call gives is a copy of its {}: nothing would keep what is put there",
            type_name(&on)
        );
        return Err(raise(
            Error::type_error(text).with_hint("give it a name first: `let xs = …; xs[0] = 1;`"),
        ));
    }
    // Properties of some values are items under a name.
    let own = context.call_native_fn_raw(format!("get${name}"), true, &mut [&mut on]).is_ok();
    if !own && !name.is_empty() {
        at = name.to_owned().into();
    }
    let (get, set) = match own {
        false => ("index$get$".to_owned(), "index$set$".to_owned()),
        true => (format!("get${name}"), format!("set${name}")),
    };
    let place = |at: &mut Dynamic| if own { Vec::new() } else { vec![at.clone()] };
    let missing = |error: Box<EvalAltResult>, engine: &Engine, on: &Dynamic| match *error {
        EvalAltResult::ErrorIndexingType(..) if !name.is_empty() => {
            let owner = engine.map_type_name(on.type_name());
            let text = format!("Unknown property '{name}' - a setter is not registered for type '{owner}'");
            EvalAltResult::ErrorDotExpr(text, Position::NONE).into()
        }
        _ => error,
    };
    let mut call = |function: &str, on: &mut Dynamic, rest: Vec<Dynamic>| {
        let mut rest = rest;
        let mut args: Vec<&mut Dynamic> = std::iter::once(&mut *on).chain(&mut rest).collect();
        let called = context.call_native_fn_raw(function, true, &mut args);
        called.map_err(|error| missing(error, context.engine(), on))
    };
    if !sign.is_empty() {
        let mut current = call(&get, &mut on, place(&mut at))?;
        if current.is::<Tensor>() {
            let _ = call(&format!("{sign}="), &mut current, vec![value])?;
            value = current;
        } else {
            value = call(sign, &mut current, vec![value])?;
        }
    }
    let mut rest = place(&mut at);
    rest.push(value);
    let _ = call(&set, &mut on, rest)?;
    Ok(Dynamic::UNIT)
}

#[cfg(test)]
mod tests {
    use crate::script::testing::shown;

    #[test]
    fn what_a_call_gives_is_assigned_to() {
        for (code, want) in [
            (
                "let net = nn::Linear(2, 1); net.parameters()[0].grad = ones(1, 2); net.weight.grad",
                "tensor([[1., 1.]])",
            ),
            ("let x = zeros(4); x.view(2, 2)[1] = 5; x", "tensor([0., 0., 5., 5.])"),
            ("let x = zeros(4); x.view([2, 2])[1][0] += 5; x", "tensor([0., 0., 5., 0.])"),
            ("let x = ones(2); x.detach().data *= 3.0; x", "tensor([3., 3.])"),
            ("let x = ones(2); (x.view(2))[0] -= 3.0; x", "tensor([-2.,  1.])"),
            ("let x = ones(2); let at = [0, 1]; x.view(2)[at[1]] /= 4; x", "tensor([1.0000, 0.2500])"),
            (
                "let opt = optim::SGD([nn::Parameter(ones(1))], 0.5); let f = || opt; f.call().param_groups[0].lr *= 0.5; opt.param_groups[0].lr",
                "0.25",
            ),
            ("fn own(x) { x.view(2)[0] = 7; x } own(ones(2))", "tensor([7., 1.])"),
            ("let x = ones(2); let f = |v| x.view(2)[1] = v; f.call(4); x", "tensor([1., 4.])"),
        ] {
            assert_eq!(shown(&[code]), want, "{code}");
        }
    }

    #[test]
    fn what_can_not_keep_it_says_so() {
        for (code, want) in [
            ("fn f() { #{a: [1]} } f().a[0] = 3", "a copy of its array"),
            ("fn f() { #{a: [1]} } f().a = 3", "a copy of its map"),
            ("ones(2).view(2).shap = 3", "has no attribute 'shap'"),
            ("if ones(2).sum().data = 1 { }", "Syntax"),
        ] {
            let got = shown(&[code]);
            assert!(got.contains(want), "{code}: {got}");
        }
    }
}
