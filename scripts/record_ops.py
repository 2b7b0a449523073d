"""Records tests/golden/ops_more.jsonl.gz: values and gradients of operations from PyTorch on a CPU.

    python scripts/record_ops.py tests/golden/ops_more.jsonl.gz

Each case is a line: the call in the script language, its inputs, the results, and with a cotangent the gradients.
The calls are written once, in a form that both languages nearly share; `python` turns one into the other.
"""

import gzip
import json
import math
import re
import sys
import warnings

import torch
import torch.nn.functional as F

torch.manual_seed(7)
warnings.simplefilter("ignore")
CASES = []
TYPES = {"int32": torch.int32, "int64": torch.int64, "float16": torch.float16, "float64": torch.float64}


def python(code):
    """The same call in Python: options become keywords, `()` None, `::` a dot, ranges slices."""
    code = re.sub(r"#\{([^{}]*)\}", lambda m: ", ".join(p.strip().replace(":", "=", 1) for p in m.group(1).split(",")), code)
    code = re.sub(r"\b(\d+)\.\.(\d+)", r"\1:\2", code)
    code = code.replace("true", "True").replace("false", "False").replace("!m", "~m")
    code = re.sub(r"(?<=[,( ])\(\)", "None", code)
    code = code.replace("linalg::", "torch.linalg.").replace("F::", "F.")
    return re.sub(r"(?<![\w.])(%s)\(" % "|".join(FUNCTIONS), r"torch.\1(", code)


FUNCTIONS = """addbmm addmv addr atleast_1d atleast_2d atleast_3d baddbmm block_diag bucketize cartesian_prod cdist
column_stack combinations dstack eye isin kron meshgrid polygamma searchsorted std_mean tensordot trapezoid vander var_mean
where cat stack logaddexp chain_matmul hypot xlogy full zeros ones arange tensor unravel_index clamp maximum minimum dstack
nan_to_num linspace randperm rand where logspace cumulative_trapezoid""".split()


def number(v):
    if isinstance(v, float) and not math.isfinite(v):
        return "nan" if math.isnan(v) else "inf" if v > 0 else "-inf"
    return v


def plain(t, **more):
    t = t.detach()
    data = t.reshape(-1).to(torch.float64 if t.is_floating_point() else t.dtype).tolist()
    return {"shape": list(t.shape), "dtype": str(t.dtype)[6:], "data": [number(v) for v in data], **more}


def tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in tensors(v)]
    return []


def case(name, code, grad=True, rtol=1e-4, atol=1e-5, **inputs):
    """Records a call. Floats among the inputs ask for gradients where `grad`."""
    own = {k: v.clone() for k, v in inputs.items()}
    for v in own.values():
        if grad and v.is_floating_point():
            v.requires_grad_(True)
    try:
        value = eval(python(code), {"torch": torch, "F": F, "INF": INF, **TYPES, **own})
    except Exception as error:
        raise SystemExit(f"{name}: {python(code)}: {error}")
    results = tensors(value)
    assert results, code
    record = {
        "name": name,
        "rhai": code.replace("INF", "(1.0 / 0.0)"),
        "inputs": {k: plain(v, requires_grad=v.requires_grad) for k, v in own.items()},
        "expect": [plain(t) for t in results],
        "rtol": rtol,
        "atol": atol,
    }
    if grad and results[0].requires_grad:
        cotangent = torch.rand_like(results[0]) - 0.5
        try:
            results[0].backward(cotangent)
        except RuntimeError as error:
            raise SystemExit(f"{name}: {error}")
        record["cotangent"] = plain(cotangent)
        record["grads"] = {k: plain(v.grad) for k, v in own.items() if v.grad is not None}
    CASES.append(record)


def real(*shape, dtype=torch.float32, low=-2.0, high=2.0):
    return torch.rand(shape, dtype=torch.float64).mul(high - low).add(low).to(dtype)


def whole(*shape, high=5, low=0, dtype=torch.int64):
    return torch.randint(low, high, shape, dtype=dtype)


def apart(*shape, dtype=torch.float32):
    n = math.prod(shape)
    return (torch.randperm(n).to(torch.float64) * 0.37 - 0.2 * n).reshape(shape).to(dtype)


NAN, INF = float("nan"), float("inf")
EDGE = torch.tensor([-INF, -3.5, -1.0, -0.5, -0.0, 0.0, 0.25, 1.0, 2.0, 7.5, INF, NAN])


