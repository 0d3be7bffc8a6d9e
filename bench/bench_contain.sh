#!/bin/bash
# Containment: how long a stop takes until it is proven that nothing is left, for trees of 1, 100 and 5,000 processes; and what it
# adds to the start of a command.
# usage: bench_contain.sh [ROUNDS]      (default 20; trees of 5,000: a quarter of it)
# Exit 1 when a target is missed.
set -eu
. "$(dirname "$0")/common.bash"
rounds=${1:-20}
bench=$BUILD/bench/bench_contain
need "$bench"
need "$TARE"

dir=$(mktemp -d -t bench_contain.XXXXXX)
trap 'rm -rf "$dir"' EXIT
failed=0

# tree PROCESSES ROUNDS TARGET-MS: the slower of the two ways to stop counts.
tree() {
    local term kill worst
    if ! "$bench" tree "$1" "$2" >"$dir/tree"; then
        row "stop $1 processes" "not possible here" - - "under $3 ms" 0 || failed=1
        return
    fi
    term=$(value term_median "$dir/tree") kill=$(value kill_median "$dir/tree")
    worst=$(awk "BEGIN { print ($term > $kill) ? $term : $kill }")
    echo "stop $1 processes ($(sed -n 's/^layers //p' "$dir/tree")), median and slowest of $2:" \
        "by TERM $term and $(value term_max "$dir/tree") ms, by KILL $kill and $(value kill_max "$dir/tree") ms"
    row "stop $1 processes, proven" "$worst ms" - - "under $3 ms" "$worst < $3" || failed=1
}

tree 1 "$rounds" 10
tree 100 "$rounds" 20
tree 5000 $(((rounds + 3) / 4)) 1000

"$bench" start $((rounds * 10)) "$TARE" >"$dir/start"
plain=$(value plain_median "$dir/start")
contained=$(value contained_median "$dir/start")
unshared=$(value unshare_median "$dir/start")
added=$(calc "$contained - $plain")
echo "start true, median of $((rounds * 10)): plain $plain ms, contained $contained ms, unshare --pid --fork --mount-proc $unshared ms"
row "added to the start of true" "$added ms" "$plain ms" "$(calc "$contained / $plain")" "under 5 ms" "$added < 5" || failed=1
# to_unshare WHAT MS
to_unshare() {
    local ratio
    ratio=$(calc "$2 / $unshared")
    row "start of true, $1, to unshare" "$2 ms" "$unshared ms" "$ratio" "within 3x" "$ratio <= 3" || failed=1
}
to_unshare "all layers" "$contained"
to_unshare "sweep" "$(value sweep_median "$dir/start")"
if grep -q cgroup_median "$dir/start"; then
    to_unshare "cgroup" "$(value cgroup_median "$dir/start")"
fi
exit "$failed"
