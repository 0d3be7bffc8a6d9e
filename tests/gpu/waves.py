"""Square waves of known times on a real GPU, measured by the program: waves.py TARE FOLDER [--seconds S]. Periods of 20 ms
to 2 s at three duty cycles; each has windows of 2 s and one of 10 s, as marks of a run (which goes by the GPU's calibration
where the user has one) and, beside it, by `tare measure` without a calibration.

Truth: when each load began and ended by the GPU's own timer, the steady powers of rest and load by the driver's counter, and
for each wave what a pulse draws beyond that (a GPU does not fall to rest at once): all of the wave by the counter less that
product, over its pulses. Ends with 1 when fewer than 95 % of the run's windows hold the truth within their half-width."""
import argparse
import bisect
import csv
import glob
import json
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import threading
import time

PERIODS_MS = (20, 50, 100, 200, 500, 1000, 2000)
DUTIES = (0.25, 0.5, 0.75)
STEADY_S = 5
SOURCE = r"""
extern "C" __global__ void load(unsigned long long end, unsigned long long *times)
{
    unsigned long long now;
    float a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    if (threadIdx.x == 0)
        atomicMin(&times[0], now);
    while (now < end) {
        for (int i = 0; i < 64; i++) {
            a = fmaf(a, 0.99999f, 0.001f); b = fmaf(b, 0.99999f, 0.001f);
            c = fmaf(c, 0.99999f, 0.001f); d = fmaf(d, 0.99999f, 0.001f);
        }
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    }
    if (threadIdx.x == 0)
        atomicMax(&times[1], now);
    if (a + b + c + d < 0)
        times[2] = 1;
}
"""


def read_counter(stop, path):
    """Each update of the driver's counter: between two moments (s), and J."""
    from driver import counter_j
    updates, before, last = [], time.monotonic(), counter_j()
    while not stop.is_set():
        at = time.monotonic()
        value = counter_j()
        if value != last:
            updates.append((before, time.monotonic(), value))
        before, last = at, value
    json.dump(updates, open(path, "w"))


class Gpu:
    def __init__(self):
        import cupy
        self.cupy = cupy
        self.kernel = cupy.RawKernel(SOURCE, "load")
        self.times = cupy.zeros(3, dtype=cupy.uint64)
        self.blocks = 4 * cupy.cuda.Device().attributes["MultiProcessorCount"]
        self.offset = 0
        self.compare_timers()

    def launch(self, blocks, end):
        self.times[:] = self.cupy.array([2**63, 0, 0], dtype=self.cupy.uint64)
        self.cupy.cuda.runtime.deviceSynchronize()
        before = time.monotonic_ns()
        self.kernel((blocks,), (256,), (self.cupy.uint64(end), self.times))
        self.cupy.cuda.runtime.deviceSynchronize()
        after = time.monotonic_ns()
        first, last, _ = self.times.get().tolist()
        return before, after, first, last

    def compare_timers(self):
        tries = [self.launch(1, 0) for _ in range(20)]
        before, after, first, _ = min(tries, key=lambda one: one[1] - one[0])
        self.offset = first - (before + after) // 2

    def load(self, begin_ns, end_ns):
        while time.monotonic_ns() < begin_ns - 300_000:
            time.sleep(max(begin_ns - time.monotonic_ns() - 300_000, 0) / 1e9)
        _, _, first, last = self.launch(self.blocks, end_ns + self.offset)
        return first - self.offset, last - self.offset


def say(text, at_ns):
    with open(os.environ["TARE_MARKS"], "w") as marks:
        print(text, f"@{at_ns}", file=marks)


def mark(due):
    for at_ns, text in due:
        while time.monotonic_ns() < at_ns:
            time.sleep((at_ns - time.monotonic_ns()) / 1e9)
        say(text, at_ns)


def play(gpu, number, period_ms, duty, seconds, pulses):
    """One wave; windows begin at a random part of a second in it."""
    gpu.compare_timers()
    period_ns = period_ms * 1_000_000
    begin_ns = time.monotonic_ns() + 20_000_000
    first_ns = begin_ns + random.randrange(300_000_000, 900_000_000)
    due = sorted([(first_ns + i * 2_000_000_000, f"two {number}.{i}") for i in range(5)]
                 + [(first_ns + 10_000_000_000, "/two"), (first_ns, f"ten {number}"), (first_ns + 10_000_000_000, "/ten")])
    marks = threading.Thread(target=mark, args=(due,)) # a load may last longer than a mark may wait
    marks.start()
    for k in range(int(seconds * 1e9 / period_ns)):
        at_ns = begin_ns + k * period_ns
        pulses.append(gpu.load(at_ns, at_ns + int(period_ns * duty)))
    marks.join()
    return begin_ns, time.monotonic_ns(), first_ns


