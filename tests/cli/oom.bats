#!/usr/bin/env bats
# Why a GPU's memory ran out: what "oom" finds in logs, and what it says of it.

load helpers

# A message of PyTorch 2.2 or later: message REQUESTED FREE OWN ALLOCATED UNALLOCATED
message() {
    printf 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate %s. GPU 0 has a total capacity of 44.53 GiB of which %s is free. Including non-PyTorch memory, this process has %s memory in use. Of the allocated memory %s is allocated by PyTorch, and %s is reserved by PyTorch but unallocated.\n' "$@"
}

pieces() { message "4.15 GiB" "3.84 GiB" "40.68 GiB" "36.78 GiB" "3.56 GiB"; }

# json EXPRESSION: of "found", the parsed file out.
json() { python3 -c 'import json, sys; found = json.load(open("out")); print(eval(sys.argv[1]))' "$1"; }

@test "a message deep in a log is found with its line, its cause and its remedies" {
    { seq 1 5000; printf '\033[31m 50%%|##  | 1/2\r'; pieces; echo "end"; } > log
    run "$TARE" oom log
    [ "$status" -eq 0 ]
    [[ "${lines[0]}" == "log:5001: PyTorch, GPU 0" ]]
    [[ "$output" == *"reserved, in no tensor"*"3.56 GiB"* ]]
    [[ "$output" == *"Cause: fragmentation: memory was there, in pieces"* ]]
    [[ "$output" == *"1. set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"* ]]
    [[ "$output" == *"Effect: this request fits, with up to 3.25 GiB to spare"* ]]
}

@test "no line is wider than 80 columns" {
    { pieces; message "1.00 GiB" "0.10 GiB" "44.00 GiB" "43.00 GiB" "0.50 GiB"; echo "RuntimeError: CUDA error: out of memory"; } > log
    "$TARE" oom log > out
    awk 'length($0) > 80 { print; wide = 1 } END { exit wide }' out
    # Three messages, three causes.
    [ "$(grep -c '^Cause: ' out)" -eq 3 ]
}

@test "a log without a message is told by the exit code, as grep does" {
    echo "epoch 1 loss 0.5" > log
    run --separate-stderr "$TARE" oom log
    [ "$status" -eq 1 ]
    [ -z "$output" ]
    [[ "$stderr" == *"no out-of-memory message in log"* ]]
    run "$TARE" oom --json log
    [ "$status" -eq 1 ]
    [[ "$output" == *'"found": 0'* ]]
}

@test "what cannot be read is another exit code" {
    run "$TARE" oom nothing.log
    [ "$status" -eq 3 ]
    [[ "$output" == *"nothing.log"* ]]
    mkdir empty
    run "$TARE" oom empty
    [ "$status" -eq 3 ]
    [[ "$output" == *"neither an experiment's folder nor a run's"* ]]
    run "$TARE" oom one two
    [ "$status" -eq 2 ]
}

@test "standard input is read, with - and without an argument" {
    pieces | "$TARE" oom - > out
    grep -q '^standard input:1: PyTorch' out
    pieces | "$TARE" oom --json > out
    need_python
    [ "$(json 'found["logs"][0]["messages"][0]["cause"]')" = fragmentation ]
}

@test "the JSON has every size in bytes with its bounds" {
    need_python
    pieces > log
    "$TARE" oom --json log > out
    [ "$(json 'found["found"]')" = 1 ]
    [ "$(json 'found["logs"][0]["messages"][0]["says"]["requested"]')" = "{'bytes': 4456028570, 'low': 4450659861, 'high': 4461397278}" ]
    [ "$(json 'found["logs"][0]["messages"][0]["says"]["allowed"]')" = None ]
    # 40.34 GiB, and half a unit of the last decimal of each of its two parts: 43314745180.16
    [ "$(json 'abs(found["logs"][0]["messages"][0]["worked_out"]["reserved"]["bytes"] - 43314745180) <= 1')" = True ]
    [ "$(json 'found["logs"][0]["messages"][0]["expandable_segments_would_fit"]')" = True ]
    [ "$(json '[r["name"] for r in found["logs"][0]["messages"][0]["remedies"]]')" = "['expandable_segments', 'empty_cache', 'smaller_batch', 'mixed_precision', 'activation_checkpointing']" ]
    [ "$(json 'all(r["what"] and r["effect"] and r["cost"] for r in found["logs"][0]["messages"][0]["remedies"])')" = True ]
}

