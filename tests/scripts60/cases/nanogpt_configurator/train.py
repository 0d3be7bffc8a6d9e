"""Example: train.py --n_layer=2 --compile=False"""
from configurator import configure
from dump import dump

learning_rate = 6e-4
n_layer = 12
block_size = 1024
dataset = "shakespeare"
compile = True
config = {key: value for key, value in globals().items()
          if not key.startswith("_") and isinstance(value, (int, float, bool, str))}
configure(config)
dump(config)
