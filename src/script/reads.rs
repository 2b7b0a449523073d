//! What the names in some code stand for, as far as its text tells.

use std::collections::{BTreeSet, HashMap};

use rhai::{Engine, Position, Token};

use super::lexer;

/// What a token reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reading {
    /// Nothing, or what is no variable: a field, a function that is called, a space of names.
    Nothing,
    /// What the code itself does not define.
    Free,
    /// A variable of the code's own, by its number.
    Own(usize),
}

/// The readings of some tokens, one for each.
pub(crate) struct Readings {
    pub all: Vec<Reading>,
    pub parameters: Vec<Parameter>,
}

/// A variable that gets its value with a call.
pub(crate) struct Parameter {
    pub number: usize,
    pub callee: Callee,
}

/// What is called.
#[derive(Clone)]
pub(crate) enum Callee {
    Function(String),
    /// A closure by the variable that it was bound to.
    Variable(usize),
    /// A closure without a name, by the token that it begins with.
    Here(usize),
}

/// Names between two brackets, or behind a closure's parameters.
#[derive(Default)]
struct Frame {
    names: HashMap<String, usize>,
    /// What stands outside can't be seen.
    is_function: bool,
    is_map: bool,
    /// It ends with its expression.
    is_closure: bool,
    /// Variables that are there from the statement's end on.
    coming: Vec<(String, usize)>,
}

struct NameReader<'a> {
    tokens: &'a [(Token, Position)],
    frames: Vec<Frame>,
    /// Names of the next block, with the number of frames around it.
    next: Option<(usize, Frame)>,
    count: usize,
    readings: Readings,
}

/// What the names among some tokens stand for.
pub(crate) fn readings(tokens: &[(Token, Position)]) -> Readings {
    let readings = Readings { all: vec![Reading::Nothing; tokens.len()], parameters: Vec::new() };
    let frames = vec![Frame::default()];
    let mut reader = NameReader { tokens, frames, next: None, count: 0, readings };
    let mut at = 0;
    while at < tokens.len() {
        at = reader.token(at);
    }
    reader.readings
}

fn name(token: &Token) -> Option<&str> {
    match token {
        Token::Identifier(name) => Some(name),
        Token::Reserved(name) => Some(name),
        _ => None,
    }
}

