#!/usr/bin/env bats
# The generated folders that verdicts are measured on: what truth.json says of them is so. No judge is asked here.

setup() { VERDICTS=$(cd "$BATS_TEST_DIRNAME/../verdicts" && pwd); }

@test "the generator's machine slows and saves what was worked out by hand" {
    python3 "$VERDICTS/test_generator.py"
}

@test "held-out folders differ from those with nothing planted by what their truth says" {
    python3 "$VERDICTS/check_folders.py" --held-out 4 --folders 1 --first 51
}
