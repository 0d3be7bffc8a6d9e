#!/usr/bin/env bats
# A run as a trace of OpenTelemetry, checked by rules written from the specification (otlp_check.py), printed and sent.

load energy

setup_file() { command -v python3 >/dev/null || skip "python3 is missing"; }

without_gpus() { unset TARE_NVML TARE_FAKE_NVML; }

# trace FILE LINES: python's about that trace: spans by id, run (the root), children(spans, parent).
trace() {
    { echo "import sys; sys.path.insert(0, '$BATS_TEST_DIRNAME')"
      echo 'from otlp_check import *'
      echo 'spans = check(read(sys.argv[1])); run = root(spans)'
      echo "$2"; } >trace.py
    python3 trace.py "$1"
}

three() {
    without_gpus
    job 'echo "epoch 1"; echo "epoch 2"; [ "$TARE_EXPERIMENT" != repo_net_002 ] || { echo "no luck"; exit 3; }; echo "loss 0.5"'
    registry '"marks": {"epoch": "^epoch ([0-9]+)"}'
    settings 3 "${1:-}" '"max_retries": 1'
}

@test "a run is one trace: the run, its experiments, their attempts and epochs, each below its own" {
    three
    run tare_run
    [ "$status" -eq 1 ]
    "$TARE" export --otlp "$(run_dir)" >trace.json
    DIR=$(run_dir) trace trace.json '
import os
assert run["name"] == os.path.basename(os.environ["DIR"]) == run["at"]["tare.run"], run
assert run["at"]["tare.count.experiments"] == 3 and run["at"]["tare.count.failed"] == 1 and run["status"] == {"code": 1}, run
experiments = children(spans, run)
assert [x["name"] for x in experiments] == ["repo_net_001", "repo_net_002", "repo_net_003"], experiments
attempts = [children(spans, x) for x in experiments]
assert [len(x) for x in attempts] == [1, 2, 1] and [x["name"] for x in attempts[1]] == ["attempt 1", "attempt 2"], attempts
good, bad = experiments[0], experiments[1]
assert good["status"] == {"code": 1} and good["at"]["tare.outcome"] == "succeeded" and good["at"]["tare.metric.loss"] == 0.5, good
assert "error.type" not in good["at"] and type(good["at"]["tare.hyperparameter.n"]) is int, good
assert bad["status"]["code"] == 2 and "no luck" in bad["status"]["message"] and bad["at"]["error.type"] == "exit_code", bad
assert bad["at"]["tare.retries"] == 1 and attempts[1][0]["at"]["process.exit.code"] == 3, bad
assert good["at"]["tare.verdict"] in ("clean", "unverified", "suspect"), good
assert [x["name"] for x in children(spans, attempts[0][0]) if x["at"]["tare.mark.part"] == "epoch"] == ["epoch 1", "epoch 2"]
# Nothing was measured: no attribute says 0.
assert not any(key.startswith("tare.energy") for x in spans.values() for key in x["at"]), spans'
}

@test "energies are in joules, with the ± beside them, of experiment, attempt and epoch" {
    scenario 1 'step 0 200'
    job 'echo "epoch 1"; sleep 1.5; echo "epoch 2"; sleep 1.5; echo "loss 0.5"'
    registry '"marks": {"epoch": "^epoch ([0-9]+)"}'
    settings 1
    tare_run
    "$TARE" export --otlp "$(run_dir)" >trace.json
    look 'json.dump([energy["gpu"], [x for x in e["tare"]["epochs"] if x["part"] == "epoch"]], open("measured.json", "w"))'
    trace trace.json '
gpu, epochs = read("measured.json")
experiment, = children(spans, run)
attempt, = children(spans, experiment)
for span in experiment, attempt:
    assert abs(span["at"]["tare.energy.gpu_j"] - gpu["joules"]) < 1e-9 * gpu["joules"], span
    assert span["at"]["tare.energy.gpu_half_width_j"] == gpu["half_width_j"], span
parts = [x for x in children(spans, attempt) if x["at"]["tare.mark.part"] == "epoch"]
assert [x["at"]["tare.energy.gpu_j"] for x in parts] == [x["gpu_energy_j"] for x in epochs] and len(parts) == 2, parts
for span, epoch in zip(parts, epochs):
    length = (int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"])) / 1e9
    assert abs(length - epoch["duration_s"]) < 1e-5, (span, epoch)
    # 200 W.
    assert abs(span["at"]["tare.energy.gpu_j"] / length - 200) < 20, (span, length)'
}

@test "a run that broke off is exported as far as its records go, and says that it is incomplete" {
    without_gpus
    job 'echo "loss 0.5"; [ "$TARE_EXPERIMENT" = repo_net_001 ] || { touch ../began; sleep 60; }'
    settings 3
    start_run
    wait_until test -e began
    kill -KILL "$PID"
    wait "$PID" || true
    PID=
    "$TARE" export --otlp "$(run_dir)" >trace.json
    python3 - <<END
import sys; sys.path.insert(0, "$BATS_TEST_DIRNAME")
from otlp_check import *
run = root({s["spanId"]: {**s, "at": attributes(s["attributes"])} for s in read("trace.json")["resourceSpans"][0]["scopeSpans"][0]["spans"]})
assert run["at"]["tare.incomplete"] is True and run["status"] == {}, run
END
    trace trace.json 'assert [x["name"] for x in children(spans, run)] == ["repo_net_001", "repo_net_002"], spans'
}

@test "bytes that are no UTF-8 and controls in a log leave the trace what it should be" {
    without_gpus
    job "printf 'bad \\\\377\\\\033[31m \"quoted\" \\\\\\\\ end\\\\n'; exit 3"
    settings 1
    run tare_run
    "$TARE" export --otlp "$(run_dir)" >trace.json
    trace trace.json 'x, = children(spans, run); assert "quoted" in x["status"]["message"], x'
}

@test "--otlp takes one run of this program and no other option" {
    without_gpus
    run "$TARE" export --otlp a b
    [ "$status" -eq 2 ]
    run "$TARE" export --otlp a --table epochs
    [ "$status" -eq 2 ]
    mkdir study
    echo experiment_id,timestamp >study/summary.csv
    run "$TARE" export --otlp study
    [ "$status" -eq 3 ]
    [[ "$output" == *"study"* ]]
}
