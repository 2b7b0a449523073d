//! Statements of one line.

use super::book::Idiom;
use super::lex::TokenKind;
use super::parse::{KEYWORDS, PythonReader};
use super::texts::taken_apart;
use super::tree::{Expr, IndexPlace, is_os};
use super::writer::{Holds, Writer};

/// Reads statements and writes them in lines.
#[derive(Clone)]
pub(super) struct Statements<'t, 'c, 'k> {
    pub reader: PythonReader<'t, 'c>,
    pub writer: Writer<'k>,
    /// Where among the scopes the function around begins: Python assigns to its own variables alone.
    pub function: usize,
    /// Where the lines of the function around begin, in columns.
    pub inside: usize,
    /// Names that blocks have bound which ended, and whether loops went through their values.
    pub ended: Vec<(String, bool)>,
    /// Those of loops that outlive them.
    pub lifted: Vec<String>,
    /// What notes that the loop around was left by `break`, where its `else` asks for it.
    pub left: Option<String>,
    /// What the `except` around calls its error.
    pub caught: Option<String>,
    /// Where the loops around begin in the function around, among the tokens, and their columns.
    pub loops: Vec<(usize, usize)>,
    /// The parameters of the function around and the items of its loops: what they are is had elsewhere too.
    pub shared_names: Vec<String>,
    /// Whether the class that is read is one of data.
    pub is_data_class: bool,
    /// Blocks around the statement.
    pub depth: usize,
    /// Whether what stands behind a statement as a comment is left out: the line is taken apart.
    pub bare: bool,
    /// What the function that is read next runs within: `no_grad()`.
    pub mode: Option<String>,
    /// Whether a `let` stands before the names: they are new, whatever has them elsewhere.
    pub fresh: bool,
}

/// What such an assignment does with what is there.
const LEVELS: [&str; 7] = ["+", "-", "*", "/", "%", "**", "//"];

const AUGMENTED: [&str; 12] = ["+=", "-=", "*=", "/=", "%=", "**=", "//=", "@=", "&=", "|=", "^=", "<<="];

/// What installs something, or sets a notebook of Python's up.
const SETS_UP: [&str; 9] =
    ["pip", "apt", "wget", "conda", "matplotlib", "load_ext", "autoreload", "config", "env"];
/// Other words of a shell.
const COMMANDS: [&str; 8] = ["ls", "cd", "cat", "pwd", "echo", "git", "head", "mkdir"];

impl<'c> Statements<'_, 'c, '_> {
    /// The lines of the next statement, and what ends it taken, behind what marks what is lost in it.
    pub(super) fn statement(&mut self) -> Option<Vec<String>> {
        let around = std::mem::take(&mut self.writer.marks);
        let lines = self.unmarked();
        self.mark_handed();
        let marks = std::mem::replace(&mut self.writer.marks, around);
        Some(marks.into_iter().chain(lines?).collect())
    }

