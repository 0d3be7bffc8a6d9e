import argparse

from dump import dump

parser = argparse.ArgumentParser()
parser.add_argument("-lr", type=float, default=1.0, help="learning rate, default=0.1")
parser.add_argument("-bs", "--batchsize", type=int, default=4)
parser.add_argument("-nl", type=int, default=1, help="number of layers, default=1")
parser.add_argument("-g", type=int, default=-1, help="GPU (default -1: CPU)")
dump(parser.parse_args())
