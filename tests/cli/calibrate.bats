#!/usr/bin/env bats
# tare calibrate, against played drivers: libnvidia-ml, whose sensors are known, and libcuda, whose kernel sleeps.

load energy

CUDA=${BUILD_DIR:-$ROOT/build}/tests/fake/cuda/libcuda.so.1

eval "energy_$(declare -f setup)"
setup() {
    energy_setup
    [ -e "$CUDA" ] || skip "the fake CUDA driver is not built ($CUDA)"
    mkdir users
    export TARE_CUDA=$CUDA FAKE_CUDA_USERS=$WORK/users
    UUID=GPU-7f000000-0000-0000-0000-000000000000
    fake_gpu 0000:01:00.0 0 "$UUID"
    {
        python3 -c 'import time; print("origin_ns", time.monotonic_ns() - 10**9)'
        printf 'uuid %s\nusers %s/users\nload_w 500\n' "$UUID" "$WORK"
    } >scenario
}

# Root's is for all users.
files() { find "$XDG_STATE_HOME" "$TARE_SYSROOT/var/lib/tare" -name 'calibration-*' 2>/dev/null || true; }

# good_to CONDITION: python's, of the per cent to which energies of 10 s (short) and 60 s (long) are good by $output.
good_to() {
    [[ "$output" =~ "energies of 10 s are good to ± "([0-9.]+)" %, of 60 s to ± "([0-9.]+)" %" ]]
    python3 -c "short, long = ${BASH_REMATCH[1]}, ${BASH_REMATCH[2]}; assert $1, (short, long)"
}

@test "calibrate learns the period, the averaging and the levels of the GPU's sensors, keeps them and shows them" {
    run --separate-stderr "$TARE" calibrate --yes --seconds 24 --json
    echo "$stderr"
    [ "$status" -eq 0 ]
    echo "$output" >page.json
    follows calibrate page.json
    # The scenario: updates every 100 ms (its jitter is +-3 ms of each), samples every 17 ms, all instant; 77 W, 500 W more.
    # The load of a played GPU is this machine's: where others hold it up for most of the time, little can be learnt.
    ! waits 95 || skip "this machine is too busy to learn a sensor"
    python3 - <<'END'
import json
page = json.load(open("page.json"))
def near(figure, truth, slack=0):
    assert figure["value"] is not None and abs(figure["value"] - truth) <= 1.5 * figure["half_width"] + slack, (figure, truth)
sensors = page["sensors"]
near(sensors["counter"]["update_period_s"], 0.1, 0.0005)
near(sensors["samples"]["update_period_s"], 0.017, 0.0001)
assert sensors["samples"]["averaging"] == "instant", sensors["samples"]
near(sensors["samples"]["averaging_s"], 0, 0.001)
near(sensors["samples"]["delay_s"], 0, 0.002)
assert sensors["counter"]["averaging"] == "boxcar", sensors["counter"]
near(sensors["counter"]["averaging_s"], 0.1, 0.003)
assert sensors["counter"]["looked_share"]["value"] > 0.95
for name in ("samples", "power", "counter"):
    near(sensors[name]["idle_w"], 77, 1)
    near(sensors[name]["load_w"], 577, 2)
near(page["agreement"], 1, 0.01)
near(page["power_back_s"], 0, 0.3)
assert page["uuid"] == "GPU-7f000000-0000-0000-0000-000000000000" and page["driver"] == "580.159.04" and not page["stale"]
END
    [ "$(files | wc -l)" -eq 1 ]
    [ "$(basename "$(files)")" = "calibration-$UUID-580.159.04.json" ]
    run -0 "$TARE" calibrate --show
    is "$(wc -l <<<"$output")" 6
    [[ "$output" == *"$UUID"*"driver 580.159.04"*"its energy counter sees "*" ± "*" % of the time (its model: 98 to 100 %, "*"), with an update each "* ]]
    [[ "$output" =~ "with an update each "([0-9.]+)" ms" ]]
    jq -e "(.sensors.counter.update_period_s.value * 1000 - ${BASH_REMATCH[1]} | fabs) < 0.1" page.json
    good_to '0 < short and 0 < long < short / 2' # what is missed of the time falls with the root of the length
    # Of a sensor that is known to see all of the time: an update between 77 and 577 W is 50 J, of 3,900 J and of 23,000 J.
    cp "$(files)" learnt.json
    jq '.sensors.counter.update_period_s.value = 0.1 | .sensors.counter.averaging_s.value = 0.1 |
        .sensors.counter.looked_share += {"value": 1, "half_width": 0.005}' learnt.json >"$(files)"
    run -0 "$TARE" calibrate --show
    good_to '0 < long < short / 2 and short < 1.3 and long < 0.22'
    [[ "$output" == *"sees 100.0 ± 0.5 % of the time (its model: 98 to 100 %, combined), "* ]]
    jq '.sensors.counter.update_period_s.value = 0.1 | .sensors.counter.averaging_s.value = 0.027 |
        .sensors.counter.looked_share += {"value": 0.27, "half_width": 0.02}' learnt.json >"$(files)"
    run -0 "$TARE" calibrate --show
    [[ "$output" == *"sees 27.0 ± 2.0 % of the time (its model: 98 to 100 %, which differs: only the calibration is used), "* ]]
    cp learnt.json "$(files)"
    run -0 "$TARE" calibrate --show -v
    [[ "$output" == *"$UUID"*"driver 580.159.04"* && "$output" == *"looked-at share"* && "$output" == *instant*boxcar* ]]
    # The machine's driver in these files is 535.183.01.
    [[ "$output" == *"stale: it is of driver 580.159.04, and this is 535.183.01"* ]]
    # What measures this GPU from now on goes by it.
    run --separate-stderr -0 "$TARE" measure --for 1s --json
    python3 - "$output" <<'END'
import json, sys, time
page = json.loads(sys.argv[1])
gpus = [d for d in (page.get("devices") or [page["gpu"]]) if d.get("sensor_profile")]
assert gpus and all(d["sensor_profile"] == "calibrated " + time.strftime("%Y-%m-%d", time.gmtime()) for d in gpus), gpus
assert "looked-at share" in gpus[0]["sensor_profile_source"], gpus
END
    # A run records it.
    job 'echo "loss 0.5"'
    settings 1
    tare_run -q >out 2>err
    python3 - "$(run_dir)" "$UUID" <<'END'
import json, sys
found = json.load(open(sys.argv[1] + "/machine.json"))["calibrations"]
assert [c["uuid"] for c in found] == [sys.argv[2]] and found[0]["sensors"]["counter"]["averaging"] == "boxcar", found
END
}

