#!/usr/bin/env bats
# audit --external-meter: the energies of a run beside those of a meter outside of the GPU, whose file is made from what the fake
# driver's GPUs drew.
bats_require_minimum_version 1.5.0
load energy

# One experiment of 150 W on a Tesla K40m.
powers() {
    scenario 1 'name Tesla K40m
step 0 150'
    job 'sleep 2; echo "loss 0.5"'
    settings 1
    tare_run >out
}

# meter FACTOR BASE: meter.csv, ten readings a second: BASE + FACTOR times the true power, from 5 s before the run to 5 s behind it.
meter() {
    python3 - "$(run_dir)" "$@" <<'END'
import json, sys, time
factor, base = map(float, sys.argv[2:])
ahead_s = time.time() - time.monotonic()
lines = [line.split() for line in open("scenario") if line.strip()]
origin = [int(line[1]) for line in lines if line[0] == "origin_ns"][0]
steps = sorted((origin / 1e9 + float(line[1]) / 1e3 + ahead_s, float(line[2])) for line in lines if line[0] == "step")
events = [json.loads(line) for line in open(sys.argv[1] + "/events.jsonl")]
times = [e["data"]["start_ns"] / 1e9 + ahead_s for e in events if e["type"] == "attempt_started"]
ends = [e["data"]["end_ns"] / 1e9 + ahead_s for e in events if e["type"] == "attempt_ended"]
with open("meter.csv", "w") as file:
    file.write("time,watts\n")
    t = min(times) - 5
    while t < max(ends) + 5:
        watts = [w for begin, w in steps if begin <= t] or [steps[0][1]]
        file.write(f"{t:.6f},{base + factor * watts[-1]:.3f}\n")
        t += 0.1
END
}

@test "a meter of the GPU's supply tells by which share its sensor is off, with the uncertainty of that" {
    powers
    meter 1.04 0
    "$TARE" audit "$(run_dir)" --external-meter meter.csv --external-meter-of GPU-0 --external-meter-accuracy 0.5% --json >audit.json
    python3 - "$(run_dir)" <<'END'
import json, math, sys
got = json.load(open("audit.json"))["external_meter"]
energy = json.load(open(sys.argv[1] + "/repo_net_001/experiment.json"))["tare"]["energy"]["devices"][0]
(row,) = got["experiments"]
assert got["of"] == energy["uuid"] and got["compared"] == 1 and got["accuracy"] == 0.005 and row["left_out"] is None, got
assert row["gpu_energy_j"] == energy["joules"] and abs(row["gpu_u_j"] * 1.96 / energy["half_width_j"] - 1) < 1e-6, row
seconds = json.load(open(sys.argv[1] + "/repo_net_001/experiment.json"))["duration_seconds"]
assert abs(row["meter_energy_j"] / (1.04 * 150 * seconds) - 1) < 1e-3, (row, seconds)
gain, parts = got["gain"], {c["component"]: c for c in got["gain"]["components"]}
assert gain["sensor_over_meter"] == row["gpu_energy_j"] / row["meter_energy_j"], gain
assert abs(gain["sensor_over_meter"] - 1 / 1.04) <= gain["expanded"], gain
assert abs(parts["meter_accuracy"]["u"] - 0.005 / 3 ** 0.5) < 1e-12 and "scatter" not in parts, parts
assert abs(gain["u"] - math.hypot(*(c["u"] for c in parts.values()))) < 1e-12, gain
assert got["fit"] is None
END
    run -0 "$TARE" audit "$(run_dir)" --external-meter meter.csv --external-meter-of GPU-0 --external-meter-accuracy 0.5
    [[ "$output" == *"external meter meter.csv, of $(uuid 0): "*" readings, 1 of 1 experiments compared"* ]]
    [[ "$output" == *"the sensor shows 0.9"*" of what the meter measured ± "*" (95 %, k = "* ]]
    # Without the meter's own accuracy nothing is known of how far off that is.
    run -0 "$TARE" audit "$(run_dir)" --external-meter meter.csv --external-meter-of GPU-0
    [[ "$output" == *"cannot be told without the meter's accuracy (--external-meter-accuracy)"* ]]
}

@test "a meter at the wall is compared and told to be no measure of the gain" {
    powers
    meter 1.25 60
    "$TARE" audit "$(run_dir)" --external-meter meter.csv --json >audit.json
    python3 - <<'END'
import json
got = json.load(open("audit.json"))["external_meter"]
(row,) = got["experiments"]
assert got["of"] == "machine" and got["gain"] is got["fit"] is got["accuracy"] is None and row["left_out"] is None, got
END
    run -0 "$TARE" audit "$(run_dir)" --external-meter meter.csv
    [[ "$output" == *"external meter meter.csv, of the machine: "* ]]
    [[ "$output" == *"a meter of the whole machine tells no gain"* ]]
}

