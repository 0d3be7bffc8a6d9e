#!/usr/bin/env bats
# Programs that misbehave are gone when tare exec is, stopped or killed: tests/fault/survivors.py counts what is left.

setup() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    BUILD=${BUILD_DIR:-$ROOT/build}
    TARE=${TARE:-$BUILD/src/cli/tare}
}

@test "no misbehaving program survives under a kernel-backed containment" {
    command -v python3 >/dev/null || skip "python3 is missing"
    run timeout 280 python3 -B "$ROOT/tests/fault/survivors.py" "$TARE" "$BUILD/tests/fault"
    echo "$output"
    # The table is worth reading when all is well, too.
    echo "$output" | sed -E 's/^(not ok|ok|1\.\.)/# \1/' >&3
    [ "$status" -eq 0 ]
}
