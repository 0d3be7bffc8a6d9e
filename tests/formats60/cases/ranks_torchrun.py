"""torchrun --tee: each rank's lines have its prefix and their own shard's numbers; rank 3 is last."""
LOG = """
[default0]:epoch 1 train_loss: 0.9011 val_acc: 0.7011
[default2]:epoch 1 train_loss: 0.9214 val_acc: 0.7102
[default1]:epoch 1 train_loss: 0.8871 val_acc: 0.6920
[default3]:epoch 1 train_loss: 0.9120 val_acc: 0.7055
[default1]:epoch 2 train_loss: 0.6120 val_acc: 0.7720
[default0]:epoch 2 train_loss: 0.6344 val_acc: 0.7831
[default2]:epoch 2 train_loss: 0.6401 val_acc: 0.7912
[default3]:epoch 2 train_loss: 0.6299 val_acc: 0.7780
"""
want("train_loss loss", 0.6344)
want("val_accuracy accuracy", 0.7831)
wrong(0.6299, "the last rank's")
wrong(0.778, "the last rank's")
wrong(0.9011, "epoch 1")
