//! Products of matrices: packed panels, tiles in vector registers, pieces over all cores.
//!
//! The layout of the loops follows Goto and van de Geijn (2008). The sum over `k` is cut at the same places
//! whatever the number of threads, so results do not depend on it.

mod kernel;
mod narrow;
pub(super) mod operand;
pub(super) mod pairs;
mod product;
pub(super) mod tall;
pub(super) mod tiles;

use std::ops::Range;

use crate::base::Result;
use crate::device::cancel::Cancel;

use super::block::Room;
use super::parallel;

use operand::{SLACK, in_place};
use product::{LHS, RHS, chunks, pieces};
use tiles::{Real, Tile, Tiles};

pub(crate) use product::Product;

/// The longest stretch of `k` that is summed in registers.
const K_BLOCK: usize = 256;

/// Columns packed at a time, so that the packed rhs stays below 4 MB of float32.
const N_BLOCK: usize = 4096;

/// Row blocks of a piece: with their packed rows they fill part of the second cache.
const M_BLOCKS: usize = 12;

/// Products of fewer multiplications than this stay on one thread.
const SMALL: usize = 1 << 19;

impl<E: Real> Product<'_, E> {
    /// Computes the product, on all cores where it is large and `threads` is set.
    ///
    /// # Safety
    /// `out` must be writable at all of its places, which must be distinct and the caller's alone, and apart
    /// from the operands, whose sizes must be at least these.
    pub(super) unsafe fn run(&self, threads: bool, cancel: &Cancel) -> Result<()> {
        if self.m == 0 || self.n == 0 {
            return Ok(());
        }
        if self.k == 0 {
            if !self.add {
                // SAFETY: the caller's promise.
                unsafe { self.clear() };
            }
            return Ok(());
        }
        let threads = threads && self.work() > SMALL;
        // SAFETY: the caller's promise.
        unsafe {
            if let Some(done) = narrow::run(self, threads, cancel) {
                return done;
            }
            let turned = self.out_strides[1].unsigned_abs() > self.out_strides[0].unsigned_abs();
            let p = if turned { self.transposed() } else { self.plain() };
            GemmJob { tiles: p.lhs.tiles(), p, threads, cancel }.run()
        }
    }
}

/// A product whose columns are the side that vectors lie along.
struct GemmJob<'a, E: 'static> {
    p: Product<'a, E>,
    tiles: &'static Tiles<E>,
    threads: bool,
    cancel: &'a Cancel,
}

/// A block of `k` and of columns.
struct GemmBlock {
    k: Range<usize>,
    columns: Range<usize>,
    /// Whether an earlier block of `k` has been summed into the output.
    add: bool,
}

/// The panels of the rhs of a block: packed, or in place.
struct Panels<E> {
    packed: *mut E,
    /// Full panels are read where they lie.
    direct: Option<(*const E, isize)>,
}

// SAFETY: panels are packed in disjoint pieces, and only read afterwards.
unsafe impl<E> Sync for Panels<E> {}

