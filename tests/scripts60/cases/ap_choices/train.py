import argparse

from dump import dump

parser = argparse.ArgumentParser(description="ResNets on CIFAR")
parser.add_argument("--depth", type=int, choices=[18, 34, 50, 101], default=34)
parser.add_argument("--optim", choices=("sgd", "adam", "lamb"), default="sgd",
                    help="optimizer to use")
parser.add_argument("--level", type=int, choices=range(0, 4), default=1, help="O0 to O3")
parser.add_argument("--norm", choices=["bn", "gn", "none"], default=None,
                    help="normalisation (default: bn for depth < 50)")
dump(parser.parse_args())
