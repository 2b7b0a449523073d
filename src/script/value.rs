//! Between Rhai's values and the op layer's.

use std::sync::Arc;

use rhai::{Array, Dynamic, FnPtr, FuncArgs, INT, ImmutableString, Map, NativeCallContext};

use crate::base::chain::Link;
use crate::base::{DType, DeviceSpec, Error, Kind, Result, Scalar, memory};
use crate::data::sampler::{Generator, Sampler};
use crate::data::{Data, DataLoader};
use crate::device::examine::Maker;
use crate::nn::packed::Packed;
use crate::op::{Copies, MapValue, Object, Value, map_value};
use crate::optim::lr_scheduler::Function;
use crate::script::maps::map_of;
use crate::tensor::Tensor;

use super::fault::{RhaiResult, raise};
use super::lent::{Lent, learners};

/// How the error of a check begins that runs a learner's own module without `call`.
pub(crate) const NOT_BY_ITSELF: &str = "a check does not run by itself the learner's own";

/// Why a check's function is not handed on.
pub(super) const NOT_LENT: &str = "call() can't hand a function of the check's to the learner's code";

/// A script's function that outlives the call it was given to: what it captured may hold others.
#[derive(Clone)]
pub(crate) struct Callback {
    function: Link<FnPtr>,
    maker: Maker,
}

impl Callback {
    pub(crate) fn new(function: FnPtr) -> Callback {
        Callback { function: Link::new(function), maker: Maker::of_now() }
    }

    pub(crate) fn function(&self) -> &FnPtr {
        &self.function
    }

    /// A copy of what it has captured.
    ///
    /// # Errors
    /// It is a check's, which the learner's code can't run.
    pub(crate) fn copied_with(&self, copies: &mut dyn Copies) -> Result<Callback> {
        if self.maker.is_check() {
            return Err(Error::type_error(NOT_LENT));
        }
        let function = copies.value(&Held(FnPtr::clone(&self.function).into()).into_value())?;
        let function = given(&function).try_cast::<FnPtr>();
        Ok(function.map_or_else(|| self.clone(), Callback::new))
    }

    /// Calls it; where a check runs that has not made it, as the learner's own code would, on copies.
    pub(crate) fn call(&self, context: &NativeCallContext, args: impl FuncArgs) -> RhaiResult<Dynamic> {
        self.called(context, args, Lent::Copies)
    }

    /// Calls it for a graph that goes on through what it has captured.
    pub(crate) fn call_in_graph(
        &self,
        context: &NativeCallContext,
        args: impl FuncArgs,
    ) -> RhaiResult<Dynamic> {
        self.called(context, args, Lent::OwnTensors)
    }

    fn called(&self, context: &NativeCallContext, args: impl FuncArgs, lent: Lent) -> RhaiResult<Dynamic> {
        if self.maker.check_own().is_ok() {
            return self.function.call_within_context(context, args);
        }
        let mut all = Vec::new();
        args.parse(&mut all);
        match learners() {
            Some(learners) => learners.run(&self.function, all, lent),
            None => Err(raise(Error::runtime("a check does not run the learner's functions by itself"))),
        }
    }

    /// It as a value of the script's.
    fn shown(&self) -> Dynamic {
        let function = Dynamic::from(FnPtr::clone(&self.function));
        match learners().filter(|_| self.maker.check_own().is_err()) {
            Some(learners) => learners.hand(&function),
            None => function,
        }
    }
}

/// A value of the script's that passes through the op layer as it is.
pub(crate) struct Held(pub Dynamic);

impl Held {
    pub(crate) fn into_value(self) -> Value {
        Value::Object(Object::new("value", self))
    }
}

/// An argument as the script gave it.
pub fn given(value: &Value) -> Dynamic {
    match value {
        Value::Object(object) => match object.get::<Held>() {
            Some(Held(value)) => value.clone(),
            None => to_dynamic(Value::Object(object.clone())),
        },
        other => to_dynamic(other.clone()),
    }
}

/// A Rhai value as an op sees it.
pub(crate) fn from_dynamic(value: &Dynamic) -> Result<Value> {
    if let Some(t) = value.read_lock::<Tensor>() {
        return Ok(Value::Tensor(t.clone()));
    }
    if let Ok(i) = value.as_int() {
        return Ok(Value::Scalar(Scalar::Int(i)));
    }
    if let Ok(f) = value.as_float() {
        return Ok(Value::Scalar(Scalar::Float(f)));
    }
    if let Ok(b) = value.as_bool() {
        return Ok(Value::Scalar(Scalar::Bool(b)));
    }
    if value.is_unit() {
        return Ok(Value::None);
    }
    if let Some(s) = value.read_lock::<ImmutableString>() {
        return Ok(Value::Str(s.to_string()));
    }
    if let Some(a) = value.read_lock::<Array>() {
        return memory::try_collected(a.iter().map(from_dynamic)).map(Value::List);
    }
    other_from_dynamic(value)
}

