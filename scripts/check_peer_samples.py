#!/usr/bin/env python3
"""Holds the engine against the samples that PyTorch's developers test operations, modules and optimisers with.

    scripts/check_peer_samples.py record samples.pt [--program target/release/tensorlab] [--ops REGEX] [--times 3] [--seed 8]
    scripts/check_peer_samples.py run samples.pt [--program …] [--devices cpu sim:t4] [--ops REGEX] [--show OP]
                                                 [--golden tests/golden/peer_samples.jsonl.gz]

Needs a Python with torch, numpy and expecttest; `record` also the program, for its table of names. `record` takes some
of what `op_db` offers of each op and dtype (empty, 0-d, strided, broadcast, NaN and infinity first), all of `module_db`
with a state of PyTorch's and with the first values behind a seed, and ten steps of what `optim_db` has, writes each in Rhai,
and keeps PyTorch's values, gradients, second derivatives and errors. `run` has the program do the same, compares
within `torch.testing`'s tolerances, and tells by op how many are

    right     values, dtypes, shapes, gradients; of an error its first line. Where PyTorch's own lie apart from what it
              gives for the same numbers in double precision, either is right, and how many such there are is told
    near      within ten times the tolerance at the size of the largest number; an error in other words
    refused   an error where PyTorch has none, a gradient's included
    differs   everything else; where PyTorch refuses, that there is none

`--show OP` prints each of the last three with its line (`--show all` of every op), `--golden FILE` writes a choice of
what is right on every device for the tests. Exits with 1 where a sample is refused or differs and
tests/golden/peer_samples_known.txt does not say why. Both take some two minutes for all there is.
"""

import argparse
import collections
import gzip
import json
import math
import random
import re
import sys
import warnings
from pathlib import Path

import torch

import peer_samples_script as script

ROOT = Path(__file__).resolve().parent.parent
KNOWN = ROOT / "tests" / "golden" / "peer_samples_known.txt"
# `torch.testing`'s, by the dtype of what is compared.
TOLERANCES = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
}
KINDS = {"sample": "values", "in place": "in place", "error": "errors", "module": "modules", "start": "modules' starts",
         "optimiser": "optimisers"}  # fmt: skip
VERDICTS = ("right", "near", "refused", "differs")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("do", choices=("record", "run"))
    parser.add_argument("samples", type=Path)
    parser.add_argument("--program", type=Path, default=ROOT / "target" / "release" / "tensorlab")
    parser.add_argument("--devices", nargs="+", default=["cpu"], help="cpu, and simulated ones, where inputs are moved")
    parser.add_argument("--ops", default=".*", help="a regular expression of names as in op_db")
    parser.add_argument("--times", type=int, default=1, help="record: so many times as many samples of each op and dtype")
    parser.add_argument("--seed", type=int, default=7, help="record: another choice of samples")
    parser.add_argument("--show", help="an op, or all")
    parser.add_argument("--golden", type=Path)
    parser.add_argument("--quiet", action="store_true", help="no table by op")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    if options.do == "record":
        return record(options)
    records = [r for r in torch.load(options.samples, weights_only=True) if re.fullmatch(options.ops, r["op"])]
    failed, right = False, set(range(len(records)))
    for devices in options.devices:
        place = None if devices == "cpu" else "cuda"
        # The generator of a GPU draws others, and what names the CPU goes there.
        ids = [id for id, r in enumerate(records) if not (place and (r["random"] or '"cpu"' in r["line"]))]
        some = [records[id] for id in ids]
        outcomes = script.run(options.program, some, place, devices, progress)
        judged = [judge(id, r, outcomes) for id, r in enumerate(some)]
        print(f"\non {devices}\n")
        failed = told(some, judged, options) or failed
        # The tests know PyTorch's own numbers only.
        right &= {id for id, verdict in zip(ids, judged) if verdict == ("right", "", "")}
    if options.golden:
        golden([records[id] for id in sorted(right)], options.golden)
    return 1 if failed else 0


def progress(text):
    print(text, file=sys.stderr, flush=True)


