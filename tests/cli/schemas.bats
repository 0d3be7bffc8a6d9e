#!/usr/bin/env bats
# JSON Schemas: of the settings and the registry, generated from the program's rows; of what it writes, in share/schema. Real files and
# outputs follow them, and broken ones do not.

load guard

eval "guard_$(declare -f setup)"
setup() {
    python3 -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("jsonschema") is None)' || skip "python3-jsonschema is missing: no schema is checked"
    guard_setup
}

# says NAME COMMAND...: what the command prints as JSON follows the schema; which exit code it has is of no matter here.
says() {
    timeout 100 "${@:2}" >said.json 2>said.err </dev/null || true
    follows "$1" said.json || { cat said.err; return 1; }
}

@test "settings and registries of the study and of the examples follow the generated schemas" {
    "$TARE" --schema settings >settings.schema
    "$TARE" --schema registry >registry.schema
    local settings=() registries=() file
    for file in "$SHARED"/settings/*.json "${TARE_SHARED:-/none}"/data/settings/*.json "$ROOT"/examples/*.json "$ROOT"/examples/*/*.json \
        "$ROOT"/share/registry.json "$ROOT"/share/registry/*.json; do
        [ -e "$file" ] || continue
        if grep -q '^ *"models": {\|^{"models": {' "$file"; then registries+=("$file"); else settings+=("$file"); fi
    done
    python3 "$BATS_TEST_DIRNAME/follows_schema.py" settings.schema "${settings[@]}"
    python3 "$BATS_TEST_DIRNAME/follows_schema.py" registry.schema "${registries[@]}"
    [ $((${#settings[@]} + ${#registries[@]})) -ge 8 ]
}

@test "what the program refuses in settings and registry, the generated schemas refuse" {
    "$TARE" --schema settings >settings.schema
    "$TARE" --schema registry >registry.schema
    job 'true'
    settings 1
    python3 - "$TARE" <<'CHECK'
import copy, json, subprocess, sys
from jsonschema import Draft202012Validator
schemas = {name: Draft202012Validator(json.load(open(name + ".schema"))) for name in ("settings", "registry")}
good = {name: json.load(open(name + ".json")) for name in schemas}
def put(document, path, value):
    *way, last = path.split("/")
    for step in way:
        document = document[int(step)] if isinstance(document, list) else document.setdefault(step, {})
    if value is KeyError:
        del document[last]
    else:
        document[last] = value
changes = {
    "settings": [("experiments", KeyError), ("experiments", []), ("runs_per_config", -1), ("runs_per_config", 1.5), ("mode", "mutatoin"),
                 ("seed", "7"), ("timeout", "ten"), ("timeout", -1), ("experiments/0/mutate", 3), ("experiments/0/max_retries", 1001),
                 ("experiments/0/seeds", 0), ("experiments/0/hyperparameters", 7), ("tare/timing/stop_grace", "1 fortnight"),
                 ("tare/timing/stop_grase", 1), ("tare/order", "random"), ("tare/log_cap", "1 GiBB"), ("tare/gpus_per_experiment", 0),
                 ("tare/energy_budget", "20 kg"), ("tare/environment", {"A B": "c"}), ("tare/preflight/utilisation", 101)],
    "registry": [("models", KeyError), ("models/repo/path", KeyError), ("models/repo/train_script", 7), ("models/repo/models", []),
                 ("models/repo/exit_code", "maybe"), ("models/repo/supported_hyperparams/n/type", "integer"),
                 ("models/repo/supported_hyperparams/n/default", KeyError), ("models/repo/supported_hyperparams/n/range", [1]),
                 ("models/repo/performance_metrics/log_patterns/loss", 3), ("models/repo/oom_steps", [{"times": 0, "args": ["--amp"]}])],
}
for name, broken in changes.items():
    assert schemas[name].is_valid(good[name]), list(schemas[name].iter_errors(good[name]))
    for path, value in broken:
        document = copy.deepcopy(good[name])
        put(document, path, value)
        assert not schemas[name].is_valid(document), f"the schema takes {path}: {value}"
        files = {other: other + ".json" for other in schemas}
        files[name] = "broken.json"
        json.dump(document, open("broken.json", "w"))
        run = subprocess.run([sys.argv[1], "run", files["settings"], "-c", files["registry"], "--dry-run"], capture_output=True, text=True,
                             timeout=60)
        assert run.returncode == 2, f"the program takes {path}: {value}: {run.stderr}"
CHECK
    run "$TARE" --schema plan
    [ "$status" -eq 2 ]
    [[ "$output" == *"--schema takes settings or registry, not plan" ]]
}

@test "every schema is one, and is installed; every command with --json has one" {
    local file command
    python3 - "$SCHEMAS"/*.json <<'CHECK'
import json, sys
from jsonschema import Draft202012Validator
for name in sys.argv[1:]:
    schema = json.load(open(name))
    Draft202012Validator.check_schema(schema)
    assert schema["title"] and schema["description"], name
CHECK
    for command in $(commands); do
        "$TARE" "$command" --help | grep -qE -- '(^  |, )--json' || continue
        case $command in
        run) [ -e "$SCHEMAS/event.json" ] && [ -e "$SCHEMAS/run-dry-run.json" ] ;;
        *) [ -e "$SCHEMAS/$command.json" ] ;;
        esac || { echo "no schema of $command --json"; return 1; }
    done
    command -v meson >/dev/null && [ -d "${BUILD_DIR:-$ROOT/build}/meson-info" ] || return 0
    meson introspect "${BUILD_DIR:-$ROOT/build}" --installed >installed
    for file in settings.json registry.json; do grep -q "/tare/schema/$file" installed; done
    grep -q 'share/schema' installed
}

@test "the files of a run follow their schemas, with a GPU and without, and so does what run prints" {
    scenario 1
    job 'sleep 0.5; echo "loss 0.5"; [ "$2" -gt 0 ]'
    settings 2
    "$TARE" run settings.json -c registry.json -o results --containment sweep --json >events.jsonl
    follows event events.jsonl "$(run_dir)/events.jsonl"
    follows experiment "$(run_dir)"/repo_net_*/experiment.json
    follows machine "$(run_dir)/machine.json"
    says run-dry-run "$TARE" run settings.json -c registry.json --dry-run --json
    rm -r results
    job 'exit 3'
    TARE_NVML=$WORK/none.so tare_run --gpus none >/dev/null 2>&1 || true
    follows experiment "$(run_dir)"/repo_net_*/experiment.json
}

