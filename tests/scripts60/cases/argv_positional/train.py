from sys import argv

from dump import dump

dump({"rate": float(argv[1]), "seed": argv[2], "steps": int(argv[3])})
