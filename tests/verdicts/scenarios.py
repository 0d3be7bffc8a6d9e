"""The scenarios: what folder the study would have left, and what is planted in it.

A scenario is a function (rng) -> Plan; its docstring is its sentence in `folders.py --list`.  It begins with a plain
study (`some_study` or one of its kinds) and plants.
"""
import math

import faults
from machine import RUN_SHARE, Phase, draw_gpu, draw_host
from study import FOREVER, Background, Intruder, Plan, Spec
from trainings import draw_models, draw_noise, mutate

SCENARIOS = {}


def scenario(held_out=False):
    def register(function):
        SCENARIOS[function.__name__] = function
        function.held_out = held_out
        return function
    return register


# Plain studies

def plan_of(rng, experiments, gpu=None, host=None, noise=None):
    """A plan for (model, hyper, background) triples in the order given."""
    specs = [Spec(f"experiment{n}", model, hyper, background)
             for n, (model, hyper, background) in enumerate(experiments, 1)]
    return Plan(gpu or draw_gpu(rng), host or draw_host(rng), noise or draw_noise(rng), specs,
                rng.choice([30, 60, 60, 90, 120]), 1.70e9 + rng.uniform(0, 6e7), rng.choice([0, 0.5, 1]))


def default_hyper(rng, model):
    hyper = dict(model.defaults)
    if rng.random() < 0.3:
        hyper["seed"] = rng.randint(0, 9999)
    return hyper


def mutated_hyper(rng, model, wide=False):
    """As the study mutates: one hyperparameter of each experiment, or all of them when `wide`."""
    hyper = dict(model.defaults)
    for name in hyper if wide else [rng.choice(list(hyper))]:
        hyper[name] = mutate(rng, model.defaults, name, wide)
    return hyper


def in_some_order(rng, experiments):
    if rng.random() < 0.5:
        rng.shuffle(experiments)
    return experiments


def repeats(rng, seconds=(15, 90), **kinds):
    models = draw_models(rng, rng.randint(2, 4), seconds, **kinds)
    runs = rng.randint(5, 8)
    return in_some_order(rng, [(m, default_hyper(rng, m), None) for m in models for _ in range(runs)])


def many_models(rng, seconds=(15, 90)):
    return [(m, default_hyper(rng, m), None) for m in draw_models(rng, rng.randint(10, 16), seconds)]


def mutations(rng, seconds=(15, 80), wide=False):
    models = draw_models(rng, rng.randint(2, 5), seconds)
    runs = rng.randint(4, 7)
    if wide:
        for model in models:
            spread_epochs(rng, model)
    return in_some_order(rng, [(m, mutated_hyper(rng, m, wide), None) for m in models for _ in range(runs)])


def spread_epochs(rng, model):
    """So that one epoch and a hundred both make a folder of bearable size."""
    if "epochs" in model.defaults:
        model.defaults["epochs"], model.epoch_s = 10, rng.uniform(0.3, 2.0)


def parallel(rng, style, seconds=(20, 90), count=None):
    """Each foreground has the same background in all its runs, as in the study's settings, or all share one."""
    models = draw_models(rng, rng.randint(3, 5), seconds, kinds=("small", "large", "loader"))
    others = draw_models(rng, rng.randint(1, 3), (20, 90), kinds=("small", "large", "large"))
    lead_s, runs = rng.choice([5, 20, 30]), count or rng.randint(4, 6)
    experiments = []
    for foreground in models:
        other = rng.choice(others)
        phases = background_phases(rng, style)
        for _ in range(runs):
            background = Background(other, dict(other.defaults), phases, lead_s)
            experiments.append((foreground, default_hyper(rng, foreground), background))
    return in_some_order(rng, experiments)


