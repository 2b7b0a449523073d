//! Borders: constant, reflected, repeated.

use crate::base::{Dims, Error, Kind, Result, Scalar};
use crate::device::poll;
use crate::op::core::autocast::whole;
use crate::op::core::convert::apart;
use crate::op::core::def::{Args, DefaultValue, Domain, Draw, FUNCTIONAL, Family, Gradient, OpDef, Sample};
use crate::op::core::format::MemoryFormat;
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::promote::{check_fits, check_held};
use crate::op::core::record::{one, recorded, undetermined, wants_determinism};
use crate::op::core::value::Value;
use crate::op::gather::select::index_select;
use crate::op::shape::part::narrow;
use crate::tensor::Tensor;
use crate::tensor::autograd::Vjp;

/// `x` with a border of `value`. `pad` lists sizes before and after each dimension, the last dimension first;
/// negative sizes cut off.
pub(crate) fn constant(x: &Tensor, pad: &[i64], value: Scalar) -> Result<Tensor> {
    static RULE: Vjp = Vjp {
        name: "ConstantPadNdBackward0",
        run: |s, g| {
            let pad: &Vec<i64> = s.attribute()?;
            let back: Vec<i64> = pad.iter().map(|p| -p).collect();
            one(constant(g, &back, 0.0.into())?)
        },
    };
    let borders = borders(x, pad)?;
    let mut shape = Dims::new();
    for (&size, &(before, after)) in x.shape().iter().zip(&borders) {
        let total = (size as i64).saturating_add(before).saturating_add(after);
        shape.push(usize::try_from(total).map_err(|_| {
            Error::runtime(format!(
                "The input size {size}, plus negative padding {before} and {after}, resulted in a negative output \
                 size, which is invalid."
            ))
        })?);
    }
    check_fits(Scalar::Float(value.as_f64()), x.dtype())?;
    check_held(value, x.dtype())?;
    let out = MemoryFormat::suggested(x).empty(&shape, x.dtype(), x, "pad")?;
    out.fill(value, "pad")?;
    let (mut source, mut target) = (x.layout().clone(), out.layout().clone());
    for (d, &(before, after)) in borders.iter().enumerate() {
        let size = source.shape().get(d).copied().unwrap_or(0) as i64;
        let kept = (size + before.min(0) + after.min(0)).max(0) as usize;
        source = source.slice(d, (-before).max(0) as usize, kept, 1)?;
        target = target.slice(d, before.max(0) as usize, kept, 1)?;
    }
    out.with_layout(target).assign(&x.with_layout(source), "pad")?;
    Ok(recorded(out, &RULE, &[x], |s, _| s.attribute(pad.to_vec())))
}

/// `x` with a border: `mode` is `constant`, `reflect`, `replicate` or `circular`.
pub fn pad(x: &Tensor, pad: &[i64], mode: &str, value: Scalar) -> Result<Tensor> {
    let at: fn(i64, i64) -> i64 = match mode {
        "constant" => return constant(x, pad, value),
        "reflect" => |i, n| n - 1 - (n - 1 - i.abs()).abs(),
        "replicate" => |i, n| i.clamp(0, n - 1),
        "circular" => |i, n| i.rem_euclid(n),
        _ => {
            let error = Error::new(Kind::NotImplementedError, format!("Unrecognised padding mode {mode}"));
            return Err(error.with_hint("modes are constant, reflect, replicate and circular"));
        }
    };
    let mut out = x.clone();
    let borders = borders(x, pad)?;
    check_sides(x, pad)?;
    for (d, &(before, after)) in borders.iter().enumerate() {
        if (before, after) == (0, 0) {
            continue;
        }
        let mut size = x.shape().get(d).copied().unwrap_or(0) as i64;
        check_reach(x, mode, d, size, (before, after))?;
        let (mut before, mut after) = (before, after);
        if mode == "circular" {
            // What goes round is what is left.
            let left = size + before.min(0) + after.min(0);
            out = narrow(&out, d as i64, (-before).max(0), left)?;
            (size, before, after) = (left, before.max(0), after.max(0));
        }
        let index = poll::listed((-before..size + after).map(|i| at(i, size)))?;
        let index = Tensor::from_i64(&index, &[index.len()])?;
        let index = if x.device().is_cuda() { index.moved(&x.context(), true, "pad")? } else { index };
        out = index_select(&out, d as i64, &index)?;
    }
    let (dims, mut out) = (pad.len() / 2, apart(out, x)?);
    if mode != "circular" {
        out = MemoryFormat::suggested(x).applied(&out)?;
    }
    // Where determinism is asked for beforehand, PyTorch replicates by another function.
    if mode == "circular" || (mode == "replicate" && wants_determinism(x)) {
        return Ok(out);
    }
    static REFLECT: Vjp = Vjp {
        name: "ReflectionPadBackward0",
        run: |s, g| {
            let &padded: &usize = s.attribute()?;
            let name = match padded {
                1 => "reflection_pad1d_backward_out_cuda",
                2 => "reflection_pad2d_backward_cuda",
                _ => "reflection_pad3d_backward_out_cuda",
            };
            undetermined(g, name)
        },
    };
    static REPLICATE: Vjp = Vjp {
        name: "ReplicationPadBackward0",
        run: |s, g| {
            let &padded: &usize = s.attribute()?;
            let name = match padded {
                // PyTorch's documentation lists it, and PyTorch 2.11 on a GPU lets it pass.
                1 => return one(g.clone()),
                2 => "replication_pad2d_backward_cuda",
                _ => "replication_pad3d_backward_cuda",
            };
            undetermined(g, name)
        },
    };
    let rule = if mode == "reflect" { &REFLECT } else { &REPLICATE };
    Ok(recorded(out.detach(), rule, &[&out], |s, _| s.attribute(dims)))
}