@test "a run that is watched follows its schema, under way and when it has ended" {
    need_command watch
    scenario 1
    job "echo 'loss 0.5'; until [ -e '$WORK/go' ]; do sleep 0.2; done"
    settings 2
    start_run
    wait_until runs_now
    says watch timeout 20 "$TARE" watch --once --json "$(run_dir)"
    touch go
    end_program
    says watch timeout 20 "$TARE" watch --once --json "$(run_dir)"
}
runs_now() { grep -q '"power_w":[0-9]' "$(run_dir)/live.json"; }

@test "what audit, stats, compare and list print follows their schemas" {
    scenario 1
    job 'sleep 0.3; echo "loss 0.$(($2 % 10))"'
    settings 4
    tare_run >/dev/null 2>&1
    says audit "$TARE" audit "$(run_dir)" --json
    says stats "$TARE" stats "$(run_dir)" --only all --json
    says stats "$TARE" stats "$(run_dir)" --only all --interactions --json
    says compare "$TARE" compare "$(run_dir)" "$(run_dir)" --only usable --json
    says compare "$TARE" compare "$(run_dir)" "$(run_dir)" --only usable --json --expect 'duration_s<2' --sample-size 5%
    says list "$TARE" list -c registry.json --json
    says list "$TARE" list -c registry.json --check --json
}

@test "what exec, measure and bench print follows their schemas" {
    scenario 1
    "$TARE" exec --energy --json exec.json --containment sweep -- sleep 0.5 >/dev/null
    follows exec exec.json
    says measure "$TARE" measure --for 0.5s --json
    says bench "$TARE" bench -n 2 --pause 0 --containment sweep -o benches --json 'sleep 0.1' 'sleep 0.2'
}

@test "what doctor, clean, oom and memory print follows their schemas" {
    scenario 1
    says doctor "$TARE" doctor --json
    says clean "$TARE" clean --json
    echo 'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; 5.00 GiB already allocated; 1.00 GiB free; 6.00 GiB reserved in total by PyTorch)' >log
    says oom "$TARE" oom log --json
    local file
    for file in "$ROOT"/tests/data/memory/*.pickle; do says memory "$TARE" memory "$file" --json; done
    says memory_comparison "$TARE" memory "$ROOT"/tests/data/memory/{cap,split,stacks}.pickle --json
}

@test "a submitted run and what collect prints of it follow their schemas" {
    mkdir bin
    printf '#!/bin/sh\nprintf "GresTypes               = (null)\\nKillWait                = 30 sec\\nMaxArraySize            = 1001\\n"\n' >bin/scontrol
    printf '#!/bin/sh\necho "4711;cluster"\n' >bin/sbatch
    printf '#!/bin/sh\ntrue\n' >bin/squeue
    printf '#!/bin/sh\nexit 1\n' >bin/sacct
    chmod +x bin/*
    export PATH=$WORK/bin:$PATH
    unset TARE_NVML
    job 'echo "loss 0.5"'
    settings 2
    "$TARE" submit settings.json -c registry.json -o results --json >submitted.jsonl 2>err || { cat err; return 1; }
    follows submit submitted.jsonl
    follows plan "$(run_dir)/plan.json"
    follows submission "$(run_dir)/submit.json"
    "$TARE" run --task 1 "$(run_dir)" -q >/dev/null 2>&1
    says collect "$TARE" collect "$(run_dir)" --json
}
