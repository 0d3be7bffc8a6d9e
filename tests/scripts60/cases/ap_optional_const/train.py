import argparse

from dump import dump

parser = argparse.ArgumentParser()
parser.add_argument("--resume", nargs="?", const=True, default=False,
                    help="go on from a file, or from the newest one")
parser.add_argument("--wandb", nargs="?", const="online", default=None, metavar="MODE",
                    help="log there (default: online)")
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--rect", nargs="?", const=32, type=int, help="stride (default 64)")
dump(parser.parse_args())
