//! The arguments of a call: matched to the parameters of the row, checked, and read.

use crate::base::{DType, DeviceSpec, Error, Kind, Result, Scalar, memory};
use crate::tensor::Tensor;

use super::def::{DefaultValue, Form, InPlace, OpDef, Overlap, Param, ParamKind, Receiver};
use super::operand::Operand;

pub use super::def::Args;
pub(crate) use super::value::{FUNCTION, MAP};
pub use super::value::{Object, Value, map_value};

impl<'a> Args<'a> {
    /// Matches positional arguments and options to the row's parameters and checks their kinds.
    ///
    /// Errors name the op, the parameter, what it takes and what it got; a misspelt option is an error with
    /// the nearest name.
    pub fn bind(def: &'a OpDef, positional: Vec<Value>, options: Vec<(String, Value)>) -> Result<Args<'a>> {
        let positional = gather_runs(def, positional);
        let given = positional.len();
        if given > def.params.len() {
            let (most, s) = (def.params.len(), if def.params.len() == 1 { "" } else { "s" });
            let text = format!("{}() takes at most {most} argument{s}, and {given} were given", def.name);
            let of_tensors = positional.iter().any(|value| matches!(value, Value::Tensor(_)));
            return Err(Error::type_error(text).with_hint(called(def, of_tensors)));
        }
        let mut values: Vec<Option<Value>> = positional.into_iter().map(Some).collect();
        values.resize_with(def.params.len(), || None);
        for (name, value) in options {
            let at = place_of(def, &name).ok_or_else(|| unknown_option(def, &name))?;
            if let Some(slot) = values.get_mut(at) {
                if slot.is_some() {
                    return Err(Error::type_error(format!("{}() got two values for '{name}'", def.name)));
                }
                *slot = Some(value);
            }
        }
        let values = def
            .params
            .iter()
            .zip(values)
            .map(|(param, value)| check(def, param, value))
            .collect::<Result<Vec<_>>>()?;
        Ok(Args { def, values })
    }

    /// Runs the in-place variant that is a function of its own.
    ///
    /// # Errors
    /// What is written to is read in a way that the row excludes; there is no such function; or those of the function.
    pub fn run_in_place(&self) -> Result<Value> {
        let InPlace::Call(run) = self.def.in_place else {
            return Err(Error::runtime(format!("{} has no function in place", self.def.name)));
        };
        let mut tensors = self.values.iter().filter_map(|value| match value {
            Value::Tensor(t) => Some(t),
            _ => None,
        });
        let apart = match (tensors.next(), self.def.overlap) {
            (Some(x), Overlap::Whole) => tensors.try_for_each(|read| x.check_partial_overlap(read)),
            (Some(x), Overlap::None) => tensors.try_for_each(|read| x.check_overlap(read)),
            _ => Ok(()),
        };
        apart.and_then(|()| run(self)).map_err(|e| e.in_op_in_place(self.def.name, || self.operands()))
    }

    /// What its tensors are.
    fn operands(&self) -> Vec<crate::base::error::Operand> {
        let tensors = self.values.iter().filter_map(|value| match value {
            Value::Tensor(t) => Some(t.operand()),
            _ => None,
        });
        tensors.collect()
    }

    /// Each parameter with its argument, in the row's order.
    pub fn each(&self) -> impl Iterator<Item = (&'static Param, &Value)> {
        self.def.params.iter().zip(&self.values)
    }

    /// The value at a place; `()` where there is none.
    pub fn get(&self, i: usize) -> &Value {
        self.values.get(i).unwrap_or(&Value::None)
    }

    /// Whether `()` stands at a place.
    pub fn is_none(&self, i: usize) -> bool {
        matches!(self.get(i), Value::None)
    }

    /// The tensor at a place.
    pub fn tensor(&self, i: usize) -> Result<&Tensor> {
        match self.get(i) {
            Value::Tensor(t) => Ok(t),
            other => Err(self.wrong(i, other)),
        }
    }

    /// The tensors of the array at a place.
    pub fn tensors(&self, i: usize) -> Result<Vec<&Tensor>> {
        match self.get(i) {
            Value::List(items) => memory::try_collected(items.iter().map(|v| match v {
                Value::Tensor(t) => Ok(t),
                other => Err(self.wrong(i, other)),
            })),
            other => Err(self.wrong(i, other)),
        }
    }

    /// The tensor or number at a place.
    pub fn operand(&self, i: usize) -> Result<Operand<'_>> {
        match self.get(i) {
            Value::Tensor(t) => Ok(Operand::Tensor(t)),
            Value::Scalar(s) => Ok(Operand::Scalar(*s)),
            other => Err(self.wrong(i, other)),
        }
    }

