"""The tests of sensors.py (sensors.py --self-test): what physics says of ideal sensors, against what the simulation gives."""
import hashlib
import os
import subprocess
import sys

import numpy as np

import sensors
from sensors import FAMILIES, LOADS, Gpu, Power, Sensor


def rng(seed=7):
    return np.random.default_rng(seed)


def near(got, want, tolerance, what):
    worst = float(np.max(np.abs(np.asarray(got, float) - want)))
    assert worst <= tolerance, f"{what}: off by {worst:g}, more than {tolerance:g}"
    return f"off by {worst:.2g} at most"


def ideal(kind, counter="looks", **values):
    """A sensor without faults: exact clock, no jitter, no quantum to speak of."""
    sensor = Sensor(rng(), kind, counter)
    for name, value in {"delay": 0.0, "jitter": 0.0, "clock": 0.0, "missing": 0, "stale": 0, "gain": 1.0, "base_mj": 0.0, **values}.items():
        assert hasattr(sensor, name), name
        setattr(sensor, name, value)
    return sensor


def first_update(period):
    """Where Sensor.run(rng(), ...) puts its first update."""
    return float(-(3 + rng().random()) * period)


def square(low, high, period, duty, seconds, first=0.0):
    starts = first + period * np.arange(-2, round(seconds / period) + 2)
    return Power(np.column_stack((starts, starts + duty * period)).ravel(), np.tile([high, low], len(starts)))


def energy_of_every_load_equals_a_brute_force_sum():
    worst = 0.0
    for name in LOADS if sensors.traces() else [n for n in LOADS if n != "trace"]:
        for seed in range(3):
            power, _ = LOADS[name](rng(seed), Gpu(rng(seed), 20, 0.05, False))
            a, b, n = 1.2345, 17.6789, 2_000_000
            x = a + (b - a) * (np.arange(n) + 0.5) / n
            i = np.searchsorted(power.t, x, "right") - 1
            width = np.append(np.diff(power.t), np.inf)
            watts = power.left[i] + (power.right[i] - power.left[i]) * (x - power.t[i]) / width[i]
            want = float(watts.sum() * (b - a) / n)
            worst = max(worst, abs(float(power.energy(b) - power.energy(a)) - want) / want)
            assert watts.min() >= 0 and watts.max() <= 1000, name
    assert worst < 1e-5, worst
    return f"{worst:.1g} of the energy at worst, {len(LOADS)} loads"


def an_ideal_sensor_integrates_to_the_truth():
    power = square(80, 400, 0.731, 0.3, 60)
    sensor = ideal("boxcar", period=0.05, averaging=0.05)
    sensor.run(rng(), power, 60)
    inside = (sensor.u > 1) & (sensor.u < 59)
    u, watts, joules = sensor.u[inside], sensor.watts[inside], sensor.joules[inside]
    truth = power.energy(u[1:]) - power.energy(u[0])
    near(np.cumsum(watts[1:] * np.diff(u)), truth, 1e-6, "sum of power readings")
    return near(joules[1:] - joules[0], truth, 1e-6, "counter") + " J"


def a_delay_shows_a_step_later_and_holds_its_energy_back():
    """After a step of 400 W at 10 s: no reading knows of it before the delay has passed, and the counter lags by 400 W times the delay."""
    step = Power([0, 10], [100, 500])
    for kind in ("boxcar", "exponential", "part-time", "part-time-drift", "instant"):
        sensor = ideal(kind, period=0.05, averaging=0.05, share=1.0, delay=0.12)
        sensor.run(rng(), step, 30)
        first = sensor.u[np.abs(sensor.watts - 100) > 0.001][0]
        assert 10.12 <= first <= 10.12 + 0.0501, (kind, first)
        i, j = np.searchsorted(sensor.u, [8, 20])
        held_back = step.energy(sensor.u[j]) - step.energy(sensor.u[i]) - (sensor.joules[j] - sensor.joules[i])
        near(held_back, 400 * 0.12, 1e-6, kind)
    return "48 J of 400 W and 0.12 s, every kind"


def a_steady_load_gives_power_times_time_over_whole_periods():
    for kind, counter in FAMILIES.values():
        if counter == "none":
            continue
        sensor = ideal(kind, counter, period=0.08)
        if kind == "boxcar":
            sensor.averaging = 0.08
        sensor.run(rng(), Power([0], [321.0]), 60)
        i = np.searchsorted(sensor.u, 10)
        near(sensor.joules[i + 100] - sensor.joules[i], 321 * 100 * 0.08, 1e-6, f"{kind} {counter}")
        near(sensor.watts, 321, 1e-5, kind)
    return "every family with a counter"


