# Servers that record, for tests of what is sent. Load it after runs or energy: load notify

eval "before_notify_$(declare -f teardown)"
teardown() {
    # shellcheck disable=SC2086 # numbers
    [ -z "${SERVERS:-}" ] || kill $SERVERS 2>/dev/null || true
    before_notify_teardown
}

# serve NAME [OPTIONS]: a server (notify_server.py) at 127.0.0.1:$PORT.
serve() {
    timeout 120 python3 "$BATS_TEST_DIRNAME/notify_server.py" "$WORK/$1" "${@:2}" </dev/null >"$WORK/$1.log" 2>&1 3>&- &
    SERVERS="${SERVERS:-} $!"
    wait_until test -s "$WORK/$1/port"
    PORT=$(cat "$WORK/$1/port")
}

# got NAME LINES: python's lines about what that server was sent: r, a list of {path, headers, body, time}.
got() {
    { echo 'import json, os, sys, re'
      echo 'r = [json.loads(x) for x in open(sys.argv[1])] if os.path.exists(sys.argv[1]) else []'
      echo "$2"; } >got.py
    python3 got.py "$WORK/$1/requests.jsonl"
}

# targets JSON...: settings of one experiment whose targets these are.
targets() {
    local IFS=,
    settings 1 "\"notify\": [$*]"
}

# delivered LINES: of notify.jsonl: d, a list of what became of each message.
delivered() {
    { echo 'import json, sys'; echo 'd = [json.loads(x) for x in open(sys.argv[1])]'; echo "$1"; } >delivered.py
    python3 delivered.py "$(run_dir)/notify.jsonl"
}
