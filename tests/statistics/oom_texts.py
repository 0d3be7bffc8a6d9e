#!/usr/bin/env python3
"""How often `tare oom` is right about the texts of tests/data/oom_texts: oom_texts.py [--part development|heldout] [--misses].

The first message that is reported for a text is its answer. A failure is recognised when that message has the right kind and
was not caught; a caught one when every message says that the work went on; a decoy when nothing is found."""
import argparse
import json
import math
import os
import pathlib
import subprocess

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "data/oom_texts"
TOLERANCE, Z = 0.01, 1.959964

# The causes of `tare oom --json` that answer each cause of the corpus. A cause that is not here has its own name.
CAUSES = {
    "other_processes": {"held_by_others"},
    "process_limit": {"cap"},
    "not_told": {"unknown"},
    "pinned_host": {"pinned_memory"},
}

# The remedies of the corpus that each remedy of `tare oom --json` is. A remedy that is not here has its own name.
REMEDIES = {
    "activation_checkpointing": {"gradient_checkpointing"},
    "cuda_malloc_async": {"expandable_segments"},
    "drop_references": {"detach_loss"},
    "fewer_processes": {"fewer_threads"},
    "free_pool": {"empty_cache"},
    "leave_workers": {"set_device_of_rank"},
    "no_preallocation": {"preallocation_off"},
    "raise_cap": {"raise_limit"},
    "smaller_batch_or_input": {"smaller_batch", "smaller_input"},
    "smaller_weights": {"quantize_weights", "mixed_precision", "shard_model"},  # its words name all three
    "smaller_pieces": {"cut_tensor", "smaller_batch"},  # its words name both
    "stop_holder": {"end_other_process"},
    "unpin": {"disable_pinning"},
}

# Where a message has each figure of the corpus: the first that is there.
FIGURES = {
    "requested_bytes": [("says", "requested")],
    "free_bytes": [("says", "free")],
    "total_bytes": [("says", "total"), ("says", "allowed")],
    "held_by_others_bytes": [("worked_out", "other_processes")],
    "unlisted_bytes": [("worked_out", "unlisted")],
}
# What a text does not say may be worked out; these may not be invented.
ONLY_READ = {"requested_bytes", "free_bytes", "total_bytes"}


def wilson(count, of):
    if of == 0:
        return 0.0, 1.0
    share, base = count / of, 1 + Z * Z / of
    half = Z * math.sqrt(share * (1 - share) / of + Z * Z / (4 * of * of))
    return (share + Z * Z / (2 * of) - half) / base, (share + Z * Z / (2 * of) + half) / base


def messages_of(path):
    run = subprocess.run([os.environ.get("TARE", "tare"), "oom", "--json", path], capture_output=True, check=False)
    if run.returncode not in (0, 1):
        raise SystemExit(f"{path}: {run.stderr.decode(errors='replace')}")
    found = json.loads(run.stdout)
    return [message for log in found["logs"] for message in log["messages"]]


def figure(message, key):
    for group, name in FIGURES[key]:
        value = message[group].get(name)
        if value:
            return value["bytes"]
    return None


def is_recognised(answer, messages):
    if answer["kind"] == "decoy":
        return not messages
    if answer["kind"] == "caught":
        return bool(messages) and all(message["went_on"] for message in messages)
    return bool(messages) and messages[0].get("kind", "gpu") == answer["kind"] and not messages[0]["went_on"]


def wrong_figures(answer, message):
    """The figures that differ from the answer, and those that are missing."""
    wrong, missing = [], []
    for key in FIGURES:
        expected, given = answer[key], figure(message, key)
        if expected is None:
            wrong += [f"{key} {given}, not said"] if given is not None and key in ONLY_READ else []
        elif given is None:
            missing += [key] if expected else []
        elif abs(given - expected) > max(TOLERANCE * expected, answer["total_bytes"] and TOLERANCE * answer["total_bytes"] or 0
                                         if key not in ONLY_READ else 0):
            wrong.append(f"{key} {given}, not {expected}")
    return wrong, missing


def is_place(expected, place):
    if not expected:
        return place is None
    return place is not None and (place["file"], place["line"]) == (expected["file"], expected["line"])


class Rate:
    def __init__(self, name):
        self.name, self.right, self.of, self.misses = name, 0, 0, []

    def add(self, right, miss):
        self.right, self.of = self.right + bool(right), self.of + 1
        if not right:
            self.misses.append(miss)

    def text(self):
        low, high = wilson(self.right, self.of)
        share = 100 * self.right / self.of if self.of else 0
        return f"{self.name:34s} {self.right:4d} of {self.of:4d}  {share:5.1f} %  ({100 * low:.1f} to {100 * high:.1f} %)"


def score(rates, answer, messages):
    name, kind = answer["file"], answer["kind"]
    found = "; ".join(f"{one['framework']}, {one['cause']}" for one in messages) or "nothing"
    rates["recognised " + kind].add(is_recognised(answer, messages), f"{name} {answer['framework']}: {found}")
    if kind in ("decoy", "caught"):
        return
    rates["recognised failures"].add(is_recognised(answer, messages), f"{name} {answer['framework']}: {found}")
    first = messages[0] if messages else None
    if first:
        wrong, missing = wrong_figures(answer, first)
        rates["no figure wrong"].add(not wrong, f"{name}: {', '.join(wrong)}")
        rates["no figure missing"].add(not missing, f"{name}: {', '.join(missing)}")
        rates["place"].add(is_place(answer["place"], first.get("place")), f"{name}: {first.get('place')}, not {answer['place']}")
    causes = CAUSES.get(answer["cause"], {answer["cause"]})
    rates["cause"].add(first and first["cause"] in causes, f"{name}: {first and first['cause']}, not {answer['cause']}")
    remedies = [one["name"] for one in first["remedies"]] if first else []
    useful = remedies and REMEDIES.get(remedies[0], {remedies[0]}) & set(answer["remedies"])
    rates["first remedy useful"].add(useful, f"{name} {answer['cause']}: {remedies[:1]}, not {answer['remedies']}")
    useless = [one for one in remedies if REMEDIES.get(one, {one}) & set(answer["useless"])]
    rates["no useless remedy first"].add(not useless or useless[0] != remedies[0], f"{name}: {useless}")
    rates["no useless remedy at all"].add(not useless, f"{name}: {useless}")


NAMES = ("recognised failures", "recognised gpu", "recognised host", "recognised onchip", "recognised caught", "recognised decoy",
         "no figure wrong", "no figure missing", "cause", "place", "first remedy useful", "no useless remedy first",
         "no useless remedy at all")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", choices=("development", "heldout"), default="development")
    parser.add_argument("--misses", action="store_true", help="list what is missed")
    given = parser.parse_args()
    folder = FOLDER if given.part == "development" else FOLDER / "heldout"
    rates = {name: Rate(name) for name in NAMES}
    with open(folder / "answers.jsonl", encoding="utf-8") as answers:
        for answer in map(json.loads, answers):
            score(rates, answer, messages_of(folder / answer["file"]))
    for rate in rates.values():
        print(rate.text())
    for rate in rates.values() if given.misses else ():
        print(f"\n{rate.name}:")
        for miss in rate.misses:
            print("  " + miss)


if __name__ == "__main__":
    main()
