"""The second set of held-out scenarios: machines as they stand in rooms, and what people do on them.

Written without a look at the judge, from how machines behave and not from the parameters of scenarios.py.  Each is
drawn in sequential and parallel plans, with three to eight models and one to five repetitions; between experiments the
study waits a minute, until the GPU is cool, or not at all.  `matrix.py TARE --held-out 2` judges them.
"""
import math
from dataclasses import replace
from functools import partial

import faults
from layout import measure_energy
from machine import DRIVER_OPEN, RUN_SHARE, Phase, draw_gpu
from scenarios import (SCENARIOS, background_phases, between, constant_load, default_hyper, inside, log_uniform,
                       mutated_hyper, over_some, plan_of, scenario)
from study import FOREVER, Background, Intruder
from trainings import draw_models

__all__ = ["SCENARIOS"]
SECOND = 2
ON_GPU = ("small", "large", "large", "loader")
DAY_S = 86400


# Machines

def gpu_like(rng, rest_w, awake_above_w, load_above_w, clock_lag_s, **fixed):
    """A GPU with levels of power in these ranges; `fixed` are other fields."""
    gpu = draw_gpu(rng)
    rest = rng.uniform(*rest_w)
    awake = rest + rng.uniform(*awake_above_w)
    cap = awake + rng.uniform(*load_above_w)
    heat = rng.uniform(0.5, 0.85) * (gpu.limit_c - 3 - gpu.ambient_c) / cap
    return replace(gpu, rest_w=rest, awake_w=awake, cap_w=cap, clock_lag_s=rng.uniform(*clock_lag_s),
                   heat_k_per_w=heat, **fixed)


def workstation_gpu(rng, **fixed):
    return gpu_like(rng, (8, 25), (15, 70), (130, 300), (5, 20), **({"fan_w": rng.uniform(3, 10)} | fixed))


def laptop_gpu(rng, **fixed):
    return gpu_like(rng, (2, 9), (8, 20), (45, 110), (2, 12), **fixed)


def server_gpu(rng, **fixed):
    return gpu_like(rng, (10, 60), (12, 50), (60, 450), (1, 8), **fixed)


def leaking(rng, gpu):
    """Leakage of 0.05 to 0.15 % of the power limit per kelvin."""
    return replace(gpu, leak_w_per_k=rng.uniform(0.001, 0.003) * gpu.cap_w)


def any_gpu(rng, **fixed):
    return rng.choice([workstation_gpu, laptop_gpu, server_gpu])(rng, **fixed)


def desktop_of(rng, display_w):
    """A compositor draws at the display's rate: some W all the time, more when somebody types, scrolls or drags."""
    phases = []
    for _ in range(rng.randint(6, 14)):
        reading = Phase(log_uniform(rng, 5, 120), rng.uniform(0.005, 0.04), rng.uniform(0.1, 0.3), 0.01)
        working = Phase(log_uniform(rng, 10, 150), rng.uniform(0.03, 0.1), rng.uniform(0.1, 0.3), 0.03)
        dragging = Phase(rng.uniform(0.5, 6), rng.uniform(0.05, 0.25), rng.uniform(0.2, 0.5), 0.04, DRIVER_OPEN)
        phases += [reading, dragging] if rng.random() < 0.6 else [working, dragging, reading]
    return [replace(phase, idle_w=display_w) for phase in phases]


def quiet_desktop(rng, plan):
    """A display and nobody who moves anything; it stays the same when something planted changes the times."""
    plan.desktop = [Phase(FOREVER, rng.uniform(0.002, 0.02), 0.2, 0.01, idle_w=rng.uniform(2, 8))]
    return plan


# Studies

