#!/usr/bin/env bats
# One process of a run is killed at each system call that starts or ends a job; a resume then finishes the plan.

setup() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    BUILD=${BUILD_DIR:-$ROOT/build}
    TARE=${TARE:-$BUILD/src/cli/tare}
}

@test "runner, init, command or guardian killed at a system call: nothing survives, each experiment is recorded once" {
    for tool in python3 flock setsid; do command -v $tool >/dev/null || skip "$tool is missing"; done
    run timeout 280 python3 -B "$BATS_TEST_DIRNAME/crash_points.py" "$TARE" "$BUILD/tests/fault/crash_tracer"
    echo "$output"
    [ "$status" -ne 77 ] || skip "no process can be traced here: $output"
    # The table is worth reading when all is well, too.
    echo "$output" | sed -E 's/^(not ok|ok|1\.\.)/# \1/' >&3
    [ "$status" -eq 0 ]
}
