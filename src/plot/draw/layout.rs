//! Room for words around the axes: measured, so that nothing is cut.

use crate::plot::PlotError;
use crate::plot::canvas::shape::{Anchor, Canvas, Ink, Rect};
use crate::plot::canvas::{ellipsis, width_of, wrap};
use crate::plot::draw::style::{DARK, DIM, ink};
use crate::plot::figure::Figure;
use crate::plot::label::clean;
use crate::plot::ticks::Ticks;

/// Sizes in pixels, which grow with the figure.
#[derive(Debug, Clone, Copy)]
pub(super) struct FigureSizes {
    /// 1 for a figure of 800 x 500.
    pub unit: f64,
    pub tick: f64,
    pub label: f64,
    pub title: f64,
    pub note: f64,
    pub pad: f64,
    /// Length of a tick, and the gap between it and its label.
    pub tick_mark: f64,
    pub tick_gap: f64,
    /// Width of the lines of the axes, whole.
    pub hairline: f64,
}

impl FigureSizes {
    pub(super) fn of((width, height): (f64, f64)) -> Self {
        let unit = (width / 800.0).min(height / 500.0).clamp(0.65, 24.0);
        Self {
            unit,
            tick: 13.0 * unit,
            label: 14.0 * unit,
            title: 17.0 * unit,
            note: 11.5 * unit,
            pad: 12.0 * unit,
            tick_mark: 4.0 * unit,
            tick_gap: 4.0 * unit,
            hairline: unit.round().max(1.0),
        }
    }
}

/// How much stands around the axes; small figures drop the words first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    Full,
    TicksOnly,
    Bare,
}

impl Detail {
    /// The richest layout that leaves the data about a third of each side.
    pub(super) fn choose<L>(
        (width, height): (f64, f64),
        layout: impl Fn(Self) -> L,
        inner: impl Fn(&L) -> Rect,
    ) -> L {
        for detail in [Self::Full, Self::TicksOnly] {
            let layout = layout(detail);
            let inner = inner(&layout);
            if inner.width() >= width * 0.35 && inner.height() >= height * 0.35 {
                return layout;
            }
        }
        layout(Self::Bare)
    }
}

/// Title, names of the axes and notes, with the room they take.
pub(super) struct Words {
    pub sizes: FigureSizes,
    size: (f64, f64),
    title: Vec<String>,
    x_label: String,
    y_label: String,
    notes: Vec<String>,
    /// What remains.
    pub free: Rect,
}

impl Words {
    pub(super) fn new(figure: &Figure, notes: &[String], size: (f64, f64), detail: Detail) -> Self {
        let sizes = FigureSizes::of(size);
        let wide = (size.0 - 2.0 * sizes.pad).max(0.0);
        let (mut title, mut notes_drawn) = (Vec::new(), Vec::new());
        let (mut x_label, mut y_label) = (String::new(), String::new());
        if detail == Detail::Full {
            title = wrap(&clean(&figure.title, 400), sizes.title, wide, 3);
            x_label = ellipsis(&clean(&figure.x_label, 300), sizes.label, wide);
            let tall = (size.1 - 2.0 * sizes.pad).max(0.0);
            y_label = ellipsis(&clean(&figure.y_label, 300), sizes.label, tall);
            notes_drawn = wrap(&notes.join(" · "), sizes.note, wide, 3);
        }
        let pad = match detail {
            Detail::Bare => (size.0.min(size.1) * 0.05).floor(),
            _ => sizes.pad,
        };
        let line = |text: &str, em: f64| if text.is_empty() { 0.0 } else { em };
        let free = Rect {
            left: pad + line(&y_label, sizes.label * 1.5),
            top: pad + title.len() as f64 * sizes.title * 1.3,
            right: size.0 - pad,
            bottom: size.1
                - pad
                - line(&x_label, sizes.label * 1.5)
                - notes_drawn.len() as f64 * sizes.note * 1.5,
        };
        Self { sizes, size, title, x_label, y_label, notes: notes_drawn, free }
    }

    /// Writes the words close to `outer` (data, ticks and their labels) and in the middle of `inner` (the data).
    pub(super) fn draw(&self, canvas: &mut dyn Canvas, inner: Rect, outer: Rect) -> Result<(), PlotError> {
        let sizes = self.sizes;
        let middle = (inner.left + inner.right) / 2.0;
        for (index, line) in self.title.iter().enumerate() {
            let half = width_of(line, sizes.title) / 2.0;
            // Over the data, as long as that is not too far to one side.
            let x = middle.min(self.size.0 - sizes.pad - half).max(sizes.pad + half);
            let below = (self.title.len() - 1 - index) as f64;
            let y = outer.top - sizes.title * (0.35 + 1.3 * below);
            canvas.text(line, (x, y), ink(sizes.title, DARK, Anchor::Middle))?;
        }
        let mut bottom = self.size.1 - sizes.pad;
        for line in self.notes.iter().rev() {
            let at = (self.size.0 - sizes.pad, bottom);
            canvas.text(line, at, ink(sizes.note, DIM, Anchor::End))?;
            bottom -= sizes.note * 1.5;
        }
        let half = width_of(&self.x_label, sizes.label) / 2.0;
        let x = middle.min(self.size.0 - sizes.pad - half).max(sizes.pad + half);
        let at = (x, outer.bottom + sizes.label * 1.3);
        canvas.text(&self.x_label, at, ink(sizes.label, DARK, Anchor::Middle))?;
        let half = width_of(&self.y_label, sizes.label) / 2.0;
        let y = ((inner.top + inner.bottom) / 2.0).min(self.size.1 - sizes.pad - half).max(sizes.pad + half);
        let upright = Ink { upright: true, ..ink(sizes.label, DARK, Anchor::Middle) };
        canvas.text(&self.y_label, (outer.left - sizes.label * 0.7, y), upright)
    }
}

