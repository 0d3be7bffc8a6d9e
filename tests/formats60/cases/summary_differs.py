"""A final summary that differs from the last batch's line under the same name."""
LOG = """
step 480/500 loss: 0.3012 acc: 0.9062
step 490/500 loss: 0.2211 acc: 0.9375
step 500/500 loss: 0.4127 acc: 0.8438
Finished training. Average over the last epoch:
loss: 0.2933
acc: 0.9120
"""
want("loss train_loss", 0.2933)
want("accuracy train_accuracy", 0.9120)
wrong(0.4127, "the last batch's")
wrong(0.8438, "the last batch's")
