#!/usr/bin/env python3
"""What only a GPU can show, in parts of a few minutes each.

    scripts/gpu_check.py correct  --suite SUITE --program PROGRAM OUTPUT
    scripts/gpu_check.py sanitize --suite SUITE --program PROGRAM OUTPUT
    scripts/gpu_check.py speed    --program PROGRAM OUTPUT

SUITE is the test binary (`cargo test --release --no-run --test suite`), PROGRAM the built `tensorlab`; without them both
are built first. `correct` runs the suite's tests of a GPU, each in a process of its own, and the lessons that can be
solved on one; `sanitize` some of them under compute-sanitizer; `speed` compares with PyTorch (`compare_gpu.py`). Each
writes OUTPUT/<device>-<part>.json, .md and .log, and exits with 1 where something failed. With `--cache FILE`, machine
code that `check_kernels.py --cache` left, packed by tar, is unpacked where the program looks for it.
"""

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tarfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# These take the whole device's memory, or time its work: nothing else runs meanwhile.
ALONE = ("memory_that_the_cache", "out_of_memory", "an_interrupt_is_heard", "events_and_streams")
SANITIZED = (
    ("memcheck", "large::running_sums"), ("racecheck", "large::layer_norm"), ("memcheck", "large::sorts"),
    ("racecheck", "large::running_sums"), ("memcheck", "large::products_of_views"),
)


def asked(field):
    out = subprocess.run(["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader"], capture_output=True, text=True)
    return out.stdout.splitlines()[0].strip() if out.returncode == 0 and out.stdout.strip() else "unknown"


def built(options):
    if options.program is None:
        subprocess.run(["cargo", "build", "--release"], cwd=ROOT, check=True)
        options.program = ROOT / "target/release/tensorlab"
    if options.suite is None and options.part != "speed":
        command = ["cargo", "test", "--release", "--no-run", "--test", "suite", "--message-format=json"]
        out = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
        found = [json.loads(line).get("executable") for line in out.splitlines() if line.startswith("{")]
        options.suite = [path for path in found if path][-1]


def tests(suite):
    out = subprocess.run([suite, "--ignored", "--list"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^(gpu::real::\S+): test$", out, re.M)


def run(command, limit):
    """The exit status, seconds, and all that was printed."""
    start = time.time()
    try:
        out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit)
        status, text = out.returncode, out.stdout
    except subprocess.TimeoutExpired as late:
        status, text = f"not done in {limit} s", late.stdout or b""
    return status, time.time() - start, text.decode(errors="replace")


def one(suite, name, limit, before=()):
    command = [*before, suite, "--ignored", "--exact", name, "--nocapture", "--test-threads", "1"]
    status, seconds, text = run(command, limit)
    # A name that matches no test would pass.
    passed = status == 0 and "1 passed" in text
    told = ", ".join(re.findall(r"(\d+ of \d+) recorded cases pass", text))
    return {"name": name.removeprefix("gpu::real::"), "passed": passed, "seconds": round(seconds, 1),
            "told": told, "status": status, "log": text}


def in_turns(suite, names, limit, at_once):
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        together = [name for name in names if not any(word in name for word in ALONE)]
        yield from pool.map(lambda name: one(suite, name, limit), together)
    for name in names:
        if name not in together:
            yield one(suite, name, limit)


def lessons(program, limit):
    """Those that name a real GPU among their devices: the program's own, and one as of a stranger's pack, confined."""
    files = sorted((ROOT / "lessons/course/lessons").glob("*.md"))
    on_gpu = [path for path in files if re.search(r"^devices.*\bcuda\b", path.read_text(), re.M)]
    named = [(path, re.search(r'^id = "(.*)"', path.read_text(), re.M).group(1)) for path in on_gpu]
    for what, chosen in [*((f"lesson {name}", name) for _, name in named), ("a lesson of a pack, confined", on_gpu[0])]:
        status, seconds, text = run([program, "lesson", "verify", "--devices", "cuda", chosen], limit)
        lacks = re.search(r"the lesson needs (.*), and this machine has", text)
        yield {"name": what, "passed": status == 0 or lacks is not None, "seconds": round(seconds, 1),
               "told": f"not run, it needs {lacks.group(1)}" if lacks else "", "status": status, "log": text}


def sanitized(suite, limit):
    for tool, name in SANITIZED:
        before = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9", "--print-limit", "5"]
        for full in (test for test in tests(suite) if name in test):
            row = one(suite, full, limit, before)
            yield row | {"name": f"{row['name']} ({tool})"}


def page(rows, about):
    lines = [about, "", "| check | result | seconds |", "|---|---|---:|"]
    for row in rows:
        result = "passed" if row["passed"] else f"FAILED ({row['status']})"
        said = row["told"] if row["told"].startswith("not run") else result + (f": {row['told']}" if row["told"] else "")
        lines.append(f"| {row['name']} | {said} | {row['seconds']} |")
    return "\n".join(lines) + "\n"


def check(options, stem, about):
    if options.part == "correct":
        def work():
            yield from in_turns(options.suite, tests(options.suite), options.limit, options.jobs)
            yield from lessons(options.program, options.limit)
    else:
        def work():
            yield from sanitized(options.suite, options.limit)
    rows = []
    for row in work():
        rows.append(row)
        print(f"{'ok    ' if row['passed'] else 'FAILED'} {row['seconds']:6.1f} s  {row['name']}", flush=True)
        # Whoever cuts this off keeps what there is.
        kept = [{key: value for key, value in row.items() if key != "log"} for row in rows]
        stem.with_suffix(".json").write_text(json.dumps({"about": about, "rows": kept}, indent=1) + "\n")
        stem.with_suffix(".md").write_text(page(rows, about))
        with open(stem.with_suffix(".log"), "a") as log:
            log.write(f"==== {row['name']}: {row['status']}\n{row['log'][-20000:]}\n")
    failed = [row for row in rows if not row["passed"]]
    for row in failed:
        print(f"---- {row['name']}\n{row['log'][-1500:]}")
    print(f"{len(rows) - len(failed)} of {len(rows)} passed")
    return 1 if failed or not rows else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("correct", "sanitize", "speed"))
    parser.add_argument("output", type=Path)
    parser.add_argument("--suite")
    parser.add_argument("--program")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--limit", type=int, default=240, help="seconds for one test")
    parser.add_argument("--jobs", type=int, default=8, help="tests at once")
    parser.add_argument("--seconds", type=int, default=300, help="seconds for the comparison")
    options = parser.parse_args()
    built(options)
    options.output.mkdir(parents=True, exist_ok=True)
    if options.cache:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tensorlab" / "kernels"
        cache.mkdir(parents=True, exist_ok=True)
        with tarfile.open(options.cache) as packed:
            packed.extractall(cache, filter="data")
    device = asked("name")
    about = f"{device}; driver {asked('driver_version')}; {time.strftime('%Y-%m-%d', time.gmtime())}."
    stem = options.output / f"{device.lower().replace(' ', '-')}-{options.part}"
    if options.part != "speed":
        sys.exit(check(options, stem, about))
    command = [sys.executable, ROOT / "scripts/compare_gpu.py", options.program, "--seconds", str(options.seconds)]
    command += ["--json", stem.with_suffix(".json"), "--markdown", stem.with_suffix(".md")]
    sys.exit(subprocess.run(command).returncode)


if __name__ == "__main__":
    main()