def train(seconds):
    random.seed(7)
    gpu, pulses, waves = Gpu(), [], []
    stop = multiprocessing.get_context("spawn").Event()
    reader = multiprocessing.get_context("spawn").Process(target=read_counter, args=(stop, "counter.json"))
    reader.start()
    time.sleep(STEADY_S)
    now_ns = time.monotonic_ns()
    pulses.append(gpu.load(now_ns, now_ns + STEADY_S * 10**9))
    for number, (period_ms, duty) in enumerate((p, d) for p in PERIODS_MS for d in DUTIES):
        first = len(pulses)
        begin_ns, end_ns, first_ns = play(gpu, number, period_ms, duty, seconds, pulses)
        waves.append({"period_ms": period_ms, "duty": duty, "begin_ns": begin_ns, "end_ns": end_ns, "first_ns": first_ns,
                      "first": first, "count": len(pulses) - first})
    time.sleep(STEADY_S)
    stop.set()
    reader.join()
    json.dump({"pulses": pulses, "waves": waves}, open("waves.json", "w"))
    print("loss: 0.1", flush=True)


def prepare(seconds, path):
    os.makedirs("repo", exist_ok=True)
    with open("repo/train.sh", "w") as file:
        file.write(f"#!/bin/sh\nexport PYTHONPATH={path}\ncd {os.getcwd()}\nexec {sys.executable} {os.path.abspath(__file__)} --train --seconds {seconds:g}\n")
    os.chmod("repo/train.sh", 0o755)
    toy = {"path": "repo", "train_script": "./train.sh", "models": ["waves"], "model_flag": "--model",
           "performance_metrics": {"log_patterns": {"loss": "loss: ([0-9.]+)"}}}
    json.dump({"models": {"toy": toy}}, open("registry.json", "w"))
    json.dump({"mode": "default", "max_retries": 0, "timeout": 900,
               "experiments": [{"repo": "toy", "model": "waves", "mode": "default"}],
               "tare": {"timing": {"between_runs": 1, "between_configurations": 1, "stop_grace": 5},
                        "preflight": {"temperature_band": 100}}}, open("settings.json", "w"))


class Truth:
    def __init__(self):
        told = json.load(open("waves.json"))
        self.pulses, self.waves = told["pulses"], told["waves"]
        self.updates = json.load(open("counter.json"))
        self.update_s = [(a + b) / 2 for a, b, _ in self.updates]
        begin, end = (t / 1e9 for t in self.pulses[0])
        self.rest_w = self.power(begin - STEADY_S / 2, begin - 0.3)
        self.load_w = self.power(begin + 1, end - 0.3)
        self.extra_j = [self.extra(wave) for wave in self.waves]

    def power(self, from_s, to_s):
        a, b = (self.updates[bisect.bisect(self.update_s, t)] for t in (from_s, to_s))
        return (b[2] - a[2]) / ((b[0] + b[1] - a[0] - a[1]) / 2)

    def loaded_s(self, wave, from_s, to_s):
        mine = self.pulses[wave["first"]:wave["first"] + wave["count"]]
        return sum(max(0, min(to_s, end / 1e9) - max(from_s, begin / 1e9)) for begin, end in mine)

    def steady_j(self, wave, from_s, to_s):
        return self.rest_w * (to_s - from_s) + (self.load_w - self.rest_w) * self.loaded_s(wave, from_s, to_s)

    def pulses_in(self, wave, from_s, to_s):
        mine = self.pulses[wave["first"]:wave["first"] + wave["count"]]
        return sum(from_s <= end / 1e9 < to_s for _, end in mine)

    def extra(self, wave):
        """J of each pulse beyond the product of steady powers and times, over whole periods by the counter."""
        last = self.pulses[wave["first"] + wave["count"] - 1][0] / 1e9
        begin = self.pulses[wave["first"] + 1][0] / 1e9
        a, b = (bisect.bisect(self.update_s, t) for t in (begin, last))
        begin, last = self.update_s[a], self.update_s[b]
        energy = self.updates[b][2] - self.updates[a][2]
        return (energy - self.steady_j(wave, begin, last)) / max(self.pulses_in(wave, begin, last), 1)

    def energy(self, number, from_s, to_s):
        wave = self.waves[number]
        return self.steady_j(wave, from_s, to_s) + self.extra_j[number] * self.pulses_in(wave, from_s, to_s)

    def wave_of(self, from_s, to_s):
        for number, wave in enumerate(self.waves):
            begin = self.pulses[wave["first"] + min(1, wave["count"] - 1)][0] / 1e9
            end = self.pulses[wave["first"] + wave["count"] - 1][1] / 1e9
            if from_s > begin and to_s < end:
                return number
        return None


