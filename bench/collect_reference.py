"""What a person would write to merge the tasks' records: json and sqlite3 of Python's own library, into merged.db and merged.csv.

usage: collect_reference.py RUN_DIR OUT_DIR
It reads each task's last events.jsonl, keeps every event in a table, and writes a row for each experiment that ended. No state is checked,
no folder of results is made, no page is written. Prints the rows, its time and its peak memory.
"""
import csv
import json
import os
import resource
import sqlite3
import sys
import time

run, out = sys.argv[1:3]
begun = time.perf_counter()
db = sqlite3.connect(os.path.join(out, "merged.db"))
db.execute("CREATE TABLE events (experiment INTEGER, session INTEGER, attempt INTEGER, type TEXT, realtime_ns INTEGER, data TEXT)")
plan = json.load(open(os.path.join(run, "plan.json")))["experiments"]
rows = []
for number, experiment in enumerate(plan, 1):
    task = os.path.join(run, "tasks", f"{number:04d}")
    starts = [int(name) for name in os.listdir(task) if name.isdigit()] if os.path.isdir(task) else []
    if not starts:
        continue
    ended = {}
    values = []
    for line in open(os.path.join(task, str(max(starts)), "events.jsonl")):
        event = json.loads(line)
        values.append((number, event["session"], event["attempt"], event["type"], event["realtime_ns"], json.dumps(event["data"])))
        if event["type"] == "experiment_ended":
            ended = event["data"]
    db.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", values)
    if ended:
        rows.append([experiment["id"], ended["outcome"], ended["duration_s"], *ended["metrics"].values()])
db.commit()
with open(os.path.join(out, "merged.csv"), "w", newline="") as file:
    csv.writer(file).writerows(rows)
print("rows", len(rows))
print("seconds", round(time.perf_counter() - begun, 3))
print("rss_kib", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
