//! What planners ask of a launch's operands.

use crate::base::{DType, Layout};
use crate::device::kernel::{Arg, Launch, View};

use super::args::Args;
use super::compute::{Compute, SLOTS, Slot, Types};
use super::form::Form;
use super::key::Key;
use super::plan::{Plan, Step};

/// Threads of a block where each works on elements of its own.
pub(super) const THREADS: usize = 256;

/// Input `i`, which must be memory.
pub(super) fn input<'a>(launch: &Launch<'a>, i: usize) -> Option<View<'a>> {
    match launch.inputs.get(i) {
        Some(Arg::View(view)) => Some(*view),
        _ => None,
    }
}

pub(super) fn output<'a>(launch: &Launch<'a>, i: usize) -> Option<View<'a>> {
    launch.outputs.get(i).copied()
}

/// Where a view's first element lies.
pub(super) fn address(view: &View) -> u64 {
    view.buffer.address + (view.layout.offset() * view.dtype.size()) as u64
}

/// The compute type of an output that must be a float.
pub(super) fn float(dtype: DType) -> Option<Compute> {
    dtype.is_float().then(|| Compute::of(dtype))
}

pub(super) fn key<const N: usize>(
    form: impl Into<Form>,
    compute: Compute,
    dtypes: [DType; N],
    wide: bool,
) -> Key {
    let mut slots = [Slot::Empty; SLOTS];
    for (slot, dtype) in slots.iter_mut().zip(dtypes) {
        *slot = Slot::Of(dtype);
    }
    Key { form: form.into(), types: Types { compute, slots, wide } }
}

/// `count` in blocks of `each`, as many as a grid can have.
pub(super) fn blocks(count: usize, each: usize) -> Option<u32> {
    u32::try_from(count.div_ceil(each.max(1))).ok().filter(|&n| n <= i32::MAX as u32)
}

/// A kernel with a thread to each of `count` elements.
pub(crate) fn per_element(key: Key, count: usize, args: Args) -> Option<Plan> {
    if count == 0 {
        return Some(Plan::default());
    }
    Plan::of(Step {
        key,
        grid: [blocks(count, THREADS)?, 1, 1],
        block: [THREADS as u32, 1, 1],
        shared: 0,
        args,
    })
}

#[cfg(test)]
thread_local! {
    /// Everything counts as far, so that what is small runs with wide indices.
    pub(super) static ALL_FAR: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Numbers and distances need more than 32 bits.
pub(crate) fn is_far(layouts: &[&Layout]) -> bool {
    #[cfg(test)]
    if ALL_FAR.get() {
        return true;
    }
    const FAR: usize = i32::MAX as usize - (1 << 16);
    let reach = |layout: &Layout| {
        let far =
            |(&size, &stride): (&usize, &isize)| size.saturating_sub(1).saturating_mul(stride.unsigned_abs());
        layout.shape().iter().zip(layout.strides()).fold(0usize, |sum, d| sum.saturating_add(far(d)))
    };
    layouts.iter().any(|layout| layout.numel() > FAR || reach(layout) > FAR)
}

/// How the memory of two views meets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Meeting {
    Apart,
    /// Each element lies where the other's element of the same index does.
    Same,
    /// In some other way, or possibly so.
    Mixed,
}

pub(crate) fn meeting(a: &View, b: &View) -> Meeting {
    let (Some(x), Some(y)) = (extent(a), extent(b)) else { return Meeting::Apart };
    if x.0 >= y.1 || y.0 >= x.1 {
        return Meeting::Apart;
    }
    let alike = a.dtype == b.dtype && a.layout.shape() == b.layout.shape() && address(a) == address(b);
    if alike
        && (a.layout.strides() == b.layout.strides() || a.layout.is_contiguous() && b.layout.is_contiguous())
    {
        return Meeting::Same;
    }
    if a.dtype == b.dtype && interleaved(a, b) { Meeting::Apart } else { Meeting::Mixed }
}

/// No input shares memory with an output, but in the same places where `in_place` allows it.
pub(crate) fn is_apart(launch: &Launch, in_place: bool) -> bool {
    launch.outputs.iter().all(|output| {
        launch.inputs.iter().all(|input| match input {
            Arg::View(view) => match meeting(view, output) {
                Meeting::Apart => true,
                Meeting::Same => in_place,
                Meeting::Mixed => false,
            },
            Arg::Scalar(_) => true,
        })
    })
}

/// The first byte of a view and one past the last; none where it has none.
fn extent(view: &View) -> Option<(u64, u64)> {
    if view.layout.numel() == 0 {
        return None;
    }
    let (mut low, mut high) = (0i64, 1i64);
    for (&size, &stride) in view.layout.shape().iter().zip(view.layout.strides()) {
        let reach = (size as i64 - 1) * stride as i64;
        if reach < 0 {
            low += reach;
        } else {
            high += reach;
        }
    }
    let (at, size) = (address(view), view.dtype.size() as i64);
    Some((at.wrapping_add_signed(low * size), at.wrapping_add_signed(high * size)))
}

/// Two views of one dtype share no element although their memory overlaps: modulo one of their strides, they keep to
/// ranges apart, as neighbouring columns do.
fn interleaved(a: &View, b: &View) -> bool {
    let size = a.dtype.size() as u64;
    let strides = |v: &View| v.layout.strides().iter().map(|s| s.unsigned_abs()).max().unwrap_or(0);
    let period = strides(a).max(strides(b)) as u64;
    if period < 2 || !address(a).is_multiple_of(size) || !address(b).is_multiple_of(size) {
        return false;
    }
    // Where a view's elements lie in a period: from its first, so many in a row at most.
    let band = |v: &View| {
        let mut width = 1u64;
        for (&n, &stride) in v.layout.shape().iter().zip(v.layout.strides()) {
            if stride < 0 {
                return None;
            }
            if n > 1 && !(stride as u64).is_multiple_of(period) {
                width = width.saturating_add((n as u64 - 1).saturating_mul(stride as u64));
            }
        }
        Some((address(v) / size, width))
    };
    let (Some((a_at, a_width)), Some((b_at, b_width))) = (band(a), band(b)) else { return false };
    let apart = (b_at.wrapping_sub(a_at) as i64).rem_euclid(period as i64) as u64;
    apart >= a_width && period - apart >= b_width
}
