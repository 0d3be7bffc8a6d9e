import sys

from dump import dump

USAGE = """usage: train.py FILE [--lr RATE] [--hidden N] [-v]
  --lr RATE    learning rate, 0.5 by default
  --hidden N   units (default 100)
  -v           print more (default: on)"""
values = {"file": None, "lr": 0.05, "hidden": 10, "verbose": False}
words = sys.argv[1:]
while words:
    word = words.pop(0)
    if word in ("-h", "--help"):
        print(USAGE)
        sys.exit(0)
    if word == "--lr":
        values["lr"] = float(words.pop(0))
    elif word == "--hidden":
        values["hidden"] = int(words.pop(0))
    elif word == "-v":
        values["verbose"] = True
    elif word.startswith("-") or values["file"]:
        sys.exit(USAGE)
    else:
        values["file"] = word
dump(values)
