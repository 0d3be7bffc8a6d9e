#!/usr/bin/env python3
"""Simulated power sensors and loads with known energy, written without knowledge of the estimator that they test.
sensors12.py --case SENSOR/LOAD/WINDOW/SEED [--held-out] | --list | --self-test

12 sensors, 9 loads, windows of 2, 10, 60 and 600 s. sensors12_cover.py runs a program on them.

A load is a curve of straight pieces (times, watts); its integral is exact, so the truth of a window is exact. A sensor updates
at moments u_k (a drawn period, phase and jitter). At u_k it forms a value of the power (mean over the last part of the period,
exponential mean, or instant), rounds it, and shows it from u_k + delay_k on. A counter adds value * time since the update before.
A monitor polls power every 15 to 20 ms, and the counter about once a second and without a pause within 0.3 s of a window's edge.
A call to the counter takes 3 to 5 ms, 11 ms at worst; its value is of a moment between its begin and its end.

Held out: every uniform draw divides its range into 9 strips. Strips 2, 5 and 8 (counted from 1) belong to the held-out set, the
others to the development set. Seeds of the two sets differ too.

Real traces: the 1 Hz samples in $TARE_SHARED/data/legacy are interpolated. Each second gets its recorded mean; within it power
alternates between a high and a low level in steps of a drawn period of 20 ms to 1 s (duty 30 to 90 %, depth 0 to 60 % of what
the level above idle allows, step jitter 0 to 3 %), so that the sensor cannot know what lies between two samples.

Oracle: the half-width of an observer who knows the family's parameters of this sensor (share, period, kind of mean, mean delay,
not the phase, the jitter or the rounding) and the distribution of loads, not the realisation. Its estimate is the integral of the
values over the window: counter increments and means of a period as steps over (u_(k-1), u_k], instants by the trapezoid, means of
1 s moved back by half a second, exponential means as the integral of y + tau dy/dt. Times are those at which values
appear less the mean delay. Its half-width is the 95th percentile of |error| / truth over 200 draws of sensor, phase and load of
the family, for each load and window length. It is one figure for each cell: an observer who also adapts it to what the
readings show can be narrower in some windows and wider in others."""
import argparse
import csv
import glob
import math
import os
import sys
import zlib

import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
SHARED = os.environ.get("TARE_SHARED", os.path.join(ROOT, "../shared"))
LEAD_S = 3.0                     # idle before the first window and after the last
EPOCH_NS = 1_000_000_000_000     # case times begin here
WINDOWS = {"2s": (2.0, 8), "10s": (10.0, 4), "60s": (60.0, 2), "600s": (600.0, 1)}  # length, windows of a case
STRIPS, HELD_STRIPS = 9, (1, 4, 7)
RATIOS = sorted({p / q for p in range(1, 5) for q in range(1, 5)})


class Draw:
    """A generator of random numbers whose uniform draws keep to one set's strips."""

    def __init__(self, held_out, *key):
        self.rng = np.random.default_rng([7_000_003 if held_out else 12, zlib.crc32("/".join(map(str, key)).encode())])
        self.strips = [i for i in range(STRIPS) if (i in HELD_STRIPS) == held_out]

    def span(self, low, high):
        return low + (high - low) * (self.strips[self.rng.integers(len(self.strips))] + self.rng.random()) / STRIPS

    def log(self, low, high):
        return math.exp(self.span(math.log(low), math.log(high)))

    def one_of(self, *values):
        return values[self.rng.integers(len(values))]

    def chance(self, share):
        return self.rng.random() < share


# ---- power curves

