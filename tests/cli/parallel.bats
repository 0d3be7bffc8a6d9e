#!/usr/bin/env bats
# Parallel experiments: a background that loads the GPU beside the training that is measured. The program itself, with
# trainings that are shell scripts, without a GPU and on GPUs that are played.

load energy

DATA=${TARE_SHARED:-$ROOT/../shared}/data/settings

# parallel [MORE-OF-TARE] [MORE-OF-THE-ENTRY]: one experiment; its jobs are fore.sh and back.sh of the repositories.
parallel() {
    cat >registry.json <<'END'
{"models": {
  "repo": {"path": "repo", "train_script": "./fore.sh", "models": ["net"], "metrics": "optional",
           "supported_hyperparams": {"n": {"flag": "--n", "type": "int", "default": 1, "range": [1, 9]}},
           "performance_metrics": {"log_patterns": {"loss": "^loss ([0-9.]+)"}}},
  "load": {"path": "repo", "train_script": "./back.sh", "models": ["net"],
           "supported_hyperparams": {"m": {"flag": "--m", "type": "int", "default": 2, "range": [1, 9]}}}}}
END
    cat >settings.json <<END
{"mode": "parallel", "max_retries": 0, "seed": 7, "timeout": 300,
 "experiments": [{"foreground": {"repo": "repo", "model": "net", "mode": "default"},
                  "background": {"repo": "load", "model": "net", "hyperparameters": {"m": 5}}${2:+, $2}}],
 "tare": {"timing": {"between_runs": 0, "between_configurations": 0, "before_retry": 0, "stop_grace": 20}${1:+, $1}}}
END
}

# script NAME TEXT
script() {
    mkdir -p "$WORK/repo"
    printf '#!/bin/sh\n%s\n' "$2" >"$WORK/repo/$1"
    chmod +x "$WORK/repo/$1"
}

# Shell lines of a job that is on GPU 0 with 5 GiB and PERCENT of its multiprocessors. Only without a pid namespace does a
# job know the number by which the driver knows it.
on_gpu() { echo "mkdir -p $WORK/users; echo '0 5368709120 $1' >$WORK/users/\$\$"; }
on_machine() { "$TARE" run settings.json -c registry.json -o results --containment sweep; }

evidence() { of_events "data ->> 'kind'" evidence | paste -sd ' '; }
no_background_evidence() { if evidence | grep 'background_'; then return 1; fi; }

# inside PYTHON: "e" is the experiment.json, "p" its tare.parallel, "events" the journal.
inside() {
    python3 - "$(run_dir)" <<END
import glob, json, sys
e = json.load(open(glob.glob(sys.argv[1] + "/*_001_parallel/experiment.json")[0]))
p = e["tare"]["parallel"]
events = [json.loads(line) for line in open(sys.argv[1] + "/events.jsonl")]
$1
END
}

@test "the background is looped beside the foreground, with a log for each loop, and everything stands in the results" {
    unset TARE_NVML
    parallel '"parallel": {"wait": 0.5, "restart_delay": 0}'
    script back.sh 'echo "background $*"; n=$(($(cat ../n 2>/dev/null || echo 0) + 1)); echo $n >../n
[ $n -lt 3 ] || { touch ../third; exec sleep 1000; }'
    script fore.sh 'until [ -e ../third ]; do sleep 0.2; done; echo "loss 0.25"'
    tare_run >out
    folder=$(run_dir)/repo_net_001_parallel
    is "$(cat "$folder/background_logs/training_1.log")" 'background --m 5'
    is "$(cat "$folder/background_logs/training_3.log")" 'background --m 5'
    is "$(cat "$folder/training.log")" 'loss 0.25'
    [ ! -e "$folder/background_logs/training_4.log" ]
    grep -q '^\[1/1\] repo_net_001_parallel background started (load net); the foreground follows after 0.5 s at the earliest, when its load has held$' out
    grep -q '^\[1/1\] repo_net_001_parallel succeeded in ' out
    inside '
assert e["mode"] == "parallel" and e["background"]["hyperparameters"] == {"m": 5}, e
assert e["background"]["log_directory"] == "repo_net_001_parallel/background_logs"
assert e["foreground"]["performance_metrics"] == {"loss": 0.25}
b = p["background"]
assert (b["started"], b["succeeded"], b["failed"]) == (3, 2, 0), b
assert [loop["outcome"] for loop in b["loops"]] == ["succeeded", "succeeded", "stopped"], b
assert [loop["log"] for loop in b["loops"]] == ["background_logs/training_%d.log" % n for n in (1, 2, 3)], b
assert b["loops"][0]["start_s"] <= -0.5, b
# Nothing measures here: absent, not zero.
assert b["load"]["seen_by"] is None and p["background_only"] is None, p
assert p["foreground_marginal"] is None and p["sm_share"] is None, p
assert e["tare"]["background_command"][-2:] == ["--m", "5"], e["tare"]
assert e["tare"]["attempts"][0]["parallel"] == p
'
    is "$(summary mode)" parallel
    is "$(evidence)" ''
}

