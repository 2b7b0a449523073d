//! A picture or a matrix of colours, with its colour bar.

use super::layout::{Detail, Names, Words, ticks_down, widest};
use crate::plot::PlotError;
use crate::plot::canvas::shape::{Anchor, Canvas, Ink, Rect};
use crate::plot::canvas::width_of;
use crate::plot::color::{ColorMap, is_dark};
use crate::plot::draw::style::{DARK, WHITE, horizontal, ink, vertical};
use crate::plot::figure::Figure;
use crate::plot::label::clean;
use crate::plot::picture::Picture;
use crate::plot::scene::PictureScene;
use crate::plot::ticks::{Ticks, short};

pub(super) fn draw(
    canvas: &mut dyn Canvas,
    figure: &Figure,
    scene: &PictureScene<'_>,
    size: (f64, f64),
) -> Result<(), PlotError> {
    let layout = Detail::choose(
        size,
        |detail| PictureLayout::new(figure, scene, size, detail),
        |layout: &PictureLayout<'_>| layout.room,
    );
    canvas.picture(&scene.picture, layout.inner)?;
    if layout.detail == Detail::Bare {
        return Ok(());
    }
    frame(canvas, layout.inner, layout.words.sizes.hairline)?;
    layout.draw_names(canvas)?;
    layout.draw_values(canvas)?;
    layout.draw_bar(canvas)?;
    layout.words.draw(canvas, layout.inner, layout.outer())
}

struct PictureLayout<'a> {
    detail: Detail,
    scene: &'a PictureScene<'a>,
    words: Words,
    /// What the picture may fill, …
    room: Rect,
    /// … and what it fills with its sides in proportion.
    inner: Rect,
    rows: Names,
    columns: Names,
    bar_ticks: Ticks,
}

impl<'a> PictureLayout<'a> {
    fn new(figure: &Figure, scene: &'a PictureScene<'a>, size: (f64, f64), detail: Detail) -> Self {
        let words = Words::new(figure, &scene.notes, size, detail);
        let sizes = words.sizes;
        let em = sizes.tick;
        let mut room = words.free;
        room.top += em * 0.4;
        let (width, height) = (scene.picture.width, scene.picture.height);
        let mut bar_ticks = Ticks::default();
        let beyond = sizes.tick_mark + sizes.tick_gap;
        if let (Some((_, axis)), true) = (scene.bar, detail != Detail::Bare) {
            bar_ticks = ticks_down(room.height() - 3.0 * em, em, |most| Ticks::new(&axis, most));
            room.right -= widest(&bar_ticks, em) + beyond + em * 2.2;
            if !bar_ticks.offset().is_empty() {
                room.top += em * 1.4;
                let reach = width_of(&bar_ticks.pretty_offset(), em) - widest(&bar_ticks, em) - beyond;
                room.right -= (reach - em).max(0.0);
            }
        }
        let (mut rows, mut columns) = (none(), none());
        if detail != Detail::Bare {
            // Names need the size of the cells, and the size of the cells depends on the room for names: twice is enough.
            for _ in 0..2 {
                let mut left = room;
                left.left += rows.depth + beyond;
                left.bottom -= columns.depth + beyond;
                let inner = proportioned(left, (width, height));
                let slot = inner.height() / height.max(1) as f64;
                let name = |place| named(scene.row_labels, place);
                rows = Names::down(height, slot, em, size.0 * 0.25, name);
                let slot = inner.width() / width.max(1) as f64;
                let name = |place| named(scene.column_labels, place);
                let numbers = scene.column_labels.is_empty();
                columns = Names::across(width, slot, (em, size.1 * 0.25), numbers, name);
            }
            room.left += rows.depth + beyond;
            room.bottom -= columns.depth + beyond;
        }
        Self {
            detail,
            scene,
            inner: proportioned(room, (width, height)),
            words,
            room,
            rows,
            columns,
            bar_ticks,
        }
    }

    /// The picture with its names.
    fn outer(&self) -> Rect {
        let sizes = self.words.sizes;
        let beyond = sizes.tick_mark + sizes.tick_gap;
        let offset = if self.bar_ticks.offset().is_empty() { 0.0 } else { sizes.tick * 1.4 };
        Rect {
            left: self.inner.left - beyond - self.rows.depth,
            top: self.inner.top - offset - sizes.tick * 0.4,
            right: self.inner.right,
            bottom: self.inner.bottom + beyond + self.columns.depth,
        }
    }

    fn cell(&self) -> (f64, f64) {
        let picture = &self.scene.picture;
        (self.inner.width() / picture.width.max(1) as f64, self.inner.height() / picture.height.max(1) as f64)
    }

