//! Whether code that is being typed is whole, by the parser's own verdict.

use rhai::{Engine, LexError, ParseErrorType, Position};

use super::tokens::{Open, Token, tokens};
use super::{rewrite, syntax};

/// Rhai's parser with the syntax of scripts, and nothing that a script could call.
pub struct Parser(Engine);

impl Default for Parser {
    fn default() -> Parser {
        let mut engine = Engine::new_raw();
        engine.set_max_expr_depths(256, 128);
        syntax::register(&mut engine);
        Parser(engine)
    }
}

impl Parser {
    /// True where more lines could make the code whole: a bracket, a comment or a text over several lines is open,
    /// or the code ends where something has to follow. Code that is wrong however it goes on is not unfinished.
    pub fn is_unfinished(&self, code: &str) -> bool {
        let (lines, open) = tokens(code.lines());
        if open != Open::Nothing {
            return true;
        }
        match self.0.compile(rewrite::prepared(&self.0, code)) {
            Ok(_) => false,
            Err(error) => match error.err_type() {
                ParseErrorType::BadInput(LexError::UnterminatedString) => code.trim_end().ends_with('\\'),
                ParseErrorType::ExprTooDeep => false,
                _ => is_after_all(error.position(), &lines),
            },
        }
    }
}

/// Whether a place comes after the last character that is code.
fn is_after_all(place: Position, lines: &[Vec<(char, Token)>]) -> bool {
    let Some(line) = place.line() else { return true };
    let is_code = |(c, token): &(char, Token)| *token != Token::Comment && !c.is_whitespace();
    let last = lines.iter().enumerate().rev().find_map(|(row, line)| {
        let column = line.iter().rposition(is_code)?;
        Some((row + 1, column + 1))
    });
    last.is_none_or(|last| (line, place.position().unwrap_or(usize::MAX)) > last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_more_lines_can_end_is_unfinished() {
        let parser = Parser::default();
        for code in [
            "let x =",
            "1 +",
            "f(",
            "f(1,",
            "[1, 2",
            "#{a: 1,",
            "if x > 1 {",
            "if x > 1 {\n  print(1);",
            "for i in 0..3",
            "fn f(a, b)",
            "fn f(a,",
            "let y = x.",
            "cuda::",
            "with no_grad() {",
            "with no_grad()",
            "a @",
            "`over\nlines",
            "/* a comment",
            "f( // a comment",
            "let f = |x| {",
            "switch x {",
            "x[",
            "f(_,",
            "try { 1 }",
            "\"goes on \\",
        ] {
            assert!(parser.is_unfinished(code), "{code:?}");
        }
    }

    #[test]
    fn what_is_whole_or_wrong_is_not() {
        let parser = Parser::default();
        for code in [
            "",
            "1",
            "let x = 1;",
            "let x = 1; // (",
            "if x > 1 {\n  print(1);\n}",
            "with no_grad() { x }",
            "a @ b",
            "x is y",
            "net.eval()",
            "let x = 1)",
            "let = 3",
            "let x = ;",
            "\"never closed",
            "f(1))",
            "}",
            "let x = 1 let y = 2",
            "/* whole */",
            "print(\"(\")",
            "fn f(a) { a }",
        ] {
            assert!(!parser.is_unfinished(code), "{code:?}");
        }
    }
}
