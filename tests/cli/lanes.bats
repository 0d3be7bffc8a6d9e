#!/usr/bin/env bats
# How lanes and nodes are shown: the closing table, the page, collect, audit and compare. What is expected is added up from events.jsonl
# and summary.csv by Python.

load guard
load page

# check LINES: python's lines about the run: "lanes" is what its page holds, "head" all of it, "events", "rows" of summary.csv by id,
# "mine": for each GPU's name the times [(start, end)] of its trainings, the ids of its results, and the seconds that its GPU was not free.
check() {
    cat >check.py <<'END'
import collections, csv, json, os, re, sys
run = sys.argv[1]
page = open(run + "/report.html", encoding="utf-8").read()
head = json.loads(re.search(r'id="head">(.*?)</script>', page, re.S).group(1))
lanes = {lane["node"] + " " + lane["name"]: lane for lane in (head["lanes"] or {"lanes": []})["lanes"]}
events = [json.loads(line) for line in open(run + "/events.jsonl")]
rows = {row["experiment_id"]: row for row in csv.DictReader(open(run + "/summary.csv"))}
host = {e["session"]: e["data"]["host"] for e in events if e["type"] == "session_started"}
sessions = collections.defaultdict(list)
for e in events: sessions[e["session"]].append(e["monotonic_ns"])
span = sum(max(times) - min(times) for times in sessions.values()) / 1e9
mine = collections.defaultdict(lambda: {"times": [], "ids": [], "not_free": 0.0})
gpus, ids = {}, {}
for e in events:
    n, data = e["experiment"], e["data"]
    if e["type"] == "experiment_started":
        ids[n] = data["id"]
        gpus[n] = host[e["session"]] + " " + ", ".join(data.get("gpus") or [os.environ.get("ONLY_GPU", "")])
    if e["type"] == "attempt_started": start = mine[gpus[n]].setdefault("start", {}); start[n] = data["start_ns"]
    if e["type"] == "attempt_ended" and n in mine[gpus[n]].get("start", {}):
        mine[gpus[n]]["times"].append((mine[gpus[n]]["start"].pop(n), data["end_ns"]))
    if e["type"] == "guard" and data["phase"] == "preflight" and data["waited_s"] >= 1: mine[gpus[n]]["not_free"] += data["waited_s"]
    if e["type"] == "experiment_ended" and data["outcome"] != "interrupted": mine[gpus[n]]["ids"].append(ids[n])

def near(got, wanted, slack=0.02): assert abs(got - wanted) <= slack, (got, wanted)
END
    printf '%s\n' "$1" >>check.py
    python3 check.py "$(run_dir)"
}

@test "the closing table and the page account for every second of every lane, and for every result once" {
    scenario 3
    job 'sleep 0.5; echo loss 0.5'
    settings 7 '"policy": "go-on"'
    # Whoever has GPU 1 is there from before the run to its end: each of its experiments begins beside it.
    plant 1 500 50
    tare_run >out || true
    check '
assert len(lanes) == 3 and len(rows) == 7, (lanes.keys(), len(rows))
near(head["lanes"]["seconds"], span)
for name, lane in lanes.items():
    busy = sum(end - start for start, end in mine[name]["times"]) / 1e9
    near(lane["busy_s"], busy, 1e-3)
    near(lane["utilisation"], busy / span, 0.01)
    assert lane["experiments"] == len(mine[name]["ids"]), (name, lane)
    for verdict in ("clean", "suspect", "contaminated"):
        assert lane[verdict] == sum(rows[i]["verdict"] == verdict for i in mine[name]["ids"]), (name, verdict, lane)
    joules = [float(rows[i]["energy_gpu_total_joules"]) for i in mine[name]["ids"]]
    near(lane["gpu_energy_j"] or 0, sum(joules), 1e-3)
    near(lane["busy_s"] + lane["overhead_s"] + lane["waiting_s"] + lane["nothing_s"], span)
    # What is drawn is what is counted; it covers the time without a gap.
    drawn = [sum(to - at for at, to, doing, n, k in lane["spans"] if doing in which) / 1000 for which in ([0], [1, 2], [3], [4])]
    for got, key in zip(drawn, ("busy_s", "overhead_s", "waiting_s", "nothing_s")): near(lane[key], got, 0.002 * len(lane["spans"]) + 0.002)
    assert all(a[1] == b[0] for a, b in zip(lane["spans"], lane["spans"][1:])), lane["spans"]
other = [name for name in lanes if not name.endswith("GPU 1")]
waited = next(lane for name, lane in lanes.items() if name.endswith("GPU 1"))
assert waited["waiting_s"] >= next(m["not_free"] for name, m in mine.items() if name.endswith("GPU 1")) - 0.1 >= 1.3, waited
assert waited["contaminated"] == waited["experiments"] >= 1, waited
total = head["lanes"]["total"]
assert total["experiments"] == 7, total
near(total["gpu_energy_j"], sum(float(row["energy_gpu_total_joules"]) for row in rows.values()), 1e-3)
# The same in words.
text = open("out").read()
table = text[text.index("\nSLOT "):].splitlines()[1:]
assert table[0].split() == ["SLOT", "DONE", "TRAINING", "OVERHEAD", "WAITING", "NO", "WORK", "USED", "GPU", "ENERGY", "VERDICTS"], table[0]
for line, name in zip(table[1:4], sorted(lanes)):
    assert line.startswith(name.split(" ", 1)[1] + " "), line
    assert int(line[len("GPU 0"):].split()[0]) == len(mine[name]["ids"]), line
    used = 100 * sum(end - start for start, end in mine[name]["times"]) / 1e9 / span
    near(float(re.search(r"([0-9]+) %", line).group(1)), used, 1.1)
assert table[4].startswith("all 3") and int(table[4].split()[2]) == 7, table[4]
'
    cp "$(run_dir)/report.html" report.html
    "$TARE" report "$(run_dir)" -o report.html
    page lanes
    page aligned
}

