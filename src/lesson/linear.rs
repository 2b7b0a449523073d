//! A lesson's text as plain lines, one after another: for the prompt and for screen readers.

use super::markdown::{Block, words};

/// The blocks as lines; paragraphs are one line each, whatever their length, and an empty line stands between blocks.
pub(crate) fn lines(blocks: &[Block]) -> Vec<String> {
    let mut lines = Vec::new();
    for block in blocks {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        add(block, "", &mut lines);
    }
    lines
}

fn add(block: &Block, lead: &str, lines: &mut Vec<String>) {
    match block {
        Block::Heading { text, .. } | Block::Paragraph(text) => lines.push(format!("{lead}{}", words(text))),
        Block::Code { text, .. } => lines.extend(text.lines().map(|line| format!("{lead}    {line}"))),
        Block::List { start, items } => {
            for (place, item) in items.iter().enumerate() {
                let mark = start.map_or("- ".into(), |first| format!("{}. ", first + place as u64));
                for (at, block) in item.iter().enumerate() {
                    add(block, &if at == 0 { format!("{lead}{mark}") } else { format!("{lead}  ") }, lines);
                }
            }
        }
        Block::Quote(blocks) => blocks.iter().for_each(|block| add(block, lead, lines)),
        Block::Table { head, rows, .. } => {
            let names: Vec<String> = head.iter().map(|cell| words(cell)).collect();
            for row in rows {
                let cells = row.iter().enumerate().map(|(column, cell)| match names.get(column) {
                    Some(name) if !name.is_empty() => format!("{name}: {}", words(cell)),
                    _ => words(cell),
                });
                lines.push(format!("{lead}{}", cells.collect::<Vec<_>>().join("; ")));
            }
        }
        Block::Rule => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read_row_by_row_with_the_names_of_their_columns() {
        let text = "# One\n\nA **long** `x`\nparagraph.\n\n| call | copies |\n|--|--|\n| `x.cpu()` | 1 |\n\n1. a\n2. b\n\n```\nlet x = 1;\n```\n";
        let lines = lines(&super::super::markdown::parse(text));
        let want = [
            "One",
            "",
            "A long x paragraph.",
            "",
            "call: x.cpu(); copies: 1",
            "",
            "1. a",
            "2. b",
            "",
            "    let x = 1;",
        ];
        assert_eq!(lines, want);
    }
}
