#!/usr/bin/env bats
# Why an attempt failed: told apart in summary.csv, in experiment.json with the line of the log that showed it, and counted in the
# closing table.

load runs

setup_file() { command -v python3 >/dev/null || skip "python3 is missing"; }

# failure EXPRESSION: of "failure" of the last experiment.json as f.
failure() {
    python3 -c 'import json, sys; f = json.load(open(sys.argv[1]))["tare"]["failure"]; print(eval(sys.argv[2]))' \
        "$(run_dir)/repo_net_001/experiment.json" "$1"
}

# fails CAUSE LINE TEXT: the one experiment of the run failed so.
fails() {
    is "$(summary failure)" "$1"
    is "$(failure 'f["cause"], f["line"], f["text"]')" "('$1', $2, $3)"
    is "$(event_value attempt_ended 1 failure)" "$(failure 'json.dumps(f, separators=(",", ":"), ensure_ascii=False)')"
    grep -qx "failed by: 1 $1" out
}

# The one experiment; that it fails is what is wanted.
run_one() { settings 1 "${1:-}" "${2:-}"; tare_run >out || [ $? -eq 1 ]; }

@test "an exit code, with the exception that the log ends with" {
    job 'printf "epoch 1\nTraceback (most recent call last):\n  File \"x\"\nValueError: no such layer\n"; exit 3'
    run_one
    fails exit_code 4 "'ValueError: no such layer'"
    is "$(failure 'f["why"]')" "exit code 3"
}

@test "a signal" {
    job 'echo begun; kill -SEGV $$'
    run_one
    fails killed_by_signal 1 "'begun'"
    is "$(failure 'f["why"]')" "signal 11 (SIGSEGV)"
}

@test "a GPU whose memory ran out, though lines come behind and the exit code is 1" {
    job 'echo epoch 1
echo "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 1 GiB"
echo cleaning up; exit 1'
    run_one
    fails out_of_memory 2 \
        "'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 1 GiB'"
}

@test "memory that ran out is told with its line, as grep numbers it, and its cause, whatever the launcher says last" {
    job 'i=0; while [ $i -lt 40 ]; do printf "epoch $i\n 10%%\r 60%%\r"; i=$((i + 1)); done
echo "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.15 GiB. GPU 0 has a total capacity of 44.53 GiB of which 3.84 GiB is free. Including non-PyTorch memory, this process has 40.68 GiB memory in use. Of the allocated memory 40.34 GiB is allocated by PyTorch, and 10.00 MiB is reserved by PyTorch but unallocated."
echo; echo "Training command failed with exit code 0"; exit 1'
    run_one
    is "$(failure 'f["cause"], f["line"]')" \
        "('out_of_memory', $(grep -n 'CUDA out of memory' "$(run_dir)/repo_net_001/training.log" | cut -d: -f1))"
    is "$(failure 'f["line"]')" 41
    local told
    told=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["error_message"])' \
        "$(run_dir)/repo_net_001/experiment.json")
    [[ "$told" == "exit code 1; the log says: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.15 GiB."* ]]
    [[ "$told" == *"; cause: capacity: the training needs more than there is" ]]
    [[ "$told" != *"Training command failed"* ]]
}

@test "memory that ran out and was survived long ago is not the cause" {
    job 'echo "CUDA out of memory. Tried to allocate 20.00 MiB"
i=0; while [ $i -lt 250 ]; do echo "epoch $i"; i=$((i + 1)); done; exit 4'
    run_one
    fails exit_code 251 "'epoch 249'"
}

@test "a disk without space, as the training tells it" {
    job 'echo "OSError: [Errno 28] No space left on device: checkpoint.pt"; exit 1'
    run_one
    fails disk_full 1 "'OSError: [Errno 28] No space left on device: checkpoint.pt'"
}

@test "a timeout" {
    job 'echo begun; sleep 1000'
    run_one '' '"timeout": "1s"'
    fails timeout None None
}

@test "an error pattern that matches, and a success pattern that does not" {
    registry '"success": ["saved$"], "errors": ["loss: nan"]'
    job 'echo begun; echo "loss: nan"; echo saved'
    run_one
    fails pattern 2 "'loss: nan'"
    rm -r results
    job 'echo begun'
    run_one
    fails pattern None None
    is "$(failure 'f["why"]')" "no line matches the success pattern 'saved\$'"
}

