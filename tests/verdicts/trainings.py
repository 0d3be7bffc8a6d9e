"""The programs of a study: models with their hyperparameters, the phases a training goes through, and its metrics."""
import math
from dataclasses import dataclass, replace

from machine import DRIVER_OPEN, Phase

STUDY_MODELS = [
    ("MRT-OAST", "default", "dropout epochs learning_rate seed weight_decay", "precision recall"),
    ("bug-localization-by-dnn-and-rvsm", "default", "alpha kfold max_iter seed", "top1_accuracy top5_accuracy"),
    ("pytorch_resnet_cifar10", "resnet20", "epochs learning_rate seed weight_decay", "best_val_accuracy test_accuracy"),
    ("pytorch_resnet_cifar10", "resnet56", "epochs learning_rate seed weight_decay", "best_val_accuracy test_accuracy"),
    ("VulBERTa", "mlp", "epochs learning_rate seed weight_decay", "eval_loss final_training_loss"),
    ("Person_reID_baseline_pytorch", "densenet121", "dropout epochs learning_rate seed", "map rank1 rank5"),
    ("Person_reID_baseline_pytorch", "pcb", "dropout epochs learning_rate seed", "map rank1 rank5"),
    ("examples", "mnist", "batch_size epochs learning_rate seed", "test_accuracy test_loss"),
    ("examples", "mnist_rnn", "batch_size epochs learning_rate seed", "test_accuracy test_loss"),
    ("examples", "mnist_ff", "batch_size epochs learning_rate seed", ""),
    ("examples", "siamese", "batch_size epochs learning_rate seed", "test_accuracy test_loss"),
]
OTHER_MODELS = [
    ("speech", "conformer", "batch_size epochs learning_rate num_layers seed", "eval_loss"),
    ("tabular", "ftt", "batch_size epochs hidden_size learning_rate seed", "f1"),
    ("graphs", "gcn", "epochs hidden_size learning_rate seed weight_decay", "test_accuracy"),
    ("segmentation", "unet", "batch_size epochs learning_rate seed", "map test_loss"),
    ("vision", "vit_small", "batch_size dropout epochs learning_rate num_layers seed", "test_accuracy test_loss"),
    ("tagging", "bilstm", "batch_size epochs hidden_size learning_rate seed", "f1 precision recall"),
    ("recommender", "dlrm", "batch_size epochs learning_rate seed", "precision"),
    ("control", "ppo", "epochs learning_rate seed", ""),
    ("series", "tcn", "batch_size epochs learning_rate num_layers seed", "test_loss"),
    ("images", "dcgan", "batch_size epochs learning_rate seed", ""),
    ("forests", "gbdt", "epochs learning_rate seed", "test_accuracy"),
    ("detection", "ssd", "batch_size epochs learning_rate seed weight_decay", "map"),
]
LOSSES = ("test_loss", "eval_loss", "final_training_loss")
PERCENT = ("test_accuracy", "best_val_accuracy", "top1_accuracy", "top5_accuracy")


@dataclass
class Speed:
    """One run's own factors: 1.02 is 2 % longer, 2 % more power; the start-up has one more of time."""
    time: float
    power: float
    processors: float          # of their power
    startup: float


