# The tag of a job (TARE_JOB) goes wherever its environment is copied to: sbatch, a terminal's server, a daemon that starts programs on
# request. Who only carries it is named and left alone; what a job really left is ended.
#
# Everything happens in a pid namespace of the test's own: nothing that is anybody else's is seen.

load ../cli/helpers

# isolated < SCRIPT: runs it as the first process of a pid namespace.
isolated() {
    command -v python3 > /dev/null || skip "python3 is missing"
    local unshare=(unshare --pid --fork --kill-child --mount-proc)
    [ "$(id -u)" -eq 0 ] || unshare=(unshare --user --map-root-user --pid --fork --kill-child --mount-proc)
    "${unshare[@]}" true 2> /dev/null || skip "no pid namespace with its own /proc can be made here"
    cat > script
    declare -f wait_until pause file_has is_named lives pid_of start_service clean modes > prelude
    # A daemon that starts "sleep" with the environment that it is sent, in a session of its own, as Slurm's does. With the word orphan
    # the process is nobody's child afterwards; other words are added to its environment.
    cat > service.py <<'PY'
import json, os, socket, subprocess, sys, time
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
while True:
    connection = listener.accept()[0]
    words, env = json.loads(connection.makefile().readline())
    env.update(word.split("=", 1) for word in words if "=" in word)
    if "orphan" in words:
        shell = "setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $!"
        pid = int(subprocess.run(["sh", "-c", shell], env=env, stdout=subprocess.PIPE).stdout)
    else:
        pid = subprocess.Popen(["sleep", "1000"], env=env, start_new_session=True).pid
    while open(f"/proc/{pid}/comm").read() != "sleep\n":
        time.sleep(0.01)
    connection.sendall(b"%d\n" % pid)
    connection.close()
PY
    cat > submit.py <<'PY'
import json, os, socket, sys
asked = socket.socket(socket.AF_UNIX)
asked.connect(sys.argv[1])
asked.sendall(json.dumps([sys.argv[2:], dict(os.environ)]).encode() + b"\n")
print(asked.makefile().readline().strip())
PY
    unset SLURM_JOB_ID
    WORK=$WORK TARE=$TARE NAME=$NAME "${unshare[@]}" bash -c 'set -eE; trap "echo \"line \$LINENO of the script failed\"" ERR
        . ./prelude; . ./script' > result 2>&1 3>&- < /dev/null || { cat result; return 1; }
}

is_named() { [ "$(cat "/proc/$1/comm" 2> /dev/null)" = "$2" ]; }
lives() { [ -d "/proc/$1" ] && ! grep -q '^State:.Z' "/proc/$1/status"; }

# The one process of this name: its pid.
pid_of() { grep -lx -- "$1" /proc/[0-9]*/comm 2> /dev/null | cut -d / -f 3; }

start_service() {
    python3 service.py socket &
    SERVICE=$!
    wait_until test -S socket
}

clean() {
    CODE=0
    "$TARE" clean "$@" > out 2> err || CODE=$?
    cat out err
}

modes() {
    local mode
    for mode in auto cgroup sweep; do
        if "$TARE" exec --containment $mode -- true 2> /dev/null; then echo $mode; fi
    done
}

@test "what a daemon started with a job's environment survives the job's end and clean --kill, and is named" {
    isolated <<'END_OF_SCRIPT'
start_service
for mode in $(modes); do
    "$TARE" exec -v --containment $mode -- python3 submit.py socket > pid 2> messages
    cat messages
    foreign=$(cat pid)
    lives $foreign
    grep -qE "^$NAME: sleep \(pid $foreign\) carries the tag of this job but belongs to python3 \(pid $SERVICE\): left alone$" messages
    clean --kill
    [ $CODE -eq 0 ]
    lives $foreign
    grep -qE "^$NAME: sleep \(pid $foreign\) carries the tag of a job but belongs to python3 \(pid $SERVICE\): left alone$" err
    clean --json
    python3 -c 'import json, sys
page = json.load(open("out"))
assert page["leftovers"] == [], page
assert [(row["pid"], row["belongs_to"]) for row in page["tagged_left_alone"]] == [(int(sys.argv[1]), sys.argv[2])], page' \
        $foreign "python3 (pid $SERVICE)"
    kill -KILL $foreign
done
END_OF_SCRIPT
}

@test "who is in another Slurm job is left alone, also when its parent has ended" {
    isolated <<'END_OF_SCRIPT'
start_service
"$TARE" exec --containment sweep -- python3 submit.py socket orphan SLURM_JOB_ID=4711 > pid 2> messages
cat messages
foreign=$(cat pid)
lives $foreign
grep -q "sleep (pid $foreign) carries the tag of this job but belongs to Slurm job 4711: left alone" messages
clean --kill
lives $foreign
grep -q "sleep (pid $foreign) carries the tag of a job but belongs to Slurm job 4711: left alone" err
# The same in our own Slurm job is what a dead run left there.
export SLURM_JOB_ID=4711
clean --kill
if lives $foreign; then false; fi
END_OF_SCRIPT
}

