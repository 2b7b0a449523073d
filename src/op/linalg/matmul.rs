//! Products of matrices and vectors, batched and broadcast. Operands are read in any strides: transposing or
//! broadcasting one never copies it.

use crate::base::dtype::Category;
use crate::base::error::{conversion, conversion_of_several};
use crate::base::shape::broadcast;
use crate::base::{Cause, DType, DeviceCause, Dims, Error, Kind, Layout, Result, ShapeCause};
use crate::device::Kernel;
use crate::op::core::args::to_value;
use crate::op::core::autocast;
use crate::op::core::autocast::whole;
use crate::op::core::def::{Domain, Draw, Family, Form, Gradient, OpDef, Sample};
use crate::op::core::params::{by_name, kind, params};
use crate::op::core::record::{recorded, two, wanted};
use crate::op::elementwise::arithmetic::mul;
use crate::op::shape::permute::{matrix_transpose, movedim, t};
use crate::op::shape::view::{reshape_to, unsqueeze};
use crate::tensor::accumulate::expand;
use crate::tensor::autograd::{Grads, Saved, Saver, Vjp};
use crate::tensor::{In, Tensor, launch};

/// The product of two tensors: dot for vectors, matrix for matrices, batched and broadcast above.
pub fn matmul(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("matmul", &[a, b])? {
        return matmul(&casts.cast(a)?, &casts.cast(b)?);
    }
    run_matmul(a, b).map_err(|e| e.in_op("matmul", || vec![a.operand(), b.operand()]))
}

/// The product of two matrices.
pub fn mm(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("mm", &[a, b])? {
        return mm(&casts.cast(a)?, &casts.cast(b)?);
    }
    let run = || {
        for (name, x) in [("self", a), ("mat2", b)] {
            if x.rank() != 2 {
                return Err(Error::runtime(format!(
                    "mm: {name} must be a matrix, got {}-D tensor",
                    x.rank()
                )));
            }
        }
        matrices(a, b)
    };
    run().map_err(|e| e.in_op("mm", || vec![a.operand(), b.operand()]))
}

/// Products of matrices, batch by batch, without broadcasting.
pub fn bmm(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("bmm", &[a, b])? {
        return bmm(&casts.cast(a)?, &casts.cast(b)?);
    }
    static RULE: Vjp = Vjp { name: "BmmBackward0", run: matmul_grad };
    let run = || {
        let ([n, _, k], [m, l, _]) = (batches_of(a, "batch1")?, batches_of(b, "batch2")?);
        same_place(a, b, "wrapper_CUDA_bmm")?;
        if (n, k) != (m, l) {
            return Err(ShapeCause::BatchMatmul { want: [n, k], got: [m, l] }.into());
        }
        batched("bmm", a, b, &RULE)
    };
    run().map_err(|e| e.in_op("bmm", || vec![a.operand(), b.operand()]))
}

/// A matrix times a vector.
pub fn mv(a: &Tensor, v: &Tensor) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("mv", &[a, v])? {
        return mv(&casts.cast(a)?, &casts.cast(v)?);
    }
    static RULE: Vjp = Vjp { name: "MvBackward0", run: mv_grad };
    let run = || {
        let (&[m, k], &[n]) = (a.shape(), v.shape()) else {
            let text = format!("vector + matrix @ vector expected, got 1, {}, {}", a.rank(), v.rank());
            return Err(Error::runtime(text));
        };
        if k != n {
            return Err(Error::runtime(format!("size mismatch, got input ({m}), mat ({m}x{k}), vec ({n})")));
        }
        same_place(a, v, "wrapper_CUDA_addmv_")?;
        if a.dtype() != v.dtype() {
            let (mat, vec) = (a.dtype().type_name(), v.dtype().type_name());
            return Err(Error::runtime(format!(
                "addmv input tensors must have the same dtype, but got {vec}, {mat}, and {vec}"
            ))
            .with_hint(conversion(a.dtype(), v.dtype())));
        }
        check_numbers_of("addmv_impl_cpu", a, v)?;
        let out = Tensor::empty(&[m], a.dtype(), &a.context(), "mv")?;
        let column = v.layout().unsqueeze(1)?;
        let target = out.with_layout(out.layout().unsqueeze(1)?);
        product("mv", [a.into(), In::Laid(v, &column)], &target)?;
        Ok(recorded(out, &RULE, &[a, v], |s, _| save_factors(s, a, v)))
    };
    run().map_err(|e| e.in_op("mv", || vec![a.operand(), v.operand()]))
}

