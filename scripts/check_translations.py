#!/usr/bin/env python3
"""Runs the course's solutions on PyTorch, as they are translated, and holds them to what they give in Rhai.

    scripts/check_translations.py [--program target/debug/tensorlab] [--show] [LESSON ...]

Needs a Python that has torch; a GPU is neither needed nor used. Each lesson's solutions run once here, on two simulated
GPUs, and once on PyTorch's CPU, which `fake_gpus.py` lets pass for two GPUs. What stands at the end of each exercise is
compared, variable by variable, within PyTorch's tolerances, and the exercise's check runs in Python, statement by
statement. What only a GPU can tell is skipped, and the reason is counted. Exits with 1 where something differs.

Both draw random numbers on the CPU: those of a GPU's generator are another sequence.
"""

import argparse
import ast
import collections
import contextlib
import copy
import dis
import importlib.machinery
import io
import json
import math
import re
import signal
import subprocess
import sys
import tempfile
import time
import types
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEVICES = "sim:t4x2"
# Of more numbers than these, so many that are spread over them are compared.
MOST = 512
SECONDS = 120
MARK = "@@"
PRELUDE = """
import copy, math, tempfile, time
import torch
import torch.nn.functional as F
import torch.utils.benchmark
import torch.utils.checkpoint
import torch.utils.data
from torch import nn
"""
TIMED = re.compile(r"timestamp|timeit|\btime\(|elapsed|perf_counter")
DRAWS = re.compile(r"\b(rand|randn|randint|randperm|rand_like|randn_like)\(")
ROUNDED = re.compile(r"float16|autocast")
# What is not the translation's, by lesson, exercise and name; none for all of an exercise.
KNOWN = {
    ("models", "take-along", "table"): "a buffer that moves with its module, which here is the variable's own tensor",
    ("mixed-precision", "write-the-loop", "loss"): "a name of a block's own, which Python has not",
    ("out-of-memory", "choose", None): "a check that computes on copies of the modules",
    ("reproducible", "pay-where-it-matters", None): "the order in which a GPU's atomics add",
}
MISSING = re.compile("Found no NVIDIA driver|safetensors is not installed")
LATER = ", in a cell before"
OWN = re.compile(r"# (\S+) is this lab's own")
SIMULATED = re.compile(r"let (\w+) = [^;]*\.simulated")

DUMP = """
fn dump__(v) {
    let kind = type_of(v);
    if kind == "Tensor" {
        let c = v.detach().cpu().to(float64).flatten();
        let n = c.numel();
        let step = if n > MOST { n / MOST } else { 1 };
        let values = [];
        if n > 0 { values = c[arange(0, n, step)].tolist(); }
        return #{kind: "tensor", shape: `${v.shape}`, dtype: `${v.dtype}`, device: `${v.device}`,
            values: values.map(|x| number__(x))};
    }
    if kind == "array" { return #{kind: "list", items: v.map(|x| dump__(x))}; }
    if kind == "map" {
        let items = #{};
        for name in v.keys() { items[name] = dump__(v[name]); }
        return #{kind: "dict", items: items};
    }
    if kind == "()" { return #{kind: "plain", value: ()}; }
    if kind == "bool" || kind == "string" { return #{kind: "plain", value: v}; }
    if kind == "i64" || kind == "f64" { return #{kind: "plain", value: number__(v)}; }
    if kind == "device" || kind == "dtype" { return #{kind: "plain", value: `${v}`}; }
    try { return #{kind: "module", items: dump__(v.state_dict())}; } catch {}
    #{kind: "other", type: kind}
}
fn number__(x) {
    if type_of(x) == "f64" && (x.is_nan() || x.is_infinite()) { x.to_string() } else { x }
}
""".replace("MOST", str(MOST))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lessons", nargs="*", help="all of the course where none is named")
    parser.add_argument("--program", type=Path, default=ROOT / "target" / "debug" / "tensorlab")
    parser.add_argument("--show", action="store_true", help="say of everything that is skipped why")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--whole", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        path = Path(options.child)
        return json.dump(run_python(json.loads(path.read_text()), path.parent / "digits.safetensors"), sys.stdout)
    if options.whole:
        path = Path(options.whole)
        return json.dump(run_whole(path.read_text(), path.parent / "digits.safetensors"), sys.stdout)
    program = options.program.resolve()
    lessons = options.lessons or [
        lesson["id"] for lesson in json.loads(told([program, "lesson", "list", "--json"]))["lessons"] if lesson["pack"] == "course"
    ]
    reasons, differing = collections.Counter(), 0
    print(f"{'lesson':<22} {'same':>5} {'skipped':>8} {'differs':>8}   {'values':>7} {'checks':>7}")
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "digits.rhai"
        script.write_text(f'save(data::digits(), "{folder}/digits.safetensors");')
        told([program, "run", script])
        for lesson in lessons:
            row = Row()
            for exercise in compared(program, lesson, Path(folder)):
                row.take(exercise)
            whole = json.loads(told([sys.executable, __file__, "--whole", Path(folder) / f"{lesson}.py"]))
            row.take({"exercise": "the whole file", "found": [["as it is written", *(whole or ["same", ""])]]})
            print(row.line(lesson), flush=True)
            for line in row.differs + (row.skips if options.show else []):
                print(f"    {line}")
            reasons += row.reasons
            differing += row.count["differs"]
    print("\nskipped, by what it would need:")
    for reason, count in reasons.most_common():
        print(f"{count:>5}  {reason}")
    return 1 if differing else 0


