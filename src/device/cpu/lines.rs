//! Lines along one dimension: how kernels that work dimension by dimension see a row-major tensor.

use crate::base::{Error, Result};
use crate::device::kernel::{Arg, Launch};

use super::access::missing;

/// A row-major tensor as `outer` blocks of `size` steps of `inner` neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lines {
    pub outer: usize,
    pub size: usize,
    pub inner: usize,
}

impl Lines {
    /// Lines along `dim`; a tensor without dimensions is one line of one element.
    pub(super) fn new(shape: &[usize], dim: usize) -> Lines {
        let (before, after) = shape.split_at_checked(dim).unwrap_or((shape, &[]));
        let (size, after) = after.split_first().unwrap_or((&1, &[]));
        Lines { outer: before.iter().product(), size: *size, inner: after.iter().product() }
    }

    /// How many lines there are.
    pub(super) fn count(&self) -> usize {
        self.outer * self.inner
    }

    /// The first element of a line; the others follow `inner` apart.
    pub(super) fn start(&self, line: usize) -> usize {
        line / self.inner * self.size * self.inner + line % self.inner
    }
}

/// The shape of input `index`, which must be a tensor.
pub(crate) fn input_shape<'a>(launch: &Launch<'a>, index: usize) -> Result<&'a [usize]> {
    match launch.inputs.get(index) {
        Some(Arg::View(view)) => Ok(view.layout.shape()),
        _ => Err(missing(launch, "tensor as input", index)),
    }
}

/// The shape of output `index`.
pub(crate) fn output_shape<'a>(launch: &Launch<'a>, index: usize) -> Result<&'a [usize]> {
    Ok(launch.outputs.get(index).ok_or_else(|| missing(launch, "output", index))?.layout.shape())
}

/// The error for operands whose shapes do not belong together.
#[cold]
pub(super) fn mismatch(launch: &Launch, what: &str, got: &[usize], want: &[usize]) -> Error {
    Error::runtime(format!("{}: {what} has shape {got:?} where {want:?} belongs", launch.op))
}

/// Checks a shape that the caller is to have settled.
pub(crate) fn expect_shape(launch: &Launch, what: &str, got: &[usize], want: &[usize]) -> Result<()> {
    if got == want { Ok(()) } else { Err(mismatch(launch, what, got, want)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_start_where_their_index_is_zero() {
        let lines = Lines::new(&[2, 3, 4], 1);
        assert_eq!(lines, Lines { outer: 2, size: 3, inner: 4 });
        assert_eq!(
            (0..lines.count()).map(|i| lines.start(i)).collect::<Vec<_>>(),
            [0, 1, 2, 3, 12, 13, 14, 15]
        );
        assert_eq!(Lines::new(&[], 0), Lines { outer: 1, size: 1, inner: 1 });
    }
}
