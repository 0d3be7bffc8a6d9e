# tare stats, compare and export on a folder made by hand, against Python's statistics module; and of runs whose trainings
# diverged, whose metrics less or more is better of, and which had several modes.
bats_require_minimum_version 1.5.0
load runs
load page

setup_file() { command -v python3 > /dev/null || skip "python3 is missing"; }

# study FOLDER SCALE: 12 experiments in the study's layout: batch sizes 16, 32 and 64 by turns, four of each; power falls with the
# batch size and varies a little, accuracy rises; the last one failed, the one before it began on a busy GPU.
study() {
    python3 - "$1" "$2" <<'END'
import datetime, json, os, sys
top, scale = sys.argv[1], float(sys.argv[2])
rows = ["experiment_id,timestamp,repository,model,training_success,duration_seconds,retries,hyperparam_batch_size,perf_accuracy,"
        "energy_gpu_total_joules"]
for number in range(1, 13):
    batch = (16, 32, 64)[number % 3]
    name, start = f"demo_net_{number:03}", 1763452800 + 3600 * number
    watts = scale * (300 - batch + (number * 7 % 5) / 2)
    before = 100 if number == 11 else 0 # what works there before it draws
    accuracy = 80 + batch / 8 + (number * 3 % 4) / 10
    os.makedirs(f"{top}/{name}/energy")
    end = datetime.datetime.fromtimestamp(start + 60, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000000")
    busy = 80 if number == 11 else 0
    for file, head, cells in (("gpu_power", "power_draw_w", lambda i: f"{watts + before * (i < 3):.2f}"),
                              ("gpu_utilization", "gpu_util_percent,memory_util_percent", lambda i: f"{busy},0"),
                              ("gpu_temperature", "gpu_temp_c,memory_temp_c", lambda i: "50,N/A")):
        with open(f"{top}/{name}/energy/{file}.csv", "w") as out:
            out.write(f"timestamp,{head}\n" + "".join(f"{start + i},{cells(i)}\n" for i in range(60)))
    with open(f"{top}/{name}/energy/cpu_energy_raw.txt", "w") as out:
        out.write(f"  {500 + number}.00 Joules power/energy-pkg/\n  59.5 seconds time elapsed\n")
    success = number != 12
    with open(f"{top}/{name}/experiment.json", "w") as out:
        json.dump({"experiment_id": name, "repository": "demo", "model": "net", "hyperparameters": {"batch_size": batch},
                   "duration_seconds": 60.0, "performance_metrics": {"accuracy": accuracy} if success else {},
                   "training_success": success, "error_message": "it, \"broke\""}, out)
    rows.append(f"{name},{end},demo,net,{success},60.0,0,{batch},{accuracy if success else ''},{60 * float(f'{watts:.2f}') + 3 * before!r}")
with open(f"{top}/summary.csv", "w", newline="") as out:
    out.write("\r\n".join(rows) + "\r\n")
END
}

@test "means, medians, spreads and the front equal those of Python's statistics" {
    study results 1
    "$TARE" stats results --only usable --json > stats.json
    python3 - <<'END'
import json, math, statistics
(group,) = json.load(open("stats.json"))["groups"]
assert (group["experiments"], group["failed"], group["left_out"], group["n"]) == (12, 1, 1, 10), group
power, accuracy, batch = [], [], []
for number in range(1, 11):
    batch.append((16, 32, 64)[number % 3])
    power.append(float(f"{300 - batch[-1] + (number * 7 % 5) / 2:.2f}"))
    accuracy.append(80 + batch[-1] / 8 + (number * 3 % 4) / 10)
energy = [59.5 * p for p in power]
figures = {f["name"]: f for f in group["figures"]}
def near(found, expected): assert abs(found - expected) <= 1e-9 * abs(expected), (found, expected)
for name, values in (("gpu_power_w", power), ("gpu_energy_j", energy), ("gpu_energy_kwh", [e / 3.6e6 for e in energy]),
                     ("accuracy", accuracy), ("duration_s", [60.0] * 10), ("cpu_energy_j", [501.0 + n for n in range(10)])):
    near(figures[name]["mean"], statistics.mean(values))
    near(figures[name]["median"], statistics.median(values))
    if name != "duration_s":
        near(figures[name]["deviation"], statistics.stdev(values))
    assert figures[name]["mean_interval"]["method"] == "t" and "mean_interval_missing" not in figures[name]
    half = 2.2621571627409915 * statistics.stdev(values) / math.sqrt(10) # t(9)
    near(figures[name]["mean_interval"]["high"], statistics.mean(values) + half)
    assert figures[name]["median_interval"]["method"] == "order" and "median_interval_missing" not in figures[name]
    near(figures[name]["median_interval"]["low"], sorted(values)[1])
    near(figures[name]["median_interval"]["high"], sorted(values)[8])
sets = [[p for p, b in zip(power, batch) if b == size] for size in (16, 32, 64)]
pooled = math.sqrt(sum((len(s) - 1) * (statistics.stdev(s) / statistics.mean(s)) ** 2 for s in sets) / 7)
near(group["power_cv_between"]["value"], pooled)
assert (group["power_cv_between"]["of"], group["power_cv_between"]["runs"], group["power_cv_between"]["sets"]) == ("identical", 10, 3)
near(group["energy_cv_between"]["value"], pooled)
near(group["power_cv"]["value"], statistics.stdev(power) / statistics.mean(power))
assert group["power_cv"]["runs"] == 10
assert group["power_cv_within"] == 0
assert group["quality"] == "accuracy" and group["quality_is_loss"] is False
names = [f"demo_net_{n:03}" for n in range(1, 11)]
front = [n for n, e, a in zip(names, energy, accuracy)
         if not any(e2 <= e and a2 >= a and (e2, a2) != (e, a) for e2, a2 in zip(energy, accuracy))]
assert [row["experiment_id"] for row in group["front"]] == sorted(front, key=lambda n: energy[names.index(n)]), (group["front"], front)
effects = {(e["hyperparameter"], e["on"]): e for e in group["effects"]}
def ranks(values): return [sum(o < v for o in values) + (sum(o == v for o in values) + 1) / 2 for v in values]
for target, values in (("gpu_energy_j", energy), ("accuracy", accuracy)):
    near(effects["batch_size", target]["rho"], statistics.correlation(ranks(batch), ranks(values)) if hasattr(statistics, "correlation")
         else effects["batch_size", target]["rho"])
    assert effects["batch_size", target]["p_corrected"] >= effects["batch_size", target]["p"]
assert effects["batch_size", "gpu_energy_j"]["rho"] < -0.9 and effects["batch_size", "accuracy"]["rho"] > 0.9
assert effects["batch_size", "accuracy"]["p_corrected"] < 0.01
END
}

@test "intervals, ranks, p values and Holm's equal those of scipy and statsmodels; defaults are no draws, seeds no effects" {
    python3 -c 'import scipy, statsmodels' 2> /dev/null || skip "python3-scipy or python3-statsmodels is missing"
    python3 "$BATS_TEST_DIRNAME/stats_reference.py" make results
    "$TARE" stats results --only all --json > stats.json
    python3 "$BATS_TEST_DIRNAME/stats_reference.py" check results stats.json
    "$TARE" stats results --only all > stats.txt
    grep -q '^demo draws, default hyperparameters$' stats.txt
    grep -q '^no interval of any mean: fewer than 3 values$' stats.txt
    grep -q '^visibly skewed, so the median describes it better (D.Agostino.s test): .*gpu_energy_j' stats.txt
    grep -A1 '^epochs raises gpu_energy_j: rho 0' stats.txt | grep -Eq '^ +1[0-9] to [12][0-9]  n [0-9]+ +[0-9]+ \([0-9]+ to [0-9]+\)$'
    run -1 grep -E 'seed (raises|lowers)' stats.txt
    [ "$("$TARE" stats results --only all --csv | grep -c ",drawn,$")" -eq 9 ] # energy in J and kWh, power, duration; of one model accuracy
}

@test "--only all takes contaminated experiments in" {
    study results 1
    "$TARE" stats results --json --only all > stats.json
    python3 -c 'import json; (g,) = json.load(open("stats.json"))["groups"]; assert (g["n"], g["left_out"]) == (11, 0), g'
}

@test "the same seed gives the same output, another one other p values" {
    study results 1
    "$TARE" stats results --only usable --json > one
    "$TARE" stats results --only usable --json > two
    "$TARE" stats results --only usable --json --seed 2 > three
    cmp one two
    if cmp -s one three; then false; fi
    diff one three | grep '^[<>]' | grep -v '"p"\|"p_corrected"\|"seed"' && return 1
    return 0
}

@test "stats as CSV has a row for each quantity" {
    study results 1
    "$TARE" stats results --only usable --csv > stats.csv
    python3 - <<'END'
import csv
rows = list(csv.DictReader(open("stats.csv", newline="")))
names = ["gpu_energy_j", "gpu_energy_kwh", "gpu_power_w", "duration_s", "cpu_energy_j", "accuracy"]
assert [(r["setting"], r["figure"]) for r in rows] == [(s and f"batch_size={s}", n) for s in ("", 32, 64, 16) for n in names], rows
assert all(r["repository"] == "demo" and r["mode"] == "sequential" for r in rows)
assert [r["n"] for r in rows[::6]] == ["10", "4", "3", "3"], rows
assert rows[3]["mean"] == "60.0" and rows[3]["mean_low"] == "60.0" and rows[3]["median_low"] == "60.0"
END
}

# grid FOLDER CELL...: a row for each "lr seed value" of a grid as a run of tare writes it; value: seconds and the metric.
grid() {
    mkdir -p "$1"
    {
        echo "experiment_id,timestamp,repository,model,training_success,duration_seconds,retries,hyperparam_lr,hyperparam_seed,perf_accuracy,mode"
        local n=0 cell lr seed value
        for cell in "${@:2}"; do
            read -r lr seed value <<<"$cell"
            n=$((n + 1))
            printf 'train_default_%03d,2025-11-18T09:%02d:00.000000,train,default,True,%s,0,%s,%s,%s,grid\n' "$n" "$n" "$value" "$lr" "$seed" "$value"
        done
    } >"$1/summary.csv"
}

@test "a grid has a line for each setting: n seeds, the mean with Student's interval, sd, min and max; nothing was drawn" {
    grid results '0.1 1 10' '0.1 2 12' '0.1 3 17' '0.01 1 20' '0.01 2 20.5' '0.01 3 21'
    "$TARE" stats results --only all >stats.txt
    grep -q '^6 experiments: 6 counted, of 2 settings$' stats.txt
    run -1 grep -q drawn stats.txt
    grep -Eq "^quantity +setting +n +mean \(95 %, Student's t\) +sd +min +max " stats.txt
    # scipy.stats.t.interval(0.95, 2, 13, sem([10, 12, 17])), and the same of 20, 20.5, 21.
    grep -Eq '^duration_s +lr=0.1 +3 +13 \(4\.043 to 21\.96\) +3\.606 +10 +17 +12$' stats.txt
    grep -Eq '^ +lr=0.01 +3 +20\.5 \(19\.26 to 21\.74\) +0\.5 +20 +21 +20\.5$' stats.txt
    "$TARE" stats results --only all --json >stats.json
    python3 - <<'END'
import json
(group,) = json.load(open("stats.json"))["groups"]
assert group["hyperparameters"] == "chosen" and group["settings"] == 2, group
assert [(s["setting"], s["hyperparameters"]["lr"], s["n"]) for s in group["by_setting"]] == [("lr=0.1", 0.1, 3), ("lr=0.01", 0.01, 3)]
assert all(f["mean_interval"] is None and "chosen" in f["mean_interval_missing"] for f in group["figures"]), group["figures"]
END
}

@test "exactly linear effects of five values are found, by Student's t of r, which is named; what is constant is not tested by its repeats" {
    [ -d "$TARE_SHARED/data/cases" ] || skip "no shared cases"
    "$TARE" stats "$TARE_SHARED/data/cases/stats_epochs_exactly_linear" >stats.txt
    grep -Eq "^epochs raises gpu_energy_j: r 1.00, p [0-9.]+e-0[67] corrected \(Student's t of r" stats.txt
    grep -Eq "^epochs raises duration_s: r 1.00, p [0-9.]+e-0[567] corrected \(Student's t of r" stats.txt
    # Six runs of two constant values are two points, which are too few.
    grid results '0.1 1 10' '0.1 2 10' '0.1 3 10' '0.01 1 20' '0.01 2 20' '0.01 3 20'
    run -0 "$TARE" stats results --only all
    [[ $output != *lowers* && $output != *" p 0"* ]]
}

@test "both sides' equal seeds are pairs: a paired t test of logarithms, named; p and told_apart are scipy's" {
    grid results '0.1 1 100' '0.01 1 102' '0.01 2 107' '0.1 2 104' '0.1 3 97' '0.01 3 98.5' '0.01 4 113' '0.1 4 110' '0.1 5 93' '0.01 5 95.5'
    "$TARE" compare results:lr=0.1 results:lr=0.01 --of duration_s --json >compare.json
    python3 - <<'END'
import json, math
got = json.load(open("compare.json"))
(time,) = got["quantities"]
# scipy.stats.ttest_rel of the logarithms.
assert got["paired_by_seed"] and got["strata"] == 5 and got["corrected_for"] == 1, got
assert abs(time["p_corrected"] - 0.0007281936599712146) < 1e-9 and time["test"] == "paired_t" and time["finding"] == "different", time
assert abs(time["ratio"] - 1.02368009226421) < 1e-9, time
END
    run -0 "$TARE" compare results:lr=0.1 results:lr=0.01 --of duration_s
    [[ "$output" == *"test: paired t test, by seed"* ]]
    # Other seeds on one side are no pairs.
    sed 's/,0.01,5,/,0.01,6,/' results/summary.csv >other && mv other results/summary.csv
    run -0 "$TARE" compare results:lr=0.1 results:lr=0.01 --of duration_s
    [[ "$output" == *"test: Welch's t test"*"least difference that this design finds in 85 % of cases: duration_s "* ]]
}

@test "what was not tested says why; equal values of each side are not testable, and no p is 0" {
    grid results '0.1 1 0.9' '0.1 2 0.9' '0.01 1 0.8' '0.01 2 0.8' '0.001 9 0.7'
    run -0 "$TARE" compare results:lr=0.1 results:lr=0.01
    [[ "$output" == *"not testable: no spread within the groups"* && "$output" != *significant* && "$output" != *different* ]]
    run -0 "$TARE" compare results:lr=0.1 results:lr=0.001
    [[ "$output" == *"not tested: B has one experiment"* && "$output" != *"no significant"* ]]
    [ -d "$TARE_SHARED/data/cases" ] || skip "no shared cases"
    run -0 "$TARE" compare "$TARE_SHARED/data/cases/compare_not_tested/a" "$TARE_SHARED/data/cases/compare_not_tested/b"
    [ "$(grep -c 'not tested: one experiment of B is like any of A$' <<<"$output")" -eq 5 ]
    [[ "$output" != *"no significant difference"* ]]
}

@test "a table of another program is read by its columns, hyperfine's JSON too; what is missing is said once" {
    mkdir results
    printf 'lr,seed,val_acc,seconds\n0.1,1,0.9,10\n0.1,2,0.91,12\n0.1,3,,17\n0.01,1,0.8,20\n0.01,2,0.81,20.5\n0.01,3,0.8,21\n' >results/summary.csv
    run -0 --separate-stderr "$TARE" stats results
    [ "$(grep -c . <<<"$stderr")" -eq 1 ]
    [[ $stderr == *"read by its columns: param lr, seed; metric val_acc; time seconds; without energy, success"* ]]
    # scipy.stats.t.interval(0.95, 2, 13, sem([10, 12, 17])).
    grep -Eq '^duration_s +lr=0.1 +3 +13 \(4\.043 to 21\.96\) ' <<<"$output"
    grep -Eq '^val_acc +lr=0.1 +2 +0\.905 ' <<<"$output"
    [[ $output != *failed* ]]
    # By another column, which is named; a file by itself.
    sed 's/seconds/took/; s/val_acc/points/' results/summary.csv >other.csv
    run -0 --separate-stderr "$TARE" stats other.csv --columns time=took,metric=points --json
    python3 -c '
import json, sys
(group,) = json.load(sys.stdin)["groups"]
assert [(f["name"], f["metric"], f["n"]) for f in group["figures"]] == [("duration_s", False, 6), ("points", True, 5)], group["figures"]' <<<"$output"
    run -3 "$TARE" stats other.csv
    [[ $output == *"no column of it is known to be a time, an energy or a metric"* ]]
    run -3 "$TARE" stats other.csv --columns time=nothing
    [[ $output == *"it has no column for --columns time=nothing"* ]]
    run -2 "$TARE" stats other.csv --columns length=took
    [[ $output == *"'length=took' is not ROLE=COLUMN"* ]]
    echo '{"results": [{"command": "a", "times": [1, 2, 4], "exit_codes": [0, 0, 1]}, {"command": "b", "times": [10, 12, 17], "parameters": {"n": "2"}}]}' >h.json
    run -0 --separate-stderr "$TARE" stats h.json
    [[ $output == *"3 experiments: 2 counted, 1 failed"* ]]
    grep -Eq '^duration_s +3 +13 \(4\.043 to 21\.96\) ' <<<"$output"
    run -0 --separate-stderr "$TARE" compare results:lr=0.1 results:lr=0.01
    [[ $output == *"paired t test, by seed"* ]]
}

@test "audit and export read a table whose columns' names and units leave no doubt, and ask where two may be one thing" {
    printf 'Model,Learning rate,Wall time [ms],energy_kWh,val_acc\nnet,0.1,1500,0.001,0.9\nnet,0.2,3000,0.002,0.8\n' >t.csv
    run -0 --separate-stderr "$TARE" export t.csv --format jsonl
    # 0.001 kWh are 3600 J.
    python3 -c '
import json, sys
rows = [json.loads(line) for line in sys.stdin]
assert [(r["model"], r["duration_s"], r["gpu_energy_j"], r["perf_val_acc"]) for r in rows] == [("net", 1.5, 3600, 0.9), ("net", 3, 7200, 0.8)], rows' <<<"$output"
    run -0 --separate-stderr "$TARE" audit t.csv
    # What the table lacks is said once, not in each row.
    is "$(grep -c 'other_cpu' <<<"$output")" 1
    is "$(grep -c 'does not record' <<<"$output")" 1
    [[ $output == *"2 experiments: 0 clean, 2 unverified"* && $output != *"Affected experiments"* ]]
    # A row of its own has a reason of its own.
    printf 'seconds,val_acc\n1,0.9\n2,0.8,7\n' >damaged.csv
    run -0 --separate-stderr "$TARE" audit damaged.csv
    is "$(grep -c 'not made' <<<"$output")" 0
    grep -q 'line 3 of damaged.csv has 3 cells of 2' <<<"$output"
    # A number whose unit is not known is not a time.
    printf 'elapsed,val_acc\n90,0.9\n' >elapsed.csv
    run -0 --separate-stderr "$TARE" export elapsed.csv --table hyperparameters
    [[ $output == *",elapsed,90"* ]]
    printf 'run_s,time,duration_s\n1,2,3\n' >two.csv
    run -3 "$TARE" audit two.csv
    [[ $output == *"its columns time and duration_s may both be the time; --columns time=COLUMN says which is"* ]]
    run -0 --separate-stderr "$TARE" export two.csv --columns time=duration_s --format jsonl
    [[ $output == *'"duration_s":3.0,'* ]]
    run -2 "$TARE" audit two.csv --columns length=time
    [[ $output == *"'length=time' is not ROLE=COLUMN"* ]]
}

@test "--of limits figures, tests and their correction to what is asked for" {
    [ -d "$TARE_SHARED/data/cases" ] || skip "no shared cases"
    "$TARE" stats "$TARE_SHARED/data/cases/stats_epochs_exactly_linear" --of acc --json >stats.json
    python3 - <<'END'
import json
(group,) = json.load(open("stats.json"))["groups"]
assert [f["name"] for f in group["figures"]] == ["acc"], group["figures"]
effects = sorted(group["effects"], key=lambda e: e["p"])
assert len(effects) == 3 and abs(effects[0]["p_corrected"] - 3 * effects[0]["p"]) < 1e-12, effects
END
    run -2 "$TARE" stats "$TARE_SHARED/data/cases/stats_epochs_exactly_linear" --of nothing
    [[ $output == *"--of: no experiment that counts has a 'nothing'"* ]]
}

@test "stats for people names what can be told" {
    study results 1
    run -0 "$TARE" stats results --only usable
    [[ "$output" == *"12 experiments: 10 counted, 1 failed, 1 left out for their verdict"* ]]
    [[ "$output" == *"batch_size lowers gpu_energy_j"* ]]
    [[ "$output" == *"batch_size raises accuracy"* ]]
    grep -Eq '^power_cv_between .*, of [0-9]+ identical runs( in [0-9]+ sets)?$' <<< "$output"
    grep -Eq '^power_cv [0-9.]+ %, of all [0-9]+ runs of the model$' <<< "$output"
}

@test "two folders are compared within strata of equal hyperparameters" {
    study one 1
    study two 1.25
    "$TARE" compare one two --only usable --json > compare.json
    python3 - <<'END'
import json, math, statistics
got = json.load(open("compare.json"))
energy = got["quantities"][0]
assert energy["name"] == "gpu_energy_j" and energy["blocks"] == 3 and energy["told_apart"] is True, energy
power = lambda size, scale: [float(f"{scale * (300 - size + (n * 7 % 5) / 2):.2f}") for n in range(1, 11) if (16, 32, 64)[n % 3] == size]
# The mean over the strata of the difference of logarithms, by what each stratum knows: 1 / (1 / n + 1 / n).
sizes = (16, 32, 64)
logs = lambda size, scale: statistics.mean(math.log(p) for p in power(size, scale))
weights = [len(power(size, 1)) / 2 for size in sizes]
effect = sum(w * (logs(size, 1.25) - logs(size, 1)) for w, size in zip(weights, sizes)) / sum(weights)
assert abs(math.log(energy["ratio"]) - effect) < 1e-12 and energy["raw"]["ratio"] == energy["ratio"] and energy["adjusted"] is None
assert energy["interval"]["low"] < 1.25 < energy["interval"]["high"] and energy["p_corrected"] < 1e-6, energy
means = [59.5 * p for size in sizes for p in power(size, 1)]
assert abs(energy["a_mean"] - statistics.mean(means)) < 1e-6
assert got["a"]["left_out"] == 2 and got["a"]["temperature_start_c"] == 50
END
}

@test "settings are compared within one folder, and an order that did not interleave is said" {
    study one 1
    run -0 "$TARE" compare one:batch_size=16 one:batch_size=64 --only usable
    [[ "$output" == *"different"* && "$output" != *"order confounded"* && "$output" != *"compared within"* ]]
    study two 1
    python3 - <<'END'
import re
text = open("two/summary.csv", newline="").read()
open("two/summary.csv", "w", newline="").write(re.sub(r"2025-11-", "2026-01-", text))
END
    run -0 "$TARE" compare one:batch_size=16 two:batch_size=16 --only usable
    [[ "$output" == *"order confounded"* ]]
    run -0 "$TARE" compare one:batch_size=32 one:batch_size=32.0 --only usable --json
    python3 -c 'import json, sys; q = json.load(sys.stdin)["quantities"][0]; assert q["ratio"] == 1 and q["told_apart"] is False, q' <<< "$output"
}

@test "mistakes in what to compare are told" {
    study one 1
    run -2 "$TARE" compare one
    run -2 "$TARE" compare one:batch_size= one
    run -2 "$TARE" compare one:batch_size=99 one
    [[ "$output" == *"nothing there has batch_size=99 (there are "* ]]
    run -3 "$TARE" compare one nowhere
}

@test "every table is exported, as CSV and as JSON Lines, and says the same" {
    study results 1
    "$TARE" export results -o csv > /dev/null
    "$TARE" export results -o jsonl --format jsonl > /dev/null
    python3 - <<'END'
import csv, json, os
counts = {"experiments": 12, "attempts": 12, "epochs": 0, "hyperparameters": 12, "metrics": 11, "samples": 12 * 60 * 5, "history": 0, "wide": 12}
assert sorted(name for name in os.listdir("csv") if name != ".tare-written.json") == sorted(t + ".csv" for t in (*counts, "evidence"))
for table in (*counts, "evidence"):
    rows = list(csv.DictReader(open(f"csv/{table}.csv", newline="")))
    lines = [json.loads(line) for line in open(f"jsonl/{table}.jsonl")]
    assert len(rows) == len(lines) and len(rows) == counts.get(table, len(rows)), table
    for row, line in zip(rows, lines):
        assert list(row) == list(line), (row, line)
        for key, cell in row.items():
            value = line[key]
            assert cell == ("" if value is None else value if isinstance(value, str) else str(value)) or float(cell) == value, (key, cell, value)
rows = list(csv.DictReader(open("csv/experiments.csv", newline="")))
assert rows[11]["error"] == 'it, "broke"' and rows[11]["training_success"] == "False" and rows[10]["verdict"] == "contaminated"
samples = [r for r in csv.DictReader(open("csv/samples.csv", newline="")) if r["experiment_id"] == "demo_net_002"]
assert [r["value"] for r in samples if r["quantity"] == "power_draw_w"] == ["238.0"] * 60, samples[0]  # 300 - 64 + 14 % 5 / 2
assert [r["timestamp"] for r in samples][:2] == ["1763460000", "1763460001"]
assert {r["value"] for r in samples if r["quantity"] == "memory_temp_c"} == {""}
attempts = list(csv.DictReader(open("csv/attempts.csv", newline="")))
assert (attempts[11]["attempt"], attempts[11]["outcome"], attempts[11]["error"]) == ("1", "failed", 'it, "broke"')
assert [r["kind"] for r in csv.DictReader(open("csv/evidence.csv", newline=""))] == ["gpu_busy_before"]
END
    run -0 "$TARE" export results --table metrics
    [ "${lines[0]}" = "folder,experiment_id,name,value,best,goal" ]
    run -2 "$TARE" export results --table metrics -o elsewhere
    run -2 "$TARE" export results --table nonsense
}

# diverging: a run of nine trainings in mode default, n = 1 to 9, and two random draws of n. The first loss is NaN.
diverging() {
    job 'case $2 in 1) echo loss nan ;; 2) echo loss 3 ;; 3) echo loss 1 ;; 4) echo loss 5 ;; 5) echo loss 2 ;; 6) echo loss 4 ;;
         7) echo loss 6 ;; 8) echo loss inf ;; 9) echo loss -Infinity ;; *) echo loss 7 ;; esac
         echo "answer_f1 0.$2"; echo "odd $2"; echo "plain $2"'
    cat > registry.json <<'END'
{"models": {"repo": {"path": "repo", "train_script": "./job.sh", "models": ["net"],
  "supported_hyperparams": {"n": {"flag": "--n", "type": "int", "default": 1, "range": [100, 999]}},
  "performance_metrics": {"log_patterns": {"loss": "^loss (\\S+)", "answer_f1": "^answer_f1 (\\S+)", "plain": "^plain (\\S+)",
    "odd": {"pattern": "^odd (\\S+)", "goal": "minimize"}}}}}}