class Row:
    """What is said of a lesson."""

    def __init__(self):
        self.count, self.reasons = collections.Counter(), collections.Counter()
        self.differs, self.skips = [], []
        self.values = self.checks = 0

    def take(self, exercise):
        id, found = exercise["exercise"].split(":")[0], exercise["found"]
        wrong = [(what, reason) for what, verdict, reason in found if verdict == "differs"]
        equal = [what for what, verdict, _ in found if verdict == "same"]
        skipped = [(what, reason) for what, verdict, reason in found if verdict == "skipped"]
        self.count["differs" if wrong else "same" if equal else "skipped"] += 1
        self.values += sum(not what.startswith("check") for what in equal)
        self.checks += sum(what.startswith("check") for what in equal)
        self.differs += [f"{id}: {what}: {reason}" for what, reason in wrong]
        self.skips += [f"{id}: {what}: skipped: {reason}" for what, reason in skipped]
        self.reasons.update(reason for _, reason in skipped)

    def line(self, lesson):
        count = self.count
        return (
            f"{lesson:<22} {count['same']:>5} {count['skipped']:>8} {count['differs']:>8}   "
            f"{self.values:>7} {self.checks:>7}"
        )


def told(command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def compared(program, lesson, folder):
    """What became of each exercise of a lesson, on both sides."""
    path = folder / f"{lesson}.json"
    out = ["--cells", path, "--py", folder / f"{lesson}.py", "--force"]
    told([program, "lesson", "export", lesson, *out, "--solutions"])
    cells = json.loads(path.read_text())
    names = []
    for cell in cells:
        cell["binds"] = bound(cell["python"])
        names += [name for name in cell["binds"] if name not in names]
        cell["names"], names = (names, []) if cell["exercise"] else ([], names)
    path.write_text(json.dumps(cells))
    there = json.loads(told([sys.executable, __file__, "--child", path]))
    here = run_rhai(program, cells, folder / f"{lesson}.rhai")
    loose, simulated = False, set()
    for place, (cell, python) in enumerate(zip(cells, there)):
        loose = loose or bool(ROUNDED.search(cell["rhai"]))
        simulated.update(SIMULATED.findall(cell["rhai"]))
        if not cell["exercise"]:
            continue
        found = list(python["checks"])
        found += [["the code", *reason] for reason in python["verdicts"]]
        for name in cell["names"]:
            given = (here.get(f"{place} {name}"), python["values"].get(name))
            own = ["skipped", "whether a GPU is simulated"] if name in simulated else verdict(*given, loose)
            found.append([name, *own])
        id = cell["exercise"].split(":")[0]
        for one in found:
            known = KNOWN.get((lesson, id, one[0])) or KNOWN.get((lesson, id, None))
            if known and one[1] == "differs":
                one[1:] = ["skipped", known]
        yield {"exercise": cell["exercise"], "found": found}


def bound(python):
    """Names that some Python binds at its top, but for functions, classes and what Rhai's blocks keep to themselves."""
    names = []
    for statement in ast.parse(python).body:
        inner = statement.body if isinstance(statement, ast.With) else [statement]
        for target in [target for one in inner if isinstance(one, ast.Assign) for target in one.targets]:
            made_up = isinstance(target, ast.Name) and re.fullmatch(r"value_\d+", target.id)
            if isinstance(target, ast.Name) and not made_up and target.id not in names:
                names.append(target.id)
    return names


def run_rhai(program, cells, path):
    """The values on the simulated GPUs, by the cell's number and the name."""
    out = ["// %%", DUMP]
    if any("SCRATCH" in cell["rhai"] for cell in cells):
        out += ["// %%", f'const SCRATCH = "{path.parent}";']
    for place, cell in enumerate(cells):
        out += ["// %%", f"manual_seed({place});", "// %%", on_cpu(cell["rhai"])]
        for name in cell["names"]:
            said = f'print("{MARK}" + #{{place: "{place} {name}", value: dump__({name})}}.to_json());'
            out += ["// %%", said]
    path.write_text("\n".join(out) + "\n")
    book = path.with_suffix(".ipynb")
    command = [program, "notebook", "run", path, "--allow-errors", "--output", book, "--devices", DEVICES]
    subprocess.run([str(part) for part in command], capture_output=True, check=False)
    values = {}
    for cell in json.loads(book.read_text())["cells"]:
        text = "".join("".join(output.get("text", "")) for output in cell.get("outputs", []))
        for line in text.splitlines():
            if line.startswith(MARK):
                said = json.loads(line[len(MARK) :])
                values[said["place"]] = said["value"]
    return values


def on_cpu(code):
    """Rhai that draws random numbers on the CPU and moves them where they were asked for."""
    out, at = "", 0
    while found := DRAWS.search(code, at):
        end = closing(code, found.end() - 1)
        name, given = found[1], code[found.end() : end]
        asked = re.search(r",?\s*\bdevice: ([^,}]+)", given)
        out += code[at : found.start()]
        if name.endswith("_like") and re.fullmatch(r"[\w.]+", given):
            out += f"{name[:-5]}({given}.shape, #{{dtype: {given}.dtype}}).to({given}.device)"
        elif asked and "requires_grad" not in given:
            given = given[: asked.start()] + given[asked.end() :]
            given = re.sub(r"#\{,\s*", "#{", given)
            out += f"{name}({given}).to({asked[1].strip()})"
        else:
            out += code[found.start() : end + 1]
        at = end + 1
    return out + code[at:]


def closing(code, at):
    depth = 0
    for place in range(at, len(code)):
        depth += (code[place] in "([{") - (code[place] in ")]}")
        if depth == 0:
            return place
    return len(code) - 1


def verdict(here, there, loose):
    """Whether a value is the same on both sides, and what of it is not."""
    if there is None:
        return "skipped", "a name that PyTorch's side has not"
    if there["kind"] == "skipped":
        return "skipped", there["reason"]
    if here is None:
        return "differs", f"Rhai has no value, and Python {short(there)}"
    if "other" in (here["kind"], there["kind"]):
        return "skipped", "values that are no data, such as functions"
    reason = difference(here, there, loose)
    return ("differs", reason) if reason else ("same", "")


def difference(here, there, loose):
    """What of two values is not the same; after float16, numbers are held to what it keeps."""
    if here["kind"] != there["kind"]:
        return f"{short(here)} in Rhai, {short(there)} in Python"
    if here["kind"] == "plain":
        a, b = here["value"], there["value"]
        numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in (a, b))
        equal = type(a) is type(b) and math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-8) if numbers else a == b
        return "" if equal else f"{a!r} in Rhai, {b!r} in Python"
    if here["kind"] == "tensor":
        for what in ("shape", "dtype", "device"):
            if here[what].removeprefix("torch.") != there[what]:
                return f"{what} {here[what]} in Rhai, {there[what]} in Python"
        rtol, atol = {"float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float64": (1e-7, 1e-7)}.get(
            "float16" if loose else here["dtype"].split(".")[-1], (1.3e-6, 1e-5)
        )
        for a, b in zip(here["values"], there["values"]):
            if isinstance(a, str) or isinstance(b, str):
                equal = str(a).lower() == str(b).lower()
            else:
                equal = abs(a - b) <= atol + rtol * abs(b)
            if not equal:
                return f"a number of the tensor is {a!r} in Rhai, {b!r} in Python"
        return ""
    if here["kind"] == "module":
        # What was trained has the rounding of many steps.
        return difference(here["items"], there["items"], True)
    a, b = here["items"], there["items"]
    if len(a) != len(b) or here["kind"] == "dict" and set(a) != set(b):
        return f"{short(here)} in Rhai, {short(there)} in Python"
    for key in a if here["kind"] == "dict" else range(len(a)):
        if {"other", "skipped"} & {a[key]["kind"], b[key]["kind"]}:
            continue
        if reason := difference(a[key], b[key], loose):
            return f"[{key}]: {reason}"
    return ""


