#!/usr/bin/env bats
# tare doctor: what this machine gives. What it gives differs, so each test compares with what the machine shows otherwise.

load gpus

setup_file() { command -v python3 >/dev/null || skip "python3 is missing"; }

# check NAME KEY [PLACE]: of the check with this name in the file page.json; PLACE from 0 when there are several.
check() {
    python3 - "$@" <<'END'
import json, sys
checks = [c for c in json.load(open("page.json"))["checks"] if c["name"] == sys.argv[1]]
value = checks[int(sys.argv[3]) if len(sys.argv) > 3 else 0]
for key in sys.argv[2].split("."):
    value = value[key]
print(value)
END
}

page() { "$TARE" doctor --json >page.json 2>err || [ $? -eq 1 ]; }

@test "the exit code is 0 exactly when the promise is kernel-backed and no check fails" {
    local code=0
    "$TARE" doctor --json >page.json || code=$?
    python3 - $code <<'END'
import json, sys
page = json.load(open("page.json"))
assert all(c["status"] in ("ok", "warn", "unchecked", "fail", "info") for c in page["checks"]), page
fit = page["kernel_backed"] and all(c["status"] != "fail" for c in page["checks"])
assert page["fit"] == fit, page
assert int(sys.argv[1]) == (0 if fit else 1), sys.argv
assert all(c["mend"] or c["reason"] for c in page["checks"] if c["status"] == "fail"), page
END
}

@test "the layers are those that exec reports, each with a reason where it is missing" {
    "$TARE" exec -v -- true 2>exec.err
    page
    cat exec.err page.json
    grep -qF "containment: $(python3 -c 'import json; print(json.load(open("page.json"))["layers"])'): " exec.err
    python3 - <<'END'
import json
page = json.load(open("page.json"))
backed = "kernel-backed" in open("exec.err").read()
assert page["kernel_backed"] == backed
for name, word in (("pid namespace", "pid namespace"), ("cgroup", "cgroup"), ("sweep", "sweep")):
    check = [c for c in page["checks"] if c["name"] == name][0]
    assert (check["status"] == "ok") == (word in page["layers"]), check
    assert (check["status"] == "ok") == (check["reason"] is None), check
END
}

@test "the page for people says the same" {
    page
    "$TARE" doctor >page.txt || [ $? -eq 1 ]
    cat page.txt
    if python3 -c 'import json, sys; sys.exit(not json.load(open("page.json"))["kernel_backed"])'; then
        grep -q "^The promise that nothing outlives an experiment is kernel-backed: " page.txt
    else
        grep -q "^The promise that nothing outlives an experiment is best effort: " page.txt
    fi
    if python3 -c 'import json, sys; sys.exit(not json.load(open("page.json"))["fit"])'; then
        # What tests beside this one leave for a moment, between the two looks, is theirs.
        head -n 1 page.txt | grep -qE "^This machine is (fit to measure|not fit to measure, because of: (leftovers|pressure)[;,.])"
    else
        head -n 1 page.txt | grep -q "^This machine is not fit to measure, because of: "
    fi
    for title in Containment State GPUs Sensors Machine; do grep -qx "$title" page.txt; done
    grep -q "kernel  *$(uname -s) $(uname -r), $(uname -m)" page.txt
}

@test "the state folder is told, and looking does not make it" {
    page
    is "$(check folder status)" ok
    is "$(check folder text)" "$WORK/state/tare (made by the first run)"
    [ ! -e state ]
    "$TARE" exec -- true
    page
    is "$(check folder text)" "$WORK/state/tare"
}

@test "a state folder that others may write fails" {
    mkdir -p state
    export TARE_STATE_DIR=$WORK/open
    mkdir "$TARE_STATE_DIR"
    chmod 777 "$TARE_STATE_DIR"
    run "$TARE" doctor --json
    [ "$status" -eq 1 ]
    echo "$output" >page.json
    is "$(check folder status)" fail
    [[ "$(check folder mend)" == *TARE_STATE_DIR* ]]
}

@test "where the home cannot be written, the folder that runs take instead is told" {
    unset XDG_STATE_HOME
    touch home
    export HOME=$WORK/home/none TMPDIR=$WORK/tmp
    mkdir -m 1777 "$TMPDIR"
    page
    is "$(check folder status)" warn
    is "$(check folder text)" "$TMPDIR/$NAME-$(id -u) (made by the first run)"
    [[ "$(check folder reason)" == "$HOME/.local/state/$NAME: "* ]]
    "$TARE" exec -- true
    page
    is "$(check folder text)" "$TMPDIR/$NAME-$(id -u)"
}

@test "something that a dead run left fails, and clean is pointed to" {
    # An orphan: what still has a living parent is that one's.
    HOLDER=$(sh -c 'TARE_JOB=00000000000000000000000000000bad setsid sleep 1000 >/dev/null 2>&1 3>&- & echo $!')
    wait_until grep -qz TARE_JOB=00000000000000000000000000000bad "/proc/$HOLDER/environ"
    run "$TARE" doctor --json
    kill -KILL "$HOLDER"
    [ "$status" -eq 1 ]
    echo "$output" >page.json
    is "$(check leftovers status)" fail
    [[ "$(check leftovers mend)" == *" clean --kill"* ]]
}