def background_phases(rng, style):
    """steady: one long training; alternating: trains, ends, starts again after a gap; light: asks little."""
    cpu, intensity = rng.uniform(0.04, 0.15), rng.uniform(0.4, 1.0)
    startup = [Phase(rng.uniform(1, 15), cpu=cpu), Phase(rng.uniform(0.5, 4), cpu=cpu, context=1.0)]
    if style == "steady":
        return startup + [Phase(rng.uniform(200, 2000), rng.uniform(0.5, 1.0), intensity, cpu, 1.0)]
    if style == "light":
        return startup + [Phase(rng.uniform(60, 600), rng.uniform(0.05, 0.25), intensity, cpu, 1.0)]
    gap = Phase(rng.uniform(2, 60) if rng.random() < 0.5 else rng.uniform(2, 10), cpu=0.01, alive=False)
    return startup + [Phase(rng.uniform(2, 60), rng.uniform(0.4, 1.0), intensity, cpu, 1.0), gap]


def mixed(rng):
    """First alone, then each model again beside a background."""
    together = parallel(rng, rng.choice(["steady", "alternating"]), count=3)
    alone = [(m, default_hyper(rng, m), None) for m, _, _ in together]
    return alone + together


def some_study(rng):
    """A study of any kind, mostly with repetitions: the ground for what is planted."""
    make = rng.choice([repeats, repeats, repeats, mutations, mutations, many_models, mixed])
    return plan_of(rng, make(rng))


def sequential_study(rng):
    return plan_of(rng, rng.choice([repeats, repeats, mutations])(rng))


def parallel_study(rng):
    return plan_of(rng, parallel(rng, rng.choice(["steady", "steady", "alternating", "light"])))


# Clean folders

@scenario()
def clean_repeats(rng):
    """A few models, each trained many times with the same hyperparameters."""
    return plan_of(rng, repeats(rng))


@scenario()
def clean_many_models(rng):
    """Many different models, each trained once."""
    return plan_of(rng, many_models(rng))


@scenario()
def clean_mutations(rng):
    """One hyperparameter mutated from experiment to experiment."""
    return plan_of(rng, mutations(rng))


@scenario(held_out=True)
def clean_wide_mutations(rng):
    """All hyperparameters drawn anew each time: epochs 1 to 100, batch sizes, sizes, learning rates."""
    return plan_of(rng, mutations(rng, (10, 30), wide=True))


@scenario()
def clean_parallel_steady(rng):
    """Every experiment beside a planned background that trains all the time."""
    return plan_of(rng, parallel(rng, "steady"))


@scenario()
def clean_parallel_alternating(rng):
    """Planned backgrounds that train, end, and start again after gaps of 2 to 60 s."""
    return plan_of(rng, parallel(rng, "alternating"))


@scenario(held_out=True)
def clean_parallel_light(rng):
    """Planned backgrounds that ask little of the GPU."""
    return plan_of(rng, parallel(rng, "light"))


@scenario()
def clean_mixed(rng):
    """As the study: every model alone first, then again beside a background."""
    return plan_of(rng, mixed(rng))


@scenario()
def clean_short(rng):
    """Trainings of 5 to 14 s."""
    return plan_of(rng, repeats(rng, (5, 14)))


@scenario(held_out=True)
def clean_long(rng):
    """Trainings of three to twelve minutes."""
    models = draw_models(rng, rng.randint(2, 3), (180, 700))
    return plan_of(rng, in_some_order(rng, [(m, default_hyper(rng, m), None) for m in models for _ in range(4)]))


@scenario()
def clean_cpu_only(rng):
    """Trainings that never touch the GPU, some of which hold up the sampler."""
    return plan_of(rng, repeats(rng, kinds=("cpu_only", "cpu_only", "cpu_only", "small")))


@scenario(held_out=True)
def clean_high_idle(rng):
    """A GPU that rests at 60 to 120 W and whose clocks come down only after 12 to 30 s."""
    gpu = draw_gpu(rng)
    rise = rng.uniform(60, 120) - gpu.rest_w
    gpu.rest_w, gpu.awake_w, gpu.cap_w = gpu.rest_w + rise, gpu.awake_w + rise, gpu.cap_w + rise
    gpu.heat_k_per_w *= (gpu.cap_w - rise) / gpu.cap_w
    gpu.clock_lag_s = rng.uniform(12, 30)
    return plan_of(rng, rng.choice([repeats, mutations, many_models])(rng), gpu=gpu)


