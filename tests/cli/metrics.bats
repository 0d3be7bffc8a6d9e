#!/usr/bin/env bats
# Metrics of runs: the file for node_exporter, read by promtool, by Debian's python3-prometheus-client and by a real Prometheus; the Grafana
# dashboard, the alerts and the table of the documents.
load energy

PRINT=${BUILD_DIR:-$ROOT/build}/tests/unit/print_metrics

eval "energy_$(declare -f setup)"
setup() {
    energy_setup
    export PATH=/usr/bin:$PATH # the packages' python3
    SERVERS=()
    [ -x "$PRINT" ] || skip "print_metrics is not built ($PRINT)"
}

teardown() {
    local pid
    [ -z "${PID:-}" ] || kill -KILL "$PID" 2>/dev/null || true
    # TERM: timeout passes it on, waits, and kills a second later; KILL to it alone would leave the server.
    for pid in "${SERVERS[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
    for pid in "${SERVERS[@]}"; do wait "$pid" 2>/dev/null || true; done
    for pid in "${SERVERS[@]}"; do
        if pgrep -r D,R,S,T -g "$pid" >/dev/null; then echo "left running: $(pgrep -ag "$pid")"; return 1; fi
    done
    cd /
    [ -z "$WORK" ] || rm -rf "$WORK"
}

need() { command -v "$1" >/dev/null || skip "$1 is missing ('make setup FOR=check' installs it)"; }

