#!/usr/bin/python3
"""How often a foreground's energy is given, and how often its interval then holds what it added.
parallel_cover.py COLOCATED_COVER [--seeds 200] [--held-out] [--smoke]

A background with a load of sensors12.py (60 % of its swing) runs alone for 10 to 35 s, then beside
a foreground that adds a constant power (2 to 40 % of the GPU's range) for 20 to 600 s. Energies are
known to ± 0.2 %. --smoke: exit 1 where steps of a training are held or given too rarely."""
import argparse
import subprocess
import sys

import numpy as np

from sensors12 import LOADS, Curve, Draw, Gpu

SHARE = 0.002


class Window:
    period_s, window_s = 0.1, 60.0


def make_case(load, seed, held_out):
    """The line for colocated_cover, and the energy that the foreground added."""
    draw = Draw(held_out, "parallel", load, seed)
    gpu = Gpu(draw)
    alone_s, both_s = draw.rng.uniform(10, 35), draw.log(20, 600)
    times, watts, _ = LOADS[load](draw, gpu, alone_s + both_s + 3, Window)
    background = gpu.idle_w + (np.clip(watts, gpu.idle_w, gpu.limit_w) - gpu.idle_w) * 0.6
    curve = Curve(times, background)
    added = (gpu.limit_w - gpu.idle_w) * draw.log(0.02, 0.4) * both_s
    edges = np.linspace(0, alone_s, 11)
    slices = np.diff(curve.energy(edges)) / np.diff(edges)
    begin = alone_s + 2
    alone_j = curve.energy(alone_s)
    both_j = curve.energy(begin + both_s) - curve.energy(begin) + added
    seen = [j * (1 + SHARE / 1.96 * draw.rng.standard_normal()) for j in (alone_j, both_j)]
    figures = [seen[0], alone_j * SHARE, alone_s, seen[1], both_j * SHARE, both_s, *slices]
    return " ".join(f"{x:.9g}" for x in figures), added


def judge(program, load, seeds, held_out):
    """Of the cases: given ones, and of these the held ones, as lists of truth values."""
    cases = [make_case(load, seed, held_out) for seed in range(seeds)]
    text = "\n".join(line for line, _ in cases)
    done = subprocess.run([program], input=text, stdout=subprocess.PIPE, text=True, check=True)
    rows = np.array([line.split() for line in done.stdout.splitlines()], float)
    added = np.array([truth for _, truth in cases])
    given = rows[:, 2] == 1
    return given, (np.abs(rows[:, 0] - added) <= rows[:, 1])[given]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    loads = ["train_steps"] if options.smoke else [name for name in LOADS if name != "in_step"]
    all_given, all_held = [], []
    for load in loads:
        given, held = judge(options.program, load, options.seeds, options.held_out)
        all_given += given.tolist()
        all_held += held.tolist()
        print(f"{load:14} given {100 * given.mean():5.1f} %, held {100 * held.mean():5.1f} %")
    share, coverage = 100 * np.mean(all_given), 100 * np.mean(all_held)
    print(f"{'all':14} given {share:5.1f} %, held {coverage:5.1f} %")
    return 1 if options.smoke and (share < 40 or coverage < 95) else 0


if __name__ == "__main__":
    sys.exit(main())