class Curve:
    """Power in straight pieces; times may repeat where power jumps."""

    def __init__(self, times, watts):
        self.t, self.w = np.asarray(times, float), np.asarray(watts, float)
        self.e = np.concatenate([[0], np.cumsum(np.diff(self.t) * (self.w[1:] + self.w[:-1]) / 2)])

    def power(self, at):
        i = np.clip(np.searchsorted(self.t, at, "right") - 1, 0, len(self.t) - 2)
        length = self.t[i + 1] - self.t[i]
        share = np.where(length > 0, (at - self.t[i]) / np.where(length > 0, length, 1), 0)
        return self.w[i] + np.clip(share, 0, 1) * (self.w[i + 1] - self.w[i])

    def energy(self, at):
        """Joules from the curve's begin to each moment."""
        at = np.asarray(at, float)
        i = np.clip(np.searchsorted(self.t, at, "right") - 1, 0, len(self.t) - 2)
        return self.e[i] + (at - self.t[i]) * (self.w[i] + self.power(at)) / 2


def stairs(begin, lengths, levels):
    """A curve of constant levels, from begin on."""
    edges = begin + np.concatenate([[0], np.cumsum(lengths)])
    return np.repeat(edges, 2)[1:-1], np.repeat(np.asarray(levels, float), 2)


class Gpu:
    def __init__(self, draw):
        self.limit_w = draw.one_of(70, 150, 250, 300, 350, 400, 700, 1000)
        self.idle_w = self.limit_w * draw.span(0.06, 0.25)

    def level(self, draw, low=0.0, high=1.0):
        """A power between idle and the limit."""
        return self.idle_w + (self.limit_w - self.idle_w) * draw.span(low, high)


# ---- loads: (draw, gpu, seconds, sensor) -> (times from 0 on, watts, seconds of a step or None)

def steady(draw, gpu, seconds, sensor):
    level, drift = gpu.level(draw, 0.2, 1), draw.span(-0.02, 0.02)
    noise = draw.log(0.001, 0.02)
    edges = np.arange(0, seconds + 1, draw.log(0.01, 0.3))
    shape = 1 + drift * edges / seconds + noise * draw.rng.standard_normal(len(edges))
    return edges, level * shape, None


def random_steps(draw, gpu, seconds, sensor):
    typical = draw.log(0.03, 3)
    n = int(3 * seconds / typical) + 20
    lengths = np.maximum(0.002, draw.rng.exponential(typical, n))
    low, high = sorted([gpu.level(draw, 0, 0.6), gpu.level(draw, 0.3, 1)])
    return *stairs(0, lengths, draw.rng.uniform(low, high, n)), None


def repeated(draw, seconds, step_s, jitter, parts, levels, noise, pause_s=0.0, pause_w=0.0, pause_chance=1.0):
    """Steps of parts (shares of a step) at levels; after a step a pause, drawn exponentially."""
    n = int(1.5 * seconds / (step_s + pause_s * pause_chance)) + 20
    scale = np.maximum(0.3, 1 + jitter * draw.rng.standard_normal((n, 1)))
    lengths = step_s * scale * np.asarray(parts)
    watts = np.asarray(levels) * (1 + noise * draw.rng.standard_normal((n, len(parts))))
    if pause_s:
        pauses = np.where(draw.rng.random((n, 1)) < pause_chance, draw.rng.exponential(pause_s, (n, 1)), 0)
        lengths, watts = np.hstack([lengths, pauses]), np.hstack([watts, np.full((n, 1), pause_w)])
    return stairs(0, lengths.ravel(), watts.ravel())


def step_shape(draw, gpu):
    n = draw.one_of(2, 2, 3, 4)
    parts = np.array([draw.span(0.1, 1) for _ in range(n)])
    levels = [gpu.level(draw, 0.5, 1)] + [gpu.level(draw, 0, 1) for _ in range(n - 1)]
    return parts / parts.sum(), levels


def train_steps(draw, gpu, seconds, sensor):
    step_s = draw.log(0.02, 2)
    return *repeated(draw, seconds, step_s, draw.span(0, 0.03), *step_shape(draw, gpu), draw.span(0, 0.02)), step_s


