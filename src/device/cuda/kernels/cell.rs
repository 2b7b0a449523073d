//! `LstmCell` and its gradient.

use crate::base::DType;
use crate::device::kernel::{Launch, View};

use super::args::Args;
use super::cases::floats;
use super::form::forms;
use super::operands::{THREADS, address, float, input, is_apart, is_far, key, output, per_element};
use super::plan::Plan;
use super::recipe::{ON, RecipeParts, row};

const CELL: RecipeParts = &["cell"];
const _: () = assert!(THREADS == 256, "as in `kernels/cell.cuh`");

forms! {
    /// Steps of an LSTM.
    CellForm(types) {
        Forward => row("lstm", 1, CELL, [("FORWARD", ON)]), floats(|d| [d]);
        Backward => row("lstm_grad", 1, CELL, [("BACKWARD", ON)]), floats(|d| [d]);
    }
}

/// Addresses of operands that are row-major, of one dtype and `[n, hidden]`, or `[n, 4 hidden]` where `four` says so.
fn addresses(
    views: &[Option<View>],
    four: &[usize],
    dtype: DType,
    sizes: (usize, usize),
) -> Option<Vec<u64>> {
    let plain = |(i, view): (usize, &Option<View>)| {
        let view = view.as_ref()?;
        let want = [sizes.0, sizes.1 * if four.contains(&i) { 4 } else { 1 }];
        let fits = view.dtype == dtype && view.layout.is_contiguous() && view.layout.shape() == want;
        fits.then(|| address(view))
    };
    views.iter().enumerate().map(plain).collect()
}

fn sizes(view: &View) -> Option<(usize, usize)> {
    match view.layout.shape() {
        &[n, hidden] => Some((n, hidden)),
        _ => None,
    }
}

pub(super) fn forward(launch: &Launch) -> Option<Plan> {
    let y = output(launch, 0)?;
    let size = sizes(&y)?;
    let views = [0, 1, 2].map(|i| output(launch, i)).into_iter().chain([0, 1, 2].map(|i| input(launch, i)));
    let all = addresses(&views.collect::<Vec<_>>(), &[2, 3, 4], y.dtype, size)?;
    let bias = match input(launch, 3) {
        Some(bias)
            if bias.dtype == y.dtype && bias.layout.is_contiguous() && bias.layout.numel() == 4 * size.1 =>
        {
            address(&bias)
        }
        Some(_) => return None,
        None => 0,
    };
    let gates = output(launch, 2)?;
    finish(launch, CellForm::Forward, &y, &gates, all.into_iter().chain([bias]), size)
}

pub(super) fn backward(launch: &Launch) -> Option<Plan> {
    let (gates, before) = (output(launch, 0)?, output(launch, 1)?);
    let size = sizes(&before)?;
    let views =
        [0, 1].map(|i| output(launch, i)).into_iter().chain([0, 1, 2, 3, 4, 5].map(|i| input(launch, i)));
    let all = addresses(&views.collect::<Vec<_>>(), &[0, 5], before.dtype, size)?;
    finish(launch, CellForm::Backward, &before, &gates, all.into_iter(), size)
}

fn finish(
    launch: &Launch,
    form: CellForm,
    state: &View,
    gates: &View,
    addresses: impl Iterator<Item = u64>,
    (n, hidden): (usize, usize),
) -> Option<Plan> {
    if !is_apart(launch, true) {
        return None;
    }
    let (wide, compute) = (is_far(&[gates.layout]), float(state.dtype)?);
    let mut args = Args::new(wide);
    for address in addresses {
        args.word(address);
    }
    args.index(n * hidden).index(hidden);
    per_element(key(form, compute, [state.dtype], wide), n * hidden, args)
}
