"""Results folders in the study's layout with planted effects: a summary.csv each, nothing else."""
import os
from datetime import datetime, timedelta

START = datetime(2025, 11, 18)


def write_folder(path, rows):
    """rows: dicts with repository, model, duration_s, energy_j, mode, metrics (perf_NAME) and hyperparameters (all other keys)."""
    os.makedirs(path, exist_ok=True)
    fixed = ("repository", "model", "duration_s", "energy_j", "mode")
    modes = ["mode"] if any("mode" in row for row in rows) else []
    metrics = sorted({key for row in rows for key in row if key.startswith("perf_")})
    params = sorted({key for row in rows for key in row if key not in (*fixed, *metrics)})
    head = ["experiment_id", "timestamp", "repository", "model", "training_success", "duration_seconds", "retries", *modes,
            *("hyperparam_" + key for key in params), *metrics, "energy_gpu_avg_watts", "energy_gpu_total_joules"]
    lines = [",".join(head)]
    for number, row in enumerate(rows, 1):
        repository, model = row.get("repository", "demo"), row.get("model", "net")
        cells = [f"{repository}_{model}_{number:03}", (START + timedelta(minutes=number)).isoformat() + ".000000", repository,
                 model, "True", repr(row["duration_s"]), "0", *(row.get("mode", "") for _ in modes), *(str(row.get(key, "")) for key in (*params, *metrics)),
                 repr(row["energy_j"] / row["duration_s"]), repr(row["energy_j"])]
        lines.append(",".join(cells))
    with open(os.path.join(path, "summary.csv"), "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")
