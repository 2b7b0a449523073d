//! The seam between ranks: what each hands in, and waits for.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::base::{Error, Result};
use crate::tensor::Tensor;

/// The members of a group, as one of them sees it.
///
/// The k-th exchange that a rank takes part in is every rank's k-th, and the k-th thing that it sends to a rank is the
/// k-th that this one receives from it.
pub trait Group: Send + Sync {
    /// Which member this is, from 0.
    fn rank(&self) -> usize;

    /// How many members there are.
    fn world(&self) -> usize;

    /// Whether they are threads of one process.
    fn is_of_threads(&self) -> bool;

    /// Hands in this rank's part, and goes on.
    ///
    /// # Errors
    /// It does not go with what others handed in, or a rank has failed.
    fn post(&self, part: RankPart) -> Result<Ticket>;

    /// Waits for what the others hand in, and gives what came of it. Later work of this rank sees it.
    ///
    /// # Errors
    /// Others have failed, or will never hand in theirs.
    fn wait(&self, ticket: Ticket) -> Result<Vec<Tensor>>;

    /// Whether all have handed in theirs.
    fn is_done(&self, ticket: Ticket) -> bool;
}

/// How tensors of ranks become one: in the order of the ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Reduction {
    Sum,
    Avg,
    Product,
    Min,
    Max,
}

impl Reduction {
    /// PyTorch's names of all.
    pub const NAMES: [&str; 5] = ["sum", "avg", "product", "min", "max"];

    /// By PyTorch's name, such as `sum`.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn named(name: &str) -> Result<Reduction> {
        Ok(match name {
            "sum" => Reduction::Sum,
            "avg" => Reduction::Avg,
            "product" => Reduction::Product,
            "min" => Reduction::Min,
            "max" => Reduction::Max,
            _ => {
                let text = format!("there is no reduction \"{name}\"");
                return Err(Error::value(text).with_near(name, Reduction::NAMES).with_hint(
                    "tensors of ranks are put together by \"sum\", \"avg\", \"product\", \"min\" or \"max\"",
                ));
            }
        })
    }
}

/// What ranks do together; `src` and `dst` are ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum CollectiveKind {
    AllReduce(Reduction),
    Broadcast { src: usize },
    Reduce { dst: usize, op: Reduction },
    AllGather,
    Gather { dst: usize },
    Scatter { src: usize },
    ReduceScatter(Reduction),
    Barrier,
    Send { dst: usize },
    Recv { src: usize },
}

impl CollectiveKind {
    /// The function's name.
    pub fn name(self) -> &'static str {
        match self {
            CollectiveKind::AllReduce(_) => "all_reduce",
            CollectiveKind::Broadcast { .. } => "broadcast",
            CollectiveKind::Reduce { .. } => "reduce",
            CollectiveKind::AllGather => "all_gather",
            CollectiveKind::Gather { .. } => "gather",
            CollectiveKind::Scatter { .. } => "scatter",
            CollectiveKind::ReduceScatter(_) => "reduce_scatter",
            CollectiveKind::Barrier => "barrier",
            CollectiveKind::Send { .. } => "send",
            CollectiveKind::Recv { .. } => "recv",
        }
    }
}

impl fmt::Display for CollectiveKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        match self {
            CollectiveKind::AllReduce(Reduction::Sum) | CollectiveKind::ReduceScatter(Reduction::Sum) => {
                f.write_str(name)
            }
            CollectiveKind::AllReduce(op) | CollectiveKind::ReduceScatter(op) => {
                write!(f, "{name} by {}", format!("{op:?}").to_lowercase())
            }
            CollectiveKind::Broadcast { src }
            | CollectiveKind::Scatter { src }
            | CollectiveKind::Recv { src } => {
                write!(f, "{name} from rank {src}")
            }
            CollectiveKind::Reduce { dst, op: Reduction::Sum }
            | CollectiveKind::Gather { dst }
            | CollectiveKind::Send { dst } => {
                write!(f, "{name} to rank {dst}")
            }
            CollectiveKind::Reduce { dst, op } => {
                write!(f, "{name} by {} to rank {dst}", format!("{op:?}").to_lowercase())
            }
            CollectiveKind::AllGather | CollectiveKind::Barrier => f.write_str(name),
        }
    }
}

