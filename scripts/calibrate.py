"""Measures a real GPU: what launches, copies and kernels of each class take. The simulator's profiles are made from it.

Usage: calibrate.py OUTPUT.json

Kernels are PyTorch's, timed with events (the median of many), calls of the driver through ctypes with the cost of a
call that does nothing taken off. All times are nanoseconds. `profile_from.py` turns the output into a profile.
"""

import ctypes
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F

REPEATS = 15
cuda = ctypes.CDLL("libcuda.so.1")


def events(run, repeats=REPEATS, warm_up=4):
    """Nanoseconds on the device, from an event before to one after; the host is kept ahead by a wait."""
    for _ in range(warm_up):
        run()
    torch.cuda.synchronize()
    taken = []
    for _ in range(repeats):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda._sleep(200_000)
        begin.record()
        run()
        end.record()
        end.synchronize()
        taken.append(begin.elapsed_time(end) * 1e6)
    return statistics.median(taken)


def host(run, repeats=REPEATS, warm_up=3):
    """Nanoseconds of the host until the device is done."""
    for _ in range(warm_up):
        run()
    taken = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        begin = time.perf_counter_ns()
        run()
        torch.cuda.synchronize()
        taken.append(time.perf_counter_ns() - begin)
    return statistics.median(taken)


def kernel(name, kind, rate, flops, bytes_, run, **more):
    nanos = events(run)
    print(f"{kind} {name} {rate}: {nanos / 1e3:.1f} us, {flops / nanos / 1e3:.2f} TFLOP/s, {bytes_ / nanos:.0f} GB/s")
    return {"name": name, "class": kind, "rate": rate, "flops": flops, "bytes": bytes_, "nanos": nanos} | more


