#!/usr/bin/env bats
# The runner is killed in the middle of an attempt: what that attempt had used is not forgotten.

load ../cli/energy

# used(n): what the budget of the last event with one says; marks(): those of attempts under way.
used() {
    cat >used.py <<'LOOK'
import json, sys
events = [json.loads(line) for line in open(sys.argv[1] + "/events.jsonl")]
def data(kind):
    return [e["data"] for e in events if e["type"] == kind]
under_way = [e["energy_j"] for e in data("budget") if e["energy_j"] is not None]
ended = data("attempt_ended")
last = data("session_ended")[-1]["budget"] if data("session_ended") else None
LOOK
    printf '%s\n' "$1" >>used.py
    python3 used.py "$(run_dir)"
}

# The attempt under way has told that it used so many joules.
has_told() { used "assert under_way and under_way[-1] > $1" 2>/dev/null; }

@test "a runner killed in the middle of an attempt: a resume counts what that had used" {
    scenario 1 'step 0 300'
    job '[ -e ../go ] && sleep 1 || sleep 600; echo "loss 0.5"'
    settings 2 '"energy_budget": "20 kJ"'
    start_run
    wait_until has_told 900
    kill -KILL "$PID"
    end_program
    before=$(used 'print(under_way[-1])')
    touch go
    run "$TARE" run --resume "$(run_dir)" --energy-budget '500 J'
    [ "$status" -eq 4 ]
    used "
assert len(ended) == 1 and ended[0]['outcome'] == 'interrupted', ended
assert last['estimated'] == 1 and last['unmeasured'] == 0 and last['attempts'] == 1, last
assert abs(last['energy']['used_j'] / $before - 1) < 1e-4, (last, $before)"
    run "$TARE" run --resume "$(run_dir)" --energy-budget '1 MJ'
    [ "$status" -eq 0 ]
    used "
gpu = [e['energy']['gpu']['joules'] for e in ended[1:]]
assert len(gpu) == 2 and abs(last['energy']['used_j'] / ($before + sum(gpu)) - 1) < 1e-4, (last, gpu)"
}

@test "the time of a session that was killed counts, and the time between sessions does not" {
    unset TARE_NVML TARE_FAKE_NVML
    job '[ "$TARE_ATTEMPT" -gt 1 ] || sleep 600; echo "loss 0.5"'
    settings 1 '"time_budget": "1h"'
    start_run
    wait_until eval 'grep -qs "\"type\":\"budget\"" results/*/events.jsonl'
    sleep 3
    kill -KILL "$PID"
    end_program
    known=$(used 'print((events[-1]["monotonic_ns"] - events[0]["monotonic_ns"]) / 1e9)')
    sleep 5
    run "$TARE" run --resume "$(run_dir)"
    [ "$status" -eq 0 ]
    used "
second = [e for e in events if e['session'] == 2]
own = (second[-1]['monotonic_ns'] - second[0]['monotonic_ns']) / 1e9
assert $known - 0.01 <= last['time']['used_s'] <= $known + own + 1, (last, $known, own)"
}
