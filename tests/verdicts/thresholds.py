#!/usr/bin/env python3
"""What moves when each threshold of the judge is halved and doubled.

  thresholds.py build BUILD OUT [NAME...]      builds tare once for each: OUT/NAME-half and OUT/NAME-double
  thresholds.py sweep TARE OUT [--folders N] [--first SEED] [--seconds S]     judges the same folders with all of them

Thresholds are the LIMIT_* of src/results/judge/judge_private.h. The sweep takes the scenarios of all sets and prints a Markdown table of the
headline rates of matrix.py, those of TARE itself first, with Wilson's 95 % intervals.
"""
import argparse
import multiprocessing
import os
import re
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path

from folders import generate
from matrix import audit, chosen_scenarios, count_verdicts, rates_of, share_text

SETS = range(4)


def commands(build, target):
    done = subprocess.run(["ninja", "-C", build, "-t", "commands", target], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def build(arguments):
    out = Path(arguments.out).resolve()
    out.mkdir(parents=True, exist_ok=True)
    header = Path("src/results/judge/judge_private.h").read_text(encoding="utf-8")
    names = re.findall(r"JUDGE_SCALE\(([A-Z_]+)\)", header)
    every = commands(arguments.build, "src/cli/tare")
    compiles = [line for line in every if re.search(r"-c \S*src/results/judge/judge\w*\.c", line)]
    link = every[-1]
    for name in arguments.names or names:
        for what, factor in (("half", "0.5"), ("double", "2")):
            scales = " ".join(f"-DJUDGE_SCALE_{n}={factor if n == name else 1}" for n in names)
            objects = []
            for number, line in enumerate(compiles):
                made = out / f"judge{number}.o"
                objects.append(str(made))
                line = re.sub(r"-o \S+", f"-o {made}", re.sub(r"-M[DQF]+(?: '?\S*\.o(?:\.d)?'?)?", "", line))
                subprocess.run(f"{line} '-DJUDGE_SCALE(name)=JUDGE_SCALE_##name' {scales}", shell=True, check=True,
                               cwd=arguments.build)
            line = re.sub(r"-o \S+", f"-o {out / f'{name}-{what}'} {' '.join(objects)}", link, count=1)
            subprocess.run(line, shell=True, check=True, cwd=arguments.build)


def judge(task):
    """One folder: variant -> counts."""
    variants, scenario, seed = task
    counts = {}
    with tempfile.TemporaryDirectory(prefix="folders-") as folder:
        truth = generate(scenario, seed, folder)
        for name, tare in variants.items():
            answer, refusal = audit(tare, f"{folder}/results")
            if refusal:
                raise SystemExit(f"{name}: {scenario} {seed}: {refusal}")
            counts[name], _ = count_verdicts(scenario, seed, truth, answer)
    return counts


def sweep(arguments):
    variants = {"as it is": arguments.tare} | {p.name: str(p) for p in sorted(Path(arguments.out).iterdir())
                                               if p.suffix != ".o"}
    seeds = range(arguments.first, arguments.first + arguments.folders)
    names = [name for held_out in SETS for name in chosen_scenarios(None, held_out)]
    tasks = [(variants, name, seed) for seed in seeds for name in names]
    total, began, judged = {name: Counter() for name in variants}, time.monotonic(), 0
    with multiprocessing.Pool(arguments.jobs) as pool:
        for counts in pool.imap(judge, tasks):
            for name, own in counts.items():
                total[name].update(own)
            judged += 1
            if time.monotonic() - began > arguments.seconds:
                break
    print(f"{judged} folders in {time.monotonic() - began:.0f} s\n")
    print("| threshold | contaminated, undisturbed | clean, disturbed by more than 5 % | clean, undisturbed |\n"
          "| --- | --- | --- | --- |")
    for name, counts in total.items():
        rates = list(rates_of(counts).values())[:3]
        print(f"| {name} | " + " | ".join(share_text(hits, of) for hits, of in rates) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(required=True)
    builder = actions.add_parser("build")
    builder.add_argument("build")
    builder.add_argument("out")
    builder.add_argument("names", nargs="*")
    builder.set_defaults(act=build)
    sweeper = actions.add_parser("sweep")
    sweeper.add_argument("tare")
    sweeper.add_argument("out")
    sweeper.add_argument("--folders", type=int, default=10, metavar="N", help="per scenario")
    sweeper.add_argument("--first", type=int, default=1, metavar="SEED", help="the first seed")
    sweeper.add_argument("--seconds", type=float, default=float("inf"), metavar="S", help="then report what was judged")
    sweeper.add_argument("--jobs", type=int, default=os.cpu_count())
    sweeper.set_defaults(act=sweep)
    arguments = parser.parse_args()
    arguments.act(arguments)


if __name__ == "__main__":
    main()
