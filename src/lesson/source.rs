//! A lesson file as lines of clean text.

use super::error::{LessonError, MAX_ERRORS};
use super::text;

/// Longest line of a lesson file, in bytes.
pub(crate) const MAX_LINE_BYTES: usize = 16 * 1024;

/// Largest lesson file, in bytes.
pub(super) const MAX_FILE_BYTES: usize = 1024 * 1024;

/// The lines of a lesson file: UTF-8, without line breaks, byte-order mark and control characters.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Source {
    file: String,
    lines: Vec<String>,
}

/// What a file is, for what is said of one that can't be read.
pub(super) struct Sort {
    name: &'static str,
    begins: &'static str,
    format: &'static str,
    split: &'static str,
}

const LESSON: Sort = Sort {
    name: "a lesson",
    begins: "a lesson begins with its front matter between two +++ lines",
    format: "a lesson is a Markdown file in UTF-8",
    split: "split it into lessons, and put data into the pack's datasets",
};

/// A pack's manifest.
pub(super) const MANIFEST: Sort = Sort {
    name: "a manifest",
    begins: "write format_version = 1, id = \"…\", version = \"0.1.0\", title = \"…\" and so on; `tensorlab pack new DIR` \
             makes one to begin with",
    format: "a manifest is TOML text in UTF-8",
    split: "a manifest names files: put data into them",
};

/// What reading the bytes gave. Where `fatal`, the lines are not worth parsing.
pub(super) struct Decoded {
    pub source: Source,
    /// The first ones.
    pub errors: Vec<LessonError>,
    /// How many more there are.
    pub hidden: usize,
    pub fatal: bool,
}

impl Source {
    /// The file as it was named, free of control characters.
    pub(super) fn file(&self) -> &str {
        &self.file
    }

    /// How many lines the file has.
    pub(crate) fn line_count(&self) -> usize {
        self.lines.len()
    }

    /// The text of a line counted from 1; empty beyond the end.
    pub(super) fn line(&self, number: usize) -> &str {
        number.checked_sub(1).and_then(|index| self.lines.get(index)).map_or("", String::as_str)
    }

    /// The lines from `first` (from 1) to the end, each with its number.
    pub(super) fn lines_from(&self, first: usize) -> impl Iterator<Item = (usize, &str)> {
        self.lines
            .iter()
            .enumerate()
            .map(|(index, line)| (index + 1, line.as_str()))
            .skip(first.saturating_sub(1))
    }

    /// An error at a place of this file, with its source line. An empty hint means none.
    pub(super) fn error(
        &self,
        line: usize,
        column: usize,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> LessonError {
        let hint: String = hint.into();
        LessonError {
            file: self.file.clone(),
            line: line.max(1),
            column: column.max(1),
            message: text::strip(&message.into()).replace('\n', " "),
            hint: (!hint.is_empty()).then(|| text::strip(&hint).replace('\n', " ")),
            source_line: self.line(line).to_owned(),
        }
    }

    /// A file that is not read, for it has more bytes than a lesson may have.
    pub(super) fn too_large(file: &str, bytes: u64) -> LessonError {
        Source::decode(file, b"").source.larger(&LESSON, bytes)
    }

    fn larger(&self, sort: &Sort, bytes: u64) -> LessonError {
        let message = format!("the file has {bytes} bytes, {} at most {MAX_FILE_BYTES}", sort.name);
        self.error(1, 1, message, sort.split)
    }

    /// Reads the bytes of a lesson file and reports what is not text.
    pub(super) fn decode(file: &str, bytes: &[u8]) -> Decoded {
        Source::decode_as(&LESSON, file, bytes)
    }

    /// The same for another sort of file.
    pub(super) fn decode_as(sort: &Sort, file: &str, bytes: &[u8]) -> Decoded {
        let mut decoded = Decoded {
            source: Source { file: text::strip(file).replace('\n', " "), lines: Vec::new() },
            errors: Vec::new(),
            hidden: 0,
            fatal: true,
        };
        if let Some(error) = decoded.source.refuse(sort, bytes) {
            decoded.errors.push(error);
            return decoded;
        }
        let size = decoded.read_lines(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes));
        if size > MAX_FILE_BYTES {
            let error = decoded.source.larger(sort, size as u64);
            decoded.errors.push(error);
        } else if decoded.source.lines.iter().all(|l| l.trim().is_empty()) && decoded.errors.is_empty() {
            let error = decoded.source.error(1, 1, "the file is empty", sort.begins);
            decoded.errors.push(error);
        } else {
            decoded.fatal = false;
        }
        decoded
    }

    /// The reason why these bytes can't be a text file at all.
    fn refuse(&self, sort: &Sort, bytes: &[u8]) -> Option<LessonError> {
        if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
            return Some(self.error(1, 1, "the file is UTF-16 text", "save it as UTF-8 in your editor"));
        }
        let nul = bytes.iter().position(|&b| b == 0)?;
        let before = bytes.get(..nul).unwrap_or_default();
        let line = split_lines(before).count();
        let last = split_lines(before).last().unwrap_or_default();
        let column = String::from_utf8_lossy(last).chars().count() + 1;
        Some(self.error(line, column, "the file is binary: it holds a zero byte", sort.format))
    }
}