    fn unmarked(&mut self) -> Option<Vec<String>> {
        let token = self.reader.peek()?;
        if token.kind == TokenKind::Comment {
            self.reader.at += 1;
            self.reader.at += usize::from(self.reader.peek().is_some_and(|t| t.kind == TokenKind::Line));
            return Some(vec![self.comment(token.text)]);
        }
        if token.text == ">>" && self.reader.nth(1) == ">" {
            self.writer.uses(Idiom::Prompt);
            self.reader.at += 2;
            return self.unmarked();
        }
        let next = self.reader.nth(1);
        if token.kind == TokenKind::Name && matches!((next, self.reader.nth(2)), ("+", "+") | ("-", "-")) {
            self.writer.uses(Idiom::Increment);
            self.reader.at += 3;
            let line = format!("{} {next}= 1;", token.text);
            return self.end(vec![line]);
        }
        let is_word = matches!(token.text, "throw" | "assert") || KEYWORDS.contains(&token.text);
        let is_name = matches!(next, "=" | "." | "+=" | "-=" | "," | ")") || next == "[" && !is_word;
        if !is_name && let Some(lines) = self.compound(token.text) {
            return lines;
        }
        let lines = match token.text {
            _ if is_name => self.assignment(),
            "import" | "from" => self.import(),
            "pass" => self.word(Idiom::Pass, Vec::new()),
            "break" | "continue" => {
                self.reader.at += 1;
                let left = self.left.as_ref().filter(|_| token.text == "break");
                let noted = left.map(|left| format!("{left} = true;"));
                Some(noted.into_iter().chain([format!("{};", token.text)]).collect())
            }
            "del" => self.del(),
            "yield" => self.yields(),
            "assert" => self.assert(),
            "raise" => self.raise(),
            "global" | "nonlocal" => self.global(),
            "return" | "throw" => self.give(token.text),
            "print" if next != "(" => self.print(),
            "let" | "const" => self.binding(token.text),
            "%" => self.magic(),
            "!" if next == "nvidia" => {
                self.reader.at += 4;
                self.writer.uses(Idiom::Shell);
                Some(vec!["smi();".into()])
            }
            "!" if self.writer.python && (SETS_UP.contains(&next) || COMMANDS.contains(&next)) => {
                self.notebook(next)
            }
            _ => self.assignment(),
        }?;
        let before = std::mem::take(&mut self.writer.prelude);
        self.end(before.into_iter().chain(lines).collect())
    }

    /// What stands behind a statement: a semicolon, a comment, the line's end.
    fn end(&mut self, mut lines: Vec<String>) -> Option<Vec<String>> {
        let closed = self.reader.eat(";");
        if let Some(comment) = self.reader.peek().filter(|t| t.kind == TokenKind::Comment) {
            self.reader.at += 1;
            let comment = self.comment(comment.text);
            match lines.last_mut() {
                _ if self.bare => {}
                Some(last) => *last += &format!(" {comment}"),
                None => lines.push(comment),
            }
        }
        let ends_line = self.reader.peek().is_some_and(|t| t.kind == TokenKind::Line);
        self.reader.at += usize::from(ends_line);
        let ends_block = self.reader.word() == "}";
        if !(closed || ends_line || ends_block || self.reader.peek().is_none()) {
            return None;
        }
        if !closed && self.reader.peek().is_some() && !ends_block && !lines.is_empty() {
            self.writer.uses(Idiom::Semicolon);
        }
        // A block's value.
        if !closed
            && ends_block
            && let Some(last) = lines.last_mut().filter(|last| !last.starts_with("let "))
        {
            *last = last.trim_end_matches(';').to_owned();
        }
        Some(lines)
    }

    pub(super) fn comment(&mut self, text: &str) -> String {
        match text.strip_prefix('#') {
            Some(rest) => {
                self.writer.uses(Idiom::Comment);
                format!("//{rest}")
            }
            None => text.to_owned(),
        }
    }

    pub(super) fn word(&mut self, idiom: Idiom, lines: Vec<String>) -> Option<Vec<String>> {
        self.reader.at += 1;
        self.writer.uses(idiom);
        Some(lines)
    }

    /// `import numpy as np` and `from torch import nn`, whose names are remembered.
    fn import(&mut self) -> Option<Vec<String>> {
        self.writer.uses(Idiom::Import);
        let from = self.reader.eat("from");
        let module = if from { self.dotted()? } else { String::new() };
        self.reader.expect("import")?;
        self.reader.eat("(");
        loop {
            let path = if self.reader.eat("*") { String::new() } else { self.dotted()? };
            let full = if from { format!("{module}.{path}") } else { path.clone() };
            let name = if self.reader.eat("as") { self.reader.name()? } else { path };
            if !name.is_empty() && !name.contains('.') {
                self.writer.imports.insert(name, full);
            }
            if !self.reader.eat(",") || self.reader.word() == ")" {
                break;
            }
        }
        self.reader.eat(")");
        Some(Vec::new())
    }

