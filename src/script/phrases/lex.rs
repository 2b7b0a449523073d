//! Code as tokens that both languages share: what a learner wrote may be Python, or half of each.

use std::ops::Range;

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TokenKind {
    Name,
    Number,
    /// A text with its quotes and what stands before them: `f"…"`.
    Text,
    Sign,
    Comment,
    /// The end of a line that ends a statement.
    Line,
}

/// One token.
#[derive(Clone, Debug)]
pub(super) struct Tok<'c> {
    pub kind: TokenKind,
    pub text: &'c str,
    pub range: Range<usize>,
    /// From 0.
    pub line: usize,
    /// Columns of white space before it where it begins a line.
    pub column: usize,
}

/// Longer ones first.
const SIGNS: [&str; 34] = [
    "**=", "//=", ">>=", "<<=", "...", "..=", "**", "//", "==", "!=", "<=", ">=", "->", "+=", "-=", "*=",
    "/=", "%=", "@=", "&=", "|=", "^=", "<<", ">>", ":=", "&&", "||", "::", "..", "#{", "=>", "??", "?.",
    "\\\n",
];

/// The tokens of some code; none where a text does not end.
pub(super) fn tokens(code: &str) -> Option<Vec<Tok<'_>>> {
    let mut lexer = Lexer { code, at: 0, line: 0, line_start: 0, open: Vec::new(), all: Vec::new() };
    while lexer.next()? {}
    indent_comments(&mut lexer.all);
    Some(lexer.all)
}

/// A comment on a line of its own ends no block: it stands at least where the code behind it does.
fn indent_comments(tokens: &mut [Tok<'_>]) {
    let mut behind = 0;
    let mut rest = tokens;
    while let Some((token, before)) = rest.split_last_mut() {
        let alone = before.last().is_none_or(|last| last.line < token.line);
        match token.kind {
            TokenKind::Comment if alone => token.column = token.column.max(behind),
            TokenKind::Comment | TokenKind::Line => {}
            _ => behind = token.column,
        }
        rest = before;
    }
}

struct Lexer<'c> {
    code: &'c str,
    at: usize,
    line: usize,
    line_start: usize,
    /// Open brackets; whether a line's end within ends a statement.
    open: Vec<bool>,
    all: Vec<Tok<'c>>,
}