@test "a background that is stopped beside the foreground is told, for the load was not what was planned" {
    unset TARE_NVML
    parallel '"parallel": {"wait": 0.2, "restart_delay": 0}'
    script back.sh 'echo $$ >../back; exec sleep 1000'
    script fore.sh 'touch ../began; sleep 4; echo "loss 0.25"'
    start_program run settings.json -c registry.json -o results --containment sweep
    wait_until test -e began
    kill -STOP "$(cat back)"
    sleep 3
    kill -CONT "$(cat back)"
    end_program
    is "$(of_events "data ->> 'text'" evidence)" \
        "the background's sleep (pid $(cat back)) was stopped"
    is "$(summary verdict)" contaminated
}

@test "a dry run shows both trainings and how the background is started" {
    parallel '"parallel": {"wait": "1m", "hold": 7, "limit": 200, "restart_delay": 3}'
    script fore.sh 'exit 0'
    script back.sh 'exit 0'
    tare_run --dry-run >out
    grep -q 'runs alone for 60 s, then until its load has held 7 s (at most 200 s); started again after 3 s' out
    grep -q '^\[1/1\] repo_net_001_parallel ' out
    grep -A2 '^  foreground default' out | grep -q 'fore.sh --n 1'
    grep -A2 '^  background default' out | grep -q 'back.sh --m 5'
    [ ! -e results ]
}

@test "load that is seen ends the wait, and the estimates of both parts add up to the total exactly" {
    scenario 1 "idle_w 77
users $WORK/users"
    parallel '"parallel": {"wait": 4, "hold": 1, "limit": 200}'
    script back.sh "$(on_gpu 60)
exec sleep 1000"
    script fore.sh "$(on_gpu 30)
sleep 6; echo 'loss 1'"
    on_machine >out
    no_background_evidence
    inside '
load = p["background"]["load"]
assert load["seen_by"] == "processes" and load["held"] is True, load
assert 4 <= load["alone_s"] < 200 and load["share_of_looks_beside"] >= 0.8, load
alone = p["background_only"]
assert alone["scope"] == "GPU board" and alone["half_width_w"] > 0, alone
# Busy, the GPU draws 77 + 613 W whoever computes.
assert abs(alone["power_w"] - 690) <= max(3 * alone["half_width_w"], 7), alone
assert abs(alone["joules"] - alone["power_w"] * alone["seconds"]) < 1e-6 * alone["joules"], alone
total = e["tare"]["energy"]["gpu"]["joules"]
m = p["foreground_marginal"]
assert m["estimate"] is True and m["total_joules"] == total, (m, total)
assert m["background_power_w"] == alone["power_w"] and m["background_half_width_w"] == alone["half_width_w"], m
width = ((alone["half_width_w"] * m["seconds"]) ** 2 + e["tare"]["energy"]["gpu"]["half_width_j"] ** 2) ** 0.5
# The GPU is at its limit whoever computes: what the foreground added is about 0, so an interval and not an estimate.
added = total - m["background_power_w"] * m["seconds"]
assert m["joules"] is None and m["half_width_j"] is None and "background" in m["not_separable"], m
# Half-widths are written with 6 digits, so what is made of them here is good to 5 in the 6th.
assert m["interval_j"][0] == 0 and abs(m["interval_j"][1] / (added + width) - 1) < 1e-4, (m, added, width)
s = p["sm_share"]
assert s["estimate"] is True, s
assert all(type(s[key]) is int and s[key] >= 0 for key in ("total_mj", "foreground_mj", "background_mj", "unattributed_mj")), s
assert s["foreground_mj"] + s["background_mj"] + s["unattributed_mj"] == s["total_mj"] == round(1000 * total), (s, total)
# 30 % and 60 % of the time that was looked at; the foreground came a moment late to its first look.
assert 0.15 <= s["foreground_mj"] / s["total_mj"] <= 0.301, s
assert 0.4 <= s["background_mj"] / s["total_mj"] <= 0.601, s
assert e["foreground"]["energy_metrics"]["gpu_energy_total_joules"] == total
'
}

