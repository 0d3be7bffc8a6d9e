import sys

from dump import dump

values = {"lr": "0.5", "epochs": "10", "seed": "0", "name": "run"}
for word in sys.argv[1:]:
    key, _, value = word.partition("=")
    if key not in values:
        sys.exit(f"unknown setting {key}; lr=, epochs=, seed=, name=")
    values[key] = value
dump(values)
