//! What attention is of, and how that lies in memory.

use crate::base::DType;
use crate::device::cuda::kernels::operands::address;
use crate::device::cuda::kernels::walk::{Order, Walk};
use crate::device::kernel::View;

/// What all launches of an attention share.
pub(super) struct AttentionShape<'a> {
    pub queries: usize,
    pub keys: usize,
    pub width: usize,
    pub batch: usize,
    /// Of queries, keys, values and the output or its gradient.
    pub views: [View<'a>; 4],
    pub walk: Walk<4>,
}

impl<'a> AttentionShape<'a> {
    pub(super) fn new(views: [View<'a>; 4]) -> Option<AttentionShape<'a>> {
        let [q, k, v, y] = &views;
        let sizes = |view: &View<'a>| match view.layout.shape() {
            [others @ .., rows, width] => Some((others.to_vec(), *rows, *width)),
            _ => None,
        };
        let ((others, queries, width), (b, keys, e)) = (sizes(q)?, sizes(k)?);
        if (&b, e) != (&others, width)
            || sizes(v)? != (b, keys, width)
            || sizes(y)? != (others.clone(), queries, width)
            || width > 128
            || !views.iter().all(|view| view.dtype == q.dtype && in_chunks(view))
        {
            return None;
        }
        let steps = |d: usize| {
            std::array::from_fn(|i| {
                views.get(i).map_or(0, |v| v.layout.strides().get(d).copied().unwrap_or(0))
            })
        };
        let walk = Walk::new(others.iter().enumerate().map(|(d, &n)| (n, steps(d))), Order::Rows)?;
        let fits = [queries, keys].iter().all(|&n| n > 0 && n < i32::MAX as usize / 2);
        (fits && is_half(q.dtype)).then_some(AttentionShape {
            queries,
            keys,
            width,
            batch: others.iter().product(),
            views,
            walk,
        })
    }

    pub(super) fn large(&self) -> bool {
        self.width > 64
    }
}

pub(super) fn row_step(view: &View) -> isize {
    view.layout.strides().iter().rev().nth(1).copied().unwrap_or(0)
}

/// Rows are in memory in a row, 16 bytes aligned each.
fn in_chunks(view: &View) -> bool {
    let shape = view.layout.shape();
    let (last, others) = match view.layout.strides() {
        [others @ .., last] => (*last, others),
        _ => return false,
    };
    let whole = others.iter().zip(shape).all(|(step, &n)| n == 1 || step % 8 == 0);
    last == 1 && whole && shape.last().is_some_and(|n| n % 8 == 0) && address(view).is_multiple_of(16)
}

pub(super) fn is_half(dtype: DType) -> bool {
    matches!(dtype, DType::Float16 | DType::BFloat16)
}
