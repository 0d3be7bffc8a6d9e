#!/usr/bin/env bats
# --expect of audit and stats: criteria of one model, and of one check.
load ../cli/guard

# study FOLDER: results in the study's layout of three models: 4 of one/mlp at 100, 100, 102 and 102 W, 2 of two/mlp at 100 and 120 W, and
# two of two/pcb, of which the second failed.
study() {
    python3 - "$1" <<'END'
import datetime, json, os, sys
top = sys.argv[1]
rows = ["experiment_id,timestamp,repository,model,training_success,duration_seconds,retries,hyperparam_epochs"]
for number, (repo, model, watts, success) in enumerate(
        [("one", "mlp", w, True) for w in (100, 100, 102, 102)] + [("two", "mlp", w, True) for w in (100, 120)] +
        [("two", "pcb", 100, True), ("two", "pcb", 100, False)], 1):
    name, start = f"{repo}_{model}_{number:03}", 1763452800 + 3600 * number
    os.makedirs(f"{top}/{name}/energy")
    end = datetime.datetime.fromtimestamp(start + 60, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000000")
    for file, head, cells in (("gpu_power", "power_draw_w", f"{watts:.1f}"), ("gpu_temperature", "gpu_temp_c,memory_temp_c", "50,N/A"),
                              ("gpu_utilization", "gpu_util_percent,memory_util_percent", "0,0")):
        with open(f"{top}/{name}/energy/{file}.csv", "w") as out:
            out.write(f"timestamp,{head}\n" + "".join(f"{start + i},{cells}\n" for i in range(60)))
    with open(f"{top}/{name}/experiment.json", "w") as out:
        json.dump({"experiment_id": name, "repository": repo, "model": model, "hyperparameters": {"epochs": 1}, "duration_seconds": 60.0,
                   "performance_metrics": {"accuracy": 90}, "training_success": success, "error_message": "it broke"}, out)
    rows.append(f"{name},{end},{repo},{model},{success},60.0,0,1")
with open(f"{top}/summary.csv", "w", newline="") as out:
    out.write("\r\n".join(rows) + "\r\n")
END
}

@test "audit and stats check a criterion of one model" {
    study results
    for command in audit "stats --only usable"; do # shellcheck disable=SC2086
        run -0 --separate-stderr "$TARE" $command results --expect 'success_rate[one/mlp]=100%,success_rate[two/mlp]=100%,success_rate[pcb]=50%'
        [ "$(grep -c ' holds: ' <<< "$stderr")" -eq 3 ]
        [[ "$stderr" == *"holds: success_rate[pcb]=50% (1 of 2)"* ]]
        # 100, 100, 102, 102 W: a deviation of 1.155 W, 1.14 %. 100 and 120 W: 14.1 W, 12.9 %.
        run -0 --separate-stderr "$TARE" $command results --expect 'power_cv_between[one/mlp]<1.2%'
        [[ "$stderr" == *"holds: power_cv_between[one/mlp]<1.2% (1.14 %, of 4 runs of one mlp)"* ]]
        run -1 --separate-stderr "$TARE" $command results --expect 'success_rate[pcb]>=50%,power_cv_between[two/mlp]<5%'
        [[ "$stderr" == *"does not hold: power_cv_between[two/mlp]<5% (12.9 %, of 2 runs of two mlp)"* ]]
        run -1 --separate-stderr "$TARE" $command results --expect 'power_cv_between[pcb]<5%'
        [[ "$stderr" == *"does not hold: power_cv_between[pcb]<5% (unknown: no two comparable runs have identical hyperparameters)"* ]]
        "$TARE" $command results --json --expect 'success_rate[pcb]=100%' > json 2> said && false
        python3 -c '
import json
(row,) = json.load(open("json"))["expectations"]
assert row == {"criterion": "success_rate[pcb]=100%", "held": False, "value": 0.5, "why": "1 of 2"}, row'
    done
}

@test "a criterion of a model that did not run is unknown, and the others are judged" {
    study results
    for command in audit "stats --only usable"; do # shellcheck disable=SC2086
        run -1 --separate-stderr "$TARE" $command results --expect 'success_rate[pcb]=50%,power_cv_between[hrnet18]<5%,contaminated[two/hrnet18]=0'
        [[ "$stderr" == *"holds: success_rate[pcb]=50% (1 of 2)"* ]]
        for model in hrnet18 two/hrnet18; do
            [[ "$stderr" == *"unknown: no experiment is of the model '$model' (there are mlp, pcb))"* ]]
        done
    done
}

@test "power_cv is of all runs of a model" {
    study results
    for command in audit "stats --only usable"; do # shellcheck disable=SC2086
        run -0 --separate-stderr "$TARE" $command results --expect 'power_cv[one/mlp]<1.2%'
        [[ "$stderr" == *"holds: power_cv[one/mlp]<1.2% (1.14 %, of 4 runs of one mlp)"* ]]
    done
}

@test "a criterion of a model that is misspelt, or is in two repositories, is a mistake" {
    study results
    for command in audit "stats --only usable"; do # shellcheck disable=SC2086
        run -2 "$TARE" $command results --expect 'success_rate[pbc]=100%'
        [[ "$output" == *"--expect: no experiment is of the model 'pbc' (there are mlp, pcb); did you mean 'pcb'?"* ]]
        run -2 "$TARE" $command results --expect 'success_rate[mlp]=100%'
        [[ "$output" == *"--expect: 'mlp' is a model of one and two: write [one/mlp]"* ]]
        run -2 "$TARE" $command results --expect 'differences[pcb]=0'
        [[ "$output" == *"differences is of all experiments, not of a model"* ]]
        run -2 "$TARE" $command results --expect 'success_rate[pcb=100%'
        [[ "$output" == *"'success_rate[pcb=100%': write the model as [MODEL] or [REPOSITORY/MODEL]"* ]]
        run -2 "$TARE" $command results --expect 'memory=100%'
        [[ "$output" == *"--expect knows no 'memory' (it knows power_cv_between, "*"and each check, as memory_back)"* ]]
    done
}

@test "stats checks the spread of the experiments that --only counts" {
    study results
    # The GPU is idle throughout, so that no experiment is clean.
    run -0 "$TARE" stats results --expect 'power_cv_between[one/mlp]<5%' --only all
    run -1 "$TARE" stats results --expect 'power_cv_between[one/mlp]<5%' --only clean
}

@test "memory_back is the share of experiments after which the GPU's memory came back" {
    scenario 1
    job "$(job_holds 1000); echo $((300 * 1048576)) >$USERS/leak0; sleep 1; exit 1"
    settings 2 '"memory_wait": 1'
    # The first fails and leaks: the run stops, as the GPU is not free.
    run -3 tare_run
    run -1 --separate-stderr "$TARE" audit "$(run_dir)" --expect 'memory_back=100%'
    [[ "$stderr" == *"does not hold: memory_back=100% (0 of 1)"* ]]
    rm "$USERS/leak0"
    job "echo loss 0.5"
    "$TARE" run --resume "$(run_dir)" || [ $? -eq 1 ]
    run -0 --separate-stderr "$TARE" audit "$(run_dir)" --expect 'memory_back=50%,memory_back[net]<51%'
    [[ "$stderr" == *"holds: memory_back=50% (1 of 2)"* ]]
    # The study's layout has no record of it.
    study theirs
    run -1 --separate-stderr "$TARE" audit theirs --expect 'memory_back=100%'
    [[ "$stderr" == *"does not hold: memory_back=100% (unknown: the check was not needed: not recorded in this layout"* ]]
}
