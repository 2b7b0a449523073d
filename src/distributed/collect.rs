//! What comes of an exchange once every rank has handed in its part: the values, and when it took place.
//!
//! Values are put together in the order of the ranks, by one addition after the other; a ring of GPUs begins each piece
//! with another rank, so that its sums of more than two ranks may differ in their last bits.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::base::event::{Body, Clock, Devices, Span};
use crate::base::{Device, Error, Result, Scalar};
use crate::device::backend::{Exchange, Mark};
use crate::device::context::Foreseen;
use crate::device::shared::Shared;
use crate::device::{Context, Kernel, Machine, MapOp};
use crate::tensor::Tensor;
use crate::tensor::launch::{compute, watch_exchange};

use super::group::{CollectiveKind, RankPart, Reduction};

/// The stream of a simulated GPU that carries exchanges: beside those that scripts have.
const STREAM: u32 = 33;

/// A part, with where and when it was handed in.
pub(super) struct Posted {
    pub part: RankPart,
    pub line: u32,
    /// On a modelled clock.
    pub ready: u64,
    /// Where the rank has the tensors, or the CPU where there are none.
    pub device: Device,
    /// Of the tensors as they are here.
    context: Arc<Context>,
    /// Where tensors come to lie that this rank is given.
    gpu: Option<Arc<Context>>,
    /// Its end on this rank's device.
    pub end: Foreseen,
}

/// Where an exchange that comes to nothing was to have its tensors.
pub(super) struct GivenUp(Arc<Context>, Foreseen);

impl GivenUp {
    /// It has read and written nothing, and does not any more.
    pub(super) fn settle(&self) {
        self.0.watch_joined(&self.1);
    }
}

/// Until the exchange is waited for, its stream reads and writes the rank's tensors.
fn watch(rank: usize, part: &RankPart, context: &Context) -> Foreseen {
    let (inputs, outputs): (Vec<_>, Vec<_>) = (part.inputs.iter().collect(), part.outputs.iter().collect());
    let in_place = match part.kind {
        CollectiveKind::AllReduce(_) => true,
        CollectiveKind::Broadcast { src } => rank != src,
        CollectiveKind::Reduce { dst, .. } => rank == dst,
        _ => false,
    };
    let (read, written) = if in_place { (outputs, inputs) } else { (inputs, outputs) };
    watch_exchange(part.kind.name(), (context, STREAM), &read, &written)
}

/// What came of an exchange.
pub(super) struct Exchanged {
    kind: CollectiveKind,
    /// By rank, of those that took part.
    results: Vec<(usize, Vec<Tensor>)>,
    /// Where each has them, and its end there.
    contexts: Vec<(usize, Arc<Context>, Foreseen)>,
    /// What it reads stays until every rank has waited, whoever has dropped it.
    _inputs: Vec<Tensor>,
    span: Span,
}

impl Posted {
    /// What the rank of this number hands in now.
    pub(super) fn new(rank: usize, part: RankPart) -> Result<Posted> {
        let machine = Machine::current();
        let first = part.inputs.first().or(part.outputs.first());
        let context = first.map_or_else(|| Arc::clone(machine.cpu()), Tensor::context);
        if part.inputs.iter().chain(&part.outputs).any(|t| t.device() != context.device) {
            return Err(Error::value(format!("{}() takes tensors of one device", part.kind.name())));
        }
        context.check_not_capturing("an exchange between ranks")?;
        let ready = if is_modelled(&context) && context.device.is_cuda() {
            context.backend.record(context.stream())?.value
        } else {
            machine.shared.time().0
        };
        let gpu = machine.gpus().get(machine.current_gpu()).cloned();
        let (line, device) = (machine.shared.source().line, context.device);
        let end = if device.is_cuda() { watch(rank, &part, &context) } else { Foreseen::default() };
        Ok(Posted { part, line, ready, device, context, gpu, end })
    }

    /// A part that was handed in by another process, with its tensors on this one's CPU.
    pub(super) fn of_other(part: RankPart, line: u32, ready: u64, device: Device) -> Posted {
        Posted {
            part,
            line,
            ready,
            device,
            context: Arc::clone(Machine::current().cpu()),
            gpu: None,
            end: Foreseen::default(),
        }
    }

    pub(super) fn given_up(&self) -> GivenUp {
        GivenUp(Arc::clone(&self.context), self.end.clone())
    }

    /// Where tensors come to lie that this rank is given of one on the CPU, or on a GPU.
    pub(super) fn place(&self, on_gpu: bool) -> Arc<Context> {
        match &self.gpu {
            Some(gpu) if on_gpu && !self.device.is_cuda() => Arc::clone(gpu),
            _ if on_gpu == self.device.is_cuda() => Arc::clone(&self.context),
            _ => Arc::clone(Machine::current().cpu()),
        }
    }

