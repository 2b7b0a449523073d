#!/usr/bin/env python3
"""Lets NumPy and the safetensors package read what tensorlab writes.

    scripts/check_files.py [--program target/release/tensorlab]

Needs numpy, torch and safetensors. Exits with 1 where a value, dtype or shape differs.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import load_file

ROOT = Path(__file__).resolve().parent.parent

SCRIPT = """
let all = #{};
for name in ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"] {
    let x = (arange(6).reshape([2, 3]) * 7 % 5).to(name);
    save(x, `${name}.npy`);
    save(x.T, `${name}_t.npy`);
    all[name] = x;
    all[name + "_t"] = x.T;
}
all.scalar = tensor(2.5);
all.empty = zeros([0, 4]);
all["layer.0/größe"] = arange(3);
save(tensor(2.5), "scalar.npy");
save(zeros([0, 4]), "empty.npy");
save(all, "stored.npz");
save(all, "deflated.npz", #{compress: true});
save([arange(2), 3, 0.5, true], "unnamed.npz");
all.bfloat16 = tensor([1.5, -2.0, 3.25]).bfloat16();
save(all, "all.safetensors", #{metadata: #{note: "größe"}});
save(#{on: arange(5).to("cuda"), off: ones(2)}, "gpu.safetensors");
manual_seed(0);
let net = nn::Sequential(nn::Linear(3, 2), nn::BatchNorm1d(2));
save(net.state_dict(), "net.safetensors");
save(#{net: net.state_dict(), step: 3, lr: [0.1, "x"]}, "nested.safetensors");
"""

DTYPES = ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"]
failures = []


def check(what, got, want):
    got, want = (torch.as_tensor(np.ascontiguousarray(x)) if isinstance(x, np.ndarray) else x for x in (got, want))
    if got.dtype != want.dtype or got.shape != want.shape or not torch.equal(got, want):
        failures.append(f"{what}: {got} where {want} is expected")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--program", type=Path, default=ROOT / "target" / "release" / "tensorlab")
    program = arguments.parse_args().program.resolve()
    base = torch.arange(6).reshape(2, 3) * 7 % 5
    want = {name: base.to(getattr(torch, name)) for name in DTYPES}
    want |= {f"{name}_t": x.T for name, x in list(want.items())}
    want |= {"scalar": torch.tensor(2.5), "empty": torch.zeros(0, 4)}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        subprocess.run([program, "run", "--devices", "sim:t4", "-"], input=SCRIPT, text=True, check=True, cwd=folder)
        for name, x in want.items():
            check(f"{name}.npy", torch.from_numpy(np.load(folder / f"{name}.npy")), x)
        want["layer.0/größe"] = torch.arange(3)
        for name in ("stored.npz", "deflated.npz"):
            with np.load(folder / name) as file:
                assert set(file.files) == set(want), file.files
                for key, x in want.items():
                    check(f"{name}: {key}", torch.from_numpy(file[key]), x)
        with np.load(folder / "unnamed.npz") as file:
            got = [file[f"arr_{i}"] for i in range(4)]
        for x, y in zip(got, [np.arange(2), np.array(3), np.array(0.5), np.array(True)], strict=True):
            check("unnamed.npz", x, y)
        want["bfloat16"] = torch.tensor([1.5, -2.0, 3.25]).bfloat16()
        got = load_file(folder / "all.safetensors")
        assert set(got) == set(want), got.keys()
        for key, x in want.items():
            check(f"all.safetensors: {key}", got[key], x)
        with safe_open(folder / "all.safetensors", "pt") as file:
            assert file.metadata() == {"note": "größe"}, file.metadata()
        got = load_file(folder / "gpu.safetensors")
        check("gpu.safetensors", got["on"], torch.arange(5))
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
        twin = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
        twin.load_state_dict(load_file(folder / "net.safetensors"))
        for key, x in net.state_dict().items():
            check(f"net.safetensors: {key}", twin.state_dict()[key], x)
        got = load_file(folder / "nested.safetensors")
        for key, x in net.state_dict().items():
            check(f"nested.safetensors: {key}", got[f"net.{key}"], x)
    print("\n".join(failures) or f"{len(want)} arrays in 8 kinds of files are read as they were written")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