@test "without a terminal or --yes a GPU is loaded only where a run would calibrate it" {
    unset SLURM_JOB_ID TARE_CALIBRATE
    local why
    for why in "TARE_CALIBRATE=never" "SLURM_JOB_ID=1" "display"; do
        [ "$why" != display ] || echo "display 1" >>scenario
        [[ "$why" != *=* ]] || export "${why?}"
        run -2 "$TARE" calibrate </dev/null
        [[ "$output" == *"--yes"* ]]
        unset TARE_CALIBRATE SLURM_JOB_ID
    done
    [[ "$output" == *"a display is active on it"* ]]
    [ ! -e users/kernel0 ]
    [ -z "$(files 2>/dev/null)" ]
}

@test "a GPU that somebody uses is not loaded" {
    printf '0 1000000000 90\n' >"users/$$"
    run -1 "$TARE" calibrate --yes --seconds 20
    [[ "$output" == *"used by pid"* ]]
    run "$TARE" calibrate --yes --seconds 20 --gpu GPU-none
    [ "$status" -ne 0 ]
    [[ "$output" == *GPU-none* && "$output" != *"used by pid"* ]]
    [ ! -e users/kernel0 ]
}

@test "a GPU whose lock another run holds is not loaded" {
    hold
    run -3 "$TARE" calibrate --yes --seconds 20
    [[ "$output" == *"is held by process"* ]]
    [ ! -e users/kernel0 ]
    let_go
}

@test "without a CUDA driver calibrate says so" {
    TARE_CUDA=$WORK/none.so run -3 "$TARE" calibrate --yes --seconds 20
    [[ "$output" == *"none.so"* ]]
}

@test "the processes that use the GPU end with calibrate, however it ends" {
    "$TARE" calibrate --yes --seconds 20 >/dev/null 2>&1 3>&- &
    PID=$!
    wait_until test -e users/kernel0
    local children=$(pgrep -P "$PID") # who watches, who reads and who loads the GPU
    [ "$(wc -w <<<"$children")" -eq 3 ]
    kill -KILL "$PID"
    local child
    for child in $children; do wait_until test ! -e "/proc/$child"; done
    [ -z "$(files)" ]
}

@test "a calibration that is none is refused, with its name" {
    run -1 "$TARE" calibrate --show
    [[ "$output" == *"nothing is calibrated yet"* ]]
    local folder
    folder=$(find "$XDG_STATE_HOME" -type d -name runs)
    [ -n "$folder" ] || folder=$(find "$XDG_STATE_HOME" -mindepth 1 -maxdepth 1 -type d)/x
    echo '{"format": 1, "uuid": "GPU-\u001b[31m"}' >"$(dirname "$folder")/calibration-x.json"
    cp "$(dirname "$folder")/calibration-x.json" "$folder/" 2>/dev/null || true
    run -1 "$TARE" calibrate --show
    [[ "$output" == *"calibration-x.json: it is no calibration of this version"* ]]
}
