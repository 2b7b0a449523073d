"""Samples as a Rhai script: many in one process, each in a `try`, with tensors in and out by a safetensors file.

Part of check_peer_samples.py.
"""

import json
import re
import subprocess
import tempfile
from pathlib import Path

import torch

MARK = "@@"
# So many samples a process, and so many seconds for all of them.
AT_ONCE, SECONDS = 400, 60
KINDS = {
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64",
    torch.int32: "I32", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8", torch.bool: "BOOL",
}  # fmt: skip
DTYPES = {name: dtype for dtype, name in KINDS.items()}

PRELUDE = """
fn flat__(v, fields) {
    if type_of(v) == "array" { return v.reduce(|all, part| all + flat__(part, fields), []); }
    if type_of(v) == "map" {
        let names = if fields.is_empty() { v.keys() } else { fields };
        return names.reduce(|all, name| if name in v { all + flat__(v[name], []) } else { all }, []);
    }
    [v]
}
fn plain__(v) {
    let kind = type_of(v);
    if kind == "f64" && (v.is_nan() || v.is_infinite()) { return v.to_string(); }
    if kind in ["bool", "i64", "f64", "string", "()"] { v } else { `${v}` }
}
fn told__(id, at, e) {
    let told = #{id: id, at: at, kind: "", message: `${e}`};
    try { told.kind = e.kind; told.message = e.message; } catch {}
    print("MARK" + told.to_json());
}
fn given__(id, values, tensors) {
    print("MARK" + #{id: id, at: "values", values: values, tensors: tensors}.to_json());
}
let L = load(IN);
let R = #{};
""".replace("MARK", MARK)


def table(program):
    """The names that the program has as PyTorch's, `F::relu`, `.relu`, `relu`, `.relu_` in place, with their parameters."""
    pages = subprocess.run([program, "docs"], capture_output=True, text=True, check=True).stdout
    names = {}
    for called, rest in re.findall(r"^called as +(.*)\n((?:\S.*\n)*(?:\n.*\n(?:.*\S.*\n)*)?)", pages, re.MULTILINE):
        path = re.search(r"^PyTorch +torch\.([\w.]+)", rest, re.MULTILINE)
        forms = re.search(r"^in place +(.*)$", rest, re.MULTILINE)
        for row in [called] + ([forms[1]] if forms else []):
            for space, name in re.findall(r"([\w:]+::|[a-z]\.|\b)(\w+)\(…\)", row):
                if path and path[1].split(".")[-1] == name.rstrip("_") or path and path[1].split(".")[-1] == name:
                    parameters = re.findall(r"^  (\w+) {2,}\S", rest, re.MULTILINE)
                    names.setdefault(("." if space.endswith(".") else space) + name, set()).update(parameters)
    return names


