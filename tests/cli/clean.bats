#!/usr/bin/env bats
# What dead runs left, and who else has a GPU open: listed, and ended when asked for.
#
# Everything happens in a pid namespace of the test's own: so nothing that is anybody else's is seen, and nothing of it can be ended. A
# "GPU" is a file of a folder that --dev names instead of /dev.

load helpers

# Words for unshare that work here, in the array UNSHARE.
need_namespace() {
    UNSHARE=(unshare --pid --fork --kill-child --mount-proc)
    [ "$(id -u)" -eq 0 ] || UNSHARE=(unshare --user --map-root-user --pid --fork --kill-child --mount-proc)
    "${UNSHARE[@]}" true 2> /dev/null || skip "no pid namespace with its own /proc can be made here"
}

# isolated < SCRIPT: runs it as the first process of a pid namespace. What its commands are is said below.
isolated() {
    need_namespace
    mkdir -p dev
    touch dev/nvidia0 dev/nvidia1 dev/nvidiactl
    cat > script
    declare -f wait_until pause file_has is holder is_named is_stopped children freeze_and_kill dead_exec is_dead lives clean field > prelude
    WORK=$WORK TARE=$TARE NAME=$NAME ON_PTY=$BATS_TEST_DIRNAME/on_pty.py "${UNSHARE[@]}" bash -c 'set -eE; trap "echo \"line \$LINENO of the script failed\"" ERR
        . ./prelude; . ./script' > result 2>&1 3>&- < /dev/null || { cat result; return 1; }
}

is() { [ "$1" = "$2" ] || { printf 'got:      %s\nexpected: %s\n' "$1" "$2"; return 1; }; }
is_named() { [ "$(cat "/proc/$1/comm" 2> /dev/null)" = "$2" ]; }
is_dead() { ! lives "$1"; }
lives() { [ -d "/proc/$1" ] && ! grep -q '^State:.Z' "/proc/$1/status"; }

# clean WORDS...: the command; its exit code in $CODE, its output in the files out and err.
clean() {
    CODE=0
    "$TARE" clean --dev "$WORK/dev" "$@" > out 2> err || CODE=$?
}

# field PID KEY: of that process in the JSON of the file out.
field() {
    python3 - "$1" "$2" <<'END'
import json, sys
listed = json.load(open("out"))
for kind in "leftovers", "gpu_processes":
    for process in listed[kind]:
        if process["pid"] == int(sys.argv[1]):
            print(kind, json.dumps(process[sys.argv[2]]))
END
}

# holder NAME DEVICE...: a process that has these device files open and calls itself NAME: $HOLDER.
holder() {
    local name=$1 device
    shift
    (
        for device; do exec {descriptor}< "$WORK/dev/$device"; done
        exec -a "$name" sleep 1000
    ) &
    HOLDER=$!
    wait_until is_named $HOLDER sleep
}

# The processes whose parent is $1 (their names have no blanks).
children() { awk -v parent="$1" '$4 == parent { print $1 }' /proc/[0-9]*/stat 2> /dev/null || true; }

is_stopped() { grep -q '^State:.T' "/proc/$1/status"; }

# The runner $1, its guardian and its init die, and none of them can do anything about the others' end: all stand still first.
freeze_and_kill() {
    local helpers pid
    helpers=$(children "$1")
    [ "$(wc -w <<< "$helpers")" -eq 2 ] || { echo "runner $1 has the children $helpers"; return 1; }
    for pid in "$1" $helpers; do
        kill -STOP "$pid"
        wait_until is_stopped "$pid"
    done
    kill -KILL $helpers "$1"
    wait "$1" 2> /dev/null || true
    for pid in $helpers; do wait_until is_dead "$pid"; done
}

