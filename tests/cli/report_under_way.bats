#!/usr/bin/env bats
# The page of a run that has not ended says so.
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

# head_of KEY FILE: what the page's data says; "None" where it has no such key.
head_of() {
    python3 -c 'import json, re, sys; print(json.loads(re.search(r"id=\"head\">(.*?)</script>", open(sys.argv[2], encoding="utf-8").read(), re.S)[1]).get(sys.argv[1]))' \
        "$1" "$2"
}

@test "the page of a run under way says so and how to see it live, and that of one that has ended says neither" {
    under_way
    "$TARE" report "$(run_dir)" -o page.html >/dev/null
    is "$(head_of state page.html)" under_way
    page_of state page.html "To see it live: tare watch $(basename "$(run_dir)")"
    "$TARE" report "$(run_dir)" -o once.html --lang zh >/dev/null
    page_of state once.html "本次运行正在进行"
    touch go
    end_program
    is "$CODE" 0
    "$TARE" report "$(run_dir)" -o over.html >/dev/null
    is "$(head_of state over.html) $(head_of made_ms over.html)" "None None"
    page_of state over.html ""
}

@test "the page of a run whose runner died says so, and how to go on" {
    under_way
    kill -KILL "$PID"
    wait_until lock_is_free "$(run_dir)/run.lock"
    "$TARE" report "$(run_dir)" -o page.html >/dev/null
    is "$(head_of state page.html)" died
    page_of state page.html "nothing runs it any more"
    page_of state page.html "tare run --resume"
}

@test "the page of a run whose runner is on another host says that its state cannot be seen from here" {
    under_way
    kill -KILL "$PID"
    touch go
    wait_until lock_is_free "$(run_dir)/run.lock"
    echo "17 elsewhere.example" >"$(run_dir)/run.lock"
    "$TARE" report "$(run_dir)" -o page.html >/dev/null
    is "$(head_of state page.html)" elsewhere
    page_of state page.html "cannot be seen from here"
}
