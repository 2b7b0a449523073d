"""GPUs that PyTorch's CPU passes for: tensors know the device that they would be on, and refuse to meet another's.

Values come from the CPU, and so do random numbers. What only a GPU can tell, such as times and memory, raises `Needs`, or
is one for everything where programs are to run on behind it.
"""

import contextlib
import itertools

import torch
import torch.multiprocessing
import torch.utils.benchmark
import torch.utils.data
from torch.overrides import TorchFunctionMode

COUNT = 2


class Needs(Exception):
    """What a GPU would be needed for."""


# No two are the same, so that their differences can be divided by.
NUMBERS = itertools.count(1)


class Told(float):
    """What a GPU would tell, as far as a program goes on with it: a number of everything that is asked of it."""

    def __getattr__(self, _):
        return self

    def __call__(self, *_, **__):
        return self

    def __getitem__(self, _):
        return self


def where(device):
    """A device in full, with the current GPU's number where it has none."""
    if isinstance(device, int):
        device = f"cuda:{device}"
    device = torch.device(device)
    if device.type == "cuda" and device.index is None:
        return torch.device("cuda", Gpus.current)
    return torch.device("cpu") if device.type == "cpu" else device


def place(tensor):
    return getattr(tensor, "_place", torch.device("cpu"))


def tensors(value):
    """The tensors in arguments or results."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from tensors(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from tensors(inner)


def is_device(value):
    return isinstance(value, torch.device) or (
        isinstance(value, str) and (value == "cpu" or value.startswith("cuda"))
    )


class Gpus(TorchFunctionMode):
    """What runs within this finds `COUNT` GPUs."""

    current = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        if func == torch.Tensor.device.__get__:
            return place(args[0])
        if func == torch.Tensor.is_cuda.__get__:
            return place(args[0]).type == "cuda"
        if func == torch.Tensor.get_device:
            return place(args[0]).index if place(args[0]).type == "cuda" else -1
        if func == torch.Tensor.pin_memory:
            return args[0].clone()
        if func == torch.Tensor.record_stream:
            return None
        if func == torch.Tensor.data.__set__:
            args[0]._place = place(args[1])
        if func in (torch.Tensor.cuda, torch.Tensor.cpu, torch.Tensor.to):
            return self.moved(func, args, kwargs)
        found = [t for t in tensors([args, kwargs])]
        asked = kwargs.get("device")
        if asked is not None:
            target = where(asked)
            self.check(target)
            kwargs["device"] = "cpu"
        else:
            target = self.common(name, found)
        result = func(*args, **kwargs)
        for tensor in tensors(result):
            if not any(tensor is given for given in found):
                tensor._place = target
        return result

    def check(self, target):
        if target.type == "cuda" and target.index >= COUNT:
            raise RuntimeError("CUDA error: invalid device ordinal")

    def common(self, name, found):
        """Where a result is, as its operands are."""
        places = {place(t) for t in found if t.dim() > 0 or place(t).type == "cuda"}
        if len(places) > 1 and not name.startswith(("__set", "copy_", "__get", "backward", "_has")):
            first, second = sorted(map(str, places))[:2]
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but found at least two devices, {second} and {first}!"
            )
        return place(found[0]) if len(places) != 1 and found else next(iter(places), torch.device("cpu"))

    def moved(self, func, args, kwargs):
        tensor, rest = args[0], list(args[1:])
        target = place(tensor)
        if func == torch.Tensor.cuda:
            asked = rest.pop(0) if rest else kwargs.pop("device", None)
            target = where("cuda" if asked is None else asked)
        elif func == torch.Tensor.cpu:
            target = torch.device("cpu")
        else:
            if "device" in kwargs:
                target = where(kwargs.pop("device"))
            elif rest and (is_device(rest[0]) or type(rest[0]) is int):
                target = where(rest.pop(0))
            elif rest and isinstance(rest[0], torch.Tensor):
                target = place(rest[0])
        self.check(target)
        dtype = next((a for a in [*rest, kwargs.get("dtype")] if isinstance(a, torch.dtype)), None)
        if isinstance(rest[0] if rest else None, torch.Tensor):
            dtype = rest[0].dtype
        result = tensor if dtype in (None, tensor.dtype) else torch.Tensor.to(tensor, dtype)
        if result is tensor and (target != place(tensor) or kwargs.get("copy")):
            result = tensor.clone()
        if result is not tensor:
            result._place = target
        return result


class Stream:
    """A stream in whose order everything runs at once."""

    def __init__(self, device=None, priority=0, **_):
        self.device = where("cuda" if device is None else device)

    def record_event(self, event=None):
        return event or Event()

    def query(self):
        return True

    def wait_stream(self, *_):
        pass

    wait_event = synchronize = wait_stream


class Event:
    def __init__(self, *_, **__):
        pass

    def record(self, *_):
        pass

    wait = synchronize = record

    def query(self):
        return True

    def elapsed_time(self, _):
        raise Needs("times of a GPU")


@contextlib.contextmanager
def on_device(index):
    before, Gpus.current = Gpus.current, where(index).index
    try:
        yield
    finally:
        Gpus.current = before


def set_device(index):
    Gpus.current = where(index).index


def install(made_up=False):
    """Puts these in the place of what `torch.cuda` has; with made-up numbers for what only a GPU can tell, if so asked."""
    told = telling if made_up else needing
    if made_up:
        Event.elapsed_time = told("times of a GPU")
    cuda = torch.cuda
    for name in list(vars(cuda)):
        if name.startswith(("memory_", "max_memory", "reset_", "mem_get", "list_gpu", "set_per_process")):
            setattr(cuda, name, told("memory statistics of a GPU"))
    for name in ("CUDAGraph", "graph", "utilization", "temperature", "power_draw", "caching_allocator_alloc"):
        setattr(cuda, name, told(f"torch.cuda.{name}"))
    cuda.is_available = lambda: True
    cuda.device_count = lambda: COUNT
    cuda.get_device_name = lambda *_: "Tesla T4"
    cuda.get_device_capability = lambda *_: (7, 5)
    cuda.get_device_properties = told("a GPU's properties")
    cuda.current_device = lambda: Gpus.current
    cuda.synchronize = cuda.empty_cache = cuda.init = lambda *_: None
    cuda.device, cuda.set_device = on_device, set_device
    cuda.Stream, cuda.Event = Stream, Event
    cuda.stream = lambda stream: contextlib.nullcontext(stream)
    cuda.current_stream = cuda.default_stream = lambda device=None: Stream(device)
    loader = torch.utils.data.DataLoader.__init__
    unpinned = lambda self, *args, pin_memory=False, **kwargs: loader(self, *args, **kwargs)
    torch.utils.data.DataLoader.__init__ = unpinned
    torch.autocast = autocast
    torch.utils.benchmark.Timer = told("times of a GPU")
    torch.multiprocessing.spawn = needing("ranks in processes of their own")
    torch.multiprocessing.get_context = needing("ranks in processes of their own")
    torch.optim.Optimizer._accelerator_graph_capture_health_check = lambda _: None
    return Gpus()


def autocast(device_type, dtype=None, enabled=True, cache_enabled=None):
    """The CPU's, with what a GPU's would compute in."""
    if device_type == "cuda":
        dtype = dtype or torch.float16
    return torch.amp.autocast("cpu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


def needing(what):
    def refuse(*_, **__):
        raise Needs(what)

    return refuse


def telling(_):
    return lambda *_, **__: Told(next(NUMBERS))
