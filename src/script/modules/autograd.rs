//! Gradients: `backward`, `.grad`, grad mode.

use std::sync::Arc;

use rhai::{Array, Dynamic, Engine};

use crate::base::{Error, Result};
use crate::device::Machine;
use crate::op::params::kind::{Bool, Tensor as AnyTensor};
use crate::op::params::{Maybe, params};
use crate::op::{Family, Form, OpDef, Receiver};
use crate::script::call::kind::{Function, Given};
use crate::script::call::{Call, Outcome, ScriptRow};
use crate::script::modules::hook::{Hook, context};
use crate::script::value::{Callback, type_name};
use crate::tensor::Tensor;
use crate::tensor::autograd::{Watch, grad_enabled, set_grad_mode, set_watch};
use crate::tensor::backward::Pass;
use crate::tensor::hooks::Handle;

use super::checkpoint::Again;

params! {
    BackwardParams {
        gradient: Maybe<AnyTensor>, "what the result's gradient is taken to be; a result of one element needs none (1.0)";
        retain_graph: Bool = false, "keeps the graph, so that another pass can go through it";
        create_graph: Bool = false, "records the pass itself, for gradients of gradients; keeps the graph as well";
    }
}

params! {
    GradParams {
        outputs: Given, "the tensor, or an array of tensors, whose gradients are asked for";
        inputs: Given, "the tensor, or an array of tensors, with respect to which they are asked for";
        grad_outputs: Given = (), "the outputs' own gradients, one tensor for each that has more than one element";
        retain_graph: Bool = false, "keeps the graph, so that another pass can go through it";
        create_graph: Bool = false, "records the pass itself, for gradients of gradients; keeps the graph as well";
        only_inputs: Bool = true, "does nothing, as in PyTorch, which warns of it where it is off";
        allow_unused: Maybe<Bool>, "gives () for an input that the outputs do not depend on, in place of an error";
        materialize_grads: Bool = false, "gives zeros for such an input";
    }
}

params! {
    DetectAnomalyParams {
        check_nan: Bool = true, "makes NaN in a gradient an error at the operation that gave it";
    }
}

params! {
    InferenceModeParams {
        mode: Bool = true, "false records operations inside the block, whatever stands around it";
    }
}

params! {
    SetGradEnabledParams {
        mode: Bool, "true records operations inside the block, false does not";
    }
}

params! {
    RegisterHookParams {
        hook: Function, "is called with the gradient, whole and once in every pass";
    }
}

const NO_GRAPH: &str = "RuntimeError: the result depends on nothing that requires gradients, or its graph was freed by an \
                        earlier pass";

const NO_LEAF: &str = "`.grad` of a tensor that is no leaf is (): `backward()` leaves gradients at leaves, and at what \
                       `retain_grad()` was called on before it";

const MODE: &[Form] = &[Form::Function, Form::With("")];

