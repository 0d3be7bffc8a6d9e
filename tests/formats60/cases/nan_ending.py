"""A loss that is nan for the last lines, as plain words."""
LOG = """
epoch 1 loss: 0.7
epoch 2 loss: 0.3
epoch 3 loss: nan
epoch 4 loss: nan
epoch 5 loss: nan
final accuracy: 0.1000
"""
want("loss train_loss", nan)
want("accuracy final_accuracy", 0.1)
wrong(0.3, "stale: the last finite one")
