#!/usr/bin/env bats
# Tasks of a submitted run and the GPUs of their node: two at a time on it, and what the allocation shows.

load gpus

eval "machine_$(declare -f setup)"
setup() {
    machine_setup
    mkdir bin
    printf '#!/bin/sh\nprintf "KillWait = 30 sec\\nMaxArraySize = 1001\\n"\n' >bin/scontrol
    printf '#!/bin/sh\necho 4711\n' >bin/sbatch
    printf '#!/bin/sh\ntrue\n' >bin/squeue
    chmod +x bin/*
    export PATH=$WORK/bin:$PATH
    unset SLURM_JOB_ID SLURM_JOB_GPUS SLURM_STEP_GPUS
}

submit() { "$TARE" submit settings.json -c registry.json -o results >/dev/null; }

# What the job of an experiment saw.
seen() { cat "$WORK/repo/seen.$1"; }

@test "two tasks that see the same GPU do not use it at the same time" {
    two_gpus
    job 'echo begin >>ran; touch began; until [ -e go ]; do sleep 0.2; done; echo end >>ran'
    settings 2
    submit
    export CUDA_VISIBLE_DEVICES=0
    "$TARE" run --task 1 "$(run_dir)" -q </dev/null >first 2>&1 3>&- &
    HOLDER=$!
    wait_until test -e repo/began
    start_program run --task 2 "$(run_dir)" -q
    wait_until grep -q 'waiting for it' err
    is "$(cat repo/ran)" begin
    touch repo/go
    wait "$HOLDER"
    HOLDER=
    end_program
    is "$CODE" 0
    is "$(tr '\n' ' ' <repo/ran)" "begin end begin end "
}

@test "a task uses the GPUs of its allocation, whatever numbers the settings name" {
    two_gpus
    job 'echo "$CUDA_VISIBLE_DEVICES" >seen.$TARE_EXPERIMENT'
    settings 4 '"gpus": "0"'
    submit
    export SLURM_JOB_ID=4711
    # As with cgroups, where the allocation's GPU is all that a job sees; and as without, where only Slurm's variables tell.
    CUDA_VISIBLE_DEVICES=1 "$TARE" run --task 1 "$(run_dir)" -q >/dev/null
    SLURM_JOB_GPUS=1 "$TARE" run --task 2 "$(run_dir)" -q >/dev/null
    CUDA_VISIBLE_DEVICES=GPU-11111111-bbbb "$TARE" run --task 3 "$(run_dir)" -q >/dev/null
    is "$(seen repo_net_001)" 1
    is "$(seen repo_net_002)" GPU-11111111-bbbb
    is "$(seen repo_net_003)" GPU-11111111-bbbb
    # A slice of a GPU is shown as it was given.
    CUDA_VISIBLE_DEVICES=MIG-5c8b7a32-0000-4000-8000-00000000000a "$TARE" run --task 4 "$(run_dir)" -q >/dev/null 2>err
    is "$(seen repo_net_004)" MIG-5c8b7a32-0000-4000-8000-00000000000a
    grep -q 'slices of a GPU (MIG) are neither locked nor measured' err
}

@test "an allocation that is too small for an experiment is said, and nothing is run" {
    two_gpus
    job 'touch ../ran'
    settings 1 '"gpus_per_experiment": 2'
    submit
    SLURM_JOB_ID=4711 CUDA_VISIBLE_DEVICES=1 run "$TARE" run --task 1 "$(run_dir)" -q
    [ "$status" -eq 2 ]
    [[ $output == *"'gpus_per_experiment' is 2, and this run may use 1 GPU"* ]]
    [ ! -e ran ]
}
