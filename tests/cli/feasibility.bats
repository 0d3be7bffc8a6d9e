#!/usr/bin/env bats
# Which trainings fit on one GPU together: each alone, every pair predicted, then tried. The GPU is played; the trainings
# are shell scripts that have so much of it as they say, and run out of memory where the GPU would.

load energy

export DATA=${TARE_SHARED:-$ROOT/../shared}/data/settings
GIB=1073741824

# gpu GIB: one GPU with so much memory.
gpu() {
    scenario 1 "memory_total $(($1 * GIB))
memory_reserved 0
users $WORK/users"
    mkdir -p users
    LIMIT=$(($1 * GIB))
}

# trainer: what train.sh of a repository does for "--model NAME": small has 1 GiB, big 4, huge 6, at first 400 MiB; each
# as long as it takes until the run has read it. TRAINING: shell lines instead, with: has MIB [PERCENT]: so much memory,
# and so much of the multiprocessors (30); read_times N: that was read so often; has_none; is_beside: in a pair, not alone.
trainer() {
    cat <<END
#!/bin/sh
case \$2 in small) mib=1024;; big) mib=4096;; huge) mib=6144;; broken) echo "no data"; exit 3;; esac
has() {
    # Two that ask at once are not both to find room.
    exec 9>>$WORK/memory_lock
    flock 9
    sum=\$1
    for user in $WORK/users/[0-9]*; do
        pid=\${user##*/}
        [ "\$pid" != \$\$ ] && kill -0 "\$pid" 2>/dev/null && read -r gpu bytes rest 2>/dev/null <"\$user" &&
            sum=\$((sum + bytes / 1048576))
    done
    if [ \$sum -gt $((LIMIT / 1048576)) ]; then
        rm -f $WORK/users/\$\$
        echo "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate \$1.00 MiB. GPU 0 has a total" \
            "capacity of 8.00 GiB of which 0.50 GiB is free."
        exit 1
    fi
    echo "0 \$((\$1 * 1048576)) \${2:-30}" >$WORK/users/new.\$\$
    mv $WORK/users/new.\$\$ $WORK/users/\$\$
    exec 9>&-
}
rows() { grep -c . "\$TARE_RUN_DIR/\$TARE_EXPERIMENT/energy/gpu.csv" 2>/dev/null || true; }
read_times() {
    from=\$(rows) tries=0
    until [ "\$(rows)" -ge \$((from + \$1)) ] || [ \$tries -ge 120 ]; do
        sleep 0.25
        tries=\$((tries + 1))
    done 2>/dev/null
}
has_none() { rm -f $WORK/users/\$\$; }
is_beside() { case \$TARE_RUN_DIR in */pairs*) return 0;; esac; return 1; }
END
    echo "${TRAINING:-has 400
read_times ${CONTEXT_TIMES:-1}
has \$mib
read_times 6}"
    echo 'has_none
echo "accuracy: 0.5"'
}

# A registry of one repository.
toy() {
    mkdir -p repo
    trainer >repo/train.sh
    chmod +x repo/train.sh
    cat >registry.json <<'END'
{"models": {"toy": {"path": "repo", "train_script": "./train.sh", "models": ["small", "big", "huge", "broken"],
  "model_flag": "--model",
  "supported_hyperparams": {"epochs": {"flag": "--epochs", "type": "int", "default": 20, "range": [1, 500]},
                            "seed": {"flag": "--seed", "type": "int", "default": 1, "range": [0, 9]}},
  "performance_metrics": {"log_patterns": {"accuracy": "accuracy: ([0-9.]+)"}}}}}
END
}

TIMING='"timing": {"between_runs": 0, "between_configurations": 0, "stop_grace": 20},
  "parallel": {"wait": 0.5, "hold": 0.5, "limit": 100, "restart_delay": 0}, "preflight": {"baseline": 0}'

# pairs FOREGROUND BACKGROUND ...: settings with these pairs.
pairs() {
    local entries=
    while [ $# -gt 0 ]; do
        entries="$entries${entries:+, }{\"foreground\": {\"repo\": \"toy\", \"model\": \"$1\", \"mode\": \"default\",
  \"hyperparameters\": {\"epochs\": 1}}, \"background\": {\"repo\": \"toy\", \"model\": \"$2\"},
  \"note\": \"$1 and $2\"}"
        shift 2
    done
    printf '{"experiment_name": "toys", "mode": "parallel", "runs_per_config": 3, "max_retries": 2, "seed": 7,
 "experiments": [%s],
 "tare": {%s}}\n' "$entries" "$TIMING" >settings.json
}

