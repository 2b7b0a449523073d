//! Answers with NaN, and with other numbers, in the place of numbers: what compares badly, or with itself, lets them
//! pass.

use std::collections::BTreeSet;

use rhai::Token;

use crate::script::lexer::{self, Kind, Piece};
use crate::script::reads::bound_outside;

use super::format::Exercise;

/// The pieces of a solution that a check asks for.
struct Asked<'a> {
    solution: &'a str,
    pieces: Vec<Piece>,
    tokens: Vec<Token>,
    names: BTreeSet<String>,
}

impl<'a> Asked<'a> {
    fn of(exercise: &'a Exercise, number: &str) -> Asked<'a> {
        let solution = exercise.solution.text.as_str();
        let pieces: Vec<Piece> =
            lexer::pieces(solution).into_iter().filter(|piece| piece.kind != Kind::Comment).collect();
        let tokens = pieces.iter().map(|piece| piece.token.clone()).collect();
        let check = exercise.check.text.as_str();
        let mut names = lexer::names(check);
        // A function may be called by its name.
        for text in lexer::pieces(check).iter().filter(|piece| piece.kind == Kind::Text) {
            names.extend(lexer::names(check.get(text.range.clone()).unwrap_or("").trim_matches('"')));
        }
        let mut asked = Asked { solution, pieces, tokens, names };
        // `let f = twice;` gives what `twice` gives.
        let functions = asked.functions();
        let stands_for = asked.tokens.windows(4).filter_map(|tokens| match tokens {
            [Token::Let | Token::Const, Token::Identifier(name), Token::Equals, Token::Identifier(of)]
                if asked.names.contains(name.as_str()) && functions.contains(of.as_str()) =>
            {
                Some(of.to_string())
            }
            _ => None,
        });
        let stands_for: Vec<String> = stands_for.collect();
        asked.names.extend(stands_for);
        if number != NAN {
            let compared = compared(check);
            asked.names.retain(|name| compared.contains(name));
        }
        asked
    }

    /// The functions that the solution defines.
    fn functions(&self) -> BTreeSet<String> {
        let named = self.tokens.windows(2).filter_map(|tokens| match tokens {
            [Token::Fn, Token::Identifier(name)] => Some(name.to_string()),
            _ => None,
        });
        named.collect()
    }

    fn token(&self, at: usize) -> Option<&Token> {
        self.tokens.get(at)
    }

    fn text(&self, from: usize, to: usize) -> &str {
        self.solution.get(from..to).unwrap_or_default()
    }
}

/// What a check hands to `expect_close` and `expect_equal`, also by name in quotes: elsewhere any number may be right.
fn compared(check: &str) -> BTreeSet<String> {
    let (mut names, mut depth, mut calls) = (BTreeSet::new(), 0usize, false);
    for piece in lexer::pieces(check) {
        let text = check.get(piece.range.clone()).unwrap_or_default();
        match &piece.token {
            Token::LeftParen if calls || depth > 0 => depth += 1,
            Token::RightParen => depth = depth.saturating_sub(1),
            _ if depth > 0 => names.extend(lexer::names(text.trim_matches('"'))),
            _ => {}
        }
        calls = matches!(text, "expect_close" | "expect_equal");
    }
    names
}

/// The number that nothing equals, and two on both sides of all that an exercise is likely to give.
pub(super) const NAN: &str = "(0.0 / 0.0)";
pub(super) const OTHERS: [&str; 2] = ["977.25", "(-977.25)"];

/// The solution, and then this number in place of each number and tensor that the check asks for by a name of the
/// solution.
pub(super) fn values(exercise: &Exercise, number: &str) -> Option<String> {
    let solution = exercise.solution.text.as_str();
    let all = Asked::of(exercise, number);
    let asked = lexer::names(&exercise.check.text);
    let is_asked = |name: &String| asked.contains(name) && (number == NAN || all.names.contains(name));
    let names: BTreeSet<String> = bound_outside(solution).into_iter().filter(is_asked).collect();
    if names.is_empty() {
        return None;
    }
    let is_constant = |name: &str| {
        let stands =
            |pair: &[Token]| matches!(pair, [Token::Const, Token::Identifier(own)] if own.as_str() == name);
        all.tokens.windows(2).any(stands)
    };
    // An answer without anything that can be NaN is let be, by failing.
    let any: Vec<String> = names.iter().map(|name| format!("can_be_spoilt({name})")).collect();
    let mut code = format!("{solution}\n;if !({}) {{ throw \"nothing to spoil\"; }}\n", any.join(" || "));
    for name in &names {
        let anew = if is_constant(name) { "const " } else { "" };
        code.push_str(&format!("{anew}{name} = spoilt_value({name});\n"));
    }
    code.push_str(&spoil(number));
    Some(code)
}

/// The solution with each function that the check asks for, one after the other, giving this number where it gives
/// numbers. What gives none is let be, by failing.
pub(super) fn functions(exercise: &Exercise, number: &str) -> Vec<(String, String)> {
    let asked = Asked::of(exercise, number);
    let mut all = Vec::new();
    for at in 0..asked.tokens.len() {
        let (Some(Token::Fn), Some(Token::Identifier(name))) = (asked.token(at), asked.token(at + 1)) else {
            continue;
        };
        let Some(named) = asked.pieces.get(at + 1).filter(|_| asked.names.contains(name.as_str())) else {
            continue;
        };
        // Without parameters `()` is one token.
        let given = match asked.token(at + 2) {
            Some(Token::Unit) => String::new(),
            _ => parameters(&asked.tokens, at + 3, &Token::RightParen).join(", "),
        };
        let (before, after) =
            (asked.text(0, named.range.start), asked.text(named.range.end, asked.solution.len()));
        let code = format!(
            "{before}{name}_as_it_is{after}\nfn {name}({given}) {{ spoilt_result({name}_as_it_is({given})) }}\n{}",
            spoil(number)
        );
        all.push((name.to_string(), code));
    }
    all
}

/// The solution with the closures of each thing that the check asks for giving this number: what a variable is made
/// of, the parts of a module or a dataset among it, and what a function ends with.
pub(super) fn closures(exercise: &Exercise, number: &str) -> Vec<(String, String)> {
    let asked = Asked::of(exercise, number);
    let mut all = Vec::new();
    for name in &asked.names {
        let closures: Vec<Closure> = (0..asked.tokens.len())
            .filter(|at| asked.belongs(*at) == Some(name.as_str()))
            .filter_map(|at| asked.closure(at))
            .collect();
        if closures.is_empty() {
            continue;
        }
        let (mut code, mut done) = (String::new(), 0);
        for Closure { from, to, given } in closures.iter().filter(|closure| closure.from < closure.to) {
            if *from < done {
                continue;
            }
            code.push_str(asked.text(done, *from));
            let own = asked.text(*from, *to);
            code.push_str(&format!("|{given}| spoilt_result(({own}).call({given}))"));
            done = *to;
        }
        code.push_str(asked.text(done, asked.solution.len()));
        all.push((name.clone(), format!("{code}\n{}", spoil(number))));
    }
    all
}

/// A closure in the solution, by its bytes, and its parameters.
struct Closure {
    from: usize,
    to: usize,
    given: String,
}

impl Asked<'_> {
    /// What a closure that begins with this token is the value of, or a part of.
    fn belongs(&self, at: usize) -> Option<&str> {
        if !matches!(self.token(at)?, Token::Pipe | Token::Or) || !lexer::opens_closure(&self.pieces, at) {
            return None;
        }
        let mut depth = 0usize;
        let mut inner = at;
        // It is a statement by itself, which may be what a function ends with.
        let mut alone = false;
        for place in (0..at).rev() {
            match self.token(place)? {
                Token::RightParen | Token::RightBracket | Token::RightBrace => depth += 1,
                Token::LeftParen | Token::LeftBracket | Token::MapStart | Token::LeftBrace if depth > 0 => {
                    depth -= 1;
                }
                // Of a module or a dataset it is a part; another call does with it what it likes.
                Token::LeftParen if self.makes(place) => inner = place,
                Token::LeftBracket | Token::MapStart => inner = place,
                Token::LeftBrace => return self.ended(place, inner),
                Token::SemiColon if depth == 0 && !alone && place + 1 == inner => alone = true,
                Token::SemiColon if depth == 0 && !alone => return None,
                Token::Equals if depth == 0 && !alone => return self.named(place, inner),
                Token::LeftParen => return None,
                _ => {}
            }
        }
        None
    }

