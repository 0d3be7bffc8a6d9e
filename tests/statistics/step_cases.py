#!/usr/bin/env python3
"""Simulated trainings whose GPU power has a curve within each step, with marks: step_cases.py [--kinds K,...] [--count N] [--seed N] [--held-out]
                                                                             step_cases.py --case NAME | --list | --self-test

Writes cases to standard output. Each draws a training whose power P(t) and its integral are known exactly, a sensor (of sensors.py), and
what a meter reads of it:

  case KIND/SEED                 KIND is LOAD-SENSOR; --case NAME writes this one again
  sensor key=value ...           as sensors.py writes it (update period within 1.5 %, other times within 3 % (standard deviations), a delay also
                                 within 2 ms), and mark_error_ns, the bound of the marks' error. Where the counter has an update period of its
                                 own, counter_update_ns and counter_looked_share say so.
  c BEGIN_NS END_NS MILLIJOULES  a reading of the energy counter: the value is of a moment between begin and end of the call
  p BEGIN_NS END_NS WATTS        a reading of the power sensor, likewise
  m TIME_NS NAME                 phase NAME begins; the first name of a case begins a step
  end

Lines are in the order of their (begin) time. A mark is written by the CPU: it may be early or late against the GPU, by mark_error_ns at most.
In half of the cases the training synchronises before each mark (40 us early to 20 us late). In three of ten kernels are launched ahead: each
phase's marks are early by a time of its own, up to 8 ms or 30 % of the shortest phase. In two of ten they are written after the first
kernels are launched: 0.1 to 1 ms late. No sensor has a gain error.

The truth is not in the stream. A complete step is from one first mark to the next, by the GPU's time. Steps longer than 1.5 times the median
(with a checkpoint, an evaluation, a pause) are left out of the truth; no step is near that limit. Of the others, truth_phases() is the mean
energy of each phase, from its begin on the GPU to that of the next; truth_bin() the mean power in [begin + a, begin + b] over the steps that
are at least b long.

A kind is a load and a sensor. Every load is read by 3 of the 9 sensors, drawn once by a seed; a third of the kinds is held out: whoever works
on the estimator does not look at them. Nothing here knows the program's estimator."""
import argparse
import random
import sys
import zlib

import numpy as np

import sensors
from sensors import Gpu, Power, Sensor, log_uniform

KIND_SEED, HELD_OUT_SEED = 20261124, 20261125
LONGEST = 1.5               # times the median: longer steps are not in the truth
LEAST_REACH = 0.9           # a bin that a smaller share of the steps reaches has no truth
NAMES = {2: ("data", "train"), 3: ("data", "forward", "backward"), 4: ("data", "forward", "backward", "optimizer")}

# What a load has beside steps of constant length with 2 to 4 square phases; each is drawn from its range.
# step, rise: seconds. jitter: standard deviation of a step's length. drift: change of the length over the run. checkpoint: every 50th step is
# so many seconds longer. pause: seconds of evaluation between blocks of 20 to 100 steps. warm: change of the power with temperature. noise:
# standard deviation of white noise; 0.1 to 0.5 % where none is given.
LOADS = {
    "square": {"step": (0.05, 1), "phases": (2, 2)},
    "rises": {"step": (0.05, 1), "rise": (0.002, 0.01)},
    "short": {"step": (0.02, 0.06), "phases": (2, 3)},
    "long": {"step": (0.7, 2)},
    "jitter": {"step": (0.05, 0.7), "jitter": (0.01, 0.1)},
    "drift": {"step": (0.05, 0.7), "drift": (0.05, 0.15), "jitter": (0.001, 0.003)},
    "checkpoint": {"step": (0.05, 0.5), "jitter": (0.001, 0.02), "checkpoint": (0.3, 3)},
    "pauses": {"step": (0.05, 0.5), "jitter": (0.001, 0.02), "pause": (0.5, 5)},
    "warming": {"step": (0.1, 0.7), "jitter": (0, 0.002), "warm": (0.02, 0.06)},
    "noise": {"step": (0.05, 0.7), "jitter": (0, 0.01), "noise": (0.05, 0.2)},
    "beat": {"beat": (-0.005, 0.005)},
    "real": {"step": (0.1, 0.7), "jitter": (0.01, 0.05), "rise": (0.002, 0.008), "slope": (0, 0.1), "warm": (0.01, 0.04), "noise": (0.02, 0.08),
             "checkpoint": (0.3, 3), "pause": (0.5, 5)},
}


