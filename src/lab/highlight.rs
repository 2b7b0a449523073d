//! Tokens of Rhai code, for its colours. It never fails: what Rhai can't read is plain.

use std::ops::Range;

use ratatui::style::Style;

use super::theme::Theme;
use crate::script::lexer::{self, Kind, Piece};

/// What a piece of code is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Token {
    Plain,
    Keyword,
    Text,
    Number,
    Comment,
    /// A name that is called.
    Function,
    /// A name before `::`.
    Module,
}

/// The characters of each line with their styles.
pub fn styled(lines: &[String], theme: &Theme) -> Vec<Vec<(char, Style)>> {
    let code = lines.join("\n");
    let tokens = tokens(&code);
    let mut at = 0;
    let line = |line: &String| {
        let chars = line.char_indices().map(|(i, c)| (c, style(token_at(&tokens, at + i), theme))).collect();
        at += line.len() + 1;
        chars
    };
    lines.iter().map(line).collect()
}

/// What each part of some code is; what is in no part is plain.
fn tokens(code: &str) -> Vec<(Range<usize>, Token)> {
    let pieces: Vec<Piece> = lexer::pieces(code);
    let symbol = |i: usize| pieces.get(i).map(|piece| code.get(piece.range.clone()).unwrap_or_default());
    let of = |(i, piece): (usize, &Piece)| {
        let token = match piece.kind {
            Kind::Keyword => Token::Keyword,
            Kind::Number => Token::Number,
            Kind::Text => Token::Text,
            Kind::Comment => Token::Comment,
            Kind::Name if symbol(i + 1) == Some("::") => Token::Module,
            Kind::Name if matches!(symbol(i + 1), Some("(" | "()")) => Token::Function,
            Kind::Name | Kind::Symbol | Kind::Wrong => Token::Plain,
        };
        (piece.range.clone(), token)
    };
    pieces.iter().enumerate().map(of).collect()
}

fn token_at(tokens: &[(Range<usize>, Token)], byte: usize) -> Token {
    let after = tokens.partition_point(|(range, _)| range.end <= byte);
    tokens.get(after).filter(|(range, _)| range.start <= byte).map_or(Token::Plain, |(_, token)| *token)
}

fn style(token: Token, theme: &Theme) -> Style {
    match token {
        Token::Plain => theme.text,
        Token::Keyword => theme.keyword,
        Token::Text => theme.string,
        Token::Number => theme.number,
        Token::Comment => theme.comment,
        Token::Function => theme.function,
        Token::Module => theme.module,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(code: &str) -> Vec<(String, Token)> {
        tokens(code).into_iter().map(|(range, token)| (code[range].to_owned(), token)).collect()
    }

    #[test]
    fn calls_modules_numbers_and_ranges() {
        let found = shown("let x = cuda::sum(1..3, 1.5e-3)");
        let want = [
            ("let", Token::Keyword),
            ("x", Token::Plain),
            ("=", Token::Plain),
            ("cuda", Token::Module),
            ("::", Token::Plain),
            ("sum", Token::Function),
            ("(", Token::Plain),
            ("1", Token::Number),
            ("..", Token::Plain),
            ("3", Token::Number),
            (",", Token::Plain),
            ("1.5e-3", Token::Number),
            (")", Token::Plain),
        ];
        assert_eq!(found, want.map(|(text, token)| (text.to_owned(), token)));
    }

    #[test]
    fn comments_nest_and_texts_run_over_lines() {
        let found = shown("/* a /* b */\nc */ x\n`t\nu` y \"q\\\"r\" // z");
        let comment: Vec<&str> =
            found.iter().filter(|f| f.1 == Token::Comment).map(|f| f.0.as_str()).collect();
        assert_eq!(comment, ["/* a /* b */\nc */", "// z"]);
        let text: Vec<&str> = found.iter().filter(|f| f.1 == Token::Text).map(|f| f.0.as_str()).collect();
        assert_eq!(text, ["`t\nu`", "\"q\\\"r\""]);
    }
}
