import argparse

from dump import dump

parser = argparse.ArgumentParser()
parser.add_argument("--tag", default="none", help="label (default: '')")
parser.add_argument("--note", default="a, b", help="free text (default: a, b)")
parser.add_argument("--lr", type=float, default=0.1)
dump(parser.parse_args())
