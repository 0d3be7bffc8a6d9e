"""The study's files: a record of an experiment, rendered to summary.csv, experiment.json and energy/*, to the byte."""
import csv
import io
import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path

LEADING = ["experiment_id", "timestamp", "repository", "model", "training_success", "duration_seconds", "retries"]
ENERGY = {
    "cpu_energy_pkg_joules": "energy_cpu_pkg_joules", "cpu_energy_ram_joules": "energy_cpu_ram_joules",
    "cpu_energy_total_joules": "energy_cpu_total_joules", "gpu_power_avg_watts": "energy_gpu_avg_watts",
    "gpu_power_max_watts": "energy_gpu_max_watts", "gpu_power_min_watts": "energy_gpu_min_watts",
    "gpu_energy_total_joules": "energy_gpu_total_joules", "gpu_temp_avg_celsius": "energy_gpu_temp_avg_celsius",
    "gpu_temp_max_celsius": "energy_gpu_temp_max_celsius", "gpu_util_avg_percent": "energy_gpu_util_avg_percent",
    "gpu_util_max_percent": "energy_gpu_util_max_percent",
}
TRACES = ["energy/gpu_power.csv", "energy/gpu_utilization.csv", "energy/gpu_temperature.csv"]
FILES = ["experiment.json", "energy/cpu_energy.txt", "energy/cpu_energy_raw.txt", *TRACES]


@dataclass
class Record:
    id: str
    spec: object
    began: datetime            # local time without zone, as the study writes it
    ended: datetime
    duration_s: float
    perf_s: float
    pkg_j: float
    ram_j: float
    samples: list              # (stamp, W, %, memory %, degrees)
    memory_sensor: bool
    success: bool
    retries: int
    metrics: dict
    truth: dict
    energy: dict = field(default_factory=dict)
    row: dict = field(default_factory=dict)         # of summary.csv, rendered
    files: dict = field(default_factory=dict)       # path below the experiment's folder -> text

    def add_error(self, text):
        self.truth["data_errors"].append(text)


def record_of(spec, number, run, host_zone_s, memory_sensor, rng, truth):
    """What the study writes down of a run."""
    zone = timezone(timedelta(seconds=host_zone_s))
    began, ended = (datetime.fromtimestamp(t, zone).replace(tzinfo=None) for t in (run.wall_begin, run.wall_end))
    identifier = f"{spec.model.repository}_{spec.model.name}_{number:03d}" + ("_parallel" if spec.background else "")
    trained = spec.outcome in ("trained", "fell back to the CPU", "printed only")
    samples = [(int(stamp), round(w, 2), util, memory, c) for stamp, w, util, memory, c in run.samples]
    record = Record(identifier, spec, began, ended, run.wall_end - run.wall_begin, run.seconds,
                    round(run.cpu_j, 2), round(run.ram_j, 2), samples, memory_sensor, spec.outcome != "failed",
                    spec.retries, spec.model.metrics_of(spec.hyper, rng) if trained else {}, truth)
    measure_energy(record)
    return record


def measure_energy(record):
    """The study's own arithmetic: GPU energy is the sum of the power samples."""
    watts, busy, degrees = ([sample[column] for sample in record.samples] for column in (1, 2, 4))
    record.energy = {
        "cpu_energy_pkg_joules": record.pkg_j, "cpu_energy_ram_joules": record.ram_j,
        "cpu_energy_total_joules": round(record.pkg_j + record.ram_j, 2),
        "gpu_power_avg_watts": sum(watts) / len(watts), "gpu_power_max_watts": max(watts),
        "gpu_power_min_watts": min(watts), "gpu_energy_total_joules": sum(watts),
        "gpu_temp_avg_celsius": sum(degrees) / len(degrees), "gpu_temp_max_celsius": float(max(degrees)),
        "gpu_util_avg_percent": sum(busy) / len(busy), "gpu_util_max_percent": float(max(busy)),
    }


def render(record):
    record.row = {"experiment_id": record.id, "timestamp": record.ended.isoformat(),
                  "repository": record.spec.model.repository, "model": record.spec.model.name,
                  "training_success": record.success, "duration_seconds": record.duration_s,
                  "retries": record.retries}
    record.row |= {f"hyperparam_{name}": value for name, value in record.spec.hyper.items()}
    record.row |= {f"perf_{name}": value for name, value in record.metrics.items()}
    record.row |= {ENERGY[name]: value for name, value in record.energy.items()}
    record.files = {
        "experiment.json": json.dumps(document(record), indent=2, ensure_ascii=False),
        "energy/cpu_energy.txt": cpu_summary(record), "energy/cpu_energy_raw.txt": perf_output(record),
        "energy/gpu_power.csv": table("timestamp,power_draw_w", [f"{s[0]},{s[1]:.2f}" for s in record.samples]),
        "energy/gpu_utilization.csv": table("timestamp,gpu_util_percent,memory_util_percent",
                                            [f"{s[0]},{s[2]},{s[3]}" for s in record.samples]),
        "energy/gpu_temperature.csv": table("timestamp,gpu_temp_c,memory_temp_c",
                                            [f"{s[0]},{s[4]},{memory_degrees(record, s)}" for s in record.samples]),
    }


def memory_degrees(record, sample):
    return sample[4] + 8 if record.memory_sensor else "N/A"


def document(record):
    spec = record.spec
    message = "Training completed successfully" if record.success else "Error pattern found: Training.*FAILED"
    part = {"repository": spec.model.repository, "model": spec.model.name, "hyperparameters": spec.hyper,
            "duration_seconds": record.duration_s, "energy_metrics": record.energy,
            "performance_metrics": record.metrics, "training_success": record.success, "retries": record.retries,
            "error_message": message}
    head = {"experiment_id": record.id, "timestamp": (record.ended - timedelta(microseconds=220)).isoformat()}
    if not spec.background:
        return head | part
    background = {"repository": spec.background.model.repository, "model": spec.background.model.name,
                  "hyperparameters": spec.background.hyper,
                  "log_directory": f"results/run/{record.id}/background_logs",
                  "note": "Background training served as GPU load only (not monitored)"}
    return head | {"mode": "parallel", "foreground": part, "background": background}


def cpu_summary(record):
    return ("CPU Energy Consumption Summary\n==============================\n"
            f"Package Energy (Joules): {record.pkg_j:.2f}\nRAM Energy (Joules): {record.ram_j:.2f}\n"
            f"Total CPU Energy (Joules): {record.pkg_j + record.ram_j:.2f}\n\n"
            "Note: Measured using perf stat with direct command wrapping\n"
            "This method provides more accurate results than interval sampling\n")


def perf_output(record):
    return (f"# started on {record.began.strftime('%a %b %e %H:%M:%S %Y')}\n\n\n"
            " Performance counter stats for 'system wide':\n\n"
            f"{record.pkg_j:18,.2f} Joules power/energy-pkg/{' ' * 53}\n"
            f"{record.ram_j:18,.2f} Joules power/energy-ram/{' ' * 53}\n"
            f"\n{record.perf_s:18.9f} seconds time elapsed\n\n")


def table(header, lines):
    return "\n".join([header, *lines]) + "\n"


def write_folder(records, folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "summary.csv").write_text(summary(records), newline="")
    for record in records:
        for path, text in record.files.items():
            target = Path(folder, record.id, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, newline="")


def summary(records):
    seen = {name for record in records for name in record.row}
    columns = LEADING + sorted(n for n in seen if n.startswith("hyperparam_"))
    columns += sorted(n for n in seen if n.startswith("perf_")) + list(ENERGY.values())
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(record.row for record in records)
    return text.getvalue()
