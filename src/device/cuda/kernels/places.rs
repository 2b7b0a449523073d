//! `Places`.

use crate::base::{DType, Dims, Layout, Strides};
use crate::device::buffer::Buffer;
use crate::device::kernel::{Arg, Kernel, Launch, ScanOp, View};

use super::args::Args;
use super::cases::all;
use super::compute::Compute;
use super::form::forms;
use super::lines;
use super::operands::{THREADS, address, blocks, input, key, output};
use super::plan::{Gpu, Plan, Step};
use super::recipe::{ON, RecipeParts, row};

const PLACES: RecipeParts = &["places"];
/// Elements of a tile of `kernels/places.cuh`.
const TILE: usize = 4096;

forms! {
    /// Where a mask is true.
    PlacesForm(types) {
        Count => row("places_count", 2, PLACES, [("COUNT", ON)]), mask();
        Write => row("places", 2, PLACES, []), mask();
    }
}

fn mask() -> super::cases::Cases {
    all(|_| [DType::Int64, DType::Bool]).only(|d| d == DType::Int64).and_wide(|_| true)
}

fn tiles(launch: &Launch) -> usize {
    input(launch, 0).map_or(0, |mask| mask.layout.numel().div_ceil(TILE))
}

/// Bytes of the tiles' counts and of what summing them up needs.
pub(super) fn scratch_bytes(launch: &Launch, gpu: &Gpu) -> usize {
    let sums = with_counts(launch, 0, |scan| lines::scan_scratch(scan, gpu, 0));
    (tiles(launch) + 2) * 8 + sums.unwrap_or(0)
}

pub(super) fn plan(launch: &Launch, gpu: &Gpu, scratch: u64) -> Option<Plan> {
    let (y, mask) = (output(launch, 0)?, input(launch, 0)?);
    let plain = |view: &View, dtype| view.dtype == dtype && view.layout.is_contiguous();
    if !plain(&y, DType::Int64) || !plain(&mask, DType::Bool) {
        return None;
    }
    let (length, tiles) = (mask.layout.numel(), tiles(launch));
    if tiles == 0 {
        return Some(Plan::default());
    }
    let wide = length > i32::MAX as usize;
    let key = |form| key(form, Compute::I64, [y.dtype, mask.dtype], wide);
    let grid = [blocks(tiles, 1)?, 1, 1];
    let step = |form, args| Step { key: key(form), grid, block: [THREADS as u32, 1, 1], shared: 0, args };
    let mut args = Args::new(wide);
    args.word(scratch).word(address(&mask)).index(length);
    let mut plan = Plan::of(step(PlacesForm::Count, args))?;
    let room = scratch + ((tiles + 2) * 8) as u64;
    let sums = with_counts(launch, scratch, |scan| lines::scan(scan, gpu, room, ScanOp::Sum, 0))??;
    plan.steps.extend(sums.steps);
    let mut args = Args::new(wide);
    args.word(address(&y)).word(address(&mask)).word(scratch).index(length).long(y.layout.numel() as i64);
    plan.steps.push(step(PlacesForm::Write, args));
    Some(plan)
}

/// The running sums of the tiles' counts, in place, as a launch.
fn with_counts<R>(launch: &Launch, counts: u64, then: impl FnOnce(&Launch) -> R) -> Option<R> {
    let tiles = tiles(launch);
    let layout = Layout::new(Dims::from_slice(&[tiles]), Strides::from_slice(&[1]), 1).ok()?;
    let buffer = Buffer::new(counts, (tiles + 1) * 8, None, false);
    let view = View { buffer: &buffer, dtype: DType::Int64, layout: &layout };
    let kernel = Kernel::Scan { op: ScanOp::Sum, dim: 0 };
    Some(then(&Launch { kernel: &kernel, inputs: &[Arg::View(view)], outputs: &[view], ..*launch }))
}
