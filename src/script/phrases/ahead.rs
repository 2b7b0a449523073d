//! What follows a statement: whether a list, a dictionary or an object that has a second name is changed by one of both,
//! and read by the other.

use super::kinds::place;
use super::lex::{Tok, TokenKind};
use super::statements::Statements;
use super::texts;
use super::tree::{Expr, IndexPlace};
use super::writer::{Holds, Writer};

/// What changes a list, whatever else may be called so.
const OF_LISTS: [&str; 7] = ["append", "extend", "insert", "pop", "setdefault", "popitem", "appendleft"];
/// What changes a list, a dictionary or a set, and may be a tensor's that changes nothing.
const OF_ALL: [&str; 7] = ["remove", "clear", "update", "add", "discard", "sort", "reverse"];
const SETS: [&str; 8] = ["=", "+=", "-=", "*=", "/=", "//=", "|=", "&="];

impl Statements<'_, '_, '_> {
    /// Marks `b = a` where a change of one would be seen in the other later on.
    pub(super) fn mark_alias(&mut self, target: &Expr, value: &Expr) {
        if !self.writer.python {
            return;
        }
        let (Some(own), Some((other, is_part))) = (place(target), self.shared(value)) else { return };
        let holds = self.writer.kind(value);
        let is_object = self.writer.class_at(&other).is_some_and(|class| self.writer.makes_maps(class));
        let may_be = matches!(holds, Holds::Array | Holds::Map | Holds::Other) || is_object;
        if !may_be || own == other || matches!(value, Expr::Name(name) if name == "None") {
            return;
        }
        let sure = is_object || matches!(holds, Holds::Array | Holds::Map);
        let tokens = self.following();
        let column = self.reader.tokens.get(self.reader.at.saturating_sub(1)).map_or(0, |token| token.column);
        let outlives = |name: &str| {
            let root = name.split('.').next().unwrap_or_default();
            name.contains('.') || self.shared_names.iter().any(|shared| shared == root)
        };
        let reads = |name: &str, from: usize| {
            outlives(name) || tokens.iter().skip(from).any(|token| names(token, name))
        };
        let mut lost = false;
        for at in 0..tokens.len() {
            if [&own, &other].into_iter().any(|name| is_set_anew(&tokens, at, name, column)) {
                break;
            }
            let changes = |name: &str| self.writer.is_changed_at(&tokens, at, (name, sure));
            lost |= changes(&own)
                && (is_part || reads(&other, at + 1))
                && (!is_part || reads(&root(&other), at + 1));
            lost |= !is_part && changes(&other) && reads(&own, at + 1);
        }
        if lost {
            let of = if is_part { format!("what `{other}` has") } else { format!("`{other}`") };
            self.writer.mark(&format!("`{own}` is a copy of {of}: a change of one isn't seen in the other"));
        }
    }

    /// Marks `grid = [[0] * 2] * 3`, whose rows are one list in Python, where one of them is changed later on.
    pub(super) fn mark_repeated(&mut self, target: &Expr, value: &Expr) {
        let (Expr::Name(own), Expr::Binary("*", items, _)) = (target, value) else { return };
        let Expr::List(items) = items.as_ref() else { return };
        let [item] = items.as_slice() else { return };
        if !self.writer.python || !matches!(self.writer.kind(item), Holds::Array | Holds::Map) {
            return;
        }
        let tokens = self.following();
        if (0..tokens.len()).any(|at| self.is_changed_inside(&tokens, at, own)) {
            self.writer
                .mark(&format!("`{own}` has one item several times in Python, and a copy for each here"));
        }
    }

    /// Whether what stands at a token changes an item of a list, which is a list itself.
    fn is_changed_inside(&self, tokens: &[&Tok], at: usize, own: &str) -> bool {
        let Some(next) = behind(tokens, at, own) else { return false };
        let is = |at: usize, text: &str| tokens.get(at).is_some_and(|token| token.text == text);
        let inner = closing(tokens, next);
        is(next, "[")
            && (is(inner, "[") || is(inner, "."))
            && self.writer.is_changed_at(tokens, at, (own, true))
    }

    /// Whether an item of one of two lists is changed behind the statement, and the other is read then.
    pub(super) fn is_changed_within(&self, both: [&String; 2]) -> bool {
        let tokens = self.following();
        let [own, other] = both;
        (0..tokens.len()).any(|at| {
            [(own, other), (other, own)].into_iter().any(|(changed, read)| {
                self.is_changed_inside(&tokens, at, changed)
                    && tokens.iter().skip(at + 1).any(|token| names(token, read))
            })
        })
    }

    /// Whether a list or an object is changed by its name behind the statement, while it is still what it was.
    fn is_changed_later(&self, name: &str) -> bool {
        let tokens = self.following();
        let mut places = (0..tokens.len()).take_while(|at| !is_set_anew(&tokens, *at, name, usize::MAX));
        places.any(|at| self.writer.is_changed_at(&tokens, at, (name, true)))
    }

    /// Marks the objects that were put into something else, and are read or changed later on by their own names.
    pub(super) fn mark_handed(&mut self) {
        for name in std::mem::take(&mut self.writer.handed) {
            let class = self.writer.class_at(&name);
            let by_methods = class.is_some_and(|class| self.writer.changing.values().any(|own| own == class));
            let is_lost = if by_methods { self.is_named_later(&name) } else { self.is_changed_later(&name) };
            if is_lost {
                let what =
                    format!("`{name}` is copied into what has it: a change of one isn't seen in the other");
                self.writer.mark(&what);
            }
        }
    }

    /// What a value is another name of, and whether it is a part of that.
    fn shared(&self, value: &Expr) -> Option<(String, bool)> {
        match value {
            Expr::Index(on, places) => match places.as_slice() {
                [IndexPlace::One(_)] => Some((self.shared(on)?.0, true)),
                _ => None,
            },
            // A method that gives the object itself.
            Expr::Call(callee, _)
                if let Expr::Attr(on, _) = callee.as_ref()
                    && place(on).is_some()
                    && self.writer.class_of_value(value).is_some() =>
            {
                self.shared(on)
            }
            // A function that gives the list that it was given.
            Expr::Call(callee, arguments) => match (callee.as_ref(), arguments.as_slice()) {
                (Expr::Name(name), [first, ..]) if self.writer.gives_itself.contains(name) => {
                    Some((place(&first.value)?, false))
                }
                _ => None,
            },
            value => Some((place(value)?, false)),
        }
    }

    /// Whether an object that something else was given is read or changed behind the statement.
    fn is_named_later(&self, name: &str) -> bool {
        let tokens = self.following();
        for at in 0..tokens.len() {
            if is_set_anew(&tokens, at, name, usize::MAX) {
                return false;
            }
            if tokens.get(at).is_some_and(|token| names(token, name)) {
                return true;
            }
        }
        false
    }

    /// The tokens behind the statement in the function around; in a loop those before it as well, for it comes again.
    fn following(&self) -> Vec<&Tok<'_>> {
        let rest = self.reader.tokens.get(self.reader.at..).unwrap_or_default();
        let inside = |token: &&Tok| token.kind == TokenKind::Line || token.column >= self.inside;
        let rest: Vec<&Tok> = rest.iter().take_while(inside).collect();
        let Some((from, column)) = self.loops.first() else { return rest };
        let own = |token: &&&Tok| token.kind == TokenKind::Line || token.column > *column;
        let end = rest.iter().take_while(own).count();
        let again = self.reader.tokens.get(*from..self.reader.at).unwrap_or_default();
        let (inner, behind) = rest.split_at_checked(end).unwrap_or_default();
        inner.iter().copied().chain(again).chain(behind.iter().copied()).collect()
    }
}