@test "a failure in epoch 5 names growth beside fragmentation, and how to distinguish them" {
    need_python
    { echo "Epoch 1/30"; echo "Epoch 5/30"; pieces; } > log
    "$TARE" oom log > out
    tr -s '\n ' '  ' < out > flat
    grep -q 'Cause: fragmentation' out
    grep -q 'Growth is possible too: the failure came in epoch 5' flat
    grep -q 'if allocated rises, references are kept; if only reserved rises, it is fragmentation' flat
    grep -q 'torch.load with map_location' flat
    "$TARE" oom --json log > out
    [ "$(json 'found["logs"][0]["messages"][0]["growth_possible"]')" = True ]
}

@test "a setting that is on already is not advised" {
    pieces > log
    "$TARE" oom --alloc-conf max_split_size_mb:64,expandable_segments:True log > out
    grep -q 'Cause: fragmentation' out
    if grep -q 'expandable_segments:True' out; then return 1; fi
    if grep -q 'lay in\|empty_cache' out; then return 1; fi
    tr -s '\n ' '  ' < out | grep -q 'although expandable segments are on'
    grep -q '^  1. a smaller batch with gradient accumulation' out
    # The newer name of the variable, in the log itself.
    { echo "PYTORCH_ALLOC_CONF=expandable_segments:True"; pieces; } > log
    "$TARE" oom log | grep -q '^  1. a smaller batch with gradient accumulation'
}

@test "remedies against fragmentation: settings first, then what lowers the peak, with the reason" {
    pieces > log
    "$TARE" oom log > out
    tr -s '\n ' '  ' < out > flat
    grep -q 'Settings change no result, so they come first. Lowering the peak helps as well' flat
    [ "$(grep -oE '^  [0-9]\. [a-z]+( [a-z(]+)?' out | tr '\n' ';')" = "  1. set;  2. call torch;  3. a smaller;  4. mixed precision;  5. activation (gradient;" ]
}

@test "pinned memory and CUDA in loader workers are named with their remedies" {
    cat > log <<'END'
Traceback (most recent call last):
RuntimeError: Caught RuntimeError in pin memory thread for device 0.
Original Traceback (most recent call last):
  File "torch/utils/data/_utils/pin_memory.py", line 64, in pin_memory
    return data.pin_memory(device)
RuntimeError: CUDA error: out of memory
END
    "$TARE" oom log > out
    grep -q '^Cause: pinned memory' out
    tr -s '\n ' '  ' < out | grep -q '1. pin less memory of the host: DataLoader(pin_memory=False), or fewer workers (num_workers) and a smaller prefetch_factor'
    sed -i 's/pin memory thread for device 0/DataLoader worker process 0/; /pin_memory/d' log
    "$TARE" oom log | tr -s '\n ' '  ' > flat
    grep -q "keep CUDA out of the workers of the DataLoader: move tensors to the GPU in the training loop, and load with torch.load(..., map_location='cpu')" flat
}

@test "a run's folder gives the logs of all its experiments and attempts, and follows no link" {
    need_python
    make_trainer <<'END'
#!/bin/sh
echo "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.15 GiB. GPU 0 has a total capacity of 44.53 GiB of which 3.84 GiB is free. Including non-PyTorch memory, this process has 40.68 GiB memory in use. Of the allocated memory 36.78 GiB is allocated by PyTorch, and 3.56 GiB is reserved by PyTorch but unallocated."
exit 1
END
    make_registry
    cat > settings.json <<'END'
{"max_retries": 1, "tare": {"timing": {"between_runs": 0, "between_configurations": 0, "before_retry": 0, "stop_grace": 1}},
 "experiments": [{"repo": "toy", "model": "small", "mode": "default", "runs_per_config": 2}]}
END
    "$TARE" run settings.json > /dev/null 2>&1 || true
    folder=$(run_folder)
    "$TARE" oom --json "$folder" > out
    [ "$(json 'found["found"]')" = 4 ]
    [ "$(json '[log["log"].split("/", 2)[2] for log in found["logs"]]')" = "['toy_small_001/attempt_1/training.log', 'toy_small_001/training.log', 'toy_small_002/attempt_1/training.log', 'toy_small_002/training.log']" ]
    # The second attempt had expandable segments on.
    [ "$(json '[any(r["name"] == "expandable_segments" for r in log["messages"][0]["remedies"]) for log in found["logs"]]')" = "[True, False, True, False]" ]
    "$TARE" oom "$folder/toy_small_002/" > out
    [ "$(grep -c '^Cause: ' out)" -eq 2 ]
    mkdir linked
    ln -s "$WORK/$folder/toy_small_001/training.log" linked/training.log
    run "$TARE" oom linked
    [ "$status" -eq 3 ]
}

