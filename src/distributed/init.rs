//! How a group comes to stand: within ranks it does already, and a process joins the one that its environment names.

use crate::base::{Error, Result};

use super::group::{Backend, Standing, become_member, confirm, leave, standing};
use super::processes::{self, Wish};

/// As `init_process_group`: within ranks the group stands already, and the first call says by which backend; another
/// process joins the ranks that its environment names.
///
/// # Errors
/// `ValueError` for a second call, for a backend that there is not, for a rank that this is not, and outside of ranks
/// where the environment names none; the other ranks can't be reached.
pub fn initialise(backend: Option<&str>, wish: Wish) -> Result<()> {
    let backend = match backend {
        None | Some("nccl" | "cpu:gloo,cuda:nccl") => Backend::ByDevice,
        Some("gloo") => Backend::Gloo,
        Some(other) => {
            let text = format!("Unknown c10d backend type {}", other.to_uppercase());
            return Err(Error::value(text).with_hint("the backends are \"nccl\", for GPUs, and \"gloo\""));
        }
    };
    match standing() {
        Standing::Asked => return Err(Error::value("trying to initialize the default process group twice!")),
        Standing::Member { rank, world } => {
            let told = |name: &str, wanted: Option<i64>, own: usize| match wanted {
                Some(wanted) if usize::try_from(wanted) != Ok(own) => {
                    Err(Error::value(format!("{name} is {own} for the calling rank, and got {wanted}")))
                }
                _ => Ok(()),
            };
            told("rank", wish.rank, rank)?;
            told("world_size", wish.world, world)?;
        }
        Standing::Alone => become_member(processes::join(wish)?),
    }
    confirm(backend);
    Ok(())
}

/// As `destroy_process_group`.
///
/// # Errors
/// There is no group.
pub fn destroy() -> Result<()> {
    super::group::dissolve()
}

/// The process ends: the ranks of other processes are told, with why where it failed.
pub fn end(failure: Option<(Error, Option<u32>)>) {
    leave();
    processes::end(failure);
}
