"""Power within a training step on a real GPU: steps.py TARE FOLDER [--seconds S]. Square waves of known times are steps with two phases, "load"
and "rest", marked at the moments of the GPU's own timer; `tare exec --json` states power and joules within a step. The GPU must have a
calibration (tare calibrate).

Truth: the steady powers of rest and load by the driver's counter times the phases' lengths; what a pulse draws beyond that (by the counter, over
all of the wave) is of both phases together and is said apart: where in the step it is drawn no counter shows. A phase holds when the truth without
or with all of that is within the half-width, or between. Prints Markdown; ends with 1 when a step's whole energy is off by more than 3 %."""
import argparse
import json
import multiprocessing
import os
import random
import subprocess
import sys
import time

import waves

CASES = [(50, 0.5), (100, 0.5), (200, 0.25), (200, 0.75), (330, 0.4), (500, 0.5), (1000, 0.25)]
STEADY_S = 3


def say(pipe, text, at_ns):
    os.write(pipe, f"{text} @{at_ns}\n".encode())


def train(period_ms, duty, seconds, out):
    gpu, pulses = waves.Gpu(), []
    stop = multiprocessing.get_context("spawn").Event()
    reader = multiprocessing.get_context("spawn").Process(target=waves.read_counter, args=(stop, out + ".counter"))
    reader.start()
    time.sleep(STEADY_S)
    now_ns = time.monotonic_ns()
    pulses.append(gpu.load(now_ns, now_ns + STEADY_S * 10**9))
    time.sleep(0.5)
    gpu.compare_timers()
    pipe = os.open(os.environ["TARE_MARKS"], os.O_WRONLY)
    begin_ns, end_ns = time.monotonic_ns() + 20_000_000, time.monotonic_ns() + int(seconds * 1e9)
    at_ns = begin_ns
    while at_ns < end_ns:
        length_ns = int(period_ms * 1e6 * random.uniform(0.97, 1.03)) # as trainings have; nothing beats with the samples
        first, last = gpu.load(at_ns, at_ns + int(length_ns * duty))
        pulses.append((first, last))
        for text, ns in (("step", first), ("phase load", first), ("phase rest", last)):
            say(pipe, text, ns)
        at_ns += length_ns
    time.sleep(0.5)
    stop.set()
    reader.join()
    json.dump(pulses, open(out, "w"))


class Truth(waves.Truth):
    """The same as of several waves, for one."""

    def __init__(self, out):
        self.pulses = json.load(open(out))
        self.updates = json.load(open(out + ".counter"))
        self.update_s = [(a + b) / 2 for a, b, _ in self.updates]
        begin, end = (t / 1e9 for t in self.pulses[0])
        self.rest_w = self.power(begin - STEADY_S / 2, begin - 0.3)
        self.load_w = self.power(begin + 1, end - 0.3)
        self.extra_j = self.extra({"first": 1, "count": len(self.pulses) - 1})

    def phases(self):
        steps = list(zip(self.pulses[1:], self.pulses[2:]))
        load = sum(last - first for (first, last), _ in steps) / len(steps) / 1e9
        rest = sum(after - last for (_, last), (after, _) in steps) / len(steps) / 1e9
        return {"load": self.load_w * load, "rest": self.rest_w * rest}


def judge(name, period_ms, duty):
    """Prints a row; whether the step's whole energy is right."""
    truth, told = Truth(name + ".pulses"), json.load(open(name + ".json"))["step_power"][0]
    known = truth.phases()
    cells = [f"{period_ms}", f"{duty}", f"{truth.rest_w:.1f}", f"{truth.load_w:.1f}", f"{truth.extra_j:+.3f}"]
    if told["reason"]:
        print("| " + " | ".join(cells + [told["reason"], "", "", ""]) + " |")
        return False
    stated = {phase["name"]: phase for phase in told["phases"]}
    for phase in ("load", "rest"):
        one = stated.get(phase)
        if not one or one["energy_j"] is None:
            cells.append("not resolved")
            continue
        low, high = sorted((known[phase], known[phase] + truth.extra_j))
        inside = low - one["half_width_j"] <= one["energy_j"] <= high + one["half_width_j"]
        cells.append(f"{one['energy_j']:.3f} ± {one['half_width_j']:.3f} of {known[phase]:.3f}{'' if inside else ', missed'}")
    whole = sum(phase["energy_j"] or 0 for phase in stated.values())
    off = whole / (sum(known.values()) + truth.extra_j) - 1
    cells += [f"{100 * off:+.2f} %", f"{told['steps']}, {len(told['bins'])} bins"]
    print("| " + " | ".join(cells) + " |")
    return abs(off) <= 0.03


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tare")
    parser.add_argument("folder")
    parser.add_argument("--seconds", type=float, default=12, help="of each wave")
    parser.add_argument("--train", nargs=3)
    options = parser.parse_args()
    if options.train:
        period_ms, duty, out = options.train
        train(float(period_ms), float(duty), options.seconds, out)
        return 0
    program = os.path.abspath(options.tare)
    os.makedirs(options.folder, exist_ok=True)
    os.chdir(options.folder)
    print("| period, ms | duty | rest, W | load, W | extra J a pulse | load, J | rest, J | whole step | steps |\n" + "| --- " * 9 + "|")
    good = True
    for period_ms, duty in CASES:
        name = f"wave_{period_ms}_{duty}"
        job = [sys.executable, os.path.abspath(__file__), "-", "-", "--seconds", str(options.seconds), "--train", str(period_ms), str(duty), name + ".pulses"]
        subprocess.run([program, "exec", "--json", name + ".json", "--", *job], check=True)
        good &= judge(name, period_ms, duty)
        sys.stdout.flush()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
