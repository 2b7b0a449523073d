//! Code as Rhai reads it, without evaluating it: its tokens with their places, its brackets, whether it is whole.

use std::collections::BTreeSet;
use std::iter::Peekable;
use std::ops::Range;
use std::str::Chars;

use rhai::{
    Engine, InputStream, LexError, Position, Token, TokenizeState, TokenizerControlBlock, get_next_token,
};

/// Words that this language adds to Rhai's.
const ADDED: [&str; 2] = ["with", "is"];

/// What a piece of code is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Keyword,
    /// A variable, a function, a module, a property.
    Name,
    Number,
    /// A string or a character, or the part of a string before code in it.
    Text,
    Comment,
    Symbol,
    /// What Rhai can't read.
    Wrong,
}

/// One token.
#[derive(Clone, Debug)]
pub struct Piece {
    pub kind: Kind,
    /// Bytes of the code.
    pub range: Range<usize>,
    pub token: Token,
}

/// What the end of a piece of code leaves open.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Open {
    pub string: bool,
    /// The end is in code within a text: behind `${`.
    pub code: bool,
    pub comment: bool,
    /// The end is in a comment that ends with its line.
    pub line_comment: bool,
}

/// A call that is being written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// With its modules: `nn::Linear`, or what follows the last point.
    pub name: String,
    /// It is called on a value, after a point.
    pub method: bool,
    /// The argument that the place is in, from 0.
    pub argument: usize,
    /// The place is directly within the call's `#{…}`.
    pub options: bool,
    /// The byte where the name begins.
    pub start: usize,
}

/// The characters of a text, counted as they are taken.
struct CharStream<'c> {
    chars: Peekable<Chars<'c>>,
    put_back: Vec<char>,
    taken: usize,
}

impl InputStream for CharStream<'_> {
    fn unget(&mut self, c: char) {
        self.taken = self.taken.saturating_sub(c.len_utf8());
        self.put_back.push(c);
    }

    fn get_next(&mut self) -> Option<char> {
        let c = self.put_back.pop().or_else(|| self.chars.next())?;
        self.taken += c.len_utf8();
        Some(c)
    }

    fn peek_next(&mut self) -> Option<char> {
        self.put_back.last().copied().or_else(|| self.chars.peek().copied())
    }
}

/// The tokens of some code, comments among them.
pub fn pieces(code: &str) -> Vec<Piece> {
    read(code).0
}

/// What the code's end leaves open.
pub fn open(code: &str) -> Open {
    read(code).1
}

/// The tokens of some code with their places, as an engine reads it; code inside of texts among them.
pub fn tokens(engine: &Engine, code: &str) -> Vec<(Token, Position)> {
    let inputs = [code];
    let (stream, control) = engine.lex(&inputs);
    let (mut texts, mut all) = (Texts::default(), Vec::new());
    for (token, position) in stream {
        if token == Token::EOF {
            break;
        }
        if texts.go_on(&token) {
            control.borrow_mut().is_within_text = true;
        }
        all.push((token, position));
    }
    all
}

/// Texts that stopped for code in `${…}`: where its brace closes, Rhai's lexer must be told that the text goes on.
#[derive(Default)]
struct Texts {
    /// Braces that are open.
    braces: usize,
    /// How many were where each text stopped.
    stopped: Vec<usize>,
}

impl Texts {
    /// Takes the next token: whether a text goes on behind it.
    fn go_on(&mut self, token: &Token) -> bool {
        match token {
            Token::InterpolatedString(_) => self.stopped.push(self.braces),
            Token::LeftBrace | Token::MapStart => self.braces += 1,
            Token::RightBrace => {
                self.braces = self.braces.saturating_sub(1);
                return self.stopped.pop_if(|braces| *braces == self.braces).is_some();
            }
            _ => {}
        }
        false
    }

    fn is_open(&self) -> bool {
        !self.stopped.is_empty()
    }
}

