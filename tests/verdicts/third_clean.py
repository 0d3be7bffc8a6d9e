"""The third set's cards and studies, and its undisturbed folders, most of which look disturbed at first sight.

third_set.py plants on the same studies.  What makes a study awkward is a function (rng, plan) -> plan: nearly every
third study of the set has one on top of what its scenario is about.
"""
from dataclasses import replace
from functools import partial

import faults
from layout import measure_energy
from machine import DRIVER_OPEN, Phase
from real_machines import DAY_S, begin_at, gpu_like, laptop_gpu, models_of, study, with_epochs
from scenarios import log_uniform, scenario

THIRD = 3


# Cards and studies

def data_center_card(rng, **fixed):
    """Rests high, wakes and sleeps at once: a passive card of 250 to 700 W."""
    return gpu_like(rng, (40, 110), (12, 60), (180, 500), (0.3, 3), **fixed)


def inference_card(rng, **fixed):
    """A card of one slot without a power cable: 70 W."""
    return gpu_like(rng, (7, 14), (10, 20), (32, 48), (0.5, 5), **fixed)


def gaming_card(rng, **fixed):
    return gpu_like(rng, (6, 32), (30, 95), (180, 340), (4, 26), **({"fan_w": rng.uniform(4, 14)} | fixed))


def old_card(rng, **fixed):
    """Ten years old: a power reading over a second, clocks that stay up for half a minute."""
    return gpu_like(rng, (10, 22), (30, 60), (90, 180), (12, 32), **({"reading_tau_s": 1.0} | fixed))


def card(rng, **fixed):
    return rng.choice([data_center_card, inference_card, gaming_card, old_card, laptop_gpu])(rng, **fixed)


def lab(rng, gpu=None, seconds=(15, 110), **habits):
    """A study on any card, on a host whose cores share more or less of their caches and memory."""
    plan = study(rng, gpu or card(rng), seconds, **habits)
    plan.host = replace(plan.host, crosstalk=rng.uniform(0.02, 0.5))
    if rng.random() < 0.3:
        rng.choice([keep_in_memory, write_checkpoints, leak, unload])(rng, plan)
    return plan


def specs_by_model(plan):
    groups = {}
    for spec in plan.specs:
        groups.setdefault((spec.model.repository, spec.model.name), []).append(spec)
    return list(groups.values())


# Clean folders

def slow_first_reading(most_s, records, rng):
    """The first reading loads the driver, and the next one is late by that; the study sums what it has.

    Not beside a planned background, which has loaded it already."""
    for record in records:
        late = rng.randint(max(1, most_s - 2), most_s)
        if len(record.samples) > 2 * late and not record.spec.background:
            del record.samples[1:1 + late]
            measure_energy(record)


@scenario(held_out=THIRD)
def clean_driver_unloads(rng):
    """Nobody keeps the driver loaded: each training starts from an unloaded one, and the first reading takes seconds.

    Start-up power and clocks then depend on how long the driver takes with the card, not on what ran before."""
    return unload(rng, lab(rng, pauses=("minute", "none"), is_parallel=rng.random() < 0.3))


def unload(rng, plan):
    plan.gpu = replace(plan.gpu, persistent=False, clock_lag_s=rng.uniform(0.1, 1.0))
    for model in models_of(plan):
        model.startup = [Phase(rng.uniform(1, 8), cpu=0.03, context=DRIVER_OPEN)] + model.startup
    plan.faults = [(faults.VALUES, partial(slow_first_reading, rng.randint(2, 8)))]
    return plan


@scenario(held_out=THIRD)
def clean_dashboard(rng):
    """The card also draws a dashboard on a wall: a redraw every few seconds, day and night, the same all along."""
    return redraw(rng, lab(rng, rng.choice([gaming_card, old_card])(rng)))


def redraw(rng, plan):
    idle_w, every_s = rng.uniform(1, 18), log_uniform(rng, 3, 90)
    plan.desktop = [Phase(every_s, rng.uniform(0, 0.01), 0.2, 0.01, idle_w=idle_w),
                    Phase(rng.uniform(0.3, 2.5), rng.uniform(0.03, 0.3), rng.uniform(0.1, 0.4), 0.03, DRIVER_OPEN,
                          idle_w=idle_w)]
    return plan


@scenario(held_out=THIRD)
def clean_hot_idle(rng):
    """A passive card that rests at 40 to 110 W, more by a tenth or two after a long training than after a short one.

    Leakage: the heat sink of a kilogramme takes minutes to cool, and the idle power falls with it."""
    return leak(rng, lab(rng, data_center_card(rng, drift_per_k=rng.uniform(0.001, 0.004)), (15, 200)))


def leak(rng, plan):
    plan.gpu = replace(plan.gpu, leak_w_per_k=rng.uniform(0.003, 0.008) * plan.gpu.cap_w,
                       heat_tau_s=rng.uniform(60, 240))
    return plan


