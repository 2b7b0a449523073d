//! `autograd::functional`: all derivatives of a function at once.

use rhai::{Array, Dynamic, FnPtr};

use crate::base::{Dims, Error, Result};
use crate::op::def::Form;
use crate::op::params::kind::Bool;
use crate::op::params::params;
use crate::op::shape::join::stack;
use crate::op::shape::part::select;
use crate::op::shape::view::{reshape_to, sizes, view};
use crate::op::{Family, OpDef};
use crate::script::call::kind::{Function, Given};
use crate::script::call::{Call, Outcome, Raised, ScriptRow};
use crate::script::value::type_name;
use crate::tensor::Tensor;
use crate::tensor::autograd::set_grad_mode;
use crate::tensor::backward::Pass;

use super::checkpoint::Again;

params! {
    JacobianParams {
        func: Function, "is called with the inputs, one after the other, and gives a tensor or an array of them";
        inputs: Given, "the tensor, or an array of tensors, at which derivatives are taken";
        create_graph: Bool = false, "records how the derivatives come to be, for derivatives of them";
    }
}

params! {
    HessianParams {
        func: Function, "is called with the inputs, one after the other, and gives a tensor with one element";
        inputs: Given, "the tensor, or an array of tensors, at which derivatives are taken";
        create_graph: Bool = false, "records how the derivatives come to be, for derivatives of them";
    }
}

const SPACE: &[Form] = &[Form::Of("autograd::functional")];

pub(super) static ROWS: &[ScriptRow] = &[
    ScriptRow::of(
        OpDef::script(
            "jacobian",
            Family::Autograd,
            "Every derivative of what a function gives by every element of its inputs.",
            JacobianParams::LIST,
        )
        .forms(SPACE)
        .details(
            "A backward pass for each element of the output. Of several inputs, or several outputs, it gives arrays: \
             `j[output][input]`. What an output does not depend on has zeros.",
        )
        .shapes("inputs of shape I, outputs of shape O -> (O…, I…)")
        .errors(&[
            "TypeError: the function gives something else than tensors",
            "RuntimeError: an input holds integers",
            "Error: whatever the function fails with",
        ])
        .example(
            "autograd::functional::jacobian(|x| x * x, tensor([1.0, 3.0]))",
            "tensor([[2., 0.],\n        [0., 6.]])",
        ),
        |call| {
            let given = JacobianParams::of(&call.args)?;
            let (xs, one_input) = prepared(&given.inputs, given.create_graph)?;
            let output = ran(call, &given.func, &xs)?;
            let (outputs, one_output) = listed(&output, "the function of jacobian()")?;
            let all = jacobian(call, &outputs, &xs, given.create_graph)?;
            Ok(nested(all, one_output, one_input))
        },
    ),
    ScriptRow::of(
        OpDef::script(
            "hessian",
            Family::Autograd,
            "Every second derivative of a number that a function gives by the elements of its inputs.",
            HessianParams::LIST,
        )
        .forms(SPACE)
        .details("Of several inputs it gives arrays: `h[input][input]`.")
        .shapes("inputs of shape I -> (I…, I…)")
        .errors(&[
            "RuntimeError: the function gives more than one element",
            "RuntimeError: an input holds integers",
            "TypeError: the function gives something else than a tensor",
            "Error: whatever the function fails with",
        ])
        .example(
            "autograd::functional::hessian(|x| x.pow(3).sum(), tensor([1.0, 2.0]))",
            "tensor([[ 6.,  0.],\n        [ 0., 12.]])",
        ),
        |call| {
            let given = HessianParams::of(&call.args)?;
            let (xs, one_input) = prepared(&given.inputs, given.create_graph)?;
            let output = ran(call, &given.func, &xs)?;
            let output = match listed(&output, "the function of hessian()")? {
                (all, true) => all,
                _ => return Err(Error::runtime("The function given to hessian should return a single Tensor").into()),
            };
            if output.iter().any(|output| output.numel() != 1) {
                let text = "The Tensor returned by the function given to hessian should contain a single element";
                return Err(Error::runtime(text).with_hint("`.sum()` or `.mean()` makes one of several").into());
            }
            let first = gradients(call, output.first().ok_or_else(|| Error::runtime("no output"))?, &xs, true)?;
            let all = jacobian(call, &first, &xs, given.create_graph)?;
            Ok(nested(all, one_input, one_input))
        },
    ),
];

