//! The closed set of primitives that every backend implements: the one place where backends and
//! operations meet. A kernel sees shapes, strides and dtypes already settled by the op that launches it.

use crate::base::{DType, Layout, Result, Scalar};
use crate::device::buffer::Buffer;
use crate::device::cancel::Cancel;

use super::scalar::MapOp;

pub use super::class::KernelClass;
pub use super::distribution::Distribution;
pub(crate) use super::distribution::naturals;

/// Typed, strided memory that a kernel reads or writes.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub buffer: &'a Buffer,
    pub dtype: DType,
    pub layout: &'a Layout,
}

impl View<'_> {
    /// The bytes of its elements, those that zero strides repeat once.
    pub fn bytes(&self) -> u64 {
        if self.layout.is_contiguous() {
            return (self.layout.numel() * self.dtype.size()) as u64;
        }
        let sizes = self.layout.shape().iter().zip(self.layout.strides());
        let distinct: usize =
            sizes.map(|(&size, &stride)| if stride == 0 { size.min(1) } else { size }).product();
        (distinct * self.dtype.size()) as u64
    }
}

/// An input: memory, or a number that stands for a tensor of it.
#[derive(Clone, Copy)]
pub enum Arg<'a> {
    View(View<'a>),
    Scalar(Scalar),
}

impl MapOp {
    /// The function that PyTorch computes for these inputs: powers to some numbers are others, with their values at
    /// infinities and -0. Of integers only squares are worth a function of their own.
    pub fn simplest(self, inputs: &[Arg], compute: DType) -> MapOp {
        let (MapOp::Pow, [_, Arg::Scalar(exponent)]) = (self, inputs) else { return self };
        match (exponent.as_f64(), compute.is_float()) {
            (2.0, _) => MapOp::Square,
            (3.0, true) => MapOp::Cube,
            (0.5, true) => MapOp::Sqrt,
            (-0.5, true) => MapOp::Rsqrt,
            (-1.0, true) => MapOp::Reciprocal,
            (-2.0, true) => MapOp::SquareReciprocal,
            _ => self,
        }
    }
}

/// One launch of a kernel.
pub struct Launch<'a> {
    /// The op that asked, such as `add`.
    pub op: &'static str,
    pub kernel: &'a Kernel,
    pub inputs: &'a [Arg<'a>],
    pub outputs: &'a [View<'a>],
    pub stream: u32,
    /// Polled between chunks; a set flag ends the launch with an error.
    pub cancel: &'a Cancel,
    /// Someone wants the time it took.
    pub timed: bool,
}