def draw_experiments(rng, seconds, kinds, is_parallel):
    runs = rng.randint(1, 5)
    models = draw_models(rng, max(rng.randint(3, 5), math.ceil(8 / runs)), seconds, kinds)
    hyper_of = rng.choice([default_hyper, default_hyper, mutated_hyper])
    others = draw_models(rng, rng.randint(1, 2), (20, 90), ON_GPU)
    is_uneven = rng.random() < 0.25
    style, lead_s = rng.choice(["steady", "alternating", "light"]), rng.choice([5, 20, 30])
    rounds = []
    for model in models:
        other, phases = rng.choice(others), background_phases(rng, style)
        own_runs = rng.randint(1, 5) if is_uneven else runs
        rounds += [(n, (model, hyper_of(rng, model),
                        Background(other, dict(other.defaults), phases, lead_s) if is_parallel else None))
                   for n in range(own_runs)]
    order = rng.choice(["models", "rounds", "shuffled"])
    if order == "rounds":
        rounds.sort(key=lambda entry: entry[0])
    if order == "shuffled":
        rng.shuffle(rounds)
    return [experiment for _, experiment in rounds]


def study(rng, gpu=None, seconds=(20, 120), kinds=ON_GPU, is_parallel=None, pauses=("minute", "cool", "none")):
    """A plan with the habits of the study: alone or in parallel, and what it waits for between experiments."""
    if is_parallel is None:
        is_parallel = rng.random() < 0.5
    plan = plan_of(rng, draw_experiments(rng, seconds, kinds, is_parallel), gpu=gpu or any_gpu(rng))
    habit = rng.choice(pauses)
    plan.pause_s = {"minute": 60, "cool": rng.uniform(2, 10), "none": 0}[habit]
    if habit == "cool":
        plan.cool_c = plan.gpu.ambient_c + plan.gpu.heat_k_per_w * plan.gpu.rest_w + rng.uniform(5, 12)
    return plan


def begin_at(plan, hour):
    """The study begins at this local time."""
    plan.epoch_s = plan.epoch_s // DAY_S * DAY_S + hour * 3600 - plan.host.zone_s


def models_of(plan):
    return list({id(spec.model): spec.model for spec in plan.specs}.values())


def seconds_of(spec):
    """About how long the training takes alone."""
    return sum(phase.seconds for phase in spec.model.phases(spec.hyper, 1))


def pause_of(plan):
    return plan.pause_s + (2 if plan.cool_c is None else 60)


def length_of(plan, first=0, last=None):
    return sum(pause_of(plan) + seconds_of(spec) for spec in plan.specs[first:last])


def position_after(plan, seconds, first=0):
    """About where the study is so many seconds after the pause before experiment `first`."""
    for k in range(first, len(plan.specs)):
        seconds -= pause_of(plan)
        if seconds < 0:
            return between(k)
        if seconds < seconds_of(plan.specs[k]):
            return inside(k, seconds / seconds_of(plan.specs[k]))
        seconds -= seconds_of(plan.specs[k])
    return between(len(plan.specs))


def part_of_day(rng, plan, phases, text, least=0.15, most=0.6):
    """Somebody does something for a part of the study, wherever experiments begin and end."""
    total = length_of(plan)
    length = rng.uniform(least, most) * total
    begins = rng.uniform(0, total - length)
    plan.intruders.append(Intruder(phases, position_after(plan, begins), position_after(plan, begins + length), text))
    return plan


# Clean folders that are awkward

@scenario(held_out=SECOND)
def clean_display_attached(rng):
    """A workstation at which somebody reads and types: some W and per cent above rest, bursts that raise the clocks.

    A compositor redraws at the display's rate, and PowerMizer raises clocks with the load and lets them fall only
    seconds later (the README of tdryer/nvpowermizerd describes it)."""
    plan = study(rng, workstation_gpu(rng), is_parallel=rng.random() < 0.3)
    plan.desktop = desktop_of(rng, rng.uniform(2, 9))
    return plan


@scenario(held_out=SECOND)
def clean_idle_steps(rng):
    """A laptop or workstation GPU that rests at one of two or three powers, for minutes each.

    Memory clocks stay up with several displays or after a program has gone; up to 60 W were measured between
    the two (3DCenter on NVIDIA Inspector's Multi Display Power Saver)."""
    gpu = rng.choice([workstation_gpu, laptop_gpu])(rng)
    plan = study(rng, gpu, is_parallel=rng.random() < 0.3)
    levels = [0.0] + [rng.uniform(0.2, 0.9) * (gpu.awake_w - gpu.rest_w) for _ in range(rng.randint(1, 2))]
    plan.desktop = [Phase(log_uniform(rng, 60, 900), cpu=0.0, idle_w=level) for _ in range(6) for level in levels]
    return plan


