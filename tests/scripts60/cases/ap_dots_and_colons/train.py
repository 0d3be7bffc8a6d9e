import argparse

from dump import dump

parser = argparse.ArgumentParser()
parser.add_argument("--data", default="../data", help="folder (default: ../data)")
parser.add_argument("--init", default="env://", help="rendezvous (default: env://)")
parser.add_argument("--range", default="0-9", help="shards, as 0-9 (default: 0-9)")
parser.add_argument("--lr", type=float, default=0.1)
dump(parser.parse_args())
