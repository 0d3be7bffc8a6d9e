# tare audit on real folders of the study, on runs of its own, and on hostile ones.
bats_require_minimum_version 1.5.0
load ../cli/runs

setup_file() { command -v python3 > /dev/null || skip "python3 is missing"; }

# Every count and energy against the second computation, with a moment within the folder.
agrees() { # FOLDER MOMENT
    [ -d "$SHARED/legacy" ] || skip "../shared/data is not there"
    "$TARE" audit "$SHARED/legacy/$1" --json --split-at "$2" > audit.json
    python3 "$BATS_TEST_DIRNAME/audit_reference.py" audit.json "$SHARED/legacy/$1" "$2"
}

# Name, size, time and contents of all there is.
fingerprint() { (cd "$1" && find . -printf '%p %y %s %T@\n' | sort && find . -type f -print0 | sort -z | xargs -0 sha256sum); }

# A folder in the study's layout: three experiments of a minute, of which the command took 59.5 s. The GPU draws 20 W for 3 samples, then 100 W: the
# samples add up to 5760 J, straight lines between their seconds' middles to 2.5 * 20 + 1 * 60 + 56 * 100 = 5710 J. If samples are means of a second,
# 2 * 20 + 1 * 60 + 56.5 * 100 = 5750 J; which of the two they are, three rises do not show.
study() {
    python3 - "$1" <<'END'
import datetime, json, os, sys
top = sys.argv[1]
rows = ["experiment_id,timestamp,repository,model,training_success,duration_seconds,retries,energy_gpu_total_joules"]
for number in (1, 2, 3):
    name, start = f"demo_net_{number:03}", 1763452800 + 3600 * number
    os.makedirs(f"{top}/{name}/energy")
    end = datetime.datetime.fromtimestamp(start + 60, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000000")
    for file, head, first, cells in (("gpu_power", "power_draw_w", "20.0", "100.0"), ("gpu_temperature", "gpu_temp_c,memory_temp_c", "50,N/A", "50,N/A"),
                                     ("gpu_utilization", "gpu_util_percent,memory_util_percent", "0,0", "80,40")):
        with open(f"{top}/{name}/energy/{file}.csv", "w") as out:
            out.write(f"timestamp,{head}\n" + "".join(f"{start + i},{first if i < 3 else cells}\n" for i in range(60)))
    with open(f"{top}/{name}/energy/cpu_energy_raw.txt", "w") as out:
        out.write("  500.00 Joules power/energy-pkg/\n  59.5 seconds time elapsed\n")
    with open(f"{top}/{name}/energy/cpu_energy.txt", "w") as out:
        out.write("Package Energy (Joules): 500.00\n")
    with open(f"{top}/{name}/experiment.json", "w") as out:
        json.dump({"experiment_id": name, "repository": "demo", "model": "net", "hyperparameters": {"epochs": 1},
                   "duration_seconds": 60.0, "performance_metrics": {"accuracy": 90 + number}, "training_success": True}, out)
    rows.append(f"{name},{end},demo,net,True,60.0,0,5760.0")
with open(f"{top}/summary.csv", "w", newline="") as out:
    out.write("\r\n".join(rows) + "\r\n")
END
}

@test "the first folder of the study: every count and energy equals a second computation" {
    agrees run_20251115_165340 "2025-11-15 17:12:30"
}

@test "the second folder of the study: every count and energy equals a second computation" {
    agrees run_20251118_155526 "2025-11-18 16:40:00"
}

@test "the experiments that began on a busy GPU are named" {
    [ -d "$SHARED/legacy" ] || skip "../shared/data is not there"
    run -0 "$TARE" audit "$SHARED/legacy/run_20251115_165340"
    [[ "$output" == *"12 experiments: 0 clean, 6 unverified, 0 suspect, 6 contaminated"* ]]
    [[ "$output" == *"the GPU was 99 % busy at 306.3 W in the first two"* ]]
}

@test "nothing is written without --write, and with it three files and the record that they are ours" {
    study results
    before=$(fingerprint results)
    "$TARE" audit results > /dev/null
    "$TARE" audit results --json > /dev/null
    [ "$(fingerprint results)" = "$before" ]
    "$TARE" audit results --write > /dev/null
    [ "$(cd results && LC_ALL=C ls -A)" = ".tare-written.json
audit.json
audit_affected.csv
audit_safe.csv
demo_net_001
demo_net_002
demo_net_003
summary.csv" ]
    rm results/audit.json results/audit_*.csv results/.tare-written.json
    [ "$(fingerprint results | grep -v '^\. ')" = "$(grep -v '^\. ' <<< "$before")" ]
}

@test "--output puts the files elsewhere, and the folder stays as it was" {
    study results
    before=$(fingerprint results)
    run -0 "$TARE" audit results --write -o there/deep
    [ "$(fingerprint results)" = "$before" ]
    [ "$(ls there/deep)" = "audit.json
audit_affected.csv
audit_safe.csv" ]
    python3 - there/deep <<'END'
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1] + "/audit_safe.csv", newline="")))
assert [r["experiment_id"] for r in rows] == ["demo_net_001", "demo_net_002", "demo_net_003"], rows
assert all(r["verdict"] == "unverified" and abs(float(r["audit_gpu_energy_joules"]) - 5730) < 1e-6 for r in rows), rows
audit = json.load(open(sys.argv[1] + "/audit.json"))
assert audit["totals"]["clean"] == 0 and audit["totals"]["unverified"] == 3 and audit["experiments"][1]["metrics"] == {"accuracy": 92.0}
END
}

