#!/usr/bin/env bats
# tare bench: commands against each other, from their words to the figures read back from the folder.

load guard

# Without a pid namespace, so that a command knows its own number; bounded.
bench() { timeout -k 5 200 "$TARE" bench --containment sweep -o results "$@"; }

bench_dir() {
    set -- results/bench_*
    [ $# -eq 1 ] && [ -d "$1" ] && echo "$1"
}

@test "figures and ratios are those of the durations in summary.csv, block by block" {
    bench -n 5 --warmup 2 --pause 0 --seed 11 --json 'sleep 0.1' 'sleep 0.3' >bench.json 2>err
    python3 - "$(bench_dir)" <<'LOOK'
import csv, json, math, statistics, sys
got = json.load(open("bench.json"))
rows = list(csv.DictReader(open(sys.argv[1] + "/summary.csv")))
assert got["results"] == sys.argv[1] and got["seed"] == 11 and got["runs"] == 5 and got["warmup"] == 2, got
names = [row["repository"] for row in rows]
assert len(rows) == 14 and sorted(names[:4]) == ["A-warmup", "A-warmup", "B-warmup", "B-warmup"], names
blocks = [names[4 + 2 * i:6 + 2 * i] for i in range(5)]
assert all(sorted(block) == ["A", "B"] for block in blocks), blocks
seconds = {name: [float(row["duration_seconds"]) for row in rows if row["repository"] == name] for name in "AB"}
assert min(seconds["A"]) >= 0.1 and min(seconds["B"]) >= 0.3, seconds
def near(found, expected): assert abs(found - expected) <= 1e-6 * abs(expected), (found, expected)
for command, text in zip(got["commands"], ("sleep 0.1", "sleep 0.3")):
    values = seconds[command["name"]]
    assert command["command"] == text, command
    assert [command[key] for key in ("planned", "ran", "failed", "n")] == [5, 5, 0, 5], command
    figure = [f for f in command["figures"] if f["name"] == "duration_s"][0]
    for key, value in (("mean", statistics.mean(values)), ("deviation", statistics.stdev(values)), ("lowest", min(values)),
                       ("median", statistics.median(values)), ("highest", max(values))):
        near(figure[key], value)
    logs = [math.log(value) for value in values]
    half = 2.776445105 * statistics.stdev(logs) / math.sqrt(5) # Student's t of 4 degrees of freedom
    near(figure["median_interval"]["low"], math.exp(statistics.mean(logs) - half))
    near(figure["median_interval"]["high"], math.exp(statistics.mean(logs) + half))
    assert figure["mean_interval"] is None, figure
    assert [run["block"] for run in command["runs"]] == [1, 2, 3, 4, 5], command["runs"]
assert got["reference"] == "A" and got["commands"][0]["against"] is None
against = got["commands"][1]["against"]
time = [q for q in against["quantities"] if q["name"] == "duration_s"][0]
logs = [math.log(b / a) for a, b in zip(seconds["A"], seconds["B"])]
half = 2.776445105 * statistics.stdev(logs) / math.sqrt(5)
assert time["blocks"] == 5 and against["blocks_of_plan"] is True, against
near(time["ratio"], math.exp(statistics.mean(logs)))
near(time["interval"]["low"], math.exp(statistics.mean(logs) - half))
near(time["interval"]["high"], math.exp(statistics.mean(logs) + half))
LOOK
}

@test "what stats and compare say of the folder is what bench said" {
    bench -n 3 --pause 0 --json 'sleep 0.05' 'sleep 0.1' >bench.json 2>err
    dir=$(bench_dir)
    "$TARE" compare "$dir:repo=A" "$dir:repo=B" --json >compare.json
    "$TARE" stats "$dir" --json >stats.json
    python3 - <<'LOOK'
import json
bench, compare, stats = (json.load(open(name + ".json")) for name in ("bench", "compare", "stats"))
assert bench["commands"][1]["against"]["quantities"] == compare["quantities"], compare
groups = {group["repository"]: group["figures"] for group in stats["groups"]}
for command in bench["commands"]:
    mine = {f["name"]: f["mean"] for f in command["figures"]}
    assert mine["duration_s"] == [f for f in groups[command["name"]] if f["name"] == "duration_s"][0]["mean"]
LOOK
}

@test "energy follows time on a GPU that draws evenly, and power tells a command that loads it" {
    scenario 1
    cat >load.sh <<END
#!/bin/sh
$(job_holds 512 80)
sleep 3
END
    chmod +x load.sh
    bench -n 3 --pause 0 --seed 3 --json 'sleep 1.5' 'sleep 3' ./load.sh --command-name short --command-name long \
        --command-name loads >bench.json 2>err
    python3 - <<'LOOK'
import json
got = {c["name"]: c for c in json.load(open("bench.json"))["commands"]}
figure = lambda name, what: [f for f in got[name]["figures"] if f["name"] == what][0]
ratio = lambda name, what: [q for q in got[name]["against"]["quantities"] if q["name"] == what][0]
for name in ("short", "long"): # 77 W, whatever the machine's load makes of the durations
    watts = figure(name, "gpu_energy_j")["mean"] / figure(name, "duration_s")["mean"]
    assert abs(watts / 77 - 1) < 0.1, (name, watts)
energy, time = ratio("long", "gpu_energy_j"), ratio("long", "duration_s")
assert energy["blocks"] == 3 and abs(energy["ratio"] / time["ratio"] - 1) < 0.1, (energy, time)
assert got["short"]["gpu_half_width_j"] > 0
# 613 W more for most of its time; what the driver plays for processes is not scripted to the millisecond.
power = ratio("loads", "gpu_power_w")
assert 2 < power["ratio"] < 20 and power["told_apart"] is True, power
LOOK
}

@test "a contaminated run is named and does not count" {
    scenario 1
    cat >second.sh <<'END'
#!/bin/sh
echo >>times
[ "$(wc -l <times)" -eq 2 ] || { sleep 0.5; exit; }
touch ready
until [ -e go ]; do sleep 0.1; done
END
    chmod +x second.sh
    start_program bench --containment sweep -o results -n 4 --pause 0 --preflight go-on --json 'sleep 0.5' ./second.sh \
        --export-csv bench.csv
    wait_until test -e ready
    plant 0 2048 50
    sleep 6
    kill -KILL "$OUTSIDER"
    rm "$USERS/$OUTSIDER"
    touch go
    end_program
    is "$CODE" 0
    mv out bench.json
    python3 - <<'LOOK'
import csv, json
got = json.load(open("bench.json"))["commands"]
runs = got[1]["runs"]
assert [run["block"] for run in runs if run["verdict"] == "contaminated"] == [2], runs
assert "foreign_process" in [e["kind"] for e in runs[1]["evidence"]], runs[1]
assert (got[1]["contaminated"], got[1]["n"], got[1]["against"]["b"]["left_out"]) == (1, 3, 1), got[1]
time = [q for q in got[1]["against"]["quantities"] if q["name"] == "duration_s"][0]
assert time["blocks"] == 3, time
row = [r for r in csv.DictReader(open("bench.csv")) if r["name"] == "B" and r["quantity"] == "duration_s"][0]
assert row["n"] == "3" and float(row["mean"]) < runs[1]["duration_s"] and float(row["ratio"]) == time["ratio"], row
LOOK
    id=$(python3 -c 'import json; print(json.load(open("bench.json"))["commands"][1]["runs"][1]["experiment_id"])')
    "$TARE" audit "$(bench_dir)" --json >audit.json
    python3 -c 'import json, sys
(bad,) = [e["experiment_id"] for e in json.load(open("audit.json"))["experiments"] if e["verdict"] == "contaminated"]
assert bad == sys.argv[1], bad' "$id"
}

@test "the same seed gives the same order, another one another" {
    order() { cut -d, -f1 "$(bench_dir)/summary.csv" && rm -r results; }
    bench -q -n 8 --pause 0 --seed 5 true false -i >/dev/null 2>&1
    order >one
    bench -q -n 8 --pause 0 --seed 5 true false -i >/dev/null 2>&1
    order >two
    bench -n 8 --pause 0 true false -i >out 2>/dev/null
    seed=$(sed -n 's/^2 commands, 8 runs each, in random blocks; seed \([0-9]*\)$/\1/p' out)
    order >three
    bench -q -n 8 --pause 0 --seed "$seed" true false -i >/dev/null 2>&1
    order >four
    bench -q -n 8 --pause 0 --seed 6 true false -i >/dev/null 2>&1
    order >five
    is "$(cat two)" "$(cat one)"
    is "$(cat four)" "$(cat three)"
    [ "$(wc -l <one)" -eq 17 ]
    run cmp -s one five
    [ "$status" -eq 1 ]
}

@test "words reach the command as a shell would give them, and no shell sees them" {
    cat >show.sh <<'END'
#!/bin/sh
for word in "$@"; do printf '<%s>' "$word"; done
END
    chmod +x show.sh
    bench -q -n 1 "./show.sh a\\ b 'c  d' \"it's \\\$HOME\" '' '*' \\; \"x|y\"" >/dev/null 2>err
    is "$(cat "$(bench_dir)"/A_bench_001/training.log)" "<a b><c  d><it's \$HOME><><*><;><x|y>"
}

@test "what needs a shell is refused with its place and a mend, and nothing is run" {
    run -2 bench 'sleep 0' 'ls | wc -l'
    [[ $output == *"command B, <ls | wc -l>: '|' at character 4: a pipe needs a shell"*"sh -c '...'"* ]]
    run -2 bench "echo \$HOME"
    [[ $output == *"'\$HOME' at character 6: a variable needs a shell"* ]]
    run -2 bench "echo 'a"
    [[ $output == *"the single quote at character 6 is not closed"* ]]
    run -2 bench 'cd /'
    [[ $output == *"'cd' is of the shell"* ]]
    run -2 bench 'no-such-program-here'
    [[ $output == *"no program 'no-such-program-here' is on PATH"* ]]
    run -2 bench true --command-name a --command-name b
    [[ $output == *"there are 2 names for 1 command"* ]]
    run -2 bench true true --command-name B
    [[ $output == *"two commands have the name 'B'"* ]]
    run -2 bench true --reference C
    [[ $output == *"there is no command 'C'"* ]]
    run -2 bench true --export-json nowhere/file
    [[ $output == *"nowhere"* ]]
    [ ! -e results ]
}

@test "a name means PATH, not a file of that name in the working folder" {
    printf '#!/bin/sh\necho mine\n' >true
    chmod +x true
    bench -q -n 1 true >/dev/null 2>err
    [ ! -s "$(bench_dir)/A_bench_001/training.log" ]
}

@test "a command that fails ends the bench and is named; with --ignore-failure its runs count" {
    run -1 --separate-stderr bench -q -n 5 --pause 0 --seed 1 "sh -c 'exit 3'"
    [[ $stderr == *"A_bench_001 failed: exit code 3"*"nothing more was run"* ]]
    [[ $output == *"A: 0 of 5 runs count: 1 failed, 4 did not run"* ]]
    is "$(wc -l <"$(bench_dir)/summary.csv")" 2
    rm -r results
    bench -i -n 5 --pause 0 --json "sh -c 'exit 3'" >bench.json 2>err
    python3 -c 'import json; c, = json.load(open("bench.json"))["commands"]; assert (c["n"], c["failed"]) == (5, 0), c'
}

@test "--prepare and --conclude run around each run and do not count" {
    printf '#!/bin/sh\necho "$@" >>log\n' >note.sh
    chmod +x note.sh
    bench -n 2 --warmup 1 --pause 0 --seed 4 --json './note.sh a' './note.sh b' --prepare './note.sh pa' \
        --prepare './note.sh pb' --conclude './note.sh end' >bench.json 2>err
    python3 - <<'LOOK'
import json
log = open("log").read().split()
assert len(log) == 18 and all(log[i:i + 3] in (["pa", "a", "end"], ["pb", "b", "end"]) for i in range(0, 18, 3)), log
assert [sorted(log[i + 1:i + 6:3]) for i in range(0, 18, 6)] == [["a", "b"]] * 3, log # a warm-up and two blocks
got = json.load(open("bench.json"))["commands"]
assert [(c["planned"], c["n"]) for c in got] == [(2, 2), (2, 2)], got
assert got[1]["against"]["blocks_of_plan"] is True, got
LOOK
    rm -r results log
    run -1 --separate-stderr bench -q -n 2 --pause 0 './note.sh a' --prepare false
    [[ $stderr == *"A-prepare_bench_001 failed: exit code 1"* ]]
    [ ! -e log ]
    run -2 bench true true true --prepare true --prepare true
    [[ $output == *"--prepare is given 2 times for 3 commands"* ]]
}

@test "--reference fastest compares with the command that takes least" {
    bench -n 2 --pause 0 --json --reference fastest 'sleep 2' 'sleep 0' >bench.json 2>err
    python3 - <<'LOOK'
import json
got = json.load(open("bench.json"))
assert got["reference"] == "B" and got["commands"][1]["against"] is None
time = [q for q in got["commands"][0]["against"]["quantities"] if q["name"] == "duration_s"][0]
assert time["ratio"] > 1, time
LOOK
}

@test "an interrupted bench shows what it measured, and run --resume finishes it" {
    printf '#!/bin/sh\necho >>times\n[ "$(wc -l <times)" -lt 3 ] || [ -e go ] || { touch stuck; sleep 100; }\n' >third.sh
    chmod +x third.sh
    start_program bench --containment sweep -n 4 --pause 0 ./third.sh
    wait_until test -e stuck
    kill -INT "$PID"
    end_program
    is "$CODE" 130
    grep -q '^A: 2 of 4 runs count: 2 did not run$' out
    touch go
    "$TARE" run --resume "$(bench_dir)" -q >/dev/null
    is "$(tail -n +2 "$(bench_dir)/summary.csv" | wc -l)" 4
}

@test "for people: the commands, a table, the ratios, the seed and the folder" {
    bench -n 3 --warmup 1 --pause 0 --seed 9 'sleep 0.01' 'sleep 0.2' --command-name quick >out 2>err
    grep -q '^2 commands, 3 runs each after 1 to warm up, in random blocks; seed 9$' out
    grep -q '^quick  sleep 0.01$' out
    grep -q '^B      sleep 0.2$' out
    grep -qE '^quick +time +ms +3 +[0-9.]+ ± [0-9.]+ ' out
    grep -q '^B against quick, paired by 3 blocks (95 % interval):$' out
    grep -qE '^  time +[0-9.]+ \([0-9.]+ to [0-9.]+\) times' out
    grep -q "^seed 9; results in $(bench_dir)\$" out
    [ -s "$(bench_dir)/report.html" ]
}