def short(value):
    text = json.dumps(value)
    return text if len(text) < 100 else text[:97] + "..."


def run_python(cells, digits):
    """What the cells give on PyTorch, in a process of their own."""
    warnings.simplefilter("ignore")
    import torch

    import fake_gpus

    names = {"__name__": "__main__", "SCRATCH": tempfile.mkdtemp()}
    exec(PRELUDE, names)
    names.update(telemetry=Lab(), plot=Lab(), data=Lab(), time=Clock())
    bring_digits(torch, digits)
    mode, out, verdicts = fake_gpus.install(), [], []
    timed, spoilt = False, {}
    for place, cell in enumerate(cells):
        timed = timed or bool(TIMED.search(cell["rhai"]))
        torch.manual_seed(place)
        reason = run(cell["python"], names, mode, next(iter(spoilt.values()), None))
        verdicts += [reason] if reason else []
        for name in cell["binds"]:
            spoilt.pop(name, None)
        if reason and reason[0] == "skipped":
            # What it had begun with may be half done.
            spoilt.update(dict.fromkeys(set(cell["binds"]) | mentioned(ast.parse(cell["python"])), reason[1]))
        record = {"values": {}, "checks": [], "verdicts": verdicts}
        if cell["exercise"]:
            for name in cell["names"]:
                if name in spoilt:
                    record["values"][name] = {"kind": "skipped", "reason": spoilt[name]}
                elif name in names:
                    with mode:
                        record["values"][name] = dumped(torch, names[name], timed)
            if not reason:
                record["checks"] = checked(cell["check"], names, mode, fake_gpus.Needs)
            timed, verdicts = False, []
        out.append(record)
    return out


