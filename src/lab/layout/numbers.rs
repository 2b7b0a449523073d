//! Printed rows of numbers, as a tensor has them, broken for a pane that is narrower than what they were printed for.

use crate::lab::model::output::OutLine;
use crate::lab::model::text;

/// A row of numbers in lines of at most `columns`: what goes on stands below the first number, as PyTorch has it. `below`
/// are the lines that follow; those that the row goes on in are counted. `None` where it is no such row, or fits.
pub(super) fn row(first: &OutLine, below: &[&OutLine], columns: usize) -> Option<(Vec<String>, usize)> {
    // Most lines fit: there may be very many of them.
    if first.cut > 0 || text::width(&first.text) <= columns {
        return None;
    }
    let bracket = first.text.rfind('[')? + 1;
    if !are_numbers(first.text.get(bracket..)?) {
        return None;
    }
    let mut whole = first.text.clone();
    let mut taken = 0;
    for line in below {
        let goes_on = whole.ends_with(',') && line.ink == first.ink && line.cut == 0;
        let Some(more) = going_on(&line.text, bracket).filter(|_| goes_on) else { break };
        whole.push(' ');
        whole.push_str(more);
        taken += 1;
    }
    let hang = text::width(first.text.get(..bracket)?);
    (hang * 2 <= columns).then(|| (broken(&whole, hang, columns), taken))
}

/// What a line has of a row that began above it: numbers below the first one, which may be filled at the left.
fn going_on(line: &str, bracket: usize) -> Option<&str> {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let more = line.get(indent.min(bracket)..)?;
    (indent > 0 && !more.contains('[') && are_numbers(more)).then_some(more)
}

/// Whether a text is numbers with commas, up to a bracket that closes.
fn are_numbers(row: &str) -> bool {
    let inside = row.split(']').next().unwrap_or(row);
    let inside = inside.strip_suffix(',').unwrap_or(inside);
    let mut all = inside.split(',').map(str::trim);
    all.clone().count() > 1
        && all.all(|word| {
            matches!(word, "True" | "False" | "..." | "nan" | "inf" | "-inf") || word.parse::<f64>().is_ok()
        })
}

/// Lines that end behind a comma, all but the first behind `hang` spaces.
fn broken(row: &str, hang: usize, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    // A number may be filled at the left: one space belongs to the comma.
    for part in row.split_inclusive(", ") {
        let taken = text::width(part.trim_end());
        if text::width(&line) + taken > columns && line.trim_end().ends_with(',') {
            lines.push(line.trim_end().to_owned());
            line = " ".repeat(hang);
        }
        line.push_str(part);
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::model::output::Ink;

    fn shown(printed: &str, columns: usize) -> Vec<String> {
        let lines: Vec<OutLine> =
            printed.lines().map(|text| OutLine { text: text.to_owned(), ink: Ink::Value, cut: 0 }).collect();
        let mut rest: &[OutLine] = &lines;
        let mut out = Vec::new();
        while let Some((first, below)) = rest.split_first() {
            let below_them: Vec<&OutLine> = below.iter().collect();
            match row(first, &below_them, columns) {
                Some((rows, taken)) => {
                    out.extend(rows);
                    rest = &below[taken..];
                }
                None => {
                    out.push(first.text.clone());
                    rest = below;
                }
            }
        }
        out
    }

    #[test]
    fn rows_are_broken_as_the_library_breaks_them_for_a_narrower_line() {
        let printed = "tensor([[ 0.7269,  0.1293, -0.3659,  0.7862,  0.7212,  0.2940,  0.3847,\n          \
                       0.4462,  0.1140],\n        [ 0.1302,  0.2967,  0.3002,  0.9530,  0.9414,  0.2304,  \
                       0.5633,\n         -0.6197,  0.5254]], device='cuda:0')";
        assert_eq!(
            shown(printed, 50),
            [
                "tensor([[ 0.7269,  0.1293, -0.3659,  0.7862,",
                "          0.7212,  0.2940,  0.3847,  0.4462,",
                "          0.1140],",
                "        [ 0.1302,  0.2967,  0.3002,  0.9530,",
                "          0.9414,  0.2304,  0.5633, -0.6197,",
                "          0.5254]], device='cuda:0')",
            ]
        );
        assert_eq!(shown(printed, 80), printed.lines().collect::<Vec<_>>());
        assert_eq!(
            shown("tensor([True, False, True, ..., False])", 26),
            ["tensor([True, False, True,", "        ..., False])"]
        );
    }

    #[test]
    fn other_lines_stay_as_they_are() {
        for line in
            ["a list of words [see, there, and, elsewhere, too]", "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11", "[1]"]
        {
            assert_eq!(shown(line, 20), [line]);
        }
        // With a bracket that far right, the numbers would have no room.
        assert_eq!(shown("the losses were [1.5, 2.5, 3.5]", 24), ["the losses were [1.5, 2.5, 3.5]"]);
    }
}