@test "a file of a meter that is wrong is refused with its line, the reason and what to write" {
    powers
    meter 1 0
    local at folder
    folder=$(run_dir)
    check() { # WORDS...
        run --separate-stderr "$TARE" audit "$folder" --external-meter bad.csv
        is "$status" 2
        [ -z "$output" ]
        for at in "$@"; do [[ "$stderr" == *"$at"* ]] || { echo "$stderr"; return 1; }; done
    }
    sed '7s/,.*/,many/' meter.csv >bad.csv
    check "bad.csv:7: 'many' is not a power" "write watts as 123.4"
    sed '1s/.*/t,watts/' meter.csv >bad.csv
    check "bad.csv:1: no column is called time" "time,watts"
    { cat meter.csv; sed -n 2p meter.csv; } >bad.csv
    check "its time is not after that of the row before" "sort the rows by time"
    printf 'time,watts\n2025-11-23 08:00:00,1\n' >bad.csv
    check "bad.csv:2: the time '2025-11-23 08:00:00' does not say its zone" "+08:00"
    # A good file of another day: said of each experiment, and nothing is made up.
    printf 'time,watts\n1763884800,1\n1763884801,1\n' >other.csv
    run -0 "$TARE" audit "$folder" --external-meter other.csv
    [[ "$output" == *"2 readings, 0 of 1 experiments compared"*"it ended after the meter's last reading"* ]]
    run -3 "$TARE" audit "$folder" --external-meter nowhere.csv
    [[ "$output" == *"nowhere.csv"* ]]
    run -2 "$TARE" audit "$folder" --external-meter meter.csv --external-meter-of GPU-9
    [[ "$output" == *"no experiment was measured on a GPU GPU-9"* ]]
    run -2 "$TARE" audit "$folder" --external-meter meter.csv --external-meter-accuracy much
    [[ "$output" == *"'much' is not a percentage"* ]]
    run -2 "$TARE" audit "$folder" --external-meter-of machine
    [[ "$output" == *"go with --external-meter only"* ]]
}

@test "a gain that a meter told is in the budgets of later runs, and a meter that tells none is refused" {
    scenario 1 'step 0 150'
    job 'sleep 2; echo "loss 0.5"'
    settings 1
    tare_run >out
    meter 1.04 0
    cp -r "$(run_dir)" before
    # Of the machine, or without its accuracy, there is nothing to set.
    run -3 --separate-stderr "$TARE" audit before --external-meter meter.csv --set-gain
    [[ "$stderr" == *"a meter of the whole machine tells no gain"* ]]
    run -3 --separate-stderr "$TARE" audit before --external-meter meter.csv --external-meter-of GPU-0 --set-gain
    [[ "$stderr" == *"cannot be told without --external-meter-accuracy"* ]]
    run -2 "$TARE" audit before --set-gain
    "$TARE" measure --for 1s --json >unset.json
    run -0 --separate-stderr "$TARE" audit before --external-meter meter.csv --external-meter-of GPU-0 --external-meter-accuracy 0.5% --set-gain
    [[ "$stderr" == *"budgets of later runs take $(uuid 0) to be off by at most "* ]]
    "$TARE" audit before --external-meter meter.csv --external-meter-of GPU-0 --external-meter-accuracy 0.5% --json >audit.json
    rm -r results
    tare_run >out
    "$TARE" measure --for 1s --json >measure.json
    python3 - "$(run_dir)" <<'END'
import json, sys
gain = json.load(open("audit.json"))["external_meter"]["gain"]
bound = abs(1 / gain["sensor_over_meter"] - 1) + gain["expanded"] / gain["sensor_over_meter"]
run = json.load(open(sys.argv[1] + "/repo_net_001/experiment.json"))["tare"]["energy"]["gpu"]
for one in (run, json.load(open("measure.json"))["gpu"]):
    part = one["budget"]["components"][-1]
    assert abs(one["gain_bound"] / bound - 1) < 1e-4 and one["expanded_j"] > one["half_width_j"], (one, bound)
    assert part["component"] == "gain" and part["source"].startswith("external meter meter.csv, 20"), part
# Both show 1 / 1.04 of what the meter did: with its bound each holds it.
assert run["expanded_j"] >= 0.04 * run["joules"] * 1.04, run
before = json.load(open("unset.json"))["gpu"]
assert before["gain_bound"] is before["expanded_j"] is None, before
END
    # What is no such file, is somebody else's GPU's or says nonsense counts nothing.
    local file
    file=$(find "$XDG_STATE_HOME" -name 'gain-*.json')
    for change in 's/"bound": .*,/"bound": 7.0,/' 's/"format": 1/"format": 2/' 's/"uuid": "GPU-0/"uuid": "GPU-1/' '$d'; do
        sed -i.good "$change" "$file"
        "$TARE" measure --for 0.5s --json >bad.json
        python3 -c 'import json; one = json.load(open("bad.json"))["gpu"]; assert one["gain_bound"] is one["expanded_j"] is None, one'
        mv "$file.good" "$file"
    done
}
