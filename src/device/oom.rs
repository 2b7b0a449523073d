//! Turns the allocator's refusal into an error that says what would have worked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::base::address::AddressMap;
use crate::base::dims::show;
use crate::base::error::kind::{Retell, Teller, Variables};
use crate::base::event::{Doer, Source};
use crate::base::{Device, DeviceCause, Error, sorted};
use crate::device::live::Live;

use super::pool::{Action, CALLERS, Deletable, LiveTensor, OutOfMemory, Remedy, remedy_by};

/// PyTorch's error for a full device, with what the state of the device says about its remedy: the largest
/// tensors by their variables' names, how far the memory is cut up, and what would have let this through.
///
/// `live` are the tensors by address, now and as long as they live.
pub(super) fn explain(device: Device, full: &OutOfMemory, live: &Arc<LiveTable>, request: Request) -> Error {
    let mut then: Vec<(u64, Live)> = table(live).iter().map(|(a, l)| (*a, l.clone())).collect();
    sorted::sort_by_key(&mut then, |(address, _)| *address);
    let now = Arc::clone(live);
    let state = Refused { full: full.clone(), live: then, now, request, known: Mutex::default() };
    let hint = state.hint(&Nothing);
    let teller = Teller::new(Arc::new(state));
    DeviceCause::OutOfMemory { device, message: full.message(), hint, teller }.into()
}

/// What tensors hold on a device, by address.
pub(super) type LiveTable = Mutex<AddressMap<u64, Live>>;

fn table(live: &LiveTable) -> MutexGuard<'_, AddressMap<u64, Live>> {
    live.lock().unwrap_or_else(|e| e.into_inner())
}

/// What was refused.
#[derive(Clone, Copy)]
pub(super) struct Request {
    /// The line that asked.
    pub source: Source,
    /// What for, where no batch changes its size.
    pub of_no_batch: Option<&'static str>,
    /// Whether the line took no memory before.
    pub is_first: bool,
}

/// What the device held when it refused.
struct Refused {
    full: OutOfMemory,
    live: Vec<(u64, Live)>,
    now: Arc<LiveTable>,
    request: Request,
    known: Mutex<Known>,
}

/// What was learned on the error's way out.
#[derive(Default)]
struct Known {
    /// By addresses, in the order in which they were learned.
    names: BTreeMap<u64, Vec<String>>,
    graphs: BTreeMap<u64, String>,
    needed: BTreeSet<u64>,
    /// What the work held.
    held: BTreeSet<u64>,
    /// There are variables that the error has not come to yet.
    within_a_call: bool,
    /// Names whose deletion is enough, with the memory that it frees: those of the innermost scope that has them.
    cure: Option<(Vec<String>, Vec<u64>)>,
}

impl Retell for Refused {
    fn hint(&self, variables: &dyn Variables) -> String {
        let mut known = self.known.lock().unwrap_or_else(|e| e.into_inner());
        known.learn(variables);
        let live: Vec<LiveTensor> =
            self.live.iter().map(|(address, live)| self.told(*address, live, &known)).collect();
        let remedy = match &known.cure {
            Some((names, freed)) => {
                remedy_by(&self.full, &live, &Cure(names, freed), self.request.of_no_batch)
            }
            None => {
                let without = Without { variables, held: &known.held };
                remedy_by(&self.full, &live, &without, self.request.of_no_batch)
            }
        };
        if let (None, Some(Action::Delete { names, tensors })) = (&known.cure, by_name(&remedy)) {
            known.cure = Some((names.clone(), tensors.iter().map(|tensor| tensor.address).collect()));
        }
        match by_name(&remedy) {
            Some(_) if !self.request.is_first => format!("{remedy}\n{TAKEN_BEFORE}"),
            _ => remedy.to_string(),
        }
    }

    fn note_held(&self, addresses: &[u64]) {
        self.known.lock().unwrap_or_else(|e| e.into_inner()).held.extend(addresses);
    }
}

