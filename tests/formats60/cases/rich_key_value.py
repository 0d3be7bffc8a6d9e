"""A two-column Rich table with plain names, after a progress bar."""
LOG = """
Training ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 100% 0:00:00 loss=0.411
╭───────────┬─────────╮
│ metric    │ value   │
├───────────┼─────────┤
│ test_loss │ 0.3871  │
│ test_acc  │ 0.91    │
│ params    │ 101,770 │
╰───────────┴─────────╯
"""
want("test_loss", 0.3871)
want("test_accuracy accuracy", 0.91)
may("loss train_loss loss_step", 0.411)
wrong(101, "number of parameters")
