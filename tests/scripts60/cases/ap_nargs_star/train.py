import argparse

from dump import dump

parser = argparse.ArgumentParser()
parser.add_argument("files", nargs="*",
                    help="tables to learn from (default: train.csv)", default=["train.csv"])
parser.add_argument("--drop", nargs="*", default=["stem"],
                    help="parts left out; nothing is left out when empty")
parser.add_argument("--alpha", type=float, default=0.2, help="mixup, 0.2 if not specified")
dump(parser.parse_args())
