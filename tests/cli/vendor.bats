#!/usr/bin/env bats
# A second vendor of GPUs, played (tests/fake/played_vendor.c): all that vendors differ in comes from its one file.

load gpus

PLAYED=${BUILD_DIR:-$ROOT/build}/tests/fake/tare-played

eval "machine_$(declare -f setup)"
setup() {
    machine_setup
    [ -x "$PLAYED" ] || skip "the program with the played vendor is not built ($PLAYED)"
    command -v python3 >/dev/null || skip "python3 is missing"
    TARE=$PLAYED
    unset PLAYED_VISIBLE
    export TARE_PLAYED=$WORK/scenario
    echo "power_w 100" >scenario
}

uuid() { printf 'PLAY-%04x' "$1"; }

# played COUNT: a machine with so many GPUs of the played vendor.
played() {
    local i
    mkdir -p machine/proc/driver/played machine/dev
    : >machine/proc/driver/played/gpus
    for ((i = 0; i < $1; i++)); do
        echo "0000:8$i:00.0 $i $(uuid "$i") Played P1" >>machine/proc/driver/played/gpus
        : >"machine/dev/played$i"
    done
    echo "Played driver: 7.3" >machine/proc/driver/played/version
    : >machine/dev/playedctl
}

eval "machine_$(declare -f settings)"
settings() {
    case ${2:-} in *preflight*) ;; *) set -- "$1" "\"preflight\": {\"baseline\": 0}${2:+, $2}" "${@:3}" ;; esac
    machine_settings "$@"
}

sees='echo "${PLAYED_VISIBLE-unset} ${CUDA_VISIBLE_DEVICES-unset} ${CUDA_DEVICE_ORDER-unset}"'

# put WORD NUMBER...: the scenario from now on.
put() { printf '%s %s\n' power_w 100 "$@" >scenario.new && mv scenario.new scenario; }

@test "doctor names its driver, its GPUs, its counter and the way to its library" {
    played 2
    run "$TARE" doctor
    echo "$output"
    [[ "$output" == *"Played 7.3"* ]]
    [[ "$output" == *"GPU 1 (Played P1, PLAY-0001): no run holds it"* ]]
    [[ "$output" == *"GPU 0: energy counter (played-counter)"* ]]
    [[ "$output" != *"GPU 2"* && "$output" != *nvml* ]]
    rm machine/proc/driver/played/version
    run "$TARE" doctor
    [[ "$output" == *"no driver is loaded"* ]]
}

@test "its own variable says which GPUs a command sees and locks; CUDA's says nothing of them" {
    played 2
    export PLAYED_VISIBLE=PLAY-0001
    hold
    run --separate-stderr "$TARE" exec --gpu-lock refuse -- true
    echo "$stderr"
    [ "$status" -eq 3 ] || [ "$status" -eq 125 ]
    [[ "$stderr" == *"GPU 1 (Played P1, PLAY-0001) is held by process $HOLDER"* ]]
    PLAYED_VISIBLE=0 CUDA_VISIBLE_DEVICES=1 "$TARE" exec --gpu-lock refuse -- true 2>err
    [ ! -s err ]
    # Not set: all of them are needed.
    unset PLAYED_VISIBLE
    run --separate-stderr env CUDA_VISIBLE_DEVICES=0 "$TARE" exec --gpu-lock refuse -- true
    [ "$status" -ne 0 ]
    [[ "$stderr" == *"(PLAYED_VISIBLE is not set, so all GPUs are needed)"* ]]
    PLAYED_VISIBLE=PLAY-0000,PLAY-9 "$TARE" exec --gpu-lock refuse -- true 2>err
    grep -qF "PLAYED_VISIBLE=PLAY-0000,PLAY-9: 'PLAY-9' is no GPU of this machine; its runtime ends the list there" err
    let_go
}

@test "each experiment gets its GPU by the vendor's variable and UUID; settings and --gpus take its prefix and refuse others" {
    played 3
    job "$sees >\"\$TARE_RUN_DIR/\$TARE_EXPERIMENT/gpus\"; echo loss 0.5"
    settings 4 '"gpus": "PLAY-0001,PLAY-0002"'
    tare_run
    is "$(cat "$(run_dir)"/*/gpus | sort -u)" "$(printf 'PLAY-0001 unset unset\nPLAY-0002 unset unset')"
    rm -rf results
    tare_run --gpus PLAY-0000
    is "$(cat "$(run_dir)"/*/gpus | sort -u)" "PLAY-0000 unset unset"
    run --separate-stderr tare_run --gpus PLAY-0009
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"'PLAY-0009' is no GPU of this machine, which has 3"* ]]
    settings 1 '"gpus": "OTHER-0001"'
    run --separate-stderr tare_run
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"gpus"* ]]
    PLAYED_VISIBLE=0 run --separate-stderr tare_run --gpus 2
    [ "$status" -eq 2 ]
}

@test "a training that sets the vendor's variable itself is not given a GPU" {
    played 2
    job "$sees"
    registry '"env": {"PLAYED_VISIBLE": "1"}'
    settings 1 '"gpus": "0"'
    run --separate-stderr tare_run
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"give PLAYED_VISIBLE to a training"* ]]
}

@test "its energy is that of its counter, within the bound that its profile's row states" {
    played 1
    put
    "$TARE" exec --energy --json energy.json -- sleep 1 2>err
    cat energy.json
    python3 - <<'END'
import json
page = json.load(open("energy.json"))
board = [d for d in page["devices"] if d["scope"] == "GPU board"][0]
assert board["source"] == "played-counter", board
assert board["sensor_profile"] == "P1 (played)", board
assert board["sensor_uncertainty"] == "3 %", board
gain, = [c for c in board["budget"]["components"] if c["component"] == "gain"]
assert gain["source"] == "the played vendor's manual" and abs(gain["u"] - 0.03 / 3 ** 0.5) < 1e-6, gain # GUM, 4.3.7
# The scenario draws 100 W.
assert abs(board["joules"] - 100 * page["duration_seconds"]) <= board["half_width_j"] + board["gain_bound"] * board["joules"], board
END
}

