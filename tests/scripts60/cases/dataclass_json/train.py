import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict, dataclass, field, fields

from dump import dump


@dataclass
class LoraArguments:
    rank: int = 4
    alpha: float = 16.0
    bf16: bool = False
    seed: int = 42
    target_modules: list = field(default_factory=list)


given = {}
words = sys.argv[1:]
if words and words[0].endswith(".json"):
    with open(words.pop(0), encoding="utf-8") as file:
        given = json.load(file)
parser = ArgumentParser(description="LoRA (default: rank 8)")
for one in fields(LoraArguments):
    if one.type is list:
        parser.add_argument("--" + one.name, nargs="+", help="(default: all)")
    elif one.type is bool:
        parser.add_argument("--" + one.name, action="store_true", default=None)
    else:
        parser.add_argument("--" + one.name, type=one.type)
named = vars(parser.parse_args(words))
given.update({key: value for key, value in named.items() if value is not None})
dump(asdict(LoraArguments(**given)))
