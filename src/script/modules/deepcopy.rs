//! `deepcopy`: a copy of a value with all that it leads to.

use rhai::Dynamic;

use crate::op::def::FUNCTION;
use crate::op::params::params;
use crate::op::{Family, OpDef};
use crate::script::call::ScriptRow;
use crate::script::call::kind::Given;
use crate::script::lender::Lender;

params! {
    DeepcopyParams {
        x: Given, "a network, an optimiser, a tensor, an array or a map of them, or anything else";
    }
}

pub(super) static ROWS: &[ScriptRow] = &[ScriptRow::of(
    OpDef::script(
        "deepcopy",
        Family::Session,
        "A copy of a value with copies of all that it leads to: a network of its own with the same weights.",
        DeepcopyParams::LIST,
    )
    .forms(FUNCTION)
    .torch("copy.deepcopy")
    .details(
        "What is one thing in several places has one copy: tied weights stay tied, and views look at the copy's memory. \
         Gradients and hooks are copied as well. Functions stay the same ones. An optimiser's copy has copies of its \
         parameters: of a network and its optimiser together, `let both = deepcopy([net, optimiser]);`.",
    )
    .errors(&[
        "RuntimeError: a tensor was computed in the graph; `x.detach().clone()` is outside it",
        "RuntimeError: a network holds itself, or values lie within each other 200 deep",
        "TypeError: there is no copy of what it holds, such as a handle of a hook",
        "OutOfMemoryError: the device has no room for the copies",
    ])
    .example("let net = nn::Linear(1, 1); let twin = deepcopy(net); twin.weight.data.fill_(3.0); \
              twin.weight.equal(net.weight)", "false"),
    |call| {
        let DeepcopyParams { x, .. } = DeepcopyParams::of(&call.args)?;
        let mut lender = Lender::for_deepcopy(&call.machine().generator);
        let copy: Dynamic = lender.of_learner(&x.flatten_clone())?;
        Ok(copy)
    },
)];
