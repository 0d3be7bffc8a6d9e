"""The third set of held-out scenarios: cards of many kinds, and what trainings, schedulers, sensors and people do.

Written without a look at the judge, after the two other sets and away from their situations: what an experiment leaves
for the next, effects just above and below 5 %, faults that all repetitions share, studies without repetitions.  Sizes,
order and pauses are those of real_machines.py; the undisturbed folders are in third_clean.py.
`matrix.py TARE --held-out 3` judges them.
"""
import math
from dataclasses import replace
from functools import partial

import faults
from layout import ENERGY, measure_energy
from machine import DRIVER_OPEN, Phase
from real_machines import (ON_GPU, SCENARIOS, laptop_gpu, length_of, models_of, part_of_day, position_after,
                           seconds_of, split_into_nights)
from scenarios import background_phases, between, inside, log_uniform, over_some, scenario
from study import FOREVER, Intruder
from third_clean import THIRD, data_center_card, gaming_card, inference_card, lab, specs_by_model

__all__ = ["SCENARIOS"]


# What is planted

def over(plan, phases, first, last, text):
    """Beside the whole of the experiments `first` to `last` and the pauses around them."""
    plan.intruders.append(Intruder(phases, between(first) if first else -1, between(last + 1), text))


def to_the_end(rng, plan, phases, text, earliest=0.0):
    """Comes after at least this share of the experiments, in one of them or between two, and stays."""
    k = rng.randrange(int(earliest * len(plan.specs)), len(plan.specs))
    begins = rng.choice([between(k), inside(k, rng.uniform(0.05, 0.9))])
    plan.intruders.append(Intruder(phases, begins, len(plan.specs), text))
    return plan


def foreign_training(rng, duty, seconds):
    """Imports, then epochs with a validation each; `duty` says how much of the GPU, as a range."""
    share, watts, cpu = rng.uniform(*duty), rng.uniform(0.3, 1.0), rng.uniform(0.02, 0.12)
    epochs = rng.randint(1, 8)
    phases = [Phase(rng.uniform(2, 15), cpu=cpu), Phase(rng.uniform(0.5, 5), cpu=cpu, context=1.0)]
    for _ in range(epochs):
        phases += [Phase(0.85 * seconds / epochs, share, watts, cpu, 1.0),
                   Phase(0.15 * seconds / epochs, share * 0.6, watts * 0.7, cpu * 1.5, 1.0)]
    return phases


# The planned background

def ends_at(spec, share, defect="ended early"):
    """The background of this experiment has the defect from a share of the training on, or none when that is later."""
    if share < 1:
        spec.background.defect, spec.background.defect_at = defect, max(0.0, share)


@scenario(held_out=THIRD)
def background_too_few_epochs(rng):
    """The plan gives the background fewer epochs than the foreground needs: it ends in every repetition alike.

    For one, some or all foregrounds; at the same time each run, or wherever its own patience stops it."""
    plan = lab(rng, is_parallel=True)
    for group in specs_by_model(plan):
        if group[0].model is plan.specs[0].model or rng.random() < 0.5:
            share, spread = rng.uniform(0.15, 1.0), rng.choice([0.005, 0.03, 0.25])
            for spec in group:
                ends_at(spec, share * math.exp(rng.gauss(0, spread)))
    return plan


@scenario(held_out=THIRD)
def background_once_around(rng):
    """The background was to start again whenever it ends, and did so once, twice or never."""
    plan = lab(rng, is_parallel=True)
    rounds, spared = rng.choice([1, 1, 2]), rng.choice([0.0, 0.0, 0.4])
    for group in specs_by_model(plan):
        trains_s = rng.uniform(0.2, 0.8) * max(map(seconds_of, group))
        phases = background_phases(rng, "alternating")[:3]
        phases[2] = replace(phases[2], seconds=trains_s)
        once_s = sum(phase.seconds for phase in phases)
        for spec in group:
            spec.background.phases = phases
            if rng.random() >= spared:
                ends_s = rounds * once_s * rng.uniform(0.96, 1.04) - spec.background.lead_s
                ends_at(spec, ends_s / seconds_of(spec))
    return plan


