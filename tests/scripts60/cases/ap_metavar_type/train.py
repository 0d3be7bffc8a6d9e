import argparse

from dump import dump

parser = argparse.ArgumentParser(formatter_class=argparse.MetavarTypeHelpFormatter)
parser.add_argument("--momentum", type=float, default=0.95, help="momentum, default 0.9")
parser.add_argument("--optimizer", type=str, default="adamw", help="its name")
parser.add_argument("--steps", type=int, default=1000, help="steps (defaults to 100 in debug mode)")
parser.add_argument("-v", type=int, default=1, help="verbosity")
dump(parser.parse_args())
