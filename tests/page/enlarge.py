"""A report of many experiments out of one of a few, 300 s each and 100 s of waiting between them, every seventh suspect, every tenth
contaminated, with energies that differ: enlarge.py FILE COUNT: to standard output."""
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


def with_pauses(found):
    head = json.loads(found.group(2))
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
        trace["seconds"] = [i * 2.0 for i in range(150)]
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
    '<script type="application/json" id="x%d">%s</script>\n' % (n, json.dumps(copy(n)).replace("<", "\\u003c"))
    for n in range(1, int(sys.argv[2]) + 1)
)
sys.stdout.write(rest[:begin] + many + rest[begin:])
