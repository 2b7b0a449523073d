//! Values on their way into an operation and out of it: free of any script engine.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::base::{DType, DeviceSpec, Scalar};
use crate::tensor::Tensor;

/// A value that crosses between a script and an op.
#[derive(Clone, Debug)]
pub enum Value {
    None,
    Scalar(Scalar),
    Str(String),
    Tensor(Tensor),
    DType(DType),
    Device(DeviceSpec),
    /// `start..end`, the end excluded; an absent bound is open.
    Range(Option<i64>, Option<i64>),
    List(Vec<Value>),
    /// Named results, such as `values` and `indices`.
    Map(Vec<(&'static str, Value)>),
    /// A value of a higher layer, such as a module.
    Object(Object),
}

/// A value of a higher layer: the op layer hands it through without looking inside.
#[derive(Clone)]
pub struct Object {
    /// What it is in a learner's words.
    pub kind: &'static str,
    value: Arc<dyn Any + Send + Sync>,
}

impl Object {
    /// Holds a value of a type that the op layer does not know; `kind` is its type in a learner's words.
    pub fn new<T: Any + Send + Sync>(kind: &'static str, value: T) -> Object {
        Object { kind, value: Arc::new(value) }
    }

    /// The value, where it is a `T`.
    pub fn get<T: Any>(&self) -> Option<&T> {
        (self.value.as_ref() as &dyn Any).downcast_ref()
    }
}

/// The kind of an object that is a script's function.
pub(crate) const FUNCTION: &str = "function";

/// The kind of an object that is a script's map.
pub(crate) const MAP: &str = "map";

/// A map of a script on its way through the op layer.
pub(crate) type MapValue = Vec<(String, Value)>;

/// A map of a script as the op layer hands it through.
pub fn map_value(map: MapValue) -> Value {
    Value::Object(Object::new(MAP, map))
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Object({})", self.kind)
    }
}

impl Value {
    /// The numbers of a list of numbers; none of anything else.
    pub fn floats(&self) -> Option<Vec<f64>> {
        let Value::List(items) = self else { return None };
        let number =
            |item: &Value| if let Value::Scalar(number) = item { Some(number.as_f64()) } else { None };
        items.iter().map(number).collect()
    }

    /// The kind in a learner's words, for errors.
    pub(crate) fn describe(&self) -> String {
        match self {
            Value::None => "()".into(),
            Value::Scalar(Scalar::Bool(_)) => "bool".into(),
            Value::Scalar(Scalar::Int(_)) => "int".into(),
            Value::Scalar(Scalar::Float(_)) => "float".into(),
            Value::Str(_) => "string".into(),
            Value::Tensor(_) => "Tensor".into(),
            Value::DType(_) => "dtype".into(),
            Value::Device(_) => "device".into(),
            Value::Range(..) => "range".into(),
            Value::List(_) => "array".into(),
            Value::Map(_) => "map".into(),
            Value::Object(o) => o.kind.into(),
        }
    }
}

impl From<Tensor> for Value {
    fn from(t: Tensor) -> Value {
        Value::Tensor(t)
    }
}

impl From<Scalar> for Value {
    fn from(s: Scalar) -> Value {
        Value::Scalar(s)
    }
}
