# A run's folder that somebody else made: what it names leads nowhere but into itself.

load ../cli/runs

eval "machine_$(declare -f setup)"
setup() {
    machine_setup
    mkdir bin home
    printf '#!/bin/sh\nprintf "GresTypes = (null)\\nKillWait = 30 sec\\nMaxArraySize = 1001\\n"\n' >bin/scontrol
    printf '#!/bin/sh\necho 4711\n' >bin/sbatch
    printf '#!/bin/sh\n' >bin/squeue
    printf '#!/bin/sh\nexit 1\n' >bin/sacct
    chmod +x bin/*
    export HOME=$WORK/home PATH=$WORK/bin:$PATH
    job 'echo "loss 0.5"'
    settings 2
    echo precious >home/precious
}

# Whatever lies beside the run's folder: names, kinds, what is in the files. What a program keeps for itself does not count.
outside() {
    (cd "$HOME" && find . -path "./results/$(basename "$RUN")" -prune -o -path ./.local -prune -o -path ./.cache -prune -o -printf '%p %y %l\n' | sort && cat precious)
}

# A run of two tasks, submitted by somebody; $RUN: its folder, in the results of this user's home.
receive_submitted() {
    "$TARE" submit settings.json -c registry.json -o results >/dev/null
    "$TARE" run --task 1 "$(run_dir)" -q
    "$TARE" run --task 2 "$(run_dir)" -q
    receive
}

receive() {
    cp -a "$(run_dir)" received
    mkdir -p "$HOME/results"
    cp -a received "$HOME/results/run_1"
    RUN=$HOME/results/run_1
    outside >before
}

# plan_id NUMBER ID: in plan.json.
plan_id() {
    python3 - "$RUN/plan.json" "$@" <<'PY'
import json, sys
plan = json.load(open(sys.argv[1]))
plan["experiments"][int(sys.argv[2]) - 1]["id"] = sys.argv[3]
json.dump(plan, open(sys.argv[1], "w"))
PY
}

# db_id ID: of the first experiment, in run.db, wherever it stands.
db_id() {
    python3 - "$RUN/run.db" "$1" <<'PY'
import json, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
(text,) = db.execute("SELECT json FROM plan WHERE number=1").fetchone()
plan = json.loads(text)
plan["id"] = sys.argv[2]
db.execute("UPDATE plan SET id=?, json=? WHERE number=1", (sys.argv[2], json.dumps(plan)))
db.commit()
db.close()
PY
}

nothing_outside_changed() {
    outside >after
    diff before after
}

@test "collect: an experiment's id that leads out of the run's folder is an error, and nothing is made there" {
    receive_submitted
    mkdir "$RUN/.ssh"
    echo "ssh-ed25519 of-a-stranger" >"$RUN/.ssh/authorized_keys"
    for id in ../../../.ssh ../../.ssh_001 /tmp/of_a_stranger_001 .. . "" .ssh_001 tasks summary.csv machine.json $'a\033]0;x\007_001'; do
        plan_id 1 "$id"
        run "$TARE" collect "$RUN"
        is "$status" 3
        [[ $output == *"$RUN: plan.json: experiment 1: "*"'id'"* ]]
        [[ $output != *$'\033'* ]]
        nothing_outside_changed
        [ ! -e "$HOME/.ssh" ]
        # The tasks' records are as they came.
        diff -r received/tasks "$RUN/tasks"
    done
    [[ ! -e /tmp/of_a_stranger_001 ]]
    plan_id 1 ../../../.ssh
    run "$TARE" collect "$RUN"
    [[ $output == *"'../../../.ssh' holds a '/', so it is no name of a file or folder"* ]]
    run "$TARE" run --task 1 "$RUN" -q
    [ "$status" -ne 0 ]
    nothing_outside_changed
    # As it was sent it is a run like any other.
    plan_id 1 repo_net_001
    run "$TARE" collect "$RUN"
    is "$status" 0
    [[ $output == *"2 of 2 experiments are done: 2 succeeded, 0 failed"* ]]
    is "$(cat "$RUN/repo_net_001/training.log")" "loss 0.5"
    nothing_outside_changed
}

@test "collect: links in the place of folders of the run are neither followed nor emptied" {
    receive_submitted
    mkdir -p "$HOME/victim/1/repo_net_001"
    echo mine >"$HOME/victim/1/repo_net_001/training.log"
    outside >before
    ln -s "$HOME/victim" "$RUN/repo_net_001"
    rm -r "$RUN/tasks/0002"
    ln -s "$HOME/victim" "$RUN/tasks/0002"
    run "$TARE" collect "$RUN"
    is "$status" 1
    [[ $output == *"missing: 1 with records that cannot be read (2)"*"tasks/0002"* ]]
    nothing_outside_changed
    is "$(cat "$HOME/victim/1/repo_net_001/training.log")" mine
    [ -d "$RUN/repo_net_001" ] && [ ! -L "$RUN/repo_net_001" ]
    run "$TARE" run --task 2 "$RUN" -q
    [ "$status" -ne 0 ]
    mv "$RUN/tasks" "$HOME/victim/tasks"
    ln -s "$HOME/victim/tasks" "$RUN/tasks"
    outside >before
    run "$TARE" run --task 1 "$RUN" -q
    [ "$status" -ne 0 ]
    nothing_outside_changed
}

@test "resume, report, audit and export: an id of run.db that leads out of the run's folder is an error" {
    job "echo 'loss 0.5'; [ ! -e $WORK/slow ] || sleep 1000"
    touch slow
    start_run
    wait_until bash -c "grep -qs 'loss 0.5' results/run_*/repo_net_001/training.log"
    kill -KILL "$PID"
    wait_until lock_is_free "$(run_dir)/run.lock"
    rm slow
    receive
    keep_edits "$RUN"
    db_id ../../.ssh
    outside >before
    for command in "run --resume $RUN -q" "report $RUN" "report $RUN -o $WORK/report.html --snapshots" "audit $RUN" "export $RUN -o $WORK/exported"; do
        run "$TARE" $command
        [ "$status" -ne 0 ] || { echo "$command: $output"; false; }
        [[ $output == *"run.db: experiment 1 of the plan: "*"'../../.ssh' holds a '/'"* ]] || { echo "$command: $output"; false; }
        nothing_outside_changed
    done
    db_id repo_net_001
    "$TARE" run --resume "$RUN" -q
    run "$TARE" report "$RUN"
    is "$status" 0
    grep -q repo_net_001 "$RUN/report.html"
}

