# tare audit of the study's layout, written by monitors that are not those of the study.
bats_require_minimum_version 1.5.0
load ../cli/runs

setup_file() { command -v python3 > /dev/null || skip "python3 is missing"; }

# Six trainings of two minutes, sampled each INTERVAL seconds: 40 W for 20 s, then about 200 W that
# depends on the sample. RULE: how each energy is recorded, sum or integral (each sample until the
# next, the last one until the command's end). WRONG: the factor of the third one's. COARSE: whole
# watts that stay the same for three samples in four, and the fifth one's sensors freeze at 50 s.
folder() { # FOLDER INTERVAL RULE [WRONG [COARSE]]
    python3 - "$@" << 'END'
import datetime, json, os, random, sys
top, interval, rule = sys.argv[1], float(sys.argv[2]), sys.argv[3]
wrong = float(sys.argv[4]) if len(sys.argv) > 4 else 1
rng = random.Random(7)
rows = ["experiment_id,timestamp,repository,model,training_success,duration_seconds,retries,energy_gpu_total_joules"]
for number in range(1, 7):
    name, start = "demo_net_%03d" % number, 1763452800 + 3600 * number
    os.makedirs("%s/%s/energy" % (top, name))
    times = [i * interval for i in range(int(120 / interval))]
    watts = [round(40 + rng.random() if t < 20 else 200 + 4 * rng.random(), 2) for t in times]
    use, heat = [0 if w < 100 else 80 + i % 5 for i, w in enumerate(watts)], [40 + i % 3 for i in range(len(watts))]
    if len(sys.argv) > 5:
        watts = [float(40 if t < 20 else 200 + i // 4 % 2) for i, t in enumerate(times)]
        for i, t in enumerate(times):
            if number == 5 and t > 50:
                watts[i], use[i], heat[i] = watts[i - 1], use[i - 1], heat[i - 1]
    stamps = [int(start + t) for t in times]
    joules = sum(watts)
    if rule == "integral":
        joules = sum(w * (b - a) for w, a, b in zip(watts, stamps, stamps[1:] + [start + 120]))
    joules *= wrong if number == 3 else 1
    end = datetime.datetime.fromtimestamp(start + 120, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000000")
    for file, head, cells in (("power", "power_draw_w", ["%.2f" % w for w in watts]),
                              ("temperature", "gpu_temp_c,memory_temp_c", ["%d,N/A" % c for c in heat]),
                              ("utilization", "gpu_util_percent,memory_util_percent", ["%d,40" % u for u in use])):
        with open("%s/%s/energy/gpu_%s.csv" % (top, name, file), "w") as out:
            out.write("timestamp,%s\n" % head + "".join("%d,%s\n" % pair for pair in zip(stamps, cells)))
    with open("%s/%s/experiment.json" % (top, name), "w") as out:
        json.dump({"experiment_id": name, "repository": "demo", "model": "net", "hyperparameters": {"seed": number},
                   "duration_seconds": 120.0, "performance_metrics": {"accuracy": 90 + number}, "training_success": True}, out)
    rows.append("%s,%s,demo,net,True,120.0,0,%r" % (name, end, joules))
with open(top + "/summary.csv", "w", newline="") as out:
    out.write("\r\n".join(rows) + "\r\n")
END
}

# The experiments that are suspect or contaminated, with their evidence.
accused() { # FOLDER
    "$TARE" audit "$1" --json 2> /dev/null | python3 -c '
import json, sys
for e in json.load(sys.stdin)["experiments"]:
    if e["verdict"] in ("suspect", "contaminated"):
        print(e["experiment_id"], *sorted(v["kind"] for v in e["evidence"] if v["weight"] in ("suspect", "contaminated")))'
}

@test "energies that are power times seconds are accepted, whatever the monitor's interval" {
    for interval in 0.5 2 5 10; do
        folder "i$interval" "$interval" integral
        run -0 accused "i$interval"
        [ -z "$output" ]
    done
}

@test "energies that are sums of samples are accepted, whatever the monitor's interval" {
    for interval in 0.5 1 5; do
        folder "s$interval" "$interval" sum
        run -0 accused "s$interval"
        [ -z "$output" ]
    done
}

@test "an energy that is neither is accused, under both rules" {
    folder integral 5 integral 1.25
    run -0 accused integral
    [ "$output" = "demo_net_003 energy_differs" ]
    folder sum 1 sum 1.001
    run -0 accused sum
    [ "$output" = "demo_net_003 energy_differs" ]
}

@test "the folder's note says that energies are power times seconds" {
    folder noted 5 integral
    run --separate-stderr -0 "$TARE" stats noted
    [[ "$stderr" == *"GPU energy is recorded as power times seconds, by a monitor of 5 s"* ]]
}

@test "a frozen sensor is found where power is recorded in coarse steps, and its siblings stay unaccused" {
    folder coarse 1 sum 1 coarse
    run -0 accused coarse
    [ "$output" = "demo_net_005 sensor_frozen" ]
}

# perf's files of an experiment: so many joules of the processors.
processors() { # FOLDER NUMBER JOULES
    printf '  %s Joules power/energy-pkg/\n  119.5 seconds time elapsed\n' "$3" > "$1/demo_net_00$2/energy/cpu_energy_raw.txt"
    printf 'Package Energy (Joules): %s\n' "$3" > "$1/demo_net_00$2/energy/cpu_energy.txt"
}

@test "where one took far less than the rest of its kind, neither it nor the rest is suspect or clean" {
    folder groups 1 sum
    processors groups 1 500.00
    for number in 2 3 4 5 6; do processors groups "$number" "120$number.00"; done
    "$TARE" audit groups --json > groups.json
    run -0 jq -r '[.experiments[].verdict] | unique | join(" ")' groups.json
    [ "$output" = unverified ]
    processors groups 1 3000.00
    run -0 accused groups
    [ "$output" = "demo_net_001 energy_unlike" ]
}