def two_phase(draw, gpu, seconds, sensor):
    step_s, busy = draw.log(0.05, 1.5), draw.span(0.3, 0.8)
    high, low = gpu.level(draw, 0.6, 1), gpu.level(draw, 0.2, 0.6)
    pause_s, chance = step_s * draw.span(0.1, 1), draw.one_of(1.0, 0.3, 0.1)
    return *repeated(draw, seconds, step_s, draw.span(0, 0.03), [busy, 1 - busy], [high, low], 0.01,
                     pause_s, gpu.level(draw, 0, 0.1), chance), None


def join(seconds, make_block):
    """Blocks one after the other; make_block(i) gives times from 0 on and watts."""
    times, watts, at, i = [], [], 0.0, 0
    while at <= seconds:
        t, w = make_block(i)
        times.append(t + at)
        watts.append(w)
        at, i = at + t[-1], i + 1
    return np.concatenate(times), np.concatenate(watts)


def cut(times, watts, seconds):
    """The curve's part from 0 to seconds."""
    last = Curve(times, watts).power(np.array([seconds]))[0]
    keep = times < seconds
    return np.append(times[keep], seconds), np.append(watts[keep], last)


def epochs(draw, gpu, seconds, sensor):
    epoch_s = draw.log(2, 30)
    step_s, jitter, shape = draw.log(0.02, 0.5), draw.span(0, 0.03), step_shape(draw, gpu)
    check_s, check_w = epoch_s * draw.span(0.05, 0.3), gpu.level(draw, 0.1, 0.7)
    save_s, idle_w = draw.span(0.05, 1), gpu.level(draw, 0, 0.1)

    def block(_):
        t, w = cut(*repeated(draw, epoch_s, step_s, jitter, *shape, 0.01), epoch_s * (1 + 0.02 * draw.rng.standard_normal()))
        more_t, more_w = stairs(t[-1], [check_s, save_s], [check_w, idle_w])
        return np.append(t, more_t), np.append(w, more_w)
    return *join(seconds, block), None


def ramps(draw, gpu, seconds, sensor):
    """Warm-up: power nears a level exponentially, with slow waves and ramps after it."""
    start, level = gpu.level(draw, 0, 0.5), gpu.level(draw, 0.4, 1)
    tau, wave, wave_s = draw.log(0.5, 30), draw.span(0, 0.2), draw.log(2, 60)
    t = np.arange(0, seconds + 1, 0.02)
    w = level + (start - level) * np.exp(-t / tau)
    return t, w * (1 + wave * np.abs(2 * ((t / wave_s) % 1) - 1)), None


def bursts(draw, gpu, seconds, sensor):
    """Requests arrive at random; each is a burst of 10 ms to 1 s."""
    burst_s, busy = draw.log(0.01, 1), draw.span(0.1, 0.8)
    n = int(2 * seconds * busy / burst_s) + 30
    lengths = np.empty(2 * n)
    lengths[0::2] = draw.rng.exponential(burst_s * (1 - busy) / busy, n)
    lengths[1::2] = burst_s * np.exp(0.3 * draw.rng.standard_normal(n))
    levels = np.full(2 * n, gpu.level(draw, 0, 0.1))
    levels[1::2] = gpu.level(draw, 0.3, 1) * (1 + 0.05 * draw.rng.standard_normal(n))
    return *stairs(0, lengths, levels), None


TRACES = []


def traces():
    """The recorded traces of 100 samples and more that a second's interpolation fits: a list of watts for each second."""
    if not TRACES:
        for path in sorted(glob.glob(os.path.join(SHARED, "data/legacy/*/*/energy/gpu_power.csv"))):
            with open(path, encoding="utf-8") as file:
                rows = [(float(row["timestamp"]), float(row["power_draw_w"])) for row in csv.DictReader(file) if row["power_draw_w"]]
            if len(rows) >= 100:
                t, w = zip(*rows)
                TRACES.append(np.interp(np.arange(t[0], t[-1]), t, w))
    return TRACES


