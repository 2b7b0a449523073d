#!/usr/bin/env bash
# What only a GPU can show: conformance, events and memory against the simulator, sanitizer, and speed beside PyTorch.
#
#     scripts/gpu_check.sh [--binaries SUITE PROGRAM] OUTPUT
#
# Writes OUTPUT/<device>.json and .md, and the logs of what fails. With --binaries nothing is built: SUITE is the test
# binary (`cargo test --release --no-run --test suite`), PROGRAM the built `tensorlab`. Exit status: 0 when all passed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

suite="" program=""
if [ "${1:-}" = --binaries ]; then
    suite="$2" program="$3"
    shift 3
fi
output="${1:?usage: scripts/gpu_check.sh [--binaries SUITE PROGRAM] OUTPUT}"
mkdir -p "$output"
if [ -z "$suite" ]; then
    cargo build --release || exit 1
    program=target/release/tensorlab
    suite="$(cargo test --release --no-run --test suite --message-format=json |
        sed -n 's/.*"executable":"\([^"]*suite-[^"]*\)".*/\1/p' | tail -n 1)"
fi

device="$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1 | tr 'A-Z ' 'a-z-')"
page="$output/$device.md"
failed=0
{
    echo "# $(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)"
    echo
    echo "Driver $(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -n 1); $(date -u +%Y-%m-%d)."
    echo
    echo "| check | result |"
    echo "|---|---|"
} >"$page"

# Runs the tests of a name, and notes how many passed.
tests() {
    local name="$1" filter="$2" log="$output/$2.log"
    shift 2
    if "$@" "$suite" "gpu::real::$filter" --ignored --test-threads 1 --nocapture >"$log" 2>&1; then
        local cases
        cases="$(sed -n 's/.*: \([0-9]* of [0-9]*\) recorded cases pass.*/\1/p' "$log" | paste -sd, | sed 's/,/, /g')"
        echo "| $name | passed${cases:+: $cases recorded cases} |" >>"$page"
        rm -f "$log"
    else
        echo "| $name | FAILED: $filter.log |" >>"$page"
        failed=1
    fi
}

tests "golden cases, contiguous" conformance_contiguous
tests "golden cases, transposed" conformance_transposed
tests "golden cases, sliced" conformance_sliced
tests "golden cases, strides of 0" conformance_stretched
tests "gradients against differences" gradients
tests "events and memory as simulated" its_events
tests "draws as simulated" draws
tests "pinned copies, streams, events" a_pinned
tests "timing and order of streams" events_and
tests "out of memory" out_of_memory
tests "training follows the CPU" training
if command -v compute-sanitizer >/dev/null; then
    tests "memory of every kernel (compute-sanitizer)" conformance_sliced \
        compute-sanitizer --tool memcheck --error-exitcode 9 --kernel-name-exclude kns=nothing
else
    echo "| memory of every kernel (compute-sanitizer) | not there |" >>"$page"
fi
{
    echo
    echo "## Speed"
    echo
} >>"$page"
python3 scripts/compare_gpu.py "$program" --json "$output/$device.json" --markdown "$output/speed.md" || failed=1
cat "$output/speed.md" >>"$page" && rm -f "$output/speed.md"
cat "$page"
exit "$failed"