class Training:
    """power, the phases' names, and begin[i, k]: when phase k of step i begins on the GPU; the last step is not complete."""

    def __init__(self, power, names, begin):
        self.power, self.names, self.begin = power, names, begin
        self.length = np.diff(begin[:, 0])
        self.used = np.flatnonzero(self.length <= LONGEST * np.median(self.length))

    def truth_phases(self):
        """Mean energy of each phase in joules."""
        edges = np.column_stack((self.begin[:-1], self.begin[1:, 0]))[self.used]
        return dict(zip(self.names, np.diff(self.power.energy(edges), axis=1).mean(axis=0).tolist()))

    def truth_bin(self, a, b):
        """Mean power from a to b seconds after the begin of a step; None where too few steps reach it."""
        reach = self.used[self.length[self.used] >= b]
        if len(reach) < LEAST_REACH * len(self.used):
            return None
        begin = self.begin[reach, 0]
        return float(self.power.mean(begin + a, begin + b).mean())


def draw_phases(rng, gpu, count):
    """Shares of a step and watts. Each phase has at least 10 %."""
    if count == 2:
        busy = rng.choice([0.1, 0.25, 0.5, 0.75, 0.9]) if rng.random() < 0.5 else rng.uniform(0.1, 0.9)
        shares = np.array([1 - busy, busy])
    else:
        shares = 0.1 + (1 - 0.1 * count) * rng.dirichlet([1.5, 3, 4, 1.5][:count])
    height = [rng.uniform(0, 0.3), rng.uniform(0.5, 0.9), rng.uniform(0.7, 1), rng.uniform(0.2, 0.7)][:count]
    return shares, gpu.idle + (gpu.peak - gpu.idle) * np.array(height)


def draw_lengths(rng, step, shares, drawn, n):
    """Seconds of each phase of n steps."""
    change = np.ones(n)
    if "drift" in drawn:
        along = np.linspace(0, 1, n)
        change += drawn["drift"] * (0.5 * np.sin(2 * np.pi * (along * rng.uniform(0.5, 3) + rng.random())) if rng.random() < 0.5
                                    else (along - 0.5) * rng.choice([-1, 1]))
    varies = drawn.get("jitter", 0) * np.clip(rng.standard_normal(n), -2.5, 2.5)
    if rng.random() < 0.5:
        return step * (change + varies)[:, None] * shares
    lengths = step * change[:, None] * shares           # only the first phase varies: the loader of the data
    lengths[:, 0] = np.maximum(lengths[:, 0] + step * varies, 0.3 * lengths[:, 0])
    return lengths


def scaled(base, gpu, grid, factor_left, factor_right):
    """The power times a factor that is linear from each point of grid to the next (where both change within a piece: linear between its ends)."""
    t = np.union1d(base.t, grid)
    i = np.searchsorted(base.t, t, "right") - 1
    j = np.clip(np.searchsorted(grid, t, "right") - 1, 0, None)
    span = np.append(np.diff(grid), 1.0)
    following = np.append(t[1:], t[-1])

    def at(x):
        along = np.clip((x - grid[j]) / span[j], 0, 1)
        return gpu.clip((base.left[i] + base.slope[i] * (x - base.t[i])) * (factor_left[j] + along * (factor_right[j] - factor_left[j])))
    return Power(t, at(t), at(following))


