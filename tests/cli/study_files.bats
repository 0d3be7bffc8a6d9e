#!/usr/bin/env bats
# The files in energy/ that scripts written for the study read, from a played driver whose GPUs draw what is known.

load energy

# check LINES: python's lines about experiment 1 as look has them; also "times" and "rows(NAME, COLUMNS)" of one of the
# study's files, and "levels(GPU, SECOND)": the powers that the scenario's steps have in it, a reading's age included.
check() {
    look '
import re, time
files = folder + "energy/"
realtime = time.time_ns() - time.monotonic_ns()
first, last = (start + realtime) // 10**9, (end + realtime) // 10**9

def rows(name, head):
    text = open(files + name).read()
    assert text.endswith("\n") and text.split("\n")[0] == head, text
    found = [line.split(",") for line in text.splitlines()[1:]]
    times = [int(row[0]) for row in found]
    # One a second at most, of the attempt alone.
    assert all(a < b for a, b in zip(times, times[1:])) and first <= times[0] and times[-1] <= last, (times, first, last)
    assert len(found) >= (end - start) / 2e9, found
    return found

def levels(gpu, second):
    from_ns, until_ns, found = (second * 10**9 - realtime) - 2 * 10**8, (second + 1) * 10**9 - realtime, set()
    at = steps(gpu)
    for i, (begin, watts) in enumerate(at):
        if begin < until_ns and (i + 1 == len(at) or at[i + 1][0] > from_ns):
            found.add(watts)
    return found
'"$1"
}

@test "power, temperature and utilisation are written as the study wrote them, a row a second" {
    scenario 1 'idle_w 77
ambient_c 30
kelvin_per_w 0
step 0 77
step 3000 600
step 5000 77'
    job 'sleep 6; echo "loss 0.5"'
    settings 1
    tare_run >out
    check '
power = rows("gpu_power.csv", "timestamp,power_draw_w")
assert all(re.fullmatch(r"[0-9]+\.[0-9]{2}", watts) and float(watts) in levels(0, int(t)) for t, watts in power), power
assert {watts for t, watts in power} == {"77.00", "600.00"}, power
# The driver plays 30 degrees, memory 6 more, and 97 and 41 % while it draws more than idle.
warm = rows("gpu_temperature.csv", "timestamp,gpu_temp_c,memory_temp_c")
assert all(row[1:] == ["30", "36"] for row in warm), warm
busy = rows("gpu_utilization.csv", "timestamp,gpu_util_percent,memory_util_percent")
assert {tuple(row[1:]) for row in busy} == {("0", "0"), ("97", "41")}, busy
assert [row[0] for row in power] == [row[0] for row in warm] == [row[0] for row in busy]
# What the study calls energy is not the joules, but not far from them.
assert abs(sum(float(watts) for t, watts in power) - truth()) < 600 * 2 + 77 * 2, power
assert sorted(os.listdir(files)) == ["gpu.csv", "gpu_power.csv", "gpu_temperature.csv", "gpu_utilization.csv"], os.listdir(files)
'
}

@test "a value that the card does not have is N/A" {
    scenario 1 'fault field:82 error code=3
step 0 150'
    job 'sleep 1.5; echo "loss 0.5"'
    settings 1
    tare_run >out
    check '
assert {row[2] for row in rows("gpu_temperature.csv", "timestamp,gpu_temp_c,memory_temp_c")} == {"N/A"}
'
}

@test "of several GPUs the powers are added up, the highest temperature and the mean utilisation count" {
    scenario 2 'idle_w 77
kelvin_per_w 0
gpu 0
ambient_c 30
step 0 150
gpu 1
ambient_c 50
step 0 77'
    job 'sleep 3; echo "loss 0.5"'
    settings 1 '"gpus_per_experiment": "all"'
    tare_run >out
    check '
assert {row[1] for row in rows("gpu_power.csv", "timestamp,power_draw_w")} == {"227.00"}
assert {tuple(row[1:]) for row in rows("gpu_temperature.csv", "timestamp,gpu_temp_c,memory_temp_c")} == {("50", "56")}
# The mean of 97 and 0, of 41 and 0.
assert {tuple(row[1:]) for row in rows("gpu_utilization.csv", "timestamp,gpu_util_percent,memory_util_percent")} <= {
    ("48", "20"), ("48", "21"), ("49", "20"), ("49", "21")}
'
}

