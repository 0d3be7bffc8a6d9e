"""The epoch's line is followed by stray lines of batches of the next, interrupted epoch."""
LOG = """
epoch 1 | batch 100/100 | loss 0.8112
epoch 1 done | train loss 0.9020 | valid loss 0.8514 | valid acc 0.7010
epoch 2 | batch 100/100 | loss 0.5530
epoch 2 done | train loss 0.6412 | valid loss 0.6803 | valid acc 0.7714
time limit of 300 s reached in epoch 3
epoch 3 | batch 20/100 | loss 0.4902
Stopping; the model of epoch 2 is kept.
"""
want("train_loss loss", 0.6412)
want("val_loss valid_loss", 0.6803)
want("val_accuracy accuracy", 0.7714)
may("loss_step", 0.4902)
wrong(0.4902, "a batch of an epoch that did not end")
wrong(0.8514, "epoch 1")
