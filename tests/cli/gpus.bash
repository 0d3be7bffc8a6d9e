# A machine with NVIDIA GPUs, played by files, with locks of its own. Load it with: load gpus

load ../cli/runs

setup() {
    # The tests may themselves have been started through sudo, in a run, or for one GPU.
    unset SUDO_UID SUDO_GID SUDO_USER SUDO_COMMAND NO_COLOR COLUMNS TARE_TIME_SCALE
    unset CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER TARE_GPU_HOLDER
    export TERM=dumb TARE_CALIBRATE=never # but for the tests that are about it
    WORK=$(mktemp -d "${TMPDIR:-/tmp}/gpu-test.XXXXXX")
    export XDG_STATE_HOME=$WORK/state XDG_CONFIG_HOME=$WORK/config TARE_SYSROOT=$WORK/machine TARE_LOCK_DIR=$WORK/locks
    cd "$WORK" || return 1
    idle_machine
}

teardown() {
    local pid
    for pid in ${PID:-} ${HOLDER:-}; do kill -KILL "$pid" 2>/dev/null || true; done
    cd /
    [ -z "$WORK" ] || rm -rf "$WORK"
}

# job_waited RESOURCE MICROSECONDS: what the played cgroup of the job says of it.
job_waited() {
    local folder=$WORK/machine/sys/fs/cgroup/job
    mkdir -p "$folder"
    printf 'some avg10=0.00 avg60=0.00 avg300=0.00 total=%s\n' "$2" >"$folder/.new"
    mv "$folder/.new" "$folder/$1.pressure"
}

# fake_gpu ADDRESS MINOR UUID [MODEL]: as the driver tells of it.
fake_gpu() {
    local folder=machine/proc/driver/nvidia/gpus/$1
    mkdir -p "$folder"
    printf 'Model: \t\t %s\nIRQ:   \t\t 41\nGPU UUID: \t %s\nVideo BIOS: \t 96.00.a5.00.1a\nBus Type: \t PCIe\nBus Location: \t %s\nDevice Minor: \t %s\nGPU Firmware: \t 580.159.04\nGPU Excluded:\t No\n' \
        "${4:-NVIDIA H200}" "$3" "$1" "$2" >"$folder/information"
    printf 'NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024\n' \
        >machine/proc/driver/nvidia/version
}

two_gpus() {
    fake_gpu 0000:01:00.0 0 GPU-00000000-aaaa
    fake_gpu 0000:02:00.0 1 GPU-11111111-bbbb
}

# Somebody else holds the locks of what CUDA_VISIBLE_DEVICES says, until let_go: $HOLDER.
hold() {
    rm -f held go
    "$TARE" exec --gpu-lock wait -- sh -c 'touch held; until [ -e go ]; do sleep 0.2; done' </dev/null >/dev/null 2>&1 3>&- &
    HOLDER=$!
    wait_until test -e held
}

let_go() {
    touch go
    wait "$HOLDER"
    HOLDER=
}
