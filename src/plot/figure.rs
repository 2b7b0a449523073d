//! What to draw: a description without tensors, colours of a screen, or pixels.

use serde::{Deserialize, Serialize};

use crate::base::{Error, memory};
use crate::plot::left_out::LeftOut;

use super::axis::{Scale, verdict};
use super::bins::{Bins, bin};
use super::color::ColorMap;
use super::decimate::{self, Points};
use super::{PlotError, numbers, picture};

/// A figure with one pair of axes, or one picture.
///
/// Numbers that are NaN or infinite, and those at or below zero on a logarithmic axis, are not drawn; a note under the figure
/// says how many there were.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Figure {
    pub title: String,
    pub x_label: String,
    pub y_label: String,
    /// Ignored, and so linear, where the x axis shows the categories of bars.
    pub x_scale: Scale,
    pub y_scale: Scale,
    /// Pixels of the PNG and units of the SVG. Text and line widths grow with the size.
    pub width: u32,
    pub height: u32,
    pub series: Vec<Series>,
    /// What [`Figure::compact`] took out; the notes add it to what they count.
    pub left_out: LeftOut,
}

impl Default for Figure {
    /// No series, 800 x 500.
    fn default() -> Self {
        Self {
            title: String::new(),
            x_label: String::new(),
            y_label: String::new(),
            x_scale: Scale::Linear,
            y_scale: Scale::Linear,
            width: 800,
            height: 500,
            series: Vec::new(),
            left_out: LeftOut::default(),
        }
    }
}

impl From<Series> for Figure {
    fn from(series: Series) -> Self {
        Self { series: vec![series], ..Self::default() }
    }
}

/// One series. An empty `label` keeps it out of the legend.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Series {
    /// Points joined in order; a number that cannot be drawn leaves a gap. An empty `x` stands for 0, 1, 2, …
    Line {
        #[serde(default, with = "numbers")]
        x: Vec<f64>,
        #[serde(with = "numbers")]
        y: Vec<f64>,
        #[serde(default)]
        label: String,
    },
    /// Points. An empty `x` stands for 0, 1, 2, …
    Scatter {
        #[serde(default, with = "numbers")]
        x: Vec<f64>,
        #[serde(with = "numbers")]
        y: Vec<f64>,
        #[serde(default)]
        label: String,
    },
    /// One bar for each category, side by side with the bars of other series. Empty `labels` stand for 0, 1, 2, …
    Bar {
        #[serde(default)]
        labels: Vec<String>,
        #[serde(with = "numbers")]
        values: Vec<f64>,
        #[serde(default)]
        label: String,
    },
    /// How many values fall into each bin, or how much weight where `weights` is not empty.
    Hist {
        #[serde(with = "numbers")]
        values: Vec<f64>,
        #[serde(default, with = "numbers")]
        weights: Vec<f64>,
        #[serde(default)]
        bins: Bins,
        #[serde(default)]
        label: String,
    },
    /// `data` is row-major, the channel last (`height x width x channels`). One channel goes through `color_map` over `range`,
    /// or from the smallest to the largest value. Three are red, green and blue over `range`, or over 0 .. 1 if all values lie
    /// in it, over 0 .. 255 if they lie in that, and else from the smallest to the largest.
    Image {
        height: usize,
        width: usize,
        channels: usize,
        #[serde(with = "numbers")]
        data: Vec<f32>,
        #[serde(default = "gray")]
        color_map: ColorMap,
        #[serde(default)]
        range: Option<(f64, f64)>,
    },
    /// A matrix of `rows x columns`, row-major, as coloured cells, with their values where these fit.
    Heatmap {
        rows: usize,
        columns: usize,
        #[serde(with = "numbers")]
        data: Vec<f32>,
        /// Empty for row numbers.
        #[serde(default)]
        row_labels: Vec<String>,
        /// Empty for column numbers.
        #[serde(default)]
        column_labels: Vec<String>,
        #[serde(default)]
        color_map: ColorMap,
        #[serde(default)]
        range: Option<(f64, f64)>,
    },
    /// Spans in named rows, from the top in the order in which the rows are first named; an x axis of numbers below. Series
    /// of one label look alike.
    Spans {
        /// The row of each, or one for all. Without spans, rows that have their place before others.
        rows: Vec<String>,
        #[serde(with = "numbers")]
        starts: Vec<f64>,
        #[serde(with = "numbers")]
        lengths: Vec<f64>,
        /// Stand within the spans that have room. Empty for none.
        #[serde(default)]
        texts: Vec<String>,
        #[serde(default)]
        label: String,
    },
}

/// Spans that a compact figure keeps of a series.
const MOST_SPANS: usize = 4096;

fn gray() -> ColorMap {
    ColorMap::Gray
}