/// What is computed. Inputs and outputs are named per variant, in order; `-> ` separates outputs.
///
/// Unless said otherwise inputs of any strides and dtypes are read, converted to the compute type of the
/// output (f32 for half types), and outputs of any strides are written with one rounding.
#[derive(Clone, Debug, PartialEq)]
pub enum Kernel {
    /// `a[, b[, c]] -> y`, element by element; inputs are expanded to the output's shape by the caller.
    /// Compute type: the widest of the inputs' own (see [`MapOp`]); comparisons write bool.
    Map { op: MapOp, params: [f64; 2], compute: DType },
    /// `x, … -> y`: the inputs, cast, one after another along `dim`, apart from the output.
    Join { dim: usize },
    /// `-> y`: `start + i * step` in row-major order.
    Arange { start: Scalar, step: Scalar },
    /// `x -> y`: 1 where row = column over the last two dimensions, or a triangle of `x`.
    Triangle { upper: bool, diagonal: i64 },
    /// `x -> y`: reduces the dimensions whose bit is set; `y` keeps them with size 1.
    Reduce { op: ReduceOp, dims: u64 },
    /// `x -> values, indices` along `dim` (kept with size 1); first of equals wins; NaN wins over numbers.
    ArgReduce { max: bool, dim: usize },
    /// `x -> y`: running reduction along `dim`; or `x -> places` (int64) of running extremes, on a CPU alone.
    Scan { op: ScanOp, dim: usize },
    /// `mask (bool, row-major) -> y [k]` (int64): the numbers of true elements in row-major order, as many as `y` has.
    Places,
    /// `a [.., m, k], b [.., k, n][, c [.., m, n]] -> y [.., m, n]`: `alpha * a @ b + beta * c`, in any strides,
    /// batch dimensions already expanded (zero strides). `transposed` outputs are ordinary strides.
    Matmul { alpha: f64, beta: f64 },
    /// `x -> y` along `dim`.
    Softmax { form: SoftmaxForm, dim: usize },
    /// `q [.., l, e], k [.., s, e], v [.., s, e] -> y [.., l, e], lse [.., l]` (float32): `softmax(scale * q @ kᵀ) @ v`, and
    /// the logarithms of the sums that the softmax divides by. Where `causal`, query `i` sees keys up to `i`.
    Attention { scale: f64, causal: bool },
    /// `dy, q, k, v, y, lse -> dq, dk, dv` of [`Kernel::Attention`], the last five inputs and the outputs as there.
    AttentionGrad { scale: f64, causal: bool },
    /// `x, from [n, 4h], c [n, h][, bias [4h]] -> h, c [n, h], gates [n, 4h]`: a step of an LSTM whose gates are the sums of
    /// the inputs, in the order input, forget, cell, output; row-major and of one dtype.
    LstmCell,
    /// `dh, more, dc [n, h], gates [n, 4h], c before, c [n, h] -> dgates [n, 4h], dc before [n, h]` of
    /// [`Kernel::LstmCell`]: by the output `dh + more`, and by the memory `dc`.
    LstmCellGrad,
    /// `dy, y -> dx` along `dim`.
    SoftmaxGrad { log: bool, dim: usize },
    /// `x [rows, n], weight [n]?, bias [n]? -> y, mean [rows], rstd [rows]`.
    LayerNorm { eps: f64, affine: bool },
    /// `dy, x, mean, rstd, weight? -> dx, dweight?, dbias?` of [`Kernel::LayerNorm`].
    LayerNormGrad { affine: bool },
    /// `x [n, c, m], weight [c] or 1, bias [c] or 0 -> y, mean [c], rstd [c][, running mean, running variance [c]]`: channels
    /// less their means over the roots of their variances plus `eps`. The running ones (read and written) become theirs
    /// by the share `momentum`, of the unbiased variance.
    BatchNorm { eps: f64, momentum: f64 },
    /// `dy, x, mean, rstd, weight [c] or 1 -> dx[, dweight, dbias [c]]` of [`Kernel::BatchNorm`]; where not `training`,
    /// the statistics are constants.
    BatchNormGrad { training: bool },
    /// `logp [n, c], target [n] (int64)[, weight [c]] -> loss ([] or [n]), total_weight []`.
    NllLoss { reduction: Reduction, ignore_index: i64 },
    /// `dloss, logp, target[, weight], total_weight -> dlogp [n, c]`.
    NllLossGrad { reduction: Reduction, ignore_index: i64 },
    /// `x, index [k] (int) -> y`: rows of `x` along `dim`; a negative index counts from the end, where it may.
    IndexSelect { dim: usize, from_end: bool },
    /// `table [n, d], index [k] (int), starts [m] (int)[, weight [k]] -> y [b, d][, places [b, d] (int64)]`: the rows of
    /// each bag combined, from its start to the next or the last index. Those named `padding` do not count; a bag
    /// without rows has zeros. The largest are the first of equals and come with their rows, or -1.
    EmbeddingBag { mode: Bag, padding: i64 },
    /// `y += source` at `index [k]` along `dim`; `index, source -> y` (read and written).
    IndexAdd { dim: usize },
    /// `x, index -> y` of `index`'s shape: `y[..i..] = x[..index[..i..]..]` along `dim`.
    Gather { dim: usize },
    /// `index, source -> y` (read and written): `y[..index..] (op)= source` along `dim`.
    Scatter { dim: usize, mode: ScatterMode },
    /// `x -> values, indices` (int64), stable along `dim`; NaN sorts as the largest. Outputs that are shorter along `dim`
    /// have the first of the order. On a CPU the indices may be left out.
    Sort { dim: usize, descending: bool },
    /// `x -> values, indices` (int64) with `dim` 1: what stands at a rank of the order that [`Kernel::Sort`] has. On a CPU alone.
    Kth { dim: usize, kth: Kth },
    /// Matrices, the last two dimensions of `a`, taken apart; computed in f64.
    Factor(Factor),
    /// `-> y`, drawn in row-major order from the session's generator; `rate -> y` for Poisson numbers;
    /// `x -> kept (bool), x * kept / p` for what dropout keeps of `x`.
    Random(Random),
    /// `x [n, c, h, w], weight [o, c/groups, kh, kw], bias [o]? -> y [n, o, oh, ow]`.
    Conv2d(Conv),
    /// `dy, weight -> dx`.
    Conv2dGradInput(Conv),
    /// `dy, x -> dweight`.
    Conv2dGradWeight(Conv),
    /// `x [n, c, h, w] -> y, indices` (int64, flat in the h×w plane).
    MaxPool2d(Window),
    /// `dy, indices -> dx`.
    MaxPool2dGrad(Window),
    /// `x [n, c, h, w] -> y`; padding counts unless `count_include_pad` is false.
    AvgPool2d(Window),
    /// `dy -> dx`.
    AvgPool2dGrad(Window),
    /// `grad -> parameter[, momentum buffer]` (read and written), as `torch.optim.SGD`.
    Sgd {
        lr: f64,
        momentum: f64,
        dampening: f64,
        weight_decay: f64,
        nesterov: bool,
        maximize: bool,
        first: bool,
    },
    /// `grad -> parameter, exp_avg, exp_avg_sq` (read and written), as `torch.optim.Adam` at step `step`.
    Adam {
        lr: f64,
        beta1: f64,
        beta2: f64,
        eps: f64,
        weight_decay: f64,
        decoupled: bool,
        maximize: bool,
        step: u64,
    },
    /// `inv_scale [] -> grad, found_inf []` (read and written): multiplies, and makes `found_inf` 1 where an
    /// element was infinite or NaN before.
    Unscale,
    /// `… -> …`: a kernel of a real GPU whose values were computed beside the clock; it tells what they cost.
    Whole {
        name: &'static str,
        class: KernelClass,
        flops: u64,
        /// Those that are read and written, where that is not each tensor once.
        bytes: Option<u64>,
    },
    /// `found_inf [] -> scale [], tracker [] (int32)` (read and written), as `torch.amp.GradScaler.update`.
    UpdateScale { growth: f64, backoff: f64, interval: i64 },
}