def train(rng, gpu, options, update, seconds, ideal=False):
    """A training of so many seconds after some seconds at idle. update: the period that "beat" is in step with. ideal: every step
    has the same powers, and a phase no flicker."""
    drawn = {key: rng.uniform(*span) for key, span in options.items() if key not in ("step", "phases", "beat")}
    count = int(rng.integers(options.get("phases", (2, 4))[0], options.get("phases", (2, 4))[1] + 1))
    names, (shares, watts) = NAMES[count], draw_phases(rng, gpu, count)
    if "beat" in options:
        ratios = [r for r in (0.5, 1, 2, 3, 4, 5, 8) if 0.02 <= 0.98 * r * update <= 2]
        step = update * rng.choice(ratios) * (1 + (0 if rng.random() < 0.4 else rng.uniform(*options["beat"])))
    else:
        step = float(log_uniform(rng, *options["step"]))
    n = max(12, int(1.3 * seconds / step) + 1)
    lengths = draw_lengths(rng, step, shares, drawn, n)

    # What comes after the last phase of some steps, before the next step begins: seconds and watts.
    extra = np.zeros(n)
    if "checkpoint" in drawn:
        extra[int(rng.integers(5, 50))::50] = max(step, drawn["checkpoint"])
    if "pause" in drawn:
        extra[int(rng.integers(20, 101))::int(rng.integers(20, 101))] += max(step, drawn["pause"])
    between = gpu.idle + rng.uniform(0, 0.6) * (gpu.peak - gpu.idle)
    parts = 8 if "pause" in drawn else 1
    spans = np.column_stack((lengths, np.repeat(extra[:, None] / parts, parts, axis=1)))
    scatter = 0 if ideal else rng.uniform(0, 0.02)
    if not ideal:               # no chip draws exactly the same twice
        drawn.setdefault("noise", rng.uniform(0.001, 0.005))
    level = np.column_stack((watts * (1 + scatter * rng.standard_normal((n, count))), between * (1 + 0.1 * rng.standard_normal((n, parts)))))

    lead = rng.uniform(1.5, 4)
    start = lead + np.append(0, np.cumsum(spans.ravel())[:-1]).reshape(n, -1)
    last = max(10, int(np.searchsorted(start[:, 0], lead + seconds)))           # the training ends with this many steps
    begin, spans, level = start[:last, :count], spans[:last], level[:last]
    spans[-1, count:] = 0
    here = spans.ravel() > 0
    segment, w = start[:last].ravel()[here], gpu.clip(level.ravel()[here])
    tilt = drawn.get("slope", 0) * rng.uniform(-1, 1, w.shape)
    first, final = gpu.clip(w * (1 - tilt)), gpu.clip(w * (1 + tilt))
    end = segment[-1] + spans.ravel()[here][-1]
    t = np.concatenate(([0], segment, [end]))
    left, right = np.concatenate(([gpu.idle], first, [gpu.idle])), np.concatenate(([gpu.idle], final, [gpu.idle]))
    if "rise" in drawn:         # the power goes from one level to the next within the first part of a phase, of 40 % at most
        rise = np.minimum(drawn["rise"], 0.4 * np.diff(t[1:], append=end + 1))
        before = right[:-1]
        t = np.append(0, np.column_stack((t[1:], t[1:] + rise)).ravel())
        left, right = (np.append(gpu.idle, np.column_stack(pair).ravel()) for pair in ((before, left[1:]), (left[1:], right[1:])))
    power = Power(t, left, right)
    if "warm" in drawn:
        grid = np.arange(0, end, 0.25)
        factor = (1 + drawn["warm"] * rng.choice([-1, 1]) * (1 - np.exp(-grid / rng.uniform(5, 60)))
                  + 0.3 * drawn["warm"] * np.sin(2 * np.pi * grid / rng.uniform(10, 60)))
        power = scaled(power, gpu, grid, factor, np.append(factor[1:], factor[-1]))
    if "noise" in drawn:
        grid = np.arange(0, end, rng.choice([0.001, 0.002, 0.005]))
        factor = np.append(np.clip(1 + drawn["noise"] * rng.standard_normal(len(grid) - 1), 0.2, 2), 1)
        power = scaled(power, gpu, grid, factor, factor)
    return Training(power, names, begin), float(end)


# ---- sensors

class TwoRates(Sensor):
    """Power samples at one rate, and a counter with an update period of its own that looks at everything."""

    def __init__(self, rng, counter_period):
        super().__init__(rng, "instant", "looks")
        self.inner = Sensor(rng, "boxcar", "looks")
        self.inner.period = self.inner.averaging = counter_period

    def run(self, rng, power, duration):
        super().run(rng, power, duration)
        for name in ("delay", "clock", "missing", "stale", "quantum_mj", "gain", "base_mj"):
            setattr(self.inner, name, getattr(self, name))
        self.inner.jitter = self.jitter
        self.inner.run(rng, power, duration)

    def counter_at(self, t):
        return self.inner.counter_at(t)

    def stated(self, rng, limit):
        period = self.inner.period * (1 + 0.015 * float(np.clip(rng.standard_normal(), -3, 3)))
        return {**super().stated(rng, limit), "counter_update_ns": round(1e9 * period), "counter_looked_share": "1.0000"}


class Stale(Sensor):
    """Shows an old value again, 1 to 5 updates in a row."""

    def _shown(self, rng, n):
        begin = np.flatnonzero(rng.random(n) < self.stale)
        dropped = np.zeros(n + 5, bool)
        for back, length in zip(begin, rng.integers(1, 6, len(begin))):
            dropped[back:back + length] = True
        dropped[0] = False
        return np.maximum.accumulate(np.where(dropped[:n], 0, np.arange(n)))


