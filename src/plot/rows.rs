//! Spans in named rows: what ran when, or what lies where.

use super::axis::{Axis, Bounds, Room, Scale};
use super::color::{self, Rgb};
use super::figure::{Figure, Series};
use super::left_out::LeftOut;

/// Spans ready for drawing at any size.
pub(super) struct RowsScene<'a> {
    pub x: Axis,
    /// In the order in which they are first named, from the top.
    pub rows: Vec<&'a str>,
    pub kinds: Vec<SpanKind<'a>>,
    pub spans: Vec<RowSpan<'a>>,
    pub notes: Vec<String>,
}

/// Spans that look alike: the series of one label.
pub(super) struct SpanKind<'a> {
    /// Empty to stay out of the legend.
    pub label: &'a str,
    pub color: Rgb,
    pub index: usize,
}

pub(super) struct RowSpan<'a> {
    pub row: usize,
    /// Unit coordinates of the x axis.
    pub from: f64,
    pub to: f64,
    pub kind: usize,
    pub text: &'a str,
}

impl<'a> RowsScene<'a> {
    /// The scene without its notes, and what is not drawn.
    pub(super) fn new(figure: &'a Figure) -> (RowsScene<'a>, LeftOut) {
        let mut scene = RowsScene {
            x: Axis::fit(Scale::Linear, bounds(figure), Room::NONE),
            rows: Vec::new(),
            kinds: Vec::new(),
            spans: Vec::new(),
            notes: Vec::new(),
        };
        let mut left_out = figure.left_out;
        for series in &figure.series {
            scene.add(series, &mut left_out);
        }
        (scene, left_out)
    }

    fn add(&mut self, series: &'a Series, left_out: &mut LeftOut) {
        let Series::Spans { rows, starts, lengths, texts, label } = series else { return };
        if starts.is_empty() {
            // It names rows, or a kind that has its colour though nothing is of it.
            for name in rows {
                self.row(name);
            }
            if label.is_empty() {
                return;
            }
        }
        let alike = |kind: &SpanKind<'_>| !label.is_empty() && kind.label == label;
        let kind = self.kinds.iter().position(alike).unwrap_or_else(|| {
            let index = self.kinds.len();
            self.kinds.push(SpanKind { label, color: color::series(index), index });
            index
        });
        for (place, (start, length)) in starts.iter().zip(lengths).enumerate() {
            let name = rows.get(place).or(rows.first()).map_or("", |name| name);
            let row = self.row(name);
            if !(start.is_finite() && (start + length).is_finite()) {
                left_out.non_finite += 1;
                continue;
            }
            let text = texts.get(place).map_or("", |text| text);
            let (from, to) = (self.x.unit(*start), self.x.unit(start + length));
            self.spans.push(RowSpan { row, from, to, kind, text });
        }
    }

    fn row(&mut self, name: &'a str) -> usize {
        self.rows.iter().position(|row| *row == name).unwrap_or_else(|| {
            self.rows.push(name);
            self.rows.len() - 1
        })
    }

    /// Kinds that the legend names.
    pub(super) fn named(&self) -> impl Iterator<Item = &SpanKind<'a>> {
        let has_spans = |index: usize| self.spans.iter().any(|span| span.kind == index);
        self.kinds.iter().filter(move |kind| !kind.label.is_empty() && has_spans(kind.index))
    }
}

fn bounds(figure: &Figure) -> Bounds {
    let mut bounds = Bounds::EMPTY;
    for series in &figure.series {
        if let Series::Spans { starts, lengths, .. } = series {
            let ends = starts.iter().zip(lengths).flat_map(|(start, length)| [*start, start + length]);
            ends.filter(|end| end.is_finite()).for_each(|end| bounds.add(end));
        }
    }
    // Ends are measured or made of sizes: ticks stand where they are round.
    bounds.whole = false;
    bounds
}