def trace(draw, gpu, seconds, sensor):
    recorded = draw.one_of(*traces())
    watts = np.tile(recorded, int(seconds / len(recorded)) + 2)
    first = draw.rng.integers(len(recorded))
    watts = watts[first:first + int(seconds) + 2] * gpu.limit_w / max(320, recorded.max())
    floor = watts.min()
    step_s, jitter = draw.log(0.02, 1), draw.span(0, 0.03)
    duty, depth = draw.span(0.3, 0.9), draw.span(0, 0.6)
    n = int(1.3 * len(watts) / step_s) + 10
    lengths = step_s * np.maximum(0.3, 1 + jitter * draw.rng.standard_normal((n, 1))) * [duty, 1 - duty]
    middle = np.minimum(np.cumsum(lengths.sum(1)).astype(int), len(watts) - 1)
    # The mean over a step is the recorded watts; neither level is below the floor or above the limit.
    mean = watts[middle]
    swing = depth * np.minimum((mean - floor) / duty, (gpu.limit_w - mean) / (1 - duty))
    swing = np.maximum(swing, 0)
    levels = np.stack([mean + (1 - duty) * swing, mean - duty * swing], 1)
    return *stairs(0, lengths.ravel(), levels.ravel()), step_s


def in_step(draw, gpu, seconds, sensor):
    """Steps whose frequency is within two beats per window of p/q of the sensor's, p and q up to 4."""
    ratio = draw.one_of(*RATIOS)
    frequency = ratio / sensor.period_s + draw.span(-2, 2) / sensor.window_s
    step_s = 1 / max(frequency, 0.3 / sensor.period_s * min(1, ratio))
    return *repeated(draw, seconds, step_s, draw.one_of(0, 0, 0.002, 0.01), *step_shape(draw, gpu), draw.span(0, 0.02)), step_s


LOADS = {f.__name__: f for f in (steady, random_steps, train_steps, two_phase, epochs, ramps, bursts, trace, in_step)}


def is_in_step(step_s, period_s, window_s):
    """By the definition of in_step; of a load that repeats with step_s (None: does not repeat)."""
    return step_s is not None and any(abs(1 / step_s - ratio / period_s) * window_s <= 2 for ratio in RATIOS)


# ---- sensors

class Family:
    """kind: mean (of look_s before each update), exponential, instant. counter: looks (adds mean * time), sums (adds the values
    shown), None. group: the row of the targets."""

    def __init__(self, kind, counter, group, period_s=(0.098, 0.102), share=(1, 1), delay_s=(0, 0.01), stamped=0.0):
        self.kind, self.counter, self.group = kind, counter, group
        self.period_s, self.share, self.delay_s, self.stamped = period_s, share, delay_s, stamped


SENSORS = {
    "counter_all": Family("mean", "looks", "counter"),
    "counter_98": Family("mean", "looks", "counter", (0.0998, 0.1002), (0.981, 0.996), (0.007, 0.008)),
    "counter_sums": Family("mean", "sums", "counter", (0.015, 0.020), (0.98, 1), (0.0, 0.008), stamped=0.5),
    "counter_25": Family("mean", "looks", "part", share=(0.24, 0.26)),
    "counter_20": Family("mean", "looks", "part", share=(0.19, 0.21)),
    "counter_30": Family("mean", "looks", "part", share=(0.29, 0.31)),
    "mean_100ms": Family("mean", None, "mean"),
    "mean_1s": Family("mean", None, "mean", share=(9.7, 10.3)),
    "exponential": Family("exponential", None, "mean", delay_s=(0, 0.015)),
    "instant_100ms": Family("instant", None, "instant", delay_s=(0, 0.02)),
    "instant_20ms": Family("instant", None, "instant", (0.015, 0.025), delay_s=(0, 0.008), stamped=0.5),
    "instant_1s": Family("instant", None, "slow", (0.97, 1.03), delay_s=(0, 0.05)),
}