    /// What a rank wants, such as `all_reduce of float32 [3]`.
    pub(super) fn wants(&self) -> String {
        let part = &self.part;
        let tensors = if part.inputs.is_empty() { &part.outputs } else { &part.inputs };
        match tensors.as_slice() {
            [] => part.kind.to_string(),
            [x] => format!("{} of {} {:?}", part.kind, x.dtype(), x.shape()),
            [x, ..] => {
                format!("{} of {} tensors, the first {} {:?}", part.kind, tensors.len(), x.dtype(), x.shape())
            }
        }
    }

    /// Whether two ranks' parts belong together.
    pub(super) fn goes_with(&self, other: &Posted) -> bool {
        let form = |p: &Posted| -> Vec<_> {
            let all = p.part.inputs.iter().chain(&p.part.outputs);
            all.map(|t| (t.dtype(), t.shape().to_vec())).collect()
        };
        let (a, b) = (self.part.kind, other.part.kind);
        let kinds = a == b
            || matches!(
                (a, b),
                (CollectiveKind::Send { .. }, CollectiveKind::Recv { .. })
                    | (CollectiveKind::Recv { .. }, CollectiveKind::Send { .. })
            );
        let tensors = match a {
            CollectiveKind::Scatter { .. } => true,
            CollectiveKind::Gather { .. } => form(self).first() == form(other).first(),
            _ => form(self) == form(other),
        };
        let places = self.device.is_cuda() == other.device.is_cuda();
        kinds && tensors && (places || matches!(a, CollectiveKind::Scatter { .. }))
    }
}

impl Exchanged {
    /// What a rank has of it; its work from now on comes after the exchange.
    pub(super) fn of(&self, rank: usize, shared: &Shared) -> Result<Vec<Tensor>> {
        let own = self.contexts.iter().find(|(r, ..)| *r == rank);
        if let Some((_, context, end)) = own.filter(|_| self.span.clock == Clock::Modelled) {
            if context.device.is_cuda() {
                let mark = Mark { device: context.device, stream: STREAM, value: self.span.end() };
                context.backend.wait(context.stream(), mark)?;
                context.watch_joined(end);
            } else if let Some(time) = shared.host_time() {
                let span = time.wait_until(self.span.end());
                let (device, cause) = (Device::Cpu, self.kind.name().into());
                if span.nanos > 0 {
                    shared.bus.emit(shared.source(), || Body::Hold { device, cause, span });
                }
            }
        }
        let own = self.results.iter().find(|(r, _)| *r == rank);
        Ok(own.map(|(_, tensors)| tensors.clone()).unwrap_or_default())
    }
}

/// An exchange as it goes over the links.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Passage {
    kind: CollectiveKind,
    /// Of the ranks that took part.
    devices: Vec<Device>,
    /// When the last of them had handed in its part, on a modelled clock.
    ready: u64,
    /// Of one rank's tensors.
    bytes: u64,
}

/// Carries out an exchange to which all have handed in their parts, by rank.
pub(super) fn complete(parts: &[(usize, Posted)], shared: &Shared) -> Result<Exchanged> {
    let began = shared.nanos();
    let (results, mut passage) = put_together(parts, true)?;
    let own = |(rank, posted): &(usize, Posted)| (*rank, Arc::clone(&posted.context), posted.end.clone());
    let mut contexts: Vec<_> = parts.iter().map(own).collect();
    // Who is given a tensor waits for it where it lies.
    for ((_, context, _), (_, tensors)) in contexts.iter_mut().zip(&results) {
        if let Some(t) = tensors.first() {
            *context = t.context();
        }
    }
    passage.devices = contexts.iter().map(|(_, context, _)| context.device).collect();
    let span = passage.take(contexts.iter().map(|(_, context, _)| context), began, shared)?;
    let inputs = parts.iter().flat_map(|(_, posted)| posted.part.inputs.iter().cloned()).collect();
    Ok(Exchanged { kind: passage.kind, results, contexts, _inputs: inputs, span })
}

/// What each rank has of an exchange.
pub(super) type ByRank = Vec<(usize, Vec<Tensor>)>;

/// Computes what every rank has of it, and how it goes over the links. Results come to lie `in_place`, in the tensors of
/// the parts, or are the same tensors for all.
pub(super) fn put_together(parts: &[(usize, Posted)], in_place: bool) -> Result<(ByRank, Passage)> {
    let Some((_, first)) = parts.first() else { return Err(Error::runtime("nobody takes part")) };
    check_devices(parts)?;
    let bytes = parts.iter().map(|(_, p)| p.part.inputs.iter().map(Tensor::nbytes).sum::<usize>()).max();
    let passage = Passage {
        kind: first.part.kind,
        devices: parts.iter().map(|(_, posted)| posted.device).collect(),
        ready: parts.iter().map(|(_, posted)| posted.ready).max().unwrap_or(0),
        bytes: bytes.unwrap_or(0) as u64,
    };
    Ok((values(parts, in_place)?, passage))
}

