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
    half = 2.776445105 * statistics.stdev(values) / math.sqrt(5) # Student's t of 4 degrees of freedom
    near(figure["mean_interval"]["low"], statistics.mean(values) - half)
    near(figure["mean_interval"]["high"], statistics.mean(values) + half)
    assert figure["median_interval"] is None, figure
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
    "$TARE" compare "$dir:repo=A" "$dir:repo=B" --only usable --json >compare.json
    "$TARE" stats "$dir" --only usable --json >stats.json
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
    export TARE_TIME_SCALE=0.1 # tare's own waits alone
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

@test "a bench of which no run counts has an exit code of its own, and ends with the result, not the evidence" {
    scenario 1
    printf '#!/bin/sh\ntouch ready\nuntil [ -e go ]; do sleep 0.2; done\n' >held.sh
    chmod +x held.sh
    export TARE_TIME_SCALE=0.1 # tare's own waits alone
    start_program bench --containment sweep -o results -n 1 --pause 0 --preflight go-on ./held.sh
    wait_until test -e ready
    plant 0 2048 50
    sleep 6
    kill -KILL "$OUTSIDER"
    rm "$USERS/$OUTSIDER"
    touch go
    end_program
    is "$CODE" 4
    evidence=$(grep -n '^  foreign_process (1 run): A_bench_001: ' out | cut -d: -f1)
    result=$(grep -n '^no run counts, so there are no figures$' out | cut -d: -f1)
    [ "$evidence" -lt "$result" ]
}