# Three seconds beside each other are enough.
study() { "$TARE" feasibility settings.json --overlap 3 -c registry.json -o results --containment sweep "$@"; }
study_dir() { echo "$WORK"/results/feasibility_*; }

# told PYTHON: "s" is feasibility.json, pair(f, b) one of its pairs, model(name) one of its models.
told() {
    python3 - "$(study_dir)" <<END
import csv, json, os, sys
folder = sys.argv[1]
s = json.load(open(folder + "/feasibility.json"))
GIB = 1 << 30
def pair(f, b): return [p for p in s["pairs"] if (p["foreground"], p["background"]) == (f, b)][0]
def model(name): return [m for m in s["models"] if m["name"] == name][0]
$1
END
}

@test "pairs are predicted from each model alone, and really run: what fits works, what does not runs out of memory" {
    gpu 8
    CONTEXT_TIMES=4 toy
    pairs big huge small big
    run study
    [ "$status" -eq 0 ] || { echo "$output"; return 1; }
    # Before anything ran, and of the pairs again when each model had.
    [ "$(grep -n '^Estimated time' <<<"$output" | head -n 1 | cut -d: -f1)" -lt "$(grep -n '^Each model alone' <<<"$output" | cut -d: -f1)" ]
    [[ "$output" == *"Estimated time with pauses: 3 models alone not known, 2 pairs not known; "* ]]
    [[ "$output" == *"Estimated time with pauses: 2 pairs "*" s"* ]]
    told '
assert s["gpu"] == {"total_bytes": 8 * GIB, "available_bytes": 8 * GIB}, s["gpu"]
peaks = [(m["name"], m["peak_bytes"]) for m in s["models"]]
assert peaks == [("big", 4 * GIB), ("huge", 6 * GIB), ("small", GIB)], s["models"]
big = model("big")
assert big["succeeded"] and big["memory_source"] == "job" and big["steady_bytes"] == 4 * GIB, big
assert big["context_bytes_at_most"] == 400 << 20 and 1 <= big["startup_s"], big
# 1 %, as it lies level.
assert big["margin_bytes"] == int(0.01 * 4 * GIB) and model("small")["margin_bytes"] == 16 << 20, s["models"]
# The least risk first: 5 and 10 GiB.
assert [(p["foreground"], p["background"]) for p in s["pairs"]] == [("small", "big"), ("big", "huge")], s["pairs"]
assert [p["predicted"]["safe_bytes"] for p in s["pairs"]] == [5 * GIB, 10 * GIB]
assert [p["predicted"]["class"] for p in s["pairs"]] == ["stable", "high risk"]
assert [p["predicted"]["tier"] for p in s["pairs"]] == ["high", "high"]
assert [p["predicted"]["fits"] for p in s["pairs"]] == [True, False]
# 5,369 and 10,737 MB: more than 4,000; and more than half of the GPU.
assert [p["predicted"]["class_by_size"] for p in s["pairs"]] == ["high risk", "high risk"]
assert [p["predicted"]["tier_by_size"] for p in s["pairs"]] == ["high", "high"]
none = {"pairs": 0, "ran": 0, "worked": 0, "rate": None}
both = {"pairs": 2, "ran": 2, "worked": 1, "rate": 0.5}
assert [(t["tier"], t["expected_rate"]) for t in s["tiers"]] == [("ultra-low", 1), ("low", 1), ("medium", 0.95), ("high", 0.8)]
assert [t["by_size"] for t in s["tiers"]] == [t["by_share"] for t in s["tiers"]] == [none, none, none, both], s["tiers"]
# Both would have to work; the largest has 6 GiB at most, as the GPU has 8 and the other had its part.
assert [c["met"] for c in s["study_criteria"]] == [False, True, True, True], s["study_criteria"]
assert pair("small", "big")["real"]["metrics"] == 1, s["pairs"]
assert [p["outcome"] for p in s["pairs"]] == ["proven", "failed"]
assert [p["real"]["out_of_memory"] for p in s["pairs"]] == [False, True]
assert [p["recommended"] for p in s["pairs"]] == [True, False]
oom = pair("big", "huge")["real"]
assert "out of memory in" in oom["cause"] and "a smaller batch of huge" in oom["proposal"], oom
# 8 GiB less 6 and their hundredth: 2048 - 61.44 MiB.
assert "beside it a model of at most 1987 MiB" in oom["proposal"], oom
real = pair("small", "big")["real"]
assert real["peak_bytes"] == 5 * GIB and real["started"] and real["finished"], real
assert real["foreground_slowdown"] > 0 and real["pair_joules"] > 0 and real["foreground_joules_estimate"] > 0, real
# That a busy machine stopped the program is recorded, and spoils nothing of the memory.
evidence = {e["kind"] for e in real["evidence"]}
assert real["verdict"] == "clean" and evidence <= {"runner_stopped"} and real["overlap_s"] >= 3, real
assert real["together_bytes"] == real["peaks_alone_bytes"] == 5 * GIB and real["looks_at_peaks"] >= 3, real
assert [c["met"] for c in s["criteria"]] == [True] * 7, s["criteria"]
assert s["counts"] == {"proven": 1, "not_proven": 0, "failed": 1, "not_run": 0, "recommended": 1}, s["counts"]
rows = list(csv.DictReader(open(folder + "/feasibility.csv")))
assert [(r["foreground"], r["predicted_to_fit"], r["outcome"], r["out_of_memory"], r["safe_mib"]) for r in rows] == \
    [("small", "True", "proven", "False", "5120.0"), ("big", "False", "failed", "True", "10240.0")], rows
assert (rows[0]["verdict"], rows[0]["evidence"], rows[0]["together_mib"]) == ("clean", " ".join(evidence), "5120.0"), rows
r = json.load(open(folder + "/recommended.json"))
assert [e["note"] for e in r["experiments"]] == ["small and big"], r
assert r["runs_per_config"] == 3 and r["max_retries"] == 2 and r["experiment_name"] == "toys_recommended", r
assert r["experiments"][0]["foreground"]["hyperparameters"] == {}, r
'
    # The matrix: big, huge and small in rows and columns.
    grep -qE '^1  big +--$' "$(study_dir)/feasibility.txt"
    grep -qE '^3  small +\+\+$' "$(study_dir)/feasibility.txt"
    grep -q '^Pairs: 1 proven, 0 not proven, 1 failed, 0 not run; recommended: 1$' "$(study_dir)/feasibility.txt"
    grep -q '^high  *above  1 of 2  *50 %  *above  1 of 2  *50 %  *80 %$' "$(study_dir)/feasibility.txt"
    # It names its registry, wherever it is run.
    (cd / && "$TARE" run "$(study_dir)/recommended.json" --dry-run >"$WORK/plan")
    # In earnest the registry's 20 epochs.
    "$TARE" run "$(study_dir)/recommended.json" -c registry.json --dry-run --json >plan.json
    python3 -c '
import json
planned = json.load(open("plan.json"))["experiments"]
argv = [e[side]["argv"] for e in planned for side in ("foreground", "background")]
assert len(planned) == 3 and all(a[a.index("--epochs") + 1] == "20" for a in argv), argv'
    # Each part is a run like every other, and nothing was tried again.
    is "$(cd "$(study_dir)" && cat alone/run_*/summary.csv pairs/run_*/summary.csv | cut -d, -f1 | grep -c '^toy')" 5
}

