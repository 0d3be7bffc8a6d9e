#!/usr/bin/env python3
"""How often `tare compare` is wrong, by simulation: compare_rates.py [--count N] [--seed N] [--jobs N] [--most RATE] [--least RATE]

Each simulated comparison is two results folders with a known ratio, compared by the program ($TARE). Told of each design: how often
a difference is claimed for any quantity where there is none (--most: fail above this share of all), and how often the interval
holds the true ratio (--least: fail below it), and how often strata are told to differ, of which no design has any that do. Both limits are widened by three standard errors of the simulation."""
import argparse
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from planted import write_folder

QUANTITIES = ("gpu_energy_j", "gpu_power_w", "duration_s")


def run(rng, time, power, sd=0.03, noise=random.Random.gauss, **params):
    """One training: power's noise is half of time's, and energy is their product."""
    duration = time * math.exp(noise(rng, 0, sd))
    return {"duration_s": duration, "energy_j": duration * power * math.exp(noise(rng, 0, sd / 2)), **params}


def heavy(rng, center, sd):
    """Student's t with 5 degrees of freedom, scaled to the standard deviation sd."""
    chi2 = sum(rng.gauss(0, 1) ** 2 for _ in range(5))
    return center + sd * rng.gauss(0, 1) / math.sqrt(chi2 / 5) * math.sqrt(3 / 5)


def skewed(rng, center, sd):
    """An exponential one, less its mean."""
    return center + sd * (rng.expovariate(1) - 1)


