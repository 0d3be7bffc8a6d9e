"""Early stopping with 'best' lines; the last epoch's values and the best ones differ."""
LOG = """
Epoch 01: train loss 0.9012, val loss 0.8120, val acc 0.7010  * best
Epoch 02: train loss 0.6120, val loss 0.6504, val acc 0.7722  * best
Epoch 03: train loss 0.4511, val loss 0.6611, val acc 0.7690  (patience 1/2)
Epoch 04: train loss 0.3302, val loss 0.7015, val acc 0.7631  (patience 2/2)
Early stopping. Best val loss: 0.6504 at epoch 2
"""
want("train_loss loss", 0.3302)
want("val_loss", 0.7015)
want("val_accuracy accuracy", 0.7631)
may("best_val_loss", 0.6504)
wrong(0.6504, "the best one, not the last")
wrong(0.7722, "the best one, not the last")