/// The inner product of two vectors.
pub fn dot(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("dot", &[a, b])? {
        return dot(&casts.cast(a)?, &casts.cast(b)?);
    }
    static RULE: Vjp = Vjp {
        name: "DotBackward0",
        run: |s, g| two(wanted(s, 0, || mul(&s.tensor(1)?, g))?, wanted(s, 1, || mul(&s.tensor(0)?, g))?),
    };
    let run = || {
        let (&[n], &[m]) = (a.shape(), b.shape()) else {
            let text = format!("1D tensors expected, but got {}D and {}D tensors", a.rank(), b.rank());
            return Err(Error::runtime(text));
        };
        same_place(a, b, "wrapper_CUDA__dot")?;
        if a.dtype() != b.dtype() {
            return Err(Error::runtime(format!(
                "dot : expected both vectors to have same dtype, but found {} and {}",
                a.dtype().type_name(),
                b.dtype().type_name()
            ))
            .with_hint(conversion(a.dtype(), b.dtype())));
        }
        if n != m {
            return Err(ShapeCause::VectorSizes { left: n, right: m }.into());
        }
        check_numbers(a.dtype(), "dot")?;
        let out = Tensor::empty(&[], a.dtype(), &a.context(), "dot")?;
        let (row, column) = (a.layout().unsqueeze(0)?, b.layout().unsqueeze(1)?);
        let target = out.with_layout(Layout::contiguous(&[1, 1])?);
        product("dot", [In::Laid(a, &row), In::Laid(b, &column)], &target)?;
        Ok(recorded(out, &RULE, &[a, b], |s, _| save_factors(s, a, b)))
    };
    run().map_err(|e| e.in_op("dot", || vec![a.operand(), b.operand()]))
}

/// All products of an element of `a` and one of `b`.
pub fn outer(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    for (name, x) in [("self", a), ("vec2", b)] {
        if x.rank() != 1 {
            let text = format!("outer: Expected 1-D argument {name}, but got {}-D", x.rank());
            return Err(Error::runtime(text));
        }
    }
    mul(&unsqueeze(a, 1)?, b)
}

/// Batch, rows and columns.
pub(crate) fn batches_of(x: &Tensor, name: &str) -> Result<[usize; 3]> {
    match x.shape() {
        &[n, m, k] => Ok([n, m, k]),
        _ => Err(Error::runtime(format!("{name} must be a 3D tensor"))),
    }
}

/// Launches `alpha * a @ b + beta * c` into `out`; no graph. A zero `beta` leaves `c` unread.
pub(crate) fn fused_product(
    name: &'static str,
    all: [In; 3],
    out: &Tensor,
    alpha: f64,
    beta: f64,
) -> Result<()> {
    let [a, b, c] = all;
    if beta == 0.0 {
        return launch(name, &Kernel::Matmul { alpha, beta }, &[a, b], &[out]);
    }
    launch(name, &Kernel::Matmul { alpha, beta }, &[a, b, c], &[out])
}

/// Launches `a @ b` into `out`; no graph.
pub fn product(name: &'static str, both: [In; 2], out: &Tensor) -> Result<()> {
    launch(name, &Kernel::Matmul { alpha: 1.0, beta: 0.0 }, &both, &[out])
}

/// Each factor where the other wants a gradient.
pub(crate) fn save_factors(s: &mut Saver, a: &Tensor, b: &Tensor) {
    for (x, other) in [(a, b), (b, a)] {
        if other.requires_grad() { s.input(x) } else { s.constant(None) }
    }
}

