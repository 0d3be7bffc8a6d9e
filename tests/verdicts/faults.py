"""Errors in the data, planted after the machine has run.  Each writes into the truth what it damaged.

STAGE says when a fault is planted: at stage "values" a record is changed before its files are written, at stage "files"
the rendered files and rows are.
"""
from datetime import timedelta

from layout import ENERGY, FILES, TRACES, measure_energy


def pick(records, rng, least=1, share=0.4):
    """Some of the records whose sampler saw at least a dozen samples; the longest, where none did."""
    able = [record for record in records if len(record.samples) >= 12]
    able = able or [max(records, key=lambda record: len(record.samples))]
    return rng.sample(able, max(1, min(len(able), rng.randint(least, max(least, int(share * len(records)))))))


def sampling_gaps(records, rng):
    """The sampler hangs for a tenth to two thirds of the training; the study sums what is left."""
    for record in pick(records, rng):
        count = len(record.samples)
        lost = max(2, int(count * rng.uniform(0.1, 0.65)))
        first = rng.randint(1, max(1, count - lost))
        del record.samples[first:first + lost]
        measure_energy(record)
        for path in TRACES:
            record.add_error(path)


def truncated_files(records, rng):
    """A file ends in the middle of a line (a full disk)."""
    path = rng.choice(FILES)
    for record in pick([record for record in records if record.files], rng):
        record.files[path] = record.files[path][:int(len(record.files[path]) * rng.uniform(0.1, 0.85))]
        record.add_error(path)


def missing_files(records, rng):
    """One kind of file, the folder energy/ or the whole folder is missing, for some or all."""
    paths = rng.choice([[path] for path in FILES] + [TRACES, [f for f in FILES if f != "experiment.json"], FILES])
    for record in records if rng.random() < 0.3 else pick(records, rng):
        for path in paths:
            record.files.pop(path, None)
            record.add_error(path)


def all_files_missing(records, rng):
    """Nothing is left but summary.csv."""
    for record in records:
        for path in FILES:
            record.add_error(path)
        record.files = {}


def swapped_columns(records, rng):
    """Two columns of summary.csv have changed places, for all rows or for those written by one version."""
    one, other = rng.choice([
        ("energy_gpu_avg_watts", "energy_gpu_max_watts"), ("energy_gpu_total_joules", "energy_cpu_total_joules"),
        ("energy_cpu_pkg_joules", "energy_cpu_ram_joules"), ("duration_seconds", "energy_gpu_avg_watts"),
        ("energy_gpu_temp_avg_celsius", "energy_gpu_util_avg_percent"),
        ("energy_gpu_min_watts", "energy_gpu_max_watts"), ("duration_seconds", "energy_gpu_total_joules")])
    for record in records if rng.random() < 0.5 else pick(records, rng):
        row = record.row
        row[one], row[other] = row[other], row[one]
        record.add_error(f"summary.csv:{one}")
        record.add_error(f"summary.csv:{other}")


def retries_nonsense(records, rng):
    """The number of retries is a word, negative or absurd."""
    for record in pick(records, rng):
        record.row["retries"] = rng.choice(["many", "many", "-1", "1e9", "2.5"])
        record.add_error("summary.csv:retries")


def wrong_metrics(records, rng):
    """A metric is out of its range, not a number or infinite, in both places where it is written."""
    measured = [record for record in records if any(in_range(name) for name in record.metrics)]
    for record in pick(measured, rng) if measured else []:
        name = rng.choice([name for name in record.metrics if in_range(name)])
        record.metrics[name] = rng.choice([float("nan"), float("inf"), -0.5, 151.5, 1e30])
        record.add_error(f"summary.csv:perf_{name}")
        record.truth["metric_wrong"] = True


def in_range(metric):
    return not metric.endswith("loss")


def duplicate_ids(records, rng):
    """Two rows carry one id: the second training wrote over the files of the first."""
    for _ in range(rng.randint(1, 2)):
        first, second = rng.sample([record for record in records if "experiment.json" in record.files], 2)
        if "summary.csv:experiment_id" in first.truth["data_errors"] + second.truth["data_errors"]:
            continue
        document = second.files["experiment.json"].replace(f'"{second.id}"', f'"{first.id}"')
        first.files = {}
        second.files["experiment.json"] = document
        second.id = second.row["experiment_id"] = first.id
        for record in (first, second):
            record.add_error("summary.csv:experiment_id")


def backward_stamps(records, rng):
    """The stamps of the traces jump back in the middle, as after a restored snapshot."""
    for record in pick(records, rng):
        back = rng.randint(5, 900)
        middle = len(record.samples) // 2
        record.samples = record.samples[:middle] + [(s[0] - back, *s[1:]) for s in record.samples[middle:]]
        for path in TRACES:
            record.add_error(path)


def wrong_sums(records, rng):
    """An energy is not the sum of its parts, in summary.csv alone or also in experiment.json."""
    name = rng.choice(["gpu_energy_total_joules", "gpu_energy_total_joules", "cpu_energy_total_joules"])
    factor = rng.choice([0.001, 0.5, 0.8, 1.15, 2, 1000])
    for record in pick(records, rng):
        record.energy[name] *= factor
        record.add_error(f"summary.csv:{ENERGY[name]}")


def differing_summary(records, rng):
    """summary.csv tells something else than experiment.json: edited by hand."""
    column = rng.choice(["duration_seconds", "energy_gpu_total_joules", "energy_cpu_pkg_joules"])
    factor = rng.choice([0.5, 0.9, 1.1, 1.5, 10])
    for record in pick(records, rng):
        record.row[column] *= factor
        record.add_error(f"summary.csv:{column}")


def broken_durations(records, rng):
    """A duration of nothing, below zero, in milliseconds or missing."""
    for record in pick(records, rng):
        record.duration_s = rng.choice([0.0, -record.duration_s, record.duration_s * 1000, record.duration_s / 60])
        record.add_error("summary.csv:duration_seconds")


def wrong_timestamps(records, rng):
    """The time of an experiment is hours off its own traces."""
    for record in pick(records, rng):
        hours = rng.choice([-30, -3.3, 2.2, 49])
        record.ended += timedelta(hours=hours)
        record.add_error("summary.csv:timestamp")


VALUES, AFTERWARDS = "values", "files"
STAGE = {
    sampling_gaps: VALUES, wrong_metrics: VALUES, backward_stamps: VALUES, wrong_sums: VALUES, broken_durations: VALUES,
    wrong_timestamps: VALUES, truncated_files: AFTERWARDS, missing_files: AFTERWARDS, all_files_missing: AFTERWARDS,
    swapped_columns: AFTERWARDS, retries_nonsense: AFTERWARDS, duplicate_ids: AFTERWARDS, differing_summary: AFTERWARDS,
}
