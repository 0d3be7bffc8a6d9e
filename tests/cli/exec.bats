#!/usr/bin/env bats
# tare exec: one command, its exit code, its streams, and nothing left of it.

bats_require_minimum_version 1.5.0

setup() {
    unset SUDO_UID SUDO_GID SUDO_USER SUDO_COMMAND
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    TARE=${TARE:-${BUILD_DIR:-$ROOT/build}/src/cli/tare}
    DIR=$(mktemp -d "${BATS_TMPDIR:-/tmp}/exec.XXXXXX")
    export XDG_STATE_HOME=$DIR/state
}

teardown() { rm -rf "$DIR"; }

# eventually COMMAND...: becomes true within a minute.
eventually() {
    local tries
    for ((tries = 0; tries < 600; tries++)); do
        if "$@"; then return 0; fi
        sleep 0.1
    done
    echo "never true: $*"
    return 1
}

# A lock says whether a process that holds it lives: an exclusive one can be had when all are gone.
is_free() { flock --nonblock --exclusive "$1" true; }
is_held() { ! is_free "$1"; }

modes() {
    for mode in pidns cgroup sweep; do
        if "$TARE" exec --containment $mode -- true 2>/dev/null; then echo $mode; fi
    done
}

@test "the exit code is the command's" {
    for code in 0 1 7 124 255; do
        run "$TARE" exec -- sh -c "exit $code"
        [ "$status" -eq $code ]
        [ -z "$output" ]
    done
}

@test "a command ended by a signal gives 128 and its number" {
    run "$TARE" exec sh -c 'kill -KILL $$'
    [ "$status" -eq 137 ]
    run "$TARE" exec sh -c 'kill -TERM $$'
    [ "$status" -eq 143 ]
}

@test "what is not found gives 127, what cannot be executed 126" {
    run -127 "$TARE" exec no-such-program-anywhere
    [ "$status" -eq 127 ]
    [[ "$output" == *"no-such-program-anywhere: not found" ]]
    run -127 "$TARE" exec "$DIR/missing"
    [ "$status" -eq 127 ]
    echo data >"$DIR/file"
    chmod 644 "$DIR/file"
    run "$TARE" exec "$DIR/file"
    [ "$status" -eq 126 ]
    run "$TARE" exec "$DIR"
    [ "$status" -eq 126 ]
}

@test "without a command, or with a wrong option, the usage is said and the code is 125: 2 is the command's own" {
    run "$TARE" exec
    [ "$status" -eq 125 ]
    [[ "$output" == *"exec --help"* ]]
    run "$TARE" exec --containment docker true
    [ "$status" -eq 125 ]
    [[ "$output" == *docker* ]]
    run "$TARE" exec --timeout soon true
    [ "$status" -eq 125 ]
    run "$TARE" exec --no-such-option true
    [ "$status" -eq 125 ]
    [[ "$output" == *"--no-such-option"* ]]
    run "$TARE" exec --gpu-memory-limit soon true
    [ "$status" -eq 125 ]
    run "$TARE" exec sh -c 'exit 2'
    [ "$status" -eq 2 ]
}

@test "the command's own options are left to it" {
    run "$TARE" exec sh -c 'echo "$0 $*"' -v --timeout 3
    [ "$status" -eq 0 ]
    [ "$output" = "-v --timeout 3" ]
}

