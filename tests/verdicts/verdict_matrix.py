#!/usr/bin/env python3
"""Judge generated results folders with `tare audit` and print how often the verdicts are right.

Each scenario generates folders in the study's layout (summary.csv, experiment.json, energy/) or
in that of other programs. What was planted goes into a truth file that the audit never sees.
A third of each scenario's folders is held out; the seed alone decides which.

    verdict_matrix.py --part development        a table of all, and the rates of each scenario
    verdict_matrix.py --part heldout            the table only
    verdict_matrix.py --small                   a few folders of each kind, for a test suite

The physics is simple: power follows the load of the training, temperature follows power with two
time constants, leakage follows temperature, and energy is the integral of power.
"""

import argparse
import concurrent.futures
import csv
import datetime
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

Z = 1.959964
VERDICTS = ("clean", "unverified", "suspect", "contaminated")
ACCUSED = ("suspect", "contaminated")
CONTRADICTIONS = ("time_overlap", "copied_run", "sensor_frozen", "repeated_rows", "copied_trace",
                  "metrics_copied")


# Machines and trainings

class Machine:
    """A host with one GPU. Temperatures carry over from experiment to experiment."""

    def __init__(self, rng, **changes):
        self.cap_w = rng.choice((250.0, 300.0, 320.0, 350.0, 400.0, 700.0))
        self.rest_w = rng.uniform(8, 30)          # nobody holds the GPU, driver kept loaded
        self.wake_w = rng.uniform(60, 75)         # nobody holds it, the query wakes the GPU
        self.context_w = rng.uniform(70, 90) if self.cap_w < 600 else rng.uniform(95, 125)
        self.noise = rng.uniform(0.004, 0.010)    # of the power under load, standard deviation
        self.rest_noise_w = rng.uniform(0.1, 0.4)
        self.leak_per_k = rng.uniform(0.0005, 0.0025)
        self.ambient_c = rng.uniform(24, 36)
        self.kelvin_per_w = rng.uniform(38, 52) / self.cap_w
        self.fast_s = rng.uniform(5, 10)
        self.slow_s = rng.uniform(35, 75)
        self.persistence = True
        self.period_s = 1.0                       # sleep of the monitor's loop
        self.query_s = rng.uniform(0.015, 0.05)   # time of the query itself
        self.wake_s = rng.uniform(0.85, 0.97)
        self.resolution_w = 0.01
        self.sensor_mean = False                  # a sample is the mean of the second before
        self.fraction_stamps = False
        self.stall_share = 0.0                    # of queries that take seconds
        self.zone_h = rng.choice((8, 8, 0, 1, -5))
        self.cpu_idle_w = rng.uniform(18, 60)
        self.pause_s = rng.uniform(60, 150)
        self.now = 1.70e9 + rng.uniform(0, 5e7)
        for name, value in changes.items():
            assert hasattr(self, name), name
            setattr(self, name, value)
        self.fast_k = self.slow_k = 0.0           # above ambient
        self.cool(3600)

    def heat(self, power_w, dt):
        rise = power_w * self.kelvin_per_w
        self.fast_k += (0.4 * rise - self.fast_k) * (1 - math.exp(-dt / self.fast_s))
        self.slow_k += (0.6 * rise - self.slow_k) * (1 - math.exp(-dt / self.slow_s))

    def cool(self, seconds):
        self.heat(self.rest_w if self.persistence else self.wake_w * 0.5, seconds)
        self.now += seconds

    def temperature(self):
        return self.ambient_c + self.fast_k + self.slow_k


class Model:
    """A training script. Work is counted in seconds of an undisturbed run."""

    def __init__(self, rng, repository, name, metrics, **changes):
        self.repository, self.name, self.metrics = repository, name, metrics
        self.import_s = rng.uniform(3, 7)         # loads Python modules; nobody holds the GPU
        self.context_s = rng.uniform(2, 9)        # CUDA is initialised, data are loaded
        self.tail_s = rng.uniform(0.5, 2)
        self.epochs = rng.choice((3, 5, 8, 10))
        self.epoch_s = rng.uniform(45, 160) / self.epochs
        self.load = rng.uniform(0.35, 0.95)       # of the power limit, above context
        self.validation_share = rng.choice((0, 0.08, 0.15))
        self.validation_load = rng.uniform(0.5, 0.9)
        self.gap_s = rng.uniform(0.1, 0.6)        # between epochs
        self.utilisation = min(100, 100 * self.load + rng.uniform(-10, 15))
        self.memory_utilisation = self.utilisation * rng.uniform(0.4, 0.7)
        self.cpu_w = rng.uniform(12, 70)
        self.laws = {}                            # hyperparameter: (default, function of value)
        self.scatter = 0.01                       # of time and energy, standard deviation
        self.more_scatter = 0.0                   # what a scenario adds to it
        self.early = False                        # early stopping: the number of epochs is drawn
        self.uses_gpu = True
        for key, value in changes.items():
            assert hasattr(self, key), key
            setattr(self, key, value)

    def work(self, hyperparameters):
        factor = 1.0
        for name, (default, law) in self.laws.items():
            value = hyperparameters.get(name)
            factor *= law(float(default if value is None else value))
        return factor


class Span:
    """A disturbance from start_s to end_s (since the start of an experiment; share: of its time).

    slow: the training's speed is divided by 1 + slow. power_w and utilisation are added. clock
    and cap scale the GPU's clock and power limit. cpu_w is what another program draws."""

    def __init__(self, start_s=-1e9, end_s=1e9, slow=0.0, power_w=0.0, utilisation=0.0, clock=1.0,
                 cap=1.0, cpu_w=0.0, hungry=0.0, hot_k=0.0, period_s=0.0, gap_s=0.0, phase_s=0.0):
        self.start_s, self.end_s, self.slow, self.power_w = start_s, end_s, slow, power_w
        self.utilisation, self.clock, self.cap, self.cpu_w = utilisation, clock, cap, cpu_w
        self.hungry, self.hot_k = hungry, hot_k   # hungry: slows the CPU's part of the training
        self.period_s, self.gap_s, self.phase_s = period_s, gap_s, phase_s

    def active(self, t):
        if not self.start_s <= t < self.end_s:
            return False
        return not self.period_s or (t + self.phase_s) % self.period_s >= self.gap_s


class Trace:
    """What the sensors recorded and what really happened."""

    def __init__(self):
        self.rows = []                            # time, power, temperature, utilisation, memory
        self.energy_j = self.cpu_j = self.duration_s = 0.0


def simulate(machine, model, work, time_factor, power_factor, spans, rng, start):
    """Run one training on the machine from its present temperature."""
    trace = Trace()
    for span in spans:
        machine.slow_k += span.hot_k * 0.7
        machine.fast_k += span.hot_k * 0.3
    epochs = max(1.0, work * model.epochs)
    begin = model.import_s + model.context_s
    total = begin + epochs * model.epoch_s + model.tail_s
    t = done = noise = 0.0
    load_w = (model.load * machine.cap_w - machine.context_w) * power_factor
    load_w = max(load_w, 8.0)
    due = rng.uniform(0.0, 0.3)
    lagging, recent = None, []                    # what the sensor shows: it lags by 0.4 s
    finished = False
    dynamic_noise = machine.noise / 2
    while not finished:
        dt = min(0.5 if machine.sensor_mean else 1.25, max(due - t, 1e-3))
        rate, held, base, utilisation = 1.0 / time_factor, True, 0.0, 0.0
        left = total - done                       # work until the load changes
        if not model.uses_gpu:
            held = False
        elif done < model.import_s:
            held, left = False, model.import_s - done
        elif done < begin:
            left = begin - done
        elif done < total - model.tail_s:
            place = (done - begin) % model.epoch_s
            validation = model.epoch_s * (1 - model.validation_share)
            if place < model.gap_s:
                end = model.gap_s
            elif place < validation:
                end, base, utilisation = validation, load_w, model.utilisation
            else:
                end, base = model.epoch_s, load_w * model.validation_load
                utilisation = model.utilisation * model.validation_load
            left = min(end - place, total - model.tail_s - done)
        working = base > 0
        extra_w = extra_u = cpu_extra = 0.0
        clock = cap = 1.0
        starve = 0.0
        middle = t + dt / 2
        for span in spans:
            if not span.active(middle):
                continue
            if span.power_w:
                held = True
            extra_w += span.power_w
            extra_u += span.utilisation
            cpu_extra += span.cpu_w
            clock, cap = min(clock, span.clock), min(cap, span.cap)
            starve += span.hungry
            rate /= 1 + (span.slow if working else span.slow * 0.3)
        if working:
            if starve:
                rate /= 1 + starve
                base /= 1 + 0.8 * starve
                utilisation /= 1 + 0.8 * starve
            if clock < 1:
                rate *= clock ** 0.95
                base *= clock ** 2.2
        elif starve:
            rate /= 1 + 0.7 * starve
        warm = 1 + machine.leak_per_k * (machine.temperature() - 60)
        if held:
            power = (machine.context_w + base + extra_w) * warm
        else:
            power = machine.rest_w if machine.persistence else machine.wake_w
        limit = machine.cap_w * cap
        if power > limit:
            if working and cap < 1:
                rate *= (limit / power) ** 0.7
            power = limit
        step = min(dt, left / rate + 1e-6)
        finished = done + step * rate >= total
        if finished:
            step = (total - done) / rate
        done += step * rate
        t += step
        trace.energy_j += power * step
        trace.cpu_j += (machine.cpu_idle_w + model.cpu_w + cpu_extra) * step
        machine.heat(power, step)
        recent.append((step, power))
        lagging = power if lagging is None else power + (lagging - power) * math.exp(-step / 0.4)
        if finished or t < due - 1e-9:
            continue
        if machine.sensor_mean:
            seconds = joules = 0.0
            while recent and seconds < 1.0:
                s, p = recent.pop()
                seconds += s
                joules += s * p
            shown = joules / seconds
        else:
            shown = lagging
        recent = []
        noise = 0.5 * noise + 0.87 * rng.gauss(0, 1)
        loaded = base > 0 or extra_w > 0
        shown += noise * (machine.noise * shown if loaded else machine.rest_noise_w)
        if loaded:
            shown *= 1 + dynamic_noise * rng.gauss(0, 1)
            shown = min(shown, machine.cap_w * cap * (1 + 0.01 * abs(rng.gauss(0, 1))))
        shown = max(1.0, round(shown / machine.resolution_w) * machine.resolution_w)
        u = utilisation + extra_u
        if u > 0:
            u = u + rng.gauss(0, 1.2)
        elif held and rng.random() < 0.15:
            u = rng.choice((1, 2, 3))
        u = int(min(100, max(0, round(u))))
        memory = int(min(100, max(0, round(u * model.memory_utilisation /
                                           max(1.0, model.utilisation) + rng.gauss(0, 0.8)))))
        stamp = start + t
        stamp = round(stamp, 3) if machine.fraction_stamps else int(stamp)
        trace.rows.append([stamp, shown, int(machine.temperature() + rng.uniform(0, 0.999)), u,
                           memory if u else 0])
        due = t + machine.period_s + machine.query_s + rng.uniform(0, 0.012)
        if not machine.persistence and not held:
            due += machine.wake_s
        if machine.stall_share and rng.random() < machine.stall_share:
            due += rng.uniform(1, 2.5)
    trace.duration_s = t
    return trace


