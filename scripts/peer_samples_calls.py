"""Calls of PyTorch as lines of Rhai: which function a sample comes to, in which form, with which arguments.

Part of check_peer_samples.py.
"""

import inspect
import math

import torch
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils._pytree import tree_flatten

# Python's methods behind an operator whose left side is no tensor.
OPERATORS = {
    "__radd__": "+", "__rsub__": "-", "__rmul__": "*", "__rdiv__": "/", "__rtruediv__": "/", "__rpow__": "**",
    "__rmatmul__": "@", "__rmod__": "%", "__rand__": "&", "__ror__": "|", "__rxor__": "^",
}  # fmt: skip
# What takes tensors one by one, and here an array of them.
VARIADIC = ("block_diag", "cartesian_prod", "meshgrid", "broadcast_tensors")
# Of numbers alone, these are arithmetic of Rhai.
BINARY = ("add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "floor_divide", "max", "min")
# Defaults of functions that Python's `inspect` can't read.
ALIKE = {"recompute_scale_factor": (None, False), "pivot": (True,), "norm_type": (2, 2.0)}
# Options that ask for nothing with these values.
NOTHING = {"layout": (torch.strided,), "device": ("cpu", torch.device("cpu")), "pin_memory": (False,)}


class Untold(Exception):
    """A call that has no form in Rhai, and why."""


class Calls(TorchFunctionMode):
    """Keeps the calls that a function makes at its top."""

    def __init__(self):
        super().__init__()
        self.kept = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        self.kept.append((func, args, kwargs or {}, result))
        return result


def called(op, args, kwargs):
    """The path of the PyTorch function that an OpInfo's `op` comes to, and what it is given."""
    if plainly(op):
        return op.name, args, kwargs
    with Calls() as calls:
        result = op.op(*args, **kwargs)
    made = {id(t) for t in tree_tensors(args, kwargs)}
    real = [call for call in calls.kept if call[0].__name__ != "__get__" or call[3] is result]
    if len(real) != 1 or real[0][3] is not result:
        raise Untold("several calls in Python")
    func, args, kwargs, _ = real[0]
    if func.__name__ == "__get__":
        return f"property.{func.__self__.__name__}", args, kwargs
    given = tree_tensors(args, kwargs)
    if any(id(t) not in made for t in given):
        raise Untold("several calls in Python")
    path = (resolve_name(func) or func.__name__).removeprefix("torch.")
    for prefix, place in (("_C._nn.", "nn.functional."), ("_C._linalg.linalg_", "linalg."), ("_C._special.special_", "special.")):
        path = path.replace(prefix, place)
    if op.name.split(".")[-1] == path.split(".")[-1] and not path.startswith("Tensor."):
        path = op.name
    return path, args, kwargs


def plainly(op):
    """Whether an OpInfo's `op` is the function of its name."""
    value = torch
    for part in op.name.split("."):
        value = getattr(value, part, None)
    return value is op.op


class Names:
    """The tensors of a call by name, and its arguments in Rhai."""

    def __init__(self):
        self.tensors = {}
        self.ids = {}

    def tensor(self, t):
        if id(t) not in self.ids:
            self.ids[id(t)] = f"x{len(self.ids)}"
            self.tensors[self.ids[id(t)]] = t
        return self.ids[id(t)]

    def text(self, v):
        if isinstance(v, torch.Tensor):
            return self.tensor(v)
        if v is None:
            return "()"
        if isinstance(v, bool):
            return "true" if v else "false"
        if isinstance(v, int):
            return f"({v + 1} - 1)" if v < -(2**63) + 1 else str(v)
        if isinstance(v, float):
            special = "(0.0 / 0.0)" if math.isnan(v) else "(1.0 / 0.0)" if v > 0 else "(-1.0 / 0.0)"
            return repr(v) if math.isfinite(v) else special
        if isinstance(v, str):
            return '"' + v.replace('"', '\\"') + '"'
        if isinstance(v, torch.dtype):
            if v.is_complex:
                raise Untold("complex numbers")
            return str(v)[6:]
        if isinstance(v, torch.memory_format):
            return str(v)[6:]
        if isinstance(v, torch.device):
            return f'"{v}"'
        if isinstance(v, slice):
            return self.range(v)
        if isinstance(v, (list, tuple, torch.Size)):
            return "[" + ", ".join(self.text(part) for part in v) + "]"
        if isinstance(v, dict):
            return "#{" + ", ".join(f"{k}: {self.text(part)}" for k, part in v.items()) + "}"
        if isinstance(v, torch.nn.TransformerEncoderLayer) and v.activation_relu_or_gelu:
            return self.layer(v)
        raise Untold(f"a {type(v).__name__} as an argument")

    def layer(self, v):
        options = {
            "dim_feedforward": v.linear1.out_features,
            "dropout": v.dropout.p,
            "activation": ("relu", "gelu")[v.activation_relu_or_gelu - 1],
            "layer_norm_eps": v.norm1.eps,
            "batch_first": v.self_attn.batch_first,
            "norm_first": v.norm_first,
            "bias": v.linear1.bias is not None,
        }
        return f"nn::TransformerEncoderLayer({v.self_attn.embed_dim}, {v.self_attn.num_heads}, {self.text(options)})"

    def range(self, v):
        if v.step not in (None, 1):
            raise Untold("a slice with a step")
        if v.start is None and v.stop is None:
            return "()"
        start = 0 if v.start is None else v.start
        return f"{start}.." if v.stop is None else f"{start}..{v.stop}"

    def given(self, args, kwargs):
        """Arguments, with those by name in a map at the end."""
        named = {k: v for k, v in kwargs.items() if not (k in NOTHING and v in NOTHING[k])}
        parts = [self.text(v) for v in args]
        if named:
            parts.append(self.text(named))
        return ", ".join(parts)


def line(names, path, args, kwargs, table, turn):
    """A call in Rhai: one of the forms that the table has, by turns."""
    place, _, name = path.rpartition(".")
    if name in OPERATORS and len(args) == 2:
        left = names.text(args[1])
        return f"{f'({left})' if left.startswith('-') else left} {OPERATORS[name]} {names.text(args[0])}"
    if place == "property":
        return f"{names.text(args[0])}.{name}"
    if name == "__getitem__":
        x, at = args
        if isinstance(at, tuple):
            return f"{names.text(x)}.at({names.text(list(at))})"
        return f"{names.text(x)}[{names.text(at)}]"
    if any(t.is_complex() for t in tree_tensors(args, kwargs)):
        raise Untold("complex numbers")
    first = args[0] if args and isinstance(args[0], torch.Tensor) else None
    spaces = {"nn.functional": "F::", "linalg": "linalg::", "special": "special::", "fft": "fft::", "": "", "Tensor": None}
    if place not in spaces:
        raise Untold(f"the module {place}")
    forms = []
    if spaces[place] is not None and spaces[place] + name in table:
        forms.append(f"{spaces[place]}{name}")
    if place in ("", "Tensor") and first is not None and f".{name}" in table:
        forms.append(f".{name}")
    if not forms:
        raise Untold("not in the table")
    form = forms[turn % len(forms)]
    if name in VARIADIC and isinstance(first, torch.Tensor):
        args = [list(args)]
    elif not tree_tensors(args, kwargs) and args and name in BINARY:
        raise Untold("numbers alone")
    kwargs = {k: v for k, v in kwargs.items() if k in table[form] or not default(path, k, v)}
    if form.startswith("."):
        return f"{names.text(first)}{form}({names.given(args[1:], kwargs)})"
    return f"{form}({names.given(args, kwargs)})"


def tree_tensors(*values):
    """All tensors of some arguments, however deep they lie."""
    return [t for t in tree_flatten(values)[0] if isinstance(t, torch.Tensor)]


def default(path, name, value):
    """Whether an option is given as it is without it, which asks for nothing."""
    if value is not None and not isinstance(value, (bool, int, float, str)):
        return False
    if name in ALIKE and value in ALIKE[name]:
        return True
    try:
        parameter = inspect.signature(reached(path)).parameters.get(name)
    except (TypeError, ValueError):
        return False
    return parameter is not None and parameter.default == value and type(parameter.default) is type(value)


def known(path, table):
    """Whether the program has a function in one of its forms."""
    place, _, name = path.rpartition(".")
    if name in OPERATORS or name == "__getitem__" or place == "property" and name in ("T", "H", "mT"):
        return True
    space = {"nn.functional": "F::", "Tensor": ".", "": ""}.get(place, place + "::")
    return space + name in table or place == "" and "." + name in table


def reached(path):
    """What a path leads to in PyTorch."""
    if path.startswith("property."):
        return lambda t: getattr(t, path.split(".")[1])
    value = torch
    for part in path.split("."):
        value = getattr(value, part, None)
    return value if value is not None else getattr(torch.Tensor, path.split(".")[-1])
