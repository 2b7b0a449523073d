//! Leaky units whose slopes are drawn.

use crate::base::{DType, Error, Result};
use crate::op::core::convert::to_dtype;
use crate::op::core::def::{BOTH, Domain, Draw, Family, OpDef, Sample};
use crate::op::core::fill::replaced_if;
use crate::op::core::params::{by_name, kind, params};
use crate::op::core::promote::only_floats;
use crate::op::core::record::no_grad;
use crate::op::core::shapes;
use crate::op::core::value::Value;
use crate::op::elementwise::arithmetic::mul;
use crate::op::elementwise::choose::where_;
use crate::op::elementwise::comparison::le;
use crate::op::index::places::masked_scatter;
use crate::op::random::uniform_normal::uniform_;
use crate::op::reduce::sums::sum;
use crate::tensor::Tensor;

use super::functions::leaky_relu;
use super::variants::row;

/// `x` where positive, elsewhere times a slope: one drawn for each element while training, the mean of the bounds
/// otherwise.
pub fn rrelu(x: &Tensor, lower: f64, upper: f64, training: bool) -> Result<Tensor> {
    if lower > upper {
        return Err(Error::runtime("Lower bound should be less than or equal to the upper bound"));
    }
    if !training {
        return leaky_relu(x, 0.5 * (lower + upper));
    }
    only_floats(x.dtype(), "rrelu_with_noise_out_cpu")?;
    let slopes = {
        let _off = no_grad();
        let below = le(x, 0i64)?;
        let draw = |shape: &[usize], dtype| -> Result<Tensor> {
            to_dtype(
                &uniform_(&Tensor::empty(shape, dtype, &x.context(), "rrelu")?, lower, upper)?,
                x.dtype(),
            )
        };
        if x.device().is_cuda() {
            let dtype = if x.dtype() == DType::Float64 { DType::Float64 } else { DType::Float32 };
            where_(&below, (&draw(x.shape(), dtype)?).into(), 1.0.into())?
        } else {
            // The CPU's generator is asked for those alone, in double precision.
            let count = usize::try_from(sum(&below, None, false)?.item()?.as_i64()).unwrap_or(0);
            let ones = Tensor::full(x.shape(), 1i64.into(), x.dtype(), &x.context(), "rrelu")?;
            masked_scatter(&ones, &below, &draw(&[count], DType::Float64)?)?
        }
    };
    mul(x, &slopes)
}

params! {
    RreluParams {
        input: kind::Tensor, "the tensor it is computed of";
        lower: kind::Float = 1.0 / 8.0, "the least slope";
        upper: kind::Float = 1.0 / 3.0, "the greatest slope";
        training: kind::Bool = false, "whether slopes are drawn";
        inplace: kind::Bool = false, "whether it writes to its input, which saves memory";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[row(
    "rrelu",
    Family::Activation,
    "`x` where positive, elsewhere times a slope, which is drawn for each element while training.",
    RreluParams::LIST,
    by_name!(RreluParams, |a| {
        replaced_if(a.inplace, a.input, |x| rrelu(x, a.lower, a.upper, a.training)).map(Value::from)
    }),
)
.forms(BOTH)
.details("Outside of training the slope is the mean of the bounds.")
.shapes(shapes::SAME)
.errors(&[shapes::NO_FLOAT, "RuntimeError: `lower` is above `upper`"])
.example("F::rrelu(tensor([-1.0, 2.0]), 0.1, 0.3)", "tensor([-0.2000,  2.0000])")
.samples(&[Sample::of("F::rrelu(x)", &[Draw::of("x", &[3, 4], Domain::Any)])])];
