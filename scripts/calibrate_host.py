"""Makes a host profile of this computer, and says how near it comes: `tensorlab --devices sim:t4 --host PROFILE.toml`.

Usage: calibrate_host.py TENSORLAB PROFILE.toml [BASE.toml] [RECORD.json]

TENSORLAB is the program, as built for release. It runs a script of kernels on the CPU, once on all cores and once on one;
the profile's figures of the CPU and the script are fitted to that. The figures of the driver, of page-locking and of
the link need a GPU: they are kept from BASE.toml (the built-in `notebook`) with their sources. Then the same work runs
beside a simulated GPU under the profile, and the table shows by class how far its times are from the measured ones.
"""

import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tomllib

HERE = pathlib.Path(__file__).parent

# What the cores are asked for, kernel by kernel.
WORK = r"""
let rows = [];

// What it takes to call a closure and to look at the clock, and beside GPUs to wait for those.
let idle = timeit(|| 0, #{ warmup: 2, repeat: 400 }).min_ms;

// The best of many runs: what others do on the computer at the same time is not its own.
let took = |body, idle| {
    let first = time(body);
    if first.clock == "modelled" {
        return timeit(body).min_ms - idle;
    }
    let once = first.min_ms;
    let repeat = if once < 0.05 { 400 } else if once < 1.0 { 60 } else if once < 20.0 { 12 } else { 4 };
    timeit(body, #{ warmup: 2, repeat: repeat }).min_ms - idle
};

with no_grad() {
    // Elementwise and copies: three passes over n elements of four bytes, or two.
    for n in [1, 1024, 16384, 65536, 262144, 1048576, 4194304, 16777216] {
        let a = rand(n);
        let b = rand(n);
        let out = empty(n);
        rows.push(#{ name: "add", class: "elementwise", rate: "fp32", flops: n, bytes: 12 * n, ms: took.call(|| a + b, idle) });
        rows.push(#{ name: "exp", class: "elementwise", rate: "fp32", flops: n, bytes: 8 * n, ms: took.call(|| a.exp(), idle) });
        rows.push(#{ name: "clone", class: "copy", rate: "fp32", flops: n, bytes: 8 * n, ms: took.call(|| a.clone(), idle) });
        rows.push(#{ name: "fill", class: "copy", rate: "fp32", flops: n, bytes: 4 * n, ms: took.call(|| out.fill_(1.0), idle) });
        rows.push(#{ name: "sum", class: "reduction", rate: "fp32", flops: n, bytes: 4 * n, ms: took.call(|| a.sum(), idle) });
        if n <= 4194304 {
            rows.push(#{ name: "rand", class: "random", rate: "int", flops: 24 * n, bytes: 4 * n, ms: took.call(|| rand(n), idle) });
        }
    }
    for rows_of in [1, 16, 64, 256, 1024, 4096] {
        let n = rows_of * 1024;
        let a = rand([rows_of, 1024]);
        let index = randint(0, rows_of, [rows_of]);
        rows.push(#{ name: "softmax", class: "normalise", rate: "fp32", flops: 4 * n, bytes: 8 * n, ms: took.call(|| a.softmax(-1), idle) });
        rows.push(#{ name: "layer_norm", class: "normalise", rate: "fp32", flops: 8 * n, bytes: 8 * n, ms: took.call(|| F::layer_norm(a, [1024]), idle) });
        rows.push(#{ name: "sum(0)", class: "reduction", rate: "fp32", flops: n, bytes: 4 * n, ms: took.call(|| a.sum(0), idle) });
        rows.push(#{ name: "sum(1)", class: "reduction", rate: "fp32", flops: n, bytes: 4 * n, ms: took.call(|| a.sum(1), idle) });
        rows.push(#{ name: "rows", class: "gather_scatter", rate: "fp32", flops: n, bytes: 8 * n + 8 * rows_of, ms: took.call(|| a.index_select(0, index), idle) });
        let places = randint(0, 1024, [rows_of, 1024]);
        rows.push(#{ name: "gather", class: "gather_elements", rate: "fp32", flops: n, bytes: 16 * n, ms: took.call(|| a.gather(1, places), idle) });
    }
    for n in [16, 64, 128, 256, 512, 1024] {
        let a = rand([n, n]);
        rows.push(#{ name: "matmul", class: "matmul", rate: "fp32", flops: 2 * n * n * n, bytes: 12 * n * n, ms: took.call(|| a @ a, idle) });
        let d = a.double();
        rows.push(#{ name: "matmul double", class: "matmul", rate: "fp64", flops: 2 * n * n * n, bytes: 24 * n * n, ms: took.call(|| d @ d, idle) });
        let h = a.bfloat16();
        rows.push(#{ name: "matmul bfloat16", class: "matmul", rate: "bf16", flops: 2 * n * n * n, bytes: 6 * n * n, ms: took.call(|| h @ h, idle) });
    }
    for sizes in [[1, 1, 8, 28], [16, 8, 16, 28], [64, 16, 32, 14], [32, 32, 64, 28], [8, 64, 64, 56]] {
        let x = rand([sizes[0], sizes[1], sizes[3], sizes[3]]);
        let w = rand([sizes[2], sizes[1], 3, 3]);
        let out = sizes[0] * sizes[2] * sizes[3] * sizes[3];
        let flops = 2 * out * sizes[1] * 9;
        let bytes = 4 * (x.numel() + w.numel() + out);
        rows.push(#{ name: "conv2d", class: "convolution", rate: "fp32", flops: flops, bytes: bytes, ms: took.call(|| F::conv2d(x, w, (), 1, 1), idle) });
    }
}

// What a step of the script takes: the clock of a simulated machine says how many these are.
let steps = took.call(|| {
    let sum = 0;
    for i in 0..20000 {
        sum += i * 2;
    }
}, idle);

#{ rows: rows, loop_ms: steps }
"""
CLASSES = ("matmul", "convolution", "elementwise", "reduction", "normalise", "gather_scatter", "random", "copy", "gather_elements")
MIB = 1 << 20