impl NameReader<'_> {
    /// Reads from a token on; gives where the next one stands.
    fn token(&mut self, at: usize) -> usize {
        match self.at(at) {
            Some(Token::LeftBrace) => {
                let depth = self.frames.len();
                let named = self.next.take_if(|(outer, _)| *outer == depth).map(|(_, frame)| frame);
                self.frames.push(named.unwrap_or_default());
            }
            Some(Token::MapStart) => self.frames.push(Frame { is_map: true, ..Frame::default() }),
            Some(Token::LeftParen | Token::LeftBracket) => self.frames.push(Frame::default()),
            Some(Token::RightBrace | Token::RightParen | Token::RightBracket) => {
                self.end_closures();
                if self.frames.len() > 1 {
                    self.frames.pop();
                }
            }
            Some(Token::SemiColon) => {
                self.end_closures();
                if let Some(frame) = self.frames.last_mut() {
                    frame.names.extend(std::mem::take(&mut frame.coming));
                }
            }
            Some(Token::Comma) => self.end_closures(),
            Some(Token::Let | Token::Const) => return self.variable(at + 1),
            Some(Token::For) => return self.block(at + 1, &Token::In, None),
            Some(Token::Catch) if self.at(at + 1) == Some(&Token::LeftParen) => {
                return self.block(at + 1, &Token::RightParen, None);
            }
            // The function's name, and then its parameters.
            Some(Token::Fn) => {
                let callee = self.at(at + 1).and_then(name).map(|name| Callee::Function(name.to_owned()));
                return self.block(at + 2, &Token::RightParen, callee);
            }
            Some(Token::Or) if self.begins_closure(at) => self.closure(Frame::default()),
            Some(Token::Pipe) if self.begins_closure(at) => return self.parameters(at + 1),
            Some(token) if name(token).is_some() => self.read(at),
            _ => {}
        }
        at + 1
    }

    fn at(&self, at: usize) -> Option<&Token> {
        self.tokens.get(at).map(|(token, _)| token)
    }

    fn end_closures(&mut self) {
        while self.frames.len() > 1 && self.frames.pop_if(|frame| frame.is_closure).is_some() {}
    }

    /// A `|` with which parameters begin: what stands before it is no value.
    fn begins_closure(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|at| self.at(at));
        before.is_none_or(|token| {
            let is_value = matches!(
                token,
                Token::RightParen
                    | Token::RightBracket
                    | Token::RightBrace
                    | Token::IntegerConstant(_)
                    | Token::FloatConstant(_)
                    | Token::True
                    | Token::False
                    | Token::StringConstant(_)
            );
            !is_value && name(token).is_none()
        })
    }

    /// A new variable, at the token that names it.
    fn new_name(&mut self, at: usize) -> Option<(String, usize)> {
        let name = self.at(at).and_then(name)?.to_owned();
        let number = self.count;
        self.count += 1;
        if let Some(reading) = self.readings.all.get_mut(at) {
            *reading = Reading::Own(number);
        }
        Some((name, number))
    }

    /// What is made of its value is there behind the statement: in `let q = q[1];` the second `q` is another.
    fn variable(&mut self, at: usize) -> usize {
        let made = self.new_name(at);
        if let Some(frame) = self.frames.last_mut() {
            frame.coming.extend(made);
        }
        at + 1
    }

    /// Names up to a token, which the next block knows.
    fn block(&mut self, from: usize, end: &Token, function: Option<Callee>) -> usize {
        let mut frame = Frame { is_function: function.is_some(), ..Frame::default() };
        let mut at = from;
        // Where there are no parameters, `()` is one token.
        while self.at(at).is_some_and(|token| token != end && *token != Token::Unit) {
            let made = self.new_name(at);
            self.parameter(made.as_ref(), function.as_ref());
            frame.names.extend(made);
            at += 1;
        }
        self.next = Some((self.frames.len(), frame));
        at + 1
    }

    fn parameters(&mut self, from: usize) -> usize {
        let mut frame = Frame::default();
        let callee = self.callee(from - 1);
        let mut at = from;
        while self.at(at).is_some_and(|token| *token != Token::Pipe) {
            let made = self.new_name(at);
            self.parameter(made.as_ref(), Some(&callee));
            frame.names.extend(made);
            at += 1;
        }
        self.closure(frame);
        at + 1
    }

    /// By what the closure is called that begins at a token: `let f = |x| …` gives it a name.
    fn callee(&self, at: usize) -> Callee {
        let named = at.checked_sub(3).filter(|from| {
            matches!(self.at(*from), Some(Token::Let | Token::Const))
                && self.at(at - 1) == Some(&Token::Equals)
        });
        match named.and_then(|from| self.readings.all.get(from + 1)) {
            Some(Reading::Own(number)) => Callee::Variable(*number),
            _ => Callee::Here(at),
        }
    }

    fn parameter(&mut self, made: Option<&(String, usize)>, callee: Option<&Callee>) {
        let parameter = made.zip(callee);
        let parameter =
            parameter.map(|((_, number), callee)| Parameter { number: *number, callee: callee.clone() });
        self.readings.parameters.extend(parameter);
    }

    fn closure(&mut self, frame: Frame) {
        self.frames.push(Frame { is_closure: true, ..frame });
    }

    fn read(&mut self, at: usize) {
        let before = at.checked_sub(1).and_then(|before| self.at(before));
        let is_key = self.frames.last().is_some_and(|frame| frame.is_map)
            && matches!(before, Some(Token::MapStart | Token::Comma))
            && matches!(self.at(at + 1), Some(Token::Colon));
        let is_part = matches!(before, Some(Token::Period | Token::Elvis | Token::DoubleColon))
            || matches!(self.at(at + 1), Some(Token::LeftParen | Token::Unit | Token::DoubleColon));
        if is_key || is_part {
            return;
        }
        let Some(name) = self.at(at).and_then(name) else { return };
        let mut reading = Reading::Free;
        for frame in self.frames.iter().rev() {
            if let Some(number) = frame.names.get(name) {
                reading = Reading::Own(*number);
                break;
            }
            if frame.is_function {
                reading = Reading::Nothing;
                break;
            }
        }
        if let Some(slot) = self.readings.all.get_mut(at) {
            *slot = reading;
        }
    }
}

/// The names that some code makes, assigns to or gives up outside of its functions and blocks' own variables, and the
/// functions that it defines.
pub(crate) fn bound_outside(code: &str) -> BTreeSet<String> {
    let tokens = lexer::tokens(&Engine::new_raw(), code);
    let read = readings(&tokens).all;
    let at = |at: usize| tokens.get(at).map(|(token, _)| token);
    let (mut depth, mut all) = (0usize, BTreeSet::new());
    for (here, (token, _)) in tokens.iter().enumerate() {
        match token {
            Token::LeftBrace | Token::MapStart | Token::LeftParen | Token::LeftBracket => depth += 1,
            Token::RightBrace | Token::RightParen | Token::RightBracket => depth = depth.saturating_sub(1),
            Token::Let | Token::Const if depth == 0 => {
                all.extend(at(here + 1).and_then(name).map(str::to_owned));
            }
            _ => {}
        }
        let next = at(here + 1);
        let is_assigned = next.is_some_and(|next| *next == Token::Equals || next.is_op_assignment());
        let before = |back: usize| here.checked_sub(back).and_then(at);
        let is_dropped = before(1) == Some(&Token::LeftParen) && before(2).and_then(name) == Some("drop");
        let is_outer = read.get(here) == Some(&Reading::Free);
        all.extend(name(token).filter(|_| is_outer && (is_assigned || is_dropped)).map(str::to_owned));
    }
    all.extend(lexer::functions(code));
    all
}

