"""A regression whose losses are large: 12,345.67."""
LOG = """
epoch 1/3 - train loss: 1,204,511.25 - val loss: 1,310,020.00 - lr 0.01
epoch 2/3 - train loss: 84,120.50 - val loss: 91,007.75 - lr 0.01
epoch 3/3 - train loss: 12,345.67 - val loss: 15,002.10 - lr 0.01
Done: 48,000 samples, 3 epochs
"""
want("train_loss loss", 12345.67)
want("val_loss", 15002.10)
wrong(12, "cut at the comma")
wrong(15, "cut at the comma")
wrong(12.345, "the separator read as a decimal comma")
wrong(15.002, "the separator read as a decimal comma")
wrong(84120.5, "epoch 2")
