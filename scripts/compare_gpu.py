#!/usr/bin/env python3
"""Times the engine and PyTorch on a GPU, in turns, and prints both with their ratio.

    scripts/compare_gpu.py PROGRAM [--rounds N] [--samples N] [--sample SECONDS] [--seconds TOTAL]
                           [--json FILE] [--markdown FILE] [CASE ...]

PROGRAM is a built `tensorlab`; CASE picks the cases whose names contain it. Both sides repeat a case for some
`--sample` seconds between two waits for the device; a figure is the median of the samples of all rounds. A call that
takes over 2 s is measured once. A side that fails, or that is not there (`pip install torch`), shows `-`, with the
reason on standard error. After `--seconds` the remaining cases are skipped and listed. Files are written after each
case, so that a run that is cut off loses nothing.
"""

import argparse
import gc
import json
import os
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
from compare_gpu_cases import CASES  # noqa: E402

GROUP = 8  # Cases in one process of ours, before PyTorch has its turn with them.
PATIENCE = 20  # Seconds without news from our process after which its case is given up.
LONG = 2.0  # Seconds of a call that is measured once, and of all samples of a case.

CASE = """
{ print("%(index)d");
  try {
    matmul::allow_tf32(false); cudnn::allow_tf32(true); cudnn::benchmark(false);
    %(sizes)s
    %(setup)s
    let begin = timestamp();
    for i in 0..3 { %(work)s cuda::synchronize(); if begin.elapsed > 0.5 { break; } }
    let rounds = 1;
    let took = 0.0;
    loop {
        let start = timestamp();
        for i in 0..rounds { %(work)s }
        cuda::synchronize();
        took = start.elapsed;
        if took > %(sample)r / 4.0 || rounds > 50_000 { break; }
        rounds *= 4;
    }
    took /= rounds;
    let text = "%(index)d\\t" + took * 1e6;
    if took < %(long)r {
        text = "%(index)d";
        rounds = max(1, min(200_000, to_int(%(sample)r / max(took, 1e-9))));
        for s in 0..max(1, min(%(samples)d, to_int(%(long)r / (took * rounds)))) {
            let start = timestamp();
            for i in 0..rounds { %(work)s }
            cuda::synchronize();
            text += "\\t" + start.elapsed / rounds * 1e6;
            if begin.elapsed > 3.0 * %(long)r { break; }
        }
    }
    print(text);
  } catch (e) {
    let text = `${e.kind}: ${e.message}`;
    text.replace("\\n", " ");
    print("%(index)d\\terror\\t" + text);
  }
}
cuda::empty_cache();
"""


def cut(size):
    return 1 << 14 if size > 1 << 20 else min(size, 32)


def first_line(text):
    return next((line.strip() for line in text.splitlines() if line.strip()), "no reason given")


