# The guardian ends what tare leaves when tare is killed. One that is itself killed or stopped is noticed and replaced, the next one knows
# the jobs, and the time without is evidence.

load ../cli/runs

# children NAME: of $PID, those of the program with this name.
children() { children_of "$PID" "$NAME-$1"; }

another_than() { GUARDIAN=$(children guardian) && [ -n "$GUARDIAN" ] && [ "$GUARDIAN" != "$1" ]; }
is_dead() { [ ! -e "/proc/$1" ] || file_has "/proc/$1/stat" ') Z '; }

# lose_guardian SIGNAL: another one takes its place: $GUARDIAN.
lose_guardian() {
    local before
    another_than none
    before=$GUARDIAN
    kill "-$1" "$before"
    wait_until another_than "$before"
    is_dead "$before"
}

waits() { job 'echo "$$" >../up; until [ -e ../go ]; do sleep 0.2; done; echo loss 0.5'; }

# For where a job is held by nothing but its init and the guardian.
run_in_sweep() { start_program run settings.json -c registry.json -o results --containment sweep; }

absences() { events evidence | grep guardian_absent || true; }

@test "a guardian that is killed or stopped during a run is replaced; the time without is evidence and disturbs no verdict" {
    idle_machine
    for signal in KILL STOP; do
        rm -rf results up go
        waits
        settings 1
        start_run
        wait_until test -e up
        lose_guardian $signal
        touch go
        end_program
        is "$CODE" 0
        is "$(absences | wc -l)" 1
        absences | python3 -c '
import json, sys
data = json.load(sys.stdin)
assert 0 <= data["from_s"] < data["to_s"], data
'
        is "$(summary verdict)" clean
        is "$(children guardian)" ""
    done
}

@test "the guardian that took the place of another ends the jobs of a runner that is killed with their inits" {
    waits
    settings 1
    run_in_sweep
    wait_until test -e up
    lose_guardian KILL
    lose_guardian STOP
    kill -KILL "$(children init)" "$PID"
    wait_until is_dead "$(cat up)"
    wait_until is_dead "$GUARDIAN"
}

@test "exec replaces its guardian, says so, and the new one ends the command" {
    start_program exec --containment sweep -- sh -c 'echo $$ >up; sleep 1000'
    wait_until test -s up
    lose_guardian KILL
    grep -q "there was no guardian for up to [0-9.]* s" err
    lose_guardian STOP
    kill -KILL "$(children init)" "$PID"
    wait_until is_dead "$(cat up)"
}

@test "a guardian that cannot be replaced is told as evidence, and replaced when it can be" {
    command -v prlimit >/dev/null || skip "prlimit is missing"
    waits
    settings 1
    start_run
    wait_until test -e up
    another_than none
    local before=$GUARDIAN soft
    soft=$(prlimit --pid "$PID" --nofile --noheadings --output SOFT)
    prlimit --pid "$PID" --nofile=3:
    kill -KILL "$GUARDIAN"
    wait_until grep -q "the guardian is gone, and there is no other yet" out
    prlimit --pid "$PID" --nofile="${soft// /}":
    wait_until another_than "$before"
    touch go
    end_program
    is "$CODE" 0
    is "$(absences | wc -l)" 1
}

@test "guardians killed and stopped at random moments: each experiment is done once, and none of them is left" {
    job 'sleep 0.2; until [ -e ../go ]; do sleep 0.2; done; echo loss 0.5'
    settings 12
    start_run
    local end=$((SECONDS + 60))
    until program_is_gone || [ $SECONDS -gt $end ]; do
        children guardian >>seen
        [ "$(sort -u seen | wc -l)" -lt 3 ] || touch go
        for guardian in $(children guardian); do kill -$([ $((RANDOM % 4)) -eq 0 ] && echo STOP || echo KILL) "$guardian" || true; done
        sleep "0.$((RANDOM % 10))"
    done
    end_program
    is "$CODE" 0
    [ -n "$(absences)" ]
    is "$(events experiment_ended | wc -l)" 12
    is "$(events attempt_ended | grep -c '"outcome":"succeeded"')" 12
    is "$(summary retries | sort -u)" 0
    is "$(children guardian)" ""
}

@test "a run whose guardian nobody touched has no such evidence" {
    job 'sleep 3; echo loss 0.5'
    settings 1
    start_run
    end_program
    is "$(absences)" ""
}
