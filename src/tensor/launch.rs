//! Launching kernels on tensors.

use std::sync::{Arc, RwLockReadGuard};

use smallvec::SmallVec;

use crate::base::{DeviceCause, Layout, Result, Scalar};
use crate::device::capture::{Captured, Holder};
use crate::device::context::Foreseen;
use crate::device::examine::examining;
use crate::device::kernel::Launch;
use crate::device::storage::Place;
use crate::device::{Arg, Context, Kernel, View, hold_reserve};

use super::Tensor;
use super::stopped::check_stopped;

/// A kernel's input as an op gives it.
#[derive(Clone, Copy)]
pub enum In<'a> {
    Tensor(&'a Tensor),
    /// The tensor's storage under another layout, such as an expanded one.
    Laid(&'a Tensor, &'a Layout),
    Scalar(Scalar),
}

impl<'a> In<'a> {
    /// The tensor and the layout it is read under; none for a number.
    pub fn tensor(&self) -> Option<(&'a Tensor, &'a Layout)> {
        match *self {
            In::Tensor(t) => Some((t, t.layout())),
            In::Laid(t, layout) => Some((t, layout)),
            In::Scalar(_) => None,
        }
    }
}

/// Launches a kernel on the device of the first output. All tensors must be there.
pub fn launch(op: &'static str, kernel: &Kernel, inputs: &[In], outputs: &[&Tensor]) -> Result<()> {
    let Some(first) = outputs.first() else { return Ok(()) };
    check_stopped()?;
    hold_reserve()?;
    if examining() {
        outputs.iter().try_for_each(|t| t.storage().check_own())?;
    }
    outputs.iter().try_for_each(|t| t.storage().own())?;
    let mut places: SmallVec<[RwLockReadGuard<'_, Place>; 6]> = SmallVec::new();
    let reads = inputs.iter().filter_map(In::tensor).map(|(t, _)| t);
    for tensor in reads.chain(outputs.iter().copied()) {
        if tensor.device() != first.device() {
            return Err(DeviceCause::TwoDevices { first: first.device(), second: tensor.device() }.into());
        }
        places.push(tensor.storage().place());
    }
    let mut place = places.iter();
    let mut args: SmallVec<[Arg; 4]> = SmallVec::new();
    for input in inputs {
        args.push(match (input.tensor(), input) {
            (Some((t, layout)), _) => match place.next() {
                Some(p) => Arg::View(View { buffer: p.buffer(), dtype: t.dtype(), layout }),
                None => continue,
            },
            (None, In::Scalar(s)) => Arg::Scalar(*s),
            (None, _) => continue,
        });
    }
    let mut views: SmallVec<[View; 3]> = SmallVec::new();
    for (t, p) in outputs.iter().zip(place) {
        views.push(View { buffer: p.buffer(), dtype: t.dtype(), layout: t.layout() });
    }
    let Some(last) = places.last() else { return Ok(()) };
    if last.context.is_capturing() {
        last.context.watch_capture(op, &args, &views);
        capture(&last.context, op, kernel, inputs, outputs);
        return Ok(());
    }
    last.context.launch(op, kernel, &args, &views)
}

/// Computes a part of an exchange between devices, whose time is told of as a whole. Inputs lie where the output is, or
/// on a simulated device.
pub(crate) fn compute(
    kernel: &Kernel,
    inputs: &[&Tensor],
    number: Option<Scalar>,
    output: &Tensor,
) -> Result<()> {
    output.storage().own()?;
    let places: SmallVec<[RwLockReadGuard<'_, Place>; 2]> =
        inputs.iter().map(|t| t.storage().place()).collect();
    let views = inputs.iter().zip(&places);
    let views =
        views.map(|(t, p)| Arg::View(View { buffer: p.buffer(), dtype: t.dtype(), layout: t.layout() }));
    let args: SmallVec<[Arg; 3]> = views.chain(number.map(Arg::Scalar)).collect();
    let context = output.context();
    let place = output.storage().place();
    let view = View { buffer: place.buffer(), dtype: output.dtype(), layout: output.layout() };
    let launch = Launch {
        op: "exchange",
        kernel,
        inputs: &args,
        outputs: &[view],
        stream: context.stream(),
        cancel: &context.shared.cancel,
        timed: false,
    };
    if output.numel() > 0 {
        context.backend.compute(&launch)?;
    }
    output.bump_version();
    Ok(())
}

/// Watches what an exchange does to tensors of a device, on a stream of it; gives its end.
pub(crate) fn watch_exchange(
    op: &'static str,
    (context, stream): (&Context, u32),
    read: &[&Tensor],
    written: &[&Tensor],
) -> Foreseen {
    let held: SmallVec<[RwLockReadGuard<'_, Place>; 6]> =
        written.iter().chain(read).map(|t| t.storage().place()).collect();
    let views = written.iter().chain(read).zip(&held);
    let mut views: SmallVec<[View; 6]> =
        views.map(|(t, p)| View { buffer: p.buffer(), dtype: t.dtype(), layout: t.layout() }).collect();
    let reads: SmallVec<[Arg; 6]> = views.drain(written.len()..).map(Arg::View).collect();
    context.watch_exchange(op, stream, &reads, &views)
}

/// Writes the launch down for a graph.
#[cold]
fn capture(context: &Context, op: &'static str, kernel: &Kernel, inputs: &[In], outputs: &[&Tensor]) {
    let holder = |t: &Tensor| -> Arc<dyn Holder> { Arc::clone(t.storage()) as _ };
    let inputs: Vec<Captured> = inputs
        .iter()
        .map(|input| match *input {
            In::Tensor(t) => Captured::View(holder(t), t.layout()),
            In::Laid(t, layout) => Captured::View(holder(t), layout),
            In::Scalar(s) => Captured::Scalar(s),
        })
        .collect();
    let outputs: Vec<_> = outputs.iter().map(|t| (holder(t), t.layout())).collect();
    context.capture_launch(op, kernel, &inputs, &outputs);
}

impl<'a> From<&'a Tensor> for In<'a> {
    fn from(t: &'a Tensor) -> In<'a> {
        In::Tensor(t)
    }
}