fn by_name(remedy: &Remedy) -> Option<&Action> {
    remedy.actions.iter().find(|action| matches!(action, Action::Delete { names, .. } if !names.is_empty()))
}

impl Known {
    fn learn(&mut self, variables: &dyn Variables) {
        for (address, name) in variables.names() {
            let names = self.names.entry(address).or_default();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        for (address, graph) in variables.graphs() {
            self.graphs.entry(address).or_insert(graph);
        }
        self.needed.extend(variables.needed());
        self.within_a_call = variables.are_within_a_call();
    }
}

impl Refused {
    /// Variables that share a storage, as views do, are named together.
    fn told(&self, address: u64, live: &Live, known: &Known) -> LiveTensor {
        let within = address..address.saturating_add(live.bytes);
        let names: Vec<&str> =
            known.names.range(within.clone()).flat_map(|(_, names)| names).map(String::as_str).collect();
        // What the line made and nothing holds any more once it has failed.
        let is_of_this_line =
            || live.source.is_at(&self.request.source) && !table(&self.now).contains_key(&address);
        let graph = known.graphs.range(within.clone()).next();
        let held_by = match graph {
            Some((_, graph)) => Some(format!("{graph} keeps for the backward pass: {NO_GRAPH}")),
            None if names.is_empty() && is_of_this_line() => {
                Some(format!("the failing line made and still needs: {LESS_AT_ONCE}"))
            }
            None if names.is_empty() && known.within_a_call => Some(CALLERS.to_owned()),
            None => None,
        };
        LiveTensor {
            name: (!names.is_empty()).then(|| names.join(", ")),
            address,
            bytes: live.requested,
            shape: show(&live.shape),
            dtype: live.dtype.to_string(),
            made_by: live.op.to_owned(),
            cell: if live.source.cell == self.request.source.cell { None } else { cell(live.source) },
            line: (live.source.line > 0 && !live.source.is_hidden()).then_some(live.source.line),
            held_by,
            // What has a size of its own is nothing that the line could do without.
            needed: live.of_no_batch.is_some() || known.needed.range(within).next().is_some(),
        }
    }
}

/// Of memory that is freed before a line which asks more than once.
const TAKEN_BEFORE: &str = "The line took memory before: what is freed ahead of it may serve that, and leave no such room in one piece.";

/// What keeps less for a backward pass.
const NO_GRAPH: &str =
    "`with no_grad()` where no gradient is needed, a smaller batch or `checkpoint` keeps less";

/// What keeps less while a line runs: whether a graph holds what it made is gone with its error.
const LESS_AT_ONCE: &str =
    "a smaller batch keeps less; where a graph is recorded, `with no_grad()` or `checkpoint` keeps less";

/// No variables.
struct Nothing;

impl Variables for Nothing {
    fn names(&self) -> Vec<(u64, String)> {
        Vec::new()
    }

    fn deletable(&self) -> Vec<String> {
        Vec::new()
    }

    fn freed(&self, _: &[usize]) -> Vec<u64> {
        Vec::new()
    }

    fn needed(&self) -> Vec<u64> {
        Vec::new()
    }

    fn graphs(&self) -> Vec<(u64, String)> {
        Vec::new()
    }
}

/// Variables, of whose memory the work that failed held some.
struct Without<'a> {
    variables: &'a dyn Variables,
    held: &'a BTreeSet<u64>,
}

impl Deletable for Without<'_> {
    fn names(&self) -> Vec<String> {
        self.variables.deletable()
    }

    fn freed(&self, chosen: &[usize]) -> Vec<u64> {
        self.variables.freed(chosen).into_iter().filter(|address| !self.held.contains(address)).collect()
    }
}

/// What is known to be enough.
struct Cure<'a>(&'a [String], &'a [u64]);

impl Deletable for Cure<'_> {
    fn names(&self) -> Vec<String> {
        self.0.to_vec()
    }

    fn freed(&self, chosen: &[usize]) -> Vec<u64> {
        if chosen.len() < self.0.len() { Vec::new() } else { self.1.to_vec() }
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