# in_background FILE COMMAND...: for at most a minute, its output in FILE; ended by teardown.
in_background() {
    local output=$1
    shift
    timeout -k 1 60 "$@" </dev/null >"$output" 2>&1 3>&- &
    SERVERS+=($!)
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
answers() { python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=5)' "$1" 2>/dev/null; }

# One file's worth of samples: value FILE NAME [LABEL=VALUE]...: the one sample that has these; "none", or "2 samples". Read by the package's
# own parser, which refuses what is not the text format 0.0.4.
value() {
    python3 - "$@" <<'END'
import sys
from prometheus_client.parser import text_string_to_metric_families as parse
want = dict(pair.split("=", 1) for pair in sys.argv[3:])
found = [s.value for f in parse(open(sys.argv[1], encoding="utf-8", newline="").read()) for s in f.samples
         if s.name == sys.argv[2] and want.items() <= s.labels.items()]
print("none" if not found else found[0] if len(found) == 1 else "%d samples" % len(found))
END
}
need_parser() { [ -e /usr/lib/python3/dist-packages/prometheus_client ] || skip "python3-prometheus-client is missing"; }

# serve_metrics COMMAND: what print_metrics COMMAND prints is at $URL/metrics, anew for each request; "N" in it is the number of the request.
serve_metrics() {
    local port
    port=$(free_port)
    URL=http://127.0.0.1:$port
    cat >server.py <<'END'
import http.server, subprocess, sys
requests = 0
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        global requests
        requests += 1
        body = subprocess.run([str(requests) if a == "N" else a for a in sys.argv[2:]], capture_output=True, timeout=20).stdout
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
END
    in_background served python3 server.py "$port" "$PRINT" "$@"
    wait_until answers "$URL/metrics"
}

# A Prometheus with its own storage that scrapes $URL every second: $PROMETHEUS.
start_prometheus() {
    local port
    need prometheus
    port=$(free_port)
    PROMETHEUS=http://127.0.0.1:$port
    cat >prometheus.yml <<END
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs: [{job_name: tare, static_configs: [{targets: ["${URL#http://}"]}]}]
END
    promtool check config prometheus.yml >/dev/null
    in_background prometheus.log prometheus --config.file=prometheus.yml --storage.tsdb.path=storage --web.listen-address="${PROMETHEUS#http://}"
    wait_until answers "$PROMETHEUS/-/ready"
}

# ask EXPRESSION: Prometheus' answer: the value of the one series; "none", or "N series". An expression that it refuses fails.
ask() {
    python3 - "$PROMETHEUS" "$1" <<'END'
import json, sys, urllib.error, urllib.parse, urllib.request
try:
    answer = json.load(urllib.request.urlopen(sys.argv[1] + "/api/v1/query?" + urllib.parse.urlencode({"query": sys.argv[2]}), timeout=10))
except urllib.error.HTTPError as error:
    sys.exit("%s: %s" % (sys.argv[2], json.load(error)["error"]))
found = answer["data"]["result"]
print("none" if not found else found[0]["value"][1] if len(found) == 1 else "%d series" % len(found))
END
}
answer_is() { [ "$(ask "$1")" = "$2" ]; }
answer_differs() { [ "$(ask "$1")" != "$2" ]; }

# What the attempts of the run used of the GPUs, as its events have it, and how many these are.
used() {
    events attempt_ended | python3 -c '
import json, sys
energy = [json.loads(line)["energy"]["gpu"]["joules"] for line in sys.stdin]
print(round(sum(energy), 6), len(energy))'
}
rounded() { python3 -c 'import sys; print(round(float(sys.argv[1]), 6))' "$1"; }

@test "the file of a run has what its records say, may be read by others, and holds against promtool" {
    need_parser
    scenario 1 'step 0 150'
    job 'sleep 1.5; echo "loss 0.5"; [ "$2" != 1 ]'
    settings 2
    umask 077
    timeout 60 "$TARE" run settings.json -c registry.json -o results --metrics-textfile run.prom >out 2>err
    is "$(stat -c %a run.prom)" 644
    run=$(basename "$(run_dir)")
    read -r joules attempts <<<"$(used)"
    is "$attempts" 2
    is "$(rounded "$(value run.prom tare_run_energy_joules_total component=gpu)")" "$joules"
    is "$(rounded "$(value run.prom tare_model_energy_joules_total repository=repo model=net)")" "$joules"
    # By another way, too: the table of the results.
    is "$(summary energy_gpu_total_joules | python3 -c 'import sys; print(round(sum(map(float, sys.stdin)), 1))')" \
        "$(python3 -c 'import sys; print(round(float(sys.argv[1]), 1))' "$joules")"
    is "$(value run.prom tare_run_state "run=$run" state=ended)" 1.0
    is "$(value run.prom tare_run_experiments state=succeeded)" 2.0
    is "$(value run.prom tare_run_info outcome=finished)" 1.0
    # This machine has no energy counter of its CPU.
    is "$(value run.prom tare_run_energy_joules_total component=cpu)" none
    is "$(value run.prom tare_slot_power_watts)" none
    if command -v promtool >/dev/null; then is "$(promtool check metrics <run.prom 2>&1)" ""; fi
    is "$(find . -maxdepth 1 -name '.writing-*')" ""
}

@test "a retry and a repeated experiment add to the energy, and nothing takes it back" {
    need_parser
    scenario 1 'step 0 150'
    job "sleep 1.2; echo 'loss 0.5'; [ -e '$WORK/tried' ] || { touch '$WORK/tried'; exit 1; }"
    settings 1 '' '"max_retries": 1'
    tare_run --metrics-textfile run.prom >out 2>&1
    read -r joules attempts <<<"$(used)"
    is "$attempts" 2
    is "$(rounded "$(value run.prom tare_run_energy_joules_total)")" "$joules"
    is "$(value run.prom tare_run_attempts_total)" 2.0
    timeout 60 "$TARE" run --rerun repo_net_001 "$(run_dir)" --metrics-textfile run.prom >out 2>&1
    read -r after attempts <<<"$(used)"
    is "$attempts" 3
    is "$(rounded "$(value run.prom tare_run_energy_joules_total)")" "$after"
    is "$(value run.prom tare_run_measured_attempts_total component=gpu)" 3.0
    is "$(value run.prom tare_run_experiments state=succeeded)" 1.0
    python3 -c 'import sys; assert float(sys.argv[2]) > float(sys.argv[1]) * 1.2' "$joules" "$after"
    # Whoever opens the run anew reads the same.
    "$PRINT" run "$(run_dir)" >again.prom
    is "$(rounded "$(value again.prom tare_run_energy_joules_total)")" "$after"
    is "$(value again.prom tare_run_attempts_total)" 3.0
}

@test "while a run goes on the file is replaced every 15 s, and the slot's readings are those of the driver" {
    need_parser
    scenario 1 'ambient_c 44
kelvin_per_w 0
memory_total 85899345920
step 0 150'
    job "until [ -e '$WORK/go' ]; do sleep 0.2; done; echo 'loss 0.5'"
    settings 1
    start_program run settings.json -c registry.json -o results --metrics-textfile run.prom
    wait_until test -e run.prom
    first=$(stat -c %i run.prom)
    is "$(value run.prom tare_run_experiments state=planned)" 1.0
    is_replaced() { [ "$(stat -c %i run.prom)" != "$first" ]; }
    wait_until is_replaced
    is "$(value run.prom tare_run_experiments state=running)" 1.0
    is "$(value run.prom tare_slot_experiment_info slot=1 experiment=repo_net_001 repository=repo model=net)" 1.0
    is "$(value run.prom tare_slot_phase phase=running)" 1.0
    is "$(value run.prom tare_slot_power_watts slot=1)" 150.0
    is "$(value run.prom tare_slot_temperature_celsius slot=1)" 44.0
    is "$(value run.prom tare_slot_memory_size_bytes slot=1)" 85899345920.0
    is "$(value run.prom tare_slot_info slot=1 gpus='GPU 0')" 1.0
    is "$(value run.prom tare_run_energy_joules_total)" none
    if command -v promtool >/dev/null; then is "$(promtool check metrics <run.prom 2>&1)" ""; fi
    # The same through a real Prometheus.
    serve_metrics run "$(run_dir)"
    if command -v prometheus >/dev/null; then
        start_prometheus
        wait_until answer_is 'tare_slot_power_watts{slot="1"}' 150
        wait_until answer_is 'tare_run_state == 1' 1
        wait_until answer_is 'time() - tare_run_update_timestamp_seconds < bool 10' 1
    fi
    touch go
    end_program
    is "$CODE" 0
    is "$(value run.prom tare_run_state state=ended)" 1.0
}

@test "a file that cannot be written is said once, and the run goes on" {
    job 'echo "loss 0.5"'
    settings 1
    tare_run --metrics-textfile nowhere/run.prom >out 2>err
    is "$(grep -c 'the metrics file could not be written' err)" 1
    grep -q 'nowhere: No such file or directory' err
    rm -r results
    mkdir taken.prom
    tare_run --metrics-textfile taken.prom >out 2>err
    is "$(grep -c 'the metrics file could not be written' err)" 1
    is "$(ls taken.prom; find . -maxdepth 1 -name '.writing-*')" ""
}

@test "a disk that hangs under the file delays neither the experiments nor, by more than seconds, the end" {
    local preload=${BUILD_DIR:-$ROOT/build}/tests/fault/libhung_disk.so
    [ -z "${TARE_SANITIZED:-}" ] || skip "a sanitizer has to be preloaded first"
    [ -e "$preload" ] || skip "the library that hangs the disk is not built ($preload)"
    job 'echo "loss 0.5"'
    settings 2
    SECONDS=0
    LD_PRELOAD=$preload HUNG_DISK=.prom timeout 50 "$TARE" run settings.json -c registry.json -o results --metrics-textfile run.prom >out 2>err
    [ "$SECONDS" -lt 40 ]
    is "$(summary outcome | sort -u)" succeeded
    is "$(grep -c 'run.prom is not written after 5 s' err)" 1
    [ ! -e run.prom ]
}

@test "a name that node_exporter would not read is refused before anything runs" {
    job 'echo "loss 0.5"'
    settings 1
    for name in metrics.txt .prom run.prom/ ''; do
        run --separate-stderr tare_run --metrics-textfile "$name"
        is "$status" 2
    done
    [ ! -e results ]
}

@test "a link with the file's name is replaced, and what it leads to stays" {
    job 'echo "loss 0.5"'
    settings 1
    echo secret >victim
    chmod 600 victim
    ln -s victim run.prom
    tare_run --metrics-textfile run.prom >out 2>err
    [ ! -L run.prom ]
    grep -q '^tare_run_state' run.prom
    is "$(cat victim) $(stat -c %a victim)" "secret 600"
}

@test "what hostile names make of it is still the text format: no line is forged" {
    need_parser
    "$PRINT" hostile >hostile.prom
    is "$(value hostile.prom tare_run_paused)" 0.0
    is "$(value hostile.prom tare_run_paused run=forged)" none
    is "$(value hostile.prom tare_run_experiments state=failed)" 3.0
    is "$(value hostile.prom tare_slot_power_watts)" none
    is "$(value hostile.prom tare_slot_experiment_info $'experiment=a\xef\xbf\xbd\xef\xbf\xbdb')" 1.0
    if command -v promtool >/dev/null; then is "$(promtool check metrics <hostile.prom 2>&1)" ""; fi
}

@test "a real Prometheus scrapes 10,000 experiments of 300 models as 51 series, and rate() works" {
    need prometheus
    # Request N: each experiment has used N J, so that a scrape a second is a rate of about 10,000 J/s.
    serve_metrics many N
    start_prometheus
    wait_until answer_is 'count(tare_model_energy_joules_total)' 51
    wait_until answer_is 'count(count by (repository, model) (tare_model_experiments))' 51
    wait_until answer_is 'tare_run_experiments{state="succeeded"}' 10000
    wait_until answer_is 'sum(tare_model_experiments{outcome="succeeded"})' 10000
    # 10,000 = 33 * 300 + 100: each of the first 50 models has 34 experiments.
    wait_until answer_is 'tare_model_experiments{model="model_7",outcome="succeeded"}' 34
    wait_until answer_is 'tare_model_experiments{model="other",outcome="succeeded"}' 8300
    wait_until answer_is 'sum(tare_model_energy_joules_total) - sum(tare_run_energy_joules_total)' 0
    wait_until answer_is 'tare_slot_temperature_celsius' 61
    wait_until answer_is 'tare_slot_pause_seconds{slot="2"}' 12.5
    wait_until answer_is 'tare_run_energy_joules_total{component="cpu"}' none
    wait_until answer_differs 'rate(tare_run_energy_joules_total[20s]) > 1000' none
    wait_until answer_is 'sum(scrape_samples_scraped{job="tare"}) < bool 400' 1
    # Prometheus takes every expression of the dashboard, and each finds something but those of failures, of which there are none.
    expressions >expressions
    while IFS= read -r expression; do
        # A busy machine misses a scrape: then a gauge has no value until the next.
        case "$expression" in
        *tare_run_failures* | *'outcome="failed"'*) wait_until answer_is "$expression" none ;;
        *) wait_until answer_differs "$expression" none ;;
        esac
    done <expressions
    [ "$(wc -l <expressions)" -gt 20 ]
}