def record(options):
    import peer_samples_modules
    import peer_samples_record

    table, records, untold = script.table(options.program), [], {}
    peer_samples_record.CHOICE.update(times=options.times, seed=options.seed)
    for part in (peer_samples_record.recorded, peer_samples_modules.modules, peer_samples_modules.optimisers):
        some, why = part(table, options.ops, progress)
        records += some
        untold |= why
    torch.save(records, options.samples)
    reasons = collections.Counter()
    for op, why in untold.items():
        for reason, count in why.items():
            reasons[reason] += count
        if not any(r["op"] == op for r in records):
            print(f"no sample of {op}: {', '.join(why)}")
    for reason, count in reasons.most_common():
        print(f"{count:>6}  {reason}")
    print(f"{len(records)} samples of {len({r['op'] for r in records})} ops, PyTorch {torch.__version__}")


def judge(id, record, outcomes):
    """The verdict on a sample, of which category it is, and what it says."""
    failed = outcomes.errors.get((id, "call"))
    if "error" in record:
        if failed is None:
            return "differs", "accepted", f"no error | {record['error']}"
        same = ": ".join(failed).splitlines()[0].strip() == record["error"]
        return ("right", "", "") if same else ("near", "error text", f"{': '.join(failed)} | {record['error']}")
    if failed:
        return "refused", refusal(failed), f"{': '.join(failed)} | {brief(record['expect'])}"
    worst = ("right", "", "")
    for verdict in verdicts(id, record, outcomes):
        worse = VERDICTS.index(verdict[0]) > VERDICTS.index(worst[0])
        if worse or (worst[1] == "" and verdict[0] == worst[0]):
            worst = verdict
    return worst


def refusal(failed):
    kind, message = failed
    if "unknown option" in message:
        return "option"
    if kind == "NameError" or "there is no function" in message:
        return "form"
    return "time" if kind == "Timeout" else "error"


def verdicts(id, record, outcomes):
    values, rtol, atol = outcomes.values[id], record["rtol"], record["atol"]
    exact = record.get("exact") or {}
    if len(values) != len(record["expect"]):
        yield "differs", "results", f"{len(values)} results | {len(record['expect'])}"
        return
    for k, (ours, want) in enumerate(zip(values, record["expect"])):
        if ours == "tensor":
            ours = outcomes.tensors[f"{id}.o{k}"]
        which = f"result {k}: " if len(values) > 1 else ""
        wide = exact["expect"][k] if exact else None
        yield same(ours, want, rtol, atol, record["unset"], "value", which, wide)
    for letter, key, name in (("g", "gradients", "gradient"), ("h", "second", "second derivative")):
        if not record.get(key):
            continue
        failed = outcomes.errors.get((id, key))
        if failed and failed[1] == "no result requires a gradient":
            if all(g is None or not g.any() for g in record[key].values()):
                yield "near", "no graph, zeros", "no graph | zeros"
            else:
                yield "differs", "no graph", f"no graph | {brief(list(record[key].values()))}"
            return
        if failed:
            yield "refused", f"{name} refused", f"{name}: {': '.join(failed)} | {brief(list(record[key].values()))}"
            return
        for k, (x, want) in enumerate(record[key].items()):
            ours = outcomes.tensors.get(f"{id}.{letter}{k}")
            if ours is None or want is None:
                one = ours if want is None else want
                if one is not None and bool((one == 0).all()):
                    # Of what a gradient does not depend on there is none, or zeros: what kernels' own rules give.
                    if want is not None:
                        kind = "right" if letter == "h" else "near"
                        yield kind, f"no {name}, zeros", f"{name} of {x}: () | zeros"
                elif one is not None:
                    yield "differs", name, f"{name} of {x}: {brief(ours)} | {brief(want)}"
                continue
            wide = (exact.get(key) or {}).get(x)
            yield same(ours, want, rtol, atol, record["unset"], name, f"{name} of {x}: ", wide)


