import argparse

from dump import dump

parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
length = parser.add_mutually_exclusive_group(required=True)
length.add_argument("--steps", type=int, default=1000, help="number of updates")
length.add_argument("--epochs", type=int, default=1, help="number of passes")
device = parser.add_mutually_exclusive_group()
device.add_argument("--cpu", action="store_true", help="run on the CPU")
device.add_argument("--gpu", action="store_true", help="run on the GPU")
device.add_argument("--device", default="auto", help="run there")
dump(parser.parse_args())
