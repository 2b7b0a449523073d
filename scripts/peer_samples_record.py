"""What PyTorch gives for its developers' samples: chooses them, keeps values and gradients.

Part of check_peer_samples.py. A sample is a dict of plain values and tensors, so that `torch.save` keeps it.
"""

import random
import re
import signal
import time
import warnings

import torch
from peer_samples_calls import Names, Untold, called, known, line, plainly, reached, tree_tensors
from torch.testing._internal.common_device_type import toleranceOverride
from torch.testing._internal.common_methods_invocations import op_db

SEED = 7
# How many samples an op gets in each dtype.
SAMPLES = {
    torch.float32: 18,
    torch.int64: 5,
    torch.float64: 4,
    torch.bfloat16: 4,
    torch.float16: 3,
    torch.bool: 3,
    torch.uint8: 2,
    torch.int32: 2,
}
CHOICE = {"times": 1, "seed": 7}
TWICE, ERRORS, IN_PLACE = 4, 12, 3
# Larger inputs, and what takes longer to make, are left out.
MOST, SECONDS = 4096, 4.0
# Memory as it is found: shapes alone are compared.
UNSET = re.compile(r"(^|\.)(new_)?empty(_|$)|(^|\.)empty_")


def kept(t):
    """A tensor as it lies in memory, in a form that can be saved."""
    if t.device.type != "cpu":
        raise Untold("a tensor elsewhere")
    t = t.detach().resolve_conj().resolve_neg()
    span = 0 if t.numel() == 0 else 1 + sum((n - 1) * s for n, s in zip(t.shape, t.stride()))
    if span > 8 * MOST:
        raise Untold("too large")
    if t.is_contiguous():
        return {"data": t.clone(memory_format=torch.contiguous_format), "size": list(t.shape), "stride": None}
    flat = t.as_strided((span,), (1,), t.storage_offset()).clone()
    return {"data": flat, "size": list(t.shape), "stride": list(t.stride())}


def leaf(one, grad):
    t = one["data"].clone()
    if one["stride"] is not None:
        t = t.as_strided(one["size"], one["stride"])
    return t.requires_grad_(grad)


def flat(value):
    """Results in order: tensors and plain values."""
    if isinstance(value, (tuple, list)):
        return [part for v in value for part in flat(v)]
    return [value]


def cotangent(t):
    """A fixed one, of numbers that every dtype holds."""
    n = torch.arange(t.numel(), dtype=torch.float64)
    return (((n * 7 + 3) % 11 - 5) / 8).to(t.dtype).reshape(t.shape)


def replaced(value, swap, dtypes={}):
    """Arguments with other tensors, and other dtypes, in the places of theirs."""
    if isinstance(value, torch.Tensor):
        return swap[id(value)]
    if isinstance(value, torch.dtype):
        return dtypes.get(value, value)
    if isinstance(value, slice):
        return value
    if isinstance(value, dict):
        return {k: replaced(v, swap, dtypes) for k, v in value.items()}
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)(replaced(v, swap, dtypes) for v in value)
    return value


def exactly(record, names, function, args, kwargs):
    """What PyTorch gives in double precision for the same numbers: where its own narrower result lies apart from that,
    a result that agrees with it is right as well."""
    record["exact"] = None
    if record["random"] or record["unset"] or record["dtype"] not in ("float32", "bfloat16", "float16"):
        return
    narrow = getattr(torch, record["dtype"])
    leaves = {}
    for name, one in record["inputs"].items():
        t = leaf(one, False)
        leaves[name] = (t.double() if t.dtype in (torch.float16, torch.bfloat16, torch.float32) else t).requires_grad_(one["grad"])
    swap = {id(t): leaves[name] for name, t in names.tensors.items()}
    wide = {narrow: torch.float64}
    args, kwargs = replaced(tuple(args), swap, wide), replaced(kwargs, swap, wide)
    try:
        outs = flat(function(*args, **kwargs))
        want = record["expect"]
        kept = [out.detach().clone().contiguous() if isinstance(out, torch.Tensor) else None for out in outs]
        if [getattr(out, "shape", None) for out in kept] != [getattr(out, "shape", None) for out in want]:
            return
        exact, grads = {"expect": kept, "gradients": None}, None
        if record.get("gradients"):
            leaves = {name: t for name, t in leaves.items() if t.requires_grad}
            along = [g.double() for g in record["cotangents"]]
            grads = torch.autograd.grad([outs[k] for k in record["through"]], list(leaves.values()), along, allow_unused=True)
            exact["gradients"] = {n: None if g is None else g.clone().contiguous() for n, g in zip(leaves, grads)}
    except (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError):
        return
    record["exact"] = exact


