//! Whether tensors are equal or close.

use crate::base::error::conversion;
use crate::base::{DType, Error, Kind, Result, python};
use crate::op::core::convert::to_dtype;
use crate::op::core::def::{Family, Gradient, OpDef};
use crate::op::core::params::{by_name, kind, params};
use crate::op::core::shapes;
use crate::op::elementwise::arithmetic::{scale, shift, sub};
use crate::op::elementwise::comparison::{eq, le, logical_and, logical_or};
use crate::op::elementwise::predicates::{isfinite, isnan};
use crate::op::elementwise::unary::abs;
use crate::op::reduce::sums::all;
use crate::tensor::Tensor;

use super::asks::bool;

/// Same shape and the same values; the host waits for the answer.
pub fn equal(a: &Tensor, b: &Tensor) -> Result<bool> {
    if a.shape() != b.shape() {
        return Ok(false);
    }
    truth(&eq(a, b)?)
}

/// Element by element whether `|a - b| <= atol + rtol * |b|`.
pub(crate) fn isclose(a: &Tensor, b: &Tensor, rtol: f64, atol: f64, equal_nan: bool) -> Result<Tensor> {
    if a.dtype() != b.dtype() {
        let text = format!("{} did not match {}", a.dtype().type_name(), b.dtype().type_name());
        return Err(Error::runtime(text).with_hint(conversion(a.dtype(), b.dtype())));
    }
    for (name, tolerance) in [("rtol", rtol), ("atol", atol)] {
        if tolerance < 0.0 {
            let text = format!("{name} must be greater than or equal to zero, but got {tolerance}");
            return Err(Error::runtime(text));
        }
    }
    let mut close = eq(a, b)?;
    if equal_nan && a.dtype().is_float() {
        close = logical_or(&close, &logical_and(&isnan(a)?, &isnan(b)?)?)?;
    }
    if rtol == 0.0 && atol == 0.0 {
        return Ok(close);
    }
    // Masks have no differences of their own.
    let number =
        |t: &Tensor| if t.dtype() == DType::Bool { to_dtype(t, DType::Float32) } else { Ok(t.clone()) };
    let (a, b) = (number(a)?, number(b)?);
    let allowed = shift(&abs(&scale(&b, rtol)?)?, atol)?;
    let actual = abs(&sub(&a, &b)?)?;
    logical_or(&close, &logical_and(&isfinite(&actual)?, &le(&actual, &allowed)?)?)
}

/// Whether all elements are close; the host waits for the answer.
pub fn allclose(a: &Tensor, b: &Tensor, rtol: f64, atol: f64, equal_nan: bool) -> Result<bool> {
    truth(&isclose(a, b, rtol, atol, equal_nan)?)
}

/// An `AssertionError` that says how far apart two tensors are, unless they are close. Tolerances default to the
/// dtype's, as `torch.testing.assert_close` has them.
pub fn assert_close(actual: &Tensor, expected: &Tensor, how: Closeness) -> Result<()> {
    let differ = |what: &str, a: String, b: String| {
        Error::new(
            Kind::AssertionError,
            format!("The values for attribute '{what}' do not match: {a} != {b}."),
        )
    };
    if actual.shape() != expected.shape() {
        let size = |t: &Tensor| format!("torch.Size({:?})", t.shape());
        return Err(differ("shape", size(actual), size(expected)));
    }
    if how.check_device && actual.device() != expected.device() {
        return Err(differ("device", actual.device().to_string(), expected.device().to_string()));
    }
    if how.check_dtype && actual.dtype() != expected.dtype() {
        let name = |t: &Tensor| format!("torch.{}", t.dtype());
        return Err(differ("dtype", name(actual), name(expected)));
    }
    // Of two dtypes the coarser one's.
    let [of_actual, of_expected] = [actual, expected].map(|x| tolerance(x.dtype()));
    let rtol = how.rtol.unwrap_or(of_actual.0.max(of_expected.0));
    let atol = how.atol.unwrap_or(of_actual.1.max(of_expected.1));
    let (a, b) = (actual.to_f64s("assert_close")?, expected.to_f64s("assert_close")?);
    report((&a, &b), actual.shape(), (rtol, atol), how.equal_nan)
}

/// What [`assert_close`] lets pass.
#[derive(Clone, Copy, Debug)]
pub struct Closeness {
    pub rtol: Option<f64>,
    pub atol: Option<f64>,
    pub equal_nan: bool,
    pub check_device: bool,
    pub check_dtype: bool,
}

impl Default for Closeness {
    fn default() -> Closeness {
        Closeness { rtol: None, atol: None, equal_nan: false, check_device: true, check_dtype: true }
    }
}

