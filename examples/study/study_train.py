#!/usr/bin/env python3
"""Trains one model of four of the study's repositories, by the scripts that these repositories come with.

    study_train.py REPOSITORY -n MODEL --epochs N --lr RATE --seed N [more options]

It runs in the repository's folder. The options are the same for all repositories; here they become the options of the
repository's own scripts, which are started one after the other, each with this interpreter. What a script prints is
not changed. Some have no option for a seed, or lines that a current Python refuses: they are started with the generators
seeded and with the few lines changed that PATCHES names."""
import argparse
import os
import subprocess
import sys

# Lines of the repositories' scripts that a current Python or PyTorch refuses, or that a short training trips over. Each
# is replaced where it stands; a script of another age that has it no more is left as it is.
PATCHES = {
    "trainer.py": [
        ("async=True", "non_blocking=True"),
        ("loss.data[0]", "loss.item()"),
        ("prec1[0], input.size(0)", "prec1.item(), input.size(0)"),
    ],
    # Weights are kept every tenth epoch only, and the end asks for them: with fewer than ten there are none. With one epoch the learning
    # rate would fall after 0 epochs, which is a division by zero.
    "train.py": [("epoch%10 == 9", "(epoch%10 == 9 or epoch == num_epochs - 1)"),
                 ("step_size=opt.total_epoch*2//3", "step_size=max(opt.total_epoch*2//3, 1)")],
    # The configuration is written by train.py itself; newer PyYAML wants to be told that.
    "test.py": [("yaml.load(stream)", "yaml.safe_load(stream)")],
    # numpy 2 has no in1d.
    "evaluate_gpu.py": [("np.in1d(", "np.isin(")],
    # It has no weight decay of its own. The model is kept whole, which PyTorch from 2.6 on reads only when it is told to.
    "main_batch.py": [("optim.Adam(model.parameters(), lr=1.0)",
                       "optim.Adam(model.parameters(), lr=1.0, weight_decay=float(os.environ['STUDY_WEIGHT_DECAY']))"),
                      ('torch.load(args.save + "/model.pt")', 'torch.load(args.save + "/model.pt", weights_only=False)')],
}
# Written by small_data.py: the data were drawn by chance, and nothing is fetched.
SMALL_DATA = "small_data.txt"


def resnet(options):
    yield ".", "trainer.py", [
        "--arch", options.model, "--epochs", options.epochs, "--lr", options.lr, "--weight-decay", options.weight_decay,
        "--batch-size", options.batch_size or "128", "--save-dir", "save_" + options.model]


def reid(options):
    flags = {"densenet121": ["--use_dense"], "hrnet18": ["--use_hr"], "pcb": ["--PCB"]}[options.model]
    batch_size = options.batch_size or {"densenet121": "24", "hrnet18": "24", "pcb": "32"}[options.model]
    name, data = "study_" + options.model, options.data or "Market/pytorch"
    yield ".", "train.py", [
        "--name", name, "--data_dir", data, "--train_all", "--batchsize", batch_size, "--lr", options.lr,
        "--total_epoch", options.epochs, "--droprate", options.dropout, *flags]
    yield ".", "test.py", ["--name", name, "--test_dir", data, "--batchsize", batch_size, "--which_epoch", "last"]
    yield ".", "evaluate_gpu.py", []


def gpu_flag(script):
    """PyTorch's examples call it --cuda, and from 2025 on --accel."""
    with open(script, encoding="utf-8") as file:
        return "--accel" if "--accel" in file.read() else "--cuda"


def examples(options):
    size = options.batch_size or "32"
    folder, more = {
        "mnist": ("mnist", ["--batch-size", size]),
        "mnist_rnn": ("mnist_rnn", ["--batch-size", size]),
        # It takes one batch only, which is its training set.
        "mnist_ff": ("mnist_forward_forward", ["--train_size", size]),
        "siamese": ("siamese_network", ["--batch-size", size]),
    }[options.model]
    if options.model == "mnist_rnn": # the others use the GPU unless they are told not to
        more.append(gpu_flag("mnist_rnn/main.py"))
    yield folder, "main.py", ["--epochs", options.epochs, "--lr", options.lr, "--seed", options.seed] + more