impl Passage {
    /// Takes its time, on one of these contexts' links, and is told. Where nothing is modelled it has taken the time
    /// since it began.
    fn take<'c>(
        &self,
        mut contexts: impl Iterator<Item = &'c Arc<Context>>,
        began: u64,
        shared: &Shared,
    ) -> Result<Span> {
        let on_gpus = self.devices.iter().any(|device| device.is_cuda());
        let stream = if on_gpus { STREAM } else { 0 };
        let (steps, each, hops) = way(self.kind, self.devices.len() as u64, self.bytes);
        let exchange =
            Exchange { devices: &self.devices, stream, ready: self.ready, steps, bytes: each, hops };
        let span = match contexts.find(|context| context.device.is_cuda() == on_gpus) {
            Some(context) => context.backend.exchange(&exchange)?,
            None => None,
        };
        let span = span.unwrap_or_else(|| shared.span_since(began));
        let mut distinct = Devices::new();
        self.devices.iter().for_each(|device| {
            if !distinct.contains(device) {
                distinct.push(*device);
            }
        });
        shared.bus.emit(shared.source(), || Body::Collective {
            op: self.kind.name().into(),
            bytes: self.bytes,
            ranks: self.devices.len() as u32,
            devices: distinct,
            stream,
            span,
        });
        Ok(span)
    }

    /// What a rank has of an exchange that another process has put together.
    pub(super) fn arrived(
        &self,
        rank: usize,
        results: Vec<Tensor>,
        (began, context, end): (u64, Arc<Context>, Foreseen),
        shared: &Shared,
    ) -> Result<Vec<Tensor>> {
        let span = self.take(std::iter::once(&context), began, shared)?;
        let (results, contexts) = (vec![(rank, results)], vec![(rank, context, end)]);
        Exchanged { kind: self.kind, results, contexts, _inputs: Vec::new(), span }.of(rank, shared)
    }
}

fn is_modelled(context: &Context) -> bool {
    context.backend.properties().clock == Clock::Modelled
}

/// NCCL takes no two ranks of one GPU.
fn check_devices(parts: &[(usize, Posted)]) -> Result<()> {
    for (at, (rank, posted)) in parts.iter().enumerate() {
        let device = posted.device;
        let same = |(_, other): &&(usize, Posted)| other.device == device;
        let Some((other, _)) = parts.iter().take(at).find(same) else { continue };
        if device.is_cuda() && !posted.part.through_host {
            let text = format!(
                "NCCL error: Duplicate GPU detected : rank {rank} and rank {other} both on CUDA device {}",
                device.index()
            );
            return Err(Error::runtime(text)
                .with_hint("each rank works on a GPU of its own: `cuda::set_device(rank)`, `x.cuda(rank)`"));
        }
    }
    Ok(())
}

/// How an exchange of `n` ranks goes over the links: steps, the bytes of each, and further hops without any. As a ring in
/// which pieces of an n-th go round; what one rank gives to all as a chain, through which small pieces flow.
fn way(kind: CollectiveKind, n: u64, bytes: u64) -> (u64, u64, u64) {
    let (others, piece) = (n.saturating_sub(1), bytes.div_ceil(n.max(1)));
    match kind {
        _ if others == 0 => (0, 0, 0),
        CollectiveKind::AllReduce(_) => (2 * others, piece, 0),
        CollectiveKind::ReduceScatter(_) | CollectiveKind::Scatter { .. } => (others, piece, 0),
        CollectiveKind::AllGather | CollectiveKind::Gather { .. } => (others, bytes, 0),
        CollectiveKind::Broadcast { .. } | CollectiveKind::Reduce { .. } => (1, bytes, others - 1),
        CollectiveKind::Send { .. } | CollectiveKind::Recv { .. } => (1, bytes, 0),
        CollectiveKind::Barrier => (0, 0, 2 * others),
    }
}

