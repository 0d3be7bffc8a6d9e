"""A study: the plan of its experiments with what is planted in it, and its simulation with and without that."""
import math
import random
from dataclasses import dataclass, field, replace

from machine import DRIVER_OPEN, RUN_SHARE, Companion, Loop, Machine, Phase, Sampler
from trainings import Model, Noise

FOREVER = 1e9
PATIENCE_S = 300


@dataclass
class Background:
    """The planned training beside a parallel experiment; a defect sets in at a share of the foreground's progress."""
    model: Model
    hyper: dict
    phases: list
    lead_s: float
    defect: str = None         # never started, died, ended early, stalls, started late, loaded its data first, ...
    defect_at: float = 0.0
    instead: list = None       # phases that the defect makes of the planned ones, from `defect_at` on


@dataclass
class Spec:
    key: str                   # names its streams of random numbers
    model: Model
    hyper: dict
    background: Background = None
    outcome: str = "trained"   # failed, did nothing, printed only, fell back to the CPU
    retries: int = 0
    epochs_done: int = None    # stopped early, by its own patience
    fallback: tuple = None     # on the CPU: how much longer, and the share of all cores; None draws them for each run


@dataclass
class Intruder:
    phases: list
    begins: float              # positions: experiment k runs from k to k + RUN_SHARE
    ends: float
    text: str


@dataclass
class Plan:
    gpu: object
    host: object
    noise: Noise
    specs: list
    pause_s: float
    epoch_s: float
    wake_share: float          # how often the clean-up before an experiment leaves the clocks up
    intruders: list = field(default_factory=list)
    desktop: list = None       # phases of a desktop drawn by the same GPU
    hot: tuple = None          # (from experiment, to, heat factor): fans fail
    clock_steps: dict = field(default_factory=dict)     # experiment -> (seconds, "before" or "inside")
    zone_changes: dict = field(default_factory=dict)    # experiment -> seconds added to local time from there on
    faults: list = field(default_factory=list)          # (stage, function(records, rng))
    cool_c: float = None       # adaptive pauses: until the GPU is this cool, or PATIENCE_S
    gaps: dict = field(default_factory=dict)            # experiment -> seconds for which the study lay still before it
    cold_room: tuple = None    # (kelvin, seconds to warm up): at the start and after each gap
    cards: dict = field(default_factory=dict)           # experiment -> the Gpu it runs on instead of `gpu`
    is_cache_small: bool = False    # the data sets of two models do not fit in the page cache together

    def undisturbed(self):
        """The same plan with nothing planted."""
        specs = [replace(spec, outcome="failed" if spec.outcome == "failed" else "trained",
                         background=spec.background and replace(spec.background, defect=None)) for spec in self.specs]
        return replace(self, specs=specs, intruders=[], hot=None)

    @property
    def has_disturbance(self):
        return bool(self.intruders or self.hot or any(
            spec.outcome not in ("trained", "failed") or spec.background and spec.background.defect
            for spec in self.specs))


def stream(*names):
    return random.Random("/".join(map(str, names)))


def simulate(plan, seed):
    """Runs the plan once; the runs of its experiments in order."""
    machine = Machine(plan.gpu, plan.host, plan.epoch_s)
    if plan.cold_room:
        machine.cool_down(*plan.cold_room)
    intruders = [Companion(Loop(i.phases, stream(seed, "intruder", n)), i.begins, i.ends, i.text)
                 for n, i in enumerate(plan.intruders)]
    desktop = [Companion(Loop(plan.desktop, stream(seed, "desktop")), -FOREVER, FOREVER)] if plan.desktop else []
    return [run_experiment(machine, plan, k, intruders + desktop, seed) for k in range(len(plan.specs))]


def run_experiment(machine, plan, k, others, seed):
    spec = plan.specs[k]
    rng = stream(seed, spec.key)
    cold = reads_from_disk(plan, k)
    speed = spec.model.speed(plan.noise, cold, rng)
    machine.use_card(plan.cards.get(k, plan.gpu))
    machine.cooling = plan.hot[2] if plan.hot and plan.hot[0] <= k < plan.hot[1] else 1.0
    step_s, where = plan.clock_steps.get(k, (0.0, None))
    if where == "before":
        machine.clock_offset += step_s
    companions = others + background_companions(spec.background, k, stream(seed, spec.key, "background"))
    wait_before(machine, plan, spec, k, others, companions, rng)
    phases = phases_of(spec, speed.startup, stream(seed, spec.key, "outcome"), cold)
    wall_begin = machine.wall()
    sampler = Sampler(plan.host, spec.model.sampler_drag, stream(seed, spec.key, "sampler"))
    run = machine.train(phases, k, companions, speed, stream(seed, spec.key, "swing"), sampler)
    if where == "inside":
        step_clock_inside(machine, run, step_s, rng.uniform(0.2, 0.8))
    if spec.background and spec.background.defect:
        run.planted.add(f"the planned background {spec.background.defect}")
    if spec.outcome not in ("trained", "failed"):
        run.planted.add(f"the training {spec.outcome}")
    if machine.cooling > 1:
        run.planted.add("failing fans")
    machine.pause(rng.uniform(1.2, 1.4), k + RUN_SHARE, others, span=0)
    run.wall_begin, run.wall_end = wall_begin, machine.wall()
    return run


