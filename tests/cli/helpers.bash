# What the tests of the command line share: a working folder of their own, a small repository to train, a registry and
# settings for it. Load it with: load helpers
#
# $TARE is the program under test; without it, the one in the build folder. Its own name is $NAME.

# For "run --separate-stderr".
bats_require_minimum_version 1.5.0

# Whatever the tester's: other users use what tests make for them, and python3 is the system's with its modules.
umask 022
unset PYTHONPATH PYTHONHOME

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
TARE=${TARE:-${BUILD_DIR:-$ROOT/build}/src/cli/tare}
case $TARE in /*) ;; *) TARE=$PWD/$TARE ;; esac
NAME=${TARE##*/}
SHARED=${TARE_SHARED:-$ROOT/../shared}/data

setup() {
    # The tests may themselves have been started through sudo, or be read by a person with colours.
    unset SUDO_UID SUDO_GID SUDO_USER SUDO_COMMAND NO_COLOR COLUMNS TARE_TIME_SCALE
    export TERM=dumb
    WORK=$(mktemp -d "${TMPDIR:-/tmp}/cli-test.XXXXXX")
    # Not the tester's own state: runs of other tests are none of this one's business.
    export XDG_STATE_HOME=$WORK/state XDG_CONFIG_HOME=$WORK/config
    # Nor a real run on the GPU of this machine.
    export TARE_LOCK_DIR=$WORK/locks
    unset TARE_SYSROOT TARE_GPU_HOLDER
    cd "$WORK" || return 1
    [ -x "$TARE" ] || { echo "there is no program $TARE"; return 1; }
}

teardown() {
    cd /
    [ -z "$WORK" ] || rm -rf "$WORK"
}

# A machine of its own, $WORK/machine, on which nobody else does anything: on the tester's own, other programs make short trainings
# suspect. For what is started behind it.
idle_machine() {
    mkdir -p "$WORK/machine/proc"
    printf 'cpu  1000 0 1000 100000 0 0 0 0 0 0\ncpu0 500 0 500 50000 0 0 0 0 0 0\ncpu1 500 0 500 50000 0 0 0 0 0 0\n' \
        >"$WORK/machine/proc/stat"
    export TARE_SYSROOT=$WORK/machine
}

# The training script repo/train.sh, from standard input; or one that prints two epochs and its arguments.
make_trainer() {
    mkdir -p repo
    if [ -t 0 ] || [ "${1:-}" = default ]; then
        cat > repo/train.sh <<'END'
#!/bin/sh
echo "arguments: $*"
for epoch in 1 2; do echo "epoch $epoch loss: 0.$((9 - epoch))"; done
echo "accuracy: 0.75"
END
    else
        cat > repo/train.sh
    fi
    chmod +x repo/train.sh
}

# models_config.json with the repository toy: models small and big, an integer, a float and a choice.
# $1: more keys of the repository, as ', "key": value'.
make_registry() {
    cat > models_config.json <<END
{"models": {"toy": {
  "path": "repo", "train_script": "./train.sh", "models": ["small", "big"], "model_flag": "--model",
  "supported_hyperparams": {
    "epochs": {"flag": "--epochs", "type": "int", "default": 10, "range": [5, 500], "distribution": "uniform"},
    "learning_rate": {"flag": "--lr", "type": "float", "default": 0.001, "range": [0.0001, 0.1],
                      "distribution": "log_uniform"},
    "optimizer": {"flag": "--optimizer", "type": "choice", "default": "sgd", "choices": ["sgd", "adam", "lion"]}},
  "performance_metrics": {"log_patterns": {"accuracy": "accuracy: ([0-9.]+)", "loss": "loss: ([0-9.]+)",
                                           "f1": "F1: ([0-9.]+)"}}${1:-}}}}
END
}

# settings.json with these entries of "experiments", without pauses. $2: more keys of the file, as ', "key": value'.
make_settings() {
    cat > settings.json <<END
{"max_retries": 0, "tare": {"timing": {"between_runs": 0, "between_configurations": 0, "before_retry": 0,
 "stop_grace": 1}}${2:-}, "experiments": [$1]}
END
}

# The names of all commands, a line each: what stands under the headings of the help.
commands() { "$TARE" --help | awk '/^[A-Z][a-z]*:$/ { on = $1 != "Usage:" } on && /^  [a-z]/ { print $1 }'; }

