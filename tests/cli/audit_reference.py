#!/usr/bin/env python3
"""A second computation of what `audit --json` says of a folder in the study's layout, from docs/reference/judging.md, with Python's
standard library alone. audit_reference.py AUDIT.json FOLDER [SPLIT]: exit 1 and a line for each figure that differs."""
import csv
import datetime
import json
import math
import os
import sys
from collections import Counter

FAULTS = []


def same(what, found, expected, tolerance=1e-9):
    if found is None or expected is None:
        if found is not expected:
            FAULTS.append(f"{what}: {found}, expected {expected}")
    elif isinstance(expected, (int, float)) and not isinstance(expected, bool):
        if abs(found - expected) > tolerance * max(1, abs(expected)):
            FAULTS.append(f"{what}: {found!r}, expected {expected!r}")
    elif found != expected:
        FAULTS.append(f"{what}: {found!r}, expected {expected!r}")


def read_samples(path):
    with open(path, newline="") as file:
        return [(int(row[0]), float(row[1])) for row in list(csv.reader(file))[1:]]


def elapsed_of(path):
    with open(path) as file:
        for line in file:
            if "seconds time elapsed" in line:
                return float(line.split()[0].replace(",", ""))
    return None


def local_seconds(text):
    """Microseconds kept as an integer; the local time's fields read as UTC."""
    moment = datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.timezone.utc)
    return moment.timestamp()


def integrate(points, begin, end):
    """Straight lines through the points, held level to the edges of the window."""
    knots = [(begin, points[0][1])] if points[0][0] > begin else []
    knots += points
    if points[-1][0] < end:
        knots.append((end, points[-1][1]))
    total = 0.0
    for (t0, p0), (t1, p1) in zip(knots, knots[1:]):
        low, high = max(t0, begin), min(t1, end)
        if high <= low:
            continue
        at = lambda t: p0 + (p1 - p0) * (t - t0) / (t1 - t0)
        total += (high - low) * (at(low) + at(high)) / 2
    return total


def variance(samples, begin, end):
    t = [s[0] for s in samples]
    p = [s[1] for s in samples]
    n = len(p)
    stamps = ((p[0] - p[1]) / 2) ** 2 + ((p[-2] - p[-1]) / 2) ** 2
    stamps += sum(((p[i - 1] - p[i + 1]) / 2) ** 2 for i in range(1, n - 1))
    stamps += (p[0] - p[-1]) ** 2
    change = [b - a for a, b in zip(p, p[1:])]
    rare = often = gaps = 0.0
    joined = []
    for i, d in enumerate(change):
        h = t[i + 1] - t[i]
        if h > 3:
            gaps += h * h
            continue
        joined.append(h)
        before = change[i - 1] if i else 0
        after = change[i + 1] if i + 1 < len(change) else 0
        rare += d * d * h * h / 12
        often -= 2.5 * d * (before + after) * h * h / 12
    near = [p[max(0, i - 5):i + 6] for i in range(n)]
    hidden = 0.15 * sum((p[i] - sum(w) / len(w)) ** 2 for i, w in enumerate(near))
    hidden *= (sum(joined) / len(joined)) ** 2 if joined else 0
    swing = max(max(p) - min(p), max(p) / 2)
    first = min(max(0, t[0] + 0.5 - begin), end - begin)
    last = min(max(0, end - t[-1] - 0.5), end - begin)
    return rare + max(0, often) + hidden + stamps / 12 + swing * swing * (gaps + first * first + last * last) / 12


def rises(samples):
    """Of five samples that rise from steady to steady power: whether the middle one lies within."""
    found = []
    for i in range(len(samples) - 4):
        (t, a), (_, b), (_, c), (_, d), (u, e) = samples[i:i + 5]
        low = min(p for _, p in samples[:i + 5])
        if (e > a and e - a >= 0.3 * e and abs(b - a) <= 0.05 * (e - a) and abs(e - d) <= 0.05 * (e - a)
                and a <= low + 0.1 * (e - a) and u - t <= 5):
            share = (c - a) / (e - a)
            if 0.1 < share <= 1.1:
                found.append(share < 0.9)
    return found