def elementwise():
    positive = ["lgamma", "digamma"]
    inside = ["erfinv", "atanh"]
    for dtype in (torch.float32, torch.float64):
        d = str(dtype)[6:]
        tight = {"rtol": 1e-4, "atol": 1e-5} if dtype == torch.float32 else {"rtol": 1e-10, "atol": 1e-11}
        for name in ["erfc", "erfinv", "lgamma", "digamma", "exp2", "asinh", "acosh", "atanh", "sinc", "frac"]:
            # PyTorch's own derivative of digamma is good to nine digits.
            loose = {**tight, "rtol": 1e-8} if name == "digamma" and dtype == torch.float64 else tight
            low, high = (0.2, 6) if name in positive else (-0.95, 0.95) if name in inside else (1.1, 5) if name == "acosh" else (-3, 3)
            case(f"{name}-{d}", f"x.{name}()", x=real(3, 4, dtype=dtype, low=low, high=high), **loose)
            case(f"{name}-edges-{d}", f"x.{name}()", grad=False, x=EDGE.to(dtype), **tight)
        case(f"lgamma-negative-{d}", "x.lgamma()", x=torch.tensor([-0.5, -1.3, -2.7, -7.1, 30.0, 1e-3], dtype=dtype), **tight)
        case(f"digamma-negative-{d}", "x.digamma()", grad=False, x=torch.tensor([-0.5, -1.3, -2.7, 30.0, 1e-3], dtype=dtype), **tight)
        case(f"polygamma-{d}", "polygamma(2, x)", x=real(5, dtype=dtype, low=0.3, high=6), **tight)
        for name in ["hypot", "copysign", "logaddexp", "logaddexp2", "fmax", "fmin", "atan2", "maximum", "minimum"]:
            case(f"{name}-{d}", f"a.{name}(b)", a=real(3, 4, dtype=dtype), b=real(4, dtype=dtype), **tight)
            a, b = torch.meshgrid(EDGE.to(dtype), EDGE.to(dtype), indexing="ij")
            case(f"{name}-edges-{d}", f"a.{name}(b)", grad=False, a=a.contiguous(), b=b.contiguous(), **tight)
        case(f"xlogy-{d}", "a.xlogy(b)", a=real(3, 4, dtype=dtype), b=real(4, dtype=dtype, low=0.2), **tight)
        case(f"heaviside-{d}", "a.heaviside(b)", grad=False, a=EDGE.to(dtype), b=torch.tensor(0.5, dtype=dtype))
        case(f"nan_to_num-{d}", "x.nan_to_num(1.5, #{posinf: 7.0})", x=EDGE.to(dtype), **tight)
        case(f"logit-{d}", "x.logit(0.1)", x=real(6, dtype=dtype, low=0.02, high=0.98), **tight)
        case(f"float_power-{d}", "x.float_power(2)", x=real(6, dtype=dtype), **tight)
    case("nan_to_num-half", "x.nan_to_num()", grad=False, x=EDGE.half())
    case("deg2rad-int", "x.deg2rad()", x=whole(5, high=360))
    case("rad2deg", "x.rad2deg()", x=real(5))
    case("signbit", "x.signbit()", x=EDGE)
    case("isposinf", "x.isposinf()", x=EDGE)
    case("isneginf", "x.isneginf()", x=EDGE)
    case("ldexp", "x.ldexp(i)", grad=False, x=real(4), i=whole(4))
    for name in ["bitwise_and", "bitwise_or", "bitwise_xor"]:
        case(f"{name}-int", f"a.{name}(b)", a=whole(3, 4, low=-9, high=9), b=whole(4, low=-9, high=9))
        case(f"{name}-mixed", f"a.{name}(b)", a=whole(4, high=99, dtype=torch.uint8), b=whole(4, low=-9, high=9, dtype=torch.int16))
        case(f"{name}-bool", f"a.{name}(b)", a=whole(6, high=2).bool(), b=whole(6, high=2).bool())
    case("bitwise_not-int", "x.bitwise_not()", x=whole(6, low=-9, high=9))
    case("bitwise_not-uint8", "x.bitwise_not()", x=whole(6, high=250, dtype=torch.uint8))
    case("bitwise_not-bool", "x.bitwise_not()", x=whole(6, high=2).bool())
    case("shift-left", "a.bitwise_left_shift(b)", a=whole(6, low=-9, high=9), b=whole(6, high=8))
    case("shift-left-int32", "a.bitwise_left_shift(b)", a=whole(6, low=-9, high=9, dtype=torch.int32), b=whole(6, high=31, dtype=torch.int32))
    case("shift-right", "a.bitwise_right_shift(b)", a=whole(6, low=-99, high=99), b=whole(6, high=8))
    case("operators", "((a & b) | (a ^ 3)) << 2", a=whole(6, high=50), b=whole(6, high=50))
    case("mask-operators", "(x > 0) & (x < 1) | !m", grad=False, x=real(8), m=whole(8, high=2).bool())
    case("add-alpha", "a.add(b, #{alpha: 2.5})", a=real(3, 4), b=real(4))
    case("sub-alpha", "a.sub(b, #{alpha: 3})", a=whole(5), b=whole(5))
    for mode in ["floor", "trunc"]:
        case(f"div-{mode}", f'a.div(b, #{{rounding_mode: "{mode}"}})', grad=False, a=real(3, 4, low=-9, high=9), b=real(4))
        case(f"div-{mode}-int", f'a.div(b, #{{rounding_mode: "{mode}"}})', a=whole(8, low=-20, high=20), b=whole(8, low=1, high=6))
    case("isin", "isin(a, b)", a=whole(3, 4, high=9), b=whole(3, high=9))
    case("isin-invert", "isin(a, b, #{invert: true})", a=whole(6, high=9), b=whole(3, high=9))


