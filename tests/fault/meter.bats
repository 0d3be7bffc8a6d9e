#!/usr/bin/env bats
# What the meter meets: drivers that are missing, old, hang, lie or go away, a meter that is killed, a disk that is full. The
# program itself against the fake driver: whatever comes, what is run ends with its results and says what is missing.

load ../cli/energy

AS_REAL=${LIBRARY%.so.1}-as-real.so.1
TOO_OLD=${LIBRARY%.so.1}-too-old.so.1

@test "scaled time is refused with a driver that may be a real one, before anything runs" {
    scenario 1 'step 0 100'
    export TARE_NVML=$AS_REAL TARE_TIME_SCALE=0.5
    local said="TARE_TIME_SCALE=0.5 is for tests with a driver that is played"
    job 'touch ran'
    settings 1
    run -3 tare_run
    [[ $output == *"$said"* ]]
    run -125 "$TARE" exec --energy -- touch repo/ran
    [[ $output == *"$said"* ]]
    run -3 "$TARE" measure --gpus 0 --for 1
    [[ $output == *"$said"* ]]
    [ ! -e repo/ran ]
    # Not with the scale 1, nor where energy is not asked for.
    TARE_TIME_SCALE=1 tare_run -q
    [ -e repo/ran ]
    "$TARE" exec true
}

@test "with the played driver time is scaled: pauses, what the GPU does, and the joules are those of the clock" {
    scenario 1 'step 0 100
step 40000 500'
    # Time 0 was a second ago: at a tenth of the time the step comes 3 s from now.
    export TARE_TIME_SCALE=0.1
    job '[ -e first ] || sleep 5; touch first; echo "loss 0.5"'
    settings 2
    sed -i 's/"between_runs": 0/"between_runs": 20/' settings.json
    tare_run
    is "$(of_events "data ->> 'seconds'" pause)" 2.0
    sed -i 's/^step 40000/step 4000/' scenario # as the clock has it, for the truth
    look '
gpu = energy["gpu"]
near(gpu["joules"], truth(), gpu["half_width_j"])
assert gpu["joules"] > 101 * (end - start) / 1e9, gpu'
}

# Of experiment 1: succeeded, no energy, and why; then the same of exec and of measure.
nobody_measures() {
    local why=$1 code=0
    job 'echo "loss 0.5"'
    settings 1
    rm -rf results
    tare_run >out 2>err
    grep -q "the energy of GPU 0 is not measured: .*$why" out
    WHY=$why look '
assert row["outcome"] == "succeeded" and row["perf_loss"] == "0.5", row
assert row["energy_gpu_total_joules"] == "" and energy["gpu"] is None, (row, energy)
missing = energy["missing"][0]
assert missing["device"] == "GPU 0" and os.environ["WHY"] in missing["reason"], missing'
    "$TARE" exec --energy -- sh -c 'echo mine; exit 7' >out 2>err || code=$?
    is "$code $(cat out)" "7 mine"
    tr -s '\n ' '  ' <err | grep -q "Not measured: GPU 0: .*$why"
    code=0
    "$TARE" measure --for 1 >out 2>err || code=$?
    is "$code $(cat out)" "3 "
    grep -q "nothing can be measured here: GPU 0: .*$why" err
}

@test "without the driver's library" {
    scenario 1 'step 0 100'
    export TARE_NVML=$WORK/none/libnvidia-ml.so.1
    nobody_measures "none/libnvidia-ml.so.1"
}

@test "with a driver that is too old" {
    scenario 1 'step 0 100'
    export TARE_NVML=$TOO_OLD
    nobody_measures "has no nvmlDeviceGetHandleByIndex_v2: this NVIDIA driver is too old"
}

@test "with a library whose driver is not loaded" {
    scenario 1 'init_error 9'
    nobody_measures "nvmlInit: Driver Not Loaded"
}

@test "with a driver that hangs at its beginning no job waits long, and the run ends" {
    scenario 1 'fault nvmlInit hang'
    job 'echo "loss 0.5"'
    settings 2
    local begin=$SECONDS
    tare_run
    [ $((SECONDS - begin)) -lt 120 ]
    is "$(summary outcome)" "succeeded
succeeded"
    look '
assert row["energy_gpu_total_joules"] == "" and energy["gpu"] is None, (row, energy)
assert [m["device"] for m in energy["missing"]] == ["GPU 0"] and energy["missing"][0]["reason"], energy'
}

# The joules of page.json are those of so many watts: a gap costs certainty, not truth.
measured_page() {
    python3 - "$1" <<'END'
import json, os, sys
page = json.load(open("page.json"))
gpu = page["gpu"]
watts = float(sys.argv[1])
true = watts * page["duration_seconds"]
assert gpu["half_width_j"] > 0 and abs(gpu["joules"] - true) <= 1.6 * gpu["half_width_j"], (gpu, true)
END
}

