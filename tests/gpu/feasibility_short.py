"""Pairs of two short and two long trainings on a real GPU: feasibility_short.py TARE FOLDER [--overlap S] [--short S]
[--long S]. A short one imports PyTorch for most of its time. All six pairs must be proven, with both at their peaks and
clean experiments, and be recommended; what is there in FOLDER is gone on with. Prints a Markdown table. Ends with 1 when
a pair is not proven. FEASIBILITY_TRAIN: another trainer, FEASIBILITY_OPTIONS: more options for the program."""
import argparse
import glob
import json
import os
import subprocess
import sys
import time

GIB = 1 << 30
# Name: GiB of memory, and the size of the matrices that it multiplies.
MODELS = {"short_a": (2, 2048), "short_b": (3, 4096), "long_a": (4, 4096), "long_b": (6, 2048)}


def train(name, seconds):
    began = time.monotonic()
    import torch

    gib, size = MODELS[name]
    held = torch.empty(gib * GIB, dtype=torch.uint8, device="cuda")
    a = torch.randn(size, size, device="cuda")
    print(f"imported in {time.monotonic() - began:.1f} s", flush=True)
    begun, steps = time.monotonic(), 0
    while time.monotonic() < begun + seconds:
        for _ in range(5):
            a = torch.nn.functional.normalize(a @ a)
            held[: 256 << 20].add_(1)
        torch.cuda.synchronize()
        steps += 1
    print(f"steps {steps} loss: {a.abs().mean().item():.4f}", flush=True)


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def prepare(options):
    os.makedirs("repo", exist_ok=True)
    own = f"{sys.executable} {os.path.abspath(__file__)} --train"
    trainer = os.environ.get("FEASIBILITY_TRAIN", own)
    seconds = f'case $2 in short*) s={options.short:g};; *) s={options.long:g};; esac'
    write("repo/train.sh", f'#!/bin/sh\n{seconds}\nexec {trainer} "$2" "$s"\n')
    os.chmod("repo/train.sh", 0o755)
    toy = {"path": "repo", "train_script": "./train.sh", "models": list(MODELS), "model_flag": "--model",
           "performance_metrics": {"log_patterns": {"loss": "loss: ([0-9.]+)"}}}
    write("registry.json", json.dumps({"models": {"toy": toy}}))
    write("settings.json", json.dumps({
        "mode": "default", "max_retries": 0, "seed": 7, "timeout": 300,
        "experiments": [{"repo": "toy", "model": name, "mode": "default"} for name in MODELS],
        "tare": {"timing": {"between_runs": 1, "between_configurations": 1, "stop_grace": 5},
                 "parallel": {"wait": 1, "hold": 3, "limit": 60, "restart_delay": 0},
                 "preflight": {"temperature_band": 100}}}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tare")
    parser.add_argument("folder")
    parser.add_argument("--overlap", type=float, default=5, help="seconds at both peaks")
    parser.add_argument("--short", type=float, default=2, help="seconds of training of a short one")
    parser.add_argument("--long", type=float, default=15)
    options = parser.parse_args()
    program = os.path.abspath(options.tare)
    os.makedirs(options.folder, exist_ok=True)
    os.chdir(options.folder)
    os.environ.update(XDG_STATE_HOME=os.path.abspath("state"), TARE_LOCK_DIR=os.path.abspath("locks"))
    prepare(options)
    studies = sorted(glob.glob("results/feasibility_*"))
    words = ["--resume", studies[-1]] if studies else [
        "settings.json", "-c", "registry.json", "-o", "results", "--all-pairs", "--overlap", f"{options.overlap:g}"]
    began = time.monotonic()
    code = subprocess.run([program, "feasibility", *words, *os.environ.get("FEASIBILITY_OPTIONS", "").split()],
                          check=False).returncode
    print(f"# exit code {code} after {time.monotonic() - began:.0f} s", flush=True)
    folder = sorted(glob.glob("results/feasibility_*"))[-1]
    study = json.load(open(folder + "/feasibility.json"))
    print("\n| model alone | epoch, s | start-up, s | sampled peak, MiB | load at it, % |\n| --- | --- | --- | --- | --- |")
    for m in study["models"]:
        print(f"| {m['name']} | {m['seconds']} | {m['startup_s']} | {(m['sampled_peak_bytes'] or 0) >> 20} "
              f"| {m['load_at_peak_percent']} |")
    print("\n| foreground | background | outcome | verdict | overlap, s | looks at peaks | together, MiB | peaks alone "
          "| experiments | took, s | why |\n" + "| --- " * 11 + "|")
    proven = 0
    for pair in study["pairs"]:
        real = pair["real"] or {}
        kinds = ", ".join(e["kind"] for e in real.get("evidence", []))
        print(f"| {pair['foreground']} | {pair['background']} | {pair['outcome']} | {real.get('verdict')} {kinds} "
              f"| {real.get('overlap_s')} | {real.get('looks_at_peaks')} | {(real.get('together_bytes') or 0) >> 20} "
              f"| {(real.get('peaks_alone_bytes') or 0) >> 20} | {len(real.get('experiments', []))} "
              f"| {real.get('measured_s', 0):.0f} | {pair['why'] or real.get('cause') or ''} |")
        proven += (pair["outcome"] == "proven" and pair["recommended"] and real["verdict"] == "clean"
                   and real["overlap_s"] >= options.overlap and real["looks_at_peaks"] > 0
                   and real["together_bytes"] >= 0.9 * real["peaks_alone_bytes"])
    print(f"\n{proven} of {len(study['pairs'])} pairs proven and recommended")
    return 0 if proven == len(study["pairs"]) == 6 else 1


if sys.argv[1:2] == ["--train"]:
    train(sys.argv[2], float(sys.argv[3]))
else:
    sys.exit(main())
