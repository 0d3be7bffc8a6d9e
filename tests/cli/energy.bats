#!/usr/bin/env bats
# What trainings draw: the program itself against a driver whose GPUs draw what is known in closed form.

load energy

@test "known steps of power come out within the stated half-width" {
    scenario 1 'step 0 150
step 2000 600
step 3000 250'
    job 'sleep 3; echo "loss 0.5"'
    settings 1
    tare_run >out
    look '
gpu = energy["gpu"]
near(gpu["joules"], truth(), gpu["half_width_j"])
assert gpu["half_width_j"] < 0.2 * gpu["joules"], gpu
assert gpu["source"] == "nvml-counter" and gpu["scope"] == "GPU board" and gpu["sensor_uncertainty"] == "unknown", gpu
assert gpu["covered_share"] > 0.99, gpu
assert abs(gpu["kwh"] * 3.6e6 - gpu["joules"]) < 1e-6, gpu
assert float(row["energy_gpu_total_joules"]) == gpu["joules"] == e["energy_metrics"]["gpu_energy_total_joules"]
assert abs(float(row["energy_gpu_avg_watts"]) * float(row["duration_seconds"]) / gpu["joules"] - 1) < 1e-5, row
assert 149 < float(row["energy_gpu_min_watts"]) and float(row["energy_gpu_max_watts"]) < 601, row
assert row["energy_gpu_util_max_percent"] != "" and row["energy_gpu_temp_max_celsius"] != "", row
# There is no CPU counter on this machine: absent, not zero.
assert row["energy_cpu_pkg_joules"] == row["energy_cpu_ram_joules"] == row["energy_cpu_total_joules"] == "", row
assert e["energy_metrics"]["cpu_energy_pkg_joules"] is None
assert energy["devices"][0]["device"] == "GPU 0" and len(energy["devices"]) == 1 and energy["missing"] == []
# One line of readings a second, of the attempt alone.
rows = list(csv.DictReader(open(folder + "energy/gpu.csv")))
times = [float(r["seconds"]) for r in rows]
assert len(rows) >= 2 and times == sorted(times) and times[0] >= 0, times
assert times[-1] <= float(row["duration_seconds"]), times
assert all(r["gpu"] == "GPU 0" and 149 < float(r["power_draw_w"]) < 601 and r["timestamp"] for r in rows), rows
import sqlite3
with sqlite3.connect(sys.argv[1] + "/run.db") as db:
    assert db.execute("SELECT device, scope, energy_j FROM energy").fetchall() == [("GPU 0", "GPU board", gpu["joules"])]
'
    grep -q 'GPU ENERGY' out
}

# All components of a budget but the gain, the last, make its half-width: of every energy of an experiment.
BUDGET='
def budget_holds(item):
    b = item["budget"]
    parts, gain = b["components"][:-1], b["components"][-1]
    assert gain["component"] == "gain" and all(c["component"] != "gain" for c in parts), b
    assert all(c["type"] in ("A", "B") and c["source"] and c["unit"] in ("J", "s", "1") for c in b["components"]), b
    assert all(abs(c["u"] * c["sensitivity"] / c["contribution_j"] - 1) < 1e-4 for c in parts), b
    u = sum(c["contribution_j"] ** 2 for c in parts) ** 0.5
    assert abs(1.96 * u / item["half_width_j"] - 1) < 1e-4, (u, item)
    assert not {"expanded_j", "aliasing_j"} & set(item) and set(b) == {"components"}, item
    return gain
'

# two_gpus_measured [LINES]: a run on two GPUs of different power; LINES of the scenario before.
two_gpus_measured() {
    scenario 2 "${1-}step 0 150
step 2000 600
gpu 1
step 0 300"
    job 'sleep 2.5; echo "loss 0.5"'
    settings 1 '"gpus_per_experiment": "all"'
    tare_run >out
}

