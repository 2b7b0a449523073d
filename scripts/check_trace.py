#!/usr/bin/env python3
"""Checks that Perfetto finds every slice of a Chrome trace of tensorlab.

Usage: check_trace.py [FILE]

Without a file it runs a small script on two simulated GPUs first, with the program that TENSORLAB names
(default: target/debug/tensorlab). Loads the trace with Perfetto's trace_processor (TRACE_PROCESSOR, or
trace_processor_shell or trace_processor of the PATH; nothing is downloaded) and compares its slices with those of
the file: names, lanes, starts and durations. Where trace_processor is missing, the check says so and is skipped.
"""

import collections
import csv
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile

SCRIPT = """
let x = rand([256, 256]).pin_memory();
let a = x.to("cuda:0", #{non_blocking: true});
let s = cuda::Stream();
s.wait_stream(cuda::current_stream());
with cuda::stream(s) { let early = a + 1.0; }
s.synchronize();
let b = a.to("cuda:1");
for i in 0..20 { let y = a @ a; let z = y.relu(); }
let total = a.sum().item();
let back = b.cpu();
cuda::synchronize();
"""

# Nanoseconds, as Perfetto keeps them; names of lanes are those of threads.
QUERY = """
select slice.name as name, thread.name as lane, process.name as device, slice.ts as ts, slice.dur as dur
from slice join thread_track on slice.track_id = thread_track.id join thread using (utid)
left join process using (upid) order by slice.ts;
"""


def made(folder):
    """The trace of the script above."""
    script, out = os.path.join(folder, "script.rhai"), os.path.join(folder, "trace.json")
    with open(script, "w") as file:
        file.write(SCRIPT)
    program = os.environ.get("TENSORLAB", "target/debug/tensorlab")
    subprocess.run([program, "run", "--devices", "sim:t4x2", "--trace", out, script], check=True)
    return out


def processor():
    names = [os.environ.get("TRACE_PROCESSOR"), "trace_processor_shell", "trace_processor"]
    return next((found for name in names if name and (found := shutil.which(name))), None)


def written(path):
    """The slices of the file, counted by what they are."""
    with open(path) as file:
        events = json.load(file)["traceEvents"]
    names = {}
    for event in events:
        if event["ph"] == "M":
            names[event["name"], event["pid"], event["tid"] if event["name"] == "thread_name" else 0] = event["args"]["name"]
    slices = collections.Counter()
    for event in events:
        if event["ph"] == "X":
            lane = names["thread_name", event["pid"], event["tid"]]
            device = names["process_name", event["pid"], 0]
            slices[event["name"], lane, device, round(event["ts"] * 1e3), round(event["dur"] * 1e3)] += 1
    return slices


def found(program, path, folder):
    """The slices that Perfetto makes of it, and the errors it counts."""
    query = os.path.join(folder, "query.sql")
    with open(query, "w") as file:
        file.write(QUERY)
    out = subprocess.run([program, "-q", query, path], check=True, capture_output=True, text=True).stdout
    rows = list(csv.DictReader(io.StringIO(out.strip())))
    slices = collections.Counter()
    for row in rows:
        slices[row["name"], row["lane"], row["device"], int(row["ts"]), int(row["dur"])] += 1
    with open(query, "w") as file:
        file.write("select name, value from stats where severity = 'error' and value > 0;\n")
    errors = subprocess.run([program, "-q", query, path], check=True, capture_output=True, text=True).stdout
    return slices, list(csv.DictReader(io.StringIO(errors.strip())))


def shifted(slices):
    """With starts counted from the first one: Perfetto moves a trace's beginning."""
    first = min(key[3] for key in slices)
    return collections.Counter({key[:3] + (key[3] - first, key[4]): n for key, n in slices.items()})


def main():
    program = processor()
    if program is None:
        print("skipped: Perfetto's trace_processor is not installed (TRACE_PROCESSOR names it)")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = sys.argv[1] if len(sys.argv) > 1 else made(folder)
        want, (have, errors) = written(path), found(program, path, folder)
        assert want, "the trace has no slice"
        assert not errors, errors
        missing, strange = shifted(want) - shifted(have), shifted(have) - shifted(want)
        assert not missing and not strange, f"missing: {list(missing)[:5]}, strange: {list(strange)[:5]}"
        print(f"{os.path.basename(path)}: {sum(want.values())} slices, all of them in Perfetto")


if __name__ == "__main__":
    main()