# Folders

class Experiment:
    def __init__(self, model, hyperparameters, background):
        self.model, self.hyperparameters, self.background = model, dict(hyperparameters), background
        self.id = self.error = None
        self.success, self.retries = True, 0
        self.metrics = {}
        self.trace = None
        self.start = self.end = self.overhead_s = 0.0
        self.recorded_j = self.cpu_j = 0.0
        self.missing = set()                      # files that are not written
        self.power_twice = False                  # each row of gpu_power.csv is there twice
        self.truth = {"disturbed": False, "energy_percent": 0.0, "time_percent": 0.0,
                      "disturbance": None, "contradiction": None, "source": False}


class Folder:
    """One generated results folder."""

    def __init__(self, rng, **machine):
        self.rng, self.machine = rng, Machine(rng, **machine)
        self.experiments = []
        self.repeats_blank = rng.random() < 0.4   # leave default hyperparameters blank
        self.layout = "study"
        self.crlf = self.units = False
        self.names = [("reid", "densenet"), ("mnist", "cnn"), ("oast", "default"),
                      ("siam", "siamese"), ("bert", "mlp"), ("resnet", "resnet20"),
                      ("vul", "cnn"), ("speech", "rnn"), ("gan", "dcgan"), ("seg", "unet")]
        rng.shuffle(self.names)

    def model(self, **changes):
        repository, name = self.names.pop()
        rng = self.rng
        known = [("test_accuracy", rng.uniform(0.6, 0.97), 0.004, None),
                 ("test_loss", rng.uniform(0.1, 0.9), 0.01, None),
                 ("map", rng.uniform(0.3, 0.8), 0.004, None),
                 ("rank1", rng.uniform(0.5, 0.9), 0.004, None),
                 ("precision", rng.uniform(0.6, 0.98), 0.004, None),
                 ("eval_loss", rng.uniform(0.3, 0.9), 0.01, None)]
        metrics = changes.pop("metrics", None) or rng.sample(known, rng.choice((2, 3)))
        return Model(rng, repository, name, metrics, **changes)

    def add(self, model, hyperparameters=None, spans=None, background=None, target=None,
            disturbance=None, success=True, pause_s=None, time_factor=1.0, hot_is_start=False,
            missing_background=False):
        """Run one experiment. spans: a function of (duration, strength) that gives spans.

        target: the range of percent in which the larger effect on time and energy must lie; the
        strength is searched. Without one the strength is 1."""
        machine, rng = self.machine, self.rng
        if self.experiments or pause_s is not None:
            machine.cool(machine.pause_s if pause_s is None else pause_s)
        e = Experiment(model, hyperparameters or {}, background)
        if "seed" not in e.hyperparameters:
            e.hyperparameters["seed"] = rng.randrange(10000)
        sigma = model.scatter
        factor = time_factor * math.exp(rng.gauss(0, 0.85 * sigma))
        power = math.exp(rng.gauss(0, 0.5 * sigma))
        work = model.work(e.hyperparameters)
        if model.early:
            work *= rng.uniform(0.3, 1.0)
        seed = rng.randrange(1 << 30)
        e.start = machine.now + rng.uniform(0.2, 1.0)
        state = (machine.fast_k, machine.slow_k)
        beside = background_spans(machine, background, rng) if background else []

        def run(extra, plain):
            machine.fast_k, machine.slow_k = state
            return simulate(machine, model, work, factor, power, plain + extra,
                            random.Random(seed), e.start)

        if not spans and not missing_background:
            e.trace = run([], beside)
        else:
            normal = run([], beside)
            low, high, strength, best = 0.0, None, 1.0, None
            for _ in range(10):
                if missing_background:
                    trace = run(spans(normal.duration_s, strength, beside), [])
                else:
                    trace = run(spans(normal.duration_s, strength), beside)
                effect = (trace.energy_j / normal.energy_j - 1, trace.duration_s /
                          normal.duration_s - 1)
                size = 100 * max(abs(effect[0]), abs(effect[1]))
                best = trace, effect, (machine.fast_k, machine.slow_k)
                if not target or target[0] <= size <= target[1]:
                    break
                if size < target[0]:
                    low = strength
                    strength = strength * 1.8 if high is None else (strength + high) / 2
                else:
                    high = strength
                    strength = (low + strength) / 2
            e.trace, effect, (machine.fast_k, machine.slow_k) = best
            e.truth.update(disturbed=True, disturbance=disturbance,
                           energy_percent=100 * effect[0], time_percent=100 * effect[1])
        e.overhead_s = rng.uniform(0.6, 1.6)
        e.end = e.start + e.trace.duration_s + e.overhead_s * 0.3
        machine.now = e.end
        e.success = success
        for name, mean, sd, quantum in model.metrics if success else ():
            value = mean + sd * rng.gauss(0, 1)
            e.metrics[name] = round(value / quantum) * quantum if quantum else value
        e.cpu_j = e.trace.cpu_j * math.exp(rng.gauss(0, 0.3 * sigma + 0.002))
        e.error = "Training completed successfully" if success else "Training failed (exit code 1)"
        e.retries = 0 if success else 2
        self.experiments.append(e)
        return e

    def kinds(self):
        kinds = {}
        for e in self.experiments:
            key = (e.model.repository, e.model.name,
                   e.background.name if e.background else None)
            kinds.setdefault(key, []).append(e)
        return kinds

    def finish(self):
        """Number the experiments and write how many comparable siblings each has."""
        for number, e in enumerate(self.experiments, 1):
            e.id = "%s_%s_%03d%s" % (e.model.repository, e.model.name, number,
                                     "_parallel" if e.background else "")
        for members in self.kinds().values():
            good = [e for e in members if e.success and not e.truth["disturbed"]
                    and not e.truth["contradiction"]]
            works = {}
            for e in good:
                works.setdefault(round(e.model.work(e.hyperparameters), 6), []).append(e)
            learnable = len(works) >= 3 and len(good) >= 6
            for e in members:
                own = works.get(round(e.model.work(e.hyperparameters), 6), [])
                peers = good if learnable else own
                e.truth["siblings"] = sum(1 for other in peers if other is not e)
                e.truth["scatter"] = math.hypot(e.model.scatter, e.model.more_scatter)
                e.truth["success"] = e.success
                e.truth["process_list"] = False
                e.truth["trace"] = "power" not in e.missing and self.layout == "study"


def background_spans(machine, background, rng):
    """The load of a training that is repeated beside another."""
    period = background.import_s + background.context_s + background.epochs * background.epoch_s
    share = rng.uniform(0.9, 1.0)
    return [Span(slow=0.35 if background.uses_gpu else 0.0,
                 power_w=max(0.0, background.load * machine.cap_w - machine.context_w) * 0.6 * share
                 if background.uses_gpu else 0.0,
                 utilisation=background.utilisation * 0.5 if background.uses_gpu else 0.0,
                 hungry=0.0 if background.uses_gpu else 0.4,
                 cpu_w=background.cpu_w, period_s=period,
                 gap_s=background.import_s + background.context_s if background.uses_gpu else 0.0,
                 phase_s=30 + rng.uniform(0, 3))]


# Writing

def local(machine, seconds):
    when = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).replace(tzinfo=None)
    return (when + datetime.timedelta(hours=machine.zone_h)).isoformat(timespec="microseconds")


def mean(values):
    return sum(values) / len(values)


def recorded_energy(machine, rows, end):
    """The study adds up the samples; with another period each sample counts until the next."""
    if machine.period_s == 1.0:
        return sum(row[1] for row in rows)
    stamps = [row[0] for row in rows[1:]] + [end]
    return sum((after - row[0]) * row[1] for row, after in zip(rows, stamps))


def energy_metrics(folder, e):
    rows = e.trace.rows
    figures = {}
    if "cpu" not in e.missing:
        package, memory = round(e.cpu_j, 2), round(e.cpu_j * 0.07, 2)
        figures["cpu_energy_pkg_joules"] = package
        figures["cpu_energy_ram_joules"] = memory
        figures["cpu_energy_total_joules"] = round(package + memory, 2)
    if rows:
        power = [round(row[1], 2) for row in rows]
        if e.power_twice:
            rows = [row for row in rows for _ in (0, 1)]
            power = [watts for watts in power for _ in (0, 1)]
        figures["gpu_power_avg_watts"] = mean(power)
        figures["gpu_power_max_watts"] = max(power)
        figures["gpu_power_min_watts"] = min(power)
        figures["gpu_energy_total_joules"] = recorded_energy(
            folder.machine, [(row[0], w) for row, w in zip(rows, power)],
            e.start + e.trace.duration_s)
        if "temperature" not in e.missing:
            figures["gpu_temp_avg_celsius"] = mean([row[2] for row in rows])
            figures["gpu_temp_max_celsius"] = float(max(row[2] for row in rows))
        if "utilisation" not in e.missing:
            figures["gpu_util_avg_percent"] = mean([row[3] for row in rows])
            figures["gpu_util_max_percent"] = float(max(row[3] for row in rows))
    return figures


COLUMNS = (("energy_cpu_pkg_joules", "cpu_energy_pkg_joules"),
           ("energy_cpu_ram_joules", "cpu_energy_ram_joules"),
           ("energy_cpu_total_joules", "cpu_energy_total_joules"),
           ("energy_gpu_avg_watts", "gpu_power_avg_watts"),
           ("energy_gpu_max_watts", "gpu_power_max_watts"),
           ("energy_gpu_min_watts", "gpu_power_min_watts"),
           ("energy_gpu_total_joules", "gpu_energy_total_joules"),
           ("energy_gpu_temp_avg_celsius", "gpu_temp_avg_celsius"),
           ("energy_gpu_temp_max_celsius", "gpu_temp_max_celsius"),
           ("energy_gpu_util_avg_percent", "gpu_util_avg_percent"),
           ("energy_gpu_util_max_percent", "gpu_util_max_percent"))


def write(path, text, crlf=False):
    with open(path, "w", encoding="utf-8", newline="\r\n" if crlf else "\n") as file:
        file.write(text)