class Comparison:
    def __init__(self, options, torch, begin):
        self.options, self.torch = options, torch
        self.end = begin + options.seconds if options.seconds else float("inf")
        self.device = "cuda" if torch and (torch.cuda.is_available() or not options.tiny) else "cpu"
        self.about, self.rows, self.errors, self.skipped = "", {}, {}, []

    def late(self, until=None):
        return time.monotonic() > (until or self.end)

    def failed(self, name, side, reason):
        self.errors.setdefault(name, {})[side] = reason
        print(f"{name}: {side}: {reason}", file=sys.stderr, flush=True)

    def sizes(self, name):
        return {key: cut(size) if self.options.tiny else size for key, size in CASES[name][0].items()}

    def ours(self, names):
        """Times these cases with our program; gives those that there was time for, also where they failed."""
        # The other half of the time is for PyTorch.
        until = time.monotonic() + (self.end - time.monotonic()) / (2 if self.torch else 1)
        done, batches = set(), [names]
        while batches and not self.late(until):
            left = batches.pop(0)
            begun, reason = self.process(left, done, until)
            left = [name for name in left if name not in done]
            if not left or self.late(until):
                continue
            if begun is None and len(left) > 1:
                # Nothing ran at all: which case keeps the script from running shows one by one.
                batches = [[name] for name in left] + batches
                continue
            if begun in done:
                # It ended between two cases, by no fault of the next.
                batches.insert(0, left)
                continue
            bad = begun or left[0]
            self.failed(bad, "tensorlab", reason)
            self.row(bad, [], [])
            done.add(bad)
            left.remove(bad)
            if left:
                batches.insert(0, left)
        return done

    def process(self, names, done, until):
        """Runs cases in one process till one fails; the last that began, and the reason why it ended."""
        text = 'let d = #{device: "cuda"};\n'
        for index, name in enumerate(names):
            _, setup, work, _, _ = CASES[name]
            sizes = " ".join(f"let {key} = {size};" for key, size in self.sizes(name).items())
            text += CASE % {
                "index": index, "sizes": sizes, "setup": setup, "work": work, "sample": self.options.sample,
                "samples": self.options.samples, "long": LONG,
            }
        begun = None
        with tempfile.TemporaryDirectory() as folder:
            script, errors = Path(folder) / "cases.rhai", Path(folder) / "errors"
            script.write_text(text)
            with errors.open("w") as stderr:
                command = [self.options.program, "run", "--devices", self.options.devices, script]
                child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)
            lines = queue.Queue()
            reader = threading.Thread(target=lambda: [lines.put(line) for line in child.stdout] + [lines.put(None)], daemon=True)
            reader.start()
            reason = None
            while reason is None:
                try:
                    line = lines.get(timeout=max(0.01, min(PATIENCE, until - time.monotonic())))
                except queue.Empty:
                    reason = f"nothing for {PATIENCE} s"
                    break
                if line is None:
                    child.wait()
                    reason = first_line(errors.read_text()) if child.returncode else "ended early"
                    break
                number, *values = line.rstrip("\n").split("\t")
                if not number.isdecimal() or int(number) >= len(names):
                    continue
                begun = names[int(number)]
                if values[:1] == ["error"]:
                    # A fault may stay with the process: the rest runs in another.
                    reason = " ".join(values[1:])
                elif values:
                    self.row(begun, [float(value) for value in values], [])
                    done.add(begun)
            child.kill()
            child.wait()
            reader.join()
        return begun, reason

    def theirs(self, name):
        torch, failure = self.torch, None
        _, _, _, setup, work = CASES[name]
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32, torch.backends.cudnn.benchmark = False, True, False
        d = self.device
        names = {
            "torch": torch, "nn": torch.nn, "F": torch.nn.functional, "d": d, **self.sizes(name),
            "rand": lambda *s: torch.rand(*s, device=d), "randn": lambda *s: torch.randn(*s, device=d),
        }
        samples = []
        try:
            self.time_theirs(setup, work, names, samples)
        except Exception as error:
            failure = first_line(f"{type(error).__name__}: {error}")
        if failure:
            self.failed(name, "PyTorch", failure)
        names.clear()
        gc.collect()
        if d == "cuda":
            try:
                torch.cuda.empty_cache()
            except Exception:
                pass
        return samples

    def time_theirs(self, setup, work, names, samples):
        names["wait"] = self.torch.cuda.synchronize if self.device == "cuda" else lambda: None
        indented = "\n".join("        " + line for line in work.splitlines())
        exec(setup, names)
        exec(f"def run(rounds):\n    for _ in range(rounds):\n{indented}\n    wait()\n", names)
        run = names["run"]

        def timed(rounds):
            start = time.perf_counter()
            run(rounds)
            return time.perf_counter() - start

        begin = time.perf_counter()
        for _ in range(3):
            run(1)
            if time.perf_counter() - begin > 0.5:
                break
        rounds = 1
        while (took := timed(rounds)) <= self.options.sample / 4 and rounds <= 50_000:
            rounds *= 4
        took /= rounds
        if took >= LONG:
            samples.append(took * 1e6)
            return
        rounds = max(1, min(200_000, int(self.options.sample / max(took, 1e-9))))
        for _ in range(max(1, min(self.options.samples, int(LONG / (took * rounds))))):
            samples.append(timed(rounds) / rounds * 1e6)
            if time.perf_counter() - begin > 3 * LONG:
                break

    def start_rows(self):
        """A process from its start to the first result of the GPU, without and with kernels that are kept."""
        names = ["start to first result, no kernels kept", "start to first result, kernels kept"]
        if self.late():
            self.skipped += names
            return
        theirs = []
        if self.torch:
            d = self.device
            code = f"import torch; print(torch.tensor([1, 2]).to('{d}') + 1)"
            theirs = self.starts(names[0], "PyTorch", [sys.executable, "-c", code], 2)
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "one.rhai"
            script.write_text("print(tensor([1, 2]).cuda() + 1)\n")
            command = [self.options.program, "run", "--devices", self.options.devices, script]
            folders = [Path(folder) / str(number) for number in range(3)]
            for name, caches in ((names[0], folders), (names[1], folders[:1] * 4)):
                mine = self.starts(name, "tensorlab", command, len(caches), caches)
                self.row(name, mine, theirs)
                print(line(self.medians(name)), flush=True)

    def starts(self, name, side, command, count, caches=None):
        times = []
        for number in range(count):
            if times and self.late():
                break
            environment = dict(os.environ, XDG_CACHE_HOME=str(caches[number])) if caches else None
            left = max(1.0, min(PATIENCE, self.end - time.monotonic()))
            start = time.perf_counter()
            try:
                subprocess.run(command, check=True, capture_output=True, text=True, env=environment, timeout=left)
            except subprocess.SubprocessError as error:
                self.failed(name, side, first_line(getattr(error, "stderr", None) or str(error)))
                break
            times.append((time.perf_counter() - start) * 1e6)
        return times

    def row(self, name, mine, other):
        """Adds samples to a row."""
        row = self.rows.setdefault(name, ([], []))
        row[0].extend(mine)
        row[1].extend(other)
        self.save()

    def medians(self, name):
        return [name] + [statistics.median(samples) if samples else None for samples in self.rows[name]]

    def save(self):
        rows = [self.medians(name) for name in self.rows]
        if self.options.json:
            found = {"about": self.about, "rows": rows, "errors": self.errors, "skipped": self.skipped}
            written = Path(self.options.json + ".part")
            written.write_text(json.dumps(found, indent=1) + "\n")
            written.replace(self.options.json)
        if self.options.markdown:
            Path(self.options.markdown).write_text(markdown(rows, self.about, self.skipped))

    def run(self, names):
        for first in range(0, len(names), GROUP):
            group = names[first : first + GROUP]
            for _ in range(self.options.rounds):
                done = set() if self.late() else self.ours(group)
                for name in group:
                    if name not in done:
                        continue
                    if self.torch and not self.late():
                        self.row(name, [], self.theirs(name))
                    elif self.torch and not self.rows[name][1]:
                        self.errors.setdefault(name, {})["PyTorch"] = "no time left"
            for name in group:
                if name in self.rows:
                    print(line(self.medians(name)), flush=True)
                else:
                    self.skipped.append(name)