END
    python3 - <<'END'
import json
json.dump({"max_retries": 0, "seed": 7, "experiments":
           [{"repo": "repo", "model": "net", "mode": "default", "hyperparameters": {"n": n}} for n in range(1, 10)] +
           [{"repo": "repo", "model": "net", "mode": "mutation", "mutate": ["n"], "runs_per_config": 2}],
           "tare": {"timing": {"between_runs": 0, "between_configurations": 0, "before_retry": 0}}}, open("settings.json", "w"))
END
    tare_run > out 2>&1
}

@test "a run whose loss diverged: every command counts what is not finite, and computes the rest" {
    diverging
    grep -q '^not finite (NaN, infinity): loss 3$' out
    grep -Eq '^repo_net_001 .* nan ' out
    "$TARE" stats "$(run_dir)" --only all --json > stats.json
    "$TARE" stats "$(run_dir)" --only all --csv > stats.csv
    "$TARE" stats "$(run_dir)" --only all > stats.txt
    "$TARE" audit "$(run_dir)" --json > audit.json
    "$TARE" audit "$(run_dir)" | grep -q 'Values that are not finite (NaN, infinity): loss 3'
    "$TARE" compare "$(run_dir):mode=default" "$(run_dir):mode=mutation" --json > compare.json || [ $? -le 2 ]
    "$TARE" export "$(run_dir)" -o csv > /dev/null
    "$TARE" export "$(run_dir)" -o jsonl --format jsonl > /dev/null
    "$TARE" report "$(run_dir)" -o report.html > /dev/null
    python3 - "$(run_dir)" <<'END'
import csv, glob, json, math, re, sqlite3, statistics, sys
top = sys.argv[1]
def no_number(text): raise ValueError("bare " + text)
def strict(text): return json.loads(text, parse_constant=no_number)
group = strict(open("stats.json").read())["groups"][0]
loss = {f["name"]: f for f in group["figures"]}["loss"]
assert (group["mode"], loss["n"], loss["not_finite"]) == ("default", 6, 3), loss
values = [3, 1, 5, 2, 4, 6]
assert loss["mean"] == loss["median"] == 3.5 and (loss["lowest"], loss["highest"]) == (1, 6), loss
assert abs(loss["deviation"] - statistics.stdev(values)) < 1e-12
assert loss["median_interval"] == {"low": 1, "high": 6, "method": "order"}, loss
# Every table has as many cells in each row as in its header, which is never lost.
for file in glob.glob("csv/*.csv") + ["stats.csv", top + "/summary.csv"]:
    rows = list(csv.reader(open(file, newline="")))
    assert rows and {len(r) for r in rows} == {len(rows[0])}, (file, {len(r) for r in rows})
rows = list(csv.DictReader(open("csv/metrics.csv", newline="")))
assert [float(r["value"]) for r in rows if r["name"] == "loss"][1:7] == values
assert [r["value"] for r in rows if r["name"] == "loss"][:1] + [r["value"] for r in rows if r["name"] == "loss"][7:9] == ["nan", "inf", "-inf"]
assert [r["perf_loss"] for r in csv.DictReader(open(top + "/summary.csv", newline=""))][:9] == ["nan"] + [f"{v}.0" for v in values] + ["inf", "-inf"]
# JSON stays JSON; what it has no number for is a text.
lines = [strict(line) for line in open("jsonl/metrics.jsonl")]
assert {tuple(line) for line in lines} == {("folder", "experiment_id", "name", "value", "best", "goal")}
assert [line["value"] for line in lines if line["name"] == "loss"][:9] == ["nan", *values, "inf", "-inf"]
audit = strict(open("audit.json").read())
assert audit["not_finite"] == {"loss": 3}, audit["not_finite"]
assert audit["experiments"][0]["metrics"]["loss"] == "nan" and audit["experiments"][8]["metrics"]["loss"] == "-inf"
for line in open(top + "/events.jsonl"): strict(line)
assert strict(open(top + "/repo_net_001/experiment.json").read())["performance_metrics"]["loss"] == "nan"
for block in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', open("report.html").read(), re.S): strict(block)
# SQLite makes NULL of NaN: what was measured is beside it.
with sqlite3.connect(top + "/run.db") as db:
    special = db.execute("SELECT special FROM experiment_metrics WHERE name = 'loss' AND experiment IN (1, 2, 8, 9) ORDER BY experiment").fetchall()
assert special == [("nan",), (None,), ("inf",), ("-inf",)], special
# Text: each row of the table of figures ends where its heading does.
table = [line for line in open("stats.txt").read().split("\n\n")[0].split("\n") if re.match("quantity|duration_s|loss|odd|plain|answer_f1", line)]
assert len({len(line) for line in table}) == 1 and "not finite" in table[0], table
# t(5) = 2.570582, deviation sqrt(3.5).
assert re.search(r"^loss +6 +3 +3\.5 \(1\.537 to 5\.463\) +1\.871 +1 +6 +3\.5 \(1 to 6\)$", "\n".join(table), re.M), table
END
}

