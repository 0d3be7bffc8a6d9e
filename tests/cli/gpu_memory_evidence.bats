#!/usr/bin/env bats
# What a run says of a job whose GPU memory it was to count or to limit, and could not: stand-ins for both of NVIDIA's
# libraries (tests/fake, tests/fake/cuda). The driver tells of a process what its file in users says.

load energy

GIB=1073741824

# gpu: one GPU of 8 GiB.
gpu() {
    BUILT=$(cd "$(dirname "$TARE")/../.." && pwd)
    PROGRAM=$BUILT/tests/preload/preload_program
    [ -x "$PROGRAM" ] || skip "the test programs are not built"
    export LD_LIBRARY_PATH=$BUILT/tests/fake/cuda FAKE_CUDA_TOTAL=$((8 * GIB))
    unset FAKE_CUDA_GPUS FAKE_CUDA_COUNT FAKE_CUDA_PRIVATE
    scenario 1 "memory_total $((8 * GIB))
memory_reserved 0
users $WORK/users"
    mkdir -p users
}

# on_gpu MIB: shell lines of a job of which the driver tells so much, until the run has read it four times.
on_gpu() {
    cat <<END
echo '0 $(($1 * 1048576)) 30' >$WORK/users/\$\$
rows() { grep -c . "\$TARE_RUN_DIR/\$TARE_EXPERIMENT/energy/gpu.csv" 2>/dev/null || true; }
from=\$(rows) tries=0
until [ "\$(rows)" -ge \$((from + 4)) ] || [ \$tries -ge 300 ]; do sleep 0.1; tries=\$((tries + 1)); done
rm -f $WORK/users/\$\$
END
}

on_machine() { tare_run --containment sweep "$@"; }

# said KIND: what the evidence of that kind says, a line each.
said() {
    events evidence | python3 -c '
import json, sys
for line in sys.stdin:
    event = json.loads(line)
    if event["kind"] == sys.argv[1]:
        print(event["text"])' "$1"
}

# said_as KIND WEIGHT: it stands in the experiment's evidence with that weight.
said_as() {
    python3 - "$(run_dir)" "$@" <<'END'
import glob, json, sys
e = json.load(open(glob.glob(sys.argv[1] + "/*/experiment.json")[0]))
found = [x["weight"] for x in e["tare"]["evidence"] if x["kind"] == sys.argv[2]]
assert found and set(found) == {sys.argv[3]}, e["tare"]["evidence"]
END
}

@test "a program that cannot be followed and holds GPU memory is suspect under a limit, and only noted without one" {
    gpu
    # No program of this one loads the driver's library, and yet the driver tells of it.
    job "$(on_gpu 3000)"
    settings 1 '' '"gpu_memory_limit": "2GiB"'
    on_machine
    [[ "$(said gpu_limit_not_held)" == "the job held 3000 MiB of a GPU and no process of it was followed: "* ]]
    said_as gpu_limit_not_held suspect
    is "$(said gpu_memory_not_followed)" ""
    rm -rf results
    settings 1 '' '"track_gpu_memory": true'
    on_machine
    [[ "$(said gpu_memory_not_followed)" == "the job held 3000 MiB of a GPU and no process of it was followed: "* ]]
    said_as gpu_memory_not_followed recorded
    is "$(said gpu_limit_not_held)" ""
}

@test "more than the limit in the driver's figure is told, of an amount and of a share, with both figures" {
    gpu
    job "$PROGRAM dlsym plain
$(on_gpu 3000)"
    for limit in 2GiB 25%; do
        rm -rf results
        settings 1 '' "\"gpu_memory_limit\": \"$limit\""
        on_machine
        is "$(said gpu_limit_not_held)" "the driver told of 3000 MiB, the limit is 2048 MiB"
    done
}

@test "a job that stays below its limit, and one that has no GPU memory, leave no such evidence" {
    gpu
    job "$PROGRAM dlsym plain
$(on_gpu 2000)"
    settings 1 '' '"gpu_memory_limit": "2GiB"'
    on_machine
    is "$(said gpu_limit_not_held)$(said gpu_memory_not_followed)" ""
    rm -rf results
    job "true"
    on_machine
    is "$(said gpu_limit_not_held)$(said gpu_memory_not_followed)" ""
}