/// `x [.., m, n]` as one matrix of all its rows; a copy only where strides do not allow a view.
pub fn rows(x: &Tensor) -> Result<Tensor> {
    let n = x.shape().last().copied().unwrap_or(1);
    let count: usize = x.shape().iter().take(x.rank().saturating_sub(1)).product();
    if x.rank() == 2 { Ok(x.clone()) } else { reshape_to(x, &[count, n]) }
}

/// Whether a matrix lies column by column, as the transpose of a contiguous one does.
pub(crate) fn is_transposed(x: &Tensor) -> bool {
    match (x.shape(), x.layout().strides()) {
        (&[m, n], &[1, step]) => m > 1 && n > 1 && step == m as isize,
        _ => false,
    }
}

/// `a @ b`, laid out column by column where `transposed`: the gradient of a transposed weight is then
/// contiguous once it is transposed back.
pub(crate) fn product_laid(a: &Tensor, b: &Tensor, transposed: bool) -> Result<Tensor> {
    if transposed { t(&mm(&t(b)?, &t(a)?)?) } else { mm(a, b) }
}

/// Both on one device, in the words of PyTorch's dispatcher.
pub(crate) fn same_place(a: &Tensor, b: &Tensor, method: &'static str) -> Result<()> {
    if a.device() == b.device() {
        return Ok(());
    }
    let (is_on, others) = (b.device(), a.device());
    Err(DeviceCause::ArgumentDevice { argument: "mat2", is_on, others, method }.into())
}

/// Devices and dtypes of `addmm` and `linear`, in the words of PyTorch.
pub(crate) fn check_addmm(input: &Tensor, a: &Tensor, b: &Tensor) -> Result<()> {
    check_place(input, a, b)?;
    check_added_dtypes(input, a, b)
}

/// All on one device, in the words of PyTorch's dispatcher.
pub(crate) fn check_place(input: &Tensor, a: &Tensor, b: &Tensor) -> Result<()> {
    let method = "wrapper_CUDA_addmm";
    for (argument, x) in [("mat1", a), ("mat2", b)] {
        if x.device() != input.device() {
            let (is_on, others) = (x.device(), input.device());
            return Err(DeviceCause::ArgumentDevice { argument, is_on, others, method }.into());
        }
    }
    Ok(())
}

/// Factors of different dtypes, in the words of `mm`.
fn mismatch(left: DType, right: DType) -> Error {
    Error::from(Cause::DtypeMismatch { left, right }).with_hint(conversion(left, right))
}

/// One dtype of numbers for a sum, in the words of `addmm`.
pub(crate) fn check_added_dtypes(input: &Tensor, a: &Tensor, b: &Tensor) -> Result<()> {
    check_dtypes(input, a, b, |_, left, right| conversion_of_several(left, right))
}

/// The same with what helps where an operand's dtype is not that of `b`.
pub(super) fn check_dtypes(
    input: &Tensor,
    a: &Tensor,
    b: &Tensor,
    hint: fn(&str, DType, DType) -> String,
) -> Result<()> {
    for (name, left) in [("self", input), ("mat1", a)] {
        if left.dtype() != b.dtype() {
            return Err(Error::runtime(format!(
                "{name} and mat2 must have the same dtype, but got {} and {}",
                left.dtype().type_name(),
                b.dtype().type_name()
            ))
            .with_hint(hint(name, left.dtype(), b.dtype())));
        }
    }
    check_numbers(a.dtype(), "addmm_impl_cpu_")
}

fn run_matmul(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "UnsafeViewBackward0", run: matmul_grad };
    match (a.rank(), b.rank()) {
        (2, 2) => matrices(a, b),
        (1, 1) => dot(a, b),
        (2, 1) => mv(a, b),
        (0, _) | (_, 0) => Err(Error::runtime(format!(
            "both arguments to matmul need to be at least 1D, but they are {}D and {}D",
            a.rank(),
            b.rank()
        ))),
        (1, _) => {
            let out = run_matmul(&unsqueeze(a, 0)?, b)?;
            crate::op::shape::view::squeeze(&out, Some(&[-2]))
        }
        (_, 1) => {
            let out = run_matmul(a, &unsqueeze(b, 1)?)?;
            crate::op::shape::view::squeeze(&out, Some(&[-1]))
        }
        _ => {
            same_place(a, b, if b.rank() == 2 { "wrapper_CUDA_mm" } else { "wrapper_CUDA_bmm" })?;
            batched("matmul", a, b, &RULE)
        }
    }
}

