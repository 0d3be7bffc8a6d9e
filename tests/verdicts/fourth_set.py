"""The fourth set of held-out scenarios: effects of a chosen size, from 2 to 60 %, wherever they begin and end.

Written from physics and from how people, schedulers and sensors behave, without a look at the judge.  What is planted
lasts for one experiment, part of one, some, a whole kind or the whole folder, or comes back; it takes the GPU, its
power, the processors, their clocks, memory, the disk or the link between them.  The studies and the undisturbed folders
are in fourth_clean.py.  `matrix.py TARE --held-out 4` judges them.
"""
from dataclasses import replace
from functools import partial

import faults
from fourth_clean import FOURTH, accelerator, arrange, continue_later, kinds_of, some_card
from layout import measure_energy
from machine import Phase
from real_machines import (ON_GPU, length_of, models_of, part_of_day, pause_of, position_after, seconds_of,
                           split_into_nights)
from scenarios import background_phases, between, inside, log_uniform, over_some, scenario
from study import FOREVER, Intruder
from third_clean import data_center_card
from third_set import SCENARIOS, foreign_training, load_of, over

__all__ = ["SCENARIOS"]
ON_HOST = ("small", "loader", "loader", "cpu_only")


# Sizes and places

def some_effect(rng):
    """How much longer the trainings it meets are to take, or how much more energy, in the mean."""
    return log_uniform(rng, 0.02, 0.6)


def mean_duty(plan):
    return sum(spec.model.speed_of(spec.hyper)[1] for spec in plan.specs) / len(plan.specs)


def gpu_load(rng, plan, effect):
    """Duty and intensity of another program with which the trainings of this plan take more energy by `effect`."""
    gpu, intensity, least, most = plan.gpu, rng.uniform(0.2, 1.0), 0.0, 1.0
    load_w = gpu.cap_w - gpu.awake_w
    own_w = gpu.awake_w + load_w * sum(map(load_of, plan.specs)) / len(plan.specs)
    for _ in range(20):
        duty = (least + most) / 2
        slower = 1 + gpu.slice_cost * duty * mean_duty(plan)
        if slower * min(gpu.cap_w, own_w + duty * intensity * load_w) / own_w - 1 < effect:
            least = duty
        else:
            most = duty
    return most, intensity


def program(rng, plan, effect):
    """A program that computes steadily for as long as it is there."""
    return [Phase(FOREVER, *gpu_load(rng, plan, effect), min(0.08, effect * rng.uniform(0.03, 0.3)), 1.0)]


def host_drag(plan, effect):
    """By how much the host's part of these trainings slows down, so that the whole takes longer by `effect`."""
    return min(3.0, effect / max(0.1, 1 - mean_duty(plan)))


def in_turns(rng, plan, text, phases, every_s, lasts_s):
    """Comes again after each so many seconds, at least once inside an experiment."""
    k = rng.randrange(len(plan.specs))
    met_s = length_of(plan, 0, k) + pause_of(plan) + rng.uniform(0, 0.8) * seconds_of(plan.specs[k])
    first_s = met_s % every_s
    while first_s < length_of(plan):
        plan.intruders.append(Intruder(phases, position_after(plan, first_s), position_after(plan, first_s + lasts_s),
                                       text))
        first_s += every_s
    return plan


