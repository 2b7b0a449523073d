//! Automatic mixed precision: regions of autocast, and scaling of gradients.

pub mod autocast;
pub mod scaler;

pub use autocast::Autocast;
pub use scaler::{GradScaler, Options, Steps};

use crate::op::def::DefaultValue as D;
use crate::op::{Args, Family, Form, Gradient, Object, OpDef, Param, ParamKind, Value};

/// What a script calls. A script's binding also shows the warnings that the constructors give.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "autocast",
        Family::Precision,
        "A region in which operations choose their precision: `with autocast(\"cuda\") { … }`.",
        &[
            Param::required("device_type", ParamKind::Str),
            Param::optional("dtype", ParamKind::DType, D::None),
            Param::optional("enabled", ParamKind::Bool, D::Bool(true)),
            Param::optional("cache_enabled", ParamKind::Bool, D::None),
        ],
        |a| Ok(Value::Object(Object::new("autocast", Autocast::of(a)?.0))),
    )
    .forms(&[Form::Function])
    .gradient(Gradient::NoGrad("it makes a context; gradients pass through its casts"))
    .details(
        "Products and convolutions compute in `dtype` (float16 on CUDA devices, bfloat16 on the CPU), operations that \
         need range or precision in float32, all others in the dtypes they are given. Casts of parameters are kept \
         until the outermost region ends. Leave the region before `backward()`.",
    )
    .example(
        "let x = ones([2, 2]); with autocast(\"cpu\") { x @ x }",
        "tensor([[2., 2.],\n        [2., 2.]], dtype=torch.bfloat16)",
    ),
    OpDef::call(
        "GradScaler",
        Family::Precision,
        "Scales losses so that small float16 gradients do not vanish, and skips steps that overflowed.",
        &[
            Param::optional("device", ParamKind::Str, D::Str("cuda")),
            Param::optional("init_scale", ParamKind::Float, D::Float(65536.0)),
            Param::optional("growth_factor", ParamKind::Float, D::Float(2.0)),
            Param::optional("backoff_factor", ParamKind::Float, D::Float(0.5)),
            Param::optional("growth_interval", ParamKind::Int, D::Int(2000)),
            Param::optional("enabled", ParamKind::Bool, D::Bool(true)),
        ],
        |a| Ok(Value::Object(Object::new("GradScaler", scaler(a)?.0))),
    )
    .forms(&[Form::Of("amp")])
    .gradient(Gradient::NoGrad("it makes a scaler; what it scales has one"))
    .details(
        "Each iteration: `scaler.scale(loss).backward()`, `scaler.step(opt)`, `scaler.update()`; `scaler.unscale_(opt)` \
         before the step makes the gradients readable, for clipping. Also `get_scale state_dict load_state_dict`.",
    )
    .example("amp::GradScaler(#{device: \"cpu\", init_scale: 1024.0}).get_scale()", "1024.0"),
];

impl Autocast {
    /// From the arguments of the row, with a warning.
    pub fn of(a: &Args) -> crate::base::Result<(Autocast, Option<String>)> {
        let cache_enabled = if a.is_none(3) { None } else { Some(a.bool(3)?) };
        Autocast::new(a.str(0)?, a.dtype(1), a.bool(2)?, cache_enabled)
    }
}

/// A scaler from the arguments of the row, with a warning.
pub fn scaler(a: &Args) -> crate::base::Result<(GradScaler, Option<&'static str>)> {
    let options = Options {
        init_scale: a.float(1)?,
        growth_factor: a.float(2)?,
        backoff_factor: a.float(3)?,
        growth_interval: a.int(4)?,
        enabled: a.bool(5)?,
    };
    GradScaler::new(a.str(0)?, options)
}

/// The row of a name in this layer.
pub fn find(name: &str) -> Option<&'static OpDef> {
    ROWS.iter().find(|def| def.name == name)
}
