#!/usr/bin/env bats
# One GPU, two runs: the second waits or refuses, and says who holds it.

load gpus

said() { grep -qF -- "$1" err; }

@test "a machine without GPUs has no lock and no word" {
    run "$TARE" exec --gpu-lock refuse -- echo done
    [ "$status" -eq 0 ]
    [ "$output" = done ]
    [ ! -e locks ]
}

@test "refuse: the second run ends with 3, says who holds the GPU, and leaves nothing" {
    two_gpus
    job 'touch ../ran'
    settings 1
    hold
    run --separate-stderr tare_run --gpu-lock refuse
    echo "$stderr"
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"GPU 0 (NVIDIA H200, GPU-00000000-aaaa) is held by process $HOLDER of user $(id -un) since "*"nothing was run"* ]]
    [ ! -e results ]
    [ ! -e ran ]
    told=$(sed -n 's/\(is held by .* since [0-9: -]*\)(.*/\1/p' <<< "$stderr") # for how long changes
    [ -n "$told" ]
    run --separate-stderr tare_run --gpu-lock refuse --dry-run
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"$told"* ]]
    # A dry run that would wait does not, and holds nothing.
    run --separate-stderr tare_run --dry-run
    [ "$status" -eq 0 ]
    let_go
    tare_run --gpu-lock refuse --dry-run > plan
    tare_run --gpu-lock refuse
    [ -e ran ]
}

@test "wait, as without the option: the second run begins when the first is over" {
    two_gpus
    job 'touch ../ran'
    settings 1
    hold
    start_run
    wait_until said "process $HOLDER of user"
    said "waiting for it"
    [ ! -e ran ]
    [ ! -e results ]
    let_go
    end_program
    cat err
    is "$CODE" 0
    [ -e ran ]
    said "the GPU is free now, after "
    is "$(grep -c 'waiting for it' err)" 1
}

@test "the GPU of a background is locked too" {
    need_python
    two_gpus
    job 'touch ../ran'
    settings 1
    python3 - <<'END'
import json
models = json.load(open("registry.json"))["models"]
models["load"] = dict(models["repo"], env={"CUDA_VISIBLE_DEVICES": "1"})
models["repo"]["env"] = {"CUDA_VISIBLE_DEVICES": "0"}
json.dump({"models": models}, open("registry.json", "w"))
settings = json.load(open("settings.json"))
settings["experiments"] = [{"foreground": {"repo": "repo", "model": "net", "mode": "default"},
                            "background": {"repo": "load", "model": "net"}}]
json.dump(settings, open("settings.json", "w"))
END
    CUDA_VISIBLE_DEVICES=1 hold
    run --separate-stderr tare_run --gpu-lock refuse
    echo "$stderr"
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"GPU 1 (NVIDIA H200, GPU-11111111-bbbb) is held by process $HOLDER"* ]]
    [ ! -e ran ]
    let_go
}

@test "the holder's line names the folder of its run" {
    two_gpus
    job 'touch ../held; until [ -e ../go ]; do sleep 0.2; done'
    settings 1
    start_run
    wait_until test -e held
    run --separate-stderr "$TARE" exec --gpu-lock refuse -- touch ran
    echo "$stderr"
    [ "$status" -eq 125 ]
    [[ "$stderr" == *"process $PID of user "*", run $(run_dir)"* ]]
    [ ! -e ran ]
    touch go
    end_program
    is "$CODE" 0
    "$TARE" exec --gpu-lock refuse -- touch ran
    [ -e ran ]
}

@test "Ctrl-C and TERM end the waiting, with 130 and 143, and nothing is left of it" {
    two_gpus
    job 'touch ../ran'
    settings 1
    hold
    for signal in INT TERM; do
        start_run
        wait_until said "waiting for it"
        kill -$signal "$PID"
        end_program
        [ $signal = INT ] && is "$CODE" 130
        [ $signal = TERM ] && is "$CODE" 143
    done
    [ ! -e results ]
    [ ! -e ran ]
    rm -f err
    set -m
    # exec leaves a signal ignored that was: the tests may have been started in the background, where INT is.
    env --default-signal=INT "$TARE" exec --gpu-lock wait -- touch ran 2>err </dev/null 3>&- &
    PID=$!
    set +m
    wait_until said "waiting for it"
    kill -INT "$PID"
    end_program
    is "$CODE" 130
    [ ! -e ran ]
    let_go
}

