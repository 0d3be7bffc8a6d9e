"""Energies of real trainings beside an own reading of the driver's counter:
joules.py TARE FOLDER [--trainings N] [--epochs N] [--epoch-seconds S] [--beside N] [--again].

Each GPU of the machine trains --beside trainings at a time, each as `tare exec --energy --json` of
joules_train.py, whose epochs are marks. A process of its own reads the counter of each GPU every
2 ms or so, apart from tare. Truth of a window: the counter between its two ends, a straight line between
two updates; its own half-width, at each end: a quarter of an update period times the change of
power there, and 2 ms of power for the moment of the update.

Prints for trainings and for epochs: how many hold the counter within tare's half-width, and within
both half-widths; median and largest half-width and error. --again judges again what is in FOLDER.
Ends with 1 when fewer than 90 % of the trainings or 93 % of the epochs hold within both."""
import argparse
import bisect
import glob
import json
import math
import multiprocessing
import os
import statistics
import subprocess
import sys
import threading
import time

import numpy

KINDS = ("cnn", "transformer", "lstm", "amp", "loader", "lightning", "trainer", "accelerate", "jax", "cupy")


def read_counters(stop, path):
    """Updates of each GPU's counter: between which moments (s, monotonic clock), and J."""
    import ctypes
    import driver
    count = ctypes.c_uint()
    driver.library.nvmlDeviceGetCount_v2(ctypes.byref(count))
    devices = [ctypes.c_void_p() for _ in range(count.value)]
    for number, device in enumerate(devices):
        assert driver.library.nvmlDeviceGetHandleByIndex_v2(number, ctypes.byref(device)) == 0
    updates, last, energy = [[] for _ in devices], [None] * len(devices), ctypes.c_ulonglong()
    read_at = [time.monotonic()] * len(devices)
    while not stop.is_set():
        for number, device in enumerate(devices):
            before = time.monotonic()
            assert driver.library.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(energy)) == 0
            if energy.value != last[number]:
                updates[number].append((read_at[number], time.monotonic(), energy.value / 1000))
            read_at[number], last[number] = before, energy.value
        time.sleep(0.001)
    with open(path, "w") as file:
        json.dump(updates, file)


def instants(updates, near=50):
    """When the counter was updated (s): its rate is steady, so each moment is on the line through those of
    its neighbours, each counted by how sharply it is known."""
    middle = numpy.array([(before + after) / 2 for before, after, _ in updates])
    weight = 1 / numpy.maximum([(after - before) / 2 for before, after, _ in updates], 0.002)
    steps = numpy.diff(middle)
    number = numpy.concatenate([[0], numpy.cumsum(numpy.maximum(1, numpy.round(steps / numpy.median(steps))))])
    times = []
    for i in range(len(middle)):
        part = slice(max(0, i - near), i + near + 1)
        line = numpy.polyfit(number[part] - number[i], middle[part], 1, w=weight[part])
        times.append(float(line[1]))
    return times


class Truth:
    def __init__(self, updates):
        self.times = instants(updates)
        self.joules = [joules for _, _, joules in updates]

    def at(self, t):
        """J at a moment, and how wrong that may be."""
        i = min(max(bisect.bisect(self.times, t), 2), len(self.times) - 2)
        powers = [(self.joules[k] - self.joules[k - 1]) / (self.times[k] - self.times[k - 1])
                  for k in (i - 1, i, i + 1)]
        length = self.times[i] - self.times[i - 1]
        change = max(abs(powers[1] - powers[0]), abs(powers[2] - powers[1]))
        joules = self.joules[i - 1] + powers[1] * (t - self.times[i - 1])
        return joules, math.hypot(change * length / 4, powers[1] * 0.002)

    def covers(self, start, end):
        return self.times[2] <= start and end <= self.times[-2]

    def between(self, start, end):
        (first, first_off), (last, last_off) = self.at(start), self.at(end)
        return last - first, math.hypot(first_off, last_off)


def train(options, gpu, places):
    """Runs the trainings of one place on a GPU, one after the other."""
    here = os.path.dirname(os.path.abspath(__file__))
    for number in places:
        kind = KINDS[number % len(KINDS)]
        name = f"{options.folder}/{number:03}_{kind}_gpu{gpu}"
        environment = dict(os.environ, CUDA_VISIBLE_DEVICES=str(gpu),
                           XLA_PYTHON_CLIENT_PREALLOCATE="false")
        command = [options.tare, "exec", "--energy", "--json", name + ".json", "--", sys.executable,
                   f"{here}/joules_train.py", kind, "--epochs", str(options.epochs),
                   "--epoch-seconds", str(options.epoch_seconds), "--seed", str(number)]
        with open(name + ".log", "w") as log:
            subprocess.run(command, stdout=log, stderr=log, env=environment, check=False)


