"""NumPy 2's repr of scalars in a dict and an f-string."""
LOG = """
epoch 1 {'loss': np.float64(0.75), 'acc': np.float32(0.612)}
epoch 2 {'loss': np.float64(0.25), 'acc': np.float32(0.881)}
val_loss: np.float64(0.3125) val_acc: np.float64(0.859375)
"""
want("loss train_loss", 0.25)
want("accuracy train_accuracy", 0.881)
want("val_loss", 0.3125)
want("val_accuracy", 0.859375)
wrong(64, "the type's width")
wrong(32, "the type's width")
wrong(0.75, "epoch 1")
