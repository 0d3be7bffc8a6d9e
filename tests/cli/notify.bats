#!/usr/bin/env bats
# Who is told of a run: real servers and programs of this machine get what is promised, and the run never waits for them.

load energy
load notify

setup_file() { command -v python3 >/dev/null || skip "python3 is missing"; }

without_gpus() { unset TARE_NVML TARE_FAKE_NVML; }

# Processes that deliver, or that they started: those below $WORK but for the server's own.
deliverers() {
    local cwd
    for cwd in /proc/[0-9]*/cwd; do
        [ "$(readlink "$cwd" 2>/dev/null)" = "$WORK" ] || continue
        tr '\0' ' ' <"${cwd%/cwd}/cmdline" 2>/dev/null | grep -E '^[^ ]* notify --send|^sleep 473' || true
    done
}

ok_job() { without_gpus; job 'echo "loss 0.5"'; }

@test "at the end a webhook gets JSON with outcome, counts, energy and the text" {
    ok_job
    serve hook
    targets "{\"type\": \"webhook\", \"url\": \"http://127.0.0.1:$PORT/here\"}"
    tare_run
    DIR=$(run_dir) got hook '
assert len(r) == 1 and r[0]["path"] == "/here" and r[0]["headers"]["Content-Type"] == "application/json", r
m = json.loads(r[0]["body"])
assert m["event"] == "end" and m["run"] == os.environ["DIR"] and m["outcome"] == "finished", m
assert m["counts"] == {"succeeded": 1, "failed": 0, "interrupted": 0, "not_run": 0}, m
assert sum(m["verdicts"].values()) == 1, m
assert "1 succeeded" in m["title"] and os.path.basename(m["run"]) in m["title"], m
# Nothing measured is no zero.
assert m["energy"]["gpu_j"] is None and "GPU energy: not measured" in m["text"], m
assert "results: " + m["run"] in m["text"], m'
    delivered 'assert [(x["event"], x["delivered"], x["tries"], x["error"]) for x in d] == [("end", True, 1, None)], d'
}

@test "the energy that is told is the sum of the experiments, with its ±" {
    scenario 1 'step 0 200'
    job 'sleep 2; echo "loss 0.5"'
    serve hook
    targets "{\"type\": \"webhook\", \"url\": \"http://127.0.0.1:$PORT/\"}"
    tare_run
    look '
json.dump([energy["gpu"]["joules"], energy["gpu"]["half_width_j"]], open("sum.json", "w"))'
    got hook '
j, half = json.load(open("sum.json"))
m = json.loads(r[0]["body"])
assert abs(m["energy"]["gpu_j"] - j) < 1e-6 * j and abs(m["energy"]["gpu_half_width_j"] - half) < 1e-6 * j, (m, j, half)
said = re.search(r"GPU energy: ([0-9.]+) J ± ([0-9.]+) J", m["text"])
assert said and abs(float(said[1]) - j) < 0.01 * j and abs(float(said[2]) - half) < 0.05 * half, (m["text"], j, half)'
}

@test "ntfy gets the text and a title, with the token of a file; Slack gets its form, with < and & made harmless" {
    ok_job
    job 'echo "look at <@everyone> & more"; exit 3'
    serve hook
    (umask 077; echo "tk_secret_of_mine" >token; echo "http://127.0.0.1:$PORT/services/T000" >slack_url)
    targets "{\"type\": \"ntfy\", \"url\": \"http://127.0.0.1:$PORT/topic\", \"token_file\": \"$WORK/token\"}" \
        "{\"type\": \"slack\", \"url_file\": \"$WORK/slack_url\"}"
    run tare_run
    [ "$status" -eq 1 ]
    got hook '
ntfy, = [x for x in r if x["path"] == "/topic"]
slack, = [x for x in r if x["path"] == "/services/T000"]
assert ntfy["headers"]["Authorization"] == "Bearer tk_secret_of_mine" and "Authorization" not in slack["headers"], r
assert "1 failed" in ntfy["headers"]["Title"] and "failed by: 1 exit_code" in ntfy["body"], ntfy
assert "--rerun failed" in ntfy["body"] and "<@everyone>" in ntfy["body"], ntfy
text = json.loads(slack["body"])["text"]
assert "&lt;@everyone&gt; &amp; more" in text and "<@" not in text, text'
}

