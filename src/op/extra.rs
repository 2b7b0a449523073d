//! Elementwise functions made of others.

use crate::base::{DType, Error, Kind, Result};
use crate::device::MapOp;
use crate::tensor::autograd::Vjp;
use crate::tensor::{In, Tensor};

use super::autocast::whole;
use super::binary::{add, div, eq, gt, logaddexp, mul, ne, pow, sub};
use super::convert::to_dtype;
use super::def::Operand;
use super::elementwise::{Binary, Gives, Keep, map};
use super::movement::{cloned, reshape_to, unsqueeze};
use super::promote::{result_type, to_float};
use super::record::{no_grad, one, recorded, two, wanted};
use super::reduce::{any, norm};
use super::select::{clamp, where_};
use super::unary::{isfinite, log, logical_not, neg, reciprocal, scale, shift, trunc};

/// Numbers for NaN and the infinities; where none are named, the largest of the dtype.
pub fn nan_to_num(x: &Tensor, nan: f64, high: Option<f64>, low: Option<f64>) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "NanToNumBackward0", run: |s, g| one(mul(g, &isfinite(&s.tensor(0)?)?)?) };
    let most = match x.dtype() {
        DType::Float64 => f64::MAX,
        DType::Float32 => f32::MAX.into(),
        DType::Float16 => 65504.0,
        DType::BFloat16 => half::bf16::MAX.to_f64(),
        _ => return cloned(x),
    };
    let params = [high.unwrap_or(most), low.unwrap_or(-most)];
    let inputs = [In::Tensor(x), In::Scalar(nan.into())];
    let out = map("nan_to_num", MapOp::NanToNum, &inputs, x.shape(), x.dtype(), x.dtype(), params, x)?;
    Ok(recorded(out, &RULE, &[x], |s, _| s.input(x)))
}

/// `log(x / (1 - x))`.
pub fn logit(x: &Tensor, eps: Option<f64>) -> Result<Tensor> {
    // One operation for autocast, whatever it is made of.
    let _paused = crate::tensor::autocast::pause();
    let x = match eps {
        Some(eps) => clamp(x, Some(eps.into()), Some((1.0 - eps).into()))?,
        None => x.clone(),
    };
    log(&div(&x, &shift(&neg(&x)?, 1.0)?)?)
}

/// What `trunc` takes away.
pub fn frac(x: &Tensor) -> Result<Tensor> {
    super::select::only_floats(x.dtype(), "frac_cpu")?;
    sub(x, &trunc(x)?)
}

/// Times a factor, in floats.
pub fn scaled(x: &Tensor, factor: f64) -> Result<Tensor> {
    scale(&to_dtype(x, to_float(x.dtype()))?, factor)
}

/// Whether each element is this infinity.
pub fn is_infinity(x: &Tensor, which: f64) -> Result<Tensor> {
    eq(x, which)
}

/// Whether each element is among `others`.
pub fn isin(x: &Tensor, others: Operand, invert: bool) -> Result<Tensor> {
    let _off = no_grad();
    let found = match others {
        Operand::Scalar(_) => eq(x, others)?,
        Operand::Tensor(t) => {
            let row = reshape_to(t, &[t.numel()])?;
            any(&eq(&unsqueeze(x, -1)?, &row)?, Some(&[-1]), false)?
        }
    };
    if invert { logical_not(&found) } else { Ok(found) }
}

/// `log2(2**a + 2**b)`.
pub fn logaddexp2(a: Operand, b: Operand) -> Result<Tensor> {
    let ln2 = std::f64::consts::LN_2;
    scale(&logaddexp(&mul(a, ln2)?, &mul(b, ln2)?)?, 1.0 / ln2)
}

/// `a * 2**b`; of a float and whole exponents, in the float's dtype.
pub fn ldexp(a: Operand, b: Operand) -> Result<Tensor> {
    let out = mul(a, &pow(2.0, b)?)?;
    match (a, b) {
        (Operand::Tensor(x), Operand::Tensor(n)) if x.dtype().is_float() && !n.dtype().is_float() => {
            to_dtype(&out, x.dtype())
        }
        _ => Ok(out),
    }
}

/// `a ** b` in float64.
pub fn float_power(a: Operand, b: Operand) -> Result<Tensor> {
    let wide = |o: Operand| -> Result<Tensor> {
        match o {
            Operand::Tensor(t) => to_dtype(t, DType::Float64),
            number => to_dtype(&add(number, 0i64)?, DType::Float64),
        }
    };
    match b {
        Operand::Scalar(_) => pow(&wide(a)?, b),
        Operand::Tensor(_) => pow(&wide(a)?, &wide(b)?),
    }
}

