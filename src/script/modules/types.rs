//! Types that a script holds beside tensors: dtypes, devices, errors.

use std::sync::Arc;

use rhai::{Dynamic, Engine, INT, ImmutableString, Map, Module, NativeCallContext};

use crate::base::{DType, DeviceSpec, Error, Result};
use crate::device::Shared;
use crate::op::def::{FUNCTION, PROPERTY};
use crate::op::params::kind::Int;
use crate::op::params::{Maybe, params};
use crate::op::{Family, Form, OpDef, Receiver};
use crate::script::bind::note_line;
use crate::script::call::kind::Given;
use crate::script::call::{Call, Outcome, Run, ScriptRow};
use crate::script::differs::{self, Difference};
use crate::script::fault::{RhaiResult, kind_of, raise};
use crate::script::value;
use crate::tensor::{Tensor, display};

pub(super) static ROWS: &[ScriptRow] = &[
    dtype(
        "float64",
        "Numbers of 64 bits, 15 decimal digits.",
        ("ones(2).to(float64).dtype", "torch.float64"),
        |_| constant("float64"),
    ),
    dtype(
        "float32",
        "Numbers of 32 bits, 7 decimal digits: what tensors have unless another dtype is asked for.",
        ("ones(2).to(float32).dtype", "torch.float32"),
        |_| constant("float32"),
    ),
    dtype(
        "float16",
        "Numbers of 16 bits: 3 decimal digits, from 6e-8 to 65504.",
        ("ones(2).to(float16).dtype", "torch.float16"),
        |_| constant("float16"),
    ),
    dtype(
        "bfloat16",
        "Numbers of 16 bits: 2 decimal digits over the range of float32.",
        ("ones(2).to(bfloat16).dtype", "torch.bfloat16"),
        |_| constant("bfloat16"),
    ),
    dtype(
        "int64",
        "Integers of 64 bits: what indices and tensors of integers have.",
        ("ones(2).to(int64).dtype", "torch.int64"),
        |_| constant("int64"),
    ),
    dtype("int32", "Integers of 32 bits.", ("ones(2).to(int32).dtype", "torch.int32"), |_| constant("int32")),
    dtype(
        "int16",
        "Integers of 16 bits, from -32768 to 32767.",
        ("ones(2).to(int16).dtype", "torch.int16"),
        |_| constant("int16"),
    ),
    dtype("int8", "Integers of 8 bits, from -128 to 127.", ("ones(2).to(int8).dtype", "torch.int8"), |_| {
        constant("int8")
    }),
    dtype(
        "uint8",
        "Integers of 8 bits, from 0 to 255: pixels.",
        ("ones(2).to(uint8).dtype", "torch.uint8"),
        |_| constant("uint8"),
    ),
    dtype(
        "bool",
        "True or false: what comparisons give, and masks.",
        ("ones(2).to(bool).dtype", "torch.bool"),
        |_| constant("bool"),
    ),
    word(
        "channels_last",
        "The order of memory in which channels of images come last.",
        "zeros(1, 2, 3, 4).to(#{memory_format: channels_last}).stride()",
        "[24, 1, 8, 2]",
        |_| Ok("channels_last".into()),
    ),
    word(
        "channels_last_3d",
        "The order of memory in which channels of volumes come last.",
        "zeros(1, 2, 3, 4, 5).to(#{memory_format: channels_last_3d}).stride()",
        "[120, 1, 40, 10, 2]",
        |_| Ok("channels_last_3d".into()),
    ),
    word(
        "contiguous_format",
        "The row-major order of memory.",
        "zeros(2, 3).t().clone(#{memory_format: contiguous_format}).stride()",
        "[2, 1]",
        |_| Ok("contiguous_format".into()),
    ),
    word(
        "preserve_format",
        "The order of memory of the tensor that is copied.",
        "zeros(2, 3).t().clone(#{memory_format: preserve_format}).stride()",
        "[1, 3]",
        |_| Ok("preserve_format".into()),
    ),
    word("inf", "Infinity, as a number.", "inf > 1e308", "true", |_| Ok(f64::INFINITY.into())),
    word("nan", "Not a number: equal to nothing, itself included.", "nan == nan", "false", |_| {
        Ok(f64::NAN.into())
    }),
    ScriptRow::of(
        OpDef::script("is_tensor", Family::Type, "Whether a value is a tensor.", TypeOfParams::LIST)
            .forms(FUNCTION)
            .example("is_tensor(ones(2))", "true"),
        |call| Ok(TypeOfParams::of(&call.args)?.value.is::<Tensor>().into()),
    ),
    dtype("double", "Another name of float64.", ("ones(2).to(double).dtype", "torch.float64"), |_| {
        constant("double")
    }),
    dtype("float", "Another name of float32.", ("ones(2).to(float).dtype", "torch.float32"), |_| {
        constant("float")
    }),
    dtype("half", "Another name of float16.", ("ones(2).to(half).dtype", "torch.float16"), |_| {
        constant("half")
    }),
    dtype("long", "Another name of int64.", ("ones(2).to(long).dtype", "torch.int64"), |_| constant("long")),
    dtype("int", "Another name of int32.", ("ones(2).to(int).dtype", "torch.int32"), |_| constant("int")),
    dtype("short", "Another name of int16.", ("ones(2).to(short).dtype", "torch.int16"), |_| {
        constant("short")
    }),
    ScriptRow {
        def: OpDef::script(
            "device",
            Family::Type,
            "A place for tensors: \"cpu\", \"cuda\" for the current GPU, or \"cuda:1\".",
            DeviceParams::LIST,
        )
        .errors(&["RuntimeError: there is no such kind of device"])
        .details("Whatever takes a device takes its name as well. It has `.type` and `.index`, by which it can be made: `device(#{type: \"cuda\", index: 1})`.")
        .example("device(\"cuda\", 1)", "device(type='cuda', index=1)"),
        run: device,
        set: None,
    },
    ScriptRow::of(
        property(Receiver::DType, "itemsize", "How many bytes a number of the dtype takes.")
            .torch("torch.dtype.itemsize")
            .example("float16.itemsize", "2"),
        |call| Ok((call.on::<DType>()?.size() as i64).into()),
    ),
    ScriptRow::of(
        property(Receiver::DType, "is_floating_point", "Whether numbers of the dtype have fractions.")
            .torch("torch.dtype.is_floating_point")
            .example("int64.is_floating_point", "false"),
        |call| Ok(call.on::<DType>()?.is_float().into()),
    ),
    ScriptRow::of(
        property(Receiver::Device, "type", "The kind of the device: \"cpu\" or \"cuda\".")
            .torch("torch.device.type")
            .example("device(\"cuda:1\").type", "\"cuda\""),
        |call| Ok(if matches!(call.on()?, DeviceSpec::Cpu) { "cpu" } else { "cuda" }.into()),
    ),
    ScriptRow::of(
        property(Receiver::Device, "index", "Which of the devices of its kind, or () where none is named.")
            .torch("torch.device.index")
            .example("device(\"cuda:1\").index", "1"),
        |call| match call.on()? {
            DeviceSpec::Cuda(Some(i)) => Ok(i64::from(i).into()),
            _ => Ok(Dynamic::UNIT),
        },
    ),
    ScriptRow::of(
        property(Receiver::Error, "kind", "The kind of what `catch (e)` caught, as Python calls it.")
            .torch("type(e).__name__")
            .example(
                "let told = (); try { ones(2) + ones(3) } catch (e) { told = e.kind; } told",
                "\"RuntimeError\"",
            ),
        |call| Ok(kind_of(&call.on()?).into()),
    ),
    ScriptRow::of(
        property(Receiver::Error, "message", "What went wrong, without the kind.").torch("str(e)").example(
            "let told = (); try { zeros(2).reshape(3) } catch (e) { told = e.message; } told",
            "\"shape '[3]' is invalid for input of size 2\"",
        ),
        |call| Ok(call.on::<Error>()?.message().into()),
    ),
    ScriptRow::of(
        property(Receiver::Error, "hint", "What may help, or ().").own().example(
            "let told = (); try { zeros(2).to(\"cuda:7\") } catch (e) { told = e.hint; } told == ()",
            "false",
        ),
        |call| Ok(call.on::<Error>()?.hint().map_or(Dynamic::UNIT, Dynamic::from)),
    ),
    ScriptRow::of(
        property(Receiver::Error, "op", "The operation that failed, or ().").own().example(
            "let told = (); try { zeros(2).reshape(3) } catch (e) { told = e.op; } told",
            "\"reshape\"",
        ),
        |call| Ok(call.on::<Error>()?.op().map_or(Dynamic::UNIT, |op| Dynamic::from(op.to_string()))),
    ),
    ScriptRow::of(
        OpDef::script(
            "type_of",
            Family::Type,
            "The name of a value's type; of a layer, an optimiser or a schedule that of its class.",
            TypeOfParams::LIST,
        )
        .torch("type")
        .example("type_of(nn::Linear(2, 1))", "\"Linear\""),
        |call| {
            let value = TypeOfParams::of(&call.args)?.value;
            Ok(class(call.context, &value).into())
        },
    ),
];

