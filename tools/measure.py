#!/usr/bin/env python3
"""Measures the structure and the language of the C sources in src/, and keeps their limits.

  tools/measure.py          prints each figure, its limit and its goal, and the tokens of each room
    --names [MEASURE]       also prints what each figure counts, or that one, as FILE:LINE: NAME
    --json                  prints the same as JSON
    --room ROOM             measures only this folder of src/; names are still compared with all
    --check                 fails where a figure is above its limit in tools/limits.json
    --lower                 lowers the limits to the figures of today; a limit is never raised
    --root DIR              measures another tree

Needs universal-ctags. Ratios (tokens per line, comment words) are rounded up, so that a small change
does not alter them. A limit that must rise is edited by hand, and the commit says why.
"""
import argparse
import bisect
import collections
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

import wording

COLUMNS = 100
FUNCTION_LINES = 40
HEADER_FILES = 2  # more .c files than these behind one header: it is the header of none of them
SHOWN = 10  # offenders of a measure that --check prints

# The rooms at the edge to JSON, and those below the store that read documents of their own.
JSON_ROOMS = ("base/", "plan/", "results/store/", "gpu_memory/")
# The first line of a file that parses what another program wrote: "/* External format: NAME, ... */".
EXTERNAL = re.compile(r"\s*/\* External format: ")
JSON_READER = re.compile(r"json_(?:object_)?(?:get\w*|says)|json_unpack(?:_ex)?")
BRANCH = re.compile(r"\b(?:if|for|while|switch)\b|\?|&&|\|\|")
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'|\w+|[^\s\w]', re.S)

Offender = collections.namedtuple("Offender", "path line name")
Function = collections.namedtuple("Function", "name path line end")
Measure = collections.namedtuple("Measure", "name title goal figure offenders")


class Source:
    """One file, split once into comments, literals and tokens of code."""

    def __init__(self, root, path):
        self.path = path
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            self.text = file.read()
        self.ends = [found.start() for found in re.finditer("\n", self.text)]
        self.lines = len(self.ends)
        self.comments, self.literals, self.tokens = [], [], []
        for found in TOKEN.finditer(self.text):
            if found[0].startswith(("/*", "//")):
                self.comments.append((found.start(), found[0]))
                continue
            if found[0][0] == '"':
                self.literals.append((found.start(), found[0]))
            self.tokens.append((found.start(), found[0]))

    def line_of(self, offset):
        return bisect.bisect_left(self.ends, offset) + 1

    def comment_words(self):
        return sum(len(comment.split()) for _, comment in self.comments)

    def code(self):
        """Without comments and literals."""
        return " ".join(token for _, token in self.tokens if token[0] not in "\"'")

    def json_reads(self):
        """Calls that read a key of JSON, with the key as a literal: the second argument, and each
        call of json_unpack, whose format names keys."""
        tokens = self.tokens
        for at, (offset, name) in enumerate(tokens[:-1]):
            if not JSON_READER.fullmatch(name) or tokens[at + 1][1] != "(":
                continue
            if name.startswith("json_unpack"):
                yield Offender(self.path, self.line_of(offset), name)
                continue
            depth = 0
            for next_at in range(at + 1, len(tokens) - 1):
                depth += {"(": 1, ")": -1}.get(tokens[next_at][1], 0)
                if depth == 0 or (depth == 1 and tokens[next_at][1] == ","):
                    key = tokens[next_at + 1][1]
                    if depth == 1 and re.fullmatch(r'"\w+"', key):
                        yield Offender(self.path, self.line_of(offset), key.strip('"'))
                    break


class Tree:
    def __init__(self, root, ctags):
        self.root = root
        paths = sorted(os.path.relpath(os.path.join(folder, name), root)
                       for folder, _, names in os.walk(os.path.join(root, "src"))
                       for name in names if name.endswith((".c", ".h")))
        self.sources = [Source(root, path) for path in paths]
        self.unit_tests = {os.path.relpath(os.path.join(folder, name), os.path.join(root, "tests/unit"))
                           for folder, _, names in os.walk(os.path.join(root, "tests/unit")) for name in names}
        self.functions, self.declared = [], collections.defaultdict(list)
        command = [ctags, "--languages=C", "--langmap=C:.c.h", "--kinds-C=fp", "--sort=no", "--output-format=xref",
                   "--_xformat=%K\t%N\t%F\t%n\t%e", "-L", "-"]
        listed = subprocess.run(command, cwd=root, input="\n".join(paths), capture_output=True, text=True, errors="replace",
                                check=True).stdout
        for row in listed.splitlines():
            kind, name, path, line, end = (row.split("\t") + [""])[:5]
            if kind == "function" and end.strip().isdigit():
                self.functions.append(Function(name, path, int(line), int(end)))
            elif kind == "prototype" and path.endswith(".h"):
                self.declared[path].append(name)
        self.files_of = collections.defaultdict(set)
        for function in self.functions:
            self.files_of[function.name].add(function.path)


