"""The tests of step_cases.py (step_cases.py --self-test): truths against sums by brute force, and what an ideal sensor's samples say."""
import os
import subprocess
import sys

import numpy as np

import sensors
import step_cases
from sensors import Gpu, Sensor
from sensors_self_test import near, rng
from step_cases import LOADS, SENSORS, make_case

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "step_cases.py")


def training_of(load, seed=1, seconds=25, **more):
    chance = rng(seed)
    return step_cases.train(chance, Gpu(chance, seconds, 0.1, False), LOADS[load], 0.1, seconds, **more)


def brute_force(power, end, h=5e-6):
    """The energy up to each multiple of h, summed from the power in the middle of each piece; at the nearest of them."""
    x = h * (np.arange(int(end / h)) + 0.5)
    i = np.searchsorted(power.t, x, "right") - 1
    width = np.append(np.diff(power.t), np.inf)
    watts = power.left[i] + (power.right[i] - power.left[i]) * (x - power.t[i]) / width[i]
    assert watts.min() >= 0 and watts.max() <= 1000
    joules = np.append(0, np.cumsum(watts * h))
    return lambda t: joules[round(t / h)]


def truths_equal_brute_force_sums():
    """Phase by phase and step by step, by the definition; the sum cuts time into 5 us, so an edge is off by about 1 mJ at most."""
    worst, bins = 0.0, 0
    for load in LOADS:
        training, end = training_of(load)
        energy, begin = brute_force(training.power, end), training.begin
        lengths = [begin[i + 1, 0] - begin[i, 0] for i in range(len(begin) - 1)]
        steps = [i for i, length in enumerate(lengths) if length <= 1.5 * sorted(lengths)[len(lengths) // 2]]
        for k, (name, truth) in enumerate(training.truth_phases().items()):
            want = np.mean([(energy(begin[i, k + 1] if k + 1 < begin.shape[1] else begin[i + 1, 0]) - energy(begin[i, k])) for i in steps])
            worst = max(worst, abs(truth - want))
            assert abs(truth - want) < 0.001, f"{load} {name}: {truth}, not {want}"
        for a in np.arange(0, max(lengths), 0.017):
            long_enough = [i for i in steps if lengths[i] >= a + 0.005]
            got = training.truth_bin(a, a + 0.005)
            assert (got is None) == (len(long_enough) < 0.9 * len(steps)), f"{load}: bin at {a}"
            if got is not None:
                want = np.mean([(energy(begin[i, 0] + a + 0.005) - energy(begin[i, 0] + a)) / 0.005 for i in long_enough])
                assert abs(got - want) < 0.3, f"{load}: bin at {a}: {got}, not {want}"
                bins += 1
    return f"off by {worst:.1g} J at most, {len(LOADS)} loads, {bins} bins"


def phases_sum_to_the_energy_of_the_steps():
    for load in LOADS:
        training, _ = training_of(load, 2)
        used = training.used
        want = np.mean(training.power.energy(training.begin[used + 1, 0]) - training.power.energy(training.begin[used, 0]))
        near(sum(training.truth_phases().values()) / want, 1, 1e-9, load)
        near(training.truth_bin(0, 0.01) * 0.01, np.mean(training.power.energy(training.begin[used, 0] + 0.01)
                                                         - training.power.energy(training.begin[used, 0])), 1e-6, load)
    return f"{len(LOADS)} loads"


def folded_samples_of_an_ideal_sensor_give_the_curve():
    """Without delay, noise and scatter of steps each sample of the last millisecond lies on the mean curve, at its time since the step's begin."""
    said = []
    for load in ("square", "rises", "short", "long"):
        training, end = training_of(load, 3, 60, ideal=True)
        sensor = Sensor(rng(), "instant", "looks")
        for name, value in {"delay": 0.0, "jitter": 0.0, "clock": 0.0, "missing": 0, "stale": 0, "gain": 1.0, "period": 0.00499 + 1e-5 / 3}.items():
            setattr(sensor, name, value)
        sensor.run(rng(), training.power, end)
        inside = (sensor.u > training.begin[1, 0]) & (sensor.u < training.begin[-1, 0])
        u, watts = sensor.u[inside], sensor.watts[inside]
        offset = u - training.begin[np.searchsorted(training.begin[:, 0], u, "right") - 1, 0]
        at = offset >= 0.001
        training.used = training.used[1:]       # the first step rises from idle
        some = np.flatnonzero(at)[::17]
        near(watts[some], [training.truth_bin(offset[i] - 0.001, offset[i]) for i in some], 1e-5, f"{load}: sample")
        # A square phase: each sample that lies inside shows its power, which times its length is its energy.
        edges, truth = np.append(training.begin[1], training.begin[2, 0]) - training.begin[1, 0], training.truth_phases()
        for k, name in enumerate(training.names) if load != "rises" else ():
            mine = (offset - 0.001 > edges[k] + 1e-6) & (offset < edges[k + 1] - 1e-6)
            near(watts[mine] * (edges[k + 1] - edges[k]) / truth[name], 1, 1e-6, f"{load} {name}")
            assert mine.sum() > 20, f"{load} {name}: {mine.sum()}"
        said.append(str(len(some)))
    return f"{' + '.join(said)} samples"


def long_steps_are_outside_of_the_truth_and_none_is_near_its_limit():
    outside = dict.fromkeys(LOADS, 0)
    for load in LOADS:
        for seed in range(20):
            training, _ = training_of(load, seed, 40)
            ratio = training.length / np.median(training.length)
            assert not ((ratio > 1.35) & (ratio < 1.65)).any() and ratio.min() > 0.6, f"{load} {seed}: {ratio.min()}"
            assert set(training.used) == set(np.flatnonzero(ratio <= 1.5)), load
            outside[load] += len(ratio) - len(training.used)
    assert all((outside[load] > 0) == (load in ("checkpoint", "pauses", "real")) for load in LOADS), outside
    training, _ = training_of("checkpoint", 2, 40)
    gaps = np.diff(np.flatnonzero(training.length > 1.5 * np.median(training.length)))
    assert len(gaps) and (gaps == 50).all(), gaps
    return f"{sum(outside.values())} long steps"


def a_bin_that_few_steps_reach_has_no_truth():
    training, _ = training_of("square", 1)
    training.length = np.where(np.arange(len(training.length)) % 10 < 8, 0.2, 0.1)
    training.used = np.arange(len(training.length))
    assert training.truth_bin(0.095, 0.1) is not None and training.truth_bin(0.1, 0.105) is None
    training.length = np.where(np.arange(len(training.length)) % 11 < 10, 0.2, 0.1)
    assert training.truth_bin(0.1, 0.105) is not None and training.truth_bin(0.2, 0.205) is None
    return "80 %: none, 91 %: one"


def loads_are_what_they_are_said_to_be():
    phases, busy = set(), []
    for load, options in LOADS.items():
        low, high = options.get("step", (0.02, 2.05))
        for seed in range(12):
            training, end = training_of(load, seed)
            length, parts = training.length[training.used], np.diff(training.begin, axis=1)[training.used]
            assert 0.85 * low < np.median(length) < 1.15 * high, f"{load}: {np.median(length)}"
            share = np.append(parts.mean(axis=0), length.mean() - parts.mean(axis=0).sum()) / length.mean()
            assert share.min() > 0.08 and len(training.begin) >= 10 and end > 20, f"{load}: {share}"
            phases.add(len(training.names))
            if len(share) == 2:
                busy.append(share[1])
            spread = np.std(length) / np.mean(length)
            if load in ("square", "rises", "short", "long", "noise", "beat", "warming"):
                assert spread < 0.011, f"{load}: {spread}"
            if load == "drift":
                third = len(length) // 6
                means = [part.mean() for part in np.array_split(length, max(2, len(length) // max(third, 1)))]
                assert 0.02 < np.ptp(means) / np.mean(means) < 0.16, means
            if load == "jitter":
                assert 0.002 < spread < 0.12, spread
    assert phases == {2, 3, 4} and min(busy) < 0.12 and max(busy) > 0.88, busy
    return f"duty {100 * min(busy):.0f} to {100 * max(busy):.0f} %"


def rises_take_the_time_that_was_drawn_and_squares_none():
    training, _ = training_of("square", 4, ideal=True)
    assert len(np.unique(np.round(training.power.left, 6))) <= 3 and np.array_equal(training.power.left, training.power.right)
    for seed in range(5):
        power = training_of("rises", seed, ideal=True)[0].power
        slanted = np.abs(power.left - power.right) > 1
        near(power.right[:-1], power.left[1:], 1e-9, "a rise jumps")
        took = np.diff(power.t)[slanted[:-1]]
        assert took.min() >= 0.0015 and took.max() <= 0.01 + 1e-9, took
    return "2 to 10 ms"


def a_warm_chip_and_noise_change_the_power_by_what_was_drawn():
    quiet, _ = training_of("square", 5, ideal=True)
    gpu = Gpu(rng(), 60, 0.1, False)
    gpu.limit = 1000.0
    grid = np.arange(0, 20, 0.25)
    factor = 1 + 0.001 * grid
    warm = step_cases.scaled(quiet.power, gpu, grid, factor, np.append(factor[1:], factor[-1]))
    a, b = np.searchsorted(quiet.begin[:, 0], [3, 18])
    mid = 0.5 * (quiet.begin[a:b, 0] + quiet.begin[a:b, 1])
    near(warm.mean(mid - 1e-4, mid + 1e-4) / quiet.power.mean(mid - 1e-4, mid + 1e-4), 1 + 0.001 * mid, 1e-9, "factor")
    noisy, _ = training_of("noise", 5, ideal=True)
    again = np.array([noisy.power.mean(noisy.begin[noisy.used, 0], noisy.begin[noisy.used, 0] + 0.001)])
    assert 0.03 < again.std() / again.mean() < 0.22, again.std() / again.mean()
    return f"noise {100 * again.std() / again.mean():.0f} %"


def beats_are_in_step_with_the_sensor():
    exact = 0
    for name in SENSORS:
        for seed in range(8):
            case = make_case("beat-" + name, seed, SENSORS[name](rng(seed)))
            sensor, step = case["sensor"], np.median(case["training"].length)
            ratio = step / (sensor.period * (1 + sensor.clock))
            off = min(abs(ratio / r - 1) for r in (0.5, 1, 2, 3, 4, 5, 8))
            assert off < 0.0051 and np.ptp(case["training"].length) < 1e-9, f"{name}: {ratio}"
            exact += off < 1e-9
    assert 10 < exact < 50, exact
    return f"{exact} of 72 exactly"


def each_mark_is_within_its_bound_and_in_order():
    late = early = 0
    used = []
    for seed in range(40):
        training, _ = training_of(list(LOADS)[seed % len(LOADS)], seed)
        marks, bound = step_cases.draw_marks(rng(seed), training)
        error = marks - training.begin
        assert (np.abs(error) <= bound).all() and (np.diff(marks.ravel()) > 0).all() and bound <= 0.008, seed
        late, early = late + (error > 1e-4).any(), early + (error < -1e-4).any()
        used.append(np.abs(error).max() / bound)
    assert late > 2 and early > 5 and min(used) > 0.1 and np.median(used) > 0.6, used
    return f"{early} launched ahead, {late} late, of 40"


def an_h200_has_two_rates():
    training, end = training_of("square", 6)
    sensor = SENSORS["h200"](rng())
    sensor.run(rng(), training.power, end)
    inner = sensor.inner
    u = inner.u[(inner.u > 1) & (inner.u < end - 1)]
    i = np.searchsorted(inner.u, u)
    near((inner.joules[i] - inner.joules[i[0]]) * (1 + sensor.clock),
         training.power.energy(u - sensor.delay) - training.power.energy(u[0] - sensor.delay), 1e-6, "counter")
    near(np.median(np.diff(inner.u)), 0.1, 0.005, "counter's period")
    near(np.median(np.diff(sensor.u)), 0.02, 0.001, "sample's period")
    near(sensor.watts[20:], training.power.mean(sensor.u[20:] - sensor.delay - 0.001, sensor.u[20:] - sensor.delay), 1e-9, "sample")
    stated = sensor.stated(rng(), 700)
    assert 0.09e9 < stated["counter_update_ns"] < 0.11e9 and stated["averaging"] == "instant" and stated["counter_looked_share"] == "1.0000"
    return "samples 20 ms, counter 100 ms"


def stale_values_stay_for_up_to_five_updates():
    sensor = SENSORS["stale"](rng())
    sensor.stale = 0.03
    shown = sensor._shown(rng(), 20000)
    back = np.arange(20000) - shown
    assert 5 <= back.max() <= 15 and 0.04 < np.mean(back > 0) < 0.12 and (np.diff(shown) >= 0).all(), (back.max(), np.mean(back > 0))
    return f"{100 * np.mean(back > 0):.0f} % of the updates"


def every_kind_keeps_the_format():
    lines = marks = 0
    for kind in step_cases.all_kinds():
        case = make_case(kind, 9)
        first, stated, *body, last = step_cases.case_text(case).splitlines()
        assert first == f"case {kind}/9" and last == "end" and stated.startswith("sensor "), kind
        values = dict(pair.split("=") for pair in stated.split()[1:])
        own = Sensor(rng(), "boxcar", "looks").stated(rng(), 300)
        assert list(values) == list(own) + ["counter_update_ns", "counter_looked_share"] * kind.endswith("-h200") + ["mark_error_ns"], kind
        rows = [line.split() for line in body]
        times = [int(row[1]) for row in rows]
        assert times == sorted(times) and {row[0] for row in rows} == {"p", "m"} | ({"c"} if values["counter"] == "1" else set()), kind
        assert all(len(row) == (3 if row[0] == "m" else 4) for row in rows), kind
        assert all(int(row[1]) <= int(row[2]) for row in rows if row[0] != "m"), kind
        said = [(int(row[1]), row[2]) for row in rows if row[0] == "m"]
        names = case["training"].names
        assert [name for _, name in said] == list(names) * (len(said) // len(names)) and len(said) == case["training"].begin.size, kind
        true = case["training"].begin.ravel() + 1e-9 * case["epoch"]
        # 1e15 ns as seconds: a float holds them to 0.1 us
        assert np.max(np.abs(1e-9 * np.array([t for t, _ in said]) - true)) <= 1e-9 * int(values["mark_error_ns"]) + 1e-6, kind
        watts = [float(row[3]) for row in rows if row[0] == "p"]
        assert 0 <= min(watts) and max(watts) <= float(values["power_limit_w"]) + 1, kind
        mj = [int(row[3]) for row in rows if row[0] == "c"]
        assert mj == sorted(mj) and all(v % int(values["quantum_mj"]) == 0 for v in mj), kind
        assert times[0] < said[0][0] - 10**9 and times[-1] > said[-1][0] + 10**9 and 18 < 1e-9 * (said[-1][0] - said[0][0]) < 200, kind
        lines, marks = lines + len(rows), marks + len(said)
    return f"{lines} lines, {marks} marks"


def the_counter_brackets_the_energy_of_a_training():
    """A sensor that looks at everything: its counter's rise over the training, moved by its delay, is the energy to within two updates."""
    for kind in ("square-boxcar", "jitter-missing", "pauses-quantised", "noise-h200"):
        case = make_case(kind, 4)
        sensor, power = case["sensor"], case["training"].power
        period = sensor.inner.period if kind.endswith("h200") else sensor.period
        a, b = case["training"].begin[0, 0], case["training"].begin[-1, 0]
        got = np.diff(sensor.counter_at(np.array([a, b]) + sensor.delay))[0] / 1000
        # Nothing new for up to four updates in a row; the quantum; the clock.
        slack = 8 * period * case["gpu"].limit + 1e-3 * sensor.quantum_mj + 3e-4 * got
        want = float(power.energy(b) - power.energy(a))
        assert abs(got - want) <= slack, f"{kind}: {got}, not {want}"
    return "4 kinds"


def loads_and_sensors_are_dealt_evenly_and_a_third_is_held_out():
    every, held, shown = step_cases.all_kinds(), step_cases.kinds(True), step_cases.kinds(False)
    assert len(every) == len(set(every)) == 36 and len(held) == 12 and set(held) | set(shown) == set(every) and not set(held) & set(shown)
    assert all(sum(kind.split("-")[0] == load for kind in every) == 3 for load in LOADS)
    assert all(sum(kind.split("-")[1] == sensor for kind in every) == 4 for sensor in SENSORS)

    def run(*arguments):
        return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, check=False)
    for arguments in (("--case", held[0] + "/1"), ("--kinds", held[0]), ("--kinds", shown[0], "--held-out"), ("--kinds", "square-h2O")):
        refused = run(*arguments)
        assert refused.returncode == 1 and not refused.stdout and ("held out" in refused.stderr or "unknown" in refused.stderr), arguments
    assert run("--list").stdout.split() == shown and run("--list", "--held-out").stdout.split() == held
    return f"{len(held)} of {len(every)}"


def a_case_can_be_written_again():
    texts = [step_cases.case_text(make_case("square-boxcar", seed)) for seed in (5, 5, 6)]
    assert texts[0] == texts[1] != texts[2]
    done = subprocess.run([sys.executable, SCRIPT, "--case", "square-boxcar/5"], capture_output=True, text=True, check=True)
    assert done.stdout == texts[0]
    return "same seed, same bytes"


TESTS = (truths_equal_brute_force_sums, phases_sum_to_the_energy_of_the_steps, folded_samples_of_an_ideal_sensor_give_the_curve,
         long_steps_are_outside_of_the_truth_and_none_is_near_its_limit, a_bin_that_few_steps_reach_has_no_truth, loads_are_what_they_are_said_to_be,
         rises_take_the_time_that_was_drawn_and_squares_none, a_warm_chip_and_noise_change_the_power_by_what_was_drawn,
         beats_are_in_step_with_the_sensor, each_mark_is_within_its_bound_and_in_order, an_h200_has_two_rates,
         stale_values_stay_for_up_to_five_updates, every_kind_keeps_the_format, the_counter_brackets_the_energy_of_a_training,
         loads_and_sensors_are_dealt_evenly_and_a_third_is_held_out, a_case_can_be_written_again)


def main():
    failed = 0
    for number, test in enumerate(TESTS, 1):
        name = test.__name__.replace("_", " ")
        try:
            print(f"ok {number} {name}: {test()}", flush=True)
        except AssertionError as error:
            failed += 1
            print(f"not ok {number} {name}: {error}", flush=True)
    print(f"1..{len(TESTS)}")
    return int(failed > 0)
