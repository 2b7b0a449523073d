//! Answers that nobody wrote: what a check must let pass or fail whatever its author thought of.
//!
//! They are made of the exercise's own texts: the solution in other clothes passes, and what only looks like an answer
//! fails.

use std::collections::BTreeSet;

use rhai::Token;

use crate::script::lexer::{self, Kind, Piece};
use crate::script::modules::{checks, run_events};
use crate::script::parse::Parser;
use crate::script::reads::{bound_outside, read_from_outside};

use super::format::Exercise;
use super::given::called;
use super::spoilt;

/// An answer, and what must come of it.
pub(crate) struct MadeUp {
    /// What it is, such as `the solution with other names`.
    pub what: String,
    pub code: String,
    pub passes: bool,
    /// What must fail where this passes: of two numbers that are wrong an inequality allows one.
    pub or: Option<String>,
}

/// What is tried on an exercise, whose solution runs to its end or stops with the error that is asked for.
pub(crate) fn answers(exercise: &Exercise, ends: bool) -> Vec<MadeUp> {
    let solution = exercise.solution.text.as_str();
    let passing = |what: &str, code| MadeUp { what: what.into(), code, passes: true, or: None };
    let failing = |what: &str, code| MadeUp { what: what.into(), code, passes: false, or: None };
    let mut all = vec![
        passing("the solution with comments", commented(solution)),
        passing("the solution with functions and variables beside it", helped(solution)),
        passing("the solution that prints", format!("print(\"begins\");\n{solution}\n;print(\"done\");\n")),
        passing("the solution with Windows line ends", solution.replace('\n', "\r\n")),
        failing("the empty cell", String::new()),
        failing("the starter with every word of a check defined anew", redefined(&exercise.starter.text)),
    ];
    // Functions are there whatever runs.
    if does_something(solution) && asks_for_more(exercise) {
        all.push(failing("the solution behind `exit()`", format!("exit();\n{solution}")));
    }
    all.extend(renamed(exercise).map(|code| passing("the solution with other names", code)));
    if ends {
        let code = format!("{solution}\n;throw \"stopped\";\n");
        all.push(failing("the solution with an error after it", code));
    }
    all.extend(
        spoilt(exercise, spoilt::NAN)
            .into_iter()
            .map(|(whose, code)| failing(&format!("NaN of the right shape in place of {whose}"), code)),
    );
    let [one, other] = spoilt::OTHERS.map(|number| spoilt(exercise, number));
    all.extend(one.into_iter().zip(other).map(|((whose, code), (_, other))| MadeUp {
        or: Some(other),
        ..failing(&format!("another number in place of {whose}"), code)
    }));
    all
}

/// The solution with a number in place of what it gives, and whose that is.
fn spoilt(exercise: &Exercise, number: &str) -> Vec<(String, String)> {
    let values = spoilt::values(exercise, number).map(|code| ("the answer".to_owned(), code));
    let functions = spoilt::functions(exercise, number).into_iter();
    let given = functions.chain(spoilt::closures(exercise, number));
    values.into_iter().chain(given.map(|(name, code)| (format!("what `{name}` gives"), code))).collect()
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
    // It asks for a name by its text.
    let asks = |piece: &Piece| solution.get(piece.range.clone()) == Some("is_def_var");
    if pieces.iter().any(asks) {
        return None;
    }
    let mut kept = lexer::names(&exercise.check.text);
    // What stands in a text may be code, and what follows a point is no variable.
    let text = |piece: &&Piece| piece.kind == Kind::Text;
    kept.extend(
        pieces
            .iter()
            .filter(text)
            .flat_map(|piece| lexer::names(solution.get(piece.range.clone()).unwrap_or(""))),
    );
    // A function may be handed on by its name, and called by the check by its name in quotes.
    kept.extend(called(&exercise.check.text));
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

/// Whether a check asks for more than functions of the solution's.
fn asks_for_more(exercise: &Exercise) -> bool {
    let check = exercise.check.text.as_str();
    let made = bound_outside(&exercise.solution.text);
    let mut read = read_from_outside(check).into_iter();
    called(check).is_empty() || read.any(|name| name == "events" || made.contains(&name))
}

/// Whether some code does anything but define functions.
fn does_something(code: &str) -> bool {
    Parser::default().tree(code).is_ok_and(|tree| !tree.statements().is_empty())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::lesson::format::Code;

    pub(in crate::lesson) fn exercise(solution: &str, check: &str) -> Exercise {
        let code = |text: &str| Code { text: text.into(), line: 1 };
        let (wrong, hints) = (Vec::new(), Vec::new());
        Exercise {
            changes: Vec::new(),
            points: 1,
            starter: code(""),
            check: code(check),
            checks: Vec::new(),
            solution: code(solution),
            others: Vec::new(),
            wrong,
            hints,
        }
    }

    #[test]
    fn functions_are_there_behind_an_exit_and_nothing_else_is() {
        let tried = |solution: &str, check: &str| {
            answers(&exercise(solution, check), true).iter().any(|answer| answer.what.contains("exit()"))
        };
        let solution = "fn f(v) { v * 2 }\nlet y = f(3);\nprint(f(1));";
        assert!(!tried(solution, "expect_equal(call(\"f\", [2]), 4)"));
        assert!(tried(solution, "expect_equal(call(\"f\", [2]), y)"));
        assert!(tried(solution, "expect_equal(call(\"f\", [2]), 4); expect(events.launches == 0)"));
        assert!(tried(solution, "expect_equal(y, 6)"));
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
}