/// Sizes before and after each dimension, in the dimensions' order.
fn borders(x: &Tensor, pad: &[i64]) -> Result<Vec<(i64, i64)>> {
    if !pad.len().is_multiple_of(2) {
        return Err(Error::runtime("Padding length must be divisible by 2").with_hint(
            "two sizes for each dimension, the last dimension first: `[left, right, top, bottom]`",
        ));
    }
    if pad.len() > 2 * x.rank() {
        return Err(Error::runtime(format!(
            "Padding length should be less than or equal to two times the input dimension but got padding length {} \
             and input of dimension {}",
            pad.len(),
            x.rank()
        )));
    }
    if let Some(big) = pad.iter().find(|p| p.unsigned_abs() > 1 << 40) {
        return Err(Error::runtime(format!("a padding of {big} is too large")));
    }
    let mut sizes: Vec<(i64, i64)> =
        pad.chunks_exact(2).filter_map(|p| Some((*p.first()?, *p.last()?))).collect();
    sizes.resize(x.rank(), (0, 0));
    sizes.reverse();
    Ok(sizes)
}

/// Which dimensions a border is made for that is no constant.
fn check_sides(x: &Tensor, pad: &[i64]) -> Result<()> {
    let dims = pad.len() / 2;
    if (1..=3).contains(&dims) && (x.rank() == dims + 1 || x.rank() == dims + 2) {
        return Ok(());
    }
    let text = format!(
        "Padding size {} is not supported for {}D input tensor.\nSupported combinations for non-constant padding:\n  - 2D \
         or 3D input: padding size = 2 (pads last dimension)\n  - 3D or 4D input: padding size = 4 (pads last 2 \
         dimensions)\n  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)",
        pad.len(),
        x.rank()
    );
    let hint = "`x.unsqueeze(0)` gives a tensor one dimension more, and `.squeeze(0)` takes it away";
    Err(Error::new(Kind::NotImplementedError, text).with_hint(hint))
}

fn check_reach(x: &Tensor, mode: &str, dim: usize, size: i64, (before, after): (i64, i64)) -> Result<()> {
    let widest = before.max(after);
    match mode {
        // PyTorch names the size by its place among the arguments of the kernel.
        "reflect" if widest >= size => Err(Error::runtime(format!(
            "Argument #{}: Padding size should be less than the corresponding input dimension, but got: padding \
             ({before}, {after}) at dimension {dim} of input {:?}",
            4 + 2 * x.rank().saturating_sub(1 + dim),
            x.shape()
        ))),
        "circular" if widest > size => {
            Err(Error::runtime("Padding value causes wrapping around more than once."))
        }
        _ if size == 0 || size + before + after <= 0 || size + before.min(0) + after.min(0) < 0 => {
            Err(Error::runtime(format!(
                "a {mode} border needs elements to repeat and leaves some, but got ({before}, {after}) at dimension \
             {dim} of input {:?}",
                x.shape()
            )))
        }
        _ => Ok(()),
    }
}

/// The third argument is PyTorch's `mode`; a number there is the value of a constant border.
fn call(a: PadParams, args: &Args) -> Result<Value> {
    let (mode, value) = match a.mode {
        Value::Str(mode) => (mode.as_str(), a.value),
        Value::Scalar(value) => ("constant", a.value.or(Some(*value))),
        other => return Err(args.wrong_for("mode", other)),
    };
    let padded = |x: &Tensor| pad(x, &a.pad, mode, value.unwrap_or(Scalar::Int(0))).map(Value::from);
    match mode {
        "reflect" | "replicate" => whole("pad", [a.input], |[x]| padded(x)),
        _ => padded(a.input),
    }
}

params! {
    PadParams {
        input: kind::Tensor, "the tensor it is computed of";
        pad: kind::Ints, "how much is added before and after each dimension, the last dimension first";
        mode: kind::Any => DefaultValue::Str("constant"), "what the border is made of, or the number that fills it";
        value: Maybe<kind::Scalar>, "the number that fills a constant border; 0 where none is named";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
OpDef::call(
    "pad",
    Family::Movement,
    "Adds a border around the last dimensions.",
    PadParams::LIST,
    by_name!(PadParams, |a, args| call(a, args)),
)
.forms(FUNCTIONAL)
.gradient(Gradient::Vjp("ConstantPadNdBackward0"))
.details(
    "`pad` lists the sizes before and after, the last dimension first: `[left, right, top, bottom]`. `mode` is \
     \"constant\", \"reflect\", \"replicate\" or \"circular\"; a number in its place is the constant.",
)
.shapes("(…, n) -> (…, left + n + right), and so for each dimension that `pad` names")
.errors(&[
    "RuntimeError: `pad` has an odd length, or more than two sizes a dimension",
    "NotImplementedError: a border that is no constant for one to three dimensions, of a tensor that has not one or two more",
    "RuntimeError: a mirrored border is as wide as its dimension, or one that goes round is wider",
    "RuntimeError: negative sizes leave nothing of a dimension",
])
.example("F::pad(tensor([1, 2]), [1, 2])", "tensor([0, 1, 2, 0, 0])")
.samples(&[
    Sample::of("F::pad(x, [1, 2, 0, 1], 0.5)", &[Draw::of("x", &[2, 3], Domain::Any)]),
    Sample::of("F::pad(x, [2, 1, 1, 0], \"reflect\")", &[Draw::of("x", &[1, 2, 3], Domain::Any)]),
    Sample::of("F::pad(x, [1, 3], \"circular\")", &[Draw::of("x", &[2, 3], Domain::Any)]),
]),
];
