//! What figures of characters are made of.

/// Which characters may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Ascii,
    /// Braille, blocks and box drawing, without colour.
    Unicode,
    /// The same with colour.
    Color,
}

/// The sign of a line or scatter.
pub(super) fn sign(index: usize, style: Style) -> char {
    let signs: &[char; 8] = match style {
        Style::Ascii => &['*', '+', 'o', 'x', '@', '%', '&', '$'],
        _ => &['●', '▲', '■', '◆', '○', '△', '□', '◇'],
    };
    signs.get(index % 8).copied().unwrap_or('*')
}

/// What bars are filled with when there is no colour.
pub(super) fn fill(index: usize, style: Style) -> char {
    let fills: &[char; 4] = match style {
        Style::Ascii => &['#', '=', ':', '%'],
        Style::Unicode | Style::Color => &['█', '▒', '░', '▓'],
    };
    fills.get(index % 4).copied().unwrap_or('#')
}

/// Text with ASCII punctuation, for our own words in ASCII mode.
pub(super) fn plain(text: &str, style: Style) -> String {
    match style {
        Style::Ascii => text
            .replace(" · ", "; ")
            .chars()
            .map(|c| match c {
                '…' => '~',
                c if c.is_ascii() => c,
                _ => '?',
            })
            .collect(),
        _ => text.to_string(),
    }
}