static GCD: Binary =
    Binary { name: "gcd", op: MapOp::Gcd, gives: Gives::Number, keep: Keep::Nothing, rule: None };

static LCM: Binary =
    Binary { name: "lcm", op: MapOp::Lcm, gives: Gives::Number, keep: Keep::Nothing, rule: None };

/// The greatest common divisor of whole numbers.
pub fn gcd(a: Operand, b: Operand) -> Result<Tensor> {
    only_whole("gcd_cpu", a, b)?;
    GCD.apply(a, b, [0.0; 2])
}

/// The least common multiple of whole numbers.
pub fn lcm(a: Operand, b: Operand) -> Result<Tensor> {
    only_whole("lcm_cpu", a, b)?;
    LCM.apply(a, b, [0.0; 2])
}

/// [`gcd`] in place.
pub fn gcd_(a: &Tensor, b: Operand) -> Result<Tensor> {
    only_whole("gcd_cpu", Operand::Tensor(a), b)?;
    GCD.apply_in_place(a, b, [0.0; 2])
}

/// [`lcm`] in place.
pub fn lcm_(a: &Tensor, b: Operand) -> Result<Tensor> {
    only_whole("lcm_cpu", Operand::Tensor(a), b)?;
    LCM.apply_in_place(a, b, [0.0; 2])
}

/// Fails for floats, also where there are no elements to find it out.
fn only_whole(kernel: &str, a: Operand, b: Operand) -> Result<()> {
    let dtype = result_type(&[a, b]);
    if !dtype.is_float() {
        return Ok(());
    }
    let text = format!("\"{kernel}\" not implemented for '{}'", dtype.type_name());
    Err(Error::new(Kind::NotImplementedError, text).with_hint("convert to integers first: `x.long()`"))
}

static NEXT_AFTER: Binary = Binary {
    name: "nextafter",
    op: MapOp::NextAfter,
    gives: Gives::Number,
    keep: Keep::Both,
    rule: Some(&NEXT_AFTER_RULE),
};

/// A neighbour moves along with its number; where the two are equal PyTorch gives no gradient.
static NEXT_AFTER_RULE: Vjp = Vjp {
    name: "NextafterBackward0",
    run: |s, g| {
        let (a, b) = (s.tensor(0)?, s.tensor(1)?);
        two(
            wanted(s, 0, || mul(g, &ne(&a, &b)?))?,
            wanted(s, 1, || Tensor::full(b.shape(), 0i64.into(), g.dtype(), &g.context(), "zeros_like"))?,
        )
    },
};

/// The number of the dtype next to each of `a` on the way to `b`; `into` `a` itself where that is asked for.
pub fn nextafter(a: &Tensor, b: &Tensor, in_place: bool) -> Result<Tensor> {
    let grid = match a.dtype().promote(b.dtype()) {
        DType::Float16 => 1.0,
        DType::BFloat16 => 2.0,
        dtype if dtype.is_float() => 0.0,
        dtype => {
            let text = format!("\"nextafter_cpu\" not implemented for '{}'", dtype.type_name());
            return Err(Error::new(Kind::NotImplementedError, text));
        }
    };
    match in_place {
        true => NEXT_AFTER.apply_in_place(a, Operand::Tensor(b), [grid, 0.0]),
        false => NEXT_AFTER.apply(Operand::Tensor(a), Operand::Tensor(b), [grid, 0.0]),
    }
}

/// The slices along `dim` whose `p`-norm is more than `most`, scaled down to it.
pub fn renorm(x: &Tensor, p: f64, dim: i64, most: f64) -> Result<Tensor> {
    whole("renorm", [x], |[x]| bounded_norm(x, p, dim, most))
}

fn bounded_norm(x: &Tensor, p: f64, dim: i64, most: f64) -> Result<Tensor> {
    if p <= 0.0 {
        return Err(Error::runtime("renorm: non-positive-norm not supported"));
    }
    if most < 0.0 {
        return Err(Error::runtime(format!("renorm: expected maxnorm to be >= 0 but got {most}")));
    }
    if x.rank() < 2 {
        let text = format!("renorm: input needs at least 2 dimensions, got {} dimensions", x.rank());
        return Err(Error::runtime(text));
    }
    let dim = x.dim(dim)?;
    let others: Vec<i64> = (0..x.rank()).filter(|&d| d != dim).map(|d| d as i64).collect();
    let sizes = norm(x, p, Some(&others), true)?;
    let factor = scale(&reciprocal(&shift(&sizes, 1e-7)?)?, most)?;
    mul(x, &where_(&gt(&sizes, most)?, Operand::Tensor(&factor), 1.0.into())?)
}