# A process $LEFT ("sleep") that an exec left when it was killed.
dead_exec() {
    rm -f up
    "$TARE" exec --containment sweep -- sh -c 'echo $$ > up.new; mv up.new up; exec sleep 1000' &
    local runner=$!
    wait_until test -e up
    LEFT=$(cat up)
    wait_until is_named "$LEFT" sleep
    freeze_and_kill $runner
    lives "$LEFT"
}

@test "where nothing is left, that is said, and the exit code is 0" {
    isolated <<'END'
clean
is $CODE 0
is "$(cat out)" "Nothing of $NAME is left behind.
No other process that can be seen has a GPU open."
clean --kill
is $CODE 0
clean --json
is $CODE 0
END
}

@test "what a killed exec left is listed with the exec, lives on, and is ended by --kill" {
    need_python
    isolated <<'END'
dead_exec
clean
cat out err
is $CODE 1
grep -qE "^Left behind by a '$NAME exec' of [0-9].* ago:$" out
grep -qE "^ *$LEFT  .* orphan +- +-  sleep 1000$" out
grep -qE "^$NAME clean --kill +ends what is left behind$" out
clean --json
is $CODE 1
is "$(field $LEFT left_by)" 'leftovers "exec"'
is "$(field $LEFT orphan)" 'leftovers true'
is "$(field $LEFT parent)" 'leftovers 1'
is "$(field $LEFT uid)" 'leftovers 0'
is "$(field $LEFT run_dir)" 'leftovers null'
is "$(field $LEFT memory_bytes)" 'leftovers null'
is "$(field $LEFT start_time)" "leftovers $(awk '{ print $22 }' /proc/$LEFT/stat)"
lives $LEFT
clean --kill
cat out err
is $CODE 0
grep -qE "^$NAME: ended 1 process that a '$NAME exec' of .* ago left: sleep \(pid $LEFT\)$" err
is "$(head -n 1 out)" "Nothing of $NAME is left behind."
if lives $LEFT; then false; fi
END
}

@test "what a killed run left is listed with the run, and the next command that runs jobs ends it and says so once" {
    need_python
    make_trainer <<'END'
#!/bin/sh
echo $$ > "$WORK/up.new"
mv "$WORK/up.new" "$WORK/up"
exec sleep 1000
END
    make_registry
    make_settings '{"repo": "toy", "model": "small", "mode": "default"}'
    isolated <<'END'
export WORK
"$TARE" run settings.json --containment sweep > /dev/null 2>&1 &
runner=$!
wait_until test -e up
left=$(cat up)
wait_until is_named $left sleep
freeze_and_kill $runner
clean --json
is $CODE 1
is "$(field $left left_by)" 'leftovers "run"'
is "$(field $left run_dir)" "leftovers \"$(cd results/run_* && pwd -P)\""
clean
grep -qE "^Left behind by a run of .* ago, $(cd results/run_* && pwd -P):$" out
"$TARE" exec true 2> first
cat first
grep -qE "^$NAME: ended 1 process that a run of .* ago left \(.*/results/run_.*\): sleep \(pid $left\)$" first
if lives $left; then false; fi
"$TARE" exec true 2> second
is "$(cat second)" ""
clean
is $CODE 0
END
}

@test "a process with the tag of a job that no live run knows is left behind, too" {
    need_python
    isolated <<'END'
tag=$(tr -d - < /proc/sys/kernel/random/uuid)
TARE_JOB=$tag sleep 1000 &
left=$!
wait_until is_named $left sleep
clean --json
is $CODE 1
is "$(field $left left_by)" 'leftovers null'
is "$(field $left tag)" "leftovers \"$tag\""
clean
grep -q "^Left behind by $NAME, by which run is not known:$" out
clean --kill
cat out err
is $CODE 0
grep -q "^$NAME: ended 1 process that a dead run left, which one is not known: sleep (pid $left)$" err
if lives $left; then false; fi
END
}