@test "a column of nothing but NaN is told as that, and loses no other" {
    job 'echo "loss nan"; echo "accuracy 0.$2"'
    cat > registry.json <<'END'
{"models": {"repo": {"path": "repo", "train_script": "./job.sh", "models": ["net"],
  "supported_hyperparams": {"n": {"flag": "--n", "type": "int", "default": 1, "range": [1, 9]}},
  "performance_metrics": {"log_patterns": {"loss": "^loss (\\S+)", "accuracy": "^accuracy (\\S+)"}}}}}
END
    settings 3
    tare_run > out 2>&1
    "$TARE" stats "$(run_dir)" --only all --json > stats.json
    run -0 "$TARE" stats "$(run_dir)" --only all
    python3 - <<'END'
import json
(group,) = json.load(open("stats.json"))["groups"]
loss = {f["name"]: f for f in group["figures"]}["loss"]
assert (loss["n"], loss["not_finite"], loss["mean"], loss["median"], loss["lowest"], loss["mean_interval"]) == (0, 3, None, None, None, None), loss
assert group["quality"] == "accuracy"
END
}

@test "the study's NaN and infinities are values, and its empty cells are none" {
    study results 1
    python3 - <<'END'
import csv, json
rows = list(csv.reader(open("results/summary.csv", newline="")))
column = rows[0].index("perf_accuracy")
for number, cell in ((1, "nan"), (2, "inf"), (3, "-inf"), (4, "")):
    rows[number][column] = cell
csv.writer(open("results/summary.csv", "w", newline="")).writerows(rows)
for number in (1, 2, 3, 4, 5):
    path = f"results/demo_net_{number:03}/experiment.json"
    data = json.load(open(path))
    # As Python's json writes them; of the fifth only this file says it.
    data["performance_metrics"] = {5: {"accuracy": float(rows[5][column]), "extra": float("nan")}}.get(number, {})
    json.dump(data, open(path, "w"))
END
    grep -q NaN results/demo_net_005/experiment.json
    "$TARE" stats results --only usable --json > stats.json
    "$TARE" export results -o csv > /dev/null
    python3 - <<'END'
import csv, json
(group,) = json.load(open("stats.json"))["groups"]
figures = {f["name"]: f for f in group["figures"]}
assert (figures["accuracy"]["n"], figures["accuracy"]["not_finite"]) == (6, 3), figures["accuracy"]
assert (figures["extra"]["n"], figures["extra"]["not_finite"]) == (0, 1), figures["extra"]
rows = {(r["experiment_id"], r["name"]): r["value"] for r in csv.DictReader(open("csv/metrics.csv", newline=""))}
assert [rows.get((f"demo_net_{n:03}", "accuracy")) for n in (1, 2, 3, 4)] == ["nan", "inf", "-inf", None], rows
assert rows["demo_net_005", "extra"] == "nan"
END
}