def computed(record, names, function, args, kwargs, twice, parameters=()):
    """Fills in what PyTorch gives, in tensors of its own; a module's parameters have gradients as well."""
    inputs = {}
    for name, t in names.tensors.items():
        one = kept(t)
        one["grad"] = bool(t.requires_grad)
        inputs[name] = one
    leaves = {name: leaf(one, one["grad"]) for name, one in inputs.items()}
    swap = {id(t): leaves[name] for name, t in names.tensors.items()}
    torch.manual_seed(SEED)
    state = torch.get_rng_state()
    args, kwargs = replaced(tuple(args), swap), replaced(kwargs, swap)
    record["inputs"] = inputs
    value = function(*args, **kwargs)
    record["random"] = not torch.equal(state, torch.get_rng_state())
    record["fields"] = list(getattr(type(value), "__match_args__", ())) if isinstance(value, tuple) else []
    outs = flat(value)
    for out in outs:
        if isinstance(out, torch.Tensor) and (out.is_complex() or out.numel() > 4 * MOST or out.layout != torch.strided):
            raise Untold("complex numbers" if out.is_complex() else "too large")
        if not isinstance(out, (torch.Tensor, bool, int, float, str, type(None))):
            raise Untold(f"a {type(out).__name__} as a result")
    record["expect"] = [out.detach().clone().contiguous() if isinstance(out, torch.Tensor) else out for out in outs]
    record["gradients"] = record["second"] = None
    leaves = {name: t for name, t in leaves.items() if t.requires_grad}
    leaves |= {f"p[{k}]": t for k, t in enumerate(parameters)}
    through = [k for k, out in enumerate(outs) if isinstance(out, torch.Tensor) and out.requires_grad]
    if not leaves or not through:
        return
    record["through"] = through
    record["cotangents"] = [cotangent(outs[k]) for k in through]
    try:
        grads = torch.autograd.grad(
            [outs[k] for k in through], list(leaves.values()), record["cotangents"], allow_unused=True, create_graph=twice
        )
    except RuntimeError as error:
        record["ungraded"] = str(error)
        return
    record["gradients"] = {n: None if g is None else g.detach().clone().contiguous() for n, g in zip(leaves, grads)}
    again = [k for k, g in enumerate(grads) if g is not None and g.requires_grad]
    if not twice or not again:
        return
    try:
        second = torch.autograd.grad(
            [grads[k] for k in again], list(leaves.values()), [cotangent(grads[k]) for k in again], allow_unused=True
        )
    except RuntimeError:
        return
    record["again"] = [list(leaves)[k] for k in again]
    record["cotangents2"] = [cotangent(grads[k]) for k in again]
    record["second"] = {n: None if g is None else g.detach().clone().contiguous() for n, g in zip(leaves, second)}


def features(args, kwargs):
    """What a sample is chosen by."""
    found = set()
    tensors = tree_tensors(args, kwargs)
    for t in tensors:
        if t.numel() == 0:
            found.add("empty")
        elif t.dim() == 0:
            found.add("scalar")
        if not t.is_contiguous():
            found.add("strided")
        if t.is_floating_point() and t.numel() and not torch.isfinite(t).all():
            found.add("special")
    if len({tuple(t.shape) for t in tensors}) > 1:
        found.add("broadcast")
    found |= {f"{k}={v}" for k, v in kwargs.items() if isinstance(v, (str, bool, type(None)))} | {f"by {k}" for k in kwargs}
    return frozenset(found) or frozenset(["plain"])


class Late(Exception):
    pass


def late(*_):
    raise Late


def offered(op, dtype, grad):
    """All samples that are small enough, as (args, kwargs)."""
    out, end = [], time.time() + SECONDS
    makers = [op.sample_inputs] + ([op.reference_inputs] if op.reference_inputs_func is not None else [])
    for make in makers:
        signal.alarm(20)
        try:
            for sample in make("cpu", dtype, requires_grad=grad):
                args, kwargs = (sample.input, *sample.args), sample.kwargs
                tensors = tree_tensors(args, kwargs)
                if all(t.layout == torch.strided and t.numel() <= MOST for t in tensors) and len(out) < 600:
                    out.append((args, kwargs))
                if time.time() > end:
                    break
        except (Late, Exception) as error:  # a maker that needs what is not installed
            warnings.warn(f"{op.name}: {error}")
        finally:
            signal.alarm(0)
    return out


def rarity(features, seen):
    counts = [seen.get(one, 0) for one in features]
    return min(counts), sum(counts) / len(counts)


def chosen(samples, most, draw):
    """So many, each the one whose features were seen least."""
    order = list(range(len(samples)))
    draw.shuffle(order)
    told = {k: features(*samples[k]) for k in order}
    seen, out = {}, []
    while order and len(out) < most:
        best = min(order, key=lambda k: rarity(told[k], seen))
        order.remove(best)
        for f in told[best]:
            seen[f] = seen.get(f, 0) + 1
        out.append(samples[best])
    return out


def tolerance(op, dtype):
    """What the op itself allows for one of its tests, beyond `torch.testing`'s."""
    rtol = atol = 0.0
    for decorator in op.decorators:
        for one in getattr(decorator, "decorators", None) or [decorator]:
            if isinstance(one, toleranceOverride) and dtype in one.d:
                rtol, atol = max(rtol, one.d[dtype].rtol), max(atol, one.d[dtype].atol)
    return rtol, atol


