"""Makes profiles of a device and its host of what `calibrate.py` measured, and tables of how near they come to it.

Usage: profile_from.py CALIBRATION.json BASE.toml PROFILE.toml HOST_BASE.toml HOST.toml [TABLES.md]

What nobody can measure from a program (names, peak rates, the link to other devices) is kept from BASE.toml with its
source, and from HOST_BASE.toml what the host's cores take. The prediction is the formula of `src/device/sim/cost.rs`; a test holds the same measurements against the
program itself.
"""

import json
import math
import statistics
import sys
import tomllib

KINDS = (
    "matmul", "convolution", "elementwise", "reduction", "normalise", "gather_scatter", "random", "copy",
    "split_reduction", "arg_reduction", "gather_elements", "scatter_add", "transpose",
)
# Classes that memory's bandwidth bounds, whether or not the cache holds their bytes.
FLAT = ("scatter_add", "transpose")
MIB = 1 << 20
# Up to here a copy's time is what it costs to start, and from here on it is what its bytes cost.
SMALL, LARGE = 1 << 14, 1 << 26
# Kernels over so few elements are all latency; over so many they are bound by memory.
FEW, MANY = 1 << 16, 1 << 28
CACHED = 32 * MIB


def median(values):
    return statistics.median(list(values))


def rounded(value, digits=3):
    value = float(f"{value:.{digits}g}")
    return int(value) if value == int(value) else value


# What follows is what `src/device/sim/form.rs` and `work.rs` say of the libraries' kernels.
SECTOR, FETCH = 32, 64
TILE_ROWS, TILE_COLUMNS, TILE_DEPTH, SHALLOW, WINOGRAD = 128, 64, 32, 128, 2.25
RANDOM = {"rand": 24, "randn": 34}
# Elements of a piece that is read or written by itself, its bytes, and how often it is touched.
SCATTERED = {
    "gather elements": (1, 4, 1), "scatter elements": (1, 4, 1), "scatter_add elements": (1, 4, 2),
    "index_select pairs": (2, 8, 1),
}


