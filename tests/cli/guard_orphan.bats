#!/usr/bin/env bats
# A process outside the run that holds a GPU and does not go, as in the study: an orphan with 5,540 MiB,
# older than the run. The wait of ten minutes is played: 3 s.

load guard

# hold_gpus COUNT: their device files, which a process that holds one has open.
hold_gpus() {
    scenario "$1"
    mkdir machine/dev
    touch machine/dev/nvidiactl
    for ((i = 0; i < $1; i++)); do touch "machine/dev/nvidia$i"; done
    export TARE_TIME_SCALE=0.005
}

# orphan GPU MIB: its parent is 1, or whoever adopts here: $OUTSIDER.
orphan() {
    # shellcheck disable=SC2016 # $! is the inner shell's
    OUTSIDER=$(sh -c 'setsid sleep 600 <"$1" >/dev/null 2>&1 3>&- & echo $!' sh "machine/dev/nvidia$1")
    PLANTED+=" $OUTSIDER"
    holds "$OUTSIDER" "$1" "$2"
}

# stranger GPU MIB: the same with a parent that lives.
stranger() {
    sleep 600 <"machine/dev/nvidia$1" >/dev/null 2>&1 3>&- &
    OUTSIDER=$!
    disown "$OUTSIDER"
    PLANTED+=" $OUTSIDER"
    holds "$OUTSIDER" "$1" "$2"
}

# stopped: the run or its resume, which must end with 3: its messages are in the files out and err.
stopped() {
    local code=0
    timeout -k 5 100 "$TARE" "$@" >out 2>err || code=$?
    [ "$code" -eq 3 ] || { cat out err; return 1; }
}
run_stopped() { stopped run settings.json -c registry.json -o results --containment sweep; }

# states: of all experiments, as run.db has them.
states() {
    python3 -c 'import sqlite3, sys
for row in sqlite3.connect(sys.argv[1] + "/run.db").execute("select state, coalesce(outcome, \"-\"), attempts from experiments order by number"):
    print(*row)' "$(run_dir)" | sort | uniq -c | tr -s ' '
}

# end_as_told: the very command that the message names, without its question.
end_as_told() {
    local command
    command=$(grep -oE "clean --pid [0-9]+'" err | tr -d "'")
    is "$command" "clean --pid $OUTSIDER"
    # shellcheck disable=SC2086 # words
    "$TARE" $command --yes --dev "$WORK/machine/dev"
    wait_until is_gone "$OUTSIDER"
}
is_gone() { ! grep -qs '^State:.[^Z]' "/proc/$1/status"; }

@test "an orphan is waited for once, the run stops with 3 and names it, and the command of the message ends it" {
    hold_gpus 1
    orphan 0 5540
    job "touch began; echo loss 0.5"
    settings 3
    run_stopped
    is "$(grep -c 'waits, at most 3.0 s: ' out)" 1
    grep -E "repo_net_001 is not begun: after a wait of [34]\.[0-9] s, GPU 0 is used by pid $OUTSIDER of user $(id -un), 'sleep 600', [0-9.]+ s old, an orphan, 5540 MiB.*; end it with '$NAME clean --pid $OUTSIDER'; afterwards go on with --resume $(run_dir)$" err
    # None has failed, and none is lost.
    is "$(states)" " 3 planned - 0"
    is "$(summary outcome)" ""
    look '
found, = guard(1, "preflight")
assert not found["clear"] and 3 <= found["waited_s"] < 5 and [f["kind"] for f in found["findings"]] == ["foreign_process"], found
assert [e for e in events if e["type"].startswith("attempt")] == [] and events[-1]["type"] == "session_ended", events[-1]
assert events[-1]["data"]["outcome"] == "failed" and "clean --pid" in events[-1]["data"]["error"], events[-1]
'
    [ ! -e repo/began ]
    grep -q '^\[1/3\] repo_net_001 not begun$' out
    # A resume is a new session: it waits again, once.
    stopped run --resume "$(run_dir)"
    is "$(grep -c 'waits, at most 3.0 s: ' out)" 1
    grep -q "repo_net_001 is not begun: .*pid $OUTSIDER " err
    is "$(states)" " 3 planned - 0"
    end_as_told
    "$TARE" run --resume "$(run_dir)" >out
    is "$(summary outcome | sort | uniq -c | tr -s ' ')" " 3 succeeded"
    is "$(kinds 1)$(kinds 2)$(kinds 3)" ""
}

@test "the command of the message ends a process that is not an orphan, too" {
    hold_gpus 1
    stranger 0 5540
    job "echo loss 0.5"
    settings 1
    run_stopped
    if grep -q 'an orphan' err; then false; fi
    end_as_told
}

