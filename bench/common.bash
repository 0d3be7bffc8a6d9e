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

# small_trainings COUNT: registry.json and settings.json of so many trainings that only print a loss, in this folder.
small_trainings() {
    mkdir repo
    printf '#!/bin/sh\necho loss 0.5\n' >repo/train.sh
    chmod +x repo/train.sh
    cat >registry.json <<END
{"models": {"repo": {"path": "repo", "train_script": "./train.sh", "models": ["net"],
  "supported_hyperparams": {"n": {"flag": "--n", "type": "int", "default": 1, "range": [1, 1000000000],
                                  "distribution": "uniform"}},
  "performance_metrics": {"log_patterns": {"loss": "^loss ([0-9.]+)"}}}}}
END
    cat >settings.json <<END
{"max_retries": 0, "seed": 7, "experiments": [{"repo": "repo", "model": "net", "mutate": ["n"], "runs_per_config": $1}],
 "tare": {"timing": {"between_runs": 0, "between_configurations": 0}}}
END
}