impl Writer<'_> {
    /// Whether a class is one of the program's that makes maps.
    fn makes_maps(&self, class: &str) -> bool {
        self.objects.contains(&format!("{class}()"))
    }

    /// Whether what stands at a token changes a list, a dictionary or an object by a name.
    fn is_changed_at(&self, tokens: &[&Tok], at: usize, (name, sure): (&str, bool)) -> bool {
        let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
        let Some(mut next) = behind(tokens, at, name) else { return false };
        // `f(name)` of a function that changes what it is given.
        let open = at.checked_sub(1).map_or("", text);
        if matches!(open, "(" | ",") && matches!(text(next), ")" | ",") {
            let called = (0..at).rev().find(|before| text(*before) == "(").and_then(|at| at.checked_sub(1));
            return called.is_some_and(|at| self.gives_back.contains_key(text(at)));
        }
        let (mut last, mut sliced) = ("", false);
        loop {
            match text(next) {
                "[" => {
                    let end = closing(tokens, next);
                    sliced |= tokens.get(next..end).unwrap_or_default().iter().any(|token| token.text == ":");
                    (last, next) = ("[", end);
                }
                "." if text(next + 2) == "(" => {
                    let method = text(next + 1);
                    let by_name = OF_LISTS.contains(&method) || sure && OF_ALL.contains(&method);
                    return by_name || self.changing.contains_key(method);
                }
                "." => (last, next) = (text(next + 1), next + 2),
                sign if SETS.contains(&sign) => {
                    return match last {
                        "" => sure && sign == "+=",
                        "[" => sure || !sliced,
                        field => self.own_fields.contains(field),
                    };
                }
                _ => return false,
            }
        }
    }
}

