//! Values of Python, with those of Rhai that a learner may have mixed in.

use super::lex::{Tok, TokenKind};
use super::tree::{Arg, Expr, IndexPlace, Loop};

/// How deep values may lie in each other.
const DEEPEST: usize = 60;

/// Words that no value begins with.
pub(super) const KEYWORDS: [&str; 18] = [
    "if", "else", "for", "in", "while", "and", "or", "is", "return", "def", "class", "import", "let", "fn",
    "switch", "loop", "yield", "elif",
];

/// Reads tokens one after the other.
#[derive(Clone)]
pub(super) struct PythonReader<'t, 'c> {
    pub tokens: &'t [Tok<'c>],
    pub at: usize,
    pub code: &'c str,
    depth: usize,
}

impl<'t, 'c> PythonReader<'t, 'c> {
    pub(super) fn new(tokens: &'t [Tok<'c>], code: &'c str) -> PythonReader<'t, 'c> {
        PythonReader { tokens, at: 0, code, depth: 0 }
    }

    pub(super) fn peek(&self) -> Option<&'t Tok<'c>> {
        self.tokens.get(self.at)
    }

    /// The text of the next token that is a name or a sign.
    pub(super) fn word(&self) -> &'c str {
        self.nth(0)
    }

    pub(super) fn nth(&self, n: usize) -> &'c str {
        let token = self.tokens.get(self.at + n);
        token.filter(|t| matches!(t.kind, TokenKind::Name | TokenKind::Sign)).map_or("", |t| t.text)
    }

    pub(super) fn eat(&mut self, word: &str) -> bool {
        let is = self.word() == word;
        self.at += usize::from(is);
        is
    }

    pub(super) fn expect(&mut self, word: &str) -> Option<()> {
        self.eat(word).then_some(())
    }

    pub(super) fn name(&mut self) -> Option<String> {
        let token = self.peek().filter(|t| t.kind == TokenKind::Name && !KEYWORDS.contains(&t.text))?;
        self.at += 1;
        Some(token.text.to_owned())
    }

    /// One value, or several without brackets.
    pub(super) fn values(&mut self) -> Option<Expr> {
        let first = self.value()?;
        if self.word() != "," {
            return Some(first);
        }
        let mut all = vec![first];
        while self.eat(",") {
            if self.peek().is_none_or(|t| t.kind == TokenKind::Line)
                || matches!(self.word(), "=" | ")" | ";" | ":")
            {
                break;
            }
            all.push(self.value()?);
        }
        Some(Expr::Tuple(all))
    }

    pub(super) fn value(&mut self) -> Option<Expr> {
        if self.depth > DEEPEST {
            return None;
        }
        self.depth += 1;
        let value = self.ternary();
        self.depth -= 1;
        value
    }

    fn ternary(&mut self) -> Option<Expr> {
        if self.eat("lambda") {
            return self.lambda();
        }
        let value = self.binary(0)?;
        if matches!(self.word(), ".." | "..=") {
            return self.range(value);
        }
        let is_ternary = self.word() == "if"
            && self
                .tokens
                .get(self.at..)?
                .iter()
                .take_while(|t| t.kind != TokenKind::Line)
                .any(|t| t.text == "else");
        if !is_ternary {
            return Some(value);
        }
        self.at += 1;
        let condition = self.binary(0)?;
        self.expect("else")?;
        let other = self.value()?;
        Some(Expr::Ternary(value.into(), condition.into(), other.into()))
    }

    /// Rhai's range, behind what it begins with.
    fn range(&mut self, from: Expr) -> Option<Expr> {
        let closed = self.word() == "..=";
        self.at += 1;
        let ends = matches!(self.word(), "]" | ")");
        let to = if ends { None } else { Some(self.binary(0)?.into()) };
        Some(Expr::Range(from.into(), to, closed))
    }

    /// What stands behind `lambda`.
    fn lambda(&mut self) -> Option<Expr> {
        let mut params = Vec::new();
        while self.word() != ":" {
            let name = self.name()?;
            let default = if self.eat("=") { Some(self.value()?) } else { None };
            params.push((name, default));
            self.eat(",");
        }
        self.expect(":")?;
        let value = self.value()?.into();
        Some(match params.iter().any(|(_, default)| default.is_some()) {
            true => Expr::LambdaWith(params, value),
            false => Expr::Lambda(params.into_iter().map(|(name, _)| name).collect(), value),
        })
    }

    /// Operators from a level on, as Python binds them.
    fn binary(&mut self, level: usize) -> Option<Expr> {
        const LEVELS: [&[(&str, &str)]; 10] = [
            &[("or", "||"), ("||", "||"), ("??", "??")],
            &[("and", "&&"), ("&&", "&&")],
            &[],
            &[],
            &[("|", "|")],
            &[("^", "^")],
            &[("&", "&")],
            &[("<<", "<<"), (">>", ">>")],
            &[("+", "+"), ("-", "-")],
            &[("*", "*"), ("/", "/"), ("%", "%"), ("@", "@"), ("//", "//")],
        ];
        match level {
            2 if self.eat("not") => return Some(Expr::Unary("!", self.binary(2)?.into())),
            3 => return self.comparison(),
            10 => return self.factor(),
            _ => {}
        }
        let mut left = self.binary(level + 1)?;
        while let Some((_, sign)) = LEVELS.get(level)?.iter().find(|(word, _)| *word == self.word()) {
            self.at += 1;
            left = Expr::Binary(sign, left.into(), self.binary(level + 1)?.into());
        }
        Some(left)
    }

    fn comparison(&mut self) -> Option<Expr> {
        let first = self.binary(4)?;
        let mut all = Vec::new();
        loop {
            let (sign, length) = match (self.word(), self.nth(1)) {
                ("is", "not") => ("is not", 2),
                ("not", "in") => ("!in", 2),
                ("!", "in") => ("!in", 2),
                ("is", _) => ("is", 1),
                ("in", _) => ("in", 1),
                ("==", _) => ("==", 1),
                ("!=", _) => ("!=", 1),
                ("<", _) => ("<", 1),
                ("<=", _) => ("<=", 1),
                (">", _) => (">", 1),
                (">=", _) => (">=", 1),
                _ => break,
            };
            self.at += length;
            all.push((sign, self.binary(4)?));
        }
        Some(if all.is_empty() { first } else { Expr::Compare(first.into(), all) })
    }

    fn factor(&mut self) -> Option<Expr> {
        let sign = match self.word() {
            "-" => "-",
            "+" => "+",
            "~" => "~",
            "!" => "!",
            "*" => "*",
            _ => {
                let base = self.postfix()?;
                let power = self.eat("**");
                return Some(if power {
                    Expr::Binary("**", base.into(), self.nested_factor()?.into())
                } else {
                    base
                });
            }
        };
        self.at += 1;
        Some(Expr::Unary(sign, self.nested_factor()?.into()))
    }

    fn nested_factor(&mut self) -> Option<Expr> {
        self.depth += 1;
        let value = if self.depth > DEEPEST { None } else { self.factor() };
        self.depth -= 1;
        value
    }

    fn postfix(&mut self) -> Option<Expr> {
        let mut value = self.atom()?;
        loop {
            value = match self.word() {
                "." => {
                    self.at += 1;
                    let token = self.peek().filter(|t| t.kind == TokenKind::Name)?;
                    self.at += 1;
                    Expr::Attr(value.into(), token.text.to_owned())
                }
                // `x[0::2]` has a step.
                "::" if !matches!(value, Expr::Number(_))
                    && self.tokens.get(self.at + 1).is_some_and(|t| t.kind == TokenKind::Name) =>
                {
                    self.at += 1;
                    let token = self.peek().filter(|t| t.kind == TokenKind::Name)?;
                    self.at += 1;
                    Expr::Path(value.into(), token.text.to_owned())
                }
                "(" => {
                    self.at += 1;
                    Expr::Call(value.into(), self.arguments()?)
                }
                "[" => {
                    self.at += 1;
                    Expr::Index(value.into(), self.places()?)
                }
                _ => return Some(value),
            };
        }
    }

    fn arguments(&mut self) -> Option<Vec<Arg>> {
        let mut all = Vec::new();
        while !self.eat(")") {
            let spread = self.eat("*");
            if self.eat("**") {
                all.push(Arg { name: Some("**".into()), spread: false, value: self.value()? });
                if !self.eat(",") {
                    self.expect(")")?;
                    break;
                }
                continue;
            }
            // `rtol: 0.1` is a map's, written as an argument.
            let is_name =
                self.peek().is_some_and(|token| token.kind == TokenKind::Name && token.text != "lambda");
            let named = self.nth(1) == "=" || is_name && self.nth(1) == ":";
            let name = named.then(|| self.name()).flatten();
            self.at += usize::from(name.is_some());
            let mut value = self.value()?;
            if matches!(self.word(), "for") {
                value = Expr::Comprehension(value.into(), None, self.loops()?);
            }
            all.push(Arg { name, spread, value });
            if !self.eat(",") {
                self.expect(")")?;
                break;
            }
        }
        Some(all)
    }

    fn places(&mut self) -> Option<Vec<IndexPlace>> {
        let mut all = Vec::new();
        while !self.eat("]") {
            if self.eat("...") {
                all.push(IndexPlace::Dots);
            } else {
                let from = if self.word() == ":" || self.word() == "::" { None } else { Some(self.value()?) };
                all.push(self.slice(from)?);
            }
            if !self.eat(",") {
                self.expect("]")?;
                break;
            }
        }
        Some(all)
    }

    /// What follows the first part of a place.
    fn slice(&mut self, from: Option<Expr>) -> Option<IndexPlace> {
        let part = |own: &mut Self| match own.word() {
            ":" | "," | "]" => Some(None),
            _ => own.value().map(Some),
        };
        if self.eat("::") {
            return Some(IndexPlace::Slice(from, None, part(self)?));
        }
        if !self.eat(":") {
            return from.map(IndexPlace::One);
        }
        let to = part(self)?;
        let step = if self.eat(":") { part(self)? } else { None };
        Some(IndexPlace::Slice(from, to, step))
    }

    fn atom(&mut self) -> Option<Expr> {
        let token = self.peek()?;
        match token.kind {
            TokenKind::Name if KEYWORDS.contains(&token.text) => None,
            TokenKind::Name => {
                self.at += 1;
                Some(Expr::Name(token.text.to_owned()))
            }
            TokenKind::Number => {
                self.at += 1;
                Some(Expr::Number(token.text.to_owned()))
            }
            TokenKind::Text => {
                self.at += 1;
                let mut text = Expr::Text(token.text.to_owned());
                // Texts side by side are one.
                while let Some(next) = self.peek().filter(|t| t.kind == TokenKind::Text) {
                    self.at += 1;
                    text = Expr::Binary("++", text.into(), Expr::Text(next.text.to_owned()).into());
                }
                Some(text)
            }
            TokenKind::Sign => self.bracket(),
            TokenKind::Comment | TokenKind::Line => None,
        }
    }

    fn bracket(&mut self) -> Option<Expr> {
        let sign = self.word();
        self.at += 1;
        match sign {
            "(" if self.eat(")") => Some(Expr::Rhai("()".into())),
            "(" => {
                let value = self.value()?;
                if self.word() == "for" {
                    let loops = self.loops()?;
                    self.expect(")")?;
                    return Some(Expr::Comprehension(value.into(), None, loops));
                }
                if self.eat(":=") {
                    let both = [value, self.value()?].map(|value| Arg { name: None, spread: false, value });
                    self.expect(")")?;
                    return Some(Expr::Call(Expr::Name(":=".into()).into(), both.into()));
                }
                if self.eat(")") {
                    return Some(value);
                }
                let mut all = vec![value];
                while self.eat(",") && self.word() != ")" {
                    all.push(self.value()?);
                }
                self.expect(")")?;
                Some(Expr::Tuple(all))
            }
            "[" => self.list(),
            "{" => self.dictionary(),
            "#{" => self.map(),
            "|" | "||" => self.closure(sign == "||"),
            _ => None,
        }
    }

    fn list(&mut self) -> Option<Expr> {
        let mut all = Vec::new();
        while !self.eat("]") {
            let value = self.value()?;
            if self.word() == "for" {
                let loops = self.loops()?;
                self.expect("]")?;
                return Some(Expr::Comprehension(value.into(), None, loops));
            }
            all.push(value);
            if !self.eat(",") {
                self.expect("]")?;
                break;
            }
        }
        Some(joined(all))
    }

    fn dictionary(&mut self) -> Option<Expr> {
        let (mut pairs, mut set, mut before) = (Vec::new(), Vec::new(), None);
        while !self.eat("}") {
            if self.eat("**") {
                // Another dictionary's.
                let other = sum(before, Expr::Dict(std::mem::take(&mut pairs)));
                before = Some(sum(Some(other), self.value()?));
                if !self.eat(",") {
                    self.expect("}")?;
                    break;
                }
                continue;
            }
            let key = self.value()?;
            if self.word() == "for" {
                let value = Expr::Comprehension(key.into(), None, self.loops()?);
                self.expect("}")?;
                let all = vec![Arg { name: None, spread: false, value }];
                return Some(Expr::Call(Expr::Name("set".into()).into(), all));
            }
            if !self.eat(":") {
                set.push(key);
            } else {
                let value = self.value()?;
                if self.word() == "for" {
                    let loops = self.loops()?;
                    self.expect("}")?;
                    return Some(Expr::Comprehension(value.into(), Some(key.into()), loops));
                }
                pairs.push((key, value));
            }
            if !self.eat(",") {
                self.expect("}")?;
                break;
            }
        }
        match (pairs.is_empty(), set.is_empty()) {
            (_, true) => Some(sum(before, Expr::Dict(pairs))),
            (true, false) if before.is_none() => Some(Expr::Set(set)),
            _ => None,
        }
    }

    fn map(&mut self) -> Option<Expr> {
        let mut pairs = Vec::new();
        while !self.eat("}") {
            let token = self.peek().filter(|t| matches!(t.kind, TokenKind::Name | TokenKind::Text))?;
            self.at += 1;
            self.expect(":")?;
            pairs.push((token.text.to_owned(), self.value()?));
            if !self.eat(",") {
                self.expect("}")?;
                break;
            }
        }
        Some(Expr::Map(pairs))
    }

    /// Rhai's own; a body in braces stays as it is.
    fn closure(&mut self, empty: bool) -> Option<Expr> {
        let mut names = Vec::new();
        while !empty && !self.eat("|") {
            names.push(self.name()?);
            self.eat(",");
        }
        if self.word() != "{" {
            return Some(Expr::Lambda(names, self.value()?.into()));
        }
        let from = self.peek()?.range.start;
        let mut depth = 0usize;
        loop {
            let token = self.peek()?;
            self.at += 1;
            match token.text {
                "(" | "[" | "{" | "#{" => depth += 1,
                ")" | "]" | "}" => depth = depth.checked_sub(1)?,
                _ => {}
            }
            if depth == 0 {
                let body = self.code.get(from..token.range.end)?;
                return Some(Expr::Rhai(format!("|{}| {body}", names.join(", "))));
            }
        }
    }

    fn loops(&mut self) -> Option<Vec<Loop>> {
        let mut all = Vec::new();
        while self.eat("for") {
            let (names, places) = self.targets()?.into_iter().unzip();
            self.expect("in")?;
            let mut items = self.binary(0)?;
            if matches!(self.word(), ".." | "..=") {
                items = self.range(items)?;
            }
            let mut conditions = Vec::new();
            while self.eat("if") {
                conditions.push(self.binary(0)?);
            }
            all.push(Loop { names, places, items, conditions });
        }
        Some(all)
    }

    /// The variables of a loop, and where in an item each stands.
    pub(super) fn targets(&mut self) -> Option<Vec<(String, String)>> {
        let mut all: Vec<Vec<(String, String)>> = Vec::new();
        // `(x,)` is the only part of an item.
        let mut parts = false;
        loop {
            all.push(match self.eat("(") {
                true => {
                    self.depth += 1;
                    let within = if self.depth > DEEPEST { None } else { self.targets() };
                    self.depth -= 1;
                    self.expect(")")?;
                    within?
                }
                false => vec![(self.name()?, String::new())],
            });
            if !self.eat(",") {
                break;
            }
            parts = true;
            if matches!(self.word(), ")" | "in") {
                break;
            }
        }
        if !parts {
            return all.pop();
        }
        let placed = all.into_iter().enumerate().flat_map(|(at, names)| {
            names.into_iter().map(move |(name, place)| (name, format!("[{at}]{place}")))
        });
        Some(placed.collect())
    }
}

/// A list, some of whose items are lists of their own: `[*a, 1]`.
fn joined(items: Vec<Expr>) -> Expr {
    let (mut all, mut run) = (None, Vec::new());
    for item in items {
        match item {
            Expr::Unary("*", of) => {
                let before = sum(all, Expr::List(std::mem::take(&mut run)));
                // Whatever it is that is gone through.
                let of = vec![Arg { name: None, spread: true, value: *of }];
                let items = Expr::Call(Expr::Name("list".into()).into(), of);
                all = Some(sum(Some(before), items));
            }
            item => run.push(item),
        }
    }
    sum(all, Expr::List(run))
}

/// What is put together of both; what is empty adds nothing.
fn sum(before: Option<Expr>, more: Expr) -> Expr {
    let is_empty = |part: &Expr| match part {
        Expr::List(items) => items.is_empty(),
        Expr::Dict(pairs) => pairs.is_empty(),
        _ => false,
    };
    match before {
        None => more,
        Some(before) if is_empty(&more) => before,
        Some(before) if is_empty(&before) => more,
        Some(before) => Expr::Binary("+", before.into(), more.into()),
    }
}
