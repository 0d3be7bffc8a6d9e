# What the user who called sudo gets out of a command that root runs for them: nothing that they might not have had without it.
#
# Two users that nobody has, 3001 (the caller, and attacker) and 3002, in a pid namespace of the test's own. A stand-in for sudo sets
# what sudo sets.

load ../cli/helpers

CALLER=3001 OTHER=3002

as_sudo() { env SUDO_UID=$CALLER SUDO_GID=$CALLER SUDO_USER=caller HOME=/root "$@"; }
# With a PATH on which a tester's own programs are not.
become() { local uid=$1; shift; PATH=/usr/local/bin:/usr/bin:/bin setpriv --reuid="$uid" --regid="$uid" --clear-groups "$@"; }

# The program, and the test's folder, which is the caller's, must be reachable for both users.
reachable() {
    need_root
    need_python
    command -v setpriv > /dev/null || skip "setpriv is missing"
    cp "$TARE" "$WORK/$NAME"
    chmod 755 "$WORK/$NAME" "$WORK"
    TARE=$WORK/$NAME
    chown $CALLER:$CALLER "$WORK"
    become $CALLER python3 -c pass 2> /dev/null || skip "other users have no python3"
    become $CALLER test -x "$TARE" || skip "other users cannot reach $WORK"
}

# isolated < SCRIPT: runs it as the first process of a pid namespace, as root.
isolated() {
    local unshare=(unshare --pid --fork --kill-child --mount-proc)
    reachable
    "${unshare[@]}" true 2> /dev/null || skip "no pid namespace with its own /proc can be made here"
    cat > script
    declare -f wait_until pause file_has as_sudo become > prelude
    WORK=$WORK TARE=$TARE NAME=$NAME CALLER=$CALLER OTHER=$OTHER "${unshare[@]}" bash -c 'set -eE
        trap "echo \"line \$LINENO of the script failed\"" ERR; . ./prelude; . ./script' > result 2>&1 3>&- < /dev/null ||
        { cat result; return 1; }
}

# Looks at all processes of its user but itself, as fast as it can: says once of each program what it could get.
attacker() {
    cat > attacker.py <<'PY'
import ctypes, os, re
libc, me, told, known = ctypes.CDLL(None), os.getuid(), set(), set()
PTRACE_SEIZE = 0x4206

def tell(*words):
    if words not in told:
        told.add(words)
        print(*words, flush=True)

def memory(pid, name):
    mem = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
    tell("opened the memory of", name)
    try:
        for line in open(f"/proc/{pid}/maps"):
            first, last, rights = re.match("([0-9a-f]+)-([0-9a-f]+) (..)", line).groups()
            size = min(int(last, 16) - int(first, 16), 32 << 20)
            if rights == "rw":
                for word in re.findall(rb"TOKEN=(\w+-[0-9a-f]{16})", os.pread(mem, size, int(first, 16))):
                    tell("read", word.decode(), "in", name)
    finally:
        os.close(mem)

def descriptors(pid, name):
    if ("saw descriptors of", name) in told:
        return
    for fd in os.listdir(f"/proc/{pid}/fd"):
        tell("saw descriptors of", name)
        if os.readlink(f"/proc/{pid}/fd/{fd}").startswith("/root-only"):
            tell("saw root's folder in", name)

def trace(pid, name):
    if ("traced", name) in told:
        return
    tracer = os.fork() # when it ends, so does the tracing
    if tracer == 0:
        os._exit(libc.ptrace(PTRACE_SEIZE, pid, None, None) & 1)
    if os.waitpid(tracer, 0)[1] == 0:
        tell("traced", name)

while True:
    for entry in os.listdir("/proc"):
        try:
            if not entry.isdigit() or int(entry) == os.getpid() or entry in known:
                continue
            status = open(f"/proc/{entry}/status").read()
            name = status.split(None, 2)[1]
            if name in ("sleep", "bash"):
                known.add(entry) # nothing new will be in it
            if int(re.search(r"\nUid:\t(\d+)", status)[1]) != me:
                continue
            tell("met", name)
        except OSError:
            continue
        for attempt in memory, descriptors, trace:
            try:
                attempt(int(entry), name)
            except OSError:
                pass
PY
}

@test "while root looks for sudo's caller, the caller's other processes get no secret, no memory and no descriptor of it" {
    attacker
    isolated <<'END_OF_SCRIPT'
for i in 1 2 3; do
    become $OTHER env TOKEN=secret-0123456789abcdef sleep 1000 &
done
become $CALLER env TOKEN=own-fedcba9876543210 sleep 1000 &
become $CALLER python3 attacker.py > got &
wait_until grep -q "read own-fedcba9876543210 in sleep" got
export XDG_STATE_HOME=$WORK/state
for i in {1..30}; do
    as_sudo timeout 60 "$TARE" clean > /dev/null
    as_sudo timeout 60 "$TARE" clean --kill > /dev/null
done
cat got
grep -qx "met $NAME" got
if grep secret-0123456789abcdef got; then false; fi
if grep -E "(of|in|traced) $NAME\$" got; then false; fi
END_OF_SCRIPT
}

