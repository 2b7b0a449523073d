//! Rows under a header, in columns of text.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::text::strip_control;

/// A table's lines, the header first, and how wide its columns are.
pub struct Table {
    pub lines: Vec<String>,
    pub widths: Vec<usize>,
}

/// Lays cells out in columns of at most `widest`, two spaces apart; what is longer ends in `…`. Columns of numbers, with
/// their units, stand at the right. Cells are made safe to show, each on one line.
pub(crate) fn aligned(header: &[String], rows: &[Vec<String>], widest: usize) -> Table {
    let clean = |cells: &[String]| -> Vec<String> {
        cells.iter().map(|cell| clipped(&strip_control(cell).replace(['\n', '\t'], " "), widest)).collect()
    };
    let all: Vec<Vec<String>> =
        std::iter::once(header).chain(rows.iter().map(Vec::as_slice)).map(clean).collect();
    let columns = all.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            all.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max().unwrap_or(0)
        })
        .collect();
    let numbers: Vec<bool> = (0..columns)
        .map(|column| {
            let mut cells = rows.iter().filter_map(|row| row.get(column)).peekable();
            cells.peek().is_some() && cells.all(|cell| is_number(cell))
        })
        .collect();
    let line = |row: &Vec<String>| {
        let cells = widths.iter().zip(&numbers).enumerate().map(|(column, (width, right))| {
            let text = row.get(column).map_or("", String::as_str);
            let fill = " ".repeat(width.saturating_sub(text.width()));
            if *right { fill + text } else { text.to_owned() + fill.as_str() }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    Table { lines: all.iter().map(line).collect(), widths }
}

/// A number, one with a unit such as `1.5 MiB`, or nothing where numbers stand.
fn is_number(cell: &str) -> bool {
    let first = cell.split_whitespace().next().unwrap_or_default();
    matches!(first, "" | "–" | "-") || first.replace(',', "").trim_end_matches('%').parse::<f64>().is_ok()
}

fn clipped(text: &str, widest: usize) -> String {
    if text.width() <= widest {
        return text.to_owned();
    }
    let mut left = widest.saturating_sub(1);
    let fits = |c: &char| match left.checked_sub(c.width().unwrap_or(0)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(header: &[&str], rows: &[&[&str]], widest: usize) -> Vec<String> {
        let owned = |cells: &[&str]| -> Vec<String> { cells.iter().map(ToString::to_string).collect() };
        let rows: Vec<Vec<String>> = rows.iter().map(|row| owned(row)).collect();
        aligned(&owned(header), &rows, widest).lines
    }

    #[test]
    fn numbers_stand_at_the_right_with_their_units() {
        let rows: &[&[&str]] = &[&["x", "1", "1.5 MiB", "a"], &["long\nname", "1,000", "–", "-1"]];
        let want = [
            "name           n   memory  either",
            "x              1  1.5 MiB  a",
            "long name  1,000        –  -1",
        ];
        assert_eq!(lines(&["name", "n", "memory", "either"], rows, 40), want);
        assert_eq!(lines(&["a"], &[], 40), ["a"]);
    }

    #[test]
    fn what_is_wide_is_cut_by_columns_and_what_steers_a_terminal_goes() {
        assert_eq!(lines(&["a"], &[&["日本語です"], &["b\u{1b}[31m"]], 6), ["a", "日本…", "b"]);
    }

    #[test]
    fn rows_may_be_short() {
        assert_eq!(lines(&["a", "b"], &[&["x"], &["y", "2"]], 9), ["a  b", "x", "y  2"]);
    }
}