def run(options):
    os.makedirs(options.folder, exist_ok=True)
    spawn = multiprocessing.get_context("spawn")
    stop = spawn.Event()
    reader = spawn.Process(target=read_counters, args=(stop, options.folder + "/counters.json"))
    reader.start()
    time.sleep(3)
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True).stdout
    gpus = listed.count("GPU ")
    lanes = gpus * options.beside
    threads = [threading.Thread(target=train, args=(options, lane % gpus,
                                                    range(lane, options.trainings, lanes)))
               for lane in range(lanes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    time.sleep(1)
    stop.set()
    reader.join()


def windows(folder):
    """What, training, truth J, its half-width, tare's J, its half-width."""
    truths = [Truth(updates) for updates in json.load(open(folder + "/counters.json"))]
    for name in sorted(glob.glob(folder + "/*_gpu*.json")):
        page = json.load(open(name))
        truth = truths[int(name.rsplit("gpu", 1)[1].split(".")[0])]
        training, start, gpu = os.path.basename(name), page["start_ns"] / 1e9, page["gpu"]
        if not truth.covers(start, page["end_ns"] / 1e9):
            print(f"{training}: left out: the reader did not read for all of it")
            continue
        if gpu and gpu["joules"] is not None:
            yield ("training", training, *truth.between(start, page["end_ns"] / 1e9),
                   gpu["joules"], gpu["half_width_j"])
        else:
            print(f"{training}: no energy: {page['not_measured']} {page['notes']}")
        for row in page.get("epochs") or []:
            if row["part"] == "epoch" and row["gpu_energy_j"] is not None:
                yield ("epoch", training,
                       *truth.between(start + row["start_s"], start + row["end_s"]),
                       row["gpu_energy_j"], row["gpu_half_width_j"])


def judge(options):
    all_windows, code = {}, 0
    for what, *rest in windows(options.folder):
        all_windows.setdefault(what, []).append(rest)
    for what, least in (("training", 0.9), ("epoch", 0.93)):
        mine = all_windows.get(what, [])
        if not mine:
            print(f"{what}: none")
            code = 1
            continue
        within = sum(abs(j - t) <= h for _, t, _, j, h in mine)
        both = sum(abs(j - t) <= math.hypot(h, o) for _, t, o, j, h in mine)
        shares = [100 * h / j for _, _, _, j, h in mine]
        errors = [100 * (j - t) / t for _, t, _, j, _ in mine]
        own = [100 * o / t for _, t, o, _, _ in mine]
        print(f"{what}: {within} of {len(mine)} within the half-width, {both} with the reader's own; "
              f"half-width median {statistics.median(shares):.3f} %, largest {max(shares):.2f} %; "
              f"error median {statistics.median(map(abs, errors)):.4f} %, "
              f"worst {max(errors, key=abs):+.3f} %; "
              f"reader's own half-width median {statistics.median(own):.4f} %")
        code |= both < least * len(mine)
    print("\n| training | J by tare | ± | counter | ± of the reader | error / ± |"
          "\n| --- | --- | --- | --- | --- | --- |")
    for training, t, o, j, h in all_windows.get("training", []):
        print(f"| {training} | {j:.1f} | {h:.2f} | {t:.1f} | {o:.2f} | {(j - t) / h if h else math.nan:+.2f} |")
    for training, t, o, j, h in all_windows.get("epoch", []):
        if abs(j - t) > math.hypot(h, o):
            print(f"epoch of {training} outside: {j:.1f} ± {h:.2f}, counter {t:.1f} ± {o:.2f}")
    return code


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tare")
    parser.add_argument("folder")
    parser.add_argument("--trainings", type=int, default=40)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--epoch-seconds", type=float, default=10)
    parser.add_argument("--beside", type=int, default=1, help="trainings at a time on each GPU")
    parser.add_argument("--again", action="store_true", help="judge again what is in FOLDER")
    options = parser.parse_args()
    options.tare = os.path.abspath(options.tare)
    if not options.again:
        run(options)
    return judge(options)


if __name__ == "__main__":
    sys.exit(main())
