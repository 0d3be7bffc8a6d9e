import argparse

from dump import dump

parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
parser.add_argument("-b", "--batch-size", "--batch_size", "--bs", type=int, default=4,
                    help="examples")
parser.add_argument("-n", "--num-epochs", "--num_epochs", type=int, default=1, help="epochs")
parser.add_argument("--fp16", "--half", action="store_true", help="16 bits")
dump(parser.parse_args())
