//! `autograd::functional`: all derivatives of a function at once, and their products with vectors.

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

params! {
    ProductParams {
        func: Function, "is called with the inputs, one after the other, and gives a tensor or an array of them";
        inputs: Given, "the tensor, or an array of tensors, at which derivatives are taken";
        v: Given = (), "the vector, a tensor or an array of them; may be left out where it would have one element";
        create_graph: Bool = false, "records how the product comes to be, for derivatives of it";
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
            let _on = set_grad_mode(true);
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
            let _on = set_grad_mode(true);
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
    ScriptRow::of(
        OpDef::script(
            "vjp",
            Family::Autograd,
            "What a function gives, and the product of a vector with its derivatives: one backward pass.",
            ProductParams::LIST,
        )
        .forms(SPACE)
        .details("The vector is as the output: `v @ J`. It gives `[output, product]`, and the product is as the inputs.")
        .errors(PRODUCT_ERRORS)
        .example(
            "autograd::functional::vjp(|x| x * x, tensor([1.0, 3.0]), ones(2))",
            "[tensor([1., 9.]), tensor([2., 6.])]",
        ),
        |call| product(call, Side::Left),
    ),
    ScriptRow::of(
        OpDef::script(
            "jvp",
            Family::Autograd,
            "What a function gives, and the product of its derivatives with a vector: two backward passes.",
            ProductParams::LIST,
        )
        .forms(SPACE)
        .details(
            "The vector is as the inputs: `J @ v`, how fast the output changes where the inputs change by `v`. It gives \
             `[output, product]`, and the product is as the output. The function is computed once, and goes backward \
             twice, so that its gradients must have gradients.",
        )
        .errors(PRODUCT_ERRORS)
        .example(
            "autograd::functional::jvp(|x| x.sum(), tensor([1.0, 3.0]), tensor([1.0, 0.5]))",
            "[tensor(4.), tensor(1.5000)]",
        ),
        |call| product(call, Side::Right),
    ),
];

const PRODUCT_ERRORS: &[&str] = &[
    "TypeError: the function gives something else than tensors",
    "RuntimeError: `v` has another size than what it is multiplied with, or is missing",
    "RuntimeError: an input holds integers",
    "Error: whatever the function fails with",
];

/// Where the vector of a product stands.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Left,
    Right,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Side::Left => "vjp",
            Side::Right => "jvp",
        }
    }
}

fn product(call: &mut Call, side: Side) -> Outcome {
    let _on = set_grad_mode(true);
    let given = ProductParams::of(&call.args)?;
    let (xs, one_input) = prepared(&given.inputs, given.create_graph)?;
    let (outputs, one_output) = {
        let output = ran(call, &given.func, &xs)?;
        listed(&output, &format!("the function of {}()", side.name()))?
    };
    let beside = match side {
        Side::Left => (outputs.as_slice(), one_output),
        Side::Right => (xs.as_slice(), one_input),
    };
    let v = vector(&given.v, beside, side)?;
    let graph = given.create_graph;
    let found = match side {
        Side::Left => pulled(call, &outputs, &xs, &v, graph)?,
        Side::Right => {
            // The product is linear in the vector from the left, and its derivative by that is the other product.
            let lefts = outputs.iter().map(zero_leaf).collect::<Result<Vec<_>>>()?;
            let pulled_back = pulled(call, &outputs, &xs, &lefts, true)?;
            pulled(call, &pulled_back, &lefts, &v, graph)?
        }
    };
    let is_one = if side == Side::Left { one_input } else { one_output };
    let kept = |all: Vec<Tensor>| all.into_iter().map(|t| if graph { t } else { t.detach() }).collect();
    let (outputs, found): (Vec<Tensor>, Vec<Tensor>) = (kept(outputs), kept(found));
    Ok(Dynamic::from_array(vec![alone(outputs, one_output), alone(found, is_one)]))
}

fn zero_leaf(like: &Tensor) -> Result<Tensor> {
    let zeros = Tensor::full(like.shape(), 0i64.into(), like.dtype(), &like.context(), "zeros_like")?;
    zeros.set_requires_grad(true)?;
    Ok(zeros)
}

/// The vector of a product, which is as `beside`.
fn vector(v: &Dynamic, (beside, is_one): (&[Tensor], bool), side: Side) -> Result<Vec<Tensor>> {
    if v.is_unit() {
        let text = match side {
            Side::Left => "the user-provided function returns a single Tensor with a single element",
            Side::Right => "the input to the user-provided function is a single Tensor with a single element",
        };
        return match beside {
            [only] if is_one && only.numel() == 1 => {
                Ok(vec![Tensor::full(only.shape(), 1i64.into(), only.dtype(), &only.context(), "ones_like")?])
            }
            _ => Err(Error::runtime(format!("The vector v can only be None if {text}."))
                .with_hint("give `v`: a tensor as that one is, or an array of them")),
        };
    }
    let (v, _) = listed(v, "`v`")?;
    if v.len() != beside.len() {
        let text = format!("v is a tuple of invalid length: should be {} but got {}.", beside.len(), v.len());
        return Err(Error::runtime(text).with_hint("one tensor for each"));
    }
    if let Some((v, beside)) = v.iter().zip(beside).find(|(v, beside)| v.shape() != beside.shape()) {
        return Err(Error::runtime(format!(
            "v has invalid size: should be torch.Size({:?}) but got torch.Size({:?}).",
            beside.shape(),
            v.shape()
        )));
    }
    Ok(v)
}

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
    pulled(call, std::slice::from_ref(output), xs, &[], create_graph)
}

/// The gradients of inputs for those of outputs (1 where an output has one element and none is given); zeros where nothing
/// depends on an input.
fn pulled(
    call: &Call,
    outputs: &[Tensor],
    xs: &[Tensor],
    seeds: &[Tensor],
    create_graph: bool,
) -> std::result::Result<Vec<Tensor>, Raised> {
    let zeros = |x: &Tensor| Tensor::full(x.shape(), 0i64.into(), x.dtype(), &x.context(), "zeros_like");
    let tracked = |(at, output): (usize, &Tensor)| output.requires_grad().then_some(at);
    let tracked: Vec<usize> = outputs.iter().enumerate().filter_map(tracked).collect();
    if tracked.is_empty() {
        return Ok(xs.iter().map(zeros).collect::<Result<_>>()?);
    }
    let again = Again::new(call.context);
    let inputs: Vec<&Tensor> = xs.iter().collect();
    let pass = Pass { retain_graph: true, create_graph };
    let some: Vec<&Tensor> = tracked.iter().filter_map(|&at| outputs.get(at)).collect();
    let seeds: Vec<Option<&Tensor>> = tracked.iter().map(|&at| seeds.get(at)).collect();
    let found = Tensor::grads_of_by(&some, &inputs, &seeds, pass, &again).map_err(|e| again.raised(e))?;
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
    let rows: Vec<Dynamic> = all.into_iter().map(|row| alone(row, one_input)).collect();
    alone(rows, one_output)
}

/// An array, or the one that was given alone.
fn alone<T: Clone + Send + Sync + 'static>(items: Vec<T>, is_one: bool) -> Dynamic {
    let mut items: Array = items.into_iter().map(Dynamic::from).collect();
    match items.pop() {
        Some(only) if is_one && items.is_empty() => only,
        last => Dynamic::from_array(items.into_iter().chain(last).collect()),
    }
}