@test "a command gets the message on its standard input, and no shell reads its arguments" {
    ok_job
    printf '#!/bin/sh\nprintf "%%s\\n" "$@" >"%s/args"\ncat >"%s/input"\n' "$WORK" "$WORK" >told.sh
    chmod +x told.sh
    targets "{\"type\": \"command\", \"command\": [\"$WORK/told.sh\", \"\$(touch $WORK/shell)\", \"; touch $WORK/shell\"]}"
    tare_run
    is "$(cat args)" "\$(touch $WORK/shell)
; touch $WORK/shell"
    [ ! -e shell ]
    python3 -c 'import json; assert json.load(open("input"))["event"] == "end"'
}

@test "mail goes through sendmail; a line end in an id or an error starts no header and no second recipient" {
    without_gpus
    job "printf 'bad\\\\r\\\\nBcc: thief@example.org\\n'; exit 3"
    printf '#!/bin/sh\nprintf "%%s\\n" "$@" >"%s/args"\ncat >"%s/mail"\n' "$WORK" "$WORK" >sendmail
    chmod +x sendmail
    targets "{\"type\": \"mail\", \"to\": [\"me@example.org\"], \"sendmail\": \"$WORK/sendmail\", \"on\": [\"end\", \"first_failure\"]}"
    # The name of a run comes from its folder: one with a line end in it.
    mkdir -p "results/a
Bcc: thief@example.org"
    run "$TARE" run settings.json -c registry.json -o "results/a
Bcc: thief@example.org"
    [ "$status" -eq 1 ]
    is "$(cat args)" "-i
--
me@example.org"
    python3 - mail <<'END'
import email, email.header, email.policy, sys
mail = email.message_from_binary_file(open(sys.argv[1], "rb"), policy=email.policy.default)
assert mail.keys() == ["To", "Subject", "MIME-Version", "Content-Type", "Content-Transfer-Encoding", "Auto-Submitted"], mail.keys()
assert mail["To"] == "me@example.org" and "failed" in mail["Subject"], mail["Subject"]
assert mail.get_content_type() == "text/plain" and "exit_code" in mail.get_content(), mail.get_content()
END
}

@test "a title beyond ASCII reaches a header as encoded words that decode to it" {
    without_gpus
    ok_job
    serve hook
    settings 1 "\"notify\": [{\"type\": \"ntfy\", \"url\": \"http://127.0.0.1:$PORT/t\", \"on\": [\"first_failure\"]}]"
    sed -i 's/"net"/"nétz模型"/g' settings.json registry.json
    job 'exit 3'
    run tare_run
    [ "$status" -eq 1 ]
    got hook '
import email.header
title = str(email.header.make_header(email.header.decode_header(r[0]["headers"]["Title"])))
assert r[0]["headers"]["Title"].isascii() and "nétz模型" in title and title.endswith("failed"), title'
}

@test "a server that fails twice gets the message the third time, after 1 s and 4 s" {
    ok_job
    serve hook --fail 2
    targets "{\"type\": \"webhook\", \"url\": \"http://127.0.0.1:$PORT/\"}"
    tare_run
    got hook '
assert len(r) == 3 and len({x["body"] for x in r}) == 1, r
assert r[1]["time"] - r[0]["time"] >= 1 and r[2]["time"] - r[1]["time"] >= 4, r'
    delivered 'assert [(x["delivered"], x["tries"]) for x in d] == [(True, 3)], d'
}

