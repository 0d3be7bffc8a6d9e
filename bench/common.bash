# What the benches share. BUILD: the build folder (default build, in the project's root). With BENCH_ROWS, the name of a file,
# each bench also appends a row to it for each of its results: run.sh shows them together.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
case ${BUILD:=build} in /*) ;; *) if [ -d "$ROOT/$BUILD" ]; then BUILD=$ROOT/$BUILD; else BUILD=$PWD/$BUILD; fi ;; esac
export LC_ALL=C.UTF-8

# The program under test.
TARE=${TARE:-$BUILD/src/cli/tare}

need() {
    [ -x "$1" ] || { echo "$(basename "$0"): there is no $1; build first, or give BUILD=FOLDER" >&2; exit 2; }
}

value() { awk -v key="$1" '$1 == key { print $2 }' "$2"; }
calc() { awk "BEGIN { printf \"%.3f\", ($1) }"; } # in parentheses: a bare > would write a file
holds() { awk "BEGIN { exit !($1) }"; }

# row NAME MEASURED AGAINST RATIO TARGET CONDITION: CONDITION is for awk; "-": there is no target. Fails when it does not hold.
row() {
    local met=yes
    if [ "$6" = - ]; then met=-; elif ! holds "$6"; then met=NO; fi
    [ -z "${BENCH_ROWS:-}" ] || printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" "$5" "$met" >>"$BENCH_ROWS"
    printf '%s: %s' "$1" "$2"
    [ "$3" = - ] || printf ', against %s' "$3"
    [ "$4" = - ] || printf ', ratio %s' "$4"
    [ "$met" = - ] || printf ' (target: %s; met: %s)' "$5" "$met"
    echo
    [ "$met" != NO ]
}
