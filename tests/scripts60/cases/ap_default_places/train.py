import argparse

from dump import dump

parser = argparse.ArgumentParser()
parser.add_argument("--scale", type=float, default=None, help="Default: 1.0 if unspecified.")
parser.add_argument("--jobs", type=int, default=8,
                    help="%(default)s loader processes unless set, 0 when debugging")
parser.add_argument("--fraction", type=float, default=100.0,
                    help="%(default)s%% of the data, default=50%%")
parser.add_argument("--warmup-lr", type=float, default=1e-7,
                    help="rate of the first epoch (default = the smaller of 1e-6 and --lr)")
parser.add_argument("--name", default=None, help="default is the date; [default: run] with --debug")
parser.add_argument("--patience", type=int,
                    help="(Default 10 epochs, type %(type)s, dest %(dest)s)")
dump(parser.parse_args())