impl<'c> Lexer<'c> {
    fn rest(&self) -> &'c str {
        self.code.get(self.at..).unwrap_or_default()
    }

    /// Takes one token; whether there was one.
    fn next(&mut self) -> Option<bool> {
        let rest = self.rest();
        let Some(c) = rest.chars().next() else { return Some(false) };
        match c {
            '\n' => {
                self.end_line();
                return Some(true);
            }
            c if c.is_whitespace() => {
                self.at += c.len_utf8();
                return Some(true);
            }
            _ if rest.starts_with("/*") => {
                let length = rest.find("*/")? + 2;
                self.push(TokenKind::Comment, length);
                return Some(true);
            }
            '#' if !rest.starts_with("#{") => return self.comment(),
            '/' if rest.starts_with("//") && !rest.starts_with("//=") && !self.divides() => {
                return self.comment();
            }
            _ => {}
        }
        if let Some((kind, length)) =
            text(rest).map(|length| (TokenKind::Text, length)).or_else(|| word(rest))
        {
            self.push(kind, length);
            return Some(true);
        }
        if c == '"' || c == '\'' || c == '`' {
            return None;
        }
        let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign)).map_or(c.len_utf8(), |sign| sign.len());
        self.sign(sign);
        Some(true)
    }

    fn sign(&mut self, length: usize) {
        let text = self.rest().get(..length).unwrap_or_default();
        match text {
            "\\\n" => {
                self.at += length;
                self.begin_line();
                return;
            }
            "(" | "[" | "#{" => self.open.push(false),
            "{" => self.open.push(!self.is_value_next()),
            ")" | "]" | "}" => {
                self.open.pop();
            }
            _ => {}
        }
        self.push(TokenKind::Sign, length);
    }

    /// Whether a brace here would begin a dictionary: something is still missing before it.
    fn is_value_next(&self) -> bool {
        self.all.last().is_some_and(|last| match last.kind {
            TokenKind::Sign => !matches!(last.text, ")" | "]" | "}" | "{" | ";" | "|" | "||" | "=>"),
            TokenKind::Name => matches!(last.text, "return" | "in" | "and" | "or" | "not"),
            _ => false,
        })
    }

    fn push(&mut self, kind: TokenKind, length: usize) {
        let range = self.at..self.at + length;
        let text = self.code.get(range.clone()).unwrap_or_default();
        let before = self.code.get(self.line_start..self.at).unwrap_or_default();
        let column =
            before.chars().take_while(|c| c.is_whitespace()).map(|c| if c == '\t' { 8 } else { 1 }).sum();
        self.all.push(Tok { kind, text, range, line: self.line, column });
        self.at += length;
        let lines = text.matches('\n').count();
        if lines > 0 {
            self.line += lines;
            self.line_start = self.at - text.rsplit('\n').next().map_or(0, str::len);
        }
    }

    fn begin_line(&mut self) {
        self.line += 1;
        self.line_start = self.at;
    }

    fn end_line(&mut self) {
        let ends = self.open.last().copied().unwrap_or(true);
        let next = self.rest().trim_start();
        // A chain of methods goes on.
        let goes_on = next.starts_with('.')
            && next.get(1..).is_some_and(|r| r.starts_with(|c: char| c.is_alphabetic()));
        let blank = self.all.last().is_none_or(|last| last.kind == TokenKind::Line);
        if ends && !goes_on && !blank {
            self.push(TokenKind::Line, 0);
        }
        self.at += 1;
        self.begin_line();
    }

    fn comment(&mut self) -> Option<bool> {
        let length = self.rest().find('\n').unwrap_or(self.rest().len());
        // Within brackets it would part the values that stand there.
        match self.open.last() {
            Some(false) => self.at += length,
            _ => self.push(TokenKind::Comment, length),
        }
        Some(true)
    }

    /// Whether `//` here is Python's division: a value stands before it, and one operand behind it.
    fn divides(&self) -> bool {
        let same_line = |last: &&Tok| last.line == self.line;
        let value = self.all.last().filter(same_line).is_some_and(|last| match last.kind {
            TokenKind::Name | TokenKind::Number => true,
            TokenKind::Sign => matches!(last.text, ")" | "]"),
            _ => false,
        });
        value && is_operand(self.rest().get(2..).unwrap_or_default())
    }
}

/// Whether a program calls a function of a package's that has the name of one of its own: `torch.softmax(x)`.
pub(super) fn clashes(tokens: &[Tok], name: &str) -> bool {
    const OF: [&str; 8] = ["torch", "F", "functional", "np", "numpy", "math", "linalg", "special"];
    let is = |four: &[Tok]| {
        matches!(four, [of, point, own, open]
            if OF.contains(&of.text) && point.text == "." && own.text == name && open.text == "(")
    };
    tokens.windows(4).any(is)
}

/// Whether a line's rest begins with one operand: a number, a name or a bracket, with no second word behind it.
pub(super) fn is_operand(rest: &str) -> bool {
    let rest = rest.lines().next().unwrap_or_default().trim();
    let rest = rest.strip_prefix('-').unwrap_or(rest);
    if rest.starts_with('(') {
        return true;
    }
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')).unwrap_or(rest.len());
    let (operand, behind) = rest.split_at_checked(end).unwrap_or((rest, ""));
    let behind = behind.trim_start();
    let goes_on = ["if ", "else ", "for ", "and ", "or ", "in "];
    let ends = behind.is_empty()
        || goes_on.iter().any(|word| behind.starts_with(word))
        || behind
            .starts_with([')', ']', '}', ',', ':', ';', '+', '-', '*', '%', '(', '[', '#', '<', '>', '=']);
    !operand.is_empty() && ends
}

/// Whether a text has a word.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|other| other == word)
}