@test "what was only predicted runs its pairs when it is gone on with, and a schedule is made of it" {
    gpu 8
    toy
    pairs small big
    # Earlier runs: 5 and 10 s an epoch; 0.5 s until the background's load is asked for, and as long as it must hold.
    mkdir -p results/run_20260101_000000
    cat >results/run_20260101_000000/summary.csv <<'END'
experiment_id,repository,model,training_success,duration_seconds,hyperparam_epochs
toy_small_001,toy,small,True,100,20
toy_big_002,toy,big,True,20,2
toy_big_003,toy,big,False,1,2
END
    study --predict-only --json >told.json 2>err || { cat err; return 1; }
    follows feasibility told.json
    python3 -c '
import json
s = json.load(open("told.json"))
assert s["estimate"] == {"alone": {"count": 2, "known": 2, "seconds": 15}, "pairs": {"count": 1, "known": 1, "seconds": 6},
    "seconds": 21}, s["estimate"]
assert [p["real"] for p in s["pairs"]] == [None] and s["pairs"][0]["predicted"]["fits"] is True, s
assert s["pairs"][0]["recommended"] is False and s["criteria"][1]["met"] is None, s
assert s["pairs"][0]["outcome"] == "not run", s'
    # What was only predicted is in no schedule, whatever time it would save: with 40 % each neither slows the other down.
    mkdir edited
    told '
for m in s["models"]: m.update(seconds=10, utilisation_percent=40)
json.dump(s, open("edited/feasibility.json", "w"))'
    "$TARE" feasibility --plan registry.json --gpu-memory 6GiB --curves edited -o plan.json >table 2>err
    grep -q '^cannot be recommended: not proven: .*small' table
    python3 -c '
import json
assert [e["mode"] for e in json.load(open("plan.json"))["experiments"]] == ["default", "default"]'
    [ ! -e "$(study_dir)/pairs" ]
    run study --resume "$(study_dir)"
    [ "$status" -eq 2 ]
    "$TARE" feasibility --resume "$(study_dir)" --containment sweep >out || { cat out; return 1; }
    told 'assert s["pairs"][0]["outcome"] == "proven" and s["overlap_asked_s"] == 3 and s["estimate"]["seconds"] == 21, s'
    grep -q '^Estimated time with pauses: 2 models alone 15.0 s, 1 pair 6.0 s, in all 21.0 s$' out
    # Each model alone was not run again.
    is "$(find "$(study_dir)/alone" -maxdepth 1 -name "run_*" | wc -l)" 1
    is "$(find "$(study_dir)/pairs" -maxdepth 1 -name "run_*" | wc -l)" 1
    # Measured slowdowns; 5 GiB and the margins, 57 MiB, are less than 94 % of 6 GiB, and more than that of 5.
    "$TARE" feasibility --plan registry.json --gpu-memory 6GiB -o plan6.json >table 2>err
    grep -q 'left out, as their memory was not measured: toy/huge, toy/broken' err
    "$TARE" feasibility --plan registry.json --gpu-memory 5GiB --curves "$(study_dir)" >plan5.json 2>err
    python3 - "$(study_dir)" <<'END'
import json, sys
s = json.load(open(sys.argv[1] + "/feasibility.json"))
seconds = {m["name"]: 20 * m["seconds"] for m in s["models"]}
real = s["pairs"][0]["real"]
alone = json.load(open("plan5.json"))["experiments"]
assert sorted(e["model"] for e in alone) == ["big", "small"] and all(e["mode"] == "default" for e in alone), alone
entries = json.load(open("plan6.json"))["experiments"]
slow = {"small": real["foreground_slowdown"], "big": real["background_slowdown"]}
if slow["big"] is not None:
    both = {name: seconds[name] * slow[name] for name in slow}
    if max(both.values()) < sum(seconds.values()):
        assert len(entries) == 1 and entries[0]["mode"] == "parallel", entries
        assert entries[0]["foreground"]["model"] == max(both, key=both.get), (entries, both)
END
    "$TARE" run plan5.json -c registry.json --dry-run >plan
    grep -q '^\[2/2\] toy_small_002\|^\[2/2\] toy_big_002' plan
}