@test "each energy has its uncertainty budget, and a gain that nobody states is unknown, not 0" {
    two_gpus_measured
    look "$BUDGET"'
assert len(energy["devices"]) == 2
for item in [energy["gpu"]] + energy["devices"]:
    gain = budget_holds(item)
    assert gain["u"] is gain["contribution_j"] is gain["degrees_of_freedom"] is None and "vendor states none" in gain["source"], gain
    assert abs(gain["sensitivity"] / item["joules"] - 1) < 1e-5, gain
    assert item["gain_bound"] is None, item
    # 0.02 / sqrt(3) of the time is missed, of the power up to the limit of 700 W.
    assert 0 < item["aliasing_bound_j"] < 0.012 * (700 * len(energy["devices"])) * item["joules"] / item["power_mean_w"], item
# The half-widths of two GPUs are added in squares, which is said; of one GPU there is nothing to add.
whole, one, two = (x["half_width_j"] for x in [energy["gpu"]] + energy["devices"])
assert abs((one ** 2 + two ** 2) ** 0.5 / whole - 1) < 1e-4, (one, two, whole)
assert [x["combined"] for x in [energy["gpu"]] + energy["devices"]] == ["independent", None, None], energy
assert "interpolation" in [c["component"] for c in energy["gpu"]["budget"]["components"]]
'
}

@test "a gain that the vendor states is beside the half-width, of two GPUs as if both erred alike" {
    two_gpus_measured 'name Tesla K40m
'
    look "$BUDGET"'
for item in [energy["gpu"]] + energy["devices"]:
    gain = budget_holds(item)
    assert gain["type"] == "B" and gain["degrees_of_freedom"] == "inf" and "nvmlDeviceGetPowerUsage" in gain["source"], gain
    assert abs(gain["u"] / (0.05 / 3 ** 0.5) - 1) < 1e-4 and item["gain_bound"] == 0.05, item
    assert abs(gain["contribution_j"] / (gain["u"] * item["joules"]) - 1) < 1e-4, item
assert any(c["component"] == "averaging" and c["source"] == "sensor profile" for c in energy["gpu"]["budget"]["components"])
'
}

@test "without a driver and a counter nothing is measured, cells are empty, and one line says so" {
    unset TARE_NVML
    job 'echo "loss 0.5"'
    settings 2
    tare_run >out 2>err
    is "$(grep -c 'energy is not measured: no NVIDIA GPU is seen here' err)" 1
    look '
assert all(row[key] == "" for key in row if key.startswith("energy_")) and row["gpu_mem_peak_mib"] == "", row
assert e["energy_metrics"] == {} and energy["gpu"] is energy["cpu_package"] is None and energy["devices"] == [], e
# What the job used of the host needs no sensor.
assert energy["host"]["cpu_s"] is not None and energy["host"]["processes_peak"] is not None, energy
assert not os.path.exists(folder + "energy")
'
    if grep -q 'ENERGY' out; then return 1; fi
    rm -r results
    tare_run -q >out 2>err
    if grep -q 'energy' err; then return 1; fi
}

@test "a driver that cannot be loaded is named, and the run goes on without it" {
    scenario 1 'step 0 100'
    export TARE_NVML=$WORK/nothing.so
    job 'echo "loss 0.5"'
    settings 1
    tare_run >out 2>err
    cat out
    grep -q 'the energy of GPU 0 is not measured: .*nothing.so' out
    look '
assert row["energy_gpu_total_joules"] == "" and row["outcome"] == "succeeded", row
assert energy["gpu"] is None and energy["missing"][0]["device"] == "GPU 0", energy
'
}