def ordered():
    x, nan = apart(3, 5), real(3, 5)
    nan[0, 2] = nan[2, 0] = nan[2, 4] = NAN
    nan[1] = NAN
    for dtype in (torch.float32, torch.float64):
        d = str(dtype)[6:]
        for code in ["median(1)", "median(0, true)", "median()", "nanmedian(1)", "kthvalue(2)", "kthvalue(3, 0, true)",
                     "cummax(1)", "cummin(0)", "mode(1)", "logcumsumexp(1)", "logcumsumexp(0)", "diff()", "diff(2, 0)",
                     "quantile(0.3)", "quantile(0.55, 1)", "quantile(0.5, 0, true)", "nanquantile(0.25, 1)", "nansum(1)",
                     "nanmean(0)", "cov()", "cov(#{correction: 0})", "corrcoef()", "aminmax()", "trace()"]:
            case(f"{code}-{d}", f"x.{code}", x=x.to(dtype))
        for how in ["lower", "higher", "midpoint", "nearest", "linear"]:
            case(f"quantile-{how}-{d}", f'x.quantile(q, 1, #{{interpolation: "{how}"}})', grad=False, x=x.to(dtype),
                 q=torch.tensor([0.0, 0.2, 0.5, 0.9, 1.0], dtype=dtype))
    for code in ["nanmedian(1)[0]", "nanquantile(0.5, 1)", "nansum(1)", "nanmean(1)", "nansum()", "median(1)[0]", "median()",
                 "nanmedian()", "quantile(0.5, 1)", "cummax(1)[0]", "cummin(0)[0]", "amax(1)", "max(1)[0]", "argmax(1)", "sort(1)[0]"]:
        case(f"{code}-nan", f"x.{code}".replace("[0]", ".values") if "[0]" in code else f"x.{code}", grad=False, x=nan)
    ties = whole(4, 7, high=3)
    for code in ["mode(1)", "mode(0)", "cummax(1)", "cummin(1)", "median(1).values", "kthvalue(3, 1).values"]:
        case(f"{code}-ties", f"x.{code}", x=ties)
    case("cummax-empty", "x.cummax(0)", x=torch.zeros(0, 3))
    case("cummax-scalar", "x.cummax(0)", x=torch.tensor(3.0))
    case("median-scalar", "x.median(0)", x=torch.tensor(3.0))
    case("var_mean", "var_mean(x, 1)", grad=False, x=real(3, 4))
    case("std_mean", "std_mean(x, #{dim: 0, correction: 0, keepdim: true})", grad=False, x=real(3, 4))
    case("aminmax-dim", "x.aminmax(#{dim: 1})", grad=False, x=apart(3, 4))
    case("diff-prepend", "x.diff(1, -1, p)", x=real(3, 4), p=real(3, 2))
    case("diff-bool", "x.diff()", x=whole(6, high=2).bool())
    case("trapezoid", "trapezoid(y, x)", y=real(3, 4), x=torch.tensor([0.0, 1.0, 3.0, 3.5]))
    case("trapezoid-dx", "trapezoid(y, #{dx: 0.5, dim: 0})", y=real(3, 4))
    case("cdist", "cdist(a, b)", a=real(3, 2), b=real(4, 2))
    case("cdist-1", "cdist(a, b, 1)", a=real(2, 3, 2), b=real(2, 4, 2))


