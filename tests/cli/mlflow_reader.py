"""A reader of what 'export --mlflow' writes, from the description of the layout of MLflow's file store and not from the program."""
import json
import math
import os
import re


def read_yaml(path):
    """Of YAML what such a file needs: a key and a scalar a line."""
    out = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            key, value = line.rstrip("\n").split(": ", 1)
            out[key] = json.loads(value) if value[0] in '"[0123456789' else value.strip("'")
    return out


# What MLflow allows: mlflow/utils/validation.py
NAME = re.compile(r"^[/\w.\- ]*$")


def read_folder(folder):
    out = {}
    for name in os.listdir(folder):
        assert NAME.match(name) and len(name) <= 250 and not name.startswith("."), name
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            out[name] = file.read()
    return out


def points(text):
    out = []
    assert text
    for line in text.splitlines():
        time_ms, value, step = line.split(" ")
        out.append((int(step), int(time_ms), float(value)))
    return out


def read_store(top):
    """{experiment's name: {run's name: {"meta", "params", "metrics", "tags"}}}"""
    found = {}
    for experiment in os.listdir(top):
        path = os.path.join(top, experiment)
        if experiment.startswith(".") or not os.path.isdir(path):
            continue
        meta = read_yaml(path + "/meta.yaml")
        assert meta["experiment_id"] == experiment and experiment.isdigit() and meta["lifecycle_stage"] == "active", meta
        assert meta["artifact_location"].startswith("file:///") and meta["creation_time"] <= meta["last_update_time"]
        runs = found.setdefault(meta["name"], {})
        for run in os.listdir(path):
            if run == "meta.yaml":
                continue
            inner = os.path.join(path, run)
            info = read_yaml(inner + "/meta.yaml")
            assert re.match(r"^[0-9a-f]{32}$", run) and info["run_id"] == info["run_uuid"] == run
            assert info["experiment_id"] == experiment and info["lifecycle_stage"] == "active" and info["source_type"] == 4
            assert set(info) == {"artifact_uri", "end_time", "entry_point_name", "experiment_id", "lifecycle_stage", "run_id", "run_name",
                                 "run_uuid", "source_name", "source_type", "source_version", "start_time", "status", "tags", "user_id"}
            assert os.path.isdir(inner + "/artifacts") and info["run_name"] not in runs
            runs[info["run_name"]] = {
                "meta": info, "params": read_folder(inner + "/params"), "tags": read_folder(inner + "/tags"),
                "metrics": {name: points(text) for name, text in read_folder(inner + "/metrics").items()}}
    return found


def same(a, b):
    return a == b or (math.isnan(a) and math.isnan(b))