# Counters of a package that draws 7 W and of its DRAM, 1.5 W, while this test runs: $HOLDER.
play_cpu() {
    local zone=machine/sys/class/powercap/intel-rapl:0
    mkdir -p $zone $zone:0
    echo package-0 >$zone/name
    echo dram >$zone:0/name
    echo 262143328850 | tee $zone/max_energy_range_uj >$zone:0/max_energy_range_uj
    python3 - $zone $zone:0 >/dev/null 2>&1 3>&- <<'END' &
import os, sys, time
counters = [(os.open(zone + "/energy_uj", os.O_RDWR | os.O_CREAT), watts) for zone, watts in zip(sys.argv[1:], (7, 1.5))]
while True:
    for fd, watts in counters:
        os.pwrite(fd, b"%018d\n" % (10**9 + int(time.monotonic() * 1e6 * watts) % 10**11), 0)
    time.sleep(0.002)
END
    HOLDER=$!
    disown "$HOLDER"
    wait_until test -s $zone:0/energy_uj
}

@test "the energy of the processors is written in the study's two layouts" {
    scenario 1 'step 0 150'
    play_cpu
    job 'sleep 3; echo "loss 0.5"'
    settings 1
    TZ=Asia/Shanghai tare_run >out
    check '
seconds = (end - start) / 1e9
lines = open(files + "cpu_energy.txt").read().split("\n")
assert lines[:2] == ["CPU Energy Consumption Summary", "=" * 30] and lines[5] == "" and lines[6].startswith("Note: "), lines
found = {name: float(value) for name, value in (line.split(": ") for line in lines[2:5])}
package, ram, total = (found[name + " Energy (Joules)"] for name in ("Package", "RAM", "Total CPU"))
assert abs(package / (7 * seconds) - 1) < 0.1 and abs(ram / (1.5 * seconds) - 1) < 0.1, (found, seconds)
assert abs(package + ram - total) < 0.011, found
assert all(re.search(r": [0-9]+\.[0-9]{2}$", line) for line in lines[2:5]), lines
raw = open(files + "cpu_energy_raw.txt").read()
began = time.strftime("%a %b %e %H:%M:%S %Y", time.gmtime((start + realtime) / 1e9 + 8 * 3600))
assert raw.startswith("# started on " + began + "\n"), (raw, began)
assert re.search(r"^ +%.2f Joules power/energy-pkg/$" % package, raw, re.M), raw
assert re.search(r"^ +%.2f Joules power/energy-ram/$" % ram, raw, re.M), raw
elapsed = float(re.search(r"^ +([0-9.]+) seconds time elapsed$", raw, re.M)[1])
assert abs(elapsed - seconds) < 1e-6, (elapsed, seconds)
'
}

@test "they are of the last attempt; those of an earlier one lie in its folder" {
    scenario 1 'step 0 150'
    job "sleep 1.5; [ \$TARE_ATTEMPT = 2 ] && echo 'loss 0.5'"
    settings 1
    sed -i 's/"max_retries": 0/"max_retries": 1/' settings.json
    tare_run >out
    [ -e "$(run_dir)/repo_net_001/attempt_1/energy/gpu_power.csv" ]
    check '
assert rows("gpu_power.csv", "timestamp,power_draw_w")[0][1] == "150.00"
'
}

has_rows() { [ "$(wc -l <"$(run_dir)/repo_net_001/energy/gpu.csv")" -ge "$1" ]; }