@test "a try that gets no answer in its time is followed by another" {
    ok_job
    serve hook --hang
    targets "{\"type\": \"webhook\", \"url\": \"http://127.0.0.1:$PORT/\", \"timeout\": 1}"
    sed -i 's/"notify":/"notify_wait": 6, "notify":/' settings.json
    tare_run
    got hook 'assert len(r) >= 2 and r[1]["time"] - r[0]["time"] > 1.9, r'
}

@test "targets that never answer delay neither the run nor its end by more than notify_wait, and are warnings" {
    without_gpus
    job 'echo "loss 0.5"; exit 3'
    serve hook --hang
    settings 2 "\"notify_wait\": 2, \"notify\": [{\"type\": \"webhook\", \"url\": \"http://127.0.0.1:$PORT/\", \"on\": [\"end\", \"first_failure\"]},
        {\"type\": \"command\", \"command\": [\"sh\", \"-c\", \"sleep 473\"]}]"
    before=$(date +%s%N)
    run --separate-stderr tare_run
    took_ms=$((($(date +%s%N) - before) / 1000000))
    [ "$status" -eq 1 ]
    # 2 s, at most 2 s for what must be killed, and the run itself.
    [ "$took_ms" -lt 15000 ] || { echo "$took_ms ms"; false; }
    [[ "$stderr" == *"warning: target 1 (webhook) was not told of first_failure: "*notify_wait* ]]
    [[ "$stderr" == *"warning: target 2 (command) was not told of end: "* ]]
    delivered 'assert len(d) == 3 and not any(x["delivered"] for x in d), d'
    # The trainings did not wait for a message, which was on its way when the second began.
    python3 - "$(run_dir)/events.jsonl" <<'END'
import json, sys
events = [json.loads(x) for x in open(sys.argv[1])]
ended = [x["monotonic_ns"] for x in events if x["type"] == "experiment_ended"]
assert len(ended) == 2 and ended[1] - ended[0] < 5e9, ended
END
    # Nothing is left of them.
    is "$(deliverers)" ""
}

@test "Ctrl-C ends the wait for messages, and the run keeps its exit code and record" {
    ok_job
    serve hook --hang
    targets "{\"type\": \"webhook\", \"url\": \"http://127.0.0.1:$PORT/\"}"
    start_run
    wait_until grep -q 'Ctrl-C ends the wait' err
    kill -INT "$PID"
    SECONDS=0
    end_program
    [ "$CODE" -eq 0 ] && [ "$SECONDS" -lt 20 ]
    delivered 'assert not d[0]["delivered"], d'
}

@test "a failed attempt, evidence of contamination and a hang are told once, while the run goes on" {
    without_gpus
    job 'if [ "$TARE_EXPERIMENT" = repo_net_001 ]; then echo "loss 0.1"; sleep 60; fi; echo "no such file"; exit 3'
    serve hook
    settings 3 "\"hang_after\": 1, \"notify\": [{\"type\": \"webhook\", \"url\": \"http://127.0.0.1:$PORT/\", \"on\": [\"stuck\", \"first_failure\"]}]"
    run tare_run
    [ "$status" -eq 1 ]
    got hook '
m = {x["event"]: x for x in (json.loads(y["body"]) for y in r)}
assert len(r) == 2 and set(m) == {"stuck", "first_failure"}, r
assert m["stuck"]["experiment"] == m["first_failure"]["experiment"] == "repo_net_001", m
assert m["first_failure"]["cause"].startswith("hung: "), m
assert all("what to do: " in x["text"] and "the run goes on" in x["text"] for x in m.values()), m'
}

@test "contamination is told with what was seen and its remedy" {
    [ -z "${TARE_SANITIZED:-}" ] || skip "the library that plays clocks goes in front of the sanitizers' runtime"
    PRELOAD=${BUILD_DIR:-$ROOT/build}/tests/fault/libasleep.so
    [ -e "$PRELOAD" ] || skip "there is no $PRELOAD"
    without_gpus
    echo 0 >slept
    job 'touch began; for i in $(seq 600); do [ -e go ] && break; sleep 0.05; done; echo "loss 0.5"'
    serve hook
    targets "{\"type\": \"webhook\", \"url\": \"http://127.0.0.1:$PORT/\", \"on\": [\"contaminated\"]}"
    export LD_PRELOAD=$PRELOAD ASLEEP_FILE=$WORK/slept
    start_run
    unset LD_PRELOAD
    wait_until test -e repo/began
    echo 60000000000 >slept
    wait_until test -s hook/requests.jsonl
    touch repo/go
    end_program
    got hook '
assert len(r) == 1, r
m = json.loads(r[0]["body"])
assert m["event"] == "contaminated" and m["experiment"] == "repo_net_001", m
assert "the machine slept for 60.0 s" in m["cause"] and "what to do: " in m["text"], m'
}

@test "GPU memory that grows until it would run out is told before it does" {
    local gib=1073741824
    scenario 1 "memory_total $((40 * gib))
users $WORK/users"
    mkdir users
    job "for e in 1 2 3 4; do echo \"epoch \$e\"; for i in \$(seq 900); do [ -e $WORK/go_\$e ] && break; sleep 0.05; done; done"
    registry '"marks": {"epoch": "^epoch ([0-9]+)"}'
    serve hook
    targets "{\"type\": \"webhook\", \"url\": \"http://127.0.0.1:$PORT/\", \"on\": [\"oom_predicted\"]}"
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
    got hook '
m = json.loads(r[0]["body"])
assert len(r) == 1 and m["event"] == "oom_predicted" and "is predicted to run out of GPU memory" in m["title"], r
assert "if it goes on so, it runs out in epoch" in m["cause"], m'
}

@test "what is interrupted is told with the command that resumes it" {
    without_gpus
    job 'touch began; sleep 60'
    serve hook
    targets "{\"type\": \"webhook\", \"url\": \"http://127.0.0.1:$PORT/\"}"
    start_run
    wait_until test -e repo/began
    kill -INT "$PID"
    end_program
    [ "$CODE" -eq 130 ]
    DIR=$(run_dir) got hook '
m = json.loads(r[0]["body"])
assert m["outcome"] == "interrupted" and "run --resume " + os.environ["DIR"] in m["text"], m'
    # The session that finishes it tells the same targets.
    job 'echo "loss 0.5"'
    "$TARE" run --resume "$(run_dir)"
    got hook 'm = json.loads(r[1]["body"]); assert len(r) == 2 and m["outcome"] == "finished", r'
    delivered 'assert [x["delivered"] for x in d] == [True, True], d'
}

@test "TLS is verified: a server with a certificate of an unknown authority gets nothing, with ca_file it is told" {
    command -v openssl >/dev/null || skip "openssl is missing"
    ok_job
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 \
        -keyout key.pem -out ca.pem 2>/dev/null
    cat key.pem ca.pem >both.pem
    serve hook --certificate "$WORK/both.pem"
    targets "{\"type\": \"webhook\", \"url\": \"https://127.0.0.1:$PORT/unknown\"}" \
        "{\"type\": \"webhook\", \"url\": \"https://127.0.0.1:$PORT/known\", \"ca_file\": \"$WORK/ca.pem\"}" \
        "{\"type\": \"webhook\", \"url\": \"https://localhost:$PORT/name\", \"ca_file\": \"$WORK/ca.pem\"}"
    run --separate-stderr tare_run
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"target 1 (webhook) was not told of end: "*ertificate* || "$stderr" == *"target 1 (webhook) was not told of end: SSL"* ]]
    got hook 'assert [x["path"] for x in r] == ["/known"], r'
    delivered 'assert [(x["delivered"], x["tries"]) for x in d] == [(False, 1), (True, 1), (False, 1)], d'
}