# need_command NAME: skips the test where the build was configured without this command.
need_command() { commands | grep -qx "$1" || skip "this build does not have the command $1"; }

# The one run folder in results.
run_folder() {
    set -- results/run_*
    [ $# -eq 1 ] && [ -d "$1" ] && echo "$1"
}

# Column $2 of summary.csv in folder $1, a line per experiment.
summary_column() { sqlite3 -bail :memory: ".import --csv '$1/summary.csv' summary" "select [$2] from summary"; }

# json_at FILE PATH: one value, by SQLite's words for a path.
json_at() { sqlite3 -bail :memory: "select readfile('$1') ->> '$2'"; }

# pause SECONDS: sleeps without a process for it, for loops: many tests wait at once.
pause() {
    [ -p "$BATS_RUN_TMPDIR/pause" ] || mkfifo "$BATS_RUN_TMPDIR/pause"
    read -rt "$1" <>"$BATS_RUN_TMPDIR/pause" || true
}

# Waits until the command succeeds, at most a minute: machines are slow at times. What is not there soon is asked for less often.
wait_until() {
    local end=$((SECONDS + 60)) soon=$((SECONDS + 1))
    until "$@"; do
        [ $SECONDS -lt $end ] || { echo "waited in vain for: $*"; return 1; }
        if [ $SECONDS -le $soon ]; then pause 0.05; else pause 0.2; fi
    done
}

# waits PERCENT: in this share of the last minute and more, programs waited for a processor.
waits() { awk -v least="$1" '$1 == "some" { exit !(substr($3, 7) + 0 >= least + 0) }' /proc/pressure/cpu 2>/dev/null; }

# file_has FILE TEXT: without a process for it, for loops.
file_has() {
    local content
    IFS= read -rd '' content 2>/dev/null <"$1" || true
    [[ ${content:-} == *"$2"* ]]
}

# Starts the program with a process id of its own in the background: $PID; its output goes to the files out and err. Job
# control gives it back the SIGINT that a shell ignores for background commands.
start_program() {
    rm -f out err # what an earlier one has said must not be taken for this one's
    set -m
    "$TARE" "$@" > out 2> err < /dev/null 3>&- &
    PID=$!
    set +m
}

# Waits for that program, at most a minute; its exit code in $CODE.
end_program() {
    wait_until program_is_gone || { kill -9 "$PID"; return 1; }
    CODE=0
    wait "$PID" || CODE=$?
}

# children_of PID NAME: of its children those with this name that have not ended; for loops.
children_of() {
    local child name
    for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
        { read -r name <"/proc/$child/comm"; } 2>/dev/null || continue
        [ "$name" != "$2" ] || file_has "/proc/$child/stat" ') Z ' || echo "$child"
    done
}

program_is_gone() { ! kill -0 "$PID" 2> /dev/null || file_has "/proc/$PID/stat" ') Z '; }

# A dry run shows the plan also where this machine lacks a repository, and ends as the run would: with 2.
# dry_run PLAN SAID ARGUMENTS...: all that is wrong is what is not there.
dry_run() {
    local plan=$1 said=$2 code=0
    shift 2
    "$TARE" run "$@" --dry-run > "$plan" 2> "$said" || code=$?
    if grep -q ': error: ' "$said"; then [ $code -eq 2 ]; else [ $code -eq 0 ]; fi || { echo "exit code $code"; return 1; }
    if grep ': error: ' "$said" | grep -v ' is not there'; then false; fi
}

# follows NAME FILE...: each is as share/schema/NAME.json says, and broken copies of the first are not. Without python3-jsonschema nothing is
# checked, which is said.
SCHEMAS=$ROOT/share/schema
follows() {
    local code=0
    python3 "$ROOT/tests/cli/follows_schema.py" --broken "$SCHEMAS/$1.json" "${@:2}" || code=$?
    [ $code -ne 77 ] || { echo "python3-jsonschema is missing: $2 is not checked"; return 0; }
    return $code
}

need_python() { command -v python3 > /dev/null || skip "python3 is not there"; }
need_root() { [ "$(id -u)" -eq 0 ] || skip "only root can stand in for sudo"; }