def mrt_oast(options):
    data = "origindata/OJClone_"
    common = ["--cuda", "--data", data + "with_AST+OAST.csv", "--train_pair", data + "train.csv", "--valid_pair",
              data + "valid.csv", "--test_pair", data + "test.csv", "--dictionary", data + "OAST_dictionary.txt",
              "--ast_type", "OAST", "--save", "model/study", "--batch_size", options.batch_size or "64",
              "--seed", options.seed]
    os.makedirs("model", exist_ok=True)
    os.makedirs("pic", exist_ok=True) # its test draws curves there
    # A model of an earlier training must not be taken for this one's.
    if os.path.exists("model/study/model.pt"):
        os.remove("model/study/model.pt")
    # Its own validation comes every 1750 steps, which is no epoch, and more than two epochs have: 0 is once an epoch.
    training = ["--epochs", options.epochs, "--lr", options.lr, "--dropout", options.dropout, "--valid_step", "0"]
    yield ".", "main_batch.py", common + training
    yield ".", "main_batch.py", common + ["--is_test", "--quick_test"]


REPOSITORIES = {
    "pytorch_resnet_cifar10": (resnet, ["resnet20", "resnet32", "resnet44", "resnet56"]),
    "Person_reID_baseline_pytorch": (reid, ["densenet121", "hrnet18", "pcb"]),
    "examples": (examples, ["mnist", "mnist_rnn", "mnist_ff", "siamese"]),
    "MRT-OAST": (mrt_oast, ["default"]),
}


def without_downloads():
    """Networks with weights drawn by chance, and CIFAR-10 without its hashes."""
    from torchvision import datasets, models
    cifar = datasets.CIFAR10
    cifar.meta = dict(cifar.meta, md5=None)
    cifar.train_list, cifar.test_list = ([[name, None] for name, _ in part] for part in (cifar.train_list, cifar.test_list))

    def untrained(make):
        return lambda *given, pretrained=False, **more: make(*given, **more)
    for name in ("densenet121", "resnet50"):
        setattr(models, name, untrained(getattr(models, name)))
    try:
        import timm
        timm.create_model = untrained(timm.create_model)
    except ImportError:
        pass # the script will say so itself


def run_patched(script, seed):
    """In a process of its own: the script with its patches, after the generators were seeded."""
    import random
    random.seed(seed)
    try:
        import numpy
        numpy.random.seed(seed % 2**32)
        import torch
        torch.manual_seed(seed)
    except ImportError:
        pass # the script will say so itself
    if os.path.exists(SMALL_DATA):
        without_downloads()
    with open(script, encoding="utf-8") as file:
        source = file.read()
    for old, new in PATCHES[script]:
        # A value that cannot be handed over must not be lost in silence.
        if "STUDY_WEIGHT_DECAY" in new and old not in source and float(os.environ["STUDY_WEIGHT_DECAY"]):
            sys.exit("%s has no place for a weight decay: it is no longer as it was" % script)
        source = source.replace(old, new)
    main = sys.modules["__main__"]
    main.__file__ = script
    sys.path[0] = os.getcwd()
    exec(compile(source, script, "exec"), main.__dict__)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", choices=sorted(REPOSITORIES))
    parser.add_argument("-n", dest="model", required=True)
    parser.add_argument("--epochs", required=True)
    parser.add_argument("--lr", required=True)
    parser.add_argument("--seed", required=True)
    parser.add_argument("--weight-decay", default="0.0001")
    parser.add_argument("--dropout", default="0.5")
    parser.add_argument("--batch-size")
    parser.add_argument("--data", help="folder of the data, where the repository has no fixed one")
    options = parser.parse_args()
    models = REPOSITORIES[options.repository][1]
    if options.model not in models:
        parser.error("%s has no model %s (it has %s)" % (options.repository, options.model, ", ".join(models)))
    return options


def main():
    if len(sys.argv) > 3 and sys.argv[1] == "--patched":
        script, seed = sys.argv[2], int(sys.argv[3])
        sys.argv[:4] = [script]
        run_patched(script, seed)
        return 0
    options = parse()
    if os.path.exists(SMALL_DATA):
        print("%s: data drawn by chance; no result means anything" % SMALL_DATA, flush=True)
    for folder, script, arguments in REPOSITORIES[options.repository][0](options):
        start = [os.path.abspath(__file__), "--patched", script, options.seed] if script in PATCHES else [script]
        environment = dict(os.environ, STUDY_WEIGHT_DECAY=options.weight_decay)
        code = subprocess.call([sys.executable, "-u"] + start + arguments, cwd=folder, env=environment)
        if code:
            return code if code > 0 else 128 - code
    return 0


if __name__ == "__main__":
    sys.exit(main())
