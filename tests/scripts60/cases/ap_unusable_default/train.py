import argparse
import os

from dump import dump


def existing_file(text):
    if not os.path.exists(text):
        raise argparse.ArgumentTypeError(f"{text} does not exist")
    return os.path.abspath(text)


def existing_split(text):
    if text not in ("train", "test"):
        raise argparse.ArgumentTypeError("train or test")
    return text


parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
parser.add_argument("--lr", type=float, default=0.1, help="rate")
parser.add_argument("--weights", type=existing_file, default=False, help="file of weights")
parser.add_argument("--split", type=existing_split, default=("train", "test"), help="part")
parser.add_argument("--workers", type=int, default="auto" and None,
                    help="processes (default: auto)")
dump(parser.parse_args())
