//! The page "Where Rhai differs": every phrase, and what differs without an error.

use std::fmt::Write;

use super::book::BOOK;

/// What gives no error and differs: what is written, and what it is.
const SILENT: &[(&str, &str)] = &[
    ("7 / 2", "of integers is 3, and 3.5 in Python; 7.0 / 2 is 3.5 (told of once)"),
    ("-5 % 3", "of integers is -2, and 1 in Python (told of once)"),
    ("7 // 2", "is 7: // begins a comment (told of once)"),
    ("1 < n < 3", "compares true or false with 3: 1 < n && n < 3 (told of once)"),
    ("x.device == \"cpu\"", "is true; in PyTorch it is False (told of once)"),
    (
        "for (a, b) in xs",
        "has an item in a and its number in b, where xs are no pairs of zip() (told of once)",
    ),
    ("xs.append([5, 6])", "adds 5 and 6: xs.push([5, 6]) adds one item (told of once)"),
    ("let t = s.trim();", "is (): trim() and replace() change s itself (told of once); let t = s; t.trim();"),
    (
        "d.misspelt",
        "is () where a map has no such key, and an option that is () is not given: d.contains(\"lr\") asks",
    ),
    (
        "fn f(xs) { xs.push(1); }",
        "changes a copy: let xs = f(xs); with the array as f's value; a tensor or a module is the same one",
    ),
    ("-7.5 % 2", "is -1.5, and 0.5 in Python (told of once); fmod and remainder of tensors tell both apart"),
    ("true == 1", "is false; of tensors it is true"),
    ("1 + a << 1", "is 1 + (a << 1), and a & b == b is a & (b == b): brackets say what is meant"),
    ("0.1 + 0.2 == 0.3", "is true: == of floats takes those as equal that lie next to each other"),
    ("xs.remove(1)", "takes out the item at 1, not the item that is 1"),
    ("let b = a;", "copies an array or a map; a tensor is the same tensor"),
    (
        "#{b: 1, a: 2}",
        "goes through its names in the order of the alphabet; a network's modules come as they were made, its own parameters by name",
    ),
    ("fn f() { x }", "sees no variable around it; a closure does: let f = || x;"),
];

/// The page "Where Rhai differs".
pub(crate) fn page() -> String {
    let mut out = String::from(
        "Where Rhai differs from Python\n\nWhat is written in another way; a line that fails is answered with the line here.\n",
    );
    for phrase in BOOK.iter().filter(|phrase| !phrase.rhai.is_empty() || !phrase.note.is_empty()) {
        if !phrase.note.is_empty() {
            let _ = writeln!(out, "\n{}", phrase.note);
        }
        let mut lines = phrase.python.lines();
        let first = lines.next().unwrap_or_default();
        let _ = writeln!(out, "{}", format!("  {first:<46}  {}", phrase.rhai).trim_end());
        lines.for_each(|line| out += &format!("  {line}\n"));
    }
    out += "\nWhat runs and is something else\n";
    for (written, is) in SILENT {
        let _ = writeln!(out, "  {written:<18} {is}");
    }
    out += "\n-x ** 2 is -(x ** 2), as in Python.\n";
    out
}
