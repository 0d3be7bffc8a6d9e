#!/usr/bin/python3
"""How often the audit's intervals of GPU energy hold the energy that is known, for folders in the study's layout.
audit_cover.py --build BUILD [--attempts 300] [--held-out] [--only LOAD/SENSOR ...] [--most CELL=WIDTH ...] [--smoke]

An attempt is a training of known power. A monitor reads the GPU's power in a loop of 1.03 s (a reading, then `sleep 1`), from the
training's begin to its end, and writes whole seconds. The sensor updates each 100 ms: an instant, a mean of the 100 ms or a mean
of the last second. The window is the time that perf gives; its energy is the exact integral of the curve. The folder of a cell
holds only attempts of this cell.

Held out: strips of every parameter's range, and other seeds (sensors12.py). Look at them once, when the estimator is finished."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from datetime import datetime, timedelta, timezone

import numpy as np

from sensors12 import Curve, Draw, Gpu, repeated, stairs

EPOCH_S = 1_763_455_000.0
ZONE = timezone(timedelta(hours=8))
LOOP_S, UPDATE_S, LEAD_S = 1.03, 0.1, 3.0


# ---- loads: (draw, gpu, seconds) -> times from 0 on, watts

def noisy(draw, edges, watts, low, high):
    """Power with noise that is new at each edge."""
    return stairs(0, np.diff(edges), watts * (1 + draw.log(low, high) * draw.rng.standard_normal(len(edges) - 1)))


def steady(draw, gpu, seconds):
    return noisy(draw, np.arange(0, seconds + 1, draw.log(0.05, 0.5)), gpu.level(draw, 0.3, 1), 0.002, 0.02)


def steps(draw, gpu, seconds):
    """A busy and a waiting part, 0.1 to 0.7 s together."""
    busy, levels = draw.span(0.3, 0.8), [gpu.level(draw, 0.6, 1), gpu.level(draw, 0.1, 0.5)]
    return repeated(draw, seconds, draw.log(0.1, 0.7), draw.span(0, 0.02), [busy, 1 - busy], levels, 0.01)


def random_steps(draw, gpu, seconds):
    """Each 0.1 to 0.7 s another power."""
    low, high = sorted([gpu.level(draw, 0.1, 0.6), gpu.level(draw, 0.4, 1)])
    lengths = draw.rng.uniform(0.1, 0.7, int(seconds / 0.35) + 30)
    return stairs(0, lengths, draw.rng.uniform(low, high, len(lengths)))


def epochs(draw, gpu, seconds, epoch_s, pause_s):
    """Epochs of short steps; after each a validation and a pause."""
    epoch_s, pause_s = draw.log(*epoch_s), draw.log(*pause_s)
    parts = np.array([epoch_s, epoch_s * draw.span(0.05, 0.25), pause_s])
    levels = [gpu.level(draw, 0.5, 1), gpu.level(draw, 0.2, 0.6), gpu.level(draw, 0, 0.1)]
    t, w = repeated(draw, seconds + parts.sum(), parts.sum(), 0.02, parts / parts.sum(), levels, 0.01)
    t = t - draw.rng.uniform(0, parts.sum())        # the window begins anywhere in an epoch
    edges = np.union1d(t[(t > 0) & (t < seconds + 1)], np.arange(0, seconds + 1, draw.log(0.05, 0.5)))
    return noisy(draw, edges, Curve(t, w).power((edges[1:] + edges[:-1]) / 2), 0.005, 0.1)


def epochs_pauses(draw, gpu, seconds):
    return epochs(draw, gpu, seconds, (2, 15), (0.3, 2.5))


def long_epochs(draw, gpu, seconds):
    return epochs(draw, gpu, seconds, (20, 80), (0.3, 5))


# name: (load, seconds of the window, seconds until the load begins; None: it lasts from before the window until after it)
LOADS = {
    "steady": (steady, (60, 900), None),
    "steps": (steps, (30, 300), None),
    "random_steps": (random_steps, (30, 300), None),
    "epochs_pauses": (epochs_pauses, (30, 300), None),
    "long_epochs": (long_epochs, (100, 600), None),
    "steady_started": (steady, (15, 120), (0.5, 4)),
    "steps_started": (steps, (15, 120), (0.5, 4)),
    "epochs_started": (epochs_pauses, (15, 120), (0.5, 4)),
    "window_2s": (steady, (1.9, 2.1), (0.05, 0.7)),
}


def make_curve(draw, gpu, load):
    """Power from LEAD_S before the window on, and the window's length."""
    make, seconds, import_s = LOADS[load]
    seconds = draw.log(*seconds)
    begin, end = (0, seconds + 2 * LEAD_S) if import_s is None else (LEAD_S + draw.span(*import_s), LEAD_S + seconds)
    t, w = make(draw, gpu, end - begin)
    keep = t < end - begin
    t, w = begin + t[keep], np.clip(w[keep], gpu.idle_w, gpu.limit_w)
    if import_s is None:
        return Curve(np.append(t, end), np.append(w, w[-1])), seconds
    return Curve(np.concatenate([[0, begin], t, [end, end, end + LEAD_S]]),
                 np.concatenate([[gpu.idle_w] * 2, w, [w[-1]], [gpu.idle_w] * 2])), seconds


