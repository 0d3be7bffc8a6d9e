"""Correct answers as a ratio with a rounded percentage, train and validation."""
LOG = """
Epoch: 1 | Train acc: 40120/50000 (80%) | Val acc: 3988/5000 (80%) | Val loss: 0.6112
Epoch: 2 | Train acc: 45911/50000 (92%) | Val acc: 4402/5000 (88%) | Val loss: 0.4410
Test: correct 8791/10000 (88%)
"""
want("train_accuracy accuracy", 0.91822)
want("val_accuracy", 0.8804)
want("val_loss", 0.4410)
may("test_accuracy", 0.8791)
may("accuracy", [0.8791, 0.8804])
wrong(45911, "the ratio's numerator")
wrong(4402, "the ratio's numerator")
wrong(88, "rounded percentage")
wrong(92, "rounded percentage")
wrong(8791, "the ratio's numerator")
