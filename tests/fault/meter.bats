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
    is "$(events pause | python3 -c 'import json, sys; print(json.load(sys.stdin)["seconds"])')" 2.0
    sed -i 's/^step 40000/step 4000/' scenario # as the clock has it, for the truth
    look '
gpu = energy["gpu"]
near(gpu["joules"], truth(), gpu["half_width_j"])
assert gpu["joules"] > 101 * (end - start) / 1e9 and gpu["covered_share"] > 0.9, gpu'
}
