#!/usr/bin/env bats
# Runs as live pages over HTTP: who may look and who may not, what is answered, the streams of events, and that it only reads.
load serve
load page

# What is in the runs' folders, but for what the runner itself writes.
files() { find results ! -name live.json ! -name '.writing-*' ! -name 'run.db*' ! -path '*/energy*' ! -name '*.log' ! -name '*.csv' | sort; }

@test "the overview, a run and its JSON are answered, and nothing else; the folders stay as they were" {
    under_way
    serve results
    before=$(files)
    client '
for path in ("/", "/run/" + RUN, "/assets/page.js", "/assets/page.css", "/api/runs", "/api/run/" + RUN, "/run/%s/experiment/1" % RUN, "/run/%s/log/2" % RUN):
    assert status(path) == 200, path
    assert status(path, "HEAD") == 200 and ask(path, "HEAD").body == b"", path
assert status("/events", "HEAD") == 200 and status("/run/%s/events" % RUN, "HEAD") == 200
for path in ("/run", "/run/", "/api", "/api/run/", "/api/run/none", "/run/none", "/run/none/events", "/run/%s/run.db" % RUN, "/run/%s/settings.json" % RUN, "/run/%s/experiment/0" % RUN,
             "/run/%s/experiment/4" % RUN, "/run/%s/experiment/1x" % RUN, "/run/%s/log/99999999999999999999" % RUN, "/metrics", "/favicon.ico", "/" + "a" * 5000):
    assert status(path) == 404, path
for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
    assert status("/", method) == 405 and status("/api/runs", method) == 405, method
runs = ask("/api/runs").json()["runs"]
assert [run["run"] for run in runs] == [RUN] and runs[0]["state"] == "under_way" and runs[0]["counts"]["experiments"] == 3, runs
run = ask("/api/run/" + RUN).json()
assert [row["number"] for row in run["experiments"]] == [1, 2, 3] and run["counts"]["succeeded"] == 1, run
end = time.monotonic() + 20
while "the second waits" not in (ask("/run/%s/log/2" % RUN).json()["log_end"] or ""):
    assert time.monotonic() < end
    time.sleep(0.2)
assert ask("/run/%s/experiment/1" % RUN).json()["experiment_id"] == "repo_net_001"
'
    is "$(files)" "$before"
}

@test "what is under way is never called clean, and what was not read is null, not 0" {
    unset TARE_NVML
    job 'echo "loss 0.5"; timeout 120 sh -c "until [ -e '"$WORK"'/go ]; do sleep 0.2; done"'
    settings 1
    start_run
    wait_until made_up_is_started
    serve results
    client '
row, = ask("/api/run/" + RUN).json()["experiments"]
assert row["verdict"] != "clean" and row["verdict_text"] in ("no evidence", "evidence recorded", "suspect", "unverified"), row
assert row["gpu_j"] is None and row["duration_s"] is None, row
summary, = ask("/api/runs").json()["runs"]
assert summary["energy"] == {"gpu_j": None, "measured": 0, "ended": 0} and summary["power_w"] is None and summary["counts"]["clean"] == 0, summary
for slot in ask("/api/run/" + RUN).json()["slots"]:
    assert slot["power_w"] is None and slot["temperature_c"] is None and slot["memory_bytes"] is None, slot
'
}

@test "every answer has the headers that keep a page from more than it should, and names nothing from elsewhere" {
    under_way
    serve results
    client '
import re
for path in ("/", "/run/" + RUN, "/api/runs", "/assets/page.js", "/none"):
    answer = ask(path)
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src \u0027none\u0027" in policy and "unsafe" not in policy and "frame-ancestors \u0027none\u0027" in policy, policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff" and answer.headers["Referrer-Policy"] == "no-referrer"
    assert "Access-Control-Allow-Origin" not in answer.headers and "Set-Cookie" not in answer.headers
for path in ("/", "/run/" + RUN):
    html = ask(path).text()
    assert not re.search(r"(src|href)=.(https?:)?//", html) and not re.search(r"<script(?![^>]*(src=|application/json))", html), html
    assets = [asset.replace("&amp;", "&") for asset in re.findall(r"(?:src|href)=.(/assets/[^\"]*)", html)]
    assert len(assets) == 2 and all(ask(asset, token="").status == 200 and "immutable" in ask(asset, token="").headers["Cache-Control"] for asset in assets), assets
assert ask("/").headers["Cache-Control"] == "no-store"
'
}

