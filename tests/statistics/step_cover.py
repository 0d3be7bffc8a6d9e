#!/usr/bin/env python3
"""Do stated curves of training steps hold the truth? step_cover.py PROGRAM [--count N] [--kinds K,...] [--held-out] [--json OUT]

PROGRAM (a command line, run without a shell) reads cases of step_cases.py from standard input and prints for each case either

  NAME none REASON                                 the case is not resolved, no figures

or a line for each of its phases, and any number of bins:

  NAME phase PHASE ENERGY_J HALF_WIDTH_J           mean energy of this phase per step; - - where it states none
  NAME bin BEGIN_S END_S POWER_W HALF_WIDTH_W      mean power over the steps at this offset from the step's begin; 5 ms long at most

The truth comes from step_cases.py, which says what it is: of steps of up to 1.5 times the median length. Bins that fewer than 90 % of these
steps reach are not judged. Printed of each kind: cases; the share that is resolved (a phase or a bin has a figure); phases and bins judged, in
how many |figure - truth| <= half-width, with Wilson's 95 % interval (figures of one case share its sensor: the interval is of as many
independent ones as their scatter over the cases says); median and 95th percentile of |error| and the median half-width of phases in % of the
phase's energy, and the median half-width of bins in % of the step's mean power. Totals by load, by sensor and of all.
"low": coverage below 93 %. "FAILS": the whole interval is below.

Exit status: 0, 1 if phases or bins of a kind fail, 2 if PROGRAM does not do as described above."""
import argparse
import collections
import json
import math
import multiprocessing
import os
import shlex
import statistics
import subprocess
import sys
import tempfile

import step_cases
from sensors_cover import LEAST, ProgramError, independent, number, wilson

LONGEST_BIN = 0.005 + 1e-9      # seconds; the rest is for rounding


def figure(parts, what):
    """Value and half-width, or None for - -."""
    if parts == ["-", "-"]:
        return None
    if "-" in parts:
        raise ProgramError(f"one of two figures: {what}")
    return number(parts[0], "value", -math.inf), number(parts[1], "half-width", 0)


def parse(text, phases):
    """What PROGRAM says of the cases of phases {case: names}: {case: {"none": reason} or {"phase": {name: figure}, "bin": {(a, b): figure}}}."""
    said = {}
    for line in text.splitlines():
        parts = line.split()
        if len(parts) < 2 or parts[0] not in phases:
            raise ProgramError(f"not of a case that was asked for: {line}")
        about = said.setdefault(parts[0], {"none": None, "phase": {}, "bin": {}})
        kind, rest = parts[1], parts[2:]
        if kind == "none" and rest:
            about["none"] = " ".join(rest) if about["none"] is None else ""
        elif kind == "phase" and len(rest) == 3:
            if rest[0] not in phases[parts[0]] or rest[0] in about["phase"]:
                raise ProgramError(f"unknown phase, or one twice: {line}")
            about["phase"][rest[0]] = figure(rest[1:], line)
        elif kind == "bin" and len(rest) == 4:
            a, b = (number(word, "offset", 0) for word in rest[:2])
            if a is None or b is None or not 0 < b - a <= LONGEST_BIN or (a, b) in about["bin"]:
                raise ProgramError(f"empty bin, longer than 5 ms, or twice: {line}")
            about["bin"][a, b] = figure(rest[2:], line)
        else:
            raise ProgramError(f"unknown line: {line}")
        if about["none"] is not None and (about["none"] == "" or about["phase"] or about["bin"]):
            raise ProgramError(f"none beside figures, or twice: {line}")
    for name, names in phases.items():
        if name not in said:
            raise ProgramError(f"no line for {name}")
        for phase in names if said[name]["none"] is None else ():
            if phase not in said[name]["phase"]:
                raise ProgramError(f"no line for phase {phase} of {name}")
    return said


def judge(case, what, name, stated, truth, whole):
    """One figure beside its truth; errors in % of whole."""
    error = stated[0] - truth
    return {"case": case, "what": what, "name": name, "value": stated[0], "half_width": stated[1], "truth": truth,
            "error_percent": 100 * abs(error) / whole, "half_width_percent": 100 * stated[1] / whole, "covered": abs(error) <= stated[1]}


