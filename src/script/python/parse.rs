//! Rhai tokens to a tree.

mod values;

use std::ops::Range;

use rhai::Token;

use super::tree::{Block, Expr, Stmt};
use crate::script::lexer::{self, Kind, Piece};

/// Expressions within expressions that are read.
const DEEPEST: usize = 120;

/// What is wrong, and the byte where.
pub(crate) struct Trouble(pub String, pub usize);

type Parsed<T> = Result<T, Trouble>;

pub(crate) struct Parser<'c> {
    code: &'c str,
    pieces: Vec<Piece>,
    at: usize,
    depth: usize,
}

pub(super) fn parse(code: &str) -> Parsed<Block> {
    let mut parser = Parser { code, pieces: lexer::pieces(code), at: 0, depth: 0 };
    let block = parser.statements()?;
    match parser.pieces.get(parser.at) {
        None => Ok(block),
        Some(_) => parser.fail("this is not expected here"),
    }
}

impl Parser<'_> {
    /// The next token; comments between are passed over.
    fn peek(&self) -> Option<&Token> {
        self.ahead(0)
    }

    fn ahead(&self, n: usize) -> Option<&Token> {
        let code = self.pieces.iter().skip(self.at).filter(|piece| piece.kind != Kind::Comment);
        code.map(|piece| &piece.token).nth(n)
    }

    fn next(&mut self) -> Option<Piece> {
        loop {
            let piece = self.pieces.get(self.at)?.clone();
            self.at += 1;
            if piece.kind != Kind::Comment {
                return Some(piece);
            }
        }
    }

    fn text(&self, range: Range<usize>) -> &str {
        self.code.get(range).unwrap_or_default()
    }

    fn place(&self) -> usize {
        self.pieces.get(self.at).map_or(self.code.len(), |piece| piece.range.start)
    }

    fn fail<T>(&self, text: &str) -> Parsed<T> {
        Err(Trouble(text.into(), self.place()))
    }

    fn eat(&mut self, token: &Token) -> bool {
        let there = self.peek() == Some(token);
        if there {
            self.next();
        }
        there
    }

    fn expect(&mut self, token: &Token, name: &str) -> Parsed<()> {
        if self.eat(token) { Ok(()) } else { self.fail(&format!("`{name}` is missing")) }
    }

    fn word(&self) -> Option<String> {
        let piece = self.pieces.iter().skip(self.at).find(|piece| piece.kind != Kind::Comment)?;
        let word = self.text(piece.range.clone());
        (piece.kind == Kind::Name || word == "this").then(|| word.to_owned())
    }

    fn name(&mut self) -> Parsed<String> {
        match self.word() {
            Some(name) => {
                self.next();
                Ok(name)
            }
            None => self.fail("a name is missing"),
        }
    }

    fn keyword(&self, wanted: &str) -> bool {
        let piece = self.pieces.iter().skip(self.at).find(|piece| piece.kind != Kind::Comment);
        piece.is_some_and(|piece| piece.kind == Kind::Keyword && self.text(piece.range.clone()) == wanted)
    }

    fn statements(&mut self) -> Parsed<Block> {
        let mut block = Block::new();
        loop {
            self.between(&mut block);
            match self.peek() {
                None | Some(Token::RightBrace) => return Ok(block),
                Some(Token::SemiColon) => {
                    self.next();
                }
                Some(_) => {
                    let statement = self.statement()?;
                    block.push(statement);
                }
            }
        }
    }

    /// Comments and empty lines before the next statement.
    fn between(&mut self, block: &mut Block) {
        loop {
            let before = self.at.checked_sub(1).and_then(|i| self.pieces.get(i)).map_or(0, |p| p.range.end);
            let gap = self.text(before..self.place()).to_owned();
            let breaks = gap.matches('\n').count();
            if breaks > 1 && !block.is_empty() {
                block.push(Stmt::Blank);
            }
            let Some(piece) = self.pieces.get(self.at).filter(|piece| piece.kind == Kind::Comment) else {
                return;
            };
            let behind = breaks == 0 && self.at > 0;
            let text = self.text(piece.range.clone()).to_owned();
            self.at += 1;
            for line in comment_lines(&text) {
                block.push(Stmt::Comment(line, behind));
            }
        }
    }

    fn block(&mut self) -> Parsed<Block> {
        self.expect(&Token::LeftBrace, "{")?;
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.fail("this is nested too deeply");
        }
        let block = self.statements()?;
        self.depth -= 1;
        self.expect(&Token::RightBrace, "}")?;
        Ok(block)
    }

    fn statement(&mut self) -> Parsed<Stmt> {
        let statement = match self.peek() {
            Some(Token::Let | Token::Const) => {
                self.next();
                let name = self.name()?;
                let value = if self.eat(&Token::Equals) { Some(self.expr(0)?) } else { None };
                Stmt::Let(name, value)
            }
            Some(Token::Private | Token::Fn) => {
                self.eat(&Token::Private);
                self.next();
                let name = self.name()?;
                let params = self.params()?;
                Stmt::Fn(name, params, self.block()?)
            }
            Some(Token::For) => self.for_loop()?,
            Some(Token::While) => {
                self.next();
                Stmt::While(self.expr(0)?, self.block()?)
            }
            Some(Token::Do) => {
                self.next();
                let body = self.block()?;
                let until = self.eat(&Token::Until);
                if !until {
                    self.expect(&Token::While, "while")?;
                }
                let condition = self.expr(0)?;
                Stmt::DoWhile(body, if until { Expr::Unary("!", Box::new(condition)) } else { condition })
            }
            Some(Token::Return) => {
                self.next();
                Stmt::Return(self.optional()?)
            }
            Some(Token::Throw) => {
                self.next();
                Stmt::Throw(self.optional()?)
            }
            Some(Token::Break) => {
                self.next();
                Stmt::Break(self.optional()?)
            }
            Some(Token::Continue) => {
                self.next();
                Stmt::Continue
            }
            Some(Token::Try) => {
                self.next();
                let body = self.block()?;
                self.expect(&Token::Catch, "catch")?;
                let mut name = None;
                if self.eat(&Token::LeftParen) {
                    name = Some(self.name()?);
                    self.expect(&Token::RightParen, ")")?;
                }
                Stmt::Try(body, name, self.block()?)
            }
            _ => return self.expression_statement(),
        };
        self.eat(&Token::SemiColon);
        Ok(statement)
    }

    fn expression_statement(&mut self) -> Parsed<Stmt> {
        // What begins with a block is a statement by itself: no operator goes on with it.
        let block = matches!(self.peek(), Some(Token::If | Token::Switch | Token::Loop | Token::LeftBrace));
        let value = if block || self.keyword("with") { self.postfix()? } else { self.expr(0)? };
        let operator = self.peek().filter(|token| **token == Token::Equals || token.is_op_assignment());
        if let Some(operator) = operator.map(|token| token.literal_syntax().to_owned()) {
            self.next();
            let assigned = self.expr(0)?;
            self.eat(&Token::SemiColon);
            return Ok(Stmt::Assign(value, operator, assigned));
        }
        let ended = self.eat(&Token::SemiColon);
        let is_block = matches!(
            value,
            Expr::If(..) | Expr::Block(_) | Expr::With(..) | Expr::Loop(_) | Expr::Switch(..)
        );
        // A comma ends a case of `switch`.
        let last = matches!(self.peek(), None | Some(Token::RightBrace | Token::Comma));
        if !ended && !is_block && !last {
            return self.fail("`;` is missing");
        }
        Ok(Stmt::Expr(value, ended))
    }

    fn optional(&mut self) -> Parsed<Option<Expr>> {
        match self.peek() {
            None | Some(Token::SemiColon | Token::RightBrace) => Ok(None),
            Some(_) => self.expr(0).map(Some),
        }
    }

    fn params(&mut self) -> Parsed<Vec<String>> {
        if self.eat(&Token::Unit) {
            return Ok(Vec::new());
        }
        self.expect(&Token::LeftParen, "(")?;
        let mut names = Vec::new();
        while !self.eat(&Token::RightParen) {
            names.push(self.name()?);
            if !self.eat(&Token::Comma) && self.peek() != Some(&Token::RightParen) {
                return self.fail("`)` is missing");
            }
        }
        Ok(names)
    }

    fn for_loop(&mut self) -> Parsed<Stmt> {
        self.next();
        let mut names = Vec::new();
        if self.eat(&Token::LeftParen) {
            names.push(self.name()?);
            self.expect(&Token::Comma, ",")?;
            names.push(self.name()?);
            self.expect(&Token::RightParen, ")")?;
        } else {
            names.push(if self.eat(&Token::Underscore) { "_".into() } else { self.name()? });
        }
        self.expect(&Token::In, "in")?;
        let items = self.expr(0)?;
        Ok(Stmt::For(names, items, self.block()?))
    }

    /// A value whose operators bind at least as tightly as `least`.
    fn expr(&mut self, least: u8) -> Parsed<Expr> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.fail("this is nested too deeply");
        }
        let mut left = self.unary()?;
        while let Some((operator, power)) = self.operator() {
            if power < least {
                break;
            }
            self.next();
            // To the right of `**`, another `**` binds first.
            let right = self.expr(if operator == "**" { power } else { power + 1 })?;
            let (a, b) = (Box::new(left), Box::new(right));
            left = match operator.as_str() {
                ".." => Expr::Range(a, b, false),
                "..=" => Expr::Range(a, b, true),
                _ => Expr::Binary(operator, a, b),
            };
        }
        self.depth -= 1;
        Ok(left)
    }

    fn operator(&self) -> Option<(String, u8)> {
        let token = self.peek()?;
        let piece = self.pieces.iter().skip(self.at).find(|piece| piece.kind != Kind::Comment)?;
        let text = self.text(piece.range.clone());
        let power = match token {
            Token::Or | Token::XOr | Token::Pipe => 30,
            Token::And | Token::Ampersand => 60,
            Token::EqualsTo | Token::NotEqualsTo => 90,
            Token::In | Token::NotIn => 110,
            Token::LessThan | Token::LessThanEqualsTo | Token::GreaterThan | Token::GreaterThanEqualsTo => {
                130
            }
            Token::DoubleQuestion => 135,
            Token::ExclusiveRange | Token::InclusiveRange => 140,
            Token::Plus | Token::Minus => 150,
            Token::Divide | Token::Multiply | Token::Modulo => 180,
            Token::PowerOf => 190,
            Token::LeftShift | Token::RightShift => 210,
            _ if text == "@" => 180,
            _ if text == "is" => 90,
            _ => return None,
        };
        Some((text.to_owned(), power))
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let sign = match self.peek() {
            Some(Token::Bang) => "!",
            Some(Token::UnaryMinus | Token::Minus) => "-",
            Some(Token::UnaryPlus | Token::Plus) => "+",
            open => {
                let brackets = open == Some(&Token::LeftParen);
                let value = self.postfix()?;
                return match value {
                    // The lexer takes the sign of a number for a part of it.
                    Expr::Number(text) if !brackets && text.starts_with('-') => {
                        let positive = Expr::Number(text.trim_start_matches('-').into());
                        match self.raised(positive)? {
                            Expr::Number(_) => Ok(Expr::Number(text)),
                            raised => Ok(Expr::Unary("-", Box::new(raised))),
                        }
                    }
                    value => Ok(value),
                };
            }
        };
        self.next();
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.fail("this is nested too deeply");
        }
        let value = self.unary()?;
        self.depth -= 1;
        let value = if sign == "!" { value } else { self.raised(value)? };
        Ok(Expr::Unary(sign, Box::new(value)))
    }

    /// What stands behind a sign, raised to a power: that binds before the sign.
    fn raised(&mut self, base: Expr) -> Parsed<Expr> {
        let Some((operator, power)) = self.operator().filter(|(operator, _)| operator == "**") else {
            return Ok(base);
        };
        self.next();
        let exponent = self.expr(power)?;
        Ok(Expr::Binary(operator, Box::new(base), Box::new(exponent)))
    }

    fn postfix(&mut self) -> Parsed<Expr> {
        let mut value = self.primary()?;
        loop {
            let is_block = matches!(value, Expr::If(..) | Expr::Block(_) | Expr::With(..) | Expr::Switch(..));
            match self.peek() {
                Some(Token::LeftParen | Token::Unit) if !is_block => {
                    value = Expr::Call(Box::new(value), self.arguments()?);
                }
                Some(Token::LeftBracket) if !is_block => {
                    self.next();
                    let index = self.expr(0)?;
                    self.expect(&Token::RightBracket, "]")?;
                    value = Expr::Index(Box::new(value), Box::new(index));
                }
                Some(Token::Period) => {
                    self.next();
                    let name = self.member()?;
                    value = match self.peek() {
                        Some(Token::LeftParen | Token::Unit) => {
                            Expr::Method(Box::new(value), name, self.arguments()?)
                        }
                        _ => Expr::Field(Box::new(value), name),
                    };
                }
                _ => return Ok(value),
            }
        }
    }

    /// A name after a point; some of them are reserved elsewhere.
    fn member(&mut self) -> Parsed<String> {
        let Some(piece) = self.next() else { return self.fail("a name is missing") };
        let name = self.text(piece.range).to_owned();
        if name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            Ok(name)
        } else {
            self.fail("a name is missing")
        }
    }

    fn arguments(&mut self) -> Parsed<Vec<Expr>> {
        if self.eat(&Token::Unit) {
            return Ok(Vec::new());
        }
        self.expect(&Token::LeftParen, "(")?;
        self.list(&Token::RightParen)
    }

    fn list(&mut self, end: &Token) -> Parsed<Vec<Expr>> {
        let mut all = Vec::new();
        while !self.eat(end) {
            all.push(self.expr(0)?);
            if !self.eat(&Token::Comma) && self.peek() != Some(end) {
                return self.fail("`,` or a closing bracket is missing");
            }
        }
        Ok(all)
    }
}

fn comment_lines(text: &str) -> Vec<String> {
    let inner = match text.strip_prefix("/*") {
        Some(inner) => inner.trim_end_matches("*/"),
        None => text.trim_start_matches('/'),
    };
    inner.lines().map(|line| line.trim().trim_start_matches('*').trim().to_owned()).collect()
}