@test "a caller who kills the part of clean that acts for them does not stop root, which says so" {
    isolated <<'END_OF_SCRIPT'
cat > killer.py <<'PY'
import os, re, signal
while True:
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and int(entry) != os.getpid() and f"\nUid:\t{os.getuid()}\t" in open(f"/proc/{entry}/status").read():
                os.kill(int(entry), signal.SIGKILL)
        except OSError:
            pass
PY
become $CALLER python3 killer.py &
for i in {1..20}; do
    as_sudo timeout 50 "$TARE" clean > out 2> err
    grep -qx "Nothing of $NAME is left behind." out
    cat err
    if grep -qx "$NAME: warning: what the caller's dead runs left is found by its tag only: the process that looks as user $CALLER was ended, or does not answer" err; then
        exit 0
    fi
done
echo "it was never killed in time"
exit 1
END_OF_SCRIPT
}

# protect: what only root may read (roots/secret.json, the folder roots/closed, the FIFO roots/marks) and write (roots/precious).
protect() {
    mkdir -p roots/closed
    echo '{"very": "private"}' > roots/secret.json
    echo 'print("options:\n  --private X  y")' > roots/secret.py
    echo "id,very,private" > roots/closed/summary.csv
    echo precious > roots/precious
    mkfifo roots/marks
    chmod 600 roots/secret.json roots/secret.py roots/marks
    chmod 700 roots/closed
}

# refused COMMAND WORDS...: the command, under sudo, cannot do what the caller may not, and says so.
refused() {
    run as_sudo timeout 50 "$TARE" "$@"
    echo "$* gave $status: $output"
    [ "$status" -ne 0 ]
    [[ "$output" == *"ermission denied"* ]]
    [[ "$output" != *private* ]]
}

# works_as_caller COMMAND WORDS...: while it works, the process is the caller's.
works_as_caller() {
    env SUDO_UID=$CALLER SUDO_GID=$CALLER SUDO_USER=caller "$TARE" "$@" > out 2>&1 3>&- &
    local pid=$!
    wait_until grep -qsP "^Uid:\t$CALLER\t$CALLER\t$CALLER\t" "/proc/$pid/status"
    kill "$pid"
    wait "$pid" || true
}

@test "every command reads only what sudo's caller may read" {
    local command
    reachable
    protect
    for command in $(commands); do
        case $command in
        run)
            refused run roots/secret.json
            refused run roots/secret.py
            refused run --rerun failed roots/closed
            ;;
        init)
            refused init roots/secret.py
            refused init roots/closed/train.py
            ;;
        list | submit | oom | memory) refused "$command" roots/secret.json ;;
        watch) refused watch --once roots/closed ;;
        serve) refused serve --port 0 roots/closed ;;
        feasibility)
            refused feasibility roots/secret.json
            refused feasibility --plan roots/secret.json --gpu-memory 8GiB
            ;;
        audit | stats | export | report | collect) refused "$command" roots/closed ;;
        compare) refused compare roots/closed roots/closed ;;
        exec) refused exec -- cat roots/secret.json ;;
        bench) refused bench "cat roots/secret.json" -o roots/results ;;
        mark) TARE_MARKS=$WORK/roots/marks refused mark epoch ;;
        # It opens no file of the caller's; a machine without sensors ends it at once.
        measure) ! "$TARE" measure --for 0.1 2> /dev/null || works_as_caller measure --for 40 ;;
        # It takes no path; what it shows is the caller's.
        calibrate)
            as_sudo "$TARE" calibrate --show > out 2>&1 || true
            grep -q 'nothing is calibrated yet' out
            ;;
        # It stays root, which sees what everybody has open; its part that is the caller is tested above.
        clean) ;;
        doctor)
            refused doctor --test-event roots/secret.json
            as_sudo "$TARE" doctor --output roots/closed > out 2>&1 || true
            grep -q 'Permission denied' out
            ;;
        *)
            echo "no test knows the command $command"
            return 1
            ;;
        esac
    done
    [ "$(ls roots)" = "$(printf '%s\n' closed marks precious secret.json secret.py)" ]
}

@test "a script that init or run asks for its help is the caller's, and so are the files" {
    reachable
    who=$(mktemp) # outside of the script's folder, which is read-only for --help
    chmod 666 "$who"
    cat > train.py <<END
import os, sys
open("$who", "a").write(f"{os.getuid()} {os.getgid()} {os.getgroups()} {sys.argv[1]}\\n")
if sys.argv[1] == "--help":
    print("options:\\n  --lr LR  rate (default: 0.5)")
print("loss: 0.5")
END
    as_sudo "$TARE" init train.py
    as_sudo "$TARE" run -q train.py --lr 0.25
    [ "$(cut -d' ' -f1,2 "$who" | sort -u)" = "$CALLER $CALLER" ]
    [ "$(sed 's/.*\] //' "$who")" = $'--help\n--help\n--lr' ]
    [ "$(wc -l < "$who")" -eq 3 ]
    rm "$who"
    [ "$(stat -c %u registry.json settings.json results/run_*/settings.json | sort -u)" = $CALLER ]
}

@test "memory --html writes no file that sudo's caller may not write, also through a link of theirs" {
    reachable
    protect
    cp "$ROOT/tests/data/memory/cap.pickle" snapshot.pickle
    chmod 644 snapshot.pickle
    become $CALLER ln -s "$WORK/roots/precious" link.html
    for page in roots/precious link.html roots/new.html; do
        as_sudo "$TARE" memory snapshot.pickle --html $page > out 2>&1 || true
        [ "$(cat roots/precious)" = precious ]
        [ ! -e roots/new.html ]
    done
    as_sudo "$TARE" memory snapshot.pickle --html page.html
    [ "$(stat -c %u page.html)" -eq $CALLER ]
}
