//! Pools over as many windows as asked for, and the layer of pools that can say where their elements lay.

use crate::base::Result;
use crate::nn::made::constructor;
use crate::op::convolution::adaptive::{ADAPTIVE_ERRORS, adaptive_avg_pool3d, adaptive_max};
use crate::op::convolution::adaptive_size::windows;
use crate::op::params::{by_name, kind, params};
use crate::op::{Args, OpDef, Value, shapes};
use crate::tensor::Tensor;

use super::activation::Simple;
use super::module::{Call, Layer, Module, Parts, call_row};

type Placed = dyn Fn(&Tensor) -> Result<(Tensor, Tensor)> + Send + Sync;

/// A pool that gives `[values, indices]`.
pub(super) struct WithPlaces {
    shown: Simple,
    run: Box<Placed>,
}

impl WithPlaces {
    /// `shown` is the same pool without places.
    pub(super) fn module(
        shown: Simple,
        run: impl Fn(&Tensor) -> Result<(Tensor, Tensor)> + Send + Sync + 'static,
    ) -> Result<Value> {
        Module::new(WithPlaces { shown, run: Box::new(run) }, Parts::new()).map(Module::into_value)
    }
}

impl Layer for WithPlaces {
    fn name(&self) -> &str {
        self.shown.name()
    }

    fn options(&self, module: &Module) -> String {
        self.shown.options(module)
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        self.shown.forward(call)
    }

    fn call_row(&self) -> Option<&'static OpDef> {
        static ROW: OpDef = call_row("forward", PlacesCall::LIST);
        Some(&ROW)
    }

    fn respond(&self, _: &Call, args: &Args) -> Result<Value> {
        let (values, places) = (self.run)(PlacesCall::of(args)?.input)?;
        Ok(Value::List(vec![values.into(), places.into()]))
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        self.shown.attribute(name)
    }
}

params! {
    PlacesCall {
        input: kind::Tensor, "what the window slides over, `[channels, …]` or a batch of them";
    }
}

params! {
    AdaptiveMaxPoolParams {
        output_size: kind::Any, "how many windows there are, along all dimensions or along each; () keeps a size";
        return_indices: kind::Bool = false, "whether the places of the largest elements are given too";
    }
}

params! {
    AdaptiveAvgPool3dParams {
        output_size: kind::Any, "how many means there are, along all dimensions or along each; () keeps a size";
    }
}

fn largest<const DIMS: usize>(a: AdaptiveMaxPoolParams, name: &'static str) -> Result<Value> {
    let size = windows("adaptive_max_pool", a.output_size, DIMS)?;
    let run = move |x: &Tensor| adaptive_max::<DIMS>(x, &size);
    let shown = {
        let run = run.clone();
        let indices = Value::Scalar(a.return_indices.into());
        let simple = Simple::new(name, move |c: &Call| Ok(run(c.only()?)?.0));
        simple.option("output_size", a.output_size).hidden("return_indices", &indices)
    };
    if a.return_indices { WithPlaces::module(shown, run) } else { shown.module() }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor(
        "AdaptiveMaxPool1d",
        "The largest elements of nearly equal parts of the last dimension, as many as asked for.",
        AdaptiveMaxPoolParams::LIST,
        by_name!(AdaptiveMaxPoolParams, |a| largest::<1>(a, "AdaptiveMaxPool1d")),
    )
    .shapes(shapes::ADAPTIVE1D)
    .errors(ADAPTIVE_ERRORS)
    .example("nn::AdaptiveMaxPool1d(3)", "AdaptiveMaxPool1d(output_size=3)"),
    constructor(
        "AdaptiveMaxPool2d",
        "The largest elements of nearly equal parts of the plane, as many as asked for.",
        AdaptiveMaxPoolParams::LIST,
        by_name!(AdaptiveMaxPoolParams, |a| largest::<2>(a, "AdaptiveMaxPool2d")),
    )
    .shapes(shapes::ADAPTIVE2D)
    .errors(ADAPTIVE_ERRORS)
    .example("nn::AdaptiveMaxPool2d([3, ()])", "AdaptiveMaxPool2d(output_size=(3, None))"),
    constructor(
        "AdaptiveMaxPool3d",
        "The largest elements of nearly equal parts of the last three dimensions, as many as asked for.",
        AdaptiveMaxPoolParams::LIST,
        by_name!(AdaptiveMaxPoolParams, |a| largest::<3>(a, "AdaptiveMaxPool3d")),
    )
    .shapes(shapes::ADAPTIVE3D)
    .errors(ADAPTIVE_ERRORS)
    .example("nn::AdaptiveMaxPool3d(2)", "AdaptiveMaxPool3d(output_size=2)"),
    constructor(
        "AdaptiveAvgPool3d",
        "The means of nearly equal parts of the last three dimensions, as many as asked for.",
        AdaptiveAvgPool3dParams::LIST,
        by_name!(AdaptiveAvgPool3dParams, |a, args| {
            let size = windows("adaptive_avg_pool", a.output_size, 3)?;
            let run = move |c: &Call| adaptive_avg_pool3d(c.only()?, &size);
            Simple::new("AdaptiveAvgPool3d", run).options_of(args).module()
        }),
    )
    .shapes(shapes::ADAPTIVE3D)
    .errors(ADAPTIVE_ERRORS)
    .example("nn::AdaptiveAvgPool3d(3)", "AdaptiveAvgPool3d(output_size=3)"),
];
