"""Prediction against outcome on a real GPU: feasibility.py TARE FOLDER [--stage alone|pairs|all] [--limit GIB]...
Six models run alone once; then all 15 pairs are tried on a GPU that has so many GiB left, for each limit. All
stands in FOLDER: what is there is not done again, and a study that was broken off (Ctrl-C, --seconds) is gone on
with. Prints Markdown tables. Ends with 1 when a pair that was predicted to fit did not, or more than one did fit
that was predicted not to, with 3 when something is left to do. FEASIBILITY_TRAIN: another trainer,
FEASIBILITY_BALLAST: another way to take the rest, FEASIBILITY_OPTIONS: more options for the program.

With --settings and --registry the pairs are those of the settings (the study's: examples/study/README.md says how to get its repositories
into FOLDER/repos), and no outcome is asked for."""
import argparse
import ctypes
import glob
import json
import os
import signal
import subprocess
import sys
import tarfile
import time

GIB = 1 << 30
TARE_SETTINGS = {
    "timing": {"between_runs": 0, "between_configurations": 0, "stop_grace": 5},
    # Both begin together: what takes longer alone is in front, so both train at the same time.
    "parallel": {"wait": 0, "hold": 0.5, "limit": 1, "restart_delay": 0},
    # What takes the rest of the GPU is always there.
    "preflight": {"policy": "go-on", "baseline": 0, "memory": "1 TiB", "temperature_band": 100}}
MODELS = ["mobilenet", "resnet18", "resnet50", "densenet121", "bert", "vit"]
OVER, LEFT = 1, 3
here = os.path.dirname(os.path.abspath(__file__))


def ballast(left):
    """Holds all of the GPU but so many bytes, until its standard input ends."""
    cuda = ctypes.CDLL("libcuda.so.1")
    device, context, pointer = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
    free, total = ctypes.c_size_t(), ctypes.c_size_t()

    def call(name, *arguments):
        return getattr(cuda, name)(*arguments)

    assert call("cuInit", 0) == 0 and call("cuDeviceGet", ctypes.byref(device), 0) == 0
    assert call("cuCtxCreate_v2", ctypes.byref(context), 0, device) == 0
    size = 4 * GIB
    while size >= 2 << 20:
        assert call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total)) == 0
        if free.value < left + size or call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size)) != 0:
            size //= 2
    assert call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total)) == 0
    print(free.value, flush=True)
    sys.stdin.read()


