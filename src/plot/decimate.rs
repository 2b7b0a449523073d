//! Fewer points that draw the same pixels.
//!
//! A line keeps, of each run of points within one pixel column, the first, the lowest, the highest and the last: every pixel
//! the full line touches in that column stays touched (Jugel et al., "M4", VLDB 2014). A scatter keeps one point a pixel.

use crate::base::{Result, memory, sorted};

use super::axis::{Axis, Bounds, Room, Scale, Verdict, verdict};
use super::stop::until;

/// Points as two lists of the same length, or one and its indices.
#[derive(Debug, Clone, Copy)]
pub(super) struct Points<'a> {
    x: &'a [f64],
    y: &'a [f64],
}

impl<'a> Points<'a> {
    /// With an empty `x`, the index of a point is its x.
    pub(super) fn new(x: &'a [f64], y: &'a [f64]) -> Self {
        Self { x, y }
    }

    pub(super) fn len(&self) -> usize {
        self.y.len()
    }

    pub(super) fn get(&self, index: usize) -> Option<(f64, f64)> {
        let y = self.y.get(index)?;
        Some((self.x.get(index).copied().unwrap_or(index as f64), *y))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (f64, f64)> + 'a {
        let (x, y) = (self.x, self.y);
        let all = y.iter().enumerate();
        until(all).map(move |(index, &y)| (x.get(index).copied().unwrap_or(index as f64), y))
    }
}

/// A column of pixels while a line is inside.
struct PixelColumn {
    column: usize,
    first: usize,
    last: usize,
    low: (f64, usize),
    high: (f64, usize),
}

impl PixelColumn {
    fn new(column: usize, index: usize, y: f64) -> Self {
        Self { column, first: index, last: index, low: (y, index), high: (y, index) }
    }

    fn add(&mut self, index: usize, y: f64) {
        self.last = index;
        if y < self.low.0 {
            self.low = (y, index);
        }
        if y > self.high.0 {
            self.high = (y, index);
        }
    }

    fn write(&self, out: &mut Vec<usize>) {
        let mut kept = [self.first, self.low.1, self.high.1, self.last];
        kept.sort_unstable();
        for index in kept {
            if out.last() != Some(&index) {
                out.push(index);
            }
        }
    }
}

/// The points of a line that matter when drawn on `columns` pixels, in the order of drawing. `place` gives the unit coordinates
/// of a point, or nothing where it cannot be drawn; one such point marks each gap. Of a line that jumps back and forth so often
/// that this is too many, the band that it fills remains.
pub(super) fn line(
    points: Points<'_>,
    columns: usize,
    place: impl Fn(f64, f64) -> Option<(f64, f64)>,
) -> Vec<usize> {
    let columns = columns.max(1);
    if points.len() <= 4 * columns {
        return (0..points.len()).collect();
    }
    let mut indices = Vec::new();
    let mut run: Option<PixelColumn> = None;
    let mut gap = false;
    for (index, (x, y)) in points.iter().enumerate() {
        let Some((x, y)) = place(x, y) else {
            if let Some(run) = run.take() {
                run.write(&mut indices);
            }
            if !gap {
                indices.push(index);
            }
            gap = true;
            continue;
        };
        gap = false;
        let column = column(x, columns);
        match &mut run {
            Some(run) if run.column == column => run.add(index, y),
            _ => {
                if let Some(run) = run.replace(PixelColumn::new(column, index, y)) {
                    run.write(&mut indices);
                }
            }
        }
    }
    if let Some(run) = run {
        run.write(&mut indices);
    }
    if indices.len() <= 16 * columns { indices } else { band(points, columns, place) }
}

fn column(unit: f64, columns: usize) -> usize {
    // A negative or NaN product becomes 0.
    ((unit * columns as f64) as usize).min(columns - 1)
}

/// One run for each column, however often the line comes back to it.
fn band(points: Points<'_>, columns: usize, place: impl Fn(f64, f64) -> Option<(f64, f64)>) -> Vec<usize> {
    let mut runs: Vec<Option<PixelColumn>> = Vec::new();
    runs.resize_with(columns, || None);
    for (index, (x, y)) in points.iter().enumerate() {
        let Some((x, y)) = place(x, y) else { continue };
        let column = column(x, columns);
        match runs.get_mut(column) {
            Some(Some(run)) => run.add(index, y),
            Some(empty) => *empty = Some(PixelColumn::new(column, index, y)),
            None => {}
        }
    }
    let mut indices = Vec::new();
    runs.iter().flatten().for_each(|run| run.write(&mut indices));
    indices
}

/// The points of a scatter that fall on different cells of a grid of `columns x rows`.
pub(super) fn scatter(
    points: Points<'_>,
    (columns, rows): (usize, usize),
    place: impl Fn(f64, f64) -> Option<(f64, f64)>,
) -> Result<Vec<usize>> {
    let (columns, rows) = (columns.max(1), rows.max(1));
    let mut taken = memory::filled(memory::count::<bool>(&[columns, rows])?, false)?;
    let mut indices = Vec::new();
    for (index, (x, y)) in points.iter().enumerate() {
        let Some((x, y)) = place(x, y) else { continue };
        let cell = column(y, rows) * columns + column(x, columns);
        if let Some(taken) = taken.get_mut(cell)
            && !std::mem::replace(taken, true)
        {
            memory::push(&mut indices, index)?;
        }
    }
    Ok(indices)
}

/// The points of a line kept by [`super::Figure::compact`], in order.
pub(super) fn compact_line(points: Points<'_>, scales: (Scale, Scale)) -> Vec<usize> {
    let mut kept = line(points, 2048, placer(points, scales));
    // A band is drawn by columns, but kept in the order of its points.
    kept.sort_unstable();
    kept.dedup();
    kept
}

