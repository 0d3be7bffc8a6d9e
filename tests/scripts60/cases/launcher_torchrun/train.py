import argparse
import os

from dump import dump

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.7, help="rate (default: 0.1)")
parser.add_argument("--batch", type=int, default=4, help="of one process (default: 32)")
parser.add_argument("--local_rank", type=int, default=int(os.environ.get("LOCAL_RANK", -1)))
parser.add_argument("--deepspeed", default=None, metavar="FILE", help="settings (default: zero2)")
args = parser.parse_args()
args.world = os.environ.get("WORLD_SIZE")
args.mpi_rank = os.environ.get("OMPI_COMM_WORLD_RANK")
dump(args)
