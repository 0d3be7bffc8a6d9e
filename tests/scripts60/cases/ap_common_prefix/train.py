import argparse

from dump import dump

parser = argparse.ArgumentParser(allow_abbrev=False)
parser.add_argument("--lr", type=float, default=0.5, help="lr (default: --lr-decay times 0.5)")
parser.add_argument("--lr-decay", type=float, default=0.1, help="factor (default: 0.1)")
parser.add_argument("--lr-decay-epochs", type=int, default=10, metavar="E")
parser.add_argument("--lr_min", type=float, default=1e-6, help="lower bound, --lr 1e-6")
dump(parser.parse_args())
