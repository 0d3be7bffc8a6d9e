#!/usr/bin/env bats
# The program of the key on_event: what it gets, when, for how long, as whom, and that a run never waits for it.

load energy

setup_file() { command -v python3 >/dev/null || skip "python3 is missing"; }

eval "before_on_event_$(declare -f teardown)"
teardown() {
    [ -z "${SERVER:-}" ] || kill "$SERVER" 2>/dev/null || true
    before_on_event_teardown
}

without_gpus() { unset TARE_NVML TARE_FAKE_NVML; }

ok_job() { without_gpus; job 'echo "loss 0.5"'; }

# recorder: a program that keeps each event as events/N.json, N from 1; $RECORDER is the key's value for it.
recorder() {
    mkdir events
    chmod 777 events
    cat >record <<'END'
#!/bin/sh
cd "$(dirname "$0")/events" || exit 1
n=$(($(ls | wc -l) + 1))
cat >"$n.part" && mv "$n.part" "$n.json"
END
    chmod 755 record
    RECORDER="\"on_event\": [\"$WORK/record\"]"
}

# events_are LINES: python's lines about m, a list of the events in the order in which they came.
events_are() {
    { echo 'import glob, json, os, re'
      echo 'm = [json.load(open("events/%d.json" % n)) for n in range(1, len(glob.glob("events/*")) + 1)]'
      echo "$1"; } >events.py
    python3 events.py
    local event
    python3 -c 'import jsonschema' 2>/dev/null || return 0
    for event in events/*.json; do follows on_event "$event"; done
}

# Programs of on_event that are alive, and what contains them.
alive() {
    local cwd
    for cwd in /proc/[0-9]*/cwd; do
        [ "$(readlink "$cwd" 2>/dev/null)" = "$WORK" ] || continue
        tr '\0' ' ' <"${cwd%/cwd}/cmdline" 2>/dev/null | grep -E '^[^ ]* on-event|^sleep 473' || true
    done
}

@test "at the end the program gets JSON with outcome, counts, energy and the text" {
    ok_job
    recorder
    settings 1 "$RECORDER"
    tare_run
    DIR=$(run_dir) events_are '
assert len(m) == 1, m
m = m[0]
assert m["event"] == "end" and m["run"] == os.environ["DIR"] and m["outcome"] == "finished", m
assert m["counts"] == {"succeeded": 1, "failed": 0, "interrupted": 0, "not_run": 0}, m
assert sum(m["verdicts"].values()) == 1, m
assert "1 succeeded" in m["title"] and os.path.basename(m["run"]) in m["title"], m
# What was not measured is not 0.
assert m["energy"]["gpu_j"] is None and "GPU energy: not measured" in m["text"], m
assert "results: " + m["run"] in m["text"], m'
}

@test "the energy is the sum of the experiments, with its ±" {
    scenario 1 'step 0 200'
    job 'sleep 2; echo "loss 0.5"'
    recorder
    settings 1 "$RECORDER"
    tare_run
    look '
json.dump([energy["gpu"]["joules"], energy["gpu"]["half_width_j"]], open("sum.json", "w"))'
    events_are '
j, half = json.load(open("sum.json"))
m = m[0]
assert abs(m["energy"]["gpu_j"] - j) < 1e-6 * j and abs(m["energy"]["gpu_half_width_j"] - half) < 1e-6 * j, (m, j, half)
assert m["energy"]["combined"] == "correlated", m
# Both to the same decimal place.
said = re.search(r"GPU energy: ([0-9]+)\.?([0-9]*) ± ([0-9]+)\.?([0-9]*) J", m["text"])
assert said and len(said[2]) == len(said[4]), (m["text"], j, half)
last = 0.51 * 10 ** -len(said[2])
assert abs(float(said[1] + "." + said[2]) - j) <= last and abs(float(said[3] + "." + said[4]) - half) <= last, (m["text"], j, half)'
}