/// Opening brackets without their closing ones, by their bytes, the outermost first.
pub(super) fn unclosed(code: &str, pieces: &[Piece]) -> Vec<usize> {
    let mut open = Vec::new();
    for (at, bracket) in brackets(code, pieces) {
        if is_opening(bracket) {
            open.push(at);
        } else {
            open.pop();
        }
    }
    open
}

/// Tokens in a row that take no character: the end of a string's code may be one.
const IDLE: usize = 2;

pub(super) fn read(code: &str) -> (Vec<Piece>, Open) {
    let mut stream = CharStream { chars: code.chars().peekable(), put_back: Vec::new(), taken: 0 };
    let mut state = state();
    let mut position = Position::new(1, 0);
    let mut pieces: Vec<Piece> = Vec::new();
    let (mut texts, mut in_text) = (Texts::default(), false);
    let mut open = Open::default();
    let mut idle = 0;
    loop {
        let from = stream.taken;
        let (token, _) = get_next_token(&mut stream, &mut state, &mut position);
        let rest = code.get(from..stream.taken).unwrap_or_default();
        let skipped = if in_text { 0 } else { rest.len() - rest.trim_start().len() };
        in_text = texts.go_on(&token);
        if in_text {
            state.is_within_text_terminated_by = Some("`".into());
        }
        match &token {
            Token::EOF => break,
            // An open comment or string goes on at the end for ever.
            Token::Comment(_) if stream.taken == from => break,
            _ if idle > IDLE => break,
            Token::LexError(error) => open.string = **error == LexError::UnterminatedString,
            _ => {}
        }
        // A comment ends with its line, which is none of it.
        let behind = if let Token::Comment(_) = token { rest.len() - rest.trim_end().len() } else { 0 };
        idle = if stream.taken > from { 0 } else { idle + 1 };
        if stream.taken > from {
            pieces.push(Piece { kind: kind(&token), range: from + skipped..stream.taken - behind, token });
        }
    }
    open.code = !open.string && texts.is_open() && state.is_within_text_terminated_by.is_none();
    open.string |= state.is_within_text_terminated_by.is_some() || texts.is_open();
    open.comment = state.comment_level > 0;
    open.line_comment = pieces.last().is_some_and(|last| {
        let text = code.get(last.range.clone()).unwrap_or_default();
        last.kind == Kind::Comment && text.starts_with("//") && last.range.end == code.len()
    });
    (pieces, open)
}

fn state() -> TokenizeState {
    TokenizeState {
        max_string_len: None,
        next_token_cannot_be_unary: false,
        tokenizer_control: std::rc::Rc::new(std::cell::RefCell::new(TokenizerControlBlock::new())),
        comment_level: 0,
        include_comments: true,
        is_within_text_terminated_by: None,
        last_token: None,
    }
}

fn kind(token: &Token) -> Kind {
    match token {
        Token::IntegerConstant(_) | Token::FloatConstant(_) => Kind::Number,
        Token::CharConstant(_) | Token::StringConstant(_) | Token::InterpolatedString(_) => Kind::Text,
        Token::LexError(error) if **error == LexError::UnterminatedString => Kind::Text,
        Token::LexError(_) => Kind::Wrong,
        Token::Comment(_) => Kind::Comment,
        Token::Identifier(name) | Token::Custom(name) | Token::Reserved(name)
            if ADDED.contains(&name.as_str()) =>
        {
            Kind::Keyword
        }
        Token::Identifier(_) => Kind::Name,
        // `module` and `var` are names here; `@` and `===` are none.
        Token::Reserved(word) if word.starts_with(char::is_alphabetic) => match word.as_str() {
            "this" => Kind::Keyword,
            _ => Kind::Name,
        },
        token if token.is_standard_keyword() => Kind::Keyword,
        _ => Kind::Symbol,
    }
}

