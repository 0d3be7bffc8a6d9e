#!/usr/bin/env bats
# Calibrations that no person asked for: in runs, before an experiment. The drivers are played: libnvidia-ml, whose sensors are
# known, and libcuda, whose kernel sleeps. Time is scaled: a plan of 6 s is one of 10 minutes, the quiet time of 5 s is 50 ms; the
# load takes its shortest time, 20 s.

load energy

CUDA=${BUILD_DIR:-$ROOT/build}/tests/fake/cuda/libcuda.so.1

eval "energy_$(declare -f setup)"
setup() {
    energy_setup
    [ -e "$CUDA" ] || skip "the fake CUDA driver is not built ($CUDA)"
    mkdir users
    export TARE_CUDA=$CUDA FAKE_CUDA_USERS=$WORK/users TARE_TIME_SCALE=0.01
    unset SLURM_JOB_ID TARE_CALIBRATE CUDA_MPS_PIPE_DIRECTORY
    play 1
    job 'echo "loss 0.5"'
    lasting 700
}

uuid() { printf 'GPU-7f000000-0000-0000-0000-%012x' "$1"; }

# play GPUS [LINES]
play() {
    scenario "$1" "users $WORK/users
load_w 500
${2:-}"
    local i
    for ((i = 0; i < $1; i++)); do printf 'gpu %s\nuuid %s\n' "$i" "$(uuid "$i")" >>scenario; done
}

# lasting SECONDS [MORE-OF-TARE] [COUNT]: a plan of one experiment that is expected to take so long.
lasting() {
    settings "${3:-1}" "\"order\": \"longest-first\"${2:+, $2}" "\"expected_duration\": \"$1s\""
}

files() { find "$XDG_STATE_HOME" "$TARE_SYSROOT/var/lib/tare" -name 'calibration-*.json' 2>/dev/null || true; }

# outcome KEY: of the run's only event of a calibration.
outcome() { events calibration | jq -r ".$1"; }

# is_untouched: nothing loaded a GPU.
is_untouched() { [ -z "$(find users -name 'kernel*')" ] && [ -z "$(files)" ]; }

# others_come GPU: somebody else's process is on it from now on.
others_come() { printf '%s 100000000 0\n' "$1" >"users/.new" && mv users/.new "users/$$"; }

# loader: the process that loads a GPU.
loader() { basename "$(find users -name '[1-9]*' ! -name "$$")"; }

# refuses PATTERN [OPTION...]: the run tries to calibrate, says why it does not, loads nothing and succeeds.
refuses() {
    local pattern=$1
    shift
    rm -rf results users/kernel*
    tare_run "$@" >out 2>err || { cat out err && return 1; }
    is "$(outcome outcome)" refused || { cat out err && return 1; }
    [[ "$(outcome reason)" =~ $pattern ]] || { outcome reason && return 1; }
    grep -q "GPU 0 is not calibrated.*: " out
    is_untouched
}

# does_not_try [OPTION...]
does_not_try() {
    rm -rf results
    tare_run -q "$@" >out 2>err
    is "$(events calibration)" ""
    is_untouched
}