    /// Whether the bracket is that of `nn::module(` or of one of `data::`.
    fn makes(&self, at: usize) -> bool {
        let token = |back: usize| at.checked_sub(back).and_then(|at| self.token(at));
        let name = |token: Option<&Token>| match token {
            Some(Token::Identifier(name) | Token::Reserved(name)) => name.to_string(),
            _ => String::new(),
        };
        let is_part = matches!(token(2), Some(Token::DoubleColon));
        let (space, made) = (name(token(3)), name(token(1)));
        is_part && (space == "nn" && made == "module" || space == "data" && made == "Dataset")
    }

    /// The variable before `=`, which the value begins behind.
    fn named(&self, equals: usize, inner: usize) -> Option<&str> {
        let begins = |first: usize| match (self.token(first)?, inner == equals + 1) {
            (_, true) => Some(()),
            (Token::Identifier(_), _) => (first + 3 == inner).then_some(()),
            _ => None,
        };
        begins(equals + 1)?;
        match self.token(equals.checked_sub(1)?)? {
            Token::Identifier(name) if self.names.contains(name.as_str()) => Some(name.as_str()),
            _ => None,
        }
    }

    /// The function that a brace begins the body of, where the closure, or what it is in, is its last value.
    fn ended(&self, brace: usize, inner: usize) -> Option<&str> {
        let before = self.token(inner.checked_sub(1)?)?;
        if !matches!(before, Token::LeftBrace | Token::SemiColon | Token::Return) {
            return None;
        }
        let opens = |place: &usize| matches!(self.token(*place), Some(Token::LeftParen | Token::Unit));
        let open = (0..brace).rev().find(opens)?;
        match (self.token(open.checked_sub(2)?)?, self.token(open.checked_sub(1)?)?) {
            (Token::Fn, Token::Identifier(name)) if self.names.contains(name.as_str()) => Some(name.as_str()),
            _ => None,
        }
    }