@test "a study's own summary_safe.csv stays as it is, and a file that an audit did not write is replaced with --force only" {
    study results
    echo theirs > results/summary_safe.csv
    "$TARE" audit results --write > /dev/null
    "$TARE" audit results --write > /dev/null
    [ "$(cat results/summary_safe.csv)" = theirs ]
    echo changed by hand >> results/audit_safe.csv
    before=$(fingerprint results)
    run -3 --separate-stderr "$TARE" audit results --write
    [[ "$stderr" == *"error: results/audit_safe.csv is there already and is not, or no longer, what was written by this program: "*"--force" ]]
    [ "$(fingerprint results)" = "$before" ]
    "$TARE" audit results --write --force > /dev/null
    if grep -q 'by hand' results/audit_safe.csv; then false; fi
    "$TARE" audit results --write > /dev/null
}

@test "a link in the way of --write is not followed" {
    study results
    echo precious > target
    ln -s "$PWD/target" results/audit.json
    run -3 "$TARE" audit results --write
    [ -L results/audit.json ]
    [ ! -e results/audit_safe.csv ]
    "$TARE" audit results --write --force > /dev/null
    [ "$(cat target)" = precious ]
    [ ! -L results/audit.json ]
}

@test "criteria decide the exit code" {
    study results
    run -0 --separate-stderr "$TARE" audit results --expect 'contaminated=0,power_cv_between<5%'
    [[ "$stderr" == *"holds: contaminated=0 (0 of 3)"* ]]
    [[ "$stderr" == *"holds: power_cv_between<5% (0 %, of 3 runs of demo net)"* ]]
    run -1 --separate-stderr "$TARE" audit results --expect 'unverified>3'
    [[ "$stderr" == *"does not hold: unverified>3 (3 of 3)"* ]]
    run -2 "$TARE" audit results --expect 'power<5'
    run -2 "$TARE" audit results --split-at tomorrow
    run -2 "$TARE" audit results -o there
    run -3 "$TARE" audit nowhere
    mkdir empty
    run -3 "$TARE" audit empty
    [[ "$output" == *"neither run.db nor summary.csv nor an experiment's folder"* ]]
}

