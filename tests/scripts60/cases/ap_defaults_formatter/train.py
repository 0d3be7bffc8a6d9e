from argparse import ArgumentDefaultsHelpFormatter, ArgumentParser

from dump import dump

parser = ArgumentParser(formatter_class=ArgumentDefaultsHelpFormatter)
parser.add_argument("--arch", default="vgg11", help="architecture")
parser.add_argument("--wd", type=float, default=1e-5, help="weight decay")
parser.add_argument("--pretrained", action="store_true", help="load weights")
parser.add_argument("--no-bn", action="store_false", dest="bn", help="leave batch norm out")
parser.add_argument("--checkpoint", default=None, help="start from here")
parser.add_argument("--suffix", default="", help="appended to the run's name")
parser.add_argument("--classes", type=int, nargs="+", default=[0, 1], help="classes kept")
dump(parser.parse_args())
