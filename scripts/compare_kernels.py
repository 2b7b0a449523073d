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
