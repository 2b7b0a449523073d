//! Tokens of Rhai code, for its colours. It never fails: what it does not know is plain.

use ratatui::style::Style;

use super::theme::Theme;

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
enum Open {
    #[default]
    Nothing,
    /// `/* … */`, which nests.
    Comment(u32),
    /// A text between backticks.
    Backtick,
}

/// The characters of each line with their styles.
pub fn styled(lines: &[String], theme: &Theme) -> Vec<Vec<(char, Style)>> {
    let mut open = Open::default();
    lines
        .iter()
        .map(|line| {
            let chars: Vec<char> = line.chars().collect();
            let mut scanner = Scanner { chars: &chars, at: 0, open, out: Vec::with_capacity(chars.len()) };
            scanner.line();
            open = scanner.open;
            chars.iter().zip(scanner.out).map(|(c, token)| (*c, style(token, theme))).collect()
        })
        .collect()
}

/// The names in each line that may be variables, each once: no keywords, calls, modules or properties.
pub fn names(lines: &[String]) -> Vec<Vec<String>> {
    let mut open = Open::default();
    let of_line = |line: &String| {
        let chars: Vec<char> = line.chars().collect();
        let mut scanner = Scanner { chars: &chars, at: 0, open, out: Vec::with_capacity(chars.len()) };
        scanner.line();
        open = scanner.open;
        let tokens = scanner.out;
        let mut found: Vec<String> = Vec::new();
        let mut at = 0;
        while let Some(c) = chars.get(at) {
            let length = chars.iter().skip(at).take_while(|c| c.is_alphanumeric() || **c == '_').count();
            let starts = (c.is_alphabetic() || *c == '_') && tokens.get(at) == Some(&Token::Plain);
            // `0..n` is a range.
            let dots = chars.iter().take(at).rev().take_while(|c| **c == '.').count();
            let property = dots == 1;
            if starts && !property {
                let name: String = chars.iter().skip(at).take(length).collect();
                if !found.contains(&name) {
                    found.push(name);
                }
            }
            at += length.max(1);
        }
        found
    };
    lines.iter().map(of_line).collect()
}

fn style(token: Token, theme: &Theme) -> Style {
    match token {
        Token::Plain => theme.text,
        Token::Keyword => theme.keyword,
        Token::Text => theme.string,
        Token::Number => theme.number,
        Token::Comment => theme.comment,
        Token::Function => theme.function,
        Token::Module => theme.module,
    }
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

    fn tokens(code: &str) -> Vec<(String, Token)> {
        let mut open = Open::default();
        let mut all = Vec::new();
        for line in code.lines() {
            let chars: Vec<char> = line.chars().collect();
            let mut scanner = Scanner { chars: &chars, at: 0, open, out: Vec::new() };
            scanner.line();
            open = scanner.open;
            assert_eq!(scanner.out.len(), chars.len());
            let pairs: Vec<(char, Token)> = chars.iter().copied().zip(scanner.out).collect();
            for run in pairs.chunk_by(|a, b| a.1 == b.1) {
                all.push((run.iter().map(|p| p.0).collect::<String>().trim().to_owned(), run[0].1));
            }
        }
        all.into_iter().filter(|(text, _)| !text.is_empty()).collect()
    }

    #[test]
    fn calls_modules_numbers_and_ranges() {
        let found = tokens("let x = cuda::sum(1..3, 1.5e-3)");
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
    fn names_are_what_may_be_a_variable() {
        let code =
            ["let y = x.to(device) + a[i].b; // z".to_owned(), "`${x}` nn::f(y, y); print(0..n)".into()];
        assert_eq!(names(&code), [vec!["y", "x", "device", "a", "i"], vec!["y", "n"]]);
    }

    #[test]
    fn comments_nest_and_texts_run_over_lines() {
        let found = tokens("/* a /* b */\nc */ x\n`t\nu` y \"q\\\"r\" // z");
        let comment: Vec<&str> =
            found.iter().filter(|f| f.1 == Token::Comment).map(|f| f.0.as_str()).collect();
        assert_eq!(comment, ["/* a /* b */", "c */", "// z"]);
        let text: Vec<&str> = found.iter().filter(|f| f.1 == Token::Text).map(|f| f.0.as_str()).collect();
        assert_eq!(text, ["`t", "u`", "\"q\\\"r\""]);
    }
}
