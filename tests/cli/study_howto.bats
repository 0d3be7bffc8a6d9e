#!/usr/bin/env bats
# docs/howto/repeat-the-study.md and docs/zh/repeat-the-study.md: what the table of old and new promises, command by command, on a machine with a
# simulated GPU, in folders as the study has them.
load ../cli/guard

PAGE=$ROOT/docs/howto/repeat-the-study.md

# The counter of a package that draws 7 W, while the test runs: $HOLDER, which the teardown ends.
play_cpu() {
    local zone=machine/sys/class/powercap/intel-rapl:0
    mkdir -p $zone
    echo package-0 > $zone/name
    echo 262143328850 > $zone/max_energy_range_uj
    python3 - $zone/energy_uj > /dev/null 2>&1 3>&- <<'END' &
import os, sys, time
counter = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
while True:
    os.pwrite(counter, b"%018d\n" % int(time.monotonic() * 7e6), 0)
    time.sleep(0.01)
END
    HOLDER=$!
    disown "$HOLDER"
    wait_until test -s $zone/energy_uj
}

# project: mutation/, settings/X.json (a training alone, and one beside another) and repos of two trainings.
project() {
    scenario 1
    play_cpu
    mkdir -p mutation settings repos/toy repos/load
    printf '#!/bin/sh\n%s; sleep 2; echo loss 0.5\n' "$(job_holds 1000 50)" > repos/toy/train.sh
    printf '#!/bin/sh\n%s; echo load; sleep 60\n' "$(job_holds 500 50)" > repos/load/train.sh
    chmod +x repos/*/train.sh
    cat > mutation/models_config.json <<'END'
{"models": {
  "toy": {"path": "../repos/toy", "train_script": "./train.sh", "models": ["mnist_ff", "pcb", "hrnet18"], "model_flag": "--model",
    "supported_hyperparams": {"epochs": {"flag": "--epochs", "type": "int", "default": 1, "range": [1, 1000000], "distribution": "uniform"}},
    "performance_metrics": {"log_patterns": {"loss": "^loss ([0-9.]+)"}}},
  "load": {"path": "../repos/load", "train_script": "./train.sh", "models": ["net"], "supported_hyperparams": {},
    "performance_metrics": {"log_patterns": {}}}}}
END
    cat > settings/X.json <<'END'
{"experiment_name": "x", "mode": "default", "runs_per_config": 1, "max_retries": 0, "experiments": [
  {"repo": "toy", "model": "pcb", "hyperparameters": {"epochs": 2, "epohcs": 3}},
  {"mode": "parallel", "foreground": {"repo": "toy", "model": "pcb"}, "background": {"repo": "load", "model": "net"}}]}
END
    # The study's pauses, and 30 s of the background alone, in a fiftieth of the time.
    export TARE_TIME_SCALE=0.02
}

# In "$@" a command of the page. Without a pid namespace, so that a job knows its own number, by which it holds memory.
run_page() { "$TARE" "$@" --containment sweep; }

# A folder of old results: 3 experiments of a minute, one an hour from 2025-11-25 00:00:00 on; the last one failed.
old_results() {
    python3 - results/OLD <<'END'
import datetime, json, os, sys
rows = ["experiment_id,timestamp,repository,model,training_success,duration_seconds,retries"]
for number in (1, 2, 3):
    name, success = f"toy_pcb_{number:03}", number < 3
    os.makedirs(f"{sys.argv[1]}/{name}")
    end = (datetime.datetime(2025, 11, 25, number - 1, 1)).isoformat()
    with open(f"{sys.argv[1]}/{name}/experiment.json", "w") as out:
        json.dump({"experiment_id": name, "repository": "toy", "model": "pcb", "hyperparameters": {"epochs": 1}, "duration_seconds": 60.0,
                   "performance_metrics": {"loss": 0.5}, "training_success": success, "error_message": "it broke"}, out)
    rows.append(f"{name},{end},toy,pcb,{success},60.0,0")
with open(f"{sys.argv[1]}/summary.csv", "w", newline="") as out:
    out.write("\r\n".join(rows) + "\r\n")
END
}

# table PAGE: "ROW code" for each code of the rows' second column, in order.
table() {
    python3 - "$1" <<'END'
import re, sys
rows = [line for line in open(sys.argv[1], encoding="utf-8") if line.startswith("| ")][2:]
for number, row in enumerate(rows, 1):
    for code in re.findall(r"`([^`]+)`", row.split(" | ")[1]):
        print(number, code)
END
}

@test "the page is the same in both languages: commands, rows and the code in them" {
    need_python
    table "$PAGE" > english
    table "$ROOT/docs/zh/repeat-the-study.md" > chinese
    [ "$(wc -l < english)" -gt 25 ]
    diff english chinese
    blocks() { sed -n '/^```sh/,/^```/p' "$1" | sed 's/ *#.*//'; }
    blocks "$PAGE" > english
    [ "$(wc -l < english)" -gt 15 ]
    diff english <(blocks "$ROOT/docs/zh/repeat-the-study.md")
}

