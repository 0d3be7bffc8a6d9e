"""The machine a results folder comes from: one GPU, its processors, its clock and what runs on them.

Time is simulated in ticks of a quarter of a second.  Every effect is a few lines of physics, so that the same folder
can be run again without what was planted, and the difference is the truth.
"""
import math
from dataclasses import dataclass, field, replace

TICK_S = 0.25
PAUSE_TICK_S = 1.0
DRIVER_OPEN = 0.88     # clocks are up, no CUDA context: the real folders show 70 W before the 78 W of a context
RUN_SHARE = 0.9        # of an experiment's unit of position; the rest is the pause behind it


@dataclass
class Phase:
    """A stretch of a program that behaves alike; `seconds` is its length alone on an undisturbed machine."""
    seconds: float
    duty: float = 0.0          # share of the time with kernels in flight
    intensity: float = 0.0     # power above awake while they run, as a share of (cap - awake)
    cpu: float = 0.05          # share of all cores
    context: float = 0.0       # 0 none, DRIVER_OPEN, 1 a CUDA context
    swing: float = 0.0         # the duty wanders by this share (waiting for data)
    pipelined: bool = False    # loading and computing overlap: the slower of both decides
    alive: bool = True         # False: the pause of a loop, nothing runs
    idle_w: float = 0.0        # what the GPU draws above its lowest rest meanwhile: a display, memory clocks left up
    ceiling: float = 1.0       # share of the clocks that is left to all: the power supply throttles the GPU
    intake_k: float = 0.0      # warmer air: the exhaust of a neighbour
    limit: float = 1.0         # share of the GPU's power limit that is left: clocks fall as far as the load needs
    cpu_ceiling: float = 1.0   # share of the processors' clocks that is left to all
    drag: float = 0.0          # so much slower is all work of the host: its memory, swapping, the link to the GPU
    disk: float = 0.0          # of a training: share of the host's work that waits for the disk; beside it: its load


@dataclass
class Gpu:
    rest_w: float
    awake_w: float
    cap_w: float
    clock_lag_s: float         # how long clocks stay up after the last process
    reading_tau_s: float       # a power reading is a mean over about this long
    drift_per_k: float         # load draws more when hot
    leak_w_per_k: float
    ambient_c: float
    heat_k_per_w: float
    heat_tau_s: float
    limit_c: float
    slice_cost: float          # how much of another process's busy time is waited for
    jitter: float              # noise of one reading under load
    memory_sensor: bool
    persistent: bool = True    # False: the driver leaves the GPU with its last client, and each reading wakes it
    scrub_share: float = 0.0   # how often such a reading sees the memory being scrubbed, as utilisation
    fan_w: float = 0.0         # the board's own fans at full speed


@dataclass
class Host:
    idle_w: float
    span_w: float
    ram_w: float
    crosstalk: float           # slowdown of processor work by a fully busy neighbour
    sampler_period_s: float
    stall_rate: float          # stalls of the sampler per second
    zone_s: int
    clock_drift: float


def draw_gpu(rng, **fixed):
    rest = rng.choice([rng.uniform(4, 12), rng.uniform(12, 40), rng.uniform(40, 120)])
    awake = rest + rng.choice([rng.uniform(8, 25), rng.uniform(25, 80)])
    cap = awake + rng.choice([rng.uniform(60, 150), rng.uniform(150, 350), rng.uniform(350, 600)])
    ambient, limit = rng.uniform(24, 38), rng.uniform(83, 90)
    gpu = Gpu(rest, awake, cap, rng.choice([rng.uniform(0.5, 2), rng.uniform(3, 12), rng.uniform(12, 30)]),
              rng.choice([0.1, 0.5, 1.0]), rng.uniform(0.0005, 0.004), rng.uniform(0.05, 0.5), ambient,
              rng.uniform(0.5, 0.9) * (limit - 3 - ambient) / cap, rng.uniform(20, 70), limit, rng.uniform(0.7, 1.2),
              rng.uniform(0.003, 0.012), rng.random() < 0.3)
    return replace(gpu, **fixed)


def draw_host(rng, **fixed):
    zone = rng.choice([-8, -5, -3, 0, 1, 2, 3, 5.5, 8, 8, 9, 12])
    host = Host(rng.uniform(8, 40), rng.uniform(40, 250), rng.uniform(1, 6), rng.uniform(0.05, 0.4),
                rng.uniform(1.0, 1.06), rng.choice([0, 1 / 3000, 1 / 600]), int(zone * 3600),
                rng.uniform(-1e-4, 1e-4))
    return replace(host, **fixed)