@test "a command that never began" {
    job ''
    printf '#!/no/such/interpreter\n' >repo/job.sh
    run_one
    fails not_started None None
}

@test "what the kernel ends for want of memory" {
    [ "$(id -u)" -eq 0 ] || skip "only root can make a memory cgroup here"
    grep -q '^oom_kill ' /proc/vmstat || skip "this kernel does not count them"
    local group=/sys/fs/cgroup/memory/tare-test-$$
    mkdir "$group" 2>/dev/null && echo 64M 2>/dev/null >"$group/memory.limit_in_bytes" || {
        rmdir "$group" 2>/dev/null || true
        skip "no memory cgroup (v1) can be made here"
    }
    echo 0 2>/dev/null >"$group/memory.swappiness" || true
    # The job enters it by itself: it is no cgroup of the run's.
    job "echo \$\$ >$group/cgroup.procs || exit 7
exec python3 -c 'b = bytearray(512 << 20)
for i in range(0, len(b), 4096): b[i] = 1'"
    run_one
    for _ in $(seq 100); do rmdir "$group" 2>/dev/null && break; sleep 0.1; done
    [ "$(failure 'f["why"]')" != "exit code 7" ] || skip "a job cannot enter that cgroup here"
    fails oom_killed None None
    [[ "$(failure 'f["why"]')" == "the kernel ended "*" for want of memory: /proc/vmstat of the machine, and SIGKILL ended the command" ]]
}

@test "a log that finds no space ends the run, and says so of the attempt" {
    [ "$(id -u)" -eq 0 ] || skip "only root can mount a small disk"
    mkdir disk
    mount -t tmpfs -o size=2m tmpfs disk 2>/dev/null || skip "nothing can be mounted here"
    job 'yes | head -c 8000000; sleep 1000'
    settings 1
    run "$TARE" run settings.json -c registry.json -o disk/results
    local code=$status text
    text=$(cat disk/results/run_*/events.jsonl)
    umount disk
    [ "$code" -eq 3 ]
    echo "$output"
    [[ "$output" == *"No space left on device"* ]]
    if [[ "$text" == *'"attempt_ended"'* ]]; then [[ "$text" == *'"cause":"disk_full"'* ]]; fi
}

@test "each attempt keeps its own, and a run that succeeds has none" {
    job 'test "$TARE_ATTEMPT" -gt 1'
    settings 1 '' '"max_retries": 1'
    tare_run >out
    is "$(summary failure)" ""
    is "$(failure f)" None
    is "$(python3 -c 'import json, sys
print([a["failure"] and a["failure"]["cause"] for a in json.load(open(sys.argv[1]))["tare"]["attempts"]])' \
        "$(run_dir)/repo_net_001/experiment.json")" "['exit_code', None]"
    run ! grep -q "^failed by" out
}

# bar TEXT: prints a progress bar as tqdm does, to standard error and without an end; then Python itself prints what TEXT raises.
bar() {
    mkdir -p repo
    cat >repo/train.py <<END
import sys
for i in range(3):
    sys.stderr.write("\r%3d%%|%s| %d/12 [00:0%d<00:10,  1.1it/s%s]" % (8 * i, "\u2588" * 100 if "$2" else "", i, i, "$2"))
$1
END
}

@test "a traceback behind a progress bar that nobody ended fails a training that exits with 0" {
    bar 'raise ValueError("bad batch")' ''
    job 'python3 train.py 2>&1 | cat'
    run_one
    is "$(failure 'f["cause"], f["text"]')" \
        "('pattern', ' 16%|| 2/12 [00:02<00:10,  1.1it/s]Traceback (most recent call last):')"
    grep -q "repo_net_001: traceback at log line [0-9]*: ValueError: bad batch" out
}

@test "a traceback behind a bar that is longer than what is kept of a line, and padded, is found and told" {
    bar 'sys.stderr.write(" " * 40)
raise KeyError("loss")' ', loss=0.5'
    job 'python3 train.py 2>&1 | cat'
    run_one
    is "$(failure 'f["cause"]')" pattern
    grep -q "repo_net_001: traceback at log line [0-9]*: KeyError: 'loss'" out
}

