//! Which bytes an access touches.

use crate::base::Layout;
use crate::device::kernel::View;

/// Elements of a view with gaps that are looked at one by one. What lies further is taken as untouched: a race may go
/// unseen, and none is made up.
const LOOKED_AT: usize = 1 << 14;

/// The bytes that an access touches, by their addresses.
#[derive(Clone, Debug)]
pub(super) struct Region {
    start: u64,
    end: u64,
    gaps: Option<Box<Gaps>>,
}

/// How the elements lie, where they do not fill the bytes from the first to the last.
#[derive(Clone, PartialEq, Debug)]
struct Gaps {
    base: u64,
    size: u64,
    layout: Layout,
}

impl Region {
    /// All of `bytes` bytes from `start` on.
    pub(super) fn whole(start: u64, bytes: u64) -> Region {
        Region { start, end: start.saturating_add(bytes), gaps: None }
    }

    /// The elements of a view.
    #[inline]
    pub(super) fn of(view: &View) -> Region {
        let (base, size) = (view.buffer.address, view.dtype.size() as u64);
        if view.layout.is_contiguous() {
            let start = base + view.layout.offset() as u64 * size;
            return Region::whole(start, view.layout.numel() as u64 * size);
        }
        Region::strided(base, size, view.layout)
    }

    fn strided(base: u64, size: u64, layout: &Layout) -> Region {
        let (mut below, mut above, mut distinct) = (0u64, 0u64, 1u64);
        for (&length, &stride) in
            layout.shape().iter().zip(layout.strides()).filter(|(d, s)| **d > 1 && **s != 0)
        {
            let reach = (length as u64 - 1) * stride.unsigned_abs() as u64;
            *(if stride < 0 { &mut below } else { &mut above }) += reach;
            distinct *= length as u64;
        }
        let first = (layout.offset() as u64).saturating_sub(below);
        let count = below + above + 1;
        let filled = distinct >= count;
        let gaps = (!filled).then(|| Box::new(Gaps { base, size, layout: layout.clone() }));
        Region { start: base + first * size, end: base + (first + count) * size, gaps }
    }

    /// Whether a byte is in both.
    pub(super) fn overlaps(&self, other: &Region) -> bool {
        if self.start >= other.end || other.start >= self.end {
            return false;
        }
        match (&self.gaps, &other.gaps) {
            (None, None) => true,
            (a, b) if a == b => true,
            _ => meet(&self.pieces(), &other.pieces()),
        }
    }

    /// Whether all of the other's bytes are in this.
    #[inline]
    pub(super) fn covers(&self, other: &Region) -> bool {
        let within = self.start <= other.start && other.end <= self.end;
        within && (self.gaps.is_none() || self.gaps == other.gaps)
    }

    /// Stretches without gaps, ordered.
    fn pieces(&self) -> Vec<(u64, u64)> {
        let Some(gaps) = &self.gaps else { return vec![(self.start, self.end)] };
        let elements = gaps.layout.offsets().take(LOOKED_AT);
        let mut all: Vec<(u64, u64)> = elements
            .map(|at| gaps.base + at as u64 * gaps.size)
            .map(|start| (start, start + gaps.size))
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// Whether some stretch of one list touches one of the other.
fn meet(a: &[(u64, u64)], b: &[(u64, u64)]) -> bool {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    while let (Some((start, end)), Some((from, to))) = (a.peek(), b.peek()) {
        if start < to && from < end {
            return true;
        }
        if end <= from {
            a.next();
        } else {
            b.next();
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(shape: &[usize], strides: &[isize], offset: usize) -> Region {
        Region::strided(1000, 4, &Layout::new(shape.into(), strides.into(), offset).unwrap())
    }

    #[test]
    fn only_bytes_that_both_touch_count() {
        let rows = |from: usize, count: usize| region(&[count, 8], &[8, 1], from * 8);
        assert!(rows(0, 4).overlaps(&rows(3, 1)) && !rows(0, 4).overlaps(&rows(4, 4)));
        let columns = |from: usize, count: usize| region(&[8, count], &[8, 1], from);
        assert!(!columns(0, 4).overlaps(&columns(4, 4)), "side by side in each row");
        assert!(columns(0, 5).overlaps(&columns(4, 4)));
        assert!(columns(0, 4).overlaps(&rows(3, 1)) && columns(2, 1).overlaps(&columns(2, 1)));
        let backwards = region(&[8], &[-1], 7);
        assert!(backwards.overlaps(&rows(0, 1)) && !backwards.overlaps(&rows(1, 1)));
        assert!(region(&[8, 3], &[1, 0], 0).overlaps(&region(&[1], &[1], 7)), "stretched");
    }

    #[test]
    fn what_covers_has_every_byte() {
        let (all, columns) = (region(&[8, 8], &[8, 1], 0), region(&[8, 4], &[8, 1], 0));
        assert!(all.covers(&columns) && !columns.covers(&all) && columns.covers(&columns));
        assert!(!columns.covers(&region(&[2], &[1], 0)), "not known, and not claimed");
        assert!(region(&[8, 8], &[1, 8], 0).covers(&all), "transposed");
    }
}