def limited(left):
    """The one place where the limit is made: what is left of the GPU for a pair. A limit of libtare-cuda holds for
    one training; two that share what is left meet the driver's own end of memory only so."""
    own = [sys.executable, os.path.abspath(__file__), "--ballast"]
    command = os.environ.get("FEASIBILITY_BALLAST", "").split() or own
    process = subprocess.Popen(command + [str(left)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    if not line.strip():
        sys.exit("the rest of the GPU could not be taken")
    return process, int(line)


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def prepare():
    if options.settings:
        settings = json.load(open(options.settings))
        settings["tare"] = {**settings.get("tare", {}), **TARE_SETTINGS}
        write("settings.json", json.dumps(settings))
        write("registry.json", open(options.registry).read())
        return
    os.makedirs("repo", exist_ok=True)
    train = os.environ.get("FEASIBILITY_TRAIN", f"{sys.executable} {here}/feasibility_train.py")
    write("repo/train.sh", f'#!/bin/sh\nexec {train} "$@"\n')
    os.chmod("repo/train.sh", 0o755)
    epochs = {"flag": "--epochs", "type": "int", "default": 1, "range": [1, 100]}
    zoo = {"path": "repo", "train_script": "./train.sh", "models": MODELS, "model_flag": "--model",
           "supported_hyperparams": {"epochs": epochs}}
    write("registry.json", json.dumps({"models": {"zoo": zoo}}))
    settings = {
        "mode": "default", "max_retries": 0, "seed": 7, "timeout": 90,
        "experiments": [{"repo": "zoo", "model": name, "mode": "default"} for name in MODELS],
        "tare": TARE_SETTINGS}
    write("settings.json", json.dumps(settings))


class TimeIsUp(Exception):
    pass


def tare(*words):
    """False: there was not enough time, and the study can be gone on with."""
    begun = time.monotonic()
    if deadline - begun < 20:
        raise TimeIsUp
    extra = os.environ.get("FEASIBILITY_OPTIONS", "").split()
    process = subprocess.Popen([program, "feasibility", *words, *extra], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
    try:
        told = process.communicate(timeout=deadline - begun)[0]
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        told = process.communicate()[0]
    print(f"# {' '.join(words)}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    if process.returncode == 130:
        raise TimeIsUp
    if process.returncode not in (0, 1):
        sys.exit(told)


def study_of(folder):
    """The one in that folder: its own folder and feasibility.json, as far as they are there."""
    found = sorted(glob.glob(folder + "/feasibility_*"))
    report = found and os.path.join(found[-1], "feasibility.json")
    return found[-1] if found else None, json.load(open(report)) if report and os.path.exists(report) else None


def mib(number):
    return "" if number is None else f"{number / (1 << 20):.0f}"


def times(number):
    return "" if number is None else f"{number:.2f}"


def row(cells):
    print("| " + " | ".join(cells) + " |")


def alone():
    folder, study = study_of("alone")
    if not study:
        if "FEASIBILITY_TRAIN" not in os.environ and not options.settings:
            # Read from the disk before anything is timed.
            subprocess.run([sys.executable, "-c", "import torch, torchvision, transformers"], check=True)
        fresh = ["settings.json", "-c", "registry.json", "-o", "alone", *all_pairs]
        what = ["--resume", folder] if folder else fresh
        tare(*what, "--predict-only", "-q")
        folder, study = study_of("alone")
    row(["model alone", "peak, MiB", "steady", "start-up, s", "context", "margin", "known by", "epoch, s", "J"])
    row(["---"] * 9)
    for model in study["models"]:
        if not model["succeeded"]:
            sys.exit(f"{model['name']} failed alone: {model['error']}")
        row([model["name"], mib(model["peak_bytes"]), mib(model["steady_bytes"]), str(model["startup_s"]),
             mib(model["context_bytes"]), mib(model["margin_bytes"]), model["memory_source"] or "not seen",
             f"{model['seconds']:.1f}", f"{model['joules'] or 0:.0f}"])
    return folder


def pairs(gib, measured):
    folder, study = study_of(f"limit_{gib:g}")
    if not study:
        process, left = limited(int(gib * GIB))
        try:
            if folder:
                tare("--resume", folder, "-q")
            else:
                tare("settings.json", "-c", "registry.json", "-o", f"limit_{gib:g}", *all_pairs, "-q",
                     "--alone", measured, "--gpu-memory", str(left))
        finally:
            process.stdin.close()
            process.wait()
        folder, study = study_of(f"limit_{gib:g}")
    return table(study)


def table(study):
    wrong_fits = wrong_misses = 0
    print(f"\n{mib(study['gpu']['available_bytes'])} MiB left for a pair:\n")
    row(["foreground", "background", "together, MiB", "bound", "margin", "predicted", "class", "outcome", "peak",
         "slower"])
    row(["---"] * 10)
    for pair in study["pairs"]:
        told, real = pair["predicted"], pair["real"]
        if not told or not real:
            row([pair["foreground"], pair["background"], *[""] * 3, "not known" if not told else "fits" if told["fits"] else "does not", "",
                 pair["outcome"], mib(real and real["peak_bytes"]), ""])
            continue
        failure = "out of memory" if real["out_of_memory"] else f"failed: {real['cause']}"
        failed = pair["outcome"] == "failed"
        outcome = failure if failed else pair["outcome"]
        wrong_fits += told["fits"] and failed
        wrong_misses += not told["fits"] and not failed
        row([pair["foreground"], pair["background"], mib(told["aligned_bytes"]), mib(told["safe_bytes"]),
             mib(told["margin_bytes"]), "fits" if told["fits"] else "does not", told["class"], outcome,
             mib(real["peak_bytes"]), f"{times(real['foreground_slowdown'])} / {times(real['background_slowdown'])}"])
    told = [pair["predicted"]["fits"] for pair in study["pairs"] if pair["predicted"]]
    print(f"\nOf {sum(told)} pairs predicted to fit {wrong_fits} did not; of {len(told) - sum(told)} predicted not to fit "
          f"{wrong_misses} did.", flush=True)
    return wrong_fits == 0 and wrong_misses <= 1


def carry_out():
    try:
        measured = alone()
        sys.stdout.flush()
        good = [pairs(gib, measured) for gib in options.limit if options.stage != "alone"]
    except TimeIsUp:
        print("# the time is up; the same command goes on", file=sys.stderr)
        return LEFT
    return 0 if all(good) else OVER


if sys.argv[1:2] == ["--ballast"]:
    ballast(int(sys.argv[2]))
    sys.exit()
parser = argparse.ArgumentParser()
parser.add_argument("tare")
parser.add_argument("folder", help="goes on in what is there")
parser.add_argument("--settings", help="pairs of trainings, instead of all pairs of six models")
parser.add_argument("--registry", help="goes with --settings")
parser.add_argument("--stage", choices=["alone", "pairs", "all"], default="all",
                    help="pairs: alone must have been done")
parser.add_argument("--limit", type=float, action="append", default=[], metavar="GIB", help="more than once for more")
parser.add_argument("--seconds", type=float, default=1e9, help="break off after so long")
parser.add_argument("--archive", metavar="FILE", help="the folder's content, read when it is empty, written at the end")
options = parser.parse_args()
program, archive = os.path.abspath(options.tare), options.archive and os.path.abspath(options.archive)
deadline = time.monotonic() + options.seconds
if options.settings:
    options.settings, options.registry = os.path.abspath(options.settings), os.path.abspath(options.registry)
all_pairs = [] if options.settings else ["--all-pairs"]
os.makedirs(options.folder, exist_ok=True)
os.chdir(options.folder)
if archive and os.path.exists(archive) and not os.listdir("."):
    with tarfile.open(archive) as packed:
        packed.extractall(".", filter="data")
os.environ.update(XDG_STATE_HOME=os.path.abspath("state"), TARE_LOCK_DIR=os.path.abspath("locks"))
prepare()
if options.stage == "pairs" and not study_of("alone")[1]:
    sys.exit("no model has been measured alone here")
code = carry_out()
if archive:
    with tarfile.open(archive, "w:gz") as packed:
        for name in ["alone"] + sorted(glob.glob("limit_*")):
            if os.path.exists(name):
                packed.add(name)
sys.exit(code)
