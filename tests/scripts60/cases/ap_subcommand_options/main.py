import argparse

from dump import dump

parser = argparse.ArgumentParser(prog="main")
parser.add_argument("--verbose", action="store_true")
parser.add_argument("--root", default="runs", help="where results go (default: %(default)s)")
commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")
train = commands.add_parser("train", help="train a model", aliases=["fit"])
train.add_argument("--lr", type=float, default=5e-5, help="learning rate (default: %(default)s)")
train.add_argument("--epochs", type=int, default=2)
train.add_argument("task", nargs="?", default="mnli")
check = commands.add_parser("eval", help="evaluate a model")
check.add_argument("--lr", help="not used (default: 1)")
dump(parser.parse_args())
