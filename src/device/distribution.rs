//! What random numbers are drawn, and how many of an accelerator's generator a draw takes.

use crate::base::DType;

use super::philox;

/// What random numbers are drawn from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    Uniform {
        low: f64,
        high: f64,
    },
    Normal {
        mean: f64,
        std: f64,
    },
    /// Integers in `low..high`.
    Integers {
        low: i64,
        high: i64,
    },
    Bernoulli {
        p: f64,
    },
    /// 1 with the probability that each element of the input says, else 0.
    BernoulliEach,
    /// What dropout keeps: true with probability `p`. An accelerator's kernel compares in double precision where `wide`,
    /// and gives each thread `vector` neighbours at a time.
    Keep {
        p: f64,
        wide: bool,
        vector: u64,
    },
    /// Waiting times.
    Exponential {
        rate: f64,
    },
    Cauchy {
        median: f64,
        sigma: f64,
    },
    /// The number of trials up to the first success.
    Geometric {
        p: f64,
    },
    /// Uniform numbers for rows of `width`, of which an accelerator draws each by threads of its own; rounded to `dtype`
    /// there.
    Rows {
        width: u64,
        dtype: DType,
    },
    /// A permutation of `0..n`.
    Permutation,
    /// `exp` of normal numbers; the host draws each in double precision.
    LogNormal {
        mean: f64,
        std: f64,
    },
    /// Integers from 0 to the largest that the dtype holds, for floats to the last before gaps begin.
    Natural,
    /// Poisson numbers with the means in the input.
    Poisson,
}

impl Distribution {
    /// How many elements one call of curand serves in PyTorch's kernels, which take four numbers at a time.
    pub(crate) fn per_call(&self, dtype: DType) -> u64 {
        match self {
            Distribution::Permutation => 2,
            Distribution::Integers { low, high } if is_wide(*low, *high) => 2,
            Distribution::Integers { .. } => 4,
            Distribution::Natural if matches!(dtype, DType::Int64 | DType::Float64) => 2,
            Distribution::Natural => 4,
            Distribution::Keep { .. } => 4,
            _ if dtype == DType::Float64 => 2,
            _ => 4,
        }
    }

    /// By how much a draw of `n` elements moves an accelerator's generator, on which `most` threads run at a time.
    pub fn taken(&self, n: u64, dtype: DType, most: u64) -> u64 {
        let each = philox::used(n, most, self.per_call(dtype));
        match self {
            // Behind the keys lie the numbers that part equal ones.
            Distribution::Permutation => each.saturating_add(n.next_multiple_of(4)),
            Distribution::BernoulliEach => 12,
            Distribution::Poisson => 20,
            Distribution::Rows { width, .. } => {
                let rows = n / (*width).max(1);
                (rows.saturating_sub(1) / philox::MOST_ROWS + 1) * 4
            }
            _ => each,
        }
    }
}

/// How many integers [`Distribution::Natural`] draws from.
pub(crate) fn naturals(dtype: DType) -> u64 {
    match dtype {
        DType::Bool => 2,
        DType::UInt8 => 1 << 8,
        DType::Int8 => 1 << 7,
        DType::Int16 => 1 << 15,
        DType::Int32 => 1 << 31,
        DType::Int64 => 1 << 63,
        DType::Float64 => (1 << 53) + 1,
        DType::Float32 => (1 << 24) + 1,
        DType::Float16 => (1 << 11) + 1,
        DType::BFloat16 => (1 << 8) + 1,
    }
}

/// Spans from 2^28 on take 64 random bits an element, so that the remainder is nearly even.
pub(crate) fn is_wide(low: i64, high: i64) -> bool {
    high.wrapping_sub(low) as u64 >= 1 << 28
}

/// What is kept with probability `p` is multiplied by. PyTorch's CPU has it in `dtype`; its GPUs compute halves in float32.
pub(crate) fn kept_scale(p: f64, dtype: DType, on_host: bool) -> f64 {
    let is_half = matches!(dtype, DType::Float16 | DType::BFloat16);
    if is_half && !on_host { DType::Float32 } else { dtype }.nearest(1.0 / p)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_takes_what_its_kernels_take() {
        let h100 = philox::resident(132, 2048);
        let taken = |what: Distribution, n| what.taken(n, DType::Float32, h100);
        assert_eq!(taken(Distribution::Exponential { rate: 1.5 }, 3_000_000), 12);
        assert_eq!(taken(Distribution::BernoulliEach, 3_000_000), 12);
        assert_eq!(taken(Distribution::Poisson, 9), 20);
        // Keys, and a number for each place.
        assert_eq!(taken(Distribution::Permutation, 5), 4 + 8);
        assert_eq!(taken(Distribution::Permutation, 1000), 4 + 1000);
        let rows = Distribution::Rows { width: 9, dtype: DType::Float32 };
        assert_eq!((taken(rows, 27), taken(rows, 9 * 65_536)), (4, 8));
    }
}