    fn dotted(&mut self) -> Option<String> {
        let mut path = self.reader.name()?;
        while self.reader.eat(".") {
            path += &format!(".{}", self.reader.name()?);
        }
        Some(path)
    }

    fn del(&mut self) -> Option<Vec<String>> {
        self.word(Idiom::Del, Vec::new())?;
        let mut lines = Vec::new();
        loop {
            lines.push(match self.reader.value()? {
                Expr::Index(on, places) => match places.as_slice() {
                    _ if let Some(Expr::Index(on, one)) =
                        self.writer.with_one_key(&Expr::Index(on.clone(), places.clone())) =>
                    {
                        let [IndexPlace::One(key)] = one.as_slice() else { return None };
                        let of = self.writer.on(&on)?;
                        format!("{of}.remove({});", self.writer.key_of(&of, key)?)
                    }
                    [IndexPlace::One(at)] => {
                        let (of, is_map) = (self.writer.on(&on)?, self.writer.kind(&on) == Holds::Map);
                        let at = if is_map { self.writer.key_of(&of, at)? } else { self.writer.expr(at)? };
                        format!("{of}.remove({at});")
                    }
                    _ => return None,
                },
                value => format!("drop({});", self.writer.expr(&value)?),
            });
            if !self.reader.eat(",") {
                return Some(lines);
            }
        }
    }

    fn global(&mut self) -> Option<Vec<String>> {
        self.word(Idiom::Global, Vec::new())?;
        loop {
            let name = self.reader.name()?;
            let holds = self.writer.holds(&name).unwrap_or(Holds::Other);
            self.writer.bind(&name, holds);
            if !self.reader.eat(",") {
                return Some(Vec::new());
            }
        }
    }

    fn give(&mut self, word: &str) -> Option<Vec<String>> {
        self.reader.at += 1;
        if self.reader.peek().is_none_or(|t| matches!(t.kind, TokenKind::Line | TokenKind::Comment))
            || matches!(self.reader.word(), ";" | "}")
        {
            return Some(vec![format!("{word};")]);
        }
        let value = self.reader.values()?;
        self.writer.note_given(&value);
        Some(vec![format!("{word} {};", self.writer.expr(&value)?)])
    }

    fn print(&mut self) -> Option<Vec<String>> {
        self.word(Idiom::Print, Vec::new())?;
        let value = match self.reader.peek().is_none_or(|t| t.kind == TokenKind::Line) {
            true => Vec::new(),
            false => match self.reader.values()? {
                Expr::Tuple(all) => all,
                value => vec![value],
            },
        };
        let arguments = value.into_iter().map(|value| super::tree::Arg { name: None, spread: false, value });
        let call = Expr::Call(Expr::Name("print".into()).into(), arguments.collect());
        Some(vec![format!("{};", self.writer.expr(&call)?)])
    }

    /// `%timeit f(x)`
    fn magic(&mut self) -> Option<Vec<String>> {
        self.reader.at += 1;
        self.reader.eat("%");
        let word = self.reader.name()?;
        if !matches!(word.as_str(), "timeit" | "time") {
            return self.notebook(&word);
        }
        self.writer.uses(Idiom::Timeit);
        let value = self.reader.value()?;
        Some(vec![format!("timeit(|| {});", self.writer.expr(&value)?)])
    }

    /// What a notebook of Python's tells its surroundings.
    fn notebook(&mut self, word: &str) -> Option<Vec<String>> {
        self.writer.uses(if SETS_UP.contains(&word) { Idiom::Notebook } else { Idiom::Command });
        while self.reader.peek().is_some_and(|token| token.kind != TokenKind::Line) {
            self.reader.at += 1;
        }
        Some(Vec::new())
    }