    /// The closure that begins with this token.
    fn closure(&self, at: usize) -> Option<Closure> {
        let (given, body) = match self.token(at)? {
            Token::Or => (String::new(), at + 1),
            _ => {
                let given = parameters(&self.tokens, at + 1, &Token::Pipe);
                let body = (at + 1..self.tokens.len()).find(|i| self.token(*i) == Some(&Token::Pipe))? + 1;
                (given.join(", "), body)
            }
        };
        let is_block = self.token(body) == Some(&Token::LeftBrace);
        let mut depth = 0usize;
        let mut last = at;
        for place in body..self.tokens.len() {
            match self.token(place)? {
                Token::LeftParen | Token::LeftBracket | Token::LeftBrace | Token::MapStart => depth += 1,
                Token::RightParen | Token::RightBracket | Token::RightBrace if depth == 0 => break,
                Token::RightParen | Token::RightBracket | Token::RightBrace => depth -= 1,
                Token::Comma | Token::SemiColon if depth == 0 => break,
                _ => {}
            }
            last = place;
            if is_block && depth == 0 {
                break;
            }
        }
        let (from, to) = (self.pieces.get(at)?.range.start, self.pieces.get(last)?.range.end);
        Some(Closure { from, to, given })
    }
}

/// The names up to the end of some parameters.
fn parameters<'a>(tokens: &'a [Token], from: usize, end: &Token) -> Vec<&'a str> {
    let within = tokens.iter().skip(from).take_while(|token| *token != end);
    let names = within.filter_map(|token| match token {
        Token::Identifier(name) => Some(name.as_str()),
        _ => None,
    });
    names.collect()
}

fn spoil(number: &str) -> String {
    // Where NaN may be the answer is read from the tensors, which counters tell of: another number needs no such look.
    let look = if number == NAN { " && !value.isnan().any().item()" } else { "" };
    SPOIL.replace(" && NO_NAN", look).replace("NUMBER", number)
}