RATES = {"fp64": torch.float64, "fp32": torch.float32, "tf32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


def allow_tf32(allowed):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = allowed


def products():
    for rate, dtype in RATES.items():
        allow_tf32(rate == "tf32")
        for n in (128, 512, 1024, 2048, 4096, 8192):
            if rate == "fp64" and n > 4096:
                continue
            a, b = (torch.randn(n, n, device="cuda").to(dtype) for _ in range(2))
            out = torch.empty_like(a)
            size = 3 * n * n * a.element_size()
            yield kernel(f"matmul {n}", "matmul", rate, 2 * n**3, size, lambda: torch.mm(a, b, out=out))
        if rate != "fp64":
            yield from convolutions(rate, dtype)
    allow_tf32(False)


# Name, batch, channels in and out, size, kernel, stride, groups.
CONVOLUTIONS = (
    ("conv 3x3 32x32x28 to 64", 32, 32, 64, 28, 3, 1, 1),
    ("conv 3x3 64x64x56 to 64", 64, 64, 64, 56, 3, 1, 1),
    ("conv 3x3 64x256x14 to 256", 64, 256, 256, 14, 3, 1, 1),
    ("conv 3x3 64x64x56 to 128", 64, 64, 128, 56, 3, 1, 1),
    ("conv 3x3 64x1x28 to 16", 64, 1, 16, 28, 3, 1, 1),
    ("conv 7x7 64x3x224 to 64, stride 2", 64, 3, 64, 224, 7, 2, 1),
    ("conv 3x3 64x128x28 to 256, stride 2", 64, 128, 256, 28, 3, 2, 1),
    ("conv 1x1 64x256x14 to 1024", 64, 256, 1024, 14, 1, 1, 1),
    ("conv 1x1 64x64x56 to 256", 64, 64, 256, 56, 1, 1, 1),
    ("conv 5x5 64x64x28 to 64", 64, 64, 64, 28, 5, 1, 1),
    ("conv 3x3 1x512x7 to 512", 1, 512, 512, 7, 3, 1, 1),
    ("conv 3x3 64x128x28 to 128, 32 groups", 64, 128, 128, 28, 3, 1, 32),
    ("conv 3x3 64x128x56, depthwise", 64, 128, 128, 56, 3, 1, 128),
)


def convolutions(rate, dtype):
    """Each shape forward, and the gradients of its input and of its weight."""
    for name, n, c, o, size, kernel_size, stride, groups in CONVOLUTIONS:
        x = torch.randn(n, c, size, size, device="cuda").to(dtype)
        w = torch.randn(o, c // groups, kernel_size, kernel_size, device="cuda").to(dtype)
        pad = kernel_size // 2
        y = F.conv2d(x, w, stride=stride, padding=pad, groups=groups)

        def backward(mask):
            return torch.ops.aten.convolution_backward(
                y, x, w, None, [stride] * 2, [pad] * 2, [1, 1], False, [0, 0], groups, mask
            )

        flops = 2 * y.numel() * w[0].numel()
        moved = (x.numel() + w.numel() + y.numel()) * x.element_size()
        shape = {"batch": n, "channels": c, "out": o, "size": size, "kernel": kernel_size, "stride": stride, "groups": groups}
        passes = (
            ("forward", "", lambda: F.conv2d(x, w, stride=stride, padding=pad, groups=groups)),
            ("input", ", gradient of the input", lambda: backward([True, False, False])),
            ("weight", ", gradient of the weight", lambda: backward([False, True, False])),
        )
        for way, suffix, run in passes:
            yield kernel(name + suffix, "convolution", rate, flops, moved, run, convolution={"pass": way} | shape)


def streaming(n):
    """Kernels that memory's bandwidth bounds, over `n` float32."""
    a, b = torch.rand(n, device="cuda"), torch.rand(n, device="cuda")
    out = torch.empty_like(a)
    each = [
        ("add", "elementwise", 1, 12, lambda: torch.add(a, b, out=out)),
        ("exp", "elementwise", 1, 8, lambda: torch.exp(a, out=out)),
        ("relu", "elementwise", 1, 8, lambda: torch.clamp(a, min=0, out=out)),
        ("gelu", "elementwise", 1, 8, lambda: F.gelu(a)),
        ("mul_ scalar", "elementwise", 1, 8, lambda: out.mul_(1.0)),
        ("sum", "split_reduction" if n >= 8192 else "reduction", 1, 4, lambda: a.sum()),
        ("max", "split_reduction" if n >= 8192 else "reduction", 1, 4, lambda: a.max()),
        ("rand", "random", 1, 4, lambda: out.uniform_()),
        ("randn", "random", 1, 4, lambda: out.normal_()),
        ("clone", "copy", 0, 8, lambda: out.copy_(a)),
        ("fill", "copy", 0, 4, lambda: out.fill_(1.0)),
    ]
    if n >= 1 << 16:
        rows = a.view(-1, 1024)
        index = torch.randint(0, rows.shape[0], (rows.shape[0],), device="cuda")
        single = torch.randint(0, n, (n,), device="cuda")
        target = torch.zeros_like(rows)
        half, wide = (torch.empty(n, dtype=dtype, device="cuda") for dtype in (torch.float16, torch.float64))
        pairs = a.view(-1, 2)
        pair = torch.randint(0, n // 2, (n // 2,), device="cuda")
        split = "split_reduction" if n // 1024 >= 256 else "reduction"
        each += [
            ("sum(0)", split, 1, 4, lambda: rows.sum(0)),
            ("sum(1)", "reduction", 1, 4, lambda: rows.sum(1)),
            ("argmax(1)", "arg_reduction", 1, 4, lambda: rows.argmax(1)),
            ("softmax(1)", "normalise", 4, 8, lambda: rows.softmax(1)),
            ("layer_norm", "normalise", 8, 8, lambda: F.layer_norm(rows, (1024,))),
            ("index_select rows", "gather_scatter", 0, 8, lambda: rows.index_select(0, index)),
            ("index_add rows", "scatter_add", 1, 12, lambda: target.index_add_(0, index, rows)),
            ("gather elements", "gather_elements", 0, 16, lambda: a.gather(0, single)),
            ("transpose", "transpose", 0, 8, lambda: out.view(1024, -1).copy_(rows.t())),
            ("scatter elements", "gather_elements", 0, 16, lambda: out.scatter_(0, single, a)),
            ("scatter_add elements", "scatter_add", 1, 20, lambda: out.scatter_add_(0, single, a)),
            ("index_select pairs", "gather_elements", 0, 12, lambda: pairs.index_select(0, pair)),
            ("transpose half", "transpose", 0, 8, lambda: half.view(1024, -1).copy_(half.view(-1, 1024).t())),
            ("transpose double", "transpose", 0, 8, lambda: wide.view(1024, -1).copy_(wide.view(-1, 1024).t())),
            ("to half", "copy", 0, 6, lambda: half.copy_(a)),
        ]
    for name, kind, flops, bytes_, run in each:
        yield kernel(name, kind, "fp32", flops * n, bytes_ * n, run, n=n)


def transfers():
    for size in (1 << 10, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26, 1 << 28, 1 << 30):
        pageable = torch.zeros(size, dtype=torch.uint8)
        pinned, device = pageable.pin_memory(), torch.zeros(size, dtype=torch.uint8, device="cuda")
        ways = (
            ("h2d", False, lambda: device.copy_(pageable)),
            ("d2h", False, lambda: pageable.copy_(device)),
            ("h2d", True, lambda: device.copy_(pinned, non_blocking=True)),
            ("d2h", True, lambda: pinned.copy_(device, non_blocking=True)),
        )
        for way, is_pinned, run in ways:
            one = {"way": way, "pinned": is_pinned, "bytes": size, "host": host(run, 9)}
            one["device"] = events(run, 9) if is_pinned else None
            yield one


def held():
    """How long the host is held by a copy while the device has 40 ms of work queued before it."""
    device = torch.zeros(1 << 24, dtype=torch.uint8, device="cuda")
    for size in (1 << 10, 1 << 15, 1 << 16, (1 << 16) + 1024, 1 << 17, 1 << 20, 1 << 24):
        memory = {False: torch.zeros(size, dtype=torch.uint8), True: torch.zeros(size, dtype=torch.uint8).pin_memory()}
        part = device[:size]
        for pinned in (False, True):
            for way, run in (
                ("h2d", lambda: part.copy_(memory[pinned], non_blocking=True)),
                ("d2h", lambda: memory[pinned].copy_(part, non_blocking=True)),
            ):
                run()
                torch.cuda.synchronize()
                torch.cuda._sleep(80_000_000)
                begin = time.perf_counter_ns()
                run()
                nanos = time.perf_counter_ns() - begin
                torch.cuda.synchronize()
                yield {"way": way, "pinned": pinned, "bytes": size, "host": nanos, "device_too": time.perf_counter_ns() - begin}


def repeated(call, count):
    begin = time.perf_counter_ns()
    for _ in range(count):
        call()
    return (time.perf_counter_ns() - begin) / count


def of_driver(call, *arguments, count=2000):
    """Nanoseconds of a driver call, less those of a call that does nothing."""
    version = ctypes.c_int()
    place = ctypes.byref(version)
    taken = statistics.median(repeated(lambda: call(*arguments), count) for _ in range(5))
    empty = statistics.median(repeated(lambda: cuda.cuDriverGetVersion(place), count) for _ in range(5))
    return taken - empty


def launching():
    tiny = torch.zeros(4, device="cuda")
    stream = torch.cuda.current_stream()
    out = {}

    def queue(count):
        torch.cuda._sleep(400_000_000)
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(count):
            tiny.fill_(1.0)
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e6 / count

    queue(10)
    out["queued_tiny_kernel"] = statistics.median(queue(500) for _ in range(5))
    out["alone_tiny_kernel"] = events(lambda: tiny.fill_(1.0), 50)
    torch.cuda.synchronize()
    out["torch_host_fill"] = statistics.median(repeated(lambda: tiny.fill_(1.0), 400) for _ in range(9))
    torch.cuda.synchronize()
    handle, address = ctypes.c_void_p(stream.cuda_stream), ctypes.c_uint64(tiny.data_ptr())
    memset = cuda.cuMemsetD32Async
    call = lambda: memset(address, 0, ctypes.c_size_t(4), handle)
    out["driver_memset_async"] = statistics.median(
        (torch.cuda.synchronize(), of_driver(memset, address, 0, ctypes.c_size_t(4), handle, count=200))[1] for _ in range(5)
    )
    # How many launches fit into the queue before the host waits.
    torch.cuda.synchronize()
    torch.cuda._sleep(1_500_000_000)
    depth = None
    for i in range(4000):
        begin = time.perf_counter_ns()
        call()
        if time.perf_counter_ns() - begin > 20_000_000:
            depth = i
            break
    torch.cuda.synchronize()
    out["queue_depth"] = depth
    event = ctypes.c_void_p()
    cuda.cuEventCreate(ctypes.byref(event), 0)
    out["event_record"] = of_driver(cuda.cuEventRecord, event, handle, count=300)
    torch.cuda.synchronize()
    out["event_query"] = of_driver(cuda.cuEventQuery, event)
    out["stream_wait"] = of_driver(cuda.cuStreamWaitEvent, handle, event, 0, count=300)
    torch.cuda.synchronize()
    out["synchronize_idle"] = of_driver(cuda.cuStreamSynchronize, handle)
    out["launch_to_done"] = host(lambda: tiny.fill_(1.0), 200)
    return out


def memory():
    for size in (2 << 20, 20 << 20, 200 << 20, 1 << 30):
        place = ctypes.c_uint64()
        taken, given = [], []
        for _ in range(9):
            begin = time.perf_counter_ns()
            cuda.cuMemAlloc_v2(ctypes.byref(place), ctypes.c_size_t(size))
            middle = time.perf_counter_ns()
            cuda.cuMemFree_v2(place)
            taken.append(middle - begin)
            given.append(time.perf_counter_ns() - middle)
        host_place = ctypes.c_void_p()
        pins = []
        for _ in range(3):
            begin = time.perf_counter_ns()
            cuda.cuMemHostAlloc(ctypes.byref(host_place), ctypes.c_size_t(size), 0)
            ctypes.memset(host_place, 1, size)
            pins.append(time.perf_counter_ns() - begin)
            cuda.cuMemFreeHost(host_place)
        yield {
            "bytes": size, "allocate": statistics.median(taken), "free": statistics.median(given),
            "pin_and_fill": statistics.median(pins),
        }


def overlap():
    """Milliseconds of two pieces of work alone and at once, on two streams."""
    size = 256 << 20
    pinned = [torch.zeros(size, dtype=torch.uint8).pin_memory() for _ in range(2)]
    device = [torch.zeros(size, dtype=torch.uint8, device="cuda") for _ in range(2)]
    a = torch.randn(4096, 4096, device="cuda")
    streams = [torch.cuda.Stream() for _ in range(2)]
    work = {
        "h2d": lambda i: device[i].copy_(pinned[i], non_blocking=True),
        "d2h": lambda i: pinned[i].copy_(device[i], non_blocking=True),
        "compute": lambda i: [torch.mm(a, a) for _ in range(2)],
    }

    def together(*names):
        for i, name in enumerate(names):
            with torch.cuda.stream(streams[i]):
                work[name](i)

    for names in (("h2d",), ("d2h",), ("compute",), ("h2d", "d2h"), ("h2d", "h2d"), ("d2h", "d2h"), ("h2d", "compute"), ("d2h", "compute"), ("compute", "compute")):
        yield {"work": names, "nanos": host(lambda: together(*names), 7)}


ATTRIBUTES = {
    "async_engines": 40, "threads_per_sm": 39, "sm_count": 16, "l2": 38, "clock_khz": 13, "memory_clock_khz": 36,
    "bus_bits": 37, "major": 75, "minor": 76, "pageable_access": 88, "host_register": 99, "stream_priorities": 78,
}


def attributes():
    out = {}
    for name, number in ATTRIBUTES.items():
        value = ctypes.c_int()
        cuda.cuDeviceGetAttribute(ctypes.byref(value), number, 0)
        out[name] = value.value
    return out


def main():
    torch.cuda.init()
    torch.zeros(1, device="cuda")
    free, total = torch.cuda.mem_get_info()
    driver = ctypes.c_int()
    cuda.cuDriverGetVersion(ctypes.byref(driver))
    out = {"device": torch.cuda.get_device_name(), "total_memory": total, "torch": torch.__version__}
    out |= {"cuda": torch.version.cuda, "driver_cuda": driver.value, "attributes": attributes()}
    out["launching"] = launching()
    print(out["launching"])
    out["memory"], out["overlap"], out["held"] = list(memory()), list(overlap()), list(held())
    out["kernels"] = list(products())
    for n in (1 << 10, 1 << 16, 1 << 20, 1 << 24, 1 << 28):
        out["kernels"] += streaming(n)
        torch.cuda.empty_cache()
    # Twice: a copy may be held up for longer than its repeats take, and no copy is faster than the link.
    out["transfers"] = list(transfers())
    for first, second in zip(out["transfers"], transfers()):
        first["again"] = second["device" if first["pinned"] else "host"]
    with open(sys.argv[1], "w") as file:
        json.dump(out, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
