//! Lines, points and bars between their axes.

use crate::plot::PlotError;
use crate::plot::bar::Bars;
use crate::plot::canvas::shape::{Anchor, Canvas, Ink, Point, Rect};
use crate::plot::canvas::width_of;
use crate::plot::decimate::{self, Points};
use crate::plot::draw::style::{DARK, GRID, horizontal, ink, vertical};
use crate::plot::figure::Figure;
use crate::plot::label::clean;
use crate::plot::scene::{Chart, Layer, Shape};
use crate::plot::ticks::Ticks;

use super::layout::{Detail, FigureSizes, Names, Words, ticks_across, ticks_down, widest};
use super::legend::{self, Covered};
use super::marker;

pub(super) fn draw(
    canvas: &mut dyn Canvas,
    figure: &Figure,
    chart: &Chart<'_>,
    size: (f64, f64),
) -> Result<(), PlotError> {
    let layout = Detail::choose(
        size,
        |detail| ChartLayout::new(figure, chart, size, detail),
        |layout: &ChartLayout| layout.inner,
    );
    layout.draw_grid(canvas)?;
    let mut series = SeriesDrawing {
        canvas,
        chart,
        inner: layout.inner,
        sizes: layout.words.sizes,
        covered: Covered::default(),
        signs: (2..=MOST_SIGNS).contains(&chart.layers.len()),
    };
    for layer in &chart.layers {
        series.draw(layer)?;
    }
    let SeriesDrawing { canvas, covered, .. } = series;
    layout.draw_axes(canvas)?;
    layout.words.draw(canvas, layout.inner, layout.words.free)?;
    if layout.detail == Detail::Full {
        legend::draw(canvas, chart, layout.inner, layout.words.sizes, &covered)?;
    }
    Ok(())
}

/// Where everything around the data goes.
struct ChartLayout {
    detail: Detail,
    words: Words,
    inner: Rect,
    x_ticks: Ticks,
    y_ticks: Ticks,
    /// Instead of `x_ticks`.
    names: Option<Names>,
    /// Unit coordinate of the category 0, and the distance to the next.
    category: (f64, f64),
}

impl ChartLayout {
    fn new(figure: &Figure, chart: &Chart<'_>, size: (f64, f64), detail: Detail) -> Self {
        let words = Words::new(figure, &chart.notes, size, detail);
        let sizes = words.sizes;
        let mut inner = words.free;
        let start = chart.x.unit(0.0);
        let category = (start, chart.x.unit(1.0) - start);
        let mut layout = Self {
            detail,
            words,
            inner,
            x_ticks: Ticks::default(),
            y_ticks: Ticks::default(),
            names: None,
            category,
        };
        if detail == Detail::Bare {
            return layout;
        }
        if let Some(names) = &chart.categories {
            let slot = (inner.width() - 5.0 * sizes.tick).max(1.0) * category.1;
            let name = |place: usize| {
                let name = names.get(place).map(|name| clean(name, 200));
                name.unwrap_or_default()
            };
            let deepest = size.1 * 0.3;
            let names = Names::across(names.len(), slot, (sizes.tick, deepest), false, name);
            inner.bottom -= names.depth;
            layout.names = Some(names);
        } else {
            inner.bottom -= sizes.tick;
        }
        inner.bottom -= sizes.tick_mark + sizes.tick_gap;
        layout.y_ticks = ticks_down(inner.height(), sizes.tick, |most| Ticks::new(&chart.y, most));
        inner.top += if layout.y_ticks.offset().is_empty() { sizes.tick * 0.4 } else { sizes.tick * 1.4 };
        inner.left += widest(&layout.y_ticks, sizes.tick) + sizes.tick_mark + sizes.tick_gap;
        if layout.names.is_none() {
            layout.fit_x_ticks(chart, &mut inner);
        }
        layout.inner = Rect {
            left: inner.left.round(),
            top: inner.top.round(),
            right: inner.right.round(),
            bottom: inner.bottom.round(),
        };
        layout
    }

