import argparse

from dump import dump

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.7)
parser.add_argument("--shuffle", action="store_true")
parser.add_argument("model")
parser.add_argument("files", nargs="*")
dump(parser.parse_intermixed_args())
