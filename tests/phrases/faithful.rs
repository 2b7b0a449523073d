//! What a translated program keeps of Python's meaning, or says that it loses.

use tensorlab::script::Origin;

use super::{lab, offered, told};

/// Each ends with what holds of it in Python, and nothing in it is marked.
const SAME: &[&str] = &[
    // What is removed from what is not known is a value, and no place.
    r#"
def without(xs, v):
    xs.remove(v)
    return xs
rows = [[5, 3, 1], [2]]
rows[0].remove(5)
assert without([5, 3, 1], 3) == [5, 1] and rows[0] == [3, 1]
"#,
];

/// What would differ in silence has a line before it that says so.
const MARKED: &[(&str, &str)] = &[
    ("def own(xs):\n    return xs\nown([3, 2]).remove(3)", "// ? `own([3, 2])` is a copy"),
    (
        "class Bag:\n    def __init__(self):\n        self.n = 0\n    def remove(self, k):\n        self.n -= k\ndef f(b):\n    \
         return b.remove(1)\nprint(f([1]))",
        "// ? `b` may be a list",
    ),
];

/// What is wrong with the translation of a program, if anything.
fn trouble(code: &str) -> Option<String> {
    let hint = told("", code).unwrap_or_default();
    let Some(here) = offered(&hint) else { return Some(format!("{code}\nis answered with {hint:?}")) };
    if here.contains("// ?") {
        return Some(format!("{here}\nis not all known"));
    }
    let ended = lab().evaluate(1, &Origin { name: "test", code: &here, first_line: 1 });
    ended.err().map(|error| format!("{here}\nfails: {error:?}"))
}

#[test]
fn a_translated_program_does_what_python_does() {
    let wrong: Vec<String> = SAME.iter().filter_map(|code| trouble(code)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn what_a_translation_loses_is_marked() {
    for (code, want) in MARKED {
        let here = told("", code).and_then(|hint| offered(&hint)).unwrap_or_default();
        assert!(here.contains(want), "{code}: {here}");
    }
}