@scenario(held_out=THIRD)
def background_ends_sometimes(rng):
    """In some repetitions the background ends, dies or stalls: early in one, in the last seconds of another."""
    plan = lab(rng, is_parallel=True)
    for spec in rng.sample(plan.specs, rng.randint(1, max(1, len(plan.specs) // 3))):
        ends_at(spec, 1 - log_uniform(rng, 0.01, 0.95), rng.choice(["ended early", "died", "stalls"]))
    return plan


@scenario(held_out=THIRD)
def background_deadlocks(rng):
    """One background stops computing after about so many steps each time, as workers do that wait for one another.

    It keeps its context and memory, so every repetition looks as if it had company."""
    plan = lab(rng, is_parallel=True)
    stuck, after_s = rng.choice(plan.specs).background.model, log_uniform(rng, 5, 90)
    for spec in plan.specs:
        if spec.background.model is stuck and rng.random() < 0.9:
            ends_at(spec, after_s * rng.uniform(0.8, 1.2) / seconds_of(spec), "stalls")
    return plan


@scenario(held_out=THIRD)
def killed_runner(rng):
    """The runner was killed, before the study or in it; the background it had started trains on to the end.

    Beside all of the folder, or all that came after; nobody waits for it."""
    plan = lab(rng)
    phases = [Phase(FOREVER, rng.uniform(0.02, 0.5), rng.uniform(0.3, 1.0), rng.uniform(0.01, 0.1), 1.0)]
    first = rng.choice([0, rng.randrange(1, len(plan.specs))])
    over(plan, phases, first, len(plan.specs), "the background of a runner that was killed")
    if first:
        plan.specs[first].retries = 1
    return plan


@scenario(held_out=THIRD)
def second_study(rng):
    """The same study was started twice: at the same moment, or when somebody took the first one for dead.

    The second one trains the same models in the same order, some seconds or experiments behind."""
    plan = lab(rng)
    first = rng.choice([0, 0, rng.randrange(len(plan.specs))])
    phases = [Phase(rng.uniform(0.5, 60), cpu=0.0, alive=False)]
    for spec in plan.specs:
        phases += [replace(phase, seconds=phase.seconds * 1.4) for phase in spec.model.phases(spec.hyper, 1)]
        phases += [Phase(plan.pause_s + 1, cpu=0.0, alive=False)]
    noticed = rng.choice([len(plan.specs), min(len(plan.specs), first + rng.randint(1, 4))])
    plan.intruders.append(Intruder(phases, between(first) if first else -1, between(noticed), "a second study"))
    return plan


# Other people

@scenario(held_out=THIRD)
def sweep_of_a_colleague(rng):
    """A colleague's search over hyperparameters: trainings of one to ten minutes, seconds apart, some die at once."""
    plan = lab(rng)
    phases = []
    for _ in range(rng.randint(3, 8)):
        dies = rng.random() < 0.25
        phases += foreign_training(rng, (0.05, 0.5), rng.uniform(1, 5) if dies else log_uniform(rng, 50, 600))
        phases.append(Phase(rng.uniform(2, 25), cpu=0.02, alive=False))
    return part_of_day(rng, plan, phases, "a colleague's search", 0.15, 0.8)


@scenario(held_out=THIRD)
def short_visit(rng):
    """Somebody tries something once: 3 to 60 s of the GPU, in one experiment of the folder."""
    plan = lab(rng)
    k = rng.randrange(len(plan.specs))
    total = seconds_of(plan.specs[k])
    begins = rng.uniform(0, 0.9)
    ends = min(1.0, begins + log_uniform(rng, 3, 60) / total)
    phases = [Phase(FOREVER, rng.uniform(0.1, 0.9), rng.uniform(0.2, 1.0), 0.05, 1.0)]
    plan.intruders.append(Intruder(phases, inside(k, begins), inside(k, ends), "a short visit"))
    return plan


@scenario(held_out=THIRD)
def debugging_session(rng):
    """A student debugs a training: it starts, computes for seconds, stops with an error; minutes later once more."""
    plan = lab(rng)
    phases = []
    for _ in range(10):
        phases += [Phase(rng.uniform(2, 12), cpu=0.05),
                   Phase(log_uniform(rng, 1, 25), rng.uniform(0.1, 0.9), rng.uniform(0.3, 0.9), 0.06, 1.0),
                   Phase(log_uniform(rng, 15, 400), cpu=rng.uniform(0, 0.03), context=rng.choice([0.0, 0.0, 1.0]))]
    return part_of_day(rng, plan, phases, "a debugging session", 0.1, 0.7)


@scenario(held_out=THIRD)
def periodic_job(rng):
    """Every few minutes the same short job: a test machine for commits, a service that scores what came in."""
    plan = lab(rng)
    works, rests = log_uniform(rng, 3, 90), log_uniform(rng, 40, 1500)
    phases = [Phase(rng.uniform(1, 4), cpu=0.08), Phase(works, rng.uniform(0.1, 0.8), rng.uniform(0.3, 0.9), 0.06, 1.0),
              Phase(rests, cpu=0.0, alive=False)]
    plan.intruders.append(Intruder(phases, rng.choice([-1, position_after(plan, rng.random() * length_of(plan))]),
                                   len(plan.specs), "a job that comes every few minutes"))
    return plan


@scenario(held_out=THIRD)
def nightly_training(rng):
    """A study over two to four nights, and each night at one time a training on the same GPU, some epochs long."""
    plan = lab(rng)
    begins = split_into_nights(rng, plan)
    nights = list(zip(begins, begins[1:] + [len(plan.specs)]))
    shortest = min(length_of(plan, first, last) for first, last in nights)
    at, lasts = rng.uniform(0.0, 0.8) * shortest, log_uniform(rng, 30, 700)
    phases = foreign_training(rng, (0.03, 0.5), lasts)
    for first, last in nights:
        plan.intruders.append(Intruder(phases, position_after(plan, at, first),
                                       min(position_after(plan, at + lasts, first), between(last)),
                                       "a training every night"))
    return plan


@scenario(held_out=THIRD)
def training_for_days(rng):
    """The study is continued on several evenings, and on some of them somebody's long training is there as well."""
    plan = lab(rng)
    begins = split_into_nights(rng, plan, 5) + [len(plan.specs)]
    first = rng.randrange(len(begins) - 1)
    last = rng.randint(first + 1, len(begins) - 1)
    over(plan, foreign_training(rng, (0.03, 0.6), log_uniform(rng, 300, 5000)), begins[first], begins[last] - 1,
         "a training that lasts for days")
    return plan


@scenario(held_out=THIRD)
def model_kept_loaded(rng):
    """A language model is kept loaded on the card: memory and a context, a health check now and then, no user."""
    plan = lab(rng)
    phases = [Phase(log_uniform(rng, 5, 120), cpu=rng.uniform(0, 0.01), context=1.0),
              Phase(rng.uniform(0.3, 2), rng.uniform(0.05, 0.6), 0.4, 0.02, 1.0)][:rng.choice([1, 2])]
    return to_the_end(rng, plan, phases, "a model kept loaded") if rng.random() < 0.5 else over_some(
        rng, plan, phases, "a model kept loaded")


@scenario(held_out=THIRD)
def chat_server(rng):
    """Other users' chats: one token after another for 3 to 40 s each, often in the morning, rarely at noon.

    Decoding is bound by memory: much utilisation, little power; its clients come in waves."""
    plan = lab(rng, rng.choice([data_center_card, gaming_card])(rng))
    duty, watts, phases = rng.uniform(0.15, 0.7), rng.uniform(0.2, 0.5), []
    for _ in range(rng.randint(2, 4)):
        waits = log_uniform(rng, 5, 300)
        for _ in range(rng.randint(4, 15)):
            phases += [Phase(log_uniform(rng, 0.5, 3), min(1.0, duty * 1.5), watts * 1.8, 0.02, 1.0),
                       Phase(log_uniform(rng, 3, 40), duty, watts, 0.02, 1.0),
                       Phase(1 + rng.expovariate(1 / waits), cpu=0.005, context=1.0)]
    return part_of_day(rng, plan, phases, "a chat server", 0.2, 1.0)


@scenario(held_out=THIRD)
def cell_that_runs_on(rng):
    """A notebook's cell trains a small model all evening; its owner has gone home and looks in the morning."""
    plan = lab(rng)
    phases = [Phase(rng.uniform(0.5, 20), rng.uniform(0.03, 0.35), rng.uniform(0.1, 0.5), rng.uniform(0.01, 0.06), 1.0),
              Phase(rng.uniform(0.3, 6), cpu=rng.uniform(0.01, 0.06), context=1.0)]
    return to_the_end(rng, plan, phases, "a notebook's cell that runs on")


@scenario(held_out=THIRD)
def compile_jobs(rng):
    """Somebody builds software: many cores for minutes, one for the linker, none while he edits."""
    plan = lab(rng, kinds=ON_GPU + ("loader", "cpu_only"))
    cores, phases = log_uniform(rng, 0.04, 0.6), []
    for _ in range(5):
        phases += [Phase(log_uniform(rng, 5, 300), cpu=cores), Phase(rng.uniform(2, 25), cpu=0.04),
                   Phase(log_uniform(rng, 20, 600), cpu=0.005)]
    return part_of_day(rng, plan, phases, "a build on the processors", 0.1, 0.8)


@scenario(held_out=THIRD)
def preprocessing(rng):
    """A data set is prepared on the processors for hours: a fixed number of workers, sometimes one GPU step between."""
    plan = lab(rng, kinds=ON_GPU + ("loader",))
    workers = log_uniform(rng, 0.01, 0.5)
    phases = [Phase(log_uniform(rng, 60, 2000), cpu=workers), Phase(log_uniform(rng, 3, 40), cpu=workers * 0.2)]
    if rng.random() < 0.3:
        phases.append(Phase(rng.uniform(3, 30), rng.uniform(0.1, 0.6), 0.5, 0.05, 1.0))
    return part_of_day(rng, plan, phases, "the preparation of a data set", 0.2, 1.0)


@scenario(held_out=THIRD)
def orphaned_workers(rng):
    """A training that failed leaves its loader workers behind: they spin on the processors, one may hold the GPU.

    Until somebody ends them, one to all of the later experiments."""
    plan = lab(rng)
    for _ in range(rng.randint(1, 2)):
        k = rng.randrange(len(plan.specs) - 1)
        plan.specs[k].retries = rng.choice([1, 2, 3])
        plan.specs[k].outcome = "failed" if plan.specs[k].retries == 3 else "trained"
        after = k + 1 if plan.specs[k].outcome == "failed" else k
        phases = [Phase(FOREVER, cpu=log_uniform(rng, 0.005, 0.3), context=rng.choice([0.0, 1.0]))]
        over(plan, phases, after, rng.choice([after, rng.randint(after, len(plan.specs)), len(plan.specs)]),
             "workers of a training that failed")
    return plan


@scenario(held_out=THIRD)
def monitoring_left_on(rng):
    """Profiling counters and exporters read the GPU every few seconds: clocks stay up, and little else happens."""
    plan = lab(rng)
    phases = [Phase(log_uniform(rng, 0.7, 15), cpu=rng.uniform(0.0, 0.008), context=rng.choice([0.0, DRIVER_OPEN])),
              Phase(rng.uniform(0.25, 1), rng.uniform(0.0, 0.08), 0.2, rng.uniform(0.005, 0.04), DRIVER_OPEN)]
    return to_the_end(rng, plan, phases, "monitoring left on") if rng.random() < 0.5 else over_some(
        rng, plan, phases, "monitoring left on")


@scenario(held_out=THIRD)
def miner(rng):
    """Somebody's account was stolen and mines: a constant half load without processors, which rests when watched."""
    plan = lab(rng)
    phases = [Phase(log_uniform(rng, 200, 4000), rng.uniform(0.1, 0.6), rng.uniform(0.3, 0.8), 0.005, 1.0),
              Phase(log_uniform(rng, 10, 400), cpu=0.0, alive=False)]
    return to_the_end(rng, plan, phases, "a miner")


@scenario(held_out=THIRD)
def shared_by_scheduler(rng):
    """A scheduler that gives parts of a GPU puts other jobs beside the study: they arrive at random, of any size."""
    plan = lab(rng, rng.choice([data_center_card, inference_card])(rng))
    now, total = rng.expovariate(1 / 300), length_of(plan)
    while now < total:
        lasts = log_uniform(rng, 20, 1500)
        plan.intruders.append(Intruder(foreign_training(rng, (0.02, 0.3), lasts), position_after(plan, now),
                                       position_after(plan, now + lasts), "a job of the scheduler"))
        now += lasts * rng.uniform(0.3, 1) + rng.expovariate(1 / rng.choice([200, 1500]))
    return plan


@scenario(held_out=THIRD)
def neighbour_slice(rng):
    """Somebody works in another slice of the same card: no time is lost, and the power of both is read as one."""
    plan = lab(rng, replace(data_center_card(rng), slice_cost=0.0))
    parts = rng.choice([2, 3, 4, 7])
    for model in models_of(plan):
        model.intensity /= parts
    share = rng.uniform(0.05, 0.4)
    phases = [replace(phase, intensity=phase.intensity * share, cpu=phase.cpu * 0.3)
              for phase in foreign_training(rng, (0.2, 0.9), log_uniform(rng, 60, 3000))]
    return part_of_day(rng, plan, phases, "work in another slice", 0.15, 0.9)


# Heat, limits and clocks

@scenario(held_out=THIRD)
def room_heats_up(rng):
    """The air conditioning fails: the room gets 10 to 40 K warmer over the study, and the GPU throttles at last."""
    plan = lab(rng, seconds=(30, 150), kinds=("large", "large", "small"))
    steps, most_k, total = 12, rng.uniform(10, 40), length_of(plan)
    first = rng.uniform(0, 0.5)
    phases = [Phase(rng.uniform(0.3, 1) * (1 - first) * total / steps, cpu=0.0, intake_k=most_k * (n + 1) / steps)
              for n in range(steps)]
    phases.append(Phase(FOREVER, cpu=0.0, intake_k=most_k))
    plan.gpu = replace(plan.gpu, leak_w_per_k=rng.uniform(0.001, 0.005) * plan.gpu.cap_w)
    begins = position_after(plan, first * total)
    plan.intruders.append(Intruder(phases, begins, len(plan.specs), "a room that heats up"))
    return plan


@scenario(held_out=THIRD)
def hot_neighbour(rng):
    """The card beside this one trains in turns of minutes: 15 to 40 K warmer air whenever it does."""
    plan = lab(rng, seconds=(40, 160))
    plan.gpu = replace(plan.gpu, leak_w_per_k=rng.uniform(0.001, 0.004) * plan.gpu.cap_w)
    phases = [Phase(log_uniform(rng, 40, 600), cpu=rng.uniform(0.0, 0.05), intake_k=rng.uniform(15, 40)),
              Phase(log_uniform(rng, 30, 600), cpu=0.0, alive=False)]
    return part_of_day(rng, plan, phases, "a hot neighbour", 0.2, 0.9)


def load_of(spec):
    duty = spec.model.speed_of(spec.hyper)[1] * spec.model.intensity
    if spec.background:
        duty += max(phase.duty * phase.intensity for phase in spec.background.phases)
    return min(1.0, duty)


def clocks_under(gpu, spec, limit_w):
    """What a power limit leaves of the clocks, for the training's usual load."""
    dynamic_w = (gpu.cap_w - gpu.awake_w) * load_of(spec)
    if gpu.awake_w + dynamic_w <= limit_w:
        return 1.0
    return math.sqrt(max(0.12, (limit_w - gpu.awake_w) / dynamic_w))


@scenario(held_out=THIRD)
def limit_lowered(rng):
    """Half-way through, somebody lowers the power limit; it stays, or is set back some experiments later.

    The trainings that never came near it go on as before, the others take longer at less power."""
    plan = lab(rng, kinds=("large", "large", "loader", "small"))
    gpu, count = plan.gpu, len(plan.specs)
    limit_w = gpu.awake_w + rng.uniform(0.4, 0.97) * max(map(load_of, plan.specs)) * (gpu.cap_w - gpu.awake_w)
    first = rng.randint(count // 3, count * 2 // 3)
    for k in range(first, rng.choice([count, rng.randint(first + 1, count)])):
        clocks = clocks_under(gpu, plan.specs[k], limit_w)
        if clocks < 0.999:
            over(plan, [Phase(FOREVER, cpu=0.0, ceiling=clocks)], k, k, "a lowered power limit")
    return plan


@scenario(held_out=THIRD)
def clocks_locked(rng):
    """Somebody locked the clocks for a measurement of his own and left them so, for some experiments or the rest."""
    plan = lab(rng)
    first = rng.randrange(1, len(plan.specs))
    last = rng.choice([len(plan.specs), rng.randint(first, len(plan.specs) - 1)])
    over(plan, [Phase(FOREVER, cpu=0.0, ceiling=rng.uniform(0.55, 0.98))], first, last, "locked clocks")
    return plan


@scenario(held_out=THIRD)
def charger_unplugged(rng):
    """A laptop whose charger is unplugged for a while, in the middle of a training: lower clocks, less power."""
    plan = lab(rng, laptop_gpu(rng))
    phases = [Phase(FOREVER, cpu=0.0, ceiling=rng.uniform(0.6, 0.97))]
    return part_of_day(rng, plan, phases, "a laptop on its battery", 0.05, 0.5)


# Damaged data

def with_fault(rng, stage, fault):
    plan = lab(rng)
    plan.faults = [(stage, fault)]
    return plan


def add_trace_errors(record):
    for path in faults.TRACES:
        record.add_error(path)


def sampler_stopped(records, rng):
    for record in faults.pick(records, rng):
        del record.samples[max(2, int(len(record.samples) * rng.uniform(0.2, 0.9))):]
        measure_energy(record)
        add_trace_errors(record)


@scenario(held_out=THIRD)
def data_sampler_stopped(rng):
    """The sampler was killed in the middle, for want of memory: the last tenth to four fifths are missing."""
    return with_fault(rng, faults.VALUES, sampler_stopped)


def torn(how, records, rng):
    for record in faults.pick([record for record in records if len(record.files) > 5], rng):
        for path in faults.TRACES if rng.random() < 0.5 else [rng.choice(faults.TRACES)]:
            text = record.files[path]
            at = int(len(text) * rng.uniform(0.1, 0.9))
            lines = text.splitlines(keepends=True)
            record.files[path] = {"cut": text[:at], "zeros": text[:at] + "\0" * (len(text) - at),
                                  "headless": "".join(lines[max(1, len(lines) * at // len(text)):]),
                                  "commas": text.replace(".", ",")}[how]
            if record.files[path] != text:
                record.add_error(path)


@scenario(held_out=THIRD)
def data_torn(rng):
    """A power cut or a spreadsheet: traces cut in a line, filled up with zero bytes, without their head, 35,2 W."""
    return with_fault(rng, faults.AFTERWARDS, partial(torn, rng.choice(["cut", "cut", "zeros", "headless", "commas"])))


@scenario(held_out=THIRD)
def data_clock_set_back(rng):
    """The clock is set back, rarely forward, by 5 s to two hours, while one to three trainings run."""
    plan = lab(rng, seconds=(30, 120))
    for k in rng.sample(range(len(plan.specs)), rng.randint(1, 3)):
        plan.clock_steps[k] = (rng.choice([-1, -1, -1, 1]) * log_uniform(rng, 5, 7200), "inside")
    return plan


def swapped_in_trace(path, records, rng):
    for record in records if rng.random() < 0.4 else faults.pick(records, rng):
        if path == "exchanged":
            one, other = faults.TRACES[0], faults.TRACES[2]
            record.files[one], record.files[other] = record.files[other], record.files[one]
            record.add_error(one)
            record.add_error(other)
            continue
        head, *lines = record.files[path].splitlines()
        swap = (1, 0) if path == faults.TRACES[0] else (0, 2, 1)
        rows = [",".join(line.split(",")[n] for n in swap) for line in lines]
        if rows != lines:
            record.files[path] = "\n".join([head, *rows]) + "\n"
            record.add_error(path)


@scenario(held_out=THIRD)
def data_swapped_in_traces(rng):
    """Two columns of a trace, or two traces, have changed places, in all experiments or in some."""
    return with_fault(rng, faults.AFTERWARDS, partial(swapped_in_trace, rng.choice([*faults.TRACES, "exchanged"])))


def overwritten(how, records, rng):
    """The files of an attempt that failed, before its own or instead of them, or another experiment's energies."""
    for n, record in enumerate(records):
        if not record.spec.retries:
            continue
        own = record.samples
        earlier = int(record.duration_s * rng.uniform(0.5, 1) + rng.uniform(40, 120))
        failed = [(s[0] - earlier, *s[1:]) for s in own[:max(2, int(len(own) * rng.uniform(0.1, 0.6)))]]
        if how == "energies":
            other = records[n - 1]
            record.energy = dict(other.energy)
            for name in ("gpu_energy_total_joules", "cpu_energy_pkg_joules", "gpu_power_avg_watts"):
                record.add_error(f"summary.csv:{ENERGY[name]}")
            continue
        record.samples = failed if how == "instead" else failed + own
        measure_energy(record)
        add_trace_errors(record)


@scenario(held_out=THIRD)
def data_of_a_failed_attempt(rng):
    """Retried experiments whose energies are those of the attempt that failed, of both, or of the one before."""
    plan = with_fault(rng, faults.VALUES, partial(overwritten, rng.choice(["instead", "appended", "energies"])))
    for spec in rng.sample(plan.specs, rng.randint(1, max(1, len(plan.specs) // 3))):
        spec.retries = rng.choice([1, 1, 2])
    return plan


def sensor_frozen(records, rng):
    """Where the energy changes by more than 3 % only: a value that freezes at what it stays at does no harm."""
    for record in faults.pick(records, rng):
        recorded, count = sum(sample[1] for sample in record.samples), len(record.samples)
        for _ in range(12):
            first = rng.randrange(max(1, count // 2))
            last = min(count, first + max(8, int(rng.uniform(0.15, 0.9) * count)))
            samples = [(s[0], record.samples[first][1], *s[2:]) if first <= n < last else s
                       for n, s in enumerate(record.samples)]
            if abs(sum(sample[1] for sample in samples) / recorded - 1) > 0.03:
                record.samples = samples
                measure_energy(record)
                record.add_error(faults.TRACES[0])
                break


@scenario(held_out=THIRD)
def data_sensor_frozen(rng):
    """The power reading hangs: the same watts to the hundredth for a sixth of a training to the end of it."""
    return with_fault(rng, faults.VALUES, sensor_frozen)


def in_milliwatts(records, rng):
    first = rng.randrange(len(records))
    for record in records[first:]:
        record.samples = [(s[0], s[1] * 1000, *s[2:]) for s in record.samples]
        measure_energy(record)
        record.add_error(faults.TRACES[0])
        record.add_error(f"summary.csv:{ENERGY['gpu_energy_total_joules']}")


@scenario(held_out=THIRD)
def data_milliwatts(rng):
    """From some experiment on the power is in milliwatts: another tool reads it after an update."""
    return with_fault(rng, faults.VALUES, in_milliwatts)


def row_cut(records, rng):
    record, columns = records[-1], list(ENERGY.values())
    for column in columns[rng.randrange(len(columns) - 1):]:
        record.row.pop(column, None)
        record.add_error(f"summary.csv:{column}")


@scenario(held_out=THIRD)
def data_last_row_cut(rng):
    """The runner died while it wrote the last row of summary.csv."""
    return with_fault(rng, faults.AFTERWARDS, row_cut)


@scenario(held_out=THIRD)
def bad_week(rng):
    """Visitors, locked clocks, a build on the processors and a sampler that was killed, all in one folder."""
    plan = lab(rng)
    over_some(rng, plan, foreign_training(rng, (0.05, 0.6), log_uniform(rng, 40, 800)), "a colleague's training")
    over_some(rng, plan, [Phase(FOREVER, cpu=log_uniform(rng, 0.01, 0.4))], "a build on the processors")
    k = rng.randrange(len(plan.specs))
    over(plan, [Phase(FOREVER, cpu=0.0, ceiling=rng.uniform(0.6, 0.97))], k, k + 1, "locked clocks")
    plan.faults = [(faults.VALUES, sampler_stopped), (faults.AFTERWARDS, partial(torn, "cut"))]
    return plan