@scenario(held_out=SECOND)
def clean_cold_morning(rng):
    """The first hour of the day in a cold room: leakage and the board's own fans rise while machine and room warm up.

    Leakage grows with temperature, and the fans of a board are part of its power reading."""
    gpu = leaking(rng, any_gpu(rng, drift_per_k=rng.uniform(0.002, 0.005)))
    gpu.fan_w = rng.uniform(0.01, 0.05) * gpu.cap_w
    plan = study(rng, gpu, (40, 180))
    plan.cold_room = (rng.uniform(6, 16), log_uniform(rng, 900, 5400))
    begin_at(plan, rng.uniform(5.5, 8.5))
    return plan


@scenario(held_out=SECOND)
def clean_long_loading(rng):
    """Trainings that unpack, tokenize or index their data for minutes before the GPU has anything to do.

    A CSV of gigabytes or a corpus without a cached tokenization; one or two processors work meanwhile."""
    plan = study(rng)
    for model in models_of(plan):
        if rng.random() < 0.75:
            imports = Phase(rng.uniform(3, 9), cpu=0.04)
            loading = Phase(log_uniform(rng, 20, 240), cpu=rng.uniform(0.02, 0.15), context=rng.choice([0, 0, 1.0]))
            model.startup = [imports, loading] + model.startup[-1:]
    return plan


@scenario(held_out=SECOND)
def clean_long_evaluation(rng):
    """Trainings that end with an evaluation as long as themselves, at little power.

    Detection scores, rankings of a gallery or decoding one token after another: the GPU waits for the processors."""
    plan = study(rng)
    for model in models_of(plan):
        if rng.random() < 0.75:
            evaluation = Phase(log_uniform(rng, 10, 150), rng.uniform(0.02, 0.2), rng.uniform(0.2, 0.5),
                               rng.uniform(0.04, 0.3), 1.0, swing=rng.uniform(0.1, 0.6))
            scores = Phase(log_uniform(rng, 2, 60), cpu=rng.uniform(0.04, 0.5), context=rng.choice([0.0, 1.0, 1.0]))
            model.ending = [evaluation, scores] + model.ending[-1:]
    return plan


def put_on_disk(rng, plan):
    for model in models_of(plan):
        model.disk_s = log_uniform(rng, 4, 120) if rng.random() < 0.8 else 0.0
    return plan


@scenario(held_out=SECOND)
def clean_cold_cache(rng):
    """The first training of each model reads its data from a disk or network: a long, thin first epoch.

    All later ones find the data in the page cache: 2 to 20 GB at 150 to 500 MB/s."""
    return put_on_disk(rng, study(rng))


@scenario(held_out=SECOND)
def clean_cache_too_small(rng):
    """The data sets of two models do not fit in the page cache: every training after another model's is slow at first.

    Whether a repetition is slow depends only on what ran before it."""
    plan = put_on_disk(rng, study(rng))
    plan.is_cache_small = True
    return plan


@scenario(held_out=SECOND)
def clean_no_persistence(rng):
    """A server without persistence mode: each reading of an unused GPU opens the driver, takes seconds and wakes it.

    Opening takes 1 to 3 s (docs.nvidia.com/deploy/driver-persistence), and with ECC nvidia-smi then shows the
    scrubbing of the memory as utilisation (its manual page says so)."""
    gpu = server_gpu(rng, persistent=False, scrub_share=rng.choice([0.0, 0.0, rng.uniform(0.05, 0.6)]))
    gpu.clock_lag_s = rng.uniform(0.2, 1.5)
    return study(rng, gpu, kinds=ON_GPU + ("cpu_only",), is_parallel=rng.random() < 0.3)


