//! What a session knows beside the code that has failed.

use rhai::{AST, Dynamic, FnPtr};

use crate::nn::Module;
use crate::tensor::Tensor;

use super::writer::Holds;

#[derive(Default)]
pub(crate) struct SessionNames {
    /// The newest of a name comes first.
    pub variables: Vec<(String, Holds)>,
    /// Functions with their parameters.
    pub functions: Vec<(String, Vec<String>)>,
}

impl SessionNames {
    /// Of variables, the newest of a name last, and of functions.
    pub(crate) fn of<'a>(
        variables: impl Iterator<Item = (&'a str, Dynamic)>,
        functions: &AST,
    ) -> SessionNames {
        let mut variables: Vec<_> =
            variables.map(|(name, value)| (name.to_owned(), Holds::of(&value.flatten()))).collect();
        variables.reverse();
        let function = |function: rhai::ScriptFnMetadata| {
            (function.name.to_owned(), function.params.iter().map(|param| (*param).to_owned()).collect())
        };
        SessionNames { variables, functions: functions.iter_functions().map(function).collect() }
    }
}

impl Holds {
    fn of(value: &Dynamic) -> Holds {
        match value {
            value if value.is::<Tensor>() => Holds::Tensor,
            value if value.is::<Module>() => Holds::Module,
            value if value.is::<FnPtr>() => Holds::Closure,
            value if value.is_array() => Holds::Array,
            value if value.is_map() => Holds::Map,
            value if value.is_string() => Holds::Text,
            value if value.as_int().is_ok_and(|number| number < 0) => Holds::Negative,
            value if value.is_int() => Holds::Int,
            value if value.is_float() => Holds::Float,
            _ => Holds::Other,
        }
    }
}
