#!/usr/bin/env python3
"""Coverage before and after `tare calibrate`: calibrated_cover.py [--build DIR] [--cells F/L,...] [--windows 2s,...] [--sensors N] [--held-out] [--least SHARE] [--widest SHARE]

Draws N sensors of each family of sensors.py (their gain is right: no calibration tells it). Each is calibrated: the loads of a
calibration of 60 s, read as calibrate reads them; learn_readings learns from that and writes the file, which window_cover reads as
a measurement does. Then the cases of sensors.py with this sensor are judged twice: as a GPU in no row of the profiles, and by
the calibration. Printed of each family, load and length of window: windows, coverage and median half-width before and after; then
the cells (family, load, window) below 93 % afterwards.

Exit status: 0, 1 if less than --least of all windows are covered after calibration, or their median half-width is above --widest, 2 if a program fails or a file is refused."""
import argparse
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile

import numpy as np

import sensors
import sensors_cover

SECONDS, REST_S, PHASES = 60, 2, 16


def schedule(period):
    """Begin and end of each load: steps of 1.5 to 2.3 s, then square waves of the update's period in 16 phases (docs/explanation/appendix-energy.md)."""
    out, at = [], REST_S
    for i in range(SECONDS):
        on, off = 1.5 + i * 0.317 % 0.8, REST_S + i * 0.1373 % 0.1
        if at + on + off > SECONDS / 2:
            break
        out.append((at, at + on))
        at += on + off
    periods = max(2, int(SECONDS / 5 / PHASES / period) - 1)
    for phase in range(PHASES):
        out += [(at + period * (phase / PHASES + i), at + period * (phase / PHASES + i + 0.5)) for i in range(periods)]
        at += (periods + 2) * period
    return out, at + SECONDS * 0.3


def readings(sensor, rng):
    """What learn_readings reads of this sensor: the GPU's power has noise of 0.5 %."""
    loads, duration = schedule(sensor.period)
    idle, rise = rng.uniform(40, 110), rng.uniform(100, 500)
    grid = np.arange(0, duration, 0.01)
    t = np.unique(np.concatenate((grid, np.ravel(loads))))
    begin, end = (np.array([load[i] for load in loads]) for i in (0, 1))
    at = np.searchsorted(begin, t, "right") - 1
    level = idle + rise * ((at >= 0) & (t < end[at]))
    power = sensors.Power(t, level * (1 + 0.005 * rng.standard_normal(len(t))))
    sensor.run(rng, power, duration + 1)
    first, last = sensors.calls(rng, np.arange(0.01, duration, 0.0014))
    moment = first + (last - first) * rng.random(len(first))
    stamp = [(10**13 + np.floor(1e9 * first)).astype(np.int64).tolist(), (10**13 + np.ceil(1e9 * last)).astype(np.int64).tolist()]
    lines = ["series,begin_ns,end_ns,value\n"]
    lines += [f"load,{10**13 + round(1e9 * a)},{10**13 + round(1e9 * b)},1\n" for a, b in loads]
    lines += [f"power,{a},{b},{v:.3f}\n" for a, b, v in zip(*stamp, sensor.power_at(moment).tolist())]
    if sensor.counter != "none":
        lines += [f"counter,{a},{b},{v / 1000:.3f}\n" for a, b, v in zip(*stamp, sensor.counter_at(moment).tolist())]
    return "".join(lines)


def judge(task):
    """All cases of one sensor: rows before, rows after."""
    build, family, number, cells, windows = task
    rng = np.random.default_rng([number, len(family), sum(family.encode())])
    sensor = sensors.Sensor(rng, *sensors.FAMILIES[family])
    sensor.gain, sensor.gain_bound = 1.0, 0.0
    rows = {False: [], True: []}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "calibration.json")
        with open(path, "w", encoding="utf-8") as file:
            subprocess.run([build + "/tests/statistics/learn_readings"], input=readings(sensor, rng), stdout=file, text=True, check=True)
        for load in [load for f, load in cells if f == family]:
            for window in windows:
                case = sensors.make_case(family, load, window, number, sensor)
                expected = [(case["name"], a + case["epoch"], b + case["epoch"], float(f"{truth:.6f}"))
                            for (a, b), truth in zip(case["edges"], case["truth"])]
                known = {key: case["stated"][key] for key in ("quantum_mj", "power_limit_w", "counter")}
                for after in (False, True):
                    case["stated"] = {"calibration": path if after else "none", **known}
                    found = sensors_cover.answers(build + "/tests/statistics/window_cover", sensors.case_text(case), expected)
                    rows[after] += [((family, load, window), row) for row in found]
    return rows


ROW = "{:<38} {:>7} {:>9} {:>9} {:>11} {:>11}"


def figures(rows):
    stated = [row for row in rows if row["covered"] is not None]
    if not stated:
        return None, None
    return sum(row["covered"] for row in stated) / len(stated), statistics.median(row["half_width"] / row["truth"] for row in stated)


def print_row(name, before, after):
    shares = [(f"{100 * a:.1f} %", f"{100 * b:.3g} %") if a is not None else ("-", "-") for a, b in (figures(before), figures(after))]
    print(ROW.format(name, len(after), shares[0][0], shares[1][0], shares[0][1], shares[1][1]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(sensors_cover.ROOT, "build"))
    parser.add_argument("--cells", help="FAMILY/LOAD,... where either may be *")
    parser.add_argument("--windows", default="2s,10s,60s", help="of " + ", ".join(sensors.WINDOWS))
    parser.add_argument("--sensors", type=int, default=20, help="of each family")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--held-out", action="store_true", help="only the cells that are held out")
    parser.add_argument("--least", type=float, default=0.93)
    parser.add_argument("--widest", type=float, default=1)
    options = parser.parse_args()
    cells, windows = sensors.chosen_cells(options.cells, options.held_out), options.windows.split(",")
    families = list(dict.fromkeys(family for family, _ in cells))
    tasks = [(os.path.abspath(options.build), family, number, cells, windows) for family in families for number in range(options.sensors)]
    rows = {False: [], True: []}
    with multiprocessing.Pool(options.jobs) as pool:
        try:
            for found in pool.imap(judge, tasks):
                for after in rows:
                    rows[after] += found[after]
        except (sensors_cover.ProgramError, subprocess.CalledProcessError, OSError) as error:
            print(f"calibrated_cover.py: {error}", file=sys.stderr)
            return 2
    print(ROW.format("", "windows", "before", "after", "± before", "± after"))
    for key in (lambda cell: cell[0], lambda cell: "*/" + cell[1], lambda cell: "*/*/" + cell[2], lambda cell: "all"):
        for name in dict.fromkeys(key(cell) for cell, _ in rows[True]):
            print_row(name, *([row for cell, row in rows[after] if key(cell) == name] for after in (False, True)))
        print()
    low, all_cells = [], list(dict.fromkeys(cell for cell, _ in rows[True]))
    for cell in all_cells:
        share, _ = figures([row for of, row in rows[True] if of == cell])
        if share is not None and share < sensors_cover.LEAST:
            low.append(f"{'/'.join(cell)} {100 * share:.0f} %")
    print(f"{len(all_cells)} cells, {len(low)} below 93 % afterwards" + "".join("\n  " + name for name in low))
    share, width = figures([row for _, row in rows[True]])
    return int(share < options.least or width > options.widest)


if __name__ == "__main__":
    sys.exit(main())