class Sensor:
    """One drawn sensor; measure() gives its updates over a curve."""

    def __init__(self, draw, name, window_s):
        family = SENSORS[name]
        self.name, self.family, self.window_s, self.kind, self.counter = name, family, window_s, family.kind, family.counter
        self.period_s = draw.span(*family.period_s)
        self.jitter_s = self.period_s * draw.log(0.0005, 0.015)
        self.look_s = self.period_s * draw.span(*family.share)
        self.look_jitter_s = 0.002 if name == "counter_98" else self.look_s * draw.span(0, 0.01)
        self.tau_s = draw.log(0.05, 0.4)
        self.delay_s = draw.span(*family.delay_s)
        self.delay_jitter_s = draw.span(0, 0.002)
        self.quantum_w = draw.one_of(0.001, 0.001, 0.01, 0.1, 1.0)
        self.quantum_mj = draw.one_of(1, 1, 1, 10, 100)
        self.counter_period_s = self.period_s * (round(0.1 / self.period_s) if family.counter == "sums" else 1)
        # The H100's power reading overshoots a change and is later than its counter.
        self.overshoot = draw.span(0.05, 0.25) if name == "counter_98" else 0.0
        self.power_delay_s = draw.span(0.005, 0.023) if name == "counter_98" else self.delay_s
        self.stamped = draw.chance(family.stamped)

    def measure(self, draw, curve, seconds, jitter=True):
        """Keeps for each update its moment, value and the joules counted."""
        n = int(seconds / self.period_s) - 1
        phase = draw.rng.random() * self.period_s
        self.u = phase + self.period_s * np.arange(n)
        look = np.full(n, self.look_s)
        shown = np.zeros(n)
        if jitter:
            self.u = self.u + np.clip(self.jitter_s * draw.rng.standard_normal(n), -0.3 * self.period_s, 0.3 * self.period_s)
            look = look + np.clip(self.look_jitter_s * draw.rng.standard_normal(n), -0.3 * self.look_s, 0.3 * self.look_s)
            shown = self.delay_jitter_s * draw.rng.random(n)
        if self.kind == "mean":
            if self.counter == "looks" and self.look_s == self.period_s:
                look = np.diff(self.u, prepend=self.u[0] - self.period_s)  # sees all of its time
            begin = np.maximum(self.u - look, 0)
            value = np.where(self.u > begin, (curve.energy(self.u) - curve.energy(begin)) / np.maximum(self.u - begin, 1e-9), curve.power(self.u))
        elif self.kind == "instant":
            value = curve.power(self.u)
        else:
            value = exponential(curve, self.u, self.tau_s)
        self.mean_delay_s = self.delay_s + (self.delay_jitter_s / 2 if jitter else 0)
        self.value = value
        self.shown_w = self.quantum_w * np.round((value + self.overshoot * np.diff(value, prepend=value[0])) / self.quantum_w)
        self.power_at = np.maximum.accumulate(self.u + self.power_delay_s + shown)
        self.counter_at = np.maximum.accumulate(self.u + self.delay_s + shown)
        if self.counter:
            added = (self.shown_w if self.counter == "sums" else value) * np.diff(self.u, prepend=self.u[0])
            if self.counter == "sums":
                added = self.shown_w * self.period_s     # as if each sample lasted the nominal period
            self.mj = np.floor(5e6 + np.cumsum(added) * 1000 / self.quantum_mj) * self.quantum_mj
            every = max(1, round(self.counter_period_s / self.period_s))
            self.mj, self.counter_at, self.counter_u = self.mj[::every], self.counter_at[::every], self.u[::every]

    def read_power(self, at):
        return self.shown_w[np.clip(np.searchsorted(self.power_at, at, "right") - 1, 0, None)]

    def read_counter(self, at):
        return self.mj[np.clip(np.searchsorted(self.counter_at, at, "right") - 1, 0, None)]