    fn fit_x_ticks(&mut self, chart: &Chart<'_>, inner: &mut Rect) {
        let sizes = self.words.sizes;
        let ticks = ticks_across(inner.width(), sizes.tick, |most| Ticks::new(&chart.x, most));
        if !ticks.offset().is_empty() {
            inner.bottom -= sizes.tick * 1.2;
        }
        // The last label may reach beyond the axis, but not beyond the figure.
        if let Some(last) = ticks.major.last() {
            let half = width_of(&ticks.pretty(&last.label), sizes.tick) / 2.0;
            let reach = inner.left + last.unit * inner.width() + half;
            inner.right -= (reach - self.words.free.right).max(0.0);
        }
        self.x_ticks = ticks;
    }

    fn x_of(&self, unit: f64) -> f64 {
        self.inner.left + unit * self.inner.width()
    }

    fn y_of(&self, unit: f64) -> f64 {
        self.inner.bottom - unit * self.inner.height()
    }

    fn draw_grid(&self, canvas: &mut dyn Canvas) -> Result<(), PlotError> {
        let Rect { left, top, right, bottom } = self.inner;
        let line = self.words.sizes.hairline;
        for tick in &self.y_ticks.major {
            let rule = horizontal(self.y_of(tick.unit), left, right, line);
            canvas.rect(rule, GRID, 1.0)?;
        }
        for tick in &self.x_ticks.major {
            canvas.rect(vertical(self.x_of(tick.unit), top, bottom, line), GRID, 1.0)?;
        }
        Ok(())
    }

    fn draw_axes(&self, canvas: &mut dyn Canvas) -> Result<(), PlotError> {
        let sizes = self.words.sizes;
        let Rect { left, top, right, bottom } = self.inner;
        let line = sizes.hairline;
        canvas.rect(vertical(left, top, bottom, line), DARK, 1.0)?;
        canvas.rect(horizontal(bottom, left, right, line), DARK, 1.0)?;
        for (ticks, mark) in [(&self.y_ticks, sizes.tick_mark), (&self.x_ticks, 0.0)] {
            let is_y = mark > 0.0;
            let major = ticks.major.iter().map(|tick| (tick.unit, 1.0));
            let minor = ticks.minor.iter().map(|&unit| (unit, 0.5));
            for (unit, part) in major.chain(minor) {
                let length = sizes.tick_mark * part;
                let rule = if is_y {
                    horizontal(self.y_of(unit), left - length, left, line)
                } else {
                    vertical(self.x_of(unit), bottom, bottom + length, line)
                };
                canvas.rect(rule, DARK, 1.0)?;
            }
        }
        self.draw_numbers(canvas)?;
        self.draw_names(canvas)
    }

    fn draw_numbers(&self, canvas: &mut dyn Canvas) -> Result<(), PlotError> {
        let sizes = self.words.sizes;
        let em = sizes.tick;
        let beyond = sizes.tick_mark + sizes.tick_gap;
        for tick in &self.y_ticks.major {
            let at = (self.inner.left - beyond, self.y_of(tick.unit) + em * 0.36);
            let text = self.y_ticks.pretty(&tick.label);
            canvas.text(&text, at, ink(em, DARK, Anchor::End))?;
        }
        let base = self.inner.bottom + beyond + em * 0.8;
        for tick in &self.x_ticks.major {
            let text = self.x_ticks.pretty(&tick.label);
            let at = (self.x_of(tick.unit), base);
            canvas.text(&text, at, ink(em, DARK, Anchor::Middle))?;
        }
        let offset = self.y_ticks.pretty_offset();
        let at = (self.inner.left, self.inner.top - em * 0.6);
        canvas.text(&offset, at, ink(em, DARK, Anchor::Start))?;
        let offset = self.x_ticks.pretty_offset();
        let at = (self.inner.right, base + em * 1.3);
        canvas.text(&offset, at, ink(em, DARK, Anchor::End))
    }