def gain_and_clock_change_readings_as_they_do_in_a_device():
    """Gain 1.02 shows 300 W as 306 W. A device whose clock is 200 ppm slow counts 306 W for 9998 of 10000 s."""
    sensor = ideal("part-time", period=0.05, gain=1.02, clock=200e-6)
    sensor.run(rng(), Power([0], [300.0]), 120)
    near(sensor.watts, 306, 1e-6, "reading")
    near(np.diff(sensor.u), 0.05 * 1.0002, 1e-9, "update period")
    near((sensor.joules[2100] - sensor.joules[100]) / (sensor.u[2100] - sensor.u[100]), 306 / 1.0002, 1e-6, "counter's rate")
    return "306 W, 306 W / 1.0002"


def part_time_sensor_of_a_square_wave_in_phase_is_biased_as_theory_says():
    """High during the first 40 % of each period T. A look of 25 % of T that ends at the fraction f of it overlaps the high part by a
    length that is known; the reading and the counter's rate are low + (high - low) * overlap / 0.25."""
    low, high, period = 100.0, 500.0, 0.1
    said = []
    for f in (0.3, 0.5, 0.65, 0.9):
        overlap = max(0.0, min(f, 0.4) - max(f - 0.25, 0)) / 0.25
        want = low + (high - low) * overlap
        sensor = ideal("part-time", period=period, share=0.25, averaging=0.025, offset=0.0)
        sensor.run(rng(), square(low, high, period, 0.4, 30, first=(first_update(period) - f * period) % period), 20)
        near(sensor.watts[30:], want, 1e-6, f"reading at {f}")
        near((sensor.joules[150] - sensor.joules[50]) / (100 * period), want, 1e-6, f"counter at {f}")
        said.append(f"{want - (low + 0.4 * (high - low)):+.0f} W")
    return "bias " + ", ".join(said) + " of a mean of 260 W"


def a_drifting_look_sees_the_middle_of_the_period_more_often_than_its_ends():
    """The look of 25 % never crosses a period's edge: over whole sweeps the moments from 25 to 75 % of it are seen with a weight of
    1 / 0.75. A wave that is high from 30 to 70 % is taken for 400 W * 0.4 / 0.75 + 100 W instead of 260 W."""
    sensor = ideal("part-time-drift", period=0.1, share=0.25, averaging=0.025, sweep=10.0, offset=0.0)
    sensor.run(rng(), square(100, 500, 0.1, 0.4, 130, first=(first_update(0.1) + 0.03) % 0.1), 120)
    i, j = np.searchsorted(sensor.u, [10.0, 110.0])
    rate = (sensor.joules[j] - sensor.joules[i]) / (sensor.u[j] - sensor.u[i])
    near(rate, 100 + 400 * 0.4 / 0.75, 0.5, "rate")
    near([sensor.watts[i:j].min(), sensor.watts[i:j].max()], [100, 500], 1e-6, "readings")
    return f"rate {rate:.1f} W, readings from {sensor.watts[i:j].min():.0f} to {sensor.watts[i:j].max():.0f} W"


def a_step_shows_as_each_sensor_averages():
    step = Power([0, 10], [100, 500])
    box = ideal("boxcar", period=0.05, averaging=0.8)
    box.run(rng(), step, 20)
    want = 100 + 400 * np.clip((box.u - 10) / 0.8, 0, 1)
    near(box.watts, want, 1e-6, "boxcar")
    slow = ideal("exponential", period=0.05, averaging=0.3)
    slow.run(rng(), step, 20)
    want = np.where(slow.u < 10, 100, 500 - 400 * np.exp(-(slow.u - 10) / 0.3))
    said = near(slow.watts, want, 0.02, "exponential")
    now = ideal("instant", period=0.05)
    now.run(rng(), step, 20)
    away = np.abs(now.u - 10) > 0.001
    near(now.watts[away], np.where(now.u < 10, 100, 500)[away], 1e-9, "instant")
    return f"boxcar and instant exact, exponential {said} W"


