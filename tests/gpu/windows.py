"""Many windows of a steady load against the counter's own reading of the time that contains them: windows.py RUN_FOLDER [PAGE...].
RUN_FOLDER: of a run of steady.py in epochs of 2 s. PAGE: what `tare measure --for 10 --json`, or 2, said meanwhile."""
import csv
import glob
import json
import re
import statistics
import sys

LIMIT = 0.005

folder = glob.glob(sys.argv[1] + "/*/experiment.json")[0].removesuffix("experiment.json")
log = open(folder + "training.log").read()
joules, seconds, begin, end = map(float, re.search(r"^counter (\S+) (\S+) (\S+) (\S+)$", log, re.M).groups())
watts = joules / seconds
# It rests in epoch 2 and in the last one, to read the counter.
rows = [row for row in csv.DictReader(open(folder + "energy/marks.csv")) if row["part"] == "epoch"][2:-1]
epochs = [(float(row["gpu_energy_j"]), float(row["duration_s"]), float(row["gpu_half_width_j"])) for row in rows]
five = [(sum(e[0] for e in epochs[i:i + 5]), sum(e[1] for e in epochs[i:i + 5]), None) for i in range(len(epochs) - 4)]
apart, failed = {2: [], 10: []}, len(epochs) < 20
for name in sys.argv[2:]:
    try:
        page = json.load(open(name))
    except ValueError:
        continue # it was ended before it had measured
    # What lies wholly between the two readings of the counter, and not where it rested for them.
    if page["start_ns"] / 1e9 > begin + 0.5 and page["end_ns"] / 1e9 < end - 0.5:
        gpu = page["gpu"]
        if gpu["joules"] is None:
            print(f"{name}: no energy ({page['not_measured']}, {page['notes']})")
            failed = True
            continue
        apart[2 if page["duration_seconds"] < 6 else 10].append((gpu["joules"], page["duration_seconds"], gpu["half_width_j"]))
print(f"counter: {watts:.2f} W over {seconds:.1f} s")
for what, windows in (("2 s (epochs)", epochs), ("10 s (five epochs, overlapping)", five), ("2 s (tare measure)", apart[2]),
                      ("10 s (tare measure)", apart[10])):
    if not windows:
        print(f"{what}: none")
        continue
    off = [window[0] / window[1] / watts - 1 for window in windows]
    half = [window[2] / window[0] for window in windows if window[2] is not None]
    print(f"{what}: {len(windows)} windows, median {100 * statistics.median(off):+.3f} %, worst {100 * max(off, key=abs):+.3f} %"
          + (f", stated half-width {100 * statistics.median(half):.3f} %" if half else "")
          + f" (aim: within {100 * LIMIT} %)")
    failed |= max(map(abs, off)) >= LIMIT
sys.exit(failed)