    fn draw_names(&self, canvas: &mut dyn Canvas) -> Result<(), PlotError> {
        let Some(names) = &self.names else {
            return Ok(());
        };
        let sizes = self.words.sizes;
        let top = self.inner.bottom + sizes.tick_mark + sizes.tick_gap;
        for (place, text) in &names.shown {
            let x = self.x_of(self.category.0 + *place as f64 * self.category.1);
            let mark = vertical(x, self.inner.bottom, self.inner.bottom + sizes.tick_mark, sizes.hairline);
            canvas.rect(mark, DARK, 1.0)?;
            let (at, ink) = if names.upright {
                let upright = Ink { upright: true, ..ink(sizes.tick, DARK, Anchor::End) };
                ((x + sizes.tick * 0.36, top), upright)
            } else {
                let at = (x, top + sizes.tick * 0.8);
                (at, ink(sizes.tick, DARK, Anchor::Middle))
            };
            canvas.text(text, at, ink)?;
        }
        Ok(())
    }
}

/// Lines of up to so many points show each of them.
const FEW: usize = 25;

/// One line needs no sign, and beyond this many nobody follows a single one.
const MOST_SIGNS: usize = 50;

/// Draws series and remembers where.
struct SeriesDrawing<'a> {
    canvas: &'a mut dyn Canvas,
    chart: &'a Chart<'a>,
    inner: Rect,
    sizes: FigureSizes,
    covered: Covered,
    signs: bool,
}

impl SeriesDrawing<'_> {
    fn draw(&mut self, layer: &Layer<'_>) -> Result<(), PlotError> {
        match &layer.shape {
            Shape::Line(points) => self.line(layer, *points),
            Shape::Scatter(points) => self.scatter(layer, *points),
            Shape::Bars(bars) => self.bars(layer, bars),
        }
    }

    fn pixel(&self, (x, y): Point) -> Point {
        (self.inner.left + x * self.inner.width(), self.inner.bottom - y * self.inner.height())
    }

    fn line(&mut self, layer: &Layer<'_>, points: Points<'_>) -> Result<(), PlotError> {
        let chart = self.chart;
        let columns = self.inner.width().max(1.0) as usize;
        let place = |x, y| chart.place(x, y);
        let kept = decimate::line(points, columns, place);
        let dense = kept.len() > 2 * columns;
        let width = if dense { 1.4 } else { 1.9 } * self.sizes.unit;
        let mut stretches = vec![Vec::new()];
        for index in kept {
            let place = points.get(index).and_then(|(x, y)| chart.place(x, y));
            match (place, stretches.last_mut()) {
                (Some(place), Some(stretch)) => stretch.push(self.pixel(place)),
                _ => stretches.push(Vec::new()),
            }
        }
        for stretch in stretches.iter().filter(|stretch| !stretch.is_empty()) {
            if let [alone] = stretch[..] {
                // A point between two gaps would be as wide as the line only.
                self.canvas.disc(alone, 2.4 * self.sizes.unit, layer.color)?;
            } else {
                self.canvas.path(stretch, width, layer.color)?;
            }
            sample(stretch, &mut self.covered.points);
        }
        if points.len() <= FEW && chart.layers.len() <= MOST_SIGNS {
            for &at in stretches.iter().flatten() {
                let radius = 3.2 * self.sizes.unit;
                marker::draw_rimmed(self.canvas, layer.index, at, radius, layer.color)?;
            }
        } else if self.signs {
            self.line_signs(layer, &stretches)?;
        }
        Ok(())
    }

    /// A sign every so often, each series at its own distance from the beginning.
    fn line_signs(&mut self, layer: &Layer<'_>, stretches: &[Vec<Point>]) -> Result<(), PlotError> {
        let apart = self.inner.width() / 9.0;
        let phase = (0.25 + 0.37 * layer.index as f64).fract();
        let mut next = self.inner.left + apart * phase;
        for &at in stretches.iter().flatten() {
            if at.0 >= next {
                let radius = 3.4 * self.sizes.unit;
                marker::draw_rimmed(self.canvas, layer.index, at, radius, layer.color)?;
                next = at.0.max(next) + apart;
            }
        }
        Ok(())
    }

    fn scatter(&mut self, layer: &Layer<'_>, points: Points<'_>) -> Result<(), PlotError> {
        let chart = self.chart;
        let grid = (self.inner.width().max(1.0) as usize, self.inner.height().max(1.0) as usize);
        let kept = decimate::scatter(points, grid, |x, y| chart.place(x, y))?;
        let radius = self.sizes.unit
            * match kept.len() {
                0..300 => 3.8,
                300..1_500 => 2.8,
                1_500..8_000 => 1.9,
                8_000..40_000 => 1.2,
                _ => 0.8,
            };
        let stride = kept.len() / 5_000 + 1;
        for (count, index) in kept.into_iter().enumerate() {
            let place = points.get(index).and_then(|(x, y)| chart.place(x, y));
            let Some(place) = place else { continue };
            let at = self.pixel(place);
            // Signs cannot be told apart when they are this small.
            let sign = if radius < 1.5 { 0 } else { layer.index };
            marker::draw(self.canvas, sign, at, radius, layer.color)?;
            if count % stride == 0 {
                self.covered.points.push(at);
            }
        }
        Ok(())
    }

    fn bars(&mut self, layer: &Layer<'_>, bars: &Bars) -> Result<(), PlotError> {
        let chart = self.chart;
        let alpha = if bars.see_through { 0.6 } else { 1.0 };
        let ground = chart.ground();
        let mut thin = ThinBars::new(self.inner.width());
        for bar in &bars.bars {
            let (left, right) = (chart.x.unit(bar.left), chart.x.unit(bar.right));
            let value = chart.y.unit(bar.value);
            let (left, top) = self.pixel((left.clamp(0.0, 1.0), value.max(ground)));
            let (right, bottom) = self.pixel((right.clamp(0.0, 1.0), value.min(ground)));
            if right - left < 1.0 {
                thin.add(left - self.inner.left, top, bottom);
                continue;
            }
            // A line of white between neighbours that touch.
            let gap = if bars.joined && right - left >= 6.0 { self.sizes.hairline } else { 0.0 };
            let rect =
                Rect { left: left.round(), top, right: (right.round() - gap).max(left.round()), bottom };
            if bottom > top {
                self.canvas.rect(rect, layer.color, alpha)?;
                self.covered.rects.push(rect);
            }
        }
        for rect in thin.rects(self.inner.left) {
            self.canvas.rect(rect, layer.color, alpha)?;
            self.covered.rects.push(rect);
        }
        Ok(())
    }
}