impl Decoded {
    /// Keeps the lines of a file, and gives its size; of one that is too large, all lines are counted and not kept.
    fn read_lines(&mut self, bytes: &[u8]) -> usize {
        let mut size = 0;
        let mut lines = split_lines(bytes).peekable();
        while let Some(line) = lines.next() {
            if line.is_empty() && lines.peek().is_none() {
                break;
            }
            if size > MAX_FILE_BYTES {
                size += line.len() + 1;
                continue;
            }
            let number = self.source.lines.len() + 1;
            let (kept, fault) = read_line(line);
            size += kept.len() + 1;
            self.source.lines.push(kept);
            if let Some((column, message, hint)) = fault {
                if self.errors.len() >= MAX_ERRORS {
                    self.hidden += 1;
                    continue;
                }
                let mut error = self.source.error(number, column, message, hint);
                if line.len() > MAX_LINE_BYTES {
                    let head = line.get(..256).unwrap_or_default();
                    error.source_line = text::strip(&String::from_utf8_lossy(head));
                }
                self.errors.push(error);
            }
        }
        size
    }
}

type LineFault = (usize, String, &'static str);

/// The clean text of one line, and what was wrong with it.
fn read_line(bytes: &[u8]) -> (String, Option<LineFault>) {
    if bytes.len() > MAX_LINE_BYTES {
        let message = format!("the line has {} bytes, a lesson's line at most {MAX_LINE_BYTES}", bytes.len());
        return (String::new(), Some((1, message, "break the line, or put the data into a file")));
    }
    match std::str::from_utf8(bytes) {
        Ok(line) => (text::strip(line), None),
        Err(error) => {
            let (valid, rest) = bytes.split_at_checked(error.valid_up_to()).unwrap_or_default();
            let clean = text::strip(&String::from_utf8_lossy(valid));
            let message =
                format!("byte 0x{:02x} is not UTF-8 text", rest.first().copied().unwrap_or_default());
            (
                text::strip(&String::from_utf8_lossy(bytes)),
                Some((clean.chars().count() + 1, message, "save the file as UTF-8 in your editor")),
            )
        }
    }
}

/// Lines as CommonMark counts them: ended by LF, CR or CR LF. Text that ends in a break has a last, empty line.
fn split_lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(bytes);
    std::iter::from_fn(move || {
        let all = rest?;
        let Some(end) = all.iter().position(|&b| b == b'\n' || b == b'\r') else {
            rest = None;
            return Some(all);
        };
        let (line, tail) = all.split_at_checked(end)?;
        rest = tail.strip_prefix(b"\r\n").or_else(|| tail.split_first().map(|(_, after)| after));
        Some(line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<String> {
        Source::decode("a.md", bytes).source.lines
    }

    #[test]
    fn every_kind_of_line_break_counts_once() {
        assert_eq!(lines(b"a\r\nb\nc\rd"), ["a", "b", "c", "d"]);
        assert_eq!(lines(b"a\r\n\r\nb\n"), ["a", "", "b"]);
        assert_eq!(lines(b"\xef\xbb\xbfa\n"), ["a"]);
    }

    #[test]
    fn a_byte_that_is_no_text_is_placed() {
        let decoded = Source::decode("a.md", b"one\ntwo \xff three\n");
        let error = &decoded.errors[0];
        assert_eq!((error.line, error.column), (2, 5));
        assert!(error.message.contains("0xff"));
        assert!(!decoded.fatal);
    }

    #[test]
    fn binary_utf16_empty_and_oversized_files_are_refused() {
        let decoded = Source::decode("a.md", b"ab\nc\0d");
        assert_eq!((decoded.errors[0].line, decoded.errors[0].column), (2, 2));
        assert!(decoded.fatal && decoded.errors[0].message.contains("binary"));
        let decoded = Source::decode("a.md", b"\xff\xfea\0");
        assert!(decoded.fatal && decoded.errors[0].message.contains("UTF-16"));
        for empty in [&b""[..], b"\n\n", b"\xef\xbb\xbf", b"  \t\r\n"] {
            let decoded = Source::decode("a.md", empty);
            assert!(decoded.fatal && decoded.errors[0].message.contains("empty"));
        }
        let big = "short line\n".repeat(MAX_FILE_BYTES / 10);
        let decoded = Source::decode("a.md", big.as_bytes());
        assert!(decoded.fatal && decoded.errors[0].message.contains("at most 1048576"));
    }

    #[test]
    fn a_huge_line_is_reported_at_its_line_and_the_rest_is_read() {
        let text = format!("a\n{}\nb\n", "x".repeat(10_000_000));
        let decoded = Source::decode("a.md", text.as_bytes());
        assert!(!decoded.fatal);
        assert_eq!(decoded.source.lines, ["a", "", "b"]);
        assert_eq!(decoded.errors[0].line, 2);
        assert!(decoded.errors[0].source_line.len() <= 256);
    }
}