LOOK_S = {"instant": 0.0, "mean_100ms": 0.1, "mean_1s": 1.0}


# ---- sensor and monitor

def read_sensor(draw, curve, look_s, at):
    """The values shown at the moments: of updates with a drawn phase, each of the power in the look_s before it."""
    u = draw.rng.uniform(0, UPDATE_S) + UPDATE_S * np.arange(int(at[-1] / UPDATE_S) + 2)
    u = u + 0.002 * draw.rng.standard_normal(len(u)).clip(-2, 2)
    begin = np.maximum(u - look_s, 0)
    value = (curve.energy(u) - curve.energy(begin)) / np.maximum(u - begin, 1e-9) if look_s else curve.power(u)
    shown_at = u + draw.rng.uniform(0, 0.02)
    return np.round(value[np.clip(np.searchsorted(shown_at, at, "right") - 1, 0, None)], 2)


def make_attempt(load, sensor, seed, held_out=False):
    draw = Draw(held_out, "audit", load, sensor, seed)
    gpu = Gpu(draw)
    curve, seconds = make_curve(draw, gpu, load)
    begin = EPOCH_S + 1000 * seed + draw.rng.uniform(0, 1) - LEAD_S      # wall time of the curve's 0
    loop = LOOP_S + 0.004 * draw.rng.standard_normal(int(seconds) + 3).clip(-2, 2)
    stamped = LEAD_S + draw.rng.uniform(-0.02, 0.06) + np.concatenate([[0], np.cumsum(loop)])
    stamped = stamped[stamped < LEAD_S + seconds - 0.02]
    watts = read_sensor(draw, curve, LOOK_S[sensor], stamped + draw.rng.uniform(0.01, 0.025, len(stamped)))
    return {"began": begin + LEAD_S, "seconds": seconds, "truth": float(curve.energy(LEAD_S + seconds) - curve.energy(LEAD_S)),
            "stamps": np.floor(begin + stamped).astype(int), "watts": watts,
            "busy": np.where(watts > gpu.idle_w + 0.1 * (gpu.limit_w - gpu.idle_w), 90, 0)}


# ---- the study's files

def write_attempt(folder, name, attempt):
    os.makedirs(os.path.join(folder, name, "energy"))
    began, watts = attempt["began"], attempt["watts"]
    duration = attempt["seconds"] + 1.3
    busy = attempt["busy"].tolist()
    energy = {"cpu_energy_pkg_joules": 100.0, "cpu_energy_ram_joules": 10.0, "cpu_energy_total_joules": 110.0,
              "gpu_power_avg_watts": sum(watts) / len(watts), "gpu_power_max_watts": max(watts), "gpu_power_min_watts": min(watts),
              "gpu_energy_total_joules": sum(watts), "gpu_temp_avg_celsius": 50.0, "gpu_temp_max_celsius": 50.0,
              "gpu_util_avg_percent": sum(busy) / len(busy), "gpu_util_max_percent": float(max(busy))}
    ended = datetime.fromtimestamp(began + duration, ZONE).replace(tzinfo=None).isoformat()
    document = {"experiment_id": name, "timestamp": ended, "repository": "r", "model": "m", "hyperparameters": {"seed": int(name[1:])},
                "duration_seconds": duration, "energy_metrics": energy, "performance_metrics": {"accuracy": 90.0},
                "training_success": True, "retries": 0, "error_message": "Training completed successfully"}
    stamps = attempt["stamps"].tolist()
    files = {
        "experiment.json": json.dumps(document, indent=2),
        "energy/gpu_power.csv": "timestamp,power_draw_w\n" + "".join(f"{s},{w:.2f}\n" for s, w in zip(stamps, watts)),
        "energy/gpu_utilization.csv": "timestamp,gpu_util_percent,memory_util_percent\n"
                                      + "".join(f"{s},{b},{b // 2}\n" for s, b in zip(stamps, busy)),
        "energy/gpu_temperature.csv": "timestamp,gpu_temp_c,memory_temp_c\n" + "".join(f"{s},50,N/A\n" for s in stamps),
        "energy/cpu_energy.txt": "CPU Energy Consumption Summary\n==============================\nPackage Energy (Joules): 100.00\n"
                                 "RAM Energy (Joules): 10.00\nTotal CPU Energy (Joules): 110.00\n",
        "energy/cpu_energy_raw.txt": f"# started on {datetime.fromtimestamp(began, ZONE).strftime('%a %b %e %H:%M:%S %Y')}\n\n\n"
                                     " Performance counter stats for 'system wide':\n\n            100.00 Joules power/energy-pkg/\n"
                                     "             10.00 Joules power/energy-ram/\n\n"
                                     f"{attempt['seconds']:18.9f} seconds time elapsed\n\n",
    }
    for path, text in files.items():
        with open(os.path.join(folder, name, path), "w", encoding="utf-8") as file:
            file.write(text)
    names = {"gpu_power": "energy_gpu", "gpu_energy": "energy_gpu_energy", "gpu_temp": "energy_gpu_temp", "gpu_util": "energy_gpu_util"}
    row = {"experiment_id": name, "timestamp": ended, "repository": "r", "model": "m", "training_success": "True",
           "duration_seconds": duration, "retries": 0, "hyperparam_seed": int(name[1:]), "perf_accuracy": 90.0}
    for key, value in energy.items():
        stem = next((s for s in names if key.startswith(s)), "")
        row[names[stem] + key[len(stem):] if stem else "energy_" + key] = value
    return row


