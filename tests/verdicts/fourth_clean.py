"""The fourth set's studies and cards, and its undisturbed folders: how people lay a study out and what they vary in it.

Written away from the judge and from the situations of the three other sets: kinds in a row, in turns, there and back,
with gaps of hours or weeks; sweeps over one hyperparameter; trainings of seconds and of an hour; cards that rest at 1
to 125 W.
fourth_set.py plants on the same studies.
"""
import math
from dataclasses import replace
from functools import partial

from machine import DRIVER_OPEN, Phase
from real_machines import DAY_S, ON_GPU, any_gpu, begin_at, gpu_like, models_of, with_epochs
from scenarios import background_phases, default_hyper, log_uniform, mutated_hyper, plan_of, scenario
from study import Background
from third_clean import card
from trainings import OTHER_MODELS, STUDY_MODELS, draw_model

FOURTH = 4
ORDERS = ("in a row", "in a row", "in turns", "there and back", "shuffled")
HOUR_S = 3600


# Cards

def module_card(rng):
    """A module on a robot's board: 1 to 3 W at rest, at most 40 W, a small heat sink without a fan."""
    gpu = gpu_like(rng, (1, 3), (1, 4), (6, 33), (0.5, 4), heat_tau_s=rng.uniform(40, 150))
    return replace(gpu, leak_w_per_k=rng.uniform(0.0003, 0.0015) * gpu.cap_w)


def accelerator(rng):
    """Eight of them in a box: 65 to 125 W at rest, 450 to 1000 W under load, clocks that fall at once."""
    return gpu_like(rng, (65, 125), (20, 60), (350, 850), (0.2, 2))


def some_card(rng):
    return rng.choice([module_card, accelerator, card, any_gpu])(rng)


# Studies

def draw_kinds(rng, count, seconds=(12, 150), kinds=ON_GPU, needs=()):
    """`count` different models, as many short as long ones, which have the hyperparameters `needs`."""
    able = [row for row in STUDY_MODELS + OTHER_MODELS if set(needs) <= set(row[2].split())]
    return [draw_model(rng, row, log_uniform(rng, *seconds), rng.choice(kinds)) for row in rng.sample(able, count)]


def planned_background(rng, others):
    """What a foreground has beside it in all of its runs: model, phases, and how long before it starts."""
    style = rng.choice(["steady", "steady", "alternating", "light"])
    return rng.choice(others), background_phases(rng, style), rng.choice([5, 10, 30, 60])


def beside(background):
    other, phases, lead_s = background
    return Background(other, dict(other.defaults), phases, lead_s)


def in_order(rng, blocks, order=None):
    """The experiments of several kinds, given as one list each, as people run them."""
    order = order or rng.choice(ORDERS)
    longest = max(map(len, blocks))
    rounds = [[block[n] for block in blocks if n < len(block)] for n in range(longest)]
    if order == "in a row":
        return [experiment for block in blocks for experiment in block]
    if order == "there and back":
        rounds = [row[::-1] if n % 2 else row for n, row in enumerate(rounds)]
    experiments = [experiment for row in rounds for experiment in row]
    if order == "shuffled":
        rng.shuffle(experiments)
    return experiments


def with_habits(rng, experiments, gpu=None):
    """A plan with somebody's habits: the pause between trainings, and whether the study is continued another day."""
    plan = plan_of(rng, experiments, gpu=gpu or some_card(rng))
    plan.pause_s = rng.choice([0, 2, 10, 30, 60, 60, 180])
    if rng.random() < 0.25:
        plan.pause_s = rng.uniform(2, 10)
        plan.cool_c = plan.gpu.ambient_c + plan.gpu.heat_k_per_w * plan.gpu.rest_w + rng.uniform(6, 14)
    if rng.random() < 0.3:
        continue_later(rng, plan, rng.randint(1, 3))
    return plan


def continue_later(rng, plan, times, waits_s=(2 * HOUR_S, 20 * DAY_S)):
    """After some experiments the study lies still; gives the first experiment of each session."""
    begins = sorted(rng.sample(range(1, len(plan.specs)), min(times, len(plan.specs) - 1)))
    for k in begins:
        plan.gaps[k] = log_uniform(rng, *waits_s)
    plan.cold_room = (rng.uniform(0, 5), log_uniform(rng, 300, 2400))
    return [0] + begins


