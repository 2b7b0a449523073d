//! Which names a function or a class reads that are none of its own.

use std::collections::BTreeSet;

use super::lex::{Tok, TokenKind};
use super::texts;

/// Tokens in which some names are their own.
struct Scope {
    from: usize,
    to: usize,
    names: BTreeSet<String>,
}

/// The tokens of a function or a class, with what is bound where in them.
pub(super) struct Reads<'t, 'c> {
    tokens: Vec<&'t Tok<'c>>,
    scopes: Vec<Scope>,
    /// Parameters where they are named: they bind and read nothing.
    named: BTreeSet<usize>,
}

impl<'t, 'c> Reads<'t, 'c> {
    /// Of a whole `def` or `class`, or of the block of one that has some parameters.
    pub(super) fn of(tokens: Vec<&'t Tok<'c>>, params: Option<&[String]>) -> Reads<'t, 'c> {
        let mut all = Reads { tokens, scopes: Vec::new(), named: BTreeSet::new() };
        if let Some(params) = params {
            let names = params.iter().cloned().chain(all.bound_within(0, all.tokens.len())).collect();
            all.scopes.push(Scope { from: 0, to: all.tokens.len(), names });
        }
        let mut open: Vec<usize> = Vec::new();
        for at in 0..all.tokens.len() {
            match all.text(at) {
                "(" | "[" | "{" => open.push(at),
                ")" | "]" | "}" => {
                    open.pop();
                }
                "def" => all.function(at),
                "lambda" => all.lambda(at),
                "for" => {
                    if let Some(from) = open.last().copied() {
                        let names = all.targets(at).collect();
                        let to = all.closing(from);
                        all.scopes.push(Scope { from, to, names });
                    }
                }
                _ => {}
            }
        }
        all
    }

    /// Whether a name is read that is bound around.
    pub(super) fn reads(&self, name: &str) -> bool {
        self.tokens.iter().enumerate().any(|(at, token)| {
            let is = match token.kind {
                TokenKind::Name => {
                    let before = at.checked_sub(1).map_or("", |before| self.text(before));
                    token.text == name
                        && !matches!(before, "." | "::")
                        && !self.named.contains(&at)
                        && (self.text(at + 1) != "=" || before == "=")
                }
                TokenKind::Text => texts::reads(token.text, name),
                _ => false,
            };
            let own = |scope: &Scope| (scope.from..scope.to).contains(&at) && scope.names.contains(name);
            is && !self.scopes.iter().any(own)
        })
    }

    fn text(&self, at: usize) -> &'c str {
        self.tokens.get(at).map_or("", |token| token.text)
    }

    /// Behind the bracket that closes one.
    fn closing(&self, from: usize) -> usize {
        let mut depth = 0usize;
        for at in from..self.tokens.len() {
            match self.text(at) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return at + 1;
            }
        }
        self.tokens.len()
    }

    /// The names between `for` and `in`.
    fn targets(&self, at: usize) -> impl Iterator<Item = String> + '_ {
        let rest = self.tokens.iter().skip(at + 1).take_while(|token| token.text != "in");
        rest.filter(|token| token.kind == TokenKind::Name).map(|token| token.text.to_owned())
    }

    /// `def f(a, b=c):` with its block: `c` is read around it.
    fn function(&mut self, at: usize) {
        let Some(head) = self.tokens.get(at) else { return };
        let (line, column) = (head.line, head.column);
        let from = self.closing(at + 2);
        let (mut depth, mut names) = (0usize, BTreeSet::new());
        for place in at + 2..from {
            match self.text(place) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            let opens = depth == 1 && matches!(self.text(place), "(" | "," | "*" | "**");
            let param = self.tokens.get(place + 1).filter(|next| opens && next.kind == TokenKind::Name);
            if let Some(param) = param {
                names.insert(param.text.to_owned());
                self.named.insert(place + 1);
            }
        }
        let belongs = |token: &&&Tok| {
            token.line == line || token.column > column || token.kind == TokenKind::Line || depth > 0
        };
        let to = from + self.tokens.iter().skip(from).take_while(belongs).count();
        names.extend(self.bound_within(from, to));
        self.scopes.push(Scope { from, to, names });
    }

    /// `lambda a, b: …`, which ends with what is around it.
    fn lambda(&mut self, at: usize) {
        let (mut depth, mut names, mut head) = (0usize, BTreeSet::new(), true);
        let mut to = at + 1;
        while let Some(token) = self.tokens.get(to) {
            match token.text {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" if depth == 0 => break,
                ")" | "]" | "}" => depth -= 1,
                ":" if depth == 0 && head => head = false,
                "," if depth == 0 && !head => break,
                _ if token.kind == TokenKind::Line => break,
                _ => {}
            }
            if head && depth == 0 && matches!(self.text(to - 1), "lambda" | "," | "*" | "**") {
                names.insert(token.text.to_owned());
                self.named.insert(to);
            }
            to += 1;
        }
        self.scopes.push(Scope { from: at, to, names });
    }

    /// The variables that a function's block binds.
    fn bound_within(&self, from: usize, to: usize) -> BTreeSet<String> {
        let inside = self.tokens.get(from..to).unwrap_or_default();
        let mut all: BTreeSet<String> = bound(inside).into_iter().collect();
        let (mut depth, mut around) = (0usize, Vec::new());
        for (at, token) in inside.iter().enumerate() {
            match token.text {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                "for" if depth == 0 => all.extend(self.targets(from + at)),
                "as" | "def" | "class" | "import" => {
                    all.extend(inside.get(at + 1).map(|name| name.text.to_owned()));
                }
                "global" | "nonlocal" => {
                    let line = inside.iter().skip(at + 1).take_while(|name| name.line == token.line);
                    around.extend(line.map(|name| name.text.to_owned()));
                }
                _ => {}
            }
        }
        around.iter().for_each(|name| {
            all.remove(name);
        });
        all
    }
}

/// Words that have a colon behind them and are no variables.
const BEGIN_BLOCKS: [&str; 4] = ["else", "try", "finally", "lambda"];

/// What assignments bind.
pub(super) fn bound(tokens: &[&Tok]) -> Vec<String> {
    let (mut all, mut line, mut depth): (Vec<String>, Vec<&Tok>, usize) = (Vec::new(), Vec::new(), 0);
    let mut annotated = false;
    for pair in tokens.windows(2) {
        let [token, next] = pair else { continue };
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            "=" if depth == 0 && std::mem::take(&mut annotated) => line.clear(),
            "=" if depth == 0 => all.extend(line.drain(..).map(|name| name.text.to_owned())),
            // `n: int = 3`
            ":" if depth == 0
                && let [name] = line.as_slice()
                && !BEGIN_BLOCKS.contains(&name.text) =>
            {
                all.push(name.text.to_owned());
                (annotated, line) = (true, Vec::new());
            }
            ":" | ";" => line.clear(),
            _ if token.kind == TokenKind::Line => (annotated, line) = (false, Vec::new()),
            _ if token.kind == TokenKind::Name && depth == 0 && !matches!(next.text, "." | "[") => {
                line.push(token)
            }
            "." => line.clear(),
            _ => {}
        }
    }
    all
}