@test "a traceback of one of several processes, and of an exception group, fails a training that exits with 0" {
    job 'if [ "$TARE_EXPERIMENT" = repo_net_001 ]; then
printf "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"t.py\", line 1\n[rank1]: OSError: gone\n"
else printf "  + Exception Group Traceback (most recent call last):\n  |   File \"t.py\", line 1\n  | ExceptionGroup: two\n"; fi'
    settings 2
    tare_run >out || [ $? -eq 1 ]
    is "$(summary outcome | tr '\n' ' ')" "failed failed "
    grep -q "repo_net_001: traceback at log line 1: OSError: gone" out
}

@test "memory and space that ran out behind a progress bar are the cause" {
    job 'if [ "$TARE_EXPERIMENT" = repo_net_001 ]; then
printf " 10%%| 1/10 [00:01]\r 20%%| 2/10 [00:02,  1.1it/s]RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB\n"
else printf " 20%%| 2/10 [00:02,  1.1it/s]OSError: [Errno 28] No space left on device\n"; fi; exit 1'
    settings 2
    tare_run >out || [ $? -eq 1 ]
    is "$(summary failure | tr '\n' ' ')" "out_of_memory disk_full "
}

@test "a traceback that a program quotes, or tells of an exception that it has handled, fails nothing" {
    job 'echo "WARNING:root:caught: Traceback (most recent call last):"
echo "error: ""Traceback (most recent call last):"
echo "stderr was \"Traceback (most recent call last):\\n  File x\""
echo "(see Traceback (most recent call last) in the manual)"
echo "looks for ^Traceback (most recent call last) in logs"
echo "loss 0.5"'
    settings 1
    tare_run >out
    is "$(summary outcome)" succeeded
}

@test "metrics on lines between and behind bars are read whole" {
    registry '"errors": [], "marks": {"epoch": "^epoch ([0-9]+)$"}'
    job 'printf "\r 10%%| 1/10 [00:01]\rloss 0.25\r\r 20%%| 2/10 [00:02]\repoch 1\r\nloss 0.125\n"'
    settings 1
    tare_run >out
    is "$(summary perf_loss)" 0.125
    is "$(events mark 1 | wc -l)" 1
}

# Rules of success: what an exit code of 0 hides.

said() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["error_message"])' "$(run_dir)/repo_net_001/experiment.json"; }

@test "a program that exits with 0 and prints no metric has failed, and what to do is said" {
    idle_machine
    job 'echo "not yet implemented"'
    registry '"metrics": "any"'
    run_one
    fails no_metric 1 "'not yet implemented'"
    [[ "$(said)" == "no metric was found in the log (loss), though the command exited with 0: see in the log whether it trained, "*"; last log line: not yet implemented" ]]
    is "$(wc -l <"$(run_dir)/summary_safe.csv")" 2
}

@test "without a word in the registry it is the same; optional lets it pass; required wants every metric" {
    job 'echo "not yet implemented"'
    registry '"metrics": "any"'
    sed -i 's/"metrics": "any"/"note": ""/' registry.json
    run_one
    is "$(summary failure)" no_metric
    rm -r results
    registry '"metrics": "optional"'
    settings 1
    tare_run >out
    is "$(summary outcome)" succeeded
    rm -r results
    job 'echo loss 0.5'
    registry '"metrics": {"net": "required"}'
    sed -i 's/"log_patterns": {/&"accuracy": "^accuracy (.*)", /' registry.json
    run_one
    is "$(summary failure)" no_metric
    [[ "$(said)" == "not every metric was found in the log (accuracy), "* ]]
}

@test "a failure without a metric is retried as any other" {
    job '[ "$TARE_ATTEMPT" = 1 ] && echo nothing || echo loss 0.5'
    registry '"metrics": "any"'
    settings 1
    sed -i 's/"max_retries": 0/"max_retries": 1/' settings.json
    tare_run >out
    is "$(summary outcome),$(summary retries)" succeeded,1
    is "$(event_value attempt_ended 1 failure)" null
    is "$(of_events "data ->> '$.failure.cause'" attempt_ended 1 | head -n 1)" no_metric
}

