import argparse
import json

from dump import dump

first = argparse.ArgumentParser(description="Config", add_help=False)
first.add_argument("-c", "--config", default="", metavar="FILE", help="JSON file with arguments")
parser = argparse.ArgumentParser(description="Training", parents=[first])
parser.add_argument("--lr", type=float, default=0.05, help="learning rate (default: %(default)s)")
parser.add_argument("--epochs", type=int, default=200, help="epochs (default: 200)")
parser.add_argument("--mixup", type=float, default=0.0, help="mixup alpha (default: 0.)")
parser.add_argument("--depth", type=int, default=1, help="blocks (default: 1)")
parser.add_argument("--pretrained", action="store_true", default=False, help="(default: False)")
known, rest = first.parse_known_args()
if known.config:
    with open(known.config, encoding="utf-8") as file:
        parser.set_defaults(**json.load(file))
dump(parser.parse_args(rest))
