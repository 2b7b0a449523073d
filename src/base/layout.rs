//! Strided layouts: how a tensor's indices map to elements of its storage. Movement ops are layouts.

use smallvec::SmallVec;

use crate::base::dims::{Dims, Strides};

use super::error::{Result, ShapeCause};
use super::shape::{contiguous_strides, numel};

/// Sizes, strides and the offset of the first element, all in elements.
#[derive(PartialEq, Eq, Debug)]
pub struct Layout {
    shape: Dims,
    strides: Strides,
    offset: usize,
    numel: usize,
    contiguous: bool,
}

/// As derived, but sizes are copied at once: `SmallVec` clones them one by one.
impl Clone for Layout {
    fn clone(&self) -> Layout {
        Layout {
            shape: Dims::from_slice(&self.shape),
            strides: Strides::from_slice(&self.strides),
            offset: self.offset,
            numel: self.numel,
            contiguous: self.contiguous,
        }
    }
}

impl Layout {
    /// A row-major layout from element 0.
    pub fn contiguous(shape: &[usize]) -> Result<Layout> {
        Ok(Layout {
            numel: numel(shape)?,
            strides: contiguous_strides(shape),
            shape: Dims::from_slice(shape),
            offset: 0,
            contiguous: true,
        })
    }

    /// A layout from its parts; the caller keeps it inside its storage.
    pub fn new(shape: Dims, strides: Strides, offset: usize) -> Result<Layout> {
        let numel = numel(&shape)?;
        let contiguous = is_contiguous(&shape, &strides);
        Ok(Layout { shape, strides, offset, numel, contiguous })
    }

    /// The size of each dimension, in elements.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The step between neighbours along each dimension, in elements.
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// Where the first element lies in its storage, in elements.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// How many dimensions there are.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// How many elements there are.
    pub fn numel(&self) -> usize {
        self.numel
    }

    /// Whether the elements lie in row-major order without gaps.
    pub fn is_contiguous(&self) -> bool {
        self.contiguous
    }

    /// One past the last element the layout can touch, or 0 when it has none.
    pub fn end(&self) -> usize {
        if self.numel == 0 {
            return 0;
        }
        let reach: isize = self
            .shape
            .iter()
            .zip(&self.strides)
            .map(|(&d, &s)| if s > 0 { (d as isize - 1) * s } else { 0 })
            .sum();
        self.offset + reach as usize + 1
    }

    /// The layout with two dimensions exchanged.
    pub fn transpose(&self, a: usize, b: usize) -> Result<Layout> {
        let mut order: SmallVec<[usize; 6]> = (0..self.rank()).collect();
        if a < order.len() && b < order.len() {
            order.swap(a, b);
        }
        self.permute(&order)
    }

    /// Reorders dimensions; `order` is a permutation of them.
    pub fn permute(&self, order: &[usize]) -> Result<Layout> {
        let shape = order.iter().filter_map(|&i| self.shape.get(i).copied()).collect();
        let strides = order.iter().filter_map(|&i| self.strides.get(i).copied()).collect();
        Layout::new(shape, strides, self.offset)
    }

    /// Broadcasts to `shape` with zero strides, or an error as `Tensor.expand` gives.
    pub fn expand(&self, shape: &[usize]) -> Result<Layout> {
        let bad = |size: usize, old: usize, dim: usize| ShapeCause::Expand {
            size,
            existing: old,
            dim,
            target: shape.into(),
            sizes: self.shape.clone(),
        };
        let Some(extra) = shape.len().checked_sub(self.rank()) else {
            return Err(ShapeCause::ExpandRank { target: shape.into(), sizes: self.shape.clone() }.into());
        };
        let mut strides: Strides = SmallVec::from_elem(0, extra);
        for (i, (&want, (&have, &step))) in
            shape.iter().skip(extra).zip(self.shape.iter().zip(&self.strides)).enumerate()
        {
            if want == have {
                strides.push(step);
            } else if have == 1 {
                strides.push(0);
            } else {
                // The last dimension that does not fit, as PyTorch compares from there.
                let fits = |j: &usize| {
                    let (want, have) = (shape.get(extra + j), self.shape.get(*j));
                    want == have || have == Some(&1)
                };
                let last = (i..self.rank()).rev().find(|j| !fits(j)).unwrap_or(i);
                let at = |sizes: &[usize], j: usize| sizes.get(j).copied().unwrap_or(1);
                return Err(bad(at(shape, extra + last), at(&self.shape, last), extra + last).into());
            }
        }
        Layout::new(shape.into(), strides, self.offset)
    }

    /// `length` steps along `dim` from `start`, `step` apart.
    pub fn slice(&self, dim: usize, start: usize, length: usize, step: usize) -> Result<Layout> {
        let mut shape = self.shape.clone();
        let mut strides = self.strides.clone();
        let mut offset = self.offset;
        if let (Some(size), Some(stride)) = (shape.get_mut(dim), strides.get_mut(dim)) {
            *size = length;
            if length > 0 {
                offset = (offset as isize + start as isize * *stride) as usize;
            }
            *stride *= step as isize;
        }
        Layout::new(shape, strides, offset)
    }

    /// Drops `dim` at `index`.
    pub fn select(&self, dim: usize, index: usize) -> Result<Layout> {
        let cut = self.slice(dim, index, 1, 1)?;
        cut.squeeze(dim)
    }

    /// Removes `dim`, whose size must be 1 for the elements to stay the same.
    pub fn squeeze(&self, dim: usize) -> Result<Layout> {
        let keep = |i: &usize| *i != dim;
        let order: SmallVec<[usize; 6]> = (0..self.rank()).filter(keep).collect();
        self.permute(&order)
    }

