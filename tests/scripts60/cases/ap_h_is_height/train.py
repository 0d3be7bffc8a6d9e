import argparse

from dump import dump

parser = argparse.ArgumentParser(add_help=False)
parser.add_argument("-h", "--height", type=int, default=128, help="rows (default: 256)")
parser.add_argument("-w", "--width", type=int, default=128, help="columns (default: same as -h)")
parser.add_argument("--usage", action="help", help="show this and exit")
dump(parser.parse_args())
