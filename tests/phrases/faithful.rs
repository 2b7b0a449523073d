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
    // An `except` takes what it names, and what it does not goes on outwards, behind what is done at last.
    r#"
class Full(Exception):
    """No room."""
class Broken(Full):
    pass
told = []
def whole(s):
    try:
        return int(s)
    except ValueError:
        return -1
def outer(raised):
    try:
        try:
            raised()
        except ValueError as e:
            return "value"
        finally:
            told.append("last")
    except OverflowError as e:
        return str(e)
    except (TypeError, IndexError) as e:
        return "type"
    except Full as e:
        return type(e).__name__ + str(isinstance(e, Broken))
def key(): raise OverflowError("b")
def kind(): raise TypeError("bad")
def full(): raise Broken("full") from None
def value(): raise ValueError
def place(): return [1][3]
left = [1]
def missing():
    try:
        left.remove(7)
    except ValueError:
        return "missing"
assert whole("x") == -1 and whole("4") == 4 and outer(key) == "b" and outer(kind) == "type"
assert outer(full).lower() == "brokentrue" and outer(value) == "value" and outer(place) == "type"
assert told == ["last", "last", "last", "last", "last"] and missing() == "missing" and left == [1]
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
    ("try:\n    raise KeyError(\"b\")\nexcept KeyError as e:\n    print(e)", "#{kind: \"KeyError\", message: \"'b'\"}"),
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
