//! Pools undone: each element goes back to where the largest of its window lay, and zeros to all other places.

use crate::base::{DType, Error, Layout, Result};
use crate::op::core::autocast::whole;
use crate::op::core::def::{Args, DefaultValue, Domain, Draw, FUNCTIONAL, Family, OpDef, Sample};
use crate::op::core::operand::Operand;
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::record::check_places;
use crate::op::core::value::Value;
use crate::op::gather::along_dim::{beyond, same_place, scatter};
use crate::op::shape::view::reshape_to;
use crate::tensor::Tensor;

/// The windows of the pool that is undone, and how large its input was.
#[derive(Clone)]
pub(crate) struct Unpool {
    pub size: Vec<i64>,
    /// The window's size where it is empty.
    pub stride: Vec<i64>,
    pub padding: Vec<i64>,
    /// The last sizes of the output, where they are not those that the windows come to.
    pub output: Option<Vec<i64>>,
}

impl Unpool {
    /// The last `dims` sizes of the output for an input.
    fn sizes(&self, x: &Tensor, dims: usize) -> Result<Vec<usize>> {
        let along = |all: &[i64], d: usize| all.get(d).or(all.first()).copied().unwrap_or(1);
        let stride = if self.stride.is_empty() { &self.size } else { &self.stride };
        let inputs = x.shape().iter().skip(x.rank() - dims);
        let usual: Vec<i64> = inputs
            .enumerate()
            .map(|(d, &n)| {
                let moved = (n as i64 - 1).saturating_mul(along(stride, d));
                moved
                    .saturating_add(along(&self.size, d))
                    .saturating_sub(along(&self.padding, d).saturating_mul(2))
            })
            .collect();
        let asked = match &self.output {
            None => usual,
            Some(asked) => {
                let given = asked.get(asked.len().saturating_sub(dims)..).unwrap_or(&[]);
                if given.len() != dims || !matches!(asked.len().checked_sub(dims), Some(0 | 2)) {
                    return Err(Error::value(format!(
                        "output_size should be a sequence containing {dims} or {} elements, but it has a length of '{}'",
                        dims + 2,
                        asked.len()
                    )));
                }
                for (d, (&got, &usual)) in given.iter().zip(&usual).enumerate() {
                    let (low, high) = (usual - along(stride, d), usual + along(stride, d));
                    if got <= low || got >= high {
                        return Err(Error::value(format!(
                            "invalid output_size \"{given:?}\" (dim {d} must be between {low} and {high})"
                        )));
                    }
                }
                given.to_vec()
            }
        };
        asked.iter().map(|&n| usize::try_from(n).map_err(|_| negative(&asked))).collect()
    }
}

fn negative(sizes: &[i64]) -> Error {
    Error::value(format!("max_unpooling: output_size must not be negative, but is {sizes:?}"))
}

/// `x [n, c, …]` (or `[c, …]`) at the places that a pool over `dims` dimensions gave, in zeros. Of several elements at
/// one place one stays.
pub(crate) fn max_unpool(dims: usize, x: &Tensor, indices: &Tensor, pool: &Unpool) -> Result<Tensor> {
    // A signal is an image of width 1.
    check_places(x, if dims == 3 { "max_unpooling3d_forward_out" } else { "max_unpooling2d_forward_out" })?;
    let (few, many) = (dims + 1, dims + 2);
    if x.rank() != few && x.rank() != many {
        let text = format!(
            "Input to max_unpooling{dims}d should be a {few}d or {many}d Tensor, but got a tensor with {} dimensions.",
            x.rank()
        );
        return Err(Error::runtime(text));
    }
    if indices.dtype() != DType::Int64 {
        let text =
            format!("elements in indices should be type int64 but got: {}", indices.dtype().type_name());
        return Err(Error::runtime(text).with_hint("a pool gives them with `#{return_indices: true}`"));
    }
    if indices.shape() != x.shape() {
        return Err(Error::runtime(format!(
            "Expected shape of indices to be same as that of the input tensor ({:?}) but got indices tensor with \
             shape: {:?}",
            x.shape(),
            indices.shape()
        )));
    }
    same_place(x, "indices", indices, "wrapper_CUDA_max_unpool2d")?;
    if dims == 3 && pool.stride.iter().any(|&step| step <= 0) {
        let along: Vec<i64> =
            (0..dims).filter_map(|d| pool.stride.get(d).or(pool.stride.first()).copied()).collect();
        return Err(Error::runtime(format!(
            "strides should be greater than zero, but got stride: {along:?}"
        )));
    }
    let sizes = pool.sizes(x, dims)?;
    let before = x.shape().get(..x.rank() - dims).unwrap_or(&[]);
    let lines: usize = before.iter().product();
    // Sizes that no memory holds are refused here.
    let places = Layout::contiguous(&sizes)?.numel();
    let each: usize = x.shape().iter().skip(x.rank() - dims).product();
    let shape: Vec<usize> = before.iter().chain(&sizes).copied().collect();
    let room = Tensor::full(&[lines, places], 0i64.into(), x.dtype(), &x.context(), "max_unpool")?;
    let (values, at) = (reshape_to(x, &[lines, each])?, reshape_to(indices, &[lines, each])?);
    let mut volume: Vec<String> = sizes.iter().map(usize::to_string).collect();
    let hint = format!("each channel of the output is {}: indices are below {places}", volume.join("x"));
    if let Some(index) = beyond(indices, 0, places as i64, name(dims))? {
        // A signal counts as an image of width 1.
        if dims == 1 {
            volume.push("1".into());
        }
        let text =
            format!("Found an invalid max index: {index} (output volumes are of size {})", volume.join("x"));
        return Err(Error::runtime(text).with_hint(hint));
    }
    let out = scatter(&room, 1, &at, Operand::Tensor(&values)).map_err(|e| e.with_hint(hint))?;
    reshape_to(&out, &shape)
}

