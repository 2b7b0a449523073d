//! From what was asked to what is to be drawn: axes that hold all data, bars with places, and notes on what is missing.

use std::borrow::Cow;

use crate::base::memory;
use crate::base::sorted;
use crate::plot::bar::{Bar, Bars};
use crate::plot::left_out::LeftOut;

use super::PlotError;
use super::axis::{Axis, Bounds, Room, Scale, Verdict, verdict};
use super::bins::{Binned, bin};
use super::categories::Categories;
use super::color::{self, ColorMap, Rgb};
use super::decimate::Points;
use super::figure::{Figure, Series};
use super::label::count;
use super::picture::{Picture, range_of};
use super::rows::RowsScene;

/// A figure ready for drawing at any size.
pub(super) enum Scene<'a> {
    Chart(Chart<'a>),
    Picture(PictureScene<'a>),
    Rows(RowsScene<'a>),
}

/// Series on one pair of axes.
pub(super) struct Chart<'a> {
    pub x: Axis,
    pub y: Axis,
    /// Names of the places 0, 1, 2, … of the x axis, where it has them.
    pub categories: Option<Vec<Cow<'a, str>>>,
    /// In drawing order: filled shapes first.
    pub layers: Vec<Layer<'a>>,
    pub notes: Vec<String>,
}

/// One series of a chart.
pub(super) struct Layer<'a> {
    /// Empty to stay out of the legend.
    pub label: &'a str,
    pub color: Rgb,
    /// Position among the series, which also chooses its marker.
    pub index: usize,
    pub shape: Shape<'a>,
}

pub(super) enum Shape<'a> {
    Line(Points<'a>),
    Scatter(Points<'a>),
    Bars(Bars),
}

/// One picture.
pub(super) struct PictureScene<'a> {
    pub picture: Picture,
    /// Its colours and their range; none for a picture in true colour.
    pub bar: Option<(ColorMap, Axis)>,
    pub row_labels: &'a [String],
    pub column_labels: &'a [String],
    /// The numbers of a heat map.
    pub values: Option<&'a [f32]>,
    pub notes: Vec<String>,
}

impl<'a> Scene<'a> {
    /// # Errors
    /// Those of [`Figure::check`], size aside.
    pub(super) fn new(figure: &'a Figure) -> Result<Self, PlotError> {
        figure.check_series()?;
        match figure.series.first() {
            Some(Series::Image { height, width, channels, data, color_map, range }) => {
                let range = range_of(data, *channels, *range);
                let size = (*height, *width, *channels);
                Ok(Self::Picture(PictureScene {
                    picture: Picture::paint(size, data, *color_map, range)?,
                    bar: (*channels == 1).then(|| (*color_map, colors_axis(range))),
                    row_labels: &[],
                    column_labels: &[],
                    values: None,
                    notes: picture_notes(data, figure.left_out, *channels, range),
                }))
            }
            Some(Series::Heatmap { rows, columns, data, row_labels, column_labels, color_map, range }) => {
                let range = range_of(data, 1, *range);
                Ok(Self::Picture(PictureScene {
                    picture: Picture::paint((*rows, *columns, 1), data, *color_map, range)?,
                    bar: Some((*color_map, colors_axis(range))),
                    row_labels,
                    column_labels,
                    values: Some(data),
                    notes: picture_notes(data, figure.left_out, 1, range),
                }))
            }
            Some(Series::Spans { .. }) => {
                let (scene, left_out) = RowsScene::new(figure);
                Ok(Self::Rows(RowsScene { notes: notes(left_out), ..scene }))
            }
            _ => Chart::new(figure).map(Self::Chart),
        }
    }

    pub(super) fn notes(&self) -> &[String] {
        match self {
            Self::Chart(chart) => &chart.notes,
            Self::Picture(picture) => &picture.notes,
            Self::Rows(rows) => &rows.notes,
        }
    }
}

fn colors_axis((low, high): (f64, f64)) -> Axis {
    let whole = false;
    Axis::fit(Scale::Linear, Bounds { low, high, whole, twos: false }, Room::NONE)
}

fn picture_notes(data: &[f32], left_out: LeftOut, channels: usize, (low, high): (f64, f64)) -> Vec<String> {
    let missing = data.iter().filter(|value| !value.is_finite()).count() as u64;
    let mut notes = notes(LeftOut { non_finite: left_out.non_finite + missing, ..left_out });
    if channels == 3 && (low != 0.0 || (high != 1.0 && high != 255.0)) {
        let (low, high) = (super::ticks::short(low, 3), super::ticks::short(high, 3));
        notes.push(format!("colours stretched from {low} .. {high}"));
    }
    notes
}

fn notes(left_out: LeftOut) -> Vec<String> {
    let parts = [
        (left_out.non_finite, "not drawn: NaN or infinite"),
        (left_out.non_positive, "not drawn: zero or less on a log axis"),
        (left_out.outside, "outside the bins"),
        (left_out.short, "not drawn: shorter than all others"),
    ];
    parts
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| {
            let values = if *number == 1 { "value" } else { "values" };
            format!("{} {values} {what}", count(*number))
        })
        .collect()
}