def run(program, arguments, core=None):
    """What the work took, as the script tells it; on one core where one is named."""
    limit = (lambda: os.sched_setaffinity(0, {core})) if core is not None else None
    command = [program, "run", "-", "--json", *arguments]
    done = subprocess.run(command, input=WORK, capture_output=True, text=True, check=True, preexec_fn=limit)
    return json.loads(done.stdout.splitlines()[-1])


def best(program, core=None, times=3):
    """The best of several runs, row by row."""
    runs = [run(program, ["--devices", "cpu"], core) for _ in range(times)]
    rows = [min(same, key=lambda row: row["ms"]) for same in zip(*(r["rows"] for r in runs))]
    return {"rows": rows, "loop_ms": min(r["loop_ms"] for r in runs)}


def nanos(row):
    return row["ms"] * 1e6


def predicted(figures, row, cores):
    """The formula of `src/device/sim/cores.rs`, in nanoseconds."""
    part = figures["efficiency"][row["class"]]
    arithmetic = figures["arithmetic"].get(row["class"], part)
    rate = {"fp64": "fp64", "fp32": "fp32", "bf16": "half", "fp16": "half", "int": "int"}[row["rate"]]

    def body(cores):
        if row["bytes"] <= figures["cache"]:
            bandwidth = figures["cache_bandwidth"] * cores
        else:
            bandwidth = min(figures["bandwidth_core"] * cores, figures["bandwidth"])
        return max(row["flops"] / (figures["peak"][rate] * arithmetic * cores), row["bytes"] / (bandwidth * part))

    alone = body(1)
    if row["class"] == "random":
        # The host's generator gives one number after another.
        cores = 1
    return figures["dispatch"][row["class"]] + (min(alone, body(cores) + figures["spread"]) if cores > 1 else alone)


def off(figures, rows, cores):
    """By how much the predictions are off in the middle: the median of the logarithms' distances."""
    return statistics.median(abs(math.log(predicted(figures, row, cores) / nanos(row))) for row in rows)