@test "several folders are one dataset" {
    study one
    study two
    run -0 "$TARE" audit one two --json
    python3 -c 'import json, sys; a = json.load(sys.stdin); assert a["totals"]["total"] == 6 and len(a["folders"]) == 2
assert not any(e["kind"] == "duplicate_id" for x in a["experiments"] for e in x["evidence"])' <<< "$output"
}

@test "what files say cannot steer the terminal" {
    study results
    printf 'evil\033[2J\a_x_001,2025-11-18T10:00:00,\033]0;title\007,x,True,60,0,1\r\n' >> results/summary.csv
    run -0 "$TARE" audit results
    [[ "$output" != *$'\033'* && "$output" != *$'\a'* ]]
    [[ "$output" == *"evil?[2J?_x_001"* ]]
}

@test "a run of tare's own: its evidence and verdicts, and not a byte changed" {
    job 'echo "loss 0.5"'
    settings 3
    tare_run
    run=$(run_dir)
    before=$(fingerprint "$run")
    "$TARE" audit "$run" --json > audit.json
    [ "$(fingerprint "$run")" = "$before" ]
    python3 - "$NAME" <<'END'
import json, sys
audit = json.load(open("audit.json"))
assert audit["folders"][0]["layout"] == sys.argv[1], audit["folders"]
assert audit["totals"]["total"] == 3 and audit["totals"]["succeeded"] == 3, audit["totals"]
for experiment in audit["experiments"]:
    assert experiment["metrics"] == {"loss": 0.5}, experiment
    assert experiment["verdict"] in ("clean", "suspect"), experiment
END
    "$TARE" audit "$run" --write > /dev/null
    [ "$(head -n 1 "$run/audit_safe.csv" | cut -d, -f1)" = experiment_id ]
    [ "$(head -n 1 "$run/audit_affected.csv")" = "$(head -n 1 "$run/summary.csv"),consistency,reason,audit_gpu_energy_joules,audit_gpu_energy_half_width_joules,audit_sampled_share" ]
}

@test "a crashed run is read from a copy: its run.db and -wal stay as they were" {
    job "echo 'loss 0.5'; [ ! -e '$WORK/first' ] || { : > '$WORK/second'; sleep 600; }; : > '$WORK/first'"
    settings 3
    start_run
    wait_until [ -e second ]
    run=$(run_dir)
    kill -KILL "$PID"
    end_program
    wait_until lock_is_free "$run/run.lock"
    [ -s "$run/run.db-wal" ]
    before=$(fingerprint "$run")
    "$TARE" audit "$run" --json > audit.json
    [ "$(fingerprint "$run")" = "$before" ]
    python3 -c 'import json; a = json.load(open("audit.json")); assert a["totals"]["total"] == 3 and a["totals"]["succeeded"] == 1, a["totals"]'
}

@test "a training of two seconds whose power rises has no energy, and audit says that the sensor does not resolve it" {
    mkdir -p results/short/energy
    printf '%s\n' experiment_id,timestamp,repository,model,training_success,duration_seconds,retries,energy_gpu_total_joules \
        short,2025-11-18T08:00:02.000000,demo,net,True,2.0,0,220 > results/summary.csv
    # 08:00:00 UTC and a second later.
    printf '%s\n' timestamp,power_draw_w 1763452800,20 1763452801,200 > results/short/energy/gpu_power.csv
    "$TARE" audit results --json > audit.json
    python3 - <<'END'
import json
gpu = json.load(open("audit.json"))["experiments"][0]["gpu"]
assert gpu["energy_j"] is None and gpu["half_width_j"] is None and gpu["power_mean_w"] is None, gpu
assert gpu["energy_unknown"] == "shorter than the sensor resolves" and gpu["sensor"] == "unknown", gpu
END
    run -0 "$TARE" audit results
    [[ "$output" == *"Power samples of 1 experiment are instants or means of a second, and the interval holds both."* ]]
    [[ "$output" == *"1 without an energy: shorter than the sensor resolves."* ]]
}
