# A server for a test, and what its tests share. Every server is started under a limit, and ends with its test. Load it with: load serve

load ../cli/energy
load ../cli/page

eval "machine_with_gpus_$(declare -f setup)"
setup() {
    machine_with_gpus_setup
    need_command serve
}
eval "machine_$(declare -f teardown)"
teardown() {
    stop_servers
    machine_teardown
}

stop_servers() {
    local pid
    for pid in ${SERVERS:-}; do kill -TERM "$pid" 2>/dev/null || true; done
    for pid in ${SERVERS:-}; do wait "$pid" 2>/dev/null || true; done
    SERVERS=
}

# serve ARGUMENTS...: a server on a free port, of results unless they say otherwise: $URL, $TOKEN (empty for a Unix socket), $SERVER.
serve() {
    rm -f url url.err
    case " $* " in *' --socket '* | *' --port '*) ;; *) set -- "$@" --port 0 ;; esac
    timeout --preserve-status --kill-after 5 240 "$TARE" serve "$@" >url 2>url.err </dev/null 3>&- &
    SERVER=$!
    SERVERS="${SERVERS:-} $SERVER"
    wait_until server_is_up || { cat url.err; return 1; }
    URL=$(head -n 1 url)
    TOKEN=
    case $URL in *'?token='*) TOKEN=${URL#*token=}; URL=${URL%%\?*} ;; esac
    RUN=$(cd results 2>/dev/null && echo run_*)
}
port_of_url() { sed 's/.*:\([0-9]*\)\/.*/\1/' url; }
server_is_up() { [ -s url ] || ! kill -0 "$SERVER" 2>/dev/null; }

# under_way: a run of three experiments, of which the first has ended and the second waits for the file go, and the third takes 3 s: $PID.
under_way() {
    scenario 1 "$(printf 'step %s 300\n' 0)"
    job "echo 'loss 0.5'
n=\$(cat '$WORK/count' 2>/dev/null || echo 0); echo \$((n + 1)) >'$WORK/count'
[ \$n -ne 1 ] || { echo 'the second waits'; timeout 120 sh -c \"until [ -e '$WORK/go' ]; do sleep 0.2; done\"; }
[ \$n -ne 2 ] || sleep 3"
    settings 3
    start_run
    wait_until second_is_started
}
second_is_started() { [ "$(cat "$WORK/count" 2>/dev/null)" = 2 ]; }

# made_up COUNT: a folder of a run with so many experiments, whose runner has died: of two thirds there is a result.
made_up() {
    job 'sleep 60'
    settings "$1"
    start_run
    wait_until made_up_is_started
    kill -KILL "$PID"
    wait_until lock_is_free "$(run_dir)/run.lock"
    python3 - "$(run_dir)" "$1" <<'END'
import os, sqlite3, sys
run, count = sys.argv[1], int(sys.argv[2])
db = sqlite3.connect(run + "/run.db")
for n in range(2, count * 2 // 3):
    outcome = "failed" if n % 50 == 0 else "succeeded"
    verdict = None if outcome == "failed" else ["clean", "clean", "suspect", "contaminated", "unverified"][n % 5]
    db.execute("INSERT OR REPLACE INTO experiments (number, state, outcome, attempts, retries, duration_s, error, started_realtime_ns, ended_realtime_ns,"
               " files_written, verdict, result_attempt) VALUES (?, 'done', ?, 1, 0, ?, ?, ?, ?, 1, ?, 1)",
               (n, outcome, 10 + n % 7, "exit code 1" if outcome == "failed" else None, 10**18 + n * 10**10, 10**18 + n * 10**10 + 10**9, verdict))
    if outcome == "succeeded":
        db.execute("INSERT OR REPLACE INTO experiment_metrics (experiment, name, value) VALUES (?, 'loss', ?)", (n, 1 / n))
db.commit()
END
    keep_edits "$(run_dir)"
}
made_up_is_started() { grep -qs '"attempt_started"' results/run_*/events.jsonl; }

# client LINES: python's lines with what tests/cli/serve_client.py offers, for the server at $URL.
client() {
    printf 'from serve_client import *\n%s\n' "$1" >client.py
    PYTHONPATH=$ROOT/tests/cli URL=$URL TOKEN=$TOKEN RUN=${RUN:-} SERVER=$(children_of "$SERVER" "$NAME" | head -n 1) PYTHONDONTWRITEBYTECODE=1 \
        timeout 120 python3 client.py
}
