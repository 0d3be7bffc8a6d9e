#!/usr/bin/env bats
# The registry of the study, and the files that run it: with the lines of its trainings, and with stand-ins.

load runs

STUDY=$ROOT/examples/study
REGISTRY=$ROOT/share/registry/study.json

@test "the study's registry is without a problem and has six repositories with twelve models" {
    need_python
    "$TARE" list -c "$REGISTRY" --json > list.json 2> said
    [ "$(wc -l < said)" -eq 1 ] # which registry it is
    python3 - <<'END'
import json
models = [(repo["name"], model) for repo in json.load(open("list.json"))["repositories"] for model in repo["models"]]
assert models == [
    ("MRT-OAST", "default"), ("bug-localization-by-dnn-and-rvsm", "default"), ("pytorch_resnet_cifar10", "resnet20"),
    ("VulBERTa", "mlp"), ("VulBERTa", "cnn"), ("Person_reID_baseline_pytorch", "densenet121"),
    ("Person_reID_baseline_pytorch", "hrnet18"), ("Person_reID_baseline_pytorch", "pcb"), ("examples", "mnist"),
    ("examples", "mnist_rnn"), ("examples", "mnist_ff"), ("examples", "siamese")], models
END
}

@test "names, defaults and ranges are those of the study's own registry" {
    need_python
    [ -d "$SHARED/settings" ] || skip "../shared/data is not there"
    python3 - "$REGISTRY" "$SHARED/settings/models_config.json" <<'END'
import json, sys
ours, theirs = (json.load(open(path))["models"] for path in sys.argv[1:])
assert list(ours) and set(ours) == set(theirs)
for name, row in theirs.items():
    assert set(ours[name]["models"]) <= set(row["models"]), name
    for param, wanted in row["supported_hyperparams"].items():
        got = ours[name]["supported_hyperparams"][param]
        for key in ("type", "default", "range", "distribution"):
            assert got[key] == wanted[key], (name, param, key)
END
}

@test "the study's own settings plan with it, but for what their own registry lacks too" {
    [ -d "$SHARED/settings" ] || skip "../shared/data is not there"
    for settings in "$SHARED"/settings/*.json; do
        [ "${settings##*/}" != models_config.json ] || continue
        dry_run theirs said "$settings" -c "$SHARED/settings/models_config.json" -s 1
        dry_run ours said "$settings" -c "$REGISTRY" -s 1
        [ "$(grep -c '^\[' ours)" -gt 0 ]
        [ "$(grep -c '^\[' ours)" -eq "$(grep -c '^\[' theirs)" ]
    done
}

@test "the lines of each model give its metrics, its epochs and its success" {
    need_python
    python3 "$BATS_TEST_DIRNAME/study_lines.py" prepare "$REGISTRY"
    run "$TARE" run settings.json -c registry.json --quiet
    [ "$status" -eq 1 ] # some are failures
    python3 "$BATS_TEST_DIRNAME/study_lines.py" check "$REGISTRY" "$(run_folder)"
}

@test "what the study recorded is what the patterns take from the scripts' formats" {
    need_python
    [ -d "$SHARED/legacy" ] || skip "../shared/data is not there"
    run python3 "$BATS_TEST_DIRNAME/study_lines.py" legacy "$REGISTRY" "$SHARED/legacy"
    [ "$status" -eq 0 ]
    # 6 experiments with 3 ranks, 13 of examples with 2, 2 of resnet20 with 1 and 2 of MRT-OAST with 2.
    [ "$output" -gt 40 ]
}

# Settings and how many experiments they make.
SETTINGS="baseline 36
clean-up 10
first-look 13
mutated 147
mutated-twice 160
parallel 36
parallel-example 2
twelve-pairs 12"

@test "all settings of the study find their registry by themselves and plan their experiments" {
    need_python
    is "$(cd "$STUDY" && printf '%s\n' *.json | sort)" "$(sed 's/ .*/.json/' <<< "$SETTINGS" | sort)"
    python3 "$STUDY/stand_in.py" .
    while read -r name count; do
        "$TARE" -ec "$STUDY/$name.json" --dry-run > plan 2> said
        is "$name $(grep -c '^\[' plan)" "$name $count"
        # No warning: only which registry it is.
        is "$(wc -l < said)" 1
    done <<< "$SETTINGS"
}

