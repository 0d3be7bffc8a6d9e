"""Bytes that are not UTF-8 (Latin-1) beside the numbers."""
LOG = (b"\xc9poque 1: perte d'entra\xeenement, loss: 0.8120, val_loss: 0.7513\n"
       b"\xc9poque 2: perte d'entra\xeenement, loss: 0.5127, val_loss: 0.6044\n"
       b"pr\xe9cision finale, test accuracy: 0.8244\n")
want("loss train_loss", 0.5127)
want("val_loss", 0.6044)
want("test_accuracy accuracy", 0.8244)
wrong(0.7513, "epoch 1")