@test "where processes cannot be told apart the board's own memory and utilisation tell of the load, and there is no split" {
    scenario 1 "users $WORK/users"
    parallel '"parallel": {"wait": 2, "hold": 0.5, "limit": 200}'
    # As in a container: the driver lists a number that is none of ours.
    mkdir users
    sleep 1000 3>&- &
    HOLDER=$!
    script back.sh "sleep 1; echo '0 5368709120 60' >$WORK/users/$HOLDER; exec sleep 1000"
    script fore.sh "sleep 3; echo 'loss 1'"
    on_machine >out
    no_background_evidence
    inside '
load = p["background"]["load"]
assert load["seen_by"] == "board" and load["held"] is True and load["share_of_looks_beside"] is None, load
assert p["background_only"] is not None and p["foreground_marginal"] is not None and p["sm_share"] is None, p
'
}

@test "a background that does not load the GPU contaminates, and is waited for no longer than the limit" {
    scenario 1 "users $WORK/users"
    parallel '"parallel": {"wait": 0.5, "hold": 0.5, "limit": 3}'
    script back.sh 'exec sleep 1000'
    script fore.sh "sleep 1; echo 'loss 1'"
    on_machine >out
    [[ " $(evidence) " == *" background_no_load "* ]]
    inside '
load = p["background"]["load"]
assert load["held"] is False and load["alone_s"] >= 3, load
assert p["background_only"] is None and p["foreground_marginal"] is None, p
assert e["tare"]["outcome"] == "succeeded"
'
}

@test "a background that no longer loads the GPU beside the foreground contaminates" {
    scenario 1 "users $WORK/users"
    parallel '"parallel": {"wait": 1, "hold": 0.5, "limit": 200}'
    script back.sh "$(on_gpu 60)
until [ -e ../go ]; do sleep 0.2; done; rm $WORK/users/\$\$; touch ../gone; exec sleep 1000"
    # Longer than it took until the load was gone, however slow the machine is.
    script fore.sh 'began=$(date +%s); touch ../go; until [ -e ../gone ]; do sleep 0.2; done
sleep $((6 + 3 * ($(date +%s) - began)))'
    on_machine >out
    [[ " $(evidence) " == *" background_stalled "* ]]
    inside 'assert p["background"]["load"]["share_of_looks_beside"] < 0.5, p'
}