def settle(items):
    """The sensor's kind from the folder's rises, and each experiment's energy by it."""
    found = [is_gradual for item in items for is_gradual in item["rises"]]
    kind = "unknown"
    if len(found) >= 8 and sum(found) >= 0.5 * len(found):
        kind = "mean"
    elif len(found) >= 8 and sum(found) <= 0.15 * len(found):
        kind = "instant"
    for item in items:
        gpu, (begin, end) = item["gpu"], item["edges"]
        samples = item["samples"]
        points = [(t + 0.5, p) for t, p in samples]
        spread = variance(samples, begin, end)
        last = min(max(0, end - points[-1][0]), end - begin)
        instants = integrate(points, begin, end), 1.959963984540054 * math.sqrt(spread)
        change = (samples[-1][1] - samples[-2][1]) * last / 2
        means = integrate(points, begin + 0.5, end + 0.5), 1.959963984540054 * math.sqrt(spread + change * change)
        used = {"instant": [instants], "mean": [means], "unknown": [instants, means]}[kind]
        low, high = min(e - h for e, h in used), max(e + h for e, h in used)
        gpu["sensor"], gpu["energy_unknown"] = kind, None
        gpu["energy_j"], gpu["half_width_j"] = (low + high) / 2, (high - low) / 2
        gpu["power_mean_w"] = gpu["energy_j"] / gpu["window_s"]
        is_known = gpu["half_width_j"] <= 0.05 * gpu["energy_j"]
        if gpu["sampled_share"] + 1 / gpu["window_s"] < 0.95 and not is_known:
            item["kinds"].add("sampling_short")
        if gpu["half_width_j"] > 0.2 * gpu["energy_j"]:
            item["kinds"].add("energy_imprecise")


def judge(row, folder):
    """What the experiment's row and folder give."""
    identifier = row["experiment_id"]
    energy = os.path.join(folder, identifier, "energy")
    samples = read_samples(os.path.join(energy, "gpu_power.csv"))
    busy = read_samples(os.path.join(energy, "gpu_utilization.csv"))
    first = samples[0][0]  # as fractions of seconds since 1970, moments would lose digits
    samples = [(t - first, p) for t, p in samples]
    busy = [(t - first, u) for t, u in busy]
    duration = float(row["duration_seconds"])
    elapsed = elapsed_of(os.path.join(energy, "cpu_energy_raw.txt"))
    ended = local_seconds(row["timestamp"])
    zone = round((ended - duration - first) / 900) * 900
    begin = math.fsum([int(ended) - first - zone, int(row["timestamp"].split(".")[1]) / 1e6, -duration])
    window = elapsed if elapsed is not None and 0 < elapsed <= duration else duration
    end = begin + window
    seconds = {t for t, _ in samples if t + 1 > begin and t < end}
    with open(os.path.join(folder, identifier, "experiment.json")) as file:
        record = json.load(file)
    parallel = record.get("mode") == "parallel"
    job = record["foreground"] if parallel else record
    out = {
        "recorded_j": float(row["energy_gpu_total_joules"]),
        "samples_sum_j": math.fsum(p for _, p in samples),
        "window_s": window,
        "window_from": "perf" if window == elapsed else "duration",
        "samples": len(samples),
        "sampled_share": min(1, len(seconds) / window),
        "power_min_w": min(p for _, p in samples),
        "power_max_w": max(p for _, p in samples),
        "utilisation_mean_percent": sum(u for _, u in busy) / len(busy),
        "utilisation_max_percent": max(u for _, u in busy),
        "early_utilisation_percent": max(u for t, u in busy if t < math.floor(begin) + 2),
        "idle_share": sum(u < 5 for _, u in busy) / len(busy),
    }
    kinds = set()
    if not parallel and out["early_utilisation_percent"] >= 5:
        kinds.add("gpu_busy_before")
    if parallel and out["utilisation_max_percent"] < 5:
        kinds.add("background_no_load")
    gaps = [b[0] - a[0] for a, b in zip(samples, samples[1:])]
    if max(gaps + [samples[0][0] + 0.5 - begin, end - samples[-1][0] - 0.5]) > 5:
        kinds.add("sampling_gap")
    success = row["training_success"] == "True"
    if int(row["retries"]) > 0 and success:
        kinds.add("energy_overwritten")
    # Half a unit of the last decimal, of each sample and of the recorded sum, as they were printed.
    with open(os.path.join(energy, "gpu_power.csv")) as file:
        places = max(len(line.rstrip().partition(".")[2]) for line in file if line[0].isdigit())
    recorded_places = len(row["energy_gpu_total_joules"].partition(".")[2])
    rounding = (len(samples) * 10**-places + 10**-recorded_places) / 2
    if abs(out["recorded_j"] - out["samples_sum_j"]) > rounding + 1e-9 * out["samples_sum_j"]:
        kinds.add("energy_differs")
    if success and not job["performance_metrics"]:
        kinds.add("success_without_metrics")
    contaminated = {"gpu_busy_before", "background_no_load"} & kinds
    suspect = {"sampling_gap", "energy_overwritten", "energy_differs"} & kinds
    # No model of these folders was trained often enough to be compared: nothing is shown to be clean.
    verdict = "contaminated" if contaminated else "suspect" if suspect else "unverified" if success else "none"
    return {"id": identifier, "success": success, "parallel": parallel, "verdict": verdict, "kinds": kinds, "gpu": out,
            "repository": row["repository"], "model": row["model"], "end": local_seconds(row["timestamp"]),
            "duration": duration, "error": job["error_message"], "zone": zone, "samples": samples, "edges": (begin, end),
            "rises": rises(samples)}