@test "on loopback a request for another host is refused, so that no page can reach it by rebinding its name" {
    under_way
    serve results
    client '
port = str(parts.port)
for host in ("localhost", "localhost:" + port, "127.0.0.1:" + port, "[::1]:1234", "LOCALHOST:9000"):
    assert status("/api/runs", Host=host) == 200, host
for host in ("evil.example", "evil.example:" + port, "localhost.evil.example", "127.0.0.1.evil.example", "localhost:80@evil.example", "127.0.0.2", "localhost:x"):
    for path in ("/", "/api/runs", "/events", "/none"):
        assert status(path, Host=host) == 403, (host, path)
raw = socket.create_connection((parts.hostname, parts.port), 10)
raw.sendall(b"GET /api/runs HTTP/1.0\r\n\r\n")
assert b" 403 " in raw.recv(100)
'
}

@test "a stream begins with everything, goes on with what is new, and takes up where a viewer was" {
    under_way
    serve results
    client '
stream = Stream("/run/%s/events" % RUN)
assert stream.status == 200 and stream.headers["Content-Type"] == "text/event-stream"
first = stream.next()
assert first[1] == "run" and first[2]["full"] and [row["number"] for row in first[2]["experiments"]] == [1, 2, 3], first
open("go", "w").close()
seen = []
def see(data): # what a session that ends says of all is not asked for here
    if data["state"] == "under_way" and data["counts"]["succeeded"] < 3:
        assert not data["full"]
        seen.extend(row["number"] for row in data["experiments"])
    return data["counts"]["succeeded"] == 3
done = stream.until(see, 60)
assert 2 in seen and 1 not in seen, seen
if done[2]["state"] != "ended":
    stream.until(lambda data: data["state"] == "ended", 60)
stream.close()
# With the id of what was seen: only what is behind it. With that of another server, or nonsense: everything.
again = Stream("/run/%s/events?since=%s" % (RUN, first[0])).next()[2]
assert not again["full"] and {row["number"] for row in again["experiments"]} >= {2, 3}, again
time.sleep(1)
last = Stream("/run/%s/events" % RUN).next()
nothing = Stream("/run/%s/events?since=%s" % (RUN, last[0])).next()[2]
assert nothing["experiments"] == [] and nothing["events"] == [] and nothing["state"] == "ended", nothing
for since in ("0123456789abcdef-3", "x", "-1", last[0].split("-")[0] + "-99999", last[0] + "9" * 30, "%00", "%0a"):
    assert Stream("/run/%s/events?since=%s" % (RUN, since)).next()[2]["full"], since
assert Stream("/events").next()[2]["runs"][0]["state"] == "ended"
'
    end_program
}

@test "the overview's stream tells of a run that begins, goes on and goes away" {
    mkdir results
    serve results
    scenario 1
    job 'echo loss 0.5'
    settings 2
    cat >watch.py <<'PY'
from serve_client import *
import glob, shutil
stream = Stream("/events")
assert stream.next()[2]["runs"] == []
open("watching", "w").close()
stream.until(lambda data: any(run.get("counts", {}).get("succeeded") == 2 and run["state"] == "ended" for run in data["runs"]), 60)
name = os.path.basename(glob.glob("results/run_*")[0])
shutil.rmtree("results/" + name)
gone = stream.until(lambda data: data["gone"], 30)
assert gone[2]["gone"] == [name], gone
assert status("/run/" + name) == 404
PY
    PYTHONPATH=$ROOT/tests/cli URL=$URL TOKEN=$TOKEN PYTHONDONTWRITEBYTECODE=1 timeout 120 python3 watch.py >watch.out 2>&1 </dev/null 3>&- &
    watcher=$!
    wait_until test -e watching
    tare_run -q >/dev/null 2>&1
    wait "$watcher" || { cat watch.out; false; }
}