class Loop:
    """A program that repeats its phases with slightly varying lengths; slowed by others, it takes longer."""

    def __init__(self, phases, rng, first=0):
        self.phases, self.rng = phases, rng
        self.index, self.left = first - 1, 0.0
        self.enter_next()

    def enter_next(self):
        self.index = (self.index + 1) % len(self.phases)
        self.left = self.phases[self.index].seconds * self.rng.uniform(0.9, 1.1)

    @property
    def phase(self):
        return self.phases[self.index]

    def advance(self, seconds):
        self.left -= seconds
        while self.left <= 0:
            overshoot = -self.left
            self.enter_next()
            self.left -= overshoot


@dataclass
class Companion:
    """A process beside the trainings, from one position to another; experiment k runs from k to k + RUN_SHARE."""
    loop: Loop
    begins: float
    ends: float
    planted: str = None              # how truth.json names it; None: it belongs there
    is_background: bool = False      # the planned one
    stalls_from: float = math.inf    # alive with its context, but computing nothing any more


STALLED = Phase(math.inf, cpu=0.0, context=1.0)


@dataclass
class Run:
    """What a training really did, and what the sampler saw of it."""
    begins_s: float = 0.0
    seconds: float = 0.0
    gpu_j: float = 0.0
    cpu_j: float = 0.0
    ram_j: float = 0.0
    samples: list = field(default_factory=list)     # (wall time, W, utilisation, memory utilisation, degrees)
    background_s: float = 0.0
    planted: set = field(default_factory=set)


