import argparse
import json

from dump import dump

parser = argparse.ArgumentParser()
parser.add_argument("--kwargs", type=json.loads, default={},
                    help="arguments of the model (default: {})")
parser.add_argument("--layers", type=json.loads, default=[32],
                    help="units, as a list (default: [32])")
parser.add_argument("--name", default="{epoch}",
                    help="file name pattern (default: {epoch}-{loss:.2f})")
parser.add_argument("--lr", type=float, default=0.1)
dump(parser.parse_args())
