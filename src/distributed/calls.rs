//! Collectives, as the calling rank takes part in them.

use std::sync::{Arc, OnceLock};

use crate::base::{Error, Result};
use crate::tensor::Tensor;

use super::group::{CollectiveKind, Group, RankPart, Reduction, Ticket, current};

/// An exchange under way. Cloning gives the same one.
#[derive(Clone)]
pub struct PendingWork {
    group: Arc<dyn Group>,
    ticket: Ticket,
    /// What came of it, once it was waited for.
    done: Arc<OnceLock<Vec<Tensor>>>,
    pub kind: CollectiveKind,
}

impl PendingWork {
    /// Hands in a part.
    pub(super) fn begin(group: Arc<dyn Group>, part: RankPart) -> Result<PendingWork> {
        let kind = part.kind;
        let ticket = group.post(part)?;
        Ok(PendingWork { group, ticket, done: Arc::default(), kind })
    }

    /// Waits for the others, and gives what came of it.
    ///
    /// # Errors
    /// A rank has failed, or will never take part.
    pub fn wait(&self) -> Result<Vec<Tensor>> {
        if let Some(done) = self.done.get() {
            return Ok(done.clone());
        }
        let done = self.group.wait(self.ticket)?;
        Ok(self.done.get_or_init(|| done).clone())
    }

    /// Whether all ranks have handed in their parts.
    pub fn is_completed(&self) -> bool {
        self.done.get().is_some() || self.group.is_done(self.ticket)
    }
}

fn begin(kind: CollectiveKind, inputs: Vec<Tensor>, outputs: Vec<Tensor>) -> Result<PendingWork> {
    PendingWork::begin(current()?, RankPart::new(kind, inputs, outputs))
}

/// Tensors of one shape, of any memory of their own.
fn like(x: &Tensor, count: usize, op: &'static str) -> Result<Vec<Tensor>> {
    (0..count).map(|_| Tensor::empty(x.shape(), x.dtype(), &x.context(), op)).collect()
}

fn member(rank: i64, what: &str) -> Result<usize> {
    let world = current()?.world();
    usize::try_from(rank).ok().filter(|r| *r < world).ok_or_else(|| {
        let text = format!("Global rank {rank} is not part of the group of {world} ranks");
        Error::value(text).with_hint(format!("{what} is one of the ranks 0 to {}", world.saturating_sub(1)))
    })
}

fn listed(tensors: &[Tensor], name: &str) -> Result<()> {
    let world = current()?.world();
    if tensors.len() != world {
        let text =
            format!("{name}() takes a tensor for each of the {world} ranks, and got {}", tensors.len());
        return Err(Error::value(text));
    }
    let first = tensors.first();
    if tensors.iter().any(|t| first.is_some_and(|f| t.shape() != f.shape() || t.dtype() != f.dtype())) {
        return Err(Error::value(format!("{name}() takes tensors of one shape and one dtype")));
    }
    Ok(())
}

/// Every rank's tensor becomes what all of them make together, the same to the last bit.
pub fn all_reduce(x: &Tensor, op: Reduction) -> Result<PendingWork> {
    x.check_writable()?;
    begin(CollectiveKind::AllReduce(op), vec![x.clone()], Vec::new())
}

/// Every rank's tensors become those of `src`.
pub fn broadcast(tensors: Vec<Tensor>, src: i64) -> Result<PendingWork> {
    tensors.iter().try_for_each(Tensor::check_writable)?;
    begin(CollectiveKind::Broadcast { src: member(src, "src")? }, tensors, Vec::new())
}

/// The tensor of `dst` becomes what all make together.
pub fn reduce(x: &Tensor, dst: i64, op: Reduction) -> Result<PendingWork> {
    x.check_writable()?;
    begin(CollectiveKind::Reduce { dst: member(dst, "dst")?, op }, vec![x.clone()], Vec::new())
}

/// The tensors of all ranks, on each.
pub fn all_gather(x: &Tensor) -> Result<PendingWork> {
    let outputs = like(x, current()?.world(), "all_gather")?;
    begin(CollectiveKind::AllGather, vec![x.detach()], outputs)
}

/// The tensors of all ranks, on `dst`.
pub fn gather(x: &Tensor, dst: i64) -> Result<PendingWork> {
    let (dst, group) = (member(dst, "dst")?, current()?);
    let outputs = if group.rank() == dst { like(x, group.world(), "gather")? } else { Vec::new() };
    begin(CollectiveKind::Gather { dst }, vec![x.detach()], outputs)
}

/// Each rank has its own of the tensors that `src` gives; the others give none.
pub fn scatter(tensors: Option<Vec<Tensor>>, src: i64) -> Result<PendingWork> {
    let src = member(src, "src")?;
    let is_source = current()?.rank() == src;
    match &tensors {
        Some(all) if is_source => listed(all, "scatter")?,
        None if is_source => {
            return Err(Error::value("Argument ``scatter_list`` must be specified on source rank."));
        }
        Some(_) => {
            return Err(Error::value("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
                .with_hint("ranks that get their tensor give () in place of the list"));
        }
        None => {}
    }
    begin(CollectiveKind::Scatter { src }, tensors.unwrap_or_default(), Vec::new())
}

/// Rank i has what all make of the i-th tensors that they give.
pub fn reduce_scatter(tensors: Vec<Tensor>, op: Reduction) -> Result<PendingWork> {
    listed(&tensors, "reduce_scatter")?;
    let outputs = tensors.first().map_or(Ok(Vec::new()), |x| like(x, 1, "reduce_scatter"))?;
    begin(CollectiveKind::ReduceScatter(op), tensors, outputs)
}

/// All ranks get here before one goes on.
pub fn barrier() -> Result<PendingWork> {
    begin(CollectiveKind::Barrier, Vec::new(), Vec::new())
}

/// Gives a tensor to a rank, which receives it.
pub fn send(x: &Tensor, dst: i64) -> Result<PendingWork> {
    let dst = other(dst, "dst", "destination")?;
    begin(CollectiveKind::Send { dst }, vec![x.detach()], Vec::new())
}

/// A tensor of the form of `like` that a rank sends.
pub fn receive(form: &Tensor, src: i64) -> Result<PendingWork> {
    let src = other(src, "src", "source")?;
    begin(CollectiveKind::Recv { src }, Vec::new(), like(form, 1, "recv")?)
}

fn other(rank: i64, what: &str, word: &str) -> Result<usize> {
    let rank = member(rank, what)?;
    if rank == current()?.rank() {
        let text = format!(
            "Invalid {word} rank: {word} rank should not be the same as the rank of the current process."
        );
        return Err(Error::value(text));
    }
    Ok(rank)
}
