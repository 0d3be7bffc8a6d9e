#!/usr/bin/env bats
# The power within a training step, from marks to experiment.json, against a driver whose GPU draws square waves that are known in closed form.

load energy

# A calibration of GPU 0 as `tare calibrate` keeps it: what the driver's samples show is the power of their moment.
calibrated() {
    "$TARE" calibrate --show >/dev/null 2>&1 || true # makes the folder
    python3 - "$XDG_STATE_HOME" "$(uuid 0)" "$("$TARE" --version | awk 'NR == 1 { print $2 }')" <<'END'
import json, os, sys, time
known = lambda value: {"value": value, "half_width": 0.0001, "why": None}
unknown = {"value": None, "half_width": None, "why": "not tried"}
names = "update_period_s jitter_s averaging_s delay_s lag_s looked_share quantum noise_w idle_w load_w".split()
sensor = {"averaging": "unknown", "averaging_why": "not tried", "updates": 0, **dict.fromkeys(names, unknown)}
samples = {**sensor, "averaging": "instant", "averaging_why": None, "updates": 500, "update_period_s": known(0.017),
           "averaging_s": known(0), "delay_s": known(0)}
folder = next(path for path, folders, files in os.walk(sys.argv[1]) if path.endswith("/tare/runs"))
made = {"format": 2, "uuid": sys.argv[2], "name": "NVIDIA H200", "driver": "580.159.04", "board": "900-21010-0040-000",
        "firmware": "96.00.BC.00.02", "version": sys.argv[3], "made": int(time.time()), "seconds": 60,
        "load_times_half_width_s": 0, "sensors": {"samples": samples, "power": sensor, "counter": sensor},
        **dict.fromkeys(["agreement", "idle_settle_s", "power_back_s", "temperature_back_s"], unknown)}
json.dump(made, open(f"{folder}/calibration-{sys.argv[2]}-580.159.04.json", "w"))
END
    run -0 "$TARE" calibrate --show
    [[ "$output" == *"GPU-00000000-0000-4000-8000-000000000000"* ]]
}

# 60 steps of 0.127 s that begin in $1 seconds: the GPU's power, and a job that marks them at these very times.
training() {
    scenario 1 "update_jitter_ms 0
settle_ms 0"
    python3 - "$1" "$WORK" <<'END'
import sys
lines = open(sys.argv[2] + "/scenario").read()
origin = int(lines.split()[1])
power, marks = [], []
for step in range(60):
    for name, at, watts in (("data", 0, 150), ("forward", 25, 400), ("backward", 70, 600)):
        ms = 1000 + float(sys.argv[1]) * 1000 + step * 127 + at
        power.append(f"step {ms} {watts}\n")
        marks += [f"{origin + int(ms * 1e6)} step {step}\n"] * (at == 0) + [f"{origin + int(ms * 1e6)} phase {name}\n"]
end = 1000 + float(sys.argv[1]) * 1000 + 60 * 127
open(sys.argv[2] + "/scenario", "a").write("".join(power) + f"step {end} 77\n")
open(sys.argv[2] + "/plan", "w").write("".join(marks) + f"{origin + int(end * 1e6)} /step 59\n")
open(sys.argv[2] + "/train.py", "w").write('''import os, sys, time
marks = open(os.environ["TARE_MARKS"], "w")
for line in open(sys.argv[1]):
    at, mark = line.strip().split(" ", 1)
    wait = int(at) - time.monotonic_ns()
    if wait > 0:
        time.sleep(wait / 1e9)
    print(mark, "@" + at, file=marks, flush=True)
time.sleep(1.5)
''')
END
}

# check STEP_POWER_JSON: the phases are those that the driver played, within 3 % and within what is stated.
check='
assert len(found) == 1 and found[0]["reason"] is None, found
steps = found[0]
assert steps["device"] == "GPU 0" and 55 <= steps["steps"] <= 60 and abs(steps["step_median_s"] - 0.127) < 0.002, steps
truth = {"data": 150 * 0.025, "forward": 400 * 0.045, "backward": 600 * 0.057}
assert [p["name"] for p in steps["phases"]] == list(truth), steps
for phase in steps["phases"]:
    error = abs(phase["energy_j"] - truth[phase["name"]])
    assert error <= phase["half_width_j"], phase
    assert error <= 0.03 * truth[phase["name"]], phase
assert steps["bins"] and all(b["end_s"] - b["begin_s"] <= 0.005 + 1e-6 for b in steps["bins"]), steps
assert steps["bins"][0]["begin_s"] == 0 and abs(steps["bins"][-1]["end_s"] - steps["step_median_s"]) < 1e-5
for before, after in zip(steps["bins"], steps["bins"][1:]):
    assert before["end_s"] == after["begin_s"], (before, after)
middle = [b for b in steps["bins"] if 0.03 < b["begin_s"] < 0.06 or b["begin_s"] > 0.08 and b["end_s"] < 0.12]
assert all(abs(b["power_w"] - (400 if b["begin_s"] < 0.07 else 600)) <= b["half_width_w"] for b in middle), middle
'

@test "steps and phases that a job marks get their joules and their power, from the FIFO to experiment.json" {
    calibrated
    training 6
    job "python3 $WORK/train.py $WORK/plan"
    settings 1
    tare_run
    [ -z "${KEEP_PAGE:-}" ] || cp "$(run_dir)/report.html" "$KEEP_PAGE"
    look "
found = energy['step_power']
$check
assert not os.path.exists(folder + 'energy/marks.csv') and not e['tare']['epochs'], e['tare']['epochs']
assert not any(x['type'] == 'mark' for x in mine)
"
}

@test "exec tells the phases of a step, and keeps them in its JSON" {
    calibrated
    training 3
    "$TARE" exec --energy -- python3 train.py plan 2>err
    grep -E '^  One step of (5[5-9]|60) \(0\.127 s each\), GPU 0: data [0-9.]+ ± [0-9.]+ J, forward [0-9.]+ ± [0-9.]+ J, backward [0-9.]+ ± [0-9.]+ J$' err
    training 3
    "$TARE" exec --energy --json energy.json -- python3 train.py plan
    python3 -c "import json
found = json.load(open('energy.json'))['step_power']
$check"
}

@test "without a calibration the phases of a step have a reason instead of figures" {
    training 1
    "$TARE" exec --energy -- python3 train.py plan 2>err
    grep "GPU 0: not told: over which time the sensor averages is not known: \`tare calibrate\` finds out" err
}

@test "marks of steps change no epoch, and a flood of them is bounded" {
    job 'for i in 1 2 3; do echo "epoch $i" >"$TARE_MARKS"; python3 -c "
import os
marks = open(os.environ[\"TARE_MARKS\"], \"w\")
for i in range(30000): print(\"step\\nphase forward\", file=marks)
marks.flush()"; sleep 0.2; done'
    settings 1
    scenario 1 ''
    tare_run
    look '
assert [(x["part"], x["label"]) for x in e["tare"]["epochs"] if x["part"] == "epoch"] == [("epoch", "1"), ("epoch", "2"), ("epoch", "3")], e["tare"]["epochs"]
assert e["tare"]["attempts"][-1]["marks"]["taken"] == 3, e["tare"]["attempts"][-1]["marks"]
assert energy["step_power"][0]["reason"], energy["step_power"]
'
}
