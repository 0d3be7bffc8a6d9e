# A training can write every file of its user, the files too that tell the next command what killed runs left. They only say where to look:
# what is ended is what the kernel ties to a job whose runner is dead.

load bystander

ME=65533 # a user without an entry in /etc/passwd

forge() { "$BATS_TEST_DIRNAME/forge" "${RUNS:-$XDG_STATE_HOME/$NAME/runs}" "$@"; }

@test "a process that a forged file names by pid and start time is listed, and not signalled" {
    bystander
    forge "$BYSTANDER"
    "$TARE" exec true
    unharmed
    run "$TARE" clean
    [[ "$output" == *"names process $BYSTANDER (python3), and nothing proves that it is of the run's job"* ]]
    run "$TARE" clean --kill
    unharmed
    # When it has gone, so does the file.
    kill -KILL "$BYSTANDER"
    wait "$BYSTANDER" || true
    "$TARE" exec true
    is "$(ls "$XDG_STATE_HOME/$NAME/runs")" ""
}

@test "neither is a process of another user that root's files name, nor one that only carries the tag they name" {
    [ "$(id -u)" -eq 0 ] || skip "only root can be two users"
    bystander TARE_JOB=feedfeedfeedfeedfeedfeedfeedfeed
    forge "$BYSTANDER" feedfeedfeedfeedfeedfeedfeedfeed
    "$TARE" exec true
    unharmed
    rm "$XDG_STATE_HOME/$NAME/runs"/*
    chmod 777 .
    bystander setpriv --reuid=$ME --regid=$ME --clear-groups
    forge "$BYSTANDER"
    "$TARE" exec true
    unharmed
}

@test "a run that lives keeps its runner, init and training, whatever the forged files name, and though its own file is gone" {
    local mode pid
    for mode in auto cgroup sweep; do
        rm -rf results up go
        "$TARE" exec --containment $mode true || continue
        other_run $mode
        for pid in "$PID" "$INIT" "$TRAINING"; do forge "$pid" "$TAG" "$LEAF"; done
        "$TARE" exec true
        "$TARE" clean --kill >/dev/null 2>&1 || true
        rm -rf "$XDG_STATE_HOME/$NAME"
        for pid in "$PID" "$INIT" "$TRAINING"; do forge "$pid" "$TAG" "$LEAF"; done
        "$TARE" exec true
        "$TARE" clean --kill >/dev/null 2>&1 || true
        for pid in "$PID" "$INIT" "$TRAINING"; do lives "$pid"; done
        ends_well
    done
}

@test "an orphaned run with a foreign tag, or in the cgroup of another job, goes on whatever a file says of it; what is no tag ends nobody" {
    local mount cgroup pid tag=0123456789abcdef0123456789abcdef
    mount=$(findmnt -nt cgroup2 -o TARGET | tail -n 1)
    for TAGGED in $tag "" not-a-tag; do
        if [ -n "$TAGGED" ]; then
            TARE_JOB=$TAGGED setsid -f "$TARE" exec --containment sweep -- sh -c 'echo $$ >up; exec sleep 1000'
        elif [ "$(id -u)" -eq 0 ] && [ -n "$mount" ]; then
            cgroup=$mount/$NAME-job-$tag
            mkdir "$cgroup"
            setsid -f "$TARE" exec --containment sweep -- sh -c 'echo $$ >up; exec sleep 1000'
        else
            continue
        fi
        wait_until test -s up
        TRAINING=$(cat up)
        INIT=$(parent_of "$TRAINING") PID=$(parent_of "$INIT")
        ENDED_LAST+=("$PID" "$TRAINING")
        [ -z "$cgroup" ] || for pid in "$PID" "$INIT" "$TRAINING"; do echo "$pid" >"$cgroup/cgroup.procs"; done
        for pid in "$PID" "$INIT" "$TRAINING"; do forge "$pid" $tag $cgroup; done
        "$TARE" exec true
        run "$TARE" clean --kill
        rm -f "$XDG_STATE_HOME/$NAME/runs"/*
        "$TARE" clean --kill
        for pid in "$PID" "$INIT" "$TRAINING"; do lives "$pid"; done
        [[ "$TAGGED" != $tag || "$output" == *"a run that lives: $NAME (pid $PID)"* ]]
        kill -TERM "$PID"
        wait_until is_dead "$TRAINING"
        wait_until is_dead "$PID"
        rm -f up
        [ -z "$cgroup" ] || rmdir "$cgroup"
        cgroup=
    done
    TARE_JOB=not-a-tag setsid -f sh -c 'echo $$ >up; exec sleep 1000'
    wait_until test -s up
    ENDED_LAST+=("$(cat up)")
    "$TARE" clean --kill
    lives "$(cat up)"
}

@test "a leftover does not pass for a run by the name of its program" {
    cp "$(command -v sleep)" "$NAME"
    TARE_JOB=0123456789abcdef0123456789abcdef setsid -f sh -c 'echo $$ >up; exec ./'"$NAME"' 1000'
    wait_until test -s up
    ENDED_LAST+=("$(cat up)")
    wait_until file_has "/proc/$(cat up)/comm" "$NAME"
    "$TARE" clean --kill
    wait_until is_dead "$(cat up)"
}

@test "an orphaned run whose program was renamed goes on too: the lock of its file tells that it lives" {
    local pid tag=0123456789abcdef0123456789abcdef
    cp "$TARE" renamed
    TARE_JOB=$tag setsid -f ./renamed exec --containment sweep -- sh -c 'echo $$ >up; exec sleep 1000'
    wait_until test -s up
    TRAINING=$(cat up)
    INIT=$(parent_of "$TRAINING") PID=$(parent_of "$INIT")
    ENDED_LAST+=("$PID" "$TRAINING")
    for pid in "$PID" "$INIT" "$TRAINING"; do forge "$pid" $tag; done
    "$TARE" exec true
    lives "$PID"
    run "$TARE" clean --kill
    [[ "$output" == *"a run that lives: renamed (pid $PID)"* ]]
    for pid in "$PID" "$INIT" "$TRAINING"; do lives "$pid"; done
    # Without its file its children tell: an init that executes the same program.
    rm -rf "$XDG_STATE_HOME/$NAME"
    for pid in "$PID" "$INIT" "$TRAINING"; do forge "$pid" $tag; done
    "$TARE" exec true
    "$TARE" clean --kill
    for pid in "$PID" "$INIT" "$TRAINING"; do lives "$pid"; done
    kill -TERM "$PID"
    wait_until is_dead "$TRAINING"
}

@test "a cgroup that a file names by a link, or whose processes somebody who lives has started, is not killed" {
    local mount cgroup tag=0123456789abcdef0123456789abcdef
    [ "$(id -u)" -eq 0 ] || skip "only root can make a cgroup here"
    mount=$(findmnt -nt cgroup2 -o TARGET | tail -n 1)
    [ -n "$mount" ] || skip "there is no cgroup v2"
    bystander
    for cgroup in "$mount/$NAME-test-$$" "$mount/$NAME-job-$tag"; do
        mkdir "$cgroup"
        echo "$BYSTANDER" >"$cgroup/cgroup.procs"
        ln -sfn "$cgroup" "$NAME-job-$tag"
        forge $$ $tag "$WORK/$NAME-job-$tag"
        "$TARE" exec true
        forge $$ $tag "$cgroup"
        "$TARE" exec true
        echo "$BYSTANDER" >"$mount/cgroup.procs"
        rmdir "$cgroup"
        unharmed
    done
}

@test "in a mount namespace both state folders are covered: what a training plants there is for nobody else" {
    [ "$("$TARE" exec -v true 2>&1 | grep -c 'pid namespace')" = 1 ] || skip "no pid namespace can be made here"
    export TMPDIR=$WORK
    bystander
    local own=$XDG_STATE_HOME/$NAME/runs second=$WORK/$NAME-$(id -u)/runs
    RUNS=$WORK/planted/runs forge "$BYSTANDER"
    "$TARE" exec -- sh -c "cp planted/runs/* $own && cp planted/runs/* $second && $TARE exec true && ls $own >inside"
    is "$(cat inside)" "$(ls planted/runs)"
    is "$(ls "$own" "$second" | grep -c jsonl)" 0
    unharmed
}

@test "what a dead run did leave is still ended: an init that was stopped, with what has cleared its environment, and orphans with the tag" {
    local child
    start_program exec --containment sweep -- sh -c 'env -i sleep 1000 & echo $! >child; sleep 1000'
    wait_until test -s child
    child=$(cat child)
    INIT=$(children_of "$PID" "$NAME-init") GUARDIAN=$(children_of "$PID" "$NAME-guardian")
    kill -STOP "$INIT" "$GUARDIAN"
    kill -KILL "$PID" "$GUARDIAN"
    wait "$PID" || true
    lives "$child"
    "$TARE" exec true
    is_dead "$child"
    is_dead "$INIT"
    start_program exec --containment sweep -- sh -c 'sleep 1000 & echo $! >orphan; wait'
    wait_until test -s orphan
    INIT=$(children_of "$PID" "$NAME-init") GUARDIAN=$(children_of "$PID" "$NAME-guardian")
    kill -STOP "$INIT" "$GUARDIAN"
    kill -KILL "$PID" "$GUARDIAN" "$INIT"
    wait "$PID" || true
    lives "$(cat orphan)"
    "$TARE" exec true
    is_dead "$(cat orphan)"
    is "$(ls "$XDG_STATE_HOME/$NAME/runs")" ""
}
