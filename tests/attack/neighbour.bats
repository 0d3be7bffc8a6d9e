# What another user of the machine, or the owner of a folder in which somebody else runs tare, can do to a run: nothing.
#
# ME runs tare, NEIGHBOUR is the other user; both are numbers without an entry in /etc/passwd.

load ../cli/runs

ME=65533 NEIGHBOUR=65534

as() { setpriv --reuid="$1" --regid="$1" --clear-groups "${@:2}"; }

# A program that both can start, in a folder that both can enter.
two_users() {
    [ "$(id -u)" -eq 0 ] || skip "only root can be two users"
    chmod 755 "$WORK"
    as $NEIGHBOUR test -x "$TARE" || { cp "$TARE" "$WORK/$NAME" && chmod 755 "$WORK/$NAME" && TARE=$WORK/$NAME; }
}

# A training that says that it has started and ends when the test says so.
waiting_job() {
    job 'touch "$TARE_RUN_DIR/../../started"
while [ ! -e "$TARE_RUN_DIR/../../go" ] && [ ! -e '"$WORK"'/go ]; do sleep 0.05; done
echo loss 0.5'
    settings 1
}

family() {
    local child
    echo "$1"
    for child in $(cat /proc/"$1"/task/*/children); do family "$child"; done
}

@test "whoever starts a program that was made setuid by mistake gets nobody's rights" {
    two_users
    [ -z "${TARE_SANITIZED:-}" ] || skip "the leak checker cannot look into a setuid program"
    findmnt -no OPTIONS -T "$WORK" | grep -q nosuid && skip "setuid has no effect in $WORK"
    cp "$TARE" borrowed
    for mode in 4755 2755; do
        chmod $mode borrowed
        run as $NEIGHBOUR ./borrowed exec -- touch "$WORK/made"
        is "$status" 3
        [[ "$output" == *"setuid or setgid"*"chmod ug-s"* ]]
    done
    [ ! -e made ]
    chmod 755 borrowed
    as $NEIGHBOUR ./borrowed exec -- true
}

@test "root's marks are not where another user can rename them, though su has left XDG_RUNTIME_DIR and TMPDIR that user's" {
    two_users
    mkdir -m 700 theirs
    chown $NEIGHBOUR theirs
    marks=$(XDG_RUNTIME_DIR=$WORK/theirs TMPDIR=$WORK/theirs "$TARE" exec --energy -- sh -c 'echo "$TARE_MARKS"' 2>/dev/null)
    [[ "$marks" == /tmp/$NAME-exec-*/marks ]]
    # Everybody may write, and so rename, where the sticky bit is missing.
    mkdir -m 777 everybodys
    chmod 777 everybodys
    marks=$(XDG_RUNTIME_DIR=$WORK/everybodys TMPDIR=$WORK/everybodys "$TARE" exec --energy -- sh -c 'echo "$TARE_MARKS"' 2>/dev/null)
    [[ "$marks" == /tmp/$NAME-exec-*/marks ]]
    mkdir -m 700 own
    marks=$(XDG_RUNTIME_DIR=$WORK/own "$TARE" exec --energy -- sh -c 'echo "$TARE_MARKS"' 2>/dev/null)
    [[ "$marks" == "$WORK"/own/*/marks ]]
}

@test "under a umask of 0 nothing of a run may be written by others, and what the training makes has its own umask" {
    job 'umask >"$TARE_RUN_DIR/../../umask"; echo loss 0.5'
    settings 1
    (umask 000; tare_run --json) >out
    is "$(cat umask)" 0000
    is "$(find results -perm -002 ! -type l)" ""
    "$TARE" export "$(run_dir)" -o exported >/dev/null
    rm -rf results
    # A group that works together keeps its right.
    (umask 002; tare_run) >out
    is "$(stat -c %a results/run_*/summary.csv results/run_*)" $'664\n775'
}

@test "a results folder that its owner replaces by a link while root's run goes on leads no file of the run elsewhere" {
    two_users
    waiting_job
    mkdir precious
    chown $NEIGHBOUR "$WORK"
    start_program run settings.json -c registry.json -o results --containment sweep
    wait_until test -e started
    name=$(basename "$(run_dir)")
    mkdir -p "precious/$name/repo_net_001/energy"
    for file in summary.csv summary_safe.csv summary_affected.csv run.db run.db-wal run.db-shm events.jsonl report.html machine.json repo_net_001/experiment.json \
        repo_net_001/training.log repo_net_001/training.times.csv repo_net_001/energy/gpu.csv; do echo precious >"precious/$name/$file"; done
    find precious -type f -exec sha256sum {} + | sort >before
    as $NEIGHBOUR mv results results.old
    as $NEIGHBOUR ln -s precious results
    as $NEIGHBOUR touch go
    end_program
    find precious -type f -exec sha256sum {} + | sort >after
    diff before after
    [ -s "results.old/$name/events.jsonl" ]
}