@test "a live run is never touched: not by --kill, not by --pid" {
    need_python
    isolated <<'END'
"$TARE" exec --containment sweep -- sh -c 'exec 7< dev/nvidia0; echo $$ > up.new; mv up.new up; exec sleep 1000' &
runner=$!
wait_until test -e up
job=$(cat up)
wait_until is_named $job sleep
clean --kill
cat out err
is $CODE 0
is "$(head -n 1 out)" "Nothing of $NAME is left behind."
grep -q "^Of live runs of $NAME, with a GPU open:$" out
clean --json
is "$(field $job live_run)" 'gpu_processes true'
clean --pid $job --yes
is $CODE 2
grep -q "belongs to a live run of $NAME" err
lives $job
kill -TERM $runner
wait $runner || true
if lives $job; then false; fi
END
}

@test "who has a GPU open is listed with age, owner, parent and devices, and is never ended by --kill" {
    need_python
    isolated <<'END'
holder "python3 train.py" nvidia0 nvidia1 nvidiactl
clean
cat out err
is $CODE 0
grep -q "^Other processes that have a GPU open:$" out
grep -qE "^ *$HOLDER  .* [0-9.]+ s  .*  nvidia0,1 +-  python3 train.py 1000$" out
grep -qE "^$NAME clean --pid PID +ends one of the other processes$" out
clean --json
is "$(field $HOLDER devices)" "gpu_processes [\"$(pwd -P)/dev/nvidia0\", \"$(pwd -P)/dev/nvidia1\", \"$(pwd -P)/dev/nvidiactl\"]"
is "$(field $HOLDER command)" 'gpu_processes "python3 train.py 1000"'
is "$(field $HOLDER live_run)" 'gpu_processes false'
is "$(field $HOLDER parent)" 'gpu_processes 1'
python3 - $HOLDER <<'PYTHON'
import json, sys
[age] = [p["age_s"] for p in json.load(open("out"))["gpu_processes"] if p["pid"] == int(sys.argv[1])]
assert 0 <= age < 600, age
PYTHON
clean --kill
is $CODE 0
lives $HOLDER
END
}

@test "--pid ends a process of the list, and only of the list" {
    isolated <<'END'
holder trainer nvidia0
clean --pid $HOLDER
is $CODE 2
grep -q "standard input is no terminal; --yes goes without" err
clean --pid $HOLDER --yes --start-time 1
is $CODE 2
grep -q "is another one: its start time is $(awk '{ print $22 }' /proc/$HOLDER/stat)" err
sleep 1000 &
bystander=$!
clean --pid $bystander --yes
is $CODE 2
grep -q "process $bystander is none that is listed here" err
lives $HOLDER
kill -STOP $HOLDER
clean --pid $HOLDER --yes --start-time "$(awk '{ print $22 }' /proc/$HOLDER/stat)"
cat out err
is $CODE 0
grep -qE "^$NAME: process $HOLDER \(trainer 1000\) of user [^ ]+, .* old, an orphan, with .*/dev/nvidia0 open$" err
grep -q "^$NAME: process $HOLDER is gone$" err
if lives $HOLDER; then false; fi
lives $bystander
END
}

@test "a process that does not heed TERM gets KILL" {
    isolated <<'END'
(exec 7< dev/nvidia0; trap "" TERM; exec sleep 1000) &
holder=$!
wait_until is_named $holder sleep
clean --pid $holder --yes
cat err
is $CODE 0
grep -q "^$NAME: process $holder does not heed TERM: KILL$" err
if lives $holder; then false; fi
END
}

@test "on a terminal --pid asks, and only yes is yes" {
    need_python
    isolated <<'END'
holder trainer nvidia0
cat > answer.py <<'PYTHON'
import os, pty, select, sys, time
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], "clean", "--dev", sys.argv[2], "--pid", sys.argv[3]])
seen, answered, end = b"", False, time.monotonic() + 60
while time.monotonic() < end:
    if select.select([terminal], [], [], 1)[0]:
        try:
            data = os.read(terminal, 65536)
        except OSError:
            break
        if not data:
            break
        seen += data
    if b"Type yes: " in seen and not answered:
        answered = True
        os.write(terminal, sys.argv[4].encode() + b"\n")
