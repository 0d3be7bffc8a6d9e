#!/usr/bin/env python3
"""Compares the values that scripts parse under tare with those of their plain commands.

harness.py [--part development|held_out|all] [--case NAME]... [--plain] [--verbose]

$TARE is the program. Each case is a folder of cases/ with a file "commands", as README.md says.
"""
import argparse
import collections
import concurrent.futures
import importlib.util
import json
import os
import pathlib
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CASES = HERE / "cases"
PARTS = HERE / "parts"
SEED = 38  # of the choice of the held-out third
OPTIONS = ["-q", "--gpus", "none", "-o", "results"]
SECONDS = 120  # limit of a command
PROGRAM = str(pathlib.Path(os.environ.get("TARE", "tare")).absolute())

Line = collections.namedtuple("Line", "words plain")  # a command line of tare, the plain ones
Case = collections.namedtuple("Case", "name about needs lines")
Ended = collections.namedtuple("Ended", "status output dumps logs")
Result = collections.namedtuple("Result", "case line verdict details")


def read_case(folder):
    fields, lines = {"about": "", "needs": ""}, []
    for row in (folder / "commands").read_text(encoding="utf-8").splitlines():
        key, _, value = row.partition(": ")
        if key == "tare":
            lines.append(Line(value, []))
        elif key == "plain":
            lines[-1].plain.append(value)
        elif key in fields:
            fields[key] = value
        else:
            sys.exit(f"{folder}/commands: unknown key {key!r}")
    return Case(folder.name, fields["about"], fields["needs"].split(), lines)