@test "standard streams are the command's own" {
    printf 'in\n' | "$TARE" exec sh -c 'cat; echo out; echo err >&2' >"$DIR/out" 2>"$DIR/err"
    [ "$(cat "$DIR/out")" = "in
out" ]
    [ "$(cat "$DIR/err")" = "err" ]
}

@test "a big output passes whole" {
    "$TARE" exec head -c 20000000 /dev/zero | cmp - <(head -c 20000000 /dev/zero)
}

@test "environment and working folder are kept, and the job's tag is added" {
    cd "$DIR"
    KEPT=yes run "$TARE" exec sh -c 'echo $KEPT; pwd -P; echo ${#TARE_JOB}'
    [ "${lines[0]}" = yes ]
    [ "${lines[1]}" = "$(pwd -P)" ]
    [ "${lines[2]}" = 32 ]
}

@test "the timeout ends the command and gives 124" {
    for mode in $(modes); do
        run timeout 60 "$TARE" exec -t 0.2 --containment $mode sleep 1000
        [ "$status" -eq 124 ]
    done
}

@test "a command that ignores TERM is killed after the grace" {
    for mode in $(modes); do
        run timeout 60 "$TARE" exec --timeout 200ms --grace 0.2 --containment $mode -- sh -c 'trap "" TERM; while :; do sleep 0.05; done'
        [ "$status" -eq 124 ]
    done
}

@test "a second TERM kills what ignores the first, long before the grace is over" {
    for mode in $(modes); do
        rm -f "$DIR/up"
        "$TARE" exec --grace 1h --containment $mode sh -c "trap 'echo once >>$DIR/up' TERM; touch $DIR/up; while :; do sleep 0.05; done" 3>&- &
        local pid=$! status=0
        eventually test -e "$DIR/up"
        kill -TERM $pid
        eventually test -s "$DIR/up"
        kill -TERM $pid
        wait $pid || status=$?
        [ "$status" -eq 137 ]
    done
}

@test "user, groups, limits and umask are the caller's" {
    facts='id -u; id -g; umask; ulimit -a; ulimit -Ha'
    for mode in $(modes); do
        (umask 027; ulimit -n 700; ulimit -c 0; bash -c "$facts") >"$DIR/without"
        (umask 027; ulimit -n 700; ulimit -c 0; "$TARE" exec --containment $mode -- bash -c "$facts") >"$DIR/with"
        diff "$DIR/without" "$DIR/with"
    done
    [ "$(id -u)" -eq 0 ] || return 0
    cp "$TARE" "$DIR/tare"
    chmod 755 "$DIR" "$DIR/tare"
    mkdir -m 777 "$DIR/home"
    echo ours >"$DIR/of_a_group"
    chown 0:65500 "$DIR/of_a_group"
    chmod 640 "$DIR/of_a_group"
    run env XDG_STATE_HOME="$DIR/home" setpriv --reuid 65534 --regid 65534 --groups 65500 "$DIR/tare" exec cat "$DIR/of_a_group"
    [ "$output" = ours ]
    run env XDG_STATE_HOME="$DIR/home" setpriv --reuid 65534 --regid 65534 --clear-groups "$DIR/tare" exec cat "$DIR/of_a_group"
    [ "$status" -ne 0 ]
}

@test "a command that ends in time keeps its code" {
    run "$TARE" exec --timeout 1h sh -c 'exit 3'
    [ "$status" -eq 3 ]
}

@test "what the command leaves behind is ended, and -v names it" {
    for mode in $(modes); do
        touch "$DIR/lock"
        run "$TARE" exec -v --containment $mode flock --shared "$DIR/lock" sh -c 'setsid sleep 1000 & exit 5'
        [ "$status" -eq 5 ]
        is_free "$DIR/lock"
        [[ "$output" == *"left behind and ended"* ]]
        [[ "$output" == *"containment: "*sweep* ]]
        [[ "$output" == *"nothing is left"* ]]
    done
}

@test "TERM reaches the command, and the code is its own" {
    for mode in $(modes); do
        rm -f "$DIR/up"
        "$TARE" exec --containment $mode sh -c "trap 'exit 9' TERM; touch $DIR/up; while :; do sleep 0.05; done" 3>&- &
        local pid=$! status=0
        eventually test -e "$DIR/up"
        kill -TERM $pid
        wait $pid || status=$?
        [ "$status" -eq 9 ]
    done
}

@test "INT, HUP, QUIT, USR1, USR2, WINCH and ALRM are passed to the command alone" {
    for name in INT HUP QUIT USR1 USR2 WINCH ALRM; do
        rm -f "$DIR/up"
        # A job of a shell without job control starts with INT ignored, and whoever started the tests may ignore others; env gives them back.
        env --default-signal "$TARE" exec sh -c "trap 'exit 8' $name; touch $DIR/up; while :; do sleep 0.05; done" 3>&- &
        local pid=$! status=0
        eventually test -e "$DIR/up"
        kill -$name $pid
        wait $pid || status=$?
        [ "$status" -eq 8 ]
    done
}

@test "when this program is killed, the whole tree dies" {
    for mode in $(modes); do
        rm -f "$DIR/up"
        touch "$DIR/lock"
        "$TARE" exec --containment $mode flock --shared "$DIR/lock" \
            sh -c "setsid sh -c 'trap \"\" TERM HUP; touch $DIR/up; sleep 1000' & wait" 3>&- &
        local pid=$!
        eventually test -e "$DIR/up"
        is_held "$DIR/lock"
        kill -KILL $pid
        wait $pid || true
        eventually is_free "$DIR/lock"
    done
}

@test "nobody keeps the output open after the end" {
    [ "$("$TARE" exec sh -c 'sleep 1000 & echo done')" = done ]
}

@test "on a terminal, Ctrl-C and Ctrl-Z reach the command once" {
    command -v python3 >/dev/null || skip "python3 is missing"
    for mode in $(modes); do for signal in INT TSTP; do
        timeout 100 env --default-signal=INT,TSTP python3 - "$TARE" $mode $signal <<'PYTHON'
import os, pty, select, sys, time
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], "exec", "--containment", sys.argv[2], "--", "sh", "-c",
                           "n=0; trap 'n=$((n+1))' " + sys.argv[3] + "; echo up; until [ $n -ge 1 ]; do :; done; sleep 0.3; exit $((10+n))"])
