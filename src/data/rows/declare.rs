//! What declares a row of this layer.

use crate::base::Result;
use crate::op::{Args, Family, Form, Gradient, OpDef, Param, Value};

pub(crate) const fn row(
    name: &'static str,
    summary: &'static str,
    params: &'static [Param],
    run: fn(&Args) -> Result<Value>,
) -> OpDef {
    OpDef::call(name, Family::Data, summary, params, run)
        .forms(&[Form::Of("data")])
        .gradient(Gradient::NoGrad("it makes values, and computes none from others"))
}
