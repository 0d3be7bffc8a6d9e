import argparse

from dump import dump

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--lr", type=float, default=0.7, help="(default: 0.1)")
parser.add_argument("--model", default="huge", help="tiny, small or large (default: small)")
dump(parser.parse_args())