@test "epochs add up to the attempt to the millijoule" {
    scenario 1 'step 0 100
step 1700 500
step 2600 300'
    job 'sleep 0.7; for i in 1 2 3; do echo "Epoch $i"; sleep 0.8; done'
    registry '"marks": {"epoch": "^Epoch ([0-9]+)"}'
    settings 1
    tare_run
    look '
rows = list(csv.DictReader(open(folder + "energy/marks.csv")))
assert [r["part"] for r in rows] == ["startup", "epoch", "epoch", "epoch"], rows
def mj(text):
    whole, part = text.split(".")
    return int(whole) * 1000 + int(part)
assert sum(mj(r["gpu_energy_j"]) for r in rows) == round(energy["gpu"]["joules"] * 1000), rows
for r, epoch in zip(rows, e["tare"]["epochs"]):
    assert abs(epoch["gpu_energy_j"] - float(r["gpu_energy_j"])) < 1e-9, (r, epoch)
    begin, until = start + float(r["start_s"]) * 1e9, start + float(r["end_s"]) * 1e9
    near(float(r["gpu_energy_j"]), truth(0, begin, until), float(r["gpu_half_width_j"]))
    assert abs(float(r["gpu_power_w"]) * float(r["duration_s"]) - float(r["gpu_energy_j"])) < 0.01, r
'
}

@test "two GPUs add up, one that is not visible does not count" {
    scenario 3 'step 0 100
gpu 1
step 1500 400
gpu 2
step 500 700'
    export CUDA_VISIBLE_DEVICES=0,1 CUDA_DEVICE_ORDER=PCI_BUS_ID
    job 'sleep 2'
    settings 1 '"gpus_per_experiment": "all"'
    tare_run
    look '
one, two = energy["devices"]
assert (one["device"], two["device"]) == ("GPU 0", "GPU 1"), energy["devices"]
near(one["joules"], truth(0), one["half_width_j"])
near(two["joules"], truth(1), two["half_width_j"])
both = energy["gpu"]
assert round(both["joules"] * 1000) == round(one["joules"] * 1000) + round(two["joules"] * 1000), both
assert abs(both["half_width_j"] ** 2 - one["half_width_j"] ** 2 - two["half_width_j"] ** 2) < 1e-4 * both["half_width_j"] ** 2, both # six digits
# The peaks of a sum are not known from those of its parts.
assert both["power_max_w"] is None and row["energy_gpu_max_watts"] == "", both
assert abs(both["power_mean_w"] - one["power_mean_w"] - two["power_mean_w"]) < 0.01, both
'
}

@test "a driver that hangs while the job runs costs the evidence a gap, and the run no time" {
    scenario 1 'step 0 100
fault * hang from_ms=3000'
    job 'sleep 4; echo "loss 0.5"'
    settings 2
    local begin=$SECONDS
    tare_run
    # Two jobs of 4 s, two waits of 2 s at their ends; whoever waited for the driver would wait for ever.
    [ $((SECONDS - begin)) -lt 120 ]
    look 'assert row["outcome"] == "succeeded" and "sampling_gap" in evidence, (row, evidence)'
    EXPERIMENT=2 look 'assert row["outcome"] == "succeeded" and "sampling_gap" in evidence, (row, evidence)
assert row["energy_gpu_total_joules"] == "", row'
}

@test "a GPU that is lost while the job runs is a gap in the evidence" {
    scenario 1 'step 0 100
fault * error code=15 from_ms=3000'
    job 'sleep 4; echo "loss 0.5"'
    settings 1
    tare_run
    look 'assert row["outcome"] == "succeeded" and "sampling_gap" in evidence, (row, evidence)'
}

@test "garbage from the driver is no energy" {
    scenario 1 'step 0 100
fault nvmlDeviceGetTotalEnergyConsumption garbage
fault nvmlDeviceGetSamples garbage
fault nvmlDeviceGetPowerUsage garbage
fault nvmlDeviceGetFieldValues garbage'
    job 'sleep 1.5; echo "loss 0.5"'
    settings 1
    tare_run
    look '
total = row["energy_gpu_total_joules"]
assert row["outcome"] == "succeeded", row
# Whatever is made of it, nothing is claimed that the board cannot draw.
assert total == "" or 0 <= float(total) < 1.5 * 700 * (end - start) / 1e9, row
'
}