def counters_that_sum_averages_lag_by_what_the_average_lags():
    """Far behind a step of 400 W a boxcar of length A lags by 400 A / 2, a filter with time constant tau by 400 tau.
    Each reading of the boxcar counts for the time since the update before, at whose end it is: that is half an update of 20 ms less."""
    step, said = Power([0, 10], [100, 500]), []
    for kind, length, lag in (("boxcar", 0.8, 0.39), ("exponential", 0.3, 0.3)):
        sensor = ideal(kind, "averaged", period=0.02, averaging=length)
        sensor.run(rng(), step, 30)
        i, j = np.searchsorted(sensor.u, [8, 20])
        truth = step.energy(sensor.u[j]) - step.energy(sensor.u[i])
        got = truth - (sensor.joules[j] - sensor.joules[i])
        near(got, 400 * lag, 0.1, kind)
        said.append(f"{kind} {got:.1f} J of {400 * lag:.0f}")
    return ", ".join(said)


def noise_has_the_stated_spectrum():
    noise = sensors.pink_noise(rng(), 1 << 18)
    spectrum = np.abs(np.fft.rfft(noise)) ** 2
    bands = [(2 ** k, spectrum[2 ** k:2 ** (k + 1)].mean()) for k in range(3, 17)]
    slope = np.polyfit(np.log([b[0] for b in bands]), np.log([b[1] for b in bands]), 1)[0]
    assert abs(slope + 1) < 0.1, slope
    power, _ = sensors.white(rng(), Gpu(rng(), 400, 0.05, False))
    flat = power.left[:-1] - power.left[:-1].mean()
    assert abs(np.mean(flat[1:] * flat[:-1])) < 0.02 * flat.var(), "white noise is correlated"
    return f"1/f: slope {slope:.2f}"


def parsed(text):
    """The cases of a text, read by the format's description."""
    out = []
    for line in text.splitlines():
        kind, *rest = line.split()
        if kind == "case":
            out.append({"name": rest[0], "c": [], "p": [], "s": [], "w": [], "order": [], "end": False})
        elif kind == "sensor":
            out[-1]["sensor"] = dict(pair.split("=") for pair in rest)
        elif kind == "s":
            assert not out[-1]["w"], out[-1]["name"] + ": a mark after a window"
            out[-1]["s"].append(int(*rest))
        elif kind == "end":
            out[-1]["end"] = True
        else:
            a, b, value = int(rest[0]), int(rest[1]), (int if kind == "c" else float)(rest[2])
            out[-1][kind].append((a, b, value))
            if kind != "w":
                out[-1]["order"].append(a)
    return out


def every_case_keeps_the_format_and_its_own_bounds():
    count = windows = 0
    for family in FAMILIES:
        for load in [n for n in LOADS if n != "trace" or sensors.traces()]:
            for window in ("0.5s", "2s", "10s"):
                case = sensors.make_case(family, load, window, 3)
                got, = parsed(sensors.case_text(case))
                name, stated, sensor = got["name"], got["sensor"], case["sensor"]
                assert got["end"] and got["w"] and name == f"{family}/{load}/{window}/3", name
                assert list(stated) == ["update_ns", "jitter_ns", "averaging", "averaging_ns", "delay_ns", "looked_share", "quantum_mj",
                                        "power_limit_w", "counter", "gain_percent"], name
                assert got["order"] == sorted(got["order"]) and all(a <= b for a, b, _ in got["c"] + got["p"]), name
                ends = np.array([b for _, b, _ in sorted(got["c"] + got["p"])])
                begins = np.array(got["order"])
                assert (begins[1:] >= ends[:-1] - 2).all(), name + ": calls overlap"
                assert bool(got["c"]) == (stated["counter"] == "1") == (not family.endswith("none")), name
                mj = [v for _, _, v in got["c"]]
                assert mj == sorted(mj) and all(v % int(stated["quantum_mj"]) == 0 for v in mj), name + ": counter"
                assert all(0 <= v <= float(stated["power_limit_w"]) * 1.05 + 1 for _, _, v in got["p"]), name + ": power"
                for a, b, truth in got["w"]:
                    assert got["order"][0] < a - 10**9 and got["order"][-1] > b + 10**9, name + ": readings on both sides"
                    assert 0 < truth <= float(stated["power_limit_w"]) * (b - a) * 1e-9, name + ": truth"
                    windows += 1
                for key, true, least in (("update_ns", sensor.period, 0), ("averaging_ns", sensor.averaging, 0), ("delay_ns", sensor.lag(), 2e6)):
                    assert abs(int(stated[key]) - 1e9 * true) <= 0.1 * 1e9 * true + least, f"{name}: {key}"
                assert sensor.share == 1 or abs(float(stated["looked_share"]) / sensor.share - 1) < 0.11, name
                count += 1
    return f"{count} cases, {windows} windows"