/// The brackets of some code with their bytes; those in strings and comments are none.
fn brackets<'p>(code: &'p str, pieces: &'p [Piece]) -> impl Iterator<Item = (usize, char)> + 'p {
    let symbols = pieces.iter().filter(|piece| piece.kind == Kind::Symbol);
    symbols.flat_map(move |piece| {
        let text = code.get(piece.range.clone()).unwrap_or_default();
        let signs = text.char_indices().filter(|(_, c)| is_opening(*c) || is_closing(*c));
        signs.map(move |(i, c)| (piece.range.start + i, c))
    })
}

fn is_opening(c: char) -> bool {
    matches!(c, '(' | '[' | '{')
}

fn is_closing(c: char) -> bool {
    matches!(c, ')' | ']' | '}')
}

/// The bytes of the bracket at, or just before, a byte of the code and of the one that belongs to it.
pub(crate) fn partners(code: &str, pieces: &[Piece], at: usize) -> Option<(usize, usize)> {
    let mut stack: Vec<(usize, char)> = Vec::new();
    let mut before = None;
    for (place, bracket) in brackets(code, pieces) {
        let pair = match bracket {
            c if is_opening(c) => {
                stack.push((place, c));
                continue;
            }
            closing => stack
                .pop()
                .filter(|(_, opening)| matches!((*opening, closing), ('(', ')') | ('[', ']') | ('{', '}'))),
        };
        let Some((opened, _)) = pair else { continue };
        if opened == at || place == at {
            return Some((opened, place));
        }
        if opened + 1 == at || place + 1 == at {
            before = before.or(Some((opened, place)));
        }
    }
    before
}

/// The call whose parentheses are open at a byte of the code.
pub(crate) fn call_at(code: &str, at: usize) -> Option<Call> {
    let before = code.get(..at)?;
    let (pieces, end) = read(before);
    if end.comment || end.string || end.line_comment {
        return None;
    }
    let pieces: Vec<Piece> = pieces.into_iter().filter(|p| p.kind != Kind::Comment).collect();
    // Each open bracket: its piece, and the commas after it.
    let mut stack: Vec<(usize, usize)> = Vec::new();
    for (i, piece) in pieces.iter().enumerate() {
        match piece.token {
            Token::LeftParen | Token::LeftBracket | Token::LeftBrace | Token::MapStart => stack.push((i, 0)),
            Token::RightParen | Token::RightBracket | Token::RightBrace => {
                stack.pop();
            }
            Token::Comma => {
                if let Some(last) = stack.last_mut() {
                    last.1 += 1;
                }
            }
            _ => {}
        }
    }
    let inner = stack.last().copied()?;
    let token = |i: usize| pieces.get(i).map(|piece| &piece.token);
    let options = token(inner.0) == Some(&Token::MapStart);
    let (paren, argument) = if options { stack.iter().rev().nth(1).copied()? } else { inner };
    if token(paren) != Some(&Token::LeftParen) {
        return None;
    }
    let last = paren.checked_sub(1)?;
    if pieces.get(last).is_none_or(|piece| piece.kind != Kind::Name) {
        return None;
    }
    let mut first = last;
    while first >= 2
        && token(first - 1) == Some(&Token::DoubleColon)
        && pieces.get(first - 2).is_some_and(|piece| piece.kind == Kind::Name)
    {
        first -= 2;
    }
    let (start, end) = (pieces.get(first)?.range.start, pieces.get(last)?.range.end);
    let prior = first.checked_sub(1).and_then(token);
    if prior == Some(&Token::Fn) {
        return None;
    }
    let method = matches!(prior, Some(Token::Period | Token::Elvis));
    Some(Call { name: code.get(start..end)?.to_owned(), method, argument, options, start })
}

