#!/usr/bin/env python3
"""Compile every CUDA kernel with NVRTC, on a machine without a GPU.

    python3 scripts/check_kernels.py [--arch 80] [--only softmax] [--folder DIR | --release] [--cache DIR]

Needs `pip install nvidia-cuda-nvrtc` (or nvidia-cuda-nvrtc-cu12) in the Python that runs it, and cargo. A test writes
each kernel's source; all of them are compiled for one architecture, and a sample for each of sm_75, sm_80, sm_90 and
sm_100; attention needs sm_80, and what multiplies by warpgroups is for sm_90a alone. A kernel fails too where the
registers of its largest block are more than a multiprocessor has. Prints what fails and exits with 1. With --cache,
machine code for `--arch` is left in DIR as the program keeps it (`$XDG_CACHE_HOME/tensorlab/kernels`).
"""

import argparse
import ctypes
import glob
import hashlib
import math
import multiprocessing
import os
import struct
import subprocess
import sys
import sysconfig
import tempfile
import time

ARCHITECTURES = ("75", "80", "90", "100")
OPTIONS = (b"--std=c++17", b"--restrict")
# Of a multiprocessor, on every architecture here; and the most threads of a block.
ALL_REGISTERS, LARGEST_BLOCK = 65536, 1024
# Notes in machine code: those that bring their size, how many registers a thread has, the sizes of the largest block.
SIZED, REGISTERS, THREADS = 4, 0x2F, 0x05
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TEST = "device::cuda::kernels::tests::every_kernel_is_written"


def library():
    """NVRTC of this Python's packages, or the system's."""
    site = sysconfig.get_paths()["purelib"]
    found = glob.glob(os.path.join(site, "nvidia", "*", "lib", "libnvrtc.so*"))
    nvrtc = ctypes.CDLL(sorted(found)[-1] if found else "libnvrtc.so")
    nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
    return nvrtc


def supported(nvrtc):
    count = ctypes.c_int()
    nvrtc.nvrtcGetNumSupportedArchs(ctypes.byref(count))
    values = (ctypes.c_int * count.value)()
    nvrtc.nvrtcGetSupportedArchs(values)
    return [str(v) for v in values]


def is_specific(path):
    """Whether a kernel has instructions of one architecture alone, as `src/device/cuda/compile.rs` tells."""
    with open(path, "rb") as file:
        return b"wgmma." in file.read()


def keep(folder, path, arch, source, code):
    """As `src/device/cuda/compile.rs` names and writes it."""
    parts = (f"sm_{arch}".encode(), source, *OPTIONS)
    digits = hashlib.sha256(b"".join(part + b"\0" for part in parts)).hexdigest()[:32]
    entry = os.path.basename(path).removesuffix(".cu")
    with open(os.path.join(folder, f"{entry}-sm_{arch}-{digits}.cubin"), "wb") as file:
        file.write(hashlib.sha256(code).digest() + code)


def compile_one(nvrtc, path, arch, cache=None):
    """None, or what the compiler says. Compiled as the program does."""
    with open(path, "rb") as file:
        source = file.read()
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, os.path.basename(path).encode(), 0, None, None)
    options = [f"--gpu-architecture=sm_{arch}".encode(), *OPTIONS]
    status = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    cubin = ctypes.c_size_t()
    if status == 0:
        nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(cubin))
    code = ctypes.create_string_buffer(max(1, cubin.value))
    if cubin.value > 0:
        nvrtc.nvrtcGetCUBIN(program, code)
        if cache:
            keep(cache, path, arch, source, code.raw)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    said = log.value.decode(errors="replace").strip()
    # Products of warpgroups that wait for each other: right, but slow.
    if status == 0 and cubin.value > 0 and "serialized" not in said:
        return too_large(code.raw)
    return said or nvrtc.nvrtcGetErrorString(status).decode()