/// The names that some code makes within blocks alone, whose end they do not outlast.
pub(crate) fn bound_in_blocks(code: &str) -> BTreeSet<String> {
    let tokens = lexer::tokens(&Engine::new_raw(), code);
    let outside = bound_outside(code);
    let made = tokens.windows(2).filter_map(|pair| match pair {
        [(Token::Let | Token::Const, _), (made, _)] => name(made).map(str::to_owned),
        _ => None,
    });
    made.filter(|name| !outside.contains(name)).collect()
}

/// [`read_from_outside`] without what is only dropped.
pub(crate) fn used_from_outside(code: &str) -> BTreeSet<String> {
    let tokens = lexer::tokens(&Engine::new_raw(), code);
    let read = readings(&tokens).all;
    let is_dropped = |at: usize| {
        let before = |back: usize| at.checked_sub(back).and_then(|at| tokens.get(at)).map(|(token, _)| token);
        before(1) == Some(&Token::LeftParen) && before(2).and_then(name) == Some("drop")
    };
    let free = tokens
        .iter()
        .zip(&read)
        .enumerate()
        .filter(|(at, (_, reading))| **reading == Reading::Free && !is_dropped(*at));
    free.filter_map(|(_, ((token, _), _))| name(token).map(str::to_owned)).collect()
}

/// The functions that some code calls by their names, and does not define.
pub(crate) fn called_from_outside(code: &str) -> BTreeSet<String> {
    let tokens = lexer::tokens(&Engine::new_raw(), code);
    let own = lexer::functions(code);
    let calls = tokens.iter().enumerate().filter(|(at, _)| {
        let before = at.checked_sub(1).and_then(|before| tokens.get(before)).map(|(token, _)| token);
        let is_part = matches!(before, Some(Token::Period | Token::Elvis | Token::DoubleColon | Token::Fn));
        !is_part && matches!(tokens.get(at + 1), Some((Token::LeftParen, _)))
    });
    calls
        .filter_map(|(_, (token, _))| name(token).map(str::to_owned))
        .filter(|name| !own.contains(name))
        .collect()
}

/// The variables that some code reads and does not make.
pub(crate) fn read_from_outside(code: &str) -> BTreeSet<String> {
    let tokens = lexer::tokens(&Engine::new_raw(), code);
    let read = readings(&tokens).all;
    let free = tokens.iter().zip(&read).filter(|(_, reading)| **reading == Reading::Free);
    free.filter_map(|((token, _), _)| name(token).map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_free_until_the_code_defines_it_and_behind_the_block_that_does() {
        for (code, want) in [
            ("let q = q[1]; q", &["q"] as &[&str]),
            ("let q = 1; q + p", &["p"]),
            ("{ let q = 1; q } q", &["q"]),
            ("for (i, k) in xs { i + k } k", &["k", "xs"]),
            ("[1].map(|t| t + u); t", &["t", "u"]),
            ("fn f(a) { a + b } f(c)", &["c"]),
            ("fn f() { b } f(); g(c)", &["c"]),
            ("#{a: b}.c; nn::Linear(d); `${e}`", &["b", "d", "e"]),
            ("try { } catch (e) { e }", &[]),
            ("try { } catch { } f(e); #{a: #{b: c}, d: |x| x}", &["c", "e"]),
            ("let f = || g; a | b", &["a", "b", "g"]),
        ] {
            let free = read_from_outside(code);
            assert_eq!(free.iter().map(String::as_str).collect::<Vec<_>>(), want, "{code}");
        }
    }

    #[test]
    fn what_code_binds_outside_of_functions_and_blocks() {
        for (code, want) in [
            ("let q = 1; const R = 2;", &["R", "q"] as &[&str]),
            ("fn f(x) { let y = x; } let g = |z| z;", &["f", "g"]),
            ("for x in xs { let y = x; t += y; }", &["t"]),
            ("if a { let x = 3; x = 4; } b.c = 1; d[0] = 2;", &[]),
            ("x = x + 1; drop(w); f(v);", &["w", "x"]),
            ("let s = `${#{a: 1}}`; let m = #{b: 2};", &["m", "s"]),
        ] {
            let bound = bound_outside(code);
            assert_eq!(bound.iter().map(String::as_str).collect::<Vec<_>>(), want, "{code}");
        }
    }
}
