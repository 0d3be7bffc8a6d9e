#!/usr/bin/env bats
# What a run does after a GPU's memory ran out: the cause decides. The training is a script that prints what PyTorch would.

load runs

# trainer: the script behind it, with these functions: say REQUESTED FREE OWN ALLOCATED UNALLOCATED [PROCESSES]
trainer() {
    job "count=\$(cat $WORK/count 2>/dev/null || echo 0); echo \$((count + 1)) > $WORK/count
echo \"\$* \$PYTORCH_CUDA_ALLOC_CONF|\$PYTORCH_ALLOC_CONF\" >> $WORK/ways
say() { echo \"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate \$1. GPU 0 has a total capacity of 44.53 GiB of which \$2 is free. \${6:-}Including non-PyTorch memory, this process has \$3 memory in use. Of the allocated memory \$4 is allocated by PyTorch, and \$5 is reserved by PyTorch but unallocated.\"; exit 1; }
pieces() { say '4.15 GiB' '3.84 GiB' '40.68 GiB' '36.78 GiB' '3.56 GiB'; }
large() { say '4.15 GiB' '1.84 GiB' '42.68 GiB' '41.78 GiB' '356.00 MiB'; }
$1"
}

# model [MORE]: MORE is JSON members for the repository.
model() {
    cat > registry.json <<END
{"models": {"repo": {"path": "repo", "train_script": "./job.sh", "models": ["net"],
  "supported_hyperparams": {"batch_size": {"flag": "--batch", "type": "int", "default": 64, "range": [2, 512]},
    "accumulation": {"flag": "--acc", "type": "int", "default": 1, "range": [1, 64]}}${1:+, $1}}}}
END
    cat > settings.json <<END
{"max_retries": ${RETRIES:-3}, "experiments": [{"repo": "repo", "model": "net", "mode": "default", "runs_per_config": 1}],
 "tare": {"timing": {"between_runs": 0, "between_configurations": 0, "before_retry": 0, "stop_grace": 20}}}
END
}

STEPS='"oom_steps": [{"scale": {"batch_size": 0.5, "accumulation": 2}, "bounds": {"batch_size": [16, 512]}, "times": 5}, {"args": ["--amp"]}]'

# attempts EXPRESSION: for each attempt a of experiment 1.
attempts() {
    python3 -c 'import json, sys; [print(eval(sys.argv[2])) for a in json.load(open(sys.argv[1]))["tare"]["attempts"]]' \
        "$(run_dir)/repo_net_001/experiment.json" "$1"
}

@test "fragmentation is tried again with expandable segments, merged with what is set, and then succeeds" {
    need_python
    unset PYTORCH_CUDA_ALLOC_CONF PYTORCH_ALLOC_CONF
    trainer 'case $PYTORCH_CUDA_ALLOC_CONF in *expandable_segments:True*) exit 0;; esac; pieces'
    model '"env": {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64,expandable_segments:False"}'
    tare_run > out
    is "$(cat ways)" "--batch 64 --acc 1 max_split_size_mb:64,expandable_segments:False|
--batch 64 --acc 1 max_split_size_mb:64,expandable_segments:True|"
    is "$(summary outcome)" succeeded
    is "$(summary retries)" 1
    is "$(summary changed)" "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64,expandable_segments:True"
    is "$(attempts '(a["oom"] or {}).get("cause")')" "fragmentation
None"
    is "$(event_value attempt_prepared 1 changed)" '[{"kind":"environment","name":"PYTORCH_CUDA_ALLOC_CONF","from":"max_split_size_mb:64,expandable_segments:False","to":"max_split_size_mb:64,expandable_segments:True"}]'
    grep -q "the GPU's memory ran out (fragmentation)" out
}

@test "fragmentation with expandable segments on already is not repeated blindly" {
    need_python
    unset PYTORCH_CUDA_ALLOC_CONF
    export PYTORCH_ALLOC_CONF=expandable_segments:True
    trainer pieces
    model
    tare_run > out || true
    is "$(cat count)" 1
    is "$(summary outcome)" failed
    is "$(summary changed)" ""
    grep -q "no retry: it would end the same way" out
}

@test "the newer name of the setting is used where it is set" {
    need_python
    unset PYTORCH_CUDA_ALLOC_CONF
    export PYTORCH_ALLOC_CONF=max_split_size_mb:32
    trainer 'case $PYTORCH_ALLOC_CONF in *expandable_segments:True*) exit 0;; esac; pieces'
    model
    tare_run > out
    is "$(cat ways)" "--batch 64 --acc 1 |max_split_size_mb:32
--batch 64 --acc 1 |max_split_size_mb:32,expandable_segments:True"
}

@test "what is too large is not repeated at all where the registry declares no steps" {
    need_python
    trainer large
    model
    tare_run > out || true
    is "$(cat count)" 1
    is "$(summary outcome)" failed
    is "$(summary retries)" 0
    is "$(attempts 'a["oom"]["cause"]')" capacity
    is "$(event_value attempt_ended 1 ladder)" '{"expandable_segments":false,"steps":[],"action":"none","why":"no retry: it would end the same way; \"oom_steps\" in the registry would say what may be changed"}'
}

@test "what is too large goes down the declared steps, within their bounds, until it fits" {
    need_python
    trainer 'case $* in *--amp*) exit 0;; esac; large'
    RETRIES=9 model "$STEPS"
    tare_run > out
    is "$(cut -d' ' -f1-5 ways)" "--batch 64 --acc 1 |
--batch 32 --acc 2 |
--batch 16 --acc 4 |
--batch 16 --acc 4 --amp"
    is "$(summary outcome)" succeeded
    is "$(summary hyperparam_batch_size)" 64
    is "$(summary changed)" "batch_size 64 -> 16; accumulation 1 -> 4; --amp"
    is "$(grep -A1 '^changed by a retry' out | tail -n 1)" "  repo_net_001: batch_size 64 -> 16; accumulation 1 -> 4; --amp"
    is "$(attempts 'len(a.get("changed") or [])')" "0
2
4
5"
}

@test "when no step is left it ends, and max_retries bounds the steps" {
    need_python
    trainer large
    RETRIES=9 model "$STEPS"
    tare_run > out || true
    is "$(cat count)" 4
    grep -q "none of the registry's oom_steps is left within its bounds" out
    rm -r results count
    RETRIES=1 model "$STEPS"
    tare_run > out || true
    is "$(cat count)" 2
    is "$(summary changed)" "batch_size 64 -> 32; accumulation 1 -> 2"
}

@test "memory that others held is waited for, and the same is tried again" {
    need_python
    trainer "[ \$(cat $WORK/count) -lt 2 ] || exit 0
say '4.15 GiB' '1.84 GiB' '22.68 GiB' '21.78 GiB' '356.00 MiB' 'Process 4711 has 20.00 GiB memory in use. '"
    model "$STEPS"
    tare_run > out
    is "$(cat ways)" "--batch 64 --acc 1 |
--batch 64 --acc 1 |"
    is "$(summary outcome)" succeeded
    is "$(summary changed)" ""
    grep -q "(held_by_others): others held the memory: the same again" out
}

@test "a failure of another kind is repeated as before, with what was changed until then" {
    need_python
    trainer "case \$(cat $WORK/count) in 1) large;; 2) exit 1;; *) exit 0;; esac"
    model "$STEPS"
    tare_run > out
    is "$(cut -d' ' -f1-4 ways)" "--batch 64 --acc 1
--batch 32 --acc 2
--batch 32 --acc 2"
    is "$(summary outcome)" succeeded
    is "$(summary changed)" "batch_size 64 -> 32; accumulation 1 -> 2"
}

@test "an out-of-memory that was survived is not why it failed" {
    need_python
    trainer "echo 'CUDA out of memory. Tried to allocate 1.00 GiB.'; seq 1 1000; [ \$(cat $WORK/count) -lt 2 ] && exit 1; exit 0"
    model "$STEPS"
    tare_run > out
    is "$(cut -d' ' -f1-4 ways)" "--batch 64 --acc 1
--batch 64 --acc 1"
    is "$(summary changed)" ""
}

@test "after the runner was killed the experiment goes on with what was changed" {
    need_python
    trainer "case \$(cat $WORK/count) in 1) large;; 2) touch $WORK/second; sleep 1000;; *) exit 0;; esac"
    model "$STEPS"
    start_run
    wait_until test -e second
    kill -KILL "$PID"
    wait_until program_is_gone
    wait_until lock_is_free "$(run_dir)/run.lock"
    "$TARE" run --resume "$(run_dir)" > out
    is "$(cut -d' ' -f1-4 ways)" "--batch 64 --acc 1
--batch 32 --acc 2
--batch 32 --acc 2"
    is "$(summary outcome)" succeeded
    is "$(summary changed)" "batch_size 64 -> 32; accumulation 1 -> 2"
}

@test "a snapshot that the training left is picked up, where the registry asks for one" {
    need_python
    trainer "[ -z \"\$TARE_MEMORY_SNAPSHOT\" ] || printf 12345 > \"\$TARE_MEMORY_SNAPSHOT\"; [ \$(cat $WORK/count) -ge 2 ] || exit 1"
    model '"memory_snapshot": true'
    tare_run > out
    is "$(attempts 'a["snapshot"]')" "{'file': 'memory_snapshot.pickle', 'bytes': 5}
{'file': 'memory_snapshot.pickle', 'bytes': 5}"
    is "$(cat "$(run_dir)/repo_net_001/memory_snapshot.pickle")" 12345
    is "$(cat "$(run_dir)/repo_net_001/attempt_1/memory_snapshot.pickle")" 12345
    rm -r results count
    model
    tare_run > out
    is "$(attempts 'a.get("snapshot")')" "None
None"
}

@test "a link in a snapshot's place is left alone" {
    need_python
    trainer "ln -s /etc/hostname \"\$TARE_MEMORY_SNAPSHOT\"; exit 0"
    model '"memory_snapshot": true'
    tare_run > out
    is "$(attempts 'a.get("snapshot")')" None
}

@test "a mistake in the steps is told before anything runs" {
    trainer "exit 0"
    model '"oom_steps": [{"scale": {"bach_size": 0.5}}]'
    run tare_run
    [ "$status" -eq 2 ]
    [[ "$output" == *"'bach_size' is none of the repository's hyperparameters; did you mean 'batch_size'?"* ]]
    [ ! -e count ]
}
