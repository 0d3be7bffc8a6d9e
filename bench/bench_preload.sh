#!/bin/bash
# What libtare-cuda.so adds to an allocation of GPU memory and its free, over a stand-in driver.
# usage: bench_preload.sh
# Exit 1 when it is more than 5 % of what a real driver takes at least (H200, docs/measurements.md): 9.5 us for plain memory, 1.56 us
# for memory of streams.
set -eu
. "$(dirname "$0")/common.bash"

program=$BUILD/bench/bench_preload
need "$program"
need "$TARE"
[ -e "$BUILD/tests/fake/cuda/libcuda.so.1" ] || { echo "bench_preload.sh: the stand-in driver is not built (-Dtests=true)" >&2; exit 2; }
export LD_LIBRARY_PATH=$BUILD/tests/fake/cuda
found=$(mktemp -t bench_preload.XXXXXX)
state=$(mktemp -d -t bench_preload.XXXXXX)
export XDG_STATE_HOME=$state
trap 'rm -rf "$found" "$state"' EXIT
took() { "$@" >"$found" 2>/dev/null; value nanoseconds "$found"; }
failed=0
for kind in "plain 475" "stream 78"; do
    read -r kind aim <<<"$kind"
    plain=$(took "$program" "$kind")
    followed=$(took "$TARE" exec --track-gpu-memory -- "$program" "$kind")
    limited=$(took "$TARE" exec --gpu-memory-limit 8GiB -- "$program" "$kind")
    row "$kind GPU memory, an allocation and its free, followed" "+$(calc "$followed - $plain") ns" - - "within $aim ns" \
        "$followed - $plain < $aim" || failed=1
    row "the same under a limit" "+$(calc "$limited - $plain") ns" - - "within $aim ns" "$limited - $plain < $aim" || failed=1
done
exit "$failed"
