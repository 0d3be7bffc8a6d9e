#!/usr/bin/env bats
# run --rerun-contaminated killed before the first attempt of the repeat has begun: the guard still waits for the GPU.

load ../cli/guard

setup_file() { command -v python3 >/dev/null || skip "python3 is missing"; }

# Killed while an outside process keeps the GPU, which is not given back before it is started once more.
killed_while_it_waits() {
    start_program run "$@" "$(run_dir)" --containment sweep
    wait_until grep -q "waits, at most" out
    kill -KILL "$PID"
    end_program
}

@test "a repeat killed while the guard waits: the result before stands, and is repeated later" {
    scenario 1
    job 'echo "$TARE_ATTEMPT" >>../tries
echo "loss 0.$TARE_ATTEMPT"'
    settings 1
    tare_run
    verdicts contaminated
    local before
    before=$(summary duration_seconds)
    plant 0 5500
    # The second is what tells: it finds the attempt before, which succeeded, behind an experiment that was begun again.
    killed_while_it_waits --rerun-contaminated
    killed_while_it_waits --resume
    is "$(cat tries)" 1
    is "$(events experiment_ended | wc -l)" 1
    is "$(summary attempt) $(summary perf_loss) $(summary duration_seconds)" "1 0.1 $before"
    kill -KILL "$OUTSIDER"
    timeout -k 5 100 "$TARE" run --resume "$(run_dir)" --containment sweep
    is "$(xargs <tries)" "1 2"
    is "$(events experiment_again | wc -l) $(events experiment_ended | wc -l)" "1 2"
    is "$(summary attempt) $(summary perf_loss)" "2 0.2"
}
