//! `cuda::graph(|| …)`: captured once, replayed as one launch.

use std::sync::{Arc, Mutex, MutexGuard};

use rhai::{Dynamic, Engine, FnPtr, INT, Module, NativeCallContext};

use crate::base::{Error, Result};
use crate::device::{Graph, Machine};
use crate::script::bind::note_line;
use crate::script::fault::raise;

use super::{RhaiResult, gpu};

/// A captured graph, and what the closure gave.
#[derive(Clone)]
struct Captured {
    graph: Arc<Mutex<Option<Graph>>>,
    result: Dynamic,
}

pub(super) fn register(engine: &mut Engine, module: &mut Module, machine: &Arc<Machine>) {
    let m = Arc::clone(machine);
    module.set_native_fn("graph", move |ctx: NativeCallContext, body: FnPtr| capture(&m, &ctx, &body));
    let m = Arc::clone(machine);
    module.set_native_fn("is_current_stream_capturing", move || {
        Ok(gpu(&m, &Dynamic::UNIT).is_ok_and(|context| context.is_capturing()))
    });
    engine.register_type_with_name::<Captured>("CUDAGraph");
    let m = Arc::clone(machine);
    engine.register_fn("replay", move |ctx: NativeCallContext, g: &mut Captured| -> RhaiResult<()> {
        note_line(&m.shared, &ctx);
        g.replay(&m).map_err(raise)
    });
    engine.register_fn("reset", |g: &mut Captured| {
        g.slot().take();
        g.result = Dynamic::UNIT;
    });
    engine.register_fn("len", |g: &mut Captured| g.slot().as_ref().map_or(0, Graph::len) as INT);
    engine.register_get("result", |g: &mut Captured| g.result.clone());
    engine.register_fn("to_string", |g: &mut Captured| g.shown());
    engine.register_fn("to_debug", |g: &mut Captured| g.shown());
}

fn capture(machine: &Machine, ctx: &NativeCallContext, body: &FnPtr) -> RhaiResult<Captured> {
    note_line(&machine.shared, ctx);
    let context = gpu(machine, &Dynamic::UNIT).map_err(raise)?;
    let begun = machine.generator_state(context.device).unwrap_or_default();
    context.begin_capture().map_err(raise)?;
    let result = body.call_within_context::<Dynamic>(ctx, ());
    let graph = context.end_capture(machine, begun);
    // What the closure raised says more than what it did to the capture.
    let result = result?;
    let graph = graph.map_err(raise)?;
    Ok(Captured { graph: Arc::new(Mutex::new(Some(graph))), result })
}

impl Captured {
    fn slot(&self) -> MutexGuard<'_, Option<Graph>> {
        self.graph.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn replay(&self, machine: &Machine) -> Result<()> {
        match self.slot().as_ref() {
            Some(graph) => graph.replay(machine),
            None => Err(Error::runtime("Called CUDAGraph::replay without a preceding successful capture.")
                .with_hint("it was reset; `cuda::graph(|| …)` captures another one")),
        }
    }

    fn shown(&self) -> String {
        match self.slot().as_ref() {
            Some(graph) => format!("CUDAGraph({} launches on {})", graph.len(), graph.device()),
            None => "CUDAGraph(reset)".into(),
        }
    }
}
