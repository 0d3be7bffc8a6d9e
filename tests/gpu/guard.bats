#!/usr/bin/env bats
# The guard, parallel experiments and memory, on a real GPU (make check-gpu).

load ../cli/runs

setup() {
    PYTHON=$(command -v "${PYTHON:-python3}")
    "$PYTHON" -c 'import torch; assert torch.cuda.is_available()' || skip "$PYTHON has no torch that sees a GPU"
    WORK=$(mktemp -d "${TMPDIR:-/tmp}/gpu-test.XXXXXX")
    export XDG_STATE_HOME=$WORK/state TARE_LOCK_DIR=$WORK/locks TERM=dumb
    GPU=$ROOT/tests/gpu
    PLANTED=
    cd "$WORK" || return 1
}

teardown() {
    [ -z "$PLANTED" ] || kill -KILL "$PLANTED" 2>/dev/null || true
    [ -z "${PID:-}" ] || kill -KILL "$PID" 2>/dev/null || true
    cd /
    [ -z "$WORK" ] || rm -rf "$WORK"
}

trains() { job "exec $PYTHON $*"; }

# plant GIB: an outside process that holds so much.
plant() {
    "$PYTHON" "$GPU/hungry.py" hold "$1" 600 >planted 2>&1 3>&- &
    PLANTED=$!
    wait_until grep -q holding planted
}

epoch_seen() { grep -qs "^epoch 1" results/*/*/training.log; }

# inside LINES: "e" is experiment.json of the run's first experiment, "kinds" the kinds of its evidence, "guard" what the guard saw.
# What they print goes to the page of results.
inside() {
    cat >inside.py <<'END'
import glob, json, sys
e = json.load(open(sorted(glob.glob(sys.argv[1] + "/*_001*/experiment.json"))[0]))
own = e["tare"]
kinds = sorted(item["kind"] for item in own["evidence"])
text = " / ".join("%s: %s" % (item["kind"], item["text"]) for item in own["evidence"])
guard = own.get("guard") or []
END
    printf '%s\n' "$1" >>inside.py
    "$PYTHON" inside.py "$(run_dir)" >told || { cat told; return 1; }
    sed 's/^/# /' told >&3
}

@test "a training on a free GPU is clean, its idle baseline is measured, and net and gross differ by it" {
    trains "$GPU/steady.py" 8 2
    settings 1 '"preflight": {"baseline": 3}'
    tare_run >out
    inside '
print("verdict %s; %s" % (own["verdict"], text))
gpu = own["energy"]["gpu"]
print("gross %.1f J +- %.1f, net of the bare idle %s" % (gpu["joules"], gpu["half_width_j"], gpu["net_of_bare_idle_j"]))
assert own["verdict"] == "clean", text
'
}

@test "an outside process that holds 5.5 GB: waited for, named, and with go-on the experiment contaminated" {
    plant 5.5
    trains "$GPU/steady.py" 6 2
    settings 1 '"preflight": {"wait": 4, "baseline": 0}'
    start_run
    end_program
    [ "$CODE" -eq 3 ]
    grep -hE "not begun: after a wait of .*pid $PLANTED of .* MiB.*clean --pid $PLANTED'" out err
    if epoch_seen; then false; fi
    rm -r results
    settings 1 '"preflight": {"policy": "go-on", "baseline": 0}'
    tare_run >out
    inside '
print("verdict %s; %s" % (own["verdict"], text))
assert own["verdict"] == "contaminated" and "foreign_process" in kinds, kinds
assert "'"$PLANTED"'" in text and "MiB" in text, text
'
}

@test "the policy refuse ends the run before it has begun" {
    plant 5.5
    trains "$GPU/steady.py" 6 2
    settings 1 '"preflight": {"policy": "refuse", "baseline": 0}'
    start_run
    end_program
    [ "$CODE" -eq 3 ]
    grep -q "$PLANTED" out err
    if epoch_seen; then false; fi
}

@test "an outside process that comes while the training runs contaminates it, with its time span" {
    trains "$GPU/steady.py" 12 2
    settings 1 '"preflight": {"baseline": 0}'
    start_run
    wait_until epoch_seen
    plant 5.5
    end_program
    inside '
print("verdict %s; %s" % (own["verdict"], text))
found = [item for item in own["evidence"] if item["kind"] == "foreign_process"]
assert own["verdict"] == "contaminated" and found and found[0]["from_s"] is not None, own["evidence"]
'
}

@test "what a killed run left is gone before the next one, which is clean" {
    trains "$GPU/steady.py" 1000 10
    settings 1 '"preflight": {"baseline": 0}'
    start_run
    wait_until epoch_seen
    kill -KILL "$PID"
    wait "$PID" 2>/dev/null || true
    mv results killed
    trains "$GPU/steady.py" 5 2
    tare_run >out
    inside 'print("verdict %s; %s" % (own["verdict"], text)); assert own["verdict"] == "clean", text'
}