fn matrices(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "MmBackward0", run: mm_grad };
    let (&[m, k], &[l, n]) = (a.shape(), b.shape()) else { return Err(Error::runtime("mm takes matrices")) };
    same_place(a, b, "wrapper_CUDA_mm")?;
    if k != l {
        return Err(
            ShapeCause::MatmulShapes { op: "mm", left: a.shape().into(), right: b.shape().into() }.into()
        );
    }
    if a.dtype() != b.dtype() {
        return Err(mismatch(a.dtype(), b.dtype()));
    }
    check_numbers_of("addmm_impl_cpu_", a, b)?;
    let out = Tensor::empty(&[m, n], a.dtype(), &a.context(), "mm")?;
    product("mm", [a.into(), b.into()], &out)?;
    Ok(recorded(out, &RULE, &[a, b], |s, _| {
        save_factors(s, a, b);
        s.attribute([is_transposed(a), is_transposed(b)]);
    }))
}

/// Both of rank 2 or more. A matrix on the right makes one product of all rows where strides allow.
fn batched(name: &'static str, a: &Tensor, b: &Tensor, rule: &'static Vjp) -> Result<Tensor> {
    check_numbers_of("addmm_impl_cpu_", a, b)?;
    let (head_a, m, k) = tail(a)?;
    let (head_b, l, n) = tail(b)?;
    let folded = b.rank() == 2;
    if folded && k != l {
        let left: Dims = [head_a.iter().product::<usize>() * m, k].into_iter().collect();
        return Err(ShapeCause::MatmulShapes { op: "mm", left, right: b.shape().into() }.into());
    }
    let batch = broadcast(head_a, head_b)?;
    if k != l {
        let count = batch.iter().product();
        return Err(ShapeCause::BatchMatmul { want: [count, k], got: [count, l] }.into());
    }
    if a.dtype() != b.dtype() {
        if folded {
            return Err(mismatch(a.dtype(), b.dtype()));
        }
        return Err(Error::runtime(format!(
            "expected scalar type {} but found {}",
            a.dtype().type_name(),
            b.dtype().type_name()
        ))
        .with_hint(conversion(a.dtype(), b.dtype())));
    }
    let shape: Dims = batch.iter().copied().chain([m, n]).collect();
    let out = Tensor::empty(&shape, a.dtype(), &a.context(), name)?;
    let count = batch.iter().product::<usize>() * m;
    match a.layout().view(&[count, k]).filter(|_| folded) {
        Some(flat) => {
            let target = out.with_layout(Layout::contiguous(&[count, n])?);
            product(name, [In::Laid(a, &flat), b.into()], &target)?;
        }
        None => {
            let (wide_a, wide_b) = (over(a, &batch)?, over(b, &batch)?);
            product(name, [In::Laid(a, &wide_a), In::Laid(b, &wide_b)], &out)?;
        }
    }
    Ok(recorded(out, rule, &[a, b], |s, _| save_factors(s, a, b)))
}

/// Batch sizes, rows and columns.
fn tail(x: &Tensor) -> Result<(&[usize], usize, usize)> {
    match x.shape() {
        [head @ .., m, n] => Ok((head, *m, *n)),
        _ => Err(Error::runtime("a matrix or a batch of matrices is needed")),
    }
}

/// A batch of matrices expanded over `batch` without copying.
fn over(x: &Tensor, batch: &[usize]) -> Result<Layout> {
    let (_, m, n) = tail(x)?;
    let shape: Dims = batch.iter().copied().chain([m, n]).collect();
    x.layout().expand(&shape)
}

/// `"kernel" not implemented for 'Bool'`, of bools.
pub(crate) fn check_numbers(dtype: DType, kernel: &str) -> Result<()> {
    if dtype.category() != Category::Bool {
        return Ok(());
    }
    let text = format!("\"{kernel}\" not implemented for 'Bool'");
    Err(Error::new(Kind::NotImplementedError, text).with_hint("convert first, for example with `.float()`"))
}

