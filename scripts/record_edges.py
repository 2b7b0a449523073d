"""Records tests/golden/edges.jsonl.gz: what PyTorch does at the edges of its operations.

    python scripts/record_edges.py tests/golden/edges.jsonl.gz

Empty tensors, zero-sized dimensions, tensors without dimensions, negative places, sizes that overflow, NaN and
infinities. Each line has a call and either its results or the kind and the text of its error.
"""

import gzip
import json
import math
import sys
import warnings

import torch
from record_ops import plain, python, tensors

warnings.simplefilter("ignore")
NAN, INF = math.nan, math.inf

INPUTS = {
    "empty": "zeros([0])",
    "rows of none": "zeros([2, 0])",
    "none of rows": "zeros([0, 3])",
    "scalar": "tensor(2.5)",
    "integers of none": "zeros([0], #{dtype: int64})",
    "integer": "tensor(3)",
    "edges": "tensor([1.5, -INF, 0.0, NAN, INF, -2.5])",
    "mask": "tensor([true, false, true])",
    "half": "tensor([[1.0, -2.5], [65504.0, 3.0]], #{dtype: float16})",
}

CALLS = """
abs() neg() sign() square() exp() expm1() log() log1p() log2() log10() sqrt() rsqrt() reciprocal() sin() cos() tan()
asin() acos() atan() sinh() cosh() tanh() sigmoid() erf() erfc() floor() ceil() round() trunc() relu() logical_not()
isnan() isinf() isfinite() isposinf() isneginf() signbit() bitwise_not() nan_to_num() frac() exp2() asinh() lgamma() digamma() sinc()
clamp(-1,1) clamp_min(0) clamp_max(0) softmax(0) log_softmax(0) softmax(-1) cumsum(0) cumprod(0) cummax(0) cummin(0)
logcumsumexp(0) sum() sum(0) sum(-1) mean() mean(0) prod() prod(0) amax() amax(0) amin(0) max() min() max(0) min(0)
argmax() argmax(0) argmin(0) all() any() all(0) any(0) var() var(0) std() std(0) norm() norm(1) logsumexp(0)
count_nonzero() median() median(0) nansum() nansum(0) nanmean() kthvalue(1,0) mode(0) sort() sort(0) argsort() topk(1)
topk(0) unique() flip(0) roll(1) roll(1,0) t() flatten() reshape(-1) reshape([-1,0]) view(-1) unsqueeze(0) unsqueeze(-1) unsqueeze(5) squeeze()
squeeze(0) transpose(0,0) transpose(0,1) permute(0) unbind() chunk(2) split(1) split(0) tril() triu() diag() trace() nonzero() repeat(2)
tile(2) expand([2,-1]) narrow(0,0,0) narrow(0,5,1) select(0,0) select(0,-1) select(0,7) diff() item() sum(7) mean(-5) cumsum(3)
gather(0,i) index_select(0,i) index_add(0,i,v) index_fill(0,i,1) take(i) masked_fill(m,1) aminmax() quantile(0.5) unfold(0,1,1) movedim(0,0) flipud() rot90() det() inverse()
bincount() histc(3) add(1) sub(1) mul(2) div(2) div(0) floor_divide(2) remainder(2) fmod(2) pow(2) pow(-1) pow(0.5) maximum(s) minimum(s) eq(0) lt(0)
logical_and(s) atan2(s) where(m,0) bernoulli() matmul(s) mm(s) dot(s) outer(s)
gcd(s) lcm(s) nextafter(s) argwhere() renorm(2,0,1) renorm(2,-1,1) new_zeros(2,0) new_full([2],true)
""".split()