def counted():
    x = whole(4, 5, high=6)
    case("unique", "x.unique()", x=x)
    case("unique-all", "x.unique(true, true, true)", x=x)
    case("unique-floats", "x.unique(#{return_counts: true})", grad=False, x=torch.tensor([1.5, -2.0, 1.5, 0.0, NAN, NAN]))
    case("unique-bool", "x.unique()", x=x > 2)
    case("unique-empty", "x.unique(true, true, true)", x=torch.zeros(0, dtype=torch.int64))
    case("unique_consecutive", "x.unique_consecutive(true, true)", x=torch.tensor([1, 1, 2, 2, 2, 1, 3, 3]))
    case("bincount", "x.bincount()", x=whole(9))
    case("bincount-weights", "x.bincount(w, 8)", grad=False, x=whole(9), w=real(9))
    case("bincount-empty", "x.bincount(#{minlength: 3})", x=torch.zeros(0, dtype=torch.int64))
    case("histc", "x.histc(5, -1, 1)", grad=False, x=real(40))
    case("histc-range", "x.histc(4)", grad=False, x=real(40))
    case("histc-constant", "x.histc(4)", grad=False, x=torch.full((5,), 2.0))
    edges, rows = torch.tensor([-1.0, 0.0, 0.0, 0.5, 2.0]), real(3, 4).sort(1)[0]
    for right in ["false", "true"]:
        case(f"searchsorted-{right}", f"searchsorted(e, v, #{{right: {right}}})", grad=False, e=edges,
             v=torch.tensor([[-3.0, -1.0, 0.0], [0.3, 2.0, 9.0]]))
        case(f"searchsorted-rows-{right}", f"searchsorted(e, v, #{{right: {right}}})", grad=False, e=rows, v=real(3, 2))
        case(f"bucketize-{right}", f"bucketize(v, e, #{{right: {right}, out_int32: true}})", grad=False, e=edges, v=real(2, 3))
        case(f"searchsorted-nan-{right}", f"searchsorted(e, v, #{{right: {right}}})", grad=False,
             e=torch.tensor([0.0, 1.0, NAN]), v=torch.tensor([NAN, 0.5, INF]))
    case("searchsorted-empty", "searchsorted(e, v)", grad=False, e=torch.zeros(0), v=real(3))
    case("combinations", "combinations(x, 3)", x=real(5))
    case("combinations-again", "combinations(x, 2, true)", x=whole(3))
    case("take", "x.take(i)", x=real(3, 4), i=whole(2, 3, low=-12, high=12))
    case("index_copy", "x.index_copy(1, i, v)", x=real(3, 4), i=torch.tensor([2, 0]), v=real(3, 2))
    case("index_fill", "x.index_fill(1, i, 2.5)", x=real(3, 4), i=torch.tensor([2, -4]))
    case("masked_scatter", "x.masked_scatter(m, v)", x=real(3, 4), m=whole(3, 4, high=2).bool(), v=real(12))
    i, v = whole(5, 3, high=4), real(5, 3)
    for how in ["sum", "prod", "mean", "amax", "amin"]:
        for own in ["true", "false"]:
            case(f"scatter_reduce-{how}-{own}", f'x.scatter_reduce(0, i, v, "{how}", #{{include_self: {own}}})', x=real(4, 3), i=i, v=v)
        case(f"scatter_reduce-{how}-int", f'x.scatter_reduce(0, i, v, "{how}")', x=whole(4, 3), i=i, v=whole(5, 3, low=-4))


def moved():
    case("diag", "x.diag(1)", x=real(3))
    case("diag-matrix", "x.diag(-1)", x=real(3, 4))
    case("diagflat", "x.diagflat(-1)", x=real(2, 2))
    case("diag_embed", "x.diag_embed(1, 0, 2)", x=real(2, 3))
    for k in range(-1, 4):
        case(f"rot90-{k}", f"x.rot90({k}, [0, 1])", x=real(2, 3, 2))
    case("fliplr", "x.fliplr()", x=real(2, 3))
    case("flipud", "x.flipud()", x=real(2, 3))
    case("unfold", "x.unfold(1, 3, 2)", x=real(2, 7))
    case("unfold-overlap", "x.unfold(0, 2, 1)", x=real(4, 3))
    case("unflatten", "x.unflatten(1, [2, -1])", x=real(2, 6))
    case("meshgrid", 'meshgrid([a, b], #{indexing: "ij"})', a=real(2), b=real(3))
    case("meshgrid-xy", 'meshgrid([a, b], #{indexing: "xy"})', a=real(2), b=real(3))
    case("kron", "kron(a, b)", a=real(2, 3), b=real(3, 2))
    case("kron-ranks", "kron(a, b)", a=real(3), b=real(2, 2))
    case("cross", "a.cross(b, 1)", a=real(2, 3), b=real(2, 3))
    case("tensor_split", "x.tensor_split(3, 1)", x=real(2, 7))
    case("tensor_split-places", "x.tensor_split([1, 4, 9], 1)", x=real(2, 7))
    case("hsplit", "x.hsplit(2)", x=real(2, 4))
    case("vsplit", "x.vsplit([1])", x=real(3, 4))
    case("dstack", "dstack([a, b])", a=real(2, 3), b=real(2, 3))
    case("column_stack", "column_stack([a, b])", a=real(2), b=real(2, 3))
    case("atleast_3d", "atleast_3d(x)", x=real(2, 3))
    case("atleast_2d", "atleast_2d(x)", x=torch.tensor(2.0))
    case("vander", "vander(x, #{increasing: true})", x=whole(4))
    case("vander-floats", "vander(x, 3)", grad=False, x=real(4))
    case("unravel_index", "unravel_index(i, [3, 4])", i=whole(5, high=12))
    case("tensordot", "tensordot(a, b, #{dims: 2})", a=real(2, 3, 4), b=real(3, 4, 2))
    case("tensordot-dims", "tensordot(a, b, [[0, 2], [1, 0]])", a=real(2, 3, 4), b=real(4, 2, 3))
    case("nonzero-2d", "x.nonzero()", x=whole(3, 4, high=2))