def too_large(code):
    """None, or what is said of a kernel whose largest block wants more registers than there are. A thread's come in
    eights; a kernel without a bound is taken for one of the largest blocks."""
    attributes = dict(notes(code))
    registers = [count for attribute, (_, count) in attributes.get(".nv.info", []) if attribute == REGISTERS]
    bounds = [math.prod(sizes) for notes_of in attributes.values() for attribute, sizes in notes_of if attribute == THREADS]
    if not registers:
        return "its machine code does not tell of registers"
    each, threads = -(-max(registers) // 8) * 8, max(bounds, default=LARGEST_BLOCK)
    if each * threads <= ALL_REGISTERS:
        return None
    return f"{each} registers of {threads} threads are more than {ALL_REGISTERS}"


def notes(code):
    """What an ELF file of machine code says of each kernel: for each section of notes its name, and of each note the
    number and its words. As cuobjdump and nvdisasm show them: `EIATTR_REGCOUNT`, `EIATTR_MAX_THREADS`."""
    (table,), (count, names) = struct.unpack_from("<Q", code, 0x28), struct.unpack_from("<HH", code, 0x3C)
    sections = [struct.unpack_from("<IIQQQQ", code, table + 64 * i) for i in range(count)]
    for name, _, _, _, start, size in sections:
        name = code[sections[names][4] + name :].split(b"\0", 1)[0].decode()
        if not name.startswith(".nv.info"):
            continue
        found, at = [], start
        while at + 4 <= start + size:
            form, attribute, value = struct.unpack_from("<BBH", code, at)
            at += 4
            if form == SIZED:
                found.append((attribute, struct.unpack_from(f"<{value // 4}I", code, at)))
                at += value
        yield name, found


def work(job):
    path, arch, cache = job
    try:
        return path, arch, compile_one(work.nvrtc, path, arch, cache)
    except OSError as error:
        return path, arch, str(error)


def start():
    work.nvrtc = library()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", default="80", help="the architecture that all kernels are compiled for")
    parser.add_argument("--only", default="", help="kernels whose name contains this")
    parser.add_argument("--folder", help="sources that are there already")
    parser.add_argument("--cache", help="where machine code is left")
    parser.add_argument("--release", action="store_true", help="write the sources with the release build")
    options = parser.parse_args()
    known = supported(library())
    folder = options.folder or tempfile.mkdtemp(prefix="kernels-")
    if not options.folder:
        command = ["cargo", "test", "--quiet", *(["--release", "--locked"] if options.release else []), "--lib", TEST]
        subprocess.run(command, cwd=ROOT, env={**os.environ, "TENSORLAB_KERNELS": folder}, check=True)
    paths = sorted(glob.glob(os.path.join(folder, "*.cu")))
    paths = [path for path in paths if options.only in os.path.basename(path)]
    if not paths:
        sys.exit("there is no such kernel")
    others = [arch for arch in ARCHITECTURES if arch != options.arch]
    missing = [arch for arch in others if arch not in known]
    if missing:
        print(f"this compiler does not know sm_{', sm_'.join(missing)}")
    if options.cache:
        os.makedirs(options.cache, exist_ok=True)
    specific = [path for path in paths if is_specific(path)]
    jobs = [(path, "90a", options.cache if options.arch == "90" else None) for path in specific if "90" in known]
    total, paths = len(paths), [path for path in paths if path not in specific]
    jobs += [(path, options.arch, options.cache) for path in paths]
    samples = [(path, arch) for arch in others if arch in known for path in paths[:: max(1, len(paths) // 120)]]
    jobs += [(path, arch, None) for path, arch in samples if arch != "75" or not os.path.basename(path).startswith("attention")]
    began, failures = time.time(), 0
    with multiprocessing.Pool(initializer=start) as pool:
        for path, arch, log in pool.imap_unordered(work, jobs, chunksize=4):
            if log is not None:
                failures += 1
                print(f"{os.path.basename(path)} for sm_{arch}:\n{log}\n")
    print(f"{len(jobs)} compilations of {total} kernels in {time.time() - began:.0f} s, {failures} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
