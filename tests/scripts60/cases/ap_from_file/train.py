import argparse

from dump import dump

parser = argparse.ArgumentParser(fromfile_prefix_chars="@",
                                 formatter_class=argparse.ArgumentDefaultsHelpFormatter)
parser.add_argument("--lr", type=float, default=1.0, help="rate")
parser.add_argument("--width", type=int, default=64, help="units")
parser.add_argument("--seed", type=int, default=0, help="seed")
parser.add_argument("--note", default="", help="text")
dump(parser.parse_args())