def operations(c, multiprocessors):
    """Operations in the time of which the multiprocessors compute a convolution: whole tiles in whole waves."""
    places, filter_ = c["batch"] * (c["size"] // c["stride"]) ** 2, c["kernel"] ** 2
    out, channels = c["out"] // c["groups"], c["channels"] // c["groups"]
    rows, columns, depth = {
        "forward": (places, out, channels * filter_),
        "input": (c["batch"] * c["size"] ** 2, channels, out * math.ceil(filter_ / c["stride"] ** 2)),
        "weight": (out, channels * filter_, places),
    }[c["pass"]]
    tiles = math.ceil(rows / TILE_ROWS) * math.ceil(columns / TILE_COLUMNS) * c["groups"]
    depth = math.ceil(depth / TILE_DEPTH) * TILE_DEPTH
    slices = max(min(multiprocessors // tiles, math.ceil(depth / SHALLOW)), 1)
    return math.ceil(tiles / multiprocessors) * multiprocessors * 2 * TILE_ROWS * TILE_COLUMNS * math.ceil(depth / slices)


def transformed(c, width):
    """Bytes of what Winograd's algorithm transforms, or 0 where it does not apply."""
    if c["pass"] == "weight" or (c["kernel"], c["stride"], c["groups"]) != (3, 1, 1):
        return 0
    values = c["batch"] * (c["channels"] + c["out"]) * c["size"] ** 2
    return 4 * values * width + c["channels"] * c["out"] * 9 * width * 16 // 9


def fitted(predict, nanos):
    """The efficiency with which `predict` says `nanos`; it predicts less the higher it is."""
    low, high = 1e-3, 1.0
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if predict(middle) > nanos else (low, middle)
    return middle


def measured(data, base):
    """Each figure that the measurements give: (section, key) to value, unit and what it was taken from."""
    out = {}

    def put(section, key, value, unit, note):
        out[section, key] = (rounded(value), unit, note)

    launching, kernels = data["launching"], data["kernels"]
    put("driver", "launch", launching["torch_host_fill"] / 1e3, "us", "an operation of PyTorch from Python")
    put("launch", "latency", launching["alone_tiny_kernel"] / 1e3, "us", "a kernel of four elements")
    out["launch", "queue_depth"] = (launching["queue_depth"], None, "the launch that had to wait")
    calls = [launching[k] for k in ("event_record", "event_query", "stream_wait", "synchronize_idle")]
    put("driver", "call", median(calls) / 1e3, "us", "the driver's calls for events and waits")
    put("driver", "allocate", median(m["allocate"] for m in data["memory"]) / 1e3, "us", "cuMemAlloc of 2 MiB to 1 GiB")
    put("driver", "free", median(m["free"] for m in data["memory"]) / 1e3, "us", "cuMemFree of 2 MiB to 1 GiB")
    pin = median(m["bytes"] / m["pin_and_fill"] for m in data["memory"])
    put("memory", "pin", pin, "GB/s", "cuMemHostAlloc and a memset")

    latency = {kind: [] for kind in KINDS}
    for k in kernels:
        # Sums are not split before there are some thousands of values.
        few = FEW << 4 if k["class"] == "split_reduction" else FEW
        if k.get("n", few + 1) <= few or k["name"] == "matmul 128":
            latency[k["class"]].append(k["nanos"])
    # The smallest convolution measured is too large to tell.
    latency["convolution"] = latency["matmul"]
    # A transposed copy starts as a straight one does; the smallest measured already moves something.
    for kind in KINDS:
        if kind != "transpose":
            put("latency", kind, median(latency[kind]) / 1e3, "us", "the smallest kernels of the class")
    nanos = {kind: out["latency", kind if kind != "transpose" else "copy"][0] * 1e3 for kind in KINDS}

    bandwidth = base["device"]["memory_bandwidth"]["value"]
    for kind in KINDS[2:]:
        if kind in ("random", "gather_elements", "transpose"):
            continue
        large = [k for k in kernels if k["class"] == kind and k["n"] == MANY and k["name"] not in SCATTERED]
        rates = [k["bytes"] / (k["nanos"] - nanos[kind]) for k in large]
        put("efficiency", kind, median(rates) / bandwidth, None, "2^28 elements, the median of its kernels")
    integers = base["peak"]["int"]["value"] * 1e3
    random = [k for k in kernels if k["class"] == "random" and k["n"] == MANY]
    rates = [RANDOM[k["name"]] * k["n"] / (k["nanos"] - nanos["random"]) for k in random]
    put("efficiency", "random", median(rates) / integers, None, "2^28 numbers, uniform and normal, of the integer rate")
    cache = data["attributes"]["l2"]
    scattered = [k for k in kernels if k["name"] == "gather elements" and k["n"] == MANY]
    rates = [through_memory(k, cache) / (k["nanos"] - nanos["gather_elements"]) for k in scattered]
    put("efficiency", "gather_elements", median(rates) / bandwidth, None, "2^28 elements, each a fetch of 64 bytes")
    across = [k for k in kernels if k["name"] == "transpose" and k["n"] >= 1 << 20]
    rates = [k["bytes"] / (k["nanos"] - nanos["transpose"]) for k in across]
    put("efficiency", "transpose", median(rates) / bandwidth, None, "2^20 to 2^28 elements of 4 bytes, the middle one")
    by_rate = {}
    for k in kernels:
        if k["class"] == "matmul" and k["flops"] >= 2 * 4096**3:
            peak = base["peak"][k["rate"]]["value"] * 1e3
            by_rate.setdefault(k["rate"], []).append(k["flops"] / (k["nanos"] - nanos["matmul"]) / peak)
    shared(put, "matmul", by_rate, "sizes from 4096 on")
    cached = [
        k["bytes"] / (k["nanos"] - nanos["elementwise"]) / out["efficiency", "elementwise"][0]
        for k in kernels
        if k["class"] == "elementwise" and k["n"] == 1 << 20
    ]
    put("device", "l2_bandwidth", median(cached), "GB/s", "kernels over 2^20 elements, which the cache holds")
    by_rate = {}
    for k in kernels:
        if k["class"] == "convolution" and k["flops"] >= 10**10:
            figures = {"multiprocessors": data["attributes"]["sm_count"], "cache": cache, "bandwidth": bandwidth}
            figures |= {"cached": out["device", "l2_bandwidth"][0], "copy": out["efficiency", "copy"][0]}
            figures |= {"latency": nanos["convolution"], "copying": nanos["copy"], "peak": base["peak"][k["rate"]]["value"] * 1e3}
            part = fitted(lambda part: convolution(k, part, **figures), k["nanos"])
            by_rate.setdefault(k["rate"], []).append(part)
    shared(put, "convolution", by_rate, "two shapes, the geometric mean of what each gives by the model of convolutions")
    out["device", "memory"] = (data["total_memory"] / MIB, "MiB", "cuMemGetInfo")
    out["device", "copy_engines"] = (data["attributes"]["async_engines"], None, "the driver's attribute")
    out["device", "sm_count"] = (data["attributes"]["sm_count"], None, "the driver's attribute")
    out["device", "threads_per_sm"] = (data["attributes"]["threads_per_sm"], None, "the driver's attribute")
    out["device", "l2_cache"] = (data["attributes"]["l2"] // MIB, "MiB", "the driver's attribute")

    copies = data["transfers"]
    for way in ("h2d", "d2h"):
        pinned = [c["bytes"] / c["device"] for c in copies if c["way"] == way and c["pinned"] and c["bytes"] >= LARGE]
        put("link", f"pinned_{way}", median(pinned), "GB/s", "copies of 64 MiB to 1 GiB")
        plain = [c["bytes"] / c["host"] for c in copies if c["way"] == way and not c["pinned"] and c["bytes"] >= LARGE]
        link = out["link", f"pinned_{way}"][0]
        put("side", f"most_{way}", link, "GB/s", "copies of 64 MiB to 1 GiB")
        note = f"pageable copies of 64 MiB to 1 GiB went at {rounded(median(plain)):g}, less the link"
        put("side", f"staging_{way}", less(median(plain), link), "GB/s", note)
    start = median(c["host"] for c in copies if not c["pinned"] and c["bytes"] <= SMALL)
    some = [c for c in copies if c["way"] == "h2d" and not c["pinned"] and MIB <= c["bytes"] <= CACHED]
    out["side", "cached"] = (CACHED // MIB, "MiB", "pageable copies above slow down")
    rate = median(c["bytes"] / (c["host"] - start) for c in some)
    note = f"pageable, 1 to 16 MiB at {rounded(rate):g}, less the link"
    put("side", "cached_h2d", less(rate, out["link", "pinned_h2d"][0]), "GB/s", note)
    early = [h["bytes"] for h in data["held"] if h["way"] == "h2d" and not h["pinned"] and h["host"] * 4 < h["device_too"]]
    out["side", "staged"] = (max(early) // MIB, "MiB", "the longest copy that did not wait for queued work")
    put("link", "latency", median(c["device"] for c in copies if c["pinned"] and c["bytes"] <= SMALL) / 1e3, "us", "pinned, up to 16 KiB")
    called = (out["driver", "launch"][0] + out["driver", "call"][0]) * 1e3
    put("side", "pageable_latency", (start - called) / 1e3, "us", "pageable, up to 16 KiB, less the host's calls")
    return out


def less(rate, link):
    """What the driver's buffers are filled or emptied at, where that and the link together give `rate`."""
    return rate * link / (link - rate)


def shared(put, kind, by_rate, what):
    """The efficiency of each rate, and their median for the rates that were not measured."""
    parts = {rate: min(statistics.geometric_mean(found), 1.0) for rate, found in by_rate.items()}
    put("efficiency", kind, median(parts.values()), None, f"the median of its rates, {what}")
    for rate, part in parts.items():
        put(f"{kind}_efficiency", rate, part, None, what)


def convolution(k, part, multiprocessors, cache, bandwidth, cached, copy, latency, copying, peak):
    """Nanoseconds of a convolution on tensor cores that reach `part` of the peak, or without them for fp32."""
    c, bytes_ = k["convolution"], k["bytes"]

    def moved(amount, held):
        return amount / ((cached if held <= cache else bandwidth) * copy)

    if c["groups"] > 1 and c["groups"] == c["channels"]:
        return latency + max(moved(bytes_, bytes_), k["flops"] / (peak * part))
    done = operations(c, multiprocessors) / (peak * part)
    if k["rate"] not in ("fp32", "fp64"):
        return latency + 3 * copying + moved(3 * bytes_, 2 * bytes_) + done
    direct = latency + moved(bytes_, bytes_) + done
    more = transformed(c, 4)
    if not more:
        return direct
    winograd = latency + 3 * copying + moved(bytes_ + 2 * more, bytes_ + more) + done / WINOGRAD
    return min(direct, winograd)


def scattered(k):
    """Pieces that are touched, bytes of each, and bytes that are moved in order beside them."""
    elements, size, ways = SCATTERED[k["name"]]
    pieces = k["n"] // elements * ways
    return pieces, size, k["bytes"] - pieces * size


def through_memory(k, cache):
    """Bytes from and to memory: what half the cache does not hold of the table comes in fetches."""
    pieces, size, streamed = scattered(k)
    kept = min(cache / 2 / (4 * k["n"]), 1)
    return streamed + pieces * (1 - kept) * math.ceil(size / FETCH) * FETCH


ORDER = (
    ("device", ("compute_capability", "memory", "context", "memory_bandwidth", "sm_count", "threads_per_sm", "l2_cache", "l2_bandwidth", "copy_engines")),
    ("peak", ("fp64", "fp32", "tf32", "fp16", "bf16", "int")),
    ("efficiency", KINDS),
    ("matmul_efficiency", ("fp64", "fp32", "tf32", "fp16", "bf16")),
    ("convolution_efficiency", ("fp64", "fp32", "tf32", "fp16", "bf16")),
    ("launch", ("latency", "queue_depth")),
    ("latency", KINDS),
    ("link", ("pinned_h2d", "pinned_d2h", "latency")),
    ("peer", ("access", "bandwidth", "latency")),
    ("convolution_algorithms", ("trials", "implicit_gemm", "gemm", "other_tiles", "winograd", "fft_tiling", "without_atomics")),
    ("power", ("idle", "limit")),
)
HOST_ORDER = (
    ("cpu", ("cores", "dispatch", "spread", "bandwidth_core", "bandwidth", "cache", "cache_bandwidth")),
    ("peak", ("fp64", "fp32", "half", "int")),
    ("efficiency", KINDS),
    ("arithmetic", KINDS),
    ("dispatch", KINDS),
    ("script", ("step",)),
    ("driver", ("launch", "call", "allocate", "free")),
    ("memory", ("pin",)),
    ("link", ("most_h2d", "most_d2h", "staging_h2d", "staging_d2h", "cached", "cached_h2d", "staged", "pageable_latency")),
)
# What is measured of the host's own link, under the name that it has in the host's file.
OF_THE_HOST = {"link": "side", "driver": "driver", "memory": "memory"}


def text(value):
    return json.dumps(value) if isinstance(value, (str, bool)) else f"{rounded(value, 12)}"


def profile(found, base, source, comments, order=ORDER, names=None):
    lines = comments + [f"{key} = {json.dumps(base[key])}" for key in ("id", "name", "summary")]
    read = {key: base[key] for key in ("id", "name", "summary")}
    for section, keys in order:
        of = section if names is None else names.get(section)
        if section not in base and not any((of, key) in found for key in keys):
            continue
        lines += ["", f"[{section}]"]
        read[section] = {}
        for key in keys:
            if (of, key) in found:
                value, unit, note = found[of, key]
                figure = {"value": value} | ({"unit": unit} if unit else {}) | {"source": f"{source}: {note}"}
            elif key in base.get(section, {}):
                figure = base[section][key]
            else:
                continue
            read[section][key] = figure
            inner = ", ".join(f"{name} = {text(value)}" for name, value in figure.items())
            lines.append(f"{key} = {{ {inner} }}")
    return "\n".join(lines) + "\n", read


UNITS = {"GB/s": 1.0, "TB/s": 1e3, "TFLOP/s": 1e3, "TOP/s": 1e3, "us": 1e3, "ms": 1e6, "MiB": MIB, "GiB": 1 << 30}


def base_unit(figure):
    return figure["value"] * UNITS.get(figure.get("unit"), 1)


def predicted(profile, kernel):
    """Nanoseconds; bandwidths are bytes and rates operations per nanosecond."""
    kind, rate, device = kernel["class"], kernel["rate"], profile["device"]
    own = profile.get(f"{kind}_efficiency", {}).get(rate)
    part = (own or profile["efficiency"][kind])["value"]
    latency = base_unit(profile["latency"]["copy" if kind == "transpose" else kind])
    bandwidth = base_unit(device["memory_bandwidth"])
    cached, cache = base_unit(device["l2_bandwidth"]), base_unit(device["l2_cache"])
    peak, flops, bytes_ = base_unit(profile["peak"][rate]), kernel["flops"], kernel["bytes"]
    if kind == "convolution":
        figures = {"multiprocessors": device["sm_count"]["value"], "cache": cache, "bandwidth": bandwidth, "cached": cached}
        figures |= {"copy": profile["efficiency"]["copy"]["value"], "copying": base_unit(profile["latency"]["copy"])}
        return convolution(kernel, part, latency=latency, peak=peak, **figures)
    if kind == "random":
        peak, flops = base_unit(profile["peak"]["int"]), RANDOM[kernel["name"]] * kernel["n"]
    of_memory = profile["efficiency"]["elementwise"]["value"] if kind == "random" else part
    moved = bytes_ / (bandwidth * of_memory)
    if kernel["name"] in SCATTERED:
        pieces, size, streamed = scattered(kernel)
        sectors = (streamed + pieces * math.ceil(size / SECTOR) * SECTOR) / (cached * part)
        missed = through_memory(kernel, cache) / (bandwidth * part)
        moved = sectors if bytes_ <= cache else max(sectors, missed)
    elif bytes_ <= cache and kind not in FLAT:
        moved = min(moved, bytes_ / (cached * of_memory))
    return latency + math.ceil(max(moved, flops / (peak * part)))


def copied(profile, host, copy):
    """What is compared with a copy: its time on the device where it is pinned, else the host's."""
    link = profile["link"]
    way, size = copy["way"], copy["bytes"]
    if copy["pinned"]:
        return base_unit(link["latency"]) + math.ceil(size / base_unit(link[f"pinned_{way}"])), copy["device"]
    side, pinned = host["link"], base_unit(link[f"pinned_{way}"])
    staging = base_unit(side[f"staging_{way}"])
    if way == "h2d" and size <= base_unit(side["cached"]):
        staging = max(staging, base_unit(side["cached_h2d"]))
    rate = pinned * staging / (pinned + staging)
    called = base_unit(host["driver"]["launch"]) + base_unit(host["driver"]["call"])
    return called + base_unit(side["pageable_latency"]) + math.ceil(size / rate), copy["host"]


def errors(profile, host, data):
    """Class to the relative errors with what was measured."""
    out = {kind: [] for kind in KINDS}
    for k in data["kernels"]:
        size = f" of 2^{round(math.log2(k['n']))}" if "n" in k else f" {k['rate']}"
        out[k["class"]].append((abs(predicted(profile, k) / k["nanos"] - 1), k["name"] + size))
    for c in data["transfers"]:
        memory = "pinned" if c["pinned"] else "pageable"
        found, want = copied(profile, host, c)
        # A second run of the same, where the first was held up: a copy can be slower than the link, not faster.
        want = min(want, c.get("again", want))
        out.setdefault(f"{memory} {c['way']}", []).append((abs(found / want - 1), f"{c['bytes']} bytes"))
    return out


def table(profile, host, data):
    lines = ["| class | measured | median error | worst error | worst at |", "|---|---:|---:|---:|---|"]
    for kind, found in errors(profile, host, data).items():
        worst, where = max(found)
        lines.append(f"| {kind} | {len(found)} | {median(e for e, _ in found):.1%} | {worst:.0%} | {where} |")
    return "\n".join(lines) + "\n"


def read_base(path):
    """A profile that is there, and the comments that it begins with."""
    with open(path) as file:
        lines = file.read().splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("id"))
    return tomllib.loads("\n".join(lines)), lines[:first]


def main():
    if len(sys.argv) < 6:
        sys.exit(__doc__)
    with open(sys.argv[1]) as file:
        data = json.load(file)
    (base, comments), (host_base, host_comments) = read_base(sys.argv[2]), read_base(sys.argv[4])
    device = data["device"].removeprefix("NVIDIA ")
    version = data["torch"].split("+")[0].rsplit(".", 1)[0]
    driver = data.get("driver", "580.159")
    by = f"by scripts/calibrate.py, PyTorch {version}, driver {driver}"
    found = measured(data, base)
    written, read = profile(found, base, f"measured on an {device} {by}", comments)
    of_host = profile(found, host_base, f"measured beside an {device} {by}", host_comments, HOST_ORDER, OF_THE_HOST)
    for path, text in ((sys.argv[3], written), (sys.argv[5], of_host[0])):
        with open(path, "w") as file:
            file.write(text)
    print(table(read, of_host[1], data), end="")
    if len(sys.argv) > 6:
        with open(sys.argv[6], "w") as file:
            file.write(table(read, of_host[1], data))


if __name__ == "__main__":
    main()