@test "growth from epoch to epoch, which the experiment's folder tells, is the cause" {
    need_python
    mkdir grown
    # 0.38 GiB was missing; the five epochs grew by 8 GiB each.
    message "1.00 GiB" "0.62 GiB" "43.91 GiB" "43.20 GiB" "0.20 GiB" > grown/training.log
    python3 - > grown/experiment.json <<'END'
import json
print(json.dumps({"tare": {"attempts": [{"number": 1}], "epochs": [
    {"name": "epoch", "part": "startup", "gpu_mem_peak_mib": 500.0}] + [
    {"name": "epoch", "part": "epoch", "label": str(i + 1), "gpu_mem_peak_mib": 1024.0 * (8 + 8 * i)} for i in range(5)]}}))
END
    "$TARE" oom --json grown > out
    [ "$(json 'found["logs"][0]["messages"][0]["cause"]')" = growth ]
    "$TARE" oom grown > out
    grep -q 'In 5 epochs its memory grew steadily, by 8.00 GiB an epoch, from 16.00' out
    grep -q 'loss.item()' out
    # Without the history the same message is one of capacity.
    rm grown/experiment.json
    "$TARE" oom --json grown > out
    [ "$(json 'found["logs"][0]["messages"][0]["cause"]')" = capacity ]
}

@test "growth from step to step, which the snapshot of the failure tells, is the cause" {
    need_python
    mkdir leaked
    python3 "$ROOT/tests/data/memory/traces.py" kinds_leak leaked/memory_snapshot.pickle
    # 32 MiB were missing. Each step keeps 24 MiB; four of them lie between the first that counts and the last.
    message "64.00 MiB" "32.00 MiB" "43.91 GiB" "43.20 GiB" "0.01 GiB" > leaked/training.log
    "$TARE" oom --json leaked > out
    [ "$(json 'found["logs"][0]["messages"][0]["cause"]')" = growth ]
    "$TARE" oom leaked > out
    [[ "$(tr -s ' \n' ' ' < out)" == *"In 5 steps of the memory snapshot its memory grew steadily, by 24.00 MiB each, from"* ]]
    # Of a training that does not grow, and through a link: capacity, as without a snapshot.
    python3 "$ROOT/tests/data/memory/traces.py" kinds_steady leaked/memory_snapshot.pickle
    "$TARE" oom --json leaked > out
    [ "$(json 'found["logs"][0]["messages"][0]["cause"]')" = capacity ]
    python3 "$ROOT/tests/data/memory/traces.py" kinds_leak elsewhere.pickle
    ln -sf ../elsewhere.pickle leaked/memory_snapshot.pickle
    "$TARE" oom --json leaked > out
    [ "$(json 'found["logs"][0]["messages"][0]["cause"]')" = capacity ]
}

# printing EPOCHS ALLOCATED STEP RESERVED STEP: the lines of a training that prints its memory in MB, in the epochs 1 to EPOCHS.
printing() {
    for epoch in $(seq "$1"); do
        echo "Epoch $epoch/30 loss 0.5"
        echo "memory: allocated $(($2 + $3 * (epoch - 1))) MB, reserved $(($4 + $5 * (epoch - 1))) MB"
    done
}