def arrange(rng, gpu=None, seconds=(12, 150), kinds=ON_GPU, count=None, runs=None, order=None, is_parallel=None):
    """A study of one to six kinds with one to eight runs each; every third one beside planned backgrounds."""
    if is_parallel is None:
        is_parallel = rng.random() < 0.35
    runs = runs or rng.choice([1, 2, 3, 3, 4, 5, 8])
    count = count or rng.randint(max(2, math.ceil(7 / runs)), max(5, math.ceil(9 / runs)))
    models = draw_kinds(rng, count, seconds, kinds)
    others = draw_kinds(rng, 2, (20, 90)) if is_parallel else []
    hyper_of = rng.choice([default_hyper, default_hyper, mutated_hyper])
    blocks = []
    for model in models:
        background = planned_background(rng, others) if is_parallel else None
        blocks.append([(model, hyper_of(rng, model), beside(background) if background else None)
                       for _ in range(runs)])
    return with_habits(rng, in_order(rng, blocks, order), gpu)


def points(values_of, models, runs):
    """One list of experiments per model: for each of its values (hyperparameters, model) so many runs."""
    return [[(variant, model.defaults | hyper, None) for hyper, variant in values_of(model) for _ in range(runs)]
            for model in models]


def kinds_of(plan):
    """The experiments of each pair of foreground and background, by their number."""
    groups = {}
    for k, spec in enumerate(plan.specs):
        groups.setdefault((id(spec.model), spec.background and id(spec.background.model)), []).append(k)
    return list(groups.values())


# Sweeps

@scenario(held_out=FOURTH)
def clean_rates_swept(rng):
    """A sweep over the learning rate, in order from small to large, each value once: equal lengths, equal power.

    Where the rate is too large the loss is not a number any more, and some trainings then stop at once."""
    models = draw_kinds(rng, rng.randint(1, 2), (15, 120), needs=("learning_rate", "epochs"))
    count, stops = rng.randint(7, 16), rng.random() < 0.5
    rates = [10 ** (-6 + 6 * n / (count - 1)) for n in range(count)]
    plan = with_habits(rng, in_order(rng, points(lambda m: [({"learning_rate": r}, m) for r in rates], models, 1),
                                     "in a row"))
    with_epochs(rng, plan, 6, 20)
    for spec in plan.specs:
        if stops and spec.hyper["learning_rate"] > 0.1:
            spec.epochs_done = rng.randint(1, 3)
    return plan


@scenario(held_out=FOURTH)
def clean_batches_swept(rng):
    """Batch sizes from 4 to 512, up to where the memory ends: the epoch shortens, the load grows, the last one fails.

    The largest fails in the same way each time it is tried."""
    models = draw_kinds(rng, rng.randint(1, 3), (10, 60), needs=("batch_size",))
    sizes = [4, 8, 16, 32, 64, 128, 256, 512][rng.randint(0, 2):]
    runs = rng.choice([1, 1, 2, 3])
    blocks = points(lambda m: [({"batch_size": size}, m) for size in sizes], models, runs)
    plan = with_habits(rng, in_order(rng, blocks, rng.choice(["in a row", "shuffled"])))
    most = {id(model): rng.choice([128, 256, 512, 1024]) for model in models}
    for spec in plan.specs:
        if spec.hyper["batch_size"] > most[id(spec.model)]:
            spec.outcome, spec.retries = "failed", rng.choice([1, 3])
    return plan


