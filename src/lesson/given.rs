//! What an exercise's check reads of what the lesson gave, by the texts of its check and its solution.

use std::collections::BTreeSet;

use crate::script::lexer::{self, Kind, Piece};
use crate::script::reads::{bound_outside, called_from_outside, read_from_outside, used_from_outside};
use crate::session::protocol::GivenName;

use super::format::{Code, Element, Exercise, Lesson, Step};

/// The names that a check reads and that are not the learner's to change: those that the solution does not bind. What
/// they hold is to stay as well, unless the exercise says that it changes.
pub(crate) fn given(exercise: &Exercise) -> Vec<GivenName> {
    let (check, solution) = (exercise.check.text.as_str(), exercise.solution.text.as_str());
    let bound = bound_outside(solution);
    let read: BTreeSet<String> = read_from_outside(check).into_iter().chain(called(check)).collect();
    let read = read.into_iter().filter(|name| !bound.contains(name));
    read.map(|name| GivenName { fixed: !exercise.changes.contains(&name), name }).collect()
}

/// What an answer has to leave, for later steps read it.
pub(crate) struct LaterNames {
    variables: BTreeSet<String>,
    /// With how many parameters they have.
    functions: Vec<(String, usize)>,
}

impl LaterNames {
    /// The first name that some code takes.
    pub(crate) fn taken_by(&self, code: &str) -> Option<String> {
        let variables = bound_outside(code).into_iter().find(|name| self.variables.contains(name));
        let functions = || {
            let defined = lexer::functions_with_parameters(code).into_iter();
            defined.map(|(name, count)| (name.to_owned(), count)).find(|one| self.functions.contains(one))
        };
        variables.or_else(|| functions().map(|(name, _)| name))
    }
}

/// The variables that an answer has to leave, for later steps read what they hold, and the functions that they call: those
/// that steps before have bound, and that neither the exercise itself binds nor a step before the first that reads them.
pub(crate) fn kept(lesson: &Lesson, step: usize) -> LaterNames {
    let mut kept = LaterNames { variables: BTreeSet::new(), functions: Vec::new() };
    let Some(here) = lesson.steps.get(step) else { return kept };
    let Some(Element::Exercise(exercise)) = &here.element else { return kept };
    let before: Vec<&Code> = lesson.steps.iter().take(step).flat_map(runs).chain(&here.setup).collect();
    let mut open: BTreeSet<String> = before.iter().flat_map(|code| bound_outside(&code.text)).collect();
    let mut functions: Vec<(String, usize)> = before.iter().flat_map(|code| defined(code)).collect();
    let answers: Vec<&Code> =
        [&exercise.starter, &exercise.solution].into_iter().chain(&exercise.others).collect();
    let own: BTreeSet<String> = answers.iter().flat_map(|code| bound_outside(&code.text)).collect();
    open.retain(|name| !own.contains(name) && !exercise.changes.contains(name));
    functions.retain(|one| !answers.iter().any(|code| defined(code).contains(one)));
    for later in lesson.steps.iter().skip(step + 1) {
        let asks = lesson.steps.iter().filter_map(|step| match &step.element {
            Some(Element::Predict(predict)) if predict.cell == later.id => Some(&predict.answer),
            _ => None,
        });
        let check = match &later.element {
            Some(Element::Exercise(exercise)) => Some(&exercise.check),
            _ => None,
        };
        let mut reads = |code: &Code, open: &BTreeSet<String>, functions: &Vec<(String, usize)>| {
            let variables = used_from_outside(&code.text).into_iter();
            kept.variables.extend(variables.filter(|name| open.contains(name)));
            let mut names = called_from_outside(&code.text);
            names.extend(called(&code.text));
            kept.functions.extend(functions.iter().filter(|(name, _)| names.contains(name)).cloned());
        };
        for code in runs(later) {
            reads(code, &open, &functions);
            let bound = bound_outside(&code.text);
            open.retain(|name| !bound.contains(name));
            let defined = defined(code);
            functions.retain(|one| !defined.contains(one));
        }
        // What these bind does not outlast them.
        check.into_iter().chain(asks).for_each(|code| reads(code, &open, &functions));
    }
    kept
}

/// The functions that some code defines, with how many parameters they have.
fn defined(code: &Code) -> Vec<(String, usize)> {
    let all = lexer::functions_with_parameters(&code.text).into_iter();
    all.map(|(name, count)| (name.to_owned(), count)).collect()
}

/// The code that a step runs, an exercise's as it is to be answered.
fn runs(step: &Step) -> impl Iterator<Item = &Code> {
    let own = match &step.element {
        Some(Element::Run(code)) => Some(code),
        Some(Element::Exercise(exercise)) => Some(&exercise.solution),
        _ => None,
    };
    step.setup.iter().chain(own)
}

/// Functions that a check calls by their names in quotes.
pub(super) fn called(check: &str) -> Vec<String> {
    let pieces: Vec<Piece> =
        lexer::pieces(check).into_iter().filter(|piece| piece.kind != Kind::Comment).collect();
    // The word is none that Rhai takes for a name.
    let text =
        |at: usize| pieces.get(at).and_then(|piece| check.get(piece.range.clone())).unwrap_or_default();
    let quoted = (0..pieces.len()).filter(|at| text(*at) == "call" && text(at + 1) == "(");
    let names = quoted.filter_map(|at| text(at + 2).strip_prefix('"')?.strip_suffix('"').map(str::to_owned));
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lesson::format::Code;

    fn told(check: &str, solution: &str, changes: &[&str]) -> Vec<(String, bool)> {
        let code = |text: &str| Code { text: text.to_owned(), line: 1 };
        let exercise = Exercise {
            points: 1,
            changes: changes.iter().map(|name| (*name).to_owned()).collect(),
            starter: code(""),
            check: code(check),
            checks: Vec::new(),
            solution: code(solution),
            others: Vec::new(),
            wrong: Vec::new(),
            hints: Vec::new(),
        };
        given(&exercise).into_iter().map(|given| (given.name, given.fixed)).collect()
    }

    #[test]
    fn what_the_solution_does_not_bind_is_given() {
        let check = "let want = x * 2.0; expect_close(y, want); let f = |x| x;";
        let names =
            |solution: &str| told(check, solution, &[]).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        for solution in [
            "let y = x.to(\"cuda\") * 2.0;",
            "fn twice(x) { x * 2.0 } let y = twice(x);",
            "let g = |x| x * 2.0; let y = g.call(x);",
            "let y = 0.0; for x in [x] { y += x; }",
            "let y = x; if true { let x = 3; }",
            "let y = x.add_(1.0);",
        ] {
            assert_eq!(told(check, solution, &[]), [("x".to_owned(), true)], "{solution}");
        }
        for bound in
            ["x = x.to(\"cuda\"); let y = x;", "let x = 3;", "x += 1; let y = x;", "drop(x); let y = 1;"]
        {
            assert!(!names(bound).contains(&"x".into()), "{bound}");
        }
        assert_eq!(told(check, "let y = x.add_(1.0);", &["x"]), [("x".to_owned(), false)]);
        let quoted =
            |solution: &str| told("call(\"f\", [1])", solution, &[]).iter().any(|(name, _)| name == "f");
        assert!(quoted("let y = 1;") && !quoted("fn f(x) { x }"));
    }
}