def write_energy(folder, e, path):
    os.makedirs(path)
    rows = e.trace.rows
    unit = " W" if folder.units else ""
    stamp = "%.3f" if folder.machine.fraction_stamps else "%d"
    if "power" not in e.missing:
        lines = "".join((stamp + ",%.2f%s\n") % (row[0], row[1], unit)
                        for row in rows for _ in range(1 + e.power_twice))
        write(path + "/gpu_power.csv", "timestamp,power_draw_w\n" + lines, folder.crlf)
    if "temperature" not in e.missing:
        lines = "".join((stamp + ",%d,N/A\n") % (row[0], row[2]) for row in rows)
        write(path + "/gpu_temperature.csv", "timestamp,gpu_temp_c,memory_temp_c\n" + lines,
              folder.crlf)
    if "utilisation" not in e.missing:
        lines = "".join((stamp + ",%d,%d\n") % (row[0], row[3], row[4]) for row in rows)
        write(path + "/gpu_utilization.csv",
              "timestamp,gpu_util_percent,memory_util_percent\n" + lines, folder.crlf)
    if "cpu" not in e.missing:
        package, memory = round(e.cpu_j, 2), round(e.cpu_j * 0.07, 2)
        write(path + "/cpu_energy.txt",
              "CPU Energy Consumption Summary\n==============================\n"
              "Package Energy (Joules): %.2f\nRAM Energy (Joules): %.2f\n"
              "Total CPU Energy (Joules): %.2f\n\n"
              "Note: Measured using perf stat with direct command wrapping\n"
              "This method provides more accurate results than interval sampling\n"
              % (package, memory, package + memory))
        began = datetime.datetime.fromisoformat(local(folder.machine, e.start))
        write(path + "/cpu_energy_raw.txt",
              "# started on %s\n\n\n Performance counter stats for 'system wide':\n\n"
              "%18s Joules power/energy-pkg/   \n%18s Joules power/energy-ram/   \n\n"
              "%18.9f seconds time elapsed\n\n"
              % (began.strftime("%a %b %e %H:%M:%S %Y"), "{:,.2f}".format(package),
                 "{:,.2f}".format(memory), e.trace.duration_s))


def write_study(folder, path):
    os.makedirs(path)
    names = sorted({n for e in folder.experiments for n in e.hyperparameters})
    metrics = sorted({n for e in folder.experiments for n in e.metrics})
    out = [["experiment_id", "timestamp", "repository", "model", "training_success",
            "duration_seconds", "retries"] + ["hyperparam_" + n for n in names] +
           ["perf_" + n for n in metrics] + [column for column, _ in COLUMNS]]
    for e in folder.experiments:
        figures = energy_metrics(folder, e)
        duration = e.trace.duration_s + e.overhead_s
        inner = {"repository": e.model.repository, "model": e.model.name,
                 "hyperparameters": e.hyperparameters, "duration_seconds": duration,
                 "energy_metrics": figures, "performance_metrics": e.metrics,
                 "training_success": e.success, "retries": e.retries, "error_message": e.error}
        ended = e.end + e.overhead_s * 0.7
        record = {"experiment_id": e.id, "timestamp": local(folder.machine, ended)}
        if e.background:
            record["mode"] = "parallel"
            record["foreground"] = inner
            record["background"] = {
                "repository": e.background.repository, "model": e.background.name,
                "hyperparameters": {"epochs": e.background.epochs},
                "log_directory": "results/%s/background_logs" % e.id,
                "note": "Background training served as GPU load only (not monitored)"}
        else:
            record.update(inner)
        if folder.layout == "study":
            os.makedirs(path + "/" + e.id)
            write(path + "/" + e.id + "/experiment.json", json.dumps(record, indent=2))
            write_energy(folder, e, path + "/" + e.id + "/energy")
        out.append([e.id, record["timestamp"], e.model.repository, e.model.name, str(e.success),
                    repr(duration), str(e.retries)] +
                   [cell(e.hyperparameters.get(n)) for n in names] +
                   [cell(e.metrics.get(n)) for n in metrics] +
                   [cell(figures.get(key)) for _, key in COLUMNS])
    with open(path + "/summary.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\r\n" if folder.crlf else "\n").writerows(out)


def cell(value):
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


