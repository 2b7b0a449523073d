//! What of a launch's shape its time depends on, besides how much it computes and moves.
//!
//! Figures here are of how the libraries cut their work, the same on every device: where nothing else is said, as
//! PyTorch's kernels and cuDNN's do on the devices that profiles are of.

/// Bytes that a multiprocessor takes from the cache at a time.
const SECTOR: f64 = 32.0;
/// Bytes that the cache takes from memory for an access on its own: what `cudaLimitMaxL2FetchGranularity` starts at.
const FETCH: f64 = 64.0;
/// Threads of a block of PyTorch's reductions, and values from which on each has so many that blocks share an output
/// (`Reduce.cuh`).
pub(super) const REDUCING_THREADS: u64 = 512;
const REDUCED_EACH: u64 = 16;
/// From so many values each on, blocks share an output even where there are outputs enough for all.
const REDUCED_AT_MOST: u64 = 256;
/// Rows and columns of the result that a multiprocessor computes at a time, and the depth it steps by: one of CUTLASS's
/// tiles for tensor cores and without (`default_gemm_configuration.h`).
const TILE: [u64; 3] = [128, 64, 32];
/// The depth below which splitting it among multiprocessors does not pay: four steps.
const SHALLOW: u64 = 4 * TILE[2];
/// Multiplications that Winograd's F(2x2, 3x3) saves: 36 for four results of a 3 x 3 filter become 16 (Lavin and Gray,
/// 2015).
pub(super) const WINOGRAD: f64 = 2.25;

/// The shape of a launch, where its time depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WorkForm {
    /// Amounts alone tell the time.
    #[default]
    Plain,
    Reduced(Reduced),
    Scattered(Scattered),
    Product(Product),
}

/// A reduction, by how it is shared out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reduced {
    /// Blocks of threads, where each output has one.
    pub blocks: u64,
    /// Values that a thread of them reduces.
    pub each: u64,
}

/// Accesses in no order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scattered {
    /// How many pieces are read or written by themselves.
    pub pieces: u64,
    /// Bytes of each.
    pub size: u64,
    /// Bytes within which they lie.
    pub span: u64,
}

/// A convolution as a product of matrices, `[rows, depth] @ [depth, columns]` for each group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Product {
    pub rows: u64,
    pub columns: u64,
    pub depth: u64,
    pub groups: u64,
    /// Each channel by itself: PyTorch's own kernel, no product.
    pub depthwise: bool,
    /// Bytes of both operands and the result as Winograd's algorithm transforms them, or 0 where it does not apply.
    pub transformed: u64,
}

impl Reduced {
    /// Whether several blocks share an output, where `resident` blocks fit onto the device.
    pub(super) fn is_split(&self, resident: u64) -> bool {
        self.each >= REDUCED_AT_MOST || (self.each >= REDUCED_EACH && self.blocks < resident)
    }
}

impl Scattered {
    /// Bytes that pass between cache and multiprocessors, of a launch that moves `bytes`.
    pub(super) fn through_cache(&self, bytes: u64) -> f64 {
        self.streamed(bytes) + self.pieces as f64 * whole(self.size, SECTOR)
    }

    /// Bytes that pass between memory and a cache of `cache` bytes: pieces lie in it by chance. What streams by has the
    /// other half of it.
    pub(super) fn through_memory(&self, bytes: u64, cache: u64) -> f64 {
        let kept = cache as f64 / 2.0 / self.span.max(1) as f64;
        let missed = if kept < 1.0 { 1.0 - kept } else { 0.0 };
        self.streamed(bytes) + self.pieces as f64 * missed * whole(self.size, FETCH)
    }

    /// Whether all that is touched fits into the cache.
    pub(super) fn fits(&self, bytes: u64, cache: u64) -> bool {
        let touched = self.span.min(self.pieces.saturating_mul(self.size));
        self.streamed(bytes) + touched as f64 <= cache as f64
    }

    /// Bytes that are moved in order: indices, and what is written or read beside them.
    fn streamed(&self, bytes: u64) -> f64 {
        bytes.saturating_sub(self.pieces.saturating_mul(self.size)) as f64
    }
}

impl Product {
    /// Operations in the time of which `multiprocessors` compute it: tiles are whole, and so is the last wave of them.
    /// Where tiles are few, several multiprocessors share the depth of one.
    pub(super) fn operations(&self, multiprocessors: u32) -> f64 {
        let all = u64::from(multiprocessors).max(1);
        let [rows, columns, step] = TILE;
        let tiles = self.rows.div_ceil(rows).saturating_mul(self.columns.div_ceil(columns));
        let tiles = tiles.saturating_mul(self.groups).max(1);
        let depth = self.depth.div_ceil(step).saturating_mul(step);
        let slices = (all / tiles).min(depth.div_ceil(SHALLOW)).max(1);
        let waves = tiles.div_ceil(all) as f64;
        waves * all as f64 * (2 * rows * columns) as f64 * depth.div_ceil(slices) as f64
    }
}

/// `size` in whole units.
fn whole(size: u64, unit: f64) -> f64 {
    (size as f64 / unit).ceil() * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product(rows: u64, columns: u64, depth: u64) -> Product {
        Product { rows, columns, depth, groups: 1, depthwise: false, transformed: 0 }
    }

    #[test]
    fn tiles_and_waves_are_whole() {
        let tile = 2.0 * 128.0 * 64.0 * 32.0;
        assert_eq!(product(128 * 132, 64, 32).operations(132), 132.0 * tile);
        assert_eq!(product(128 * 132 + 1, 64, 32).operations(132), 264.0 * tile, "one more is a wave more");
        assert_eq!(product(128 * 132, 1, 1).operations(132), 132.0 * tile, "a column takes a tile's width");
        let grouped = Product { groups: 132, ..product(1, 1, 1) };
        assert_eq!(grouped.operations(132), 132.0 * tile);
    }

    #[test]
    fn few_tiles_share_their_depth() {
        let deep = product(64, 576, 128 * 1024).operations(132);
        assert_eq!(deep, 132.0 * 2.0 * 128.0 * 64.0 * (128.0 * 1024.0 / 14.0_f64).ceil());
        let shallow = product(64, 64, 128).operations(132);
        assert_eq!(shallow, 132.0 * 2.0 * 128.0 * 64.0 * 128.0, "128 are not worth splitting");
        assert_eq!(product(0, 0, 0).operations(132), 0.0);
        assert!(product(u64::MAX, u64::MAX, u64::MAX).operations(u32::MAX).is_finite());
    }

    #[test]
    fn single_elements_take_whole_sectors() {
        let at = |span| Scattered { pieces: 1000, size: 4, span };
        let bytes = 16 * 1000;
        assert_eq!(at(1 << 10).through_cache(bytes), 1000.0 * (12.0 + 32.0));
        assert_eq!(at(1 << 10).through_memory(bytes, 1 << 20), 1000.0 * 12.0, "the table stays in the cache");
        assert_eq!(at(1 << 20).through_memory(bytes, 1 << 20), 1000.0 * (12.0 + 32.0), "half of it does");
        assert!(at(4_000).fits(bytes, 16_000) && !at(4_000).fits(bytes, 15_999));
        let long = Scattered { pieces: 10, size: 100, span: 1 << 30 };
        assert_eq!(long.through_cache(1000), 1280.0);
    }

    #[test]
    fn long_sums_are_split_where_blocks_are_few() {
        let sum = |blocks, each| Reduced { blocks, each }.is_split(528);
        assert!(!sum(1, 15) && sum(1, 16) && sum(527, 16));
        assert!(!sum(528, 255) && sum(528, 256));
    }
}