def run_whole(python, digits):
    """Why the file that a learner takes along does not run as it is; none where it does, or needs what only a GPU has."""
    warnings.simplefilter("ignore")
    import torch

    import fake_gpus

    bring_digits(torch, digits)
    return run(python, {"__name__": "__main__"}, fake_gpus.install(made_up=True), None, ())


def bring_digits(torch, path):
    """The digits where translations look for them, scikit-learn or none."""
    all = safetensors(torch, path)
    x, y = (torch.empty(1797, *all[f"{part}_train"].shape[1:], dtype=all[f"{part}_train"].dtype) for part in "xy")
    test = torch.arange(1797) % 5 == 0
    for part, values in (("x", x), ("y", y)):
        values[test], values[~test] = all[f"{part}_test"], all[f"{part}_train"]
    modules = {name: types.ModuleType(name) for name in ("sklearn", "sklearn.datasets")}
    for name, module in modules.items():
        module.__spec__ = importlib.machinery.ModuleSpec(name, None)
    datasets = modules["sklearn.datasets"]
    datasets.load_digits = lambda return_X_y: ((x * 16).numpy(), y.numpy())
    sys.modules.update(modules)


def mentioned(tree):
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def run(python, names, mode, gone, own=None):
    """Why some Python did not run to its end; none where it did."""
    from fake_gpus import Needs

    own = OWN.findall(python) if own is None else own
    try:
        with limited(), mode, contextlib.redirect_stdout(io.StringIO()):
            exec(compile(python, "cell", "exec"), names)
    except Needs as needs:
        return ["skipped", str(needs)]
    except (NameError, AttributeError, TypeError) as error:
        own = [call for call in own if not call.startswith(("telemetry", "plot", "time(", "data"))]
        if own:
            return ["skipped", f"calls of this lab's own: {', '.join(sorted(set(own)))}"]
        if gone and isinstance(error, NameError):
            return ["skipped", f"{gone.removesuffix(LATER)}{LATER}"]
        return ["differs", f"{type(error).__name__}: {error}"]
    except Exception as error:
        if MISSING.search(str(error)):
            return ["skipped", "a GPU's driver, or the package safetensors"]
        return ["differs", f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"]
    return None


@contextlib.contextmanager
def limited():
    def late(*_):
        raise TimeoutError(f"more than {SECONDS} s")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)


