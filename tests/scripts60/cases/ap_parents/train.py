import argparse

from dump import dump

common = argparse.ArgumentParser(add_help=False)
common.add_argument("--data", default="wiki", help="folder of the text (default: %(default)s)")
common.add_argument("--lr", type=float, default=20,
                    help="rate of the first epoch (default: %(default)s)")
common.add_argument("--cuda", action="store_true", help="use CUDA (default: False)")
parser = argparse.ArgumentParser(parents=[common], conflict_handler="resolve")
parser.add_argument("--lr", type=float, default=2.5, help="learning rate of the head (default: 20)")
parser.add_argument("--hidden", type=int, default=200, help="units per layer")
parser.add_argument("--tied", action="store_true", help="tie embeddings (default: tied)")
dump(parser.parse_args())
