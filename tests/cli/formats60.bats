#!/usr/bin/env bats
# Metrics in the log formats of real training programs: tests/formats60/README.md.

load helpers

@test "the cases of log formats are consistent, and a made-up number is judged wrong" {
    python3 "$ROOT/tests/formats60/harness.py" check
}

@test "of all metrics of the development part no number is wrong, and at most 10 % are missing" {
    export TARE
    python3 "$ROOT/tests/formats60/harness.py" development > table ||
        { grep -E ' (wrong|missing) ' table; false; }
    awk '/^development: / { found = $4 > 150 } END { exit !found }' table || { tail -n 2 table; false; }
}
