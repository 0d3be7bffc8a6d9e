#!/usr/bin/env bats
# Trainings without a sign of life: told by their log, their CPU time and the GPU; their stack is kept before they are ended.

load energy

# Python that waits for ever in a function of that name.
hanging_python() {
    need_python
    mkdir -p repo
    cat >repo/train.py <<'END'
import threading, time
def never_comes_back():
    threading.Event().wait()
print("loss 0.5", flush=True)
never_comes_back()
END
    job 'exec python3 train.py'
}

# What the folder of experiment 1 holds of it.
stack() { cat "$(run_dir)/repo_net_001/$1hang_stack.txt"; }

failed() { # CAUSE: of experiment 1's last attempt, and its error.
    events attempt_ended 1 | tail -n 1 | python3 -c '
import json, sys
end = json.load(sys.stdin)
assert end["outcome"] == "failed" and end["reason"] == end["failure"]["cause"] == "hung", end
print(end["error"])'
}

without_gpus() { unset TARE_NVML TARE_FAKE_NVML; }

@test "a training that waits for ever is ended as hung, with what the kernel tells of its threads" {
    without_gpus
    hanging_python
    settings 1 '"hang_after": 2'
    run tare_run
    [ "$status" -eq 1 ]
    error=$(failed)
    [[ "$error" == 'hung: no log line and less than 5 % of a CPU for 2'*'GPU use is not measured here'*'hang_stack.txt'* ]]
    [[ "$output" == *hang_stack.txt* ]]
    stack | grep -q 'python3 (state S)'
    stack | grep -q 'wchan: '
    stack | grep -Eq '^  thread [0-9]+$'
    is "$(summary failure)" hung
}

@test "py-spy beside the interpreter or in PATH tells the Python stack, from within the job, and never by a shell" {
    without_gpus
    hanging_python
    mkdir bin
    cat >bin/py-spy <<'END'
#!/usr/bin/env python3
import os, sys
assert sys.argv[1:3] == ["dump", "--pid"] and len(sys.argv) == 4, sys.argv
print("Thread (active): never_comes_back (train.py:3)")
print("looked at", os.readlink("/proc/%s/exe" % sys.argv[3]), open("/proc/%s/cmdline" % sys.argv[3]).read().replace("\0", " "))
def rights(pid):
    return [x.split()[1] for x in open("/proc/%s/status" % pid) if x.startswith(("CapEff", "CapBnd"))]
print("rights of the training", rights("self") == rights(sys.argv[3]))
def may_write(path):
    try:
        open(path, "a").close()
        return True
    except OSError:
        return False
records = [os.path.join(d, f) for d, _, names in os.walk(os.environ["LOOK_IN"]) for f in names if f == "run.db"]
print("writes records", len(records), any(map(may_write, records)))
print("new privileges", [x.split()[1] for x in open("/proc/self/status") if x.startswith("NoNewPrivs")])
END
    chmod +x bin/py-spy
    settings 1 '"hang_after": 2'
    LOOK_IN=$PWD/results PATH=$PWD/bin:$PATH run tare_run
    [ "$status" -eq 1 ]
    stack | grep -q 'never_comes_back (train.py:3)'
    stack | grep -q '^looked at .*python3.* .*python3 train.py'
    stack | grep -q 'rights of the training True'
    stack | grep -q 'writes records 1 False'
    stack | grep -q "new privileges \['1'\]"
    stack | grep -q 'wchan: '
}

@test "a py-spy that hangs itself is ended, and nothing of it is left" {
    without_gpus
    hanging_python
    mkdir bin
    printf '#!/bin/sh\nsleep 1000.5 &\nexec sleep 1000.5\n' >bin/py-spy
    chmod +x bin/py-spy
    settings 1 '"hang_after": 1'
    PATH=$PWD/bin:$PATH run tare_run
    [ "$status" -eq 1 ]
    failed
    stack | grep -q 'py-spy was ended after 10 s'
    run pgrep -f 'sleep 1000[.]5'
    [ "$status" -ne 0 ]
}

@test "a hung training is tried again, as others that fail; each attempt keeps its stack" {
    without_gpus
    job 'echo "loss 0.5"; sleep 600'
    settings 1 '"hang_after": 1' '"max_retries": 1'
    run tare_run
    [ "$status" -eq 1 ]
    is "$(events attempt_ended 1 | grep -c '"reason":"hung"')" 2
    stack '' | grep -q 'attempt 2'
    stack 'attempt_1/' | grep -q 'attempt 1'
}

@test "a log line now and then, CPU time or a mark is a sign of life" {
    without_gpus
    # Eight loops at once: one of them may get less than 5 % of a busy processor.
    job 'case $# in 0) ;; esac
for i in 1 2 3 4 5 6; do sleep 0.7; echo "still here"; done
end=$(($(date +%s) + 4)); for i in 1 2 3 4 5 6 7 8; do while [ $(date +%s) -lt $end ]; do :; done & done; wait
for i in 1 2 3 4 5 6; do sleep 0.7; echo "epoch" >$TARE_MARKS; done; echo "loss 0.5"'
    settings 1 '"hang_after": 3'
    run tare_run
    [ "$status" -eq 0 ]
    [ ! -e "$(run_dir)/repo_net_001/hang_stack.txt" ]
}

@test "a training that uses its GPU without a word is not hung, and one beside an idle GPU is" {
    scenario 1 'step 0 300'
    job 'sleep 6; echo "loss 0.5"'
    settings 1 '"hang_after": 2'
    run tare_run
    [ "$status" -eq 0 ]
    rm -rf results
    scenario 1 'step 0 70'
    run tare_run
    [ "$status" -eq 1 ]
    [[ "$(failed)" == 'hung: no log line, no GPU use and less than 5 % of a CPU for 2'* ]]
}

@test "without hang_after a silent training goes on" {
    without_gpus
    job 'sleep 4; echo "loss 0.5"'
    settings 1
    run tare_run
    [ "$status" -eq 0 ]
}

@test "two GPU slots: the one that hangs is ended, the other goes on" {
    scenario 2 'gpu 0
step 0 70
gpu 1
step 0 300'
    job 'sleep 8; echo "loss 0.5"'
    settings 2 '"hang_after": 3'
    run tare_run
    [ "$status" -eq 1 ]
    is "$(summary failure | sort)" "$(printf '\nhung')"
}