@test "a background that cannot be followed is told, too" {
    gpu
    mkdir -p repo
    # It is on the GPU until the foreground has ended.
    printf '#!/bin/sh\necho "0 %s 30" >%s/users/$$\nexec sleep 1000\n' $((3000 * 1048576)) "$WORK" >repo/back.sh
    printf '#!/bin/sh\n%s\n' "$(on_gpu 1000)" >repo/fore.sh
    chmod +x repo/*.sh
    cat >registry.json <<'END'
{"models": {"repo": {"path": "repo", "train_script": "./fore.sh", "models": ["net"], "supported_hyperparams": {}},
            "load": {"path": "repo", "train_script": "./back.sh", "models": ["net"], "supported_hyperparams": {}}}}
END
    cat >settings.json <<'END'
{"mode": "parallel", "max_retries": 0, "seed": 7, "timeout": 300,
 "experiments": [{"foreground": {"repo": "repo", "model": "net", "mode": "default"},
                  "background": {"repo": "load", "model": "net", "gpu_memory_limit": "2GiB"}}],
 "tare": {"timing": {"between_runs": 0, "between_configurations": 0, "stop_grace": 20}, "preflight": {"baseline": 0},
          "parallel": {"wait": 0.5, "hold": 0.5, "limit": 100, "restart_delay": 0}}}
END
    on_machine
    [[ "$(said gpu_limit_not_held)" == "the background's loop 1: the job held 3000 MiB of a GPU and no process"* ]]
}

# memory_json: what was counted inside the job's last attempt, or null.
memory_json() {
    python3 - "$(run_dir)" <<'END'
import glob, json, sys
tare = json.load(open(glob.glob(sys.argv[1] + "/*/experiment.json")[0]))["tare"]
print(json.dumps(tare["attempts"][0].get("gpu_memory")))
END
}

@test "GPU memory is counted without being asked for, wherever it can be; where it cannot nothing is said" {
    gpu
    job "$PROGRAM dlsym plain
$(on_gpu 2000)"
    settings 1
    on_machine
    counted=$(memory_json)
    [ "$(python3 -c 'import json, sys; print(json.loads(sys.argv[1])["gpus"][0]["live_peak_bytes"] > 0)' "$counted")" = True ]
    # It is what is counted when it is demanded.
    rm -rf results
    settings 1 '' '"track_gpu_memory": true'
    on_machine
    python3 - "$counted" "$(memory_json)" <<'END'
import json, sys
a, b = (json.loads(text)["gpus"][0] for text in sys.argv[1:])
assert all(a[key] == b[key] for key in ("live_peak_bytes", "held_bytes", "refused")), (a, b)
END
    for quiet in '"track_gpu_memory": false' '"x_nothing": 0'; do
        rm -rf results
        settings 1 '' "$quiet"
        [[ "$quiet" == *false ]] || export TARE_CUDA_LIBRARY=$WORK/none
        on_machine
        is "$(memory_json)" null
    done
    unset TARE_CUDA_LIBRARY
    # Nobody asked, so a program that cannot be followed leaves no evidence.
    rm -rf results
    job "$(on_gpu 3000)"
    settings 1
    on_machine
    is "$(memory_json)$(said gpu_memory_not_followed)" null
}

@test "programs of the sanitizers begin in a run that counts" {
    gpu
    printf 'int main(void) { return 0; }\n' >begin.c
    local kind begun=0
    echo 'set -e' >lines
    for kind in address thread undefined; do
        gcc -fsanitize=$kind -o $kind begin.c 2>/dev/null || continue
        echo "$WORK/$kind && echo begun $kind" >>lines
        begun=$((begun + 1))
    done
    [ $begun -gt 0 ] || skip "this compiler has no sanitizers"
    job "$(cat lines)"
    settings 1
    on_machine
    [ "$(grep -c '^begun ' "$(run_dir)"/*/training.log)" -eq $begun ]
}