@scenario(held_out=FOURTH)
def clean_accumulated(rng):
    """The same effective batch in 1 to 16 steps of gradient accumulation: small micro-batches leave the GPU idle."""
    models = draw_kinds(rng, rng.randint(1, 3), (10, 60), needs=("batch_size",))

    def values(model):
        steps = [1, 2, 4, 8, 16][:rng.randint(3, 5)]
        return [({"accumulation_steps": n, "batch_size": max(1, 2 * model.defaults["batch_size"] // n)}, model)
                for n in steps]
    return with_habits(rng, in_order(rng, points(values, models, rng.randint(1, 3))))


@scenario(held_out=FOURTH)
def clean_mixed_precision(rng):
    """Each model in 32 bits and with automatic mixed precision, in turns: 1.1 to 2.4 times faster, if it fills the GPU.

    A small model gains nothing or loses a little by the casts."""
    models = draw_kinds(rng, rng.randint(2, 4), (20, 150))
    name, values = rng.choice([("amp", (0, 1)), ("fp16", (False, True)), ("precision", ("fp32", "bf16"))])

    def variants(model):
        gain = rng.uniform(1.1, 2.4) if model.duty > 0.6 else rng.uniform(0.95, 1.1)
        watts = min(1.05, model.intensity * rng.uniform(0.75, 1.1))
        fast = replace(model, epoch_s=model.epoch_s / gain, intensity=watts)
        return [({name: values[0]}, model), ({name: values[1]}, fast)]
    return with_habits(rng, in_order(rng, points(variants, models, rng.randint(2, 4))))


@scenario(held_out=FOURTH)
def clean_sizes_laddered(rng):
    """A ladder of model sizes, each twice the last: seconds at 10 % load first, minutes near the limit last."""
    name = rng.choice(["hidden_size", "num_layers"])
    models = draw_kinds(rng, rng.choice([1, 1, 2]), (8, 20), ("small", "small", "large"), (name,))
    times = [1, 2, 4, 8, 16, 32][:rng.randint(4, 6)]
    blocks = points(lambda m: [({name: m.defaults[name] * n}, m) for n in times], models, rng.randint(1, 3))
    for model in models:
        model.size_power = min(model.size_power, 0.9)
    return with_habits(rng, in_order(rng, blocks))


# Layouts

@scenario(held_out=FOURTH)
def clean_seeds_only(rng):
    """One model, one setting, 12 to 30 seeds: there is nothing else in the folder."""
    model, = draw_kinds(rng, 1, (8, 90), ON_GPU + ("cpu_only",), ("seed",))
    return with_habits(rng, [(model, model.defaults | {"seed": n}, None) for n in range(rng.randint(12, 30))])


@scenario(held_out=FOURTH)
def clean_folds(rng):
    """Cross-validation of two to four models in five or ten folds without a pause; folds differ by some images."""
    folds, blocks = rng.choice([5, 5, 10]), []
    for model in draw_kinds(rng, rng.randint(1, 3), (8, 60)):
        sizes = [math.exp(rng.gauss(0, 0.015)) for _ in range(folds)]
        blocks.append([(replace(model, epoch_s=model.epoch_s * size), model.defaults | {"fold": n}, None)
                       for n, size in enumerate(sizes)])
    plan = with_habits(rng, in_order(rng, blocks, "in a row"))
    plan.noise = replace(plan.noise, cold=1)
    plan.pause_s, plan.cool_c = 0, None
    return plan


@scenario(held_out=FOURTH)
def clean_weeks_later(rng):
    """Two to six weeks later the reviewers want more repetitions: another room temperature, summer time, a new driver.

    The card then rests a watt or two off what it did, and everything takes up to 2 % more or less."""
    plan = arrange(rng, runs=rng.randint(2, 4), is_parallel=rng.random() < 0.25)
    plan.gaps = {}
    first = rng.randint(len(plan.specs) // 3, len(plan.specs) * 3 // 4)
    begin_at(plan, rng.uniform(8, 20))
    plan.gaps[first] = rng.randint(14, 45) * DAY_S + rng.uniform(-8, 8) * HOUR_S
    plan.zone_changes[first] = rng.choice([0, HOUR_S, -HOUR_S])
    gpu, faster = plan.gpu, rng.uniform(0.98, 1.02)
    later = replace(gpu, rest_w=gpu.rest_w * rng.uniform(0.95, 1.05), ambient_c=gpu.ambient_c + rng.uniform(-5, 3))
    renewed = {}
    for k in range(first, len(plan.specs)):
        model = plan.specs[k].model
        plan.cards[k] = later
        plan.specs[k].model = renewed.setdefault(id(model), replace(model, epoch_s=model.epoch_s * faster))
    return plan


@scenario(held_out=FOURTH)
def clean_pairs_grid(rng):
    """Each of two to four models beside each of two or three others, once or twice: which of them fit together?"""
    models, others = draw_kinds(rng, rng.randint(2, 4), (15, 100)), draw_kinds(rng, rng.randint(2, 3), (20, 90))
    runs, blocks = rng.choice([1, 1, 2]), []
    beside_which = [(other, background_phases(rng, "steady"), 20) for other in others]
    for model in models:
        blocks += [[(model, default_hyper(rng, model), beside(other)) for _ in range(runs)]
                   for other in beside_which]
    return with_habits(rng, in_order(rng, blocks))


@scenario(held_out=FOURTH)
def clean_alone_and_beside(rng):
    """A alone, A beside its background, B alone, B beside its own, and the same again, two to five times."""
    others, blocks, runs = draw_kinds(rng, 2, (20, 90)), [], rng.randint(2, 5)
    for model in draw_kinds(rng, rng.randint(2, 4), (15, 120)):
        background = planned_background(rng, others)
        blocks += [[(model, dict(model.defaults), None)] * runs,
                   [(model, dict(model.defaults), beside(background)) for _ in range(runs)]]
    return with_habits(rng, in_order(rng, blocks, "in turns"))


@scenario(held_out=FOURTH)
def clean_beside_processors(rng):
    """The planned background trains on the processors alone: the GPU has one program, the cores have two."""
    others = draw_kinds(rng, 2, (20, 90), ("cpu_only",))
    blocks = []
    for model in draw_kinds(rng, rng.randint(2, 4), (15, 120)):
        phases = [Phase(rng.uniform(1, 8), cpu=0.05),
                  Phase(log_uniform(rng, 60, 2000), cpu=log_uniform(rng, 0.05, 0.6))]
        background = rng.choice(others), phases, 10
        blocks.append([(model, default_hyper(rng, model), beside(background)) for _ in range(rng.randint(2, 4))])
    return with_habits(rng, in_order(rng, blocks))


@scenario(held_out=FOURTH)
def clean_failed_run_again(rng):
    """What failed in the night is run again by hand in the morning, at the end of the same folder."""
    plan = arrange(rng)
    morning = len(plan.specs)
    for k in sorted(rng.sample(range(morning), rng.randint(1, max(1, morning // 4)))):
        spec = plan.specs[k]
        plan.specs.append(replace(spec, key=f"{spec.key} again", hyper=dict(spec.hyper)))
        spec.outcome, spec.retries = "failed", 3
    plan.gaps[morning] = rng.uniform(1, 12) * HOUR_S
    return plan


@scenario(held_out=FOURTH)
def clean_trained_then_scored(rng):
    """After each training, or after all of them, the saved weights are scored: short experiments without epochs."""
    blocks = []
    for model in draw_kinds(rng, rng.randint(2, 3), (30, 150)):
        defaults = {name: value for name, value in model.defaults.items() if name in ("seed", "batch_size")}
        scored = replace(model, name=f"{model.name}_eval", defaults=defaults | {"split": 1},
                         epoch_s=rng.uniform(0.5, 6), duty=model.duty * rng.uniform(0.4, 1),
                         intensity=model.intensity * 0.7, validation=0.0)
        runs = rng.randint(2, 5)
        blocks += [[(model, dict(model.defaults), None)] * runs, [(scored, dict(scored.defaults), None)] * runs]
    return with_habits(rng, in_order(rng, blocks, rng.choice(["in turns", "in a row"])))


# Trainings

def saved_slowly(saving_s, every, n, _epochs, train, check):
    """Weights and optimizer go to a file server while the GPU waits."""
    return [train, check] + [Phase(saving_s, cpu=0.04, context=1.0)] * (n % every == every - 1)


@scenario(held_out=FOURTH)
def clean_language_model(rng):
    """A language model of billions of parameters is fine-tuned three to six times for 5 to 20 minutes.

    The weights take a minute or two to load; then the card is at its limit, but for checkpoints of many GB."""
    model, = draw_kinds(rng, 1, (300, 1200), ("large",), ("learning_rate", "epochs"))
    model.startup = [Phase(rng.uniform(5, 20), cpu=0.04), Phase(log_uniform(rng, 20, 120), cpu=rng.uniform(0.03, 0.15),
                                                             context=1.0)] + model.startup[-1:]
    model.duty, model.intensity = rng.uniform(0.93, 1), rng.uniform(0.85, 1.05)
    model.epoch_of = partial(saved_slowly, log_uniform(rng, 5, 60), rng.randint(1, 3))
    hyper_of = rng.choice([default_hyper, mutated_hyper])
    plan = with_habits(rng, [(model, hyper_of(rng, model), None) for _ in range(rng.randint(3, 6))], accelerator(rng))
    with_epochs(rng, plan, 3, 8)
    return plan


@scenario(held_out=FOURTH)
def clean_an_hour_each(rng):
    """Two to four trainings of 20 to 60 minutes, of two kinds, on any card."""
    models = draw_kinds(rng, 2, (1200, 3600), ON_GPU)
    return with_habits(rng, in_order(rng, [[(model, default_hyper(rng, model), None)] * rng.randint(1, 2)
                                           for model in models]))


@scenario(held_out=FOURTH)
def clean_toy_trainings(rng):
    """Ten to thirty trainings of 2 to 7 s, as in a tutorial: a handful of samples each, and half of it is start-up."""
    models = draw_kinds(rng, rng.randint(2, 5), (2, 7), ("small", "small", "large", "cpu_only"))
    return with_habits(rng, in_order(rng, [[(model, default_hyper(rng, model), None)] * rng.randint(5, 6)
                                           for model in models]))


def of_episodes(factors, n, _epochs, train, check):
    """The agent lives longer or shorter: the processors play, and the GPU learns from what there is."""
    play = replace(train, seconds=train.seconds * 0.6 * factors[n % len(factors)], duty=0.04, pipelined=False)
    return [play, replace(train, seconds=train.seconds * 0.4, swing=0.1), check]


@scenario(held_out=FOURTH)
def clean_episodes(rng):
    """Reinforcement learning: episodes are as long as the seed makes them; equal settings differ by 5 to 25 %."""
    plan = arrange(rng, kinds=("small", "loader"), runs=rng.randint(3, 6), is_parallel=False)
    plan.noise = replace(plan.noise, cold=1)
    with_epochs(rng, plan, 6, 20)
    spread, drift = rng.uniform(0.1, 0.4), rng.uniform(0.05, 0.2)
    for spec in plan.specs:
        level = rng.gauss(0, drift)
        spec.model = replace(spec.model, epoch_of=partial(
            of_episodes, [math.exp(level + rng.gauss(0, spread)) for _ in range(25)]))
    return plan


def workers_started(seconds, cpu, _n, _epochs, train, check):
    """persistent_workers=False: each epoch waits until a process per core has imported everything again."""
    return [Phase(seconds, cpu=cpu, context=1.0), train, check]


@scenario(held_out=FOURTH)
def clean_workers_each_epoch(rng):
    """Loader workers start anew in each epoch: 1 to 12 s of all cores and an idle GPU, then load, again and again."""
    plan = arrange(rng)
    with_epochs(rng, plan, 3, 12)
    for model in models_of(plan):
        model.epoch_of = partial(workers_started, log_uniform(rng, 1, 12), rng.uniform(0.2, 0.9))
    return plan


def member_changes(every, rest, n, _epochs, train, check):
    return ([rest] if n and n % every == 0 else []) + [train, check]


@scenario(held_out=FOURTH)
def clean_ensembles(rng):
    """Each training is three to six trainings in one process; between them the GPU rests or is even given back."""
    plan = arrange(rng)
    with_epochs(rng, plan, 6, 18)
    for model in models_of(plan):
        if "epochs" in model.defaults:
            rest = Phase(log_uniform(rng, 1.5, 12), cpu=rng.uniform(0.03, 0.2),
                         context=rng.choice([0.0, DRIVER_OPEN, 1.0]))
            every = max(1, model.defaults["epochs"] // rng.randint(3, 6))
            model.epoch_of = partial(member_changes, every, rest)
    return plan



@scenario(held_out=FOURTH)
def clean_single_runs_apart(rng):
    """Single runs, hours or days apart, each from cold: somebody trains now and then and keeps all in one folder."""
    plan = arrange(rng, runs=1, count=rng.randint(4, 9), seconds=(10, 400), is_parallel=False)
    plan.gaps = {k: log_uniform(rng, 0.5 * HOUR_S, 5 * DAY_S) for k in range(1, len(plan.specs))}
    plan.cold_room = (rng.uniform(0, 6), log_uniform(rng, 300, 2400))
    return plan


@scenario(held_out=FOURTH)
def clean_module_on_a_robot(rng):
    """A board of 10 to 40 W that gets hot in minutes; a second trainer on its few cores is felt at once."""
    plan = arrange(rng, module_card(rng), kinds=("small", "large", "loader", "cpu_only"))
    plan.host = replace(plan.host, idle_w=rng.uniform(1.5, 5), span_w=rng.uniform(5, 25), ram_w=rng.uniform(0.3, 1),
                        crosstalk=rng.uniform(0.2, 0.6))
    for model in models_of(plan):
        model.cpu = min(0.95, model.cpu * 1.6)
    return plan