/// An op's value as Rhai holds it. A list becomes an array, named results a map.
pub(crate) fn to_dynamic(value: Value) -> Dynamic {
    match value {
        Value::None => Dynamic::UNIT,
        Value::Scalar(s) => scalar_to_dynamic(s),
        Value::Str(s) => s.into(),
        Value::Tensor(t) => Dynamic::from(t),
        Value::DType(d) => Dynamic::from(d),
        Value::Device(d) => Dynamic::from(d),
        Value::Range(a, b) => Dynamic::from(a.unwrap_or(0)..b.unwrap_or(INT::MAX)),
        Value::List(items) => Dynamic::from_array(items.into_iter().map(to_dynamic).collect()),
        Value::Map(items) => {
            let map = map_of(items.into_iter().map(|(k, v)| (k.into(), to_dynamic(v))));
            Dynamic::from_map(map)
        }
        Value::Object(object) => object_to_dynamic(&object),
    }
}

/// A module, an optimiser, a dataset, a loader or a map that passed through the op layer.
fn object_to_dynamic(object: &Object) -> Dynamic {
    if let Some(module) = object.get::<crate::nn::Module>() {
        return Dynamic::from(module.clone());
    }
    if let Some(optimizer) = object.get::<crate::optim::Optimizer>() {
        return Dynamic::from(optimizer.clone());
    }
    if let Some(data) = object.get::<Data>() {
        return Dynamic::from(data.clone());
    }
    if let Some(loader) = object.get::<DataLoader>() {
        return Dynamic::from(loader.clone());
    }
    if let Some(sampler) = object.get::<Sampler>() {
        return Dynamic::from(sampler.clone());
    }
    if let Some(generator) = object.get::<Generator>() {
        return Dynamic::from(generator.clone());
    }
    if let Some(packed) = object.get::<Packed>() {
        return Dynamic::from(packed.clone());
    }
    if let Some(scheduler) = object.get::<crate::optim::Scheduler>() {
        return Dynamic::from(scheduler.clone());
    }
    if let Some(f) = object.get::<Function>().and_then(|f| f.downcast_ref::<Callback>()) {
        return f.shown();
    }
    match object.get::<MapValue>() {
        Some(map) => map_of(map.iter().map(|(k, v)| (k.into(), to_dynamic(v.clone())))).into(),
        None => Dynamic::UNIT,
    }
}

pub(crate) fn scalar_to_dynamic(s: Scalar) -> Dynamic {
    match s {
        Scalar::Bool(b) => b.into(),
        Scalar::Int(i) => i.into(),
        Scalar::Float(f) => f.into(),
    }
}

/// An options map as name-value pairs.
pub fn options(map: &Map) -> Result<Vec<(String, Value)>> {
    map.iter().map(|(k, v)| Ok((k.to_string(), from_dynamic(v)?))).collect()
}

/// A device as a script names it: a string, a device, or an ordinal.
pub fn device(value: &Dynamic) -> Result<DeviceSpec> {
    if let Some(d) = value.read_lock::<DeviceSpec>() {
        return Ok(*d);
    }
    if let Some(s) = value.read_lock::<ImmutableString>() {
        return s.parse();
    }
    match value.as_int().ok().and_then(|i| u16::try_from(i).ok()) {
        Some(i) => Ok(DeviceSpec::Cuda(Some(i))),
        None => {
            let text =
                format!("a device is a string such as \"cuda:0\" or a number, not {}", type_name(value));
            let error = Error::type_error(text);
            Err(match value.is::<Tensor>() {
                true => error.with_hint("the device of a tensor is `x.device`, which is no function"),
                false => error,
            })
        }
    }
}

/// The type of a value in a learner's words.
pub fn type_name(value: &Dynamic) -> String {
    match value.type_name() {
        "i64" => "int",
        "f64" => "float",
        "()" => "()",
        // As a check holds it.
        name if name.ends_with("::HandedFunction") => "function",
        name => name.rsplit("::").next().unwrap_or(name),
    }
    .to_string()
}

fn other_from_dynamic(value: &Dynamic) -> Result<Value> {
    if let Some(d) = value.read_lock::<DType>() {
        return Ok(Value::DType(*d));
    }
    if let Some(d) = value.read_lock::<DeviceSpec>() {
        return Ok(Value::Device(*d));
    }
    if let Some(m) = value.read_lock::<crate::nn::Module>() {
        return Ok(m.clone().into_value());
    }
    if let Some(data) = value.read_lock::<Data>() {
        return Ok(data.clone().into_value());
    }
    if let Some(o) = value.read_lock::<crate::optim::Optimizer>() {
        return Ok(o.clone().into_value());
    }
    if let Some(s) = value.read_lock::<crate::optim::Scheduler>() {
        return Ok(s.clone().into_value());
    }
    if let Some(s) = value.read_lock::<Sampler>() {
        return Ok(s.clone().into_value());
    }
    if let Some(packed) = value.read_lock::<Packed>() {
        return Ok(packed.clone().into_value());
    }
    if let Some(g) = value.read_lock::<Generator>() {
        return Ok(Value::Object(Object::new("Generator", g.clone())));
    }
    if let Some(f) = value.read_lock::<FnPtr>() {
        let function: Function = Arc::new(Callback::new(f.clone()));
        return Ok(Value::Object(Object::new("function", function)));
    }
    if let Some(map) = value.read_lock::<Map>() {
        return options(&map).map(map_value);
    }
    if let Some(r) = value.read_lock::<std::ops::Range<INT>>() {
        return Ok(Value::Range(Some(r.start), Some(r.end)));
    }
    if let Some(r) = value.read_lock::<std::ops::RangeInclusive<INT>>() {
        return Ok(Value::Range(Some(*r.start()), r.end().checked_add(1)));
    }
    Err(Error::new(Kind::TypeError, format!("a {} cannot be used here", type_name(value))))
}
