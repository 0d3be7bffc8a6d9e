"""Lines as the study's trainings print them, and what its registry must take from them.

    study_lines.py prepare REGISTRY   the folder cases/ with a training for each case, registry.json and settings.json
    study_lines.py check REGISTRY RUN compares the results of that run, and Python's own regular expressions, with CASES
    study_lines.py legacy REGISTRY DATA  the study's recorded metrics, printed in the scripts' own formats, are taken unchanged

The lines were written down from the scripts that examples/study/README.md names (their format strings, with values of
real runs put in), the values beside them by hand."""
import json
import os
import re
import sys

RESNET = """current lr 1.00000e-01
Epoch: [0][0/391]\tTime 2.345 (2.345)\tData 0.101 (0.101)\tLoss 2.9871 (2.9871)\tPrec@1 10.156 (10.156)
Epoch: [0][350/391]\tTime 0.013 (0.021)\tData 0.001 (0.004)\tLoss 1.4011 (1.7250)\tPrec@1 50.781 (36.120)
Test: [0/79]\tTime 0.094 (0.094)\tLoss 1.3002 (1.3002)\tPrec@1 53.125 (53.125)
 * Prec@1 50.990
current lr 1.00000e-01
Epoch: [1][0/391]\tTime 0.201 (0.201)\tData 0.101 (0.101)\tLoss 1.2871 (1.2871)\tPrec@1 54.688 (54.688)
Test: [0/79]\tTime 0.094 (0.094)\tLoss 1.1002 (1.1002)\tPrec@1 60.938 (60.938)
 * Prec@1 60.120
"""
REID = """['train.py']
Epoch 0/1
100%|##########| 12936/12936 [00:36<00:00, 353.21it/s, ordered_dict=OrderedDict([('phase', 'train'), ('Loss', '4.3521')])]
Training complete in 0m 41s

Epoch 1/1
100%|##########| 12936/12936 [00:36<00:00, 353.21it/s, ordered_dict=OrderedDict([('phase', 'train'), ('Loss', '2.3521')])]
Training complete in 1m 22s

Training complete in 1m 22s
-------test-----------
torch.Size([3368, 512])
Rank@1:0.663005 Rank@5:0.822150 Rank@10:0.874406 mAP:0.419902
"""
RANKS = {"rank1": 0.663005, "rank5": 0.82215, "rank10": 0.874406, "map": 0.419902}
MNIST = """Train Epoch: 1 [0/60000 (0%)]\tLoss: 2.299823
Train Epoch: 1 [320/60000 (1%)]\tLoss: 2.280004

Test set: Average loss: 0.5012, Accuracy: 8611/10000 (86%)

Train Epoch: 2 [0/60000 (0%)]\tLoss: 0.612000
Train Epoch: 2 [320/60000 (1%)]\tLoss: 0.580004

Test set: Average loss: 0.2335, Accuracy: 9300/10000 (93%)

"""
# Repository, model, lines, metrics, labels of the epochs.
CASES = [
    ("pytorch_resnet_cifar10", "resnet20", RESNET,
     {"test_accuracy": 60.12, "train_loss": 1.2871, "train_accuracy": 54.688}, 2),
    ("Person_reID_baseline_pytorch", "densenet121", REID, RANKS, ["0", "1"]),
    ("Person_reID_baseline_pytorch", "hrnet18", REID, RANKS, ["0", "1"]),
    # Behind the scripts' own lines the study's train.sh wrote them again, in this form.
    ("Person_reID_baseline_pytorch", "pcb",
     REID + "Model Performance:\n  Rank@1:  0.751485%\n  Rank@5:  0.881235%\n  Rank@10: 0.92%\n  mAP:     0.501379%\n",
     {"rank1": 0.751485, "rank5": 0.881235, "rank10": 0.92, "map": 0.501379}, ["0", "1"]),
    ("examples", "mnist", MNIST,
     {"test_accuracy": 93, "test_correct": 9300, "test_loss": 0.2335, "test_error": None}, ["1", "2"]),
    ("examples", "mnist_rnn", MNIST.replace("(93%)", "(39%)").replace("9300/", "3888/").replace("0.2335", "1.8724"),
     {"test_accuracy": 39, "test_correct": 3888, "test_loss": 1.8724}, ["1", "2"]),
    ("examples", "siamese", MNIST.replace("(93%)", "(91%)").replace("9300/", "9069/").replace("0.2335", "0.0002"),
     {"test_accuracy": 91, "test_correct": 9069, "test_loss": 0.0002}, ["1", "2"]),
    ("examples", "mnist_ff", """training layer:  0
Loss:  1.1334459781646729
Loss:  0.7334459781646729
training layer:  1
Loss:  0.6931471824645996
train error: 0.8571428507566452
test error: 0.9044000059366226
""", {"train_error": 0.857143, "test_error": 0.9044, "test_accuracy": None}, ["0", "1"]),
    ("MRT-OAST", "default", """  0%|          | 0/1250 [00:00<?, ?it/s]\r 50%|#####     | 625/1250 [00:12<00:12, loss=0.4, lr=0.000080]One batch using 12.34567 seconds
Begin to generate code features
Prediction:[2650, 2350] | Right:[2500, 2200] | Gold:[2500, 2500]
Accuracy: 4500/5000 = 0.9000 | Precision:0.9700 | Recall:0.8300 | F1 score:0.8946
  ----avg loss is 0.412345
  ----Old best acc score on [validation] is -inf
One batch using 12.00001 seconds
  ----avg loss is 0.312345
---------> Defined Threshold:  0.9
    Accuracy on test is 4309/4992 = 0.863181
    Precision: 0.979006
    Recall   : 0.733140
    F1 score : 0.838414
 
Begin to test
Accuracy: 4580/5000 = 0.9160 | Precision:0.9762 | Recall:0.8471 | F1 score:0.9071
Quick Test using 3.123456 seconds
""", {"accuracy": 0.916, "precision": 0.9762, "recall": 0.8471, "f1": 0.9071, "train_loss": 0.312345}, 2),
    ("VulBERTa", "mlp", """{'loss': 0.6931, 'learning_rate': 1.5e-05, 'epoch': 0.5}
{'eval_loss': 0.7012244701385498, 'eval_runtime': 10.9278, 'eval_samples_per_second': 54.54, 'epoch': 1.0}
{'eval_loss': 5.012244701385498, 'eval_runtime': 10.9278, 'eval_samples_per_second': 54.54, 'epoch': 2.0}
Final training loss: 0.4189
validation accuracy: 0.6123
""", {"eval_loss": 5.01224, "final_training_loss": 0.4189, "accuracy": 0.6123}, ["1", "2"]),
    ("VulBERTa", "cnn", """Epoch 1 - Training acc: 0.5312 -Training loss: 0.6902 - Val acc: 0.5402 - Val loss: 0.6871 - Time: 3.1415s
Epoch 2 - Training acc: 0.5512 -Training loss: 0.6802 - Val acc: 0.5602 - Val loss: 0.6771 - Time: 3.1415s
Final training loss: 0.6802
validation accuracy: 0.5602
""", {"eval_loss": 0.6771, "final_training_loss": 0.6802, "accuracy": 0.5602}, ["1", "2"]),
    ("bug-localization-by-dnn-and-rvsm", "default", """MODEL PERFORMANCE (Top-k Accuracy):
  Top- 1 Accuracy: 0.381 (38.1%)
  Top- 2 Accuracy: 0.482 (48.2%)
  Top- 5 Accuracy: 0.629 (62.9%)
  Top-10 Accuracy: 0.739 (73.9%)
  Top-20 Accuracy: 0.829 (82.9%)
""", {"top1_accuracy": 0.381, "top5_accuracy": 0.629, "top10_accuracy": 0.739, "top20_accuracy": 0.829}, None),
]
# What ended well and trained nothing, or did not get to its end: no success, whatever its exit code.
FAILURES = [
    ("VulBERTa", "cnn", "Training VulBERTa-CNN Model\nCNN training not yet implemented in this script\n"
                        "TRAINING COMPLETED SUCCESSFULLY\n"),
    ("Person_reID_baseline_pytorch", "hrnet18", "Epoch 0/0\nTraining complete in 0m 41s\nTraining Completed!\n"),
    ("examples", "mnist", "Train Epoch: 1 [0/60000 (0%)]\tLoss: 2.299823\n"),
    ("MRT-OAST", "default", "Accuracy: 4500/5000 = 0.9000 | Precision:0.9700 | Recall:0.8300 | F1 score:0.8946\n"),
    ("pytorch_resnet_cifar10", "resnet20", "current lr 1.00000e-01\n"),
    ("bug-localization-by-dnn-and-rvsm", "default", "Training completed successfully!\n"),
]


