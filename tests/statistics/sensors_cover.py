#!/usr/bin/env python3
"""Does the stated uncertainty hold the truth? sensors_cover.py [PROGRAM] [--count N] [--windows 2s,...] [--cells F/L,...] [--marks] [--json OUT]

PROGRAM (build/tests/statistics/window_cover) reads cases of sensors.py from standard input and prints for each window one line:
NAME START_NS END_NS ENERGY_J HALF_WIDTH_J SOURCE, with - for an energy or a half-width that it does not state. Printed of each cell
(family, load, window): how many windows, in how many of those with an energy |energy - truth| <= half-width, with Wilson's 95 %
interval (windows of one case share its sensor: the interval is of as many independent windows as their scatter over the cases says);
median half-width and median error in % of the truth; the 95th percentile of |error| / half-width (1 or less where 95 % are covered);
windows without an energy. "low": coverage below 93 %. "FAILS": the whole interval is below, of 20 windows or more. A quarter of the
sensors have a gain error within the bound that they state; the totals tell their windows apart. With --marks only loads that repeat in steps are run, and PROGRAM also
reads when each step begins, in lines `s NS` before a case's windows. With the defaults some 60 000 windows,
4 minutes of one core and what PROGRAM needs.

Exit status: 0, 1 if a cell fails, 2 if PROGRAM does not do as described above."""
import argparse
import collections
import json
import math
import multiprocessing
import os
import stat
import statistics
import subprocess
import sys
import tempfile

import sensors

LEAST = 0.93
FEWEST = 20             # of so many windows a cell can fail; one miss of two says nothing
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")


class ProgramError(Exception):
    pass


def wilson(share, n):
    """Wilson's 95 % interval of a share of n."""
    z = 1.959964
    center = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, center - half), min(1.0, center + half)


def independent(rows):
    """How many independent windows are worth as much as these: fewer, where the windows of one case fail together."""
    cases = collections.defaultdict(list)
    for row in rows:
        cases[row["case"]].append(row["covered"])
    n, k = len(rows), len(cases)
    share = sum(row["covered"] for row in rows) / n
    variance = sum((sum(c) - share * len(c)) ** 2 for c in cases.values()) / n ** 2 * k / max(1, k - 1)
    return n if variance == 0 else min(n, max(k, share * (1 - share) / variance))


def summary(rows):
    """The figures of some windows."""
    stated = [row for row in rows if row["covered"] is not None]
    out = {"windows": len(rows), "cases": len({row["case"] for row in rows}), "absent": len(rows) - len(stated)}
    if stated:
        share = sum(row["covered"] for row in stated) / len(stated)
        ratios = sorted(abs(row["error"]) / row["half_width"] if row["half_width"] > 0 else (math.inf if row["error"] else 0) for row in stated)
        low, high = wilson(share, independent(stated))
        out.update(coverage=share, low=low, high=high,
                   half_width_percent=100 * statistics.median(row["half_width"] / row["truth"] for row in stated),
                   error_percent=100 * statistics.median(abs(row["error"]) / row["truth"] for row in stated),
                   bias_percent=100 * statistics.fmean(row["error"] / row["truth"] for row in stated),
                   ratio_95=min(ratios[math.ceil(0.95 * len(ratios)) - 1], 1e9),
                   sources=dict(collections.Counter(row["source"] for row in stated)))
    return out


def number(text, what, least):
    if text == "-":
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not least <= value < math.inf:
        raise ProgramError(f"{what} is not a number from {least} on: {text}")
    return value


def answers(program, text, expected):
    """What PROGRAM says of these cases: one row for each expected window (name, start, end, truth)."""
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ProgramError(f"exit status {done.returncode}: {done.stderr.strip()[-500:]}")
    said = {}
    for line in done.stdout.splitlines():
        parts = line.split(None, 5)
        if len(parts) != 6:
            raise ProgramError(f"not a line of 6 words: {line}")
        if tuple(parts[:3]) in said:
            raise ProgramError(f"a window twice: {line}")
        said[tuple(parts[:3])] = number(parts[3], "energy", -math.inf), number(parts[4], "half-width", 0), parts[5]
    rows = []
    for name, start, end, truth in expected:
        if (name, str(start), str(end)) not in said:
            raise ProgramError(f"no line for {name} {start} {end}")
        energy, half_width, source = said.pop((name, str(start), str(end)))
        known = energy is not None and half_width is not None
        rows.append({"case": name, "start_ns": start, "end_ns": end, "truth": truth, "energy": energy, "half_width": half_width,
                     "source": source, "error": energy - truth if known else None, "covered": abs(energy - truth) <= half_width if known else None})
    if said:
        raise ProgramError(f"a window that nobody asked for: {' '.join(next(iter(said)))}")
    return rows


