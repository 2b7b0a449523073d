//! Cells in a `.rhai` file: a line that begins with `// %%` starts a new one.

pub mod marked;

/// The marker that starts a cell.
const MARK: &str = "// %%";

/// The cells of a file, in order; text before the first marker is the first cell.
pub fn split(text: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    for line in text.lines() {
        match cells.last_mut() {
            Some(cell) if !line.starts_with(MARK) => {
                if !cell.is_empty() {
                    cell.push('\n');
                }
                cell.push_str(line);
            }
            _ => cells.push(String::new()),
        }
    }
    cells.retain(|cell| !cell.trim().is_empty());
    cells.iter().map(|cell| cell.trim_end().to_string()).collect()
}

/// A file of these cells, which [`split`] reads back.
pub fn join<'a>(cells: impl IntoIterator<Item = &'a str>) -> String {
    cells.into_iter().map(|cell| format!("{MARK}\n{}\n", cell.trim_end())).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_joined_is_split_again() {
        let cells = ["let x = 1;", "fn f() {\n    2\n}", "// a comment, and no marker\nx + f()"];
        assert_eq!(split(&join(cells)), cells);
    }

    #[test]
    fn a_plain_script_is_one_cell_and_nothing_is_none() {
        assert_eq!(split("let x = 1;\n\nprint(x);\n"), ["let x = 1;\n\nprint(x);"]);
        assert!(split("").is_empty());
        assert!(split("// %%\n// %% two\n\n").is_empty());
    }
}