@test "a metric's goal is what the registry says, else its name; of others no front is drawn" {
    diverging
    "$TARE" stats "$(run_dir)" --only all --json > stats.json
    python3 - <<'END'
import json
group = json.load(open("stats.json"))["groups"][0]
assert {f["name"]: f["goal"] for f in group["figures"] if f["metric"]} == {
    "loss": "minimize", "answer_f1": "maximize", "odd": "minimize", "plain": None}, group["figures"]
assert (group["quality"], group["quality_goal"], group["quality_is_loss"]) == ("answer_f1", "maximize", False)
END
    "$TARE" list -c registry.json repo > listed
    grep -q '^metrics  loss, answer_f1, plain, odd (minimize)$' listed
    "$TARE" list -c registry.json repo --json | python3 -c '
import json, sys
(repo,) = json.load(sys.stdin)["repositories"]
assert repo["goals"] == {"loss": "minimize", "answer_f1": "maximize", "plain": None, "odd": "minimize"}, repo'
    sed -i 's/"minimize"/"maximise"/' registry.json
    run -2 tare_run
    [[ "$output" == *"'goal': expected \"minimize\" or \"maximize\", not \"maximise\"; did you mean 'maximize'?"* ]]
}

@test "where no goal is known, stats says so instead of a front" {
    study results 1
    sed -i 's/perf_accuracy/perf_plain/' results/summary.csv
    sed -i 's/"accuracy"/"plain"/' results/*/experiment.json
    run -0 "$TARE" stats results --only usable
    [[ "$output" == *'no Pareto front: whether more or less is better is not known of plain ("goal" in the registry says it)'* ]]
    "$TARE" stats results --only usable --json | python3 -c 'import json, sys; (g,) = json.load(sys.stdin)["groups"]; assert g["quality"] is None and g["front"] == [], g'
}

@test "a goal that the name says is not called unknown where no value is finite" {
    job 'echo "loss nan"'
    settings 1
    sed -i 's/\[0-9.\]+/[a-z0-9.]+/' registry.json
    tare_run > out 2>&1
    run -0 "$TARE" stats "$(run_dir)" --only all
    [[ "$output" =~ loss\ +0\ +1 ]]
    [[ "$output" != *"is not known of"* ]]
}

@test "modes are groups of their own, can be selected, and are exported" {
    diverging
    "$TARE" stats "$(run_dir)" --only all --json > stats.json
    "$TARE" stats "$(run_dir)" --only all --csv > stats.csv
    "$TARE" export "$(run_dir)" > experiments.csv
    python3 - "$(run_dir)" <<'END'
import csv, json, sys
groups = json.load(open("stats.json"))["groups"]
assert [(g["mode"], g["hyperparameters"], g["experiments"]) for g in groups] == [("default", "default", 9), ("mutation", "drawn", 2)], groups
assert {r["mode"] for r in csv.DictReader(open("stats.csv", newline=""))} == {"default", "mutation"}
exported = [r["mode"] for r in csv.DictReader(open("experiments.csv", newline=""))]
assert exported == [r["mode"] for r in csv.DictReader(open(sys.argv[1] + "/summary.csv", newline=""))] == ["default"] * 9 + ["mutation"] * 2
END
    run -0 "$TARE" stats "$(run_dir)" --only all
    [[ "$output" == *"repo net, default"*"9 experiments"*"repo net, mutation"*"2 experiments"* ]]
    # Trainings this short may be suspect: which side is empty for that is none of this test's business.
    python3 - "$(run_dir)" <<'END'
import sqlite3, sys
with sqlite3.connect(sys.argv[1] + "/run.db") as db:
    db.execute("DELETE FROM evidence"); db.execute("DELETE FROM events WHERE type = 'evidence'")
END
    "$TARE" compare "$(run_dir):mode=default" "$(run_dir):mode=mutation" --only usable --json > compare.json
    python3 -c 'import json; c = json.load(open("compare.json")); assert (c["a"]["n"] + c["a"]["left_out"], c["b"]["n"] + c["b"]["left_out"]) == (9, 2), c'
    run -2 "$TARE" compare "$(run_dir):mode=parallel" "$(run_dir)"
    [[ "$output" == *"nothing there has mode=parallel (there are default, mutation)"* ]]
    # Without run.db it is a folder in the study's layout: its summary.csv tells the mode all the same.
    cp -r "$(run_dir)" copy
    rm copy/run.db*
    "$TARE" export copy | python3 -c 'import csv, sys; assert [r["mode"] for r in csv.DictReader(sys.stdin)] == ["default"] * 9 + ["mutation"] * 2'
    # Nor with experiment.json alone.
    rm copy/summary.csv
    "$TARE" export copy | python3 -c 'import csv, sys; assert [r["mode"] for r in csv.DictReader(sys.stdin)] == ["default"] * 9 + ["mutation"] * 2'
}

@test "the page draws what is finite of a run that diverged, and goes by the same goals" {
    study results 1
    python3 - <<'END'
import csv
rows = list(csv.reader(open("results/summary.csv", newline="")))
rows[0][rows[0].index("perf_accuracy")] = "perf_answer_f1"
column = rows[0].index("perf_answer_f1")
for number, row in enumerate(rows):
    row += ["perf_semseg_mse"] if number == 0 else ["" if number == 12 else str(number)]
    row += ["perf_plain"] if number == 0 else ["" if number == 12 else str(number)]
rows[1][column], rows[2][column], rows[3][column + 2] = "nan", "inf", "-inf"
csv.writer(open("results/summary.csv", "w", newline="")).writerows(rows)
END
    sed -i 's/"accuracy": [0-9.]*//' results/*/experiment.json
    "$TARE" report results --only usable -o report.html --lang en > /dev/null
    page quiet
    page diverged answer_f1 9 2 high
    page diverged semseg_mse 10 1 low
    page diverged plain 11 0 ""
}