class Machine:
    def __init__(self, gpu, host, epoch_s):
        self.gpu, self.host = gpu, host
        self.now, self.clock_offset, self.epoch_s = 0.0, 0.0, epoch_s
        self.temperature = gpu.ambient_c + gpu.heat_k_per_w * gpu.rest_w + 4
        self.power, self.reading, self.utilisation = gpu.rest_w, gpu.rest_w, 0.0
        self.awake_until, self.clocks, self.cooling = -1.0, 1.0, 1.0
        self.cpu_load, self.cpu_w = 0.0, host.idle_w
        self.context, self.idle_w, self.ceiling, self.intake_k = 0.0, 0.0, 1.0, 0.0
        self.limit, self.cpu_ceiling, self.drag, self.disk = 1.0, 1.0, 0.0, 0.0
        self.room_k, self.room_tau_s = 0.0, math.inf    # how much the room is colder than later, and until when
        self.is_braked = False

    def cool_down(self, room_k, room_tau_s):
        """The machine was off or idle for hours: everything has the temperature of a room that is cold by `room_k`."""
        gpu = self.gpu
        self.room_k, self.room_tau_s = room_k, room_tau_s
        self.temperature = gpu.ambient_c - room_k + gpu.heat_k_per_w * gpu.rest_w
        self.power = self.reading = gpu.rest_w

    def use_card(self, gpu):
        """From now on this card is the one that computes and is read; another one has rested until now."""
        if gpu is not self.gpu:
            self.gpu, self.awake_until, self.clocks = gpu, -1.0, 1.0
            self.temperature = gpu.ambient_c + gpu.heat_k_per_w * gpu.rest_w + 4
            self.power = self.reading = gpu.rest_w

    def wall(self):
        return self.epoch_s + self.clock_offset + self.now * (1 + self.host.clock_drift)

    def step(self, dt, own, own_duty, others, power_factor):
        """One tick.  Returns how much slower than alone the training `own` (None: a pause) ran in it."""
        gpu, host = self.gpu, self.host
        others_duty = others_cpu = context = 0.0
        for phase in others:
            others_duty += phase.duty
            others_cpu += phase.cpu
            context = max(context, phase.context)
        self.surround(dt, others)
        own_cpu = own.cpu if own else 0.0
        self.cpu_load = own_cpu + others_cpu
        gpu_slow = (1 + gpu.slice_cost * others_duty) / self.clocks
        cpu_slow = max(1.0, self.cpu_load) * (1 + host.crosstalk * min(1.0, others_cpu)) * self.host_slowdown(own)
        slow = busy = load = 0.0
        if own:
            context = max(context, own.context)
            slow = slowdown_of(own, own_duty, gpu_slow, cpu_slow)
            busy = own_duty / self.clocks / slow
            load = busy * own.intensity
        for phase in others:
            if phase.duty:
                theirs = phase.duty / (1 + phase.duty * gpu.slice_cost * (own_duty + others_duty - phase.duty))
                busy += theirs
                load += theirs * phase.intensity
        self.context = context
        self.settle_power(dt, context, load * power_factor)
        self.utilisation += (min(1.0, busy) - self.utilisation) * (1 - math.exp(-dt / 0.4))
        self.cpu_w = host.idle_w + host.span_w * min(1.0, self.cpu_load) ** 0.8 * self.cpu_ceiling ** 2
        self.now += dt
        return slow

    def host_slowdown(self, own):
        """Of a training's work on the host, by what all of it shares: clocks, memory, links and the disk."""
        waits = own.disk if own else 0.0
        return (1 + self.drag) / self.cpu_ceiling * (1 + waits * (1 / (1 - min(0.9, self.disk)) - 1))

    def surround(self, dt, others):
        self.idle_w, self.intake_k, self.ceiling = 0.0, 0.0, 1.0
        self.limit, self.cpu_ceiling, self.drag, self.disk = 1.0, 1.0, 0.0, 0.0
        for phase in others:
            self.idle_w += phase.idle_w
            self.intake_k += phase.intake_k
            self.ceiling = min(self.ceiling, phase.ceiling)
            self.limit = min(self.limit, phase.limit)
            self.cpu_ceiling = min(self.cpu_ceiling, phase.cpu_ceiling)
            self.drag += phase.drag
            self.disk += phase.disk
        self.room_k *= math.exp(-dt / self.room_tau_s)

    def settle_power(self, dt, context, load):
        gpu = self.gpu
        if context > 0:
            self.awake_until = self.now + gpu.clock_lag_s
        level = context or (DRIVER_OPEN if self.now < self.awake_until else 0.0)
        rest_w = min(gpu.awake_w, gpu.rest_w + self.idle_w)
        base = rest_w + (gpu.awake_w - rest_w) * level
        base += gpu.fan_w * min(1.0, max(0.0, (self.temperature - 40) / 45)) ** 3
        leak = gpu.leak_w_per_k * (self.temperature - gpu.ambient_c) * (0.1 + 0.4 * level)
        dynamic = (gpu.cap_w - gpu.awake_w) * load * self.clocks ** 2
        wanted = base + leak + dynamic * (1 + gpu.drift_per_k * (self.temperature - 55))
        self.power += (min(wanted, gpu.cap_w) - self.power) * (1 - math.exp(-dt / 0.5))
        self.reading += (self.power - self.reading) * (1 - math.exp(-dt / gpu.reading_tau_s))
        equilibrium = gpu.ambient_c + self.intake_k - self.room_k + gpu.heat_k_per_w * self.cooling * self.power
        self.temperature += (equilibrium - self.temperature) * (1 - math.exp(-dt / gpu.heat_tau_s))
        within_limit = self.clocks_within_limit(base + leak, wanted) if self.limit < 1 else 1.0
        hot = self.temperature > gpu.limit_c
        self.clocks = max(0.35, self.clocks - 0.08 * dt) if hot else min(1.0, self.clocks + 0.04 * dt)
        self.clocks = min(self.clocks, self.ceiling, within_limit)
        self.is_braked = min(self.ceiling, self.limit) < 1 or self.is_braked and not hot and self.clocks < 0.999

    def clocks_within_limit(self, still_w, wanted_w):
        """Power above `still_w` goes with the square of the clocks; below about a third they do not fall."""
        left_w = self.limit * self.gpu.cap_w - still_w
        full_w = (wanted_w - still_w) / self.clocks ** 2
        return 1.0 if full_w <= left_w else math.sqrt(max(0.12, left_w / full_w))

    def pause(self, seconds, position, companions, span=1 - RUN_SHARE):
        """Nothing of the study runs; others may.  The position moves on by `span`."""
        left = seconds
        while left > 1e-9:
            dt = min(PAUSE_TICK_S, left)
            others = advance_and_list(companions, position + span * (1 - left / seconds), dt, None)
            self.step(dt, None, 0.0, others, 1)
            left -= dt

    def train(self, phases, position, companions, speed, rng, sampler):
        """Runs a training to its end.  `speed` has the run's own factors of time and power."""
        run = Run(begins_s=self.now)
        total = sum(phase.seconds for phase in phases)
        done = 0.0
        for phase in phases:
            left, duty, new_duty_in = phase.seconds, phase.duty, 0.0
            while left > 1e-9:
                if phase.swing:
                    new_duty_in -= TICK_S
                    if new_duty_in <= 0:
                        new_duty_in = rng.uniform(0.5, 4)
                        duty = min(1.0, max(0.02, phase.duty * (1 + phase.swing * rng.uniform(-1, 1))))
                others = advance_and_list(companions, position + RUN_SHARE * done / total, TICK_S, run)
                before = self.now
                slow = self.step(TICK_S, phase, duty, others, speed.power)
                work = TICK_S / slow / speed.time
                if work > left:
                    self.now = before + TICK_S * left / work
                    work = left
                dt = self.now - before
                left -= work
                done += work
                run.gpu_j += self.power * dt
                run.cpu_j += self.cpu_w * speed.processors * dt
                run.ram_j += self.host.ram_w * (1 + 0.3 * min(1, self.cpu_load)) * dt
                if self.clocks < 0.999 and not self.is_braked:
                    run.planted.add("thermal throttling")
                sampler.look(self, run)
        run.seconds = self.now - run.begins_s
        return run