def a_bracket_of_counter_readings_holds_the_truth_of_a_sensor_that_sees_all():
    """Counter readings of moments that bracket the window on the inside and the outside, by the true delay and period."""
    held = total = 0
    for load in [n for n in LOADS if n != "trace" or sensors.traces()]:
        for seed in range(12):
            case = sensors.make_case("boxcar-looks", load, "2s", seed)
            sensor, got = case["sensor"], parsed(sensors.case_text(case))[0]
            # A reading is of the energy up to some moment within [begin - delay - held back, end - delay].
            back = 1e9 * (sensor.delay + (1 if sensor.missing == sensor.stale == 0 else 6) * (sensor.period + 2 * sensor.jitter))
            newest = np.array([b - 1e9 * sensor.delay for _, b, _ in got["c"]])
            oldest = np.array([a - back for a, _, _ in got["c"]])
            mj = np.array([v for _, _, v in got["c"]], float)
            for a, b, truth in got["w"]:
                before, after = newest <= a, oldest >= b
                if not before.any() or not after.any():
                    continue
                most = (mj[after].min() - mj[before].max() + sensor.quantum_mj) / 1000
                inner_first, inner_last = oldest >= a, newest <= b
                least = (mj[inner_last].max() - mj[inner_first].min() - sensor.quantum_mj) / 1000 if inner_first.any() and inner_last.any() else 0
                slack = truth * (sensor.gain_bound / 100 + 3e-4)
                held += least - slack <= truth <= most + slack
                total += 1
    assert held == total > 200, f"{held} of {total}"
    return f"{held} of {total} windows"


def readings_follow_the_updates():
    """Stale and missing updates happen, and as often as drawn; a value never is newer than its moment."""
    sensor = ideal("boxcar", period=0.05, averaging=0.05, missing=0.03, stale=0.02)
    sensor.run(rng(), Power(np.arange(0, 2000, 0.01), rng().uniform(100, 300, 200000)), 2000)
    dropped = float(np.mean(sensor.shown_w != np.arange(len(sensor.shown_w))))
    near(dropped, 0.0494, 0.005, "share of updates that show nothing new")
    i = np.searchsorted(sensor.u, 777.7, "right") - 1
    assert sensor.u[i] <= 777.7 < sensor.u[i + 1]
    near(sensor.power_at(np.array([777.7])), sensor.watts[sensor.shown_w[i]], sensor.quantum_w / 2 + 1e-9, "held value")
    return f"{100 * dropped:.1f} % of updates"


def the_value_of_a_call_is_of_a_moment_between_its_begin_and_its_end():
    plan = np.sort(rng().uniform(0, 100, 5000))
    begin, end = sensors.calls(rng(), plan)
    assert (begin >= plan - 1e-12).all() and (begin[1:] >= end[:-1] - 1e-9).all()
    case = sensors.make_case("instant-looks", "white", "2s", 1)
    assert (case["moment"] >= 1e-9 * case["begin"] - 1e-12).all() and (case["moment"] <= 1e-9 * case["end"] + 1e-12).all()
    took = end - begin
    assert 2e-5 <= took.min() and took.max() <= 0.05 and 0.0005 < np.mean(took > 0.005) < 0.006
    return f"median {1e3 * np.median(took):.2f} ms, worst {1e3 * took.max():.0f} ms"


def a_third_of_the_cells_is_held_out_and_no_open_one_is_among_them():
    held, shown = sensors.cells(True), sensors.cells(False)
    assert len(held) == len(FAMILIES) * len(LOADS) // 3 and not set(held) & set(shown)
    assert len(held) + len(shown) == len(FAMILIES) * len(LOADS)
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sensors.py")
    refused = subprocess.run([sys.executable, script, "--case", "/".join(held[0]) + "/2s/1"], capture_output=True, check=False)
    assert refused.returncode == 1 and not refused.stdout and b"held out" in refused.stderr
    return f"{len(held)} of {len(held) + len(shown)}"


