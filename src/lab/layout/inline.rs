//! Text within a block, in the styles of what it is.

use ratatui::style::{Modifier, Style};
use ratatui::text::Span;

use crate::lab::model::text;
use crate::lab::model::theme::{Colour, Theme};
use crate::lesson::markdown::Inline;

/// Runs of text with the style of their kind upon `base`.
pub(super) fn spans(text: &[Inline], base: Style, theme: &Theme) -> Vec<Span<'static>> {
    let mut out = Vec::new();
    add_spans(&mut out, text, base, theme);
    out
}

fn add_spans(out: &mut Vec<Span<'static>>, text: &[Inline], base: Style, theme: &Theme) {
    let span = |text: &str, style: Style| Span::styled(text::clean_line(text), style);
    for inline in text {
        match inline {
            Inline::Text(text) => out.push(span(text, base)),
            // Without colours, code keeps its marks.
            Inline::Code(text) if theme.look.colour == Colour::None => {
                out.push(span(&format!("`{text}`"), base));
            }
            Inline::Code(text) => out.push(span(text, base.patch(theme.function))),
            Inline::Image { alt, .. } => out.push(span(&format!("[{alt}]"), base.patch(theme.dim))),
            Inline::Break => out.push(Span::styled("\n", base)),
            Inline::Emphasis(inner) => add_spans(out, inner, base.add_modifier(Modifier::ITALIC), theme),
            Inline::Strong(inner) => add_spans(out, inner, base.add_modifier(Modifier::BOLD), theme),
            Inline::Strike(inner) => add_spans(out, inner, base.add_modifier(Modifier::CROSSED_OUT), theme),
            Inline::Link { text, .. } => {
                let style = base.patch(theme.accent).add_modifier(Modifier::UNDERLINED);
                add_spans(out, text, style, theme);
            }
        }
    }
}