@test "a lost terminal does not end a run that waits" {
    two_gpus
    job 'touch ../ran'
    settings 1
    hold
    start_run
    wait_until said "waiting for it"
    kill -HUP "$PID"
    let_go
    end_program
    is "$CODE" 0
    [ -e ran ]
}

@test "a killed holder holds nothing" {
    two_gpus
    hold
    kill -KILL "$HOLDER"
    wait "$HOLDER" || true
    HOLDER=
    run "$TARE" exec --gpu-lock wait -- echo mine
    [ "$status" -eq 0 ]
    [[ "$output" == *mine* ]]
}

@test "a job that calls the program itself is not in its own way" {
    two_gpus
    export TARE
    job '"$TARE" exec --gpu-lock refuse -- sh -c "echo inner >../inner"'
    settings 1
    tare_run
    is "$(cat inner)" inner
    # Two deep, and the innermost wants a GPU that only the outermost has.
    CUDA_VISIBLE_DEVICES=0,1 "$TARE" exec --gpu-lock refuse -- "$TARE" exec --gpu-lock refuse -- \
        env CUDA_VISIBLE_DEVICES=1 "$TARE" exec --gpu-lock refuse -- touch deep
    [ -e deep ]
    # Who merely says so is not let in when the holder is another.
    hold
    TARE_GPU_HOLDER=1:1:1 run "$TARE" exec --gpu-lock refuse -- true
    [ "$status" -eq 125 ]
    let_go
}

@test "runs on different GPUs do not meet" {
    two_gpus
    CUDA_VISIBLE_DEVICES=0 hold
    CUDA_VISIBLE_DEVICES=1 "$TARE" exec --gpu-lock refuse -- true
    CUDA_VISIBLE_DEVICES=GPU-1 "$TARE" exec --gpu-lock refuse -- true
    CUDA_VISIBLE_DEVICES=-1 "$TARE" exec --gpu-lock refuse -- true
    for devices in 0 1,0 GPU-00000000-aaaa; do
        CUDA_VISIBLE_DEVICES=$devices run "$TARE" exec --gpu-lock refuse -- true
        [ "$status" -eq 125 ]
        [[ "$output" == *"GPU 0 (NVIDIA H200, GPU-00000000-aaaa) is held by"* ]]
    done
    let_go
}

@test "what the registry sets for the jobs counts, over the caller's environment" {
    two_gpus
    job 'echo "$CUDA_VISIBLE_DEVICES" >../seen'
    registry '"env": {"CUDA_VISIBLE_DEVICES": "1"}'
    settings 1
    CUDA_VISIBLE_DEVICES=0 hold
    CUDA_VISIBLE_DEVICES=0 tare_run --gpu-lock refuse
    is "$(cat seen)" 1
    let_go
    CUDA_VISIBLE_DEVICES=1 hold
    CUDA_VISIBLE_DEVICES=0 run tare_run --gpu-lock refuse
    [ "$status" -eq 3 ]
    [[ "$output" == *"GPU 1 ("* ]]
    let_go
}

@test "who has not chosen among several GPUs is told that all are needed" {
    two_gpus
    job 'true'
    registry '"env": {"CUDA_VISIBLE_DEVICES": "0,1"}'
    settings 1
    hold
    run "$TARE" exec --gpu-lock refuse -- true
    [[ "$output" == *"CUDA_VISIBLE_DEVICES is not set, so all GPUs are needed"* ]]
    run tare_run --gpu-lock refuse
    [ "$status" -eq 3 ]
    [[ "$output" != *"is not set"* ]]
    let_go
}