/// The same of factors: where one has no elements nothing is multiplied.
fn check_numbers_of(kernel: &str, a: &Tensor, b: &Tensor) -> Result<()> {
    if a.numel() == 0 || b.numel() == 0 { Ok(()) } else { check_numbers(a.dtype(), kernel) }
}

fn mm_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let &[left, right]: &[bool; 2] = s.attribute()?;
    two(
        wanted(s, 0, || product_laid(g, &t(&s.tensor(1)?)?, left))?,
        wanted(s, 1, || product_laid(&t(&s.tensor(0)?)?, g, right))?,
    )
}

fn mv_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    two(wanted(s, 0, || outer(g, &s.tensor(1)?))?, wanted(s, 1, || mv(&t(&s.tensor(0)?)?, g))?)
}

/// Gradients of a batched product. A matrix that was broadcast over the batch takes one product over all rows,
/// so that no batch of gradients is made only to be summed.
fn matmul_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    two(
        wanted(s, 0, || {
            let b = s.tensor(1)?;
            if s.shape(0).len() == 2 && g.rank() > 2 {
                let wide = expand(&b, over(&b, tail(g)?.0)?.shape())?;
                return mm(&beside(g)?, &t(&beside(&wide)?)?);
            }
            matmul(g, &matrix_transpose(&b)?)
        })?,
        wanted(s, 1, || {
            let a = s.tensor(0)?;
            if s.shape(1).len() == 2 {
                mm(&t(&rows(&a)?)?, &rows(g)?)
            } else {
                matmul(&matrix_transpose(&a)?, g)
            }
        })?,
    )
}

/// `x [.., m, n]` as `[m, .. * n]`: the matrices of a batch side by side.
fn beside(x: &Tensor) -> Result<Tensor> {
    let (head, m, n) = tail(x)?;
    let width = head.iter().product::<usize>() * n;
    reshape_to(&movedim(x, &[-2], &[0])?, &[m, width])
}

const AB: &[Draw] = &[Draw::of("a", &[3, 4], Domain::Any), Draw::of("b", &[4, 2], Domain::Any)];
const BATCH: &[Draw] = &[Draw::of("a", &[2, 3, 4], Domain::Any), Draw::of("b", &[2, 4, 2], Domain::Any)];
const VECTORS: &[Draw] = &[Draw::of("a", &[4], Domain::Any), Draw::of("b", &[4], Domain::Any)];
const TWO_VECTORS: &[Draw] = &[Draw::of("a", &[4], Domain::Any), Draw::of("b", &[4], Domain::Positive)];

params! {
    TwoParams {
        input: kind::Tensor, "the tensor it is computed of";
        other: kind::Tensor, "the right factor";
    }
}