def a_case_can_be_written_again():
    family, load = sensors.cells(False)[0]
    texts = [sensors.case_text(sensors.make_case(family, load, "2s", seed)) for seed in (5, 5, 6)]
    assert texts[0] == texts[1] != texts[2]
    return "same seed, same bytes"


# Of the cases without marks, as they were before there were any (numpy 1.24.2): 12 families, windows of 0.5 s and 2 s, seed 11.
BEFORE_MARKS = {"steady": "43a349bbe669a89e", "steps": "46b21f0d7663cbf8", "beats": "7301db120be7317b", "ramps": "7e48cb08009aeeee",
                "white": "b476886a4df62f7c", "pink": "ac4079b54b7b7421", "epochs": "52e4103130223f57", "train-steps": "fadef5f9d0554a29"}


def without_marks_every_case_is_what_it_was_before_there_were_marks():
    for load, want in BEFORE_MARKS.items():
        texts = [sensors.case_text(sensors.make_case(family, load, window, 11)) for family in FAMILIES for window in ("0.5s", "2s")]
        got = hashlib.sha256("".join(texts).encode()).hexdigest()[:16]
        assert got == want, f"{load}: {got} is not {want} (numpy {np.__version__})"
    return f"{len(BEFORE_MARKS)} loads"


def marks_are_lines_of_their_own_and_change_nothing_else():
    """By the command, too; loads without steps have none. The lines are in order, without a tie, and of every mark."""
    lines = 0
    for load in [n for n in LOADS if n != "trace" or sensors.traces()]:
        for seed in range(4):
            case = sensors.make_case("exponential-looks", load, "2s", seed)
            plain = sensors.case_text(case)
            text = sensors.case_text(case, True)
            kept = [line for line in text.splitlines(True) if line[:2] != "s "]
            assert "".join(kept) == plain == sensors.case_text(case), load
            got, marks = parsed(text)[0]["s"], sensors.step_marks(case)
            assert bool(got) == (marks is not None) == (load in sensors.WITH_STEPS), load
            assert got == sorted(set(got)) and len(got) == (len(marks["ns"]) if marks else 0), load
            lines += len(got)
    family, load = next(cell for cell in sensors.cells(False) if cell[1] in sensors.WITH_STEPS)
    script = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "sensors.py")]
    case = sensors.make_case(family, load, "2s", 1)
    for options in (["--case", case["name"]], ["--cells", f"{family}/{load}", "--windows", "2s"]):
        for more in ([], ["--marks"]):
            done = subprocess.run(script + options + more, capture_output=True, text=True, check=True)
            assert done.stdout == sensors.case_text(case, bool(more)), (options, more)
    return f"{lines} lines"


def marked_cases(window="10s", seeds=range(40), families=("boxcar-looks", "instant-none", "part-time-looks")):
    for load in sensors.WITH_STEPS:
        for family in families:
            for seed in seeds:
                case = sensors.make_case(family, load, window, seed)
                yield load, case, sensors.step_marks(case)


def steps_of(load, power):
    """The steps, stretch by stretch, checked against the power alone: a square wave rises when one begins; of a training's step the four
    phases have the same levels and shares of the time again and again, and neither what comes before a stretch nor what follows it has."""
    if load != "train-steps":
        return [np.append(power.t[0], power.t[1:][np.diff(power.left) > 0])]
    out = []
    for stretch in power.steps:
        i, j = np.searchsorted(power.t, [stretch[0], stretch[-1]])
        t = power.t[i:j + 5]
        levels, spans = power.left[i:j + 4].reshape(-1, 4), np.diff(t).reshape(-1, 4)
        assert (np.abs(levels / levels.mean(axis=0) - 1) < 0.12).all() and (levels[1:, 0] > levels[:-1, 3]).all(), "levels"
        shares = spans / spans.sum(axis=1)[:, None]
        near(shares, shares.mean(axis=0), 1e-6, "shares")
        for other in (np.diff(power.t[i - 4:i + 1]), np.diff(power.t[j + 4:j + 9])):
            assert len(other) < 4 or np.abs(other / other.sum() - shares[0]).max() > 1e-3, "a step was left out"
        out.append(t[:-1:4])
    return out


