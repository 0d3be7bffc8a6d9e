#!/usr/bin/env python3
"""Simulated GPU power sensors with a known truth: sensors.py [--cells F/L,...] [--windows 2s,...] [--count N] [--seed N] [--held-out] [--marks]
                                                 sensors.py --case NAME [--marks] | --list | --self-test

Writes cases to standard output. Each draws a true power P(t) whose integral is known exactly, a sensor, and what a meter reads of it:

  case FAMILY/LOAD/WINDOW/SEED   --case NAME writes this one again
  sensor key=value ...           what a calibration states of the sensor: a few % wrong on times, never exact. update_ns, jitter_ns (the
                                 largest deviation of an update), averaging=instant|boxcar|exponential, averaging_ns (length, or time
                                 constant), delay_ns (from the end of what was looked at to the update that shows it), looked_share,
                                 quantum_mj, power_limit_w, counter=0|1, gain_percent (bound of the gain error, 0: none)
  c BEGIN_NS END_NS MILLIJOULES  a reading of the energy counter: the value is of a moment between begin and end of the call
  p BEGIN_NS END_NS WATTS        a reading of the power sensor, likewise
  s NS                           only with --marks and a load that repeats in steps (steps, beats, train-steps): when the training wrote that
                                 a step begins. All of the case, in order, after the readings; see step_marks. Nothing else differs
  w START_NS END_NS TRUTH_J      a window and its true energy
  end

Readings are in the order of their begin. Nothing here knows the program's estimator: only how sensors behave (arXiv 2312.02741, NVML's
manual). A third of the cells (family, load) is held out: whoever works on the estimator does not look at them."""
import argparse
import csv
import glob
import math
import os
import random
import sys
import zlib

import numpy as np