# parallel BACKGROUND FOREGROUND: what each runs.
parallel() {
    mkdir -p repo
    printf '#!/bin/sh\nexec %s\n' "$1" >repo/back.sh
    printf '#!/bin/sh\nexec %s\n' "$2" >repo/fore.sh
    chmod +x repo/*.sh
    cat >registry.json <<'END'
{"models": {
  "repo": {"path": "repo", "train_script": "./fore.sh", "models": ["net"], "supported_hyperparams": {},
           "marks": {"epoch": "^epoch ([0-9]+)"}},
  "load": {"path": "repo", "train_script": "./back.sh", "models": ["net"], "supported_hyperparams": {}}}}
END
    cat >settings.json <<'END'
{"mode": "parallel", "max_retries": 0, "seed": 7, "timeout": 300,
 "experiments": [{"foreground": {"repo": "repo", "model": "net", "mode": "default"},
                  "background": {"repo": "load", "model": "net"}}],
 "tare": {"timing": {"between_runs": 0, "between_configurations": 0, "before_retry": 0, "stop_grace": 10},
          "parallel": {"wait": 12, "hold": 4, "limit": 60}, "preflight": {"baseline": 2}}}
END
}

@test "two trainings in parallel: the background loads the GPU first, shares add up, both are gone" {
    parallel "$PYTHON $GPU/steady.py 600 5" "$PYTHON $GPU/steady.py 10 2"
    before=$(nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits -i 0)
    tare_run >out
    after=$(nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits -i 0)
    [ "$after" -le $((before + 64)) ]
    inside '
p = own["parallel"]
print("verdict %s; %s" % (own["verdict"], text))
print("load", p["background"]["load"])
print("background only", p["background_only"])
print("foreground marginal", p["foreground_marginal"])
print("share", p["sm_share"])
assert own["verdict"] == "clean", text
assert p["background"]["load"]["held"], p
'
}

@test "a background that crashes at start is no parallel experiment" {
    parallel "$PYTHON $GPU/no_such_file.py" "$PYTHON $GPU/steady.py 6 2"
    tare_run >out || true
    inside '
print("outcome %s, verdict %s; %s; %s" % (own["outcome"], own["verdict"], e["foreground"]["error_message"], text))
assert own["outcome"] == "failed" and own["verdict"] == "contaminated"
'
    if epoch_seen; then false; fi
}

# hungry WAY: three retries allowed.
hungry() {
    trains "$GPU/hungry.py" "$1"
    registry '"marks": {"epoch": "^epoch ([0-9]+)"}'
    settings 1 '"preflight": {"baseline": 0}'
    sed -i 's/"max_retries": 0/"max_retries": 3/' settings.json
    tare_run >out || true
}

@test "a training that leaks is warned about at least two epochs before it fails" {
    hungry leak
    inside '
warned = [x for x in map(json.loads, open(sys.argv[1] + "/events.jsonl")) if x["type"] == "evidence" and x["data"]["kind"] == "memory_growth"]
marks = [x for x in map(json.loads, open(sys.argv[1] + "/events.jsonl")) if x["type"] == "mark"]
last = max(int(m["data"]["label"]) for m in marks)
assert warned, text
first = warned[0]["data"]["text"]
during = max(int(m["data"]["label"]) for m in marks if m["data"]["t_ns"] <= warned[0]["monotonic_ns"])
print("warned in epoch %d, failed in epoch %d: %s" % (during, last, first))
print("attempts %d, cause %s" % (len(own["attempts"]), own["attempts"][0]["oom"]["cause"]))
assert last - during >= 2, (during, last)
'
}

@test "a training that fragments is rescued by the ladder" {
    hungry pieces
    inside '
for attempt in own["attempts"]:
    print("attempt %d: %s, cause %s, changed %s" % (attempt["number"], attempt["outcome"], (attempt["oom"] or {}).get("cause"), attempt["changed"]))
assert own["outcome"] == "succeeded" and len(own["attempts"]) == 2, own["attempts"]
assert own["attempts"][0]["oom"]["cause"] in ("fragmentation", "cap") # the cap is how this test makes memory short
'
}

@test "a training that is too large is not tried again" {
    hungry large
    inside '
print("attempts %d, cause %s: %s" % (len(own["attempts"]), own["attempts"][0]["oom"]["cause"], e["error_message"]))
assert len(own["attempts"]) == 1 and own["outcome"] == "failed" and own["attempts"][0]["oom"]["cause"] == "capacity"
'
}