def same(ours, want, rtol, atol, unset, category, which, exact=None):
    """The verdict on one result; `exact` is what double precision gives."""
    pair = f"{which}{brief(ours)} | {brief(want)}"
    if not isinstance(want, torch.Tensor) or not isinstance(ours, torch.Tensor):
        return ("right", "", "") if equal(ours, want, rtol, atol) else ("differs", category, pair)
    if ours.dtype != want.dtype:
        return "differs", f"{category}'s dtype", f"{which}{ours.dtype} | {want.dtype}"
    if ours.shape != want.shape:
        return "differs", f"{category}'s shape", f"{which}{list(ours.shape)} | {list(want.shape)}"
    if unset or want.numel() == 0:
        return "right", "", ""
    if not want.is_floating_point():
        return ("right", "", "") if torch.equal(ours, want) else ("differs", category, pair)
    rtol, atol = (max(a, b) for a, b in zip((rtol, atol), TOLERANCES[want.dtype]))
    a, b = ours.double(), want.double()
    close = near(a, b, rtol, atol)
    if bool(close.all()):
        return "right", "", ""
    if exact is not None and exact.shape == want.shape and exact.is_floating_point():
        close |= near(a, exact.to(want.dtype).double(), rtol, atol)
        if bool(close.all()):
            return "right", "by double precision", pair
    size = b[b.isfinite()].abs().max().item() if bool(b.isfinite().any()) else 0.0
    loose = close | ((a - b).abs() <= 10 * (atol + rtol * size))
    k = int((~(close if bool(loose.all()) else loose)).flatten().nonzero()[0])
    pair = f"{pair}, at {k}: {a.flatten()[k].item():.9g} | {b.flatten()[k].item():.9g}"
    if bool(loose.all()):
        return "near", category, pair
    wrong = ~loose
    special = bool((~(a[wrong].isfinite() & b[wrong].isfinite())).all())
    return "differs", f"{category} at NaN or infinity" if special else category, pair


def near(a, b, rtol, atol):
    return (a == b) | (a.isnan() & b.isnan()) | ((a - b).abs() <= atol + rtol * b.abs())


def equal(ours, want, rtol, atol):
    if isinstance(want, float):
        if isinstance(ours, str):
            ours = float(ours)
        if not isinstance(ours, float):
            return False
        return ours == want or (math.isnan(ours) and math.isnan(want)) or abs(ours - want) <= atol + rtol * abs(want)
    if isinstance(want, torch.dtype):
        want = str(want)
    return type(ours) is type(want) and ours == want


def brief(value):
    """A value in few characters."""
    if isinstance(value, torch.Tensor):
        numbers = [f"{v:.7g}" if isinstance(v, float) else str(v).lower() for v in value.flatten().tolist()[:8]]
        more = ", …" if value.numel() > 8 else ""
        return f"{str(value.dtype)[6:]}{list(value.shape)} [{', '.join(numbers)}{more}]"
    if isinstance(value, (list, tuple)):
        return "[" + "; ".join(brief(v) for v in value[:3]) + ("; …" if len(value) > 3 else "") + "]"
    return repr(value)


def inputs(record):
    """The inputs of a line, in few characters."""
    parts = []
    for name, one in record["inputs"].items():
        t = one["data"] if one["stride"] is None else one["data"].as_strided(one["size"], one["stride"])
        stride = f" stride {one['stride']}" if one["stride"] is not None else ""
        parts.append(f"{name} = {brief(t)}{stride}")
    return "; ".join(parts)


def known():
    """Patterns of an op, and of a sample's verdict, dtype, category and what it says, each with the reason."""
    rows = [row.split(" | ") for row in KNOWN.read_text().splitlines() if row.strip() and not row.startswith("#")]
    return [(re.compile(op), re.compile(what), reason) for op, what, reason in rows]