/// Whether nothing in some code is Rhai's alone. A `;` is Python's as well where most lines end without one.
pub(super) fn is_python(tokens: &[Tok]) -> bool {
    let of_rhai = |token: &Tok| matches!(token.text, "let" | "const" | "fn" | "#{" | "&&" | "||");
    // Behind an operand it is Python's.
    let is_operand = |token: &Tok| token.kind != TokenKind::Sign || matches!(token.text, ")" | "]" | "}");
    let opens = |pair: &[Tok]| matches!(pair, [before, bar] if bar.text == "|" && !is_operand(before));
    if tokens.iter().any(of_rhai) || tokens.windows(2).any(opens) {
        return false;
    }
    let (mut closed, mut bare, mut block) = (0usize, 0usize, false);
    let ends = tokens.iter().skip(1).map(Some).chain([None]);
    for (token, next) in tokens.iter().zip(ends) {
        let ends = next.is_none_or(|next| matches!(next.kind, TokenKind::Line | TokenKind::Comment));
        match token.text {
            ";" if ends => closed += 1,
            // A dictionary's lines do not end a statement.
            "{" if ends => block = true,
            _ if ends && !matches!(token.kind, TokenKind::Line | TokenKind::Comment) => bare += 1,
            _ => {}
        }
    }
    closed == 0 && !tokens.iter().any(|token| token.text == ";") || !block && bare > closed
}

/// The names that stand behind `fn`.
pub(super) fn functions<'c>(tokens: &[Tok<'c>]) -> impl Iterator<Item = &'c str> {
    tokens.windows(2).filter_map(|pair| match pair {
        [first, name] if first.text == "fn" && name.kind == TokenKind::Name => Some(name.text),
        _ => None,
    })
}

/// The bytes of a text that begins here, with what stands before its quotes.
fn text(rest: &str) -> Option<usize> {
    let marks = rest.find(|c: char| !matches!(c, 'f' | 'F' | 'r' | 'R' | 'b' | 'B' | 'u' | 'U'))?;
    let from = rest.get(marks..).filter(|_| marks <= 2)?;
    let quote = from.chars().next().filter(|c| matches!(c, '"' | '\'') || (*c == '`' && marks == 0))?;
    let triple: String = [quote; 3].iter().collect();
    let (close, inside) = match from.strip_prefix(triple.as_str()) {
        Some(inside) if quote != '`' => (triple, inside),
        _ => (quote.to_string(), from.get(1..)?),
    };
    let raw = rest.get(..marks)?.contains(['r', 'R']);
    let mut escaped = false;
    for (at, c) in inside.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' && !raw {
            escaped = true;
        } else if inside.get(at..)?.starts_with(&close) {
            return Some(marks + close.len() + at + close.len());
        } else if c == '\n' && close.len() == 1 && quote != '`' {
            return None;
        }
    }
    None
}

/// A name or a number.
fn word(rest: &str) -> Option<(TokenKind, usize)> {
    let first = rest.chars().next()?;
    let second = rest.chars().nth(1);
    if first.is_alphabetic() || first == '_' || first == '$' {
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).unwrap_or(rest.len());
        return Some((TokenKind::Name, end));
    }
    if !(first.is_ascii_digit() || first == '.' && second.is_some_and(|c| c.is_ascii_digit())) {
        return None;
    }
    let mut end = 0;
    let mut point = false;
    for (at, c) in rest.char_indices() {
        let next = rest.get(at + c.len_utf8()..).and_then(|r| r.chars().next());
        let takes = match c {
            '.' => {
                // A range, or a method of a number.
                let is =
                    !point && next.is_none_or(|n| n != '.' && !n.is_alphabetic() && n != '_' || n == 'e');
                point = true;
                is
            }
            '+' | '-' => {
                at > 0
                    && rest
                        .get(..at)
                        .is_some_and(|before| before.ends_with(['e', 'E']) && !before.starts_with("0x"))
            }
            c => c.is_ascii_alphanumeric() || c == '_',
        };
        if !takes {
            break;
        }
        end = at + c.len_utf8();
    }
    Some((TokenKind::Number, end))
}
