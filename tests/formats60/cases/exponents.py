"""Exponents in several spellings: e-05, E+00, a trailing point, a leading point."""
LOG = """
epoch=1 loss=1.25E+00 val_loss=.9912 val_acc=5.1e-1
epoch=2 loss=3.11e-05 val_loss=.0412 val_acc=1.
"""
want("loss train_loss", 3.11e-05)
want("val_loss", 0.0412)
want("val_accuracy accuracy", 1.0)
wrong(3.11, "the exponent is lost")
wrong(412, "the point is lost")
wrong(0.9912, "epoch 1: the last line's number was not read")
wrong(0.51, "epoch 1: the last line's number was not read")
wrong(5.1, "the exponent is lost")
