"""A loss that overflows: inf, -inf, NaN in capitals, and 1e+38."""
LOG = """
[001] train_loss=4.1023e+02 val_loss=4.5512e+02
[002] train_loss=8.8011e+17 val_loss=3.1120e+19
[003] train_loss=inf val_loss=NaN
"""
want("train_loss loss", inf)
want("val_loss", nan)
wrong(8.8011e17, "stale: the last finite one")
wrong(3.112e19, "stale: the last finite one")
wrong(8.8011, "stale and without exponent")