@test "a redirect is not followed, and says so" {
    ok_job
    serve other
    serve hook --redirect "http://127.0.0.1:$PORT/elsewhere"
    targets "{\"type\": \"webhook\", \"url\": \"http://127.0.0.1:$PORT/\"}"
    run --separate-stderr tare_run
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"the server answered 302: it redirects, which is not followed"* ]]
    [ ! -e other/requests.jsonl ]
}

@test "secrets are in no file of the run, no message and no command line" {
    without_gpus
    job 'touch began; for i in $(seq 600); do [ -e go ] && break; sleep 0.05; done; exit 3'
    serve hook --hang
    (umask 077; echo "http://127.0.0.1:$PORT/services/S3cretUrlPath" >url)
    export MY_TOKEN=S3cretToken
    targets "{\"type\": \"slack\", \"url_file\": \"$WORK/url\", \"on\": [\"end\"]}" \
        "{\"type\": \"ntfy\", \"url\": \"http://127.0.0.1:$PORT/t\", \"token_env\": \"MY_TOKEN\", \"on\": [\"end\"]}"
    sed -i 's/"notify":/"notify_wait": 12, "notify":/' settings.json
    start_run
    wait_until test -e repo/began
    touch repo/go
    wait_until test -s hook/requests.jsonl
    # While both are on their way.
    [ -n "$(deliverers)" ]
    cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' ' ' >cmdlines
    if grep S3cret cmdlines; then false; fi
    end_program
    got hook 'assert any("S3cretUrlPath" in x["path"] for x in r) and any("S3cretToken" in str(x["headers"]) for x in r), r'
    if grep -r S3cret out err; then false; fi
    # MY_TOKEN itself is in the environment of the trainings, as the user's whole environment is; nothing records it.
    if grep -rl S3cret "$(run_dir)"; then false; fi
}