@test "a second process gets a wait of its own, and the stop names that one alone" {
    hold_gpus 1
    stranger 0 5540
    local first=$OUTSIDER
    job "echo loss 0.5"
    settings 1
    start_run
    wait_until grep -q "waits, at most 3.0 s: .*pid $first " out
    stranger 0 700
    kill "$first"
    wait_until is_gone "$first"
    rm "$USERS/$first"
    end_program
    is "$CODE" 3
    is "$(grep -c 'waits, at most' out)" 2
    grep -q "waits, at most 3.0 s: .*pid $OUTSIDER " out
    grep -E "after a wait of [34]\.[0-9] s, GPU 0 is used by pid $OUTSIDER " err
    if grep -q "pid $first " err; then false; fi
}

@test "with go-on the verdict is contaminated, and that no process was there has failed, however short the training is" {
    hold_gpus 1
    orphan 0 5540
    settings 1 '"policy": "go-on"'
    local seconds
    for seconds in 0.1 2.5; do
        rm -rf results
        job "sleep $seconds; echo loss 0.5"
        tare_run >out
        is "$(kinds)" foreign_process
        is "$(summary verdict)" contaminated
        look '
of = {c["check"]: c for c in ended(1)[0]["checks"]}
for check in ("processes_before", "processes_during"):
    assert of[check]["outcome"] == "failed" and "5540 MiB" in of[check]["text"], of[check]
'
    done
}

@test "a process that leaves the GPU and comes back while the next experiment is measured is evidence against that one" {
    hold_gpus 1
    orphan 0 5540
    job 'touch "began.$TARE_EXPERIMENT"; until [ -e "go.$TARE_EXPERIMENT" ]; do sleep 0.1; done; echo loss 0.5'
    settings 2 '"policy": "go-on"'
    start_run
    wait_until test -e repo/began.repo_net_001
    rm "$USERS/$OUTSIDER"
    touch repo/go.repo_net_001
    wait_until test -e repo/began.repo_net_002
    holds "$OUTSIDER" 0 5540
    wait_until grep -q "repo_net_002 GPU 0 is used by pid $OUTSIDER " out
    touch repo/go.repo_net_002
    end_program
    is "$(kinds 1)" foreign_process
    is "$(kinds 2 | grep -o foreign_process)" foreign_process
    look '
of = {c["check"]: c["outcome"] for c in ended(2)[0]["checks"]}
assert of["processes_before"] == "passed" and of["processes_during"] == "failed", of
'
}

@test "a process that comes during the training gives the same verdict with each policy, and its check has failed" {
    hold_gpus 1
    job 'touch "began.$TARE_EXPERIMENT"; until [ -e "go.$TARE_EXPERIMENT" ]; do sleep 0.1; done; echo loss 0.5'
    local policy
    for policy in wait refuse go-on; do
        rm -rf results repo/began.* repo/go.*
        settings 1 "\"policy\": \"$policy\""
        start_run
        wait_until test -e repo/began.repo_net_001
        stranger 0 5540
        wait_until grep -q "repo_net_001 GPU 0 is used by pid $OUTSIDER " out
        touch repo/go.repo_net_001
        end_program
        is "$(kinds | grep -o foreign_process)" foreign_process
        is "$(summary verdict)" contaminated
        look '
of = {c["check"]: c["outcome"] for c in ended(1)[0]["checks"]}
assert of["processes_before"] == "passed" and of["processes_during"] == "failed", of
'
        kill "$OUTSIDER"
        wait_until is_gone "$OUTSIDER"
        rm "$USERS/$OUTSIDER"
    done
}

@test "memory that no process is listed for: one wait, then the run stops and says that its process cannot be seen" {
    hold_gpus 1
    put leak0 $((5540 << 20))
    job "sleep 0.1; echo loss 0.5"
    settings 2
    run_stopped
    is "$(grep -c 'waits, at most' out)" 1
    grep -E "is not begun: after a wait of .*GPU 0 has 5540 MiB in use that no process seen here explains; its process cannot be seen here: 'sudo $NAME clean' names it" err
    is "$(states)" " 2 planned - 0"
    rm -r results
    settings 1 '"policy": "go-on", "memory_wait": 1'
    tare_run >out || true
    is "$(summary verdict)" contaminated
    look '
of = {c["check"]: c for c in ended(1)[0]["checks"]}
assert of["processes_during"]["outcome"] == of["processes_before"]["outcome"] == "not_made", of
'
}