def fit(every, one, cores):
    """Figures in bytes and operations per nanosecond, and nanoseconds."""
    figures = {"efficiency": dict.fromkeys(CLASSES, 1.0), "arithmetic": {}, "dispatch": {}, "peak": {}}
    for kind in CLASSES:
        figures["dispatch"][kind] = min(nanos(row) for row in one["rows"] if row["class"] == kind)
    # The smallest convolution and the smallest product have arithmetic in them.
    plain = statistics.median(figures["dispatch"][kind] for kind in ("elementwise", "copy", "reduction"))
    for kind in ("convolution", "matmul"):
        figures["dispatch"][kind] = min(figures["dispatch"][kind], 2 * plain)

    def fastest(rows, name, amount):
        return max(row[amount] / (nanos(row) - figures["dispatch"][row["class"]] * 0.9) for row in rows if row["name"] == name and row["flops"] > 4096)

    for rate, name in (("fp32", "matmul"), ("fp64", "matmul double"), ("half", "matmul bfloat16")):
        figures["peak"][rate] = fastest(one["rows"], name, "flops")
    figures["peak"]["int"] = figures["peak"]["fp64"]
    streams = [row for row in one["rows"] if row["name"] in ("add", "clone", "fill", "sum")]
    large = [row for row in streams if row["bytes"] >= 32 * MIB]
    figures["bandwidth_core"] = max(row["bytes"] / nanos(row) for row in large)
    everywhere = [row for row in every["rows"] if row["name"] in ("add", "clone", "fill", "sum") and row["bytes"] >= 32 * MIB]
    figures["bandwidth"] = max(max(row["bytes"] / nanos(row) for row in everywhere), figures["bandwidth_core"])
    small = [row for row in streams if 1 << 15 <= row["bytes"] <= MIB]
    figures["cache_bandwidth"] = max(row["bytes"] / (nanos(row) - figures["dispatch"][row["class"]] * 0.9) for row in small)
    figures["spread"], figures["cache"] = 2000.0, MIB
    parts = [1.1**-step for step in range(30)]
    # A class whose time goes by its elements and not by its bytes is bound by arithmetic.
    by_element = ("random", "normalise", "elementwise", "gather_scatter", "gather_elements")
    both = lambda kind: [(row, 1) for row in one["rows"] if row["class"] == kind] + [
        (row, cores) for row in every["rows"] if row["class"] == kind
    ]

    def error(kind):
        return statistics.median(abs(math.log(predicted(figures, row, n) / nanos(row))) for row, n in both(kind))

    for _ in range(3):
        for kind in CLASSES:
            tried = []
            for part in parts:
                figures["efficiency"][kind] = part
                for arithmetic in [1.3**-step for step in range(28)] if kind in by_element else [part]:
                    figures["arithmetic"][kind] = arithmetic
                    tried.append((error(kind), part, arithmetic))
            _, figures["efficiency"][kind], figures["arithmetic"][kind] = min(tried)
        for key, values in (
            ("cache", [MIB * 2**step for step in range(-2, 7)]),
            ("spread", [250.0 * 1.4**step for step in range(16)]),
        ):
            tried = []
            for value in values:
                figures[key] = value
                tried.append((sum(error(kind) for kind in CLASSES), value))
            figures[key] = min(tried)[1]
    return figures


def steps_of(program, profile):
    """How many steps the script's loop has: its time on a clock on which a step takes a microsecond."""
    text = re.sub(r"(?m)^step = .*$", 'step = { value = 1, unit = "us", source = "assumed: to count" }', profile.read_text())
    counting = profile.with_suffix(".counting.toml")
    counting.write_text(text)
    try:
        return run(program, ["--devices", "sim:t4", "--host", str(counting)])["loop_ms"] * 1e3
    finally:
        counting.unlink()


