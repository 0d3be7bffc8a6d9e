"""DGL's node classification: pipes, best in parentheses."""
LOG = """
Epoch 00000 | Loss 1.9477 | Val Acc 0.2340 (best 0.2340) | Test Acc 0.2210 (best 0.2210)
Epoch 00050 | Loss 0.8120 | Val Acc 0.7790 (best 0.7900) | Test Acc 0.7820 (best 0.7950)
Epoch 00095 | Loss 0.4012 | Val Acc 0.7820 (best 0.7920) | Test Acc 0.7960 (best 0.8030)
"""
want("loss train_loss", 0.4012)
want("val_accuracy", 0.7820)
want("test_accuracy", 0.7960)
may("accuracy", [0.796, 0.782])
may("best_val_accuracy", 0.792)
wrong(0.792, "the best one, not the last")
wrong(0.803, "the best one, not the last")
