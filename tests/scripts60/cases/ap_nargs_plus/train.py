import argparse

from dump import dump

parser = argparse.ArgumentParser()
parser.add_argument("--input-size", nargs="+", type=int, default=None, metavar="N",
                    help="image shape, such as --input-size 3 32 32; else the model's default")
parser.add_argument("--milestones", nargs="+", type=int, default=[100, 150],
                    help="epochs of a step")
parser.add_argument("--gamma", type=float, default=0.1, help="factor (default: %(default).2f)")
parser.add_argument("--mean", type=float, nargs="+", default=(0.5,),
                    help="mean of the pixels instead of the data set's (default: 0.5)")
dump(parser.parse_args())
