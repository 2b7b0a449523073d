#!/usr/bin/env python3
"""Records files that NumPy and the safetensors package write, with what is in them: tests/golden/files/.

    python3 scripts/record_files.py

Needs numpy, torch and safetensors. `expected.json` holds, for each file that can be read, its arrays by name as
dtype, shape and values; `same` lists the .npy files that must come out byte by byte the same when they are written
again; `refused` holds, for each file that cannot be read, words that the error must have.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import torch
from numpy.lib import format as npy
from safetensors.torch import save_file

OUT = Path(__file__).resolve().parent.parent / "tests" / "golden" / "files"
DTYPES = ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"]

expected, same, refused = {}, [], {}


def values(array):
    flat = array.reshape(-1).tolist()
    return [str(v) if isinstance(v, float) and not np.isfinite(v) else v for v in flat]


def entry(array):
    if isinstance(array, torch.Tensor):
        name, shape = str(array.dtype).removeprefix("torch."), list(array.shape)
        return {"dtype": name, "shape": shape, "data": values(array.float() if name == "bfloat16" else array)}
    return {"dtype": array.dtype.newbyteorder("=").name, "shape": list(array.shape), "data": values(array)}


def put(name, array, version=None, again=True):
    with open(OUT / name, "wb") as file:
        npy.write_array(file, array, version=version)
    expected[name] = {"": entry(array)}
    if again:
        same.append(name)


def numbers(dtype, shape=(2, 3)):
    count = int(np.prod(shape))
    return (np.arange(count) * 7 % 5 - (0 if dtype in ("uint8", "bool") else 2)).astype(dtype).reshape(shape)


def npy_files():
    for dtype in DTYPES:
        put(f"{dtype}.npy", numbers(dtype))
        put(f"{dtype}_fortran.npy", np.asfortranarray(numbers(dtype)), again=False)
    for dtype in [">f8", ">f4", ">f2", ">i8", ">i4", ">i2"]:
        put(f"big_endian_{dtype[1:]}.npy", numbers("float64").astype(dtype), again=False)
    put("big_endian_fortran.npy", np.asfortranarray(numbers("float64", (2, 3, 4)).astype(">f4")), again=False)
    put("scalar.npy", np.array(3.5))
    put("scalar_bool.npy", np.array(True))
    put("empty.npy", np.zeros((0,), "float32"))
    put("empty_3d.npy", np.zeros((2, 0, 3), "int64"))
    put("one.npy", np.array([1 << 62], "int64"))
    put("five_d.npy", numbers("int16", (2, 1, 3, 1, 2)))
    put("special.npy", np.array([np.nan, np.inf, -np.inf, 0.0, 5e-324]))
    put("version_2.npy", numbers("float32"), version=(2, 0), again=False)
    put("version_3.npy", numbers("float32"), version=(3, 0), again=False)
    for name, array, words in [
        ("structured", np.zeros(2, [("a", "f4"), ("b", "i4")]), "structured dtype"),
        ("complex", np.zeros(2, "complex64"), "complex numbers"),
        ("uint16", np.zeros(2, "uint16"), "uint16"),
        ("uint32", np.zeros(2, "uint32"), "uint32"),
        ("uint64", np.zeros(2, "uint64"), "uint64"),
        ("text", np.array(["ab", "c"]), "text"),
        ("bytes", np.array([b"ab", b"c"]), "text"),
        ("objects", np.array([1, None], dtype=object), "Python objects"),
        ("times", np.array(["2020-01-01"], "datetime64[D]"), "times"),
        ("void", np.zeros(2, "V2"), "perhaps bfloat16"),
        ("long_double", np.zeros(2, "longdouble"), "long doubles"),
    ]:
        with open(OUT / f"refused_{name}.npy", "wb") as file:
            npy.write_array(file, array, allow_pickle=True)
        refused[f"refused_{name}.npy"] = words


def npz_files():
    arrays = {
        "weights": numbers("float32", (3, 4)),
        "fortran": np.asfortranarray(numbers("int64")),
        "step": np.array(7),
        "none": np.zeros((0, 2), "float16"),
        "mask": numbers("bool"),
        "layer/0.bias": numbers("float64", (3,)),
        "größe": numbers("uint8", (2,)),
    }
    for name, save in [("stored", np.savez), ("deflated", np.savez_compressed)]:
        save(OUT / f"{name}.npz", **arrays)
        expected[f"{name}.npz"] = {k: entry(v) for k, v in arrays.items()}
    np.savez(OUT / "unnamed.npz", numbers("float32"), np.array([1, 2]))
    expected["unnamed.npz"] = {"arr_0": entry(numbers("float32")), "arr_1": entry(np.array([1, 2]))}
    np.savez(OUT / "nothing.npz")
    expected["nothing.npz"] = {}
    np.savez(OUT / "refused_text.npz", good=np.zeros(2), bad=np.array(["x"]))
    refused["refused_text.npz"] = "text"


def safetensors_files():
    torch.manual_seed(0)
    tensors = {
        "f64": torch.randn(2, 3, dtype=torch.float64),
        "f32": torch.randn(3),
        "f16": torch.randn(2, 2).half(),
        "bf16": torch.randn(2, 2).bfloat16(),
        "i64": torch.tensor([1 << 62, -5]),
        "i32": torch.tensor([[1], [2]], dtype=torch.int32),
        "i16": torch.tensor([-300], dtype=torch.int16),
        "i8": torch.tensor([-3], dtype=torch.int8),
        "u8": torch.tensor([250], dtype=torch.uint8),
        "bool": torch.tensor([True, False, True]),
        "scalar": torch.tensor(2.5),
        "empty": torch.zeros(0, 4),
    }
    save_file(tensors, OUT / "all.safetensors", metadata={"format": "pt", "note": "größe"})
    expected["all.safetensors"] = {k: entry(v) for k, v in tensors.items()}
    net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    save_file(net.state_dict(), OUT / "net.safetensors")
    expected["net.safetensors"] = {k: entry(v) for k, v in net.state_dict().items()}
    save_file({}, OUT / "nothing.safetensors")
    expected["nothing.safetensors"] = {}
    save_file({"x": torch.zeros(2, dtype=torch.float8_e4m3fn)}, OUT / "refused_float8.safetensors")
    refused["refused_float8.safetensors"] = "no dtype 'F8_E4M3'"
    save_file({"x": torch.zeros(2, dtype=torch.uint16)}, OUT / "refused_uint16.safetensors")
    refused["refused_uint16.safetensors"] = "no dtype 'U16'"


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    npy_files()
    npz_files()
    safetensors_files()
    record = {"expected": expected, "same": same, "refused": refused}
    (OUT / "expected.json").write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
