#!/usr/bin/env python3
"""Runs tare on training logs in the formats of real programs and judges the reported metrics.

harness.py development|held-out|check|choose [CASE...]      see README.md
"""
import argparse
import csv
import math
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TARE = os.environ.get("TARE", str(HERE.parent.parent / "build/src/cli/tare"))
PARTS = HERE / "parts.txt"
SEED = 60  # of the choice of the held-out part
MISSING_LIMIT = 0.1  # the share of wanted metrics that may be missing
SYNONYMS = {"acc": "accuracy", "valid": "val", "validation": "val", "eval": "val",
            "evaluation": "val", "dev": "val", "training": "train", "ppl": "perplexity"}


def canonical(name):
    """One spelling of a metric's name: 'Eval/Acc' is val_accuracy."""
    words = [word for word in re.split(r"[^a-z0-9]+", name.lower()) if word]
    return "_".join(SYNONYMS.get(word, word) for word in words)


def same(got, value):
    if math.isnan(value) or math.isinf(value):
        return str(got) == str(value)
    return math.isclose(got, value, rel_tol=1e-9, abs_tol=1e-12)


def percent(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else "none"


class Entry:
    """A metric that is wanted or allowed: names, and the values that are right."""

    def __init__(self, names, value, percent, headline):
        self.names = {canonical(name) for name in names.split()}
        values = list(value) if isinstance(value, (list, tuple)) else [value]
        self.printed = values[0]
        self.values = values + [each / 100 for each in values if percent]
        self.label = names.split()[0]
        self.headline = headline  # of a task: mAP, reward; not a loss, accuracy or F1

    def accepts(self, got):
        return any(same(got, value) for value in self.values)


class Case:
    def __init__(self, path):
        self.name = path.stem
        self.wanted, self.allowed, self.traps = [], [], {}
        scope = {"want": self.want, "may": self.may, "wrong": self.wrong,
                 "nan": math.nan, "inf": math.inf}
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)
        log = scope["LOG"]
        self.log = log if isinstance(log, bytes) else log.lstrip("\n").encode()
        self.stream = scope.get("STREAM", "stdout")
        self.reported = scope.get("REPORTED")  # a message that excuses missing metrics

    def want(self, names, value, percent=False, headline=False):
        self.wanted.append(Entry(names, value, percent, headline))

    def may(self, names, value, percent=False):
        self.allowed.append(Entry(names, value, percent, False))

    def wrong(self, value, why):
        self.traps[value] = why


def read_cases():
    return [Case(path) for path in sorted((HERE / "cases").glob("*.py"))]


def read_parts():
    if not PARTS.exists():
        return {}
    lines = PARTS.read_text(encoding="utf-8").split("\n")
    return dict(line.split() for line in lines if line and line[0] != "#")


