//! The orders in which elements are visited: runs in row-major order, and tiles where an operand lies across.

use std::ops::Range;

use smallvec::SmallVec;

use crate::base::{Layout, sorted};

/// A dimension: its size and step.
pub(crate) type Dim = (usize, isize);
pub(crate) type DimList = SmallVec<[Dim; 6]>;
type Sizes = SmallVec<[usize; 6]>;

/// A layout's dimensions without those of size 1, neighbours merged where one step leads through both.
pub(crate) fn collapse(layout: &Layout) -> DimList {
    merge(layout.shape().iter().copied().zip(layout.strides().iter().copied()))
}

/// [`collapse`] for dimensions in any order.
pub(crate) fn merge(dims: impl Iterator<Item = Dim>) -> DimList {
    merge_by(dims, |outer, inner, size| *outer == inner.wrapping_mul(size))
}

/// Dimensions without those of size 1, neighbours merged where the step of the inner one `leads`, so often, to the outer's.
pub(super) fn merge_by<S: Copy>(
    dims: impl Iterator<Item = (usize, S)>,
    leads: impl Fn(&S, &S, isize) -> bool,
) -> SmallVec<[(usize, S); 6]> {
    let mut merged: SmallVec<[(usize, S); 6]> = SmallVec::new();
    for (size, stride) in dims {
        match merged.last_mut() {
            _ if size == 1 => {}
            Some((outer, step)) if leads(step, &stride, size as isize) => {
                (*outer, *step) = (*outer * size, stride);
            }
            _ => merged.push((size, stride)),
        }
    }
    merged
}

/// Calls `visit(offset, stride, count)` for the runs that make up `range` of the elements in row-major order.
///
/// There is one call of `visit`, so that it is compiled into its place, for the instruction set there.
#[inline(always)]
pub(crate) fn walk(dims: &[Dim], range: Range<usize>, mut visit: impl FnMut(isize, isize, usize)) {
    let mut left = range.len();
    if left == 0 {
        return;
    }
    let (&(size, stride), outer) = dims.split_last().unwrap_or((&(1, 0), &[]));
    let (mut at, mut offset) = (range.start, 0isize);
    let mut index: Sizes = SmallVec::from_elem(0, outer.len());
    if !outer.is_empty() {
        let mut rest = range.start / size;
        at = range.start % size;
        for (i, &(size, stride)) in index.iter_mut().zip(outer).rev() {
            *i = rest % size;
            rest /= size;
            offset += *i as isize * stride;
        }
    }
    loop {
        let count = left.min(size.saturating_sub(at));
        visit(offset + at as isize * stride, stride, count);
        left = left.saturating_sub(count.max(1));
        if left == 0 {
            return;
        }
        at = 0;
        for (i, &(size, stride)) in index.iter_mut().zip(outer).rev() {
            *i += 1;
            offset += stride;
            if *i < size {
                break;
            }
            offset -= stride * size as isize;
            *i = 0;
        }
    }
}

/// An order of dimensions in which elementwise work runs along its output's memory.
#[derive(Debug, PartialEq)]
pub(crate) struct Plan {
    /// Dimensions of more than one element, outermost first; `None` where the layouts are fine as they are.
    pub order: Option<Sizes>,
    /// Tiles over the last two of them, where an input lies across the output.
    pub tiling: Option<Tiling>,
}

/// Plans work whose operands all have the output's shape.
pub(crate) fn plan<'l>(output: &Layout, inputs: impl Iterator<Item = &'l Layout>) -> Plan {
    let stride = |layout: &Layout, dim: usize| layout.strides().get(dim).map_or(0, |s| s.unsigned_abs());
    let size = |dim: usize| output.shape().get(dim).copied().unwrap_or(1);
    let mut order: Sizes = (0..output.rank()).filter(|&d| size(d) != 1).collect();
    if !output.is_contiguous() {
        sorted::sort_few_by_key(&mut order, |&d| std::cmp::Reverse(stride(output, d)));
    }
    let Some(&inner) = order.last() else { return Plan { order: None, tiling: None } };
    let across = inputs.filter(|input| stride(input, inner) > 1).find_map(|input| {
        order.iter().copied().find(|&d| d != inner && stride(input, d) == 1 && size(d) >= MIN_ROWS)
    });
    if let Some(rows) = across {
        order.retain(|d| *d != rows);
        order.insert(order.len() - 1, rows);
    }
    let tiling = across.map(|_| Tiling::new(order.iter().map(|&d| size(d)).collect()));
    let moved = !order.windows(2).all(|pair| matches!(pair, [a, b] if a < b));
    Plan { order: (moved || tiling.is_some()).then_some(order), tiling }
}

/// With fewer rows, strided reads stay within a few cache lines anyway.
const MIN_ROWS: usize = 8;
/// Rows and columns of a tile where there are as many: runs of a few cache lines in either direction.
const SIDE: usize = 64;

