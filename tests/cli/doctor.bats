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

@test "the exit code is 0 exactly when the promise is kernel-backed and nothing is wrong" {
    local code=0
    "$TARE" doctor --json >page.json || code=$?
    python3 - $code <<'END'
import json, sys
page = json.load(open("page.json"))
good = page["kernel_backed"] and all(c["status"] != "wrong" for c in page["checks"])
assert page["good"] == good, page
assert int(sys.argv[1]) == (0 if good else 1), sys.argv
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
    assert (check["status"] == "yes") == (word in page["layers"]), check
    assert (check["status"] == "yes") == (check["reason"] is None), check
END
}

@test "the page for people says the same" {
    page
    "$TARE" doctor >page.txt || [ $? -eq 1 ]
    cat page.txt
    if python3 -c 'import json, sys; sys.exit(not json.load(open("page.json"))["kernel_backed"])'; then
        head -n 1 page.txt | grep -q "^The promise that nothing outlives an experiment is kernel-backed: "
    else
        head -n 1 page.txt | grep -q "^The promise that nothing outlives an experiment is best effort: "
    fi
    for title in Containment State GPUs Sensors Machine; do grep -qx "$title" page.txt; done
    grep -q "kernel  *$(uname -s) $(uname -r), $(uname -m)" page.txt
}

@test "the state folder is told, and looking does not make it" {
    page
    is "$(check folder status)" yes
    is "$(check folder text)" "$WORK/state/tare (made by the first run)"
    [ ! -e state ]
    "$TARE" exec -- true
    page
    is "$(check folder text)" "$WORK/state/tare"
}

@test "a state folder that others may write is wrong" {
    mkdir -p state
    export TARE_STATE_DIR=$WORK/open
    mkdir "$TARE_STATE_DIR"
    chmod 777 "$TARE_STATE_DIR"
    run "$TARE" doctor --json
    [ "$status" -eq 1 ]
    echo "$output" >page.json
    is "$(check folder status)" wrong
    [[ "$(check folder mend)" == *TARE_STATE_DIR* ]]
}

@test "where the home cannot be written, the folder that runs take instead is told" {
    unset XDG_STATE_HOME
    touch home
    export HOME=$WORK/home/none TMPDIR=$WORK/tmp
    mkdir -m 1777 "$TMPDIR"
    page
    is "$(check folder status)" no
    is "$(check folder text)" "$TMPDIR/$NAME-$(id -u) (made by the first run)"
    [[ "$(check folder reason)" == "$HOME/.local/state/$NAME: "* ]]
    "$TARE" exec -- true
    page
    is "$(check folder text)" "$TMPDIR/$NAME-$(id -u)"
}

@test "something that a dead run left is wrong, and clean is pointed to" {
    env TARE_JOB=00000000000000000000000000000bad sleep 1000 3>&- &
    HOLDER=$!
    wait_until grep -qz TARE_JOB=00000000000000000000000000000bad "/proc/$HOLDER/environ"
    run "$TARE" doctor --json
    kill -KILL "$HOLDER"
    [ "$status" -eq 1 ]
    echo "$output" >page.json
    is "$(check leftovers status)" wrong
    [[ "$(check leftovers mend)" == *" clean --kill"* ]]
}

@test "a machine without GPUs is a fact, not a fault" {
    page
    is "$(check devices status)" fact
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

@test "locks that cannot be had are wrong" {
    two_gpus
    touch locks
    run "$TARE" doctor --json
    [ "$status" -eq 1 ]
    echo "$output" >page.json
    is "$(check locks status)" wrong
    [[ "$(check locks reason)" == *"/locks is no folder"* ]]
    is "$(check gpu data.held)" None
}

@test "what forbids namespaces to users comes with the command that allows them" {
    mkdir -p machine/proc/sys/kernel machine/proc/sys/user
    echo 0 >machine/proc/sys/kernel/unprivileged_userns_clone
    echo 0 >machine/proc/sys/user/max_pid_namespaces
    page
    if [ "$(check "pid namespace" status)" = yes ]; then
        is "$(check "pid namespace" mend)" None
    elif [ "$(id -u)" -eq 0 ]; then
        is "$(check "pid namespace" mend)" "sudo sysctl -w user.max_pid_namespaces=15000"
    else
        is "$(check "pid namespace" mend)" \
            "sudo sysctl -w kernel.unprivileged_userns_clone=1 user.max_pid_namespaces=15000"
    fi
}

@test "help, manual and completion know it" {
    "$TARE" --help | grep -q '^  doctor '
    "$TARE" doctor --help | grep -q '^Usage:'
    "$TARE" --man doctor | grep -q '^\.TH "'
    "$TARE" --completion bash | grep -q doctor
    run "$TARE" doctor --wrong
    [ "$status" -eq 2 ]
}
