//! Values that begin with a token of their own.

use rhai::Token;

use super::super::tree::{Case, Expr, Part, Stmt};
use super::{Parsed, Parser, Trouble};

impl Parser<'_> {
    pub(super) fn primary(&mut self) -> Parsed<Expr> {
        if self.keyword("with") {
            self.next();
            let context = self.expr(0)?;
            return Ok(Expr::With(Box::new(context), self.block()?));
        }
        if let Some(name) = self.word() {
            self.next();
            let mut path = vec![name];
            while self.eat(&Token::DoubleColon) {
                path.push(self.name()?);
            }
            return Ok(Expr::Path(path));
        }
        let start = self.place();
        if self.peek() == Some(&Token::LeftBrace) {
            return self.block().map(Expr::Block);
        }
        let Some(piece) = self.next() else { return self.fail("a value is missing") };
        let text = self.text(piece.range.clone()).to_owned();
        Ok(match piece.token {
            Token::Unit => Expr::Unit,
            Token::True => Expr::Bool(true),
            Token::False => Expr::Bool(false),
            Token::IntegerConstant(_) | Token::FloatConstant(_) => Expr::Number(text),
            Token::CharConstant(c) => Expr::Text(c.to_string()),
            Token::StringConstant(content) => Expr::Text(content.to_string()),
            Token::InterpolatedString(content) => self.template(content.to_string())?,
            Token::LeftParen => {
                let value = self.expr(0)?;
                self.expect(&Token::RightParen, ")")?;
                value
            }
            Token::LeftBracket => Expr::Array(self.list(&Token::RightBracket)?),
            Token::MapStart => self.map()?,
            Token::If => self.if_else()?,
            Token::Loop => Expr::Loop(self.block()?),
            Token::Switch => self.switch()?,
            Token::Or => self.closure(Vec::new())?,
            Token::Pipe => {
                let mut names = Vec::new();
                while !self.eat(&Token::Pipe) {
                    names.push(if self.eat(&Token::Underscore) { "_".into() } else { self.name()? });
                    if !self.eat(&Token::Comma) && self.peek() != Some(&Token::Pipe) {
                        return self.fail("`|` is missing");
                    }
                }
                self.closure(names)?
            }
            _ => return Err(Trouble(format!("`{text}` is not expected here"), start)),
        })
    }

    fn closure(&mut self, names: Vec<String>) -> Parsed<Expr> {
        let body = match self.peek() {
            Some(Token::LeftBrace) => self.block()?,
            _ => {
                let value = self.expr(0)?;
                match self.peek() {
                    Some(token) if *token == Token::Equals || token.is_op_assignment() => {
                        let operator = token.literal_syntax().to_owned();
                        self.next();
                        vec![Stmt::Assign(value, operator, self.expr(0)?)]
                    }
                    _ => vec![Stmt::Expr(value, false)],
                }
            }
        };
        Ok(Expr::Closure(names, Box::new(body)))
    }

    fn template(&mut self, first: String) -> Parsed<Expr> {
        let mut parts = vec![Part::Text(first)];
        loop {
            parts.push(Part::Code(self.block()?));
            match self.next().map(|piece| piece.token) {
                Some(Token::InterpolatedString(text)) => parts.push(Part::Text(text.to_string())),
                Some(Token::StringConstant(text)) => {
                    parts.push(Part::Text(text.to_string()));
                    return Ok(Expr::Template(parts));
                }
                _ => return self.fail("the string is not closed"),
            }
        }
    }

    fn map(&mut self) -> Parsed<Expr> {
        let mut all = Vec::new();
        while !self.eat(&Token::RightBrace) {
            let key = match self.peek() {
                Some(Token::StringConstant(text)) => {
                    let key = text.to_string();
                    self.next();
                    key
                }
                _ => self.member()?,
            };
            self.expect(&Token::Colon, ":")?;
            all.push((key, self.expr(0)?));
            if !self.eat(&Token::Comma) && self.peek() != Some(&Token::RightBrace) {
                return self.fail("`}` is missing");
            }
        }
        Ok(Expr::Map(all))
    }

    fn if_else(&mut self) -> Parsed<Expr> {
        let mut branches = vec![(self.expr(0)?, self.block()?)];
        let mut otherwise = None;
        while self.eat(&Token::Else) {
            if self.eat(&Token::If) {
                branches.push((self.expr(0)?, self.block()?));
            } else {
                otherwise = Some(self.block()?);
                break;
            }
        }
        Ok(Expr::If(branches, otherwise))
    }

    fn switch(&mut self) -> Parsed<Expr> {
        let subject = self.expr(0)?;
        self.expect(&Token::LeftBrace, "{")?;
        let (mut cases, mut otherwise) = (Vec::new(), None);
        while !self.eat(&Token::RightBrace) {
            let mut values = Vec::new();
            let default = self.eat(&Token::Underscore);
            if !default {
                // `|` parts the values; it binds less than all that a value may hold.
                values.push(self.expr(31)?);
                while self.eat(&Token::Pipe) {
                    values.push(self.expr(31)?);
                }
            }
            let condition = if self.eat(&Token::If) { Some(self.expr(0)?) } else { None };
            self.expect(&Token::DoubleArrow, "=>")?;
            let body = match self.peek() {
                Some(Token::LeftBrace) => self.block()?,
                _ => vec![self.statement()?],
            };
            self.eat(&Token::Comma);
            if default && condition.is_none() {
                otherwise = Some(body);
            } else {
                cases.push(Case { values, condition, body });
            }
        }
        Ok(Expr::Switch(Box::new(subject), cases, otherwise))
    }
}