@test "a machine without GPUs is a fact, not a fault" {
    page
    is "$(check devices status)" info
    is "$(check devices text)" "none: the NVIDIA driver is not loaded"
    [ ! -e locks ]
}

@test "GPUs are told with model, UUID and driver, and with who holds them" {
    two_gpus
    CUDA_VISIBLE_DEVICES=1 hold
    page
    cat page.json
    is "$(check driver text)" "NVIDIA 535.183.01"
    is "$(check gpu text)" "GPU 0 (NVIDIA H200, GPU-00000000-aaaa): no run holds it"
    is "$(check gpu data.bus)" 0000:01:00.0
    is "$(check gpu data.held)" False
    is "$(check gpu data.uuid 1)" GPU-11111111-bbbb
    is "$(check gpu data.minor 1)" 1
    is "$(check gpu data.held 1)" True
    is "$(check gpu data.holder.pid 1)" "$HOLDER"
    is "$(check gpu data.holder.user 1)" "$(id -un)"
    [[ "$(check gpu text 1)" == "GPU 1 (NVIDIA H200, GPU-11111111-bbbb): held by process $HOLDER of user "* ]]
    is "$(check locks text)" "for all users, in $WORK/locks"
    let_go
    page
    is "$(check gpu data.held 1)" False
}

@test "looking is in nobody's way" {
    two_gpus
    hold
    let_go
    for _ in 1 2 3 4 5 6; do "$TARE" doctor >/dev/null 2>&1 3>&- & done
    for _ in 1 2 3 4 5 6; do "$TARE" exec --gpu-lock refuse -- true; done
    wait
}

@test "locks that cannot be had fail" {
    two_gpus
    touch locks
    run "$TARE" doctor --json
    [ "$status" -eq 1 ]
    echo "$output" >page.json
    is "$(check locks status)" fail
    [[ "$(check locks reason)" == *"/locks is no folder"* ]]
    is "$(check gpu data.held)" None
}

@test "what forbids namespaces to users comes with the command that allows them" {
    mkdir -p machine/proc/sys/kernel machine/proc/sys/user
    echo 0 >machine/proc/sys/kernel/unprivileged_userns_clone
    echo 0 >machine/proc/sys/user/max_pid_namespaces
    page
    if [ "$(check "pid namespace" status)" = ok ]; then
        is "$(check "pid namespace" mend)" None
    elif [ "$(id -u)" -eq 0 ]; then
        is "$(check "pid namespace" mend)" "sudo sysctl -w user.max_pid_namespaces=15000"
    else
        is "$(check "pid namespace" mend)" \
            "sudo sysctl -w kernel.unprivileged_userns_clone=1 user.max_pid_namespaces=15000"
    fi
}

@test "the machine: governor, turbo and pressure are read where the kernel tells them" {
    mkdir -p machine/sys/devices/system/cpu/cpufreq/policy0 machine/sys/devices/system/cpu/intel_pstate machine/proc/pressure
    echo powersave >machine/sys/devices/system/cpu/cpufreq/policy0/scaling_governor
    echo 0 >machine/sys/devices/system/cpu/intel_pstate/no_turbo
    printf 'some avg10=0.00 avg60=0.40 avg300=0.00 total=7\nfull avg10=9.00 avg60=90.00 avg300=9.00 total=7\n' >machine/proc/pressure/cpu
    cp machine/proc/pressure/cpu machine/proc/pressure/io
    cp machine/proc/pressure/cpu machine/proc/pressure/memory
    page
    is "$(check governor status)" warn
    [[ "$(check governor mend)" == *"echo performance | sudo tee "* ]]
    is "$(check turbo status)" warn
    is "$(check turbo mend)" "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"
    is "$(check pressure status)" ok
    is "$(check pressure data.memory)" 0.4
    echo performance >machine/sys/devices/system/cpu/cpufreq/policy0/scaling_governor
    echo 1 >machine/sys/devices/system/cpu/intel_pstate/no_turbo
    sed -i 's/avg60=0.40/avg60=12.50/' machine/proc/pressure/io
    page
    is "$(check governor status)" ok
    is "$(check turbo status)" ok
    is "$(check pressure status)" warn
    is "$(check pressure text)" \
        "cpu 0 %, io 12 %, memory 0 % of the last minute, or of the last 10 s where that is more, some program waited"
}

# A machine of files on which nothing is wrong but what the test makes wrong.
quiet_machine() {
    mkdir -p machine/proc/pressure
    local resource
    for resource in cpu io memory; do
        echo "some avg10=0.00 avg60=0.00 avg300=0.00 total=0" >machine/proc/pressure/$resource
    done
}