def load(registry):
    with open(registry, encoding="utf-8") as file:
        return json.load(file)["models"]


def listed(value):
    return [] if value is None else [value] if isinstance(value, str) else value


def prepare(registry):
    models, made, experiments = load(registry), {}, []
    for place, case in enumerate(CASES + FAILURES):
        name, folder = "case%02d" % place, os.path.join("cases", "case%02d" % place)
        os.makedirs(folder)
        with open(os.path.join(folder, "lines"), "w", encoding="utf-8", newline="") as file:
            file.write(case[2])
        with open(os.path.join(folder, "print.sh"), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\ncat lines\n")
        os.chmod(os.path.join(folder, "print.sh"), 0o755)
        made[name] = {"path": folder, "train_script": "./print.sh", "models": [case[1]]}
        for key in ("performance_metrics", "marks", "success", "errors"):
            if key in models[case[0]]:
                made[name][key] = models[case[0]][key]
        experiments.append({"repo": name, "model": case[1], "mode": "default"})
    with open("registry.json", "w", encoding="utf-8") as file:
        json.dump({"models": made}, file)
    timing = {"between_runs": 0, "between_configurations": 0, "before_retry": 0, "stop_grace": 1}
    with open("settings.json", "w", encoding="utf-8") as file:
        json.dump({"max_retries": 0, "experiments": experiments, "tare": {"timing": timing}}, file)


def close(one, other):
    return one == other or None not in (one, other) and abs(one - other) <= 1e-5 * abs(other)


def last_match(pattern, lines):
    found = [match for match in (re.search(pattern, line) for line in re.split("[\r\n]", lines)) if match]
    return float(found[-1].group(1)) if found else None


def check_case(place, case, patterns, experiment):
    _, model, lines, metrics, epochs = case
    assert experiment["training_success"] is True, (place, case[0], model)
    for name, value in metrics.items():
        again = last_match(patterns["performance_metrics"]["log_patterns"][name], lines)
        assert close(again, value), (case[0], model, name, again, value)
        got = experiment["performance_metrics"].get(name)
        assert close(got, value), (case[0], model, name, got, value)
    for pattern in listed(patterns.get("success")):
        assert any(re.search(pattern, line) for line in lines.split("\n")), (case[0], pattern)
    marked = [row for row in experiment["tare"]["epochs"] or [] if row["part"] == "epoch"]
    labels = [row["label"] for row in marked]
    wanted = [] if epochs is None else epochs
    assert (len(labels) if isinstance(wanted, int) else labels) == wanted, (case[0], model, labels, wanted)


def check(registry, run):
    models = load(registry)
    for place, case in enumerate(CASES + FAILURES):
        name = "case%02d_%s_%03d" % (place, case[1], place + 1)
        with open(os.path.join(run, name, "experiment.json"), encoding="utf-8") as file:
            experiment = json.load(file)
        if place < len(CASES):
            check_case(place, case, models[case[0]], experiment)
        else:
            assert experiment["training_success"] is False, case
    seen = {(case[0], case[1]) for case in CASES}
    assert seen == {(name, model) for name, row in models.items() for model in row["models"]}, seen


# The scripts' own format strings, for what the study recorded.
FORMATS = {
    "Person_reID_baseline_pytorch": lambda m: "Rank@1:%f Rank@5:%f Rank@10:%f mAP:%f" % (m["rank1"], m["rank5"], 0, m["map"]),
    "examples": lambda m: "Test set: Average loss: %.4f, Accuracy: %d/10000 (%.0f%%)" % (
        m["test_loss"], m["test_accuracy"] * 100, m["test_accuracy"]),
    "pytorch_resnet_cifar10": lambda m: " * Prec@1 %.3f" % m["test_accuracy"],
    "MRT-OAST": lambda m: "    Precision: %.6f\n    Recall   : %.6f" % (m["precision"], m["recall"]),
}


def legacy(registry, data):
    models, compared = load(registry), 0
    for folder, _, files in sorted(os.walk(data)):
        if "experiment.json" not in files:
            continue
        with open(os.path.join(folder, "experiment.json"), encoding="utf-8") as file:
            experiment = json.load(file)
        experiment = experiment.get("foreground", experiment)
        row = models[experiment["repository"]]
        assert experiment["model"] in row["models"], experiment["model"]
        missing = set(experiment["hyperparameters"]) - set(row["supported_hyperparams"])
        assert not missing, (folder, missing)
        metrics = experiment.get("performance_metrics") or {}
        if not metrics:
            continue
        printed = FORMATS[experiment["repository"]](metrics)
        for name, value in metrics.items():
            # The study's best one is the last one again: see the registry.
            if name != "best_val_accuracy":
                got = last_match(row["performance_metrics"]["log_patterns"][name], printed)
                assert close(got, value), (folder, name, got, value)
                compared += 1
    print(compared)


if __name__ == "__main__":
    {"prepare": prepare, "check": check, "legacy": legacy}[sys.argv[1]](*sys.argv[2:])