@scenario(held_out=SECOND)
def clean_display_sleeps(rng):
    """The display of a workstation goes to sleep in the evening, and may wake in the morning.

    The GPU then rests some W lower than before, in the middle of the study and with nothing done to it."""
    plan = study(rng, workstation_gpu(rng), is_parallel=rng.random() < 0.3)
    total, display_w = length_of(plan), rng.uniform(3, 15)
    evening = Phase(rng.uniform(0.2, 0.7) * total, rng.uniform(0.0, 0.03), 0.2, 0.01, idle_w=display_w)
    night = Phase(rng.choice([FOREVER, rng.uniform(0.2, 0.5) * total]), cpu=0.0)
    plan.desktop = [evening, night]
    begin_at(plan, rng.uniform(17, 21))
    return plan


def scored_sometimes(every, times, n, _epochs, train, check):
    """Each so many epochs the whole validation set instead of a sample of it."""
    whole = n % every == every - 1
    score = replace(check, seconds=(0.1 * train.seconds + check.seconds) * (times if whole else 0.3))
    return [train, replace(score, duty=score.duty * 0.5)]


def unfrozen(share, n, epochs, train, check):
    """Only the head is trained at first, then everything."""
    if n < share * epochs:
        return [replace(train, seconds=train.seconds * 0.4, duty=train.duty * 0.5), check]
    return [replace(train, seconds=train.seconds * 1.4), check]


def growing(most, n, epochs, train, check):
    """Images grow from epoch to epoch (progressive resizing)."""
    size = 0.3 + (most - 0.3) * n / max(1, epochs - 1)
    return [replace(train, seconds=train.seconds * size, duty=min(1.0, train.duty * (0.5 + 0.5 * size))), check]


def played(share, cpu, _n, _epochs, train, check):
    """Reinforcement learning: the processors play, then the GPU learns."""
    play = replace(train, seconds=train.seconds * share, duty=0.03, cpu=cpu, swing=0.3, pipelined=False)
    return [play, replace(train, seconds=train.seconds * (1 - share)), check]


def simpler_at_last(share, n, epochs, train, check):
    """The costly augmentation is switched off for the last epochs, which no longer wait for the processors."""
    if n < (1 - share) * epochs:
        return [replace(train, duty=train.duty * 0.6, cpu=min(0.9, train.cpu * 2.5)), check]
    return [replace(train, seconds=train.seconds * 0.6), check]


@scenario(held_out=SECOND)
def clean_uneven_epochs(rng):
    """Fast and slow epochs in one training: full scores now and then, layers unfrozen, growing images, games played.

    Published recipes: gradual unfreezing (ULMFiT), progressive resizing (EfficientNetV2), PPO's rollouts, YOLO's
    mosaic that is closed for the last epochs."""
    plan = study(rng)
    for model in models_of(plan):
        model.epoch_of = rng.choice([partial(scored_sometimes, rng.randint(2, 5), rng.uniform(3, 8)),
                                     partial(unfrozen, rng.uniform(0.2, 0.6)), partial(growing, rng.uniform(1.2, 2)),
                                     partial(played, rng.uniform(0.4, 0.8), rng.uniform(0.2, 0.8)),
                                     partial(simpler_at_last, rng.uniform(0.15, 0.5))])
    with_epochs(rng, plan, 5, 20)
    return plan


def with_epochs(rng, plan, least, most):
    """The same length as before, in so many epochs."""
    for model in models_of(plan):
        if "epochs" in model.defaults:
            old, model.defaults["epochs"] = model.defaults["epochs"], rng.randint(least, most)
            model.epoch_s *= old / model.defaults["epochs"]
    for spec in plan.specs:
        if "epochs" in spec.hyper:
            spec.hyper["epochs"] = spec.model.defaults["epochs"]


@scenario(held_out=SECOND)
def clean_early_stopping(rng):
    """Trainings that stop by their own patience: after as many epochs as the seed makes it.

    Repetitions with equal settings take 30 to 100 % of the longest, each epoch as long as ever."""
    plan = study(rng)
    with_epochs(rng, plan, 10, 40)
    patient = [model for model in models_of(plan) if "epochs" in model.defaults and rng.random() < 0.75]
    for spec in plan.specs:
        if any(spec.model is model for model in patient):
            spec.epochs_done = rng.randint(math.ceil(0.3 * spec.hyper["epochs"]), spec.hyper["epochs"])
    return plan


