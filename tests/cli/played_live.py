"""A run that others hold to be under way: played_live.py RUN SLOTS SECONDS. Takes the run's lock and replaces live.json twice a second, as its
runner would, with readings for so many slots; each second one more experiment begins, by events. Ends by itself."""
import fcntl, json, math, os, socket, sys, time

run, slots, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
lock = open(os.path.join(run, "run.lock"), "r+")
fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
lock.truncate(0)
lock.write("%d %s\n" % (os.getpid(), socket.gethostname()))
lock.flush()
ids = json.loads(os.environ.get("PLAYED_ID", "null"))
events, number, begin = open(os.path.join(run, "events.jsonl"), "a"), 0, time.time()


def tell(kind, experiment, attempt, data):
    now = time.time_ns()
    events.write(json.dumps({"type": kind, "time": "", "realtime_ns": now, "monotonic_ns": time.monotonic_ns(), "session": 2, "experiment": experiment,
                             "attempt": attempt, "data": data}, separators=(",", ":")) + "\n")
    events.flush()


def slot(i):
    now = time.time()
    at = [now - 119 + k for k in range(120)]
    return {"gpus": ["GPU %d" % i], "phase": "running", "experiment": i + 1, "attempt": 1, "since_ns": int(begin * 1e9), "started_ns": int(begin * 1e9),
            "metrics": {"loss": 0.5 + i, "accuracy": None}, "power_w": 300.0 + i, "utilisation_percent": 97.0, "memory_bytes": 20.0 * 2**30,
            "memory_total_bytes": 80.0 * 2**30, "temperature_c": 60.0,
            "training": {"name": "epoch", "at": 2, "of": 4, "share": 0.32},
            "points": {"power_w": [[t, 300 + 50 * math.sin(t / 9 + i)] for t in at], "metrics": {"loss": [[t, math.exp((begin - t) / 60)] for t in at]}}}


tell("session_started", 0, 0, {"pid": os.getpid(), "host": socket.gethostname()})
while time.time() < begin + seconds:
    live = {"format": 1, "written_ns": time.time_ns(), "paused": False, "slots": [slot(i) for i in range(slots)]}
    with open(os.path.join(run, ".live"), "w") as out:
        json.dump(live, out)
    os.rename(os.path.join(run, ".live"), os.path.join(run, "live.json"))
    if number < slots:
        number += 1
        tell("experiment_started", number, 0, {"id": ""})
        tell("attempt_prepared", number, 1, {})
        tell("attempt_started", number, 1, {"start_ns": time.monotonic_ns()})
    time.sleep(0.5)