    /// Rhai's own `let`, which may have Python behind it.
    fn binding(&mut self, word: &str) -> Option<Vec<String>> {
        self.reader.at += 1;
        let target = self.reader.values()?;
        if self.reader.eat(":") {
            self.writer.uses(Idiom::Annotation);
            self.reader.value()?;
        }
        if !self.reader.eat("=") {
            let Expr::Name(name) = target else { return None };
            self.writer.bind(&name, Holds::Other);
            return Some(vec![format!("{word} {name};")]);
        }
        let value = self.reader.values()?;
        let Expr::Name(name) = &target else {
            self.fresh = true;
            let lines = self.assign(&[target], &value);
            self.fresh = false;
            return lines;
        };
        let holds = self.writer.kept(&value);
        let text = self.writer.expr(&value)?;
        self.note_most(name, &value);
        self.writer.bind(name, holds);
        Some(vec![format!("{word} {name} = {text};")])
    }

    /// An assignment, or a value alone.
    fn assignment(&mut self) -> Option<Vec<String>> {
        let first = self.reader.values()?;
        let is_named =
            matches!(first, Expr::Name(_)) || self.writer.python && matches!(first, Expr::Attr(..));
        if is_named && self.reader.eat(":") {
            self.writer.uses(Idiom::Annotation);
            self.reader.value()?;
            if self.reader.word() != "=" {
                return Some(Vec::new());
            }
        }
        if let Some(sign) = AUGMENTED.iter().find(|sign| **sign == self.reader.word()) {
            self.reader.at += 1;
            let value = self.reader.values()?;
            return self.augmented(&first, sign, &value);
        }
        if self.reader.word() != "=" {
            return self.alone(&first);
        }
        let mut all = vec![first];
        while self.reader.eat("=") {
            all.push(self.reader.values()?);
        }
        let value = all.pop()?;
        self.assign(&all, &value)
    }

    pub(super) fn alone(&mut self, value: &Expr) -> Option<Vec<String>> {
        if let Expr::Text(raw) = value
            && let Some((_, quote, inside)) = taken_apart(raw)
            && quote.len() == 3
        {
            self.writer.uses(Idiom::Comment);
            return Some(inside.trim().lines().map(|line| format!("// {}", line.trim())).collect());
        }
        // Rhai's own, which changes the text.
        if let (Expr::Call(callee, arguments), false) = (value, self.writer.python)
            && let Expr::Attr(on, name) = callee.as_ref()
            && matches!(name.as_str(), "replace" | "trim")
        {
            let (on, arguments) = (self.writer.on(on)?, self.writer.arguments(arguments)?);
            return Some(vec![format!("{on}.{name}({arguments});")]);
        }
        if let Some(lines) = self
            .of_chosen(value)
            .or_else(|| self.collective(value))
            .or_else(|| self.given_back(value))
            .or_else(|| self.within_most(value))
            .or_else(|| self.option(value))
        {
            return Some(lines);
        }
        let text = self.writer.expr(value)?;
        // What has nothing to do here falls away.
        Some(if text.is_empty() { Vec::new() } else { vec![format!("{text};")] })
    }

