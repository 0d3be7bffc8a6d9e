#!/bin/bash
# The energies of 10,000 windows over a day of a 57 Hz power trace.
# usage: bench_window.sh
# Exit 1 when the index and 10,000 windows, or 10,000 epochs, take more than a second of processor time.
set -eu
. "$(dirname "$0")/common.bash"

program=$BUILD/bench/bench_window
need "$program"
found=$(mktemp -t bench_window.XXXXXX)
trap 'rm -f "$found"' EXIT
"$program" > "$found"
index=$(value seconds_index "$found")
windows=$(value seconds_windows "$found")
epochs=$(value seconds_epochs "$found")
failed=0
echo "$(value samples "$found") samples, $(value readings "$found") readings; the index takes $(value index_kib "$found") KiB"
row "10,000 windows over a day, with the index" "$(calc "$index + $windows") s" - - "within 1 s of CPU" "$index + $windows < 1" || failed=1
row "10,000 epochs of a day" "$epochs s" - - "within 1 s of CPU" "$epochs < 1" || failed=1
exit "$failed"