sys.stdout.write(seen.decode())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PYTHON
code=0
python3 answer.py "$TARE" "$WORK/dev" $HOLDER y > out || code=$?
cat out
is $code 1
grep -q "nothing was ended" out
lives $HOLDER
code=0
python3 answer.py "$TARE" "$WORK/dev" $HOLDER yes > out || code=$?
cat out
is $code 0
if lives $HOLDER; then false; fi
END
}

@test "the table is cut to the terminal" {
    need_python
    isolated <<'END'
holder "python3 train.py --learning-rate 0.001 --batch-size 64 --epochs 300 --data /data/cityscapes" nvidia0
row() {
    python3 "$ON_PTY" "$1" screen "$TARE" clean --dev "$WORK/dev" || [ $? -lt 128 ]
    tr -d '\r' < screen | grep "python3 train.py"
}
for columns in 80 100; do
    [[ "$(row $columns)" == *... ]]
    is "$(row $columns | tr -d '\n' | wc -m)" $columns
done
[[ "$(row 400)" != *... ]]
END
}

# The driver's library, as the tests have it: what it says stands in the file scenario, and who uses the GPUs in the folder users.
need_driver() {
    LIBRARY=${TARE%/src/cli/*}/tests/fake
    mkdir users
    echo "users $WORK/users" > scenario
    export TARE_FAKE_NVML=$WORK/scenario
    [ -e "$LIBRARY/libnvidia-ml.so.1" ] || skip "there is no $LIBRARY/libnvidia-ml.so.1"
    export LD_LIBRARY_PATH=$LIBRARY
}

@test "the driver tells how much memory each process holds" {
    need_python
    need_driver
    printf 'gpus 2\ngpu 0\nminor 4\nuuid GPU-00000\ngpu 1\nminor 5\nuuid GPU-00001\n' >> scenario
    isolated <<'END'
holder one nvidia0 nvidiactl
one=$HOLDER
holder two nvidia1 nvidiactl
two=$HOLDER
printf '0 5905580032 0\n1 1073741824 0\n' > users/$one
echo 1 0 0 hidden > users/$two
echo 1 2097152 0 stranger > users/999999
clean
cat out err
is $CODE 0
is "$(cat err)" ""
grep -qE "^ *$one  .*  nvidia0  +6.5 GiB  one 1000$" out
grep -qE "^ *$two  .*  nvidia1  +-  two 1000$" out
grep -q "^1 more holds 2 MiB of GPU memory, not seen from here (in another container?);$" out
grep -q "^the driver's number is 999999$" out
clean --json
is "$(field $one memory_bytes)" 'gpu_processes 6979321856'
is "$(field $two memory_bytes)" 'gpu_processes null'
is "$(field $two gpus)" 'gpu_processes [{"uuid": "GPU-00001", "device": "/dev/nvidia5", "memory_bytes": null}]'
is "$(python3 -c 'import json; print(json.load(open("out"))["gpu_processes_unseen"])')" \
   "{'count': 1, 'memory_bytes': 2097152, 'driver_pids': '999999'}"
END
}

@test "a driver that hangs, crashes or fails costs the memory column, and says why" {
    need_driver
    isolated <<'END'
holder trainer nvidia0 nvidiactl
for mood in hang crash fail; do
    case $mood in
        hang | crash) echo "fault nvmlInit $mood" > scenario ;;
        fail) echo "init_error 9" > scenario ;;
    esac
    clean
    cat out err
    is $CODE 0
    grep -qE "^ *$HOLDER  .*  nvidia0  +-  trainer 1000$" out
    case $mood in
        hang) why="the driver's library did not answer within 10 s" ;;
        crash) why="the driver's library ended its process" ;;
        fail) why="nvmlInit: Driver Not Loaded (NVML error 9)" ;;
    esac
    is "$(cat err)" "$NAME: who holds how much GPU memory is not known: $why"
done
END
}

@test "a dead run of another pid namespace is left alone, and so are its processes" {
    isolated <<'END'
dead_exec
ls state/*/runs > before
export -f clean
unshare --pid --fork --kill-child --mount-proc bash -ec 'clean --kill; echo $CODE > code; "$TARE" exec true 2> err2'
cat out err
is "$(cat code)" 0
grep -q "^$NAME: left alone in the state folder: .*: the run was in another pid namespace (a container)" err
is "$(cat err2)" ""
is "$(ls state/*/runs)" "$(cat before)"
lives $LEFT
clean --kill
is $CODE 0
if lives $LEFT; then false; fi
END
}

@test "a state folder that cannot be made is replaced by one in the folder for temporary files" {
    export XDG_STATE_HOME=/proc/no-such-place
    export TMPDIR=$WORK/temporary
    mkdir -m 1777 temporary
    isolated <<'END'
dead_exec
is "$(stat -c '%a %u' temporary/$NAME-0)" "700 0"
is "$(ls temporary/$NAME-0/runs | wc -l)" 1
clean
is $CODE 1
"$TARE" exec true 2> err
grep -qE "^$NAME: ended 1 process that a '$NAME exec' of .* ago left: sleep \(pid $LEFT\)$" err
if lives $LEFT; then false; fi
is "$(ls temporary/$NAME-0/runs)" ""
END
}

@test "without any state folder the command runs, and how to choose one is said" {
    TARE_STATE_DIR=/proc/no-such-place run --separate-stderr "$TARE" exec sh -c 'exit 4'
    [ "$status" -eq 4 ]
    [[ "$stderr" == *"no state folder, so what killed runs left is not ended"*": /proc: make folder no-such-place: "* ]]
    [[ "$stderr" == *"TARE_STATE_DIR=DIR chooses another folder" ]]
}

@test "options that go with others only are refused without them" {
    for words in "--yes" "--start-time 5" "--all-users"; do
        run "$TARE" clean $words
        [ "$status" -eq 2 ]
        [[ "$output" == *"goes with"* ]]
    done
    run "$TARE" clean --pid 0
    [ "$status" -eq 2 ]
}

@test "help and manual describe the command, without what is for tests" {
    run "$TARE" clean --help
    [ "$status" -eq 0 ]
    [[ "$output" == *"--all-users"* ]]
    [[ "$output" != *"--dev"* ]]
    run "$TARE" --man clean
    [ "$status" -eq 0 ]
    [[ "$output" == *"EXIT STATUS"* ]]
    run "$TARE" --completion bash
    [[ "$output" == *"--all-users"* ]]
}

# An ordinary user with a state folder of theirs is "${THEIRS[@]} COMMAND".
as_sudo() { env SUDO_UID=65534 SUDO_GID=65534 SUDO_USER=nobody HOME=/root XDG_STATE_HOME="$WORK/theirs" TMPDIR="$WORK/theirs" "$@"; }

# The program must be reachable for that user; root's own state folder under sudo is where the user database says: a folder of the
# test's own covers it.
need_sudo() {
    need_root
    setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$TARE" ||
        { cp "$TARE" "$WORK/$NAME" && chmod 755 "$WORK/$NAME" && TARE=$WORK/$NAME; }
    chmod 755 "$WORK"
    mkdir -m 700 theirs
    chown 65534:65534 theirs
    THEIRS=(setpriv --reuid=65534 --regid=65534 --clear-groups env "XDG_STATE_HOME=$WORK/theirs" "TMPDIR=$WORK/theirs")
    declare -f as_sudo dead_user_exec sudo_clean > more
    declare -p THEIRS >> more
}

sudo_clean() {
    CODE=0
    as_sudo "$TARE" clean --dev "$WORK/dev" "$@" > out 2> err || CODE=$?
}

# $LEFT: of an exec of that user.
dead_user_exec() {
    rm -f theirs/up
    "${THEIRS[@]}" "$TARE" exec --containment sweep -- sh -c 'echo $$ > theirs/up.new; mv theirs/up.new theirs/up; exec sleep 1000' &
    local runner=$!
    wait_until test -e theirs/up
    LEFT=$(cat theirs/up)
    wait_until is_named "$LEFT" sleep
    freeze_and_kill $runner
    lives "$LEFT"
}

@test "under sudo the caller's dead runs are known, and ended with the caller's rights" {
    need_python
    need_sudo
    isolated <<'END'
. ./more
mount -t tmpfs none /root 2> /dev/null || true
dead_user_exec
sudo_clean --json
cat err
is $CODE 1
is "$(field $LEFT left_by)" 'leftovers "exec"'
is "$(field $LEFT uid)" 'leftovers 65534'
clean --json # without sudo nobody's folder but root's own tells: there is only the tag
is "$(field $LEFT left_by)" 'leftovers null'
sudo_clean --kill
cat out err
is $CODE 0
grep -qE "^$NAME: ended 1 process that a '$NAME exec' of .* ago left: sleep \(pid $LEFT\)$" err
if lives $LEFT; then false; fi
is "$(ls theirs/$NAME/runs)" ""
END
}

@test "root leaves alone what other users' dead runs left, unless told --all-users" {
    need_sudo
    isolated <<'END'
. ./more
"${THEIRS[@]}" TARE_JOB=$(tr -d - < /proc/sys/kernel/random/uuid) sleep 1000 &
left=$!
wait_until is_named $left sleep
clean --kill
cat out err
is $CODE 1
grep -q "^$NAME: left alone 1 process of other users: --all-users ends what their dead runs left, too$" err
lives $left
clean --kill --all-users
is $CODE 0
if lives $left; then false; fi
END
}

# The file names a process of root's by everything that a record holds.
@test "under sudo nothing of the caller's folder makes root end or show a process that is not the caller's" {
    need_python
    need_sudo
    isolated <<'END'
. ./more
mount -t tmpfs none /root 2> /dev/null || true
sleep 1000 &
victim=$!
wait_until is_named $victim sleep
boot=$(cat /proc/sys/kernel/random/boot_id)
space=$(readlink /proc/self/ns/pid | tr -dc 0-9)
start=$(awk '{ print $22 }' /proc/$victim/stat)
mkdir -p theirs/$NAME/runs rootly
cat > theirs/$NAME/runs/forged.jsonl <<RECORD
{"kind":"run","run_dir":null,"host":"$(uname -n)","boot_id":"$boot","pid":4000000,"start_time":1,"pid_namespace":$space,"version":"1"}
{"job":"born","pid":$victim,"start_time":$start,"boot_id":"$boot","cgroup":null,"tag":"$(tr -d - < /proc/sys/kernel/random/uuid)"}
RECORD
cp theirs/$NAME/runs/forged.jsonl rootly/runs.jsonl
ln -s "$WORK/rootly/runs.jsonl" theirs/$NAME/runs/link.jsonl
chmod 700 theirs/$NAME theirs/$NAME/runs
chown -Rh 65534:65534 theirs
sudo_clean --json
is "$(field $victim pid)" ''
sudo_clean --kill
cat out err
lives $victim
[ -e rootly/runs.jsonl ]
rm -r theirs/$NAME
mkdir rootly/runs
mv rootly/runs.jsonl rootly/runs/
ln -s "$WORK/rootly" theirs/$NAME
sudo_clean --kill
cat out err
is $CODE 0
lives $victim
[ -e rootly/runs/runs.jsonl ]
END
}