fn name(dims: usize) -> &'static str {
    match dims {
        1 => "max_unpool1d",
        2 => "max_unpool2d",
        _ => "max_unpool3d",
    }
}

fn run<const DIMS: usize>(a: MaxUnpoolParams) -> Result<Value> {
    let pool = Unpool { size: a.kernel_size, stride: a.stride, padding: a.padding, output: a.output_size };
    whole(name(DIMS), [a.input], |[x]| max_unpool(DIMS, x, a.indices, &pool)).map(Value::from)
}

params! {
    MaxUnpoolParams {
        input: kind::Tensor, "the largest elements of windows, `[channels, …]` or a batch of them";
        indices: kind::Tensor, "where they lay, as a pool gives it with `return_indices`";
        kernel_size: kind::Ints, "how large the pool's window was, along all dimensions or along each";
        stride: kind::Ints => DefaultValue::Ints(&[]), "how far it moved on; without it by its own size";
        padding: kind::Ints = 0, "how wide its border was";
        output_size: Maybe<kind::Ints>, "which of the sizes that a stride leaves open the output has";
    }
}

const fn row(name: &'static str, summary: &'static str, run: fn(&Args) -> Result<Value>) -> OpDef {
    OpDef::call(name, Family::Convolution, summary, MaxUnpoolParams::LIST, run)
        .forms(FUNCTIONAL)
        .details(
            "Each size is `(size - 1) * stride + kernel_size - 2 * padding`, or what `output_size` says.",
        )
        .errors(ERRORS)
}

const ERRORS: &[&str] = &[
    "RuntimeError: the input has another number of dimensions, or determinism is asked for",
    "RuntimeError: the indices have another shape than the input, or are not int64, or lie outside of the output",
    "ValueError: `output_size` is none of those that the stride leaves open",
];

const PLACES: Draw = Draw::of("x", &[1, 2, 4], Domain::Any);

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    row(
        "max_unpool1d",
        "Puts the largest elements of windows back where they lay, in zeros.",
        by_name!(MaxUnpoolParams, |a| run::<1>(a)),
    )
    .shapes("(N, C, L), indices (N, C, L) -> (N, C, L_out); N may be left out")
    .example("F::max_unpool1d(tensor([[3.0, 2.0]]), tensor([[1, 2]]), 2)", "tensor([[0., 3., 2., 0.]])")
    .samples(&[Sample::of("F::max_unpool1d(x, tensor([[[0, 3, 5, 6], [1, 2, 4, 7]]]), 2)", &[PLACES])]),
    row(
        "max_unpool2d",
        "Puts the largest elements of windows back where they lay, in zeros.",
        by_name!(MaxUnpoolParams, |a| run::<2>(a)),
    )
    .shapes("(N, C, H, W), indices (N, C, H, W) -> (N, C, H_out, W_out); N may be left out")
    .example(
        "F::max_unpool2d(tensor([[[4.0]]]), tensor([[[3]]]), 2)",
        "tensor([[[0., 0.],\n         [0., 4.]]])",
    )
    .samples(&[Sample::of(
        "F::max_unpool2d(x, tensor([[[0, 5]], [[6, 7]]]), 2, #{output_size: [3, 5]})",
        &[Draw::of("x", &[2, 1, 2], Domain::Any)],
    )]),
    row(
        "max_unpool3d",
        "Puts the largest elements of windows back where they lay, in zeros.",
        by_name!(MaxUnpoolParams, |a| run::<3>(a)),
    )
    .shapes("(N, C, D, H, W), indices of the same -> (N, C, D_out, H_out, W_out); N may be left out")
    .example(
        "F::max_unpool3d(ones([1, 1, 1, 1]), tensor([[[[5]]]]), 2).flatten()",
        "tensor([0., 0., 0., 0., 0., 1., 0., 0.])",
    )
    .samples(&[Sample::of(
        "F::max_unpool3d(x, tensor([[[[2, 8]]], [[[15, 0]]]]), 2)",
        &[Draw::of("x", &[2, 1, 1, 2], Domain::Any)],
    )]),
];