    fn draw_names(&self, canvas: &mut dyn Canvas) -> Result<(), PlotError> {
        let sizes = self.words.sizes;
        let em = sizes.tick;
        let beyond = sizes.tick_mark + sizes.tick_gap;
        let cell = self.cell();
        for (place, text) in &self.rows.shown {
            let y = self.inner.top + (*place as f64 + 0.5) * cell.1;
            let mark = horizontal(y, self.inner.left - sizes.tick_mark, self.inner.left, sizes.hairline);
            canvas.rect(mark, DARK, 1.0)?;
            let at = (self.inner.left - beyond, y + em * 0.36);
            canvas.text(text, at, ink(em, DARK, Anchor::End))?;
        }
        let top = self.inner.bottom + beyond;
        for (place, text) in &self.columns.shown {
            let x = self.inner.left + (*place as f64 + 0.5) * cell.0;
            let end = self.inner.bottom + sizes.tick_mark;
            canvas.rect(vertical(x, self.inner.bottom, end, sizes.hairline), DARK, 1.0)?;
            if self.columns.upright {
                let upright = Ink { upright: true, ..ink(em, DARK, Anchor::End) };
                canvas.text(text, (x + em * 0.36, top), upright)?;
            } else {
                canvas.text(text, (x, top + em * 0.8), ink(em, DARK, Anchor::Middle))?;
            }
        }
        Ok(())
    }

    /// The numbers of a heat map, if all of them fit into their cells.
    fn draw_values(&self, canvas: &mut dyn Canvas) -> Result<(), PlotError> {
        let Some(values) = self.scene.values else {
            return Ok(());
        };
        let cell = self.cell();
        let em = self.words.sizes.tick.min(cell.1 * 0.5);
        if em < 7.0 || values.len() > 1_000 {
            return Ok(());
        }
        let texts: Vec<String> =
            values.iter().map(|&value| short(f64::from(value), 3).replace('-', "\u{2212}")).collect();
        if texts.iter().any(|text| width_of(text, em) > cell.0 * 0.9) {
            return Ok(());
        }
        let width = self.scene.picture.width.max(1);
        let pixels = self.scene.picture.rgb.chunks_exact(3);
        for (index, (text, pixel)) in texts.iter().zip(pixels).enumerate() {
            let (row, column) = ((index / width) as f64, (index % width) as f64);
            let at = (
                self.inner.left + (column + 0.5) * cell.0,
                self.inner.top + (row + 0.5) * cell.1 + em * 0.36,
            );
            let dark = <[u8; 3]>::try_from(pixel).is_ok_and(is_dark);
            let color = if dark { WHITE } else { DARK };
            canvas.text(text, at, ink(em, color, Anchor::Middle))?;
        }
        Ok(())
    }

    fn draw_bar(&self, canvas: &mut dyn Canvas) -> Result<(), PlotError> {
        let Some((map, _)) = self.scene.bar else {
            return Ok(());
        };
        let sizes = self.words.sizes;
        let em = sizes.tick;
        let left = (self.inner.right + em).round();
        let area = Rect { left, right: left + em.round(), ..self.inner };
        canvas.picture(&ramp(map), area)?;
        frame(canvas, area, sizes.hairline)?;
        for tick in &self.bar_ticks.major {
            let y = area.bottom - tick.unit * area.height();
            let end = area.right + sizes.tick_mark;
            canvas.rect(horizontal(y, area.right, end, sizes.hairline), DARK, 1.0)?;
            let at = (end + sizes.tick_gap, y + em * 0.36);
            let text = self.bar_ticks.pretty(&tick.label);
            canvas.text(&text, at, ink(em, DARK, Anchor::Start))?;
        }
        let offset = self.bar_ticks.pretty_offset();
        let at = (area.left, area.top - em * 0.6);
        canvas.text(&offset, at, ink(em, DARK, Anchor::Start))
    }
}

/// All colours of a map, the last on top.
fn ramp(map: ColorMap) -> Picture {
    let levels = (0..=255u8).rev();
    Picture {
        width: 1,
        height: 256,
        rgb: levels.flat_map(|level| map.color(f64::from(level) / 255.0)).collect(),
    }
}

fn none() -> Names {
    Names { shown: Vec::new(), upright: false, depth: 0.0 }
}

fn named(labels: &[String], place: usize) -> String {
    match labels.get(place) {
        Some(label) => clean(label, 200),
        None => place.to_string(),
    }
}

/// The largest area in the middle of `room` with square cells; cells of very long pictures are stretched to be seen.
fn proportioned(room: Rect, (columns, rows): (usize, usize)) -> Rect {
    const THINNEST: f64 = 0.15;
    let (width, height) = (room.width().max(1.0), room.height().max(1.0));
    let cell = (width / columns.max(1) as f64).min(height / rows.max(1) as f64);
    let wide = (cell * columns.max(1) as f64).max(width * THINNEST);
    let tall = (cell * rows.max(1) as f64).max(height * THINNEST);
    let left = (room.left + (width - wide) / 2.0).round();
    let top = (room.top + (height - tall) / 2.0).round();
    Rect { left, top, right: left + wide.round().max(1.0), bottom: top + tall.round().max(1.0) }
}

fn frame(canvas: &mut dyn Canvas, area: Rect, line: f64) -> Result<(), PlotError> {
    let Rect { left, top, right, bottom } = area;
    let (left, right) = (left - line, right + line);
    let (top, bottom) = (top - line, bottom + line);
    for rule in [
        Rect { left, top, right, bottom: top + line },
        Rect { left, top: bottom - line, right, bottom },
        Rect { left, top, right: left + line, bottom },
        Rect { left: right - line, top, right, bottom },
    ] {
        canvas.rect(rule, DARK, 1.0)?;
    }
    Ok(())
}