def room_of(path):
    """src/results/store/x.c: results/store; src/base/x.c: base."""
    return os.path.dirname(path)[len("src/"):]


def is_in(path, room):
    return not room or path.startswith(f"src/{room.rstrip('/')}/")


def measure(tree, room=""):
    sources = [source for source in tree.sources if is_in(source.path, room)]
    functions = [function for function in tree.functions if is_in(function.path, room)]
    tokens = sum(len(source.tokens) for source in sources)
    lines = sum(source.lines for source in sources)
    measures = []

    def add(name, title, goal, offenders, figure=None):
        measures.append(Measure(name, title, goal, len(offenders) if figure is None else figure, offenders))

    add("lines_over_100_columns", "lines over 100 columns", 0,
        [Offender(source.path, number, f"{len(line.expandtabs(4))} columns") for source in sources
         for number, line in enumerate(source.text.split("\n"), 1) if len(line.expandtabs(4)) > COLUMNS])
    add("tokens_per_line", "tokens per line", 7,
        [Offender(source.path, 1, f"{len(source.tokens) / source.lines:.1f} tokens per line") for source in sources
         if source.lines and len(source.tokens) > 7 * source.lines],
        math.ceil(10 * tokens / max(lines, 1)) / 10)
    add("comment_words_per_1000_tokens", "comment words per 1000 tokens", 70,
        [Offender(source.path, 1, f"{1000 * source.comment_words() // len(source.tokens)} words per 1000 tokens") for source in sources
         if source.tokens and 1000 * source.comment_words() > 70 * len(source.tokens)],
        math.ceil(1000 * sum(source.comment_words() for source in sources) / max(tokens, 1)))
    add("names_of_functions_in_several_files", "functions whose name another file has too", 3 * len(tree.functions) // 100,
        [Offender(function.path, function.line, function.name) for function in functions
         if len(tree.files_of[function.name]) > 1 and function.name != "main"])
    homes = {path: {home for name in names for home in tree.files_of.get(name, ()) if home.endswith(".c")}
             for path, names in tree.declared.items() if is_in(path, room)}
    add("headers_of_several_files", f"headers with bodies in more than {HEADER_FILES} files", 0,
        [Offender(path, 1, f"bodies in {len(files)} files") for path, files in sorted(homes.items()) if len(files) > HEADER_FILES])
    add("json_reads_above_the_store", "reads of JSON keys by literal above the store", 0,
        [read for source in sources if not source.path[len("src/"):].startswith(JSON_ROOMS) and not EXTERNAL.match(source.text)
         for read in source.json_reads()])
    paths = {source.path for source in tree.sources}
    add("files_without_entrance", ".c files with neither a header of their name nor an opening comment", 0,
        [Offender(source.path, 1, "no header, no opening comment") for source in sources
         if source.path.endswith(".c") and source.path[:-2] + ".h" not in paths and not source.text.lstrip().startswith("/*")])
    add("files_without_unit_test", ".c files with a branch, no cmd_*.c, without tests/unit/ROOM/FILE_test.c", 0,
        [Offender(source.path, 1, f"no tests/unit/{test}") for source in sources
         for test in [source.path[len("src/"):-2] + "_test.c"]
         if source.path.endswith(".c") and not os.path.basename(source.path).startswith("cmd_") and test not in tree.unit_tests
         and BRANCH.search(source.code())])
    add("functions_over_40_lines", f"functions over {FUNCTION_LINES} lines", 0,
        [Offender(function.path, function.line, f"{function.name}: {function.end - function.line + 1} lines")
         for function in functions if function.end - function.line + 1 > FUNCTION_LINES])
    for name, title, found in wording.offenders(sources):
        add(name, title, 0, [Offender(*row) for row in found])
    return measures


def rooms(tree, room=""):
    figures = collections.defaultdict(lambda: [0, 0])
    for source in tree.sources:
        if is_in(source.path, room):
            figures[room_of(source.path)][0] += len(source.tokens)
            figures[room_of(source.path)][1] += source.lines
    return {name: {"tokens": tokens, "lines": lines} for name, (tokens, lines) in sorted(figures.items())}