@test "allocated memory that a log prints and that rises from epoch to epoch is growth" {
    need_python
    # 10, 18, 26 and 34 GiB: by 24 GiB in all, and 0.31 GiB was missing.
    { printing 4 10240 8192 12288 8192; pieces; } > log
    "$TARE" oom log > out
    grep -q '^Cause: growth' out
    tr -s '\n ' '  ' < out > flat
    grep -q 'The log prints allocated memory: 10.00 GiB in epoch 1, 34.00 GiB in epoch 4 (reserved: 12.00 GiB, 36.00 GiB). It rose steadily, by 8.00 GiB an epoch' flat
    grep -q '^  1. find what keeps references' out
    "$TARE" oom --json log > out
    [ "$(json '{k: v for k, v in found["logs"][0]["messages"][0]["printed"].items() if k in ("epochs", "first_epoch", "last_epoch", "trend")}')" = \
        "{'epochs': 4, 'first_epoch': 1, 'last_epoch': 4, 'trend': 'rising'}" ]
    # A driver's error without a number: the printed figures are all there is.
    { printing 4 10240 8192 12288 8192; echo "RuntimeError: CUDA error: out of memory"; } > log
    "$TARE" oom log > out
    grep -q '^Cause: growth.*(probably)' out
    grep -q '^  1. find what keeps references' out
}

@test "allocated memory that stays level while reserved rises is fragmentation, not growth" {
    need_python
    # 36 GiB are allocated in each epoch; 37 to 40 GiB are reserved.
    { printing 4 36864 0 37888 1024; echo "Epoch 5/30"; pieces; } > log
    "$TARE" oom log > out
    grep -q '^Cause: fragmentation' out
    tr -s '\n ' '  ' < out > flat
    grep -q 'Growth is not the cause. The log prints allocated memory: 36.00 GiB in epoch 1, 36.00 GiB in epoch 4 (reserved: 37.00 GiB, 40.00 GiB). Allocated stayed level, only reserved rose' flat
    if grep -q 'loss.item()' out; then return 1; fi
    # Half of what is reserved is in no tensor.
    { printing 3 10240 0 20480 0; echo "RuntimeError: CUDA error: out of memory"; } > log
    "$TARE" oom log > out
    grep -q '^Cause: fragmentation.*(probably)' out
    tr -s '\n ' '  ' < out | grep -q 'Allocated stayed level, so no references are kept, and 10.00 GiB is reserved and in no tensor'
    grep -q '^  1. set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True' out
}

@test "two epochs of printed memory claim neither growth nor its absence" {
    need_python
    { printing 2 10240 8192 12288 8192; echo "Epoch 3/30"; pieces; } > log
    "$TARE" oom --json log > out
    [ "$(json 'found["logs"][0]["messages"][0]["cause"]')" = fragmentation ]
    [ "$(json 'found["logs"][0]["messages"][0]["growth_possible"]')" = True ]
    "$TARE" oom log | tr -s '\n ' '  ' | grep -q 'Growth is possible too. The log prints allocated memory: 10.00 GiB in epoch 1, 18.00 GiB in epoch 2 (reserved: 12.00 GiB, 20.00 GiB), but growth shows over three epochs or more'
}

@test "an out-of-memory that was caught says how the training went on" {
    need_python
    { echo "Epoch 3/9"; pieces; echo "retrying with batch size 64"; echo "Epoch 4/9"; pieces; } > log
    "$TARE" oom log > out
    [ "$(head -n 1 out)" = "log:2: PyTorch, GPU 0 (2 times the same)" ]
    sed -i '$d' log
    "$TARE" oom log > out
    [ "$(head -n 1 out)" = "log:2: PyTorch, GPU 0 (caught; went on with batch 64)" ]
    "$TARE" oom --json log > out
    [ "$(json '[found["logs"][0]["messages"][0][key] for key in ("went_on", "went_on_batch")]')" = "[True, 64]" ]
}

@test "printed memory in the log of a run's experiment decides as in a log" {
    need_python
    mkdir -p run_1/toy_small_001
    { printing 4 10240 8192 12288 8192; pieces; } > run_1/toy_small_001/training.log
    "$TARE" oom --json run_1 > out
    [ "$(json 'found["logs"][0]["messages"][0]["cause"]')" = growth ]
}

