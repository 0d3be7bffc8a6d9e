#!/usr/bin/env python3
"""What is alive in a snapshot, by CPython's reading of it: alive.py FILE [EVENTS], as tests/page/memory.cjs takes it: the states after the first
EVENTS events (default: none) and after the peak. Sizes are those that were requested; the peak is of sizes rounded up to 512 bytes."""
import json
import pickle
import sys


def text(size):
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size / (unit >> 10 or 1) >= 1023.95 or (name == "KiB" and size >= 1024):
            return f"{size / unit:.2f} {name}" if name == "GiB" else f"{size / unit:.1f} {name}"
    return f"{size} B"


snapshot = pickle.load(open(sys.argv[1], "rb"))
first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
trace = snapshot["device_traces"][0]
blocks = {b["address"]: b["requested_size"] for s in snapshot["segments"] for b in s["blocks"] if b["state"] != "inactive"}
# What the record does not allocate was there before it: what it frees, and what is there at its end.
alive, seen = {}, set()
for event in trace:
    if event["action"] == "alloc":
        seen.add(event["addr"])
    elif event["action"] == "free_requested" and event["addr"] not in seen:
        alive[event["addr"]] = event["size"]
        seen.add(event["addr"])
alive.update({address: size for address, size in blocks.items() if address not in seen})
reserved = sum(s["total_size"] for s in snapshot["segments"])
signs = {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}
reserved -= sum(signs.get(e["action"], 0) * e["size"] for e in trace)
states, best, peak, total, rounded = {}, -1, 0, sum(alive.values()), sum((s + 511) // 512 * 512 for s in alive.values())
counts = [len(trace), 0, 0]
for i, event in enumerate(trace):
    if event["action"] == "alloc":
        alive[event["addr"]] = event["size"]
        total, rounded = total + event["size"], rounded + (event["size"] + 511) // 512 * 512
        counts[1], counts[2] = counts[1] + 1, counts[2] + event["size"]
    elif event["action"] == "free_requested":
        size = alive.pop(event["addr"])
        total, rounded = total - size, rounded - (size + 511) // 512 * 512
    reserved += signs.get(event["action"], 0) * event["size"]
    state = {"alive": text(total), "count": len(alive), "reserved": text(reserved)}
    if i < first:
        states[i] = state
    if rounded > best:
        best, peak, at_peak = rounded, i, state
states[peak] = at_peak
json.dump({"peak": peak, "states": states, "events": counts[0], "allocations": counts[1], "bytes": counts[2]}, sys.stdout)