@scenario(held_out=THIRD)
def clean_compiled_once(rng):
    """The first training of each model compiles its kernels for minutes; the others find them in a cache.

    torch.compile, Triton, JAX and TensorRT keep what they compiled on the disk; an update empties the cache."""
    return compile_once(rng, lab(rng))


def compile_once(rng, plan):
    emptied = rng.randrange(1, len(plan.specs)) if rng.random() < 0.3 else None
    cached, compile_s = {}, {}
    for k, spec in enumerate(plan.specs):
        if k == emptied:
            cached.clear()
        model = spec.model
        seconds = compile_s.setdefault(id(model), log_uniform(rng, 5, 150))
        if cached.setdefault(id(model), k) == k:
            compiling = Phase(seconds, rng.uniform(0, 0.05), 0.3, rng.uniform(0.05, 0.6), 1.0, swing=0.3)
            spec.model = replace(model, startup=model.startup[:-1] + [compiling] + model.startup[-1:])
    return plan


@scenario(held_out=THIRD)
def clean_first_of_day(rng):
    """One or a few trainings a day: the machine is switched on for them, and the first is cold and starts slowly.

    Nothing is in the page cache, imports come from the disk, fans and heat sink are at room temperature."""
    plan = lab(rng)
    begin_at(plan, rng.uniform(7, 10))
    plan.cold_room = (rng.uniform(0, 6), log_uniform(rng, 300, 1800))
    k = 0
    while k < len(plan.specs):
        model = plan.specs[k].model
        slow = rng.uniform(1.5, 5)
        plan.specs[k].model = replace(model, startup=[replace(p, seconds=p.seconds * slow, cpu=p.cpu / slow + 0.01)
                                                      for p in model.startup])
        if k:
            plan.gaps[k] = rng.randint(1, 4) * DAY_S + rng.uniform(-3600, 3600)
        k += rng.randint(1, 6)
    return plan


def decoded_once(slow, lasts, n, _epochs, train, check):
    """The first epochs decode what later ones take from memory."""
    stretch = 1 + slow * max(0.0, 1 - n / lasts)
    return [replace(train, seconds=train.seconds * stretch, duty=train.duty / stretch,
                    cpu=min(0.9, train.cpu * stretch)), check]


@scenario(held_out=THIRD)
def clean_cache_in_memory(rng):
    """Every training keeps its decoded data in its own memory: the first one to three epochs take two to five times.

    tf.data's cache(), MONAI's CacheDataset; the GPU waits for the decoders meanwhile."""
    return keep_in_memory(rng, lab(rng))


def keep_in_memory(rng, plan):
    with_epochs(rng, plan, 4, 15)
    for model in models_of(plan):
        if rng.random() < 0.8:
            model.epoch_of = partial(decoded_once, rng.uniform(0.5, 4), rng.choice([1, 1, 2, 3]))
    return plan


def autotuned(trial_s, n, _epochs, train, check):
    """Each new shape is first run with every algorithm there is."""
    trial = Phase(trial_s, min(1.0, train.duty * 1.3 + 0.1), min(1.05, train.intensity * 1.2), 0.06, 1.0, swing=0.5)
    return [trial, train, replace(trial, seconds=trial_s * 0.4), check] if n == 0 else [train, check]


@scenario(held_out=THIRD)
def clean_autotuned(rng):
    """cudnn.benchmark: seconds of trials at the start of each training, and now and then another winner.

    The algorithm that wins by a hair differs between repetitions, and with it time and power by 1 to 8 %."""
    return autotune(rng, lab(rng))


def autotune(rng, plan):
    for model in models_of(plan):
        model.epoch_of = partial(autotuned, log_uniform(rng, 0.5, 12))
    if rng.random() < 0.6:
        for group in specs_by_model(plan):
            other = replace(group[0].model, epoch_s=group[0].model.epoch_s * rng.uniform(1.01, 1.08),
                            intensity=group[0].model.intensity * rng.uniform(0.92, 1.0))
            for spec in group:
                spec.model = other if rng.random() < 0.3 else spec.model
    return plan