@test "its own throttling bits become evidence of the same kinds, and a fault of its own numbers is judged by its own list" {
    played 1
    job "touch began; until [ -e go ]; do sleep 0.2; done; echo loss 0.5"
    settings 1
    put
    start_run
    wait_until test -e repo/began
    sleep 1.5 # what there was before is known
    put throttle 1 faults 1 fault 8 # PROCHOT; to NVIDIA bit 1 is "idle"
    wait_until grep -q "because of heat" out
    wait_until grep -q "fault 8" out
    put throttle 4 faults 2 fault 7
    wait_until grep -q "because of the power supply" out
    wait_until grep -q "fault 7" out
    touch repo/go
    end_program
    [ "$CODE" -eq 0 ]
    events evidence 1 >evidence
    cat evidence
    grep -F '"hw_thermal"' evidence | grep -qF "GPU 0 was slowed down by its hardware because of heat"
    grep -qF '"hw_power_brake"' evidence
    grep -F '"xid"' evidence | grep -qF "GPU 0: the driver reported fault 8"
    grep -F '"xid_program"' evidence | grep -qF "GPU 0: the driver reported fault 7"
    is "$(summary verdict)" contaminated
}

# begin_beside_holder: an experiment, and a HOLDER that began after it and has the GPU's device file open.
begin_beside_holder() {
    played 1
    job "touch began; until [ -e go ]; do sleep 0.2; done; echo loss 0.5"
    settings 1
    put
    start_run
    wait_until test -e repo/began
    sleep 600 3<machine/dev/played0 >/dev/null 2>&1 &
    HOLDER=$!
}

@test "who uses its GPU is told by its library, and is one that has its device file open" {
    begin_beside_holder
    put user "$HOLDER" user_bytes 1073741824
    wait_until grep -q "GPU 0 is used by pid $HOLDER " out
    touch repo/go
    end_program
    events evidence 1 >evidence
    cat evidence
    grep -F '"foreign_process"' evidence | grep -qF "GPU 0 is used by pid $HOLDER of user $(id -un), 'sleep 600'"
    grep -F '"foreign_process"' evidence | grep -qF "1024 MiB"
    grep -F '"gpu_held"' evidence | grep -qF "$HOLDER sleep ($WORK/machine/dev/played0)"
}

@test "a monitor that has the device file open and no work on the GPU is not held against an experiment" {
    begin_beside_holder
    local job=
    for folder in /proc/[0-9]*; do
        [ "$(readlink "$folder/cwd")" != "$WORK/repo" ] || job=${job:-${folder#/proc/}}
    done
    put user "$job" user_bytes 1073741824
    sleep 3.5
    touch repo/go
    end_program
    events evidence 1 >evidence
    cat evidence
    [ "$(grep -cE '"(gpu_held|foreign_process)"' evidence)" -eq 0 ]
}

@test "memory limits and calibrate, which need CUDA, are refused on its GPUs with the reason" {
    played 1
    run --separate-stderr "$TARE" exec --gpu-memory-limit 1GiB -- true
    [ "$status" -ne 0 ]
    is "${stderr#*error: }" "--gpu-memory-limit: GPU 0 (Played P1, PLAY-0000) is of Played: GPU memory is followed and limited for programs that use CUDA only"
    job "exit 0"
    settings 1 '' '"gpu_memory_limit": "2GiB"'
    for option in '' --dry-run; do
        run --separate-stderr tare_run $option
        [ "$status" -ne 0 ]
        [[ "$stderr" == *"the settings ask for GPU memory to be followed or limited: GPU 0 (Played P1, PLAY-0000) is of Played: "* ]]
    done
    run --separate-stderr "$TARE" calibrate --yes
    [ "$status" -ne 0 ]
    [[ "$stderr" == *"GPU 0 is of Played: the load of "*" calibrate needs CUDA"* ]]
    # Where no GPU of the vendor is seen, a limit goes on.
    export TARE_CUDA_LIBRARY=${BUILD_DIR:-$ROOT/build}/src/gpu_memory/preload/libtare-cuda.so
    PLAYED_VISIBLE= "$TARE" exec --gpu-memory-limit 1GiB -- true
}

@test "on a machine with both vendors each is shown and hidden by its own variable, and counted on" {
    played 1
    two_gpus
    job "$sees >\"\$TARE_RUN_DIR/\$TARE_EXPERIMENT/gpus\"; echo loss 0.5"
    # NVIDIA's two have no sensors here.
    settings 2 '"preflight": {"policy": "go-on", "baseline": 0}'
    run "$TARE" doctor
    [[ "$output" == *"NVIDIA 535.183.01"* && "$output" == *"Played 7.3"* ]]
    [[ "$output" == *"GPU 0 (NVIDIA H200, GPU-00000000-aaaa)"*"GPU 2 (Played P1, PLAY-0000)"* ]]
    tare_run --gpus GPU-1,2
    is "$(cat "$(run_dir)"/*/gpus | sort -u)" "$(printf ' GPU-11111111-bbbb PCI_BUS_ID\nPLAY-0000  PCI_BUS_ID')"
    CUDA_VISIBLE_DEVICES=1 PLAYED_VISIBLE= hold
    CUDA_VISIBLE_DEVICES=0 PLAYED_VISIBLE=0 "$TARE" exec --gpu-lock refuse -- true 2>err
    if grep -q "is held by" err; then false; fi
    let_go
}