@test "no shell reads the arguments, and nothing that the program prints is in the run's output" {
    ok_job
    printf '#!/bin/sh\nprintf "%%s\\n" "$@" >"%s/args"\ncat >/dev/null\necho NOISE\necho NOISE >&2\n' "$WORK" >told.sh
    chmod +x told.sh
    settings 1 "\"on_event\": [\"$WORK/told.sh\", \"\$(touch $WORK/shell)\", \"; touch $WORK/shell\"]"
    run tare_run
    [ "$status" -eq 0 ]
    [[ "$output" != *NOISE* && "$output" != *on_event* ]]
    is "$(cat args)" "\$(touch $WORK/shell)
; touch $WORK/shell"
    [ ! -e shell ]
}

@test "a program that fails is a warning with its exit status and last line of standard error; the exit code stays" {
    ok_job
    settings 1 '"on_event": ["sh", "-c", "echo first >&2; printf \"cannot \\033[31mpost\\n\\n\" >&2; echo out; exit 7"]'
    run --separate-stderr tare_run
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"warning: on_event: "*"/sh failed for the event end: exit status 7: cannot ?[31mpost"* ]]
    [[ "$stderr" != *first* && "$output" != *post* ]]
    settings 1 "\"on_event\": [\"sh\", \"-c\", \"kill -KILL \$\$\"]"
    run --separate-stderr tare_run
    [[ "$stderr" == *"failed for the event end: ended by signal 9"* ]]
}

@test "a failure and a hang are events once a session, and the run goes on" {
    without_gpus
    job 'if [ "$TARE_EXPERIMENT" = repo_net_001 ]; then echo "loss 0.1"; sleep 60; fi; echo "no such file"; exit 3'
    recorder
    settings 3 "\"hang_after\": 1, $RECORDER"
    run tare_run
    [ "$status" -eq 1 ]
    events_are '
assert [x["event"] for x in m] == ["stuck", "first_failure", "end"], m
assert m[0]["experiment"] == m[1]["experiment"] == "repo_net_001", m
assert m[1]["cause"].startswith("hung: "), m
assert all("what to do: " in x["text"] and "the run goes on" in x["text"] for x in m[:2]), m'
}

@test "contamination is an event with the evidence and its remedy" {
    [ -z "${TARE_SANITIZED:-}" ] || skip "the library that plays clocks goes in front of the sanitizers' runtime"
    PRELOAD=${BUILD_DIR:-$ROOT/build}/tests/fault/libasleep.so
    [ -e "$PRELOAD" ] || skip "there is no $PRELOAD"
    without_gpus
    echo 0 >slept
    job 'touch began; for i in $(seq 600); do [ -e go ] && break; sleep 0.05; done; echo "loss 0.5"'
    recorder
    settings 1 "$RECORDER"
    export LD_PRELOAD=$PRELOAD ASLEEP_FILE=$WORK/slept
    start_run
    unset LD_PRELOAD
    wait_until test -e repo/began
    echo 60000000000 >slept
    # While the training runs.
    wait_until test -s events/1.json
    touch repo/go
    end_program
    events_are '
assert [x["event"] for x in m] == ["contaminated", "end"], m
assert m[0]["experiment"] == "repo_net_001", m
assert "the machine slept for 60.0 s" in m[0]["cause"] and "what to do: " in m[0]["text"], m'
}

