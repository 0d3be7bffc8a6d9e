import argparse
import textwrap

from dump import dump

parser = argparse.ArgumentParser(
    formatter_class=argparse.RawDescriptionHelpFormatter,
    description="Train a transformer.",
    epilog=textwrap.dedent("""\
        examples:
          train.py --lr 0.5 --layers 12 (default: 12)
          train.py --heads 16 --seed 42
        options:
          --lr LR     see above (default: 0.5)
        """))
model = parser.add_argument_group("model", "size of the network; --layers 12 gives the base one")
model.add_argument("--layers", type=int, default=6, help="blocks")
model.add_argument("--heads", type=int, default=8, help="attention heads (must divide --width 512)")
model.add_argument("--width", type=int, default=256)
fit = parser.add_argument_group("optimisation")
fit.add_argument("--lr", type=float, default=1e-4, help="peak rate")
fit.add_argument("--seed", type=int)
dump(parser.parse_args())