/// The inputs as the function gets them: with a graph of their own, or behind that which they have.
fn prepared(inputs: &Dynamic, create_graph: bool) -> Result<(Vec<Tensor>, bool)> {
    let (all, is_one) = listed(inputs, "`inputs`")?;
    let one = |t: &Tensor| {
        if create_graph && t.requires_grad() {
            return view(t, &sizes(t));
        }
        let own = t.detach();
        own.set_requires_grad(true)?;
        Ok(own)
    };
    Ok((all.iter().map(one).collect::<Result<_>>()?, is_one))
}

/// A tensor, or an array of tensors, and whether it was one alone.
fn listed(value: &Dynamic, what: &str) -> Result<(Vec<Tensor>, bool)> {
    let one = |value: &Dynamic| {
        value.read_lock::<Tensor>().map(|t| t.clone()).ok_or_else(|| {
            let got = type_name(value);
            Error::type_error(format!("{what} must be a Tensor or an array of tensors, not {got}"))
        })
    };
    match value.read_lock::<Array>() {
        Some(items) => Ok((items.iter().map(one).collect::<Result<_>>()?, false)),
        None => Ok((vec![one(value)?], true)),
    }
}

fn ran(call: &Call, func: &FnPtr, xs: &[Tensor]) -> Outcome {
    let _on = set_grad_mode(true);
    let args: Vec<Dynamic> = xs.iter().map(|x| Dynamic::from(x.clone())).collect();
    call.run(func, args)
}

/// The derivatives of one element by each input; zeros where it does not depend on one.
fn gradients(
    call: &Call,
    output: &Tensor,
    xs: &[Tensor],
    create_graph: bool,
) -> std::result::Result<Vec<Tensor>, Raised> {
    let zeros = |x: &Tensor| Tensor::full(x.shape(), 0i64.into(), x.dtype(), &x.context(), "zeros_like");
    if !output.requires_grad() {
        return Ok(xs.iter().map(zeros).collect::<Result<_>>()?);
    }
    let again = Again::new(call.context);
    let inputs: Vec<&Tensor> = xs.iter().collect();
    let pass = Pass { retain_graph: true, create_graph };
    let found = Tensor::grads_of_by(&[output], &inputs, &[], pass, &again).map_err(|e| again.raised(e))?;
    let found = found.into_iter().zip(xs).map(|(grad, x)| grad.map_or_else(|| zeros(x), Ok));
    Ok(found.collect::<Result<_>>()?)
}

/// For each output the derivatives by each input.
fn jacobian(
    call: &Call,
    outputs: &[Tensor],
    xs: &[Tensor],
    create_graph: bool,
) -> std::result::Result<Vec<Vec<Tensor>>, Raised> {
    let mut all = Vec::new();
    for output in outputs {
        let _on = set_grad_mode(true);
        let flat = reshape_to(output, &[output.numel()])?;
        let mut rows: Vec<Vec<Tensor>> = Vec::new();
        for i in 0..output.numel() {
            call.machine().shared.cancel.check()?;
            rows.push(gradients(call, &select(&flat, 0, i as i64)?, xs, create_graph)?);
        }
        let by_input = xs.iter().enumerate().map(|(at, x)| {
            let shape: Dims = output.shape().iter().chain(x.shape()).copied().collect();
            let parts: Vec<&Tensor> = rows.iter().filter_map(|row| row.get(at)).collect();
            match parts.is_empty() {
                true => Tensor::full(&shape, 0i64.into(), x.dtype(), &x.context(), "zeros"),
                false => reshape_to(&stack(&parts, 0)?, &shape),
            }
        });
        all.push(by_input.collect::<Result<Vec<_>>>()?);
    }
    Ok(all)
}

/// Arrays of arrays, without those of one that was given alone.
fn nested(all: Vec<Vec<Tensor>>, one_output: bool, one_input: bool) -> Dynamic {
    let alone = |mut items: Vec<Dynamic>, is_one: bool| match items.pop() {
        Some(only) if is_one && items.is_empty() => only,
        last => Dynamic::from_array(items.into_iter().chain(last).collect()),
    };
    let rows = all.into_iter().map(|row| alone(row.into_iter().map(Dynamic::from).collect(), one_input));
    alone(rows.collect(), one_output)
}
