"""Records what a real GPU and PyTorch's CUDA backend give, for the tests of the simulated and the real one:
what the generator draws from a seed, what TF32 makes of a product, and what the device says of itself.

Usage: record_gpu.py OUTPUT

Needs a CUDA device. Large draws are recorded by their ends and a digest, as in `record_random.py`.
"""

import json
import sys

import torch

from record_random import CALLS, WHOLE, call, digest, texts

LARGE = (
    ("uniform", "float32", lambda t: t.uniform_(-2.0, 3.5)),
    ("uniform", "float64", lambda t: t.uniform_(-2.0, 3.5)),
    ("uniform", "float16", lambda t: t.uniform_(0.0, 1.0)),
    ("uniform", "bfloat16", lambda t: t.uniform_(0.0, 1.0)),
    ("normal", "float32", lambda t: t.normal_(1.0, 0.5)),
    ("normal", "float64", lambda t: t.normal_(1.0, 0.5)),
    ("integers", "int64", lambda t: t.random_(-5, 95)),
    ("integers", "int32", lambda t: t.random_(0, 100)),
    ("integers wide", "int64", lambda t: t.random_(0, 2**40)),
    ("bernoulli", "float32", lambda t: t.bernoulli_(0.3)),
    ("natural", "float32", lambda t: t.random_()),
    ("exponential", "float32", lambda t: t.exponential_(1.5)),
)


def offset():
    return torch.cuda.default_generators[0].get_offset()


def large(n):
    """Draws of `n` elements one after another from one seed, each with where it leaves the generator."""
    torch.manual_seed(11)
    for kind, dtype, draw in LARGE:
        values = draw(torch.empty(n, dtype=getattr(torch, dtype), device="cuda")).cpu()
        one = {"kind": kind, "n": n, "dtype": dtype, "offset": offset()}
        one["first"], one["last"] = texts(values[:8]), texts(values[-8:])
        one["digest"] = str(digest(values))
        one["sum"] = values.double().sum().item()
        yield one
    values = torch.randperm(n, device="cuda").cpu()
    yield {
        "kind": "permutation", "n": n, "dtype": "int64", "offset": offset(),
        "first": texts(values[:8]), "last": texts(values[-8:]), "digest": str(digest(values)),
    }


def calls():
    for n in (9, 40):
        for dtype in ("float32", "float64", "float16", "bfloat16"):
            # `torch.normal` of two numbers does not look at the default device.
            for code in (code for code in CALLS if not code.startswith("normal(")):
                yield call(code, n, dtype)
        for dtype in ("int64", "int32", "uint8"):
            for code in WHOLE:
                yield call(code, n, dtype)


def recorded(each):
    for code in each:
        try:
            yield code
        except RuntimeError as error:
            print("left out:", error, file=sys.stderr)


def matmuls():
    """Products of seeded numbers in full float32 and in TF32."""
    torch.manual_seed(5)
    for m, k, n in ((4, 8, 4), (16, 64, 16), (33, 100, 17)):
        a, b = torch.rand(m, k) - 0.5, torch.rand(k, n) - 0.5
        one = {"m": m, "k": k, "n": n, "a": a.flatten().tolist(), "b": b.flatten().tolist()}
        for tf32 in (False, True):
            torch.backends.cuda.matmul.allow_tf32 = tf32
            one["tf32" if tf32 else "float32"] = (a.cuda() @ b.cuda()).flatten().tolist()
        torch.backends.cuda.matmul.allow_tf32 = False
        yield one


def device():
    p = torch.cuda.get_device_properties(0)
    names = [name for name in dir(p) if not name.startswith("_")]
    found = {name: getattr(p, name) for name in names if isinstance(getattr(p, name), (int, float, str))}
    return found | {"mem_get_info": torch.cuda.mem_get_info()}


def main():
    torch.set_default_device("cuda")
    out = {"torch": torch.__version__, "cuda": torch.version.cuda, "device": device()}
    out["calls"] = list(recorded(calls()))
    torch.set_default_device("cpu")
    out["large"] = [one for n in (5, 1000, 300_000, 3_000_000) for one in large(n)]
    out["matmul"] = list(matmuls())
    with open(sys.argv[1], "w") as file:
        json.dump(out, file)
        file.write("\n")


if __name__ == "__main__":
    main()
