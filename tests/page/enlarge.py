"""A report of many experiments out of one of a few, 300 s each and 100 s of waiting between them, every seventh suspect, every tenth
contaminated, with energies that differ: enlarge.py FILE COUNT [LANES]: to standard output."""
import json
import re
import sys

text = open(sys.argv[1], encoding="utf-8").read()
block = re.compile(r'<script type="application/json" id="x\d+">(.*?)</script>\n', re.S)
blocks = [json.loads(found) for found in block.findall(text)]
begin = block.search(text).start()
rest = block.sub("", text)
head_of = re.compile(r'(<script type="application/json" id="head">)(.*?)(</script>)', re.S)
START_MS = 1.7e12


LANES = int(sys.argv[3]) if len(sys.argv) > 3 else 0


def lane(at, count):
    """Every LANES-th experiment, with 20 s of looks before each, of which 5 s were waited, and 80 s of pause behind it."""
    numbers = range(at + 1, count + 1, LANES)
    spans = []
    for n in numbers:
        start = (n - 1) // LANES * 400000 + at * 1000
        spans += [[start, start + 5000, 3, n, 0], [start + 5000, start + 20000, 1, n, 0], [start + 20000, start + 320000, 0, n, 1],
                  [start + 320000, start + 400000, 2, 0, 0]]
    return {"node": "node%02d" % (at // 8), "name": "GPU %d" % (at % 8), "gpus": ["GPU %d" % (at % 8)], "uuids": ["GPU-%08x" % at],
            "experiments": len(numbers), "attempts": len(numbers), "gpu_energy_j": 1000.0 * len(numbers), "clean": len(numbers), "suspect": 0,
            "contaminated": 0, "unjudged": 0, "busy_s": 300.0 * len(numbers), "overhead_s": 95.0 * len(numbers),
            "waiting_s": 5.0 * len(numbers), "nothing_s": 0.0, "utilisation": 0.75, "lost": None, "spans": spans}


def with_lanes(count):
    lanes = [lane(at, count) for at in range(LANES)]
    return {"from_ms": int(START_MS), "seconds": 400.0 * count / LANES, "lanes": lanes,
            "total": {**lanes[0], "experiments": count, "spans": None}}


def with_pauses(found):
    head = json.loads(found.group(2))
    if LANES:
        head["lanes"] = with_lanes(int(sys.argv[2]))
    head["pauses"] = [{"from_ms": START_MS + n * 4e5 + 3e5, "seconds": 100, "why": "between_runs"} for n in range(1, int(sys.argv[2]))]
    head["sessions"][0].update(started_ms=START_MS + 4e5, ended_ms=START_MS + int(sys.argv[2]) * 4e5 + 3e5)
    return found.group(1) + json.dumps(head).replace("<", "\\u003c") + found.group(3)


rest = head_of.sub(with_pauses, rest)
begin += len(rest) - len(block.sub("", text))


def point(values, i):
    return values[i % len(values)] if values else None


def copy(number):
    data = json.loads(json.dumps(blocks[number % len(blocks)]))
    data["number"] = number
    data["experiment_id"] = "repo_net_%03d" % number
    for trace in data.get("trace", []):
        for name in list(trace):
            if name != "gpu":
                trace[name] = [point(trace[name], i) for i in range(150)]
        trace["seconds"] = [i * 2 for i in range(150)]
    for span in data["spans"]:
        span["from_ms"], span["to_ms"] = START_MS + number * 4e5, START_MS + number * 4e5 + 3e5
    own = data["tare"]
    own["verdict"] = "contaminated" if number % 10 == 0 else "suspect" if number % 7 == 0 else "clean"
    gpu = (own["energy"] or {}).get("gpu") or {}
    for key in ("joules", "power_mean_w"):
        if gpu.get(key) is not None:
            gpu[key] *= 1 + 0.3 * ((number * 7919) % 1000) / 1000
    return data


many = "".join(
    '<script type="application/json" id="x%d">%s</script>\n' % (n, json.dumps(copy(n), separators=(",", ":")).replace("<", "\\u003c"))
    for n in range(1, int(sys.argv[2]) + 1)
)
sys.stdout.write(rest[:begin] + many + rest[begin:])
