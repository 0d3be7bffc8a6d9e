"""Cross validation: folds, then mean and deviation."""
LOG = """
Fold 1/3 - epoch 5/5 - loss: 0.3120 - val_loss: 0.4127 - val_accuracy: 0.8510
Fold 2/3 - epoch 5/5 - loss: 0.3301 - val_loss: 0.3902 - val_accuracy: 0.8622
Fold 3/3 - epoch 5/5 - loss: 0.3012 - val_loss: 0.4411 - val_accuracy: 0.8374
Mean accuracy: 0.8502 (+/- 0.0101)
"""
want("accuracy mean_accuracy val_accuracy", [0.8502, 0.8374])
may("loss train_loss", 0.3012)
may("val_loss", 0.4411)
wrong(0.0101, "the deviation")
wrong(0.8622, "fold 2")
