import argparse

from dump import dump

parser = argparse.ArgumentParser()
parser.add_argument("--release", default="2.30", help="of the data (default: 2.30)")
parser.add_argument("--agent", default="0042", help="identifier (default: 0042)")
parser.add_argument("--steps", type=lambda text: int(float(text)), default=5000,
                    help="(default: 5e3)")
parser.add_argument("--lr", default="1e-03", help="kept as text (default: 1e-03)")
parser.add_argument("--port", type=int, default=29500, help="(default: 029_500)")
dump(parser.parse_args())
