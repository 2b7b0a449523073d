//! An axis: the range of its data, and where a number lies in it.

use serde::{Deserialize, Serialize};

/// How an axis spaces its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    #[default]
    Linear,
    /// Equal factors are equally far apart; numbers at or below zero have no place.
    Log,
}

/// Whether a point has a place in the figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Shown,
    NonFinite,
    NonPositive,
}

pub(super) fn verdict((x_scale, y_scale): (Scale, Scale), x: f64, y: f64) -> Verdict {
    if !x.is_finite() || !y.is_finite() {
        Verdict::NonFinite
    } else if (x_scale == Scale::Log && x <= 0.0) || (y_scale == Scale::Log && y <= 0.0) {
        Verdict::NonPositive
    } else {
        Verdict::Shown
    }
}

/// The range of the numbers seen so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub low: f64,
    pub high: f64,
    /// Whether all of them are whole.
    pub whole: bool,
    /// Whether all of them are powers of two, from 1 on.
    pub twos: bool,
}

impl Bounds {
    pub(crate) const EMPTY: Self =
        Self { low: f64::INFINITY, high: f64::NEG_INFINITY, whole: true, twos: true };

    /// Takes in a finite number.
    pub(super) fn add(&mut self, value: f64) {
        self.low = self.low.min(value);
        self.high = self.high.max(value);
        self.whole &= value == value.trunc();
        self.twos &= value >= 1.0 && value.log2() == value.log2().trunc();
    }

    fn is_empty(self) -> bool {
        self.low > self.high
    }
}

/// Which ends of an axis get room beyond the data.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    pub low: bool,
    pub high: bool,
}

impl Room {
    pub(crate) const BOTH: Self = Self { low: true, high: true };
    pub(super) const NONE: Self = Self { low: false, high: false };
}

/// A finite, non-empty range of numbers and their places in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    pub scale: Scale,
    /// Ticks at whole numbers only.
    pub whole: bool,
    /// Ticks at powers of two, on a logarithmic axis.
    pub twos: bool,
    // The ends: halved on a linear axis, so that their difference cannot overflow; base-10 logarithms on a logarithmic one.
    from: f64,
    to: f64,
}

/// The part of the range that is added at each end with [`Room`].
const MARGIN: f64 = 0.05;

impl Axis {
    /// An axis for the numbers in `bounds`. A single number, or a range too narrow for its magnitude, is widened as matplotlib
    /// does; without numbers the axis is 0 .. 1 (1 .. 10 when logarithmic).
    pub(super) fn fit(scale: Scale, bounds: Bounds, room: Room) -> Self {
        let (mut from, mut to) = match scale {
            Scale::Linear => linear_ends(bounds),
            Scale::Log => log_ends(bounds),
        };
        let margin = (to - from) * MARGIN;
        if room.low {
            from -= margin;
        }
        if room.high {
            to += margin;
        }
        if scale == Scale::Linear {
            from = from.max(f64::MIN / 2.0);
            to = to.min(f64::MAX / 2.0);
        }
        let twos = bounds.twos && bounds.low < bounds.high;
        Self { scale, whole: bounds.whole && !bounds.is_empty(), twos, from, to }
    }

    /// Where `value` lies: 0 at the low end, 1 at the high end, and never far outside.
    pub(super) fn unit(&self, value: f64) -> f64 {
        let inner = match self.scale {
            Scale::Linear => value / 2.0,
            Scale::Log => value.log10(),
        };
        let unit = (inner - self.from) / (self.to - self.from);
        if unit.is_nan() { 0.0 } else { unit.clamp(-1.0, 2.0) }
    }

    /// The numbers at both ends; base-10 logarithms of them on a logarithmic axis.
    pub(super) fn ends(&self) -> (f64, f64) {
        match self.scale {
            Scale::Linear => (self.from * 2.0, self.to * 2.0),
            Scale::Log => (self.from, self.to),
        }
    }
}

fn linear_ends(bounds: Bounds) -> (f64, f64) {
    if bounds.is_empty() {
        return (0.0, 0.5);
    }
    let (low, high) = (bounds.low / 2.0, bounds.high / 2.0);
    let largest = low.abs().max(high.abs());
    // matplotlib's `nonsingular`, with more slack: ticks need a few digits below the difference.
    if largest < 1e-287 {
        (-0.025, 0.025)
    } else if high - low <= largest * 1e-12 {
        (low - largest * 0.05, high + largest * 0.05)
    } else {
        (low, high)
    }
}

fn log_ends(bounds: Bounds) -> (f64, f64) {
    if bounds.is_empty() || bounds.low <= 0.0 {
        return (0.0, 1.0);
    }
    let (low, high) = (bounds.low.log10(), bounds.high.log10());
    if high - low < 1e-9 { (low - 1.0, high + 1.0) } else { (low, high) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(values: &[f64]) -> Bounds {
        let mut bounds = Bounds::EMPTY;
        values.iter().for_each(|&value| bounds.add(value));
        bounds
    }

    #[test]
    fn linear_range_has_five_percent_at_each_end() {
        let axis = Axis::fit(Scale::Linear, bounds(&[0.0, 10.0]), Room::BOTH);
        assert_eq!(axis.ends(), (-0.5, 10.5));
        assert!((axis.unit(5.0) - 0.5).abs() < 1e-12);
        assert!(axis.whole);
    }

    #[test]
    fn log_axis_spaces_factors_equally() {
        let axis = Axis::fit(Scale::Log, bounds(&[1e-3, 1e3]), Room::NONE);
        assert_eq!(axis.ends(), (-3.0, 3.0));
        assert!((axis.unit(1.0) - 0.5).abs() < 1e-12);
        assert_eq!(axis.unit(-5.0), 0.0);
    }

    #[test]
    fn every_set_of_numbers_gets_a_range() {
        let sets: [&[f64]; 9] = [
            &[],
            &[0.0],
            &[3.0],
            &[-1e308, 1e308],
            &[f64::MAX, f64::MIN],
            &[5e-324, 1e-320],
            &[1e300, 1e300],
            &[1.0, 1.0 + f64::EPSILON],
            &[5e-324, f64::MAX],
        ];
        for set in sets {
            for scale in [Scale::Linear, Scale::Log] {
                let has_place = |value: &f64| scale == Scale::Linear || *value > 0.0;
                let set: Vec<f64> = set.iter().copied().filter(has_place).collect();
                let axis = Axis::fit(scale, bounds(&set), Room::BOTH);
                let (low, high) = axis.ends();
                assert!(low.is_finite() && high.is_finite() && low < high, "{set:?}");
                for &value in &set {
                    assert!((0.0..=1.0).contains(&axis.unit(value)), "{set:?} {scale:?}");
                }
            }
        }
    }

    #[test]
    fn points_are_judged_by_both_axes() {
        let log_y = (Scale::Linear, Scale::Log);
        assert_eq!(verdict(log_y, -1.0, 1.0), Verdict::Shown);
        assert_eq!(verdict(log_y, 1.0, 0.0), Verdict::NonPositive);
        assert_eq!(verdict(log_y, 1.0, f64::NAN), Verdict::NonFinite);
        assert_eq!(verdict(log_y, f64::INFINITY, -1.0), Verdict::NonFinite);
    }
}
