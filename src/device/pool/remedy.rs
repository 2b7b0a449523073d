//! What to do about an out-of-memory error, worked out from the state it left.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use crate::base::sorted;

use serde::{Deserialize, Serialize};

use super::oom::OutOfMemory;
use super::size::format_size;
use super::snapshot::{BlockState, Segment};
use super::what_if::{HeldBlock, HeldBlocks, StateChange};

/// What is known of a tensor that no variable of the function holds where the error was met.
pub(crate) const CALLERS: &str = "a variable of the caller's may hold";

/// How many tensors are listed; deleting more than so many is not the first advice.
const LISTED: usize = 5;

/// How many at most are named for deletion.
const NAMED: usize = 12;

/// What the message, which is PyTorch's, offers against it.
const SEGMENTS: &str = "\nThe setting that the message names is for PyTorch: here no segment expands, whatever PYTORCH_CUDA_ALLOC_CONF says.";

/// A tensor that is alive when a request fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveTensor {
    /// The variable that holds it; `None` for a temporary, or what a graph or a list holds.
    pub name: Option<String>,
    /// Its address, within the block of its storage.
    pub address: u64,
    pub bytes: u64,
    /// The shape as it is to be shown, such as `[128, 784]`.
    pub shape: String,
    pub dtype: String,
    /// The operation that made it.
    pub made_by: String,
    /// The cell of the line that made it, where that is another than the one that runs: `In [2]`.
    pub cell: Option<String>,
    /// The line that made it.
    pub line: Option<u32>,
    /// What holds it besides variables, such as `the graph of y, made on line 7`, where that is known.
    pub held_by: Option<String>,
    /// Whether the line that failed needs it.
    pub needed: bool,
}

/// What could be deleted by name, and what that would free.
pub trait Deletable {
    /// The names.
    fn names(&self) -> Vec<String>;

    /// Addresses in the blocks that would be free without some of the names, given by their places.
    fn freed(&self, chosen: &[usize]) -> Vec<u64>;
}

/// Something that would have let the request through.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Action {
    /// Ask again: as in the reference, a request that failed is tried on a new segment
    /// alone after the pool has waited for other streams, and what they gave back serves it.
    TryAgain,
    /// Free these tensors; tensors that share a block come together. Deleting the names does; where there are none,
    /// no names would.
    Delete { names: Vec<String>, tensors: Vec<LiveTensor> },
    /// Delete captured graphs, which keep this many bytes that nothing uses.
    DeleteGraphs { bytes: u64 },
    /// Allow the pool this many bytes, `fraction` of the device.
    RaiseLimit { bytes: u64, fraction: f64 },
    /// Ask for no more than this many bytes at once, and for no fewer than `least`, where fewer take a larger segment;
    /// `or` for no more than so many.
    Smaller { bytes: u64, least: Option<u64>, or: Option<u64> },
    /// Free what others hold of the device.
    FreeOthers { bytes: u64 },
    /// Use a device with at least this many bytes.
    LargerDevice { bytes: u64 },
}

/// An out-of-memory error explained. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remedy {
    /// The block that the request needed.
    pub needed: u64,
    /// The five largest tensors of the pool, the largest first; of tensors that share a
    /// block, one.
    pub largest: Vec<LiveTensor>,
    /// How many blocks tensors hold, as far as they are known.
    pub held: usize,
    /// The free bytes in split blocks, none of which could serve the request.
    pub fragmentation: u64,
    /// The largest free block of the request's pool and stream.
    pub largest_cached: u64,
    /// What would have worked, each on its own; the first is the best.
    pub actions: Vec<Action>,
    requested: u64,
    /// The index of the device, which the message calls a GPU.
    device: u32,
    /// What it was for, in words, where no batch changes its size.
    of_no_batch: Option<String>,
    /// What the allocator asked of the device, which the message names.
    segment: u64,
}

/// Explains `error`, given the tensors that are alive: every action returned has been
/// tried on the state that the error carries. Tensors of other devices are left out. What has a name is held by it alone.
pub fn remedy(error: &OutOfMemory, live: &[LiveTensor]) -> Remedy {
    let holders = holders(error, live);
    let named = holders.iter().filter(|holder| holder.tensors.iter().all(|tensor| tensor.name.is_some()));
    let label = |holder: &Holder<'_>| {
        let names: Vec<&str> = holder.tensors.iter().filter_map(|tensor| tensor.name.as_deref()).collect();
        names.join(", ")
    };
    let named = Named(named.map(|holder| (label(holder), holder.block.address)).collect());
    remedy_by(error, live, &named, None)
}