/// What becomes of all elements along the reduced dimensions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReduceOp {
    /// `scale * sum(x)`; mean has `scale = 1/n`. Accumulates in f32 (f64 for float64), integers in i64.
    Sum {
        scale: f64,
    },
    Prod,
    Max,
    Min,
    All,
    Any,
    /// `sqrt(sum(x²))`
    Norm2,
    /// `sum((x - mean)²) / max(0, n - correction)`, and its root where `root`.
    Var {
        correction: f64,
        root: bool,
    },
    /// `log(sum(exp(x)))`, without overflow.
    LogSumExp,
}

/// What a softmax gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SoftmaxForm {
    Plain,
    /// Its logarithm.
    Log,
    /// Of a line that has nothing but -inf it gives 0 in place of NaN.
    Safe,
}

/// What is accumulated along a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanOp {
    Sum,
    Prod,
    /// Where the largest so far was last reached; NaN wins over numbers.
    Largest,
    /// Where the smallest was.
    Smallest,
}

/// Which rank of an order is meant, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kth {
    Rank(usize),
    /// The first NaN instead, where there is one.
    RankOrNan(usize),
    /// The middle one of what is no NaN, the lower of two.
    MiddleOfNumbers,
}

/// How a matrix is taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factor {
    /// `a [.., m, n] -> both [.., m, n], pivots [.., k], order [.., m]`: elimination with the largest pivot of each
    /// column, its lower triangle without the ones; the row that each step chose, counted from 1, and for each row of
    /// the factors the row of the matrix, as numbers of the same dtype.
    Lu,
    /// `a [.., n, n], b [.., n, p] -> x [.., n, p], pivots [.., n]`: `a x = b`; not finite where a pivot is 0.
    Solve,
    /// `a [.., n, n] -> l [.., n, n]` of the symmetric positive definite matrix in the lower triangle; else NaN.
    Cholesky,
    /// `a [.., m, n] -> q [.., m, k], r [.., k, n]`: orthonormal columns, an upper triangle; `k` from `min(m, n)` to
    /// `m`.
    Qr,
    /// `a [.., n, n] -> values [.., n], vectors [.., n, n]` of the symmetric matrix in the lower triangle, ascending; or
    /// the values alone.
    Eigh,
    /// `a [.., m, n] -> u [.., m, j], s [.., k], vh [.., l, n]`, descending; `j` and `l` are `k = min(m, n)`, or `m` and
    /// `n`. Or `s` alone.
    Svd,
}