def choose(names):
    """Writes parts.txt: holds out a third of the names that are new, and keeps the others."""
    parts = read_parts()
    new = sorted(set(names) - set(parts))
    held_out = set(random.Random(SEED).sample(new, len(new) // 3))
    for name in new:
        parts[name] = "held-out" if name in held_out else "development"
    lines = [f"{name} {parts[name]}\n" for name in sorted(set(names))]
    PARTS.write_text(f"# harness.py choose, seed {SEED}\n" + "".join(lines), encoding="utf-8")


def run_tare(case, folder):
    """(metrics, all other output of tare) of the case's log."""
    log, script = folder / "log.bin", folder / "script"
    log.write_bytes(case.log)
    redirect = " >&2" if case.stream == "stderr" else ""
    script.write_text(f"#!/bin/sh\nexec cat {shlex.quote(str(log))}{redirect}\n")
    script.chmod(0o755)
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("TARE_", "SUDO_", "XDG_"))}
    environment.update(XDG_STATE_HOME=str(folder / "state"), TERM="dumb",
                       XDG_CONFIG_HOME=str(folder / "config"), TARE_LOCK_DIR=str(folder / "locks"))
    command = [TARE, "run", "-q", "--gpus", "none", "-o", "results", "./script"]
    try:
        done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        return {}, "no summary.csv: still running after 120 s"
    output = (done.stdout + done.stderr).decode(errors="replace")
    metrics = {}
    for summary in folder.glob("results/run_*/summary.csv"):
        with open(summary, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                metrics.update((name[5:], value) for name, value in row.items()
                               if name.startswith("perf_") and value)
    for file in folder.glob("results/run_*/*/experiment.json"):
        output += file.read_text(encoding="utf-8", errors="replace")
    if not list(folder.glob("results/run_*/summary.csv")):
        output = f"no summary.csv, exit code {done.returncode}: {output}"
    return metrics, output


def judge(case, metrics, output=""):
    """Rows (outcome, name, got, wanted, why): right, allowed, wrong, missing or reported."""
    rows, settled = [], set()
    for name, text in sorted(metrics.items()):
        try:
            got = float(text)
        except ValueError:
            rows.append(("wrong", name, text, "a number", "cannot be read"))
            continue
        named = [entry for entry in case.wanted if canonical(name) in entry.names]
        others = [entry for entry in case.allowed if canonical(name) in entry.names]
        hits = [entry for entry in named if entry.accepts(got)]
        if hits:
            for entry in hits:
                if entry not in settled:
                    rows.append(("right", name, text, entry.printed, ""))
                settled.add(entry)
        elif any(entry.accepts(got) for entry in others):
            rows.append(("allowed", name, text, "", ""))
        else:
            why = next((why for trap, why in case.traps.items() if same(got, float(trap))), "")
            wanted = " or ".join(str(entry.printed) for entry in named + others)
            rows.append(("wrong", name, text, wanted or "absent", why or "not a value of this log"
                         " under this name"))
    # A metric that was reported under one of its names with a wrong value is not missing too.
    wrong_names = {canonical(row[1]) for row in rows if row[0] == "wrong"}
    for entry in case.wanted:
        if entry in settled or entry.names & wrong_names:
            continue
        excused = case.reported and re.search(case.reported, output, re.IGNORECASE)
        outcome = "reported" if excused else "missing"
        kind = "of the task" if entry.headline else ""
        rows.append((outcome, entry.label, "", entry.printed, kind))
    return rows


def check(cases):
    """Mistakes in the cases themselves; tare is not run."""
    parts, mistakes = read_parts(), []
    for case in cases:
        if parts.get(case.name) not in ("development", "held-out"):
            mistakes.append(f"{case.name}: parts.txt does not name its part: harness.py choose")
        if not case.wanted and not case.traps:
            mistakes.append(f"{case.name}: nothing is wanted and nothing would be wrong")
        text = case.log.decode(errors="replace").replace("\0", "")
        for entry in case.wanted + case.allowed:
            printed = f"{entry.printed:.12g}"
            if not any(same(float(number), entry.printed) for number in
                       re.findall(r"[-+]?\d*\.?\d+(?:[eE][-+]?\d+)?|nan|inf", text.lower())):
                mistakes.append(f"note: {case.name}: {entry.label} {printed} is printed otherwise")
        for trap in case.traps:
            if any(entry.accepts(float(trap)) for entry in case.wanted):
                mistakes.append(f"note: {case.name}: {trap} is both wanted and wrong")
        for entry in case.wanted:
            rows = judge(case, {entry.label: "98765.4321"})
            if rows[0][0] != "wrong" or any(row[0] == "right" for row in rows):
                mistakes.append(f"{case.name}: a made-up {entry.label} is not judged wrong")
        perfect = {entry.label: str(entry.printed) for entry in case.wanted}
        bad = [row for row in judge(case, perfect) if row[0] != "right"]
        if bad and len(perfect) == len(case.wanted):
            mistakes.append(f"{case.name}: the right answer is judged {bad}")
    for name in sorted(set(parts) - {case.name for case in cases}):
        mistakes.append(f"{name}: parts.txt names it, but there is no case")
    print("\n".join(mistakes))
    print(f"{len(cases)} cases, {list(parts.values()).count('held-out')} held out")
    return any(not mistake.startswith("note: ") for mistake in mistakes)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("part", choices=["development", "held-out", "check", "choose"])
    parser.add_argument("cases", nargs="*", help="only these cases of the part")
    arguments = parser.parse_args()
    cases = read_cases()
    if arguments.part == "check":
        return check(cases)
    if arguments.part == "choose":
        choose([case.name for case in cases])
        return 0
    parts = read_parts()
    cases = [case for case in cases if parts[case.name] == arguments.part and
             (not arguments.cases or case.name in arguments.cases)]
    totals = dict.fromkeys(["right", "wrong", "missing", "reported", "allowed"], 0)
    of_task = wanted = wanted_of_task = 0
    print(f"{'case':28} {'outcome':8} {'name':16} {'got':14} {'wanted':14} why")
    for case in cases:
        with tempfile.TemporaryDirectory(prefix="formats60.") as folder:
            metrics, output = run_tare(case, pathlib.Path(folder))
        rows = judge(case, metrics, output)
        wanted += len(case.wanted)
        wanted_of_task += sum(entry.headline for entry in case.wanted)
        for outcome, name, got, value, why in rows:
            totals[outcome] += 1
            of_task += outcome == "missing" and why != ""
            print(f"{case.name:28} {outcome:8} {name:16} {got!s:14} {value!s:14} {why}".rstrip())
        if output.startswith("no summary.csv"):
            print(f"{case.name:28} {' '.join(output.split())[:160]}")
        sys.stdout.flush()
    missing = totals["missing"]
    print(f"{arguments.part}: {len(cases)} cases, {wanted} metrics wanted: "
          f"right {totals['right']}, wrong {totals['wrong']}, missing {missing} "
          f"({percent(missing, wanted)}), unread but reported {totals['reported']}; "
          f"also allowed {totals['allowed']}")
    print(f"without metrics of a task: missing {missing - of_task} of {wanted - wanted_of_task} "
          f"({percent(missing - of_task, wanted - wanted_of_task)})")
    return totals["wrong"] > 0 or missing > MISSING_LIMIT * wanted


if __name__ == "__main__":
    sys.exit(main())