OTHERS = [
    "zeros([4611686018427387904, 8])", "zeros(-2)", "ones([2, -1])", "arange(0)", "arange(5, 1)", "arange(1, 5, -1)", "arange(1, 5, 0)",
    "linspace(0, 1, 0)", "linspace(0, 1, 1)", "linspace(0, 1, -1)", "eye(0)", "eye(-1)", "tensor([])", "full([0], 3)", "randperm(0)",
    "cat([zeros(0), zeros([2, 3])])", "cat([zeros([0, 3]), zeros([2, 3])])", "cat([zeros([0, 4]), zeros([2, 3])])",
    "stack([zeros(0), zeros(0)])", "zeros([0, 3]) @ zeros([3, 2])", "zeros([2, 0]) @ zeros([0, 3])", "zeros([2, 0]) @ zeros([1, 3])",
    "zeros([0, 3]) + zeros([1, 3])", "zeros([0, 3]) + zeros([2, 3])", "zeros([0, 3]).sum([0, 1])", "zeros([2, 0]).max(1)",
    "zeros([0, 3]).expand([2, 0, 3])", "zeros([0, 3]).expand([2, 1, 3])", "zeros([0, 3]).reshape([3, 0])", "zeros([0, 3]).view([0, -1])",
    "tensor([1, 2, 3])[tensor([-1, -3])]", "tensor([1, 2, 3])[tensor([3])]", "tensor([1, 2, 3])[tensor([-4])]",
    "tensor([1, 2, 3])[tensor([1.0])]", "tensor([[1, 2], [3, 4]])[tensor([], #{dtype: int64})]", "tensor([1, 2, 3])[tensor([true, false])]",
    "tensor([1, 2, 3]).index_add(0, tensor([-1]), tensor([5]))", "tensor([1, 2, 3]).index_select(0, tensor([-1]))",
    "tensor([1, 2, 3]).gather(0, tensor([-1]))", "tensor([1, 2, 3]).scatter(0, tensor([3]), 5)", "tensor([1, 2, 3]).index_copy(0, tensor([3]), tensor([5]))",
    "tensor([1, 2, 3]) / 0", "tensor([1, 2, 3]) % 0", "tensor([1, 2, 3]).floor_divide(0)", "tensor([1.0, -1.0, 0.0]) / 0", "tensor([1.0, -1.0, 0.0]) % 0",
    "tensor([2, 3]) ** -1", "tensor([0.0, -8.0]) ** 0.5", "tensor([9223372036854775807]) + 1", "tensor([127], #{dtype: int8}) + 1",
    "tensor([255], #{dtype: uint8}) + tensor([1], #{dtype: uint8})", "tensor([true]) + tensor([true])", "tensor([true]) - tensor([true])", "tensor([3.7, -3.7]).to(int64)",
    "tensor([70000.0]).to(float16)", "tensor([1e39], #{dtype: float64}).to(float32)", "tensor([NAN, 1.0]).max()", "tensor([NAN, 1.0]).maximum(tensor([2.0, NAN]))",
    "tensor([NAN, 1.0, -INF]).sort()", "tensor([INF, -INF]).softmax(0)", "tensor([-INF, -INF]).softmax(0)", "tensor([-INF, -INF]).logsumexp(0)",
    "zeros([0, 5]).softmax(1)", "zeros([3, 0]).mean(1)", "zeros([3, 0]).std(1)", "zeros([3, 0]).argmax(1)", "zeros([0, 3]).cumsum(0)",
    "zeros([2, 3]).sum([0, 0])", "zeros([2, 3]).permute([0])", "zeros([2, 3]).transpose(0, 2)", "zeros([2, 3]).squeeze(5)", "zeros([2, 3]).chunk(0)",
    "zeros([2, 3]).split(-1)", "zeros([2, 3]).topk(9)", "zeros([2, 3]).narrow(1, 2, 5)", "zeros([2, 3]).select(1, 3)", "zeros([2, 3]).flatten(1, 0)",
    "zeros([2, 3]).repeat(2)", "zeros([2, 3]).diagonal(0, 0, 0)", "zeros([2, 3]).tril(9)", "zeros([2, 3]).roll([1, 2], [0])", "zeros([2, 3]).kthvalue(9)",
    "logspace(0, 1, -1)", "logspace(0, 1, 0)", "zeros([2, 3]).renorm(-1, 0, 1)", "zeros([2, 3]).renorm(2, 0, -1)", "zeros([2, 3]).renorm(2, 5, 1)",
    "zeros([2, 0]).matrix_exp()", "tensor(2.5).matrix_exp()", "zeros([0, 0]).matrix_exp()", "tensor([[1, 2], [3, 4]]).matrix_exp()",
    "tensor([[1.0, NAN], [3, 4]]).matrix_exp()", "zeros([2, 3]).new_zeros(-1)", "cumulative_trapezoid(zeros([0]))", "cumulative_trapezoid(zeros([2, 3]), #{dim: 5})",
    "zeros([2, 3]).quantile(1.5)", "zeros([2, 3]).median(4)", "zeros([2, 3]).unfold(1, 9, 1)", "zeros([2, 3]).as_strided([9, 9], [1, 1])",
]


def results(code, inputs):
    names = {**inputs, "torch": torch, "NAN": NAN, "INF": INF, "int64": torch.int64, "int8": torch.int8, "uint8": torch.uint8,
             "float16": torch.float16, "float32": torch.float32, "float64": torch.float64}
    text = python(code)
    try:
        value = eval(text, names)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {str(error).splitlines()[0]}"}
    if not tensors(value):
        return {"value": value if not isinstance(value, float) or math.isfinite(value) else str(value)}
    if "randperm(0)" in code or "bernoulli" in code:
        return {"shapes": [list(t.shape) for t in tensors(value)]}
    return {"expect": [plain(t) for t in tensors(value)]}


def main(path):
    lines = []
    for name, make in INPUTS.items():
        # The quotient's sign is the processor's choice; PyTorch's NaN has none.
        lead = make.replace("NAN", "(0.0 / 0.0).abs()").replace("INF", "1.0 / 0.0")
        for call in CALLS:
            x = eval(python(make), {"torch": torch, "NAN": NAN, "INF": INF, "int64": torch.int64, "float16": torch.float16})
            inputs = {"x": x, "i": torch.tensor([0]), "v": torch.ones(1, *x.shape[1:], dtype=x.dtype), "m": torch.tensor(True),
                      "s": torch.ones((), dtype=x.dtype)}
            extra = f"let x = {lead}; let i = tensor([0]); let v = ones([1] + x.shape.extract(if x.ndim > 0 {{ 1 }} else {{ 0 }}), " \
                    "#{dtype: x.dtype}); let m = tensor(true); let s = ones([], #{dtype: x.dtype}); "
            lines.append({"name": f"{name}: {call}", "setup": extra, "rhai": f"x.{call}", **results(f"x.{call}", inputs)})
    for code in OTHERS:
        shown = code.replace("-INF", "-1.0 / 0.0").replace("INF", "1.0 / 0.0").replace("NAN", "0.0 / 0.0")
        lines.append({"name": code, "setup": "", "rhai": shown, **results(code, {})})
    with gzip.GzipFile(path, "wb", mtime=0) as out:
        for record in lines:
            out.write((json.dumps(record) + "\n").encode())
    failed = sum("error" in r for r in lines)
    print(f"{len(lines)} calls, {failed} of them errors, PyTorch {torch.__version__}")


main(sys.argv[1])
