"""What PyTorch gives for its developers' samples of modules and optimisers.

Part of check_peer_samples.py. A record has, beside what an op's has, the lines that make its module or optimiser.
"""

import re
import signal
import warnings

import torch
from peer_samples_calls import Names, Untold
from peer_samples_record import SEED, computed, kept, late, refused
from torch.testing._internal.common_modules import module_db
from torch.testing._internal.common_optimizers import optim_db

STEPS = 10
LOSSES = {
    "((x2 @ w.T + b - x3) ** 2).mean()": lambda w, b, x, y: ((x @ w.T + b - y) ** 2).mean(),
    "(x2 @ w.T + b).tanh().sub(x3).square().sum()": lambda w, b, x, y: (x @ w.T + b).tanh().sub(y).square().sum(),
}


def modules(table, pattern, say):
    """Each module in training and evaluation, with a state of PyTorch's, and what it begins with."""
    signal.signal(signal.SIGALRM, late)
    records, untold = [], {}
    for info in module_db:
        name = info.name.removeprefix("nn.")
        if not re.fullmatch(pattern, info.name):
            continue
        before = len(records)
        if f"nn::{name}" not in table:
            untold[info.name] = {"not in the table": 1}
            continue
        for dtype in (torch.float32, torch.float64):
            for training in (True, False) if info.train_and_eval_differ or dtype == torch.float32 else (True,):
                torch.manual_seed(SEED)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    inputs = info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=True, training=training)
                for one in inputs:
                    for make in (of_module, of_start) if dtype == torch.float32 and training else (of_module,):
                        try:
                            records.append(make(info, name, one, dtype, training, table))
                        except Untold as reason:
                            untold.setdefault(info.name, {}).setdefault(str(reason), 0)
                            untold[info.name][str(reason)] += 1
        if info.module_error_inputs_func is not None:
            of_module_errors(info, name, records)
        say(f"{info.name:<44} {len(records) - before:>4}")
    return records, untold


def base(op, dtype, kind):
    return {"op": op, "dtype": str(dtype)[6:], "kind": kind, "rtol": 0.0, "atol": 0.0, "unset": False}


def made(info, name, one, dtype):
    """The module, and the text that makes it."""
    args, kwargs = one.constructor_input.args, one.constructor_input.kwargs
    names = Names()
    text = f"nn::{name}({names.given(args, kwargs)})"
    if any(t.requires_grad for t in names.tensors.values()):
        raise Untold("a constructor that is given what is trained")
    torch.manual_seed(SEED)
    return info.module_cls(*args, **kwargs), text, names


def of_module(info, name, one, dtype, training, table):
    module, text, names = made(info, name, one, dtype)
    module.to(dtype).train(training)
    record = base(info.name, dtype, "module")
    state = {k: v.detach().clone() for k, v in module.state_dict().items() if isinstance(v, torch.Tensor)}
    record["state"] = state
    record["setup"] = [f"let net = {text};"] + ([f"net.to({str(dtype)[6:]});"] if dtype != torch.float32 else [])
    if state:
        record["setup"].append("net.load_state_dict(state);")
    record["setup"].append("net.train();" if training else "net.eval();")
    record["parameters"] = len(list(module.parameters()))
    args, kwargs = one.forward_input.args, one.forward_input.kwargs
    record["line"] = f"net.forward({names.given(args, kwargs)})"
    try:
        computed(record, names, module, args, kwargs, False, list(module.parameters()))
    except (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError, AttributeError) as error:
        raise refused(error) from None
    return record


def of_start(info, name, one, dtype, training, table):
    """The values that a module begins with behind a seed, in the order of its state."""
    if any(isinstance(v, torch.nn.Module) for v in one.constructor_input.args):
        raise Untold("a layer that was made before the seed")
    module, text, names = made(info, name, one, dtype)
    state = {k: v for k, v in module.state_dict().items() if isinstance(v, torch.Tensor)}
    if not state or names.tensors:
        raise Untold("no state to begin with")
    record = base(info.name, dtype, "start")
    record |= {"setup": [f"let start = {text}.state_dict();"], "inputs": {}, "random": True, "fields": [], "gradients": None}
    record["line"] = "[" + ", ".join(f'start["{key}"]' for key in state) + "]"
    record["expect"] = [v.detach().clone() for v in state.values()]
    return record


