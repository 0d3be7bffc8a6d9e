#!/usr/bin/env python3
"""Stand-ins for the study's six repositories: the same scripts, options and lines, and no training.

    stand_in.py FOLDER

makes FOLDER/repos with what share/registry/study.json looks for: scripts that take the options of the real ones and print
lines of the same form within a second, an interpreter in .venv that can "import torch", and data of one line each. So
the settings beside this file run from end to end on any machine, and nobody has to believe a number that comes out."""
import argparse
import json
import os
import re
import shutil
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
REGISTRIES = [os.path.join(HERE, *steps) for steps in (
    ("..", "..", "share", "registry", "study.json"), ("..", "..", "registry", "study.json"))]

# Repository, script, and who plays it.
SCRIPTS = [
    ("pytorch_resnet_cifar10", "trainer.py", "resnet"),
    ("Person_reID_baseline_pytorch", "train.py", "reid_train"),
    ("Person_reID_baseline_pytorch", "test.py", "reid_test"),
    ("Person_reID_baseline_pytorch", "evaluate_gpu.py", "reid_evaluate"),
    ("examples", "mnist/main.py", "mnist"),
    ("examples", "mnist_rnn/main.py", "mnist_rnn"),
    ("examples", "mnist_forward_forward/main.py", "mnist_ff"),
    ("examples", "siamese_network/main.py", "mnist"),
    ("MRT-OAST", "main_batch.py", "mrt_oast"),
    # These need modules that compute: the repository's own file of that name comes before the one of this folder.
    ("VulBERTa", "vulberta.py", "vulberta"),
    ("bug-localization-by-dnn-and-rvsm", "bug_localization.py", "bug_localization"),
]


def epoch_passes():
    time.sleep(float(os.environ.get("STAND_IN_EPOCH_S", "0.02")))


def options(*names, flags=()):
    """Only these are taken, as by the real script."""
    parser = argparse.ArgumentParser()
    for name in names:
        parser.add_argument(*name.split("/"), required=True)
    for flag in flags:
        parser.add_argument(flag, action="store_true")
    return parser.parse_args()


def resnet():
    given = options("--arch", "--epochs", "--lr", "--weight-decay", "--batch-size", "--save-dir")
    for epoch in range(int(given.epochs)):
        print("current lr %.5e" % float(given.lr))
        for batch in (0, 50, 100):
            print("Epoch: [%d][%d/391]\tTime 0.013 (0.021)\tData 0.001 (0.004)\tLoss %.4f (%.4f)\tPrec@1 %.3f (%.3f)" %
                  (epoch, batch, 2 / (epoch + 1), 2.1 / (epoch + 1), 50 + epoch % 40, 49 + epoch % 40))
        epoch_passes()
        print("Test: [0/79]\tTime 0.094 (0.094)\tLoss 1.0431 (1.0431)\tPrec@1 %.3f (%.3f)" % (51, 51))
        print(" * Prec@1 %.3f" % (50.98 + epoch % 40))


