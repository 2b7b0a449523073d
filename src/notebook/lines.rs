//! The code of a script's cells with its lines: a line that begins with `// %%` starts a new one.

/// The marker that starts a cell.
const MARK: &str = "// %%";

/// The cells of a file with the line, from 1, on which each begins.
pub fn placed(text: &str) -> Vec<(u32, String)> {
    let mut cells = vec![(1, String::new())];
    for (number, line) in (1u32..).zip(text.lines()) {
        match cells.last_mut() {
            Some((_, cell)) if !line.starts_with(MARK) => {
                cell.push_str(line);
                cell.push('\n');
            }
            _ => cells.push((number + 1, String::new())),
        }
    }
    let trimmed = |(first, cell): (u32, String)| {
        // A blank line at the beginning is none of the cell's.
        let blank = cell.lines().take_while(|line| line.trim().is_empty()).count();
        let code: Vec<&str> = cell.lines().skip(blank).collect();
        let code = code.join("\n").trim_end().to_string();
        (!code.is_empty()).then(|| (first + u32::try_from(blank).unwrap_or(0), code))
    };
    cells.into_iter().filter_map(trimmed).collect()
}

/// A file of these cells, which [`placed`] reads back.
pub fn join<'a>(cells: impl IntoIterator<Item = &'a str>) -> String {
    cells.into_iter().map(|cell| format!("{MARK}\n{}\n", cell.trim_end())).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<String> {
        placed(text).into_iter().map(|(_, code)| code).collect()
    }

    #[test]
    fn what_is_joined_is_split_again() {
        let cells = ["let x = 1;", "fn f() {\n    2\n}", "// a comment, and no marker\nx + f()"];
        assert_eq!(split(&join(cells)), cells);
    }

    #[test]
    fn cells_know_their_lines() {
        let text = "let a = 1;\n\n// %% next\n\nlet b = 2;\nb\n// %%\nc\n";
        let want = [(1, "let a = 1;"), (5, "let b = 2;\nb"), (8, "c")];
        assert_eq!(placed(text), want.map(|(line, code)| (line, code.to_string())));
    }

    #[test]
    fn a_plain_script_is_one_cell_and_nothing_is_none() {
        assert_eq!(split("let x = 1;\n\nprint(x);\n"), ["let x = 1;\n\nprint(x);"]);
        assert!(split("").is_empty());
        assert!(split("// %%\n// %% two\n\n").is_empty());
    }
}
