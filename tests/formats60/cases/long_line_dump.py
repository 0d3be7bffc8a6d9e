"""A line of 1.5 MB without any break (a dumped array) before and beside the numbers."""
LOG = ("epoch 1 loss: 1.2044\n"
       "predictions: [" + ", ".join(["0.1234"] * 190000) + "] loss: 0.6041\n"
       "epoch 2 loss: 0.5120\nTest accuracy: 0.8911\n")
REPORTED = r"\blong(?:er)? lines?\b|\bline[^.]{0,40}\b(?:too long|longer|cut|truncated)\b"
want("loss train_loss", 0.5120)
want("test_accuracy accuracy", 0.8911)
wrong(1.2044, "epoch 1")
wrong(0.6041, "before the last epoch")