@test "audit: a row of a study that names a folder elsewhere is told, and that folder is not read" {
    mkdir -p study "$HOME/elsewhere"
    printf '{"experiment_id": "x", "training_success": true, "duration_seconds": 77}\n' >"$HOME/elsewhere/experiment.json"
    printf 'experiment_id,timestamp,repository,model,training_success,duration_seconds,retries\n../home/elsewhere,2025-01-01 00:00:00,r,m,True,10.0,0\n' >study/summary.csv
    run "$TARE" audit study --json
    python3 - "$output" <<'PY'
import json, sys
text = sys.argv[1]
assert "experiment_id in summary.csv: '../home/elsewhere' holds a '/'" in text, text
PY
}

@test "collect: what the folder says of hosts and machines reaches the terminal without control characters" {
    receive_submitted
    python3 - "$RUN/tasks/0001/1/machine.json" <<'PY'
import json, sys
machine = json.load(open(sys.argv[1]))
machine["host"] = "node\x1b]0;owned\x07\n1 of 1 experiments are fine\u009b2J"
machine["cpu"]["model"] = "CPU\x1b[2J\rno"
json.dump(machine, open(sys.argv[1], "w"))
PY
    "$TARE" collect "$RUN" >out
    python3 - out <<'PY'
import sys
text = open(sys.argv[1], encoding="utf-8").read()
bad = [c for c in text if (ord(c) < 32 and c != "\n") or 0x7f <= ord(c) < 0xa0]
assert not bad, (bad, text)
assert "node node\ufffd]0;owned" in text, text
assert not any(line.startswith("1 of 1") for line in text.splitlines()), text
PY
}
