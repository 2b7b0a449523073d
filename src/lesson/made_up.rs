//! Answers that nobody wrote: what a check must let pass or fail whatever its author thought of.
//!
//! They are made of the exercise's own texts: the solution in other clothes passes, and what only looks like an answer
//! fails.

use std::collections::BTreeSet;

use rhai::Token;

use crate::script::lexer::{self, Kind, Piece};
use crate::script::modules::{checks, run_events};
use crate::script::parse::Parser;

use super::format::Exercise;

/// An answer, and what must come of it.
pub(crate) struct MadeUp {
    /// What it is, such as `the solution with other names`.
    pub what: String,
    pub code: String,
    pub passes: bool,
}

/// What is tried on an exercise, whose solution runs to its end or stops with the error that is asked for.
pub(crate) fn answers(exercise: &Exercise, ends: bool) -> Vec<MadeUp> {
    let solution = exercise.solution.text.as_str();
    let passing = |what: &str, code| MadeUp { what: what.into(), code, passes: true };
    let failing = |what: &str, code| MadeUp { what: what.into(), code, passes: false };
    let mut all = vec![
        passing("the solution with comments", commented(solution)),
        passing("the solution with functions and variables beside it", helped(solution)),
        passing("the solution that prints", format!("print(\"begins\");\n{solution}\n;print(\"done\");\n")),
        passing("the solution with Windows line ends", solution.replace('\n', "\r\n")),
        failing("the empty cell", String::new()),
        failing("the starter with every word of a check defined anew", redefined(&exercise.starter.text)),
    ];
    // Functions are there whatever runs.
    if does_something(solution) {
        all.push(failing("the solution behind `exit()`", format!("exit();\n{solution}")));
    }
    all.extend(renamed(exercise).map(|code| passing("the solution with other names", code)));
    if ends {
        let code = format!("{solution}\n;throw \"stopped\";\n");
        all.push(failing("the solution with an error after it", code));
    }
    all.extend(spoilt(exercise).map(|code| failing("NaN of the right shape in place of the answer", code)));
    all.extend(spoilt_functions(exercise).into_iter().map(|(name, code)| {
        failing(&format!("NaN of the right shape in place of what `{name}` gives"), code)
    }));
    all
}

fn commented(solution: &str) -> String {
    format!("/* what I tried:\n   `let x = 1;` */\n// first\n{solution}\n// done\n")
}

/// Names that nobody's check asks for.
fn helped(solution: &str) -> String {
    format!(
        "fn my_helper(x) {{ x }}\nfn total(a, b) {{ a + b }}\nlet my_note = \"{{ not code }}\";\n\
         let my_numbers = [1, 2, 3].map(|n| my_helper(n));\n{solution}\n"
    )
}

/// As a learner might who has read how checks are written.
fn redefined(starter: &str) -> String {
    let mut code = String::new();
    for name in checks::expectations().chain(run_events::fields()).collect::<BTreeSet<_>>() {
        for parameters in ["", "a", "a, b", "a, b, c"] {
            code.push_str(&format!("fn {name}({parameters}) {{ true }}\n"));
        }
    }
    code.push_str("fn all() { true }\nfn all(x) { true }\nlet events = #{};\n");
    code + starter
}

