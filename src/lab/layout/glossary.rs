//! What the machine's figures mean, in PyTorch's words.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::lab::layout::sections::SECTIONS;
use crate::lab::layout::{centred, inner};
use crate::lab::model::machine::Section;
use crate::lab::model::text;
use crate::lab::model::text::Break;
use crate::lab::model::theme::Theme;

const WIDTH: u16 = 84;

/// Columns for the text.
pub(crate) fn columns(area: Rect) -> usize {
    usize::from(inner(area).width).saturating_sub(2)
}

pub(crate) fn place(area: Rect) -> Rect {
    centred(area, WIDTH, area.height.saturating_sub(2))
}

pub(crate) fn lines(columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut out = Vec::new();
    for entry in SECTIONS {
        if !out.is_empty() {
            out.push(Line::default());
        }
        out.push(Line::styled(entry.section.name(), theme.accent));
        for term in entry.terms {
            let name = Span::styled(format!("{}: ", term.name), theme.strong);
            let spans = [name, Span::styled(term.means, theme.text)];
            out.extend(text::wrap(&spans, columns, Break::Words));
        }
    }
    out
}

/// Rows of the glossary, and how many of them are seen at once on a screen of this size.
pub(crate) fn extent(area: Rect, theme: &Theme) -> (usize, usize) {
    let place = place(area);
    (lines(columns(place), theme).len(), usize::from(inner(place).height))
}

/// The row at which the words of a section begin.
pub(crate) fn row_of(section: Section, area: Rect, theme: &Theme) -> usize {
    let heading = Line::styled(section.name(), theme.accent);
    lines(columns(place(area)), theme).iter().position(|line| *line == heading).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_has_words() {
        let sections: Vec<Section> = SECTIONS.iter().map(|entry| entry.section).collect();
        assert_eq!(sections, Section::ALL);
        assert!(SECTIONS.iter().all(|entry| !entry.terms.is_empty()));
        for word in [
            "allocated",
            "reserved",
            "cached",
            "peak",
            "fragmentation",
            "segment",
            "block",
            "pageable",
            "pinned",
            "stream",
            "synchronise",
            "implicit sync",
            "h2d, d2h, d2d",
            "c·f32, 0·f32, ≠·f32, c·*",
            "curve",
            "╱ not shown",
            "of the lesson's own",
        ] {
            assert!(SECTIONS.iter().flat_map(|entry| entry.terms).any(|term| term.name == word), "{word}");
        }
    }
}