@test "a meter that hangs at a later call is replaced: the gap is told, the rest is measured" {
    # Scaled, so that it is given up after 3 s and not after 10.
    export TARE_TIME_SCALE=0.25
    scenario 1 'step 0 200
fault nvmlDeviceGetSamples hang when='"$WORK/hang once=$WORK/hung"
    job 'sleep 3; touch ../hang; until [ -e ../hung ]; do sleep 0.2; done; sleep 12; echo "loss 0.5"'
    settings 1
    tare_run
    look '
assert row["outcome"] == "succeeded", row
texts = [x["data"]["text"] for x in mine if x["type"] == "evidence" and x["data"]["kind"] == "sampling_gap"]
assert any("the meter hung in the driver (no answer to " in text for text in texts), texts
gpu = energy["gpu"]
# The counter went on meanwhile: both edges were read, so the whole is known.
near(gpu["joules"], 200 * (end - start) / 1e9, gpu["half_width_j"])
assert gpu["half_width_j"] < 0.2 * gpu["joules"], gpu'
}

# The meter process of the program $1, which has one.
meter_of() {
    local pid
    for pid in $(cat "/proc/$1/task/$1/children"); do
        if [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = tare-meter ]; then echo "$pid"; fi
    done
}
has_other_meter() { local pid; pid=$(meter_of "$1"); [ -n "$pid" ] && [ "$pid" != "$2" ]; }

# A scenario line: the file called is made when the meter reads the counter for the third time, once in its first answer and then at the
# beginning of what is measured.
CALLED='fault nvmlDeviceGetTotalEnergyConsumption delay ms=0 from_call=3 once='

# A process that was killed may not be gone yet when its socket is.
DIED='the meter \(died of signal 9\|closed its connection\)'

# kill_meter PID: when something is measured; and waits until there is another.
kill_meter() {
    local meter
    wait_until test -e called
    meter=$(meter_of "$1")
    kill -KILL "$meter"
    wait_until has_other_meter "$1" "$meter"
}

@test "a killed meter of a run is replaced, and what it was is told" {
    scenario 1 "step 0 200
$CALLED$WORK/called"
    job 'until [ -e ../go ]; do sleep 0.2; done; sleep 8; echo "loss 0.5"'
    settings 1
    start_run
    kill_meter "$PID"
    touch go
    end_program
    is "$CODE" 0
    look '
assert row["outcome"] == "succeeded", row
texts = [x["data"]["text"] for x in mine if x["type"] == "evidence" and x["data"]["kind"] == "sampling_gap"]
assert any("the meter died of signal 9" in text or "the meter closed its connection" in text for text in texts), texts
gpu = energy["gpu"]
near(gpu["joules"], truth(), gpu["half_width_j"])
assert gpu["half_width_j"] < 0.2 * gpu["joules"], gpu'
}

@test "a killed meter of exec and of measure is replaced as well" {
    scenario 1 "step 0 200
$CALLED$WORK/called"
    start_program exec --energy -- sh -c 'until [ -e go ]; do sleep 0.2; done; sleep 8; exit 7'
    kill_meter "$PID"
    touch go
    end_program
    is "$CODE" 7
    cat err
    grep -q "GPU 0: nothing was read from [0-9.]* s on: $DIED" err
    grep -q ' ± [0-9.]* k*J  GPU 0 (GPU board, nvml-counter)' err
    rm called
    start_program measure --json
    kill_meter "$PID"
    sleep 8
    kill -INT "$PID"
    end_program
    is "$CODE" 0
    mv out page.json
    measured_page 200
    grep -q "$DIED" page.json
}

@test "a meter that is killed again and again is given up in the end, and the run goes on" {
    export TARE_TIME_SCALE=0.01
    scenario 1 "step 0 200
$CALLED$WORK/called"
    job 'until [ -e ../go ]; do sleep 0.2; done; echo "loss 0.5"'
    settings 1
    start_run
    wait_until test -e called
    is_given_up() {
        local pid
        pid=$(meter_of "$PID")
        [ -z "$pid" ] || kill -KILL "$pid" || true
        grep -q "the energy of GPU 0 is not measured: given up after 5 replacements: $DIED" out
    }
    wait_until is_given_up || { cat out err; return 1; }
    touch go
    end_program
    is "$CODE" 0
    look 'assert row["outcome"] == "succeeded" and "sampling_gap" in evidence, (row, evidence)'
}

