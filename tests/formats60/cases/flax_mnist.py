"""Flax's MNIST example: absl prefixes, per cents, train and test on one line."""
STREAM = "stderr"
LOG = """
I0302 13:20:01.110231 140001 xla_bridge.py:889] Unable to initialize backend 'tpu'
I0302 13:20:12.771002 140001 train.py:146] epoch:  1, train_loss: 0.2412, train_accuracy: 92.81, test_loss: 0.0671, test_accuracy: 97.89
I0302 13:20:21.300112 140001 train.py:146] epoch:  2, train_loss: 0.0633, train_accuracy: 98.07, test_loss: 0.0498, test_accuracy: 98.40
I0302 13:20:29.901231 140001 train.py:146] epoch:  3, train_loss: 0.0441, train_accuracy: 98.65, test_loss: 0.0371, test_accuracy: 98.77
"""
want("train_loss loss", 0.0441)
want("train_accuracy accuracy", 98.65)
want("test_loss", 0.0371)
want("test_accuracy", 98.77)
wrong(98.4, "epoch 2")
wrong(0.0498, "epoch 2")