@test "a program killed in a pipe fails a training that exits with 0, by what its shell says" {
    local shell forms=0
    for shell in dash "busybox sh" mksh; do
        command -v "${shell%% *}" >/dev/null || continue
        rm -rf results
        mkdir -p repo
        printf '#!/usr/bin/env -S %s\n%s\n' "$shell" 'echo loss 0.5; sh -c "kill -KILL \$\$" | cat; exit 0' >repo/job.sh
        chmod +x repo/job.sh
        run_one
        is "$(summary failure)" killed_by_signal
        [[ "$(said)" == *"signal ended a program, though the command exited with 0: Killed"*"pipefail"*"(\"fail_on\" of the registry)" ]]
        forms=$((forms + 1))
    done
    [ "$forms" -gt 0 ] || skip "neither dash nor busybox nor mksh is installed"
}

@test "bash and ksh93 tell of it where the program is no part of a pipe; a crash counts too" {
    local shell forms=0
    for shell in bash ksh93; do
        command -v "$shell" >/dev/null || continue
        rm -rf results
        mkdir -p repo
        printf '#!/usr/bin/env %s\n%s\n' "$shell" 'echo loss 0.5
sh -c "kill -BUS \$\$"
echo trained' >repo/job.sh
        chmod +x repo/job.sh
        run_one
        is "$(summary failure)" killed_by_signal
        is "$(failure 'f["line"], "Bus error" in f["text"]')" "(2, True)"
        forms=$((forms + 1))
    done
    [ "$forms" -gt 0 ] || skip "neither bash nor ksh93 is installed"
}

@test "fail_on switches it off, and a training that speaks of being killed has not failed" {
    job 'echo loss 0.5; echo Killed'
    registry '"fail_on": ["oom_kill"]'
    settings 1
    tare_run >out
    is "$(summary outcome)" succeeded
    rm -r results registry.json
    job 'echo loss 0.5; echo "Killed 3 enemies in episode 5"; echo "Segmentation fault rate: 0"'
    registry '"metrics": "any"'
    settings 1
    tare_run >out
    is "$(summary outcome)" succeeded
}

@test "a process that was left in the background and crashed fails the training" {
    job 'echo loss 0.5; (sh -c "sleep 0.2; kill -SEGV \$\$" 2>/dev/null &) ; sleep 1; exit 0'
    run_one
    is "$(summary failure)" killed_by_signal
    [[ "$(said)" == "signal 11 (SIGSEGV) ended a process that the job had left in the background, "* ]]
    rm -r results registry.json
    registry '"fail_on": ["shell_message", "oom_kill"]'
    settings 1
    tare_run >out
    is "$(summary outcome)" succeeded
}

@test "a process of the job that the kernel ended for want of memory fails it, where a cgroup tells" {
    command -v python3 >/dev/null || skip "python3 is missing"
    job 'echo loss 0.5; python3 -c "bytearray(b\"x\") * (300 << 20)" 2>/dev/null; exit 0'
    settings 1 '"limits": {"memory": "100 MiB"}'
    tare_run >out || [ $? -eq 1 ]
    if grep -q "cannot be held here" out; then skip "jobs have no cgroup with a memory controller here"; fi
    is "$(summary failure)" oom_killed
}

@test "run folders are not searched for checkpoints, and a search cut short is recorded once a run" {
    mkdir -p repo/out/old_run/net
    echo weights >repo/out/old_run/net/best.pt
    touch repo/out/old_run/run.lock
    touch -d "2 hours ago" repo/out/old_run/net/best.pt
    job 'cat out/old_run/net/best.pt >/dev/null; echo loss 0.5'
    settings 2
    tare_run >out
    is "$(events evidence | grep -cE 'old_checkpoint|checkpoints_not_checked')" 0
    rm -r results repo/out
    mkdir repo/data
    (cd repo/data && seq 1 20100 | xargs touch)
    tare_run >out
    is "$(events evidence | grep -c checkpoints_not_checked)" 1
}