/// A property of values of one of the types.
const fn property(receiver: Receiver, name: &'static str, summary: &'static str) -> OpDef {
    OpDef::script(name, Family::Type, summary, &[]).on(receiver).forms(PROPERTY)
}

params! {
    TypeOfParams {
        value: Given, "what is asked about";
    }
}

/// A dtype by its name.
const fn dtype(
    name: &'static str,
    summary: &'static str,
    example: (&'static str, &'static str),
    run: Run,
) -> ScriptRow {
    let def = OpDef::script(name, Family::Type, summary, &[]).forms(&[Form::Constant]);
    ScriptRow { def: def.example(example.0, example.1), run, set: None }
}

/// A word that options take.
const fn word(
    name: &'static str,
    summary: &'static str,
    code: &'static str,
    shown: &'static str,
    run: Run,
) -> ScriptRow {
    dtype(name, summary, (code, shown), run)
}

fn constant(name: &str) -> Outcome {
    Ok(DType::parse(name).map_or(Dynamic::UNIT, Dynamic::from))
}

fn device(call: &mut Call) -> Outcome {
    let given = DeviceParams::of(&call.args)?;
    let (kind, index) = match given.device.read_lock::<Map>() {
        Some(parts) => by_parts(&parts)?,
        None => (given.device.clone(), given.index),
    };
    let device = match index {
        None => value::device(&kind)?,
        Some(index) => format!("{kind}:{index}").parse::<DeviceSpec>()?,
    };
    Ok(Dynamic::from(device))
}