def chosen(rng, plan):
    """The numbers of one experiment, some, those of one kind, all from one on, or all."""
    count = len(plan.specs)
    first = rng.randrange(count)
    return rng.choice([[first], rng.sample(range(count), max(1, count // 4)), rng.choice(kinds_of(plan)),
                       list(range(first, count)), list(range(count))])


def in_a_row(rng, **habits):
    """A study whose kinds come one after the other, and the first and last experiment of one of them."""
    plan = arrange(rng, runs=rng.randint(2, 6), order="in a row", **habits)
    kind = rng.choice(kinds_of(plan))
    return plan, kind[0], kind[-1]


# The planned background

def instead(rng, plan, defect, phases_of, late=0.3):
    """For the chosen experiments the background does something else, sometimes only after a part of the foreground."""
    made = {}
    for k in chosen(rng, plan):
        background = plan.specs[k].background
        background.defect, background.instead = defect, made.setdefault(id(background.phases),
                                                                        phases_of(background.phases))
        background.defect_at = rng.uniform(0.1, 0.8) if rng.random() < late else 0.0
    return plan


@scenario(held_out=FOURTH)
def background_slower(rng):
    """The background trains more slowly than planned, as its data come from afar: less load, all the time.

    It has 20 to 85 % of its load in one run, in one kind, since some moment or always."""
    share = rng.uniform(0.2, 0.85)
    return instead(rng, arrange(rng, is_parallel=True), "was slower than planned",
                   lambda phases: [replace(phase, duty=phase.duty * share) for phase in phases])


@scenario(held_out=FOURTH)
def background_swapped(rng):
    """A line of the settings was wrong: beside some experiments another model trains than the plan says."""
    return instead(rng, arrange(rng, is_parallel=True), "was another training",
                   lambda phases: background_phases(rng, rng.choice(["steady", "light", "alternating"])), late=0.0)


@scenario(held_out=FOURTH)
def background_crashes_again(rng):
    """The background fails some seconds after each start, and its supervisor starts it again and again."""
    trains_s, waits_s = log_uniform(rng, 1, 20), log_uniform(rng, 1, 30)

    def crashing(phases):
        busiest = max(phases, key=lambda phase: phase.duty)
        return [Phase(rng.uniform(3, 12), cpu=0.06), Phase(rng.uniform(0.5, 3), cpu=0.06, context=1.0),
                replace(busiest, seconds=trains_s), Phase(waits_s, cpu=0.01, alive=False)]
    return instead(rng, arrange(rng, is_parallel=True), "crashed again and again", crashing)


@scenario(held_out=FOURTH)
def background_on_processors(rng):
    """The background found no GPU and trains on the processors: the GPU is free, and many cores are not."""
    cores = rng.uniform(0.2, 0.9)
    return instead(rng, arrange(rng, is_parallel=True), "fell back to the CPU",
                   lambda phases: [Phase(rng.uniform(2, 10), cpu=0.05), Phase(FOREVER, cpu=cores)], late=0.0)


@scenario(held_out=FOURTH)
def background_waits_for_lock(rng):
    """On one evening the background waits for a lock or a download each time, 3 to 120 s of the foreground's time."""
    plan = arrange(rng, is_parallel=True)
    begins = split_into_nights(rng, plan) + [len(plan.specs)]
    night, waits_s = rng.randrange(len(begins) - 1), log_uniform(rng, 3, 120)
    for spec in plan.specs[begins[night]:begins[night + 1]]:
        late = waits_s * rng.uniform(0.7, 1.3) / seconds_of(spec)
        spec.background.defect, spec.background.defect_at = "started late", min(0.97, late)
    return plan


# Other programs on the GPU

@scenario(held_out=FOURTH)
def checkpoint_scorer(rng):
    """A script scores every checkpoint that appears: it begins when a training ends and reaches into the next one.

    4 to 90 s of it, for all of the study or since somebody started the script."""
    plan, lasts_s = arrange(rng), log_uniform(rng, 4, 90)
    phases = [Phase(3, cpu=0.06)] + program(rng, plan, some_effect(rng))
    for k in range(rng.choice([1, 1, rng.randrange(1, len(plan.specs))]), len(plan.specs)):
        share = min(0.9, lasts_s * rng.uniform(0.8, 1.2) / seconds_of(plan.specs[k]))
        plan.intruders.append(Intruder(phases, between(k), inside(k, share), "a script that scores checkpoints"))
    return plan


@scenario(held_out=FOURTH)
def renderer(rng):
    """Somebody renders a film: each frame fills the GPU for 2 to 40 s, then the processors prepare the next one."""
    plan = arrange(rng)
    phases = [Phase(log_uniform(rng, 2, 40), rng.uniform(0.5, 1), rng.uniform(0.6, 1), 0.03, 1.0),
              Phase(log_uniform(rng, 1, 15), cpu=rng.uniform(0.05, 0.4), context=1.0)]
    return part_of_day(rng, plan, phases, "a renderer", 0.1, 0.7)


@scenario(held_out=FOURTH)
def meetings(rng):
    """A video meeting on the same workstation, two to six times in the study, equally long: a light load."""
    plan = arrange(rng)
    every_s = length_of(plan) / rng.uniform(2, 6)
    phases = [Phase(log_uniform(rng, 20, 200), *gpu_load(rng, plan, log_uniform(rng, 0.02, 0.2)),
                    rng.uniform(0.01, 0.06), 1.0), Phase(rng.uniform(5, 40), 0.02, 0.3, 0.03, 1.0)]
    return in_turns(rng, plan, "a video meeting", phases, every_s, rng.uniform(0.15, 0.6) * every_s)


@scenario(held_out=FOURTH)
def beside_one_kind(rng):
    """Another program is there from before the first run of one kind to after its last, and beside no other."""
    plan, first, last = in_a_row(rng)
    over(plan, program(rng, plan, some_effect(rng)), first, last, "another program beside one kind")
    return plan


@scenario(held_out=FOURTH)
def beside_single_runs(rng):
    """A folder without repetitions, and another program beside all of it, or beside its first or its second half."""
    plan = arrange(rng, runs=1, is_parallel=False, seconds=(15, 240))
    count = len(plan.specs)
    first, last = rng.choice([(0, count - 1), (0, count // 2), (count // 2, count - 1)])
    over(plan, program(rng, plan, some_effect(rng)), first, last, "another program beside single runs")
    return plan


@scenario(held_out=FOURTH)
def beside_exactly_one(rng):
    """Another program that begins in the pause before one experiment and ends in the pause after it."""
    plan = arrange(rng)
    k = rng.randrange(len(plan.specs))
    over(plan, program(rng, plan, some_effect(rng)), k, k, "another program beside one experiment")
    return plan


@scenario(held_out=FOURTH)
def straddles_two(rng):
    """A short job that begins in the last part of one experiment and ends in the first part of the next one."""
    plan = arrange(rng)
    k = rng.randrange(len(plan.specs) - 1)
    phases = foreign_training(rng, (0.1, 0.9), length_of(plan, k, k + 2))
    plan.intruders.append(Intruder(phases, inside(k, rng.uniform(0.3, 0.97)), inside(k + 1, rng.uniform(0.03, 0.7)),
                                   "a job across a pause"))
    return plan


@scenario(held_out=FOURTH)
def every_other_one(rng):
    """Two people take turns on the card, and one of them does not wait for the end: every second experiment is met.

    From the same moment of it to its end, so the half of the repetitions agree."""
    plan = arrange(rng, order=rng.choice(["in a row", "in turns"]))
    since, phases = rng.uniform(0.0, 0.8), program(rng, plan, some_effect(rng))
    for k in range(rng.randint(0, 1), len(plan.specs), rng.choice([2, 2, 3])):
        plan.intruders.append(Intruder(phases, inside(k, since), between(k + 1), "somebody who takes turns"))
    return plan


# The host

@scenario(held_out=FOURTH)
def memory_traffic(rng):
    """A database in memory or a simulation on few cores takes the memory's bandwidth; the GPU is never touched.

    Whatever the host does for a training takes longer; what the GPU does by itself does not."""
    plan = arrange(rng, kinds=ON_HOST)
    effect = some_effect(rng)
    phases = [Phase(log_uniform(rng, 30, 1000), cpu=effect * rng.uniform(0.02, 0.3), drag=host_drag(plan, effect)),
              Phase(log_uniform(rng, 2, 60), cpu=0.01)]
    return part_of_day(rng, plan, phases, "a program that takes the memory's bandwidth", 0.1, 1.0)


def from_files(share, _n, _epochs, train, check):
    return [replace(train, disk=share), replace(check, disk=share)]


def reading_files(rng, plan):
    """Trainings that wait for files: in their imports, and in each epoch where the data do not fit in memory."""
    for model in models_of(plan):
        model.startup = [replace(phase, disk=rng.uniform(0.2, 0.8)) for phase in model.startup]
        if rng.random() < 0.7:
            model.epoch_of = partial(from_files, rng.uniform(0.1, 0.7))
    return plan


@scenario(held_out=FOURTH)
def disk_backup(rng):
    """A backup copies the disk the data are on: trainings that read files wait, others do not notice.

    Beside one kind, some experiments or a part of the study."""
    plan, first, last = in_a_row(rng, kinds=ON_HOST)
    phases = [Phase(FOREVER, cpu=rng.uniform(0.005, 0.06), disk=log_uniform(rng, 0.05, 0.65))]
    reading_files(rng, plan)
    if rng.random() < 0.4:
        over(plan, phases, first, last, "a backup")
        return plan
    return rng.choice([over_some, part_of_day])(rng, plan, phases, "a backup")


@scenario(held_out=FOURTH)
def file_server_slow(rng):
    """Every few minutes the file server is slow for a while, as it makes a snapshot; nothing runs on this machine."""
    plan = reading_files(rng, arrange(rng, kinds=ON_HOST))
    phases = [Phase(FOREVER, cpu=0.0, disk=log_uniform(rng, 0.05, 0.65))]
    every_s = log_uniform(rng, 100, 1200)
    return in_turns(rng, plan, "a slow file server", phases, every_s, rng.uniform(0.1, 0.6) * every_s)


@scenario(held_out=FOURTH)
def simulation_on_cores(rng):
    """A simulation with a fixed number of processes, a few or as many as there are cores, for hours.

    Whoever needs many cores waits for them; all others share caches and memory with it."""
    plan = arrange(rng, kinds=ON_HOST)
    cores = log_uniform(rng, 0.02, 0.9)
    phases = [Phase(log_uniform(rng, 20, 600), cpu=cores), Phase(rng.uniform(1, 20), cpu=cores * 0.2)]
    if rng.random() < 0.4:
        return over_some(rng, plan, phases, "a simulation on the processors")
    return part_of_day(rng, plan, phases, "a simulation on the processors", 0.1, 0.8)


@scenario(held_out=FOURTH)
def swapping(rng):
    """Somebody's program takes all memory: the host swaps in spells of seconds, in which trainings hardly go on."""
    plan = reading_files(rng, arrange(rng, kinds=ON_HOST))
    phases = [Phase(log_uniform(rng, 2, 20), cpu=0.05, drag=log_uniform(rng, 0.3, 6), disk=0.5),
              Phase(log_uniform(rng, 10, 120), cpu=0.03, drag=rng.uniform(0.0, 0.1))]
    return over_some(rng, plan, phases, "a host that swaps")


@scenario(held_out=FOURTH)
def governor_saves_power(rng):
    """The processors' governor is set to save power: lower clocks, less power, longer trainings.

    Since a resume, beside one kind, or all along."""
    plan, first, last = in_a_row(rng, kinds=ON_HOST + ("large",))
    phases = [Phase(FOREVER, cpu=0.0, cpu_ceiling=1 - log_uniform(rng, 0.01, 0.5))]
    since = rng.choice(continue_later(rng, plan, 2)[1:])
    first, last = rng.choice([(first, last), (since, len(plan.specs) - 1), (since, len(plan.specs) - 1),
                              (0, len(plan.specs) - 1)])
    over(plan, phases, first, last, "a governor that saves power")
    return plan


@scenario(held_out=FOURTH)
def link_degraded(rng):
    """After a restart the card has one lane instead of sixteen: copying takes longer, computing does not."""
    plan = arrange(rng, kinds=ON_GPU)
    since = rng.choice(continue_later(rng, plan, 2)[1:])
    over(plan, [Phase(FOREVER, cpu=0.0, drag=host_drag(plan, some_effect(rng)))], since, len(plan.specs) - 1,
         "a degraded link to the GPU")
    return plan


@scenario(held_out=FOURTH)
def updates_after_boot(rng):
    """Whenever the machine is switched on it fetches updates and scans: 1 to 12 minutes of each session.

    The first experiments of every session are met, and nothing later."""
    plan = reading_files(rng, arrange(rng, kinds=ON_HOST + ("large",)))
    plan.gaps, lasts_s = {}, log_uniform(rng, 60, 700)
    phases = [Phase(log_uniform(rng, 10, 90), cpu=log_uniform(rng, 0.01, 0.4), disk=log_uniform(rng, 0.03, 0.6),
                    drag=log_uniform(rng, 0.01, 0.3)) for _ in range(3)]
    begins = continue_later(rng, plan, rng.randint(1, 3))
    for first, end in zip(begins, begins[1:] + [len(plan.specs)]):
        lasts = pause_of(plan) + lasts_s * rng.uniform(0.7, 1.3)
        ends = min(position_after(plan, lasts, first), between(end))
        plan.intruders.append(Intruder(phases, between(first) if first else -1, ends, "updates after switching on"))
    return plan


# Power and heat

@scenario(held_out=FOURTH)
def rack_power_cap(rng):
    """A rack's manager lowers the power limit while the rack takes too much, for 1 to 15 minutes each time.

    Light trainings never reach the limit; heavy ones take longer at less power, and may even save energy."""
    plan = arrange(rng, rng.choice([data_center_card, accelerator])(rng), kinds=("large", "large", "loader", "small"))
    gpu = plan.gpu
    limit_w = gpu.awake_w + rng.uniform(0.35, 0.97) * max(map(load_of, plan.specs)) * (gpu.cap_w - gpu.awake_w)
    phases = [Phase(log_uniform(rng, 60, 900), cpu=0.0, limit=limit_w / gpu.cap_w),
              Phase(log_uniform(rng, 60, 900), cpu=0.0, alive=False)]
    return part_of_day(rng, plan, phases, "a power limit of the rack", 0.2, 1.0)


@scenario(held_out=FOURTH)
def clogged_filter(rng):
    """Dust: a sixth to five eighths of the cooling are gone, for all of the study, up to a cleaning or since a move.

    It leaks more and, if it is near its limit anyway, throttles."""
    gpu = some_card(rng)
    plan = arrange(rng, replace(gpu, leak_w_per_k=rng.uniform(0.001, 0.004) * gpu.cap_w), (30, 200),
                   kinds=("large", "large", "small"))
    count = len(plan.specs)
    k = rng.randint(1, count - 1)
    plan.hot = (*rng.choice([(0, count), (0, k), (k, count)]), rng.uniform(1.2, 2.7))
    return plan


# The trainings themselves

@scenario(held_out=FOURTH)
def kind_on_processors(rng):
    """One model's environment has a library without CUDA: all its runs fall back to the processors, alike.

    A pause of a minute or more: what comes next finds the GPU at rest in any case."""
    plan = arrange(rng, is_parallel=False)
    plan.pause_s = max(60, plan.pause_s)
    kind = rng.choice(kinds_of(plan))
    total = max(seconds_of(plan.specs[k]) for k in kind)
    fallback = min(rng.uniform(1.5, 8), max(1.3, 500 / total)), rng.uniform(0.4, 1.0)
    for k in kind:
        plan.specs[k].outcome, plan.specs[k].fallback = "fell back to the CPU", fallback
    return plan


@scenario(held_out=FOURTH)
def finished_checkpoint_found(rng):
    """A repetition finds the first run's last checkpoint, prints its score and ends after two seconds.

    For one kind or for all that keep checkpoints."""
    plan = arrange(rng, runs=rng.randint(2, 5), is_parallel=False)
    kinds = kinds_of(plan)
    for kind in rng.sample(kinds, rng.choice([1, 1, len(kinds)])):
        for k in kind[1:]:
            plan.specs[k].outcome = "printed only"
    return plan


# Damaged and contradicting data

def with_fault(rng, stage, fault, plan=None):
    plan = plan or arrange(rng)
    plan.faults = [(stage, fault)]
    return plan


def add_energy_errors(record):
    for path in faults.TRACES:
        record.add_error(path)
    record.add_error("summary.csv:energy_gpu_total_joules")


def exchange(is_id_kept, records, rng):
    for one, other in zip(*[iter(rng.sample(records, 2 * rng.randint(1, max(1, len(records) // 5))))] * 2):
        one.files, other.files = other.files, one.files
        if is_id_kept:
            for record, foreign in ((one, other), (other, one)):
                record.files["experiment.json"] = record.files["experiment.json"].replace(foreign.id, record.id)
        for record in (one, other):
            for path in faults.FILES:
                record.add_error(path)


@scenario(held_out=FOURTH)
def data_folders_exchanged(rng):
    """Folders were renamed by hand: some pairs of experiments have each other's files, with or without the old id."""
    return with_fault(rng, faults.AFTERWARDS, partial(exchange, rng.random() < 0.5))


def subtract_rest(is_all, records, rng):
    rest_w = min(min(sample[1] for sample in record.samples) for record in records)
    for record in records if is_all else faults.pick(records, rng):
        record.energy["gpu_energy_total_joules"] -= rest_w * len(record.samples)
        record.energy["gpu_power_avg_watts"] -= rest_w
        record.add_error("summary.csv:energy_gpu_total_joules")
        record.add_error("summary.csv:energy_gpu_avg_watts")


@scenario(held_out=FOURTH)
def data_rest_subtracted(rng):
    """Somebody subtracted the power at rest from energies and means, in some rows or all; the traces still have it."""
    plan = arrange(rng, rng.choice([data_center_card, accelerator])(rng))
    return with_fault(rng, faults.VALUES, partial(subtract_rest, rng.random() < 0.5), plan)


def sample_twice(records, rng):
    first = rng.randrange(len(records))
    for record in records[first:first + rng.randint(1, len(records))]:
        again = [(s[0], round(s[1] * (1 + rng.gauss(0, 0.004)), 2), *s[2:]) for s in record.samples]
        record.samples = [sample for pair in zip(record.samples, again) for sample in pair]
        measure_energy(record)
        add_energy_errors(record)


@scenario(held_out=FOURTH)
def data_two_samplers(rng):
    """A sampler that was left over writes into the same traces: every second twice, and the sum is twice the energy."""
    return with_fault(rng, faults.VALUES, sample_twice)


def one_socket(share, records, rng):
    for record in records[rng.randrange(1, len(records)):]:
        record.pkg_j, record.ram_j = round(record.pkg_j * share, 2), round(record.ram_j * share, 2)
        measure_energy(record)
        for column in ("energy_cpu_pkg_joules", "energy_cpu_ram_joules", "energy_cpu_total_joules"):
            record.add_error(f"summary.csv:{column}")
        record.add_error("energy/cpu_energy.txt")


@scenario(held_out=FOURTH)
def data_one_socket(rng):
    """From some experiment on only one of two sockets is counted: half of the processors' energy, consistently."""
    return with_fault(rng, faults.VALUES, partial(one_socket, rng.uniform(0.42, 0.58)))


def other_gpu(rest_w, degrees, records, rng):
    """Only where the training used its GPU: the traces of the others are the same either way."""
    able = [record for record in records if record.spec.model.kind != "cpu_only"]
    first = rng.randrange(len(able))
    for record in able[first:first + rng.randint(1, max(1, len(able) // 2))]:
        record.samples = [(s[0], round(rest_w * (1 + rng.gauss(0, 0.003)), 2), 0, 0, degrees + (rng.random() < 0.1))
                          for s in record.samples]
        measure_energy(record)
        add_energy_errors(record)


@scenario(held_out=FOURTH)
def data_other_gpu(rng):
    """After a restart the cards have changed their numbers, and the sampler reads the one that nobody uses."""
    plan = arrange(rng)
    rest_w = plan.gpu.rest_w * rng.uniform(0.9, 1.1)
    return with_fault(rng, faults.VALUES, partial(other_gpu, rest_w, rng.randint(27, 45)), plan)


# Several together

@scenario(held_out=FOURTH)
def careless_month(rng):
    """A wrong background, a backup, a colleague's job across a pause and two samplers, in one folder."""
    plan = reading_files(rng, arrange(rng, is_parallel=True))
    instead(rng, plan, "was another training", lambda phases: background_phases(rng, "light"), late=0.0)
    over_some(rng, plan, [Phase(FOREVER, cpu=0.02, disk=rng.uniform(0.2, 0.8))], "a backup")
    k = rng.randrange(len(plan.specs) - 1)
    plan.intruders.append(Intruder(program(rng, plan, some_effect(rng)), inside(k, 0.6), inside(k + 1, 0.3),
                                   "a job across a pause"))
    plan.faults = [(faults.VALUES, sample_twice)]
    return plan
