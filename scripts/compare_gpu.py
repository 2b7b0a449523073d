#!/usr/bin/env python3
"""Times the engine and PyTorch on a GPU, in turns, and prints both with their ratio.

    scripts/compare_gpu.py PROGRAM [--rounds N] [--json FILE] [--markdown FILE] [CASE ...]

PROGRAM is a built `tensorlab`; CASE picks the cases whose names contain it. Both sides repeat the case for some
50 ms between two waits for the device, a sample; a figure is the median of the samples of all rounds. Without
PyTorch (`pip install torch`) only our own times are printed.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SAMPLES, SAMPLE = 7, 0.05
N = 1 << 28

# Name: what is set up and what is timed, in either language. `N` is 2^28, `d` the device.
CASES = {
    "x + y, 4 elements": ("let x = rand([4], d); let y = rand([4], d);", "x + y;", "x, y = rand(4), rand(4)", "x + y"),
    "x + y, 4 elements, tracked": (
        "let x = rand([4], d); x.requires_grad_(); let y = rand([4], d);", "x + y;",
        "x, y = rand(4).requires_grad_(), rand(4)", "x + y",
    ),
    "sum().item()": ("let x = rand([4], d);", "x.sum().item();", "x = rand(4)", "x.sum().item()"),
}
for name, dtype in (("float32", "float32"), ("tf32", "float32"), ("float16", "float16"), ("bfloat16", "bfloat16"), ("float64", "float64")):
    tf32 = "true" if name == "tf32" else "false"
    for n in (1024, 4096, 8192):
        if name == "float64" and n > 4096:
            continue
        CASES[f"matmul {name} {n}"] = (
            f"matmul::allow_tf32({tf32}); let a = randn([{n}, {n}], d).to({dtype}); let b = randn([{n}, {n}], d).to({dtype});",
            "a.matmul(b);",
            f"torch.backends.cuda.matmul.allow_tf32 = {tf32.title()}; a, b = (torch.randn({n}, {n}, device='cuda').to(torch.{dtype}) for _ in 'ab')",
            "a @ b",
        )
WIDE = ("let a = rand([N], d); let b = rand([N], d);", "a, b = rand(N), rand(N)")
ROWS = ("let a = rand([16384, 16384], d);", "a = rand(16384, 16384)")
for name, (ours, theirs), ours_work, their_work in (
    ("add", WIDE, "a + b;", "a + b"),
    ("exp", WIDE, "a.exp();", "a.exp()"),
    ("relu", WIDE, "a.relu();", "a.relu()"),
    ("gelu", WIDE, "F::gelu(a);", "F.gelu(a)"),
    ("clone", WIDE, "a.clone();", "a.clone()"),
    ("to float16", WIDE, "a.half();", "a.half()"),
    ("sum", WIDE, "a.sum();", "a.sum()"),
    ("rand", WIDE, "rand([N], d);", "rand(N)"),
    ("randn", WIDE, "randn([N], d);", "torch.randn(N, device='cuda')"),
    ("sum(0)", ROWS, "a.sum(0);", "a.sum(0)"),
    ("sum(1)", ROWS, "a.sum(1);", "a.sum(1)"),
    ("argmax(1)", ROWS, "a.argmax(1);", "a.argmax(1)"),
    ("softmax(-1)", ROWS, "a.softmax(-1);", "a.softmax(-1)"),
    ("transpose", ROWS, "a.T.contiguous();", "a.T.contiguous()"),
    ("cumsum(1)", ROWS, "a.cumsum(1);", "a.cumsum(1)"),
    ("index_select", ("let a = rand([262144, 1024], d); let index = randint(0, 262144, [262144], d);", "a = rand(262144, 1024); i = torch.randint(0, 262144, (262144,), device='cuda')"), "a.index_select(0, index);", "a.index_select(0, i)"),
    ("layer_norm", ("let a = rand([262144, 1024], d);", "a = rand(262144, 1024)"), "F::layer_norm(a, [1024]);", "F.layer_norm(a, (1024,))"),
):
    CASES[f"{name} 256M"] = (ours, ours_work, theirs, their_work)
for size, label in ((1 << 16, "64 KiB"), (1 << 24, "16 MiB"), (1 << 28, "256 MiB")):
    for pinned in (False, True):
        kind = "pinned" if pinned else "pageable"
        pin = ".pin_memory()" if pinned else ""
        more = ", #{non_blocking: true}" if pinned else ""
        CASES[f"copy to the GPU, {kind}, {label}"] = (
            f"let h = zeros([{size}], #{{dtype: uint8}}){pin}; let g = h.cuda();", f"g.copy_(h{more});",
            f"h = torch.zeros({size}, dtype=torch.uint8){pin}; g = h.cuda()", f"g.copy_(h, non_blocking={pinned})",
        )
        CASES[f"copy from the GPU, {kind}, {label}"] = (
            f"let h = zeros([{size}], #{{dtype: uint8}}){pin}; let g = h.cuda();", f"h.copy_(g{more});",
            f"h = torch.zeros({size}, dtype=torch.uint8){pin}; g = h.cuda()", f"h.copy_(g, non_blocking={pinned})",
        )
for label, allow in (("TF32", "true"), ("float32", "false")):
    CASES[f"conv 3x3 64x256x14x14 to 256, {label}"] = (
        f"cudnn::allow_tf32({allow}); let x = rand([64, 256, 14, 14], d); let w = rand([256, 256, 3, 3], d);",
        "F::conv2d(x, w, (), 1, 1);",
        f"torch.backends.cudnn.allow_tf32 = {allow.title()}; x, w = rand(64, 256, 14, 14), rand(256, 256, 3, 3)",
        "F.conv2d(x, w, None, 1, 1)",
    )
SMALL = ("nn::Sequential(nn::Linear(64, 256), nn::ReLU(), nn::Linear(256, 10))", "nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))", "[128, 64]", 128)
BIG = (
    "nn::Sequential(nn::Linear(4096, 4096), nn::ReLU(), nn::Linear(4096, 4096), nn::ReLU(), nn::Linear(4096, 10))",
    "nn.Sequential(nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 10))", "[4096, 4096]", 4096,
)
CNN = (
    "nn::Sequential(nn::Conv2d(1, 32, 3, #{padding: 1}), nn::ReLU(), nn::Conv2d(32, 64, 3, #{padding: 1}), nn::ReLU(), "
    "nn::MaxPool2d(2), nn::Flatten(), nn::Linear(12544, 128), nn::ReLU(), nn::Linear(128, 10))",
    "nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), "
    "nn.MaxPool2d(2), nn.Flatten(), nn.Linear(12544, 128), nn.ReLU(), nn.Linear(128, 10))", "[256, 1, 28, 28]", 256,
)
for name, (ours, theirs, shape, batch), opt, amp in (
    ("MLP 64-256-10, SGD", SMALL, "SGD", None),
    ("MLP 64-256-10, Adam", SMALL, "Adam", None),
    ("MLP 4096x3, SGD", BIG, "SGD", None),
    ("MLP 4096x3, SGD, autocast bfloat16", BIG, "SGD", "bfloat16"),
    ("CNN 28x28, Adam", CNN, "Adam", None),
):
    forward = "F::cross_entropy(net.forward(x), y)"
    inner = f"let loss = {forward};" if amp is None else f"let loss = (); with autocast(\"cuda\", {amp}) {{ loss = {forward}; }}"
    cast = f"with torch.autocast('cuda', dtype=torch.{amp or 'float16'}, enabled={amp is not None}): loss = F.cross_entropy(net(x), y)"
    CASES[f"training step, {name}, batch {batch}"] = (
        f"matmul::allow_tf32(false); cudnn::allow_tf32(true); let net = {ours}.cuda(); let opt = optim::{opt}(net.parameters(), #{{lr: 0.01}});"
        f"let x = rand({shape}, d); let y = randint(0, 10, [{batch}], d);",
        f"opt.zero_grad(); {inner} loss.backward(); opt.step();",
        f"torch.backends.cuda.matmul.allow_tf32 = False; torch.backends.cudnn.allow_tf32 = True; net = {theirs}.cuda(); opt = torch.optim.{opt}(net.parameters(), lr=0.01)\n"
        f"x = rand(*{shape}); y = torch.randint(0, 10, ({batch},), device='cuda')",
        f"opt.zero_grad()\n{cast}\nloss.backward()\nopt.step()",
    )

SCRIPT = """
let N = %d;
let d = #{device: "cuda"};
%s
for i in 0..3 { %s }
cuda::synchronize();
let start = timestamp();
for i in 0..3 { %s }
cuda::synchronize();
let rounds = max(3, min(200_000, to_int(%f / max(start.elapsed / 3.0, 1e-9))));
for s in 0..%d {
    let start = timestamp();
    for i in 0..rounds { %s }
    cuda::synchronize();
    print(start.elapsed / rounds * 1e6);
}
"""


def ours(program, setup, work):
    text = SCRIPT % (N, setup, work, work, SAMPLE, SAMPLES, work)
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "case.rhai"
        script.write_text(text)
        out = subprocess.run([program, "run", "--devices", "cuda", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if out.returncode:
            print(out.stderr, file=sys.stderr)
            return []
        if out.stderr:
            print(out.stderr.strip(), file=sys.stderr)
        return [float(line) for line in out.stdout.splitlines()]


def theirs(torch, setup, work):
    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "N": N, "rand": lambda *s: torch.rand(*s, device="cuda")}
    exec(setup, names)
    indented = "\n".join("        " + line for line in work.splitlines())
    exec(f"def run(rounds):\n    for _ in range(rounds):\n{indented}\n    torch.cuda.synchronize()\n", names)
    run = names["run"]
    run(3)
    start = time.perf_counter()
    run(3)
    rounds = max(3, min(200_000, int(SAMPLE / max((time.perf_counter() - start) / 3, 1e-9))))
    samples = []
    for _ in range(SAMPLES):
        start = time.perf_counter()
        run(rounds)
        samples.append((time.perf_counter() - start) / rounds * 1e6)
    names.clear()
    torch.cuda.empty_cache()
    return samples


def started(command):
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return (time.perf_counter() - start) * 1e6


def start_row(program, torch):
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "one.rhai"
        script.write_text("print(tensor([1, 2]).cuda() + 1)\n")
        mine = [started([program, "run", "--devices", "cuda", script]) for _ in range(5)]
    code = "import torch; print(torch.tensor([1, 2]).cuda() + 1)"
    return mine[1:], [started([sys.executable, "-c", code]) for _ in range(3)] if torch else []


def shown(micros):
    if micros is None:
        return "-"
    return f"{micros:.2f} µs" if micros < 100 else f"{micros:.0f} µs" if micros < 1e4 else f"{micros / 1e3:.2f} ms"


def markdown(rows, about):
    lines = [about, "", "| case | PyTorch | tensorlab | ratio |", "|---|---:|---:|---:|"]
    for name, mine, other in rows:
        ratio = f"{mine / other:.2f}" if mine and other else "-"
        lines.append(f"| {name} | {shown(other)} | {shown(mine)} | {ratio} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json")
    parser.add_argument("--markdown")
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        torch = None
    chosen = {name: case for name, case in CASES.items() if not options.cases or any(c in name for c in options.cases)}
    rows = []
    for name, (setup, work, their_setup, their_work) in chosen.items():
        mine, other = [], []
        for _ in range(options.rounds):
            mine += ours(options.program, setup, work)
            other += theirs(torch, their_setup, their_work) if torch else []
        row = (name, statistics.median(mine) if mine else None, statistics.median(other) if other else None)
        rows.append(row)
        print(markdown([row], "").splitlines()[-1], flush=True)
    if not options.cases:
        mine, other = start_row(options.program, torch)
        rows.append(("a one-line script, start to end", statistics.median(mine), statistics.median(other) if other else None))
        print(markdown(rows[-1:], "").splitlines()[-1], flush=True)
    about = f"{torch.cuda.get_device_name()}; PyTorch {torch.__version__}; medians of {options.rounds * SAMPLES} samples." if torch else ""
    if options.json:
        Path(options.json).write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")
    if options.markdown:
        Path(options.markdown).write_text(markdown(rows, about))


if __name__ == "__main__":
    main()