/// As keywords in Python: `device(type="cuda", index=1)`.
fn by_parts(parts: &Map) -> Result<(Dynamic, Option<INT>)> {
    let (mut kind, mut index) = (None, None);
    for (name, value) in parts {
        match (name.as_str(), value.as_int()) {
            ("type", _) if value.is_string() => kind = Some(value.clone()),
            ("index", Ok(number)) => index = Some(number),
            ("index", _) if value.is_unit() => {}
            _ => {
                let text = format!("device() got an unexpected argument '{name}'");
                return Err(
                    Error::type_error(text).with_hint("it takes a `type` that is a text, and an `index`")
                );
            }
        }
    }
    let kind = kind.ok_or_else(|| Error::type_error("device() missing required argument 'type'"))?;
    Ok((kind, index))
}

params! {
    DeviceParams {
        device: Given, "the device's name, or the kind where an index follows: \"cuda\"; a number is a GPU's";
        index: Maybe<Int>, "which of the devices of that kind";
    }
}

/// Registers the types with their printed forms and comparisons, and the dtype constants.
pub(crate) fn register(engine: &mut Engine, shared: &Arc<Shared>) {
    engine.register_type_with_name::<Tensor>("Tensor");
    // Rhai's own `print` puts the type's name in place of what fails.
    for name in ["to_string", "to_debug", "print", "debug"] {
        let here = Arc::clone(shared);
        engine.register_fn(name, move |context: NativeCallContext, t: &mut Tensor| {
            note_line(&here, &context);
            display::display(t).map_err(raise)
        });
    }
    appended(engine, shared);
    dtypes(engine);
    devices(engine, shared);
    errors(engine);
}