# From when the file lost is there, no call succeeds; the first of them makes the file noticed.
lost() {
    echo "fault * delay ms=0 when=$WORK/lost once=$WORK/noticed"
    echo "fault * error code=15 when=$WORK/lost"
}

@test "a GPU that is lost in the middle: what was measured before is kept, what came after is said to be missing" {
    scenario 1 "step 0 200
$(lost)"
    job 'sleep 3
if [ "$TARE_EXPERIMENT" = repo_net_002 ]; then touch ../lost; until [ -e ../noticed ]; do sleep 0.2; done; sleep 3; fi
echo "loss 0.5"'
    settings 3
    tare_run
    is "$(summary outcome | sort -u)" succeeded
    look 'near(energy["gpu"]["joules"], truth(), energy["gpu"]["half_width_j"])'
    EXPERIMENT=2 look '
texts = [x["data"]["text"] for x in mine if x["type"] == "evidence" and x["data"]["kind"] == "sampling_gap"]
assert any("GPU is lost" in text for text in texts), texts'
    EXPERIMENT=3 look '
assert row["energy_gpu_total_joules"] == "" and "sampling_gap" in evidence, (row, evidence)'
}

@test "measure and exec of a GPU that is lost say since when" {
    scenario 1 "step 0 200
$CALLED$WORK/called
$(lost)"
    start_program measure --json
    wait_until test -e called
    sleep 2
    touch lost
    wait_until test -e noticed
    sleep 3
    kill -INT "$PID"
    end_program
    grep -q 'GPU 0: nothing was read from [0-9.]* s on: .*GPU is lost' out
    local code=0
    "$TARE" exec --energy -- sh -c 'sleep 1; exit 7' 2>err || code=$?
    is $code 7
    grep -q 'GPU is lost' err
}

@test "garbage is no energy of exec and measure either" {
    scenario 1 'step 0 100
fault nvmlDeviceGetTotalEnergyConsumption garbage
fault nvmlDeviceGetSamples garbage
fault nvmlDeviceGetPowerUsage garbage
fault nvmlDeviceGetFieldValues garbage
fault nvmlDeviceGetName garbage'
    local code=0
    "$TARE" measure --for 2 --json >page.json || code=$?
    python3 - $code <<'END'
import json, sys
page = json.load(open("page.json"))
joules = page["gpu"]["joules"] if page["gpu"] else None
assert joules is None or 0 <= joules <= 700 * page["duration_seconds"], page
assert (joules is None) == (sys.argv[1] == "3"), (page, sys.argv)
END
    code=0
    "$TARE" exec --energy -- sh -c 'exit 7' 2>err || code=$?
    is $code 7
}

@test "a counter that begins anew is told by exec and measure, and the trace stands in" {
    scenario 1 'step 0 300
counter_reset_ms 5000'
    "$TARE" measure --for 8 --json >page.json
    python3 - <<'END'
import json
page = json.load(open("page.json"))
gpu, true = page["gpu"], 300 * page["duration_seconds"]
assert abs(gpu["joules"] - true) <= max(1.6 * gpu["half_width_j"], 0.05 * true), (gpu, true)
END
    scenario 1 'step 0 300
counter_reset_ms 8000'
    "$TARE" exec --energy -- sleep 10 2>err
    grep -q 'its counter was wrong for part of the time and ignored there' err
}

@test "a disk that is full for the readings costs the readings, not the result" {
    [ -z "${TARE_SANITIZED:-}" ] || skip "the library that fails writes goes in front of the sanitizers' runtime"
    local preload=${BUILD_DIR:-$ROOT/build}/tests/fault/libdisk_full.so
    [ -e "$preload" ] || skip "there is no $preload"
    scenario 1 'step 0 200'
    job 'sleep 3; echo "loss 0.5"'
    settings 1
    LD_PRELOAD=$preload DISK_FULL=/energy/gpu.csv tare_run
    look '
assert row["outcome"] == "succeeded" and row["perf_loss"] == "0.5", row
texts = [x["data"]["text"] for x in mine if x["type"] == "evidence" and x["data"]["kind"] == "energy_file"]
assert len(texts) == 1 and "No space left on device" in texts[0], texts
near(energy["gpu"]["joules"], truth(), energy["gpu"]["half_width_j"])
assert os.path.getsize(folder + "energy/gpu.csv") == 0'
}

@test "a disk that is full for the table of measure is an error, not silence" {
    [ -c /dev/full ] || skip "there is no /dev/full"
    scenario 1 'step 0 200'
    local code=0
    "$TARE" measure --for 1 --json >/dev/full 2>err || code=$?
    is $code 3
    grep -q 'cannot write to standard output' err
}