@test "a checkpoint older than the attempt that is read is evidence, and the training's own is not" {
    command -v python3 >/dev/null || skip "python3 is missing"
    mkdir -p repo/saved/best
    job 'cat saved/best/net.pt >/dev/null; echo loss 0.5'
    echo weights >repo/saved/best/net.pt
    echo rows >repo/train.pkl
    touch -d "2 hours ago" repo/saved/best/net.pt repo/train.pkl
    settings 1
    tare_run >out
    [[ "$(events evidence | grep old_checkpoint)" == *"saved/best/net.pt, written 2 h"*" before the attempt"* ]]
    rm -r results
    job 'cat train.pkl >/dev/null; echo new >saved/best/net.pt; cat saved/best/net.pt >/dev/null; echo loss 0.5'
    touch -d "2 hours ago" repo/saved/best/net.pt
    tare_run >out
    is "$(events evidence | grep -c old_checkpoint)" 0
    rm -r results registry.json
    job 'cat saved/best/net.pt >/dev/null; echo loss 0.5'
    touch -d "2 hours ago" repo/saved/best/net.pt
    registry '"reads_checkpoints": true'
    tare_run >out
    is "$(events evidence | grep -c old_checkpoint)" 0
}

# The verdicts of experiment NUMBER: time, energy, metric.
of_quantities() { jq -r '.tare.verdicts | [.time, .energy, .metric] | join(" ")' "$(run_dir)/repo_net_00$1/experiment.json"; }

@test "the metric alone is suspect where a checkpoint of another experiment was read, in a later session too" {
    idle_machine
    mkdir -p repo/saved
    job '[ "$TARE_EXPERIMENT" = repo_net_001 ] || cat saved/best.pt; echo weights >>saved/best.pt; echo loss 0.5'
    settings 2
    tare_run >out
    is "$(events evidence 1 | grep -c shared_checkpoint)" 0
    is "$(events evidence 2 | jq -r 'select(.kind == "shared_checkpoint").text')" \
        "saved/best.pt was read, which repo_net_001 wrote"
    is "$(events evidence 2 | grep -c old_checkpoint)" 1
    [[ "$(of_quantities 2)" == *" suspect" ]]
    # Not the other quantities.
    is "$(of_quantities 2 | sed "s/ suspect$//")" "$(of_quantities 1 | sed "s/ clean$//")"
    job 'cat saved/best.pt; echo loss 0.5'
    "$TARE" run --rerun repo_net_001 "$(run_dir)" >out
    is "$(events evidence 1 | jq -r 'select(.kind == "shared_checkpoint").text')" \
        "saved/best.pt was read, which repo_net_002 wrote"
}

@test "data, caches, an own earlier attempt, and what is rewritten first are not checkpoints of another" {
    mkdir -p repo/saved repo/data repo/cache
    job '[ ! -e data/best.pt ] || cat data/best.pt cache/model.pth saved/pretrained.pth
[ "$TARE_EXPERIMENT" != repo_net_001 ] || echo rows | tee data/best.pt cache/model.pth saved/pretrained.pth
echo mine >saved/best.pt; cat saved/best.pt; echo loss 0.5'
    settings 2
    tare_run >out
    is "$(events evidence | grep -c shared_checkpoint)" 0
    is "$(events evidence 2 | grep -c '"old_checkpoint".*data/best.pt')" 1
    rm -r results
    job '[ "$TARE_ATTEMPT" = 1 ] || cat saved/own.pt
echo weights >saved/own.pt; echo loss 0.5; [ "$TARE_ATTEMPT" = 2 ]'
    settings 1
    sed -i 's/"max_retries": 0/"max_retries": 1/' settings.json
    tare_run >out
    is "$(events evidence | grep -c old_checkpoint)" 1
    is "$(events evidence | grep -c shared_checkpoint)" 0
}

@test "a checkpoint of another experiment is no evidence where the registry says that checkpoints are read" {
    mkdir -p repo/saved
    job '[ "$TARE_EXPERIMENT" = repo_net_001 ] || cat saved/best.pt; echo weights >saved/best.pt; echo loss 0.5'
    registry '"reads_checkpoints": true'
    settings 2
    tare_run >out
    is "$(events evidence | grep -c checkpoint)" 0
}
