import argparse

from dump import dump

parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
parser.add_argument("--channels-last", action="store_true",
                    help="instead of the default NCHW layout")
parser.add_argument("--deterministic", action="store_true",
                    help="by default cudnn.benchmark is used")
parser.add_argument("--resume", action="store_true", help="continue (default: start from scratch)")
parser.add_argument("--head", default=None, help="own head; the default of torchvision otherwise")
parser.add_argument("--clip", type=float,
                    help="gradient norm. Defaults to no clipping; 1.0 is common")
parser.add_argument("--no-ddp-sync", dest="sync", action="store_false",
                    help="turn off the default behaviour default: sync")
dump(parser.parse_args())