@test "each condition that does not hold is named, and the GPU is not loaded" {
    local line
    # the pattern | lines of the scenario | a command before the run
    while IFS='|' read -r pattern lines before; do
        play 1 "$lines"
        eval "${before:-:}"
        refuses "$pattern" || { echo "$pattern"; return 1; }
        rm -rf machine/sys/class/power_supply machine/tmp users/* "$WORK/mps"
        unset FAKE_CUDA_OUTSIDE CUDA_MPS_PIPE_DIRECTORY
    done <<'END'
divided into parts|mig 1|
it is a vGPU|virtualization 2|
it is a vGPU|virtualization 3|
a display is active|display 1|
heat or power slow it down||echo 8 >users/reasons0
heat or power slow it down||echo 32 >users/reasons0
MiB of its memory are in use|leak 500000000|
is on it||others_come 0
it is busy|step 0 300|
does not list the processes|fault nvmlDeviceGetComputeRunningProcesses error code=4|
lacks the calibration's own||export FAKE_CUDA_OUTSIDE=1
has a battery||mkdir -p machine/sys/class/power_supply/BAT0 && echo Battery >machine/sys/class/power_supply/BAT0/type
MPS||mkdir mps && mkfifo mps/control && export CUDA_MPS_PIPE_DIRECTORY=$WORK/mps
END
}

@test "whoever may forbid it does; in a job of Slurm the settings must allow it" {
    play 1 'display 1' # which is said where a calibration is tried
    refuses 'a display'
    TARE_CALIBRATE=auto refuses 'a display'
    does_not_try --no-calibrate
    TARE_CALIBRATE=never does_not_try
    SLURM_JOB_ID=7 does_not_try
    does_not_try --gpu-lock off
    mkdir -p machine/etc/tare
    echo never >machine/etc/tare/calibrate
    does_not_try
    echo auto >machine/etc/tare/calibrate
    refuses 'a display'
    lasting 700 '"calibrate": "never"'
    does_not_try
    lasting 700 '"calibrate": "slurm"'
    SLURM_JOB_ID=7 refuses 'a display'
    rm -r results
    tare_run --dry-run >/dev/null
    [ ! -e results ]
}

@test "a plan of less than 10 minutes calibrates nothing" {
    lasting 5
    does_not_try
    lasting 5 '' 3 # 15 s, as 25 minutes
    play 1 'display 1'
    refuses 'a display'
}

@test "where nothing is known of how long experiments take, the first one shows it" {
    export TARE_TIME_SCALE=0.001
    play 1 'display 1'
    job 'sleep 0.4; echo "loss 0.5"'
    settings 4 # after the first 1.2 s are left, as 20 minutes
    refuses 'a display'
    is "$(jq -r 'select(.type == "attempt_ended" or .type == "calibration") | .type' "$(run_dir)/events.jsonl" | head -n 2 | xargs)" \
        "attempt_ended calibration"
    settings 2
    does_not_try
    # Earlier runs in the same folder show it before the first.
    play 1
    settings 4
    rm -rf results
    tare_run -q --no-calibrate
    mv results/run_* results/run_20200101_000000
    play 1 'display 1'
    settings 2
    job 'echo "loss 0.5"'
    tare_run -q
    is "$(jq -r 'select(.type == "attempt_ended" or .type == "calibration") | .type' results/run_202[1-9]*/events.jsonl | head -n 2 | xargs)" \
        "calibration attempt_ended"
}

@test "bench and feasibility calibrate as run does" {
    export TARE_TIME_SCALE=0.001
    play 1 'display 1'
    "$TARE" bench -n 4 --pause 0 -q 'sleep 0.4' >/dev/null 2>err
    grep -q '"type": *"calibration"' results/bench_*/events.jsonl
    rm -r results
    "$TARE" bench -n 4 --pause 0 -q --no-calibrate 'sleep 0.4' >/dev/null 2>err
    run ! grep -q '"type": *"calibration"' results/bench_*/events.jsonl
    "$TARE" feasibility --help | grep -q -e --no-calibrate
    is_untouched
}

@test "a calibration is kept, used at once and not repeated; its joules count in the budget" {
    run -4 tare_run --energy-budget 2kJ
    [[ "$output" == *"GPU 0 was calibrated ("*" s, "*" kJ, beside the experiments)"* ]]
    is "$(outcome outcome)" made
    is "$(events attempt_started)" ""
    # 77 W for all of the time, and 500 W more while the kernels ran.
    python3 - "$(events calibration)" <<'END'
import json, os, struct, sys
event = json.loads(sys.argv[1])
kernels = open("users/kernel0", "rb").read()
load_s = sum(end - begin for begin, end in struct.iter_unpack("qq", kernels)) / 1e9
expected = 77 * event["seconds"] + 500 * load_s
assert abs(event["energy_j"] - expected) < 0.03 * expected, (event["energy_j"], expected)
assert event["memory_bytes"] == 200e6 and 20 < event["seconds"] < 40, event
END
    "$TARE" run --resume "$(run_dir)" --energy-budget 20kJ >out 2>err
    is "$(events calibration | wc -l)" 1
    is "$(look 'print(energy["devices"][0]["calibration_sha256"])')" "$(sha256sum <"$(files)" | cut -d' ' -f1)"
    is "$(outcome calibration.sha256)" "$(sha256sum <"$(files)" | cut -d' ' -f1)"
    events session_ended | tail -n 1 | jq -e '.budget.energy.used_j > 4000'
    # Another run finds it; one of another VBIOS, or after 30 days, does it anew.
    rm -r results users/kernel0
    tare_run -q
    is "$(events calibration)" ""
    is "$(look 'print(energy["devices"][0]["calibration_sha256"])')" "$(sha256sum <"$(files)" | cut -d' ' -f1)"
    mv "$(files)" kept.json
    local kept
    kept=machine/var/lib/tare/calibrations
    [ "$(id -u)" -eq 0 ] || kept=$XDG_STATE_HOME/tare/runs
    for change in '.firmware = "97.0"' '.driver = "1.2"' '.version = "0.0.1"' '.made -= 31 * 86400'; do
        play 1 'display 1'
        rm -rf results
        jq "$change" kept.json >"$kept/calibration-$(uuid 0)-580.159.04.json"
        tare_run -q 2>err
        is "$(outcome outcome)" refused || { echo "$change"; return 1; }
    done
}