def run_cell(task):
    """All cases of one cell, or what PROGRAM did wrong."""
    program, (family, load), window, seed, count, marks = task
    texts, expected, gains = [], [], {}
    while len(expected) < count:
        case = sensors.make_case(family, load, window, seed)
        texts.append(sensors.case_text(case, marks))
        gains[case["name"]] = case["sensor"].gain_bound
        # The truth as it was written, so that both sides compare the same figure.
        expected += [(case["name"], a + case["epoch"], b + case["epoch"], float(f"{truth:.6f}"))
                     for (a, b), truth in zip(case["edges"], case["truth"])]
        seed += 1
    try:
        return task, [{**row, "gain_percent": gains[row["case"]]} for row in answers(program, "".join(texts), expected)], None
    except (ProgramError, OSError) as error:
        return task, [], f"{family}/{load}/{window}: {error}"


HEAD = ("cell", "windows", "covered", "95 % interval", "median ±", "median error", "p95 error/±", "no energy", "")
ROW = "{:<38} {:>7} {:>8} {:>15} {:>9} {:>12} {:>11} {:>9}  {}"


def verdict(found):
    if "coverage" not in found or found["coverage"] >= LEAST:
        return ""
    return "FAILS" if found["high"] < LEAST and found["windows"] - found["absent"] >= FEWEST else "low"


def percent(value):
    return f"{value:.3g} %"


def table_row(name, found):
    absent = f"{100 * found['absent'] / found['windows']:.1f} %"
    if "coverage" not in found:
        return ROW.format(name, found["windows"], "-", "-", "-", "-", "-", absent, "")
    return ROW.format(name, found["windows"], f"{100 * found['coverage']:.1f} %", f"{100 * found['low']:.1f}-{100 * found['high']:.1f} %",
                      percent(found["half_width_percent"]), percent(found["error_percent"]), f"{found['ratio_95']:.2f}", absent, verdict(found)).rstrip()


def by(results, key):
    groups = collections.defaultdict(list)
    for (family, load, window), rows in results.items():
        for row in rows:
            groups[key(family, load, window, row)].append(row)
    return groups


