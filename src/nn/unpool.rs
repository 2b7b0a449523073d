//! Pools undone, and pools that take norms, as modules.

use crate::base::{Error, Result, python};
use crate::nn::made::constructor;
use crate::op::convolution::norms::{LP_ERRORS, LpWindowParams, lp_pool};
use crate::op::convolution::unpool::{Unpool, max_unpool};
use crate::op::def::DefaultValue;
use crate::op::params::{Maybe, Written, by_name, kind, params};
use crate::op::{Args, OpDef, Value, shapes};
use crate::tensor::Tensor;

use super::activation::Simple;
use super::convolution::{ints, spread};
use super::module::{Call, Layer, Module, Parts, call_row};

struct MaxUnpool {
    dims: usize,
    pool: Unpool,
}

impl Layer for MaxUnpool {
    fn name(&self) -> &str {
        ["MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d"].get(self.dims - 1).copied().unwrap_or_default()
    }

    fn options(&self, _: &Module) -> String {
        let [size, stride, padding] =
            [&self.pool.size, &self.pool.stride, &self.pool.padding].map(|v| python::tuple(v));
        format!("kernel_size={size}, stride={stride}, padding={padding}")
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        match call.inputs {
            [input, indices] => max_unpool(self.dims, input, indices, &self.pool),
            many => {
                let text =
                    format!("{}.forward() takes an input and indices, not {}", self.name(), many.len());
                Err(Error::type_error(text))
            }
        }
    }

    fn call_row(&self) -> Option<&'static OpDef> {
        static ROW: OpDef = call_row("forward", MaxUnpoolCall::LIST);
        Some(&ROW)
    }

    fn respond(&self, _: &Call, args: &Args) -> Result<Value> {
        let MaxUnpoolCall { input, indices, output_size, .. } = MaxUnpoolCall::of(args)?;
        let pool = Unpool { output: output_size, ..self.pool.clone() };
        max_unpool(self.dims, input, indices, &pool).map(Value::from)
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        match name {
            "kernel_size" => Some(ints(&self.pool.size)),
            "stride" => Some(ints(&self.pool.stride)),
            "padding" => Some(ints(&self.pool.padding)),
            _ => None,
        }
    }
}

params! {
    MaxUnpoolCall {
        input: kind::Tensor, "the largest elements of windows, `[channels, …]` or a batch of them";
        indices: kind::Tensor, "where they lay, as a pool gives it with `return_indices`";
        output_size: Maybe<kind::Ints>, "which of the sizes that a stride leaves open the output has";
    }
}

params! {
    MaxUnpoolParams {
        kernel_size: kind::Ints, "how large the pool's window was, along all dimensions or along each";
        stride: kind::Ints => DefaultValue::Ints(&[]), "how far it moved on; without it by its own size";
        padding: kind::Ints = 0, "how wide its border was";
    }
}

params! {
    LpPoolParams {
        norm_type: Written<kind::Float>, "which norm: 1 sums, 2 the root of squares, infinity the largest magnitude";
        ..window: LpWindowParams;
    }
}

fn unpool(a: MaxUnpoolParams, dims: usize) -> Result<Value> {
    let stride = if a.stride.is_empty() { a.kernel_size.clone() } else { a.stride };
    let [size, stride, padding] = [a.kernel_size, stride, a.padding].map(|v| spread(v, dims));
    let pool = Unpool { size, stride, padding, output: None };
    Module::new(MaxUnpool { dims, pool }, Parts::new()).map(Module::into_value)
}

fn norms(a: LpPoolParams, args: &Args, dims: usize, name: &'static str) -> Result<Value> {
    let ((p, _), pool) = (a.norm_type, a.window.pool());
    let run = move |c: &Call| lp_pool(dims, c.only()?, p, &pool);
    let shown = |value: &Value| match value {
        Value::List(items) if items.is_empty() => Value::None,
        other => other.clone(),
    };
    let module =
        args.each().fold(Simple::new(name, run), |m, (param, value)| m.option(param.name, &shown(value)));
    module.module()
}

const CALL_ERRORS: &[&str] = &[
    "TypeError: it is called without indices",
    "RuntimeError: the input has another number of dimensions",
    "RuntimeError: the indices have another shape than the input, or are not int64, or lie outside of the output",
    "ValueError: `output_size` is none of those that the stride leaves open",
];

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor("MaxUnpool1d", "Puts the largest elements of windows back where they lay, in zeros.", MaxUnpoolParams::LIST, by_name!(MaxUnpoolParams, |a| unpool(a, 1)))
        .details("`layer.forward(x, indices, output_size)` chooses among the sizes that a stride leaves open.")
        .shapes("(N, C, L), indices (N, C, L) -> (N, C, L_out); N may be left out")
        .errors(CALL_ERRORS)
        .example("nn::MaxUnpool1d(2, 1)", "MaxUnpool1d(kernel_size=(2,), stride=(1,), padding=(0,))"),
    constructor("MaxUnpool2d", "Puts the largest elements of windows back where they lay, in zeros.", MaxUnpoolParams::LIST, by_name!(MaxUnpoolParams, |a| unpool(a, 2)))
        .details("`layer.forward(x, indices, output_size)` chooses among the sizes that a stride leaves open.")
        .shapes("(N, C, H, W), indices (N, C, H, W) -> (N, C, H_out, W_out); N may be left out")
        .errors(CALL_ERRORS)
        .example(
            "let pool = nn::MaxPool2d(2, #{return_indices: true}); let found = pool.forward(tensor([[[1.0, 4.0], [3.0, 2.0]]])); nn::MaxUnpool2d(2).forward(found[0], found[1])",
            "tensor([[[0., 4.],\n         [0., 0.]]])",
        ),
    constructor("MaxUnpool3d", "Puts the largest elements of windows back where they lay, in zeros.", MaxUnpoolParams::LIST, by_name!(MaxUnpoolParams, |a| unpool(a, 3)))
        .details("`layer.forward(x, indices, output_size)` chooses among the sizes that a stride leaves open.")
        .shapes("(N, C, D, H, W), indices of the same -> (N, C, D_out, H_out, W_out); N may be left out")
        .errors(CALL_ERRORS)
        .example("nn::MaxUnpool3d(2)", "MaxUnpool3d(kernel_size=(2, 2, 2), stride=(2, 2, 2), padding=(0, 0, 0))"),
    constructor("LPPool1d", "The norm of each window along the last dimension.", LpPoolParams::LIST, by_name!(LpPoolParams, |a, args| norms(a, args, 1, "LPPool1d")))
        .shapes(shapes::AVG1D)
        .errors(LP_ERRORS)
        .example("nn::LPPool1d(2, 3)", "LPPool1d(norm_type=2, kernel_size=3, stride=None, ceil_mode=False)"),
    constructor("LPPool2d", "The norm of each window of the last two dimensions.", LpPoolParams::LIST, by_name!(LpPoolParams, |a, args| norms(a, args, 2, "LPPool2d")))
        .shapes(shapes::AVG2D)
        .errors(LP_ERRORS)
        .example("nn::LPPool2d(2, 2).forward(tensor([[[1.0, 1.0], [1.0, 1.0]]]))", "tensor([[[2.]]])"),
    constructor("LPPool3d", "The norm of each window of the last three dimensions.", LpPoolParams::LIST, by_name!(LpPoolParams, |a, args| norms(a, args, 3, "LPPool3d")))
        .shapes(shapes::AVG3D)
        .errors(LP_ERRORS)
        .example("nn::LPPool3d(1.5, 2)", "LPPool3d(norm_type=1.5, kernel_size=2, stride=None, ceil_mode=False)"),
];