const OUTER: OpDef = OpDef::call(
    "outer",
    Family::Matmul,
    "Every product of an element of one vector and one of another.",
    TwoParams::LIST,
    by_name!(TwoParams, |a| to_value(outer(a.input, a.other))),
)
.shapes("(n), (m) -> (n, m)")
.errors(&["RuntimeError: a factor is no vector"])
.example("tensor([1, 2]).outer(tensor([3, 4]))", "tensor([[3, 4],\n        [6, 8]])")
.samples(&[Sample::of("a.outer(b)", VECTORS)]);

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "matmul",
        Family::Matmul,
        "The matrix product; leading dimensions are batches and are broadcast.",
        TwoParams::LIST,
        by_name!(TwoParams, |a| to_value(matmul(a.input, a.other))),
    )
    .forms(&[Form::Method, Form::Function, Form::Operator("@")])
    .details("A vector on the left is a row, on the right a column.")
    .shapes(
        "(…, n, m), (…, m, p) -> (…, n, p), batches broadcast; (m), (m) -> (); (…, n, m), (m) -> (…, n); (m), (…, \
         m, p) -> (…, p)",
    )
    .errors(&[
        "RuntimeError: the inner sizes differ",
        "RuntimeError: the batches do not broadcast together",
        "RuntimeError: an operand has no dimension",
        "NotImplementedError: an operand holds bools",
    ])
    .example("tensor([[1.0, 2.0], [3.0, 4.0]]) @ tensor([1.0, 1.0])", "tensor([3., 7.])")
    .gradient(Gradient::Vjp("MmBackward0"))
    .samples(&[
        Sample::of("a @ b", AB),
        Sample::of("a @ b", BATCH),
        Sample::of(
            "a.t() @ b.t()",
            &[Draw::of("a", &[4, 3], Domain::Any), Draw::of("b", &[5, 4], Domain::Any)],
        ),
    ]),
    OpDef::call(
        "mm",
        Family::Matmul,
        "The product of two matrices.",
        TwoParams::LIST,
        by_name!(TwoParams, |a| to_value(mm(a.input, a.other))),
    )
    .shapes("(n, m), (m, p) -> (n, p)")
    .errors(&["RuntimeError: the inner sizes differ", "RuntimeError: a factor is no matrix"])
    .example("ones([2, 3]).mm(ones([3, 1]))", "tensor([[3.],\n        [3.]])")
    .gradient(Gradient::Vjp("MmBackward0"))
    .samples(&[Sample::of("a.mm(b)", AB)]),
    OpDef::call(
        "bmm",
        Family::Matmul,
        "The products of two batches of matrices.",
        TwoParams::LIST,
        by_name!(TwoParams, |a| to_value(bmm(a.input, a.other))),
    )
    .shapes("(b, n, m), (b, m, p) -> (b, n, p)")
    .errors(&[
        "RuntimeError: the batches or the inner sizes differ",
        "RuntimeError: a factor has not three dimensions",
    ])
    .example("ones([2, 1, 3]).bmm(ones([2, 3, 1])).shape", "[2, 1, 1]")
    .gradient(Gradient::Vjp("BmmBackward0"))
    .samples(&[Sample::of("a.bmm(b)", BATCH)]),
    OpDef::call(
        "mv",
        Family::Matmul,
        "The product of a matrix and a vector.",
        TwoParams::LIST,
        by_name!(TwoParams, |a| to_value(mv(a.input, a.other))),
    )
    .shapes("(n, m), (m) -> (n)")
    .errors(&["RuntimeError: the inner sizes differ"])
    .example("ones([2, 3]).mv(ones(3))", "tensor([3., 3.])")
    .gradient(Gradient::Vjp("MvBackward0"))
    .samples(&[Sample::of(
        "a.mv(b)",
        &[Draw::of("a", &[3, 4], Domain::Any), Draw::of("b", &[4], Domain::Any)],
    )]),
    OpDef::call(
        "dot",
        Family::Matmul,
        "The inner product of two vectors.",
        TwoParams::LIST,
        by_name!(TwoParams, |a| to_value(dot(a.input, a.other))),
    )
    .shapes("(n), (n) -> ()")
    .errors(&["RuntimeError: the vectors have different lengths, or one is no vector"])
    .example("tensor([1.0, 2.0]).dot(tensor([3.0, 4.0]))", "tensor(11.)")
    .gradient(Gradient::Vjp("DotBackward0"))
    .samples(&[Sample::of("a.dot(b)", VECTORS)]),
    OUTER,
    OUTER.named("ger").summary("Another name of `outer`.").example("tensor([1, 2]).ger(tensor([3, 4]))", "tensor([[3, 4],\n        [6, 8]])"),
    OpDef::call(
        "vdot",
        Family::Matmul,
        "The inner product of two vectors; of real ones the same as `dot`.",
        TwoParams::LIST,
        by_name!(TwoParams, |a| to_value(whole("vdot", [a.input, a.other], |[x, y]| dot(x, y)))),
    )
    .shapes("(n), (n) -> ()")
    .errors(&["RuntimeError: the vectors have different lengths, or one is no vector"])
    .example("tensor([1.0, 2.0]).vdot(tensor([3.0, 4.0]))", "tensor(11.)")
    .gradient(Gradient::Vjp("DotBackward0"))
    .samples(&[Sample::of("a.vdot(b)", TWO_VECTORS)]),
];
