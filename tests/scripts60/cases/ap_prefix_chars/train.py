import argparse

from dump import dump

parser = argparse.ArgumentParser(prefix_chars="-+")
parser.add_argument("+flip", dest="flip", action="store_true", default=None,
                    help="flip (default: None)")
parser.add_argument("-flip", dest="flip", action="store_false", help="do not flip")
parser.add_argument("+scale", type=float, default=1.0)
parser.add_argument("--lr", type=float, default=0.1)
dump(parser.parse_args())
