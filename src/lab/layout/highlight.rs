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
