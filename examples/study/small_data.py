#!/usr/bin/env python3
"""Makes small data for the study's six repositories: of the right shapes, drawn by chance, with something to be learnt.

    small_data.py FOLDER [REPOSITORY...]

FOLDER/repos has the clones (tare list --check says how to get them); those that are there, or those named, get data. So
the real programs can be run without the real data: to see whether all of it starts, ends and tells its numbers, and
what a run costs. What they achieve on it means nothing. Data that are there already are left alone.

numpy is needed; Pillow for Person_reID_baseline_pytorch, torch and transformers for the weights of VulBERTa. A file
small_data.txt in a clone says that its data are of here: study_train.py then takes networks with weights drawn by
chance, and leaves out the check of CIFAR-10's hashes."""
import argparse
import csv
import os
import pickle
import random
import struct
import sys

import numpy

MARK = "small_data.txt"
made = [] # folders of this call


def pictures(draw, count, height, width, channels=1, classes=10):
    """uint8 (count, height, width, channels) and their classes: each class a pattern of its own, under noise."""
    patterns = draw.integers(40, 216, (classes, (height + 3) // 4, (width + 3) // 4, channels))
    patterns = patterns.repeat(4, axis=1).repeat(4, axis=2)[:, :height, :width]
    labels = draw.integers(0, classes, count)
    noise = draw.normal(0, 48, (count, height, width, channels))
    return numpy.clip(patterns[labels] + noise, 0, 255).astype(numpy.uint8), labels


def write_idx(path, values):
    """As MNIST's files are: http://yann.lecun.com/exdb/mnist, section 'the IDX file format'."""
    with open(path, "wb") as file:
        file.write(struct.pack(">HBB", 0, 8, values.ndim) + struct.pack(">%dI" % values.ndim, *values.shape))
        file.write(values.astype(numpy.uint8).tobytes())


def mnist(repository, draw):
    images, labels = pictures(draw, 12000, 28, 28)
    for folder in ("data", "mnist_forward_forward/data"):
        raw = new_folder(repository, folder, "MNIST", "raw")
        if raw:
            for name, part in (("train", slice(0, 10000)), ("t10k", slice(10000, None))):
                write_idx(os.path.join(raw, name + "-images-idx3-ubyte"), images[part, :, :, 0])
                write_idx(os.path.join(raw, name + "-labels-idx1-ubyte"), labels[part])


def cifar(repository, draw):
    folder = new_folder(repository, "data", "cifar-10-batches-py")
    if not folder:
        return
    images, labels = pictures(draw, 12000, 32, 32, channels=3)
    flat = images.transpose(0, 3, 1, 2).reshape(len(images), -1)
    names = ["data_batch_%d" % n for n in range(1, 6)] + ["test_batch"]
    for name, rows in zip(names, numpy.array_split(numpy.arange(len(flat)), len(names))):
        with open(os.path.join(folder, name), "wb") as file:
            pickle.dump({"data": flat[rows], "labels": labels[rows].tolist()}, file)
    with open(os.path.join(folder, "batches.meta"), "wb") as file:
        pickle.dump({"label_names": ["class %d" % n for n in range(10)]}, file)


def market(repository, draw):
    """Persons in folders by number, as prepare.py makes them; a picture's name says person and camera."""
    from PIL import Image
    folder = new_folder(repository, "Market", "pytorch")
    if not folder:
        return
    persons, each = 12, 12
    images, who = pictures(draw, persons * each * 4, 128, 64, channels=3, classes=persons)
    shot = dict.fromkeys(range(persons), 0)
    # Of a person the first are for training, the next for validation, then queries of camera 1 and the gallery of others.
    for image, person in zip(images, who.tolist()):
        n = shot[person]
        shot[person] += 1
        parts, camera = (("train", "train_all"), 1 + n % 6) if n < 3 * each else (("val", "train_all"), 1 + n % 6)
        if n % 4 == 3:
            parts, camera = (("query",), 1) if n % 16 == 3 else (("gallery",), 2 + n % 5)
        for part in parts:
            os.makedirs(os.path.join(folder, part, "%04d" % person), exist_ok=True)
            Image.fromarray(image).save(os.path.join(
                folder, part, "%04d" % person, "%04d_c%ds1_%06d_00.jpg" % (person, camera, n)))


def oj_clone(repository, _):
    """Programs as trees, 'A [ B C ]': each problem has its own way to be solved, each program deviates a little."""
    folder = new_folder(repository, "origindata")
    if not folder:
        return
    chance = random.Random(7)
    words = ["node%d" % n for n in range(120)]

    def tree(budget, depth=0):
        children = []
        while budget > 1 and depth < 6 and len(children) < 4:
            share = chance.randint(1, budget - 1)
            children.append(tree(share, depth + 1))
            budget -= share
        return [chance.choice(words), children]

    def varied(node):
        word = chance.choice(words) if chance.random() < 0.06 else node[0]
        return [word, [varied(child) for child in node[1] if chance.random() > 0.04]]

    def text(node):
        return node[0] + (" [ " + " ".join(text(child) for child in node[1]) + " ]" if node[1] else "")

    programs = [(str(problem), "%d.c" % n, varied(solution))
                for problem, solution in enumerate(tree(60) for _ in range(12)) for n in range(40)]
    with open(os.path.join(folder, "OJClone_with_AST+OAST.csv"), "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["index", "file", "code", "ast", "oast"])
        rows.writerows([problem, name, "int main() { return %s; }" % name[:-2], text(root), text(root)]
                       for problem, name, root in programs)
    with open(os.path.join(folder, "OJClone_OAST_dictionary.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(words) + "\n")
    for part, count in (("train", 6400), ("valid", 640), ("test", 640)):
        with open(os.path.join(folder, "OJClone_%s.csv" % part), "w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(["index1", "file1", "index2", "file2", "label"])
            for n in range(count):
                one = chance.choice(programs)
                other = chance.choice([p for p in chance.sample(programs, 60) if (p[0] == one[0]) == (n % 2 == 0)] or programs)
                same = one[0] == other[0]
                # Some labels are wrong, as people's are: quick_test.py expects mistakes.
                rows.writerow([*one[:2], *other[:2], 1 if same != (chance.random() < 0.03) else -1])


def bug_reports(repository, draw):
    """For each report the file that was at fault and fifty others; at fault is what resembles the report."""
    folder = new_folder(repository, "data")
    if not folder:
        return
    with open(os.path.join(folder, "features.csv"), "w", newline="", encoding="utf-8") as features, \
            open(os.path.join(folder, "Eclipse_Platform_UI.txt"), "w", newline="", encoding="utf-8") as reports:
        rows = csv.writer(features)
        rows.writerow(["report_id", "file", "rVSM_similarity", "collab_filter", "classname_similarity", "bug_recency",
                       "bug_frequency", "match"])
        told = csv.writer(reports, delimiter="\t")
        told.writerow(["id", "bug_id", "summary", "description", "report_time", "report_timestamp", "status", "commit",
                       "commit_timestamp", "files"])
        for report in range(200):
            told.writerow([report, 1000 + report, "Bug %d" % report, "It fails.", "2012-01-%02d 10:00:00" % (1 + report % 28),
                           0, "resolved fixed", "0" * 7, 0, "bundles/org/ui/At%d.java" % report])
            for n in range(51):
                at_fault = n == 0
                near = draw.beta(5, 2 if at_fault else 5, 5)
                name = "org/ui/At%d.java" % report if at_fault else "org/ui/Other%d.java" % draw.integers(0, 500)
                rows.writerow([report, name, *("%.6f" % value for value in near), int(at_fault)])


def vulberta(repository, draw):
    folder = new_folder(repository, "data", "finetune", "d2a", "function")
    if folder:
        for part, count in (("train", 400), ("dev", 80)):
            with open(os.path.join(folder, "d2a_lbv1_function_%s.csv" % part), "w", newline="", encoding="utf-8") as file:
                rows = csv.writer(file)
                rows.writerow(["id", "label", "code"])
                for n in range(count):
                    bad = int(draw.integers(0, 2))
                    body = "  strcpy(to, from);\n" if bad else "  if (n < size) to[n] = from[n];\n"
                    body += "".join("  n += %d * size; /* step */\n" % draw.integers(1, 99) for _ in range(draw.integers(2, 60)))
                    rows.writerow([n, bad, "int f%d(char *to, const char *from, int n, int size)\n{\n%s  return n;\n}\n" % (n, body)])
    weights = new_folder(repository, "models", "VulBERTa")
    if weights:
        from transformers import RobertaConfig, RobertaForSequenceClassification
        # The sizes of Pretraining_VulBERTa.ipynb.
        RobertaForSequenceClassification(RobertaConfig(
            vocab_size=50000, max_position_embeddings=1026, num_attention_heads=12, num_hidden_layers=12,
            type_vocab_size=1, pad_token_id=1, num_labels=2)).save_pretrained(weights)


REPOSITORIES = {
    "MRT-OAST": oj_clone,
    "bug-localization-by-dnn-and-rvsm": bug_reports,
    "pytorch_resnet_cifar10": cifar,
    "VulBERTa": vulberta,
    "Person_reID_baseline_pytorch": market,
    "examples": mnist,
}


def new_folder(*parts):
    """Made, and its path; None where it is there and has something in it that is not of an earlier call."""
    path = os.path.join(*parts)
    if os.path.isdir(path) and [name for name in os.listdir(path) if not name.startswith((".", "README"))]:
        print("%s has data already: left alone" % path)
        return None
    os.makedirs(path, exist_ok=True)
    print(path)
    made.append(path)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("repositories", nargs="*", metavar="REPOSITORY")
    options = parser.parse_args()
    for name in options.repositories:
        if name not in REPOSITORIES:
            parser.error("no repository %s (there are %s)" % (name, ", ".join(sorted(REPOSITORIES))))
    repos, missing = os.path.join(options.folder, "repos"), []
    for name in options.repositories or REPOSITORIES:
        repository = os.path.join(repos, name)
        if not os.path.isdir(repository):
            missing.append(name)
            continue
        made.clear()
        REPOSITORIES[name](repository, numpy.random.default_rng(1))
        if made:
            with open(os.path.join(repository, MARK), "w", encoding="utf-8") as file:
                file.write("Drawn by chance by small_data.py, so that no result means anything:\n" + "\n".join(made) + "\n")
    if missing:
        print("no clone in %s: %s" % (repos, ", ".join(missing)), file=sys.stderr)
    return 1 if missing and (options.repositories or len(missing) == len(REPOSITORIES)) else 0


if __name__ == "__main__":
    sys.exit(main())
