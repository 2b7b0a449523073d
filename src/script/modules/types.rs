//! Types that a script holds beside tensors: dtypes, devices, errors.

use rhai::{Dynamic, Engine, ImmutableString, Module, NativeCallContext};

use crate::base::{DType, DeviceSpec, Error};
use crate::script::fault::{kind_of, raise};
use crate::script::syntax::TYPE_OF;
use crate::tensor::{Tensor, display};

use super::RhaiResult;

pub const NAMES: &[&str] = &[
    "float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "half", "float",
    "double", "long", "int", "device", "print",
];

/// Registers the types with their printed forms and comparisons, and the dtype constants.
pub fn register(engine: &mut Engine) {
    engine.register_type_with_name::<Tensor>("Tensor");
    engine.register_fn("to_string", |t: &mut Tensor| display::display(t).map_err(raise));
    engine.register_fn("to_debug", |t: &mut Tensor| display::display(t).map_err(raise));
    engine.register_fn("+", |a: ImmutableString, b: Tensor| -> RhaiResult<String> {
        Ok(format!("{a}{}", display::display(&b).map_err(raise)?))
    });
    dtypes(engine);
    devices(engine);
    errors(engine);
    engine.register_fn(TYPE_OF, |ctx: NativeCallContext, value: Dynamic| class(&ctx, &value));
}

/// The class of a value: that of a layer, an optimiser or a schedule under PyTorch's name.
fn class(ctx: &NativeCallContext, value: &Dynamic) -> ImmutableString {
    if let Some(module) = value.read_lock::<crate::nn::Module>() {
        return module.name().into();
    }
    if let Some(optimizer) = value.read_lock::<crate::optim::Optimizer>() {
        return optimizer.name().into();
    }
    if let Some(scheduler) = value.read_lock::<crate::optim::Scheduler>() {
        return scheduler.name().into();
    }
    ctx.engine().map_type_name(value.type_name()).into()
}

fn dtypes(engine: &mut Engine) {
    engine.register_type_with_name::<DType>("dtype");
    engine.register_fn("to_string", |d: &mut DType| format!("torch.{}", d.name()));
    engine.register_fn("to_debug", |d: &mut DType| format!("torch.{}", d.name()));
    engine.register_fn("==", |a: DType, b: DType| a == b);
    engine.register_fn("!=", |a: DType, b: DType| a != b);
    engine.register_fn("==", |a: DType, b: ImmutableString| DType::parse(&b) == Some(a));
    engine.register_fn("!=", |a: DType, b: ImmutableString| DType::parse(&b) != Some(a));
    engine.register_get("itemsize", |d: &mut DType| d.size() as i64);
    engine.register_get("is_floating_point", |d: &mut DType| d.is_float());
    let mut constants = Module::new();
    let aliases = ["half", "float", "double", "long", "int", "short"];
    for name in DType::ALL.iter().map(|d| d.name()).chain(aliases) {
        if let Some(dtype) = DType::parse(name) {
            constants.set_var(name, Dynamic::from(dtype));
        }
    }
    engine.register_global_module(constants.into());
}

fn devices(engine: &mut Engine) {
    let same = |d: DeviceSpec, name: &str| name.parse().is_ok_and(|n: DeviceSpec| n == d);
    engine.register_type_with_name::<DeviceSpec>("device");
    engine.register_fn("device", |name: &str| name.parse::<DeviceSpec>().map_err(raise));
    engine.register_fn("device", |d: DeviceSpec| d);
    engine.register_fn("device", |kind: &str, index: i64| -> RhaiResult<DeviceSpec> {
        format!("{kind}:{index}").parse().map_err(raise)
    });
    engine.register_fn("to_string", |d: &mut DeviceSpec| d.to_string());
    engine.register_fn("to_debug", |d: &mut DeviceSpec| match d {
        DeviceSpec::Cpu => "device(type='cpu')".to_string(),
        DeviceSpec::Cuda(None) => "device(type='cuda')".to_string(),
        DeviceSpec::Cuda(Some(i)) => format!("device(type='cuda', index={i})"),
    });
    engine.register_get("type", |d: &mut DeviceSpec| match d {
        DeviceSpec::Cpu => "cpu".to_string(),
        DeviceSpec::Cuda(_) => "cuda".to_string(),
    });
    engine.register_get("index", |d: &mut DeviceSpec| match d {
        DeviceSpec::Cuda(Some(i)) => Dynamic::from(i64::from(*i)),
        _ => Dynamic::UNIT,
    });
    engine.register_fn("==", |a: DeviceSpec, b: DeviceSpec| a == b);
    engine.register_fn("!=", |a: DeviceSpec, b: DeviceSpec| a != b);
    engine.register_fn("==", move |a: DeviceSpec, b: ImmutableString| same(a, &b));
    engine.register_fn("!=", move |a: DeviceSpec, b: ImmutableString| !same(a, &b));
    engine.register_fn("==", move |a: ImmutableString, b: DeviceSpec| same(b, &a));
    engine.register_fn("!=", move |a: ImmutableString, b: DeviceSpec| !same(b, &a));
    engine.register_fn("+", |a: ImmutableString, b: DeviceSpec| format!("{a}{b}"));
}

/// What `catch (e)` binds.
fn errors(engine: &mut Engine) {
    engine.register_type_with_name::<Error>("Error");
    engine.register_get("kind", |e: &mut Error| kind_of(e));
    engine.register_get("message", |e: &mut Error| e.message());
    engine.register_get("hint", |e: &mut Error| e.hint().map_or(Dynamic::UNIT, Dynamic::from));
    engine.register_get("op", |e: &mut Error| e.op().map_or(Dynamic::UNIT, |o| Dynamic::from(o.to_string())));
    engine.register_fn("to_string", |e: &mut Error| e.to_string());
    engine.register_fn("to_debug", |e: &mut Error| e.to_string());
}
