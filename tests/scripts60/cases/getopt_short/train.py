import getopt
import sys

from dump import dump

values = {"batch": 8, "lr": "0.5", "verbose": False}
try:
    options, rest = getopt.getopt(sys.argv[1:], "hb:v", ["help", "lr=", "verbose"])
except getopt.GetoptError as error:
    sys.exit(f"{error}\nusage: train.py [-v] [-b N] [--lr RATE] FILE...")
for name, value in options:
    if name in ("-h", "--help"):
        print("usage: train.py [-v] [-b N] [--lr RATE] FILE...\n -b N  batch (default 32)")
        sys.exit()
    if name == "-b":
        values["batch"] = int(value)
    elif name == "--lr":
        values["lr"] = value
    else:
        values["verbose"] = True
dump({**values, "files": rest})