@test "a stranger beside a background that is alone falsifies what that draws: evidence before the foreground's time" {
    scenario 1 "kelvin_per_w 0
users $WORK/users"
    parallel '"parallel": {"wait": 6, "hold": 0.5}'
    script back.sh "$(on_gpu 60)
while :; do sleep 1; done"
    script fore.sh "$(on_gpu 30)
sleep 1.5; echo 'loss 1'"
    start_program run settings.json -c registry.json -o results --containment sweep
    wait_until sh -c 'ls users/[0-9]*'
    sleep 300 >/dev/null 2>&1 3>&- &
    HOLDER=$!
    disown "$HOLDER"
    echo '0 524288000 0' >users/.new
    mv users/.new "users/$HOLDER"
    wait_until grep -q "GPU 0 is used by pid $HOLDER " out
    kill "$HOLDER"
    end_program
    is "$CODE" 0
    is "$(summary verdict)" contaminated
    inside '
found, = [x["data"] for x in events if x["type"] == "evidence" and x["data"]["kind"] == "foreign_process"]
assert found["from_s"] < 0 and found["from_s"] < found["to_s"] and "500 MiB" in found["text"], found'
}

@test "a background that crashes beside the foreground contaminates, and the foreground goes on" {
    unset TARE_NVML
    parallel '"parallel": {"wait": 0, "restart_delay": 0}'
    script back.sh 'until [ -e ../go ]; do sleep 0.02; done; echo "CUDA error: unspecified launch failure"; exit 9'
    script fore.sh 'touch ../go; until grep -q background_stopped_early "$TARE_RUN_DIR/events.jsonl"; do sleep 0.05; done'
    tare_run >out
    [[ " $(evidence) " == *" background_died "* ]]
    grep -q 'loop 1 of the background failed: exit code 9' out
    inside 'assert p["background"]["gave_up"] is True and e["tare"]["outcome"] == "succeeded", p'
}

@test "a background that crashes at its start fails the experiment, and the foreground never runs" {
    unset TARE_NVML
    parallel '"parallel": {"wait": 600, "restart_delay": 0}' '"max_retries": 1'
    script back.sh 'echo "no such data set"; exit 1'
    script fore.sh 'touch ../ran'
    run tare_run
    [ "$status" -eq 1 ]
    [[ "$output" == *"the background training does not run: it failed 3 times in a row: exit code 1; the log says: no such data set"* ]]
    [ ! -e ran ]
    folder=$(run_dir)/repo_net_001_parallel
    [ -e "$folder/attempt_1/background_logs/training_3.log" ]
    [ -e "$folder/background_logs/training_3.log" ]
}

# What holds the lock is a member of the background that has left its session and ignores TERM.
@test "a background that survives a naive stop is ended, and the next experiment finds nothing of it" {
    unset TARE_NVML
    parallel '"parallel": {"wait": 0.2}, "log_cap": 1000' '"runs_per_config": 3'
    script back.sh 'exec 9>../lock; flock -n 9 || touch ../survived
setsid sh -c "trap \"\" TERM HUP INT; touch ../ready; while :; do sleep 1; done" & wait'
    script fore.sh 'until [ -e ../ready ]; do sleep 0.02; done; rm ../ready'
    sed -i 's/"stop_grace": 20/"stop_grace": 0.2/' settings.json
    tare_run >out
    is "$(summary outcome | sort | uniq -c | tr -s ' ')" ' 3 succeeded'
    [ ! -e survived ]
    lock_is_free lock
}