def write_plain(folder, path):
    """A table of another program: it has neither the study's columns nor ids."""
    os.makedirs(path)
    with open(path + "/summary.csv", "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["lr", "seed", "val_acc", "seconds"])
        for e in folder.experiments:
            out.writerow([cell(e.hyperparameters.get("learning_rate")),
                          e.hyperparameters["seed"],
                          cell(next(iter(e.metrics.values()), None)),
                          "%.3f" % e.trace.duration_s])


def write_codecarbon(folder, path):
    os.makedirs(path)
    names = ("timestamp,project_name,run_id,experiment_id,duration,emissions,emissions_rate,"
             "cpu_power,gpu_power,ram_power,cpu_energy,gpu_energy,ram_energy,energy_consumed,"
             "country_name,country_iso_code,region,cloud_provider,cloud_region,os,python_version,"
             "codecarbon_version,cpu_count,cpu_model,gpu_count,gpu_model,longitude,latitude,"
             "ram_total_size,tracking_mode,on_cloud,pue").split(",")
    experiment = "%032x" % folder.rng.getrandbits(128)
    with open(path + "/emissions.csv", "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(names)
        for e in folder.experiments:
            seconds = e.trace.duration_s
            gpu, cpu = e.trace.energy_j / 3.6e6, e.cpu_j / 3.6e6
            ram = 12.0 * seconds / 3.6e6
            kilograms = (gpu + cpu + ram) * 0.38
            e.id = "%08x-0000-4000-8000-%012x" % (folder.rng.getrandbits(32),
                                                  folder.rng.getrandbits(48))
            row = [local(folder.machine, e.end)[:19], e.model.repository, e.id, experiment,
                   seconds, kilograms, kilograms / seconds, cpu * 3.6e6 / seconds,
                   gpu * 3.6e6 / seconds, 12.0, cpu, gpu, ram, gpu + cpu + ram, "Germany", "DEU",
                   "", "", "", "Linux-6.1-x86_64", "3.11.4", "2.8.3", 32, "AMD EPYC 7543", 1,
                   "1 x NVIDIA A100-SXM4-40GB", "", "", 251.6, "machine", "N", 1.0]
            out.writerow([cell(value) for value in row])


WRITERS = {"study": write_study, "summary": write_study, "plain": write_plain,
           "codecarbon": write_codecarbon}


# Disturbances: functions of (duration, strength) that give spans

def foreign(machine, rng, share, slow=None):
    """Another process on the GPU for a share of the time; all of it: before and after, too."""
    power = rng.uniform(0.15, 0.4) * machine.cap_w
    slow = rng.uniform(0.1, 0.5) if slow is None else slow
    utilisation = rng.uniform(20, 60)
    place = rng.uniform(0.1, 0.9)

    def spans(duration, strength):
        if share >= 1:
            start, end = -1e9, 1e9
        else:
            length = share * duration
            start = max(4.0, place * (duration - length))
            end = start + length
        return [Span(start, end, slow=min(slow * strength, 3.0),
                     power_w=min(power * strength, machine.cap_w * 0.7),
                     utilisation=min(utilisation * strength, 100))]
    return spans


def cpu_hog(machine, rng):
    watts = rng.uniform(20, 120)
    return lambda duration, strength: [Span(hungry=0.15 * strength, cpu_w=watts)]


def lowered_clocks(clock):
    return lambda duration, strength: [Span(clock=max(0.3, 1 - (1 - clock) * strength))]


def power_cap(cap):
    return lambda duration, strength: [Span(cap=max(0.3, 1 - (1 - cap) * strength))]


def hot_start(rng):
    """The GPU is hot from other work, and slowed down until it has cooled."""
    kelvin = rng.uniform(18, 30)
    share = rng.uniform(0.5, 1.0)
    return lambda duration, strength: [Span(-1e9, share * duration, slow=0.12 * strength,
                                            hot_k=kelvin)]


def leftover(machine, rng, share):
    """A process of the training before goes on, and ends somewhere in this one."""
    power = rng.uniform(0.2, 0.5) * machine.cap_w
    return lambda duration, strength: [
        Span(-1e9, share * duration, slow=min(0.4 * strength, 3.0),
             power_w=min(power * strength, 0.7 * machine.cap_w),
             utilisation=min(100, 50 * strength))]


def background_fault(kind, share):
    """The background is missing, stops working (stalled) or begins to work late."""
    def spans(duration, strength, beside):
        if kind == "missing":
            return []
        faulty = []
        for span in beside:
            copy = Span(**{k: v for k, v in vars(span).items()})
            if kind == "stalled":
                copy.end_s = share * duration
            else:
                copy.start_s = share * duration
            faulty.append(copy)
        if kind == "stalled":                     # it still holds the GPU: context, no work
            faulty.append(Span(share * duration, 1e9, power_w=0.01))
        return faulty
    return spans


# Contradictions planted into finished folders

def plant(folder, victim, kind):
    victim.truth["contradiction"] = kind


def shift(e, seconds):
    whole = seconds if isinstance(e.trace.rows[0][0], float) else int(round(seconds))
    for row in e.trace.rows:
        row[0] += whole
    e.start += whole
    e.end += whole


def plant_overlap(folder, count, low_s, high_s):
    """Move experiments back in time until they begin before the one before has ended."""
    order = folder.experiments
    places = folder.rng.sample(range(1, len(order) - 1, 2), min(count, (len(order) - 1) // 2))
    for place in places:
        before, victim = order[place - 1], order[place]
        length = min(folder.rng.uniform(low_s, high_s), 0.9 * before.trace.duration_s,
                     0.9 * victim.trace.duration_s)
        # The trace of the earlier one ends at its last sample, up to a period before its end.
        shift(victim, before.start + before.trace.duration_s - length - victim.start)
        for e in (before, victim):
            plant(folder, e, "time_overlap")


def plant_copy(folder, count, anywhere):
    rng = folder.rng
    for source in rng.sample(folder.experiments, count):
        copy = Experiment(source.model, source.hyperparameters, source.background)
        copy.trace = source.trace
        copy.start, copy.end, copy.overhead_s = source.start, source.end, source.overhead_s
        copy.cpu_j, copy.metrics, copy.error = source.cpu_j, dict(source.metrics), source.error
        plant(folder, copy, "copied_run")
        source.truth["source"] = True
        place = folder.experiments.index(source) + 1
        if anywhere:
            place = rng.randint(place, len(folder.experiments))
        folder.experiments.insert(place, copy)


def plant_frozen(folder, count, tail):
    """Power, utilisation and temperature stay as they were at one sample under load."""
    rng = folder.rng
    for victim in rng.sample(folder.experiments, count):
        rows = victim.trace.rows
        busy = [i for i, row in enumerate(rows) if row[3] > 20]
        first = busy[rng.randrange(2, max(3, len(busy) // 3))]
        last = len(rows)
        if not tail:
            last = min(len(rows), first + max(62, int(rng.uniform(0.4, 0.8) * len(rows))))
        for row in rows[first + 1:last]:
            row[1:] = rows[first][1:]
        plant(folder, victim, "sensor_frozen")


def plant_rows_twice(folder, count, blocks, power_alone=False):
    for victim in folder.rng.sample(folder.experiments, count):
        plant(folder, victim, "repeated_rows")
        victim.power_twice = power_alone
        if power_alone:
            continue
        rows = victim.trace.rows
        victim.trace.rows = rows + [list(row) for row in rows] if blocks else [
            list(row) for row in rows for _ in (0, 1)]


def others_of_kind(folder, victim, any_kind=False):
    return [e for e in folder.experiments if e is not victim
            and (any_kind or e.model is victim.model)
            and not e.truth["contradiction"] and not e.truth["source"]]


def plant_trace(folder, count, only_power, own_stamps, any_kind=False):
    """The trace of another experiment, most often of the kind, moved to the victim's start."""
    for victim in folder.rng.sample(folder.experiments, count):
        donors = others_of_kind(folder, victim, any_kind)
        if not donors or victim.truth["source"] or victim.truth["contradiction"]:
            continue
        copy_trace(folder.rng.choice(donors), victim, only_power, own_stamps)
        plant(folder, victim, "copied_trace")


def copy_trace(donor, victim, only_power, own_stamps):
    source, rows = donor.trace.rows, victim.trace.rows
    move = rows[0][0] - source[0][0]
    end = rows[-1][0]
    if own_stamps:
        for row, other in zip(rows, source):
            row[1:] = [other[1]] + row[2:] if only_power else other[1:]
        del rows[len(source):]
    elif only_power:
        # The three files have the same stamps in this generator: those of the source.
        kept = [list(row) for row in source if row[0] + move <= end]
        for i, row in enumerate(kept):
            own = rows[min(i, len(rows) - 1)]
            kept[i] = [row[0] + move, row[1]] + own[2:]
        victim.trace.rows = kept
    else:
        victim.trace.rows = [[row[0] + move] + row[1:] for row in source if row[0] + move <= end]
    donor.truth["source"] = True


def plant_metrics(folder, count, with_trace):
    """All metrics of an experiment with another seed, to the last digit."""
    rng = folder.rng
    for victim in rng.sample(folder.experiments, count):
        donors = others_of_kind(folder, victim)
        if not donors or victim.truth["source"] or victim.truth["contradiction"]:
            continue
        donor = rng.choice(donors)
        if with_trace:
            copy_trace(donor, victim, False, False)
        victim.metrics = dict(donor.metrics)
        donor.truth["source"] = True
        plant(folder, victim, "metrics_copied")


# Scenarios

SCENARIOS = []


def scenario(group, instances, name=None, **fixed):
    def keep(function):
        SCENARIOS.append((name or function.__name__, group, instances,
                          lambda rng: function(rng, **fixed)))
        return function
    return keep


def variants(group, instances, table):
    """One function, several scenarios: {name: arguments}."""
    def keep(function):
        for name, fixed in table.items():
            SCENARIOS.append((name, group, instances,
                              lambda rng, fixed=fixed: function(rng, **fixed)))
        return function
    return keep


def sweep(folder, rng, models, repeats, order="shuffled", **options):
    """Plan `repeats` runs of each model with a learning rate or seed that changes no work."""
    plan = []
    for model in models:
        plan += [(model, rng.random()) for _ in range(repeats)]
    if order == "shuffled":
        rng.shuffle(plan)
    elif order == "turns":
        plan = [plan[m * repeats + i] for i in range(repeats) for m in range(len(models))]
    for model, draw in plan:
        hyper = {"epochs": model.epochs, "learning_rate": 0.001}
        if draw < 0.3:
            hyper["learning_rate"] = round(10 ** rng.uniform(-4, -1), 6)
        if folder.repeats_blank and draw > 0.5:
            hyper["learning_rate"] = None
            hyper["epochs"] = None
            hyper = {k: v for k, v in hyper.items() if v is not None}
        yield model, hyper, options


def run_all(folder, plan):
    for model, hyper, options in plan:
        folder.add(model, hyper, **options)
    return folder


def ordinary(rng, kinds=3, repeats=5, order="shuffled", scatter=0.01, machine=None, **model):
    folder = Folder(rng, **(machine or {}))
    models = [folder.model(scatter=scatter, **model) for _ in range(kinds)]
    return run_all(folder, sweep(folder, rng, models, repeats, order))


@variants("undisturbed", 18, {
    "scatter_0.3%": dict(scatter=0.003), "scatter_1%": dict(scatter=0.01),
    "scatter_2%": dict(scatter=0.02), "scatter_2.5%": dict(scatter=0.025),
    "scatter_3%": dict(scatter=0.03), "scatter_5%": dict(scatter=0.05)})
def scattered(rng, scatter):
    return ordinary(rng, kinds=3, repeats=6, scatter=scatter)


@variants("undisturbed", 9, {
    "no_sibling": dict(kinds=8, repeats=1), "one_sibling": dict(kinds=7, repeats=2),
    "three_siblings": dict(kinds=4, repeats=4, scatter=0.015),
    "twenty_siblings": dict(kinds=1, repeats=21, scatter=0.015),
    "ten_models": dict(kinds=10, repeats=2, order="turns"),
    "five_models_in_turns": dict(kinds=5, repeats=5, order="turns"),
    "one_model_after_another": dict(kinds=3, repeats=6, order="rows"),
    "long_trainings": dict(kinds=2, repeats=4, epoch_s=240.0, epochs=5, scatter=0.012),
    "short_trainings": dict(kinds=3, repeats=6, epochs=2, epoch_s=4.0, import_s=3.0, context_s=1.5,
                            scatter=0.02),
    "early_stopping": dict(kinds=3, repeats=5, early=True, more_scatter=0.25),
    "validation_heavy": dict(kinds=3, repeats=5, validation_share=0.4, validation_load=0.3)})
def shaped(rng, **options):
    return ordinary(rng, **options)


@variants("undisturbed", 9, {
    "monitor_0.5s": dict(period_s=0.5, fraction_stamps=True),
    "monitor_0.5s_whole_stamps": dict(period_s=0.5),
    "monitor_2s": dict(period_s=2.0), "monitor_5s": dict(period_s=5.0),
    "monitor_10s": dict(period_s=10.0), "monitor_mean_sensor": dict(sensor_mean=True),
    "monitor_stalls": dict(stall_share=0.02), "persistence_off": dict(persistence=False),
    "coarse_power_1W": dict(resolution_w=1.0, noise=0.0015, rest_noise_w=0.2),
    "short_pauses": dict(pause_s=8.0), "back_to_back": dict(pause_s=0.8),
    "long_pauses": dict(pause_s=900.0)})
def monitored(rng, **machine):
    return ordinary(rng, kinds=3, repeats=5, scatter=rng.uniform(0.005, 0.02), machine=machine)


def scaled(rng, name, default, values, law, kinds=2, repeats=14, blank=True, scatter=0.012):
    folder = Folder(rng)
    models = [folder.model(scatter=scatter, laws={name: (default, law)}) for _ in range(kinds)]
    plan = [model for model in models for _ in range(repeats)]
    rng.shuffle(plan)
    for model in plan:
        hyper = {"learning_rate": 0.01}
        if not blank or rng.random() < 0.7:
            hyper[name] = rng.choice(values)
        folder.add(model, hyper)
    return folder


@variants("undisturbed", 9, {
    "epochs_linear": dict(name="epochs", default=10, values=(2, 5, 10, 15, 20), blank=False,
                          law=lambda v: v / 10),
    "epochs_blank_default": dict(name="epochs", default=10, values=(4, 7, 10, 14, 20),
                                 law=lambda v: v / 10),
    "iterations_power_law": dict(name="max_iter", default=500, values=(100, 200, 500, 800, 1500),
                                 blank=False, law=lambda v: (v / 500) ** 0.7),
    "batch_size_power_law": dict(name="batch_size", default=32, values=(8, 16, 32, 64, 128),
                                 blank=False, law=lambda v: (v / 32) ** -0.3),
    "kfold": dict(name="kfold", default=10, values=(2, 4, 5, 8, 12), law=lambda v: v / 10),
    "data_size_with_offset": dict(name="n_samples", default=10000, blank=False,
                                  values=(2000, 5000, 10000, 20000, 40000),
                                  law=lambda v: 0.3 + 0.7 * v / 10000)})
def work_scales(rng, **options):
    return scaled(rng, **options)


@scenario("undisturbed", 9)
def first_run_fills_caches(rng):
    """The first run of each model reads its data from the disk and takes 3 to 9 % longer."""
    folder = Folder(rng)
    models = [folder.model(more_scatter=0.024) for _ in range(3)]
    seen = set()
    for model, hyper, options in sweep(folder, rng, models, 6):
        factor = 1.0 if model in seen else rng.uniform(1.03, 1.09)
        seen.add(model)
        folder.add(model, hyper, time_factor=factor, **options)
    return folder


@scenario("undisturbed", 9)
def first_start_is_warm(rng):
    """The GPU is a few kelvin warmer at the first start, from work long before."""
    folder = Folder(rng)
    folder.machine.slow_k += rng.uniform(3, 8)
    models = [folder.model() for _ in range(3)]
    return run_all(folder, sweep(folder, rng, models, 5))


@scenario("undisturbed", 9)
def mixed_success(rng):
    folder = Folder(rng)
    models = [folder.model() for _ in range(3)]
    for model, hyper, options in sweep(folder, rng, models, 7):
        folder.add(model, hyper, success=rng.random() > 0.25, **options)
    return folder


@variants("undisturbed", 6, {
    "one_temperature_file_missing": dict(files=("temperature",), share=0),
    "no_temperature_files": dict(files=("temperature",), share=1),
    "no_utilisation_files": dict(files=("utilisation",), share=1),
    "some_utilisation_files_missing": dict(files=("utilisation",), share=0.3),
    "no_cpu_energy": dict(files=("cpu",), share=1),
    "some_cpu_energy_missing": dict(files=("cpu",), share=0.3),
    "power_only": dict(files=("temperature", "utilisation", "cpu"), share=1)})
def files_missing(rng, files, share):
    folder = ordinary(rng, kinds=3, repeats=6)
    for i, e in enumerate(folder.experiments):
        if i == 3 or rng.random() < share:
            e.missing.update(files)
    return folder


@variants("undisturbed", 6, {"summary_only": dict(layout="summary"),
                             "plain_csv": dict(layout="plain"),
                             "codecarbon": dict(layout="codecarbon")})
def other_layout(rng, layout):
    folder = ordinary(rng, kinds=1 if layout == "plain" else 2, repeats=8)
    folder.layout = layout
    return folder


@scenario("undisturbed", 6)
def units_and_windows_line_ends(rng):
    folder = ordinary(rng, kinds=3, repeats=5)
    folder.crlf, folder.units = True, rng.random() < 0.5
    return folder


@scenario("undisturbed", 6)
def trains_on_cpu_only(rng):
    """A model that never uses the GPU, among others that do."""
    folder = Folder(rng, persistence=rng.random() < 0.5)
    models = [folder.model(uses_gpu=False, cpu_w=90.0), folder.model()]
    return run_all(folder, sweep(folder, rng, models, 7))


def parallel(rng, background_gpu=True, sequential=6, beside=6, machine=None):
    folder = Folder(rng, **(machine or {}))
    models = [folder.model(scatter=0.012, load=rng.uniform(0.35, 0.6)) for _ in range(2)]
    background = folder.model(uses_gpu=background_gpu, cpu_w=60.0,
                              load=rng.uniform(0.4, 0.6), gap_s=0.3)
    background.epoch_s = rng.uniform(120, 400) / background.epochs
    return folder, models, background, sequential, beside


@variants("undisturbed", 9, {"parallel": dict(gpu=True), "parallel_background_on_cpu":
                             dict(gpu=False)})
def parallel_undisturbed(rng, gpu):
    folder, models, background, sequential, beside = parallel(rng, gpu)
    run_all(folder, sweep(folder, rng, models, sequential))
    run_all(folder, sweep(folder, rng, models, beside, background=background))
    return folder


@scenario("undisturbed", 9)
def one_metric_repeats(rng):
    """An accuracy of k/N is often equal under different seeds; the loss is not."""
    metrics = [("test_accuracy", 0.9, 0.004, 0.01), ("test_loss", 0.3, 0.01, None)]
    return ordinary(rng, kinds=2, repeats=7, metrics=metrics)


@scenario("undisturbed", 9)
def same_seed_same_metrics(rng):
    """A deterministic script: equal seeds give equal metrics in every digit."""
    folder = Folder(rng)
    models = [folder.model() for _ in range(2)]
    found = {}
    for model, hyper, options in sweep(folder, rng, models, 7):
        hyper = {"seed": rng.choice((1, 2)), "epochs": model.epochs}
        e = folder.add(model, hyper, **options)
        e.metrics = found.setdefault((model.name, hyper["seed"]), e.metrics)
    return folder


@scenario("undisturbed", 9)
def room_warms_up(rng):
    """The room's temperature drifts by a few kelvin over the day."""
    folder = Folder(rng)
    models = [folder.model() for _ in range(3)]
    drift = rng.uniform(2, 4) / 18
    for model, hyper, options in sweep(folder, rng, models, 6):
        folder.add(model, hyper, **options)
        folder.machine.ambient_c += drift
    return folder


@scenario("undisturbed", 9)
def resumed_next_day(rng):
    folder = Folder(rng)
    models = [folder.model() for _ in range(3)]
    plan = list(sweep(folder, rng, models, 6))
    for i, (model, hyper, options) in enumerate(plan):
        folder.add(model, hyper, pause_s=50000.0 if i == 9 else None, **options)
    return folder


def disturb(rng, make, count, target, disturbance, kinds=3, repeats=6, scatter=0.012, where="any",
            machine=None, **model):
    """Disturb `count` experiments of a folder; make(folder) gives a function of spans."""
    folder = Folder(rng, **(machine or {}))
    models = [folder.model(scatter=scatter, **model) for _ in range(kinds)]
    plan = list(sweep(folder, rng, models, repeats))
    if where == "any":
        chosen = set(rng.sample(range(len(plan)), count))
    elif where == "row":
        first = rng.randrange(1, len(plan) - count)
        chosen = set(range(first, first + count))
    elif where == "first":
        chosen = set(range(count))
    else:                                         # from some experiment on
        chosen = set(range(len(plan) - count, len(plan)))
    shared = make(folder) if where in ("row", "end") else None
    for i, (model, hyper, options) in enumerate(plan):
        if i in chosen:
            folder.add(model, hyper, spans=shared or make(folder), target=target,
                       disturbance=disturbance, **options)
        else:
            folder.add(model, hyper, **options)
    return folder


@variants("disturbed", 18, {
    "foreign_always_over_10%": dict(share=1.0, target=(10.5, 60), scatter=0.012),
    "foreign_always_5_10%": dict(share=1.0, target=(5.2, 9.8), scatter=0.012),
    "foreign_half_over_10%": dict(share=0.5, target=(10.5, 60), scatter=0.012),
    "foreign_half_5_10%": dict(share=0.5, target=(5.2, 9.8), scatter=0.012),
    "foreign_fifth_over_10%": dict(share=0.2, target=(10.5, 40), scatter=0.012),
    "foreign_fifth_5_10%": dict(share=0.2, target=(5.2, 9.8), scatter=0.012),
    "foreign_5%_of_time": dict(share=0.05, target=(5.2, 12), scatter=0.01),
    "foreign_among_scatter_3%": dict(share=0.6, target=(10.5, 40), scatter=0.03),
    "foreign_persistence_off": dict(share=0.7, target=(10.5, 60), scatter=0.012,
                                    machine=dict(persistence=False)),
    "foreign_few_siblings": dict(share=0.6, target=(10.5, 60), scatter=0.012, kinds=5,
                                 repeats=3)})
def foreign_process(rng, share, target, **options):
    return disturb(rng, lambda folder: foreign(folder.machine, rng, share), rng.randint(2, 4),
                   target, "foreign", **options)


@variants("disturbed", 18, {"foreign_in_a_row": dict(where="row"),
                           "foreign_from_the_first_on": dict(where="first")})
def foreign_long(rng, where):
    return disturb(rng, lambda folder: foreign(folder.machine, rng, 1.0), 4, (10.5, 60),
                   "foreign", where=where)


@variants("disturbed", 18, {
    "cpu_hog_over_10%": dict(count=3, target=(10.5, 40), where="any"),
    "cpu_hog_5_10%": dict(count=3, target=(5.2, 9.8), where="any"),
    "cpu_hog_beside_most": dict(count=13, target=(10.5, 40), where="end")})
def hog(rng, count, target, where):
    return disturb(rng, lambda folder: cpu_hog(folder.machine, rng), count, target, "cpu_hog",
                   where=where)


@variants("disturbed", 18, {
    "clocks_lowered_for_some": dict(count=4, where="end"),
    "clocks_lowered_in_the_middle": dict(count=5, where="row"),
    "clocks_lowered_for_most": dict(count=14, where="end"),
    "clocks_lowered_one_at_a_time": dict(count=3, where="any")})
def clocks(rng, count, where):
    factor = rng.uniform(0.65, 0.88)
    return disturb(rng, lambda folder: lowered_clocks(factor), count, None, "clocks", where=where)


@variants("disturbed", 18, {"power_cap_for_some": dict(count=4),
                           "power_cap_for_most": dict(count=14)})
def capped(rng, count):
    factor = rng.uniform(0.45, 0.65)
    return disturb(rng, lambda folder: power_cap(factor), count, None, "power_cap", where="end",
                   load=rng.uniform(0.8, 0.95))


@variants("disturbed", 18, {"hot_start_over_10%": dict(target=(10.5, 30)),
                           "hot_start_5_10%": dict(target=(5.2, 9.8))})
def hot(rng, target):
    return disturb(rng, lambda folder: hot_start(rng), 3, target, "hot_start")


@variants("disturbed", 18, {"leftover_over_10%": dict(target=(10.5, 60), low=0.2, high=0.9),
                           "leftover_5_10%": dict(target=(5.2, 9.8), low=0.1, high=0.5)})
def left_over(rng, target, low, high):
    return disturb(rng, lambda folder: leftover(folder.machine, rng, rng.uniform(low, high)), 3,
                   target, "leftover")


@variants("disturbed", 18, {"background_missing": dict(kind="missing"),
                           "background_stalled": dict(kind="stalled"),
                           "background_late": dict(kind="late")})
def background_faults(rng, kind):
    folder, models, background, sequential, beside = parallel(rng)
    run_all(folder, sweep(folder, rng, models, sequential))
    plan = list(sweep(folder, rng, models, beside, background=background))
    chosen = set(rng.sample(range(len(plan)), 3))
    for i, (model, hyper, options) in enumerate(plan):
        if i in chosen:
            share = rng.uniform(0.2, 0.6) if kind == "stalled" else rng.uniform(0.3, 0.7)
            folder.add(model, hyper, spans=background_fault(kind, share), missing_background=True,
                       disturbance="background_" + kind, **options)
        else:
            folder.add(model, hyper, **options)
    return folder


def contradictory(rng, plant_into, scatter=None, machine=None, kinds=2, repeats=8, **model):
    folder = ordinary(rng, kinds=kinds, repeats=repeats, machine=machine,
                      scatter=rng.uniform(0.005, 0.02) if scatter is None else scatter, **model)
    plant_into(folder)
    return folder


@variants("contradiction", 42, {
    "overlap_of_seconds": dict(low=6.5, high=20), "overlap_nearly_whole": dict(low=25, high=200),
    "overlap_few_siblings": dict(low=6.5, high=60, kinds=5, repeats=2)})
def overlaps(rng, low, high, **options):
    return contradictory(rng, lambda folder: plant_overlap(folder, 3, low, high), **options)


@variants("contradiction", 48, {
    "copied_run_beside": dict(anywhere=False), "copied_run_elsewhere": dict(anywhere=True),
    "copied_run_few_siblings": dict(anywhere=True, kinds=3, repeats=2)})
def copies(rng, anywhere, **options):
    return contradictory(rng, lambda folder: plant_copy(folder, 3, anywhere), **options)


@variants("contradiction", 42, {
    "sensor_frozen_to_the_end": dict(tail=True), "sensor_frozen_in_the_middle": dict(tail=False),
    "sensor_frozen_few_siblings": dict(tail=True, kinds=4, repeats=2),
    "sensor_frozen_coarse_power": dict(tail=True, machine=dict(resolution_w=1.0, noise=0.0015))})
def frozen(rng, tail, **options):
    epochs = 6
    return contradictory(rng, lambda folder: plant_frozen(folder, 3, tail), epochs=epochs,
                         epoch_s=rng.uniform(110, 170) / epochs, **options)


@variants("contradiction", 36, {
    "rows_twice": dict(blocks=False), "rows_twice_in_blocks": dict(blocks=True),
    "rows_twice_of_power_alone": dict(blocks=False, power_alone=True),
    "rows_twice_few_siblings": dict(blocks=False, kinds=4, repeats=2),
    "rows_twice_persistence_off": dict(blocks=False, machine=dict(persistence=False))})
def rows_twice(rng, blocks, power_alone=False, **options):
    return contradictory(rng, lambda folder: plant_rows_twice(folder, 3, blocks, power_alone),
                         **options)


@variants("contradiction", 33, {
    "trace_copied": dict(only_power=False, own_stamps=False),
    "trace_copied_power_alone": dict(only_power=True, own_stamps=False),
    "trace_copied_own_stamps": dict(only_power=True, own_stamps=True),
    "trace_copied_of_any_model": dict(only_power=False, own_stamps=False, any_kind=True),
    "trace_copied_few_siblings": dict(only_power=False, own_stamps=False, kinds=3, repeats=3)})
def traces(rng, only_power, own_stamps, any_kind=False, **options):
    return contradictory(rng, lambda folder: plant_trace(folder, 4, only_power, own_stamps,
                                                         any_kind), **options)


TWO_METRICS = [("test_accuracy", 0.8, 0.01, None), ("test_loss", 0.4, 0.01, None)]


@variants("contradiction", 48, {
    "metrics_equal": dict(with_trace=False), "metrics_and_trace_equal": dict(with_trace=True),
    "two_metrics_equal": dict(with_trace=False, metrics=TWO_METRICS)})
def metrics(rng, with_trace, **options):
    return contradictory(rng, lambda folder: plant_metrics(folder, 4, with_trace), **options)


# Runs of tare itself, on a played driver: folders with process lists

DRIVER = r"""
#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

typedef unsigned int u32;
typedef unsigned long long u64;
enum { OK = 0, UNSUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7, TIMEOUT = 10 };
struct process1 { u32 pid; u64 memory; };
struct process { u32 pid; u64 memory; u32 instance, compute; };
struct pci { char legacy[16]; u32 domain, bus, device, id, subsystem; char bus_id[32]; };
struct memory { u64 total, free, used; };
struct memory2 { u32 version; u64 total, reserved, free, used; };
struct share { u32 pid; u64 time_us; u32 sm, memory, encoder, decoder; };
struct field { u32 id, scope; long long time, latency; u32 type; int result; u64 value; };
struct temperature { u32 version, sensor; int celsius; };

struct sample { u64 time_us, value; };

#define SAMPLES 120
#define MIB 1048576ULL
#define WHO 2 /* 0: the job, 1: a foreign process */

struct state {
    double power_w, energy_j, celsius;
    int utilisation;
    u64 mib[WHO];
    u32 pid[WHO];
};

struct event { double at_s; int who; u32 pid; double power_w, share; u64 mib; };

#define EVENTS 4096
static struct event events[EVENTS];
static int event_count;

static const char *folder(void)
{
    const char *path = getenv("MATRIX_PLAY");
    return path ? path : "/nonexistent";
}

static double number(const char *name, double otherwise)
{
    const char *text = getenv(name);
    return text ? atof(text) : otherwise;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The job's process as the host numbers it: it runs the script of this folder. */
static u32 job_pid(void)
{
    static u32 known;
    char path[64], line[4096], wanted[1024];
    if (known && !kill((pid_t)known, 0))
        return known;
    snprintf(wanted, sizeof wanted, "%s/train.py", folder());
    DIR *all = opendir("/proc");
    known = 0;
    for (struct dirent *one; all && (one = readdir(all));) {
        if (!isdigit((unsigned char)one->d_name[0]))
            continue;
        snprintf(path, sizeof path, "/proc/%.20s/cmdline", one->d_name);
        FILE *file = fopen(path, "r");
        if (!file)
            continue;
        size_t n = fread(line, 1, sizeof line - 1, file);
        fclose(file);
        line[n] = 0;
        if (!strstr(line, "python"))
            continue;
        for (size_t i = strlen(line) + 1; i < n; i += strlen(line + i) + 1)
            if (!strcmp(line + i, wanted))
                known = (u32)atoi(one->d_name);
    }
    if (all)
        closedir(all);
    return known;
}

static void advance(struct state *s, double watts, double seconds)
{
    if (seconds <= 0)
        return;
    double target = 30 + 0.12 * watts;
    s->celsius += (target - s->celsius) * (1 - exp(-seconds / 3));
    s->energy_j += watts * seconds;
}

/* Read the lines that were written since the last call. */
static void read_events(void)
{
    static long place;
    char path[1024];
    snprintf(path, sizeof path, "%s/events", folder());
    FILE *file = fopen(path, "r");
    if (!file)
        return;
    struct event e;
    fseek(file, place, SEEK_SET);
    while (event_count < EVENTS && fscanf(file, "%lf %d %u %lf %lf %llu\n", &e.at_s, &e.who, &e.pid,
                                          &e.power_w, &e.share, &e.mib) == 6) {
        events[event_count++] = e;
        place = ftell(file);
    }
    fclose(file);
}

static double power_at(double t)
{
    double watts[WHO] = {0};
    for (int i = 0; i < event_count && events[i].at_s <= t; i++)
        watts[events[i].who] = events[i].power_w;
    return number("MATRIX_REST_W", 60) + watts[0] + watts[1];
}

static struct state state_at(double now)
{
    double rest = number("MATRIX_REST_W", 60), at = number("MATRIX_EPOCH_S", 0);
    struct state s = {.celsius = 30 + 0.12 * rest};
    double watts[WHO] = {0}, share[WHO] = {0};
    read_events();
    for (int i = 0; i < event_count && events[i].at_s <= now; i++) {
        const struct event *e = &events[i];
        advance(&s, rest + watts[0] + watts[1], e->at_s - at);
        at = e->at_s;
        watts[e->who] = e->power_w;
        share[e->who] = e->share;
        s.mib[e->who] = e->mib;
        s.pid[e->who] = e->pid;
    }
    advance(&s, rest + watts[0] + watts[1], now - at);
    s.pid[0] = s.mib[0] ? job_pid() : 0;
    if (!s.pid[0])
        s.mib[0] = 0;
    if (!s.mib[1])
        s.pid[1] = 0;
    s.power_w = rest + watts[0] + watts[1];
    s.utilisation = (int)fmin(100, share[0] + share[1]);
    return s;
}

/* The counters of real GPUs move ten times a second. */
static struct state read_state(void)
{
    return state_at(floor(now_s() * 10) / 10);
}

int nvmlInit(void) { return OK; }
int nvmlInit_v2(void) { return OK; }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code) { return code == UNSUPPORTED ? "Not Supported" : "error"; }
static int text(char *out, u32 n, const char *value) { snprintf(out, n, "%s", value); return OK; }
int nvmlSystemGetDriverVersion(char *out, u32 n) { return text(out, n, "550.54.14"); }
int nvmlSystemGetNVMLVersion(char *out, u32 n) { return text(out, n, "12.550.54.14"); }
int nvmlDeviceGetCount_v2(u32 *n) { *n = 1; return OK; }
int nvmlDeviceGetCount(u32 *n) { *n = 1; return OK; }
int nvmlDeviceGetHandleByIndex_v2(u32 i, void **d) { *d = (void *)1; return i ? NOT_FOUND : OK; }
int nvmlDeviceGetHandleByUUID(const char *u, void **d) { (void)u; *d = (void *)1; return OK; }
int nvmlDeviceGetIndex(void *d, u32 *i) { (void)d; *i = 0; return OK; }
int nvmlDeviceGetMinorNumber(void *d, u32 *i) { (void)d; *i = 0; return OK; }
int nvmlDeviceGetName(void *d, char *out, u32 n)
{
    (void)d;
    return text(out, n, "NVIDIA H200");
}
int nvmlDeviceGetUUID(void *d, char *out, u32 n)
{
    (void)d;
    return text(out, n, getenv("MATRIX_UUID"));
}
int nvmlDeviceGetVbiosVersion(void *d, char *out, u32 n)
{
    (void)d;
    return text(out, n, "92.00.45.00.03");
}
int nvmlDeviceGetBoardPartNumber(void *d, char *out, u32 n)
{
    (void)d;
    return text(out, n, "900-21001-0000-000");
}
int nvmlDeviceGetPciInfo_v3(void *d, struct pci *p)
{
    (void)d;
    u32 bus = (u32)number("MATRIX_BUS", 1);
    memset(p, 0, sizeof *p);
    p->bus = bus;
    p->id = 0x20b010de;
    snprintf(p->legacy, sizeof p->legacy, "0000:%02X:00.0", bus);
    snprintf(p->bus_id, sizeof p->bus_id, "00000000:%02X:00.0", bus);
    return OK;
}
int nvmlDeviceGetMemoryInfo(void *d, struct memory *m)
{
    (void)d;
    struct state s = read_state();
    m->total = 40960 * MIB;
    m->used = (440 + s.mib[0] + s.mib[1]) * MIB;
    m->free = m->total - m->used;
    return OK;
}
int nvmlDeviceGetMemoryInfo_v2(void *d, struct memory2 *m)
{
    (void)d;
    struct state s = read_state();
    m->total = 40960 * MIB;
    m->reserved = 440 * MIB;
    m->used = (s.mib[0] + s.mib[1]) * MIB;
    m->free = m->total - m->used - m->reserved;
    return OK;
}
int nvmlDeviceGetPowerUsage(void *d, u32 *mw)
{
    (void)d;
    double t = floor(now_s() * 10) / 10, w = read_state().power_w;
    *mw = (u32)(1000 * w * (1 + 0.003 * sin(t * 7.3) + 0.002 * sin(t * 31)));
    return OK;
}
int nvmlDeviceGetTotalEnergyConsumption(void *d, u64 *mj)
{
    (void)d;
    *mj = (u64)(1000 * (1e6 + read_state().energy_j));
    return OK;
}
int nvmlDeviceGetUtilizationRates(void *d, u32 *rates)
{
    (void)d;
    rates[0] = (u32)read_state().utilisation;
    rates[1] = rates[0] / 2;
    return OK;
}
int nvmlDeviceGetTemperature(void *d, u32 sensor, u32 *c)
{
    (void)d, (void)sensor;
    *c = (u32)read_state().celsius;
    return OK;
}
int nvmlDeviceGetClockInfo(void *d, u32 type, u32 *mhz)
{
    (void)d;
    *mhz = type == 2 ? 1215 : 1410;
    return OK;
}
int nvmlDeviceGetMaxClockInfo(void *d, u32 type, u32 *mhz)
{
    return nvmlDeviceGetClockInfo(d, type, mhz);
}
int nvmlDeviceGetApplicationsClock(void *d, u32 type, u32 *mhz)
{
    return nvmlDeviceGetClockInfo(d, type, mhz);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void *d, u64 *reasons)
{
    (void)d;
    *reasons = read_state().utilisation ? 0 : 1;
    return OK;
}
int nvmlDeviceGetPowerManagementLimit(void *d, u32 *mw) { (void)d; *mw = 400000; return OK; }
int nvmlDeviceGetEnforcedPowerLimit(void *d, u32 *mw) { (void)d; *mw = 400000; return OK; }
int nvmlDeviceGetPersistenceMode(void *d, u32 *on) { (void)d; *on = 1; return OK; }
int nvmlDeviceGetDisplayActive(void *d, u32 *on) { (void)d; *on = 0; return OK; }
int nvmlDeviceGetVirtualizationMode(void *d, u32 *mode) { (void)d; *mode = 0; return OK; }
int nvmlDeviceIsMigDeviceHandle(void *d, u32 *is) { (void)d; *is = 0; return OK; }
int nvmlDeviceGetMigMode(void *d, u32 *a, u32 *b) { (void)d, (void)a, (void)b; return UNSUPPORTED; }
int nvmlDeviceGetTotalEccErrors(void *d, u32 type, u32 counter, u64 *n)
{
    (void)d, (void)type, (void)counter;
    *n = 0;
    return OK;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void *d, u32 *n, struct process *out)
{
    (void)d;
    struct state s = read_state();
    u32 found = 0, room = *n;
    for (int who = 0; who < WHO; who++)
        if (s.pid[who]) {
            if (found < room && out)
                out[found] = (struct process){s.pid[who], s.mib[who] * MIB, ~0u, ~0u};
            found++;
        }
    *n = found;
    return found > room ? TOO_SMALL : OK;
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(void *d, u32 *n, struct process *out)
{
    (void)d, (void)out;
    *n = 0;
    return OK;
}
int nvmlDeviceGetProcessUtilization(void *d, struct share *out, u32 *n, u64 since)
{
    (void)d, (void)since;
    struct state s = read_state();
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    u32 room = *n, found = 0;
    for (int who = 0; who < WHO; who++)
        if (s.pid[who]) {
            if (found < room && out)
                out[found] = (struct share){s.pid[who], (u64)t.tv_sec * 1000000 + t.tv_nsec / 1000,
                                            (u32)s.utilisation, (u32)s.utilisation / 2, 0, 0};
            found++;
        }
    *n = found;
    return found > room ? TOO_SMALL : found ? OK : NOT_FOUND;
}
int nvmlDeviceGetFieldValues(void *d, int n, struct field *f)
{
    (void)d;
    for (int i = 0; i < n; i++)
        f[i].result = UNSUPPORTED;
    return OK;
}
/* Drivers keep a power sample of each 20 ms of the last 2.4 s. */
int nvmlDeviceGetSamples(void *d, u32 type, u64 since_us, u32 *kind, u32 *n, struct sample *out)
{
    (void)d;
    if (type)
        return UNSUPPORTED;
    *kind = 1;
    if (!out) {
        *n = SAMPLES;
        return OK;
    }
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    u64 real_us = (u64)t.tv_sec * 1000000 + (u64)t.tv_nsec / 1000;
    double last = floor(now_s() * 50) / 50;
    double skew_s = (double)real_us / 1e6 - now_s();
    u32 found = 0;
    read_events();
    for (int i = SAMPLES - 1; i >= 0 && found < *n; i--) {
        double at = last - 0.02 * i;
        u64 stamp = (u64)((at + skew_s) * 1e6);
        if (stamp <= since_us)
            continue;
        double w = power_at(at);
        w *= 1 + 0.003 * sin(at * 7.3) + 0.002 * sin(at * 31);
        out[found].time_us = stamp;
        out[found++].value = (u64)(1000 * w);
    }
    *n = found;
    return found ? OK : NOT_FOUND;
}
int nvmlEventSetCreate(void **set) { *set = (void *)1; return OK; }
int nvmlEventSetFree(void *set) { (void)set; return OK; }
int nvmlDeviceRegisterEvents(void *d, u64 types, void *set)
{
    (void)d, (void)types, (void)set;
    return OK;
}
int nvmlEventSetWait_v2(void *set, void *data, u32 ms)
{
    (void)set, (void)data;
    usleep(ms * 1000);
    return TIMEOUT;
}
"""

TRAINING = r"""
import os, random, sys, time
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
draw = random.Random(options["--seed"] + options["--lr"] + os.environ["MATRIX_UUID"])
folder = os.environ["MATRIX_PLAY"]
factor = draw.gauss(1, float(os.environ["MATRIX_SCATTER"]))
shares = int(options.get("--epochs", 6)), 0.05, 1.4 * factor
watts = 230 * draw.gauss(1, 0.5 * float(os.environ["MATRIX_SCATTER"]))


def state(power, utilisation, mib):
    with open(folder + "/events", "a") as file:
        file.write("%.6f 0 0 %.1f %d %d\n" % (time.monotonic(), power, utilisation, mib))


def work(seconds):
    done, last = 0.0, time.monotonic()
    while done < seconds:
        time.sleep(min(0.2, max(0.002, seconds - done)))
        now = time.monotonic()
        beside = os.path.exists(folder + "/foreign")
        done += (now - last) / (1.5 if beside else 1)
        last = now


begun = time.monotonic()
with open(folder + "/started", "a") as file:
    file.write("%s %f\n" % (os.environ["TARE_EXPERIMENT"], begun))
time.sleep(0.8)
state(15, 0, 500)
time.sleep(0.6)
for epoch in range(shares[0]):
    state(60, 30, 3000)
    work(shares[1])
    state(watts, 85, 3000)
    work(shares[2])
state(0, 0, 0)
nominal = 1.4 + shares[0] * (shares[1] + shares[2])
with open(folder + "/ended", "a") as file:
    file.write("%s %f %f %f\n" % (os.environ["TARE_EXPERIMENT"], begun, time.monotonic(),
                                  nominal))
print("accuracy: %r" % draw.gauss(0.9, 0.01))
print("loss: %r" % draw.gauss(0.3, 0.01))
"""

REST_W = 60
FOREIGN_W = 110
LISTED = []                                       # name, instances, arguments of play()


def listed(name, instances, **fixed):
    LISTED.append((name, instances, fixed))


listed("listed_scatter_1%", 12, scatter=0.01)
listed("listed_scatter_3%", 9, scatter=0.03)
listed("listed_epochs_differ", 9, scatter=0.01, more=["--epochs", "4,8"])
listed("listed_foreign_comes", 6, scatter=0.01, foreign=(2, 4))
listed("listed_foreign_always", 6, scatter=0.01, foreign=(3,), always=True)


def build_driver(work):
    """Compile the driver; return its path, or None without a C compiler."""
    source, library = os.path.join(work, "driver.c"), os.path.join(work, "libplayed.so")
    write(source, DRIVER)
    try:
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O1", "-o", library,
                        source, "-lm"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return library


def played_machine(path, bus, uuid):
    """A root in which the host's /proc and /sys appear, and a GPU beside them."""
    gpu = "%s/root/proc/driver/nvidia/gpus/0000:%02x:00.0" % (path, bus)
    os.makedirs(gpu)
    write(gpu + "/information", "Model: \t\t NVIDIA H200\nGPU UUID: \t %s\n"
          "Bus Location: \t 0000:%02x:00.0\nDevice Minor: \t 0\n" % (uuid, bus))
    for name in ("cpuinfo", "stat", "pressure", "meminfo", "loadavg", "self", "mounts", "sys",
                 "uptime", "vmstat", "diskstats", "modules"):
        if os.path.exists("/proc/" + name):
            os.symlink("/proc/" + name, path + "/root/proc/" + name)
    os.symlink("/sys", path + "/root/sys")


def trouble(path, chosen, always, stop):
    """Let a foreign process come to the chosen trainings; return its spans."""
    spans, handled = [], 0
    while not stop.wait(0.1):
        begun = lines_of(path + "/started")
        ended = lines_of(path + "/ended")
        number = len(begun)
        early = always and len(ended) == number and number + 1 in chosen and number > 0
        if not early and (number <= handled or number not in chosen or always):
            continue
        handled = number + 1 if early else number
        stop.wait(3.0 if early else 2.5)          # early: the job before is proven gone by then
        with subprocess.Popen(["sleep", "120"]) as process:
            spans.append([time.monotonic(), None])
            write(path + "/foreign", "")
            append_state(path, process.pid, FOREIGN_W, 40, 2048)
            while not stop.wait(0.1):
                over = len(lines_of(path + "/ended")) >= handled if early else (
                    time.monotonic() - spans[-1][0] > 5)
                if over:
                    break
            append_state(path, 0, 0, 0, 0)
            os.unlink(path + "/foreign")
            spans[-1][1] = time.monotonic()
            process.kill()
        if early:
            chosen = [number for number in chosen if number != handled]
    return spans


def append_state(path, pid, power, utilisation, mib):
    with open(path + "/events", "a", encoding="utf-8") as file:
        file.write("%.6f 1 %d %.1f %d %d\n" % (time.monotonic(), pid, power, utilisation, mib))


def lines_of(path):
    try:
        with open(path, encoding="utf-8") as file:
            return [line.split() for line in file if line.endswith("\n")]
    except FileNotFoundError:
        return []


def play(options, library, name, instance, path, scatter, foreign=(), always=False, more=()):
    """Run tare on a played GPU; return the results folder and the truth."""
    path = os.path.abspath(path)
    rng = random.Random("%s/%s/%s" % (options.seed, name, instance))
    bus, uuid = rng.randrange(1, 250), "GPU-%08x-0000-4000-8000-%012x" % (
        rng.getrandbits(32), rng.getrandbits(48))
    for part in ("state", "locks"):
        os.makedirs(path + "/" + part)
    played_machine(path, bus, uuid)
    write(path + "/train.py", TRAINING)
    write(path + "/events", "")
    environment = dict(
        os.environ, MATRIX_PLAY=path, MATRIX_EPOCH_S=repr(time.monotonic()), MATRIX_UUID=uuid,
        MATRIX_BUS=str(bus), MATRIX_REST_W=str(REST_W), MATRIX_SCATTER=str(scatter),
        TARE_NVML=library, TARE_SYSROOT=path + "/root", TARE_CALIBRATE="never",
        TARE_STATE_DIR=path + "/state", TARE_LOCK_DIR=path + "/locks")
    command = [options.tare, "run", "-q", "--no-probe", "-o", path + "/results"]
    if always:
        command += ["--set", "tare.preflight.policy=go-on", "--set", "tare.cooldown.max=15"]
    command += ["python3", "-I", "-S", path + "/train.py", "--lr", "0.1", "--seed",
                "1..3" if more else "1..6"] + list(more)
    stop, found = threading.Event(), []
    helper = threading.Thread(target=lambda: found.extend(
        trouble(path, list(foreign), always, stop)))
    helper.start()
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True,
                              check=False, timeout=500, cwd=path)
        problem = done.stderr.strip().splitlines()
    except subprocess.TimeoutExpired:
        problem = ["tare run took more than 500 s"]
    finally:
        stop.set()
        helper.join()
    runs = sorted(os.listdir(path + "/results")) if os.path.isdir(path + "/results") else []
    if not runs or not lines_of(path + "/ended"):
        raise RuntimeError(problem[0] if problem else "tare run left no results")
    return os.path.join(path, "results", runs[-1]), played_truth(path, found, scatter)


def played_truth(path, spans, scatter):
    truth = []
    for name, begun, ended, nominal in lines_of(path + "/ended"):
        begun, ended, nominal = float(begun), float(ended), float(nominal)
        beside = sum(max(0.0, min(ended, b) - max(begun, a)) for a, b in spans)
        normal_j = nominal * (REST_W + 200)
        late = max(0.0, ended - begun - nominal) if beside else 0.0
        truth.append({
            "id": name, "disturbed": beside > 0, "disturbance": "foreign" if beside else None,
            "energy_percent": 100 * (FOREIGN_W * beside + 290 * late) / normal_j,
            "time_percent": 100 * late / nominal, "contradiction": None, "source": False,
            "siblings": 5, "scatter": scatter, "success": True, "process_list": True,
            "trace": True})
    return truth


# Judging

def build(name, make, seed, instance, path):
    """Generate one folder at path; return its truth, a list in the order of the experiments."""
    rng = random.Random("%s/%s/%s" % (seed, name, instance))
    folder = make(rng)
    folder.finish()
    WRITERS[folder.layout](folder, path)
    truth = []
    for e in folder.experiments:
        e.truth["id"] = e.id
        truth.append(e.truth)
    return truth


def overall_consistency(value):
    """One word of the key `consistency`, which has a word for each figure."""
    if isinstance(value, dict):
        words = [value.get(figure) for figure in ("time", "energy", "metric")]
        if "contradicted" in words:
            return "contradicted"
        needed = [word for word in words[:2] if word is not None]
        if needed and all(word == "consistent" for word in needed):
            return "consistent"
        return "unknown"
    return value


def judge(tare, path, truth):
    """Run the audit and join its answers to the truth. Return the records and an error."""
    done = subprocess.run([tare, "audit", "--json", path], capture_output=True, text=True,
                          check=False)
    try:
        found = json.loads(done.stdout)["experiments"]
    except (ValueError, KeyError):
        lines = done.stderr.strip().splitlines()
        return [], "exit code %d: %s" % (done.returncode, lines[0] if lines else "no JSON")
    by_id = {e["experiment_id"]: e for e in found}
    if len(found) == len(truth) and not any(t["id"] in by_id for t in truth):
        by_id = {t["id"]: e for t, e in zip(truth, found)}
    records, missing = [], 0
    for t in truth:
        e = by_id.get(t["id"])
        if e is None:
            missing += 1
            continue
        records.append(dict(t, verdict=e["verdict"], reported="consistency" in e,
                            consistency=overall_consistency(e.get("consistency")),
                            kinds=sorted({x["kind"] for x in e.get("evidence") or ()})))
    return records, "%d experiments are not in the JSON" % missing if missing else None


def work_on(job):
    """Generate, judge and remove one folder. Runs in a process of the pool."""
    name, group, instance, options = job
    make = next(s[3] for s in SCENARIOS if s[0] == name)
    path = os.path.join(options.work, "folders", "%s_%03d" % (name.replace("%", "p"), instance))
    truth = build(name, make, options.seed, instance, path)
    with open(os.path.join(options.work, "truth", os.path.basename(path) + ".json"), "w",
              encoding="utf-8") as file:
        json.dump(truth, file, indent=1)
    records, error = judge(options.tare, path, truth)
    for r in records:
        r.update(scenario=name, group=group, folder=os.path.basename(path))
    if not options.keep:
        shutil.rmtree(path, ignore_errors=True)
    return name, records, error


def work_on_listed(job):
    """The same with a run of tare on a played driver. Runs in a thread: it mostly waits."""
    name, instance, fixed, options, library = job
    path = os.path.join(options.work, "folders", "%s_%03d" % (name.replace("%", "p"), instance))
    records, error = [], None
    try:
        os.makedirs(path)
        results, truth = play(options, library, name, instance, path, **fixed)
        records, error = judge(options.tare, results, truth)
    except (OSError, RuntimeError) as problem:
        error = str(problem)
    for r in records:
        r.update(scenario=name, group="listed", folder=os.path.basename(path))
    if not options.keep:
        shutil.rmtree(path, ignore_errors=True)
    return name, records, error


def wilson(hits, n):
    if not n:
        return 0.0, 1.0
    p = hits / n
    centre = (p + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n)) / (1 + Z * Z / n)
    return max(0.0, centre - half), min(1.0, centre + half)


def is_undisturbed(r):
    return r["success"] and not r["disturbed"] and not r["contradiction"] and not r["source"]


def effect(r):
    return max(abs(r["energy_percent"]), abs(r["time_percent"])) if r["disturbed"] else 0.0


def is_disturbed(r, low=5.0, high=1e9):
    return r["success"] and r["disturbed"] and low < effect(r) <= high


def is_source(r):
    return r["source"] and not r["contradiction"]


def passes(r):
    return r["verdict"] == "clean" or r["consistency"] == "consistent"


def figures(records):
    """Rows of the table: label, hits, n, aim, whether the aim is a least share, reported."""
    undisturbed = [r for r in records if is_undisturbed(r)]
    disturbed = [r for r in records if is_disturbed(r)]
    reported = any(r["reported"] for r in records)

    def consistent(some):
        return sum(1 for r in some if r["consistency"] == "consistent"), len(some)

    def verdict(some, *words):
        return sum(1 for r in some if r["verdict"] in words), len(some)

    yield ("contaminated or suspect though undisturbed", *verdict(undisturbed, *ACCUSED), 0.003,
           False, True)
    yield ("  contaminated", *verdict(undisturbed, "contaminated"), None, False, True)
    yield ("clean though disturbed by more than 5 %", *verdict(disturbed, "clean"), 0.01, False,
           True)
    for kind in CONTRADICTIONS:
        planted = [r for r in records if r["contradiction"] == kind]
        yield ("%s: clean or consistent" % kind, sum(map(passes, planted)), len(planted), 0.01,
               False, True)
    listed = [r for r in undisturbed if r["process_list"]]
    yield ("with process lists, undisturbed: clean", *verdict(listed, "clean"), 0.95, True, True)
    yield ("without process lists, undisturbed: clean",
           *verdict([r for r in undisturbed if not r["process_list"]], "clean"), None, True, True)
    plain = [r for r in undisturbed if not r["process_list"]]
    enough = [r for r in plain if r["siblings"] >= 3]
    yield ("consistent, undisturbed, 3 siblings, scatter to 2 %",
           *consistent([r for r in enough if r["scatter"] <= 0.02]), 0.7, True, reported)
    yield ("consistent, undisturbed, 3 siblings, scatter 2 to 3 %",
           *consistent([r for r in enough if 0.02 < r["scatter"] <= 0.03]), 0.5, True, reported)
    yield ("consistent, undisturbed, 3 siblings, scatter over 3 %",
           *consistent([r for r in enough if r["scatter"] > 0.03]), None, True, reported)
    yield ("consistent though disturbed by more than 10 %",
           *consistent([r for r in records if is_disturbed(r, 10)]), 0.02, False, reported)
    yield ("consistent though disturbed by 5 to 10 %",
           *consistent([r for r in records if is_disturbed(r, 5, 10)]), 0.10, False, reported)
    yield ("undisturbed with fewer than 3 siblings", len(plain) - len(enough), len(plain), None,
           False, True)
    small = [r for r in records if r["success"] and r["disturbed"] and effect(r) <= 5]
    yield ("disturbed by at most 5 %: clean", *verdict(small, "clean"), None, False, True)
    yield ("what a copy was made from: clean or consistent",
           sum(map(passes, filter(is_source, records))), sum(map(is_source, records)), None, False,
           True)
    failed = [r for r in records if not r["success"]]
    yield ("failed, undisturbed: contaminated or suspect", *verdict(failed, *ACCUSED), None, False,
           True)


def print_table(records):
    print("%-55s %14s %8s  %-17s %-9s" % ("", "count", "rate", "95 %", "aim"))
    for label, hits, n, aim, least, reported in figures(records):
        text = "%-55s %14s" % (label, "%d of %d" % (hits, n))
        if not reported:
            print("%-55s %14s" % (label, "of %d" % n), " not reported")
            continue
        if not n:
            print(text)
            continue
        low, high = wilson(hits, n)
        line = "%s %7.2f%%  [%5.2f, %6.2f]" % (text, 100 * hits / n, 100 * low, 100 * high)
        if aim is not None:
            met = hits / n >= aim if least else hits / n <= aim
            line += "   %s %g %% %s" % (">=" if least else "<=", 100 * aim,
                                        "met" if met else "MISSED")
        print(line)
    if not any(r["reported"] for r in records):
        print("The JSON has no key `consistency`; only `clean` counts in the rows above.")


def share(hits, n):
    return "%6.1f" % (100 * hits / n) if n else "     -"


def print_scenarios(records):
    """Rates of each scenario, in percent."""
    print("\n%-36s %5s %7s %6s %6s | %5s %7s %6s %6s | %5s %6s" % (
        "scenario", "undis", "accused", "clean", "consi", "distu", "accused", "clean", "consi",
        "plant", "passed"))
    for name in [s[0] for s in SCENARIOS] + [s[0] for s in LISTED]:
        own = [r for r in records if r["scenario"] == name]
        if not own:
            continue
        good, bad = [r for r in own if is_undisturbed(r)], [r for r in own if is_disturbed(r)]
        planted = [r for r in own if r["contradiction"]]

        def rate(some, key, *words):
            return share(sum(1 for r in some if r[key] in words), len(some))
        print("%-36s %5d %7s %6s %6s | %5d %7s %6s %6s | %5d %6s" % (
            name, len(good), rate(good, "verdict", *ACCUSED), rate(good, "verdict", "clean"),
            rate(good, "consistency", "consistent"), len(bad), rate(bad, "verdict", *ACCUSED),
            rate(bad, "verdict", "clean"), rate(bad, "consistency", "consistent"), len(planted),
            share(sum(map(passes, planted)), len(planted))))
    counts = {}
    for r in records:
        if is_undisturbed(r) and r["verdict"] in ACCUSED:
            for kind in r["kinds"]:
                counts[kind] = counts.get(kind, 0) + 1
    if counts:
        print("\nevidence of undisturbed experiments that are accused: " + ", ".join(
            "%s %d" % (kind, n) for kind, n in sorted(counts.items(), key=lambda x: -x[1])))


def held_out(name, instances, seed):
    """The third of a scenario's instances that is judged once."""
    rng = random.Random("%s/%s/part" % (seed, name))
    return set(rng.sample(range(instances), instances // 3))


def plan_jobs(options):
    jobs = []
    for name, group, instances, _ in SCENARIOS:
        if options.scenario and name not in options.scenario:
            continue
        out = held_out(name, instances, options.seed)
        wanted = out if options.part == "heldout" else set(range(instances)) - out
        chosen = sorted(wanted)
        if options.small:
            chosen = chosen[:1]
        jobs += [(name, group, instance, options) for instance in chosen]
    return jobs


def chosen_listed(options, library):
    jobs = []
    for name, instances, fixed in LISTED:
        if options.scenario and name not in options.scenario:
            continue
        out = held_out(name, instances, options.seed)
        wanted = out if options.part == "heldout" else set(range(instances)) - out
        jobs += [(name, instance, fixed, options, library) for instance in sorted(wanted)]
    return jobs


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tare", default="build/src/cli/tare")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", choices=("development", "heldout"), default="development")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--small", action="store_true", help="one folder of each scenario")
    parser.add_argument("--scenario", action="append", help="this scenario only (repeatable)")
    parser.add_argument("--runs", type=int, default=12, metavar="N",
                        help="so many runs of tare on a played driver at a time; 0: leave out the "
                        "folders with process lists")
    parser.add_argument("--keep", metavar="DIR", help="keep folders, truth and records there")
    options = parser.parse_args()
    options.tare = os.path.abspath(options.tare)
    if not os.access(options.tare, os.X_OK):
        sys.exit("verdict_matrix: %s is not there or cannot be executed" % options.tare)
    options.work = options.keep or tempfile.mkdtemp(prefix="matrix-")
    os.makedirs(os.path.join(options.work, "folders"), exist_ok=True)
    os.makedirs(os.path.join(options.work, "truth"), exist_ok=True)
    records, errors, later = [], [], []
    library = None if options.small or not options.runs else build_driver(options.work)
    try:
        with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
            first = list(pool.map(work_on, plan_jobs(options)))
        if library:                               # after the others, which need the processors
            with concurrent.futures.ThreadPoolExecutor(options.runs) as threads:
                later = list(threads.map(work_on_listed, chosen_listed(options, library)))
        for name, found, error in first + later:
            records += found
            if error:
                errors.append("%s: %s" % (name, error))
        if options.keep:
            with open(os.path.join(options.work, "records.json"), "w", encoding="utf-8") as file:
                json.dump(records, file)
    finally:
        if not options.keep:
            shutil.rmtree(options.work, ignore_errors=True)
    print("part %s, seed %d: %d scenarios, %d folders, %d experiments" % (
        options.part, options.seed, len({r["scenario"] for r in records}),
        len({r["folder"] for r in records}), len(records)))
    if not library:
        print("Folders with process lists are left out (%s)." % (
            "--small or --runs 0" if options.small or not options.runs else "no C compiler"))
    print_table(records)
    if options.part == "development":
        print_scenarios(records)
    for line in sorted(set(errors)):
        print("not judged: %s (%d folders)" % (line, errors.count(line)))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