@scenario()
def clean_loader_bound(rng):
    """Trainings that wait for their data: utilisation and power fluctuate."""
    return plan_of(rng, repeats(rng, kinds=("loader",)))


@scenario(held_out=True)
def clean_desktop(rng):
    """The same GPU draws a desktop: never quite at rest, a few per cent of utilisation now and then."""
    plan = plan_of(rng, rng.choice([repeats, mutations])(rng))
    context = rng.choice([0.0, 1.0])
    plan.desktop = [Phase(rng.uniform(2, 30), rng.uniform(0, 0.01), 0.2, 0.01, context),
                    Phase(rng.uniform(0.3, 3), rng.uniform(0.01, 0.08), 0.2, 0.02, context)]
    return plan


@scenario(held_out=True)
def clean_heavy_tails(rng):
    """One run in ten varies three times as much as the others, with nothing beside it."""
    return plan_of(rng, rng.choice([repeats, mutations])(rng), noise=draw_noise(rng, heavy=0.1))


@scenario(held_out=True)
def clean_odd_clock(rng):
    """Local time changes by an hour, or the clock is set between two experiments."""
    plan = some_study(rng)
    k = rng.randrange(1, len(plan.specs))
    if rng.random() < 0.5:
        plan.zone_changes[k] = rng.choice([-3600, 3600])
    else:
        plan.clock_steps[k] = (rng.choice([-20, -2, 3, 40, 3600]), "before")
    return plan


# Other processes

def log_uniform(rng, low, high):
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def constant_load(rng):
    return [Phase(FOREVER, rng.uniform(0.5, 1.0), rng.uniform(0.4, 1.0), rng.uniform(0.03, 0.15), 1.0)]


def light_load(rng):
    duty, cpu = log_uniform(rng, 0.005, 0.25), log_uniform(rng, 0.002, 0.06)
    return [Phase(FOREVER, duty, rng.uniform(0.3, 1.0), cpu, 1.0)]


def alternating_load(rng):
    cpu = rng.uniform(0.03, 0.15)
    return [Phase(rng.uniform(10, 120), rng.uniform(0.4, 1.0), rng.uniform(0.4, 1.0), cpu, 1.0),
            Phase(rng.uniform(5, 90), cpu=0.01, context=rng.choice([0.0, 1.0]))]


def bursts(rng):
    return [Phase(rng.uniform(1, 5), rng.uniform(0.6, 1.0), rng.uniform(0.4, 1.0), 0.1, 1.0),
            Phase(rng.uniform(5, 40), cpu=0.02, context=1.0)]


def memory_only(rng):
    return [Phase(FOREVER, cpu=rng.uniform(0, 0.01), context=1.0)]


def processors_only(rng):
    return [Phase(FOREVER, cpu=log_uniform(rng, 0.01, 1.0))]


def some_load(rng):
    return rng.choice([constant_load, constant_load, light_load, alternating_load, bursts])(rng)


def inside(k, share):
    """The position at a share of experiment k's training."""
    return k + RUN_SHARE * share


def between(k):
    """The position in the pause before experiment k."""
    return k - (1 - RUN_SHARE) / 2


def over_some(rng, plan, phases, text):
    """From anywhere to anywhere, over one to six experiments."""
    first = rng.randrange(len(plan.specs))
    last = min(len(plan.specs) - 1, first + rng.randint(0, 5))
    begins = rng.choice([between(first), inside(first, rng.uniform(0, 0.6))])
    ends = rng.choice([between(last + 1), inside(last, rng.uniform(0.7, 0.99))])
    plan.intruders.append(Intruder(phases, begins, ends, text))
    return plan


