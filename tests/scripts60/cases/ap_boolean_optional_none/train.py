import argparse

from dump import dump

parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
parser.add_argument("--amp", action=argparse.BooleanOptionalAction, default=None,
                    help="mixed precision; decided by the GPU if left out")
parser.add_argument("--compile", action=argparse.BooleanOptionalAction, help="compile the model")
parser.add_argument("--workers", type=int, default=0, help="loader processes")
args = parser.parse_args()
args.amp_given = args.amp is not None
dump(args)
