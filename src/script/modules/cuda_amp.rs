//! `cuda::amp::`: mixed precision under the names that PyTorch had before.

use crate::amp::ScalerOptions;
use crate::op::params::kind::{Bool, DType, Float, Int};
use crate::op::params::{Maybe, params};
use crate::op::{Family, Form, OpDef};
use crate::script::call::{Call, ScriptRow};
use crate::script::differs::{self, Difference};

use super::amp::{made, region};

params! {
    CudaAutocastParams {
        enabled: Bool = true, "false leaves every operation as it is, for a region inside another";
        dtype: Maybe<DType>, "what products and convolutions compute in: float16 where it is not given";
        cache_enabled: Maybe<Bool>, "keeps the casts of parameters until the outermost region ends (true)";
    }
}

params! {
    CudaGradScalerParams {
        init_scale: Float = 65536.0, "the first factor";
        growth_factor: Float = 2.0, "what the factor is multiplied by after growth_interval steps without overflow";
        backoff_factor: Float = 0.5, "what the factor is multiplied by after a step with overflow";
        growth_interval: Int = 2000, "steps without overflow until the factor grows";
        enabled: Bool = true, "false leaves losses and steps as they are";
    }
}

pub(super) static ROWS: &[ScriptRow] = &[
    ScriptRow::of(
        OpDef::script(
            "autocast",
            Family::Precision,
            "A region in which operations on GPUs choose their precision; the name before `autocast(\"cuda\")`.",
            CudaAutocastParams::LIST,
        )
        .forms(&[Form::Of("cuda::amp"), Form::With("cuda::amp")])
        .example("with cuda::amp::autocast() { is_autocast_enabled(\"cuda\") }", "true"),
        |call| {
            let given = CudaAutocastParams::of(&call.args)?;
            deprecated(call, Difference::OldAutocast, "autocast", "autocast");
            region(call, "cuda", given.dtype, given.enabled, given.cache_enabled)
        },
    ),
    ScriptRow::of(
        OpDef::script(
            "GradScaler",
            Family::Precision,
            "Scales losses on GPUs; the name before `amp::GradScaler(\"cuda\")`.",
            CudaGradScalerParams::LIST,
        )
        .forms(&[Form::Of("cuda::amp")])
        .errors(&["AssertionError: growth_factor is not above 1, or backoff_factor not below it"])
        .example("cuda::amp::GradScaler().get_scale()", "65536.0"),
        |call| {
            let given = CudaGradScalerParams::of(&call.args)?;
            deprecated(call, Difference::OldScaler, "GradScaler", "amp::GradScaler");
            let options = ScalerOptions {
                init_scale: given.init_scale,
                growth_factor: given.growth_factor,
                backoff_factor: given.backoff_factor,
                growth_interval: given.growth_interval,
                enabled: given.enabled,
            };
            made(call, "cuda", options)
        },
    ),
];

/// As PyTorch warns of the old names, once each.
fn deprecated(call: &Call, which: Difference, old: &str, new: &str) {
    differs::tell(&call.machine().shared, which, || {
        format!(
            "FutureWarning: `cuda::amp::{old}(args...)` is deprecated. Please use `{new}(\"cuda\", args...)` instead."
        )
    });
}