@scenario()
def intruder_constant(rng):
    """A foreign training computes steadily beside one to six experiments."""
    return over_some(rng, some_study(rng), constant_load(rng), "another process that computes all the time")


@scenario()
def intruder_light(rng):
    """A foreign process that asks little of the GPU, beside one to six experiments."""
    return over_some(rng, some_study(rng), light_load(rng), "another process with a light load")


@scenario()
def intruder_alternating(rng):
    """A foreign process that computes and rests in turns of 5 s to two minutes."""
    return over_some(rng, some_study(rng), alternating_load(rng), "another process that computes at times")


@scenario(held_out=True)
def intruder_bursts(rng):
    """A foreign process that computes in bursts of a few seconds."""
    return over_some(rng, some_study(rng), bursts(rng), "another process with bursts")


@scenario()
def intruder_one(rng):
    """Only one experiment is disturbed, and only in its middle."""
    plan = some_study(rng)
    k = rng.randrange(len(plan.specs))
    begins, ends = inside(k, rng.uniform(0, 0.4)), inside(k, rng.uniform(0.6, 1))
    plan.intruders.append(Intruder(some_load(rng), begins, ends, "another process during part of one experiment"))
    return plan


@scenario(held_out=True)
def intruder_comes(rng):
    """A foreign process comes in the middle of an experiment and stays to the end of the folder."""
    plan = some_study(rng)
    k = rng.randrange(len(plan.specs) // 3, len(plan.specs))
    plan.intruders.append(Intruder(some_load(rng), inside(k, rng.uniform(0.2, 0.8)), len(plan.specs),
                                   "another process that came and stayed"))
    return plan


@scenario()
def intruder_goes(rng):
    """A foreign process is there from before the study and goes in the middle of an experiment."""
    plan = some_study(rng)
    k = rng.randrange(0, len(plan.specs) * 2 // 3)
    plan.intruders.append(Intruder(some_load(rng), -1, inside(k, rng.uniform(0.2, 0.8)),
                                   "another process from before the study"))
    return plan


@scenario()
def intruder_whole_folder(rng):
    """A foreign process computes beside the whole study."""
    plan = some_study(rng)
    plan.intruders.append(Intruder(some_load(rng), -1, len(plan.specs), "another process during the whole study"))
    return plan


@scenario(held_out=True)
def intruder_between(rng):
    """A foreign process begins and ends exactly between experiments."""
    plan = some_study(rng)
    first = rng.randrange(len(plan.specs))
    last = min(len(plan.specs) - 1, first + rng.randint(0, 5))
    plan.intruders.append(Intruder(some_load(rng), between(first), between(last + 1),
                                   "another process during whole experiments"))
    return plan


@scenario()
def intruder_memory_only(rng):
    """A foreign process holds a context and memory and computes nothing."""
    return over_some(rng, some_study(rng), memory_only(rng), "another process that only holds a context")


@scenario()
def intruder_processors_only(rng):
    """A foreign process uses the processors and not the GPU."""
    return over_some(rng, some_study(rng), processors_only(rng), "another process on the processors")


@scenario(held_out=True)
def intruder_in_parallel(rng):
    """A foreign process beside experiments that have a planned background."""
    return over_some(rng, parallel_study(rng), some_load(rng), "another process beside the planned background")


@scenario()
def leftover_background(rng):
    """The background of a parallel experiment survives and computes beside the next ones."""
    plan = plan_of(rng, parallel(rng, "steady", count=3) + repeats(rng))
    with_background = [k for k, spec in enumerate(plan.specs[:-1]) if spec.background]
    for k in rng.sample(with_background, rng.randint(1, 2)):
        last = min(len(plan.specs) - 1, k + rng.randint(1, 5))
        plan.intruders.append(Intruder(plan.specs[k].background.phases[-1:], inside(k, 1),
                                       rng.choice([between(last + 1), inside(last, rng.uniform(0.1, 0.9))]),
                                       "the leftover of an earlier background"))
    return plan


@scenario(held_out=True)
def several_intruders(rng):
    """Two to four foreign processes of different kinds come and go."""
    plan = some_study(rng)
    for kind in rng.sample([constant_load, light_load, alternating_load, bursts, memory_only, processors_only],
                           rng.randint(2, 4)):
        over_some(rng, plan, kind(rng), f"another process ({kind.__name__.replace('_', ' ')})")
    return plan


# The machine and the planned background

@scenario()
def thermal_throttling(rng):
    """The fans fail for some experiments: the GPU gets too hot and lowers its clocks."""
    return heated(rng, plan_of(rng, repeats(rng, (40, 120), kinds=("large",))))


def heated(rng, plan):
    """One to six experiments with so little cooling that the hardest training would go 10 to 60 K past the limit."""
    gpu = plan.gpu
    load = max(min(1.0, spec.model.duty * spec.model.intensity) for spec in plan.specs)
    power_w = gpu.awake_w + (gpu.cap_w - gpu.awake_w) * load
    without_limit_c = gpu.limit_c + rng.uniform(10, 60)
    first = rng.randrange(len(plan.specs))
    plan.hot = (first, min(len(plan.specs), first + rng.randint(1, 6)),
                (without_limit_c - gpu.ambient_c) / (gpu.heat_k_per_w * power_w))
    return plan


def damage_backgrounds(rng, defect, at):
    plan = parallel_study(rng)
    for spec in rng.sample(plan.specs, rng.randint(1, max(1, len(plan.specs) // 3))):
        spec.background.defect, spec.background.defect_at = defect, rng.uniform(*at)
    return plan


@scenario()
def background_never_started(rng):
    """The planned background of some experiments never started."""
    return damage_backgrounds(rng, "never started", (0, 0))


@scenario()
def background_died(rng):
    """The planned background of some experiments died midway."""
    return damage_backgrounds(rng, "died", (0.05, 0.8))


@scenario(held_out=True)
def background_stalls(rng):
    """The planned background of some experiments lives on but computes nothing any more."""
    return damage_backgrounds(rng, "stalls", (0.0, 0.7))


@scenario(held_out=True)
def background_late(rng):
    """The planned background of some experiments started late."""
    return damage_backgrounds(rng, "started late", (0.15, 0.9))


# The trainings

def outcomes(rng, plan, outcome, share=0.25):
    for spec in rng.sample(plan.specs, rng.randint(1, max(1, int(share * len(plan.specs))))):
        spec.outcome = outcome
        if outcome == "failed":
            spec.retries = rng.choice([1, 2, 3])
    return plan


@scenario()
def trainings_failed(rng):
    """Some trainings failed for good, and the study wrote that down."""
    return outcomes(rng, some_study(rng), "failed")


@scenario()
def trainings_retried(rng):
    """Some trainings succeeded only at the second or third attempt."""
    plan = some_study(rng)
    for spec in rng.sample(plan.specs, rng.randint(1, 5)):
        spec.retries = rng.choice([1, 1, 2])
    return plan


@scenario()
def trainings_did_nothing(rng):
    """Some "trainings" ended after two seconds without a metric and were called successful."""
    return outcomes(rng, some_study(rng), "did nothing")


@scenario(held_out=True)
def trainings_printed_only(rng):
    """Some "trainings" printed a metric, did nothing and exited with 0."""
    return outcomes(rng, some_study(rng), "printed only")


@scenario(held_out=True)
def trainings_on_processors(rng):
    """Some trainings silently fell back to the processors."""
    plan = plan_of(rng, repeats(rng, (15, 60), kinds=("small", "large", "loader")))
    return outcomes(rng, plan, "fell back to the CPU", 0.2)


# The data

def with_fault(rng, *chosen):
    plan = some_study(rng)
    plan.faults = [(faults.STAGE[fault], fault) for fault in chosen]
    return plan


@scenario()
def data_gaps(rng):
    """The sampler hung for a part of some experiments."""
    return with_fault(rng, faults.sampling_gaps)


@scenario()
def data_truncated(rng):
    """Files that end in the middle of a line."""
    return with_fault(rng, faults.truncated_files)


@scenario()
def data_missing(rng):
    """One kind of file, or the folder, is missing for some or for all experiments."""
    return with_fault(rng, faults.missing_files)


@scenario(held_out=True)
def data_summary_alone(rng):
    """Nothing but summary.csv."""
    return with_fault(rng, faults.all_files_missing)


@scenario()
def data_swapped(rng):
    """Two columns of summary.csv have changed places."""
    return with_fault(rng, faults.swapped_columns)


@scenario()
def data_retries(rng):
    """retries=many, negative or absurd."""
    return with_fault(rng, faults.retries_nonsense)


@scenario()
def data_metrics(rng):
    """Metrics out of their range, NaN or infinite."""
    return with_fault(rng, faults.wrong_metrics)


@scenario(held_out=True)
def data_duplicates(rng):
    """Two rows with the same id, one folder for both."""
    return with_fault(rng, faults.duplicate_ids)


@scenario(held_out=True)
def data_backward_stamps(rng):
    """Stamps that go backwards inside a trace."""
    return with_fault(rng, faults.backward_stamps)


@scenario()
def data_wrong_sums(rng):
    """Energies that are not the sum of their samples or parts."""
    return with_fault(rng, faults.wrong_sums)


@scenario(held_out=True)
def data_differing_summary(rng):
    """summary.csv and experiment.json contradict each other."""
    return with_fault(rng, faults.differing_summary)


@scenario()
def data_durations(rng):
    """Durations of zero, below zero or in another unit."""
    return with_fault(rng, faults.broken_durations)


@scenario(held_out=True)
def data_timestamps(rng):
    """Times of experiments that are hours off their traces."""
    return with_fault(rng, faults.wrong_timestamps)


@scenario(held_out=True)
def clock_set_inside(rng):
    """The clock is set while a training runs: stamps and the duration jump."""
    plan = some_study(rng)
    for k in rng.sample(range(len(plan.specs)), rng.randint(1, 2)):
        plan.clock_steps[k] = (rng.choice([-1, 1]) * log_uniform(rng, 5, 1000), "inside")
    return plan


# Several together

def plant_several(rng, plan, chosen_faults):
    over_some(rng, plan, some_load(rng), "another process")
    for spec in rng.sample(plan.specs, 2):
        spec.outcome = rng.choice(["failed", "did nothing"])
    for spec in plan.specs:
        if spec.background and rng.random() < 0.15:
            spec.background.defect, spec.background.defect_at = rng.choice(["never started", "died"]), 0.3
    plan.faults = [(faults.STAGE[fault], fault) for fault in rng.sample(chosen_faults, 2)]
    return plan


@scenario()
def several_together(rng):
    """An intruder, trainings without work, absent backgrounds and damaged files in one folder."""
    return plant_several(rng, some_study(rng), [faults.sampling_gaps, faults.truncated_files, faults.wrong_metrics,
                                                faults.retries_nonsense, faults.wrong_sums])


@scenario(held_out=True)
def everything_together(rng):
    """Several intruders, heat, fallen-back trainings, damaged files and a clock that is set, in one folder."""
    plan = plant_several(rng, some_study(rng), [faults.sampling_gaps, faults.backward_stamps, faults.differing_summary,
                                                faults.missing_files, faults.duplicate_ids])
    over_some(rng, plan, some_load(rng), "a second foreign process")
    heated(rng, plan)
    spec = rng.choice(plan.specs)
    spec.outcome = "printed only" if spec.model.kind == "cpu_only" else "fell back to the CPU"
    plan.clock_steps[rng.randrange(1, len(plan.specs))] = (rng.uniform(-60, 60), "before")
    return plan