class Counters:
    """`events`, which nobody counts here."""

    def __getattr__(self, _):
        from fake_gpus import Needs

        raise Needs("the lab's counters")


def safetensors(torch, path):
    """The tensors of a file."""
    raw = path.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    dtypes, found = {"F32": torch.float32, "I64": torch.int64}, {}
    for name, entry in json.loads(raw[8 : 8 + size]).items():
        if name != "__metadata__":
            first, last = entry["data_offsets"]
            values = bytearray(raw[8 + size + first : 8 + size + last])
            found[name] = torch.frombuffer(values, dtype=dtypes[entry["dtype"]]).reshape(entry["shape"])
    return found


class Clock:
    """The module `time`, and the lab's function of that name."""

    perf_counter = staticmethod(time.perf_counter)
    sleep = staticmethod(lambda _: None)

    def __call__(self, function, *_, **__):
        function()
        return Counters()


class Lab:
    """Modules of the lab's own that let code run on: what is drawn is nothing, what is recorded runs uncounted."""

    def record(self, function, *_):
        function()
        return Counters()

    def __getattr__(self, _):
        return lambda *_, **__: None


class Fields(dict):
    """A map whose entries are fields as well."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class WithFields(ast.NodeTransformer):
    def visit_Dict(self, node):
        return ast.Call(ast.Name("Fields", ast.Load()), [self.generic_visit(node)], [])


def checked(python, names, mode, needs):
    """The statements of a check that hold, and those that do not."""
    import torch

    def same(a, b, message="", **options):
        assert equal(a, b), message or f"{a!r} is not {b!r}"

    def equal(a, b):
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
            return torch.equal(a.cpu(), b.cpu())
        if isinstance(a, torch.Size) or isinstance(b, torch.Size):
            return list(a) == list(b)
        return a == b

    def close(a, b, message="", rtol=None, atol=None, check_dtype=True):
        torch.testing.assert_close(
            torch.as_tensor(a).cpu(),
            torch.as_tensor(b).cpu(),
            rtol=1e-5 if rtol is None and atol is not None else rtol,
            atol=1e-5 if atol is None and rtol is not None else atol,
            check_dtype=check_dtype,
        )

    def device(value, wanted, message=""):
        for found in value.parameters() if isinstance(value, torch.nn.Module) else [value]:
            assert str(found.device).startswith(str(wanted)), f"on {found.device}, not {wanted}"

    def holds(value, message=""):
        assert value, message

    def copied(value):
        if isinstance(value, torch.nn.Module):
            made = copy.deepcopy(value)
            for old, new in zip(value.state_dict(keep_vars=True).values(), made.state_dict(keep_vars=True).values()):
                new._place = old.device
            return made
        if isinstance(value, torch.Tensor):
            return value.detach().clone().requires_grad_(value.requires_grad)
        if isinstance(value, list):
            return [copied(item) for item in value]
        return value

    def call(function, arguments):
        if isinstance(function, str):
            if function not in names:
                raise needs("a function of the lesson's that is not translated")
            function = names[function]
        return function(*map(copied, arguments))

    def error(*_):
        raise needs("an error that the check asks for")

    own = dict(names, events=Counters(), expect=holds, expect_equal=same, expect_close=close, call=call)
    own.update(expect_device=device, expect_error=error, Fields=Fields)
    found, spoilt = [], set()
    for statement in ast.parse(python).body:
        # What a check hands over has its fields, as a class's instance would.
        statement = ast.fix_missing_locations(WithFields().visit(statement))
        line = ast.unparse(statement).splitlines()[0][:70]
        code = compile(ast.Module([statement], []), "check", "exec")
        if spoilt & mentioned(statement):
            spoilt |= changed(statement, own)
            found.append([f"check `{line}`", "skipped", "what stands below what was skipped of a check"])
            continue
        try:
            with limited(), mode, contextlib.redirect_stdout(io.StringIO()):
                exec(code, own)
        except needs as reason:
            spoilt |= changed(statement, own)
            found.append([f"check `{line}`", "skipped", str(reason)])
        except NameError as error:
            spoilt |= changed(statement, own)
            found.append([f"check `{line}`", "skipped", f"a word that stands for nothing here: {error.name}"])
        except Exception as error:
            text = str(error).splitlines()[0] if str(error) else ""
            if MISSING.search(text):
                spoilt |= changed(statement, own)
                found.append([f"check `{line}`", "skipped", "a GPU's driver, or the package safetensors"])
                continue
            found.append([f"check `{line}`", "differs", f"{type(error).__name__}: {text}"])
        else:
            if "expect" in line:
                found.append([f"check `{line}`", "same", ""])
    return found


def changed(statement, names):
    """Names that a statement binds, by functions that it mentions as well."""
    found = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for name in mentioned(statement):
        if name.startswith("function_") and name in names:
            code = names[name].__code__
            found |= {i.argval for i in dis.get_instructions(code) if i.opname == "STORE_GLOBAL"}
    return found


def dumped(torch, value, timed):
    """A value as the Rhai side tells of it."""
    if isinstance(value, torch.Tensor):
        flat = value.detach().cpu().to(torch.float64).flatten()
        step = max(len(flat) // MOST, 1)
        return {
            "kind": "tensor",
            "shape": str(list(value.shape)),
            "dtype": str(value.dtype).removeprefix("torch."),
            "device": str(value.device),
            "values": [number(x) for x in flat[::step].tolist()],
        }
    if isinstance(value, (list, tuple)):
        return {"kind": "list", "items": [dumped(torch, x, timed) for x in value]}
    if isinstance(value, dict):
        return {"kind": "dict", "items": {str(key): dumped(torch, x, timed) for key, x in value.items()}}
    if isinstance(value, float) and timed:
        return {"kind": "skipped", "reason": "times"}
    if value is None or isinstance(value, (bool, str)):
        return {"kind": "plain", "value": value}
    if isinstance(value, (int, float)):
        return {"kind": "plain", "value": number(value)}
    if isinstance(value, (torch.device, torch.dtype)):
        return {"kind": "plain", "value": str(value).removeprefix("torch.")}
    if isinstance(value, torch.nn.Module):
        return {"kind": "module", "items": dumped(torch, dict(value.state_dict()), timed)}
    return {"kind": "other"}


def number(x):
    if isinstance(x, float) and not math.isfinite(x):
        return {"nan": "nan", "inf": "inf", "-inf": "-inf"}[str(x)]
    return x


if __name__ == "__main__":
    sys.exit(main())
