import argparse

from dump import dump

config = {"model": {"width": "32"}, "data": {"root": "data"}}
parser = argparse.ArgumentParser(
    formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    epilog="defaults: model.width 32, data.root data, --steps 100")
parser.add_argument("--set", nargs=2, action="append", metavar=("KEY", "VALUE"), default=[],
                    help="change a setting")
parser.add_argument("--steps", type=int, default=10, help="updates")
parser.add_argument("-o", "--output", default="out", help="folder")
parser.add_argument("-q", action="store_true", help="quiet")
args = parser.parse_args()
for key, value in args.set:
    section, name = key.split(".")
    config[section][name] = value
dump({**config, **vars(args)})
