//! A lesson's text as plain lines, one after another: for the prompt and for screen readers.

use super::markdown::{Block, marked};

/// The blocks as lines, with an empty line between blocks. Prose is broken between words at `columns`, where there is
/// such a width, and else is one line a paragraph; code stays as it is.
pub(crate) fn lines(blocks: &[Block], columns: Option<usize>) -> Vec<String> {
    let mut lines = Vec::new();
    for block in blocks {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        add(block, "", columns, &mut lines);
    }
    lines
}

/// A line of prose, broken between words as those of blocks are; one that is indented is none.
pub(crate) fn broken(line: &str, columns: Option<usize>) -> Vec<String> {
    let mut lines = Vec::new();
    say("", line, columns.filter(|_| !line.starts_with(' ')), &mut lines);
    lines
}

fn add(block: &Block, lead: &str, columns: Option<usize>, lines: &mut Vec<String>) {
    match block {
        Block::Heading { text, .. } | Block::Paragraph(text) => say(lead, &marked(text), columns, lines),
        Block::Code { text, .. } => lines.extend(text.lines().map(|line| format!("{lead}    {line}"))),
        Block::List { start, items } => {
            for (place, item) in items.iter().enumerate() {
                let mark = start.map_or("- ".into(), |first| format!("{}. ", first + place as u64));
                for (at, block) in item.iter().enumerate() {
                    let lead = if at == 0 { format!("{lead}{mark}") } else { format!("{lead}  ") };
                    add(block, &lead, columns, lines);
                }
            }
        }
        Block::Quote(blocks) => blocks.iter().for_each(|block| add(block, lead, columns, lines)),
        Block::Table { head, rows, .. } => {
            let names: Vec<String> = head.iter().map(|cell| marked(cell)).collect();
            for row in rows {
                let cells = row.iter().enumerate().map(|(column, cell)| match names.get(column) {
                    Some(name) if !name.is_empty() => format!("{name}: {}", marked(cell)),
                    _ => marked(cell),
                });
                say(lead, &cells.collect::<Vec<_>>().join("; "), columns, lines);
            }
        }
        Block::Rule => {}
    }
}

/// A paragraph after its lead, below which its further lines begin.
fn say(lead: &str, text: &str, columns: Option<usize>, lines: &mut Vec<String>) {
    let Some(columns) = columns else { return lines.push(format!("{lead}{text}")) };
    let below = " ".repeat(lead.chars().count());
    let options = textwrap::Options::new(columns).initial_indent(lead).subsequent_indent(&below);
    // A name is looked for and copied as a whole.
    let options = options.word_splitter(textwrap::WordSplitter::NoHyphenation).break_words(false);
    lines.extend(textwrap::wrap(text, options).into_iter().map(std::borrow::Cow::into_owned));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read_row_by_row_with_the_names_of_their_columns() {
        let text = "# One\n\nA **long** `x`\nparagraph.\n\n| call | copies |\n|--|--|\n| `x.cpu()` | 1 |\n\n1. a\n2. b\n\n```\nlet x = 1;\n```\n";
        let lines = lines(&super::super::markdown::parse(text), None);
        let want = [
            "One",
            "",
            "A long `x` paragraph.",
            "",
            "call: `x.cpu()`; copies: 1",
            "",
            "1. a",
            "2. b",
            "",
            "    let x = 1;",
        ];
        assert_eq!(lines, want);
    }

    #[test]
    fn code_with_a_back_quote_keeps_its_marks() {
        let lines = lines(&super::super::markdown::parse("Say `` `${x}` `` or `\"x\"`."), None);
        assert_eq!(lines, ["Say `` `${x}` `` or `\"x\"`."]);
    }

    #[test]
    fn a_link_has_its_address_behind_its_words() {
        let text = "See [the `to` page](https://a.b/c), <https://d.e> and [lesson 2](two.md).";
        let lines = lines(&super::super::markdown::parse(text), None);
        assert_eq!(lines, ["See the `to` page (https://a.b/c), https://d.e and lesson 2."]);
    }

    #[test]
    fn a_terminals_lines_are_broken_between_words_and_code_is_not() {
        let text = "Some words and `a_name_of_its_own`.\n\n- one two three four\n\n```\nlet x = ones([2, 3]);\n```\n";
        let want = [
            "Some words and",
            "`a_name_of_its_own`.",
            "",
            "- one two three",
            "  four",
            "",
            "    let x = ones([2, 3]);",
        ];
        assert_eq!(lines(&super::super::markdown::parse(text), Some(16)), want);
    }
}