/// The most elements of a tile.
pub(crate) const TILE: usize = SIDE * SIDE;

/// Tiles of at most [`TILE`] elements over the last two dimensions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tiling {
    sizes: Sizes,
    rows: usize,
    columns: usize,
    tile: (usize, usize),
    grid: (usize, usize),
}

/// One tile: where it starts, and its size.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tile {
    start: Sizes,
    pub rows: usize,
    pub columns: usize,
}

impl Tiling {
    /// Tiles over dimensions of these sizes, two at least.
    fn new(mut sizes: Sizes) -> Tiling {
        let columns = sizes.pop().unwrap_or(1);
        let rows = sizes.pop().unwrap_or(1);
        let height = rows.min(TILE / columns.clamp(1, SIDE)).max(1);
        let width = columns.min(TILE / height).max(1);
        let grid = (rows.div_ceil(height), columns.div_ceil(width));
        Tiling { sizes, rows, columns, tile: (height, width), grid }
    }

    pub(super) fn count(&self) -> usize {
        self.sizes.iter().product::<usize>() * self.grid.0 * self.grid.1
    }

    /// Elements of a full tile.
    pub(crate) fn volume(&self) -> usize {
        self.tile.0 * self.tile.1
    }

    /// The tile of a number below [`Tiling::count`].
    pub(super) fn tile(&self, number: usize) -> Tile {
        let (across, rest) = (number % self.grid.1, number / self.grid.1);
        let (down, mut rest) = (rest % self.grid.0, rest / self.grid.0);
        let mut start: Sizes = SmallVec::from_elem(0, self.sizes.len());
        for (at, &size) in start.iter_mut().zip(&self.sizes).rev() {
            *at = rest % size;
            rest /= size;
        }
        let (row, column) = (down * self.tile.0, across * self.tile.1);
        start.extend([row, column]);
        Tile {
            start,
            rows: self.tile.0.min(self.rows - row),
            columns: self.tile.1.min(self.columns - column),
        }
    }
}

impl Tile {
    pub(crate) fn len(&self) -> usize {
        self.rows * self.columns
    }

    /// Where the tile starts, in elements from an operand's origin, and the steps down and across.
    pub(crate) fn place(&self, dims: &[Dim]) -> (isize, isize, isize) {
        let offset = self.start.iter().zip(dims).map(|(&at, &(_, step))| at as isize * step).sum();
        match dims {
            [.., (_, down), (_, across)] => (offset, *down, *across),
            _ => (offset, 0, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(shape: &[usize]) -> Layout {
        Layout::contiguous(shape).unwrap()
    }

    #[test]
    fn dimensions_that_follow_each_other_merge() {
        let l = layout(&[2, 3, 4]);
        assert_eq!(collapse(&l).as_slice(), [(24, 1)]);
        assert_eq!(collapse(&l.slice(2, 0, 2, 1).unwrap()).as_slice(), [(6, 4), (2, 1)]);
        assert_eq!(collapse(&l.transpose(0, 1).unwrap()).as_slice(), [(3, 4), (2, 12), (4, 1)]);
        assert!(collapse(&layout(&[1, 1])).is_empty());
    }

    #[test]
    fn work_runs_along_the_output() {
        let l = layout(&[20, 30]);
        let turned = l.transpose(0, 1).unwrap();
        let same = |l: &Layout| plan(l, [l].into_iter());
        assert_eq!(same(&l), Plan { order: None, tiling: None });
        assert_eq!(same(&turned).order.unwrap().as_slice(), [1, 0]);
        let across = plan(&layout(&[30, 20]), [&turned].into_iter()).tiling.unwrap();
        assert_eq!(across.tile, (30, 20));
        let few = layout(&[30, 3]).transpose(0, 1).unwrap();
        assert_eq!(plan(&layout(&[3, 30]), [&few].into_iter()).tiling, None);
    }

    #[test]
    fn tiles_cover_every_element_once() {
        for sizes in [[1, 8, 8], [3, 40, 100], [2, 9000, 9], [1, 9, 5000], [2, 130, 70]] {
            let tiling = Tiling::new(Sizes::from_slice(&sizes));
            let dims: Vec<Dim> =
                layout(&sizes).strides().iter().zip(sizes).map(|(&step, size)| (size, step)).collect();
            let mut seen = vec![0; sizes.iter().product()];
            for number in 0..tiling.count() {
                let tile = tiling.tile(number);
                assert!(tile.len() <= TILE);
                let (start, down, across) = tile.place(&dims);
                for at in 0..tile.len() {
                    let (r, c) = ((at / tile.columns) as isize, (at % tile.columns) as isize);
                    seen[(start + r * down + c * across) as usize] += 1;
                }
            }
            assert!(seen.iter().all(|&n| n == 1), "{sizes:?}");
        }
    }
}
