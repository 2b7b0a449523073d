//! Turns the allocator's refusal into an error that says what would have worked.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::dims::show;
use crate::base::error::kind::{Retell, Teller};
use crate::base::event::{Doer, Source};
use crate::base::{Device, DeviceCause, Error};
use crate::device::live::Live;

use super::pool::{LiveTensor, OutOfMemory, remedy};

/// PyTorch's error for a full device, with what the state of the device says about its remedy: the largest
/// tensors by their variables' names, how far the memory is cut up, and what would have let this through.
///
/// `live` are the tensors by address, `names` the variables with addresses of their elements; `source` is where the
/// request comes from.
pub(super) fn explain(
    device: Device,
    full: &OutOfMemory,
    live: Vec<(u64, Live)>,
    names: Vec<(u64, String)>,
    source: Source,
) -> Error {
    let state = Refused { full: full.clone(), live, cell: source.cell };
    let hint = state.hint(names);
    let teller = Teller(Arc::new(state));
    DeviceCause::OutOfMemory { device, message: full.message(), hint, teller }.into()
}

/// What the device held when it refused.
struct Refused {
    full: OutOfMemory,
    live: Vec<(u64, Live)>,
    /// The cell that asked.
    cell: u32,
}

impl Retell for Refused {
    /// Variables that share a storage, as views do, are named together.
    fn hint(&self, names: Vec<(u64, String)>) -> String {
        let mut by_address: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for (address, name) in names {
            by_address.entry(address).or_default().push(name);
        }
        let tensor = |(address, live): &(u64, Live)| live_tensor(*address, live, &by_address, self.cell);
        let live: Vec<LiveTensor> = self.live.iter().map(tensor).collect();
        remedy(&self.full, &live).to_string()
    }
}

fn live_tensor(address: u64, live: &Live, names: &BTreeMap<u64, Vec<String>>, asking: u32) -> LiveTensor {
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
        cell: if live.source.cell == asking { None } else { cell(live.source) },
        line: (live.source.line > 0 && !live.source.is_hidden()).then_some(live.source.line),
    }
}

/// A cell by its name; `None` where it is unknown.
fn cell(source: Source) -> Option<String> {
    match source.doer() {
        Doer::Learner => (source.cell > 0).then(|| format!("In [{}]", source.cell)),
        Doer::SetUp => Some("the set-up".into()),
        Doer::Check(_) | Doer::Answer(_) => Some("the lesson".into()),
    }
}