def check_row(what, found, items):
    same(f"{what}: total", found["total"], len(items))
    same(f"{what}: succeeded", found["succeeded"], sum(i["success"] for i in items))
    same(f"{what}: failed", found["failed"], sum(not i["success"] for i in items))
    for verdict in ("clean", "unverified", "suspect", "contaminated"):
        same(f"{what}: {verdict}", found[verdict], sum(i["verdict"] == verdict for i in items))
    if items:
        same(f"{what}: energy", found["gpu_energy_j"], math.fsum(i["gpu"]["energy_j"] for i in items))
        same(f"{what}: rate", found["success_rate"], sum(i["success"] for i in items) / len(items))
    same(f"{what}: duration", found["duration_s"], math.fsum(i["duration"] for i in items))


def check_table(what, found, items, key):
    groups = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    same(f"{what}: names", {r["name"] for r in found if r["total"]}, set(groups))
    for row in found:
        check_row(f"{what} {row['name']}", row, groups.get(row["name"], []))


def main():
    with open(sys.argv[1]) as file:
        audit = json.load(file)
    folder = sys.argv[2]
    with open(os.path.join(folder, "summary.csv"), newline="") as file:
        items = [judge(row, folder) for row in csv.DictReader(file)]
    settle(items)
    same("experiments", len(audit["experiments"]), len(items))
    for found, item in zip(audit["experiments"], items):
        same("id", found["experiment_id"], item["id"])
        for name, expected in item["gpu"].items():
            same(f"{item['id']}: {name}", found["gpu"][name], expected)
        same(f"{item['id']}: kinds", {e["kind"] for e in found["evidence"]}, item["kinds"])
        same(f"{item['id']}: verdict", found["verdict"], item["verdict"])
        same(f"{item['id']}: mode", found["mode"], "parallel" if item["parallel"] else "sequential")
    same("zone", audit["folders"][0]["utc_offset_s"], Counter(i["zone"] for i in items).most_common(1)[0][0])
    check_row("totals", audit["totals"], items)
    check_table("repository", audit["repositories"], items, lambda i: i["repository"])
    check_table("model", audit["models"], items,
                lambda i: f"{i['repository']} {i['model']}{' parallel' if i['parallel'] else ''}")
    check_table("failure", audit["failures"], [i for i in items if not i["success"]], lambda i: i["error"])
    hour = lambda i: datetime.datetime.fromtimestamp(i["end"], datetime.timezone.utc).strftime("%Y-%m-%d %H:00")
    check_table("timeline", audit["timeline"], items, hour)
    kinds = Counter(k for i in items for k in i["kinds"])
    same("evidence", {r["name"]: r["total"] for r in audit["evidence"]}, dict(kinds))
    folders = [d for d in os.listdir(folder) if os.path.isdir(os.path.join(folder, d))]
    same("folders", audit["integrity"]["folders"], len(folders))
    same("rows", audit["integrity"]["summary_rows"], len(items))
    same("rows without folder", audit["integrity"]["rows_without_folder"], 0)
    same("folders without row", audit["integrity"]["folders_without_row"], 0)
    if len(sys.argv) > 3:
        moment = local_seconds(sys.argv[3])
        sides = [[i for i in items if i["end"] < moment],
                 [i for i in items if i["end"] >= moment > i["end"] - i["duration"]],
                 [i for i in items if i["end"] - i["duration"] >= moment]]
        for found, side in zip(audit["split"]["rows"], sides):
            check_row(f"split {found['name']}", found, side)
    print("\n".join(FAULTS) if FAULTS else f"{len(items)} experiments agree")
    return 1 if FAULTS else 0


if __name__ == "__main__":
    sys.exit(main())
