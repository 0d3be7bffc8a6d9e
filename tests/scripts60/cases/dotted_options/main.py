import argparse

from dump import dump

parser = argparse.ArgumentParser()
subcommands = parser.add_subparsers(dest="subcommand", required=True,
                                    help="each has its own --help (default: fit)")
for name in ("fit", "validate", "test", "predict"):
    one = subcommands.add_parser(name, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    one.add_argument("--trainer.max_epochs", type=int, default=None,
                     help="(type: Optional[int], default: null)")
    one.add_argument("--trainer.callbacks", default=None, help="(type: list, default: null)")
    one.add_argument("--trainer.callbacks+", action="append", help="append to the list")
    one.add_argument("--model.lr", type=float, default=0.02, help="(type: float, default: 0.02)")
    one.add_argument("--data.num_workers", type=int, default=4, help="(required, type: int)")
dump(parser.parse_args())
