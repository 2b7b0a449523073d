//! Names that a check reads and that nobody gives: slips of the lesson's, whatever the learner wrote.

use std::collections::BTreeSet;

use rhai::{Engine, Token};

use crate::script::help;
use crate::script::lexer::{bound, tokens};
use crate::script::reads::{Reading, readings};

use super::format::{Code, Element, Lesson, Step};
use super::given::called;

/// A name that nothing in the lesson defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stray {
    pub name: String,
    /// Where the check reads it first, in the lesson's file.
    pub line: usize,
    pub column: usize,
}

/// Words that are there without being defined, beside what the help tells of.
const WORDS: [&str; 7] = ["events", "ARGS", "SCRATCH", "with", "is", "_", "call"];

/// The names that some code of the lesson can give to a check.
pub(crate) fn given(lesson: &Lesson) -> BTreeSet<String> {
    lesson.steps.iter().flat_map(codes).flat_map(|code| bound(&code.text)).collect()
}

/// The code of a step that runs before its check.
fn codes(step: &Step) -> Vec<&Code> {
    let mut all: Vec<&Code> = step.setup.iter().collect();
    match &step.element {
        Some(Element::Exercise(exercise)) => {
            all.extend([&exercise.starter, &exercise.solution]);
            all.extend(&exercise.others);
            all.extend(exercise.wrong.iter().map(|wrong| &wrong.code));
        }
        Some(Element::Run(code)) => all.push(code),
        _ => {}
    }
    all
}

/// What a check reads that is neither given nor a word of the language.
pub(crate) fn of_check(check: &Code, given: &BTreeSet<String>) -> Vec<Stray> {
    let tokens = tokens(&Engine::new_raw(), &check.text);
    let mut strays: Vec<Stray> = Vec::new();
    for ((token, at), reading) in tokens.iter().zip(readings(&tokens).all) {
        let (Token::Identifier(name), Reading::Free) = (token, reading) else { continue };
        let name = name.as_str();
        let is_known = given.contains(name)
            || WORDS.contains(&name)
            || strays.iter().any(|stray| stray.name == name)
            || help::rows().any(|def| def.name == name);
        if !is_known {
            let (line, column) = (check.file_line(at.line().unwrap_or(1)), at.position().unwrap_or(1));
            strays.push(Stray { name: name.to_owned(), line, column });
        }
    }
    // Functions that it calls by their names in quotes.
    for name in called(&check.text).into_iter().filter(|name| !given.contains(name)) {
        let at = check.text.find(&format!("\"{name}\"")).unwrap_or(0);
        let before = check.text.get(..at).unwrap_or_default();
        let row = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
        strays.push(Stray { name: format!("{name}()"), line: check.file_line(row), column });
    }
    strays
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_gives_is_a_slip_in_quotes_as_well() {
        let check = Code {
            text: "let y = 1;\nexpect(call(\"nofn\", [y]) == q);\ncall(\"twice\", [1]);".into(),
            line: 10,
        };
        let given = BTreeSet::from(["twice".to_owned()]);
        let told: Vec<_> = of_check(&check, &given).into_iter().map(|s| (s.name, s.line, s.column)).collect();
        assert_eq!(told, [("q".to_owned(), 11, 29), ("nofn()".to_owned(), 11, 13)]);
    }
}