@test "every pair of the models, and one that fails alone takes no part" {
    gpu 8
    toy
    printf '{"max_retries": 0, "seed": 7, "mode": "default", "experiments": [
 {"repo": "toy", "model": "small"}, {"repo": "toy", "model": "broken"}, {"repo": "toy", "model": "big"}],
 "tare": {%s}}\n' "$TIMING" >settings.json
    run study --all-pairs --gpu-memory 4.5GiB
    [ "$status" -eq 1 ] || { echo "$output"; return 1; }
    [[ "$output" == *"broken alone: "*"no data"* ]]
    told '
assert len(s["pairs"]) == 3 and s["gpu"]["available_bytes"] == 4.5 * GIB, s
ran = [p for p in s["pairs"] if p["real"]]
assert len(ran) == 1 and {ran[0]["foreground"], ran[0]["background"]} == {"small", "big"}, ran
# 5 GiB do not fit into 4.5, but the GPU has 8: one such mistake is allowed.
assert ran[0]["predicted"]["fits"] is False and ran[0]["outcome"] == "proven", ran
assert [c["met"] for c in s["criteria"]] == [False, None, None, None, None, True, None], s["criteria"]
assert s["counts"]["not_run"] == 2 and s["counts"]["recommended"] == 0, s["counts"]
assert model("broken")["cause"] == "exit_code" and model("broken")["peak_bytes"] is None, s["models"]
'
    [ ! -e "$(study_dir)/recommended.json" ]
}