def systems():
    for dtype in (torch.float32, torch.float64):
        d = str(dtype)[6:]
        tight = {"rtol": 1e-3, "atol": 1e-4} if dtype == torch.float32 else {"rtol": 1e-9, "atol": 1e-10}
        a = real(3, 3, dtype=dtype) + 3 * torch.eye(3, dtype=dtype)
        batch = real(2, 4, 4, dtype=dtype) + 4 * torch.eye(4, dtype=dtype)
        swapped = a[[2, 0, 1]].contiguous()
        spd = a @ a.T
        for x, name in [(a, "plain"), (batch, "batch"), (swapped, "swapped")]:
            case(f"inv-{name}-{d}", "linalg::inv(x)", x=x, **tight)
            case(f"det-{name}-{d}", "x.det()", x=x, **tight)
            case(f"slogdet-{name}-{d}", "x.slogdet()", grad=False, x=x, **tight)
        case(f"inverse-{d}", "x.inverse()", x=a, **tight)
        case(f"det-singular-{d}", "x.det()", grad=False, x=torch.ones(3, 3, dtype=dtype), **tight)
        case(f"solve-{d}", "linalg::solve(a, b)", a=a, b=real(3, 2, dtype=dtype), **tight)
        case(f"solve-vector-{d}", "linalg::solve(a, b)", a=a, b=real(3, dtype=dtype), **tight)
        case(f"solve-batch-{d}", "linalg::solve(a, b)", a=batch, b=real(2, 4, 3, dtype=dtype), **tight)
        case(f"cholesky-{d}", "linalg::cholesky(x)", x=spd, **tight)
        case(f"matrix_power-{d}", "x.matrix_power(5)", x=real(3, 3, dtype=dtype), **tight)
        case(f"matrix_power-inverse-{d}", "x.matrix_power(-2)", x=a, **tight)
        case(f"matrix_power-0-{d}", "x.matrix_power(0)", grad=False, x=a, **tight)
    case("vector_norm", "linalg::vector_norm(x, 3, 1)", x=real(3, 4))
    for order in ["1", "-1"]:
        case(f"matrix_norm{order}", f"linalg::matrix_norm(x, {order})", x=real(3, 4))
    case("matrix_norm", "linalg::matrix_norm(x)", x=real(2, 3, 4))
    case("multi_dot", "linalg::multi_dot([a, b, c])", a=real(3, 10), b=real(10, 2), c=real(2, 7))
    case("inner", "a.inner(b)", a=real(2, 3), b=real(4, 3))
    case("vdot", "a.vdot(b)", a=real(5), b=real(5))
    case("addmv", "addmv(v, m, w, #{beta: 0.5, alpha: 2})", v=real(3), m=real(3, 4), w=real(4))
    case("addr", "addr(m, a, b, #{beta: 2})", m=real(3, 4), a=real(3), b=real(4))
    case("baddbmm", "baddbmm(c, a, b, #{alpha: 0.5})", c=real(2, 3, 5), a=real(2, 3, 4), b=real(2, 4, 5))
    case("baddbmm-beta-0", "baddbmm(c, a, b, #{beta: 0})", grad=False, c=torch.full((3, 5), NAN), a=real(2, 3, 4), b=real(2, 4, 5))
    case("addbmm", "addbmm(c, a, b)", c=real(3, 5), a=real(2, 3, 4), b=real(2, 4, 5))


