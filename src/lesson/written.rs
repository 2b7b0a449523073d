//! Blocks of Markdown as the text that they are made of.

use std::fmt::Write;

use super::markdown::{Align, Block, Inline};

/// Markdown that [`parse`](super::markdown::parse) reads as these blocks.
pub(crate) fn written(blocks: &[Block]) -> String {
    let all: Vec<String> = blocks.iter().map(block).collect();
    all.join("\n\n")
}

fn block(block: &Block) -> String {
    match block {
        Block::Heading { level, text } => format!("{} {}", "#".repeat(usize::from(*level)), line(text)),
        Block::Paragraph(text) => sentence(&line(text)),
        Block::Code { language, text } => {
            let fence = fence(text, 3);
            format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
        }
        Block::List { start, items } => list(*start, items),
        Block::Quote(inner) => written(inner).lines().map(|line| format!("> {line}\n")).collect(),
        Block::Table { align, head, rows } => table(align, head, rows),
        Block::Rule => "---".into(),
    }
}

/// A paragraph; one that begins with a number and a point would read as a list.
fn sentence(text: &str) -> String {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    match text.split_at_checked(digits) {
        Some((number, rest)) if digits > 0 && rest.starts_with(['.', ')']) => format!("{number}\\{rest}"),
        _ => text.to_owned(),
    }
}

fn list(start: Option<u64>, items: &[Vec<Block>]) -> String {
    let mut out = String::new();
    for (at, item) in (0u64..).zip(items) {
        let mark = start.map_or_else(|| "- ".to_owned(), |first| format!("{}. ", first.saturating_add(at)));
        for (row, text) in written(item).lines().enumerate() {
            let indent = if row == 0 { mark.clone() } else { " ".repeat(mark.len()) };
            let _ = writeln!(out, "{}", format!("{indent}{text}").trim_end());
        }
    }
    out.trim_end().to_owned()
}

fn table(align: &[Align], head: &[Vec<Inline>], rows: &[Vec<Vec<Inline>>]) -> String {
    let cells = |row: &[Vec<Inline>]| -> String {
        let texts: Vec<String> = row.iter().map(|cell| line(cell).replace('|', "\\|")).collect();
        format!("| {} |", texts.join(" | "))
    };
    let marks = align.iter().map(|align| match align {
        Align::Left => ":--",
        Align::Center => ":-:",
        Align::Right => "--:",
    });
    let ruler = format!("| {} |", marks.collect::<Vec<_>>().join(" | "));
    let rows = rows.iter().map(|row| cells(row));
    [cells(head), ruler].into_iter().chain(rows).collect::<Vec<_>>().join("\n")
}

fn line(text: &[Inline]) -> String {
    text.iter().map(inline).collect()
}

fn inline(part: &Inline) -> String {
    match part {
        Inline::Text(text) => escaped(text),
        Inline::Code(code) => {
            let tick = fence(code, 1);
            let room = if code.starts_with('`') || code.ends_with('`') { " " } else { "" };
            format!("{tick}{room}{code}{room}{tick}")
        }
        Inline::Emphasis(inner) => format!("*{}*", line(inner)),
        Inline::Strong(inner) => format!("**{}**", line(inner)),
        Inline::Strike(inner) => format!("~~{}~~", line(inner)),
        Inline::Link { text, target } => format!("[{}](<{target}>)", line(text)),
        Inline::Image { alt, target } => format!("![{}](<{target}>)", escaped(alt)),
        Inline::Break => "\\\n".into(),
    }
}

/// More backticks than follow each other in a text, and at least so many.
fn fence(text: &str, least: usize) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(least.max(if longest >= least { longest + 1 } else { least }))
}

/// Text in which nothing is a mark.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if matches!(c, '\\' | '*' | '_' | '`' | '[' | ']' | '<' | '>' | '#' | '~' | '&' | '|') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lesson::markdown::parse;
    use crate::lesson::{Element, built_in};

    #[test]
    fn what_is_written_reads_as_the_same() {
        let mut count = 0;
        for (file, text) in built_in() {
            let lesson = crate::lesson::parse(file, text.as_bytes()).unwrap();
            for step in &lesson.steps {
                let mut all = vec![step.text.clone()];
                match &step.element {
                    Some(Element::Predict(predict)) => {
                        all.extend([predict.ask.clone(), predict.explain.clone()])
                    }
                    Some(Element::Quiz(quiz)) => {
                        all.extend(quiz.choices.iter().flat_map(|c| [c.text.clone(), c.explain.clone()]));
                    }
                    _ => {}
                }
                for blocks in all {
                    let again = written(&blocks);
                    assert_eq!(parse(&again), blocks, "{file}, step {}:\n{again}", step.id);
                    count += 1;
                }
            }
        }
        assert!(count > 300, "{count}");
    }
}