impl Figure {
    /// Whether this figure can be drawn at its own size. Every drawing checks first.
    ///
    /// # Errors
    /// The first thing that is wrong: lengths that do not match, impossible bins, a reversed colour range, a picture together
    /// with other series, a size of zero or beyond the limits.
    pub fn check(&self) -> Result<(), PlotError> {
        super::size::check_size(self.width, self.height)?;
        self.check_series()
    }

    pub(super) fn check_series(&self) -> Result<(), PlotError> {
        for series in &self.series {
            series.check()?;
            let others = self.series.iter().filter(|other| !std::ptr::eq(*other, series));
            let beside = others.into_iter().find(|other| !series.stands_beside(other));
            if let Some(other) = beside {
                return Err(PlotError::Mixed { first: series.kind(), second: other.kind() });
            }
        }
        Ok(())
    }

    /// A copy, where there is memory for its numbers.
    pub fn copied(&self) -> Result<Self, PlotError> {
        let series = self.series.iter().map(|series| Ok(series.copied()?));
        Ok(Self {
            title: self.title.clone(),
            x_label: self.x_label.clone(),
            y_label: self.y_label.clone(),
            series: series.collect::<Result<_, PlotError>>()?,
            ..*self
        })
    }

    /// The same figure in little space, to be sent or kept: it looks the same up to about 2048 pixels of width.
    ///
    /// Long lines keep the first, lowest, highest and last point of each of 2048 columns, dense scatters one point of each of
    /// 1024 x 1024 places, histograms their counts, large pictures the means of their pixels. Small figures stay as they are.
    ///
    /// # Errors
    /// Those of [`Figure::check`], sizes aside.
    pub fn compact(mut self) -> Result<Self, PlotError> {
        self.check_series()?;
        let scales = (self.x_scale, self.y_scale);
        let mut left_out = self.left_out;
        for series in &mut self.series {
            series.compact(scales, &mut left_out)?;
        }
        self.left_out = left_out;
        Ok(self)
    }
}

