//! The phrase book: what Python would take is answered with the line rewritten, and what is answered runs.

use std::sync::Arc;

use tensorlab::device::{Machine, Use};
use tensorlab::script::engine::Stopped;
use tensorlab::script::phrases::book::{BOOK, Idiom, Phrase};
use tensorlab::script::{Interpreter, Limits, Origin, Silent};

fn lab() -> Interpreter {
    let machine = Machine::open(&"cpu".parse().unwrap(), Use::Headless).unwrap().machine;
    Interpreter::new(machine, Arc::new(Silent), &Limits::default())
}

/// What a cell ends with after another: the hint of its error, which may be empty, or nothing where it ran.
fn told(given: &str, code: &str) -> Option<String> {
    let mut lab = lab();
    lab.evaluate(1, &Origin { name: "given", code: given, first_line: 1 }).expect(given);
    match lab.evaluate(2, &Origin { name: "test", code, first_line: 1 }) {
        Ok(_) => None,
        Err(Stopped::Fault(fault)) => Some(fault.hint.unwrap_or_default()),
        Err(other) => panic!("{code}: {other:?}"),
    }
}

/// The code that a hint offers.
fn offered(hint: &str) -> Option<String> {
    if let Some((_, lines)) = hint.split_once(":\n") {
        return Some(
            lines
                .lines()
                .map(|line| line.strip_prefix("    ").unwrap_or(line))
                .collect::<Vec<_>>()
                .join("\n"),
        );
    }
    let (_, code) =
        hint.rsplit_once(": `").filter(|_| !hint.contains("`` ")).or_else(|| hint.split_once(": `` "))?;
    Some(code.trim_end_matches('`').trim_end().to_owned())
}

/// What is wrong with the answer to a phrase, if anything.
fn trouble(phrase: &Phrase) -> Option<String> {
    let Phrase { given, python, rhai, .. } = phrase;
    let Some(hint) = told(given, python) else { return Some(format!("{python:?} is no error")) };
    if rhai.is_empty() {
        return hint.is_empty().then(|| format!("{python:?} is not answered"));
    }
    if !hint.contains(rhai) {
        return Some(format!("{python:?}: {hint:?}, not {rhai:?}"));
    }
    let Some(code) = offered(&hint) else { return Some(format!("{python:?}: {hint:?} offers no code")) };
    let mut lab = lab();
    lab.evaluate(1, &Origin { name: "given", code: given, first_line: 1 }).expect(given);
    match lab.evaluate(2, &Origin { name: "test", code: &code, first_line: 1 }) {
        Ok(_) => None,
        Err(_) if phrase.idiom == Idiom::Raise => None,
        Err(error) => Some(format!("{python:?}: {code:?} fails: {error:?}")),
    }
}

#[test]
fn every_phrase_is_answered_with_a_line_that_runs() {
    let wrong: Vec<String> = BOOK.iter().filter_map(trouble).collect();
    assert!(wrong.is_empty(), "{} of {}\n{}", wrong.len(), BOOK.len(), wrong.join("\n"));
}