@test "recorded failures that expandable segments did avoid are foretold, every one" {
    need_python
    [ -e "$SHARED/memory/allocator-traces-2.tar.xz" ] || skip "../shared/data/memory is not there"
    cat > outcomes.py <<'END'
import glob, json, subprocess, sys, tarfile
told = []
for archive in sorted(glob.glob(sys.argv[1] + "/memory/*.tar.xz")):
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.name.endswith(".json"):
                told.append(json.load(tar.extractfile(member)))
# The least cap under which each workload ran with expandable segments.
least = {}
for one in told:
    if "expandable" in (one["alloc_conf"] or "") and not one["oom"] and one["cap_gib"]:
        least[one["workload"]] = min(one["cap_gib"], least.get(one["workload"], 1e9))
asked = 0
for one in told:
    if "expandable" in (one["alloc_conf"] or "") or not one["oom"] or one["cap_gib"] < least.get(one["workload"], 1e9):
        continue
    run = subprocess.run([sys.argv[2], "oom", "--json", "-"], input=one["oom"], capture_output=True, text=True, check=True)
    message = json.loads(run.stdout)["logs"][0]["messages"][0]
    assert message["cause"] == "cap", (one["workload"], one["cap_gib"], message["cause"])
    assert message["expandable_segments_would_fit"], (one["workload"], one["alloc_conf"], one["cap_gib"])
    asked += 1
print(asked)
assert asked >= 10, asked
END
    python3 outcomes.py "$SHARED" "$TARE"
}

@test "a death for the machine's memory is named, with its remedy, and not blamed on the GPU" {
    need_python
    printf 'step 10\n/var/spool/slurm_script: line 28:  8144 Killed                  python3 main.py\nslurmstepd: error: Detected 1 oom_kill event in StepId=191.batch. Some of your processes may have been killed.\n' > log
    run "$TARE" oom log
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = "log:2: Slurm" ]
    [[ "$output" == *"Cause: not the GPU: the memory limit of the job, container or pod"* ]]
    [[ "$output" == *"  1. raise the memory limit of the job (sbatch --mem)"* ]]
    if grep -q 'expandable\|mixed precision' <<< "$output"; then return 1; fi
    "$TARE" oom --json log > out
    [ "$(json 'found["found"], found["logs"][0]["messages"][0]["kind"]')" = "(1, 'host')" ]
}

@test "the traceback gives the place and decides the cause" {
    need_python
    cat > log <<'END'
Traceback (most recent call last):
  File "/home/user/train.py", line 110, in main
    validate(model)
  File "/home/user/train.py", line 79, in validate
    y = model(x)
  File "/opt/conda/lib/python3.10/site-packages/torch/nn/functional.py", line 549, in linear
    return torch._C._nn.linear(input, weight, bias)
END
    message "1.00 GiB" "0.10 GiB" "44.00 GiB" "43.00 GiB" "0.50 GiB" >> log
    "$TARE" oom log > out
    grep -qx 'Place: /home/user/train.py:79 in validate' out
    grep -q '^Cause: evaluation keeps what only training needs' out
    grep -q '^  1. torch.no_grad()' out
    "$TARE" oom --json log > out
    [ "$(json 'found["logs"][0]["messages"][0]["place"]')" = "{'file': '/home/user/train.py', 'line': 79, 'function': 'validate'}" ]
    [ "$(json 'found["logs"][0]["messages"][0]["cause"]')" = no_grad_missing ]
}

@test "the corpus of failure texts is recognised, and its other texts are not accused" {
    need_python
    python3 "$BATS_TEST_DIRNAME/../statistics/oom_texts.py" > rates
    # rate NAME LEAST: in percent
    rate() { awk -v name="$1" -v least="$2" 'index($0, name) == 1 { split(substr($0, 35), n, " "); found = 1; if (100 * n[1] < least * n[3]) exit 1 } END { exit !found }' rates; }
    rate "recognised failures" 95
    rate "recognised caught" 75
    rate "recognised decoy" 100
    rate "no figure wrong" 98
    rate "first remedy useful" 85
}
