//! Rust source as tokens, with its comments beside them: enough to read imports without a parser.

/// A word or one sign, and where it stands.
#[derive(Clone, PartialEq, Debug)]
pub struct Token {
    pub text: String,
    /// From 1.
    pub line: usize,
}

/// A file's tokens, and the text of its comments by line. Literals are no tokens.
#[derive(Default)]
pub struct Source {
    pub tokens: Vec<Token>,
    pub comments: Vec<(usize, String)>,
    pub lines: usize,
}

impl Source {
    pub fn read(text: &str) -> Source {
        let mut reader =
            Reader { rest: text, line: 1, out: Source { lines: text.lines().count(), ..Source::default() } };
        while reader.step() {}
        reader.out
    }

    pub fn text(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |t| &t.text)
    }

    /// Whether the tokens from `at` on are these.
    pub fn is(&self, at: usize, want: &[&str]) -> bool {
        want.iter().enumerate().all(|(i, w)| self.text(at + i) == *w)
    }

    /// The place after the bracket that closes the one at `open`.
    pub fn after_bracket(&self, open: usize) -> usize {
        let mut depth = 0;
        for (at, token) in self.tokens.iter().enumerate().skip(open) {
            match token.text.as_str() {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return at + 1;
            }
        }
        self.tokens.len()
    }

    /// The comment on a line, if there is one.
    pub fn comment(&self, line: usize) -> Option<&str> {
        self.comments.iter().find(|(l, _)| *l == line).map(|(_, text)| text.as_str())
    }
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
    out: Source,
}

impl Reader<'_> {
    /// Takes one thing off the text; false at its end.
    fn step(&mut self) -> bool {
        let Some(c) = self.rest.chars().next() else { return false };
        if c.is_whitespace() {
            self.skip(c.len_utf8());
        } else if self.rest.starts_with("//") {
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            self.comment(end);
        } else if self.rest.starts_with("/*") {
            self.comment(block_end(self.rest));
        } else if let Some(end) = literal_end(self.rest) {
            self.skip(end);
        } else if is_word(c) {
            let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
            self.token(end);
        } else {
            self.token(c.len_utf8());
        }
        true
    }

    fn skip(&mut self, bytes: usize) {
        let (taken, rest) = self.rest.split_at(bytes);
        self.line += taken.matches('\n').count();
        self.rest = rest;
    }

    fn token(&mut self, bytes: usize) {
        let text = self.rest[..bytes].trim_start_matches("r#").to_string();
        self.out.tokens.push(Token { text, line: self.line });
        self.skip(bytes);
    }

    fn comment(&mut self, bytes: usize) {
        for (i, text) in self.rest[..bytes].lines().enumerate() {
            self.out.comments.push((self.line + i, text.trim().to_string()));
        }
        self.skip(bytes);
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Where a block comment ends; they nest.
fn block_end(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// Where the string, byte string, character, lifetime or raw name at the start ends, if there is one.
fn literal_end(text: &str) -> Option<usize> {
    let prefix = ["br", "cr", "b", "c", "r", ""]
        .into_iter()
        .find(|p| text.strip_prefix(p).is_some_and(|rest| rest.starts_with(['"', '\'', '#'])))?;
    let rest = &text[prefix.len()..];
    if prefix.ends_with('r') {
        let hashes = rest.len() - rest.trim_start_matches('#').len();
        let body = rest[hashes..].strip_prefix('"')?;
        let close = format!("\"{}", "#".repeat(hashes));
        let end = body.find(&close).map_or(body.len(), |at| at + close.len());
        return Some(prefix.len() + hashes + 1 + end);
    }
    match rest.chars().next() {
        Some('"') => Some(prefix.len() + quoted_end(rest, '"')),
        Some('\'') => Some(prefix.len() + tick_end(rest)),
        _ => None,
    }
}

/// A character in single quotes, or a lifetime.
fn tick_end(text: &str) -> usize {
    let mut chars = text.chars().skip(1);
    match (chars.next(), chars.next()) {
        (Some('\\'), _) => quoted_end(text, '\''),
        (Some(c), Some('\'')) => c.len_utf8() + 2,
        _ => 1 + text[1..].find(|c| !is_word(c)).unwrap_or(text.len() - 1),
    }
}

fn quoted_end(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[test]
fn comments_and_literals_are_no_tokens() {
    let text = r##"
// crate::lab in a comment
fn f<'a>(x: &'a str) -> char { /* crate::lab /* nested */ still */ g("crate::lab \" x", 'c', '\'', b'"') }
let y = r#"crate::lab " here"#; let r#type = '{';
"##;
    let source = Source::read(text);
    let words: Vec<&str> = source.tokens.iter().map(|t| t.text.as_str()).filter(|t| t.len() > 1).collect();
    assert_eq!(words, ["fn", "str", "char", "let", "let", "type"]);
    assert_eq!(source.comment(2), Some("// crate::lab in a comment"));
    assert_eq!(source.tokens.last().map(|t| (t.text.as_str(), t.line)), Some((";", 4)));
    let open = source.tokens.iter().position(|t| t.text == "{").unwrap();
    assert_eq!(source.text(source.after_bracket(open)), "let");
}
