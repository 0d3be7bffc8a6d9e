import argparse

from dump import dump

parser = argparse.ArgumentParser(description="Train a small network.")
parser.add_argument("--lr", type=float, default=1e-3, help="learning rate (default: %(default)s)")
parser.add_argument("--epochs", type=int, default=10, help="epochs (default: %(default)d)")
parser.add_argument("--batch-size", type=int, default=64, metavar="N",
                    help="input batch size [default: %(default)s]")
parser.add_argument("--seed", type=int, default=None, help="random seed, default %(default)s")
parser.add_argument("--out", default="weights.pt", help="where to write (default: %(default)r)")
dump(parser.parse_args())