@test "the study's own plans and ours ask for the same trainings in the same order" {
    need_python
    [ -d "$SHARED/settings" ] || skip "../shared/data is not there"
    python3 - "$STUDY" "$REGISTRY" "$SHARED/settings" <<'END'
import json, sys
ours, registry, theirs = sys.argv[1:]
models = json.load(open(registry))["models"]
HEAD = ("mode", "runs_per_config", "max_retries", "governor")

def side(block):
    """With all values; those that the model does not have are left out, as the study did."""
    params = {name: row["default"] for name, row in models[block["repo"]]["supported_hyperparams"].items()}
    params.update((name, value) for name, value in block.get("hyperparameters", {}).items() if name in params)
    return block["repo"], block["model"], block.get("mutate"), sorted(params.items())

def trainings(path):
    settings = json.load(open(path))
    return [settings[key] for key in HEAD], [
        [side(entry[name]) for name in ("foreground", "background")] if "foreground" in entry else [side(entry)]
        for entry in settings["experiments"]]

for name, own in (("parallel_feasibility_test", "twelve-pairs"), ("gpu_memory_cleanup_test", "clean-up"),
                  ("parallel_example", "parallel-example"), ("mutation_all_models_2x_dynamic", "mutated-twice")):
    assert trainings(f"{ours}/{own}.json") == trainings(f"{theirs}/{name}.json"), own
END
}

@test "the clean-up test, the twelve pairs and the parallel example run from end to end with stand-ins" {
    need_python
    idle_machine
    python3 "$STUDY/stand_in.py" .
    for row in "clean-up 10" "twelve-pairs 12" "parallel-example 2"; do
        rm -rf results
        STAND_IN_EPOCH_S=0 TARE_TIME_SCALE=0.01 "$TARE" -ec "$STUDY/${row% *}.json" --quiet
        is "$(summary_column "$(run_folder)" training_success | sort | uniq -c | tr -s ' ')" " ${row#* } True"
    done
    # The values drawn for the parallel example differ.
    is "$(summary_column "$(run_folder)" hyperparam_learning_rate | sort -u | wc -l)" 2
}

@test "with stand-ins all is there, and every model runs from end to end" {
    need_python
    python3 "$STUDY/stand_in.py" .
    run --separate-stderr "$TARE" list --check "$REGISTRY"
    [ "$status" -eq 0 ]
    [ "$(grep -c ' ready$' <<< "$output")" -eq 12 ]
    "$TARE" run "$STUDY/first-look.json" -c "$REGISTRY" --quiet
    folder=$(run_folder)
    [ "$(summary_column "$folder" training_success | sort | uniq -c | tr -s ' ')" = " 13 True" ]
    # Two epochs each, in front of the other; the ranks are those that the stand-in prints.
    [ "$(grep -c '^epoch,epoch,' "$folder"/Person_reID_baseline_pytorch_pcb_008/energy/marks.csv)" -eq 2 ]
    [ "$(grep -c '^epoch,epoch,' "$folder"/MRT-OAST_default_001/energy/marks.csv)" -eq 2 ]
    [ "$(summary_column "$folder" perf_rank1 | sort -u | tr -d '\n')" = 0.663005 ]
    # Nothing is put over what is there.
    run python3 "$STUDY/stand_in.py" .
    [ "$status" -eq 1 ]
    [[ "$output" == *"is there already"* ]]
}

@test "a module that the stand-in's interpreter has no more makes only its models unready" {
    need_python
    python3 "$STUDY/stand_in.py" .
    # The machine may have numpy.
    echo "raise ModuleNotFoundError(\"No module named 'numpy'\")" > repos/examples/.venv/modules/numpy.py
    echo 'raise ImportError("libcudart.so.12: cannot open shared object file")' > repos/VulBERTa/.venv/modules/torch.py
    run --separate-stderr "$TARE" list --check "$REGISTRY"
    [ "$status" -eq 1 ]
    [ "$(grep -c ' ready$' <<< "$output")" -eq 9 ]
    grep -q '^examples  *siamese  *1 missing$' <<< "$output"
    grep -q '^VulBERTa  *all  *module  *missing  *torch  *ImportError: libcudart.so.12: cannot open shared object file$' <<< "$output"
    grep -q '^  repos/VulBERTa/.venv/bin/pip install torch ' <<< "$output"
}

@test "study_train.py hands every value to the repository's script, and its exit code back" {
    need_python
    mkdir repo
    cd repo
    cat > trainer.py <<'END'
import sys
print(" ".join(sys.argv), async_ok(async=True) if False else "patched")
END
    run python3 "$STUDY/study_train.py" pytorch_resnet_cifar10 -n resnet20 --epochs 3 --lr 0.1 --seed 7 --weight-decay 0.001 --batch-size 64
    [ "$status" -eq 0 ]
    [ "$output" = "trainer.py --arch resnet20 --epochs 3 --lr 0.1 --weight-decay 0.001 --batch-size 64 --save-dir save_resnet20 patched" ]
    # Seeded: the same number twice, and another with another seed.
    echo 'import random; print(random.random())' > trainer.py
    train() { python3 "$STUDY/study_train.py" pytorch_resnet_cifar10 -n resnet20 --epochs 1 --lr 1 --seed "$1"; }
    [ "$(train 7)" = "$(python3 -c 'import random; random.seed(7); print(random.random())')" ]
    [ "$(train 8)" != "$(train 7)" ]
    echo 'raise SystemExit(5)' > trainer.py
    run train 1
    [ "$status" -eq 5 ]
    run python3 "$STUDY/study_train.py" examples -n resnet20 --epochs 1 --lr 1 --seed 1
    [ "$status" -eq 2 ]
    [[ "$output" == *"examples has no model resnet20 (it has mnist, mnist_rnn, mnist_ff, siamese)"* ]]
}

