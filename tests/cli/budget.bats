#!/usr/bin/env bats
# Budgets of a run: energy and time, with GPUs that use what is known in closed form.

load energy

# What the run recorded of its budget: budget(): of its last session.
budget() {
    cat >budget.py <<'LOOK'
import csv, json, sys
events = [json.loads(line) for line in open(sys.argv[1] + "/events.jsonl")]
def data(kind, number=None):
    return [e["data"] for e in events if e["type"] == kind and number in (None, e["experiment"])]
sessions = data("session_ended")
last = sessions[-1]["budget"] if sessions else None
def joules(ended):
    energy = ended.get("energy") or {}
    gpu, share = (energy.get("gpu") or {}).get("joules"), energy.get("cpu_package_share")
    return gpu
ended = data("attempt_ended")
LOOK
    printf '%s\n' "$1" >>budget.py
    python3 budget.py "$(run_dir)"
}

# A GPU of 300 W (more is busy for the preflight, which would wait); each training takes 2 s: about 600 J.
kilojoules() {
    scenario "${2:-1}" 'step 0 300'
    job 'sleep 2; echo "loss 0.5"'
    settings "$1" "${3:-}"
}

@test "no experiment begins that the rest of the energy does not suffice for, and a resume with more finishes" {
    kilojoules 4 1 '"energy_budget": "1.6 kJ"'
    run tare_run
    [ "$status" -eq 4 ]
    [[ "$output" == *'does not suffice for another experiment'* ]]
    [[ "$output" == *'to run the 2 left: '*"run --resume "*"--energy-budget '"*"'"* ]]
    budget '
assert len(ended) == 2 and sessions[-1]["outcome"] == "budget", sessions
used = sum(map(joules, ended))
assert 1000 < used < 1600 and abs(last["energy"]["used_j"] / used - 1) < 1e-4, (used, last)
assert last["energy"]["budget_j"] == 1600 and last["time"] is None, last
assert abs(last["energy"]["mean_j"] * 2 / used - 1) < 1e-4 and last["counted"] == ["GPU board"], last
assert last["unmeasured"] == last["estimated"] == 0 and last["attempts"] == 2, last
assert "energy budget of 1600 J does not suffice" in last["reached"], last'
    run "$TARE" run --resume "$(run_dir)" --energy-budget '30 kJ'
    [ "$status" -eq 0 ]
    budget '
used = sum(map(joules, ended))
assert len(ended) == 4 and abs(last["energy"]["used_j"] / used - 1) < 1e-4, (used, last)
assert last["energy"]["budget_j"] == 30000 and last["reached"] is None, last
assert sessions[-1]["outcome"] == "finished"'
}

@test "an attempt under way is ended when the energy is used up, and repeated by a resume" {
    scenario 1 'step 0 300'
    job 'sleep 60; echo "loss 0.5"'
    settings 2 '"energy_budget": "900 J"'
    run tare_run
    [ "$status" -eq 4 ]
    [[ "$output" == *'the energy budget of 900 J is used up'* ]]
    budget '
assert len(ended) == 1 and ended[0]["reason"] == "budget" and ended[0]["outcome"] == "interrupted", ended
assert "energy budget" in ended[0]["error"] and ended[0]["failure"] is None, ended
used = joules(ended[0])
assert 900 <= used < 2400 and abs(last["energy"]["used_j"] / used - 1) < 1e-4, (used, last)
assert "is used up" in last["reached"], last'
    # Without a larger one nothing begins.
    run "$TARE" run --resume "$(run_dir)"
    [ "$status" -eq 4 ]
    budget 'assert len(ended) == 1 and len(sessions) == 2 and sessions[-1]["outcome"] == "budget", sessions'
    job 'sleep 1; echo "loss 0.5"'
    run "$TARE" run --resume "$(run_dir)" --energy-budget '1 kWh'
    [ "$status" -eq 0 ] || { echo "$output"; events attempt_ended | cut -c1-300; return 1; }
    budget '
assert [e["outcome"] for e in ended] == ["interrupted", "succeeded", "succeeded"], ended
assert abs(last["energy"]["used_j"] / sum(map(joules, ended)) - 1) < 1e-4, last
# What a session was given holds for those after it.
assert data("session_started")[-1]["budget"]["energy_j"] == 3.6e6'
}

@test "a budget that a resume brings counts what the sessions before it used" {
    kilojoules 3
    job 'if [ -e one ] && [ ! -e two ]; then touch two ../wait; sleep 60; fi; touch one; sleep 2; echo "loss 0.5"'
    start_run
    wait_until test -e wait
    kill -INT "$PID"
    end_program
    [ "$CODE" -eq 130 ]
    run "$TARE" run --resume "$(run_dir)" --energy-budget '0.6 kJ'
    [ "$status" -eq 4 ]
    budget '
assert len(ended) == 2 and last["attempts"] == 2, ended
assert abs(last["energy"]["used_j"] / sum(map(joules, ended)) - 1) < 1e-4, last'
}