def log_uniform(rng, low, high):
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def two_blocks(rng, factor):
    return [run(rng, 100 * batch, 200, batch=batch) for batch in (16, 32) for _ in range(40 // 2)]


def three_each(rng, factor):
    return [run(rng, 100, 200) for _ in range(3)]


def pairs(rng, factor):
    """Eight batch sizes, once each."""
    return [run(rng, 1000 / batch, 200, batch=batch) for batch in (1, 2, 4, 8, 16, 32, 64, 128)]


def unequal(rng, factor):
    """6 and 15 runs; b's spread is four times a's."""
    return [run(rng, 100, 200, sd=0.02 if factor is None else 0.08) for _ in range(6 if factor is None else 15)]


def mixed_models(rng, factor):
    """Two models, 15 and 5 against 5 and 15."""
    counts = (15, 5) if factor is None else (5, 15)
    return [run(rng, time, power, model=model)
            for model, time, power, count in (("x", 100, 200, counts[0]), ("y", 300, 150, counts[1])) for _ in range(count)]


def mutated(rng, factor):
    """Epochs and learning rate at random; b trains longer. Time goes with the epochs, power a little with the rate."""
    out = []
    for _ in range(20):
        epochs = round(log_uniform(rng, 10 if factor is None else 30, 200))
        rate = log_uniform(rng, 1e-4, 1e-1)
        out.append(run(rng, 10 * epochs ** 0.9, 200 * rate ** 0.02, epochs=epochs, learning_rate=rate))
    return out


def heavy_tails(rng, factor):
    return [run(rng, 100 * batch, 200, batch=batch, noise=heavy, sd=0.1) for batch in (16, 32) for _ in range(5)]


def skewed_noise(rng, factor):
    return [run(rng, 100 * batch, 200, batch=batch, noise=skewed, sd=0.3) for batch in (16, 32) for _ in range(5)]


def ragged(rng, factor):
    """Five models with one to six runs each, as it comes; at least one model has several on both sides."""
    return [run(rng, 100 * k, 200, model=f"m{k}") for k in range(1, 6) for _ in range(3 if k == 1 else rng.randint(1, 6))]


def seeds(rng, factor):
    """Five seeds on both sides, which differ by 10 %; of a seed the durations of both sides differ by 1 %."""
    return [run(rng, 100 * math.exp(random.Random(f"seed {k}").gauss(0, 0.1)), 200, sd=0.01 / math.sqrt(2), seed=k) for k in range(1, 6)]


DESIGNS = (("5 seeds, on both sides", seeds), ("2 strata of 20 runs a side", two_blocks), ("3 runs a side", three_each), ("8 strata of one run a side", pairs),
           ("6 and 15 runs, spreads 1 to 4", unequal), ("2 models, 15:5 against 5:15", mixed_models),
           ("random epochs and rates, 20 a side", mutated), ("5 models, 1 to 6 runs", ragged),
           ("2 strata of 5, t5 noise", heavy_tails), ("2 strata of 5, exponential noise", skewed_noise))


def one(tare, design, seed, factor):
    """The comparison of a with b, whose time is factor times a's (power is the same)."""
    rng = random.Random(seed)
    top = tempfile.mkdtemp(prefix="compare-", dir=os.environ.get("TMPDIR"))
    try:
        a, b = design(rng, None), design(rng, factor)
        for row in b:
            row["duration_s"] *= factor
            row["energy_j"] *= factor
        write_folder(top + "/a", a)
        write_folder(top + "/b", b)
        done = subprocess.run([tare, "compare", top + "/a", top + "/b", "--json"], capture_output=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{top}: {done.stderr.decode()}")
        return json.loads(done.stdout)
    finally:
        shutil.rmtree(top)


def rates(tare, design, count, seed, pool):
    """null comparisons with any claim, intervals that hold the ratio, intervals, comparisons whose strata are told to differ"""
    null = list(pool.map(lambda k: one(tare, design, f"{seed} null {k}", 1.0), range(count)))
    changed = list(pool.map(lambda k: one(tare, design, f"{seed} changed {k}", 1.1), range(count)))
    claims = sum(any(q["told_apart"] for q in got["quantities"]) for got in null)
    held = intervals = 0
    for got, factor in [(got, 1.0) for got in null] + [(got, 1.1) for got in changed]:
        for quantity in got["quantities"]:
            truth = 1.0 if quantity["name"] == "gpu_power_w" else factor
            if quantity["name"] in QUANTITIES and quantity["interval"]:
                held += quantity["interval"]["low"] <= truth <= quantity["interval"]["high"]
                intervals += 1
    told = sum(any(q["heterogeneity"] and q["heterogeneity"]["p_corrected"] <= 0.05 for q in got["quantities"]) for got in null + changed)
    return claims, held, intervals, told


def power(tare, count, seed, pool):
    """How often 2 % is found of five seeds, before Holm's correction."""
    changed = pool.map(lambda k: one(tare, seeds, f"{seed} power {k}", 1.02), range(count))
    times = [q for got in changed for q in got["quantities"] if q["name"] == "duration_s"]
    assert all(q["test"] == "paired_t" for q in times), times
    return sum(q["raw"]["p"] < 0.05 for q in times) / count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--most", type=float)
    parser.add_argument("--least", type=float)
    parser.add_argument("--power", type=float, help="fail where 2 % is found less often, of five seeds with differences of 1 %")
    options = parser.parse_args()
    tare, total = os.environ.get("TARE", "tare"), [0, 0, 0, 0]
    print(f"| design ({options.count} null comparisons each) | a difference is claimed | the interval holds the ratio | strata are told to differ |\n| --- | --- | --- | --- |")
    with ThreadPoolExecutor(options.jobs) as pool:
        for text, design in DESIGNS:
            found = rates(tare, design, options.count, options.seed, pool)
            total = [a + b for a, b in zip(total, found)]
            print(f"| {text} | {100 * found[0] / options.count:.1f} % | {100 * found[1] / found[2]:.1f} % | {50 * found[3] / options.count:.1f} % |", flush=True)
        if options.power is not None:
            found = power(tare, options.count, options.seed, pool)
            print(f"2 % of five pairs of seeds, sd of the differences 1 %: found in {100 * found:.1f} %")
            if found < options.power - 3 * math.sqrt(options.power * (1 - options.power) / options.count):
                return True
    count, failed = options.count * len(DESIGNS), False
    false, held = total[0] / count, total[1] / total[2]
    print(f"| all {count} null comparisons and {total[2]} intervals | {100 * false:.1f} % | {100 * held:.1f} % | {50 * total[3] / count:.1f} % |")
    if options.most is not None:
        failed |= false > options.most + 3 * math.sqrt(options.most * (1 - options.most) / count)
    if options.least is not None:
        # The three quantities of one comparison go together.
        failed |= held < options.least - 3 * math.sqrt(options.least * (1 - options.least) / (2 * count))
    return failed


if __name__ == "__main__":
    sys.exit(main())