    /// The number or bool at a place.
    pub fn scalar(&self, i: usize) -> Result<Scalar> {
        match self.get(i) {
            Value::Scalar(s) => Ok(*s),
            other => Err(self.wrong(i, other)),
        }
    }

    /// The number at a place as a float.
    pub fn float(&self, i: usize) -> Result<f64> {
        self.scalar(i).map(Scalar::as_f64)
    }

    /// The integer at a place.
    pub fn int(&self, i: usize) -> Result<i64> {
        self.scalar(i).map(Scalar::as_i64)
    }

    /// The bool at a place.
    pub fn bool(&self, i: usize) -> Result<bool> {
        match self.get(i) {
            Value::Scalar(Scalar::Bool(b)) => Ok(*b),
            other => Err(self.wrong(i, other)),
        }
    }

    /// The string at a place.
    pub fn str(&self, i: usize) -> Result<&str> {
        match self.get(i) {
            Value::Str(s) => Ok(s),
            other => Err(self.wrong(i, other)),
        }
    }

    /// The integers at a place; one alone is an array of one.
    pub fn ints(&self, i: usize) -> Result<Vec<i64>> {
        match self.get(i) {
            Value::Scalar(Scalar::Int(n)) => Ok(vec![*n]),
            Value::List(items) => memory::try_collected(items.iter().map(|v| match v {
                Value::Scalar(Scalar::Int(n)) => Ok(*n),
                other => Err(self.wrong(i, other)),
            })),
            other => Err(self.wrong(i, other)),
        }
    }

    /// The dtype given, if one was.
    pub fn dtype(&self, i: usize) -> Option<DType> {
        match self.get(i) {
            Value::DType(d) => Some(*d),
            _ => None,
        }
    }

    /// The device given, if one was.
    pub fn device(&self, i: usize) -> Option<DeviceSpec> {
        match self.get(i) {
            Value::Device(d) => Some(*d),
            _ => None,
        }
    }

    /// The error for a parameter's value of the wrong kind.
    pub(crate) fn wrong_for(&self, name: &str, got: &Value) -> Error {
        let at = self.def.params.iter().position(|p| p.name == name);
        self.wrong(at.unwrap_or(usize::MAX), got)
    }

    /// The error for a value of the wrong kind.
    pub fn wrong(&self, i: usize, got: &Value) -> Error {
        match self.def.params.get(i) {
            Some(param) => wrong_kind(self.def, param, got),
            None => Error::type_error(format!("{}(): an argument is missing", self.def.name)),
        }
    }
}

/// Sizes written one by one, as in `zeros(2, 3)`, become one array, and so do tensors, as in `einsum("ij,jk", a, b)`.
fn gather_runs(def: &OpDef, mut positional: Vec<Value>) -> Vec<Value> {
    let of_a_run = |kind| matches!(kind, ParamKind::Sizes | ParamKind::TensorRun);
    let Some(at) = def.params.iter().position(|p| of_a_run(p.kind)) else { return positional };
    let sizes = def.params.get(at).is_some_and(|p| p.kind == ParamKind::Sizes);
    let belongs = |v: &Value| match v {
        Value::Scalar(Scalar::Int(_)) => sizes,
        Value::Tensor(x) => !sizes || is_index(x),
        _ => false,
    };
    let run = positional.iter().skip(at).take_while(|v| belongs(v)).count();
    // A single number stands for itself, a single tensor for an array of it.
    if run > usize::from(sizes) {
        let rest = positional.split_off(at + run);
        let sizes = positional.split_off(at);
        positional.push(Value::List(sizes));
        positional.extend(rest);
    }
    positional
}

