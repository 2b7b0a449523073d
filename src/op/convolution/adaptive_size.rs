//! How many windows an adaptive pool is asked for.

use crate::base::{Error, Result, Scalar};
use crate::op::core::value::Value;
use crate::tensor::Tensor;

/// The output size of an adaptive pool over `dims` dimensions: a number, or a number or `()` for each.
pub(crate) fn windows(name: &str, value: &Value, dims: usize) -> Result<Vec<Option<usize>>> {
    let one = |v: &Value| match v {
        Value::None => Ok(None),
        Value::Scalar(Scalar::Int(n)) if *n >= 0 => Ok(usize::try_from(*n).ok()),
        Value::Scalar(Scalar::Int(_)) => Err(below_none(name, value, dims)),
        other => {
            let text = format!("an output size is a number from 0 or (), not {}", other.describe());
            Err(Error::type_error(text))
        }
    };
    match value {
        Value::List(items) if items.len() == dims => items.iter().map(one).collect(),
        Value::List(items) if dims == 1 => {
            let text =
                format!("{name}1d() argument 'output_size' should contain one int (got {})", items.len());
            Err(Error::runtime(text))
        }
        Value::List(_) if name == "adaptive_max_pool" => {
            Err(Error::runtime(format!("{name}{dims}d(): internal error: output_size.size() must be {dims}")))
        }
        Value::List(_) => Err(Error::runtime(format!("{name}{dims}d: output_size must be {dims}"))),
        other => one(other).map(|n| vec![n; dims]),
    }
}

/// [`windows`] for an input. An array of as many sizes as it has dimensions is refused before all else, as in
/// `torch.nn.functional`.
pub(crate) fn windows_for(name: &str, x: &Tensor, value: &Value, dims: usize) -> Result<Vec<Option<usize>>> {
    match value {
        Value::List(sizes) if dims > 1 && !sizes.is_empty() && x.rank() <= sizes.len() => {
            let text = format!("Input dimension should be at least {}", sizes.len() + 1);
            Err(Error::value(text).with_hint(format!("the input is {:?}", x.shape())))
        }
        _ => windows(name, value, dims),
    }
}

/// An output size below 0.
pub(super) fn below_none(name: &str, value: &Value, dims: usize) -> Error {
    let shown = |v: &Value| match v {
        Value::Scalar(Scalar::Int(n)) => n.to_string(),
        _ => "()".into(),
    };
    let sizes = match value {
        Value::List(items) => items.iter().map(shown).collect(),
        one => vec![shown(one); dims],
    };
    // PyTorch's text has no blank before the third.
    let shown = match sizes.as_slice() {
        [length] => format!("1, {length}"),
        [deep, high, wide] => format!("{deep}, {high},{wide}"),
        sizes => sizes.join(", "),
    };
    let text = format!(
        "{name}{}d: elements of output_size must be greater than or equal to 0 but received {{{shown}}}",
        dims.max(2)
    );
    Error::runtime(text)
}

/// [`windows`] over height and width, for an input where it is known.
pub(crate) fn adaptive_size(x: Option<&Tensor>, value: &Value) -> Result<[Option<usize>; 2]> {
    let name = "adaptive_avg_pool";
    let sizes = match x {
        Some(x) => windows_for(name, x, value, 2)?,
        None => windows(name, value, 2)?,
    };
    match sizes.as_slice() {
        &[h, w] => Ok([h, w]),
        _ => Err(Error::runtime("adaptive_avg_pool2d: output_size must be 2")),
    }
}
