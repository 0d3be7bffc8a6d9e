import argparse

from dump import dump

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.3, help="rate (default: 0.1)")
args, rest = parser.parse_known_args()
args.rest = rest
dump(args)
