# What a training may change of the results of others: nothing. Within its mount namespace its run's folder is read-only, but for the
# folder of its own experiment.

load ../cli/runs

setup_file() {
    unshare --user --map-root-user --mount --pid --fork --mount-proc true 2>/dev/null || [ "$(id -u)" -eq 0 ] ||
        skip "no namespaces can be made here"
}

# attack SCRIPT [OPTION...]: a first training ends well; a second one tries what SCRIPT says, which writes a word to "$OWN/it" when it
# has succeeded. OWN, OTHER: the folders of the two experiments.
attack() {
    job "RUN=\$TARE_RUN_DIR OTHER=\$TARE_RUN_DIR/repo_net_001 OWN=\$TARE_RUN_DIR/\$TARE_EXPERIMENT
if [ \"\$TARE_EXPERIMENT\" = repo_net_002 ]; then
{ $1
} 2>\"\$OWN/said\" || true
fi
echo loss 0.5"
    settings 2
    shift
    tare_run "$@"
    DIR=$(run_dir)
    cat "$DIR/repo_net_002/said"
    is "$(summary training_success)" $'True\nTrue'
}

did_nothing() {
    [ ! -e "$DIR/repo_net_002/it" ] || { cat "$DIR/repo_net_002/it"; return 1; }
}

refused() { grep -qE "$1" "$DIR/repo_net_002/said"; }

# As the user nobody, in folders of its own.
as_nobody() {
    chmod -R a+rwX "$WORK"
    tare_run() {
        setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$WORK" "$TARE" run settings.json -c registry.json -o results "$@"
    }
    [ "$(id -u)" -eq 0 ] || skip "only root can become another user"
    setpriv --reuid=65534 --regid=65534 --clear-groups "$TARE" --version >/dev/null 2>&1 || skip "another user cannot reach the program"
    setpriv --reuid=65534 --regid=65534 --clear-groups unshare --user --map-root-user true 2>/dev/null ||
        skip "users can make no namespaces here"
}

layer() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["tare"]["containment"]["layers"][sys.argv[2]])' "$DIR/repo_net_002/experiment.json" "$1"; }

