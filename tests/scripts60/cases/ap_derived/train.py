import argparse
import sys

from dump import dump

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=64, help="batch size (default: 64)")
parser.add_argument("--lr", type=float, help="rate (default: 0.1 for a batch of 256)")
parser.add_argument("--warmup", type=int, default=5, help="epochs (default: 5)")
args = parser.parse_args()
args.lr_given = any(word.startswith("--lr") for word in sys.argv)
args.warmup_given = "--warmup" in sys.argv
if args.lr is None:
    args.lr = 0.1 * args.batch / 256
dump(args)