def reid_train():
    given = options("--name", "--data_dir", "--batchsize", "--lr", "--total_epoch", "--droprate",
                    flags=("--train_all", "--use_dense", "--use_hr", "--PCB"))
    epochs = int(given.total_epoch)
    for epoch in range(epochs):
        print("Epoch %d/%d" % (epoch, epochs - 1))
        for phase in ("train", "val"):
            sys.stderr.write("100%%|##########| 12936/12936 [00:36<00:00, ordered_dict=OrderedDict([('phase', '%s'), "
                             "('Loss', '3.2101'), ('Acc', '0.4012')])]\n" % phase)
        epoch_passes()
        print("Training complete in %dm %ds\n" % (epoch // 2, epoch * 31 % 60))
    print("Training complete in %dm %ds" % (epochs // 2, epochs * 31 % 60))


def reid_test():
    options("--name", "--test_dir", "--batchsize", "--which_epoch")
    print("-------test-----------\n256\n512")


def reid_evaluate():
    options()
    print("torch.Size([3368, 512])")
    print("Rank@1:%f Rank@5:%f Rank@10:%f mAP:%f" % (0.663005, 0.82215, 0.874406, 0.419902))


def mnist(*flags):
    given = options("--batch-size", "--epochs", "--lr", "--seed", flags=flags)
    for epoch in range(1, int(given.epochs) + 1):
        for batch in (0, 10, 20):
            print("Train Epoch: %d [%d/60000 (%.0f%%)]\tLoss: %.6f" %
                  (epoch, batch * int(given.batch_size), batch / 18.75, 2.3 / (epoch + batch)))
        epoch_passes()
        right = 9300 + epoch
        print("\nTest set: Average loss: %.4f, Accuracy: %d/10000 (%.0f%%)\n" % (0.2335 / epoch, right, right / 100))


def mnist_rnn():
    mnist("--cuda")


def mnist_ff():
    given = options("--epochs", "--lr", "--seed", "--train_size")
    for layer in range(2):
        print("training layer: ", layer)
        for step in range(0, int(given.epochs), 10):
            print("Loss: ", 0.6931471824645996 / (step + 1))
        epoch_passes()
    print("train error:", 0.8571428507566452)
    print("test error:", 0.9044000059366226)


def mrt_oast():
    given = options("--data", "--train_pair", "--valid_pair", "--test_pair", "--dictionary", "--ast_type", "--save",
                    "--batch_size", "--seed", flags=("--cuda", "--is_test", "--quick_test")
                    ) if "--is_test" in sys.argv else options(
                        "--data", "--train_pair", "--valid_pair", "--test_pair", "--dictionary", "--ast_type", "--save",
                        "--batch_size", "--seed", "--epochs", "--lr", "--dropout", "--valid_step", flags=("--cuda",))
    if "--is_test" in sys.argv:
        print("Begin to preprocess only Test Pairs\nBegin to test")
        print("Accuracy: 4580/5000 = 0.9160 | Precision:0.9762 | Recall:0.8471 | F1 score:0.9071")
        print("Quick Test using 1.234567 seconds")
        return
    for epoch in range(int(given.epochs)):
        epoch_passes()
        # As the progress bar leaves it: no line end before the line.
        sys.stderr.write("\r 10%%|#         | 62/625 [00:02<00:25, loss=0.%d, lr=0.000010]" % (693147 - epoch))
        sys.stderr.flush()
        print("One batch using %.5f seconds" % 12.3)
        print("Accuracy: 4500/5000 = 0.9000 | Precision:0.9700 | Recall:0.8300 | F1 score:0.8946")
        print("  ----avg loss is %f" % (0.5 / (epoch + 1)))
        print("  ----Old best acc score on [validation] is %f" % 0.88)
    print("---------> Defined Threshold:  0.9")
    print("    Accuracy on test is 4309/4992 = 0.863181")
    print("    Precision: 0.979006\n    Recall   : 0.733140\n    F1 score : 0.838414\n ")


def vulberta():
    given = options("-n", "--epochs", "--lr", "--seed", "--weight-decay")
    for epoch in range(1, int(given.epochs) + 1):
        epoch_passes()
        if given.n == "mlp":
            print({"loss": 0.6998, "learning_rate": 1.5e-05, "epoch": epoch - 0.5})
            print({"eval_loss": 5.012244701385498 / epoch, "eval_runtime": 10.9278, "epoch": float(epoch)})
        else:
            print("Epoch %d - Training acc: 0.5312 -Training loss: 0.6902 - Val acc: 0.5402 - Val loss: %.4f - "
                  "Time: 3.1415s" % (epoch, 0.69 / epoch))
    print("Final training loss: 0.4189")
    print("validation accuracy: 0.6123")


def bug_localization():
    options("-n", "--max-iter", "--kfold", "--alpha", "--seed")
    epoch_passes()
    for k, accuracy in ((1, 0.381), (2, 0.482), (5, 0.629), (10, 0.739), (20, 0.829)):
        print("  Top-%2d Accuracy: %.3f (%.1f%%)" % (k, accuracy, 100 * accuracy))


def play(name):
    globals()[name]()


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def make_interpreter(folder, modules):
    """It finds modules of the names that the registry asks for, new enough for it; two are called by study_train.py."""
    called = {"torch": "def manual_seed(seed):\n    pass\n",
              "numpy": "class random:\n    seed = staticmethod(lambda seed: None)\n"}
    for module in modules:
        name = re.split("[ <>=!~]", module)[0]
        write(os.path.join(folder, ".venv", "modules", name + ".py"), '__version__ = "99"\n' + called.get(name, ""))
    python = shutil.which("python3") or sys.executable
    write(os.path.join(folder, ".venv", "bin", "python"),
          '#!/bin/sh\nPYTHONPATH="${0%%/bin/python}/modules" exec %s "$@"\n' % python, 0o755)


def make_data(folder, path):
    path = os.path.join(folder, path)
    if os.path.splitext(path)[1]:
        write(path, "a stand-in\n")
    else:
        write(os.path.join(path, "stand-in.txt"), "a stand-in\n")


def make(where):
    registry = next(path for path in REGISTRIES if os.path.exists(path))
    with open(registry, encoding="utf-8") as file:
        repositories = json.load(file)["models"]
    for name, repository in repositories.items():
        folder = os.path.join(where, "repos", name)
        if os.path.exists(folder):
            sys.exit("%s is there already: it is left as it is" % folder)
        make_interpreter(folder, [module for row in repository.get("requires", []) for module in row.get("modules", [])])
        for row in repository.get("data", []):
            make_data(folder, row["path"])
    for name, script, player in SCRIPTS:
        write(os.path.join(where, "repos", name, script),
              "import sys\nsys.dont_write_bytecode = True\nsys.path.insert(0, %r)\nimport stand_in\nstand_in.play(%r)\n" % (HERE, player))
    print("six stand-ins in %s" % os.path.join(where, "repos"))


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    make(sys.argv[1])
