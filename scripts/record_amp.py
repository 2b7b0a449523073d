"""Records tests/golden/amp_more.json: the dtypes of results under autocast, of many operations.

    python scripts/record_amp.py tests/golden/amp_more.json

No GPU is needed: what autocast does on a CUDA device is decided before a kernel is chosen, and PyTorch's fake
tensors go the same way. Each call has the dtypes of its results for float32 inputs and for inputs of the region's
dtype, `float16` on a CUDA device and `bfloat16` on the CPU; "error" stands where PyTorch refuses, null where a fake tensor
cannot tell.
"""

import contextlib
import json
import re
import sys
import warnings

import torch
from record_ops import python, tensors
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
    UnsupportedOperatorException,
)

warnings.simplefilter("ignore")

# `a` and `b` are matrices of the input's dtype between 0.2 and 0.8, `f` is one in float32, `s` is positive definite;
# `c` and `e` are batches of one matrix, `v` and `w` vectors of 4, `u` and `z` vectors of 3; `i` are places.
CALLS = """
addmv(v, a, w)
addmv(w, f, v)
addr(a, v, w)
addr(f, v, w)
addbmm(a, c, e)
addmm(f, a, b)
baddbmm(c, f.unsqueeze(0), e)
chain_matmul([a, b])
linalg::multi_dot([a, b, a])
linalg::multi_dot([a, b])
linalg::multi_dot([v, b, w])
linalg::matrix_power(s, 3)
linalg::matrix_power(s, 1)
linalg::inv(s)
s.inverse()
linalg::solve(s, a)
linalg::cholesky(s)
linalg::det(s)
s.det()
linalg::slogdet(s)
linalg::norm(a)
linalg::norm(v, 1)
linalg::vector_norm(a)
linalg::vector_norm(a, 3)
linalg::matrix_norm(a)
linalg::matrix_norm(a, 1)
linalg::qr(s)
linalg::svd(s)
linalg::svdvals(s)
linalg::eigh(s)
linalg::eigvalsh(s)
linalg::lstsq(s, a)
linalg::pinv(s)
linalg::matrix_rank(s)
a.matmul(f)
v.matmul(a)
a.matmul(v)
c.matmul(b)
v.matmul(w)
a.mm(f)
c.bmm(e)
a.mv(v)
v.dot(w)
v.vdot(w)
v.inner(w)
a.inner(b)
v.outer(w)
u.cross(z)
a.kron(b)
tensordot(a, b, 1)
tensordot(a, f, 1)
cdist(a, b)
cdist(a, b, 1.0)
F::prelu(a, v)
F::rms_norm(a, [4])
F::normalize(a)
F::cosine_similarity(a, b)
F::cosine_similarity(a, f)
F::softmin(a, #{dim: 0})
F::softmax(a, #{dim: 0})
F::log_softmax(a, #{dim: 0})
F::softsign(a)
F::mish(a)
F::selu(a)
F::celu(a)
F::elu(a)
F::glu(a)
F::hardsigmoid(a)
F::hardswish(a)
F::hardtanh(a)
F::leaky_relu(a)
F::relu6(a)
F::logsigmoid(a)
F::softplus(a)
F::layer_norm(a, [4])
F::max_pool1d(c, 2)
F::avg_pool1d(c, 2)
F::adaptive_avg_pool1d(c, 2)
F::conv1d(c, e)
quantile(a, 0.5)
a.quantile(0.5, 1)
a.nanquantile(0.5)
a.median()
a.nanmedian()
a.median(1)
a.mode(1)
a.kthvalue(2, 1)
a.sort(1)
a.topk(2)
a.trace()
a.logcumsumexp(0)
a.logsumexp(0)
a.cummax(0)
a.cumsum(0)
a.cumprod(0)
a.prod()
a.prod(0)
a.sum(0)
a.mean(0)
a.nansum()
a.nanmean()
a.std(0)
a.var(0)
var_mean(a)
std_mean(a)
a.norm(2)
a.norm(1, 0)
a.cov()
a.corrcoef()
a.amax(0)
a.aminmax()
a.diff()
trapezoid(a)
trapezoid(a, f)
a.index_copy(0, i, b)
a.index_copy(0, i, f)
a.index_add(0, i, b)
a.index_add(0, i, f)
a.index_fill(0, i, 1.0)
a.index_select(0, i)
a.scatter_add(0, j, b)
a.scatter_add(0, j, f)
a.scatter(0, j, b)
a.scatter_reduce(0, j, b, "sum")
a.gather(0, j)
a.masked_fill(m, 1.0)
where(m, a, b)
where(m, a, f)
cat([a, f])
stack([a, f])
hstack([a, f])
vstack([a, f])
dstack([a, f])
column_stack([a, f])
concat([a, f])
cartesian_prod([v, w])
block_diag([a, b])
meshgrid([v, w])
combinations(v)
vander(v)
a.diag()
a.tril()
a.take(i)
a.unique()
a.unfold(0, 2, 1)
bucketize(a, v)
searchsorted(v, a)
histc(a, 4)
addcmul(a, b, b)
addcmul(a, b, f)
addcdiv(a, b, f)
a.atan2(f)
a.lerp(b, 0.5)
a.lerp(f, 0.5)
a.hypot(b)
a.logaddexp(b)
a.logaddexp2(b)
a.xlogy(b)
a.copysign(b)
a.ldexp(i)
a.float_power(2.0)
a.pow(2)
a.pow(b)
a.pow(f)
a.fmod(b)
a.remainder(b)
a.heaviside(b)
a.maximum(f)
a.fmax(b)
a.sub(f)
rsub(a, b)
a.div(f)
a.exp2()
a.erfinv()
a.erfc()
a.lgamma()
a.digamma()
polygamma(1, a)
a.logit()
a.sinc()
a.frac()
a.asinh()
a.atanh()
a.atan()
a.sinh()
a.cosh()
a.tan()
a.acos()
a.asin()
a.exp()
a.expm1()
a.log()
a.log10()
a.log2()
a.log1p()
a.rsqrt()
a.square()
a.reciprocal()
a.sqrt()
a.deg2rad()
a.nan_to_num()
a.sign()
a.round()
F::binary_cross_entropy_with_logits(a, b)
F::binary_cross_entropy(a, b)
F::mse_loss(a, b)
F::l1_loss(a, b)
F::smooth_l1_loss(a, b)
F::huber_loss(a, b)
F::kl_div(a, b)
F::nll_loss(a, i)
F::cross_entropy(a, i)
F::cross_entropy(a, b)
isclose(a, b)
allclose(a, b)
a.bernoulli()
a.multinomial(2)
einsum("ij,jk->ik", [a, f])
einsum("i,i->", [v, w])
F::conv_transpose3d(a.reshape([1, 1, 4, 2, 2]), b.reshape([1, 2, 2, 2, 2]))
F::multi_margin_loss(a, i)
F::multilabel_margin_loss(a, j)
F::adaptive_max_pool3d(a.reshape([1, 4, 2, 2]), 1)
F::adaptive_avg_pool3d(a.reshape([1, 4, 2, 2]), 1)
F::max_unpool1d(a, j, 2)
F::max_unpool2d(c, j.unsqueeze(0), 2)
F::max_unpool3d(a.reshape([1, 4, 2, 2]), j.reshape([1, 4, 2, 2]), 2)
""".strip().splitlines()