@test "a runner that is killed leaves none of them, and the resumed run whole ones" {
    scenario 1 'step 0 150'
    job "touch $WORK/began; until [ -e $WORK/go ]; do sleep 0.1; done; sleep 1.5; echo 'loss 0.5'"
    settings 1
    start_run
    wait_until test -e began
    wait_until has_rows 3
    kill -KILL "$PID"
    wait_until program_is_gone
    is "$(ls "$(run_dir)/repo_net_001/energy")" gpu.csv
    touch go
    "$TARE" run --resume "$(run_dir)" >out
    check '
assert rows("gpu_power.csv", "timestamp,power_draw_w")[0][1] == "150.00"
'
}

@test "settings without the key tare and runs by flags have them; a grid over a script does not" {
    scenario 1 ''
    job 'sleep 1; echo "loss 0.5"'
    registry
    "$TARE" run -r repo -m net -c registry.json -o results >out
    [ -e "$(run_dir)/repo_net_001/energy/gpu_power.csv" ]
    rm -r results
    echo '{"experiments": [{"repo": "repo", "model": "net", "mode": "default"}]}' >plain.json
    "$TARE" run plain.json -c registry.json -o results >out
    [ -e "$(run_dir)/repo_net_001/energy/gpu_power.csv" ]
    rm -r results
    cat >train.py <<'END'
import argparse, time
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
parser.parse_args()
time.sleep(1)
print("accuracy: 0.9")
END
    "$TARE" run -o results train.py --lr 0.1 >out
    [ -e "$(echo results/run_*/*_001/energy/gpu.csv)" ]
    is "$(find results -name 'gpu_*.csv')" ""
}

# audited: a line for experiment 1 with its energy, half-width and verdict, as tare audit says them.
audited() {
    "$TARE" audit --json "$(run_dir)" | python3 -c '
import json, sys
found, = json.load(sys.stdin)["experiments"]
print(found["gpu"]["energy_j"], found["gpu"]["half_width_j"], found["verdict"], [e["kind"] for e in found["evidence"]])'
}

@test "an audit of a run uses its own readings; what is left without its journal is audited as a folder of the study" {
    scenario 1 'idle_w 77
step 0 77
step 5000 300'
    job 'sleep 16; echo "loss 0.5"'
    settings 1
    tare_run >out
    audited >whole
    mkdir aside
    mv "$(run_dir)"/repo_net_001/energy/gpu_*.csv aside
    audited >without
    diff whole without
    mv aside/* "$(run_dir)/repo_net_001/energy"
    rm "$(run_dir)/run.db" "$(run_dir)/events.jsonl" "$(run_dir)/repo_net_001/energy/gpu.csv"
    "$TARE" audit "$(run_dir)" >said
    grep -q "the study's layout" said
    audited >study
    cat whole study
    python3 - <<'END'
own, study = (open(name).read().split(" ", 3) for name in ("whole", "study"))
joules, half_width = float(study[0]), float(study[1])
assert abs(float(own[0]) - joules) <= half_width and half_width < 0.25 * joules, (own, study)
# The sums and the joules differ by what samples miss: that accuses no row.
assert "energy_differs" not in study[3] and "values_differ" not in study[3], study
END
    # A recorded energy that is not that of the samples is a contradiction: no figure is made of the row.
    python3 - "$(run_dir)/summary.csv" <<'END'
import csv, sys
rows = list(csv.reader(open(sys.argv[1])))
place = rows[0].index("energy_gpu_total_joules")
rows[1][place] = str(2 * float(rows[1][place]))
csv.writer(open(sys.argv[1], "w")).writerows(rows)
END
    [[ "$(audited)" == *energy_differs* ]]
    run "$TARE" audit "$(run_dir)" --expect contradictions=0
    is "$status" 1
    run "$TARE" stats "$(run_dir)" --only all
    [[ "$output" == *"left out, as their rows and their folders disagree"*": repo_net_001"* ]]
}