impl Series {
    /// The name a script knows it by.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Line { .. } => "line",
            Self::Scatter { .. } => "scatter",
            Self::Bar { .. } => "bar",
            Self::Hist { .. } => "hist",
            Self::Image { .. } => "image",
            Self::Heatmap { .. } => "heatmap",
            Self::Spans { .. } => "spans",
        }
    }

    fn copied(&self) -> Result<Self, Error> {
        let copied = memory::copied::<f64>;
        Ok(match self {
            Self::Line { x, y, label } => Self::Line { x: copied(x)?, y: copied(y)?, label: label.clone() },
            Self::Scatter { x, y, label } => {
                Self::Scatter { x: copied(x)?, y: copied(y)?, label: label.clone() }
            }
            Self::Bar { labels, values, label } => {
                Self::Bar { labels: labels.clone(), values: copied(values)?, label: label.clone() }
            }
            Self::Hist { values, weights, bins, label } => Self::Hist {
                values: copied(values)?,
                weights: copied(weights)?,
                bins: bins.clone(),
                label: label.clone(),
            },
            Self::Image { height, width, channels, data, color_map, range } => Self::Image {
                height: *height,
                width: *width,
                channels: *channels,
                data: memory::copied(data)?,
                color_map: *color_map,
                range: *range,
            },
            Self::Spans { rows, starts, lengths, texts, label } => Self::Spans {
                rows: rows.clone(),
                starts: copied(starts)?,
                lengths: copied(lengths)?,
                texts: texts.clone(),
                label: label.clone(),
            },
            Self::Heatmap { rows, columns, data, row_labels, column_labels, color_map, range } => {
                Self::Heatmap {
                    rows: *rows,
                    columns: *columns,
                    data: memory::copied(data)?,
                    row_labels: row_labels.clone(),
                    column_labels: column_labels.clone(),
                    color_map: *color_map,
                    range: *range,
                }
            }
        })
    }

    /// Whether both have a place in one figure: a picture stands alone, and spans have rows of their own.
    fn stands_beside(&self, other: &Series) -> bool {
        let is_picture = matches!(self, Self::Image { .. } | Self::Heatmap { .. });
        let is_spans = |series: &Series| matches!(series, Self::Spans { .. });
        !is_picture && is_spans(self) == is_spans(other)
    }

    fn check(&self) -> Result<(), PlotError> {
        let kind = self.kind();
        match self {
            Self::Line { x, y, .. } | Self::Scatter { x, y, .. } => {
                same_or_empty(kind, ("x", x.len()), ("y", y.len()))
            }
            Self::Bar { labels, values, .. } => {
                same_or_empty(kind, ("labels", labels.len()), ("values", values.len()))
            }
            Self::Hist { values, weights, bins, .. } => {
                same_or_empty(kind, ("weights", weights.len()), ("values", values.len()))?;
                bins.check()
            }
            Self::Spans { rows, starts, lengths, texts, .. } => {
                if rows.len() != 1 && !starts.is_empty() {
                    same_or_empty(kind, ("rows", rows.len()), ("starts", starts.len()))?;
                }
                same_or_empty(kind, ("texts", texts.len()), ("starts", starts.len()))?;
                same(kind, ("lengths", lengths.len()), ("starts", starts.len()))
            }
            Self::Image { height, width, channels, data, range, .. } => {
                if !matches!(channels, 1 | 3) {
                    return Err(PlotError::Channels { given: *channels });
                }
                check_picture(kind, (*height, *width, *channels), data.len(), *range)
            }
            Self::Heatmap { rows, columns, data, row_labels, column_labels, range, .. } => {
                same_or_empty(kind, ("row_labels", row_labels.len()), ("rows", *rows))?;
                let labels = ("column_labels", column_labels.len());
                same_or_empty(kind, labels, ("columns", *columns))?;
                check_picture(kind, (*rows, *columns, 1), data.len(), *range)
            }
        }
    }

    fn compact(&mut self, scales: (Scale, Scale), left_out: &mut LeftOut) -> Result<(), PlotError> {
        match self {
            Self::Line { x, y, .. } => {
                let kept = decimate::compact_line(Points::new(x, y), scales);
                keep(x, y, &kept, scales, left_out);
            }
            Self::Scatter { x, y, .. } => {
                let kept = decimate::compact_scatter(Points::new(x, y), scales)?;
                keep(x, y, &kept, scales, left_out);
            }
            Self::Bar { .. } => {}
            Self::Spans { rows, starts, lengths, texts, .. } => {
                left_out.short += decimate::keep_longest(MOST_SPANS, (rows, texts), (starts, lengths));
            }
            Self::Hist { values, weights, bins, .. } => {
                let binned = bin(values, weights, bins)?;
                if values.len() > 2 * binned.counts.len() {
                    left_out.non_finite += binned.non_finite;
                    left_out.outside += binned.outside;
                    let pairs = binned.edges.iter().zip(binned.edges.iter().skip(1));
                    *values = pairs.map(|(left, right)| left / 2.0 + right / 2.0).collect();
                    *weights = binned.counts;
                    *bins = Bins::Edges(binned.edges);
                }
            }
            Self::Image { height, width, channels, data, range, .. } => {
                picture::compact((height, width), *channels, data, range, left_out)?
            }
            Self::Heatmap { rows, columns, data, row_labels, column_labels, range, .. } => {
                let before = (*rows, *columns);
                picture::compact((rows, columns), 1, data, range, left_out)?;
                if (*rows, *columns) != before {
                    row_labels.clear();
                    column_labels.clear();
                }
            }
        }
        Ok(())
    }
}

/// Reduces `x` and `y` to the points at `kept` and counts what it drops that could not have been drawn.
fn keep(x: &mut Vec<f64>, y: &mut Vec<f64>, kept: &[usize], scales: (Scale, Scale), left_out: &mut LeftOut) {
    let points = Points::new(x, y);
    if kept.len() >= points.len() {
        return;
    }
    let mut wanted = kept.iter().copied().peekable();
    let (mut new_x, mut new_y) = (Vec::new(), Vec::new());
    for (index, (x, y)) in points.iter().enumerate() {
        if wanted.next_if_eq(&index).is_some() {
            new_x.push(x);
            new_y.push(y);
        } else {
            left_out.add(verdict(scales, x, y));
        }
    }
    (*x, *y) = (new_x, new_y);
}

fn same_or_empty(
    series: &'static str,
    left: (&'static str, usize),
    right: (&'static str, usize),
) -> Result<(), PlotError> {
    if left.1 == 0 { Ok(()) } else { same(series, left, right) }
}

fn same(
    series: &'static str,
    (left, left_len): (&'static str, usize),
    (right, right_len): (&'static str, usize),
) -> Result<(), PlotError> {
    if left_len == right_len {
        return Ok(());
    }
    Err(PlotError::Lengths { series, left, left_len, right, right_len })
}

fn check_picture(
    series: &'static str,
    (height, width, channels): (usize, usize, usize),
    given: usize,
    range: Option<(f64, f64)>,
) -> Result<(), PlotError> {
    let needed = height.checked_mul(width).and_then(|cells| cells.checked_mul(channels));
    if needed != Some(given) {
        return Err(PlotError::PictureSize { series, height, width, channels, given });
    }
    match range {
        Some((low, high)) if !(low.is_finite() && high.is_finite() && low <= high) => {
            Err(PlotError::Range { low, high })
        }
        _ => Ok(()),
    }
}
