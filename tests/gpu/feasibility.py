"""Prediction against outcome on a real GPU: feasibility.py TARE GIB ... Six models run alone once; then all 15 pairs
are tried on a GPU that has so many GiB left, for each figure. Prints Markdown tables and ends with 1 when a pair
that was foretold to fit did not, or more than one did fit that was foretold not to. FEASIBILITY_TRAIN: another
trainer, FEASIBILITY_BALLAST: another way to take the rest, FEASIBILITY_OPTIONS: more options for the program."""
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

GIB = 1 << 30
MODELS = ["mobilenet", "resnet18", "resnet50", "densenet121", "bert", "vit"]
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
    """The one place where the limit is made: what is left of the GPU for a pair."""
    own = [sys.executable, os.path.abspath(__file__), "--ballast"]
    command = os.environ.get("FEASIBILITY_BALLAST", "").split() or own
    process = subprocess.Popen(command + [str(left)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    if not line.strip():
        sys.exit("the rest of the GPU could not be taken")
    return process, int(line)


def prepare():
    os.mkdir("repo")
    train = os.environ.get("FEASIBILITY_TRAIN", f"{sys.executable} {here}/feasibility_train.py")
    with open("repo/train.sh", "w") as script:
        script.write(f'#!/bin/sh\nexec {train} "$@"\n')
    os.chmod("repo/train.sh", 0o755)
    epochs = {"flag": "--epochs", "type": "int", "default": 1, "range": [1, 100]}
    zoo = {"path": "repo", "train_script": "./train.sh", "models": MODELS, "model_flag": "--model",
           "supported_hyperparams": {"epochs": epochs}}
    json.dump({"models": {"zoo": zoo}}, open("registry.json", "w"))
    json.dump({"mode": "default", "max_retries": 0, "seed": 7, "timeout": 60,
               "experiments": [{"repo": "zoo", "model": name, "mode": "default"} for name in MODELS],
               "tare": {"timing": {"between_runs": 0, "between_configurations": 0, "stop_grace": 5},
                        "parallel": {"wait": 0, "hold": 0.5, "limit": 20, "restart_delay": 0},
                        # What takes the rest of the GPU is always there.
                        "preflight": {"policy": "go-on", "baseline": 0, "memory": "1 TiB", "temperature_band": 100}}},
              open("settings.json", "w"))


def tare(*words):
    begun = time.monotonic()
    done = subprocess.run([program, "feasibility", *words, *os.environ.get("FEASIBILITY_OPTIONS", "").split()],
                          capture_output=True, text=True)
    print(f"# {' '.join(words)}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    if done.returncode not in (0, 1):
        sys.exit(done.stdout + done.stderr)


def mib(number):
    return "" if number is None else f"{number / (1 << 20):.0f}"


def times(number):
    return "" if number is None else f"{number:.2f}"


def table(study, left):
    wrong_fits = wrong_misses = 0
    print(f"\n{left / GIB:.2f} GiB left for a pair:\n")
    print("| foreground | background | together, MiB | bound | margin | predicted | class | outcome | peak | slower |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for pair in study["pairs"]:
        told, real = pair["predicted"], pair["real"]
        if not told or not real:
            sys.exit(f"nothing is known of {pair}")
        failure = "out of memory" if real["out_of_memory"] else f"failed: {real['cause']}"
        outcome = "worked" if real["worked"] else failure
        wrong_fits += told["fits"] and not real["worked"]
        wrong_misses += not told["fits"] and real["worked"]
        row = [pair["foreground"], pair["background"], mib(told["aligned_bytes"]), mib(told["safe_bytes"]),
               mib(told["margin_bytes"]), "fits" if told["fits"] else "does not", told["class"], outcome,
               mib(real["peak_bytes"]), f"{times(real['foreground_slowdown'])} / {times(real['background_slowdown'])}"]
        print("| " + " | ".join(row) + " |")
    fit = sum(pair["predicted"]["fits"] for pair in study["pairs"])
    print(f"\nOf {fit} pairs foretold to fit {wrong_fits} did not; of {len(study['pairs']) - fit} foretold not to fit "
          f"{wrong_misses} did.", flush=True)
    return wrong_fits == 0 and wrong_misses <= 1


if sys.argv[1] == "--ballast":
    ballast(int(sys.argv[2]))
    sys.exit()
program, limits = os.path.abspath(sys.argv[1]), [float(word) for word in sys.argv[2:]]
work = tempfile.mkdtemp()
os.chdir(work)
os.environ.update(XDG_STATE_HOME=work + "/state", TARE_LOCK_DIR=work + "/locks")
prepare()
tare("settings.json", "-c", "registry.json", "-o", "results", "--all-pairs", "--predict-only", "-q")
alone = os.path.join("results", os.listdir("results")[0])
study = json.load(open(alone + "/feasibility.json"))
print("| model alone | peak, MiB | steady | start-up, s | context at most | margin | epoch, s | joules |")
print("| --- | --- | --- | --- | --- | --- | --- | --- |")
for model in study["models"]:
    if not model["succeeded"]:
        sys.exit(f"{model['name']} failed alone: {model['error']}")
    print(f"| {model['name']} | {mib(model['peak_bytes'])} | {mib(model['steady_bytes'])} | {model['startup_s']} "
          f"| {mib(model['context_bytes_at_most'])} | {mib(model['margin_bytes'])} | {model['seconds']:.1f} "
          f"| {model['joules'] or 0:.0f} |", flush=True)
good = True
for gib in limits:
    process, left = limited(int(gib * GIB))
    try:
        # What was measured alone stands for every limit.
        folder = f"limit_{gib:g}"
        shutil.copytree(alone, folder)
        wish = json.load(open(folder + "/study.json"))
        wish["gpu_bytes"] = float(left)
        json.dump(wish, open(folder + "/study.json", "w"))
        tare("--resume", folder, "-q")
    finally:
        process.stdin.close()
        process.wait()
    good = table(json.load(open(folder + "/feasibility.json")), left) and good
shutil.rmtree(work)
sys.exit(not good)