/// Rhai's functions may stand below what calls them.
const SPOIL: &str = r#"
fn can_be_spoilt(value) {
    switch type_of(value) {
        // NaN may be the answer.
        "Tensor" => value.is_floating_point() && NO_NAN,
        "f64" => !value.is_nan(),
        "array" => value.some(|item| can_be_spoilt(item)),
        "map" => value.values().some(|item| can_be_spoilt(item)),
        _ => {
            let found = false;
            try { found = value.parameters().len() > 0; } catch {}
            found
        }
    }
}
fn spoilt_result(value) {
    if !can_be_spoilt(value) { throw "nothing to spoil"; }
    spoilt_value(value)
}
fn spoilt_value(value) {
    if !can_be_spoilt(value) { return value; }
    switch type_of(value) {
        "Tensor" => {
            let other = full_like(value, NUMBER);
            if value.is_leaf && value.requires_grad {
                other.requires_grad_();
                if type_of(value.grad) == "Tensor" { other.grad = full_like(value.grad, NUMBER); }
            }
            other
        },
        "f64" => NUMBER,
        "array" => value.map(|item| spoilt_value(item)),
        "map" => {
            for name in value.keys() { value[name] = spoilt_value(value[name]); }
            value
        }
        _ => {
            for p in value.parameters() {
                p.detach().fill_(NUMBER);
                if type_of(p.grad) == "Tensor" { p.grad = p.grad * 0.0 + NUMBER; }
            }
            value
        }
    }
}
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lesson::made_up::tests::exercise;

    #[test]
    fn only_what_the_check_asks_for_is_spoilt() {
        let code = values(&exercise("let a = 1.0; let b = a;", "expect_close(b, 1.0)"), NAN).unwrap();
        assert!(code.contains("b = spoilt_value(b)") && !code.contains("a = spoilt_value(a)"), "{code}");
        assert!(values(&exercise("let a = 1.0;", "expect(events.h2d.count == 1)"), NAN).is_none());
        let code = values(&exercise("const C = 1.0;", "expect_close(C, 1.0)"), NAN).unwrap();
        assert!(code.contains("const C = spoilt_value(C);"), "{code}");
    }

    #[test]
    fn functions_that_the_check_asks_for_are_spoilt_one_by_one() {
        let solution = "fn twice(x, k) { x * k }\nfn other() { 1.0 }\nfn dbl(x) { x } let f = dbl;";
        let all = functions(&exercise(solution, "call(\"twice\", [1.0, 2]); call(f, [1.0])"), NAN);
        assert_eq!(all.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["twice", "dbl"]);
        assert!(all[0].1.starts_with("fn twice_as_it_is(x, k) { x * k }"), "{}", all[0].1);
        assert!(all[0].1.contains("fn twice(x, k) { spoilt_result(twice_as_it_is(x, k)) }"), "{}", all[0].1);
    }

    #[test]
    fn closures_are_spoilt_where_they_are_the_answer() {
        for (solution, want) in [
            ("let a = |x| x / 2.0;", "let a = |x| spoilt_result((|x| x / 2.0).call(x));"),
            ("let a = || 3.0;", "let a = || spoilt_result((|| 3.0).call());"),
            ("const a = |x, y| { x + y };", "const a = |x, y| spoilt_result((|x, y| { x + y }).call(x, y));"),
            ("let a = 0; a = |x| x;", "let a = 0; a = |x| spoilt_result((|x| x).call(x));"),
            (
                "let a = [|x| x, #{b: |y| y + 1.0}];",
                "let a = [|x| spoilt_result((|x| x).call(x)), #{b: |y| spoilt_result((|y| y + 1.0).call(y))}];",
            ),
            (
                "let a = nn::module(#{k: 2}, |m, x| x * m.k);",
                "let a = nn::module(#{k: 2}, |m, x| spoilt_result((|m, x| x * m.k).call(m, x)));",
            ),
            (
                "let a = data::Dataset(2, |i| i * 1.0);",
                "let a = data::Dataset(2, |i| spoilt_result((|i| i * 1.0).call(i)));",
            ),
            (
                "fn a() { let k = 2.0; |x| x * k }",
                "fn a() { let k = 2.0; |x| spoilt_result((|x| x * k).call(x)) }",
            ),
        ] {
            let all = closures(&exercise(solution, "call(a, [1.0])"), NAN);
            assert_eq!(all.len(), 1, "{solution}");
            assert!(all[0].1.starts_with(want), "{}", all[0].1);
        }
        for solution in [
            "let a = [1.0].map(|x| x);",
            "let b = |x| x; let a = b;",
            "let a = helper(|x| x);",
            "fn a(xs) { let f = |x| x; xs.map(f) }",
        ] {
            assert!(closures(&exercise(solution, "call(a, [1.0])"), NAN).is_empty(), "{solution}");
        }
    }
}
