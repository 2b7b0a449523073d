//! Histograms: edges and counts as `numpy.histogram` gives them.

use serde::{Deserialize, Serialize};

use crate::base::memory;

use super::stop::until;
use super::{PlotError, numbers};

/// More bins than this are refused.
pub(super) const MAX_BINS: usize = 100_000;

/// How a histogram divides its values, as the `bins` of `numpy.histogram`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bins {
    /// So many bins of equal width from the smallest to the largest finite value.
    Count(i64),
    /// Bin `i` is `edges[i] .. edges[i + 1]`, half open, the last one closed. Edges do not decrease.
    Edges(#[serde(with = "numbers")] Vec<f64>),
    /// NumPy's `"auto"`: the narrower of Sturges' and (bounded) Freedman and Diaconis' width.
    Auto,
}

impl Default for Bins {
    /// 10 bins, as NumPy and matplotlib.
    fn default() -> Self {
        Self::Count(10)
    }
}

impl Bins {
    /// Whether these bins can be made at all.
    ///
    /// # Errors
    /// A count outside `1..=100_000`, fewer than two edges, edges that decrease or are not finite.
    pub(super) fn check(&self) -> Result<(), PlotError> {
        match self {
            Self::Auto => Ok(()),
            Self::Count(count) => match usize::try_from(*count) {
                Ok(1..=MAX_BINS) => Ok(()),
                _ => Err(PlotError::BinCount { given: *count, limit: MAX_BINS }),
            },
            Self::Edges(edges) if edges.len() < 2 => Err(PlotError::BinEdgeCount { given: edges.len() }),
            Self::Edges(edges) => {
                let pairs = edges.iter().zip(edges.iter().skip(1)).enumerate();
                for (index, (&left, &right)) in pairs {
                    if !left.is_finite() || !right.is_finite() || left > right {
                        return Err(PlotError::BinEdges { index: index + 1, left, right });
                    }
                }
                Ok(())
            }
        }
    }
}

/// Values sorted into bins.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Binned {
    /// One more than there are counts.
    pub edges: Vec<f64>,
    /// How many values (or how much weight) fell into each bin.
    pub counts: Vec<f64>,
    /// Values that are NaN or infinite, or have such a weight.
    pub non_finite: u64,
    /// Finite values beyond the outer edges.
    pub outside: u64,
}

/// Sorts `values` into `bins`; each counts once, or as much as its entry in `weights` when there are any.
///
/// # Errors
/// Those of [`Bins::check`].
pub(super) fn bin(values: &[f64], weights: &[f64], bins: &Bins) -> Result<Binned, PlotError> {
    bins.check()?;
    let edges = edges(values, bins)?;
    let counts = memory::filled(edges.len().saturating_sub(1), 0.0)?;
    let mut binned = Binned { counts, edges, non_finite: 0, outside: 0 };
    let uniform = !matches!(bins, Bins::Edges(_));
    let mut weights = weights.iter().copied();
    for &value in until(values.iter()) {
        let weight = weights.next().unwrap_or(1.0);
        if !value.is_finite() || !weight.is_finite() {
            binned.non_finite += 1;
            continue;
        }
        match locate(&binned.edges, value, uniform).and_then(|at| binned.counts.get_mut(at)) {
            Some(count) => *count += weight,
            None => binned.outside += 1,
        }
    }
    Ok(binned)
}

fn edges(values: &[f64], bins: &Bins) -> Result<Vec<f64>, PlotError> {
    let count = match bins {
        Bins::Edges(edges) => return Ok(memory::copied(edges)?),
        Bins::Count(count) => usize::try_from(*count).unwrap_or(1),
        Bins::Auto => auto_count(values)?,
    };
    let (low, high) = span(values);
    let step = (high - low) / count as f64;
    let mut edges: Vec<f64> = (0..count)
        .map(|i| {
            if step.is_finite() {
                low + i as f64 * step
            } else {
                let t = i as f64 / count as f64;
                low * (1.0 - t) + high * t
            }
        })
        .collect();
    edges.push(high);
    Ok(edges)
}

/// The smallest and largest finite value; widened as NumPy does when they are the same, `0 .. 1` when there is none.
fn span(values: &[f64]) -> (f64, f64) {
    let finite = until(values.iter()).filter(|value| value.is_finite());
    let (low, high) =
        finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &v| (low.min(v), high.max(v)));
    if low > high {
        (0.0, 1.0)
    } else if low < high {
        (low, high)
    } else {
        // Beyond 2^53 a half changes nothing.
        let half = (low.abs() * 1e-3).max(0.5);
        let half = if low - 0.5 < low { 0.5 } else { half };
        ((low - half).max(f64::MIN), (high + half).min(f64::MAX))
    }
}

fn auto_count(values: &[f64]) -> Result<usize, PlotError> {
    let mut finite = memory::collected(values.iter().copied().filter(|v| v.is_finite()))?;
    let (low, high) = span(&finite);
    let n = finite.len() as f64;
    if finite.iter().all(|&v| Some(&v) == finite.first()) {
        return Ok(1);
    }
    // Widths as fractions of the span, so that nothing overflows.
    let quartiles = percentile(&mut finite, 0.75) / 2.0 - percentile(&mut finite, 0.25) / 2.0;
    let freedman_diaconis = 2.0 * (quartiles / (high / 2.0 - low / 2.0)) / n.cbrt();
    let sturges = 1.0 / (n.log2() + 1.0);
    let width = freedman_diaconis.max(0.5 / n.sqrt()).min(sturges);
    Ok(((1.0 / width).ceil() as usize).clamp(1, MAX_BINS))
}

