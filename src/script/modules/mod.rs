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

pub use plot::figure_of;

use super::aside::Aside;
use super::engine::Host;

type RhaiResult<T> = Result<T, Box<rhai::EvalAltResult>>;

/// Registers every module.
pub fn register(engine: &mut Engine, machine: &Arc<Machine>, host: &Arc<dyn Host>, aside: &Aside) {
    types::register(engine);
    amp::register(engine, machine, host);
    checkpoint::register(engine, machine);
    autograd::register(engine, machine);
    cuda::register(engine, machine);
    data::register(engine, machine, aside);
    telemetry::register(engine, machine);
    nn::register(engine, machine);
    optim::register(engine, machine, host);
    misc::register(engine, machine, host);
    plot::register(engine, machine, host);
}

/// Help on what is no row of a table.
pub fn pages() -> impl Iterator<Item = &'static super::help::Page> {
    plot::PAGES
        .iter()
        .chain(misc::PAGES)
        .chain(autograd::PAGES)
        .chain(data::PAGES)
        .chain(nn::PAGES)
        .chain(optim::PAGES)
        .chain(scheduler::PAGES)
        .chain(cuda::pages::PAGES)
        .chain(telemetry::PAGES)
}

/// Names of functions and modules outside the op table, for "did you mean" and completion.
pub fn names() -> Vec<&'static str> {
    let own = [
        types::NAMES,
        amp::NAMES,
        autograd::NAMES,
        cuda::NAMES,
        data::NAMES,
        telemetry::NAMES,
        misc::NAMES,
        nn::NAMES,
        optim::NAMES,
        scheduler::NAMES,
        parallel::NAMES,
        plot::NAMES,
    ];
    let table = super::help::rows().map(|def| def.name);
    table.chain(own.into_iter().flatten().copied()).collect()
}

/// The error of an option that `function` does not have.
pub fn unknown_option(function: &str, name: &str, known: &[&str]) -> Error {
    let error = Error::type_error(format!("{function}() got an unknown option '{name}'"));
    match nearest(name, known.iter().copied()) {
        Some(near) => error.with_hint(format!("did you mean `{near}`?")),
        None => error.with_hint(format!("options are {}", known.join(", "))),
    }
}

/// Names of dtypes and of what makes devices.
pub fn types() -> &'static [&'static str] {
    types::NAMES
}