def marks_agree_with_the_steps_of_the_load_within_their_errors():
    """Mark by mark where none is missing: the step that was due for it, earlier by the lead, within the jitter's bound. Where marks are
    missing: some step of the load. The jitter's mean and standard deviation are those stated."""
    count = compared = 0
    for load, case, marks in marked_cases():
        duration, ns = case["gpu"].duration, marks["ns"]
        stretches, name = steps_of(load, case["power"]), case["name"]
        assert 2e-5 <= marks["lead"] <= 0.03 and 5e-5 <= marks["sd"] <= 3e-3, name
        bound = 3 * marks["sd"] + 2e-9
        every = np.concatenate(stretches)
        at = 1e-9 * ns + marks["lead"]
        nearest = np.abs(every[np.clip(np.searchsorted(every, at)[:, None] + [-1, 0], 0, len(every) - 1)] - at[:, None]).min(axis=1)
        assert (nearest <= bound).all(), f"{name}: {nearest.max():g} s from any step"
        if marks["missing"] == 0:
            fits = []
            for first in range(marks["every"]) if load != "train-steps" else (0,):
                due = np.concatenate([stretch[first::marks["every"]] for stretch in stretches])
                due = due[(due >= 0) & (due < duration)]
                fits.append(len(due) == len(at) and (np.abs(at - due) <= bound).all())
            assert any(fits), f"{name}: marks are not at every {marks['every']}. step"
            compared += 1
        error = at - marks["begins"]
        apart = np.diff(marks["begins"]).min(initial=np.inf)
        if len(error) >= 100 and apart > 6 * marks["sd"]:       # so that no mark delays another
            near(error.mean() / marks["sd"], 0, 5 / np.sqrt(len(error)), name + ": mean")
            near(error.std() / marks["sd"], 1, 5 / np.sqrt(2 * len(error)) + 0.015, name + ": standard deviation")
        count += len(error)
    assert compared > 200, compared
    return f"{count} marks, {compared} cases mark by mark"


def the_number_of_marks_fits_period_and_length():
    """A mark for each k periods of all that the case lasts, or of the time that it trains; a few per mille less where some are missing."""
    lost = could = cases = 0
    for load, case, marks in marked_cases("60s", range(15)):
        power, duration, k = case["power"], case["gpu"].duration, marks["every"]
        if load == "train-steps":
            spans = [(s[0], min(duration, s[-1])) for s in power.steps if s[0] < duration]
            period = float(np.mean(np.concatenate([np.diff(s) for s in power.steps])))
            jitter = 0.5 * np.sqrt(sum(b - a for a, b in spans) / period)     # steps vary by up to 8 %
        else:
            spans, period, jitter = [(0.0, duration)], float(power.t[2] - power.t[0]), 0
        want = sum(b - a for a, b in spans) / period / k
        expected_lost = want * marks["missing"]
        slack = len(spans) + jitter / k + 5 * np.sqrt(expected_lost)
        assert abs(len(marks["ns"]) - (want - expected_lost)) <= slack + 1, f"{case['name']}: {len(marks['ns'])} marks, not {want:.1f}"
        if marks["missing"] and load != "train-steps":
            assert 0.001 <= marks["missing"] <= 0.005, case["name"]
            lost, could = lost + want - len(marks["ns"]), could + want
        cases += 1
    assert 0.001 < lost / could < 0.005, f"{lost} of {could} marks are missing"
    return f"{cases} cases; where marks are missing, {1000 * lost / could:.1f} per mille"


def marks_at_every_kth_step_leave_equal_numbers_of_steps_between_them():
    """k is 1, 2, 4 or 8, or of square waves 2 to 12 pulses to a step; every k occurs, and its share is about what is stated."""
    found = {}
    for load, case, marks in marked_cases("10s", range(100)):
        form, k = marks["form"], marks["every"]
        assert k in {"single": (1,), "accumulated": (2, 4, 8), "pulses": range(2, 13)}[form], case["name"]
        assert load != "train-steps" or form != "pulses", case["name"]
        if marks["missing"] == 0:
            every = np.concatenate(case["power"].steps)
            number = np.searchsorted(every, marks["begins"])
            assert (every[number] == marks["begins"]).all(), case["name"]
            within = np.isin(number[1:], np.cumsum([len(s) for s in case["power"].steps])[:-1], invert=True)
            assert (np.diff(number)[within] == k).all(), case["name"]
            for stretch in case["power"].steps if load == "train-steps" else ():
                inside = (marks["begins"] >= stretch[0]) & (marks["begins"] <= stretch[-1])
                assert (np.searchsorted(stretch, marks["begins"][inside]) % k == 0).all(), case["name"]
        found.setdefault(load, []).append((form, k, marks["missing"] > 0, marks["lead"] > 1e-3))
    for load, some in found.items():
        n = len(some)
        share = {form: sum(f == form for f, *_ in some) / n for form in ("single", "accumulated", "pulses")}
        near(share["single"], 0.5, 0.12, load)
        near(share["pulses"], 0 if load == "train-steps" else 0.25, 0.1, load)
        assert {k for form, k, *_ in some if form == "accumulated"} == {2, 4, 8}, load
        assert load == "train-steps" or {k for form, k, *_ in some if form == "pulses"} == set(range(2, 13)), load
        near(np.mean([lost for *_, lost, _ in some]), 0.3, 0.1, load + ": marks are missing")
        near(np.mean([ahead for *_, ahead in some]), 0.5, 0.12, load + ": host runs ahead")
    return f"{sum(map(len, found.values()))} cases"


