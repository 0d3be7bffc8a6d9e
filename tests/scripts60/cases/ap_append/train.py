import argparse

from dump import dump

parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
parser.add_argument("--lr", type=float, default=0.1, help="rate")
parser.add_argument("--tag", action="append", default=["base"], help="may be repeated")
parser.add_argument("--hook", action="extend", nargs="+", default=[], help="hooks to call")
parser.add_argument("--crop", dest="steps", action="append_const", const="crop", help="crop first")
parser.add_argument("--flip", dest="steps", action="append_const", const="flip", help="flip first")
parser.add_argument("-v", "--verbose", action="count", default=0, help="more output")
dump(parser.parse_args())