def write_folder(folder, attempts):
    os.makedirs(folder)
    rows = [write_attempt(folder, f"e{i:04d}", attempt) for i, attempt in enumerate(attempts)]
    with open(os.path.join(folder, "summary.csv"), "w", encoding="utf-8", newline="") as file:
        file.write(",".join(rows[0]) + "\r\n" + "".join(",".join(str(v) for v in row.values()) + "\r\n" for row in rows))


def audit(tare, folder):
    """Of each experiment its `gpu` object, in the order of the folder."""
    done = subprocess.run([tare, "audit", "--json", folder], stdout=subprocess.PIPE, check=False)
    if done.returncode not in (0, 3, 4) and not done.stdout:
        sys.exit(f"tare audit failed with {done.returncode}")
    found = {e["experiment_id"]: e["gpu"] for e in json.loads(done.stdout)["experiments"]}
    return [found[name] for name in sorted(found)]


# ---- figures

def judge(attempts, answers):
    """Coverage, median half-width in %, bias in % and share of attempts with an energy."""
    truth = np.array([a["truth"] for a in attempts])
    energy = np.array([np.nan if g["energy_j"] is None else g["energy_j"] for g in answers], float)
    half = np.array([np.nan if g["half_width_j"] is None else g["half_width_j"] for g in answers], float)
    low = np.array([np.nan if g.get("low_j") is None else g["low_j"] for g in answers], float)
    high = np.array([np.nan if g.get("high_j") is None else g["high_j"] for g in answers], float)
    low, high = np.where(np.isnan(low), energy - half, low), np.where(np.isnan(high), energy + half, high)
    given = ~np.isnan(energy)
    if not given.any():
        return {"given": 0.0, "coverage": np.nan, "half": np.nan, "bias": np.nan}
    inside = ((low <= truth) & (truth <= high))[given]
    return {"given": 100 * given.mean(), "coverage": 100 * inside.mean(), "half": 100 * float(np.median((half / truth)[given])),
            "bias": 100 * float(np.mean((energy / truth - 1)[given]))}


def cell(tare, load, sensor, attempts, held_out, keep=None):
    made = [make_attempt(load, sensor, seed, held_out) for seed in range(attempts)]
    with tempfile.TemporaryDirectory() as scratch:
        folder = os.path.join(keep or scratch, f"{load}-{sensor}")
        write_folder(folder, made)
        return judge(made, audit(tare, folder))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--tare", help="a program instead of BUILD/src/cli/tare")
    parser.add_argument("--attempts", type=int, default=300)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--only", nargs="*", help="cells, as steady/instant")
    parser.add_argument("--keep", help="a folder for the folders made")
    options = parser.parse_args()
    tare = options.tare or os.path.join(options.build, "src/cli/tare")
    print(f"{'load':15} {'sensor':11} {'given':>6} {'coverage':>9} {'median ±':>9} {'bias':>7}   (%)")
    for load in LOADS:
        for sensor in LOOK_S:
            if options.only and f"{load}/{sensor}" not in options.only:
                continue
            found = cell(tare, load, sensor, options.attempts, options.held_out, options.keep)
            print(f"{load:15} {sensor:11} {found['given']:6.0f} {found['coverage']:9.1f} {found['half']:9.2f} {found['bias']:7.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
