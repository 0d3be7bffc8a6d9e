import argparse

from dump import dump

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1, help="rate (default: %(default)s)")
parser.add_argument("--odd", action="store_true", help="odd epochs (default: False)")
parser.add_argument("names", nargs="*")
dump(parser.parse_args())