/// The same where it is known what deleting names frees, and what the request is for if no batch changes its size.
pub fn remedy_by(
    error: &OutOfMemory,
    live: &[LiveTensor],
    deletable: &dyn Deletable,
    of_no_batch: Option<&str>,
) -> Remedy {
    let mut holders = holders(error, live);
    sorted::sort_by_key(&mut holders, |holder| std::cmp::Reverse(holder.block.size));
    Remedy {
        needed: error.rounded,
        largest: holders.iter().take(LISTED).filter_map(Holder::shown).cloned().collect(),
        held: holders.len(),
        fragmentation: error.fragmentation,
        largest_cached: error.largest_cached,
        actions: actions(error, &holders, deletable, of_no_batch),
        of_no_batch: of_no_batch.map(str::to_owned),
        requested: error.requested,
        device: error.device,
        segment: error.segment,
    }
}

/// Names that each hold one block alone.
struct Named(Vec<(String, u64)>);

impl Deletable for Named {
    fn names(&self) -> Vec<String> {
        self.0.iter().map(|(name, _)| name.clone()).collect()
    }

    fn freed(&self, chosen: &[usize]) -> Vec<u64> {
        chosen.iter().filter_map(|&at| self.0.get(at)).map(|(_, address)| *address).collect()
    }
}

/// A block and the tensors that hold it.
struct Holder<'a> {
    block: HeldBlock,
    tensors: Vec<&'a LiveTensor>,
}

impl<'a> Holder<'a> {
    fn shown(&self) -> Option<&'a LiveTensor> {
        self.tensors.iter().find(|tensor| tensor.name.is_some()).or(self.tensors.first()).copied()
    }
}

fn holders<'a>(error: &OutOfMemory, live: &'a [LiveTensor]) -> Vec<Holder<'a>> {
    let held = HeldBlocks::of(error);
    let mut holders: BTreeMap<u64, Holder<'a>> = BTreeMap::new();
    for tensor in live {
        if let Some(block) = held.at(tensor.address) {
            let holder =
                holders.entry(block.address).or_insert_with(|| Holder { block, tensors: Vec::new() });
            holder.tensors.push(tensor);
        }
    }
    holders.into_values().collect()
}