@test "GPU memory that grows until it would run out is an event before it does" {
    local gib=1073741824
    scenario 1 "memory_total $((40 * gib))
users $WORK/users"
    mkdir users
    job "for e in 1 2 3 4; do echo \"epoch \$e\"; for i in \$(seq 900); do [ -e $WORK/go_\$e ] && break; sleep 0.05; done; done"
    registry '"marks": {"epoch": "^epoch ([0-9]+)"}'
    recorder
    settings 1 "$RECORDER"
    start_run
    training() {
        local init
        init=$(event_value job_born 1 pid 2>/dev/null) || return 1
        TRAINING=$(grep -lE "^PPid:[[:space:]]*$init\$" /proc/[0-9]*/status 2>/dev/null | head -n 1 | tr -dc 0-9)
        [ -n "$TRAINING" ]
    }
    rows() { wc -l <"$(run_dir)/repo_net_001/energy/gpu.csv"; }
    more_rows() { [ "$(rows)" -ge "$1" ]; }
    wait_until training
    for e in 1 2 3 4; do
        wait_until grep -qx "epoch $e" "$(run_dir)/repo_net_001/training.log"
        echo "0 $(((4 + 6 * e) * gib)) 0" >users/new
        mv users/new "users/$TRAINING"
        wait_until more_rows $(($(rows) + 4))
        touch go_$e
    done
    end_program
    events_are '
found, = [x for x in m if x["event"] == "oom_predicted"]
assert "is predicted to run out of GPU memory" in found["title"] and "if it goes on so, it runs out in epoch" in found["cause"], m'
}

@test "an interruption is an end with the command that resumes; the session that finishes the run has its own" {
    without_gpus
    job 'touch began; sleep 60'
    recorder
    settings 1 "$RECORDER"
    start_run
    wait_until test -e repo/began
    kill -INT "$PID"
    end_program
    [ "$CODE" -eq 130 ]
    DIR=$(run_dir) events_are 'assert m[0]["outcome"] == "interrupted" and "run --resume " + os.environ["DIR"] in m[0]["text"], m'
    job 'echo "loss 0.5"'
    "$TARE" run --resume "$(run_dir)"
    events_are 'assert len(m) == 2 and m[1]["outcome"] == "finished", m'
}

@test "programs that never end run one at a time and delay neither the trainings nor, for long, the end; nothing of them is left" {
    without_gpus
    job 'echo "loss 0.5"; exit 3'
    # Two at once would be seen: the second finds the folder of the first.
    settings 2 "\"on_event\": [\"sh\", \"-c\", \"mkdir $WORK/one || touch $WORK/two; setsid sleep 473 & sleep 473\"]"
    before=$(date +%s%N)
    # The program's 60 s and those of the run's end become 3 s.
    TARE_TIME_SCALE=0.05 run --separate-stderr tare_run
    took_ms=$((($(date +%s%N) - before) / 1000000))
    [ "$status" -eq 1 ]
    [ "$took_ms" -lt 50000 ] || { echo "$took_ms ms"; false; }
    [[ "$stderr" == *"failed for the event first_failure: still running after "*" s, so it was ended"* ]]
    [[ "$stderr" == *"failed for the event end: "* ]]
    [ -e one ]
    python3 - "$(run_dir)/events.jsonl" <<'END'
import json, sys
events = [json.loads(x) for x in open(sys.argv[1])]
ended = [x["monotonic_ns"] for x in events if x["type"] == "experiment_ended"]
assert len(ended) == 2 and ended[1] - ended[0] < 2.5e9, ended
END
    is "$(alive)" ""
}

@test "two programs never run at once" {
    without_gpus
    job 'if [ "$TARE_EXPERIMENT" = repo_net_001 ]; then echo "loss 0.1"; sleep 60; fi; exit 3'
    printf '#!/bin/sh\ncat >/dev/null\nmkdir "$1/busy" || touch "$1/two"\nsleep 0.5\nrmdir "$1/busy"\necho >>"$1/done"\n' >slow
    chmod +x slow
    settings 2 "\"hang_after\": 1, \"on_event\": [\"$WORK/slow\", \"$WORK\"]"
    run tare_run
    [ "$status" -eq 1 ]
    [ "$(wc -l <done)" -eq 3 ]
    [ ! -e two ]
}