def label(op):
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def recorded(table, pattern, say):
    """Samples of every op whose calls the table has; the others are counted by reason."""
    signal.signal(signal.SIGALRM, late)
    torch.set_num_threads(1)
    records, untold = [], {}
    for op in op_db:
        if not re.fullmatch(pattern, op.name) and not re.fullmatch(pattern, label(op)):
            continue
        paths = [op.name, *(alias.name for alias in op.aliases)]
        if not any(known(path, table) for path in paths) and plainly(op) or op.name.startswith("jiterator"):
            untold[label(op)] = {"not in the table": 1}
            continue
        draw, before = random.Random(f"{CHOICE['seed']} {label(op)}"), len(records)
        for dtype in SAMPLES:
            if dtype in op.supported_dtypes("cpu"):
                of_dtype(op, dtype, table, draw, records, untold)
        of_errors(op, table, records, untold)
        say(f"{label(op):<44} {len(records) - before:>4}")
    return records, untold


def of_dtype(op, dtype, table, draw, records, untold):
    grad = dtype.is_floating_point and op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
    torch.manual_seed(SEED)
    random.seed(SEED)
    samples = chosen(offered(op, dtype, grad), CHOICE["times"] * SAMPLES[dtype], draw)
    for turn, (args, kwargs) in enumerate(samples):
        twice = dtype == torch.float64 and turn < CHOICE["times"] * TWICE and op.supports_gradgrad
        try:
            records.append(of_sample(op, dtype, args, kwargs, table, turn, twice))
        except Untold as reason:
            untold.setdefault(label(op), {}).setdefault(str(reason), 0)
            untold[label(op)][str(reason)] += 1
        if dtype == torch.float32 and turn < IN_PLACE or dtype == torch.int64 and turn == 0:
            try:
                records.append(of_in_place(op, dtype, args, kwargs, table))
            except (Untold, Late, RuntimeError, TypeError, ValueError, AttributeError, IndexError):
                continue


def base(op, dtype, kind):
    rtol, atol = tolerance(op, dtype)
    unset = bool(UNSET.search(op.name))
    return {"op": label(op), "dtype": str(dtype)[6:], "kind": kind, "rtol": rtol, "atol": atol, "unset": unset}


def refused(error):
    return Untold(f"PyTorch: {str(error).strip().splitlines()[0][:60]}" if str(error).strip() else type(error).__name__)


def of_sample(op, dtype, args, kwargs, table, turn, twice):
    try:
        path, args, kwargs = called(op, args, kwargs)
    except (RuntimeError, ValueError, TypeError, IndexError, AssertionError) as error:
        raise refused(error) from None
    names, record = Names(), base(op, dtype, "sample")
    paths = [path] + [alias.name for alias in op.aliases if path == op.name and known(alias.name, table)]
    forms = [p for p in paths if known(p, table)]
    if not forms:
        raise Untold("not in the table")
    record["line"] = line(names, forms[turn % len(forms)], args, kwargs, table, turn // len(forms))
    signal.alarm(20)
    try:
        computed(record, names, reached(path), args, kwargs, twice)
        exactly(record, names, reached(path), args, kwargs)
    except Late:
        raise Untold("too slow") from None
    except (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError) as error:
        raise refused(error) from None
    finally:
        signal.alarm(0)
    return record


def of_in_place(op, dtype, args, kwargs, table):
    """The form with a trailing underscore, on a copy."""
    path, args, kwargs = called(op, args, kwargs)
    name = path.split(".")[-1] + "_"
    there = "." + name in table or "." + name[:-1] in table
    asked = isinstance(args[0], torch.Tensor) and hasattr(torch.Tensor, name)
    if not there or not asked or path.startswith(("nn.", "linalg.")):
        raise Untold("no such form")
    names, record = Names(), base(op, dtype, "in place")
    record["line"] = f"{names.text(args[0])}.clone().{name}({names.given(args[1:], kwargs)})"
    computed(record, names, lambda x, *rest, **named: getattr(x.clone(), name)(*rest, **named), args, kwargs, False)
    return record


def of_errors(op, table, records, untold):
    """What PyTorch refuses, with its first line."""
    if op.error_inputs_func is None or op.name.startswith("__"):
        return
    signal.alarm(20)
    try:
        errors = list(op.error_inputs("cpu"))[:ERRORS]
    except (Late, Exception):
        return
    finally:
        signal.alarm(0)
    for turn, error in enumerate(errors):
        sample = error.sample_input
        args, kwargs = (sample.input, *sample.args), sample.kwargs
        if "out" in kwargs:
            continue
        try:
            names, record = Names(), base(op, torch.float32, "error")
            record["line"] = line(names, op.name, args, kwargs, table, turn)
            record["inputs"] = {n: {**kept(t), "grad": bool(t.requires_grad)} for n, t in names.tensors.items()}
        except (Untold, AttributeError, RuntimeError):
            continue
        try:
            op.op(*args, **kwargs)
        except Exception as told:
            record["error"] = f"{type(told).__name__}: {str(told).strip().splitlines()[0] if str(told).strip() else ''}"
            record["random"], record["fields"] = False, []
            records.append(record)
