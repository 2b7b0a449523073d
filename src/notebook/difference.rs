//! How the text of a notebook differs from another's, in lines to be read.

use super::document::Notebook;
use super::percent;
use super::verify::{Line, lines_that_differ};

/// Lines of the first alone begin with `- `, those of the second alone with `+ `, and a line beside them with two spaces;
/// nothing where both are the same. What only the outputs differ in is told in one line.
pub(crate) fn of(one: &Notebook, other: &Notebook) -> Vec<String> {
    let lines = |notebook: &Notebook| -> Vec<String> {
        percent::write(notebook).lines().map(str::to_owned).collect()
    };
    let differ = lines_that_differ(&lines(one), &lines(other));
    let mut shown: Vec<String> = differ
        .into_iter()
        .map(|line| match line {
            Line::Gone(text) => format!("- {text}"),
            Line::New(text) => format!("+ {text}"),
            Line::Same(text) => format!("  {text}"),
        })
        .collect();
    let outputs = |notebook: &Notebook| -> Vec<_> {
        notebook.cells.iter().map(|cell| (cell.hash(), cell.outputs.clone(), cell.ran)).collect()
    };
    if shown.is_empty() && outputs(one) != outputs(other) {
        shown.push("# the text is the same; the outputs are not".into());
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notebook::{Cell, Output};

    #[test]
    fn lines_of_either_side_are_told_with_what_stands_beside_them() {
        let notebook = |code: &str| Notebook::new([Cell::code("let x = 1;"), Cell::code(code)]);
        assert_eq!(of(&notebook("x"), &notebook("x")), Vec::<String>::new());
        let shown = of(&notebook("x\nx + 1"), &notebook("x\nx + 2"));
        assert_eq!(shown, ["  x", "- x + 1", "+ x + 2"]);
        let mut ran = notebook("x");
        ran.cells[1].outputs = vec![Output::result("1", 1)];
        assert_eq!(of(&ran, &notebook("x")), ["# the text is the same; the outputs are not"]);
    }
}
