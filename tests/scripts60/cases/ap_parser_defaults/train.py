import argparse

from dump import dump

parser = argparse.ArgumentParser(argument_default=argparse.SUPPRESS,
                                 epilog="Options that are left out keep the checkpoint's values.")
parser.add_argument("--k", type=int, help="neighbours (default: 20)")
parser.add_argument("--metric", help="distance (default: cosine)")
parser.add_argument("--normalize", action="store_true", help="(default: True)")
parser.add_argument("--fold", type=int, default=0, help="fold of five (default: %(default)s)")
parser.set_defaults(metric="l2")
checkpoint = {"k": 10, "metric": "dot", "normalize": True}
dump({**checkpoint, **vars(parser.parse_args())})