# The first line, which may be broken at 80 columns, in one.
headline() { "$TARE" doctor 2>/dev/null | sed -n '/^The promise/q; p' | tr '\n' ' '; }

@test "the first line never says fit beside a machine that others keep busy" {
    quiet_machine
    page
    is "$(check pressure status)" ok
    # That began a moment ago: the minute's mean does not know of it yet.
    echo "some avg10=98.00 avg60=9.00 avg300=1.00 total=7" >machine/proc/pressure/cpu
    run "$TARE" doctor --json
    [ "$status" -eq 1 ]
    echo "$output" >page.json
    is "$(check pressure status)" fail
    is "$(check pressure reason)" "other programs keep the machine busy, and trainings wait for them"
    is "$(python3 -c 'import json; print(json.load(open("page.json"))["fit"])')" False
    [[ "$(headline)" == "This machine is not fit to measure, because of: "*pressure* ]]
    echo "some avg10=0.00 avg60=24.90 avg300=1.00 total=7" >machine/proc/pressure/cpu
    page
    is "$(check pressure status)" warn
    [[ "$(headline)" == *"warning"*": "*"pressure"* ]]
    echo "some avg10=0.00 avg60=25.00 avg300=1.00 total=7" >machine/proc/pressure/memory
    page
    is "$(check pressure status)" fail
}

@test "what cannot be checked is said as not checked, in the first line too" {
    quiet_machine
    rm -r machine/proc/pressure
    page
    is "$(check pressure status)" unchecked
    [[ "$(check pressure text)" == "not checked: "* ]]
    headline >head
    cat head
    grep -qE "; not checked: ([a-z ]+, )*pressure[,.;]" head
    if grep -qE "fit to measure(\.|, with)" head; then false; fi
    "$TARE" doctor >page.txt || [ $? -eq 1 ]
    grep -qE "^  \?      pressure  *not checked: " page.txt
}

@test "beside real busy loops the machine is not fit, and says why" {
    [ -r /proc/pressure/cpu ] || skip "this kernel does not tell of pressure"
    unset TARE_SYSROOT
    local i pids=()
    for ((i = 0; i < 3 * $(nproc); i++)); do
        (while :; do :; done) 3>&- &
        pids+=($!)
    done
    waits() { awk -F'[ =]' '/^some/ { exit !($3 >= 40) }' /proc/pressure/cpu; }
    wait_until waits
    page
    headline >head
    kill "${pids[@]}"
    cat head
    is "$(check pressure status)" fail
    grep -qE "^This machine is not fit to measure, because of: .*pressure" head
}

@test "every mend that is a command is one: a shell can read it, and its program is no word of a sentence" {
    quiet_machine
    rm -r machine/proc/pressure
    two_gpus
    mkdir -p machine/sys/devices/system/cpu/cpufreq/policy0 machine/sys/devices/system/cpu/intel_pstate
    echo powersave >machine/sys/devices/system/cpu/cpufreq/policy0/scaling_governor
    echo 0 >machine/sys/devices/system/cpu/intel_pstate/no_turbo
    mkdir -m 777 open
    TARE_STATE_DIR=$WORK/open TARE_LOCK_DIR=$WORK/none/locks TARE_NVML=$WORK/no.so page
    python3 - <<'END'
import json, subprocess
commands = [c for c in json.load(open("page.json"))["checks"] if c["mend_is_command"]]
assert len(commands) >= 3, commands
for check in commands:
    command = check["mend"]
    read = subprocess.run(["sh", "-n", "-c", command], capture_output=True, text=True)
    assert read.returncode == 0, (command, read.stderr)
    assert command.split()[0] in ("sudo", "echo", "mount", "export", "unset", "docker", "systemd-run", "nvidia-smi", "tare"), command
END
}

@test "the clock is in time exactly when the kernel says so" {
    page
    local state
    # adjtimex(2): TIME_ERROR is 5.
    state=$(python3 -c 'import ctypes; print(ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.create_string_buffer(512)))')
    [ "$state" -ge 0 ] || skip "the clock cannot be asked here"
    if [ "$state" -eq 5 ]; then is "$(check "clock sync" status)" warn; else is "$(check "clock sync" status)" ok; fi
}

@test "the disk is that of the results' folder, made or not" {
    page
    is "$(check disk data.path)" "$WORK"
    mkdir results
    page
    is "$(check disk data.path)" "$WORK/results"
    "$TARE" doctor --json -o /proc/none >page.json || [ $? -eq 1 ]
    is "$(check disk data.path)" /proc
    is "$(check disk status)" fail
    [ "$(check disk mend)" != None ]
}

@test "help, manual and completion know it" {
    "$TARE" --help | grep -q '^  doctor '
    "$TARE" doctor --help | grep -q '^Usage:'
    "$TARE" --man doctor | grep -q '^\.TH "'
    "$TARE" --completion bash | grep -q doctor
    run "$TARE" doctor --wrong
    [ "$status" -eq 2 ]
}