@test "a contaminated run is named and does not count" {
    scenario 1
    cat >second.sh <<'END'
#!/bin/sh
echo >>times
[ "$(wc -l <times)" -eq 2 ] || { sleep 0.5; exit; }
touch ready
until [ -e go ]; do sleep 0.2; done
END
    chmod +x second.sh
    export TARE_TIME_SCALE=0.1 # tare's own waits alone
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
    bench -q -n 3 --pause 0 --seed 5 true false 'sleep 0' -i >/dev/null 2>&1
    order >one
    bench -q -n 3 --pause 0 --seed 5 true false 'sleep 0' -i >/dev/null 2>&1
    order >two
    bench -n 3 --pause 0 true false 'sleep 0' -i >out 2>/dev/null
    seed=$(sed -n 's/^3 commands, 3 runs each, in random blocks; seed \([0-9]*\)$/\1/p' out)
    order >three
    bench -q -n 3 --pause 0 --seed "$seed" true false 'sleep 0' -i >/dev/null 2>&1
    order >four
    bench -q -n 3 --pause 0 --seed 6 true false 'sleep 0' -i >/dev/null 2>&1
    order >five
    is "$(cat two)" "$(cat one)"
    is "$(cat four)" "$(cat three)"
    [ "$(wc -l <one)" -eq 10 ]
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

@test "--until-decided stops when it is known which is faster, and its interval is that of an independent computation" {
    bench --until-decided --runs 40 --pause 0 --seed 2 --json 'sleep 0.02' 'sleep 0.4' >bench.json 2>err
    python3 - "$(bench_dir)" <<'LOOK'
import csv, json, math, sys
got = json.load(open("bench.json"))
rows = list(csv.DictReader(open(sys.argv[1] + "/summary.csv")))
blocks = [dict((row["repository"], float(row["duration_seconds"])) for row in rows[i:i + 2]) for i in range(0, len(rows), 2)]
assert 7 <= len(blocks) < 40 and len(rows) == 2 * len(blocks), len(rows)
x = [math.log(block["B"] / block["A"]) for block in blocks]

def wealth(x, side): # signed sequential ranks (Reynolds 1975), four bets on the sign of each
    total = 0
    for bet, share in ((0.15, 0.2), (0.4, 0.3), (1, 0.3), (2.5, 0.2)):
        product = share
        for i, own in enumerate(x):
            rank = sorted(map(abs, x[:i + 1])).index(abs(own)) + 1
            product *= 1 + math.tanh(bet * side * math.copysign(math.sqrt(3) * (rank - 0.5) / (i + 1), own))
        total += product
    return total

told = [n for n in range(1, len(x) + 1) if wealth(x[:n], 1) >= 40]
assert told == [len(x)], (told, len(x)) # the first look at which it is told is the last
until = got["until"]
assert until == {"share": None, "decided": True, "of": "duration_s", "reached": True, "blocks": len(x)}, until
ratio = got["commands"][1]["until"]["duration_s"]
assert ratio["sign"] == 1 and ratio["blocks"] == len(x) and got["commands"][0]["until"] is None
means = sorted((a + b) / 2 for i, a in enumerate(x) for b in x[:i + 1])
half = len(means) // 2
centre = means[half] if len(means) % 2 else (means[half - 1] + means[half]) / 2
# The interval ends at means of pairs: the outermost at which neither side has 40 times what it began with.
between = [means[0] - 1] + [(a + b) / 2 for a, b in zip(means, means[1:])] + [means[-1] + 1]
held = [wealth([v - c for v in x], 1) < 40 and wealth([v - c for v in x], -1) < 40 for c in between]
low = None if held[0] else means[held.index(True) - 1]
high = None if held[-1] else means[len(held) - 1 - held[::-1].index(True)]
for found, expected in (("ratio", centre), ("low", low), ("high", high)):
    if expected is None:
        assert ratio[found] is None, (found, ratio)
    else:
        assert abs(math.log(ratio[found]) - expected) < 1e-9, (found, ratio, math.exp(expected))
LOOK
}

@test "--until ends when the ratio is known so well, whatever it is, or with --runs; both are said" {
    bench --until 40% --pause 0 --seed 3 'sleep 0.2' 'sleep 0.2' --conclude true >out 2>err
    blocks=$(sed -n 's/^--until 40%: reached by \([0-9]*\) blocks$/\1/p' out)
    [ "$blocks" -ge 7 ] && [ "$blocks" -lt 200 ]
    grep -q "^2 commands, at most 1000 runs each, in random blocks; seed 3$" out
    grep -q "^B against A, after each of $blocks blocks (95 % interval, valid after every block):$" out
    is "$(tail -n +2 "$(bench_dir)/summary.csv" | wc -l)" $((4 * blocks)) # the last one's conclusion is run, too
    if grep -q 'did not run' out; then false; fi
    rm -r results
    bench --until 0.01% -n 3 --pause 0 true true >out 2>err
    grep -q '^--until 0.01%: not reached by 3 blocks$' out
    run -2 bench --until 1% true
    [[ $output == *"--until and --until-decided are about one command against another: name two or more"* ]]
    for wrong in 1 % 0% 101% x%; do
        run -2 bench --until "$wrong" true true
        [[ $output == *"--until takes 0.01% to 100%, as in 1%: '$wrong'"* ]]
    done
}

# Both take as long; what one of them loads the GPU with is the difference. Of the time it would not be decided.
@test "told_apart in JSON is decided as in the text: by the sequence where the bench went on until something was known" {
    bench --until 0.01% -n 3 --pause 0 --seed 2 --json 'sleep 0.02' 'sleep 0.2' >bench.json 2>err
    python3 - <<'END'
import json
slow = json.load(open("bench.json"))["commands"][1]
time = next(q for q in slow["against"]["quantities"] if q["name"] == "duration_s")
assert slow["until"]["duration_s"]["sign"] == 0 and time["p_corrected"] < 0.05, slow # three coins decide nothing, Student's t does
assert time["told_apart"] is False, time
END
}

@test "--of gpu-energy: the bench goes on until the energies are decided, and no longer; what is not measured ends it" {
    scenario 1
    printf '#!/bin/sh\nsleep 1\n' >idle.sh
    printf '#!/bin/sh\n%s\nsleep 1\n' "$(job_holds 512 80)" >load.sh
    chmod +x idle.sh load.sh
    export TARE_TIME_SCALE=0.1 # tare's own waits alone
    bench --until-decided --of gpu-energy --runs 30 --pause 0 --seed 4 --verdicts all --json ./idle.sh ./load.sh >bench.json 2>err
    python3 - "$(bench_dir)" <<'LOOK'
import csv, json, math, sys
got = json.load(open("bench.json"))
rows = list(csv.DictReader(open(sys.argv[1] + "/summary.csv")))
blocks = [dict((row["repository"], float(row["energy_gpu_total_joules"])) for row in rows[i:i + 2]) for i in range(0, len(rows), 2)]
x = [math.log(block["B"] / block["A"]) for block in blocks]
def wealth(x): # as above
    total = 0
    for bet, share in ((0.15, 0.2), (0.4, 0.3), (1, 0.3), (2.5, 0.2)):
        product = share
        for i, own in enumerate(x):
            rank = sorted(map(abs, x[:i + 1])).index(abs(own)) + 1
            product *= 1 + math.tanh(bet * math.copysign(math.sqrt(3) * (rank - 0.5) / (i + 1), own))
        total += product
    return total
told = [n for n in range(1, len(x) + 1) if wealth(x[:n]) >= 40]
assert told == [len(x)] and 7 <= len(x) < 30, (told, x)
assert got["until"] == {"share": None, "decided": True, "of": "gpu_energy_j", "reached": True, "blocks": len(x)}, got["until"]
assert got["commands"][1]["until"]["gpu_energy_j"]["sign"] == 1, got["commands"][1]["until"]
LOOK
    [ -z "$(find /sys/bus/event_source/devices/power /sys/class/powercap -name 'energy*' 2>/dev/null)" ] || skip "this machine has a counter of CPU energy"
    run -3 bench --until 1% --of cpu-energy --pause 0 ./idle.sh ./load.sh
    [[ "$output" == *"--until 1% of CPU energy: not reached by 1 block"*"--of cpu-energy: it was not measured in any run of the first block"* ]]
    run -2 bench --of gpu-energy true true
    [[ "$output" == *"--of is what --until and --until-decided go by"* ]]
    run -2 bench --until 1% --of gpu-energy --reference fastest true true
    [[ "$output" == *"--reference fastest is by time"* ]]
    run -2 bench --until 1% --of power true true
}

@test "--export-markdown writes the commands as a table" {
    bench -n 2 --pause 0 --json 'sleep 0.'{16,32} "sh -c 'true | echo "{1,2}"'" \
        --export-markdown table.md >bench.json 2>err
    python3 - <<'LOOK'
import json
got = json.load(open("bench.json"))["commands"]
typed = ["sleep 0.16", "sleep 0.32", "sh -c 'true | echo 1'", "sh -c 'true | echo 2'"]
assert [c["command"] for c in got] == typed and [c["n"] for c in got] == [2] * 4, got
head, line, *rows = open("table.md").read().splitlines()
assert head == "| command | n | time [ms] | min [ms] | max [ms] | times as long (95 %) |", head
assert line == "|:---|---:|---:|---:|---:|---:|", line
cells = [row.strip("|").replace("\\|", "BAR").split("|") for row in rows]
assert [row[0] for row in cells] == [" `` " + t.replace("|", "BAR") + " `` " for t in typed], cells
for row, command in zip(cells, got):
    figure = [f for f in command["figures"] if f["name"] == "duration_s"][0]
    mean, deviation = map(float, row[2].split("±"))
    assert abs(mean - 1000 * figure["mean"]) <= 0.5 and abs(float(row[4]) - 1000 * figure["highest"]) <= 0.5, row
assert cells[0][5] == " 1 " and float(cells[1][5].split("(")[0]) > 1.2, cells
LOOK
}

@test "words of one command that was not quoted are told so" {
    run -2 bench python3 train.py
    [[ $output == *"if these words are one command, quote them: $(basename "$TARE") bench 'python3 train.py'"* ]]
    run -2 bench python3 train.py --lr 0.1
    [[ $output == *"unknown option --lr; a command is one operand: quote it with its own options"* ]]
    run -2 bench 'sleep 0' no-such-program-here # quoted: a mistake in a name
    [[ $output != *"quote them"* ]]
}

@test "user and system time and peak memory are those of the command" {
    cat >work.py <<'END'
import resource, os, time
held = b"x" * (96 << 20)
while time.process_time() < 0.6: pass
for _ in range(100000): os.stat("/")
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime, used.ru_stime, used.ru_maxrss * 1024)
END
    timeout -k 5 200 "$TARE" bench -o results -n 3 --pause 0 --json "$(command -v python3) work.py" >bench.json 2>err
    timeout -k 5 200 "$TARE" bench -o text -n 1 --pause 0 "$(command -v python3) work.py" >out 2>err
    grep -q "\"cgroup\": true" "$(bench_dir)"/A_bench_001/experiment.json || skip "jobs have no cgroup here, which tells user and system time apart"
    python3 - "$(bench_dir)" <<'LOOK'
import json, sys
(command,) = json.load(open("bench.json"))["commands"]
for run in command["runs"]:
    user, system, peak = map(float, open(f"{sys.argv[1]}/{run['experiment_id']}/training.log").read().split())
    for key, own in (("user_s", user), ("system_s", system)): # and the job's init, its start and its end
        assert own - 0.02 <= run[key] <= own + 0.25, (key, own, run)
    assert peak - (8 << 20) <= run["memory_peak_bytes"] <= peak + (64 << 20), (peak, run)
for key in ("user_s", "system_s", "memory_peak_bytes"):
    values = [run[key] for run in command["runs"]]
    use = command["uses"][key]
    assert abs(use["mean"] - sum(values) / 3) <= 1e-9 * use["mean"] and use["highest"] == max(values), (use, values)
LOOK
    grep -qE '^A: user [0-9.]+ m?s, system [0-9.]+ m?s, memory at most [0-9.]+ MiB$' out
}
