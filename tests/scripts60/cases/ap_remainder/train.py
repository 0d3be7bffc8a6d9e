import argparse

from dump import dump

parser = argparse.ArgumentParser()
parser.add_argument("--config-file", default="", metavar="FILE",
                    help="file of settings (default: none)")
parser.add_argument("--eval-only", action="store_true", help="skip the training (default: no)")
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--opts", default=None, nargs=argparse.REMAINDER,
                    help="settings to change, as KEY VALUE KEY VALUE; must come last")
dump(parser.parse_args())