@test "it stops within half a second when somebody comes, keeps nothing, and the run goes on" {
    start_run
    wait_until test -e users/kernel0
    local loading began
    loading=$(loader)
    began=${EPOCHREALTIME/./}
    others_come 0
    while [ -e "/proc/$loading" ] && [ $((${EPOCHREALTIME/./} - began)) -lt 5000000 ]; do :; done
    [ $((${EPOCHREALTIME/./} - began)) -lt 500000 ]
    end_program
    is "$CODE" 0
    is "$(outcome outcome)" interrupted
    [[ "$(outcome reason)" == "process $$ came to the GPU" ]]
    [ -z "$(files)" ]
}

@test "memory that no listed process has ends it as well" {
    start_run
    wait_until test -e users/kernel0
    echo 200000000 >users/.new && mv users/.new users/leak0
    end_program
    is "$CODE" 0
    is "$(outcome outcome)" interrupted
    [ -z "$(files)" ]
}

@test "it ends with the run, however that ends" {
    local loading signal
    for signal in KILL INT; do
        rm -rf results users/*
        start_run
        wait_until test -e users/kernel0
        loading=$(loader)
        kill "-$signal" "$PID"
        wait_until test ! -e "/proc/$loading"
        wait "$PID" || true
        [ -z "$(files)" ]
    done
}

@test "the GPUs of a host take turns" {
    play 2
    lasting 1400 '' 2
    start_run
    wait_until eval '[ -n "$(find users -name "kernel*")" ]'
    local first second
    first=$(basename "$(find users -name 'kernel*')")
    second=kernel$((1 - ${first#kernel}))
    # The other one waits: it has no process that uses a driver.
    wait_until eval '[ "$(children_of "$PID" tare-calibrator | wc -w)" -eq 2 ]'
    [ ! -e "users/$second" ]
    others_come "${first#kernel}"
    wait_until test -e "users/$second"
    others_come "${second#kernel}"
    end_program
    is "$CODE" 0
    is "$(outcome outcome | xargs)" "interrupted interrupted"
}

@test "a calibration that fails does not fail the run" {
    TARE_CUDA=$WORK/none.so tare_run >out
    is "$(outcome outcome)" failed
    [[ "$(outcome reason)" == *none.so* ]]
    grep -q '1 succeeded' out
}

@test "exec and measure load no GPU, and one line says what a calibration would give" {
    unset TARE_TIME_SCALE
    # Its counter may see a quarter of the time only, and power changes all the while.
    play 1 "name NVIDIA A100-SXM4-80GB
$(for ((ms = 0; ms < 60000; ms += 1000)); do echo "step $ms $((100 + ms / 1000 % 2 * 300))"; done)"
    "$TARE" exec --energy -- sleep 3 >out 2>&1
    is "$(grep -c "GPU 0: its energy has ± .* %; after 'tare calibrate' (a minute of load) it would have about ± .* %" out)" 1
    "$TARE" measure --for 3s --json >page.json
    is "$(jq -r '.notes[]' page.json | grep -c 'tare calibrate')" 1
    is_untouched
}