def run_kind(task):
    """Rows and resolved cases of one kind, and what PROGRAM did wrong."""
    program, kind, seed, count = task
    cases = [step_cases.make_case(kind, s) for s in range(seed, seed + count)]
    text = "".join(step_cases.case_text(case) for case in cases)
    rows, reasons = [], {}
    try:
        done = subprocess.run(program, input=text, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ProgramError(f"exit status {done.returncode}: {done.stderr.strip()[-500:]}")
        said = parse(done.stdout, {case["name"]: case["training"].names for case in cases})
    except (ProgramError, OSError) as error:
        return kind, [], {}, f"{kind}: {error}"
    for case in cases:
        name, training = case["name"], case["training"]
        about, truth, before = said[name], training.truth_phases(), len(rows)
        rows += [judge(name, "phase", phase, stated, truth[phase], truth[phase]) for phase, stated in about["phase"].items() if stated]
        power = sum(truth.values()) / float(training.length[training.used].mean())
        bins = {span: training.truth_bin(*span) for span, stated in about["bin"].items() if stated}
        rows += [judge(name, "bin", f"{a:g} {b:g}", about["bin"][a, b], want, power) for (a, b), want in bins.items() if want is not None]
        if len(rows) == before:
            reasons[name] = about["none"] or "no figure"
    return kind, rows, {"cases": count, "reasons": reasons}, None


def share_of(rows):
    """Coverage with its interval."""
    share = sum(row["covered"] for row in rows) / len(rows)
    low, high = wilson(share, independent(rows))
    return {"judged": len(rows), "coverage": share, "low": low, "high": high, "verdict": "" if share >= LEAST else "FAILS" if high < LEAST else "low",
            "half_width_percent": statistics.median(row["half_width_percent"] for row in rows),
            "error_percent": statistics.median(row["error_percent"] for row in rows),
            "error_percent_95": sorted(row["error_percent"] for row in rows)[math.ceil(0.95 * len(rows)) - 1]}


def summary(rows, cases, unresolved):
    found = {"cases": cases, "resolved": (cases - unresolved) / cases}
    for what in ("phase", "bin"):
        some = [row for row in rows if row["what"] == what]
        if some:
            found[what] = share_of(some)
    return found


HEAD = ("kind", "cases", "resolved", "phases", "covered", "95 % interval", "error", "p95 error", "half-width", "bins", "covered", "95 % interval", "half-width",
        "")
ROW = "{:<24} {:>5} {:>8} {:>7} {:>8} {:>15} {:>8} {:>9} {:>10} {:>8} {:>8} {:>15} {:>10}  {}"


def percent(value):
    return f"{value:.3g} %"


def table_row(name, found):
    words = [name, found["cases"], f"{100 * found['resolved']:.0f} %"]
    for what, keys in (("phase", ("error_percent", "error_percent_95", "half_width_percent")), ("bin", ("half_width_percent",))):
        one = found.get(what)
        words += [one["judged"], f"{100 * one['coverage']:.1f} %", f"{100 * one['low']:.1f}-{100 * one['high']:.1f} %",
                  *(percent(one[key]) for key in keys)] if one else [0] + ["-"] * (2 + len(keys))
    words.append(", ".join(f"{what}s {found[what]['verdict']}" for what in ("phase", "bin") if found.get(what, {}).get("verdict")))
    return ROW.format(*words).rstrip()


def evaluate(program, some, count, seed, jobs, out=None):
    """Runs and prints; the results as they go to --json."""
    results, wrong = {}, []
    with multiprocessing.Pool(jobs) as pool:
        for kind, rows, counts, problem in pool.imap_unordered(run_kind, [(program, kind, seed, count) for kind in some]):
            if problem:
                wrong.append(problem)
            else:
                results[kind] = rows, counts
    results = {kind: results[kind] for kind in some if kind in results}
    per_kind = {kind: summary(rows, counts["cases"], len(counts["reasons"])) for kind, (rows, counts) in results.items()}
    print(ROW.format(*HEAD).rstrip(), file=out)
    for kind, found in per_kind.items():
        print(table_row(kind, found), file=out)
    totals = {}
    for label in (lambda kind: kind.split("-")[0] + "-*", lambda kind: "*-" + kind.split("-")[1], lambda kind: "all"):
        groups = collections.defaultdict(list)
        for kind in results:
            groups[label(kind)].append(kind)
        print(file=out)
        for name, kinds in groups.items():
            totals[name] = summary([row for kind in kinds for row in results[kind][0]], sum(results[kind][1]["cases"] for kind in kinds),
                                   sum(len(results[kind][1]["reasons"]) for kind in kinds))
            print(table_row(name, totals[name]), file=out)
    verdicts = {kind: {found[what]["verdict"] for what in ("phase", "bin") if what in found} for kind, found in per_kind.items()}
    failing = [kind for kind, said in verdicts.items() if "FAILS" in said]
    low = sum("low" in said and "FAILS" not in said for said in verdicts.values())
    print(f"\n{len(per_kind)} kinds: {len(failing)} fail, {low} more below {100 * LEAST:.0f} %", file=out)
    for problem in sorted(wrong):
        print(f"step_cover.py: {shlex.join(program)}: {problem}", file=sys.stderr)
    return {"count": count, "seed": seed, "kinds": per_kind, "totals": totals, "failing": failing, "problems": sorted(wrong),
            "unresolved": {name: reason for _, counts in results.values() for name, reason in counts["reasons"].items()},
            "misses": [row for rows, _ in results.values() for row in rows if not row["covered"]]}


def exit_status(report):
    return 2 if report["problems"] else 1 if report["failing"] else 0


# ---- self-test: programs whose answers are known

FAKE = """
import sys
sys.path.insert(0, sys.argv[1])
import step_cases
number = 0
for line in sys.stdin:
    if not line.startswith("case "):
        continue
    name = line.split()[1]
    seed = int(name.split("/")[1])
    training = step_cases.make_case(name.split("/")[0], seed)["training"]
    truth = training.truth_phases()
    def phases(value, half):
        for phase in truth:
            print(name, "phase", phase, repr(truth[phase] * value), repr(truth[phase] * half))
    def bins(value, half, count=4):
        for k in range(count):
            watts = training.truth_bin(0.005 * k, 0.005 * k + 0.005) or 1.0
            print(name, "bin", 0.005 * k, 0.005 * k + 0.005, repr(watts * value), repr(watts * half))
%s
"""


def self_test():
    kind = "short-fast"
    assert kind in step_cases.all_kinds()

    def near(got, want, tolerance):
        assert abs(got - want) <= tolerance, f"{got} is not {want}"

    def run(body, count=2):
        with tempfile.TemporaryDirectory() as top:
            with open(top + "/fake.py", "w", encoding="utf-8") as file:
                file.write(FAKE % "\n".join("    " + line for line in body.splitlines()))
            with open(top + "/table", "w+", encoding="utf-8") as table:
                report = evaluate([sys.executable, file.name, os.path.dirname(os.path.abspath(__file__))], [kind], count, 1, 1, table)
                table.seek(0)
                return report, report["kinds"].get(kind), table.read()

    def a_program_that_holds_the_truth_passes():
        report, found, table = run("phases(1.01, 0.02)\nbins(0.98, 0.03)")
        assert exit_status(report) == 0 and not report["problems"] and found["resolved"] == 1 and not report["misses"]
        for what, error, half_width in (("phase", 1, 2), ("bin", None, None)):
            assert found[what]["coverage"] == 1 and found[what]["verdict"] == "" and found[what]["judged"] > 0
            if error:
                near(found[what]["error_percent"], error, 1e-6)
                near(found[what]["error_percent_95"], error, 1e-6)
                near(found[what]["half_width_percent"], half_width, 1e-6)
        assert found["bin"]["judged"] == 8 and "100.0 %" in table and "phases" not in table.splitlines()[1]

    def a_program_that_misses_fails():
        report, found, table = run("phases(1.03, 0.02)\nbins(1, 0.01)")
        assert exit_status(report) == 1 and report["failing"] == [kind] and found["phase"]["verdict"] == "FAILS" and found["bin"]["verdict"] == ""
        assert "phases FAILS" in table and len(report["misses"]) == found["phase"]["judged"]
        report, found, table = run("phases(1, 0.02)\nbins(0.9, 0.01)")
        assert exit_status(report) == 1 and found["bin"]["verdict"] == "FAILS" and "bins FAILS" in table

    def one_case_of_many_that_misses_is_low_at_most():
        report, found, _ = run("phases(1 if seed % 4 else 1.1, 0.02)", 4)
        assert found["phase"]["verdict"] == "low" and exit_status(report) == 0, found
        assert 0.6 < found["phase"]["coverage"] < 0.85 and "bin" not in found

    def a_case_without_figures_is_unresolved_and_not_judged():
        report, found, table = run("if seed % 2: print(name, 'none', 'too', 'few steps')\nelse: phases(1, 0)")
        assert found["resolved"] == 0.5 and report["unresolved"] == {kind + "/1": "too few steps"} and found["phase"]["coverage"] == 1 and "50 %" in table
        report, found, _ = run("for phase in truth: print(name, 'phase', phase, '-', '-')")
        assert found["resolved"] == 0 and "phase" not in found and report["unresolved"][kind + "/1"] == "no figure" and exit_status(report) == 0

    def bins_that_few_steps_reach_are_not_judged():
        _, found, _ = run("phases(1, 0)\nbins(1, 0.001, 60)")
        assert 8 < found["bin"]["judged"] < 30 and found["bin"]["coverage"] == 1, found

    def what_breaks_the_format_is_an_error():
        for body, said in (("pass", "no line for short-fast/1"), ("bins(1, 1)", "no line for phase data"), ("phases(1, 1)\nphases(1, 1)", "one twice"),
                           ("phases(1, 1)\nprint(name, 'phase', 'lunch', 1, 1)", "unknown phase"), ("print('x', 'none', 'y')", "not of a case"),
                           ("phases(1, 1)\nprint(name, 'bin', 0, 0.006, 1, 1)", "longer than 5 ms"), ("phases(1, 1)\nbins(1, 1)\nbins(1, 1)", "twice"),
                           ("phases(1, 1)\nprint(name, 'bin', 0.005, 0.005, 1, 1)", "empty bin"), ("phases(1, -1)", "half-width is not"),
                           ("phases(1, 1)\nprint(name, 'bin', -0.005, 0, 1, 1)", "offset is not"), ("phases(float('nan'), 1)", "value is not"),
                           ("phases(1, 1)\nprint(name, 'bin', 0, 0.005, 1, '-')", "one of two"), ("phases(1, 1)\nprint(name, 'none', 'x')", "none beside"),
                           ("print(name, 'none')", "unknown line"), ("print(name, 'none', 'x')\nprint(name, 'none', 'x')", "none beside figures, or twice"),
                           ("phases(1, 1)\nprint(name, 'curve')", "unknown line"), ("phases(1, 1)\nsys.exit(3)", "exit status 3")):
            report, found, _ = run(body, 1)
            assert exit_status(report) == 2 and found is None and said in report["problems"][0], f"{body}: {report['problems']}"

    tests = (a_program_that_holds_the_truth_passes, a_program_that_misses_fails, one_case_of_many_that_misses_is_low_at_most,
             a_case_without_figures_is_unresolved_and_not_judged, bins_that_few_steps_reach_are_not_judged, what_breaks_the_format_is_an_error)
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
    parser.add_argument("program", nargs="?")
    parser.add_argument("--kinds", help="LOAD-SENSOR,...")
    parser.add_argument("--count", type=int, default=10, help="cases of each kind")
    parser.add_argument("--seed", type=int, default=1, help="the first case's seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--held-out", action="store_true", help="only the kinds that are held out")
    parser.add_argument("--json", metavar="OUT")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    if not options.program or options.count < 1:
        parser.error("PROGRAM is missing" if not options.program else "--count is 1 or more")
    report = evaluate(shlex.split(options.program), step_cases.chosen_kinds(options.kinds, options.held_out, "step_cover.py"), options.count, options.seed,
                      options.jobs)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)
    return exit_status(report)


if __name__ == "__main__":
    sys.exit(main())
