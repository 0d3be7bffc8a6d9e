import argparse

from dump import dump

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=argparse.SUPPRESS, help="rate (default: 0.1)")
parser.add_argument("--tuned", action="store_true", default=argparse.SUPPRESS)
parser.add_argument("--secret-scale", type=float, default=1.0, help=argparse.SUPPRESS)
parser.add_argument("--secret-switch", action="store_true", help=argparse.SUPPRESS)
dump(parser.parse_args())