/// What a bag's rows become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bag {
    Sum,
    Mean,
    Max,
}

/// What becomes of several elements that are sent to one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScatterMode {
    Assign,
    Add,
    Multiply,
    /// The largest, or NaN.
    Maximum,
    /// The least, or NaN.
    Minimum,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    None,
    Mean,
    Sum,
}

/// A draw from a generator.
#[derive(Clone, Debug, PartialEq)]
pub struct Random {
    pub distribution: Distribution,
    /// Where the numbers come from; drawn by the caller so that a kernel holds no lock.
    pub source: RandomSource,
}

/// The state a draw starts from.
#[derive(Clone, Debug, PartialEq)]
pub enum RandomSource {
    /// The host's MT19937, shared with the session.
    Host(super::random::Shared),
    /// Philox 4x32-10 as CUDA devices use it; `most` is the number of threads that PyTorch's kernels run there at a
    /// time.
    Philox { seed: u64, offset: u64, most: u64 },
}

/// Parameters of a 2-d convolution, height first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Conv {
    pub stride: [usize; 2],
    pub padding: [usize; 2],
    pub dilation: [usize; 2],
    pub groups: usize,
}

/// A pooling window, height first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub size: [usize; 2],
    pub stride: [usize; 2],
    pub padding: [usize; 2],
    pub dilation: [usize; 2],
    pub count_include_pad: bool,
}