/// NumPy's default (linear) percentile of finite values; reorders them.
fn percentile(values: &mut [f64], fraction: f64) -> f64 {
    let position = fraction * values.len().saturating_sub(1) as f64;
    let index = position.floor() as usize;
    if index >= values.len() {
        return 0.0;
    }
    let (_, &mut lower, rest) = values.select_nth_unstable_by(index, f64::total_cmp);
    let upper = rest.iter().copied().fold(f64::INFINITY, f64::min);
    let t = position - position.floor();
    if upper.is_finite() && t > 0.0 { lower * (1.0 - t) + upper * t } else { lower }
}

/// The bin of `value`. For `uniform` edges a division guesses it and the edges decide, as in NumPy.
fn locate(edges: &[f64], value: f64, uniform: bool) -> Option<usize> {
    let (&low, &high) = edges.first().zip(edges.last())?;
    let last = edges.len().checked_sub(2)?;
    if value < low || value > high {
        return None;
    }
    if !uniform {
        let after = edges.partition_point(|&edge| edge <= value);
        return Some(after.saturating_sub(1).min(last));
    }
    let unit = (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
    let guess = ((unit * (last + 1) as f64) as usize).min(last);
    let at = |index: usize| edges.get(index).copied().unwrap_or(high);
    if value < at(guess) {
        Some(guess.saturating_sub(1))
    } else if guess < last && value >= at(guess + 1) {
        Some(guess + 1)
    } else {
        Some(guess)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(values: &[f64], bins: Bins) -> Vec<f64> {
        bin(values, &[], &bins).unwrap().counts
    }

    // Expected values from numpy.histogram, NumPy 2.4.
    #[test]
    fn counts_and_edges_are_numpys() {
        let values: Vec<f64> = (0..200).map(|i: i64| (i * i * 7919 % 1000) as f64 / 100.0).collect();
        let binned = bin(&values, &[], &Bins::Count(7)).unwrap();
        assert_eq!(binned.counts, [28., 22., 31., 27., 27., 29., 36.]);
        assert_eq!(
            binned.edges,
            [
                0.0,
                1.4271428571428573,
                2.8542857142857145,
                4.281428571428572,
                5.708571428571429,
                7.135714285714286,
                8.562857142857144,
                9.99
            ]
        );
        assert_eq!(counts(&values, Bins::Auto), [22., 17., 16., 30., 20., 21., 27., 15., 32.]);
        let tenths: Vec<f64> = (0..11).map(|i| 0.1 * f64::from(i)).collect();
        assert_eq!(counts(&tenths, Bins::default()), [1., 1., 1., 1., 1., 1., 1., 1., 1., 2.]);
        assert_eq!(counts(&[1.0, 2.0, 2.5, 4.0, 7.0], Bins::Edges(vec![1.0, 2.0, 4.0])), [1., 3.]);
    }

    #[test]
    fn auto_is_numpys_for_outliers_and_constants() {
        let mut values: Vec<f64> = (0..1000).map(|i| f64::from(i) / 999.0).collect();
        values.push(500.0);
        let outlier = counts(&values, Bins::Auto);
        assert_eq!((outlier.len(), outlier[0]), (64, 1000.0));
        assert_eq!(counts(&[3.0; 20], Bins::Auto), [20.0]);
        let mut spike = vec![1.0; 11];
        spike.push(9.0);
        assert_eq!(counts(&spike, Bins::Auto), [11., 0., 0., 0., 0., 0., 1.]);
        assert_eq!(counts(&[], Bins::Auto), [0.0]);
    }

    #[test]
    fn one_value_is_widened_as_numpy_does() {
        let binned = bin(&[5.0; 3], &[], &Bins::Count(3)).unwrap();
        assert_eq!(binned.counts, [0., 3., 0.]);
        assert_eq!((binned.edges[0], binned.edges[3]), (4.5, 5.5));
        let huge = bin(&[1e308; 3], &[], &Bins::Count(3)).unwrap();
        assert_eq!(huge.counts.iter().sum::<f64>(), 3.0);
        assert!(huge.edges[0] < huge.edges[3]);
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let values = [f64::NAN, 0.0, 1.0, f64::INFINITY, 5.0];
        let binned = bin(&values, &[], &Bins::Edges(vec![0.0, 2.0])).unwrap();
        assert_eq!(binned.counts, [2.0]);
        assert_eq!((binned.non_finite, binned.outside), (2, 1));
        let weighed = bin(&[0.5, 1.5], &[3.0, f64::NAN], &Bins::Edges(vec![0.0, 1.0, 2.0]));
        assert_eq!(weighed.unwrap().counts, [3.0, 0.0]);
    }

    #[test]
    fn no_value_is_lost_over_the_whole_range_of_floats() {
        for scale in [1.0, 1e-310, 8e307, 1e17] {
            let values: Vec<f64> = (-100..=100).map(|i| f64::from(i) / 100.0 * scale).collect();
            let binned = bin(&values, &[], &Bins::Count(13)).unwrap();
            assert_eq!(binned.counts.iter().sum::<f64>(), 201.0, "scale {scale}");
            assert!(binned.edges.windows(2).all(|pair| pair[0] <= pair[1]));
        }
    }

    #[test]
    fn impossible_bins_are_refused_with_their_values() {
        for given in [0, -3, 100_001] {
            let error = bin(&[1.0], &[], &Bins::Count(given)).unwrap_err();
            assert!(error.to_string().contains(&given.to_string()), "{error}");
        }
        assert!(Bins::Edges(vec![1.0]).check().is_err());
        assert!(Bins::Edges(vec![2.0, 1.0]).check().is_err());
        assert!(Bins::Edges(vec![0.0, f64::NAN]).check().is_err());
        assert!(Bins::Edges(vec![f64::NEG_INFINITY, 0.0]).check().is_err());
    }
}