@test "who is in the cgroup of a service, a scope of systemd-run, a container or another Slurm job is left alone" {
    local base
    base=$(awk '$(NF - 2) == "cgroup2" { print $5; exit }' /proc/self/mountinfo)
    export GROUPS_OF_TEST=$base/tag-test-$$
    mkdir "$GROUPS_OF_TEST" 2> /dev/null || skip "no cgroup can be made here"
    isolated <<'END_OF_SCRIPT' || { find "$GROUPS_OF_TEST" -depth -type d -exec rmdir {} +; return 1; }
start_service
for place in train.service run-r1.scope docker-1.scope slurm/job_4711; do
    mkdir -p $GROUPS_OF_TEST/$place
    "$TARE" exec --containment sweep -- sh -c 'pid=$(python3 submit.py socket orphan); echo $pid; echo $pid > '$GROUPS_OF_TEST/$place/cgroup.procs > pid 2> messages
    cat messages
    foreign=$(cat pid)
    lives $foreign
    grep -q "sleep (pid $foreign) carries the tag of this job but belongs to ${place##*/}: left alone" messages
    clean --kill
    lives $foreign
    kill -KILL $foreign
    wait_until rmdir $GROUPS_OF_TEST/$place
done
# One that is in none of them is ended.
"$TARE" exec --containment sweep -- python3 submit.py socket orphan > pid
if lives $(cat pid); then false; fi
END_OF_SCRIPT
    find "$GROUPS_OF_TEST" -depth -type d -exec rmdir {} +
}

@test "the live job of a build with another name and another state folder is left alone" {
    isolated <<'END_OF_SCRIPT'
python3 -c 'import sys
name = sys.argv[2].encode()
program = open(sys.argv[1], "rb").read()
other = program.replace(name + b"-init\0", b"o" * len(name) + b"-init\0")
assert other != program
open("other", "wb").write(other)' "$TARE" "$NAME"
chmod +x other
TARE_STATE_DIR=$WORK/other-state ./other exec --containment sweep -- sh -c 'setsid sleep 1000 & echo $! > pid; wait' &
runner=$!
wait_until test -s pid
job=$(cat pid)
wait_until is_named $job sleep
clean --kill
lives $job
grep -qE "sleep \(pid $job\) carries the tag of a job but belongs to o+-init \(pid [0-9]+\): left alone" err
kill -TERM $runner
wait $runner || true
if lives $job; then false; fi
END_OF_SCRIPT
}

@test "what a job really left is ended: by the guardian when runner and init were killed, by clean when all three were" {
    isolated <<'END_OF_SCRIPT'
for killed in "" guardian; do
    rm -f pid
    "$TARE" exec --containment sweep -- sh -c '(setsid sh -c "exec sleep 1000" & echo $! > pid.new); mv pid.new pid; exec sleep 999' &
    runner=$!
    wait_until test -s pid
    left=$(cat pid)
    wait_until is_named $left sleep
    kill -STOP $runner
    [ -z "$killed" ] || kill -KILL "$(pid_of "$NAME-guardian")"
    kill -KILL "$(pid_of "$NAME-init")"
    kill -KILL $runner
    wait $runner || true
    if [ "$killed" ]; then
        lives $left
        clean --kill
    fi
    wait_until eval "! lives $left"
done
END_OF_SCRIPT
}

@test "a left process that calls itself an init protects neither itself nor its child" {
    isolated <<'END_OF_SCRIPT'
cat > named.py <<'PY'
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
libc.prctl(15, sys.argv[1].encode(), 0, 0, 0) # PR_SET_NAME
child = os.fork()
if child == 0:
    libc.prctl(15, b"protected", 0, 0, 0)
else:
    open("pids.new", "w").write(f"{os.getpid()} {child}\n")
    os.rename("pids.new", "pids")
time.sleep(1000)
PY
# Of a state folder that is not ours: only the tag tells.
TARE_STATE_DIR=$WORK/other-state "$TARE" exec --containment sweep -- python3 named.py "$NAME-init" &
runner=$!
wait_until test -s pids
read -r left child < pids
wait_until is_named $child protected
kill -STOP $runner
kill -KILL "$(pid_of "$NAME-guardian")"
kill -KILL "$(pid_of "$NAME-init" | grep -vx $left)"
kill -KILL $runner
wait $runner || true
wait_until eval '[ "$(pid_of "$NAME-init")" = $left ]' # the other one has died
lives $left
lives $child
clean --kill
[ $CODE -eq 0 ]
if lives $left; then false; fi
if lives $child; then false; fi
END_OF_SCRIPT
}

@test "another user who knows the tag of root's job neither keeps it from its end nor is ended with it" {
    [ "$(id -u)" -eq 0 ] || skip "only root has jobs of another user than the attacker"
    make_trainer <<'END'
#!/bin/sh
sleep 2
echo "accuracy: 1"
END
    make_registry
    make_settings '{"repo": "toy", "model": "small", "mode": "default"}'
    isolated <<'END_OF_SCRIPT'
chmod 755 "$WORK"
# Four that never carry it start one process after the other that does, each nobody's child.
cat > attacker.py <<'PY'
import glob, os, re, time
tags = []
while not tags:
    tags = [tag for path in glob.glob("results/run_*/events.jsonl") for tag in re.findall(r'"tag": *"([^"]+)"', open(path).read())]
    time.sleep(0.05)
[os.fork(), os.fork()]
while True:
    if os.fork() == 0:
        if os.fork() == 0:
            os.execve("/bin/sleep", ["theirs", "0.2"], {"TARE_JOB": tags[0]})
        os._exit(0)
    os.waitpid(-1, 0)
PY
PATH=/usr/bin:/bin setpriv --reuid=3001 --regid=3001 --clear-groups python3 attacker.py &
attacker=$!
CODE=0
"$TARE" run settings.json --containment sweep -o results > out 2>&1 || CODE=$?
cat out
[ $CODE -eq 0 ]
if grep -q unkillable results/run_*/toy_small_001/experiment.json; then false; fi
# It was there all the time, and is: with the tag of this very job.
lives $attacker
tag=$(grep -o '"tag": *"[^"]*"' results/run_*/events.jsonl | head -n 1 | grep -o '[^"]*"$' | tr -d '"')
wait_until grep -qsxz "TARE_JOB=$tag" /proc/[0-9]*/environ
END_OF_SCRIPT
}