/// Computes what every rank has of it.
fn values(parts: &[(usize, Posted)], in_place: bool) -> Result<ByRank> {
    let Some((_, first)) = parts.first() else { return Ok(Vec::new()) };
    let to_all = |tensors: &[Tensor]| parts.iter().map(|(rank, _)| (*rank, tensors.to_vec())).collect();
    let inputs = |rank: usize| parts.iter().find(|(r, _)| *r == rank).map(|(_, p)| p.part.inputs.as_slice());
    match first.part.kind {
        CollectiveKind::AllReduce(op) => {
            reduced(&first.part.inputs, parts, 0, op)?;
            if !in_place {
                return Ok(to_all(&first.part.inputs));
            }
            spread(&first.part.inputs, parts)?;
        }
        CollectiveKind::Broadcast { src } if !in_place => return Ok(to_all(inputs(src).unwrap_or_default())),
        CollectiveKind::Broadcast { src } => spread(inputs(src).unwrap_or_default(), parts)?,
        CollectiveKind::Reduce { dst, op } => reduced(inputs(dst).unwrap_or_default(), parts, dst, op)?,
        CollectiveKind::AllGather
        | CollectiveKind::Gather { .. }
        | CollectiveKind::Send { .. }
        | CollectiveKind::Recv { .. } => {
            let given = parts.iter().flat_map(|(_, p)| &p.part.inputs);
            if !in_place {
                return Ok(to_all(&given.cloned().collect::<Vec<_>>()));
            }
            for (_, posted) in parts {
                given.clone().zip(&posted.part.outputs).try_for_each(|(from, to)| copy(from, to))?;
            }
        }
        CollectiveKind::ReduceScatter(op) => {
            for (at, (_, posted)) in parts.iter().enumerate() {
                let mut given = parts.iter().filter_map(|(_, p)| p.part.inputs.get(at));
                let Some((to, from)) = posted.part.outputs.first().zip(given.next()) else { continue };
                copy(from, to)?;
                given.try_for_each(|other| combine(to, other, op))?;
                finish(to, parts.len(), op)?;
            }
        }
        CollectiveKind::Scatter { src } => return scattered(parts, inputs(src).unwrap_or_default()),
        CollectiveKind::Barrier => {}
    }
    let own = |posted: &Posted| match posted.part.outputs.is_empty() {
        true => posted.part.inputs.clone(),
        false => posted.part.outputs.clone(),
    };
    Ok(parts.iter().map(|(rank, posted)| (*rank, own(posted))).collect())
}

/// Puts the tensors of all others into those of one rank.
fn reduced(into: &[Tensor], parts: &[(usize, Posted)], own: usize, op: Reduction) -> Result<()> {
    for (at, to) in into.iter().enumerate() {
        let others = parts.iter().filter(|(rank, _)| *rank != own);
        others.filter_map(|(_, p)| p.part.inputs.get(at)).try_for_each(|other| combine(to, other, op))?;
        finish(to, parts.len(), op)?;
    }
    Ok(())
}

fn spread(from: &[Tensor], parts: &[(usize, Posted)]) -> Result<()> {
    for (_, posted) in parts {
        let pairs = from.iter().zip(&posted.part.inputs).filter(|(from, to)| !from.is(to));
        pairs.into_iter().try_for_each(|(from, to)| copy(from, to))?;
    }
    Ok(())
}

/// A tensor for each, on its own device.
fn scattered(parts: &[(usize, Posted)], given: &[Tensor]) -> Result<ByRank> {
    let one = |((rank, posted), from): (&(usize, Posted), &Tensor)| {
        let gpu = posted.gpu.as_ref().filter(|_| from.device().is_cuda() && posted.part.inputs.is_empty());
        let context = gpu.cloned().unwrap_or_else(|| from.context());
        let to = Tensor::empty(from.shape(), from.dtype(), &context, "scatter")?;
        copy(from, &to)?;
        Ok((*rank, vec![to]))
    };
    parts.iter().zip(given).map(one).collect()
}

fn map(op: MapOp, to: &Tensor) -> Kernel {
    Kernel::Map { op, params: [1.0, 0.0], compute: to.dtype() }
}

pub(super) fn copy(from: &Tensor, to: &Tensor) -> Result<()> {
    compute(&map(MapOp::Identity, to), &[&near(from, to)?], None, to)
}

fn combine(to: &Tensor, other: &Tensor, op: Reduction) -> Result<()> {
    let op = match op {
        Reduction::Sum | Reduction::Avg => MapOp::Add,
        Reduction::Product => MapOp::Mul,
        Reduction::Min => MapOp::Minimum,
        Reduction::Max => MapOp::Maximum,
    };
    compute(&map(op, to), &[to, &near(other, to)?], None, to)
}

fn finish(to: &Tensor, ranks: usize, op: Reduction) -> Result<()> {
    if op != Reduction::Avg {
        return Ok(());
    }
    let divide = if to.dtype().is_float() { MapOp::Div } else { MapOp::TruncDiv };
    compute(&map(divide, to), &[to], Some(Scalar::Int(ranks as i64)), to)
}

/// A real GPU reads its own memory alone.
fn near(from: &Tensor, to: &Tensor) -> Result<Tensor> {
    let from = from.detach();
    let context = to.context();
    if from.device() == to.device() || is_modelled(&from.context()) && is_modelled(&context) {
        return Ok(from);
    }
    from.moved(&context, false, "to")
}
