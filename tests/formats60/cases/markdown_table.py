"""A table in Markdown for each epoch: a row of numbers under a head."""
LOG = """
| Epoch | Training Loss | Validation Loss | Accuracy | F1 |
|-------|---------------|-----------------|----------|----|
| 1 | 0.6011 | 0.5120 | 0.7411 | 0.7302 |
| 2 | 0.3902 | 0.4411 | 0.8020 | 0.7988 |
| 3 | 0.2610 | 0.4513 | 0.8133 | 0.8101 |
"""
want("train_loss loss training_loss", 0.2610)
want("val_loss", 0.4513)
want("accuracy val_accuracy", 0.8133)
want("f1 val_f1", 0.8101)
wrong(1, "the 1 of F1, or the epoch")
wrong(0.4411, "epoch 2")
