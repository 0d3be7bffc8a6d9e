#!/usr/bin/env bats
# report --methods: a run in words for a paper, against what the test itself made the run do.

load guard

# methods [RUN]: the text into the file text, each paragraph a line.
methods() { timeout 60 "$TARE" report --methods "${1:-$(run_dir)}" >text 2>err || { cat err; return 1; }; }

# says WORDS...: the text has each of these.
says() {
    local words
    for words in "$@"; do grep -qF -- "$words" text || { printf 'not said: %s\n' "$words"; cat text; return 1; }; done
}

# Of three experiments the second succeeds at its second attempt and the third at neither of two.
run_of_three() {
    scenario 1
    job 'n=$(($(cat count 2>/dev/null || echo 0) + 1)); echo $n >count; sleep 1.5
case $n in 2 | 4 | 5) exit 7 ;; esac
echo "loss 0.5"'
    settings 3 '' '' '"max_retries": 1'
    tare_run >out 2>err.run || [ $? -eq 1 ]
}

@test "hardware, plan, counts, retries and what was left out are those of the run" {
    run_of_three
    methods
    says "ran under $NAME $(cat "$ROOT/VERSION") on one machine: GPU NVIDIA H200 (driver 580.159.04), power limit 700 W; CPU " \
        "$(nproc --all) logical CPUs" "Linux $(uname -r)." \
        'The plan has 3 experiments of 1 model (repo/net): 3 in mode mutation. It was made with the seed 7.' \
        'No hyperparameter of the trainings is a random seed: theirs are not recorded.' \
        'Of 3 experiments 2 succeeded, 1 failed, 0 were interrupted and 0 were not run, in 5 attempts, 2 of them retries.' \
        'Left out of what follows: repo_net_003 (failed).' \
        'held together by a sweep of /proc (3 of 3 experiments); for 0 of 3 the kernel guarantees' \
        'paused for a fixed time: 0 s within an entry, 0 s between entries, 0 s before a retry' \
        'at most 64.00 MiB in use above an empty GPU' 'busy for at most 5 %' 'at most 10 °C above' '(policy wait): 5 of 5 such checks' \
        'The most that a load in step with the sensor may hide (aliasing) is above ± for '
    grep -q "^To cite: .*$(basename "$(run_dir)")" text
    [ ! -s err ]
    # A paragraph is a line.
    [ "$(grep -c . text)" -eq 9 ]
}

@test "the energy is that of the clean experiments alone, with the root of the sum of their squared uncertainties" {
    run_of_three
    methods
    says "from the driver's energy counter, checked against its power samples (nvml-counter)." 'The GPU was not calibrated; the sensor' \
        'at a coverage of 95 %, with all components but the' "The error of the sensor's gain is stated by nobody; it is unknown, and not in ±." \
        'The energy of the CPU was not measured.' '2 clean, 0 unverified, 0 suspect, 0 contaminated, 1 without a verdict.'
    look '
import re
text = open("text").read()
found = re.search(r"The 2 experiments that succeeded and are clean used ([0-9.]+) ± ([0-9.]+) J of GPU energy in all \(2 with a figure; each between ([0-9.]+) and ([0-9.]+) J\)", text)
total, half, least, most = map(float, found.groups())
# An idle GPU of this machine draws 77 W.
drawn = [77 * float(row["duration_seconds"]) for row in rows("summary.csv")[:2]]
assert abs(total - sum(drawn)) < 0.02 * sum(drawn), (total, drawn)
assert abs(least - min(drawn)) < 0.02 * least and abs(most - max(drawn)) < 0.02 * most, (least, most, drawn)
halves = [experiment(n)["tare"]["energy"]["gpu"]["half_width_j"] for n in (1, 2)]
assert abs(half - sum(h * h for h in halves) ** 0.5) < 0.51 * 10 ** -len(found[2].partition(".")[2]), (half, halves)
gap = float(re.search(r"longest time between two of them is ([0-9.]+) s", text)[1])
assert abs(gap / max(experiment(n)["tare"]["energy"]["gpu"]["longest_gap_s"] for n in (1, 2, 3)) - 1) < 0.01, gap
'
}

@test "without a GPU it says that nothing of one was measured or checked, and gives no energy" {
    unset TARE_NVML
    export TARE_NVML=$WORK/none.so
    job 'echo "loss 0.5"'
    settings 2
    tare_run --gpus none >out 2>&1
    methods
    says 'GPU not recorded' 'The energy of GPUs was not measured.' 'The energy of the CPU was not measured.' \
        'The uncertainty of energies is not recorded.' 'The state of GPUs before the attempts was not checked.' \
        'have no measured energy.'
    if grep -E 'counter|±|0 J' text; then false; fi
}

@test "experiments of each verdict are counted and those that are not clean are named" {
    scenario 1
    job 'sleep 0.3; echo "loss 0.5"'
    settings 5
    tare_run >out 2>&1
    verdicts clean suspect contaminated unverified -
    methods
    says '1 clean, 1 unverified, 1 suspect, 1 contaminated, 1 without a verdict.' \
        'Left out of what follows: repo_net_002 (suspect), repo_net_003 (contaminated), repo_net_004 (unverified) and repo_net_005 (not judged).' \
        'The 1 experiment that succeeded and is clean used'
}

@test "none that is clean: no energy is given" {
    scenario 1
    job 'sleep 0.3; echo "loss 0.5"'
    settings 1
    tare_run >out 2>&1
    verdicts suspect
    methods
    says 'No experiment succeeded and is clean: no energy is given.'
    if grep -E '[0-9] J' text; then false; fi
}

@test "the seeds of the trainings and the pauses are told where they are recorded" {
    scenario 1
    job 'sleep 0.2; echo "loss 0.5"'
    registry
    sed -i 's/"supported_hyperparams": {/"supported_hyperparams": {"seed": {"flag": "--seed", "type": "int", "default": 1, "range": [1, 9]}, /' registry.json
    settings 1 '' '' '"seeds": [3, 4, 8], "mode": "default"'
    sed -i 's/"between_runs": 0/"between_runs": 0.3/; s/"between_configurations": 0/"between_configurations": 0.3/; s/"mutate": \["n"\], //' settings.json
    tare_run >out 2>&1
    methods
    says 'The random seeds of the trainings are 3, 4 and 8.' '3 in mode default' '0.3 s within an entry' \
        '2 pauses are recorded, planned for 0.6 s in all.'
}

@test "a run that is not finished, and one whose records were changed, are told so first" {
    scenario 1
    waiting_job
    settings 1
    start_run
    wait_until test -e repo/began
    methods
    grep -q '^NOT FINISHED: ' <(head -n 1 text)
    says '0 succeeded, 0 failed, 0 were interrupted and 1 was not run'
    touch repo/go
    end_program
    methods
    grep -q '^The experiments ran under' <(head -n 1 text)
}

@test "it goes with no option of the page, and with no folder of another program" {
    mkdir other
    local words
    for words in '-o page.html' '--lang zh' '--snapshots'; do
        # shellcheck disable=SC2086 # a list
        run --separate-stderr "$TARE" report --methods other $words
        [ "$status" -eq 2 ]
        [[ "$stderr" == *"does not go with --methods"* ]]
    done
    run --separate-stderr "$TARE" report --methods other
    [ "$status" -eq 3 ]
    [ -z "$output" ]
    [[ "$stderr" == *"other: --methods takes a run of this program: there is no run.db"* ]]
}