@dataclass
class Model:
    repository: str
    name: str
    defaults: dict
    metrics: dict              # name -> value with the defaults
    kind: str                  # small, large, cpu_only, loader
    startup: list
    epoch_s: float             # with the defaults
    batch_free: float          # share of an epoch's time that the batch size does not change
    size_power: float          # epoch time goes with the size to this power
    duty: float
    intensity: float
    cpu: float
    swing: float
    validation: float          # share of an epoch
    ending: list
    sampler_drag: float
    disk_s: float = 0.0        # to read the data set from the disk when it is not in the page cache
    epoch_of: object = None    # (number from 0, epochs, train, check) -> phases, where epochs are not alike

    def phases(self, hyper, startup_factor, cold=False):
        factor, duty = self.speed_of(hyper)
        epochs = hyper.get("epochs") or max(1, round(hyper.get("max_iter", 500) / 100 * hyper.get("kfold", 10) / 10))
        epoch_s = self.epoch_s * factor
        train = Phase(epoch_s * (1 - self.validation), duty, self.intensity, self.cpu, self.context, self.swing,
                      self.kind == "loader")
        check = Phase(epoch_s * self.validation, duty * 0.6, self.intensity * 0.7, self.cpu * 1.1, self.context)
        if self.epoch_of:
            body = [phase for n in range(epochs) for phase in self.epoch_of(n, epochs, train, check)]
        else:
            merged = max(1, math.ceil(1.5 / epoch_s))
            rounds, rest = divmod(epochs, merged)
            epochs_at_once = [merged] * rounds + [rest] * (rest > 0)
            body = [longer(phase, n) for n in epochs_at_once for phase in (train, check)]
        body = [phase for phase in body if phase.seconds > 0]
        if cold and self.disk_s:
            body[0] = from_disk(body[0], self.disk_s)
        startup = [longer(phase, startup_factor) for phase in self.startup]
        return startup + body + self.ending

    def speed_of(self, hyper):
        """Epoch time and GPU duty against the defaults."""
        factor, duty = 1.0, self.duty
        if "batch_size" in hyper:
            ratio = hyper["batch_size"] / self.defaults["batch_size"]
            factor *= self.batch_free + (1 - self.batch_free) / ratio
            duty = min(1.0, duty * ratio ** 0.15)
        for size in ("hidden_size", "num_layers"):
            if size in hyper:
                ratio = hyper[size] / self.defaults[size]
                factor *= ratio ** self.size_power
                duty = min(1.0, duty * ratio ** 0.2)
        return factor, duty

    @property
    def context(self):
        return 0.0 if self.kind == "cpu_only" else 1.0

    def metrics_of(self, hyper, rng):
        progress = 1 - 0.3 * math.exp(-hyper.get("epochs", 10) / 4)
        return {name: metric_value(name, base, progress, rng) for name, base in self.metrics.items()}

    def speed(self, noise, first, rng):
        """`first`: nothing of it is in the page cache yet."""
        startup = math.exp(rng.gauss(0, noise.startup_sd)) * (rng.uniform(1, noise.cold) if first else 1)
        return Speed(noise.factor(noise.time_sd, rng), noise.factor(noise.power_sd, rng),
                     noise.factor(noise.processors_sd, rng), startup)


@dataclass
class Noise:
    time_sd: float
    power_sd: float
    processors_sd: float
    heavy: float               # share of runs with three times the deviation
    startup_sd: float
    cold: float                # at most so much longer is the start-up of a model's first run

    def factor(self, sd, rng):
        return math.exp(rng.gauss(0, sd) * (3 if rng.random() < self.heavy else 1))


def draw_noise(rng, heavy=None):
    if heavy is None:
        heavy = rng.choice([0, 0, 0, 0, 0.1])
    return Noise(rng.uniform(0.01, 0.04), rng.uniform(0.01, 0.04), rng.uniform(0.01, 0.06), heavy,
                 rng.uniform(0.01, 0.08), rng.choice([1, 1.5]))


def longer(phase, times):
    return replace(phase, seconds=phase.seconds * times)


def from_disk(phase, disk_s):
    """The first epoch waits for the disk: longer by that, with the same work thinned out."""
    stretch = 1 + disk_s / phase.seconds
    return replace(phase, seconds=phase.seconds * stretch, duty=phase.duty / stretch, cpu=phase.cpu / stretch + 0.02,
                   swing=0.4)


def metric_value(name, base, progress, rng):
    value = base * (2 - progress if name in LOSSES else progress) * (1 + rng.gauss(0, 0.004))
    limit = 100 if name in PERCENT else 1
    if name not in LOSSES:
        value = min(value, 0.999 * limit)
    return round(value, 2 if name in PERCENT else 6)


def draw_models(rng, count, seconds, kinds=("small", "large", "large", "loader", "cpu_only")):
    """`count` different models whose trainings with default hyperparameters take about rng.uniform(*seconds)."""
    chosen = rng.sample(STUDY_MODELS + OTHER_MODELS, count)
    return [draw_model(rng, row, rng.uniform(*seconds), rng.choice(kinds)) for row in chosen]


def draw_model(rng, row, seconds, kind):
    repository, name, hyper_names, metric_names = row
    defaults = {hyper: draw_default(rng, hyper) for hyper in hyper_names.split()}
    metrics = {metric: draw_metric(rng, metric) for metric in metric_names.split()}
    startup = draw_startup(rng, kind, seconds)
    duty, intensity, cpu, swing, drag = draw_load(rng, kind)
    ending = draw_ending(rng, kind, seconds, duty, intensity)
    epochs = defaults.get("epochs") or max(1, round(defaults["max_iter"] / 100 * defaults["kfold"] / 10))
    epoch_s = max(0.15, (seconds - sum(phase.seconds for phase in startup + ending)) / epochs)
    validation = rng.choice([0.0, rng.uniform(0.03, 0.25)])
    return Model(repository, name, defaults, metrics, kind, startup, epoch_s, rng.uniform(0.3, 0.95),
                 rng.uniform(0.3, 1.2), duty, intensity, cpu, swing, validation, ending, drag)


