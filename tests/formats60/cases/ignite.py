"""PyTorch Ignite's MNIST example."""
LOG = """
ITERATION - loss: 0.41
Training Results - Epoch: 1 Avg accuracy: 0.91 Avg loss: 0.31
Validation Results - Epoch: 1 Avg accuracy: 0.92 Avg loss: 0.28
ITERATION - loss: 0.13
Training Results - Epoch: 2 Avg accuracy: 0.95 Avg loss: 0.17
Validation Results - Epoch: 2 Avg accuracy: 0.94 Avg loss: 0.19
"""
want("loss train_loss avg_loss train_avg_loss", 0.17)
want("accuracy train_accuracy avg_accuracy", 0.95)
want("val_loss val_avg_loss", 0.19)
want("val_accuracy val_avg_accuracy", 0.94)
wrong(0.28, "epoch 1")
wrong(0.13, "one batch")