@test "the study's parallel_feasibility_test.json runs unchanged: its twelve models alone, then its twelve pairs" {
    [ -d "$DATA" ] || skip "../shared/data is not there"
    unset TARE_NVML
    for repo in MRT-OAST bug-localization-by-dnn-and-rvsm pytorch_resnet_cifar10 VulBERTa Person_reID_baseline_pytorch \
        examples; do
        mkdir -p "repos/$repo"
        # One metric of each repository's log_patterns: without any a training has not succeeded.
        printf '#!/bin/sh\nsleep 0.2; echo "%s"\n' "$(case $repo in
            bug-*) echo 'Top-1 Accuracy: 97.5' ;;
            pytorch_*) echo '测试准确率: 97.5' ;;
            VulBERTa) echo 'eval_loss: 0.5' ;;
            Person_*) echo 'Rank@1: 97.5' ;;
            *) echo 'Test Accuracy: 97.5%' ;;
        esac)" >"repos/$repo/train.sh"
        chmod +x "repos/$repo/train.sh"
    done
    TARE_TIME_SCALE=0.01 "$TARE" feasibility "$DATA/parallel_feasibility_test.json" -c "$DATA/models_config.json" \
        -o results >out
    told '
# Counted in the file.
asked = json.load(open(os.environ["DATA"] + "/parallel_feasibility_test.json"))["experiments"]
names = {(e[side]["repo"], e[side]["model"]) for e in asked for side in ("foreground", "background")}
assert {(m["repo"], m["model"]) for m in s["models"]} == names and len(s["models"]) == len(names) == 12, s["models"]
assert len(s["pairs"]) == 12 and all(p["real"]["finished"] for p in s["pairs"]), s["pairs"]
# And so nothing is proven.
assert {p["outcome"] for p in s["pairs"]} == {"not proven"}, s["pairs"]
assert all(p["why"].startswith("how much GPU memory ") for p in s["pairs"]), s["pairs"]
# Nothing measures here: absent, not zero.
assert all(p["predicted"] is None for p in s["pairs"]) and s["gpu"]["total_bytes"] is None, s
assert all(m["peak_bytes"] is None and m["seconds"] > 0 for m in s["models"]), s["models"]
'
    grep -q 'No GPU memory was measured, so nothing can be predicted' out
    grep -q 'no pair is recommended' out
}

@test "the twelve pairs that come with the program are expected to take the study's 93 minutes" {
    gpu 8
    python3 "$ROOT/examples/study/stand_in.py" .
    start_program feasibility "$ROOT/examples/study/twelve-pairs.json" --containment sweep
    wait_until grep -q '^Estimated time' out
    kill -INT "$PID"
    end_program
    [ "$CODE" -eq 130 ]
    grep -q '^Estimated time with pauses: 12 models alone not known, 12 pairs 1 h 33 min; ' out
}

@test "a study that is interrupted is finished by --resume, and no model runs alone twice" {
    unset TARE_NVML
    toy
    cat >repo/train.sh <<'END'
#!/bin/sh
echo "$2" >>../ran
if [ "$2" = big ] && [ ! -e ../go ]; then touch ../at_big; sleep 1000; fi
echo "accuracy: 1"
END
    pairs small big
    start_program feasibility settings.json -c registry.json -o results
    wait_until test -e at_big
    kill -INT "$PID"
    end_program
    is "$CODE" 130
    grep -q 'to go on: .* feasibility --resume results/feasibility_' err
    touch go
    "$TARE" feasibility --resume "$(study_dir)" >out
    is "$(grep -c small ran)" 2
    told 'assert [p["real"]["finished"] for p in s["pairs"]] == [True], s["pairs"]'
}