def draw_load(rng, kind):
    """Duty, intensity, share of the processors, swing of the duty, and how much the sampler is held up."""
    if kind == "small":
        return rng.uniform(0.05, 0.5), rng.uniform(0.1, 0.5), rng.uniform(0.04, 0.2), 0.05, rng.uniform(1, 1.03)
    if kind == "large":
        return rng.uniform(0.7, 1.0), rng.uniform(0.5, 1.05), rng.uniform(0.04, 0.2), 0.02, rng.uniform(1, 1.03)
    if kind == "loader":
        return (rng.uniform(0.25, 0.75), rng.uniform(0.3, 0.9), rng.uniform(0.2, 0.6), rng.uniform(0.2, 0.7),
                rng.uniform(1, 1.1))
    return 0.0, 0.0, rng.uniform(0.3, 0.95), 0.0, rng.choice([rng.uniform(1, 1.25), rng.uniform(1.2, 2.8)])


def draw_startup(rng, kind, seconds):
    """Imports and data first, then the context; the real folders show driver-open and rest in varying order."""
    budget = min(0.4 * seconds, rng.uniform(2, 15))
    if kind == "cpu_only":
        return [Phase(budget, cpu=rng.uniform(0.04, 0.2))]
    cpu = rng.uniform(0.03, 0.15)
    imports = Phase(budget * rng.uniform(0.3, 0.7), cpu=cpu, context=rng.choice([0.0, 0.0, DRIVER_OPEN]))
    loading = Phase(budget * rng.uniform(0.2, 0.5), cpu=cpu, context=rng.choice([0.0, 1.0]))
    warming = Phase(budget * rng.uniform(0.1, 0.3), duty=0.03, intensity=0.3, cpu=cpu, context=1.0)
    preparation = [Phase(rng.uniform(2, 5), cpu=cpu, context=1.0)] if budget > 8 and rng.random() < 0.3 else []
    return preparation + [imports, loading, warming]


def draw_ending(rng, kind, seconds, duty, intensity):
    """Writing the weights; for some an evaluation by a process of its own with the GPU at rest before it."""
    if kind == "cpu_only":
        return [Phase(rng.uniform(0.2, 2), cpu=0.04)]
    saving = Phase(rng.uniform(0.2, 2), cpu=0.04, context=1.0)
    if seconds < 30 or rng.random() < 0.7:
        return [saving]
    waiting = Phase(rng.uniform(1, 0.15 * seconds), cpu=0.08, context=1.0)
    imports = Phase(rng.uniform(2, 5), cpu=0.05)
    loading = Phase(rng.uniform(1, 4), cpu=0.08, context=1.0)
    evaluation = Phase(rng.uniform(0.05, 0.25) * seconds, duty * rng.uniform(0.5, 1), intensity * rng.uniform(0.5, 1.2),
                       0.1, 1.0, swing=0.1)
    return [waiting, imports, loading, evaluation, saving]


def draw_default(rng, hyper):
    if hyper == "epochs":
        return rng.choice([1, 1, 2, 5, 10, 10, 20])
    if hyper == "seed":
        return rng.choice([1, 42, 1334])
    if hyper in ("batch_size", "hidden_size"):
        return rng.choice([16, 32, 32, 64, 128]) * (1 if hyper == "batch_size" else 4)
    if hyper == "num_layers":
        return rng.choice([2, 4, 8])
    if hyper == "max_iter":
        return rng.choice([500, 1000])
    if hyper == "kfold":
        return 10
    if hyper == "dropout":
        return rng.choice([0.1, 0.2, 0.5])
    if hyper == "weight_decay":
        return rng.choice([0.0, 0.0001])
    return rng.choice([1e-05, 3e-05, 0.0001, 0.001, 0.01, 0.05, 0.1])


def draw_metric(rng, metric):
    if metric in LOSSES:
        return rng.uniform(0.02, 2.5)
    return rng.uniform(35, 97) if metric in PERCENT else rng.uniform(0.3, 0.97)


def mutate(rng, defaults, hyper, wide):
    """A new value for one hyperparameter; `wide` takes epochs over 1 to 100."""
    old = defaults[hyper]
    if hyper == "epochs":
        return rng.randint(1, 100) if wide else max(1, round(old * rng.uniform(0.5, 2)))
    if hyper == "seed":
        return rng.randint(0, 9999)
    if hyper in ("batch_size", "hidden_size", "num_layers"):
        return max(1, int(old * rng.choice([0.5, 1, 2, 4] if wide else [0.5, 1, 2])))
    if hyper == "max_iter":
        return rng.randint(old // 2, old * 2)
    if hyper == "kfold":
        return rng.randint(2, 10)
    if hyper == "dropout":
        return round(rng.uniform(0, 0.6), 3)
    return 10 ** rng.uniform(-5, -3) if hyper == "weight_decay" else old * math.exp(rng.uniform(-0.7, 0.7))