@test "a counter that begins anew is evidence, and the trace stands in for it" {
    scenario 1 'step 0 300
counter_reset_ms 9000'
    # However late a busy machine begins it, the counter begins anew while it runs.
    job "exec python3 -c '
import time
time.sleep(max(1, $(awk '$1 == "origin_ns" { print $2 }' scenario) / 1e9 + 10.5 - time.monotonic()))'"
    settings 1
    tare_run
    look '
assert "counter_backwards" in evidence, evidence
near(energy["gpu"]["joules"], truth(), max(energy["gpu"]["half_width_j"], 0.05 * truth()))
'
}

@test "failed attempts keep their own, the columns are of the last one" {
    scenario 1 'step 0 200'
    job 'sleep 1; [ "$TARE_ATTEMPT" = 2 ] && { sleep 1; echo "loss 0.5"; exit 0; }; exit 1'
    settings 1
    sed -i 's/"max_retries": 0/"max_retries": 1/' settings.json
    tare_run
    look '
first, second = e["tare"]["attempts"]
assert (first["outcome"], second["outcome"]) == ("failed", "succeeded"), e["tare"]["attempts"]
for attempt in (first, second):
    gpu = attempt["energy"]["gpu"]
    near(gpu["joules"], 200 * attempt["duration_seconds"], gpu["half_width_j"])
assert float(row["energy_gpu_total_joules"]) == second["energy"]["gpu"]["joules"], row
assert os.path.exists(folder + "attempt_1/energy/gpu.csv") and os.path.exists(folder + "energy/gpu.csv")
'
}

@test "a resumed run keeps the energies of what had ended" {
    scenario 1 'step 0 200'
    job 'if [ -e go ] || [ ! -e first ]; then touch first; sleep 1; else touch second; sleep 100; fi'
    settings 2
    start_run
    wait_until test -e repo/second
    local before
    before=$(summary energy_gpu_total_joules)
    [ -n "$before" ]
    kill -INT "$PID"
    end_program
    touch repo/go
    "$TARE" run --resume "$(run_dir)"
    is "$(summary energy_gpu_total_joules | head -n 1)" "$before"
    look 'near(energy["gpu"]["joules"], truth(), energy["gpu"]["half_width_j"])'
    EXPERIMENT=2 look 'near(energy["gpu"]["joules"], truth(), energy["gpu"]["half_width_j"])'
}

# used LAYER: what a job of three processes uses, held together by that layer.
used() {
    rm -rf results
    tare_run --containment "$1" >out 2>&1 || { cat out; return 1; }
    look '
host, usage = energy["host"], e["tare"]["attempts"][0]["usage"]
# Each of the three workers burns 0.4 s; clock ticks round down, for user and system apart, where nothing else tells.
assert 1.1 <= host["cpu_s"] < 60 and 1.1 <= usage["cpu_seconds"] < 60, (host, usage)
assert host["processes_peak"] >= 3, host
assert 72 << 20 <= host["memory_peak_bytes"] < 8 << 30, host
assert usage["peak_memory_bytes"] is None or usage["peak_memory_bytes"] >= 24 << 20, usage
assert host["suspended_s"] == 0, host
# Where the kernel tells storage at all, it is a number of bytes, and the same was read or written by nobody twice.
assert host["written_bytes"] is None or 0 <= host["written_bytes"] < 1 << 30, host
assert host["job_share"] is None or 0 < host["job_share"] <= 1.05, host
'
}

@test "what a job uses of the host is told, from its cgroup or from /proc, with sensors or without" {
    unset TARE_SYSROOT TARE_NVML
    export CUDA_VISIBLE_DEVICES=
    # The workers outlive their parent: so they are there at the last look, however many looks there were before.
    cat >work.py <<'END'
import os, signal, time
done, says = os.pipe()
for worker in range(3):
    if os.fork() == 0:
        memory = bytearray(b"x") * (24 << 20)
        while time.process_time() < 0.4:
            pass
        os.write(says, b"x")
        signal.pause()
memory = bytearray(b"x") * (24 << 20)
for worker in range(3):
    os.read(done, 1)
END
    job "cd '$WORK' && exec python3 work.py"
    settings 1
    used auto
    used sweep
}
