"""Overrides: key=value, +key=value, ++key=value, ~key."""
import json
import sys

from dump import dump


def parse(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


config = {"model": "vgg", "lr": 0.5, "layers": [8], "cache": True, "optim.lr": 0.9, "seed": 1}
for override in sys.argv[1:]:
    if override.startswith("~"):
        del config[override[1:]]
        continue
    key, separator, value = override.partition("=")
    if not separator:
        sys.exit(f"{override!r} lacks =")
    name = key.lstrip("+")
    if not key.startswith("+") and name not in config:
        sys.exit(f"{name!r} is not in the configuration; +{override} adds it")
    config[name] = parse(value)
dump(config)