@test "a time budget is of all sessions together, and needs no meter" {
    unset TARE_NVML TARE_FAKE_NVML
    job 'sleep 2; echo "loss 0.5"'
    settings 2 '"time_budget": 3'
    run tare_run
    [ "$status" -eq 4 ]
    budget '
assert ended[0]["outcome"] == "succeeded", ended
assert 2 <= last["time"]["used_s"] and last["time"]["budget_s"] == 3 and last["energy"] is None and last["counted"] == [], last
first = last["time"]["used_s"]'
    before=$(budget 'print(last["time"]["used_s"])')
    run "$TARE" run --resume "$(run_dir)" --time-budget 1h
    [ "$status" -eq 0 ]
    budget "assert $before + 2 <= last['time']['used_s'] < $before + 60, last"
}

@test "an attempt under way is ended when the time is used up" {
    unset TARE_NVML TARE_FAKE_NVML
    job 'sleep 60'
    settings 1
    run tare_run --time-budget 2s
    [ "$status" -eq 4 ]
    budget 'assert ended[0]["reason"] == "budget" and "time budget" in ended[0]["error"] and 2 <= last["time"]["used_s"] < 40, (ended, last)'
}

@test "energy that nothing measures cannot have a budget: nothing is run" {
    unset TARE_NVML TARE_FAKE_NVML
    job 'echo "loss 0.5"'
    settings 1 '"energy_budget": "20 kWh"'
    run --separate-stderr tare_run
    [ "$status" -eq 2 ]
    [[ "$stderr" == *'cannot be checked here'*'nothing was run'* ]]
    [ ! -e results ]
    run --separate-stderr tare_run --dry-run
    [ "$status" -eq 2 ]
    [[ "$stderr" == *'cannot be checked here'* ]]
}

@test "a GPU whose meter is given up ends the run: its energy cannot be checked" {
    scenario 1 'step 0 300'
    job 'sleep 2; echo "loss 0.5"'
    settings 2 '"energy_budget": "20 kWh"'
    TARE_NVML=$WORK/none run tare_run
    [ "$status" -eq 3 ]
    [[ "$output" == *'the energy budget cannot be checked: the energy of GPU 0 is not measured'* ]]
    budget 'assert ended == [] and sessions[-1]["outcome"] == "failed", ended'
}

@test "two GPU slots use one budget together, and both are ended" {
    scenario 2 'step 0 300'
    job 'sleep 60; echo "loss 0.5"'
    settings 3 '"energy_budget": "1.8 kJ"'
    run tare_run
    [ "$status" -eq 4 ]
    budget '
assert [e["reason"] for e in ended] == ["budget", "budget"], ended
used = [joules(e) for e in ended]
assert min(used) > 480 and 1800 <= sum(used) < 4800 and abs(last["energy"]["used_j"] / sum(used) - 1) < 1e-4, (used, last)'
}

@test "with two GPU slots what those under way still need is kept for them" {
    kilojoules 6 2 '"energy_budget": "2.8 kJ"'
    run tare_run
    [ "$status" -eq 4 ]
    budget '
assert 2 <= len(ended) <= 4 and all(e["outcome"] == "succeeded" for e in ended), ended
assert sum(map(joules, ended)) < 2800'
}

@test "mistakes in budgets are told with what is expected" {
    job 'true'
    for text in '"energy_budget": "20"' '"energy_budget": 20' '"energy_budget": "20 kwh"' '"energy_budget": "-1 kWh"' \
        '"energy_budget": "0 kWh"' '"time_budget": "8 hours long"' '"energie_budget": "20 kWh"'; do
        settings 1 "$text"
        run tare_run
        [ "$status" -eq 2 ] || { echo "$text: $status"; return 1; }
        [[ "$output" == *settings.json:*budget* ]] || { echo "$text: $output"; return 1; }
        [ ! -e results ]
    done
    settings 1
    run tare_run --energy-budget '20 kwh'
    [ "$status" -eq 2 ]
    [[ "$output" == *'--energy-budget'*"kWh"* ]]
    [ ! -e results ]
}

@test "a budget is in run --json and on the page" {
    kilojoules 2 1 '"energy_budget": "800 J"'
    run tare_run --json
    [ "$status" -eq 4 ]
    is "$(printf '%s\n' "${lines[@]}" | python3 -c '
import json, sys
print([json.loads(x)["data"]["budget"]["energy"]["budget_j"] for x in sys.stdin if "session_ended" in x])')" '[800.0]'
    grep -q 'budget_j' "$(run_dir)/report.html"
}

@test "submit refuses a budget: tasks of a queue do not know of each other" {
    job 'true'
    settings 1 '"energy_budget": "20 kWh"'
    run "$TARE" submit settings.json -c registry.json -o results --dry-run
    [ "$status" -eq 2 ]
    [[ "$output" == *'energy_budget'* ]]
    [ ! -e results ]
}