# The study's incident: a background outlived its stop, and the 31 experiments after it ran beside it, unnoticed.
@test "after a background that survives a naive stop, 31 experiments have the GPU for themselves" {
    scenario 1 "kelvin_per_w 0
users $WORK/users"
    parallel
    sed -i 's/"experiments": \[/&{"mode": "default", "repo": "repo", "model": "net", "runs_per_config": 31}, /;
            s/"stop_grace": 20/"stop_grace": 0.2/; s/"tare": {/&"parallel": {"wait": 1, "hold": 0.5}, /' settings.json
    python3 - <<'END'
import json
settings = json.load(open("settings.json"))
settings["experiments"].reverse() # the parallel one first
json.dump(settings, open("settings.json", "w"))
END
    script back.sh "cat >survivor.sh <<'END'
#!/bin/sh
trap '' TERM HUP INT
$(on_gpu 60)
while :; do sleep 1; done
END
chmod +x survivor.sh; setsid ./survivor.sh & wait"
    script fore.sh "for user in $WORK/users/[0-9]*; do
    [ \"\$TARE_EXPERIMENT\" = repo_net_001_parallel ] || ! kill -0 \"\${user##*/}\" 2>/dev/null || echo \"\$user\" >>../company
done
$(on_gpu 30)
sleep 0.2; echo 'loss 1'; rm $WORK/users/\$\$"
    TARE_TIME_SCALE=0.1 on_machine >out
    is "$(summary outcome | sort | uniq -c | tr -s ' ')" ' 32 succeeded'
    is "$(summary mode | head -n 1)" parallel
    [ ! -e company ]
    inside 'assert p["background"]["load"]["held"] is True and p["background"]["load"]["seen_by"] == "processes", p'
    if evidence | grep -E 'foreign|memory_not_empty|gpu_busy|processes_unseen'; then return 1; fi
}

@test "a runner that is killed while the background is alone leaves nothing, and a resume runs the experiment once" {
    unset TARE_NVML
    parallel '"parallel": {"wait": 600}'
    script back.sh 'exec 9>../lock; flock 9; touch ../alone; setsid sleep 1000 & exec sleep 1000'
    script fore.sh 'echo "$TARE_ATTEMPT" >>../done'
    start_run
    wait_until test -e alone
    kill -KILL "$PID"
    wait "$PID" || true
    wait_until lock_is_free lock
    [ ! -e "done" ]
    TARE_TIME_SCALE=0.001 "$TARE" run --resume "$(run_dir)" >out
    is "$(cat "done")" 2
    lock_is_free lock
    is "$(summary outcome)" succeeded
    is "$("$TARE" clean --json | python3 -c 'import json, sys; print(len(json.load(sys.stdin).get("jobs", [])))')" 0
}

@test "Ctrl-C while the background is alone ends it at once" {
    unset TARE_NVML
    parallel '"parallel": {"wait": 600}'
    script back.sh 'exec 9>../lock; flock 9; touch ../alone; sleep 1000'
    script fore.sh 'touch ../ran'
    start_run
    wait_until test -e alone
    kill -INT "$PID"
    end_program
    is "$CODE" 130
    [ ! -e ran ]
    lock_is_free lock
    is "$(event_value experiment_ended 1 outcome)" interrupted
}

# The study's settings, read where they lie. Their registry names repositories in repos/ of the working folder: each has
# a train.sh that says what its patterns look for.
study() {
    [ -d "$DATA" ] || skip "../shared/data is not there"
    local repo
    for repo in MRT-OAST bug-localization-by-dnn-and-rvsm pytorch_resnet_cifar10 VulBERTa Person_reID_baseline_pytorch examples; do
        mkdir -p "repos/$repo"
        # "trained" prints a metric of each repository's log_patterns: without any a training has not succeeded.
        cat >"repos/$repo/train.sh" <<END
#!/bin/sh
trained() { printf '%s: 97.5\n' 'Test Accuracy' 'Top-1 Accuracy' '测试准确率' eval_loss 'Rank@1'; }
$1
END
        chmod +x "repos/$repo/train.sh"
    done
}

# flow COUNT SCALE: in each of so many experiments the background was born first and was alone for 30 s, the foreground
# ran to its end, both were proven gone before the attempt ended, and the next began 60 s later; all times SCALE.
flow() {
    python3 - "$(run_dir)" "$1" "$2" <<'END'
import json, sys
events = [json.loads(line) for line in open(sys.argv[1] + "/events.jsonl")]
count, scale = int(sys.argv[2]), float(sys.argv[3])
gone = 0
for number in range(1, count + 1):
    mine = [x for x in events if x["experiment"] == number]
    def first(kind, role=None):
        return next(x["monotonic_ns"] for x in mine if x["type"] == kind and (not role or x["data"]["role"] == role))
    back, fore, start = first("job_born", "background"), first("job_born", "foreground"), first("attempt_started")
    assert back < fore <= start, number
    assert start - back >= 30e9 * scale, (number, start - back)
    proven = [x for x in mine if x["type"] == "job_proven"]
    assert sorted(x["data"]["role"] for x in proven) == ["background", "foreground"], proven
    assert all(x["data"]["survivors"] == [] for x in proven), proven
    assert all(x["monotonic_ns"] <= first("attempt_ended") for x in proven), number
    # What the guard does before a training lies within the pause; how long it takes is known beforehand to a part only.
    assert not gone or back - gone >= 0.95 * 60e9 * scale, (number, back - gone)
    gone = max(x["monotonic_ns"] for x in proven)
    assert [x["data"]["outcome"] for x in mine if x["type"] == "experiment_ended"] == ["succeeded"], mine[-1]
assert [x["data"]["seconds"] for x in events if x["type"] == "pause"] == [60 * scale] * (count - 1)
END
}

@test "the study's parallel_example.json runs with its flow on a GPU that is played" {
    study "$(on_gpu 40)
case \$PWD in */VulBERTa) sleep 20;; *) sleep 3;; esac; trained"
    scenario 1 "users $WORK/users"
    TARE_TIME_SCALE=0.1 "$TARE" run -ec "$DATA/parallel_example.json" -c "$DATA/models_config.json" -o results \
        --containment sweep >out
    flow 2 0.1
    no_background_evidence
    inside '
assert e["foreground"]["repository"] == "pytorch_resnet_cifar10" and e["background"]["repository"] == "VulBERTa", e
assert p["background"]["load"]["held"] is True and p["background"]["started"] >= 1, p
s = p["sm_share"]
assert s["foreground_mj"] + s["background_mj"] + s["unattributed_mj"] == s["total_mj"], s
'
}