/// Relative and absolute tolerance of a dtype, as `torch.testing` has them.
pub fn tolerance(dtype: DType) -> (f64, f64) {
    match dtype {
        DType::Float16 => (1e-3, 1e-5),
        DType::BFloat16 => (1.6e-2, 1e-5),
        DType::Float32 => (1.3e-6, 1e-5),
        DType::Float64 => (1e-7, 1e-7),
        _ => (0.0, 0.0),
    }
}

fn truth(mask: &Tensor) -> Result<bool> {
    Ok(all(mask, None, false)?.decided("equal")?.as_f64() != 0.0)
}

/// Counts what is not close, and finds the greatest differences.
fn report(
    (a, b): (&[f64], &[f64]),
    shape: &[usize],
    (rtol, atol): (f64, f64),
    equal_nan: bool,
) -> Result<()> {
    let (mut wrong, mut most, mut most_relative) = (0usize, (0usize, 0.0f64), (0usize, 0.0f64));
    for (i, (&x, &y)) in a.iter().zip(b).enumerate() {
        let distance = (x - y).abs();
        let close = x == y
            || equal_nan && x.is_nan() && y.is_nan()
            || (distance.is_finite() && distance <= atol + rtol * y.abs());
        if close {
            continue;
        }
        wrong += 1;
        for (slot, value) in [(&mut most, distance), (&mut most_relative, distance / y.abs())] {
            if value.is_nan() || value > slot.1 {
                *slot = (i, value);
            }
        }
    }
    if wrong == 0 {
        return Ok(());
    }
    let share = 100.0 * wrong as f64 / a.len().max(1) as f64;
    let line = |what: &str, (at, value): (usize, f64), allowed: f64| {
        let [value, allowed] = [value, allowed].map(python::float);
        format!("Greatest {what} difference: {value} at index {} (up to {allowed} allowed)", place(at, shape))
    };
    Err(Error::new(
        Kind::AssertionError,
        format!(
            "Tensor-likes are not close!\n\nMismatched elements: {wrong} / {} ({share:.1}%)\n{}\n{}",
            a.len(),
            line("absolute", most, atol),
            line("relative", most_relative, rtol)
        ),
    ))
}

/// `(1, 2)`: a flat place as an index.
fn place(mut at: usize, shape: &[usize]) -> String {
    let mut index = Vec::new();
    for &size in shape.iter().rev() {
        index.push((at % size.max(1)).to_string());
        at /= size.max(1);
    }
    index.reverse();
    match index.as_slice() {
        [one] => format!("({one},)"),
        many => format!("({})", many.join(", ")),
    }
}

const ASKS: Gradient = Gradient::NoGrad("the result is not a tensor of floats");

params! {
    EqualParams {
        input: kind::Tensor, "the tensor it is computed of";
        other: kind::Tensor, "what it is compared with";
    }
}

params! {
    AllcloseParams {
        input: kind::Tensor, "the tensor it is computed of";
        other: kind::Tensor, "what it is compared with";
        rtol: kind::Float = 1e-5, "the difference that is allowed relative to `other`";
        atol: kind::Float = 1e-8, "the absolute difference that is allowed";
        equal_nan: kind::Bool = false, "takes NaN as equal to NaN";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "equal",
        Family::Inspect,
        "Whether two tensors have one shape and the same values; the host waits for the answer.",
        EqualParams::LIST,
        by_name!(EqualParams, |a| equal(a.input, a.other).map(bool)),
    )
    .shapes("any, any -> a bool; false where the shapes differ")
    .example("tensor([1, 2]).equal(tensor([1, 2]))", "true")
    .gradient(ASKS),
    OpDef::call(
        "allclose",
        Family::Inspect,
        "Whether `|input - other| <= atol + rtol * |other|` everywhere; the host waits for the answer.",
        AllcloseParams::LIST,
        by_name!(AllcloseParams, |a| allclose(a.input, a.other, a.rtol, a.atol, a.equal_nan).map(bool)),
    )
    .shapes("broadcast together -> a bool")
    .errors(&["RuntimeError: the shapes do not broadcast together"])
    .example("allclose(tensor([1.0]), tensor([1.000001]))", "true")
    .gradient(ASKS),
    OpDef::call(
        "isclose",
        Family::Compare,
        "Element by element whether `|input - other| <= atol + rtol * |other|`.",
        AllcloseParams::LIST,
        by_name!(AllcloseParams, |a| Ok(isclose(a.input, a.other, a.rtol, a.atol, a.equal_nan)?.into())),
    )
    .shapes(shapes::BROADCAST)
    .errors(shapes::APART)
    .example("isclose(tensor([1.0, 2.0]), tensor([1.0, 3.0]))", "tensor([ True, False])")
    .gradient(Gradient::NoGrad("the result is bool")),
];