def stored(path, tensors):
    """Writes a safetensors file of contiguous tensors."""
    header, parts, at = {}, [], 0
    for name, t in tensors.items():
        data = t.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if t.numel() else b""
        header[name] = {"dtype": KINDS[t.dtype], "shape": list(t.shape), "data_offsets": [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(parts))


def loaded(path):
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    out = {}
    for name, one in json.loads(data[8 : 8 + size]).items():
        if name == "__metadata__":
            continue
        start, end = (8 + size + at for at in one["data_offsets"])
        kind = DTYPES[one["dtype"]]
        t = torch.frombuffer(bytearray(data[start:end]), dtype=kind) if end > start else torch.empty(0, dtype=kind)
        out[name] = t.reshape(one["shape"])
    return out


def block(id, record, tensors, device):
    """The lines of one sample; adds what they read to `tensors`."""
    moved = f'.to("{device}")' if device else ""
    lines = ["try {"]
    for name, one in record["inputs"].items():
        tensors[f"{id}.{name}"] = one["data"]
        made = f'L["{id}.{name}"]{moved}'
        if one["stride"] is not None:
            made += f".as_strided({one['size']}, {one['stride']}, 0)"
        lines.append(f"    let {name} = {made}{'.requires_grad_(true)' if one['grad'] else ''};")
    if record.get("state"):
        tensors |= {f"{id}.s.{key}": t for key, t in record["state"].items()}
        lines.append("    let state = #{};")
        lines += [f'    state["{key}"] = L["{id}.s.{key}"]{moved};' for key in record["state"]]
    if record["kind"] == "start":
        lines.append("    manual_seed(7);")
    lines += [f"    {row}" for row in record.get("setup", [])]
    if device and record["kind"] == "module":
        lines.append(f'    net.to("{device}");')
    if record.get("parameters"):
        lines.append("    let p = net.parameters();")
    if record["random"] and record["kind"] != "start":
        lines.append("    manual_seed(7);")
    lines.append(f"    let y = {record['line']};")
    if "error" in record:
        return lines + [f"    given__({id}, [], 0);", f'}} catch (e) {{ told__({id}, "call", e); }}']
    fields = json.dumps(record["fields"])
    lines += [
        f"    let outs = flat__(y, {fields});",
        "    let values = [];",
        "    for (out, k) in outs {",
        f'        if type_of(out) == "Tensor" {{ R[`{id}.o${{k}}`] = out; }}',
        '        values.push(if type_of(out) == "Tensor" { "tensor" } else { plain__(out) });',
        "    }",
        f"    given__({id}, values, outs.len());",
    ]
    if record.get("gradients"):
        names = list(record["gradients"])
        for k, c in enumerate(record["cotangents"]):
            tensors[f"{id}.c{k}"] = c
        pairs = ", ".join(f'[outs[{at}], L["{id}.c{k}"]{moved}]' for k, at in enumerate(record["through"]))
        twice = ", create_graph: true" if record.get("second") else ""
        lines += [
            "    try {",
            f"        let pairs = [{pairs}].filter(|p| p[0].requires_grad);",
            '        if pairs.is_empty() { throw RuntimeError("no result requires a gradient"); }',
            f"        let grads = autograd::grad(pairs.map(|p| p[0]), [{', '.join(names)}], "
            f"#{{grad_outputs: pairs.map(|p| p[1]), allow_unused: true{twice}}});",
            f'        for (g, k) in grads {{ if g != () {{ R[`{id}.g${{k}}`] = g; }} }}',
        ]
        if record.get("second"):
            for k, c in enumerate(record["cotangents2"]):
                tensors[f"{id}.d{k}"] = c
            pairs = ", ".join(
                f'[grads[{names.index(name)}], L["{id}.d{k}"]{moved}]' for k, name in enumerate(record["again"])
            )
            lines += [
                "        try {",
                f"            let pairs = [{pairs}].filter(|p| p[0] != () && p[0].requires_grad);",
                "            if !pairs.is_empty() {",
                f"                let second = autograd::grad(pairs.map(|p| p[0]), [{', '.join(names)}], "
                "#{grad_outputs: pairs.map(|p| p[1]), allow_unused: true});",
                f'                for (g, k) in second {{ if g != () {{ R[`{id}.h${{k}}`] = g; }} }}',
                "            }",
                f'        }} catch (e) {{ told__({id}, "second", e); }}',
            ]
        lines += [f'    }} catch (e) {{ told__({id}, "gradients", e); }}']
    return lines + [f'}} catch (e) {{ told__({id}, "call", e); }}']


class Outcomes:
    """What the program gave for each sample, by its number."""

    def __init__(self):
        self.tensors, self.values, self.errors = {}, {}, {}

    def take(self, text):
        for row in text.splitlines():
            if not row.startswith(MARK):
                continue
            told = json.loads(row[len(MARK) :])
            if told["at"] == "values":
                self.values[told["id"]] = told["values"]
            else:
                self.errors[told["id"], told["at"]] = (told["kind"], told["message"])


def run(program, records, device, devices, say):
    outcomes = Outcomes()
    with tempfile.TemporaryDirectory() as folder:
        for start in range(0, len(records), AT_ONCE):
            part = {id: records[id] for id in range(start, min(len(records), start + AT_ONCE))}
            of_part(program, part, device, devices, Path(folder), outcomes)
            say(f"{start + len(part)} of {len(records)} run")
    return outcomes


def of_part(program, part, device, devices, folder, outcomes):
    """Runs some samples; where the process ends, fewer at once, so that one of them is to blame."""
    tensors, lines, places = {}, [], []
    given, made, script = folder / "in.safetensors", folder / "out.safetensors", folder / "samples.rhai"
    made.unlink(missing_ok=True)
    lines += PRELUDE.replace("IN)", f'"{given}")').splitlines()
    for id, record in part.items():
        places.append((len(lines) + 1, id))
        lines += block(id, record, tensors, device)
    lines.append(f'save(R, "{made}");')
    stored(given, tensors)
    script.write_text("\n".join(lines) + "\n")
    command = [program, "run", "--devices", devices, "--timeout", str(SECONDS if len(part) > 20 else 20), script]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        outcomes.take(done.stdout)
        outcomes.tensors.update(loaded(made))
        return
    said = next((row for row in done.stderr.splitlines() if row.strip()), f"status {done.returncode}")
    if done.returncode == 124:
        said = "Timeout: still running"
    if len(part) == 1:
        outcomes.errors[next(iter(part)), "call"] = tuple([*said.split(": ", 1), ""][:2])
        return
    blamed = re.search(r"--> [^:]*samples\.rhai:(\d+)", done.stderr)
    before = [id for at, id in places if blamed and at <= int(blamed[1])]
    if before and done.returncode == 1:
        id = before[-1]
        parts = [{id: part[id]}, {k: v for k, v in part.items() if k != id}]
    else:
        ids = list(part)
        parts = [{k: part[k] for k in half} for half in (ids[: len(ids) // 2], ids[len(ids) // 2 :])]
    for some in parts:
        of_part(program, some, device, devices, folder, outcomes)
