//! `-x ** 2` is `-(x ** 2)`, as in Python and in mathematics: Rhai's parser has the sign bind first.

use rhai::{Engine, Expr, FnCallExpr, Position, Token};

use super::lexer;

/// The tokens of code in which a sign may stand before a power.
pub(super) fn tokens(engine: &Engine, code: &str) -> Vec<(Token, Position)> {
    if code.contains("**") && code.contains('-') { lexer::tokens(engine, code) } else { Vec::new() }
}

/// Has the power bind first, where no brackets say otherwise; each changed power is handed on.
pub(super) fn bind(expr: &mut Expr, tokens: &[(Token, Position)], changed: &mut dyn FnMut(&mut Expr)) {
    let Expr::FnCall(power, at) = expr else { return };
    if tokens.is_empty() || power.name != "**" || power.op_token.is_none() {
        return;
    }
    let at = *at;
    let Some(base) = power.args.first_mut() else { return };
    let Some((minus, place)) = sign(base, at, tokens) else { return };
    let power = std::mem::take(expr);
    let mut inner = power;
    bind(&mut inner, tokens, changed);
    changed(&mut inner);
    let mut negative = minus;
    negative.args = [inner].into_iter().collect();
    *expr = Expr::FnCall(Box::new(negative), place);
}

/// Takes the sign off the base of a power, if it has one.
fn sign(base: &mut Expr, power: Position, tokens: &[(Token, Position)]) -> Option<(FnCallExpr, Position)> {
    let place = match base {
        Expr::FnCall(call, at) if call.name == "-" && call.args.len() == 1 && call.op_token.is_some() => *at,
        Expr::IntegerConstant(number, at) if *number < 0 => *at,
        Expr::FloatConstant(number, at) if number.is_sign_negative() => *at,
        _ => return None,
    };
    if in_brackets(place, power, tokens) {
        return None;
    }
    let minus = minus()?;
    *base = match base {
        Expr::FnCall(call, _) => call.args.first_mut().map(std::mem::take)?,
        Expr::IntegerConstant(number, at) => Expr::IntegerConstant(number.checked_neg()?, *at),
        Expr::FloatConstant(number, at) => Expr::FloatConstant((-**number).into(), *at),
        _ => return None,
    };
    Some((minus, place))
}

/// Whether a bracket closes between a sign and a power that was opened before the sign.
fn in_brackets(sign: Position, power: Position, tokens: &[(Token, Position)]) -> bool {
    let mut depth = 0usize;
    let between = tokens.iter().skip_while(|(_, at)| *at < sign).take_while(|(_, at)| *at < power);
    for (token, _) in between {
        match token {
            Token::LeftParen | Token::LeftBracket | Token::LeftBrace | Token::MapStart => depth += 1,
            Token::RightParen | Token::RightBracket | Token::RightBrace => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return true,
            },
            _ => {}
        }
    }
    false
}

/// A call of the sign, as the parser makes it.
fn minus() -> Option<FnCallExpr> {
    let parsed = Engine::new_raw().compile_expression("-x").ok()?;
    match parsed.statements() {
        [rhai::Stmt::Expr(expr)] => match expr.as_ref() {
            Expr::FnCall(call, _) => Some(FnCallExpr::clone(call)),
            _ => None,
        },
        [rhai::Stmt::FnCall(call, _)] => Some(FnCallExpr::clone(call)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::script::testing::shown;

    #[test]
    fn a_sign_binds_less_tightly_than_a_power() {
        for (code, want) in [
            ("-2 ** 2", "-4"),
            ("-2.0 ** 2", "-4.0"),
            ("let x = 3; -x ** 2", "-9"),
            ("let x = 3; (-x) ** 2", "9"),
            ("(-2) ** 2", "4"),
            ("let x = 3; -(x) ** 2", "-9"),
            ("let x = 3; -(-x) ** 2", "-9"),
            ("let x = 3; (-x ** 2) ** 2", "81"),
            ("let x = 3; - -x ** 2", "9"),
            ("let x = 3; 1 - x ** 2", "-8"),
            ("let x = 3; 2 * -x ** 2 + 1", "-17"),
            ("let x = 2.0; 2.0 ** -x ** 2", "0.0625"),
            ("2.0 ** -1", "0.5"),
            ("2 ** 3 ** 2", "512"),
            ("let x = tensor([1.0, 2.0]); -x ** 2", "tensor([-1., -4.])"),
            ("let x = tensor([1.0, 2.0]); -x.abs() ** 2", "tensor([-1., -4.])"),
            ("fn f(x) { -x ** 2 } f(3)", "-9"),
            ("fn g(x) { x } -g(3) ** 2", "-9"),
            ("let f = |x| -x ** 2; f.call(3)", "-9"),
            ("let s = `${-2 ** 2}`; s", "\"-4\""),
            ("let a = [3]; -a[0] ** 2", "-9"),
            ("if -2 ** 2 < 0 { 1 } else { 2 }", "1"),
        ] {
            assert_eq!(shown(&[code]), want, "{code}");
        }
    }
}