impl Kernel {
    /// The kernel's name in events and traces, such as `map_exp` or `matmul`.
    pub fn name(&self) -> &'static str {
        self.named().0
    }

    /// What kind of kernel it is, as far as that does not depend on the shapes it is launched with.
    pub fn class(&self) -> KernelClass {
        self.named().1
    }

    /// Its name and its class.
    fn named(&self) -> (&'static str, KernelClass) {
        use KernelClass as C;
        match self {
            Kernel::Map { op: MapOp::Identity, .. } => (MapOp::Identity.kernel_name(), C::Copy),
            Kernel::Map { op, .. } => (op.kernel_name(), C::Elementwise),
            Kernel::Join { .. } => ("cat", C::Copy),
            Kernel::Arange { .. } => ("arange", C::Elementwise),
            Kernel::Triangle { .. } => ("triangle", C::Elementwise),
            Kernel::Reduce { .. } => ("reduce", C::Reduction),
            Kernel::ArgReduce { .. } => ("arg_reduce", C::ArgReduction),
            Kernel::Scan { .. } => ("scan", C::Reduction),
            Kernel::Places => ("places", C::Reduction),
            Kernel::Matmul { .. } => ("matmul", C::Matmul),
            Kernel::Softmax { .. } => ("softmax", C::Normalise),
            Kernel::SoftmaxGrad { .. } => ("softmax_grad", C::Normalise),
            Kernel::Attention { .. } => ("attention", C::Matmul),
            Kernel::AttentionGrad { .. } => ("attention_grad", C::Matmul),
            Kernel::LstmCell => ("lstm_cell", C::Elementwise),
            Kernel::LstmCellGrad => ("lstm_cell_grad", C::Elementwise),
            Kernel::LayerNorm { .. } => ("layer_norm", C::Normalise),
            Kernel::LayerNormGrad { .. } => ("layer_norm_grad", C::Normalise),
            Kernel::BatchNorm { .. } => ("batch_norm", C::Normalise),
            Kernel::BatchNormGrad { .. } => ("batch_norm_grad", C::Normalise),
            Kernel::NllLoss { .. } => ("nll_loss", C::GatherScatter),
            Kernel::NllLossGrad { .. } => ("nll_loss_grad", C::GatherScatter),
            Kernel::IndexSelect { .. } => ("index_select", C::GatherScatter),
            Kernel::EmbeddingBag { .. } => ("embedding_bag", C::GatherScatter),
            Kernel::IndexAdd { .. } => ("index_add", C::ScatterAdd),
            Kernel::Gather { .. } => ("gather", C::GatherElements),
            Kernel::Scatter { mode: ScatterMode::Assign, .. } => ("scatter", C::GatherElements),
            Kernel::Scatter { .. } => ("scatter", C::ScatterAdd),
            Kernel::Sort { .. } => ("sort", C::GatherScatter),
            Kernel::Kth { .. } => ("kth", C::GatherScatter),
            Kernel::Factor(Factor::Lu) => ("lu", C::Normalise),
            Kernel::Factor(Factor::Solve) => ("solve", C::Normalise),
            Kernel::Factor(Factor::Cholesky) => ("cholesky", C::Normalise),
            Kernel::Factor(Factor::Qr) => ("qr", C::Normalise),
            Kernel::Factor(Factor::Eigh) => ("eigh", C::Normalise),
            Kernel::Factor(Factor::Svd) => ("svd", C::Normalise),
            Kernel::Random(_) => ("random", C::Random),
            Kernel::Conv2d(_) => ("conv2d", C::Convolution),
            Kernel::Conv2dGradInput(_) => ("conv2d_grad_input", C::Convolution),
            Kernel::Conv2dGradWeight(_) => ("conv2d_grad_weight", C::Convolution),
            Kernel::MaxPool2d(_) => ("max_pool2d", C::Reduction),
            Kernel::MaxPool2dGrad(_) => ("max_pool2d_grad", C::GatherScatter),
            Kernel::AvgPool2d(_) => ("avg_pool2d", C::Reduction),
            Kernel::AvgPool2dGrad(_) => ("avg_pool2d_grad", C::Elementwise),
            Kernel::Sgd { .. } => ("sgd", C::Elementwise),
            Kernel::Adam { .. } => ("adam", C::Elementwise),
            Kernel::Unscale => ("unscale", C::Elementwise),
            Kernel::UpdateScale { .. } => ("update_scale", C::Elementwise),
            Kernel::Whole { name, class, .. } => (name, *class),
        }
    }
}

