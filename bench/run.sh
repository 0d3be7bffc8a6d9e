#!/bin/bash
# Runs all benches and closes with one table of their results: make bench.
# usage: run.sh [MEGABYTES]      the size of the log that is matched (default 200)
# BENCH="plan window" in the environment: these only.
# Exit 1 when a target is missed, 2 when a bench could not be run.
set -u
. "$(dirname "$0")/common.bash"
megabytes=${1:-${BENCH_MEGABYTES:-200}}
here=$ROOT/bench
export BUILD
BENCH_ROWS=$(mktemp -t bench_rows.XXXXXX)
export BENCH_ROWS
trap 'rm -f "$BENCH_ROWS"' EXIT
broken=()
NO=$'\tNO$'

rows() { grep -c "$1" "$BENCH_ROWS"; }

# bench NAME ARGUMENTS...: exit code 1 is a missed target when a new row says so.
bench() {
    local code=0 before missed
    before=$(rows .) missed=$(rows "$NO")
    printf '\n== %s\n' "$*"
    "$here/$1.sh" "${@:2}" || code=$?
    if [ "$code" -gt 1 ] || [ "$(rows .)" -eq "$before" ] || { [ "$code" -eq 1 ] && [ "$(rows "$NO")" -eq "$missed" ]; }; then
        broken+=("$1 (exit code $code)")
    fi
}

all="plan match idle pool meter contain window memory preload audit collect"
chosen=${BENCH:-$all} known="$all many" # many needs GNU parallel, and minutes
for name in $chosen; do
    case " $known " in
    *" $name "*) ;;
    *)
        echo "there is no bench '$name'; BENCH names some of: $known" >&2
        exit 2
        ;;
    esac
done
for name in $chosen; do
    if [ "$name" = match ]; then bench bench_match "$megabytes"; else bench "bench_$name"; fi
done

printf '\n'
awk -F'\t' '
    BEGIN { split("name\tmeasured\tagainst\tratio\ttarget\tmet", head); for (i = 1; i <= 6; i++) { cell[0, i] = head[i]; width[i] = length(head[i]) } }
    { for (i = 1; i <= 6; i++) { cell[NR, i] = $i; if (length($i) > width[i]) width[i] = length($i) } }
    END { for (r = 0; r <= NR; r++) { line = ""
          for (i = 1; i <= 6; i++) line = line sprintf("%-" width[i] "s%s", cell[r, i], i < 6 ? " | " : "")
          sub(/ +$/, "", line); print line } }' "$BENCH_ROWS"
if [ ${#broken[@]} -gt 0 ]; then
    printf 'not run to the end: %s\n' "${broken[@]}"
    exit 2
fi
[ "$(rows "$NO")" -eq 0 ]
