//! Turns the allocator's refusal into an error that says what would have worked.

use std::collections::BTreeMap;

use crate::base::shape::show;
use crate::base::{Cause, Error};

use super::context::{Context, Live};
use super::pool::{LiveTensor, OutOfMemory, remedy};

/// PyTorch's error for a full device, with what the state of the device says about its remedy: the largest
/// tensors by their variables' names, how far the memory is cut up, and what would have let this through.
pub fn explain(context: &Context, full: &OutOfMemory) -> Error {
    let remedy = remedy(full, &live_tensors(context));
    Cause::OutOfMemory { device: context.device, message: full.message(), hint: remedy.to_string() }.into()
}

/// The storages that are alive. Variables that share one, as views do, are named together.
fn live_tensors(context: &Context) -> Vec<LiveTensor> {
    let mut names: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for (address, name) in context.shared.names() {
        names.entry(address).or_default().push(name);
    }
    context.live().into_iter().map(|(address, live)| live_tensor(address, live, &names)).collect()
}

fn live_tensor(address: u64, live: Live, names: &BTreeMap<u64, Vec<String>>) -> LiveTensor {
    let end = address.saturating_add(live.bytes);
    let holders: Vec<&str> =
        names.range(address..end).flat_map(|(_, names)| names).map(String::as_str).collect();
    LiveTensor {
        name: (!holders.is_empty()).then(|| holders.join(", ")),
        address,
        bytes: live.requested,
        shape: show(&live.shape),
        dtype: live.dtype.to_string(),
        made_by: live.op.to_owned(),
        line: (live.source.line > 0).then_some(live.source.line),
    }
}