# The dashboard's expressions, its variables filled in, a line each.
expressions() {
    python3 - "$ROOT/share/grafana/tare.json" <<'END'
import json, sys
for panel in json.load(open(sys.argv[1]))["panels"]:
    for target in panel.get("targets", []):
        expression = target["expr"].replace("$run", ".*")
        assert "$" not in expression and "\n" not in expression, expression
        print(expression)
END
}

@test "the dashboard has panels in rows with numbers of their own, a data source to choose, and names that tare writes" {
    "$PRINT" many >many.prom
    python3 - "$ROOT/share/grafana/tare.json" many.prom <<'END'
import json, re, sys
board = json.load(open(sys.argv[1]))
panels = board["panels"]
ids = [panel["id"] for panel in panels]
assert len(set(ids)) == len(ids) > 20
assert [panel["title"] for panel in panels if panel["type"] == "row"] == ["Runs", "Slots", "Energy per model", "Verdicts", "Failures"]
variables = {v["name"]: v for v in board["templating"]["list"]}
assert variables["datasource"]["type"] == "datasource" and variables["datasource"]["query"] == "prometheus"
written = set()
for line in open(sys.argv[2], encoding="utf-8"):
    if line.startswith("# TYPE "):
        written.add(line.split()[2])
used = set()
for panel in panels:
    if panel["type"] == "row":
        continue
    assert panel["datasource"]["uid"] == "${datasource}" and panel["targets"], panel
    names = set(re.findall(r"\btare_\w+", " ".join(t["expr"] for t in panel["targets"])))
    assert names, panel["title"]
    used |= names
used |= set(re.findall(r"\btare_\w+", variables["run"]["definition"]))
assert used <= written, used - written
# No panel lies over another, and none leaves the grid's 24 columns.
cells = [(x, y) for p in panels for g in [p["gridPos"]] for x in range(g["x"], g["x"] + g["w"]) for y in range(g["y"], g["y"] + g["h"])]
assert len(set(cells)) == len(cells) and max(x for x, _ in cells) == 23
END
}