@test "fifty viewers get the same text, and cost little; each further stream is refused beyond the limit" {
    under_way
    serve results
    client '
path = "/run/%s/events" % RUN
viewers = [Stream(path) for n in range(50)]
for viewer in viewers:
    assert viewer.next()[2]["full"]
pid = int(os.environ["SERVER"])
got = [viewer.next() for viewer in viewers]
before, begin = cpu_seconds(pid), time.monotonic()
got = [[viewer.until(lambda data: True) for n in range(8)] for viewer in viewers]
took, used = time.monotonic() - begin, cpu_seconds(pid) - before
told = "%.2f %% of a core" % (100 * used / took)
print(told)
assert used / took < 0.05, told # on an idle machine below 1 %
ids = [{event[0] for event in one} for one in got]
assert len(set.intersection(*ids)) >= 5, "the viewers saw different things"
for number in set.intersection(*ids):
    assert len({json.dumps(event[2]) for one in got for event in one if event[0] == number}) == 1
more = []
while len(more) < 300:
    stream = Stream(path)
    if stream.status != 200:
        break
    more.append(stream)
assert stream.status == 503 and len(viewers) + len(more) == 256, len(more)
assert status("/api/runs") == 200
'
}

@test "a viewer that takes nothing costs no memory without bound, and the others go on" {
    made_up 3000
    serve results
    client '
slow = []
for n in range(20):
    link = socket.socket()
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    link.settimeout(10)
    link.connect((parts.hostname, parts.port))
    link.sendall(("GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % with_token("/run/%s/events" % RUN)).encode())
    slow.append(link)
pid = int(os.environ["SERVER"])
# A server that waits for a slow viewer waits for ever.
assert ask("/api/runs", timeout=60).status == 200
assert Stream("/run/%s/events" % RUN).next()[2]["full"]
resident = int(next(line for line in open("/proc/%d/status" % pid) if line.startswith("VmRSS")).split()[1]) / 1024
assert resident < (1200 if os.environ.get("TARE_SANITIZED") else 200), resident
for link in slow:
    link.close()
assert ask("/api/runs", timeout=60).status == 200
'
}

@test "SIGINT and SIGTERM end it at once, with streams open, and the socket's file goes" {
    under_way
    for signal in INT TERM; do
        serve results --socket here.sock
        rm -f watching
        URL=$WORK/here.sock RUN=$(basename "$(run_dir)") PYTHONPATH=$ROOT/tests/cli PYTHONDONTWRITEBYTECODE=1 timeout 60 python3 -c '
from serve_client import *
streams = [Stream("/events"), Stream("/run/%s/events" % RUN)]
for stream in streams:
    stream.next()
open("watching", "w").close()
while streams[0].next():
    pass
' </dev/null >/dev/null 2>&1 3>&- &
        watcher=$!
        wait_until test -e watching
        begin=$SECONDS code=0
        kill -"$signal" "$(children_of "$SERVER" "$NAME" | head -n 1)"
        wait "$SERVER" || code=$?
        [ $((SECONDS - begin)) -lt 5 ]
        is "$code" $([ $signal = INT ] && echo 130 || echo 143)
        [ ! -e here.sock ]
        wait "$watcher" || true
    done
}

@test "a Unix socket is for its owner alone, answers like the rest, and takes the place of one that a killed server left" {
    under_way
    serve results --socket here.sock
    URL=$WORK/here.sock
    is "$(stat -c %a here.sock)" 600
    client 'assert status("/api/runs") == 200 and status("/api/runs", Host="evil.example") == 403'
    run -3 timeout 20 "$TARE" serve results --socket here.sock
    [[ "$output" == *"another server listens there"* ]]
    kill -KILL "$(children_of "$SERVER" "$NAME" | head -n 1)"
    wait "$SERVER" || true
    [ -S here.sock ]
    serve results --socket here.sock
    URL=$WORK/here.sock
    client 'assert status("/api/runs") == 200'
    echo precious >file.sock
    run -3 timeout 20 "$TARE" serve results --socket file.sock
    is "$(cat file.sock)" precious
}

@test "every address needs the token: pages, their parts, streams, JSON and files; only the token itself is one" {
    under_way
    touch go
    end_program
    serve results
    [[ "$TOKEN" =~ ^[0-9a-f]{40}$ ]]
    client '
import re
paths = ["/", "/run/" + RUN, "/api/runs", "/api/run/" + RUN, "/events", "/run/%s/events" % RUN, "/assets/page.js", "/assets/page.css", "/run/%s/log/1" % RUN,
         "/run/%s/experiment/1" % RUN, "/run/%s/report.html" % RUN, "/none"]
for path in paths:
    for wrong in ("", "x", TOKEN[:-1], TOKEN + "0", TOKEN[:-1] + ("0" if TOKEN[-1] != "0" else "1"), TOKEN.upper() + "%20", TOKEN * 100):
        assert status(path, token=wrong) == 401, (path, wrong)
        assert TOKEN not in ask(path, token=wrong).text()
    assert status(path, token="", Authorization="Bearer " + TOKEN) == 401 and status(path, token="", Cookie="token=" + TOKEN) == 401
# What a page names of the server has the token; the token of its report opens that report, and nothing else.
for path in ("/", "/run/" + RUN):
    for name in re.findall(r"(?:src|href)=.(/[^\"]*)", ask(path).text()):
        assert status(name.replace("&amp;", "&"), token="") == 200, name
head = json.loads(re.search(r"id=.head.>(.*?)</script>", ask("/run/" + RUN).text(), re.S)[1])
assert head["token"] == TOKEN and head["report_token"] != TOKEN, head
for path in paths:
    expected = 200 if path.endswith("report.html") else 401
    assert status(path, token=head["report_token"]) == expected, path
assert status("/run/%s/report.html" % RUN) == 401
assert status("/run/none/report.html", token=head["report_token"]) == 401
'
}

@test "the token stays from start to start in a file of mode 0600, until --new-token replaces it" {
    mkdir results
    serve results
    first=$TOKEN file=$XDG_STATE_HOME/tare/runs/serve-token
    is "$(stat -c %a "$file") $(cat "$file")" "600 $TOKEN"
    serve results
    is "$TOKEN" "$first"
    serve results --new-token
    [ "$TOKEN" != "$first" ]
    is "$(stat -c %a "$file") $(cat "$file")" "600 $TOKEN"
    client "assert status('/') == 200 and status('/', token='$first') == 401"
    run -2 timeout 20 "$TARE" serve results --socket here.sock --new-token
}

@test "a token file that is a link, another user's, readable by others or damaged is refused, and --new-token replaces it" {
    mkdir results
    serve results
    file=$XDG_STATE_HOME/tare/runs/serve-token
    refused() {
        run -3 timeout 20 "$TARE" serve results --port 0
        [[ "$output" == *"--new-token replaces"*"$1"* ]]
        serve results --new-token
        is "$(stat -c '%a %F' "$file")" "600 regular file"
    }
    chmod 640 "$file"
    refused "its mode is 0640"
    mv "$file" kept
    ln -s "$WORK/kept" "$file"
    refused "symbolic link"
    is "$(wc -c <kept)" 41
    printf '%040d' 0 >"$file"
    refused "does not hold a token"
    printf '%s\n' 'g0000000000000000000000000000000000000000' >"$file"
    refused "does not hold a token"
    [ "$(id -u)" -ne 0 ] || { chown 1 "$file"; refused "belongs to another user"; }
}

@test "no request changes anything" {
    under_way
    serve results
    client '
for what in ("pause", "continue", "stop", "skip/2"):
    path = "/run/%s/ask/%s" % (RUN, what)
    assert status(path) == 404 and status(path, "POST") == 405, what
try: # a body is part of no request
    assert status("/", "POST", body=b"x" * 100000) == 405
except OSError:
    pass
assert not os.path.exists("results/%s/control.json" % RUN)
'
}

@test "no link in the folders is followed, and no path leads out of a run" {
    under_way
    touch go
    end_program
    mkdir elsewhere
    echo secret >elsewhere/secret.txt
    echo secret >elsewhere/training.log
    cp -r "$(run_dir)" elsewhere/run_copy
    ln -sf "$WORK/elsewhere/secret.txt" "$(run_dir)/report.html"
    ln -sf "$WORK/elsewhere/secret.txt" "$(run_dir)/repo_net_001/training.log"
    rm -rf "$(run_dir)/repo_net_002"
    ln -s "$WORK/elsewhere" "$(run_dir)/repo_net_002"
    real=$(basename "$(run_dir)")
    ln -s "$WORK/elsewhere" results/run_link
    ln -s "$WORK/elsewhere/run_copy" results/run_linked
    serve results
    RUN=$real
    client '
assert [run["run"] for run in ask("/api/runs").json()["runs"]] == [RUN]
for path in ("log/1", "log/2", "experiment/1", "experiment/2"):
    assert b"secret" not in ask("/run/%s/%s" % (RUN, path)).body, path
assert status("/run/%s/report.html" % RUN, token=report_token(RUN)) == 404
for path in ("/run/..", "/run/../elsewhere", "/run/%2e%2e/events", "/run/%2e%2e%2felsewhere", "/run/..%2f..%2fetc%2fpasswd", "/run/{0}/../../elsewhere/secret.txt", "/run/{0}/%2e%2e/secret.txt", "/run/{0}/report.html/../../x",
             "//etc/passwd", "/run/run_link", "/run/run_linked", "/run/%00", "/run/.", "/run/{0}/log/../1", "/assets/../../etc/passwd", "/run/%ff", "/run/a%0ab"):
    answer = ask(path.format(RUN))
    assert answer.status == 404, (path, answer.status)
    assert b"secret" not in answer.body and b"root:" not in answer.body, path
'
}

@test "the report of a run is shown in an origin of its own, since whoever wrote there chose what it does" {
    under_way
    touch go
    end_program
    serve results
    client '
answer = ask("/run/%s/report.html" % RUN, token=report_token(RUN))
policy = answer.headers["Content-Security-Policy"]
assert answer.headers["Referrer-Policy"] == "no-referrer"
assert answer.status == 200 and policy.startswith("sandbox allow-scripts;") and "allow-same-origin" not in policy and "connect-src" not in policy, policy
assert answer.body == open("results/%s/report.html" % RUN, "rb").read()
'
}

@test "a run that cannot be read is said, by name, and the others are shown" {
    under_way
    touch go
    end_program
    mkdir results/run_broken results/run_torn
    echo '{"no": "event"}' >results/run_broken/events.jsonl
    cp "$WORK"/results/run_2*/events.jsonl results/run_torn/
    head -c 4000 /dev/urandom >results/run_torn/run.db
    serve results
    client '
runs = {run["run"]: run for run in ask("/api/runs").json()["runs"]}
assert len(runs) == 3, runs
assert runs["run_broken"]["state"] == "unreadable" and runs["run_broken"]["error"], runs
assert runs["run_torn"]["state"] == "unreadable"
assert [run["state"] for name, run in runs.items() if name.startswith("run_2")] == ["ended"]
assert status("/run/run_broken") == 500
'
}

@test "it goes on when the reader of its output is gone, and not where nobody learns the address" {
    mkdir results
    mkfifo said
    timeout --preserve-status --kill-after 5 60 "$TARE" serve results --port 0 >said 2>/dev/null </dev/null 3>&- &
    SERVERS=$!
    head -n 1 said >url
    URL=$(cat url)
    TOKEN=${URL#*token=} PYTHONPATH=$ROOT/tests/cli URL=$URL PYTHONDONTWRITEBYTECODE=1 timeout 20 python3 -c 'from serve_client import *; assert status("/api/runs") == 200'
    code=0
    timeout --preserve-status 20 "$TARE" serve results --port 0 >/dev/full 2>err </dev/null || code=$?
    is "$code" 3
}

@test "options that do not go together, and folders that are not there, are mistakes" {
    mkdir results
    for words in "--socket s --port 1" "--token" "--listen ::1" "--insecure" "--tls-cert a" "--tls-key a" "--control" "--port 70000" "--port -1" "--lang fr"; do
        # shellcheck disable=SC2086
        run -2 timeout 20 "$TARE" serve results $words
    done
    run -3 timeout 20 "$TARE" serve nowhere --port 0
    [[ "$output" == *nowhere* ]]
    run -3 timeout 20 "$TARE" serve results --socket "$(printf 'x%.0s' {1..200})"
}

@test "a port that is taken is an error where it was asked for, and else another one is taken" {
    mkdir results
    serve results
    port=$(port_of_url)
    run -3 timeout 20 "$TARE" serve results --port "$port"
    [[ "$output" == *"port $port"* ]]
}

@test "a libmicrohttpd that is missing is an error before anything is served; nothing else needs it" {
    mkdir results libraries
    echo none > libraries/libmicrohttpd.so.12
    export LD_LIBRARY_PATH=$WORK/libraries
    run -3 timeout 20 "$TARE" serve results --port 0
    [[ "$output" == *"libmicrohttpd.so.12"*"install it (Debian: libmicrohttpd12)"* ]]
    "$TARE" exec -- true
    run ! grep -q 'NEEDED.*microhttpd' <(readelf -d "$TARE")
    grep -q '"soname":\["libmicrohttpd.so.12"\]' <(strings "$TARE")
}