    fn augmented(&mut self, target: &Expr, sign: &str, value: &Expr) -> Option<Vec<String>> {
        if let Some(target) = self.writer.with_one_key(target) {
            return self.augmented(&target, sign, value);
        }
        if let Expr::Index(_, places) = target
            && (places.len() > 1
                || matches!(
                    places.as_slice(),
                    [IndexPlace::One(Expr::Tuple(_)) | IndexPlace::Slice(_, _, Some(_))]
                )
                || self.is_one_place(target))
            && !self.is_in_map(target)
        {
            let sign = LEVELS.into_iter().find(|level| sign.strip_suffix('=') == Some(level))?;
            let whole = Expr::Binary(sign, target.clone().into(), value.clone().into());
            let text = self.writer.expr(&whole)?;
            return Some(vec![self.one(target, &text, Holds::Tensor)?]);
        }
        if let Some(plain) = LEVELS.into_iter().find(|level| sign.strip_suffix('=') == Some(level))
            && let Some(text) = self.writer.of_sign(plain, target, value)
        {
            let own = self.writer.expr(target)?;
            return Some(vec![format!("{own} = {text};")]);
        }
        let is_standing = matches!(target, Expr::Index(map, _) if self.writer.standing_of(map).is_some());
        let is_set = self.writer.is_set(target);
        if let Some(plain) = sign.strip_suffix('=')
            && let Some(plain) = LEVELS.into_iter().chain(["|", "&", "^"]).find(|level| *level == plain)
            && (is_standing || is_set)
        {
            let whole = Expr::Binary(plain, target.clone().into(), value.clone().into());
            let (holds, text) = (self.writer.kept(&whole), self.writer.expr(&whole)?);
            return Some(vec![self.one(target, &text, holds)?]);
        }
        if sign == "/=" {
            return Some(vec![self.writer.divided_in_place(target, value)?]);
        }
        let on = match target {
            Expr::Index(..) => self.writer.placed(target)?,
            target => self.writer.expr(target)?,
        };
        if let ("-=", Expr::Name(name)) = (sign, target)
            && self.writer.holds(name) == Some(Holds::Int)
        {
            self.writer.rebind(name, Holds::Negative);
        }
        if let ("//=" | "@=", _) = (sign, target) {
            let sign = if sign == "//=" { "//" } else { "@" };
            let whole = Expr::Binary(sign, target.clone().into(), value.clone().into());
            return Some(vec![format!("{on} = {};", self.writer.expr(&whole)?)]);
        }
        let text = self.writer.expr(value)?;
        if let Expr::Name(name) = target
            && self.writer.python
            && matches!(self.writer.holds(name), Some(Holds::Int | Holds::Float))
            && matches!(self.writer.kind(value), Holds::Tensor | Holds::Float)
        {
            self.writer.rebind(name, self.writer.kind(value));
        }
        Some(vec![format!("{on} {sign} {text};")])
    }

    /// `a = b = value`, from the last target on.
    fn assign(&mut self, targets: &[Expr], value: &Expr) -> Option<Vec<String>> {
        let file = self.file_of(targets, value);
        let value = file.as_ref().unwrap_or_else(|| self.writer.without_numpy(value));
        if let [target] = targets
            && let Some(lines) = self.of_parser(target, value)
        {
            return Some(lines);
        }
        if let [target] = targets
            && let Some(lines) = self.record(target, value)
        {
            return Some(lines);
        }
        let mut lines = Vec::new();
        let mut given = self.writer.applied_by(targets, value);
        let mut before = value;
        for target in targets.iter().rev() {
            if !std::ptr::eq(before, value) {
                self.writer.uses(Idiom::ChainedAssignment);
            }
            if let Expr::Index(on, _) = target
                && is_os(on)
            {
                self.writer.uses(Idiom::Environ);
                continue;
            }
            if let Expr::Tuple(names) | Expr::List(names) = target {
                lines.extend(self.several(names, value)?);
                continue;
            }
            let holds = self.writer.kept(value);
            let text = match &given {
                Some(text) => text.clone(),
                None => match self.writer.without_most(target, value) {
                    Some(items) => self.writer.expr(&items)?,
                    None => self.writer.expr(value)?,
                },
            };
            self.note_copy(target, value);
            let is_shared = matches!(self.writer.kind(value), Holds::Array | Holds::Map);
            self.mark_alias(target, if is_shared { before } else { value });
            self.mark_repeated(target, value);
            self.mark_copied(target, value);
            before = target;
            lines.push(self.one(target, &text, holds)?);
            let own = self.writer.expr(target)?;
            self.note_class(&own, value);
            self.writer.note_arrays(&own, value);
            self.writer.note_standing(&own, value);
            lines.extend(self.note_most(&own, value));
            self.writer.note_items(target, value);
            self.note_order(&own, value);
            if self.writer.may_be_none(value) {
                self.writer.optional.insert(own.clone());
            } else if self.depth == 0 {
                self.writer.optional.remove(&own);
            }
            match value {
                Expr::Name(none) if none == "None" => self.writer.nones.insert(own.clone()),
                // A branch may have left it as it was.
                _ if self.depth > 0 => false,
                _ => self.writer.nones.remove(&own),
            };
            match self.writer.is_of_functions(value) {
                true => self.writer.callable.insert(own.clone()),
                false => self.writer.callable.remove(&own),
            };
            self.note_lambda(&own, value)?;
            given = Some(own);
        }
        Some(lines)
    }