@test "a run on one GPU says nothing of lanes" {
    scenario 1
    job 'echo loss 0.5'
    settings 2
    tare_run >out
    if grep -q SLOT out; then false; fi
    check 'assert head["lanes"] is None'
}

@test "of tasks on two nodes each node's GPUs are lanes, in collect, its JSON, the page and audit" {
    mkdir bin
    printf '#!/bin/sh\nprintf "KillWait = 30 sec\\nMaxArraySize = 1001\\n"\n' >bin/scontrol
    printf '#!/bin/sh\necho 4711\n' >bin/sbatch
    printf '#!/bin/sh\ntrue\n' >bin/squeue
    chmod +x bin/*
    PATH=$WORK/bin:$PATH
    job 'sleep 0.3; echo loss 0.5'
    scenario 2
    settings 5
    "$TARE" submit settings.json -c registry.json -o results >/dev/null
    local n
    for n in 1 2 3; do CUDA_VISIBLE_DEVICES=0 "$TARE" run --task "$n" "$(run_dir)" -q --containment sweep >/dev/null; done
    for n in 1 2 3; do sed -i 's/"model": ".*"/"model": "First CPU"/' "$(run_dir)/tasks/000$n/1/machine.json"; done
    # The other node: another driver, other GPUs; what it is called is put into what its tasks recorded.
    sed -i "s/^gpus .*/gpus 2\nname NVIDIA A100\ndriver 550.54\nlimit_w 400/" scenario
    for n in 4 5; do
        CUDA_VISIBLE_DEVICES=0 "$TARE" run --task "$n" "$(run_dir)" -q --containment sweep >/dev/null
        python3 - "$(run_dir)/tasks/000$n/1" <<'END'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1] + "/events.jsonl")]
for line in lines:
    if line["type"] == "session_started": line["data"]["host"] = "other-node"
open(sys.argv[1] + "/events.jsonl", "w").write("".join(json.dumps(line) + "\n" for line in lines))
machine = json.load(open(sys.argv[1] + "/machine.json"))
machine.update(host="other-node", kernel="9.9.9")
machine["cpu"]["model"] = "Other CPU"
json.dump(machine, open(sys.argv[1] + "/machine.json", "w"))
END
    done
    "$TARE" collect "$(run_dir)" >out
    ONLY_GPU="GPU 0" check '
assert len(lanes) == 2 and len(rows) == 5, lanes.keys()
for name, lane in lanes.items():
    busy = sum(end - start for start, end in mine[name]["times"]) / 1e9
    near(lane["busy_s"], busy, 1e-3)
    assert lane["experiments"] == len(mine[name]["ids"]) == (2 if name.startswith("other-node ") else 3), (name, lane)
text = open("out").read()
table = text[text.index("\nNODE "):].splitlines()[1:]
assert [line.split()[0] for line in table[1:4]] == sorted(lane["node"] for lane in lanes.values()) + ["all"], table
assert "2 slots on 2 nodes, at work " in text, text
'
    "$TARE" collect "$(run_dir)" --json >collected.json
    "$TARE" audit "$(run_dir)" --json >audit.json
    "$TARE" audit "$(run_dir)" >audit.txt
    python3 - <<'END'