def reads_from_disk(plan, k):
    """No earlier training has read this one's data, or another's data took their place since."""
    earlier = plan.specs[k - 1:k] if plan.is_cache_small else plan.specs[:k]
    return all(other.model is not plan.specs[k].model for other in earlier)


def wait_before(machine, plan, spec, k, others, companions, rng):
    """The pause of the study, with failed earlier attempts in it; a background starts `lead_s` before the end."""
    attempts_s = sum(plan.pause_s * 0.5 + rng.uniform(10, 60) for _ in range(min(spec.retries, 5)))
    lead_s = spec.background.lead_s if spec.background else 0.0
    pause_s = plan.pause_s if k else 5.0
    if k in plan.gaps:
        machine.now += plan.gaps[k]
        machine.cool_down(*(plan.cold_room or (0.0, math.inf)))
    if plan.cool_c is not None:
        cool(machine, plan.cool_c, k, others)
    machine.pause(pause_s + attempts_s, k - 1 + RUN_SHARE, others)
    if lead_s:
        machine.pause(lead_s, k - 0.001, companions, span=0)
    if rng.random() < plan.wake_share:
        machine.awake_until = max(machine.awake_until, machine.now + rng.uniform(2, 8))


def cool(machine, cool_c, k, others):
    until = machine.now + PATIENCE_S
    while machine.temperature > cool_c and machine.now < until:
        machine.pause(5, k - 1 + RUN_SHARE + 0.03, others, span=0)


def background_companions(background, k, rng):
    if not background or background.defect == "never started":
        return []
    begins, ends, stalls_from = k - 0.01, k + RUN_SHARE, FOREVER
    at = k + RUN_SHARE * background.defect_at
    if background.defect in ("died", "ended early"):
        ends = at
    if background.defect == "stalls":
        stalls_from = at
    if background.defect in ("started late", "loaded its data first"):
        begins = at
    if background.defect and background.instead:
        changes = at if background.defect_at > 0 else begins
        return [Companion(Loop(background.phases, rng), begins, changes, None, True),
                Companion(Loop(background.instead, rng), changes, ends, None, True)]
    return [Companion(Loop(background.phases, rng), begins, ends, None, True, stalls_from)]


def step_clock_inside(machine, run, seconds, share):
    """The clock is set while the training runs: later stamps and the duration jump with it."""
    first = int(len(run.samples) * share)
    run.samples = run.samples[:first] + [(s[0] + seconds, *s[1:]) for s in run.samples[first:]]
    machine.clock_offset += seconds


def phases_of(spec, startup_factor, rng, cold):
    hyper = spec.hyper | {"epochs": spec.epochs_done} if spec.epochs_done else spec.hyper
    phases = spec.model.phases(hyper, startup_factor, cold)
    if spec.outcome == "failed":
        return first_share(phases, rng.uniform(0.05, 0.7))
    if spec.outcome in ("did nothing", "printed only"):
        return [Phase(rng.uniform(1.2, 2.8), cpu=0.05, context=rng.choice([0.0, 0.0, DRIVER_OPEN]))]
    if spec.outcome == "fell back to the CPU":
        total = sum(phase.seconds for phase in phases)
        factor = min(rng.uniform(2, 10), max(1.3, 500 / total))
        cpu = rng.uniform(0.5, 1.0)
        factor, cpu = spec.fallback or (factor, cpu)
        return [Phase(phase.seconds * (factor if phase.duty else 1), cpu=cpu if phase.duty else phase.cpu)
                for phase in phases]
    return phases


def first_share(phases, share):
    left = share * sum(phase.seconds for phase in phases)
    kept = []
    for phase in phases:
        if left <= 0:
            break
        kept.append(replace(phase, seconds=min(left, phase.seconds)))
        left -= phase.seconds
    return kept


def effects(disturbed, reference):
    """Relative effect on time, GPU energy and processor energy."""
    def relative(a, b):
        return a / b - 1 if b else 0.0
    return (relative(disturbed.seconds, reference.seconds), relative(disturbed.gpu_j, reference.gpu_j),
            relative(disturbed.cpu_j + disturbed.ram_j, reference.cpu_j + reference.ram_j))
