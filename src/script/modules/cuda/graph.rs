//! `cuda::graph(|| …)`: captured once, replayed as one launch.

use std::sync::{Arc, Mutex, MutexGuard};

use rhai::{Dynamic, Engine, INT};

use crate::base::{Error, Result};
use crate::device::{Graph, Machine};
use crate::op::def::PROPERTY;
use crate::op::params::params;
use crate::op::{Family, Form, OpDef, Receiver};
use crate::script::call::kind::Function;
use crate::script::call::{Call, Outcome, ScriptRow};
use crate::script::modules::cuda::device::{NO_GPU, gpu};

params! {
    GraphParams {
        body: Function, "whose kernels are written down";
    }
}

pub(super) static ROWS: &[ScriptRow] = &[
    ScriptRow {
        def: OpDef::script("graph", Family::Cuda, "Writes down the kernels that a closure would launch, without running them; `replay()` launches all of them as one.", GraphParams::LIST)
        .forms(&[Form::Of("cuda")])
        .torch("torch.cuda.graph")
        .errors(&[NO_GPU, "DeviceError: the closure waits for the GPU, prints one of its tensors or copies from memory that is not pinned"])
        .details("It works on the same memory every time: what the closure makes has its values only after a replay.")
        .example("let x = ones(2, #{device: \"cuda\"}); let graph = cuda::graph(|| x.add_(1)); graph.replay(); graph.replay(); x.cpu()", "tensor([3., 3.])"),
        run: capture,
        set: None,
    },
    ScriptRow {
        def: OpDef::script("is_current_stream_capturing", Family::Cuda, "Whether work is being written down for a graph.", &[])
        .forms(&[Form::Of("cuda")])
        .example("cuda::is_current_stream_capturing()", "false"),
        run: |call| {
            Ok(gpu(call.machine(), None).is_ok_and(|context| context.is_capturing()).into())
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("replay", Family::Cuda, "Launches everything that was written down as one, on the same memory.", &[])
        .on(Receiver::Graph)
        .torch("torch.cuda.CUDAGraph.replay")
        .errors(&["RuntimeError: it was reset"])
        .example("let x = ones(2, #{device: \"cuda\"}); let graph = cuda::graph(|| x.add_(1)); graph.replay(); x.cpu()", "tensor([2., 2.])"),
        run: |call| {
            call.on::<Captured>()?.replay(call.machine())?;
            Ok(Dynamic::UNIT)
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("reset", Family::Cuda, "Gives the graph's memory back; it can't be replayed any more.", &[])
        .on(Receiver::Graph)
        .torch("torch.cuda.CUDAGraph.reset")
        .example("let x = ones(2, #{device: \"cuda\"}); let graph = cuda::graph(|| x.add_(1)); graph.reset(); graph.len()", "0"),
        run: reset,
        set: None,
    },
    ScriptRow {
        def: OpDef::script("len", Family::Cuda, "How many launches were written down.", &[])
        .on(Receiver::Graph)
        .own()
        .example("let x = ones(2, #{device: \"cuda\"}); let graph = cuda::graph(|| x.add_(1)); graph.len()", "1"),
        run: |call| Ok((call.on::<Captured>()?.slot().as_ref().map_or(0, Graph::len) as INT).into()),
        set: None,
    },
    ScriptRow {
        def: OpDef::script("result", Family::Cuda, "What the closure gave, with its values of the last replay.", &[])
        .on(Receiver::Graph)
        .forms(PROPERTY)
        .own()
        .example("let x = ones(2, #{device: \"cuda\"}); let graph = cuda::graph(|| x.add_(1)); graph.replay(); graph.result.cpu()", "tensor([2., 2.])"),
        run: |call| Ok(call.on::<Captured>()?.result),
        set: None,
    },
];

/// A captured graph, and what the closure gave.
#[derive(Clone)]
pub struct Captured {
    graph: Arc<Mutex<Option<Graph>>>,
    result: Dynamic,
}

/// The type with its printed form.
pub(super) fn register(engine: &mut Engine) {
    engine.register_type_with_name::<Captured>("CUDAGraph");
    engine.register_fn("to_string", |g: &mut Captured| g.shown());
    engine.register_fn("to_debug", |g: &mut Captured| g.shown());
}

fn capture(call: &mut Call) -> Outcome {
    let body = GraphParams::of(&call.args)?.body;
    let context = gpu(call.machine(), None)?;
    let begun = call.machine().generator_state(context.device).unwrap_or_default();
    context.begin_capture()?;
    let result = call.run(&body, ());
    let graph = Graph::end_capture(&context, call.machine(), begun);
    // What the closure raised says more than what it did to the capture.
    let result = result?;
    Ok(Dynamic::from(Captured { graph: Arc::new(Mutex::new(Some(graph?))), result }))
}

fn reset(call: &mut Call) -> Outcome {
    call.on::<Captured>()?.slot().take();
    if let Some(mut graph) = call.place().and_then(|place| place.write_lock::<Captured>()) {
        graph.result = Dynamic::UNIT;
    }
    Ok(Dynamic::UNIT)
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