def slowdown_of(phase, duty, gpu_slow, cpu_slow):
    """A training that waits for its GPU is stretched by both parts; one that loads ahead only by the slower."""
    if phase.pipelined:
        return max(1.0, cpu_slow, duty * gpu_slow)
    return (1 - duty) * cpu_slow + duty * gpu_slow


def advance_and_list(companions, position, dt, run):
    """The phases of the companions that live at this position; the loops go on, the run learns who was there."""
    phases = []
    for companion in companions:
        if not companion.begins <= position < companion.ends:
            continue
        stalled = position >= companion.stalls_from
        phase = STALLED if stalled else companion.loop.phase
        if run:
            if companion.planted and phase.alive:
                run.planted.add(companion.planted)
            elif companion.is_background and phase.alive and not stalled:
                run.background_s += dt
        if not stalled:
            companion.loop.advance(dt)
        phases.append(phase)
    return phases


class Sampler:
    """The study's bash loop: read, sleep 1, and so late by the time the reading took; it stamps whole seconds."""

    def __init__(self, host, drag, rng):
        self.host, self.drag, self.rng = host, drag, rng
        self.next_s = None

    def look(self, machine, run):
        if self.next_s is None:
            self.next_s = run.begins_s
        if self.next_s > machine.now:
            return
        rng, gpu = self.rng, machine.gpu
        watts = machine.reading
        opens = not gpu.persistent and machine.context == 0
        if opens:
            watts = self.wake(machine)
        loaded = min(1.0, machine.utilisation * 3)
        watts *= 1 + rng.gauss(0, 0.002 + (gpu.jitter - 0.002) * loaded)
        if watts < gpu.rest_w * 1.3:
            watts += rng.gauss(0, min(0.4, 0.02 * gpu.rest_w))
        busy = machine.utilisation * 100
        percent = min(100, max(0, round(busy + rng.gauss(0, 1.5)))) if busy > 1.5 else int(rng.random() < 0.01)
        if opens and rng.random() < gpu.scrub_share:
            percent = rng.randint(20, 100)
        stamp = machine.wall() - (machine.now - self.next_s)
        run.samples.append((stamp, min(watts, gpu.cap_w * 1.01), percent, round(percent * 0.6),
                            round(machine.temperature)))
        period = self.host.sampler_period_s * self.drag * rng.uniform(1.0, 1.02)
        if machine.cpu_load > 0.8:
            period += rng.uniform(0.05, 0.3)
        if rng.random() < self.host.stall_rate:
            period += rng.uniform(1, 5)
        self.next_s += period + (rng.uniform(0.8, 2.2) if opens else 0.0)

    def wake(self, machine):
        """The reading itself opens the driver, which takes the clocks up."""
        machine.awake_until = max(machine.awake_until, machine.now + 1.0)
        return machine.gpu.rest_w + (machine.gpu.awake_w - machine.gpu.rest_w) * DRIVER_OPEN
