#!/usr/bin/env python3
"""Whether documents follow a JSON Schema (draft 2020-12). follows_schema.py SCHEMA FILE...: each FILE is JSON, or (.jsonl) one document a
line. --broken before them: and broken copies of the first are refused: without a key that is required, with a key that is unknown (where
the schema is closed), with a value of another type. Exit code 77: there is no jsonschema."""
import copy
import json
import sys

try:
    from jsonschema import Draft202012Validator
except ImportError:
    sys.exit(77)


def documents(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file] if path.endswith(".jsonl") else [json.load(file)]


def breaks(schema, document):
    """(what was done, the broken copy) of a document that is an object."""
    for key in schema.get("required", []):
        broken = copy.deepcopy(document)
        del broken[key]
        yield f"without {key}", broken
    if schema.get("additionalProperties") is False:
        yield "with an unknown key", {**document, "no_such_key": 1}
    for key in document:
        if schema["properties"].get(key):  # {}: anything
            yield f"{key} of another type", {**document, key: {"not": ["this"]} if not isinstance(document[key], dict) else ["not this"]}


def main():
    arguments = sys.argv[1:]
    broken = arguments[0] == "--broken"
    name, *files = arguments[broken:]
    with open(name, encoding="utf-8") as file:
        schema = json.load(file)
    Draft202012Validator.check_schema(schema)
    validator, wrong, tried, refused = Draft202012Validator(schema), [], 0, 0
    for path in files:
        for document in documents(path):
            tried += 1
            wrong += [f"{path}: {error.json_path}: {error.message[:300]}" for error in validator.iter_errors(document)]
    for document in documents(files[0]) if broken else []:
        for what, copied in breaks(schema, document):
            refused += 1
            if validator.is_valid(copied):
                wrong.append(f"{name}: accepted {what}")
    print(*wrong[:20], sep="\n", end="\n" if wrong else "")
    return int(bool(wrong) or tried < len(files) or (broken and refused < 2))


sys.exit(main())