/// The name, with its modules, that a byte of the code stands in or after.
pub(crate) fn name_at(code: &str, at: usize) -> Option<String> {
    let pieces: Vec<Piece> = pieces(code).into_iter().filter(|p| p.kind != Kind::Comment).collect();
    let is_name = |i: usize| pieces.get(i).is_some_and(|piece| piece.kind == Kind::Name);
    let within = |piece: &Piece| piece.kind == Kind::Name && piece.range.start <= at && at <= piece.range.end;
    let last = pieces.iter().position(within)?;
    let mut first = last;
    let colons = |i: usize| pieces.get(i).is_some_and(|piece| piece.token == Token::DoubleColon);
    while first >= 2 && colons(first - 1) && is_name(first - 2) {
        first -= 2;
    }
    let range = pieces.get(first)?.range.start..pieces.get(last)?.range.end;
    code.get(range).map(str::to_owned)
}

/// The names in some code, those of code inside of texts among them.
pub(crate) fn names(code: &str) -> BTreeSet<String> {
    let names = pieces(code).into_iter().filter_map(|piece| match piece.token {
        Token::Identifier(name) => Some(name.to_string()),
        _ => None,
    });
    names.collect()
}

/// The names of functions that some code defines.
pub(crate) fn functions(code: &str) -> Vec<String> {
    let pieces: Vec<Piece> = pieces(code).into_iter().filter(|p| p.kind != Kind::Comment).collect();
    let defined = pieces.windows(2).filter_map(|pair| match pair {
        [first, Piece { token: Token::Identifier(name), .. }] if first.token == Token::Fn => {
            Some(name.to_string())
        }
        _ => None,
    });
    defined.collect()
}

/// The same with how many parameters each has.
pub(crate) fn functions_with_parameters(code: &str) -> Vec<(String, usize)> {
    let pieces: Vec<Piece> = pieces(code).into_iter().filter(|p| p.kind != Kind::Comment).collect();
    let defined = pieces.iter().enumerate().filter(|(_, piece)| piece.token == Token::Fn);
    let one = |(at, _): (usize, &Piece)| {
        let after = pieces.get(at + 1..)?;
        let name = after.first().filter(|piece| piece.kind == Kind::Name)?;
        let given = after.iter().skip(1).take_while(|p| !matches!(p.token, Token::RightParen | Token::Unit));
        let count = given.filter(|piece| piece.kind == Kind::Name).count();
        Some((code.get(name.range.clone())?.to_owned(), count))
    };
    defined.filter_map(one).collect()
}

/// Names that some code binds: with `let` and `const`, as functions, parameters and loop variables.
pub fn bound(code: &str) -> Vec<String> {
    let pieces: Vec<Piece> = pieces(code).into_iter().filter(|p| p.kind != Kind::Comment).collect();
    let mut names = Vec::new();
    let mut add = |piece: &Piece| {
        if let Some(name) = code.get(piece.range.clone()).filter(|_| piece.kind == Kind::Name)
            && !names.iter().any(|known| known == name)
        {
            names.push(name.to_owned());
        }
    };
    for (i, piece) in pieces.iter().enumerate() {
        let after = pieces.get(i + 1..).unwrap_or_default();
        match piece.token {
            Token::Let | Token::Const => after.iter().take(1).for_each(&mut add),
            // Without parameters `()` is one token.
            Token::Fn => after
                .iter()
                .take_while(|p| !matches!(p.token, Token::RightParen | Token::Unit))
                .for_each(&mut add),
            Token::For => after.iter().take_while(|p| p.token != Token::In).for_each(&mut add),
            Token::Pipe if opens_closure(&pieces, i) => {
                after.iter().take_while(|p| p.token != Token::Pipe).for_each(&mut add);
            }
            _ => {}
        }
    }
    names
}

/// A `|` with which parameters begin: what stands before it is no value.
pub(crate) fn opens_closure(pieces: &[Piece], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|i| pieces.get(i));
    before.is_none_or(|piece| {
        let closes = matches!(piece.token, Token::RightParen | Token::RightBracket | Token::RightBrace);
        piece.kind == Kind::Keyword || (piece.kind == Kind::Symbol && !closes)
    })
}

#[cfg(test)]
mod tests;
