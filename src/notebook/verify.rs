//! Holds the outputs of one run against those of another: what differs, cell by cell.
//!
//! Text is compared line by line. Durations and rates (`12.5 ms`, `3.1 GB/s`) may differ, and so may every number in a
//! line that says `modelled` or `measured`, addresses, and the numbers of a figure whose axes show such things.

use super::cell::{Cell, Kind};
use super::document::Notebook;
use super::output::Output;
use crate::base::text::{strip_control, written_over};
use crate::plot::Figure;

/// Lines of one cell that are compared one by one; more are taken as replaced.
const LONGEST: usize = 1500;

/// A cell whose outputs differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// From 0.
    pub place: usize,
    pub id: String,
    pub title: Option<String>,
    /// What is stored was given by an earlier text of the cell.
    pub edited: bool,
    pub lines: Vec<Line>,
}

/// A line of a difference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Line {
    /// Stored, and not given now.
    Gone(String),
    /// Given now, and not stored.
    New(String),
    /// The same in both, beside one that is not.
    Same(String),
}

/// The cells whose outputs differ. Both notebooks have the same cells.
pub fn compare(stored: &Notebook, now: &Notebook) -> Vec<Difference> {
    let both = stored.cells.iter().zip(&now.cells).enumerate();
    let differs = |(place, (old, new)): (usize, (&Cell, &Cell))| {
        let lines =
            if old.kind == Kind::Code { difference(&lines_of(old), &lines_of(new)) } else { Vec::new() };
        let title = new.title().map(String::from);
        let (id, edited) = (new.id.clone(), old.is_edited());
        (!lines.is_empty()).then_some(Difference { place, id, title, edited, lines })
    };
    both.filter_map(differs).collect()
}

/// The lines that two texts differ in, each with a line beside it that both have.
pub(crate) fn lines_that_differ(old: &[String], new: &[String]) -> Vec<Line> {
    let keyed = |lines: &[String]| -> Vec<Keyed> {
        lines.iter().map(|line| (strip_control(line).into_owned(), line.clone())).collect()
    };
    difference(&keyed(old), &keyed(new))
}

/// A line and what of it is compared.
type Keyed = (String, String);

fn lines_of(cell: &Cell) -> Vec<Keyed> {
    let mut lines = Vec::new();
    let mut add = |mark: &str, text: &str| {
        lines.extend(
            written_over(text).lines().map(|line| (line.to_string(), format!("{mark}{}", masked(line)))),
        );
    };
    for output in &cell.outputs {
        match (output, output.figure()) {
            (_, Some(figure)) => add("f", &described(&figure)),
            (Output::Stream { text, .. }, _) => add("s", text),
            (Output::Data { .. }, _) => add("d", &output.text()),
            (Output::Error { .. }, _) => add("e", &output.text()),
            (Output::Other(_), _) => {}
        }
    }
    lines
}

/// A figure in a line for each series; what they show as a number that changes with it.
fn described(figure: &Figure) -> String {
    let labels = format!("{} {} {}", figure.title, figure.x_label, figure.y_label).to_lowercase();
    let words = ["time", "seconds", "modelled", "measured", "/s"];
    let is_timed = words.iter().any(|word| labels.contains(word))
        || labels.split(|c: char| !c.is_alphanumeric()).any(|w| matches!(w, "s" | "ms" | "us" | "ns" | "µs"));
    let mut text = format!("figure '{}' ({} x {})", figure.title, figure.width, figure.height);
    for series in &figure.series {
        let value = serde_json::to_value(series).unwrap_or_default();
        let kind = value.as_object().and_then(|o| o.keys().next().cloned()).unwrap_or_default();
        text += &format!("\n  {kind}");
        if !is_timed {
            let hash = super::hash::Hash::of(value.to_string().as_bytes()).to_string();
            text += &format!(" with content {}", hash.get(..12).unwrap_or_default());
        }
    }
    text
}