def shown(micros):
    if micros is None:
        return "-"
    return f"{micros:.2f} µs" if micros < 100 else f"{micros:.0f} µs" if micros < 1e4 else f"{micros / 1e3:.2f} ms"


def line(row):
    name, mine, other = row
    ratio = f"{mine / other:.2f}" if mine and other else "-"
    return f"| {name} | {shown(other)} | {shown(mine)} | {ratio} |"


def markdown(rows, about, skipped):
    lines = [about, "", "| case | PyTorch | tensorlab | ratio |", "|---|---:|---:|---:|", *map(line, rows)]
    if skipped:
        lines += ["", "Skipped for want of time: " + "; ".join(skipped) + "."]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--samples", type=int, default=7)
    parser.add_argument("--sample", type=float, default=0.05)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--json")
    parser.add_argument("--markdown")
    # For a trial without a GPU: simulated devices of ours, small sizes, and PyTorch on the CPU.
    parser.add_argument("--devices", default="cuda", help=argparse.SUPPRESS)
    parser.add_argument("--tiny", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.program = str(Path(options.program).resolve())
    begin = time.monotonic()
    try:
        import torch
    except Exception as error:
        print(f"no PyTorch: {error}", file=sys.stderr)
        torch = None
    gc.freeze()  # Collections between cases pass over what the import made.
    comparison = Comparison(options, torch, begin)
    if torch:
        device = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
        comparison.about = f"{device}; PyTorch {torch.__version__}; medians of up to {options.rounds * options.samples} samples."
    comparison.run([name for name in CASES if not options.cases or any(part in name for part in options.cases)])
    if not options.cases or any("start" in part for part in options.cases):
        comparison.start_rows()
    comparison.save()
    if comparison.skipped:
        print("skipped: " + "; ".join(comparison.skipped), flush=True)


if __name__ == "__main__":
    main()
