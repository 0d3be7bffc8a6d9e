import argparse

from dump import dump

parser = argparse.ArgumentParser(prog="python -m trainer",
                                 usage="%(prog)s DATASET [--lr 0.1] [--fast] ...")
parser.add_argument("--version", action="version", version="%(prog)s 1.0")
parser.add_argument("dataset", help="mnist or cifar10 (default: mnist)")
parser.add_argument("--lr", type=float, default=0.9, metavar="RATE (default: 0.1)")
parser.add_argument("--fast", action="store_true")
dump(parser.parse_args())
