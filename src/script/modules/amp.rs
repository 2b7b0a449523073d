//! `autocast(…)` and `amp::`: mixed precision.

use rhai::{Array, Dynamic, Engine, Map};

use crate::amp::scaler::Snapshot;
use crate::amp::{Autocast, GradScaler, ScalerOptions, Steps, autocast};
use crate::base::{self, Error, Result};
use crate::op::params::kind::{Bool, DType, Float, Int, Str};
use crate::op::params::{Maybe, params};
use crate::op::{Family, Form, OpDef, Receiver};
use crate::optim::Optimizer;
use crate::script::call::kind::{Entries, Given, Typed};
use crate::script::call::{Call, Outcome, ScriptRow};
use crate::script::value::type_name;
use crate::tensor::Tensor;

use crate::script::modules::hook::context;

params! {
    AutocastParams {
        device_type: Str = "cuda", "the kind of device whose operations choose: \"cuda\" or \"cpu\"";
        dtype: Maybe<DType>, "what products and convolutions compute in: float16 on CUDA devices, bfloat16 on the CPU";
        enabled: Bool = true, "false leaves every operation as it is, for a region inside another";
        cache_enabled: Maybe<Bool>, "keeps the casts of parameters until the outermost region ends (true)";
    }
}

params! {
    GradScalerParams {
        device: Str = "cuda", "the kind of device whose losses are scaled";
        init_scale: Float = 65536.0, "the first factor";
        growth_factor: Float = 2.0, "what the factor is multiplied by after growth_interval steps without overflow";
        backoff_factor: Float = 0.5, "what the factor is multiplied by after a step with overflow";
        growth_interval: Int = 2000, "steps without overflow until the factor grows";
        enabled: Bool = true, "false leaves losses and steps as they are";
    }
}

params! {
    ScaleParams {
        outputs: Given, "a loss, or an array of losses";
    }
}

params! {
    OptimizerParams {
        optimizer: Optimizer, "whose parameters have the gradients";
    }
}

params! {
    UpdateParams {
        new_scale: Maybe<Float>, "the factor from now on, in place of the rule's";
    }
}

params! {
    FactorParams {
        factor: Float, "the factor from now on";
    }
}

params! {
    IntervalParams {
        interval: Int, "steps without overflow from now on";
    }
}

params! {
    StateParams {
        state: Entries, "what state_dict() gave";
    }
}

params! {
    DeviceTypeParams {
        device_type: Str, "the kind of device that is asked about: \"cuda\" or \"cpu\"";
    }
}

macro_rules! with_scaler {
    ($after:literal) => {
        concat!("let scaler = amp::GradScaler(#{device: \"cpu\", init_scale: 1024.0}); ", $after)
    };
}

