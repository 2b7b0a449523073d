//! Statements with blocks: by indentation, as Python has them, or in braces.

use crate::script::lexer;

use super::book::Idiom;
use super::lex::{Tok, TokenKind};
use super::statements::Statements;
use super::tree::{Arg, Expr};
use super::writer::Holds;

/// Columns of a statement with its block in one line.
const WIDTH: usize = 90;

/// Lines, or nothing where they can't be written.
pub(super) type Lines = Option<Vec<String>>;

impl Statements<'_, '_, '_> {
    /// A statement with a block, if the word begins one.
    pub(super) fn compound(&mut self, word: &str) -> Option<Lines> {
        let read: fn(&mut Self) -> Lines = match word {
            "if" => Self::branches,
            "while" => Self::repeat,
            "for" => Self::each,
            "with" => Self::with,
            "try" => Self::attempt,
            "def" | "fn" => Self::define,
            "class" => Self::class,
            "@" => Self::decorated,
            // Where the `if` before it stands in a line that ran.
            "elif" | "else" => Self::branches,
            "except" | "finally" | "async" | "loop" | "switch" | "do" => |_| None,
            _ => return None,
        };
        Some(self.hoisted(read))
    }

    /// The block behind a head that stands in a column, in a scope of its own.
    pub(super) fn block(&mut self, column: usize, bound: &[(String, Holds)]) -> Lines {
        self.writer.scopes.push(bound.iter().cloned().collect());
        let lines = self.suite(column);
        let scope = self.writer.scopes.pop().unwrap_or_default();
        let own = scope.into_keys().filter(|name| !bound.iter().any(|(known, _)| known == name));
        self.ended.extend(own.map(|name| (name, false)));
        lines
    }

    fn suite(&mut self, column: usize) -> Lines {
        let mut lines = Vec::new();
        if self.reader.eat("{") {
            loop {
                self.skip_lines();
                if self.reader.eat("}") {
                    return Some(lines);
                }
                lines.extend(self.statement()?);
            }
        }
        // A colon that is missing is missed by Python as well.
        if !self.reader.eat(":") {
            let ends = self.reader.peek().is_some_and(|token| token.kind == TokenKind::Line);
            let inside =
                self.reader.tokens.get(self.reader.at + 1).is_some_and(|token| token.column > column);
            (ends && inside).then_some(())?;
        }
        self.writer.uses(Idiom::Braces);
        if let Some(comment) = self.reader.peek().filter(|token| token.kind == TokenKind::Comment) {
            self.reader.at += 1;
            let comment = self.comment(comment.text);
            lines.extend((!self.bare).then_some(comment));
        }
        let head = self.reader.tokens.get(self.reader.at.checked_sub(1)?)?.line;
        if self.reader.peek().is_some_and(|token| token.kind != TokenKind::Line) {
            while self.reader.peek().is_some_and(|token| token.line == head && token.kind != TokenKind::Line)
            {
                lines.extend(self.statement()?);
            }
            return Some(lines);
        }
        self.skip_lines();
        // Nothing that is indented: the block is still to come, or missing.
        while self.reader.peek().is_some_and(|token| token.column > column) {
            lines.extend(self.known_or_marked()?);
            self.skip_lines();
        }
        Some(lines)
    }

    /// A statement, or what marks one that is not known: it takes nothing from the block around it.
    fn known_or_marked(&mut self) -> Lines {
        let before = self.clone();
        let lines = self.statement();
        if lines.is_some() || !before.writer.python {
            return lines;
        }
        *self = before;
        let from = self.reader.at;
        self.reader.at = super::end_of(self.reader.tokens, from);
        let own = self.reader.tokens.get(from..self.reader.at)?;
        let last = own.iter().rev().find(|token| token.kind != TokenKind::Line)?;
        let written = self.reader.code.get(own.first()?.range.start..last.range.end)?;
        self.writer.uses(Idiom::Unknown);
        lexer::bound(written).iter().for_each(|name| self.writer.bind(name, Holds::Other));
        Some(written.lines().map(|line| format!("// ? {}", line.trim())).collect())
    }

    pub(super) fn skip_lines(&mut self) {
        while self.reader.peek().is_some_and(|token| token.kind == TokenKind::Line) {
            self.reader.at += 1;
        }
    }

    /// Goes to the lines of a class, behind what its head ends with.
    pub(super) fn begin_class(&mut self) {
        let is_comment = |token: &&Tok| token.kind == TokenKind::Comment;
        self.reader.at += usize::from(self.reader.peek().filter(is_comment).is_some());
        self.skip_lines();
    }

    /// The comments that stand before what goes on with a statement: an `else`, an `except`.
    pub(super) fn comments_before(&mut self, column: usize, goes_on: &[&str]) -> Vec<String> {
        self.skip_lines();
        let rest = self.reader.tokens.get(self.reader.at..).unwrap_or_default();
        let next = rest.iter().position(|token| !matches!(token.kind, TokenKind::Line | TokenKind::Comment));
        let Some((next, token)) = next.and_then(|at| Some((at, rest.get(at)?))) else { return Vec::new() };
        if token.column != column || !goes_on.contains(&token.text) {
            return Vec::new();
        }
        let own = rest.iter().take(next).filter(|token| token.kind == TokenKind::Comment);
        let own: Vec<String> = own.map(|token| self.comment(token.text)).collect();
        self.reader.at += next;
        own
    }

    pub(super) fn head(&mut self) -> Option<usize> {
        let column = self.reader.peek()?.column;
        self.reader.at += 1;
        Some(column)
    }

    fn branches(&mut self) -> Lines {
        let (mut all, mut first, mut before): (Vec<(_, Vec<String>)>, _, _) = (Vec::new(), true, Vec::new());
        let mut column = self.reader.peek()?.column;
        loop {
            let at = self.reader.at;
            let comments = self.comments_before(column, &["else", "elif"]);
            if let Some((_, body)) = all.last_mut() {
                body.extend(comments);
            }
            let token = self.reader.peek();
            let here = token.is_some_and(|token| first || token.column == column || all.last().is_some());
            let head = match self.reader.word() {
                _ if !here => String::new(),
                "if" if first => "if".into(),
                "elif" => {
                    self.writer.uses(Idiom::Elif);
                    "else if".into()
                }
                "else" if self.reader.nth(1) == "if" => {
                    self.reader.at += 1;
                    "else if".into()
                }
                "else" => "else".into(),
                _ => String::new(),
            };
            if head.is_empty() || (!first && token.is_some_and(|token| token.column < column)) {
                self.reader.at = at;
                break;
            }
            if first {
                column = self.head()?;
            } else {
                self.reader.at += 1;
            }
            let head = match head.as_str() {
                "else" => head,
                _ => {
                    let condition = self.reader.value()?;
                    if first && is_main(&condition) {
                        self.writer.uses(Idiom::Main);
                        return self.suite(column);
                    }
                    let text = self.writer.condition(&condition)?;
                    before.append(&mut self.writer.prelude);
                    (first || before.is_empty()).then_some(())?;
                    format!("{head} {text}")
                }
            };
            let is_last = head == "else";
            all.push((head, self.block(column, &[])?));
            first = false;
            if is_last {
                break;
            }
        }
        self.end_block();
        before.extend(written(&all));
        Some(before)
    }

    /// The end of a line behind a block.
    fn end_block(&mut self) {
        self.reader.eat(";");
        self.reader.at += usize::from(self.reader.peek().is_some_and(|token| token.kind == TokenKind::Line));
    }

    fn repeat(&mut self) -> Lines {
        let column = self.head()?;
        let condition = self.reader.value()?;
        let head = format!("while {}", self.writer.condition(&condition)?);
        self.writer.prelude.is_empty().then_some(())?;
        let (around, left) = self.begin_loop(column);
        let body = self.block(column, &[])?;
        self.end_block();
        self.end_loop(column, (around, left), written(&[(head, body)]))
    }

    /// Has the `break` of a loop note that it left it, where an `else` follows in the loop's own column. Gives what the
    /// loop around has, and the name of the note.
    fn begin_loop(&mut self, column: usize) -> (Option<String>, Option<String>) {
        let mut rest = self.reader.tokens.get(self.reader.at..).unwrap_or_default().windows(2);
        let behind = rest.find_map(|pair| match pair {
            [end, next]
                if end.kind == TokenKind::Line && next.kind != TokenKind::Line && next.column <= column =>
            {
                Some(next)
            }
            _ => None,
        });
        let follows = behind.is_some_and(|next| next.text == "else" && next.column == column);
        let left = follows.then(|| self.writer.free_name("left"));
        self.loops.push((self.reader.at, column));
        (std::mem::replace(&mut self.left, left.clone()), left)
    }

    /// The loop's lines, with what its `else` does where no `break` left it.
    fn end_loop(
        &mut self,
        column: usize,
        (around, left): (Option<String>, Option<String>),
        lines: Vec<String>,
    ) -> Lines {
        self.left = around;
        self.loops.pop();
        let Some(left) = left else { return Some(lines) };
        self.skip_lines();
        self.reader.expect("else")?;
        self.writer.uses(Idiom::LoopElse);
        let otherwise = self.block(column, &[])?;
        self.end_block();
        let noted = format!("{left} = true;");
        if !lines.iter().any(|line| line.contains(&noted)) {
            return Some(lines.into_iter().chain(otherwise).collect());
        }
        let asked = written(&[(format!("if !{left}"), otherwise)]);
        Some([format!("let {left} = false;")].into_iter().chain(lines).chain(asked).collect())
    }

    fn with(&mut self) -> Lines {
        let column = self.head()?;
        let mut heads = Vec::new();
        loop {
            let value = self.reader.value()?;
            heads.push(format!("with {}", self.writer.expr(&value)?));
            if self.reader.eat("as") {
                self.reader.name()?;
            }
            if !self.reader.eat(",") {
                break;
            }
        }
        let mut lines = self.block(column, &[])?;
        self.end_block();
        for head in heads.into_iter().rev() {
            lines = written(&[(head, lines)]);
        }
        Some(lines)
    }

    fn each(&mut self) -> Lines {
        let column = self.head()?;
        let brackets = self.reader.word() == "(" && self.reader.nth(2) == "," && self.reader.nth(5) == "in";
        let (names, places): (Vec<String>, Vec<String>) = self.reader.targets()?.into_iter().unzip();
        self.reader.expect("in")?;
        let items = self.reader.values()?;
        let (turns, given) = self.lifted_turns(&names);
        let (head, mut body) = match turns.as_slice() {
            [_, _] if brackets && self.reader.word() == "{" => {
                (format!("for ({}) in {}", turns.join(", "), self.writer.expr(&items)?), Vec::new())
            }
            _ => self.loop_head(&turns, &places, &items)?,
        };
        let before = std::mem::take(&mut self.writer.prelude);
        body.extend(given);
        let counts = matches!(&items, Expr::Call(callee, _) if matches!(callee.as_ref(), Expr::Name(name) if name == "range"));
        let mut bound = self.writer.bound_of_items(&names, &items);
        for (name, holds) in &mut bound {
            // It hides a function, and does not take what that one takes.
            if self.writer.functions.contains_key(name) && !counts {
                *holds = Holds::Other;
            }
        }
        if counts {
            bound.iter_mut().for_each(|(_, holds)| *holds = Holds::Int);
        }
        let (around, left) = self.begin_loop(column);
        let shared = self.shared_names.len();
        self.shared_names.extend(names.iter().cloned());
        body.extend(self.block(column, &bound)?);
        self.shared_names.truncate(shared);
        self.mark_order(&items, &body);
        let head = self.keys_of(head, &names, &items, &body);
        let head = self.written_back((head, &names), &items, &mut body);
        if names.iter().any(|name| self.writer.changes_object(&body, name)) {
            self.writer.uses(Idiom::Shared);
        }
        self.ended.extend(names.into_iter().map(|name| (name, true)));
        self.end_block();
        let lines = before.into_iter().chain(written(&[(head, body)])).collect();
        self.end_loop(column, (around, left), lines)
    }

    /// Whether a loop goes through the pairs of a dictionary whose keys are read from texts.
    fn goes_by_keys(&self, items: &Expr) -> bool {
        let of = match items {
            Expr::Call(callee, _) => match callee.as_ref() {
                Expr::Attr(on, name) if name == "items" => on,
                _ => return false,
            },
            _ => return false,
        };
        self.writer.reads_keys(of)
    }

    /// A loop's head, through the keys of what the block asks by them.
    fn keys_of(&self, head: String, names: &[String], items: &Expr, body: &[String]) -> String {
        let ([name], Expr::Name(map), Holds::Other) = (names, items, self.writer.kind(items)) else {
            return head;
        };
        let asked = format!("{map}[{name}]");
        match body.iter().any(|line| line.contains(&asked)) && head.ends_with(&format!(" in {map}")) {
            true => head + ".keys()",
            false => head,
        }
    }

    /// A loop's head, and what its block begins with.
    fn loop_head(
        &mut self,
        names: &[String],
        places: &[String],
        items: &Expr,
    ) -> Option<(String, Vec<String>)> {
        let called = |value: &Expr| match value {
            Expr::Call(callee, arguments) => match callee.as_ref() {
                Expr::Name(name) | Expr::Attr(_, name) => Some((name.clone(), arguments.clone())),
                _ => None,
            },
            _ => None,
        };
        let function = called(items);
        match (function, names) {
            (Some((name, arguments)), [count, rest @ ..])
                if name == "enumerate"
                    && (rest.len() > 1 || places.get(1).is_some_and(|place| place != "[1]")) =>
            {
                let [Arg { value: of, .. }, start @ ..] = arguments.as_slice() else { return None };
                self.writer.uses(Idiom::Enumerate);
                let own =
                    places.iter().skip(1).map(|place| place.strip_prefix("[1]").unwrap_or(place).to_owned());
                let (of, lets, item) = self.item(rest, &own.collect::<Vec<_>>(), of)?;
                let start = self.writer.arguments(start)?;
                let start = if start.is_empty() { start } else { format!(", {start}") };
                Some((format!("for ({count}, {item}) in enumerate({of}{start})"), lets))
            }
            (Some((name, arguments)), [x, y])
                if places == ["[0]", "[1]"]
                    && !self.goes_by_keys(items)
                    && (matches!(name.as_str(), "enumerate" | "items" | "named_parameters")
                        || name == "zip" && arguments.len() == 2) =>
            {
                self.writer.uses(if name == "zip" { Idiom::Zip } else { Idiom::Enumerate });
                Some((format!("for ({x}, {y}) in {}", self.writer.expr(items)?), Vec::new()))
            }
            (_, names) => {
                let (of, lets, item) = self.item(names, places, items)?;
                Some((format!("for {item} in {of}"), lets))
            }
        }
    }

    /// One variable for an item, and those that stand for its parts.
    fn item(
        &mut self,
        names: &[String],
        places: &[String],
        items: &Expr,
    ) -> Option<(String, Vec<String>, String)> {
        let mut of = self.writer.expr(items)?;
        if self.writer.kind(items) == Holds::Text && self.writer.python {
            of = self.writer.items(items)?;
        }
        if self.writer.kind(items) == Holds::Map {
            self.writer.uses(Idiom::Keys);
            of = self.writer.keys(items)?;
        }
        if let ([name], [""]) = (names, places.iter().map(String::as_str).collect::<Vec<_>>().as_slice()) {
            return Some((of, Vec::new(), name.clone()));
        }
        self.writer.uses(Idiom::Unpacked);
        let wanted = if names.iter().any(|name| name == "pair") { "both" } else { "pair" };
        let pair = self.writer.free_name(wanted);
        let named = names.iter().zip(places).filter(|(name, _)| *name != "_");
        let lets = named.map(|(name, place)| format!("let {name} = {pair}{place};"));
        Some((of, lets.collect(), pair))
    }

    /// `@torch.no_grad()` before a function.
    fn decorated(&mut self) -> Lines {
        if self.reader.nth(1) == "dataclass" {
            return self.data_class();
        }
        self.reader.at += 1;
        let value = self.reader.value()?;
        let mode = self.writer.expr(&value)?;
        if !mode.ends_with(')') {
            return None;
        }
        self.skip_lines();
        (self.reader.word() == "def").then_some(())?;
        self.mode = Some(mode);
        self.define()
    }
}

/// Blocks with their heads: `if … { … } else { … }`; in one line where that is short.
pub(super) fn written(parts: &[(String, Vec<String>)]) -> Vec<String> {
    let short = parts.iter().all(|(_, body)| match body.as_slice() {
        [] => true,
        [line] => !line.contains("//") && !line.contains('{'),
        _ => false,
    });
    if short {
        let one = |(head, body): &(String, Vec<String>)| match body.first() {
            Some(line) => format!("{head} {{ {line} }}"),
            None => format!("{head} {{ }}"),
        };
        let line = parts.iter().map(one).collect::<Vec<_>>().join(" ");
        if line.chars().count() <= WIDTH {
            return vec![line];
        }
    }
    let mut lines: Vec<String> = Vec::new();
    for (head, body) in parts {
        match lines.last_mut() {
            Some(last) => *last += &format!(" {head} {{"),
            None => lines.push(format!("{head} {{")),
        }
        lines.extend(body.iter().map(|line| format!("    {line}")));
        lines.push("}".into());
    }
    lines
}

/// `__name__ == "__main__"`
fn is_main(condition: &Expr) -> bool {
    matches!(condition, Expr::Compare(first, _) if matches!(first.as_ref(), Expr::Name(name) if name == "__name__"))
}
