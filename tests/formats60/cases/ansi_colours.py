"""ANSI colours between name, sign and number, and inside the number's field."""
LOG = """
\x1b[1;34mEpoch 1/2\x1b[0m \x1b[90m|\x1b[0m loss: \x1b[31m0.9120\x1b[0m \x1b[90m|\x1b[0m val_loss: \x1b[33m0.8811\x1b[0m \x1b[90m|\x1b[0m val_acc: \x1b[32m61.2%\x1b[0m
\x1b[1;34mEpoch 2/2\x1b[0m \x1b[90m|\x1b[0m loss: \x1b[31m0.6044\x1b[0m \x1b[90m|\x1b[0m val_loss: \x1b[33m0.7020\x1b[0m \x1b[90m|\x1b[0m val_acc: \x1b[1m\x1b[38;5;82m70.4%\x1b[0m
"""
want("loss train_loss", 0.6044)
want("val_loss", 0.7020)
want("val_accuracy accuracy", 70.4, percent=True)
wrong(31, "a colour's code")
wrong(33, "a colour's code")
wrong(32, "a colour's code")
wrong(38, "a colour's code")
wrong(1, "a colour's code")