import json
lanes = json.load(open("collected.json"))["lanes"]
assert sorted(lane["experiments"] for lane in lanes["lanes"]) == [2, 3] and "spans" not in lanes["lanes"][0], lanes
audit = json.load(open("audit.json"))
found = {d["fact"]: d for d in audit["differences"]}
wanted = {"gpu_model": ("suspect", ["NVIDIA H200", "NVIDIA A100"]), "power_limit": ("suspect", ["700 W", "400 W"]),
          "cpu_model": ("suspect", ["First CPU", "Other CPU"]), "driver": ("recorded", ["580.159.04", "550.54"]), "kernel": ("recorded", None)}
assert set(found) == set(wanted), found.keys()
first = ["repo_net_001", "repo_net_002", "repo_net_003"]
for fact, (weight, values) in wanted.items():
    groups = found[fact]["groups"]
    assert found[fact]["weight"] == weight and [g["n"] for g in groups] == [3, 2], (fact, found[fact])
    assert groups[0]["experiments"] == first and groups[1]["experiments"] == ["repo_net_004", "repo_net_005"], groups
    assert values is None or [g["value"] for g in groups] == values, groups
assert found["kernel"]["groups"][1]["value"] == "9.9.9"
assert found["gpu_model"]["figures"] == ["gpu_energy_j", "gpu_power_w", "duration_s"]
assert [e["where"]["node"] == "other-node" for e in audit["experiments"]] == [False] * 3 + [True] * 2
text = open("audit.txt").read()
assert "gpu_model (suspect): 2 kinds; not comparable across them: gpu_energy_j, gpu_power_w, duration_s" in text, text
assert "NVIDIA A100: 2 experiments (repo_net_004, ...)" in text, text
END
    # It judges no measurement by it, and can be asked for.
    run --separate-stderr "$TARE" audit "$(run_dir)" --expect 'differences=0,contaminated=0'
    [ "$status" -eq 1 ]
    [[ $stderr == *"does not hold: differences=0 (gpu_model, power_limit, cpu_model)"*"holds: contaminated=0"* ]]
    "$TARE" report "$(run_dir)" --lang zh -o report.html
    page lanes
}

# one_run GPU: a run of two experiments on that GPU alone, in $RUN.
one_run() {
    local before
    before=$(ls results 2>/dev/null || true)
    tare_run --gpus "$1" >/dev/null
    RUN=results/$(comm -13 <(echo "$before") <(ls results))
    sleep 1 # folders are named by the second
}

@test "compare warns when its sides ran on other GPUs, and when they ran on other lanes only" {
    scenario 3 'gpu 2
name NVIDIA A100
limit_w 400
sm_clock_max 1410
sm_clock_application 1200'
    job 'sleep 0.2; echo loss 0.5'
    settings 2
    one_run 0 && local a=$RUN
    one_run 1 && local b=$RUN
    one_run 2 && local c=$RUN
    "$TARE" compare "$a" "$b" --only usable >alike.txt
    "$TARE" compare "$a" "$b" --only usable --json >alike.json
    "$TARE" compare "$a" "$c" --only usable >unlike.txt
    "$TARE" compare "$a" "$c" --only usable --json >unlike.json
    "$TARE" compare "$a" "$a" --only usable --json >same.json
    python3 - <<'END'
import json
def facts(name): return {p["fact"]: p for p in json.load(open(name))["places"]}
assert facts("same.json") == {}
alike, unlike = facts("alike.json"), facts("unlike.json")
assert set(alike) == {"lane"} and alike["lane"]["confounded"] and alike["lane"]["weight"] == "recorded", alike
assert " GPU 0 (GPU-00000000)" in alike["lane"]["a"][0]["value"] and alike["lane"]["a"][0]["n"] == 2, alike
assert set(unlike) == {"gpu_model", "power_limit", "clocks_max", "clocks_set", "lane"}, unlike.keys()
assert unlike["clocks_max"]["a"] == [{"value": "1980/3201 MHz", "n": 2}] and unlike["clocks_max"]["b"] == [{"value": "1410/3201 MHz", "n": 2}]
assert unlike["clocks_set"]["b"] == [{"value": "1200/3201 MHz", "n": 2}]
assert all(p["apart"] == 1 and p["confounded"] for p in unlike.values()), unlike
text = open("unlike.txt").read()
assert "gpu_model confounded: A ran on NVIDIA H200 (2), B on NVIDIA A100 (2); what that makes of it looks the same" in text, text
assert "lane confounded: A ran on " in open("alike.txt").read()
END
}

@test "a thousand experiments in 64 lanes can be worked with within two seconds" {
    scenario 2
    job 'sleep 1; echo "loss 0.5"'
    settings 3
    tare_run >/dev/null
    python3 "$ROOT/tests/page/enlarge.py" "$(run_dir)/report.html" 1000 64 >report.html
    page large
    page lanes
}