def decomposed():
    for dtype in (torch.float32, torch.float64):
        d = str(dtype)[6:]
        tight = {"rtol": 1e-3, "atol": 1e-4} if dtype == torch.float32 else {"rtol": 1e-9, "atol": 1e-10}
        tall, wide, square = real(2, 5, 3, dtype=dtype), real(3, 5, dtype=dtype), real(2, 2, 4, 4, dtype=dtype)
        low = tall @ torch.tensor([[1, 0, 1], [0, 1, 1], [0, 0, 0]], dtype=dtype)
        for x, name in [(tall, "tall"), (wide, "wide"), (square, "square")]:
            for part in "QR":
                case(f"qr-{part}-{name}-{d}", f"linalg::qr(x).{part}", x=x, **tight)
            case(f"qr-r-{name}-{d}", 'linalg::qr(x, "r").R', grad=False, x=x, **tight)
            case(f"qr-complete-{name}-{d}", 'linalg::qr(x, "complete").R', grad=False, x=x, **tight)
            # Signs of vectors are free; their squares are not.
            case(f"svd-U-{name}-{d}", "linalg::svd(x, false).U ** 2", x=x, **tight)
            case(f"svd-S-{name}-{d}", "linalg::svd(x).S", x=x, **tight)
            case(f"svd-V-{name}-{d}", "linalg::svd(x, #{full_matrices: false}).Vh ** 2", x=x, **tight)
            case(f"svdvals-{name}-{d}", "linalg::svdvals(x)", x=x, **tight)
            case(f"pinv-{name}-{d}", "linalg::pinv(x)", x=x, **tight)
            case(f"rank-{name}-{d}", "linalg::matrix_rank(x)", grad=False, x=x)
            for order in ["2", "-2", '"nuc"']:
                case(f"matrix_norm-{order}-{name}-{d}", f"linalg::matrix_norm(x, {order})", x=x, **tight)
        for uplo in "LU":
            for part in ["eigenvalues", "eigenvectors ** 2"]:
                case(f"eigh-{uplo}-{part}-{d}", f'linalg::eigh(x, "{uplo}").{part}', x=square, **tight)
            case(f"eigvalsh-{uplo}-{d}", f'linalg::eigvalsh(x, "{uplo}")', x=square, **tight)
        case(f"pinv-low-{d}", "linalg::pinv(x)", grad=False, x=low, **tight)
        case(f"pinv-hermitian-{d}", "linalg::pinv(x, #{hermitian: true})", grad=False, x=square + square.mT, **tight)
        case(f"pinv-rtol-{d}", "linalg::pinv(x, #{rtol: 0.4})", grad=False, x=tall, **tight)
        case(f"pinv-atol-{d}", "linalg::pinv(x, #{atol: 1.0})", grad=False, x=tall, **tight)
        case(f"rank-low-{d}", "linalg::matrix_rank(x)", grad=False, x=low)
        case(f"rank-atol-{d}", "linalg::matrix_rank(x, #{atol: 2.0})", grad=False, x=tall)
        case(f"rank-hermitian-{d}", "linalg::matrix_rank(x, #{hermitian: true})", grad=False, x=tall.mT @ tall)
        for a, b, name in [(tall, real(2, 5, 2, dtype=dtype), "tall"), (wide, real(3, 2, dtype=dtype), "wide"), (tall, real(2, 5, dtype=dtype), "vectors")]:
            case(f"lstsq-{name}-{d}", "linalg::lstsq(a, b).solution", a=a, b=b, **tight)
            case(f"lstsq-all-{name}-{d}", "linalg::lstsq(a, b)", grad=False, a=a, b=b, **tight)
        for driver in ["gels", "gelsd", "gelss"]:
            case(f"lstsq-{driver}-{d}", f'linalg::lstsq(a, b, #{{driver: "{driver}"}})', grad=False, a=tall, b=real(2, 5, 2, dtype=dtype), **tight)
    for order in ["()", "1", "-1", "2", "-2", '"fro"', '"nuc"', "INF", "-INF"]:
        case(f"linalg-norm-{order}", f"linalg::norm(x, {order})", x=real(3, 4))
        if '"' not in order:
            case(f"linalg-norm-vector-{order}", f"linalg::norm(x, {order}, #{{keepdim: true}})", x=real(5))
            case(f"linalg-norm-dim-{order}", f"linalg::norm(x, {order}, 1)", x=real(3, 4))
        case(f"linalg-norm-dims-{order}", f"linalg::norm(x, {order}, #{{dim: [0, 2], keepdim: true}})", x=real(3, 2, 4))
    case("linalg-norm-all", "linalg::norm(x)", x=real(3, 2, 4))
    case("qr-sign", "linalg::qr(x)", grad=False, x=torch.tensor([[-2.0, 1.0, 3.0], [0.0, 4.0, 1.0], [0.0, 0.0, -1.0]]))
    for name, x in [("floats", torch.tensor([[1.5, -2.0], [0.0, 3.0], [1.5, -2.0], [0.0, -3.0]])), ("whole", whole(6, 2, 2, high=2)), ("bool", whole(6, 2, high=2) > 0),
                    ("empty", torch.zeros(0, 3)), ("vector", whole(9, high=4))]:
        for dim in [0, -1] if name in ("whole", "bool") else [0]:
            case(f"unique-dim-{name}-{dim}", f"x.unique(#{{return_inverse: true, return_counts: true, dim: {dim}}})", grad=False, x=x)
            case(f"unique_consecutive-dim-{name}-{dim}", f"x.unique_consecutive(#{{return_inverse: true, return_counts: true, dim: {dim}}})", grad=False, x=x)
    case("unique-dim", "x.unique(#{dim: 1})", grad=False, x=whole(2, 9, high=2))


def added():
    wide = whole(6, low=-40, high=40)
    for dtype in (torch.int64, torch.int32, torch.int8, torch.uint8):
        d = str(dtype)[6:]
        a, b = (wide.abs() if dtype == torch.uint8 else wide).to(dtype), torch.tensor([[0], [6], [12]]).to(dtype)
        case(f"gcd-{d}", "a.gcd(b)", a=a, b=b)
        case(f"lcm-{d}", "a.lcm(b)", a=a, b=b)
    case("gcd-mixed", "a.gcd(b)", a=wide.to(torch.int16), b=torch.tensor([9, 8, 7, 6, 5, 4], dtype=torch.int32))
    case("gcd-ends", "a.gcd(b)", a=torch.tensor([-2**63, 2**63 - 1, -2**63]), b=torch.tensor([6, 49, -2**63]))
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        d = str(dtype)[6:]
        a, b = torch.meshgrid(EDGE.to(dtype), EDGE.to(dtype), indexing="ij")
        case(f"nextafter-edges-{d}", "a.nextafter(b)", grad=False, a=a.contiguous(), b=b.contiguous(), rtol=0, atol=0)
    case("nextafter", "a.nextafter(b)", a=real(3, 4), b=real(4))
    for code in ["logspace(0.1, 1.0, 5)", "logspace(-2, 2, 7, 2)", "logspace(0, 2, 5, #{dtype: int32})", "logspace(0, 3, 1)",
                 "logspace(0.5, 3, 6, #{dtype: float64})", "logspace(0, 2, 5, #{dtype: float16})", "logspace(0, 1, 3, 0)"]:
        case(code, code, grad=False)
    x = real(3, 4, low=-3, high=3)
    for code in ["renorm(2, 0, 1.5)", "renorm(1, 1, 2)", "renorm(0.5, -1, 4)", "renorm(INF, 0, 1)"]:
        case(code, f"x.{code}", x=x)
    case("renorm-3d", "x.renorm(2, 1, 2)", x=real(2, 3, 4))
    case("cumulative_trapezoid", "cumulative_trapezoid(y, x)", y=real(3, 4), x=torch.tensor([0.0, 1.0, 3.0, 3.5]))
    case("cumulative_trapezoid-dx", "cumulative_trapezoid(y, #{dx: 0.5, dim: 0})", y=real(3, 4))
    case("argwhere", "x.argwhere()", x=whole(3, 4, high=2))
    case("argwhere-scalar", "x.argwhere()", x=torch.tensor(3))
    for code in ["new_zeros(2, 3)", "new_ones([2])", "new_full([2], 1.5)", "new_tensor([1, 2])", "new_ones([2], #{dtype: int64})"]:
        case(f"{code}-float", f"x.{code}", grad=False, x=real(2, dtype=torch.float64))
        case(f"{code}-int", f"x.{code}", x=whole(2, dtype=torch.int32))