def exponential(curve, u, tau):
    """y' = (P - y) / tau at the moments u; exact for straight pieces of P."""
    t = np.union1d(curve.t, u)
    left, right = curve.power(t[:-1]), curve.power(np.nextafter(t[1:], 0))
    d = np.diff(t)
    keep = np.exp(-d / tau)
    slope = np.where(d > 0, (right - left) / np.where(d > 0, d, 1), 0)
    # y(d) = y0 keep + (left - slope tau)(1 - keep) + slope d; the filter runs over all pieces.
    add = (left - slope * tau) * (1 - keep) + slope * d
    y, out = left[0], [left[0]]
    for k, a in zip(keep.tolist(), add.tolist()):
        y = y * k + a
        out.append(y)
    return np.asarray(out)[np.searchsorted(t, u)]


# ---- cases

def make_load(draw, load, gpu, windows, sensor):
    """The whole curve: idle, load, idle. Where windows are several, the first begins and the last ends near the load's ends."""
    length, count = windows
    starts, at = [], LEAD_S
    for _ in range(count):
        at += draw.rng.uniform(0, 0.7)
        starts.append(at)
        at += length
    starts = np.asarray(starts)
    begin = starts[0] + (draw.rng.uniform(-0.5, 0.5) if draw.chance(0.5) else -draw.rng.uniform(0.5, 2.5))
    end = at + (draw.rng.uniform(-0.5, 0.5) if draw.chance(0.5) else draw.rng.uniform(0.5, 2.0))
    t, w, step_s = LOADS[load](draw, gpu, end - begin, sensor)
    t, w = cut(np.asarray(t), np.clip(w, gpu.idle_w * 0.9, gpu.limit_w * 1.02), end - begin)
    seconds = at + LEAD_S + 0.5
    times = np.concatenate([[0, begin], np.minimum(t + begin, end), [end, seconds]])
    watts = np.concatenate([[gpu.idle_w] * 2, w, [gpu.idle_w] * 2])
    return Curve(times, watts), np.round(np.stack([starts, starts + length], 1), 9), seconds, step_s


def make_case(sensor_name, load, window, seed, held_out=False):
    """Sensor, curve and windows; sensor and GPU depend on name and seed alone, so that loads, windows and the calibration share them."""
    sensor = Sensor(Draw(held_out, "sensor", sensor_name, seed), sensor_name, WINDOWS[window][0])
    draw = Draw(held_out, sensor_name, load, window, seed)
    gpu = Gpu(Draw(held_out, "gpu", sensor_name, seed))
    curve, edges, seconds, step_s = make_load(draw, load, gpu, WINDOWS[window], sensor)
    sensor.measure(draw, curve, seconds)
    truth = curve.energy(edges[:, 1]) - curve.energy(edges[:, 0])
    return {"name": f"{sensor_name}/{load}/{window}/{seed}", "sensor": sensor, "gpu": gpu, "curve": curve, "edges": edges,
            "seconds": seconds, "truth": truth, "draw": draw, "held_out": held_out,
            "in_step": is_in_step(step_s, sensor.period_s, WINDOWS[window][0])}


def spaced(moments, least_s):
    """The moments without those that are too close to the one kept before."""
    kept = []
    for moment in moments.tolist():
        if not kept or moment - kept[-1] >= least_s:
            kept.append(moment)
    return np.asarray(kept)