/// The solution with other names for what the check does not ask for; none where there is no such name.
fn renamed(exercise: &Exercise) -> Option<String> {
    let solution = exercise.solution.text.as_str();
    let pieces = lexer::pieces(solution);
    let mut kept = lexer::names(&exercise.check.text);
    // What stands in a text may be code, and what follows a point is no variable.
    let text = |piece: &&Piece| piece.kind == Kind::Text;
    kept.extend(
        pieces
            .iter()
            .filter(text)
            .flat_map(|piece| lexer::names(solution.get(piece.range.clone()).unwrap_or(""))),
    );
    // A function may be handed on by its name.
    kept.extend(pieces.windows(2).filter_map(|pair| match pair {
        [of, Piece { token: Token::Identifier(name), .. }] if of.token == Token::Fn => Some(name.to_string()),
        _ => None,
    }));
    let named: BTreeSet<String> =
        lexer::bound(solution).into_iter().filter(|name| !kept.contains(name)).collect();
    let mut code = String::new();
    let (mut at, mut changed) = (0, false);
    for (place, piece) in pieces.iter().enumerate() {
        let Token::Identifier(name) = &piece.token else { continue };
        let before = place.checked_sub(1).and_then(|before| pieces.get(before)).map(|piece| &piece.token);
        let after = pieces.get(place + 1).map(|piece| &piece.token);
        let is_field = matches!(before, Some(Token::Period | Token::Elvis | Token::DoubleColon))
            || matches!(after, Some(Token::Colon | Token::LeftParen | Token::DoubleColon));
        if is_field || !named.contains(name.as_str()) {
            continue;
        }
        code.push_str(solution.get(at..piece.range.end)?);
        code.push_str("_of_mine");
        (at, changed) = (piece.range.end, true);
    }
    code.push_str(solution.get(at..)?);
    changed.then_some(code)
}

/// The solution, and then NaN in place of each number and tensor that the check asks for by a name of the solution.
fn spoilt(exercise: &Exercise) -> Option<String> {
    let solution = exercise.solution.text.as_str();
    let asked = lexer::names(&exercise.check.text);
    let names: BTreeSet<String> =
        lexer::bound(solution).into_iter().filter(|name| asked.contains(name)).collect();
    if names.is_empty() {
        return None;
    }
    // An answer without anything that can be NaN is let be, by failing.
    let any: Vec<String> = names.iter().map(|name| format!("can_be_spoilt({name})")).collect();
    let mut code = format!("{solution}\n;if !({}) {{ throw \"nothing to spoil\"; }}\n", any.join(" || "));
    for name in &names {
        code.push_str(&format!("{name} = spoilt_value({name});\n"));
    }
    code.push_str(SPOIL);
    Some(code)
}

/// The solution with each function or closure that the check asks for, one after the other, giving NaN where it gives
/// numbers. What gives none is let be, by failing.
fn spoilt_functions(exercise: &Exercise) -> Vec<(String, String)> {
    let solution = exercise.solution.text.as_str();
    let pieces: Vec<Piece> =
        lexer::pieces(solution).into_iter().filter(|piece| piece.kind != Kind::Comment).collect();
    let mut asked = lexer::names(&exercise.check.text);
    // A function may be called by its name.
    for text in lexer::pieces(&exercise.check.text).iter().filter(|piece| piece.kind == Kind::Text) {
        asked.extend(lexer::names(
            exercise.check.text.get(text.range.clone()).unwrap_or("").trim_matches('"'),
        ));
    }
    let tokens = |at: usize, count: usize| {
        let all = pieces.get(at..at + count).unwrap_or_default();
        all.iter().map(|piece| &piece.token).collect::<Vec<_>>()
    };
    let mut depth = 0usize;
    let mut all = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        match piece.token {
            Token::LeftBrace | Token::MapStart => depth += 1,
            Token::RightBrace => depth = depth.saturating_sub(1),
            _ => {}
        }
        let (name, parameters, is_function) = match tokens(at, 4).as_slice() {
            [Token::Fn, Token::Identifier(name), Token::LeftParen, ..] => {
                (name, parameters(&pieces, at + 3, &Token::RightParen), true)
            }
            [Token::Let, Token::Identifier(name), Token::Equals, Token::Or] if depth == 0 => {
                (name, Vec::new(), false)
            }
            [Token::Let, Token::Identifier(name), Token::Equals, Token::Pipe] if depth == 0 => {
                (name, parameters(&pieces, at + 4, &Token::Pipe), false)
            }
            _ => continue,
        };
        if !asked.contains(name.as_str()) {
            continue;
        }
        let given = parameters.join(", ");
        let code = if is_function {
            let Some(named) = pieces.get(at + 1).map(|piece| piece.range.clone()) else { continue };
            let (before, after) = (solution.get(..named.start), solution.get(named.end..));
            let [before, after] = [before, after].map(Option::unwrap_or_default);
            format!(
                "{before}{name}_as_it_is{after}\nfn {name}({given}) {{ spoilt_result({name}_as_it_is({given})) }}\n"
            )
        } else {
            format!(
                "{solution}\n;let {name}_as_it_is = {name};\n\
                 {name} = |{given}| spoilt_result({name}_as_it_is.call({given}));\n"
            )
        };
        all.push((name.to_string(), code + SPOIL));
    }
    all
}

