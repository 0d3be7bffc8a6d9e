"""Train accuracy as a per cent, validation accuracy as a fraction, on one line."""
LOG = """
Epoch 1/2 Train Loss: 0.8112 Train Acc: 71.33% Val Loss: 0.7020 Val Acc: 0.7544
Epoch 2/2 Train Loss: 0.5127 Train Acc: 82.06% Val Loss: 0.5914 Val Acc: 0.7981
"""
want("train_loss loss", 0.5127)
want("train_accuracy accuracy", 82.06, percent=True)
want("val_loss", 0.5914)
want("val_accuracy", 0.7981)
wrong(79.81, "the fraction read as a per cent")
wrong(0.7544, "epoch 1")