HELD_OUT_SEED = 20261123
PPM_BOUND = 200
RISE_S = 1e-3           # an instantaneous sample is the mean over this span
TRACES = os.path.join(os.environ.get("TARE_SHARED") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../shared"), "data/legacy")

# name: (seconds, windows of a case, chances of the polling intervals in seconds)
WINDOWS = {
    "0.5s": (0.5, 4, ((0.02, 0.5), (0.1, 0.5))),
    "2s": (2.0, 4, ((0.02, 0.5), (0.1, 0.5))),
    "10s": (10.0, 2, ((0.02, 0.5), (0.1, 0.5))),
    "60s": (60.0, 2, ((0.02, 0.2), (0.1, 0.8))),
    "10min": (600.0, 1, ((0.5, 1.0),)),
    "1h": (3600.0, 1, ((1.0, 1.0),)),
}


def log_uniform(rng, low, high, size=None):
    return np.exp(rng.uniform(math.log(low), math.log(high), size))


class Power:
    """Linear pieces: from t[i] on, left[i] watts, to right[i] watts at t[i + 1]; constant before t[0] and from the last t on.
    steps: where it repeats, when each step begins, an array for each stretch in which step follows on step."""

    def __init__(self, t, left, right=None, steps=()):
        self.steps = steps
        self.t, self.left = np.asarray(t, float), np.asarray(left, float)
        self.right = self.left if right is None else np.asarray(right, float)
        span = self.t[1:] - self.t[:-1]
        self.slope = np.append((self.right[:-1] - self.left[:-1]) / span, 0)
        self.energy_at = np.append(0, np.cumsum(0.5 * (self.left[:-1] + self.right[:-1]) * span))

    def energy(self, x):
        """The integral from t[0] to x, exact."""
        x = np.asarray(x, float)
        i = np.clip(np.searchsorted(self.t, x, "right") - 1, 0, None)
        d = x - self.t[i]
        return self.energy_at[i] + d * (self.left[i] + 0.5 * self.slope[i] * np.maximum(d, 0))

    def mean(self, start, end):
        return (self.energy(end) - self.energy(start)) / (end - start)


class Gpu:
    """What loads need to know: how long, between which powers, and the sensor's period that some loads beat with."""

    def __init__(self, rng, duration, update, long):
        self.duration, self.update, self.long = duration, update, long
        self.idle = rng.uniform(20, 110)
        self.peak = rng.uniform(150, 670)
        limits = [w for w in (250, 300, 350, 400, 450, 500, 600, 700, 1000) if w >= 1.03 * self.peak]
        self.limit = float(limits[int(rng.integers(min(2, len(limits))))])

    def clip(self, watts):
        return np.clip(watts, 5, self.limit)


# ---- loads: each gives the power and the moments at which a window may begin or end on purpose

def steady(rng, gpu):
    """One level; in half of the cases it creeps up by at most 4 % as the chip warms."""
    level = rng.uniform(gpu.idle, gpu.peak)
    if rng.random() < 0.5:
        return Power([0], [level]), []
    t = np.arange(0, gpu.duration, 0.25)
    curve = level * (1 + rng.uniform(0.005, 0.04) * (1 - np.exp(-t / rng.uniform(5, 120))))
    curve = gpu.clip(curve)
    return Power(t, curve, np.append(curve[1:], curve[-1])), []


def square(rng, gpu, period):
    low = rng.uniform(gpu.idle, gpu.idle + 0.5 * (gpu.peak - gpu.idle))
    duty = rng.choice([0.1, 0.25, 0.5, 0.75, 0.9])
    starts = np.arange(-rng.random() * period, gpu.duration, period)
    t = np.column_stack((starts, starts + duty * period)).ravel()
    return Power(t, np.tile([gpu.peak, low], len(starts)), steps=[starts]), t


def steps(rng, gpu):
    """Square wave, period 50 ms to 5 s, duty cycle 10 to 90 %."""
    return square(rng, gpu, log_uniform(rng, 0.05, 5))


def beats(rng, gpu):
    """Square wave whose period is a small ratio of the update period, exactly or within 2 %."""
    ratio = rng.choice([0.5, 2 / 3, 1, 1, 1.5, 2, 3, 4])
    return square(rng, gpu, max(0.01, gpu.update * ratio * (1 + (0 if rng.random() < 0.3 else rng.uniform(-0.02, 0.02)))))


def ramps(rng, gpu):
    """Up, level and down again, or a sawtooth; each ramp 0.2 to 30 s."""
    t, watts = [0.0], [gpu.idle]
    sawtooth, longest = rng.random() < 0.3, 300 if gpu.long else 30
    while t[-1] < gpu.duration:
        for target, span in ((rng.uniform(0.5, 1) * gpu.peak, log_uniform(rng, 0.2, longest)), (None, log_uniform(rng, 0.05, longest)),
                             (gpu.idle, 1e-3 if sawtooth else log_uniform(rng, 0.2, longest)), (None, log_uniform(rng, 0.05, longest))):
            t.append(t[-1] + span)
            watts.append(watts[-1] if target is None else target)
    return Power(t, watts, watts[1:] + watts[-1:]), np.array(t[1:])


def noise_grid(rng, gpu):
    h = rng.choice([0.005, 0.01, 0.02]) if gpu.long else rng.choice([0.001, 0.002, 0.005, 0.01, 0.02])
    return h, int(gpu.duration / h) + 1


def white(rng, gpu):
    """White noise of 5 to 30 % on a level, constant for 1 to 20 ms."""
    h, n = noise_grid(rng, gpu)
    level = rng.uniform(0.4, 0.8) * gpu.peak
    return Power(h * np.arange(n), gpu.clip(level * (1 + rng.uniform(0.05, 0.3) * rng.standard_normal(n)))), []


def pink_noise(rng, n):
    """Mean 0, standard deviation about 1, power spectrum 1/f."""
    size = 1 << (n - 1).bit_length()
    f = np.arange(size // 2 + 1)
    spectrum = (rng.standard_normal(f.size) + 1j * rng.standard_normal(f.size)) / np.sqrt(np.maximum(f, 1))
    spectrum[0] = 0
    out = np.fft.irfft(spectrum, size)
    return (out / out.std())[:n]


def pink(rng, gpu):
    """1/f noise of 5 to 25 % on a level."""
    h, n = noise_grid(rng, gpu)
    level = rng.uniform(0.4, 0.8) * gpu.peak
    return Power(h * np.arange(n), gpu.clip(level * (1 + rng.uniform(0.05, 0.25) * pink_noise(rng, n)))), []


def sequence(gpu, blocks):
    """Blocks of (durations, watts) one after another, as a power; and where each block begins."""
    spans = np.concatenate([b[0] for b in blocks])
    t = np.concatenate(([0], np.cumsum(spans)[:-1]))
    first = np.cumsum([0] + [len(b[0]) for b in blocks[:-1]])
    return Power(t, gpu.clip(np.concatenate([b[1] for b in blocks]))), t[first[1:]]


def training(rng, gpu, epoch_of):
    """Imports and warm-up, then epochs with a validation (lower, uneven power) or a gap between them."""
    up = rng.uniform(0.5, 3)
    blocks = [(np.full(10, up / 10), gpu.idle * (1 + 0.3 * rng.random(10))),
              (np.full(50, rng.uniform(0.5, 3) / 50), np.linspace(gpu.idle, 0.7 * gpu.peak, 50) * (1 + 0.1 * rng.standard_normal(50)))]
    epoch = log_uniform(rng, 20, 400) if gpu.long else log_uniform(rng, 1, 60)
    pause = log_uniform(rng, 0.2, 5)
    t = sum(b[0].sum() for b in blocks)
    while t < gpu.duration:
        n = max(2, int(pause / 0.05))
        level = rng.uniform(gpu.idle, gpu.idle + 0.6 * (gpu.peak - gpu.idle))
        blocks.append(epoch_of(epoch * rng.uniform(0.95, 1.05)))
        blocks.append((np.full(n, pause / n), level * (1 + 0.15 * rng.standard_normal(n))))
        t += blocks[-1][0].sum() + blocks[-2][0].sum()
    return sequence(gpu, blocks)


def epochs(rng, gpu):
    """Training whose epochs are a level with correlated noise of 2 to 8 % and stalls of the data loader."""
    level, sd, stall = rng.uniform(0.6, 0.95) * gpu.peak, rng.uniform(0.02, 0.08), rng.uniform(0, 0.02)
    h = 0.05 if gpu.long else 0.01

    def epoch_of(span):
        n = max(4, int(span / h))
        rough = np.convolve(rng.standard_normal(n + 4), np.ones(5) / math.sqrt(5), "valid")
        stalls = np.convolve(rng.random(n) < stall * h / 0.05, np.ones(5), "full")[:n] > 0
        return np.full(n, span / n), np.where(stalls, gpu.idle + 0.2 * (level - gpu.idle), level * (1 + sd * rough))
    return training(rng, gpu, epoch_of)


def train_steps(rng, gpu):
    """Training whose power repeats with every step of 50 to 700 ms: four phases, each with its own level; steps vary by 1 to 8 %."""
    period, jitter = log_uniform(rng, 0.05, 0.7), rng.uniform(0.01, 0.08)
    share = rng.dirichlet([3, 4, 1.5, 1.5])
    watts = gpu.idle + (gpu.peak - gpu.idle) * np.array([rng.uniform(0.6, 0.9), rng.uniform(0.8, 1), rng.uniform(0.3, 0.8), rng.uniform(0, 0.5)])

    def epoch_of(span):
        n = max(2, int(span / period))
        each = period * np.clip(1 + jitter * rng.standard_normal(n), 0.5, 2)
        return (each[:, None] * share).ravel(), (watts * (1 + 0.02 * rng.standard_normal((n, 4)))).ravel()
    power, begins = training(rng, gpu, epoch_of)
    # Blocks: imports, warm-up, epoch, validation, epoch, ...; a step has four pieces.
    power.steps = [epoch[::4] for epoch in np.split(power.t, np.searchsorted(power.t, begins[1:]))[1::2]]
    return power, begins


_traces = []


def traces():
    """Power once a second of real trainings; empty where the data is missing."""
    if not _traces:
        for path in sorted(glob.glob(TRACES + "/*/*/energy/gpu_power.csv")):
            with open(path, encoding="utf-8") as file:
                watts = [float(row[1]) for row in list(csv.reader(file))[1:] if len(row) > 1 and row[1].replace(".", "", 1).isdigit()]
            if len(watts) >= 15:
                _traces.append(np.array(watts))
    return _traces


def trace(rng, gpu):
    """A real training's power, once a second, played 1 to 20 times as fast, as ramps or as steps, again and again."""
    watts = traces()[int(rng.integers(len(traces())))]
    h = 1 / log_uniform(rng, 1, 2 if gpu.long else 20)
    n = int(gpu.duration / h) + 2
    watts = gpu.clip(np.tile(np.roll(watts, -int(rng.integers(len(watts)))), n // len(watts) + 1)[:n])
    t = h * np.arange(n)
    jump = t[1:][np.abs(np.diff(watts)) > 50]
    return Power(t, watts, None if rng.random() < 0.5 else np.append(watts[1:], watts[-1])), jump


LOADS = {"steady": steady, "steps": steps, "beats": beats, "ramps": ramps, "white": white, "pink": pink, "epochs": epochs,
         "train-steps": train_steps, "trace": trace}
WITH_STEPS = ("steps", "beats", "train-steps")


# ---- sensors

def exponential_mean(power, duration, tau):
    """The power through a first-order filter, as a function of time. The filter runs once in 1 to 4 ms, on the exact mean of the power
    since the time before; its value is linear between."""
    h, block = (1e-3 if tau < 0.1 else 2e-3 if tau < 0.3 else 4e-3), 8
    while block * h / tau < 20 and block < 512:
        block *= 2
    n = -(-int(duration / h + 2) // block) * block
    energy = power.energy(h * np.arange(n + 1))
    cells = ((energy[1:] - energy[:-1]) / h).reshape(-1, block)
    decay = math.exp(-h / tau)
    grow = decay ** -np.arange(1, block + 1)
    inside = (1 - decay) * np.cumsum(cells * grow, axis=1) / grow
    carry, start = np.empty(len(cells)), float(power.mean(-RISE_S, 0))
    value = start
    for i, last in enumerate(inside[:, -1].tolist()):
        carry[i] = value
        value = value * decay ** block + last
    y = np.concatenate(([start], (inside + carry[:, None] / grow).ravel()))
    t = h * np.arange(n + 1)
    # Between two points linear: the integral of the filtered power follows.
    return Power(t, y, np.append(y[1:], y[-1]))


class Sensor:
    """Updates at moments u, each with the power and the counter that it shows. kind: boxcar, exponential, part-time, part-time-drift,
    instant. counter: looks (sums every look), averaged (sums the averaged power), none."""

    def __init__(self, rng, kind, counter):
        self.kind, self.counter = kind, counter
        self.averaging = 0.0
        self.period = log_uniform(rng, 0.02, 0.1)
        self.share = 1.0
        if kind == "boxcar":
            self.averaging = log_uniform(rng, 0.02, 1)
            self.period = min(self.period, self.averaging)
        elif kind == "exponential":
            self.averaging = log_uniform(rng, 0.02, 1)
        elif kind == "instant":
            self.share = RISE_S / self.period
        else:
            self.share = rng.uniform(0.1, 0.9)
            self.averaging = self.share * self.period
        self.delay = rng.uniform(0, 0.15)
        self.jitter = self.period * (0 if rng.random() < 0.2 else rng.uniform(0, 0.05))
        self.offset = rng.random()          # where in its period a part-time sensor looks, 0 to 1
        self.sweep = rng.uniform(5, 300) if kind == "part-time-drift" else math.inf
        self.clock = rng.uniform(-PPM_BOUND, PPM_BOUND) * 1e-6
        self.missing, self.stale = (0, 0) if rng.random() < 0.4 else rng.uniform(0, 0.03, 2)
        self.quantum_mj = int(rng.choice([1, 10, 100, 1000]))
        self.quantum_w = float(rng.choice([0.001, 0.01, 0.1, 1]))
        self.gain_bound = 0.0 if rng.random() < 0.75 else float(rng.choice([0.5, 1, 2, 5]))
        self.gain = 1 + rng.uniform(-self.gain_bound, self.gain_bound) / 100
        self.base_mj = float(rng.integers(10**6, 10**12))

    def spare(self):
        return (1 - self.share) * self.period if self.kind.startswith("part-time") else 0.0

    def lag(self):
        """From the end of what is looked at to the update, on average."""
        return self.delay + self.spare() * (0.5 if self.kind == "part-time-drift" else self.offset)

    def run(self, rng, power, duration):
        n = int(duration / self.period) + 8
        k = np.arange(n)
        u = (k - 3 - rng.random()) * self.period * (1 + self.clock) + self.jitter * rng.uniform(-1, 1, n)
        end = u - self.delay
        if self.kind == "boxcar":
            start = end - self.averaging
            if self.averaging == self.period:       # looks without a gap: each span begins where the last one ended
                start[1:] = end[:-1]
            watts = power.mean(start, end)
        elif self.kind == "exponential":
            filtered = exponential_mean(power, duration, self.averaging)
            watts = filtered.mean(end - 1e-6, end)
        elif self.kind == "instant":
            watts = power.mean(end - RISE_S, end)
        else:
            end = end - self.spare() * ((self.offset + u / self.sweep) % 1 if self.sweep < math.inf else self.offset)
            watts = power.mean(end - self.averaging, end)
        if self.counter == "looks" and self.share == 1:
            joules = power.energy(u - self.delay)
        elif self.counter == "averaged" and self.kind == "exponential":
            joules = filtered.energy(u - self.delay)
        else:
            joules = np.cumsum(watts * np.diff(u, prepend=u[0] - self.period))
        # Its second lasts 1 + clock of the host's: it counts as many fewer of them.
        self.u, self.watts, self.joules = u, watts * self.gain, (joules - joules[0]) * self.gain / (1 + self.clock)
        # A missing update shows nothing new; a stale one shows the old value again. Either way the value before stays.
        self.shown_w, self.shown_j = self._shown(rng, n), self._shown(rng, n)

    def _shown(self, rng, n):
        dropped = (rng.random(n) < self.missing) | (rng.random(n) < self.stale)
        dropped[0] = False
        return np.maximum.accumulate(np.where(dropped, 0, np.arange(n)))

    def power_at(self, t):
        watts = self.watts[self.shown_w[np.searchsorted(self.u, t, "right") - 1]]
        return np.round(watts / self.quantum_w) * self.quantum_w

    def counter_at(self, t):
        mj = self.base_mj + 1000 * self.joules[self.shown_j[np.searchsorted(self.u, t, "right") - 1]]
        return (np.floor(mj / self.quantum_mj) * self.quantum_mj).astype(np.int64)

    def stated(self, rng, limit):
        """What a calibration says: update period within 1.5 % (standard deviation), the other times within 3 %, a delay also within 2 ms."""
        def about(value, sd):
            return value * (1 + sd * float(np.clip(rng.standard_normal(), -3, 3)))
        delay = max(0.0, about(self.lag(), 0.03) + 0.002 * rng.uniform(-1, 1))
        share = min(1.0, about(self.share, 0.03)) if self.share < 1 else 1.0
        averaging = {"exponential": "exponential", "instant": "instant"}.get(self.kind, "boxcar")
        return {"update_ns": round(1e9 * about(self.period, 0.015)), "jitter_ns": round(1e9 * about(self.jitter, 0.1)), "averaging": averaging,
                "averaging_ns": round(1e9 * about(self.averaging, 0.03)), "delay_ns": round(1e9 * delay), "looked_share": f"{share:.4f}",
                "quantum_mj": self.quantum_mj, "power_limit_w": f"{limit:g}", "counter": int(self.counter != "none"),
                "gain_percent": f"{self.gain_bound + PPM_BOUND * 1e-4:g}"}


FAMILIES = {f"{kind}-{counter}": (kind, counter) for kind, counters in (
    ("boxcar", ("looks", "averaged", "none")), ("exponential", ("looks", "averaged", "none")), ("part-time", ("looks", "none")),
    ("part-time-drift", ("looks", "none")), ("instant", ("looks", "none"))) for counter in counters}


# ---- the meter

def place_windows(rng, name, events, duration):
    """Windows one after another; in half of the cases their edges fall on what the load does, up to 10 ms late."""
    seconds, count, _ = WINDOWS[name]
    on_purpose, t, out = rng.random() < 0.5, rng.uniform(2, 4), []
    inside = events[(events > 1.5) & (events < duration - 3)] if len(events) else np.empty(0)

    def edge(at, reach):
        near = inside[np.argmin(np.abs(inside - at))] if on_purpose and len(inside) else math.inf
        return near + rng.uniform(0, 0.01) if abs(near - at) < reach else at
    for _ in range(count):
        start = edge(t, 0.4 * seconds)
        end = edge(start + seconds, 0.3 * seconds)
        if out and start < out[-1][1] or end > duration - 2.5:
            continue
        out.append((start, end))
        t = end + rng.uniform(0.3, 2)
    return out


def calls(rng, plan):
    """Begin and end of calls that are due at plan (sorted); one call at a time, so that one that is late delays the next."""
    took = np.where(rng.random(len(plan)) < 0.003, rng.uniform(0.005, 0.05, len(plan)), log_uniform(rng, 2e-5, 2e-3, len(plan)))
    before = np.cumsum(took) - took
    begin = before + np.maximum.accumulate(plan - before)
    return begin, begin + took


def polls(rng, interval, duration):
    gaps = interval * np.clip(1 + 0.05 * rng.standard_normal(int(1.2 * duration / interval) + 9), 0.3, 3)
    gaps += np.where(rng.random(len(gaps)) < 0.005, rng.exponential(0.1, len(gaps)), 0)
    t = rng.random() * interval + np.cumsum(gaps)
    return t[t < duration]


def around_edges(rng, windows):
    """A few readings of the counter at each edge, from just before it on or, where nobody knew of it in advance, from just after."""
    known = rng.random() < 0.5
    out = []
    for t in np.ravel(windows):
        first = t + (rng.uniform(-0.01, -0.001) if known else rng.uniform(0, 0.005))
        out.append(first + np.concatenate(([0], np.cumsum(rng.uniform(0.005, 0.03, int(rng.integers(2, 5)))))))
    return np.concatenate(out)


def make_case(family, load, window, seed, sensor=None):
    """All of one case: sensor, power, readings (kind, begin, end, moment, value), windows with truth."""
    rng = np.random.default_rng([seed, zlib.crc32(f"{family}/{load}/{window}".encode())])
    seconds, count, intervals = WINDOWS[window]
    duration = 7 + count * (1.35 * seconds + 2)
    sensor = sensor or Sensor(rng, *FAMILIES[family])
    gpu = Gpu(rng, duration, sensor.period, seconds > 100)
    power, events = LOADS[load](rng, gpu)
    sensor.run(rng, power, duration + 1)
    windows = place_windows(rng, window, np.asarray(events), duration)
    interval = float(rng.choice([i[0] for i in intervals], p=[i[1] for i in intervals]))
    due = [polls(rng, interval, duration)]
    if sensor.counter != "none":
        due += [polls(rng, 1.0, duration), around_edges(rng, windows)]
    plan = np.concatenate(due)
    order = np.argsort(plan, kind="stable")
    counter = (np.arange(len(plan)) >= len(due[0]))[order]
    begin, end = calls(rng, plan[order])
    moment = begin + (end - begin) * rng.random(len(begin))
    # Whole nanoseconds on a clock that started long ago; the truth is of exactly these edges.
    epoch = int(rng.integers(10**13, 10**15))
    edges = [(round(1e9 * a), round(1e9 * b)) for a, b in windows]
    return {"name": f"{family}/{load}/{window}/{seed}", "sensor": sensor, "stated": sensor.stated(rng, gpu.limit), "power": power, "gpu": gpu,
            "epoch": epoch, "counter": counter, "begin": np.floor(1e9 * begin).astype(np.int64), "end": np.ceil(1e9 * end).astype(np.int64),
            "moment": moment, "interval": interval, "edges": edges,
            "truth": [float(power.energy(1e-9 * b) - power.energy(1e-9 * a)) for a, b in edges]}


MARK_GAP_S = 1e-5       # the training writes no two marks within this
JITTER_SDS = 3          # the largest jitter, in standard deviations


def step_marks(case):
    """What a training says of when its steps begin; None where the load has none. Launches are asynchronous: a mark is written when the
    host launches a step, the GPU begins it later by the lead, constant in a case: 0.02 to 1 ms where the host waits for each step, 1 to 30
    ms where it runs ahead. Jitter has a standard deviation of 0.05 to 3 ms, so that marks may also come late. In 30 % of the cases 1 to 5
    per mille of the marks are missing. form: a mark at each step (half of the cases), at every 2nd, 4th or 8th (accumulated gradients; the
    count starts anew with each epoch), or, of square waves, at every 2nd to 12th (a step of so many equal pulses).

    The random numbers are of a stream of the case's name alone, so that a case is the same with marks and without."""
    steps = case["power"].steps
    if not len(steps):
        return None
    running = steps[0][0] <= 0      # since before the case began: a square wave, whose steps have been counted from anywhere
    rng = np.random.default_rng([zlib.crc32(b"marks"), zlib.crc32(case["name"].encode())])
    lead = float(log_uniform(rng, 2e-5, 1e-3) if rng.random() < 0.5 else rng.uniform(1e-3, 0.03))
    sd = float(log_uniform(rng, 5e-5, 3e-3))
    missing = float(rng.uniform(0.001, 0.005)) if rng.random() < 0.3 else 0.0
    form = str(rng.choice(["single", "accumulated", "pulses"], p=[0.5, 0.25, 0.25] if running else [0.5, 0.5, 0]))
    every = {"single": 1, "accumulated": int(rng.choice([2, 4, 8])), "pulses": int(rng.integers(2, 13))}[form]
    first = int(rng.integers(every)) if running else 0
    begins = np.concatenate([stretch[first::every] for stretch in steps])
    begins = begins[(begins >= 0) & (begins < case["gpu"].duration)]
    begins = begins[rng.random(len(begins)) >= missing]
    due = begins - lead + sd * np.clip(rng.standard_normal(len(begins)), -JITTER_SDS, JITTER_SDS)
    # One after another: a mark that is late may delay the next.
    gaps = MARK_GAP_S * np.arange(len(due))
    t = np.maximum.accumulate(due - gaps) + gaps
    return {"lead": lead, "sd": sd, "missing": missing, "form": form, "every": every, "begins": begins,
            "ns": np.round(1e9 * t).astype(np.int64)}


def case_text(case, marks=False):
    """The case as PROGRAM reads it; marks: with the lines of step_marks."""
    sensor, counter, n = case["sensor"], case["counter"], len(case["begin"])
    values = np.where(counter, sensor.counter_at(case["moment"]), 0).tolist()
    watts = sensor.power_at(case["moment"]).tolist()
    flat = [None] * (3 * n)
    flat[0::3] = (case["begin"] + case["epoch"]).tolist()
    flat[1::3] = (case["end"] + case["epoch"]).tolist()
    flat[2::3] = [v if is_c else w for is_c, v, w in zip(counter.tolist(), values, watts)]
    lines = "".join("c %d %d %d\n" if is_c else "p %d %d %.3f\n" for is_c in counter.tolist())
    stated = " ".join(f"{key}={value}" for key, value in case["stated"].items())
    windows = "".join(f"w {a + case['epoch']} {b + case['epoch']} {truth:.6f}\n" for (a, b), truth in zip(case["edges"], case["truth"]))
    begun = step_marks(case) if marks else None
    said = "".join(f"s {ns}\n" for ns in (begun["ns"] + case["epoch"]).tolist()) if begun else ""
    return f"case {case['name']}\nsensor {stated}\n{lines % tuple(flat)}{said}{windows}end\n"


# ---- cells

def cells(held_out):
    every = [(family, load) for family in FAMILIES for load in LOADS]
    held = set(random.Random(HELD_OUT_SEED).sample(every, len(every) // 3))
    return [cell for cell in every if (cell in held) == held_out]


def usable(some):
    if any(load == "trace" for _, load in some) and not traces():
        print(f"sensors.py: no traces in {TRACES}: cells with real traces are skipped", file=sys.stderr)
        return [cell for cell in some if cell[1] != "trace"]
    return some


def chosen_cells(names, held_out):
    some = cells(held_out)
    if names:
        wanted = [tuple(name.split("/")) for name in names.split(",")]
        some = [(f, l) for f, l in some if any(w[0] in (f, "*") and w[1] in (l, "*") for w in wanted if len(w) == 2)]
        if not some:
            raise SystemExit(f"sensors.py: no such cell: {names} ({'' if held_out else 'not '}held out; --list lists them)")
    return usable(some)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", help="FAMILY/LOAD,... where either may be *")
    parser.add_argument("--windows", default="0.5s,2s,10s,60s", help="of " + ", ".join(WINDOWS))
    parser.add_argument("--count", type=int, default=1, help="cases of each cell and window")
    parser.add_argument("--seed", type=int, default=1, help="the first case's seed")
    parser.add_argument("--held-out", action="store_true", help="only the cells that are held out")
    parser.add_argument("--marks", action="store_true", help="also write when each step of the load begins, where it has steps")
    parser.add_argument("--case", metavar="NAME", help="write this case again")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        import sensors_self_test
        return sensors_self_test.main()
    if options.list:
        for held_out in (False, True):
            for cell in cells(held_out):
                print("/".join(cell), "held-out" if held_out else "open")
        return 0
    if options.case:
        family, load, window, seed = (options.case.split("/") + 4 * [""])[:4]
        if window not in WINDOWS or not seed.isdigit():
            parser.error(f"not FAMILY/LOAD/WINDOW/SEED: {options.case}")
        if (family, load) not in cells(options.held_out):
            known = (family, load) in cells(not options.held_out)
            raise SystemExit(f"sensors.py: {family}/{load} is {('not ' if options.held_out else '') + 'held out' if known else 'unknown'}")
        sys.stdout.write(case_text(make_case(family, load, window, int(seed)), options.marks))
        return 0
    unknown = [name for name in options.windows.split(",") if name not in WINDOWS]
    if unknown:
        parser.error(f"unknown window: {unknown[0]} (known: {', '.join(WINDOWS)})")
    for family, load in chosen_cells(options.cells, options.held_out):
        for window in options.windows.split(","):
            for seed in range(options.seed, options.seed + options.count):
                sys.stdout.write(case_text(make_case(family, load, window, seed), options.marks))
    return 0


if __name__ == "__main__":
    sys.exit(main())