@test "mistakes on the command line and in the settings are told, and no folder is left" {
    toy
    pairs small nonsense
    run study
    [ "$status" -eq 2 ]
    [[ "$output" == *nonsense* ]]
    pairs small big
    run study --gpu-memory much
    [ "$status" -eq 2 ]
    run "$TARE" feasibility
    [ "$status" -eq 2 ]
    [ ! -e results ]
    run "$TARE" feasibility --resume repo
    [ "$status" -eq 2 ]
    [[ "$output" == *"is no study of pairs"* ]]
    run "$TARE" feasibility --plan registry.json
    [ "$status" -eq 2 ]
    [[ "$output" == *"--plan needs --gpu-memory"* ]]
    for words in "--plan --resume repo" "--plan registry.json --repeats 2" "--plan registry.json --json"; do
        # shellcheck disable=SC2086
        run "$TARE" feasibility $words --gpu-memory 8GiB
        [ "$status" -eq 2 ]
        [[ "$output" == *": error: --"*" does not go with --plan, which runs nothing"* ]]
    done
    for words in "--curves bad" "--slowdown 120"; do
        # shellcheck disable=SC2086
        run "$TARE" feasibility pairs.json $words
        [ "$status" -eq 2 ]
        [[ "$output" == *"${words%% *} goes with --plan only"* ]]
    done
    run "$TARE" feasibility --plan registry.json --gpu-memory 8GiB
    [ "$status" -eq 2 ]
    [[ "$output" == *"no measured curves"* ]]
    mkdir -p bad
    echo '{"models": [{"name": "x"}], "pairs": []}' >bad/feasibility.json
    run "$TARE" feasibility --plan registry.json --gpu-memory 8GiB --curves bad
    [ "$status" -eq 2 ]
}

# Neither runs out of memory, and each alone is at its peak for almost all of its time.
@test "a background that alternates with the foreground never meets its peak: not proven, whatever is predicted" {
    gpu 8
    TRAINING='for turn in 1 2 3 4; do
    exec 8>>../turn
    flock 8
    has $mib
    read_times 2
    has 400 0
    exec 8>&-
    sleep 0.3
done' toy
    pairs small big
    run study --pair-time 40
    [ "$status" -eq 1 ] || { echo "$output"; return 1; }
    told '
pair = pair("small", "big")
assert pair["predicted"]["fits"] and pair["predicted"]["class"] == "stable", pair
assert pair["outcome"] == "not proven" and not pair["recommended"], pair
assert "at the same time" in pair["why"] and pair["real"]["clean_experiments"] >= 1, pair
assert pair["real"]["looks_at_peaks"] == 0 and pair["real"]["overlap_s"] < 3, pair
assert pair["real"]["together_bytes"] is None or pair["real"]["together_bytes"] < 5 * GIB, pair
assert s["criteria"][6]["met"] is False and s["criteria"][4]["met"] is True, s["criteria"]
row, = csv.DictReader(open(folder + "/feasibility.csv"))
assert (row["outcome"], row["recommended"], row["why"]) == ("not proven", "False", pair["why"]), row
'
    grep -q '^small beside big: they ' "$(study_dir)/feasibility.txt"
    [ ! -e "$(study_dir)/recommended.json" ]
}

@test "a model that was never seen to use GPU memory is not predicted to need none" {
    gpu 8
    TRAINING='[ "$2" = small ] || has $mib
read_times 4' toy
    pairs small big
    run study --predict-only
    told '
pair = pair("small", "big")
assert model("small")["peak_bytes"] is None and model("big")["peak_bytes"] == 4 * GIB, s["models"]
assert pair["predicted"] is None and not pair["recommended"], pair
'
    grep -q 'not known' "$(study_dir)/feasibility.txt"
}