@test "an entry that CUDA ends the list at, or a GPU named twice, is told" {
    two_gpus
    CUDA_VISIBLE_DEVICES=0,7 run "$TARE" exec --gpu-lock wait -- true
    [ "$status" -eq 0 ]
    [[ "$output" == *"warning: CUDA_VISIBLE_DEVICES=0,7: '7' is no GPU of this machine"* ]]
    CUDA_VISIBLE_DEVICES=1,1 run "$TARE" exec --gpu-lock wait -- true
    [[ "$output" == *"warning: CUDA_VISIBLE_DEVICES=1,1 names a GPU twice"* ]]
}

@test "numbers of unlike GPUs are told to be a guess" {
    fake_gpu 0000:01:00.0 0 GPU-00000000-aaaa
    fake_gpu 0000:02:00.0 1 GPU-11111111-bbbb "NVIDIA T4"
    CUDA_VISIBLE_DEVICES=0 run "$TARE" exec --gpu-lock wait -- true
    [[ "$output" == *"CUDA_DEVICE_ORDER=PCI_BUS_ID"* ]]
    CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0 run "$TARE" exec --gpu-lock wait -- echo quiet
    [ "$output" = quiet ]
}

@test "a resumed run needs the GPU again" {
    two_gpus
    job '[ -e ../finish ] || { touch ../up; sleep 1000; }'
    settings 1
    start_run
    wait_until test -e up
    kill -INT "$PID"
    end_program
    is "$CODE" 130
    hold
    run "$TARE" run --resume "$(run_dir)" --gpu-lock refuse
    echo "$output"
    [ "$status" -eq 3 ]
    [[ "$output" == *"is held by process $HOLDER"* ]]
    let_go
    touch finish
    "$TARE" run --resume "$(run_dir)"
    is "$(summary training_success)" True
}

@test "a folder that cannot hold locks: a warning, and an error when the lock was asked for" {
    two_gpus
    job 'touch ../ran'
    settings 1
    touch locks
    run tare_run --gpu-lock refuse
    [ "$status" -eq 3 ]
    [[ "$output" == *"the GPU cannot be locked: "*"/locks is no folder"* ]]
    [ ! -e ran ]
    run tare_run
    [ "$status" -eq 0 ]
    [[ "$output" == *"warning: the GPU is not locked"* ]]
    [ -e ran ]
}

@test "off, and exec without the option, take no lock" {
    two_gpus
    job 'touch ../ran'
    settings 1
    hold
    tare_run --gpu-lock off
    [ -e ran ]
    [ "$("$TARE" exec -- echo free)" = free ]
    run "$TARE" run settings.json --gpu-lock maybe
    [ "$status" -eq 2 ]
    let_go
}

@test "the lock is one for all users" {
    need_root
    command -v setpriv >/dev/null || skip "setpriv is missing"
    two_gpus
    cp "$TARE" "$WORK/program"
    chmod 755 "$WORK" "$WORK/program"
    mkdir -m 777 others
    hold
    run env XDG_STATE_HOME="$WORK/others" setpriv --reuid 65534 --regid 65534 --clear-groups \
        "$WORK/program" exec --gpu-lock refuse -- true
    echo "$output"
    [ "$status" -eq 125 ]
    [[ "$output" == *"is held by process $HOLDER of user root since"* ]]
    let_go
    run env XDG_STATE_HOME="$WORK/others" setpriv --reuid 65534 --regid 65534 --clear-groups \
        "$WORK/program" exec --gpu-lock refuse -- echo theirs
    [ "$output" = theirs ]
    # And the other way round: the user's files are taken by root.
    rm -rf locks
    env XDG_STATE_HOME="$WORK/others" setpriv --reuid 65534 --regid 65534 --clear-groups mkdir -m 1777 others/locks
    export TARE_LOCK_DIR=$WORK/others/locks
    env XDG_STATE_HOME="$WORK/others" setpriv --reuid 65534 --regid 65534 --clear-groups \
        "$WORK/program" exec --gpu-lock refuse -- true
    [ "$("$TARE" exec --gpu-lock refuse -- echo roots)" = roots ]
}