impl Launch<'_> {
    /// Bytes read and written: each element in memory once, so what broadcasting repeats does not count again,
    /// and of what an index picks from only the elements that are picked.
    pub fn bytes(&self) -> u64 {
        let inputs = self.inputs.iter().map(|a| if let Arg::View(v) = a { v.bytes() } else { 0 });
        let (read, written): (u64, u64) = (inputs.sum(), self.outputs.iter().map(View::bytes).sum());
        let input = |i: usize| match self.inputs.get(i) {
            Some(Arg::View(v)) => v.bytes(),
            _ => 0,
        };
        let row = |i: usize| match self.inputs.get(i) {
            Some(Arg::View(v)) => v.layout.shape().last().map_or(1, |&n| (n * v.dtype.size()) as u64),
            _ => 0,
        };
        match self.kernel {
            Kernel::EmbeddingBag { .. } => {
                (read - input(0)).saturating_add(self.named(1).saturating_mul(row(0))).saturating_add(written)
            }
            Kernel::Whole { bytes: Some(bytes), .. } => *bytes,
            Kernel::IndexSelect { .. } | Kernel::Gather { .. } => read - input(0) + 2 * written,
            Kernel::Scatter { mode: ScatterMode::Assign, .. } => read + input(1),
            Kernel::IndexAdd { .. } | Kernel::Scatter { .. } => read + 2 * input(1),
            _ => read + written,
        }
    }

    /// How many elements an input has.
    fn named(&self, input: usize) -> u64 {
        match self.inputs.get(input) {
            Some(Arg::View(v)) => v.layout.numel() as u64,
            _ => 0,
        }
    }

    /// Floating-point operations, by the usual counts: 2mnk for a product, one per element otherwise, none for what moves, casts or fills.
    pub fn flops(&self) -> u64 {
        let shape = |i: usize| match self.inputs.get(i) {
            Some(Arg::View(v)) => v.layout.shape(),
            _ => &[],
        };
        let out = self.outputs.first().map_or(0, |v| v.layout.numel() as u64);
        let product = |sizes: &[usize]| sizes.iter().fold(1_u64, |all, n| all.saturating_mul(*n as u64));
        let per_filter = |w: &[usize]| product(w.get(1..).unwrap_or_default());
        let times = |a: u64, b: u64| a.saturating_mul(2).saturating_mul(b);
        match self.kernel {
            Kernel::Matmul { .. } => times(out, shape(0).last().copied().unwrap_or(1) as u64),
            Kernel::Conv2d(_) => times(out, per_filter(shape(1))),
            Kernel::Conv2dGradInput(_) => times(product(shape(0)), per_filter(shape(1))),
            Kernel::Conv2dGradWeight(_) => {
                let filters = self.outputs.first().map_or(0, |v| per_filter(v.layout.shape()));
                times(product(shape(0)), filters)
            }
            // Two products, and five of the gradient; of what is causal half.
            Kernel::Attention { causal, .. } | Kernel::AttentionGrad { causal, .. } => {
                let keys = shape(2).iter().rev().nth(1).copied().unwrap_or(0) as u64;
                let products = if matches!(self.kernel, Kernel::Attention { .. }) { 2 } else { 5 };
                times(out, keys).saturating_mul(products) / if *causal { 2 } else { 1 }
            }
            Kernel::EmbeddingBag { .. } => {
                self.named(1).saturating_mul(shape(0).last().map_or(1, |&n| n as u64))
            }
            Kernel::Reduce { .. } | Kernel::ArgReduce { .. } => product(shape(0)),
            // Householder's and the usual iterations' counts, of square matrices.
            Kernel::Factor(what) => {
                let size = shape(0).iter().rev().take(2).min().copied().unwrap_or(0) as u64;
                let square = product(shape(0)).saturating_mul(size);
                match what {
                    // Two thirds, and two for each column of the right-hand side.
                    Factor::Lu | Factor::Cholesky => square,
                    Factor::Solve => square.saturating_add(times(product(shape(1)), size)),
                    Factor::Qr => square.saturating_mul(4),
                    Factor::Eigh | Factor::Svd => square.saturating_mul(20),
                }
            }
            Kernel::Softmax { .. } | Kernel::SoftmaxGrad { .. } => out.saturating_mul(4),
            Kernel::LayerNorm { .. }
            | Kernel::LayerNormGrad { .. }
            | Kernel::BatchNorm { .. }
            | Kernel::BatchNormGrad { .. } => out.saturating_mul(8),
            Kernel::Adam { .. } => out.saturating_mul(12),
            Kernel::Whole { flops, .. } => *flops,
            // What only moves, casts or fills computes nothing.
            Kernel::Map { op: MapOp::Identity, .. } | Kernel::Join { .. } => 0,
            _ => out,
        }
    }

    /// The inputs of a [`Kernel::Join`], each with the layout under which the output has it.
    pub(crate) fn joined(&self, dim: usize) -> impl Iterator<Item = Result<(View<'_>, Layout)>> {
        let mut at = 0;
        let to = self.outputs.first();
        let views = self.inputs.iter().filter_map(|a| if let Arg::View(v) = a { Some(*v) } else { None });
        views.zip(to.into_iter().cycle()).map(move |(view, to)| {
            let size = view.layout.shape().get(dim).copied().unwrap_or(0);
            let piece = to.layout.slice(dim, at, size, 1)?;
            at += size;
            Ok((view, piece))
        })
    }

    /// The dtype that names the launch: the first output's.
    pub fn dtype(&self) -> DType {
        self.outputs.first().map_or(DType::Float32, |v| v.dtype)
    }
}