def windows():
    x = real(2, 3, 5, 6)
    for options in ["2", "[2, 3], #{padding: 1}", "3, #{stride: 2, dilation: [1, 2]}", "[1, 2], [2, 1], [0, 2], [3, 1]"]:
        case(f"unfold-{options}", f"F::unfold(x, {options})", x=x)
    case("unfold-single", "F::unfold(x, 2)", x=real(3, 4, 4))
    case("fold", "F::fold(x, [4, 5], 2)", x=real(2, 12, 12))
    case("fold-all", "F::fold(x, [5, 6], [2, 3], #{padding: [1, 0], stride: [2, 1], dilation: [1, 2]})", x=real(2, 12, 6))
    case("fold-single", "F::fold(x, 3, 2)", x=real(8, 4))
    for mode in ["bilinear", "nearest", "bicubic"]:
        for outside in ["zeros", "border", "reflection"]:
            for corners in ["false", "true"]:
                grid = "g.detach()" if mode == "nearest" else "g"
                case(f"grid_sample-{mode}-{outside}-{corners}",
                     f'F::grid_sample(x, {grid}, #{{mode: "{mode}", padding_mode: "{outside}", align_corners: {corners}}})',
                     x=real(2, 3, 4, 5), g=real(2, 3, 4, 2, low=-1.8, high=1.8))
    for outside in ["zeros", "border", "reflection"]:
        case(f"grid_sample-volume-{outside}", f'F::grid_sample(x, g, #{{padding_mode: "{outside}"}})', x=real(1, 2, 3, 4, 2), g=real(1, 2, 3, 2, 3))
    case("grid_sample-one", 'F::grid_sample(x, g, #{padding_mode: "reflection", align_corners: true})', grad=False, x=real(1, 1, 1, 1), g=real(1, 2, 2, 2))
    for corners in ["false", "true"]:
        case(f"affine_grid-{corners}", f"F::affine_grid(t, [2, 3, 4, 5], {corners})", t=real(2, 2, 3))
        case(f"affine_grid-volume-{corners}", f"F::affine_grid(t, [1, 3, 2, 1, 3], {corners})", t=real(1, 3, 4))
    case("bilinear", "F::bilinear(a, b, w, c)", a=real(2, 3, 4), b=real(2, 3, 2), w=real(5, 4, 2), c=real(5))
    case("bilinear-vectors", "F::bilinear(a, b, w)", a=real(4), b=real(2), w=real(5, 4, 2))
    i, w, offsets = whole(9, high=6), apart(6, 3), torch.tensor([0, 2, 2, 5])
    for mode in ["sum", "mean", "max"]:
        case(f"embedding_bag-{mode}", f'F::embedding_bag(i, w, #{{mode: "{mode}"}})', i=whole(3, 4, high=6), w=w)
        case(f"embedding_bag-offsets-{mode}", f'F::embedding_bag(i, w, o, #{{mode: "{mode}"}})', i=i, w=w, o=offsets)
        case(f"embedding_bag-padding-{mode}", f'F::embedding_bag(i, w, o, #{{mode: "{mode}", padding_idx: 2, include_last_offset: true}})',
             i=torch.tensor([2, 2, 0, 1, 2, 4]), w=w, o=torch.tensor([0, 2, 2, 6]))
    case("embedding_bag-weights", 'F::embedding_bag(i, w, o, #{mode: "sum", per_sample_weights: s})', i=i, w=w, o=offsets, s=real(9))
    probs = real(7, 3, 5).log_softmax(2)
    targets, flat = torch.tensor([[1, 2, 2], [3, 3, 0], [4, 0, 0]]), torch.tensor([1, 2, 2, 3, 3, 4])
    for how in ["none", "sum", "mean"]:
        case(f"ctc_loss-{how}", f'F::ctc_loss(x, t, [7, 6, 5], [3, 2, 1], #{{reduction: "{how}"}})', x=probs, t=targets)
        case(f"ctc_loss-flat-{how}", f'F::ctc_loss(x, t, [7, 7, 7], [3, 2, 1], #{{reduction: "{how}"}})', x=probs, t=flat)
    case("ctc_loss-double", "F::ctc_loss(x, t, [7, 6, 5], [3, 2, 0], 4)", x=probs.double(), t=targets, rtol=1e-9, atol=1e-10)
    case("ctc_loss-single", 'F::ctc_loss(x, t, i, l, #{reduction: "none"})', x=probs[:, 0].contiguous(), t=torch.tensor([1, 2]),
         i=torch.tensor(7), l=torch.tensor(2))
    case("ctc_loss-long", 'F::ctc_loss(x, t, [7, 2, 7], [3, 2, 1], #{reduction: "none"})', grad=False, x=probs, t=targets)
    case("ctc_loss-zero", "F::ctc_loss(x, t, [7, 2, 7], [3, 2, 1], #{zero_infinity: true})", x=probs, t=targets)



