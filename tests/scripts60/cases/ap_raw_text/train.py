import argparse

from dump import dump

parser = argparse.ArgumentParser(formatter_class=argparse.RawTextHelpFormatter, description="""
Trains a classifier.

  stage 1   --warmup epochs with a rising rate
  stage 2   the schedule
""")
parser.add_argument("--schedule", default="poly", help="""how the rate falls:
  cosine    half a wave
  step      by 10 at --milestones
  constant  default: 0.1 throughout
(default: constant)""")
parser.add_argument("--warmup", type=int, default=0,
                    help="epochs of warm-up\n  --warmup 5   for large batches (default: 5)\n")
parser.add_argument("--mode",
                    help="one of\n- fast (the default)\n- exact: default for --schedule=step")
dump(parser.parse_args())