@test "study_train.py removes an older model, and loses no weight decay in silence" {
    need_python
    mkdir -p repo/model/study
    cd repo
    touch model/study/model.pt
    cat > main_batch.py <<'END'
import os
class optim:
    Adam = staticmethod(lambda parameters, lr, weight_decay=None: print("weight decay", weight_decay, os.path.exists("model/study/model.pt")))
class model:
    parameters = staticmethod(lambda: [])
optim.Adam(model.parameters(), lr=1.0)
END
    train() { python3 "$STUDY/study_train.py" MRT-OAST -n default --epochs 1 --lr 1 --seed 1 --weight-decay "$1"; }
    run train 0.25
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = "weight decay 0.25 False" ]
    echo 'print("another age")' > main_batch.py
    run train 0.25
    [ "$status" -eq 1 ]
    [[ "$output" == *"main_batch.py has no place for a weight decay"* ]]
    run train 0.0
    [ "$status" -eq 0 ]
}

@test "study_train.py starts scripts of different ages as each of them wants it" {
    need_python
    mkdir -p repo/mnist_rnn repo/mnist
    cd repo
    echo 'import sys; print(*sys.argv[1:])' | tee mnist/main.py > mnist_rnn/main.py
    examples() { python3 "$STUDY/study_train.py" examples -n "$1" --epochs 2 --lr 1 --seed 1; }
    [ "$(examples mnist_rnn)" = "--epochs 2 --lr 1 --seed 1 --batch-size 32 --cuda" ]
    [ "$(examples mnist)" = "--epochs 2 --lr 1 --seed 1 --batch-size 32" ]
    echo "# '--accel'" >> mnist_rnn/main.py
    [ "$(examples mnist_rnn)" = "--epochs 2 --lr 1 --seed 1 --batch-size 32 --accel" ]
    # What was removed or turned round: numpy's in1d, and reading a whole model.
    cat > np.py <<'END'
def isin(index, junk, invert=False): return ("isin", index, junk, invert)
END
    echo 'import np; print(np.in1d(1, 2, invert=True))' > evaluate_gpu.py
    run python3 "$STUDY/study_train.py" --patched evaluate_gpu.py 1
    [ "$output" = "('isin', 1, 2, True)" ]
    cat > main_batch.py <<'END'
class torch:
    load = staticmethod(lambda path, weights_only=True: print(path, weights_only))
class args:
    save = "model/study"
torch.load(args.save + "/model.pt")
import os
print(os.path.isdir("pic"))
END
    run python3 "$STUDY/study_train.py" MRT-OAST -n default --epochs 1 --lr 1 --seed 1 --weight-decay 0
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = "model/study/model.pt False" ]
    [ "${lines[1]}" = True ]
    # Drawn by chance: said before anything else.
    echo > small_data.txt
    [ "$(examples mnist | head -n 1)" = "small_data.txt: data drawn by chance; no result means anything" ]
}

@test "small_data.py makes what the repositories read, and leaves alone what is there" {
    /usr/bin/python3 -c 'import numpy' 2> /dev/null || skip "/usr/bin/python3 has no numpy (Debian's python3-numpy)"
    make_data() { /usr/bin/python3 "$STUDY/small_data.py" . "$@"; }
    run make_data
    [ "$status" -eq 1 ]
    [[ "$output" == "no clone in ./repos: MRT-OAST, bug-localization-by-dnn-and-rvsm, "* ]]
    mkdir -p repos/{MRT-OAST,bug-localization-by-dnn-and-rvsm,pytorch_resnet_cifar10}/ repos/examples/data/MNIST/raw
    echo mine > repos/examples/data/MNIST/raw/train-images-idx3-ubyte
    run make_data MRT-OAST bug-localization-by-dnn-and-rvsm pytorch_resnet_cifar10 examples
    [ "$status" -eq 0 ]
    [[ "$output" == *"./repos/examples/data/MNIST/raw has data already: left alone"* ]]
    [ "$(cat repos/examples/data/MNIST/raw/*)" = mine ]
    [ "$(find repos -name small_data.txt | wc -l)" -eq 4 ]
    /usr/bin/python3 "$BATS_TEST_DIRNAME/study_data.py" repos
    # A second time nothing is made.
    find repos -type f -exec sha256sum {} + | sort > before
    make_data MRT-OAST examples
    find repos -type f -exec sha256sum {} + | sort | diff before -
}

@test "the programs of the study are Python that parses" {
    need_python
    for program in "$STUDY"/*.py; do
        [ -x "$program" ]
        python3 -c 'import ast, sys; ast.parse(open(sys.argv[1], encoding="utf-8").read())' "$program"
    done
}
