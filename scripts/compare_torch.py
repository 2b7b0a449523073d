#!/usr/bin/env python3
"""Times the engine and PyTorch on the same work, in turns, and prints both with their ratio.

    scripts/compare_torch.py [--rounds N] [--write] [--build-only] [--curves | --families [--threads N] | --peaks] [CASE ...]

CASE picks the cases whose names contain it. `--curves` times some functions over sizes from 1 K to 64 M elements,
`--families` times what lies in `compare_torch_cases.py`, on N threads on both sides where that is given, and
`--peaks` takes the peak memory of a process for each case. `--write` puts the table into docs/performance.md. Where PyTorch is not
installed (`pip install torch`, version 2.15 for the figures there) only our own times are printed.

Both sides run on the CPU with their own default number of threads. The cases are those of `benches/engine.rs`; a
ratio is our time over PyTorch's. Each round times ours, then PyTorch's, so that a busy machine slows both.
"""

import argparse
import datetime
import json
import math
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import compare_torch_cases

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "performance.md"
# Seconds that one sample should take, about, and samples in a round.
SAMPLE, SAMPLES = 0.05, 5
# The ratio that is aimed at, where there is one.
AIMS = {
    "x + y, 4 elements": 0.50,
    "x + y, 4 elements, tracked": 0.50,
    "matmul 256": 1.05,
    "matmul 512": 1.05,
    "matmul 1024": 1.05,
    "matmul 2048": 1.05,
    "bf16 matmul 1024": 1.5,
    "bf16 matmul 2048": 1.5,
    "add 16M": 1.0,
    "exp 16M": 1.0,
    "relu 16M": 1.0,
    "gelu 16M": 1.0,
    "softmax rows 16M": 1.0,
    "clone 16M": 1.0,
    "sum 16M": 1.0,
    "sum columns 16M": 1.0,
    "transpose 16M": 1.0,
    "conv forward": 1.1,
    "conv forward and backward": 1.1,
    "training step 64-256-10, SGD": 0.40,
    "training step 64-256-10, Adam": 0.40,
    "digits CNN epoch": 0.70,
}
# Functions by size: what is set up for N elements (W to a row), and what is timed, in either language.
CURVES = {
    "add": ("let a = rand([N]); let b = rand([N]);", "a + b", "a, b = rand(N), rand(N)", "a + b"),
    "exp": ("let a = rand([N]);", "a.exp()", "a = rand(N)", "a.exp()"),
    "sum": ("let a = rand([N]);", "a.sum()", "a = rand(N)", "a.sum()"),
    "sum(0)": ("let a = rand([N / W, W]);", "a.sum(0)", "a = rand(N // W, W)", "a.sum(0)"),
    "softmax(-1)": ("let a = rand([N / W, W]);", "a.softmax(-1)", "a = rand(N // W, W)", "a.softmax(-1)"),
    "T.contiguous()": ("let a = rand([N / W, W]);", "a.T.contiguous()", "a = rand(N // W, W)", "a.T.contiguous()"),
    "cumsum": ("let a = rand([N]);", "a.cumsum(0)", "a = rand(N)", "a.cumsum(0)"),
    "sort": ("let a = rand([N]);", "a.sort()", "a = rand(N)", "a.sort()"),
    "a[i]": ("let a = rand([N]); let i = randperm(N);", "a[i]", "a, i = rand(N), randperm(N)", "a[i]"),
    "a > 0.5": ("let a = rand([N]);", "a > 0.5", "a = rand(N)", "a > 0.5"),
}
SIZES = [2**10, 2**14, 2**18, 2**22, 2**26]
# What takes seconds at the largest size.
SLOW = ["sort", "a[i]"]
WIDE = 64


