//! The colours of Rhai code.

use ratatui::style::Style;

use crate::lab::model::theme::Theme;
use crate::script::tokens::{Token, tokens};

/// The characters of each line with their styles.
pub(crate) fn styled(lines: &[String], theme: &Theme) -> Vec<Vec<(char, Style)>> {
    let lines = tokens(lines.iter().map(String::as_str));
    let styled =
        |line: Vec<(char, Token)>| line.into_iter().map(|(c, token)| (c, style(token, theme))).collect();
    lines.into_iter().map(styled).collect()
}

/// The names in each line that may be variables, each once: no keywords, calls, modules or properties.
pub(crate) fn names(lines: &[String]) -> Vec<Vec<String>> {
    let lines = tokens(lines.iter().map(String::as_str));
    let of_line = |line: &Vec<(char, Token)>| {
        let (chars, tokens): (Vec<char>, Vec<Token>) = line.iter().copied().unzip();
        let mut found: Vec<String> = Vec::new();
        let mut at = 0;
        while let Some(c) = chars.get(at) {
            let length = chars.iter().skip(at).take_while(|c| c.is_alphanumeric() || **c == '_').count();
            let starts = (c.is_alphabetic() || *c == '_') && tokens.get(at) == Some(&Token::Plain);
            // `0..n` is a range.
            let dots = chars.iter().take(at).rev().take_while(|c| **c == '.').count();
            let property = dots == 1;
            if starts && !property {
                let name: String = chars.iter().skip(at).take(length).collect();
                if !found.contains(&name) {
                    found.push(name);
                }
            }
            at += length.max(1);
        }
        found
    };
    lines.iter().map(of_line).collect()
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

    #[test]
    fn names_are_what_may_be_a_variable() {
        let code =
            ["let y = x.to(device) + a[i].b; // z".to_owned(), "`${x}` nn::f(y, y); print(0..n)".into()];
        assert_eq!(names(&code), [vec!["y", "x", "device", "a", "i"], vec!["x", "y", "n"]]);
    }
}
