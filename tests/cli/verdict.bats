#!/usr/bin/env bats
# From what is seen on a GPU to the verdict of a row, the rows that are safe, and the repeat of those that are not. The GPU is played;
# other programs on the tester's own machine may make a row suspect, so that a row is clean is nowhere asserted.

load energy

# evidence NUMBER EXPRESSION: of experiment.json: "t" what stands under "tare", "f" its evidence of a foreign process.
evidence() {
    python3 -c 'import json, sys
t = json.load(open(sys.argv[1]))["tare"]
f = [e for e in t["evidence"] if e["kind"] == "foreign_process"]
print(eval(sys.argv[2]))' "$(run_dir)/repo_net_00$1/experiment.json" "$2"
}

@test "a program that takes the GPU in the middle contaminates that experiment, and its repeat takes its place" {
    mkdir users
    scenario 1 "users $WORK/users"
    job 'echo "loss 0.$TARE_ATTEMPT"
if [ "$TARE_EXPERIMENT $TARE_ATTEMPT" = "repo_net_002 1" ]; then
touch ../plant; until [ -e ../planted ]; do sleep 0.1; done; sleep 4; fi'
    settings 2
    start_run
    wait_until test -e plant || wait_until test -e plant
    sleep 1000 3>&- &
    HOLDER=$!
    echo "0 5767168000 50" >"users/$HOLDER"
    touch planted
    end_program
    kill -KILL "$HOLDER"
    HOLDER=
    cat out err
    is "$CODE" 0
    is "$(summary verdict | tail -n 1)" contaminated
    [ "$(summary verdict | head -n 1)" != contaminated ]
    run ! grep -q repo_net_002 "$(run_dir)/summary_safe.csv"
    is "$(evidence 2 't["verdict"], f[0]["attempt"], f[0]["weight"], f[0]["device"]')" \
        "('contaminated', 1, 'contaminated', 'GPU 0')"
    is "$(evidence 2 '0 <= f[0]["from_s"] < f[0]["to_s"]')" True
    is "$(evidence 1 'f')" "[]"
    grep -q "evidence (contaminated): GPU 0 is used by pid " out
    grep -q "^  contaminated by foreign_process (1): repo_net_002: " out
    "$TARE" run --rerun-contaminated "$(run_dir)"
    is "$(summary attempt | tail -n 1)" 2
    is "$(summary perf_loss | tail -n 1)" 0.2
    [ "$(summary verdict | tail -n 1)" != contaminated ]
    # The old evidence stays with the old attempt.
    is "$(evidence 2 '[a["verdict"] for a in t["attempts"]][0], f[0]["attempt"]')" "('contaminated', 1)"
}
