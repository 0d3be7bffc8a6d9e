import argparse

from dump import dump

parser = argparse.ArgumentParser()
parser.add_argument("--bias", type=float, default=-3.0, help="initial bias (default: -3.0)")
parser.add_argument("--local-rank", type=int, default=0,
                    help="-1 without torch.distributed (default: -1)")
parser.add_argument("--max-steps", type=int, default=-1,
                    help="If > 0: overrides epochs (default: -1)")
dump(parser.parse_args())