@test "Ctrl-C ends the wait at the end, and the run keeps its exit code" {
    ok_job
    settings 1 '"on_event": ["sleep", "473"]'
    start_run
    wait_until grep -q 'Ctrl-C ends the wait' err
    kill -INT "$PID"
    SECONDS=0
    end_program
    [ "$CODE" -eq 0 ] && [ "$SECONDS" -lt 20 ]
    grep -q 'failed for the event end: still running after' err
    is "$(alive)" ""
}

@test "a secret in an argument is refused with its place, and nothing is run; a file or a shell's variable is not" {
    ok_job
    refused() { # ARGUMENTS WORDS
        settings 1 "\"on_event\": [$1]"
        run tare_run
        [ "$status" -eq 2 ] || { echo "$output"; false; }
        [[ "$output" == *"settings.json:"*"$2"*"a file of mode 0600"*'$.tare.on_event['* ]] || { echo "$output"; false; }
        [[ "$output" != *S3cret* ]] || { echo "$output"; false; }
        [ ! -e results ]
    }
    refused '"true", "--token", "S3cret"' 'may not hold a secret'
    refused '"true", "--password=S3cret"' 'may not hold a secret'
    refused '"true", "-u", "me:S3cret"' 'may not hold a secret'
    refused '"true", "Authorization: Bearer S3cret"' 'may not hold a secret'
    refused '"sh", "-c", "curl -H \"authorization: basic S3cret\" https://example.org"' 'may not hold a secret'
    refused '"true", "https://me:S3cret@example.org/"' 'user name or a password'
    refused '"true", "https://example.org/?key=S3cret"' 'query'
    refused '"true", "https://hooks.slack.com/services/S3cret"' 'whoever knows this URL'
    settings 1 '"on_event": ["true", "--token-file=x", "--token", "@x", "Authorization: Bearer $(cat x)", "https://example.org/x"]'
    run tare_run
    [ "$status" -eq 0 ]
    mkdir -p "config/$NAME"
    settings 1
    echo '{"on_event": ["true", "--token", "S3cret"]}' >"config/$NAME/config.json"
    run tare_run
    [ "$status" -eq 2 ]
    [[ "$output" == *"config.json:1:"*"may not hold a secret"* ]]
}

@test "mistakes in the key, and a program that is not there, end before anything runs; --dry-run finds them too" {
    ok_job
    refused() {
        settings 1 "\"on_event\": $1"
        for more in "" --dry-run; do
            # shellcheck disable=SC2086 # nothing, or one word
            run tare_run $more
            [ "$status" -eq 2 ] && [[ "$output" == *"$2"* ]] || { echo "$output"; false; }
            [ ! -e results ]
        done
    }
    refused '[]' "settings.json:"
    refused '[""]' 'expected a list: a program and its arguments'
    refused '"true"' "expected a list of strings"
    refused '["true", 1]' "settings.json:"
    refused '["no-such-program"]' 'on_event: no-such-program is not an executable program in any folder of PATH'
    refused "[\"$WORK/settings.json\"]" 'is not an executable program'
    settings 1 '"notify": []'
    run tare_run
    [ "$status" -eq 2 ]
    [[ "$output" == *"unknown key 'notify'"* ]]
}

@test "the user's configuration has a program for every run, which the settings' replaces; one that others may write is refused" {
    ok_job
    recorder
    settings 1
    mkdir -p "config/$NAME"
    echo "{$RECORDER}" >"config/$NAME/config.json"
    tare_run
    events_are 'assert [x["event"] for x in m] == ["end"], m'
    settings 1 '"on_event": ["true"]'
    tare_run
    events_are 'assert len(m) == 1, m'
    settings 1
    for mode in g+w o+w; do
        chmod go-w "config/$NAME/config.json"
        chmod $mode "config/$NAME/config.json"
        run tare_run
        [ "$status" -eq 2 ]
        [[ "$output" == *"not writable by others: chmod go-w"* ]]
    done
    chmod go-w "config/$NAME/config.json"
    echo '{"on_evnt": []}' >"config/$NAME/config.json"
    run tare_run
    [ "$status" -eq 2 ]
    [[ "$output" == *"did you mean 'on_event'"* ]]
    events_are 'assert len(m) == 1, m'
}

