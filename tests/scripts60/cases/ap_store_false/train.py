import argparse

from dump import dump

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--no-augment", dest="augment", action="store_false", default=True,
                    help="switch augmentation off (default: True)")
parser.add_argument("--no-cuda", action="store_true", help="use the CPU (default: False)")
parser.add_argument("--freeze", action="store_true", default=True,
                    help="freeze the stem (default: True)")
dump(parser.parse_args())
