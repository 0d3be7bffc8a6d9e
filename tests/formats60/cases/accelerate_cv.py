"""accelerate's cv_example: epoch lines with per-cent numbers without a sign."""
LOG = """
The following values were not passed to `accelerate launch` and had defaults used instead:
\t`--num_processes` was set to a value of `1`
epoch 0: 71.43
epoch 1: 86.12
epoch 2: 89.79
"""
# The number after "epoch 2:" has no name: only the source says that it is the accuracy.
may("accuracy val_accuracy", 89.79)
wrong(2, "number of the epoch")
wrong(86.12, "epoch 1")