/// A line without what may differ from run to run.
fn masked(line: &str) -> String {
    let clock = ["modelled", "measured"].into_iter().find(|clock| line.contains(clock));
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let in_word = out.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        if rest.starts_with("0x") && !in_word {
            let end = rest
                .get(2..)
                .and_then(|r| r.find(|c: char| !c.is_ascii_hexdigit()))
                .map_or(rest.len(), |n| n + 2);
            out.push_str("<address>");
            rest = rest.get(end..).unwrap_or_default();
        } else if c.is_ascii_digit() && !in_word {
            let end = number(rest);
            let (digits, after) = rest.split_at(end);
            match unit(after) {
                Some(length) => {
                    out.push_str("<time>");
                    rest = after.get(length..).unwrap_or_default();
                }
                None => {
                    out.push_str(if clock.is_some() { "<number>" } else { digits });
                    rest = after;
                }
            }
        } else {
            out.push(c);
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
        }
    }
    // How wide a column is depends on its numbers.
    if out.contains("<time>") || clock.is_some() {
        out.split_whitespace().collect::<Vec<_>>().join(" ")
    } else {
        out
    }
}

/// The bytes of a number such as `1,234.5e-3`.
fn number(text: &str) -> usize {
    let mut end = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next_is_digit = chars.peek().is_some_and(|(_, c)| c.is_ascii_digit());
        let exponent = c == 'e' && (next_is_digit || matches!(chars.peek(), Some((_, '-' | '+'))));
        let sign =
            matches!(c, '-' | '+') && text.get(..at).is_some_and(|t| t.ends_with('e')) && next_is_digit;
        if !(c.is_ascii_digit() || (matches!(c, '.' | ',') && next_is_digit) || exponent || sign) {
            break;
        }
        end = at + c.len_utf8();
    }
    end
}

/// The bytes of a unit of time or of a rate, with a blank before it, where one follows.
fn unit(text: &str) -> Option<usize> {
    let blank = usize::from(text.starts_with(' '));
    let rest = text.get(blank..)?;
    let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '/')).unwrap_or(rest.len());
    let word = rest.get(..length)?;
    let is_time =
        matches!(word, "ns" | "us" | "µs" | "μs" | "ms" | "s" | "sec" | "seconds" | "min" | "minutes" | "h");
    let is_rate =
        word.len() > 2 && (word.ends_with("/s") || word.ends_with("FLOPS") || word.ends_with("FLOP/s"));
    (is_time || is_rate).then_some(blank + length)
}

/// What differs between two lists of lines, with a line of what is the same around it; nothing where nothing does.
fn difference(old: &[Keyed], new: &[Keyed]) -> Vec<Line> {
    let same = |a: &Keyed, b: &Keyed| a.1 == b.1;
    let head = old.iter().zip(new).take_while(|(a, b)| same(a, b)).count();
    let (old_rest, new_rest) = (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| same(a, b)).count();
    let (old_mid, new_mid) = (
        old_rest.get(..old_rest.len() - tail).unwrap_or_default(),
        new_rest.get(..new_rest.len() - tail).unwrap_or_default(),
    );
    if old_mid.is_empty() && new_mid.is_empty() {
        return Vec::new();
    }
    let mut lines = Vec::new();
    lines.extend(head.checked_sub(1).and_then(|at| new.get(at)).map(|line| Line::Same(line.0.clone())));
    let kept = if old_mid.len().max(new_mid.len()) > LONGEST { Vec::new() } else { common(old_mid, new_mid) };
    let (mut i, mut j) = (0, 0);
    for (a, b) in kept.into_iter().chain([(old_mid.len(), new_mid.len())]) {
        lines.extend(old_mid.get(i..a).unwrap_or_default().iter().map(|line| Line::Gone(line.0.clone())));
        lines.extend(new_mid.get(j..b).unwrap_or_default().iter().map(|line| Line::New(line.0.clone())));
        lines.extend(new_mid.get(b).map(|line| Line::Same(line.0.clone())));
        (i, j) = (a + 1, b + 1);
    }
    lines.extend(new_rest.get(new_mid.len()).map(|line| Line::Same(line.0.clone())));
    lines
}