/// `name(input, dim = -1, keepdim = false)`, as help and errors print it.
pub fn signature(def: &OpDef) -> String {
    let params: Vec<String> = def
        .params
        .iter()
        .map(|p| match &p.default {
            _ if p.kind == ParamKind::Rest => format!("{}…", p.name),
            None => p.name.to_string(),
            Some(d) => format!("{} = {}", p.name, show_default(d)),
        })
        .collect();
    let name = match def.receiver {
        Receiver::None => def.name.to_string(),
        Receiver::Variable => return format!("{}({})", def.name, def.receiver.variable()),
        // Of some methods people think as functions: `next(batches)`.
        receiver if def.forms.first() == Some(&Form::Function) => {
            let all: Vec<&str> =
                std::iter::once(receiver.variable()).chain(params.iter().map(String::as_str)).collect();
            return format!("{}({})", def.name, all.join(", "));
        }
        receiver => format!("{}.{}", receiver.variable(), def.name),
    };
    match def.forms {
        [Form::Constant | Form::ValueOf(_) | Form::Word] => name,
        [Form::Space("")] => format!("{name}::…"),
        [Form::Space(around)] => format!("{around}::{name}::…"),
        [Form::Property] if def.receiver != Receiver::None => name,
        _ => format!("{name}({})", params.join(", ")),
    }
}

fn show_default(d: &DefaultValue) -> String {
    match d {
        DefaultValue::None => "()".into(),
        DefaultValue::Bool(b) => b.to_string(),
        DefaultValue::Int(i) => i.to_string(),
        DefaultValue::Float(f) => format!("{f:?}"),
        DefaultValue::Str(s) => format!("\"{s}\""),
        DefaultValue::Ints(v) => format!("{v:?}"),
        DefaultValue::Floats(v) => format!("{v:?}"),
    }
}

fn from_default(d: &DefaultValue) -> Value {
    match *d {
        DefaultValue::None => Value::None,
        DefaultValue::Bool(b) => Value::Scalar(b.into()),
        DefaultValue::Int(i) => Value::Scalar(i.into()),
        DefaultValue::Float(f) => Value::Scalar(f.into()),
        DefaultValue::Str(s) => Value::Str(s.into()),
        DefaultValue::Ints(v) => Value::List(v.iter().map(|&i| Value::Scalar(i.into())).collect()),
        DefaultValue::Floats(v) => Value::List(v.iter().map(|&f| Value::Scalar(f.into())).collect()),
    }
}

/// Checks and converts one value; strings stand for dtypes and devices, integers for floats.
fn check(def: &OpDef, param: &Param, value: Option<Value>) -> Result<Value> {
    let value = match (value, &param.default) {
        (Some(Value::None), Some(_)) if !matches!(param.kind, ParamKind::Any | ParamKind::Object) => {
            return Ok(param.default.as_ref().map_or(Value::None, from_default));
        }
        (Some(v), _) => v,
        (None, Some(d)) => return Ok(from_default(d)),
        (None, None) => {
            let text = format!("{}() missing required argument '{}'", def.name, param.name);
            return Err(Error::type_error(text).with_hint(format!("it is called as `{}`", signature(def))));
        }
    };
    let value = as_number(param.kind, value)?;
    let fits = match (param.kind, &value) {
        (ParamKind::Any | ParamKind::Object | ParamKind::Rest, _)
        | (ParamKind::Instance(Receiver::Tensor) | ParamKind::Tensor, Value::Tensor(_))
        | (ParamKind::Operand, Value::Tensor(_) | Value::Scalar(_))
        | (ParamKind::Scalar, Value::Scalar(_))
        | (ParamKind::Int | ParamKind::Dim, Value::Scalar(Scalar::Int(_)))
        | (ParamKind::Float, Value::Scalar(Scalar::Int(_) | Scalar::Float(_)))
        | (ParamKind::Bool, Value::Scalar(Scalar::Bool(_)))
        | (ParamKind::Str, Value::Str(_))
        | (ParamKind::Ints | ParamKind::Dims | ParamKind::Sizes, Value::Scalar(Scalar::Int(_)))
        | (ParamKind::DType, Value::DType(_))
        | (ParamKind::Device, Value::Device(_)) => true,
        (ParamKind::Ints | ParamKind::Dims | ParamKind::Sizes, Value::List(l)) => {
            l.iter().all(|v| matches!(v, Value::Scalar(Scalar::Int(_))))
        }
        (ParamKind::Function, Value::Object(o)) => o.kind == FUNCTION,
        (ParamKind::Map, Value::Object(o)) => o.kind == MAP,
        (ParamKind::Instance(wanted), Value::Object(o)) => o.kind == wanted.type_name(),
        (ParamKind::Tensors | ParamKind::TensorRun, Value::List(l)) => {
            l.iter().all(|v| matches!(v, Value::Tensor(_)))
        }
        (ParamKind::DType, Value::Str(s)) => {
            return DType::parse(s).map(Value::DType).ok_or_else(|| unknown_dtype(s));
        }
        (ParamKind::Device, Value::Str(s)) => return s.parse().map(Value::Device),
        (ParamKind::Device, Value::Scalar(Scalar::Int(i))) => {
            // More than any machine has, so that the error counts those that there are.
            let ordinal = u16::try_from(*i).ok().or((*i >= 0).then_some(u16::MAX));
            match ordinal {
                Some(_) => return Ok(Value::Device(DeviceSpec::Cuda(ordinal))),
                None => false,
            }
        }
        _ => false,
    };
    if fits { Ok(value) } else { Err(wrong_kind(def, param, &value)) }
}