seen, pressed, deadline = b"", False, time.monotonic() + 60
while time.monotonic() < deadline:
    if select.select([terminal], [], [], 1)[0]:
        try:
            data = os.read(terminal, 1000)
        except OSError:
            break
        if not data:
            break
        seen += data
    if b"up" in seen and not pressed:
        pressed = True
        os.write(terminal, b"\x03" if sys.argv[3] == "INT" else b"\x1a")
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
if code != 11:
    sys.exit(f"exit code {code}, output {seen!r}")
PYTHON
    done; done
}

@test "when the terminal of which it leads the session is lost, the command is told, and nothing stays" {
    command -v python3 >/dev/null || skip "python3 is missing"
    for mode in $(modes); do
        rm -f "$DIR/lost"
        timeout 100 python3 - "$TARE" $mode "$DIR/lost" <<'PYTHON'
import os, pty, sys, time
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], "exec", "--containment", sys.argv[2], "--", "sh", "-c",
                           f"trap 'echo lost >>{sys.argv[3]}; exit 7' HUP; echo up; while :; do sleep 0.05; done"])
seen = b""
while b"up" not in seen:
    seen += os.read(terminal, 1000)
os.close(terminal)
os.waitpid(pid, 0)
PYTHON
        [ "$(cat "$DIR/lost")" = lost ]
    done
}