/// The places of a longest list of lines that both have in this order.
fn common(old: &[Keyed], new: &[Keyed]) -> Vec<(usize, usize)> {
    let width = new.len() + 1;
    // How many lines the ends from (i, j) on have in common.
    let mut table = vec![0u16; (old.len() + 1) * width];
    let at = |table: &[u16], i: usize, j: usize| table.get(i * width + j).copied().unwrap_or(0);
    for (i, a) in old.iter().enumerate().rev() {
        for (j, b) in new.iter().enumerate().rev() {
            let value = if a.1 == b.1 {
                at(&table, i + 1, j + 1).saturating_add(1)
            } else {
                at(&table, i + 1, j).max(at(&table, i, j + 1))
            };
            if let Some(place) = table.get_mut(i * width + j) {
                *place = value;
            }
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut pairs = Vec::new();
    while let (Some(a), Some(b)) = (old.get(i), new.get(j)) {
        if a.1 == b.1 {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if at(&table, i + 1, j) >= at(&table, i, j + 1) {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Series;
    use crate::session::protocol::{Display, Stream};

    fn notebook(outputs: Vec<Output>) -> Notebook {
        let mut notebook = Notebook::new([Cell::code("x")]);
        notebook.cells[0].outputs = outputs;
        notebook
    }

    fn printed(text: &str) -> Notebook {
        notebook(vec![Output::stream(Stream::Stdout, text)])
    }

    /// The lines with their marks.
    fn told(old: &str, new: &str) -> String {
        let all = compare(&printed(old), &printed(new));
        let line = |line: &Line| match line {
            Line::Gone(text) => format!("-{text}"),
            Line::New(text) => format!("+{text}"),
            Line::Same(text) => format!(" {text}"),
        };
        all.iter().flat_map(|d| &d.lines).map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn lines_that_differ_are_told_with_their_neighbours() {
        assert_eq!(told("a\nb\nc\nd\n", "a\nb\nc\nd\n"), "");
        assert_eq!(told("a\nb\nc\nd\n", "a\nb\nX\nd\n"), " b\n-c\n+X\n d");
        assert_eq!(told("a\n", ""), "-a");
        assert_eq!(told("", "a\nb"), "+a\n+b");
        assert_eq!(told("a\nb\nc", "X\nb\nY"), "-a\n+X\n b\n-c\n+Y");
        assert_eq!(told("1\n2\n3\n4", "2\n3\n4\n5"), "-1\n 2\n 3\n 4\n+5");
        let many: String = (0..5000).map(|i| format!("{i}\n")).collect();
        assert!(told(&many, &many.replace("17\n", "x\n")).lines().count() > 2);
    }

    #[test]
    fn times_and_modelled_numbers_may_differ() {
        for (old, new) in [
            ("took 12.5 ms", "took 8 ms"),
            ("epoch 1: 3.2s", "epoch 1: 10.75s"),
            ("copied at 3.1 GB/s", "copied at 12.75 GB/s"),
            ("  1.5 us  x", "100.5 us  x"),
            ("launch  4 (modelled)", "launch  7 (modelled)"),
            ("12 done in 1e-3 s", "12 done in 2.5e-4 s"),
            (
                "#{\"clock\": \"measured\", \"median_ms\": 0.00025}",
                "#{\"clock\": \"measured\", \"median_ms\": 0.5}",
            ),
            ("at 0x7f00", "at 0x8a10"),
            ("1,234.5 ms.", "9 ms."),
        ] {
            assert_eq!(told(old, new), "", "{old} | {new}");
        }
        for (old, new) in [
            ("loss 1.5", "loss 1.25"),
            ("3 samples", "4 samples"),
            ("x3 s", "x4 s"),
            ("2 sheep", "3 sheep"),
            ("epoch 1: 3.2s", "epoch 2: 3.2s"),
            ("5 M", "6 M"),
        ] {
            assert_ne!(told(old, new), "", "{old} | {new}");
        }
    }

    #[test]
    fn figures_are_compared_by_what_they_show() {
        let figure = |y: Vec<f64>, label: &str| {
            let line = Series::Line { x: vec![], y, label: String::new() };
            let figure = Figure { y_label: label.into(), series: vec![line], ..Figure::default() };
            notebook(vec![Output::display(&Display::Figure { figure: Box::new(figure) })])
        };
        assert!(compare(&figure(vec![1.0], "loss"), &figure(vec![1.0], "loss")).is_empty());
        assert_eq!(compare(&figure(vec![1.0], "loss"), &figure(vec![2.0], "loss")).len(), 1);
        assert!(compare(&figure(vec![1.0], "ms"), &figure(vec![2.0], "ms")).is_empty());
    }

    #[test]
    fn the_kind_of_an_output_counts() {
        let stored = printed("2");
        let now = notebook(vec![Output::result("2", 1)]);
        assert_eq!(compare(&stored, &now).len(), 1);
        let count = |n| notebook(vec![Output::result("2", n)]);
        assert!(compare(&count(1), &count(7)).is_empty(), "counts of runs may differ");
    }
}
