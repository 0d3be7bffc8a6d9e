import argparse

from dump import dump

parser = argparse.ArgumentParser()
parser.add_argument("-q", "--quiet", action="store_true")
parser.add_argument("-o", "--output", default="results", help="(default: results/latest)")
parser.add_argument("--gpus", default="all", help="(default: all)")
parser.add_argument("--runs", type=int, default=1, help="repetitions (default: 5)")
parser.add_argument("--json", action="store_true")
parser.add_argument("--model", default=None, help="(default: resnet)")
parser.add_argument("--repo", default="here")
dump(parser.parse_args())