# Of a run of tare the same goals are in the page, with what the registry said.
@test "the page draws each effect of a hyperparameter as stats says it: median, band, points" {
    python3 - << END
import math, random, sys
sys.path.insert(0, "$ROOT/tests/statistics")
from planted import write_folder
rng = random.Random(21)
def run(**params):
    seconds = 10 * params.get("epochs", 7) * math.exp(rng.gauss(0, 0.1))
    # The mean power of all of them differs by its last digits alone.
    return {"duration_s": seconds, "energy_j": 200 * seconds, "perf_accuracy": rng.uniform(0.5, 0.9), "perf_odd": rng.gauss(0, 3), **params}
write_folder("drawn", [run(mode="mutation", epochs=rng.randint(5, 50), learning_rate=math.exp(rng.uniform(-9, -2)), batch_size=rng.choice((16, 32, 64, 128)),
                           shuffle=rng.choice((0, 1)), seed=k) for k in range(60)]
             + [run(mode="default", model="other", width=w) for w in (1, 2, 3) for _ in range(4)])
END
    "$TARE" stats drawn --only usable --json > stats.json
    "$TARE" report drawn --only usable -o drawn.html
    # No range holds what was left over alone.
    python3 -c 'import json
for effect in [e for g in json.load(open("stats.json"))["groups"] for e in g["effects"] if e["hyperparameter"] in ("epochs", "learning_rate")]:
    assert 2 <= len(effect["curve"]) <= 8 and all(level["n"] >= 4 for level in effect["curve"]), effect'
    page_of effects drawn.html "$WORK/stats.json"
    page_of quiet drawn.html
    "$TARE" report drawn --only usable -o zh.html --lang zh
    page_of chinese zh.html
    # Of a run, whatever the verdicts on a busy machine.
    diverging
    "$TARE" stats "$(run_dir)" --only usable --json > stats.json
    "$TARE" report "$(run_dir)" --only usable -o own.html
    page_of effects own.html "$WORK/stats.json"
}

@test "the page of a run has the goals that its registry said" {
    diverging
    "$TARE" report "$(run_dir)" -o report.html --lang en > /dev/null
    python3 - <<'END'
import json, re
head = json.loads(re.search(r'<script type="application/json" id="head">(.*?)</script>', open("report.html").read(), re.S).group(1))
assert head["goals"] == {"loss": "minimize", "answer_f1": "maximize", "odd": "minimize", "plain": None}, head["goals"]
END
    page quiet
}
