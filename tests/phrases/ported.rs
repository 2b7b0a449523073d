//! Lines of programs that were ported: what is written for them has names that there are, and runs.

use super::{lab, offered, told};
use tensorlab::script::Origin;

/// What stands before, a line that fails, and a part of what is offered for it.
const LINES: &[(&str, &str, &str)] = &[
    (
        "let f = |x| [x, x + 1];",
        "for i in 0..2 {\n let (y, h) = f.call(3);\n let h = h + 1;\n print(h); }",
        "let h = parts[1];",
    ),
    ("let a = 1; let b = 2;", "let (a, b) = (b, a);", "let b = parts[1];"),
];

/// What is wrong with what is offered for a line, if anything.
fn trouble((given, code, want): &(&str, &str, &str)) -> Option<String> {
    let hint = told(given, code).unwrap_or_default();
    let Some(here) = offered(&hint).filter(|here| here.contains(want)) else {
        return Some(format!("{code}\n  is told: {hint}"));
    };
    let mut lab = lab();
    let _ = lab.evaluate(1, &Origin { name: "given", code: given, first_line: 1 }).expect(given);
    // A name that nothing has is an error here.
    let ran = lab.evaluate(2, &Origin { name: "test", code: &here, first_line: 1 });
    ran.err().map(|error| format!("{code}\n  is offered: {here}\n  which fails: {error:?}"))
}

#[test]
fn what_is_offered_for_them_has_names_that_there_are() {
    let wrong: Vec<String> = LINES.iter().filter_map(trouble).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