def inputs(device, dtype):
    torch.manual_seed(0)
    a, b, f = (torch.rand(4, 4, device=device) * 0.6 + 0.2 for _ in range(3))
    s = a + 4 * torch.eye(4, device=device)
    s = s + s.mT
    i = torch.arange(4, device=device)
    own = {"a": a, "b": b, "s": s, "c": a[None], "e": b[None], "v": a[0], "w": b[0], "u": a[0, :3], "z": b[0, :3]}
    own = {k: t.to(dtype) for k, t in own.items()}
    return {**own, "f": f, "i": i, "j": torch.zeros(4, 4, device=device, dtype=torch.int64), "m": a > 0.5}


class Names(dict):
    """Names of a call; what is none of the inputs is PyTorch's."""

    def __missing__(self, name):
        return getattr(torch, name)


def call(code, device, dtype, lower):
    names = Names(torch=torch, F=torch.nn.functional, **inputs(device, dtype))
    text = re.sub(r"(chain_matmul|meshgrid|block_diag|cartesian_prod)\(\[", r"\1(*[", python(code).replace("F::", "F."))
    try:
        with region(device, lower):
            value = eval(text, {}, names)
    except (AttributeError, NameError, TypeError, SyntaxError) as error:
        raise SystemExit(f"{text}: {error}")
    except (DynamicOutputShapeException, UnsupportedOperatorException, DataDependentOutputException):
        return None
    except Exception as error:
        print(device, dtype, text, str(error).splitlines()[0][:90])
        return "error"
    found = tensors(value)
    return " ".join(str(t.dtype)[6:] for t in found) if found else "none"


@contextlib.contextmanager
def region(device, lower):
    """`torch.autocast(device)` without a look for the device; none where `lower` is None."""
    torch.set_autocast_enabled(device, lower is not None)
    torch.set_autocast_dtype(device, lower or torch.bfloat16)
    torch.autocast_increment_nesting()
    try:
        yield
    finally:
        torch.autocast_decrement_nesting()
        torch.clear_autocast_cache()
        torch.set_autocast_enabled(device, False)


def main(path):
    recorded = {"torch": torch.__version__}
    lower = torch.bfloat16
    recorded["cpu"] = {c: [call(c, "cpu", d, lower) for d in (torch.float32, lower)] for c in CALLS}
    lower = torch.float16
    with FakeTensorMode(allow_non_fake_inputs=True):
        recorded["cuda"] = {c: [call(c, "cuda", d, lower) for d in (torch.float32, lower)] for c in CALLS}
    # A fake tensor takes no look at kernels: where the CPU has none for float16, and no policy led elsewhere, a GPU
    # may have none either.
    for c, results in recorded["cuda"].items():
        # Made of others in its own kernel, where fake tensors see no autocast.
        if "pinv" in c:
            results[0] = None
        if results[1] not in (None, "error") and "float16" in results[1] and call(c, "cpu", lower, None) == "error":
            results[1] = None
    with open(path, "w") as out:
        json.dump(recorded, out, indent=0)
        out.write("\n")


main(sys.argv[1])