pub(super) static ROWS: &[ScriptRow] = &[
    ScriptRow {
        def: OpDef::script(
            "autocast",
            Family::Precision,
            "A region in which operations choose their precision.",
            AutocastParams::LIST,
        )
        .forms(&[Form::Function, Form::With(""), Form::Of("amp"), Form::With("amp")])
        .torch("torch.autocast")
        .errors(&["RuntimeError: the device type is neither \"cuda\" nor \"cpu\""])
        .details(
            "Products and convolutions compute in `dtype`, operations that need range or precision in float32, all \
             others in the dtypes they are given. Leave the region before `backward()`.",
        )
        .example(
            "let x = ones([2, 2]); with autocast(\"cpu\") { x @ x }",
            "tensor([[2., 2.],\n        [2., 2.]], dtype=torch.bfloat16)",
        ),
        run: |call| {
            let given = AutocastParams::of(&call.args)?;
            region(call, given.device_type, given.dtype, given.enabled, given.cache_enabled)
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script(
            "GradScaler",
            Family::Precision,
            "Scales losses so that small float16 gradients do not vanish, and skips steps that overflowed.",
            GradScalerParams::LIST,
        )
        .forms(&[Form::Of("amp")])
        .errors(&["AssertionError: growth_factor is not above 1, or backoff_factor not below it"])
        .details(
            "Each iteration: `scaler.scale(loss).backward()`, `scaler.step(opt)`, `scaler.update()`; \
             `scaler.unscale_(opt)` before the step makes the gradients readable, for clipping.",
        )
        .example("amp::GradScaler(#{device: \"cpu\", init_scale: 1024.0}).get_scale()", "1024.0"),
        run: |call| {
            let given = GradScalerParams::of(&call.args)?;
            let options = ScalerOptions {
                init_scale: given.init_scale,
                growth_factor: given.growth_factor,
                backoff_factor: given.backoff_factor,
                growth_interval: given.growth_interval,
                enabled: given.enabled,
            };
            made(call, given.device, options)
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("scale", Family::Precision, "Multiplies a loss by the factor, so that its gradients are multiplied by it.", ScaleParams::LIST)
        .on(Receiver::GradScaler)
        .torch("torch.amp.GradScaler.scale")
        .shapes("that of the loss")
        .errors(&["ValueError: what is given is neither a Tensor nor an array of tensors"])
        .example(with_scaler!("scaler.scale(tensor(2.0))"), "tensor(2048.)"),
        run: |call| {
            let outputs = ScaleParams::of(&call.args)?.outputs;
            Ok(scaled(&call.on()?, &outputs)?)
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("unscale_", Family::Precision, "Divides the gradients of an optimiser's parameters by the factor, to clip or look at them before the step.", OptimizerParams::LIST)
        .on(Receiver::GradScaler)
        .torch("torch.amp.GradScaler.unscale_")
        .errors(&[
            "RuntimeError: it was called since the last update(), or after step()",
            "AssertionError: nothing was multiplied with scale() yet",
        ])
        .example(with_scaler!("let w = ones(1, #{requires_grad: true}); let opt = optim::SGD([w], #{lr: 0.1}); scaler.scale(w.sum()).backward(); scaler.unscale_(opt); w.grad"), "tensor([1.])"),
        run: |call| {
            let optimizer = OptimizerParams::of(&call.args)?.optimizer;
            call.on::<GradScaler>()?.unscale_(&optimizer)?;
            Ok(Dynamic::UNIT)
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("step", Family::Precision, "Lets an optimiser step, unless a gradient overflowed.", OptimizerParams::LIST).changing()
        .on(Receiver::GradScaler)
        .torch("torch.amp.GradScaler.step")
        .errors(&[
            "RuntimeError: it was called since the last update()",
            "AssertionError: no gradients of the optimiser's were checked: there are none, or scale() was not called",
        ])
        .details("Gradients that unscale_() has not divided yet are divided first.")
        .example(with_scaler!("let w = ones(1, #{requires_grad: true}); let opt = optim::SGD([w], #{lr: 0.5}); scaler.scale(w.sum()).backward(); scaler.step(opt); w.item()"), "0.5"),
        run: |call| {
            let optimizer = OptimizerParams::of(&call.args)?.optimizer;
            call.on::<GradScaler>()?.step(&optimizer)?;
            Ok(Dynamic::UNIT)
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("update", Family::Precision, "Makes the factor larger or smaller, by what the steps since the last update found.", UpdateParams::LIST).changing()
        .on(Receiver::GradScaler)
        .torch("torch.amp.GradScaler.update")
        .errors(&["AssertionError: no gradients were checked since the last update"])
        .example(with_scaler!("scaler.scale(tensor(1.0)); scaler.update(256.0); scaler.get_scale()"), "256.0"),
        run: |call| {
            let scale = UpdateParams::of(&call.args)?.new_scale;
            call.on::<GradScaler>()?.update(scale)?;
            Ok(Dynamic::UNIT)
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("get_scale", Family::Precision, "The factor, which waits for the GPU it is on.", &[])
        .on(Receiver::GradScaler)
        .torch("torch.amp.GradScaler.get_scale")
        .example(with_scaler!("scaler.get_scale()"), "1024.0"),
        run: |call| Ok(call.on::<GradScaler>()?.get_scale()?.into()),
        set: None,
    },
    ScriptRow {
        def: OpDef::script("is_enabled", Family::Precision, "Whether losses are scaled.", &[])
        .on(Receiver::GradScaler)
        .torch("torch.amp.GradScaler.is_enabled")
        .example(with_scaler!("scaler.is_enabled()"), "true"),
        run: |call| Ok(call.on::<GradScaler>()?.options().enabled.into()),
        set: None,
    },
    ScriptRow {
        def: OpDef::script("get_growth_factor", Family::Precision, "What the factor is multiplied by when it grows.", &[])
        .on(Receiver::GradScaler)
        .torch("torch.amp.GradScaler.get_growth_factor")
        .example(with_scaler!("scaler.get_growth_factor()"), "2.0"),
        run: |call| Ok(call.on::<GradScaler>()?.options().growth_factor.into()),
        set: None,
    },
    ScriptRow {
        def: OpDef::script("get_backoff_factor", Family::Precision, "What the factor is multiplied by after an overflow.", &[])
        .on(Receiver::GradScaler)
        .torch("torch.amp.GradScaler.get_backoff_factor")
        .example(with_scaler!("scaler.get_backoff_factor()"), "0.5"),
        run: |call| Ok(call.on::<GradScaler>()?.options().backoff_factor.into()),
        set: None,
    },
    ScriptRow {
        def: OpDef::script("get_growth_interval", Family::Precision, "Steps without overflow until the factor grows.", &[])
        .on(Receiver::GradScaler)
        .torch("torch.amp.GradScaler.get_growth_interval")
        .example(with_scaler!("scaler.get_growth_interval()"), "2000"),
        run: |call| Ok(call.on::<GradScaler>()?.options().growth_interval.into()),
        set: None,
    },
    ScriptRow {
        def: OpDef::script("set_growth_factor", Family::Precision, "Changes what the factor is multiplied by when it grows.", FactorParams::LIST).changing()
        .on(Receiver::GradScaler)
        .torch("torch.amp.GradScaler.set_growth_factor")
        .example(with_scaler!("scaler.set_growth_factor(4.0); scaler.get_growth_factor()"), "4.0"),
        run: |call| {
            let factor = FactorParams::of(&call.args)?.factor;
            call.on::<GradScaler>()?.set(|options| options.growth_factor = factor);
            Ok(Dynamic::UNIT)
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("set_backoff_factor", Family::Precision, "Changes what the factor is multiplied by after an overflow.", FactorParams::LIST).changing()
        .on(Receiver::GradScaler)
        .torch("torch.amp.GradScaler.set_backoff_factor")
        .example(with_scaler!("scaler.set_backoff_factor(0.25); scaler.get_backoff_factor()"), "0.25"),
        run: |call| {
            let factor = FactorParams::of(&call.args)?.factor;
            call.on::<GradScaler>()?.set(|options| options.backoff_factor = factor);
            Ok(Dynamic::UNIT)
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("set_growth_interval", Family::Precision, "Changes after how many steps without overflow the factor grows.", IntervalParams::LIST).changing()
        .on(Receiver::GradScaler)
        .torch("torch.amp.GradScaler.set_growth_interval")
        .example(with_scaler!("scaler.set_growth_interval(100); scaler.get_growth_interval()"), "100"),
        run: |call| {
            let interval = IntervalParams::of(&call.args)?.interval;
            call.on::<GradScaler>()?.set(|options| options.growth_interval = interval);
            Ok(Dynamic::UNIT)
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("state_dict", Family::Precision, "The factor and the settings as a map, to be saved with the model's state.", &[])
        .on(Receiver::GradScaler)
        .torch("torch.amp.GradScaler.state_dict")
        .example(with_scaler!("scaler.state_dict().keys().len()"), "5"),
        run: state,
        set: None,
    },
    ScriptRow {
        def: OpDef::script("load_state_dict", Family::Precision, "Takes over what state_dict() gave.", StateParams::LIST).changing()
        .on(Receiver::GradScaler)
        .torch("torch.amp.GradScaler.load_state_dict")
        .errors(&["ValueError: a key is missing", "TypeError: a key is none of a scaler's, or its value is no number"])
        .example(with_scaler!("let other = amp::GradScaler(#{device: \"cpu\"}); other.load_state_dict(scaler.state_dict()); other.get_scale()"), "1024.0"),
        run: |call| {
            let given = StateParams::of(&call.args)?.state;
            let state = if given.is_empty() { None } else { Some(snapshot(&given)?) };
            call.on::<GradScaler>()?.load_state_dict(state.as_ref())?;
            Ok(Dynamic::UNIT)
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("is_autocast_enabled", Family::Precision, "Whether operations on such devices choose their precision here.", DeviceTypeParams::LIST)
        .errors(&["RuntimeError: there is no such kind of device"])
        .example("with autocast(\"cpu\") { is_autocast_enabled(\"cpu\") }", "true"),
        run: |call| {
            Ok(autocast::is_enabled(DeviceTypeParams::of(&call.args)?.device_type)?.into())
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("get_autocast_dtype", Family::Precision, "What products on such devices compute in within an autocast region.", DeviceTypeParams::LIST)
        .errors(&["RuntimeError: there is no such kind of device"])
        .example("get_autocast_dtype(\"cpu\")", "torch.bfloat16"),
        run: |call| {
            Ok(Dynamic::from(autocast::dtype(DeviceTypeParams::of(&call.args)?.device_type)?))
        },
        set: None,
    },
];

/// A region for `with`.
pub(super) fn region(
    call: &Call,
    device_type: &str,
    dtype: Option<base::DType>,
    enabled: bool,
    cache_enabled: Option<bool>,
) -> Outcome {
    let (region, warning) = Autocast::new(device_type, dtype, enabled, cache_enabled)?;
    warning.into_iter().for_each(|text| call.machine().shared.warn(&text));
    context("autocast", move || Ok(region.enter()))
}

/// A scaler.
pub(super) fn made(call: &Call, device: &str, options: ScalerOptions) -> Outcome {
    let (made, warning) = GradScaler::new(device, options)?;
    warning.into_iter().for_each(|text| call.machine().shared.warn(text));
    Ok(Dynamic::from(made))
}

impl Typed for GradScaler {
    const RECEIVER: Receiver = Receiver::GradScaler;
}

impl Typed for Optimizer {
    const RECEIVER: Receiver = Receiver::Optimizer;
}

/// The type with its printed form.
pub(crate) fn register(engine: &mut Engine) {
    engine.register_type_with_name::<GradScaler>("GradScaler");
    engine.register_fn("to_string", |_: &mut GradScaler| "GradScaler()");
    engine.register_fn("to_debug", |_: &mut GradScaler| "GradScaler()");
    engine.register_fn("is", |a: &mut GradScaler, b: GradScaler| a.is(&b));
}

impl Steps for Optimizer {
    fn id(&self) -> usize {
        Optimizer::id(self)
    }

    fn parameters(&self) -> Vec<Tensor> {
        (0..self.group_count()).flat_map(|group| Optimizer::parameters(self, group)).collect()
    }

    fn step(&self) -> Result<()> {
        Optimizer::step(self)
    }
}

/// A tensor, or an array of what can be scaled.
fn scaled(scaler: &GradScaler, outputs: &Dynamic) -> Result<Dynamic> {
    if let Some(t) = outputs.read_lock::<Tensor>() {
        return scaler.scale(&t).map(Dynamic::from);
    }
    match outputs.read_lock::<Array>() {
        Some(items) => {
            items.iter().map(|item| scaled(scaler, item)).collect::<Result<Array>>().map(Into::into)
        }
        None => Err(Error::value("outputs must be a Tensor or an iterable of Tensors")
            .with_hint(format!("a {} cannot be scaled", type_name(outputs)))),
    }
}

/// The keys of a scaler's state, in PyTorch's order.
const KEYS: [&str; 5] = ["scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker"];

fn state(call: &mut Call) -> Outcome {
    let mut map = Map::new();
    if let Some(state) = call.on::<GradScaler>()?.state_dict()? {
        let values: [Dynamic; 5] = [
            state.scale.into(),
            state.growth_factor.into(),
            state.backoff_factor.into(),
            state.growth_interval.into(),
            state.growth_tracker.into(),
        ];
        map.extend(KEYS.into_iter().map(Into::into).zip(values));
    }
    Ok(map.into())
}

fn snapshot(given: &Map) -> Result<Snapshot> {
    if let Some(key) = given.keys().find(|k| !KEYS.contains(&k.as_str())) {
        let error = Error::type_error(format!("load_state_dict(): a scaler's state has no '{key}'"));
        return Err(error.with_near(key, KEYS).with_hint(format!("it holds {}", KEYS.join(", "))));
    }
    let number = |key: &str| -> Result<f64> {
        let value = given.get(key).ok_or_else(|| {
            Error::value(format!("load_state_dict(): '{key}' is missing"))
                .with_hint("it takes what state_dict() gave")
        })?;
        let number = value.as_float().or_else(|_| value.as_int().map(|n| n as f64));
        number.map_err(|_| {
            Error::type_error(format!(
                "load_state_dict(): '{key}' must be a number, not {}",
                type_name(value)
            ))
        })
    };
    Ok(Snapshot {
        scale: number("scale")?,
        growth_factor: number("growth_factor")?,
        backoff_factor: number("backoff_factor")?,
        growth_interval: number("growth_interval")? as i64,
        growth_tracker: number("_growth_tracker")? as i64,
    })
}
