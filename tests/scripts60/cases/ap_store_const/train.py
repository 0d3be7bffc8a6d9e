import argparse

from dump import dump

parser = argparse.ArgumentParser()
parser.add_argument("--sgd", dest="optimizer", action="store_const", const="sgd", default="lion",
                    help="plain SGD (default)")
parser.add_argument("--adam", dest="optimizer", action="store_const", const="adam",
                    help="Adam (default: sgd)")
parser.add_argument("--lr", type=float, default=1.5)
parser.add_argument("--no-decay", dest="decay", action="store_const", const=0.0, default=1e-4,
                    help="without weight decay (default: 0.0001)")
dump(parser.parse_args())
