import argparse
import os

from dump import dump

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.6)
parser.add_argument("--size", type=int, default=int(os.environ.get("SIZE", 1)), help="(default: 1)")
dump(parser.parse_args())