@test "report --snapshots of a received run writes no page through a link" {
    job 'cp "'"$ROOT"'/tests/data/memory/split.pickle" "$TARE_MEMORY_SNAPSHOT"; echo "loss 0.5"'
    registry '"memory_snapshot": true'
    settings 1
    tare_run >out
    echo precious >precious
    ln -s "$WORK/precious" "$(run_dir)/repo_net_001/memory_snapshot.html"
    "$TARE" report "$(run_dir)" --snapshots >out
    is "$(cat precious)" precious
    [ ! -L "$(run_dir)/repo_net_001/memory_snapshot.html" ]
    grep -q '<html' "$(run_dir)/repo_net_001/memory_snapshot.html"
    is "$(find results -name '.writing-*')" ""
}

@test "another user can neither signal, trace, look into nor write to anything of a run, and its environment is not recorded" {
    two_users
    waiting_job
    chown -R $ME "$WORK"
    (umask 000; export SECRET=correct-horse; exec setpriv --reuid=$ME --regid=$ME --clear-groups "$TARE" run settings.json -c registry.json -o results) \
        >out 2>&1 3>&- &
    PID=$!
    wait_until test -e started
    chmod 711 "$WORK" # else the neighbour would fail for the folder's sake
    members=$(family "$PID")
    [ "$(wc -w <<<"$members")" -ge 3 ]
    for member in $members; do
        run as $NEIGHBOUR kill -STOP "$member"
        [ "$status" -ne 0 ]
        for file in environ fd maps cwd/. root/.; do
            run as $NEIGHBOUR ls "/proc/$member/$file/"
            [ "$status" -ne 0 ]
            run as $NEIGHBOUR cat "/proc/$member/$file"
            [ "$status" -ne 0 ]
        done
        # No socket of theirs has a name, in the file system or abstract (unix(7): the eighth word).
        for socket in $(as $ME ls -l "/proc/$member/fd" | sed -n 's/.*socket:\[\(.*\)\]$/\1/p'); do
            is "$(awk -v inode="$socket" '$7 == inode && $8 != "" { print $8 }' /proc/net/unix)" ""
        done
    done
    run as $NEIGHBOUR sh -c "echo 'epoch start' >>'$(run_dir)/repo_net_001/marks.fifo'"
    [ "$status" -ne 0 ]
    is "$(as $NEIGHBOUR find results -writable ! -type l 2>/dev/null)" ""
    as $ME touch go
    end_program
    is "$CODE" 0
    is "$(grep -rl correct-horse results)" ""
}

@test "a state folder in /tmp that another user has made first is refused and named, and the command runs" {
    two_users
    mkdir -m 1777 tmp
    chmod 1777 tmp
    for mode in 777 755; do
        as $NEIGHBOUR mkdir tmp/$NAME-$ME
        as $NEIGHBOUR chmod $mode tmp/$NAME-$ME
        run env -u XDG_STATE_HOME HOME=/nonexistent TMPDIR="$WORK/tmp" setpriv --reuid=$ME --regid=$ME --clear-groups "$TARE" exec -- true
        is "$status" 0
        [[ "$output" == *"$WORK/tmp/$NAME-$ME belongs to user $NEIGHBOUR"* ]]
        is "$(ls -A tmp/$NAME-$ME)" ""
        rmdir tmp/$NAME-$ME
    done
}

@test "of root's descriptors none is left in the processes that run under sudo as the caller" {
    two_users
    waiting_job
    chown -R $ME "$WORK"
    SUDO_UID=$ME SUDO_GID=$ME SUDO_USER=nobody HOME=/root "$TARE" run settings.json -c registry.json -o results >out 2>&1 3>&- &
    PID=$!
    wait_until test -e started
    for member in $(family "$PID"); do
        users=$(awk '/^Uid:/ { print $2, $3, $4, $5 }' "/proc/$member/status" 2>/dev/null) || continue # it has ended
        is "$users" "$ME $ME $ME $ME"
        for fd in "/proc/$member/fd/"*; do
            path=$(readlink "$fd") || continue
            case $path in /dev/* | */bats-run-*) ;; /*) [ "${path% (deleted)}" != "$path" ] || as $ME test -r "$path" || { echo "$member: $path"; return 1; } ;; esac
        done
    done
    as $ME touch go
    end_program
}