@test "a job with a mount namespace cannot write the user's configuration" {
    "$TARE" exec -v true 2>&1 | grep -q 'pid namespace' || skip "no pid namespace can be made here"
    mkdir -p "config/$NAME"
    "$TARE" exec -- sh -c "mkdir -p config/$NAME; echo '{}' >config/$NAME/config.json"
    is "$(ls "config/$NAME")" ""
    rmdir "config/$NAME"
    "$TARE" exec -- sh -c "mkdir -p config/$NAME; echo '{}' >config/$NAME/config.json"
    is "$(ls "config/$NAME")" ""
    # Nor put another folder in the place of the one above it, from wherever it was started.
    "$TARE" exec -- sh -c "mv config away; mkdir -p config/$NAME; echo '{}' >config/$NAME/config.json"
    is "$(ls -d away 2>/dev/null; ls config "config/$NAME")" "$(printf '%s\n' config: "$NAME" "" "config/$NAME:")"
    (cd config && "$TARE" exec -- sh -c "echo '{}' >$NAME/config.json; mv $NAME away" || true)
    is "$(ls config "config/$NAME")" "$(printf '%s\n' config: "$NAME" "" "config/$NAME:")"
}

@test "a configuration that belongs to another user is refused" {
    need_root
    ok_job
    settings 1
    mkdir -p "config/$NAME"
    echo '{"on_event": ["true"]}' >"config/$NAME/config.json"
    chown 65534 "config/$NAME/config.json"
    run tare_run
    [ "$status" -eq 2 ]
    [[ "$output" == *"must be your own file"* ]]
}

@test "doctor --test-event sends one event and prints how the program ended" {
    recorder
    settings 1 "$RECORDER"
    run "$TARE" doctor --test-event settings.json
    [ "$status" -eq 0 ]
    is "$output" "$WORK/record: ended with exit status 0"
    events_are 'assert [(x["event"], x["run"]) for x in m] == [("test", None)], m'
    settings 1 '"on_event": ["sh", "-c", "echo no >&2; exit 4"]'
    run --separate-stderr "$TARE" doctor --test-event settings.json
    [ "$status" -eq 1 ]
    [[ "$output" == */sh": exit status 4: no" ]]
    is "$stderr" ""
    settings 1
    run "$TARE" doctor --test-event settings.json
    [ "$status" -eq 2 ]
    [[ "$output" == *"have the key on_event"* ]]
    mkdir -p "config/$NAME"
    echo "{$RECORDER}" >"config/$NAME/config.json"
    "$TARE" doctor --test-event
    run "$TARE" doctor settings.json
    [ "$status" -eq 2 ]
}

# line_of_docs NUMBER: the lines of docs/howto/notify.md that are not run there, in order.
line_of_docs() { sed -n '/^<!-- not run/,/^```$/p' "$ROOT/docs/howto/notify.md" | grep -vE '^(<!--|```)' | sed -n "$1p"; }