def written(base, figures, name, step):
    """The profile as text, in the form of the built-in ones."""
    how = f"measured on {name} by scripts/calibrate_host.py"
    kept = lambda section: "\n".join(
        f"{key} = {{ value = {row['value']}, " + (f'unit = "{row["unit"]}", ' if "unit" in row else "") + f'source = "{row["source"]}" }}'
        for key, row in base[section].items()
    )
    short = lambda value: f"{float(format(value, '.3g')):g}"
    figure = lambda key, value, unit, note: f'{key} = {{ value = {short(value)}, unit = "{unit}", source = "{how}: {note}" }}'
    part = lambda key: f'{key} = {{ value = {short(figures["efficiency"][key])}, source = "{how}: what fits its kernels" }}'
    plain = statistics.median(figures["dispatch"].values())
    return "\n".join(
        [
            'id = "measured-host"',
            f'name = "{name[:60]}"',
            'summary = "made by scripts/calibrate_host.py"',
            "",
            "[cpu]",
            f'cores = {{ value = {os.cpu_count()}, source = "{how}: what the system says" }}',
            figure("dispatch", plain / 1e3, "us", "the median of the classes"),
            figure("spread", figures["spread"] / 1e3, "us", "what fits kernels of middling size"),
            figure("bandwidth_core", figures["bandwidth_core"], "GB/s", "the fastest large kernel on one core"),
            figure("bandwidth", figures["bandwidth"], "GB/s", "the fastest large kernel on all cores"),
            figure("cache", figures["cache"] / MIB, "MiB", "what fits kernels of middling size"),
            figure("cache_bandwidth", figures["cache_bandwidth"], "GB/s", "the fastest small kernel on one core"),
            "",
            "[peak]",
            figure("fp64", figures["peak"]["fp64"], "GFLOP/s", "the fastest product on one core"),
            figure("fp32", figures["peak"]["fp32"], "GFLOP/s", "the fastest product on one core"),
            figure("half", figures["peak"]["half"], "GFLOP/s", "the fastest product of bfloat16 on one core"),
            figure("int", figures["peak"]["fp64"], "GOP/s", "as fp64"),
            "",
            "# The part of a core's peaks, or of the memory's bandwidth, that a kernel of the class reaches.",
            "[efficiency]",
            *map(part, CLASSES),
            "",
            "[arithmetic]",
            *(f'{kind} = {{ value = {short(figures["arithmetic"][kind])}, source = "{how}: what fits its kernels" }}' for kind in CLASSES),
            "",
            "[dispatch]",
            *(figure(kind, figures["dispatch"][kind] / 1e3, "us", "its smallest kernel") for kind in CLASSES),
            "",
            "[script]",
            figure("step", step, "ns", "a loop with a sum"),
            "",
            "[driver]",
            kept("driver"),
            "",
            "[memory]",
            kept("memory"),
            "",
            "[link]",
            kept("link"),
            "",
        ]
    )


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "this computer"


def table(measured, modelled):
    """How far the modelled times are off, by class: the median and the worst."""
    print(f"{'class':<16}{'cases':>6}{'median off':>12}{'worst':>9}   the worst case")
    for kind in CLASSES:
        pairs = [(m, p) for m, p in zip(measured["rows"], modelled["rows"]) if m["class"] == kind]
        parts = sorted(((abs(p["ms"] / m["ms"] - 1), m["name"], m["flops"]) for m, p in pairs))
        worst = parts[-1]
        middle = statistics.median(part for part, *_ in parts)
        print(f"{kind:<16}{len(parts):>6}{middle:>11.0%}{worst[0]:>9.0%}   {worst[1]} of {worst[2]} operations")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    program, profile = sys.argv[1], pathlib.Path(sys.argv[2])
    base = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else HERE.parent / "src/device/sim/hosts/notebook.toml"
    if not base.is_file():
        sys.exit(f"{base} is no file: name a host's profile as BASE.toml, from which what needs a GPU is kept")
    record = pathlib.Path(sys.argv[4]) if len(sys.argv) > 4 else None
    if record and record.exists():
        every, one = json.loads(record.read_text())
    else:
        every, one = best(program), best(program, core=0)
        if record:
            record.write_text(json.dumps([every, one]))
    figures = fit(every, one, os.cpu_count())
    base = tomllib.loads(base.read_text())
    profile.write_text(written(base, figures, processor(), 1.0))
    step = one["loop_ms"] * 1e6 / steps_of(program, profile)
    profile.write_text(written(base, figures, processor(), step))
    table(every, run(program, ["--devices", "sim:t4", "--host", str(profile)]))


if __name__ == "__main__":
    main()
