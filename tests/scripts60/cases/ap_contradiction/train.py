import argparse

from dump import dump

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.001, help="learning rate (default: 0.1)")
parser.add_argument("--epochs", type=int, default=200, help="number of epochs (default: 90)")
parser.add_argument("--batch-size", type=int, default=128, help="batch size, default: 64")
parser.add_argument("--optimizer", default="rmsprop", choices=["adam", "sgd", "rmsprop"],
                    help="optimizer (default: adam)")
parser.add_argument("--cache", action="store_true", help="cache images in RAM (default: on)")
parser.add_argument("--nesterov", action="store_true", help="use Nesterov momentum (default: off)")
parser.add_argument("--device", default="cuda", help="device [default: cpu]")
dump(parser.parse_args())