def of_module_errors(info, name, records):
    """What PyTorch refuses to make, or to compute."""
    for one in info.module_error_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=False, training=False):
        one, names = one.module_error_input, Names()
        record = base(info.name, torch.float32, "error")
        try:
            args, kwargs = one.constructor_input.args, one.constructor_input.kwargs
            record["line"] = f"nn::{name}({names.given(args, kwargs)})"
            if one.forward_input is not None:
                record["line"] += f".forward({names.given(one.forward_input.args, one.forward_input.kwargs)})"
        except Untold:
            continue

        def tried():
            module = info.module_cls(*args, **kwargs)
            if one.forward_input is not None:
                module(*one.forward_input.args, **one.forward_input.kwargs)

        records += failed(record, names, tried)


def failed(record, names, tried):
    """The record with what PyTorch says, where it refuses."""
    inputs = {n: {**kept(t), "grad": bool(t.requires_grad)} for n, t in names.tensors.items()}
    record |= {"inputs": inputs, "random": False, "fields": []}
    try:
        tried()
    except Exception as error:
        record["error"] = f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"
        return [record]
    return []


def optimisers(table, pattern, say):
    """Ten steps of each optimiser on a straight line and on a curved one."""
    records, untold = [], {}
    for info in optim_db:
        name = f"optim.{info.optim_cls.__name__}"
        if not re.fullmatch(pattern, name):
            continue
        before = len(records)
        if name.replace(".", "::") not in table:
            untold[name] = {"not in the table": 1}
            continue
        for one in info.optim_inputs_func("cpu"):
            for dtype in (torch.float32, torch.float64):
                for loss in LOSSES:
                    try:
                        records.append(of_optimiser(info, name, one.kwargs, dtype, loss))
                    except Untold as reason:
                        untold.setdefault(name, {}).setdefault(str(reason), 0)
                        untold[name][str(reason)] += 1
        for one in info.optim_error_inputs_func("cpu", torch.float32):
            given, names = one.optimizer_error_input, Names()
            record = base(name, torch.float32, "error")
            try:
                record["line"] = f"{name.replace('.', '::')}({names.given([given.params], given.kwargs)})"
            except Untold:
                continue
            records += failed(record, names, lambda: info.optim_cls(given.params, **given.kwargs))
        say(f"{name:<44} {len(records) - before:>4}")
    return records, untold


def of_optimiser(info, name, kwargs, dtype, loss):
    generator = torch.Generator().manual_seed(SEED)
    shapes = ((3, 4), (3,), (6, 4), (6, 3))
    first = [torch.rand(shape, generator=generator, dtype=torch.float64).sub(0.5).to(dtype) for shape in shapes]
    names, record = Names(), base(name, dtype, "optimiser")
    for t in first:
        names.tensor(t)
    options = names.text(kwargs) if kwargs else "#{}"
    step = f"opt.zero_grad(); let loss = {loss}; loss.backward();"
    step = f"opt.step(|| {{ {step} loss }});" if name.endswith("LBFGS") else f"{step} opt.step();"
    record["setup"] = [
        "let w = x0.clone().requires_grad_(true); let b = x1.clone().requires_grad_(true);",
        f"let opt = {name.replace('.', '::')}([w, b], {options});",
        f"for step in 0..{STEPS} {{ {step} }}",
    ]
    record["line"] = "[w, b]"

    def steps(w, b, x, y, *more):
        w, b = w.clone().requires_grad_(True), b.clone().requires_grad_(True)
        opt = info.optim_cls([w, b], **kwargs)

        def closure():
            opt.zero_grad()
            value = LOSSES[loss](w, b, x, y)
            value.backward()
            return value

        for _ in range(STEPS):
            opt.step(closure)
        return [w.detach(), b.detach()]

    try:
        computed(record, names, steps, list(names.tensors.values()), {}, False)
    except (RuntimeError, ValueError, TypeError) as error:
        raise refused(error) from None
    return record
