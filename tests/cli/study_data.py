"""Whether small_data.py's files are what the repositories' readers take: study_data.py REPOS. Written from these readers:
MRT-OAST's preprocess_data.py, util.py of bug-localization-by-dnn-and-rvsm, CIFAR10 and MNIST of torchvision."""
import csv
import os
import pickle
import struct
import sys
from datetime import datetime


def table(path, delimiter=","):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter=delimiter))[1:]


def mrt_oast(data):
    """Every pair's programs are there, every tree is one node with children in brackets, of words in the dictionary."""
    with open(data + "/OJClone_OAST_dictionary.txt", encoding="utf-8") as file:
        words = {line.strip() for line in file}
    programs = set()
    for problem, name, code, _, tree in table(data + "/OJClone_with_AST+OAST.csv"):
        programs.add((problem, name))
        depth = 0
        tokens = tree.split()
        for n, token in enumerate(tokens):
            if token == "[":
                assert n and tokens[n - 1] in words and tokens[n + 1] in words
            depth += {"[": 1, "]": -1}.get(token, 0)
            assert depth > 0 or n in (0, len(tokens) - 1), tree
            assert token in words or token in "[]", token
        assert depth == 0 and code
        assert sum(token in words for token in tokens) <= 256 # its longest sentence
    for part in ("train", "valid", "test"):
        rows = table(data + "/OJClone_%s.csv" % part)
        assert all((row[0], row[1]) in programs and (row[2], row[3]) in programs for row in rows)
        assert len(rows) >= 64 # a batch
        # Both labels, mostly right.
        right = sum((row[0] == row[2]) == (row[4] == "1") for row in rows)
        assert {row[4] for row in rows} == {"1", "-1"} and 0.9 * len(rows) < right < len(rows)


def bug_reports(data):
    """51 rows for each report, of which the first is at fault (oversample() counts on it); its name is the report's file."""
    rows = table(data + "/features.csv")
    files = {}
    for row in table(data + "/Eclipse_Platform_UI.txt", "\t"):
        datetime.strptime(row[4], "%Y-%m-%d %H:%M:%S")
        files[row[0]] = [os.path.normpath(name[8:]) for name in row[9].split()
                         if name.startswith("bundles/") and name.endswith(".java")]
    for n, row in enumerate(rows):
        assert row[7] == ("1" if n % 51 == 0 else "0")
        assert row[0] == rows[n - n % 51][0]
        assert (row[1] in files[row[0]]) == (n % 51 == 0)
        assert all(0 <= float(value) <= 1 for value in row[2:7])
    assert len(rows) == 51 * len(files)


def cifar(data):
    counts = []
    for name in ["data_batch_%d" % n for n in range(1, 6)] + ["test_batch"]:
        with open(os.path.join(data, name), "rb") as file:
            entry = pickle.load(file, encoding="latin1")
        assert entry["data"].dtype == "uint8" and entry["data"].shape == (len(entry["labels"]), 3 * 32 * 32)
        assert set(entry["labels"]) == set(range(10))
        counts.append(len(entry["labels"]))
    with open(os.path.join(data, "batches.meta"), "rb") as file:
        assert len(pickle.load(file)["label_names"]) == 10
    assert min(counts) >= 128


def mnist(raw):
    for part in ("train", "t10k"):
        with open(os.path.join(raw, part + "-images-idx3-ubyte"), "rb") as file:
            magic, count, height, width = struct.unpack(">IIII", file.read(16))
            assert (magic, height, width) == (2051, 28, 28) and len(file.read()) == count * 28 * 28
        with open(os.path.join(raw, part + "-labels-idx1-ubyte"), "rb") as file:
            assert struct.unpack(">II", file.read(8)) == (2049, count)
            assert set(file.read()) == set(range(10))


def main():
    repos = sys.argv[1]
    mrt_oast(repos + "/MRT-OAST/origindata")
    bug_reports(repos + "/bug-localization-by-dnn-and-rvsm/data")
    cifar(repos + "/pytorch_resnet_cifar10/data/cifar-10-batches-py")
    mnist(repos + "/examples/mnist_forward_forward/data/MNIST/raw")


if __name__ == "__main__":
    main()