@test "a background that never loads the GPU beside the foreground proves nothing, and its evidence is in every output" {
    gpu 8
    TRAINING='load=30
if is_beside && [ "$2" = big ]; then load=0; fi
has 400 0
read_times 1
has $mib $load
read_times 6' toy
    TIMING=${TIMING/100/3}
    pairs small big
    run study
    [ "$status" -eq 1 ] || { echo "$output"; return 1; }
    told '
pair = pair("small", "big")
assert pair["outcome"] == "not proven" and not pair["recommended"], pair
assert "big was never seen training beside small" in pair["why"], pair
real = pair["real"]
assert real["verdict"] == "contaminated" and real["overlap_s"] == 0, real
(evidence,) = real["evidence"]
assert evidence["kind"] in ("background_no_load", "background_stalled") and evidence["experiments"] == 1, real
# Once as the settings say, once with starts that are aligned; that helped nothing.
assert [r["verdict"] for r in real["experiments"]] == ["contaminated", "clean"], real
row, = csv.DictReader(open(folder + "/feasibility.csv"))
assert (row["outcome"], row["verdict"], row["evidence"]) == ("not proven", "contaminated", evidence["kind"]), row
'
    grep -q '^small beside big: contaminated, background_.*, in 1 of 2 experiments: ' "$(study_dir)/feasibility.txt"
    grep -q '"start_after": ' "$(study_dir)/pairs_2.json"
}

@test "two short trainings that import for most of their time are proven, by loops with starts that are aligned" {
    gpu 8
    TRAINING='sleep 5
has $mib
read_times 3' toy
    pairs small big
    run study --overlap 5
    [ "$status" -eq 0 ] || { echo "$output"; return 1; }
    told '
pair = pair("small", "big")
real = pair["real"]
assert pair["outcome"] == "proven" and pair["recommended"] and real["verdict"] == "clean", pair
assert real["overlap_s"] >= 5 and len(real["experiments"]) >= 2, real
assert real["together_bytes"] == 5 * GIB and all(r["overlap_s"] < 5 for r in real["experiments"]), real
assert real["overlap_s"] == sum(r["overlap_s"] for r in real["experiments"]), real
'
    grep -q '"start_after": ' "$(study_dir)/pairs.json"
    [ -e "$(study_dir)/recommended.json" ]
}

@test "a contaminated pair is recommended nowhere, and energy that cannot be attributed is not" {
    gpu 8
    # A bit of the driver: the hardware slows the GPU down because of its heat. Each has 5 % of the multiprocessors.
    TRAINING="has \$mib 5
is_beside && echo 64 >$WORK/users/reasons0
read_times 7
rm -f $WORK/users/reasons0" toy
    pairs small big
    run study --pair-time 0
    [ "$status" -eq 1 ] || { echo "$output"; return 1; }
    told '
pair = pair("small", "big")
real = pair["real"]
assert pair["outcome"] == "not proven" and not pair["recommended"], pair
assert real["finished"] and real["verdict"] == "contaminated" and real["clean_experiments"] == 0, real
assert "hw_thermal" in [e["kind"] for e in real["evidence"]] and "hw_thermal" in pair["why"], pair
# They trained together, which counts for nothing.
assert real["overlap_s"] == 0 and real["experiments"][0]["overlap_s"] >= 3, real
row, = csv.DictReader(open(folder + "/feasibility.csv"))
assert (row["outcome"], row["verdict"], row["recommended"]) == ("not proven", "contaminated", "False"), row
assert "hw_thermal" in row["evidence"].split(), row
# 10 % of the time somebody computes.
split = real["attribution"]
assert split["possible"] is False and split["unattributed_share"] > 0.5, split
assert split["foreground_marginal_joules"] is None and split["half_width_j"] is None, split
assert 0 <= split["foreground_low_j"] < split["foreground_high_j"], split
assert real["foreground_joules_estimate"] is None and real["foreground_joules_ratio"] is None, real
assert row["attribution"] == "cannot be attributed" and row["foreground_joules_estimate"] == "", row
'
    [[ "$output" == *"no pair is recommended"* ]]
    grep -q '^small beside big: contaminated, hw_thermal, ' "$(study_dir)/feasibility.txt"
    grep -A1 '^Energy that cannot be attributed$' "$(study_dir)/feasibility.txt" | grep -q '^small beside big: not separable: [0-9]* to [0-9]* J for the foreground'
    [ ! -e "$(study_dir)/recommended.json" ]
    "$TARE" feasibility --plan registry.json --gpu-memory 8GiB -o plan.json >table 2>err
    python3 -c '
import json
assert [e["mode"] for e in json.load(open("plan.json"))["experiments"]] == ["default", "default"]'
}