def git(root, *args):
    done = subprocess.run(["git", "-C", root, *args], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def base_of(root):
    """The commit that a change is compared with: where it left main; on main itself the one before."""
    for main in ("main", "origin/main"):
        base = git(root, "merge-base", "HEAD", main)
        if base and (base != git(root, "rev-parse", "HEAD") or git(root, "status", "--porcelain", "--", "src", "tests/unit")):
            return base
    return git(root, "rev-parse", "--verify", "--quiet", "HEAD~1")


def measures_before(root, ctags):
    """Of the commit that base_of gives; {} without one."""
    base = base_of(root)
    if not base or os.path.realpath(git(root, "rev-parse", "--show-toplevel")) != os.path.realpath(root):
        return {}
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.Popen(["git", "-C", root, "archive", base, "src", "tests/unit"], stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "-C", folder], stdin=archive.stdout, check=False)
        archive.wait()
        return {row.name: row for row in measure(Tree(folder, ctags))}


def newest(row, before):
    """The offenders that the commit before did not have; all of them where there is none."""
    if row.name not in before:
        return row.offenders
    known = collections.Counter((old.path, old.name) for old in before[row.name].offenders)
    fresh = []
    for offender in row.offenders:
        if known[(offender.path, offender.name)] > 0:
            known[(offender.path, offender.name)] -= 1
        else:
            fresh.append(offender)
    return fresh or row.offenders


def check(root, measures, limits, ctags):
    worse = [row for row in measures if row.figure > limits.get(row.name, row.goal)]
    better = [row for row in measures if row.figure < limits.get(row.name, row.goal) and limits.get(row.name, row.goal) > row.goal]
    before = measures_before(root, ctags) if worse else {}
    for row in worse:
        print(f"{row.title}: {row.figure}; at most {limits.get(row.name, row.goal)} ({row.name})")
        fresh = newest(row, before)
        for offender in fresh[:SHOWN]:
            print(f"  {offender.path}:{offender.line}: {offender.name}")
        if len(fresh) > SHOWN:
            print(f"  and {len(fresh) - SHOWN} more: tools/measure.py --names {row.name}")
    for row in better:
        print(f"{row.title}: {row.figure}, less than the limit of {limits[row.name]} ({row.name})")
    if better:
        print("Lower the limits: tools/measure.py --lower")
    return 1 if worse else 0


def lower(path, measures, limits):
    for row in measures:
        figure = max(row.figure, row.goal)
        limits[row.name] = min(limits.get(row.name, figure), figure)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({row.name: limits[row.name] for row in measures}, file, indent=2)
        file.write("\n")


def main():
    parser = argparse.ArgumentParser(description="Measures the structure and the language of src/.")
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser.add_argument("--room", default="")
    parser.add_argument("--names", nargs="?", const="all", metavar="MEASURE")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--lower", action="store_true")
    options = parser.parse_args()
    ctags = shutil.which("ctags-universal") or shutil.which("ctags")
    if not ctags:
        sys.exit("tools/measure.py needs universal-ctags: 'make setup FOR=lint' installs it")
    if options.room and (options.check or options.lower):
        parser.error("--room goes with neither --check nor --lower: limits are those of all rooms")
    tree = Tree(options.root, ctags)
    if not tree.sources or (options.room and not any(is_in(source.path, options.room) for source in tree.sources)):
        sys.exit(f"no C file in {os.path.join(options.root, 'src', options.room)}")
    measures = measure(tree, options.room)
    path = os.path.join(options.root, "tools/limits.json")
    limits = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            limits = json.load(file)
    if options.check:
        return check(options.root, measures, limits, ctags)
    if options.lower:
        lower(path, measures, limits)
        return 0
    names = [row for row in measures if options.names in ("all", row.name)]
    if options.names and not names:
        parser.error(f"unknown measure '{options.names}'")
    if options.json:
        figures = {row.name: {"figure": row.figure, "goal": row.goal, "limit": limits.get(row.name)} for row in measures}
        for row in names:
            figures[row.name]["offenders"] = [offender._asdict() for offender in row.offenders]
        print(json.dumps({"measures": figures, "rooms": rooms(tree, options.room)}, indent=2))
        return 0
    print(f"{'figure':>10} {'limit':>7} {'goal':>6}")
    for row in measures:
        print(f"{row.figure:>10} {limits.get(row.name, '-'):>7} {row.goal:>6}  {row.title} ({row.name})")
        if row in names:
            for offender in row.offenders:
                print(f"  {offender.path}:{offender.line}: {offender.name}")
    print(f"\n{'tokens':>10} {'lines':>7}")
    for room, figure in rooms(tree, options.room).items():
        print(f"{figure['tokens']:>10} {figure['lines']:>7}  {room}")
    total = [sum(figure[key] for figure in rooms(tree, options.room).values()) for key in ("tokens", "lines")]
    print(f"{total[0]:>10} {total[1]:>7}  all of {options.room or 'src'}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        os._exit(0)
