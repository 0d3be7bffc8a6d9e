"""Train a tagger.

Usage:
  train.py [options] <folder>
  train.py (-h | --help)

Options:
  -h --help        Show this screen.
  --lr=<rate>      Learning rate [default: 0.5].
  -n <epochs>      Epochs [default: 10].
  --drop <share>   Dropout, not used unless given (default: 0.3).
  --fast           Skip the evaluation [default is on].
"""
from docopt import docopt

from dump import dump

dump(dict(docopt(__doc__)))
