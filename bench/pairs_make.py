"""A registry of so many models, and a study that has measured them: pairs_make.py FOLDER MODELS. Each model has a
memory curve of 512 points, a time and a utilisation; every pair is proven, its slowdown unknown. The same each
time."""
import json
import os
import random
import sys

folder, count = sys.argv[1], int(sys.argv[2])
draw = random.Random(7)
os.makedirs(folder + "/study")
names = [f"model{i}" for i in range(count)]
models = []
for name in names:
    peak = draw.randrange(1 << 29, 5 << 30)
    points = [int(peak * min(1, 0.1 + k / 40)) for k in range(512)]
    models.append({"name": name, "repo": "zoo", "model": name, "hyperparameters": {}, "one_epoch": True, "ran": True,
                   "epochs": draw.randrange(5, 200), "succeeded": True, "margin_bytes": peak // 100,
                   "seconds": draw.uniform(10, 900), "joules": 1000.0, "utilisation_percent": draw.uniform(20, 95),
                   "curve": {"peak_bytes": peak, "step_s": 1.0, "bytes": points}})
pairs = [{"foreground": a, "background": b, "outcome": "proven", "real": {"finished": True}}
         for k, a in enumerate(names) for b in names[k + 1:]]
json.dump({"models": models, "pairs": pairs}, open(folder + "/study/feasibility.json", "w"))
zoo = {"path": ".", "train_script": "train.sh", "models": names, "supported_hyperparams": {
    "epochs": {"flag": "--epochs", "type": "int", "default": 1, "range": [1, 1000]}}}
json.dump({"models": {"zoo": zoo}}, open(folder + "/registry.json", "w"))
