"""Losses below zero, and with a Unicode minus sign (a negative log likelihood of densities)."""
LOG = """
epoch 1 train_loss: -0.4120 val_loss: -0.3811
epoch 2 train_loss: -1.2077 val_loss: -1.1150
epoch 3 train_loss: -1.5512 val_loss: \u22121.3402
"""
want("train_loss loss", -1.5512)
want("val_loss", -1.3402)
wrong(1.5512, "the sign is lost")
wrong(1.3402, "the sign is lost")
wrong(-1.115, "epoch 2: the last line's number was not read")