def volumes():
    x, w = real(2, 4, 4, 5, 3), real(6, 2, 2, 3, 1)
    for options in ["(), #{groups: 2}", "b, #{groups: 2, stride: [2, 1, 2], padding: 1}", "b, #{groups: 2, dilation: [2, 1, 3], padding: [0, 2, 1]}",
                    'b, #{groups: 2, padding: "same"}']:
        case(f"conv3d-{options}", f"F::conv3d(x, w, {options})", x=x, w=w, b=real(6))
    case("conv3d-single", "F::conv3d(x, w)", x=real(2, 3, 3, 3), w=real(1, 2, 2, 2, 2))
    y = apart(2, 3, 5, 4, 6)
    for options in ["2", "3, #{stride: [1, 2, 2], padding: 1}", "[2, 1, 3], #{dilation: [2, 1, 1], stride: 1}", "2, #{ceil_mode: true, padding: 1}"]:
        case(f"max_pool3d-{options}", f"F::max_pool3d(x, {options})", x=y)
    case("max_pool3d-ties", "F::max_pool3d(x, 3, #{stride: 1})", x=whole(1, 1, 5, 4, 4, high=2).float())
    for options in ["2", "3, #{stride: [1, 2, 2], padding: 1}", "3, 2, 1, #{count_include_pad: false}", "2, #{ceil_mode: true, padding: 1}"]:
        case(f"avg_pool3d-{options}", f"F::avg_pool3d(x, {options})", x=y)


def triangles():
    for dtype in (torch.float32, torch.float64):
        d = str(dtype)[6:]
        tight = {"rtol": 1e-3, "atol": 1e-4} if dtype == torch.float32 else {"rtol": 1e-9, "atol": 1e-10}
        a = real(2, 5, 5, dtype=dtype) + 4 * torch.eye(5, dtype=dtype)
        for upper in ["true", "false"]:
            case(f"solve_triangular-{upper}-{d}", f"linalg::solve_triangular(a, b, #{{upper: {upper}}})", a=a, b=real(2, 5, 3, dtype=dtype), **tight)
            case(f"solve_triangular-right-{upper}-{d}", f"linalg::solve_triangular(a, b, #{{upper: {upper}, left: false, unitriangular: true}})",
                 a=a[0], b=real(2, 3, 5, dtype=dtype), **tight)
        for x, name in [(a[:, [3, 1, 0, 4, 2]].contiguous(), "square"), (real(5, 3, dtype=dtype), "tall"), (real(2, 3, 5, dtype=dtype), "wide")]:
            for part in ["P", "L", "U"]:
                case(f"lu-{part}-{name}-{d}", f"linalg::lu(x).{part}", x=x, grad=part != "P", **tight)
            case(f"lu_factor-{name}-{d}", "linalg::lu_factor(x)", x=x, grad=False, **tight)
            case(f"cond-{name}-{d}", "linalg::cond(x)", x=x, **tight)
            case(f"cond--2-{name}-{d}", "linalg::cond(x, -2)", x=x, **tight)
        for order in ["1", "-1", "INF", "-INF", '"fro"', '"nuc"']:
            case(f"cond-{order}-{d}", f"linalg::cond(x, {order})", x=a, grad=False, **tight)
        case(f"cond-singular-{d}", "linalg::cond(x, 1)", x=torch.ones(2, 2, dtype=dtype), grad=False)
        case(f"matrix_exp-{d}", "x.matrix_exp()", x=real(2, 3, 3, dtype=dtype), **tight)
        case(f"matrix_exp-large-{d}", "linalg::matrix_exp(x)", x=real(4, 4, dtype=dtype, low=-6, high=6), **tight)


def main(path):
    for group in (elementwise, ordered, counted, moved, systems, decomposed, added, windows, volumes, triangles):
        group()
    names = [c["name"] for c in CASES]
    assert len(set(names)) == len(names), sorted(n for n in names if names.count(n) > 1)
    with gzip.GzipFile(path, "wb", mtime=0) as out:
        for record in CASES:
            out.write((json.dumps(record) + "\n").encode())
    print(f"{len(CASES)} cases, PyTorch {torch.__version__}")


if __name__ == "__main__":
    main(sys.argv[1])