def split_into_nights(rng, plan, most=4):
    """The study runs at night only; gives the first experiment of each night, and plans gaps of a day between them."""
    begin_at(plan, rng.uniform(19, 26))
    begins = [0] + sorted(rng.sample(range(1, len(plan.specs)), min(len(plan.specs) - 1, rng.randint(1, most - 1))))
    for first, last in zip(begins, begins[1:]):
        plan.gaps[last] = DAY_S - length_of(plan, first, last)
    return begins


@scenario(held_out=SECOND)
def clean_several_evenings(rng):
    """A study that runs when nobody needs the machine and is continued on the next evenings, each time from cold.

    Half of the folder may be a day older than the rest."""
    plan = study(rng)
    split_into_nights(rng, plan)
    plan.cold_room = (rng.uniform(0, 8), log_uniform(rng, 600, 3000))
    return plan


# Disturbed folders

@scenario(held_out=SECOND)
def desktop_game(rng):
    """Somebody plays on the workstation for a while, once or twice: loading screens, play, menus.

    A game fills the GPU up to its frame limit; menus and loading screens do not."""
    plan = quiet_desktop(rng, study(rng, workstation_gpu(rng)))
    cpu, duty = rng.uniform(0.1, 0.35), rng.uniform(0.5, 0.98)
    phases = [Phase(rng.uniform(8, 40), rng.uniform(0.05, 0.3), 0.3, cpu * 1.3, 1.0)]
    for _ in range(rng.randint(2, 4)):
        phases += [Phase(log_uniform(rng, 60, 600), duty, rng.uniform(0.5, 0.9), cpu, 1.0),
                   Phase(rng.uniform(5, 60), rng.uniform(0.1, 0.4), 0.4, cpu * 0.5, 1.0)]
    for _ in range(rng.randint(1, 2)):
        part_of_day(rng, plan, phases, "a game on the same GPU", 0.08, 0.3)
    return plan


@scenario(held_out=SECOND)
def desktop_video(rng):
    """Somebody watches videos on the workstation for a part of the study.

    The decoder is a unit of its own: few per cent of utilisation, but clocks that stay up and 10 to 25 W."""
    plan = quiet_desktop(rng, study(rng, workstation_gpu(rng)))
    playing = Phase(log_uniform(rng, 120, 2400), rng.uniform(0.02, 0.12), rng.uniform(0.15, 0.4),
                    rng.uniform(0.01, 0.08), DRIVER_OPEN)
    choosing = Phase(rng.uniform(10, 120), rng.uniform(0.02, 0.08), 0.2, 0.03)
    return part_of_day(rng, plan, [playing, choosing], "a video on the same GPU", 0.15, 0.7)


@scenario(held_out=SECOND)
def inference_server(rng):
    """A small inference server on the same GPU: requests in bursts at 10 to 30 % load, with a context all the time.

    Requests come as people send them: some together, then none for a minute; it may run before, after and all along."""
    plan = study(rng, server_gpu(rng))
    phases, load_w, busy = [], rng.uniform(0.3, 0.8), rng.uniform(4, 60)
    for _ in range(25):
        phases += [Phase(rng.uniform(1, 4) + rng.expovariate(1 / 10), rng.uniform(0.1, 0.3), load_w, 0.06, 1.0),
                   Phase(1 + rng.expovariate(1 / busy), cpu=0.01, context=1.0)]
    text = "an inference server"
    if rng.random() < 0.4:
        plan.intruders.append(Intruder(phases, -1, len(plan.specs), text))
        return plan
    return part_of_day(rng, plan, phases, text, 0.2, 0.8)


