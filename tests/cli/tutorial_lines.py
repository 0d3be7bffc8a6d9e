"""Runs the console blocks of docs/tutorial.md in the current folder and prints each line of the page that the program does not print now.
What a machine decides (times, verdicts, who else ran) is not compared; lines about it are where the run has such a line at all."""
import os
import re
import subprocess
import sys

page = open(sys.argv[1], encoding="utf-8").read()
# Lines that only a busy or a virtual machine has, each kind by how it begins: where all 16 are clean there is no table and nothing to repeat.
OPTIONAL = ("tare: energy is not measured", "the machine is busy", "suspect by cpu_shared", "cpu_shared", "to repeat the", "[N/16] train_default_N evidence",
            "Affected experiments", "What was found", "train_default_N", "suspect", "EXPERIMENT", "train_default_0", "summary_safe.csv", "16 succeeded", "verdict:")


def form(line):
    line = re.sub(r"run_\d{8}_\d{6}", "RUN", line.strip())
    line = line.replace(os.getcwd(), "/home/ada/tutorial")
    line = re.sub(r"\S*/python3 ", "/usr/bin/python3 ", line)
    line = re.sub(r"(other processes used|other programs use) .*?%(?: of)? (.*?): \S+ \(pid.*?\) \d+ %", r"\1 \2 WHO", line)
    line = re.sub(r"waited \d+ %", "waited #", line)
    line = re.sub(r"\b[\d.]+ s(, suspect|, unverified)?, loss", "T, loss", line)
    # The verdicts of one side of a comparison.
    if re.fullmatch(r"\d+ clean(, \d+ \w+)*|\d+ (unverified|suspect|contaminated)(, \d+ \w+)*", line):
        line = "VERDICTS"
    # Where all are clean there is no column of verdicts.
    line = re.sub(r"(succeeded +)(?:(?:clean|suspect|unverified) +)?[\d.]+ s", r"\1T", line.replace("  VERDICT ", " "))
    if line.startswith(("verdict:", "summary_safe.csv", "16 experiments:", "to repeat", "suspect by", "cpu_shared")):
        line = re.sub(r"\d+(?= (clean|unverified|suspect|contaminated|row|that|experiment)|$|\))", "#", line)
        line = re.sub(r"\b(row|experiment)s\b", r"\1", re.sub(r"\bare\b", "is", line))
    if line.startswith(("suspect by", "cpu_shared")) or "evidence (" in line or re.fullmatch(r"train_default_\d+", line):
        line = re.sub(r"train_default_\d+", "train_default_N", line)
        line = re.sub(r"\[\d+/16\]", "[N/16]", line)
    return re.sub(r"\s+", " ", line)


def kind(line):
    return next((start for start in OPTIONAL if line.startswith(start)), None)


shell = page[page.index("```sh\n") + 6:]
subprocess.run(["bash", "-ec", shell[:shell.index("```")]], check=True, stdout=subprocess.DEVNULL)
count = 0
for block in re.findall(r"```console\n(.*?)```", page, re.S):
    command, *lines = block.splitlines()
    out = subprocess.run(command[2:], shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    printed = {form(line) for line in out.splitlines()}
    kinds = {kind(line) for line in printed}
    for line in map(form, lines):
        count += 1
        if line and line != "…" and line not in printed and (kind(line) is None or (kind(line) in kinds and kind(line) not in OPTIONAL[:1])):
            print(f"{command}\n  not printed: {line}", *sorted(p for p in printed if kind(p) and kind(p) == kind(line)), sep="\n    ")
assert count > 60, count