impl<'a> Chart<'a> {
    fn new(figure: &'a Figure) -> Result<Self, PlotError> {
        let categories = Categories::of(&figure.series);
        let x_scale = if categories.is_some() { Scale::Linear } else { figure.x_scale };
        let mut fitting = Fitting::new((x_scale, figure.y_scale), figure.left_out);
        let is_hist = |series: &&Series| matches!(series, Series::Hist { .. });
        let several_hists = figure.series.iter().filter(is_hist).count() > 1;
        let mut layers = memory::with_capacity(figure.series.len())?;
        let mut group = 0;
        for (index, series) in figure.series.iter().enumerate() {
            let (label, shape) = match series {
                Series::Line { x, y, label } => (label, Shape::Line(fitting.points(x, y))),
                Series::Scatter { x, y, label } => (label, Shape::Scatter(fitting.points(x, y))),
                Series::Bar { labels, values, label } => {
                    let bars = categories.as_ref().map(|categories| categories.bars(labels, values, group));
                    group += 1;
                    (label, Shape::Bars(fitting.bars(bars.unwrap_or_default(), false, false)?))
                }
                Series::Hist { values, weights, bins, label } => {
                    let bars = fitting.hist(bin(values, weights, bins)?);
                    (label, Shape::Bars(fitting.bars(bars, true, several_hists)?))
                }
                Series::Image { .. } | Series::Heatmap { .. } | Series::Spans { .. } => continue,
            };
            layers.push(Layer { label, color: color::series(index), index, shape });
        }
        sorted::sort_by_key(&mut layers, |layer| !matches!(layer.shape, Shape::Bars(_)));
        Ok(fitting.chart(categories.map(|categories| categories.names), layers))
    }

    /// Unit coordinates of a point, x to the right and y up, or nothing where it cannot be drawn.
    pub(super) fn place(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        let scales = (self.x.scale, self.y.scale);
        (verdict(scales, x, y) == Verdict::Shown).then(|| (self.x.unit(x), self.y.unit(y)))
    }

    /// Where bars begin: zero, or the low end of an axis that has no zero.
    pub(super) fn ground(&self) -> f64 {
        match self.y.scale {
            Scale::Linear => self.y.unit(0.0).clamp(0.0, 1.0),
            Scale::Log => 0.0,
        }
    }

    /// Layers that are named in the legend.
    pub(super) fn named(&self) -> impl Iterator<Item = &Layer<'a>> {
        let mut named: Vec<_> = self.layers.iter().filter(|l| !l.label.is_empty()).collect();
        sorted::sort_by_key(&mut named, |layer| layer.index);
        named.into_iter()
    }
}

/// Collects the ranges of all series.
struct Fitting {
    scales: (Scale, Scale),
    left_out: LeftOut,
    x: Bounds,
    y: Bounds,
    /// The data touches the ends of an axis on purpose, as bars do at zero.
    has_bars: bool,
    has_points: bool,
}

impl Fitting {
    fn new(scales: (Scale, Scale), left_out: LeftOut) -> Self {
        Self { scales, left_out, x: Bounds::EMPTY, y: Bounds::EMPTY, has_bars: false, has_points: false }
    }

    fn points<'a>(&mut self, x: &'a [f64], y: &'a [f64]) -> Points<'a> {
        let points = Points::new(x, y);
        self.has_points = true;
        for (x, y) in points.iter() {
            match verdict(self.scales, x, y) {
                Verdict::Shown => {
                    self.x.add(x);
                    self.y.add(y);
                }
                other => self.left_out.add(other),
            }
        }
        points
    }

    fn hist(&mut self, binned: Binned) -> Vec<Bar> {
        self.left_out.non_finite += binned.non_finite;
        self.left_out.outside += binned.outside;
        let edges = binned.edges.iter().zip(binned.edges.iter().skip(1));
        let bars = edges.zip(binned.counts).enumerate();
        bars.map(|(place, ((&left, &right), value))| Bar { left, right, value, place }).collect()
    }

    fn bars(&mut self, bars: Vec<Bar>, joined: bool, see_through: bool) -> Result<Bars, PlotError> {
        self.has_bars = true;
        let mut shown = memory::with_capacity(bars.len())?;
        for bar in bars {
            // An empty bin has nothing to draw, on a logarithmic axis too, but it has its place.
            if self.scales.0 == Scale::Linear || bar.left > 0.0 {
                self.x.add(bar.left);
            }
            if self.scales.0 == Scale::Linear || bar.right > 0.0 {
                self.x.add(bar.right);
            }
            match verdict((self.scales.0, self.scales.1), bar.right, bar.value) {
                Verdict::Shown => {
                    self.y.add(bar.value);
                    shown.push(bar);
                }
                Verdict::NonPositive if joined && bar.value == 0.0 => {}
                other => self.left_out.add(other),
            }
        }
        if self.scales.1 == Scale::Linear {
            self.y.add(0.0);
        }
        Ok(Bars { bars: shown, joined, see_through })
    }

