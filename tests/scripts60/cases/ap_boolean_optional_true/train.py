import argparse

from dump import dump

flag = argparse.BooleanOptionalAction
parser = argparse.ArgumentParser()
parser.add_argument("--shuffle", action=flag, default=True, help="shuffle each epoch")
parser.add_argument("--ema", action=flag, default=False)
parser.add_argument("--dropout", type=float, default=0.3,
                    help="probability of zeroing (0.3 by default)")
dump(parser.parse_args())