def poll(case):
    """What the monitor reads: of counter and power begin_ns, end_ns and value of each call, in the order of time."""
    sensor, rng, seconds = case["sensor"], case["draw"].rng, case["seconds"]
    out = {}
    if sensor.counter:
        gaps = rng.uniform(0.8, 1.2, int(seconds / 0.8) + 2)
        wanted = [np.cumsum(gaps)] + [edge - 0.3 + np.cumsum(rng.uniform(0.0045, 0.006, 120)) for edge in case["edges"].ravel()]
        begin = np.sort(np.concatenate(wanted))
        begin = spaced(begin[(begin > 0.2) & (begin < seconds - 0.4)], 0.0045)
        took = np.where(rng.random(len(begin)) < 0.01, rng.uniform(0.005, 0.011, len(begin)), rng.uniform(0.003, 0.0044, len(begin)))
        took[:-1] = np.minimum(took[:-1], np.diff(begin))
        out["c"] = begin, begin + took, sensor.read_counter(begin + took * rng.random(len(begin)))
    if sensor.stamped:
        at = sensor.power_at[(sensor.power_at > 0.2) & (sensor.power_at < seconds - 0.4)]
        out["p"] = at, at, sensor.read_power(at)
    else:
        begin = np.cumsum(rng.uniform(0.015, 0.020, int(seconds / 0.015) + 2))
        begin = begin[(begin > 0.2) & (begin < seconds - 0.4)]
        took = rng.uniform(14e-6, 30e-6, len(begin))
        out["p"] = begin, begin + took, sensor.read_power(begin + took / 2)
    case["readings"] = out
    return out


def to_ns(seconds):
    return np.round(np.asarray(seconds) * 1e9).astype(np.int64) + EPOCH_NS


def case_text(case, stated="calibration=none"):
    """The case as window_cover reads it; stated: what the sensor line says of the sensor's behaviour."""
    readings = case.get("readings") or poll(case)
    lines = []
    for word, (begin, end, value) in readings.items():
        a, b = to_ns(begin).tolist(), to_ns(end).tolist()
        if word == "c":
            lines += [(x, f"c {x} {y} {v:.0f}\n") for x, y, v in zip(a, b, value.tolist())]
        else:
            lines += [(x, f"p {x} {y} {v:.3f}\n") for x, y, v in zip(a, b, value.tolist())]
    lines.sort(key=lambda line: line[0])
    sensor = case["sensor"]
    counter = f"counter=1 quantum_mj={sensor.quantum_mj}" if sensor.counter else "counter=0"
    windows = "".join(f"w {a} {b} {truth:.6f}\n" for (a, b), truth in zip(to_ns(case["edges"]).tolist(), case["truth"].tolist()))
    return (f"case {case['name']}\nsensor {stated} {counter} power_limit_w={case['gpu'].limit_w}\n"
            + "".join(line for _, line in lines) + windows + "end\n")


# ---- oracle and baselines: joules of each window

def integral(times, watts, edges, steps):
    """Of steps (value k holds over (t_(k-1), t_k]) or of straight lines between the points."""
    if steps:
        at, watts = times, np.concatenate([[watts[0]], watts[1:]])
        sums = np.concatenate([[0], np.cumsum(np.diff(at) * watts[1:])])
        return np.diff(np.interp(edges, at, sums), axis=1)[:, 0]
    curve = Curve(times, watts)
    return np.diff(curve.energy(edges), axis=1)[:, 0]


def oracle_energy(case):
    """The estimate that the module's text describes."""
    sensor, edges = case["sensor"], case["edges"]
    if sensor.counter:
        at, sums = sensor.counter_at - sensor.mean_delay_s, sensor.mj / 1000
        return np.diff(np.interp(edges, at, sums), axis=1)[:, 0]
    at, values = sensor.power_at - sensor.mean_delay_s, sensor.shown_w
    if sensor.kind == "instant":
        return integral(at, values, edges, False)
    if sensor.kind == "exponential":
        y = np.interp(edges, at, values)
        return integral(at, values, edges, False) + sensor.tau_s * (y[:, 1] - y[:, 0])
    if sensor.look_s > 2 * sensor.period_s:
        return integral(at - sensor.look_s / 2, values, edges, False)
    return integral(at, values, edges, True)


def oracle_percent(sensor_name, load, window, draws=200, held_out=False):
    """The oracle's half-width in % of the energy."""
    errors = []
    seed = 1_000_000                   # apart from the sensors that the program sees
    while len(errors) < draws:
        case = make_case(sensor_name, load, window, seed, held_out)
        errors += (np.abs(oracle_energy(case) - case["truth"]) / case["truth"]).tolist()
        seed += 1
    return 100 * float(np.quantile(errors[:draws], 0.95))


