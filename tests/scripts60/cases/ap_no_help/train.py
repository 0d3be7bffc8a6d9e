import argparse

from dump import dump


def get_args_parser():
    parser = argparse.ArgumentParser("Trainer", add_help=False)
    parser.add_argument("--model", default="deit_base", type=str, metavar="MODEL",
                        help="which network (default: deit_small)")
    parser.add_argument("--lr", type=float, default=5e-4, metavar="LR",
                        help="learning rate (default: 5e-4)")
    parser.add_argument("--repeated-aug", action="store_true")
    parser.add_argument("--no-repeated-aug", action="store_false", dest="repeated_aug")
    parser.set_defaults(repeated_aug=True)
    return parser


if __name__ == "__main__":
    dump(get_args_parser().parse_args())