/// What a rank hands in.
pub struct RankPart {
    pub kind: CollectiveKind,
    /// Read, and written to where the exchange works in place.
    pub inputs: Vec<Tensor>,
    /// Only written to.
    pub outputs: Vec<Tensor>,
    /// Several ranks may have one GPU, as gloo lets them.
    pub(crate) through_host: bool,
}

impl RankPart {
    /// Of the calling rank.
    pub fn new(kind: CollectiveKind, inputs: Vec<Tensor>, outputs: Vec<Tensor>) -> RankPart {
        let through_host = MEMBER.with_borrow(|m| m.as_ref().is_some_and(|m| m.backend == Backend::Gloo));
        RankPart { kind, inputs, outputs, through_host }
    }
}

/// An exchange that a rank takes part in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Ticket {
    /// From one rank to another, or among all.
    pub between: Option<(usize, usize)>,
    pub number: u64,
}

/// What exchanges tensors.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Backend {
    /// Gloo for tensors on the CPU, NCCL for those on GPUs.
    ByDevice,
    Gloo,
}

/// What a thread knows of its group.
struct Member {
    group: Arc<dyn Group>,
    backend: Backend,
    /// `init_process_group` was called.
    asked: bool,
    stands: bool,
}

thread_local! {
    static MEMBER: RefCell<Option<Member>> = const { RefCell::new(None) };
}

/// Makes this thread a member.
pub(super) fn become_member(group: Arc<dyn Group>) {
    let member = Member { group, backend: Backend::ByDevice, asked: false, stands: true };
    MEMBER.with_borrow_mut(|m| *m = Some(member));
}

/// This thread is no member any more.
pub(super) fn leave() {
    let gone = MEMBER.take();
    drop(gone);
}

/// Whether this thread is a rank's.
pub fn in_ranks() -> bool {
    MEMBER.with_borrow(Option::is_some)
}

/// The number of a rank that is a thread of this process.
pub fn spawned_rank() -> Option<usize> {
    MEMBER.with_borrow(|m| m.as_ref().filter(|m| m.group.is_of_threads()).map(|m| m.group.rank()))
}

/// The group that the calling rank belongs to.
///
/// # Errors
/// `ValueError` where there is none.
pub fn current() -> Result<Arc<dyn Group>> {
    let group = MEMBER.with_borrow(|m| m.as_ref().filter(|m| m.stands).map(|m| Arc::clone(&m.group)));
    group.ok_or_else(|| {
        let text = "Default process group has not been initialized, please make sure to call init_process_group.";
        Error::value(text).with_hint(
            "`distributed::spawn(|rank, world| …)` starts ranks, in which the group stands from the beginning",
        )
    })
}

/// Whether the calling thread's group stands.
pub fn is_initialised() -> bool {
    current().is_ok()
}

/// How the calling thread stands to ranks.
pub(super) enum Standing {
    /// It is none.
    Alone,
    /// It is one, and `init_process_group` was not called, or the group was destroyed.
    Member { rank: usize, world: usize },
    /// It was called.
    Asked,
}

pub(super) fn standing() -> Standing {
    MEMBER.with_borrow(|member| match member {
        None => Standing::Alone,
        Some(member) if member.asked && member.stands => Standing::Asked,
        Some(member) => Standing::Member { rank: member.group.rank(), world: member.group.world() },
    })
}

/// The group stands, by a backend.
pub(super) fn confirm(backend: Backend) {
    MEMBER.with_borrow_mut(|member| {
        member.iter_mut().for_each(|m| (m.backend, m.asked, m.stands) = (backend, true, true));
    });
}

/// The group does not stand any more.
///
/// # Errors
/// There is none.
pub(super) fn dissolve() -> Result<()> {
    current()?;
    MEMBER.with_borrow_mut(|member| member.iter_mut().for_each(|m| m.stands = false));
    Ok(())
}
