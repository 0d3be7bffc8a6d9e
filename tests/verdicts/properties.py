#!/usr/bin/env python3
"""What must hold of a judge on every folder, whatever its truth.

  properties.py TARE [--folders N] [--first SEED] [--removals N] [--held-out [SET]] [--scenarios NAME...]

1. Removing a file, or all files of one kind, makes no experiment clean that was not.
2. The order of summary.csv's rows changes no verdict.
3. Moving all times by a day changes no verdict.
4. One more clean experiment makes none contaminated or suspect that was not, unless it was disturbed in truth.

Exits 1 when one did not hold.
"""
import argparse
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from folders import generate
from layout import FILES
from matrix import add_held_out, audit, chosen_scenarios
from study import stream

DAY_S = 86400
SHOWN = 30


def verdicts(tare, folder):
    """(id, which of the rows with that id) -> {"experiment": verdict, "time": ..., ...}; None when refused."""
    answer, _ = audit(tare, folder / "results")
    if answer is None:
        return None
    found, rows = {}, Counter()
    for experiment in answer["experiments"]:
        identifier = experiment["experiment_id"]
        own = {"experiment": experiment.get("verdict") or "none"} | (experiment.get("verdicts") or {})
        found[identifier, rows[identifier]] = own
        rows[identifier] += 1
    return found


def became(before, after, allowed):
    """Texts of the verdicts that changed in a way that `allowed(old, new)` does not admit."""
    if after is None:
        return ["the folder is refused"]
    return [f"{key[0]} {what}: {old} -> {after[key].get(what)}"
            for key, verdict in before.items() if key in after
            for what, old in verdict.items() if not allowed(old, after[key].get(what))]


def same(old, new):
    return old == new


def not_newly_clean(old, new):
    return new != "clean" or old == "clean"


def not_newly_bad(old, new):
    return new not in ("contaminated", "suspect") or old == new or old == "contaminated"


def removals(folder, rng, count):
    """Sets of files to remove: every kind at once, and some single files."""
    results = folder / "results"
    yield "summary.csv", [results / "summary.csv"]
    for path in FILES:
        yield f"all {path}", sorted(results.glob(f"*/{path}"))
    single = sorted(path for path in results.glob("*/**/*") if path.is_file())
    for path in rng.sample(single, min(count, len(single))):
        yield str(path.relative_to(results)), [path]


def check_removals(tare, folder, before, rng, count):
    for name, paths in list(removals(folder, rng, count)):
        if not paths:
            continue
        kept = {path: path.read_bytes() for path in paths}
        for path in paths:
            path.unlink()
        after = verdicts(tare, folder)
        for path, content in kept.items():
            path.write_bytes(content)
        if after is None and name == "summary.csv":
            after = {}
        for text in became(before, after, not_newly_clean):
            yield f"without {name}: {text}"


def check_order(tare, folder, before, rng):
    summary = folder / "results" / "summary.csv"
    header, *rows = summary.read_bytes().splitlines(keepends=True)
    shuffled = rng.sample(rows, len(rows))
    summary.write_bytes(header + b"".join(shuffled))
    unique = {key for key in before if (key[0], 1) not in before}
    wanted = {key: before[key] for key in unique}
    yield from (f"rows in another order: {text}" for text in became(wanted, verdicts(tare, folder), same))
    summary.write_bytes(header + b"".join(rows))


def check_day(tare, scenario, seed, folder, before):
    generate(scenario, seed, folder, shift_s=DAY_S)
    yield from (f"a day later: {text}" for text in became(before, verdicts(tare, folder), same))


def check_one_more(tare, scenario, seed, folder, before):
    truth = generate(scenario, seed, folder, extra=1)
    undisturbed = {key: own for key, own in before.items()
                   if key[0] in truth and not truth[key[0]]["disturbed_by"] and not truth[key[0]]["data_errors"]}
    yield from (f"one more experiment: {text}" for text in became(undisturbed, verdicts(tare, folder), not_newly_bad))


def check(task):
    """One folder: (property, text) of all that did not hold."""
    tare, scenario, seed, count = task
    rng = stream("properties", scenario, seed)
    folder = Path(tempfile.mkdtemp(prefix="folders-"))
    try:
        generate(scenario, seed, folder)
        before = verdicts(tare, folder)
        if before is None:
            return [("parsed", f"{scenario} {seed}: the folder is refused")]
        broken = [("removal", text) for text in check_removals(tare, folder, before, rng, count)]
        broken += [("order", text) for text in check_order(tare, folder, before, rng)]
        broken += [("day", text) for text in check_day(tare, scenario, seed, folder, before)]
        broken += [("one more", text) for text in check_one_more(tare, scenario, seed, folder, before)]
        return [(name, f"{scenario} {seed}: {text}") for name, text in broken]
    finally:
        shutil.rmtree(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tare")
    parser.add_argument("--scenarios", nargs="+", metavar="NAME")
    parser.add_argument("--folders", type=int, default=5, metavar="N", help="per scenario")
    parser.add_argument("--first", type=int, default=1, metavar="SEED", help="the first seed")
    parser.add_argument("--removals", type=int, default=12, metavar="N", help="single files removed per folder")
    add_held_out(parser)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    names = chosen_scenarios(arguments.scenarios, arguments.held_out)
    tasks = [(arguments.tare, name, seed, arguments.removals) for name in names
             for seed in range(arguments.first, arguments.first + arguments.folders)]
    began = time.monotonic()
    with multiprocessing.Pool(arguments.jobs) as pool:
        broken = [case for cases in pool.imap(check, tasks) for case in cases]
    counts = Counter(name for name, _ in broken)
    print(f"{len(tasks)} folders in {time.monotonic() - began:.0f} s; verdicts that broke a property:")
    for name in ("parsed", "removal", "order", "day", "one more"):
        print(f"  {name}: {counts[name]}")
        for text in [text for kind, text in broken if kind == name][:SHOWN // 5]:
            print(f"    {text}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