def evaluate(program, cells, windows, count, seed, jobs, out=None, marks=False):
    """Runs and prints; the results as they go to --json."""
    tasks = [(program, cell, window, seed, count if sensors.WINDOWS[window][0] < 100 else max(1, count // 8), marks)
             for cell in cells for window in windows if not marks or cell[1] in sensors.WITH_STEPS]
    results, wrong = {}, []
    # The dearest first, so that the processes end together.
    order = sorted(tasks, key=lambda task: -sensors.WINDOWS[task[2]][0] * task[4])
    with multiprocessing.Pool(jobs) as pool:
        for (_, (family, load), window, *_), rows, problem in pool.imap_unordered(run_cell, order):
            results[family, load, window] = rows
            if problem:
                wrong.append(problem)
    results = {(f, l, w): results[f, l, w] for _, (f, l), w, *_ in tasks if results[f, l, w]}
    per_cell = {name: summary(rows) for name, rows in results.items()}
    print(ROW.format(*HEAD).rstrip(), file=out)
    for name, found in per_cell.items():
        print(table_row("/".join(name), found), file=out)
    totals = {}
    for key in (lambda f, l, w, row: f, lambda f, l, w, row: "*/" + l, lambda f, l, w, row: "*/*/" + w,
                lambda f, l, w, row: "gain error " + (f"up to {row['gain_percent']:g} %" if row["gain_percent"] else "none"),
                lambda f, l, w, row: "all"):
        print(file=out)
        for name, rows in by(results, key).items():
            totals[name] = summary(rows)
            print(table_row(name, totals[name]), file=out)
    failing = ["/".join(name) for name, found in per_cell.items() if verdict(found) == "FAILS"]
    low = sum(verdict(found) == "low" for found in per_cell.values())
    print(f"\n{len(per_cell)} cells: {len(failing)} fail, {low} more below {100 * LEAST:.0f} %", file=out)
    for problem in sorted(wrong):
        print(f"sensors_cover.py: {program}: {problem}", file=sys.stderr)
    return {"count": count, "seed": seed, "cells": {"/".join(name): found for name, found in per_cell.items()}, "totals": totals,
            "failing": failing, "problems": sorted(wrong),
            "misses": [row for rows in results.values() for row in rows if row["covered"] is False]}


def exit_status(report):
    return 2 if report["problems"] else 1 if report["failing"] else 0


# ---- self-test: programs whose answers are known

FAKE = """#!/usr/bin/env python3
import sys
number = case = 0
for line in sys.stdin:
    word, *rest = line.split()
    if word == "case":
        name, case = rest[0], case + 1
    elif word == "w":
        number, truth = number + 1, float(rest[2])
        %s
        print(name, rest[0], rest[1], *("-" if x is None else repr(x) for x in (energy, half)), "fake")
"""
GOOD = "energy, half = truth * 1.01, truth * (0.005 if number % 20 == 0 else 0.02)"
HALF = "energy, half = truth * 0.97, truth * (0.01 if number % 2 else 0.04)"
CASES = "energy, half = truth, 0.0\n        energy += case % 4 == 0"
ABSENT = "energy, half = (None, None) if number % 5 == 0 else (truth, None) if number % 5 == 1 else (truth, 1.0)"
DEAF = "continue"
FAKE_MARKS = """#!/usr/bin/env python3
import sys
for line in sys.stdin:
    word, *rest = line.split()
    if word == "case":
        name, marks = rest[0], []
    elif word == "s":
        marks.append(int(*rest))
    elif word == "w":
        known = len(marks) >= 2 and marks == sorted(marks) and marks[0] < int(rest[0]) and marks[-1] > int(rest[1])
        print(name, rest[0], rest[1], *((rest[2], 0) if known else "--"), "marks" if marks else "none")
"""


def self_test():
    def near(got, want, tolerance):
        assert abs(got - want) <= tolerance, f"{got} is not {want}"

    def report_of(script, cells, window, count, **more):
        with tempfile.TemporaryDirectory() as top:
            with open(top + "/fake", "w", encoding="utf-8") as file:
                file.write(script)
            os.chmod(file.name, stat.S_IRWXU)
            with open(os.devnull, "w", encoding="utf-8") as null:
                return evaluate(file.name, cells, [window], count, 1, 1, null, **more)

    def run(body, window="2s", count=80):
        report = report_of(FAKE % body, sensors.cells(False)[:1], window, count)
        return report, next(iter(report["cells"].values()), None)

    def wilsons_interval_is_the_textbooks():
        near(wilson(1, 10)[0], 0.7225, 1e-4)            # 10 of 10: n / (n + z^2)
        near(wilson(0, 10)[1], 0.2775, 1e-4)
        near(wilson(0.5, 100)[0], 0.4038, 1e-4)         # 50 of 100: 40.4 to 59.6 %
        near(wilson(0.5, 100)[1], 0.5962, 1e-4)

    def a_program_that_covers_19_of_20_passes():
        report, found = run(GOOD)
        near(found["coverage"], 1 - (found["windows"] // 20) / found["windows"], 1e-12)
        near(found["half_width_percent"], 2, 1e-3)
        near(found["error_percent"], 1, 1e-3)
        near(found["bias_percent"], 1, 1e-3)
        assert found["windows"] >= 80 and found["sources"] == {"fake": found["windows"]} and exit_status(report) == 0

    def a_program_that_covers_half_fails():
        report, found = run(HALF)
        near(found["coverage"], 0.5, 0.01)
        near(found["ratio_95"], 3, 1e-3)
        near(found["bias_percent"], -3, 1e-3)
        assert exit_status(report) == 1 and len(report["failing"]) == 1 and verdict(found) == "FAILS"
        assert len(report["misses"]) == round(found["windows"] * (1 - found["coverage"]))

    def windows_of_one_case_that_fail_together_count_as_one():
        report, found = run(CASES, count=40)
        assert found["high"] > wilson(found["coverage"], found["windows"])[1] + 0.03, found
        near(found["high"], wilson(found["coverage"], found["cases"])[1], 0.03)
        assert exit_status(report) in (0, 1)

    def energies_and_half_widths_that_are_absent_are_counted_apart():
        _, found = run(ABSENT)
        near(found["absent"] / found["windows"], 0.4, 0.02)
        assert found["coverage"] == 1

    def a_program_that_says_nothing_is_an_error():
        report, found = run(DEAF)
        assert exit_status(report) == 2 and found is None and "no line for" in report["problems"][0]

    def a_cell_fails_only_if_chance_does_not_explain_it():
        assert verdict(summary([{**{"covered": False, "error": 1.0, "half_width": 0.5, "truth": 1.0, "source": "x"}, "case": str(i)}
                                for i in range(FEWEST - 1)])) == "low"
        rows = [{"case": str(i), "covered": i >= 8, "error": 1.0, "half_width": 2.0, "truth": 100.0, "source": "x"} for i in range(100)]
        assert verdict(summary(rows)) == "low" and verdict(summary([{**row, "covered": i >= 15} for i, row in enumerate(rows)])) == "FAILS"

    def marks_reach_the_program_and_only_loads_with_steps_are_run():
        cells = [("boxcar-looks", load) for load in sensors.LOADS if load != "trace"]
        without, marked = (report_of(FAKE_MARKS, cells, "10s", 20, marks=marks) for marks in (False, True))
        assert exit_status(without) == exit_status(marked) == 0, without["problems"] + marked["problems"]
        assert list(marked["cells"]) == [f"boxcar-looks/{load}/10s" for load in sensors.LOADS if load in sensors.WITH_STEPS]
        assert len(without["cells"]) == len(cells)
        assert all(found["absent"] == found["windows"] for found in without["cells"].values())
        for name, found in marked["cells"].items():
            assert found["windows"] == without["cells"][name]["windows"] and found["sources"] == {"marks": found["windows"] - found["absent"]}
        # The others are of trainings that import or warm up when the window begins, or of few steps.
        assert marked["totals"]["all"]["absent"] < 0.4 * marked["totals"]["all"]["windows"], marked["totals"]["all"]

    tests = (wilsons_interval_is_the_textbooks, a_program_that_covers_19_of_20_passes, a_program_that_covers_half_fails,
             windows_of_one_case_that_fail_together_count_as_one, energies_and_half_widths_that_are_absent_are_counted_apart,
             a_program_that_says_nothing_is_an_error, a_cell_fails_only_if_chance_does_not_explain_it,
             marks_reach_the_program_and_only_loads_with_steps_are_run)
    failed = 0
    stderr, sys.stderr = sys.stderr, open(os.devnull, "w", encoding="utf-8")
    try:
        for i, test in enumerate(tests, 1):
            try:
                test()
                print(f"ok {i} {test.__name__.replace('_', ' ')}", flush=True)
            except AssertionError as error:
                failed += 1
                print(f"not ok {i} {test.__name__.replace('_', ' ')}: {error}", flush=True)
    finally:
        sys.stderr.close()
        sys.stderr = stderr
    print(f"1..{len(tests)}")
    return int(failed > 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", default=os.path.join(ROOT, "build/tests/statistics/window_cover"))
    parser.add_argument("--cells", help="FAMILY/LOAD,... where either may be *")
    parser.add_argument("--windows", default="0.5s,2s,10s,60s", help="of " + ", ".join(sensors.WINDOWS))
    parser.add_argument("--count", type=int, default=200, help="windows of each cell at least; an eighth for windows of 10 min and 1 h")
    parser.add_argument("--seed", type=int, default=1, help="the first case's seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--held-out", action="store_true", help="only the cells that are held out")
    parser.add_argument("--marks", action="store_true", help="only loads that repeat in steps; PROGRAM also reads when each step begins")
    parser.add_argument("--json", metavar="OUT")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    unknown = [name for name in options.windows.split(",") if name not in sensors.WINDOWS]
    if unknown:
        parser.error(f"unknown window: {unknown[0]} (known: {', '.join(sensors.WINDOWS)})")
    cells = sensors.chosen_cells(options.cells, options.held_out)
    if options.marks and not any(load in sensors.WITH_STEPS for _, load in cells):
        parser.error(f"--marks: none of these loads repeats in steps (those that do: {', '.join(sensors.WITH_STEPS)})")
    report = evaluate(os.path.abspath(options.program), cells, options.windows.split(","),
                      options.count, options.seed, options.jobs, marks=options.marks)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)
    return exit_status(report)


if __name__ == "__main__":
    sys.exit(main())
