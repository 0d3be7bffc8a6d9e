#!/usr/bin/env bats
# The page of a folder in the study's layout: against Python's own reading of the same files, and in a browser.
bats_require_minimum_version 1.5.0
load helpers
load page

setup_file() { command -v python3 > /dev/null || skip "python3 is missing"; }

# study FOLDER: six experiments in the study's layout on a machine eight hours ahead of UTC, half an hour apart, a minute each: power
# is 100 W and 10 W more each time, but for a second of 400 W; the second was retried, the fourth failed, the fifth began on a busy GPU,
# the sixth is parallel and its background idle. The first has a log; of the third the temperature's file is missing.
study() {
    python3 - "$1" << 'END'
import datetime, json, os, sys
top = sys.argv[1]
rows = ["experiment_id,timestamp,repository,model,training_success,duration_seconds,retries,hyperparam_batch_size,perf_accuracy,"
        "energy_gpu_total_joules"]
for number in range(1, 7):
    parallel = number == 6
    name, start = f"demo_net_{number:03}" + ("_parallel" if parallel else ""), 1763424000 + 1800 * number
    watts = [90 + 10 * number] * 60
    watts[30] = 400
    success, batch, accuracy = number != 4, 16 * number, 80 + number
    os.makedirs(f"{top}/{name}/energy")
    end = datetime.datetime.fromtimestamp(start + 60 + 8 * 3600, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000000")
    busy = lambda i: 80 if number == 5 or i >= 5 and not parallel else 0
    for file, head, cells in (("gpu_power", "power_draw_w", lambda i: f"{watts[i]}.0"),
                              ("gpu_utilization", "gpu_util_percent,memory_util_percent", lambda i: f"{busy(i)},{i % 50}"),
                              ("gpu_temperature", "gpu_temp_c,memory_temp_c", lambda i: f"{40 + i // 6},N/A")):
        if number == 3 and file == "gpu_temperature":
            continue
        with open(f"{top}/{name}/energy/{file}.csv", "w") as out:
            out.write(f"timestamp,{head}\n" + "".join(f"{start + i},{cells(i)}\n" for i in range(60)))
    with open(f"{top}/{name}/energy/cpu_energy_raw.txt", "w") as out:
        out.write(f"  {500 + number}.00 Joules power/energy-pkg/\n  60.0 seconds time elapsed\n")
    job = {"repository": "demo", "model": "net", "hyperparameters": {"batch_size": batch}, "duration_seconds": 60.0,
           "performance_metrics": {"accuracy": accuracy} if success else {}, "training_success": success,
           "retries": 2 if number == 2 else 0, "error_message": "it <b>broke</b>"}
    whole = {"experiment_id": name, "timestamp": end}
    whole.update({"mode": "parallel", "foreground": job, "background": {"repository": "other", "model": "big"}} if parallel else job)
    with open(f"{top}/{name}/experiment.json", "w") as out:
        json.dump(whole, out)
    rows.append(f"{name},{end},demo,net,{success},60.0,{job['retries']},{batch},{accuracy if success else ''},{sum(watts)}.0")
with open(f"{top}/demo_net_001/training.log", "w") as out:
    out.write("accuracy: 81\nthe last line </script>\n")
with open(f"{top}/summary.csv", "w", newline="") as out:
    out.write("\r\n".join(rows) + "\r\n")
END
}

# look FILE: python's lines about a page: "head", and "found": its experiments by id.
look() {
    {
        cat << 'END'
import json, re, sys
text = open(sys.argv[1], encoding="utf-8").read()
blocks = {name: json.loads(data) for name, data in re.findall(r'<script type="application/json" id="(\w+)">(.*?)</script>', text, re.S)}
head = blocks.pop("head")
found = {block["experiment_id"]: block for block in blocks.values()}
END
        cat
    } > look.py
    python3 look.py "$@"
}

@test "in no language and at no size a label is cut or a {name} left in a text, of large and of tiny values" {
    study results
    "$TARE" report results -o page.html --lang en > /dev/null
    "$TARE" report results -o page.zh.html --lang zh > /dev/null
    page_of labels page.html
    page_of labels page.zh.html
}

@test "the page of the study's folder has the verdicts and energies of its files, and changes none of them" {
    study results
    (cd results && find . -type f -exec sha256sum {} + | sort) > before
    "$TARE" report results -o page.html > out
    [ "$(cat out)" = page.html ]
    (cd results && find . -type f -exec sha256sum {} + | sort) > after
    cmp before after
    look page.html << 'END'
names = [f"demo_net_{n:03}" for n in range(1, 6)] + ["demo_net_006_parallel"]
assert list(found) == names, list(found)
verdicts = {"demo_net_001": "unverified", "demo_net_002": "suspect", "demo_net_003": "unverified", "demo_net_004": "none",
            "demo_net_005": "contaminated", "demo_net_006_parallel": "contaminated"}
kinds = {"demo_net_002": {"energy_overwritten"}, "demo_net_003": {"value_missing"}, "demo_net_005": {"gpu_busy_before"},
         "demo_net_006_parallel": {"background_no_load"}}
for number, (name, verdict) in enumerate(verdicts.items(), 1):
    e = found[name]
    own = e["tare"]
    assert (own["verdict"], own["outcome"]) == (verdict, "failed" if number == 4 else "succeeded"), (name, own)
    assert {item["kind"] for item in own["evidence"]} == kinds.get(name, set()), (name, own["evidence"])
    # Level but for a triangle of two seconds.
    joules = 60 * (90 + 10 * number) + (400 - 90 - 10 * number)
    assert abs(own["energy"]["gpu"]["joules"] - joules) < 1e-6, (name, own["energy"]["gpu"], joules)
    assert own["energy"]["gpu"]["recorded_j"] == joules and own["energy"]["cpu_package"]["joules"] == 500 + number
    assert abs(own["energy"]["gpu"]["power_mean_w"] - joules / 60) < 1e-9
    (span,) = e["spans"]
    assert (span["from_ms"], span["to_ms"]) == ((1763424000 + 1800 * number) * 1000, (1763424060 + 1800 * number) * 1000), span
    assert e["hyperparameters"] == {"batch_size": 16 * number} and e["retries"] == (2 if number == 2 else 0)
checks = {name: {c["check"]: c["outcome"] for c in e["tare"]["checks"]} for name, e in found.items()}
assert checks["demo_net_005"]["idle_before"] == "failed" and checks["demo_net_001"]["idle_before"] == "passed", checks
assert checks["demo_net_006_parallel"]["background_load"] == "failed" and checks["demo_net_001"]["background_load"] == "not_needed"
assert found["demo_net_005"]["tare"]["verdicts"]["time"] == "contaminated", found["demo_net_005"]["tare"]["verdicts"]
assert found["demo_net_001"]["tare"]["verdicts"]["time"] == "unverified", found["demo_net_001"]["tare"]["verdicts"]
assert found["demo_net_004"]["error_message"] == "it <b>broke</b>" and found["demo_net_004"]["performance_metrics"] == {}
assert found["demo_net_006_parallel"]["background"] == "other big"
assert found["demo_net_001"]["log_end"] == "accuracy: 81\nthe last line </script>\n" and found["demo_net_002"]["log_end"] is None
# Half an hour from start to start, a minute of it trained.
assert [p["seconds"] for p in head["pauses"]] == [1740] * 5 and head["zone_s"] == 8 * 3600 and head["layout"] == "study"
assert head["way"] == "results/" and head["files"] == ["summary.csv"]
assert found["demo_net_003"]["files"] == ["energy/cpu_energy_raw.txt", "energy/gpu_power.csv", "energy/gpu_utilization.csv", "experiment.json"]
END
}

@test "every number of the study's page is in what export writes" {
    study results
    "$TARE" report results -o page.html
    "$TARE" export results -o tables > /dev/null
    look page.html << 'END'
import csv
def table(name): return list(csv.DictReader(open(f"tables/{name}.csv", newline="")))
def same(cell, value): assert (value is None and cell == "") or float(cell) == value, (cell, value)
columns = {"joules": "gpu_energy_j", "half_width_j": "gpu_energy_half_width_j", "recorded_j": "gpu_energy_recorded_j",
           "power_mean_w": "gpu_power_mean_w", "power_min_w": "gpu_power_min_w", "power_max_w": "gpu_power_max_w",
           "power_cv_within": "gpu_power_cv_within", "temperature_start_c": "gpu_temperature_start_c",
           "temperature_mean_c": "gpu_temperature_mean_c", "temperature_max_c": "gpu_temperature_max_c",
           "utilisation_mean_percent": "gpu_utilisation_mean_percent", "utilisation_max_percent": "gpu_utilisation_max_percent",
           "covered_share": "sampled_share", "longest_gap_s": "longest_gap_s"}
rows = table("experiments")
assert len(rows) == 6
for row in rows:
    e = found[row["experiment_id"]]
    assert set(e["tare"]["energy"]["gpu"]) == set(columns)
    for key, column in columns.items():
        same(row[column], e["tare"]["energy"]["gpu"][key])
    same(row["duration_s"], e["duration_seconds"])
    assert row["verdict"] == e["tare"]["verdict"] and row["mode"] == e["mode"]
shown = {(name, item["kind"], item["text"]) for name, e in found.items() for item in e["tare"]["evidence"]}
assert shown == {(r["experiment_id"], r["kind"], r["text"]) for r in table("evidence")}
quantities = {"power_w": "power_draw_w", "utilisation_percent": "gpu_util_percent", "memory_utilisation_percent": "memory_util_percent",
              "temperature_c": "gpu_temp_c", "memory_temperature_c": "memory_temp_c"}
samples = {}
for r in table("samples"):
    samples[r["experiment_id"], r["quantity"], int(r["timestamp"])] = r["value"]
points = 0
for name, e in found.items():
    start_s = e["spans"][0]["from_ms"] / 1000
    for trace in e["trace"]:
        for key in set(trace) - {"gpu", "seconds"}:
            for second, value in zip(trace["seconds"], trace[key]):
                same(samples[name, quantities[key], round(start_s + second)], value)
                points += 1
assert points == 6 * 60 * 5 - 60 * 2, points
END
}

@test "a folder's own report.html is written where nothing is said, and refused folders are named" {
    study results
    "$TARE" report results > out
    [ "$(cat out)" = results/report.html ]
    look results/report.html <<< 'assert head["way"] == "" and len(found) == 6'
    mkdir empty
    run -3 "$TARE" report empty
    [[ "$output" == *"empty"*"neither run.db nor summary.csv"* ]]
    run -3 "$TARE" report results -o nowhere/page.html
    [[ "$output" == *"nowhere"* ]]
}

@test "an id that leads elsewhere is shown, and nothing is read there" {
    study results
    mkdir -p outside/energy
    printf 'secret\n' > outside/training.log
    printf 'timestamp,power_draw_w\n1763425800,777.0\n' > outside/energy/gpu_power.csv
    ln -s ../outside results/demo_net_009
    sed -n 2p results/summary.csv | sed 's|^demo_net_001|../outside|' >> results/summary.csv
    sed -n 2p results/summary.csv | sed 's|^demo_net_001|demo_net_009|' >> results/summary.csv
    "$TARE" report results -o page.html
    if grep -q 'secret\|777' page.html; then return 1; fi
    look page.html <<< 'assert not found["../outside"].get("trace") and not found["demo_net_009"].get("trace"), found["../outside"]'
}

@test "the study's page in a browser: every sample is drawn where it must be, disturbed stretches shaded, waiting hatched" {
    study results
    "$TARE" report results --only usable -o page.html
    page_of quiet page.html
    page_of study page.html "$WORK/results"
}

@test "no English is left in the Chinese page but what was written down" {
    study results
    "$TARE" report results -o page.html --lang zh
    page_of chinese page.html
}

@test "the study's own folders become pages whose figures are those of the second computation" {
    [ -d "$SHARED/legacy" ] || skip "../shared/data is not there"
    for folder in "$SHARED"/legacy/run_*; do
        "$TARE" report "$folder" -o page.html
        "$TARE" audit "$folder" --json > audit.json
        python3 "$ROOT/tests/cli/audit_reference.py" audit.json "$folder"
        look page.html "$folder" << 'END'
import csv, datetime, os
rows = list(csv.DictReader(open(sys.argv[2] + "/summary.csv", newline="")))
assert [r["experiment_id"] for r in rows] == list(found)
audited = {e["experiment_id"]: e for e in json.load(open("audit.json"))["experiments"]}
starts = []
for row in rows:
    e, judged = found[row["experiment_id"]], audited[row["experiment_id"]]
    assert e["tare"]["verdict"] == judged["verdict"]
    assert e["tare"]["energy"]["gpu"]["joules"] == judged["gpu"]["energy_j"], judged["gpu"]
    assert abs(e["tare"]["energy"]["gpu"]["recorded_j"] - float(row["energy_gpu_total_joules"])) < 1e-6
    (span,) = e["spans"]
    # The time-stamp is the end, by a clock that is a whole number of quarters of an hour from UTC.
    end = datetime.datetime.fromisoformat(row["timestamp"]).replace(tzinfo=datetime.timezone.utc).timestamp()
    assert abs(span["to_ms"] / 1000 + head["zone_s"] - end) < 1e-3 and head["zone_s"] % 900 == 0
    assert abs(span["to_ms"] - span["from_ms"] - 1000 * float(row["duration_seconds"])) < 1
    power = [l.split(",") for l in open(f"{sys.argv[2]}/{row['experiment_id']}/energy/gpu_power.csv").read().split()[1:]]
    (trace,) = [t for t in e["trace"] if "power_w" in t]
    # Thinned or not: each point is a row, the least and the most are there.
    known = {(round(int(t) - span["from_ms"] / 1000, 2), float(w)) for t, w in power}
    points = [(round(s, 2), w) for s, w in zip(trace["seconds"], trace["power_w"])]
    assert all(any(abs(s - t) < 0.02 and w == v for t, v in known) for s, w in points[::7])
    assert (min(w for _, w in points), max(w for _, w in points)) == (min(w for _, w in known), max(w for _, w in known))
END
    done
    page_of quiet page.html
}
