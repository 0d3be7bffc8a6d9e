#!/bin/bash
# Reads a memory snapshot and replays its trace, against CPython reading the same file and a plain replay in Python.
# usage: bench_memory.sh [EVENTS]      (default 2000000)
# Exit 1 when a target is missed: 300 MB/s, 10 million events/s (processor time of one core), 16 bytes of working memory
# a byte read, with stacks faster than CPython and at most 4 times the file; or when the two replays disagree about the peak.
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

# A stack for each event, as stacks="all" records them: 25 and 60 frames deep, as Python and as PyTorch's C++ write them, and
# no two the same.
for row in "25 4" "60 4" "60 2" "25 4 unlike"; do
    read -r frames protocol unlike <<<"$row"
    name="$frames frames, protocol $protocol${unlike:+, all unlike}"
    # shellcheck disable=SC2086 # words
    python3 "$ROOT/tests/data/memory/traces.py" stacked "$dir/snapshot.pickle" $((events / 8)) $row
    cat "$dir/snapshot.pickle" >/dev/null
    "$program" "$dir/snapshot.pickle" >"$dir/tare"
    python3 "$ROOT/bench/memory_reference.py" "$dir/snapshot.pickle" read >"$dir/python"
    python3 "$ROOT/bench/memory_reference.py" peak "$TARE" memory "$dir/snapshot.pickle" >"$dir/peak"
    bytes=$(value bytes "$dir/tare")
    read=$(value read_seconds "$dir/tare") read_python=$(value read_seconds "$dir/python")
    row "read stacks, $name" "$(calc "$bytes / 1e6 / $read") MB/s" "CPython $(calc "$bytes / 1e6 / $read_python") MB/s" \
        "$(calc "$read_python / $read")" "faster than CPython" "$read < $read_python" || failed=1
    peak=$(calc "$(value peak_bytes "$dir/peak") / $bytes")
    row "memory of tare memory, $name" "$peak times the file" - - "at most 4" "$peak <= 4" || failed=1
    [ "$(value events "$dir/tare")" = "$(value events "$dir/python")" ] ||
        { echo "FAIL: not as many events as CPython reads" >&2; failed=1; }
done
exit "$failed"
