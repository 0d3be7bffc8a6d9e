#!/usr/bin/env python3
"""How often `tare compare` and `tare stats` are wrong about drawn settings that were repeated: drawn_rates.py --count N [--seed S].

Each folder has 8 random settings of 5 runs; a setting's time is 100 s times a lognormal of its own (sigma 0.2), a run's adds 1 %. The
truth is a ratio of 1, and a median of 100 s. Fails where more than 8 % of the comparisons claim a difference in time, or the
interval of the median leaves 100 s out of more than 8 % of the folders."""
import argparse
import json
import math
import os
import random
import subprocess
import tempfile

from planted import write_folder

SETTINGS, REPEATS, WORST = 8, 5, 0.08


def folder(path, rng):
    rows = []
    for _ in range(SETTINGS):
        rate, own = math.exp(rng.uniform(-9, -2)), math.exp(rng.gauss(0, 0.2))
        for seed in range(REPEATS):
            duration = 100 * own * math.exp(rng.gauss(0, 0.01))
            rows.append({"duration_s": duration, "energy_j": 200 * duration, "mode": "mutation", "seed": seed, "learning_rate": rate})
    write_folder(path, rows)


def tare(*words):
    return json.loads(subprocess.run([os.environ["TARE"], *words, "--json"], check=True, capture_output=True).stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng, claims, missed, folders = random.Random(given.seed), 0, 0, 0
    with tempfile.TemporaryDirectory() as top:
        for number in range(given.count):
            paths = [f"{top}/{number}{side}" for side in "ab"]
            for path in paths:
                folder(path, rng)
                (group,) = tare("stats", path)["groups"]
                (time,) = [f for f in group["figures"] if f["name"] == "duration_s"]
                interval = time["median_interval"]
                missed += not interval["low"] <= 100 <= interval["high"]
                folders += 1
            (time,) = [q for q in tare("compare", *paths)["quantities"] if q["name"] == "duration_s"]
            claims += not time["interval"]["low"] <= 1 <= time["interval"]["high"]
    print(f"ratio of 1 outside of its interval in {claims / given.count:.1%}, median outside in {missed / folders:.1%}")
    assert claims <= WORST * given.count and missed <= WORST * folders, (claims, missed)


main()
