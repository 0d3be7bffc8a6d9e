#!/usr/bin/env bats
# The files that "init" writes find epochs and metrics in the formats of public training programs. The stand-ins print
# the format and train nothing; the framework is named only in a function that is never called.

load helpers

setup_file() { command -v python3 >/dev/null || skip "python3 is not there"; }

# stand_in USE < PYTHON: a script that names USE and does this.
stand_in() {
    need_python
    unset VIRTUAL_ENV
    printf 'def unused():\n' >train.py
    printf '    %s\n' "$@" >>train.py
    cat >>train.py
}

# found EPOCHS NAME=VALUE...: the epochs of the mark's rows, and the metrics, of one run of what init writes.
found() {
    local epochs=$1 pair
    shift
    "$TARE" init train.py
    "$TARE" run -q -n 1 settings.json
    folder=$(run_folder)
    [ "$(awk -F, '$2 == "epoch" { print $3 }' "$folder"/*/energy/marks.csv | paste -sd ' ')" = "$epochs" ] ||
        { cat "$folder"/*/energy/marks.csv; false; }
    for pair in "$@"; do
        [ "$(summary_column "$folder" "perf_${pair%%=*}")" = "${pair#*=}" ] ||
            { echo "$pair: $(summary_column "$folder" "perf_${pair%%=*}")"; false; }
    done
}

@test "Keras: a headline before each epoch" {
    stand_in 'import keras' 'keras.Model().fit()' <<'END'
for epoch, loss, val in (1, 0.75, 0.5), (2, 0.5, 0.25):
    print(f"Epoch {epoch}/2")
    print(f"\r1/2 [======>.......] - ETA: 0s - loss: 2.5", end="")
    print(f"\r2/2 [==============] - 0s 5ms/step - loss: {loss} - accuracy: 0.875 - val_loss: {val} - val_accuracy: 0.625")
END
    found "1 2" loss=0.5 accuracy=0.875 val_loss=0.25 val_accuracy=0.625
}

@test "Lightning: the progress bar" {
    stand_in 'import lightning' 'lightning.Trainer().fit()' <<'END'
for epoch in 0, 1:
    for done in 0, 50, 100:
        print(f"\rEpoch {epoch}: {done:3}%|{'#' * (done // 10):10}| {done // 50}/2 [00:00<00:00, 9.50it/s, v_num=0, "
              f"train_loss={0.75 - epoch / 2}]", end="")
    print()
print("Test metric   DataLoader 0\n test_acc          0.875")
END
    found "0 1" loss=0.25 test_accuracy=0.875
}

@test "HF Trainer: dicts with the epoch" {
    stand_in 'from transformers import Trainer' 'Trainer().train()' <<'END'
for epoch in 1, 2:
    print({"loss": 1 / epoch, "grad_norm": 1.5, "learning_rate": 5e-05, "epoch": epoch - 0.5})
    print({"eval_loss": 0.75 / epoch, "eval_wer": 50.5 / epoch, "epoch": float(epoch)})
print({"train_runtime": 1.5, "train_loss": 0.75, "epoch": 2.0})
END
    found "1 2" val_loss=0.375 wer=25.25
}

@test "plain: a headline Epoch 3/10" {
    stand_in pass <<'END'
for epoch in range(3):
    print(f"Epoch {epoch + 1}/3")
    print(f"train loss: {1 / (epoch + 2)} val acc: 0.5")
END
    found "1 2 3" loss=0.25 val_accuracy=0.5
    grep -q '"epoch": "' registry.json
}

@test "plain: results after each epoch" {
    stand_in pass <<'END'
for epoch in range(2):
    print(f"Epoch {epoch}, loss: {0.5 / (epoch + 1)}, mIoU: 0.75")
END
    found "0 1" loss=0.25 miou=0.75
    python3 -c 'import json; assert list(json.load(open("registry.json"))["models"]["train"]["marks"]["epoch"]) == ["end"]'
}

@test "PyTorch's ImageNet example: Epoch: [3][10/391]" {
    stand_in pass <<'END'
for epoch in range(2):
    prefix = "Epoch: [{}]".format(epoch)
    for batch in 1, 2:
        print(f"{prefix}[{batch}/2]\tTime  0.250 ( 0.300)\tLoss 1.5e+00 (1.6e+00)\tAcc@1  50.00 ( 40.00)")
    print(" *   Acc@1 76.125 Acc@5 93.125")
END
    found "0 1" accuracy=76.125 top5=93.125
}

@test "tqdm: a bar for each epoch" {
    stand_in pass <<'END'
for epoch in range(2):
    desc = f"Epoch {epoch}"
    for done in 0, 50, 100:
        print(f"\r{desc}: {done:3}%|{'#' * (done // 10):10}| {done // 50}/2 [00:00<00:00, 9.50it/s, loss={0.5 - epoch / 4}]",
              end="")
    print()
END
    found "0 1" loss=0.25
}

@test "without a known format init writes no marks" {
    stand_in pass <<'END'
print("loss: 0.25")
END
    found "" loss=0.25
    if grep -q '"marks"' registry.json; then false; fi
}

@test "a metric's goal is written, and the script's own default is the middle of a range" {
    need_python
    unset VIRTUAL_ENV
    cat >train.py <<'END'
import argparse
p = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
p.add_argument("--lr", type=float, default=0.02, help="rate")
p.add_argument("--wd", type=float, default=None, help="decay")
p.add_argument("--dropout", type=float, default=0.1, help="share")
p.add_argument("--batch-size", type=int, default=10, help="size")
p.add_argument("--epochs", type=int, default=90, help="number")
p.add_argument("--momentum", type=float, default=0.995, help="share")
p.parse_args()
END
    "$TARE" init train.py
    python3 - <<'END'
import json, math
repo = json.load(open("registry.json"))["models"]["train"]
rows, patterns = repo["supported_hyperparams"], repo["performance_metrics"]["log_patterns"]
for name, own, middle in (("lr", 0.02, "log"), ("batch_size", 10, "log"), ("dropout", 0.1, ""), ("epochs", 90, "")):
    low, high = rows[name]["range"]
    got = math.sqrt(low * high) if middle else (low + high) / 2
    assert low < own < high and math.isclose(got, own), (name, low, high)
# No default, and one beyond what people try.
assert rows["wd"]["range"] is None and rows["momentum"]["range"] is None, rows
goals = {name: row["goal"] for name, row in patterns.items()}
assert all(goals[name] == "minimize" for name in ("loss", "val_loss", "wer", "cer", "rmse", "mae", "fid", "perplexity"))
assert all(goals[name] == "maximize" for name in ("accuracy", "map", "bleu", "rouge1", "auc", "reward", "dice", "psnr"))
END
}

@test "run SCRIPT takes --set: the values of the settings that init would write" {
    need_python
    unset VIRTUAL_ENV
    printf '%s\n' 'import argparse' 'p = argparse.ArgumentParser()' 'p.add_argument("--lr", type=float)' \
        'print("given", p.parse_args().lr)' >train.py
    "$TARE" run -q --set experiments.0.hyperparameters.lr=0.25 train.py
    grep -q '^given 0.25$' "$(run_folder)"/*/training.log
}
