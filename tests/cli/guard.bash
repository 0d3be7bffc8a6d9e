# A machine whose GPUs are played by the fake driver, with processes planted on them. Load it with: load ../cli/guard

load ../cli/gpus

LIBRARY=${BUILD_DIR:-$ROOT/build}/tests/fake/libnvidia-ml.so.1

eval "machine_$(declare -f setup)"
eval "machine_$(declare -f teardown)"
eval "machine_$(declare -f settings)"

setup() {
    machine_setup
    command -v python3 >/dev/null || skip "python3 is missing"
    [ -e "$LIBRARY" ] || skip "the fake driver is not built ($LIBRARY)"
    export TARE_NVML=$LIBRARY TARE_FAKE_NVML=$WORK/scenario USERS=$WORK/users
    mkdir "$USERS"
    PLANTED=
}

teardown() {
    local pid
    for pid in $PLANTED; do kill -KILL "$pid" 2>/dev/null || true; done
    machine_teardown
}

uuid() { printf 'GPU-00000000-0000-4000-8000-%012x' "$1"; }

# scenario COUNT [LINES]: so many GPUs, idle at 77 W.
scenario() {
    local i
    for ((i = 0; i < $1; i++)); do fake_gpu "0000:0$((i + 1)):00.0" "$i" "$(uuid "$i")"; done
    printf 'origin_ns 0\ngpus %s\nusers %s\n%s\n' "$1" "$USERS" "${2:-}" >"$WORK/scenario"
}

# settings COUNT [PREFLIGHT] [MORE-OF-TARE] [MORE-OF-THE-ENTRY]: PREFLIGHT: members; without a baseline unless it says one.
settings() {
    local preflight="${2:-}"
    case $preflight in *baseline*) ;; *) preflight="\"baseline\": 0${preflight:+, $preflight}" ;; esac
    machine_settings "$1" "\"preflight\": {$preflight}${3:+, $3}" "${4:-}"
}

# holds PID GPU MIB [PERCENT [KIND]]: this process has so much of it.
holds() { echo "$2 $(($3 * 1048576)) ${4:-0} ${5:-}" >"$USERS/.new" && mv "$USERS/.new" "$USERS/$1"; }

# Without a pid namespace, so that a job knows its own number, by which it holds memory. Bounded: a guard that waits in vain waits
# long.
tare_run() { timeout -k 5 100 "$TARE" run settings.json -c registry.json -o results --containment sweep "$@"; }
start_run() { start_program run settings.json -c registry.json -o results --containment sweep; }

# plant GPU MIB [PERCENT [KIND]]: an outside process that holds it: $OUTSIDER.
plant() {
    sleep 600 >/dev/null 2>&1 3>&- &
    OUTSIDER=$!
    disown "$OUTSIDER"
    PLANTED+=" $OUTSIDER"
    holds "$OUTSIDER" "$@"
}

# put WHAT NUMBER: the file of that name in the users' folder: leak0, heat0, reasons0, limit0.
put() { echo "$2" >"$USERS/.new" && mv "$USERS/.new" "$USERS/$1"; }

# What a job says to hold memory of GPU 0 itself: $1 MiB, $2 per cent.
job_holds() { echo "echo \"0 \$(($1 * 1048576)) ${2:-0}\" >$USERS/.job\$\$ && mv $USERS/.job\$\$ $USERS/\$\$"; }

# kinds [EXPERIMENT]: the kinds of its evidence, sorted, each once, on one line; without those of the meter, which a machine that is
# slow for a moment, or a training of milliseconds, can have.
kinds() {
    of_events "data ->> 'kind'" evidence "${1:-1}" |
        grep -vE '^(sampling_gap|energy_disagrees|energy_imprecise|counter_|cpu_shared|cpu_unchecked|energy_file)' | sort -u | paste -sd ' '
}

# waiting_job [BEFORE]: one that begins, and ends when there is the file repo/go.
waiting_job() { job "${1:+$1; }touch began; until [ -e go ]; do sleep 0.2; done; echo loss 0.5"; }

monotonic() { python3 -c 'import time; print(time.monotonic_ns())'; }

# has_event TYPE: the run has come so far.
has_event() {
    local file
    for file in "$WORK"/results/*/events.jsonl; do ! file_has "$file" "\"type\":\"$1\"" || return 0; done
    return 1
}

# look LINES: python's lines; evidence(n): the data of experiment n's evidence; guard(n, phase): of its guard events.
look() {
    cat >look.py <<'LOOK'
import csv, json, sys
events = [json.loads(line) for line in open(sys.argv[1] + "/events.jsonl")]
def evidence(number, kind=None):
    return [e["data"] for e in events
            if e["type"] == "evidence" and e["experiment"] == number and kind in (None, e["data"]["kind"])]
def guard(number, phase):
    return [e["data"] for e in events
            if e["type"] == "guard" and e["experiment"] == number and e["data"]["phase"] == phase]
def ended(number):
    return [e["data"] for e in events if e["type"] == "attempt_ended" and e["experiment"] == number]
def rows(name):
    return list(csv.DictReader(open(sys.argv[1] + "/" + name)))
def experiment(number):
    return json.load(open(sys.argv[1] + "/repo_net_%03d/experiment.json" % number))
LOOK
    printf '%s\n' "$1" >>look.py
    python3 look.py "$(run_dir)"
}
