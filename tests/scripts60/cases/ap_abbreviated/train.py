import argparse

from dump import dump

parser = argparse.ArgumentParser()
parser.add_argument("--learning-rate", type=float, default=0.02, help="(default: %(default)s)")
parser.add_argument("--epochs", type=int, default=90, help="(default: %(default)s)")
parser.add_argument("--batch-size", "-b", type=int, default=256,
                    help="mini-batch size (default: 256)")
parser.add_argument("--eval", action="store_true", help="evaluate (default: False)")
dump(parser.parse_args())
