"""Appends the values that a script parsed, and the words that it was given, to the file $DUMP.

The harness copies this file next to each script. It names neither a parser nor the list of
arguments of Python, so that a program which searches the script's modules for a parser finds
the script's own.
"""
import dataclasses
import enum
import json
import os
import pathlib


def encode(value):
    """The value as JSON that keeps its type: 1 and 1.0, a list and a tuple stay different."""
    if isinstance(value, enum.Enum):
        return {type(value).__name__: value.name}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, pathlib.PurePath):
        return {"Path": str(value)}
    if dataclasses.is_dataclass(value):
        return encode(vars(value))
    if isinstance(value, dict):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, list):
        return [encode(item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(item) for item in value]}
    if isinstance(value, (set, frozenset)):
        return {"set": sorted(map(str, value))}
    return {type(value).__name__: str(value)}


def words_after(script, pid="self"):
    """The command line of a process after the name of its script, or after -m MODULE."""
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        words = [os.fsdecode(word) for word in file.read().split(b"\0")[:-1]]
    for index, word in enumerate(words):
        if os.path.basename(word) == os.path.basename(script) or words[index - 1:index] == ["-m"]:
            return words[index + 1:]
    return words


def append(values, words):
    line = json.dumps({"values": encode(values), "words": words}, sort_keys=True)
    with open(os.environ["DUMP"], "a", encoding="utf-8") as file:
        file.write(line + "\n")


def dump(values):
    """values: a dict, a namespace or a dataclass."""
    import __main__
    append(values if isinstance(values, dict) else vars(values), words_after(__main__.__file__))