@scenario(held_out=THIRD)
def clean_grid(rng):
    """A grid over one or two hyperparameters: epochs 1 to 16, batch sizes in powers of two, layers, dropout.

    Each point once or twice; times follow the hyperparameter, often not in proportion."""
    plan = lab(rng)
    with_epochs(rng, plan, 6, 10)
    values = {"epochs": [1, 2, 4, 8, 16], "dropout": [0.0, 0.1, 0.3, 0.5], "num_layers": [1, 2, 4, 8],
              "batch_size": [8, 16, 32, 64, 128, 256], "hidden_size": [64, 128, 256, 512],
              "learning_rate": [1e-4, 1e-3, 1e-2]}
    for group in specs_by_model(plan):
        names = [name for name in group[0].model.defaults if name in values]
        for name in rng.sample(names, min(len(names), rng.randint(1, 2))):
            stride = rng.choice([1, 1, 2])
            for n, spec in enumerate(group):
                spec.hyper[name] = values[name][n // stride % len(values[name])]
    return plan


@scenario(held_out=THIRD)
def clean_pruned_search(rng):
    """A search that stops what looks bad: after a ninth or a third of the epochs, or by the training's own patience.

    epochs= says the most in all of them; learning rates differ, and worse ones end sooner (Hyperband, Optuna)."""
    plan = lab(rng)
    with_epochs(rng, plan, 9, 36)
    for spec in plan.specs:
        if "epochs" in spec.hyper:
            most = spec.hyper["epochs"]
            spec.hyper["learning_rate"] = log_uniform(rng, 1e-5, 1e-1)
            spec.epochs_done = max(1, rng.choice([most // 9, most // 9, most // 3, rng.randint(1, most), most]))
    return plan


@scenario(held_out=THIRD)
def clean_starved_loaders(rng):
    """Few cores for the GPU: decoders fill them, the GPU waits, and the sampler gets its turn late."""
    plan = lab(rng, kinds=("loader", "loader", "small", "cpu_only"), is_parallel=rng.random() < 0.3)
    for model in models_of(plan):
        model.cpu, model.sampler_drag = rng.uniform(0.55, 0.98), rng.uniform(1.05, 2.2)
        model.duty, model.swing = model.duty * rng.uniform(0.3, 0.9), rng.uniform(0.3, 0.9)
    return plan


@scenario(held_out=THIRD)
def clean_capped(rng):
    """A card whose power limit was lowered long ago: the large trainings run into it, and power is a flat line."""
    gpu, share = card(rng), rng.uniform(0.35, 0.8)
    plan = lab(rng, replace(gpu, cap_w=gpu.awake_w + share * (gpu.cap_w - gpu.awake_w)))
    for model in models_of(plan):
        model.intensity /= share
        model.epoch_s *= 1 + 0.3 * max(0.0, model.duty * model.intensity - 1)
    return plan


def on_card(model, speed):
    return replace(model, epoch_s=model.epoch_s / speed, duty=min(1.0, model.duty * speed ** -0.3))


@scenario(held_out=THIRD)
def clean_cards_mixed(rng):
    """The study ran on two cards of different kinds: by model, whichever was free, or moved in the middle.

    The records do not say which; each training is as long and as hungry as its card makes it."""
    plan = lab(rng)
    other = card(rng, memory_sensor=plan.gpu.memory_sensor)
    speed = log_uniform(rng, 0.5, 2)
    how, moved = rng.choice(["by model", "by model", "free", "moved"]), rng.randrange(1, len(plan.specs))
    models = models_of(plan)
    there = {id(model): (on_card(model, speed), n % 2 == 1) for n, model in enumerate(models)}
    for k, spec in enumerate(plan.specs):
        model, by_model = there[id(spec.model)]
        if {"by model": by_model, "free": rng.random() < 0.5, "moved": k >= moved}[how]:
            plan.cards[k], spec.model = other, model
    return plan


@scenario(held_out=THIRD)
def clean_slice(rng):
    """A slice of a large card with nobody in the others: rests at 50 to 110 W and never takes more than a part.

    MIG: the power reading is the whole card's, and the planned background in another slice costs no time."""
    gpu = data_center_card(rng)
    parts = rng.choice([2, 3, 4, 7])
    plan = lab(rng, replace(gpu, slice_cost=0.0))
    for model in models_of(plan):
        model.intensity /= parts
        model.epoch_s *= rng.uniform(1, 1.5)
    return plan


@scenario(held_out=THIRD)
def clean_tiny_study(rng):
    """Three to five models, each once: no repetitions to compare with, and the folder ends after five minutes."""
    plan = lab(rng, seconds=(8, 120))
    plan.specs = [group[0] for group in specs_by_model(plan)][:rng.randint(3, 5)]
    return plan


def saved(seconds, every, n, _epochs, train, check):
    """The GPU waits while the weights are written."""
    saving = Phase(seconds, cpu=0.03, context=1.0)
    return [train, check, saving] if n % every == every - 1 else [train, check]


@scenario(held_out=THIRD)
def clean_checkpoints(rng):
    """A checkpoint after every or every other epoch, over the network: the GPU waits 1 to 30 s each time."""
    return write_checkpoints(rng, lab(rng))


def write_checkpoints(rng, plan):
    with_epochs(rng, plan, 4, 12)
    for model in models_of(plan):
        if rng.random() < 0.8:
            model.epoch_of = partial(saved, log_uniform(rng, 1, 30), rng.choice([1, 1, 2]))
    return plan


@scenario(held_out=THIRD)
def clean_queued(rng):
    """A scheduler starts each experiment when the card is given to it: after a minute, or after hours, always cold.

    Others have the card in between, never at the same time."""
    plan = lab(rng, rng.choice([data_center_card, inference_card])(rng), pauses=("none",))
    plan.gaps = {k: log_uniform(rng, 20, 30000) for k in range(1, len(plan.specs)) if rng.random() < 0.8}
    return plan
