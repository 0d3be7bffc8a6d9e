import argparse


def parse():
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--lr", type=float, default=0.05, help="rate")
    parser.add_argument("--fold", type=int, default=9, help="fold")
    parser.add_argument("--no-tune", dest="tune", action="store_false", help="leave tuning out")
    return parser.parse_args()
