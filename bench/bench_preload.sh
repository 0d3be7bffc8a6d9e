#!/bin/bash
# What libtare-cuda.so adds to an allocation of GPU memory and its free, over a stand-in driver.
# usage: bench_preload.sh
# Exit 1 when it is more than a microsecond: a real driver takes 20 and more, of which 5 % would be that much.
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
plain=$(took "$program")
followed=$(took "$TARE" exec --track-gpu-memory -- "$program")
limited=$(took "$TARE" exec --gpu-memory-limit 8GiB -- "$program")
failed=0
row "an allocation of GPU memory and its free, followed" "+$(calc "$followed - $plain") ns" - - "within 1 us" \
    "$followed - $plain < 1000" || failed=1
row "the same under a limit" "+$(calc "$limited - $plain") ns" - - "within 1 us" "$limited - $plain < 1000" || failed=1
exit "$failed"
