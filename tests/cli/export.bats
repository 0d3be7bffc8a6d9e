# What audit, stats and export make of a run of its own, measured on the fake driver: the same figures as its own files.
load energy

@test "a measured run: audit, stats and every exported table say what its own files say" {
    scenario 1 'step 0 150'
    job 'echo "epoch 1" > "$TARE_MARKS"; sleep 2; echo "/epoch 1" > "$TARE_MARKS"; echo "loss 0.5"'
    settings 2
    tare_run > out
    "$TARE" audit "$(run_dir)" --json > audit.json
    "$TARE" stats "$(run_dir)" --only all --json > stats.json
    "$TARE" export "$(run_dir)" -o tables > /dev/null
    look '
audit = json.load(open("audit.json"))
rows = list(csv.DictReader(open(sys.argv[1] + "/summary.csv")))
assert len(audit["experiments"]) == len(rows) == 2
for mine, row in zip(audit["experiments"], rows):
    assert mine["experiment_id"] == row["experiment_id"]
    assert mine["gpu"]["energy_j"] == float(row["energy_gpu_total_joules"]) and mine["gpu"]["source"] == "meter", mine["gpu"]
    assert abs(mine["duration_s"] - float(row["duration_seconds"])) < 1e-9
    assert mine["metrics"] == {"loss": 0.5}
    assert not row["verdict"] or row["verdict"] == mine["verdict"], (row["verdict"], mine["verdict"], mine["evidence"])
assert audit["experiments"][0]["gpu"]["half_width_j"] == energy["gpu"]["half_width_j"]
group = json.load(open("stats.json"))["groups"][0]
joules = [float(r["energy_gpu_total_joules"]) for r in rows]
mean = [f for f in group["figures"] if f["name"] == "gpu_energy_j"][0]
assert mean["n"] == 2 and abs(mean["mean"] - sum(joules) / 2) < 1e-9 * sum(joules), mean
table = lambda name: list(csv.DictReader(open("tables/" + name + ".csv", newline="")))
assert [float(r["gpu_energy_j"]) for r in table("experiments")] == joules
assert [(r["attempt"], r["outcome"], r["reason"], r["exit_code"]) for r in table("attempts")] == [("1", "succeeded", "exited", "0")] * 2
epochs = [r for r in table("epochs") if r["experiment_id"] == name]
assert len(epochs) == len(e["tare"]["epochs"]) >= 1
for exported, written in zip(epochs, e["tare"]["epochs"]):
    for key, cell in exported.items():
        if key in written:
            assert cell == ("" if written[key] is None else written[key] if isinstance(written[key], str) else repr(written[key])) or float(cell) == written[key], (key, cell, written[key])
samples = [r for r in table("samples") if r["experiment_id"] == name and r["quantity"] == "power_draw_w"]
file = list(csv.DictReader(open(folder + "energy/gpu.csv")))
assert [(r["timestamp"], r["device"], float(r["value"])) for r in samples] == [(r["timestamp"], r["gpu"], float(r["power_draw_w"])) for r in file]
'
}
