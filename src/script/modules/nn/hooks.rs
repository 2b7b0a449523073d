//! Rows of the hooks of modules.

use std::sync::Arc;

use rhai::Dynamic;

use crate::nn::Module;
use crate::nn::hooks::HookTime;
use crate::op::args::FUNCTION;
use crate::op::params::kind::Bool;
use crate::op::params::params;
use crate::op::{Object, Value};
use crate::optim::lr_scheduler;
use crate::script::call::kind::Function;
use crate::script::call::{Call, Outcome, ScriptRow};
use crate::script::value::Callback;

use super::method::method;

params! {
    ForwardHookParams {
        hook: Function, "is called with the module, the array of its inputs, and its output";
        prepend: Bool = false, "has it run before the hooks that are there";
    }
}

params! {
    ForwardPreHookParams {
        hook: Function, "is called with the module and the array of its inputs";
        prepend: Bool = false, "has it run before the hooks that are there";
    }
}

params! {
    BackwardHookParams {
        hook: Function, "is called with the module, and arrays of the gradients of its inputs and of its outputs";
        prepend: Bool = false, "has it run before the hooks that are there";
    }
}

params! {
    BackwardPreHookParams {
        hook: Function, "is called with the module and an array of the gradients of its outputs";
        prepend: Bool = false, "has it run before the hooks that are there";
    }
}

pub(super) static ROWS: &[ScriptRow] = &[
    ScriptRow::of(
        method(
            "register_forward_hook",
            "Has every call of the module call a closure with what went in and what came out.",
            ForwardHookParams::LIST,
        )
        .changing()
        .torch("torch.nn.Module.register_forward_hook")
        .shapes("what the module takes and gives")
        .details(
            "What the closure gives, its last line's value, goes on in the output's place; `()` leaves it as it is. A call is `net.forward(x)`, \
             and that of a network which holds the module. Gives a handle: `handle.remove()` takes the hook away. Options of \
             a call, such as masks, are not among the inputs. `output.register_hook(|g| …)` in it sees the gradient as \
             well. The copies of a network on several GPUs have its hooks; checks of lessons run none. A closure that \
             captures the network keeps it alive until the hook is removed.",
        )
        .errors(&["TypeError: in the middle of a network the closure gave something else than a Tensor"])
        .example(
            "let seen = []; let net = nn::Sequential(nn::Linear(2, 3), nn::ReLU()); \
             net[0].register_forward_hook(|m, inputs, output| { seen.push(output.shape); () }); net.forward(ones([4, 2])); seen",
            "[[4, 3]]",
        ),
        |call| {
            let given = ForwardHookParams::of(&call.args)?;
            register(call, HookTime::After, Callback::new(given.hook), given.prepend)
        },
    ),
    ScriptRow::of(
        method(
            "register_forward_pre_hook",
            "Has every call of the module call a closure with what goes in.",
            ForwardPreHookParams::LIST,
        )
        .changing()
        .torch("torch.nn.Module.register_forward_pre_hook")
        .shapes("what the module takes")
        .details(
            "An array that the closure gives are the inputs that go on, anything else the only one; `()` leaves them as \
             they are. Gives a handle: `handle.remove()` takes the hook away.",
        )
        .errors(&["TypeError: the module takes tensors, and the closure gave something else"])
        .example(
            "let relu = nn::ReLU(); relu.register_forward_pre_hook(|m, inputs| inputs[0] + 1); relu.forward(tensor([-3.0, 0.5]))",
            "tensor([0.0000, 1.5000])",
        ),
        |call| {
            let given = ForwardPreHookParams::of(&call.args)?;
            register(call, HookTime::Before, Callback::new(given.hook), given.prepend)
        },
    ),
    ScriptRow::of(
        method(
            "register_full_backward_hook",
            "Has every backward pass call a closure with the gradients of a call's inputs and outputs.",
            BackwardHookParams::LIST,
        )
        .changing()
        .torch("torch.nn.Module.register_full_backward_hook")
        .shapes("each gradient has the shape of what it is of")
        .details(
            "The closure gets arrays: a gradient for each input of the call, () for one that has none, and one for each \
             output. It is called once the gradients of the inputs are there, which are all () where no input has any. \
             An array that it gives, or a tensor in the place of one, goes on in the place of the inputs' gradients; `()` \
             leaves them. What goes in and comes out must not be changed in place. Gives a handle, whose `remove()` takes \
             the hook away.",
        )
        .errors(&[
            "RuntimeError, in the backward pass: the closure gave another number of gradients",
            "RuntimeError: what goes in or comes out is changed in place, as `nn::ReLU(#{inplace: true})` does",
        ])
        .example(
            "let seen = []; let layer = nn::Linear(2, 3); \
             layer.register_full_backward_hook(|m, grads, outs| { seen.push([grads[0].shape, outs[0].shape]); () }); \
             layer.forward(ones([4, 2], #{requires_grad: true})).sum().backward(); seen",
            "[[[4, 2], [4, 3]]]",
        ),
        |call| {
            let given = BackwardHookParams::of(&call.args)?;
            register(call, HookTime::Backward, Callback::new(given.hook), given.prepend)
        },
    ),
    ScriptRow::of(
        method(
            "register_full_backward_pre_hook",
            "Has every backward pass call a closure with the gradients of a call's outputs, before those of the inputs are computed.",
            BackwardPreHookParams::LIST,
        )
        .changing()
        .torch("torch.nn.Module.register_full_backward_pre_hook")
        .shapes("each gradient has the shape of its output")
        .details(
            "An array that the closure gives, or a tensor in the place of one, goes on in the place of the gradients; `()` \
             leaves them. Gives a handle, whose `remove()` takes the hook away.",
        )
        .errors(&["RuntimeError, in the backward pass: the closure gave another number of gradients"])
        .example(
            "let layer = nn::Linear(2, 1); layer.register_full_backward_pre_hook(|m, outs| outs[0] * 10); \
             layer.forward(ones([1, 2])).sum().backward(); layer.bias.grad",
            "tensor([10.])",
        ),
        |call| {
            let given = BackwardPreHookParams::of(&call.args)?;
            register(call, HookTime::BackwardBefore, Callback::new(given.hook), given.prepend)
        },
    ),
];

fn register(call: &Call, time: HookTime, hook: Callback, in_front: bool) -> Outcome {
    let function: lr_scheduler::Function = Arc::new(hook);
    let value = Value::Object(Object::new(FUNCTION, function));
    Ok(Dynamic::from(call.on::<Module>()?.register_hook(time, value, in_front)))
}
