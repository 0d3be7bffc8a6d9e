import argparse

from dump import dump

parser = argparse.ArgumentParser(
    formatter_class=lambda prog: argparse.HelpFormatter(prog, max_help_position=12, width=44))
parser.add_argument("--gradient-accumulation-steps-per-device", type=int, default=1,
                    help="steps collected before an update, see also --batch-size 32 and "
                    "--a 7 (default: 8 with --b, (default: 3) without)")
parser.add_argument("--a", type=int, default=0,
                    help="weight of the auxiliary loss as in the paper, where "
                    "--a 5 was best, default: 5")
parser.add_argument("--b", action="store_true", help="balance the classes, which needs "
                    "--batch-size 64 (default: 64)")
parser.add_argument("--batch-size", type=int, default=16, help="examples")
dump(parser.parse_args())