    /// Inserts a dimension of size 1 before `dim`.
    pub fn unsqueeze(&self, dim: usize) -> Result<Layout> {
        let mut shape = self.shape.clone();
        let mut strides = self.strides.clone();
        let at = dim.min(shape.len());
        let step = match (shape.get(at), strides.get(at)) {
            (Some(&d), Some(&s)) => d as isize * s,
            _ => 1,
        };
        shape.insert(at, 1);
        strides.insert(at, step);
        Layout::new(shape, strides, self.offset)
    }

    /// The strides under which `shape` views the same elements in order, where there are any.
    ///
    /// Follows `at::detail::computeStride`: dimensions merge where they are contiguous to each other.
    pub fn view(&self, shape: &[usize]) -> Option<Layout> {
        let strides = view_strides(&self.shape, &self.strides, shape)?;
        Layout::new(shape.into(), strides, self.offset).ok()
    }

    /// Offsets of the elements in row-major order of the indices.
    pub fn offsets(&self) -> Offsets<'_> {
        Offsets {
            layout: self,
            index: SmallVec::from_elem(0, self.rank()),
            at: self.offset as isize,
            left: self.numel,
        }
    }
}

fn is_contiguous(shape: &[usize], strides: &[isize]) -> bool {
    if shape.contains(&0) {
        return true;
    }
    let mut step = 1isize;
    for (&size, &stride) in shape.iter().zip(strides).rev() {
        if size != 1 {
            if stride != step {
                return false;
            }
            step *= size as isize;
        }
    }
    true
}

fn view_strides(old: &[usize], strides: &[isize], new: &[usize]) -> Option<Strides> {
    if old.iter().product::<usize>() == 0 {
        return Some(contiguous_strides(new));
    }
    let mut out: Strides = SmallVec::from_elem(1, new.len());
    let mut target = out.iter_mut().zip(new).rev().peekable();
    let mut base = strides.last().copied().unwrap_or(1);
    let (mut chunk, mut viewed) = (1usize, 1usize);
    let dims: SmallVec<[(usize, isize); 6]> = old.iter().copied().zip(strides.iter().copied()).collect();
    for (i, &(size, step)) in dims.iter().enumerate().rev() {
        chunk *= size;
        let outer = i.checked_sub(1).and_then(|j| dims.get(j));
        let ends = match outer {
            None => true,
            Some(&(d, s)) => d != 1 && s != chunk as isize * base,
        };
        if !ends {
            continue;
        }
        while let Some((_, want)) = target.peek() {
            if viewed >= chunk && **want != 1 {
                break;
            }
            let want = **want;
            if let Some((slot, _)) = target.next() {
                *slot = viewed as isize * base;
            }
            viewed = viewed.checked_mul(want)?;
        }
        if viewed != chunk {
            return None;
        }
        if let Some(&(_, s)) = outer {
            base = s;
        }
        (chunk, viewed) = (1, 1);
        let _ = step;
    }
    if target.peek().is_some() && old.is_empty() {
        for (slot, _) in target {
            *slot = 1;
        }
        return Some(out);
    }
    target.peek().is_none().then_some(out)
}

/// Iterator over element offsets; see [`Layout::offsets`].
pub struct Offsets<'a> {
    layout: &'a Layout,
    index: Dims,
    at: isize,
    left: usize,
}

impl Iterator for Offsets<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let here = self.at as usize;
        let dims = self.layout.shape.iter().zip(&self.layout.strides);
        for (i, (&size, &stride)) in self.index.iter_mut().zip(dims).rev() {
            *i += 1;
            self.at += stride;
            if *i < size {
                break;
            }
            self.at -= stride * size as isize;
            *i = 0;
        }
        Some(here)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn offsets(l: &Layout) -> Vec<usize> {
        l.offsets().collect()
    }

    #[test]
    fn transposes_slices_and_expands() {
        let l = Layout::contiguous(&[2, 3]).unwrap();
        assert_eq!(offsets(&l.transpose(0, 1).unwrap()), [0, 3, 1, 4, 2, 5]);
        assert_eq!(offsets(&l.slice(1, 1, 2, 1).unwrap()), [1, 2, 4, 5]);
        assert_eq!(offsets(&l.select(0, 1).unwrap()), [3, 4, 5]);
        let row = Layout::contiguous(&[1, 2]).unwrap().expand(&[2, 2]).unwrap();
        assert_eq!(offsets(&row), [0, 1, 0, 1]);
        assert!(l.expand(&[4, 3]).is_err());
    }

    #[test]
    fn a_transposed_matrix_has_no_flat_view() {
        let t = Layout::contiguous(&[2, 3]).unwrap().transpose(0, 1).unwrap();
        assert!(t.view(&[6]).is_none());
        assert!(t.view(&[3, 2, 1]).is_some());
        assert!(Layout::contiguous(&[]).unwrap().view(&[1, 1]).is_some());
        assert!(Layout::contiguous(&[1]).unwrap().view(&[]).is_some());
    }

    proptest! {
        #[test]
        fn a_view_visits_the_same_elements(
            dims in prop::collection::vec(1usize..4, 0..4),
            swap in any::<bool>(),
            split in 1usize..4,
        ) {
            let mut l = Layout::contiguous(&dims).unwrap();
            if swap && dims.len() > 1 {
                l = l.transpose(0, dims.len() - 1).unwrap();
            }
            let n = l.numel();
            if n.is_multiple_of(split)
                && let Some(v) = l.view(&[split, n / split])
            {
                prop_assert_eq!(offsets(&v), offsets(&l));
            }
            if l.is_contiguous() {
                prop_assert!(l.view(&[n]).is_some());
            }
        }
    }
}
