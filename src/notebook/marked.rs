//! Cells of text beside those of code: a marker that ends in `[markdown]`, and the text as comments.

/// What follows the marker of a cell of text.
const TEXT: &str = "// %% [markdown]";
const MARK: &str = "// %%";

/// The cells of a file, each with whether it is text in Markdown.
pub fn split(text: &str) -> Vec<(String, bool)> {
    let mut cells = vec![(Vec::new(), false)];
    for line in text.lines() {
        if line.starts_with(MARK) {
            cells.push((Vec::new(), line.trim_end() == TEXT));
        } else if let Some((lines, _)) = cells.last_mut() {
            lines.push(line);
        }
    }
    let whole = |(lines, markdown): (Vec<&str>, bool)| {
        let lines: Vec<&str> =
            lines.into_iter().map(|line| if markdown { uncommented(line) } else { line }).collect();
        (lines.join("\n").trim_end().to_owned(), markdown)
    };
    let cells = cells.into_iter().map(whole);
    cells.filter(|(text, _)| !text.trim().is_empty()).collect()
}

/// A file of these cells, which [`split`] reads back.
pub fn join<'a>(cells: impl IntoIterator<Item = (&'a str, bool)>) -> String {
    let cell = |(text, markdown): (&str, bool)| {
        let text = text.trim_end();
        if !markdown {
            return format!("{MARK}\n{text}\n");
        }
        let line = |line: &str| if line.is_empty() { "//".to_owned() } else { format!("// {line}") };
        let lines: Vec<String> = text.lines().map(line).collect();
        format!("{TEXT}\n{}\n", lines.join("\n"))
    };
    cells.into_iter().map(cell).collect::<Vec<_>>().join("\n")
}

fn uncommented(line: &str) -> &str {
    let text = line.strip_prefix("//").unwrap_or(line);
    text.strip_prefix(' ').unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_code_are_read_back() {
        let cells = [
            ("let x = 1;\n\nx", false),
            ("# Title\n\n- `// %%`\n  indented", true),
            ("// only a comment", false),
        ];
        let file = join(cells);
        assert!(file.contains("\n// %% [markdown]\n// # Title\n//\n// - `// %%`\n"), "{file}");
        assert_eq!(split(&file), cells.map(|(text, markdown)| (text.to_owned(), markdown)));
        assert_eq!(split("1\n// %%\n\n// %% two\n2"), [("1".to_owned(), false), ("2".into(), false)]);
    }
}
