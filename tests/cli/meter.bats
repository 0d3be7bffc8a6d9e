#!/usr/bin/env bats
# The hidden command that runs start for themselves: what it says to a person, on the fake driver.
load helpers

FAKE=${BUILD_DIR:-$ROOT/build}/tests/fake/libnvidia-ml.so.1

scenario() {
    [ -e "$FAKE" ] || skip "the fake driver is not built"
    cat >scenario
    export TARE_FAKE_NVML=$PWD/scenario
}

@test "a probe shows every reading of every GPU with its cost" {
    scenario <<'END'
gpus 2
step 0 690
ecc 4
gpu 1
name NVIDIA L4
fault field:82 error code=3
END
    run -0 "$TARE" meter --probe --library "$FAKE"
    grep -qP '^GPU 0\tname\tNVIDIA H200$' <<<"$output"
    grep -qP '^GPU 0\tpower.instant\t690 W\t[0-9.]+ us$' <<<"$output"
    grep -qP '^GPU 0\ttrace\t119 samples\t[0-9.]+ us$' <<<"$output"
    # 17 ms apart, give or take.
    rate=$(sed -n 's|^GPU 0\ttrace.rate\t\([0-9.]*\) samples/s$|\1|p' <<<"$output")
    awk -v rate="$rate" 'BEGIN { exit !(rate > 57 && rate < 61) }'
    grep -qP '^GPU 0\tmemory.total\t150754820096 bytes$' <<<"$output"
    grep -qP '^GPU 0\terrors.ecc\t4\t[0-9.]+ us$' <<<"$output"
    grep -qP '^GPU 1\tname\tNVIDIA L4$' <<<"$output"
    grep -qP '^GPU 1\ttemperature.memory\tfield 82: nvmlDeviceGetFieldValues: Not Supported ' <<<"$output"
}

@test "the driver's library is found under its usual name" {
    scenario <<<'gpus 1'
    LD_LIBRARY_PATH=${FAKE%/*} run -0 "$TARE" meter --probe
    grep -qP '^GPU 0\tuuid\tGPU-00000000-0000-4000-8000-000000000000$' <<<"$output"
}

@test "a driver that is not there is named" {
    run -3 "$TARE" meter --probe --library "$WORK/none.so"
    [[ $output == *"load NVIDIA's library: $WORK/none.so: cannot open shared object file"* ]]
}

@test "it is not among the commands of the help" {
    run -0 "$TARE" --help
    run -1 grep -P '^ *meter\b' <<<"$output"
    run -2 "$TARE" meter
    [[ $output == *"needs --device and --fd"* ]]
}