def run_windows(truth):
    """Of the run's marks: what, wave, seconds, J, half-width, begin, end."""
    name = glob.glob("results/*/*/energy/marks.csv")[0]
    devices = json.load(open(name.replace("energy/marks.csv", "experiment.json")))["tare"]["energy"]["devices"]
    profile = next(d["sensor_profile"] for d in devices if d.get("sensor_profile"))
    for row in csv.DictReader(open(name)):
        if row["part"] == "epoch" and row["gpu_half_width_j"] and row["name"] in ("two", "ten"):
            number, _, place = row["label"].partition(".")
            begin = truth.waves[int(number)]["first_ns"] / 1e9 + 2 * int(place or 0)
            yield (f"{10 if row['name'] == 'ten' else 2} s, marks ({profile})", int(number), begin,
                   begin + float(row["duration_s"]), float(row["gpu_energy_j"]), float(row["gpu_half_width_j"]))


def page_windows(truth):
    for name in glob.glob("page*.json"):
        try:
            page = json.load(open(name))
        except ValueError:
            continue
        gpu, begin, end = page["gpu"], page["start_ns"] / 1e9, page["end_ns"] / 1e9
        number = truth.wave_of(begin, end)
        if gpu["joules"] is not None and number is not None:
            profile = next(d["sensor_profile"] for d in page["devices"] if d.get("sensor_profile"))
            what = f"{round(end - begin)} s, measure ({profile})"
            yield what, number, begin, end, gpu["joules"], gpu["half_width_j"]


def judge():
    truth, all_windows, code = Truth(), {}, 0
    print(f"rest {truth.rest_w:.2f} W, load {truth.load_w:.2f} W, {len(truth.pulses)} pulses")
    for what, number, begin, end, joules, half in [*run_windows(truth), *page_windows(truth)]:
        off = joules - truth.energy(number, begin, end)
        all_windows.setdefault(what, []).append((number, off, half, joules))
    for what, windows in sorted(all_windows.items()):
        held = sum(abs(off) <= half for _, off, half, _ in windows)
        print(f"{what}: {held} of {len(windows)} within the half-width ({100 * held / len(windows):.1f} %), median half-width "
              f"{100 * statistics.median(h / j for _, _, h, j in windows):.2f} %, median error "
              f"{100 * statistics.median(abs(o) / j for _, o, _, j in windows):.3f} %")
        code |= "marks" in what and held < 0.95 * len(windows)
    print("\n| period, ms | duty | extra J a pulse | " + " | ".join(sorted(all_windows)) + " |\n" + "| --- " * (3 + len(all_windows)) + "|")
    for number, wave in enumerate(truth.waves):
        cells = []
        for what in sorted(all_windows):
            mine = [(off, half, joules) for n, off, half, joules in all_windows[what] if n == number]
            cells.append(f"{sum(abs(o) <= h for o, h, _ in mine)}/{len(mine)}, worst {max((o / j * 100 for o, _, j in mine), key=abs, default=0):+.2f} %"
                         f" of ±{max((h / j * 100 for _, h, j in mine), default=0):.2f}")
        print(f"| {wave['period_ms']} | {wave['duty']} | {truth.extra_j[number]:.3f} | " + " | ".join(cells) + " |")
    return code


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tare", nargs="?")
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--seconds", type=float, default=11.5, help="of each wave, at least 11")
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--judge", action="store_true", help="judge again what is in FOLDER")
    options, _ = parser.parse_known_args()
    if options.train:
        return train(options.seconds)
    here, program = os.path.dirname(os.path.abspath(__file__)), os.path.abspath(options.tare)
    os.makedirs(options.folder, exist_ok=True)
    os.chdir(options.folder)
    if options.judge:
        return judge()
    prepare(options.seconds, here)
    run = subprocess.Popen([program, "run", "settings.json", "-c", "registry.json", "-o", "results", "-q"])
    os.environ["XDG_STATE_HOME"] = os.path.abspath("no_calibration")
    for i in range(10**6):
        if run.poll() is not None:
            break
        with open(f"page{i}.json", "w") as page:
            subprocess.run([program, "measure", "--gpus", "0", "--for", "10" if i % 3 == 0 else "2", "--json"], stdout=page, check=False)
    print("run ended with", run.returncode)
    return judge()


if __name__ == "__main__":
    sys.exit(main())