    pub(super) fn one(&mut self, target: &Expr, value: &str, holds: Holds) -> Option<String> {
        if let Some(target) = self.writer.with_one_key(target) {
            return self.one(&target, value, holds);
        }
        match target {
            Expr::Name(name) => {
                if self.is_own(name) && !self.fresh {
                    self.writer.rebind(name, holds);
                    return Some(format!("{name} = {value};"));
                }
                self.writer.bind(name, holds);
                self.writer.uses(Idiom::Let);
                Some(format!("let {name} = {value};"))
            }
            Expr::Attr(..) => {
                let target = self.writer.expr(target)?;
                if target.contains("::") {
                    self.writer.uses(Idiom::Setting);
                    return Some(format!("{target}({value});"));
                }
                if let Some(scope) = self.writer.scopes.first_mut().filter(|_| target.starts_with("self.")) {
                    scope.insert(target.clone(), holds);
                }
                Some(format!("{target} = {value};"))
            }
            Expr::Path(..) => {
                self.writer.uses(Idiom::Setting);
                Some(format!("{}({value});", self.writer.expr(target)?))
            }
            Expr::Index(map, places) => {
                if let [IndexPlace::One(at)] = places.as_slice()
                    && let given = Expr::Rhai(value.to_owned())
                    && let Some(call) = self.writer.dunder(map, "__setitem__", &[at, &given])
                {
                    return Some(format!("{call};"));
                }
                let on = self.writer.placed(map)?;
                if let [IndexPlace::One(key)] = places.as_slice()
                    && self.writer.kind(map) == Holds::Map
                    && self.writer.kind(key) == Holds::Int
                {
                    self.writer.numbered.insert(on.clone());
                }
                self.writer.ordered.remove(&on);
                if self.writer.copies.contains(&on) {
                    self.writer.uses(Idiom::Copied);
                }
                if let [IndexPlace::One(key)] = places.as_slice()
                    && self.writer.kind(map) == Holds::Map
                {
                    return Some(format!("{on}[{}] = {value};", self.writer.key_of(&on, key)?));
                }
                if let ([IndexPlace::One(at)], true) = (places.as_slice(), self.is_one_place(target)) {
                    self.writer.uses(Idiom::Put);
                    return Some(format!("{on}.put({}, {value});", self.writer.expr(at)?));
                }
                Some(format!("{};", self.writer.assigned(&on, places, value)?))
            }
            _ => None,
        }
    }

    /// Whether a tuple says which place of a tensor is written to.
    fn is_one_place(&self, target: &Expr) -> bool {
        let Expr::Index(on, places) = target else { return false };
        let [IndexPlace::One(at)] = places.as_slice() else { return false };
        let may_be = matches!(self.writer.kind(on), Holds::Tensor | Holds::Other);
        may_be && !matches!(at, Expr::Tuple(_)) && self.writer.is_tuple(at)
    }

    /// Whether what is written to is a dictionary's.
    fn is_in_map(&self, target: &Expr) -> bool {
        matches!(target, Expr::Index(on, _) if self.writer.kind(on) == Holds::Map)
    }

    /// Whether an assignment finds a variable of this name.
    pub(super) fn is_own(&self, name: &str) -> bool {
        self.writer.scopes.iter().skip(self.function).any(|scope| scope.contains_key(name))
    }
}
