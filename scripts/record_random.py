"""Records what PyTorch's CPU generator draws, for the tests of our own: writes tests/golden/random.json, and the
results of whole operations to tests/golden/random_calls.json.

Usage: record_random.py OUTPUT CALLS

Each case is a sequence of draws after `manual_seed(seed)`; for each draw the first and last values, and for
exact dtypes a digest of all of them: the sum of (i + 1) times the i-th element's bits, modulo 2^64.
"""

import json
import re
import sys

import torch

BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def digest(values):
    size = values.element_size()
    bits = values.contiguous().view(-1).view(BITS[size]).tolist()
    mask = (1 << (8 * size)) - 1
    return sum((i + 1) * (b & mask) for i, b in enumerate(bits)) % 2**64


def texts(values):
    """Numbers as texts, which every reader turns into the same bits."""
    return [repr(v + 0) for v in values.tolist()]


def draw(kind, n, dtype, arguments):
    dtype = getattr(torch, dtype)
    if kind == "uniform":
        return torch.empty(n, dtype=dtype).uniform_(*arguments)
    if kind == "normal":
        return torch.empty(n, dtype=dtype).normal_(*arguments)
    if kind == "integers":
        return torch.empty(n, dtype=dtype).random_(*arguments)
    if kind == "bernoulli":
        return torch.empty(n, dtype=dtype).bernoulli_(*arguments)
    if kind == "permutation":
        return torch.randperm(n, dtype=dtype)
    raise ValueError(kind)


def cases():
    for dtype in ("float32", "float64", "float16", "bfloat16"):
        yield 0, [("uniform", 5, dtype, [0.0, 1.0]), ("uniform", 3000, dtype, [-2.0, 3.5])]
    # Some of these round up to the upper bound.
    yield 1, [("uniform", 50000, dtype, [1.0, 2.0]) for dtype in ("float16", "bfloat16")]
    yield 2, [("uniform", 50000, "float32", [65536.0, 65537.0])]
    for dtype in ("float32", "float64"):
        # The cached second value of a pair lasts from one small draw to the next.
        yield 0, [("normal", n, dtype, [0.0, 1.0]) for n in (1, 2, 5, 15)]
        yield 1, [("normal", n, dtype, [1.0, 0.5]) for n in (16, 17, 20, 31, 32, 33, 1000, 5)]
    for dtype in ("float16", "bfloat16"):
        yield 0, [("normal", n, dtype, [0.0, 1.0]) for n in (5, 16, 20, 100)]
    for span in (10, 2**28 - 1, 2**28, 2**31, 2**32 - 1, 2**32, 2**40, 2**62):
        yield 3, [("integers", 50, "int64", [-5, span - 5])]
    yield 4, [("integers", 2000, dtype, [0, 100]) for dtype in ("int8", "uint8", "int16", "int32", "float32")]
    yield 5, [("integers", 20, "bool", [0, 2]), ("integers", 20, "float16", [0, 11])]
    for n in (0, 1, 2, 10, 1000, 30000, 100000):
        yield 0, [("permutation", n, "int64", [])]
    yield 7, [("permutation", 50, "int32", []), ("permutation", 50, "float32", [])]
    for n in (10, 40, 799, 801, 5000, 100000):
        yield 0, [("bernoulli", n, "float32", [0.5])]
    for p in (0.0, 0.1, 0.3, 0.9, 1.0):
        yield 1, [("bernoulli", 2000, dtype, [p]) for dtype in ("float32", "float64", "float16", "bool")]
    # Draws of different kinds share one state.
    yield 2, [
        ("normal", 3, "float32", [0.0, 1.0]),
        ("uniform", 3, "float32", [0.0, 1.0]),
        ("normal", 3, "float64", [0.0, 1.0]),
        ("permutation", 5, "int64", []),
        ("bernoulli", 5, "float32", [0.5]),
        ("integers", 5, "int64", [0, 1000]),
    ]


CALLS = """
zeros(N, #{dtype: D}).exponential_(1.5)
zeros(N, #{dtype: D}).cauchy_(0.5, 2.0)
zeros(N, #{dtype: D}).geometric_(0.3)
zeros(N, #{dtype: D}).log_normal_(0.5, 1.2)
zeros(N, #{dtype: D}).random_()
zeros(N, #{dtype: D}).bernoulli_(0.3)
rand(N).to(D).bernoulli()
poisson(rand(N).to(D) * 4)
poisson(rand(N).to(D) * 60)
F::dropout(ones(N, #{dtype: D}), 0.3)
rand([3, N]).to(D).multinomial(7)
rand([3, N]).to(D).multinomial(1)
rand([3, N]).to(D).multinomial(9, true)
normal(1.0, 2.0, [N], #{dtype: D})
rand(N, #{dtype: D})
randn(N, #{dtype: D})
""".split("\n")[1:-1]
WHOLE = """
zeros(N, #{dtype: D}).random_()
zeros(N, #{dtype: D}).random_(3, 90)
zeros(N, #{dtype: D}).bernoulli_(0.3)
zeros(N, #{dtype: D}).geometric_(0.3)
randint(0, 2, [N], #{dtype: D})
randperm(N, #{dtype: D})
""".split("\n")[1:-1]


def call(code, n, dtype):
    """A call's result after `manual_seed(3)`, and numbers that show where it left the generator."""
    code = code.replace("N", str(n)).replace("D", dtype)
    names = {"torch": torch, "F": torch.nn.functional, dtype: getattr(torch, dtype)}
    text = re.sub(r"#\{dtype: (\w+)\}", r"dtype=\1", code).replace("::", ".").replace("true", "True")
    text = re.sub(r"(?<![\w.])(zeros|ones|rand|randn|poisson|normal|randint|randperm)\(", r"torch.\1(", text)
    torch.manual_seed(3)
    value = eval(text, names)
    exact = value.reshape(-1).tolist()
    return {"rhai": code, "dtype": str(value.dtype)[6:], "values": exact, "next": torch.rand(2).tolist()}


def calls():
    for n in (9, 40):
        for dtype in ("float32", "float64", "float16", "bfloat16"):
            yield from (call(code, n, dtype) for code in CALLS)
        for dtype in ("int64", "int32", "int16", "int8", "uint8", "bool"):
            yield from (call(code, n, dtype) for code in WHOLE if not (dtype == "bool" and re.search("geo|perm|90", code)))


def main():
    with open(sys.argv[2], "w") as out:
        json.dump({"torch": torch.__version__, "calls": list(calls())}, out, indent=None)
        out.write("\n")
    recorded = []
    for seed, draws in cases():
        torch.manual_seed(seed)
        entry = {"seed": seed, "draws": []}
        for kind, n, dtype, arguments in draws:
            values = draw(kind, n, dtype, arguments)
            one = {"kind": kind, "n": n, "dtype": dtype, "arguments": arguments}
            one["first"] = texts(values[:20])
            one["last"] = texts(values[-20:])
            if kind != "normal":
                one["digest"] = str(digest(values))
            entry["draws"].append(one)
        recorded.append(entry)
    with open(sys.argv[1], "w") as out:
        json.dump({"torch": torch.__version__, "cases": recorded}, out, indent=None)
        out.write("\n")


if __name__ == "__main__":
    main()
