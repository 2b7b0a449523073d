//! The script's modules: what is no row of the op table.

mod amp;
mod autograd;
mod averaged;
mod builtins;
pub(crate) mod casts;
mod checkpoint;
pub mod checks;
mod closures;
pub(crate) mod cuda;
mod cuda_amp;
pub(crate) mod data;
mod deepcopy;
mod defaults;
mod differing;
mod distributed;
mod distributions;
pub(crate) mod exits;
mod formats;
pub(crate) mod hook;
mod iterables;
mod jacobian;
mod limits;
mod membership;
mod misc;
pub(crate) mod nn;
pub(crate) mod optim;
pub(crate) mod own_function;
mod parallel;
mod picking;
mod plot;
mod raised;
mod read_alone;
mod receivers;
mod rng_state;
pub mod run_events;
mod scheduler;
pub mod telemetry;
mod types;

use std::sync::Arc;

use rhai::Engine;

use crate::device::Machine;
use crate::script::host::Host;

use super::aside::Aside;
use super::call::{self, Here, ScriptRow, Spaces, documented};
use super::indexing;

pub(crate) use crate::script::call::Current;
pub use crate::script::modules::plot::screen::Drawn;
pub use cuda::{Captured, Event, Stream};
pub use data::Batches;
pub use iterables::Progress;
pub use optim::ParamGroup;
pub(crate) use plot::figure_of;
pub(crate) use plot::screen::close as close_figure;
pub use run_events::RunEvents;

/// Registers every module.
pub(crate) fn register(
    engine: &mut Engine,
    machine: &Arc<Machine>,
    host: &Arc<dyn Host>,
    aside: &Aside,
    figure: &Current,
) {
    let here = Arc::new(Here {
        machine: Arc::clone(machine),
        host: Arc::clone(host),
        aside: aside.clone(),
        figure: Arc::clone(figure),
        type_of: receivers::type_of,
    });
    let mut spaces = Spaces::default();
    call::register(engine, rows(), &here, &mut spaces);
    types::register(engine, &machine.shared);
    amp::register(engine);
    autograd::register(engine);
    own_function::register(engine);
    closures::register(engine);
    exits::register(engine, host);
    distributions::register(engine);
    cuda::register(engine, &mut spaces);
    data::register(engine, &here, &mut spaces);
    nn::register(engine, machine, &mut spaces);
    nn::parts::register(engine);
    parallel::register(&machine.shared, &mut spaces);
    optim::register(engine, &here, &mut spaces);
    scheduler::register(engine, &here, &mut spaces);
    distributed::register(engine);
    misc::register(engine);
    casts::register(engine);
    iterables::register(engine);
    membership::register(engine);
    picking::register(engine, &machine.shared);
    read_alone::register(engine);
    run_events::register(engine);
    plot::register(engine);
    spaces.register(engine);
}

/// Rows whose functions stand here.
pub fn rows() -> impl Iterator<Item = &'static ScriptRow> {
    FILES.into_iter().chain(cuda::FILES).chain(nn::FILES).chain(plot::FILES).flatten()
}

/// Of modules of one file.
static FILES: [&[ScriptRow]; 26] = documented([
    autograd::ROWS,
    own_function::ROWS,
    jacobian::ROWS,
    misc::ROWS,
    deepcopy::ROWS,
    builtins::ROWS,
    formats::ROWS,
    raised::ROWS,
    amp::ROWS,
    cuda_amp::ROWS,
    telemetry::ROWS,
    types::ROWS,
    limits::ROWS,
    defaults::ROWS,
    checkpoint::ROWS,
    parallel::ROWS,
    distributed::ROWS,
    distributions::ROWS,
    averaged::ROWS,
    data::ROWS,
    rng_state::ROWS,
    optim::ROWS,
    scheduler::ROWS,
    checks::ROWS,
    run_events::ROWS,
    indexing::ROWS,
]);