@scenario(held_out=SECOND)
def notebook_open(rng):
    """A colleague's notebook: it holds memory, computes a cell now and then, and is left open in the evening.

    A kernel keeps its CUDA context and memory until it is shut down."""
    plan = study(rng)
    phases = []
    for _ in range(12):
        phases += [Phase(10 + rng.expovariate(1 / rng.choice([60, 240])), cpu=0.002, context=1.0),
                   Phase(log_uniform(rng, 2, 90), rng.uniform(0.2, 1.0), rng.uniform(0.3, 0.9), 0.08, 1.0)]
    part_of_day(rng, plan, phases, "a notebook that computes at times", 0.2, 0.6)
    left = plan.intruders[0].ends
    if rng.random() < 0.7:
        plan.intruders.append(Intruder([Phase(FOREVER, cpu=0.0, context=1.0)], left, len(plan.specs),
                                       "a notebook left open"))
    return plan


@scenario(held_out=SECOND)
def training_that_waits(rng):
    """Another user's training that waits for its own data loading: little of the GPU, most of the processors.

    One loader process per core decodes images; each step of the GPU then waits for the next batch."""
    plan = study(rng)
    cpu = rng.uniform(0.4, 0.95)
    phases = []
    for _ in range(rng.randint(3, 8)):
        phases += [Phase(rng.uniform(0.5, 8), rng.uniform(0.0, 0.1), 0.4, cpu, 1.0),
                   Phase(rng.uniform(0.3, 4), rng.uniform(0.3, 0.9), rng.uniform(0.4, 0.9), cpu * 0.9, 1.0)]
    phases.append(Phase(rng.uniform(5, 30), rng.uniform(0.05, 0.3), 0.5, cpu * 0.6, 1.0))
    return part_of_day(rng, plan, phases, "another training that waits for its data", 0.15, 0.8)


@scenario(held_out=SECOND)
def cron_every_night(rng):
    """A study over two to four nights, and every night at the same time a cron job on the processors alone.

    Backups that compress, updatedb, a virus scan: minutes of some or of many cores, the GPU is never touched."""
    plan = study(rng, kinds=ON_GPU + ("cpu_only",), is_parallel=rng.random() < 0.4)
    begins = split_into_nights(rng, plan)
    nights = list(zip(begins, begins[1:] + [len(plan.specs)]))
    shortest = min(length_of(plan, first, last) for first, last in nights)
    hour, lasts = rng.uniform(0.05, 0.7) * shortest, log_uniform(rng, 60, 900)
    phases = [Phase(log_uniform(rng, 5, 120), cpu=log_uniform(rng, 0.04, 0.9)) for _ in range(3)]
    for first, last in nights:
        ends = min(position_after(plan, hour + lasts, first), between(last))
        plan.intruders.append(Intruder(phases, position_after(plan, hour, first), ends, "a cron job"))
    return plan


@scenario(held_out=SECOND)
def power_brake(rng):
    """A neighbour on the same power supply: while it takes much, this GPU is braked.

    NVML: "HW Power Brake Slowdown (reducing the core clocks by a factor of 2 or more)"; a rack's manager that only
    lowers the power limit takes less, for longer."""
    plan = study(rng, server_gpu(rng))
    if rng.random() < 0.5:
        braked, free = [(log_uniform(rng, 1, 30), rng.uniform(0.3, 0.5)) for _ in range(4)], (3, 120)
    else:
        braked, free = [(log_uniform(rng, 60, 600), rng.uniform(0.6, 0.95))], (30, 300)
    phases = [phase for seconds, share in braked
              for phase in (Phase(seconds, cpu=0.0, ceiling=share), Phase(log_uniform(rng, *free), cpu=0.0))]
    return part_of_day(rng, plan, phases, "a neighbour on the same power supply")


@scenario(held_out=SECOND)
def neighbours_exhaust(rng):
    """Another GPU below this one works for a while, and its warm air is what this one breathes.

    Ten to thirty kelvin warmer intake costs leakage and fans; the hottest trainings also meet their limit."""
    plan = study(rng, leaking(rng, rng.choice([workstation_gpu, server_gpu])(rng)))
    phases = [Phase(log_uniform(rng, 120, 2400), intake_k=rng.uniform(8, 28), cpu=rng.uniform(0, 0.02)),
              Phase(log_uniform(rng, 20, 200), cpu=0.0)]
    return part_of_day(rng, plan, phases, "the exhaust of a neighbouring GPU", 0.2, 0.7)


