import argparse
import os

from dump import dump

parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
parser.add_argument("--tau", type=float, default=float(os.environ.get("TAU", "0.07")),
                    help="temperature")
parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads")
parser.add_argument("--home", default=os.path.expanduser("~/.cache/models"), help="cache")
parser.add_argument("--rank", type=int, default=int(os.getenv("RANK", -1)), help="rank")
dump(parser.parse_args())
