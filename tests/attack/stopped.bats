# A runner that is stopped (SIGSTOP, Ctrl-Z, a debugger, a virtual machine that sleeps) while trainings go on, and a training that is
# stopped while the runner goes on: the figures are the training's, or say that they are not.

load ../cli/energy

# A GPU at 600 W for ever: the truth is 600 times the seconds that the training took, whatever the runner says of them.
busy_gpu() { scenario 1 "step 0 600"; }

# sleep_through CONDITION...: the program does nothing for six seconds from that moment, and then ends by itself.
sleep_through() {
    wait_until "$@"
    kill -STOP "$PID"
    sleep 6
    kill -CONT "$PID"
    end_program
}

has_started() { cat results/*/events.jsonl 2>/dev/null | grep -q '"type":"attempt_started"'; }

# What the job itself says of its length: two times of the kernel's clock.
TIMED='python3 -c "import time; print(time.monotonic_ns())" >../began
for i in 1 2 3 4 5 6; do sleep 0.5; echo "epoch $i loss 0.$i"; done
python3 -c "import time; print(time.monotonic_ns())" >../ended'

# stop_for SECONDS SIGNAL: the runner, while its training has a second of three behind it.
stop_for() {
    wait_until test -s began
    sleep 1
    kill "-${2:-STOP}" "$PID"
    sleep "$1"
    kill -CONT "$PID"
}

@test "a runner that was stopped until long after the end says the training's own time and energy, and is not clean" {
    busy_gpu
    job "$TIMED"
    settings 1
    start_run
    stop_for 10
    end_program
    is "$CODE" 0
    look '
began, ended = [int(open(name).read()) / 1e9 for name in ("began", "ended")]
duration = float(row["duration_seconds"])
assert ended - began <= duration <= ended - began + 1.5, (duration, ended - began)
joules, half = float(row["energy_gpu_total_joules"]), energy["gpu"]["half_width_j"]
assert abs(joules - 600 * duration) <= half + 0.01 * joules, (joules, half, 600 * duration)
assert "runner_stopped" in evidence, evidence
assert row["verdict"] != "clean", row["verdict"]
'
}

@test "a runner that was stopped in the first second of a run says so" {
    scenario 1 "step 0 300"
    job 'touch ../began; sleep 4; echo loss 0.5'
    settings 1
    start_run
    sleep_through test -e began
    look 'assert "runner_stopped" in evidence, evidence'
}

@test "a timeout counts the training's time, not that of a stopped runner" {
    job "sleep 1; echo loss 0.5"
    settings 1 "" '"timeout": "4s"'
    start_run
    sleep_through has_started
    is "$CODE" 0
    is "$(summary training_success)" True
}

@test "a training that outlasts its timeout while the runner is stopped is still a timeout" {
    job "sleep 5; echo loss 0.5"
    settings 1 "" '"timeout": "2s"'
    start_run
    sleep_through has_started
    is "$CODE" 1
    [[ "$(event_value experiment_ended 1 error)" == *"timed out"* ]]
}

@test "a training that was stopped and went on is contaminated, and says for how long" {
    busy_gpu
    job 'echo $$ >../job; sleep 2; sleep 2; echo loss 0.5'
    settings 1
    start_program run settings.json -c registry.json -o results --containment sweep
    wait_until test -s job
    kill -STOP "$(cat job)"
    sleep 3
    kill -CONT "$(cat job)"
    end_program
    look '
assert "job_stopped" in evidence, evidence
assert row["verdict"] == "contaminated", row["verdict"]
'
}

@test "a process deep in the training that is stopped is seen" {
    busy_gpu
    job 'sh -c "echo \$\$ >../inner; sleep 6; true"; echo loss 0.5'
    settings 1
    start_program run settings.json -c registry.json -o results --containment sweep
    wait_until test -s inner
    kill -STOP "$(cat inner)"
    sleep 3
    kill -CONT "$(cat inner)"
    end_program
    look '
texts = [x["data"]["text"] for x in mine if x["type"] == "evidence" and x["data"]["kind"] == "job_stopped"]
assert len(texts) == 1 and open("inner").read().strip() in texts[0], texts
'
}

# stop_init BEFORE AFTER: the init of the training with the number in the file job, and lets it go on.
stop_init() {
    local init
    wait_until test -s job
    init=$(sed 's/.*) //' "/proc/$(cat job)/stat" | cut -d' ' -f2)
    grep -q -- '-init$' "/proc/$init/comm"
    sleep "$1"
    kill -STOP "$init"
    sleep "$2"
    kill -CONT "$init"
}

init_spoke() {
    end_program
    look '
texts = [x["data"]["text"] for x in mine if x["type"] == "evidence" and x["data"]["kind"] == "runner_stopped"]
assert len(texts) == 1 and "init was stopped" in texts[0], texts
assert row["verdict"] == "suspect", row["verdict"]
'
}

@test "an init that was stopped when the training ended stamps its end late, and that is said" {
    scenario 1 "step 0 300"
    job 'echo $$ >../job; sleep 2; echo loss 0.5'
    settings 1
    start_program run settings.json -c registry.json -o results --containment sweep
    stop_init 1 3
    init_spoke
}

@test "so is one that went on before the training ended: it may have missed that the training was stopped" {
    scenario 1 "step 0 300"
    job 'echo $$ >../job; sleep 4; echo loss 0.5'
    settings 1
    start_program run settings.json -c registry.json -o results --containment sweep
    stop_init 0.5 1
    init_spoke
}

@test "Ctrl-Z on a run says what it does, and the run goes on" {
    job "$TIMED"
    settings 1
    start_run
    stop_for 0.5 TSTP
    end_program
    is "$CODE" 0
    grep -q "Ctrl-Z does not pause a run" out
    is "$(events evidence)" ""
}

@test "a run that nobody stopped has no such evidence" {
    busy_gpu
    job "$TIMED"
    settings 1
    start_run
    end_program
    is "$CODE" 0
    look 'assert not {"runner_stopped", "job_stopped"} & set(evidence), evidence'
}

@test "exec that was stopped until long after the command's end says the command's own time" {
    busy_gpu
    start_program exec --energy --json figures.json -- sh -c 'touch began; sleep 2'
    sleep_through test -e began
    is "$CODE" 0
    python3 -c '
import json
figures = json.load(open("figures.json"))
assert 2 <= figures["duration_seconds"] < 4, figures["duration_seconds"]
'
}