def good(rng, sensor, period, averaging=0.0, share=1.0, delay=(0.0, 0.05), **values):
    """A sensor with these times and without gain error, missing or stale updates; quanta small."""
    sensor.period, sensor.averaging, sensor.delay = period, averaging, rng.uniform(*delay)
    sensor.share = sensors.RISE_S / period if sensor.kind == "instant" else share
    sensor.jitter = period * rng.uniform(0, 0.04)
    sensor.missing = sensor.stale = 0
    sensor.gain_bound, sensor.gain, sensor.quantum_mj, sensor.quantum_w = 0.0, 1.0, 1, 0.001
    for name, value in values.items():
        setattr(sensor, name, value)
    return sensor


def h200(rng):
    """A sample each 20 ms of the last millisecond, 14 ms late; a counter that looks at everything and updates each 100 ms."""
    return good(rng, TwoRates(rng, 0.1 * rng.uniform(0.99, 1.01)), 0.02 * rng.uniform(0.97, 1.03), delay=(0.013, 0.015))


def a100(rng):
    """25 of each 100 ms are looked at; the counter sums the samples."""
    period = 0.1 * rng.uniform(0.97, 1.03)
    return good(rng, Sensor(rng, "part-time", "looks"), period, 0.25 * period, 0.25, quantum_w=0.01)


def boxcar1s(rng):
    """Mean of the last second, each 100 ms; the counter looks at everything."""
    return good(rng, Sensor(rng, "boxcar", "looks"), 0.1 * rng.uniform(0.97, 1.03), 1.0)


def exponential(rng):
    """A first-order filter of 30 to 200 ms, shown each 20 to 50 ms; the counter sums what is shown, or there is none."""
    return good(rng, Sensor(rng, "exponential", str(rng.choice(["averaged", "none"]))), rng.uniform(0.02, 0.05), float(log_uniform(rng, 0.03, 0.2)))


def fast(rng):
    """A sample each 5 ms of the last millisecond; no counter."""
    return good(rng, Sensor(rng, "instant", "none"), 0.005 * rng.uniform(0.97, 1.03), delay=(0.001, 0.005))


def boxcar(rng):
    """Mean of each 20 to 50 ms; the counter looks at everything."""
    period = rng.uniform(0.02, 0.05)
    return good(rng, Sensor(rng, "boxcar", "looks"), period, period)


def quantised(rng):
    """Mean of each 20 to 50 ms in whole watts; the counter in whole joules."""
    period = rng.uniform(0.02, 0.05)
    return good(rng, Sensor(rng, "boxcar", "looks"), period, period, quantum_w=1.0, quantum_mj=1000)


def missing(rng):
    """Mean of each 20 to 50 ms; 3 to 10 % of the updates show nothing new."""
    period = rng.uniform(0.02, 0.05)
    return good(rng, Sensor(rng, "boxcar", "looks"), period, period, missing=rng.uniform(0.03, 0.1), quantum_w=0.01)


def stale(rng):
    """A sample each 10 to 30 ms of the last millisecond; in 1 to 3 % of the updates the old value stays for 1 to 5 of them; no counter."""
    return good(rng, Stale(rng, "instant", "none"), rng.uniform(0.01, 0.03), delay=(0.0, 0.02), stale=rng.uniform(0.01, 0.03))


SENSORS = {f.__name__: f for f in (h200, a100, boxcar1s, exponential, fast, boxcar, quantised, missing, stale)}


# ---- marks

def draw_marks(rng, training):
    """When each mark is written, in the shape of begin, and the bound of its error."""
    begin = training.begin
    n, k = begin.shape
    shortest = float(np.diff(begin.ravel()).min())
    way = rng.random()
    if way < 0.5:
        bound, error = 50e-6, rng.uniform(-40e-6, 20e-6, (n, k))
    elif way < 0.8:
        bound = min(0.008, 0.3 * shortest)
        ahead = rng.uniform(0.1, 0.9, k)
        if rng.random() < 0.5:          # the step's end is synchronised: the loss is printed
            ahead[0] = 0
        error = -bound * np.clip(ahead + 0.1 * rng.uniform(-1, 1, (n, k)), 0, 1)
    else:
        bound = min(0.001, 0.3 * shortest)
        error = rng.uniform(0.1, 1, (n, k)) * bound
    return begin + error, bound


# ---- cases

