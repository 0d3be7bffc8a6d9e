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

@test "without a command, or with a wrong option, the usage is said and the code is 2" {
    run "$TARE" exec
    [ "$status" -eq 2 ]
    run "$TARE" exec --containment docker true
    [ "$status" -eq 2 ]
    [[ "$output" == *docker* ]]
    run "$TARE" exec --timeout soon true
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

@test "USR1 and INT are passed to the command alone" {
    for name in USR1 INT; do
        rm -f "$DIR/up"
        # A job of a shell without job control starts with INT ignored; env gives it back.
        env --default-signal=INT "$TARE" exec sh -c "trap 'exit 8' $name; touch $DIR/up; while :; do sleep 0.05; done" 3>&- &
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

@test "on a terminal, Ctrl-C reaches the command once" {
    command -v python3 >/dev/null || skip "python3 is missing"
    for mode in $(modes); do
        timeout 100 python3 - "$TARE" $mode <<'PYTHON'
import os, pty, select, sys, time
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], "exec", "--containment", sys.argv[2], "--", "sh", "-c",
                           "n=0; trap 'n=$((n+1))' INT; echo up; until [ $n -ge 1 ]; do sleep 0.05; done; sleep 0.3; exit $((10+n))"])
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
        os.write(terminal, b"\x03")
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
if code != 11:
    sys.exit(f"exit code {code}, output {seen!r}")
PYTHON
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

@test "one process has one figure of memory, however short it lives" {
    for command in true "python3 -c pass"; do
        # shellcheck disable=SC2086 # words
        "$TARE" exec -e -v -- $command 2>"$BATS_TEST_TMPDIR/told"
        # Of a cgroup's own counter nothing is left to be said twice either.
        local counted measured
        counted=$(sed -nE 's/^tare: peak memory: ([0-9.]+ MiB).*/\1/p' "$BATS_TEST_TMPDIR/told")
        measured=$(sed -nE 's/^ *([0-9.]+ MiB)  memory at most, .*/\1/p' "$BATS_TEST_TMPDIR/told")
        [ -n "$counted" ]
        [ "$counted" = "$measured" ]
    done
}