impl<E: Real> GemmJob<'_, E> {
    unsafe fn run(&self) -> Result<()> {
        let steps = self.p.k.div_ceil(K_BLOCK);
        let length = self.p.k.div_ceil(steps);
        for columns in chunks(self.p.n, N_BLOCK) {
            for (step, k) in chunks(self.p.k, length).enumerate() {
                let block = GemmBlock { k, columns: columns.clone(), add: self.p.add || step > 0 };
                let room = self.panel_room(&block);
                // SAFETY: the caller's promise.
                RHS.with(|kept| {
                    kept.lend(room, |packed| unsafe { self.block(&block, packed.as_mut_ptr()) })
                })?;
            }
        }
        Ok(())
    }

    fn panels(&self, block: &GemmBlock) -> usize {
        block.columns.len().div_ceil(self.tiles.width())
    }

    fn panel_room(&self, block: &GemmBlock) -> usize {
        self.panels(block) * self.tiles.width() * block.k.len() + SLACK
    }

    unsafe fn block(&self, block: &GemmBlock, packed: *mut E) -> Result<()> {
        let panels = Panels { packed, direct: self.direct_rhs(block) };
        let count = self.panels(block);
        let first = if panels.direct.is_some() { block.columns.len() / self.tiles.width() } else { 0 };
        let per_piece = (PACK_PIECE / (self.tiles.width() * block.k.len())).max(1);
        pieces(self.threads, count - first, per_piece, self.cancel, |range| {
            for panel in range {
                // SAFETY: the panel lies inside the operand, its place in the packed memory is its own.
                unsafe { self.pack_panel(block, &panels, first + panel) };
            }
            Ok(())
        })?;
        let rows = RowBlocks::new(self.p.m, self.tiles.rows);
        let (tall, wide) = self.cut(rows.count, count);
        let across = count.div_ceil(wide);
        pieces(self.threads, rows.count.div_ceil(tall) * across, 1, self.cancel, |range| {
            for piece in range {
                let (i, j) = (piece / across, piece % across);
                let blocks = i * tall..((i + 1) * tall).min(rows.count);
                // SAFETY: pieces write disjoint tiles.
                unsafe { self.piece(block, &panels, &rows, blocks, j * wide..((j + 1) * wide).min(count))? };
            }
            Ok(())
        })
    }

    /// The first element of the rhs's block and the stride along `k`, where panels are read in place.
    fn direct_rhs(&self, block: &GemmBlock) -> Option<(*const E, isize)> {
        let (origin, k) = in_place(self.p.rhs)?;
        let first = block.columns.start as isize + block.k.start as isize * k;
        Some((origin.wrapping_offset(first), k))
    }

    unsafe fn pack_panel(&self, block: &GemmBlock, panels: &Panels<E>, panel: usize) {
        let width = self.tiles.width();
        let start = block.columns.start + panel * width;
        let end = (start + width).min(block.columns.end);
        let stride = self.vectors(end - start) * self.tiles.lanes;
        // SAFETY: the packed memory has room for all panels and the slack.
        unsafe {
            let to = panels.packed.add(panel * width * block.k.len());
            self.p.rhs.pack(start..end, block.k.clone(), to, stride);
        }
    }

    fn vectors(&self, columns: usize) -> usize {
        if columns > self.tiles.lanes { 2 } else { 1 }
    }

    /// Row blocks and panels of a piece: all panels for some rows, unless there are few rows.
    fn cut(&self, rows: usize, panels: usize) -> (usize, usize) {
        if !self.threads {
            return (M_BLOCKS, panels);
        }
        let threads = parallel::threads();
        let tall = M_BLOCKS.min(rows.div_ceil(2 * threads));
        let pieces = rows.div_ceil(tall);
        let across = if pieces >= threads { 1 } else { (2 * threads).div_ceil(pieces) };
        (tall, panels.div_ceil(across).max(1))
    }

    unsafe fn piece(
        &self,
        block: &GemmBlock,
        panels: &Panels<E>,
        rows: &RowBlocks,
        blocks: Range<usize>,
        columns: Range<usize>,
    ) -> Result<()> {
        let height = rows.start(blocks.end) - rows.start(blocks.start);
        let room = if self.packs_lhs(columns.len()) { height * block.k.len() + SLACK } else { 0 };
        let work = |packed: &mut [E]| {
            let packed = packed.as_mut_ptr();
            // SAFETY: rows of this piece lie inside the operand; the scratch has room for them.
            unsafe {
                if room > 0 {
                    self.pack_rows(block, rows, blocks.clone(), packed);
                }
                for panel in columns {
                    self.cancel.check()?;
                    for i in blocks.clone() {
                        let start = rows.start(i) - rows.start(blocks.start);
                        let packed = (room > 0).then(|| packed.add(start * block.k.len()).cast_const());
                        self.tile(block, panels, panel, rows.start(i)..rows.start(i + 1), packed);
                    }
                }
            }
            Ok(())
        };
        LHS.with(|kept| kept.lend(room, work))
    }

    /// Rows that lie far apart meet in the same sets of the caches, and those that need converting must be.
    fn packs_lhs(&self, panels: usize) -> bool {
        let Some((_, [outer, k])) = self.p.lhs.direct() else { return true };
        let far = |stride: isize| stride.unsigned_abs() * size_of::<E>() >= 2048;
        (far(outer) || far(k)) && panels >= 4
    }

    unsafe fn pack_rows(&self, block: &GemmBlock, rows: &RowBlocks, blocks: Range<usize>, to: *mut E) {
        let first = rows.start(blocks.start);
        for i in blocks {
            let range = rows.start(i)..rows.start(i + 1);
            // SAFETY: each row block has its place, and the slack of one is overwritten by the next.
            unsafe {
                let to = to.add((range.start - first) * block.k.len());
                let height = range.len();
                self.p.lhs.pack(range, block.k.clone(), to, height);
            }
        }
    }

    unsafe fn tile(
        &self,
        block: &GemmBlock,
        panels: &Panels<E>,
        panel: usize,
        rows: Range<usize>,
        packed: Option<*const E>,
    ) {
        let width = self.tiles.width();
        let start = block.columns.start + panel * width;
        let columns = width.min(block.columns.end - start);
        let vectors = self.vectors(columns);
        let stride = vectors * self.tiles.lanes;
        let Some(compute) = self.tiles.tile(rows.len(), vectors, packed.is_some()) else { return };
        let (rhs, rhs_stride) = match panels.direct {
            Some((first, k)) if columns == width => (first.wrapping_add(panel * width), k),
            _ => (panels.packed.wrapping_add(panel * width * block.k.len()).cast_const(), stride as isize),
        };
        let (lhs, lhs_strides) = match (packed, self.p.lhs.direct()) {
            (None, Some((origin, [outer, k]))) => {
                let first = rows.start as isize * outer + block.k.start as isize * k;
                (origin.wrapping_offset(first), [outer, k])
            }
            (packed, _) => (packed.unwrap_or(std::ptr::null()), [0, 0]),
        };
        let [down, across] = self.p.out_strides;
        let out = self.p.out.wrapping_offset(rows.start as isize * down + start as isize * across);
        let tile = Tile {
            k: block.k.len(),
            lhs,
            lhs_strides,
            rhs,
            rhs_stride,
            out,
            out_stride: down,
            alpha: self.p.alpha,
            add: block.add,
        };
        // SAFETY: operands and output have these rows and columns; a tile that is not whole or not of
        // neighbours goes through memory of its own.
        unsafe {
            if columns == stride && across == 1 {
                compute(&tile);
            } else {
                let mut aside = Room::<E, { 14 * 32 }>::new();
                compute(&Tile { out: aside.as_mut_ptr(), out_stride: stride as isize, add: false, ..tile });
                let done = aside.first(rows.len() * stride);
                for (i, row) in done.chunks_exact(stride).enumerate() {
                    for (j, &value) in row.iter().take(columns).enumerate() {
                        let at = out.offset(i as isize * down + j as isize * across);
                        *at = if block.add { *at + value } else { value };
                    }
                }
            }
        }
    }
}

/// Elements of the rhs that make a piece of packing.
const PACK_PIECE: usize = 1 << 14;

/// Rows cut into blocks of nearly equal height, since low tiles are slow.
pub(crate) struct RowBlocks {
    m: usize,
    pub count: usize,
}

impl RowBlocks {
    /// Blocks of at most `most` rows.
    pub(super) fn new(m: usize, most: usize) -> RowBlocks {
        RowBlocks { m, count: m.div_ceil(most) }
    }

    pub(super) fn start(&self, block: usize) -> usize {
        (block as u128 * self.m as u128 / self.count.max(1) as u128) as usize
    }

    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        (0..self.count).map(|i| self.start(i)..self.start(i + 1))
    }
}
