import argparse
import enum
import pathlib

from dump import dump


class Loss(enum.Enum):
    CROSS_ENTROPY = 1
    FOCAL = 2


def str2bool(text):
    if text.lower() in ("yes", "true", "t", "1"):
        return True
    if text.lower() in ("no", "false", "f", "0"):
        return False
    raise argparse.ArgumentTypeError("Boolean value expected.")


parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
parser.add_argument("--augment", type=str2bool, default=True, help="augmentation")
parser.add_argument("--layers", type=lambda text: [int(word) for word in text.split(",")],
                    default=[128, 64], help="units, with commas between")
parser.add_argument("--loss", type=Loss.__getitem__, default=Loss.CROSS_ENTROPY,
                    choices=list(Loss), help="loss")
parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path("data"), help="folder")
parser.add_argument("--lr", type=float, default=0.1, help="rate")
dump(parser.parse_args())