/// The names up to the end of some parameters.
fn parameters<'a>(pieces: &'a [Piece], from: usize, end: &Token) -> Vec<&'a str> {
    let within = pieces.iter().skip(from).take_while(|piece| piece.token != *end);
    let names = within.filter_map(|piece| match &piece.token {
        Token::Identifier(name) => Some(name.as_str()),
        _ => None,
    });
    names.collect()
}

/// Rhai's functions may stand below what calls them.
const SPOIL: &str = r#"
fn can_be_spoilt(value) {
    switch type_of(value) {
        "Tensor" => value.is_floating_point(),
        "f64" => true,
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
        "Tensor" => value.detach() * (0.0 / 0.0),
        "f64" => 0.0 / 0.0,
        "array" => value.map(|item| spoilt_value(item)),
        "map" => {
            for name in value.keys() { value[name] = spoilt_value(value[name]); }
            value
        }
        _ => {
            for p in value.parameters() { p.detach().fill_(0.0 / 0.0); }
            value
        }
    }
}
"#;

/// Whether some code does anything but define functions.
fn does_something(code: &str) -> bool {
    Parser::default().tree(code).is_ok_and(|tree| !tree.statements().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lesson::format::Code;

    fn exercise(solution: &str, check: &str) -> Exercise {
        let code = |text: &str| Code { text: text.into(), line: 1 };
        let (wrong, hints) = (Vec::new(), Vec::new());
        Exercise {
            points: 1,
            starter: code(""),
            check: code(check),
            checks: Vec::new(),
            solution: code(solution),
            wrong,
            hints,
        }
    }

    #[test]
    fn names_change_where_they_are_variables_and_nowhere_else() {
        let solution =
            "let w = #{w: 1};\nlet y = w.w + w[\"w\"];\nlet z = `${k}`;\nlet k = f(w);\nfn f(w) { w }";
        let renamed = renamed(&exercise(solution, "expect(y == 1)")).unwrap();
        assert!(
            renamed.starts_with("let w_of_mine = #{w: 1};\nlet y = w_of_mine.w + w_of_mine[\"w\"];"),
            "{renamed}"
        );
        assert!(renamed.contains("let k_of_mine = f(w_of_mine);\nfn f(w_of_mine)"), "{renamed}");
        assert_eq!(super::renamed(&exercise("let y = 1;", "expect(y == 1)")), None);
    }

    #[test]
    fn only_what_the_check_asks_for_is_spoilt() {
        let code = spoilt(&exercise("let a = 1.0; let b = a;", "expect_close(b, 1.0)")).unwrap();
        assert!(code.contains("b = spoilt_value(b)") && !code.contains("a = spoilt_value(a)"), "{code}");
        assert!(spoilt(&exercise("let a = 1.0;", "expect(events.h2d.count == 1)")).is_none());
    }

    #[test]
    fn functions_and_closures_that_the_check_asks_for_are_spoilt_one_by_one() {
        let solution =
            "fn twice(x, k) { x * k }\nfn other() { 1.0 }\nlet half = |x| x / 2.0;\nlet three = || 3.0;";
        let check = "call(\"twice\", [1.0, 2]); call(half, [1.0]); call(three, [])";
        let all = spoilt_functions(&exercise(solution, check));
        assert_eq!(all.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["twice", "half", "three"]);
        assert!(all[0].1.starts_with("fn twice_as_it_is(x, k) { x * k }"), "{}", all[0].1);
        assert!(all[0].1.contains("fn twice(x, k) { spoilt_result(twice_as_it_is(x, k)) }"), "{}", all[0].1);
        assert!(all[1].1.contains("half = |x| spoilt_result(half_as_it_is.call(x));"), "{}", all[1].1);
        assert!(all[2].1.contains("three = || spoilt_result(three_as_it_is.call());"), "{}", all[2].1);
    }
}
