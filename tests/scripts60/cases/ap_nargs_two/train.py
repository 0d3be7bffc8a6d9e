import argparse

from dump import dump

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=6e-4)
parser.add_argument("--betas", type=float, nargs=2, default=(0.9, 0.999), metavar=("B1", "B2"),
                    help="Adam's betas (default: %(default)s)")
parser.add_argument("--crop", type=int, nargs=2, metavar="PX",
                    help="height and width (default: 224 224)")
dump(parser.parse_args())
