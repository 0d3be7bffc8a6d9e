"""Readers of what 'export --mlflow' and '--tensorboard' write, from the descriptions of these formats and not from the program: the layout
of MLflow's file store, the framing of TFRecord (length, masked CRC-32C, bytes, masked CRC-32C), and the wire format of protocol buffers."""
import json
import math
import os
import re
import struct

TABLE = []
for number in range(256):
    for _ in range(8):
        number = (number >> 1) ^ (0x82F63B78 if number & 1 else 0)
    TABLE.append(number)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


assert crc32c(b"123456789") == 0xE3069283  # the check value of CRC-32C
assert crc32c(bytes(32)) == 0x8A9136AA  # RFC 3720, B.4


def masked(data):
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def records(path):
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        (crc,) = struct.unpack_from("<I", data, at + 8)
        assert crc == masked(data[at:at + 8]), "the length at byte %d is damaged" % at
        body = data[at + 12:at + 12 + length]
        (crc,) = struct.unpack_from("<I", data, at + 12 + length)
        assert len(body) == length and crc == masked(body), "the record at byte %d is damaged" % at
        yield body
        at += 16 + length


def fields(data):
    """(number, value) of each field of a message; nothing may be left."""
    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
    at = 0
    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 1:
            yield key >> 3, struct.unpack_from("<d", data, at)[0]
            at += 8
        elif key & 7 == 2:
            length = varint()
            assert at + length <= len(data)
            yield key >> 3, data[at:at + length]
            at += length
        else:
            assert key & 7 == 5, key
            yield key >> 3, struct.unpack_from("<f", data, at)[0]
            at += 4


def hparam(data):
    ((kind, value),) = fields(data)  # google.protobuf.Value
    return {1: lambda: None, 2: lambda: value, 3: lambda: value.decode(), 4: lambda: bool(value)}[kind]()


def read_events(path):
    """{"scalars": {tag: [(step, wall_time, value)]}, "hparams": {name: value}, "status": n}"""
    out = {"scalars": {}, "hparams": {}, "status": None, "start": None, "end": None}
    for number, record in enumerate(records(path)):
        event = dict(fields(record))
        if number == 0:
            assert event[3] == b"brain.Event:2", event
            continue
        for field, summary in fields(event[5]):
            assert field == 1
            value = dict(fields(summary))
            tag = value[1].decode()
            if 2 in value:
                out["scalars"].setdefault(tag, []).append((event.get(2, 0), event[1], value[2]))
                continue
            plugin = dict(fields(dict(fields(value[9]))[1]))
            assert plugin[1] == b"hparams"
            data = dict(fields(plugin[2]))
            if tag == "_hparams_/session_start_info":
                for key, content in fields(data[3]):
                    if key == 1:
                        entry = dict(fields(content))
                        out["hparams"][entry[1].decode()] = hparam(entry[2])
                    elif key == 5:
                        out["start"] = content
            else:
                assert tag == "_hparams_/session_end_info", tag
                end = dict(fields(data[4]))
                out["status"], out["end"] = end[1], end[2]
    return out


def read_logs(top):
    """{"RUN/EXPERIMENT": read_events}, as TensorBoard finds them: by "tfevents" in the name of a file."""
    found = {}
    for folder, _, names in os.walk(top):
        for name in names:
            if "tfevents" in name:
                path = os.path.relpath(folder, top)
                assert path not in found, "two files of " + path
                found[path] = read_events(os.path.join(folder, name))
    return found


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
