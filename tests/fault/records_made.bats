#!/usr/bin/env bats
# A runner that dies while it makes anew the records that a training has changed.

load ../cli/runs

@test "records that a training changed are made anew; the runner dies at each step of that: a resume has them whole, or says what is not" {
    need_python
    preload=${BUILD_DIR:-$ROOT/build}/tests/fault/libjournal_fault.so
    [ -e "$preload" ] || skip "there is no $preload"
    run env STRIDE="${STRIDE:-4}" python3 "$BATS_TEST_DIRNAME/records_points.py" "$TARE" "$preload" "$WORK"
    echo "$output"
    [ "$status" -eq 0 ]
}