/// The number in a tensor where one belongs, as in PyTorch: of integers with one element where a whole number does. The
/// host waits for it.
fn as_number(kind: ParamKind, value: Value) -> Result<Value> {
    let number = |x: &Tensor| x.item().map(Value::Scalar);
    match (kind, value) {
        (
            ParamKind::Int | ParamKind::Dim | ParamKind::Ints | ParamKind::Dims | ParamKind::Sizes,
            Value::Tensor(x),
        ) if is_index(&x) => number(&x),
        (ParamKind::Scalar | ParamKind::Float, Value::Tensor(x)) if x.rank() == 0 && !x.requires_grad() => {
            number(&x)
        }
        (ParamKind::Ints | ParamKind::Dims | ParamKind::Sizes, Value::List(items))
            if items.iter().any(|item| matches!(item, Value::Tensor(_))) =>
        {
            let of = |item| match item {
                Value::Tensor(x) if is_index(&x) => number(&x),
                other => Ok(other),
            };
            items.into_iter().map(of).collect::<Result<_>>().map(Value::List)
        }
        (_, value) => Ok(value),
    }
}

/// Whether PyTorch takes a tensor for an index.
fn is_index(x: &Tensor) -> bool {
    x.numel() == 1 && !x.dtype().is_float() && x.dtype() != DType::Bool
}

fn unknown_dtype(name: &str) -> Error {
    let error = Error::type_error(format!("there is no dtype '{name}'"));
    error
        .with_near(name, DType::ALL.iter().map(|d| d.name()))
        .with_hint("dtypes are float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool")
}

/// NumPy's names of parameters, which PyTorch takes as well, and names that one function has by itself.
const ALSO: [(&str, &str); 15] = [
    ("split_size_or_sections", "split_size"),
    ("indices", "indices_or_sections"),
    ("sections", "indices_or_sections"),
    ("value", "src"),
    ("rcond", "rtol"),
    ("tol", "atol"),
    ("exponent", "other"),
    ("axis", "dim"),
    ("keepdims", "keepdim"),
    ("x", "input"),
    ("a", "input"),
    ("x1", "input"),
    ("x2", "other"),
    ("axis0", "dim0"),
    ("axis1", "dim1"),
];

/// Where a parameter stands that an option names, by its own name or NumPy's.
pub(crate) fn place_of(def: &OpDef, name: &str) -> Option<usize> {
    let at = |name: &str| def.params.iter().position(|param| param.name == name);
    at(name).or_else(|| ALSO.iter().filter(|(also, _)| *also == name).find_map(|(_, own)| at(own)))
}

fn unknown_option(def: &OpDef, name: &str) -> Error {
    let error = Error::new(Kind::TypeError, format!("{}() got an unknown option '{name}'", def.name));
    let has = |name: &str| def.params.iter().any(|p| p.name == name);
    // Other libraries' word for it is no near one.
    let error = match name {
        "foreach" | "fused" | "capturable" if has("lr") || has("max_norm") || has("clip_value") => {
            error.with_hint("leave it out: it chooses among ways to compute the same, and here there is one")
        }
        "learning_rate" if has("lr") => error.with_hint("did you mean `lr`?"),
        _ => error,
    };
    error
        .with_near(name, def.params.iter().map(|p| p.name))
        .with_hint(format!("it is called as `{}`", signature(def)))
}

