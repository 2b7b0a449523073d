//! Spans in named rows.

use super::layout::{Detail, Names, Words, ticks_across};
use crate::plot::PlotError;
use crate::plot::canvas::shape::{Anchor, Canvas, Rect};
use crate::plot::canvas::width_of;
use crate::plot::color::is_dark;
use crate::plot::draw::style::{DARK, GRID, WHITE, horizontal, ink, vertical};
use crate::plot::figure::Figure;
use crate::plot::label::clean;
use crate::plot::rows::{RowSpan, RowsScene};
use crate::plot::ticks::Ticks;

/// The part of a row that its spans fill.
const FILLED: f64 = 0.72;

pub(super) fn draw(
    canvas: &mut dyn Canvas,
    figure: &Figure,
    scene: &RowsScene<'_>,
    size: (f64, f64),
) -> Result<(), PlotError> {
    let layout = Detail::choose(
        size,
        |detail| RowsLayout::new(figure, scene, size, detail),
        |layout: &RowsLayout<'_>| layout.inner,
    );
    layout.draw_grid(canvas)?;
    for span in &scene.spans {
        layout.draw_span(canvas, span)?;
    }
    if layout.detail == Detail::Bare {
        return Ok(());
    }
    layout.draw_axes(canvas)?;
    layout.draw_legend(canvas)?;
    layout.words.draw(canvas, layout.inner, layout.words.free)
}

struct RowsLayout<'a> {
    detail: Detail,
    scene: &'a RowsScene<'a>,
    words: Words,
    inner: Rect,
    names: Names,
    ticks: Ticks,
}

impl<'a> RowsLayout<'a> {
    fn new(figure: &Figure, scene: &'a RowsScene<'a>, size: (f64, f64), detail: Detail) -> Self {
        let words = Words::new(figure, &scene.notes, size, detail);
        let sizes = words.sizes;
        let mut inner = words.free;
        let mut names = Names { shown: Vec::new(), upright: false, depth: 0.0 };
        let mut ticks = Ticks::default();
        if detail != Detail::Bare {
            if scene.named().next().is_some() {
                inner.top += sizes.tick * 1.8;
            }
            inner.bottom -= sizes.tick + sizes.tick_mark + sizes.tick_gap;
            let slot = inner.height() / scene.rows.len().max(1) as f64;
            let name = |place: usize| clean(scene.rows.get(place).map_or("", |name| name), 200);
            names = Names::down(scene.rows.len(), slot, sizes.tick, size.0 * 0.3, name);
            inner.left += names.depth + sizes.tick_mark + sizes.tick_gap;
            inner.right -= sizes.tick;
            ticks = ticks_across(inner.width(), sizes.tick, |most| Ticks::new(&scene.x, most));
            if !ticks.offset().is_empty() {
                inner.bottom -= sizes.tick * 1.2;
            }
        }
        let inner = Rect {
            left: inner.left.round(),
            top: inner.top.round(),
            right: inner.right.round(),
            bottom: inner.bottom.round(),
        };
        Self { detail, scene, words, inner, names, ticks }
    }

    fn slot(&self) -> f64 {
        self.inner.height() / self.scene.rows.len().max(1) as f64
    }

    fn x_of(&self, unit: f64) -> f64 {
        self.inner.left + unit.clamp(0.0, 1.0) * self.inner.width()
    }

    /// The middle of a row.
    fn y_of(&self, row: usize) -> f64 {
        self.inner.top + (row as f64 + 0.5) * self.slot()
    }

    fn draw_grid(&self, canvas: &mut dyn Canvas) -> Result<(), PlotError> {
        let Rect { left, top, right, bottom } = self.inner;
        let line = self.words.sizes.hairline;
        for tick in &self.ticks.major {
            canvas.rect(vertical(self.x_of(tick.unit), top, bottom, line), GRID, 1.0)?;
        }
        for row in 1..self.scene.rows.len() {
            let y = top + row as f64 * self.slot();
            canvas.rect(horizontal(y, left, right, line), GRID, 1.0)?;
        }
        Ok(())
    }

    fn draw_span(&self, canvas: &mut dyn Canvas, span: &RowSpan<'_>) -> Result<(), PlotError> {
        let Some(kind) = self.scene.kinds.get(span.kind) else { return Ok(()) };
        let sizes = self.words.sizes;
        let (from, to) = (self.x_of(span.from.min(span.to)), self.x_of(span.from.max(span.to)));
        // What touches is told apart by a line of white, and what is short is seen.
        let gap = if to - from >= 4.0 { sizes.hairline } else { 0.0 };
        let half = self.slot() * FILLED / 2.0;
        let (middle, left) = (self.y_of(span.row), from.round());
        let right = (to.round() - gap).max(left + 1.0);
        let rect = Rect { left, top: (middle - half).round(), right, bottom: (middle + half).round() };
        canvas.rect(rect, kind.color, 1.0)?;
        let em = (sizes.tick * 0.9).min(rect.height() * 0.8);
        let text = clean(span.text, 80);
        if text.is_empty() || width_of(&text, em) + 0.6 * em > rect.width() {
            return Ok(());
        }
        let color = if is_dark(kind.color) { WHITE } else { DARK };
        let at = ((rect.left + rect.right) / 2.0, middle + em * 0.36);
        canvas.text(&text, at, ink(em, color, Anchor::Middle))
    }

    fn draw_axes(&self, canvas: &mut dyn Canvas) -> Result<(), PlotError> {
        let sizes = self.words.sizes;
        let Rect { left, top, right, bottom } = self.inner;
        let (line, em) = (sizes.hairline, sizes.tick);
        canvas.rect(vertical(left, top, bottom, line), DARK, 1.0)?;
        canvas.rect(horizontal(bottom, left, right, line), DARK, 1.0)?;
        let beyond = sizes.tick_mark + sizes.tick_gap;
        for (row, name) in &self.names.shown {
            let at = (left - beyond, self.y_of(*row) + em * 0.36);
            canvas.text(name, at, ink(em, DARK, Anchor::End))?;
        }
        let base = bottom + beyond + em * 0.8;
        for tick in &self.ticks.major {
            let x = self.x_of(tick.unit);
            canvas.rect(vertical(x, bottom, bottom + sizes.tick_mark, line), DARK, 1.0)?;
            let text = self.ticks.pretty(&tick.label);
            canvas.text(&text, (x, base), ink(em, DARK, Anchor::Middle))?;
        }
        let offset = self.ticks.pretty_offset();
        canvas.text(&offset, (right, base + em * 1.3), ink(em, DARK, Anchor::End))
    }

    /// The kinds in a line above the rows, as many as fit.
    fn draw_legend(&self, canvas: &mut dyn Canvas) -> Result<(), PlotError> {
        let em = self.words.sizes.tick;
        let y = self.inner.top - em * 0.9;
        let mut x = self.inner.left;
        for kind in self.scene.named() {
            let label = clean(kind.label, 60);
            let end = x + em * 1.3 + width_of(&label, em);
            if end > self.inner.right {
                break;
            }
            let swatch = Rect { left: x, top: y - em * 0.4, right: x + em * 0.9, bottom: y + em * 0.4 };
            canvas.rect(swatch, kind.color, 1.0)?;
            canvas.text(&label, (x + em * 1.3, y + em * 0.36), ink(em, DARK, Anchor::Start))?;
            x = end + em * 1.4;
        }
        Ok(())
    }
}