def told(records, judged, options):
    rows, totals = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
    categories, causes = collections.Counter(), collections.Counter()
    unknown, reasons = [], known()
    for one, (verdict, category, said) in zip(records, judged):
        kind = KINDS[one["kind"]]
        rows[one["op"]][verdict] += 1
        totals[kind][verdict] += 1
        totals["all"][verdict] += 1
        if category:
            categories[kind, verdict, category] += 1
        if verdict in ("refused", "differs"):
            line = f"{verdict} {one['dtype']} {kind}, {category}: {said}"
            reason = next((why for op, what, why in reasons if op.fullmatch(one["op"]) and what.search(line)), None)
            causes[reason] += 1
            unknown += [] if reason else [one["op"]]
        if verdict != "right" and options.show and (options.show == "all" or re.fullmatch(options.show, one["op"])):
            line = " ".join([*one.get("setup", []), one["line"]])
            print(f"{one['op']} {one['dtype']} {verdict} ({category})\n    {line}\n    {inputs(one)}\n    {said}")
    print(f"{'op':<44} {'tried':>6} {'right':>6} {'near':>6} {'refused':>8} {'differs':>8}")
    for name, row in [] if options.quiet else sorted(rows.items()):
        print(f"{name:<44} {cells(row)}")
    for name, row in totals.items():
        print(f"{'total: ' + name:<44} {cells(row)}  {100 * row['right'] / sum(row.values()):5.1f} %")
    print()
    for (kind, verdict, category), count in categories.most_common():
        print(f"{count:>6}  {kind}: {verdict}: {category}")
    print()
    for reason, count in causes.most_common():
        print(f"{count:>6}  {reason or 'for no known reason'}")
    if unknown:
        names = sorted(set(unknown))
        print(f"\n{len(unknown)} samples of {len(names)} ops for no known reason: {', '.join(names)}")
    return bool(unknown)


def cells(row):
    return f"{sum(row.values()):>6} {row['right']:>6} {row['near']:>6} {row['refused']:>8} {row['differs']:>8}"


def golden(records, path):
    """A choice of what is right, in the form of the other recordings: the same reader runs it."""
    fields = {"values", "indices", "min", "max", "sign", "logabsdet", "Q", "R", "U", "S", "Vh", "eigenvalues", "eigenvectors",
              "solution", "residuals", "rank", "singular_values", "LU", "pivots"}  # fmt: skip
    lines, draw, taken = [], random.Random(7), collections.Counter()
    order = [r for r in records if r["kind"] in ("sample", "in place")]
    draw.shuffle(order)
    for r in order:
        tensors = [one["data"] for one in r["inputs"].values()] + r["expect"]
        if r["random"] or r["unset"] or not set(r["fields"]) <= fields or not r["inputs"]:
            continue
        if any(one["stride"] for one in r["inputs"].values()):
            continue
        if not all(isinstance(t, torch.Tensor) and t.numel() <= 60 for t in tensors):
            continue
        most = 5 if r["dtype"] == "float32" else 2
        if taken[r["op"], r["dtype"], r["kind"]] >= most:
            continue
        taken[r["op"], r["dtype"], r["kind"]] += 1
        lines.append(case(r, f"{r['op']} {r['dtype']} {r['kind']} {taken[r['op'], r['dtype'], r['kind']]}"))
    lines.sort(key=lambda line: line["name"])
    with gzip.GzipFile(path, "wb", mtime=0) as out:
        for one in lines:
            out.write((json.dumps(one) + "\n").encode())
    print(f"\n{len(lines)} samples in {path}, {path.stat().st_size // 1000} kB")


def case(r, name):
    graded = r.get("gradients") and r["through"] == [0]
    graded_too = [g for g in r["gradients"].values() if g is not None] if graded else []
    held = [TOLERANCES.get(t.dtype, (0.0, 0.0)) for t in [*r["expect"], *graded_too]] + [(r["rtol"], r["atol"])]
    one = {
        "name": name,
        "rhai": r["line"],
        "inputs": {x: plain(v["data"], requires_grad=bool(graded and v["grad"])) for x, v in r["inputs"].items()},
        "expect": [plain(t) for t in r["expect"]],
        "rtol": max(rtol for rtol, _ in held),
        "atol": max(atol for _, atol in held),
    }
    if graded:
        one["cotangent"] = plain(r["cotangents"][0])
        one["grads"] = {x: plain(g) for x, g in r["gradients"].items() if g is not None}
    return one


def plain(t, **more):
    data = t.reshape(-1).to(torch.float64 if t.is_floating_point() else t.dtype).tolist()
    return {"shape": list(t.shape), "dtype": str(t.dtype)[6:], "data": [number(v) for v in data], **more}


def number(v):
    """A number as JSON has it, and a word for what JSON has not."""
    return v if not isinstance(v, float) or math.isfinite(v) else str(v)


if __name__ == "__main__":
    sys.exit(main())