@test "the study's parallel_feasibility_test.json runs with its flow" {
    unset TARE_NVML
    study 'sleep 0.2; trained'
    "$TARE" run -ec "$DATA/parallel_feasibility_test.json" -c "$DATA/models_config.json" --dry-run >out
    grep -q 'pauses  *0.0 s between experiments in all, 0 s before each retry' out # as it is: here is no GPU
    TARE_TIME_SCALE=0.01 "$TARE" run -ec "$DATA/parallel_feasibility_test.json" -c "$DATA/models_config.json" -o results \
        --set tare.timing.between_runs=60 --set tare.timing.between_configurations=60 >out
    flow 12 0.01
    is "$(summary outcome | sort | uniq -c | tr -s ' ')" ' 12 succeeded'
    is "$(summary mode | sort -u)" parallel
    is "$(summary experiment_id | head -n 1)" examples_mnist_ff_001_parallel
}

@test "the study's gpu_memory_cleanup_test.json runs with its flow: out of memory, again, and memory that comes back" {
    # What runs out of memory leaves a process behind that keeps its own; whoever finds that says so.
    study 'cd "$TARE_RUN_DIR/../.." && mkdir -p users
case " $* " in *" 10000 "*)
    setsid sh -c "echo 0 5368709120 0 >users/\$\$; exec sleep 1000" &
    until ls users/* >/dev/null 2>&1; do sleep 0.02; done
    echo "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"
    exit 1 ;;
esac
for pid in $(ls users); do if kill -0 "$pid" 2>/dev/null; then touch held; fi; rm "users/$pid"; done
echo 0 1073741824 40 >users/$$
sleep 0.3
trained
rm users/$$'
    scenario 1 "users $WORK/users"
    run env TARE_TIME_SCALE=0.01 "$TARE" run -ec "$DATA/gpu_memory_cleanup_test.json" -c "$DATA/models_config.json" -o results \
        --containment sweep
    [ "$status" -eq 1 ]
    [ ! -e held ]
    is "$(summary outcome | sort | uniq -c | tr -s ' ' | tr '\n' ';')" ' 2 failed; 8 succeeded;'
    is "$(events pause | sort -u)" '{"seconds":0.6,"why":"between_configurations"}
{"seconds":0.6,"why":"between_runs"}'
    [[ " $(evidence) " == *" leftover_processes "* ]]
}
