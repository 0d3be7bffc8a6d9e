"""A report of many experiments out of one of a few: enlarge.py FILE COUNT: to standard output."""
import json
import re
import sys

text = open(sys.argv[1], encoding="utf-8").read()
block = re.compile(r'<script type="application/json" id="x\d+">(.*?)</script>\n', re.S)
blocks = [json.loads(found) for found in block.findall(text)]
begin = block.search(text).start()
rest = block.sub("", text)


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
        span["from_ms"], span["to_ms"] = 1.7e12 + number * 4e5, 1.7e12 + number * 4e5 + 3e5
    return data


many = "".join(
    '<script type="application/json" id="x%d">%s</script>\n' % (n, json.dumps(copy(n)).replace("<", "\\u003c"))
    for n in range(1, int(sys.argv[2]) + 1)
)
sys.stdout.write(rest[:begin] + many + rest[begin:])