@test "a literal secret in the settings is refused, with what to use instead, and nothing is run" {
    ok_job
    refused() { # TARGET WORDS
        targets "$1"
        run tare_run
        [ "$status" -eq 2 ] || { echo "$output"; false; }
        [[ "$output" == *"$2"* ]] || { echo "$output"; false; }
        [[ "$output" != *S3cret* ]] || { echo "$output"; false; }
        [ ! -e results ]
    }
    refused '{"type": "ntfy", "url": "https://ntfy.sh/t", "token": "S3cret"}' 'give token_file or token_env'
    refused '{"type": "ntfy", "url": "https://ntfy.sh/t", "password": "S3cret"}' 'give token_file or token_env'
    refused '{"type": "webhook", "url": "https://me:S3cret@example.org/"}' 'url_file'
    refused '{"type": "webhook", "url": "https://example.org/?key=S3cret"}' 'url_file'
    refused '{"type": "slack", "url": "https://hooks.slack.com/services/S3cret"}' 'url_file'
    refused '{"type": "webhook", "url": "https://hooks.slack.com/services/S3cret"}' 'url_file'
    refused '{"type": "webhook", "url": "ftp://example.org/"}' 'https:// or http://'
    settings 1 '"otlp": {"endpoint": "https://me:S3cret@example.org"}'
    run tare_run
    [ "$status" -eq 2 ]
    [[ "$output" == *'headers_file or headers_env'* && "$output" != *S3cret* ]]
}

@test "mistakes in a target are named with their place" {
    ok_job
    refused() {
        targets "$1"
        run tare_run
        [ "$status" -eq 2 ] && [[ "$output" == *"settings.json:"*"$2"* ]] || { echo "$output"; false; }
    }
    refused '{"url": "https://example.org/"}' "'type' is missing"
    refused '{"type": "webhok", "url": "https://example.org/"}' 'did you mean'
    refused '{"type": "webhook"}' "one of 'url', 'url_file' and 'url_env' is needed"
    refused '{"type": "command"}' "'command' is missing"
    refused '{"type": "mail"}' "'to' is missing"
    refused '{"type": "mail", "to": "-oQ/tmp me@example.org"}' 'expected plain addresses'
    refused '{"type": "webhook", "url": "https://example.org/", "on": ["ends"]}' 'did you mean'
    refused '{"type": "webhook", "url": "https://example.org/", "token_file": "token"}' 'begins with / or ~/'
    refused '{"type": "command", "command": ["x"], "url": "https://example.org/"}' 'does not take it'
}