fn root(name: &str) -> String {
    name.split('.').next().unwrap_or_default().to_owned()
}

/// The place behind a name with points that begins at a token.
fn behind(tokens: &[&Tok], at: usize, name: &str) -> Option<usize> {
    let before = at.checked_sub(1).and_then(|at| tokens.get(at)).map_or("", |token| token.text);
    let mut next = at;
    (before != ".").then_some(())?;
    for (part, own) in name.split('.').enumerate() {
        if part > 0 {
            (tokens.get(next)?.text == ".").then_some(())?;
            next += 1;
        }
        let token = tokens.get(next)?;
        (token.kind == TokenKind::Name && token.text == own).then_some(())?;
        next += 1;
    }
    Some(next)
}

/// Whether a token reads a variable, or a text that shows it.
fn names(token: &Tok, name: &str) -> bool {
    let own = name.split('.').next().unwrap_or_default();
    match token.kind {
        TokenKind::Name => token.text == own,
        TokenKind::Text => texts::reads(token.text, own),
        _ => false,
    }
}

/// Whether a name gets another value in a line that begins at a token, and stands no deeper than a column.
fn is_set_anew(tokens: &[&Tok], at: usize, name: &str, column: usize) -> bool {
    let Some(first) = tokens.get(at).filter(|token| token.kind == TokenKind::Name && token.column <= column)
    else {
        return false;
    };
    let begins = at
        .checked_sub(1)
        .and_then(|at| tokens.get(at))
        .is_none_or(|last| last.line != first.line || last.kind == TokenKind::Line);
    if !begins {
        return false;
    }
    let line: Vec<&&Tok> = tokens.iter().skip(at).take_while(|token| token.line == first.line).collect();
    let Some(sign) = line.iter().position(|token| token.text == "=") else { return false };
    let targets = line.get(..sign).unwrap_or_default();
    if targets.iter().any(|token| matches!(token.text, "(" | "[" | "for" | "if" | "while" | "return")) {
        return false;
    }
    let written: String = targets.iter().map(|token| token.text).collect();
    written.split(',').any(|target| target == name)
}

/// Behind the bracket that closes one.
fn closing(tokens: &[&Tok], from: usize) -> usize {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}