@scenario(held_out=SECOND)
def computes_when_idle(rng):
    """A volunteer client (Folding@home, BOINC) that computes while the GPU is unused and steps aside a little late.

    It sees the load only at its next look, and so shares the first seconds of each training; it begins again between
    them and leaves the GPU warm."""
    plan = study(rng, pauses=("minute", "cool"), is_parallel=rng.random() < 0.3)
    if rng.random() < 0.5:
        quiet_desktop(rng, plan)
    load = [Phase(FOREVER, rng.uniform(0.85, 1.0), rng.uniform(0.6, 1.0), 0.04, 1.0)]
    late_s = log_uniform(rng, 2, 30)
    first = rng.randrange((len(plan.specs) + 1) // 2)
    for k in range(first, len(plan.specs)):
        spec = plan.specs[k]
        seen_s = spec.background.lead_s if spec.background else 0.0
        share = max(0.0, late_s * rng.uniform(0.5, 1.5) - seen_s) / seconds_of(spec)
        plan.intruders.append(Intruder(load, k - (1 - RUN_SHARE), inside(k, min(0.9, share)),
                                       "a volunteer client"))
    return plan


@scenario(held_out=SECOND)
def memory_taken(rng):
    """Another user's job computes and takes most of the memory: the large models fail there, the others run beside it.

    An allocation that does not fit ends a training; the study tries again and gives up."""
    plan = over_some(rng, study(rng), constant_load(rng), "another job that took the memory")
    intruder = plan.intruders[0]
    for k, spec in enumerate(plan.specs):
        if intruder.begins <= inside(k, 0.1) < intruder.ends and spec.model.kind == "large" and rng.random() < 0.7:
            spec.outcome, spec.retries = "failed", rng.choice([2, 3])
    return plan


@scenario(held_out=SECOND)
def background_loads_first(rng):
    """The planned background reads its data from a cold disk: in the first experiment with it, it computes only late.

    Whoever waits a fixed time before the foreground does not see that there is no load yet."""
    plan = study(rng, is_parallel=True)
    seen = []
    for spec in plan.specs:
        known = any(spec.model is model for model in seen)
        seen.append(spec.model)
        if not known and rng.random() < 0.7:
            late_s = log_uniform(rng, 5, 120)
            spec.background.defect = "loaded its data first"
            spec.background.defect_at = min(0.95, late_s / seconds_of(spec))
    return plan


@scenario(held_out=SECOND)
def background_trains_once(rng):
    """The planned background trains once and is done, and nobody starts it again: longer foregrounds end alone.

    Every repetition of such a pair has the same fault, so they agree among themselves."""
    plan = study(rng, is_parallel=True)
    longest = max(seconds_of(spec) for spec in plan.specs)
    lasts = {}
    for spec in plan.specs:
        mean_s = lasts.setdefault(id(spec.background.model), rng.uniform(0.25, 0.9) * longest)
        share = mean_s * rng.uniform(0.96, 1.04) / seconds_of(spec)
        if share < 1:
            spec.background.defect, spec.background.defect_at = "ended early", share
    return plan


def disk_full(k, stage, records, rng):
    """The traces of experiment k end where the disk was full, in the middle of a line."""
    record = records[k]
    if stage == faults.VALUES:
        del record.samples[max(2, int(len(record.samples) * rng.uniform(0.15, 0.85))):]
        measure_energy(record)
        return
    for path in faults.TRACES:
        record.files[path] = record.files[path][:-rng.randint(2, 6)]
        record.add_error(path)


@scenario(held_out=SECOND)
def disk_fills_up(rng):
    """The disk fills up: one experiment's traces end early, the next trainings cannot write and fail, until it is free.

    Somebody's checkpoints on the same disk; nothing computes beside the study."""
    plan = study(rng)
    k = rng.randrange(len(plan.specs) - 1)
    for spec in plan.specs[k + 1:k + 1 + rng.randint(1, 4)]:
        spec.outcome, spec.retries = "failed", 3
    plan.faults = [(stage, partial(disk_full, k, stage)) for stage in (faults.VALUES, faults.AFTERWARDS)]
    return plan