/// The points of a scatter kept by [`super::Figure::compact`].
pub(super) fn compact_scatter(points: Points<'_>, scales: (Scale, Scale)) -> Result<Vec<usize>> {
    if points.len() <= 8192 {
        Ok((0..points.len()).collect())
    } else {
        scatter(points, (1024, 1024), placer(points, scales))
    }
}

fn placer(points: Points<'_>, scales: (Scale, Scale)) -> impl Fn(f64, f64) -> Option<(f64, f64)> + use<> {
    let (mut x_bounds, mut y_bounds) = (Bounds::EMPTY, Bounds::EMPTY);
    for (x, y) in points.iter() {
        if verdict(scales, x, y) == Verdict::Shown {
            x_bounds.add(x);
            y_bounds.add(y);
        }
    }
    let x_axis = Axis::fit(scales.0, x_bounds, Room::NONE);
    let y_axis = Axis::fit(scales.1, y_bounds, Room::NONE);
    move |x, y| (verdict(scales, x, y) == Verdict::Shown).then(|| (x_axis.unit(x), y_axis.unit(y)))
}

/// Keeps the longest `most` spans; gives how many went.
pub(super) fn keep_longest(
    most: usize,
    (rows, texts): (&mut Vec<String>, &mut Vec<String>),
    (starts, lengths): (&mut Vec<f64>, &mut Vec<f64>),
) -> u64 {
    let all = starts.len();
    if all <= most {
        return 0;
    }
    let mut order: Vec<usize> = (0..all).collect();
    sorted::sort_by(&mut order, |a, b| length(lengths, *b).total_cmp(&length(lengths, *a)));
    let mut kept = vec![false; all];
    for place in order.into_iter().take(most) {
        if let Some(keep) = kept.get_mut(place) {
            *keep = true;
        }
    }
    retain(starts, &kept);
    retain(lengths, &kept);
    if rows.len() == all {
        retain(rows, &kept);
    }
    retain(texts, &kept);
    (all - most) as u64
}

fn length(lengths: &[f64], place: usize) -> f64 {
    // What is no number is not drawn anyway.
    lengths.get(place).map(|length| length.abs()).filter(|length| length.is_finite()).unwrap_or(-1.0)
}

fn retain<T>(values: &mut Vec<T>, kept: &[bool]) {
    let mut keeps = kept.iter();
    values.retain(|_| keeps.next().copied().unwrap_or(false));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(x: f64, y: f64) -> Option<(f64, f64)> {
        (x.is_finite() && y.is_finite()).then_some((x, y))
    }

    #[test]
    fn extremes_of_every_column_stay() {
        let n = 100_000;
        let x: Vec<f64> = (0..n).map(|i| f64::from(i) / f64::from(n)).collect();
        let y: Vec<f64> = (0..n).map(|i| f64::from(i * 7919 % 1000) / 1000.0).collect();
        let kept = line(Points::new(&x, &y), 50, unit);
        assert!(kept.len() <= 200, "{}", kept.len());
        for column in 0..50 {
            let inside = |i: &usize| (x[*i] * 50.0) as usize == column;
            let low =
                |all: &mut dyn Iterator<Item = usize>| all.filter(inside).map(|i| y[i]).fold(9.0, f64::min);
            let high =
                |all: &mut dyn Iterator<Item = usize>| all.filter(inside).map(|i| y[i]).fold(-9.0, f64::max);
            assert_eq!(low(&mut kept.iter().copied()), low(&mut (0..n as usize)));
            assert_eq!(high(&mut kept.iter().copied()), high(&mut (0..n as usize)));
        }
        assert_eq!(kept.first(), Some(&0));
        assert_eq!(kept.last(), Some(&(n as usize - 1)));
    }

    #[test]
    fn gaps_stay_gaps() {
        let mut y = vec![0.5; 1000];
        y[300..400].fill(f64::NAN);
        let x: Vec<f64> = (0..1000).map(|i| f64::from(i) / 1000.0).collect();
        let kept = line(Points::new(&x, &y), 10, unit);
        assert_eq!(kept.iter().filter(|&&i| y[i].is_nan()).count(), 1);
        let gap = kept.iter().position(|&i| y[i].is_nan()).unwrap();
        assert_eq!((kept[gap - 1], kept[gap + 1]), (299, 400));
    }

    #[test]
    fn jumping_lines_become_a_band() {
        let n = 200_000;
        let x: Vec<f64> = (0..n).map(|i| f64::from(i * 7919 % 1013) / 1013.0).collect();
        let y: Vec<f64> = (0..n).map(|i| f64::from(i) / f64::from(n)).collect();
        let kept = line(Points::new(&x, &y), 100, unit);
        assert!(kept.len() <= 400, "{}", kept.len());
        assert!(kept.windows(2).all(|pair| x[pair[0]] <= x[pair[1]] + 0.01), "from left to right");
        assert_eq!(line(Points::new(&x[..400], &y[..400]), 100, unit), (0..400).collect::<Vec<_>>());
    }

    #[test]
    fn scatter_keeps_one_point_a_cell() {
        let center = |i: i32| (f64::from(i) + 0.5) / 100.0;
        let x: Vec<f64> = (0..10_000).map(|i| center(i % 100)).collect();
        let y: Vec<f64> = (0..10_000).map(|i| center(i / 100)).collect();
        assert_eq!(scatter(Points::new(&x, &y), (10, 10), unit).unwrap().len(), 100);
        assert_eq!(scatter(Points::new(&x, &y), (100, 100), unit).unwrap().len(), 10_000);
    }
}
