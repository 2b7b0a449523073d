//! What each character of some Rhai code is, for its colours. Reading never fails: what is not known is plain.

use std::ops::Range;

use super::lexer::{self, Kind, Piece};

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

/// What each character of each line is. The lines are read together: comments and texts run over their ends.
pub fn tokens<'c>(lines: impl IntoIterator<Item = &'c str>) -> Vec<Vec<(char, Token)>> {
    let lines: Vec<&str> = lines.into_iter().collect();
    let code = lines.join("\n");
    let pieces = lexer::pieces(&code);
    let mut runs = pieces.iter().enumerate().map(|(i, piece)| (&piece.range, token(&pieces, i, &code)));
    let mut run = runs.next();
    let mut start = 0;
    let mut of_line = |line: &str| {
        let of_char = |(at, c): (usize, char)| {
            let at = start + at;
            while run.as_ref().is_some_and(|(range, _)| range.end <= at) {
                run = runs.next();
            }
            let token = run.as_ref().filter(|(range, _)| range.contains(&at)).map(|(_, token)| *token);
            (c, token.unwrap_or(Token::Plain))
        };
        let read = line.char_indices().map(of_char).collect();
        start += line.len() + 1;
        read
    };
    lines.iter().map(|line| of_line(line)).collect()
}

fn token(pieces: &[Piece], at: usize, code: &str) -> Token {
    let Some(piece) = pieces.get(at) else { return Token::Plain };
    let follows = |sign: &str| {
        let next =
            pieces.get(at + 1).and_then(|next| code.get(Range { end: code.len(), ..next.range.clone() }));
        next.is_some_and(|rest| rest.starts_with(sign))
    };
    match piece.kind {
        Kind::Keyword => Token::Keyword,
        Kind::Name if follows("::") => Token::Module,
        Kind::Name if follows("(") => Token::Function,
        Kind::Number => Token::Number,
        Kind::Text => Token::Text,
        Kind::Comment => Token::Comment,
        Kind::Name | Kind::Symbol | Kind::Wrong => Token::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(code: &str) -> Vec<(String, Token)> {
        let mut all = Vec::new();
        for line in tokens(code.lines()) {
            for run in line.chunk_by(|a, b| a.1 == b.1) {
                all.push((run.iter().map(|p| p.0).collect::<String>().trim().to_owned(), run[0].1));
            }
        }
        all.into_iter().filter(|(text, _)| !text.is_empty()).collect()
    }

    #[test]
    fn calls_modules_numbers_and_ranges() {
        let found = pieces("let x = cuda::sum(1..3, 1.5e-3)");
        let want = [
            ("let", Token::Keyword),
            ("x =", Token::Plain),
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
        let found = pieces("/* a /* b */\nc */ x\n`t\nu` y \"q\\\"r\" // z");
        let comment: Vec<&str> =
            found.iter().filter(|f| f.1 == Token::Comment).map(|f| f.0.as_str()).collect();
        assert_eq!(comment, ["/* a /* b */", "c */", "// z"]);
        let text: Vec<&str> = found.iter().filter(|f| f.1 == Token::Text).map(|f| f.0.as_str()).collect();
        assert_eq!(text, ["`t", "u`", "\"q\\\"r\""]);
    }
}
