#!/usr/bin/env python3
"""Builds tare once for each threshold of the judge halved and doubled, to see what moves with it.

  thresholds.py BUILD OUT [NAME...]

Thresholds are the LIMIT_* of src/audit/judge_private.h; OUT/NAME-half and OUT/NAME-double are what matrix.py takes.
"""
import re
import subprocess
import sys
from pathlib import Path


def commands(build, target):
    done = subprocess.run(["ninja", "-C", build, "-t", "commands", target], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def main():
    build, out, wanted = Path(sys.argv[1]), Path(sys.argv[2]).resolve(), sys.argv[3:]
    out.mkdir(parents=True, exist_ok=True)
    header = Path("src/audit/judge_private.h").read_text(encoding="utf-8")
    names = re.findall(r"JUDGE_SCALE\(([A-Z_]+)\)", header)
    every = commands(build, "src/cli/tare")
    compiles = [line for line in every if re.search(r"-c \S*src/audit/judge\w*\.c", line)]
    link = every[-1]
    for name in wanted or names:
        for what, factor in (("half", "0.5"), ("double", "2")):
            scales = " ".join(f"-DJUDGE_SCALE_{n}={factor if n == name else 1}" for n in names)
            objects = []
            for number, line in enumerate(compiles):
                made = out / f"judge{number}.o"
                objects.append(str(made))
                line = re.sub(r"-o \S+", f"-o {made}", re.sub(r"-M[DQF]+(?: '?\S*\.o(?:\.d)?'?)?", "", line))
                subprocess.run(f"{line} '-DJUDGE_SCALE(name)=JUDGE_SCALE_##name' {scales}", shell=True, check=True, cwd=build)
            line = re.sub(r"-o \S+", f"-o {out / f'{name}-{what}'} {' '.join(objects)}", link, count=1)
            subprocess.run(line, shell=True, check=True, cwd=build)


if __name__ == "__main__":
    main()