/// Bars narrower than a pixel, gathered by pixel column so that the tallest of each is seen.
struct ThinBars {
    columns: Vec<Option<(f64, f64)>>,
}

impl ThinBars {
    fn new(width: f64) -> Self {
        Self { columns: vec![None; width.max(1.0) as usize + 1] }
    }

    fn add(&mut self, x: f64, top: f64, bottom: f64) {
        if let Some(column) = self.columns.get_mut(x.max(0.0) as usize) {
            let (high, low) = column.unwrap_or((top, bottom));
            *column = Some((high.min(top), low.max(bottom)));
        }
    }

    fn rects(self, from: f64) -> impl Iterator<Item = Rect> {
        let columns = self.columns.into_iter().enumerate();
        columns.filter_map(move |(index, column)| {
            let (top, bottom) = column.filter(|(top, bottom)| bottom > top)?;
            let left = from + index as f64;
            Some(Rect { left, top, right: left + 1.0, bottom })
        })
    }
}

/// Points along a line, a few pixels apart; few enough of a dense one.
fn sample(stretch: &[Point], out: &mut Vec<Point>) {
    let stride = stretch.len() / 2_000 + 1;
    let points = || stretch.iter().step_by(stride);
    for (a, b) in points().zip(points().skip(1)) {
        let steps = ((b.0 - a.0).hypot(b.1 - a.1) / 6.0).ceil().clamp(1.0, 200.0);
        for step in 0..steps as u32 {
            let t = f64::from(step) / steps;
            out.push((a.0 + (b.0 - a.0) * t, a.1 + (b.1 - a.1) * t));
        }
    }
    out.extend(stretch.last());
}
