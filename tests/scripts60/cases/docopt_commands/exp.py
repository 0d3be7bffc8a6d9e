"""Experiments.

Usage:
  exp.py train [--adam | --sgd] [--width=<n>] [--tag=<t>]... <set>...
  exp.py show <run> [--all]

--width=<n>  Units [default: 32]
--tag=<t>    Labels [default: one two]
"""
import docopt

from dump import dump

dump(dict(docopt.docopt(__doc__, version="1.0")))