fn actions(
    error: &OutOfMemory,
    holders: &[Holder<'_>],
    deletable: &dyn Deletable,
    of_no_batch: Option<&str>,
) -> Vec<Action> {
    if error.would_fit(error.requested, &[]) {
        return vec![Action::TryAgain];
    }
    let by_name = deletion_by_name(error, holders, deletable);
    let mut actions = Vec::new();
    let found = by_name.is_some();
    let short = by_name.as_ref().is_some_and(|(names, _)| names.len() <= LISTED);
    let (first, last) = if short { (by_name, None) } else { (None, by_name) };
    let delete = |(names, tensors)| Action::Delete { names, tensors };
    actions.extend(first.map(delete));
    let bare = StateChange { without_graphs: true, ..StateChange::none(error) };
    let graphs_alone = bare.fits(error, error.requested);
    actions.extend(graphs_alone.then(|| Action::DeleteGraphs { bytes: error.kept_by_graphs() }));
    let unlimited = StateChange { limit: error.ceiling, ..StateChange::none(error) };
    if error.limit != error.ceiling && unlimited.fits(error, error.requested) {
        let bytes = error.reserved.saturating_add(error.segment);
        actions.push(Action::RaiseLimit { bytes, fraction: bytes as f64 / error.total.max(1) as f64 });
    }
    let smaller = error.largest_fitting().filter(|_| of_no_batch.is_none());
    let (of_use, useless): (Vec<u64>, Vec<u64>) =
        smaller.into_iter().partition(|bytes| bytes.saturating_mul(LEAST_PART) >= error.requested);
    actions.extend(of_use.into_iter().map(|bytes| self::smaller(error, bytes)));
    actions.extend(last.map(delete));
    let mut freeable = found || graphs_alone;
    if !found {
        let unneeded = holders
            .iter()
            .filter(|holder| !holder.tensors.iter().any(|tensor| tensor.needed))
            .collect::<Vec<_>>();
        let chosen = deletion(error, &unneeded);
        freeable = chosen.is_some();
        actions
            .extend(chosen.map(|chosen| Action::Delete { names: Vec::new(), tensors: tensors_of(chosen) }));
    }
    let others = error.used_by_others();
    let alone = StateChange { free: error.free.saturating_add(others), ..StateChange::none(error) };
    if others > 0 && alone.fits(error, error.requested) {
        actions.push(Action::FreeOthers { bytes: others });
    } else if !freeable && !unlimited.fits(error, error.requested) && !is_bound(error) {
        actions.push(Action::LargerDevice { bytes: device_for(error) });
    }
    if actions.is_empty() {
        actions.extend(useless.into_iter().map(|bytes| self::smaller(error, bytes)));
    }
    actions
}

/// A request that would be served with less than one part in so many of what was asked for is advised where there is
/// nothing else alone.
const LEAST_PART: u64 = 10;

/// A smaller request that would be served.
fn smaller(error: &OutOfMemory, bytes: u64) -> Action {
    let least = error.least_fitting(bytes);
    Action::Smaller { bytes, least, or: least.and_then(|least| error.largest_below(least)) }
}

/// Whether a larger device would change nothing: the bound stands on every one.
fn is_bound(error: &OutOfMemory) -> bool {
    error.ceiling.is_some_and(|ceiling| error.reserved.saturating_add(error.segment) > ceiling)
}

/// The memory of a device that would serve the request beside all that is held now, the process's context among it,
/// under the same memory fraction.
fn device_for(error: &OutOfMemory) -> u64 {
    let own = error.reserved.saturating_add(error.segment);
    let under_limit = match error.limit {
        Some(limit) => u128::from(own) * u128::from(error.total) / u128::from(limit.max(1)),
        None => 0,
    };
    own.saturating_add(error.context)
        .saturating_add(error.used_by_others())
        .max(u64::try_from(under_limit).unwrap_or(u64::MAX))
}

fn tensors_of<'h, 'a: 'h>(chosen: impl IntoIterator<Item = &'h Holder<'a>>) -> Vec<LiveTensor> {
    chosen.into_iter().flat_map(|holder| holder.tensors.iter().copied().cloned()).collect()
}

