//! The script's modules: what is no row of the op table.

mod amp;
mod autograd;
mod checkpoint;
mod cuda;
mod data;
mod misc;
mod nn;
mod optim;
mod packed;
mod parallel;
mod parts;
mod plot;
mod scheduler;
pub mod telemetry;
mod types;

use std::sync::Arc;

use rhai::Engine;

use crate::base::Error;
use crate::base::near::nearest;
use crate::device::Machine;

pub use cuda::{Captured, Event, Stream};
pub use plot::figure_of;

use super::aside::Aside;
use super::call::{self, Here, ScriptRow, documented};
use super::engine::Host;

type RhaiResult<T> = Result<T, Box<rhai::EvalAltResult>>;

/// Registers every module.
pub fn register(engine: &mut Engine, machine: &Arc<Machine>, host: &Arc<dyn Host>, aside: &Aside) {
    let here = Arc::new(Here { machine: Arc::clone(machine), host: Arc::clone(host) });
    call::register(engine, rows(), &here);
    types::register(engine);
    amp::register(engine);
    checkpoint::register(engine, machine);
    autograd::register(engine);
    cuda::register(engine);
    data::register(engine, machine, aside);
    nn::register(engine, machine);
    optim::register(engine, machine, host);
    misc::register(engine);
    plot::register(engine, machine, host);
}

const _: () = {
    documented(autograd::ROWS);
    documented(misc::ROWS);
    documented(amp::ROWS);
    documented(telemetry::ROWS);
    documented(types::ROWS);
    cuda::documented();
};

/// Rows whose functions stand here.
pub fn rows() -> impl Iterator<Item = &'static ScriptRow> {
    let own = [autograd::ROWS, misc::ROWS, amp::ROWS, telemetry::ROWS, types::ROWS];
    own.into_iter().chain(cuda::rows()).flatten()
}

/// Help on what is no row of a table.
pub fn pages() -> impl Iterator<Item = &'static super::help::Page> {
    plot::PAGES.iter().chain(data::PAGES).chain(nn::PAGES).chain(optim::PAGES).chain(scheduler::PAGES)
}

/// Names of functions and modules outside the op table, for "did you mean" and completion.
pub fn names() -> Vec<&'static str> {
    let own = [data::NAMES, nn::NAMES, optim::NAMES, scheduler::NAMES, parallel::NAMES, plot::NAMES];
    let spaces = rows().flat_map(|row| row.def.forms).filter_map(|form| match form {
        crate::op::Form::Of(space) => Some(*space),
        _ => None,
    });
    let table = super::help::rows().map(|def| def.name);
    table.chain(spaces).chain(own.into_iter().flatten().copied()).chain(["print"]).collect()
}

/// The error of an option that `function` does not have.
pub fn unknown_option(function: &str, name: &str, known: &[&str]) -> Error {
    let error = Error::type_error(format!("{function}() got an unknown option '{name}'"));
    match nearest(name, known.iter().copied()) {
        Some(near) => error.with_hint(format!("did you mean `{near}`?")),
        None => error.with_hint(format!("options are {}", known.join(", "))),
    }
}
