import argparse
import os

from dump import dump

parser = argparse.ArgumentParser(description="Trains a small model.")
parser.add_argument("--lr", type=float, default=2e-5)
parser.add_argument("--mixed_precision", default=None, choices=["no", "fp16", "bf16"],
                    help="precision (default: no)")
parser.add_argument("--with_tracking", action="store_true",
                    help="log to trackers (default: all)")
args = parser.parse_args()
args.variable = os.environ.get("ACCELERATE_MIXED_PRECISION")
dump(args)