def torch_cases(torch):
    """The cases by name: each sets itself up and gives a function that runs so many rounds."""

    def repeated(work):
        def run(rounds):
            for _ in range(rounds):
                work()

        return run

    def small():
        x, y = torch.rand(4), torch.rand(4)

        def run(rounds):
            for _ in range(rounds):
                z = x + y  # noqa: F841

        return run

    def product(*shape, turned=False):
        def make():
            a, b = torch.rand(*shape[0]), torch.rand(*shape[1])
            a = a.T if turned else a
            return repeated(lambda: a @ b)

        return make

    def square(n, turned=False):
        return product((n, n), (n, n), turned=turned)

    def tracked():
        x, y = torch.rand(4, requires_grad=True), torch.rand(4)

        def run(rounds):
            for _ in range(rounds):
                z = x + y  # noqa: F841

        return run

    def lower(n):
        def make():
            a, b = torch.rand(n, n).bfloat16(), torch.rand(n, n).bfloat16()
            return repeated(lambda: a @ b)

        return make

    def rows(work):
        def make():
            a = torch.rand(16 * 1024 * 1024).reshape(4096, 4096)
            return repeated(lambda: work(a))

        return make

    def conv(backward):
        def make():
            torch.manual_seed(0)
            layer, x = torch.nn.Conv2d(32, 64, 3, padding=1), torch.rand(32, 32, 28, 28)

            def both():
                layer.zero_grad()
                layer(x).sum().backward()

            return repeated(both if backward else lambda: layer(x))

        return make

    def epoch():
        torch.manual_seed(0)
        data = torch.utils.data.TensorDataset(torch.rand(1437, 1, 8, 8), torch.randint(0, 10, (1437,)))
        loader = torch.utils.data.DataLoader(data, batch_size=32, shuffle=True)
        layers = [torch.nn.Conv2d(1, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(16, 32, 3, padding=1)]
        layers += [torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(512, 10)]
        net = torch.nn.Sequential(*layers)
        opt = torch.optim.Adam(net.parameters(), lr=0.001)

        def once():
            for x, y in loader:
                opt.zero_grad()
                loss = torch.nn.functional.cross_entropy(net(x), y)
                loss.backward()
                opt.step()

        return repeated(once)

    def large(work):
        def make():
            a, b = torch.rand(16 * 1024 * 1024), torch.rand(16 * 1024 * 1024)
            return repeated(lambda: work(a, b))

        return make

    def step(make_optimizer):
        def make():
            torch.manual_seed(0)
            net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
            opt = make_optimizer(net.parameters())
            x, y = torch.rand(128, 64), torch.randint(0, 10, (128,))

            def once():
                opt.zero_grad()
                loss = torch.nn.functional.cross_entropy(net(x), y)
                loss.backward()
                opt.step()

            return repeated(once)

        return make

    sgd = step(lambda p: torch.optim.SGD(p, lr=0.1))
    return {
        "x + y, 4 elements": small,
        "x + y, 4 elements, tracked": tracked,
        "matmul 256": square(256),
        "matmul 512": square(512),
        "matmul 1024": square(1024),
        "matmul 1024 transposed": square(1024, turned=True),
        "matmul 2048": square(2048),
        "matmul 64 x 128x64x128": product((64, 128, 64), (64, 64, 128)),
        "bf16 matmul 1024": lower(1024),
        "bf16 matmul 2048": lower(2048),
        "add 16M": large(lambda a, b: a + b),
        "exp 16M": large(lambda a, b: a.exp()),
        "relu 16M": large(lambda a, b: a.relu()),
        "gelu 16M": large(lambda a, b: torch.nn.functional.gelu(a)),
        "softmax rows 16M": rows(lambda a: a.softmax(-1)),
        "clone 16M": large(lambda a, b: a.clone()),
        "sum 16M": large(lambda a, b: a.sum()),
        "sum columns 16M": rows(lambda a: a.sum(0)),
        "transpose 16M": rows(lambda a: a.T.contiguous()),
        "conv forward": conv(False),
        "conv forward and backward": conv(True),
        "digits CNN epoch": epoch,
        "training step 64-256-10, SGD": sgd,
        "training step 64-256-10, SGD, events heard": sgd,
        "training step 64-256-10, Adam": step(lambda p: torch.optim.Adam(p, lr=0.001)),
    }


def sampled(run):
    """The median time of a round in microseconds."""

    def sample(rounds):
        start = time.perf_counter()
        run(rounds)
        return (time.perf_counter() - start) / rounds

    sample(1)
    rounds = min(1_000_000, max(3, math.ceil(SAMPLE / max(sample(2), 1e-9))))
    sample(rounds)
    return statistics.median(sample(rounds) for _ in range(SAMPLES)) * 1e6


def build():
    """The benchmark and the program, built."""
    subprocess.run(["cargo", "build", "--release"], cwd=ROOT, check=True)
    command = ["cargo", "bench", "--bench", "engine", "--no-run", "--message-format=json"]
    out = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    messages = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    found = [m["executable"] for m in messages if m.get("target", {}).get("name") == "engine" and m.get("executable")]
    metadata = ["cargo", "metadata", "--no-deps", "--format-version", "1"]
    target = json.loads(subprocess.run(metadata, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)["target_directory"]
    return found[-1], str(Path(target) / "release" / "tensorlab")


def ours(bench, *case):
    out = subprocess.run([bench, "--json", "--samples", str(SAMPLES), *case], check=True, stdout=subprocess.PIPE).stdout
    return json.loads(out)["cases"][0]["median_us"]


def started(command):
    """Milliseconds from start to end of a process."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return (time.perf_counter() - start) * 1e3


def start_rows(program, python, rounds):
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "one.rhai"
        script.write_text('print(tensor([1, 2]) + 1)\n')
        mine, theirs = [], []
        for _ in range(max(5, rounds)):
            mine.append(started([program, "run", "--devices", "cpu", str(script)]))
            if python:
                theirs.append(started([python, "-c", "import torch; print(torch.tensor([1, 2]) + 1)"]))
    middle = lambda times: statistics.median(times) if times else None  # noqa: E731
    return [("a one-line script, start to end", middle(theirs), middle(mine), "ms", None)]


def shown(value, unit):
    if value is None:
        return "-"
    if unit != "us":
        return f"{value:.1f} {unit}"
    if value < 10:
        return f"{value * 1e3:.0f} ns"
    return f"{value:.1f} µs" if value < 1000 else f"{value / 1e3:.2f} ms"


def table(rows):
    lines = ["| case | PyTorch | tensorlab | ratio | aim |", "|---|---:|---:|---:|---:|"]
    for name, theirs, mine, unit, aim in rows:
        ratio = f"{mine / theirs:.2f}" if theirs else "-"
        aimed = f"≤ {aim:.2f}" if aim else ""
        lines.append(f"| {name} | {shown(theirs, unit)} | {shown(mine, unit)} | {ratio} | {aimed} |")
    return "\n".join(lines)


def side_by_side(bench, rounds, script, work):
    """Median times of a script's set-up and expression, and of a function of PyTorch's, in turns."""

    def run(count):
        for _ in range(count):
            work()

    mine, theirs = [], []
    for _ in range(rounds):
        mine.append(ours(bench, "--script", script[0], f"let c = {script[1]};"))
        theirs.append(sampled(run))
    return statistics.median(mine), statistics.median(theirs)


def curves(bench, torch, rounds, wanted):
    """A table of times by size; each cell is ours, PyTorch's, and the ratio."""
    sizes = " | ".join(f"{n // 2**20} M" if n >= 2**20 else f"{n // 2**10} K" for n in SIZES)
    lines = [f"| function | {sizes} |", "|---|" + "---:|" * len(SIZES)]
    for name, (setup, body, torch_setup, torch_body) in CURVES.items():
        if wanted and not any(w in name for w in wanted):
            continue
        cells = []
        for n in SIZES:
            if n == SIZES[-1] and name in SLOW:
                cells.append("")
                continue
            sized = setup.replace("N", str(n)).replace("W", str(WIDE))
            names = {"rand": torch.rand, "randperm": torch.randperm, "N": n, "W": WIDE}
            exec(torch_setup, names)
            m, t = side_by_side(bench, rounds, (sized, body), eval(f"lambda: {torch_body}", names))
            cells.append(f"{shown(m, 'us')}, {shown(t, 'us')}: {m / t:.2f}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def families(bench, torch, rounds, wanted):
    """A table of common work by family, at two sizes; each cell is ours, PyTorch's, and the ratio."""
    lines = ["| family | work | smaller | larger |", "|---|---|---:|---:|"]
    ratios = []
    for case in compare_torch_cases.CASES:
        if wanted and not any(w in f"{case.family} {case.name}" for w in wanted):
            continue
        cells = []
        for n in case.sizes:
            sized = lambda text: re.sub(r"\bN\b", str(n), text)  # noqa: E731
            names = {**vars(torch), "F": torch.nn.functional, "nn": torch.nn}
            torch.manual_seed(0)
            exec(sized(case.torch_setup), names)
            work = eval(f"lambda: {sized(case.torch_body)}", names)
            m, t = side_by_side(bench, rounds, (sized(case.setup), sized(case.body)), work)
            ratios.append(m / t)
            cells.append(f"{n}: {shown(m, 'us')}, {shown(t, 'us')}: {m / t:.2f}")
        lines.append(f"| {case.family} | {case.name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    slower = sum(ratio > 1 for ratio in ratios)
    mean, middle = statistics.geometric_mean(ratios), statistics.median(ratios)
    counts = f"{len(ratios)} cells, {slower} over 1"
    lines.append(f"\n{counts}; of the ratios the geometric mean is {mean:.2f}, the median {middle:.2f}.")
    return "\n".join(lines)


def peak(command):
    """The most memory that a process had in use, in MiB; never less than this one's, which starts it as its copy."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"{command} failed")
    return used.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def peaks(bench, names):
    """A table of peak memory; what a process takes that does nothing is in the first line.

    PyTorch is not imported here, see `peak`.
    """
    idle = [bench, "--json", "--samples", "1", "--script", "let a = 1;", "let b = a;"]
    rows = [("nothing", peak([sys.executable, "-c", "import torch"]), peak(idle), "MiB", 1.0)]
    for name in names:
        theirs = peak([sys.executable, __file__, "--one", name])
        rows.append((name, theirs, peak([bench, "--json", "--samples", str(SAMPLES), name]), "MiB", 1.0))
        print(table(rows[-1:]).splitlines()[-1], flush=True)
    return table(rows)


def processor():
    try:
        model = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
        return model.group(1) if model else platform.processor()
    except OSError:
        return platform.processor() or platform.machine()


def write(kind, text):
    begin, end = f"<!-- {kind} -->", f"<!-- /{kind} -->"
    page = PAGE.read_text()
    before, rest = page.split(begin)
    after = rest.split(end)[1]
    PAGE.write_text(f"{before}{begin}\n{text}\n{end}{after}")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("cases", nargs="*")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--write", action="store_true")
    options.add_argument("--build-only", action="store_true")
    options.add_argument("--curves", action="store_true")
    options.add_argument("--families", action="store_true")
    options.add_argument("--threads", type=int)
    options.add_argument("--peaks", action="store_true")
    options.add_argument("--one", help=argparse.SUPPRESS)
    options = options.parse_args()
    if options.one:
        import torch

        print(sampled(torch_cases(torch)[options.one]()))
        return
    bench, program = build()
    if options.build_only:
        return
    listed = subprocess.run([bench, "--list"], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    listed = [name for name in listed if not options.cases or any(c in name for c in options.cases)]
    today = datetime.date.today().isoformat()
    if options.peaks:
        text = f"{processor()}, {platform.system()}; {today}.\n\n{peaks(bench, listed)}"
        print(f"\n{text}")
        if options.write:
            write("peaks", text)
        return
    try:
        import torch

        if options.threads:
            torch.set_num_threads(options.threads)
            os.environ["RAYON_NUM_THREADS"] = str(options.threads)
        theirs = torch_cases(torch)
        version = f"PyTorch {torch.__version__} with {torch.get_num_threads()} threads"
    except ImportError:
        theirs, version = {}, "PyTorch is not installed here: only our own times"
    heading = f"{processor()}, {os.cpu_count()} cores, {platform.system()}; {version}; {today}"
    if options.curves:
        if not theirs:
            sys.exit("--curves needs PyTorch")
        text = f"{heading}; {options.rounds} rounds.\n\n{curves(bench, torch, options.rounds, options.cases)}"
        print(f"\n{text}")
        if options.write:
            write("curves", text)
        return
    if options.families:
        if not theirs:
            sys.exit("--families needs PyTorch")
        text = f"{heading}; {options.rounds} rounds.\n\n{families(bench, torch, options.rounds, options.cases)}"
        print(f"\n{text.splitlines()[-1]}")
        if options.write:
            write("families on one core" if options.threads == 1 else "families", text)
        return
    rows = []
    for name in listed:
        mine, other = [], []
        run = theirs[name]() if name in theirs else None
        for _ in range(options.rounds):
            mine.append(ours(bench, name))
            if run:
                other.append(sampled(run))
        run = None
        rows.append((name, statistics.median(other) if other else None, statistics.median(mine), "us", AIMS.get(name)))
        print(table(rows[-1:]).splitlines()[-1], flush=True)
    if not options.cases or any("start" in c for c in options.cases):
        rows += start_rows(program, sys.executable if theirs else None, options.rounds)
    text = f"{heading}; {options.rounds} rounds.\n\n{table(rows)}"
    print(f"\n{text}")
    if options.write:
        write("measured", text)


if __name__ == "__main__":
    main()