@test "every command and file of the table is as the page says" {
    project
    old_results
    table "$PAGE" > codes
    # The first run, of which the files are.
    run_page -ec settings/X.json > first.out 2>&1 || { cat first.out; false; }
    mv "$(run_folder)" results/RUN
    local row code seen=0
    while read -r row code; do
        seen=$((seen + 1))
        case $code in
            "tare -ec settings/X.json") grep -q '2 succeeded' first.out ;;
            "settings/" | sudo | --strict) ;;
            "tare -ec X.json")
                (cd settings && "$TARE" -ec X.json --dry-run) > out 2>&1 &&
                grep -q 'registry \.\./mutation/models_config\.json' out ;;
            "tare -r REPO -m MODEL -mt all -n 5")
                "$TARE" -r toy -m pcb -mt all -n 5 --dry-run > out 2>&1 &&
                grep -q '^\[5/5\] toy_pcb_005' out ;;
            "tare -ec settings/X.json -c mutation/models_config.json") "$TARE" ${code#tare } --dry-run > out 2>&1 ;;
            "tare -ec settings/X.json --strict")
                "$TARE" -ec settings/X.json --dry-run > out 2>&1 && grep -q "warning: .*epohcs" out &&
                    run "$TARE" ${code#tare } --dry-run && [ "$status" -eq 2 ] && [[ "$output" == *"error: "*"epohcs"* ]] ;;
            "tare -ec settings/X.json --cooldown adaptive") "$TARE" ${code#tare } --dry-run > out 2>&1 ;;
            '"start_after": 30')
                sed 's/"mode": "parallel"/"mode": "parallel", "start_after": 30/' settings/X.json > settings/Y.json &&
                    ! cmp -s settings/X.json settings/Y.json &&
                    "$TARE" -ec settings/Y.json --dry-run > out 2>&1 ;;
            auto) "$TARE" audit results/OLD --split-at auto > out ;;
            verdict) head -n 1 results/RUN/summary_safe.csv | grep -q ',verdict' ;;
            summary.csv)
                [ "$(head -c 53 results/RUN/summary.csv)" = "experiment_id,timestamp,repository,model,training_suc" ] ;;
            summary_*.csv) [ -s "results/RUN/$code" ] ;;
            background_logs/* | experiment.json | training.log | energy/*)
                [ -s "results/RUN/toy_pcb_002_parallel/$code" ] || { echo "no $code"; find results/RUN; false; } ;;
            run_YYYYMMDD_HHMMSS) grep -qE 'results: results/run_[0-9]{8}_[0-9]{6}$' first.out ;;
            REPO_MODEL_001) [ -d results/RUN/toy_pcb_001 ] ;;
            REPO_MODEL_002_parallel) [ -d results/RUN/toy_pcb_002_parallel ] ;;
            "tare audit results/RUN --write --split-at '2025-11-25 01:20:48'")
                "$TARE" audit results/OLD --write --split-at '2025-11-25 01:20:48' > out 2>&1 ;;
            audit_safe.csv) [ "$(grep -c toy_pcb_00[12] "results/OLD/$code")" -eq 2 ] ;;
            audit_affected.csv) [ "$(grep -c toy_pcb_003 "results/OLD/$code")" -eq 1 ] ;;
            "tare clean --pid N") # which clean.bats tries; the simulated driver's users have no GPU open
                plant 0 900 &&
                    run run_page -ec settings/X.json && echo "$output" > out && [ "$status" -eq 3 ] &&
                    grep -q "clean --pid $OUTSIDER" out && kill -KILL "$OUTSIDER" ;;
            "tare run --resume RUN") run_page run --resume "$(cd results && ls -d "$PWD"/run_* | tail -n 1)" ;;
            "tare clean") "$TARE" clean ;;
            *) echo "row $row: no check of: $code"; return 1 ;;
        esac || { echo "row $row: $code"; cat out; return 1; }
    done < codes
    [ "$seen" -gt 25 ]
}

@test "without a GPU the study's pauses are left out, as the pages say" {
    project
    printf '#!/bin/sh\necho loss 0.5\n' > repos/toy/train.sh
    sed 's/"runs_per_config": 1/"runs_per_config": 2/; /"parallel"/d; s/}},$/}}]}/' settings/X.json > settings/Y.json
    run -0 run_page -ec settings/Y.json
    [[ "$output" == *"2 experiments, pauses 1 min 00 s in all"* ]]
    export TARE_NVML=$WORK/no_driver.so
    rm -r machine/proc/driver
    run -0 run_page -ec settings/Y.json
    [[ "$output" == *"2 experiments, pauses 0.0 s in all"* ]]
    grep -q 'none without a GPU' "$PAGE"
    grep -q '没有 GPU 则不停顿' "$ROOT/docs/zh/repeat-the-study.md"
    # The other reason that the row of the background gives.
    grep -q 'before, the foreground would train alone' "$PAGE"
    grep -q '否则前台其实是单独训练' "$ROOT/docs/zh/repeat-the-study.md"
}

# The criteria as the page has them.
criteria() { "$TARE" audit results/run_* $(sed -n "s/^tare audit results.run_\* \(--expect\) '\(.*\)'\$/\1 \2/p" "$PAGE") 2>&1; }

@test "the study's own success criteria are one command" {
    project
    cat > settings/clean-up.json <<'END'
{"experiment_name": "x", "mode": "default", "runs_per_config": 2, "max_retries": 0, "experiments": [
  {"repo": "toy", "model": "mnist_ff"}, {"repo": "toy", "model": "pcb"}, {"repo": "toy", "model": "hrnet18"}]}
END
    run_page -ec settings/clean-up.json -q
    run -0 criteria
    [[ "$output" == *"holds: success_rate[mnist_ff]=100% (2 of 2)"* ]]
    [[ "$output" == *"holds: success_rate[pcb]=100% (2 of 2)"* ]]
    [[ "$output" == *"holds: memory_back=100% (6 of 6)"* ]]
    [[ "$output" == *"holds: power_cv_between[hrnet18]<5% ("*" %, of 2 runs of toy hrnet18)"* ]]
    # One more run, in which pcb fails.
    printf '#!/bin/sh\n%s; sleep 2; exit 1\n' "$(job_holds 1000 50)" > repos/toy/train.sh
    run -1 run_page -r toy -m pcb
    run -1 criteria
    [[ "$output" == *"does not hold: success_rate[pcb]=100% (2 of 3)"* ]]
    [ "$(grep -c ' holds: ' <<< "$output")" -eq 3 ]
}
