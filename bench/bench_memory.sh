#!/bin/bash
# Reads a memory snapshot and replays its trace, against CPython reading the same file and a plain replay in Python.
# usage: bench_memory.sh [EVENTS]      (default 2000000)
# Exit 1 when a target is missed: 300 MB/s, 10 million events/s (processor time of one core), 16 bytes of working memory
# a byte read; or when the two replays disagree about the peak.
set -eu
. "$(dirname "$0")/common.bash"

program=$BUILD/bench/bench_memory
need "$program"
command -v python3 >/dev/null || { echo "bench_memory.sh: there is no python3 to compare with" >&2; exit 2; }
events=${1:-2000000}

dir=$(mktemp -d -t bench_memory.XXXXXX)
trap 'rm -rf "$dir"' EXIT

python3 "$ROOT/tests/data/memory/traces.py" big "$dir/snapshot.pickle" "$events"
cat "$dir/snapshot.pickle" >/dev/null # into the page cache, for both alike
"$program" "$dir/snapshot.pickle" >"$dir/tare"
python3 "$ROOT/bench/memory_reference.py" "$dir/snapshot.pickle" >"$dir/python"

bytes=$(value bytes "$dir/tare")
read=$(value read_seconds "$dir/tare") read_python=$(value read_seconds "$dir/python")
replay=$(value replay_seconds "$dir/tare") replay_python=$(value replay_seconds "$dir/python")
counted=$(value events "$dir/tare")
echo "snapshot: $bytes bytes, $counted events"

failed=0
speed=$(calc "$bytes / 1e6 / $read")
row "read a memory snapshot" "$speed MB/s" "CPython $(calc "$bytes / 1e6 / $read_python") MB/s" \
    "$(calc "$read_python / $read")" "at least 300 MB/s" "$speed >= 300" || failed=1
rate=$(calc "$counted / 1e6 / $replay")
row "replay its trace" "$rate M events/s" "plain Python $(calc "$counted / 1e6 / $replay_python") M events/s" \
    "$(calc "$replay_python / $replay")" "at least 10 M events/s" "$rate >= 10" || failed=1
held=$(calc "$(value working_bytes "$dir/tare") / $bytes")
row "working memory a byte read" "$held bytes" - - "at most 16" "$held <= 16" || failed=1
peak=$(value peak_reserved "$dir/tare") peak_python=$(value peak_reserved "$dir/python")
if [ "$peak" != "$peak_python" ] || [ "$counted" != "$(value events "$dir/python")" ]; then
    echo "FAIL: the two replays disagree: $peak and $peak_python bytes" >&2
    failed=1
fi
exit "$failed"
