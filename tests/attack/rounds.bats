#!/usr/bin/env bats
# Rounds of random kill, stop and continue of all that a run consists of (rounds.py says what is compared).
# ROUNDS=500 JOBS=12 bats tests/attack/rounds.bats: the long run; SEED= FIRST= repeat what was found.

load ../cli/helpers

# rounds [VARIABLE=VALUE...]: what it says is shown, the seed first.
rounds() {
    local library=${BUILD_DIR:-$ROOT/build}/tests/fake/libnvidia-ml.so.1
    need_python
    [ -e "$library" ] || skip "the fake driver is not built ($library)"
    env "$@" python3 "$ROOT/tests/attack/rounds.py" "$TARE" "$library" "$WORK/rounds" >out 2>&1 3>&- || { cat out; return 1; }
    sed 's/^/# /' out >&3
}

@test "results that are falsified are told: energy, duration, rows, stops, what is left" {
    rounds PROVE=1
}

@test "processes killed and stopped at random: each experiment once, nothing left, nothing wrong called clean (fixed seed)" {
    [ -z "${ROUNDS:-}" ] || skip "the rounds asked for come next"
    rounds SEED=3 ROUNDS=2 FIRST=12 JOBS=2 # an init that was stopped as its training ended was called clean in the second
}

@test "processes killed and stopped at random: each experiment once, nothing left, nothing wrong called clean" {
    rounds ROUNDS="${ROUNDS:-2}" JOBS="${JOBS:-2}"
}