@test "a token file that others may read is not used: the run goes on, and the warning says chmod" {
    ok_job
    serve hook
    echo tk_secret >token
    chmod 644 token
    targets "{\"type\": \"ntfy\", \"url\": \"http://127.0.0.1:$PORT/t\", \"token_file\": \"$WORK/token\"}"
    run tare_run
    [ "$status" -eq 0 ]
    [[ "$output" == *"target 1 (ntfy) will not be told: $WORK/token holds a secret and others may read it (mode 0644): chmod 600 $WORK/token"* ]]
    [ ! -e hook/requests.jsonl ]
    delivered 'assert not d[0]["delivered"] and "chmod 600" in d[0]["error"], d'
}

@test "a token is not sent without TLS to another machine" {
    ok_job
    (umask 077; echo tk_secret >token)
    targets "{\"type\": \"ntfy\", \"url\": \"http://192.0.2.1/t\", \"token_file\": \"$WORK/token\"}"
    run tare_run
    [[ "$output" == *"a token is not sent without encryption"* ]]
}

@test "the user's configuration tells of every run; one that others may write is refused" {
    ok_job
    serve hook
    settings 1
    mkdir -p "config/$NAME"
    echo "{\"notify\": [{\"type\": \"webhook\", \"url\": \"http://127.0.0.1:$PORT/mine\"}]}" >"config/$NAME/config.json"
    tare_run
    got hook 'assert [x["path"] for x in r] == ["/mine"], r'
    delivered 'assert d[0]["target"].startswith("target 1 (webhook) of "), d'
    chmod go+w "config/$NAME/config.json"
    run tare_run
    [ "$status" -eq 2 ]
    [[ "$output" == *"not writable by others: chmod go-w"* ]]
    chmod go-w "config/$NAME/config.json"
    echo '{"notifi": []}' >"config/$NAME/config.json"
    run tare_run
    [ "$status" -eq 2 ]
    [[ "$output" == *"did you mean 'notify'"* ]]
}

@test "notify tries each target once and says what came of it" {
    serve hook
    without_gpus
    job 'exit 9'
    targets "{\"type\": \"webhook\", \"url\": \"http://127.0.0.1:$PORT/\"}" '{"type": "command", "command": ["false"]}'
    run "$TARE" notify settings.json
    [ "$status" -eq 1 ]
    is "$output" "target 1 (webhook): delivered
target 2 (command): not delivered: false: exit code 1"
    got hook 'assert len(r) == 1 and json.loads(r[0]["body"])["event"] == "test", r'
    targets "{\"type\": \"webhook\", \"url\": \"http://127.0.0.1:$PORT/\"}"
    "$TARE" notify settings.json
    settings 1
    run "$TARE" notify settings.json
    [ "$status" -eq 2 ]
    [[ "$output" == *"no target"* ]]
}

@test "under sudo what is told is told as the calling user" {
    need_root
    without_gpus
    printf '#!/bin/sh\ncat >/dev/null\nid -u >"%s/who"\n' "$WORK" >told.sh
    chmod 755 told.sh
    job 'echo "loss 0.5"'
    targets "{\"type\": \"command\", \"command\": [\"$WORK/told.sh\"]}"
    setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$TARE" || { cp "$TARE" program && chmod 755 program && TARE=$WORK/program; }
    chown -R 65534:65534 "$WORK"
    env SUDO_UID=65534 SUDO_GID=65534 SUDO_USER=nobody "$TARE" run settings.json -c registry.json -o results
    is "$(cat who)" 65534
}