/// Text with a tensor behind it or before it.
fn appended(engine: &mut Engine, shared: &Arc<Shared>) {
    let here = Arc::clone(shared);
    engine.register_fn("+", move |context: NativeCallContext, text: ImmutableString, x: Tensor| {
        note_line(&here, &context);
        display::display(&x).map(|shown| format!("{text}{shown}")).map_err(raise)
    });
    let here = Arc::clone(shared);
    engine.register_fn("+", move |context: NativeCallContext, x: Tensor, text: ImmutableString| {
        note_line(&here, &context);
        display::display(&x).map(|shown| format!("{shown}{text}")).map_err(raise)
    });
    // Without this, the variable that held the tensor would hold a text.
    engine.register_fn("+=", |_: &mut Tensor, _: ImmutableString| -> RhaiResult<()> {
        let error = Error::type_error("unsupported operand type(s) for +=: 'Tensor' and 'string'");
        Err(raise(error.with_hint(
            "a text between back quotes shows a tensor, `` `${x} m` ``; `x.to_string()` gives its text",
        )))
    });
    for name in ["+=", "append"] {
        let here = Arc::clone(shared);
        engine.register_fn(
            name,
            move |context: NativeCallContext, text: &mut ImmutableString, x: Tensor| -> RhaiResult<()> {
                note_line(&here, &context);
                *text += display::display(&x).map_err(raise)?.as_str();
                Ok(())
            },
        );
    }
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
    let mut constants = Module::new();
    for row in ROWS.iter().filter(|row| row.def.forms == [Form::Constant]) {
        let value = match (DType::parse(row.def.name), row.def.name) {
            (Some(dtype), _) => Dynamic::from(dtype),
            (None, "inf") => f64::INFINITY.into(),
            (None, "nan") => f64::NAN.into(),
            (None, word) => Dynamic::from(word),
        };
        constants.set_var(row.def.name, value);
    }
    engine.register_global_module(constants.into());
}

fn devices(engine: &mut Engine, shared: &Arc<Shared>) {
    let shared = Arc::clone(shared);
    let same = move |d: DeviceSpec, name: &str| {
        differs::tell(&shared, Difference::Device, || {
            format!(
                "a device is equal to its text here; in Python `device == \"{name}\"` is False: `device.type` is a text"
            )
        });
        name.parse().is_ok_and(|n: DeviceSpec| n == d)
    };
    engine.register_type_with_name::<DeviceSpec>("device");
    engine.register_fn("to_string", |d: &mut DeviceSpec| d.to_string());
    engine.register_fn("to_debug", |d: &mut DeviceSpec| match d {
        DeviceSpec::Cpu => "device(type='cpu')".to_string(),
        DeviceSpec::Cuda(None) => "device(type='cuda')".to_string(),
        DeviceSpec::Cuda(Some(i)) => format!("device(type='cuda', index={i})"),
    });
    engine.register_fn("==", |a: DeviceSpec, b: DeviceSpec| a == b);
    engine.register_fn("!=", |a: DeviceSpec, b: DeviceSpec| a != b);
    let [equal, unequal, equal_turned] = [(); 3].map(|()| same.clone());
    engine.register_fn("==", move |a: DeviceSpec, b: ImmutableString| equal(a, &b));
    engine.register_fn("!=", move |a: DeviceSpec, b: ImmutableString| !unequal(a, &b));
    engine.register_fn("==", move |a: ImmutableString, b: DeviceSpec| equal_turned(b, &a));
    engine.register_fn("!=", move |a: ImmutableString, b: DeviceSpec| !same(b, &a));
    engine.register_fn("+", |a: ImmutableString, b: DeviceSpec| format!("{a}{b}"));
}

/// What `catch (e)` binds.
fn errors(engine: &mut Engine) {
    engine.register_type_with_name::<Error>("Error");
    engine.register_fn("to_string", |e: &mut Error| e.to_string());
    engine.register_fn("to_debug", |e: &mut Error| e.to_string());
}
