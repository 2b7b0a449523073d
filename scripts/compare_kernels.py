"""Times the cases of `benches/products.rs` in PyTorch and in this crate, and prints them side by side.

Usage: compare_kernels.py [--one] BENCH_EXECUTABLE [FILTER...]

With `--one` both sides use one thread and count its processor time, which a busy machine disturbs less.

Each case is run on both sides right after another, so that a busy machine slows both. Times are the least of
half a second of runs, in microseconds; the last column is our time over PyTorch's.
"""

import os
import subprocess
import sys
import time

import torch


clock = time.perf_counter


def least(work, seconds=0.5):
    work()
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        start = clock()
        work()
        times.append(clock() - start)
    return min(times) * 1e6


def values(*shape, dtype=torch.float32):
    return (torch.rand(*shape) - 0.5).to(dtype)


def cases():
    sizes = [
        (64, 64, 64), (128, 64, 256), (64, 128, 256), (128, 256, 10), (256, 256, 256), (512, 512, 512),
        (1024, 1024, 1024), (2048, 2048, 2048), (1, 1024, 1024), (4, 1024, 1024), (16, 1024, 1024),
        (1024, 1024, 1), (1024, 1024, 4), (2048, 32, 2048), (32, 8192, 32),
    ]
    for m, k, n in sizes:
        for form in ("nn", "nt", "tn"):
            a = values(k, m).t() if form[0] == "t" else values(m, k)
            b = values(n, k).t() if form[1] == "t" else values(k, n)
            y = torch.empty(m, n)
            yield f"matmul {m}x{k}x{n} {form}", lambda a=a, b=b, y=y: torch.mm(a, b, out=y)
    for dtype in (torch.float64, torch.bfloat16, torch.float16):
        for size in (256, 1024):
            a, b, y = (values(size, size, dtype=dtype) for _ in range(3))
            name = str(dtype).removeprefix("torch.")
            yield f"matmul {size} {name}", lambda a=a, b=b, y=y: torch.mm(a, b, out=y)
    for batch, m, k, n in [(64, 128, 32, 128), (512, 16, 16, 16), (8, 512, 64, 512)]:
        a, b, y = values(batch, m, k), values(batch, k, n), values(batch, m, n)
        yield f"bmm {batch}x{m}x{k}x{n}", lambda a=a, b=b, y=y: torch.bmm(a, b, out=y)
    yield from convolutions()
    yield from others()


def convolutions():
    sizes = [
        (32, 32, 64, 28, 3, 1, 1, 1), (32, 1, 32, 28, 3, 1, 1, 1), (8, 64, 64, 56, 3, 1, 1, 1),
        (8, 256, 256, 14, 3, 1, 1, 1), (8, 512, 512, 7, 3, 1, 1, 1), (8, 64, 128, 56, 3, 2, 1, 1),
        (8, 3, 64, 224, 7, 2, 3, 1), (8, 256, 64, 56, 1, 1, 0, 1), (8, 64, 64, 56, 3, 1, 1, 64),
        (1, 64, 64, 112, 3, 1, 1, 1),
    ]
    for n, c, o, size, k, stride, padding, groups in sizes:
        x, w, b = values(n, c, size, size), values(o, c // groups, k, k), values(o)
        geometry = ([stride] * 2, [padding] * 2, [1, 1], False, [0, 0], groups)
        y = torch.nn.functional.conv2d(x, w, b, stride, padding, 1, groups)
        dy = values(*y.shape)

        def backward(mask, dy=dy, x=x, w=w, geometry=geometry):
            return torch.ops.aten.convolution_backward(dy, x, w, None, *geometry, mask)

        def forward(x=x, w=w, b=b, stride=stride, padding=padding, groups=groups):
            return torch.nn.functional.conv2d(x, w, b, stride, padding, 1, groups)

        name = f"{c}>{o} {k}x{k}/{stride} {n}x{size}x{size} g{groups}"
        yield f"conv y {name}", forward
        yield f"conv dx {name}", lambda backward=backward: backward([True, False, False])
        yield f"conv dw {name}", lambda backward=backward: backward([False, True, False])


def others():
    image = values(32, 64, 28, 28)
    pool = torch.ops.aten.max_pool2d_with_indices
    small, places = pool(image, [2, 2], [2, 2])
    yield "max_pool 2x2 32x64x28x28", lambda: pool(image, [2, 2], [2, 2])
    back = torch.ops.aten.max_pool2d_with_indices_backward
    yield "max_pool 2x2 32x64x28x28 dx", lambda: back(
        small, image, [2, 2], [2, 2], [0, 0], [1, 1], False, places
    )
    yield "avg_pool 2x2 32x64x28x28", lambda: torch.ops.aten.avg_pool2d(image, [2, 2], [2, 2])
    yield "avg_pool 2x2 32x64x28x28 dx", lambda: torch.ops.aten.avg_pool2d_backward(
        small, image, [2, 2], [2, 2], [0, 0], False, True, None
    )
    x, w, b = values(4096, 768), values(768), values(768)
    norm = torch.ops.aten.native_layer_norm
    y, mean, rstd = norm(x, [768], w, b, 1e-5)
    yield "layer_norm 4096x768", lambda: norm(x, [768], w, b, 1e-5)
    yield "layer_norm 4096x768 dx dw db", lambda: torch.ops.aten.native_layer_norm_backward(
        y, x, [768], mean, rstd, w, b, [True, True, True]
    )
    table, rows = values(10_000, 256), values(16_384, 256)
    index = torch.arange(16_384) * 7919 % 10
    yield "index_select 16384x256", lambda: torch.index_select(table, 0, index)
    yield "index_add 16384x256", lambda: table.index_add_(0, index, rows)
    p, g, m, v = (values(1 << 20) for _ in range(4))
    yield "sort 1M", lambda: torch.sort(p, stable=True)
    yield "cumsum 1M", lambda: torch.cumsum(p, 0)
    parameter = torch.nn.Parameter(p.clone())
    parameter.grad = g
    for name, optimiser in (
        ("sgd momentum 1M", torch.optim.SGD([parameter], 1e-6, momentum=0.9)),
        ("adam 1M", torch.optim.Adam([parameter], 1e-6)),
    ):
        yield name, optimiser.step
    yield "rand 1M", lambda: p.uniform_()
    yield "randn 1M", lambda: p.normal_()
    yield "bernoulli 1M", lambda: p.bernoulli_(0.5)
    yield "randperm 1M", lambda: torch.randperm(1 << 20)


def main():
    global clock
    arguments = sys.argv[1:]
    environment = dict(os.environ)
    if "--one" in arguments:
        arguments.remove("--one")
        torch.set_num_threads(1)
        environment["RAYON_NUM_THREADS"] = "1"
        clock = time.thread_time
    bench, *filters = arguments
    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads")
    print(f"{'case':40} {'PyTorch µs':>12} {'ours µs':>12} {'ratio':>6}")
    for name, work in cases():
        if filters and not any(f in name for f in filters):
            continue
        line = subprocess.run([bench, name], capture_output=True, text=True, check=True, env=environment).stdout
        ours = [x for x in line.splitlines() if x[:40].strip() == name]
        theirs = least(work)
        if ours:
            mine = float(ours[0][40:].split()[0])
            print(f"{name:40} {theirs:12.1f} {mine:12.1f} {mine / theirs:6.2f}", flush=True)


if __name__ == "__main__":
    main()