pub(super) static ROWS: &[ScriptRow] = &[
    ScriptRow {
        def: OpDef::script(
            "backward",
            Family::Autograd,
            "Computes the gradient of a result with respect to every leaf that it was made from, and adds it to `.grad`.",
            BackwardParams::LIST,
        )
        .on(Receiver::Tensor)
        .torch("torch.Tensor.backward")
        .shapes("`gradient` has the shape of the result; each `.grad` has the shape of its leaf")
        .errors(&[
            NO_GRAPH,
            "RuntimeError: the result has more than one element and no `gradient` was given",
            "RuntimeError: a tensor that the pass needs was changed in place since",
        ])
        .details(
            "Gradients add up from pass to pass: `opt.zero_grad()` or `x.grad = ()` starts anew. Only leaves with \
             `requires_grad` get a `.grad`; `retain_grad()` asks for that of another tensor.",
        )
        .example(
            "let x = tensor([1.0, 2.0], #{requires_grad: true}); (x * x).sum().backward(); x.grad",
            "tensor([2., 4.])",
        ),
        run: backward,
        set: None,
    },
    ScriptRow {
        def: OpDef::script("grad", Family::Autograd, "The gradient that `backward()` left at a tensor, or ().", &[])
            .on(Receiver::Tensor)
            .forms(&[Form::Property])
            .torch("torch.Tensor.grad")
            .shapes("that of the tensor")
            .errors(&[
                "RuntimeError: what is assigned has another shape",
                "TypeError: what is assigned is neither a Tensor nor ()",
            ])
            .details("It can be assigned: `x.grad = ()` forgets it.")
            .example(
                "let x = tensor(3.0, #{requires_grad: true}); (x * x).backward(); x.grad",
                "tensor(6.)",
            ),
        run: |call| {
            let x = call.on::<Tensor>()?;
            if !x.is_leaf() && x.grad().is_none() && !x.retains_grad() {
                call.machine().shared.warn(NO_LEAF);
            }
            Ok(x.grad().map_or(Dynamic::UNIT, Dynamic::from))
        },
        set: Some(set_grad),
    },
    ScriptRow::of(
        OpDef::script("data", Family::Autograd, "The values of a tensor, outside the graph: what is written there is written into the tensor, and no graph sees it.", &[])
            .on(Receiver::Tensor)
            .forms(&[Form::Property])
            .torch("torch.Tensor.data")
            .shapes("that of the tensor")
            .errors(&[
                "RuntimeError: what is assigned has another shape, or is of integers where the tensor requires gradients",
                "TypeError: what is assigned is no Tensor",
            ])
            .details(
                "`detach()` gives the same values, and `backward()` complains where they were changed after the graph \
                 kept them; here it computes wrong gradients instead. `p.data = t` replaces the values.",
            )
            .example(
                "let p = nn::Parameter(ones(2)); p.data[0] = 5.0; p",
                "tensor([5., 1.], requires_grad=True)",
            ),
        |call| Ok(Dynamic::from(call.on::<Tensor>()?.data())),
    )
    .set(set_data),
    ScriptRow {
        def: OpDef::script(
            "grad",
            Family::Autograd,
            "Gradients of some tensors with respect to others, as values; no `.grad` is written.",
            GradParams::LIST,
        )
        .forms(&[Form::Of("autograd")])
        .shapes("one gradient for each input, of its shape")
        .errors(&[
            NO_GRAPH,
            "RuntimeError: an input was not used, and allow_unused is false",
            "ValueError: allow_unused is false, and materialize_grads true",
        ])
        .example(
            "let x = tensor(3.0, #{requires_grad: true}); autograd::grad(x * x, x)[0]",
            "tensor(6.)",
        ),
        run: grads,
        set: None,
    },
    ScriptRow {
        def: OpDef::script(
            "no_grad",
            Family::Autograd,
            "Operations inside the block record no graph: their results require no gradients.",
            &[],
        )
        .forms(MODE)
        .details(
            "For evaluation and for changing parameters by hand. Memory that a graph would keep is free at once. The \
             mode before comes back after the block, on an error too.",
        )
        .example(
            "let x = ones(2, #{requires_grad: true}); with no_grad() { (x * 2).requires_grad }",
            "false",
        ),
        run: |_| context("no_grad", || Ok(set_grad_mode(false))),
        set: None,
    },
    ScriptRow::of(
        OpDef::script(
            "inference_mode",
            Family::Autograd,
            "Operations inside the block record no graph, as with `no_grad()`.",
            InferenceModeParams::LIST,
        )
        .forms(MODE)
        .details("What is made inside is an ordinary tensor here: it may be used in a graph afterwards, which PyTorch refuses.")
        .example(
            "let x = ones(2, #{requires_grad: true}); with inference_mode() { (x * 2).requires_grad }",
            "false",
        ),
        |call| {
            let infers = InferenceModeParams::of(&call.args)?.mode;
            context("inference_mode", move || Ok(set_grad_mode(!infers)))
        },
    ),
    ScriptRow {
        def: OpDef::script(
            "enable_grad",
            Family::Autograd,
            "Operations inside the block record their graph again, within a `no_grad()`.",
            &[],
        )
        .forms(MODE)
        .example(
            "let x = ones(2, #{requires_grad: true}); with no_grad() { with enable_grad() { (x * 2).requires_grad } }",
            "true",
        ),
        run: |_| context("enable_grad", || Ok(set_grad_mode(true))),
        set: None,
    },
    ScriptRow {
        def: OpDef::script(
            "set_grad_enabled",
            Family::Autograd,
            "Turns the recording of graphs on or off inside the block.",
            SetGradEnabledParams::LIST,
        )
        .forms(MODE)
        .example(
            "let x = ones(2, #{requires_grad: true}); with set_grad_enabled(false) { (x * 2).requires_grad }",
            "false",
        ),
        run: |call| {
            let mode = SetGradEnabledParams::of(&call.args)?.mode;
            context("set_grad_enabled", move || Ok(set_grad_mode(mode)))
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script(
            "is_grad_enabled",
            Family::Autograd,
            "Whether operations record their graph here.",
            &[],
        )
        .example("with no_grad() { is_grad_enabled() }", "false"),
        run: |_| Ok(grad_enabled().into()),
        set: None,
    },
    ScriptRow {
        def: OpDef::script(
            "detect_anomaly",
            Family::Autograd,
            "Inside the block, errors of a backward pass name the line of the operation they come from, and NaN in a \
             gradient is such an error.",
            DetectAnomalyParams::LIST,
        )
        .forms(&[Form::Function, Form::Of("autograd"), Form::With("")])
        .torch("torch.autograd.detect_anomaly")
        .errors(&["RuntimeError: a function of the pass gave NaN"])
        .example(
            "let x = ones(1, #{requires_grad: true}); with detect_anomaly() { (x * 3).sum().backward(); } x.grad",
            "tensor([3.])",
        ),
        run: |call| {
            let how = if DetectAnomalyParams::of(&call.args)?.check_nan { Watch::Nan } else { Watch::Lines };
            context("detect_anomaly", move || Ok(set_watch(how)))
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script(
            "register_hook",
            Family::Autograd,
            "Has every backward pass call a closure with the tensor's gradient.",
            RegisterHookParams::LIST,
        )
        .on(Receiver::Tensor)
        .torch("torch.Tensor.register_hook")
        .shapes("the closure gets and gives a gradient of the tensor's shape and dtype")
        .errors(&["RuntimeError: the tensor requires no gradients"])
        .details(
            "A tensor that the closure gives goes on in the gradient's place; `()` leaves it as it is. Hooks run in the \
             order in which they were registered, and before `.grad` is written. Gives a handle: `handle.remove()` takes \
             the hook away. A closure that captures the tensor itself keeps it alive.",
        )
        .example(
            "let x = ones(1, #{requires_grad: true}); let handle = x.register_hook(|g| g * 10); \
             (x * 2).sum().backward(); x.grad",
            "tensor([20.])",
        ),
        run: |call| {
            let hook = Arc::new(Hook(Callback::new(RegisterHookParams::of(&call.args)?.hook)));
            Ok(Dynamic::from(call.on::<Tensor>()?.register_hook(hook)?))
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script(
            "remove",
            Family::Autograd,
            "Takes away the hook that the handle is of; a second time does nothing.",
            &[],
        )
        .on(Receiver::Handle)
        .torch("torch.utils.hooks.RemovableHandle.remove")
        .example(
            "let x = ones(1, #{requires_grad: true}); let handle = x.register_hook(|g| g * 10); handle.remove(); \
             (x * 2).sum().backward(); x.grad",
            "tensor([2.])",
        ),
        run: |call| {
            call.on::<Handle>()?.remove();
            Ok(Dynamic::UNIT)
        },
        set: None,
    },
];

/// What no row has: types, and a setter for a property that the table of operations has.
pub(crate) fn register(engine: &mut Engine) {
    use crate::script::fault::raise;
    engine.register_set("requires_grad", |x: &mut Tensor, on: bool| x.set_requires_grad(on).map_err(raise));
    engine.register_type_with_name::<Handle>("RemovableHandle");
}

fn backward(call: &mut Call) -> Outcome {
    let given = BackwardParams::of(&call.args)?;
    let pass = Pass { retain_graph: given.retain_graph, create_graph: given.create_graph };
    let again = Again::new(call.context);
    call.on::<Tensor>()?.backward_by(given.gradient, pass, &again).map_err(|e| again.raised(e))?;
    Ok(Dynamic::UNIT)
}

fn set_grad(call: &mut Call, value: &Dynamic) -> Result<()> {
    let x = call.on::<Tensor>()?;
    let grad = match value.read_lock::<Tensor>() {
        Some(g) if g.shape() != x.shape() => {
            let (got, want) = (g.shape().to_vec(), x.shape());
            let text = format!(
                "attempting to assign a gradient of size '{got:?}' to a tensor of size '{want:?}'. Please ensure that the \
                 gradient and the tensor are the same size"
            );
            return Err(Error::runtime(text));
        }
        Some(g) if g.device() != x.device() => {
            let text = format!(
                "attempting to assign a gradient on {} to a tensor on {}. Please ensure that the gradient and the tensor \
                 are on the same device",
                g.device(),
                x.device()
            );
            return Err(Error::runtime(text)
                .with_hint(format!("`.to(\"{}\")` copies the gradient there", x.device())));
        }
        Some(g) if g.dtype() != x.dtype() => {
            let text = format!(
                "attempting to assign a gradient with dtype '{}' to a tensor with dtype '{}'. The gradient must match the \
                 tensor's dtype",
                g.dtype(),
                x.dtype()
            );
            return Err(Error::runtime(text));
        }
        Some(g) => Some(g.clone()),
        None if value.is_unit() => None,
        None => {
            let text = format!("a gradient is a Tensor or (), not {}", type_name(value));
            return Err(Error::type_error(text));
        }
    };
    x.set_grad(grad)
}

fn set_data(call: &mut Call, value: &Dynamic) -> Result<()> {
    let Some(source) = value.read_lock::<Tensor>() else {
        let text = format!("Variable data has to be a tensor, but got {}", type_name(value));
        return Err(Error::type_error(text));
    };
    call.on::<Tensor>()?.set_data(&source)
}

fn grads(call: &mut Call) -> Outcome {
    let given = GradParams::of(&call.args)?;
    let (outputs, inputs) = (tensors(&given.outputs)?, tensors(&given.inputs)?);
    let seeds = if given.grad_outputs.is_unit() { Vec::new() } else { tensors(&given.grad_outputs)? };
    let (outputs, inputs): (Vec<&Tensor>, Vec<&Tensor>) = (outputs.iter().collect(), inputs.iter().collect());
    let seeds: Vec<Option<&Tensor>> = seeds.iter().map(Some).collect();
    let pass = Pass { retain_graph: given.retain_graph, create_graph: given.create_graph };
    let again = Again::new(call.context);
    if !given.only_inputs {
        Machine::current().shared.warn_once(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other \
             parts of the graph, please use torch.autograd.backward.",
        );
    }
    let allowed = given.allow_unused.unwrap_or(given.materialize_grads);
    if given.materialize_grads && !allowed {
        let text = "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.";
        return Err(Error::value(text).into());
    }
    let mut found =
        Tensor::grads_of_by(&outputs, &inputs, &seeds, pass, &again).map_err(|e| again.raised(e))?;
    if given.materialize_grads {
        for (grad, input) in found.iter_mut().zip(&inputs).filter(|(grad, _)| grad.is_none()) {
            *grad = Some(Tensor::full(
                input.shape(),
                0i64.into(),
                input.dtype(),
                &input.context(),
                "zeros_like",
            )?);
        }
    }
    if let Some(i) = found.iter().position(Option::is_none).filter(|_| !allowed) {
        let text = format!(
            "The differentiated Tensor at index {i} appears to not have been used in the graph. Set \
             allow_unused=True if this is the desired behavior."
        );
        return Err(Error::runtime(text)
            .with_hint("with `#{allow_unused: true}` its gradient is `()`")
            .into());
    }
    let all: Array = found.into_iter().map(|g| g.map_or(Dynamic::UNIT, Dynamic::from)).collect();
    Ok(all.into())
}

fn tensors(value: &Dynamic) -> Result<Vec<Tensor>> {
    let one = |v: &Dynamic| {
        v.read_lock::<Tensor>()
            .map(|t| t.clone())
            .ok_or_else(|| Error::type_error(format!("a Tensor is expected, but got {}", type_name(v))))
    };
    match value.read_lock::<Array>() {
        Some(items) => items.iter().map(one).collect(),
        None => Ok(vec![one(value)?]),
    }
}