/// As many ticks with numbers beside each other as fit into `width` pixels.
pub(super) fn ticks_across(width: f64, em: f64, ticks: impl Fn(usize) -> Ticks) -> Ticks {
    let fits = |ticks: &Ticks| {
        let pairs = ticks.major.iter().zip(ticks.major.iter().skip(1));
        pairs.into_iter().all(|(a, b)| {
            let half = |label: &str| width_of(&ticks.pretty(label), em) / 2.0;
            half(&a.label) + half(&b.label) + 0.9 * em <= (b.unit - a.unit) * width
        })
    };
    let most = ((width / (3.2 * em)) as usize).clamp(2, 10);
    let mut found = ticks(most);
    for fewer in (2..most).rev() {
        if fits(&found) {
            return found;
        }
        found = ticks(fewer);
    }
    if !fits(&found) {
        found.major.truncate(1);
    }
    found
}

/// As many ticks above each other as fit into `height` pixels.
pub(super) fn ticks_down(height: f64, em: f64, ticks: impl Fn(usize) -> Ticks) -> Ticks {
    ticks(((height / (2.6 * em)) as usize).clamp(2, 9))
}

/// The width of the widest label.
pub(super) fn widest(ticks: &Ticks, em: f64) -> f64 {
    let widths = ticks.major.iter().map(|tick| width_of(&ticks.pretty(&tick.label), em));
    widths.fold(0.0, f64::max)
}

/// Names along an axis: those that are shown, and how.
pub(super) struct Names {
    /// Place (counted from 0) and text.
    pub shown: Vec<(usize, String)>,
    pub upright: bool,
    /// The room they take across the axis.
    pub depth: f64,
}

impl Names {
    /// Names `count` places of `slot` pixels each along a horizontal axis. `numbers` are thinned out rather than turned.
    pub(super) fn across(
        count: usize,
        slot: f64,
        (em, deepest): (f64, f64),
        numbers: bool,
        name: impl Fn(usize) -> String,
    ) -> Self {
        let flat_fits = |shown: &[(usize, String)], stride: usize| {
            let room = slot * stride as f64 - 0.6 * em;
            shown.iter().all(|(_, text)| width_of(text, em) <= room)
        };
        let shown = |stride: usize| -> Vec<(usize, String)> {
            let places = (0..count).step_by(stride);
            places.map(|place| (place, name(place))).collect()
        };
        let widest = || width_of(&name(count.saturating_sub(1)), em) + 0.8 * em;
        let stride = stride(slot, if numbers { widest() } else { 1.25 * em });
        let mut names = shown(stride);
        if flat_fits(&names, stride) {
            return Self { shown: names, upright: false, depth: em };
        }
        for (_, text) in &mut names {
            *text = ellipsis(text, em, deepest);
        }
        let depth = names.iter().map(|(_, text)| width_of(text, em));
        Self { depth: depth.fold(em, f64::max), shown: names, upright: true }
    }

    /// Names `count` places of `slot` pixels each along a vertical axis.
    pub(super) fn down(
        count: usize,
        slot: f64,
        em: f64,
        deepest: f64,
        name: impl Fn(usize) -> String,
    ) -> Self {
        let places = (0..count).step_by(stride(slot, 1.3 * em));
        let shown: Vec<_> = places.map(|place| (place, ellipsis(&name(place), em, deepest))).collect();
        let depth = shown.iter().map(|(_, text)| width_of(text, em));
        Self { depth: depth.fold(0.0, f64::max), shown, upright: false }
    }
}

/// Every how many places of `slot` pixels there is room for a name of `needed` pixels; rounded up to 1, 2, 5, 10, …
fn stride(slot: f64, needed: f64) -> usize {
    let least = (needed / slot.max(1e-9)).ceil().clamp(1.0, 1e12) as usize;
    let mut power = 1usize;
    loop {
        for factor in [1, 2, 5] {
            if factor * power >= least {
                return factor * power;
            }
        }
        power = power.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_are_round() {
        assert_eq!(stride(20.0, 13.0), 1);
        assert_eq!(stride(4.0, 13.0), 5);
        assert_eq!(stride(0.008, 16.0), 2000);
        assert_eq!(stride(0.0, 16.0), 20_000_000_000);
    }

    #[test]
    fn names_lie_flat_turn_or_thin_out() {
        let flat = Names::across(3, 100.0, (13.0, 80.0), false, |_| "cat".to_string());
        assert!(!flat.upright && flat.shown.len() == 3);
        let turned = Names::across(10, 20.0, (13.0, 80.0), false, |_| "a long name".to_string());
        assert!(turned.upright && turned.shown.len() == 10 && turned.depth <= 80.0);
        for numbers in [false, true] {
            let name = |place: usize| place.to_string();
            let many = Names::across(100_000, 0.007, (13.0, 80.0), numbers, name);
            assert!(many.shown.len() <= 50, "{}", many.shown.len());
            assert_eq!(many.upright, !numbers);
        }
    }
}