def baselines(case):
    """Name -> (energy, half-width) of each window, from the same readings as the program's."""
    readings, edges = case.get("readings") or poll(case), case["edges"]
    begin, end, value = readings["p"]
    middle = (begin + end) / 2
    energy = integral(middle, value, edges, False)
    out = {"trapezoid ± 5 %": (energy, 0.05 * energy)}
    if "c" in readings:
        _, end, mj = readings["c"]
        at = np.clip(np.searchsorted(end, edges, "right") - 1, 0, None)
        energy = (mj[at[:, 1]] - mj[at[:, 0]]) / 1000
        # One update of the counter, at the window's mean power.
        out["counter ± update"] = energy, energy / (edges[:, 1] - edges[:, 0]) * case["sensor"].counter_period_s
    return out


# ---- calibration

CALIBRATION_S = 60.0


def calibration_csv(sensor_name, seed, held_out=False):
    """Readings of the sensor over a load that is known, as learn_readings reads them: idle and busy for 5 s each, then for random
    times from 20 ms to 1.5 s. Power has noise of 0.5 %, new every 10 ms, as that of a real device."""
    sensor = Sensor(Draw(held_out, "sensor", sensor_name, seed), sensor_name, CALIBRATION_S)
    draw = Draw(held_out, "calibration", sensor_name, seed)
    gpu = Gpu(Draw(held_out, "gpu", sensor_name, seed))
    high, lengths = gpu.level(draw, 0.6, 1), [5.0, 5.0]
    while sum(lengths) < CALIBRATION_S:
        lengths.append(draw.rng.uniform(0.02, 1.5))
    lengths += [5.0, 5.0] if len(lengths) % 2 == 0 else [5.0, 5.0, 5.0]
    edges = np.concatenate([[0], np.cumsum(lengths)])
    busy, at = list(zip(edges[1:-1:2], edges[2::2])), edges[-1] - 4
    times = np.union1d(edges, np.arange(0, edges[-1], 0.01))
    levels = np.where(np.searchsorted(edges, times[:-1], "right") % 2 == 0, high, gpu.idle_w)
    curve = Curve(*stairs(0, np.diff(times), levels * (1 + 0.005 * draw.rng.standard_normal(len(levels)))))
    sensor.measure(draw, curve, at + 4)
    rng, rows = draw.rng, []
    if sensor.counter:
        begin = np.arange(0.3, at + 3, 0.0046)
        took = rng.uniform(0.003, 0.0044, len(begin))
        rows += [("counter", a, a + d, f"{v:.0f}") for a, d, v in zip(begin, took, sensor.read_counter(begin + took * rng.random(len(begin))))]
    begin = np.cumsum(rng.uniform(0.002, 0.003, int((at + 3) / 0.003)))
    begin = begin[begin > 0.3]
    rows += [("power", a, a + 25e-6, f"{v:.3f}") for a, v in zip(begin, sensor.read_power(begin))]
    rows += [("load", a, b, "1") for a, b in busy]
    rows.sort(key=lambda row: row[1])
    return "".join(f"{name},{to_ns(a)},{to_ns(b)},{value}\n" for name, a, b, value in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", metavar="SENSOR/LOAD/WINDOW/SEED")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--list", action="store_true", help="sensors, loads and windows")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        import sensors12_self_test
        return sensors12_self_test.main()
    if options.case:
        sensor, load, window, seed = options.case.split("/")
        sys.stdout.write(case_text(make_case(sensor, load, window, int(seed), options.held_out)))
    elif options.list:
        print("\n".join([f"sensor {name} ({SENSORS[name].group})" for name in SENSORS] + [f"load {x}" for x in LOADS] + [f"window {x}" for x in WINDOWS]))
    else:
        parser.error("--case, --list or --self-test")
    return 0


if __name__ == "__main__":
    sys.exit(main())
