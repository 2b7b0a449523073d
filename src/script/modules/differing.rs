//! How a value is told from the expected one, in one line.

use rhai::{Array, Dynamic, ImmutableString, Map};

use crate::base::{DType, DeviceSpec, dims};
use crate::script::value::type_name;
use crate::tensor::Tensor;

/// How two values differ.
pub(super) fn apart(found: &Dynamic, expected: &Dynamic) -> String {
    let at_most_one_line = |text: &str| !text.contains('\n') && text.len() <= LONGEST;
    let (found_text, expected_text) = (shown(found), shown(expected));
    let is_short = at_most_one_line(&found_text) && at_most_one_line(&expected_text);
    let values = (!is_short).then(|| first_apart(found, expected)).flatten();
    let text = shapes_apart(found, expected).or(values);
    text.unwrap_or_else(|| match is_short {
        true => format!("expected {expected_text}, found {found_text}"),
        false => format!("expected {}, found {}", told(expected), told(found)),
    })
}

/// Of two tensors, how their shapes differ.
pub(super) fn shapes_apart(found: &Dynamic, expected: &Dynamic) -> Option<String> {
    let (found, expected) = (found.read_lock::<Tensor>()?, expected.read_lock::<Tensor>()?);
    let (found, expected) = (found.shape(), expected.shape());
    (found != expected)
        .then(|| format!("expected shape {}, found shape {}", dims::show(expected), dims::show(found)))
}

/// Of two tensors of one shape, the first element that differs.
fn first_apart(found: &Dynamic, expected: &Dynamic) -> Option<String> {
    let (shape, found) = numbers(found)?;
    let (_, expected) = numbers(expected).filter(|(other, _)| *other == shape)?;
    let differ = |(a, b): &(&f64, &f64)| a != b;
    let count = found.iter().zip(&expected).filter(differ).count();
    let at = found.iter().zip(&expected).position(|pair| differ(&pair))?;
    let (is, wanted) = (found.get(at)?, expected.get(at)?);
    let index = shape.iter().rev().scan(at, |rest, size| {
        let here = *rest % size;
        *rest /= size;
        Some(here)
    });
    let index: Vec<usize> = index.collect::<Vec<_>>().into_iter().rev().collect();
    let of = found.len();
    Some(format!(
        "{count} of {of} values differ, the first at {}: expected {wanted}, found {is}",
        dims::show(&index)
    ))
}

/// The longest values that are shown whole, in bytes.
const LONGEST: usize = 120;

/// A value as it is shown, or what it is where that is long.
pub(super) fn told(value: &Dynamic) -> String {
    let text = shown(value);
    if text.len() <= LONGEST && !text.contains('\n') {
        return text;
    }
    if let Some(t) = value.read_lock::<Tensor>() {
        return format!("a tensor of shape {}", dims::show(t.shape()));
    }
    let length = value.read_lock::<Array>().map(|items| items.len());
    length.map_or_else(
        || format!("{}…", text.chars().take(LONGEST).collect::<String>()),
        |length| format!("an array of {length}"),
    )
}

fn shown(value: &Dynamic) -> String {
    if let Some(t) = value.read_lock::<Tensor>() {
        return crate::tensor::display::display(&t).unwrap_or_default();
    }
    if let Some(dtype) = value.read_lock::<DType>() {
        return format!("torch.{}", *dtype);
    }
    if let Some(device) = value.read_lock::<DeviceSpec>() {
        return format!("device {}", *device);
    }
    if let Some(items) = value.read_lock::<Array>() {
        return format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", "));
    }
    if value.is_unit() {
        return "()".into();
    }
    if let Some(entries) = value.read_lock::<Map>() {
        let entries = entries.iter().map(|(name, item)| format!("{name}: {}", shown(item)));
        return format!("#{{{}}}", entries.collect::<Vec<_>>().join(", "));
    }
    if let Some(text) = value.read_lock::<ImmutableString>() {
        return format!("{:?}", text.as_str());
    }
    if let Ok(character) = value.as_char() {
        return format!("{character:?}");
    }
    // Of other types of the program's only the name can be told.
    if value.type_name().contains("::") { type_name(value) } else { value.to_string() }
}

/// Shape and values of a tensor, a number or a bool.
pub(super) fn numbers(value: &Dynamic) -> Option<(Vec<usize>, Vec<f64>)> {
    if let Some(t) = value.read_lock::<Tensor>() {
        return Some((t.shape().to_vec(), t.to_f64s("check").ok()?));
    }
    let number = value.as_float().or_else(|_| value.as_int().map(|i| i as f64));
    let number = number.or_else(|_| value.as_bool().map(|b| f64::from(u8::from(b)))).ok()?;
    Some((Vec::new(), vec![number]))
}
