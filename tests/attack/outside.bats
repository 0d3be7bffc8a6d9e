# What a training leaves that is no process: it is named, with its size, and left alone. What somebody else holds, or had before, is not.

load ../cli/runs

teardown() {
    [ -z "${OTHER:-}" ] || kill -KILL "$OTHER" 2>/dev/null || true
    rm -f "/dev/shm/tare-test-$$"*
    while read -r kind id; do ipcrm "$kind" "$id" 2>/dev/null || true; done < <(cat "$WORK"/ipc.* 2>/dev/null)
    cd /
    rm -rf "$WORK"
}

evidence() { of_events "iif(data ->> 'kind' = 'left_outside', data ->> 'text', '')" evidence 1 | sed '/^$/d'; }

weight() { python3 - "$(run_dir)" <<'END_OF_LOOK'
import glob, json, sys
found = json.load(open(glob.glob(sys.argv[1] + "/*_001/experiment.json")[0]))["tare"]["evidence"]
print([one["weight"] for one in found if one["kind"] == "left_outside"])
END_OF_LOOK
}

setup_job() {
    [ -w /dev/shm ] || skip "there is no /dev/shm"
    job "$1
echo loss 0.5"
    settings 1
    tare_run
}

@test "a file that a training leaves in /dev/shm is named with its size, and stays" {
    setup_job "head -c 3145728 /dev/zero >/dev/shm/tare-test-$$-left"
    [[ $(evidence) == *"possibly of this job, and left alone: "*"/dev/shm/tare-test-$$-left (3.0 MiB)"* ]]
    is "$(weight)" "['recorded']"
    [ -e "/dev/shm/tare-test-$$-left" ]
}

@test "what was there before, what the training removed and what a living process has mapped is not named" {
    head -c 4096 /dev/zero >"/dev/shm/tare-test-$$-before"
    python3 - "/dev/shm/tare-test-$$-mapped" 3>&- <<'END_OF_MAP' &
import mmap, os, sys, time
while not os.path.exists("begun"):
    time.sleep(0.01)
with open(sys.argv[1], "w+b") as file:
    file.truncate(4096)
    kept = mmap.mmap(file.fileno(), 4096)
open("mapped", "w")
time.sleep(1000)
END_OF_MAP
    OTHER=$!
    setup_job "touch $WORK/begun; i=0; until [ -e $WORK/mapped ] || [ \$i -gt 600 ]; do sleep 0.05; i=\$((i + 1)); done
echo 1 >>/dev/shm/tare-test-$$-before; echo 1 >/dev/shm/tare-test-$$-gone; rm /dev/shm/tare-test-$$-gone"
    [ -e mapped ]
    [[ $(evidence) != *tare-test-$$-before* && $(evidence) != *tare-test-$$-gone* && $(evidence) != *tare-test-$$-mapped* ]]
}

@test "System V shared memory, semaphores and message queues that a training leaves are named" {
    command -v ipcmk >/dev/null || skip "ipcmk is missing"
    setup_job "ipcmk -M 2097152 | sed 's/.*: /-m /' >$WORK/ipc.m; ipcmk -S 3 | sed 's/.*: /-s /' >$WORK/ipc.s; ipcmk -Q | sed 's/.*: /-q /' >$WORK/ipc.q"
    cat ipc.*
    evidence
    [[ $(evidence) == *"System V shared memory $(cut -d ' ' -f 2 ipc.m) (2.0 MiB)"* ]]
    [[ $(evidence) == *"System V semaphores $(cut -d ' ' -f 2 ipc.s)"* ]]
    [[ $(evidence) == *"System V message queue $(cut -d ' ' -f 2 ipc.q)"* ]]
    ipcs -m -i "$(cut -d ' ' -f 2 ipc.m)" | grep -q 'bytes=2097152'
}

# private KINDS JOB: a training that has these of its own: '"shm": true'.
private() {
    unshare --user --map-root-user --mount --pid --ipc --fork true 2>/dev/null || [ "$(id -u)" -eq 0 ] || skip "no namespaces can be made here"
    job "$2
echo loss 0.5"
    settings 1 "\"private\": {$1}"
    shift 2
    tare_run "$@"
}

@test "with a private /dev/shm nothing is left in the machine's, and it may become as large" {
    head -c 4096 /dev/zero >"/dev/shm/tare-test-$$-before"
    private '"shm": true' "ls -A /dev/shm; echo 1 >/dev/shm/tare-test-$$-left; stat -f -c %b*%S /dev/shm >$WORK/size"
    is "$(cat "$(run_dir)"/*_001/training.log)" "loss 0.5"
    [ ! -e "/dev/shm/tare-test-$$-left" ]
    is "$(cat size)" "$(stat -f -c %b*%S /dev/shm)"
    is "$(evidence)" ""
}

@test "with private IPC System V shared memory, semaphores and message queues end with the training" {
    command -v ipcmk >/dev/null || skip "ipcmk is missing"
    before=$(ipcs | grep -c '^0x' || true)
    private '"ipc": true' "ipcs | grep -c '^0x'; ipcmk -M 4096; ipcmk -S 3; ipcmk -Q; ipcs | grep -c '^0x'"
    is "$(grep -v : "$(run_dir)"/*_001/training.log)" $'0\n3\nloss 0.5'
}

@test "a private /tmp is empty and gone at the end; where the run is below /tmp the training is not started, and it is said why" {
    outer=$(mktemp -d /var/tmp/outside.XXXXXX)
    cp_work() { cp -r repo registry.json settings.json "$outer/"; }
    run private '"tmp": true' 'ls -A /tmp; echo 1 >/tmp/tare-test-left'
    [[ $output == *"mount a /tmp of its own (\"private\": {\"tmp\"}), below which neither the run nor the training may be"* ]]
    cp_work
    (cd "$outer" && tare_run)
    is "$(cat "$outer"/results/run_*/*_001/training.log)" "loss 0.5"
    rm -rf "$outer"
    [ ! -e /tmp/tare-test-left ]
}

@test "what is to be private and cannot be is no training: it fails with the reason" {
    run private '"shm": true, "ipc": true' 'exit 0' --containment sweep
    [ "$status" -ne 0 ]
    [[ $output != *interrupted* ]] # by the settings, not by the machine: a resume would come to the same
    [[ $output == *"what the settings make private (shm, ipc, tmp) needs a pid namespace: not asked for"* ]]
}

@test "a mistake in what is private is named with its place" {
    job 'exit 0'
    settings 1 '"private": {"shm": "yes", "net": true}'
    run tare_run
    [ "$status" -eq 2 ]
    [[ $output == *"settings.json:"*"(at \$.tare.private.shm)"* ]]
    [[ $output == *"unknown key 'net'"*"(at \$.tare.private.net)"* ]]
}