/// The names to delete, and the tensors that end with them: the one with the least behind it that is enough alone, or
/// else as few of those with the most as are enough together.
fn deletion_by_name(
    error: &OutOfMemory,
    holders: &[Holder<'_>],
    deletable: &dyn Deletable,
) -> Option<(Vec<String>, Vec<LiveTensor>)> {
    let held = HeldBlocks::of(error);
    let blocks = |chosen: &[usize]| -> BTreeMap<u64, HeldBlock> {
        let mut blocks = BTreeMap::new();
        for block in deletable.freed(chosen).into_iter().filter_map(|address| held.at(address)) {
            blocks.insert(block.address, block);
        }
        blocks
    };
    let enough = |chosen: &[usize]| {
        let released = blocks(chosen).into_keys().collect();
        StateChange { released, ..StateChange::none(error) }.fits(error, error.requested)
    };
    let names = deletable.names();
    let mut order: Vec<(u64, usize)> =
        (0..names.len()).map(|at| (blocks(&[at]).values().map(|block| block.size).sum(), at)).collect();
    sorted::sort_by_key(&mut order, |(size, at)| (std::cmp::Reverse(*size), *at));
    let order: Vec<usize> = order.into_iter().map(|(_, at)| at).collect();
    let alone = order.iter().rev().find(|at| enough(&[**at])).map(|at| vec![*at]);
    let chosen = alone.or_else(|| shortest(&order, enough))?;
    // Small things may stand in the way of much more memory than they hold.
    let cost = |chosen: &[usize]| blocks(chosen).values().map(|block| block.size).sum::<u64>();
    let mut holds = BTreeMap::new();
    for at in &order {
        holds.extend(blocks(&[*at]).into_keys().map(|block| (block, *at)));
    }
    let others = obstacles(error, &holds).into_iter().chain(segments(error, &holds, &cost, &enough));
    let cheaper = others.filter(|other| other.len() <= NAMED && enough(other));
    let chosen = cheaper
        .min_by_key(|other| cost(other))
        .filter(|other| cost(other).saturating_mul(2) <= cost(&chosen))
        .unwrap_or(chosen);
    let freed = blocks(&chosen);
    let ends = holders.iter().filter(|holder| freed.contains_key(&holder.block.address));
    Some((chosen.iter().filter_map(|at| names.get(*at).cloned()).collect(), tensors_of(ends)))
}

/// For each segment that serves the request, what holds least of those whose blocks, and free ones between them, make one
/// block that is large enough. `holds` are blocks with what ends them.
fn obstacles(error: &OutOfMemory, holds: &BTreeMap<u64, usize>) -> Vec<Vec<usize>> {
    let best = |segment: &Segment| {
        let (mut window, mut total, mut held) = (VecDeque::new(), 0u64, 0u64);
        let mut best: Option<(u64, BTreeSet<usize>)> = None;
        for block in &segment.blocks {
            let own = match block.state {
                BlockState::Inactive => Some(None),
                BlockState::ActiveAllocated => holds.get(&block.address).map(|at| Some(*at)),
                _ => None,
            };
            let Some(own) = own else {
                (total, held) = (0, 0);
                window.clear();
                continue;
            };
            window.push_back((block.size, own));
            total += block.size;
            held += own.map_or(0, |_| block.size);
            while let Some((size, own)) =
                window.front().copied().filter(|(size, _)| total - size >= error.rounded)
            {
                total -= size;
                held -= own.map_or(0, |_| size);
                window.pop_front();
            }
            if total >= error.rounded && best.as_ref().is_none_or(|(least, _)| held < *least) {
                best = Some((held, window.iter().filter_map(|(_, own)| *own).collect()));
            }
        }
        best.map(|(_, names)| names.into_iter().collect())
    };
    let serving = error.snapshot.segments.iter().filter(|segment| error.serves(segment, error.kind()));
    serving.filter_map(best).collect()
}

/// As few as are enough of those that end whole segments, which go back to the device, those that hold least first.
fn segments(
    error: &OutOfMemory,
    holds: &BTreeMap<u64, usize>,
    cost: &impl Fn(&[usize]) -> u64,
    enough: &impl Fn(&[usize]) -> bool,
) -> Option<Vec<usize>> {
    let whole = |segment: &Segment| -> Option<(u64, Vec<usize>)> {
        let held = segment.blocks.iter().filter(|block| block.state != BlockState::Inactive);
        let names: Option<BTreeSet<usize>> = held.map(|block| holds.get(&block.address).copied()).collect();
        let names: Vec<usize> = names?.into_iter().collect();
        (!names.is_empty()).then(|| (cost(&names), names))
    };
    let mut all: Vec<(u64, Vec<usize>)> = error.snapshot.segments.iter().filter_map(whole).collect();
    sorted::sort_by_key(&mut all, |(held, _)| *held);
    let all: Vec<&Vec<usize>> = all.iter().map(|(_, names)| names).collect();
    let joined = |chosen: &[&Vec<usize>]| -> Vec<usize> {
        chosen.iter().flat_map(|names| names.iter().copied()).collect::<BTreeSet<_>>().into_iter().collect()
    };
    shortest(&all, |chosen| enough(&joined(chosen))).map(|chosen| joined(&chosen))
}

/// The blocks to free, out of `holders` (the largest first): the smallest one that is
/// enough alone, or else as few of the largest as are enough together.
fn deletion<'h, 'a>(error: &OutOfMemory, holders: &[&'h Holder<'a>]) -> Option<Vec<&'h Holder<'a>>> {
    if let Some(&single) = holders.iter().rev().find(|holder| holder.block.enough) {
        return Some(vec![single]);
    }
    shortest(holders, |chosen| {
        let released = chosen.iter().map(|holder| holder.block.address).collect();
        StateChange { released, ..StateChange::none(error) }.fits(error, error.requested)
    })
}

/// As few of the first as are enough together.
fn shortest<T: Copy>(all: &[T], enough: impl Fn(&[T]) -> bool) -> Option<Vec<T>> {
    if !enough(all) {
        return None;
    }
    // Freeing more never hurts, so the shortest prefix that is enough can be bisected.
    let (mut short, mut long) = (0, all.len());
    while long - short > 1 {
        let middle = short + (long - short) / 2;
        if enough(all.get(..middle).unwrap_or(all)) { long = middle } else { short = middle }
    }
    let mut chosen: Vec<T> = all.iter().take(long).copied().collect();
    // Of a short list, drop what turns out not to be needed.
    let mut index = 0;
    while chosen.len() <= 4 * LISTED && index < chosen.len() {
        let one = chosen.remove(index);
        if !enough(&chosen) {
            chosen.insert(index, one);
            index += 1;
        }
    }
    Some(chosen)
}

impl Remedy {
    /// The first thing that would have worked.
    pub fn first(&self) -> Option<&Action> {
        self.actions.first()
    }

    fn write_tensors(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.largest.is_empty() {
            return Ok(());
        }
        writeln!(f, "Largest live tensors ({} of {}):", self.largest.len(), self.held)?;
        let width = self.largest.iter().map(|tensor| name(tensor).chars().count()).max().unwrap_or(0);
        for tensor in &self.largest {
            let LiveTensor { shape, dtype, made_by, .. } = tensor;
            write!(f, "  {:>12}  {:width$}", size(tensor.bytes), name(tensor))?;
            write!(f, "  {dtype} {shape}, made by {made_by}")?;
            match place(tensor) {
                Some(place) => writeln!(f, ", {place}")?,
                None => writeln!(f)?,
            }
        }
        Ok(())
    }

    /// The figures of the request, and the device's name.
    fn write_request(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (requested, segment) = (size(self.requested), size(self.segment));
        if let Some(purpose) = &self.of_no_batch {
            return writeln!(f, "Requested of cuda:{}: {requested} {purpose}.", self.device);
        }
        if segment == requested {
            return writeln!(f, "Requested of cuda:{}: {requested}.", self.device);
        }
        writeln!(
            f,
            "Requested of cuda:{}: {requested}, for which the allocator tried a new segment of {segment}.",
            self.device
        )
    }

    fn write_fragmentation(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let needed = size(self.needed);
        let free = size(self.fragmentation);
        match (self.fragmentation, self.largest_cached) {
            (0, _) => write!(f, "Fragmentation: none, no cached block is free."),
            (_, 0) => {
                write!(f, "Fragmentation: {free} free in split blocks of other pools or streams.{SEGMENTS}")
            }
            (_, largest) => write!(
                f,
                "Fragmentation: {free} free in split blocks, at most {} in one piece for this request of {needed}.{SEGMENTS}",
                size(largest)
            ),
        }
    }

    fn describe(&self, action: &Action) -> String {
        match action {
            Action::TryAgain => "try again: the blocks that other streams used are free by now".to_owned(),
            Action::Delete { names, tensors } => {
                let bytes = size(tensors.iter().map(|tensor| tensor.bytes).sum());
                let told = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
                match (names.len(), tensors.len()) {
                    (0, 1) => format!("free one tensor ({bytes}){}{}", origin(tensors), named_too(tensors)),
                    (0, count) => {
                        format!("free {count} tensors ({bytes}){}{}", origin(tensors), named_too(tensors))
                    }
                    (count, _) if count <= NAMED => format!("delete {told} ({bytes})"),
                    (count, _) => format!("delete {count} variables and parts ({bytes}): {told}, ..."),
                }
            }
            Action::DeleteGraphs { bytes } => format!(
                "delete the CUDA graphs, whose pools keep {} for their replays, or `reset()` them",
                size(*bytes)
            ),
            Action::RaiseLimit { bytes, fraction } => format!(
                "raise the memory fraction to at least {:.4} ({} of the device)",
                (fraction * 1e4).ceil() / 1e4,
                size(*bytes)
            ),
            Action::Smaller { bytes, least, or } => self.describe_smaller(*bytes, *least, *or),
            Action::FreeOthers { bytes } => {
                format!("free memory of the other processes on this device, which hold {}", size(*bytes))
            }
            Action::LargerDevice { bytes } => {
                format!(
                    "use a device with at least {} of memory, which this request needs and what follows may exceed, or split \
                     the work over several",
                    size(*bytes)
                )
            }
        }
    }
}

impl Remedy {
    fn describe_smaller(&self, bytes: u64, least: Option<u64>, or: Option<u64>) -> String {
        let percent = u128::from(bytes) * 100 / u128::from(self.requested.max(1));
        let of = format!(
            "{percent}% of the {} requested: a smaller batch, where the request grows with it",
            size(self.requested)
        );
        let most = size_down(bytes);
        let Some(least) = least else { return format!("request at most {most} at once, {of}") };
        let range = match size(least) == most {
            true => most,
            false => format!("{} to {most}", size(least)),
        };
        let below = or.map(|most| format!(", or at most {}", size_down(most))).unwrap_or_default();
        format!(
            "request {range} at once, {of} (less takes another segment, for which there is no room){below}"
        )
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_request(f)?;
        self.write_tensors(f)?;
        self.write_fragmentation(f)?;
        for (index, action) in self.actions.iter().enumerate() {
            let lead = if index == 0 { "Would have let it through:" } else { "                       or:" };
            write!(f, "\n{lead} {}.", self.describe(action))?;
        }
        Ok(())
    }
}

fn name(tensor: &LiveTensor) -> String {
    let is_callers = tensor.held_by.as_deref() == Some(CALLERS);
    let unnamed = if is_callers { "(perhaps a variable of the caller's)" } else { "(no variable)" };
    tensor.name.clone().unwrap_or_else(|| unnamed.to_owned())
}

/// What the names of such tensors still hold, once what holds them besides is gone.
fn named_too(tensors: &[LiveTensor]) -> String {
    let held = tensors.iter().filter(|tensor| tensor.held_by.is_some());
    let names: Vec<&str> = held.filter_map(|tensor| tensor.name.as_deref()).take(NAMED).collect();
    if names.is_empty() { String::new() } else { format!(", once {} is deleted as well", names.join(", ")) }
}

/// What holds tensors that no deletion of names frees: what holds most of them, or, where that is not known, where the
/// largest came from.
fn origin(tensors: &[LiveTensor]) -> String {
    let mut holders: BTreeMap<&str, u64> = BTreeMap::new();
    for tensor in tensors {
        *holders.entry(tensor.held_by.as_deref().unwrap_or_default()).or_default() += tensor.bytes;
    }
    let most = holders.into_iter().max_by_key(|(_, bytes)| *bytes).map_or("", |(holder, _)| holder);
    if !most.is_empty() {
        return format!(" that {most}");
    }
    let largest = tensors.iter().max_by_key(|tensor| tensor.bytes);
    let Some(tensor) = largest else { return String::new() };
    let preposition = if tensor.cell.is_some() { "in" } else { "on" };
    let place = place(tensor).map(|place| format!(" {preposition} {place}")).unwrap_or_default();
    let same = |other: &LiveTensor| {
        (&other.made_by, &other.cell, other.line) == (&tensor.made_by, &tensor.cell, tensor.line)
    };
    let that = if tensors.iter().all(same) { " that" } else { ", the largest of which" };
    format!("{that} {} made{place}; no variable is known whose deletion alone frees that", tensor.made_by)
}

/// `In [2], line 3`; the line alone in the cell that runs.
fn place(tensor: &LiveTensor) -> Option<String> {
    let line = tensor.line.map(|line| format!("line {line}"));
    match (&tensor.cell, line) {
        (Some(cell), Some(line)) => Some(format!("{cell}, {line}")),
        (Some(cell), None) => Some(cell.clone()),
        (None, line) => line,
    }
}

/// A size that is not more than it says.
fn size_down(bytes: u64) -> String {
    let (unit, name) = match bytes {
        0..0x400 => return size(bytes),
        0x400..0x10_0000 => (0x400, "KiB"),
        0x10_0000..0x4000_0000 => (0x10_0000, "MiB"),
        _ => (0x4000_0000, "GiB"),
    };
    let hundredths = u128::from(bytes) * 100 / unit;
    format!("{}.{:02} {name}", hundredths / 100, hundredths % 100)
}

/// A size as PyTorch writes it, but that 1 MiB is no 1024 KiB.
fn size(bytes: u64) -> String {
    match bytes {
        0x10_0000 => "1.00 MiB".into(),
        0x4000_0000 => "1.00 GiB".into(),
        _ => format_size(bytes),
    }
}
