#!/usr/bin/env bats
# tare doctor on GPUs that the fake driver plays: idle, used, leaking, braked, hanging.

load energy

# now NAME KEY [PLACE]: of the check with this name in the section "GPUs now" of page.json.
now() {
    python3 - "$@" <<'END'
import json, sys
checks = [c for c in json.load(open("page.json"))["checks"] if c["section"] == "GPUs now" and c["name"] == sys.argv[1]]
value = checks[int(sys.argv[3]) if len(sys.argv) > 3 else 0]
for key in sys.argv[2].split("."):
    value = value[int(key)] if key.isdigit() else value[key]
print(value)
END
}

page() { "$TARE" doctor --json >page.json || [ $? -eq 1 ]; }

@test "GPUs that are idle and empty do not stand in the way" {
    scenario 2 'gpu 1
persistence 0'
    page
    is "$(now "gpu idle" status) $(now "gpu idle" status 1)" "ok ok"
    is "$(now "gpu empty" status) $(now "gpu empty" status 1)" "ok ok"
    is "$(now "gpu throttling" status) $(now "gpu throttling" status 1)" "ok ok"
    is "$(now persistence status) $(now persistence status 1)" "ok warn"
    is "$(now persistence mend 1)" "sudo nvidia-smi -pm 1   # or start nvidia-persistenced"
    is "$(now "gpu idle" data.power_w)" 77.0
    is "$(now "gpu idle" data.gpu 1)" "GPU 1"
}

@test "a process on a GPU is named with its user and memory, and the machine is not fit" {
    mkdir users
    scenario 2 "users $WORK/users"
    sleep 1000 3>&- &
    HOLDER=$!
    echo "1 5767168000 70" >"users/$HOLDER"
    local code=0
    "$TARE" doctor --json >page.json || code=$?
    "$TARE" doctor >page.txt || true
    kill -KILL "$HOLDER"
    [ "$code" -eq 1 ]
    is "$(now "gpu empty" status) $(now "gpu empty" status 1)" "ok fail"
    [[ "$(now "gpu empty" text 1)" == "GPU 1: used by pid $HOLDER of user $(id -un), 'sleep 1000', "*", 5500 MiB" ]]
    is "$(now "gpu empty" data.processes.0.pid 1)" "$HOLDER"
    is "$(now "gpu idle" status 1)" fail
    head -n 2 page.txt | tr '\n' ' ' | grep -q "^This machine is not fit to measure, because of: .*gpu idle, gpu empty"
}

@test "memory that nobody has, and errors of it, are told" {
    scenario 1 "leak 1073741824
ecc 3"
    page
    is "$(now "gpu empty" status)" fail
    is "$(now "gpu empty" text)" "GPU 0: 1024 MiB are in use, and no process is seen that has them"
    is "$(now "gpu memory" data.errors)" 3.0
}

@test "a driver that does not tell its processes leaves a doubt, one that fails none" {
    scenario 1 'fault nvmlDeviceGetComputeRunningProcesses error code=4
fault nvmlDeviceGetGraphicsRunningProcesses error code=4'
    page
    is "$(now "gpu empty" status)" unchecked
    [ "$(now "gpu empty" reason)" != None ]
    # The list of displays alone says nothing of those that compute.
    scenario 1 'fault nvmlDeviceGetComputeRunningProcesses error code=4'
    page
    is "$(now "gpu empty" status)" unchecked
    [[ "$(now "gpu empty" reason)" == *nvmlDeviceGetComputeRunningProcesses* ]]
    scenario 1 'init_error 9'
    page
    is "$(now "gpu answers" status)" fail
}