    fn chart<'a>(self, categories: Option<Vec<Cow<'a, str>>>, layers: Vec<Layer<'a>>) -> Chart<'a> {
        let grounded = self.has_bars && self.scales.1 == Scale::Linear;
        let y_room = Room {
            low: !(grounded && self.y.low >= 0.0),
            high: !(grounded && self.y.high <= 0.0 && self.y.low < 0.0),
        };
        let mut y = self.y;
        if self.has_bars && self.scales.1 == Scale::Log && y.low < y.high {
            // The lowest bar is to be seen.
            y.low = (y.low / 2.0).max(f64::MIN_POSITIVE);
        }
        let mut x = self.x;
        if categories.is_none() && self.has_bars && !self.has_points {
            // Edges of bins are rarely data.
            x.whole = false;
        }
        Chart {
            x: Axis::fit(self.scales.0, x, Room::BOTH),
            y: Axis::fit(self.scales.1, y, y_room),
            categories,
            layers,
            notes: notes(self.left_out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Bins;

    fn chart(figure: &Figure) -> Chart<'_> {
        match Scene::new(figure).unwrap() {
            Scene::Chart(chart) => chart,
            Scene::Picture(_) | Scene::Rows(_) => panic!("a chart was expected"),
        }
    }

    fn line(x: &[f64], y: &[f64]) -> Series {
        Series::Line { x: x.to_vec(), y: y.to_vec(), label: String::new() }
    }

    fn bar(labels: &[&str], values: &[f64]) -> Series {
        Series::Bar {
            labels: labels.iter().map(|label| label.to_string()).collect(),
            values: values.to_vec(),
            label: "b".to_string(),
        }
    }

    #[test]
    fn what_cannot_be_drawn_is_counted_once() {
        let mut figure =
            Figure::from(line(&[1.0, 2.0, f64::NAN, 4.0], &[1.0, f64::INFINITY, f64::NAN, -1.0]));
        assert_eq!(chart(&figure).notes, ["2 values not drawn: NaN or infinite"]);
        figure.y_scale = Scale::Log;
        figure.left_out.non_positive = 1999;
        assert_eq!(
            chart(&figure).notes,
            ["2 values not drawn: NaN or infinite", "2,000 values not drawn: zero or less on a log axis"]
        );
    }

    #[test]
    fn bars_stand_on_zero_side_by_side() {
        let mut figure = Figure::from(bar(&["a", "b"], &[1.0, 3.0]));
        figure.series.push(bar(&["b", "c", "b"], &[2.0, 4.0, 5.0]));
        let chart = chart(&figure);
        let names = chart.categories.as_deref().unwrap_or_default();
        assert_eq!(names, ["a", "b", "c", "b"]);
        assert_eq!(chart.y.ends().0, 0.0);
        assert_eq!(chart.ground(), 0.0);
        let spans: Vec<_> = chart
            .layers
            .iter()
            .flat_map(|layer| match &layer.shape {
                Shape::Bars(bars) => bars.bars.clone(),
                _ => Vec::new(),
            })
            .map(|bar| (bar.place, (bar.left * 10.0).round(), bar.value))
            .collect();
        assert_eq!(spans, [(0, -4.0, 1.0), (1, 6.0, 3.0), (1, 10.0, 2.0), (2, 20.0, 4.0), (3, 30.0, 5.0)]);
    }

    #[test]
    fn negative_bars_hang_from_zero() {
        let figure = Figure::from(bar(&[], &[-1.0, -2.0]));
        let chart = chart(&figure);
        assert_eq!(chart.y.ends().1, 0.0);
        assert_eq!(chart.ground(), 1.0);
    }

    #[test]
    fn log_bars_begin_at_the_end_of_the_axis() {
        let mut figure = Figure::from(Series::Hist {
            values: vec![1.0, 1.0, 1.0, 3.0],
            weights: Vec::new(),
            bins: Bins::Count(4),
            label: String::new(),
        });
        figure.y_scale = Scale::Log;
        let chart = chart(&figure);
        assert_eq!(chart.ground(), 0.0);
        assert!(chart.y.unit(1.0) > 0.1, "a count of one is seen");
        assert!(chart.notes.is_empty(), "empty bins are not missing values");
    }

    #[test]
    fn a_picture_has_notes_too() {
        let figure = Figure::from(Series::Image {
            height: 1,
            width: 1,
            channels: 3,
            data: vec![-1.0, 0.0, f32::NAN],
            color_map: ColorMap::Gray,
            range: None,
        });
        assert_eq!(
            Scene::new(&figure).unwrap().notes(),
            ["1 value not drawn: NaN or infinite", "colours stretched from -1 .. 0"]
        );
    }
}
