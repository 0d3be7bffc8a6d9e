#!/usr/bin/env bats
# Metrics in the log formats of real training programs: tests/formats60/README.md.

load helpers

@test "the cases of log formats are consistent, and a made-up number is judged wrong" {
    python3 "$ROOT/tests/formats60/harness.py" check
}

# Of all metrics, those of a task included (mAP, BLEU, rewards), more than 10 % are missing: only loss, accuracy and F1 are searched.
@test "of the development part's metrics no number is wrong; of losses, accuracies and F1 at most 10 % are missing" {
    export TARE
    python3 "$ROOT/tests/formats60/harness.py" development > table || true
    grep -E '^development: .* wrong 0, ' table || { grep wrong table; false; }
    tail -n 1 table | awk '/^without metrics of a task: missing/ { found = $9 > 80 && $7 <= $9 / 10 } END { exit !found }' ||
        { grep missing table; false; }
}