def make_case(kind, seed, sensor=None):
    """All of one case: sensor, training, readings and marks, in seconds from the epoch on."""
    load, name = kind.split("-")
    rng = np.random.default_rng([seed, zlib.crc32(kind.encode())])
    sensor = sensor or SENSORS[name](rng)
    seconds = float(log_uniform(rng, 20, 180))
    gpu = Gpu(rng, seconds, sensor.period, False)
    training, end = train(rng, gpu, LOADS[load], sensor.period * (1 + sensor.clock), seconds)
    duration = end + 2.5
    sensor.run(rng, training.power, duration + 1)
    interval = float(np.clip(sensor.period * rng.uniform(0.25, 0.5), 0.002, 0.025))
    due = [sensors.polls(rng, interval, duration)]
    if sensor.counter != "none":
        due.append(sensors.polls(rng, max(interval, float(rng.choice([0.02, 0.1, 1]))), duration))
    plan = np.concatenate(due)
    order = np.argsort(plan, kind="stable")
    begin, finish = sensors.calls(rng, plan[order])
    marks, bound = draw_marks(rng, training)
    return {"name": f"{kind}/{seed}", "sensor": sensor, "training": training, "gpu": gpu, "seconds": seconds, "epoch": int(rng.integers(10**13, 10**15)),
            "counter": (np.arange(len(plan)) >= len(due[0]))[order], "begin": begin, "end": finish,
            "moment": begin + (finish - begin) * rng.random(len(begin)), "marks": marks,
            "stated": {**sensor.stated(rng, gpu.limit), "mark_error_ns": round(1e9 * bound)}}


def case_text(case):
    sensor, epoch = case["sensor"], case["epoch"]
    begin = np.floor(1e9 * case["begin"]).astype(np.int64) + epoch
    end = np.ceil(1e9 * case["end"]).astype(np.int64) + epoch
    marks = np.round(1e9 * case["marks"]).astype(np.int64).ravel() + epoch
    lines = [f"c {a} {b} {mj}\n" if is_c else f"p {a} {b} {watts:.3f}\n" for is_c, a, b, mj, watts in zip(
        case["counter"].tolist(), begin.tolist(), end.tolist(),
        (sensor.counter_at(case["moment"]) if case["counter"].any() else np.zeros(len(begin), int)).tolist(), sensor.power_at(case["moment"]).tolist())]
    lines += [f"m {t} {name}\n" for t, name in zip(marks.tolist(), case["training"].names * len(case["marks"]))]
    body = "".join(lines[i] for i in np.argsort(np.concatenate((begin, marks)), kind="stable").tolist())
    stated = " ".join(f"{key}={value}" for key, value in case["stated"].items())
    return f"case {case['name']}\nsensor {stated}\n{body}end\n"


# ---- kinds

def all_kinds():
    """Each load with 3 different sensors, each sensor with 4 loads, as the seed has it."""
    chance, deck = random.Random(KIND_SEED), list(SENSORS) * 4
    while True:
        chance.shuffle(deck)
        dealt = {load: deck[3 * i:3 * i + 3] for i, load in enumerate(LOADS)}
        if all(len(set(hand)) == 3 for hand in dealt.values()):
            return [f"{load}-{sensor}" for load, hand in dealt.items() for sensor in SENSORS if sensor in hand]


def kinds(held_out):
    every = all_kinds()
    held = set(random.Random(HELD_OUT_SEED).sample(every, len(every) // 3))
    return [kind for kind in every if (kind in held) == held_out]


def chosen_kinds(names, held_out, program="step_cases.py"):
    some = kinds(held_out)
    for name in names.split(",") if names else []:
        if name not in some:
            what = ("not held out" if held_out else "held out") if name in kinds(not held_out) else "unknown (--list lists them)"
            raise SystemExit(f"{program}: {name} is {what}")
    return names.split(",") if names else some


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", help="LOAD-SENSOR,...")
    parser.add_argument("--count", type=int, default=1, help="cases of each kind")
    parser.add_argument("--seed", type=int, default=1, help="the first case's seed")
    parser.add_argument("--held-out", action="store_true", help="only the kinds that are held out")
    parser.add_argument("--case", metavar="NAME", help="write this case again")
    parser.add_argument("--list", action="store_true", help="the kinds; with --held-out those that are held out")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        import step_self_test
        return step_self_test.main()
    if options.list:
        for kind in kinds(options.held_out):
            print(kind)
        return 0
    if options.case:
        kind, _, seed = options.case.partition("/")
        if not seed.isdigit():
            parser.error(f"not LOAD-SENSOR/SEED: {options.case}")
        chosen_kinds(kind, options.held_out)
        sys.stdout.write(case_text(make_case(kind, int(seed))))
        return 0
    for kind in chosen_kinds(options.kinds, options.held_out):
        for seed in range(options.seed, options.seed + options.count):
            sys.stdout.write(case_text(make_case(kind, seed)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
