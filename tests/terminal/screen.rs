//! What a terminal shows of the bytes that a program writes: as much of ECMA-48 as the lab uses.

use unicode_width::UnicodeWidthChar;

/// A grid of characters, and where the cursor is.
pub struct Screen {
    rows: Vec<Vec<char>>,
    columns: usize,
    cursor: (usize, usize),
    /// The alternate screen is shown: entering it again clears nothing, as in tmux.
    alternate: bool,
    /// Bytes of a sequence or a character that is not whole yet.
    held: Vec<u8>,
    /// Device attributes that were asked for, bytes of sixels and texts for the clipboard.
    pub asked: usize,
    pub sixels: usize,
}

impl Screen {
    pub fn new(rows: usize, columns: usize) -> Screen {
        let rows = vec![vec![' '; columns]; rows];
        Screen { rows, columns, cursor: (0, 0), alternate: false, held: Vec::new(), asked: 0, sixels: 0 }
    }

    pub fn resize(&mut self, rows: usize, columns: usize) {
        self.columns = columns;
        self.rows = vec![vec![' '; columns]; rows];
    }

    pub fn text(&self) -> String {
        let line =
            |row: &Vec<char>| row.iter().filter(|c| **c != '\0').collect::<String>().trim_end().to_string();
        self.rows.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
        let held = std::mem::take(&mut self.held);
        let mut at = 0;
        while at < held.len() {
            match self.step(&held[at..]) {
                Some(length) => at += length,
                None => break,
            }
        }
        self.held = held[at..].to_vec();
    }

    /// Takes the first thing of `bytes` and gives its length; `None` where it is not whole.
    fn step(&mut self, bytes: &[u8]) -> Option<usize> {
        match bytes {
            [0x1b, b'[', rest @ ..] => {
                let end = rest.iter().position(|byte| (0x40..=0x7e).contains(byte))?;
                self.control(std::str::from_utf8(&rest[..end]).unwrap(), rest[end]);
                Some(end + 3)
            }
            // Strings for the terminal end in ST or BEL; sixels are one of them.
            [0x1b, kind @ (b']' | b'P' | b'_' | b'^'), rest @ ..] => {
                let st = rest.windows(2).position(|two| two == b"\x1b\\").map(|at| at + 2);
                let bell = rest.iter().position(|byte| *byte == 7).filter(|_| *kind == b']').map(|at| at + 1);
                let length = st.into_iter().chain(bell).min()?;
                self.sixels += if *kind == b'P' { length } else { 0 };
                Some(length + 2)
            }
            [0x1b] => None,
            [0x1b, ..] => Some(2),
            [b'\r', ..] => self.go(self.cursor.0, 0),
            [b'\n', ..] => self.go(self.cursor.0 + 1, self.cursor.1),
            [8, ..] => self.go(self.cursor.0, self.cursor.1.saturating_sub(1)),
            [byte, ..] if *byte < 0x20 => Some(1),
            _ => self.print(bytes),
        }
    }

    fn go(&mut self, row: usize, column: usize) -> Option<usize> {
        self.cursor = (row.min(self.rows.len().saturating_sub(1)), column.min(self.columns));
        Some(1)
    }

    fn print(&mut self, bytes: &[u8]) -> Option<usize> {
        let length = match bytes[0] {
            0..=0x7f => 1,
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            _ => 4,
        };
        let text = std::str::from_utf8(bytes.get(..length)?).expect("the lab writes UTF-8");
        let character = text.chars().next().unwrap();
        let (row, column) = self.cursor;
        let width = character.width().unwrap_or(0);
        if let Some(cells) = self.rows.get_mut(row)
            && width > 0
            && column + width <= self.columns
        {
            cells[column] = character;
            // What a wide character covers is no character of its own.
            cells[column + 1..column + width].fill('\0');
        }
        self.cursor.1 = (column + width).min(self.columns);
        Some(length)
    }

    fn control(&mut self, inner: &str, last: u8) {
        let mut numbers = inner.split(';').map(|n| n.parse::<usize>().unwrap_or(0));
        let (first, second) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        let (row, column) = self.cursor;
        match last {
            b'H' | b'f' => drop(self.go(first.max(1) - 1, second.max(1) - 1)),
            b'A' => drop(self.go(row.saturating_sub(first.max(1)), column)),
            b'B' => drop(self.go(row + first.max(1), column)),
            b'C' => drop(self.go(row, column + first.max(1))),
            b'D' => drop(self.go(row, column.saturating_sub(first.max(1)))),
            b'G' => drop(self.go(row, first.max(1) - 1)),
            b'd' => drop(self.go(first.max(1) - 1, column)),
            b'J' if first == 2 => self.rows.iter_mut().for_each(|cells| cells.fill(' ')),
            b'J' => {
                self.rows[row][column.min(self.columns)..].fill(' ');
                self.rows[row + 1..].iter_mut().for_each(|cells| cells.fill(' '));
            }
            b'K' => self.rows[row][column.min(self.columns)..].fill(' '),
            b'c' if inner.is_empty() => self.asked += 1,
            b'h' | b'l' if inner == "?1049" => {
                if self.alternate != (last == b'h') {
                    self.rows.iter_mut().for_each(|cells| cells.fill(' '));
                }
                self.alternate = last == b'h';
            }
            // Colours and modes are seen in the bytes.
            _ => {}
        }
    }
}

#[test]
fn what_is_written_is_shown_where_it_belongs() {
    let mut screen = Screen::new(3, 10);
    screen.feed(b"one\x1b[2;3Htw\x1b[1mo\x1b[0m\x1b[3;9Habc\x1b]52;c;eA==\x07\x1b[c\x1bPq#0\x1b\\");
    assert_eq!(screen.text(), "one\n  two\n        ab");
    assert_eq!((screen.asked, screen.sixels), (1, 5));
    screen.feed("\x1b[1;1H猫x\x1b[2;1".as_bytes());
    screen.feed(b"H\x1b[K\x1b[3;1Hend");
    assert_eq!(screen.text(), "猫x\n\nend     ab");
    screen.feed(b"\x1b[?1049h\x1b[1;1Hin");
    screen.feed(b"\x1b[?1049h");
    assert_eq!(screen.text(), "in\n\n");
    screen.feed(b"\x1b[?1049l");
    assert_eq!(screen.text(), "\n\n");
}