@test "the lines of the documents for curl, ntfy, Slack and mail send what they should" {
    command -v curl >/dev/null || skip "curl is missing"
    command -v jq >/dev/null || skip "jq is missing"
    timeout 120 python3 "$BATS_TEST_DIRNAME/recording_server.py" "$WORK/server" </dev/null >server.log 2>&1 3>&- &
    SERVER=$!
    wait_until test -s server/port
    url=http://127.0.0.1:$(cat server/port)
    export HOME=$WORK
    mkdir -p .config/tare
    printf 'url = "%s/hook"\n' "$url" >.config/tare/hook.curl
    printf 'url = "%s/ntfy"\nheader = "Authorization: Bearer tk_mine"\n' "$url" >.config/tare/ntfy.curl
    printf 'url = "%s/slack"\n' "$url" >.config/tare/slack.curl
    printf '#!/bin/sh\nprintf "%%s\\n" "$@" >"%s/mail.args"\ncat >"%s/mail"\n' "$WORK" "$WORK" >sendmail
    chmod +x sendmail
    without_gpus
    job 'echo "see <@everyone> & more"; exit 3'
    for line in 1 2 3 4; do
        { echo '#!/bin/sh'; line_of_docs $line | sed "s;/usr/sbin/sendmail;$WORK/sendmail;"; } >told
        chmod +x told
        settings 1 '"on_event": ["~/told"]'
        run --separate-stderr tare_run
        [ "$status" -eq 1 ]
        [[ "$stderr" != *"failed for the event"* ]] || { echo "$stderr"; false; }
    done
    python3 - <<'END'
import email, email.policy, json
r = {}
for line in open("server/requests.jsonl"):
    one = json.loads(line)
    assert one["headers"]["Content-Type"] == "application/json", one
    r.setdefault(one["path"], []).append((one["headers"], json.loads(one["body"])))
# A run of one failed experiment has two events.
assert sorted((path, len(all)) for path, all in r.items()) == [("/hook", 2), ("/ntfy", 2), ("/slack", 2)], r
assert [body["event"] for _, body in r["/hook"]] == ["first_failure", "end"]
for headers, body in r["/ntfy"]:
    assert headers["Authorization"] == "Bearer tk_mine" and body["topic"] == "my-topic", body
    assert "failed" in body["title"] and "<@everyone>" in body["message"], body
for _, body in r["/slack"]:
    assert "&lt;@everyone> &amp; more" in body["text"] and "<" not in body["text"] and "failed" in body["text"], body
mail = email.message_from_binary_file(open("mail", "rb"), policy=email.policy.default)
assert mail.keys() == ["Subject", "Content-Type"] and "failed" in mail["Subject"], mail.keys()
assert mail.get_content_type() == "text/plain" and "<@everyone>" in mail.get_content(), mail.get_content()
END
    is "$(cat mail.args)" "-i
--
me@example.org"
    # A server that refuses is a failure of the line.
    printf 'url = "%s/refused"\n' "$url" >.config/tare/hook.curl
    { echo '#!/bin/sh'; line_of_docs 1; } >told
    run "$TARE" doctor --test-event settings.json
    [ "$status" -eq 1 ]
    [[ "$output" == *"exit status 22: curl: (22) "*403* ]]
}

@test "a line end in what a training prints or in a folder's name is none in the title" {
    without_gpus
    job "printf 'bad\\\\r\\\\nBcc: thief@example.org\\n'; exit 3"
    recorder
    settings 1 "$RECORDER"
    mkdir -p "results/a
Bcc: thief@example.org"
    run "$TARE" run settings.json -c registry.json -o "results/a
Bcc: thief@example.org"
    [ "$status" -eq 1 ]
    events_are 'assert len(m) == 2 and all(x["title"].isprintable() and "\r" not in x["text"] for x in m), m'
}

@test "under sudo the program runs as the calling user, with --as-root too, and with that user's configuration" {
    need_root
    without_gpus
    printf '#!/bin/sh\ncat >/dev/null\nid -u >>"%s/who"\n' "$WORK" >told.sh
    chmod 755 told.sh
    job 'echo "loss 0.5"'
    settings 1 "\"on_event\": [\"$WORK/told.sh\"]"
    setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$TARE" || { cp "$TARE" program && chmod 755 program && TARE=$WORK/program; }
    chown -R 65534:65534 "$WORK"
    as_sudo() { env SUDO_UID=65534 SUDO_GID=65534 SUDO_USER=nobody "$TARE" "$@"; }
    as_sudo run settings.json -c registry.json -o results
    as_sudo run settings.json -c registry.json -o results --as-root
    as_sudo doctor --test-event settings.json
    is "$(sort -u who)" 65534
    [ "$(wc -l <who)" -eq 3 ]
}
