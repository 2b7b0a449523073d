//! Pieces of Rhai code, for its colours, and what it leaves open. Reading never fails: what is not known is plain.

/// What a piece of code is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Token {
    Plain,
    Keyword,
    Text,
    Number,
    Comment,
    /// A name that is called.
    Function,
    /// A name before `::`.
    Module,
}

const KEYWORDS: [&str; 34] = [
    "let",
    "const",
    "if",
    "else",
    "switch",
    "do",
    "while",
    "until",
    "loop",
    "for",
    "in",
    "continue",
    "break",
    "return",
    "throw",
    "try",
    "catch",
    "fn",
    "private",
    "import",
    "export",
    "as",
    "this",
    "true",
    "false",
    "Fn",
    "call",
    "curry",
    "is_def_fn",
    "is_def_var",
    "is_shared",
    "eval",
    "with",
    "is",
];

/// What a line leaves open for the next one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Open {
    #[default]
    Nothing,
    /// `/* … */`, which nests.
    Comment(u32),
    /// A text between backticks.
    Backtick,
}

/// What each character of each line is, and what the last line leaves open.
pub fn tokens<'c>(lines: impl IntoIterator<Item = &'c str>) -> (Vec<Vec<(char, Token)>>, Open) {
    let mut open = Open::default();
    let read = |line: &str| {
        let chars: Vec<char> = line.chars().collect();
        let mut scanner = Scanner { chars: &chars, at: 0, open, out: Vec::with_capacity(chars.len()) };
        scanner.line();
        open = scanner.open;
        let out = scanner.out;
        chars.into_iter().zip(out).collect()
    };
    let read = lines.into_iter().map(read).collect();
    (read, open)
}

struct Scanner<'a> {
    chars: &'a [char],
    at: usize,
    open: Open,
    /// One token per character.
    out: Vec<Token>,
}

impl Scanner<'_> {
    fn line(&mut self) {
        while let Some(c) = self.peek(0) {
            match (self.open, c) {
                (Open::Comment(_), _) => self.comment(),
                (Open::Backtick, _) => self.backtick(),
                (_, '/') if self.peek(1) == Some('/') => self.take(self.chars.len(), Token::Comment),
                (_, '/') if self.peek(1) == Some('*') => {
                    self.take(2, Token::Comment);
                    self.open = Open::Comment(1);
                }
                (_, '`') => {
                    self.take(1, Token::Text);
                    self.open = Open::Backtick;
                }
                (_, '"' | '\'') => self.quoted(c),
                (_, c) if c.is_ascii_digit() => self.number(),
                (_, c) if c.is_alphabetic() || c == '_' => self.word(),
                _ => self.take(1, Token::Plain),
            }
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn take(&mut self, n: usize, token: Token) {
        let n = n.min(self.chars.len().saturating_sub(self.at));
        self.at += n;
        self.out.extend(std::iter::repeat_n(token, n));
    }

    fn comment(&mut self) {
        let Open::Comment(depth) = self.open else { return };
        match (self.peek(0), self.peek(1)) {
            (Some('*'), Some('/')) => {
                self.take(2, Token::Comment);
                self.open = if depth > 1 { Open::Comment(depth - 1) } else { Open::Nothing };
            }
            (Some('/'), Some('*')) => {
                self.take(2, Token::Comment);
                self.open = Open::Comment(depth.saturating_add(1));
            }
            _ => self.take(1, Token::Comment),
        }
    }

    fn backtick(&mut self) {
        if self.peek(0) == Some('`') {
            self.open = Open::Nothing;
        }
        self.take(1, Token::Text);
    }

    fn quoted(&mut self, quote: char) {
        self.take(1, Token::Text);
        while let Some(c) = self.peek(0) {
            self.take(if c == '\\' { 2 } else { 1 }, Token::Text);
            if c == quote {
                return;
            }
        }
    }

    fn number(&mut self) {
        while let Some(c) = self.peek(0) {
            // `1..3` is a range, not a number with two points.
            let point = c == '.' && self.peek(1).is_some_and(|next| next.is_ascii_digit());
            let sign = matches!(c, '+' | '-')
                && self.chars.get(self.at.wrapping_sub(1)).is_some_and(|e| matches!(e, 'e' | 'E'));
            if !(c.is_alphanumeric() || c == '_' || point || sign) {
                return;
            }
            self.take(1, Token::Number);
        }
    }

    fn word(&mut self) {
        let rest = self.chars.get(self.at..).unwrap_or_default();
        let length = rest.iter().take_while(|c| c.is_alphanumeric() || **c == '_').count();
        let word: String = rest.iter().take(length).collect();
        let after = rest.iter().skip(length).find(|c| **c != ' ').copied();
        let token = match after {
            _ if KEYWORDS.contains(&word.as_str()) => Token::Keyword,
            Some(':') if rest.get(length + 1) == Some(&':') => Token::Module,
            Some('(') => Token::Function,
            _ => Token::Plain,
        };
        self.take(length, token);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(code: &str) -> Vec<(String, Token)> {
        let mut all = Vec::new();
        for line in tokens(code.lines()).0 {
            for run in line.chunk_by(|a, b| a.1 == b.1) {
                all.push((run.iter().map(|p| p.0).collect::<String>().trim().to_owned(), run[0].1));
            }
        }
        all.into_iter().filter(|(text, _)| !text.is_empty()).collect()
    }

    #[test]
    fn calls_modules_numbers_and_ranges() {
        let found = pieces("let x = cuda::sum(1..3, 1.5e-3)");
        let want = [
            ("let", Token::Keyword),
            ("x =", Token::Plain),
            ("cuda", Token::Module),
            ("::", Token::Plain),
            ("sum", Token::Function),
            ("(", Token::Plain),
            ("1", Token::Number),
            ("..", Token::Plain),
            ("3", Token::Number),
            (",", Token::Plain),
            ("1.5e-3", Token::Number),
            (")", Token::Plain),
        ];
        assert_eq!(found, want.map(|(text, token)| (text.to_owned(), token)));
    }

    #[test]
    fn comments_nest_and_texts_run_over_lines() {
        let found = pieces("/* a /* b */\nc */ x\n`t\nu` y \"q\\\"r\" // z");
        let comment: Vec<&str> =
            found.iter().filter(|f| f.1 == Token::Comment).map(|f| f.0.as_str()).collect();
        assert_eq!(comment, ["/* a /* b */", "c */", "// z"]);
        let text: Vec<&str> = found.iter().filter(|f| f.1 == Token::Text).map(|f| f.0.as_str()).collect();
        assert_eq!(text, ["`t", "u`", "\"q\\\"r\""]);
    }
}