@test "an ordinary user gets the same promise" {
    [ "$(id -u)" -eq 0 ] || skip "this is an ordinary user already"
    command -v setpriv >/dev/null || skip "setpriv is missing"
    cp "$TARE" "$DIR/tare"
    chmod 755 "$DIR" "$DIR/tare"
    mkdir -m 777 "$DIR/home"
    run env XDG_STATE_HOME="$DIR/home" setpriv --reuid 65534 --regid 65534 --clear-groups "$DIR/tare" exec sh -c 'id -u; id -g; exit 4'
    [ "$status" -eq 4 ]
    [ "$output" = "65534
65534" ]
}

# at_terminal COMMAND...: runs it on a terminal of its own, raw and without echo; its output to $DIR/out, then a last line
# "typed N": the bytes that wait there as if somebody had typed them.
at_terminal() {
    timeout 100 python3 - "$@" >"$DIR/out" <<'PYTHON'
import fcntl, os, pty, select, struct, sys, termios, tty
master, slave = pty.openpty()
tty.setraw(slave)
pid = os.fork()
if pid == 0:
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in 0, 1, 2:
        os.dup2(slave, fd)
    os.execvp(sys.argv[1], sys.argv[1:])
output, ended = b"", False
while not ended:
    ended = os.waitpid(pid, os.WNOHANG)[0] != 0
    while select.select([master], [], [], 0.05)[0]:
        output += os.read(master, 4096)
sys.stdout.write(output.decode())
print("typed", struct.unpack("i", fcntl.ioctl(slave, termios.FIONREAD, b"\0" * 4))[0])
PYTHON
}

# typist: the program that types; skips where the kernel lets nobody.
typist() {
    TYPIST=${BUILD_DIR:-$ROOT/build}/tests/fault/fault_type_to_terminal
    [ -x "$TYPIST" ] || skip "the programs that misbehave are not built"
    command -v python3 >/dev/null || skip "python3 is missing"
    at_terminal "$TYPIST"
    grep -q "^own stdin 0" "$DIR/out" || skip "this kernel lets nobody type"
    [ "$(grep -c '^own\|^high-bits' "$DIR/out")" -eq 6 ]
    [ "$(tail -1 "$DIR/out")" != "typed 0" ]
}

# Each of its tries must have failed with 1, EPERM, and none of them must have had an effect; a kernel that has no 32-bit
# calls at all answers ENOSYS, 38, to those.
nothing_typed() {
    [ "$(grep -c " $1 " "$DIR/out")" -ge 3 ]
    [ "$(grep -v '^i386 .* 38$' "$DIR/out" | grep " $1 " | awk '{ print $3 }' | sort -u)" = 1 ] || { cat "$DIR/out"; false; }
    [ "$(tail -1 "$DIR/out")" = "typed 0" ]
}

@test "the command cannot type into the terminal that it was called from, in any ABI" {
    typist
    for mode in auto pidns cgroup sweep; do
        [ "$(id -u)" -eq 0 ] || [ "$mode" = auto ] || [ "$mode" = pidns ] || continue # the filter needs a namespace or root
        "$TARE" exec --containment $mode -- true 2>/dev/null || continue
        at_terminal "$TARE" exec --containment $mode -- "$TYPIST"
        for file in stdin stdout /dev/tty; do nothing_typed "$file"; done
    done
}

@test "an ordinary user's command cannot type either, nor can what root's sudo starts as its caller" {
    [ "$(id -u)" -eq 0 ] || skip "only root can become another user"
    command -v setpriv >/dev/null || skip "setpriv is missing"
    typist
    cp "$TARE" "$TYPIST" "$DIR"
    chmod 755 "$DIR" "$DIR"/*
    mkdir -m 777 "$DIR/home"
    setpriv --reuid 65534 --regid 65534 --clear-groups unshare --user --pid --fork true && {
        at_terminal env XDG_STATE_HOME="$DIR/home" setpriv --reuid 65534 --regid 65534 --clear-groups "$DIR/tare" exec -- \
            "$DIR/fault_type_to_terminal"
        nothing_typed stdin
    }
    for mode in auto sweep; do
        at_terminal env SUDO_UID=65534 SUDO_GID=65534 TARE_STATE_DIR="$DIR/home" "$DIR/tare" exec --containment $mode -- \
            "$DIR/fault_type_to_terminal"
        nothing_typed stdin
    done
}

@test "refusing to let it type takes no setuid program and no terminal from the command" {
    typist
    at_terminal "$TARE" exec -- sh -c 'grep NoNewPrivs /proc/self/status; tty; stty size; test -t 0 && test -t 1 && echo a terminal'
    grep -q "NoNewPrivs:.*$(awk '/NoNewPrivs/ { print $2 }' /proc/self/status)" "$DIR/out"
    grep -q "^/dev/" "$DIR/out"
    grep -q "a terminal" "$DIR/out"
}

@test "where nothing refuses it, -v says so" {
    [ "$(id -u)" -eq 0 ] || skip "only root can become another user"
    command -v setpriv >/dev/null || skip "setpriv is missing"
    typist
    [ "$(cat /proc/sys/dev/tty/legacy_tiocsti 2>/dev/null || echo 1)" = 1 ] || skip "the kernel refuses it by itself"
    cp "$TARE" "$DIR/tare"
    chmod 755 "$DIR" "$DIR/tare"
    mkdir -m 777 "$DIR/home"
    at_terminal env XDG_STATE_HOME="$DIR/home" setpriv --reuid 65534 --regid 65534 --clear-groups "$DIR/tare" exec -v \
        --containment sweep -- true
    grep -q "could type into this terminal (TIOCSTI)" "$DIR/out"
    at_terminal "$TARE" exec -v -- true
    if grep -q "could type" "$DIR/out"; then false; fi
}

# without CAPABILITIES COMMAND...: as root that can never have them, as a container's root is.
without() {
    [ "$(id -u)" -eq 0 ] || skip "only root can give up its capabilities"
    command -v setpriv >/dev/null || skip "setpriv is missing"
    local dropped=-${1//,/,-}
    setpriv --bounding-set "$dropped" --inh-caps "$dropped" true 2>"$DIR/refused" || skip "$(cat "$DIR/refused")"
    shift
    setpriv --bounding-set "$dropped" --inh-caps "$dropped" "$@"
}

@test "root without CAP_SYS_ADMIN has a pid namespace, inside a user namespace of all users" {
    without sys_admin unshare --user --map-root-user --pid --fork --mount-proc true ||
        skip "this machine gives it no namespaces"
    without sys_admin "$TARE" exec -v -- sh -c 'echo $$; id -u; cat /proc/self/setgroups' >"$DIR/out" 2>"$DIR/err"
    # The second process of its namespace, the first being the init.
    [ "$(cat "$DIR/out")" = "2
0
allow" ]
    grep -q "containment: user and pid namespace, .*sweep: kernel-backed" "$DIR/err"
    without sys_admin "$TARE" exec --containment pidns -- true
    # Its files are still those of all users, and it may still become any of them.
    touch "$DIR/file"
    without sys_admin "$TARE" exec -- chown 1234:4321 "$DIR/file"
    [ "$(stat -c %u:%g "$DIR/file")" = 1234:4321 ]
    run without sys_admin "$TARE" exec -- setpriv --reuid 1234 --regid 4321 --groups 4322 id
    [ "$output" = "uid=1234 gid=4321 groups=4321,4322" ]
}

@test "root that may not map other users is mapped to itself" {
    without sys_admin,setuid,setgid unshare --user --map-root-user --pid --fork --mount-proc true ||
        skip "this machine gives it no namespaces"
    for dropped in sys_admin,setuid,setgid sys_admin,setuid sys_admin,setgid; do
        without $dropped "$TARE" exec -v -- sh -c 'echo $$; id -u; id -g' >"$DIR/out" 2>"$DIR/err"
        [ "$(cat "$DIR/out")" = "2
0
0" ]
        grep -q "containment: user and pid namespace, .*sweep: kernel-backed" "$DIR/err"
    done
}

@test "root that gets no namespace at all is told what both of them said" {
    without sys_admin,setfcap true
    if without sys_admin,setfcap unshare --user --map-root-user true 2>/dev/null; then
        skip "this kernel lets it map root without CAP_SETFCAP"
    fi
    without sys_admin,setfcap,setuid "$TARE" exec -v -- true 2>"$DIR/err"
    grep -q "best effort" "$DIR/err"
    grep -qE "no pid namespace: clone a pid namespace: .*; (map the user into|clone) a user (and pid )?namespace: " "$DIR/err"
    run without sys_admin,setfcap,setuid "$TARE" exec --containment pidns -- true
    [ "$status" -eq 125 ]
}

# traced MODE: the system calls of the program and all that it starts, one a line, in $DIR/calls.
traced() {
    [ -z "${TARE_SANITIZED:-}" ] || skip "sanitizers load and call what they need"
    command -v strace >/dev/null || skip "strace is missing"
    strace -o "$DIR/calls" true 2>"$DIR/refused" || skip "strace: $(cat "$DIR/refused")"
    strace -f -qq -e signal=none -o "$DIR/calls" "$TARE" exec --containment "$1" -- /bin/true
}

@test "an empty command costs at most 362 system calls beyond the start of the program" {
    count() { grep -cv -e '<\.\.\. .* resumed>' -e '+++ exited' "$DIR/calls"; }
    # Of its own, or what other tests left there at this moment is cleaned up first.
    export TARE_STATE_DIR=$DIR/state
    "$TARE" exec -- /bin/true # makes the folders of state and configuration, once for a user
    traced auto
    calls=$(count)
    cp "$DIR/calls" "$DIR/calls_of_exec"
    strace -f -qq -e signal=none -o "$DIR/calls" "$TARE" --version
    calls=$((calls - $(count)))
    [ "$calls" -le 362 ] || { echo "$calls"; sed -E 's/^[0-9]+ +([a-z0-9_]+).*/\1/' "$DIR/calls_of_exec" | sort | uniq -c | sort -rn | head; false; }
}

@test "without a pid namespace one look at /proc proves the end of what ended by itself" {
    for mode in cgroup sweep; do
        "$TARE" exec --containment $mode -- true 2>/dev/null || continue
        traced $mode
        # As opendir(3) asks for it; single files of /proc are read below a descriptor that is opened without O_NONBLOCK.
        [ "$(grep -c 'openat(AT_FDCWD, "/proc", [A-Z_|]*O_NONBLOCK' "$DIR/calls")" -eq 1 ]
        # Nothing is waited for by the clock.
        if grep -E 'nanosleep\(|poll\(NULL' "$DIR/calls"; then false; fi
    done
}

@test "one process has one figure of memory, however short it lives" {
    for command in true "python3 -c pass"; do
        # shellcheck disable=SC2086 # words
        "$TARE" exec -e -v -- $command 2>"$BATS_TEST_TMPDIR/told"
        # Of a cgroup's own counter nothing is left to be said twice either.
        local counted measured
        counted=$(sed -nE 's/^tare: peak memory: ([0-9.]+ MiB).*/\1/p' "$BATS_TEST_TMPDIR/told")
        measured=$(sed -nE 's/^ *([0-9.]+ MiB)  memory at most.*/\1/p' "$BATS_TEST_TMPDIR/told")
        [ -n "$counted" ]
        [ "$counted" = "$measured" ]
    done
}
