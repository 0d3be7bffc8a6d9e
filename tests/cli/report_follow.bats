#!/usr/bin/env bats
# The page of a run that is under way: it says so, is written anew while the run goes on, and reloads itself in a browser until it ends.
load runs
load page

# under_way: a run of three experiments, of which the first has ended and the second waits for the file go: $PID, $WORK/go.
under_way() {
    job "echo \"loss 0.5\"
n=\$(cat '$WORK/count' 2>/dev/null || echo 0); echo \$((n + 1)) >'$WORK/count'
[ \$n -ne 1 ] || until [ -e '$WORK/go' ]; do sleep 0.2; done"
    settings 3
    start_run
    wait_until second_is_started
}
second_is_started() { [ "$(cat "$WORK/count" 2>/dev/null)" = 2 ]; }

# follow OPTIONS...: report --follow in the background; its number in $FOLLOWER.
follow() {
    rm -f followed # what an earlier one has said must not be taken for this one's
    set -m # else it would ignore Ctrl-C's signal
    "$TARE" report --follow "$(run_dir)" --every 0.5 "$@" >followed 2>followed.err 3>&- &
    FOLLOWER=$!
    set +m
    wait_until file_has followed .html
}

# ended CODE: the follower has, with this code.
ended() {
    local code=0
    wait_until follower_is_gone || { kill -9 "$FOLLOWER"; return 1; }
    wait "$FOLLOWER" || code=$?
    is "$code" "$1"
}
follower_is_gone() { ! kill -0 "$FOLLOWER" 2>/dev/null || file_has "/proc/$FOLLOWER/stat" ') Z '; }

# head_of KEY [FILE]: what the page's data says; "None" where it has no such key.
head_of() {
    python3 -c 'import json, re, sys; print(json.loads(re.search(r"id=\"head\">(.*?)</script>", open(sys.argv[2], encoding="utf-8").read(), re.S)[1]).get(sys.argv[1]))' \
        "$1" "${2:-page.html}"
}

@test "a page that is followed reloads itself and keeps what was chosen until the run ends, and then never again" {
    under_way
    follow -o page.html
    is "$(head_of state)" under_way
    page_of follow page.html "$WORK/go"
    end_program
    is "$CODE" 0
    ended 0
    is "$(head_of state) $(head_of reload_s) $(head_of made_ms)" "None None None"
    # As the run's own last page, but for its links.
    "$TARE" report "$(run_dir)" -o again.html >/dev/null
    cmp again.html page.html
    is "$(cat followed.err)" ""
    is "$(find . -name '.*.html*' -o -name '*.tmp')" ""
}

@test "Ctrl-C stops it, and the page that stays reloads no more; without --follow it says how to" {
    under_way
    follow -o page.html
    kill -INT "$FOLLOWER"
    ended 130
    is "$(head_of state) $(head_of reload_s)" "under_way 0.0"
    page_of state page.html "To keep this page up to date: tare report --follow"
    follow -o page.html
    kill -TERM "$FOLLOWER"
    ended 143
    "$TARE" report "$(run_dir)" -o once.html --lang zh >/dev/null
    is "$(head_of state once.html) $(head_of reload_s once.html)" "under_way 0.0"
    page_of state once.html "本次运行正在进行"
    touch go
    end_program
    "$TARE" report "$(run_dir)" -o over.html >/dev/null
    page_of state over.html ""
}

@test "a runner that died is said: by the page, the exit code and what goes on with it" {
    under_way
    follow -o page.html
    kill -KILL "$PID"
    ended 1
    is "$(head_of state) $(head_of reload_s)" "died 0.0"
    grep -q "run --resume .*run_" followed.err
    page_of state page.html "nothing runs it any more"
    touch go
    "$TARE" run --resume "$(run_dir)" -q >/dev/null
    "$TARE" report --follow "$(run_dir)" -o page.html >/dev/null
    is "$(head_of state)" None
}

@test "of a run whose runner is on another host it is said that nobody can see it from here" {
    under_way
    kill -KILL "$PID"
    touch go
    wait_until lock_is_free "$(run_dir)/run.lock"
    echo "17 elsewhere.example" >"$(run_dir)/run.lock"
    "$TARE" report --follow "$(run_dir)" -o page.html >/dev/null
    is "$(head_of state)" elsewhere
    page_of state page.html "cannot be seen from here"
}

@test "options that do not go together are mistakes" {
    mkdir empty
    run "$TARE" report empty --every 2
    is "$status" 2
    [[ "$output" == *"--every goes with --follow"* ]]
    run "$TARE" report empty --follow --snapshots
    is "$status" 2
    run "$TARE" report empty --follow --every 0.1
    is "$status" 2
    run "$TARE" report empty --follow
    is "$status" 3
    [[ "$output" == *"run.db"* ]]
}