def choose_parts(names):
    held_out = random.Random(SEED).sample(sorted(names), len(names) // 3)
    return {name: "held_out" if name in held_out else "development" for name in sorted(names)}


def read_parts():
    return dict(row.split() for row in PARTS.read_text(encoding="utf-8").splitlines())


def prepare(case, folder):
    """A copy of the case, in which each folder of scripts has the modules that write the values."""
    shutil.copytree(CASES / case.name, folder)
    (folder / "commands").unlink()
    for place in {folder, *(path.parent for path in folder.rglob("*.py"))}:
        for module in ("dump.py", "dump_shell.py"):
            shutil.copy(HERE / module, place)


def read_logs(results):
    """The last line of each log below the folder, by its path; None if tare started no run."""
    if not any(results.glob("run_*")):
        return None
    found = {}
    for path in sorted(results.rglob("*.log")):
        rows = path.read_text(encoding="utf-8", errors="replace").split("\n")
        found[path.name] = next((row for row in reversed(rows) if row.strip()), "")
    return found


def as_shell(command):
    """The words of a command, of which leading NAME=VALUE set variables, as in a shell."""
    words = shlex.split(command)
    return ["env", *words] if "=" in words[0] else words


def start(words, case):
    """Runs the words in a new copy of the case; the rows are what its scripts dumped."""
    with tempfile.TemporaryDirectory(prefix="scripts60.") as top:
        work = pathlib.Path(top, "work")
        prepare(case, work)
        dumps = pathlib.Path(top, "dumps")
        kept = {key: os.environ[key] for key in ("TMPDIR", "LANG") if key in os.environ}
        environment = {**kept, "LC_ALL": "C.UTF-8", "TERM": "dumb", "HOME": top, "DUMP": str(dumps),
                       "PATH": f"{work}/bin:/usr/bin:/bin:/usr/sbin:/sbin",
                       "XDG_STATE_HOME": f"{top}/state", "XDG_CONFIG_HOME": f"{top}/config",
                       "TARE_LOCK_DIR": f"{top}/locks"}
        with subprocess.Popen(words, cwd=work, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              start_new_session=True) as process:
            try:
                output = process.communicate(timeout=SECONDS)[0]
                status = process.returncode
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, status = process.communicate()[0], "timeout"
        text = dumps.read_text(encoding="utf-8") if dumps.exists() else ""
        return Ended(status, output.decode("utf-8", "replace").replace(top, "TOP"),
                     [json.loads(row) for row in text.replace(top, "TOP").splitlines()],
                     read_logs(work / "results"))


def flatten(value, path=""):
    """{path of a value: the value as JSON}, so that differences name what differs."""
    if isinstance(value, dict) and value:
        found = {}
        for key, item in value.items():
            found.update(flatten(item, f"{path}.{key}" if path else key))
        return found
    return {path: json.dumps(value, ensure_ascii=False)}


def differences(one, other):
    one, other = flatten(one), flatten(other)
    return [f"{key}: {one.get(key, 'absent')} -> {other.get(key, 'absent')}"
            for key in sorted(one.keys() | other.keys()) if one.get(key) != other.get(key)]


def unmatched(expected, found):
    """The rows that only one of the lists has."""
    left, right = list(expected), list(found)
    for row in expected:
        if row in right:
            right.remove(row)
            left.remove(row)
    return left, right


def compare(expected, found):
    """The differences between the values, each row paired with the most similar one."""
    left, right = unmatched([row["values"] for row in expected], [row["values"] for row in found])
    details = []
    if len(expected) != len(found):
        details.append(f"{len(found)} starts instead of {len(expected)}")
    while left and right:
        one, other = min(((a, b) for a in left for b in right),
                         key=lambda pair: len(differences(*pair)))
        left.remove(one)
        right.remove(other)
        details.extend(differences(one, other))
    return list(dict.fromkeys(details))


def message(output):
    """The lines of tare's output that say why, shortened."""
    rows = [row.strip() for row in output.splitlines() if row.strip()]
    return " | ".join(rows[:3])[:300] or "no message"


def run_plain(case, line):
    expected, details = [], []
    for command in line.plain:
        ended = start(as_shell(command), case)
        if ended.status != 0 or len(ended.dumps) != 1 or ended.output:
            details.append(f"{command}: status {ended.status}, {len(ended.dumps)} rows, "
                           f"{message(ended.output)}")
        expected.extend(ended.dumps)
    if len({json.dumps(row["values"], sort_keys=True) for row in expected}) != len(line.plain):
        details.append("two plain commands have the same values")
    return expected, details


def run_line(case, line, plain_only):
    missing = [name for name in case.needs if not is_installed(name)]
    if missing:
        return Result(case, line, "not run", [f"the module {name} is missing" for name in missing])
    expected, details = run_plain(case, line)
    if details:
        return Result(case, line, "bad case", details)
    if plain_only:
        return Result(case, line, "plain", [])
    ended = start([PROGRAM, "run", *OPTIONS, *shlex.split(line.words)], case)
    if not ended.dumps and ended.logs is None:
        return Result(case, line, "refused", [f"status {ended.status}: {message(ended.output)}"])
    details = compare(expected, ended.dumps)
    if ended.status != 0:
        last = next((row for row in (ended.logs or {}).values() if row), message(ended.output))
        details.append(f"status {ended.status}: {last[:300]}")
    if details:
        return Result(case, line, "different", details)
    left, right = unmatched([row["words"] for row in expected],
                            [row["words"] for row in ended.dumps])
    details = [f"words: {shlex.join(a)} -> {shlex.join(b)}" for a, b in zip(left, right)]
    return Result(case, line, "words" if details else "same", details)


def is_installed(module):
    if sys.executable == "/usr/bin/python3":
        return importlib.util.find_spec(module) is not None
    return subprocess.run(["/usr/bin/python3", "-c", f"import {module}"], check=False,
                          stderr=subprocess.DEVNULL).returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("development", "held_out", "all"), default="development")
    parser.add_argument("--case", action="append", help="only this case of the part; repeatable")
    parser.add_argument("--plain", action="store_true", help="only check the plain commands")
    parser.add_argument("--verbose", action="store_true", help="all differences, not the first 3")
    parser.add_argument("--choose", action="store_true",
                        help="only print what the file parts should contain")
    args = parser.parse_args()
    cases = {folder.name: read_case(folder) for folder in sorted(CASES.iterdir())}
    if args.choose:
        for name, part in choose_parts(cases).items():
            print(name, part)
        return 0
    if not args.plain and not os.access(PROGRAM, os.X_OK):
        sys.exit(f"{PROGRAM} is not a program: set TARE to the program under test")
    parts = read_parts()
    if parts.keys() != cases.keys():
        sys.exit(f"parts and cases differ: {sorted(parts.keys() ^ cases.keys())}")
    chosen = [case for name, case in cases.items()
              if args.part in ("all", parts[name]) and (not args.case or name in args.case)]
    work = [(case, line) for case in chosen for line in case.lines]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda item: run_line(*item, args.plain), work))
    shown = None if args.verbose else 3
    for case, line, verdict, details in results:
        print(f"{verdict:<10} {case.name:<26} {line.words}")
        for detail in details[:shown]:
            print(f"{'':<10}   {detail}")
        if details[shown:]:
            print(f"{'':<10}   and {len(details) - shown} more")
    return summarize(args.part, chosen, results)


def summarize(part, chosen, results):
    """Prints the totals. A case counts by the worst of its command lines."""
    order = ("bad case", "different", "refused", "words", "not run", "same", "plain")
    lines = collections.Counter(result.verdict for result in results)
    cases = collections.Counter(
        min((result.verdict for result in results if result.case is case), key=order.index)
        for case in chosen)
    print(f"\n{part}: {len(chosen)} cases, {len(results)} command lines")
    for verdict in order:
        if lines[verdict]:
            print(f"  {verdict:<10} {cases[verdict]:>3} cases {lines[verdict]:>4} command lines")
    return 0 if lines["same"] + lines["plain"] == len(results) > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