@test "of a process that /proc does not show the stop says the pid and the memory that the driver names" {
    hold_gpus 1
    plant 0 5540 # without the device open: its number means another process there
    job "echo loss 0.5"
    settings 1
    run_stopped
    grep -E "/proc does not show what the driver names: pid $OUTSIDER with 5540 MiB; .*its process cannot be seen here" err
    if grep -q 'clean --pid' err; then false; fi
}

@test "a GPU that is held costs its slot only: the others run the plan, and with none left the run stops with 3" {
    hold_gpus 2
    orphan 1 5540
    job "until [ -e ../go ]; do sleep 0.1; done; echo loss 0.5"
    settings 5
    start_run
    # The free GPU has work all the while, and takes what the other one gives back.
    wait_until grep -q "is not begun here: after a wait of .*pid $OUTSIDER .*'; the other slots go on" out
    touch go
    end_program
    is "$CODE" 0
    is "$(summary outcome | sort | uniq -c | tr -s ' ')" " 5 succeeded"
    look '
lane = {e["experiment"]: e["data"]["lane"] for e in events if e["type"] == "experiment_started"} # the last of each
begun = [e["experiment"] for e in events if e["type"] == "attempt_started"]
assert sorted(begun) == [1, 2, 3, 4, 5] and {lane[number] for number in begun} == {1}, (begun, lane)
held, = [e["data"] for e in events if e["type"] == "guard" and not e["attempt"]]
assert held["waited_s"] >= 3 and not held["clear"], held
pool = [e["data"]["pool"]["lanes"][1] for e in events if e["type"] == "session_ended"]
assert "clean --pid" in pool[0]["lost"], pool
'
    "$TARE" report "$(run_dir)" >/dev/null
    look '
number = [e["experiment"] for e in events if e["type"] == "guard" and not e["attempt"]][0]
assert [(g["attempt"], g["phase"]) for g in experiment(number)["tare"]["guard"]][:2] == [(1, "preflight"), (1, "postflight")]
'
    rm -r results go
    orphan 0 5540
    run_stopped
    is "$(states)" " 5 planned - 0"
    is "$(grep -c 'is not begun here' out)" 1
}

@test "a slot that had nothing left to do takes the experiment that a held GPU gives back" {
    hold_gpus 2
    orphan 0 5540
    # The free GPU does not end its own before the other one waits with the last.
    job "until grep -q 'waits, at most' $WORK/out; do sleep 0.1; done; echo loss 0.5"
    settings 2
    tare_run >out
    is "$(summary outcome | sort | uniq -c | tr -s ' ')" " 2 succeeded"
    look '
lanes = [e["data"]["lane"] for e in events if e["type"] == "experiment_started"]
assert sorted(lanes[:2]) == [1, 2] and lanes[2:] == [2], lanes
'
}

@test "before a retry it is the same: the attempt that failed counts, the experiment does not, and a resume finishes it" {
    hold_gpus 1
    job "[ \"\$TARE_ATTEMPT\" = 1 ] || { echo loss 0.5; exit; }; touch began; until [ -e go ]; do sleep 0.1; done; exit 1"
    settings 1 '"memory_wait": 1'
    sed -i 's/"max_retries": 0/"max_retries": 1/' settings.json
    start_run
    wait_until test -e repo/began
    orphan 0 5540
    touch repo/go
    end_program
    is "$CODE" 3
    grep -q "repo_net_001 is not begun: after a wait of .*pid $OUTSIDER " err
    is "$(summary outcome)" ""
    is "$(states)" " 1 done interrupted 1"
    end_as_told
    "$TARE" run --resume "$(run_dir)" >out
    is "$(summary outcome) $(summary retries)" "succeeded 1"
}

@test "a parallel experiment is not begun beside it either: no background is born" {
    hold_gpus 1
    orphan 0 5540
    registry
    job "touch began; echo loss 0.5"
    cat >settings.json <<'END'
{"mode": "parallel", "max_retries": 0, "experiments": [
 {"foreground": {"repo": "repo", "model": "net", "mode": "default"}, "background": {"repo": "repo", "model": "net"}}],
 "tare": {"preflight": {"baseline": 0}}}
END
    run_stopped
    grep -q "is not begun: after a wait of .*pid $OUTSIDER .*clean --pid $OUTSIDER'" err
    is "$(states)" " 1 planned - 0"
    [ ! -e repo/began ]
}

@test "a bench stops in the same way" {
    hold_gpus 1
    orphan 0 5540
    stopped bench -o results -- true
    grep -q "is not begun: after a wait of .*pid $OUTSIDER .*clean --pid $OUTSIDER'" err
}
