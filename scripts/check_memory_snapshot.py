#!/usr/bin/env python3
"""Checks that a memory snapshot of tensorlab is one to PyTorch.

Usage: check_memory_snapshot.py [FILE]    (needs torch; no GPU)

Without a file it runs a small script on two simulated GPUs first, with the program that TENSORLAB names
(default: target/debug/tensorlab). Loads the file with pickle.load, hands it to the functions of
torch.cuda._memory_viz, and compares their sums with those of the snapshot.
"""

import io
import os
import pickle
import subprocess
import sys
import tempfile

from torch.cuda import _memory_viz as viz

SCRIPT = """
let x = zeros([1024, 1024], #{device: "cuda:0"});
let y = zeros([100], #{device: "cuda:1"});
for i in 0..3 { let z = x + i; }
try { zeros([1 << 40], #{device: "cuda:1", dtype: int8}); } catch (e) { }
"""


def made(folder):
    """The snapshot of the script above."""
    script, out = os.path.join(folder, "script.rhai"), os.path.join(folder, "snapshot.pickle")
    with open(script, "w") as file:
        file.write(SCRIPT)
    program = os.environ.get("TENSORLAB", "target/debug/tensorlab")
    subprocess.run([program, "run", "--devices", "sim:t4x2", "--memory-snapshot", out, script], check=True)
    return out


def text_of(lines):
    """Stands in for the flame graph's script, which would be fetched from the net."""
    return lines


def check(snapshot):
    segments, traces = snapshot["segments"], snapshot["device_traces"]
    assert segments, "no segment"
    for segment in segments:
        blocks = segment["blocks"]
        assert sum(b["size"] for b in blocks) == segment["total_size"], segment
        held = sum(b["size"] for b in blocks if b["state"] == "active_allocated")
        assert held == segment["allocated_size"], segment
        address = segment["address"]
        for block in blocks:
            assert block["address"] == address, "blocks fill their segment"
            address += block["size"]
            assert block["requested_size"] <= block["size"]
            assert block["frames"] or block["state"] == "inactive", block

    summary = viz.segsum(snapshot)
    assert f"segments: {len(segments)}\n" in summary, summary
    reserved = sum(s["total_size"] for s in segments)
    assert f"total_reserved: {viz.Bytes(reserved)}" in summary, summary
    told = viz.trace(snapshot)
    for device, trace in enumerate(traces):
        balance = {}
        mapped = 0
        for entry in trace:
            if entry["action"] == "alloc":
                assert entry["addr"] not in balance, "an address is given out once"
                balance[entry["addr"]] = entry["size"]
            elif entry["action"] == "free_completed":
                assert balance.pop(entry["addr"]) == entry["size"]
            elif entry["action"] == "segment_alloc":
                mapped += entry["size"]
            elif entry["action"] == "segment_free":
                mapped -= entry["size"]
        if trace:
            assert f"Device {device}" in told, told
            own = [s for s in segments if s["device"] == device]
            live = {b["address"]: b["requested_size"] for s in own for b in s["blocks"] if b["state"] == "active_allocated"}
            assert balance == live, (device, balance, live)
            assert mapped == sum(s["total_size"] for s in own), device
    for plot in (viz.segment_plot(snapshot), viz.trace_plot(snapshot)):
        assert "MemoryViz" in plot and len(plot) > 500, plot[:200]
    lines = viz.memory(snapshot, format_flamegraph=text_of)
    counted = sum(int(line.rsplit(" ", 1)[1]) for line in lines.splitlines())
    assert counted == reserved, (counted, reserved)
    assert viz.segments(snapshot, format_flamegraph=text_of).count("seg_") >= len(segments)
    return len(segments), sum(map(len, traces))


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = sys.argv[1] if len(sys.argv) > 1 else made(folder)
        with open(path, "rb") as file:
            snapshot = pickle.load(io.BytesIO(file.read()))
        segments, entries = check(snapshot)
        print(f"{os.path.basename(path)}: {segments} segments, {entries} entries of traces: as PyTorch reads them")


if __name__ == "__main__":
    main()
