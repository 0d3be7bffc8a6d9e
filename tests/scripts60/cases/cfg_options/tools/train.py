import argparse
import ast
import runpy

from dump import dump


class PairsAction(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        pairs = {}
        for word in values:
            key, text = word.split("=", maxsplit=1)
            try:
                pairs[key] = ast.literal_eval(text)
            except (SyntaxError, ValueError):
                pairs[key] = text
        setattr(namespace, self.dest, pairs)


parser = argparse.ArgumentParser(description="Trains what a configuration describes.")
parser.add_argument("config", help="the configuration, a Python file")
parser.add_argument("--work-dir", help="folder of logs and checkpoints (default: ./work_dirs/NAME)")
parser.add_argument("--seed", type=int, default=None)
parser.add_argument("--amp", action="store_true", default=False,
                    help="train in half precision (default: off)")
parser.add_argument("--cfg-options", nargs="+", action=PairsAction,
                    help="KEY=VALUE pairs that replace settings of the file; "
                    "a list is written scale=[4,8] or scale=4,8 (default: {})")
parser.add_argument("--launcher", choices=["none", "pytorch", "slurm", "mpi"], default="none",
                    help="how processes are started")
args = parser.parse_args()
args.read = runpy.run_path(args.config)["optimizer"]
dump(args)