REWRITE='python3 -c "
import os, sqlite3
db = sqlite3.connect(os.environ[\"TARE_RUN_DIR\"] + \"/run.db\")
db.execute(\"update experiment_metrics set value = 0.001\")
db.commit()" && echo rewrote >>$OWN/it'

FILES='echo 1 >>$RUN/summary.csv && echo summary >>$OWN/it
echo 1 >>$RUN/events.jsonl && echo events >>$OWN/it
echo 1 >$OTHER/experiment.json && echo another experiment >>$OWN/it
rm $OTHER/training.log && echo removed >>$OWN/it
mv $RUN $RUN.old && echo moved >>$OWN/it
mkdir $RUN/repo_net_003 && echo made >>$OWN/it'

MOUNTS='mount -o remount,rw,bind $RUN && echo remounted >>$OWN/it
umount $OWN && echo unmounted own >>$OWN/it
umount -l $RUN && echo unmounted >>$OWN/it
unshare --user --map-root-user --mount sh -c "mount -o remount,rw,bind \$RUN || umount \$OWN || umount -l \$RUN || mount --bind \$RUN/.. \$RUN && echo 1 >>\$RUN/summary.csv" && echo by a namespace below >>$OWN/it
nsenter --mount=/proc/1/ns/mnt sh -c "echo 1 >>$RUN/summary.csv" && echo by the init >>$OWN/it'

# By ways through other processes: their root, their working folder, what they have open.
AROUND='for pid in /proc/[0-9]*; do
    if (echo 1 >>$pid/root$RUN/summary.csv); then echo by $pid/root >>$OWN/it; fi
    if (cd $pid/cwd && [ -e summary.csv ] && echo 1 >>summary.csv); then echo by $pid/cwd >>$OWN/it; fi
    for fd in $pid/fd/*; do
        case $(readlink $fd) in $RUN|$RUN/*.db*|$RUN/*.jsonl|$RUN/*.csv) if (echo 1 >>$fd/summary.csv || echo 1 >>$fd); then echo by $fd >>$OWN/it; fi ;; esac
    done
done'

# open_by_handle_at(2) asks no mount: it needs CAP_DAC_READ_SEARCH.
HANDLE='python3 - <<"PY" && echo by handle >>$OWN/it
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
class Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint), ("type", ctypes.c_int), ("data", ctypes.c_ubyte * 128)]
handle, mount = Handle(bytes=128), ctypes.c_int()
run = os.environ["TARE_RUN_DIR"]
if libc.name_to_handle_at(-100, (run + "/summary.csv").encode(), ctypes.byref(handle), ctypes.byref(mount), 0):
    raise OSError(ctypes.get_errno(), "name_to_handle_at")
above = os.open(os.path.dirname(run), os.O_RDONLY)
fd = libc.open_by_handle_at(above, ctypes.byref(handle), os.O_WRONLY | os.O_APPEND)
if fd < 0:
    raise OSError(ctypes.get_errno(), "open_by_handle_at")
os.write(fd, b"1\n")
PY'

@test "a training cannot change the records of its run, its table, or another experiment" {
    attack "$REWRITE
$FILES"
    did_nothing
    refused 'readonly database|unable to open database'
    refused 'Read-only file system'
    is "$(layer run_folder_read_only)" True
    [ "$(grep -c '0\.5' "$DIR/summary.csv")" -eq 2 ]
}

@test "the same of an ordinary user" {
    as_nobody
    attack "$REWRITE
$FILES"
    did_nothing
    refused 'Read-only file system'
    is "$(layer userns)" True
    is "$(layer run_folder_read_only)" True
}

@test "neither does mounting again, unmounting, or a namespace below lead to them" {
    attack "export RUN OWN
$MOUNTS
$AROUND
$HANDLE"
    did_nothing
}

@test "the same of an ordinary user's mounts" {
    as_nobody
    attack "export RUN OWN
$MOUNTS
$AROUND
$HANDLE"
    did_nothing
}

@test "root's training makes no device file of the disk" {
    need_root
    attack 'mknod $OWN/disk b $(stat -c "%Hd %Ld" $RUN) && echo made >>$OWN/it'
    did_nothing
    refused 'Operation not permitted'
}

@test "what a training writes as it should goes on: its own folder, the script's, marks, temporary files" {
    attack 'echo result >$OWN/checkpoint.pt && mkdir $OWN/more && echo 1 >$OWN/more/part
echo weights >weights.pt
echo "start epoch 1" >$TARE_MARKS
echo scratch >${TMPDIR:-/tmp}/scratch.$$ && rm ${TMPDIR:-/tmp}/scratch.$$
mkdir -p ../artifacts && echo 1 >../artifacts/file'
    did_nothing
    is "$(cat "$DIR/repo_net_002/said")" ""
    is "$(cat "$DIR/repo_net_002/checkpoint.pt") $(cat repo/weights.pt) $(cat artifacts/file)" "result weights 1"
    is "$(events mark 2 | wc -l)" 1
}

@test "a run's folder that a training has given another name is protected from the next one all the same" {
    job 'RESULTS=$(dirname "$TARE_RUN_DIR") NAME=$(basename "$TARE_RUN_DIR")
if [ "$TARE_EXPERIMENT" = repo_net_001 ]; then
    mv "$RESULTS" "$RESULTS.moved" && mkdir -p "$RESULTS/$NAME"
else
    echo 1 >>"$RESULTS.moved/$NAME/summary.csv" && echo wrote it
fi
echo loss 0.5'
    settings 2
    tare_run || true
    mv results.moved/* . && log=$(echo run_*/repo_net_002/training.log)
    cat "$log"
    grep -q 'Read-only file system' "$log"
}

@test "the background of a parallel experiment changes nothing of others either, and writes to its own folder" {
    job 'OWN=$TARE_RUN_DIR/$TARE_EXPERIMENT
case " $* " in
*" 7 "*) echo 1 >>"$TARE_RUN_DIR/events.jsonl" && echo background wrote >>$OWN/it
     echo 1 >"$OWN/background"; exec sleep 1000 ;;
esac
i=0; until [ -e "$OWN/background" ] || [ $i -gt 600 ]; do sleep 0.05; i=$((i + 1)); done
echo 1 >>"$TARE_RUN_DIR/events.jsonl" && echo foreground wrote >>$OWN/it
echo loss 0.5'
    registry
    cat >settings.json <<'END_OF_SETTINGS'
{"max_retries": 0, "experiments": [{"mode": "parallel",
 "foreground": {"repo": "repo", "model": "net", "hyperparameters": {"n": 1}},
 "background": {"repo": "repo", "model": "net", "hyperparameters": {"n": 7}}}],
 "tare": {"timing": {"between_runs": 0, "between_configurations": 0, "stop_grace": 1}, "parallel": {"wait": 0, "hold": 0, "limit": 1}}}
END_OF_SETTINGS
    tare_run
    is "$(summary training_success)" True
    own=$(dirname "$(run_dir)"/*/experiment.json)
    [ -e "$own/background" ]
    [ ! -e "$own/it" ]
}

@test "a task of a submitted run changes nothing of another task" {
    job 'RUN=$(cd "$TARE_RUN_DIR/../../.." && pwd)
{ echo 1 >"$RUN/tasks/0002/planted"; echo 1 >"$RUN/plan.json"; } 2>&1 && echo wrote it
echo loss 0.5'
    settings 2
    mkdir bin
    printf '#!/bin/sh\necho "4711;cluster"\n' >bin/sbatch
    printf '#!/bin/sh\necho "MaxArraySize            = 1001"\n' >bin/scontrol
    chmod +x bin/*
    PATH=$WORK/bin:$PATH "$TARE" submit settings.json -c registry.json -o results
    DIR=$(run_dir)
    "$TARE" run --task 1 "$DIR"
    log=$(echo "$DIR"/tasks/0001/1/*/training.log)
    cat "$log"
    grep -q 'Read-only file system' "$log"
    if grep -q 'wrote it' "$log"; then false; fi
    [ ! -e "$DIR/tasks/0002/planted" ]
}

@test "without a namespace it is said that the run's folder can be written" {
    tare_run() { "$TARE" run settings.json -c registry.json -o results "$@" || [ $? -eq 3 ]; } # what was changed is made anew: records.bats
    attack "$REWRITE" --containment sweep
    is "$(layer run_folder_read_only)" False
}