/// How a row is called; of a module's that is given tensors, how the module is.
fn called(def: &OpDef, with_tensors: bool) -> String {
    let call = format!("it is called as `{}`", signature(def));
    let makes = def.forms.contains(&Form::Of("nn")) && def.name.starts_with(char::is_uppercase);
    match makes && with_tensors {
        true => format!("this makes the module, which is called by `nn::{}(…).forward(x)`; {call}", def.name),
        false => call,
    }
}

/// Parameters of recurrent modules whose types PyTorch names.
const TYPED: [&str; 4] = ["input_size", "hidden_size", "bias", "batch_first"];

fn wrong_kind(def: &OpDef, param: &Param, got_value: &Value) -> Error {
    let want = match param.kind {
        ParamKind::Tensor => "a Tensor",
        ParamKind::Operand => "a Tensor or a number",
        ParamKind::Scalar | ParamKind::Float => "a number",
        ParamKind::Int | ParamKind::Dim => "an integer",
        ParamKind::Bool => "true or false",
        ParamKind::Str => "a string",
        ParamKind::Ints | ParamKind::Dims | ParamKind::Sizes => "an integer or an array of integers",
        ParamKind::Tensors | ParamKind::TensorRun => "an array of tensors",
        ParamKind::DType => "a dtype such as float32",
        ParamKind::Device => "a device such as \"cuda\"",
        ParamKind::Any | ParamKind::Object | ParamKind::Rest => "something else",
        ParamKind::Function => "a function",
        ParamKind::Map => "a map",
        ParamKind::Instance(wanted) => wanted.type_name(),
    };
    let listed = param.kind == ParamKind::Tensor && matches!(got_value, Value::List(_));
    let (name, got) = (param.name, got_value.describe());
    let place = def.params.iter().position(|p| std::ptr::eq(p, param)).map_or(0, |at| at + 1);
    let odd = match got_value {
        Value::List(items) => items.iter().enumerate().find(|(_, item)| !matches!(item, Value::Tensor(_))),
        _ => None,
    };
    let odd = odd.map(|(at, item)| (at, item.describe()));
    let text = match (def.name, param.kind) {
        // PyTorch's modules check these themselves.
        ("RNN" | "GRU" | "LSTM", ParamKind::Int | ParamKind::Bool) if TYPED.contains(&name) => {
            let want = if param.kind == ParamKind::Bool { "bool" } else { "int" };
            format!("{name} should be of type {want}, got: {}", if got == "string" { "str" } else { &got })
        }
        ("Softmax" | "LogSoftmax" | "Softmin", ParamKind::Dim | ParamKind::Int) => {
            let class = if got == "string" { "str" } else { &got };
            format!("{name} must be an int or None, got <class '{class}'>")
        }
        // Of a tensor's function, its own sentence.
        (of, ParamKind::Tensor) if of.starts_with(char::is_lowercase) && place > 0 => {
            format!("{of}(): argument '{name}' (position {place}) must be Tensor, not {got}")
        }
        (_, ParamKind::Tensors | ParamKind::TensorRun) if odd.is_some() => {
            let (at, item) = odd.unwrap_or((0, String::new()));
            format!("expected Tensor as element {at} in argument {}, but got {item}", place.max(1) - 1)
        }
        (of, _) => format!("{of}(): argument '{name}' must be {want}, not {got}"),
    };
    let call = called(def, matches!(got_value, Value::Tensor(_)));
    let hint = match (listed, def.name) {
        (true, "all_gather") => {
            format!("the list is what it gives here: `let all = distributed::all_gather(t);`; {call}")
        }
        (true, _) => format!("make a tensor of the list: `tensor(…)`; {call}"),
        (false, _) => call,
    };
    Error::type_error(text).with_hint(hint)
}

/// A result of one tensor.
pub(crate) fn to_value(result: Result<Tensor>) -> Result<Value> {
    result.map(Value::Tensor)
}

/// Values and where they were, as PyTorch's named tuples.
pub(crate) fn to_pair(result: Result<(Tensor, Tensor)>) -> Result<Value> {
    result.map(|(values, indices)| {
        Value::Map(vec![("values", Value::Tensor(values)), ("indices", Value::Tensor(indices))])
    })
}

/// Several tensors, as an array.
pub(crate) fn to_list(result: Result<Vec<Tensor>>) -> Result<Value> {
    result.map(|all| Value::List(all.into_iter().map(Value::Tensor).collect()))
}