@test "the reference lists exactly the metrics that are written, with their types and labels" {
    need_parser
    "$PRINT" many >many.prom
    python3 - "$ROOT/docs/reference/metrics.md" many.prom <<'END'
import re, sys
from prometheus_client.parser import text_string_to_metric_families as parse
written = {}
for family in parse(open(sys.argv[2], encoding="utf-8").read()):
    labels = {tuple(s.labels) for s in family.samples}
    assert len(labels) <= 1, family.name
    written[family.name + {"counter": "_total"}.get(family.type, "")] = (family.type, labels.pop() if labels else None)
listed = {row[0]: (row[1], tuple(row[2].split(", ")))
          for row in re.findall(r"^\| `(\w+)` \| (\w+) \| ([\w, ]+) \|", open(sys.argv[1], encoding="utf-8").read(), re.M)}
assert set(listed) == set(written), set(listed) ^ set(written)
for name, (kind, labels) in written.items():
    assert listed[name][0] == kind, (name, listed[name], kind)
    assert labels is None or listed[name][1] == labels, (name, labels)
    assert name.endswith("_timestamp_seconds") or labels or name == "tare_run_failures", name + " is never written in this test"
END
}

@test "the alerts of the how-to are taken by promtool, and their metrics are ones that are written" {
    need promtool
    python3 - "$ROOT/docs/howto/monitoring.md" <<'END'
import re, sys
blocks = re.findall(r"```yaml\n(.*?)```", open(sys.argv[1], encoding="utf-8").read(), re.S)
assert len(blocks) == 1, len(blocks)
open("rules.yml", "w").write(blocks[0])
END
    promtool check rules rules.yml | grep -q '2 rules found'
    "$PRINT" many >many.prom
    # Run a fell silent at 0 s; b writes every minute; c has two contaminated experiments.
    cat >tests.yml <<'END'
rule_files: [rules.yml]
tests:
  - interval: 1m
    input_series:
      - {series: 'tare_run_state{run="a",state="under_way"}', values: '1x20'}
      - {series: 'tare_run_update_timestamp_seconds{run="a"}', values: '0x20'}
      - {series: 'tare_run_state{run="b",state="under_way"}', values: '1x20'}
      - {series: 'tare_run_update_timestamp_seconds{run="b"}', values: '0+60x20'}
      - {series: 'tare_run_verdicts{run="c",verdict="clean"}', values: '5x20'}
      - {series: 'tare_run_verdicts{run="c",verdict="contaminated"}', values: '2x20'}
    alert_rule_test:
      - {eval_time: 4m, alertname: TareRunSilent}
      - eval_time: 10m
        alertname: TareRunSilent
        exp_alerts: [{exp_labels: {run: a, state: under_way}, exp_annotations: {summary: 'a: no reading for five minutes'}}]
      - eval_time: 10m
        alertname: TareContaminated
        exp_alerts: [{exp_labels: {run: c, verdict: contaminated}, exp_annotations: {summary: 'c: 2 experiments are contaminated'}}]
END
    promtool test rules tests.yml
    for name in $(grep -o 'tare_[a-z_]*' rules.yml | sort -u); do grep -q "^# TYPE $name " many.prom; done
}

@test "node_exporter's textfile collector reads the file without a complaint" {
    need prometheus-node-exporter
    mkdir collected
    "$PRINT" many 2 >collected/many.prom
    "$PRINT" hostile >collected/hostile.prom
    port=$(free_port)
    in_background exporter.log prometheus-node-exporter --collector.disable-defaults --collector.textfile \
        --collector.textfile.directory=collected --web.listen-address="127.0.0.1:$port" --web.disable-exporter-metrics
    wait_until answers "http://127.0.0.1:$port/metrics"
    python3 -c 'import sys, urllib.request; sys.stdout.buffer.write(urllib.request.urlopen(sys.argv[1], timeout=10).read())' \
        "http://127.0.0.1:$port/metrics" >exported.prom
    grep -qx 'node_textfile_scrape_error 0' exported.prom
    is "$(value exported.prom tare_run_energy_joules_total run=many component=gpu)" 20000.0
    is "$(grep -c '^tare_run_paused' exported.prom)" 2
}