def marks_that_jitter_by_more_than_a_period_keep_their_order():
    t = np.arange(-0.005, 60, 0.004)
    power = Power(t, np.tile([300, 100], len(t) // 2 + 1)[:len(t)], steps=[t])
    closest = np.inf
    for seed in range(60):
        marks = sensors.step_marks({"name": str(seed), "power": power, "gpu": Gpu(rng(), 59, 0.05, False)})
        gaps = np.diff(marks["ns"])
        closest = min(closest, gaps.min())
        assert gaps.min() >= 1e9 * sensors.MARK_GAP_S - 1, seed
        assert (np.abs(1e-9 * marks["ns"] + marks["lead"] - marks["begins"]) <= 3 * marks["sd"] + 2e-9).all(), seed
    return f"steps of 4 ms, marks {1e-3 * closest:.0f} us apart at least"


def long_windows_are_exact_too():
    for load in ("steps", "pink", "train-steps"):
        case = sensors.make_case("boxcar-looks", load, "1h", 2)
        (a, b), truth, power = case["edges"][0], case["truth"][0], case["power"]
        parts = np.linspace(1e-9 * a, 1e-9 * b, 1001)
        want = float(np.sum(power.mean(parts[:-1], parts[1:]) * np.diff(parts)))
        near(truth / want, 1, 1e-9, load)
        assert 2000 < (b - a) * 1e-9 < 5000 and len(case["begin"]) < 10000, load
    return "1 h, 3 loads"


TESTS = (energy_of_every_load_equals_a_brute_force_sum, an_ideal_sensor_integrates_to_the_truth, a_delay_shows_a_step_later_and_holds_its_energy_back,
         a_steady_load_gives_power_times_time_over_whole_periods, gain_and_clock_change_readings_as_they_do_in_a_device,
         part_time_sensor_of_a_square_wave_in_phase_is_biased_as_theory_says,
         a_drifting_look_sees_the_middle_of_the_period_more_often_than_its_ends, a_step_shows_as_each_sensor_averages,
         counters_that_sum_averages_lag_by_what_the_average_lags, noise_has_the_stated_spectrum, every_case_keeps_the_format_and_its_own_bounds,
         a_bracket_of_counter_readings_holds_the_truth_of_a_sensor_that_sees_all, readings_follow_the_updates,
         the_value_of_a_call_is_of_a_moment_between_its_begin_and_its_end, a_third_of_the_cells_is_held_out_and_no_open_one_is_among_them,
         a_case_can_be_written_again, without_marks_every_case_is_what_it_was_before_there_were_marks,
         marks_are_lines_of_their_own_and_change_nothing_else, marks_agree_with_the_steps_of_the_load_within_their_errors,
         the_number_of_marks_fits_period_and_length, marks_at_every_kth_step_leave_equal_numbers_of_steps_between_them,
         marks_that_jitter_by_more_than_a_period_keep_their_order, long_windows_are_exact_too)


def main():
    failed = 0
    for number, test in enumerate(TESTS, 1):
        name = test.__name__.replace("_", " ")
        try:
            print(f"ok {number} {name}: {test()}", flush=True)
        except AssertionError as error:
            failed += 1
            print(f"not ok {number} {name}: {error}", flush=True)
    if not sensors.traces():
        print(f"# no traces in {sensors.TRACES}: nothing was tested with them")
    print(f"1..{len(TESTS)}")
    return int(failed > 0)
